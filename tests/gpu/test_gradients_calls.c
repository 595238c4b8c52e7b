// Backward calls in lists, with preludes and without elements, prepared and timed; where results and parameters' gradients go; and
// what is refused.
#include "gradients.h"

// >>what is refused

static void test_tensor_errors(void **state) {
    NEEDS_DEVICE();
    spy_tensor *good = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false), *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false), *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(3);
    d.with_grad = true;
    d.dtype = SPY_DTYPE_INT32;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_create_tensor", "with_grad", "int", "no gradients");
    d.dtype = SPY_DTYPE_DEFAULT;
    d.type = "Lost";
    d.module = module;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "Lost", "IDifferentiable");
    d.type = NULL;
    d.grad_in = good;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "with_grad", "both");
    d.with_grad = false;
    d.grad_out = small;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "grad_out", "(3,)", "(2,)");
    d.grad_out = ints;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "grad_out", "float", "int");
    assert_null(spy_tensor_grad(good)); // none is no error
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_tensor_zero_grad(good), "spy_tensor_zero_grad", "no gradients");
    assert_null(spy_tensor_grad(NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    RELEASE(good, small, ints);
}

static void test_errors(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3)), *none = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false),
               *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false), *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false), *fresh = NULL;
    float f;
    // not differentiable, with Slang's reason
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(fn("plain"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r))), "spy_call_backward",
          "plain", "not differentiable", "[Differentiable]", "Slang says", "bwd_diff");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_forward_diff(fn("plain"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r))), "not differentiable");
    // gradients that are missing
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", none))), "'_result' has no gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_out_f32("_result", &f))), "'_result' has no gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_out_tensor("_result", &fresh))), "'_result' has no gradient");
    assert_null(fresh);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1))), "none of its outputs has a gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))), "none of its inputs has a gradient");
    // of another shape or type
    FAILS(SPY_ERROR_SHAPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, small))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x'", "(3,)", "(2,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, ints))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x.grad'", "expected float", "int tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, // fields are no gradient of a number
          spy_call_forward_diff(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_struct(NULL, SPY_ARGS(spy_arg_f32("a", 1))))),
                                                      spy_arg_f32("w", 1), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_f32(NULL, &f), spy_out_f32(NULL, &f))))),
          "'x.grad'", "expected float", "struct of 1 fields");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_f32(NULL, 1))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x.grad'", "inout");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x'", "a value and its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times_n"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_diff_pair("n", SPY_ARGS(spy_arg_i32(NULL, 1), spy_arg_tensor(NULL, none))), spy_arg_tensor("_result", r))),
          "'n': int has no gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("saxpy"), SPY_ARGS(spy_arg_diff_pair("a", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, x))), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", r))),
          "'a' is no_diff");
    spy_tensor *long_r = seeded(SPY_SHAPE(4));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", long_r))), "Shape mismatch");
    // in memory that is read
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, none))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "gradient 'x.grad'", "same memory as 'x'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", r), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))), "same memory as '_result.grad'");
    float shared[4] = { 0 }, own = 0;
    const float three[3] = { 1, 2, 3 };
    for (int i = 0; i < 2; i++)
        FAILS(SPY_ERROR_INVALID_ARGUMENT,
              spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_array(NULL, three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_inout_array(NULL, shared, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))),
                                                      spy_arg_diff_pair("w", SPY_ARGS(spy_arg_array(NULL, three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_inout_array(NULL, shared + i, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), spy_arg_tensor("_result", r))),
              "gradients 'x.grad' and 'w.grad'", "same host memory");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_tensor("_result", r))),
          "gradients 'x.grad' and 'w.grad'", "same host memory");
    assert_float_equal(own + shared[1], 0, 0);
    // a struct without gradients, which Slang takes as no_diff
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("use_lost2"), SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_tensor("a", x))), spy_arg_f32("x", 1), spy_arg_tensor("_result", r))),
          "no_diff Lost l", "none of its inputs has a gradient");
    // atomics in no order
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = true;
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("gather"), SPY_ARGS(spy_arg_tensor("w", x), spy_arg_call_id("i"), spy_arg_f32("x", 1), spy_arg_tensor("_result", r)), &o), "'w'", "deterministic");
    o.mode = (spy_call_mode)9;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", r)), &o), "mode is not one of spy_call_mode");
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = false;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn("times"), (spy_uint3){ 1, 1, 1 }, SPY_NO_ARGS, &o), "a dispatch computes no gradients");
    HOLDS(spy_tensor_grad(x), 0, 0, 0); // nothing was touched
    HOLDS(spy_tensor_grad(r), 1, 1, 1);
    RELEASE(x, r, none, small, ints, long_r);
}

// >>lists, preludes, empty calls

