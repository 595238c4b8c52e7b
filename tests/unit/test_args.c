// The constructors of spy_arg, and the macros that make lists, shapes and mappings.
#include "spy_test.h"

static void test_scalars(void **state) {
    spy_arg a = spy_arg_i32("a", -3);
    (void)state;
    assert_string_equal(a.name, "a");
    assert_int_equal(a.kind, SPY_ARG_KIND_INT);
    assert_int_equal(a.direction, SPY_DIRECTION_DEFAULT);
    assert_int_equal(a.dtype, SPY_DTYPE_INT32);
    assert_true(a.value.i == -3);
    assert_int_equal(a._map_count, 0);
    assert_null(a.type);
    a = spy_arg_u64(NULL, UINT64_MAX);
    assert_null(a.name);
    assert_int_equal(a.kind, SPY_ARG_KIND_UINT);
    assert_int_equal(a.dtype, SPY_DTYPE_UINT64);
    assert_true(a.value.u == UINT64_MAX);
    a = spy_arg_i64("a", INT64_MIN);
    assert_int_equal(a.dtype, SPY_DTYPE_INT64);
    assert_true(a.value.i == INT64_MIN);
    a = spy_arg_u32("a", UINT32_MAX);
    assert_int_equal(a.kind, SPY_ARG_KIND_UINT);
    assert_true(a.value.u == UINT32_MAX);
    a = spy_arg_f32("a", 0.1f);
    assert_int_equal(a.kind, SPY_ARG_KIND_FLOAT);
    assert_int_equal(a.dtype, SPY_DTYPE_FLOAT32);
    assert_true(a.value.f == (double)0.1f);
    a = spy_arg_f64("a", 0.1);
    assert_int_equal(a.dtype, SPY_DTYPE_FLOAT64);
    assert_true(a.value.f == 0.1);
    a = spy_arg_bool("a", true);
    assert_int_equal(a.kind, SPY_ARG_KIND_BOOL);
    assert_int_equal(a.dtype, SPY_DTYPE_BOOL);
    assert_true(a.value.u == 1);
}

static void test_results(void **state) {
    int32_t i = 0;
    uint32_t u = 0;
    int64_t i64 = 0;
    uint64_t u64 = 0;
    float f = 0;
    double d = 0;
    bool b = false;
    spy_tensor *t = NULL;
    spy_arg a;
    size_t k;
    struct {
        spy_arg arg;
        spy_arg_kind kind;
        spy_direction direction;
        spy_dtype dtype;
        void *out;
    } rows[11];
    (void)state;
#define ROW(k, a, kind_, direction_, dtype_, out_)                                                           \
    rows[k].arg = a;                                                                                         \
    rows[k].kind = kind_;                                                                                    \
    rows[k].direction = direction_;                                                                          \
    rows[k].dtype = dtype_;                                                                                  \
    rows[k].out = out_
    ROW(0, spy_out_bool("r", &b), SPY_ARG_KIND_BOOL, SPY_DIRECTION_OUT, SPY_DTYPE_BOOL, &b);
    ROW(1, spy_out_i32("r", &i), SPY_ARG_KIND_INT, SPY_DIRECTION_OUT, SPY_DTYPE_INT32, &i);
    ROW(2, spy_out_u32("r", &u), SPY_ARG_KIND_UINT, SPY_DIRECTION_OUT, SPY_DTYPE_UINT32, &u);
    ROW(3, spy_out_i64("r", &i64), SPY_ARG_KIND_INT, SPY_DIRECTION_OUT, SPY_DTYPE_INT64, &i64);
    ROW(4, spy_out_u64("r", &u64), SPY_ARG_KIND_UINT, SPY_DIRECTION_OUT, SPY_DTYPE_UINT64, &u64);
    ROW(5, spy_out_f32("r", &f), SPY_ARG_KIND_FLOAT, SPY_DIRECTION_OUT, SPY_DTYPE_FLOAT32, &f);
    ROW(6, spy_out_f64("r", &d), SPY_ARG_KIND_FLOAT, SPY_DIRECTION_OUT, SPY_DTYPE_FLOAT64, &d);
    ROW(7, spy_inout_i32("r", &i), SPY_ARG_KIND_INT, SPY_DIRECTION_INOUT, SPY_DTYPE_INT32, &i);
    ROW(8, spy_inout_u32("r", &u), SPY_ARG_KIND_UINT, SPY_DIRECTION_INOUT, SPY_DTYPE_UINT32, &u);
    ROW(9, spy_inout_f32("r", &f), SPY_ARG_KIND_FLOAT, SPY_DIRECTION_INOUT, SPY_DTYPE_FLOAT32, &f);
    ROW(10, spy_inout_f64("r", &d), SPY_ARG_KIND_FLOAT, SPY_DIRECTION_INOUT, SPY_DTYPE_FLOAT64, &d);
#undef ROW
    for (k = 0; k < 11; k++) {
        assert_string_equal(rows[k].arg.name, "r");
        assert_int_equal(rows[k].arg.kind, rows[k].kind);
        assert_int_equal(rows[k].arg.direction, rows[k].direction);
        assert_int_equal(rows[k].arg.dtype, rows[k].dtype);
        assert_ptr_equal(rows[k].arg.value.out, rows[k].out);
    }
    a = spy_out_tensor("_result", &t);
    assert_int_equal(a.kind, SPY_ARG_KIND_NEW);
    assert_int_equal(a.direction, SPY_DIRECTION_OUT);
    assert_ptr_equal(a.value.new_tensor, &t);
    a = spy_arg_tensor("x", NULL);
    assert_int_equal(a.kind, SPY_ARG_KIND_TENSOR);
    assert_null(a.value.tensor);
}

