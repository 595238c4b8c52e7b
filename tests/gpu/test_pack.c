// Packed arguments: copies that keep their values and tensors whatever becomes of what they were made from.
#include "gpu_test.h"

spy_device *gpu_device;

static const char source[] = "struct Light { float3 color; float power; };\n"
                             "struct Scene { Light light; float weights[3]; int count; };\n"
                             "float shade(Scene s, float x)\n"
                             "{ return x * s.light.power * s.light.color.y + s.weights[0] + s.weights[2] + s.count; }\n";

static float shade(const float *color, float power, const float *weights, int count, float x) {
    return x * power * color[1] + weights[0] + weights[2] + (float)count;
}

static void test_pack(void **state) {
    (void)state;
    spy_device_desc dd = gpu_desc();
    gpu_device = gpu_open(&dd);
    if (!gpu_device) skip();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "pack", source));
    spy_function *f = MADE(spy_function, spy_find_function(m, "shade"));
    float color[3] = { 1, 2, 3 }, weights[3] = { 10, 20, 30 }, powers[5] = { 1, 2, 3, 4, 5 }, x[5] = { 5, 4, 3, 2, 1 };
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(5);
    d.data = powers;
    spy_tensor *power = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    char name[] = "power";
    spy_packed *scene = MADE(
        spy_packed,
        spy_pack(gpu_device,
                 spy_arg_struct("other", SPY_ARGS(spy_arg_struct("light", SPY_ARGS(spy_arg_f32n("color", color, 3), spy_arg_tensor(name, power))),
                                                  spy_arg_array("weights", weights, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_arg_i32("count", 7)))));
    float expected[5];
    for (int i = 0; i < 5; i++) expected[i] = shade(color, powers[i], weights, 7, x[i]);
    // What it was made from goes.
    memset(color, 0, sizeof color);
    memset(weights, 0, sizeof weights);
    memset(name, 'x', sizeof name - 1);
    spy_release_tensor(power);
    for (int round = 0; round < 3; round++) {
        float result[5] = { 0 };
        OK(spy_call(f, SPY_ARGS(spy_arg_packed("s", scene),
                                spy_arg_array("x", x, SPY_SHAPE(5), SPY_DTYPE_FLOAT32),
                                spy_out_array("_result", result, SPY_SHAPE(5), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 5; i++) assert_float_equal(result[i], expected[i], 1e-4);
    }
    // Each holder releases it; the last release ends it.
    spy_retain_packed(scene);
    spy_release_packed(scene);
    float held[5] = { 0 };
    spy_prepared *ready = MADE(spy_prepared, spy_prepare(f, SPY_ARGS(spy_arg_packed("s", scene), spy_arg_array("x", x, SPY_SHAPE(5), SPY_DTYPE_FLOAT32), spy_out_array("_result", held, SPY_SHAPE(5), SPY_DTYPE_FLOAT32)), NULL));
    spy_retain_prepared(ready);
    spy_release_prepared(ready);
    OK(spy_call_prepared(ready, SPY_ARGS(spy_arg_packed("s", scene), spy_arg_array("x", x, SPY_SHAPE(5), SPY_DTYPE_FLOAT32), spy_out_array("_result", held, SPY_SHAPE(5), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 5; i++) assert_float_equal(held[i], expected[i], 1e-4);
    spy_release_prepared(ready);
    spy_retain_prepared(ready);
    ERROR_ON(NULL, SPY_ERROR_RELEASED, "spy_retain_prepared");
    spy_release_packed(scene);
    spy_release_packed(NULL);
    // A number, by position.
    spy_packed *number = MADE(spy_packed, spy_pack(gpu_device, spy_arg_f32("x", 2)));
    assert_int_equal(spy_arg_packed(NULL, number).kind, SPY_ARG_KIND_FLOAT);
    spy_release_packed(number);
    // What cannot be packed.
    float out = 0;
    assert_null(spy_pack(gpu_device, spy_out_f32("o", &out)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "'o'", "outputs");
    spy_grid_desc grid;
    memset(&grid, 0, sizeof grid);
    grid.shape = SPY_SHAPE(4);
    assert_null(spy_pack(gpu_device, spy_arg_struct("s", SPY_ARGS(spy_arg_grid("g", &grid)))));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "grid");
    assert_null(spy_pack(gpu_device, spy_arg_tensor("t", NULL)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "'t'", "expected a tensor, got NULL");
    assert_null(spy_pack(gpu_device, spy_arg_array("a", NULL, SPY_SHAPE(3), SPY_DTYPE_FLOAT32)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "'a'", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(f, SPY_ARGS(spy_arg_packed("s", NULL), spy_arg_f32("x", 1))), "'s'");
    // The device, too: it works on after the first of two releases.
    spy_retain_device(gpu_device);
    spy_release_device(gpu_device);
    spy_tensor *left = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(left, 1));
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pack) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
