// Tensors: N-dimensional strided arrays in device memory with a Slang element type (Slang's NDBuffer and
// Tensor).
#ifndef SPY_API_TENSOR_H
#define SPY_API_TENSOR_H

#include "api/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_tensor spy_tensor;

// Options of a new tensor. All zero means one float with undefined value.
typedef struct spy_tensor_desc {
    spy_shape shape;          // rank 0 is one element; sizes may be 0
    spy_dtype dtype;          // the type of scalar elements; default: float32
    const char *type;         // Slang element type, instead of dtype: "float3", "float4x4", "Particle", ...;
                              // "void": elements are bytes, for buffers and pointers of any type, whose
                              // layout is Slang's scalar layout
    spy_module *module;       // module in which `type` is looked up when it is not built in
    const void *data;         // initial contents, row-major, elements in C's layout, copied; NULL means
                              // undefined
    size_t data_size_bytes;   // the bytes of data; 0 means as many as the shape needs, and any other number
                              // must be that size
    const char *label;        // the name in debug tools and messages
    spy_tensor *like;         // a tensor that provides the shape (when `shape` has rank 0) and the element
                              // type (when neither dtype nor type is set)
    bool zeroed;              // set the contents to zero; not together with data
    bool with_grad;           // create a zeroed gradient tensor of the same shape, see api/gradient.h; for
                              // float elements only
    spy_tensor *grad_in;      // instead of with_grad: the gradient that calls read (retained), for outputs of
                              // backward calls
    spy_tensor *grad_out;     // the gradient that backward calls add to (retained), for inputs; NULL if there
                              // is none
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_tensor_desc;

// Creates a tensor. Returns NULL on failure. The caller releases it, or it is released with the device.
// Threads: any. Cost: no driver call when the pool has a block of that size; one copy of data.
SPY_API spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc);
// Adds one reference to the tensor, which then needs one more release. Threads: any.
SPY_API void spy_retain_tensor(spy_tensor *tensor);
// Drops one reference; the last one frees the tensor. Call it before the device is released. Calls in flight
// keep the memory until they are done. NULL is ignored. Threads: any, at any time.
SPY_API void spy_release_tensor(spy_tensor *tensor);

// Copies all elements to `data`, row-major, in C's layout; waits for exactly the work that writes the tensor.
// size_bytes must be spy_tensor_info.host_size_bytes. Threads: any.
SPY_API spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes);
// Copies `data`, row-major, in C's layout, into all elements; `data` may change after the return. size_bytes
// must be spy_tensor_info.host_size_bytes. Threads: any.
SPY_API spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes);
// Read or write only `count` elements, from element `first` on in row-major order, whatever the strides.
// size_bytes must be the size of these elements in C's layout. Threads: any.
SPY_API spy_status spy_tensor_read_range(spy_tensor *tensor, int64_t first, int64_t count, void *data,
                                         size_t size_bytes);
SPY_API spy_status spy_tensor_write_range(spy_tensor *tensor, int64_t first, int64_t count, const void *data,
                                          size_t size_bytes);
// Sets every scalar of every element to `value`, converted to the scalar's type. Threads: any.
SPY_API spy_status spy_tensor_fill(spy_tensor *tensor, double value);
// Sets every element to the value at `element`, in C's layout. size_bytes must be one element's size.
// Threads: any.
SPY_API spy_status spy_tensor_fill_data(spy_tensor *tensor, const void *element, size_t size_bytes);
// Copies the elements of `from` to `to`, which must have the same shape and may have other strides. The
// element types must be the same, or scalars, vectors, matrices or arrays of the same sizes. Scalars of
// another type are converted by the rules for host data; if one does not fit, the function returns
// SPY_ERROR_OUT_OF_RANGE and writes nothing. The two tensors may overlap: `from` is read first. No two
// elements of `to` may share memory. Threads: any.
// Cost: when the types are equal and the contiguous runs of elements have at least 4 KiB or are few, the
// device copies and the host does not wait. Otherwise the elements go through host memory; a Slang function
// (float copy(float x) { return x; }) is then faster.
SPY_API spy_status spy_tensor_copy(spy_tensor *to, spy_tensor *from);

// Writes a tensor's contents as text, as numpy prints arrays: a line with type and shape, then nested
// brackets with aligned columns, floats with up to 8 decimals. Of more than 1,000 scalars, only the first and
// last 3 of each dimension are printed and downloaded. Vectors, matrices and arrays print as further
// dimensions, structs as {field: value}. Works like snprintf: writes at most `capacity` bytes including the
// NUL, and returns the text's length without the NUL; 0 on error. Threads: any.
SPY_API size_t spy_tensor_print(spy_tensor *tensor, char *text, size_t capacity);

// Returns the GPU address of the first element, for pointers in structs and for the backend's own API. It is
// valid as long as a tensor or a view keeps the memory alive. The library does not see what kernels read or
// write through this address: order such calls by spy_wait(). Returns 0 with SPY_ERROR_UNSUPPORTED without
// SPY_FEATURE_POINTERS. Threads: any.
SPY_API uint64_t spy_tensor_address(spy_tensor *tensor);

// The properties of a tensor.
typedef struct spy_tensor_info {
    spy_shape shape;
    spy_shape strides;        // the strides in elements; 0 for broadcast dimensions
    spy_dtype dtype;          // element type; SPY_DTYPE_DEFAULT when elements are not scalars
    const char *type;         // Slang's name of the element type; lives as long as the device
    int64_t element_count;
    size_t element_size_bytes;  // the size of an element on the device: the distance of neighbours in bytes
    size_t host_size_bytes;     // the size of all elements in C's layout
    int64_t offset_elements;    // the position of element 0 in the storage
    bool is_contiguous;
} spy_tensor_info;

