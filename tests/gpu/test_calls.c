// Calls with fixed numbers, one or more for each rule of binding, mapping, results and memory. Expected numbers are worked
// out by hand from the text of calls.slang, or by the loops beside the check.
#include "gpu_test.h"
#include "counting_allocator.h"
#include "chance.h"

#include <math.h>
#include <pthread.h>

spy_device *gpu_device;
static spy_module *module;

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static spy_tensor *make(spy_dtype dtype, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, dtype, NULL, NULL, shape, data));
}

static spy_tensor *typed(const char *type, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, module, shape, data));
}

static spy_tensor *ramp(int64_t count, float first) { // (count,) floats: first, first + 1, ...
    float *data = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) data[i] = first + (float)i;
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(count), data);
    free(data);
    return t;
}

// The first `count` numbers of a tensor of floats.
static void expect_floats(spy_tensor *t, const float *expected, size_t count, int line) {
    size_t size = spy_get_tensor_info(t).host_size_bytes;
    float *got = (float *)malloc(size + 1);
    assert_true(size >= count * sizeof(float));
    gpu_ok(spy_tensor_read(t, got, size), "spy_tensor_read", __FILE__, line);
    size_t i = 0;
    while (i < count && got[i] == expected[i]) i++;
    if (i < count)
        print_error("line %d: element %zu is %g, expected %g\n", line, i, (double)got[i], (double)expected[i]);
    free(got);
    if (i < count) fail();
}
#define FLOATS(tensor, ...)                                                                                   \
    do {                                                                                                      \
        const float e_[] = { __VA_ARGS__ };                                                                   \
        expect_floats((tensor), e_, sizeof e_ / sizeof *e_, __LINE__);                                        \
    } while (0)

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0; // each test then says "skipped"
    char path[512];
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = gpu_path(__FILE__, "calls.slang", path, sizeof path);
    module = spy_load_module(gpu_device, &m);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

// No error is left over from the tests before.
static void clean(void) {
    spy_error e = spy_take_error(gpu_device);
    if (e.code != SPY_OK) fail_msg("left over: %s", e.message);
}

// >>scalars

static bool device_has(spy_dtype d) {
    uint32_t f = spy_get_device_info(gpu_device).features;
    if (d == SPY_DTYPE_INT8 || d == SPY_DTYPE_UINT8) return f & SPY_FEATURE_INT8;
    if (d == SPY_DTYPE_INT16 || d == SPY_DTYPE_UINT16) return f & SPY_FEATURE_INT16;
    if (d == SPY_DTYPE_INT64 || d == SPY_DTYPE_UINT64) return f & SPY_FEATURE_INT64;
    if (d == SPY_DTYPE_FLOAT16) return f & SPY_FEATURE_FLOAT16;
    if (d == SPY_DTYPE_FLOAT64) return f & SPY_FEATURE_FLOAT64;
    return true;
}

// a + b, swap and dup of one element of each type: numbers and bytes in, bytes out.
static void test_scalars(void **state) {
    NEEDS_DEVICE();
    static const struct {
        spy_dtype dtype;
        const char *n;
        int64_t a, b;
        uint64_t sum_bits; // of a + b in this type
    } rows[] = {
        { SPY_DTYPE_INT8, "i8", -100, 27, 0xb7 },          // -73
        { SPY_DTYPE_UINT8, "u8", 200, 100, 0x2c },         // 300 - 256 = 44
        { SPY_DTYPE_INT16, "i16", -30000, -10000, 0x63c0 }, // -40000 + 65536 = 25536
        { SPY_DTYPE_UINT16, "u16", 65000, 1000, 0x01d0 },  // 464
        { SPY_DTYPE_INT32, "i32", -7, 3, 0xfffffffcu },
        { SPY_DTYPE_UINT32, "u32", 4000000000, 500000000, 205032704 }, // mod 2^32
        { SPY_DTYPE_INT64, "i64", INT64_MIN + 5, 1, 0x8000000000000006u },
        { SPY_DTYPE_UINT64, "u64", 5, 9000000000000000000, 9000000000000000005u },
        { SPY_DTYPE_FLOAT16, "f16", 3, -5, 0xc000 },        // -2 as half
        { SPY_DTYPE_FLOAT32, "f32", 3, -5, 0xc0000000u },   // -2 as float
        { SPY_DTYPE_FLOAT64, "f64", 3, -5, 0xc000000000000000u },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[32];
        size_t size = spy_dtype_size_bytes(rows[i].dtype);
        if (!device_has(rows[i].dtype)) {
            print_message("the device has no %s: not tested\n", spy_dtype_name(rows[i].dtype));
            continue;
        }
        uint64_t got = 0;
        snprintf(name, sizeof name, "add_%s", rows[i].n);
        OK(spy_call(fn(name), SPY_ARGS(spy_arg_i64("a", rows[i].a), spy_arg_i64("b", rows[i].b), spy_out_data("_result", &got, size))));
        assert_true(got == rows[i].sum_bits);
        got = 0;
        OK(spy_call(fn(name), SPY_ARGS(spy_arg_i64(NULL, rows[i].b), spy_arg_i64(NULL, rows[i].a),
                                       spy_out_array("_result", &got, gpu_rank0(), rows[i].dtype))));
        assert_true(got == rows[i].sum_bits);
        uint64_t x = rows[i].sum_bits, y = 0, x0 = x, u = 0x7777777777777777u, v = u;
        snprintf(name, sizeof name, "swap_%s", rows[i].n);
        OK(spy_call(fn(name), SPY_ARGS(spy_inout_data("a", &x, size), spy_inout_data("b", &y, size))));
        assert_true(x == 0 && y == x0);
        snprintf(name, sizeof name, "dup_%s", rows[i].n);
        OK(spy_call(fn(name), SPY_ARGS(spy_arg_data("a", &y, size), spy_out_data("c", &v, size), spy_out_data("b", &u, size))));
        // Only `size` bytes may have been written.
        assert_memory_equal(&u, &x0, size);
        if (size < 8) assert_memory_equal((char *)&u + size, "\x77\x77\x77\x77\x77\x77\x77", 8 - size);
        if (rows[i].dtype < SPY_DTYPE_FLOAT16) {
            uint64_t next = x0 + 1;
            assert_memory_equal(&v, &next, size);
        }
    }
    bool b = true, c = false;
    OK(spy_call(fn("not_bool"), SPY_ARGS(spy_arg_bool("x", true), spy_out_bool("_result", &b))));
    assert_false(b);
    OK(spy_call(fn("both"), SPY_ARGS(spy_arg_bool("a", true), spy_arg_bool("b", true), spy_out_bool("_result", &b))));
    assert_true(b);
    bool d = false;
    spy_arg inout = spy_out_bool("a", &b);
    inout.direction = SPY_DIRECTION_INOUT;
    OK(spy_call(fn("flip"), SPY_ARGS(inout, spy_out_bool("b", &d))));
    assert_true(!b && d);
    bool in3[3] = { true, false, true }, out3[3] = { true, true, true };
    int32_t n = -1;
    OK(spy_call(fn("count_true"), SPY_ARGS(spy_arg_array("v", in3, SPY_SHAPE(3), SPY_DTYPE_BOOL), spy_out_i32("_result", &n))));
    assert_int_equal(n, 5);
    OK(spy_call(fn("rotate_bool"), SPY_ARGS(spy_arg_data("v", in3, 3), spy_out_array("_result", out3, SPY_SHAPE(3), SPY_DTYPE_BOOL))));
    assert_true(!out3[0] && out3[1] && out3[2]);
    (void)c;
    float f = 0;
    OK(spy_call(fn("add_f32"), SPY_ARGS(spy_inout_f32("_result", &f), spy_arg_f32("a", 1), spy_arg_f32("b", 2))) == SPY_OK ? SPY_OK : SPY_OK);
    (void)spy_take_error(gpu_device); // inout for a result may be refused or taken as out; it must not crash
    uint32_t u32 = 7, w32 = 8;
    int32_t i32 = -7, j32 = 8;
    double f64 = 1.5, g64 = -2.5;
    OK(spy_call(fn("swap_u32"), SPY_ARGS(spy_inout_u32("a", &u32), spy_inout_u32("b", &w32))));
    OK(spy_call(fn("swap_i32"), SPY_ARGS(spy_inout_i32("a", &i32), spy_inout_i32("b", &j32))));
    OK(spy_call(fn("swap_f64"), SPY_ARGS(spy_inout_f64("a", &f64), spy_inout_f64("b", &g64))));
    assert_true(u32 == 8 && w32 == 7 && i32 == 8 && j32 == -7 && f64 == -2.5 && g64 == 1.5);
    int64_t l = 0;
    uint64_t ul = 0;
    OK(spy_call(fn("add_i64"), SPY_ARGS(spy_arg_i64("a", -1), spy_arg_i32("b", -1), spy_out_i64("_result", &l))));
    // A number above INT64_MAX reaches a uint64 parameter whole.
    OK(spy_call(fn("add_u64"), SPY_ARGS(spy_arg_u64("a", 0x8000000000000001u), spy_arg_u32("b", 1), spy_out_u64("_result", &ul))));
    assert_true(l == -2 && ul == 0x8000000000000002u);
    clean();
}

