// Views, copies, cursors and printed tensors on a device: kernels see what the views say, and copies, fills and cursors keep
// the order of work. Their rules and errors are tested on the null backend (tests/unit/test_view.c, test_copy.c,
// test_cursor.c, test_print.c); random views come from tests/common/view_model.h.
#include "gpu_test.h"
#include "view_model.h"

spy_device *gpu_device;
static spy_module *module;

static const char source[] = "struct Particle { float3 position; float mass; bool alive; int tags[2]; }\n"
                             "struct Pair { float2 a; float2 b; }\n"
                             "struct Flags { bool a; bool3 b; }\n"
                             "int next(int x) { return x + 1; }\n"
                             "float twice(float x) { return 2 * x; }\n"
                             "float3 index3(int i) { return float3(i, i + 0.25, i + 0.5); }\n"
                             "float sum(Pair p) { return p.a.x + 10 * p.a.y + 100 * p.b.x + 1000 * p.b.y; }\n"
                             "Flags flip(Flags f) { return { !f.a, !f.b }; }\n"
                             "bool nor(bool a) { return !a; }\n"
                             "void move(inout Particle p, float3 by) { p.position += by; p.mass *= 2; p.alive = !p.alive; p.tags[1] = p.tags[0] + 1; }\n"
                             "float at(uint64_t address, int i) { return ((float *)address)[i]; }\n"
                             "float long_sum(float x) { for (int i = 0; i < 20000; i++) x += sin(x); return x; }\n";

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }
static spy_tensor *typed(const char *type, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, module, shape, data));
}

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0; // each test then says "skipped"
    module = gpu_module(gpu_device, "views", source);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

static uint64_t seed(void) {
    const char *text = getenv("SPY_TEST_SEED");
    uint64_t s = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    print_message("SPY_TEST_SEED=%llu\n", (unsigned long long)s);
    return s * 1000003;
}

// A kernel reads one random view and writes another of the same shape.
static void check_kernel(void) {
    static model in, out;
    static int32_t data[MODEL_MOST], got[MODEL_MOST];
    spy_shape shape = model_random_shape(500);
    int64_t n = model_count(&shape);
    for (int64_t i = 0; i < n; i++) data[i] = (int32_t)model_random(1u << 30);
    spy_tensor *base = model_tensor(gpu_device, SPY_DTYPE_INT32, shape, data), *made = NULL;
    model_base(&in, shape);
    spy_tensor *view = model_random_view(gpu_device, base, &in, 1 + (int)model_random(4));
    OK(spy_call(fn("next"), SPY_ARGS(spy_arg_tensor("x", view), spy_out_tensor("_result", &made))));
    OK(spy_tensor_read(made, got, (size_t)in.count * 4));
    for (int64_t i = 0; i < in.count; i++) assert_int_equal(got[i], data[in.at[i]] + 1);
    // Into a view: all ranges of a larger tensor, some of them backwards.
    if (in.shape.rank <= 3 && in.count <= 60) {
        spy_dims order;
        memset(&order, 0, sizeof order);
        order.count = in.shape.rank;
        for (uint32_t d = 0; d < order.count; d++) order.dims[d] = (int32_t)(order.count - 1 - d);
        bool empty = in.count == 0;
        spy_tensor *target =
            empty ? NULL : model_window_base(gpu_device, SPY_DTYPE_INT32, order, in.shape, NULL);
        if (target) {
            OK(spy_tensor_fill(target, -5));
            spy_tensor *window = model_window(gpu_device, target, order, in.shape, &out);
            OK(spy_call(fn("next"), SPY_ARGS(spy_arg_tensor("x", view), spy_arg_tensor("_result", window))));
            static int32_t expected[MODEL_MOST];
            size_t size = spy_get_tensor_info(target).host_size_bytes;
            for (size_t i = 0; i < size / 4; i++) expected[i] = -5;
            for (int64_t i = 0; i < in.count; i++) expected[out.at[i]] = data[in.at[i]] + 1;
            OK(spy_tensor_read(target, got, size));
            assert_memory_equal(got, expected, size);
            spy_release_tensor(window);
            spy_release_tensor(target);
        }
    }
    spy_release_tensor(made);
    spy_release_tensor(view);
    spy_release_tensor(base);
}

