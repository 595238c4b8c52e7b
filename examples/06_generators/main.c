// 06_generators [OUTPUT.png]: arguments that are made in the kernel, one for each element, with no memory
// behind them: where the element is, numbers in a row, grids, and chance.
//
// It prints a multiplication table and pi, and draws the Mandelbrot set.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where generators.slang lies; otherwise run the program beside it
#endif

enum { WIDTH = 960, HEIGHT = 640, STRIDE = 8, DARTS = 1000000 };
static const float centre[2] = { -0.75f, 0 }, pixel_size = 0.0036f;

static bool wrong(const char *what, double got, double expected) {
    fprintf(stderr, "%s: got %.9g, expected %.9g\n", what, got, expected);
    return false;
}

// >>where an element is

// 1. call_id is the element's place in the call, thread_id its number. They have no size of their own: here
//    the result gives the call its shape, and the parameters' types say how many dimensions they take.
static bool places(spy_module *mod) {
    bool agree[5 * 7] = { 0 }, good = true;
    const int32_t size[2] = { 7, 5 };
    spy_call(spy_find_function(mod, "agree"),
             SPY_ARGS(spy_arg_call_id("pixel"), spy_arg_call_id("index"), spy_arg_thread_id("number"),
                      spy_arg_i32n("size", size, 2),
                      spy_out_array("_result", agree, SPY_SHAPE(5, 7), SPY_DTYPE_BOOL)));
    for (int i = 0; i < 5 * 7; i++) good = good && agree[i];
    return good || wrong("the places of an element", 0, 1);
}

// 2. A range is a dimension, as an array of its numbers would be. Two of them, mapped to a dimension each:
//    every number with every other.
static bool table(spy_module *mod) {
    int32_t products[5 * 10] = { 0 };
    spy_arg a = spy_vmap(spy_arg_range("a", 2, 12, 2), SPY_DIMS(0)); // 2, 4, ... 10
    spy_arg b = spy_vmap(spy_arg_range("b", 1, 11, 1), SPY_DIMS(1)); // 1, 2, ... 10
    spy_call(spy_find_function(mod, "times"),
             SPY_ARGS(a, b, spy_out_array("_result", products, SPY_SHAPE(5, 10), SPY_DTYPE_INT32)));
    for (int i = 0; i < 50; i++) {
        int expected = (2 + i / 10 * 2) * (1 + i % 10);
        printf("%4d%s", products[i], i % 10 == 9 ? "\n" : "");
        if (products[i] != expected) return wrong("a product", products[i], expected);
    }
    return true;
}

// >>grids

static double mandelbrot_in_c(int x, int y) {
    double cx = (double)centre[0] + (double)pixel_size * x, cy = (double)centre[1] + (double)pixel_size * y;
    double zx = 0, zy = 0;
    for (int i = 1; i <= 400; i++) {
        double t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy, zx = t;
        if (zx * zx + zy * zy > 64) return i - log2(0.5 * log2(zx * zx + zy * zy)) + 1;
    }
    return 0;
}

// 3. A grid gives coordinates: offset + stride * place. Sizes of -1 follow the rest of the call. The offset
//    puts (0, 0) into the middle of the picture.
static spy_tensor *draw(spy_device *dev, spy_module *mod, int stride) {
    const spy_grid_desc grid = { .shape = SPY_SHAPE(-1, -1),
                                 .offset = SPY_SHAPE(-HEIGHT / 2, -WIDTH / 2),
                                 .stride = SPY_SHAPE(stride, stride) };
    spy_tensor *steps =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(HEIGHT / stride, WIDTH / stride) });
    spy_call(spy_find_function(mod, "mandelbrot"),
             SPY_ARGS(spy_arg_grid("pixel", &grid), spy_arg_f32n("centre", centre, 2),
                      spy_arg_f32("pixel_size", pixel_size), spy_arg_tensor("_result", steps)));
    return steps;
}

