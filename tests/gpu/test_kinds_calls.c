// Calls with generators, whole tensors and methods: their order, copies and lifetimes, prepared calls, large parameter blocks,
// where in the call a function runs, and what is refused.
#include "kinds.h"

// >>order

// Calls that write through a whole tensor, and calls that read and write it element by element, without a wait between.
static void test_hazards(void **state) {
    NEEDS_DEVICE();
    enum { N = 3000, ROUNDS = 200 };
    static float a[N], b[N], next[N];
    for (int i = 0; i < N; i++) a[i] = (float)(i % 13), b[i] = (float)(i % 7);
    spy_tensor *ta = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), a), *tb = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), b),
               *tc = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL);
    spy_arg i = spy_arg_range("i", 0, N, 1);
    for (int round = 0; round < ROUNDS; round++) {
        // c = reversed a: reads whole, writes element-wise
        OK(spy_call(fn("reversed"), SPY_ARGS(i, spy_arg_tensor("t", ta), spy_arg_tensor("_result", tc))));
        // a[i] += c[i]: writes whole what was read, reads element-wise what was written
        OK(spy_call(fn("accumulate"), SPY_ARGS(i, spy_arg_tensor("t", ta), spy_arg_tensor("v", tc))));
        // b = b + a: reads element-wise what was written whole
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", tb), spy_arg_tensor("b", ta),
                                        spy_arg_tensor("_result", tb))));
        // a = b by whole tensors on both sides, one of them written element-wise before; then smaller again
        OK(spy_call(fn("copy"), SPY_ARGS(i, spy_arg_tensor("from", tb), spy_arg_tensor("to", ta))));
        OK(spy_call(
            fn("scale_row"),
            SPY_ARGS(spy_arg_tensor(
                         "row",
                         MADE(spy_tensor, spy_create_view(ta, &(spy_view_desc){ .shape = SPY_SHAPE(N, 1) }))),
                     spy_arg_f32("by", 0.25f))));
        for (int k = 0; k < N; k++) next[k] = a[k] + a[N - 1 - k];
        for (int k = 0; k < N; k++) {
            b[k] = b[k] + next[k];
            a[k] = b[k] * 0.25f;
        }
        if (round % 20 == 19) { // the numbers must stay finite and exact in both
            OK(spy_call(fn("add"),
                        SPY_ARGS(spy_arg_f32("a", 3), spy_arg_f32("b", 0), spy_arg_tensor("_result", tb))));
            for (int k = 0; k < N; k++) b[k] = 3;
        }
    }
    const float *got = (const float *)(const void *)read_all(ta);
    for (int k = 0; k < N; k++) SAME("a", k, got[k], a[k]);
    got = (const float *)(const void *)read_all(tb);
    for (int k = 0; k < N; k++) SAME("b", k, got[k], b[k]);
    spy_release_tensor(ta);
    spy_release_tensor(tb);
    spy_release_tensor(tc);
}

// Copies to a tensor wait for the calls that read it whole, and those for the copies.
static void test_copies(void **state) {
    NEEDS_DEVICE();
    enum { N = 4000, ROUNDS = 40 };
    static float data[N];
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL), *out[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        out[round] = NULL;
        if (round % 3 == 0) {
            OK(spy_tensor_fill(t, round));
        } else if (round % 3 == 1) {
            for (int k = 0; k < N; k++) data[k] = (float)(round * 10000 + k);
            OK(spy_tensor_write(t, data, sizeof data));
        } else {
            OK(spy_call(fn("any_writer"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", t),
                                                   spy_arg_f32("v", (float)-round))));
        }
        OK(spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", t),
                                             spy_out_tensor("_result", &out[round]))));
    }
    for (int round = 0; round < ROUNDS; round++) {
        const float *got = (const float *)(const void *)read_all(out[round]);
        for (int k = 0; k < N; k++)
            SAME("copies", k, got[k],
                 round % 3 == 0   ? round
                 : round % 3 == 1 ? round * 10000 + N - 1 - k
                                  : -round);
        spy_release_tensor(out[round]);
    }
    spy_release_tensor(t);
}