static void test_random(void **state) {
    NEEDS_DEVICE();
    uint64_t first = seed();
    for (size_t i = 0; i < test_count(3000); i++) {
        model_state = first + i;
        model_check_view(gpu_device);
        model_state = first + i;
        model_check_copy(gpu_device);
        model_state = first + i;
        check_kernel();
    }
    spy_error e = spy_take_error(gpu_device);
    if (e.code != SPY_OK) fail_msg("%s", e.message);
}

static void test_flat(void **state) {
    NEEDS_DEVICE();
    int32_t numbers[5] = { 0, 1, 2, 3, 4 };
    spy_tensor *i = typed("int", SPY_SHAPE(5), numbers), *v = typed("float3", SPY_SHAPE(5), NULL);
    OK(spy_call(fn("index3"), SPY_ARGS(spy_arg_tensor("i", i), spy_arg_tensor("_result", v))));
    spy_tensor *flat = MADE(spy_tensor, spy_create_flat_view(v)), *made = NULL;
    spy_tensor *back = MADE(spy_tensor, spy_create_indexed(flat, SPY_INDICES(spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -2), spy_index_range(2, SPY_INDEX_NONE, -2))));
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_tensor("x", back), spy_out_tensor("_result", &made))));
    float got[6];
    const float expected[6] = { 9, 8, 5, 4, 1, 0 }; // 2 (i + 0.5), 2 i of 4, 2, 0
    OK(spy_tensor_read(made, got, sizeof got));
    assert_memory_equal(got, expected, sizeof got);
    // A kernel writes through a flat view: its elements are the vectors' parts.
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_f32("x", 21), spy_arg_tensor("_result", spy_create_select(flat, 1, 1)))));
    float all[15];
    OK(spy_tensor_read(v, all, sizeof all));
    for (int k = 0; k < 5; k++) assert_true(all[3 * k] == (float)k && all[3 * k + 1] == 42 && all[3 * k + 2] == (float)k + 0.5f);
    // A struct of bools: 4 bytes each on the device, 1 here.
    const bool flags[8] = { true, false, true, false, false, false, true, true };
    spy_tensor *f = typed("Flags", SPY_SHAPE(2), flags), *g = NULL, *h = NULL;
    OK(spy_call(fn("flip"), SPY_ARGS(spy_arg_tensor("f", f), spy_out_tensor("_result", &g))));
    OK(spy_call(fn("nor"), SPY_ARGS(spy_arg_tensor("a", MADE(spy_tensor, spy_create_flat_view(g))), spy_out_tensor("_result", &h))));
    bool again[8];
    OK(spy_tensor_read(h, again, sizeof again));
    assert_memory_equal(again, flags, sizeof flags);
    assert_int_equal(spy_get_tensor_info(h).shape.rank, 2);
}

