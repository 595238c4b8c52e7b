// What CUDA's driver gives to plain code: the bounds that tests/bench/run holds bench.c's figures against. No toolkit: the
// driver is opened at run time and its kernels are PTX below.
//
//   raw_cuda [--adapter N] [--json FILE] [--quick | --full] [--only TEXT]
#define _GNU_SOURCE
#include <dlfcn.h>

#include "bench_util.h"

#define FLOATS 32
#define OUTPUTS 16

typedef void *handle;
typedef uint64_t pointer;

typedef struct kernel_params { // CUDA_KERNEL_NODE_PARAMS_v1
    handle function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} kernel_params;

#define FUNCTIONS(X)                                                                                                          \
    X(cuInit, "cuInit", (unsigned))                                                                                           \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                                                      \
    X(cuGetErrorString, "cuGetErrorString", (int, const char **))                                                             \
    X(cuDeviceGet, "cuDeviceGet", (int *, int))                                                                               \
    X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                                                 \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (handle *, int))                                                  \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (handle))                                                                           \
    X(cuModuleLoadData, "cuModuleLoadData", (handle *, const void *))                                                         \
    X(cuModuleGetFunction, "cuModuleGetFunction", (handle *, handle, const char *))                                           \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                                       \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **))               \
    X(cuMemAlloc, "cuMemAlloc_v2", (pointer *, size_t))                                                                       \
    X(cuMemFree, "cuMemFree_v2", (pointer))                                                                                   \
    X(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                                          \
    X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (pointer *, void *, unsigned))                               \
    X(cuMemFreeHost, "cuMemFreeHost", (void *))                                                                               \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (pointer, const void *, size_t))                                                       \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, pointer, size_t))                                                             \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (pointer, pointer, size_t, handle))                                          \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (pointer, const void *, size_t, handle))                                     \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, pointer, size_t, handle))                                           \
    X(cuMemsetD32Async, "cuMemsetD32Async", (pointer, unsigned, size_t, handle))                                              \
    X(cuStreamCreate, "cuStreamCreate", (handle *, unsigned))                                                                 \
    X(cuStreamSynchronize, "cuStreamSynchronize", (handle))                                                                   \
    X(cuEventCreate, "cuEventCreate", (handle *, unsigned))                                                                   \
    X(cuEventRecord, "cuEventRecord", (handle, handle))                                                                       \
    X(cuEventSynchronize, "cuEventSynchronize", (handle))                                                                     \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *, handle, handle))                                                    \
    X(cuGraphCreate, "cuGraphCreate", (handle *, unsigned))                                                                   \
    X(cuGraphDestroy, "cuGraphDestroy", (handle))                                                                             \
    X(cuGraphAddKernelNode, "cuGraphAddKernelNode", (handle *, handle, const handle *, size_t, const kernel_params *))        \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags", (handle *, handle, unsigned long long))                              \
    X(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", (handle, handle, const kernel_params *))              \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (handle))                                                                     \
    X(cuGraphLaunch, "cuGraphLaunch", (handle, handle))

#define MEMBER(name, symbol, arguments) int(*name) arguments;
static struct {
    FUNCTIONS(MEMBER)
} cu;

// add: c = a + b by float4, groups of 256, n vectors. store: *out = v. advance: y = x * a + b, one float a thread, groups of
// 256. empty: nothing.
static const char ptx[] =
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

typedef struct world {
    bench out;
    bool quick;
    handle stream, add, store, advance, empty, events[2];
} world;

static bool good(world *w, const char *item, int result) {
    const char *text = "?";
    if (result == 0) return true;
    cu.cuGetErrorString(result, &text);
    bench_fail(&w->out, item, "error %d: %s", result, text);
    return false;
}

static int launch_add(world *w, pointer a, pointer b, pointer c, uint32_t vectors) {
    void *params[] = { &a, &b, &c, &vectors };
    return cu.cuLaunchKernel(w->add, (vectors + 255) / 256, 1, 1, 256, 1, 1, 0, w->stream, params, NULL);
}

// ---- memory's speed

