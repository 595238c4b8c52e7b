// Functions that several files of src/bind use, and their state: one attempt to bind an overload.
#ifndef SPYI_BIND_INTERNAL_H
#define SPYI_BIND_INTERNAL_H

#include "bind/bind.h"
#include "data/fit.h"
#include "kinds/kinds.h"

// One attempt to bind the values to one overload. It fills `bound`; on failure `reason` says why.
typedef struct spyi_attempt {
    spy_function *function;
    spyi_unit *unit;
    spyi_type_finder finder; // finds types of the unit
    spyi_types *types;
    const spyi_values *values;
    spyi_bound bound;
    uint32_t cost;
    bool sized;  // the types of open parameters depend on sizes of the values
    bool whole;  // the values are for a shader parameter, which takes one value, and the call does not run
                 // over it
    bool spread; // the call may run over values of spy_map_value()
    bool misfit; // a trailing size differs from the size that its parameter takes; another overload may fit
    uint32_t node_capacity, leaf_capacity;
    uint32_t pair;       // 0, or the number of the value that is the gradient of the value to be bound next
    bool result;         // the value being bound is the function's result
    bool constant;       // the value being bound takes no part in derivatives
    bool refused;        // the function has no derivative: later failures must not replace this reason
    const char *missing; // the parameter that was not given, if that is the reason
    spyi_text reason;
    spy_status status; // status of the failure
} spyi_attempt;

// attempt.c: sets the reason why the overload does not fit, and returns false.
SPYI_FN bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
// If the value's struct has the name of one in the module but is another type, adds this reason to `out`.
SPYI_FN void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out);
// Adds a node without leaf and fields. Returns its index, or -1 when out of memory.
SPYI_FN int32_t spyi_add_node(spyi_attempt *a, const char *name, const spyi_type *type, bool in, bool out);
// Adds a leaf. Returns NULL when out of memory. Pointers to earlier leaves become invalid.
SPYI_FN spyi_leaf *spyi_add_leaf(spyi_attempt *a, uint32_t value, const char *path, const spyi_type *type,
                                 bool in, bool out);
// The following functions return false with a reason: the first two always, the others if the value does not
// fit.
SPYI_FN bool spyi_mismatch(spyi_attempt *a, const char *path, const spyi_type *type, const spyi_value *v,
                           const char *hint);
SPYI_FN bool spyi_no_writing(spyi_attempt *a, const char *path);
SPYI_FN bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out);
SPYI_FN bool spyi_set_batch(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const spyi_fit *fit);

// leaf.c: binds one value to one leaf by its kind. `kind` NULL means that no kind takes the value, which is a
// mismatch.
SPYI_FN bool spyi_bind_leaf(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                            const spyi_value_kind *kind);

// fields.c: binds value number `index` to a ConstantBuffer<T> or an array of buffers. *node gets the index of
// the new node.
SPYI_FN bool spyi_bind_holder(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                              const char *path, int32_t *node);
// Binds the fields of value number `index` to the fields of `type`, and makes them the fields of `node`.
SPYI_FN bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                              bool in, bool out, int32_t node);
// Binds a value and its gradient to a parameter of type DifferentialPair<T>. (spyi_bind_fields binds a struct
// of p and d.)
SPYI_FN bool spyi_bind_pair(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out);
// Binds a tensor to the first field of a struct with [FromTensor]. The other fields become zero.
SPYI_FN bool spyi_bind_built(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, bool in, bool out, int32_t *node_out);
#define SPYI_PAIR_TAKES                                                                                      \
    "; it takes a value with its gradient: a tensor with one, spy_arg_diff_pair, or a struct of p and d"
// Returns DifferentialPair<T> with its fields, p of type T and d of type T.Differential, or `type` itself
// when T is not known.
SPYI_FN const spyi_type *spyi_pair_with_fields(spyi_attempt *a, const spyi_type *type);
// Returns which part of a DifferentialPair the field name means: 0 the value, 1 the gradient, 2 neither.
SPYI_FN uint32_t spyi_part_of_pair(const char *name);
// Sets the reason that a DifferentialPair cannot be used in a call that computes gradients, and returns
// false.
SPYI_FN bool spyi_no_derived_pair(spyi_attempt *a, const char *path, const spyi_type *type);

// bind.c: binds value number `index` (and its fields) to a parameter or field of `type`. *node_out gets the
// index of the new node.
SPYI_FN bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, bool in, bool out, int32_t *node_out);
// Finds the value of each parameter: of_param[i] is its index, or -1, and *result is the index of `_result`.
SPYI_FN bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                              int32_t *result);
// Binds parameters and result; types[i] is the concrete type of parameter i.
SPYI_FN bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                              const int32_t *of_param, int32_t result);

// bind_input.c: binds one value to a shader parameter of `type`, which takes one value; the call does not run
// over it. `bound` gets the leaves and nodes.
SPYI_FN spy_status spyi_bind_input(spy_function *function, const spyi_values *values, uint32_t index,
                                   const spyi_type *type, const char *path, spyi_bound *bound,
                                   spyi_text *error);

// gradient.c, for calls that compute gradients: binds an output that is not computed, of which only the sizes
// matter. `pair` is the index of the gradient given beside the value, or 0.
SPYI_FN bool spyi_bind_unused(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, uint32_t pair);
// Makes leaves of the gradients of value `index`, whose leaf is `number`.
SPYI_FN bool spyi_bind_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair);
// Makes leaves of the gradients of a tensor that is passed whole: value `index`, leaf `number`.
SPYI_FN bool spyi_bind_whole_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair);
// Prepares textures with gradients in backward calls, and the sampler, for parameters of Slang's own types.
SPYI_FN bool spyi_bind_textures(spyi_attempt *a);
// Checks that the function has a derivative, and that both outputs and inputs of the call have gradients.
SPYI_FN bool spyi_check_gradients(spyi_attempt *a, const spyi_signature *signature);

#endif // SPYI_BIND_INTERNAL_H