static void test_view_as(void **state) {
    NEEDS_DEVICE();
    const float numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    spy_tensor *t = typed("float", SPY_SHAPE(8), numbers), *made = NULL;
    spy_tensor *pairs = MADE(spy_tensor, spy_create_view_as(t, "Pair", module));
    spy_tensor *turned = MADE(spy_tensor, spy_create_slice(pairs, 0, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
    OK(spy_call(fn("sum"), SPY_ARGS(spy_arg_tensor("p", turned), spy_out_tensor("_result", &made))));
    float got[2];
    OK(spy_tensor_read(made, got, sizeof got));
    assert_true(got[0] == 8765 && got[1] == 4321);
    spy_tensor *grid = MADE(spy_tensor, spy_create_reshape(t, SPY_SHAPE(2, -1))), *bits = MADE(spy_tensor, spy_create_view_as(grid, "int", NULL));
    OK(spy_call(fn("next"), SPY_ARGS(spy_arg_tensor("x", bits), spy_out_tensor("_result", &made))));
    int32_t words[8], expected[8];
    OK(spy_tensor_read(made, words, sizeof words));
    memcpy(expected, numbers, sizeof expected);
    for (int i = 0; i < 8; i++) assert_int_equal(words[i], expected[i] + 1);
    assert_null(spy_create_flat_view(typed("Particle", SPY_SHAPE(2), NULL)));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_create_flat_view", "'position' is float", "'alive' is bool");
}

// Kernels, fills, copies and reads on the same memory, without a wait between them.
static void test_order(void **state) {
    NEEDS_DEVICE();
    const int64_t n = 50000;
    spy_tensor *a = typed("float3", SPY_SHAPE(n), NULL), *b = typed("float3", SPY_SHAPE(n), NULL), *slow = NULL;
    const float v[3] = { 1, 2, 3 };
    float *got = (float *)malloc((size_t)n * 12);
    OK(spy_call(fn("long_sum"), SPY_ARGS(spy_arg_tensor("x", typed("float", SPY_SHAPE(64), NULL)), spy_out_tensor("_result", &slow)))); // keeps the device at work
    OK(spy_tensor_fill_data(a, v, sizeof v));
    spy_tensor *fa = MADE(spy_tensor, spy_create_flat_view(a)), *fb = MADE(spy_tensor, spy_create_flat_view(b));
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_tensor("x", fa), spy_arg_tensor("_result", fb))));
    spy_tensor *first = MADE(spy_tensor, spy_create_slice(a, 0, 0, n / 2, 1)), *second = MADE(spy_tensor, spy_create_slice(b, 0, n / 2, n, 1));
    OK(spy_tensor_copy(first, second));
    OK(spy_tensor_fill(second, 7));
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_tensor("x", fb), spy_arg_tensor("_result", fb))));
    OK(spy_tensor_read(a, got, (size_t)n * 12));
    for (int64_t i = 0; i < 3 * n; i++) assert_true(got[i] == v[i % 3] * (i < n / 2 * 3 ? 2 : 1));
    OK(spy_tensor_read(b, got, (size_t)n * 12));
    for (int64_t i = 0; i < 3 * n; i++) assert_true(got[i] == (i < n / 2 * 3 ? v[i % 3] * 4 : 14));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.like = b;
    d.zeroed = true;
    spy_tensor *zeros = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_read(zeros, got, (size_t)n * 12));
    for (int64_t i = 0; i < 3 * n; i++) assert_true(got[i] == 0);
    free(got);
}

typedef struct particle {
    float position[3], mass;
    bool alive;
    int32_t tags[2];
} particle;

static void test_cursor(void **state) {
    NEEDS_DEVICE();
    particle p[6], got[6];
    memset(p, 0, sizeof p);
    spy_tensor *t = typed("Particle", SPY_SHAPE(6), p);
    spy_cursor c = spy_create_cursor(t, 1, 4);
    for (int64_t i = 0; i < 4; i++) {
        spy_cursor one = spy_cursor_at(c, i);
        OK(spy_cursor_write(spy_cursor_field(one, "position"), (double[]){ (double)i, 0.5, -1 }, 3, SPY_DTYPE_FLOAT64));
        OK(spy_cursor_write(spy_cursor_field(one, "mass"), (int32_t[]){ (int32_t)i + 10 }, 1,
                            SPY_DTYPE_INT32));
        OK(spy_cursor_write(spy_cursor_field(one, "tags[0]"), (int32_t[]){ (int32_t)i * 7 }, 1,
                            SPY_DTYPE_INT32));
        if (i == 2) OK(spy_cursor_write(spy_cursor_field(one, "alive"), (bool[]){ true }, 1, SPY_DTYPE_BOOL));
    }
    OK(spy_cursor_apply(c));
    spy_release_cursor(c);
    OK(spy_call(fn("move"), SPY_ARGS(spy_arg_tensor("p", t), spy_arg_f32n("by", (float[]){ 1, 1, 1 }, 3))));
    c = spy_create_cursor(t, 0, 6);
    OK(spy_cursor_read_data(c, got, sizeof got));
    for (int i = 0; i < 6; i++) {
        bool in = i >= 1 && i < 5;
        assert_true(got[i].position[0] == (in ? (float)(i - 1) : 0) + 1 && got[i].position[1] == (in ? 1.5f : 1) && got[i].position[2] == (in ? 0 : 1));
        assert_true(got[i].mass == (in ? (float)(i + 9) * 2 : 0) && got[i].alive == (i != 3));
        assert_true(got[i].tags[1] == (in ? (i - 1) * 7 + 1 : 1));
    }
    int32_t alive[1];
    OK(spy_cursor_read(spy_cursor_field(c, "[3].alive"), alive, 1, SPY_DTYPE_INT32));
    assert_int_equal(alive[0], 0);
    // What the device changed meanwhile in elements that the cursor leaves alone stays.
    OK(spy_call(fn("move"), SPY_ARGS(spy_arg_tensor("p", t), spy_arg_f32n("by", (float[]){ 1, 1, 1 }, 3))));
    OK(spy_cursor_write(spy_cursor_field(c, "[2].position.x"), (float[]){ 100 }, 1, SPY_DTYPE_FLOAT32));
    OK(spy_cursor_apply(c));
    particle now[6];
    OK(spy_tensor_read(t, now, sizeof now));
    for (int i = 0; i < 6; i++) {
        assert_true(now[i].position[0] == (i == 2 ? 100 : got[i].position[0] + 1));
        assert_true(now[i].mass == (i == 2 ? got[i].mass : got[i].mass * 2)); // an element is written back whole
    }
    spy_release_cursor(c);
    assert_null(spy_cursor_field(spy_create_cursor(t, 0, 1), "positon")._type);
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "Particle", "'positon'", "'position'");
}

