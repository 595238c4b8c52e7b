// What the files of this room share.
#ifndef SPYI_KINDS_INTERNAL_H
#define SPYI_KINDS_INTERNAL_H

#include "api/generator.h"
#include "data/fit.h"
#include "data/type_name.h"
#include "kinds/kinds.h"

// Components that a parameter takes of a generator: 1 of a number, N of a vector or array of numbers; 0: it takes none.
SPYI_FN uint32_t spyi_kind_components(const spyi_type *type);
// `array`, an expression of as many `scalar`s, as a value of `type`. `reverse`: a vector takes the last one first.
SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out);
// "call_id<2>(element, shape)": the usual expression of a coordinate, converted.
SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) SPYI_PRINTF(5, 6);
// A field of the parameter's own type, and its value as it lies there.
SPYI_FN void spyi_kind_own_field(const spyi_leaf *leaf, spyi_text *out);
SPYI_FN void spyi_kind_own_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);

// The kind that binds a tensor to a parameter type of this name, without namespace and arguments; NULL: no such name.
SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(const char *base);  // "StructuredBuffer" and its sisters
SPYI_FN const spyi_value_kind *spyi_view_kind_of(const char *base);    // "TensorView" and "DiffTensorView"
SPYI_FN const spyi_value_kind *spyi_whole_kind_of(const char *base);   // "Tensor" and its sisters
SPYI_FN const spyi_value_kind *spyi_pointer_kind_of(const char *base); // "Ptr"
SPYI_FN bool spyi_is_typed_buffer(const char *base);
SPYI_FN bool spyi_is_buffer_address(const char *base); // the buffer is the address of one element

// whole_fill.c: the field of a tensor that is passed whole
// How many tensors are in it: the tensor, and its gradients behind it.
SPYI_FN uint32_t spyi_whole_parts(const spyi_leaf *leaf);
SPYI_FN bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);

#endif // SPYI_KINDS_INTERNAL_H
