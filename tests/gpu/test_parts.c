// Vectors given by their components, mappings of no dimensions, and results given to parameters that only go in.
#include "gpu_test.h"

spy_device *gpu_device;
static spy_module *module;

static const char source[] = "float4 same(float4 v) { return v; }\n"
                             "float first(float2 v) { return v.x - v.y; }\n"
                             "vector<float, N> same_n<let N : int>(vector<float, N> v) { return v; }\n"
                             "void split(float a, out float2 v) { v = float2(a, -a); }\n"
                             "int which(float x) { return 1; }\n"
                             "int which(float3 x) { return 3; }\n"
                             "float add(float a, float b) { return a + b; }\n"
                             "uniform float3 color;\n"
                             "float lit(float a) { return a * color.x + color.y * 10 + color.z * 100; }\n";

static spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static void test_vector_by_components(void **state) {
    NEEDS_DEVICE();
    const float y[3] = { 1, 2, 3 };
    float out[12];
    spy_args v = SPY_ARGS(spy_arg_f32("x", 5), spy_arg_array("y", y, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                          spy_arg_i32("w", 7), spy_arg_f32("z", 6));
    OK(spy_call(fn("same"), SPY_ARGS(spy_arg_struct("v", v),
                                     spy_out_array("_result", out, SPY_SHAPE(3, 4), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 3; i++) {
        const float expected[4] = { 5, y[i], 6, 7 };
        assert_memory_equal(out + 4 * i, expected, sizeof expected);
    }
    spy_args two = SPY_ARGS(spy_arg_f32(NULL, 5), spy_arg_f32(NULL, 2)); // by position
    float difference = 0;
    OK(spy_call(fn("first"), SPY_ARGS(spy_arg_struct("v", two), spy_out_f32("_result", &difference))));
    assert_true(difference == 3);
    spy_arg cast = spy_vcast(spy_arg_struct("v", two), "float2");
    OK(spy_call(fn("same_n"),
                SPY_ARGS(cast, spy_out_array("_result", out, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))));
    assert_true(out[0] == 5 && out[1] == 2);
}

static void test_vector_out(void **state) {
    NEEDS_DEVICE();
    float x = 0, y = 0;
    spy_args parts = SPY_ARGS(spy_out_f32("y", &y), spy_out_f32("x", &x));
    OK(spy_call(fn("split"), SPY_ARGS(spy_arg_f32("a", 4), spy_arg_struct("v", parts))));
    assert_true(x == 4 && y == -4);
}

static void test_vector_of_globals(void **state) {
    NEEDS_DEVICE();
    float out = 0;
    spy_args parts = SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 2), spy_arg_f32("z", 3));
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.globals = SPY_ARGS(spy_arg_struct("color", parts));
    OK(spy_call_with(fn("lit"), SPY_ARGS(spy_arg_f32("a", 5), spy_out_f32("_result", &out)), &options));
    assert_true(out == 5 + 20 + 300);
    options.globals =
        SPY_ARGS(spy_arg_f32("color.x", 2), spy_arg_f32("color.y", 3), spy_arg_f32("color.z", 4));
    OK(spy_call_with(fn("lit"), SPY_ARGS(spy_arg_f32("a", 5), spy_out_f32("_result", &out)), &options));
    assert_true(out == 10 + 30 + 400);
}

static void test_vector_refused(void **state) {
    NEEDS_DEVICE();
    spy_args few = SPY_ARGS(spy_arg_f32("x", 1));
    spy_args many = SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 1), spy_arg_f32("z", 1));
    spy_args other = SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("r", 1));
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("first"), SPY_ARGS(spy_arg_struct("v", few))),
          "field 'y' of float2 is missing");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("first"), SPY_ARGS(spy_arg_struct("v", many))),
          "float2 has 2 fields, got 3");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("first"), SPY_ARGS(spy_arg_struct("v", other))),
          "float2 has no field 'r'");
}

static void test_map_of_no_dimensions(void **state) {
    NEEDS_DEVICE();
    const float v[3] = { 1, 2, 3 };
    const spy_dims none = { 0, { 0 } };
    int32_t which = 0;
    spy_arg x = spy_arg_array("x", v, SPY_SHAPE(3), SPY_DTYPE_FLOAT32);
    FAILS(SPY_ERROR_AMBIGUOUS, spy_call(fn("which"), SPY_ARGS(x)), "overloads fit equally well");
    OK(spy_call(fn("which"), SPY_ARGS(spy_vmap(x, none), spy_out_i32("_result", &which))));
    assert_int_equal(which, 3);
    spy_arg a = spy_vmap(spy_arg_array("a", v, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), none);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(a, spy_arg_f32("b", 1))),
          "names no dimension");
}

static void test_result_that_only_goes_in(void **state) {
    NEEDS_DEVICE();
    spy_result value;
    float sum = 0;
    memset(&value, 0, sizeof value);
    value.dtype = SPY_DTYPE_INT64;
    value.size_bytes = 8;
    value.data[0] = 41;
    OK(spy_call(fn("add"),
                SPY_ARGS(spy_inout_result("a", &value), spy_arg_f32("b", 1), spy_out_f32("_result", &sum))));
    assert_true(sum == 42);
    assert_true(value.type == NULL && value.dtype == SPY_DTYPE_INT64 && value.data[0] == 41); // as it was
}

static int setup(void **state) {
    (void)state;
    spy_device_desc desc = gpu_desc();
    gpu_device = gpu_open(&desc);
    if (gpu_device) module = MADE(spy_module, gpu_module(gpu_device, "parts", source));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_by_components), cmocka_unit_test(test_vector_out),
        cmocka_unit_test(test_vector_of_globals),    cmocka_unit_test(test_vector_refused),
        cmocka_unit_test(test_map_of_no_dimensions), cmocka_unit_test(test_result_that_only_goes_in),
    };
    return cmocka_run_group_tests_name("parts", tests, setup, teardown);
}
