// Works out from the uses of work what must come before it: nothing, a barrier, or transitions of textures.
//
// Each recorded barrier begins a new epoch. Two uses conflict when they fall into the same epoch, their parts
// overlap and one of them writes. A texture's part has one layout at a time, for one sort of use: a
// transition to another layout also orders the part's uses before it and after it.
#include "data/device.h"

#if defined(__GNUC__) || defined(__clang__)
#define SPYI_HAZARDS_COLD __attribute__((noinline, cold))
// Without inlining there would be a call for each use.
#define SPYI_HAZARDS_HOT inline __attribute__((always_inline))
#else
#define SPYI_HAZARDS_COLD
#define SPYI_HAZARDS_HOT
#endif

// >>memory

static spyi_storage *spyi_use_storage(const spyi_use *use) {
    return (spyi_storage *)(void *)use->resource; // `resource` is the first member of spyi_storage
}

static bool spyi_ranges_overlap(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end) {
    return begin < other_end && other_begin < end;
}

static SPYI_HAZARDS_HOT bool spyi_memory_conflicts(const spy_device *device, const spyi_use *use) {
    const spyi_storage *storage = spyi_use_storage(use);
    if (storage->write_epoch == device->epoch &&
        spyi_ranges_overlap(use->begin, use->end, storage->write_begin, storage->write_end))
        return true;
    return (use->how & SPYI_USE_WRITES) && storage->read_epoch == device->epoch &&
           spyi_ranges_overlap(use->begin, use->end, storage->read_begin, storage->read_end);
}

static SPYI_HAZARDS_HOT void spyi_extend_range(uint64_t *epoch, uint64_t *first, uint64_t *last, uint64_t now,
                                               uint64_t begin, uint64_t end) {
    if (*epoch != now) {
        *epoch = now;
        *first = begin;
        *last = end;
        return;
    }
    if (begin < *first) *first = begin;
    if (end > *last) *last = end;
}

// >>textures

SPYI_FN bool spyi_texture_track(spy_device *device, spyi_texture *texture) {
    size_t count = (size_t)texture->levels * texture->layers;
    size_t had = device->transition_capacity, wanted = device->texture_parts + count;
    texture->parts = (spyi_texture_part *)spyi_allocate(&device->ctx, count * sizeof *texture->parts);
    if (!texture->parts) return false;
    if (wanted > had) { // makes room for a transition of each part of all textures
        wanted += wanted / 2;
        void *transitions =
            spyi_reallocate(&device->ctx, device->transitions, had * sizeof *device->transitions,
                            wanted * sizeof *device->transitions);
        if (!transitions) {
            spyi_free(&device->ctx, texture->parts, count * sizeof *texture->parts);
            texture->parts = NULL;
            return false;
        }
        device->transitions = (spyi_transition *)transitions;
        device->transition_capacity = (uint32_t)wanted;
    }
    device->texture_parts += count;
    return true;
}

SPYI_FN void spyi_texture_untrack(spy_device *device, spyi_texture *texture) {
    size_t count = (size_t)texture->levels * texture->layers;
    device->texture_parts -= count;
    spyi_free(&device->ctx, texture->parts, count * sizeof *texture->parts);
    texture->parts = NULL;
}

static spyi_texture *spyi_use_texture(const spyi_use *use) {
    return (spyi_texture *)(void *)use->resource; // `resource` is the first member of spyi_texture
}

// Returns whether the use needs a barrier. Parts whose layout changes need none: the transition orders them.
static bool spyi_texture_conflicts(const spy_device *device, const spyi_use *use) {
    const spyi_texture *texture = spyi_use_texture(use);
    for (uint64_t i = use->begin; i < use->end; i++) {
        const spyi_texture_part *part = &texture->parts[i];
        if (part->how & use->how & SPYI_USE_ATTACHMENT) continue; // passes order themselves (raster.h)
        if (spyi_use_layout(part->how) == spyi_use_layout(use->how) &&
            (part->write_epoch == device->epoch ||
             ((use->how & SPYI_USE_WRITES) && part->read_epoch == device->epoch)))
            return true;
    }
    return false;
}

