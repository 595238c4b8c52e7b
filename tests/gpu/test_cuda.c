// What only the CUDA backend has, on a device: the program's own context, streams and memory, faults, running out of memory,
// parameters beyond the driver's limit, transfers, and the functions of our own prelude against C's. Without a CUDA device all
// of it is skipped.
#include "gpu_test.h"
#include <dlfcn.h>
#include <math.h>
#include <sys/wait.h>

spy_device *gpu_device;
static const char *program;

// >>the driver, as a program of the user's has it

static struct {
    void *library;
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*create)(void **, unsigned, int);
    int (*destroy)(void *);
    int (*set_current)(void *);
    int (*get_current)(void **);
    int (*stream_create)(void **, unsigned);
    int (*stream_synchronize)(void *);
    int (*stream_destroy)(void *);
    int (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long);
    int (*launch)(void *, void *);
    int (*exec_destroy)(void *);
    int (*graph_destroy)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*host_allocate)(void **, size_t, unsigned);
    int (*host_free)(void *);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
} cu;

static bool open_driver(void) {
    static const struct {
        const char *name;
        void *place;
    } symbols[] = {
        { "cuInit", &cu.init },
        { "cuDeviceGet", &cu.device_get },
        { "cuDevicePrimaryCtxRetain", &cu.retain },
        { "cuDevicePrimaryCtxRelease_v2", &cu.release },
        { "cuCtxCreate_v2", &cu.create },
        { "cuCtxDestroy_v2", &cu.destroy },
        { "cuCtxSetCurrent", &cu.set_current },
        { "cuCtxGetCurrent", &cu.get_current },
        { "cuStreamCreate", &cu.stream_create },
        { "cuStreamSynchronize", &cu.stream_synchronize },
        { "cuStreamDestroy_v2", &cu.stream_destroy },
        { "cuStreamBeginCapture_v2", &cu.begin_capture },
        { "cuStreamEndCapture", &cu.end_capture },
        { "cuGraphInstantiateWithFlags", &cu.instantiate },
        { "cuGraphLaunch", &cu.launch },
        { "cuGraphExecDestroy", &cu.exec_destroy },
        { "cuGraphDestroy", &cu.graph_destroy },
        { "cuMemAlloc_v2", &cu.allocate },
        { "cuMemFree_v2", &cu.free },
        { "cuMemHostAlloc", &cu.host_allocate },
        { "cuMemFreeHost", &cu.host_free },
        { "cuMemcpyHtoD_v2", &cu.to_device },
        { "cuMemcpyDtoH_v2", &cu.to_host },
    };
    if (cu.library) return true;
    cu.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cu.library) return false;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(cu.library, symbols[i].name);
        assert_non_null(symbol);
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return cu.init(0) == 0;
}

static spy_device *open_cuda(const spy_cuda_desc *cuda) {
    spy_device_desc d = gpu_desc();
    d.backend = spy_cuda_backend();
    d.backend_desc = cuda;
    return spy_create_device(&d);
}

// The device of a test; skips without one.
#define NEEDS_CUDA(cuda_desc)                                                                                 \
    (void)state;                                                                                              \
    if (gpu_other_backend || !open_driver() || !(gpu_device = open_cuda(cuda_desc))) {                        \
        print_message("no CUDA device: %s\n", gpu_other_backend ? "" : spy_take_error(NULL).message);         \
        skip();                                                                                               \
    }

// The same, but with tests/cuda/compile_only.c the kernels are compiled.
#define NEEDS_KERNELS()                                                                                       \
    (void)state;                                                                                              \
    spy_device_desc desc = gpu_desc();                                                                        \
    if (!gpu_other_backend) desc.backend = spy_cuda_backend();                                                \
    gpu_device = spy_create_device(&desc);                                                                    \
    if (!gpu_device) {                                                                                        \
        print_message("no CUDA device: %s\n", spy_take_error(NULL).message);                                  \
        skip();                                                                                               \
    }

