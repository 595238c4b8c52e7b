// 03_structs: the four ways of giving and taking structs, on planets that go round a star for a year.
//
//   whole, from and to host memory      spy_arg_data, spy_out_data, spy_inout_data
//   whole, an array on the device       a tensor of type "Planet" ("array of structs")
//   field by field, numbers             spy_arg_struct of spy_arg_f32 ...
//   field by field, tensors at leaves   spy_arg_struct of spy_arg_tensor ... ("struct of arrays")
//
// The Slang functions in planets.slang do not know which of them is used.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where planets.slang lies; otherwise run the program beside it
#endif

// 1. The same structs in C. The library asks Slang for each struct's layout on the device and converts when
//    it differs from C's, so these are plain declarations, without padding fields.
typedef struct motion {
    float position[3], velocity[3];
} motion;
typedef struct planet {
    motion motion;
    float mass;
} planet;
typedef struct star {
    float position[3], mass;
} star;

enum { PLANETS = 5, STEPS = 1000 };

static const char *const names[PLANETS] = { "Mercury", "Venus", "Earth", "Mars", "Jupiter" };
static const float axes[PLANETS] = { 0.38710f, 0.72333f, 1.00000f, 1.52368f, 5.20260f };
static const float eccentricities[PLANETS] = { 0.20563f, 0.00677f, 0.01671f, 0.09340f, 0.04849f };
static const float masses[PLANETS] = { 1.660e-7f, 2.448e-6f, 3.003e-6f, 3.227e-7f, 9.546e-4f };

// The same year in C and in double, to compare with.
static void year_in_c(const planet *p, const star *s, double *at) {
    double x = (double)p->motion.position[0], y = 0, vx = 0, vy = (double)p->motion.velocity[1],
           dt = 1.0 / STEPS;
    for (int i = 0; i < 2 * STEPS; i++) { // two half kicks a step
        double k = 39.4784176 * (double)s->mass / pow(x * x + y * y, 1.5);
        vx -= 0.5 * dt * k * x, vy -= 0.5 * dt * k * y;
        if (i % 2 == 0) x += dt * vx, y += dt * vy;
    }
    at[0] = x, at[1] = y;
}

