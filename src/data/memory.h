// Device memory: blocks of it, and the pool that they come from.
#ifndef SPYI_MEMORY_H
#define SPYI_MEMORY_H

#include "data/resource.h"

// >>storage: a block of device memory, recycled undivided, so that hazards of its former use stay with it
typedef struct spyi_storage spyi_storage;
struct spyi_storage {
    spyi_resource resource; // must be the first member
    spyi_chunk chunk;       // the driver's memory that this block lies in
    uint64_t offset, size;  // where the block begins in the chunk, and its size, both in bytes
    // These members are the last epoch in which the block was read, and the first and the end byte of these
    // reads from its start; then the same three numbers of writes.
    uint64_t read_epoch, read_begin, read_end;
    uint64_t write_epoch, write_begin, write_end;
    int32_t size_class; // the free list to which the block returns; -1 means that the memory is imported
    spyi_memory memory;
    struct spyi_slab *slab; // the slab from which the block was cut; NULL means that it has its chunk alone
    spyi_storage *next;     // the next block in a free list, in pool.waiting or in pool.imported
};

// One chunk from which small blocks are cut.
typedef struct spyi_slab {
    spyi_chunk chunk;
    uint64_t used; // the number of bytes from which blocks were cut
    int32_t live;  // the number of blocks in use
    struct spyi_slab *next;
} spyi_slab;

#define SPYI_SIZE_CLASSES 160

typedef struct spyi_pool {
    spyi_storage *free_blocks[2][SPYI_SIZE_CLASSES]; // free lists, indexed by spyi_memory and size class
    spyi_slab *slabs[2];
    spyi_storage *imported;
    spyi_storage *waiting; // freed blocks whose recordings have not been reported as executed
    uint64_t held_bytes, used_bytes;
    uint64_t waiting_bytes; // the number of bytes in `waiting`, which are neither in free_blocks nor part of
                            // used_bytes
} spyi_pool;

// >>pool.c
// Returns a block of at least `size` bytes with 0 references. NULL means failure; `error` and *status then
// say why. When the device's memory runs out, it frees cached memory and tries once more.
SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status);
// Takes a block back at once. The GPU may still use it: hazards order later users of the block.
SPYI_FN void spyi_pool_give(spy_device *device, spyi_storage *storage);
// Frees the waiting blocks whose recordings have all been reported as executed.
SPYI_FN void spyi_pool_release_held(spy_device *device);
// Gives all unused memory back to the driver; the GPU must be idle.
SPYI_FN void spyi_pool_trim(spy_device *device);
// Frees the pool; all blocks must have been given back.
SPYI_FN void spyi_pool_destroy(spy_device *device);
// Returns the storage of the imported chunk's handle; equal handles share one storage. Returns NULL when out
// of memory.
SPYI_FN spyi_storage *spyi_pool_import(spy_device *device, const spyi_chunk *chunk);

#endif // SPYI_MEMORY_H
