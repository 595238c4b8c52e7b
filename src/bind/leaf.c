// One value to one leaf: numbers, host data, arrays and tensors by element, results, and what a kind says.
#include "bind/internal.h"
#include "data/bounds.h"

static bool spyi_bind_number(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    if (leaf->out) {
        if (type->kind != SPYI_TYPE_SCALAR || type->scalar != v->type->scalar) // enums are their integers
            return spyi_mismatch(a, path, type, v, "; an output takes exactly the parameter's type");
        leaf->source = SPYI_SOURCE_READBACK;
        return true;
    }
    leaf->source = SPYI_SOURCE_SCALAR;
    leaf->splat = type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    const spyi_type *scalar = leaf->splat ? spyi_type_scalar(a->types, type->scalar) : type;
    if (!spyi_fit_host(v->type, scalar, false, &fit) || fit.consumed)
        return spyi_mismatch(a, path, type, v, "");
    leaf->element = scalar;
    a->cost += fit.cost + (leaf->splat ? 20 : 0);
    return true;
}

// Why an array's numbers are not those of the parameter, and what to do; "" where no conversion would help.
static const char *spyi_why_no_fit(const spyi_leaf *leaf, const spyi_value *v, char *text, size_t size) {
    const spyi_type *inner = leaf->type, *held = v->type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    while (held->kind == SPYI_TYPE_ARRAY) held = held->element;
    bool numbers = inner->kind <= SPYI_TYPE_MATRIX && held->kind <= SPYI_TYPE_MATRIX && held->scalar &&
                   inner->scalar && held->scalar != inner->scalar;
    if (!numbers) return "";
    const char *to = spy_dtype_name(inner->scalar), *from = spy_dtype_name(held->scalar);
    if (leaf->out && leaf->in)
        snprintf(text, size, "; what is read and written is not converted: create it with desc.dtype %s", to);
    else if (leaf->out)
        snprintf(text, size, "; %s is not converted to %s: create it with desc.dtype %s", to, from, to);
    else
        snprintf(text, size,
                 "; a tensor's numbers are not converted from %s to %s, which could change them: create it "
                 "with desc.dtype %s",
                 from, to, to);
    return text;
}

// Device layout has no bare bool: its scalars are uint where a kernel loads them on their own.
static bool spyi_bind_array(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    spyi_fit fit;
    char why[192];
    bool host = v->kind == SPY_ARG_ARRAY, stored = leaf->out && !leaf->in && a->result;
    bool fits = stored ? spyi_fit_stored(v->type, type, &fit)
                : host ? spyi_fit_host(v->type, type, leaf->out, &fit)
                       : spyi_fit_memory(v->type, type, leaf->out, &fit);
    if (!fits) return spyi_mismatch(a, path, type, v, spyi_why_no_fit(leaf, v, why, sizeof why));
    if (!spyi_set_batch(a, leaf, v, &fit)) return false;
    a->cost += fit.cost;
    if (!host) {
        leaf->source = SPYI_SOURCE_TENSOR;
        leaf->element = v->type;
    } else if (leaf->batch_rank == 0 && !(stored && fit.cost)) {
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_INLINE;
    } else { // converted while it is uploaded, or when the kernel stores it
        leaf->source = SPYI_SOURCE_UPLOAD;
        const spyi_type *scalar = stored ? v->type : type;
        while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
        leaf->element = spyi_type_scalar(a->types, scalar->scalar);
    }
    return true;
}

// Where it goes is known once the call's rank is: see spyi_finish_maps.
static bool spyi_bind_result(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *scalar = leaf->type;
    size_t count = 1;
    leaf->source = SPYI_SOURCE_NEW;
    if (!leaf->in) return true;
    for (; scalar->kind == SPYI_TYPE_ARRAY; scalar = scalar->element) count *= (size_t)scalar->count;
    bool numbers = scalar->kind == SPYI_TYPE_SCALAR || scalar->kind == SPYI_TYPE_VECTOR ||
                   scalar->kind == SPYI_TYPE_MATRIX;
    count *= numbers ? (size_t)scalar->rows * scalar->columns : 0;
    if (!count || count * spyi_scalar_size(v->type->scalar) != v->size)
        return spyi_mismatch(a, path, leaf->type, v,
                             "; its value needs as many scalars as the parameter has");
    leaf->source = SPYI_SOURCE_READBACK;
    return true;
}

SPYI_FN bool spyi_bind_kind(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                            const spyi_value_kind *kind) {
    if (leaf->out) return spyi_mismatch(a, leaf->path, leaf->type, v, "; it cannot be an output");
    leaf->source = SPYI_SOURCE_KIND;
    leaf->kind = kind;
    if (!kind->bind(a->types, v, leaf)) {
        const char *takes = spyi_kind_takes(leaf->type, spyi_types_rules(a->types));
        return spyi_mismatch(a, leaf->path, leaf->type, v, takes ? takes : "");
    }
    if (leaf->writes && v->direction == SPY_DIRECTION_IN) return spyi_no_writing(a, leaf->path);
    leaf->site = spyi_bounds_site(a->function->object.device, a->function->name, leaf->path);
    a->bound.uses_library = true;
    a->bound.names_library = a->bound.names_library || leaf->kind_type;
    spyi_fit fit;
    memset(&fit, 0, sizeof fit);
    fit.consumed = leaf->consumed;
    memcpy(fit.dims, leaf->consumed_dims, sizeof fit.dims);
    return spyi_set_batch(a, leaf, v, &fit);
}

// Numbers, host data, element-wise tensors, new tensors.
SPYI_FN bool spyi_bind_leaf(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const char *path) {
    const spyi_type *type = leaf->type;
    switch (v->kind) {
    case SPY_ARG_TENSOR:
    case SPY_ARG_ARRAY: return spyi_bind_array(a, leaf, v, path);
    case SPY_ARG_DATA:
        if (v->size != type->host_size)
            return spyi_no(a, SPY_ERROR_TYPE_MISMATCH, "'%s': %s has %zu bytes in C's layout, got %u", path,
                           type->display, type->host_size, v->size);
        leaf->source = leaf->out ? SPYI_SOURCE_READBACK : SPYI_SOURCE_BYTES;
        return true;
    case SPY_ARG_NEW: leaf->source = SPYI_SOURCE_NEW; return true;
    case SPY_ARG_RESULT: return spyi_bind_result(a, leaf, v, path);
    default: // of a pair, a gradient's kind is not that of its value: fields for a number have no type
        return v->type ? spyi_bind_number(a, leaf, v, path) : spyi_mismatch(a, path, type, v, "");
    }
}
