#!/usr/bin/env bash
# tests/compare/slangtorch/on_device.sh: on a GPU machine with torch, nvcc and g++, ./.carry (tests/bench/pack_device) and slang-torch 1.3.22 in
# ./.carry2/slangtorch.tar.xz (its wheel, unpacked): unpacks, compiles the Python extension and runs tests/compare/slangtorch/run. Prints what
# differs; all results go to $OUT/slangtorch.json, what is printed to $OUT/slangtorch.txt. slang-torch's results in .carry2/slangtorch*.json (of
# former runs) are not worked out again.
# Environment: LIMIT (seconds for all, 420), JOBS (one a processor), CASES (parts of theme.program), SIDE (both).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit
SECONDS=0
top=$PWD carry=$PWD/.carry carry2=$PWD/.carry2 work=$PWD/build/on_device_work
export OUT=${OUT:-$top/build/on_device}
mkdir -p "$OUT" "$work"
. tests/bench/carried.sh
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

unpack_rival() {
    if [ -e "$work/slangtorch/unpacked" ]; then return; fi
    mkdir -p "$work/slangtorch"
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$carry2/slangtorch.tar.xz" "$work/slangtorch" 2>/dev/null && chmod -R +x "$work/slangtorch" && touch "$work/slangtorch/unpacked"
}

# torch's build of extensions wants a `ninja` in PATH: beside python3, or from a carried wheel.
use_ninja() {
    local beside wheel
    beside=$(dirname "$(python3 -c 'import sys; print(sys.executable)')")
    if [ -x "$beside/ninja" ]; then export PATH=$beside:$PATH; fi
    if command -v ninja >/dev/null; then return; fi
    for wheel in "$carry2"/ninja-*.whl; do
        python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$wheel" "$work/ninja"
    done
    export PATH
    PATH=$(dirname "$(find "$work/ninja" -type f -name ninja | head -1)"):$PATH
    chmod +x "$work"/ninja/*/bin/ninja "$work"/ninja/*/*/bin/ninja 2>/dev/null
}

main() {
    say machine
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    export PATH=$PATH:/usr/local/cuda/bin CUDA_HOME=/usr/local/cuda
    use_ninja
    use_slang &
    unpack_rival &
    build_extension -O1
    TORCH_CUDA_ARCH_LIST=$(python3 -c 'import torch; print("%d.%d" % torch.cuda.get_device_capability())')
    export TORCH_CUDA_ARCH_LIST
    wait
    use_slang
    use_nvrtc
    export SLANGTORCH_RIVAL=$work/slangtorch
    python3 -c 'import sys, torch; print("python", sys.version.split()[0], "torch", torch.__version__)'
    echo "nvcc $(nvcc --version | tail -1), ninja $(ninja --version), g++ $(g++ -dumpfullversion), NVRTC ${SLANGPY_NVRTC_LIBRARY:-none}, arch $TORCH_CUDA_ARCH_LIST"
    say "programs (slang-torch: $(ls "$SLANGTORCH_RIVAL"))"
    local merge=() f
    for f in "$carry2"/slangtorch*.json; do if [ -e "$f" ]; then merge+=(--merge "$f"); fi; done
    python3 tests/compare/slangtorch/run --side "${SIDE:-both}" "${merge[@]}" --jobs "${JOBS:-$(nproc)}" --limit "$((${LIMIT:-420} - SECONDS - 8))" --cases "${CASES:-}" --keep "$work/slangtorch_runs" --out "$OUT/slangtorch.json"
    say end
}
main 2>&1 | tee "$OUT/slangtorch.txt"