// Returns the properties of a tensor; all zero for NULL. Threads: any.
SPY_API spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor);

// Options of spy_create_view(). A view is a tensor that shares the memory of another tensor and keeps that
// memory alive. The caller releases the views that the functions below return; they return NULL on failure.
// Threads: any, for all of them.
typedef struct spy_view_desc {
    spy_shape shape;
    spy_shape strides;        // the strides in elements of the view's type; rank 0 means row-major
    int64_t offset_elements;  // the offset from the tensor's first element, in elements of the view's type
    const char *type;         // Slang element type of the view; NULL means the tensor's type
    spy_module *module;       // module in which `type` is looked up
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_view_desc;
// Returns a view with any shape, strides and offset. All its elements must lie inside the tensor's storage;
// otherwise the error names an index that does not.
SPY_API spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc);
// Returns a view of the given shape, like numpy.broadcast_to: dimensions of size 1 are stretched and leading
// dimensions added, by strides of 0 and without a copy.
SPY_API spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape);
// Returns tensor[..., start:stop:step, ...] in dimension `dim`, as in Python: negative positions count from
// the end, a negative step walks backwards, SPY_INDEX_NONE omits start or stop. Short for
// spy_create_indexed() with spy_index_range() in that dimension.
SPY_API spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop,
                                     int64_t step);
// Returns tensor[..., index, ...], without dimension `dim`. Short for spy_create_indexed() with
// spy_index_at() in that dimension.
SPY_API spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index);

#define SPY_INDEX_NONE INT64_MIN // for a start or stop that is omitted

// The kind of an item in an index list.
typedef enum spy_index_kind {
    SPY_INDEX_KIND_DEFAULT = 0, // same as AT, so that an all-zero item is index 0
    SPY_INDEX_KIND_AT,          // one index, in `start`; the dimension disappears
    SPY_INDEX_KIND_RANGE,       // the indices start:stop:step
    SPY_INDEX_KIND_REST,        // all indices of as many dimensions as the other items leave
    SPY_INDEX_KIND_NEW          // a new dimension of size 1
} spy_index_kind;

// One item of an index list. Filled by the spy_index_* functions.
typedef struct spy_index {
    spy_index_kind kind;
    int64_t start, stop, step;
} spy_index;

// A list of index items for the dimensions of a tensor, from the first one on; see SPY_INDICES.
typedef struct spy_indices {
    const spy_index *items;
    size_t count;
} spy_indices;

SPY_API spy_index spy_index_at(int64_t index); // one index, whose dimension disappears
SPY_API spy_index spy_index_range(int64_t start, int64_t stop, int64_t step); // the indices start:stop:step
SPY_API spy_index spy_index_all(void);  // `:`, all indices of a dimension
SPY_API spy_index spy_index_rest(void); // `...`, all indices of as many dimensions as the other items leave
SPY_API spy_index spy_index_new(void);  // numpy.newaxis, a new dimension of size 1

// SPY_INDICES(spy_index_at(2), spy_index_rest()) makes a list of index items for the call in which it is
// written. Like SPY_ARGS it is valid until the end of the block in C, and until the end of the statement in
// C++, where `spy_indices i = SPY_INDICES(...)` does not compile.
#ifdef __cplusplus
} // extern "C"
template <size_t N> struct spyi_index_list {
    spy_index items[N];
    operator spy_indices() const & {
        return { items, N };
    }
    operator spy_indices() const && {
        static_assert(N == size_t(-1), "SPY_INDICES(...) is gone at the end of this statement, and spy_indices only points to it: "
                                       "write auto list = SPY_INDICES(...) and use the list");
        return { nullptr, 0 };
    }
};
template <class... T> inline spyi_index_list<sizeof...(T)> spyi_make_indices(const T &...items) {
    return { { items... } };
}
#define SPY_INDICES(...) spyi_make_indices(__VA_ARGS__)
extern "C" {
#else
#define SPY_INDICES(...)                                                                                      \
    ((spy_indices){ (const spy_index[]){ __VA_ARGS__ }, sizeof((spy_index[]){ __VA_ARGS__ }) / sizeof(spy_index) })
#endif

// Returns a view by numpy's basic indexing: tensor[2, 1:8:3, ..., ::-1] is SPY_INDICES(spy_index_at(2),
// spy_index_range(1, 8, 3), spy_index_rest(), spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1)).
// Dimensions without an item stay whole.
SPY_API spy_tensor *spy_create_indexed(spy_tensor *tensor, spy_indices indices);
// Returns a view of the same elements, in the same order, with another shape, like numpy.reshape; one size
// may be -1. It never copies: when the strides do not allow a view, the error names the dimensions.
SPY_API spy_tensor *spy_create_reshape(spy_tensor *tensor, spy_shape shape);
// Returns a view of the same bytes with another element type, like numpy.ndarray.view: "uint", "float3", or a
// struct of `module` (which may be NULL for built-in types). When both types have the same size on the
// device, the shape stays the same; otherwise the size of the last dimension, which must be contiguous,
// changes accordingly.
SPY_API spy_tensor *spy_create_view_as(spy_tensor *tensor, const char *type, spy_module *module);
// Returns a view whose elements are scalars, with further dimensions: a float3 tensor (100) becomes a float
// tensor (100, 3), float4x4 (N) becomes float (N, 4, 4), int[5] becomes int (..., 5). A struct whose scalars
// all have one type adds one dimension. A tensor of scalars keeps its shape.
SPY_API spy_tensor *spy_create_flat_view(spy_tensor *tensor);
// Returns a view with the dimensions in another order, like numpy.transpose.
SPY_API spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order);
// Makes `tensor` (a view) refer to the storage of `other`, which must have the same shape, strides and type.
SPY_API spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_TENSOR_H
