// Views: tensors that share the storage of another one under other shapes, strides and types.
#include "data/device.h"

// A view of `parent` with everything but its measures set by the caller.
static spy_tensor *spyi_view_new(spy_tensor *parent, const char *function) {
    spy_device *device = parent->object.device;
    spy_tensor *view = spyi_tensor_new(device);
    if (!view) {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    view->storage = parent->storage;
    view->storage->references++;
    view->type = parent->type;
    view->shape = parent->shape;
    view->strides = parent->strides;
    view->offset_bytes = parent->offset_bytes;
    return view;
}

// Checks that a view's elements lie within what the tensor itself sees, through its largest and smallest offset.
static bool spyi_view_fits(const spy_tensor *parent, const spy_view_desc *desc, const spy_shape *strides,
                           const spyi_type *type, const char *function) {
    spyi_context *ctx = &parent->object.device->ctx;
    int64_t stride_bytes = (int64_t)spyi_type_device_stride(type);
    int64_t first = (int64_t)parent->offset_bytes, begin = (int64_t)parent->begin_bytes,
            end = (int64_t)parent->end_bytes;
    int64_t limit = (end - begin) / stride_bytes + 1; // no offset beyond this can be inside
    int64_t lowest = desc->offset_elements, highest = desc->offset_elements;
    if (spyi_shape_count(&desc->shape) == 0 && lowest >= -limit && lowest <= limit)
        return true; // touches nothing
    bool inside = lowest >= -limit && lowest <= limit;
    for (uint32_t i = 0; i < desc->shape.rank && inside; i++) {
        int64_t n = desc->shape.dims[i], stride = strides->dims[i];
        if (n <= 1) continue;
        inside = stride >= -limit && stride <= limit && (stride == 0 || n - 1 <= limit);
        if (inside && stride > 0) highest += (n - 1) * stride;
        if (inside && stride < 0) lowest += (n - 1) * stride;
        inside = inside && lowest >= -limit && highest <= limit;
    }
    if (inside && first + lowest * stride_bytes >= begin && first + (highest + 1) * stride_bytes <= end)
        return true;
    spyi_text view = { NULL, 0, 0 }, shape = { NULL, 0, 0 };
    spyi_shape_text(&desc->shape, &view);
    spyi_shape_text(&parent->shape, &shape);
    spyi_fail(
        ctx, SPY_ERROR_OUT_OF_RANGE,
        "%s: a view of shape %s of %s with these strides and offset %lld reaches beyond the tensor %s of %s",
        function, spyi_text_str(&view), type->display, (long long)desc->offset_elements,
        spyi_text_str(&shape), parent->type->display);
    spyi_text_free(&view);
    spyi_text_free(&shape);
    return false;
}

spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc) {
    const char *function = "spy_create_view";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spyi_context *ctx = &device->ctx;
    spy_tensor *view = NULL;
    const spyi_type *type = NULL;
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (desc->shape.rank > SPY_MAX_RANK || spyi_shape_count(&desc->shape) < 0)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape is not valid", function);
    else if (desc->strides.rank && desc->strides.rank != desc->shape.rank)
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH, "%s: shape has rank %u, strides have %u", function,
                  desc->shape.rank, desc->strides.rank);
    else
        type = desc->type ? spyi_element_type(device, desc->module, SPY_DTYPE_DEFAULT, desc->type, function)
                          : tensor->type;
    if (type && tensor->offset_bytes % type->device_align) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: the tensor begins at byte %llu of its storage, %s needs a multiple of %zu", function,
                  (unsigned long long)tensor->offset_bytes, type->display, type->device_align);
        type = NULL;
    }
    if (type) {
        spy_shape strides = desc->strides.rank ? desc->strides : spyi_row_major(&desc->shape);
        if (spyi_view_fits(tensor, desc, &strides, type, function)) view = spyi_view_new(tensor, function);
        if (view) {
            view->type = type;
            view->shape = desc->shape;
            view->strides = strides;
            view->offset_bytes = (uint64_t)((int64_t)tensor->offset_bytes +
                                            desc->offset_elements * (int64_t)spyi_type_device_stride(type));
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape) {
    const char *function = "spy_create_broadcast";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    bool fits =
        shape.rank <= SPY_MAX_RANK && spyi_shape_count(&shape) >= 0 && shape.rank >= tensor->shape.rank;
    uint32_t lead = fits ? shape.rank - tensor->shape.rank : 0;
    for (uint32_t i = 0; fits && i < tensor->shape.rank; i++)
        fits = tensor->shape.dims[i] == 1 || tensor->shape.dims[i] == shape.dims[lead + i];
    if (!fits) {
        spyi_text text = { NULL, 0, 0 };
        spyi_shape_text(&tensor->shape, &text);
        spyi_text_add(&text, " cannot be broadcast to ");
        if (shape.rank > SPY_MAX_RANK) spyi_text_add(&text, "rank %u", shape.rank);
        else spyi_shape_text(&shape, &text);
        spyi_fail_text(device, SPY_ERROR_SHAPE_MISMATCH, function, &text);
    } else {
        view = spyi_view_new(tensor, function);
    }
    if (view) {
        view->shape = shape;
        memset(&view->strides, 0, sizeof view->strides);
        view->strides.rank = shape.rank;
        for (uint32_t i = 0; i < tensor->shape.rank; i++)
            if (tensor->shape.dims[i] == shape.dims[lead + i])
                view->strides.dims[lead + i] = tensor->strides.dims[i];
        spyi_tensor_measure(view);
    }
    spyi_leave(device);
    return view;
}

// Whether `dim` is a dimension of the tensor; reports if not.
static bool spyi_check_dim(const spy_tensor *tensor, uint32_t dim, const char *function) {
    if (dim < tensor->shape.rank) return true;
    spyi_fail(&tensor->object.device->ctx, SPY_ERROR_OUT_OF_RANGE, "%s: dimension %u of a tensor of rank %u",
              function, dim, tensor->shape.rank);
    return false;
}

spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop, int64_t step) {
    const char *function = "spy_create_slice";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    if (step <= 0)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a step above 0, got %lld", function,
                  (long long)step);
    else if (spyi_check_dim(tensor, dim, function)) view = spyi_view_new(tensor, function);
    if (view) {
        int64_t n = tensor->shape.dims[dim];
        if (start < 0) start = start < -n ? 0 : start + n;
        if (stop < 0) stop = stop < -n ? 0 : stop + n;
        if (start > n) start = n;
        if (stop > n) stop = n;
        int64_t count = stop > start ? (stop - start - 1) / step + 1 : 0;
        int64_t stride = tensor->strides.dims[dim];
        view->shape.dims[dim] = count;
        view->strides.dims[dim] = count > 1 ? stride * step : stride;
        if (count)
            view->offset_bytes += (uint64_t)(start * stride * (int64_t)spyi_type_device_stride(tensor->type));
        spyi_tensor_measure(view);
    }
    spyi_leave(device);
    return view;
}

spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index) {
    const char *function = "spy_create_select";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    if (spyi_check_dim(tensor, dim, function)) {
        int64_t n = tensor->shape.dims[dim];
        if (index < -n || index >= n)
            spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_RANGE, "%s: index %lld of dimension %u, which has %lld",
                      function, (long long)index, dim, (long long)n);
        else view = spyi_view_new(tensor, function);
        if (view) {
            int64_t at = index < 0 ? index + n : index;
            view->offset_bytes +=
                (uint64_t)(at * tensor->strides.dims[dim] * (int64_t)spyi_type_device_stride(tensor->type));
            view->shape.rank = view->strides.rank = tensor->shape.rank - 1;
            for (uint32_t i = dim; i < view->shape.rank; i++) {
                view->shape.dims[i] = tensor->shape.dims[i + 1];
                view->strides.dims[i] = tensor->strides.dims[i + 1];
            }
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

spy_tensor *spy_create_transpose(spy_tensor *tensor, spy_dims order) {
    const char *function = "spy_create_transpose";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    uint32_t seen = 0;
    bool valid = order.count == tensor->shape.rank;
    for (uint32_t i = 0; valid && i < order.count; i++) {
        valid = order.dims[i] >= 0 && (uint32_t)order.dims[i] < order.count && !(seen & 1u << order.dims[i]);
        if (valid) seen |= 1u << order.dims[i];
    }
    if (!valid)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: order must name each of the %u dimensions once", function, tensor->shape.rank);
    else view = spyi_view_new(tensor, function);
    if (view) {
        for (uint32_t i = 0; i < order.count; i++) {
            view->shape.dims[i] = tensor->shape.dims[order.dims[i]];
            view->strides.dims[i] = tensor->strides.dims[order.dims[i]];
        }
        spyi_tensor_measure(view);
    }
    spyi_leave(device);
    return view;
}

static bool spyi_same_dims(const spy_shape *a, const spy_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

spy_status spy_tensor_point_to(spy_tensor *tensor, spy_tensor *other) {
    const char *function = "spy_tensor_point_to";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spy_status status = SPY_OK;
    if (!spyi_as(other, SPYI_KIND_TENSOR) || other->object.device != device) {
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                           "%s: other is not a living tensor of this device", function);
    } else if (tensor->type != other->type || !spyi_same_dims(&tensor->shape, &other->shape) ||
               !spyi_same_dims(&tensor->strides, &other->strides)) {
        status = spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                           "%s: shape, strides and type of the two differ", function);
    } else if (other->storage != tensor->storage || other->offset_bytes != tensor->offset_bytes) {
        other->storage->references++;
        if (--tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
        tensor->storage = other->storage;
        tensor->offset_bytes = other->offset_bytes;
        spyi_tensor_measure(tensor);
    }
    spyi_leave(device);
    return status;
}
