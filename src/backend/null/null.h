// The null backend: a device without a GPU, for tests. It logs all work in a list that a test reads, moves
// bytes in host memory, and calls a function of the test in place of kernels. Work runs when its submit
// finishes, not when it is recorded: a missing submit, wait or barrier shows as wrong data or in the report.
// The report has a line for each broken rule of backend.h: ranges outside a chunk, misaligned offsets,
// transfers and bindings that overlap without a barrier, chunks freed or kernels destroyed while in use,
// leaks.
// Threads: the rules of backend.h. The spyi_null_* functions are called from one thread at a time, like the
// device layer's calls.
#ifndef SPYI_BACKEND_NULL_H
#define SPYI_BACKEND_NULL_H

#include "backend/raster.h"

SPYI_FN const spy_backend *spyi_null_backend(void); // returns the backend, whose name is "null"

// The type of spy_device_desc.backend_desc; NULL means all zero. A zero member stands for the default value
// in the member's comment.
typedef struct spyi_null_desc {
    spyi_target target;         // the target of kernels; only on_kernel reads their code
    uint32_t max_block_bytes;   // 0 means 128
    uint32_t max_bindings;      // 0 means 16
    bool pointers_only;         // profile.max_bindings is 0
    bool bindings_only;         // chunks have no address
    uint32_t binding_alignment; // 0 means 64
    uint64_t max_binding_bytes; // 0 means 1 GiB
    uint32_t texel_alignment;   // 0 means 64
    uint64_t max_texels;        // 0 means 64 Mi
    bool no_texels;        // typed buffers have no formats; otherwise they have those of 8, 16 and 32 bits
                           // with 1, 2 or 4 columns
    uint32_t max_uniforms; // 0 means 12
    uint32_t max_uniform_bytes; // 0 means 65536
    uint32_t fill_alignment;    // 0 means 4
    bool prefers_bindings;
    uint64_t bindings_from_bytes; // 0 means never
    uint64_t tiles_from;          // 0 means SPYI_TILES_FROM, or never if prefers_bindings is set
    bool unified_memory;          // device memory is mapped; otherwise only readback memory is
    uint32_t max_group_count;     // 0 means 65535, in each of the three dimensions
    uint32_t max_group_size;      // 0 means 1024
    uint32_t subgroup_size;       // 0 means 32
    uint32_t features;            // 0 means all SPY_FEATURE_*, without POINTERS if bindings_only is set
    uint64_t memory_bytes;        // 0 means 4 GiB; allocations beyond it fail
    double timestamp_period_ns;   // 0 means 1; each dispatch advances the clock by 1000 ticks
    bool fail_create;             // creating the device fails
    bool hold_submits;            // batches finish only by spyi_null_hold_submits()
    bool no_log;                  // work is removed from the list once it has finished
    // Called for each pipeline of a draw that is loaded; a status other than SPY_OK refuses it. Threads: the
    // same as for load.
    spy_status (*on_raster)(const spyi_raster_desc *desc, void *user_data, spyi_text *error);
    // Called for each kernel that is loaded; a status other than SPY_OK refuses it. Threads: the same as for
    // load.
    spy_status (*on_kernel)(const spyi_kernel_desc *desc, void *user_data, spyi_text *error);
    void *on_kernel_data;
    spyi_text *report; // a text of the test that gets the report, and outlives the device
} spyi_null_desc;

typedef enum spyi_null_op_kind {
    SPYI_NULL_OTHER, // work that the backend only logs
    SPYI_NULL_DISPATCH,
    SPYI_NULL_COPY,
    SPYI_NULL_FILL,
    SPYI_NULL_UPLOAD,
    SPYI_NULL_LABEL,
    SPYI_NULL_DRAW // its vertices and targets are in `work`, a spyi_draw_work
} spyi_null_op_kind;

