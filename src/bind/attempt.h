// One attempt to bind one overload: what bind.c does for candidates.c.
#ifndef SPYI_BIND_ATTEMPT_H
#define SPYI_BIND_ATTEMPT_H

#include "bind/bind.h"

// Grows `bound`; on failure `reason` says why.
typedef struct spyi_attempt {
    spy_function *function;
    spyi_unit *unit;
    spyi_types *types;
    const spyi_values *values;
    spyi_bound bound;
    uint32_t cost;
    bool sized;  // types were chosen by trailing sizes
    bool whole;  // one value of a shader parameter, not by element
    bool misfit; // some trailing size is not what the parameter takes: another overload may fit
    uint32_t node_capacity, leaf_capacity;
    spyi_text reason;
    spy_status status; // of the failure
} spyi_attempt;

// Fails the attempt.
SPYI_FN bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
// Adds why a struct that goes by a known name does not fit: the module's struct of that name is another one.
SPYI_FN void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out);
// For each parameter the index of its top-level value, or -1; the result's value in *result.
SPYI_FN bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                              int32_t *result);
// Binds parameters and result once every parameter type is known.
SPYI_FN bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                              const int32_t *of_param, int32_t result);

#endif // SPYI_BIND_ATTEMPT_H
