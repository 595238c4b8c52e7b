// Resources (memory blocks, textures) and the uses that work makes of them. Barriers, texture layouts,
// lifetimes and command lists follow from these uses alone.
#ifndef SPYI_RESOURCE_H
#define SPYI_RESOURCE_H

#include "backend/work.h"

typedef struct spyi_resource spyi_resource;

// The functions that one kind of resource has.
typedef struct spyi_resource_kind {
    const char *name;
    void (*unused)(spy_device *device, spyi_resource *resource); // called when the last reference has gone
} spyi_resource_kind;

// The first member of every resource.
struct spyi_resource {
    const spyi_resource_kind *kind;
    uint64_t write_submit; // the batch of the last write, for which a read back waits
    uint64_t use_submit;   // the batch of the last use, for which freeing waits
    // The batch of the last use in an engine's command buffer; until that is reported as executed, the memory
    // is not used again. 0 means that there is none. SPYI_HELD_ALWAYS means that captured work has used the
    // resource.
    uint64_t held_submit;
    int32_t references; // held by tensors, command lists and others; guarded by the device's turns
};

#define SPYI_HELD_ALWAYS UINT64_MAX // means held until the device is released

// Returns whether recorded or captured work may still use the resource.
static inline bool spyi_is_held(const spyi_resource *resource, uint64_t held_from) {
    return resource->held_submit == SPYI_HELD_ALWAYS ||
           (held_from != 0 && resource->held_submit >= held_from);
}

static inline void spyi_resource_retain(spyi_resource *resource) {
    resource->references++;
}
static inline void spyi_resource_release(spy_device *device, spyi_resource *resource) {
    if (--resource->references == 0) resource->kind->unused(device, resource);
}

// One use of a part of a resource by one piece of work. `begin` and `end` are bytes from the start of a
// memory block, or sub-resources of a texture, whose numbers are level * layers + layer.
typedef struct spyi_use {
    spyi_resource *resource;
    uint64_t begin, end;
    uint32_t how; // a combination of SPYI_USE_*
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

// The state of one sub-resource: one layer of one level.
typedef struct spyi_texture_part {
    uint32_t how;                     // the last use, which determines the layout; 0 means not used yet
    uint64_t read_epoch, write_epoch; // the epochs of the part's last read and last write
} spyi_texture_part;

typedef struct spyi_texture {
    spyi_resource resource; // must be the first member
    uint64_t handle;
    uint32_t levels, layers;
    uint32_t format; // a spy_format, for transitions
    spyi_texture_part *parts;
} spyi_texture;

// Allocates the parts of a texture whose handle, levels, layers and format are set. Returns false when out of
// memory.
SPYI_FN bool spyi_texture_track(spy_device *device, spyi_texture *texture);
SPYI_FN void spyi_texture_untrack(spy_device *device, spyi_texture *texture);

// >>the tracker (hazards.c)

// Notes the uses of the work to be recorded next, and returns what must come before that work. With
// `untracked` the work may also use memory that `uses` does not list. The returned transitions are valid
// until the next call.
SPYI_FN spyi_before spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked);
// The notes that spyi_take_noted_uses() keeps of uses that are made again and again. All zero means that
// nothing was noted.
typedef struct spyi_noted_uses {
    uint64_t epoch, submit; // the epoch and batch of the last work with these uses
} spyi_noted_uses;
// Like spyi_take_uses(), for the uses of work that is made again and again, on memory only. The uses from `from` up
// to `to` contain each use that writes, and each that was not the same in the last call with this `noted`. Returns
// whether a barrier must come before the work.
SPYI_FN bool spyi_take_noted_uses(spy_device *device, const spyi_use *uses, uint32_t count,
                                  const spyi_use *from, const spyi_use *to, spyi_noted_uses *noted);
// Call this function when the work of spyi_take_uses() was recorded, with the status of the recording.
SPYI_FN void spyi_uses_done(spy_device *device, const spyi_before *before, bool untracked, spy_status status);
// Like spyi_uses_done(), for work that uses listed buffers only.
SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status);
// Moves the uses of work in several batches to the open batch, which is the last of these.
SPYI_FN void spyi_note_batch(spy_device *device, const spyi_use *uses, uint32_t count);
// Takes back the layout changes that `before` noted, after work that failed.
SPYI_FN void spyi_transitions_failed(const spyi_before *before, const spyi_use *uses, uint32_t count);

#endif // SPYI_RESOURCE_H