static void measure_memory(world *w) {
    enum { MOST = 30 };
    const size_t n = w->quick ? 1u << 20 : 1u << 26, bytes = n * 4;
    const int times = w->quick ? 5 : MOST;
    double add[MOST], copy[MOST];
    pointer a = 0, b = 0, c = 0;
    int result = cu.cuMemAlloc(&a, bytes);
    if (result == 0) result = cu.cuMemAlloc(&b, bytes);
    if (result == 0) result = cu.cuMemAlloc(&c, bytes);
    if (result == 0) result = cu.cuMemsetD32Async(a, 0x3f800000, n, w->stream); // 1
    if (result == 0) result = cu.cuMemsetD32Async(b, 0x40000000, n, w->stream); // 2
    for (int i = 0; i < 200 && result == 0; ++i) result = launch_add(w, a, b, c, (uint32_t)(n / 4)); // raises the clocks
    for (int i = 0; i < times && result == 0; ++i) {
        float ms = 0;
        result = cu.cuEventRecord(w->events[0], w->stream);
        if (result == 0) result = launch_add(w, a, b, c, (uint32_t)(n / 4));
        if (result == 0) result = cu.cuEventRecord(w->events[1], w->stream);
        if (result == 0) result = cu.cuEventSynchronize(w->events[1]);
        if (result == 0) result = cu.cuEventElapsedTime(&ms, w->events[0], w->events[1]);
        add[i] = 3.0 * (double)bytes / ((double)ms * 1e6);
        if (result == 0) result = cu.cuEventRecord(w->events[0], w->stream);
        if (result == 0) result = cu.cuMemcpyDtoDAsync(c, a, bytes, w->stream);
        if (result == 0) result = cu.cuEventRecord(w->events[1], w->stream);
        if (result == 0) result = cu.cuEventSynchronize(w->events[1]);
        if (result == 0) result = cu.cuEventElapsedTime(&ms, w->events[0], w->events[1]);
        copy[i] = 2.0 * (double)bytes / ((double)ms * 1e6);
    }
    float got[4] = { 0 };
    if (result == 0) result = launch_add(w, a, b, c, (uint32_t)(n / 4));
    if (result == 0) result = cu.cuStreamSynchronize(w->stream);
    if (result == 0) result = cu.cuMemcpyDtoH(got, c + bytes - sizeof got, sizeof got);
    if (good(w, "raw_copy_add", result)) {
        if (got[3] != 3) bench_fail(&w->out, "raw_copy_add", "1 + 2 gave %g", (double)got[3]);
        else bench_report(&w->out, "raw_copy_add", "GB/s", add, (size_t)times, "c = a + b by float4");
        bench_report(&w->out, "raw_copy_brdf", "GB/s", copy, (size_t)times, "device to device");
    }
    cu.cuMemFree(a), cu.cuMemFree(b), cu.cuMemFree(c);
}

static void measure_transfers(world *w) {
    enum { ROUNDS = 6 };
    const size_t bytes = w->quick ? (size_t)4 << 20 : (size_t)256 << 20;
    double up[ROUNDS], down[ROUNDS], plain_up[ROUNDS], plain_down[ROUNDS];
    pointer device = 0;
    void *pinned = NULL, *plain = malloc(bytes);
    int result = cu.cuMemAlloc(&device, bytes);
    if (result == 0) result = cu.cuMemHostAlloc(&pinned, bytes, 0);
    if (result == 0) memset(pinned, 1, bytes);
    if (plain != NULL) memset(plain, 2, bytes);
    for (int i = -1; i < ROUNDS && result == 0 && plain != NULL; ++i) {
        double samples[4];
        for (int k = 0; k < 4 && result == 0; ++k) {
            const double start = bench_now_ns();
            if (k == 0) result = cu.cuMemcpyHtoDAsync(device, pinned, bytes, w->stream);
            else if (k == 1) result = cu.cuMemcpyDtoHAsync(pinned, device, bytes, w->stream);
            else if (k == 2) result = cu.cuMemcpyHtoD(device, plain, bytes);
            else result = cu.cuMemcpyDtoH(plain, device, bytes);
            if (result == 0) result = cu.cuStreamSynchronize(w->stream);
            samples[k] = (double)bytes / (bench_now_ns() - start);
        }
        if (i >= 0) up[i] = samples[0], down[i] = samples[1], plain_up[i] = samples[2], plain_down[i] = samples[3];
    }
    if (good(w, "raw_upload", result) && plain != NULL) {
        bench_report(&w->out, "raw_upload", "GB/s", up, ROUNDS, "from pinned memory");
        bench_report(&w->out, "raw_download", "GB/s", down, ROUNDS, "into pinned memory");
        bench_report(&w->out, "raw_upload_plain", "GB/s", plain_up, ROUNDS, "the driver's own copy from plain memory");
        bench_report(&w->out, "raw_download_plain", "GB/s", plain_down, ROUNDS, "the driver's own copy into plain memory");
    }
    free(plain);
    if (pinned != NULL) cu.cuMemFreeHost(pinned);
    cu.cuMemFree(device);
}

