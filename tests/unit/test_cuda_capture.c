// Streams that the program captures (cuda/capture.c), on a driver without a GPU (fake_cuda/) that captures, and refuses what
// CUDA refuses: a kernel is played when a graph of the program's is launched, with what it was given in the capture.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "hold_slang.h"
#include "fake_cuda/fake_device.h"

static const char source[] = "uint step(uint x, uint a, uint b) { return x * a + b; }\n"
                             "[Differentiable] float times(float x, float w) { return x * w; }\n"
                             "struct Large { uint v[100]; }\n"
                             "uint large(Large l, uint x) { return l.v[99] * x; }\n"
                             "[CudaKernel] void raw(TensorView<float> x, TensorView<float> y)\n"
                             "{ uint i = cudaThreadIdx().x; y[i] = 2 * x[i]; }\n";

enum { GLOBAL }; // CUstreamCaptureMode

static const char *path;
static fake_cuda *fake;
static spy_device *device;
static spy_module *module;

// >>the driver's functions

static int (*begin_capture)(void *stream, int mode), (*end_capture)(void *stream, void **graph), (*instantiate)(void **exec, void *graph, unsigned long long flags),
    (*launch)(void *exec, void *stream), (*destroy_exec)(void *exec), (*destroy_graph)(void *graph), (*create_stream)(void **stream, unsigned flags),
    (*destroy_stream)(void *stream), (*create_event)(void **event, unsigned flags), (*destroy_event)(void *event), (*record)(void *event, void *stream),
    (*wait_event)(void *stream, void *event, unsigned flags), (*is_capturing)(void *stream, int *state);

static void find(void *library, void *function, const char *name) {
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof symbol);
}
static void find_functions(void) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    find(library, &begin_capture, "cuStreamBeginCapture_v2");
    find(library, &end_capture, "cuStreamEndCapture");
    find(library, &instantiate, "cuGraphInstantiateWithFlags");
    find(library, &launch, "cuGraphLaunch");
    find(library, &destroy_exec, "cuGraphExecDestroy");
    find(library, &destroy_graph, "cuGraphDestroy");
    find(library, &create_stream, "cuStreamCreate");
    find(library, &destroy_stream, "cuStreamDestroy_v2");
    find(library, &create_event, "cuEventCreate");
    find(library, &destroy_event, "cuEventDestroy_v2");
    find(library, &record, "cuEventRecord");
    find(library, &wait_event, "cuStreamWaitEvent");
    find(library, &is_capturing, "cuStreamIsCapturing");
    fake = fake_cuda_state_at(path);
    assert_non_null(fake);
}

// A captured graph, ready to be launched.
static void *finish_capture(void *stream) {
    void *graph = NULL, *exec = NULL;
    assert_int_equal(end_capture(stream, &graph), 0);
    assert_int_equal(instantiate(&exec, graph, 0), 0);
    assert_int_equal(destroy_graph(graph), 0);
    return exec;
}

static uint64_t kernels;
static void on_kernel(const fake_function *function, const unsigned grid[3], void *const *params, void *user) {
    (void)function, (void)grid, (void)params, (void)user;
    kernels++;
}

// >>the device

static void *streams[3];
#define OK(expression) fake_good(device, (expression), __LINE__)
#define FAILS(expression, code, word) fake_fails(device, (expression), code, word, "", __LINE__)

static void open_device(void) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_module_desc m;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    cuda.driver_library = path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    if (!fake) find_functions();
    m.name = "capture";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    OK(spy_cuda_make_current(device));
    for (int i = 0; i < 3; i++) assert_int_equal(create_stream(&streams[i], 1), 0);
    fake->on_kernel = on_kernel;
    fake->launches = fake->graph_launches = fake->changes = 0;
    kernels = 0;
}

static void close_device(void) {
    spy_release_device(device);
    for (int i = 0; i < 3; i++) assert_int_equal(destroy_stream(streams[i]), 0);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->execs, 0);
    assert_int_equal(fake->allocations, 0);
    assert_int_equal(fake->modules, 0);
    assert_null(fake->fail);
}

