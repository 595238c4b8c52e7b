// 05_particles [OUTPUT.png]: 100,000 stars of a galaxy, a struct with methods, moved and drawn on the GPU.
//
// galaxy.slang declares one star, its constructor and its methods. This program makes them all at once, in
// two ways, and gets the same orbits from both and from C:
//
//   a tensor of structs ("array of structs", AOS)      spy_arg_tensor("this", stars)
//   a struct of tensors ("struct of arrays", SOA)      spy_arg_struct("this", fields)

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <math.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where galaxy.slang lies; otherwise run the program beside it
#endif

enum { STARS = 100000, STEPS = 200, SIZE = 800, CHECKED = 2000 };
static const float dt = 0.001f;

// The same struct in C: read from the tensor of structs, and where the fields of the other one are put.
typedef struct star {
    float position[2], velocity[2], heat;
} star;

// >>the same in C, in double, to compare with

// Thomas Wang's hash, which the random numbers of step 2 come from.
static uint32_t wang_hash(uint32_t x) {
    x = (x ^ 61u) ^ (x >> 16);
    x *= 9u;
    x ^= x >> 4;
    x *= 0x27d4eb2du;
    return x ^ (x >> 15);
}

static void pull(const double *p, double *v, double by) {
    double d = p[0] * p[0] + p[1] * p[1] + 0.01, k = by * -0.5 / (d * sqrt(d));
    v[0] += k * p[0], v[1] += k * p[1];
}

static void star_in_c(uint32_t number, double *p, double *energy, double *heat) {
    double chance[3], v[2];
    uint32_t state = 3 * number ^ wang_hash(7); // `chance` has three components
    for (int i = 0; i < 3; i++) chance[i] = (double)((state = wang_hash(state)) & 0x7fffff) / 8388608;
    double radius = 0.02 + 0.8 * chance[0], angle = 6.2831853 * chance[1];
    double c = cos(7 * radius), s = sin(7 * radius), x = radius * cos(angle), y = radius * sin(angle);
    double speed = sqrt(0.5) * pow(radius * radius + 0.01, -0.75);
    p[0] = c * x - s * 0.75 * y, p[1] = s * x + c * 0.75 * y;
    v[0] = speed * (c * -y - s * 0.75 * x), v[1] = speed * (s * -y + c * 0.75 * x);
    for (int i = 0; i < STEPS; i++) {
        pull(p, v, (double)dt);
        p[0] += (double)dt * v[0], p[1] += (double)dt * v[1];
    }
    *heat = radius * (0.6 + 0.6 * chance[2]);
    *energy = 0.5 * (v[0] * v[0] + v[1] * v[1]) - 0.5 / sqrt(p[0] * p[0] + p[1] * p[1] + 0.01);
}

// float against double over 200 steps: 1e-4 of the picture's width is far above rounding, and far below a
// mistake.
static bool check(const char *what, const star *stars, const float *energies) {
    for (int i = 0; i < CHECKED; i++) {
        int n = (int)((long long)i * (STARS - 1) / (CHECKED - 1));
        double p[2], energy, heat;
        star_in_c((uint32_t)n, p, &energy, &heat);
        const float *q = stars[n].position;
        if (hypot((double)q[0] - p[0], (double)q[1] - p[1]) < 1e-4 &&
            fabs((double)energies[n] - energy) < 1e-3 && fabs((double)stars[n].heat - heat) < 1e-5)
            continue;
        fprintf(stderr, "%s: star %d is at (%g, %g) with energy %g, C says (%g, %g) with %g\n", what, n,
                (double)q[0], (double)q[1], (double)energies[n], p[0], p[1], energy);
        return false;
    }
    return true;
}

// Every star shone once a step, with 16 of green. None may be lost, also where many shone at once.
static bool write_picture(const char *path, const uint32_t *light) {
    static unsigned char pixels[SIZE * SIZE * 3];
    uint64_t green = 0;
    for (int i = 0; i < SIZE * SIZE * 3; i++) {
        green += i % 3 == 1 ? light[i] : 0;
        pixels[i] = (unsigned char)(255 * (1 - exp(-0.0005 * light[i]))); // film: much light saturates
    }
    if (green != 16ull * STARS * STEPS) {
        fprintf(stderr, "the picture has %llu of green, not %llu\n", (unsigned long long)green,
                16ull * STARS * STEPS);
        return false;
    }
    if (stbi_write_png(path, SIZE, SIZE, 3, pixels, 3 * SIZE)) return true;
    fprintf(stderr, "cannot write '%s'\n", path);
    return false;
}

