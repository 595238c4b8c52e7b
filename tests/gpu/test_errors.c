// Bad input: each line of the list. The status, what the message names (function, argument, expected, got), that
// outputs keep what they held, and that the device works afterwards.
#include "gpu_test.h"

spy_device *gpu_device;

static spy_module *module;

static const char source[] = "float add(float a, float b) { return a + b; }\n"
                             "float3 add3(float3 a, float3 b) { return a + b; }\n"
                             "int addi(int a, int b) { return a + b; }\n"
                             "void both(float a, out float b, inout float c) { b = a; c = c + a; }\n"
                             "float with_default(float a, float b = 2) { return a + b; }\n"
                             "float pick(float a, double b) { return 1; }\n"
                             "float pick(double a, float b) { return 2; }\n"
                             "struct Pair { float lo; float hi; }\n"
                             "struct Nested { Pair p; int n; }\n"
                             "float spread(Pair p) { return p.hi - p.lo; }\n"
                             "float nested(Nested v) { return v.p.hi + v.n; }\n"
                             "Pair make(float x) { Pair p; p.lo = x; p.hi = x + 1; return p; }\n"
                             "T same<T : IArithmetic>(T x) { return x + x; }\n"
                             "float shade(Texture2D t, float x) { return x; }\n"
                             "void nothing(float x) {}\n";

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static spy_tensor *ramp(int64_t count) {
    float data[64];
    for (int i = 0; i < 64; i++) data[i] = (float)i;
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(count), data));
}

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    module = gpu_module(gpu_device, "bad", source);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

// The device still works, and nothing is pending.
static void works(void) {
    float r = 0;
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 2), spy_out_f32("_result", &r))));
    assert_true(r == 3);
}

static void expect(spy_tensor *t, float first) { // still 0, 1, 2 ... from `first` on
    float data[64];
    size_t n = (size_t)spy_get_tensor_info(t).element_count;
    OK(spy_tensor_read(t, data, n * 4));
    for (size_t i = 0; i < n; i++) assert_true(data[i] == first + (float)i);
}

// >>modules and functions

static void test_missing_file(void **state) {
    NEEDS_DEVICE();
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = "/tmp/no such folder/none.slang";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_IO, "spy_load_module", "/tmp/no such folder/none.slang", "no such file");
    const char *const folders[] = { "/tmp/first folder", "/tmp/second folder" };
    d.path = "none.slang";
    d.include_paths = folders;
    d.include_path_count = 2;
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_IO, "none.slang", "no such file", "current folder", "/tmp/first folder, /tmp/second folder");
    d.path = "/tmp"; // a folder
    assert_null(spy_load_module(gpu_device, &d));
    spy_error e = spy_take_error(gpu_device);
    assert_true(e.code == SPY_ERROR_NOT_FOUND || e.code == SPY_ERROR_IO);
    assert_non_null(strstr(e.message, "/tmp"));
    memset(&d, 0, sizeof d);
    assert_null(spy_load_module(gpu_device, &d)); // neither path nor source
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "path", "source");
    assert_null(spy_load_module(gpu_device, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_load_module", "NULL");
    works();
}

static void test_broken_source(void **state) {
    NEEDS_DEVICE();
    char path[] = "/tmp/spy_broken_XXXXXX.slang";
    int file = mkstemps(path, 6);
    const char text[] = "float f(float x)\n{\n    return x + nonsense;\n}\n";
    assert_true(write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(file);
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.path = path;
    assert_null(spy_load_module(gpu_device, &d));
    char place[64];
    snprintf(place, sizeof place, "%s:3", path); // file and line
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, place, "nonsense", "spy_load_module", "\n        return x + nonsense;\n                   ^");
    // The same when another module imports it.
    char importer[128];
    snprintf(importer, sizeof importer, "import \"%s\";\nfloat g(float x) { return x; }", path);
    assert_null(gpu_module(gpu_device, "importer", importer));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, place, "\n        return x + nonsense;\n                   ^");
    unlink(path);
    assert_null(gpu_module(gpu_device, "broken", "float f(\n"));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "broken");
    assert_null(gpu_module(gpu_device, "broken", "import nowhere_to_be_found;\nfloat f(float x) { return x; }"));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "nowhere_to_be_found");
    // The same name can be loaded once it is right.
    spy_module *good = MADE(spy_module, gpu_module(gpu_device, "broken", "float f(float x) { return x; }"));
    assert_non_null(spy_find_function(good, "f"));
    spy_release_module(good);
    // Bytes that are no text.
    char noise[300];
    for (int i = 0; i < 299; i++) noise[i] = (char)(i * 37 % 255 + 1);
    noise[299] = 0;
    assert_null(gpu_module(gpu_device, "noise", noise));
    ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "noise");
    works();
}

