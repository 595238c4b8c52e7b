// The kinds, as the other rooms ask for them: by a parameter's type, or by name where a parameter has no other.
#ifndef SPYI_KINDS_H
#define SPYI_KINDS_H

#include "kinds/kind.h"

// parameter.c
// The kind that passes the value to a parameter of a type: the value's own, one for such parameters, or one for such values.
// NULL: it has parts.
SPYI_FN const spyi_value_kind *spyi_kind_of(const spyi_type *type, const spyi_value *value);
// ... that passes a tensor whole, or an address, to a parameter of a type of its own; NULL: there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// ... of a number, host data, a tensor by element or a result, whatever the parameter is.
SPYI_FN const spyi_value_kind *spyi_kind_of_value(const spyi_value *value);
// The kind of an output that is not computed, as a backward call wants its gradient alone.
SPYI_FN const spyi_value_kind *spyi_kind_of_unused(void);
// The kind of what is given by parts: ConstantBuffer<T> and ParameterBlock<T> parameters, arrays of buffers, and T[] itself.
SPYI_FN const spyi_value_kind *spyi_kind_of_parts(const spyi_type *type);
// The kind by which a recipe knows it: its name, and what is true of it. NULL: there is none, or it is an argument's own, which its
// value tells (spyi_value.custom).
SPYI_FN const spyi_value_kind *spyi_kind_known(const char *name, uint32_t traits, uint8_t field_op);
SPYI_FN bool spyi_kind_is(const spyi_value_kind *kind, const char *name, uint32_t traits, uint8_t field_op);
// What a parameter of a type of its own takes, for messages; NULL: it is none. `rules` may be NULL where only that is asked.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type, const spyi_rules *rules);

// system.c
// An argument for a parameter that the system fills.
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);

// number.c and array.c: what packing a block calls for the commonest kinds, without their tables
SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg,
                              uint8_t *out); // false: it does not fit
SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out); // likewise
SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);

#endif // SPYI_KINDS_H
