// The table of functions that a backend fills. The rest of the library mentions no graphics API, and a
// backend uses only src/api, src/base and src/backend.
//
// Threads: the device layer calls a backend from one thread at a time. Three functions must be free-threaded,
// as compile threads call them: compile (which needs no device), load and destroy_kernel. Errors: functions
// that can fail return a status and append one sentence to `error`, without a prefix; the caller adds
// function and argument.
#ifndef SPYI_BACKEND_H
#define SPYI_BACKEND_H

#include "backend/interface.h"

// A backend's device. Each backend defines its own struct, which begins with spyi_gpu_base.
typedef struct spyi_gpu spyi_gpu;
typedef struct spyi_kernel spyi_kernel; // a compiled kernel; begins with spyi_kernel_base
typedef struct spyi_graph spyi_graph;   // recorded work that one launch repeats; each backend defines its own

typedef struct spyi_work spyi_work; // defined in work.h
typedef spy_status (*spyi_record_func)(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
#define SPYI_WORK_ROOM 24 // entries of a backend's table of work

// The language of compiled kernels. target.h says how the targets differ.
typedef enum spyi_target { SPYI_TARGET_SPIRV, SPYI_TARGET_CUDA, SPYI_TARGET_COUNT } spyi_target;

// The properties of a device that its kernels depend on. A kernel's text and compiled code depend on the
// profile and on nothing else of the device. They are plain bytes without pointers, zeroed before the members
// are set, so that equal profiles have equal bytes.
typedef struct spyi_profile {
    spyi_target target;
    uint32_t arch; // SPYI_TARGET_CUDA: compute capability, 90 for sm_90; 0 for other targets
    // spy_float_mode and spy_debug_info of a program (SPIR-V has them in its code); 0 in a device's profile.
    uint8_t float_mode, debug_info;
    bool prefers_bindings;    // structured buffers are faster than pointers at any size (lavapipe)
    bool names_formats;       // kernels name the formats of textures that they store to (lavapipe)
    bool portable;            // SPYI_TARGET_CUDA: PTX for `arch` and all later ones, rather than a cubin
    uint32_t features;        // bits SPY_FEATURE_*
    uint32_t max_group_size;  // threads of a group
    uint32_t max_group_count; // groups of a dispatch in each dimension
    uint32_t max_block_bytes; // the bytes of parameters that a dispatch takes inline
    uint32_t max_bindings;    // buffers of a kernel; 0 means that the device takes pointers only
    uint32_t max_uniforms;    // uniform buffers of a kernel; they also count as bindings
    uint32_t max_uniform_bytes;
    // Arrays of at least this size use structured buffers; ignored when prefers_bindings is set.
    uint64_t bindings_from_bytes;
    // Calls of at least this many elements, of which some lie across others in memory, go tile by tile.
    uint64_t tiles_from;
} spyi_profile;

// spyi_profile.tiles_from of backends: a GPU is full with this many elements, if each group takes one tile of
// 1,024.
#define SPYI_TILES_FROM 65536u

// The kinds of memory.
typedef enum spyi_memory {
    SPYI_MEMORY_DEVICE, // fast for kernels; mapped may be NULL
    // Host memory, cached and always mapped. Kernels may write it; the host reads it after a wait.
    SPYI_MEMORY_READBACK
} spyi_memory;

// One allocation of the driver. The pool of data/ cuts it into blocks.
typedef struct spyi_chunk {
    uint64_t handle;  // the driver's handle: VkBuffer, CUdeviceptr
    uint64_t address; // GPU address of byte 0; 0 if the device has no pointers
    void *mapped;     // host address of byte 0, coherent; or NULL
    size_t size;
    void *memory; // the backend's own object (VkDeviceMemory); NULL for imported memory
} spyi_chunk;

// The kind of resource that a binding refers to.
typedef enum spyi_binding_kind {
    SPYI_BINDING_BUFFER, // a range of a chunk
    // A view of an image (image.h) that is sampled and loaded. `offset` is SPYI_USE_SAMPLED or
    // SPYI_USE_STORED, the use that the image's layout is for.
    SPYI_BINDING_TEXTURE,
    SPYI_BINDING_RW_TEXTURE, // a view of an image that is loaded and stored
    SPYI_BINDING_SAMPLER,    // a sampler
    SPYI_BINDING_COMBINED    // like SPYI_BINDING_TEXTURE, with a sampler whose handle is `range`
} spyi_binding_kind;

// The argument of one parameter, or of one element of an array. `offset` is a multiple of
// limits.binding_alignment for buffers, and of limits.texel_alignment for typed buffers.
typedef struct spyi_binding {
    uint64_t handle;
    uint64_t offset;
    // Bytes, > 0, at most limits.max_binding_bytes. For a typed buffer the range has whole texels, at most
    // limits.max_texels.
    uint64_t range;
    uint64_t kind; // a spyi_binding_kind
} spyi_binding;

// The argument of a uniform buffer: its bytes are copied with the dispatch, like the parameter block.
typedef struct spyi_uniform {
    const void *data;
    // Bytes, at most profile.max_uniform_bytes. 0 (SPYI_TARGET_CUDA only) means that the kernel does not use
    // the buffer.
    uint32_t size;
} spyi_uniform;

// The code of a kernel, and the properties of the kernel that a device must know to run it. compile and load
// take the same desc with different code.
typedef struct spyi_kernel_desc {
    const char *label; // the name for debug tools
    // For compile: SPIR-V words, or for SPYI_TARGET_CUDA text that ends with a NUL. For load: the blob that
    // compile made.
    const void *code;
    size_t code_size; // the bytes of `code`
    // SPYI_TARGET_CUDA: bytes of the compiler's own prelude, with which the text begins.
    size_t prelude_size;
    const char *entry;    // the name of the entry point in the code
    spyi_interface iface; // named `iface` because windows.h defines a macro `interface`
} spyi_kernel_desc;

#define SPYI_TIME_SLOTS 1024u // most timestamps that a device holds

typedef struct spyi_limits {
    spy_device_info info;       // the properties that the user sees
    spyi_profile profile;       // the profile that the device's kernels are compiled for
    uint32_t binding_alignment; // alignment of structured buffers in bytes
    uint64_t max_binding_bytes;
    uint32_t texel_alignment; // alignment of typed buffers in bytes
    uint64_t max_texels;      // largest number of elements of a typed buffer
    // texels[scalar][columns - 1]: the SPYI_TEXEL_* of typed buffers with that texel.
    uint8_t texels[SPY_DTYPE_COUNT][4];
    uint32_t fill_alignment; // alignment in bytes of a fill's offset and size (4 on Vulkan)
    bool unified_memory;     // device memory is mapped and cached: transfers need no staging
    bool any_arch;           // kernels are for a pack, so that their text serves devices of other architectures, too
} spyi_limits;

enum spyi_texel_use { SPYI_TEXEL_READS = 1, SPYI_TEXEL_WRITES = 2 };

// Counters that the backend keeps for spy_device_stats.
typedef struct spyi_gpu_stats {
    uint64_t dispatches, barriers, submits, driver_allocations;
    uint64_t driver_bytes; // the bytes of all memory held from the driver
    // Recordings into a program's own command buffers that are not yet reported as executed.
    uint64_t recordings;
    // Part of driver_bytes: parameters and uploads that these recordings read.
    uint64_t recording_bytes;
    uint64_t draws, passes; // a pass has one or more draws into the same targets
} spyi_gpu_stats;

// The first member of every backend's device.
typedef struct spyi_gpu_base {
    const struct spyi_backend *backend;
    spyi_context *ctx;
    spyi_limits limits;
    // Path of the library that compile uses, if the user has named one; otherwise NULL.
    const char *compiler;
    spyi_gpu_stats stats;
    uint64_t open; // the number of the batch that is being recorded; the first batch is 1
    bool slices;   // waiting in slices of some milliseconds costs no more than one long wait
    // Nanoseconds that a wait spins before the thread sleeps; 0 means that it sleeps at once. (On lavapipe a
    // wait with a limit of 50 us takes 35 us, and one with a limit of 50 ms takes 28 us: spinning is for
    // GPUs.)
    uint64_t spin_ns;
    // The driver objects belong to the program, and may be gone after the release of the device.
    bool borrowed;
    // Work now goes into a command buffer of the program, whose results cannot be waited for: an engine
    // submits such buffers when it likes, and reports which have been executed.
    bool recording;
    // Batches from this number on may be in recordings that the engine has not reported as executed; 0 means
    // no such recording.
    uint64_t held_from;
    // Work goes to a stream of the program, which may begin to capture it at any time: spyi_watch() asks.
    bool watched;
    // `recording` is true because the program captures the stream. Nothing reports when the captured work
    // runs, and it may run many times: what it uses is kept until the device is released.
    bool captured;
} spyi_gpu_base;

static inline uint64_t spyi_open_submit(const spyi_gpu *gpu) {
    return ((const spyi_gpu_base *)(const void *)gpu)->open;
}

// The faults of Slang's code that were found and could not be repaired.
typedef struct spyi_code_faults {
    bool saved;     // the code saves values in nested loops of different length
    bool additions; // the code adds gradients of array elements that are read at several indices
} spyi_code_faults;

// Repairs faults in the text that Slang makes for SPYI_TARGET_CUDA, before the text is kept and compiled.
// `*text` has `*size` bytes with its NUL, and may be replaced by another block of spyi_malloc(). Its first
// `prelude` bytes are Slang's prelude and are not read.
typedef void (*spyi_mend_func)(char **text, size_t *size, size_t prelude, spyi_code_faults *faults);

struct spyi_backend {
    const char *name; // "vulkan"
    size_t (*enumerate)(spy_device_info *infos, size_t capacity, spyi_text *error);
    spy_status (*create)(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu, spyi_text *error);
    // Waits for all work. The caller has freed all chunks and kernels.
    void (*destroy)(spyi_gpu *gpu);

    // Allocates and frees chunks, which are aligned to at least 256 bytes. When free_chunk is called, no work
    // uses the chunk any more.
    spy_status (*allocate_chunk)(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                 spyi_chunk *chunk, spyi_text *error);
    void (*free_chunk)(spyi_gpu *gpu, spyi_chunk *chunk);

    // Kernels are made in two steps. compile makes of desc->code a blob that can leave the process, for any
    // device with this profile: SPIR-V words, PTX that ends with a NUL, or a cubin. It appends to `blob`.
    // `compiler` is the path of the compiling library; NULL means the library that is found. `ctx` is for the
    // log, and may be NULL.
    spy_status (*compile)(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                          const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);
    spyi_mend_func mend; // NULL in backends of other targets: the compiler itself repairs SPIR-V
    // Opens the library that the first compile would open. NULL where compile has none, or has no need.
    void (*open_compiler)(const char *compiler);
    // Makes a kernel of a blob, which is desc->code. When destroy_kernel is called, no work uses the kernel
    // any more.
    spy_status (*load)(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel, spyi_text *error);
    void (*destroy_kernel)(spyi_gpu *gpu, spyi_kernel *kernel);

    // Functions that record work (work.h), by spyi_work_number; NULL if not supported. Call spyi_record()
    // instead. Work runs in the order of its recording as far as its barriers ask for it, and joins the open
    // batch, whose number is spyi_gpu_base.open. All work of batches up to n has finished once
    // finished_submit() >= n.
    spyi_record_func record[SPYI_WORK_ROOM];
    // Copies device memory to the host. Waits for the work up to batch `after` and no more, submitting it if
    // needed. A backend with `slices` waits by spyi_wait_for() and can be interrupted.
    spy_status (*download)(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset, uint64_t size,
                           uint64_t after, spyi_text *error);
    // Measure GPU time: call begin before the work and end after it; elapsed waits and returns nanoseconds.
    spy_status (*time_begin)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_end)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*time_elapsed)(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);

    uint64_t (*finished_submit)(spyi_gpu *gpu); // returns the number of the last finished batch; cheap, never
                                                // waits
    // Submits the open batch to the GPU if it has work.
    spy_status (*submit)(spyi_gpu *gpu, spyi_text *error);
    // Waits for batches up to number `submit`, submitting first if needed. Returns SPY_ERROR_NOT_READY when
    // that work is in a command buffer of the program and has not been reported as executed.
    spy_status (*wait)(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);

    // Graphs; all NULL if graphs make no work faster. Between graph_begin and graph_end, recorded work
    // becomes part of a graph and does not run: direct dispatches, copies, fills, timestamps and their
    // stores. Barriers order the work of that graph only. graph_end with `graph` NULL drops the work.
    spy_status (*graph_begin)(spyi_gpu *gpu, spyi_text *error);
    spy_status (*graph_end)(spyi_gpu *gpu, spyi_graph **graph, spyi_text *error);
    // Gives dispatch number `index` of the graph (the first is 0) another block and other uniforms of the
    // same sizes, from the next launch on. Nothing else changes.
    spy_status (*graph_change)(spyi_gpu *gpu, spyi_graph *graph, uint32_t index, const spyi_work *dispatch,
                               spyi_text *error);
    // Launches a finished graph, which counts as one piece of work.
    spy_status (*graph_launch)(spyi_gpu *gpu, spyi_graph *graph, spyi_text *error);
    void (*graph_destroy)(spyi_gpu *gpu, spyi_graph *graph); // launches under way still end
    // Returns true when a graph would launch a few repeated dispatches faster now.
    bool (*graph_pays)(const spyi_gpu *gpu);
    // Sets `recording` and `captured`. NULL in backends that never set `watched`.
    void (*watch)(spyi_gpu *gpu);
    // Textures and samplers (image.h); NULL means that the backend has none.
    const struct spyi_image_functions *images;
    // Pipelines of vertex and fragment shaders (raster.h); NULL means that the backend has none.
    const struct spyi_raster_functions *raster;
    spyi_target target; // the target of the backend's kernels
};

