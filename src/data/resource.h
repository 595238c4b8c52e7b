// Resources, and how work uses them: barriers and layouts of textures, lifetimes and command lists know uses only.
#ifndef SPYI_RESOURCE_H
#define SPYI_RESOURCE_H

#include "backend/work.h"

typedef struct spyi_resource spyi_resource;

// What is true of all resources of a kind.
typedef struct spyi_resource_kind {
    const char *name;
    void (*unused)(spy_device *device, spyi_resource *resource); // the last reference has gone
} spyi_resource_kind;

// What every resource begins with.
struct spyi_resource {
    const spyi_resource_kind *kind;
    uint64_t write_submit; // batch of the last write: a read back waits for it
    uint64_t use_submit;   // batch of the last use: freeing waits for it
    // The batch of the last use in an engine's command buffer, which keeps the memory from being used again; 0: there is none.
    uint64_t held_submit;
    int32_t references; // of tensors, command lists and others, guarded by the device's turns
};

static inline void spyi_resource_retain(spyi_resource *resource) {
    resource->references++;
}
static inline void spyi_resource_release(spy_device *device, spyi_resource *resource) {
    if (--resource->references == 0) resource->kind->unused(device, resource);
}

// One piece of work's use of a part of a resource: of memory, bytes from the block's start; of a texture, sub-resources, whose
// numbers are level * layers + layer.
typedef struct spyi_use {
    spyi_resource *resource;
    uint64_t begin, end;
    uint32_t how; // SPYI_USE_*
} spyi_use;

static inline spyi_use spyi_use_of(spyi_resource *resource, uint64_t begin, uint64_t end, uint32_t how) {
    spyi_use use;
    use.resource = resource;
    use.begin = begin;
    use.end = end;
    use.how = how;
    return use;
}

static inline uint32_t spyi_how(bool reads, bool writes) {
    return (reads ? (uint32_t)SPYI_USE_READS : 0u) | (writes ? (uint32_t)SPYI_USE_WRITES : 0u);
}

// >>textures

// One sub-resource.
typedef struct spyi_texture_part {
    uint32_t how;                     // its last use, which its layout is for; 0: it has none yet
    uint64_t read_epoch, write_epoch; // of the last ones
} spyi_texture_part;

typedef struct spyi_texture {
    spyi_resource resource; // first
    uint64_t handle;
    uint32_t levels, layers;
    spyi_texture_part *parts;
} spyi_texture;

// Of a texture that has a handle, levels and layers. false: out of memory.
SPYI_FN bool spyi_texture_track(spy_device *device, spyi_texture *texture);
SPYI_FN void spyi_texture_untrack(spy_device *device, spyi_texture *texture);

// >>the tracker (hazards.c)

// What must come before work with these uses, which are noted. `untracked`: it may use other memory too, which nobody knows.
// Transitions stay until the next call.
SPYI_FN spyi_before spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked);
// After the work.
SPYI_FN void spyi_uses_done(spy_device *device, const spyi_before *before, bool untracked, spy_status status);
// The same of work on buffers that are all known.
SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status);
// Work whose parts went into several batches: the uses are of the last one.
SPYI_FN void spyi_note_batch(spy_device *device, const spyi_use *uses, uint32_t count);
// After work that failed behind transitions.
SPYI_FN void spyi_transitions_failed(const spyi_before *before, const spyi_use *uses, uint32_t count);

#endif // SPYI_RESOURCE_H
