// Views: tensors that share the storage of another one under other shapes and strides.
#include "data/device.h"

SPYI_FN spy_tensor *spyi_view_new(spy_tensor *parent, const char *function) {
    spy_device *device = parent->object.device;
    spy_tensor *view = spyi_tensor_new(device);
    if (!view) {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    view->storage = parent->storage;
    view->storage->resource.references++;
    view->type = parent->type;
    view->shape = parent->shape;
    view->strides = parent->strides;
    view->offset_bytes = parent->offset_bytes;
    if (spyi_gradients_inherit(view, parent)) return view;
    spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    spyi_object_release(&view->object);
    return NULL;
}

// Checks by its smallest and largest offset that a view's elements lie within the bytes of the tensor's
// elements.
static bool spyi_view_fits(const spy_tensor *parent, const spy_view_desc *desc, const spy_shape *strides,
                           const spyi_type *type, const char *function) {
    spyi_context *ctx = &parent->object.device->ctx;
    int64_t stride_bytes = (int64_t)spyi_type_device_stride(type);
    int64_t first = (int64_t)parent->offset_bytes, begin = (int64_t)parent->begin_bytes,
            end = (int64_t)parent->end_bytes;
    int64_t limit = (end - begin) / stride_bytes + 1; // the offsets of elements beyond this lie in no memory
    int64_t lowest = desc->offset_elements, highest = desc->offset_elements;
    // No stride may be longer than this, not even in a dimension of size 1.
    int64_t longest = SPYI_MOST_BYTES / stride_bytes;
    bool empty = spyi_shape_count(&desc->shape) == 0;
    bool inside = lowest >= -limit && lowest <= limit;
    for (uint32_t i = 0; i < desc->shape.rank && inside; i++) {
        int64_t n = desc->shape.dims[i], stride = strides->dims[i];
        inside = stride >= -longest && stride <= longest;
        if (n <= 1 || empty) continue;
        inside = stride >= -limit && stride <= limit && (stride == 0 || n - 1 <= limit);
        if (inside && stride > 0) highest += (n - 1) * stride;
        if (inside && stride < 0) lowest += (n - 1) * stride;
        inside = inside && lowest >= -limit && highest <= limit;
    }
    if (inside && first + lowest * stride_bytes >= begin && first + (highest + !empty) * stride_bytes <= end)
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

SPYI_FN spy_tensor *spyi_view_as(spy_tensor *tensor, const spyi_type *type, const spy_view_desc *desc,
                                 const char *function) {
    spy_device *device = tensor->object.device;
    if (tensor->offset_bytes % type->device_align) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: the tensor begins at byte %llu of its storage, %s needs a multiple of %zu", function,
                  (unsigned long long)tensor->offset_bytes, type->display, type->device_align);
        return NULL;
    }
    if (!spyi_shape_holds(&desc->shape, type)) {
        spyi_text error = { NULL, 0, 0 };
        spyi_fail_text(device, spyi_fail_too_large(&desc->shape, type, "desc.shape", &error), function,
                       &error);
        return NULL;
    }
    spy_shape strides = desc->strides.rank ? desc->strides : spyi_row_major(&desc->shape);
    if (!spyi_view_fits(tensor, desc, &strides, type, function)) return NULL;
    spy_tensor *view = spyi_view_new(tensor, function);
    if (!view) return NULL;
    view->type = type;
    view->shape = desc->shape;
    view->strides = strides;
    view->offset_bytes = (uint64_t)((int64_t)tensor->offset_bytes +
                                    desc->offset_elements * (int64_t)spyi_type_device_stride(type));
    spyi_tensor_measure(view);
    return view;
}

