// The record of a plan's last dispatch, for the next one that has the same arguments (same.c).
#ifndef SPYI_CALL_SAME_H
#define SPYI_CALL_SAME_H

#include "plan/cache.h"

#define SPYI_SAME_VALUES 24 // most arguments of such a dispatch, with two more for each pair
#define SPYI_SAME_NAME 40   // the bytes of a name, with its NUL

typedef struct spyi_same_value {
    uint64_t what; // spy_arg.kind and .direction
    uint64_t value;
    uint64_t serial;            // a tensor's serial number
    const spy_tensor *grads[2]; // a tensor's gradients
    spy_dtype dtype;
    char name[SPYI_SAME_NAME]; // "" if the argument was given by position
} spyi_same_value;

typedef struct spyi_same {
    spyi_variant *variant; // NULL if the plan has done other work since
    const spyi_launch *launch;
    uint32_t threads[3];
    uint32_t arg_count, value_count;
    bool has_options;
    spy_call_options options;
    spyi_same_value values[SPYI_SAME_VALUES];
} spyi_same;

// Records what device->cache->ran has done for these arguments. Does nothing if that dispatch cannot be
// repeated.
SPYI_FN void spyi_same_keep(spy_function *function, const uint32_t threads[3], spy_args args,
                            const spy_call_options *options);
// Repeats one of the function's last dispatches if its kernel, parameters and groups are all those of this
// dispatch. Otherwise returns false and does nothing. Allocates nothing.
SPYI_FN bool spyi_same_dispatch(spy_function *function, const uint32_t threads[3], spy_args args,
                                const spy_call_options *options, spy_status *status, spyi_text *error);

#endif // SPYI_CALL_SAME_H
