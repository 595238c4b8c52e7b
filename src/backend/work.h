// Work: what a backend records. Each piece begins with spyi_work, which says what kind it is, and what must have happened
// before it. A new kind is a struct that begins so, a spyi_work_kind, and a line in the table of each backend that does it.
#ifndef SPYI_WORK_H
#define SPYI_WORK_H

#include "backend/backend.h"

// Where backends have the function for a kind in their tables.
typedef enum spyi_work_number {
    SPYI_WORK_DISPATCH,
    SPYI_WORK_COPY,
    SPYI_WORK_FILL,
    SPYI_WORK_UPLOAD,
    SPYI_WORK_LABEL,
    SPYI_WORK_TIME_MARK,
    SPYI_WORK_TIME_STORE,
    SPYI_WORK_COUNT
} spyi_work_number;

typedef char spyi_work_kinds_fit[SPYI_WORK_COUNT < SPYI_WORK_ROOM ? 1 : -1];

// Visits what kept work points to, so that it can leave the process and come back. A visitor may change each pointer and handle
// that it is shown, and the visit goes on with what it leaves there. Offsets count from the start of the chunk.
typedef struct spyi_work_visitor {
    void (*kernel)(void *user, spyi_kernel **kernel);
    void (*inside)(void *user,
                   void *pointer); // where a pointer of any type stands: to bytes behind the work, or NULL
    void (*memory)(void *user, const spyi_chunk **chunk, uint64_t *offset);
    void (*handle)(void *user, uint64_t *handle, uint64_t *offset); // of a chunk
    void *user;
} spyi_work_visitor;

// What is true of all work of a kind, whoever does it.
typedef struct spyi_work_kind {
    uint32_t number; // spyi_work_number
    const char *name;
    // Copies the work and all that it points to, but for chunks and kernels, into `bytes`, 16-byte aligned, and returns how
    // many bytes that takes. `bytes` NULL: only that. The function NULL: the work cannot be kept, in a command list for one.
    size_t (*keep)(const spyi_work *work, void *bytes);
    // Shows all pointers and handles of kept work to the visitor, but for those of spyi_work. NULL: it has none.
    void (*visit)(spyi_work *work, const spyi_work_visitor *visitor);
} spyi_work_kind;

// How work uses a part of a resource. Textures have bits of their own, which their layouts follow from; READS and WRITES are
// set besides.
enum {
    SPYI_USE_READS = 1,
    SPYI_USE_WRITES = 2,
    SPYI_USE_COUNTS = 4,  // group counts of an indirect dispatch
    SPYI_USE_TEXTURE = 8, // from here on
    SPYI_USE_SAMPLED = 8,
    SPYI_USE_STORED = 16, // loads and stores by coordinates
    SPYI_USE_ATTACHMENT = 32,
    SPYI_USE_COPIED = 64
};

// Layers of a texture's level change from how they were used last to how the work uses them.
typedef struct spyi_transition {
    uint64_t texture; // its handle: VkImage
    uint32_t level, first_layer, layer_count;
    uint32_t from, to; // SPYI_USE_*; from 0: what is there is of no use
} spyi_transition;

// What must come before work: nothing; or a barrier, so that it sees all earlier work finished; or transitions, with or
// without such a barrier. Work on buffers alone has no transitions.
typedef struct spyi_before {
    bool barrier;
    uint32_t transition_count;
    const spyi_transition *transitions; // read when transition_count > 0
} spyi_before;

// Every piece of work begins with this.
struct spyi_work {
    const spyi_work_kind *kind;
    spyi_before before;
};

static inline spyi_work spyi_work_of(const spyi_work_kind *kind) {
    spyi_work work;
    work.kind = kind;
    work.before.transition_count = 0;
    work.before.barrier = false;
    work.before.transitions = NULL;
    return work;
}

// Records work with whatever its backend has for its kind. SPY_ERROR_UNSUPPORTED: nothing; the error names the kind.
SPYI_FN spy_status spyi_work_unsupported(const struct spyi_backend *backend, const spyi_work *work,
                                         spyi_text *error);
static inline spy_status spyi_record(const struct spyi_backend *backend, spyi_gpu *gpu, const spyi_work *work,
                                     spyi_text *error) {
    spyi_record_func record = backend->record[work->kind->number];
    return SPYI_LIKELY(record != NULL) ? record(gpu, work, error)
                                       : spyi_work_unsupported(backend, work, error);
}

// >>the kinds

