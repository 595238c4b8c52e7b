// 01_hello: two Slang functions called from C. Prints "y[3] = 9, sum = 3".
//
// hello.slang has the functions; this file is all that a program needs to call them.

// 1. One file of a program defines SLANGPY_IMPLEMENTATION: there the library itself is compiled. The
//    backend's header includes slangpy.h. In that file our headers come first.
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where hello.slang lies; otherwise run the program beside it
#endif

int main(void) {
    // 2. A device is one GPU. Every desc may be zero but for what is needed: here the backend. Mesa's
    //    lavapipe is a device too, so this runs without a GPU. The log tells of errors the moment they
    //    happen.
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });

    // 3. A module is a .slang file, a function one of its functions. Nothing is compiled to GPU code yet:
    //    that happens at the first call with each kind of arguments.
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "hello.slang" });
    spy_function *add = spy_find_function(mod, "add");
    spy_function *saxpy = spy_find_function(mod, "saxpy");

    // 4. The simplest call: numbers in, a number out. Arguments without a name (NULL) go by position. A
    //    result into host memory is there when spy_call returns, so the call waits for the GPU.
    float sum = 0;
    spy_call(add, SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2), spy_out_f32("_result", &sum)));

    // 5. Tensors are arrays on the device. `x` gets these four numbers, `out` is not initialised.
    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(4), .data = data });
    spy_tensor *out = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(4) });

    // 6. saxpy takes one float for `x`, and gets four: the call runs over them. `a` and `y` are the same for
    //    all. The call only records work for the GPU and returns; nothing is waited for.
    spy_call(saxpy, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1),
                             spy_arg_tensor("_result", out)));

    // 7. A result may also be a new tensor, of whatever shape the call has. `out` goes in as the argument
    //    `x`, which needs no wait either: calls on a device take place in their order.
    spy_tensor *again = NULL;
    spy_call(saxpy, SPY_ARGS(spy_arg_f32("a", 10), spy_arg_tensor("x", out), spy_arg_tensor("y", x),
                             spy_out_tensor("_result", &again)));

    // 8. Reading waits for exactly the work that writes the tensor.
    float y[4] = { 0 }, z[4] = { 0 };
    spy_tensor_read(out, y, sizeof y);
    spy_tensor_read(again, z, sizeof z);

    // 9. Every function may fail, and every function accepts the NULL that a failed one gave. So it is enough
    //    to ask at the end: the device keeps its first error, and NULL asks for those of a device that could
    //    not be created.
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) {
        fprintf(stderr, "%s\n", err.message);
        spy_release_device(dev);
        return 1;
    }
    printf("y[3] = %g, sum = %g\n", (double)y[3], (double)sum);

    // 10. Did the GPU compute what C computes? All of these numbers are exact in float.
    bool good = sum == 3;
    for (int i = 0; i < 4; i++) good = good && y[i] == 2 * data[i] + 1 && z[i] == 10 * y[i] + data[i];
    if (!good) fprintf(stderr, "wrong results\n");

    // 11. What create_*, load_* and spy_out_tensor gave can be released one by one; releasing the device
    //     releases the rest.
    spy_release_tensor(again);
    spy_release_device(dev);
    return good ? 0 : 1;
}
