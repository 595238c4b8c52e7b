#!/usr/bin/env bash
# tests/bench/pictures_on_device.sh: on a GPU machine that has ./.carry (pack_device), textures and draws alone, in about two
# minutes: on Vulkan, then on CUDA, the C tests of textures (on Vulkan of raster and its gradients too), bench/pictures and Python's tests of textures.
# Prints a line for each C test and each failure. Results go to $OUT/vk and $OUT/cuda: log.txt, tests.txt, python.txt, pictures.json.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
out=${OUT:-$PWD/build/on_device}
export BENCH=0 PICTURES=1 JOBS=${JOBS:-6}
textures="test_slangpy_textures.py test_slangpy_texture_facts.py test_texture_grad.py test_handles.py"

OUT=$out/vk TEST_SECONDS=60 PYTHON_TESTS="$textures test_slangpy_raster.py test_draw_gradients.py" \
    tests/bench/on_device.sh test_raster test_draw_gradients test_texture test_texture_args test_texture_grad
OUT=$out/cuda COMPILE=0 BACKEND=cuda SPY_TEST_CUDA_TEXTURES=1 TEST_SECONDS=90 PYTHON_TESTS="$textures" \
    tests/bench/on_device.sh test_texture test_texture_args test_texture_grad test_handles
