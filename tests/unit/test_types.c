// Our type model without the compiler: interning, names, layouts, copies between layouts, scalar conversions.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "data/texture_form.h"
#include "data/type.h"
#endif
#include <math.h>
#include <stdio.h>

// >>names and interning

static void test_parse(void **state) {
    (void)state;
    static const struct {
        const char *name, *type, *display; // type NULL: not a built-in type
        size_t host, host_align, device, device_align;
    } rows[] = {
        { "float", "float", "float", 4, 4, 4, 4 },
        { "bool", "bool", "bool", 1, 1, 4, 4 },
        { "half", "half", "half", 2, 2, 2, 2 },
        { "float16_t", "half", "half", 2, 2, 2, 2 },
        { "int32_t", "int", "int", 4, 4, 4, 4 },
        { "uint64_t", "uint64_t", "uint64_t", 8, 8, 8, 8 },
        { "double", "double", "double", 8, 8, 8, 8 },
        { "float1", "vector<float,1>", "float1", 4, 4, 4, 4 },
        { "float3", "vector<float,3>", "float3", 12, 4, 12, 4 },
        { "uint8_t4", "vector<uint8_t,4>", "uint8_t4", 4, 1, 4, 1 },
        { "bool3", "vector<bool,3>", "bool3", 3, 1, 12, 4 },
        { "vector<float,3>", "vector<float,3>", "float3", 12, 4, 12, 4 },
        { " vector < half , 2 > ", "vector<half,2>", "half2", 4, 2, 4, 2 },
        { "half4x4", "matrix<half,4,4>", "half4x4", 32, 2, 32, 2 },
        { "float2x3", "matrix<float,2,3>", "float2x3", 24, 4, 24, 4 },
        { "matrix<double,3,2>", "matrix<double,3,2>", "double3x2", 48, 8, 48, 8 },
        { "float[3]", "Array<float,3>", "float[3]", 12, 4, 12, 4 },
        { "float[3][2]", "Array<Array<float,2>,3>", "float[3][2]", 24, 4, 24, 4 },
        { "Array<Array<float,2>,3>", "Array<Array<float,2>,3>", "float[3][2]", 24, 4, 24, 4 },
        { "bool [ 5 ]", "Array<bool,5>", "bool[5]", 5, 1, 20, 4 },
        { "float3[7]", "Array<vector<float,3>,7>", "float3[7]", 84, 4, 84, 4 },
        { "Array<half3x3,2>[4]", "Array<Array<matrix<half,3,3>,2>,4>", "half3x3[4][2]", 144, 2, 144, 2 },
        { "void", "void", "void", 0, 1, 0, 1 },
    };
    static const char *const none[] = {
        "",
        "Foo",
        "float5",
        "float0",
        "float3x",
        "float3x5",
        "float3y",
        "floats",
        "float 3",
        "float[",
        "float[]",
        "float[0]",
        "float[-1]",
        "float[3",
        "float3[2]x",
        "vector<float>",
        "vector",
        "Array<>",
        "vector<Foo,3>",
        "vector<float,3>>",
        "vector<float,9>",
        "matrix<float,4>",
        "float*",
        "void[3]",
        "int3_t",
        "float3_t",
        "voids",
        "float33",
        "Array<float,99999999999999999999>",
        "float3 x",
    };
    spyi_types *types = spyi_types_create(SPYI_TARGET_SPIRV);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const spyi_type *type = spyi_type_parse(types, rows[i].name);
        if (!type) print_error("%s\n", rows[i].name);
        assert_non_null(type);
        assert_string_equal(type->name, rows[i].type);
        assert_string_equal(type->display, rows[i].display);
        assert_int_equal(type->host_size, rows[i].host);
        assert_int_equal(type->host_align, rows[i].host_align);
        assert_int_equal(type->device_size, rows[i].device);
        assert_int_equal(type->device_align, rows[i].device_align);
        assert_int_equal(type->same_layout, rows[i].host == rows[i].device);
        assert_ptr_equal(type, spyi_type_parse(types, rows[i].type)); // a name leads back to its type
        assert_ptr_equal(type, spyi_type_parse(types, rows[i].display));
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; ++i) {
        if (spyi_type_parse(types, none[i])) print_error("%s is a type\n", none[i]);
        assert_null(spyi_type_parse(types, none[i]));
    }
    assert_null(spyi_type_parse(types, NULL));
    spyi_types_destroy(types);
}

