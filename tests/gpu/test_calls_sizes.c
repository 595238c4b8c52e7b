// Calls and copies of no elements and of very many, parameter blocks that are large, fills, and tensors of bools.
#include "calls.h"

// >>sizes

static void test_zero_size(void **state) {
    NEEDS_DEVICE();
    spy_tensor *e = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(0), NULL), *e2 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3, 0), NULL), *out = NULL;
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", e), spy_arg_f32("b", 1), spy_out_tensor("_result", &out))));
    assert_true(spy_get_tensor_info(out).element_count == 0 && spy_get_tensor_info(out).shape.dims[0] == 0);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", e2), spy_arg_tensor("b", e), spy_out_tensor("_result", &out))));
    spy_tensor_info info = spy_get_tensor_info(out);
    assert_true(info.shape.rank == 2 && info.shape.dims[0] == 3 && info.shape.dims[1] == 0);
    OK(spy_tensor_read(e, NULL, 0));
    OK(spy_tensor_write(e, NULL, 0));
    OK(spy_tensor_fill(e2, 3));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_array("a", NULL, SPY_SHAPE(0), SPY_DTYPE_FLOAT32), spy_arg_f32("b", 1), spy_out_array("_result", NULL, SPY_SHAPE(0), SPY_DTYPE_FLOAT32))));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", e), spy_arg_tensor("b", ramp(3, 0)), spy_out_tensor("_result", &out))), "sub", "'a'", "'b'", "(0,)", "(3,)");
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", e), spy_arg_tensor("b", ramp(1, 0)), spy_out_tensor("_result", &out)))); // 1 stretches to 0
    clean();
}

// More than 65,535 groups of 256 are folded into rows; every element must still be reached once. Counted in place.
static void test_folding(void **state) {
    NEEDS_DEVICE();
    enum { N = 65536 * 256 + 77 };
    spy_tensor *x = make(SPY_DTYPE_INT32, SPY_SHAPE(N + 64), NULL);
    OK(spy_tensor_fill(x, 5));
    spy_tensor *v = spy_create_slice(x, 0, 1, N + 1, 1); // misaligned: not the wide variant
    OK(spy_call(fn("isub"), SPY_ARGS(spy_arg_tensor("a", v), spy_arg_i32("b", 1), spy_arg_tensor("_result", v))));
    int32_t *got = (int32_t *)malloc(sizeof(int32_t) * (N + 64));
    OK(spy_tensor_read(x, got, sizeof(int32_t) * (N + 64)));
    size_t wrong = 0;
    for (int64_t i = 0; i < N + 64; i++) wrong += got[i] != (i >= 1 && i < N + 1 ? 4 : 5);
    assert_int_equal(wrong, 0);
    // and a strided one: (N, 2) [:, 1]
    free(got);
    spy_release_tensor(v);
    spy_release_tensor(x);
    clean();
}

static void test_big_block(void **state) {
    NEEDS_DEVICE();
    float m[5][16];
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < 16; i++) m[k][i] = (float)(100 * k + i);
    // a[0][0] + 2 b[1][1] + 3 c[2][2] + 4 d[3][3] + 5 e[0][3] + x
    float base = 0 + 2 * 105 + 3 * 210 + 4 * 315 + 5 * 403, f = 0;
    spy_arg all[7];
    const char *names[5] = { "a", "b", "c", "d", "e" };
    for (int k = 0; k < 5; k++) all[k] = spy_arg_array(names[k], m[k], SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32);
    all[5] = spy_arg_f32("x", 0.5f);
    all[6] = spy_out_f32("_result", &f);
    OK(spy_call(fn("big_block"), (spy_args){ all, 7 }));
    assert_true(f == base + 0.5f);
    // Many in one batch: each dispatch has its own copy of the block.
    enum { N = 300 };
    spy_tensor *outs[N], *x = ramp(3, 0);
    all[5] = spy_arg_tensor("x", x);
    for (int i = 0; i < N; i++) {
        m[0][0] = (float)i;
        outs[i] = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3), NULL);
        all[6] = spy_arg_tensor("_result", outs[i]);
        OK(spy_call(fn("big_block"), (spy_args){ all, 7 }));
    }
    for (int i = 0; i < N; i++) {
        FLOATS(outs[i], base + (float)i, base + (float)i + 1, base + (float)i + 2);
        spy_release_tensor(outs[i]);
    }
    clean();
}