// The parameter decides: values that fit are taken, others are refused and nothing is written.
static void test_conversions(void **state) {
    NEEDS_DEVICE();
    float f = -1;
    int32_t n = -1;
    uint32_t u = 77;
    uint8_t byte = 99;
    bool b = false;
    OK(spy_call(fn("add_f32"), SPY_ARGS(spy_arg_i32("a", 3), spy_arg_bool("b", true), spy_out_f32("_result", &f))));
    assert_true(f == 4);
    OK(spy_call(fn("add_f32"), SPY_ARGS(spy_arg_f64("a", 0.1), spy_arg_u64("b", 0), spy_out_f32("_result", &f))));
    assert_true(f == 0.1f); // rounded to nearest
    OK(spy_call(fn("isub"), SPY_ARGS(spy_arg_f32("a", 2), spy_arg_bool("b", true), spy_out_i32("_result", &n))));
    assert_int_equal(n, 1); // 2.0 is an int
    OK(spy_call(fn("not_bool"), SPY_ARGS(spy_arg_i32("x", 0), spy_out_bool("_result", &b))));
    assert_true(b);
    n = -1;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("isub"), SPY_ARGS(spy_arg_f32("a", 2.5f), spy_arg_i32("b", 1), spy_out_i32("_result", &n))),
          "isub", "'a'", "int", "2.5");
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("isub"), SPY_ARGS(spy_arg_i64("a", 1ll << 31), spy_arg_i32("b", 1), spy_out_i32("_result", &n))), "isub", "'a'",
          "int", "2147483648");
    assert_int_equal(n, -1);
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("add_u32"), SPY_ARGS(spy_arg_i32("a", -1), spy_arg_i32("b", 1), spy_out_u32("_result", &u))), "add_u32", "'a'",
          "uint", "-1");
    assert_int_equal(u, 77);
    if (device_has(SPY_DTYPE_UINT8)) {
        FAILS(SPY_ERROR_OUT_OF_RANGE,
              spy_call(fn("add_u8"), SPY_ARGS(spy_arg_i32("a", 300), spy_arg_i32("b", 1), spy_out_data("_result", &byte, 1))), "add_u8",
              "'a'", "uint8_t", "300");
        assert_int_equal(byte, 99);
    }
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("isub"), SPY_ARGS(spy_arg_f64("a", NAN), spy_arg_i32("b", 1), spy_out_i32("_result", &n))), "isub", "'a'");
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("isub"), SPY_ARGS(spy_arg_f64("a", 1e300), spy_arg_i32("b", 1), spy_out_i32("_result", &n))), "isub", "'a'");
    // Host arrays: float64 for float is converted; ints for float; each value is checked.
    double d3[3] = { 0.1, 2, -3 };
    int32_t i3[3] = { 1, 2, 3 }, bad[3] = { 1, 256, 3 };
    float r3[3] = { 0, 0, 0 };
    OK(spy_call(fn("scale3"),
                SPY_ARGS(spy_arg_array("v", d3, SPY_SHAPE(3), SPY_DTYPE_FLOAT64), spy_arg_i32("s", 2),
                         spy_out_array("_result", r3, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    assert_true(r3[0] == 0.1f * 2 && r3[1] == 4 && r3[2] == -6);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_i32n("v", i3, 3), spy_arg_f32("s", 0.5f), spy_out_array("_result", r3, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    assert_true(r3[0] == 0.5f && r3[1] == 1 && r3[2] == 1.5f);
    float many[3] = { 9, 9, 9 };
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_array("a", d3, SPY_SHAPE(3), SPY_DTYPE_FLOAT64), spy_arg_array("b", i3, SPY_SHAPE(3), SPY_DTYPE_INT32),
                                    spy_out_array("_result", many, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    assert_true(many[0] == 0.1f - 1 && many[1] == 0 && many[2] == -6);
    if (device_has(SPY_DTYPE_UINT8)) {
        uint8_t r[3] = { 9, 9, 9 };
        FAILS(SPY_ERROR_OUT_OF_RANGE,
              spy_call(fn("add_u8"), SPY_ARGS(spy_arg_array("a", bad, SPY_SHAPE(3), SPY_DTYPE_INT32), spy_arg_i32("b", 0),
                                              spy_out_array("_result", r, SPY_SHAPE(3), SPY_DTYPE_UINT8))),
              "add_u8", "'a'", "uint8_t");
        assert_true(r[0] == 9 && r[1] == 9 && r[2] == 9);
    }
    // Device tensors: widening is done in the kernel, what could lose values is refused.
    if (device_has(SPY_DTYPE_INT16)) {
        int16_t s4[4] = { -1, 2, -300, 32767 };
        spy_tensor *s = make(SPY_DTYPE_INT16, SPY_SHAPE(4), s4), *out = ramp(4, -5);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", s), spy_arg_f32("b", 0.5f), spy_arg_tensor("_result", out))));
        FLOATS(out, -1.5f, 1.5f, -300.5f, 32766.5f);
        spy_release_tensor(s);
        spy_release_tensor(out);
    }
    bool b4[4] = { true, false, true, true };
    spy_tensor *tb = make(SPY_DTYPE_BOOL, SPY_SHAPE(4), b4), *tf = ramp(4, 0.5f), *ti = make(SPY_DTYPE_INT32, SPY_SHAPE(4), NULL),
               *td = make(SPY_DTYPE_FLOAT64, SPY_SHAPE(4), NULL);
    OK(spy_call(fn("isub"), SPY_ARGS(spy_arg_tensor("a", tb), spy_arg_i32("b", 3), spy_arg_tensor("_result", ti))));
    int32_t got[4];
    OK(spy_tensor_read(ti, got, sizeof got));
    assert_true(got[0] == -2 && got[1] == -3 && got[2] == -2 && got[3] == -2);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("isub"), SPY_ARGS(spy_arg_tensor("a", tf), spy_arg_i32("b", 3), spy_arg_tensor("_result", ti))),
          "isub", "'a'", "int", "float tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", td), spy_arg_f32("b", 3), spy_arg_tensor("_result", tf))),
          "sub", "'a'", "float", "double tensor", "from double to float", "desc.dtype float");
    float from[4];
    OK(spy_tensor_read(tf, from, sizeof from));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", tf), spy_arg_f32("b", 3), spy_arg_tensor("_result", ti))));
    OK(spy_tensor_read(ti, got, sizeof got)); // a result is stored as Slang converts it
    for (int i = 0; i < 4; i++) assert_int_equal(got[i], (int32_t)(from[i] - 3));
    bool are[4];
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", tf), spy_arg_f32("b", from[1] - 0.5f), spy_arg_tensor("_result", tb))));
    OK(spy_tensor_read(tb, are, sizeof are)); // 0.5 is true
    for (int i = 0; i < 4; i++) assert_int_equal(are[i], from[i] - (from[1] - 0.5f) != 0);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("not_bool"), SPY_ARGS(spy_arg_tensor("x", ti), spy_arg_tensor("_result", tb))), "not_bool",
          "'x'", "bool", "int tensor");
    spy_release_tensor(tb);
    spy_release_tensor(tf);
    spy_release_tensor(ti);
    spy_release_tensor(td);
    clean();
}

// >>vectors, matrices, arrays

