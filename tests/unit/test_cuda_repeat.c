// Kernels that come back are launched as graphs of one node (cuda/repeat.c), on a driver without a GPU (fake_cuda/). Each
// call is made on two devices, one of which launches plainly: what reaches a kernel must be the same, and must be what was
// passed.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#endif
#include "chance.h"
#include "fake_cuda/fake_device.h"

static const char source[] = "import slangpy;\n"
                             "uint step(uint x, uint a, uint b) { return x * a + b; }\n"
                             "float4 wide(float4 x, float4 y, float4 z, uint b) { return x * y + z * float(b); }\n"
                             "[Differentiable] float times(float x, float w) { return x * w; }\n"
                             "struct Large { uint v[1100]; }\n"
                             "uint large(Large l, uint x) { return l.v[99] * x; }\n"
                             "struct Middle { uint v[200]; }\n"
                             "uint middle(Middle m, uint x) { return m.v[99] * x; }\n"
                             "[CudaKernel] void mix(TensorView<float> x, DiffTensorView y, float s, int n)\n"
                             "{ uint i = cudaThreadIdx().x; y.primal[i] = s * x[i] + n; }\n"
                             "void put(uint3 dispatchThreadID, RWTensor<float, 1> t, float v) { t[dispatchThreadID.x] = v; }\n";

typedef struct side {
    spy_device *device;
    spy_module *module;
} side;

static const char *path;
static fake_cuda *fake;
static side sides[2]; // 0: plain launches

// >>what a kernel got

typedef struct seen {
    unsigned grid[3];
    size_t size;
    uint8_t params[8192];
} seen;
static seen last;
static uint64_t kernels;

static void on_kernel(const fake_function *function, const unsigned grid[3], void *const *params, void *user) {
    (void)user;
    kernels++;
    last.size = 0;
    memcpy(last.grid, grid, sizeof last.grid);
    for (uint32_t i = 0; i < function->param_count; i++) {
        assert_true(last.size + function->sizes[i] <= sizeof last.params);
        memcpy(last.params + last.size, params[i], function->sizes[i]);
        last.size += function->sizes[i];
    }
}
static bool got(const void *what, size_t size) {
    return memmem(last.params, last.size, what, size) != NULL;
}

// >>devices

static void open_sides(bool given_stream) {
    for (int i = 0; i < 2; i++) {
        spy_cuda_desc cuda;
        spy_device_desc d;
        spy_module_desc m;
        memset(&cuda, 0, sizeof cuda);
        memset(&d, 0, sizeof d);
        memset(&m, 0, sizeof m);
        cuda.driver_library = path;
        cuda.direct_launches = i == 0;
        cuda.stream = given_stream ? SPY_CUDA_STREAM_LEGACY : NULL;
        d.backend = spy_cuda_backend();
        d.backend_desc = &cuda;
        sides[i].device = spy_create_device(&d);
        if (!sides[i].device) fail_msg("%s", spy_take_error(NULL).message);
        m.name = "repeat";
        m.source = source;
        sides[i].module = spy_load_module(sides[i].device, &m);
        if (!sides[i].module) fail_msg("%s", spy_take_error(sides[i].device).message);
    }
    if (!fake) fake = fake_cuda_state_at(path);
    assert_non_null(fake);
    fake->on_kernel = on_kernel;
    fake->launches = fake->graph_launches = fake->changes = 0;
}

static void close_sides(void) {
    for (int i = 0; i < 2; i++) spy_release_device(sides[i].device);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->execs, 0);
    assert_int_equal(fake->allocations, 0);
    assert_int_equal(fake->modules, 0);
    assert_null(fake->fail);
}

#define OK(device, expression) fake_good((device), (expression), __LINE__)

static spy_tensor *make(int s, int64_t count, const char *type) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.type = type;
    spy_tensor *t = spy_create_tensor(sides[s].device, &d);
    assert_non_null(t);
    return t;
}

static spy_status call_step(int s, spy_tensor *x, uint32_t a, uint32_t b, spy_tensor *out) {
    return spy_call(spy_find_function(sides[s].module, "step"),
                    SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("a", a), spy_arg_u32("b", b),
                             spy_arg_tensor("_result", out)));
}

// >>calls at random

enum { SIZES = 4, TENSORS = 5 };

