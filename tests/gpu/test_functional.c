// vmap, vcast, vdim, declared functions and spy_gradcheck on a device, with numbers that plain C knows: through structs, pairs, host
// arrays, textures, in backward calls, lists and prepared calls, and again and again in turns.
#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;
static spy_module *module;

static const char source[] = "[Differentiable] float mul(float a, float b) { return a * b; }\n"
                             "float3 shade(float3 c, float s) { return c * s; }\n"
                             "struct Light { float3 color; float power; };\n"
                             "float3 shine(Light l, float d) { return l.color * l.power + d; }\n"
                             "float over(float x) { return 1; }\nfloat over(float3 x) { return 3; }\n"
                             "[Differentiable] T cube<T : __BuiltinFloatingPointType>(T x, T y) { return x * x * x * y; }\n"
                             "[Differentiable] void split(float3 v, float s, out float3 o, out float n) { o = v * v * s; n = v.x * s; }\n"
                             "[Differentiable] float constant(float x, no_diff float y) { return x * y * y; }\n"
                             "[Differentiable] void change(inout float x) { x = x * x; }\n"
                             "float plain(float x) { return x; }\n"
                             "[BackwardDerivative(wrong_bwd)] float wrong(float x) { return x * x; }\n"
                             "void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * (x.p > 2.5 ? 3.0 : 2.0) * x.p); }\n"
                             "struct Ray : IDifferentiable { float3 origin; float3 dir; float t; };\n"
                             "[Differentiable] float3 at(Ray r) { return r.origin + r.dir * r.t * r.t; }\n";

enum { A = 5, B = 7 };

