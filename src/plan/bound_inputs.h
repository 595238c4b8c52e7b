// Packs values in the device's layout, and decides which values feed a kernel's shader parameters.
#ifndef SPYI_PLAN_BOUND_INPUTS_H
#define SPYI_PLAN_BOUND_INPUTS_H

#include "bind/inputs.h"
#include "emit/emit.h"
#include "kinds/kinds.h"

// Writes a value to `out` in the device's layout (pack_leaf.c). `out` NULL means that the value is bound, and
// is only checked.
SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out, spyi_text *error);
// Checks that the value of a shader parameter, which is not run over, has the sizes that its type takes.
SPYI_FN spy_status spyi_check_sizes(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);

// >>bound inputs
// The values that feed a kernel's shader parameters, and the pack program that writes them. The parameter
// block and the element-wise buffers are not part of it. The leaves belong to the variant, not to the plan:
// bind/bind_input.c says why.
typedef struct spyi_bound_inputs {
    spyi_leaf *leaves; // this struct owns their paths
    uint32_t count;
    spyi_pack *packs; // `leaf` is an index into `leaves`; `offset` counts bytes in `data`, or is a binding's
                      // number
    uint32_t pack_count;
    uint32_t binding_count; // the number of the kernel's bindings; the bindings that emit made come first
    uint32_t uniform_count;
    spyi_uniform uniforms[SPYI_MOST_UNIFORMS];
    uint8_t *data; // the bytes of the uniform buffers, packed for the running call
} spyi_bound_inputs;

// Finds the values that feed a kernel's inputs (bound_inputs.c). Fails for missing, unknown or unfitting
// values.
SPYI_FN spy_status spyi_bind_inputs(const struct spyi_plan *plan, const spyi_emitted *emitted,
                                    const spyi_inputs *inputs, const spyi_values *values,
                                    spyi_bound_inputs *bound_inputs, spyi_text *error);
SPYI_FN void spyi_bound_inputs_free(spyi_bound_inputs *bound_inputs);

#endif // SPYI_PLAN_BOUND_INPUTS_H