static void test_random_calls(void **state) {
    static const int64_t sizes[SIZES] = { 8, 1000, 1024, 100000 };
    spy_tensor *t[2][SIZES][TENSORS], *wide[2][TENSORS];
    (void)state;
    seed();
    open_sides(false);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < TENSORS; k++) {
            for (int n = 0; n < SIZES; n++) t[i][n][k] = make(i, sizes[n], "uint");
            wide[i][k] = make(i, 64, "float4");
        }
    const size_t count = test_count(20000);
    int n = 0, x = 0, out = 1;
    uint32_t a = 1, b = 2;
    for (size_t c = 0; c < count; c++) {
        seen plain;
        const bool is_wide = below(8) == 0;
        if (below(3) == 0) n = (int)below(SIZES);
        if (below(3) == 0) x = (int)below(TENSORS), out = (x + 1 + (int)below(TENSORS - 1)) % TENSORS;
        if (below(3) == 0) a = below(1u << 31) | 1u << 31, b = below(1u << 31) | 1u << 31;
        for (int i = 0; i < 2; i++) {
            spy_tensor *in = is_wide ? wide[i][x] : t[i][n][x], *to = is_wide ? wide[i][out] : t[i][n][out];
            const uint64_t addresses[2] = { spy_tensor_address(in), spy_tensor_address(to) }, before = kernels;
            if (is_wide)
                OK(sides[i].device, spy_call(spy_find_function(sides[i].module, "wide"),
                                             SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("y", in), spy_arg_tensor("z", in),
                                                      spy_arg_u32("b", b), spy_arg_tensor("_result", to))));
            else OK(sides[i].device, call_step(i, in, a, b, to));
            assert_int_equal(kernels, before + 1);
            assert_true(got(&addresses[0], 8) && got(&addresses[1], 8) && got(&b, 4) && (is_wide || got(&a, 4)));
            if (i == 0) plain = last;
            else assert_memory_equal(plain.grid, last.grid, sizeof last.grid);
        }
        assert_int_equal(plain.size, last.size);
    }
    print_message("%u calls: %u launches, %u as graphs, %u changed\n", (unsigned)count, (unsigned)fake->launches,
                  (unsigned)fake->graph_launches, (unsigned)fake->changes);
    assert_true(fake->launches < count + count / 2); // the other device has left it
    assert_true(fake->changes < fake->graph_launches);
    close_sides();
}

