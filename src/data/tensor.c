// Tensors: creation, release, and copies between their elements and host memory.
#include "data/gpu_print.h"

// >>shapes

SPYI_FN int64_t spyi_shape_count(const spy_shape *shape) {
    int64_t count = 1;
    bool empty = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) return -1;
        if (shape->dims[i] == 0) empty = true;
    }
    if (empty) return 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (count > ((int64_t)1 << 62) / shape->dims[i]) return -1;
        count *= shape->dims[i];
    }
    return count;
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

// Geometries are compared as bytes: what lies beyond the rank, and between rank and dims, is 0.
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
}

// >>headers

#define SPYI_DEAD_TENSORS 1024 // released headers kept, so that a late use is still told from a living tensor

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
    spyi_atomic_store(&tensor->object.references, 1);
    tensor->next = device->tensors;
    if (tensor->next) tensor->next->previous = tensor;
    device->tensors = tensor;
    return tensor;
}

SPYI_FN void spyi_tensor_free(spy_tensor *tensor) {
    spy_device *device = tensor->object.device;
    if (tensor->storage && --tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
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

SPYI_FN spy_tensor *spyi_tensor_make(spy_device *device, const spyi_type *type, const spy_shape *shape,
                                     const char *label, spyi_text *error, spy_status *status) {
    int64_t count = spyi_shape_count(shape);
    uint64_t element = spyi_type_device_stride(type);
    *status = SPY_OK;
    if (count > (int64_t)(((uint64_t)1 << 62) / element)) {
        *status = SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        spyi_text_add(error, "a tensor of shape ");
        spyi_shape_text(shape, error);
        spyi_text_add(error, " of %s does not fit into any memory", type->display);
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
    storage->references = 1;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = *shape;
    tensor->strides = spyi_row_major(shape);
    tensor->label = label ? spyi_strdup(label) : NULL;
    spyi_tensor_measure(tensor);
    return tensor;
}

// >>copies

// Visits the elements in row-major order: inner runs of `run` elements that lie `stride` elements apart.
typedef struct spyi_walk {
    int64_t index[SPY_MAX_RANK];
    int64_t at; // element offset of the run from the tensor's element 0
    int64_t run, stride;
    uint32_t rank; // outer dimensions
} spyi_walk;

static spyi_walk spyi_walk_begin(const spy_tensor *t) {
    spyi_walk w;
    memset(&w, 0, sizeof w);
    w.rank = t->shape.rank ? t->shape.rank - 1 : 0;
    w.run = t->shape.rank ? t->shape.dims[w.rank] : 1;
    w.stride = t->shape.rank ? t->strides.dims[w.rank] : 1;
    return w;
}

static bool spyi_walk_next(spyi_walk *w, const spy_tensor *t) {
    for (uint32_t d = w->rank; d-- > 0;) {
        w->at += t->strides.dims[d];
        if (++w->index[d] < t->shape.dims[d]) return true;
        w->at -= t->strides.dims[d] * t->shape.dims[d];
        w->index[d] = 0;
    }
    return false;
}

// Between a packed host array and an image of the tensor's byte range that begins at begin_bytes.
static void spyi_scatter(const spy_tensor *t, void *image, const void *packed, bool to_image) {
    const spyi_type *type = t->type;
    size_t device_stride = spyi_type_device_stride(type), host_stride = spyi_type_host_stride(type);
    char *host = (char *)packed;
    char *origin = (char *)image + (t->offset_bytes - t->begin_bytes);
    spyi_walk w = spyi_walk_begin(t);
    do {
        char *at = origin + w.at * (int64_t)device_stride;
        if (w.stride == 1) {
            if (to_image) spyi_type_to_device(type, at, host, (size_t)w.run);
            else spyi_type_to_host(type, host, at, (size_t)w.run);
            host += host_stride * (size_t)w.run;
            continue;
        }
        for (int64_t i = 0; i < w.run; i++, at += w.stride * (int64_t)device_stride, host += host_stride) {
            if (to_image) spyi_type_to_device(type, at, host, 1);
            else spyi_type_to_host(type, host, at, 1);
        }
    } while (spyi_walk_next(&w, t));
}

static spy_status spyi_range_upload(spy_tensor *t, const void *image, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    bool barrier =
        spyi_take_barrier(device, spyi_hazard(device, storage, t->begin_bytes, t->end_bytes, true));
    spy_status status =
        device->backend->upload(device->gpu, &storage->chunk, storage->offset + t->begin_bytes, image,
                                t->end_bytes - t->begin_bytes, barrier, error);
    spyi_barrier_done(device, barrier, status);
    spyi_note_use(device, storage, t->begin_bytes, t->end_bytes, true,
                  device->backend->open_submit(device->gpu));
    return status;
}

static spy_status spyi_range_download(spy_tensor *t, void *image, spyi_text *error) {
    spy_device *device = t->object.device;
    const spyi_storage *storage = t->storage;
    return device->backend->download(device->gpu, image, &storage->chunk, storage->offset + t->begin_bytes,
                                     t->end_bytes - t->begin_bytes, storage->write_submit, error);
}

SPYI_FN spy_status spyi_tensor_upload(spy_tensor *t, const void *data, spyi_text *error) {
    if (t->element_count == 0) return SPY_OK;
    if (t->contiguous && t->type->same_layout) return spyi_range_upload(t, data, error);
    size_t bytes = (size_t)(t->end_bytes - t->begin_bytes);
    void *image = malloc(bytes);
    if (!image) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    // Elements between those of a strided view keep their values.
    spy_status status = t->contiguous ? SPY_OK : spyi_range_download(t, image, error);
    if (status == SPY_OK) {
        if (t->contiguous) memset(image, 0, bytes);
        spyi_scatter(t, image, data, true);
        status = spyi_range_upload(t, image, error);
    }
    free(image);
    return status;
}

SPYI_FN spy_status spyi_tensor_download(spy_tensor *t, void *data, spyi_text *error) {
    if (t->element_count == 0) return SPY_OK;
    if (t->contiguous && t->type->same_layout) return spyi_range_download(t, data, error);
    void *image = malloc((size_t)(t->end_bytes - t->begin_bytes));
    if (!image) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spy_status status = spyi_range_download(t, image, error);
    if (status == SPY_OK) spyi_scatter(t, image, data, false);
    free(image);
    return status;
}

// >>the public functions

SPYI_FN const spyi_type *spyi_element_type(spy_device *device, spy_module *module, spy_dtype dtype,
                                           const char *type, const char *function) {
    if (!type) {
        if (dtype == SPY_DTYPE_DEFAULT) dtype = SPY_FLOAT32;
        if ((int)dtype < 0 || dtype >= SPY_DTYPE_COUNT) {
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: dtype %d is not one of spy_dtype",
                      function, (int)dtype);
            return NULL;
        }
        return spyi_type_scalar(device->types, dtype);
    }
    const spyi_type *found = spyi_type_parse(device->types, type);
    if (!found && module) {
        spyi_object *object = spyi_as(module, SPYI_KIND_MODULE);
        if (!object || object->device != device) {
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: module is not a living module of this device", function);
            return NULL;
        }
        found = spyi_unit_find_type(module->unit, type);
    }
    if (!found) {
        spyi_fail(&device->ctx, SPY_ERROR_NOT_FOUND,
                  module ? "%s: type '%s' is not known to module '%s'"
                         : "%s: type '%s' is not built in%s; a struct also needs the module that declares it",
                  function, type, module ? module->name : "");
    } else if (found->kind == SPYI_TYPE_OTHER || found->kind == SPYI_TYPE_VOID || found->device_size == 0) {
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH,
                  "%s: type '%s' is not plain data of at least one byte (scalars, vectors, matrices, arrays "
                  "and structs of these)",
                  function, type);
        found = NULL;
    }
    return found;
}

spy_tensor *spy_create_tensor(spy_device *device, const spy_tensor_desc *desc) {
    const char *function = "spy_create_tensor";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &device->ctx;
    spy_tensor *tensor = NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    const spyi_type *type = NULL;
    if (!desc) spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    else if (desc->shape.rank > SPY_MAX_RANK)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has rank %u, at most %d are possible",
                  function, desc->shape.rank, SPY_MAX_RANK);
    else if (spyi_shape_count(&desc->shape) < 0)
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.shape has a negative size or too many elements",
                  function);
    else type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (type) {
        uint64_t bytes = (uint64_t)spyi_shape_count(&desc->shape) * spyi_type_host_stride(type);
        if (desc->data && desc->data_size_bytes && desc->data_size_bytes != bytes)
            spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                      "%s: the shape of %s needs %llu bytes of data, data_size_bytes is %zu", function,
                      type->display, (unsigned long long)bytes, desc->data_size_bytes);
        else if (!(tensor = spyi_tensor_make(device, type, &desc->shape, desc->label, &error, &status)))
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
    }
    if (tensor && desc->data) {
        status = spyi_tensor_upload(tensor, desc->data, &error);
        if (status != SPY_OK) {
            spyi_fail(ctx, status, "%s: %s", function, spyi_text_str(&error));
            spyi_tensor_unlink(tensor);
            spyi_tensor_free(tensor);
            tensor = NULL;
        }
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

static spy_status spyi_check_transfer(spy_tensor *tensor, const char *function, const void *data,
                                      size_t size_bytes) {
    spyi_context *ctx = &tensor->object.device->ctx;
    uint64_t needed = (uint64_t)tensor->element_count * spyi_type_host_stride(tensor->type);
    if (size_bytes != needed) {
        spyi_text shape = { NULL, 0, 0 };
        spyi_shape_text(&tensor->shape, &shape);
        spyi_fail(ctx, SPY_ERROR_SHAPE_MISMATCH,
                  "%s: a tensor %s of %s has %llu bytes in C's layout, size_bytes is %zu", function,
                  spyi_text_str(&shape), tensor->type->display, (unsigned long long)needed, size_bytes);
        spyi_text_free(&shape);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!data && needed) return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: data is NULL", function);
    return SPY_OK;
}

spy_status spy_tensor_read(spy_tensor *tensor, void *data, size_t size_bytes) {
    const char *function = "spy_tensor_read";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_check_transfer(tensor, function, data, size_bytes);
    if (status == SPY_OK) {
        status = spyi_tensor_download(tensor, data, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
        else spyi_print_deliver(device);
    }
    spyi_leave(device);
    return status;
}

spy_status spy_tensor_write(spy_tensor *tensor, const void *data, size_t size_bytes) {
    const char *function = "spy_tensor_write";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_check_transfer(tensor, function, data, size_bytes);
    if (status == SPY_OK) {
        status = spyi_tensor_upload(tensor, data, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    }
    spyi_leave(device);
    return status;
}

// Every scalar of one element set to `value`, in C's layout; false: it does not fit one of them.
static bool spyi_fill_element(const spyi_type *type, double value, char *host) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR: return spyi_convert_scalars(host, type->scalar, &value, SPY_FLOAT64, 1);
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: {
        size_t size = spyi_scalar_size(type->scalar);
        for (uint32_t i = 0; i < type->rows * type->columns; i++)
            if (!spyi_convert_scalars(host + i * size, type->scalar, &value, SPY_FLOAT64, 1)) return false;
        return true;
    }
    case SPYI_TYPE_ARRAY:
        for (int64_t i = 0; i < type->count; i++)
            if (!spyi_fill_element(type->element, value,
                                   host + (size_t)i * spyi_type_host_stride(type->element)))
                return false;
        return true;
    case SPYI_TYPE_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++)
            if (!spyi_fill_element(type->fields[i].type, value, host + type->fields[i].host_offset))
                return false;
        return true;
    default: return false;
    }
}

