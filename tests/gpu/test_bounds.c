// spy_device_desc.check_bounds: tensors that are taken whole find indices outside their shape, the next wait or read says
// which, loads give 0 and stores are dropped. Every accessor of every type, forward and backward, dispatches, shaders, globals,
// command lists. A device without it makes the same code as before: its kernels know nothing of indices.
#include "gpu_test.h"

spy_device *gpu_device;
static spy_module *module;

static const char source[] =
    "import slangpy;\n"
    "import slangpy_diff;\n"
    "struct Particle { float3 at; int kind; bool alive; }\n"
    "RWTensor<float, 1> shared_memory;\n"
    "float get(Tensor<float, 2> t, int i, int j) { return t[i, j] + 1; }\n"
    "float get_vector(Tensor<float, 2> t, int i, int j) { return t[int2(j, i)] + 1; }\n"
    "float get_array(Tensor<float, 2> t, int i, int j) { int[2] at = { i, j }; return t.load(at) + 1; }\n"
    "float get_interface<T : ITensor<float, 2>>(T t, int i, int j) { return t.load(i, j) + 1; }\n"
    "float get_rw(RWTensor<float, 2> t, int i, int j) { return t[i, j] + 1; }\n"
    "float get_atomic(AtomicTensor<float, 2> t, int i, int j) { return t[i, j] + 1; }\n"
    "float get_global(int i) { return shared_memory[i] + 1; }\n"
    "float get_made(Tensor<float, 2> t, int i) { return Tensor<float, 1>(t._data, { 3 })[i] + 1; }\n"
    "float get_particle(Tensor<Particle, 1> t, int i)\n"
    "{ Particle p = t[i]; return p.at.y + p.kind + (p.alive ? 1 : 0) + 1; }\n"
    "float get_double3(Tensor<double3, 1> t, int i) { return float(t[i].z) + 1; }\n"
    "float put(WTensor<float, 2> t, int i, int j) { t[i, j] = 9; return 1; }\n"
    "float put_rw(RWTensor<float, 2> t, int i, int j) { t.store(i, j, 9); return 1; }\n"
    "float put_atomic(AtomicTensor<float, 2> t, int i, int j) { t[i, j] = 9; return 1; }\n"
    "float add(AtomicTensor<float, 2> t, int i, int j) { t.add(i, j, 9); return 1; }\n"
    "float put_diff(WDiffTensor<float, 2> t, int i, int j) { t[i, j] = 9; return 1; }\n"
    "[Differentiable] float get_diff(DiffTensor<float, 2> t, no_diff int i, no_diff int j) { return t[i, j] + 1; }\n"
    "[Differentiable] float get_rw_diff(RWDiffTensor<float, 2> t, no_diff int i, no_diff int j) { return t[i, j] + 1; }\n"
    "[Differentiable] float get_once(DiffTensor<float, 2> t, no_diff int i, no_diff int j)\n"
    "{ int[2] at = { i, j }; return t.load_once(at) + 1; }\n"
    "void fill(uint3 id : SV_DispatchThreadID, RWTensor<float, 2> t) { t[int(id.x), 0] = 2; }\n"
    "[shader(\"compute\")] [numthreads(8, 1, 1)]\n"
    "void fill_shader(uint3 id : SV_DispatchThreadID, uniform RWTensor<float, 2> t) { t[int(id.x), 1] = 3; }\n";

// >>devices

static spy_device *open_device(bool check) {
    spy_device_desc d = gpu_desc();
    d.check_bounds = check;
    d.dump_directory = check ? gpu_dump_folder() : NULL;
    return gpu_open(&d);
}

