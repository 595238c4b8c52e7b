// spy_resolve on the null backend: what a resolution holds and who owns it, that nothing is compiled or run, that the call
// after it finds the work done, and bad input. Which types and mappings calls get is the tables' matter, tests/gpu/resolution.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "api/resolve.h"
#include "backend/null/null.h"
#include "call/call.h"
#endif

static spy_device *device;
static spy_module *module;

static const char source[] =
    "struct Light { float3 color; float power; }\n"
    "struct Scene { Light sun; int count; }\n"
    "float3 shade(Scene s, float3 v, inout float x, out int hits, float k = 2) { hits = 1; return v; }\n"
    "vector<T, N> twice<T, let N : int>(vector<T, N> v) { return v; }\n"
    "float add(float a, float b) { return a + b; }\n"
    "void nothing() {}\n"
    "float small(uint8_t x) { return x; }\n"
    "float unwritten(float x);\n";

static int setup(void **state) {
    spy_device_desc d;
    spy_module_desc m;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.backend = spyi_null_backend();
    device = spy_create_device(&d);
    if (!device) return -1;
    m.name = "resolve";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) print_error("%s\n", spy_take_error(device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(device);
    device = NULL;
    return 0;
}

static spy_function *fn(const char *name) {
    spy_function *f = spy_find_function(module, name);
    assert_non_null(f);
    return f;
}

static spy_tensor *tensor(spy_shape shape) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    spy_tensor *t = spy_create_tensor(device, &d);
    assert_non_null(t);
    return t;
}

static spy_resolution *resolved(spy_function *f, spy_args args) {
    spy_resolution *r = spy_resolve(f, args, NULL);
    if (!r) fail_msg("%s", spy_take_error(device).message);
    return r;
}

// The call fails as spy_call() does, with these words in the device's error.
#define FAILS(code_, function, args, ...)                                                                    \
    do {                                                                                                     \
        const char *const words_[] = { "spy_resolve", __VA_ARGS__ };                                         \
        assert_null(spy_resolve(function, args, NULL));                                                      \
        spy_error e_ = spy_take_error(device);                                                               \
        assert_int_equal(e_.code, code_);                                                                    \
        for (size_t w_ = 0; w_ < sizeof words_ / sizeof *words_; w_++)                                       \
            if (!strstr(e_.message, words_[w_])) fail_msg("'%s' is not in: %s", words_[w_], e_.message);     \
    } while (0)

// >>what it holds

static void check(const spy_binding *b, const char *path, const char *type, spy_direction direction,
                  spy_arg_kind kind, const char *argument, uint32_t depth, uint32_t consumed) {
    assert_string_equal(b->path, path);
    assert_string_equal(b->type, type);
    assert_int_equal(b->direction, direction);
    assert_int_equal(b->kind, kind);
    assert_string_equal(b->argument, argument);
    assert_int_equal(b->depth, depth);
    assert_int_equal(b->consumed_rank, consumed);
}

static void test_contents(void **state) {
    (void)state;
    spy_tensor *color = tensor(SPY_SHAPE(8, 3)), *v = tensor(SPY_SHAPE(5, 1, 3)),
               *x = tensor(SPY_SHAPE(5, 8)), *made = NULL;
    int counts[40];
    spy_resolution *r = resolved(
        fn("shade"),
        SPY_ARGS(spy_out_tensor("_result", &made), spy_arg_tensor("v", v),
                 spy_arg_struct("s", SPY_ARGS(spy_arg_i32("count", 3),
                                              spy_arg_struct("sun", SPY_ARGS(spy_arg_tensor("color", color),
                                                                             spy_arg_f32("power", 1))))),
                 spy_arg_tensor("x", x), spy_out_array("hits", counts, SPY_SHAPE(5, 8), SPY_DTYPE_INT32)));
    const spy_binding *b = r->bindings;
    assert_string_equal(r->signature,
                        "float3 shade(Scene s, float3 v, inout float x, out int hits, float k = ...)");
    assert_string_equal(r->result_type, "float3");
    assert_int_equal(r->shape.rank, 2);
    assert_int_equal(r->shape.dims[0], 5);
    assert_int_equal(r->shape.dims[1], 8);
    // In the order of parameters and fields, whatever the arguments' order; k keeps its default.
    assert_int_equal(r->binding_count, 9);
    check(&b[0], "s", "Scene", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_STRUCT, "struct of 2 fields", 0, 0);
    check(&b[1], "s.sun", "Light", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_STRUCT, "struct of 2 fields", 1, 0);
    check(&b[2], "s.sun.color", "float3", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_TENSOR, "float tensor (8, 3)",
          2, 1);
    check(&b[3], "s.sun.power", "float", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_FLOAT, "float number", 2, 0);
    check(&b[4], "s.count", "int", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_INT, "int number", 1, 0);
    check(&b[5], "v", "float3", SPY_DIRECTION_DEFAULT, SPY_ARG_KIND_TENSOR, "float tensor (5, 1, 3)", 0, 1);
    check(&b[6], "x", "float", SPY_DIRECTION_INOUT, SPY_ARG_KIND_TENSOR, "float tensor (5, 8)", 0, 0);
    check(&b[7], "hits", "int", SPY_DIRECTION_OUT, SPY_ARG_KIND_ARRAY, "out int host array (5, 8)", 0, 0);
    check(&b[8], "_result", "float3", SPY_DIRECTION_OUT, SPY_ARG_KIND_NEW, "new tensor", 0, 0);
    const uint32_t mapped[9] = { 0, 0, 1, 0, 0, 2, 2, 2, 2 };
    for (int i = 0; i < 9; i++) {
        assert_int_equal(b[i].map.count, mapped[i]);
        for (uint32_t d = 0; d < b[i].map.count; d++) assert_int_equal(b[i].map.dims[d], 2 - mapped[i] + d);
    }
    assert_null(made); // nothing ran
    spy_release_resolution(r);
    spy_release_tensor(color);
    spy_release_tensor(v);
    spy_release_tensor(x);
}

