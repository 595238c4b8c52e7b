// 21_declare: says at the argument how a call runs over it, by spy_vmap, spy_vdim and spy_vcast, or once for
// all calls, by spy_declare. The numbers are checked against plain C.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where declare.slang lies; otherwise run the program beside it
#endif

enum { HEIGHT = 48, WIDTH = 64, FRAMES = 100, LIGHTS = 3, DISTANCES = 4 };

static bool close_to(const char *what, float got, float expected) {
    if (fabsf(got - expected) <= 1e-4f) return true;
    fprintf(stderr, "%s: got %.9g, expected %.9g\n", what, (double)got, (double)expected);
    return false;
}

// One channel of what `tonemap` computes.
static float tonemap(const float *color, int channel, float filmic, float saturation) {
    float grey = 0.3f * color[0] + 0.6f * color[1] + 0.1f * color[2];
    float c = grey + (color[channel] - grey) * saturation;
    return c * filmic / (c + filmic);
}

static spy_tensor *floats(spy_device *dev, spy_shape shape, const float *data) {
    return spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .data = data });
}

// 1. Without a word more, a call takes the trailing dimensions that a parameter's type needs, and runs over
//    the others. spy_vdim says which ones are run over, spy_vcast which type an element has, and spy_vmap in
//    which order: here the picture is transposed.
static bool at_the_argument(spy_device *dev, spy_function *f, const float (*pixels)[3]) {
    static float turned[WIDTH][HEIGHT][3];
    spy_tensor *image = floats(dev, SPY_SHAPE(HEIGHT, WIDTH, 3), pixels[0]), *out[3] = { 0 };
    spy_arg ways[3] = { spy_vdim(spy_arg_tensor("color", image), 2),
                        spy_vcast(spy_arg_tensor("color", image), "float3"),
                        spy_vmap(spy_arg_tensor("color", image), SPY_DIMS(1, 0)) };
    for (int i = 0; i < 3; i++) {
        spy_call(f, SPY_ARGS(ways[i], spy_arg_f32("filmic", 1), spy_arg_f32("saturation", 0.5f),
                             spy_out_tensor("_result", &out[i])));
        spy_shape shape = spy_get_tensor_info(out[i]).shape;
        printf("a picture of %d x %d pixels becomes one of %d x %d\n", HEIGHT, WIDTH, (int)shape.dims[0],
               (int)shape.dims[1]);
    }
    spy_tensor_read(out[2], turned, sizeof turned);
    bool good = true;
    for (int i = 0; i < HEIGHT * WIDTH * 3 && good; i++) {
        int y = i / 3 / WIDTH, x = i / 3 % WIDTH;
        good = close_to("a transposed pixel", turned[x][y][i % 3], tonemap(pixels[i / 3], i % 3, 1, 0.5f));
    }
    for (int i = 0; i < 3; i++) spy_release_tensor(out[i]);
    spy_release_tensor(image);
    return good;
}

// 2. Around a struct it is the mapping of each field that is run over: every light at every distance. The
//    power is one number for all.
static bool around_a_struct(spy_device *dev, spy_function *f) {
    const float colors[LIGHTS][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0.5f, 0.5f, 1 } };
    const float distances[DISTANCES] = { 1, 2, 3, 4 };
    float lit[LIGHTS][DISTANCES][3];
    spy_tensor *color = floats(dev, SPY_SHAPE(LIGHTS, 3), colors[0]);
    spy_arg light =
        spy_arg_struct("light", SPY_ARGS(spy_arg_tensor("color", color), spy_arg_f32("power", 10)));
    spy_arg distance = spy_arg_array("distance", distances, SPY_SHAPE(DISTANCES), SPY_DTYPE_FLOAT32);
    spy_call(f, SPY_ARGS(spy_vmap(light, SPY_DIMS(0)), spy_vmap(distance, SPY_DIMS(1)),
                         spy_out_array("_result", lit, SPY_SHAPE(LIGHTS, DISTANCES, 3), SPY_DTYPE_FLOAT32)));
    printf("the blue light is %.3f at distance 2\n", (double)lit[2][1][2]);
    bool good = true;
    for (int i = 0; i < LIGHTS * DISTANCES * 3; i++) {
        int l = i / 3 / DISTANCES, d = i / 3 % DISTANCES;
        good = good && close_to("a light", lit[l][d][i % 3], colors[l][i % 3] * 10 / (distances[d] * distances[d]));
    }
    spy_release_tensor(color);
    return good;
}

