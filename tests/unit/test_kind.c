// A kind of value that the library does not know, made here: its tables are all that bind, emit, call and list ask for.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "kinds/kind.h"
#include "list/list.h"
#endif

static spy_device *device;
static spy_module *module;

static const char source[] = "float half_of(float x, float y) { return 0.5f * x + y; }\n"
                             "float3 tripled(float3 x) { return 3 * x; }\n";

static int setup(void **state) {
    spy_device_desc d;
    spy_module_desc m;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.backend = spyi_null_backend();
    device = spy_create_device(&d);
    if (!device) return -1;
    m.name = "kind";
    m.source = source;
    module = spy_load_module(device, &m);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(device);
    return 0;
}

// >>the kind: start + slope * the element's number, start and slope in the block

enum { RAMP_START, RAMP_SLOPE };

static bool ramp_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    (void)value;
    *problem = "its slope is 0";
    return arg->dims[RAMP_SLOPE] != 0;
}

static bool ramp_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting, (void)value;
    leaf->field_size = 8;
    leaf->field_align = 4;
    return leaf->type->kind == SPYI_TYPE_SCALAR;
}

static void ramp_field(const spyi_leaf *leaf, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "int2");
}

static void ramp_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_text_add(out, "%s(%s.x + %s.y * %s)", leaf->type->name, at->field, at->field, at->element);
}

static bool ramp_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    int32_t parts[2] = { (int32_t)value->arg->dims[RAMP_START], (int32_t)value->arg->dims[RAMP_SLOPE] };
    (void)leaf;
    memcpy(field, parts, sizeof parts);
    if (parts[0] < 1000) return true;
    spyi_text_add(error, "its start is %d", parts[0]);
    return false;
}

static bool ramp_match(const spyi_leaf *leaf, const spyi_value *value) {
    return value->kind == SPY_ARG_KIND_CUSTOM && value->custom == leaf->kind;
}

static const spyi_kind_build ramp_build = { ramp_bind, NULL, ramp_field, ramp_load, NULL, NULL, NULL, NULL };
static const spyi_kind_run ramp_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                        SPYI_FIELD_KIND,
                                        SPYI_AGAIN_NEVER,
                                        ramp_describe,
                                        ramp_pack,
                                        ramp_match,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL };
static const spyi_value_kind ramp_kind = { "ramp", &ramp_build, &ramp_run };

static spy_arg ramp(const char *name, int64_t start, int64_t slope) {
    spy_arg arg = spyi_custom_arg(name, &ramp_kind);
    arg.dims[RAMP_START] = start;
    arg.dims[RAMP_SLOPE] = slope;
    return arg;
}

// >>what the rooms make of it

static spy_tensor *floats(int64_t n) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(n);
    spy_tensor *x = spy_create_tensor(device, &d);
    assert_non_null(x);
    return x;
}

// Whether the last dispatch's block has these two numbers somewhere, on a word.
static bool last_has(int32_t start, int32_t slope) {
    const spyi_null_op *op = spyi_null_get_op(device->gpu, spyi_null_op_count(device->gpu) - 1);
    assert_int_equal(op->kind, SPYI_NULL_DISPATCH);
    for (uint32_t at = 0; at + 8 <= op->block_size; at += 4) {
        int32_t parts[2];
        memcpy(parts, (const char *)op->block + at, sizeof parts);
        if (parts[0] == start && parts[1] == slope) return true;
    }
    return false;
}

static void refused(spy_status status, spy_status expected, const char *words) {
    spy_error error = spy_take_error(device);
    if (status != expected || !strstr(error.message, words))
        fail_msg("gave %d '%s', not '%s'", (int)status, error.message, words);
}

static void test_called(void **state) {
    (void)state;
    char text[8192];
    spy_function *f = spy_find_function(module, "half_of");
    spy_tensor *y = floats(100), *out = floats(100);
    for (int i = 0; i < 5; i++) { // the first, and repeated ones
        assert_int_equal(spy_call(f, SPY_ARGS(ramp("x", 7 + i, -3), spy_arg_tensor("y", y),
                                              spy_arg_tensor("_result", out))),
                         SPY_OK);
        assert_true(last_has(7 + i, -3));
    }
    assert_int_equal(spy_get_device_stats(device).plan_hits, 4);
    spy_explain_call(f, SPY_ARGS(ramp("x", 7, -3), spy_arg_tensor("y", y), spy_arg_tensor("_result", out)),
                     NULL, text, sizeof text);
    assert_non_null(strstr(text, "int2 x;"));
    assert_non_null(strstr(text, "float(spyi_block.x.x + spyi_block.x.y * "));
    assert_non_null(strstr(text, "<- ramp"));
}

static void test_refused(void **state) {
    (void)state;
    spy_function *f = spy_find_function(module, "half_of");
    spy_tensor *y = floats(100), *out = floats(100), *threes = floats(300);
    refused(spy_call(f, SPY_ARGS(ramp("x", 7, 0), spy_arg_tensor("y", y), spy_arg_tensor("_result", out))),
            SPY_ERROR_INVALID_ARGUMENT, "its slope is 0");
    refused(spy_call(f, SPY_ARGS(ramp("x", 2000, 1), spy_arg_tensor("y", y), spy_arg_tensor("_result", out))),
            SPY_ERROR_OUT_OF_RANGE, "'x': its start is 2000");
    refused(spy_call(spy_find_function(module, "tripled"),
                     SPY_ARGS(ramp("x", 1, 1), spy_arg_tensor("_result", threes))),
            SPY_ERROR_TYPE_MISMATCH, "ramp");
    refused(spy_call(f, SPY_ARGS(spy_arg_tensor("x", y), spy_arg_tensor("y", y), ramp("_result", 1, 1))),
            SPY_ERROR_TYPE_MISMATCH, "_result");
}

static void test_recorded(void **state) {
    (void)state;
    spy_function *f = spy_find_function(module, "half_of");
    spy_tensor *y = floats(100), *out = floats(100);
    spy_command_list *list = spy_create_command_list(device, NULL);
    assert_int_equal(
        spy_list_call(list, f,
                      SPY_ARGS(ramp("x", 11, 2), spy_arg_tensor("y", y), spy_arg_tensor("_result", out))),
        SPY_OK);
    assert_int_equal(spy_list_finish(list), SPY_OK);
    assert_int_equal(spy_list_submit(list), SPY_OK);
    assert_true(last_has(11, 2));
    assert_int_equal(spy_list_set(list, 0, SPY_ARGS(ramp("x", 12, 5))), SPY_OK);
    assert_int_equal(spy_list_submit(list), SPY_OK);
    assert_true(last_has(12, 5));
    refused(spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("x", 1))), SPY_ERROR_TYPE_MISMATCH, "expected ramp");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_called), cmocka_unit_test(test_refused),
                                        cmocka_unit_test(test_recorded) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