// Adds a transition of one part; neighbouring layers of a level share one transition.
static void spyi_add_transition(spy_device *device, const spyi_texture *texture, uint64_t number,
                                uint32_t from, uint32_t to) {
    spyi_transition *last =
        device->transition_count ? &device->transitions[device->transition_count - 1] : NULL;
    uint32_t level = (uint32_t)(number / texture->layers), layer = (uint32_t)(number % texture->layers);
    if (last && last->texture == texture->handle && last->level == level && last->from == from &&
        last->to == to && last->first_layer + last->layer_count == layer) {
        last->layer_count++;
        return;
    }
    // This fails where one piece of work uses a part in two layouts; the code that makes the work must refuse
    // that.
    SPYI_ASSERT(device->transition_count < device->transition_capacity);
    if (device->transition_count == device->transition_capacity) return;
    last = &device->transitions[device->transition_count++];
    last->texture = texture->handle;
    last->level = level;
    last->first_layer = layer;
    last->layer_count = 1;
    last->from = from;
    last->to = to;
    last->format = texture->format;
}

static void spyi_texture_note(spy_device *device, const spyi_use *use, uint64_t submit) {
    spyi_texture *texture = spyi_use_texture(use);
    texture->resource.use_submit = submit;
    if (use->how & SPYI_USE_WRITES) texture->resource.write_submit = submit;
    for (uint64_t i = use->begin; i < use->end; i++) {
        spyi_texture_part *part = &texture->parts[i];
        if (spyi_use_layout(part->how) != spyi_use_layout(use->how)) {
            spyi_add_transition(device, texture, i, part->how, use->how);
            part->read_epoch = part->write_epoch = 0; // the transition orders earlier uses before later ones
        }
        part->how = use->how;
        if (use->how & SPYI_USE_READS) part->read_epoch = device->epoch;
        if (use->how & SPYI_USE_WRITES) part->write_epoch = device->epoch;
    }
}

// Gives the parts of a transition their former layout: work that failed has changed none.
static void spyi_undo_transition(const spyi_transition *t, const spyi_texture *texture) {
    if (texture->handle != t->texture) return;
    for (uint32_t layer = t->first_layer; layer < t->first_layer + t->layer_count; layer++)
        texture->parts[(size_t)t->level * texture->layers + layer].how = t->from;
}

SPYI_FN void spyi_transitions_failed(const spyi_before *before, const spyi_use *uses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; uses[i].how >= SPYI_USE_TEXTURE && k < before->transition_count; k++)
            spyi_undo_transition(&before->transitions[k], spyi_use_texture(&uses[i]));
}

// >>uses

static SPYI_HAZARDS_HOT void spyi_memory_note(const spyi_use *use, uint64_t epoch, uint64_t submit) {
    spyi_storage *s = spyi_use_storage(use);
    s->resource.use_submit = submit;
    if (use->how & SPYI_USE_READS)
        spyi_extend_range(&s->read_epoch, &s->read_begin, &s->read_end, epoch, use->begin, use->end);
    if (!(use->how & SPYI_USE_WRITES)) return;
    spyi_extend_range(&s->write_epoch, &s->write_begin, &s->write_end, epoch, use->begin, use->end);
    s->resource.write_submit = submit;
}

// Group counts of indirect dispatches are read at a stage that ordinary barriers do not cover. They need a
// barrier after any write since the last barrier that covers this stage (counts_epoch), whatever epoch the
// write fell into.
static bool spyi_counts_conflict(const spy_device *device, const spyi_use *use) {
    uint64_t written = spyi_use_storage(use)->write_epoch;
    if (written < device->untracked_epoch) written = device->untracked_epoch;
    return (written > 0 && written >= device->counts_epoch) || spyi_memory_conflicts(device, use);
}

// Notes that recorded work uses the resources. Resources that captured work uses stay held.
static SPYI_HAZARDS_COLD void spyi_hold_uses(const spy_device *device, const spyi_use *uses, uint32_t count,
                                             uint64_t submit) {
    if (device->base->captured) submit = SPYI_HELD_ALWAYS;
    for (uint32_t i = 0; i < count; i++) uses[i].resource->held_submit = submit;
}

// Returns the batch that the work goes into, and notes it in the device.
static uint64_t spyi_take_submit(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked) {
    uint64_t submit = device->base->open;
    device->last_submit = submit;
    if (device->base->recording) spyi_hold_uses(device, uses, count, submit);
    if (untracked) device->untracked_submit = submit;
    return submit;
}