// 3. A type chooses among functions of one name.
static bool overloads(spy_device *dev, spy_function *f) {
    const float vectors[2][3] = { { 3, 4, 0 }, { -1, 2, 2 } };
    float lengths[2], sizes[2][3];
    spy_tensor *v = floats(dev, SPY_SHAPE(2, 3), vectors[0]);
    spy_call(f, SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, v), "float3"),
                         spy_out_array("_result", lengths, SPY_SHAPE(2), SPY_DTYPE_FLOAT32)));
    spy_call(f, SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, v), "float"),
                         spy_out_array("_result", sizes, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32)));
    printf("as a float3 its size is %g, as floats %g, %g and %g\n", (double)lengths[0], (double)sizes[0][0],
           (double)sizes[0][1], (double)sizes[0][2]);
    spy_release_tensor(v);
    return close_to("a length", lengths[1], 3) && close_to("a size", sizes[1][0], 1);
}

// 4. spy_declare says it once. What it returns is a function like any other, whose calls take the plain
//    arguments: it can be recorded, differentiated and prepared, too.
static bool declared(spy_device *dev, spy_function *f, const float (*pixels)[3]) {
    static float seen[HEIGHT][WIDTH][3];
    spy_function *tonemap2d = spy_declare(f, SPY_ARGS(spy_vdim(spy_arg_any("color"), 2)));
    spy_tensor *image = floats(dev, SPY_SHAPE(HEIGHT, WIDTH, 3), pixels[0]);
    spy_tensor *out = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(HEIGHT, WIDTH), .type = "float3" });
    for (int frame = 0; frame < FRAMES; frame++)
        spy_call(tonemap2d, SPY_ARGS(spy_arg_tensor("color", image), spy_arg_f32("filmic", 1),
                                     spy_arg_f32("saturation", (float)frame / (FRAMES - 1)),
                                     spy_arg_tensor("_result", out)));
    spy_tensor_read(out, seen, sizeof seen);
    printf("after %d calls of the declared function the first pixel is %.3f %.3f %.3f\n", FRAMES,
           (double)seen[0][0][0], (double)seen[0][0][1], (double)seen[0][0][2]);
    bool good = true;
    for (int i = 0; i < HEIGHT * WIDTH * 3 && good; i++)
        good = close_to("a pixel", seen[i / 3 / WIDTH][i / 3 % WIDTH][i % 3], tonemap(pixels[i / 3], i % 3, 1, 1));

    // 5. Its gradients are those of central differences.
    spy_gradcheck_info info;
    spy_args args =
        SPY_ARGS(spy_arg_tensor("color", image), spy_arg_f32("filmic", 1), spy_arg_f32("saturation", 0.5f));
    good = spy_gradcheck(tonemap2d, args, &(spy_gradcheck_desc){ .max_elements = 8 }, &info) == SPY_OK && good;
    printf("of the gradients that were checked %u are wrong\n", info.wrong);
    spy_release_tensor(image);
    spy_release_tensor(out);
    return good;
}

// 6. What cannot be meant is an error that says what could be.
static bool mistakes(spy_device *dev, spy_function *f) {
    spy_tensor *flat = floats(dev, SPY_SHAPE(WIDTH, 2), NULL);
    spy_call(f, SPY_ARGS(spy_arg_tensor("color", flat), spy_arg_f32("filmic", 1), spy_arg_f32("saturation", 1)));
    spy_error err = spy_take_error(dev);
    printf("two numbers are no color: %s\n", err.code == SPY_ERROR_SHAPE_MISMATCH ? "refused" : "taken");
    spy_release_tensor(flat);
    return err.code == SPY_ERROR_SHAPE_MISMATCH;
}

int main(void) {
    static float pixels[HEIGHT * WIDTH][3];
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) pixels[i / 3][i % 3] = (float)(i * 37 % 1000) / 1000;
    spy_device *dev = spy_create_device(&(spy_device_desc){ .backend = spy_vk_backend() });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "declare.slang" });
    spy_function *f = spy_find_function(mod, "tonemap");
    bool good = at_the_argument(dev, f, pixels) && around_a_struct(dev, spy_find_function(mod, "shine")) &&
                overloads(dev, spy_find_function(mod, "size")) && declared(dev, f, pixels) && mistakes(dev, f);
    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
