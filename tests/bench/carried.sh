# shellcheck shell=bash
# Sourced by the scripts that run on a GPU machine with ./.carry (pack_device), from the repository's root, after they have set `carry` and
# `work`, a folder that the machine keeps between calls. Each function does nothing where its work is done or nothing was carried.

unpack() { # ARCHIVE FOLDER
    if [ ! -e "$1" ] || [ -e "$2/unpacked" ]; then return; fi
    mkdir -p "$2"
    { tar -C "$2" -xJf "$1" 2>/dev/null || python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"; } && touch "$2/unpacked"
}

# Installs the Vulkan loader.
install_loader() {
    local f
    if [[ $(ldconfig -p) == *libvulkan.so.1* ]]; then return; fi
    for f in "$carry"/deb/*.deb; do dpkg -x "$f" / || return; done
    ldconfig
}

# Lets the loader find NVIDIA's driver where these machines have it; fails where it is not there.
use_nvidia_icd() {
    local icd=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    if [ ! -e $icd ]; then return 1; fi
    export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd # the second is the name that older loaders know
    export __EGL_VENDOR_LIBRARY_FILENAMES=/usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json
}

use_slang() {
    unpack "$carry/slang.tar.xz" "$work/slang"
    if [ -e "$work/slang/libslang-compiler.so" ]; then export SLANGPY_SLANG_LIBRARY=$work/slang/libslang-compiler.so; fi
}

# The library's own search knows toolkits and Python's folders; here any copy with its built-ins will do.
use_nvrtc() {
    local f
    if [ -n "${SLANGPY_NVRTC_LIBRARY:-}" ]; then return; fi
    unpack "$carry/nvrtc.tar.xz" "$work/nvrtc"
    for f in "$work"/nvrtc/libnvrtc.so.1? $(find / -xdev -name 'libnvrtc.so.1[23]' 2>/dev/null); do
        if ls "$(dirname "$f")"/libnvrtc-builtins.so.* >/dev/null 2>&1; then
            export SLANGPY_NVRTC_LIBRARY=$f
            break
        fi
    done
}

# The Python extension, in place. Prints the last lines of errors.
build_extension() { # FLAGS...
    (cd python && SLANGPY_CFLAGS="-isystem $carry/include $*" python3 -W ignore setup.py -q build_ext --inplace) 2>&1 | tail -5
}
