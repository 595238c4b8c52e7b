// Which function is called: modules, overloads, generics, names of functions and arguments, hostile names; and what explains it.
#include "calls.h"

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

// >>looking inside

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overloads), cmocka_unit_test(test_generics), cmocka_unit_test(test_names),
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_hostile_parameters),
        cmocka_unit_test(test_modules), cmocka_unit_test(test_explain),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
