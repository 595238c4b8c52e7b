// Values in the device's layout, and those that feed shader parameters.
#ifndef SPYI_PLAN_FEEDS_H
#define SPYI_PLAN_FEEDS_H

#include "emit/emit.h"
#include "kinds/kinds.h"

// pack_leaf.c
// One value as its kind packs it; out is NULL where it is bound.
SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out, spyi_text *error);
// One value as an operation of a pack program says, from SPYI_PACK_SCALAR on but SPYI_PACK_BINDING: those for which the call's
// launch does not matter.
SPYI_FN spy_status spyi_pack_value(uint8_t op, const spyi_leaf *leaf, const spyi_value *v, uint8_t *out,
                                   spyi_text *error);

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
// What the kernel reads beyond its block and the element-wise buffers: shader parameters, and the pack program that fills them.
//
// Their leaves are the variant's, not the plan's, as their types come from the compiled kernel: a prelude brings globals that
// the module does not have, and its constants change the lengths of arrays.
typedef struct spyi_feeds {
    spyi_leaf *leaves; // their paths are ours
    uint32_t count;
    spyi_pack *packs; // `leaf` is one of these, `offset` counts in data; bindings: the binding's number
    uint32_t pack_count;
    uint32_t binding_count; // of the kernel; the emitted ones come first
    uint32_t uniform_count;
    spyi_uniform uniforms[SPYI_MOST_UNIFORMS];
    uint8_t *data; // of the uniforms, as packed for the running call
} spyi_feeds;

// feeds.c: which values feed the inputs of a kernel; errors for what is missing, unknown or does not fit.
SPYI_FN spy_status spyi_feeds_make(const struct spyi_plan *plan, const spyi_emitted *emitted,
                                   const spyi_inputs *inputs, const spyi_values *values, spyi_feeds *feeds,
                                   spyi_text *error);
SPYI_FN void spyi_feeds_free(spyi_feeds *feeds);

#endif // SPYI_PLAN_FEEDS_H