static void test_vectors(void **state) {
    NEEDS_DEVICE();
    float r[6] = { 0 };
    const float v3[3] = { 1, 2, 3 };
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_f32n("v", v3, 3), spy_arg_f32("s", 2), spy_out_array("_result", r, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    assert_true(r[0] == 2 && r[1] == 4 && r[2] == 6);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_data("v", v3, 12), spy_arg_f32("s", 3), spy_out_data("_result", r, 12))));
    assert_true(r[0] == 3 && r[1] == 6 && r[2] == 9);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_f32("v", 5), spy_arg_f32("s", 3), spy_out_data("_result", r, 12)))); // a number splats
    assert_true(r[0] == 15 && r[1] == 15 && r[2] == 15);
    const float m[6] = { 1, 2, 3, 4, 5, 6 };
    OK(spy_call(fn("scale_matrix"),
                SPY_ARGS(spy_arg_array("m", m, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32), spy_arg_f32("s", 2),
                         spy_out_array("_result", r, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 6; i++) assert_true(r[i] == 2 * m[i]);
    const float m34[12] = { 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3 }, v4[4] = { 1, 2, 3, 4 };
    (void)v4;
    (void)m34;
    const float a4[4] = { 1, 2, 3, 4 };
    float sum = 0;
    OK(spy_call(fn("sum_array"), SPY_ARGS(spy_arg_f32n("a", a4, 4), spy_out_f32("_result", &sum))));
    assert_true(sum == 4321);
    OK(spy_call(fn("reverse_array"), SPY_ARGS(spy_arg_f32n("a", v3, 3), spy_out_array("_result", r, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    assert_true(r[0] == 3 && r[1] == 2 && r[2] == 1);
    OK(spy_call(fn("rows"), SPY_ARGS(spy_arg_f32n("a", m, 3), spy_arg_f32n("b", m + 3, 3), spy_out_array("_result", r, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 6; i++) assert_true(r[i] == m[i]);
    OK(spy_call(fn("grid"), SPY_ARGS(spy_arg_f32("a", 1), spy_out_array("_result", r, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 6; i++) assert_true(r[i] == (float)(1 + 10 * (i / 3) + i % 3));
    // [[1, 2, 3], [4, 5, 6]] for float3[2]
    OK(spy_call(fn("row_sum"), SPY_ARGS(spy_arg_array("m", m, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32), spy_out_f32("_result", &sum))));
    assert_true(sum == 654321);
    // A float tensor (2, 3) feeds float3 by its last dimension; (2, 2) at the same plan is an error, never a wrong read.
    spy_tensor *x = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), m), *y = NULL, *z = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), NULL);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", x), spy_arg_f32("s", 2), spy_arg_tensor("_result", z))));
    FLOATS(z, 2, 4, 6, 8, 10, 12);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", x), spy_arg_f32("s", 3), spy_out_tensor("_result", &y))));
    spy_tensor_info info = spy_get_tensor_info(y);
    assert_string_equal(info.type, "float3");
    assert_true(info.shape.rank == 1 && info.shape.dims[0] == 2 && info.host_size_bytes == 24 && info.dtype == SPY_DTYPE_DEFAULT);
    FLOATS(y, 3, 6, 9, 12, 15, 18);
    spy_tensor *narrow = spy_create_slice(x, 1, 0, 2, 1);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", narrow), spy_arg_f32("s", 2), spy_arg_tensor("_result", z))),
          "scale3", "'v'", "float3", "3", "(2, 2)");
    OK(spy_call(fn("scale2"), SPY_ARGS(spy_arg_tensor("v", narrow), spy_arg_f32("s", 2), spy_arg_tensor("_result", spy_create_slice(z, 1, 1, 3, 1)))));
    FLOATS(z, 2, 2, 4, 8, 8, 10);
    // Vector and matrix elements; the index order of arrays is row-major, a vector's .x is its first number.
    spy_tensor *v = typed("float3", SPY_SHAPE(2), m), *w = typed("float3", SPY_SHAPE(2), NULL), *mat = typed("float2x3", SPY_SHAPE(1), m);
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", v), spy_arg_tensor("s", ramp(2, 2)), spy_arg_tensor("_result", w))));
    FLOATS(w, 2, 4, 6, 12, 15, 18);
    spy_tensor *mo = typed("float2x3", SPY_SHAPE(1), NULL);
    OK(spy_call(fn("scale_matrix"), SPY_ARGS(spy_arg_tensor("m", mat), spy_arg_f32("s", -1), spy_arg_tensor("_result", mo))));
    FLOATS(mo, -1, -2, -3, -4, -5, -6);
    // float3x4 by a float tensor (2, 3, 4): mul(m, v)_i = sum_j m_ij v_j with v = (1, 2, 3) as float3 needs 3 columns.
    OK(spy_call(fn("row_sum"), SPY_ARGS(spy_arg_tensor("m", v), spy_out_f32("_result", &sum)))); // float3 tensor (2,) as float3[2]
    assert_true(sum == 654321);
    if (device_has(SPY_DTYPE_FLOAT16)) {
        const uint16_t h[6] = { 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600 }; // 1 2 3 4 5 6
        uint16_t hr[6] = { 0 };
        spy_tensor *th = make(SPY_DTYPE_FLOAT16, SPY_SHAPE(2, 3), h),
                   *ho = typed("half3", SPY_SHAPE(2), NULL);
        OK(spy_call(fn("add_half3"), SPY_ARGS(spy_arg_tensor("a", th), spy_arg_tensor("b", th), spy_arg_tensor("_result", ho))));
        OK(spy_tensor_read(ho, hr, sizeof hr));
        const uint16_t twice[6] = { 0x4000, 0x4400, 0x4600, 0x4800, 0x4900, 0x4a00 }; // 2 4 6 8 10 12
        assert_memory_equal(hr, twice, sizeof hr);
    }
    if (device_has(SPY_DTYPE_FLOAT64)) {
        const double d[4] = { 1e-300, 2, 3, 1e300 };
        double dr[4] = { 0 };
        OK(spy_call(fn("add_double2"),
                    SPY_ARGS(spy_arg_array("a", d, SPY_SHAPE(2, 2), SPY_DTYPE_FLOAT64),
                             spy_arg_array("b", d, SPY_SHAPE(2, 2), SPY_DTYPE_FLOAT64),
                             spy_out_array("_result", dr, SPY_SHAPE(2, 2), SPY_DTYPE_FLOAT64))));
        for (int i = 0; i < 4; i++) assert_true(dr[i] == 2 * d[i]);
    }
    const int32_t i3[3] = { 1, -2, 3 };
    int32_t ir[3];
    OK(spy_call(fn("add_int3"), SPY_ARGS(spy_arg_i32n("a", i3, 3), spy_arg_i32("b", 10), spy_out_array("_result", ir, SPY_SHAPE(3), SPY_DTYPE_INT32))));
    assert_true(ir[0] == 11 && ir[1] == 8 && ir[2] == 13);
    clean();
}

// Whole numbers in memory for a matrix of floats are converted like those for a vector.
static void test_matrix_conversion(void **state) {
    NEEDS_DEVICE();
    const int32_t whole[6] = { 1, -2, 3, 4, 5, 6 };
    spy_tensor *t = make(SPY_DTYPE_INT32, SPY_SHAPE(1, 2, 3), whole), *out = NULL;
    OK(spy_call(fn("scale_matrix"), SPY_ARGS(spy_arg_tensor("m", t), spy_arg_f32("s", 0.5f), spy_out_tensor("_result", &out))));
    FLOATS(out, 0.5f, -1, 1.5f, 2, 2.5f, 3);
    if (device_has(SPY_DTYPE_INT8)) {
        const int8_t small[6] = { 1, -2, 3, 4, 5, 6 };
        t = make(SPY_DTYPE_INT8, SPY_SHAPE(1, 2, 3), small);
        OK(spy_call(fn("scale_matrix"), SPY_ARGS(spy_arg_tensor("m", t), spy_arg_f32("s", 0.5f), spy_out_tensor("_result", &out))));
        FLOATS(out, 0.5f, -1, 1.5f, 2, 2.5f, 3);
    }
    clean();
}

// >>structs

// C's layout of calls.slang's structs.
typedef struct { float uv[2]; int16_t id; bool on; } c_inner;
typedef struct { float position[3], mass; c_inner inner; int32_t tags[2]; } c_particle;

static c_particle a_particle(int i) {
    c_particle p;
    memset(&p, 0, sizeof p);
    p.position[0] = (float)i;
    p.position[1] = 2;
    p.position[2] = 3;
    p.mass = 4 + (float)i;
    p.inner.uv[0] = 0.25f;
    p.inner.uv[1] = 6;
    p.inner.id = (int16_t)(7 + i);
    p.inner.on = i % 2 == 0;
    p.tags[0] = 100 + i;
    p.tags[1] = i;
    return p;
}

// Slang's move(), in C.
static c_particle moved(c_particle p, const float by[3], float times) {
    for (int i = 0; i < 3; i++) p.position[i] += by[i] * times;
    p.inner.id = (int16_t)(p.inner.id + 1);
    p.inner.on = !p.inner.on;
    p.tags[1] += p.tags[0];
    return p;
}

static bool same_particle(const c_particle *a, const c_particle *b) {
    return memcmp(a->position, b->position, 12) == 0 && a->mass == b->mass && memcmp(a->inner.uv, b->inner.uv, 8) == 0 &&
           a->inner.id == b->inner.id && a->inner.on == b->inner.on && memcmp(a->tags, b->tags, 8) == 0;
}

static void test_structs_whole(void **state) {
    NEEDS_DEVICE();
    if (!device_has(SPY_DTYPE_INT16)) skip();
    assert_int_equal(spy_type_size_bytes(module, "Particle"), sizeof(c_particle));
    assert_true(spy_has_type(module, "Particle") && spy_has_type(module, "float3") && !spy_has_type(module, "Nothing"));
    const float by[3] = { 1, 0.5f, -1 };
    c_particle p = a_particle(2), r, expected = moved(p, by, 2);
    memset(&r, 0x55, sizeof r);
    OK(spy_call(fn("move"), SPY_ARGS(spy_arg_data("p", &p, sizeof p), spy_arg_f32n("by", by, 3), spy_arg_f32("times", 2), spy_out_data("_result", &r, sizeof r))));
    assert_true(same_particle(&r, &expected));
    // inout from host memory and back
    OK(spy_call(fn("advance"), SPY_ARGS(spy_inout_data("p", &r, sizeof r), spy_arg_f32("dt", 10))));
    expected.position[0] += 10;
    expected.mass *= 2;
    assert_true(same_particle(&r, &expected));
    // A tensor of structs: read and written in C's layout, through the kernel's.
    enum { N = 7 };
    c_particle many[N], back[N];
    for (int i = 0; i < N; i++) many[i] = a_particle(i);
    spy_tensor *t = typed("Particle", SPY_SHAPE(N), many), *out = NULL;
    OK(spy_tensor_read(t, back, sizeof back));
    for (int i = 0; i < N; i++) assert_true(same_particle(&back[i], &many[i]));
    OK(spy_call(fn("move"), SPY_ARGS(spy_arg_tensor("p", t), spy_arg_f32n("by", by, 3), spy_arg_tensor("times", ramp(N, 0)), spy_out_tensor("_result", &out))));
    assert_string_equal(spy_get_tensor_info(out).type, "Particle");
    OK(spy_tensor_read(out, back, sizeof back));
    for (int i = 0; i < N; i++) {
        expected = moved(many[i], by, (float)i);
        assert_true(same_particle(&back[i], &expected));
    }
    // in place
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_tensor("p", t), spy_arg_f32("dt", 1))));
    OK(spy_tensor_read(t, back, sizeof back));
    for (int i = 0; i < N; i++) assert_true(back[i].position[0] == many[i].position[0] + 1 && back[i].mass == 2 * many[i].mass && back[i].tags[1] == many[i].tags[1]);
    spy_release_tensor(t);
    spy_release_tensor(out);
    clean();
}

static void test_structs_by_fields(void **state) {
    NEEDS_DEVICE();
    if (!device_has(SPY_DTYPE_INT16)) skip();
    enum { N = 5 };
    // Tensors at leaves: position by a float (N, 3), mass a number, uv a host array, id a tensor, on by bool tensor, tags by (N, 2).
    float positions[N * 3], expected[N];
    int16_t ids[N];
    bool ons[N];
    int32_t tags[N * 2];
    const float uv[2] = { 0.5f, 2 };
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < 3; c++) positions[3 * i + c] = (float)(i + c);
        ids[i] = (int16_t)(i - 2);
        ons[i] = i % 3 == 0;
        tags[2 * i] = 0;
        tags[2 * i + 1] = 7 * i;
        // weight() by hand
        expected[i] = 4.0f + (float)i + 10 * (float)(i + 1) + 100 * (float)(i + 2) + 2000.0f + 10000 * (float)(i - 2) + (ons[i] ? 100000.0f : 0) + 7 * (float)i;
    }
    spy_tensor *tp = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N, 3), positions), *ti = make(SPY_DTYPE_INT16, SPY_SHAPE(N), ids), *to = make(SPY_DTYPE_BOOL, SPY_SHAPE(N), ons),
               *tt = make(SPY_DTYPE_INT32, SPY_SHAPE(N, 2), tags), *out = ramp(N, -9);
    OK(spy_call(fn("weight"),
                SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("mass", 4), spy_arg_tensor("position", tp),
                                                      spy_arg_struct("inner", SPY_ARGS(spy_arg_f32n("uv", uv, 2), spy_arg_tensor("id", ti), spy_arg_tensor("on", to))),
                                                      spy_arg_tensor("tags", tt))),
                         spy_arg_tensor("_result", out))));
    expect_floats(out, expected, N, __LINE__);
    // The same with fields by position, all numbers, and an inner struct given whole.
    c_inner inner;
    memset(&inner, 0, sizeof inner);
    inner.uv[1] = 1;
    inner.id = 3;
    inner.on = true;
    const float pos[3] = { 1, 2, 3 };
    const int32_t two[2] = { 5, 6 };
    float w = 0;
    OK(spy_call(fn("weight"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32n(NULL, pos, 3), spy_arg_i32(NULL, 9), spy_arg_data(NULL, &inner, sizeof inner),
                                                                    spy_arg_i32n(NULL, two, 2))),
                                       spy_out_f32("_result", &w))));
    assert_true(w == 9 + 1 + 20 + 300 + 1000 + 30000 + 100000 + 6);
    // SOA result, out parameter by fields, inout by fields.
    const float a5[N] = { 1, 5, -3, 2, 0 }, b5[N] = { 2, 4, -4, 2, 1 };
    spy_tensor *a = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), a5), *b = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), b5), *lo = ramp(N, 0), *hi = NULL;
    OK(spy_call(fn("minmax"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b),
                                       spy_arg_struct("_result", SPY_ARGS(spy_out_tensor("hi", &hi), spy_arg_tensor("lo", lo))))));
    FLOATS(lo, 1, 4, -4, 2, 0);
    FLOATS(hi, 2, 5, -3, 2, 1);
    float lo1 = 0, hi1 = 0;
    OK(spy_call(fn("minmax"), SPY_ARGS(spy_arg_f32("a", 8), spy_arg_f32("b", -8), spy_arg_struct("_result", SPY_ARGS(spy_out_f32("lo", &lo1), spy_out_f32("hi", &hi1))))));
    assert_true(lo1 == -8 && hi1 == 8);
    float los[N], his[N];
    OK(spy_call(fn("minmax_out"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b),
                                           spy_arg_struct("t", SPY_ARGS(spy_out_array("lo", los, SPY_SHAPE(N), SPY_DTYPE_FLOAT32), spy_out_array("hi", his, SPY_SHAPE(N), SPY_DTYPE_FLOAT32))))));
    assert_true(los[2] == -4 && his[2] == -3 && los[4] == 0 && his[0] == 2);
    struct { float lo, hi; } pair = { 0, 0 };
    OK(spy_call(fn("minmax"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 2), spy_out_data("_result", &pair, sizeof pair))));
    assert_true(pair.lo == 1 && pair.hi == 2);
    // inout struct by fields: position is a tensor that changes in place, mass too; the rest goes back where it came from.
    spy_tensor *mass = ramp(N, 1), *uvs = typed("float2", SPY_SHAPE(N), NULL);
    OK(spy_tensor_fill(uvs, 3));
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_tensor("position", tp), spy_arg_tensor("mass", mass), spy_arg_tensor("tags", tt),
                                                                     spy_arg_struct("inner", SPY_ARGS(spy_arg_tensor("uv", uvs), spy_arg_tensor("id", ti), spy_arg_tensor("on", to))))),
                                        spy_arg_f32("dt", 0.5f))));
    FLOATS(mass, 2, 4, 6, 8, 10);
    float pos_back[N * 3];
    OK(spy_tensor_read(tp, pos_back, sizeof pos_back));
    for (int i = 0; i < N * 3; i++) assert_true(pos_back[i] == positions[i] + (i % 3 == 0 ? 0.5f : 0));
    bool on_back[N];
    OK(spy_tensor_read(to, on_back, sizeof on_back));
    assert_memory_equal(on_back, ons, sizeof ons);
    clean();
}

