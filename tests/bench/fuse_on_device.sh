#!/usr/bin/env bash
# tests/bench/fuse_on_device.sh: on a GPU machine that has ./.carry (pack_device): compiles the Python extension so that figures of
# sums can be tried (SPYI_TUNES), and runs fuse_h200.py: chains and reductions on CUDA and Vulkan beside torch, then other forms of
# sums. About 90 s. The output goes to $OUT/fuse.txt, too.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD carry=$PWD/.carry work=$PWD/build/on_device_work
export OUT=${OUT:-$top/build/on_device}
mkdir -p "$OUT" "$work/lib"
. tests/bench/carried.sh
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

main() {
    say machine
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
    install_loader
    use_nvidia_icd
    use_slang
    export SLANGPY_CACHE=off
    use_nvrtc
    say "compile; torch meanwhile"
    timeout -k 5 100 python3 tests/bench/fuse_h200.py torch >"$work/torch.txt" 2>&1 &
    build_extension -DSPYI_TUNES -O1
    wait
    cat "$work/torch.txt"
    say "rows and forms"
    local part
    for part in cuda vulkan forms; do
        PYTHONPATH=$top/python timeout -k 5 "${LIMIT:-100}" python3 tests/bench/fuse_h200.py $part
    done
    say "end"
}
main 2>&1 | tee "$OUT/fuse.txt"
