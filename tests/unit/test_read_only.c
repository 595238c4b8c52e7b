// SPY_DIRECTION_IN: a tensor that no call may write, and SPY_DIRECTION_DROP: inputs of out parameters, on the
// null backend.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#endif

static const char source[] = "struct Box { float w, h; };\nvoid widen(inout Box b) { b.w += 1; b.h += 1; }\n"
                             "void make(out Box b) { b.w = 1; b.h = 2; }\n"
                             "float f(float x) { return x + 1; }\n"
                             "void upd(inout float x) { x += 1; }\n"
                             "void fill(out float x) { x = 1; }\n"
                             "float at(StructuredBuffer<float> t, int i) { return t[i]; }\n"
                             "void put(RWStructuredBuffer<float> t, int i) { t[i] = 1; }\n";

static spy_device *device;
static spy_module *module;
static spy_tensor *x;

static int open_device(void **state) {
    static spyi_null_desc null_desc;
    spy_device_desc d;
    spy_module_desc m;
    spy_tensor_desc t;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&t, 0, sizeof t);
    null_desc.target = SPYI_TARGET_CUDA;
    null_desc.max_block_bytes = 4096;
    d.backend = spyi_null_backend();
    d.backend_desc = &null_desc;
    device = spy_create_device(&d);
    m.name = "read_only";
    m.source = source;
    module = device ? spy_load_module(device, &m) : NULL;
    if (!module) print_error("%s\n", spy_take_error(device).message);
    t.shape = SPY_SHAPE(4);
    x = module ? spy_create_tensor(device, &t) : NULL;
    return x ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    spy_release_device(device);
    return 0;
}

static spy_arg only_read(const char *name) {
    spy_arg arg = spy_arg_tensor(name, x);
    arg.direction = SPY_DIRECTION_IN;
    return arg;
}

static spy_function *find(const char *name) {
    spy_function *f = spy_find_function(module, name);
    assert_non_null(f);
    return f;
}

static void test_read(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { // the short way, too
        spy_tensor *made = NULL;
        assert_int_equal(spy_call(find("f"), SPY_ARGS(only_read("x"), spy_out_tensor("_result", &made))),
                         SPY_OK);
        spy_release_tensor(made);
        assert_int_equal(spy_call(find("at"), SPY_ARGS(only_read("t"), spy_arg_i32("i", 1),
                                                       spy_out_tensor("_result", &made))),
                         SPY_OK);
        spy_release_tensor(made);
    }
}

// Written once by a tensor that may be: its plan is not that of one that may not.
static void test_written(void **state) {
    static const struct {
        const char *function, *name;
    } all[] = { { "upd", "x" }, { "fill", "x" }, { "put", "t" } };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        spy_arg more = spy_arg_i32("i", 1);
        size_t count = all[i].name[0] == 't' ? 2 : 1;
        for (int k = 0; k < 3; k++) {
            spy_arg good[] = { spy_arg_tensor(all[i].name, x), more },
                    bad[] = { only_read(all[i].name), more };
            spy_args a = { good, count }, b = { bad, count };
            assert_int_equal(spy_call(find(all[i].function), a), SPY_OK);
            assert_int_equal(spy_call(find(all[i].function), b), SPY_ERROR_TYPE_MISMATCH);
            const char *text = spy_take_error(device).message;
            assert_non_null(strstr(text, "is written: expected a tensor that may be, got a read-only one"));
        }
    }
    assert_int_equal(spy_call(find("f"), SPY_ARGS(spy_arg_tensor("x", x), only_read("_result"))),
                     SPY_ERROR_TYPE_MISMATCH);
    (void)spy_take_error(device);
}

// A field that is only an input, beside one that is written.
static void test_dropped(void **state) {
    (void)state;
    static const char *const functions[] = { "widen", "make" };
    for (int i = 0; i < 2; i++) {
        spy_arg fields[] = { spy_arg_tensor("w", x), spy_arg_f32("h", 2) };
        spy_args list = { fields, 2 };
        assert_int_equal(spy_call(find(functions[i]), SPY_ARGS(spy_arg_struct("b", list))),
                         SPY_ERROR_TYPE_MISMATCH);
        assert_non_null(strstr(spy_take_error(device).message, "'b.h'"));
        fields[1].direction = SPY_DIRECTION_DROP;
        for (int k = 0; k < 3; k++)
            assert_int_equal(spy_call(find(functions[i]), SPY_ARGS(spy_arg_struct("b", list))), SPY_OK);
    }
    spy_arg tensor = spy_arg_tensor("x", x);
    tensor.direction = SPY_DIRECTION_DROP;
    assert_int_equal(spy_call(find("upd"), SPY_ARGS(tensor)), SPY_ERROR_INVALID_ARGUMENT);
    (void)spy_take_error(device);
}

static void test_others(void **state) { // of tensors alone
    (void)state;
    spy_arg arg = spy_arg_f32("x", 1);
    arg.direction = SPY_DIRECTION_IN;
    assert_int_equal(spy_call(find("f"), SPY_ARGS(arg)), SPY_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(spy_take_error(device).message, "direction"));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_written),
                                        cmocka_unit_test(test_dropped), cmocka_unit_test(test_others) };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