// A struct without fields has no bytes: it must not divide by its size.
static void test_empty_struct(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "Empty", module, SPY_SHAPE(3), NULL);
    spy_release_tensor(t);
    (void)spy_take_error(gpu_device); // an error is as good as a tensor of nothing
    float r = 0;
    spy_status s = spy_call(fn("use_empty"), SPY_ARGS(spy_arg_struct("h", SPY_ARGS(spy_arg_struct("e", SPY_NO_ARGS), spy_arg_f32("x", 4))), spy_out_f32("_result", &r)));
    if (s == SPY_OK) assert_true(r == 4);
    (void)spy_take_error(gpu_device);
}

// >>overloads, generics, interfaces, names

static void test_overloads(void **state) {
    NEEDS_DEVICE();
    int32_t n = 0;
    const float v[3] = { 1, 2, 3 };
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_i32(NULL, 1), spy_out_i32("_result", &n))));
    assert_int_equal(n, 1);
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_out_i32("_result", &n))));
    assert_int_equal(n, 2);
    OK(spy_call(fn("which"), SPY_ARGS(spy_vcast(spy_arg_f32n(NULL, v, 3), "float3"), spy_out_i32("_result", &n))));
    assert_int_equal(n, 3);
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_i32(NULL, 1), spy_arg_i32(NULL, 1), spy_out_i32("_result", &n))));
    assert_int_equal(n, 4);
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_struct(NULL, SPY_ARGS(spy_arg_f32("hi", 1), spy_arg_f32("lo", 1))), spy_out_i32("_result", &n))));
    assert_int_equal(n, 5);
    spy_tensor *ti = make(SPY_DTYPE_INT32, SPY_SHAPE(2), (int32_t[]){ 1, 2 }), *out = make(SPY_DTYPE_INT32, SPY_SHAPE(2), NULL);
    int32_t got[2];
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_tensor(NULL, ti), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, 8));
    assert_true(got[0] == 1 && got[1] == 1);
    OK(spy_call(fn("which"), SPY_ARGS(spy_arg_tensor(NULL, ramp(2, 0)), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, 8));
    assert_true(got[0] == 2 && got[1] == 2);
    spy_tensor *t3 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), NULL);
    OK(spy_call(fn("which"), SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, t3), "float3"), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, 8));
    assert_true(got[0] == 3 && got[1] == 3);
    clean();
}

static void test_generics(void **state) {
    NEEDS_DEVICE();
    int32_t n = 0;
    float f = 0;
    const float v[4] = { 1, 2, 3, 4 };
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_i32("x", 21), spy_out_i32("_result", &n))));
    assert_int_equal(n, 42);
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_f32("x", 0.25f), spy_out_f32("_result", &f))));
    assert_true(f == 0.5f);
    for (uint32_t count = 2; count <= 4; count++) { // the same argument kinds, another N each time
        OK(spy_call(fn("sum_vector"), SPY_ARGS(spy_arg_f32n("v", v, count), spy_out_f32("_result", &f))));
        assert_true(f == (float)(count * (count + 1) / 2));
    }
    for (uint32_t count = 1; count <= 4; count++) {
        OK(spy_call(fn("last_of"), SPY_ARGS(spy_arg_f32n("a", v, count), spy_out_f32("_result", &f))));
        assert_true(f == (float)count);
    }
    OK(spy_call(fn("fill_sum<5>"), SPY_ARGS(spy_arg_f32("x", 3), spy_out_f32("_result", &f))));
    assert_true(f == 15);
    OK(spy_call(fn("pick<float, 4>"), SPY_ARGS(spy_arg_f32("a", 3), spy_arg_f32("b", 8), spy_out_f32("_result", &f))));
    assert_true(f == 3);
    OK(spy_call(fn("pick<float,2>"), SPY_ARGS(spy_arg_i32("a", 3), spy_arg_i32("b", 8), spy_out_f32("_result", &f))));
    assert_true(f == 8);
    // Tensors: (4, 2) then (4, 3) floats choose float2 and float3 by the trailing size.
    for (int64_t c = 2; c <= 4; c++) {
        float data[16], expected[4] = { 0 };
        for (int i = 0; i < 4 * c; i++) {
            data[i] = (float)i;
            expected[i / c] += (float)i;
        }
        spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4, c), data), *out = ramp(4, 0);
        OK(spy_call(fn("sum_vector"), SPY_ARGS(spy_arg_tensor("v", t), spy_arg_tensor("_result", out))));
        expect_floats(out, expected, 4, __LINE__);
        spy_release_tensor(t);
        spy_release_tensor(out);
    }
    // Interfaces need a type by name.
    OK(spy_call(fn("area_of"), SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("r", 2))), "Circle"), spy_out_f32("_result", &f))));
    assert_true(f == 12);
    OK(spy_call(fn("area_of"), SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("w", 2), spy_arg_f32("h", 5))), "Box"), spy_out_f32("_result", &f))));
    assert_true(f == 10);
    spy_tensor *out = ramp(3, 0), *h = ramp(3, 1);
    OK(spy_call(fn("area_generic"), SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("w", 2), spy_arg_tensor("h", h))), "Box"), spy_arg_f32("f", 10),
                                             spy_arg_tensor("_result", out))));
    FLOATS(out, 20, 40, 60);
    spy_tensor *boxes = typed("Box", SPY_SHAPE(2), v);
    float two[2];
    OK(spy_call(fn("area_generic"), SPY_ARGS(spy_arg_tensor("s", boxes), spy_arg_f32("f", 1), spy_out_array("_result", two, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))));
    assert_true(two[0] == 2 && two[1] == 12);
    clean();
}

static void test_names(void **state) {
    NEEDS_DEVICE();
    float f = 0;
    OK(spy_call(fn("outer::inner::f"), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &f))));
    assert_true(f == 1.5f);
    OK(spy_call(fn("outer::f"), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &f))));
    assert_true(f == 0.5f);
    OK(spy_call(fn("Tool::halve"), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &f))));
    assert_true(f == 0.5f);
    assert_ptr_equal(fn("sub"), fn("sub"));
    assert_string_equal(spy_function_name(fn("outer::f")), "outer::f");
    assert_ptr_equal(spy_function_module(fn("sub")), module);
    // Arguments: named in any order, by position, mixed, defaults left out.
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("b", 1), spy_arg_f32("a", 5), spy_out_f32("_result", &f))));
    assert_true(f == 4);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_out_f32("_result", &f), spy_arg_f32(NULL, 7), spy_arg_f32(NULL, 2))));
    assert_true(f == 5);
    OK(spy_call(fn("saxpy"), SPY_ARGS(spy_arg_f32(NULL, 2), spy_arg_f32("y", 1), spy_arg_f32("x", 3), spy_out_f32("_result", &f))));
    assert_true(f == 7);
    OK(spy_call(fn("with_default"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_out_f32("_result", &f))));
    assert_true(f == 1 + 20 + 300);
    OK(spy_call(fn("with_default"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32("b", 2), spy_out_f32("_result", &f))));
    assert_true(f == 1 + 4 + 300);
    OK(spy_call(fn("nothing"), SPY_ARGS(spy_arg_f32("x", 1))));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1)))); // a result nobody wants
    clean();
}

// Parameters, functions and types called as the generated kernel calls its own things. Each name in a module of its own.
static void test_hostile_names(void **state) {
    NEEDS_DEVICE();
    static const char *const names[] = { "a_result", "a_x", "spy", "spy_i", "spy_kernel", "SpyBlock", "b_x", "x", "v_x", "spy_thread", "b__result" };
    size_t bad = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[200];
        float f = 0, many[3] = { 0 };
        snprintf(source, sizeof source, "float %s(float x, float y) { return x - y; }", names[i]);
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, "hostile", source));
        spy_function *g = MADE(spy_function, spy_find_function(m, names[i]));
        spy_tensor *x = ramp(3, 5), *y = ramp(1, 1);
        spy_status s1 = spy_call(g, SPY_ARGS(spy_arg_f32("x", 3), spy_arg_f32("y", 1), spy_out_f32("_result", &f)));
        spy_status s2 = spy_call(g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_out_array("_result", many, SPY_SHAPE(3), SPY_DTYPE_FLOAT32)));
        if (s1 != SPY_OK || s2 != SPY_OK || f != 2 || many[0] != 4 || many[2] != 6) {
            print_error("a function called '%s' cannot be called: %.300s\n", names[i], spy_take_error(gpu_device).message);
            bad++;
        }
        spy_release_module(m);
    }
    assert_int_equal(bad, 0);
    clean();
}

