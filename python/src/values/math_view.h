// The value types of Python users: float3, int2, bool4, float16_t, float4x4, quatf and the module slangpy.math.
// This is all that the rest of the extension sees of them; math_value.h is theirs alone. (Not called math.h: that
// would hide the C library's <math.h>.)
#ifndef SPYP_MATH_VIEW_H
#define SPYP_MATH_VIEW_H

#include "state/state.h"

// What a value is and where its components lie.
typedef struct spyp_math_info {
    const char *slang_name; // "float3", "float16_t", "float4x4"; quatf is "float4"
    spy_dtype dtype;        // of the components
    uint32_t rank;          // 0: float16_t, 1: vector or quaternion, 2: matrix
    int64_t dims[2];        // {N} of a vector, {rows, columns} of a matrix; unused ones are 1
    void *data; // packed row-major, bool 1 byte; lives and may be written as long as the value does
} spyp_math_info;

// Adds the types and the submodule `math` to the extension module. -1 with an exception set when it fails.
int spyp_math_ready(PyObject *module);

// False, without an exception, when `object` is none of the value types: one look into a table of type pointers.
bool spyp_math_view(PyObject *object, spyp_math_info *info);

// The value for a result of the GPU. rows == 1 is the vector of `columns` components, rows >= 2 the matrix, and
// rows == 0 the scalar (float16_t). `data` is packed as in spyp_math_info and copied. A new reference; NULL
// without an exception when there is no such type, NULL with one when memory ran out.
PyObject *spyp_math_new(spy_dtype dtype, uint32_t rows, uint32_t columns, const void *data);

#endif
