// The types of the CUDA backend and the functions that its files share. driver.c opens the driver, device.c
// creates the device, nvrtc.c and prelude.c compile text, kernel.c launches, memory.c and transfer.c move
// data, stream.c tracks which work is done. All work goes to one stream, which keeps its order, so barriers
// have no effect there. Only in the graphs of graph.c do barriers determine the order.
#ifndef SPYI_CUDA_INTERNAL_H
#define SPYI_CUDA_INTERNAL_H

#include "api/cuda.h"
#include "backend/target.h"
#include "backend/image.h"
#include "cuda/driver_api.h"

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_cuda.h needs a 64-bit target, as CUDA does"
#endif

// Batches in flight; a further batch waits for the oldest one.
#define SPYI_CUDA_BATCHES 64u
#define SPYI_CUDA_BATCH_WORK 256u // operations after which a batch ends, to free its pages
// The bytes used in the pages of a batch after which the batch ends.
#define SPYI_CUDA_BATCH_BYTES (4u << 20)
// The bytes of a page, which serves small uploads and parameters.
#define SPYI_CUDA_PAGE_SIZE ((size_t)256 << 10)
// The most bytes that are uploaded through a page; larger uploads use staging buffers.
#define SPYI_CUDA_SMALL_UPLOAD 65536u
#define SPYI_CUDA_STAGING_COUNT 4u // half of the buffers for the GPU, half for the copy team
#define SPYI_CUDA_STAGING_SIZE ((size_t)8 << 20)
// Buffer size for transfers of up to eight times this size.
#define SPYI_CUDA_STAGING_LEAST ((size_t)1 << 20)
// The bytes from which on a read uses staging buffers; smaller reads use the driver's pageable copy.
#define SPYI_CUDA_DRIVER_READ ((size_t)8 << 20)
#define SPYI_CUDA_RECENT 8u // kernels that the error names when the device is lost
#define SPYI_CUDA_MOST_PARAMS 64u
#define SPYI_CUDA_REPEATING 64u // largest number of kernels that have a graph of their own
// Largest parameter block of a kernel with a graph of its own. A graph whose parameters change at each launch
// takes longer with more of them: as long as cuLaunchKernel with about 2,200 bytes.
#define SPYI_CUDA_REPEAT_BYTES 1024u

// >>nvrtc.c: NVRTC, opened at run time

// The functions of NVRTC that the library uses, as X(name, arguments). All of them exist since CUDA 11.2.
#define SPYI_NVRTC_FUNCTIONS(X)                                                                              \
    X(Version, (int *major, int *minor))                                                                     \
    X(GetNumSupportedArchs, (int *count))                                                                    \
    X(GetSupportedArchs, (int *archs))                                                                       \
    X(CreateProgram, (void **program, const char *source, const char *name, int header_count,                \
                      const char *const *headers, const char *const *names))                                 \
    X(DestroyProgram, (void **program))                                                                      \
    X(CompileProgram, (void *program, int count, const char *const *options))                                \
    X(GetProgramLogSize, (void *program, size_t *size))                                                      \
    X(GetProgramLog, (void *program, char *log))                                                             \
    X(GetCUBINSize, (void *program, size_t *size))                                                           \
    X(GetCUBIN, (void *program, char *data))                                                                 \
    X(GetPTXSize, (void *program, size_t *size))                                                             \
    X(GetPTX, (void *program, char *data))

#define SPYI_NVRTC_MOST_ARCHS 64

typedef struct spyi_nvrtc {
    void *library; // NULL means not opened; an opened library stays open until the process ends
    char path[512];
    int major, minor;
    int archs[SPYI_NVRTC_MOST_ARCHS]; // the architectures that NVRTC supports; 90 means sm_90
    int arch_count;
#define SPYI_NVRTC_MEMBER(name, arguments) int(*name) arguments;
    SPYI_NVRTC_FUNCTIONS(SPYI_NVRTC_MEMBER)
#undef SPYI_NVRTC_MEMBER
} spyi_nvrtc;