// A tensor that is released right behind the call keeps its memory until the call is done.
static void test_releases(void **state) {
    NEEDS_DEVICE();
    enum { N = 2000 };
    static float data[N];
    spy_tensor *out[40];
    for (int round = 0; round < 40; round++) {
        for (int k = 0; k < N; k++) data[k] = (float)(round * 10000 + k);
        spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), data),
                   *w = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL);
        out[round] = NULL;
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("from", t),
                                         spy_arg_tensor("to", w))));
        OK(spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", w),
                                             spy_out_tensor("_result", &out[round]))));
        spy_release_tensor(t);
        spy_release_tensor(w);
    }
    for (int round = 0; round < 40; round++) {
        const float *got = (const float *)(const void *)read_all(out[round]);
        for (int k = 0; k < N; k++) SAME("reversed", k, got[k], round * 10000 + N - 1 - k);
        spy_release_tensor(out[round]);
    }
}

// >>how many times, and prepared calls

static void test_prepared(void **state) {
    NEEDS_DEVICE();
    for (int async = 0; async < 2; async++) {
        float data[STORED], *six = data;
        spy_tensor *t = numbered(data),
                   *rows =
                       MADE(spy_tensor, spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(10, 40) }));
        spy_tensor *out = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(10), NULL);
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        spy_arg row = spy_arg_tensor("row", rows), k = spy_arg_i32("k", async ? 3 : 4);
        spy_args args = SPY_ARGS(row, k, spy_arg_f32("w", 2), spy_arg_tensor("_result", out));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(fn("weighted"), args, &d));
        // What was described may go: nothing of it is looked at later.
        OK(spy_call_prepared(p, args));
        const float *got = (const float *)(const void *)read_all(out);
        for (int i = 0; i < 10; i++) SAME("weighted", i, got[i], (40 * 40 * i + 780) * 2 + (async ? 3 : 4));
        (void)six;
        spy_release_prepared(p);
        spy_grid_desc *g = (spy_grid_desc *)calloc(1, sizeof *g); // gone before the thread is done
        g->shape = SPY_SHAPE(2, 5);
        spy_tensor *small =
            MADE(spy_tensor, spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(2, 5) }));
        spy_args at = SPY_ARGS(spy_arg_grid("p", g), spy_arg_tensor("t", small), spy_arg_f32("v", 1));
        p = MADE(spy_prepared, spy_prepare(fn("put2"), at, &d));
        free(g);
        spy_grid_desc again = grid_of(SPY_SHAPE(2, 5));
        OK(spy_call_prepared(
            p, SPY_ARGS(spy_arg_grid("p", &again), spy_arg_tensor("t", small), spy_arg_f32("v", 1))));
        got = (const float *)(const void *)read_all(small);
        for (int i = 0; i < 10; i++) SAME("put2", i, got[i], 2 * i + 1);
        FAILS(SPY_ERROR_TYPE_MISMATCH,
              spy_call_prepared(p, SPY_ARGS(spy_arg_grid("p", &again), spy_arg_tensor("t", rows),
                                            spy_arg_tensor("v", small))),
              "prepared");
        spy_release_prepared(p);
        spy_release_tensor(small);
        spy_release_tensor(rows);
        spy_release_tensor(out);
        spy_release_tensor(t);
    }
}

