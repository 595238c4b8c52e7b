// How other stages find the kind of a value: by the parameter's type, by the value, or by the kind's name.
#ifndef SPYI_KINDS_H
#define SPYI_KINDS_H

#include "kinds/kind.h"

// Returns the kind that passes the value to a parameter of `type`: the custom argument's own kind, or the
// kind for such parameters, or the kind for such values, in this order. NULL means that the value is given by
// its parts (parameter.c).
SPYI_FN const spyi_value_kind *spyi_kind_of(const spyi_type *type, const spyi_value *value);
// Returns the kind that passes a tensor whole, or an address, to a parameter such as RWTensor<T, D> or T*.
// NULL means that there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// Returns the kind of a number, host data, a tensor by element or a result, whatever the parameter is. NULL
// means that it is none of these.
SPYI_FN const spyi_value_kind *spyi_kind_of_value(const spyi_value *value);
// Returns the kind of an output that a backward call does not compute, because it needs only the output's
// gradient.
SPYI_FN const spyi_value_kind *spyi_kind_of_unused(void);
// Returns the kind of a parameter that is given by its parts: ConstantBuffer<T>, ParameterBlock<T>, an array
// of buffers, or T[].
SPYI_FN const spyi_value_kind *spyi_kind_of_parts(const spyi_type *type);
// Returns the kind of the gradient that a function itself adds to, for a value of this kind: a whole tensor.
SPYI_FN const spyi_value_kind *spyi_kind_of_inside(const spyi_value_kind *kind);
// Returns the end of a message that says what a parameter of `type` takes, or NULL when no kind is chosen by
// this type. `rules` may be NULL when the text does not matter.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type, const spyi_rules *rules);

// node.c
SPYI_FN const spyi_value_kind *spyi_node_kind_of(void); // the kind of a value of a graph, which no call takes
                                                        // (node.c)

// Returns an argument for a parameter whose value the GPU gives, such as SV_DispatchThreadID (system.c).
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);
// Returns whether the value stands for an input or output of a vertex or fragment shader: it has no leaf.
SPYI_FN bool spyi_is_varying(const spyi_value *value);

// Gives a leaf of Slang's own texture or sampler types, in a call of a derivative, the field that derivatives
// of its calls need (slang/slangpy_texture_plain.slang). Returns false when the type, such as RWTexture2D<T>,
// has no such field (diff_texture.c).
SPYI_FN bool spyi_plain_texture_adopt(spyi_leaf *leaf, const spyi_value *value);
SPYI_FN bool spyi_plain_sampler_adopt(spyi_leaf *leaf);
// Returns whether the leaf is a texture with a field for derivatives: one that spyi_plain_texture_adopt() has
// adopted, or a DiffTexture2D or the like.
SPYI_FN bool spyi_is_diff_texture(const spyi_leaf *leaf);
// Returns whether the leaf is a sampler with a field for derivatives: one that spyi_plain_texture_adopt() has
// adopted, or a DiffSamplerState.
SPYI_FN bool spyi_sampler_has_numbers(const spyi_leaf *leaf);
// Writes the statement by which a kernel notes a leaf's field for derivatives, called `field`. Returns false
// when the leaf has none. `slot` is the leaf's number among the textures.
SPYI_FN bool spyi_plain_note(const spyi_leaf *leaf, uint32_t slot, const char *field, spyi_text *out);
#define SPYI_MOST_NOTED 4 // the most textures of one kernel that are noted

// These functions write the commonest kinds into the block without a look at their tables. They return false
// when the value does not fit (number.c and array.c).
SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out);
SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out);
SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);

#endif // SPYI_KINDS_H
