// The CUDA backend's own types and the functions that its files share. Data flow: driver.c opens the driver, device.c makes
// the device, nvrtc.c and prelude.c compile text, kernel.c launches, memory.c and transfer.c move data, stream.c counts
// what is done. Work goes to one stream, in order: barriers have nothing to do but in graph.c's graphs, whose work is in no
// other order than theirs.
#ifndef SPYI_CUDA_INTERNAL_H
#define SPYI_CUDA_INTERNAL_H

#include "api/cuda.h"
#include "backend/target.h"
#include "backend/work.h"
#include "cuda/driver_api.h"

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_cuda.h needs a 64-bit target, as CUDA does"
#endif

#define SPYI_CUDA_BATCHES 64u     // batches in flight; the next one waits for the oldest
#define SPYI_CUDA_BATCH_WORK 256u // operations after which a batch ends in any case: then its pages come back
#define SPYI_CUDA_BATCH_BYTES (4u << 20)        // the same for bytes of its pages
#define SPYI_CUDA_PAGE_SIZE ((size_t)256 << 10) // of pinned memory for small uploads and parameters in memory
#define SPYI_CUDA_SMALL_UPLOAD 65536u           // up to here through a page, above through the staging ring
#define SPYI_CUDA_STAGING_COUNT 4u              // half of them the GPU's, half the copy team's
#define SPYI_CUDA_STAGING_SIZE ((size_t)8 << 20)
#define SPYI_CUDA_STAGING_LEAST ((size_t)1 << 20) // for transfers of up to eight times that
#define SPYI_CUDA_DRIVER_READ ((size_t)8 << 20)   // what is smaller is read by the driver's own pageable copy
#define SPYI_CUDA_RECENT 8u                       // kernels that are named when the device is lost
#define SPYI_CUDA_MOST_PARAMS 64u
#define SPYI_CUDA_REPEATING 64u     // kernels that have a graph of their own at a time
#define SPYI_CUDA_REPEAT_BYTES 256u // of parameters, at most, of such a kernel

// >>nvrtc.c: NVRTC, opened at run time

// X(name, arguments); all have been there since CUDA 11.2.
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
    void *library; // NULL: not opened. Stays open until the process ends
    char path[512];
    int major, minor;
    int archs[SPYI_NVRTC_MOST_ARCHS]; // 90 for sm_90
    int arch_count;
#define SPYI_NVRTC_MEMBER(name, arguments) int(*name) arguments;
    SPYI_NVRTC_FUNCTIONS(SPYI_NVRTC_MEMBER)
#undef SPYI_NVRTC_MEMBER
} spyi_nvrtc;