static spy_function *f(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static spy_tensor *floats(spy_shape shape, const float *data, bool with_grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    d.zeroed = !data;
    d.with_grad = with_grad;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static void fill(float *data, int count, int step) {
    for (int i = 0; i < count; i++) data[i] = (float)((i * step) % 17 - 8) / 4;
}

// The tensor holds these numbers.
static void holds(spy_tensor *t, const float *expected, int count) {
    float got[256];
    OK(spy_tensor_read(t, got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++)
        if (fabsf(got[i] - expected[i]) > 1e-5f * (1 + fabsf(expected[i]))) fail_msg("number %d: got %g, expected %g", i, (double)got[i], (double)expected[i]);
}

// Calls in turns: an outer product, its transpose, and the same by a declared function, each repeated so that it is not described again.
static void test_turns(void **state) {
    NEEDS_DEVICE();
    float a[A], b[B], ab[A * B], ba[A * B];
    fill(a, A, 3);
    fill(b, B, 5);
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++) ab[i * B + j] = ba[j * A + i] = a[i] * b[j];
    spy_tensor *x = floats(SPY_SHAPE(A), a, false), *y = floats(SPY_SHAPE(B), b, false), *xy = floats(SPY_SHAPE(A, B), NULL, false),
               *yx = floats(SPY_SHAPE(B, A), NULL, false);
    spy_function *mul = f("mul"), *outer = MADE(spy_function, spy_declare(mul, SPY_ARGS(spy_vdim(spy_arg_any("a"), 1), spy_vmap(spy_arg_any("b"), SPY_DIMS(1)))));
    for (int i = 0; i < 6; i++) {
        OK(spy_tensor_fill(xy, -1));
        OK(spy_tensor_fill(yx, -1));
        OK(spy_call(mul, SPY_ARGS(spy_vmap(spy_arg_tensor("a", x), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("b", y), SPY_DIMS(1)), spy_arg_tensor("_result", xy))));
        OK(spy_call(mul, SPY_ARGS(spy_vmap(spy_arg_tensor("a", x), SPY_DIMS(1)), spy_vmap(spy_arg_tensor("b", y), SPY_DIMS(0)), spy_arg_tensor("_result", yx))));
        holds(xy, ab, A * B);
        holds(yx, ba, A * B);
        OK(spy_tensor_fill(xy, -1));
        OK(spy_tensor_fill(yx, -1));
        OK(spy_call(outer, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", xy))));
        OK(spy_call(outer, SPY_ARGS(spy_arg_tensor(NULL, y), spy_arg_tensor(NULL, x), spy_arg_tensor("_result", yx))));
        holds(xy, ab, A * B);
        holds(yx, ba, A * B);
        // host arrays, in and out
        float back[A * B];
        OK(spy_call(outer, SPY_ARGS(spy_arg_f32n("a", a, A), spy_arg_f32n("b", b, B), spy_vmap(spy_out_array("_result", back, SPY_SHAPE(A, B), SPY_DTYPE_FLOAT32), SPY_DIMS(0, 1)))));
        assert_memory_equal(back, ab, sizeof ab);
        OK(spy_call(outer, SPY_ARGS(spy_arg_f32n("a", a, A), spy_arg_f32n("b", b, B), spy_vmap(spy_out_array("_result", back, SPY_SHAPE(B, A), SPY_DTYPE_FLOAT32), SPY_DIMS(1, 0)))));
        assert_memory_equal(back, ba, sizeof ba);
    }
    // prepared, and recorded
    spy_prepared *prepared = MADE(spy_prepared, spy_prepare(outer, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", xy)), NULL));
    spy_prepared *turned = MADE(spy_prepared, spy_prepare(mul, SPY_ARGS(spy_vmap(spy_arg_tensor("a", x), SPY_DIMS(1)), spy_vdim(spy_arg_tensor("b", y), 1), spy_arg_tensor("_result", yx)), NULL));
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    for (int i = 0; i < 4; i++) {
        OK(spy_tensor_fill(xy, -1));
        OK(spy_tensor_fill(yx, -1));
        OK(spy_call_prepared(prepared, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", xy))));
        OK(spy_call_prepared(turned, SPY_ARGS(spy_vmap(spy_arg_tensor("a", x), SPY_DIMS(1)), spy_vdim(spy_arg_tensor("b", y), 1), spy_arg_tensor("_result", yx))));
        holds(xy, ab, A * B);
        holds(yx, ba, A * B);
    }
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_prepared(turned, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", yx))), "was prepared for");
    OK(spy_list_call(list, outer, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", xy))));
    OK(spy_list_call(list, mul, SPY_ARGS(spy_vmap(spy_arg_tensor("a", x), SPY_DIMS(1)), spy_vdim(spy_arg_tensor("b", y), 1), spy_arg_tensor("_result", yx))));
    OK(spy_list_finish(list));
    OK(spy_tensor_fill(xy, -1));
    OK(spy_tensor_fill(yx, -1));
    OK(spy_list_submit(list));
    holds(xy, ab, A * B);
    holds(yx, ba, A * B);
    spy_release_command_list(list);
    spy_release_prepared(prepared);
    spy_release_prepared(turned);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_tensor(xy);
    spy_release_tensor(yx);
}

// What a repeated call of a declared function must notice: outputs that share memory with inputs, also after a call that was another
// one, tensors of other sizes, types and devices, released ones, and other numbers.
static void test_repeats(void **state) {
    NEEDS_DEVICE();
    float a[2 * A], expected[A];
    fill(a, 2 * A, 3);
    spy_tensor *all = floats(SPY_SHAPE(2 * A), a, false), *x = floats(SPY_SHAPE(A), a, false), *y = floats(SPY_SHAPE(A), a + 1, false),
               *out = spy_create_slice(all, 0, 1, 1 + A, 1), *before = spy_create_slice(all, 0, 0, A, 1), *longer = floats(SPY_SHAPE(2 * A), NULL, false);
    spy_function *mul = spy_declare(f("mul"), SPY_ARGS(spy_vdim(spy_arg_any("a"), 1)));
    for (int i = 0; i < 5; i++) { // numbers change
        OK(spy_call(mul, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", (float)i), spy_arg_tensor("_result", out))));
        for (int k = 0; k < A; k++) expected[k] = a[k] * (float)i;
        holds(out, expected, A);
    }
    for (int i = 0; i < 5; i++) { // tensors change
        OK(spy_call(mul, SPY_ARGS(spy_arg_tensor("a", i % 2 ? x : y), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))));
        for (int k = 0; k < A; k++) expected[k] = a[k + (i % 2 ? 0 : 1)] * a[k + 1];
        holds(out, expected, A);
    }
    for (int i = 0; i < 3; i++) { // the first argument is taken over, then the call turns out to be another one
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(mul, SPY_ARGS(spy_arg_tensor("a", before), spy_vdim(spy_arg_f32("b", 1), 1), spy_arg_tensor("_result", out))), "'b'");
        FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(mul, SPY_ARGS(spy_arg_tensor("a", before), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))), "memory");
        OK(spy_call(mul, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))));
        FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(mul, SPY_ARGS(spy_arg_tensor("a", longer), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))), "Shape mismatch");
        FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(mul, SPY_ARGS(spy_arg_tensor("a", NULL), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))), "expected a tensor, got NULL");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(mul, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("c", y), spy_arg_tensor("_result", out))), "No parameter named 'c'");
        OK(spy_call(mul, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))));
        for (int k = 0; k < A; k++) expected[k] = a[k] * a[k + 1];
        holds(out, expected, A);
    }
    spy_release_tensor(all);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_tensor(out);
    spy_release_tensor(before);
    spy_release_tensor(longer);
}

