// Numbers, which lie in the parameter block converted to the parameter's scalar type. One number can be given
// for a vector or matrix: the kernel copies it to each component. In a uniform buffer, which the user's code
// lays out, it is written once for each component.
#include "data/scalars.h"
#include "kinds/internal.h"

SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out) {
    spy_dtype from = arg->dtype, to = leaf->element->scalar;
    if (SPYI_LIKELY(from == to)) { // nothing is converted; a bool is not copied, because the device's bool is
                                   // wider
        float f;
        double d;
        switch (to) {
        case SPY_DTYPE_FLOAT32:
            f = (float)arg->value.f;
            memcpy(out, &f, sizeof f);
            return true;
        case SPY_DTYPE_FLOAT64:
            d = arg->value.f;
            memcpy(out, &d, sizeof d);
            return true;
        case SPY_DTYPE_INT32:
        case SPY_DTYPE_UINT32: memcpy(out, &arg->value.u, 4); return true; // hosts are little-endian
        default: break;
        }
    }
    uint8_t host[8];
    // The union `value` holds a double, an int64_t or a uint64_t.
    spy_dtype wide = arg->kind == SPY_ARG_KIND_FLOAT ? SPY_DTYPE_FLOAT64
                     : arg->kind == SPY_ARG_KIND_INT ? SPY_DTYPE_INT64
                                                     : SPY_DTYPE_UINT64;
    if (!spyi_convert_scalars(host, to, &arg->value, wide, 1)) return false;
    spyi_type_to_device(leaf->element, out, host, 1);
    return true;
}

SPYI_FN void spyi_kind_misfit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    spyi_text_add(error, "expected %s, got %s that does not fit", leaf->type->display, v->type->display);
    const spy_arg *arg = v->arg;
    if (v->kind == SPY_ARG_KIND_INT) spyi_text_add(error, ": %lld", (long long)arg->value.i);
    else if (v->kind == SPY_ARG_KIND_UINT) spyi_text_add(error, ": %llu", (unsigned long long)arg->value.u);
    else if (v->kind == SPY_ARG_KIND_FLOAT) spyi_text_add(error, ": %.9g", arg->value.f);
}

SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    spyi_text_add(error, "'%s': ", leaf->path);
    spyi_kind_misfit(leaf, v, error);
    return SPY_ERROR_OUT_OF_RANGE;
}

static bool spyi_number_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    if (spyi_pack_scalar(leaf, value->arg, (uint8_t *)field)) return true;
    spyi_kind_misfit(leaf, value, error);
    return false;
}

static bool spyi_number_match(const spyi_leaf *leaf, const spyi_value *value) {
    spyi_fit fit;
    return value->kind >= SPY_ARG_KIND_BOOL && value->kind <= SPY_ARG_KIND_FLOAT &&
           spyi_fit_host(value->type, leaf->element, false, &fit) && !fit.consumed;
}

static void spyi_number_expected(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "a number for %s", leaf->type->display);
}

// >>one number, written for each component of a vector or matrix

static bool spyi_filling_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    size_t count = leaf->type->rows * leaf->type->columns;
    uint8_t *out = (uint8_t *)field;
    bool good = true;
    for (size_t i = 0; i < count && good; i++, out += leaf->element->device_size)
        good = spyi_number_pack(leaf, value, out, error);
    return good;
}

static const spyi_kind_build spyi_filling_build = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
}; // spyi_number_bind() gives this kind to a leaf
static const spyi_kind_run spyi_filling_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_REPEATS,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_filling_pack,
                                                spyi_number_match,
                                                spyi_number_expected,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL,
                                                NULL };
static const spyi_value_kind spyi_filling_kind = { "number", &spyi_filling_build, &spyi_filling_run };

SPYI_FN const spyi_value_kind *spyi_filling_kind_of(void) {
    return &spyi_filling_kind;
}

// >>one number

static bool spyi_number_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    if (leaf->out) {
        if (type->kind != SPYI_TYPE_SCALAR ||
            type->scalar != value->type->scalar) { // an enum has the scalar type of its integers
            spyi_text_add(&fitting->hint, "; an output takes exactly the parameter's type");
            return false;
        }
        spyi_kind_return(leaf);
        return true;
    }
    leaf->splat = type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    const spyi_type *scalar = leaf->splat ? spyi_type_scalar(fitting->types, type->scalar) : type;
    if (!spyi_fit_host(value->type, scalar, false, &fit) || fit.consumed) return false;
    leaf->element = scalar;
    spyi_kind_in_block(leaf);
    if (leaf->splat && fitting->in_buffer) {
        spyi_leaf_set_kind(leaf, &spyi_filling_kind);
        leaf->field_size *= type->rows * type->columns;
    }
    fitting->cost += fit.cost + (leaf->splat ? 20 : 0);
    return true;
}

static const spyi_kind_build spyi_number_build = {
    spyi_number_bind, NULL, spyi_kind_plain_field, spyi_kind_plain_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_number_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_REPEATS,
                                               SPYI_FIELD_NUMBER,
                                               SPYI_AGAIN_NUMBER,
                                               NULL,
                                               spyi_number_pack,
                                               spyi_number_match,
                                               spyi_number_expected,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_number_kind = { "number", &spyi_number_build, &spyi_number_run };

SPYI_FN const spyi_value_kind *spyi_number_kind_of(void) {
    return &spyi_number_kind;
}