static spy_function *fn(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static const char source[] = "float add(float a, float b) { return a + b; }\n"
                             "float2 twice(float2 v) { return v * 2; }\n"
                             "void poke(int *p) { p[0] = 1; }\n"
                             "struct Small { float v[1500]; }\nstruct Big { float v[12000]; }\n"
                             "float small(Small s, int i) { return s.v[i]; }\n"
                             "float big(Big b, int i) { return b.v[i]; }\n";

static void close_device(void) {
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

// >>bringing one's own

static void test_own_stream(void **state) {
    NEEDS_CUDA(NULL);
    close_device();
    void *context = NULL, *stream = NULL, *other = NULL, *foreign = NULL, *foreign_stream = NULL, *now = NULL;
    int device = 0;
    assert_int_equal(cu.device_get(&device, 0), 0);
    assert_int_equal(cu.retain(&context, device), 0);
    assert_int_equal(cu.create(&foreign, 0, device), 0); // and current
    assert_int_equal(cu.stream_create(&foreign_stream, 0), 0);
    assert_int_equal(cu.set_current(context), 0);
    assert_int_equal(cu.stream_create(&stream, 1), 0);
    assert_int_equal(cu.stream_create(&other, 1), 0);
    spy_cuda_desc own;
    memset(&own, 0, sizeof own);
    own.context = context;
    own.stream = stream;
    gpu_device = MADE(spy_device, open_cuda(&own));
    assert_true(spy_cuda_get_stream(gpu_device) == stream);
    assert_true(spy_cuda_get_context(gpu_device) == context);
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "own", source));
    // Memory of the program's own, off any vector's grid.
    enum { N = 4096 };
    static float data[N + 3], got[N + 3];
    uint64_t memory = 0;
    for (int i = 0; i < N + 3; i++) data[i] = (float)i;
    assert_int_equal(cu.allocate(&memory, sizeof data), 0);
    assert_int_equal(cu.to_device(memory, data, sizeof data), 0);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    spy_tensor *x = MADE(spy_tensor, spy_cuda_create_tensor(gpu_device, memory + 4, N * 4, &d));
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    assert_int_equal(cu.stream_synchronize(stream), 0); // the work is in it
    assert_int_equal(cu.to_host(got, memory, sizeof got), 0);
    for (int i = 0; i < N + 3; i++) assert_true(got[i] == data[i] + (i >= 1 && i <= N ? 1.0f : 0.0f));
    d.shape = SPY_SHAPE(N / 2, 2); // pairs, which are no float2 at 4 bytes
    spy_tensor *pairs = MADE(spy_tensor, spy_cuda_create_tensor(gpu_device, memory + 4, N * 4, &d));
    OK(spy_call(fn(m, "twice"), SPY_ARGS(spy_arg_tensor("v", pairs), spy_arg_tensor("_result", pairs))));
    OK(spy_cuda_set_stream(gpu_device, other)); // behind what the first has to do
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    assert_int_equal(cu.stream_synchronize(other), 0);
    assert_int_equal(cu.to_host(got, memory, sizeof got), 0);
    for (int i = 1; i <= N; i++) assert_true(got[i] == (data[i] + 1) * 2 + 1);
    OK(spy_cuda_set_stream(gpu_device, NULL));
    assert_true(spy_cuda_get_stream(gpu_device) != other && spy_cuda_get_stream(gpu_device) != stream);
    OK(spy_cuda_set_stream(gpu_device, SPY_CUDA_STREAM_LEGACY));
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    OK(spy_wait(gpu_device));
    // What is not the device's.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_cuda_set_stream(gpu_device, foreign_stream), "spy_cuda_set_stream", "another context");
    assert_null(spy_cuda_create_tensor(gpu_device, (uint64_t)(uintptr_t)data, sizeof data, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_cuda_create_tensor", "no memory of CUDA's");
    assert_null(spy_cuda_create_tensor(gpu_device, memory, (size_t)1 << 40, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_cuda_create_tensor", "the allocation has");
    // Another library's context stays current.
    assert_int_equal(cu.set_current(foreign), 0);
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    OK(spy_tensor_read(x, got, N * 4));
    assert_int_equal(cu.get_current(&now), 0);
    assert_true(now == foreign);
    OK(spy_cuda_make_current(gpu_device));
    assert_int_equal(cu.get_current(&now), 0);
    assert_true(now == context);
    close_device();
    cu.free(memory);
    cu.stream_destroy(stream);
    cu.stream_destroy(other);
    cu.destroy(foreign);
    cu.set_current(NULL);
    cu.release(device);
}

// Calls into a stream that the program captures become part of its graph, those of kernels that are launched as graphs of
// their own (src/cuda/repeat.c), too.
static void test_capture(void **state) {
    enum { WARM = 40, CALLS = 5, LAUNCHES = 7 };
    NEEDS_CUDA(NULL);
    close_device();
    void *context = NULL, *stream = NULL, *graph = NULL, *exec = NULL;
    int device = 0;
    assert_int_equal(cu.device_get(&device, 0), 0);
    assert_int_equal(cu.retain(&context, device), 0);
    assert_int_equal(cu.set_current(context), 0);
    assert_int_equal(cu.stream_create(&stream, 1), 0);
    spy_cuda_desc own;
    memset(&own, 0, sizeof own);
    own.context = context;
    own.stream = stream;
    gpu_device = MADE(spy_device, open_cuda(&own));
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "captured", source));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(100);
    spy_tensor *x = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    const spy_args once = SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x));
    float got[100];
    OK(spy_tensor_fill(x, 0));
    for (int i = 0; i < WARM; i++) OK(spy_call(fn(m, "add"), once));
    OK(spy_wait(gpu_device));
    assert_int_equal(cu.begin_capture(stream, 2), 0); // relaxed
    for (int i = 0; i < CALLS; i++) OK(spy_call(fn(m, "add"), once));
    assert_int_equal(cu.end_capture(stream, &graph), 0);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    for (int i = 0; i < LAUNCHES; i++) assert_int_equal(cu.launch(exec, stream), 0);
    OK(spy_call(fn(m, "add"), once));
    OK(spy_tensor_read(x, got, sizeof got));
    for (int i = 0; i < 100; i++) assert_true(got[i] == (float)(WARM + CALLS * LAUNCHES + 1));
    cu.exec_destroy(exec);
    cu.graph_destroy(graph);
    // As torch does it: in another stream, in mode `global`, with work under way before, a kernel that is compiled in the capture,
    // memory that is new in it, and further work before the graph is launched.
    void *other = NULL;
    assert_int_equal(cu.stream_create(&other, 1), 0);
    for (int i = 0; i < CALLS; i++) OK(spy_call(fn(m, "add"), once));
    assert_int_equal(cu.begin_capture(other, 0), 0);
    OK(spy_cuda_set_stream(gpu_device, other));
    OK(spy_call(fn(m, "add"), once));
    spy_module *late = MADE(spy_module, gpu_module(gpu_device, "captured_late", "float late(float a) { return 2 * a; }"));
    spy_tensor *between = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_call(fn(late, "late"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("_result", between))));
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("a", between), spy_arg_f32("b", 3), spy_arg_tensor("_result", x))));
    spy_release_tensor(between);
    assert_int_equal(spy_tensor_read(x, got, sizeof got), SPY_ERROR_UNSUPPORTED);
    assert_non_null(strstr(spy_take_error(gpu_device).message, "being captured"));
    assert_int_equal(cu.end_capture(other, &graph), 0);
    assert_int_equal(cu.instantiate(&exec, graph, 0), 0);
    OK(spy_cuda_set_stream(gpu_device, stream));
    float right = (float)(WARM + CALLS * LAUNCHES + 1 + CALLS);
    for (int k = 0; k < 3; k++) {
        spy_tensor *filled = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)); // not the memory of `between`
        OK(spy_tensor_fill(filled, 0));
        assert_int_equal(cu.launch(exec, stream), 0);
        OK(spy_tensor_read(filled, got, sizeof got));
        for (int i = 0; i < 100; i++) assert_true(got[i] == 0);
        spy_release_tensor(filled);
        right = 2 * (right + 1) + 3;
        OK(spy_tensor_read(x, got, sizeof got));
        for (int i = 0; i < 100; i++) assert_true(got[i] == right);
    }
    cu.exec_destroy(exec);
    cu.graph_destroy(graph);
    close_device();
    cu.stream_destroy(other);
    cu.stream_destroy(stream);
    cu.set_current(NULL);
    cu.release(device);
}

