// Options of calls and dispatches on a real device: constants bit for bit, the prelude, conformances and thread counts, with
// all that can be wrong with them.
#include "gpu_test.h"
#include "quiet_device.h"

#include <float.h>
#include <math.h>

spy_device *gpu_device;

static const char source[] =
    "import slangpy;\n"
    "extern static const bool c_bool = false;\nextern static const int c_int = 1;\nextern static const uint c_uint = 1;\n"
    "extern static const int64_t c_int64 = 1;\nextern static const uint64_t c_uint64 = 1;\n"
    "extern static const float c_float = 1;\nextern static const double c_double = 1;\n"
    "extern static const half c_half = half(1);\nextern static const int16_t c_int16 = int16_t(1);\nextern static const uint16_t c_uint16 = uint16_t(1);\n"
    "extern static const int8_t c_int8 = int8_t(1);\nextern static const uint8_t c_uint8 = uint8_t(1);\nextern static const int c_count = 3;\n"
    "extern static const float3 c_vector = float3(1, 2, 3);\nuint get_vector(uint x) { return x + asuint(c_vector.y); }\n"
    "uint get_bool(uint x) { return x + (c_bool ? 1u : 0u); }\n"
    "uint64_t get_int(uint x) { return x + uint64_t(int64_t(c_int)); }\nuint64_t get_uint(uint x) { return x + uint64_t(c_uint); }\n"
    "uint64_t get_int64(uint x) { return x + uint64_t(c_int64); }\nuint64_t get_uint64(uint x) { return x + c_uint64; }\n"
    "uint get_float(uint x) { return x + asuint(c_float); }\nuint64_t get_double(uint x) { return x + bit_cast<uint64_t>(c_double); }\n"
    "uint get_half(uint x) { return x + uint(bit_cast<uint16_t>(c_half)); }\n"
    "int get_int16(int x) { return x + int(c_int16); }\nint get_uint16(int x) { return x + int(c_uint16); }\n"
    "int get_int8(int x) { return x + int(c_int8); }\nint get_uint8(int x) { return x + int(c_uint8); }\n"
    "int get_array(int x) { int s = 0; for (int i = 0; i < c_count; i++) s += x + i; return s; }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)] void shader_int(uniform int* o) { o[0] = c_int; }\n"
    "interface IShape { float area(float x); }\n"
    "struct Square : IShape { float area(float x) { return x * x; } }\nstruct Circle : IShape { float area(float x) { return 3 * x * x; } }\nstruct Lone { float a; }\n"
    "float dynamic_area(int which, float x) { IShape s = createDynamicObject<IShape>(which, 0); return s.area(x); }\n"
    "float twice(float x) { return 2 * x; }\nuint id_sum(uint x, int2 id) { return x + uint(id.x + 100 * id.y); }\n"
    "void tally(AtomicTensor<uint, 1> o) { o.add(0, 1u); }\n";

static spy_module *open_module(void) {
    return quiet_open("optional", source);
}

static spy_function *fn(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static spy_call_options with_constants(const spy_arg *items, size_t count) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.constants.items = items;
    o.constants.count = count;
    return o;
}

// >>constants

// What `getter` returns with this constant: the constant's bits, in the getter's own type.
static uint64_t bits_of(spy_module *m, const char *getter, spy_arg constant, bool wide) {
    spy_call_options o = with_constants(&constant, 1);
    uint64_t got = 0;
    uint32_t low = 0;
    OK(spy_call_with(fn(m, getter), SPY_ARGS(spy_arg_u32("x", 0), wide ? spy_out_u64("_result", &got) : spy_out_u32("_result", &low)), &o));
    return wide ? got : low;
}

static int32_t int_of(spy_module *m, const char *getter, spy_arg constant) {
    spy_call_options o = with_constants(&constant, 1);
    int32_t got = 77;
    OK(spy_call_with(fn(m, getter), SPY_ARGS(spy_arg_i32("x", 0), spy_out_i32("_result", &got)), &o));
    return got;
}

