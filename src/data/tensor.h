// Tensors: elements of a type in a block of device memory.
#ifndef SPYI_TENSOR_H
#define SPYI_TENSOR_H

#include "data/memory.h"
#include "data/type.h"

struct spy_tensor {
    spyi_object object;
    spyi_storage *storage;
    uint64_t serial;          // never again another tensor of the device, nor this one after it changed
    const spyi_type *type;    // element
    spy_shape shape, strides; // strides in elements; dims beyond the rank are 0
    uint64_t offset_bytes;    // of element 0 in the storage
    uint64_t begin_bytes, end_bytes; // what elements touch in the storage; equal when there are none
    int64_t element_count;           // up to here a tensor's geometry: compared as bytes
    bool contiguous;
    const char *label;           // ours, or ""
    spy_tensor *previous, *next; // in device.tensors; next also among the dead
    spy_tensor *grads[2];        // SPYI_GRAD_IN, SPYI_GRAD_OUT: one reference each; NULL: none
    int64_t grad_shift[2]; // of a view being made: bytes from its elements to those of its parent's gradients
    const spyi_type *grad_type; // ... the parent's element type
    bool grads_follow;          // ... the gradients are to be seen in the same way
};

// Gradients of a tensor: what calls read, and what they add to. Both may be the same tensor.
enum { SPYI_GRAD_IN, SPYI_GRAD_OUT };

// >>tensor.c
SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor); // out of the list of the living, before spyi_tensor_free
SPYI_FN spy_tensor *spyi_tensor_new(
    spy_device *device); // header with reference 1 and no storage; NULL: out of memory
SPYI_FN void spyi_tensor_free(spy_tensor *tensor); // at reference 0, inside the device
SPYI_FN void spyi_tensors_attach(spy_device *device);
SPYI_FN void spyi_tensors_free_all(spy_device *device); // at the device's release
// A contiguous tensor on fresh memory.
SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status);
// Computes element_count, contiguous, begin_bytes and end_bytes of a tensor whose type, shape, strides and offset are set.
SPYI_FN void spyi_tensor_measure(spy_tensor *tensor);
SPYI_FN spy_shape spyi_row_major(const spy_shape *shape);
// A shape stands for at most this many bytes, also where broadcasting repeats elements: sums and products of sizes,
// offsets and strides then fit into 63 bits, and no place that computes with them has to look again.
#define SPYI_MOST_BYTES ((int64_t)1 << 60)
SPYI_FN int64_t
spyi_shape_count(const spy_shape *shape); // -1: negative size or more than SPYI_MOST_BYTES elements
// Whether elements of that type, in host or device layout, stay within SPYI_MOST_BYTES, and no size is negative.
SPYI_FN bool spyi_shape_holds(const spy_shape *shape, const spyi_type *type);
// Says why spyi_shape_holds() said no; `name`: what the shape is, "desc.shape".
SPYI_FN spy_status spyi_fail_too_large(const spy_shape *shape, const spyi_type *type, const char *name,
                                       spyi_text *error);
SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out); // "(480, 640)"
// A tensor's element type from a desc: dtype or name; NULL: error reported under `function`.
SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function);

// The name of an element type as spy_create_tensor takes it.
SPYI_FN const char *spyi_type_user_name(const spyi_type *type);
// Whether `size_bytes` bytes are what `count` elements of the tensor have in C's layout.
SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error);
// Elements first .. first + count are the tensor's; else SPY_ERROR_OUT_OF_RANGE, reported.
SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count);

// >>tensor_overlap.c
// Whether two elements of the tensor can lie at one place. Exact for slices, transposes and broadcasts; for stranger
// strides it may say so though they do not.
SPYI_FN bool spyi_tensor_overlaps_itself(const spy_tensor *tensor);
// Whether an element of one can touch an element of the other.
SPYI_FN bool spyi_tensors_overlap(const spy_tensor *a, const spy_tensor *b);
// ... by their first and last bytes alone: true of the columns of one matrix, too.
static inline bool spyi_tensors_may_overlap(const spy_tensor *a, const spy_tensor *b) {
    return a->storage == b->storage && a->begin_bytes < b->end_bytes && b->begin_bytes < a->end_bytes;
}

// >>transfer.c
// Elements first .. first + count in row-major order, to or from packed host memory in C's layout.
SPYI_FN spy_status spyi_tensor_move(spy_tensor *tensor, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error);
SPYI_FN spy_status spyi_tensor_download(spy_tensor *tensor, void *data, spyi_text *error); // all of them
SPYI_FN spy_status spyi_tensor_upload(spy_tensor *tensor, const void *data, spyi_text *error);
// A grid of a tensor's elements from its first one on. Rank as for a tensor with each dimension cut in two.
typedef struct spyi_box {
    uint32_t rank;
    int64_t dims[2 * SPY_MAX_RANK], strides[2 * SPY_MAX_RANK]; // strides in elements
} spyi_box;
SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *tensor, const spyi_box *box, void *data,
                                            spyi_text *error);

// >>copy.c
// Every scalar set to `value`; and whether the GPU can do that by repeating `pattern`.
SPYI_FN spy_status spyi_fill_tensor(spy_tensor *tensor, double value, spyi_text *error);
SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *tensor, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error);
// Sets each element to one value in C's layout; NULL: to zeros.
SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error);

// >>view.c
// A view of `parent`, like it in everything; the caller changes it and measures it. NULL: reported.
SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function);

// >>gradient.c
// Finds a type by its name in what `object` is; NULL: there is none.
typedef struct spyi_type_finder {
    const spyi_type *(*find)(void *object, const char *name);
    void *object; // NULL: nothing is found
} spyi_type_finder;
// The type of a value's gradient, in Slang T.Differential: NULL where it has none. `finder` is for structs.
SPYI_FN const spyi_type *spyi_differential(spyi_types *types, const spyi_type_finder *finder,
                                           const spyi_type *type);
// The gradients that a new tensor's desc asks for; false: reported.
SPYI_FN bool spyi_gradients_make(spy_tensor *tensor, const spy_tensor_desc *desc, const char *function);
// A view that is being made gets views of its parent's gradients as soon as it is measured.
SPYI_FN void spyi_gradients_inherit(spy_tensor *view, const spy_tensor *parent);
SPYI_FN void spyi_gradients_follow(spy_tensor *view);
SPYI_FN void spyi_gradients_drop(spy_tensor *tensor);
SPYI_FN void spyi_gradients_share(spy_tensor *tensor, const spy_tensor *from); // the same ones

#endif // SPYI_TENSOR_H
