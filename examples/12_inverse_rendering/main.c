// 12_inverse_rendering [OUTPUT_FOLDER]: what is in a picture? A ball is rendered, and then its colour, its
// gloss and its lamp are found again from the picture alone, by following the renderer's gradients. Writes
// before.png, target.png and after.png.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image_write.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where render.slang lies; otherwise run the program beside it
#endif

enum { SIZE = 96, STEPS = 400, NUMBERS = 8 };

// Slang's Scene in C's layout.
typedef struct scene {
    float albedo[3], to_light[3], ambient, gloss;
} scene;
static const scene truth = { { 0.8f, 0.3f, 0.1f }, { 0.5f, 0.7f, 0.6f }, 0.15f, 0.4f };
static const scene guess = { { 0.4f, 0.4f, 0.4f }, { -0.3f, 0.2f, 0.9f }, 0.3f, 0.1f };

static bool save(const char *folder, const char *name, spy_tensor *image) {
    static float pixels[SIZE][SIZE][3];
    static unsigned char bytes[SIZE][SIZE][3];
    char path[1000];
    spy_tensor_read(image, pixels, sizeof pixels);
    for (int i = 0; i < SIZE * SIZE * 3; i++) {
        float v = (&pixels[0][0][0])[i];
        (&bytes[0][0][0])[i] = (unsigned char)(255 * powf(v < 0 ? 0 : v > 1 ? 1 : v, 1 / 2.2f) + 0.5f);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (stbi_write_png(path, SIZE, SIZE, 3, bytes, 3 * SIZE)) return true;
    fprintf(stderr, "cannot write '%s'\n", path);
    return false;
}

typedef struct program {
    spy_device *dev;
    spy_module *mod;
    spy_tensor *scene; // one Scene, with its gradient
    spy_tensor *image; // of it
    spy_tensor *target;
} program;

static void render(program *p, spy_tensor *into) {
    spy_call(spy_find_function(p->mod, "render"),
             SPY_ARGS(spy_arg_tensor("scene", p->scene), spy_arg_call_id("pixel"), spy_arg_i32("size", SIZE),
                      spy_arg_tensor("_result", into)));
}

// 1. The target is the only thing that the search knows of the truth.
static bool prepare(program *p, const char *folder) {
    const spy_tensor_desc image = { .shape = SPY_SHAPE(SIZE, SIZE), .type = "float3" };
    p->dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    p->mod = spy_load_module(p->dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "render.slang" });
    p->image = spy_create_tensor(p->dev, &image);
    p->target = spy_create_tensor(p->dev, &image);
    p->scene = spy_create_tensor(
        p->dev, &(spy_tensor_desc){ .type = "Scene", .module = p->mod, .data = &truth, .with_grad = true });
    render(p, p->target);
    spy_tensor_write(p->scene, &guess, sizeof guess);
    render(p, p->image);
    return save(folder, "target.png", p->target) && save(folder, "before.png", p->image);
}

// 2. Each round: the gradient of the distance between the pictures, by pixel, summed into the one Scene; then a
//    step of Adam for each of its numbers. A flat view shows a struct of floats as floats. Everything stays on
//    the device, and nothing is waited for.
static void search(program *p) {
    spy_function *distance = spy_find_function(p->mod, "distance"), *adam = spy_find_function(p->mod, "adam");
    const spy_tensor_desc zeros = { .shape = SPY_SHAPE(NUMBERS), .zeroed = true };
    spy_tensor *mean = spy_create_tensor(p->dev, &zeros), *square = spy_create_tensor(p->dev, &zeros);
    spy_tensor *values = spy_create_flat_view(p->scene);
    spy_tensor *gradients = spy_create_flat_view(spy_tensor_grad(p->scene));
    spy_arg each = spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1)));
    for (int t = 1; t <= STEPS; t++) {
        spy_tensor_zero_grad(p->scene);
        spy_call_backward(distance,
                          SPY_ARGS(spy_arg_tensor("scene", p->scene), spy_arg_tensor("target", p->target),
                                   spy_arg_call_id("pixel"), spy_arg_i32("size", SIZE), each));
        spy_call(adam, SPY_ARGS(spy_arg_tensor("value", values), spy_arg_tensor("gradient", gradients),
                                spy_arg_tensor("mean", mean), spy_arg_tensor("square", square),
                                spy_arg_f32("rate", t < STEPS / 2 ? 0.03f : 0.006f), spy_arg_i32("t", t)));
    }
}

// 3. Colour and brightness of the lamp cannot be told apart in a picture, only their product; the direction,
//    and what does not depend on the split, can.
static bool check(const scene *found) {
    float length = 0, true_length = 0, cosine = 0;
    for (int i = 0; i < 3; i++) {
        length += found->to_light[i] * found->to_light[i];
        true_length += truth.to_light[i] * truth.to_light[i];
        cosine += found->to_light[i] * truth.to_light[i];
    }
    length = sqrtf(length), true_length = sqrtf(true_length);
    cosine /= length * true_length;
    double degrees = acos(fmin(1, (double)cosine)) * 57.29578,
           worst = fabs((double)(found->gloss - truth.gloss));
    for (int i = 0; i < 3; i++) {
        worst = fmax(worst, fabs((double)(found->albedo[i] * length - truth.albedo[i] * true_length)));
        worst =
            fmax(worst, fabs((double)(found->albedo[i] * found->ambient - truth.albedo[i] * truth.ambient)));
    }
    printf("the lamp is off by %.3f degrees, colours and gloss by %.4f\n", degrees, worst);
    if (degrees < 0.5 && worst < 0.01) return true;
    fprintf(stderr, "expected less than 0.5 degrees and 0.01\n");
    return false;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : ".";
    program p;
    scene found = { 0 };
    bool good = prepare(&p, folder);
    if (good) {
        search(&p);
        spy_tensor_read(p.scene, &found, sizeof found);
        render(&p, p.image);
        good = save(folder, "after.png", p.image) && check(&found);
    }
    spy_error err = spy_take_error(p.dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(p.dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
