#!/usr/bin/env bash
# tests/mlp/on_device.sh [WORD...]: on a GPU machine that has ./.carry (bench/pack_device), small networks alone, within LIMIT seconds (115):
# calls.py (networks in ordinary calls: numbers of 66 shapes, times) and batch_engine.py (its own numbers and times; vulkan: those of
# Vulkan's cooperative matrices). WORDS: build check gradients start time engine vulkan; without: all but
# vulkan. Prints a short table; all of it goes to $OUT/mlp.txt.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD carry=$PWD/.carry work=$PWD/build/on_device_work limit=${LIMIT:-115}
OUT=${OUT:-$top/build/on_device}
words=" ${*:-build check gradients start time engine} "
mkdir -p "$OUT" "$work"
. tests/bench/carried.sh
left() { echo $((limit - SECONDS)); }
at_most() { echo $(($1 < limit - SECONDS ? $1 : limit - SECONDS)); } # so that one part that hangs leaves time for the others

if [[ $words == *" build "* ]]; then
    build_extension -O1
    echo "== $SECONDS s: built"
fi
use_slang
use_nvrtc
export PYTHONPATH=$top/python SLANGPY_CACHE=off
{
    if [[ $words == *" check "* ]]; then timeout -k 5 "$(at_most 85)" python3 tests/mlp/calls.py check --jobs "${JOBS:-14}" --seconds 75 || true; fi
    if [[ $words == *" gradients "* ]]; then timeout -k 5 "$(at_most 60)" python3 tests/mlp/calls.py gradients --seconds 45 || true; fi
    if [[ $words == *" start "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/calls.py start || true; fi
    if [[ $words == *" time "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/calls.py time --seconds "${TIME_SECONDS:-45}" || true; fi
    if [[ $words == *" vulkan "* ]]; then
        install_loader
        use_nvidia_icd
        timeout -k 5 "$(left)" python3 tests/mlp/batch_engine.py vulkan --seconds "${CHECK_SECONDS:-75}" || true
    fi
    if [[ $words == *" engine "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/batch_engine.py time check --seconds 30 || true; fi
    echo "== $SECONDS s"
} 2>&1 | tee "$OUT/mlp.txt" | grep -vP '^good (?!(compile|cold|warm|W) )' | cut -c1-260