// Beyond lavapipe's 128 MiB for one structured buffer.
static void test_big_tensor(void **state) {
    NEEDS_DEVICE();
    const int64_t n = 40000003; // 160 MB
    spy_device_info info = spy_get_device_info(gpu_device);
    if (info.memory_bytes < (uint64_t)n * 8) {
        print_message("skipped: the device has %llu bytes\n", (unsigned long long)info.memory_bytes);
        skip();
    }
    spy_tensor *x = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(n), NULL),
               *y = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(n), NULL);
    OK(spy_tensor_fill(x, 3));
    OK(spy_tensor_fill(y, -1));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", y))));
    float *got = (float *)malloc((size_t)n * 4);
    OK(spy_tensor_read(y, got, (size_t)n * 4));
    size_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += got[i] != 2;
    assert_int_equal(wrong, 0);
    // A small view at its far end.
    spy_tensor *end = spy_create_slice(y, 0, -5, n, 1);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", end), spy_arg_f32("b", 10), spy_arg_tensor("_result", end))));
    OK(spy_tensor_read(end, got, 20));
    for (int i = 0; i < 5; i++) assert_true(got[i] == -8);
    free(got);
    spy_release_tensor(end);
    spy_release_tensor(x);
    spy_release_tensor(y);
    OK(spy_trim(gpu_device));
    clean();
}

// Elements 2^31 apart: offsets of 64 bits, told by the kernel's first line.
static void test_wide_offsets(void **state) {
    NEEDS_DEVICE();
    const int64_t far_away = ((int64_t)1 << 31) - 1; // the last one of 2^31, which is all that lavapipe gives at once
    char text[8192];
    int8_t low = 5, high = 7, got = 0;
    if (!device_has(SPY_DTYPE_INT8)) skip();
    spy_tensor *t = gpu_tensor(gpu_device, SPY_DTYPE_INT8, NULL, NULL, SPY_SHAPE(far_away + 1), NULL);
    if (!t) {
        print_message("skipped: %s\n", spy_take_error(gpu_device).message);
        skip();
    }
    spy_tensor *first = spy_create_slice(t, 0, 0, 1, 1), *last = spy_create_slice(t, 0, far_away, far_away + 1, 1), *two = spy_create_slice(t, 0, 0, far_away + 1, far_away);
    OK(spy_tensor_write(first, &low, 1));
    OK(spy_tensor_write(last, &high, 1));
    assert_true(spy_get_tensor_info(two).shape.dims[0] == 2);
    int8_t sums[2];
    spy_args args = SPY_ARGS(spy_arg_tensor("a", two), spy_arg_i32("b", 1), spy_out_array("_result", sums, SPY_SHAPE(2), SPY_DTYPE_INT8));
    spy_explain_call(fn("add_i8"), args, NULL, text, sizeof text);
    assert_non_null(strstr(text, "64-bit offsets"));
    OK(spy_call(fn("add_i8"), args));
    assert_true(sums[0] == 6 && sums[1] == 8);
    OK(spy_call(fn("add_i8"), SPY_ARGS(spy_arg_tensor("a", two), spy_arg_i32("b", 10), spy_arg_tensor("_result", two)))); // in place, far apart
    OK(spy_tensor_read(first, &got, 1));
    assert_int_equal(got, 15);
    OK(spy_tensor_read(last, &got, 1));
    assert_int_equal(got, 17);
    spy_release_tensor(first);
    spy_release_tensor(last);
    spy_release_tensor(two);
    spy_release_tensor(t);
    OK(spy_trim(gpu_device));
    clean();
}

