// Tensors: creation, release, reads and writes of their elements, and information about them.
#include "data/bounds.h"
#include "data/gpu_print.h"

// >>shapes

// Returns -1 for too many elements. The product of the sizes other than 0 must not overflow for an empty
// shape either, since its strides are products of sizes.
SPYI_FN int64_t spyi_shape_count(const spy_shape *shape) {
    int64_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t n = shape->dims[i];
        if (n < 0 || (n > 0 && count > SPYI_MOST_BYTES / n)) return -1;
        if (n == 0) empty = true;
        else count *= n;
    }
    return empty ? 0 : count;
}

SPYI_FN bool spyi_shape_holds(const spy_shape *shape, const spyi_type *type) {
    size_t host = spyi_type_host_stride(type), device = spyi_type_device_stride(type);
    int64_t element = (int64_t)(host > device ? host : device), count = spyi_shape_count(shape);
    return count >= 0 && (element == 0 || count <= SPYI_MOST_BYTES / element);
}

SPYI_FN spy_status spyi_fail_too_large(const spy_shape *shape, const spyi_type *type, const char *name,
                                       spyi_text *error) {
    spyi_text_add(error, "%s ", name);
    spyi_shape_text(shape, error);
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] >= 0) continue;
        spyi_text_add(error, " has the negative size %lld in dimension %u", (long long)shape->dims[i], i);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_text_add(error, " of %s is more than 2^60 bytes, the most that a shape may stand for",
                  type->display);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_shape spyi_row_major(const spy_shape *shape) {
    spy_shape strides;
    memset(&strides, 0, sizeof strides);
    strides.rank = shape->rank;
    int64_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides.dims[i] = step;
        step *= shape->dims[i] > 0 ? shape->dims[i] : 1;
    }
    return strides;
}

SPYI_FN void spyi_shape_text(const spy_shape *shape, spyi_text *out) {
    spyi_text_add(out, "(");
    for (uint32_t i = 0; i < shape->rank; i++)
        spyi_text_add(out, i ? ", %lld" : "%lld", (long long)shape->dims[i]);
    spyi_text_add(out, shape->rank == 1 ? ",)" : ")");
}

// Sets dims beyond the rank and the padding between rank and dims to 0, since geometries are compared as
// bytes.
static void spyi_clean_shape(spy_shape *shape) {
    spy_shape clean;
    memset(&clean, 0, sizeof clean);
    clean.rank = shape->rank;
    for (uint32_t i = 0; i < clean.rank; i++) clean.dims[i] = shape->dims[i];
    memcpy(shape, &clean, sizeof clean);
}

SPYI_FN void spyi_tensor_measure(spy_tensor *tensor) {
    int64_t lowest = 0, highest = 0, expected = 1;
    tensor->element_count = spyi_shape_count(&tensor->shape);
    tensor->contiguous = true;
    spyi_clean_shape(&tensor->shape);
    spyi_clean_shape(&tensor->strides);
    for (uint32_t i = tensor->shape.rank; i-- > 0;) {
        int64_t n = tensor->shape.dims[i], stride = tensor->strides.dims[i];
        if (n != 1 && stride != expected) tensor->contiguous = false;
        expected *= n;
        if (n > 1 && stride > 0) highest += (n - 1) * stride;
        if (n > 1 && stride < 0) lowest += (n - 1) * stride;
    }
    int64_t element = (int64_t)spyi_type_device_stride(tensor->type);
    tensor->begin_bytes = tensor->end_bytes = tensor->offset_bytes;
    if (tensor->element_count > 0) {
        tensor->begin_bytes = (uint64_t)((int64_t)tensor->offset_bytes + lowest * element);
        tensor->end_bytes = (uint64_t)((int64_t)tensor->offset_bytes + (highest + 1) * element);
    } else {
        tensor->contiguous = true;
    }
    if (tensor->grads_follow) spyi_gradients_follow(tensor);
}

// >>headers

// The number of released headers that are kept, so that a use after release can still be recognised.
#define SPYI_DEAD_TENSORS 1024