spy_tensor *spy_create_view(spy_tensor *tensor, const spy_view_desc *desc) {
    const char *function = "spy_create_view";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spyi_context *ctx = &device->ctx;
    const spyi_type *type = NULL;
    const char *problem = SPYI_DESC_PROBLEM(spy_view_desc, desc);
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (problem) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
    else if (desc->shape.rank > SPY_MAX_RANK)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has rank %u, at most %d are possible",
                  function, desc->shape.rank, SPY_MAX_RANK);
    else if (desc->strides.rank && desc->strides.rank != desc->shape.rank)
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH, "%s: shape has rank %u, strides have %u", function,
                  desc->shape.rank, desc->strides.rank);
    else
        type = desc->type ? spyi_element_type(device, desc->module, SPY_DTYPE_DEFAULT, desc->type, function)
                          : tensor->type;
    spy_tensor *view = type ? spyi_view_as(tensor, type, desc, function) : NULL;
    spyi_leave(device);
    return view;
}

spy_tensor *spy_create_broadcast(spy_tensor *tensor, spy_shape shape) {
    const char *function = "spy_create_broadcast";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    bool valid = shape.rank <= SPY_MAX_RANK && spyi_shape_holds(&shape, tensor->type);
    bool fits = valid && shape.rank >= tensor->shape.rank;
    uint32_t lead = fits ? shape.rank - tensor->shape.rank : 0;
    for (uint32_t i = 0; fits && i < tensor->shape.rank; i++)
        fits = tensor->shape.dims[i] == 1 || tensor->shape.dims[i] == shape.dims[lead + i];
    if (!fits) {
        spyi_text text = { NULL, 0, 0 };
        spyi_shape_text(&tensor->shape, &text);
        spyi_text_add(&text, " cannot be broadcast to ");
        if (shape.rank > SPY_MAX_RANK) spyi_text_add(&text, "rank %u", shape.rank);
        else if (!valid) (void)spyi_fail_too_large(&shape, tensor->type, "shape:", &text);
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

// >>indexing

spy_index spy_index_at(int64_t index) {
    spy_index item = { SPY_INDEX_KIND_AT, index, 0, 0 };
    return item;
}

spy_index spy_index_range(int64_t start, int64_t stop, int64_t step) {
    spy_index item = { SPY_INDEX_KIND_RANGE, start, stop, step };
    return item;
}

spy_index spy_index_all(void) {
    return spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, 1);
}

spy_index spy_index_rest(void) {
    spy_index item = { SPY_INDEX_KIND_REST, 0, 0, 0 };
    return item;
}

spy_index spy_index_new(void) {
    spy_index item = { SPY_INDEX_KIND_NEW, 0, 0, 0 };
    return item;
}

// Returns how many indices Python's slice(start, stop, step) selects of n; *first becomes the first of them.
// Source: docs.python.org, "Common sequence operations", notes 3 to 5.
static int64_t spyi_slice_count(const spy_index *item, int64_t n, int64_t *first) {
    int64_t step = item->step < -INT64_MAX ? -INT64_MAX : item->step, start = item->start, stop = item->stop,
            low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (start == SPY_INDEX_NONE) start = step < 0 ? high : low;
    else if (start < 0) start = start < -n ? low : start + n;
    else if (start > high) start = high;
    if (stop == SPY_INDEX_NONE) stop = step < 0 ? low : high;
    else if (stop < 0) stop = stop < -n ? low : stop + n;
    else if (stop > high) stop = high;
    *first = start;
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return stop < start ? (start - stop - 1) / -step + 1 : 0;
}

static bool spyi_index_is_at(const spy_index *item) {
    return item->kind == SPY_INDEX_KIND_DEFAULT || item->kind == SPY_INDEX_KIND_AT;
}

// Checks the items against the tensor: their number, indices and steps, and the view's rank. false means that
// the error has been reported.
static bool spyi_check_indices(const spy_tensor *tensor, spy_indices indices, const char *function) {
    spyi_context *ctx = &tensor->object.device->ctx;
    const spy_shape *shape = &tensor->shape;
    uint32_t taken = 0, made = 0, rests = 0, dim = 0;
    if (indices.count && !indices.items) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: indices has %zu items at NULL", function,
                  indices.count);
        return false;
    }
    for (size_t i = 0; i < indices.count; i++) {
        spy_index_kind kind = indices.items[i].kind;
        taken += spyi_index_is_at(&indices.items[i]) || kind == SPY_INDEX_KIND_RANGE;
        made += kind == SPY_INDEX_KIND_NEW;
        rests += kind == SPY_INDEX_KIND_REST;
    }
    if (taken > shape->rank) {
        spyi_fail(ctx, SPY_ERROR_OUT_OF_RANGE,
                  "%s: too many indices: the tensor has %u dimensions, the list names %u", function,
                  shape->rank, taken);
        return false;
    }
    if (rests > 1) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: spy_index_rest() can stand for the remaining dimensions once, not %u times", function,
                  rests);
        return false;
    }
    uint32_t rank = shape->rank + made;
    for (size_t i = 0; i < indices.count; i++) {
        const spy_index *item = &indices.items[i];
        int64_t n = dim < shape->rank ? shape->dims[dim] : 0;
        if (spyi_index_is_at(item)) {
            rank--;
            if (item->start < -n || item->start >= n) {
                spyi_fail(ctx, SPY_ERROR_OUT_OF_RANGE, "%s: index %lld of dimension %u, which has %lld",
                          function, (long long)item->start, dim, (long long)n);
                return false;
            }
        } else if (item->kind == SPY_INDEX_KIND_RANGE && item->step == 0) {
            spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: a step of 0 in dimension %u goes nowhere",
                      function, dim);
            return false;
        } else if ((uint32_t)item->kind > SPY_INDEX_KIND_NEW) {
            spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: item %zu has kind %d, which is none of spy_index_kind", function, i,
                      (int)item->kind);
            return false;
        }
        if (item->kind == SPY_INDEX_KIND_REST) dim += shape->rank - taken;
        else if (item->kind != SPY_INDEX_KIND_NEW) dim++;
    }
    if (rank <= SPY_MAX_RANK) return true;
    spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: the view would have rank %u, at most %d are possible",
              function, rank, SPY_MAX_RANK);
    return false;
}

