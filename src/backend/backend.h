// The table that a backend fills. Nothing above it mentions an API, and a backend sees api, base and this file only.
//
// Threads: the device layer calls a backend from one thread at a time, with three exceptions that must be free-threaded:
// compile, which needs no device, load and destroy_kernel (compile threads). Errors: functions that can fail return a status
// and append one sentence to `error`, without a prefix; the caller adds function and argument.
#ifndef SPYI_BACKEND_H
#define SPYI_BACKEND_H

#include "backend/interface.h"

typedef struct spyi_gpu
    spyi_gpu; // a backend's device; each backend defines its own struct, spyi_gpu_base first
typedef struct spyi_kernel spyi_kernel; // a compiled kernel, which begins with spyi_kernel_base
typedef struct spyi_graph spyi_graph;   // work that one launch repeats, likewise opaque

typedef struct spyi_work spyi_work; // work.h
typedef spy_status (*spyi_record_func)(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
#define SPYI_WORK_ROOM 24 // kinds of work that a backend's table has room for

// What kernels are compiled to. What differs between them is in target.h.
typedef enum spyi_target { SPYI_TARGET_SPIRV, SPYI_TARGET_CUDA, SPYI_TARGET_COUNT } spyi_target;

// What kernels are made for, as data: a kernel's text, and what compile makes of it, depend on this and on no device. Plain
// bytes without pointers, zeroed before its members are set, so that equal ones have equal bytes.
typedef struct spyi_profile {
    spyi_target target;
    uint32_t arch; // SPYI_TARGET_CUDA: compute capability, 90 for sm_90; else 0
    // Of a program, not of a device, whose own are 0: spy_float_mode, spy_debug_info. SPIR-V has them in itself.
    uint8_t float_mode, debug_info;
    bool prefers_bindings;    // structured buffers are faster than pointers whatever the size (lavapipe)
    uint32_t features;        // SPY_FEATURE_*
    uint32_t max_group_size;  // threads
    uint32_t max_group_count; // in each dimension
    uint32_t max_block_bytes; // inline parameters of a dispatch
    uint32_t max_bindings;    // buffers of a kernel; 0: pointers only
    uint32_t max_uniforms;    // uniform buffers of a kernel, which count as bindings too
    uint32_t max_uniform_bytes;
    uint64_t bindings_from_bytes; // without prefers_bindings: arrays from this size on use structured buffers
} spyi_profile;

// Where memory lies.
typedef enum spyi_memory {
    SPYI_MEMORY_DEVICE, // fast for kernels; mapped may be NULL
    SPYI_MEMORY_READBACK // host memory, cached, always mapped; kernels may write it, the host reads it after a wait
} spyi_memory;

// A piece of memory from the driver. The pool of data/ cuts it into blocks.
typedef struct spyi_chunk {
    uint64_t handle;  // VkBuffer, CUdeviceptr
    uint64_t address; // GPU address of byte 0; 0 if the device has no pointers
    void *mapped;     // host address of byte 0, coherent; or NULL
    size_t size;
    void *memory; // the backend's own (VkDeviceMemory); NULL for imported ones
} spyi_chunk;

// What a binding is.
typedef enum spyi_binding_kind {
    SPYI_BINDING_BUFFER // a range of a chunk; views of textures, samplers and acceleration structures will be others
} spyi_binding_kind;

// An argument of a parameter, or of one element of an array. Of buffers, offset is a multiple of limits.binding_alignment,
// of typed ones of limits.texel_alignment.
typedef struct spyi_binding {
    uint64_t handle;
    uint64_t offset;
    uint64_t range; // bytes, > 0, at most limits.max_binding_bytes; typed buffers: whole texels, max_texels
    uint64_t kind;  // spyi_binding_kind
} spyi_binding;

// A uniform-buffer argument: its bytes travel with the dispatch, as the block does.
typedef struct spyi_uniform {
    const void *data;
    // At most profile.max_uniform_bytes; 0, on SPYI_TARGET_CUDA only: the kernel has no use for it.
    uint32_t size;
} spyi_uniform;

// A kernel: its code, and what a device must know to run it. compile and load take the same but for the code.
typedef struct spyi_kernel_desc {
    const char *label; // debug name
    // For compile: SPIR-V words; SPYI_TARGET_CUDA: text that ends with a NUL. For load: the blob that compile has made of it.
    const void *code;
    size_t code_size;     // bytes
    size_t prelude_size;  // SPYI_TARGET_CUDA: so many bytes of the text are the compiler's own prelude
    const char *entry;    // entry point's name in the code
    spyi_interface iface; // windows.h has a macro of the longer name
} spyi_kernel_desc;

#define SPYI_TIME_SLOTS 1024u // for timestamps

typedef struct spyi_limits {
    spy_device_info info;       // what the user sees
    spyi_profile profile;       // what its kernels are made for
    uint32_t binding_alignment; // bytes
    uint64_t max_binding_bytes;
    uint32_t texel_alignment;           // bytes
    uint64_t max_texels;                // of a typed buffer
    uint8_t texels[SPY_DTYPE_COUNT][4]; // by scalar and columns - 1: spyi_texel_use of typed buffers
    uint32_t fill_alignment;            // offset and size of fill (4 on Vulkan)
    bool unified_memory;                // device memory is mapped and cached: no staging
} spyi_limits;

enum spyi_texel_use { SPYI_TEXEL_READS = 1, SPYI_TEXEL_WRITES = 2 };

// Counted by the backend for spy_device_stats.
typedef struct spyi_gpu_stats {
    uint64_t dispatches, barriers, submits, driver_allocations;
    uint64_t driver_bytes;    // memory held from the driver, of every sort
    uint64_t recordings;      // into somebody else's command buffers, not reported as executed yet
    uint64_t recording_bytes; // of driver_bytes: parameters and uploads that such recordings read
} spyi_gpu_stats;

// Every backend's device begins with this.
typedef struct spyi_gpu_base {
    const struct spyi_backend *backend;
    spyi_context *ctx;
    spyi_limits limits;
    const char *compiler; // path of the library that compile is to use, if the user has named one; else NULL
    spyi_gpu_stats stats;
    uint64_t open; // number of the batch that is being recorded, from 1
    bool slices;   // waiting in slices of some milliseconds costs what waiting without a limit does
    // So long a wait looks again and again, before the thread sleeps; 0: it sleeps at once. (A wait on lavapipe with a limit of
    // 50 us takes 35 us where one with a limit of 50 ms takes 28: spinning is for GPUs.)
    uint64_t spin_ns;
    bool borrowed; // somebody else's driver objects, which live no longer than the release of the device
    // Somebody else's command buffers: an engine submits them when it likes, and reports which it knows to be executed.
    bool recording; // work is going into one: its results cannot be waited for
    // Batches from this number on may stand in recordings that the engine has not reported as executed. 0: there is no such recording.
    uint64_t held_from;
} spyi_gpu_base;

static inline uint64_t spyi_open_submit(const spyi_gpu *gpu) {
    return ((const spyi_gpu_base *)(const void *)gpu)->open;
}

struct spyi_backend {
    const char *name; // "vulkan"
    size_t (*enumerate)(spy_device_info *infos, size_t capacity, spyi_text *error);
    spy_status (*create)(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu, spyi_text *error);
    void (*destroy)(spyi_gpu *gpu); // waits; all chunks and kernels have been freed

    // Memory. Chunks are at least 256-byte aligned. free_chunk: the caller knows that no work uses it any more.
    spy_status (*allocate_chunk)(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                 spyi_chunk *chunk, spyi_text *error);
    void (*free_chunk)(spyi_gpu *gpu, spyi_chunk *chunk);

    // Kernels, in two steps. compile makes of desc->code what can leave the process, for any device of the profile: SPIR-V
    // words; PTX that ends with a NUL, or a cubin. It appends to `blob`. `compiler`: path of the library that does it; NULL:
    // the one that is found. `ctx` is for the log, and may be NULL.
    spy_status (*compile)(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                          const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);
    // Makes a kernel of a blob, desc->code. destroy_kernel: as free_chunk.
    spy_status (*load)(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel, spyi_text *error);
    void (*destroy_kernel)(spyi_gpu *gpu, spyi_kernel *kernel);

    // Work (work.h), executed in the order of its recording as far as its barriers ask for it. Each piece is part of the open
    // batch, whose number is spyi_gpu_base.open; all work with numbers up to n has finished once finished_submit() >= n. By
    // spyi_work_number; NULL: not supported. Call spyi_record().
    spyi_record_func record[SPYI_WORK_ROOM];
    // Device to host; waits for the work up to `after` (a submit number) and no more, submitting it if need be. A GPU's
    // backend that has `slices` waits by spyi_wait_for(), interruptible.
    spy_status (*download)(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset, uint64_t size,
                           uint64_t after, spyi_text *error);
    // GPU timestamps: begin before the work, end after it; elapsed waits and gives nanoseconds.
    spy_status (*time_begin)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_end)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_elapsed)(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);

    uint64_t (*finished_submit)(spyi_gpu *gpu);            // cheap; never waits
    spy_status (*submit)(spyi_gpu *gpu, spyi_text *error); // hand the open batch to the GPU, if it has work
    // Waits for our own batches up to number `submit`, submitting first if need be. SPY_ERROR_NOT_READY when the work
    // with that number is in somebody else's command buffer and has not been reported.
    spy_status (*wait)(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);

    // Graphs; all NULL where work is not faster for being known before. From graph_begin to graph_end what is recorded
    // becomes part of a graph and does not run: dispatches that are not indirect, copies, fills, timestamps and their
    // stores. Barriers are about that graph's own work. graph_end with `graph` NULL drops it.
    spy_status (*graph_begin)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*graph_end)(spyi_gpu *gpu, spyi_graph **graph, spyi_text *error);
    // Gives dispatch number `index` of the graph, from 0, other parameters from the next launch on: block and uniforms, whose
    // sizes, and all else, stay.
    spy_status (*graph_change)(spyi_gpu *gpu, spyi_graph *graph, uint32_t index, const spyi_work *dispatch,
                               spyi_text *error);
    spy_status (*graph_launch)(spyi_gpu *gpu, spyi_graph *graph, spyi_text *error); // one piece of work
    void (*graph_destroy)(spyi_gpu *gpu, spyi_graph *graph);                        // launched work goes on
    // Whether a few dispatches that come again and again are launched faster as a graph, now.
    bool (*graph_pays)(const spyi_gpu *gpu);
};

