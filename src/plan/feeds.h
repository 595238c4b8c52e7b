// Values in the device's layout, and those that feed shader parameters.
#ifndef SPYI_PLAN_FEEDS_H
#define SPYI_PLAN_FEEDS_H

#include "emit/emit.h"
#include "kinds/kinds.h"

// pack_leaf.c
// One value in the device's layout, in a field of the parameter's own type; out is NULL where it is bound.
SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out, spyi_text *error);

// input_path.c
// A path's place among the inputs of a kernel or module.
typedef struct spyi_found {
    const spyi_input *input;
    const spyi_type *type;
    uint32_t offset;  // bytes in the uniform buffer
    uint32_t element; // of an unsized array, if
    bool part;        // it is one
} spyi_found;

// The input, or the part of its plain data, that the path names; `parameter`: of the entry point, else a global.
SPYI_FN bool spyi_find_input(const spyi_inputs *inputs, const char *path, bool parameter, spyi_found *found);
SPYI_FN bool spyi_is_parted(const spyi_type *type); // whether its parts follow as inputs of their own
// The error for a path that names none; `shown`: how the message names it.
SPYI_FN spy_status spyi_no_input(const spyi_inputs *inputs, const char *path, const char *shown,
                                 spyi_text *error);

// globals.c
// What reflection knows of a call's globals before there is a kernel: whether the module has them, and what they take.
SPYI_FN spy_status spyi_globals_check(spy_function *function, const spyi_values *values, spyi_text *error);
// A line for each that is given, and for each that the module has besides.
SPYI_FN void spyi_globals_text(spy_function *function, const spyi_values *values, spyi_text *out);

// >>feeds
// A value for a shader parameter, or a part of one.
typedef struct spyi_feed {
    spyi_leaf leaf;  // its path is ours
    uint32_t slot;   // binding of a tensor, or number of the uniform buffer
    uint32_t offset; // in feeds->data
} spyi_feed;

// What the kernel reads beyond its block and the element-wise buffers.
typedef struct spyi_feeds {
    spyi_feed *items;
    uint32_t count;
    uint32_t binding_count; // of the kernel; the emitted ones come first
    uint32_t uniform_count;
    spyi_uniform uniforms[SPYI_MOST_UNIFORMS];
    uint8_t *data;  // of the uniforms, as packed for the running call
    bool untracked; // one is an address
} spyi_feeds;

// feeds.c: which values feed the inputs of a kernel; errors for what is missing, unknown or does not fit.
SPYI_FN spy_status spyi_feeds_make(const struct spyi_plan *plan, const spyi_emitted *emitted,
                                   const spyi_inputs *inputs, const spyi_values *values, spyi_feeds *feeds,
                                   spyi_text *error);
SPYI_FN void spyi_feeds_free(spyi_feeds *feeds);

// The running call's values into feeds->data and bindings[slot].
SPYI_FN spy_status spyi_feeds_pack(spyi_feeds *feeds, const spyi_values *values, spyi_binding *bindings,
                                   spyi_text *error);

#endif // SPYI_PLAN_FEEDS_H
