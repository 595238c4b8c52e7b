// The one file of a program that holds the library, as a user would write it.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"

#ifdef SPY_TEST_KEEPS_BLOBS // of our own Makefile's: for gpu_test.h
#include "blobs.h"
#include "hold.h"

const spy_backend *gpu_keep_blobs(const spy_backend *backend);
const spy_backend *gpu_keep_blobs(const spy_backend *backend) {
    return blobs_of(backend);
}
#endif
