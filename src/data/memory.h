// Device memory: blocks of it with their hazards, the pool that they come from, and what operations use.
#ifndef SPYI_MEMORY_H
#define SPYI_MEMORY_H

#include "backend/work.h"

// >>storage: a block of device memory, recycled as a whole, so that the hazards of its former use stay with it.
// Hazards are counted in epochs; each recorded barrier begins a new one. Two uses conflict when they fall into the same
// epoch, their byte ranges meet and one of them writes.
typedef struct spyi_storage spyi_storage;
struct spyi_storage {
    spyi_chunk chunk;                          // the driver's memory that this block lies in
    uint64_t offset, size;                     // the block in the chunk
    uint64_t read_epoch, read_begin, read_end; // bytes from the block's start
    uint64_t write_epoch, write_begin, write_end;
    uint64_t write_submit; // batch of the last write: a read back waits for it
    uint64_t use_submit;   // batch of the last use: freeing waits for it
    // The batch of the last use in an engine's command buffer, which keeps the block from being used again; 0: there is none.
    uint64_t held_submit;
    int32_t references; // tensors on it, guarded by the device's turns
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

// A use of bytes [begin, end) of a block by work about to be recorded: does it need a barrier before it?
SPYI_FN bool spyi_hazard(const spy_device *device, const spyi_storage *storage, uint64_t begin, uint64_t end,
                         bool writes);
// ... and note the use, after the epoch was advanced if a barrier was needed.
SPYI_FN void spyi_note_use(spy_device *device, spyi_storage *storage, uint64_t begin, uint64_t end,
                           bool writes, uint64_t submit);

// One operation's use of a block.
typedef struct spyi_use {
    spyi_storage *storage;
    uint64_t begin, end; // bytes from the block's start
    bool reads, writes;
    bool counts; // holds the group counts of an indirect dispatch
} spyi_use;
// All uses of an operation about to be recorded: whether to record it with a barrier, and notes them. `untracked`: it may
// use other memory too, which nobody knows.
SPYI_FN bool spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked);
// After the operation.
SPYI_FN void spyi_uses_done(spy_device *device, bool barrier, bool untracked, spy_status status);

// Begins the next epoch if a barrier is needed, or still owed; gives what to hand to the backend.
SPYI_FN bool spyi_take_barrier(spy_device *device, bool needed);
// After the operation that the barrier went with.
SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status);

#endif // SPYI_MEMORY_H