// A generic function's types are those of the call; the same kinds of arguments with other sizes give other types.
static void test_generic(void **state) {
    (void)state;
    spy_tensor *two = tensor(SPY_SHAPE(8, 2)), *three = tensor(SPY_SHAPE(8, 3));
    for (int again = 0; again < 2; again++) {
        spy_resolution *r = resolved(fn("twice"), SPY_ARGS(spy_arg_tensor("v", two))),
                       *s = resolved(fn("twice"), SPY_ARGS(spy_arg_tensor("v", three)));
        assert_string_equal(r->signature, "float2 twice(float2 v)");
        assert_string_equal(r->bindings[0].type, "float2");
        assert_string_equal(r->result_type, "float2");
        assert_string_equal(s->bindings[0].type, "float3");
        spy_release_resolution(r);
        spy_release_resolution(s);
    }
    spy_release_tensor(two);
    spy_release_tensor(three);
}

static void test_empty(void **state) {
    (void)state;
    spy_tensor *none = tensor(SPY_SHAPE(0, 4));
    spy_resolution *r = resolved(fn("nothing"), SPY_NO_ARGS);
    assert_string_equal(r->result_type, "void");
    assert_int_equal(r->binding_count, 0);
    assert_int_equal(r->shape.rank, 0);
    spy_release_resolution(r);
    r = resolved(fn("add"), SPY_ARGS(spy_arg_tensor("a", none), spy_arg_f32("b", 1)));
    assert_int_equal(r->shape.rank, 2);
    assert_int_equal(r->shape.dims[0], 0);
    spy_release_resolution(r);
    spy_release_tensor(none);
}

// >>what it does not do

static void test_nothing_is_compiled(void **state) {
    (void)state;
    spy_tensor *a = tensor(SPY_SHAPE(6)), *result = tensor(SPY_SHAPE(6));
    spy_args args = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_i32("b", 1), spy_arg_tensor("_result", result));
    spy_device_stats before = spy_get_device_stats(device);
    spy_release_resolution(resolved(fn("add"), args));
    spy_release_resolution(resolved(fn("add"), args));
    spy_device_stats after = spy_get_device_stats(device);
    assert_int_equal(after.kernels_built, before.kernels_built);
    assert_int_equal(after.calls, before.calls);
    assert_int_equal(after.plans_built, before.plans_built + 1);
    assert_int_equal(spy_call(fn("add"), args), SPY_OK);
    spy_device_stats called = spy_get_device_stats(device);
    assert_int_equal(called.plans_built, after.plans_built); // the call binds nothing any more
    assert_int_equal(called.kernels_built, after.kernels_built + 1);
    // Not even a body is needed, nor values that fit.
    spy_release_resolution(resolved(fn("unwritten"), SPY_ARGS(spy_arg_tensor("x", a))));
    spy_release_resolution(resolved(fn("small"), SPY_ARGS(spy_arg_i32("x", 300))));
    spy_release_tensor(a);
    spy_release_tensor(result);
}