// Opens the library at `path`; without one that at SLANGPY_NVRTC_LIBRARY; without that the one that the
// search finds. Returns SPY_ERROR_NO_COMPILER when none can be opened; `error` then lists all paths that were
// tried.
SPYI_FN spy_status spyi_nvrtc_open(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// Like spyi_nvrtc_open(), but remembers the library, so that a process searches for it only once. Threads:
// any.
SPYI_FN spy_status spyi_nvrtc_find(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// Copies the library that spyi_nvrtc_find() has found before for `path`; false when there is none.
SPYI_FN bool spyi_nvrtc_is_found(const char *path, spyi_nvrtc *nvrtc);
// Compiles one program for compute capability `arch` (90 means 9.0). `code` becomes a cubin, or PTX for an
// older capability when this NVRTC does not know the device. Returns false when that fails; `log` then has
// the compiler's messages. With `portable` the code is PTX in any case, for `arch` or the newest capability
// before it.
SPYI_FN bool spyi_nvrtc_run(const spyi_nvrtc *nvrtc, int arch, bool portable, const char *source,
                            const char *name, const char *const *options, int option_count, spyi_text *code,
                            spyi_text *log);

// >>prelude.c: from a kernel's text to device code

// Compiles desc->code, which is CUDA text. On failure `error` has the compiler's messages. When the library's
// own prelude does not suffice but Slang's does, a message goes to the log of `ctx`.
SPYI_FN spy_status spyi_cuda_compile_text(spyi_context *ctx, const spyi_nvrtc *nvrtc,
                                          const spyi_profile *profile, const spyi_kernel_desc *desc,
                                          spyi_text *code, spyi_text *error);
// Returns the kernel's name in the code of spyi_cuda_compile_text(); the caller frees it. Returns NULL when
// out of memory.
SPYI_FN char *spyi_cuda_symbol(const spyi_kernel_desc *desc);

// >>mend_saved.c, mend_matrices.c, mend_additions.c: repairs of Slang's text

// Corrects the indices by which the text finds values that it saved in nested loops for the derivative, in
// place. Returns false when they may be wrong and the text is left as it was.
SPYI_FN bool spyi_cuda_order_saved(char *body);
// Lets [CudaKernel] functions read the matrices that they are called with in the order in which these were
// written, in place.
SPYI_FN void spyi_cuda_order_matrices(char *body);
// Turns the stores by which a derivative collects the gradients of an array's elements into additions.
// Returns false when such gradients may be wrong and the text is left as it was.
SPYI_FN bool spyi_cuda_add_elements(char **text, size_t *size, size_t prelude);
// spyi_backend.mend
SPYI_FN void spyi_cuda_mend(char **text, size_t *size, size_t prelude, spyi_code_faults *faults);

// >>the device

// One block of pinned host memory with a block of device memory of the same size, for a batch or a graph.
typedef struct spyi_cuda_page {
    struct spyi_cuda_page *next;
    char *host;
    spyi_cu_pointer device;
    size_t size, used;
} spyi_cuda_page;

// One batch of work, whose end is marked by one event. Batch number n uses slot n % SPYI_CUDA_BATCHES.
typedef struct spyi_cuda_batch {
    spyi_cu_event event;
    uint64_t number; // the number of the last batch that used the slot; 0 means that none did
    spyi_cuda_page *pages;
} spyi_cuda_batch;

typedef struct spyi_cuda_staging {
    void *host;
    size_t size;         // the bytes of the buffer; 0 means not allocated yet
    spyi_cu_event event; // recorded after the last use of the buffer
    bool used;
} spyi_cuda_staging;

// The graph of one node by which a kernel is launched repeatedly (repeat.c).
typedef struct spyi_cuda_repeat {
    spyi_cu_graph graph; // stays, because `node` also identifies the node of `exec`
    spyi_cu_node node;
    spyi_cu_exec exec;  // NULL means that the kernel has no graph
    uint32_t launches;  // counts launches while the kernel has no graph
    uint32_t last;      // gpu->recent_count at the last launch of the graph
    uint32_t groups[3]; // the group counts that `exec` holds; it holds the parameters in `block`
    char *block;        // allocated with the graph; NULL means that the kernel has no parameters
} spyi_cuda_repeat;

typedef struct spyi_cuda_kernel {
    spyi_kernel_base base; // must be the first member
    spyi_cu_module module;
    spyi_cu_function function;
    spyi_cu_pointer globals; // the address of the module's global parameters; 0 means that it has none
    size_t globals_size;
    uint32_t group[3];
    uint32_t param_count, params[SPYI_CUDA_MOST_PARAMS]; // the offsets of the parameters in the block
    spyi_parameter_place *places;                        // one for each uniform buffer
    uint32_t shared_bytes;
    bool block_by_address;
    bool repeats;  // the kernel may be launched by a graph of its own
    bool captured; // a graph of the program may launch the kernel, so its module stays loaded
    struct spyi_cuda_kernel *next_kept;
    spyi_cuda_repeat repeat;
    char label[64]; // the kernel's label, cut off if it is too long
} spyi_cuda_kernel;

// The device memory of a graph's node, from `at` on, into which the node's uniform buffers are copied.
typedef struct spyi_cuda_own {
    spyi_cu_pointer at;
    spyi_cu_pointer globals; // device copy of the kernel's global parameters; 0 means that it has none
    size_t globals_size;
} spyi_cuda_own;

typedef struct spyi_cuda_graph spyi_cuda_graph; // defined in graph.c

typedef struct spyi_cuda_gpu {
    spyi_gpu_base base; // must be the first member
    spyi_cu_driver cu;
    spyi_cu_device device;
    spyi_cu_context context;
    bool primary;      // the context is the retained primary context, not one of the program
    bool made_current; // the context was made current on a thread that had none
    bool lost;

    spyi_cu_stream stream, own_stream;
    spyi_cu_stream lane; // stream of the downloads that do not wait for all work

    // base.open is the number of the open batch, so base.open - 1 is the last batch whose event has been
    // recorded.
    uint64_t finished;   // last batch that is known to be finished
    uint64_t ordered;    // last batch that waited for a stream of the program
    spyi_cu_event order; // orders two streams; recorded again at each use
    uint32_t work;       // operations in the open batch
    size_t work_bytes;   // bytes used in the pages of the open batch
    spyi_cuda_batch batches[SPYI_CUDA_BATCHES];
    spyi_cuda_page *free_pages;

    char recent_label[SPYI_CUDA_RECENT][64]; // labels of the last kernels, a ring buffer
    uint64_t recent_batch[SPYI_CUDA_RECENT];
    uint32_t recent_count; // launches of all kernels

    spyi_cuda_staging upload[SPYI_CUDA_STAGING_COUNT], download[SPYI_CUDA_STAGING_COUNT];
    uint32_t upload_next;
    void *bounce; // pinned memory of SPYI_CUDA_SMALL_UPLOAD bytes for small reads; NULL means not allocated
                  // yet

    spyi_cu_event time_events[2]; // the device creates them at their first use
    int timing;                   // 0 means that no time was begun, 1 that one was begun, 2 that it has ended
    uint64_t timing_batch;        // the batch in which the time ended
    spyi_cu_module mark_module;   // the module of the kernel that stores the GPU's time
    spyi_cu_function mark;
    spyi_cu_module blit_module; // the module of the kernel that scales texels; NULL means that no blit was
                                // made yet
    spyi_cu_function blit;
    spyi_cu_pointer marks;

    spyi_cuda_graph *graph; // graph that is being recorded; NULL means that work runs at once
    bool direct_launches;   // spy_cuda_desc.direct_launches, or set by CUDA_LAUNCH_BLOCKING
    spyi_cuda_kernel *repeating[SPYI_CUDA_REPEATING];
    // Things that captured work uses until the device is released (capture.c): pages with its parameters, and
    // kernels that the core has destroyed.
    spyi_cuda_page *kept_pages;
    spyi_cuda_kernel *kept_kernels;

    char *nvrtc_path; // a copy of spy_cuda_desc.nvrtc_library; NULL means that it was not set
} spyi_cuda_gpu;

// >>driver.c
SPYI_FN spy_status spyi_cu_open(const char *path, spyi_cu_driver *cu, spyi_text *error);
// Appends e.g. "cuMemAlloc gave CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" to `error`.
SPYI_FN void spyi_cu_say(const spyi_cu_driver *cu, spyi_cu_result result, const char *what, spyi_text *error);

// >>device.c
SPYI_FN size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);
SPYI_FN spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                    spyi_text *error);
SPYI_FN void spyi_cuda_destroy(spyi_gpu *gpu);
// Appends what failed to `error` and returns the matching status. A fatal error of the context marks the
// device as lost.
SPYI_FN spy_status spyi_cuda_fail(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error);
// spyi_cuda_enter() makes the device's context current; every function that the core calls begins with it.
// Pass the result to spyi_cuda_leave().
SPYI_FN bool spyi_cuda_enter_slowly(spyi_cuda_gpu *gpu, spyi_cu_context now);
static inline bool spyi_cuda_enter(spyi_cuda_gpu *gpu) {
    spyi_cu_context now = NULL;
    (void)gpu->cu.CtxGetCurrent(&now);
    return SPYI_LIKELY(now == gpu->context) ? false : spyi_cuda_enter_slowly(gpu, now);
}
static inline void spyi_cuda_leave(spyi_cuda_gpu *gpu, bool pushed) {
    spyi_cu_context ours;
    if (pushed) (void)gpu->cu.CtxPopCurrent(&ours);
}
static inline spyi_cuda_gpu *spyi_cuda_cast(spyi_gpu *gpu) {
    return (spyi_cuda_gpu *)(void *)gpu;
}

