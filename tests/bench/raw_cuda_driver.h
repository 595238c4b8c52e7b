// CUDA's driver for plain code: raw_cuda.c measures what it can do, bench.c what plain launches cost in its own process. No
// toolkit: the driver is opened at run time and its kernels are PTX below. Functions return the driver's result, 0 if good.
#ifndef RAW_CUDA_DRIVER_H
#define RAW_CUDA_DRIVER_H

#include <dlfcn.h>

#include "bench_util.h"

typedef void *raw_handle;
typedef uint64_t raw_pointer;

typedef struct raw_params { // CUDA_KERNEL_NODE_PARAMS_v1
    raw_handle function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} raw_params;

// clang-format off
#define RAW_FUNCTIONS(X)                                                                                                      \
    X(cuInit, "cuInit", (unsigned))                                                                                           \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                                                      \
    X(cuGetErrorString, "cuGetErrorString", (int, const char **))                                                             \
    X(cuDeviceGet, "cuDeviceGet", (int *, int))                                                                               \
    X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                                                 \
    X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", (raw_handle *, int))                                            \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (raw_handle *, int))                                              \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (raw_handle))                                                                       \
    X(cuCtxGetDevice, "cuCtxGetDevice", (int *))                                                                              \
    X(cuModuleLoadData, "cuModuleLoadData", (raw_handle *, const void *))                                                     \
    X(cuModuleGetFunction, "cuModuleGetFunction", (raw_handle *, raw_handle, const char *))                                   \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                                       \
      (raw_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, raw_handle, void **, void **))       \
    X(cuMemAlloc, "cuMemAlloc_v2", (raw_pointer *, size_t))                                                                   \
    X(cuMemFree, "cuMemFree_v2", (raw_pointer))                                                                               \
    X(cuMemAllocAsync, "cuMemAllocAsync", (raw_pointer *, size_t, raw_handle))                                                \
    X(cuMemFreeAsync, "cuMemFreeAsync", (raw_pointer, raw_handle))                                                            \
    X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", (raw_handle, int, void *))                                              \
    X(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                                          \
    X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (raw_pointer *, void *, unsigned))                           \
    X(cuMemFreeHost, "cuMemFreeHost", (void *))                                                                               \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (raw_pointer, const void *, size_t))                                                   \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, raw_pointer, size_t))                                                         \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (raw_pointer, raw_pointer, size_t, raw_handle))                              \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (raw_pointer, const void *, size_t, raw_handle))                             \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, raw_pointer, size_t, raw_handle))                                   \
    X(cuMemsetD32Async, "cuMemsetD32Async", (raw_pointer, unsigned, size_t, raw_handle))                                      \
    X(cuStreamCreate, "cuStreamCreate", (raw_handle *, unsigned))                                                             \
    X(cuStreamSynchronize, "cuStreamSynchronize", (raw_handle))                                                               \
    X(cuEventCreate, "cuEventCreate", (raw_handle *, unsigned))                                                               \
    X(cuEventRecord, "cuEventRecord", (raw_handle, raw_handle))                                                               \
    X(cuEventSynchronize, "cuEventSynchronize", (raw_handle))                                                                 \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *, raw_handle, raw_handle))                                            \
    X(cuGraphCreate, "cuGraphCreate", (raw_handle *, unsigned))                                                               \
    X(cuGraphDestroy, "cuGraphDestroy", (raw_handle))                                                                         \
    X(cuGraphAddKernelNode, "cuGraphAddKernelNode", (raw_handle *, raw_handle, const raw_handle *, size_t, const raw_params *)) \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags", (raw_handle *, raw_handle, unsigned long long))                      \
    X(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", (raw_handle, raw_handle, const raw_params *))         \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (raw_handle))                                                                 \
    X(cuGraphLaunch, "cuGraphLaunch", (raw_handle, raw_handle))

#define RAW_MEMBER(name, symbol, arguments) int(*name) arguments;
static struct {
    RAW_FUNCTIONS(RAW_MEMBER)
} cu;