// Brings `recording` up to date. Call it before `recording` decides about work.
static inline void spyi_watch(spyi_gpu_base *base) {
    if (!SPYI_LIKELY(!base->watched)) base->backend->watch((spyi_gpu *)(void *)base);
}

// Returns the text of an error for work that cannot have results now.
static inline const char *spyi_recording_text(const spyi_gpu_base *base) {
    return base->captured ? "the device's stream is being captured"
                          : "calls are being recorded into a command buffer that is not submitted here";
}

// >>wait.c

// Waits like the table's `wait`. A wait longer than spin_ns calls desc.blocking. If `interruptible`, and if
// `slices` says that this costs nothing, it then calls desc.interrupt every 50 ms and returns
// SPY_ERROR_INTERRUPTED when that asks to stop. Do not pass `interruptible` for work at or after held_from.
SPYI_FN spy_status spyi_wait_for(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, bool interruptible,
                                 spyi_text *error);

// >>what a device offers to its backend, to import objects of the program (core.c)

// Functions that a backend may call, by pointer; data/ gives this table to the context.
typedef struct spyi_core {
    spyi_gpu *(*gpu)(spy_device *device, const char *backend_name, const char *function);
    spy_tensor *(*import_tensor)(spy_device *device, const char *function, const spyi_chunk *chunk,
                                 uint64_t offset, uint64_t size, const spy_tensor_desc *desc);
    void (*tensor_location)(const spy_tensor *tensor, spyi_chunk *chunk, uint64_t *offset_bytes);
    spy_status (*recording_reported)(spy_device *device, const char *function);
} spyi_core;

// Returns the backend's device. Returns NULL and reports an error when the device has another backend.
SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name, const char *function);
// Makes a tensor over memory of the program. Two imports of one handle share their hazards, the records of
// uses that barriers come from. chunk->memory is NULL.
SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc);
// Gives the chunk and byte offset of the tensor's first element. Returns false and reports an error for NULL
// and released tensors.
SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes);
// Called when a recording into a command buffer of the program has been reported as executed. Memory that
// waited for it goes back to the pool, as far as held_from allows, and messages of kernels are delivered, bad
// indices as an error of `function`.
SPYI_FN spy_status spyi_recording_reported(spy_device *device, const char *function);

#endif // SPYI_BACKEND_H