// Two devices in one process; what is one's is no other's.
static void test_two_devices(void **state) {
    NEEDS_CUDA(NULL);
    spy_device_info infos[8];
    if (spy_enumerate_adapters(spy_cuda_backend(), infos, 8) < 2) {
        print_message("one CUDA device alone\n");
        close_device();
        skip();
    }
    spy_device_desc desc = gpu_desc();
    desc.backend = spy_cuda_backend();
    desc.adapter = 2;
    spy_device *second = MADE(spy_device, spy_create_device(&desc)), *both[2] = { gpu_device, second };
    spy_function *add[2];
    spy_tensor *x[2], *out[2];
    float data[2][256], got[256];
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 256; k++) data[i][k] = (float)(k + 1000 * i);
        spy_tensor_desc d;
        memset(&d, 0, sizeof d);
        d.shape = SPY_SHAPE(256);
        d.data = data[i];
        add[i] = fn(MADE(spy_module, gpu_module(both[i], "two", source)), "add");
        x[i] = MADE(spy_tensor, spy_create_tensor(both[i], &d));
        d.data = NULL;
        out[i] = MADE(spy_tensor, spy_create_tensor(both[i], &d));
    }
    for (int n = 0; n < 100; n++)
        for (int i = 0; i < 2; i++)
            OK(spy_call(add[i], SPY_ARGS(spy_arg_tensor("a", x[i]), spy_arg_f32("b", (float)n), spy_arg_tensor("_result", out[i]))));
    for (int i = 0; i < 2; i++) {
        OK(spy_tensor_read(out[i], got, sizeof got));
        for (int k = 0; k < 256; k++) assert_true(got[k] == data[i][k] + 99);
    }
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(256);
    assert_null(spy_cuda_create_tensor(gpu_device, spy_tensor_address(x[1]), sizeof got, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_cuda_create_tensor", "memory of device 2");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_cuda_set_stream(gpu_device, spy_cuda_get_stream(second)), "spy_cuda_set_stream", "another context");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(add[0], SPY_ARGS(spy_arg_tensor("a", x[1]), spy_arg_f32("b", 1), spy_arg_tensor("_result", out[0]))),
          "add", "another device");
    spy_release_device(second);
    OK(spy_call(add[0], SPY_ARGS(spy_arg_tensor("a", x[0]), spy_arg_f32("b", 1), spy_arg_tensor("_result", out[0]))));
    OK(spy_wait(gpu_device));
    close_device();
}

