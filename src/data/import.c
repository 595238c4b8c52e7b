// Functions that backends call to import and export memory: they make tensors over memory that the library
// did not allocate, and return the memory of a tensor.
#include "data/device.h"

static spy_tensor *spyi_tensor_over(spy_device *device, const char *function, const spyi_chunk *chunk,
                                    uint64_t offset, uint64_t size, const spy_tensor_desc *desc) {
    spyi_context *ctx = &device->ctx;
    const char *problem = SPYI_DESC_PROBLEM(spy_tensor_desc, desc);
    if (problem) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
        return NULL;
    }
    if (!desc || desc->data || desc->like || desc->zeroed || desc->shape.rank > SPY_MAX_RANK) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: expected a desc with a valid shape and without data, like and zeroed", function);
        return NULL;
    }
    const spyi_type *type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (!type) return NULL;
    if (!spyi_shape_holds(&desc->shape, type)) {
        spyi_text error = { NULL, 0, 0 };
        spyi_fail_text(device, spyi_fail_too_large(&desc->shape, type, "desc.shape", &error), function,
                       &error);
        return NULL;
    }
    uint64_t stride = spyi_type_device_stride(type);
    uint64_t needed = (uint64_t)spyi_shape_count(&desc->shape) * stride;
    if (needed > size || offset % type->device_align) {
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                  "%s: the shape of %s needs %llu bytes at a multiple of %zu, got %llu at %llu", function,
                  type->display, (unsigned long long)needed, type->device_align, (unsigned long long)size,
                  (unsigned long long)offset);
        return NULL;
    }
    spyi_storage *storage = spyi_pool_import(device, chunk);
    spy_tensor *tensor = storage ? spyi_tensor_new(device) : NULL;
    if (!tensor) {
        spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    storage->resource.references++;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = desc->shape;
    tensor->strides = spyi_row_major(&desc->shape);
    tensor->offset_bytes = offset;
    tensor->label = spyi_strdup(desc->label);
    spyi_tensor_measure(tensor);
    if ((!desc->with_grad && !desc->grad_in && !desc->grad_out) ||
        spyi_gradients_make(tensor, desc, function))
        return tensor;
    spyi_tensor_unlink(tensor);
    spyi_tensor_free(tensor);
    return NULL;
}

static void spyi_tensor_place(const spy_tensor *tensor, spyi_chunk *chunk, uint64_t *offset_bytes) {
    *chunk = tensor->storage->chunk;
    *offset_bytes = tensor->storage->offset + tensor->offset_bytes;
}

static spyi_gpu *spyi_gpu_of(spy_device *device, const char *backend_name, const char *function) {
    if (strcmp(device->backend->name, backend_name) == 0) return device->gpu;
    spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s device, got a %s one", function,
              backend_name, device->backend->name);
    return NULL;
}

static const spyi_core spyi_core_of_devices = { spyi_gpu_of, spyi_tensor_over, spyi_tensor_place,
                                                spyi_take_reported };

SPYI_FN const spyi_core *spyi_device_core(void) {
    return &spyi_core_of_devices;
}