static void test_arrays(void **state) {
    float data[6] = { 0 };
    int32_t ints[3] = { 0 };
    spy_shape large;
    spy_arg a = spy_arg_array("a", data, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32);
    (void)state;
    assert_int_equal(a.kind, SPY_ARG_KIND_ARRAY);
    assert_int_equal(a.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.dims[0], 2);
    assert_int_equal(a.dims[1], 3);
    assert_ptr_equal(a.value.data, data);
    a = spy_out_array("a", data, SPY_SHAPE(1, 2, 1, 3, 1, 1, 1, 1), SPY_DTYPE_DEFAULT);
    assert_int_equal(a.direction, SPY_DIRECTION_OUT);
    assert_int_equal(a.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(a.count, 8);
    assert_int_equal(a.dims[3], 3);
    assert_int_equal(a.dims[7], 1);
    memset(&large, 0, sizeof large);
    large.rank = 100;
    a = spy_inout_array("a", data, large, SPY_DTYPE_INT8); // for the call to refuse
    assert_int_equal(a.direction, SPY_DIRECTION_INOUT);
    assert_int_equal(a.count, 100);
    a = spy_arg_f32n("a", data, 6);
    assert_int_equal(a.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(a.count, 1);
    assert_int_equal(a.dims[0], 6);
    a = spy_arg_i32n("a", ints, 3);
    assert_int_equal(a.kind, SPY_ARG_KIND_ARRAY);
    assert_int_equal(a.dtype, SPY_DTYPE_INT32);
    assert_ptr_equal(a.value.data, ints);
}

static void test_structs(void **state) {
    char bytes[12];
    spy_args fields = SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 2));
    spy_args none = SPY_NO_ARGS;
    spy_arg a = spy_arg_struct("s", fields);
    (void)state;
    assert_int_equal(a.kind, SPY_ARG_KIND_STRUCT);
    assert_int_equal(a.count, 2);
    assert_ptr_equal(a.value.fields, fields.items);
    assert_string_equal(a.value.fields[1].name, "y");
    assert_int_equal(none.count, 0);
    a = spy_arg_data("s", bytes, sizeof bytes);
    assert_int_equal(a.kind, SPY_ARG_KIND_DATA);
    assert_int_equal(a.count, 12);
    assert_ptr_equal(a.value.data, bytes);
    assert_int_equal(spy_out_data("s", bytes, 12).direction, SPY_DIRECTION_OUT);
    assert_int_equal(spy_inout_data("s", bytes, 12).direction, SPY_DIRECTION_INOUT);
}

static void test_mapping(void **state) {
    spy_dims many;
    spy_arg a = spy_vmap(spy_arg_tensor("a", NULL), SPY_DIMS(1, 0));
    (void)state;
    assert_int_equal(a._map_count, 2);
    assert_int_equal(a._map[0], 1);
    assert_int_equal(a._map[1], 0);
    assert_true(spy_vmap(a, SPY_DIMS(0))._map_count > SPY_MAX_RANK); // the call refuses a second mapping
    a = spy_vmap(spy_arg_tensor("a", NULL), SPY_DIMS(-1000, 1000));   // neither may pass for a dimension
    assert_int_equal(a._map[0], -128);
    assert_int_equal(a._map[1], 127);
    memset(&many, 0, sizeof many);
    many.count = 50;
    assert_int_equal(spy_vmap(spy_arg_tensor("a", NULL), many)._map_count, SPY_MAX_RANK + 1);
    assert_int_equal(spy_vdim(spy_arg_tensor("a", NULL), 255)._map_count, SPY_MAX_RANK + 1); // no marker of ours
    spy_arg d = spy_vdim(spy_arg_tensor("a", NULL), 3), none = spy_vdim(spy_arg_tensor("a", NULL), 0), whole;
    memset(&many, 0, sizeof many);
    whole = spy_vmap(spy_arg_tensor("a", NULL), many);
    assert_int_equal(d._map_count, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(d._map[i], i);
    assert_int_equal(none._map_count, whole._map_count);
    a = spy_vcast(a, "float3");
    assert_string_equal(a.type, "float3");
    assert_int_equal(a.kind, SPY_ARG_KIND_TENSOR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars), cmocka_unit_test(test_results), cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_structs), cmocka_unit_test(test_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
