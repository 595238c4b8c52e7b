// What feeds what: how an element type in memory feeds a parameter type, and what the conversion costs.
#ifndef SPYI_FIT_H
#define SPYI_FIT_H

#include "data/type.h"

// How an element type in memory feeds a parameter type: the trailing dimensions it takes and what the conversion costs.
typedef struct spyi_fit {
    uint32_t cost;
    uint32_t consumed;
    int64_t dims[SPY_MAX_RANK]; // sizes that the consumed dimensions must have
} spyi_fit;

// Device memory of `element` for a parameter of `type`. Outputs must not change scalars. false: it cannot.
SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// Device memory that takes values of `type` and is not loaded: each is converted as Slang converts it, and bools are not.
SPYI_FN bool spyi_fit_stored(const spyi_type *element, const spyi_type *type, spyi_fit *fit);
// Host data: scalars are converted as they are copied, so more is possible.
SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);

#endif // SPYI_FIT_H
