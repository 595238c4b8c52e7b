// 13_textures [PICTURE.png|jpg] [OUTPUT.png]: a photograph with the depth of field of a large lens. A texture is
// run over texel by texel, as an array; its mip levels are made and looked at; and a function samples it, to
// blur what is not in focus.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where textures.slang lies; otherwise run the program beside it
#endif

typedef struct photo {
    unsigned char *texels; // 4 bytes each
    int width, height;
    float focus[2], sharp; // pixels
} photo;

// brighten() of textures.slang once more in C and in double, and the mean of what it gives.
static void mean_light(const photo *p, double mean[3]) {
    const double range = 0.92;
    size_t count = (size_t)p->width * (size_t)p->height;
    mean[0] = mean[1] = mean[2] = 0;
    for (size_t i = 0; i < count; i++) {
        double light[3], brightest = 0;
        for (int c = 0; c < 3; c++) {
            double v = p->texels[4 * i + (size_t)c] / 255.0;
            light[c] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
            brightest = fmax(brightest, light[c]);
        }
        for (int c = 0; c < 3; c++) mean[c] += light[c] / (1 - range * brightest) / (double)count;
    }
}

static spy_texture *light_texture(spy_device *dev, int width, int height, uint32_t levels) {
    return spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                                        .width = (uint32_t)width,
                                                        .height = (uint32_t)height,
                                                        .levels = levels });
}

static spy_texture *make_pyramid(spy_device *dev, spy_module *mod, const photo *p) {
    // 1. A format says how texels are read: the bytes of this one are floats from 0 to 1 in Slang, of linear
    //    light.
    spy_texture *picture = spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA8_UNORM_SRGB,
                                                                        .width = (uint32_t)p->width,
                                                                        .height = (uint32_t)p->height,
                                                                        .data = p->texels });

    // 2. brighten() takes a texel and returns one. Called with textures it runs over them, as over arrays: here
    //    over level 0.
    spy_texture *pyramid = light_texture(dev, p->width, p->height, SPY_ALL_LEVELS);
    spy_call(spy_find_function(mod, "brighten"),
             SPY_ARGS(spy_arg_texture("texel", picture), spy_arg_texture("_result", pyramid)));
    spy_release_texture(picture); // the call goes on

    // 3. Each further level of the pyramid is half as large as the one before, down to one texel: the mean of
    //    all, if the sizes are powers of two. Where a size is odd, texels do not weigh the same.
    spy_texture_generate_mips(pyramid);
    return pyramid;
}

static bool check_pyramid(spy_texture *pyramid, const photo *p) {
    uint32_t levels = spy_get_texture_info(pyramid).levels;
    float top[4] = { 0 };
    double mean[3];
    spy_texture_read(pyramid, &(spy_texture_region){ .level = levels - 1 }, top, sizeof top);
    mean_light(p, mean);
    printf("%d x %d texels, %u levels\n", p->width, p->height, levels);
    printf("mean light: %.3f %.3f %.3f, in the last level: %.3f %.3f %.3f\n", mean[0], mean[1], mean[2],
           (double)top[0], (double)top[1], (double)top[2]);
    bool exact = (p->width & (p->width - 1)) == 0 && (p->height & (p->height - 1)) == 0;
    for (int c = 0; c < 3; c++)
        if (exact && fabs((double)top[c] / mean[c] - 1) > 0.02) {
            fprintf(stderr, "expected the same mean within 2 %%\n");
            return false;
        }
    return true;
}

// 4. blur() takes the pyramid whole, with a sampler, and runs over the pixels of its result.
static spy_texture *blur(spy_device *dev, spy_module *mod, spy_texture *pyramid, const photo *p) {
    spy_texture *blurred = light_texture(dev, p->width, p->height, 1);
    spy_sampler *how = spy_create_sampler(
        dev, &(spy_sampler_desc){ .address_u = SPY_ADDRESS_MODE_CLAMP, .address_v = SPY_ADDRESS_MODE_CLAMP });
    spy_call(spy_find_function(mod, "blur"),
             SPY_ARGS(spy_arg_call_id("pixel"), spy_arg_texture("pyramid", pyramid),
                      spy_arg_sampler("how", how), spy_arg_f32n("focus", p->focus, 2),
                      spy_arg_f32("sharp", p->sharp), spy_arg_texture("_result", blurred)));
    spy_release_sampler(how);
    return blurred;
}

