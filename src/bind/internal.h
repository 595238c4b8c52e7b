// What the files of this room share: one attempt to bind an overload.
#ifndef SPYI_BIND_INTERNAL_H
#define SPYI_BIND_INTERNAL_H

#include "bind/bind.h"
#include "data/fit.h"
#include "kinds/kinds.h"

// One attempt to bind one overload. Grows `bound`; on failure `reason` says why.
typedef struct spyi_attempt {
    spy_function *function;
    spyi_unit *unit;
    spyi_type_finder finder; // of the unit's types
    spyi_types *types;
    const spyi_values *values;
    spyi_bound bound;
    uint32_t cost;
    bool sized;  // types were chosen by trailing sizes
    bool whole;  // one value of a shader parameter, not by element
    bool spread; // values of spy_map_value() may be run over
    bool misfit; // some trailing size is not what the parameter takes: another overload may fit
    uint32_t node_capacity, leaf_capacity;
    uint32_t pair; // number of the gradient that the next value was given with; 0: none
    bool result;   // what is being bound is the function's result
    bool constant; // what is being bound takes no part in derivatives
    bool refused;  // for want of a derivative: the reason stays, whatever other types are tried
    spyi_text reason;
    spy_status status; // of the failure
} spyi_attempt;

// attempt.c
SPYI_FN bool spyi_no(spyi_attempt *a, spy_status status, const char *format, ...)
    SPYI_PRINTF(3, 4); // why the overload does not fit; gives false
// Adds why a struct that goes by a known name does not fit: the module's struct of that name is another one.
SPYI_FN void spyi_add_other_struct(const spyi_attempt *a, const spyi_value *v, spyi_text *out);
// A node without leaf and fields; gives its number, or -1 when out of memory.
SPYI_FN int32_t spyi_add_node(spyi_attempt *a, const char *name, const spyi_type *type, bool in, bool out);
SPYI_FN spyi_leaf *spyi_add_leaf(spyi_attempt *a, uint32_t value, const char *path, const spyi_type *type,
                                 bool in, bool out);
SPYI_FN bool spyi_mismatch(spyi_attempt *a, const char *path, const spyi_type *type, const spyi_value *v,
                           const char *hint);
SPYI_FN bool spyi_no_writing(spyi_attempt *a, const char *path);
SPYI_FN bool spyi_check_direction(spyi_attempt *a, const char *path, const spyi_value *v, bool in, bool out);
SPYI_FN bool spyi_set_batch(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, const spyi_fit *fit);

// leaf.c
// The value becomes the leaf's. NULL: it is of no kind.
SPYI_FN bool spyi_bind_leaf(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v,
                            const spyi_value_kind *kind);

// fields.c
// ConstantBuffer<T>, or an array of buffers; the new node's number in *node.
SPYI_FN bool spyi_bind_holder(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                              const char *path, int32_t *node);
// The fields of value number `index` to those of `type`, which become the fields of `node`.
SPYI_FN bool spyi_bind_fields(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *path,
                              bool in, bool out, int32_t node);
// A value and its gradient to a parameter of type DifferentialPair<T>; a struct of p and d goes by its fields.
SPYI_FN bool spyi_bind_pair(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                            const char *path, bool in, bool out, int32_t *node_out);
#define SPYI_PAIR_TAKES                                                                                      \
    "; it takes a value with its gradient: a tensor with one, spy_arg_diff_pair, or a struct of p and d"
// DifferentialPair<T> with fields: p of type T, d of type T.Differential. As it is when T is not known.
SPYI_FN const spyi_type *spyi_pair_with_fields(spyi_attempt *a, const spyi_type *type);
// The part of a DifferentialPair that the field of an argument is for: 0 its value, 1 its gradient, 2 none.
SPYI_FN uint32_t spyi_part_of_pair(const char *name);
// Refuses a DifferentialPair in a call that computes gradients.
SPYI_FN bool spyi_no_derived_pair(spyi_attempt *a, const char *path, const spyi_type *type);

// bind.c
// Matches value number `index` (and its fields) to a parameter or field of `type`; the new node's number in *node_out.
SPYI_FN bool spyi_bind_value(spyi_attempt *a, uint32_t index, const spyi_type *type, const char *name,
                             const char *path, bool in, bool out, int32_t *node_out);
// For each parameter the index of its top-level value, or -1; the result's value in *result.
SPYI_FN bool spyi_match_names(spyi_attempt *a, const spyi_signature *signature, int32_t *of_param,
                              int32_t *result);
// Binds parameters and result once every parameter type is known.
SPYI_FN bool spyi_bind_params(spyi_attempt *a, const spyi_signature *signature, const spyi_type *const *types,
                              const int32_t *of_param, int32_t result);

// bind_input.c
// Match one value to a shader parameter of `type`, which takes it once and not by element. `bound` gets leaves and nodes.
SPYI_FN spy_status spyi_bind_input(spy_function *function, const spyi_values *values, uint32_t index,
                                   const spyi_type *type, const char *path, spyi_bound *bound,
                                   spyi_text *error);

// gradient.c, for calls that compute gradients
// An output that is not computed: only its sizes are looked at. `pair`: its gradient's value, or 0.
SPYI_FN bool spyi_bind_unused(spyi_attempt *a, spyi_leaf *leaf, const spyi_value *v, uint32_t pair);
// The gradients of value `index`, which leaf `number` stands for, become leaves of their own.
SPYI_FN bool spyi_bind_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair);
// The same of a tensor that is taken whole.
SPYI_FN bool spyi_bind_whole_gradients(spyi_attempt *a, uint32_t number, uint32_t index, uint32_t pair);
// Whether the call has gradients enough to be worth making, of a function that has a derivative.
SPYI_FN bool spyi_check_gradients(spyi_attempt *a, const spyi_signature *signature);

#endif // SPYI_BIND_INTERNAL_H
