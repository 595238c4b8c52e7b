// Tensors: elements of a type in a block of device memory.
#ifndef SPYI_TENSOR_H
#define SPYI_TENSOR_H

#include "data/memory.h"
#include "data/type.h"

struct spy_tensor {
    spyi_object object;
    spyi_storage *storage;
    uint64_t serial; // unique on the device; a tensor that points to other storage gets a new one
    uint64_t
        like; // the spyi_launch_leaf.like of the last leaf that the tensor was found to repeat; 0 means none
    const spyi_type *type;           // the type of one element
    spy_shape shape, strides;        // strides count elements; dims beyond the rank are 0
    uint64_t offset_bytes;           // the offset of element 0 in the storage
    uint64_t begin_bytes, end_bytes; // the first and the end byte of all elements; both are equal without
                                     // elements
    int64_t element_count;           // the geometry, which is compared as bytes, is `shape` up to this member
    bool contiguous;
    const char *label;           // a copy of desc.label; NULL means that there is none
    spy_tensor *previous, *next; // links of the list device.tensors; `next` also links the list of released
                                 // headers
    spy_tensor *grads[2];  // gradients by SPYI_GRAD_*, with one reference each; NULL means that there is none
    int64_t grad_shift[2]; // set while a view is made: the bytes from its elements to their gradients
    const spyi_type *grad_type; // set while a view is made: the parent's element type
    bool grads_follow;          // set while a view is made: measuring the view makes views of `grads`
    bool listed;                // kernels may find its bytes by `number`: the 8 bytes of a DescriptorHandle
    uint64_t number;
    spy_tensor
        *sums; // exact sums of a gradient for deterministic calls, one uint4 for each number, zero between
               // calls; or NULL
    bool has_sums; // the sums are in device.summed
};

// A gradient of floats and its exact sums, to which the call in progress adds. *noted tells whether they are
// in device.summed.
typedef struct spyi_summed {
    spy_tensor *grad, *sums;
    bool *noted;
} spyi_summed;

// Indices into spy_tensor.grads: the gradient that calls read, and the one that they add to. Both may be the
// same tensor.
enum { SPYI_GRAD_IN, SPYI_GRAD_OUT };

// >>tensor.c
// Takes the tensor out of device.tensors; call it before spyi_tensor_free().
SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor);
// Returns a new header with reference 1 and no storage; NULL when out of memory.
SPYI_FN spy_tensor *spyi_tensor_new(spy_device *device);
SPYI_FN void spyi_tensor_free(spy_tensor *tensor); // is called at reference 0, inside the device
SPYI_FN void spyi_tensors_attach(spy_device *device);
SPYI_FN void spyi_tensors_free_all(spy_device *device); // is called at the device's release
// Returns a contiguous tensor on memory of its own, which is not set. NULL means failure; `error` and *status
// then say why.
SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status);
// Gives back the number of the tensor's handle (handle.c), if it has one.
SPYI_FN void spyi_tensor_unlist(spy_tensor *tensor);
// Computes element_count, contiguous, begin_bytes and end_bytes of a tensor whose type, shape, strides and
// offset are set.
SPYI_FN void spyi_tensor_measure(spy_tensor *tensor);
// Returns the row-major strides of a shape, in elements.
SPYI_FN spy_shape spyi_row_major(const spy_shape *shape);
// A shape stands for at most this many bytes, also where broadcasting repeats elements: sums and products of
// sizes, offsets and strides then fit into 63 bits, and code that computes with them need not check for
// overflow.
#define SPYI_MOST_BYTES ((int64_t)1 << 60)
// Returns the number of elements; -1 means that a size is negative, or there are more than SPYI_MOST_BYTES
// elements.
SPYI_FN int64_t spyi_shape_count(const spy_shape *shape);
// Returns whether no size is negative and the elements take at most SPYI_MOST_BYTES in host and in device
// layout.
SPYI_FN bool spyi_shape_holds(const spy_shape *shape, const spyi_type *type);
// Appends the reason why spyi_shape_holds() returned false and returns the status. `name` is the shape's, as
// in "desc.shape".
SPYI_FN spy_status spyi_fail_too_large(const spy_shape *shape, const spyi_type *type, const char *name,
                                       spyi_text *error);
SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out); // appends a text such as "(480, 640)"
// Returns the element type that a desc asks for by `dtype` or by the name `type`; NULL means that the error
// has been reported under `function`.
SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function);

// Returns the name of an element type in the form that spy_create_tensor() takes.
SPYI_FN const char *spyi_type_user_name(const spyi_type *type);
// Checks that `size_bytes` is the size of `count` elements of the tensor in C's layout, and that there is
// data.
SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error);
// Reports SPY_ERROR_OUT_OF_RANGE unless elements first .. first + count belong to the tensor.
SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count);