// >>wait.c

// As the table's `wait`. A wait that is longer than the base's spin_ns tells desc.blocking; with `interruptible`, it then asks
// desc.interrupt every 50 ms, where `slices` says that this costs nothing, and gives SPY_ERROR_INTERRUPTED if that asks to leave.
// `interruptible` only for work that is not held (held_from).
SPYI_FN spy_status spyi_wait_for(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, bool interruptible,
                                 spyi_text *error);

// >>what a device offers to its backend, for bringing one's own objects (core.c): through a table that data/ gives to the context

typedef struct spyi_core {
    spyi_gpu *(*gpu)(spy_device *device, const char *backend_name, const char *function);
    spy_tensor *(*import_tensor)(spy_device *device, const char *function, const spyi_chunk *chunk,
                                 uint64_t offset, uint64_t size, const spy_tensor_desc *desc);
    void (*tensor_location)(const spy_tensor *tensor, spyi_chunk *chunk, uint64_t *offset_bytes);
    spy_status (*recording_reported)(spy_device *device, const char *function);
} spyi_core;

SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name,
                                  const char *function); // NULL + error: not that backend
// A tensor over memory that is not ours. Two imports of one handle share hazards. `chunk->memory` is NULL.
SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc);
// The chunk and byte offset of a tensor's first element; false + error for NULL or released ones.
SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes);
// A recording into somebody else's command buffer has been reported: what waited for it goes back to the pool, as far as
// held_from allows, and what kernels had to say is delivered, bad indices as an error under the name `function`.
SPYI_FN spy_status spyi_recording_reported(spy_device *device, const char *function);

#endif // SPYI_BACKEND_H
