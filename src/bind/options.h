// What a call's options say to its kernel, checked and copied.
#ifndef SPYI_OPTIONS_H
#define SPYI_OPTIONS_H

#include "bind/describe.h"

typedef struct spyi_options {
    char *prelude; // with the constants' declarations before it
    char **conformances;
    uint32_t conformance_count;
    uint32_t threads[3]; // of a group; 0: chosen
    spy_shape group;     // of the call, aligned at the last dimension; rank 0: none
    uint32_t count_rank; // of thread_count
    spy_call_mode mode;
    bool deterministic;
} spyi_options;

// Options with all that they point to, for calls that are made later. All zero: none.
typedef struct spyi_kept_options {
    spy_call_options options;
    spy_packed *constants, *globals; // their lists, as structs
    bool given;
} spyi_kept_options;

// Options that say nothing.
SPYI_FN bool spyi_options_are_plain(const spy_call_options *options);
// Checks options and appends to the key what kernels depend on; copies them for a plan.
SPYI_FN spy_status spyi_describe_options(const spy_call_options *options, spyi_values *values,
                                         spyi_text *error);
SPYI_FN spy_status spyi_options_copy(spy_function *function, const spyi_values *values, spyi_options *options,
                                     spyi_text *error);
SPYI_FN void spyi_options_free(spyi_options *options);
// A copy of options (NULL: none) that outlives the caller's; freed whether this fails or not.
SPYI_FN spy_status spyi_options_keep(const spy_call_options *options, spyi_kept_options *kept,
                                     spyi_text *error);
SPYI_FN void spyi_kept_free(spyi_kept_options *kept);

#endif // SPYI_OPTIONS_H
