// 01_hello in C++: the program of main.c, whose comments explain the steps. Descs are filled by assignment, the rest is the
// same. Here the library's implementation is in another file of the program, compiled as C11 or as C++17 and later:
//
//     #define SLANGPY_IMPLEMENTATION
//     #include "slangpy_vk.h"
//
// This file needs the declarations only, which are C++11.
#include "slangpy_vk.h"
#include <cstdio>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER ""
#endif

int main() {
    spy_device_desc device_desc = {};
    device_desc.backend = spy_vk_backend();
    device_desc.log.func = spy_log_stderr;
    spy_device *dev = spy_create_device(&device_desc);

    spy_module_desc module_desc = {};
    module_desc.path = EXAMPLE_FOLDER "hello.slang";
    spy_module *mod = spy_load_module(dev, &module_desc);
    spy_function *add = spy_find_function(mod, "add");
    spy_function *saxpy = spy_find_function(mod, "saxpy");

    float sum = 0;
    spy_call(add, SPY_ARGS(spy_arg_f32(nullptr, 1), spy_arg_f32(nullptr, 2), spy_out_f32("_result", &sum)));

    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor_desc x_desc = {}, out_desc = {};
    x_desc.shape = SPY_SHAPE(4);
    x_desc.data = data;
    out_desc.shape = SPY_SHAPE(4);
    spy_tensor *x = spy_create_tensor(dev, &x_desc);
    spy_tensor *out = spy_create_tensor(dev, &out_desc);

    spy_call(saxpy, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1),
                             spy_arg_tensor("_result", out)));

    // SPY_ARGS is a list of arguments by value in C++: kept with `auto`, it may be used many times.
    spy_tensor *again = nullptr;
    auto list = SPY_ARGS(spy_arg_f32("a", 10), spy_arg_tensor("x", out), spy_arg_tensor("y", x),
                         spy_out_tensor("_result", &again));
    spy_call(saxpy, list);

    float y[4] = {}, z[4] = {};
    spy_tensor_read(out, y, sizeof y);
    spy_tensor_read(again, z, sizeof z);

    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) {
        std::fprintf(stderr, "%s\n", err.message);
        spy_release_device(dev);
        return 1;
    }
    std::printf("y[3] = %g, sum = %g\n", double(y[3]), double(sum));

    bool good = sum == 3;
    for (int i = 0; i < 4; i++) good = good && y[i] == 2 * data[i] + 1 && z[i] == 10 * y[i] + data[i];
    if (!good) std::fprintf(stderr, "wrong results\n");
    spy_release_tensor(again);
    spy_release_device(dev);
    return good ? 0 : 1;
}