// add: c = a + b by float4, groups of 256, n vectors. store: *out = v. advance: y = x * a + b, one float a thread, groups of
// 256. empty: nothing.
static const char raw_ptx[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)\n"
    "{\n.reg .pred %p;\n.reg .f32 %f<16>;\n.reg .b32 %r<5>;\n.reg .b64 %a, %b, %c, %o;\n"
    "ld.param.u64 %a, [pa];\nld.param.u64 %b, [pb];\nld.param.u64 %c, [pc];\nld.param.u32 %r1, [pn];\n"
    "mov.u32 %r2, %ctaid.x;\nshl.b32 %r2, %r2, 8;\nmov.u32 %r3, %tid.x;\nadd.s32 %r2, %r2, %r3;\n"
    "setp.ge.u32 %p, %r2, %r1;\n@%p bra $end;\n"
    "mul.wide.u32 %o, %r2, 16;\nadd.s64 %a, %a, %o;\nadd.s64 %b, %b, %o;\nadd.s64 %c, %c, %o;\n"
    "ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [%a];\nld.global.nc.v4.f32 {%f4, %f5, %f6, %f7}, [%b];\n"
    "add.f32 %f8, %f0, %f4;\nadd.f32 %f9, %f1, %f5;\nadd.f32 %f10, %f2, %f6;\nadd.f32 %f11, %f3, %f7;\n"
    "st.global.v4.f32 [%c], {%f8, %f9, %f10, %f11};\n$end:\nret;\n}\n"
    ".visible .entry store(.param .u64 po, .param .f32 pv)\n"
    "{\n.reg .f32 %f;\n.reg .b64 %o;\nld.param.u64 %o, [po];\nld.param.f32 %f, [pv];\nst.global.f32 [%o], %f;\nret;\n}\n"
    ".visible .entry advance(.param .u64 px, .param .u64 py, .param .f32 pa, .param .f32 pb, .param .u32 pn)\n"
    "{\n.reg .pred %p;\n.reg .f32 %f<4>;\n.reg .b32 %r<4>;\n.reg .b64 %x, %y, %o;\n"
    "ld.param.u64 %x, [px];\nld.param.u64 %y, [py];\nld.param.f32 %f0, [pa];\nld.param.f32 %f1, [pb];\nld.param.u32 %r1, [pn];\n"
    "mov.u32 %r2, %ctaid.x;\nshl.b32 %r2, %r2, 8;\nmov.u32 %r3, %tid.x;\nadd.s32 %r2, %r2, %r3;\n"
    "setp.ge.u32 %p, %r2, %r1;\n@%p bra $last;\n"
    "mul.wide.u32 %o, %r2, 4;\nadd.s64 %x, %x, %o;\nadd.s64 %y, %y, %o;\n"
    "ld.global.f32 %f2, [%x];\nfma.rn.f32 %f3, %f2, %f0, %f1;\nst.global.f32 [%y], %f3;\n$last:\nret;\n}\n"
    ".visible .entry empty()\n{\nret;\n}\n";
// clang-format on

typedef struct raw_chain { // a graph of LIST_CALLS kernels, each waiting for the one before
    raw_handle graph, exec, nodes[LIST_CALLS];
} raw_chain;

// A stream of a context, and what launches there work on. All of it ends with the context.
typedef struct raw_cuda {
    raw_handle stream, add, store, advance, empty;
    raw_pointer in[2], out[OUTPUTS]; // FLOATS floats each
    volatile float *mapped;          // a float of the host's that kernels write, too
    raw_pointer mapped_there;        // its address for kernels
    raw_pointer ring[OUTPUTS];       // the newest of raw_issue_new
    size_t ring_bytes;               // of each
    raw_chain *chain;                // of raw_issue_graph
} raw_cuda;

static inline bool raw_good(bench *out, const char *item, int result) {
    const char *text = "?";
    if (result == 0) return true;
    cu.cuGetErrorString(result, &text);
    bench_fail(out, item, "error %d: %s", result, text);
    return false;
}

static inline bool raw_load(bench *out, const char *item) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    if (library == NULL) {
        bench_fail(out, item, "%s", dlerror());
        return false;
    }
#define RAW_LOAD(function, name, arguments)                                                                  \
    symbol = dlsym(library, name);                                                                           \
    if (symbol == NULL) {                                                                                    \
        bench_fail(out, item, "the driver has no %s", name);                                                 \
        return false;                                                                                        \
    }                                                                                                        \
    memcpy(&cu.function, &symbol, sizeof symbol);
    RAW_FUNCTIONS(RAW_LOAD)
    return true;
}