static int setup(void **state) {
    (void)state;
    gpu_device = open_device(true); // of all tests
    if (!gpu_device) return 0;
    module = gpu_module(gpu_device, "bounds", source);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static spy_function *function(const char *name) {
    spy_function *f = spy_find_function(module, name);
    if (!f) fail_msg("%s", spy_take_error(gpu_device).message);
    return f;
}

// 4 x 5 floats, 1 2 3 ...
static spy_tensor *numbers(bool with_grad) {
    float x[20];
    for (int i = 0; i < 20; i++) x[i] = (float)(i + 1);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(4, 5);
    d.data = x;
    d.with_grad = with_grad;
    spy_tensor *t = spy_create_tensor(gpu_device, &d);
    assert_non_null(t);
    return t;
}

static void is_numbers(spy_tensor *t) {
    float x[20];
    OK(spy_tensor_read(t, x, sizeof x));
    for (int i = 0; i < 20; i++) assert_float_equal(x[i], (float)(i + 1), 0);
}

// >>accessors

static const struct row {
    const char *name;
    int i, j;
    const char *text; // of the error
} rows[] = {
    { "get", 4, 0, "get: 't': the kernel reads at index (4, 0), its shape is (4, 5): expected 0 to 3 in dimension 0, got 4" },
    { "get", 0, 5, "index (0, 5), its shape is (4, 5): expected 0 to 4 in dimension 1, got 5" },
    { "get", -1, 0, "index (-1, 0), its shape is (4, 5): expected 0 to 3 in dimension 0, got -1" },
    { "get", 0, -2147483647, "expected 0 to 4 in dimension 1, got -2147483647" },
    { "get_vector", 3, 6, "get_vector: 't': the kernel reads at index (3, 6)" },
    { "get_array", 9, 6, "get_array: 't': the kernel reads at index (9, 6), its shape is (4, 5): expected 0 to 3 in dimension 0" },
    { "get_interface", 4, 4, "get_interface: 't': the kernel reads at index (4, 4)" },
    { "get_rw", 4, 4, "get_rw: 't': the kernel reads at index (4, 4)" },
    { "get_atomic", 4, 4, "get_atomic: 't': the kernel reads at index (4, 4)" },
    { "put", 4, 4, "put: 't': the kernel writes at index (4, 4)" },
    { "put_rw", 4, 4, "put_rw: 't': the kernel writes at index (4, 4)" },
    { "put_atomic", 4, 4, "put_atomic: 't': the kernel writes at index (4, 4)" },
    { "add", 4, 4, "add: 't': the kernel adds at index (4, 4)" },
    { "put_diff", 4, 4, "put_diff: 't': the kernel writes at index (4, 4)" },
    { "get_diff", 4, 4, "get_diff: 't': the kernel reads at index (4, 4)" },
    { "get_rw_diff", 4, 4, "get_rw_diff: 't': the kernel reads at index (4, 4)" },
    { "get_once", 4, 4, "get_once: 't': the kernel reads at index (4, 4)" },
};

static void test_accessors(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = numbers(false);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct row *row = &rows[r];
        float y = 0;
        FAILS(SPY_ERROR_OUT_OF_RANGE,
              spy_call(function(row->name), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", row->i), spy_arg_i32("j", row->j),
                                                     spy_out_f32("_result", &y))),
              "spy_call: ", row->text);
        assert_float_equal(y, 1, 0); // what was read is 0
        is_numbers(t);               // nothing was written, and the error is told once
        OK(spy_call(function(row->name), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", 3), spy_arg_i32("j", 4),
                                                              spy_out_f32("_result", &y))));
        float last;
        OK(spy_tensor_read_range(t, 19, 1, &last, sizeof last));
        assert_float_equal(last, row->name[0] == 'p' ? 9 : row->name[0] == 'a' ? 29 : 20, 0);
        last = 20;
        OK(spy_tensor_write_range(t, 19, 1, &last, sizeof last));
    }
    spy_release_tensor(t);
}

// >>which, and where in the call