// The block of parameters is larger than push constants: it goes by address.
static void test_large_block(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *t = numbered(data), *out = NULL;
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(2, 1, 2, 1, 2, 1, 2, 3);
    spy_tensor *v = MADE(spy_tensor, spy_create_view(t, &d));
    spy_args scene = SPY_ARGS(spy_arg_tensor("t", v), spy_arg_rand_float("scale", 2, 2, NULL));
    OK(spy_call(fn("sample"),
                SPY_ARGS(spy_arg_struct("s", scene), spy_arg_i32("i", 2), spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 16; i++) SAME("sample", i, got[i], (3 * i + 2) * 2);
    spy_release_tensor(out);
    spy_release_tensor(v);
    spy_release_tensor(t);
}

// >>what is refused

static void test_refused(void **state) {
    NEEDS_DEVICE();
    int32_t kept = 77;
    spy_arg out = spy_out_i32("_result", &kept), x;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", NULL), out)), "'x'",
          "spy_grid_desc");
    spy_grid_desc g = grid_of(SPY_SHAPE(3));
    g.offset = SPY_SHAPE(1, 2);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "rank");
    g = grid_of(SPY_SHAPE(3));
    g.stride = SPY_SHAPE((int64_t)1 << 31);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "32 bits");
    g = grid_of(SPY_SHAPE(3));
    g.shape.rank = 9;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "rank");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_range("x", 0, 5, 0), out)),
          "step is 0");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("one"), SPY_ARGS(spy_arg_range("x", 0, (int64_t)1 << 40, 1), out)), "32 bits");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("as_float"), SPY_ARGS(spy_arg_rand_float("x", 1, 0, NULL))),
          "'x'", "low <= high");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("as_float"),
                   SPY_ARGS(spy_arg_rand_float("x", 0, (float)(0.0 / (1.0 - (double)(kept / 77))), NULL))),
          "'x'", "finite");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("as_float"), SPY_ARGS(spy_arg_rand_float("x", -3e38f, 3e38f, NULL))), "'x'", "finite");
    x = spy_arg_call_id("x");
    x.direction = SPY_DIRECTION_OUT;
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'", "in parameter");
    x.direction = (spy_direction)7;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'", "direction");
    x = spy_arg_call_id("x");
    x._custom = NULL;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'");
    // Whole tensors.
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(8), NULL),
               *ints = make(SPY_DTYPE_INT32, SPY_SHAPE(8), NULL);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at2"), SPY_ARGS(spy_arg_i32("p", 0), spy_arg_tensor("t", t))),
          "'t'", "2 trailing");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(fn("at1"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_tensor("t", ints))), "'t'",
          "Tensor<float, 1>", "int tensor");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("at1"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_tensor("t", NULL))), "'t'", "NULL");
    float array[8] = { 0 };
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(fn("at1"),
                   SPY_ARGS(spy_arg_i32("i", 0), spy_arg_array("t", array, SPY_SHAPE(8), SPY_DTYPE_FLOAT32))),
          "'t'", "takes a tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("peek"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_f32("p", 1))),
          "'p'", "float*", "address");
    // An output that the function may read anywhere: threads would read what others have written.
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, 8, 1), spy_arg_tensor("t", t),
                                            spy_arg_tensor("_result", t))),
          "_result", "'t'");
    // Instances.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("Particle.next"), SPY_NO_ARGS), "'this'", "not specified");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("Particle.next"), SPY_ARGS(spy_arg_tensor("this", t))),
          "'this'", "Particle");
    assert_null(spy_find_function(module, "Particle.nothing"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "Particle.nothing");
    spy_release_tensor(t);
    spy_release_tensor(ints);
    assert_int_equal(kept, 77);
}

// The kernel's call information is that of the call.
static void test_call_info(void **state) {
    NEEDS_DEVICE();
    spy_tensor *out = typed("int[3]", SPY_SHAPE(4, 5), NULL);
    OK(spy_call(fn("where_am_i"), SPY_ARGS(spy_arg_tensor("_result", out))));
    const int32_t *got = (const int32_t *)(const void *)read_all(out);
    for (int i = 0; i < 20; i++) {
        SAME("rank", i, got[3 * i], 2);
        SAME("row", i, got[3 * i + 1], i / 5);
        SAME("column", i, got[3 * i + 2], i % 5);
    }
    spy_release_tensor(out);
    for (int how = 0; how < LAYOUTS; how++) { // four elements of a thread are four places
        out = laid_out("int", SPY_SHAPE(3, 16), (layout)how);
        OK(spy_call(fn("column"), SPY_ARGS(spy_arg_tensor("_result", out))));
        got = (const int32_t *)(const void *)read_all(out);
        for (int i = 0; i < 48; i++) SAME("column", i, got[i], i % 16);
        spy_release_tensor(out);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(test_hazards), TEST(test_releases), TEST(test_prepared), TEST(test_large_block), TEST(test_refused),
        TEST(test_call_info), TEST(test_copies),
    };
    return kinds_run(tests, sizeof tests / sizeof *tests, argc, argv);
}