static void test_adapters(void **state) {
    NEEDS_CUDA(NULL);
    spy_device_info info = spy_get_device_info(gpu_device), list[8];
    size_t n = spy_enumerate_adapters(spy_cuda_backend(), list, 8);
    assert_true(n >= 1);
    assert_string_equal(list[0].backend, "cuda");
    assert_true(info.memory_bytes > 0 && info.subgroup_size == 32 && info.max_group_size >= 1024);
    close_device();
    spy_device_desc d = gpu_desc();
    d.backend = spy_cuda_backend();
    d.adapter = (uint32_t)n + 1;
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_NO_DEVICE, "desc.adapter", "CUDA devices");
}

// >>faults: in a process of its own

static int child_fault(void) {
    if (!open_driver() || !(gpu_device = open_cuda(NULL))) return 77;
    spy_module *m = gpu_module(gpu_device, "faults", source);
    spy_function *poke = m ? spy_find_function(m, "poke") : NULL;
    if (!poke) return 1;
    spy_call(poke, SPY_ARGS(spy_arg_u64("p", 64)));
    spy_status status = spy_wait(gpu_device);
    spy_error e = spy_take_error(gpu_device);
    printf("%s\n", e.message);
    int wrong = status != SPY_ERROR_DEVICE_LOST || !strstr(e.message, "spy_wait") || !strstr(e.message, "poke") || !strstr(e.message, "lost");
    wrong += spy_call(poke, SPY_ARGS(spy_arg_u64("p", 64))) != SPY_ERROR_DEVICE_LOST;
    // Nothing of CUDA works in this process any more, whatever context it is tried in, and that is said.
    spy_release_device(gpu_device);
    gpu_device = open_cuda(NULL);
    wrong += gpu_device != NULL || !strstr(spy_take_error(NULL).message, "this process");
    return wrong;
}

static void test_fault(void **state) {
    NEEDS_CUDA(NULL);
    close_device();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "fault", (char *)NULL);
        _exit(127);
    }
    int result = -1;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    // A new device works, in another process.
    NEEDS_CUDA(NULL);
    float sum = 0;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "again", source));
    OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2), spy_out_f32("_result", &sum))));
    assert_true(sum == 3);
    close_device();
}

// >>memory