// Opens the library: `path`, or SLANGPY_NVRTC_LIBRARY, or what the search finds. Else SPY_ERROR_NO_COMPILER, and all places
// that were tried.
SPYI_FN spy_status spyi_nvrtc_open(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// The same, which looks for it once in a process. Free-threaded.
SPYI_FN spy_status spyi_nvrtc_find(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// What spyi_nvrtc_find() has found; false: nobody has asked for it.
SPYI_FN bool spyi_nvrtc_is_found(const char *path, spyi_nvrtc *nvrtc);
// The device code of one program for compute capability `arch` (90): a cubin, or PTX of an older one if this NVRTC is
// older than the device. false: `log` has the compiler's words.
SPYI_FN bool spyi_nvrtc_run(const spyi_nvrtc *nvrtc, int arch, const char *source, const char *name,
                            const char *const *options, int option_count, spyi_text *code, spyi_text *log);

// >>prelude.c: from a kernel's text to device code

// Compiles desc->code, CUDA text. Of a failure, `error` has the compiler's words; when our own prelude did not do, `ctx`
// hears of it.
SPYI_FN spy_status spyi_cuda_compile_text(spyi_context *ctx, const spyi_nvrtc *nvrtc,
                                          const spyi_profile *profile, const spyi_kernel_desc *desc,
                                          spyi_text *code, spyi_text *error);
// The kernel's name in what that gives, to be freed; NULL: out of memory.
SPYI_FN char *spyi_cuda_symbol(const spyi_kernel_desc *desc);

// >>the device

// Pinned memory of a batch, with as much device memory beside it.
typedef struct spyi_cuda_page {
    struct spyi_cuda_page *next;
    char *host;
    spyi_cu_pointer device;
    size_t size, used;
} spyi_cuda_page;

// Work that was begun together. Number n uses slot n % SPYI_CUDA_BATCHES.
typedef struct spyi_cuda_batch {
    spyi_cu_event event;
    uint64_t number; // of the last batch that used the slot; 0: none
    spyi_cuda_page *pages;
} spyi_cuda_batch;

typedef struct spyi_cuda_staging {
    void *host;
    size_t size;         // bytes; 0: not allocated yet
    spyi_cu_event event; // recorded behind its last use
    bool used;
} spyi_cuda_staging;

// A kernel's launch as a graph of one node (repeat.c).
typedef struct spyi_cuda_repeat {
    spyi_cu_graph graph; // stays: its node names that of exec
    spyi_cu_node node;
    spyi_cu_exec exec;  // NULL: the kernel has none
    uint32_t launches;  // without it
    uint32_t last;      // gpu->recent_count at its last launch
    uint32_t groups[3]; // what exec holds
    char block[SPYI_CUDA_REPEAT_BYTES];
} spyi_cuda_repeat;

typedef struct spyi_cuda_kernel {
    spyi_kernel_base base; // first
    spyi_cu_module module;
    spyi_cu_function function;
    spyi_cu_pointer globals; // of the module's global parameters; 0: none
    size_t globals_size;
    uint32_t group[3];
    uint32_t param_count, params[SPYI_CUDA_MOST_PARAMS]; // offsets in the block
    spyi_parameter_place *places;                        // of each uniform buffer
    uint32_t shared_bytes;
    bool block_by_address;
    bool repeats; // may be launched by its graph
    spyi_cuda_repeat repeat;
    char label[64]; // cut off
} spyi_cuda_kernel;

// Device memory that a launch's uniform buffers are put into: the open batch's, or a graph's own, from `at` on.
typedef struct spyi_cuda_own {
    spyi_cu_pointer at;
    spyi_cu_pointer globals; // what the kernel's global parameters are to be copied from; 0: it has none
    size_t globals_size;
} spyi_cuda_own;

typedef struct spyi_cuda_graph spyi_cuda_graph; // graph.c

typedef struct spyi_cuda_gpu {
    spyi_gpu_base base; // first
    spyi_cu_driver cu;
    spyi_cu_device device;
    spyi_cu_context context;
    bool primary;      // the context is retained, not given
    bool made_current; // on a thread that had no context
    bool lost;

    spyi_cu_stream stream, own_stream;
    spyi_cu_stream lane; // downloads that wait for less than all

    // base.open is the number of the batch that is being begun, so base.open - 1 is the last one that has an event.
    uint64_t finished;   // as last seen
    uint64_t ordered;    // the last one that waited for another's stream
    spyi_cu_event order; // between streams; recorded anew each time
    uint32_t work;       // operations in the open batch
    size_t work_bytes;   // in its pages
    spyi_cuda_batch batches[SPYI_CUDA_BATCHES];
    spyi_cuda_page *free_pages;

    char recent_label[SPYI_CUDA_RECENT][64]; // of the last kernels, a ring
    uint64_t recent_batch[SPYI_CUDA_RECENT];
    uint32_t recent_count; // of all kernels

    spyi_cuda_staging upload[SPYI_CUDA_STAGING_COUNT], download[SPYI_CUDA_STAGING_COUNT];
    uint32_t upload_next;
    void *bounce; // pinned memory of SPYI_CUDA_SMALL_UPLOAD bytes for small reads; NULL: none yet

    spyi_cu_event time_events[2]; // made when first used
    int timing;                   // 0: never begun, 1: begun, 2: ended
    uint64_t timing_batch;        // in which it ended
    spyi_cu_module mark_module;   // the kernel that notes the time
    spyi_cu_function mark;
    spyi_cu_pointer marks;

    spyi_cuda_graph *graph; // that is being made; NULL: work runs
    bool direct_launches;   // of the desc
    spyi_cuda_kernel *repeating[SPYI_CUDA_REPEATING];

    char *nvrtc_path; // of the desc; NULL: none
} spyi_cuda_gpu;

// >>driver.c
SPYI_FN spy_status spyi_cu_open(const char *path, spyi_cu_driver *cu, spyi_text *error);
// "cuMemAlloc gave CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
SPYI_FN void spyi_cu_say(const spyi_cu_driver *cu, spyi_cu_result result, const char *what, spyi_text *error);

// >>device.c
SPYI_FN size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);
SPYI_FN spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                    spyi_text *error);
SPYI_FN void spyi_cuda_destroy(spyi_gpu *gpu);
// Append what failed and return the status that goes with it; a dead context marks the device lost.
SPYI_FN spy_status spyi_cuda_fail(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error);
// Every way in: makes the device's context current. The result goes to the leave.
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

