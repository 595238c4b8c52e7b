// 23_fit_image [PHOTO.png] [OUTPUT_FOLDER]: a hash grid and a small network learn a photo, 128 x 128 pixels. Prints how
// near they are (PSNR), and writes pictures of the progress and of the curve into the folder if one is given.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image.h>
#include <stb_image_write.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where image.slang lies; otherwise run the program beside it
#endif

enum { SIZE = 128, REPLAYS = 24, TABLE = 8 * 2 * 1024, WEIGHTS = 17 * 16 + 17 * 3 };
typedef float picture[SIZE][SIZE][3];
static const float rate = 0.02f;
static picture photo, image;

// Each pixel of the photo becomes the mean of a square of the file's.
static bool read_photo(const char *path) {
    int width = 0, height = 0;
    unsigned char *pixels = stbi_load(path, &width, &height, NULL, 3);
    int step = (width < height ? width : height) / SIZE;
    for (int i = 0; pixels && i < SIZE * SIZE * 3; i++) {
        int row = i / 3 / SIZE * step, column = i / 3 % SIZE * step;
        double sum = 0;
        for (int k = 0; k < step * step; k++)
            sum += pixels[((row + k / step) * width + column + k % step) * 3 + i % 3];
        photo[i / 3 / SIZE][i / 3 % SIZE][i % 3] = (float)(sum / step / step / 255);
    }
    if (!pixels || step == 0) fprintf(stderr, "cannot read '%s' as a picture of %d pixels\n", path, SIZE);
    stbi_image_free(pixels);
    return pixels && step > 0;
}

static double psnr(const picture got) {
    double sum = 0;
    for (int i = 0; i < SIZE * SIZE * 3; i++) {
        double d = (double)(&got[0][0][0])[i] - (double)(&photo[0][0][0])[i];
        sum += d * d;
    }
    return -10 * log10(sum / (SIZE * SIZE * 3));
}

// Makes a picture of the photo that is half as large and enlarged again, linear between the middles of the pixels.
static void halve_and_enlarge(picture out) {
    static float half[SIZE / 2][SIZE / 2][3];
    for (int y = 0; y < SIZE / 2; y++)
        for (int i = 0; i < SIZE / 2 * 3; i++) {
            int x = i / 3, c = i % 3;
            half[y][x][c] = 0.25f * (photo[2 * y][2 * x][c] + photo[2 * y][2 * x + 1][c] +
                                     photo[2 * y + 1][2 * x][c] + photo[2 * y + 1][2 * x + 1][c]);
        }
    for (int y = 0; y < SIZE; y++)
        for (int i = 0; i < SIZE * 3; i++) {
            int x = i / 3, c = i % 3, last = SIZE / 2 - 1;
            int y0 = y / 2, y1 = y % 2 ? (y0 < last ? y0 + 1 : last) : y0 > 0 ? y0 - 1 : 0;
            int x0 = x / 2, x1 = x % 2 ? (x0 < last ? x0 + 1 : last) : x0 > 0 ? x0 - 1 : 0;
            out[y][x][c] = 0.75f * (0.75f * half[y0][x0][c] + 0.25f * half[y0][x1][c]) +
                           0.25f * (0.75f * half[y1][x0][c] + 0.25f * half[y1][x1][c]);
        }
}

static void save(const char *folder, const char *name, const picture pixels) {
    static unsigned char bytes[SIZE * SIZE * 3];
    char path[1000];
    if (!folder) return;
    for (int i = 0; i < SIZE * SIZE * 3; i++) {
        float v = (&pixels[0][0][0])[i];
        bytes[i] = (unsigned char)(255 * (v < 0 ? 0 : v > 1 ? 1 : v) + 0.5f);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!stbi_write_png(path, SIZE, SIZE, 3, bytes, 3 * SIZE)) fprintf(stderr, "cannot write '%s'\n", path);
}

// A picture of numbers, one column of 3 pixels for each.
static void draw_curve(const double *values, double low, double high, picture out) {
    for (int i = 0; i < SIZE * SIZE; i++) {
        int y = i / SIZE, x = i % SIZE;
        bool below = x / 3 < REPLAYS && SIZE - y <= SIZE * (values[x / 3] - low) / (high - low);
        for (int c = 0; c < 3; c++) out[y][x][c] = below ? 0.2f * (float)(c + 1 + (c == 2)) : 1;
    }
}

typedef struct learner {
    spy_device *dev;
    spy_module *mod;
    spy_tensor *photo, *rate, *state;              // state: how many steps were made, and which one failed
    spy_tensor *learnt[2], *means[2], *squares[2]; // the grids' numbers and the network's weights
    spy_command_list *steps;
} learner;