// Dispatches at random, of which many have the arguments of one before. Tensors come and go, at the addresses of others.
static void test_random_dispatches(void **state) {
    enum { T = 4 };
    spy_tensor *t[T] = { NULL };
    const size_t count = test_count(10000);
    int x = 0, y = 1, kept = 0;
    float number = 1.5f;
    int32_t n = 3;
    spy_uint3 threads = { 64, 1, 1 };
    spy_call_options o;
    (void)state;
    seed();
    open_sides(false);
    spy_device *device = sides[1].device;
    memset(&o, 0, sizeof o);
    for (size_t c = 0; c < count; c++) {
        const bool grouped = below(4) != 0;
        if (below(8) == 0) x = (int)below(T), y = (x + 1 + (int)below(T - 1)) % T;
        if (below(8) == 0) number = (float)below(1000) + 0.25f;
        if (below(8) == 0) n = (int32_t)below(1u << 30);
        if (below(8) == 0) threads.x = 1 + below(1000);
        o.thread_group_size[0] = below(16) == 0 ? 64 : 32;
        o.thread_group_size[1] = o.thread_group_size[2] = 1;
        for (int i = 0; i < T; i++) {
            if (t[i] && below(40) != 0) continue;
            spy_tensor_desc d;
            if (t[i]) spy_release_tensor(t[i]);
            memset(&d, 0, sizeof d);
            d.shape = SPY_SHAPE(20 + (int64_t)below(4));
            d.with_grad = below(2) == 0;
            t[i] = spy_create_tensor(device, &d);
            assert_non_null(t[i]);
        }
        spy_tensor *grad = spy_tensor_grad(t[y]);
        const uint64_t at[3] = { spy_tensor_address(t[x]), spy_tensor_address(t[y]), grad ? spy_tensor_address(grad) : 0 };
        const uint32_t sizes[2] = { (uint32_t)spy_get_tensor_info(t[x]).shape.dims[0], (uint32_t)spy_get_tensor_info(t[y]).shape.dims[0] };
        const uint64_t before = kernels;
        const uint32_t group = grouped ? o.thread_group_size[0] : 32;
        if (below(3) != 0) {
            const spy_arg s = spy_arg_f32("s", number), given = spy_arg_i32("n", n);
            OK(device, spy_dispatch(spy_find_function(sides[1].module, "mix"), threads, SPY_ARGS(spy_arg_tensor("x", t[x]), spy_arg_tensor("y", t[y]), s, given), grouped ? &o : NULL));
            for (int k = 0; k < 3; k++) assert_true(got(&at[k], 8));
            assert_true(got(&sizes[0], 4) && got(&sizes[1], 4));
            const uint8_t *x_at = memmem(last.params, last.size, &at[0], 8), *y_at = memmem(last.params, last.size, &at[1], 8);
            assert_true(x_at < y_at); // they are not exchanged
            assert_memory_equal(x_at + 28, &sizes[0], 4);
            assert_memory_equal(y_at + 28, &sizes[1], 4);
            assert_true(got(&number, 4) && got(&n, 4));
            if (grouped) assert_int_equal(last.grid[0], (threads.x + group - 1) / group);
        } else {
            OK(device, spy_dispatch(spy_find_function(sides[1].module, "put"), threads, SPY_ARGS(spy_arg_tensor("t", t[x]), spy_arg_f32("v", number)), &o));
            assert_true(got(&at[0], 8) && got(&number, 4) && got(&threads.x, 4));
            assert_int_equal(last.grid[0], (threads.x + o.thread_group_size[0] - 1) / o.thread_group_size[0]);
        }
        assert_int_equal(kernels, before + 1);
        kept++;
    }
    // What goes into a list changes the parameters that the plan has at hand.
    spy_command_list *list = spy_create_command_list(device, NULL);
    const uint64_t first_at = spy_tensor_address(t[0]);
    for (int i = 0; i < 3; i++) {
        OK(device, spy_dispatch(spy_find_function(sides[1].module, "put"), threads, SPY_ARGS(spy_arg_tensor("t", t[0]), spy_arg_f32("v", 1)), &o));
        assert_true(got(&first_at, 8));
        o.append_to = list;
        OK(device, spy_dispatch(spy_find_function(sides[1].module, "put"), threads, SPY_ARGS(spy_arg_tensor("t", t[1]), spy_arg_f32("v", 1)), &o));
        o.append_to = NULL;
    }
    spy_release_command_list(list);
    print_message("%d dispatches: %u launches, %u as graphs, %u changed\n", kept, (unsigned)fake->launches, (unsigned)fake->graph_launches, (unsigned)fake->changes);
    close_sides();
}

// >>what is launched how

