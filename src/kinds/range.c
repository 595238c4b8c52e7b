// The argument range: the numbers start, start + step, ... along one dimension, like those of numpy's arange.
#include "kinds/internal.h"

// These are the numbers that the argument keeps in its dims: the number of elements, start, step. A number of
// -2 says that they are not valid.
enum { SPYI_RANGE_COUNT, SPYI_RANGE_START, SPYI_RANGE_STEP };

static bool spyi_range_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    *problem =
        arg->dims[SPYI_RANGE_STEP] == 0 ? "its step is 0" : "its start, stop and step must fit 32 bits";
    value->rank = 1;
    value->dims = arg->dims;
    return arg->dims[SPYI_RANGE_COUNT] >= 0;
}

static bool spyi_range_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_fit fit;
    (void)value;
    leaf->field_size = 8;
    leaf->field_align = 4;
    if (leaf->type->kind != SPYI_TYPE_SCALAR || leaf->type->scalar == SPY_DTYPE_BOOL) return false;
    // Its numbers are ints: an overload with an int parameter is better than one with a float.
    if (spyi_fit_host(spyi_type_scalar(fitting->types, SPY_DTYPE_INT32), leaf->type, false, &fit))
        fitting->cost += fit.cost;
    return true;
}

static void spyi_range_field(const spyi_leaf *leaf, spyi_text *out) {
    (void)leaf;
    spyi_text_add(out, "SpyiRange");
}

static void spyi_range_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_text_add(out, "%s(%s.start + %s.step * spyi_coordinate(%s, %s, %u))", spyi_spell(leaf->type),
                  at->field, at->field, at->element, at->shape, leaf->map[0]);
}

static bool spyi_range_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    int32_t *out = (int32_t *)field;
    (void)leaf;
    (void)error;
    out[0] = (int32_t)value->arg->dims[SPYI_RANGE_START];
    // A range of one element may be broadcast. All elements then get the same number, so the step is 0.
    out[1] = value->arg->dims[SPYI_RANGE_COUNT] == 1 ? 0 : (int32_t)value->arg->dims[SPYI_RANGE_STEP];
    return true;
}

static const spyi_kind_build spyi_range_build = {
    spyi_range_bind,
    NULL, // settle: the leaf does not depend on the call's rank
    spyi_range_field,
    spyi_range_load,
    NULL, // takes: the kind depends on the argument alone
    NULL, // type_name
    NULL,
    NULL,
};
static const spyi_kind_run spyi_range_run = {
    SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
    SPYI_FIELD_KIND,
    SPYI_AGAIN_NEVER,
    spyi_range_describe,
    spyi_range_pack,
    NULL, // match: the number of elements is that of the recorded call
    NULL, // expected
    NULL, // stop_adding
    NULL, // addresses
    NULL, // elements
    NULL, // memory: the kind has none
    NULL,
};
static const spyi_value_kind spyi_range_kind = { "range", &spyi_range_build, &spyi_range_run };

spy_arg spy_arg_range(const char *name, int64_t start, int64_t stop, int64_t step) {
    spy_arg arg = spyi_custom_arg(name, &spyi_range_kind);
    bool good = step != 0 && start >= INT32_MIN && start <= INT32_MAX && stop >= INT32_MIN &&
                stop <= INT32_MAX && step >= INT32_MIN && step <= INT32_MAX;
    int64_t distance = !good ? 0 : step > 0 ? stop - start : start - stop;
    int64_t size = !good ? 1 : step > 0 ? step : -step;
    arg.dims[SPYI_RANGE_COUNT] = !good ? -2 : distance <= 0 ? 0 : (distance + size - 1) / size;
    arg.dims[SPYI_RANGE_START] = start;
    arg.dims[SPYI_RANGE_STEP] = step;
    return arg;
}