static void test_structs(void **state) {
    NEEDS_DEVICE();
    float c[A * 3], p[A], d[B], expected[A * B * 3];
    fill(c, A * 3, 3);
    fill(p, A, 5);
    fill(d, B, 7);
    for (int i = 0; i < A * B * 3; i++) expected[i] = c[i / 3 / B * 3 + i % 3] * p[i / 3 / B] + d[i / 3 % B];
    spy_tensor *color = floats(SPY_SHAPE(A, 3), c, false), *power = floats(SPY_SHAPE(A), p, false), *out = floats(SPY_SHAPE(A, B, 3), NULL, false);
    spy_arg fields[2];
    spy_args parts = { fields, 2 };
    fields[0] = spy_arg_tensor("color", color);
    fields[1] = spy_arg_tensor("power", power);
    spy_arg light = spy_arg_struct("l", parts), distance = spy_vmap(spy_arg_f32n("d", d, B), SPY_DIMS(1)), result = spy_vdim(spy_arg_tensor("_result", out), 2);
    OK(spy_call(f("shine"), SPY_ARGS(spy_vmap(light, SPY_DIMS(0)), distance, result)));
    holds(out, expected, A * B * 3);
    OK(spy_tensor_fill(out, 0));
    spy_function *declared = MADE(spy_function, spy_declare(f("shine"), SPY_ARGS(spy_vcast(spy_vdim(spy_arg_any("l"), 1), "Light"), spy_vmap(spy_arg_any("d"), SPY_DIMS(1)))));
    OK(spy_call(declared, SPY_ARGS(light, spy_arg_f32n("d", d, B), result)));
    holds(out, expected, A * B * 3);
    fields[1] = spy_arg_f32("power", 2); // the same for all
    for (int i = 0; i < A * B * 3; i++) expected[i] = c[i / 3 / B * 3 + i % 3] * 2 + d[i / 3 % B];
    OK(spy_call(declared, SPY_ARGS(light, spy_arg_f32n("d", d, B), result)));
    holds(out, expected, A * B * 3);
    fields[0] = spy_arg_f32n("color", c, 3);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(f("shine"), SPY_ARGS(spy_vdim(light, 1), spy_arg_f32("d", 1))), "'l.color'", "names 1 dimensions, but no part of the argument is run over");
    spy_release_tensor(color);
    spy_release_tensor(power);
    spy_release_tensor(out);
}