static void same_bits(uint64_t got, uint64_t expected, const char *what) {
    if (got != expected) print_error("%s: got %016llx, expected %016llx\n", what, (unsigned long long)got, (unsigned long long)expected);
    assert_true(got == expected);
}

static void test_integers(void **state) {
    (void)state;
    spy_module *m = open_module();
    static const int32_t ints[] = { 0, 5, -1, INT32_MAX, INT32_MIN };
    static const int64_t longs[] = { 0, -1, INT64_MAX, INT64_MIN, 1ll << 32, -(1ll << 40) };
    static const uint64_t ulongs[] = { 0, 1ull << 63, UINT64_MAX, 1ull << 32 };
    static const uint32_t uints[] = { 0, 1u << 31, UINT32_MAX };
    same_bits(bits_of(m, "get_bool", spy_arg_bool("c_bool", true), false), 1, "true");
    same_bits(bits_of(m, "get_bool", spy_arg_bool("c_bool", false), false), 0, "false");
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) same_bits(bits_of(m, "get_int", spy_arg_i32("c_int", ints[i]), true), (uint64_t)(int64_t)ints[i], "int");
    for (size_t i = 0; i < sizeof uints / sizeof *uints; i++) same_bits(bits_of(m, "get_uint", spy_arg_u32("c_uint", uints[i]), true), uints[i], "uint");
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) same_bits(bits_of(m, "get_int64", spy_arg_i64("c_int64", longs[i]), true), (uint64_t)longs[i], "int64_t");
    for (size_t i = 0; i < sizeof ulongs / sizeof *ulongs; i++) same_bits(bits_of(m, "get_uint64", spy_arg_u64("c_uint64", ulongs[i]), true), ulongs[i], "uint64_t");
    // The size of an array; another value is another kernel, and none is the default.
    int32_t got = 0;
    OK(spy_call(fn(m, "get_array"), SPY_ARGS(spy_arg_i32("x", 10), spy_out_i32("_result", &got))));
    assert_int_equal(got, 33);
    for (int n = 1; n < 6; n++) {
        spy_arg c = spy_arg_i32("c_count", n);
        spy_call_options o = with_constants(&c, 1);
        OK(spy_call_with(fn(m, "get_array"), SPY_ARGS(spy_arg_i32("x", 10), spy_out_i32("_result", &got)), &o));
        assert_int_equal(got, 10 * n + n * (n - 1) / 2);
    }
    // Shaders have them too.
    int32_t o = 0;
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(1), NULL));
    for (int k = -3; k < 3; k += 2) {
        spy_arg c = spy_arg_i32("c_int", k);
        spy_call_options options = with_constants(&c, 1);
        spy_uint3 one = { 1, 1, 1 };
        OK(spy_dispatch(fn(m, "shader_int"), one, SPY_ARGS(spy_arg_tensor("o", t)), &options));
        OK(spy_tensor_read(t, &o, sizeof o));
        assert_int_equal(o, k);
    }
    quiet_close();
}

static void test_floats(void **state) {
    (void)state;
    spy_module *m = open_module();
    const float floats[] = { 0.0f, -0.0f, 1.5f, -2.0f, 3e9f, 0.1f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f, -3e-42f, 16777217.0f, INFINITY, -INFINITY };
    const double doubles[] = { 0.0, -0.0, 0.1, -3.0, DBL_MAX, -DBL_MAX, DBL_MIN, 5e-324, 1e300, 123456789012345678.0, INFINITY, -INFINITY };
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        uint32_t bits;
        char text[40];
        memcpy(&bits, &floats[i], 4);
        snprintf(text, sizeof text, "float %g", (double)floats[i]);
        same_bits(bits_of(m, "get_float", spy_arg_f32("c_float", floats[i]), false), bits, text);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        uint64_t bits;
        char text[40];
        memcpy(&bits, &doubles[i], 8);
        snprintf(text, sizeof text, "double %g", doubles[i]);
        same_bits(bits_of(m, "get_double", spy_arg_f64("c_double", doubles[i]), true), bits, text);
    }
    uint64_t nan = bits_of(m, "get_float", spy_arg_f32("c_float", NAN), false);
    assert_true((nan & 0x7f800000u) == 0x7f800000u && (nan & 0x7fffffu) != 0);
    nan = bits_of(m, "get_double", spy_arg_f64("c_double", (double)NAN), true);
    assert_true((nan >> 52 & 0x7ff) == 0x7ff && (nan << 12) != 0);
    quiet_close();
}