SPYI_FN spy_tensor *spyi_tensor_new(spy_device *device) {
    spy_tensor *tensor;
    if (device->dead_count >= SPYI_DEAD_TENSORS) {
        tensor = device->dead_first;
        device->dead_first = tensor->next;
        device->dead_count--;
        memset(tensor, 0, sizeof *tensor);
    } else {
        tensor = (spy_tensor *)spyi_allocate(&device->ctx, sizeof *tensor);
        if (!tensor) return NULL;
    }
    tensor->object.kind = (uint32_t)SPYI_KIND_TENSOR;
    tensor->object.device = device;
    tensor->serial = ++device->last_tensor_serial;
    spyi_atomic_store(&tensor->object.references, 1);
    tensor->next = device->tensors;
    if (tensor->next) tensor->next->previous = tensor;
    device->tensors = tensor;
    return tensor;
}

SPYI_FN void spyi_tensor_free(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    spyi_tensor_unlist(tensor);
    spyi_gradients_drop(tensor);
    spyi_sums_drop(tensor);
    if (tensor->storage) spyi_resource_release(device, &tensor->storage->resource);
    free((void *)tensor->label);
    tensor->storage = NULL;
    tensor->label = NULL;
    tensor->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (device->dead_last && device->dead_count) device->dead_last->next = tensor;
    else device->dead_first = tensor;
    device->dead_last = tensor;
    tensor->next = NULL;
    device->dead_count++;
}

SPYI_FN void spyi_tensor_unlink(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    if (tensor->previous) tensor->previous->next = tensor->next;
    else device->tensors = tensor->next;
    if (tensor->next) tensor->next->previous = tensor->previous;
    tensor->previous = tensor->next = NULL;
}

static void spyi_tensor_release(spyi_object *object) {
    spyi_tensor_unlink((spy_tensor *)(void *)object);
    spyi_tensor_free((spy_tensor *)(void *)object);
}

SPYI_FN void spyi_tensors_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_tensor_release, NULL };
    device->ctx.tables[SPYI_KIND_TENSOR - SPYI_KIND_DEVICE] = &table;
}

SPYI_FN void spyi_tensors_free_all(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    while (device->tensors) {
        spy_tensor *tensor = device->tensors;
        device->tensors = tensor->next;
        if (tensor->storage) spyi_resource_release(device, &tensor->storage->resource);
        free((void *)tensor->label);
        tensor->object.kind = (uint32_t)SPYI_KIND_DEAD;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
    while (device->dead_first) {
        spy_tensor *tensor = device->dead_first;
        device->dead_first = tensor->next;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
}

SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status) {
    int64_t count = spyi_shape_count(shape);
    uint64_t element = spyi_type_device_stride(type);
    *status = SPY_OK;
    if (!spyi_shape_holds(shape, type)) {
        *status = spyi_fail_too_large(shape, type, "a tensor of shape", error);
        return NULL;
    }
    spyi_storage *storage =
        spyi_pool_take(device, SPYI_MEMORY_DEVICE, (uint64_t)count * element, label, error, status);
    if (!storage) return NULL;
    spy_tensor *tensor = spyi_tensor_new(device);
    if (!tensor) {
        spyi_pool_give(device, storage);
        *status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    storage->resource.references = 1;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = *shape;
    tensor->strides = spyi_row_major(shape);
    tensor->label = label ? spyi_strdup(label) : NULL;
    spyi_tensor_measure(tensor);
    return tensor;
}

// >>the public functions

SPYI_FN const char *spyi_type_user_name(const spyi_type *type) {
    const spyi_type *inner = type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    return inner->kind == SPYI_TYPE_STRUCT ? type->name : type->display;
}

SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function) {
    if (!type) {
        if (dtype == SPY_DTYPE_DEFAULT) dtype = SPY_DTYPE_FLOAT32;
        if ((int)dtype < 0 || dtype >= SPY_DTYPE_COUNT) {
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: dtype %d is not one of spy_dtype",
                      function, (int)dtype);
            return NULL;
        }
        return spyi_type_scalar(device->types, dtype);
    }
    const spyi_type *found = spyi_type_parse(device->types, type);
    if (found && found->kind == SPYI_TYPE_VOID) return spyi_type_memory(device->types);
    if (!found && module) {
        if (!spyi_is_on(device, module, SPYI_KIND_MODULE)) {
            (void)spyi_refuse_member(device, module, SPYI_KIND_MODULE, function, "module");
            return NULL;
        }
        found = device->modules_of->find_type(module, type);
    }
    if (!found) {
        spyi_near near_names;
        spyi_text text = { NULL, 0, 0 };
        memset(&near_names, 0, sizeof near_names);
        near_names.wanted = type;
        if (strlen(type) < 64) spyi_near_offer_builtin(&near_names);
        spyi_near_text(&near_names, &text);
        spyi_fail(&device->ctx, SPY_ERROR_NOT_FOUND,
                  module
                      ? "%s: type '%s' is not known to module '%s'%s"
                      : "%s: type '%s' is not built in%s; a struct also needs the module that declares it%s",
                  function, type, module ? device->modules_of->name(module) : "", spyi_text_str(&text));
        spyi_text_free(&text);
    } else if (found->kind == SPYI_TYPE_OTHER || found->device_size == 0) {
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH,
                  "%s: type '%s' is not plain data of at least one byte (scalars, vectors, matrices, arrays "
                  "and structs of these)%s",
                  function, type,
                  spyi_type_is_pair(found) ? "; for a DifferentialPair, give a tensor with a gradient"
                  : spyi_type_holds_pair(found)
                      ? "; it holds a DifferentialPair: give its fields one by one, as a struct of tensors"
                      : "");
        found = NULL;
    }
    return found;
}

