// The value types of Python users: float3, int2, bool4, float16_t, float4x4, quatf and the module
// slangpy.math. The rest of the extension uses only this header; math_value.h is for the files math_*.c. The
// name is not math.h, because that would hide the C library's <math.h>.
#ifndef SPYP_MATH_VIEW_H
#define SPYP_MATH_VIEW_H

#include "state/state.h"

// The type of one value, and its components in memory.
typedef struct spyp_math_info {
    const char *slang_name; // "float3", "float16_t", "float4x4"; "float4" for quatf
    spy_dtype dtype;        // dtype of each component
    uint32_t rank;          // 0 for float16_t, 1 for a vector or quaternion, 2 for a matrix
    int64_t dims[2];        // {N, 1} for a vector, {rows, columns} for a matrix; {1, 1} for a float16_t
    void *data; // components, packed by rows, where a bool is 1 byte. They live, and may be written, as long
                // as the value
} spyp_math_info;

// Adds the types and the submodule `math` to the extension module. Returns 0, or -1 with an exception set.
int spyp_math_ready(PyObject *module);

// Describes `object` in *info. Returns false, without an exception, when its type is no value type. It costs
// one look into a table of type pointers.
bool spyp_math_view(PyObject *object, spyp_math_info *info);

// Returns a value with a copy of `data`, as a new reference. rows == 1 makes a vector of `columns`
// components, rows >= 2 a matrix, and rows == 0 a scalar (float16_t). `data` is packed as in spyp_math_info.
// Returns NULL without an exception when there is no such type, and NULL with an exception set when memory
// ran out.
PyObject *spyp_math_new(spy_dtype dtype, uint32_t rows, uint32_t columns, const void *data);

#endif