// A number takes the constant's type, as those of arguments do; one that does not fit is an error.
static void test_converted(void **state) {
    (void)state;
    spy_module *m = open_module();
    same_bits(bits_of(m, "get_uint", spy_arg_i32("c_uint", 7), true), 7, "uint from int");
    same_bits(bits_of(m, "get_int64", spy_arg_i32("c_int64", -7), true), (uint64_t)-7ll, "int64_t from int");
    same_bits(bits_of(m, "get_int", spy_arg_i64("c_int", -7), true), (uint64_t)-7ll, "int from int64_t");
    same_bits(bits_of(m, "get_float", spy_arg_i32("c_float", -3), false), 0xc0400000u, "float from int");
    same_bits(bits_of(m, "get_double", spy_arg_f32("c_double", 0.5f), true), 0x3fe0000000000000u, "double from float");
    same_bits(bits_of(m, "get_float", spy_arg_f64("c_float", 0.5), false), 0x3f000000u, "float from double");
    same_bits(bits_of(m, "get_half", spy_arg_f32("c_half", -0.5f), false), 0xb800u, "half from float");
    assert_int_equal(int_of(m, "get_int16", spy_arg_i32("c_int16", -32768)), -32768);
    assert_int_equal(int_of(m, "get_uint16", spy_arg_u32("c_uint16", 65535)), 65535);
    assert_int_equal(int_of(m, "get_int8", spy_arg_i32("c_int8", -128)), -128);
    assert_int_equal(int_of(m, "get_uint8", spy_arg_i32("c_uint8", 255)), 255);
    quiet_close();
}

// A vector takes a host array of its length, or one number for all components.
static void test_vectors(void **state) {
    (void)state;
    spy_module *m = open_module();
    const float values[4] = { 5, 0.1f, 7, 8 };
    uint32_t tenth;
    memcpy(&tenth, &values[1], sizeof tenth);
    same_bits(bits_of(m, "get_vector", spy_arg_f32n("c_vector", values, 3), false), tenth, "float3");
    same_bits(bits_of(m, "get_vector", spy_arg_f32("c_vector", 0.1f), false), tenth, "float3 from float");
    for (uint32_t n = 1; n < 5; n++) {
        if (n == 3) continue;
        spy_arg wrong = spy_arg_f32n("c_vector", values, n);
        spy_call_options o = with_constants(&wrong, 1);
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call_with(fn(m, "get_vector"), SPY_ARGS(spy_arg_u32("x", 0)), &o), "c_vector", "float3");
    }
    quiet_close();
}

static void constant_fails(spy_module *m, const char *getter, spy_arg constant, const char *word) {
    spy_call_options o = with_constants(&constant, 1);
    uint32_t got = 77;
    spy_status status = spy_call_with(fn(m, getter), SPY_ARGS(spy_arg_u32("x", 0), spy_out_u32("_result", &got)), &o);
    spy_error e = spy_take_error(gpu_device);
    if (status == SPY_OK || !strstr(e.message, word)) print_error("constant '%s': %s, %s\n", constant.name ? constant.name : "", spy_status_text(status), e.message);
    assert_true(status != SPY_OK && strstr(e.message, word));
    assert_int_equal(got, 77);
}

