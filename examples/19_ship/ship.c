// 19_ship: a program that is shipped without the Slang compiler and without Slang files. Its build (CMakeLists.txt) compiled the calls
// that ship.txt lists, on a machine that need not have a GPU, into an array of bytes and a header with a function for each call.
// Prints how bright points are under a light, and how that changes with their height.

#define SLANGPY_NO_COMPILER // leaves out what drives the Slang compiler: half of the library
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"

#include "ship.h"      // ship_load(), ship_shade(), ship_shade_backward(): arguments that do not fit do not compile
#include "ship_pack.h" // pack_ship_pack: the compiled calls
#include <math.h>
#include <stdio.h>

enum { N = 1000 }; // ship.txt names no sizes

int main(void) {
    spy_device *dev = spy_create_device(&(spy_device_desc){
        .backend = spy_vk_backend(),
        .pack_data = pack_ship_pack,
        .pack_size_bytes = sizeof pack_ship_pack,
        .log = { .func = spy_log_stderr },
    });
    if (!dev) return 1;
    spy_module *mod = ship_load(dev);

    static float height[N], bright[N], slope[N];
    for (int i = 0; i < N; i++) height[i] = (float)i / N;
    spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(N), .data = height, .with_grad = true });
    spy_tensor *y = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(N), .with_grad = true });
    const ship_Light light = { .color = { 1, 0.5f, 2 }, .power = 10 };

    ship_shade(mod, &(ship_shade_args){ .light = light, .height = x, ._result = y });
    spy_tensor_fill(spy_tensor_grad(y), 1);
    ship_shade_backward(mod, &(ship_shade_backward_args){ .light = light, .height = x, ._result = y });
    spy_tensor_read(y, bright, sizeof bright);
    spy_tensor_read(spy_tensor_grad(x), slope, sizeof slope);

    bool right = true;
    for (int i = 0; i < N; i++) {
        double h = height[i], all = (0.3 * 1 + 0.6 * 0.5 + 0.1 * 2) * 10;
        right = right && fabs(bright[i] - all / (1 + h * h)) < 1e-4 &&
                fabs(slope[i] + 2 * h * all / ((1 + h * h) * (1 + h * h))) < 1e-4;
    }
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    else printf("bright[500] = %.3f, slope[500] = %.3f, %s; the compiler was opened %d times\n", (double)bright[500],
                (double)slope[500], right ? "all right" : "WRONG", (int)spy_get_device_stats(dev).compiler_loads);
    spy_release_device(dev);
    return err.code != SPY_OK || !right;
}
