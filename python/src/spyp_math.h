// Vector and matrix values: what other files need to know of them.
#ifndef SPYP_MATH_H
#define SPYP_MATH_H

#include "spyp.h"

typedef struct spyp_math_info {
    const char *slang_name; // "float3"
    spy_dtype dtype;
    uint32_t rank;          // 0 scalar, 1 vector, 2 matrix
    int64_t dims[2];
    void *data;             // tightly packed, row-major
} spyp_math_info;

int spyp_math_ready(PyObject *module);
bool spyp_math_view(PyObject *object, spyp_math_info *info); // false: it is none of the value types
PyObject *spyp_math_new(spy_dtype dtype, uint32_t rows, uint32_t columns, const void *data); // NULL without an error: no such type

#endif // SPYP_MATH_H