static void test_wrong_constants(void **state) {
    (void)state;
    spy_module *m = open_module();
    float x = 1;
    constant_fails(m, "get_float", spy_arg_f32(NULL, 1), "constant 1");
    constant_fails(m, "get_float", spy_arg_f32("", 1), "no extern static const ''");
    constant_fails(m, "get_float", spy_arg_f32("c float", 1), "c float");
    constant_fails(m, "get_float", spy_arg_f32("c_float = 3; static const int y", 1), "c_float = 3");
    constant_fails(m, "get_float", spy_arg_f32n("c_float", &x, 1), "c_float");
    constant_fails(m, "get_float", spy_arg_f32("twice", 1), "twice");
    constant_fails(m, "get_float", spy_out_f32("c_float", &x), "c_float");
    constant_fails(m, "get_float", spy_arg_f32("c_nothing", 1), "c_nothing");
    spy_arg twice[2] = { spy_arg_f32("c_float", 1), spy_arg_f32("c_float", 2) };
    spy_call_options o = with_constants(twice, 2);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "get_float"), SPY_ARGS(spy_arg_u32("x", 0)), &o), "c_float", "twice");
    o = with_constants(NULL, 2);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "get_float"), SPY_ARGS(spy_arg_u32("x", 0)), &o), "constants");
    constant_fails(m, "get_float", spy_arg_i32("c_uint8", 256), "c_uint8");
    constant_fails(m, "get_float", spy_arg_i64("c_int", 1ll << 40), "c_int");
    constant_fails(m, "get_float", spy_arg_i32("c_uint", -1), "c_uint");
    constant_fails(m, "get_float", spy_arg_f32("c_int", 2.5f), "c_int");
    assert_int_equal(bits_of(m, "get_uint", spy_arg_u32("c_uint", 4), true), 4);
    quiet_close();
}

// >>prelude

static void test_prelude(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    float r = 0;
    spy_args args = SPY_ARGS(spy_arg_f32("x", 4), spy_out_f32("_result", &r));
    o.prelude = "float unused_helper(float x) { return x; }";
    OK(spy_call_with(fn(m, "twice"), args, &o));
    assert_true(r == 8);
    o.prelude = "export public static const int c_count = 7;"; // what constants are made of
    int32_t n = 0;
    OK(spy_call_with(fn(m, "get_array"), SPY_ARGS(spy_arg_i32("x", 0), spy_out_i32("_result", &n)), &o));
    assert_int_equal(n, 21);
    o.prelude = "// a comment without an end of line";
    OK(spy_call_with(fn(m, "twice"), args, &o));
    o.prelude = "this is no Slang";
    r = 5;
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "twice"), args, &o), "twice", "this is no Slang");
    assert_true(r == 5);
    o.prelude = "/* open";
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "twice"), args, &o), "twice");
    o.prelude = "";
    OK(spy_call_with(fn(m, "twice"), args, &o));
    assert_true(r == 8);
    quiet_close();
}

// >>conformances

static void test_conformances(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    const char *both[2] = { "Square : IShape = 0", "Circle : IShape = 1" }, *swapped[2] = { "Circle : IShape = 0", "Square : IShape = 1" };
    float r = 0;
    spy_function *f = fn(m, "dynamic_area");
    for (int way = 0; way < 2; way++) {
        o.conformances = way ? swapped : both;
        o.conformance_count = 2;
        for (int which = 0; which < 2; which++) {
            OK(spy_call_with(f, SPY_ARGS(spy_arg_i32("which", which), spy_arg_f32("x", 2), spy_out_f32("_result", &r)), &o));
            assert_true(r == (which == way ? 4.0f : 12.0f));
        }
    }
    static const struct {
        const char *text;
        spy_status status;
        const char *word;
    } wrong[] = { { "Lone : IShape", SPY_ERROR_COMPILE, "'Lone'" },         { "Nothing : IShape", SPY_ERROR_COMPILE, "'Nothing'" }, { "Square : INothing", SPY_ERROR_COMPILE, "'INothing'" },
                  { "Square : Lone", SPY_ERROR_COMPILE, "'Lone'" },         { "Square", SPY_ERROR_INVALID_ARGUMENT, "Type : IInterface" }, { "", SPY_ERROR_INVALID_ARGUMENT, "Type : IInterface" },
                  { ":", SPY_ERROR_COMPILE, "conformance" },               { "Square : ", SPY_ERROR_COMPILE, "conformance" },        { "Square : IShape : IShape", SPY_ERROR_COMPILE, "conformance" },
                  { "Sq;uare : IShape", SPY_ERROR_COMPILE, "conformance" }, { "Square :: IShape", SPY_ERROR_COMPILE, "conformance" } };
    spy_args args = SPY_ARGS(spy_arg_f32("x", 2), spy_out_f32("_result", &r));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        o.conformances = &wrong[i].text;
        o.conformance_count = 1;
        r = 1;
        FAILS(wrong[i].status, spy_call_with(fn(m, "twice"), args, &o), "twice", wrong[i].word);
        assert_true(r == 1);
    }
    const char *none = NULL;
    o.conformances = &none;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "twice"), args, &o), "conformance");
    o.conformances = NULL;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "twice"), args, &o), "conformances");
    quiet_close();
}