static void test_unknown_function(void **state) {
    NEEDS_DEVICE();
    assert_null(spy_find_function(module, "ad"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_find_function", "'ad'", "add"); // the nearest names
    assert_null(spy_find_function(module, "with_defualt"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "'with_defualt'", "with_default");
    works();
}

// Names that crash the compiler or end the generated text, if they get there.
static void test_names(void **state) {
    NEEDS_DEVICE();
    static const char *const names[] = { "", " ", "f<", "f(1)", "float*", "add<", "add>", "add<>", "add<float", "same<", "same<float", "same<float>>", "same<nonsense>", "same<float,", "::", "::add", "add::", "a b", "add;",
                                         "add\n", "1", "*", "&add", "float", "Pair::lo", "Pair::", "(add)", "add+add", "\"", "'", "\\", "/*", "//", "#include", "{", "}", "add{}", "same<Texture2D>", "same<float*>",
                                         "same<same>", "operator+", "this", "\x80\xff", "same<{}>", "same<1>", "same<void>", "same<add>", "same<float[]>" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        spy_function *f = spy_find_function(module, names[i]);
        spy_error e = spy_take_error(gpu_device);
        if (f) {
            print_error("'%s' was found\n", names[i]);
            fail();
        }
        assert_true(e.code == SPY_ERROR_NOT_FOUND || e.code == SPY_ERROR_INVALID_ARGUMENT || e.code == SPY_ERROR_COMPILE || e.code == SPY_ERROR_TYPE_MISMATCH);
        assert_true(e.message[0] != 0);
        (void)spy_has_type(module, names[i]);
        assert_int_equal(spy_take_error(gpu_device).code, SPY_OK); // no error is raised
        if (!spy_has_type(module, names[i])) {
            assert_int_equal(spy_type_size_bytes(module, names[i]), 0);
            assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
        }
        spy_tensor *t = gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, names[i], module, SPY_SHAPE(1), NULL);
        spy_release_tensor(t);
        (void)spy_take_error(gpu_device);
    }
    char *long_name = (char *)malloc(10002);
    static const char fills[] = { 'x', '<', '(', ':', ',' };
    for (size_t i = 0; i < sizeof fills; i++) {
        memset(long_name, fills[i], 10000);
        long_name[10000] = 0;
        if (fills[i] != 'x') long_name[0] = 'f';
        assert_null(spy_find_function(module, long_name));
        assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
        assert_false(spy_has_type(module, long_name));
        assert_null(gpu_module(gpu_device, long_name, "this is no module"));
        assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
    }
    free(long_name);
    works();
}

// >>arguments

static void test_arguments(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = ramp(4), *out = ramp(4), *none = NULL;
    float r = 7;
    spy_arg zero;
    memset(&zero, 0, sizeof zero);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("_result", out))), "spy_call", "add", "'b'", "not specified");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, x), spy_arg_tensor("_result", out))), "add", "2", "3");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_NO_ARGS), "add", "'a'", "not specified");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("c", x), spy_arg_tensor("_result", out))), "add", "'c'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("a", x), spy_arg_tensor("_result", out))), "add", "'a'", "multiple times");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor("a", x), spy_arg_tensor("_result", out))), "add", "'a'", "multiple times");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", x), spy_out_f32("_result", &r), spy_arg_tensor("_result", out))), "add", "_result", "multiple times");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("nothing"), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &r))), "nothing", "_result");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("shade"), SPY_ARGS(spy_arg_f32("t", 1), spy_arg_f32("x", 1), spy_out_f32("_result", &r))), "shade", "'t'");
    // Not made by a function of ours.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(zero, zero)), "add", "argument 1");
    zero.kind = (spy_arg_kind)12345;
    zero.name = "a";
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(zero, zero)), "add", "'a'");
    zero.kind = SPY_ARG_KIND_FLOAT;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(zero, spy_arg_f32("b", 1))), "add", "'a'", "dtype");
    zero.dtype = (spy_dtype)-3;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(zero, spy_arg_f32("b", 1))), "add", "'a'", "dtype");
    zero = spy_arg_f32("a", 1);
    zero.direction = (spy_direction)99;
    assert_int_not_equal(spy_call(fn("both"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", x), zero)), SPY_OK);
    (void)spy_take_error(gpu_device);
    zero = spy_arg_f32("b", 1); // a direction that is none, at an out parameter: its number is no pointer
    zero.direction = (spy_direction)99;
    zero.value.u = 0;
    assert_int_not_equal(spy_call(fn("both"), SPY_ARGS(spy_arg_f32("a", 1), zero, spy_inout_f32("c", &r))), SPY_OK);
    (void)spy_take_error(gpu_device);
    zero = spy_arg_array("a", NULL, SPY_SHAPE(4), SPY_DTYPE_FLOAT32);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(zero, spy_arg_f32("b", 1), spy_arg_tensor("_result", out))), "add", "'a'", "NULL");
    spy_shape nine = { 9, { 1, 1, 1, 1, 1, 1, 1, 1 } };
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_array("a", &r, nine, SPY_DTYPE_FLOAT32), spy_arg_f32("b", 1), spy_arg_tensor("_result", out))), "add", "'a'", "rank");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_array("a", &r, SPY_SHAPE(-1), SPY_DTYPE_FLOAT32), spy_arg_f32("b", 1), spy_arg_tensor("_result", out))), "add", "'a'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), (spy_args){ NULL, 3 }), "add", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", NULL), spy_arg_f32("b", 1))), "add", "'a'", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_out_f32("_result", NULL))), "add", "_result", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_out_tensor("_result", NULL))), "add", "_result", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), SPY_ARGS(spy_arg_data("p", NULL, 8))), "spread", "'p'", "NULL");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("spread"), SPY_ARGS(spy_arg_data("p", &source, 12), spy_out_f32("_result", &r))), "spread", "'p'", "8", "12");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), SPY_ARGS(spy_arg_data("p", &source, 0), spy_out_f32("_result", &r))), "spread", "'p'");
    // Directions.
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_out_f32("a", &r), spy_arg_f32("b", 1), spy_arg_tensor("_result", out))), "add", "'a'", "in parameter", "output");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_out_tensor("a", &none), spy_arg_f32("b", 1), spy_arg_tensor("_result", out))), "add", "'a'");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("both"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_inout_f32("c", &r))), "both", "'b'", "out parameter", "input");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("both"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", out), spy_out_f32("c", &r))), "both", "'c'", "inout");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("both"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", out), spy_out_tensor("c", &none))), "both", "'c'", "inout");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_arg_f32("_result", 1))), "add", "_result");
    // Types.
    int32_t n = 3;
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_out_i32("_result", &n))), "add", "_result", "float", "int");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("spread"), SPY_ARGS(spy_arg_f32("p", 1), spy_out_f32("_result", &r))), "spread", "'p'", "Pair", "float");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_struct("a", SPY_ARGS(spy_arg_f32("lo", 1))), spy_arg_f32("b", 1), spy_out_f32("_result", &r))), "add", "'a'", "float", "struct");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add3"), SPY_ARGS(spy_vcast(spy_arg_tensor("a", ramp(3)), "float2"), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add3", "'a'", "float3", "float2");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("add3"), SPY_ARGS(spy_vcast(spy_arg_tensor("a", ramp(3)), "flaot3"), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add3", "'a'", "flaot3");
    assert_true(n == 3 && r == 7 && none == NULL);
    expect(out, 0);
    expect(x, 0);
    works();
}