// The barrier of an indirect dispatch also covers the reading of its group counts, which other barriers need not.
typedef struct spyi_dispatch {
    spyi_work work;
    spyi_kernel *kernel;
    const void *block;            // block_size bytes of the kernel; copied during the call
    const spyi_binding *bindings; // binding_count of the kernel, by number
    const spyi_uniform *uniforms; // uniform_count of the kernel; copied during the call
    uint32_t groups[3];           // each > 0 and within limits; unused when indirect
    uint64_t indirect;        // handle of a chunk that holds the three group counts (uint32_t); 0: `groups`
    uint64_t indirect_offset; // where in the chunk: a multiple of 4; read when indirect
} spyi_dispatch;
SPYI_FN const spyi_work_kind *spyi_work_dispatch(void);

// Between two ranges that do not overlap.
typedef struct spyi_copy_work {
    spyi_work work;
    const spyi_chunk *to, *from;
    uint64_t to_offset, from_offset, size; // bytes
} spyi_copy_work;
SPYI_FN const spyi_work_kind *spyi_work_copy(void);
static inline spyi_copy_work spyi_copy_of(const spyi_chunk *to, uint64_t to_offset, const spyi_chunk *from,
                                          uint64_t from_offset, uint64_t size) {
    spyi_copy_work copy;
    copy.work = spyi_work_of(spyi_work_copy());
    copy.to = to;
    copy.from = from;
    copy.to_offset = to_offset;
    copy.from_offset = from_offset;
    copy.size = size;
    return copy;
}

typedef struct spyi_fill_work {
    spyi_work work;
    const spyi_chunk *to;
    uint64_t offset, size; // bytes, multiples of limits.fill_alignment
    uint32_t pattern;      // its first byte in memory stands at `offset`
} spyi_fill_work;
SPYI_FN const spyi_work_kind *spyi_work_fill(void);
static inline spyi_fill_work spyi_fill_of(const spyi_chunk *to, uint64_t offset, uint64_t size,
                                          uint32_t pattern) {
    spyi_fill_work fill;
    fill.work = spyi_work_of(spyi_work_fill());
    fill.to = to;
    fill.offset = offset;
    fill.size = size;
    fill.pattern = pattern;
    return fill;
}

// Host to device in order of work.
typedef struct spyi_upload_work {
    spyi_work work;
    const spyi_chunk *to;
    uint64_t offset, size; // bytes
    const void *data;      // copied during the call
} spyi_upload_work;
SPYI_FN const spyi_work_kind *spyi_work_upload(void);
static inline spyi_upload_work spyi_upload_of(const spyi_chunk *to, uint64_t offset, const void *data,
                                              uint64_t size) {
    spyi_upload_work upload;
    upload.work = spyi_work_of(spyi_work_upload());
    upload.to = to;
    upload.offset = offset;
    upload.size = size;
    upload.data = data;
    return upload;
}

// Names for debug tools: of the work between push and pop, or of a point. Does nothing where there are no debug tools.
typedef enum spyi_label { SPYI_LABEL_PUSH, SPYI_LABEL_POP, SPYI_LABEL_POINT } spyi_label;
typedef struct spyi_label_work {
    spyi_work work;
    spyi_label label;
    const char *name; // copied during the call; NULL for a pop
} spyi_label_work;
SPYI_FN const spyi_work_kind *spyi_work_label(void);
static inline spyi_label_work spyi_label_of(spyi_label label, const char *name) {
    spyi_label_work work;
    work.work = spyi_work_of(spyi_work_label());
    work.label = label;
    work.name = name;
    return work;
}

// GPU times in memory, for devices with SPY_FEATURE_TIMESTAMPS. A mark notes the time in a slot when all work recorded before
// it is done; a store writes the slots 0 ... count - 1, all of which have been noted, as uint64_t in units of
// limits.info.timestamp_period_ns.
typedef struct spyi_time_mark_work {
    spyi_work work;
    uint32_t slot; // below SPYI_TIME_SLOTS
} spyi_time_mark_work;
SPYI_FN const spyi_work_kind *spyi_work_time_mark(void);
static inline spyi_time_mark_work spyi_time_mark_of(uint32_t slot) {
    spyi_time_mark_work mark;
    mark.work = spyi_work_of(spyi_work_time_mark());
    mark.slot = slot;
    return mark;
}

typedef struct spyi_time_store_work {
    spyi_work work;
    const spyi_chunk *to;
    uint64_t offset; // bytes
    uint32_t count;
} spyi_time_store_work;
SPYI_FN const spyi_work_kind *spyi_work_time_store(void);
static inline spyi_time_store_work spyi_time_store_of(const spyi_chunk *to, uint64_t offset, uint32_t count) {
    spyi_time_store_work store;
    store.work = spyi_work_of(spyi_work_time_store());
    store.to = to;
    store.offset = offset;
    store.count = count;
    return store;
}

#endif // SPYI_WORK_H
