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
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

main() {
    say machine
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
    if [[ $(ldconfig -p) != *libvulkan.so.1* ]]; then
        for f in "$carry"/deb/*.deb; do dpkg -x "$f" /; done
        ldconfig
    fi
    local icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    if [ -e $icd ]; then
        export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
        export __EGL_VENDOR_LIBRARY_FILENAMES=/usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json
    fi
    mkdir -p "$work/slang"
    tar -C "$work/slang" -xJf "$carry/slang.tar.xz" 2>/dev/null ||
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$carry/slang.tar.xz" "$work/slang"
    export SLANGPY_SLANG_LIBRARY=$work/slang/libslang-compiler.so SLANGPY_CACHE=off
    if [ -e "$carry/nvrtc.tar.xz" ]; then mkdir -p "$work/nvrtc" && tar -C "$work/nvrtc" -xJf "$carry/nvrtc.tar.xz"; fi
    for f in "$work"/nvrtc/libnvrtc.so.1? $(find / -xdev -name 'libnvrtc.so.1[23]' 2>/dev/null); do
        if [ -z "${SLANGPY_NVRTC_LIBRARY:-}" ] && ls "$(dirname "$f")"/libnvrtc-builtins.so.* >/dev/null 2>&1; then
            export SLANGPY_NVRTC_LIBRARY=$f
        fi
    done
    say "compile; torch meanwhile"
    timeout -k 5 100 python3 tests/bench/fuse_h200.py torch >"$work/torch.txt" 2>&1 &
    (cd python && SLANGPY_CFLAGS="-isystem $carry/include -DSPYI_TUNES -O1" python3 -W ignore setup.py -q build_ext --inplace) 2>&1 | tail -5
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