static void test_structs(void **state) {
    NEEDS_DEVICE();
    float r = 7;
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1))), spy_out_f32("_result", &r))), "spread", "'p'", "'hi'", "missing");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1), spy_arg_f32("high", 1))), spy_out_f32("_result", &r))), "spread", "'p'", "'high'", "Pair");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1), spy_arg_f32("hi", 1), spy_arg_f32("mid", 1))), spy_out_f32("_result", &r))), "spread", "'p'", "2", "3");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1), spy_arg_f32("lo", 1))), spy_out_f32("_result", &r))), "spread", "'p'", "'lo'", "twice");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", SPY_NO_ARGS), spy_out_f32("_result", &r))), "spread", "'p'", "missing");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("nested"), SPY_ARGS(spy_arg_struct("v", SPY_ARGS(spy_arg_i32("n", 1), spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1))))), spy_out_f32("_result", &r))), "nested", "v.p", "'hi'");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("nested"), SPY_ARGS(spy_arg_struct("v", SPY_ARGS(spy_arg_f32("n", 1.5f), spy_arg_struct("p", SPY_ARGS(spy_arg_f32("lo", 1), spy_arg_f32("hi", 1))))), spy_out_f32("_result", &r))), "nested", "v.n", "int", "1.5");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), SPY_ARGS(spy_arg_struct("p", (spy_args){ NULL, 2 }), spy_out_f32("_result", &r))), "spread", "'p'", "NULL");
    // The result's struct: a field that is not written anywhere is an error as well.
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("make"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_struct("_result", SPY_ARGS(spy_out_f32("lo", &r))))), "make", "_result", "'hi'");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("make"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_struct("_result", SPY_ARGS(spy_out_f32("lo", &r), spy_arg_f32("hi", 1))))), "make", "_result.hi", "out");
    // Deeper than any type, and a loop.
    spy_arg deep[200];
    deep[0] = spy_arg_f32("x", 1);
    for (int i = 1; i < 200; i++) deep[i] = spy_arg_struct("p", (spy_args){ &deep[i - 1], 1 });
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), (spy_args){ &deep[199], 1 }), "spread", "deep");
    deep[0] = spy_arg_struct("p", (spy_args){ &deep[0], 1 });
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("spread"), (spy_args){ &deep[0], 1 }), "spread", "deep");
    // Two fields that each name the list again: 2^16 values before the depth is noticed, no more.
    deep[0] = spy_arg_struct("p", (spy_args){ &deep[0], 2 });
    deep[1] = deep[0];
    assert_int_not_equal(spy_call(fn("spread"), (spy_args){ &deep[0], 1 }), SPY_OK);
    (void)spy_take_error(gpu_device);
    assert_true(r == 7);
    works();
}

// Declarations that exist, but that no kernel can name.
static void test_unreachable_functions(void **state) {
    NEEDS_DEVICE();
    static const char *const privates[] = {
        "module half_public;\nfloat f(float x) { return x; }\npublic float g(float x) { return f(x); }\n"
        "public struct S { public float x; float m() { return x; } public float n() { return x; } }",
        "float f(float x) { return x; }\npublic float g(float x) { return f(x); }\n"
        "public struct S { public float x; float m() { return x; } public float n() { return x; } }",
    };
    for (size_t i = 0; i < 2; i++) {
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, "half_public", privates[i]));
        assert_null(spy_find_function(m, "f"));
        ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_find_function", "'f'", "'half_public'", "write `public`");
        assert_null(spy_find_function(m, "S::m"));
        ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_find_function", "'S::m'", "write `public`");
        assert_non_null(spy_find_function(m, "S::n"));
        float y = 0;
        OK(spy_call(spy_find_function(m, "g"), SPY_ARGS(spy_arg_f32("x", 3), spy_out_f32("_result", &y))));
        assert_true(y == 3);
        spy_release_module(m);
    }
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "words", "float expand(float x) { return x; }\nfloat each(float x) { return x; }"));
    assert_null(spy_find_function(m, "expand"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "'expand' is a word of the Slang language", "another name");
    assert_null(spy_find_function(m, "each"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "'each' is a word of the Slang language", "another name");
    spy_release_module(m);
}

// Names that generated kernels used to have at their top level are the user's.
static void test_names_of_kernels(void **state) {
    NEEDS_DEVICE();
    static const struct {
        const char *text, *function;
    } rows[] = {
        { "float spyi(float x) { return 2 * x; }", "spyi" },
        { "struct spyi { float a; }\nfloat f(float x) { spyi s = { x }; return 2 * s.a; }", "f" },
        { "namespace spyi { float g(float x) { return 2 * x; } }", "spyi::g" },
        { "static const float spyi = 2;\nfloat f(float x) { return spyi * x; }", "f" },
        { "float call_element(float x) { return 2 * x; }", "call_element" },
        { "[Differentiable] float spy_element(float x) { return 2 * x; }", "spy_element" },
        { "float a_x(float x) { return 2 * x; }", "a_x" },
        { "float r_result(float x) { return 2 * x; }", "r_result" },
    };
    spy_tensor *x = ramp(4), *y = ramp(4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, "names_of_kernels", rows[i].text));
        spy_function *f = MADE(spy_function, spy_find_function(m, rows[i].function));
        float got[4];
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y))));
        OK(spy_tensor_read(y, got, sizeof got));
        for (int k = 0; k < 4; k++) assert_true(got[k] == 2 * (float)k);
        spy_release_module(m);
    }
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "names_of_kernels", "[Differentiable] float spy_element(float x) { return 2 * x; }"));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(4);
    d.with_grad = true;
    spy_tensor *in = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(in, 1));
    OK(spy_tensor_fill(spy_tensor_grad(out), 1));
    OK(spy_call_backward(spy_find_function(m, "spy_element"), SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("_result", out))));
    float slope[4];
    OK(spy_tensor_read(spy_tensor_grad(in), slope, sizeof slope));
    for (int k = 0; k < 4; k++) assert_true(slope[k] == 2);
    spy_release_module(m);
    m = MADE(spy_module, gpu_module(gpu_device, "names_of_kernels", "float spyi_kernel(float x) { return x; }"));
    assert_null(spy_find_function(m, "spyi_kernel"));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_find_function", "'spyi_kernel'", "another name");
    spy_release_module(m);
    spy_release_tensor(x);
    spy_release_tensor(y);
    spy_release_tensor(in);
    spy_release_tensor(out);
}