// >>the program

int main(int argc, char **argv) {
    const char *out_path = argc > 1 ? argv[1] : "galaxy.png";
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "galaxy.slang" });

    // 1. A constructor is found by the struct's name, a method as Struct.method. Static methods are found the
    //    same way, and are called like plain functions.
    spy_function *construct = spy_find_function(mod, "Star");
    spy_function *step = spy_find_function(mod, "Star.step");
    spy_function *energy = spy_find_function(mod, "Star.energy");
    spy_function *shine = spy_find_function(mod, "Star.shine");

    // 2. A tensor of structs: each star's fields lie together. The constructor runs once for each element of
    //    its result; `chance` is made in the kernel: three random numbers a star, from the star's number and
    //    a seed, so that they are the same at each run and on each GPU.
    const spy_random_desc seed = { .seed = 7 };
    spy_arg chance = spy_arg_rand_float("chance", 0, 1, &seed);
    spy_tensor *stars = spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(STARS), .type = "Star", .module = mod });
    spy_call(construct, SPY_ARGS(chance, spy_arg_tensor("_result", stars)));

    // 3. A struct of tensors: each field of all stars lies together, in a tensor of its own. It is given
    //    field by field, and may be given wherever a Star goes: here as the result. The Slang code is the
    //    same.
    spy_tensor *position =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(STARS), .type = "float2" });
    spy_tensor *velocity = spy_create_tensor(dev, &(spy_tensor_desc){ .like = position });
    spy_tensor *heat = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(STARS) });
    spy_args fields = SPY_ARGS(spy_arg_tensor("position", position), spy_arg_tensor("velocity", velocity),
                               spy_arg_tensor("heat", heat));
    spy_call(construct, SPY_ARGS(chance, spy_arg_struct("_result", fields)));

    // 4. Methods take their instance as the argument "this". step() is [mutating]: it changes it in place.
    //    shine() takes a whole tensor besides, which all stars share; it belongs to the call, so it gives it
    //    no dimensions.
    spy_tensor *picture = spy_create_tensor(
        dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(SIZE, SIZE), .type = "uint3", .zeroed = true });
    for (int i = 0; i < STEPS; i++) {
        spy_call(step, SPY_ARGS(spy_arg_tensor("this", stars), spy_arg_f32("dt", dt)));
        spy_call(step, SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("dt", dt)));
        spy_call(shine, SPY_ARGS(spy_arg_tensor("this", stars), spy_arg_tensor("picture", picture)));
    }

    // 5. A method with a result.
    spy_tensor *energy_aos = NULL, *energy_soa = NULL;
    spy_call(energy, SPY_ARGS(spy_arg_tensor("this", stars), spy_out_tensor("_result", &energy_aos)));
    spy_call(energy, SPY_ARGS(spy_arg_struct("this", fields), spy_out_tensor("_result", &energy_soa)));

    // 6. Back to C: the one as C's structs, the other field by field.
    star *aos = calloc(STARS, sizeof *aos), *soa = calloc(STARS, sizeof *soa);
    float(*xy)[2] = calloc(STARS, sizeof *xy);
    float *heats = calloc(STARS, sizeof *heats), *energies = calloc(2 * STARS, sizeof *energies);
    uint32_t *light = calloc(SIZE * SIZE * 3, sizeof *light);
    spy_tensor_read(stars, aos, STARS * sizeof *aos);
    spy_tensor_read(position, xy, STARS * sizeof *xy);
    spy_tensor_read(heat, heats, STARS * sizeof *heats);
    spy_tensor_read(energy_aos, energies, STARS * sizeof *energies);
    spy_tensor_read(energy_soa, energies + STARS, STARS * sizeof *energies);
    spy_tensor_read(picture, light, SIZE * SIZE * 3 * sizeof *light);
    for (int i = 0; i < STARS; i++)
        soa[i].position[0] = xy[i][0], soa[i].position[1] = xy[i][1], soa[i].heat = heats[i];

    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    bool good = err.code == SPY_OK && check("tensor of structs", aos, energies) &&
                check("struct of tensors", soa, energies + STARS) && write_picture(out_path, light);
    if (good)
        printf("%d stars, %d steps, twice; %d of them compared with C\n%s\n", STARS, STEPS, CHECKED,
               out_path);
    spy_release_device(dev);
    free(aos), free(soa), free(xy), free(heats), free(energies), free(light);
    return good ? 0 : 1;
}
