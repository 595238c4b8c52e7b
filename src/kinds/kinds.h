// The kinds, as the other rooms ask for them: by a parameter's type, or by name where a parameter has no other.
#ifndef SPYI_KINDS_H
#define SPYI_KINDS_H

#include "kinds/kind.h"

// parameter.c
// The kind that passes a tensor whole, or an address, to a parameter of such a type; NULL: there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// The kind of any other value: a number, host data, a tensor by element, a result. NULL: it has parts.
SPYI_FN const spyi_value_kind *spyi_kind_of_value(const spyi_value *value);
// The kind of an output that is not computed, as a backward call wants its gradient alone.
SPYI_FN const spyi_value_kind *spyi_kind_of_unused(void);
// What such a parameter takes, for messages; NULL: it is none.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type, spyi_target target);

// whole.c
// What a tensor is for a parameter "RWTensor<T, D>" that is still open: "RWTensor<float, 2>".
SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out);

// holder.c
// The kind of ConstantBuffer<T> and ParameterBlock<T> parameters, given whole or by fields, and of arrays of buffers.
SPYI_FN const spyi_value_kind *spyi_kind_of_holders(void);
// The kind of T[] itself, whose field is an address, which the device fills in, and a count.
#define SPYI_UNSIZED_BYTES 16u
SPYI_FN const spyi_value_kind *spyi_kind_of_unsized(void);
SPYI_FN uint32_t spyi_unsized_stride(const spyi_type *type); // bytes of an element

// system.c
// An argument for a parameter that the system fills.
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);

// number.c and array.c: what packing a block calls for the commonest kinds, without their tables
SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg,
                              uint8_t *out); // false: it does not fit
SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out); // likewise
SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);

#endif // SPYI_KINDS_H
