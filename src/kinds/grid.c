// The argument grid: coordinates in a shape that the argument has, with an offset and a stride.
#include "kinds/internal.h"

static bool spyi_fits_int(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool spyi_grid_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    const spy_grid_desc *desc = (const spy_grid_desc *)arg->value.data;
    *problem = "expected a spy_grid_desc, got NULL";
    if (!desc) return false;
    *problem = SPYI_DESC_PROBLEM(spy_grid_desc, desc);
    if (*problem) return false;
    uint32_t rank = desc->shape.rank;
    *problem = "the rank of its shape is not 1 to SPY_MAX_RANK";
    if (rank < 1 || rank > SPY_MAX_RANK) return false;
    *problem = "the ranks of its offset and stride are not that of its shape, or 0";
    if ((desc->offset.rank && desc->offset.rank != rank) || (desc->stride.rank && desc->stride.rank != rank))
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        *problem = "its sizes must be 0 to 2147483647, or -1 for any";
        if (desc->shape.dims[d] < -1 || !spyi_fits_int(desc->shape.dims[d])) return false;
        *problem = "its offset and stride must fit 32 bits";
        if (desc->offset.rank && !spyi_fits_int(desc->offset.dims[d])) return false;
        if (desc->stride.rank && !spyi_fits_int(desc->stride.dims[d])) return false;
    }
    value->rank = (uint8_t)rank;
    value->dims = desc->shape.dims;
    return true;
}

static bool spyi_grid_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    (void)fitting;
    leaf->field_size = 8u * value->rank;
    leaf->field_align = 4;
    return spyi_kind_components(leaf->type) == value->rank;
}

static void spyi_grid_field(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "SpyiGrid<%u>", leaf->batch_rank);
}

static void spyi_grid_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    uint32_t map = 0;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) map |= (uint32_t)leaf->map[d] << (4 * d);
    spyi_kind_call(leaf, SPY_DTYPE_INT32, true, out, "spyi_grid(%s, %s, %s, 0x%x)", at->element, at->shape,
                   at->field, map);
}

static bool spyi_grid_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_grid_desc *desc = (const spy_grid_desc *)value->arg->value.data;
    int32_t *out = (int32_t *)field;
    (void)error;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        out[d] = desc->offset.rank ? (int32_t)desc->offset.dims[d] : 0;
        // A dimension of size 1 may be broadcast. All elements then get the same coordinate, so the stride is
        // 0.
        out[leaf->batch_rank + d] = desc->shape.dims[d] == 1 ? 0
                                    : desc->stride.rank      ? (int32_t)desc->stride.dims[d]
                                                             : 1;
    }
    return true;
}

static const spyi_kind_build spyi_grid_build = { spyi_grid_bind, NULL, spyi_grid_field,
                                                 spyi_grid_load, NULL, NULL,
                                                 NULL,           NULL };
static const spyi_kind_run spyi_grid_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS,
                                             SPYI_FIELD_KIND,
                                             SPYI_AGAIN_NEVER,
                                             spyi_grid_describe,
                                             spyi_grid_pack,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL,
                                             NULL };
static const spyi_value_kind spyi_grid_kind = { "grid", &spyi_grid_build, &spyi_grid_run };

spy_arg spy_arg_grid(const char *name, const spy_grid_desc *desc) {
    spy_arg arg = spyi_custom_arg(name, &spyi_grid_kind);
    arg.value.data = desc;
    return arg;
}
