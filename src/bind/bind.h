// Binding: a call's values are matched to the parameters of one overload, and become leaves.
#ifndef SPYI_BIND_H
#define SPYI_BIND_H

#include "bind/options.h"

// A parameter or field of the kernel's call, built from a leaf or from its own fields.
typedef struct spyi_node {
    char *name;
    const spyi_type *type;
    int32_t leaf;          // -1: fields
    uint32_t first, count; // fields, in the node list
    bool in, out;
} spyi_node;

typedef struct spyi_bound {
    spyi_signature signature; // of the chosen overload, with concrete types
    spyi_leaf *leaves;
    uint32_t leaf_count;
    spyi_node *nodes; // parameters that get an argument, then "_result" if given, then fields
    uint32_t node_count;
    uint32_t param_count; // parameters that get an argument
    bool has_result;      // nodes[param_count] is "_result"
    uint32_t rank;        // dimensions of the kernel
    bool strict;          // strict_broadcasting
    spyi_options options;
    bool uses_library;  // some kind's expressions need `import slangpy_kernel`, and the call's shape
    bool names_library; // the kernel itself says names of slangpy: of its tensors, or for call_info
    bool dispatch;      // threads are counted by the caller; arguments are passed whole
    bool guarded;       // spyi_threads.guarded
    bool shader;        // spyi_threads.shader
    bool call_info;     // the module may ask where in the call it is: it imports slangpy
    spy_call_mode mode;
    // The function itself reads, and adds to or writes, gradients of tensors that it takes whole.
    bool grads_inside[2];
    bool names_diff; // the kernel says names of slangpy_diff
    uint8_t *sizes;  // types were chosen by so many trailing sizes of each value; NULL: by none
} spyi_bound;

// Choose the overload and match everything. On failure a text with the candidates and why each does not fit.
SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error);
SPYI_FN void spyi_bound_free(spyi_bound *bound);
// The binding table: parameter, Slang type, argument, mapping; one line each.
SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out);

#endif // SPYI_BIND_H
