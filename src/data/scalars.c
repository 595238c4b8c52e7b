// The scalars of a type: their number, the scalar type for sums of its values, and the same type with other
// scalars.
#include "data/scalars.h"

SPYI_FN uint32_t spyi_type_scalars(const spyi_type *type) {
    uint32_t count = 0;
    if (type->kind == SPYI_TYPE_ARRAY) return (uint32_t)type->count * spyi_type_scalars(type->element);
    if (type->kind != SPYI_TYPE_STRUCT) return type->rows * type->columns;
    for (uint32_t i = 0; i < type->field_count; i++) count += spyi_type_scalars(type->fields[i].type);
    return count;
}

SPYI_FN spy_dtype spyi_sum_scalar(const spyi_type *type) {
    if (type->kind == SPYI_TYPE_ARRAY) return spyi_sum_scalar(type->element);
    if (type->kind != SPYI_TYPE_STRUCT)
        return type->scalar == SPY_DTYPE_FLOAT64 ? SPY_DTYPE_FLOAT64 : SPY_DTYPE_FLOAT32;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (spyi_sum_scalar(type->fields[i].type) == SPY_DTYPE_FLOAT64) return SPY_DTYPE_FLOAT64;
    return SPY_DTYPE_FLOAT32;
}

SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR: return spyi_type_scalar(types, scalar);
    case SPYI_TYPE_VECTOR: return spyi_type_vector(types, scalar, type->columns);
    case SPYI_TYPE_MATRIX: return spyi_type_matrix(types, scalar, type->rows, type->columns);
    case SPYI_TYPE_ARRAY:
        return spyi_type_array(types, spyi_type_with_scalar(types, type->element, scalar), type->count);
    default: return type;
    }
}
