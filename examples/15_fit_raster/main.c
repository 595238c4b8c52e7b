// 15_fit_raster [OUTPUT.png]: a picture is drawn, and then its texture, its lamp and its vertices are found again
// from the picture alone, by gradients through the draw. The output shows the first guess, what was found, and what
// was looked for.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where fit.slang lies; otherwise run the program beside it
#endif

enum { SIZE = 128, COUNT = 25, PATTERN = 8, STEPS = 300 };

typedef struct scene {
    spy_tensor *points, *texels;
    spy_tensor *point_moments, *texel_moments; // of Adam's method
    float lamp[3];
    spy_texture *pattern, *picture; // with gradients
} scene;

typedef struct program {
    spy_device *dev;
    spy_module *mod;
    spy_raster *raster;
    spy_sampler *how;
    spy_tensor *uv, *indices; // of both scenes
} program;

static spy_tensor *floats(spy_device *dev, spy_shape shape, const char *type) {
    return spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = shape, .type = type, .zeroed = true, .with_grad = true });
}

static spy_texture *texture(spy_device *dev, uint32_t size, uint32_t usage) {
    return spy_create_texture(dev, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                                        .width = size,
                                                        .height = size,
                                                        .usage = usage,
                                                        .with_grad = true });
}

// 1. A scene is a fan of triangles around vertex 0, a pattern and a lamp; star 0: round.
static scene make_scene(const program *p, float star, const float lamp[3]) {
    scene s = { .lamp = { lamp[0], lamp[1], lamp[2] } };
    s.points = floats(p->dev, SPY_SHAPE(COUNT), "float2");
    s.point_moments = floats(p->dev, SPY_SHAPE(COUNT, 2), "float2");
    s.texels = floats(p->dev, SPY_SHAPE(PATTERN, PATTERN), "float4");
    s.texel_moments = floats(p->dev, SPY_SHAPE(PATTERN, PATTERN, 4), "float2");
    s.pattern = texture(p->dev, PATTERN, 0);
    s.picture = texture(p->dev, SIZE, SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED);
    spy_call(spy_find_function(p->mod, "corner"),
             SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32("count", COUNT), spy_arg_f32("star", star),
                      spy_arg_tensor("_result", s.points)));
    spy_tensor_fill(s.texels, 0.5);
    return s;
}

static program make_program(spy_device *dev) {
    program p = { .dev = dev };
    uint32_t fan[COUNT - 1][3];
    for (uint32_t i = 0; i < COUNT - 1; i++) {
        fan[i][0] = 0;
        fan[i][1] = i + 1;
        fan[i][2] = (i + 1) % (COUNT - 1) + 1;
    }
    p.mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "fit.slang" });
    p.raster =
        spy_create_raster(dev, &(spy_raster_desc){ .vertex = spy_find_function(p.mod, "vertex_main"),
                                                   .fragment = spy_find_function(p.mod, "fragment_main") });
    p.how = spy_create_sampler(dev, NULL); // linear, and coordinates wrap
    p.uv = floats(dev, SPY_SHAPE(COUNT), "float2");
    p.indices = spy_create_tensor(
        dev, &(spy_tensor_desc){ .dtype = SPY_DTYPE_UINT32, .shape = SPY_SHAPE(COUNT - 1, 3), .data = fan });
    spy_call(spy_find_function(p.mod, "fixed_uv"),
             SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32("count", COUNT), spy_arg_tensor("_result", p.uv)));
    return p;
}

// 2. A draw, and the way back from the gradient of its picture to the gradients of points, pattern and lamp. It
//    takes the same arguments; `edge_gradients` adds how the picture changes as the outline moves.
static void draw(const program *p, const scene *s, float *lamp_grad) {
    const spy_draw_desc desc = {
        .targets[0] = { .texture = s->picture,
                        .load = SPY_LOAD_CLEAR,
                        .clear = { .floats = { 0.05f, 0.05f, 0.08f, 1 } } },
        .indices = p->indices,
        .edge_gradients = true,
    };
    const spy_arg lamp = spy_arg_f32n("lamp", s->lamp, 3);
    if (!lamp_grad)
        spy_call(spy_find_function(p->mod, "texel"),
                 SPY_ARGS(spy_arg_tensor("x", s->texels), spy_arg_texture("_result", s->pattern)));
    const spy_arg pair[2] = { lamp, spy_inout_array(NULL, lamp_grad, SPY_SHAPE(3), SPY_DTYPE_FLOAT32) };
    const spy_arg args[] = { spy_arg_tensor("position", s->points), spy_arg_tensor("uv", p->uv),
                             spy_arg_texture("pattern", s->pattern), spy_arg_sampler("how", p->how),
                             lamp_grad ? spy_arg_diff_pair("lamp", (spy_args){ pair, 2 }) : lamp };
    if (lamp_grad) spy_draw_backward(p->raster, &desc, (spy_args){ args, 5 }, NULL);
    else spy_draw(p->raster, &desc, (spy_args){ args, 5 }, NULL);
}

// 3. One step of Adam's method for numbers on the GPU.
static void adam(const program *p, spy_tensor *x, spy_tensor *grad, spy_tensor *moments, float rate,
                 int step) {
    spy_tensor *bare = spy_create_detached(x), *flat = spy_create_flat_view(bare),
               *g = spy_create_flat_view(grad);
    spy_call(spy_find_function(p->mod, "adam"),
             SPY_ARGS(spy_arg_tensor("x", flat), spy_arg_tensor("grad", g),
                      spy_arg_tensor("moments", moments), spy_arg_f32("rate", rate),
                      spy_arg_i32("step", step)));
    spy_release_tensor(bare);
    spy_release_tensor(flat);
    spy_release_tensor(g);
}