static void spyi_view_add_dim(spy_tensor *view, int64_t n, int64_t stride) {
    view->shape.dims[view->shape.rank++] = n;
    view->strides.dims[view->strides.rank++] = stride;
}

// Applies checked items to the view: walks the tensor's dimensions from the first on and adds those of the
// view.
static void spyi_view_index(const spy_tensor *tensor, spy_indices indices, spy_tensor *view) {
    const spy_shape *shape = &tensor->shape, *strides = &tensor->strides;
    int64_t size = (int64_t)spyi_type_device_stride(tensor->type), at = 0;
    uint32_t dim = 0, taken = 0;
    for (size_t i = 0; i < indices.count; i++)
        taken += spyi_index_is_at(&indices.items[i]) || indices.items[i].kind == SPY_INDEX_KIND_RANGE;
    view->shape.rank = view->strides.rank = 0;
    for (size_t i = 0; i < indices.count; i++) {
        const spy_index *item = &indices.items[i];
        if (item->kind == SPY_INDEX_KIND_NEW) {
            spyi_view_add_dim(view, 1, 0);
        } else if (item->kind == SPY_INDEX_KIND_REST) {
            for (uint32_t end = dim + shape->rank - taken; dim < end; dim++)
                spyi_view_add_dim(view, shape->dims[dim], strides->dims[dim]);
        } else if (spyi_index_is_at(item)) {
            at += (item->start < 0 ? item->start + shape->dims[dim] : item->start) * strides->dims[dim];
            dim++;
        } else {
            int64_t first, count = spyi_slice_count(item, shape->dims[dim], &first);
            int64_t stride = strides->dims[dim++];
            if (count > 0) at += first * stride;
            spyi_view_add_dim(view, count, count > 1 ? stride * item->step : stride);
        }
    }
    for (; dim < shape->rank; dim++) spyi_view_add_dim(view, shape->dims[dim], strides->dims[dim]);
    if (tensor->element_count > 0) view->offset_bytes += (uint64_t)(at * size);
    spyi_tensor_measure(view);
}

