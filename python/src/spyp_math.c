#include "spyp_math.h"
int spyp_math_ready(PyObject *module) { SPYP_UNUSED(module); return 0; }
bool spyp_math_view(PyObject *object, spyp_math_info *info) { SPYP_UNUSED(object); SPYP_UNUSED(info); return false; }
PyObject *spyp_math_new(spy_dtype dtype, uint32_t rows, uint32_t columns, const void *data) { SPYP_UNUSED(dtype); SPYP_UNUSED(rows); SPYP_UNUSED(columns); SPYP_UNUSED(data); return NULL; }