// >>capture.c
// Allows this thread, until spyi_cuda_restore() gets the result, the calls of the driver that would make the
// captures of any thread invalid. Source: cuThreadExchangeStreamCaptureMode in CUDA's documentation.
static inline int spyi_cuda_relax(spyi_cuda_gpu *gpu) {
    int mode = SPYI_CU_CAPTURE_RELAXED;
    (void)gpu->cu.ThreadExchangeStreamCaptureMode(&mode);
    return mode;
}
static inline void spyi_cuda_restore(spyi_cuda_gpu *gpu, int mode) {
    (void)gpu->cu.ThreadExchangeStreamCaptureMode(&mode);
}
// Makes the calls of spyi_cuda_enter() and spyi_cuda_relax() for functions that are no hot path.
typedef struct spyi_cuda_entered {
    bool pushed;
    int mode;
} spyi_cuda_entered;
static inline spyi_cuda_entered spyi_cuda_enter_relaxed(spyi_cuda_gpu *gpu) {
    spyi_cuda_entered entered;
    entered.pushed = spyi_cuda_enter(gpu);
    entered.mode = spyi_cuda_relax(gpu);
    return entered;
}
static inline void spyi_cuda_leave_relaxed(spyi_cuda_gpu *gpu, spyi_cuda_entered entered) {
    spyi_cuda_restore(gpu, entered.mode);
    spyi_cuda_leave(gpu, entered.pushed);
}
// Returns whether the program captures the stream. The device's own stream is never captured.
SPYI_FN bool spyi_cuda_is_captured(const spyi_cuda_gpu *gpu, spyi_cu_stream stream);
SPYI_FN void spyi_cuda_watch(spyi_gpu *gpu);
// Returns SPY_ERROR_UNSUPPORTED while the stream is being captured; `error` then says that the device cannot
// `what` ("wait for") it.
SPYI_FN spy_status spyi_cuda_check_captured(spyi_cuda_gpu *gpu, const char *what, spyi_text *error);
SPYI_FN void spyi_cuda_keep_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);
SPYI_FN void spyi_cuda_free_kept(spyi_cuda_gpu *gpu);

