// Functions that several files of src/kinds use.
#ifndef SPYI_KINDS_INTERNAL_H
#define SPYI_KINDS_INTERNAL_H

#include "api/generator.h"
#include "data/fit.h"
#include "data/texture_form.h"
#include "data/type_name.h"
#include "kinds/kinds.h"

// Returns how many numbers a parameter of `type` takes from a generator: 1 for a number, N for a vector or
// array of numbers, 0 when it takes none.
SPYI_FN uint32_t spyi_kind_components(const spyi_type *type);
// Writes a value of `type` made from `array`, the expression of an array of `scalar` with one number for each
// component of `type`. With `reverse` a vector gets the numbers in reverse order.
SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out);
// Formats an array expression such as "spyi_call_id<2>(element, shape)" and writes it converted to
// leaf->type.
SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) SPYI_PRINTF(5, 6);
// Returns whether the value is a custom argument of the leaf's own kind.
SPYI_FN bool spyi_kind_same(const spyi_leaf *leaf, const spyi_value *value);
// These functions are for values that lie in the parameter block. They set the size and alignment of the
// field, write the field's type, and write the value's expression. A number that stands for each component of
// a vector or matrix is one number in the block.
SPYI_FN void spyi_kind_in_block(spyi_leaf *leaf);
SPYI_FN void spyi_kind_plain_field(const spyi_leaf *leaf, spyi_text *out);
SPYI_FN void spyi_kind_plain_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
// Write a field of the parameter's own type, and the expression of that field.
SPYI_FN void spyi_kind_own_field(const spyi_leaf *leaf, spyi_text *out);
SPYI_FN void spyi_kind_own_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);

// These are kinds that are chosen by the parameter's type.
SPYI_FN const spyi_value_kind *spyi_unsized_kind_of(
    void); // is the kind of T[]: its field is an address, which the device fills in, and the number of
           // elements
SPYI_FN const spyi_value_kind *spyi_holder_kind_of(
    void); // is the kind of ConstantBuffer<T>, ParameterBlock<T> and arrays of buffers
SPYI_FN const spyi_value_kind *spyi_pointer_kind_of(void); // is the kind of T*
SPYI_FN const spyi_value_kind *spyi_handle_kind_of(void);  // is the kind of DescriptorHandle<T>
SPYI_FN const spyi_value_kind *spyi_whole_kind_of(void);   // is the kind of Tensor<T, D>, RWTensor<T, D>,
                                                           // DiffTensor<T, D> and the like
SPYI_FN const spyi_value_kind *spyi_view_kind_of(void); // is the kind of TensorView<T> and DiffTensorView<T>
SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(void);  // is the kind of StructuredBuffer<T>, Buffer<T>
                                                           // and the like
SPYI_FN bool spyi_is_buffer_address(const char *base);     // returns whether such a buffer is one element's
                                                           // address
SPYI_FN const spyi_value_kind *spyi_texture_kind_of(void); // is the kind of Texture2D<T>, RWTexture2D<T> and
                                                           // the like (texture.c)
SPYI_FN const spyi_value_kind *spyi_texels_kind_of(void);  // is the kind of textures that are passed texel by
                                                           // texel (texture.c)
SPYI_FN const spyi_value_kind *spyi_diff_texture_kind_of(void); // is the kind of DiffTexture2D<T> and the
                                                                // like (diff_texture.c)
// Reads the name of DiffTexture2D<T>, DiffSamplerState or the like, and gives the form of Texture2D<T>.
// Returns false when the name is none of these (diff_texture.c).
SPYI_FN bool spyi_diff_form_read(const char *name, spyi_texture_form *out);
SPYI_FN const spyi_value_kind *spyi_sampler_kind_of(void); // is the kind of samplers (sampler.c)
// Returns the number of a CUDA sampler, by which a texture and a sampler of one call are compared
// (sampler.c).
SPYI_FN int32_t spyi_sampler_identity(const spy_sampler *sampler);
// Writes the 12 numbers from which DiffSamplerState is made, in the order of its constructor (sampler.c).
SPYI_FN void spyi_sampler_fill(const spy_sampler *sampler, void *field);
SPYI_FN const spyi_value_kind *spyi_weights_kind_of(void); // is the kind of WeightTensor<T, Rows, Columns>
                                                           // (weights.c)

// These are kinds that are chosen by the value, for parameters whose type has no kind of its own.
SPYI_FN const spyi_value_kind *spyi_number_kind_of(void); // is the kind of numbers (number.c)
SPYI_FN const spyi_value_kind *spyi_bytes_kind_of(void);  // is the kind of host bytes (bytes.c)
SPYI_FN const spyi_value_kind *spyi_array_kind_of(void);  // is the kind of a host array that is one value in
                                                          // the block (array.c)
SPYI_FN const spyi_value_kind *spyi_tensor_kind_of(void); // is the kind of a tensor that is passed element by
                                                          // element (tensor.c)
SPYI_FN const spyi_value_kind *spyi_new_kind_of(void);    // is the kind of a result that is a new tensor
                                                          // (result.c)
// These are kinds to which the kinds above change a leaf when they bind it.
SPYI_FN const spyi_value_kind *spyi_filling_kind_of(
    void); // is the kind of a number for each component of a vector or matrix in a uniform buffer (number.c)
SPYI_FN const spyi_value_kind *spyi_upload_kind_of(void);   // is the kind of an array that is run over
                                                            // (array.c)
SPYI_FN const spyi_value_kind *spyi_readback_kind_of(void); // is the kind of one value that returns
                                                            // (result.c)
// Makes the leaf one value that returns to host memory (result.c).
SPYI_FN void spyi_kind_return(spyi_leaf *leaf);
// Finds how the numbers of an array or tensor feed the leaf's type (tensor.c). Returns false when they
// cannot, with the reason in fitting->hint.
SPYI_FN bool spyi_kind_fit(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf, spyi_fit *fit);
// Writes that the parameter cannot hold a number's or array's value: "expected int, got float that does not
// fit: 1.5".
SPYI_FN void spyi_kind_misfit(const spyi_leaf *leaf, const spyi_value *value, spyi_text *error);
// Returns the scalar type of the leaf's elements on the device.
SPYI_FN spy_dtype spyi_kind_scalar(const spyi_leaf *leaf);

// Returns how many tensors the field of a tensor that is passed whole holds: 1 for the tensor, and one for
// each gradient behind it (whole_fill.c).
SPYI_FN uint32_t spyi_whole_parts(const spyi_leaf *leaf);
SPYI_FN void spyi_whole_field(const spyi_leaf *leaf, spyi_text *out);
// The functions stop_adding, addresses and pack of spyi_kind_run.
SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field);
SPYI_FN uint32_t spyi_whole_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]);
SPYI_FN bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);

#endif // SPYI_KINDS_INTERNAL_H
