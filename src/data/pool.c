// The caching memory pool of a device.
//
// Blocks come in size classes, four to each doubling. Blocks up to 1 MiB are cut from slabs of 8 MiB; each
// larger block has a chunk of the driver's memory alone. A freed block goes to its class's free list at once,
// while the GPU may still use it: the next user is recorded later and its hazards put a barrier between the
// two, so memory is reused in the order of work.
//
// A new tensor and its release cost next to nothing beside the call that uses it (docs/measurements.md, "New
// tensors").
#include "data/device.h"

#define SPYI_SLAB_BYTES ((uint64_t)8 << 20)
#define SPYI_SLAB_LARGEST ((uint64_t)1 << 20)
#define SPYI_BLOCK_SMALLEST 256u

// Returns the smallest class whose blocks hold `size` bytes, and sets *block_size to the size of its blocks:
// 256, 320, 384, 448, 512, 640, ...
static int32_t spyi_size_class(uint64_t size, uint64_t *block_size) {
    uint64_t base = SPYI_BLOCK_SMALLEST;
    int32_t index = 0;
    while (base * 2 < size) {
        base *= 2;
        index += 4;
    }
    for (uint64_t quarter = 0; quarter <= 4; quarter++) {
        uint64_t bytes = base + base / 4 * quarter;
        if (bytes >= size) {
            *block_size = bytes;
            return index + (int32_t)quarter;
        }
    }
    return -1; // the loop returns before, because base * 2 >= size
}

static void spyi_memory_unused(spy_device *device, spyi_resource *resource) {
    spyi_pool_give(device, (spyi_storage *)(void *)resource);
}

static const spyi_resource_kind spyi_memory_resource = { "memory", spyi_memory_unused };