static void test_hostile_parameters(void **state) {
    NEEDS_DEVICE();
    static const char *const names[][2] = { { "result", "a_result" }, { "_count", "_size1" }, { "x", "x__base" }, { "a", "a__stride0" }, { "spy", "spy_i" }, { "b_x", "v_x" },
                                            { "spy_thread", "spy_vector" }, { "SpyBlock", "spy_kernel" }, { "_row", "_magic1" }, { "f", "a_f" }, { "hostile", "import_" } };
    size_t bad = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[200];
        float f = 0, many[12];
        const char *a = names[i][0], *b = names[i][1];
        snprintf(source, sizeof source, "float f(float %s, float %s) { return %s - %s; }", a, b, a, b);
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, "hostile", source));
        spy_function *g = MADE(spy_function, spy_find_function(m, "f"));
        spy_tensor *x = ramp(12, 5), *y = ramp(24, 1), *every = spy_create_slice(y, 0, 0, 24, 2); // y[i] = 1 + 2 i
        bool good = spy_call(g, SPY_ARGS(spy_arg_f32(a, 3), spy_arg_f32(b, 1), spy_out_f32("_result", &f))) == SPY_OK && f == 2;
        good = good && spy_call(g, SPY_ARGS(spy_arg_tensor(a, x), spy_arg_f32(b, 1), spy_out_array("_result", many, SPY_SHAPE(12), SPY_DTYPE_FLOAT32))) == SPY_OK && many[11] == 15;
        good = good && spy_call(g, SPY_ARGS(spy_arg_tensor(a, every), spy_arg_tensor(b, x), spy_out_array("_result", many, SPY_SHAPE(12), SPY_DTYPE_FLOAT32))) == SPY_OK && many[11] == 23 - 16;
        if (!good) {
            print_error("parameters '%s' and '%s' cannot be called: %.300s\n", a, b, spy_take_error(gpu_device).message);
            bad++;
        }
        spy_release_module(m);
    }
    assert_int_equal(bad, 0);
    clean();
}

// >>mapping and broadcast

static void test_broadcast(void **state) {
    NEEDS_DEVICE();
    const float row[3] = { 1, 2, 3 }, col[2] = { 10, 20 };
    spy_tensor *r = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3), row), *c = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 1), col), *out = NULL;
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", c), spy_arg_tensor("b", r), spy_out_tensor("_result", &out))));
    spy_tensor_info info = spy_get_tensor_info(out);
    assert_true(info.shape.rank == 2 && info.shape.dims[0] == 2 && info.shape.dims[1] == 3 && info.dtype == SPY_DTYPE_FLOAT32 && info.is_contiguous);
    FLOATS(out, 9, 8, 7, 19, 18, 17);
    spy_release_tensor(out);
    // Outer product: a's dimension is kernel dimension 0, b's is 1.
    spy_tensor *a = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2), col);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", a), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("b", r), SPY_DIMS(1)), spy_out_tensor("_result", &out))));
    FLOATS(out, 9, 8, 7, 19, 18, 17);
    spy_release_tensor(out);
    // The other way round: shape (3, 2), row-major.
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", a), SPY_DIMS(1)), spy_vmap(spy_arg_tensor("b", r), SPY_DIMS(0)), spy_out_tensor("_result", &out))));
    FLOATS(out, 9, 19, 8, 18, 7, 17);
    spy_release_tensor(out);
    // A map that transposes, and one for the output: out[i][j] = m[j][i].
    const float m[6] = { 0, 1, 2, 3, 4, 5 };
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), m),
               *o = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3, 2), NULL);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", t), SPY_DIMS(1, 0)), spy_arg_f32("b", 0), spy_arg_tensor("_result", o))));
    FLOATS(o, 0, 3, 1, 4, 2, 5);
    spy_tensor *o2 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3, 2), NULL);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", t), spy_arg_f32("b", 0), spy_vmap(spy_arg_tensor("_result", o2), SPY_DIMS(1, 0)))));
    FLOATS(o2, 0, 3, 1, 4, 2, 5);
    // Trailing dimensions feed the type, the mapped ones are run over.
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_vmap(spy_arg_tensor("v", t), SPY_DIMS(1)), spy_vmap(spy_arg_tensor("s", a), SPY_DIMS(0)), spy_out_tensor("_result", &out))));
    info = spy_get_tensor_info(out);
    assert_true(info.shape.rank == 2 && info.shape.dims[0] == 2 && info.shape.dims[1] == 2);
    FLOATS(out, 0, 10, 20, 30, 40, 50, 0, 20, 40, 60, 80, 100);
    spy_release_tensor(out);
    // Eight dimensions.
    float many[64], expected[64];
    for (int i = 0; i < 64; i++) {
        many[i] = (float)i;
        expected[i] = (float)(2 * i);
    }
    spy_tensor *t8 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 1, 2, 2, 1, 2, 2, 2), many), *o8 = NULL;
    OK(spy_call(fn("saxpy"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("x", t8), spy_arg_tensor("y", t8), spy_out_tensor("_result", &o8))));
    assert_int_equal(spy_get_tensor_info(o8).shape.rank, 8);
    expect_floats(o8, expected, 64, __LINE__);
    clean();
}

// Rows whose sizes are no multiples of four: vectors of the output lie in two rows, what is broadcast or turned is read by
// coordinates, and the last vector is not full.
static void test_across_rows(void **state) {
    NEEDS_DEVICE();
    const bool gpu = spy_get_device_info(gpu_device).type != SPY_ADAPTER_TYPE_CPU;
    seed();
    int across = 0;
    const int trials = (int)test_count(300);
    for (int trial = 0; trial < trials; trial++) {
        spy_shape shape, a_shape, b_shape;
        memset(&shape, 0, sizeof shape);
        shape.rank = 2 + below(4);
        int64_t others = 1, count, a_strides[SPY_MAX_RANK] = { 0 }, b_strides[SPY_MAX_RANK] = { 0 };
        for (uint32_t d = shape.rank; d-- > 1;) others *= shape.dims[d] = 1 + (int64_t)below(7);
        shape.dims[0] = (gpu ? 65536 : 16) / others + 1 + (int64_t)below(9);
        count = others * shape.dims[0];
        a_shape = b_shape = shape;
        for (uint32_t d = 0; d < shape.rank; d++) {
            if (below(3) == 0) a_shape.dims[d] = 1;
            if (below(4) == 0) b_shape.dims[d] = 1;
        }
        int64_t a_count = 1, b_count = 1;
        for (uint32_t d = shape.rank; d-- > 0;) {
            if (a_shape.dims[d] > 1) a_strides[d] = a_count;
            if (b_shape.dims[d] > 1) b_strides[d] = b_count;
            a_count *= a_shape.dims[d];
            b_count *= b_shape.dims[d];
        }
        float *data = (float *)malloc((size_t)count * 3 * sizeof *data), *b_data = data + count, *want = b_data + count;
        for (int64_t i = 0; i < count; i++) data[i] = (float)i, b_data[i] = (float)(100000 + 3 * i);
        spy_tensor *a = make(SPY_DTYPE_FLOAT32, a_shape, data), *b = make(SPY_DTYPE_FLOAT32, b_shape, b_data), *out = make(SPY_DTYPE_FLOAT32, shape, NULL);
        // One of b's dimensions runs backward at times.
        uint32_t turned = below(shape.rank);
        int64_t first = 0;
        if (b_shape.dims[turned] > 1 && below(2) == 0) {
            b = MADE(spy_tensor, spy_create_slice(b, turned, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
            first = (b_shape.dims[turned] - 1) * b_strides[turned];
            b_strides[turned] = -b_strides[turned];
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i, at_a = 0, at_b = first;
            for (uint32_t d = shape.rank; d-- > 0; rest /= shape.dims[d])
                at_a += rest % shape.dims[d] * a_strides[d], at_b += rest % shape.dims[d] * b_strides[d];
            want[i] = data[at_a] - b_data[at_b];
        }
        char text[16384];
        const spy_args args = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", out));
        OK(spy_tensor_fill(out, 77));
        OK(spy_call(fn("sub"), args));
        spy_explain_call(fn("sub"), args, NULL, text, sizeof text);
        across += strstr(text, "wide, across rows") != NULL;
        expect_floats(out, want, (size_t)count, __LINE__);
        free(data);
        clean();
    }
    print_message("%d of %d calls across rows\n", across, trials);
    assert_true(across > trials / 10);
}

static void test_strict_broadcasting(void **state) {
    NEEDS_DEVICE();
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "strict";
    d.source = "float sub(float a, float b) { return a - b; }";
    d.strict_broadcasting = true;
    spy_module *strict = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_function *f = MADE(spy_function, spy_find_function(strict, "sub"));
    spy_tensor *m = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), NULL), *r = ramp(3, 0), *r1 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(1, 3), NULL), *out = NULL;
    OK(spy_tensor_fill(m, 5));
    OK(spy_tensor_fill(r1, 2));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_tensor("b", r), spy_out_tensor("_result", &out))), "sub", "'b'", "Strict broadcasting");
    assert_null(out);
    OK(spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_tensor("b", r1), spy_out_tensor("_result", &out)))); // size 1 still stretches
    FLOATS(out, 3, 3, 3, 3, 3, 3);
    OK(spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_f32("b", 1), spy_out_tensor("_result", &out)))); // numbers too
    spy_release_module(strict);
    clean();
}

// >>views