static void test_intern(void **state) {
    (void)state;
    spyi_types *types = spyi_types_create(SPYI_TARGET_SPIRV);
    const spyi_type *f = spyi_type_scalar(types, SPY_DTYPE_FLOAT32),
                    *d = spyi_type_scalar(types, SPY_DTYPE_FLOAT64);
    assert_ptr_equal(f, spyi_type_scalar(types, SPY_DTYPE_DEFAULT));
    assert_ptr_not_equal(f, d);
    assert_int_not_equal(f->id, d->id);
    assert_ptr_equal(spyi_type_vector(types, SPY_DTYPE_FLOAT32, 3),
                     spyi_type_vector(types, SPY_DTYPE_DEFAULT, 3));
    const spyi_type *m = spyi_type_matrix(types, SPY_DTYPE_INT32, 2, 3);
    assert_ptr_equal(m->element, spyi_type_vector(types, SPY_DTYPE_INT32, 3));
    assert_ptr_equal(m->element->element, spyi_type_scalar(types, SPY_DTYPE_INT32));
    assert_int_equal(m->rows, 2);
    assert_int_equal(m->columns, 3);
    spyi_field fields[2];
    memset(fields, 0, sizeof fields);
    fields[0].name = "a";
    fields[0].type = d;
    fields[1].name = "b";
    fields[1].type = f;
    fields[1].device_offset = 8;
    const spyi_type *s = spyi_type_struct(types, "ns.S<ns.T>", fields, 2, 12, 8);
    assert_ptr_equal(s, spyi_type_struct(types, "ns.S<ns.T>", fields, 2, 12, 8));
    assert_string_equal(s->display, "S<ns.T>");
    assert_int_equal(s->host_size, 16);
    assert_int_equal(spyi_type_device_stride(s), 16);
    assert_true(s->same_layout);
    fields[1].name = "c"; // the same name after a reload, but another struct
    assert_ptr_not_equal(s, spyi_type_struct(types, "ns.S<ns.T>", fields, 2, 12, 8));
    assert_ptr_not_equal(s, spyi_type_struct(types, "ns.S<ns.T>", fields, 1, 8, 8));
    fields[1].name = "b";
    assert_ptr_equal(s, spyi_type_struct(types, "ns.S<ns.T>", fields, 2, 12, 8));
    // Ends without padding on the device, so that the next member follows at 12 there and at 16 here.
    spyi_field outer[2];
    memset(outer, 0, sizeof outer);
    outer[0].name = "s";
    outer[0].type = s;
    outer[1].name = "t";
    outer[1].type = f;
    outer[1].device_offset = 12;
    const spyi_type *o = spyi_type_struct(types, "Outer", outer, 2, 16, 8);
    assert_int_equal(o->fields[1].host_offset, 16);
    assert_int_equal(o->host_size, 24);
    assert_false(o->same_layout);
    // An enum is a scalar with a name of its own.
    const spyi_type *e = spyi_type_enum(types, "Color", SPY_DTYPE_INT32);
    assert_ptr_not_equal(e, spyi_type_scalar(types, SPY_DTYPE_INT32));
    assert_ptr_equal(e, spyi_type_enum(types, "Color", SPY_DTYPE_INT32));
    assert_ptr_not_equal(e, spyi_type_enum(types, "Color", SPY_DTYPE_UINT8));
    // Arrays without a layout are none of ours.
    const spyi_type *other = spyi_type_other(types, "IShape");
    assert_int_equal(spyi_type_array(types, other, 3)->kind, SPYI_TYPE_OTHER);
    assert_int_equal(spyi_type_array(types, f, 0)->kind, SPYI_TYPE_OTHER);
    assert_int_equal(spyi_type_array(types, f, INT64_MAX)->kind, SPYI_TYPE_OTHER);
    assert_int_equal(spyi_type_array(types, spyi_type_void(types), 2)->kind, SPYI_TYPE_OTHER);
    spyi_types_destroy(types);
    spyi_types_destroy(NULL);

    types = spyi_types_create(SPYI_TARGET_CUDA);
    static const struct {
        const char *name;
        size_t size, align;
    } cuda[] = {
        { "bool", 1, 1 },      { "bool4", 4, 4 },      { "half2", 4, 4 },    { "half3", 8, 4 },
        { "half4", 8, 4 },     { "float2", 8, 8 },     { "float3", 12, 4 },  { "float4", 16, 16 },
        { "double4", 32, 16 }, { "int64_t2", 16, 16 }, { "half3x3", 24, 4 }, { "float4x4", 64, 16 },
        { "half3[2]", 16, 4 },
    };
    for (size_t i = 0; i < sizeof cuda / sizeof cuda[0]; ++i) {
        const spyi_type *type = spyi_type_parse(types, cuda[i].name);
        assert_int_equal(type->device_size, cuda[i].size);
        assert_int_equal(type->device_align, cuda[i].align);
    }
    spyi_types_destroy(types);
}

