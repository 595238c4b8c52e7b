#!/usr/bin/env bash
# tests/compare/on_device.sh: on a GPU machine that has ./.carry (tests/bench/pack_device) with SlangPy 0.43.1 in it: installs the Vulkan
# loader, unpacks, compiles the Python extension and runs tests/compare/run on Vulkan and CUDA. Prints what differs; all results go to
# $OUT/likeus.json, what is printed to $OUT/likeus.txt. SlangPy's results in .carry/likeus*.json (of former runs) are not worked out again.
# Environment: LIMIT (seconds for the cases, 185), JOBS (one a processor), CASES (parts of names), TYPES.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD carry=$PWD/.carry work=$PWD/build/on_device_work
export OUT=${OUT:-$top/build/on_device}
mkdir -p "$OUT" "$work"
. tests/bench/carried.sh
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

main() {
    say machine
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    python3 -c 'import sys, torch; print("python", sys.version.split()[0], "torch", torch.__version__)'
    install_loader
    use_nvidia_icd
    use_slang &
    unpack "$carry/rival.tar.xz" "$work/rival" &
    build_extension -O1
    wait
    use_slang
    export SLANGPY_CACHE=off SLANGPY_RIVAL=$work/rival
    use_nvrtc
    if [ -z "${CUDA_PATH:-}" ]; then # where SlangPy's Slang looks for CUDA's headers
        for f in /usr/local/cuda/include/cuda_fp16.h $(find / -xdev -name cuda_fp16.h 2>/dev/null); do
            if [ -z "${CUDA_PATH:-}" ] && [ -e "$f" ]; then CUDA_PATH=$(dirname "$(dirname "$f")") && export CUDA_PATH; fi
        done
    fi
    echo "NVRTC ${SLANGPY_NVRTC_LIBRARY:-none}, CUDA_PATH ${CUDA_PATH:-none}"
    say "cases (SlangPy: $(echo "$SLANGPY_RIVAL"/*))"
    local merge=() f
    for f in "$carry"/likeus*.json; do if [ -e "$f" ]; then merge+=(--merge "$f"); fi; done
    python3 tests/compare/run "${merge[@]}" --jobs "${JOBS:-$(nproc)}" --limit "${LIMIT:-185}" --types "${TYPES:-vulkan,cuda}" --cases "${CASES:-}" --out "$OUT/likeus.json"
    say end
}
main 2>&1 | tee "$OUT/likeus.txt"