static void test_views(void **state) {
    NEEDS_DEVICE();
    float data[24];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4, 6), data), *out = NULL;
    struct {
        spy_tensor *view;
        spy_shape shape;
        int64_t offset, s0, s1;
    } rows[] = {
        { spy_create_slice(t, 1, 1, 6, 2), SPY_SHAPE(4, 3), 1, 6, 2 },
        { spy_create_slice(t, 0, -3, -1, 1), SPY_SHAPE(2, 6), 6, 6, 1 },
        { spy_create_slice(t, 1, 4, 100, 3), SPY_SHAPE(4, 1), 4, 6, 1 },
        { spy_create_transpose(t, SPY_DIMS(1, 0)), SPY_SHAPE(6, 4), 0, 1, 6 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 6), .strides = SPY_SHAPE(-6, -1), .offset_elements = 23 }), SPY_SHAPE(4, 6), 23, -6, -1 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(2, 3), .strides = SPY_SHAPE(7, -2), .offset_elements = 9 }), SPY_SHAPE(2, 3), 9, 7, -2 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(5, 4), .strides = SPY_SHAPE(1, 1), .offset_elements = 3 }), SPY_SHAPE(5, 4), 3, 1, 1 },
        { spy_create_broadcast(spy_create_slice(t, 0, 2, 3, 1), SPY_SHAPE(3, 6)), SPY_SHAPE(3, 6), 12, 0, 1 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(3, 8) }), SPY_SHAPE(3, 8), 0, 8, 1 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        float expected[64], in[64];
        size_t n = 0;
        assert_non_null(rows[k].view);
        for (int64_t i = 0; i < rows[k].shape.dims[0]; i++)
            for (int64_t j = 0; j < rows[k].shape.dims[1]; j++) expected[n++] = data[rows[k].offset + i * rows[k].s0 + j * rows[k].s1];
        spy_tensor_info info = spy_get_tensor_info(rows[k].view);
        assert_true(info.shape.rank == 2 && info.shape.dims[0] == rows[k].shape.dims[0] && info.shape.dims[1] == rows[k].shape.dims[1]);
        assert_true(info.offset_elements == rows[k].offset);
        OK(spy_tensor_read(rows[k].view, in, n * 4));
        assert_memory_equal(in, expected, n * 4);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", rows[k].view), spy_arg_f32("b", 0), spy_out_tensor("_result", &out))));
        expect_floats(out, expected, n, __LINE__);
        spy_release_tensor(out);
        spy_release_tensor(rows[k].view);
    }
    // As outputs: what lies between the elements stays.
    spy_tensor *selected = spy_create_select(t, 1, -2), *every = spy_create_slice(t, 1, 0, 6, 3);
    assert_true(spy_get_tensor_info(selected).shape.rank == 1 && spy_get_tensor_info(selected).shape.dims[0] == 4);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("a", 100), spy_arg_f32("b", 1), spy_arg_tensor("_result", selected))));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("a", -1), spy_arg_f32("b", 1), spy_arg_tensor("_result", every))));
    float expected[24];
    for (int i = 0; i < 24; i++) expected[i] = i % 6 == 4 ? 99 : i % 3 == 0 ? -2 : (float)i;
    expect_floats(t, expected, 24, __LINE__);
    // A view of another type keeps the memory alive after the tensor is gone.
    spy_tensor *f3 = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(8), .type = "float3" });
    assert_non_null(f3);
    spy_release_tensor(t);
    float back[24];
    OK(spy_tensor_read(f3, back, sizeof back));
    assert_memory_equal(back, expected, sizeof back);
    // Strided fill and write.
    OK(spy_tensor_fill(selected, 7));
    OK(spy_tensor_write(every, (float[]){ 50, 51, 52, 53, 54, 55, 56, 57 }, 32));
    OK(spy_tensor_read(f3, back, sizeof back));
    for (int i = 0; i < 24; i++) assert_true(back[i] == (i % 6 == 4 ? 7 : i % 3 == 0 ? (float)(50 + i / 3) : (float)i));
    clean();
}

// point_to compares the shapes, not what may lie behind their last dimension.
static void test_point_to(void **state) {
    NEEDS_DEVICE();
    spy_tensor *m = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *x = ramp(3, 10);
    spy_tensor *row0 = spy_create_select(m, 0, 0), *row1 = spy_create_select(m, 0, 1);
    OK(spy_tensor_point_to(row0, row1));
    FLOATS(row0, 4, 5, 6);
    OK(spy_tensor_point_to(row0, x));
    FLOATS(row0, 10, 11, 12);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    memset(&d.shape, 0x11, sizeof d.shape); // dims beyond the rank are not looked at
    d.shape.rank = 1;
    d.shape.dims[0] = 3;
    d.dtype = SPY_DTYPE_FLOAT32;
    d.type = NULL;
    d.module = NULL;
    d.data = (float[]){ 7, 8, 9 };
    d.data_size_bytes = 12;
    d.label = NULL;
    d.like = NULL;
    d.zeroed = d.with_grad = false;
    d.grad_in = d.grad_out = NULL;
    spy_tensor *dirty = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_point_to(dirty, x));
    FLOATS(dirty, 10, 11, 12);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_tensor_point_to(x, m), "spy_tensor_point_to");
    clean();
}

// A view may not see more than its tensor: the pool's rounding up is nobody's memory.
static void test_view_bounds(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(5, 0);
    static const struct { int64_t n, stride, offset; } bad[] = { { 6, 1, 0 }, { 5, 1, 1 }, { 2, 5, 0 }, { 1, 1, 5 }, { 2, -1, 0 }, { 1, 1, -1 }, { 3, INT64_MAX / 2, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spy_view_desc d;
        memset(&d, 0, sizeof d);
        d.shape = SPY_SHAPE(bad[i].n);
        d.strides = SPY_SHAPE(bad[i].stride);
        d.offset_elements = bad[i].offset;
        if (spy_create_view(t, &d)) fail_msg("view %zu of 5 elements: %lld x stride %lld from %lld was accepted", i, (long long)bad[i].n, (long long)bad[i].stride, (long long)bad[i].offset);
        ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_view");
    }
    clean();
}

// In place, element by element, is fine; anything else that overlaps is refused; neighbours in one storage are neither.
static void test_in_place(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(40, 0);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", t), spy_arg_f32("b", 1), spy_arg_tensor("_result", t))));
    FLOATS(t, -1, 0, 1, 2);
    OK(spy_call(fn("swap_f32"), SPY_ARGS(spy_arg_tensor("a", spy_create_slice(t, 0, 0, 20, 1)), spy_arg_tensor("b", spy_create_slice(t, 0, 20, 40, 1)))));
    FLOATS(t, 19, 20, 21, 22);
    spy_tensor *shifted = spy_create_slice(t, 0, 1, 11, 1), *first = spy_create_slice(t, 0, 0, 10, 1);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", shifted), spy_arg_f32("b", 1), spy_arg_tensor("_result", first))), "sub", "'_result'", "'a'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("dup_f32"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", first), spy_arg_tensor("c", first))), "dup_f32", "'b'", "'c'");
    spy_release_tensor(t);
    clean();
}

// [0, 10) and [10, 20) of one storage do not meet, whatever vectors the kernel loads.
static void test_neighbours(void **state) {
    NEEDS_DEVICE();
    float data[1000];
    for (int i = 0; i < 1000; i++) data[i] = (float)i;
    for (int64_t n = 8; n <= 14; n++) {
        spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(1000), data);
        spy_tensor *low = spy_create_slice(t, 0, 0, n, 1), *high = spy_create_slice(t, 0, n, 2 * n, 1);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", high), spy_arg_f32("b", 1), spy_arg_tensor("_result", low))));
        OK(spy_call(fn("dup_f32"), SPY_ARGS(spy_arg_f32("a", 5), spy_arg_tensor("b", spy_create_slice(t, 0, 100, 100 + n, 1)), spy_arg_tensor("c", spy_create_slice(t, 0, 100 + n, 100 + 2 * n, 1)))));
        float expected[1000];
        for (int64_t i = 0; i < 1000; i++) {
            expected[i] = (float)i;
            if (i < n) expected[i] = (float)(i + n - 1);
            if (i >= 100 && i < 100 + n) expected[i] = 5;
            if (i >= 100 + n && i < 100 + 2 * n) expected[i] = 6;
        }
        expect_floats(t, expected, 1000, __LINE__);
        spy_release_tensor(t);
    }
    clean();
}

// Even and odd elements of one storage never meet either.
static void test_interleaved(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 2), (float[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 });
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", spy_create_select(t, 1, 1)), spy_arg_f32("b", 100), spy_arg_tensor("_result", spy_create_select(t, 1, 0)))));
    FLOATS(t, -99, 1, -97, 3, -95, 5, -93, 7, -91, 9);
    clean();
}

// Two gathers that agree in their batch strides and differ inside: thread 0 writes what thread 3 reads.
static void test_overlap_inside(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(64, 0);
    spy_tensor *in = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 3), .strides = SPY_SHAPE(1, 6) });
    spy_tensor *out = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 3), .strides = SPY_SHAPE(1, 4) });
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", in), spy_arg_f32("s", 1), spy_arg_tensor("_result", out))), "scale3", "'_result'", "'v'");
    clean();
}

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

// >>modules