// >>threads: two make the same types

typedef struct test_maker {
    spyi_types *types;
    const spyi_type *made[64];
} test_maker;

static void test_make(void *argument) {
    test_maker *m = (test_maker *)argument;
    for (int i = 0; i < 64; ++i) {
        char name[32];
        snprintf(name, sizeof name, "float%d[%d]", 1 + i % 4, 1 + i);
        m->made[i] = spyi_type_parse(m->types, name);
    }
}

static void test_interning_threads(void **state) {
    (void)state;
    test_maker makers[2];
    spyi_thread threads[2];
    makers[0].types = makers[1].types = spyi_types_create(SPYI_TARGET_SPIRV);
    for (int i = 0; i < 2; ++i) assert_true(spyi_thread_start(&threads[i], test_make, &makers[i]));
    for (int i = 0; i < 2; ++i) spyi_thread_join(&threads[i]);
    for (int i = 0; i < 64; ++i) assert_ptr_equal(makers[0].made[i], makers[1].made[i]);
    spyi_types_destroy(makers[0].types);
}

// >>copies

typedef struct test_inner {
    double a;
    bool b[3];
    float c;
} test_inner;

typedef struct test_outer {
    bool on;
    test_inner in[2];
    uint8_t tail;
    uint16_t halves[3];
} test_outer;

static void test_round_trip(void **state) {
    (void)state;
    spyi_types *types = spyi_types_create(SPYI_TARGET_SPIRV);
    spyi_field in[3], out[4];
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    in[0].name = "a";
    in[0].type = spyi_type_scalar(types, SPY_DTYPE_FLOAT64);
    in[1].name = "b";
    in[1].type = spyi_type_vector(types, SPY_DTYPE_BOOL, 3);
    in[1].device_offset = 8;
    in[2].name = "c";
    in[2].type = spyi_type_scalar(types, SPY_DTYPE_FLOAT32);
    in[2].device_offset = 20;
    const spyi_type *inner = spyi_type_struct(types, "Inner", in, 3, 24, 8);
    assert_int_equal(inner->host_size, sizeof(test_inner));
    assert_int_equal(inner->fields[1].host_offset, offsetof(test_inner, b));
    assert_int_equal(inner->fields[2].host_offset, offsetof(test_inner, c));
    out[0].name = "on";
    out[0].type = spyi_type_scalar(types, SPY_DTYPE_BOOL);
    out[1].name = "in";
    out[1].type = spyi_type_array(types, inner, 2);
    out[1].device_offset = 8;
    out[2].name = "tail";
    out[2].type = spyi_type_scalar(types, SPY_DTYPE_UINT8);
    out[2].device_offset = 56;
    out[3].name = "halves";
    out[3].type = spyi_type_vector(types, SPY_DTYPE_FLOAT16, 3);
    out[3].device_offset = 58;
    const spyi_type *outer = spyi_type_struct(types, "Outer", out, 4, 64, 8);
    assert_int_equal(outer->host_size, sizeof(test_outer));
    assert_int_equal(outer->host_align, 8);
    for (uint32_t i = 0; i < 4; ++i) {
        static const size_t offsets[] = { offsetof(test_outer, on), offsetof(test_outer, in),
                                          offsetof(test_outer, tail), offsetof(test_outer, halves) };
        assert_int_equal(outer->fields[i].host_offset, offsets[i]);
    }

    enum { COUNT = 37 };
    test_outer host[COUNT], back[COUNT];
    uint8_t device[COUNT * 64 + 8];
    memset(host, 0, sizeof host);
    memset(back, 0, sizeof back);
    memset(device, 0xcd, sizeof device);
    for (int i = 0; i < COUNT; ++i) {
        host[i].on = i % 2 == 0;
        for (int k = 0; k < 2; ++k) {
            host[i].in[k].a = i * 1.5 + k;
            host[i].in[k].b[i % 3] = true;
            host[i].in[k].c = (float)-i;
        }
        host[i].tail = (uint8_t)i;
        for (int k = 0; k < 3; ++k) host[i].halves[k] = (uint16_t)(i * 3 + k);
    }
    spyi_type_to_device(outer, device, host, COUNT);
    for (int i = 0; i < 8; ++i) assert_int_equal(device[COUNT * 64 + i], 0xcd);
    for (int i = 0; i < COUNT; ++i) { // by hand, from the device offsets above
        const uint8_t *d = device + i * 64;
        uint32_t word;
        double a;
        float c;
        memcpy(&word, d, 4);
        assert_int_equal(word, i % 2 == 0);
        memcpy(&a, d + 8 + 24, 8);
        assert_true(a == i * 1.5 + 1);
        for (int k = 0; k < 3; ++k) {
            memcpy(&word, d + 8 + 24 + 8 + k * 4, 4);
            assert_int_equal(word, k == i % 3);
        }
        memcpy(&c, d + 8 + 24 + 20, 4);
        assert_true(c == (float)-i);
        assert_int_equal(d[56], i);
    }
    spyi_type_to_host(outer, back, device, COUNT);
    assert_memory_equal(host, back, sizeof host);

    // A device bool is any word but 0.
    uint32_t words[2] = { 0x100, 0 };
    bool bools[2] = { false, true };
    spyi_type_to_host(spyi_type_scalar(types, SPY_DTYPE_BOOL), bools, words, 2);
    assert_true(bools[0] && !bools[1]);
    // The last element's end: nothing is written behind what the device has.
    spyi_field tail[2];
    memset(tail, 0, sizeof tail);
    tail[0] = in[0];
    tail[1] = in[2];
    tail[1].device_offset = 8;
    const spyi_type *unpadded = spyi_type_struct(types, "Unpadded", tail, 2, 12, 8);
    struct {
        double a;
        float b;
    } pairs[2];
    memset(pairs, 0x11, sizeof pairs);
    memset(device, 0xcd, sizeof device);
    spyi_type_to_device(unpadded, device, pairs, 2);
    assert_int_equal(device[27], 0x11);
    assert_int_equal(device[28], 0xcd);
    spyi_type_to_device(unpadded, NULL, NULL, 0);
    spyi_types_destroy(types);
}

