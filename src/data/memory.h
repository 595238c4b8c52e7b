// Device memory: blocks of it, and the pool that they come from.
#ifndef SPYI_MEMORY_H
#define SPYI_MEMORY_H

#include "data/resource.h"

// >>storage: a block of device memory, recycled as a whole, so that the hazards of its former use stay with it.
typedef struct spyi_storage spyi_storage;
struct spyi_storage {
    spyi_resource resource;                    // first
    spyi_chunk chunk;                          // the driver's memory that this block lies in
    uint64_t offset, size;                     // the block in the chunk
    uint64_t read_epoch, read_begin, read_end; // bytes from the block's start
    uint64_t write_epoch, write_begin, write_end;
    int32_t size_class; // free list that it returns to; -1: imported
    spyi_memory memory;
    struct spyi_slab *slab; // whose chunk it was cut from; NULL: has its chunk alone
    spyi_storage *next;     // in a free list, the list of waiting ones, or that of imported ones
};

typedef struct spyi_slab {
    spyi_chunk chunk;
    uint64_t used; // bytes cut off
    int32_t live;  // blocks in use
    struct spyi_slab *next;
} spyi_slab;

#define SPYI_SIZE_CLASSES 160

typedef struct spyi_pool {
    spyi_storage *free_blocks[2][SPYI_SIZE_CLASSES]; // by spyi_memory
    spyi_slab *slabs[2];
    spyi_storage *imported;
    spyi_storage *waiting; // freed, but used by recordings that have not been reported as executed
    uint64_t held_bytes, used_bytes;
    uint64_t waiting_bytes; // of the former; part of neither of the latter's free blocks nor of used_bytes
} spyi_pool;

// >>pool.c
// A block of at least `size` bytes, references 0; NULL: `error` says why. Frees cached memory and tries again once.
SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status);
SPYI_FN void spyi_pool_give(
    spy_device *device,
    spyi_storage *storage); // no waiting for the GPU: later users are ordered by hazards
SPYI_FN void spyi_pool_release_held(
    spy_device *device);                            // frees blocks whose recordings have all been reported
SPYI_FN void spyi_pool_trim(spy_device *device);    // frees all unused memory; the GPU must be idle
SPYI_FN void spyi_pool_destroy(spy_device *device); // all blocks have been given back
SPYI_FN spyi_storage *spyi_pool_import(spy_device *device,
                                       const spyi_chunk *chunk); // finds the same handle again

#endif // SPYI_MEMORY_H
