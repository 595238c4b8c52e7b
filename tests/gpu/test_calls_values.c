// Calls with fixed numbers, one or more for each kind of value: numbers, vectors, matrices, arrays, and structs whole or by fields.
#include "calls.h"

#include <math.h>

// >>scalars

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
    f = 21;
    OK(spy_call(fn("double_in_out"), SPY_ARGS(spy_inout_f32("x", &f))));
    assert_true(f == 42);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars), cmocka_unit_test(test_conversions), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_matrix_conversion), cmocka_unit_test(test_structs_whole),
        cmocka_unit_test(test_structs_by_fields), cmocka_unit_test(test_empty_struct),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
