// The null backend: a device without a GPU, for tests. It writes down all work in a list that a test reads,
// moves bytes for real in host memory, and lets a function of the test stand in for the kernels.
//
// Work is done when its submit finishes, not when it is recorded: a missing submit, wait or barrier shows as
// wrong data or in the report. The report lists each broken rule of backend.h in a line: ranges outside a
// chunk, misaligned offsets, transfers and bindings that overlap without a barrier, chunks freed or kernels
// destroyed while in use, leaks.
//
// Threads: as backend.h says; the spyi_null_* functions as the device layer's calls, from one thread at a
// time.
#ifndef SPYI_BACKEND_NULL_H
#define SPYI_BACKEND_NULL_H

#include "backend/work.h"

SPYI_FN const spy_backend *spyi_null_backend(void); // its name is "null"

// For spy_device_desc.backend_desc; NULL is all zero, and zero is the default.
typedef struct spyi_null_desc {
    spyi_target target;         // what kernels are compiled to; nothing but on_kernel looks at their code
    uint32_t max_block_bytes;   // 128
    uint32_t max_bindings;      // 16
    bool pointers_only;         // limits.max_bindings is 0
    bool bindings_only;         // chunks have no address
    uint32_t binding_alignment; // 64
    uint64_t max_binding_bytes; // 1 GiB
    uint32_t texel_alignment;   // 64
    uint64_t max_texels;        // 64 Mi
    bool no_texels;        // typed buffers have no formats; else 8, 16 and 32 bits, but not three of them
    uint32_t max_uniforms; // 12
    uint32_t max_uniform_bytes; // 65536
    uint32_t fill_alignment;    // 4
    bool prefers_bindings;
    uint64_t bindings_from_bytes; // never
    bool unified_memory;          // device memory is mapped; else only readback memory is
    uint32_t max_group_count;     // 65535, in each of the three dimensions
    uint32_t max_group_size;      // 1024
    uint32_t subgroup_size;       // 32
    uint32_t features;            // all SPY_FEATURE_*; without POINTERS when bindings_only
    uint64_t memory_bytes;        // 4 GiB; allocations beyond it fail
    double timestamp_period_ns;   // 1; the clock goes on 1000 ticks with each dispatch
    bool fail_create;             // the creation of the device fails
    bool hold_submits;            // see spyi_null_hold_submits()
    bool no_log;                  // work is forgotten once it is done
    // Sees each kernel that is made: SPY_OK, or it is refused. Threads: as load.
    spy_status (*on_kernel)(const spyi_kernel_desc *desc, void *user_data, spyi_text *error);
    void *on_kernel_data;
    spyi_text *report; // the test's own text for broken rules, which outlives the device
} spyi_null_desc;

typedef enum spyi_null_op_kind {
    SPYI_NULL_OTHER, // what the backend only writes down
    SPYI_NULL_DISPATCH,
    SPYI_NULL_COPY,
    SPYI_NULL_FILL,
    SPYI_NULL_UPLOAD,
    SPYI_NULL_LABEL
} spyi_null_op_kind;

// One piece of recorded work. Valid until spyi_null_clear_ops() or the end of the device.
typedef struct spyi_null_op {
    spyi_null_op_kind kind; // stores of timestamps are uploads
    const spyi_work *work;  // a copy, with its transitions
    bool barrier;
    bool done;
    uint64_t submit; // number of its batch
    // dispatch
    const char *label; // the kernel's; "" if it has none. Of labels: the name, "" for a pop
    uint32_t group_size;
    uint32_t groups[3]; // indirect ones have them from `from` once they are done
    bool block_by_address;
    uint32_t block_size;
    const void *block; // block_size bytes
    uint32_t binding_count;
    const spyi_binding *bindings;
    const spyi_interface *iface; // what they are; valid as long as the kernel
    uint32_t uniform_count;
    const spyi_uniform *uniforms; // with their bytes
    // copy: both; fill and upload: to; indirect dispatch: from
    uint64_t to, to_offset; // handle, bytes
    uint64_t from, from_offset;
    uint64_t size;    // bytes
    uint32_t pattern; // fill
    const void *data; // upload: size bytes
    // the backend's own
    unsigned char *to_memory;
    const unsigned char *from_memory;
    struct spyi_null_kernel *kernel;
} spyi_null_op;

// All of it as text, a line for each piece, with what came before it.
SPYI_FN void spyi_null_tell_work(spyi_gpu *gpu, spyi_text *out);

SPYI_FN size_t spyi_null_op_count(spyi_gpu *gpu);
SPYI_FN const spyi_null_op *spyi_null_get_op(spyi_gpu *gpu, size_t index); // NULL beyond the last
SPYI_FN void spyi_null_clear_ops(spyi_gpu *gpu);                           // forgets what is done

// Stands in for the kernels: called for each dispatch when it is carried out. Addresses in its block are host
// addresses; memory of its bindings is found by spyi_null_memory().
typedef void (*spyi_null_func)(spyi_gpu *gpu, const spyi_null_op *op, void *user_data);
SPYI_FN void spyi_null_on_dispatch(spyi_gpu *gpu, spyi_null_func func, void *user_data);

// Host address of a byte of a chunk; NULL for an unknown handle or an offset beyond its end.
SPYI_FN void *spyi_null_memory(spyi_gpu *gpu, uint64_t handle, uint64_t offset);
// A chunk over the test's memory, for spyi_import_tensor(). The memory must outlive the device.
SPYI_FN spyi_chunk spyi_null_import(spyi_gpu *gpu, void *memory, size_t size);

// hold: submits finish only by spyi_null_finish(), or when something waits for them without end; a wait with
// a time limit gives SPY_ERROR_NOT_READY at once. Not hold (the default): a submit finishes at once, and so
// do held ones.
SPYI_FN void spyi_null_hold_submits(spyi_gpu *gpu, bool hold);
SPYI_FN void spyi_null_finish(spyi_gpu *gpu, uint64_t submit); // all submits up to this one

typedef enum spyi_null_step {
    SPYI_NULL_STEP_ALLOCATE, // allocate_chunk
    SPYI_NULL_STEP_KERNEL,   // load
    SPYI_NULL_STEP_RECORD,   // whatever is recorded
    SPYI_NULL_STEP_SUBMIT,
    SPYI_NULL_STEP_COUNT
} spyi_null_step;

// The next such step but `skip` fails once with `status`. SPY_ERROR_DEVICE_LOST stays: open work is dropped,
// all further work fails, and everything counts as finished. SPY_OK takes the order back.
SPYI_FN void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status);

SPYI_FN const char *spyi_null_report(spyi_gpu *gpu); // broken rules, one a line; "" when there are none

typedef struct spyi_null_counts {
    uint64_t chunks, chunk_bytes; // alive, imported ones left out
    uint64_t kernels;             // alive
} spyi_null_counts;
SPYI_FN spyi_null_counts spyi_null_get_counts(spyi_gpu *gpu);

#endif // SPYI_BACKEND_NULL_H
