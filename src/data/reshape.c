// Views with other sizes or other element types. They see the same bytes in the same order and never copy
// them.
#include "data/device.h"

// >>reshape

// Replaces a size of -1 in *shape by the one that fits; false means that the error has been reported.
static bool spyi_reshape_sizes(const spy_tensor *tensor, spy_shape *shape, const char *function) {
    spyi_context *ctx = &tensor->object.device->ctx;
    spy_shape known = *shape;
    uint32_t open = SPY_MAX_RANK, opens = 0;
    for (uint32_t i = 0; i < shape->rank && shape->rank <= SPY_MAX_RANK; i++) {
        if (shape->dims[i] != -1) continue;
        known.dims[i] = 1;
        open = i;
        opens++;
    }
    int64_t count = shape->rank <= SPY_MAX_RANK ? spyi_shape_count(&known) : -1;
    if (count < 0 || opens > 1) {
        spyi_text got = { NULL, 0, 0 };
        if (shape->rank > SPY_MAX_RANK) spyi_text_add(&got, "%u sizes", shape->rank);
        else spyi_shape_text(shape, &got);
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: expected at most %d sizes of 0 and more, one of them -1 at most, with a product below "
                  "2^60, got %s",
                  function, SPY_MAX_RANK, spyi_text_str(&got));
        spyi_text_free(&got);
        return false;
    }
    bool fits = opens && count > 0 ? tensor->element_count % count == 0 : count == tensor->element_count;
    if (fits && opens && count > 0) shape->dims[open] = tensor->element_count / count;
    if (fits && (!opens || count > 0)) return true;
    spyi_text text = { NULL, 0, 0 };
    spyi_shape_text(shape, &text);
    spyi_text_add(&text, " cannot hold the %lld elements of the tensor ", (long long)tensor->element_count);
    spyi_shape_text(&tensor->shape, &text);
    spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH, "%s: shape %s%s", function, spyi_text_str(&text),
              fits ? ": -1 could be anything" : "");
    spyi_text_free(&text);
    return false;
}

// Computes strides that walk the tensor's elements in their order under another shape. Groups of dimensions
// with equal products are matched from the first on; within a group the tensor's dimensions must be
// contiguous with each other. Returns the tensor's first dimension that is not contiguous with the next one;
// -1 if there is none.
// Source: numpy.reshape's documentation; its way of matching is _attempt_nocopy_reshape.
static int spyi_reshape_strides(const spy_tensor *t, const spy_shape *shape, spy_shape *strides) {
    uint32_t from[SPY_MAX_RANK], rank = 0; // the tensor's dimensions of sizes other than 1
    for (uint32_t i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] != 1) from[rank++] = i;
    uint32_t i = 0, j = 0;
    while (i < rank && j < shape->rank) {
        uint32_t i_end = i + 1, j_end = j + 1;
        int64_t had = t->shape.dims[from[i]], got = shape->dims[j];
        while (had != got) {
            if (got < had) got *= shape->dims[j_end++];
            else had *= t->shape.dims[from[i_end++]];
        }
        for (uint32_t k = i; k + 1 < i_end; k++)
            if (t->strides.dims[from[k]] != t->shape.dims[from[k + 1]] * t->strides.dims[from[k + 1]])
                return (int)from[k];
        int64_t step = t->strides.dims[from[i_end - 1]];
        for (uint32_t k = j_end; k-- > j; step *= shape->dims[k]) strides->dims[k] = step;
        i = i_end;
        j = j_end;
    }
    return -1; // dimensions of size 1 that are left keep their row-major strides
}