// ---- what a launch costs

static void measure_launches(world *w) {
    enum { ROUNDS = 7 };
    const size_t count = w->quick ? 1000 : 10000, trips = w->quick ? 200 : 2000;
    double issue[ROUNDS], total[ROUNDS], chain_issue[ROUNDS], chain[ROUNDS];
    double *trip = (double *)malloc(trips * sizeof *trip);
    pointer in[2] = { 0, 0 }, out[OUTPUTS] = { 0 }, mapped = 0;
    void *host = NULL;
    int result = trip == NULL ? 2 : 0;
    for (int i = 0; i < 2 && result == 0; ++i) result = cu.cuMemAlloc(&in[i], FLOATS * 4);
    for (int i = 0; i < OUTPUTS && result == 0; ++i) result = cu.cuMemAlloc(&out[i], FLOATS * 4);
    if (result == 0) result = cu.cuMemHostAlloc(&host, 64, 2); // mapped
    if (result == 0) result = cu.cuMemHostGetDevicePointer(&mapped, host, 0);
    for (int round = -2; round < ROUNDS && result == 0; ++round) {
        double start = bench_now_ns();
        for (size_t i = 0; i < count && result == 0; ++i) result = launch_add(w, in[0], in[1], out[i % OUTPUTS], FLOATS / 4);
        double issued = bench_now_ns();
        if (result == 0) result = cu.cuStreamSynchronize(w->stream);
        double end = bench_now_ns();
        if (round >= 0) issue[round] = (issued - start) / (double)count * 1e-3, total[round] = (end - start) / (double)count * 1e-3;
        start = bench_now_ns();
        for (size_t i = 0; i < count && result == 0; ++i) result = launch_add(w, out[i % 2], in[1], out[(i + 1) % 2], FLOATS / 4);
        issued = bench_now_ns();
        if (result == 0) result = cu.cuStreamSynchronize(w->stream);
        end = bench_now_ns();
        if (round >= 0) chain_issue[round] = (issued - start) / (double)count * 1e-3, chain[round] = (end - start) / (double)count * 1e-3;
    }
    for (size_t i = 0; i < trips && result == 0; ++i) {
        float value = (float)i;
        void *params[] = { &mapped, &value };
        const double start = bench_now_ns();
        result = cu.cuLaunchKernel(w->store, 1, 1, 1, 1, 1, 1, 0, w->stream, params, NULL);
        if (result == 0) result = cu.cuStreamSynchronize(w->stream);
        trip[i] = (bench_now_ns() - start) * 1e-3;
        if (result == 0 && *(volatile float *)host != value) bench_fail(&w->out, "raw_scalar", "%g did not come back", (double)value);
    }
    if (good(w, "raw_record", result)) {
        bench_report(&w->out, "raw_record", "us", issue, ROUNDS, "cuLaunchKernel, 16 outputs in turn");
        bench_report(&w->out, "raw_rotating", "us", total, ROUNDS, "with the wait");
        bench_report(&w->out, "raw_record_chain", "us", chain_issue, ROUNDS, "cuLaunchKernel, each reads what the last wrote");
        bench_report(&w->out, "raw_chain", "us", chain, ROUNDS, "with the wait");
        bench_report(&w->out, "raw_scalar", "us", trip, trips, "launch that writes mapped memory, and cuStreamSynchronize");
    }
    free(trip);
    if (host != NULL) cu.cuMemFreeHost(host);
    for (int i = 0; i < 2; ++i) cu.cuMemFree(in[i]);
    for (int i = 0; i < OUTPUTS; ++i) cu.cuMemFree(out[i]);
}

// ---- graphs of 20 kernels, each waiting for the one before

typedef struct chain {
    handle graph, exec, nodes[20];
    pointer memory[2];
} chain;

typedef struct step { // what the driver reads of one kernel
    kernel_params params;
    void *values[5];
    pointer places[2];
    float numbers[2];
    uint32_t count;
} step;

