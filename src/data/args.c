// The constructors of spy_arg, with which a caller fills SPY_ARGS. They check nothing, since they have no
// device to report to; the call reports what does not fit.
#include "api/gradient.h"
#include "data/device.h"

// Fills the variable that a constructor returns, in place: filling another one and copying it would cost ten
// times as much. Only the constructors of host arrays set `dims`, and `_map` is set only up to `_map_count`.
// If `_map` were cleared, gcc 12 at -O2 would copy after all (docs/measurements.md, "Small costs of a call").
static void spyi_set_arg(spy_arg *arg, const char *name, spy_arg_kind kind, spy_direction direction,
                         spy_dtype dtype) {
    arg->name = name;
    arg->kind = kind;
    arg->direction = direction;
    arg->dtype = dtype;
    arg->_map_count = 0;
    arg->type = NULL;
    arg->_custom = NULL;
    arg->value.u = 0;
    arg->count = 0;
}

SPYI_FN spy_arg spyi_custom_arg(const char *name, const struct spyi_value_kind *kind) {
    spy_arg arg;
    spyi_set_arg(&arg, name, SPY_ARG_KIND_CUSTOM, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT);
    arg._custom = kind;
    memset(arg.dims, 0, sizeof arg.dims);
    return arg;
}

// The public functions return what these three return, so that a build without optimisation makes code for
// filling and copying an argument here only. With optimisation they are inlined.

static inline spy_arg spyi_int_arg(const char *name, spy_arg_kind kind, spy_dtype dtype, uint64_t value) {
    spy_arg arg;
    spyi_set_arg(&arg, name, kind, SPY_DIRECTION_DEFAULT, dtype);
    arg.value.u = value; // the bits are those of value.i
    return arg;
}

static inline spy_arg spyi_float_arg(const char *name, spy_dtype dtype, double value) {
    spy_arg arg;
    spyi_set_arg(&arg, name, SPY_ARG_KIND_FLOAT, SPY_DIRECTION_DEFAULT, dtype);
    arg.value.f = value;
    return arg;
}

// `data` becomes the pointer of the union that the kind uses.
static inline spy_arg spyi_pointer_arg(const char *name, spy_arg_kind kind, spy_direction direction,
                                       spy_dtype dtype, const void *data, size_t count) {
    spy_arg arg;
    spyi_set_arg(&arg, name, kind, direction, dtype);
    arg.value.data = data;
    arg.count = count;
    return arg;
}

// >>scalars in

spy_arg spy_arg_bool(const char *name, bool value) {
    return spyi_int_arg(name, SPY_ARG_KIND_BOOL, SPY_DTYPE_BOOL, value ? 1u : 0u);
}

spy_arg spy_arg_i32(const char *name, int32_t value) {
    return spyi_int_arg(name, SPY_ARG_KIND_INT, SPY_DTYPE_INT32, (uint64_t)(int64_t)value);
}

spy_arg spy_arg_u32(const char *name, uint32_t value) {
    return spyi_int_arg(name, SPY_ARG_KIND_UINT, SPY_DTYPE_UINT32, value);
}

spy_arg spy_arg_i64(const char *name, int64_t value) {
    return spyi_int_arg(name, SPY_ARG_KIND_INT, SPY_DTYPE_INT64, (uint64_t)value);
}

spy_arg spy_arg_u64(const char *name, uint64_t value) {
    return spyi_int_arg(name, SPY_ARG_KIND_UINT, SPY_DTYPE_UINT64, value);
}

spy_arg spy_arg_f32(const char *name, float value) {
    return spyi_float_arg(name, SPY_DTYPE_FLOAT32, (double)value);
}

spy_arg spy_arg_f64(const char *name, double value) {
    return spyi_float_arg(name, SPY_DTYPE_FLOAT64, value);
}

// >>scalars out and inout: `value` points to the caller's memory, one scalar of the argument's dtype

spy_arg spy_out_bool(const char *name, bool *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_BOOL, SPY_DIRECTION_OUT, SPY_DTYPE_BOOL, value, 0);
}

spy_arg spy_out_i32(const char *name, int32_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_INT, SPY_DIRECTION_OUT, SPY_DTYPE_INT32, value, 0);
}

spy_arg spy_out_u32(const char *name, uint32_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_UINT, SPY_DIRECTION_OUT, SPY_DTYPE_UINT32, value, 0);
}

spy_arg spy_out_i64(const char *name, int64_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_INT, SPY_DIRECTION_OUT, SPY_DTYPE_INT64, value, 0);
}

spy_arg spy_out_u64(const char *name, uint64_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_UINT, SPY_DIRECTION_OUT, SPY_DTYPE_UINT64, value, 0);
}

spy_arg spy_out_f32(const char *name, float *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_FLOAT, SPY_DIRECTION_OUT, SPY_DTYPE_FLOAT32, value, 0);
}

spy_arg spy_out_f64(const char *name, double *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_FLOAT, SPY_DIRECTION_OUT, SPY_DTYPE_FLOAT64, value, 0);
}

spy_arg spy_inout_i32(const char *name, int32_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_INT, SPY_DIRECTION_INOUT, SPY_DTYPE_INT32, value, 0);
}

spy_arg spy_inout_u32(const char *name, uint32_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_UINT, SPY_DIRECTION_INOUT, SPY_DTYPE_UINT32, value, 0);
}

spy_arg spy_inout_bool(const char *name, bool *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_BOOL, SPY_DIRECTION_INOUT, SPY_DTYPE_BOOL, value, 0);
}

spy_arg spy_inout_i64(const char *name, int64_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_INT, SPY_DIRECTION_INOUT, SPY_DTYPE_INT64, value, 0);
}