// Which overload was called.
static void test_casts(void **state) {
    NEEDS_DEVICE();
    spy_tensor *v = floats(SPY_SHAPE(2, 3), NULL, false), *made = NULL;
    float got[6];
    for (int i = 0; i < 4; i++) {
        OK(spy_call(f("over"), SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, v), "float3"), spy_out_array("_result", got, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))));
        assert_float_equal(got[0] + got[1], 6, 0);
        OK(spy_call(f("over"), SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, v), "float"), spy_out_array("_result", got, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32))));
        assert_float_equal(got[0] + got[5], 2, 0);
        OK(spy_call(spy_declare(f("over"), SPY_ARGS(spy_vcast(spy_arg_any(NULL), "float3"))), SPY_ARGS(spy_arg_tensor(NULL, v), spy_out_tensor("_result", &made))));
        holds(made, (const float[]){ 3, 3 }, 2);
        spy_release_tensor(made);
    }
    spy_release_tensor(v);
}

static void test_gradients(void **state) {
    NEEDS_DEVICE();
    float a[A], b[B], s[A * B], da[A] = { 0 }, db[B] = { 0 };
    fill(a, A, 3);
    fill(b, B, 5);
    fill(s, A * B, 7);
    for (int i = 0; i < A * B; i++) da[i / B] += s[i] * b[i % B], db[i % B] += s[i] * a[i / B];
    spy_tensor *x = floats(SPY_SHAPE(A), a, true), *y = floats(SPY_SHAPE(B), b, true), *out = floats(SPY_SHAPE(A, B), NULL, true);
    OK(spy_tensor_write(spy_tensor_grad(out), s, sizeof s));
    spy_function *outer = spy_declare(f("mul"), SPY_ARGS(spy_vdim(spy_arg_any("a"), 1), spy_vmap(spy_arg_any("b"), SPY_DIMS(1))));
    for (int i = 0; i < 4; i++) {
        OK(spy_tensor_zero_grad(x));
        OK(spy_tensor_zero_grad(y));
        if (i % 2) OK(spy_call_backward(outer, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", out))));
        else OK(spy_call_backward(f("mul"), SPY_ARGS(spy_vdim(spy_arg_tensor("a", x), 1), spy_vmap(spy_arg_tensor("b", y), SPY_DIMS(1)), spy_arg_tensor("_result", out))));
        holds(spy_tensor_grad(x), da, A);
        holds(spy_tensor_grad(y), db, B);
    }
    // a pair of a value and its gradient, with one mapping around both
    spy_tensor *value = spy_create_detached(x), *grad = floats(SPY_SHAPE(A), NULL, false);
    spy_arg both[2];
    spy_args pair = { both, 2 };
    both[0] = spy_arg_tensor(NULL, value);
    both[1] = spy_arg_tensor(NULL, grad);
    OK(spy_call_backward(f("mul"), SPY_ARGS(spy_vmap(spy_arg_diff_pair("a", pair), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("b", y), SPY_DIMS(1)), spy_arg_tensor("_result", out))));
    holds(grad, da, A);
    spy_release_tensor(value);
    spy_release_tensor(grad);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_tensor(out);
}

// The arguments stay as they are, and what comes out is counted.
static void test_gradcheck(void **state) {
    NEEDS_DEVICE();
    if (gpu_other_backend) skip(); // kernels do not run there
    float a[A], b[B], v[A * 3];
    spy_gradcheck_info info;
    spy_gradcheck_desc desc;
    fill(a, A, 3);
    fill(b, B, 5);
    fill(v, A * 3, 7);
    memset(&desc, 0, sizeof desc);
    spy_tensor *x = floats(SPY_SHAPE(A), a, true), *o = floats(SPY_SHAPE(A, 3), NULL, false), *n = floats(SPY_SHAPE(A), NULL, false);
    OK(spy_gradcheck(f("mul"), SPY_ARGS(spy_vdim(spy_arg_tensor("a", x), 1), spy_vmap(spy_arg_f32n("b", b, B), SPY_DIMS(1))), NULL, &info));
    assert_int_equal(info.checked, A + B);
    assert_int_equal(info.wrong, 0);
    holds(x, a, A);
    holds(spy_tensor_grad(x), (const float[A]){ 0 }, A);
    OK(spy_gradcheck(f("split"), SPY_ARGS(spy_arg_array("v", v, SPY_SHAPE(A, 3), SPY_DTYPE_FLOAT32), spy_arg_f32("s", 2), spy_arg_tensor("o", o), spy_arg_tensor("n", n)), NULL, &info));
    assert_int_equal(info.checked, A * 3 + 1);
    OK(spy_gradcheck(f("at"), SPY_ARGS(spy_arg_struct("r", SPY_ARGS(spy_arg_array("origin", v, SPY_SHAPE(A, 3), SPY_DTYPE_FLOAT32), spy_arg_f32n("dir", v, 3), spy_arg_f64("t", 1.5)))), NULL, &info));
    assert_int_equal(info.checked, A * 3 + 3 + 1);
    OK(spy_gradcheck(f("constant"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 3)), NULL, &info));
    assert_int_equal(info.checked, A);
    // generic: in float64, where a tolerance holds that float32 cannot meet
    desc.relative_tolerance = desc.absolute_tolerance = 1e-8;
    OK(spy_gradcheck(f("cube"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 2)), &desc, &info));
    assert_true(info.float64);
    desc.max_elements = 2;
    OK(spy_gradcheck(f("cube"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 2)), &desc, &info));
    assert_int_equal(info.checked, 3);
    // a wrong derivative
    const float w[3] = { 1, 2, 3 };
    FAILS(SPY_ERROR_WRONG_GRADIENT, spy_gradcheck(f("wrong"), SPY_ARGS(spy_arg_f32n("x", w, 3)), NULL, &info), "spy_gradcheck: wrong: 1 of 3 gradients are wrong; the worst: argument 'x', element (2,): expected");
    assert_int_equal(info.wrong, 1);
    assert_string_equal(info.argument, "x");
    assert_int_equal(info.element, 2);
    assert_true(fabs(info.analytic / info.numeric - 1.5) < 1e-3);
    // refused
    float y = 2;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_gradcheck(f("change"), SPY_ARGS(spy_inout_f32("x", &y)), NULL, NULL), "'x' is an inout parameter");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_gradcheck(f("plain"), SPY_ARGS(spy_arg_f32("x", 1)), NULL, NULL), "it is not differentiable");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_gradcheck(f("mul"), SPY_ARGS(spy_arg_f32("a", 1)), NULL, NULL), "Parameter 'b' not specified");
    spy_args wrong = { NULL, 1 };
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_gradcheck(f("mul"), wrong, NULL, NULL), "expected a list of arguments, got NULL");
    desc._end_canary = 1;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_gradcheck(f("mul"), SPY_NO_ARGS, &desc, NULL), "spy_gradcheck_desc");
    assert_int_equal(spy_gradcheck(NULL, SPY_NO_ARGS, NULL, NULL), SPY_ERROR_INVALID_ARGUMENT);
    (void)spy_take_error(NULL);
    spy_release_tensor(x);
    spy_release_tensor(o);
    spy_release_tensor(n);
}

int main(void) {
    spy_device_desc desc = gpu_desc();
    gpu_device = gpu_open(&desc);
    if (gpu_device) module = gpu_module(gpu_device, "functional", source);
    if (gpu_device && !module) {
        print_error("%s\n", spy_take_error(gpu_device).message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns), cmocka_unit_test(test_repeats), cmocka_unit_test(test_structs), cmocka_unit_test(test_casts), cmocka_unit_test(test_gradients), cmocka_unit_test(test_gradcheck),
    };
    if (getenv("SPY_TEST_ONLY")) cmocka_set_test_filter(getenv("SPY_TEST_ONLY"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spy_release_device(gpu_device);
    return failed;
}
