// 10_gradient: derivatives of Slang functions, by spy_call_backward and spy_call_forward_diff. Prints a
// parabola at four places with its slopes there, and fits another one to points.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where gradient.slang lies; otherwise run the program beside it
#endif

enum { POINTS = 1000, STEPS = 2000 };

static bool wrong(const char *what, double got, double expected) {
    fprintf(stderr, "%s: got %.9g, expected %.9g\n", what, got, expected);
    return false;
}

static bool same(const char *what, const float *got, const float *expected, int count) {
    for (int i = 0; i < count; i++)
        if (fabsf(got[i] - expected[i]) > 1e-4f) return wrong(what, (double)got[i], (double)expected[i]);
    return true;
}

static spy_tensor *numbers(spy_device *dev, spy_shape shape, const float *data) {
    return spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .data = data, .with_grad = true });
}

// 1. Backward: how the result changes with each input. A tensor that is made `with_grad` has a second one
//    beside it, spy_tensor_grad(), of the same shape and all zero. The call takes the same arguments as
//    spy_call: it reads the gradient of the result, here 1 everywhere ("how much do you care about each
//    result?"), and adds to the gradients of the inputs. a, b and c have none: they are constants.
static bool slopes(spy_device *dev, spy_function *parabola) {
    float at[4] = { 0 }, slope[4] = { 0 };
    spy_tensor *x = numbers(dev, SPY_SHAPE(4), (const float[]){ 1, 2, 3, 4 });
    spy_tensor *result = numbers(dev, SPY_SHAPE(4), NULL);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("a", 2), spy_arg_f32("b", 8),
                             spy_arg_f32("c", -1), spy_arg_tensor("_result", result));
    spy_call(parabola, args);
    spy_tensor_fill(spy_tensor_grad(result), 1);
    spy_call_backward(parabola, args);
    spy_tensor_read(result, at, sizeof at);
    spy_tensor_read(spy_tensor_grad(x), slope, sizeof slope);
    for (int i = 0; i < 4; i++)
        printf("2 x^2 + 8 x - 1 at %d is %g, its slope %g\n", i + 1, (double)at[i], (double)slope[i]);
    return same("the parabola", at, (const float[]){ 9, 23, 41, 63 }, 4) &&
           same("its slope", slope, (const float[]){ 12, 16, 20, 24 }, 4);
}

// 2. An input that all elements share gets the sum of what each of them has to say. Gradients are added to,
//    never overwritten: two calls give twice as much, until spy_tensor_zero_grad().
static bool sums(spy_device *dev, spy_function *parabola) {
    float da = 0;
    spy_tensor *x = numbers(dev, SPY_SHAPE(4), (const float[]){ 1, 2, 3, 4 });
    spy_tensor *a = numbers(dev, SPY_SHAPE(1), (const float[]){ 2 });
    spy_tensor *result = numbers(dev, SPY_SHAPE(4), NULL);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("a", a), spy_arg_f32("b", 8),
                             spy_arg_f32("c", -1), spy_arg_tensor("_result", result));
    spy_tensor_fill(spy_tensor_grad(result), 1);
    spy_call_backward(parabola, args);
    spy_call_backward(parabola, args);
    spy_tensor_read(spy_tensor_grad(a), &da, sizeof da);
    return same("the gradient of a", &da, (const float[]){ 2 * (1 + 4 + 9 + 16) }, 1);
}

// 3. Without tensors: a value and its gradient as a pair. The gradient of an input is `inout`, as it is added
//    to; that of the result is a number.
static bool pairs(spy_function *parabola) {
    float dx = 0;
    spy_arg x = spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx)));
    spy_arg result = spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1)));
    spy_call_backward(parabola,
                      SPY_ARGS(x, spy_arg_f32("a", 2), spy_arg_f32("b", 8), spy_arg_f32("c", -1), result));
    return same("a slope", &dx, (const float[]){ 20 }, 1);
}

// 4. Forward mode: the gradients of the inputs say in which direction to go, and the call computes the result
//    together with how fast it changes that way. Here x and c move, x twice as fast.
static bool directions(spy_function *parabola) {
    float at = 0, speed = 0;
    spy_arg x = spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 2)));
    spy_arg c = spy_arg_diff_pair("c", SPY_ARGS(spy_arg_f32(NULL, -1), spy_arg_f32(NULL, 1)));
    spy_arg result =
        spy_arg_diff_pair("_result", SPY_ARGS(spy_out_f32(NULL, &at), spy_out_f32(NULL, &speed)));
    spy_call_forward_diff(parabola, SPY_ARGS(x, spy_arg_f32("a", 2), spy_arg_f32("b", 8), c, result));
    return same("the value", &at, (const float[]){ 41 }, 1) &&
           same("the speed", &speed, (const float[]){ 41 }, 1);
}

// 5. What it is good for: a parabola through points, by gradient descent. Nothing is waited for until the end,
//    and after the first round nothing is allocated.
static bool fit(spy_device *dev, spy_module *mod) {
    static float xs[POINTS], ys[POINTS];
    static const float truth[3] = { 0.5f, -1, 2 };
    float found[3] = { 0 };
    for (int i = 0; i < POINTS; i++) {
        xs[i] = 4.0f * (float)i / POINTS - 2;
        ys[i] = (truth[0] * xs[i] + truth[1]) * xs[i] + truth[2];
    }
    spy_function *distance = spy_find_function(mod, "distance"), *descend = spy_find_function(mod, "descend");
    spy_tensor *x = numbers(dev, SPY_SHAPE(POINTS), xs), *y = numbers(dev, SPY_SHAPE(POINTS), ys);
    spy_tensor *abc = numbers(dev, SPY_SHAPE(3), (const float[]){ 0, 0, 0 });
    spy_tensor *a = spy_create_slice(abc, 0, 0, 1, 1), *b = spy_create_slice(abc, 0, 1, 2, 1),
               *c = spy_create_slice(abc, 0, 2, 3, 1); // views see the gradients of what they are views of
    spy_arg result =
        spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1.0f / POINTS)));
    for (int step = 0; step < STEPS; step++) {
        spy_call_backward(distance,
                          SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("a", a),
                                   spy_arg_tensor("b", b), spy_arg_tensor("c", c), result));
        spy_call(descend,
                 SPY_ARGS(spy_arg_tensor("value", abc), spy_arg_tensor("gradient", spy_tensor_grad(abc)),
                          spy_arg_f32("rate", 0.1f)));
    }
    spy_tensor_read(abc, found, sizeof found);
    printf("fitted: %.4f x^2 + %.4f x + %.4f\n", (double)found[0], (double)found[1], (double)found[2]);
    return same("the fit", found, truth, 3);
}

int main(void) {
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "gradient.slang" });
    spy_function *parabola = spy_find_function(mod, "parabola");
    bool good = slopes(dev, parabola) && sums(dev, parabola) && pairs(parabola) && directions(parabola) &&
                fit(dev, mod);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