// Kernel i of the chain: y = x * 1 + b.
static void fill_step(const world *w, const chain *c, int i, float b, step *s) {
    memset(s, 0, sizeof *s);
    s->places[0] = c->memory[i % 2], s->places[1] = c->memory[(i + 1) % 2];
    s->numbers[0] = 1, s->numbers[1] = b;
    s->count = FLOATS;
    s->values[0] = &s->places[0], s->values[1] = &s->places[1];
    s->values[2] = &s->numbers[0], s->values[3] = &s->numbers[1], s->values[4] = &s->count;
    s->params = (kernel_params){ .function = w->advance, .grid = { 1, 1, 1 }, .block = { 256, 1, 1 }, .params = s->values };
}

static int make_chain(world *w, chain *c, bool empty) {
    int result = cu.cuGraphCreate(&c->graph, 0);
    for (int i = 0; i < 20 && result == 0; ++i) {
        step s;
        fill_step(w, c, i, 1, &s);
        if (empty) s.params = (kernel_params){ .function = w->empty, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
        result = cu.cuGraphAddKernelNode(&c->nodes[i], c->graph, i > 0 ? &c->nodes[i - 1] : NULL, i > 0, &s.params);
    }
    if (result == 0) result = cu.cuGraphInstantiate(&c->exec, c->graph, 0);
    return result;
}

// `changes`: kernel 7 gets another number before each launch; else it has 1. *sum: what the launches add to each element.
static int run_chain(world *w, chain *c, bool changes, size_t count, double *sum, double *issue_us, double *total_us) {
    step s;
    fill_step(w, c, 7, 1, &s);
    int result = c->memory[0] != 0 ? cu.cuGraphExecKernelNodeSetParams(c->exec, c->nodes[7], &s.params) : 0;
    const double start = bench_now_ns();
    for (size_t i = 0; i < count && result == 0; ++i) {
        if (changes) {
            fill_step(w, c, 7, (float)(i % 4), &s);
            result = cu.cuGraphExecKernelNodeSetParams(c->exec, c->nodes[7], &s.params);
        }
        if (result == 0) result = cu.cuGraphLaunch(c->exec, w->stream);
    }
    const double issued = bench_now_ns();
    if (result == 0) result = cu.cuStreamSynchronize(w->stream);
    *issue_us = (issued - start) / (double)count * 1e-3;
    *total_us = (bench_now_ns() - start) / (double)count * 1e-3;
    for (size_t i = 0; i < count; ++i) *sum += 19 + (changes ? (double)(i % 4) : 1);
    return result;
}

static void measure_graphs(world *w) {
    enum { ROUNDS = 7 };
    const size_t count = w->quick ? 50 : 2000;
    double issue[3][ROUNDS], total[3][ROUNDS], first, second, expected = 0, ignored = 0; // empty, the same kernels, one changed
    chain chains[2];
    float got = 0;
    memset(chains, 0, sizeof chains);
    int result = cu.cuMemAlloc(&chains[1].memory[0], FLOATS * 4);
    if (result == 0) result = cu.cuMemAlloc(&chains[1].memory[1], FLOATS * 4);
    if (result == 0) result = cu.cuMemsetD32Async(chains[1].memory[0], 0, FLOATS, w->stream);
    for (int i = 0; i < 2 && result == 0; ++i) result = make_chain(w, &chains[i], i == 0);
    for (int round = -2; round < ROUNDS && result == 0; ++round)
        for (int k = 0; k < 3 && result == 0; ++k) {
            result = run_chain(w, &chains[k > 0], k == 2, count, k > 0 ? &expected : &ignored, &first, &second);
            if (round >= 0) issue[k][round] = first, total[k][round] = second;
        }
    if (result == 0) result = cu.cuMemcpyDtoH(&got, chains[1].memory[0], sizeof got);
    if (good(w, "raw_graph", result)) {
        if ((double)got != expected) bench_fail(&w->out, "raw_graph", "the sum is %g, not %g", (double)got, expected);
        bench_report(&w->out, "raw_graph_empty", "us", total[0], ROUNDS, "a graph of 20 empty kernels in a chain, with the wait");
        bench_report(&w->out, "raw_graph_empty_issue", "us", issue[0], ROUNDS, "cuGraphLaunch of it");
        bench_report(&w->out, "raw_graph", "us", total[1], ROUNDS, "20 kernels y = x * a + b in a chain, with the wait");
        bench_report(&w->out, "raw_graph_issue", "us", issue[1], ROUNDS, "cuGraphLaunch of it");
        bench_report(&w->out, "raw_graph_set", "us", total[2], ROUNDS, "with cuGraphExecKernelNodeSetParams before each");
        bench_report(&w->out, "raw_graph_set_issue", "us", issue[2], ROUNDS, "the two");
    }
    for (int i = 0; i < 2; ++i) {
        if (chains[i].exec != NULL) cu.cuGraphExecDestroy(chains[i].exec);
        if (chains[i].graph != NULL) cu.cuGraphDestroy(chains[i].graph);
        cu.cuMemFree(chains[1].memory[i]);
    }
}

static bool open_driver(world *w, int adapter) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    handle context = NULL, module = NULL;
    char name[256] = "?", driver[64];
    int device = 0, version = 0;
    if (library == NULL) {
        bench_fail(&w->out, "device", "%s", dlerror());
        return false;
    }
#define LOAD(function, name_, arguments)                                                                                      \
    symbol = dlsym(library, name_);                                                                                           \
    if (symbol == NULL) {                                                                                                     \
        bench_fail(&w->out, "device", "the driver has no %s", name_);                                                         \
        return false;                                                                                                         \
    }                                                                                                                         \
    memcpy(&cu.function, &symbol, sizeof symbol);
    FUNCTIONS(LOAD)
    const double start = bench_now_ns();
    if (!good(w, "device", cu.cuInit(0))) return false;
    const double initialised = bench_now_ns();
    if (!good(w, "device", cu.cuDeviceGet(&device, adapter > 0 ? adapter - 1 : 0))) return false;
    if (!good(w, "device", cu.cuDevicePrimaryCtxRetain(&context, device))) return false;
    if (!good(w, "device", cu.cuCtxSetCurrent(context))) return false;
    const double made = bench_now_ns();
    cu.cuDeviceGetName(name, sizeof name, device);
    cu.cuDriverGetVersion(&version);
    snprintf(driver, sizeof driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    bench_report_device(&w->out, name, driver, false, w->quick);
    bench_report_one(&w->out, "raw_device", "s", (made - start) * 1e-9, "cuInit and the primary context");
    bench_report_one(&w->out, "raw_init", "s", (initialised - start) * 1e-9, "cuInit alone");
    return good(w, "device", cu.cuModuleLoadData(&module, ptx)) && good(w, "device", cu.cuModuleGetFunction(&w->add, module, "add")) &&
           good(w, "device", cu.cuModuleGetFunction(&w->store, module, "store")) &&
           good(w, "device", cu.cuModuleGetFunction(&w->advance, module, "advance")) &&
           good(w, "device", cu.cuModuleGetFunction(&w->empty, module, "empty")) &&
           good(w, "device", cu.cuStreamCreate(&w->stream, 1)) && good(w, "device", cu.cuEventCreate(&w->events[0], 0)) &&
           good(w, "device", cu.cuEventCreate(&w->events[1], 0));
}

int main(int argc, char **argv) {
    world w;
    int adapter = 0;
    memset(&w, 0, sizeof w);
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quick") == 0) w.quick = true;
        else if (strcmp(argv[i], "--full") == 0) w.quick = false;
        else if (strcmp(argv[i], "--adapter") == 0) adapter = atoi(value), ++i;
        else if (strcmp(argv[i], "--only") == 0) w.out.only = value, ++i;
        else if (strcmp(argv[i], "--json") == 0) w.out.json = fopen(value, "a"), ++i;
        else {
            fprintf(stderr, "usage: raw_cuda [--adapter N] [--json FILE] [--quick | --full] [--only TEXT]\n");
            return 2;
        }
    }
    if (open_driver(&w, adapter)) {
        if (bench_wanted(&w.out, "raw_record")) measure_launches(&w);
        if (bench_wanted(&w.out, "raw_graph")) measure_graphs(&w);
        if (bench_wanted(&w.out, "raw_copy_add")) measure_memory(&w);
        if (bench_wanted(&w.out, "raw_upload")) measure_transfers(&w);
    }
    if (w.out.json != NULL) fclose(w.out.json);
    return w.out.failures == 0 ? 0 : 1;
}