// >>conversions

// By another method than the library's: a value is looked up among all halves.
static uint16_t test_nearest_half(const double *table, double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double v = fabs(value);
    if (v >= 65520.0) return (uint16_t)(sign | 0x7c00); // half way to 2^16 rounds to even, which is infinity
    int low = 0, high = 0x7bff;
    while (low < high) { // largest half that is not above v
        int middle = (low + high + 1) / 2;
        if (table[middle] <= v) low = middle;
        else high = middle - 1;
    }
    if (low < 0x7bff) {
        double down = v - table[low], up = table[low + 1] - v;
        if (up < down || (up == down && (low & 1))) ++low;
    }
    return (uint16_t)(sign | low);
}

static void test_half(void **state) {
    (void)state;
    static double table[0x7c00];
    for (int i = 0; i < 0x7c00; ++i) { // exactly: ldexp of a whole number
        int exponent = i >> 10, mantissa = i & 0x3ff;
        table[i] = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    }
    for (uint32_t i = 0; i < 65536; ++i) {
        uint16_t h = (uint16_t)i;
        double v = spyi_half_to_float(h);
        if ((h & 0x7fff) > 0x7c00) {
            assert_true(isnan(v));
            assert_true((spyi_float_to_half(v) & 0x7fff) > 0x7c00);
            continue;
        }
        if ((h & 0x7fff) == 0x7c00) assert_true(isinf(v) && (signbit(v) != 0) == (h >> 15));
        else assert_true(v == (h & 0x8000 ? -table[h & 0x7fff] : table[h & 0x7fff]));
        assert_true((signbit(v) != 0) == (h >> 15));
        assert_int_equal(spyi_float_to_half(v), h);
        if ((h & 0x7fff) >= 0x7bff) continue;
        // Between two neighbours: the middle, and just below and above it.
        double next = spyi_half_to_float((uint16_t)(h + 1)), middle = (v + next) / 2;
        assert_int_equal(spyi_float_to_half(middle), test_nearest_half(table, middle));
        assert_int_equal(spyi_float_to_half(middle), h & 1 ? h + 1 : h);
        double below = nextafter(middle, v), above = nextafter(middle, next);
        assert_int_equal(spyi_float_to_half(below), test_nearest_half(table, below));
        assert_int_equal(spyi_float_to_half(above), test_nearest_half(table, above));
    }
    uint64_t random = 88172645463325252ull;
    for (size_t i = 0; i < test_count(2000000); ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double v = ldexp((double)(random >> 11), -53 - 30 + (int)(random % 50));
        assert_int_equal(spyi_float_to_half(v), test_nearest_half(table, v));
        assert_int_equal(spyi_float_to_half(-v), test_nearest_half(table, -v));
    }
    assert_int_equal(spyi_float_to_half(65519.999), 0x7bff);
    assert_int_equal(spyi_float_to_half(65520), 0x7c00);
    assert_int_equal(spyi_float_to_half(-1e300), 0xfc00);
    assert_int_equal(spyi_float_to_half(1e-300), 0);
    assert_int_equal(spyi_float_to_half(-0.0), 0x8000);
    assert_int_equal(spyi_float_to_half(ldexp(1, -25)), 0); // a tie, to even
    assert_int_equal(spyi_float_to_half(nextafter(ldexp(1, -25), 1)), 1);
}