// >>stream.c
SPYI_FN spy_status spyi_cuda_make_stream(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_stream(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_check_lost(const spyi_cuda_gpu *gpu, spyi_text *error);
// Counts one operation in the stream, and ends the open batch when it is full. Call it after each operation.
SPYI_FN spy_status spyi_cuda_worked(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_end_batch(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_wait_for(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error);
// Marks all work as finished after a wait for the stream. The open batch ends without an event.
SPYI_FN spy_status spyi_cuda_all_done(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_use_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
// spyi_cuda_wait_stream() makes the device's stream wait for the present work of `stream`;
// spyi_cuda_signal_stream() makes `stream` wait for that of the device's stream.
SPYI_FN spy_status spyi_cuda_wait_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
SPYI_FN spy_status spyi_cuda_signal_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
SPYI_FN uint64_t spyi_cuda_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_cuda_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);

// >>time.c
SPYI_FN void spyi_cuda_destroy_time(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);
SPYI_FN spy_status spyi_cuda_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>memory.c
SPYI_FN spy_status spyi_cuda_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                            spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_cuda_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
// Takes `size` bytes of a page: pinned memory *host and device memory *device, valid until the open batch has
// finished, or for captured work until the device is released.
SPYI_FN spy_status spyi_cuda_take_bytes(spyi_cuda_gpu *gpu, size_t size, char **host, spyi_cu_pointer *device,
                                        spyi_text *error);
// Takes `size` bytes from a list of pages, valid until the list's owner frees the pages.
SPYI_FN spy_status spyi_cuda_take_from(spyi_cuda_gpu *gpu, spyi_cuda_page **pages, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error);
SPYI_FN void spyi_cuda_return_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);
SPYI_FN void spyi_cuda_free_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);

// >>kernel.c
SPYI_FN spy_status spyi_cuda_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);
SPYI_FN void spyi_cuda_open_compiler(const char *compiler);
SPYI_FN spy_status spyi_cuda_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                  spyi_text *error);
SPYI_FN void spyi_cuda_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN void spyi_cuda_free_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);
SPYI_FN spy_status spyi_cuda_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
// Returns whether all parameters are in the dispatch's block: the kernel has no uniform buffers, and its
// block is not in memory.
static inline bool spyi_cuda_is_plain(const spyi_cuda_kernel *kernel) {
    return kernel->base.uniform_count == 0 && !kernel->block_by_address;
}
// Returns the bytes of device memory that the dispatch's parameters need in addition to the launch itself.
SPYI_FN size_t spyi_cuda_param_memory(const spyi_cuda_kernel *kernel, const spyi_dispatch *dispatch);
// Fills `params` with pointers to the parameters for the launch. They point into the dispatch's block, or
// into a copy that is valid until the open batch has finished. Copies uniform buffers to the device memory of
// `own`, or of the open batch when `own` is NULL. *address, which the caller provides, receives the address
// of a block in memory; it must be valid as long as `params`.
SPYI_FN spy_status spyi_cuda_params(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                    spyi_cu_pointer *address, void *params[SPYI_CUDA_MOST_PARAMS],
                                    spyi_text *error);
