// Tensors: N-dimensional strided views of device memory with a Slang element type (Slang's NDBuffer and Tensor).
#ifndef SPY_API_TENSOR_H
#define SPY_API_TENSOR_H

#include "api/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_tensor spy_tensor;

// What a tensor is and what it holds. All zero: one float, undefined.
typedef struct spy_tensor_desc {
    spy_shape shape;          // default: rank 0, one element; sizes may be 0
    spy_dtype dtype;          // scalar elements; default float32
    const char *type;         // Slang element type instead: "float3", "float4x4", "Particle", ...; "void" is memory in bytes,
                              // which goes to buffers and pointers of any type, laid out by the scalar rules
    spy_module *module;       // where `type` is looked up when it is not built in
    const void *data;         // initial contents, row-major, elements in C's layout; NULL: undefined
    size_t data_size_bytes;   // of data; 0: as many as the shape needs; else must match
    const char *label;        // name in debug tools and messages
    spy_tensor *like;         // a tensor whose shape (when `shape` has rank 0) and element type (without dtype and type) to take
    bool zeroed;              // contents are zero; not together with data
    bool with_grad;           // with a gradient tensor of the same shape, zeroed: see api/gradient.h. Float elements only
    spy_tensor *grad_in;      // instead: the gradient that calls read (retained), for outputs of backward calls
    spy_tensor *grad_out;     // and the one that backward calls add to, for inputs; NULL: none
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_tensor_desc;

// Create a tensor. NULL on failure. Released by the caller, or with the device. Threads: any.
// Cost: no driver call when the pool has a block of that size; a copy of data.
SPY_API spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc);
// One more holder of the tensor, which then needs one more release. Threads: any.
SPY_API void spy_retain_tensor(spy_tensor *tensor);
// Before the device is released, as all uses of its objects. Threads: any, at any time; calls in flight keep the memory until
// they are done. NULL is ignored.
SPY_API void spy_release_tensor(spy_tensor *tensor);

// Copy all elements to `data`, row-major, in C's layout; waits for exactly the work that writes the tensor.
// size_bytes must be the tensor's size, spy_tensor_info.host_size_bytes. Threads: any.
SPY_API spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes);
// Copy `data` into all elements; `data` may change after the return. Threads: any.
SPY_API spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes);
// The same for elements first .. first + count in row-major order, whatever the strides. Threads: any.
SPY_API spy_status spy_tensor_read_range(spy_tensor *tensor, int64_t first, int64_t count, void *data,
                                         size_t size_bytes);
SPY_API spy_status spy_tensor_write_range(spy_tensor *tensor, int64_t first, int64_t count, const void *data,
                                          size_t size_bytes);
// Set every scalar of every element to `value`, converted to its type. Threads: any.
SPY_API spy_status spy_tensor_fill(spy_tensor *tensor, double value);
// Set every element to one value in C's layout: size_bytes is one element's size. Threads: any.
SPY_API spy_status spy_tensor_fill_data(spy_tensor *tensor, const void *element, size_t size_bytes);
// Copy the elements of `from` to those of `to`, which has the same shape; strides may be any. The types are the same, or
// scalars, vectors, matrices or arrays of the same sizes: then each scalar is converted as host data is, and one that does
// not fit is SPY_ERROR_OUT_OF_RANGE and nothing is written. The two may overlap: `from` is read first. Elements of
// `to` must not lie at one place. Threads: any.
// Cost: of one type and in runs of 4 KiB and more, or of few: the device copies and nothing is waited for. Else the
// elements go through host memory; a Slang function (float copy(float x) { return x; }) is then faster.
SPY_API spy_status spy_tensor_copy(spy_tensor *to, spy_tensor *from);

// Describe a tensor's contents as numpy prints arrays: a line with type and shape, then nested brackets, columns aligned,
// floats with up to 8 decimals; above 1,000 scalars the first and last 3 of each dimension, which alone are downloaded.
// Vectors, matrices and arrays print as further dimensions, structs as {field: value}. Works like snprintf: writes at
// most `capacity` bytes with the NUL, returns the text's length without it; 0 on error. Threads: any.
SPY_API size_t spy_tensor_print(spy_tensor *tensor, char *text, size_t capacity);

// The GPU's address of the first element, for pointers in structs and for the backend's own API. Valid as long as
// something holds the memory. What kernels do through it is not seen: order such calls by spy_wait(). 0 and
// SPY_ERROR_UNSUPPORTED without SPY_FEATURE_POINTERS. Threads: any.
SPY_API uint64_t spy_tensor_address(spy_tensor *tensor);