// >>stream.c
SPYI_FN spy_status spyi_cuda_make_stream(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_stream(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_check_lost(const spyi_cuda_gpu *gpu, spyi_text *error);
// After each operation in the stream: full batches end.
SPYI_FN spy_status spyi_cuda_worked(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_end_batch(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_wait_for(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error);
// The stream has been waited for: the open batch ends without an event.
SPYI_FN spy_status spyi_cuda_all_done(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_use_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
// The device's stream waits for what `stream` has so far, and the other way round.
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
// `size` bytes of a page that live as long as the open batch.
SPYI_FN spy_status spyi_cuda_take_bytes(spyi_cuda_gpu *gpu, size_t size, char **host, spyi_cu_pointer *device,
                                        spyi_text *error);
// The same from a list of pages that lives as long as its owner likes.
SPYI_FN spy_status spyi_cuda_take_from(spyi_cuda_gpu *gpu, spyi_cuda_page **pages, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error);
SPYI_FN void spyi_cuda_return_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);
SPYI_FN void spyi_cuda_free_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);

// >>kernel.c
SPYI_FN spy_status spyi_cuda_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);
SPYI_FN spy_status spyi_cuda_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                  spyi_text *error);
SPYI_FN void spyi_cuda_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN spy_status spyi_cuda_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
// Neither uniform buffers nor a block in memory: all parameters stand in the dispatch's block.
static inline bool spyi_cuda_is_plain(const spyi_cuda_kernel *kernel) {
    return kernel->base.uniform_count == 0 && !kernel->block_by_address;
}
// Bytes of device memory that a dispatch's parameters take beyond the launch itself.
SPYI_FN size_t spyi_cuda_param_memory(const spyi_cuda_kernel *kernel, const spyi_dispatch *dispatch);
// Where the launch finds each parameter: in the dispatch's block, or a copy that lives as long as the open batch. Uniform
// buffers have been put into memory: `own`'s; or, NULL, the open batch's. *address is the caller's, for a block in memory.
SPYI_FN spy_status spyi_cuda_params(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                    spyi_cu_pointer *address, void *params[SPYI_CUDA_MOST_PARAMS],
                                    spyi_text *error);
// The kernel as a graph's node. `values` live as long as it.
SPYI_FN spyi_cu_kernel_params spyi_cuda_node_params(const spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                                    void **values);
// A kernel has gone to the GPU: counted, and named if the device is lost.
SPYI_FN void spyi_cuda_launched(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);

// >>repeat.c
SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);
// The launch of a kernel that can repeat, if it does so by now; *result is the driver's. `params` point into `block`.
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
SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *gpu); // repeat.c
// Parts of the graph that is being made.
SPYI_FN spy_status spyi_cuda_graph_dispatch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                            const spyi_dispatch *dispatch, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_copy(spyi_cuda_gpu *gpu, spyi_cu_pointer to, spyi_cu_pointer from,
                                        uint64_t size, bool barrier, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_fill(spyi_cuda_gpu *gpu, spyi_cu_pointer to, uint64_t size,
                                        uint32_t pattern, bool barrier, spyi_text *error);
// A kernel of one thread with one parameter of 8 bytes.
SPYI_FN spy_status spyi_cuda_graph_mark(spyi_cuda_gpu *gpu, spyi_cu_function function, spyi_cu_pointer place,
                                        spyi_text *error);

// >>transfer.c
SPYI_FN spy_status spyi_cuda_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error);
// Device memory of at most SPYI_CUDA_SMALL_UPLOAD bytes, in the order of `stream`; waits.
SPYI_FN spy_status spyi_cuda_read_small(spyi_cuda_gpu *gpu, void *data, spyi_cu_pointer from, size_t size,
                                        spyi_cu_stream stream, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_staging(spyi_cuda_gpu *gpu);

#endif // SPYI_CUDA_INTERNAL_H