// Returns the kernel's launch as the driver's description of a graph node. `values` must be valid as long as
// the result.
SPYI_FN spyi_cu_kernel_params spyi_cuda_node_params(const spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                                    void **values);
// Counts a launch, and remembers the kernel's label for the error message of a lost device.
SPYI_FN void spyi_cuda_launched(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);

// >>repeat.c
SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);
// Launches a kernel by its own graph and sets *result to the driver's result. Returns false, without a
// launch, when the kernel has no graph (yet). `params` point into `block`.
SPYI_FN bool spyi_cuda_repeat_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                     const void *block, void **params, spyi_cu_result *result);
SPYI_FN void spyi_cuda_repeat_free(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);

// >>graph.c
SPYI_FN spy_status spyi_cuda_graph_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_end(spyi_gpu *gpu, spyi_graph **graph, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_change(spyi_gpu *gpu, spyi_graph *graph, uint32_t index,
                                          const spyi_work *dispatch, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_launch(spyi_gpu *gpu, spyi_graph *graph, spyi_text *error);
SPYI_FN void spyi_cuda_graph_destroy(spyi_gpu *gpu, spyi_graph *graph);
SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *gpu); // defined in repeat.c
// These functions add work to the graph that is being recorded.
SPYI_FN spy_status spyi_cuda_graph_dispatch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                            const spyi_dispatch *dispatch, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_copy(spyi_cuda_gpu *gpu, spyi_cu_pointer to, spyi_cu_pointer from,
                                        uint64_t size, bool barrier, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_fill(spyi_cuda_gpu *gpu, spyi_cu_pointer to, uint64_t size,
                                        uint32_t pattern, bool barrier, spyi_text *error);
// Adds the timestamp kernel: one thread, with `place` as its one parameter (8 bytes).
SPYI_FN spy_status spyi_cuda_graph_mark(spyi_cuda_gpu *gpu, spyi_cu_function function, spyi_cu_pointer place,
                                        spyi_text *error);

// >>image.c
static inline uint32_t spyi_cuda_level_size(uint32_t size, uint32_t level) {
    return level < 32 && size >> level ? size >> level : 1;
}
SPYI_FN uint32_t spyi_cuda_image_support(spyi_gpu *gpu, uint32_t number);
SPYI_FN spy_status spyi_cuda_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_image(spyi_gpu *base, spyi_image *image);
SPYI_FN spy_status spyi_cuda_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error);
SPYI_FN void spyi_cuda_destroy_sampler(spyi_gpu *base, uint64_t sampler);
SPYI_FN spy_status spyi_cuda_create_view(spyi_gpu *base, const spyi_image *image, const spyi_image_desc *of,
                                         const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                                         spyi_text *error);
SPYI_FN void spyi_cuda_destroy_view(spyi_gpu *base, uint64_t view, bool stored);
SPYI_FN spy_status spyi_cuda_add_handle(spyi_gpu *base, const spyi_binding *binding, uint64_t *handle,
                                        spyi_text *error);
SPYI_FN void spyi_cuda_remove_handle(spyi_gpu *base, spyi_binding_kind kind, uint64_t handle);
SPYI_FN spy_status spyi_cuda_image_bytes(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_image_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_image_blit(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_blit(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_image_clear(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>transfer.c
SPYI_FN spy_status spyi_cuda_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error);
// Reads `size` bytes of device memory (at most SPYI_CUDA_SMALL_UPLOAD) in the order of `stream`, and waits
// for them.
SPYI_FN spy_status spyi_cuda_read_small(spyi_cuda_gpu *gpu, void *data, spyi_cu_pointer from, size_t size,
                                        spyi_cu_stream stream, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_staging(spyi_cuda_gpu *gpu);

#endif // SPYI_CUDA_INTERNAL_H