static void test_bool_tensor(void **state) {
    NEEDS_DEVICE();
    bool in[9] = { true, false, true, true, false, false, true, false, true }, out[9];
    spy_tensor *a = make(SPY_DTYPE_BOOL, SPY_SHAPE(9), in), *r = NULL;
    OK(spy_tensor_read(a, out, 9));
    assert_memory_equal(in, out, 9);
    OK(spy_call(fn("not_bool"), SPY_ARGS(spy_arg_tensor("x", a), spy_out_tensor("_result", &r))));
    OK(spy_tensor_read(r, out, 9));
    for (int i = 0; i < 9; i++) assert_true(out[i] == !in[i]);
    spy_tensor *v = make(SPY_DTYPE_BOOL, SPY_SHAPE(3, 3), in), *n = make(SPY_DTYPE_INT32, SPY_SHAPE(3), NULL), *v3 = typed("bool3", SPY_SHAPE(3), in), *w3 = NULL;
    int32_t got[3];
    OK(spy_call(fn("count_true"), SPY_ARGS(spy_arg_tensor("v", v), spy_arg_tensor("_result", n))));
    OK(spy_tensor_read(n, got, sizeof got));
    assert_true(got[0] == 5 && got[1] == 1 && got[2] == 5); // x + 2 y + 4 z of each row
    OK(spy_call(fn("count_true"), SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", n))));
    OK(spy_tensor_read(n, got, sizeof got));
    assert_true(got[0] == 5 && got[1] == 1 && got[2] == 5);
    OK(spy_call(fn("rotate_bool"), SPY_ARGS(spy_arg_tensor("v", v3), spy_out_tensor("_result", &w3))));
    OK(spy_tensor_read(w3, out, 9));
    for (int i = 0; i < 9; i++) assert_true(out[i] == in[i / 3 * 3 + (i + 1) % 3]);
    OK(spy_tensor_fill(a, 1));
    OK(spy_tensor_read(a, out, 9));
    for (int i = 0; i < 9; i++) assert_true(out[i]);
    clean();
}

// Fill converts to the element's type, for every scalar of every element.
static void test_fill(void **state) {
    NEEDS_DEVICE();
    uint8_t u8[5];
    int16_t i16[5];
    double f64[5];
    int64_t i64[5];
    spy_tensor *t = make(SPY_DTYPE_UINT8, SPY_SHAPE(5), NULL);
    OK(spy_tensor_fill(t, 200));
    OK(spy_tensor_read(t, u8, 5));
    for (int i = 0; i < 5; i++) assert_int_equal(u8[i], 200);
    spy_tensor *s = spy_create_slice(t, 0, 1, 4, 1); // three bytes at an odd address
    OK(spy_tensor_fill(s, 7));
    OK(spy_tensor_read(t, u8, 5));
    assert_true(u8[0] == 200 && u8[1] == 7 && u8[2] == 7 && u8[3] == 7 && u8[4] == 200);
    t = make(SPY_DTYPE_INT16, SPY_SHAPE(5), NULL);
    OK(spy_tensor_fill(t, -3));
    OK(spy_tensor_read(t, i16, sizeof i16));
    t = make(SPY_DTYPE_FLOAT64, SPY_SHAPE(5), NULL);
    OK(spy_tensor_fill(t, 0.1));
    OK(spy_tensor_read(t, f64, sizeof f64));
    t = make(SPY_DTYPE_INT64, SPY_SHAPE(5), NULL);
    OK(spy_tensor_fill(t, -5e12));
    OK(spy_tensor_read(t, i64, sizeof i64));
    for (int i = 0; i < 5; i++) assert_true(i16[i] == -3 && f64[i] == 0.1 && i64[i] == -5000000000000);
    float f[6];
    t = typed("float3", SPY_SHAPE(2), NULL);
    OK(spy_tensor_fill(t, 2.5));
    OK(spy_tensor_read(t, f, sizeof f));
    for (int i = 0; i < 6; i++) assert_true(f[i] == 2.5f);
    if (device_has(SPY_DTYPE_INT16)) {
        c_particle p[2];
        t = typed("Particle", SPY_SHAPE(2), NULL);
        OK(spy_tensor_fill(t, 1));
        OK(spy_tensor_read(t, p, sizeof p));
        for (int i = 0; i < 2; i++) assert_true(p[i].mass == 1 && p[i].inner.id == 1 && p[i].inner.on && p[i].tags[1] == 1 && p[i].position[2] == 1);
    }
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_tensor_fill(s, 256), "spy_tensor_fill", "256");
    clean();
}

// Large copies go through staging in pieces; element i is i * 7 mod 2^32.
static void test_large_copies(void **state) {
    NEEDS_DEVICE();
    const size_t n = 12345678;
    uint32_t *a = (uint32_t *)malloc(n * 4), *b = (uint32_t *)calloc(n, 4);
    for (size_t i = 0; i < n; i++) a[i] = (uint32_t)i * 7u;
    spy_tensor *t = make(SPY_DTYPE_UINT32, SPY_SHAPE((int64_t)n), a);
    OK(spy_tensor_read(t, b, n * 4));
    assert_memory_equal(a, b, n * 4);
    spy_tensor *odd = spy_create_slice(t, 0, 1, (int64_t)n, 2);
    size_t half = n / 2;
    OK(spy_tensor_read(odd, b, half * 4));
    for (size_t i = 0; i < half; i++) assert_true(b[i] == (uint32_t)(2 * i + 1) * 7u);
    for (size_t i = 0; i < half; i++) b[i] = (uint32_t)i;
    OK(spy_tensor_write(odd, b, half * 4));
    memset(b, 0, half * 4); // may change after the return
    OK(spy_tensor_read(t, b, n * 4));
    for (size_t i = 0; i < n; i++) assert_true(b[i] == (i % 2 ? (uint32_t)(i / 2) : (uint32_t)i * 7u));
    free(a);
    free(b);
    spy_release_tensor(t);
    spy_release_tensor(odd);
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_size), cmocka_unit_test(test_folding), cmocka_unit_test(test_big_block),
        cmocka_unit_test(test_big_tensor), cmocka_unit_test(test_wide_offsets), cmocka_unit_test(test_bool_tensor),
        cmocka_unit_test(test_fill), cmocka_unit_test(test_large_copies),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