// >>tensor_overlap.c
// Returns whether two elements of the tensor can share bytes. The answer is exact for slices, transposes and
// broadcasts; for stranger strides it may be true though no elements share any.
SPYI_FN bool spyi_tensor_overlaps_itself(const spy_tensor *tensor);
// Returns whether an element of `a` can share bytes with an element of `b`.
SPYI_FN bool spyi_tensors_overlap(const spy_tensor *a, const spy_tensor *b);
// Compares only the first and last bytes, and so returns true for two columns of one matrix.
static inline bool spyi_tensors_may_overlap(const spy_tensor *a, const spy_tensor *b) {
    return a->storage == b->storage && a->begin_bytes < b->end_bytes && b->begin_bytes < a->end_bytes;
}

// >>transfer.c
// Copies elements first .. first + count, in row-major order, to or from packed host memory in C's layout.
SPYI_FN spy_status spyi_tensor_move(spy_tensor *tensor, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error);
// reads all elements
SPYI_FN spy_status spyi_tensor_download(spy_tensor *tensor, void *data, spyi_text *error);
SPYI_FN spy_status spyi_tensor_upload(spy_tensor *tensor, const void *data, spyi_text *error);
// A grid of a tensor's elements from its first one on. It may have two dimensions for each one of the tensor.
typedef struct spyi_box {
    uint32_t rank;
    int64_t dims[2 * SPY_MAX_RANK], strides[2 * SPY_MAX_RANK]; // strides count elements
} spyi_box;
SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *tensor, const spyi_box *box, void *data,
                                            spyi_text *error);

// >>copy.c
// spyi_fill_tensor() sets every scalar to `value`. spyi_fill_pattern() sets *repeats to whether the GPU can
// do so by repeating the 4 bytes of *pattern.
SPYI_FN spy_status spyi_fill_tensor(spy_tensor *tensor, double value, spyi_text *error);
SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *tensor, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error);
// Sets each element to one value in C's layout, or with `value` NULL to zeros.
SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error);

// >>view.c
// Returns a view with the type, shape, strides and offset of `parent`; the caller changes these and then
// calls spyi_tensor_measure(). NULL means that the error has been reported.
SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function);
// Makes the view that spy_create_view() makes of elements of `type`; desc->type and ->module are not looked
// at, and the ranks have been checked. NULL means that the error has been reported.
SPYI_FN spy_tensor *spyi_view_as(spy_tensor *tensor, const spyi_type *type, const spy_view_desc *desc,
                                 const char *function);

// >>gradient.c
// A function that finds a type by its name in `object` (a unit or a module) and returns NULL when there is
// none.
typedef struct spyi_type_finder {
    const spyi_type *(*find)(void *object, const char *name);
    void *object; // NULL means that nothing is found
} spyi_type_finder;
// Returns the type of a value's gradient, T.Differential in Slang; NULL means that it has none. `finder`
// finds those of structs.
SPYI_FN const spyi_type *spyi_differential(spyi_types *types, const spyi_type_finder *finder,
                                           const spyi_type *type);
// Gives a new tensor the gradients that its desc asks for; false means that the error has been reported.
SPYI_FN bool spyi_gradients_make(spy_tensor *tensor, const spy_tensor_desc *desc, const char *function);
// A view that is being made inherits its parent's gradients: it gets tensors over their memory, whose places follow from
// the view's when that is measured. false: out of host memory.
SPYI_FN bool spyi_gradients_inherit(spy_tensor *view, const spy_tensor *parent);
SPYI_FN void spyi_gradients_follow(spy_tensor *view);
SPYI_FN void spyi_gradients_drop(spy_tensor *tensor);
// Makes zeroed exact sums, one for each float of a gradient of this shape. On failure *status and `error` say why; sums that
// could not be zeroed are returned, too.
SPYI_FN spy_tensor *spyi_sums_make(spy_device *device, const spy_shape *shape, spyi_text *error,
                                   spy_status *status);
// spyi_sums_note() notes that the call in progress adds to these sums of a gradient, unless it is noted;
// spyi_sums_forget() removes the note.
SPYI_FN void spyi_sums_note(spy_device *device, spy_tensor *grad, spy_tensor *sums, bool *noted);
SPYI_FN void spyi_sums_forget(spy_device *device, const bool *noted);
// Makes the exact sums of a gradient, unless it has them, and notes them. Returns false with a reason in `error`.
SPYI_FN bool spyi_sums_use(spy_tensor *grad, spyi_text *error);
// Releases the exact sums of a gradient.
SPYI_FN void spyi_sums_drop(spy_tensor *grad);
// Makes `tensor` use the gradients of `from`.
SPYI_FN void spyi_gradients_share(spy_tensor *tensor, const spy_tensor *from);

#endif // SPYI_TENSOR_H