// Its memory is its own: tensors, arguments and the device may go before it.
static void test_outlives_all(void **state) {
    (void)state;
    char name[] = "a";
    spy_tensor *a = tensor(SPY_SHAPE(6));
    spy_resolution *r = resolved(fn("add"), SPY_ARGS(spy_arg_tensor(name, a), spy_arg_f32("b", 1)));
    name[0] = '?';
    spy_release_tensor(a);
    spy_release_device(device);
    assert_string_equal(r->signature, "float add(float a, float b)");
    assert_string_equal(r->bindings[0].path, "a");
    assert_string_equal(r->bindings[1].argument, "float number");
    spy_release_resolution(r);
    spy_release_resolution(NULL);
    assert_int_equal(setup(state), 0);
}

// >>bad input

static void test_bad_input(void **state) {
    (void)state;
    spy_tensor *five = tensor(SPY_SHAPE(5)), *six = tensor(SPY_SHAPE(6)), *pairs = tensor(SPY_SHAPE(6, 2)),
               *made = NULL;
    float out = 7;
    spy_args missing = { NULL, 2 };
    FAILS(SPY_ERROR_INVALID_ARGUMENT, fn("add"), missing, "add", "expected 2 arguments, got NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, fn("add"), SPY_NO_ARGS, "add", "'a' not specified");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, fn("add"), SPY_ARGS(spy_arg_tensor("a", NULL), spy_arg_f32("b", 1)),
          "argument 'a'", "expected a tensor, got NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, fn("add"),
          SPY_ARGS(spy_arg_f32("a", 1), spy_arg_array("b", NULL, SPY_SHAPE(3), SPY_DTYPE_FLOAT32)),
          "argument 'b'", "expected a host array, got NULL");
    FAILS(SPY_ERROR_NOT_FOUND, fn("add"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("c", 1)),
          "No parameter named 'c'");
    FAILS(SPY_ERROR_TYPE_MISMATCH, fn("shade"),
          SPY_ARGS(spy_arg_f32("s", 1), spy_arg_f32("v", 1), spy_arg_tensor("x", five),
                   spy_arg_tensor("hits", six)),
          "'s': expected Scene, got float number");
    // Shapes fail as they do in a call, with the table of the binding.
    FAILS(SPY_ERROR_SHAPE_MISMATCH, fn("add"), SPY_ARGS(spy_arg_tensor("a", five), spy_arg_tensor("b", six)),
          "'a' has shape (5,)", "'b' has shape (6,)", "float tensor (5,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, fn("add"),
          SPY_ARGS(spy_arg_tensor("a", five), spy_arg_f32("b", 1), spy_out_f32("_result", &out)),
          "output '_result'");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, fn("shade"),
          SPY_ARGS(spy_arg_struct("s", SPY_ARGS(spy_arg_struct("sun", SPY_ARGS(spy_arg_f32("color", 1),
                                                                               spy_arg_f32("power", 1))),
                                                spy_arg_i32("count", 1))),
                   spy_arg_tensor("v", pairs), spy_arg_tensor("x", six), spy_out_tensor("hits", &made)),
          "'v'", "must be 3");
    assert_true(out == 7);
    assert_null(made);
    // Errors of no device.
    assert_null(spy_resolve(NULL, SPY_NO_ARGS, NULL));
    spy_error e = spy_take_error(NULL);
    assert_int_equal(e.code, SPY_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(e.message, "spy_resolve: expected a function, got NULL"));
    assert_null(spy_resolve((spy_function *)(void *)module, SPY_NO_ARGS, NULL));
    assert_non_null(strstr(spy_take_error(NULL).message, "expected a function, got a module"));
    // From within a call of the same thread.
    assert_true(spyi_turns_try(&device->ctx.turns));
    assert_null(spy_resolve(module->functions, SPY_NO_ARGS, NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_BUSY);
    assert_int_equal(spy_take_error(device).code, SPY_ERROR_BUSY);
    spyi_turns_leave(&device->ctx.turns);
    // And everything still works.
    spy_release_resolution(resolved(fn("add"), SPY_ARGS(spy_arg_tensor("a", five), spy_arg_f32("b", 1))));
    assert_int_equal(spy_take_error(device).code, SPY_OK);
    spy_release_tensor(five);
    spy_release_tensor(six);
    spy_release_tensor(pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),     cmocka_unit_test(test_generic),
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_nothing_is_compiled),
        cmocka_unit_test(test_outlives_all), cmocka_unit_test(test_bad_input)
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