spy_tensor *spy_create_reshape(spy_tensor *tensor, spy_shape shape) {
    const char *function = "spy_create_reshape";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    if (spyi_reshape_sizes(tensor, &shape, function)) {
        spy_shape strides = spyi_row_major(&shape);
        int apart = -1;
        if (!tensor->contiguous) apart = spyi_reshape_strides(tensor, &shape, &strides);
        if (apart >= 0) {
            spyi_text text = { NULL, 0, 0 };
            spyi_shape_text(&tensor->shape, &text);
            spyi_text_add(&text, " with strides ");
            spyi_shape_text(&tensor->strides, &text);
            spyi_text_add(&text, " cannot be seen as ");
            spyi_shape_text(&shape, &text);
            spyi_text_add(&text,
                          " without a copy: dimension %d and what follows it do not lie one behind the other "
                          "in memory; "
                          "spy_tensor_copy() to a tensor made with desc.like helps",
                          apart);
            spyi_fail_text(device, SPY_ERROR_SHAPE_MISMATCH, function, &text);
        } else {
            view = spyi_view_new(tensor, function);
        }
        if (view) {
            view->shape = shape;
            view->strides = strides;
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

// >>other element types

// Converts the strides of all dimensions but the last to elements of another size. Returns the dimension
// whose stride cannot be converted; -1 means that all can.
static int spyi_scale_strides(spy_tensor *view, int64_t from_size, int64_t to_size) {
    for (uint32_t i = 0; i + 1 < view->strides.rank; i++) {
        int64_t bytes = view->strides.dims[i] * from_size;
        if (bytes % to_size && view->shape.dims[i] > 1) return (int)i;
        view->strides.dims[i] = bytes / to_size;
    }
    return -1;
}

// Sets the view's shape and strides for elements of `type`, or appends to `why` the reason why there is no
// such view.
static void spyi_retype(const spy_tensor *tensor, const spyi_type *type, spy_tensor *view, spyi_text *why) {
    int64_t from = (int64_t)spyi_type_device_stride(tensor->type),
            to = (int64_t)spyi_type_device_stride(type);
    uint32_t rank = tensor->shape.rank;
    if (tensor->offset_bytes % type->device_align) {
        spyi_text_add(why, "the tensor begins at byte %llu of its storage, %s needs a multiple of %zu",
                      (unsigned long long)tensor->offset_bytes, type->display, type->device_align);
        return;
    }
    if (from == to) return;
    if (rank == 0) {
        spyi_text_add(
            why,
            "%s has %lld bytes on the device, %s has %lld: a single element can only be seen as one of "
            "the same size",
            tensor->type->display, (long long)from, type->display, (long long)to);
        return;
    }
    int64_t n = tensor->shape.dims[rank - 1], *last = &view->strides.dims[rank - 1];
    if (n > 1 && *last != 1) {
        spyi_text_add(
            why,
            "%s has %lld bytes on the device, %s has %lld: the last dimension would be cut anew, but its "
            "elements lie %lld apart",
            tensor->type->display, (long long)from, type->display, (long long)to, (long long)*last);
        return;
    }
    if (n * from % to) {
        spyi_text_add(
            why, "the last dimension has %lld elements of %lld bytes (%s), which is no multiple of %s's %lld",
            (long long)n, (long long)from, tensor->type->display, type->display, (long long)to);
        return;
    }
    int apart = spyi_scale_strides(view, from, to);
    if (apart >= 0)
        spyi_text_add(why, "the rows of dimension %d lie %lld bytes apart, which is no multiple of %s's %lld",
                      apart, (long long)(tensor->strides.dims[apart] * from), type->display, (long long)to);
    view->shape.dims[rank - 1] = n * from / to;
    *last = 1;
}

spy_tensor *spy_create_view_as(spy_tensor *tensor, const char *type_name, spy_module *module) {
    const char *function = "spy_create_view_as";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    const spyi_type *type = NULL;
    if (!type_name)
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a type's name, got NULL", function);
    else type = spyi_element_type(device, module, SPY_DTYPE_DEFAULT, type_name, function);
    if (type) {
        spyi_text why = { NULL, 0, 0 };
        spy_tensor seen = *tensor;
        uint32_t failed = spyi_failed_allocations();
        spyi_retype(tensor, type, &seen, &why);
        spy_status status =
            spyi_check_allocations(failed, why.size ? SPY_ERROR_SHAPE_MISMATCH : SPY_OK, &why);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &why);
        else view = spyi_view_new(tensor, function);
        if (view) {
            view->type = type;
            view->shape = seen.shape;
            view->strides = seen.strides;
            spyi_tensor_measure(view);
        }
    }
    spyi_leave(device);
    return view;
}

// >>flat: the scalars of each element as further dimensions

// A walk over the scalars of a struct, which must all have one dtype and follow each other without gaps.
typedef struct spyi_flat_walk {
    const spyi_type *scalar; // the type of the first scalar; NULL means that there was none yet
    spyi_text first;         // the path of the first scalar
    spyi_text path;
    size_t next;   // the device offset in bytes at which the next scalar must lie
    int64_t count; // counts the scalars so far
    spyi_text why; // the reason why there is no flat view; empty means that there is no reason yet
} spyi_flat_walk;

static void spyi_flat_scalars(const spyi_type *type, size_t offset, spyi_flat_walk *w) {
    size_t size = w->path.size;
    if (w->why.size) return;
    if (type->kind == SPYI_TYPE_STRUCT) {
        for (uint32_t i = 0; i < type->field_count; i++) {
            const spyi_field *field = &type->fields[i];
            spyi_text_add(&w->path, size ? ".%s" : "%s", field->name);
            spyi_flat_scalars(field->type, offset + field->device_offset, w);
            w->path.size = size;
            if (w->path.data) w->path.data[size] = 0;
        }
    } else if (type->element) { // a vector, matrix or array has equal parts
        int64_t n = type->kind == SPYI_TYPE_ARRAY    ? type->count
                    : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                                     : (int64_t)type->columns;
        for (int64_t i = 0; i < n && !w->why.size; i++)
            spyi_flat_scalars(type->element, offset + (size_t)i * spyi_type_device_stride(type->element), w);
    } else {
        if (!w->scalar) {
            w->scalar = type;
            spyi_text_add(&w->first, "%s", spyi_text_str(&w->path));
        }
        if (type->scalar != w->scalar->scalar)
            spyi_text_add(&w->why, "field '%s' is %s and field '%s' is %s: scalars of one type are needed",
                          spyi_text_str(&w->first), w->scalar->display, spyi_text_str(&w->path),
                          type->display);
        else if (offset != w->next)
            spyi_text_add(&w->why, "field '%s' lies at byte %zu on the device, with a gap before it",
                          spyi_text_str(&w->path), offset);
        w->next = offset + type->device_size;
        w->count++;
    }
}

// Appends the dimensions of one element, with strides in bytes, and returns its scalar type. NULL means that
// there is no flat view; `why` then says why not.
static const spyi_type *spyi_flatten(const spyi_type *type, spy_shape *shape, spy_shape *strides,
                                     spyi_text *why) {
    while (type->element || type->kind == SPYI_TYPE_STRUCT) {
        int64_t n = type->kind == SPYI_TYPE_ARRAY    ? type->count
                    : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                                                     : (int64_t)type->columns;
        const spyi_type *part = type->element;
        if (!part) {
            spyi_flat_walk walk;
            uint32_t failed = spyi_failed_allocations();
            memset(&walk, 0, sizeof walk);
            spyi_flat_scalars(type, 0, &walk);
            part = walk.scalar;
            n = walk.count;
            spyi_text_add(why, "%s", spyi_text_str(&walk.why));
            spyi_text_free(&walk.first);
            spyi_text_free(&walk.path);
            spyi_text_free(&walk.why);
            if (why->size || spyi_failed_allocations() != failed) return NULL;
        }
        if (shape->rank == SPY_MAX_RANK) {
            spyi_text_add(why, "the view would have a rank above %d", SPY_MAX_RANK);
            return NULL;
        }
        shape->dims[shape->rank++] = n;
        strides->dims[strides->rank++] = (int64_t)spyi_type_device_stride(part);
        type = part;
    }
    return type;
}

spy_tensor *spy_create_flat_view(spy_tensor *tensor) {
    const char *function = "spy_create_flat_view";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_device *device = tensor->object.device;
    spy_tensor *view = NULL;
    spyi_text why = { NULL, 0, 0 };
    spy_shape shape = tensor->shape, strides = tensor->strides;
    int64_t element = (int64_t)spyi_type_device_stride(tensor->type);
    for (uint32_t i = 0; i < strides.rank; i++) strides.dims[i] *= element;
    const spyi_type *scalar = spyi_flatten(tensor->type, &shape, &strides, &why);
    if (scalar) {
        view = spyi_view_new(tensor, function);
    } else {
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH, "%s: %s: %s", function, tensor->type->display,
                  spyi_text_str(&why));
    }
    if (view) {
        view->type = device->scalars[scalar->scalar];
        view->shape = shape;
        view->strides = strides;
        for (uint32_t i = 0; i < strides.rank; i++) view->strides.dims[i] /= (int64_t)scalar->device_size;
        spyi_tensor_measure(view);
    }
    spyi_text_free(&why);
    spyi_leave(device);
    return view;
}
