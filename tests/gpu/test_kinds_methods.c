// Methods on instances: one, a tensor of them, by fields; constructors, extensions; and names that the kernel uses, too.
#include "kinds.h"

// >>methods

static void expect_particles(const char *what, const particle *got, const particle *expected, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) SAME(what, i, got[i].pos[c], expected[i].pos[c]);
        SAME(what, i, got[i].mass, expected[i].mass);
        SAME(what, i, got[i].count, expected[i].count);
    }
}

#define PARTICLES 40

static void test_methods(void **state) {
    NEEDS_DEVICE();
    particle p[PARTICLES], now[PARTICLES];
    const float axis[3] = { 1, 2, -1 };
    float v[PARTICLES][3];
    fill_particles(p, PARTICLES);
    for (int i = 0; i < PARTICLES; i++)
        for (int c = 0; c < 3; c++) v[i][c] = (float)between(-5, 5);
    spy_tensor *velocity = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(PARTICLES, 3), v);
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *all = laid_out("Particle", SPY_SHAPE(PARTICLES), (layout)how), *r = NULL;
        OK(spy_tensor_write(all, p, sizeof p));
        memcpy(now, p, sizeof p);
        OK(spy_call(fn("Particle.moment"),
                    SPY_ARGS(spy_arg_tensor("this", all),
                             spy_arg_array("axis", axis, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                             spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++)
            SAME("moment", i, got[i], (now[i].pos[0] + 2 * now[i].pos[1] - now[i].pos[2]) * now[i].mass);
        spy_release_tensor(r);
        for (int step = 0; step < 3; step++) {
            OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_arg_tensor("v", velocity), spy_arg_f32("dt", 2),
                                                      spy_arg_tensor("this", all))));
            for (int i = 0; i < PARTICLES; i++) {
                for (int c = 0; c < 3; c++) now[i].pos[c] += v[i][c] * 2;
                now[i].count++;
            }
        }
        expect_particles("step", (const particle *)(const void *)read_all(all), now, PARTICLES);
        spy_tensor *where = NULL;
        r = NULL;
        OK(spy_call(fn("Particle.drain"),
                    SPY_ARGS(spy_arg_tensor(NULL, all), spy_arg_f32(NULL, 0.5f), spy_out_tensor(NULL, &where),
                             spy_out_tensor("_result", &r))));
        got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) {
            SAME("drained from", i, got[i], now[i].mass);
            now[i].mass -= 0.5f;
        }
        expect_particles("drain", (const particle *)(const void *)read_all(all), now, PARTICLES);
        got = (const float *)(const void *)read_all(where);
        for (int i = 0; i < PARTICLES; i++)
            for (int c = 0; c < 3; c++) SAME("where", i, got[3 * i + c], now[i].pos[c]);
        spy_release_tensor(where);
        spy_release_tensor(r);
        int32_t ab[2] = { 11, 22 };
        r = NULL;
        OK(spy_call(fn("Particle.mix"), SPY_ARGS(spy_arg_tensor(NULL, all), spy_arg_i32(NULL, ab[0]),
                                                 spy_arg_i32(NULL, ab[1]), spy_out_tensor("_result", &r))));
        const int32_t *mixed = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) SAME("mix", i, mixed[i], ab[now[i].count > 3 ? 0 : 1]);
        spy_release_tensor(r);
        r = NULL;
        OK(spy_call(fn("Particle.next"),
                    SPY_ARGS(spy_arg_tensor("this", all), spy_out_tensor("_result", &r))));
        mixed = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) SAME("next", i, mixed[i], now[i].count + 1);
        spy_release_tensor(r);
        spy_release_tensor(all);
    }
    // One instance in host memory.
    particle one = p[0];
    OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_inout_data("this", &one, sizeof one), spy_arg_f32("v", 1),
                                              spy_arg_f32("dt", 3))));
    for (int c = 0; c < 3; c++) SAME("host step", c, one.pos[c], p[0].pos[c] + 3);
    SAME("host step", 3, one.count, p[0].count + 1);
    float f = 0;
    OK(spy_call(fn("Particle.moment"), SPY_ARGS(spy_arg_data("this", &one, sizeof one),
                                                spy_arg_array("axis", axis, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                                                spy_out_f32("_result", &f))));
    SAME("host moment", 0, f, (one.pos[0] + 2 * one.pos[1] - one.pos[2]) * one.mass);
    OK(spy_call(fn("Particle.twice"), SPY_ARGS(spy_arg_f32("x", 4), spy_out_f32("_result", &f))));
    SAME("static", 0, f, 8);
    spy_release_tensor(velocity);
}