static spyi_storage *spyi_new_block(spy_device *device, spyi_memory memory, int32_t size_class, uint64_t size,
                                    const char *label, spyi_text *error, spy_status *status) {
    const spy_backend *table = device->backend;
    spyi_storage *storage = (spyi_storage *)spyi_allocate(&device->ctx, sizeof *storage);
    if (!storage) {
        *status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    storage->resource.kind = &spyi_memory_resource;
    storage->size = size;
    storage->size_class = size_class;
    storage->memory = memory;
    if (size > SPYI_SLAB_LARGEST) {
        *status = table->allocate_chunk(device->gpu, memory, (size_t)size, label, &storage->chunk, error);
        if (*status != SPY_OK) {
            spyi_free(&device->ctx, storage, sizeof *storage);
            return NULL;
        }
        device->pool.held_bytes += size;
        return storage;
    }
    spyi_slab *slab = device->pool.slabs[memory];
    if (!slab || slab->used + size > slab->chunk.size) {
        slab = (spyi_slab *)spyi_allocate(&device->ctx, sizeof *slab);
        *status = slab ? table->allocate_chunk(device->gpu, memory, (size_t)SPYI_SLAB_BYTES, "slangpy pool",
                                               &slab->chunk, error)
                       : SPY_ERROR_OUT_OF_MEMORY;
        if (*status != SPY_OK) {
            spyi_free(&device->ctx, slab, sizeof *slab);
            spyi_free(&device->ctx, storage, sizeof *storage);
            return NULL;
        }
        slab->next = device->pool.slabs[memory];
        device->pool.slabs[memory] = slab;
        device->pool.held_bytes += slab->chunk.size;
    }
    storage->chunk = slab->chunk;
    storage->slab = slab;
    storage->offset = slab->used;
    // Block sizes are multiples of 64, so that blocks have the alignment that descriptors need.
    slab->used += size;
    return storage;
}

SPYI_FN spyi_storage *spyi_pool_take(spy_device *device, spyi_memory memory, uint64_t size, const char *label,
                                     spyi_text *error, spy_status *status) {
    uint64_t block_size = 0;
    int32_t size_class = spyi_size_class(size ? size : 1, &block_size);
    *status = SPY_OK;
    if (size > ((uint64_t)1 << 44)) {
        *status = SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        spyi_text_add(error, "%llu bytes are more than any device has", (unsigned long long)size);
        return NULL;
    }
    spyi_storage **list = &device->pool.free_blocks[memory][size_class];
    spyi_storage *storage = *list;
    if (storage) {
        *list = storage->next;
    } else {
        storage = spyi_new_block(device, memory, size_class, block_size, label, error, status);
        if (!storage && *status == SPY_ERROR_OUT_OF_DEVICE_MEMORY) {
            // The pool gives cached memory back to the driver and tries once more.
            spyi_text ignored = { NULL, 0, 0 };
            if (device->backend->wait(device->gpu, device->base->open, UINT64_MAX, &ignored) == SPY_OK) {
                spyi_pool_trim(device);
                spyi_text_free(error); // the second try may succeed
                storage = spyi_new_block(device, memory, size_class, block_size, label, error, status);
            }
            spyi_text_free(&ignored);
            if (!storage)
                spyi_text_add(error, "; %llu bytes are in use, %llu held by the pool",
                              (unsigned long long)device->pool.used_bytes,
                              (unsigned long long)device->pool.held_bytes);
        }
        if (!storage) return NULL;
    }
    storage->next = NULL;
    storage->resource.references = 0;
    device->pool.used_bytes += storage->size;
    if (storage->slab) storage->slab->live++;
    return storage;
}

static void spyi_pool_free_block(spy_device *device, spyi_storage *storage) {
    if (storage->slab) storage->slab->live--;
    storage->next = device->pool.free_blocks[storage->memory][storage->size_class];
    device->pool.free_blocks[storage->memory][storage->size_class] = storage;
}

SPYI_FN void spyi_pool_give(spy_device *device, spyi_storage *storage) {
    // An imported block stays in its list until its hazards are over (spyi_pool_import()).
    if (storage->size_class < 0) return;
    device->pool.used_bytes -= storage->size;
    if (!spyi_is_held(&storage->resource, device->base->held_from)) {
        spyi_pool_free_block(device, storage);
        return;
    }
    // An engine's recording uses the block, and work that used it again could be submitted before that
    // recording. Or a captured graph uses it at each launch.
    storage->next = device->pool.waiting;
    device->pool.waiting = storage;
    device->pool.waiting_bytes += storage->size;
}

static void spyi_pool_release_waiting(spy_device *device, bool all) {
    for (spyi_storage **at = &device->pool.waiting; *at;) {
        spyi_storage *storage = *at;
        if (!all && spyi_is_held(&storage->resource, device->base->held_from)) {
            at = &storage->next;
            continue;
        }
        *at = storage->next;
        device->pool.waiting_bytes -= storage->size;
        spyi_pool_free_block(device, storage);
    }
}

SPYI_FN void spyi_pool_release_held(spy_device *device) {
    spyi_pool_release_waiting(device, false);
}

SPYI_FN void spyi_pool_trim(spy_device *device) {
    for (int memory = 0; memory < 2; memory++) {
        for (int i = 0; i < SPYI_SIZE_CLASSES; i++) {
            spyi_storage **at = &device->pool.free_blocks[memory][i];
            while (*at) {
                spyi_storage *storage = *at;
                if (storage->slab && storage->slab->live > 0) {
                    at = &storage->next;
                    continue;
                }
                *at = storage->next;
                if (!storage->slab) {
                    device->backend->free_chunk(device->gpu, &storage->chunk);
                    device->pool.held_bytes -= storage->size;
                }
                spyi_free(&device->ctx, storage, sizeof *storage);
            }
        }
        spyi_slab **at = &device->pool.slabs[memory];
        while (*at) {
            spyi_slab *slab = *at;
            if (slab->live > 0) {
                at = &slab->next;
                continue;
            }
            *at = slab->next;
            device->pool.held_bytes -= slab->chunk.size;
            device->backend->free_chunk(device->gpu, &slab->chunk);
            spyi_free(&device->ctx, slab, sizeof *slab);
        }
    }
}

SPYI_FN void spyi_pool_destroy(spy_device *device) {
    // From here on, recordings that have not been reported as executed must not be submitted, and captured
    // graphs must not be launched.
    device->base->held_from = 0;
    spyi_pool_release_waiting(device, true);
    spyi_pool_trim(device);
    SPYI_ASSERT(device->pool.used_bytes == 0);
    spyi_free(&device->ctx, device->transitions, device->transition_capacity * sizeof *device->transitions);
    while (device->pool.imported) {
        spyi_storage *next = device->pool.imported->next;
        spyi_free(&device->ctx, device->pool.imported, sizeof *device->pool.imported);
        device->pool.imported = next;
    }
}

SPYI_FN spyi_storage *spyi_pool_import(spy_device *device, const spyi_chunk *chunk) {
    spyi_storage *found = NULL;
    for (spyi_storage **at = &device->pool.imported; *at;) {
        spyi_storage *s = *at;
        bool over =
            s->resource.references == 0 && s->read_epoch != device->epoch && s->write_epoch != device->epoch;
        if (s->chunk.handle == chunk->handle) {
            found = s;
        } else if (over) {
            *at = s->next;
            spyi_free(&device->ctx, s, sizeof *s);
            continue;
        }
        at = &s->next;
    }
    if (found) {
        // Without references the driver may have reused the handle for other memory.
        if (found->resource.references == 0 || found->size < chunk->size) {
            found->chunk = *chunk;
            found->size = chunk->size;
        }
        return found;
    }
    spyi_storage *storage = (spyi_storage *)spyi_allocate(&device->ctx, sizeof *storage);
    if (!storage) return NULL;
    storage->resource.kind = &spyi_memory_resource;
    storage->chunk = *chunk;
    storage->size = chunk->size;
    storage->size_class = -1;
    storage->next = device->pool.imported;
    device->pool.imported = storage;
    return storage;
}