static spy_status spyi_fill_tensor(spy_tensor *t, double value, spyi_text *error) {
    spy_device *device = t->object.device;
    size_t host_stride = spyi_type_host_stride(t->type), stride = spyi_type_device_stride(t->type);
    char *element = (char *)calloc(2, host_stride > stride ? host_stride : stride);
    if (!element) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (!spyi_fill_element(t->type, value, element)) {
        free(element);
        spyi_text_add(error, "%g does not fit into %s", value, t->type->display);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    char *image = element + (host_stride > stride ? host_stride : stride);
    spyi_type_to_device(t->type, image, element, 1);
    // The GPU can repeat 4 bytes: enough for elements whose bytes repeat with period 4 and ranges on that grid.
    uint32_t pattern = 0;
    char *word = (char *)&pattern;
    bool repeats = stride == 1 || stride == 2 || stride % 4 == 0;
    for (size_t i = 0; i < 4; i++) word[i] = image[i % stride];
    for (size_t i = 4; i < stride; i++) repeats = repeats && image[i] == image[i - 4];
    uint64_t grid = device->base->limits.fill_alignment, size = t->end_bytes - t->begin_bytes;
    spy_status status;
    if (repeats && t->contiguous && t->begin_bytes % grid == 0 && size % grid == 0) {
        spyi_storage *storage = t->storage;
        bool barrier =
            spyi_take_barrier(device, spyi_hazard(device, storage, t->begin_bytes, t->end_bytes, true));
        status = device->backend->fill(device->gpu, &storage->chunk, storage->offset + t->begin_bytes, size,
                                       pattern, barrier, error);
        spyi_barrier_done(device, barrier, status);
        spyi_note_use(device, storage, t->begin_bytes, t->end_bytes, true,
                      device->backend->open_submit(device->gpu));
    } else {
        char *all = (char *)malloc((size_t)t->element_count * host_stride);
        if (!all) {
            spyi_text_add(error, "out of host memory");
            status = SPY_ERROR_OUT_OF_MEMORY;
        } else {
            for (int64_t i = 0; i < t->element_count; i++)
                memcpy(all + (size_t)i * host_stride, element, host_stride);
            status = spyi_tensor_upload(t, all, error);
        }
        free(all);
    }
    free(element);
    return status;
}

spy_status spy_tensor_fill(spy_tensor *tensor, double value) {
    const char *function = "spy_tensor_fill";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = tensor->element_count ? spyi_fill_tensor(tensor, value, &error) : SPY_OK;
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

spy_tensor_info spy_get_tensor_info(const spy_tensor *tensor) {
    spy_tensor_info info;
    memset(&info, 0, sizeof info);
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_fail(NULL, tensor ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT,
                  "spy_get_tensor_info: the tensor %s", tensor ? "has been released" : "is NULL");
        return info;
    }
    const spyi_type *type = tensor->type;
    info.shape = tensor->shape;
    info.strides = tensor->strides;
    info.dtype = type->kind == SPYI_TYPE_SCALAR ? type->scalar : SPY_DTYPE_DEFAULT;
    const spyi_type *inner = type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    info.type = inner->kind == SPYI_TYPE_STRUCT ? type->name : type->display; // as spy_create_tensor takes it
    info.element_count = tensor->element_count;
    info.element_size_bytes = spyi_type_device_stride(type);
    info.host_size_bytes = (size_t)tensor->element_count * spyi_type_host_stride(type);
    info.offset_elements = (int64_t)(tensor->offset_bytes / info.element_size_bytes);
    info.is_contiguous = tensor->contiguous;
    return info;
}

// >>for backends

SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc) {
    spyi_context *ctx = &device->ctx;
    if (!desc || desc->data || desc->shape.rank > SPY_MAX_RANK || spyi_shape_count(&desc->shape) < 0) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc with a valid shape and without data",
                  function);
        return NULL;
    }
    const spyi_type *type = spyi_element_type(device, desc->module, desc->dtype, desc->type, function);
    if (!type) return NULL;
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
    storage->references++;
    tensor->storage = storage;
    tensor->type = type;
    tensor->shape = desc->shape;
    tensor->strides = spyi_row_major(&desc->shape);
    tensor->offset_bytes = offset;
    tensor->label = spyi_strdup(desc->label);
    spyi_tensor_measure(tensor);
    return tensor;
}

SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes) {
    if (!spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spyi_fail(NULL, tensor ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT, "%s: the tensor %s",
                  function, tensor ? "has been released" : "is NULL");
        return false;
    }
    *chunk = tensor->storage->chunk;
    *offset_bytes = tensor->storage->offset + tensor->offset_bytes;
    return true;
}