// What a tensor is.
typedef struct spy_tensor_info {
    spy_shape shape;
    spy_shape strides;        // in elements; 0 for broadcast dimensions
    spy_dtype dtype;          // SPY_DTYPE_DEFAULT when elements are not scalars
    const char *type;         // Slang's name of the element type; lives as long as the device
    int64_t element_count;
    size_t element_size_bytes;  // on the device, the distance of neighbours
    size_t host_size_bytes;     // of all elements in C's layout
    int64_t offset_elements;    // of element 0 in its storage
    bool is_contiguous;
} spy_tensor_info;

// Threads: any. NULL: all zero.
SPY_API spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor);

// A view shares its tensor's memory and keeps it alive. All are released by the caller.
typedef struct spy_view_desc {
    spy_shape shape;
    spy_shape strides;        // in elements of the view's type; rank 0: row-major
    int64_t offset_elements;  // from the tensor's first element, in elements of the view's type
    const char *type;         // another element type; NULL: the tensor's own
    spy_module *module;       // where `type` is looked up
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_view_desc;
// Any view whose elements all lie inside the tensor's storage; else an error that says which index does not.
SPY_API spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc);
// Stretch dimensions of size 1 and add leading ones, as numpy.broadcast_to: no copy, strides of 0.
SPY_API spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape);
// tensor[..., start:stop:step, ...] in dimension `dim` as in Python: negative positions count from the end, a negative
// step walks backwards, SPY_INDEX_NONE leaves start or stop out. Short for spy_create_indexed() with spy_index_range() there.
SPY_API spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop,
                                     int64_t step);
// tensor[..., index, ...]: the dimension disappears. Short for spy_create_indexed() with spy_index_at() there.
SPY_API spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index);

#define SPY_INDEX_NONE INT64_MIN // a start or stop that is left out

// What an item of an index list takes.
typedef enum spy_index_kind {
    SPY_INDEX_KIND_DEFAULT = 0, // as AT: an item that is all zero is index 0
    SPY_INDEX_KIND_AT,          // start: the index
    SPY_INDEX_KIND_RANGE,       // start:stop:step
    SPY_INDEX_KIND_REST,        // as many whole dimensions as the other items leave
    SPY_INDEX_KIND_NEW          // a new dimension of size 1
} spy_index_kind;

// One item of an index list. Filled by the spy_index_* functions.
typedef struct spy_index {
    spy_index_kind kind;
    int64_t start, stop, step;
} spy_index;

// A list of items, from the first dimension on; see SPY_INDICES.
typedef struct spy_indices {
    const spy_index *items;
    size_t count;
} spy_indices;

SPY_API spy_index spy_index_at(int64_t index); // i: the dimension disappears
SPY_API spy_index spy_index_range(int64_t start, int64_t stop, int64_t step); // start:stop:step
SPY_API spy_index spy_index_all(void);  // : a whole dimension
SPY_API spy_index spy_index_rest(void); // ... as many whole dimensions as the other items leave
SPY_API spy_index spy_index_new(void);  // numpy.newaxis, a new dimension of size 1

// SPY_INDICES(spy_index_at(2), spy_index_rest()): indices for the call that they stand in. As SPY_ARGS they are good until the end of
// the block in C and of the statement in C++, where `spy_indices i = SPY_INDICES(...)` does not compile.
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

// numpy's basic indexing in one step: tensor[2, 1:8:3, ..., ::-1] is SPY_INDICES(spy_index_at(2), spy_index_range(1, 8, 3),
// spy_index_rest(), spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1)). Dimensions that no item names stay whole.
SPY_API spy_tensor *spy_create_indexed(spy_tensor *tensor, spy_indices indices);
// The elements in the same order under other sizes, as numpy.reshape; one size may be -1. Never copies: strides that do not
// allow a view are an error that names the dimensions.
SPY_API spy_tensor *spy_create_reshape(spy_tensor *tensor, spy_shape shape);
// The same bytes as another element type, as numpy.ndarray.view: "uint", "float3", or a struct of `module` (else NULL).
// Types of one size on the device keep the shape; else the last dimension, which must be contiguous, is cut anew.
SPY_API spy_tensor *spy_create_view_as(spy_tensor *tensor, const char *type, spy_module *module);
// Elements as scalars with further dimensions: float3 (100) is float (100, 3), float4x4 (N) is float (N, 4, 4), int[5]
// is int (..., 5); a struct whose scalars are all of one type gets one dimension for them. Scalars stay as they are.
SPY_API spy_tensor *spy_create_flat_view(spy_tensor *tensor);
// The dimensions in another order, as numpy.transpose.
SPY_API spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order);
// Make `tensor` (a view) see other storage of the same shape, strides and type: what `other` sees.
SPY_API spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_TENSOR_H