static const struct {
    spy_dtype type;
    double low; // exact in double for all
    uint64_t high;
} test_ranges[] = {
    { SPY_DTYPE_INT8, -128.0, 127 },
    { SPY_DTYPE_UINT8, 0.0, 255 },
    { SPY_DTYPE_INT16, -32768.0, 32767 },
    { SPY_DTYPE_UINT16, 0.0, 65535 },
    { SPY_DTYPE_INT32, -2147483648.0, 2147483647 },
    { SPY_DTYPE_UINT32, 0.0, 4294967295u },
    { SPY_DTYPE_INT64, -9223372036854775808.0, INT64_MAX },
    { SPY_DTYPE_UINT64, 0.0, UINT64_MAX },
};

static uint64_t test_bits(const void *value, size_t size) {
    uint64_t bits = 0;
    memcpy(&bits, value, size);
    return bits;
}

static void test_ranges_of_integers(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof test_ranges / sizeof test_ranges[0]; ++r) {
        spy_dtype type = test_ranges[r].type;
        size_t size = spy_dtype_size_bytes(type);
        uint64_t out = 0x5555555555555555ull, high = test_ranges[r].high;
        // From doubles: both ends fit, one step beyond does not, nor does half a step inside.
        double low = test_ranges[r].low;
        double values[3];
        assert_true(spyi_convert_scalars(&out, type, &low, SPY_DTYPE_FLOAT64, 1));
        values[0] = nextafter(low, -INFINITY);
        values[1] = low - 1;
        values[2] = low + 0.5;
        for (int i = 0; i < 3; ++i) {
            if (values[i] >= low && floor(values[i]) == values[i]) continue; // beyond 2^53 a step is no step
            out = 0x5555555555555555ull;
            assert_false(spyi_convert_scalars(&out, type, &values[i], SPY_DTYPE_FLOAT64, 1));
            assert_true(out == 0x5555555555555555ull); // nothing is written
        }
        double top =
            high > (1ull << 53) ? nextafter(ldexp(1, size == 8 && low == 0 ? 64 : 63), 0) : (double)high;
        assert_true(spyi_convert_scalars(&out, type, &top, SPY_DTYPE_FLOAT64, 1));
        assert_true(test_bits(&out, size) == (uint64_t)top);
        values[0] = high > (1ull << 53) ? ldexp(1, size == 8 && low == 0 ? 64 : 63) : (double)high + 1;
        values[1] = INFINITY;
        values[2] = NAN;
        for (int i = 0; i < 3; ++i)
            assert_false(spyi_convert_scalars(&out, type, &values[i], SPY_DTYPE_FLOAT64, 1));
        // From the other integers.
        assert_true(spyi_convert_scalars(&out, type, &high, SPY_DTYPE_UINT64, 1));
        assert_true(test_bits(&out, size) == high);
        uint64_t above = high + 1;
        if (above) assert_false(spyi_convert_scalars(&out, type, &above, SPY_DTYPE_UINT64, 1));
        int64_t minus = -1;
        assert_int_equal(spyi_convert_scalars(&out, type, &minus, SPY_DTYPE_INT64, 1), low < 0);
        if (low < 0 && size < 8) {
            int64_t below = (int64_t)low - 1;
            assert_false(spyi_convert_scalars(&out, type, &below, SPY_DTYPE_INT64, 1));
            below = (int64_t)low;
            assert_true(spyi_convert_scalars(&out, type, &below, SPY_DTYPE_INT64, 1));
            assert_true((double)(int64_t)(size == 1   ? (int64_t)(int8_t)out
                                          : size == 2 ? (int64_t)(int16_t)out
                                                      : (int64_t)(int32_t)out) == low);
        }
    }
    // One bad element keeps all from being written.
    float from[4] = { 1, 2, 3.5f, 4 };
    int32_t to[4] = { 9, 9, 9, 9 };
    assert_false(spyi_convert_scalars(to, SPY_DTYPE_INT32, from, SPY_DTYPE_FLOAT32, 4));
    for (int i = 0; i < 4; ++i) assert_int_equal(to[i], 9);
    from[2] = -3;
    assert_true(spyi_convert_scalars(to, SPY_DTYPE_INT32, from, SPY_DTYPE_FLOAT32, 4));
    assert_int_equal(to[2], -3);
}