static void test_out_of_memory(void **state) {
    NEEDS_CUDA(NULL);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    uint64_t all = spy_get_device_info(gpu_device).memory_bytes;
    d.dtype = SPY_DTYPE_UINT8;
    // Cached blocks go before it fails.
    d.shape = SPY_SHAPE((int64_t)(all / 10 * 6));
    spy_tensor *most = spy_create_tensor(gpu_device, &d);
    if (most) { // nobody else has it
        spy_release_tensor(most);
        d.shape = SPY_SHAPE((int64_t)(all / 10 * 7));
        most = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
        spy_release_tensor(most);
    } else {
        (void)spy_take_error(gpu_device);
    }
    d.shape = SPY_SHAPE((int64_t)(2 * all));
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "were asked for", "are free", "are in use");
    d.shape = SPY_SHAPE(1000);
    spy_release_tensor(MADE(spy_tensor, spy_create_tensor(gpu_device, &d)));
    close_device();
}

static void test_blocks(void **state) {
    NEEDS_CUDA(NULL);
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "blocks", source));
    static float values[12000];
    int32_t index[100];
    float got[100];
    for (int round = 0; round < 300; round++) { // more than a batch, and pages come back
        bool big = round % 2;
        int size = big ? 12000 : 1500;
        for (int i = 0; i < size; i++) values[i] = (float)(i * 3 + round);
        for (int i = 0; i < 100; i++) index[i] = (i * 7919 + round) % size;
        OK(spy_call(fn(m, big ? "big" : "small"), SPY_ARGS(spy_arg_data(NULL, values, (size_t)size * 4), spy_arg_array("i", index, SPY_SHAPE(100), SPY_DTYPE_INT32),
                                                           spy_out_array("_result", got, SPY_SHAPE(100), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 100; i++) assert_true(got[i] == values[index[i]]);
    }
    close_device();
}

static void test_transfers(void **state) {
    NEEDS_CUDA(NULL);
    static const size_t sizes[] = { 1, 3, 4096, 65536, 65537, 1 << 20, (16 << 20) - 1, (16 << 20) + 5, 70 << 20 };
    void *pinned = NULL;
    OK(spy_cuda_make_current(gpu_device));
    assert_int_equal(cu.host_allocate(&pinned, 70 << 20, 1), 0);
    uint8_t *plain = (uint8_t *)malloc(70 << 20), *back = (uint8_t *)malloc(70 << 20);
    for (int way = 0; way < 2; way++) {
        uint8_t *from = way ? (uint8_t *)pinned : plain, *to = way ? (uint8_t *)pinned : back;
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            uint32_t x = (uint32_t)(s * 2 + (size_t)way + 1);
            for (size_t i = 0; i < sizes[s]; i++) from[i] = plain[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
            spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE((int64_t)sizes[s]), from));
            memset(from, 1, way ? sizes[s] : 0); // the data may change once the call has returned
            OK(spy_tensor_read(t, to, sizes[s]));
            assert_memory_equal(to, plain, sizes[s]);
            spy_release_tensor(t);
        }
    }
    cu.host_free(pinned);
    free(plain);
    free(back);
    close_device();
}

static void test_times(void **state) {
    NEEDS_CUDA(NULL);
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "times", source));
    spy_tensor *x = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1 << 24), NULL));
    uint64_t ns = 0;
    spy_args args = SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x));
    OK(spy_call(fn(m, "add"), args));
    OK(spy_time_call(fn(m, "add"), args, NULL, &ns));
    assert_true(ns > 5000 && ns < 100000000); // 128 MB
    spy_calibration a, b;
    OK(spy_get_calibration(gpu_device, &a));
    usleep(20000);
    OK(spy_get_calibration(gpu_device, &b));
    double gpu = (double)(b.gpu_ns - a.gpu_ns), host = (double)(b.host_ns - a.host_ns);
    // Each calibration is right to within a launch and its wait; a busy machine holds those up.
    print_message("over %.3f ms the two clocks differ by %.3f ms\n", host / 1e6, (gpu - host) / 1e6);
    assert_true(host >= 20e6 && fabs(gpu - host) < 2e6);
    close_device();
}

// >>float_mode and debug_info of modules

static spy_module *optioned(const char *name, spy_float_mode float_mode, spy_debug_info debug_info) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = name;
    d.source = "float fused(float a, float b, float c) { return a * b + c; }\nfloat sine(float x) { return sin(x); }\n"
               "float steps(float x) { float s = 0; for (int i = 0; i < 4; i++) s += x * float(i); return s; }\n";
    d.options.float_mode = float_mode;
    d.options.debug_info = debug_info;
    return MADE(spy_module, spy_load_module(gpu_device, &d));
}