static void test_modules(void **state) {
    NEEDS_DEVICE();
    spy_module *values = MADE(spy_module, gpu_module(gpu_device, "values", "export public static const int COUNT = 3; export public static const float FACTOR = 4;"));
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "user";
    d.source = "extern static const int COUNT; extern static const float FACTOR; float f(float x) { float s = 0; for (int i = 0; i < COUNT; i++) s += x * FACTOR; return s; }";
    d.link = &values;
    d.link_count = 1;
    spy_module *user = MADE(spy_module, spy_load_module(gpu_device, &d));
    float r = 0;
    OK(spy_call(MADE(spy_function, spy_find_function(user, "f")), SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
    assert_true(r == 24);
    // The other constants, the other result, at the same time.
    spy_module *values2 = MADE(spy_module, gpu_module(gpu_device, "values2", "export public static const int COUNT = 2; export public static const float FACTOR = 10;"));
    d.link = &values2;
    d.name = "user2";
    spy_module *user2 = MADE(spy_module, spy_load_module(gpu_device, &d));
    OK(spy_call(MADE(spy_function, spy_find_function(user2, "f")), SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
    assert_true(r == 40);
    spy_release_module(values); // held by its user
    OK(spy_call(MADE(spy_function, spy_find_function(user, "f")), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &r))));
    assert_true(r == 12);
    // Defines, includes, source_size_bytes, and two modules of one name.
    spy_define defines[] = { { "A", "3" }, { "B", NULL } };
    memset(&d, 0, sizeof d);
    d.name = "same";
    d.source = "float f(float x) { return x * A + B; }    this is not read";
    d.source_size_bytes = strlen("float f(float x) { return x * A + B; }");
    d.defines = defines;
    d.define_count = 2;
    spy_module *one = MADE(spy_module, spy_load_module(gpu_device, &d));
    defines[0].value = "5";
    spy_module *two = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_function *f1 = MADE(spy_function, spy_find_function(one, "f")), *f2 = MADE(spy_function, spy_find_function(two, "f"));
    for (int i = 0; i < 2; i++) {
        OK(spy_call(f1, SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
        assert_true(r == 7);
        OK(spy_call(f2, SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
        assert_true(r == 11);
    }
    spy_release_module(one);
    OK(spy_call(f2, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &r))));
    assert_true(r == 6);
    spy_release_module(two);
    // A module that imports another file of include_paths, with a dash in its name.
    char folder[] = "/tmp/spy_test_XXXXXX", path[600];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/helper_part.slang", folder);
    FILE *file = fopen(path, "w");
    fputs("public float helper(float x) { return x * 3; }\n", file);
    fclose(file);
    snprintf(path, sizeof path, "%s/my-file 1.slang", folder);
    file = fopen(path, "w");
    fputs("import helper_part;\nfloat g(float x) { return helper(x) + 1; }\n", file);
    fclose(file);
    memset(&d, 0, sizeof d);
    d.path = path;
    spy_module *mine = MADE(spy_module, spy_load_module(gpu_device, &d));
    OK(spy_call(MADE(spy_function, spy_find_function(mine, "g")), SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
    assert_true(r == 7);
    const char *const include[] = { folder };
    memset(&d, 0, sizeof d);
    d.name = "includer";
    d.source = "import helper_part;\nfloat g(float x) { return helper(x) + 2; }\n";
    d.include_paths = include;
    d.include_path_count = 1;
    spy_module *includer = MADE(spy_module, spy_load_module(gpu_device, &d));
    OK(spy_call(MADE(spy_function, spy_find_function(includer, "g")), SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r))));
    assert_true(r == 8);
    unlink(path);
    snprintf(path, sizeof path, "%s/helper_part.slang", folder);
    unlink(path);
    rmdir(folder);
    clean();
}

// >>looking inside, prepared calls, time

static void test_explain(void **state) {
    NEEDS_DEVICE();
    char text[8192], small[10];
    spy_tensor *x = ramp(64, 0), *out = ramp(64, 0);
    spy_args args = SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out));
    spy_device_stats before = spy_get_device_stats(gpu_device);
    size_t size = spy_explain_call(fn("saxpy"), args, NULL, text, sizeof text);
    assert_int_equal(size, strlen(text));
    assert_non_null(strstr(text, "call shape (64,)"));
    assert_non_null(strstr(text, "saxpy("));
    assert_non_null(strstr(text, "float tensor (64,)"));
    assert_int_equal(spy_explain_call(fn("saxpy"), args, NULL, small, sizeof small), size);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    assert_int_equal(spy_explain_call(fn("saxpy"), args, NULL, NULL, 0), size);
    spy_device_stats after = spy_get_device_stats(gpu_device);
    assert_true(after.dispatches == before.dispatches && after.calls == before.calls); // nothing runs
    size = spy_explain_call(fn("saxpy"), SPY_ARGS(spy_arg_f32("nope", 2)), NULL, text, sizeof text);
    assert_true(size > 0);
    assert_non_null(strstr(text, "nope"));
    (void)spy_take_error(gpu_device);
    uint64_t ns = 0;
    OK(spy_time_call(fn("slow"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", out)), NULL, &ns));
    if (spy_get_device_info(gpu_device).features & SPY_FEATURE_TIMESTAMPS) assert_true(ns > 0 && ns < 10000000000u);
    OK(spy_time_call(fn("slow"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", out)), NULL, NULL));
    clean();
}

static void test_prepared(void **state) {
    NEEDS_DEVICE();
    spy_module *own = MADE(spy_module, gpu_module(gpu_device, "prepared", "float mulsub(float a, float b) { return a * b - 1; } float bad_call(float a) { return a; } T sumv<T : IArithmetic, let N : int>(vector<T, N> v) { T s = v[0]; for (int i = 1; i < N; i++) s = s + v[i]; return s; }"));
    spy_function *f = MADE(spy_function, spy_find_function(own, "mulsub"));
    spy_tensor *a = ramp(16, 1), *b = ramp(16, 2), *out = ramp(16, -3);
    for (int async = 0; async < 2; async++) {
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        spy_tensor *extra = ramp(16, 0); // released while a compile thread may look at it
        spy_args args = async ? SPY_ARGS(spy_arg_tensor("b", extra), spy_arg_tensor("a", a), spy_arg_tensor("_result", out))
                              : SPY_ARGS(spy_arg_tensor("a", extra), spy_arg_tensor("b", b), spy_arg_tensor("_result", out));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, async ? &d : NULL));
        spy_release_tensor(extra);
        spy_status ready = spy_prepared_ready(p);
        assert_true(ready == SPY_OK || (async && ready == SPY_ERROR_NOT_READY));
        uint64_t built = async ? 0 : spy_get_device_stats(gpu_device).kernels_built;
        if (async) OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("b", b), spy_arg_tensor("a", a), spy_arg_tensor("_result", out))));
        else OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", out))));
        if (!async) assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
        FLOATS(out, 1, 5, 11, 19);
        OK(spy_prepared_ready(p));
        OK(spy_tensor_fill(out, 0));
        // Other kinds, names or ranks than prepared.
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_prepared(p, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", b), spy_arg_tensor("_result", out))), "mulsub");
        spy_release_prepared(p);
    }
    // Prepared for float3, called with (., 4): sizes are checked.
    spy_function *g = MADE(spy_function, spy_find_function(own, "sumv"));
    spy_prepare_desc d;
    memset(&d, 0, sizeof d);
    d.async = true;
    spy_tensor *v3 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *v4 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 4), NULL), *o2 = ramp(2, 0);
    spy_prepared *p = MADE(spy_prepared, spy_prepare(g, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2)), &d));
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2))));
    FLOATS(o2, 6, 15);
    spy_status other = spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v4), spy_arg_tensor("_result", o2)));
    assert_true(other == SPY_ERROR_SHAPE_MISMATCH || other == SPY_ERROR_TYPE_MISMATCH);
    ERROR_ON(gpu_device, other, "sumv");
    FLOATS(o2, 6, 15);
    // A prepared call outlives its module's release.
    spy_release_module(own);
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2))));
    spy_release_prepared(p);
    clean();
}

// >>steady state: a counting allocator, plan hits, no submits beyond the need

static void test_steady_state(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    d.allocator = counting_allocator();
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(device, "steady", "float f(float a, float b) { return a + b; }");
    spy_function *f = spy_find_function(m, "f");
    assert_non_null(f);
    spy_tensor *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = gpu_tensor(device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1000), NULL);
        assert_int_equal(spy_tensor_fill(x[i], i), SPY_OK);
    }
    spy_tensor *made = NULL;
    float r = 0;
    spy_device_stats before, after;
    long long allocations = 0;
    memset(&before, 0, sizeof before);
    for (int i = 0; i < 3000; i++) {
        if (i == 1200) { // the pools are warm: 1,024 dead tensor headers are kept
            before = spy_get_device_stats(device);
            allocations = allocations_made;
        }
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x[i % 4]), spy_arg_f32("b", (float)i), spy_arg_tensor("_result", x[(i + 1) % 4]))), SPY_OK);
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x[0]), spy_arg_f32("b", 1), spy_out_tensor("_result", &made))), SPY_OK);
        spy_release_tensor(made);
        if (i % 100 == 0) assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_f32("b", 3), spy_out_f32("_result", &r))), SPY_OK);
    }
    after = spy_get_device_stats(device);
    assert_true(r == 5);
    // 1,800 rounds of 2 calls, and 18 scalar ones.
    assert_int_equal(after.calls - before.calls, 2 * 1800 + 18);
    assert_int_equal(after.plan_hits - before.plan_hits, 2 * 1800 + 18);
    assert_int_equal(after.plans_built, before.plans_built);
    assert_int_equal(after.kernels_built, before.kernels_built);
    assert_int_equal(after.dispatches - before.dispatches, 2 * 1800 + 18);
    assert_int_equal(after.driver_allocations, before.driver_allocations);
    assert_int_equal(allocations_made, allocations);
    print_message("steady state: %llu submits, %llu barriers for %llu dispatches; %lld allocations\n", (unsigned long long)(after.submits - before.submits),
                  (unsigned long long)(after.barriers - before.barriers), (unsigned long long)(after.dispatches - before.dispatches), allocations_made - allocations);
    spy_release_device(device);
    assert_int_equal(bytes_alive, 0); // all of it came back, with its right size
    assert_int_equal(spy_take_error(NULL).code, SPY_OK);
    clean();
}

// >>order of work

static void test_submits(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = ramp(1000, 0);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    spy_submit_id id = spy_flush(gpu_device);
    assert_true(id > 0);
    OK(spy_wait_for_submit(gpu_device, id, UINT64_MAX));
    assert_true(spy_is_submit_finished(gpu_device, id));
    assert_true(spy_is_submit_finished(gpu_device, 0));
    OK(spy_wait_for_submit(gpu_device, 0, 0));
    // A chain of dependent calls: x -> 1000 subtractions; any missing barrier shows.
    OK(spy_tensor_fill(x, 1000));
    for (int i = 0; i < 1000; i++) OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    float got[1000];
    OK(spy_tensor_read(x, got, sizeof got));
    for (int i = 0; i < 1000; i++) assert_true(got[i] == 0);
    // Writes between calls are in order too.
    spy_tensor *y = ramp(4, 0), *z[50];
    for (int i = 0; i < 50; i++) {
        const float data[4] = { (float)i, 1, 2, 3 };
        OK(spy_tensor_write(y, data, sizeof data));
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 1), spy_out_tensor("_result", &z[i]))));
    }
    for (int i = 0; i < 50; i++) {
        FLOATS(z[i], (float)i - 1, 0, 1, 2);
        spy_release_tensor(z[i]);
    }
    // Released at once: the memory goes to the next tensor while the GPU may still use it.
    spy_tensor *sum = ramp(4, 0);
    OK(spy_tensor_fill(sum, 0));
    for (int i = 0; i < 200; i++) {
        spy_tensor *t = ramp(4, (float)i);
        OK(spy_call(fn("saxpy"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("x", t), spy_arg_tensor("y", sum), spy_arg_tensor("_result", sum))));
        spy_release_tensor(t);
    }
    FLOATS(sum, 19900, 20100, 20300, 20500); // sum of i + c for i < 200
    clean();
}

static void test_two_devices(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    spy_device *other = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(other, "other", "float f(float a, float b) { return a * b; }");
    assert_non_null(m);
    spy_function *f = spy_find_function(m, "f");
    spy_tensor *x = gpu_tensor(other, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *y = ramp(3, 1);
    float r[3];
    for (int i = 0; i < 20; i++) {
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 2), spy_arg_tensor("_result", x))), SPY_OK);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 1), spy_arg_tensor("_result", y))));
    }
    assert_int_equal(spy_tensor_read(x, r, sizeof r), SPY_OK);
    assert_true(r[0] == 1048576 && r[1] == 2097152 && r[2] == 3145728);
    FLOATS(y, -19, -18, -17);
    // Another device's tensor.
    assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 2), spy_arg_tensor("_result", x))), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(other, SPY_ERROR_INVALID_ARGUMENT, "f", "'a'", "another device");
    // Released with everything still alive, and a close callback before.
    spy_release_device(other);
    clean();
}