static void test_soa(void **state) {
    NEEDS_DEVICE();
    float pos[6 * 4 * 3], mass[4];
    int32_t count[6 * 4];
    for (int i = 0; i < 72; i++) pos[i] = (float)between(-9, 9);
    for (int i = 0; i < 24; i++) count[i] = (int32_t)between(0, 9);
    for (int i = 0; i < 4; i++) mass[i] = (float)between(1, 9);
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *t_pos = laid_out(how % 2 ? "float3" : "float",
                                     how % 2 ? SPY_SHAPE(6, 4) : SPY_SHAPE(6, 4, 3), (layout)how);
        spy_tensor *t_mass = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4), mass),
                   *t_count = laid_out("int", SPY_SHAPE(6, 4), (layout)how), *r = NULL;
        OK(spy_tensor_write(t_pos, pos, sizeof pos));
        OK(spy_tensor_write(t_count, count, sizeof count));
        spy_args fields = SPY_ARGS(spy_arg_tensor("count", t_count), spy_arg_tensor("pos", t_pos),
                                   spy_arg_tensor("mass", t_mass));
        OK(spy_call(fn("Particle.moment"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("axis", 2),
                                                    spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 24; i++)
            SAME("SOA moment", i, got[i],
                 (2 * pos[3 * i] + 2 * pos[3 * i + 1] + 2 * pos[3 * i + 2]) * mass[i % 4]);
        spy_release_tensor(r);
        // A broadcast field cannot be written.
        FAILS(SPY_ERROR_SHAPE_MISMATCH,
              spy_call(fn("Particle.step"),
                       SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("v", 1), spy_arg_f32("dt", 1))),
              "this.mass");
        spy_tensor *t_masses = laid_out("float", SPY_SHAPE(6, 4), (layout)how);
        fields = SPY_ARGS(spy_arg_tensor("count", t_count), spy_arg_tensor("pos", t_pos),
                          spy_arg_tensor("mass", t_masses));
        OK(spy_tensor_fill(t_masses, 3));
        for (int k = 0; k < 5; k++)
            OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("v", 1),
                                                      spy_arg_f32("dt", 0.5f))));
        got = (const float *)(const void *)read_all(t_pos);
        for (int i = 0; i < 72; i++) SAME("SOA step", i, got[i], pos[i] + 2.5f);
        const int32_t *counted = (const int32_t *)(const void *)read_all(t_count);
        for (int i = 0; i < 24; i++) SAME("SOA count", i, counted[i], count[i] + 5);
        got = (const float *)(const void *)read_all(t_masses);
        for (int i = 0; i < 24; i++) SAME("SOA mass", i, got[i], 3);
        spy_release_tensor(t_pos);
        spy_release_tensor(t_mass);
        spy_release_tensor(t_masses);
        spy_release_tensor(t_count);
    }
}

static void test_constructors(void **state) {
    NEEDS_DEVICE();
    float m[20];
    for (int i = 0; i < 20; i++) m[i] = (float)between(-20, 20);
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(20), m), *r = NULL;
    static const char *const names[] = { "Particle", "Particle.__init", "Particle.$init" };
    for (int n = 0; n < 3; n++) {
        r = NULL;
        OK(spy_call(fn(names[n]), SPY_ARGS(spy_arg_tensor("m", t), spy_out_tensor("_result", &r))));
        const particle *got = (const particle *)(const void *)read_all(r);
        for (int i = 0; i < 20; i++) {
            SAME("pos", i, got[i].pos[2], m[i] + 2);
            SAME("mass", i, got[i].mass, 2 * m[i]);
            SAME("count", i, got[i].count, 7);
        }
        spy_release_tensor(r);
    }
    particle one;
    OK(spy_call(fn("Particle"), SPY_ARGS(spy_arg_f32("p", 3), spy_arg_f32("m", 4),
                                         spy_out_data("_result", &one, sizeof one))));
    assert_true(one.pos[0] == 3 && one.pos[2] == 3 && one.mass == 4 && one.count == 0);
    spy_release_tensor(t);
}