static float one_of(spy_module *m, const char *name, float x) {
    float y = -1;
    OK(spy_call(fn(m, name), SPY_ARGS(spy_arg_f32(NULL, x), spy_out_f32("_result", &y))));
    return y;
}

static void test_options(void **state) {
    NEEDS_KERNELS();
    const float a = 1 + 1 / 4096.0f, c = -(1 + 2 / 4096.0f); // a * a + c is 2^-24, and 0 when a * a is rounded
    float fused[2] = { -1, -1 };
    spy_module *plain = optioned("o_plain", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_DEFAULT);
    spy_module *precise = optioned("o_precise", SPY_FLOAT_MODE_PRECISE, SPY_DEBUG_INFO_DEFAULT);
    spy_module *fast = optioned("o_fast", SPY_FLOAT_MODE_FAST, SPY_DEBUG_INFO_DEFAULT);
    for (int i = 0; i < 2; i++)
        OK(spy_call(fn(i ? precise : plain, "fused"), SPY_ARGS(spy_arg_f32(NULL, a), spy_arg_f32(NULL, a), spy_arg_f32(NULL, c), spy_out_f32("_result", &fused[i]))));
    assert_true(fused[0] == 1 / 16777216.0f);
    assert_true(fused[1] == 0);
    // The fast sine is off by 2^-21 and more where the other is not.
    int differ = 0;
    for (int i = 0; i < 20; i++) {
        float x = 100.0f + 7.3f * (float)i;
        assert_float_equal(one_of(plain, "sine", x), sin((double)x), 1e-6);
        differ += fabs((double)one_of(fast, "sine", x) - sin((double)x)) > 1e-6;
    }
    assert_true(differ > 0);
    // Debug information changes no result; the kernel's lines are those of Slang's sources.
    assert_true(one_of(optioned("o_lines", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_LINES), "steps", 2.5f) == 15);
    assert_true(one_of(optioned("o_debug", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_FULL), "steps", 2.5f) == 15);
    close_device();
}

// >>our prelude's functions, on numbers that no compiler knows beforehand

// C's values of the expressions below.
static double v_add(double x, double y) { return x + y; }
static double v_div(double x, double y) { return x / y; }
static double v_mod(double x, double y) { return fmod(x, y); }
static double v_sin(double x, double y) { (void)y; return sin(x); }
static double v_tan(double x, double y) { (void)y; return tan(x); }
static double v_exp(double x, double y) { (void)y; return exp(x); }
static double v_log2(double x, double y) { (void)y; return log2(x); }
static double v_pow(double x, double y) { return pow(x, y); }
static double v_atan2(double x, double y) { return atan2(x, y); }
static double v_sqrt(double x, double y) { (void)y; return sqrt(x); }
static double v_rsqrt(double x, double y) { (void)y; return 1 / sqrt(x); }
static double v_round(double x, double y) { (void)y; return floor(x * 8 + 0.25); }
static double v_frac(double x, double y) { (void)y; return x - floor(x); }
static double v_min(double x, double y) { return x < y ? x : y; }
static double v_sign(double x, double y) { (void)y; return x > 0 ? 1 : -1; }
static double v_tanh(double x, double y) { return tanh(x - y); }
static double v_fma(double x, double y) { return x * y + x; }
static double v_dot(double x, double y) { return x * y + 2 * x * 3 * y + x; }
static double v_cross(double x, double y) { return x * 3 - 2 * y; }
static double v_det(double x, double y) { return x * 5 - y * 2; }
static double v_mul(double x, double y) { return x * 3 + y * 7; }
static double v_length(double x, double y) { return sqrt(x * x + y * y); }
static double v_lerp(double x, double y) { return x + (y - x) * 0.25; }
static double v_step(double x, double y) { return y >= x ? 1 : 0; }
static double v_bits(double x, double y) { (void)y; return (double)__builtin_popcount((unsigned)(x * 1000)); }
static double v_reverse(double x, double y) {
    unsigned v = (unsigned)(x * 1000), r = 0;
    (void)y;
    for (int i = 0; i < 32; i++) r |= (v >> i & 1u) << (31 - i);
    return (double)(r >> 8);
}
static double v_high(double x, double y) { (void)y; return (double)(31 - __builtin_clz((unsigned)(x * 1000))); }
static double v_low(double x, double y) { (void)y; return (double)__builtin_ctz((unsigned)(x * 1000)); }
static double v_shift(double x, double y) { (void)y; return (double)((-(int)(x * 1000)) >> 3); }
static double v_wave(double x, double y) { (void)x, (void)y; return 32; }
static double v_zero(double x, double y) { (void)x, (void)y; return 0; }