// Of one name with a function of Slang's own: the user's come first.
static void test_built_in_overloads(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "steps", "float step(float x, float y, float z) { return x; }"));
    spy_status status = spy_call(spy_find_function(m, "step"), SPY_ARGS(spy_arg_f32("x", 1)));
    assert_int_equal(status, SPY_ERROR_TYPE_MISMATCH);
    spy_error e = spy_take_error(gpu_device);
    const char *own = strstr(e.message, "float step(float x, float y, float z)"), *others = strstr(e.message, "Slang's own 'step'");
    assert_non_null(own);
    assert_true(others && others > own);
    assert_null(strstr(e.message, "vector<T,N> step("));
    float y = 0; // Slang's generic ones are not asked beside the user's: libslang would keep types of this session
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(spy_find_function(m, "step"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2), spy_out_f32("_result", &y))),
          "float step(float x, float y, float z)", "'z' not specified");
    OK(spy_call(spy_find_function(m, "step"), SPY_ARGS(spy_arg_f32(NULL, 5), spy_arg_f32(NULL, 2), spy_arg_f32(NULL, 2), spy_out_f32("_result", &y))));
    assert_true(y == 5);
    spy_release_module(m);
}

// Slang's own generic functions are asked with types of its own only: what it keeps of a module's types outlives them, and a later
// question crashed in libslang.
static void test_built_in_generics(void **state) {
    NEEDS_DEVICE();
    for (int round = 0; round < 4; round++) {
        char name[40];
        snprintf(name, sizeof name, "built_in_generics_%d", round);
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, name, "struct P { float a; };\nT dot<T : IFloat>(T a, T b, T c) { return a; }\n"
                                                                      "namespace ns { T max<T>(T a, T b) { return b; } }\n"));
        static const char *const functions[] = { "any", "all", "max", "abs", "dot", "clamp", "lerp", "any<P>", "max<P>", "abs<P>" };
        spy_arg p = spy_arg_struct(NULL, SPY_ARGS(spy_arg_f32("a", 2)));
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            spy_function *f = spy_find_function(m, functions[k]);
            for (uint32_t count = 1; f && count <= 3; count++) {
                spy_arg items[3];
                for (uint32_t i = 0; i < count; i++) items[i] = spy_vcast(p, "P");
                assert_true(spy_call(f, (spy_args){ items, count }) != SPY_OK);
                spy_take_error(gpu_device);
            }
        }
        spy_take_error(gpu_device);
        float three[3] = { 1, 2, 3 }, r = 0, a = 0;
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(spy_find_function(m, "select"), SPY_ARGS(spy_arg_bool(NULL, true), spy_vcast(p, "P"), spy_vcast(p, "P"),
                                                                                         spy_arg_struct("_result", SPY_ARGS(spy_out_f32("a", &a))))), "select"); // it was asked
        OK(spy_call(spy_find_function(m, "length"), SPY_ARGS(spy_vcast(spy_arg_f32n(NULL, three, 3), "float3"), spy_out_f32("_result", &r))));
        assert_float_equal(r, 3.7416574, 1e-5);
        OK(spy_call(spy_find_function(m, "ns::max"), SPY_ARGS(spy_vcast(p, "P"), spy_vcast(p, "P"), spy_arg_struct("_result", SPY_ARGS(spy_out_f32("a", &a)))))); // the user's own
        assert_float_equal(a, 2, 0);
        spy_release_module(m);
    }
}

static void test_dump_directory(void **state) {
    NEEDS_DEVICE();
    FAILS(SPY_ERROR_IO, spy_set_dump_directory(gpu_device, "/tmp/no such folder"), "spy_set_dump_directory", "/tmp/no such folder");
    FAILS(SPY_ERROR_IO, spy_set_dump_directory(gpu_device, "/etc/hostname"), "spy_set_dump_directory", "/etc/hostname");
    OK(spy_set_dump_directory(gpu_device, "/tmp"));
    OK(spy_set_dump_directory(gpu_device, NULL));
    (void)spy_take_error(NULL);
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.dump_directory = "/tmp/no such folder";
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_IO, "spy_create_device", "desc.dump_directory", "/tmp/no such folder");
}

static void test_ambiguous(void **state) {
    NEEDS_DEVICE();
    float r = 7;
    FAILS(SPY_ERROR_AMBIGUOUS, spy_call(fn("pick"), SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 1), spy_out_f32("_result", &r))), "pick", "float pick(float a, double b)", "float pick(double a, float b)");
    // No overload fits: both are listed, each with its reason.
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("pick"), SPY_ARGS(spy_arg_struct(NULL, SPY_NO_ARGS), spy_arg_f32(NULL, 1), spy_out_f32("_result", &r))), "pick", "pick(float a, double b)", "pick(double a, float b)", "'a'");
    assert_true(r == 7);
    OK(spy_call(fn("pick"), SPY_ARGS(spy_vcast(spy_arg_f32(NULL, 1), "float"), spy_arg_f64(NULL, 1), spy_out_f32("_result", &r))));
    assert_true(r == 1);
    works();
}

// >>structs that were not zeroed

// All bytes are what memory may have held before: found before anything of it is used.
#define GARBAGE(type, name)                                                                                  \
    type name;                                                                                               \
    memset(&name, 0xcc, sizeof name)

#define NOT_ZEROED(type) "the " #type " was not zeroed", "`" #type " desc = { 0 };`"

// Of an expression that gives an object or 0.
#define GIVES_NONE(expression, type)                                                                         \
    do {                                                                                                     \
        assert_true(!(expression));                                                                          \
        ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, NOT_ZEROED(type));                                  \
    } while (0)