static spy_tensor *make(int64_t count, const char *type, bool graded) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.type = type;
    d.with_grad = graded;
    spy_tensor *t = spy_create_tensor(device, &d);
    assert_non_null(t);
    return t;
}
static spy_status call_step(spy_tensor *x, uint32_t a, spy_tensor *out) {
    return spy_call(spy_find_function(module, "step"),
                    SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("a", a), spy_arg_u32("b", 3), spy_arg_tensor("_result", out)));
}
static spy_status call_large(uint32_t v, spy_tensor *x, spy_tensor *out) {
    uint32_t numbers[100];
    for (int i = 0; i < 100; i++) numbers[i] = v;
    return spy_call(spy_find_function(module, "large"), SPY_ARGS(spy_arg_data("l", numbers, sizeof numbers), spy_arg_tensor("x", x), spy_arg_tensor("_result", out)));
}
static spy_status call_times(spy_tensor *x, spy_tensor *w, spy_tensor *result) { // sums of `w`'s gradient in temporary memory
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = true;
    return spy_call_with(spy_find_function(module, "times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", result)), &o);
}
static spy_status dispatch_raw(spy_tensor *x, spy_tensor *y) {
    spy_call_options o;
    spy_uint3 threads = { 32, 1, 1 };
    memset(&o, 0, sizeof o);
    o.thread_group_size[0] = 32;
    o.thread_group_size[1] = o.thread_group_size[2] = 1;
    return spy_dispatch(spy_find_function(module, "raw"), threads, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y)), &o);
}

// >>tests

// As torch does it: some calls in a side stream, a capture in another one, then calls in a third one beside launches of the graph.
static void test_capture(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) { // with all kernels known before the capture, or none
        open_device();
        spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false), *f = make(32, "float", false), *g = make(32, "float", false);
        spy_tensor *a = make(5000, "float", true), *w = make(1, "float", true), *y = make(5000, "float", true);
        OK(spy_cuda_set_stream(device, streams[0]));
        for (uint32_t i = 0; known && i < 20; i++) {
            OK(call_step(x, 1, out));
            OK(call_large(1, x, out));
            OK(dispatch_raw(f, g));
            OK(call_times(a, w, y));
        }
        if (!known) OK(call_step(x, 1, out));
        assert_int_equal(begin_capture(streams[1], GLOBAL), 0);
        OK(spy_cuda_set_stream(device, streams[1]));
        const uint64_t before = kernels, waits = fake->waits, records = fake->records;
        for (uint32_t i = 0; i < 30; i++) {
            OK(call_step(x, 10 + i, out));
            OK(dispatch_raw(f, g));
            OK(call_times(a, w, y));
            OK(call_large(50 + i, x, out));
        }
        spy_tensor *late = make(32, "uint", false); // of the pool
        OK(call_step(late, 5, late));
        const uint64_t late_at = spy_tensor_address(late);
        spy_release_tensor(late);
        const uint32_t data[32] = { 7 };
        OK(spy_tensor_write(x, data, sizeof data));
        OK(spy_tensor_fill(w, 0));
        assert_int_equal(kernels, before);
        assert_int_equal(fake->waits, waits);
        assert_true(fake->records <= records); // the batch before the capture was marked before
        // What cannot be done says so, and harms nothing.
        uint32_t got[32];
        FAILS(spy_tensor_read(out, got, sizeof got), SPY_ERROR_UNSUPPORTED, "cannot wait for a stream that is being captured");
        FAILS(spy_wait(device), SPY_ERROR_UNSUPPORTED, "cannot wait for a stream that is being captured");
        uint32_t one = 0;
        FAILS(spy_call(spy_find_function(module, "step"), SPY_ARGS(spy_arg_u32("x", 1), spy_arg_u32("a", 1), spy_arg_u32("b", 3), spy_out_u32("_result", &one))),
              SPY_ERROR_UNSUPPORTED, "being captured");
        assert_true(spy_flush(device) > 0);
        void *exec = finish_capture(streams[1]);
        const uint64_t captured = fake->nodes;
        assert_true(captured >= 30 * 5);
        // Further work in another stream, which uses other memory than the graph does.
        OK(spy_cuda_set_stream(device, streams[2]));
        for (uint32_t i = 0; i < 30; i++) {
            OK(call_step(x, 10 + i, out));
            OK(call_large(90, x, out));
            OK(call_times(a, w, y));
            spy_tensor *t = make(32, "uint", false);
            assert_int_not_equal(spy_tensor_address(t), late_at);
            OK(call_step(t, 5, t));
            spy_release_tensor(t);
        }
        OK(spy_wait(device));
        // Modules that are released stay loaded for the graph.
        const int64_t modules = fake->modules;
        spy_release_module(module);
        OK(spy_wait(device));
        assert_true(fake->modules <= modules && fake->modules >= 4);
        for (int k = 0; k < 3; k++) {
            OK(spy_tensor_fill(x, 0));
            const uint64_t now = kernels;
            assert_int_equal(launch(exec, streams[2]), 0);
            assert_true(kernels >= now + 30 * 5);
            OK(spy_tensor_read(x, got, sizeof got));
            assert_int_equal(got[0], 7); // uploaded again
        }
        assert_int_equal(destroy_exec(exec), 0);
        close_device();
    }
}

