// Values in the device's layout, and those that feed shader parameters.
#ifndef SPYI_PLAN_FEEDS_H
#define SPYI_PLAN_FEEDS_H

#include "bind/inputs.h"
#include "emit/emit.h"
#include "kinds/kinds.h"

// pack_leaf.c
// One value as its kind packs it; out is NULL where it is bound.
SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out, spyi_text *error);
// Whether a shader parameter, which is not run over, gets the sizes that its type takes.
SPYI_FN spy_status spyi_check_sizes(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);

// >>bound inputs
// What the kernel reads beyond its block and the element-wise buffers: shader parameters, and the pack program that fills them.
// Their leaves are the variant's, not the plan's: bind/bind_input.c says why.
typedef struct spyi_bound_inputs {
    spyi_leaf *leaves; // their paths are ours
    uint32_t count;
    spyi_pack *packs; // `leaf` is one of these, `offset` counts in data; bindings: the binding's number
    uint32_t pack_count;
    uint32_t binding_count; // of the kernel; the emitted ones come first
    uint32_t uniform_count;
    spyi_uniform uniforms[SPYI_MOST_UNIFORMS];
    uint8_t *data; // of the uniforms, as packed for the running call
} spyi_bound_inputs;

// bound_inputs.c: which values feed the inputs of a kernel; errors for what is missing, unknown or does not fit.
SPYI_FN spy_status spyi_bind_inputs(const struct spyi_plan *plan, const spyi_emitted *emitted,
                                    const spyi_inputs *inputs, const spyi_values *values,
                                    spyi_bound_inputs *bound_inputs, spyi_text *error);
SPYI_FN void spyi_bound_inputs_free(spyi_bound_inputs *bound_inputs);

#endif // SPYI_PLAN_FEEDS_H