// 4. A step draws, compares, goes back through the draw, and moves everything against its gradient.
static void fit(const program *p, scene *s, const scene *wanted) {
    float m[3] = { 0 }, v[3] = { 0 };
    for (int step = 1; step <= STEPS; step++) {
        float grad[3] = { 0 }, rate = powf(0.5f, 4.0f * (float)step / STEPS);
        draw(p, s, NULL);
        spy_call(spy_find_function(p->mod, "difference"),
                 SPY_ARGS(spy_arg_texture("picture", s->picture), spy_arg_texture("wanted", wanted->picture),
                          spy_arg_f32("pixels", SIZE * SIZE),
                          spy_arg_tensor("_result", spy_texture_grad(s->picture, 0))));
        draw(p, s, grad);
        adam(p, s->points, spy_tensor_grad(s->points), s->point_moments, 0.01f * rate, step);
        adam(p, s->texels, spy_texture_grad(s->pattern, 0), s->texel_moments, 0.03f * rate, step);
        for (int i = 0; i < 3; i++) { // the lamp's numbers are the host's
            m[i] = 0.9f * m[i] + 0.1f * grad[i];
            v[i] = 0.99f * v[i] + 0.01f * grad[i] * grad[i];
            s->lamp[i] -= 0.02f * rate * m[i] / (1 - powf(0.9f, (float)step)) /
                          (sqrtf(v[i] / (1 - powf(0.99f, (float)step))) + 1e-12f);
        }
    }
    draw(p, s, NULL);
}

static float pixels[3][SIZE][SIZE][4]; // the first guess, what was found, what was looked for
static unsigned char shown[SIZE][3 * SIZE][3];

// Returns the square root of the mean square of differences.
static double distance(const float *a, const float *b, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / count);
}

// 5. What was found is what the picture was drawn from.
static bool check(const scene *s, const scene *wanted, const char *path) {
    static float points[2][COUNT * 2], texels[2][PATTERN * PATTERN * 4];
    for (int i = 0; i < 2; i++) {
        spy_tensor_read(i ? wanted->points : s->points, points[i], sizeof points[i]);
        spy_tensor_read(i ? wanted->texels : s->texels, texels[i], sizeof texels[i]);
    }
    for (int i = 3; i < PATTERN * PATTERN * 4; i += 4) texels[0][i] = texels[1][i]; // alpha is not drawn
    const double found[] = { distance(points[0], points[1], COUNT * 2), distance(s->lamp, wanted->lamp, 3),
                             distance(texels[0], texels[1], PATTERN * PATTERN * 4) };
    double before = distance(&pixels[0][0][0][0], &pixels[2][0][0][0], SIZE * SIZE * 4);
    double after = distance(&pixels[1][0][0][0], &pixels[2][0][0][0], SIZE * SIZE * 4);
    for (int i = 0; i < 3 * SIZE * SIZE * 3; i++) {
        int row = i / 9 / SIZE, column = i / 3 % (3 * SIZE);
        float value = pixels[column / SIZE][row][column % SIZE][i % 3];
        shown[row][column][i % 3] = (unsigned char)(255 * powf(fminf(fmaxf(value, 0), 1), 1 / 2.2f));
    }
    if (!stbi_write_png(path, 3 * SIZE, SIZE, 3, shown, 9 * SIZE))
        fprintf(stderr, "cannot write '%s'\n", path);
    else if (after > before / 20 || found[0] > 0.01 || found[1] > 0.01 || found[2] > 0.01)
        fprintf(stderr, "expected 0.01: vertices %g, lamp %g, pattern %g\n", found[0], found[1], found[2]);
    else printf("from %.3f: vertices, lamp and pattern are found to 0.01\n", before);
    return after <= before / 20 && found[0] <= 0.01 && found[1] <= 0.01 && found[2] <= 0.01;
}

int main(int argc, char **argv) {
    const char *out_path = argc > 1 ? argv[1] : "fit_raster.png";
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    program p = make_program(dev);
    scene wanted = make_scene(&p, 1, (const float[3]){ 0.35f, 0.25f, 0.9f });
    scene s = make_scene(&p, 0, (const float[3]){ 0, 0, 1.1f });
    spy_call(spy_find_function(p.mod, "paint"),
             SPY_ARGS(spy_arg_call_id("id"), spy_arg_i32n("size", (const int32_t[2]){ PATTERN, PATTERN }, 2),
                      spy_arg_tensor("_result", wanted.texels)));
    draw(&p, &wanted, NULL);
    draw(&p, &s, NULL);
    spy_texture_read(s.picture, NULL, pixels[0], sizeof pixels[0]);
    fit(&p, &s, &wanted);
    spy_texture_read(s.picture, NULL, pixels[1], sizeof pixels[1]);
    spy_texture_read(wanted.picture, NULL, pixels[2], sizeof pixels[2]);
    bool good = check(&s, &wanted, out_path);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    if (good) printf("%s\n", out_path);
    spy_release_device(dev); // and all that was made on it
    return good && err.code == SPY_OK ? 0 : 1;
}
