// 14_raster [OUTPUT.png]: a lit, textured mesh. Calls make its vertices, its triangles and its pattern on the
// GPU; then a vertex and a fragment function of the same module are called for all of them, like a function.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where raster.slang lies; otherwise run the program beside it
#endif

enum { WIDTH = 640, HEIGHT = 480, AROUND = 192, TUBE = 96, PATTERN = 256 };

typedef struct scene {
    spy_tensor *vertices; // of struct Vertex
    spy_tensor *indices;
    spy_texture *pattern, *picture, *depth;
} scene;

// 1. Calls make what is drawn: an element of a tensor, or a texel, for each place.
static scene prepare(spy_device *dev, spy_module *mod) {
    static const int32_t net[2] = { AROUND, TUBE }, pattern_size[2] = { PATTERN, PATTERN };
    scene s;
    s.vertices = spy_create_tensor(
        dev, &(spy_tensor_desc){ .type = "Vertex", .module = mod, .shape = SPY_SHAPE(TUBE + 1, AROUND + 1) });
    spy_call(spy_find_function(mod, "ring"), SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", net, 2),
                                                      spy_arg_tensor("_result", s.vertices)));
    s.indices = spy_create_tensor(
        dev, &(spy_tensor_desc){ .dtype = SPY_DTYPE_UINT32, .shape = SPY_SHAPE(TUBE * AROUND, 6) });
    spy_call(spy_find_function(mod, "corner"), SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", net, 2),
                                                        spy_arg_tensor("_result", s.indices)));
    s.pattern = spy_create_texture(
        dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT, .width = PATTERN, .height = PATTERN });
    spy_call(spy_find_function(mod, "paint"),
             SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", pattern_size, 2),
                      spy_arg_texture("_result", s.pattern)));
    s.picture = spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA8_UNORM,
                                                             .width = WIDTH,
                                                             .height = HEIGHT,
                                                             .usage = SPY_TEXTURE_USAGE_COLOR_TARGET });
    s.depth = spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_D32_FLOAT,
                                                           .width = WIDTH,
                                                           .height = HEIGHT,
                                                           .usage = SPY_TEXTURE_USAGE_DEPTH_TARGET });
    return s;
}

// 2. A raster is two functions and what is between them. Its draw takes their uniform parameters by name, and
//    the vertices by the name of the parameter that they are for.
static void draw(spy_device *dev, spy_module *mod, const scene *s) {
    static const float angles[2] = { 0.4f, 0.75f }, lamp[3] = { 2, 3, 3 };
    spy_raster *raster =
        spy_create_raster(dev, &(spy_raster_desc){ .vertex = spy_find_function(mod, "vertex_main"),
                                                   .fragment = spy_find_function(mod, "fragment_main"),
                                                   .cull = SPY_CULL_BACK,
                                                   .depth_compare = SPY_COMPARE_LESS });
    spy_sampler *how = spy_create_sampler(dev, NULL); // linear, and coordinates wrap
    const spy_draw_desc target = {
        .targets[0] = { .texture = s->picture,
                        .load = SPY_LOAD_CLEAR,
                        .clear = { .floats = { 0.1f, 0.1f, 0.12f, 1 } } },
        .depth = { .texture = s->depth, .load = SPY_LOAD_CLEAR, .clear = 1 },
        .indices = s->indices,
    };
    spy_draw(raster, &target,
             SPY_ARGS(spy_arg_tensor("v", s->vertices), spy_arg_f32n("angles", angles, 2),
                      spy_arg_f32("aspect", (float)WIDTH / HEIGHT), spy_arg_texture("pattern", s->pattern),
                      spy_arg_sampler("how", how), spy_arg_f32n("lamp", lamp, 3)),
             NULL);
    spy_release_raster(raster); // the draw goes on
    spy_release_sampler(how);
}

// 3. The picture is a texture like others.
static bool save(const scene *s, const char *path) {
    static unsigned char pixels[HEIGHT][WIDTH][4];
    int drawn = 0;
    spy_texture_read(s->picture, NULL, pixels, sizeof pixels);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        const unsigned char *p = pixels[i / WIDTH][i % WIDTH], *clear = pixels[0][0];
        drawn += p[0] != clear[0] || p[1] != clear[1] || p[2] != clear[2];
    }
    printf("the ring has %.0f %% of the picture\n", 100.0 * drawn / (WIDTH * HEIGHT));
    if (!stbi_write_png(path, WIDTH, HEIGHT, 4, pixels, 4 * WIDTH))
        fprintf(stderr, "cannot write '%s'\n", path);
    else if (drawn < WIDTH * HEIGHT / 5 || drawn > WIDTH * HEIGHT / 2)
        fprintf(stderr, "expected 20 to 50 %%\n");
    else return true;
    return false;
}

int main(int argc, char **argv) {
    const char *out_path = argc > 1 ? argv[1] : "raster.png";
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "raster.slang" });
    scene s = prepare(dev, mod);
    draw(dev, mod, &s);
    bool good = save(&s, out_path);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    if (good) printf("%s\n", out_path);
    spy_release_device(dev); // and all that was made on it
    return good && err.code == SPY_OK ? 0 : 1;
}