// Checks desc.like and takes from it the shape and the element type that the desc leaves open; without a type
// *type is NULL. false means that the error has been reported.
static bool spyi_desc_like(spy_device *device, const spy_tensor_desc *desc, const char *function,
                           spy_shape *shape, const spyi_type **type) {
    *shape = desc->shape;
    *type = NULL;
    if (!desc->like) return true;
    if (!spyi_is_on(device, desc->like, SPYI_KIND_TENSOR)) {
        (void)spyi_refuse_member(device, desc->like, SPYI_KIND_TENSOR, function, "desc.like");
        return false;
    }
    if (shape->rank == 0) *shape = desc->like->shape;
    if (!desc->type && desc->dtype == SPY_DTYPE_DEFAULT) *type = desc->like->type;
    return true;
}

spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc) {
    const char *function = "spy_create_tensor";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &device->ctx;
    spy_tensor *tensor = NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    const spyi_type *type = NULL;
    spy_shape shape;
    const char *problem = SPYI_DESC_PROBLEM(spy_tensor_desc, desc);
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (problem) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
    else if (desc->shape.rank > SPY_MAX_RANK)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has rank %u, at most %d are possible",
                  function, desc->shape.rank, SPY_MAX_RANK);
    else if (desc->data && desc->zeroed)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected desc.data or desc.zeroed, got both",
                  function);
    else if (spyi_desc_like(device, desc, function, &shape, &type) && !type)
        type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (type && !spyi_shape_holds(&shape, type)) {
        status = spyi_fail_too_large(&shape, type, "desc.shape", &error);
        spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
        type = NULL;
    }
    if (type) {
        uint64_t bytes = (uint64_t)spyi_shape_count(&shape) * spyi_type_host_stride(type);
        if (desc->data && desc->data_size_bytes && desc->data_size_bytes != bytes)
            spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                      "%s: the shape of %s needs %llu bytes of data, data_size_bytes is %zu", function,
                      type->display, (unsigned long long)bytes, desc->data_size_bytes);
        else if (!(tensor = spyi_tensor_make(device, type, &shape, desc->label, &error, &status)))
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
    }
    if (tensor && (desc->data || desc->zeroed)) {
        status = desc->data ? spyi_tensor_upload(tensor, desc->data, &error)
                            : spyi_tensor_repeat(tensor, NULL, &error);
        if (status != SPY_OK) {
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
            spyi_tensor_unlink(tensor);
            spyi_tensor_free(tensor);
            tensor = NULL;
        }
    }
    if (tensor && (desc->with_grad || desc->grad_in || desc->grad_out) &&
        !spyi_gradients_make(tensor, desc, function)) {
        spyi_tensor_unlink(tensor);
        spyi_tensor_free(tensor);
        tensor = NULL;
    }
    spyi_text_free(&error);
    spyi_leave(device);
    return tensor;
}

void spy_retain_tensor(spy_tensor *tensor) {
    spyi_object_retain(tensor, SPYI_KIND_TENSOR, "spy_retain_tensor");
}

