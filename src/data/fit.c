// Says how element types in memory feed parameter types, and what the conversions of scalars cost.
//
// The costs order overloads: 0 identical, 1 widening (and an enum to its integer or back), 2 same width other sign, 3
// int to a wider float, 4 int to a float that rounds it, 6 wider without the sign, 8 an interface, 9 needs a check of
// each value or converts a stored result, 20 a number for all components of a vector. The order follows Slang's own
// overload resolution; lossy conversions of device memory are refused, but for the same width with another sign, which
// keeps the bits as C does.
#include "data/fit.h"

#define SPYI_NO_FIT UINT32_MAX

typedef enum spyi_fit_use {
    SPYI_USE_HOST,  // host data that is copied
    SPYI_USE_LOAD,  // device memory that a kernel loads
    SPYI_USE_STORE, // device memory that a kernel stores to and does not load
    SPYI_USE_SHARED // device memory that is loaded and stored, or used as bytes, and never converted
} spyi_fit_use;

static bool spyi_dtype_is_signed(spy_dtype d) {
    return d == SPY_DTYPE_INT8 || d == SPY_DTYPE_INT16 || d == SPY_DTYPE_INT32 || d == SPY_DTYPE_INT64;
}

// Returns the cost of converting scalars inside a kernel. No value is checked, so conversions that could lose
// values are refused.
static uint32_t spyi_memory_cost(spy_dtype from, spy_dtype to) {
    if (from == to) return 0;
    size_t from_size = spy_dtype_size_bytes(from), to_size = spy_dtype_size_bytes(to);
    if (to == SPY_DTYPE_BOOL) return SPYI_NO_FIT;
    if (from == SPY_DTYPE_BOOL) return spyi_dtype_is_float(to) ? 4 : 2;
    if (spyi_dtype_is_float(from)) return spyi_dtype_is_float(to) && to_size > from_size ? 1 : SPYI_NO_FIT;
    if (spyi_dtype_is_float(to)) { // int32 to float rounds, as in C; int64 to float and int to half lose bits
        if (to_size < from_size) return SPYI_NO_FIT;
        return to_size > from_size ? 3 : 4;
    }
    if (to_size > from_size) return spyi_dtype_is_signed(from) && !spyi_dtype_is_signed(to) ? 6 : 1;
    return to_size == from_size ? 2 : SPYI_NO_FIT; // the width is the same and the sign differs, which is
                                                   // preferred to any float
}

// Returns the cost of converting host scalars. Each value is checked when it is copied, so that the cost only
// orders overloads.
static uint32_t spyi_host_cost(spy_dtype from, spy_dtype to) {
    uint32_t cost = spyi_memory_cost(from, to);
    if (cost != SPYI_NO_FIT) return cost;
    if (spyi_dtype_is_float(to))
        return spyi_dtype_is_float(from) ? 2 : 4; // values are rounded in these
                                                  // conversions
    return 9;
}

// Returns the cost of converting a result when a kernel stores it, by Slang's own rules: every conversion
// costs the same.
static uint32_t spyi_stored_cost(spy_dtype from, spy_dtype to) {
    return from == to ? 0 : 9;
}

static uint32_t spyi_cost(spyi_fit_use use, spy_dtype element, spy_dtype type) {
    switch (use) {
    case SPYI_USE_HOST: return spyi_host_cost(element, type);
    case SPYI_USE_LOAD: return spyi_memory_cost(element, type);
    case SPYI_USE_STORE: return spyi_stored_cost(type, element);
    default: return element == type ? 0 : SPYI_NO_FIT;
    }
}

static bool spyi_fit_type(const spyi_type *element, const spyi_type *type, spyi_fit_use use, spyi_fit *fit) {
    fit->cost = 0;
    fit->consumed = 0;
    if (element == type) return true;
    // Bytes without a type feed only parameters that take memory.
    if (spyi_type_is_memory(element)) return false;
    if (type->kind == SPYI_TYPE_ARRAY) { // an array consumes a dimension of `count`, and then the dimensions
                                         // that its element consumes
        spyi_fit inner;
        if (!spyi_fit_type(element, type->element, use, &inner) || inner.consumed + 1 > SPY_MAX_RANK)
            return false;
        fit->cost = inner.cost;
        fit->consumed = inner.consumed + 1;
        fit->dims[0] = type->count;
        memcpy(fit->dims + 1, inner.dims, inner.consumed * sizeof *inner.dims);
        return true;
    }
    bool plain =
        type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    bool plain_element = element->kind == SPYI_TYPE_SCALAR || element->kind == SPYI_TYPE_VECTOR ||
                         element->kind == SPYI_TYPE_MATRIX;
    if (!plain || !plain_element) return false;
    fit->cost = spyi_cost(use, element->scalar, type->scalar);
    if (fit->cost == SPYI_NO_FIT) return false;
    if (use == SPYI_USE_STORE && fit->cost && element->kind == SPYI_TYPE_MATRIX)
        return false; // a matrix cannot be converted while it is stored (spyi_leaf_strides)
    if (element->kind == SPYI_TYPE_SCALAR && type->kind == SPYI_TYPE_SCALAR && fit->cost == 0)
        fit->cost = 1; // different types of one scalar are an enum and its integer
    if (element->kind == type->kind) return element->rows == type->rows && element->columns == type->columns;
    if (element->kind == SPYI_TYPE_MATRIX || type->kind == SPYI_TYPE_SCALAR) return false;
    if (type->kind == SPYI_TYPE_MATRIX) fit->dims[fit->consumed++] = type->rows;
    if (element->kind == SPYI_TYPE_VECTOR) return element->columns == type->columns;
    fit->dims[fit->consumed++] = type->columns;
    return true;
}

SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit) {
    return spyi_fit_type(element, type, output ? SPYI_USE_SHARED : SPYI_USE_LOAD, fit);
}

SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit) {
    return spyi_fit_type(element, type, output ? SPYI_USE_SHARED : SPYI_USE_HOST, fit);
}

SPYI_FN bool spyi_fit_stored(const spyi_type *element, const spyi_type *type, spyi_fit *fit) {
    return spyi_fit_type(element, type, SPYI_USE_STORE, fit);
}