static void test_counts(void **state) {
    (void)state;
    open_sides(false);
    spy_tensor *x = make(1, 64, "uint"), *out = make(1, 64, "uint");
    for (uint32_t i = 0; i < 100; i++) OK(sides[1].device, call_step(1, x, 5, 6, out));
    assert_int_equal(fake->launches, 15);
    assert_int_equal(fake->graph_launches, 85);
    assert_int_equal(fake->changes, 0); // nothing differed
    for (uint32_t i = 0; i < 10; i++) OK(sides[1].device, call_step(1, x, 5, i, out));
    assert_int_equal(fake->changes, 10);
    assert_int_equal(fake->launches, 15);
    // Many parameters go by a launch, as they always did.
    static uint32_t numbers[1100];
    for (uint32_t i = 0; i < 40; i++)
        OK(sides[1].device, spy_call(spy_find_function(sides[1].module, "large"),
                                     SPY_ARGS(spy_arg_data("l", numbers, sizeof numbers), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    assert_int_equal(fake->launches, 55);
    // Structs, and what slang-torch's kernels take: 800 bytes of which one changes.
    fake->launches = fake->graph_launches = fake->changes = 0;
    for (uint32_t i = 0; i < 40; i++) {
        numbers[199] = i / 2;
        OK(sides[1].device, spy_call(spy_find_function(sides[1].module, "middle"),
                                     SPY_ARGS(spy_arg_data("m", numbers, 800), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
        assert_true(got(numbers, 800));
    }
    assert_int_equal(fake->launches, 15);
    assert_int_equal(fake->graph_launches, 25);
    assert_int_equal(fake->changes, 12);
    // The plain device.
    fake->launches = fake->graph_launches = 0;
    x = make(0, 64, "uint"), out = make(0, 64, "uint");
    for (uint32_t i = 0; i < 100; i++) OK(sides[0].device, call_step(0, x, 5, 6, out));
    assert_int_equal(fake->launches, 100);
    assert_int_equal(fake->graph_launches, 0);
    close_sides();
    // Who debugs launch by launch has launches.
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    open_sides(false);
    unsetenv("CUDA_LAUNCH_BLOCKING");
    x = make(1, 64, "uint"), out = make(1, 64, "uint");
    for (uint32_t i = 0; i < 100; i++) OK(sides[1].device, call_step(1, x, 5, 6, out));
    assert_int_equal(fake->graph_launches, 0);
    close_sides();
}

// A stream of the program's that it captures gets launches; when it is over, graphs again.
static void test_captured(void **state) {
    (void)state;
    open_sides(true);
    spy_tensor *x = make(1, 64, "uint"), *out = make(1, 64, "uint");
    fake->capturing = 1;
    for (uint32_t i = 0; i < 40; i++) OK(sides[1].device, call_step(1, x, 5, i, out));
    assert_int_equal(fake->launches, 40);
    fake->capturing = 0;
    for (uint32_t i = 0; i < 40; i++) OK(sides[1].device, call_step(1, x, 5, i, out));
    assert_int_equal(fake->launches, 40);
    assert_int_equal(fake->graph_launches, 40);
    fake->capturing = 1;
    for (uint32_t i = 0; i < 40; i++) OK(sides[1].device, call_step(1, x, 5, i, out));
    assert_int_equal(fake->launches, 80);
    fake->capturing = 0;
    fake->fail = "cuStreamIsCapturing"; // another stream is captured, and this is the legacy one
    fake->fail_result = 906;
    OK(sides[1].device, call_step(1, x, 5, 6, out));
    assert_int_equal(fake->launches, 81);
    close_sides();
}

// >>calls of several dispatches

static spy_tensor *make_graded(int s, spy_shape shape) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.with_grad = true;
    spy_tensor *t = spy_create_tensor(sides[s].device, &d);
    assert_non_null(t);
    return t;
}

static spy_status call_times(int s, spy_tensor *x, spy_tensor *w, spy_tensor *result, bool deterministic) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = deterministic;
    return spy_call_with(spy_find_function(sides[s].module, "times"),
                         SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", result)), &o);
}

// From the fourth repetition on they are one graph, which is told of what differs.
static void test_several(void **state) {
    (void)state;
    open_sides(false);
    spy_device *device = sides[1].device;
    spy_tensor *rows[2], *column = make_graded(1, SPY_SHAPE(16, 1)), *table = make_graded(1, SPY_SHAPE(16, 16));
    for (int i = 0; i < 2; i++) rows[i] = make_graded(1, SPY_SHAPE(1, 16));
    kernels = 0;
    for (uint32_t i = 0; i < 100; i++) OK(device, call_times(1, rows[0], column, table, false));
    assert_int_equal(kernels, 200);
    assert_int_equal(fake->launches, 8);
    assert_int_equal(fake->graph_launches, 96);
    assert_int_equal(fake->changes, 0);
    for (uint32_t i = 0; i < 10; i++) {
        const uint64_t address = spy_tensor_address(rows[(i + 1) % 2]);
        OK(device, call_times(1, rows[(i + 1) % 2], column, table, false));
        assert_true(got(&address, 8)); // the second dispatch reads it, too
    }
    assert_int_equal(kernels, 220);
    assert_int_equal(fake->launches, 8);
    assert_int_equal(fake->changes, 20);
    // Sums that a second dispatch finishes lie in memory of the pool, which may be another at each call.
    spy_tensor *x = make_graded(1, SPY_SHAPE(100000)), *one = make_graded(1, SPY_SHAPE(1)), *y = make_graded(1, SPY_SHAPE(100000));
    fake->changes = 0;
    kernels = 0;
    for (uint32_t i = 0; i < 20; i++) OK(device, call_times(1, x, one, y, true));
    assert_int_equal(kernels, 40);
    assert_int_equal(fake->changes, 0);
    spy_tensor *other = make(1, 16, "float"); // perhaps of the size that the sums have
    for (uint32_t i = 0; i < 20; i++) OK(device, call_times(1, x, one, y, true));
    assert_int_equal(kernels, 80);
    spy_release_tensor(other);
    // Into a captured stream, and where launches are wanted, go launches.
    fake->launches = 0;
    spy_tensor *row = make_graded(0, SPY_SHAPE(1, 16)), *w = make_graded(0, SPY_SHAPE(16, 1)), *r = make_graded(0, SPY_SHAPE(16, 16));
    for (uint32_t i = 0; i < 20; i++) OK(sides[0].device, call_times(0, row, w, r, false));
    assert_int_equal(fake->launches, 40);
    close_sides();
    open_sides(true);
    row = make_graded(1, SPY_SHAPE(1, 16)), w = make_graded(1, SPY_SHAPE(16, 1)), r = make_graded(1, SPY_SHAPE(16, 16));
    for (uint32_t i = 0; i < 40; i++) OK(sides[1].device, call_times(1, row, w, r, false));
    fake->launches = fake->graph_launches = 0;
    fake->capturing = 1;
    for (uint32_t i = 0; i < 10; i++) OK(sides[1].device, call_times(1, row, w, r, false));
    fake->capturing = 0;
    assert_int_equal(fake->launches, 20);
    assert_int_equal(fake->graph_launches, 0);
    close_sides();
}

// More calls than may have a graph: the rest go one by one, until a graph is given up.
static void test_many_several(void **state) {
    enum { CALLS = 70, MOST = 64 };
    static spy_module *modules[CALLS];
    spy_call_options o;
    char text[160], name[32];
    (void)state;
    open_sides(false);
    spy_device *device = sides[1].device;
    spy_tensor *x = make_graded(1, SPY_SHAPE(1, 16)), *w = make_graded(1, SPY_SHAPE(16, 1)), *r = make_graded(1, SPY_SHAPE(16, 16));
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r));
    for (uint32_t k = 0; k < CALLS; k++) {
        spy_module_desc m;
        memset(&m, 0, sizeof m);
        (void)snprintf(name, sizeof name, "several_%u", k);
        (void)snprintf(text, sizeof text, "[Differentiable] float f(float x, float w) { return x * w * %u.0; }\n", k);
        m.name = name;
        m.source = text;
        modules[k] = spy_load_module(device, &m);
        assert_non_null(modules[k]);
        for (uint32_t i = 0; i < 6; i++) OK(device, spy_call_with(spy_find_function(modules[k], "f"), args, &o));
        assert_int_equal(fake->execs, k < MOST ? k + 1 : MOST);
    }
    OK(device, spy_wait(device));
    for (uint32_t k = 0; k < 3; k++) spy_release_module(modules[k]);
    for (uint32_t i = 0; i < 3; i++) OK(device, spy_call_with(spy_find_function(modules[CALLS - 1], "f"), args, &o));
    OK(device, spy_wait(device));
    for (uint32_t i = 0; i < 3; i++) OK(device, spy_call_with(spy_find_function(modules[CALLS - 1], "f"), args, &o));
    assert_int_equal(fake->execs, MOST - 2);
    close_sides();
}

// What the driver refuses is done without a graph.
static void test_several_failures(void **state) {
    static const char *const calls[] = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags" };
    (void)state;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        open_sides(false);
        spy_tensor *x = make_graded(1, SPY_SHAPE(1, 16)), *w = make_graded(1, SPY_SHAPE(16, 1)), *r = make_graded(1, SPY_SHAPE(16, 16));
        for (uint32_t i = 0; i < 4; i++) OK(sides[1].device, call_times(1, x, w, r, false));
        kernels = 0;
        fake->fail = calls[k];
        fake->fail_result = 2;
        OK(sides[1].device, call_times(1, x, w, r, false));
        assert_null(fake->fail); // it was asked for
        for (uint32_t i = 0; i < 9; i++) OK(sides[1].device, call_times(1, x, w, r, false));
        assert_int_equal(kernels, 20);
        assert_int_equal(fake->graph_launches, 0);
        close_sides();
    }
    open_sides(false);
    spy_tensor *x[2], *w = make_graded(1, SPY_SHAPE(16, 1)), *r = make_graded(1, SPY_SHAPE(16, 16));
    for (int i = 0; i < 2; i++) x[i] = make_graded(1, SPY_SHAPE(1, 16));
    for (uint32_t i = 0; i < 10; i++) OK(sides[1].device, call_times(1, x[0], w, r, false));
    fake->fail = "cuGraphExecKernelNodeSetParams";
    fake->fail_result = 2;
    assert_int_not_equal(call_times(1, x[1], w, r, false), SPY_OK);
    spy_error e = spy_take_error(sides[1].device);
    assert_non_null(strstr(e.message, "times"));
    kernels = 0;
    for (uint32_t i = 0; i < 10; i++) OK(sides[1].device, call_times(1, x[i % 2], w, r, false));
    assert_int_equal(kernels, 20);
    close_sides();
}

// More kernels than may have a graph: all run, and those that are old give theirs up.
static void test_many_kernels(void **state) {
    enum { KERNELS = 70, MOST = 64 };
    static spy_module *modules[KERNELS];
    static spy_function *functions[KERNELS];
    char text[128], name[32];
    (void)state;
    open_sides(false);
    spy_tensor *x = make(1, 64, "uint"), *out = make(1, 64, "uint");
    for (uint32_t k = 0; k < KERNELS; k++) {
        spy_module_desc m;
        memset(&m, 0, sizeof m);
        snprintf(name, sizeof name, "many_%u", k);
        snprintf(text, sizeof text, "uint f(uint x, uint b) { return x * %uu + b; }\n", k + 2);
        m.name = name;
        m.source = text;
        modules[k] = spy_load_module(sides[1].device, &m);
        functions[k] = spy_find_function(modules[k], "f");
        assert_non_null(functions[k]);
    }
    for (uint32_t i = 0; i < 20; i++)
        for (uint32_t k = 0; k < KERNELS; k++)
            OK(sides[1].device, spy_call(functions[k], SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("b", i), spy_arg_tensor("_result", out))));
    assert_int_equal(fake->execs, MOST);
    assert_int_equal(fake->launches, 15 * MOST + 20 * (KERNELS - MOST)); // no graph is taken from a kernel that is in use
    fake->launches = 0;
    for (uint32_t i = 0; i < 6000; i++)
        OK(sides[1].device, spy_call(functions[KERNELS - 1], SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("b", i), spy_arg_tensor("_result", out))));
    assert_int_equal(fake->execs, MOST);
    assert_true(fake->launches < 4200); // until the others had become old
    for (uint32_t k = 0; k < KERNELS; k++) spy_release_module(modules[k]);
    close_sides();
}