spy_arg spy_inout_u64(const char *name, uint64_t *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_UINT, SPY_DIRECTION_INOUT, SPY_DTYPE_UINT64, value, 0);
}

spy_arg spy_inout_f32(const char *name, float *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_FLOAT, SPY_DIRECTION_INOUT, SPY_DTYPE_FLOAT32, value, 0);
}

spy_arg spy_inout_f64(const char *name, double *value) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_FLOAT, SPY_DIRECTION_INOUT, SPY_DTYPE_FLOAT64, value, 0);
}

// >>tensors, arrays, bytes, structs

spy_arg spy_arg_tensor(const char *name, spy_tensor *tensor) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_TENSOR, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT, tensor, 0);
}

spy_arg spy_out_tensor(const char *name, spy_tensor **tensor) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_NEW, SPY_DIRECTION_OUT, SPY_DTYPE_DEFAULT, tensor, 0);
}

spy_arg spy_out_result(const char *name, spy_result *result) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_RESULT, SPY_DIRECTION_OUT, SPY_DTYPE_DEFAULT, result, 0);
}

spy_arg spy_inout_result(const char *name, spy_result *result) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_RESULT, SPY_DIRECTION_INOUT, SPY_DTYPE_DEFAULT, result, 0);
}

// A rank beyond SPY_MAX_RANK stays in `count`, so that the call refuses it; `dims` then holds the first sizes
// only.
static spy_arg spyi_make_array(const char *name, spy_direction direction, spy_dtype dtype,
                               const spy_shape *shape, const void *data) {
    spy_arg arg;
    spyi_set_arg(&arg, name, SPY_ARG_KIND_ARRAY, direction,
                 dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : dtype);
    uint32_t i;
    arg.value.data = data;
    arg.count = shape->rank;
    for (i = 0; i < shape->rank && i < SPY_MAX_RANK; i++) arg.dims[i] = shape->dims[i];
    return arg;
}

static spy_arg spyi_make_vector(const char *name, spy_dtype dtype, uint32_t count, const void *values) {
    spy_arg arg;
    spyi_set_arg(&arg, name, SPY_ARG_KIND_ARRAY, SPY_DIRECTION_DEFAULT, dtype);
    arg.value.data = values;
    arg.count = 1;
    arg.dims[0] = count;
    return arg;
}

spy_arg spy_arg_array(const char *name, const void *data, spy_shape shape, spy_dtype dtype) {
    return spyi_make_array(name, SPY_DIRECTION_DEFAULT, dtype, &shape, data);
}

spy_arg spy_out_array(const char *name, void *data, spy_shape shape, spy_dtype dtype) {
    return spyi_make_array(name, SPY_DIRECTION_OUT, dtype, &shape, data);
}

spy_arg spy_inout_array(const char *name, void *data, spy_shape shape, spy_dtype dtype) {
    return spyi_make_array(name, SPY_DIRECTION_INOUT, dtype, &shape, data);
}

spy_arg spy_arg_f32n(const char *name, const float *values, uint32_t count) {
    return spyi_make_vector(name, SPY_DTYPE_FLOAT32, count, values);
}

spy_arg spy_arg_i32n(const char *name, const int32_t *values, uint32_t count) {
    return spyi_make_vector(name, SPY_DTYPE_INT32, count, values);
}

spy_arg spy_arg_data(const char *name, const void *data, size_t size_bytes) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_DATA, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT, data,
                            size_bytes);
}

spy_arg spy_out_data(const char *name, void *data, size_t size_bytes) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_DATA, SPY_DIRECTION_OUT, SPY_DTYPE_DEFAULT, data, size_bytes);
}

spy_arg spy_inout_data(const char *name, void *data, size_t size_bytes) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_DATA, SPY_DIRECTION_INOUT, SPY_DTYPE_DEFAULT, data,
                            size_bytes);
}

spy_arg spy_arg_diff_pair(const char *name, spy_args pair) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_PAIR, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT, pair.items,
                            pair.count);
}

spy_arg spy_arg_struct(const char *name, spy_args fields) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_STRUCT, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT, fields.items,
                            fields.count);
}

// >>how an argument is run over

spy_arg spy_map_value(spy_arg arg) {
    arg._map_count = SPYI_MAP_VALUE;
    return arg;
}

// A call refuses more than SPY_MAX_RANK dimensions, and a dimension that does not fit into int8_t, which is
// stored as -128 or 127, both out of range.
spy_arg spy_vmap(spy_arg arg, spy_dims dims) {
    bool twice = arg._map_count != 0 && arg._map_count != SPYI_MAP_VALUE;
    uint32_t count = dims.count > SPY_MAX_RANK ? SPY_MAX_RANK + 1 : dims.count;
    arg._map_count = twice ? SPYI_MAP_TWICE : count ? count : SPYI_MAP_WHOLE;
    for (uint32_t i = 0; i < count && i < SPY_MAX_RANK; i++) {
        int32_t dim = dims.dims[i];
        arg._map[i] = (int8_t)(dim < INT8_MIN ? INT8_MIN : dim > INT8_MAX ? INT8_MAX : dim);
    }
    return arg;
}

spy_arg spy_vdim(spy_arg arg, uint32_t count) {
    spy_dims dims;
    dims.count = count;
    for (uint32_t i = 0; i < SPY_MAX_RANK; i++) dims.dims[i] = (int32_t)i;
    return spy_vmap(arg, dims);
}

spy_arg spy_vcast(spy_arg arg, const char *type) {
    arg.type = type;
    return arg;
}

spy_arg spy_arg_any(const char *name) {
    return spyi_pointer_arg(name, SPY_ARG_KIND_NONE, SPY_DIRECTION_DEFAULT, SPY_DTYPE_DEFAULT, NULL, 0);
}
