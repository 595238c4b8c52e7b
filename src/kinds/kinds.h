// The kinds, as the other rooms ask for them: by a parameter's type, or by name where a parameter has no other.
#ifndef SPYI_KINDS_H
#define SPYI_KINDS_H

#include "kinds/kind.h"

// parameter.c
// The kind that passes a tensor whole, or an address, to a parameter of such a type; NULL: there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// What such a parameter takes, for messages; NULL: it is none. `rules` may be NULL where only that is asked.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type, const spyi_rules *rules);

// whole.c and whole_fill.c
// What a tensor is for a parameter "RWTensor<T, D>" that is still open: "RWTensor<float, 2>".
SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out);
// A tensor's gradients that the kernel adds to, out of the field of such a tensor: a further pass must not add again.
SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field);

// view.c
// Whether it is the kind of TensorView<T> and DiffTensorView<T> parameters.
SPYI_FN bool spyi_kind_is_view(const spyi_value_kind *kind);

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
// Whether the system fills it: no argument of the user's.
SPYI_FN bool spyi_is_system(const spyi_value *value);

#endif // SPYI_KINDS_H
