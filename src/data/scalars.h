// The scalars that a type is made of.
#ifndef SPYI_SCALARS_H
#define SPYI_SCALARS_H

#include "data/type.h"

// The number of scalars in one value of `type`, structs and arrays included.
SPYI_FN uint32_t spyi_type_scalars(const spyi_type *type);
// The scalar type that sums of such values are made in: float64 if the type has a float64 in it, else
// float32.
SPYI_FN spy_dtype spyi_sum_scalar(const spyi_type *type);
// `type` with its scalars replaced: float3 and SPY_DTYPE_INT32 give int3. Not for structs.
SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar);

#endif // SPYI_SCALARS_H
