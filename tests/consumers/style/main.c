// The program that the manual begins with, whole: a call, its gradient, and results.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"                     // includes slangpy.h
#include <stdio.h>

int main(void) {
    spy_device *dev = spy_create_device(&(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = "saxpy.slang" });
    spy_function *saxpy = spy_find_function(mod, "saxpy");

    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(4), .data = data, .with_grad = true });
    spy_tensor *out = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(4), .with_grad = true });

    spy_call(saxpy, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out)));

    spy_tensor_fill(spy_tensor_grad(out), 1);               // seed; backward adds to x's gradient and only reads out's
    spy_call_backward(saxpy, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out)));

    float y[4], dx[4], sum;
    spy_tensor_read(out, y, sizeof y);                       // waits for the GPU
    spy_tensor_read(spy_tensor_grad(x), dx, sizeof dx);
    spy_call(spy_find_function(mod, "add"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2), spy_out_f32("_result", &sum)));

    spy_error err = spy_take_error(dev);                     // the first error since the last take; a NULL device answers too
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    else printf("y[3] = %g, dx[3] = %g, sum = %g\n", (double)y[3], (double)dx[3], (double)sum);
    spy_release_device(dev);
    return err.code != SPY_OK;
}