static uint32_t half(uint32_t size) {
    return size > 1 ? size / 2 : 1;
}

static spy_texture *arrange(spy_device *dev, spy_module *mod, spy_texture *blurred, spy_texture *pyramid,
                            const photo *p) {
    // 5. The result at the left, and the levels of the pyramid at the right, one below the other.
    const uint32_t width = (uint32_t)p->width, height = (uint32_t)p->height;
    spy_texture *sheet = light_texture(dev, p->width + p->width / 2, p->height, 1);
    spy_texture_clear(sheet, (spy_clear_color){ .floats = { 0 } });
    spy_texture_copy(sheet, &(spy_texture_region){ .width = width }, blurred, NULL);
    const uint32_t last = spy_get_texture_info(pyramid).levels - 1;
    uint32_t w = half(width), h = half(height), y = 0;
    for (uint32_t level = 1; level < last && y < height; level++) {
        const spy_texture_region from = { .level = level },
                                 to = { .x = width, .y = y, .width = w, .height = h };
        spy_texture_copy(sheet, &to, pyramid, &from);
        y += h, w = half(w), h = half(h);
    }

    // 6. develop() makes bytes again: what a function returns is converted to the format of the texture it goes
    //    to.
    spy_texture *shown = spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA8_UNORM,
                                                                      .width = width + width / 2,
                                                                      .height = height });
    spy_call(spy_find_function(mod, "develop"),
             SPY_ARGS(spy_arg_texture("texel", sheet), spy_arg_texture("_result", shown)));
    return shown;
}

// 7. In focus all samples are the pixel itself.
static bool check_focus(const unsigned char *pixels, const photo *p) {
    int worst = 0;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            float dx = (float)x + 0.5f - p->focus[0], dy = (float)y + 0.5f - p->focus[1];
            if (dx * dx + dy * dy >= p->sharp * p->sharp) continue;
            for (int c = 0; c < 3; c++) {
                int off = abs(pixels[4 * (y * (p->width + p->width / 2) + x) + c] -
                              p->texels[4 * (y * p->width + x) + c]);
                if (off > worst) worst = off;
            }
        }
    printf("in focus the picture differs from the photograph by at most %d of 255\n", worst);
    if (worst > 1) fprintf(stderr, "expected at most 1\n");
    return worst <= 1;
}

int main(int argc, char **argv) {
    const char *in_path = argc > 1 ? argv[1] : EXAMPLE_FOLDER "../../build/data/astronaut.png";
    const char *out_path = argc > 2 ? argv[2] : "textures.png";
    photo p = { 0 };
    p.texels = stbi_load(in_path, &p.width, &p.height, NULL, 4);
    if (!p.texels) {
        fprintf(stderr, "cannot read '%s': %s\n", in_path, stbi_failure_reason());
        return 1;
    }
    p.focus[0] = 0.44f * (float)p.width, p.focus[1] = 0.22f * (float)p.height,
    p.sharp = 0.2f * (float)p.height;

    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "textures.slang" });
    spy_texture *pyramid = make_pyramid(dev, mod, &p);
    spy_texture *shown = arrange(dev, mod, blur(dev, mod, pyramid, &p), pyramid, &p);

    const int shown_width = p.width + p.width / 2;
    const size_t size = (size_t)shown_width * (size_t)p.height * 4;
    unsigned char *pixels = calloc(size, 1);
    spy_texture_read(shown, NULL, pixels, size);
    bool good = check_pyramid(pyramid, &p) && check_focus(pixels, &p);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) {
        fprintf(stderr, "%s\n", err.message);
        good = false;
    }
    if (good && !stbi_write_png(out_path, shown_width, p.height, 4, pixels, 4 * shown_width)) {
        fprintf(stderr, "cannot write '%s'\n", out_path);
        good = false;
    }
    if (good) printf("%s\n", out_path);
    spy_release_device(dev); // and all that was made on it
    free(pixels);
    stbi_image_free(p.texels);
    return good ? 0 : 1;
}
