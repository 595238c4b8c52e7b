// The guard that every public function calls: it checks which thread may use an object and whose turn it is
// on the device, and frees released objects.
#include "base/base.h"

struct spyi_retired_object {
    spyi_object *object;
    size_t size;
    struct spyi_retired_object *next;
};

// >>objects

SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind) {
    spyi_object *o = (spyi_object *)object;
    return o && o->kind == (uint32_t)kind ? o : NULL;
}

static const char *spyi_kind_name(uint32_t kind) {
    switch (kind) {
    case SPYI_KIND_DEVICE: return "device";
    case SPYI_KIND_MODULE: return "module";
    case SPYI_KIND_FUNCTION: return "function";
    case SPYI_KIND_TENSOR: return "tensor";
    case SPYI_KIND_PREPARED: return "prepared call";
    case SPYI_KIND_CURSOR: return "cursor";
    case SPYI_KIND_LIST: return "command list";
    case SPYI_KIND_TEXTURE: return "texture";
    case SPYI_KIND_SAMPLER: return "sampler";
    case SPYI_KIND_RASTER: return "raster";
    case SPYI_KIND_FUSION: return "graph";
    default: return "unknown object";
    }
}

// Returns NULL when the kind is not that of a living object, or has no table.
static const spyi_object_table *spyi_table_of(const spyi_context *ctx, uint32_t kind) {
    uint32_t index = kind - (uint32_t)SPYI_KIND_DEVICE;
    return index < SPYI_KIND_COUNT ? ctx->tables[index] : NULL;
}

// Writes why an object is not a living object of that kind on the caller's device; returns the status of that
// error.
static spy_status spyi_problem_words(const spyi_object *o, spyi_kind kind, char words[64]) {
    const char *expected = spyi_kind_name((uint32_t)kind);
    bool released = o && o->kind == (uint32_t)SPYI_KIND_DEAD;
    if (!o) snprintf(words, 64, "expected a %s, got NULL", expected);
    else if (released) snprintf(words, 64, "the %s has been released", expected);
    else if (o->kind == (uint32_t)kind) snprintf(words, 64, "the %s belongs to another device", expected);
    else snprintf(words, 64, "expected a %s, got a %s", expected, spyi_kind_name(o->kind));
    return released ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT;
}

SPYI_FN spy_status spyi_object_problem(const void *object, spyi_kind kind, spyi_text *error) {
    char words[64];
    spy_status status = spyi_problem_words((const spyi_object *)object, kind, words);
    spyi_text_add(error, "%s", words);
    return status;
}

SPYI_FN spy_status spyi_refuse_object(const void *object, spyi_kind kind, const char *function) {
    char words[64];
    spy_status status = spyi_problem_words((const spyi_object *)object, kind, words);
    return spyi_fail(NULL, status, "%s: %s", function, words);
}

SPYI_FN spy_status spyi_refuse_member(spy_device *device, const void *object, spyi_kind kind,
                                      const char *function, const char *name) {
    char words[64];
    spy_status status = spyi_problem_words((const spyi_object *)object, kind, words);
    return spyi_fail(SPYI_CONTEXT(device), status, "%s: %s: %s", function, name, words);
}

SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error) {
    spyi_fail(SPYI_CONTEXT(device), status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

// >>releases

static spyi_object *spyi_take_releases(spyi_context *ctx) {
    spyi_mutex_lock(&ctx->release_lock);
    spyi_object *queue = ctx->release_queue;
    ctx->release_queue = NULL;
    spyi_atomic_store(&ctx->release_count, 0);
    spyi_mutex_unlock(&ctx->release_lock);
    return queue;
}

static void spyi_free_releases(spyi_context *ctx, spyi_object *queue) {
    while (queue) {
        spyi_object *object = queue;
        queue = object->release_next;
        spyi_table_of(ctx, object->released_kind)->free(object);
    }
}

SPYI_FN void spyi_drain_releases(spy_device *device) {
    spyi_context *ctx = SPYI_CONTEXT(device);
    spyi_free_releases(ctx, spyi_take_releases(ctx));
}

// Frees the queued releases, inside the device. Returns false when the object itself or its owner was among
// them.
static bool spyi_outlives_releases(spyi_context *ctx, const spyi_object *o) {
    // The queue is taken before the object is read: an object that is released after this is freed by a later
    // call.
    spyi_object *queue = spyi_take_releases(ctx);
    const spyi_object_table *table = spyi_table_of(ctx, o->kind);
    spyi_object *owner = table && table->owner ? table->owner(o) : NULL;
    bool lives = o->kind != (uint32_t)SPYI_KIND_DEAD && !(owner && owner->kind == (uint32_t)SPYI_KIND_DEAD);
    bool held = lives && owner; // a queued object may be the last user of the owner
    if (held) spyi_atomic_add(&owner->references, 1);
    spyi_free_releases(ctx, queue);
    if (!held || spyi_atomic_add(&owner->references, -1) > 0) return lives;
    spyi_table_of(ctx, owner->kind)->free(owner);
    return false;
}

SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind, const char *function) {
    spyi_object *o = spyi_as(object, kind);
    if (o) spyi_atomic_add(&o->references, 1);
    else spyi_refuse_object(object, kind, function);
}

SPYI_FN void spyi_queue_release(spyi_object *object) {
    spyi_context *ctx = SPYI_CONTEXT(object->device);
    spyi_mutex_lock(&ctx->release_lock);
    object->release_next = ctx->release_queue;
    ctx->release_queue = object;
    spyi_atomic_add(&ctx->release_count, 1);
    spyi_mutex_unlock(&ctx->release_lock);
}

SPYI_FN void spyi_object_release(spyi_object *object) {
    spyi_context *ctx = SPYI_CONTEXT(object->device);
    if (ctx->turns.fork_count != spyi_fork_count()) {
        char what[64];
        snprintf(what, sizeof what, "release of a %s", spyi_kind_name(object->kind));
        spyi_forked(ctx, what);
        return;
    }
    if (spyi_atomic_add(&object->references, -1) != 0) return;
    object->released_kind = object->kind;
    object->kind = (uint32_t)SPYI_KIND_DEAD; // from now on each use is an error
    spyi_queue_release(object);
}

SPYI_FN void spyi_retire_object(spy_device *device, spyi_object *object, size_t size) {
    spyi_context *ctx = SPYI_CONTEXT(device);
    object->kind = (uint32_t)SPYI_KIND_DEAD;
#ifndef NDEBUG
    struct spyi_retired_object *retired = (struct spyi_retired_object *)spyi_allocate(ctx, sizeof *retired);
    if (retired) {
        retired->object = object;
        retired->size = size;
        retired->next = ctx->retired_objects;
        ctx->retired_objects = retired;
        return;
    }
#endif
    spyi_free(ctx, object, size);
}

SPYI_FN void spyi_free_retired_objects(spyi_context *ctx) {
    while (ctx->retired_objects) {
        struct spyi_retired_object *retired = ctx->retired_objects;
        ctx->retired_objects = retired->next;
        spyi_free(ctx, retired->object, retired->size);
        spyi_free(ctx, retired, sizeof *retired);
    }
}

// >>turns

static void spyi_on_turn_blocks(void *user, bool begins) {
    spyi_block((spyi_context *)user, begins);
}

// Reports a call from a callback to the thread, which can read the error without the device, and to the
// device, like all errors.
static spy_status spyi_refuse_callback(spyi_context *ctx, const char *function) {
    const char *format =
        "%s: this thread is in a call of device '%s' already: a callback must not use the device";
    spyi_fail(NULL, SPY_ERROR_BUSY, format, function, ctx->label);
    return spyi_fail(ctx, SPY_ERROR_BUSY, format, function, ctx->label);
}

// Enters when the turn was not free at once.
static spy_status spyi_enter_later(spyi_context *ctx, const char *function) {
    switch (spyi_turns_wait(&ctx->turns, spyi_on_turn_blocks, ctx)) {
    case SPYI_TURN_TAKEN: return SPY_OK;
    case SPYI_TURN_MINE: return spyi_refuse_callback(ctx, function);
    case SPYI_TURN_FORKED: return spyi_forked(ctx, function);
    default: return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the device has been released", function);
    }
}

// Returns true when this thread is in a call that works outside of the device: a callback then made this
// call.
static bool spyi_is_outside(const spyi_context *ctx) {
    const spyi_outside *o = ctx->outside;
    uintptr_t me = o ? spyi_thread_id() : 0;
    while (o && spyi_noted_thread(&o->thread) != me) o = o->next;
    return o != NULL;
}

// Enters when the turn was not free at once (`taken` is false), or when there is something to do before the
// call: to free queued objects, or to check whether a callback makes the call. Not inlined, because
// spyi_enter() would save registers for it.
static SPYI_NOINLINE spy_status spyi_enter_slowly(const spyi_object *o, spyi_kind kind, bool taken,
                                                  const char *function) {
    spyi_context *ctx = SPYI_CONTEXT(o->device);
    spy_status status = taken ? SPY_OK : spyi_enter_later(ctx, function);
    if (status != SPY_OK) return status;
    if (spyi_is_outside(ctx)) {
        spyi_turns_leave(&ctx->turns);
        return spyi_refuse_callback(ctx, function);
    }
    if (spyi_atomic_load(&ctx->release_count) == 0 || spyi_outlives_releases(ctx, o)) return SPY_OK;
    spyi_turns_leave(&ctx->turns);
    return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the %s has been released", function,
                     spyi_kind_name((uint32_t)kind));
}

SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function) {
    const spyi_object *o = (const spyi_object *)object;
    if (!SPYI_LIKELY(o && o->kind == (uint32_t)kind)) return spyi_refuse_object(object, kind, function);
    spyi_context *ctx = SPYI_CONTEXT(o->device);
    bool taken = spyi_turns_try(&ctx->turns);
    if (SPYI_LIKELY(taken && spyi_atomic_load(&ctx->release_count) == 0 && !ctx->outside)) return SPY_OK;
    return spyi_enter_slowly(o, kind, taken, function);
}

SPYI_FN void spyi_leave(const void *object) {
    spyi_turns_leave(&SPYI_CONTEXT(((const spyi_object *)object)->device)->turns);
}

// >>work outside of the device

SPYI_FN void spyi_outside_add(spyi_context *ctx, spyi_outside *outside, spyi_object *kept) {
    memset(outside, 0, sizeof *outside);
    outside->next = ctx->outside;
    if (outside->next) outside->next->previous = outside;
    ctx->outside = outside;
    outside->kept = kept;
    if (kept) spyi_atomic_add(&kept->references, 1);
}

SPYI_FN void spyi_outside_remove(spyi_context *ctx, spyi_outside *outside) {
    if (outside->previous) outside->previous->next = outside->next;
    else ctx->outside = outside->next;
    if (outside->next) outside->next->previous = outside->previous;
    if (outside->kept) spyi_object_release(outside->kept);
    spyi_turns_notify(&ctx->turns);
}

SPYI_FN void spyi_come_back(spyi_context *ctx) {
    if (!spyi_turns_try(&ctx->turns)) (void)spyi_turns_wait(&ctx->turns, spyi_on_turn_blocks, ctx);
}

SPYI_FN void spyi_await(spyi_context *ctx, int32_t seen) {
    spyi_turns_await(&ctx->turns, seen, spyi_on_turn_blocks, ctx);
}

SPYI_FN bool spyi_is_under_way(const spy_device *device, const void *work, const void *key, size_t key_size) {
    const spyi_outside *o = ((const spyi_context *)(const void *)device)->outside;
    while (o && (o->work != work || o->key_size != key_size || memcmp(o->key, key, key_size) != 0))
        o = o->next;
    return o != NULL;
}