static void test_first(void **state) {
    int32_t i[6] = { 0, 1, 3, 7, 2, 3 };
    float y[6];
    NEEDS_DEVICE();
    spy_tensor *t = numbers(false);
    spy_tensor *at = gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(2, 3), i);
    spy_tensor *out = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(2, 3), NULL);
    for (int round = 0; round < 3; round++) { // repeated calls too
        OK(spy_call(function("get"), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_tensor("i", at), spy_arg_i32("j", 1),
                                                          spy_arg_tensor("_result", out))));
        if (round == 1) {
            FAILS(SPY_ERROR_OUT_OF_RANGE, spy_wait(gpu_device), "spy_wait: get: 't': ", "index (7, 1)", "at element (1, 0) of the call", "it got 0");
            OK(spy_tensor_read(out, y, sizeof y));
        } else {
            FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_read(out, y, sizeof y), "spy_tensor_read: get: 't': ", "index (7, 1)");
        }
        for (int k = 0; k < 6; k++) assert_float_equal(y[k], k == 3 ? 1 : (float)(i[k] * 5 + 3), 0); // the others are right
    }
    // A call of every element out of range: one of them is told, and then no more.
    OK(spy_call(function("put_rw"), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", 4), spy_arg_range("j", 0, 100000, 1),
                                                         spy_out_tensor("_result", &out))));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_wait(gpu_device), "put_rw: 't': the kernel writes at index (4, ", "nothing was written");
    OK(spy_wait(gpu_device));
    is_numbers(t);
    // A view's shape counts, not its memory; rows that are run over too.
    spy_tensor *view = spy_create_indexed(t, SPY_INDICES(spy_index_range(1, 3, 1), spy_index_range(0, 2, 1)));
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(function("get"), SPY_ARGS(spy_arg_tensor("t", view), spy_arg_i32("i", 1), spy_arg_i32("j", 2), spy_out_f32("_result", y))),
          "index (1, 2), its shape is (2, 2)");
    const int32_t row_of[3] = { 1, 4, 2 };
    spy_tensor *rows_of = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3, 4, 5), NULL), *made = NULL;
    spy_tensor *row = gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(3), row_of);
    OK(spy_call(function("get"), SPY_ARGS(spy_arg_tensor("t", rows_of), spy_arg_tensor("i", row), spy_arg_i32("j", 0),
                                          spy_out_tensor("_result", &made))));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_read(made, y, 3 * sizeof *y), "get: 't'", "index (4, 0), its shape is (4, 5)", "element (1,) of the call");
    OK(spy_call(function("get"), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_tensor("i", at), spy_arg_i32("j", 1),
                                                      spy_out_tensor("_result", &out))));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_wait_for_submit(gpu_device, spy_flush(gpu_device), UINT64_MAX), "spy_wait_for_submit: get");
}

static void test_elements(void **state) {
    NEEDS_DEVICE();
    double doubles[6] = { 1, 2, 3, 4, 5, 6 };
    float y = 0, x[20] = { 0 };
    spy_tensor *p = gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "Particle", module, SPY_SHAPE(2), NULL);
    OK(spy_tensor_fill(p, 0));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(function("get_particle"), SPY_ARGS(spy_arg_tensor("t", p), spy_arg_i32("i", 2), spy_out_f32("_result", &y))),
          "get_particle: 't': the kernel reads at index (2,), its shape is (2,)");
    assert_float_equal(y, 1, 0);
    spy_tensor *d = gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "double3", module, SPY_SHAPE(2), doubles);
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(function("get_double3"), SPY_ARGS(spy_arg_tensor("t", d), spy_arg_i32("i", 2), spy_out_f32("_result", &y))),
          "get_double3: 't'");
    assert_float_equal(y, 1, 0);
    OK(spy_call(function("get_double3"), SPY_ARGS(spy_arg_tensor("t", d), spy_arg_i32("i", 1), spy_out_f32("_result", &y))));
    assert_float_equal(y, 7, 0);
    // A global; a tensor that the function has made itself.
    spy_tensor *t = numbers(false),
               *g = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(20), x);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    spy_arg globals[1] = { spy_arg_tensor("shared_memory", g) };
    o.globals.items = globals;
    o.globals.count = 1;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call_with(function("get_global"), SPY_ARGS(spy_arg_i32("i", 20), spy_out_f32("_result", &y)), &o),
          "get_global: 'shared_memory': the kernel reads at index (20,), its shape is (20,)");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(function("get_made"), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", 3), spy_out_f32("_result", &y))),
          "a tensor that was made in Slang: the kernel reads at index (3,), its shape is (3,)");
}

// >>gradients, dispatches, lists

