// The options of a call that its kernel depends on.
#ifndef SPYI_OPTIONS_H
#define SPYI_OPTIONS_H

#include "bind/describe.h"

// The options that a plan keeps.
typedef struct spyi_options {
    char *prelude; // Slang text: the declarations of the constants, then the caller's prelude
    char **conformances;
    uint32_t conformance_count;
    uint32_t threads[3]; // the size of a thread group; 0 means that the library chooses
    spy_shape group;     // call_group_shape, aligned at the last dimension; rank 0 means no call groups
    uint32_t count_rank; // call_group_shape, aligned at the last dimension; rank 0 means no call groups
    spy_call_mode mode;
    bool deterministic;
    uint32_t shared_bytes; // dynamic shared memory of a group in bytes
} spyi_options;

// A copy of options with all that they point to, for later calls. All zero means no options.
typedef struct spyi_kept_options {
    spy_call_options options;
    spy_packed *constants, *globals; // copies of the two lists, packed as structs
    bool given;
} spyi_kept_options;

// Returns whether the options are NULL or all zero.
SPYI_FN bool spyi_options_are_plain(const spy_call_options *options);
// Checks the options and appends to the key what kernels depend on.
SPYI_FN spy_status spyi_describe_options(const spy_call_options *options, spyi_values *values,
                                         spyi_text *error);
// Copies the options of `values` for a plan.
SPYI_FN spy_status spyi_options_copy(spy_function *function, const spyi_values *values, spyi_options *options,
                                     spyi_text *error);
SPYI_FN void spyi_options_free(spyi_options *options);
// Copies options for later calls; NULL means that there are none. spyi_kept_free() must be called even if
// this function fails.
SPYI_FN spy_status spyi_options_keep(const spy_call_options *options, spyi_kept_options *kept,
                                     spyi_text *error);
SPYI_FN void spyi_kept_free(spyi_kept_options *kept);

#endif // SPYI_OPTIONS_H