// One piece of recorded work. It is valid until spyi_null_clear_ops() or the end of the device.
typedef struct spyi_null_op {
    spyi_null_op_kind kind; // the kind of the op; a store of timestamps counts as an upload
    const spyi_work *work;  // a copy of the work, with its transitions
    bool barrier;
    bool done;
    uint64_t submit; // the number of the work's batch
    // For dispatches, draws and labels:
    const char *label; // the kernel's label, or ""; for a label its name, and "" for its end
    uint32_t group_size;
    uint32_t groups[3]; // group counts; for an indirect dispatch they are read from `from` when it runs
    bool block_by_address;
    uint32_t block_size;
    const void *block; // block_size bytes of the parameter block
    uint32_t binding_count;
    const spyi_binding *bindings;
    const spyi_interface *iface; // interface of the kernel, which describes the bindings; valid as long as
                                 // the kernel
    uint32_t uniform_count;
    const spyi_uniform *uniforms; // uniform buffers with copies of their bytes
    // A copy sets `to` and `from`, a fill and an upload set `to`, an indirect dispatch sets `from`.
    uint64_t to, to_offset; // handle and offset in bytes
    uint64_t from, from_offset;
    uint64_t size;    // the bytes of the copy, fill or upload
    uint32_t pattern; // the pattern of a fill
    const void *data; // `size` bytes of an upload
    // The next members are used only by the backend.
    unsigned char *to_memory;
    const unsigned char *from_memory;
    struct spyi_null_kernel *kernel;
} spyi_null_op;

// Appends the recorded work as text, with a line for each piece, its barriers and its transitions.
SPYI_FN void spyi_null_tell_work(spyi_gpu *gpu, spyi_text *out);

SPYI_FN size_t spyi_null_op_count(spyi_gpu *gpu);
SPYI_FN const spyi_null_op *spyi_null_get_op(spyi_gpu *gpu, size_t index); // NULL if `index` is too large
SPYI_FN void spyi_null_clear_ops(spyi_gpu *gpu);                           // forgets finished work

// A function of a test that runs in place of a kernel, for each dispatch when it is executed. Addresses in
// the block are host addresses; spyi_null_memory() finds the memory of bindings.
typedef void (*spyi_null_func)(spyi_gpu *gpu, const spyi_null_op *op, void *user_data);
SPYI_FN void spyi_null_on_dispatch(spyi_gpu *gpu, spyi_null_func func, void *user_data);

// Returns the host address of a byte of a chunk; NULL for an unknown handle or an offset beyond its end.
SPYI_FN void *spyi_null_memory(spyi_gpu *gpu, uint64_t handle, uint64_t offset);
// Returns the host address of the texels of a level and layer, without gaps. `handle` is an image's handle,
// or a view's handle from a binding; levels and layers are then counted from the view's first. Returns NULL
// if there are none.
SPYI_FN void *spyi_null_texels(spyi_gpu *gpu, uint64_t handle, uint32_t level, uint32_t layer);
// Makes a chunk over the test's memory, for spyi_import_tensor(). The memory must outlive the device.
SPYI_FN spyi_chunk spyi_null_import(spyi_gpu *gpu, void *memory, size_t size);

// With `hold`, submits finish only by spyi_null_finish(), or by a wait without a time limit; a wait with a
// limit returns SPY_ERROR_NOT_READY at once. Without `hold` (the default) submits finish at once, the held
// ones included.
SPYI_FN void spyi_null_hold_submits(spyi_gpu *gpu, bool hold);
SPYI_FN void spyi_null_finish(spyi_gpu *gpu, uint64_t submit); // finishes all submits up to this one

typedef enum spyi_null_step {
    SPYI_NULL_STEP_ALLOCATE, // allocations of chunks
    SPYI_NULL_STEP_KERNEL,   // loads of kernels
    SPYI_NULL_STEP_RECORD,   // records of any work
    SPYI_NULL_STEP_SUBMIT,
    SPYI_NULL_STEP_COUNT
} spyi_null_step;

// After `skip` more of these steps, the next one fails once with `status`. SPY_ERROR_DEVICE_LOST is
// permanent: open work is dropped, all further work fails, and everything counts as finished. SPY_OK cancels
// the order.
SPYI_FN void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status);

SPYI_FN const char *spyi_null_report(spyi_gpu *gpu); // a line for each broken rule; "" if there are none

typedef struct spyi_null_counts {
    uint64_t chunks, chunk_bytes;     // chunks that are not freed yet, without imported ones, and their bytes
    uint64_t kernels;                 // kernels that are not destroyed yet
    uint64_t images, views, samplers; // images, views and samplers that are not destroyed yet; images are
                                      // part of chunk_bytes
} spyi_null_counts;
SPYI_FN spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu);

#endif // SPYI_BACKEND_NULL_H