// Extensions of built-in types: instances that wide kernels load as vectors.
static void test_extensions(void **state) {
    NEEDS_DEVICE();
    float x[33], v[33 * 3];
    int32_t k[33];
    for (int i = 0; i < 33; i++) x[i] = (float)between(-99, 99), k[i] = (int32_t)between(-99, 99);
    for (int i = 0; i < 99; i++) v[i] = (float)i;
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *t = laid_out("float", SPY_SHAPE(33), (layout)how),
                   *t3 = laid_out("float3", SPY_SHAPE(33), (layout)how),
                   *ints = make(SPY_DTYPE_INT32, SPY_SHAPE(33), k), *r = NULL;
        OK(spy_tensor_write(t, x, sizeof x));
        OK(spy_tensor_write(t3, v, sizeof v));
        OK(spy_call(fn("float.plus"),
                    SPY_ARGS(spy_arg_tensor("this", t), spy_arg_f32("y", 1), spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("plus", i, got[i], x[i] + 1);
        spy_release_tensor(r);
        OK(spy_call(fn("float.bump"), SPY_ARGS(spy_arg_tensor("this", t), spy_arg_range("y", 0, 33, 1))));
        got = (const float *)(const void *)read_all(t);
        for (int i = 0; i < 33; i++) SAME("bump", i, got[i], x[i] + (float)i);
        r = NULL;
        OK(spy_call(fn("float3.turn"), SPY_ARGS(spy_arg_tensor("this", t3), spy_out_tensor("_result", &r))));
        got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("turn", i, got[i], v[3 * i + 1]);
        got = (const float *)(const void *)read_all(t3);
        for (int i = 0; i < 99; i++) SAME("turned", i, got[i], v[i / 3 * 3 + (i + 1) % 3]);
        spy_release_tensor(r);
        r = NULL;
        OK(spy_call(fn("int.squared"),
                    SPY_ARGS(spy_arg_tensor("this", ints), spy_out_tensor("_result", &r))));
        const int32_t *squares = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("squared", i, squares[i], k[i] * k[i]);
        spy_release_tensor(r);
        spy_release_tensor(t);
        spy_release_tensor(t3);
        spy_release_tensor(ints);
    }
}

// >>what is refused

static spy_function *own_fn(spy_module *own, const char *name) {
    return MADE(spy_function, spy_find_function(own, name));
}

// Functions of the user's may be called as those of our Slang module, which he has not imported.
static void test_own_names(void **state) {
    NEEDS_DEVICE();
    static const char source[] = "struct Tensor { float x; float get(float y) { return x + y; } }\n"
                                 "struct WangHash { uint x; }\n"
                                 "uint wang_hash(uint seed) { return seed + 5; }\n"
                                 "int get_call_id(int x) { return x + 6; }\n"
                                 "float boxed(Tensor t, float k) { return t.x * k; }\n"
                                 "uint hashed(WangHash h) { return h.x; }\n";
    spy_module *own = MADE(spy_module, gpu_module(gpu_device, "own_names", source));
    uint32_t u = 0;
    int32_t s = 0;
    float f = 0;
    OK(spy_call(own_fn(own, "wang_hash"), SPY_ARGS(spy_arg_thread_id("seed"), spy_out_u32("_result", &u))));
    SAME("wang_hash", 0, u, 5);
    OK(spy_call(own_fn(own, "get_call_id"), SPY_ARGS(spy_arg_call_id("x"), spy_out_i32("_result", &s))));
    SAME("get_call_id", 0, s, 6);
    spy_args fields = SPY_ARGS(spy_arg_rand_float("x", 2, 2, NULL));
    OK(spy_call(own_fn(own, "boxed"),
                SPY_ARGS(spy_arg_struct("t", fields), spy_arg_thread_id("k"), spy_out_f32("_result", &f))));
    SAME("boxed", 0, f, 0);
    OK(spy_call(own_fn(own, "Tensor.get"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_thread_id("y"),
                                                    spy_out_f32("_result", &f))));
    SAME("Tensor.get", 0, f, 2);
    spy_release_module(own);
}

static void test_hidden_names(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *t = numbered(data), *out = NULL;
    OK(spy_call(fn("a_mix"), SPY_ARGS(spy_arg_range("i", 0, 9, 1), spy_arg_tensor("v_t", t),
                                      spy_arg_tensor("w_p", t), spy_arg_tensor("spy_i", t),
                                      spy_arg_call_id("r_result"), spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 9; i++) SAME("a_mix", i, got[i], 4 * i);
    spy_release_tensor(out);
    spy_tensor *made = NULL;
    out = NULL;
    OK(spy_call(fn("a_this"),
                SPY_ARGS(spy_arg_range("spy_thread", 0, 9, 1), spy_out_tensor("_result", &made))));
    OK(spy_call(fn("a_this.b_step"), SPY_ARGS(spy_arg_tensor("this", made), spy_arg_thread_id("_shape"),
                                              spy_arg_f32("_count", 0.5f), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 9; i++) SAME("b_step", i, got[i], 2 * i + 0.5);
    spy_release_tensor(out);
    spy_release_tensor(made);
    spy_release_tensor(t);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(test_methods), TEST(test_soa), TEST(test_constructors), TEST(test_extensions), TEST(test_own_names),
        TEST(test_hidden_names),
    };
    return kinds_run(tests, sizeof tests / sizeof *tests, argc, argv);
}