int main(void) {
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "planets.slang" });
    spy_function *perihelion = spy_find_function(mod, "perihelion");
    spy_function *advance = spy_find_function(mod, "advance");
    spy_function *turn_back = spy_find_function(mod, "turn_back");

    // 2. A struct whole: the bytes of a C variable. One size that differs from the Slang struct's is an
    //    error, so a field that was forgotten on one side is found at the first call.
    const star sun = { { 0, 0, 0 }, 1 };
    spy_arg sun_arg = spy_arg_data("star", &sun, sizeof sun);

    // 3. Struct results. Host arrays of five numbers feed three floats, so this is five calls in one, and the
    //    result is a new tensor of five "Planet": an array of structs. Reading it gives C's structs.
    spy_tensor *start = NULL;
    planet first[PLANETS] = { { { { 0 }, { 0 } }, 0 } };
    spy_call(perihelion,
             SPY_ARGS(spy_arg_array("axis", axes, SPY_SHAPE(PLANETS), SPY_DTYPE_FLOAT32),
                      spy_arg_array("eccentricity", eccentricities, SPY_SHAPE(PLANETS), SPY_DTYPE_FLOAT32),
                      spy_arg_array("mass", masses, SPY_SHAPE(PLANETS), SPY_DTYPE_FLOAT32), sun_arg,
                      spy_out_tensor("_result", &start)));
    spy_tensor_read(start, first, sizeof first);

    // 4. A struct of arrays: each field has a tensor of its own, here float3 and float. Nested structs are
    //    nested lists. GPUs like this form better (neighbouring threads read neighbouring numbers), and a
    //    field that is the same for all planets could be a single number. A field's name is that in the Slang
    //    struct; without names they go by position.
    spy_tensor *position =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(PLANETS), .type = "float3" });
    spy_tensor *velocity =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(PLANETS), .type = "float3" });
    spy_tensor *mass =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(PLANETS), .data = masses });
    float p3[PLANETS][3], v3[PLANETS][3];
    for (int i = 0; i < PLANETS; i++)
        for (int c = 0; c < 3; c++)
            p3[i][c] = first[i].motion.position[c], v3[i][c] = first[i].motion.velocity[c];
    spy_tensor_write(position, p3, sizeof p3);
    spy_tensor_write(velocity, v3, sizeof v3);

    spy_args motion_fields =
        SPY_ARGS(spy_arg_tensor("position", position), spy_arg_tensor("velocity", velocity));
    spy_args fields = SPY_ARGS(spy_arg_struct("motion", motion_fields), spy_arg_tensor("mass", mass));

    // 5. `energy` is an out parameter: a fifth array that the function writes. The struct result goes into
    //    the tensors that it came from, which is allowed because each planet reads and writes its own
    //    elements only. The loop records a thousand calls, each of which needs the one before it, and never
    //    waits.
    spy_tensor *energy = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(PLANETS) });
    spy_args step = SPY_ARGS(spy_arg_struct("planet", fields), sun_arg, spy_arg_f32("dt", 1.0f / STEPS),
                             spy_arg_tensor("energy", energy), spy_arg_struct("_result", fields));
    float e0[PLANETS] = { 0 }, e1[PLANETS] = { 0 };
    for (int i = 0; i < STEPS; i++) {
        spy_call(advance, step);
        if (i == 0) spy_tensor_read(energy, e0, sizeof e0);
    }
    spy_tensor_read(energy, e1, sizeof e1);
    spy_tensor_read(position, p3, sizeof p3);

    // 6. One planet, whole, in place: `inout` takes the C variable and writes it back. The call waits for
    //    that.
    planet earth = first[2];
    spy_call(turn_back, SPY_ARGS(spy_inout_data("planet", &earth, sizeof earth)));

    // 7. One planet field by field from numbers; out parameter and struct result into host memory.
    const float at[3] = { 1, 0, 0 }, speed[3] = { 0, 6.2831853f, 0 };
    planet moved = { { { 0 }, { 0 } }, 0 };
    float moved_energy = 0;
    spy_args still = SPY_ARGS(spy_arg_f32n("position", at, 3), spy_arg_f32n("velocity", speed, 3));
    spy_call(advance, SPY_ARGS(spy_arg_struct("planet", SPY_ARGS(spy_arg_struct("motion", still),
                                                                 spy_arg_f32("mass", 1))),
                               sun_arg, spy_arg_f32("dt", 0), spy_out_f32("energy", &moved_energy),
                               spy_out_data("_result", &moved, sizeof moved)));

    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);

    // 8. Energy is kept, the Earth is back after its year, and all of them are where C says.
    bool good = err.code == SPY_OK;
    for (int i = 0; good && i < PLANETS; i++) {
        double c[2], error, drift = fabs((double)e1[i] / (double)e0[i] - 1);
        year_in_c(&first[i], &sun, c);
        error = hypot((double)p3[i][0] - c[0], (double)p3[i][1] - c[1]);
        printf("%-8s after a year at (%6.3f, %6.3f), energy changed by %.0e\n", names[i], (double)p3[i][0],
               (double)p3[i][1], drift);
        good = error < 2e-3 && drift < 1e-3;
        if (!good) fprintf(stderr, "%s: C says (%.4f, %.4f), %.1e away\n", names[i], c[0], c[1], error);
    }
    good = good && fabsf(p3[2][0] - first[2].motion.position[0]) < 0.01f && fabsf(p3[2][1]) < 0.01f;
    good = good && earth.motion.velocity[1] == -first[2].motion.velocity[1] && earth.mass == masses[2];
    good = good && moved.motion.position[0] == 1 && fabsf(moved_energy + 19.7392f) < 0.01f && moved.mass == 1;
    if (!good) fprintf(stderr, "wrong results\n");
    spy_release_device(dev);
    return good ? 0 : 1;
}