static void test_not_zeroed(void **state) {
    GARBAGE(spy_device_desc, device_desc);
    GARBAGE(spy_vk_desc, vk_desc);
    GARBAGE(spy_cuda_desc, cuda_desc);
    GARBAGE(spy_module_desc, module_desc);
    GARBAGE(spy_tensor_desc, tensor_desc);
    GARBAGE(spy_view_desc, view_desc);
    GARBAGE(spy_list_desc, list_desc);
    GARBAGE(spy_prepare_desc, prepare_desc);
    GARBAGE(spy_grid_desc, grid_desc);
    GARBAGE(spy_random_desc, random_desc);
    GARBAGE(spy_call_options, options);
    spy_device_desc good;
    spy_tensor *t = NULL;
    spy_uint3 threads = { 1, 1, 1 };
    float y = 7;
    char text[2048];
    (void)state;
    assert_null(spy_create_device(&device_desc));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device: desc: ", NOT_ZEROED(spy_device_desc));
    memset(&good, 0, sizeof good);
    good.backend = spy_vk_backend();
    good.backend_desc = &vk_desc;
    assert_null(spy_create_device(&good));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device: desc.backend_desc: ", NOT_ZEROED(spy_vk_desc));
    good.backend = spy_cuda_backend();
    good.backend_desc = &cuda_desc;
    assert_null(spy_create_device(&good));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_create_device: desc.backend_desc: ", NOT_ZEROED(spy_cuda_desc));
    if (!gpu_device) return;
    GIVES_NONE(spy_load_module(gpu_device, &module_desc), spy_module_desc);
    GIVES_NONE(spy_create_tensor(gpu_device, &tensor_desc), spy_tensor_desc);
    GIVES_NONE(spy_create_view(ramp(4), &view_desc), spy_view_desc);
    GIVES_NONE(spy_create_command_list(gpu_device, &list_desc), spy_list_desc);
    GIVES_NONE(spy_prepare(fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1)), &prepare_desc), spy_prepare_desc);
    spy_args args = SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 1), spy_out_f32("_result", &y));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("add"), args, &options), "spy_call_with: add: its options: ", NOT_ZEROED(spy_call_options));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_time_call(fn("add"), args, &options, NULL), NOT_ZEROED(spy_call_options));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn("add"), threads, args, &options), NOT_ZEROED(spy_call_options));
    GIVES_NONE(spy_resolve(fn("add"), args, &options), spy_call_options);
    memset(&prepare_desc, 0, sizeof prepare_desc);
    prepare_desc.options = &options;
    GIVES_NONE(spy_prepare(fn("add"), args, &prepare_desc), spy_call_options);
    assert_true(spy_explain_call(fn("add"), args, &options, text, sizeof text) > 0);
    assert_non_null(strstr(text, "the spy_call_options was not zeroed"));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_grid("a", &grid_desc), spy_arg_f32("b", 1), spy_out_tensor("_result", &t))), "'a'", NOT_ZEROED(spy_grid_desc));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_arg_rand_float("a", 0, 1, &random_desc), spy_arg_f32("b", 1), spy_out_tensor("_result", &t))), "'a'", NOT_ZEROED(spy_random_desc));
    assert_true(y == 7 && !t);
    works();
}

// >>shapes