// >>thread_count

static void test_thread_count(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    uint32_t got[3][4], row[4] = { 1, 2, 3, 4 }, zero = 0;
    spy_tensor *made = NULL, *x = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(4), row));
    spy_tensor *sum =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(1), &zero));
    o.thread_count = SPY_SHAPE(3, 4);
    OK(spy_call_with(fn(m, "id_sum"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_call_id("id"), spy_out_tensor("_result", &made)), &o));
    OK(spy_tensor_read(made, got, sizeof got));
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 4; j++) assert_int_equal(got[i][j], row[j] + j + 100 * i);
    o.thread_count = SPY_SHAPE(3, 1); // stretches as an argument does
    spy_release_tensor(made);
    OK(spy_call_with(fn(m, "id_sum"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_call_id("id"), spy_out_tensor("_result", &made)), &o));
    assert_int_equal(spy_get_tensor_info(made).shape.rank, 2);
    assert_int_equal(spy_get_tensor_info(made).element_count, 12);
    uint32_t expected = 0;
    for (int64_t n = 0; n < 1000; n = 3 * n + 1) { // one kernel, other sizes
        o.thread_count = SPY_SHAPE(n);
        OK(spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o));
        expected += (uint32_t)n;
    }
    o.thread_count = SPY_SHAPE(5, 0, 7);
    OK(spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o));
    OK(spy_tensor_read(sum, &zero, sizeof zero));
    assert_int_equal(zero, expected);
    o.thread_count = SPY_SHAPE(0);
    spy_tensor *before = made;
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_with(fn(m, "id_sum"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_call_id("id"), spy_out_tensor("_result", &made)), &o), "thread_count", "'x'");
    o.thread_count = SPY_SHAPE(3, 5);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_with(fn(m, "id_sum"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_call_id("id"), spy_out_tensor("_result", &made)), &o), "thread_count",
          "(3, 5)", "'x'", "(4,)");
    o.thread_count = SPY_SHAPE(3, 4);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_with(fn(m, "id_sum"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_call_id("id"), spy_arg_tensor("_result", x)), &o), "'_result'");
    assert_ptr_equal(made, before);
    o.thread_count = SPY_SHAPE(-1);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o), "thread_count", "negative");
    o.thread_count = SPY_SHAPE(65536, 65536);
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o), "2147483647");
    o.thread_count = SPY_SHAPE(INT64_MAX, INT64_MAX);
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o), "2147483647");
    o.thread_count.rank = 9;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", sum)), &o), "SPY_MAX_RANK");
    quiet_close();
}

// >>options of prepared calls, of explaining, timing and resolving

