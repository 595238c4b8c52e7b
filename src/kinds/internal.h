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
// Whether the value is an argument of the leaf's own kind.
SPYI_FN bool spyi_kind_same(const spyi_leaf *leaf, const spyi_value *value);
// A value that lies in the parameter block as it is: its place there, the type of its field, and its expression. A number for a
// whole vector or matrix is one number.
SPYI_FN void spyi_kind_in_block(spyi_leaf *leaf);
SPYI_FN void spyi_kind_plain_field(const spyi_leaf *leaf, spyi_text *out);
SPYI_FN void spyi_kind_plain_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
// A field of the parameter's own type, and its value as it lies there.
SPYI_FN void spyi_kind_own_field(const spyi_leaf *leaf, spyi_text *out);
SPYI_FN void spyi_kind_own_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);

// The kinds for parameters of types of their own.
SPYI_FN const spyi_value_kind *spyi_unsized_kind_of(
    void); // T[], whose field is an address, which the device fills in, and a count
SPYI_FN const spyi_value_kind *spyi_holder_kind_of(
    void); // ConstantBuffer<T>, ParameterBlock<T>, arrays of buffers
SPYI_FN const spyi_value_kind *spyi_pointer_kind_of(void); // T*
SPYI_FN const spyi_value_kind *spyi_whole_kind_of(void);   // Tensor<T, D> and its sisters
SPYI_FN const spyi_value_kind *spyi_view_kind_of(void);    // TensorView<T> and DiffTensorView<T>
SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(void);  // StructuredBuffer<T> and its sisters
SPYI_FN bool spyi_is_buffer_address(const char *base);     // the buffer is the address of one element

// The kinds of values, whatever the parameter is: unless its type has a kind of its own.
SPYI_FN const spyi_value_kind *spyi_number_kind_of(void); // number.c
SPYI_FN const spyi_value_kind *spyi_bytes_kind_of(void);  // bytes.c
SPYI_FN const spyi_value_kind *spyi_array_kind_of(void);  // array.c: one value in the block, or run over
SPYI_FN const spyi_value_kind *spyi_tensor_kind_of(void); // tensor.c: by element
SPYI_FN const spyi_value_kind *spyi_new_kind_of(void);    // result.c: a new tensor
// Those that these make a leaf be when it is bound.
SPYI_FN const spyi_value_kind *spyi_filling_kind_of(
    void); // number.c: a number for a whole vector in a uniform buffer
SPYI_FN const spyi_value_kind *spyi_upload_kind_of(void);   // array.c: an array that is run over
SPYI_FN const spyi_value_kind *spyi_readback_kind_of(void); // result.c: one value that returns
// result.c: one value that returns to host memory. `spyi_kind_return` makes the leaf one.
SPYI_FN void spyi_kind_return(spyi_leaf *leaf);
// tensor.c: how the numbers of an array or tensor feed the leaf's type. false: fitting->hint says why they do not.
SPYI_FN bool spyi_kind_fit(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf, spyi_fit *fit);
// What a number or array holds that the parameter cannot: "expected int, got float that does not fit: 1.5".
SPYI_FN void spyi_kind_misfit(const spyi_leaf *leaf, const spyi_value *value, spyi_text *error);
// The scalar type of its elements on the device.
SPYI_FN spy_dtype spyi_kind_scalar(const spyi_leaf *leaf);

// whole_fill.c: the field of a tensor that is passed whole
// How many tensors are in it: the tensor, and its gradients behind it.
SPYI_FN uint32_t spyi_whole_parts(const spyi_leaf *leaf);
// A tensor's gradients that the kernel adds to, out of the field of such a tensor: a further pass must not add again.
SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field);
SPYI_FN uint32_t spyi_whole_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]);
SPYI_FN bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);

#endif // SPYI_KINDS_INTERNAL_H