// Does what spyi_take_uses() does, for uses of any sort; the caller handles plain uses of memory by itself.
static SPYI_HAZARDS_COLD spyi_before spyi_take_special(spy_device *device, const spyi_use *uses,
                                                       uint32_t count, bool untracked) {
    spyi_before before;
    before.barrier = untracked || device->barrier_owed;
    for (uint32_t i = 0; i < count && !before.barrier; i++) {
        const spyi_use *use = &uses[i];
        before.barrier = use->how >= SPYI_USE_TEXTURE  ? spyi_texture_conflicts(device, use)
                         : use->how >= SPYI_USE_COUNTS ? spyi_counts_conflict(device, use)
                                                       : spyi_memory_conflicts(device, use);
    }
    if (before.barrier) device->epoch++;
    uint64_t submit = spyi_take_submit(device, uses, count, untracked);
    device->transition_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_use *use = &uses[i];
        if (use->how < SPYI_USE_TEXTURE) spyi_memory_note(use, device->epoch, submit);
        else spyi_texture_note(device, use, submit);
        if (before.barrier && (use->how & SPYI_USE_COUNTS)) device->counts_epoch = device->epoch;
    }
    before.transition_count = device->transition_count;
    before.transitions = device->transitions;
    return before;
}

SPYI_FN spyi_before spyi_take_uses(spy_device *device, const spyi_use *uses, uint32_t count, bool untracked) {
    spyi_before before;
    bool barrier = untracked || device->barrier_owed;
    spyi_watch(device->base);
    for (uint32_t i = 0; i < count; i++) {
        if (!SPYI_LIKELY(uses[i].how < SPYI_USE_COUNTS))
            return spyi_take_special(device, uses, count, untracked);
        barrier = barrier || spyi_memory_conflicts(device, &uses[i]);
    }
    if (barrier) device->epoch++;
    uint64_t submit = spyi_take_submit(device, uses, count, untracked), epoch = device->epoch;
    for (uint32_t i = 0; i < count; i++) spyi_memory_note(&uses[i], epoch, submit);
    before.barrier = barrier;
    before.transition_count = 0;
    before.transitions = NULL;
    return before;
}

// A use that reads, and was noted in this epoch and this batch, needs neither a comparison nor another note,
// because a write to its bytes since then would have begun a new epoch.
SPYI_FN bool spyi_take_noted_uses(spy_device *device, const spyi_use *uses, uint32_t count,
                                  const spyi_use *from, const spyi_use *to, spyi_noted_uses *noted) {
    bool barrier = device->barrier_owed;
    spyi_watch(device->base);
    if (noted->epoch != device->epoch || noted->submit != device->base->open || device->base->recording) {
        from = uses;
        to = uses + count;
    }
    for (const spyi_use *use = from; use < to && !barrier; use++)
        barrier = spyi_memory_conflicts(device, use);
    if (barrier) {
        device->epoch++;
        from = uses;
        to = uses + count;
    }
    uint64_t submit = spyi_take_submit(device, uses, count, false), epoch = device->epoch;
    for (const spyi_use *use = from; use < to; use++) spyi_memory_note(use, epoch, submit);
    noted->epoch = epoch;
    noted->submit = submit;
    return barrier;
}

SPYI_FN void spyi_barrier_done(spy_device *device, bool barrier, spy_status status) {
    if (!barrier) return;
    device->barrier_owed = status != SPY_OK;
    // The failed barrier may have been one for group counts.
    if (device->barrier_owed) device->counts_epoch = 0;
}

// Notes the end of the recorded work. Untracked work may have written anywhere, so the next work needs a
// barrier.
SPYI_FN void spyi_uses_done(spy_device *device, const spyi_before *before, bool untracked,
                            spy_status status) {
    spyi_barrier_done(device, before->barrier, status);
    if (!untracked) return;
    device->barrier_owed = true;
    device->untracked_epoch = device->epoch;
}

SPYI_FN void spyi_note_batch(spy_device *device, const spyi_use *uses, uint32_t count) {
    uint64_t submit = device->base->open;
    for (uint32_t i = 0; i < count; i++) {
        uses[i].resource->use_submit = submit;
        if (uses[i].how & SPYI_USE_WRITES) uses[i].resource->write_submit = submit;
    }
    if (device->base->recording) spyi_hold_uses(device, uses, count, submit);
}
