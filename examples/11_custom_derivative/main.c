// 11_custom_derivative: functions that bring a derivative of their own, with the box filter of the slang-torch
// guide. Prints what is checked: how pixels of a picture matter to a few of its blurred version.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where box_filter.slang lies; otherwise run the program beside it
#endif

enum { HEIGHT = 48, WIDTH = 64 };
typedef float picture[HEIGHT][WIDTH];

static bool wrong(const char *what, double got, double expected) {
    fprintf(stderr, "%s: got %.9g, expected %.9g\n", what, got, expected);
    return false;
}

static bool same(const char *what, picture got, picture expected) {
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            if (fabsf(got[y][x] - expected[y][x]) > 1e-5f)
                return wrong(what, (double)got[y][x], (double)expected[y][x]);
    return true;
}

// The filter in C, and what it means for gradients: each result hands its own to the pixels that it is the mean of.
static void filter_in_c(picture image, picture out, picture out_gradient, picture image_gradient) {
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int y0 = y ? y - 1 : y, y1 = y + 1 < HEIGHT ? y + 1 : y, x0 = x ? x - 1 : x,
                x1 = x + 1 < WIDTH ? x + 1 : x;
            float count = (float)((y1 - y0 + 1) * (x1 - x0 + 1)), sum = 0;
            for (int v = y0; v <= y1; v++) {
                for (int u = x0; u <= x1; u++) {
                    sum += image[v][u];
                    image_gradient[v][u] += out_gradient[y][x] / count;
                }
            }
            out[y][x] = sum / count;
        }
    }
}

static bool filters(spy_device *dev, spy_module *mod) {
    static picture image, seeds, expected, expected_gradient, got;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) image[y][x] = (float)((x / 8 + y / 8) % 2) + 0.01f * (float)x;
    seeds[0][0] = seeds[20][30] = seeds[21][32] = seeds[47][63] = 1; // the results that matter
    filter_in_c(image, expected, seeds, expected_gradient);

    const spy_shape shape = SPY_SHAPE(HEIGHT, WIDTH);
    spy_tensor *result = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .with_grad = true });
    spy_tensor *plain = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .data = image });
    spy_tensor *gradient = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .zeroed = true });
    spy_tensor_write(spy_tensor_grad(result), seeds, sizeof seeds);

    // 1. By hand: the image and its gradient are two tensors, taken whole, and the function's own derivative
    //    adds to the second. The call itself has no gradient of an input to add to.
    spy_function *by_hand = spy_find_function(mod, "filter_by_hand");
    spy_args args = SPY_ARGS(spy_arg_tensor("image", plain), spy_arg_tensor("gradient", gradient),
                             spy_arg_call_id("pixel"), spy_arg_tensor("_result", result));
    spy_call(by_hand, args);
    spy_call_backward(by_hand, args);
    spy_tensor_read(result, got, sizeof got);
    if (!same("a blurred pixel", got, expected)) return false;
    spy_tensor_read(gradient, got, sizeof got);
    if (!same("a gradient by hand", got, expected_gradient)) return false;

    // 2. A DiffTensor takes a tensor together with its gradient, and its loads do the same.
    spy_tensor *both =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .data = image, .with_grad = true });
    spy_call_backward(
        spy_find_function(mod, "filter"),
        SPY_ARGS(spy_arg_tensor("image", both), spy_arg_call_id("pixel"), spy_arg_tensor("_result", result)));
    spy_tensor_read(spy_tensor_grad(both), got, sizeof got);
    if (!same("a gradient by the library", got, expected_gradient)) return false;
    double total = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) total += (double)got[y][x];
    printf("4 pixels of the blurred picture depend on pixels with gradients of %.4f in all\n", total);
    return fabs(total - 4) < 1e-4 || wrong("all gradients", total, 4);
}

// 3. A derivative may also be what one would like it to be. Rounding has none to speak of; with the slope of
//    a straight line instead, gradient descent goes through it ("straight-through").
static bool rounding(spy_device *dev, spy_module *mod) {
    static const float start[3] = { 0.1f, 0.5f, 0.9f }, targets[3] = { 0.75f, 0.25f, 0.5f };
    float x[3] = { 0 }, slope[3] = { 0 };
    spy_tensor *t =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(3), .data = start, .with_grad = true });
    spy_arg one = spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1)));
    for (int i = 0; i < 3; i++) x[i] = start[i];
    for (int step = 0; step < 60; step++) {
        spy_tensor_zero_grad(t);
        spy_call_backward(spy_find_function(mod, "distance"),
                          SPY_ARGS(spy_arg_tensor("x", t),
                                   spy_arg_array("target", targets, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                                   spy_arg_f32("levels", 4), one));
        spy_tensor_read(spy_tensor_grad(t), slope, sizeof slope);
        for (int i = 0; i < 3; i++) x[i] -= 0.05f * slope[i];
        spy_tensor_write(t, x, sizeof x);
    }
    for (int i = 0; i < 3; i++) {
        float rounded = roundf(4 * x[i]) / 4;
        printf("%g rounds to %g\n", (double)x[i], (double)rounded);
        if (rounded != targets[i]) return wrong("a rounded number", (double)rounded, (double)targets[i]);
    }
    return true;
}

int main(void) {
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "box_filter.slang" });
    bool good = filters(dev, mod) && rounding(dev, mod);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