// Options and arguments that are overwritten once spy_prepare has come back.
static spy_prepared *prepare_once(spy_module *m, const char *function, bool async, int32_t count, const char *prelude, int64_t threads) {
    char name[] = "c_count", text[200], conformance[] = "Circle : IShape";
    const char *conformances[] = { conformance };
    spy_arg constant = spy_arg_i32(name, count);
    spy_call_options o = with_constants(&constant, 1);
    spy_prepare_desc d;
    spy_tensor *made = NULL;
    memset(&d, 0, sizeof d);
    snprintf(text, sizeof text, "%s", prelude);
    o.prelude = text;
    o.conformances = conformances;
    o.conformance_count = 1;
    o.thread_count = SPY_SHAPE(threads);
    o.thread_group_size[0] = 8;
    d.options = &o;
    d.async = async;
    spy_prepared *p = MADE(spy_prepared, spy_prepare(fn(m, function), SPY_ARGS(spy_arg_i32("x", 0), spy_out_tensor("_result", &made)), &d));
    memset(&o, 0xee, sizeof o);
    memset(&constant, 0xee, sizeof constant);
    memset(name, 'n', sizeof name - 1);
    memset(text, 't', sizeof text - 1);
    memset(conformance, 'c', sizeof conformance - 1);
    conformances[0] = NULL;
    assert_null(made);
    return p;
}

static void test_prepared(void **state) {
    (void)state;
    spy_module *m = open_module();
    for (int async = 0; async < 2; async++) {
        spy_prepared *p[2];
        for (int k = 0; k < 2; k++) p[k] = prepare_once(m, "get_array", async, 4 + k + 2 * async, async ? "// async" : "// now", 5 + k);
        for (int k = 0; k < 2; k++) {
            int32_t got[6] = { 0 }, count = 4 + k + 2 * async;
            spy_tensor *made = NULL;
            if (!async) OK(spy_prepared_ready(p[k]));
            uint64_t built = spy_get_device_stats(gpu_device).kernels_built;
            for (int32_t x = 0; x < 3; x++) {
                OK(spy_call_prepared(p[k], SPY_ARGS(spy_arg_i32("x", x), spy_out_tensor("_result", &made))));
                assert_int_equal(spy_get_tensor_info(made).element_count, 5 + k); // thread_count
                OK(spy_tensor_read(made, got, (size_t)(5 + k) * sizeof *got));
                for (int i = 0; i < 5 + k; i++) assert_int_equal(got[i], count * x + count * (count - 1) / 2);
                spy_release_tensor(made);
            }
            if (!async) assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
            FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_prepared(p[k], SPY_ARGS(spy_arg_f32("x", 1), spy_out_tensor("_result", &made))), "get_array", "argument 1: float");
        }
        spy_release_prepared(p[0]); // the other goes with the device
    }
    quiet_close();
}

static void test_wrong_prepared(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *f = fn(m, "get_array");
    spy_arg constants[2] = { spy_arg_i32("c_count", 2), spy_arg_i32("c_count", 3) };
    spy_call_options o;
    spy_prepare_desc d;
    int32_t got = 0;
    memset(&d, 0, sizeof d);
    d.options = &o;
#define BAD(code, ...)                                                                                        \
    assert_null(spy_prepare(f, SPY_ARGS(spy_arg_i32("x", 0), spy_out_i32("_result", &got)), &d));             \
    ERROR_ON(gpu_device, code, "spy_prepare: get_array", __VA_ARGS__)
    o = with_constants(NULL, 1);
    BAD(SPY_ERROR_INVALID_ARGUMENT, "constants has a count");
    o = with_constants(constants, 2);
    BAD(SPY_ERROR_INVALID_ARGUMENT, "'c_count' is given twice");
    constants[0].name = "c_cuont";
    o = with_constants(constants, 1);
    BAD(SPY_ERROR_NOT_FOUND, "'c_cuont'");
    constants[0] = spy_out_i32("c_count", &got);
    BAD(SPY_ERROR_INVALID_ARGUMENT, "constants cannot be kept", "outputs");
    o = with_constants(NULL, 0);
    o.globals.count = 1;
    BAD(SPY_ERROR_INVALID_ARGUMENT, "globals has a count");
    o = with_constants(NULL, 0);
    o.conformance_count = 2;
    BAD(SPY_ERROR_INVALID_ARGUMENT, "conformances is NULL");
    const char *conformances[] = { "Circle : IShape", NULL };
    o.conformances = conformances;
    BAD(SPY_ERROR_INVALID_ARGUMENT, "conformance");
    o = with_constants(NULL, 0);
    o.thread_count = SPY_SHAPE(-1);
    BAD(SPY_ERROR_INVALID_ARGUMENT, "thread_count");
    o = with_constants(NULL, 0);
    o.prelude = "this is no Slang";
    BAD(SPY_ERROR_COMPILE, "this is no Slang");
    o = with_constants(NULL, 0);
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    o.append_to = list;
    BAD(SPY_ERROR_INVALID_ARGUMENT, "append_to");
    d.async = true;
    BAD(SPY_ERROR_INVALID_ARGUMENT, "append_to");
#undef BAD
    uint64_t ns = 7;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_time_call(f, SPY_ARGS(spy_arg_i32("x", 0)), &o, &ns), "spy_time_call", "append_to");
    assert_int_equal(spy_get_list_info(list).op_count, 0);
    // What fails on its thread is told when it is asked for.
    o = with_constants(NULL, 0);
    o.prelude = "neither is this";
    spy_prepared *p = MADE(spy_prepared, spy_prepare(f, SPY_ARGS(spy_arg_i32("x", 0), spy_out_i32("_result", &got)), &d));
    FAILS(SPY_ERROR_COMPILE, spy_call_prepared(p, SPY_ARGS(spy_arg_i32("x", 0), spy_out_i32("_result", &got))), "neither is this");
    quiet_close();
}

