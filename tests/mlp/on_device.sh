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
mkdir -p "$OUT" "$work/lib"
left() { echo $((limit - SECONDS)); }
at_most() { echo $(($1 < limit - SECONDS ? $1 : limit - SECONDS)); } # so that one part that hangs leaves time for the others

if [[ $words == *" build "* ]]; then
    tar -C "$work/lib" -xJf "$carry/slang.tar.xz" 2>/dev/null ||
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$carry/slang.tar.xz" "$work/lib"
    (cd python && SLANGPY_CFLAGS="-isystem $carry/include -O1" python3 -W ignore setup.py -q build_ext --inplace) 2>&1 | tail -5
    echo "== $SECONDS s: built"
fi
for f in "$work"/lib/libslang-compiler.so $(find "$work/lib" -name 'libslang-compiler.so*'); do
    if [ -e "$f" ]; then export SLANGPY_SLANG_LIBRARY=$f && break; fi
done
if [ -e "$carry/nvrtc.tar.xz" ]; then mkdir -p "$work/nvrtc" && tar -C "$work/nvrtc" -xJf "$carry/nvrtc.tar.xz"; fi
if [ -z "${SLANGPY_NVRTC_LIBRARY:-}" ]; then
    for f in "$work"/nvrtc/libnvrtc.so.1? $(find / -xdev -name 'libnvrtc.so.1[23]' 2>/dev/null); do
        if ls "$(dirname "$f")"/libnvrtc-builtins.so.* >/dev/null 2>&1; then export SLANGPY_NVRTC_LIBRARY=$f && break; fi
    done
fi
export PYTHONPATH=$top/python SLANGPY_CACHE=off
{
    if [[ $words == *" check "* ]]; then timeout -k 5 "$(at_most 85)" python3 tests/mlp/calls.py check --jobs "${JOBS:-14}" --seconds 75 || true; fi
    if [[ $words == *" gradients "* ]]; then timeout -k 5 "$(at_most 60)" python3 tests/mlp/calls.py gradients --seconds 45 || true; fi
    if [[ $words == *" start "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/calls.py start || true; fi
    if [[ $words == *" time "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/calls.py time --seconds "${TIME_SECONDS:-45}" || true; fi
    if [[ $words == *" vulkan "* ]]; then
        if [[ $(ldconfig -p) != *libvulkan.so.1* ]]; then
            for f in "$carry"/deb/*.deb; do dpkg -x "$f" /; done
            ldconfig
        fi
        icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
        if [ -e $icd ]; then
            export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
            export __EGL_VENDOR_LIBRARY_FILENAMES=/usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json
        fi
        timeout -k 5 "$(left)" python3 tests/mlp/batch_engine.py vulkan --seconds "${CHECK_SECONDS:-75}" || true
    fi
    if [[ $words == *" engine "* ]]; then timeout -k 5 "$(left)" python3 tests/mlp/batch_engine.py time check --seconds 30 || true; fi
    echo "== $SECONDS s"
} 2>&1 | tee "$OUT/mlp.txt" | grep -vP '^good (?!(compile|cold|warm|W) )' | cut -c1-260