static void test_elsewhere(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(300, 200), NULL), *w = floats(SPY_SHAPE(200), NULL), *r = seeded(SPY_SHAPE(300, 200));
    OK(spy_tensor_fill(x, 2));
    OK(spy_tensor_fill(w, 3));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r));
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        o.deterministic = deterministic;
        OK(spy_call_with(fn("times"), args, &o));
    }
    OK(spy_list_finish(o.append_to));
    HOLDS(MADE(spy_tensor, spy_create_slice(spy_tensor_grad(w), 0, 0, 1, 1)), 0);
    OK(spy_list_submit(o.append_to));
    OK(spy_list_submit(o.append_to));
    double want[200];
    for (int i = 0; i < 200; i++) want[i] = 4 * 600;
    HOLDS_ALL(spy_tensor_grad(w), want, 200);
    spy_release_command_list(o.append_to);
    // what teams leave belongs to the list: memory that the pool gives out meanwhile is other memory
    enum { N = 100000 };
    spy_tensor *many = floats(SPY_SHAPE(N), NULL), *shared = floats(SPY_SHAPE(1), NULL), *seeds = seeded(SPY_SHAPE(N));
    OK(spy_tensor_fill(many, 0.5));
    OK(spy_tensor_fill(shared, 1));
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    o.deterministic = true;
    OK(spy_call_with(fn("times"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_tensor("w", shared), spy_arg_tensor("_result", seeds)), &o));
    OK(spy_list_finish(o.append_to));
    assert_int_equal(spy_get_list_info(o.append_to).op_count, 2);
    for (int i = 0; i < 3; i++) {
        spy_tensor *other[40];
        for (int k = 0; k < 40; k++) {
            other[k] = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(1 + k * 3), NULL, false);
            OK(spy_tensor_fill(other[k], 1e6));
        }
        OK(spy_list_submit(o.append_to));
        for (int k = 0; k < 40; k++) {
            float first;
            OK(spy_tensor_read_range(other[k], 0, 1, &first, sizeof first));
            assert_float_equal(first, 1e6, 0);
        }
        release(other, 40);
    }
    HOLDS(spy_tensor_grad(shared), 1.5 * N);
    spy_release_command_list(o.append_to);
    RELEASE(many, shared, seeds);
    // nothing to do
    spy_tensor *empty = floats(SPY_SHAPE(0), NULL), *re = floats(SPY_SHAPE(0), NULL), *one = floats(SPY_SHAPE(1), (float[]){ 1 });
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", empty), spy_arg_tensor("w", one), spy_arg_tensor("_result", re))));
    HOLDS(spy_tensor_grad(one), 0);
    char text[20000];
    o.append_to = NULL;
    o.deterministic = false;
    assert_true(spy_explain_call(fn("times"), args, &o, text, sizeof text) > 0);
    assert_non_null(strstr(text, "bwd_diff(spyi_element)"));
    assert_non_null(strstr(text, "w.grad"));
    RELEASE(x, w, r, empty, re, one);
}

// >>prepared, timed, results of whatever kind

static uint64_t kernels(void) {
    return spy_get_device_stats(gpu_device).kernels_built;
}