static void test_looking(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *f = fn(m, "get_array");
    spy_arg constant = spy_arg_i32("c_count", 17);
    spy_call_options o = with_constants(&constant, 1);
    char text[8000];
    int32_t got = 0;
    spy_tensor *made = NULL;
    uint64_t ns = 0, built = spy_get_device_stats(gpu_device).kernels_built;
    spy_args args = SPY_ARGS(spy_arg_i32("x", 2), spy_out_tensor("_result", &made));
    o.prelude = "// looked at";
    o.thread_count = SPY_SHAPE(3, 4);
    o.thread_group_size[0] = 32;
    size_t size = spy_explain_call(f, args, &o, text, sizeof text);
    assert_true(size > 0 && size < sizeof text);
    if (!strstr(text, "// looked at") || !strstr(text, "c_count = int(17LL)") || !strstr(text, "call shape (3, 4)") ||
        !strstr(text, "numthreads(32"))
        fail_msg("%s", text);
    spy_resolution *r = (spy_resolution *)gpu_made(spy_resolve(f, args, &o), "spy_resolve", __FILE__, __LINE__);
    assert_int_equal(r->shape.rank, 2);
    assert_int_equal(r->shape.dims[0] * r->shape.dims[1], 12);
    spy_release_resolution(r);
    assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
    assert_null(made);
    OK(spy_time_call(f, SPY_ARGS(spy_arg_i32("x", 2), spy_out_i32("_result", &got)), NULL, &ns));
    assert_int_equal(got, 3 * 2 + 3);
    o.thread_count.rank = 0;
    OK(spy_time_call(f, SPY_ARGS(spy_arg_i32("x", 2), spy_out_i32("_result", &got)), &o, &ns));
    assert_int_equal(got, 17 * 2 + 17 * 16 / 2);
    assert_true(ns > 0);
    constant.name = "c_cuont";
    spy_explain_call(f, args, &o, text, sizeof text);
    assert_non_null(strstr(text, "no extern static const 'c_cuont'"));
    assert_null(spy_resolve(f, args, &o));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_resolve", "'c_cuont'");
    FAILS(SPY_ERROR_NOT_FOUND, spy_time_call(f, args, &o, &ns), "spy_time_call", "'c_cuont'");
    assert_int_equal(ns, 0);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_floats),       cmocka_unit_test(test_converted),    cmocka_unit_test(test_vectors), cmocka_unit_test(test_wrong_constants),
        cmocka_unit_test(test_prelude),  cmocka_unit_test(test_conformances), cmocka_unit_test(test_thread_count),
        cmocka_unit_test(test_prepared), cmocka_unit_test(test_wrong_prepared), cmocka_unit_test(test_looking),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
