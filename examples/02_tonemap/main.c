// 02_tonemap [PICTURE.png|jpg] [OUTPUT.png]: a photograph through a Slang function, pixel by pixel, on the
// GPU.
//
// The function is written for one pixel and three parameters. This program gives it a whole picture for the
// pixel and one number for each of the others: the call runs over the picture, and the numbers are the same
// for all pixels.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"

// stb_image reads and writes files. The library itself knows nothing of pictures: for it they are arrays.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where tonemap.slang lies; otherwise run the program beside it
#endif

// tonemap() of tonemap.slang once more in C and in double, to check some pixels.
static double linear_from_srgb(double c) {
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}
static double srgb_from_linear(double c) {
    return c <= 0.0031308 ? c * 12.92 : 1.055 * pow(c, 1 / 2.4) - 0.055;
}
static double clamp01(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static void tonemap_in_c(const unsigned char *in, double exposure, double saturation, double *out) {
    double shown[3], grey;
    for (int c = 0; c < 3; c++) {
        double x = linear_from_srgb(in[c] / 255.0) * exp2(exposure);
        shown[c] = clamp01(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14));
    }
    grey = 0.2126 * shown[0] + 0.7152 * shown[1] + 0.0722 * shown[2];
    for (int c = 0; c < 3; c++)
        out[c] = srgb_from_linear(clamp01(grey + saturation * (shown[c] - grey))) * 255;
}

// The GPU's pixels may differ from C's by rounding: half a step each for the two conversions to uint8, and a
// little.
static bool check(const unsigned char *in, const unsigned char *out, int pixels, double exposure,
                  double saturation) {
    for (int i = 0; i < 1000; i++) {
        int at = 3 * (int)((long long)i * (pixels - 1) / 999);
        double expected[3];
        tonemap_in_c(in + at, exposure, saturation, expected);
        for (int c = 0; c < 3; c++) {
            if (fabs(out[at + c] - expected[c]) <= 0.6) continue;
            fprintf(stderr, "pixel %d, channel %d: expected %.2f, got %d\n", at / 3, c, expected[c],
                    out[at + c]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    const char *in_path = argc > 1 ? argv[1] : EXAMPLE_FOLDER "../../build/data/astronaut.png";
    const char *out_path = argc > 2 ? argv[2] : "tonemapped.png";
    const float exposure = -0.5f, saturation = 0.9f;

    int width = 0, height = 0;
    unsigned char *pixels = stbi_load(in_path, &width, &height, NULL, 3);
    if (!pixels) {
        fprintf(stderr,
                "cannot read '%s': %s (a PNG or JPEG is wanted; tools/setup fetches the default one)\n",
                in_path, stbi_failure_reason());
        return 1;
    }

    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "tonemap.slang" });
    spy_function *tonemap = spy_find_function(mod, "tonemap");

    // 1. A picture is an array of bytes of shape (height, width, 3): rows, columns, channels, as stb_image
    //    gives it. `pixel` takes three bytes, so the last dimension feeds it and the call runs over the other
    //    two. Had the picture four channels, this would be an error at the call that names the argument, its
    //    type and its shape.
    spy_shape shape = SPY_SHAPE(height, width, 3);
    spy_tensor *in = spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8, .data = pixels });
    spy_tensor *out = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8 });

    // 2. exposure and saturation are numbers: they are broadcast. Tensors of shape (height, 1) would give
    //    each row its own. An argument list is plain data, here kept for three uses. The names are those of
    //    the Slang parameters.
    const spy_arg list[] = {
        spy_arg_tensor("pixel", in),
        spy_arg_f32("exposure", exposure),
        spy_arg_f32("saturation", saturation),
        spy_arg_tensor("_result", out),
    };
    spy_args args = { list, 4 };

    // 3. How is it going to run? The first lines say how arguments meet parameters; the kernel's text follows
    //    them.
    char text[8192];
    spy_explain_call(tonemap, args, NULL, text, sizeof text);
    printf("%.*s\n", (int)(strstr(text, "\n\n") ? strstr(text, "\n\n") - text : 0), text);

    // 4. The first call compiles. The second one finds everything ready: that is the one to time.
    //    spy_time_call waits and asks the GPU's own clock.
    uint64_t time_ns = 0;
    spy_call(tonemap, args);
    spy_time_call(tonemap, args, NULL, &time_ns);

    // 5. Back to host memory, in C's layout again. The tensor itself stays on the device.
    size_t size = (size_t)width * (size_t)height * 3;
    unsigned char *result = calloc(size, 1);
    spy_tensor_read(out, result, size);

    spy_error err = spy_take_error(dev);
    bool good =
        err.code == SPY_OK && check(pixels, result, width * height, (double)exposure, (double)saturation);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    if (good && !stbi_write_png(out_path, width, height, 3, result, 3 * width)) {
        fprintf(stderr, "cannot write '%s'\n", out_path);
        good = false;
    }
    if (good)
        printf("%d x %d pixels in %.3f ms on the GPU\n%s\n", width, height, (double)time_ns * 1e-6, out_path);
    spy_release_device(dev);
    free(result);
    stbi_image_free(pixels);
    return good ? 0 : 1;
}
