// The one file of a program that holds the library, as a user would write it.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"

// For gpu_test.h.
void gpu_tiles_from(spy_device *device, uint64_t elements, uint32_t most_groups);
void gpu_tiles_from(spy_device *device, uint64_t elements, uint32_t most_groups) {
    device->base->limits.profile.tiles_from = elements;
    device->base->limits.info.max_group_count = most_groups;
}

#ifdef SPY_TEST_KEEPS_BLOBS // of our own Makefile's: for gpu_test.h
#include "blobs.h"
#include "hold.h"

const spy_backend *gpu_keep_blobs(const spy_backend *backend);
const spy_backend *gpu_keep_blobs(const spy_backend *backend) {
    return blobs_of(backend);
}
#endif
