// Tensors: N-dimensional strided views of device memory with a Slang element type (Slang's NDBuffer and Tensor).
#ifndef SPY_API_TENSOR_H
#define SPY_API_TENSOR_H

#include "api/module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_tensor spy_tensor;

typedef struct spy_tensor_desc {
    spy_shape shape;          // default: rank 0, one element; sizes may be 0
    spy_dtype dtype;          // scalar elements; default float32
    const char *type;         // Slang element type instead: "float3", "float4x4", "Particle", ...
    spy_module *module;       // where `type` is looked up when it is not built in
    const void *data;         // initial contents, row-major, elements in C's layout; NULL: undefined
    size_t data_size_bytes;   // of data; 0: as many as the shape needs; else must match
    const char *label;        // name in debug tools and messages
} spy_tensor_desc;

// Create a tensor. NULL on failure. Released by the caller, or with the device. Threads: one at a time a device.
// Cost: no driver call when the pool has a block of that size; a copy of data.
spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc);
void spy_retain_tensor(spy_tensor *tensor);
// Threads: any, at any time; calls in flight keep the memory until they are done. NULL is ignored.
void spy_release_tensor(spy_tensor *tensor);

// Copy all elements to `data`, row-major, in C's layout; waits for exactly the work that writes the tensor.
// size_bytes must be the tensor's size, spy_tensor_info.host_size_bytes. Threads: one at a time a device.
spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes);
// Copy `data` into all elements; `data` may change after the return. Threads: one at a time a device.
spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes);
// Set every scalar of every element to `value`, converted to its type. Threads: one at a time a device.
spy_status spy_tensor_fill(spy_tensor *tensor, double value);

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
spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor);

// A view shares its tensor's memory and keeps it alive. All are released by the caller.
typedef struct spy_view_desc {
    spy_shape shape;
    spy_shape strides;        // in elements of the view's type; rank 0: row-major
    int64_t offset_elements;  // from the tensor's first element, in elements of the view's type
    const char *type;         // another element type; NULL: the tensor's own
    spy_module *module;       // where `type` is looked up
} spy_view_desc;
// Any view whose elements all lie inside the tensor's storage; else an error that says which index does not.
spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc);
// Stretch dimensions of size 1 and add leading ones, as numpy.broadcast_to: no copy, strides of 0.
spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape);
// tensor[..., start:stop:step, ...] in dimension `dim` as in Python (negative counts from the end; step > 0).
spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop, int64_t step);
// tensor[..., index, ...]: the dimension disappears.
spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index);
// The dimensions in another order, as numpy.transpose.
spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order);
// Make `tensor` (a view) see other storage of the same shape, strides and type: what `other` sees.
spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_TENSOR_H