// In the thread's current context. `in`: what the two inputs hold, FLOATS each.
static inline int raw_prepare(raw_cuda *r, const float *in[2]) {
    enum { NON_BLOCKING = 1, MAPPED = 2, RELEASE_THRESHOLD = 4 };
    raw_handle module = NULL, pool = NULL;
    uint64_t all = UINT64_MAX;
    void *host = NULL;
    int device = 0, result = cu.cuModuleLoadData(&module, raw_ptx);
    if (result == 0) result = cu.cuModuleGetFunction(&r->add, module, "add");
    if (result == 0) result = cu.cuModuleGetFunction(&r->store, module, "store");
    if (result == 0) result = cu.cuModuleGetFunction(&r->advance, module, "advance");
    if (result == 0) result = cu.cuModuleGetFunction(&r->empty, module, "empty");
    if (result == 0) result = cu.cuStreamCreate(&r->stream, NON_BLOCKING);
    for (int i = 0; i < 2 && result == 0; ++i) {
        result = cu.cuMemAlloc(&r->in[i], FLOATS * sizeof(float));
        if (result == 0) result = cu.cuMemcpyHtoDAsync(r->in[i], in[i], FLOATS * sizeof(float), r->stream);
    }
    for (int i = 0; i < OUTPUTS && result == 0; ++i)
        result = cu.cuMemAlloc(&r->out[i], FLOATS * sizeof(float));
    if (result == 0) result = cu.cuMemHostAlloc(&host, sizeof(float), MAPPED);
    if (result == 0) result = cu.cuMemHostGetDevicePointer(&r->mapped_there, host, 0);
    r->mapped = (volatile float *)host;
    // Memory that cuMemFreeAsync gets back stays with the driver's pool, as it stays with ours.
    if (result == 0) result = cu.cuCtxGetDevice(&device);
    if (result == 0) result = cu.cuDeviceGetDefaultMemPool(&pool, device);
    if (result == 0) result = cu.cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, &all);
    return result == 0 ? cu.cuStreamSynchronize(r->stream) : result;
}

// ---- launches

static inline int raw_launch_add(raw_cuda *r, raw_pointer a, raw_pointer b, raw_pointer c, uint32_t vectors) {
    void *params[] = { &a, &b, &c, &vectors };
    return cu.cuLaunchKernel(r->add, (vectors + 255) / 256, 1, 1, 256, 1, 1, 0, r->stream, params, NULL);
}

// Every output holds `poison`; then the first one holds `start`, if that is given.
static inline int raw_fill(raw_cuda *r, float poison, const float *start) {
    unsigned bits;
    int result = 0;
    memcpy(&bits, &poison, sizeof bits);
    for (int i = 0; i < OUTPUTS && result == 0; ++i)
        result = cu.cuMemsetD32Async(r->out[i], bits, FLOATS, r->stream);
    if (result == 0 && start != NULL)
        result = cu.cuMemcpyHtoDAsync(r->out[0], start, FLOATS * sizeof *start, r->stream);
    return result == 0 ? cu.cuStreamSynchronize(r->stream) : result;
}

// `count` launches without waiting: add to one output, to all in turn, and y = x * 1 + 1 from out[0] to out[1] and back.
static inline int raw_issue_same(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i)
        result = raw_launch_add(r, r->in[0], r->in[1], r->out[0], FLOATS / 4);
    return result;
}
static inline int raw_issue_rotating(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i)
        result = raw_launch_add(r, r->in[0], r->in[1], r->out[i % OUTPUTS], FLOATS / 4);
    return result;
}
static inline int raw_issue_chain(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i) {
        raw_pointer x = r->out[i % 2], y = r->out[(i + 1) % 2];
        float a = 1, b = 1;
        uint32_t floats = FLOATS;
        void *params[] = { &x, &y, &a, &b, &floats };
        result = cu.cuLaunchKernel(r->advance, 1, 1, 1, 256, 1, 1, 0, r->stream, params, NULL);
    }
    return result;
}
// The second, with memory given back and taken anew before each launch.
static inline int raw_issue_new(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i) {
        raw_pointer *one = &r->ring[i % OUTPUTS];
        if (*one != 0) result = cu.cuMemFreeAsync(*one, r->stream);
        *one = 0;
        if (result == 0) result = cu.cuMemAllocAsync(one, r->ring_bytes, r->stream);
        if (result == 0) result = raw_launch_add(r, r->in[0], r->in[1], r->out[i % OUTPUTS], FLOATS / 4);
    }
    return result;
}
static inline int raw_free_ring(raw_cuda *r) {
    int result = 0;
    for (int i = 0; i < OUTPUTS && result == 0; ++i) {
        if (r->ring[i] != 0) result = cu.cuMemFreeAsync(r->ring[i], r->stream);
        r->ring[i] = 0;
    }
    return result == 0 ? cu.cuStreamSynchronize(r->stream) : result;
}