// Each launch of the graph uploads what the capture was given: the device's pages and pinned memory that held it are not used again.
static void test_uploads(void **state) {
    enum { N = 8, LARGE = 100000 };
    static uint32_t data[LARGE], got[LARGE];
    spy_tensor *t[N];
    (void)state;
    open_device();
    for (int i = 0; i < N; i++) t[i] = make(i == 0 ? LARGE : 32, "uint", false);
    OK(spy_cuda_set_stream(device, streams[1]));
    assert_int_equal(begin_capture(streams[1], GLOBAL), 0); // in the stream that the device is in
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = 0; k < LARGE; k++) data[k] = 1000 * i + k;
        OK(spy_tensor_write(t[i], data, i == 0 ? sizeof data : 128));
    }
    void *exec = finish_capture(streams[1]);
    memset(data, 0, sizeof data);
    for (uint32_t i = 0; i < 3000; i++) OK(spy_tensor_write(t[i % N], data, i % N == 0 ? sizeof data : 128));
    OK(spy_wait(device));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(launch(exec, streams[0]), 0);
        for (uint32_t i = 0; i < N; i++) {
            OK(spy_tensor_read(t[i], got, i == 0 ? sizeof got : 128));
            for (uint32_t n = 0; n < (i == 0 ? LARGE : 32u); n++) assert_int_equal(got[n], 1000 * i + n);
        }
    }
    assert_int_equal(destroy_exec(exec), 0);
    close_device();
}

// The capture begins and ends in the stream that the device's work goes to all the time, with work before it.
static void test_same_stream(void **state) {
    (void)state;
    open_device();
    spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false);
    OK(spy_cuda_set_stream(device, streams[0]));
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 40; i++) OK(call_step(x, 1, out));
        assert_int_equal(begin_capture(streams[0], GLOBAL), 0);
        for (uint32_t i = 0; i < 300; i++) OK(call_step(x, 1, out)); // more than a batch has
        // The work before the capture has no mark yet, and cannot get one now.
        FAILS(spy_cuda_set_stream(device, streams[2]), SPY_ERROR_UNSUPPORTED, "spy_flush()");
        assert_int_equal(spy_flush(device), 0);
        fake_fails(device, SPY_ERROR_UNSUPPORTED, SPY_ERROR_UNSUPPORTED, "being captured", "", __LINE__);
        void *exec = finish_capture(streams[0]);
        assert_int_equal(fake->nodes, 300);
        kernels = 0;
        for (uint32_t i = 0; i < 40; i++) OK(call_step(x, 1, out));
        assert_int_equal(kernels, 40);
        OK(spy_wait(device));
        const spy_submit_id id = spy_flush(device);
        assert_true(spy_is_submit_finished(device, id));
        assert_int_equal(launch(exec, streams[0]), 0);
        assert_int_equal(destroy_exec(exec), 0);
    }
    // With its work marked before, the device can leave a captured stream, and come back.
    OK(call_step(x, 1, out));
    assert_true(spy_flush(device) > 0);
    assert_int_equal(begin_capture(streams[0], GLOBAL), 0);
    OK(call_step(x, 1, out));
    OK(spy_cuda_set_stream(device, NULL));
    OK(call_step(x, 1, out));
    OK(spy_wait(device));
    OK(spy_cuda_set_stream(device, streams[0]));
    OK(call_step(x, 1, out));
    void *exec = finish_capture(streams[0]);
    assert_int_equal(fake->nodes, 2);
    assert_int_equal(destroy_exec(exec), 0);
    close_device();
}

// Two streams of one capture, and orders between streams of which one is captured.
static void test_two_streams(void **state) {
    (void)state;
    void *event = NULL;
    open_device();
    spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false), *other = make(32, "uint", false);
    OK(spy_cuda_set_stream(device, streams[0]));
    OK(call_step(x, 1, out));
    assert_int_equal(create_event(&event, 2), 0);
    assert_int_equal(begin_capture(streams[1], GLOBAL), 0);
    OK(spy_cuda_set_stream(device, streams[1]));
    OK(call_step(x, 1, out));
    assert_int_equal(record(event, streams[1]), 0); // the program forks
    assert_int_equal(wait_event(streams[2], event, 0), 0);
    OK(spy_cuda_set_stream(device, streams[2]));
    OK(call_step(x, 1, other));
    OK(spy_cuda_signal_stream(device, streams[1])); // and joins, by our functions
    OK(spy_cuda_set_stream(device, streams[1]));
    OK(call_step(other, 1, out));
    OK(spy_cuda_wait_stream(device, streams[0])); // not captured: the host waits
    FAILS(spy_cuda_signal_stream(device, streams[0]), SPY_ERROR_UNSUPPORTED, "being captured");
    OK(spy_cuda_set_stream(device, NULL));
    OK(call_step(x, 1, out));
    FAILS(spy_cuda_wait_stream(device, streams[1]), SPY_ERROR_UNSUPPORTED, "being captured");
    OK(spy_cuda_signal_stream(device, streams[1]));
    void *exec = finish_capture(streams[1]);
    assert_int_equal(fake->nodes, 3);
    kernels = 0;
    assert_int_equal(launch(exec, streams[0]), 0);
    assert_int_equal(kernels, 3);
    assert_int_equal(destroy_exec(exec), 0);
    assert_int_equal(destroy_event(event), 0);
    OK(spy_wait(device));
    close_device();
}