// 1. What is learnt: the grids' numbers, near 0 at first, and the network's weights. The functions of `import mlp;`
//    are found like those of the module itself.
static void prepare(learner *l) {
    const float first_rate[1] = { rate };
    l->dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    l->mod = spy_load_module(l->dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "image.slang" });
    l->photo =
        spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(SIZE, SIZE, 3), .data = photo });
    l->rate = spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(1), .data = first_rate });
    l->state =
        spy_create_tensor(l->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(2), .type = "int", .zeroed = true });
    for (int k = 0; k < 2; k++) {
        spy_tensor_desc desc = { .shape = SPY_SHAPE(k ? WEIGHTS : TABLE), .zeroed = true };
        l->means[k] = spy_create_tensor(l->dev, &desc);
        l->squares[k] = spy_create_tensor(l->dev, &desc);
        desc.with_grad = true;
        l->learnt[k] = spy_create_tensor(l->dev, &desc);
    }
    spy_call(spy_find_function(l->mod, "first_feature"),
             SPY_ARGS(spy_arg_call_id("index"), spy_arg_f32("bound", 1e-4f), spy_arg_i32("seed", 0),
                      spy_arg_tensor("_result", l->learnt[0])));
    spy_call(spy_find_function(l->mod, "first_weight"),
             SPY_ARGS(spy_arg_call_id("index"), spy_arg_i32("inputs", 16), spy_arg_i32("outputs", 3),
                      spy_arg_i32("width", 16), spy_arg_i32("depth", 1), spy_arg_i32("bias", 1),
                      spy_arg_i32("scheme", 0), spy_arg_i32("seed", 0),
                      spy_arg_tensor("_result", l->learnt[1])));
}

// 2. Four steps, one for each pixel of a square of 2 x 2, recorded once. A replay is one launch.
static void record(learner *l) {
    const spy_call_options backward = { .mode = SPY_CALL_MODE_BACKWARD,
                                        .thread_count = SPY_SHAPE(SIZE / 2, SIZE / 2),
                                        .append_to = l->steps = spy_create_command_list(l->dev, NULL) };
    spy_arg mean =
        spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 4.0f / SIZE / SIZE)));
    spy_function *loss = spy_find_function(l->mod, "loss"),
                 *look = spy_find_function(l->mod, "check_gradient"),
                 *begin = spy_find_function(l->mod, "begin_step"), *adam = spy_find_function(l->mod, "adam");
    spy_arg state = spy_arg_tensor("state", l->state),
            gradients[2] = { spy_arg_tensor("gradient", spy_tensor_grad(l->learnt[0])),
                             spy_arg_tensor("gradient", spy_tensor_grad(l->learnt[1])) };
    for (int turn = 0; turn < 4; turn++) {
        spy_call_with(loss,
                      SPY_ARGS(spy_arg_tensor("features", l->learnt[0]),
                               spy_arg_tensor("colors", l->learnt[1]), spy_arg_call_id("square"),
                               spy_arg_i32("turn", turn), spy_arg_tensor("photo", l->photo), mean),
                      &backward);
        for (int k = 0; k < 2; k++) spy_list_call(l->steps, look, SPY_ARGS(gradients[k], state));
        spy_list_call(l->steps, begin, SPY_ARGS(state));
        for (int k = 0; k < 2; k++)
            spy_list_call(l->steps, adam,
                          SPY_ARGS(spy_arg_tensor("value", l->learnt[k]), gradients[k],
                                   spy_arg_tensor("mean", l->means[k]),
                                   spy_arg_tensor("square", l->squares[k]), spy_arg_tensor("rate", l->rate),
                                   spy_arg_f32("beta1", 0.9f), spy_arg_f32("beta2", 0.99f),
                                   spy_arg_f32("scale", 1), state));
    }
    spy_list_finish(l->steps);
}

int main(int argc, char **argv) {
    const char *folder = argc > 2 ? argv[2] : NULL;
    double reached[REPLAYS] = { 0 };
    int32_t state[2] = { 0, 0 };
    char name[40];
    learner l;
    if (!read_photo(argc > 1 ? argv[1] : EXAMPLE_FOLDER "../../build/data/astronaut.png")) return 1;
    prepare(&l);
    record(&l);
    const spy_call_options pixels = { .thread_count = SPY_SHAPE(SIZE, SIZE) };
    spy_tensor *out =
        spy_create_tensor(l.dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(SIZE, SIZE), .type = "float3" });

    // 3. The rate lies on the device: what is recorded follows it.
    for (int i = 1; i <= REPLAYS; i++) {
        if (i == REPLAYS * 3 / 4) spy_tensor_fill(l.rate, (double)rate / 4);
        spy_list_submit(l.steps);
        spy_call_with(spy_find_function(l.mod, "paint"),
                      SPY_ARGS(spy_arg_tensor("features", l.learnt[0]), spy_arg_tensor("colors", l.learnt[1]),
                               spy_arg_call_id("pixel"), spy_arg_i32("size", SIZE),
                               spy_arg_tensor("_result", out)),
                      &pixels);
        spy_tensor_read(out, image, sizeof image);
        reached[i - 1] = psnr(image);
        if (i % 8) continue;
        printf("step %d: %.1f dB\n", 4 * i, reached[i - 1]);
        snprintf(name, sizeof name, "step_%d.png", 4 * i);
        save(folder, name, image);
    }
    spy_tensor_read(l.state, state, sizeof state);
    save(folder, "photo.png", photo);
    draw_curve(reached, 10, 35, image);
    save(folder, "curve.png", image);
    halve_and_enlarge(image);
    double simple = psnr(image);
    bool good = reached[REPLAYS - 1] >= simple + 1 && state[1] == 0;
    printf("the photo halved and enlarged: %.1f dB\n", simple);
    if (!good) fprintf(stderr, "expected %.2f dB at least, got %.2f\n", simple + 1, reached[REPLAYS - 1]);
    spy_error err = spy_take_error(l.dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(l.dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