void spy_release_tensor(spy_tensor *tensor) {
    if (!tensor) return;
    if (spyi_as(tensor, SPYI_KIND_TENSOR)) spyi_object_release(&tensor->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_tensor: the tensor has been released already");
}

SPYI_FN spy_status spyi_check_elements(spy_tensor *tensor, const char *function, int64_t first,
                                       int64_t count) {
    if (first >= 0 && count >= 0 && first <= tensor->element_count && count <= tensor->element_count - first)
        return SPY_OK;
    return spyi_fail(&tensor->object.device->ctx, SPY_ERROR_OUT_OF_RANGE,
                     "%s: expected a range within the tensor's %lld elements, got %lld from element %lld on",
                     function, (long long)tensor->element_count, (long long)count, (long long)first);
}

SPYI_FN spy_status spyi_check_transfer(const spy_tensor *tensor, int64_t count, const void *data,
                                       size_t size_bytes, spyi_text *error) {
    size_t stride = spyi_type_host_stride(tensor->type);
    uint64_t needed = (uint64_t)count * stride;
    if (size_bytes % stride || size_bytes / stride != (uint64_t)count) {
        if (count == tensor->element_count) {
            spyi_text_add(error, "a tensor ");
            spyi_shape_text(&tensor->shape, error);
            spyi_text_add(error, " of %s has", tensor->type->display);
        } else {
            spyi_text_add(error, "%lld elements of %s have", (long long)count, tensor->type->display);
        }
        spyi_text_add(error, " %llu bytes in C's layout, size_bytes is %zu", (unsigned long long)needed,
                      size_bytes);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (data || !count) return SPY_OK;
    spyi_text_add(error, "data is NULL");
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Reads or writes elements range[0] .. range[0] + range[1]; NULL means all elements.
static spy_status spyi_tensor_transfer(spy_tensor *tensor, const char *function, const int64_t *range,
                                       void *data, size_t size_bytes, bool upload) {
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    int64_t first = range ? range[0] : 0, count = range ? range[1] : tensor->element_count;
    spy_status status = spyi_check_elements(tensor, function, first, count);
    if (status == SPY_OK) {
        status = spyi_check_transfer(tensor, count, data, size_bytes, &error);
        if (status == SPY_OK) status = spyi_tensor_move(tensor, first, count, data, upload, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
        else if (!upload) {
            spyi_print_deliver(device);
            status = spyi_bounds_report(device, function);
        }
    }
    spyi_leave(device);
    return status;
}

spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes) {
    return spyi_tensor_transfer(tensor, "spy_tensor_read", NULL, data, size_bytes, false);
}

spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes) {
    return spyi_tensor_transfer(tensor, "spy_tensor_write", NULL, (void *)(uintptr_t)data, size_bytes, true);
}

spy_status spy_tensor_read_range(spy_tensor *tensor, int64_t first, int64_t count, void *data,
                                 size_t size_bytes) {
    const int64_t range[2] = { first, count };
    return spyi_tensor_transfer(tensor, "spy_tensor_read_range", range, data, size_bytes, false);
}

spy_status spy_tensor_write_range(spy_tensor *tensor, int64_t first, int64_t count, const void *data,
                                  size_t size_bytes) {
    const int64_t range[2] = { first, count };
    return spyi_tensor_transfer(tensor, "spy_tensor_write_range", range, (void *)(uintptr_t)data, size_bytes,
                                true);
}

spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor) {
    spy_tensor_info info;
    memset(&info, 0, sizeof info);
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_refuse_object(tensor, SPYI_KIND_TENSOR, "spy_get_tensor_info");
        return info;
    }
    const spyi_type *type = tensor->type;
    info.shape = tensor->shape;
    info.strides = tensor->strides;
    info.dtype = type->kind == SPYI_TYPE_SCALAR ? type->scalar : SPY_DTYPE_DEFAULT;
    info.type = spyi_type_user_name(type);
    info.element_count = tensor->element_count;
    info.element_size_bytes = spyi_type_device_stride(type);
    info.host_size_bytes = (size_t)tensor->element_count * spyi_type_host_stride(type);
    info.offset_elements = (int64_t)(tensor->offset_bytes / info.element_size_bytes);
    info.is_contiguous = tensor->contiguous;
    return info;
}
