// 24_neural_material [OUTPUT.png]: a network learns how a rough surface shines, and then shades balls beside the formula
// that it was learnt from. Prints how near they are, and writes the picture if a path is given.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image_write.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where material.slang lies; otherwise run the program beside it
#endif

enum { SIZE = 192, ROWS = SIZE * 2 / 3, SAMPLES = 512, STEPS = 400, WEIGHTS = 33 * 16 + 17 };

static const float rate = 0.02f;

typedef struct learner {
    spy_device *dev;
    spy_module *mod;
    spy_tensor *material, *mean, *square, *rate;
    spy_tensor *state; // how many steps were made, and which one failed
} learner;

static void prepare(learner *l) {
    const spy_tensor_desc zeros = { .shape = SPY_SHAPE(WEIGHTS), .zeroed = true };
    l->dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    l->mod = spy_load_module(l->dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "material.slang" });
    l->material = spy_create_tensor(
        l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(WEIGHTS), .zeroed = true, .with_grad = true });
    l->mean = spy_create_tensor(l->dev, &zeros);
    l->square = spy_create_tensor(l->dev, &zeros);
    l->rate = spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(1), .data = &rate });
    l->state =
        spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(2), .type = "int", .zeroed = true });
    spy_call(spy_find_function(l->mod, "first_weight"), // a function of `import mlp;`
             SPY_ARGS(spy_arg_call_id("index"), spy_arg_i32("inputs", 32), spy_arg_i32("outputs", 1),
                      spy_arg_i32("width", 16), spy_arg_i32("depth", 1), spy_arg_i32("bias", 1),
                      spy_arg_i32("scheme", 0), spy_arg_i32("seed", 0),
                      spy_arg_tensor("_result", l->material)));
}

// 1. One step, recorded: each replay draws other surfaces, because it gets another seed.
static void train(learner *l) {
    spy_command_list *step = spy_create_command_list(l->dev, NULL);
    const spy_call_options backward = { .mode = SPY_CALL_MODE_BACKWARD,
                                        .thread_count = SPY_SHAPE(SAMPLES),
                                        .append_to = step };
    spy_arg mean =
        spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1.0f / SAMPLES)));
    spy_arg gradient = spy_arg_tensor("gradient", spy_tensor_grad(l->material)),
            state = spy_arg_tensor("state", l->state);
    const float last_rate = rate / 5;
    spy_call_with(spy_find_function(l->mod, "loss"),
                  SPY_ARGS(spy_arg_tensor("material", l->material), spy_arg_call_id("index"),
                           spy_arg_i32("seed", 0), mean),
                  &backward);
    spy_list_call(step, spy_find_function(l->mod, "check_gradient"), SPY_ARGS(gradient, state));
    spy_list_call(step, spy_find_function(l->mod, "begin_step"), SPY_ARGS(state));
    spy_list_call(step, spy_find_function(l->mod, "adam"),
                  SPY_ARGS(spy_arg_tensor("value", l->material), gradient, spy_arg_tensor("mean", l->mean),
                           spy_arg_tensor("square", l->square), spy_arg_tensor("rate", l->rate),
                           spy_arg_f32("beta1", 0.9f), spy_arg_f32("beta2", 0.99f), spy_arg_f32("scale", 1),
                           state));
    spy_list_finish(step);
    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS * 3 / 4) spy_tensor_write(l->rate, &last_rate, sizeof last_rate);
        spy_list_set(step, 0, SPY_ARGS(spy_arg_i32("seed", i)));
        spy_list_submit(step);
    }
    spy_release_command_list(step);
}

// 2. The network in a shading function: an argument like any other.
static double shade(learner *l, const char *path) {
    static float image[ROWS][SIZE][3];
    static unsigned char bytes[ROWS][SIZE][3];
    const spy_call_options pixels = { .thread_count = SPY_SHAPE(ROWS, SIZE) };
    const int half = ROWS / 2 * SIZE * 3;
    double sum = 0;
    spy_tensor *out =
        spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(ROWS, SIZE), .type = "float3" });
    spy_call_with(spy_find_function(l->mod, "shade"),
                  SPY_ARGS(spy_arg_tensor("material", l->material), spy_arg_call_id("pixel"),
                           spy_arg_i32("size", SIZE), spy_arg_tensor("_result", out)),
                  &pixels);
    spy_tensor_read(out, image, sizeof image);
    float *v = &image[0][0][0];
    for (int i = 0; i < 2 * half; i++) {
        v[i] = powf(v[i] < 0 ? 0 : v[i] > 1 ? 1 : v[i], 1 / 2.2f);
        (&bytes[0][0][0])[i] = (unsigned char)(255 * v[i] + 0.5f);
    }
    for (int i = 0; i < half; i++)
        sum += ((double)v[i] - (double)v[half + i]) * ((double)v[i] - (double)v[half + i]);
    if (path && !stbi_write_png(path, SIZE, ROWS, 3, bytes, 3 * SIZE))
        fprintf(stderr, "cannot write '%s'\n", path);
    return -10 * log10(sum / half);
}

int main(int argc, char **argv) {
    int32_t state[2] = { 0, 1 };
    learner l;
    prepare(&l);
    train(&l);
    double near = shade(&l, argc > 1 ? argv[1] : NULL);
    spy_tensor_read(l.state, state, sizeof state);
    printf("the learnt balls are like the true ones to %.1f dB\n", near);
    bool good = near >= 35 && state[1] == 0;
    if (!good) fprintf(stderr, "expected 35 dB at least, got %.2f\n", near);
    spy_error err = spy_take_error(l.dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(l.dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
