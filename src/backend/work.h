// Work: the operations that a backend records. Each piece of work begins with spyi_work, which has its kind
// and the barrier or transitions before it. A new kind needs a struct that begins with spyi_work, a
// spyi_work_kind, and an entry in the table of each backend that supports it.
#ifndef SPYI_WORK_H
#define SPYI_WORK_H

#include "backend/backend.h"

// The index of a kind's function in a backend's table.
typedef enum spyi_work_number {
    SPYI_WORK_DISPATCH,
    SPYI_WORK_COPY,
    SPYI_WORK_FILL,
    SPYI_WORK_UPLOAD,
    SPYI_WORK_LABEL,
    SPYI_WORK_TIME_MARK,
    SPYI_WORK_TIME_STORE,
    SPYI_WORK_IMAGE_BYTES, // the structs of these four are in image.h
    SPYI_WORK_IMAGE_COPY,
    SPYI_WORK_IMAGE_BLIT,
    SPYI_WORK_IMAGE_CLEAR,
    SPYI_WORK_DRAW, // its struct is in raster.h
    SPYI_WORK_COUNT
} spyi_work_number;

typedef char spyi_work_kinds_fit[SPYI_WORK_COUNT < SPYI_WORK_ROOM ? 1 : -1];

// Visits the pointers of kept work, so that the work can leave the process and come back. A visitor may
// change each pointer and handle, and the visit continues with the changed value. Offsets are bytes from the
// start of the chunk.
typedef struct spyi_work_visitor {
    void (*kernel)(void *user, spyi_kernel **kernel);
    // `pointer` is the address of a pointer of any type, which points to bytes behind the work or is NULL.
    void (*inside)(void *user, void *pointer);
    void (*memory)(void *user, const spyi_chunk **chunk, uint64_t *offset);
    void (*handle)(void *user, uint64_t *handle, uint64_t *offset); // the handle of a chunk
    void *user;
    // The handle of an image, of a view of one, or of a sampler; NULL means that the visitor knows none.
    void (*image)(void *user, uint64_t *handle);
} spyi_work_visitor;

// The properties of one kind of work, in every backend.
typedef struct spyi_work_kind {
    uint32_t number; // a spyi_work_number
    const char *name;
    // Copies the work and what it points to, except chunks and kernels, to `bytes` (16-byte aligned), and
    // returns the number of bytes. With `bytes` NULL only returns the number. A NULL function: the work
    // cannot be kept, for example in a command list.
    size_t (*keep)(const spyi_work *work, void *bytes);
    // Shows the pointers and handles of kept work to the visitor, except those of spyi_work. NULL means that
    // it has none.
    void (*visit)(spyi_work *work, const spyi_work_visitor *visitor);
} spyi_work_kind;

// The uses that work makes of a part of a resource. Textures have further bits, which decide their layouts;
// READS and WRITES are set as well.
enum {
    SPYI_USE_READS = 1,
    SPYI_USE_WRITES = 2,
    SPYI_USE_COUNTS = 4,  // group counts of an indirect dispatch
    SPYI_USE_TEXTURE = 8, // this value and higher ones are for textures
    SPYI_USE_SAMPLED = 8,
    SPYI_USE_STORED = 16, // loads and stores by coordinates
    SPYI_USE_ATTACHMENT = 32,
    SPYI_USE_COPIED = 64
};

// Returns the bits of a use of a texture that decide its layout. Loads and stores share one layout, and so do
// all uses as a target of draws. A copy has one layout for its source, another for its target, and a third
// one for a part that is both.
static inline uint32_t spyi_use_layout(uint32_t how) {
    const uint32_t one = SPYI_USE_SAMPLED | SPYI_USE_STORED | SPYI_USE_ATTACHMENT;
    return how & one ? how & ~(uint32_t)(SPYI_USE_READS | SPYI_USE_WRITES) : how;
}

// Layers of one level of a texture change from their last use to the use that the work makes of them.
typedef struct spyi_transition {
    uint64_t texture; // the texture's handle: VkImage
    uint32_t level, first_layer, layer_count;
    uint32_t from, to; // SPYI_USE_*; `from` 0 means that the old content is not needed
    uint32_t format;   // spy_format, which says whether the texture has depth and stencil
} spyi_transition;

// The order that work needs: nothing before it; a barrier, after which the work sees all earlier work
// finished; or transitions, with or without a barrier. Work on buffers alone has no transitions.
typedef struct spyi_before {
    bool barrier;
    uint32_t transition_count;
    const spyi_transition *transitions; // read when transition_count > 0
} spyi_before;

// The first member of every piece of work.
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

// Records work with its backend's function. Without one returns SPY_ERROR_UNSUPPORTED; `error` names the
// kind.
SPYI_FN spy_status spyi_work_unsupported(const struct spyi_backend *backend, const spyi_work *work,
                                         spyi_text *error);
static inline spy_status spyi_record(const struct spyi_backend *backend, spyi_gpu *gpu, const spyi_work *work,
                                     spyi_text *error) {
    spyi_record_func record = backend->record[work->kind->number];
    return SPYI_LIKELY(record != NULL) ? record(gpu, work, error)
                                       : spyi_work_unsupported(backend, work, error);
}

// >>the kinds

// Copies the kernel's block, bindings and uniform buffers to `bytes` behind its first *used bytes, which then
// end behind them, and changes the pointers to the copies. With `bytes` NULL only counts, and sets the
// pointers to NULL. For the functions in spyi_work_kind of kinds that run a kernel.
SPYI_FN void spyi_keep_inputs(const spyi_kernel *kernel, const void **block, const spyi_binding **bindings,
                              const spyi_uniform **uniforms, void *bytes, size_t *used);
// Visits the kernel first, because it has the numbers of bindings and uniform buffers.
SPYI_FN void spyi_visit_inputs(const spyi_work_visitor *visitor, spyi_kernel **kernel, const void **block,
                               const spyi_binding **bindings, const spyi_uniform **uniforms);

// Runs a kernel. A barrier before an indirect dispatch also covers the read of its group counts; other
// barriers need not.
typedef struct spyi_dispatch {
    spyi_work work;
    spyi_kernel *kernel;
    const void *block;            // the kernel's block_size bytes; copied during the call
    const spyi_binding *bindings; // the kernel's binding_count bindings, by number; copied during the call
    const spyi_uniform *uniforms; // the kernel's uniform_count uniform buffers; copied during the call
    uint32_t groups[3];           // each > 0 and within the limits; unused when indirect
    // The handle of a chunk with the three group counts (uint32_t); 0 means that `groups` is used.
    uint64_t indirect;
    uint64_t indirect_offset; // bytes, a multiple of 4; used when indirect
} spyi_dispatch;
SPYI_FN const spyi_work_kind *spyi_work_dispatch(void);

// Copies between two ranges that do not overlap.
typedef struct spyi_copy_work {
    spyi_work work;
    const spyi_chunk *to, *from;
    uint64_t to_offset, from_offset, size; // offsets and size in bytes
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
    uint32_t pattern;      // the byte at `offset` gets the pattern's first byte in memory
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

// Copies host memory to the device, in the order of recorded work.
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

// Labels for debug tools. Push and pop name the work between them; a marker names one point. Without debug
// tools they do nothing.
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

// Writes GPU times to memory, on devices with SPY_FEATURE_TIMESTAMPS. A mark notes the time in a slot once
// all work recorded before it has finished. A store writes slots 0 to count - 1, which must all be noted, as
// uint64_t in units of limits.info.timestamp_period_ns.
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
    uint64_t offset; // the offset in bytes
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