// The common pairs have loops of their own: places in the array, unaligned memory, both ends of the range.
static void test_conversions_in_runs(void **state) {
    enum { N = 37 };
    char longs[N * sizeof(int64_t) + 1], doubles[N * sizeof(double) + 1];
    int32_t ints[N];
    float floats[N];
    (void)state;
    for (int i = 0; i < N; ++i) {
        int64_t n = i == 11 ? INT32_MIN : i == 12 ? INT32_MAX : (int64_t)i * i * 1000003 - 99;
        double d = i == 5 ? INFINITY : i == 6 ? -1e300 : i / 3.0;
        memcpy(longs + 1 + (size_t)i * sizeof n, &n, sizeof n);
        memcpy(doubles + 1 + (size_t)i * sizeof d, &d, sizeof d);
        ints[i] = 7;
    }
    assert_true(spyi_convert_scalars(ints, SPY_DTYPE_INT32, longs + 1, SPY_DTYPE_INT64, N));
    assert_true(spyi_convert_scalars(floats, SPY_DTYPE_FLOAT32, longs + 1, SPY_DTYPE_INT64, N));
    for (int i = 0; i < N; ++i) {
        assert_true(ints[i] == (i == 11 ? INT32_MIN : i == 12 ? INT32_MAX : i * i * 1000003 - 99));
        assert_true(floats[i] == (float)ints[i]);
    }
    assert_true(spyi_convert_scalars(floats, SPY_DTYPE_FLOAT32, doubles + 1, SPY_DTYPE_FLOAT64, N));
    for (int i = 0; i < N; ++i)
        assert_true(floats[i] == (i == 5 ? INFINITY : i == 6 ? -INFINITY : (float)(i / 3.0)));
    assert_true(spyi_convert_scalars(doubles + 1, SPY_DTYPE_FLOAT64, floats, SPY_DTYPE_FLOAT32, N));
    for (int i = 0; i < N; ++i) {
        double d;
        memcpy(&d, doubles + 1 + (size_t)i * sizeof d, sizeof d);
        assert_true(d == (double)floats[i]);
    }
    assert_true(spyi_convert_scalars(floats, SPY_DTYPE_FLOAT32, ints, SPY_DTYPE_INT32, N));
    for (int i = 0; i < N; ++i) assert_true(floats[i] == (float)ints[i]);
    int64_t beyond[2] = { (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1 };
    for (size_t k = 0; k < 2; ++k) {
        memcpy(longs + 1 + (N - 1) * sizeof beyond[k], &beyond[k], sizeof beyond[k]);
        ints[0] = 7;
        assert_false(spyi_convert_scalars(ints, SPY_DTYPE_INT32, longs + 1, SPY_DTYPE_INT64, N));
        assert_int_equal(ints[0], 7); // nothing is written
    }
}

static void test_conversions(void **state) {
    (void)state;
    // Every pair of dtypes carries 0, 1 and, where both can, -1 and 100.
    for (int a = SPY_DTYPE_BOOL; a < SPY_DTYPE_COUNT; ++a) {
        for (int b = SPY_DTYPE_BOOL; b < SPY_DTYPE_COUNT; ++b) {
            double values[4] = { 0, 1, 100, -1 }, results[4] = { 7, 7, 7, 7 };
            uint8_t first[32], second[32];
            bool a_signed = a >= SPY_DTYPE_FLOAT16 || a == SPY_DTYPE_INT8 || a == SPY_DTYPE_INT16 ||
                            a == SPY_DTYPE_INT32 || a == SPY_DTYPE_INT64;
            bool b_signed = b >= SPY_DTYPE_FLOAT16 || b == SPY_DTYPE_INT8 || b == SPY_DTYPE_INT16 ||
                            b == SPY_DTYPE_INT32 || b == SPY_DTYPE_INT64;
            size_t count = a == SPY_DTYPE_BOOL || b == SPY_DTYPE_BOOL ? 2 : a_signed && b_signed ? 4 : 3;
            assert_true(spyi_convert_scalars(first, (spy_dtype)a, values, SPY_DTYPE_FLOAT64, count));
            assert_true(spyi_convert_scalars(second, (spy_dtype)b, first, (spy_dtype)a, count));
            assert_true(spyi_convert_scalars(results, SPY_DTYPE_FLOAT64, second, (spy_dtype)b, count));
            for (size_t i = 0; i < count; ++i) assert_true(results[i] == values[i]);
        }
    }
    // To bool: 0 is false, all else is true.
    double doubles[5] = { 0, -0.0, 0.25, NAN, -3 };
    bool bools[5];
    assert_true(spyi_convert_scalars(bools, SPY_DTYPE_BOOL, doubles, SPY_DTYPE_FLOAT64, 5));
    assert_true(!bools[0] && !bools[1] && bools[2] && bools[3] && bools[4]);
    // A bool of any bits becomes 0 or 1.
    uint8_t odd = 0x80, one = 0;
    assert_true(spyi_convert_scalars(&one, SPY_DTYPE_BOOL, &odd, SPY_DTYPE_BOOL, 1));
    assert_int_equal(one, 1);
    // Rounding: int to float and double to float to nearest, ties to even.
    int64_t big = (1ll << 24) + 1;
    float f = 0;
    assert_true(spyi_convert_scalars(&f, SPY_DTYPE_FLOAT32, &big, SPY_DTYPE_INT64, 1));
    assert_true(f == 16777216.0f);
    uint64_t most = UINT64_MAX;
    assert_true(spyi_convert_scalars(&f, SPY_DTYPE_FLOAT32, &most, SPY_DTYPE_UINT64, 1));
    assert_true(f == 18446744073709551616.0f);
    double third = 1.0 / 3;
    assert_true(spyi_convert_scalars(&f, SPY_DTYPE_FLOAT32, &third, SPY_DTYPE_FLOAT64, 1));
    assert_true(f == 1.0f / 3.0f);
    uint16_t h = 0;
    double twice = 1 + ldexp(1, -11) + ldexp(1, -40); // to float first would make it a tie
    assert_true(spyi_convert_scalars(&h, SPY_DTYPE_FLOAT16, &twice, SPY_DTYPE_FLOAT64, 1));
    assert_int_equal(h, 0x3c01);
    assert_true(spyi_convert_scalars(NULL, SPY_DTYPE_INT32, NULL, SPY_DTYPE_FLOAT32, 0));
}

// >>texture types, known by their names

static void test_textures(void **state) {
    (void)state;
    enum { T = SPYI_PARAMETER_TEXTURE, RW = SPYI_PARAMETER_RW_TEXTURE, S = SPYI_PARAMETER_SAMPLER, C = SPYI_PARAMETER_COMBINED };
    static const struct {
        const char *name, *texel, *spelled; // texel NULL: it is no texture; spelled NULL: as the name
        uint8_t kind, type;
        bool array, multisampled, write_only;
    } rows[] = {
        { "Texture2D<vector<float,4>>", "float4", "Texture2D<float4>", T, SPY_TEXTURE_TYPE_2D, false, false, false },
        { "Texture1D<float>", "float", NULL, T, SPY_TEXTURE_TYPE_1D, false, false, false },
        { "Texture3D<uint2>", "uint2", NULL, T, SPY_TEXTURE_TYPE_3D, false, false, false },
        { "TextureCubeArray<float4>", "float4", NULL, T, SPY_TEXTURE_TYPE_CUBE, true, false, false },
        { "Texture2DMSArray<float4>", "float4", NULL, T, SPY_TEXTURE_TYPE_2D, true, true, false },
        { "Texture2DArrayMS<float4, 4>", "float4", "Texture2DMSArray<float4>", T, SPY_TEXTURE_TYPE_2D, true, true, false },
        { "Texture2D<unorm vector<float,4>>", "float4", "Texture2D<float4>", T, SPY_TEXTURE_TYPE_2D, false, false, false },
        { "RWTexture2DArray<float4>", "float4", NULL, RW, SPY_TEXTURE_TYPE_2D, true, false, false },
        { "RWTexture1D<int>", "int", NULL, RW, SPY_TEXTURE_TYPE_1D, false, false, false },
        { "RasterizerOrderedTexture2D<float4>", "float4", "RWTexture2D<float4>", RW, SPY_TEXTURE_TYPE_2D, false, false, false },
        { "WTexture2D<float4>", "float4", NULL, RW, SPY_TEXTURE_TYPE_2D, false, false, true },
        { "_Texture<vector<float,4>, __Shape2D, 0, 0, 0, 2, 0, 0, 0>", "float4", "WTexture2D<float4>", RW, SPY_TEXTURE_TYPE_2D, false, false, true },
        { "_Texture<float, __Shape3D, 0, 0, 0, 0, 0, 0, 0>", "float", "Texture3D<float>", T, SPY_TEXTURE_TYPE_3D, false, false, false },
        { "Sampler2D<float4>", "float4", NULL, C, SPY_TEXTURE_TYPE_2D, false, false, false },
        { "SamplerCube<float4>", "float4", NULL, C, SPY_TEXTURE_TYPE_CUBE, false, false, false },
        { "SamplerState", "", NULL, S, 0, false, false, false },
        { "SamplerComparisonState", "", NULL, S, 0, false, false, false },
        { "Texture2D<float4>[3]", NULL, NULL, 0, 0, false, false, false },
        { "Texture2Da<float4>", NULL, NULL, 0, 0, false, false, false },
        { "Texture<float4>", NULL, NULL, 0, 0, false, false, false },
        { "TextureView<float4>", NULL, NULL, 0, 0, false, false, false },
        { "_Texture<float4, __ShapeBuffer, 0, 0, 0, 0, 0, 0, 0>", NULL, NULL, 0, 0, false, false, false },
        { "Sampler", NULL, NULL, 0, 0, false, false, false },
        { "StructuredBuffer<float>", NULL, NULL, 0, 0, false, false, false },
        { "", NULL, NULL, 0, 0, false, false, false },
    };
    spyi_types *types = spyi_types_create(SPYI_TARGET_SPIRV);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spyi_texture_form form;
        spyi_text spelled = { NULL, 0, 0 };
        bool known = spyi_texture_form_read(rows[i].name, NULL, &form);
        if (known != (rows[i].texel != NULL)) fail_msg("%s: %s", rows[i].name, known ? "read" : "not read");
        if (!known) continue;
        const spyi_type *texel = spyi_texture_form_texel(types, rows[i].name);
        if (form.kind != rows[i].kind || form.type != rows[i].type || form.array != rows[i].array || form.multisampled != rows[i].multisampled ||
            form.write_only != rows[i].write_only || form.comparison != (strcmp(rows[i].name, "SamplerComparisonState") == 0))
            fail_msg("%s: kind %u, type %u", rows[i].name, form.kind, form.type);
        if (!texel != !rows[i].texel[0] || (texel && strcmp(texel->display, rows[i].texel) != 0)) fail_msg("%s: its texels", rows[i].name);
        spyi_texture_form_spell(&form, texel, &spelled);
        assert_string_equal(spyi_text_str(&spelled), rows[i].spelled ? rows[i].spelled : rows[i].name);
        spyi_text_free(&spelled);
    }
    assert_null(spyi_texture_form_texel(types, "Texture2D<T>"));
    assert_null(spyi_texture_form_texel(types, "Texture2D<float4x4>"));
    spyi_types_destroy(types);
    uint32_t number = 0;
    assert_string_equal(spyi_format_layout(SPY_FORMAT_RGBA8_UNORM, &number), "rgba8");
    assert_int_equal(number, 4);
    assert_null(spyi_format_layout(SPY_FORMAT_BGRA8_UNORM, &number));
    assert_null(spyi_format_layout(SPY_FORMAT_NONE, &number));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_intern),
        cmocka_unit_test(test_interning_threads),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_ranges_of_integers),
        cmocka_unit_test(test_conversions_in_runs),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_textures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