static void test_shapes(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x3 = ramp(3), *x4 = ramp(4), *out4 = ramp(4), *out3 = ramp(3), *none = NULL;
    float host[4] = { 5, 6, 7, 8 };
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x3), spy_arg_tensor("b", x4), spy_out_tensor("_result", &none))), "add", "'a'", "(3,)", "'b'", "(4,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_tensor("b", x4), spy_arg_tensor("_result", out3))), "add", "_result", "(3,)", "(4,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_f32("b", 1), spy_out_array("_result", host, SPY_SHAPE(1), SPY_DTYPE_FLOAT32))), "add", "_result", "(1,)", "(4,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_f32("b", 1), spy_out_f32("_result", host))), "add", "_result", "(4,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("both"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_tensor("b", out4), spy_inout_f32("c", host))), "both", "'c'", "(4,)");
    spy_tensor *stretched = MADE(spy_tensor, spy_create_broadcast(spy_create_slice(out3, 0, 0, 1, 1), SPY_SHAPE(4)));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_f32("b", 1), spy_arg_tensor("_result", stretched))), "add", "_result", "several elements");
    // Maps that cannot be.
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", x4), SPY_DIMS(0, 1)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'", "2", "1");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", x4), SPY_DIMS(8)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'", "8");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", x4), SPY_DIMS(-1)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'", "-1");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", x4), SPY_DIMS(1000000)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'");
    spy_tensor *m =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(2, 2), NULL));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", m), SPY_DIMS(0, 0)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'", "twice");
    spy_dims nine = { 9, { 0 } };
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", x4), nine), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add3"), SPY_ARGS(spy_arg_tensor("a", x4), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add3", "'a'", "float3", "(4,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("add3"), SPY_ARGS(spy_arg_tensor("a", spy_create_select(x4, 0, 0)), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add3", "'a'", "float3");
    // Too many elements: cheap through broadcast views, and through an outer product.
    spy_tensor *one = MADE(spy_tensor, spy_create_slice(x4, 0, 0, 1, 1));
    spy_tensor *huge = MADE(spy_tensor, spy_create_broadcast(one, SPY_SHAPE(65536, 32768)));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", huge), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "2147483647", "(65536, 32768)");
    spy_tensor *wide = MADE(spy_tensor, spy_create_broadcast(one, SPY_SHAPE(1ll << 40)));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("add"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", wide), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("b", wide), SPY_DIMS(1)), spy_out_tensor("_result", &none))), "add");
    assert_null(none);
    expect(out4, 0);
    expect(out3, 0);
    for (int i = 0; i < 4; i++) assert_true(host[i] == (float)(5 + i));
    // Reads and writes of another size; views that cannot be.
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_tensor_read(x4, host, 12), "spy_tensor_read", "16", "12");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_tensor_write(x4, host, 17), "spy_tensor_write", "16", "17");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_tensor_read(x4, NULL, 16), "spy_tensor_read", "NULL");
    assert_null(spy_create_broadcast(x3, SPY_SHAPE(4)));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "spy_create_broadcast", "(3,)", "(4,)");
    assert_null(spy_create_slice(x3, 1, 0, 1, 1));
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_slice");
    assert_null(spy_create_slice(x3, 0, 0, 1, 0));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_slice", "step");
    assert_null(spy_create_select(x3, 0, 3));
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_select", "3");
    assert_null(spy_create_select(x3, 0, INT64_MIN));
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_select");
    assert_null(spy_create_transpose(m, SPY_DIMS(0, 0)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_transpose");
    assert_null(spy_create_transpose(m, SPY_DIMS(0)));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_transpose");
    spy_tensor *ends = MADE(spy_tensor, spy_create_slice(x3, 0, INT64_MIN, INT64_MAX, INT64_MAX));
    assert_int_equal(spy_get_tensor_info(ends).element_count, 1);
    works();
}

// >>objects

static void test_null(void **state) {
    (void)state;
    float f = 0;
    uint64_t ns;
    spy_shape one = SPY_SHAPE(1);
    (void)spy_take_error(NULL);
// Each answers alike: "FUNCTION: expected a NOUN, got NULL".
#define IS_NULL_ERROR(function, arguments)                                                                    \
    do {                                                                                                      \
        (void)(function arguments);                                                                           \
        spy_error e = spy_take_error(NULL);                                                                   \
        if (e.code != SPY_ERROR_INVALID_ARGUMENT || strncmp(e.message, #function ": expected ", strlen(#function ": expected ")) != 0 || \
            !strstr(e.message, ", got NULL")) {                                                               \
            print_error("%s says %d '%s'\n", #function, (int)e.code, e.message);                              \
            fail();                                                                                           \
        }                                                                                                     \
    } while (0)
    IS_NULL_ERROR(spy_create_device, (NULL));
    IS_NULL_ERROR(spy_flush, (NULL));
    IS_NULL_ERROR(spy_wait, (NULL));
    IS_NULL_ERROR(spy_wait_for_submit, (NULL, 0, 0));
    IS_NULL_ERROR(spy_add_close_callback, (NULL, NULL, NULL));
    IS_NULL_ERROR(spy_trim, (NULL));
    IS_NULL_ERROR(spy_load_module, (NULL, NULL));
    IS_NULL_ERROR(spy_find_function, (NULL, "f"));
    IS_NULL_ERROR(spy_type_size_bytes, (NULL, "float"));
    IS_NULL_ERROR(spy_create_tensor, (NULL, NULL));
    IS_NULL_ERROR(spy_tensor_read, (NULL, &f, 4));
    IS_NULL_ERROR(spy_tensor_write, (NULL, &f, 4));
    IS_NULL_ERROR(spy_tensor_fill, (NULL, 0));
    IS_NULL_ERROR(spy_create_view, (NULL, NULL));
    IS_NULL_ERROR(spy_create_broadcast, (NULL, one));
    IS_NULL_ERROR(spy_create_slice, (NULL, 0, 0, 1, 1));
    IS_NULL_ERROR(spy_create_select, (NULL, 0, 0));
    IS_NULL_ERROR(spy_create_transpose, (NULL, SPY_DIMS(0)));
    IS_NULL_ERROR(spy_tensor_point_to, (NULL, NULL));
    IS_NULL_ERROR(spy_call, (NULL, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_time_call, (NULL, SPY_NO_ARGS, NULL, &ns));
    IS_NULL_ERROR(spy_explain_call, (NULL, SPY_NO_ARGS, NULL, NULL, 0));
    IS_NULL_ERROR(spy_prepare, (NULL, SPY_NO_ARGS, NULL));
    IS_NULL_ERROR(spy_prepared_ready, (NULL));
    IS_NULL_ERROR(spy_call_prepared, (NULL, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_retain_tensor, (NULL));
    IS_NULL_ERROR(spy_retain_module, (NULL));
    IS_NULL_ERROR(spy_retain_device, (NULL));
    IS_NULL_ERROR(spy_retain_prepared, (NULL));
    IS_NULL_ERROR(spy_retain_packed, (NULL));
    IS_NULL_ERROR(spy_vk_share_device, (NULL, NULL));
    IS_NULL_ERROR(spy_vk_begin_recording, (NULL, NULL));
    IS_NULL_ERROR(spy_vk_end_recording, (NULL));
    IS_NULL_ERROR(spy_vk_recording_finished, (NULL, 1));
    IS_NULL_ERROR(spy_vk_wait_semaphore, (NULL, 0, 0));
    IS_NULL_ERROR(spy_vk_signal_semaphore, (NULL, 0, 0));
    IS_NULL_ERROR(spy_vk_get_command_buffer, (NULL, NULL));
    IS_NULL_ERROR(spy_vk_create_tensor, (NULL, 0, 0, 0, NULL));
    IS_NULL_ERROR(spy_vk_get_tensor_buffer, (NULL, &ns, &ns));
    IS_NULL_ERROR(spy_pack, (NULL, ((spy_arg){ 0 })));
    IS_NULL_ERROR(spy_call_with, (NULL, SPY_NO_ARGS, NULL));
    IS_NULL_ERROR(spy_set_global, (NULL, NULL, ((spy_arg){ 0 })));
    IS_NULL_ERROR(spy_dispatch, (NULL, ((spy_uint3){ 0 }), SPY_NO_ARGS, NULL));
    IS_NULL_ERROR(spy_dispatch_indirect, (NULL, NULL, 0, SPY_NO_ARGS, NULL));
    IS_NULL_ERROR(spy_create_cursor, (NULL, 0, 0));
    IS_NULL_ERROR(spy_cursor_over, (NULL, NULL, NULL, 0));
    IS_NULL_ERROR(spy_is_submit_finished, (NULL, ((spy_submit_id){ 0 })));
    IS_NULL_ERROR(spy_set_dump_directory, (NULL, NULL));
    IS_NULL_ERROR(spy_get_device_info, (NULL));
    IS_NULL_ERROR(spy_enumerate_adapters, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_get_device_stats, (NULL));
    IS_NULL_ERROR(spy_get_calibration, (NULL, NULL));
    IS_NULL_ERROR(spy_tensor_grad, (NULL));
    IS_NULL_ERROR(spy_tensor_grad_in, (NULL));
    IS_NULL_ERROR(spy_tensor_grad_out, (NULL));
    IS_NULL_ERROR(spy_tensor_zero_grad, (NULL));
    IS_NULL_ERROR(spy_create_detached, (NULL));
    IS_NULL_ERROR(spy_create_attached, (NULL, NULL, NULL, NULL));
    IS_NULL_ERROR(spy_call_backward, (NULL, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_call_forward_diff, (NULL, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_create_command_list, (NULL, NULL));
    IS_NULL_ERROR(spy_retain_command_list, (NULL));
    IS_NULL_ERROR(spy_list_call, (NULL, NULL, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_list_copy, (NULL, NULL, NULL));
    IS_NULL_ERROR(spy_list_fill, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_list_write, (NULL, NULL, NULL, 0));
    IS_NULL_ERROR(spy_list_barrier, (NULL));
    IS_NULL_ERROR(spy_list_push_label, (NULL, NULL));
    IS_NULL_ERROR(spy_list_pop_label, (NULL));
    IS_NULL_ERROR(spy_list_marker, (NULL, NULL));
    IS_NULL_ERROR(spy_list_timestamp, (NULL));
    IS_NULL_ERROR(spy_list_finish, (NULL));
    IS_NULL_ERROR(spy_list_submit, (NULL));
    IS_NULL_ERROR(spy_list_set, (NULL, 0, SPY_NO_ARGS));
    IS_NULL_ERROR(spy_list_read_timestamps, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_get_list_info, (NULL));
    IS_NULL_ERROR(spy_save_module, (NULL, NULL));
    IS_NULL_ERROR(spy_serialize_module, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_reload_module, (NULL, NULL));
    IS_NULL_ERROR(spy_poll_reload, (NULL, 0, NULL));
    IS_NULL_ERROR(spy_has_type, (NULL, NULL));
    IS_NULL_ERROR(spy_flush_print, (NULL));
    IS_NULL_ERROR(spy_read_print, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_reflect_module, (NULL));
    IS_NULL_ERROR(spy_find_decl, (NULL, NULL));
    IS_NULL_ERROR(spy_reflect_type, (NULL, NULL));
    IS_NULL_ERROR(spy_type_implements, (NULL, NULL, NULL));
    IS_NULL_ERROR(spy_resolve, (NULL, SPY_NO_ARGS, NULL));
    IS_NULL_ERROR(spy_tensor_read_range, (NULL, 0, 0, NULL, 0));
    IS_NULL_ERROR(spy_tensor_write_range, (NULL, 0, 0, NULL, 0));
    IS_NULL_ERROR(spy_tensor_fill_data, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_tensor_copy, (NULL, NULL));
    IS_NULL_ERROR(spy_tensor_print, (NULL, NULL, 0));
    IS_NULL_ERROR(spy_tensor_address, (NULL));
    IS_NULL_ERROR(spy_get_tensor_info, (NULL));
    IS_NULL_ERROR(spy_create_indexed, (NULL, ((spy_indices){ 0 })));
    IS_NULL_ERROR(spy_create_reshape, (NULL, one));
    IS_NULL_ERROR(spy_create_view_as, (NULL, NULL, NULL));
    IS_NULL_ERROR(spy_create_flat_view, (NULL));
    IS_NULL_ERROR(spy_function_name, (NULL));
    IS_NULL_ERROR(spy_function_module, (NULL));
    IS_NULL_ERROR(spy_next_overload, (NULL));
    IS_NULL_ERROR(spy_find_attribute, (NULL, "name"));
    // Questions answer with nothing.
    assert_true(spy_get_device_info(NULL).backend == NULL && spy_get_device_info(NULL).memory_bytes == 0);
    assert_int_equal(spy_get_tensor_info(NULL).element_count, 0);
    assert_false(spy_has_type(NULL, "float"));
    assert_int_equal(spy_get_device_stats(NULL).calls, 0);
    (void)spy_is_submit_finished(NULL, 1);
    (void)spy_function_name(NULL);
    (void)spy_function_module(NULL);
    (void)spy_take_error(NULL);
    assert_int_equal(spy_enumerate_adapters(NULL, NULL, 0), 0);
    assert_int_not_equal(spy_take_error(NULL).code, SPY_OK);
    spy_release_device(NULL);
    spy_release_module(NULL);
    spy_release_tensor(NULL);
    spy_release_prepared(NULL);
    spy_release_packed(NULL);
    assert_string_equal(spy_status_text(SPY_OK), "no error");
    assert_non_null(spy_status_text((spy_status)-1000));
    assert_int_equal(spy_dtype_size_bytes((spy_dtype)99), 0);
    assert_string_equal(spy_dtype_name((spy_dtype)-1), "?");
    if (!gpu_device) return;
    assert_null(spy_find_function(module, NULL));
    assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
    assert_false(spy_has_type(module, NULL));
    assert_int_equal(spy_type_size_bytes(module, NULL), 0);
    (void)spy_take_error(gpu_device);
    spy_tensor *t = ramp(4);
    assert_int_not_equal(spy_tensor_point_to(t, NULL), SPY_OK);
    (void)spy_take_error(gpu_device);
    assert_null(spy_create_view(t, NULL));
    (void)spy_take_error(gpu_device);
    assert_null(spy_create_tensor(gpu_device, NULL));
    (void)spy_take_error(gpu_device);
    assert_int_not_equal(spy_add_close_callback(gpu_device, NULL, NULL), SPY_OK);
    (void)spy_take_error(gpu_device);
    spy_release_tensor(t);
    works();
}

// One kind of object where another belongs. The kind is told from the object itself.
static void test_wrong_objects(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(4);
    (void)spy_take_error(NULL);
    assert_int_not_equal(spy_call((spy_function *)(void *)t, SPY_NO_ARGS), SPY_OK);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    assert_null(spy_find_function((spy_module *)(void *)t, "add"));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    assert_int_not_equal(spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", (spy_tensor *)(void *)module), spy_arg_f32("b", 1))), SPY_OK);
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "add", "'a'");
    spy_release_tensor(t);
    works();
}

static void test_released(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(4), *none = NULL;
    float data[4];
    spy_release_tensor(t);
    FAILS(SPY_ERROR_RELEASED, spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", t), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), "add", "'a'", "released");
    assert_null(none);
    (void)spy_take_error(NULL);
    spy_status s = spy_tensor_read(t, data, 16);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    assert_int_equal(s, SPY_ERROR_RELEASED);
    spy_release_tensor(t); // twice
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    spy_retain_tensor(t);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    assert_null(spy_create_slice(t, 0, 0, 1, 1));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    assert_int_equal(spy_get_tensor_info(t).element_count, 0);
    works();
}

// >>memory

static void test_memory(void **state) {
    NEEDS_DEVICE();
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(1ll << 43); // 2^45 bytes
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "spy_create_tensor");
    d.shape = SPY_SHAPE(1ll << 30, 1ll << 30, 1ll << 30);
    assert_null(spy_create_tensor(gpu_device, &d));
    assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
    d.shape = SPY_SHAPE(INT64_MAX, INT64_MAX);
    assert_null(spy_create_tensor(gpu_device, &d));
    assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
    d.shape = SPY_SHAPE(-4);
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_tensor");
    d.shape = SPY_SHAPE(4);
    d.shape.rank = 4000000000u;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_tensor", "rank");
    d.shape = SPY_SHAPE(4);
    d.data = "0123456789abcdef";
    d.data_size_bytes = 15;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "spy_create_tensor", "16", "15");
    d.data_size_bytes = 0;
    d.dtype = (spy_dtype)77;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_create_tensor", "77");
    d.type = "NoSuchType";
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "spy_create_tensor", "NoSuchType");
    d.type = "Texture2D";
    d.module = module;
    assert_null(spy_create_tensor(gpu_device, &d));
    assert_int_not_equal(spy_take_error(gpu_device).code, SPY_OK);
    works();
}

// All the device's memory in 1 GiB pieces, until it refuses; then calls still work, and all of it comes back.
static void test_exhaustion(void **state) {
    NEEDS_DEVICE();
    enum { MOST = 400 };
    spy_tensor *t[MOST], *none = NULL;
    int n = 0;
    spy_device_info info = spy_get_device_info(gpu_device);
    bool cpu = info.type == SPY_ADAPTER_TYPE_CPU;
    if (info.memory_bytes > (uint64_t)MOST << 30) skip();
    while (n < MOST && (t[n] = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1ll << 28), NULL)) != NULL) n++;
    if (n == MOST) {
        print_message("skipped: %d GiB were given without touching them (%s)\n", n, cpu ? "a CPU device overcommits" : "?");
        for (int i = 0; i < n; i++) spy_release_tensor(t[i]);
        OK(spy_trim(gpu_device));
        skip();
    }
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "spy_create_tensor", "in use");
    assert_int_equal(spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", spy_create_broadcast(ramp(1), SPY_SHAPE(1ll << 29))), spy_arg_f32("b", 1), spy_out_tensor("_result", &none))), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "add");
    assert_null(none);
    works();
    for (int i = 0; i < n; i++) spy_release_tensor(t[i]);
    spy_tensor *other = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3ll << 27), NULL)); // another size: cached pieces are given back
    spy_release_tensor(other);
    OK(spy_trim(gpu_device));
    assert_true(spy_get_device_stats(gpu_device).pool_bytes < (uint64_t)100 << 20);
    print_message("%d GiB until the device refused\n", n);
    works();
}

// The first error stays until it is taken.
static void test_first_error(void **state) {
    NEEDS_DEVICE();
    assert_null(spy_find_function(module, "first_missing"));
    assert_int_not_equal(spy_call(fn("add"), SPY_NO_ARGS), SPY_OK);
    assert_null(spy_find_function(module, "second_missing"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "first_missing");
    spy_error e = spy_take_error(gpu_device);
    assert_true(e.code == SPY_OK && e.message[0] == 0);
    works();
}

// What lies in a ConstantBuffer is called by its path in the argument, and not as the generated kernel calls it.
static void test_paths_in_buffers(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    d.check_bounds = true;
    spy_device *checked = MADE(spy_device, gpu_open(&d)), *usual = gpu_device;
    gpu_device = checked;
    float r = 0;
    spy_module *m = MADE(spy_module, gpu_module(checked, "paths", "import slangpy;\nstruct Rows { int shift; Tensor<float, 1> t; }\n"
                                                                  "float f(ConstantBuffer<Rows> r, int i) { return r.t[i + r.shift]; }\n"));
    spy_arg rows = spy_arg_struct("r", SPY_ARGS(spy_arg_i32("shift", 2), spy_arg_tensor("t", ramp(4))));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(MADE(spy_function, spy_find_function(m, "f")), SPY_ARGS(rows, spy_arg_i32("i", 7), spy_out_f32("_result", &r))),
          "f: 'r.t': the kernel reads at index (9,)");
    gpu_device = usual;
    spy_release_device(checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_file), cmocka_unit_test(test_broken_source),
        cmocka_unit_test(test_unknown_function), cmocka_unit_test(test_names), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_structs), cmocka_unit_test(test_ambiguous), cmocka_unit_test(test_not_zeroed),
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_null), cmocka_unit_test(test_wrong_objects),
        cmocka_unit_test(test_released), cmocka_unit_test(test_memory), cmocka_unit_test(test_exhaustion),
        cmocka_unit_test(test_first_error), cmocka_unit_test(test_paths_in_buffers),
        cmocka_unit_test(test_unreachable_functions), cmocka_unit_test(test_built_in_overloads),
        cmocka_unit_test(test_built_in_generics), cmocka_unit_test(test_names_of_kernels),
        cmocka_unit_test(test_dump_directory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
