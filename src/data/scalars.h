// The scalars that a type is made of.
#ifndef SPYI_SCALARS_H
#define SPYI_SCALARS_H

#include "data/type.h"

// Returns the number of scalars in one value of `type`, structs and arrays included.
SPYI_FN uint32_t spyi_type_scalars(const spyi_type *type);
// Returns the scalar type that sums of such values are made in: float64 if the type has a float64 in it,
// otherwise float32.
SPYI_FN spy_dtype spyi_sum_scalar(const spyi_type *type);
// Returns `type` with its scalars replaced: float3 and SPY_DTYPE_INT32 give int3. The type must not be a
// struct.
SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar);

#endif // SPYI_SCALARS_H