static spy_tensor *spyi_create_indexed(spy_tensor *tensor, spy_indices indices, const char *function) {
    spy_tensor *view = NULL;
    if (spyi_check_indices(tensor, indices, function)) view = spyi_view_new(tensor, function);
    if (view) spyi_view_index(tensor, indices, view);
    return view;
}

spy_tensor *spy_create_indexed(spy_tensor *tensor, spy_indices indices) {
    const char *function = "spy_create_indexed";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *view = spyi_create_indexed(tensor, indices, function);
    spyi_leave(tensor);
    return view;
}

// Returns a view with `item` applied to dimension `dim` alone.
static spy_tensor *spyi_create_part(spy_tensor *tensor, uint32_t dim, spy_index item, const char *function) {
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *view = NULL;
    spy_index items[SPY_MAX_RANK];
    spy_indices indices = { items, (size_t)dim + 1 };
    if (dim < tensor->shape.rank) {
        for (uint32_t i = 0; i < dim; i++) items[i] = spy_index_all();
        items[dim] = item;
        view = spyi_create_indexed(tensor, indices, function);
    } else {
        spyi_fail(&tensor->object.device->ctx, SPY_ERROR_OUT_OF_RANGE,
                  "%s: dimension %u of a tensor of rank %u", function, dim, tensor->shape.rank);
    }
    spyi_leave(tensor);
    return view;
}

spy_tensor *spy_create_slice(spy_tensor *tensor, uint32_t dim, int64_t start, int64_t stop, int64_t step) {
    return spyi_create_part(tensor, dim, spy_index_range(start, stop, step), "spy_create_slice");
}

spy_tensor *spy_create_select(spy_tensor *tensor, uint32_t dim, int64_t index) {
    return spyi_create_part(tensor, dim, spy_index_at(index), "spy_create_select");
}

// >>dimensions in another order, other storage

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
    if (!valid) {
        spyi_text text = { NULL, 0, 0 };
        spyi_text_add(&text, "order must name each of the %u dimensions once, got", tensor->shape.rank);
        for (uint32_t i = 0; i < order.count && i < SPY_MAX_RANK; i++)
            spyi_text_add(&text, "%s%d", i ? ", " : " ", (int)order.dims[i]);
        if (order.count == 0 || order.count > SPY_MAX_RANK)
            spyi_text_add(&text, " %u dimensions", order.count);
        spyi_fail_text(device, SPY_ERROR_INVALID_ARGUMENT, function, &text);
    } else view = spyi_view_new(tensor, function);
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
    if (!spyi_is_on(device, other, SPYI_KIND_TENSOR)) {
        status = spyi_refuse_member(device, other, SPYI_KIND_TENSOR, function, "other");
    } else if (tensor->type != other->type || !spyi_same_dims(&tensor->shape, &other->shape) ||
               !spyi_same_dims(&tensor->strides, &other->strides)) {
        status = spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                           "%s: shape, strides and type of the two differ", function);
    } else if (other->storage != tensor->storage || other->offset_bytes != tensor->offset_bytes) {
        spyi_tensor_unlist(tensor); // the handle is that of the former memory
        other->storage->resource.references++;
        spyi_resource_release(device, &tensor->storage->resource);
        tensor->storage = other->storage;
        tensor->offset_bytes = other->offset_bytes;
        tensor->serial = ++device->last_tensor_serial;
        tensor->like = 0;
        spyi_tensor_measure(tensor);
        spyi_gradients_share(tensor, other);
    }
    spyi_leave(device);
    return status;
}