// >>failures

static void test_failures(void **state) {
    static const char *const making[] = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags" };
    (void)state;
    open_sides(false);
    spy_tensor *x = make(1, 64, "uint"), *out = make(1, 64, "uint");
    for (size_t i = 0; i < 3; i++) { // launched plainly then, and tried again
        fake->fail = making[i];
        fake->fail_result = 2;
        for (uint32_t n = 0; n < 16; n++) OK(sides[1].device, call_step(1, x, 5, n, out));
        assert_null(fake->fail);
        assert_int_equal(fake->execs, 0);
        assert_int_equal(fake->graphs, 0);
    }
    assert_int_equal(fake->launches, 48);
    for (uint32_t n = 0; n < 16; n++) OK(sides[1].device, call_step(1, x, 5, n, out));
    assert_int_equal(fake->execs, 1);
    fake->fail = "cuGraphExecKernelNodeSetParams";
    fake->fail_result = 2;
    const uint32_t number = 0xabcdef01u;
    OK(sides[1].device, call_step(1, x, 5, number, out));
    assert_true(got(&number, 4));
    assert_int_equal(fake->execs, 0);
    for (uint32_t n = 0; n < 32; n++) OK(sides[1].device, call_step(1, x, 5, n, out));
    assert_int_equal(fake->execs, 1);
    fake->fail = "cuGraphLaunch"; // a fault of the launch before
    fake->fail_result = 700;
    assert_int_equal(call_step(1, x, 5, 7, out), SPY_ERROR_DEVICE_LOST);
    const spy_error e = spy_take_error(sides[1].device);
    assert_non_null(strstr(e.message, "cuGraphLaunch"));
    assert_non_null(strstr(e.message, "step"));
    close_sides();
}

int main(int count, char **words) {
    (void)count;
    path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_calls), cmocka_unit_test(test_random_dispatches), cmocka_unit_test(test_counts),  cmocka_unit_test(test_captured), cmocka_unit_test(test_several), cmocka_unit_test(test_several_failures),
        cmocka_unit_test(test_many_kernels), cmocka_unit_test(test_failures),
    };
    const struct CMUnitTest long_tests[] = { cmocka_unit_test(test_many_several) };
    int failed = cmocka_run_group_tests(tests, hold_slang, let_slang_go);
    // NVRTC and libslang need 17 s for so many kernels.
    if (test_count(1000) == 1000) failed += cmocka_run_group_tests(long_tests, hold_slang, let_slang_go);
    return failed;
}
