// One value in the device's layout: numbers, host data, and what a kind packs itself.
#include "plan/feeds.h"

SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    spyi_text_add(error, "'%s': expected %s, got %s that does not fit", leaf->path, leaf->type->display,
                  v->type->display);
    const spy_arg *arg = v->arg;
    if (v->kind == SPY_ARG_INT) spyi_text_add(error, ": %lld", (long long)arg->value.i);
    else if (v->kind == SPY_ARG_UINT) spyi_text_add(error, ": %llu", (unsigned long long)arg->value.u);
    else if (v->kind == SPY_ARG_FLOAT) spyi_text_add(error, ": %.9g", arg->value.f);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out) {
    spy_dtype from = arg->dtype, to = leaf->element->scalar;
    if (SPYI_LIKELY(from == to)) { // as it is; bool is widened below
        float f;
        double d;
        switch (to) {
        case SPY_FLOAT32:
            f = (float)arg->value.f;
            memcpy(out, &f, sizeof f);
            return true;
        case SPY_FLOAT64:
            d = arg->value.f;
            memcpy(out, &d, sizeof d);
            return true;
        case SPY_INT32:
        case SPY_UINT32: memcpy(out, &arg->value.u, 4); return true; // little-endian
        default: break;
        }
    }
    uint8_t host[8];
    // The union holds 64 bits of the number's own family.
    spy_dtype wide = arg->kind == SPY_ARG_FLOAT ? SPY_FLOAT64
                     : arg->kind == SPY_ARG_INT ? SPY_INT64
                                                : SPY_UINT64;
    if (!spyi_convert_scalars(host, to, &arg->value, wide, 1)) return false;
    spyi_type_to_device(leaf->element, out, host, 1);
    return true;
}

SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out) {
    const spyi_type *scalar = leaf->type;
    while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
    size_t count = 1;
    spy_dtype from = arg->dtype == SPY_DTYPE_DEFAULT ? SPY_FLOAT32 : arg->dtype;
    for (uint32_t d = 0; d < arg->count; d++) count *= (size_t)arg->dims[d];
    if (scalar->scalar == from) {
        spyi_type_to_device(leaf->type, out, arg->value.data, 1);
        return true;
    }
    void *host = spyi_malloc(count * spyi_scalar_size(scalar->scalar) + 1);
    bool good = host && spyi_convert_scalars(host, scalar->scalar, arg->value.data, from, count);
    if (good) spyi_type_to_device(leaf->type, out, host, 1);
    free(host);
    return good;
}

SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                  spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    size_t step = leaf->element->device_size,
           count = leaf->splat ? leaf->type->rows * leaf->type->columns : 1;
    switch (leaf->source) {
    case SPYI_SOURCE_SCALAR:
        for (size_t i = 0; i < count; i++)
            if (!spyi_pack_scalar(leaf, v->arg, out + i * step)) return spyi_does_not_fit(leaf, v, error);
        return SPY_OK;
    case SPYI_SOURCE_BYTES: spyi_type_to_device(leaf->type, out, v->arg->value.data, 1); return SPY_OK;
    case SPYI_SOURCE_INLINE:
        return spyi_pack_inline(leaf, v->arg, out) ? SPY_OK : spyi_does_not_fit(leaf, v, error);
    default: break;
    }
    if (leaf->kind->pack(leaf, v, out, &problem)) return SPY_OK;
    spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    return SPY_ERROR_OUT_OF_RANGE;
}