// A parameter that is a uniform buffer, or an array of buffers, takes no part in the derivative.
static void test_buffer_parameters(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "buffer_parameters",
                                                "struct Gains { float s; float3 t; }\n"
                                                "[Differentiable] float held(no_diff ConstantBuffer<Gains> g, float x) { return x * x * g.s * g.t.y; }\n"
                                                "[Differentiable] float of_two(no_diff StructuredBuffer<float> b[2], float x)\n"
                                                "{ return x * x * no_diff(b[0][1]) * no_diff(b[1][0]); }\n"));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3)), *b = floats(SPY_SHAPE(2), (float[]){ 5, 2 });
    spy_arg arg = spy_arg_struct("g", SPY_ARGS(spy_arg_f32("s", 5), spy_arg_f32n("t", (float[]){ 1, 2, 3 }, 3)));
    spy_arg two = spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, b), spy_arg_tensor(NULL, b)));
    spy_function *held = MADE(spy_function, spy_find_function(m, "held")), *of_two = MADE(spy_function, spy_find_function(m, "of_two"));
    for (int k = 0; k < 2; k++) {
        OK(spy_tensor_fill(spy_tensor_grad(x), 0));
        OK(spy_call_backward(k ? of_two : held, SPY_ARGS(k ? two : arg, spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
        HOLDS(spy_tensor_grad(x), 20, 40, 60);
        OK(spy_tensor_fill(spy_tensor_grad(x), 1));
        spy_tensor *out = floats(SPY_SHAPE(3), NULL);
        OK(spy_call_forward_diff(k ? of_two : held, SPY_ARGS(k ? two : arg, spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
        HOLDS(out, 10, 40, 90);
        HOLDS(spy_tensor_grad(out), 20, 40, 60);
        RELEASE(out);
    }
    RELEASE(x, r, b);
    spy_release_module(m);
}

// What is prepared has every kernel of the call: of its passes, and of gradients that lie in the same memory.
static void test_prepared(void **state) {
    NEEDS_DEVICE();
    for (int i = 0; i < 8; i++) {
        bool async = (i & 1) != 0, same = (i & 2) != 0;
        spy_module *own = MADE(spy_module, gpu_module(gpu_device, NULL, "[Differentiable] float times(float x, float w) { return x * w; }"));
        spy_function *f = MADE(spy_function, spy_find_function(own, "times"));
        spy_tensor *x = floats(SPY_SHAPE(300, 200), NULL), *w = floats(SPY_SHAPE(200), NULL), *r = seeded(SPY_SHAPE(300, 200));
        OK(spy_tensor_fill(x, 2));
        OK(spy_tensor_fill(w, 3));
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        o.deterministic = (i & 4) != 0;
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        d.options = &o;
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", same ? x : w), spy_arg_tensor("_result", r));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, &d));
        while (spy_prepared_ready(p) == SPY_ERROR_NOT_READY) {}
        OK(spy_prepared_ready(p));
        uint64_t before = kernels();
        OK(spy_call_prepared(p, args));
        assert_int_equal(kernels(), before);
        double want[200];
        for (int k = 0; k < 200; k++) want[k] = same ? 2 + 2 : 2 * 300;
        spy_tensor *grad = same ? MADE(spy_tensor, spy_create_slice(spy_tensor_grad(x), 0, 7, 8, 1)) : NULL;
        HOLDS_ALL(same ? grad : spy_tensor_grad(w), want, 200);
        uint64_t ns = 0; // of all passes
        OK(spy_time_call(f, args, &o, &ns));
        assert_true(ns > 0);
        for (int k = 0; k < 200; k++) want[k] *= 2;
        HOLDS_ALL(same ? grad : spy_tensor_grad(w), want, 200);
        spy_release_tensor(grad);
        spy_release_prepared(p);
        RELEASE(x, w, r);
        spy_release_module(own);
    }
}

static void test_results(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 });
    spy_result value, grad;
    memset(&value, 0, sizeof value);
    memset(&grad, 0, sizeof grad);
    OK(spy_tensor_fill(spy_tensor_grad(x), 1));
    OK(spy_call_forward_diff(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &value), spy_out_result(NULL, &grad))))));
    assert_non_null(value.tensor);
    assert_non_null(grad.tensor);
    HOLDS(value.tensor, 5, 10, 15);
    HOLDS(grad.tensor, 5, 5, 5);
    RELEASE(value.tensor, grad.tensor);
    float one = 1;
    spy_arg pair = spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, one)));
    OK(spy_call_forward_diff(fn("times"), SPY_ARGS(pair, spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &value), spy_out_result(NULL, &grad))))));
    assert_null(grad.tensor);
    assert_int_equal(grad.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(grad.size_bytes, 4);
    memcpy(&one, value.data, 4);
    assert_float_equal(one, 15, 0);
    memcpy(&one, grad.data, 4);
    assert_float_equal(one, 5, 0);
    // of functions without a result, and of one that has no gradient
    spy_result none[2];
    memset(none, 0, sizeof none);
    float in_a = 0, tangent_a = 0;
    spy_arg a = spy_arg_diff_pair("a", SPY_ARGS(spy_out_f32(NULL, &in_a), spy_out_f32(NULL, &tangent_a))), taken = spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &none[0]), spy_out_result(NULL, &none[1])));
    OK(spy_call_forward_diff(fn("two"), SPY_ARGS(pair, a, spy_out_f32("b", &one), taken)));
    assert_null(none[0].type);
    assert_null(none[1].type);
    assert_float_equal(tangent_a, 6, 0);
    OK(spy_call_forward_diff(fn("counted"), SPY_ARGS(pair, a, taken)));
    assert_string_equal(none[0].type, "int");
    assert_null(none[1].type);
    assert_float_equal(tangent_a, 6, 0);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_forward_diff(fn("counted"), SPY_ARGS(pair, a, spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &none[0]), spy_out_f32(NULL, &one))))), "int has no gradient");
    one = 5;
    // backward calls compute no outputs: what takes one stays as it is
    spy_result untouched = grad;
    spy_tensor *made = x;
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &grad), spy_arg_f32(NULL, 1))))));
    assert_memory_equal(&untouched, &grad, sizeof grad);
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_tensor(NULL, &made), spy_arg_f32(NULL, 1))))));
    assert_ptr_equal(made, x);
    HOLDS(spy_tensor_grad(x), 11, 11, 11);
    // a mapping around a pair is that of the value and of its gradient
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_backward(fn("times"), SPY_ARGS(spy_vdim(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, spy_tensor_grad(x)))), 2), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))), "'x': its mapping names 2 dimensions, but 1 of its 1 are run over");
    RELEASE(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_errors), cmocka_unit_test(test_errors), cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_buffer_parameters), cmocka_unit_test(test_prepared), cmocka_unit_test(test_results),
    };
    return RUN_GRADIENT_TESTS(tests);
}
