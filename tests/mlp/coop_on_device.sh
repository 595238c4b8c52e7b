#!/usr/bin/env bash
# tests/mlp/coop_on_device.sh [WORD...]: on a GPU machine that has ./.carry (pack_device): compiles the Python extension, then coop_variants.py:
# what the device says of cooperative matrices, the variants' numbers and times beside CUDA's engines. 2 to 4 minutes. All of it goes to $OUT/coop.txt.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD carry=$PWD/.carry work=$PWD/build/on_device_work
export OUT=${OUT:-$top/build/on_device}
mkdir -p "$OUT" "$work/slang"

main() {
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
    tar -C "$work/slang" -xJf "$carry/slang.tar.xz" 2>/dev/null ||
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$carry/slang.tar.xz" "$work/slang"
    export SLANGPY_SLANG_LIBRARY=$work/slang/libslang-compiler.so SLANGPY_CACHE=$work/cache
    if [ -e "$carry/nvrtc.tar.xz" ]; then mkdir -p "$work/nvrtc" && tar -C "$work/nvrtc" -xJf "$carry/nvrtc.tar.xz"; fi
    for f in "$work"/nvrtc/libnvrtc.so.1? $(find / -xdev -name 'libnvrtc.so.1[23]' 2>/dev/null); do
        if [ -z "${SLANGPY_NVRTC_LIBRARY:-}" ] && ls "$(dirname "$f")"/libnvrtc-builtins.so.* >/dev/null 2>&1; then
            export SLANGPY_NVRTC_LIBRARY=$f
        fi
    done
    (cd python && SLANGPY_CFLAGS="-isystem $carry/include -O1" python3 -W ignore setup.py -q build_ext --inplace) 2>&1 | tail -5
    echo "== $SECONDS s: built"
    PYTHONPATH=$top/python timeout -k 5 "${LIMIT:-400}" python3 tests/mlp/coop_variants.py "$@"
    echo "== $SECONDS s"
}
main "$@" 2>"$OUT/coop_stderr.txt" | tee "$OUT/coop.txt"
grep -v "WARN\|warning\|\^\|#define\|^ *$\|so far" "$OUT/coop_stderr.txt" | tail -15 | cut -c1-300