static bool picture(spy_device *dev, spy_module *mod, const char *path) {
    static float large[HEIGHT][WIDTH], small[HEIGHT / STRIDE][WIDTH / STRIDE];
    static const double phases[3] = { 2.2, 2.7, 3.3 };
    static unsigned char pixels[HEIGHT][WIDTH][3];
    spy_tensor *steps = draw(dev, mod, 1), *preview = draw(dev, mod, STRIDE);

    // 4. rand_float: a random number between two others for each component of each element. The seed says
    //    which; NULL is a seed too: the same numbers at each run, on each GPU.
    spy_call(spy_find_function(mod, "paint"),
             SPY_ARGS(spy_arg_tensor("steps", steps), spy_arg_rand_float("chance", 0, 1, NULL),
                      spy_out_array("_result", pixels, SPY_SHAPE(HEIGHT, WIDTH, 3), SPY_DTYPE_UINT8)));
    spy_tensor_read(steps, large, sizeof large);
    spy_tensor_read(preview, small, sizeof small);

    // The small picture is every eighth pixel of the large one. Of C's some differ: at the edge of the set
    // float and double part ways.
    int differ = 0, count = 0;
    for (int y = 0; y < HEIGHT; y += STRIDE) {
        for (int x = 0; x < WIDTH; x += STRIDE, count++) {
            float got = large[y][x], other = small[y / STRIDE][x / STRIDE];
            if (fabsf(got - other) > 0.01f) return wrong("the small picture", (double)other, (double)got);
            for (int c = 0; c < 3;
                 c++) { // chance raises 254 * waves by less than 1; the GPU's cos is not C's
                double waves = 0.5 - 0.5 * cos(2.5 * log2(1 + (double)got) + phases[c]);
                double level = got > 0 ? pixels[y][x][c] - 254 * waves : 0;
                if (level < -1.3 || level > 1.3) return wrong("a colour", pixels[y][x][c], 254 * waves);
            }
            differ += fabs((double)got - mandelbrot_in_c(x - WIDTH / 2, y - HEIGHT / 2)) > 0.1;
        }
    }
    printf("%d of %d pixels differ from C\n", differ, count);
    if (differ * 100 > count) return wrong("pixels that differ from C", differ, count * 0.01);
    if (stbi_write_png(path, WIDTH, HEIGHT, 3, pixels, 3 * WIDTH)) return true;
    fprintf(stderr, "cannot write '%s'\n", path);
    return false;
}

// >>chance

static uint32_t wang_hash_in_c(uint32_t x) {
    x = (x ^ 61u) ^ (x >> 16);
    x *= 9u;
    x ^= x >> 4;
    x *= 0x27d4eb2du;
    return x ^ (x >> 15);
}

// 5. wang_hash is what rand_float is made of: 32 random bits for each component. Element i of three components
//    begins at 3 i, is hashed `warmup` times and joined with hash(seed), and is hashed again for each component.
static bool hashes(spy_module *mod) {
    static uint32_t got[1000][3];
    const spy_random_desc random = { .seed = 2026, .warmup = 2 };
    spy_call(spy_find_function(mod, "same"),
             SPY_ARGS(spy_arg_wang_hash("hash", &random),
                      spy_out_array("_result", got, SPY_SHAPE(1000, 3), SPY_DTYPE_UINT32)));
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t state = wang_hash_in_c(wang_hash_in_c(3 * i)) ^ wang_hash_in_c(2026);
        for (int c = 0; c < 3; c++) {
            state = wang_hash_in_c(state);
            if (got[i][c] != state) return wrong("a Wang hash", got[i][c], state);
        }
    }
    return true;
}

// 6. Pi from a million darts: the circle has pi / 4 of the square. Neither argument gives the call a size, so
//    that its options do. The first hash of numbers in a row shows something of the row; a warmup of 1
//    hides it. The same darts in C; one that is just on the line may fall to the other side.
static bool pi_by_darts(spy_device *dev, spy_module *mod) {
    const spy_call_options million = { .thread_count = SPY_SHAPE(DARTS) };
    const spy_random_desc random = { .seed = 1, .warmup = 1 };
    spy_tensor *hits = spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(1), .dtype = SPY_DTYPE_UINT32, .zeroed = true });
    uint32_t inside = 0, expected = 0;
    spy_call_with(spy_find_function(mod, "throw_dart"),
                  SPY_ARGS(spy_arg_rand_float("dart", -1, 1, &random), spy_arg_tensor("hits", hits)),
                  &million);
    spy_tensor_read(hits, &inside, sizeof inside);
    for (uint32_t i = 0; i < DARTS; i++) {
        uint32_t x = wang_hash_in_c(wang_hash_in_c(2 * i) ^ wang_hash_in_c(1)), y = wang_hash_in_c(x);
        double u = (x & 0x7fffff) / 4194304.0 - 1, v = (y & 0x7fffff) / 4194304.0 - 1; // 23 bits of each
        expected += u * u + v * v < 1;
    }
    printf("pi is about %.4f\n", 4.0 * inside / DARTS);
    if (abs((int)inside - (int)expected) > 3) return wrong("darts in the circle", inside, expected);
    return fabs(4.0 * inside / DARTS - 3.14159265) < 0.01 || wrong("pi", 4.0 * inside / DARTS, 3.14159265);
}

int main(int argc, char **argv) {
    const char *out_path = argc > 1 ? argv[1] : "mandelbrot.png";
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "generators.slang" });
    bool good =
        places(mod) && table(mod) && picture(dev, mod, out_path) && hashes(mod) && pi_by_darts(dev, mod);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    if (good) printf("%s\n", out_path);
    spy_release_device(dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