// T is float, half or double; all are right to the type's precision.
static const struct {
    const char *slang;
    double (*value)(double x, double y);
} of_floats[] = {
    { "x + y", v_add },
    { "x / y", v_div },
    { "fmod(x, y)", v_mod },
    { "sin(x)", v_sin },
    { "tan(x)", v_tan },
    { "exp(x)", v_exp },
    { "log2(x)", v_log2 },
    { "pow(x, y)", v_pow },
    { "atan2(x, y)", v_atan2 },
    { "sqrt(x)", v_sqrt },
    { "rsqrt(x)", v_rsqrt },
    { "floor(x * T(8) + T(0.25))", v_round },
    { "frac(x)", v_frac },
    { "min(x, y)", v_min },
    { "T(sign(x))", v_sign },
    { "tanh(x - y)", v_tanh },
    { "fma(x, y, x)", v_fma },
    { "dot(vector<T, 3>(x, x * T(2), x), vector<T, 3>(y, y * T(3), T(1)))", v_dot },
    { "cross(vector<T, 3>(x, T(2), T(1)), vector<T, 3>(y, T(3), T(4))).z", v_cross },
    { "determinant(matrix<T, 2, 2>(x, y, T(2), T(5)))", v_det },
    { "mul(matrix<T, 2, 3>(T(1), T(2), T(1), x, y, T(0)), vector<T, 3>(T(3), T(7), T(1))).y", v_mul },
    { "length(vector<T, 2>(x, y))", v_length },
    { "lerp(x, y, T(0.25))", v_lerp },
    { "step(x, y)", v_step },
    { "any(vector<T, 3>(x) != vector<T, 3>(x)) ? T(1) : T(0)", v_zero },
};

static const struct {
    const char *slang;
    double (*value)(double x, double y);
} of_ints[] = {
    { "float(countbits(uint(x * 1000)))", v_bits },
    { "float(reversebits(uint(x * 1000)) >> 8)", v_reverse },
    { "float(firstbithigh(uint(x * 1000)))", v_high },
    { "float(firstbitlow(uint(x * 1000)))", v_low },
    { "float((-int(x * 1000)) >> 3)", v_shift },
    { "float(WaveGetLaneCount())", v_wave },
};