// While a thread captures, what the device does in its own stream harms that capture as little.
static void test_beside(void **state) {
    (void)state;
    open_device();
    spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false);
    assert_int_equal(begin_capture(streams[1], GLOBAL), 0);
    uint32_t got[32];
    for (uint32_t i = 0; i < 1000; i++) OK(call_step(x, i, out));
    OK(call_large(1, x, out));
    spy_tensor *big = make(1 << 22, "uint", false);
    OK(spy_tensor_fill(big, 0));
    OK(spy_tensor_read(out, got, sizeof got));
    const spy_submit_id id = spy_flush(device);
    (void)spy_is_submit_finished(device, id);
    OK(spy_wait_for_submit(device, id, 1000));
    spy_release_tensor(big);
    OK(spy_trim(device));
    spy_release_device(device);
    int status = 0;
    void *graph = NULL;
    assert_int_equal(is_capturing(streams[1], &status), 0);
    assert_int_equal(status, 1); // not 2, invalid
    assert_int_equal(end_capture(streams[1], &graph), 0);
    assert_int_equal(destroy_graph(graph), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(destroy_stream(streams[i]), 0);
}

// Command lists go into a captured stream operation by operation, whether or not they have a graph.
static void test_list(void **state) {
    (void)state;
    open_device();
    spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false);
    OK(spy_cuda_set_stream(device, streams[0]));
    spy_command_list *list = spy_create_command_list(device, NULL);
    assert_non_null(list);
    for (int i = 0; i < 5; i++)
        OK(spy_list_call(list, spy_find_function(module, "step"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("a", 1), spy_arg_u32("b", 3), spy_arg_tensor("_result", out))));
    OK(spy_list_finish(list));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(begin_capture(streams[0], GLOBAL), 0);
        OK(spy_list_submit(list));
        void *exec = finish_capture(streams[0]);
        assert_int_equal(fake->nodes, 5);
        kernels = 0;
        assert_int_equal(launch(exec, streams[0]), 0);
        assert_int_equal(kernels, 5);
        assert_int_equal(destroy_exec(exec), 0);
        for (int i = 0; i < 3; i++) OK(spy_list_submit(list));
        assert_true(spy_get_list_info(list).graph);
        OK(spy_wait(device));
        assert_true(spy_flush(device) > 0);
    }
    spy_release_command_list(list);
    close_device();
}

// Devices that have their stream to themselves ask the driver nothing; others ask once for each launch.
static void test_costs(void **state) {
    (void)state;
    open_device();
    spy_tensor *x = make(32, "uint", false), *out = make(32, "uint", false);
    spy_tensor *f = make(32, "float", false), *g = make(32, "float", false);
    spy_function *declared = spy_declare(spy_find_function(module, "step"), SPY_ARGS(spy_arg_any("x"), spy_arg_any("a"), spy_arg_any("b"), spy_arg_any("_result")));
    const spy_arg items[] = { spy_arg_tensor("x", x), spy_arg_u32("a", 1), spy_arg_u32("b", 3), spy_arg_tensor("_result", out) };
    const spy_args args = { items, 4 };
    for (int given = 0; given < 2; given++) {
        for (uint32_t i = 0; i < 20; i++) {
            OK(call_step(x, 1, out));
            OK(spy_call(declared, args));
            OK(dispatch_raw(f, g));
        }
        OK(spy_wait(device)); // 180 launches are less than a batch
        const uint64_t asked = fake->asked, records = fake->records, waits = fake->waits + fake->event_waits, launches = fake->launches;
        for (uint32_t i = 0; i < 60; i++) {
            OK(call_step(x, 1, out));
            OK(spy_call(declared, args));
            OK(dispatch_raw(f, g));
        }
        assert_int_equal(fake->asked - asked, given ? 180 : 0);
        assert_int_equal(fake->launches, launches); // all as graphs
        assert_int_equal(fake->records, records);
        assert_int_equal(fake->waits + fake->event_waits, waits);
        OK(spy_cuda_set_stream(device, streams[0]));
    }
    close_device();
}

int main(int count, char **words) {
    (void)count;
    path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture), cmocka_unit_test(test_uploads), cmocka_unit_test(test_same_stream), cmocka_unit_test(test_two_streams),
        cmocka_unit_test(test_beside),  cmocka_unit_test(test_list),       cmocka_unit_test(test_costs),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
