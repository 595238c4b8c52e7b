// 20_fuse [PICTURE.png|jpg] [OUTPUT.png]: a photograph through seven Slang functions, first by a call for each,
// then by one kernel that the library makes of all of them.
//
// Each call of its own reads a picture from memory and writes one. The fused function keeps the values between
// the steps in registers: it reads three bytes a pixel and writes three.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where pipeline.slang lies; otherwise run the program beside it
#endif

static const float stops = 0.6f, warmth = 0.12f, amount = 1.25f;

// Calls one function and adds its time on the GPU. The first call compiles, the second is the one to time.
static void step(spy_function *function, spy_args args, uint64_t *time_ns) {
    uint64_t ns = 0;
    spy_call(function, args);
    spy_time_call(function, args, NULL, &ns);
    *time_ns += ns;
}

int main(int argc, char **argv) {
    const char *in_path = argc > 1 ? argv[1] : EXAMPLE_FOLDER "../../build/data/astronaut.png";
    const char *out_path = argc > 2 ? argv[2] : "fused.png";
    int width = 0, height = 0;
    unsigned char *pixels = stbi_load(in_path, &width, &height, NULL, 3);
    if (!pixels) {
        fprintf(stderr, "cannot read '%s': %s (tools/setup fetches the default one)\n", in_path, stbi_failure_reason());
        return 1;
    }

    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "pipeline.slang" });
    spy_function *decode = spy_find_function(mod, "decode"), *expose = spy_find_function(mod, "expose"),
                 *balance = spy_find_function(mod, "balance"), *filmic = spy_find_function(mod, "filmic"),
                 *luminance = spy_find_function(mod, "luminance"),
                 *colourful = spy_find_function(mod, "colourful"), *encode = spy_find_function(mod, "encode");

    // 1. The pipeline is a graph: inputs, then calls that take inputs and earlier results. The types of the inputs
    //    are those of the parameters that they are given to.
    spy_fusion *g = spy_fuse_begin(dev, &(spy_fuse_desc){ .name = "pipeline" });
    spy_node pixel = spy_fuse_input(g, "pixel", NULL);
    spy_node brighter = spy_fuse_input(g, "stops", NULL);
    spy_node light = spy_fuse_call(g, decode, SPY_ARGS(spy_arg_node(NULL, pixel)));
    light = spy_fuse_call(g, expose, SPY_ARGS(spy_arg_node(NULL, light), spy_arg_node("stops", brighter)));
    light = spy_fuse_call(g, balance, SPY_ARGS(spy_arg_node(NULL, light), spy_arg_f32(NULL, warmth)));
    spy_node shown = spy_fuse_call(g, filmic, SPY_ARGS(spy_arg_node(NULL, light)));
    spy_node grey = spy_fuse_call(g, luminance, SPY_ARGS(spy_arg_node(NULL, shown)));
    shown = spy_fuse_call(g, colourful, SPY_ARGS(spy_arg_node(NULL, shown), spy_arg_node(NULL, grey),
                                                 spy_arg_f32(NULL, amount)));
    spy_fuse_output(g, "_result", spy_arg_node(NULL, spy_fuse_call(g, encode, SPY_ARGS(spy_arg_node(NULL, shown)))));

    // 2. What comes out is an ordinary function of a module of its own, whose text is there to be read.
    spy_function *pipeline = spy_fuse_end(g);
    printf("%s\n", pipeline ? spy_fuse_text(pipeline) : "");

    // 3. One call, one kernel.
    spy_shape shape = SPY_SHAPE(height, width, 3);
    spy_tensor *in = spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8, .data = pixels });
    spy_tensor *out = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8 });
    const spy_arg list[] = { spy_arg_tensor("pixel", in), spy_arg_f32("stops", stops), spy_arg_tensor("_result", out) };
    const spy_args args = { list, 3 };
    uint64_t fused_ns = 0, unfused_ns = 0;
    step(pipeline, args, &fused_ns);

    // 4. Its explanation says what it reads and writes.
    static char text[16384];
    spy_explain_call(pipeline, args, NULL, text, sizeof text);
    const char *reads = strstr(text, "  reads ");
    printf("%.*s\n", reads ? (int)strcspn(reads, "\n") : 0, reads ? reads : "");

    // 5. The same by seven calls, with pictures of floats between them.
    spy_tensor *a = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape });
    spy_tensor *b = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape });
    spy_tensor *l = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(height, width) });
    spy_tensor *plain = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8 });
    step(decode, SPY_ARGS(spy_arg_tensor(NULL, in), spy_arg_tensor("_result", a)), &unfused_ns);
    step(expose, SPY_ARGS(spy_arg_tensor(NULL, a), spy_arg_f32(NULL, stops), spy_arg_tensor("_result", b)), &unfused_ns);
    step(balance, SPY_ARGS(spy_arg_tensor(NULL, b), spy_arg_f32(NULL, warmth), spy_arg_tensor("_result", a)),
         &unfused_ns);
    step(filmic, SPY_ARGS(spy_arg_tensor(NULL, a), spy_arg_tensor("_result", b)), &unfused_ns);
    step(luminance, SPY_ARGS(spy_arg_tensor(NULL, b), spy_arg_tensor("_result", l)), &unfused_ns);
    step(colourful,
         SPY_ARGS(spy_arg_tensor(NULL, b), spy_arg_tensor(NULL, l), spy_arg_f32(NULL, amount),
                  spy_arg_tensor("_result", a)),
         &unfused_ns);
    step(encode, SPY_ARGS(spy_arg_tensor(NULL, a), spy_arg_tensor("_result", plain)), &unfused_ns);

    // 6. Both pictures are the same, but for rounding.
    size_t size = (size_t)width * (size_t)height * 3;
    unsigned char *fused = calloc(size, 1), *unfused = calloc(size, 1);
    spy_tensor_read(out, fused, size);
    spy_tensor_read(plain, unfused, size);
    spy_error err = spy_take_error(dev);
    bool good = err.code == SPY_OK;
    if (!good) fprintf(stderr, "%s\n", err.message);
    for (size_t i = 0; i < size && good; i++) good = abs(fused[i] - unfused[i]) <= 1;
    if (err.code == SPY_OK && !good) fprintf(stderr, "the pictures differ\n");
    if (good && !stbi_write_png(out_path, width, height, 3, fused, 3 * width)) {
        fprintf(stderr, "cannot write '%s'\n", out_path);
        good = false;
    }
    if (good) {
        double bytes = (double)size * 2;
        printf("%d x %d pixels: seven calls %.3f ms, fused %.3f ms, %.3f GB/s\n%s\n", width, height,
               (double)unfused_ns * 1e-6, (double)fused_ns * 1e-6, bytes / (double)(fused_ns ? fused_ns : 1), out_path);
    }
    spy_release_device(dev);
    free(fused);
    free(unfused);
    stbi_image_free(pixels);
    return good ? 0 : 1;
}
