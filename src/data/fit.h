// Says which element types in memory can feed which parameter types, and what each conversion costs.
#ifndef SPYI_FIT_H
#define SPYI_FIT_H

#include "data/type.h"

// Tells how an element type in memory feeds a parameter type.
typedef struct spyi_fit {
    uint32_t cost;              // orders overloads (fit.c)
    uint32_t consumed;          // the number of trailing dimensions of the value that each parameter takes
    int64_t dims[SPY_MAX_RANK]; // the sizes that the consumed dimensions must have
} spyi_fit;

// Fills *fit for device memory of `element` that feeds a parameter of `type`; returns false if it cannot.
// Outputs must have the same scalars.
SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// Like spyi_fit_memory(), for device memory that is only stored to. Slang converts scalars, but no bools.
SPYI_FN bool spyi_fit_stored(const spyi_type *element, const spyi_type *type, spyi_fit *fit);
// Like spyi_fit_memory(), for host data. Its scalars are converted as they are copied, so more types fit.
SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);

#endif // SPYI_FIT_H