// One of these and a wait: microseconds a launch, for the launches alone and with the wait.
static inline int raw_time(raw_cuda *r, int (*issue)(raw_cuda *, size_t), size_t count, double *issue_us,
                           double *total_us) {
    const double start = bench_now_ns();
    int result = issue(r, count);
    const double issued = bench_now_ns();
    if (result == 0) result = cu.cuStreamSynchronize(r->stream);
    *issue_us = (issued - start) / (double)count * 1e-3;
    *total_us = (bench_now_ns() - start) / (double)count * 1e-3;
    return result;
}

// A launch whose number the host has when this returns: false if it has not.
static inline bool raw_store(raw_cuda *r, float value) {
    void *params[] = { &r->mapped_there, &value };
    return cu.cuLaunchKernel(r->store, 1, 1, 1, 1, 1, 1, 0, r->stream, params, NULL) == 0 &&
           cu.cuStreamSynchronize(r->stream) == 0 && *r->mapped == value;
}

// ---- copies

// Host memory to the device (`up`) or back, with the wait. Plain memory goes through the driver's own pinned buffers.
static inline int raw_copy(raw_cuda *r, raw_pointer device, void *host, size_t bytes, bool up, bool pinned) {
    int result;
    if (!pinned) result = up ? cu.cuMemcpyHtoD(device, host, bytes) : cu.cuMemcpyDtoH(host, device, bytes);
    else if (up) result = cu.cuMemcpyHtoDAsync(device, host, bytes, r->stream);
    else result = cu.cuMemcpyDtoHAsync(host, device, bytes, r->stream);
    return result == 0 ? cu.cuStreamSynchronize(r->stream) : result;
}

// ---- graphs: raw_issue_chain's kernels, or empty ones

typedef struct raw_step { // what the driver reads of one kernel
    raw_params params;
    void *values[5];
    raw_pointer places[2];
    float numbers[2];
    uint32_t count;
} raw_step;

// Kernel i of the chain: y = x * 1 + b.
static inline void raw_fill_step(const raw_cuda *r, int i, float b, raw_step *s) {
    memset(s, 0, sizeof *s);
    s->places[0] = r->out[i % 2], s->places[1] = r->out[(i + 1) % 2];
    s->numbers[0] = 1, s->numbers[1] = b;
    s->count = FLOATS;
    s->values[0] = &s->places[0], s->values[1] = &s->places[1];
    s->values[2] = &s->numbers[0], s->values[3] = &s->numbers[1], s->values[4] = &s->count;
    s->params = (raw_params){
        .function = r->advance, .grid = { 1, 1, 1 }, .block = { 256, 1, 1 }, .params = s->values
    };
}

static inline int raw_make_chain(const raw_cuda *r, raw_chain *c, bool empty) {
    memset(c, 0, sizeof *c);
    int result = cu.cuGraphCreate(&c->graph, 0);
    for (int i = 0; i < LIST_CALLS && result == 0; ++i) {
        raw_step s;
        raw_fill_step(r, i, 1, &s);
        if (empty) s.params = (raw_params){ .function = r->empty, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
        result = cu.cuGraphAddKernelNode(&c->nodes[i], c->graph, i > 0 ? &c->nodes[i - 1] : NULL, i > 0,
                                         &s.params);
    }
    return result == 0 ? cu.cuGraphInstantiate(&c->exec, c->graph, 0) : result;
}

static inline void raw_free_chain(raw_chain *c) {
    if (c->exec != NULL) cu.cuGraphExecDestroy(c->exec);
    if (c->graph != NULL) cu.cuGraphDestroy(c->graph);
}

// For raw_time: launches of r->chain, and those with another number for kernel LIST_CHANGED before each.
static inline int raw_issue_graph(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i) result = cu.cuGraphLaunch(r->chain->exec, r->stream);
    return result;
}
static inline int raw_issue_graph_set(raw_cuda *r, size_t count) {
    int result = 0;
    for (size_t i = 0; i < count && result == 0; ++i) {
        raw_step s;
        raw_fill_step(r, LIST_CHANGED, bench_list_number(i), &s);
        result = cu.cuGraphExecKernelNodeSetParams(r->chain->exec, r->chain->nodes[LIST_CHANGED], &s.params);
        if (result == 0) result = cu.cuGraphLaunch(r->chain->exec, r->stream);
    }
    return result;
}

#endif