static void test_functions(void **state) {
    NEEDS_KERNELS();
    enum { FLOATS = sizeof of_floats / sizeof of_floats[0], INTS = sizeof of_ints / sizeof of_ints[0], N = 64 };
    static const char *const types[] = { "float", "half", "double" };
    static const double tolerances[] = { 2e-5, 4e-3, 1e-12 };
    char *text = (char *)malloc(65536);
    size_t used = 0;
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < FLOATS; i++) {
            // T is spelled out: a typealias would be shared by the three.
            used += (size_t)snprintf(text + used, 65536 - used, "namespace n%d_%d { typealias T = %s; T f(T x, T y) { return %s; } }\n"
                                     "float %s_%d(float x, float y) { return float(n%d_%d::f(%s(x), %s(y))); }\n",
                                     t, i, types[t], of_floats[i].slang, types[t], i, t, i, types[t], types[t]);
        }
    for (int i = 0; i < INTS; i++)
        used += (size_t)snprintf(text + used, 65536 - used, "float int_%d(float x, float y) { return %s; }\n", i, of_ints[i].slang);
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "functions", text));
    float x[N], y[N], got[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(1 + i) / 64.0f + 0.25f; // exact in half
        y[i] = (float)(i * 37 % 64) / 64.0f + 0.5f;
    }
    int wrong = 0;
    for (int k = 0; k < 3 * FLOATS + INTS; k++) {
        bool integer = k >= 3 * FLOATS;
        int t = integer ? 0 : k / FLOATS, f = integer ? k - 3 * FLOATS : k % FLOATS;
        char name[64];
        snprintf(name, sizeof name, "%s_%d", integer ? "int" : types[t], f);
        for (int i = 0; i < N; i++) got[i] = -77;
        OK(spy_call(fn(m, name), SPY_ARGS(spy_arg_array("x", x, SPY_SHAPE(N), SPY_DTYPE_FLOAT32), spy_arg_array("y", y, SPY_SHAPE(N), SPY_DTYPE_FLOAT32),
                                          spy_out_array("_result", got, SPY_SHAPE(N), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < N; i++) {
            double e = integer ? of_ints[f].value((double)x[i], (double)y[i]) : of_floats[f].value((double)x[i], (double)y[i]);
            double scale = fabs(e) > 1 ? fabs(e) : 1, limit = integer ? 0 : (t == 2 ? 1e-6 : tolerances[t]) * scale;
            if (fabs((double)got[i] - e) <= limit * 4) continue;
            print_error("%s, %s: x %g, y %g gave %.9g, expected %.9g\n", name, integer ? of_ints[f].slang : of_floats[f].slang,
                        (double)x[i], (double)y[i], (double)got[i], e);
            wrong++;
            break;
        }
    }
    free(text);
    assert_int_equal(wrong, 0);
    close_device();
}

// Whole waves, and waves of which some lanes are away.
static void test_waves(void **state) {
    NEEDS_KERNELS();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "waves",
        "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
        "void waves(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<float> f, uniform RWStructuredBuffer<uint> u) {\n"
        "    uint i = t.x; float x = float(i % 7) + 1;\n"
        "    f[i * 8 + 0] = WaveActiveSum(x); f[i * 8 + 1] = WavePrefixSum(x); f[i * 8 + 2] = WaveActiveMin(x);\n"
        "    f[i * 8 + 3] = WaveActiveMax(x); f[i * 8 + 4] = WaveReadLaneFirst(x); f[i * 8 + 5] = -1; f[i * 8 + 6] = -1; f[i * 8 + 7] = -1;\n"
        "    if (i % 3 == 0) { f[i * 8 + 5] = WaveActiveSum(x); f[i * 8 + 6] = WavePrefixSum(x); f[i * 8 + 7] = WaveActiveMax(float2(x, -x)).y; }\n"
        "    u[i * 4 + 0] = WaveActiveCountBits(i % 3 == 0); u[i * 4 + 1] = WaveGetLaneIndex();\n"
        "    u[i * 4 + 2] = WaveActiveBitOr(1u << (i % 32)); u[i * 4 + 3] = WaveActiveBallot(i % 3 == 0).x;\n"
        "}\n"));
    enum { N = 256 };
    static float f[N * 8];
    static uint32_t u[N * 4];
    spy_tensor *tf = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N * 8), NULL));
    spy_tensor *tu =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(N * 4), NULL));
    spy_uint3 threads = { N, 1, 1 };
    OK(spy_dispatch(fn(m, "waves"), threads, SPY_ARGS(spy_arg_tensor("f", tf), spy_arg_tensor("u", tu)), NULL));
    OK(spy_tensor_read(tf, f, sizeof f));
    OK(spy_tensor_read(tu, u, sizeof u));
    for (int i = 0; i < N; i++) {
        int first = i / 32 * 32;
        float sum = 0, prefix = 0, low = 100, high = 0, third = 0, third_prefix = 0, third_low = 100;
        uint32_t bits = 0, ballot = 0;
        for (int k = first; k < first + 32; k++) {
            float x = (float)(k % 7) + 1;
            sum += x;
            if (k < i) prefix += x;
            if (x < low) low = x;
            if (x > high) high = x;
            if (k % 3 == 0) {
                third += x;
                if (k < i) third_prefix += x;
                if (x < third_low) third_low = x;
                bits++;
                ballot |= 1u << (k - first);
            }
        }
        assert_true(f[i * 8] == sum && f[i * 8 + 1] == prefix && f[i * 8 + 2] == low && f[i * 8 + 3] == high && f[i * 8 + 4] == (float)(first % 7) + 1);
        if (i % 3 == 0) assert_true(f[i * 8 + 5] == third && f[i * 8 + 6] == third_prefix && f[i * 8 + 7] == -third_low);
        assert_true(u[i * 4] == bits && u[i * 4 + 1] == (uint32_t)(i - first) && u[i * 4 + 2] == 0xffffffffu && u[i * 4 + 3] == ballot);
    }
    close_device();
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "fault") == 0) return child_fault();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapters), cmocka_unit_test(test_own_stream), cmocka_unit_test(test_capture),
        cmocka_unit_test(test_two_devices), cmocka_unit_test(test_fault), cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_transfers), cmocka_unit_test(test_times), cmocka_unit_test(test_options), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