static void test_print(void **state) {
    NEEDS_DEVICE();
    int32_t numbers[5] = { 0, 1, 2, 3, 4 };
    char text[512];
    spy_tensor *v = NULL;
    OK(spy_call(fn("index3"), SPY_ARGS(spy_arg_array("i", numbers, SPY_SHAPE(3), SPY_DTYPE_INT32), spy_out_tensor("_result", &v))));
    assert_true(spy_tensor_print(v, text, sizeof text) < sizeof text);
    assert_string_equal(text, "float3 (3,)\n[[0.   0.25 0.5 ]\n [1.   1.25 1.5 ]\n [2.   2.25 2.5 ]]");
    spy_tensor *big = typed("int8_t", SPY_SHAPE(4000, 5000), NULL);
    OK(spy_tensor_fill(big, 3));
    OK(spy_tensor_fill(MADE(spy_tensor, spy_create_select(big, 0, 3998)), -8));
    spy_tensor_print(MADE(spy_tensor, spy_create_transpose(big, SPY_DIMS(1, 0))), text, sizeof text);
    assert_string_equal(text, "int8_t (5000, 4000)\n"
                              "[[ 3  3  3 ...  3 -8  3]\n [ 3  3  3 ...  3 -8  3]\n [ 3  3  3 ...  3 -8  3]\n ...\n"
                              " [ 3  3  3 ...  3 -8  3]\n [ 3  3  3 ...  3 -8  3]\n [ 3  3  3 ...  3 -8  3]]");
}

static void test_address(void **state) {
    NEEDS_DEVICE();
    const float numbers[4] = { 1, 2, 3, 4 };
    uint32_t features = spy_get_device_info(gpu_device).features;
    spy_tensor *t = typed("float", SPY_SHAPE(4), numbers);
    if (!(features & SPY_FEATURE_POINTERS) || !(features & SPY_FEATURE_INT64)) {
        print_message("skipped: the device has no pointers or no 64-bit integers\n");
        skip();
    }
    float got = 0;
    OK(spy_wait(gpu_device));
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("address", spy_tensor_address(t)), spy_arg_i32("i", 2), spy_out_f32("_result", &got))));
    assert_true(got == 3);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("address", spy_tensor_address(MADE(spy_tensor, spy_create_slice(t, 0, 3, 4, 1)))), spy_arg_i32("i", 0), spy_out_f32("_result", &got))));
    assert_true(got == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_flat),  cmocka_unit_test(test_view_as), cmocka_unit_test(test_order),
        cmocka_unit_test(test_cursor), cmocka_unit_test(test_print), cmocka_unit_test(test_address),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