static void test_gradients(void **state) {
    static const char *const names[] = { "get_diff", "get_once", "get_rw_diff" };
    NEEDS_DEVICE();
    for (int n = 0; n < 3; n++) {
        spy_tensor *t = numbers(true);
        float one = 1, dx[20];
        for (int bad = 0; bad < 2; bad++) {
            OK(spy_call_backward(function(names[n]),
                                 SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", bad ? 1 : 2), spy_arg_i32("j", bad ? 7 : 3),
                                          spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, one))))));
            // t[1, 7] would be t[2, 2].
            if (bad) FAILS(SPY_ERROR_OUT_OF_RANGE, spy_wait(gpu_device), names[n], ": 't'", "at index (1, 7), its shape is (4, 5)");
            OK(spy_tensor_read(spy_tensor_grad(t), dx, sizeof dx));
            for (int i = 0; i < 20; i++) assert_float_equal(dx[i], i == 13 ? 1 : 0, 0);
        }
        spy_release_tensor(t);
    }
}

static void test_dispatch(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = numbers(false);
    spy_uint3 threads = { 8, 1, 1 };
    float x[20];
    OK(spy_dispatch(function("fill"), threads, SPY_ARGS(spy_arg_tensor("t", t)), NULL));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_read(t, x, sizeof x), "fill: 't': the kernel writes at index (", ", 0), its shape is (4, 5)");
    for (int i = 0; i < 20; i++) assert_float_equal(x[i], (i % 5 == 0 ? 2 : (float)(i + 1)), 0);
    OK(spy_dispatch(function("fill_shader"), threads, SPY_ARGS(spy_arg_tensor("t", t)), NULL));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_read(t, x, sizeof x), "fill_shader: 't': the kernel writes at index (", ", 1)");
    for (int i = 0; i < 20; i++) assert_float_equal(x[i], (i % 5 == 0 ? 2 : i % 5 == 1 ? 3 : (float)(i + 1)), 0);
    spy_command_list *list = spy_create_command_list(gpu_device, NULL);
    spy_tensor *result = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, gpu_rank0(), NULL);
    OK(spy_list_call(list, function("put_rw"), SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", 0), spy_arg_i32("j", 8),
                                                                   spy_arg_tensor("_result", result))));
    OK(spy_list_finish(list));
    for (int round = 0; round < 3; round++) { // the list's own launches too
        OK(spy_list_submit(list));
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_wait(gpu_device), "put_rw: 't': the kernel writes at index (0, 8)");
    }
}

// >>without it

static void test_off(void **state) {
    static const char text[] = "import slangpy;\nfloat get(Tensor<float, 2> t, int i, int j) { return t[i, j] + 1; }\n";
    NEEDS_DEVICE();
    spy_device *checked = gpu_device;
    spy_module *checked_module = module;
    char kernel[16384];
    float y = 0;
    for (int check = 0; check < 2; check++) {
        spy_tensor *t;
        if (!check) gpu_device = open_device(false);
        module = gpu_module(gpu_device, "plain", text);
        t = numbers(false);
        spy_args args = SPY_ARGS(spy_arg_tensor("t", t), spy_arg_i32("i", 1), spy_arg_i32("j", 5), spy_out_f32("_result", &y));
        assert_true(spy_explain_call(function("get"), args, NULL, kernel, sizeof kernel) > 0);
        assert_int_equal(strstr(kernel, "indices of whole tensors checked") != NULL, check); // texts, and so keys, differ
        if (check) break;
        OK(spy_call(function("get"), args));
        if (!gpu_other_backend) assert_float_equal(y, 12, 0); // the next row's: inside the memory, and nobody looks
        OK(spy_wait(gpu_device));
        spy_release_device(gpu_device);
        gpu_device = checked;
    }
    module = checked_module;
}

static void test_spirv(void **state) {
    NEEDS_DEVICE();
    if (gpu_is_cuda()) skip();
    gpu_check_spirv(gpu_dump_folder(), 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accessors), cmocka_unit_test(test_first),  cmocka_unit_test(test_elements),
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_dispatch), cmocka_unit_test(test_off),
        cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests(tests, setup, gpu_teardown_dumped);
}