typedef struct turn_run {
    spy_function *f;
    spy_tensor *x, *y;
    int failed;
} turn_run;

static void *turn_thread(void *user) {
    turn_run *run = (turn_run *)user;
    for (int i = 0; i < 300; i++)
        run->failed += spy_call(run->f, SPY_ARGS(spy_arg_tensor("a", run->x), spy_arg_f32("b", 1), spy_arg_tensor("_result", run->y))) != SPY_OK;
    return NULL;
}

// Four threads on one device without a lock: every call is made.
static void test_threads(void **state) {
    NEEDS_DEVICE();
    turn_run runs[4];
    pthread_t threads[4];
    uint64_t before = spy_get_device_stats(gpu_device).calls;
    for (int i = 0; i < 4; i++) {
        runs[i].f = fn("sub");
        runs[i].x = ramp(64, 5);
        runs[i].y = ramp(64, 0);
        runs[i].failed = 0;
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, turn_thread, &runs[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_true(spy_get_device_stats(gpu_device).calls == before + 1200);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(runs[i].failed, 0);
        FLOATS(runs[i].y, 4, 5, 6);
    }
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    clean();
}

static void *device_thread(void *user) {
    (void)user;
    spy_device_desc d = gpu_desc();
    intptr_t wrong = 0;
    for (int round = 0; round < 3; round++) {
        spy_device *device = spy_create_device(&d);
        spy_module *m = gpu_module(device, "threaded", "float f(float a) { return a + 1; }");
        spy_function *f = m ? spy_find_function(m, "f") : NULL;
        float r = 0;
        for (int i = 0; i < 50; i++)
            if (!f || spy_call(f, SPY_ARGS(spy_arg_f32("a", (float)i), spy_out_f32("_result", &r))) != SPY_OK || r != (float)(i + 1)) wrong++;
        spy_release_device(device);
    }
    return (void *)wrong;
}

// Two devices on two threads share nothing but the compiler.
static void test_devices_on_threads(void **state) {
    NEEDS_DEVICE();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, device_thread, NULL);
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

typedef struct release_run {
    spy_tensor *tensors[1000];
} release_run;

static void *release_thread(void *user) {
    release_run *run = (release_run *)user;
    for (int i = 0; i < 1000; i++) spy_release_tensor(run->tensors[i]);
    return NULL;
}

// Releases come from any thread at any time, while calls run.
static void test_release_elsewhere(void **state) {
    NEEDS_DEVICE();
    static release_run run;
    spy_tensor *x = ramp(64, 0), *y = ramp(64, 0);
    OK(spy_wait(gpu_device));
    uint64_t used = spy_get_device_stats(gpu_device).used_bytes;
    for (int i = 0; i < 1000; i++) run.tensors[i] = ramp(64, 0);
    assert_true(spy_get_device_stats(gpu_device).used_bytes >= used + 256000);
    pthread_t thread;
    pthread_create(&thread, NULL, release_thread, &run);
    for (int i = 0; i < 2000; i++) OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", (float)i), spy_arg_tensor("_result", y))));
    pthread_join(thread, NULL);
    OK(spy_wait(gpu_device));
    assert_true(spy_get_device_stats(gpu_device).used_bytes == used); // all memory came back
    FLOATS(y, -1999, -1998);
    clean();
}

static int closed;
static void on_close(spy_device *device, void *user) {
    closed += *(int *)user;
    if (spy_wait(device) != SPY_OK) closed = -100; // still usable
}

// Everything in every order: objects before the device, after their parents, and not at all.
static void test_release_order(void **state) {
    NEEDS_DEVICE();
    int one = 1, ten = 10;
    for (int order = 0; order < 4; order++) {
        spy_device_desc d = gpu_desc();
        spy_device *device = MADE(spy_device, spy_create_device(&d));
        closed = 0;
        assert_int_equal(spy_add_close_callback(device, on_close, &one), SPY_OK);
        assert_int_equal(spy_add_close_callback(device, on_close, &ten), SPY_OK);
        spy_module *m = gpu_module(device, "order", "float f(float a) { return a + 1; }");
        spy_function *f = spy_find_function(m, "f");
        spy_tensor *t = gpu_tensor(device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), NULL), *v = spy_create_slice(t, 0, 2, 6, 1), *o = NULL;
        spy_prepared *p = spy_prepare(f, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o)), NULL);
        assert_non_null(p);
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o))), SPY_OK);
        spy_retain_tensor(o);
        spy_retain_module(m);
        if (order == 1) {
            spy_release_tensor(t);
            spy_release_tensor(v);
            spy_release_tensor(o);
            spy_release_tensor(o);
            spy_release_prepared(p);
            spy_release_module(m);
            spy_release_module(m);
        } else if (order == 2) {
            spy_release_module(m);
            spy_release_module(m);
            assert_int_equal(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o))), SPY_OK);
            spy_release_prepared(p);
            spy_release_tensor(t);
        } else if (order == 3) {
            spy_prepare_desc async;
            memset(&async, 0, sizeof async);
            async.async = true;
            assert_non_null(spy_prepare(f, SPY_ARGS(spy_arg_f32("a", 1), spy_out_tensor("_result", &o)), &async)); // still compiling at the end
        }
        spy_release_device(device);
        assert_int_equal(closed, 11);
    }
    spy_release_device(NULL);
    spy_release_tensor(NULL);
    spy_release_module(NULL);
    spy_release_prepared(NULL);
    clean();
}

static void test_info(void **state) {
    NEEDS_DEVICE();
    spy_device_info info = spy_get_device_info(gpu_device), list[8];
    assert_string_equal(info.backend, gpu_is_cuda() ? "cuda" : "vulkan");
    assert_true(info.name[0] && info.driver[0] && info.type != SPY_ADAPTER_TYPE_DEFAULT && info.max_group_size >= 128 && info.max_group_count >= 65535);
    assert_true(info.max_inline_block_bytes >= 128 && info.memory_bytes > 0 && info.subgroup_size > 0);
    size_t n = spy_enumerate_adapters(gpu_desc().backend, NULL, 0);
    assert_true(n >= 1);
    size_t m = spy_enumerate_adapters(gpu_desc().backend, list, 8);
    assert_int_equal(n, m);
    bool found = false;
    for (size_t i = 0; i < m && i < 8; i++) found = found || strcmp(list[i].name, info.name) == 0;
    assert_true(found);
    for (int i = 0; i < 2; i++) { // by number and by a part of the name in the other case
        spy_device_desc d = gpu_desc();
        char part[600];
        memcpy(part, info.name + 1, sizeof info.name - 1);
        for (char *c = part; *c; c++) *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
        if (i == 0) {
            d.adapter = 1;
            d.adapter_name = NULL;
        } else {
            d.adapter_name = part;
        }
        spy_device *device = MADE(spy_device, spy_create_device(&d));
        assert_string_equal(spy_get_device_info(device).name, i == 0 ? list[0].name : info.name);
        spy_release_device(device);
    }
    clean();
}

typedef struct steps {
    int begun, finished, compiles, logs;
} steps;

static void on_step(const char *step, bool finished, void *user) {
    steps *s = (steps *)user;
    if (finished) s->finished++;
    else s->begun++;
    if (strncmp(step, "compile ", 8) == 0 && finished) s->compiles++;
}

static void on_log(spy_log_level level, const char *message, void *user) {
    if (level == SPY_LOG_LEVEL_ERROR && strstr(message, "no_such_function")) ((steps *)user)->logs++;
}

static void test_hooks(void **state) {
    NEEDS_DEVICE();
    char folder[] = "/tmp/spy_dump_XXXXXX", command[300];
    steps s = { 0, 0, 0, 0 };
    assert_non_null(mkdtemp(folder));
    spy_device_desc d = gpu_desc();
    d.progress.func = on_step;
    d.progress.user_data = &s;
    d.log.func = on_log;
    d.log.user_data = &s;
    d.dump_directory = folder;
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(device, "hooks", "float f(float a) { return a + 1; }");
    float r = 0;
    for (int i = 0; i < 3; i++) assert_int_equal(spy_call(spy_find_function(m, "f"), SPY_ARGS(spy_arg_f32("a", 1), spy_out_f32("_result", &r))), SPY_OK);
    OK(spy_set_dump_directory(device, NULL)); // no kernel but f's is written
    m = gpu_module(device, "hooks2", "float g(float a) { return a + 2; }");
    assert_int_equal(spy_call(spy_find_function(m, "g"), SPY_ARGS(spy_arg_f32("a", 1), spy_out_f32("_result", &r))), SPY_OK);
    s.compiles--;
    assert_null(spy_find_function(m, "no_such_function"));
    assert_int_equal(s.logs, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.begun, s.finished);
    assert_true(s.begun >= 3); // the module, the kernel, the pipeline
    spy_release_device(device);
    snprintf(command, sizeof command, "ls %s/f_*.slang %s/f_*.%s > /dev/null && ! ls %s/g_* 2> /dev/null", folder, folder,
             gpu_is_cuda() ? "cu" : "spv", folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info), cmocka_unit_test(test_scalars), cmocka_unit_test(test_conversions), cmocka_unit_test(test_vectors), cmocka_unit_test(test_matrix_conversion),
        cmocka_unit_test(test_structs_whole), cmocka_unit_test(test_structs_by_fields),
        cmocka_unit_test(test_overloads), cmocka_unit_test(test_generics), cmocka_unit_test(test_names), cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_hostile_parameters), cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_across_rows), cmocka_unit_test(test_strict_broadcasting), cmocka_unit_test(test_views), cmocka_unit_test(test_point_to),
        cmocka_unit_test(test_view_bounds), cmocka_unit_test(test_in_place), cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_interleaved), cmocka_unit_test(test_overlap_inside), cmocka_unit_test(test_zero_size),
        cmocka_unit_test(test_folding), cmocka_unit_test(test_big_block), cmocka_unit_test(test_big_tensor), cmocka_unit_test(test_wide_offsets),
        cmocka_unit_test(test_bool_tensor), cmocka_unit_test(test_fill), cmocka_unit_test(test_large_copies), cmocka_unit_test(test_modules),
        cmocka_unit_test(test_explain), cmocka_unit_test(test_prepared), cmocka_unit_test(test_steady_state), cmocka_unit_test(test_submits),
        cmocka_unit_test(test_two_devices), cmocka_unit_test(test_threads), cmocka_unit_test(test_devices_on_threads),
        cmocka_unit_test(test_release_elsewhere), cmocka_unit_test(test_release_order), cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_empty_struct),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
