// Fills tensors on the device, with one value or with another tensor's elements, and returns the device
// address of a tensor.
#include "data/device.h"

// >>fill

// The most bytes that a fill uploads; copies on the device double them from there.
#define SPYI_FILL_BYTES 65536u

// Returns whether a contiguous tensor whose elements all have these device bytes repeats 4 bytes, *pattern,
// so that the GPU's fill can write it.
static bool spyi_repeat_pattern(const spy_tensor *t, const char *element, uint32_t *pattern) {
    size_t stride = spyi_type_device_stride(t->type);
    uint64_t grid = t->object.device->base->limits.fill_alignment;
    char *word = (char *)pattern;
    if (stride != 1 && stride != 2 && stride % 4) return false;
    if (t->begin_bytes % grid || (t->end_bytes - t->begin_bytes) % grid) return false;
    for (size_t i = 0; i < 4; i++) word[i] = element[i % stride];
    for (size_t i = 4; i < stride; i++)
        if (element[i] != element[i - 4]) return false;
    return true;
}

static spy_status spyi_fill_range(spy_tensor *t, uint32_t pattern, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    spyi_fill_work fill = spyi_fill_of(&storage->chunk, storage->offset + t->begin_bytes,
                                       t->end_bytes - t->begin_bytes, pattern);
    spyi_use use = spyi_use_of(&storage->resource, t->begin_bytes, t->end_bytes, SPYI_USE_WRITES);
    return spyi_record_with(device, &fill.work, &use, 1, false, error);
}

// Copies the tensor's first `size` bytes to `at` bytes behind its beginning; `size` is at most `at`.
static spy_status spyi_copy_within(spy_tensor *t, uint64_t at, uint64_t size, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    uint64_t begin = t->begin_bytes, end = begin + at + size;
    spyi_copy_work copy = spyi_copy_of(&storage->chunk, storage->offset + begin + at, &storage->chunk,
                                       storage->offset + begin, size);
    spyi_use uses[2];
    uses[0] = spyi_use_of(&storage->resource, begin + at, end, SPYI_USE_WRITES);
    uses[1] = spyi_use_of(&storage->resource, begin, begin + size, SPYI_USE_READS);
    return spyi_record_with(device, &copy.work, uses, 2, false, error);
}

// Uploads some elements and has the device double them until all are set. All elements of strided tensors are
// uploaded.
static spy_status spyi_fill_elements(spy_tensor *t, const char *element, spyi_text *error) {
    size_t host_stride = spyi_type_host_stride(t->type);
    uint64_t stride = spyi_type_device_stride(t->type), size = t->end_bytes - t->begin_bytes;
    int64_t count = t->element_count;
    if (t->contiguous && size > SPYI_FILL_BYTES)
        count = stride < SPYI_FILL_BYTES ? (int64_t)(SPYI_FILL_BYTES / stride) : 1;
    char *some = NULL;
    if ((uint64_t)count <= SIZE_MAX / 2 / host_stride)
        some = (char *)spyi_malloc((size_t)count * host_stride);
    if (!some) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < count; i++) memcpy(some + (size_t)i * host_stride, element, host_stride);
    spy_status status = spyi_tensor_move(t, 0, count, some, true, error);
    free(some);
    if (count == t->element_count) return status;
    for (uint64_t done = (uint64_t)count * stride; done < size && status == SPY_OK;) {
        uint64_t more = done < size - done ? done : size - done;
        status = spyi_copy_within(t, done, more, error);
        done += more;
    }
    return status;
}

// Returns the tensor with size 1 in each dimension of stride 0, so that each element is written once.
static spy_tensor spyi_without_repeats(const spy_tensor *t) {
    spy_tensor once = *t;
    for (uint32_t i = 0; i < once.shape.rank; i++)
        if (once.strides.dims[i] == 0 && once.shape.dims[i] > 1) once.shape.dims[i] = 1;
    spyi_tensor_measure(&once);
    return once;
}

SPYI_FN spy_status spyi_tensor_repeat(spy_tensor *tensor, const void *element, spyi_text *error) {
    spy_tensor once = spyi_without_repeats(tensor), *t = &once;
    size_t host_stride = spyi_type_host_stride(t->type), stride = spyi_type_device_stride(t->type);
    if (t->element_count == 0) return SPY_OK;
    char *host = (char *)spyi_calloc(1, host_stride + stride), *image = host ? host + host_stride : NULL;
    if (!host) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (element) memcpy(host, element, host_stride);
    spyi_type_to_device(t->type, image, host, 1);
    uint32_t pattern = 0;
    spy_status status = t->contiguous && spyi_repeat_pattern(t, image, &pattern)
                            ? spyi_fill_range(t, pattern, error)
                            : spyi_fill_elements(t, host, error);
    free(host);
    return status;
}

// Sets every scalar of one element in C's layout to `value`; false means that the value does not fit into one
// of them.
static bool spyi_fill_scalars(const spyi_type *type, double value, char *host) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR: return spyi_convert_scalars(host, type->scalar, &value, SPY_DTYPE_FLOAT64, 1);
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: {
        size_t size = spy_dtype_size_bytes(type->scalar);
        for (uint32_t i = 0; i < type->rows * type->columns; i++)
            if (!spyi_convert_scalars(host + i * size, type->scalar, &value, SPY_DTYPE_FLOAT64, 1))
                return false;
        return true;
    }
    case SPYI_TYPE_ARRAY:
        for (int64_t i = 0; i < type->count; i++)
            if (!spyi_fill_scalars(type->element, value,
                                   host + (size_t)i * spyi_type_host_stride(type->element)))
                return false;
        return true;
    case SPYI_TYPE_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++)
            if (!spyi_fill_scalars(type->fields[i].type, value, host + type->fields[i].host_offset))
                return false;
        return true;
    default: return false;
    }
}

// Allocates one element in C's layout, with every scalar set to `value`, and behind it zeros of the size of
// one element in the device's layout.
static spy_status spyi_fill_element(const spy_tensor *t, double value, char **element, spyi_text *error) {
    *element = (char *)spyi_calloc(1, spyi_type_host_stride(t->type) + spyi_type_device_stride(t->type));
    if (!*element) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (spyi_fill_scalars(t->type, value, *element)) return SPY_OK;
    spyi_text_add(error, "%g does not fit into %s", value, t->type->display);
    free(*element);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_status spyi_fill_tensor(spy_tensor *t, double value, spyi_text *error) {
    char *element;
    spy_status status = spyi_fill_element(t, value, &element, error);
    if (status != SPY_OK) return status;
    status = spyi_tensor_repeat(t, element, error);
    free(element);
    return status;
}

SPYI_FN spy_status spyi_fill_pattern(const spy_tensor *t, double value, bool *repeats, uint32_t *pattern,
                                     spyi_text *error) {
    char *element;
    spy_status status = spyi_fill_element(t, value, &element, error);
    if (status != SPY_OK) return status;
    char *image = element + spyi_type_host_stride(t->type);
    spyi_type_to_device(t->type, image, element, 1);
    *repeats = t->contiguous && spyi_repeat_pattern(t, image, pattern);
    free(element);
    return SPY_OK;
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

spy_status spy_tensor_fill_data(spy_tensor *tensor, const void *element, size_t size_bytes) {
    const char *function = "spy_tensor_fill_data";
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (!element)
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: element is NULL", function);
    else if (size_bytes != spyi_type_host_stride(tensor->type))
        status = spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                           "%s: one %s has %zu bytes in C's layout, size_bytes is %zu", function,
                           tensor->type->display, spyi_type_host_stride(tensor->type), size_bytes);
    else {
        status = spyi_tensor_repeat(tensor, element, &error);
        if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    }
    spyi_leave(device);
    return status;
}

// >>copy

// Returns whether the types differ at most in their scalars, so that elements can be converted scalar by
// scalar.
static bool spyi_types_alike(const spyi_type *a, const spyi_type *b) {
    if (a == b) return true;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case SPYI_TYPE_SCALAR: return true;
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: return a->rows == b->rows && a->columns == b->columns;
    case SPYI_TYPE_ARRAY: return a->count == b->count && spyi_types_alike(a->element, b->element);
    default: return false;
    }
}

static void spyi_report_misfit(const char *from, spy_dtype from_type, const spy_tensor *to, size_t scalars,
                               spyi_text *error) {
    char scratch[8];
    size_t size = spy_dtype_size_bytes(from_type), i = 0;
    while (i + 1 < scalars && spyi_convert_scalars(scratch, to->type->scalar, from + i * size, from_type, 1))
        i++;
    size_t element = scalars / (size_t)to->element_count;
    spyi_text_add(error, "element %zu of from, ", i / element);
    spyi_scalar_text(from + i * size, from_type, error);
    spyi_text_add(error, ", does not fit into %s", spy_dtype_name(to->type->scalar));
}

// Copies and converts through host memory. It reads all of `from` before it writes `to`, so that they may
// overlap.
static spy_status spyi_copy_through_host(spy_tensor *to, spy_tensor *from, spyi_text *error) {
    size_t count = (size_t)to->element_count;
    size_t from_size = count * spyi_type_host_stride(from->type),
           to_size = count * spyi_type_host_stride(to->type);
    char *data = (char *)spyi_malloc(from_size), *converted = data;
    if (data && from->type != to->type) converted = (char *)spyi_malloc(to_size);
    spy_status status = SPY_OK;
    if (!data || !converted) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK) status = spyi_tensor_download(from, data, error);
    if (status == SPY_OK && converted != data) {
        // The types that are converted have no padding in C.
        size_t scalars = from_size / spy_dtype_size_bytes(from->type->scalar);
        if (!spyi_convert_scalars(converted, to->type->scalar, data, from->type->scalar, scalars)) {
            spyi_report_misfit(data, from->type->scalar, to, scalars, error);
            status = SPY_ERROR_OUT_OF_RANGE;
        }
    }
    if (status == SPY_OK) status = spyi_tensor_upload(to, converted, error);
    if (converted != data) free(converted);
    free(data);
    return status;
}

// Returns how many elements, counted from the last dimension, lie next to each other in both tensors.
static int64_t spyi_common_run(const spy_tensor *a, const spy_tensor *b) {
    int64_t run = 1;
    for (uint32_t i = a->shape.rank; i-- > 0;) {
        if (a->shape.dims[i] != 1 && (a->strides.dims[i] != run || b->strides.dims[i] != run)) break;
        run *= a->shape.dims[i];
    }
    return run;
}

// Copies on the device, `run` elements at a time. The tensors do not overlap, so that one barrier before the
// first copy serves all.
static spy_status spyi_copy_runs(spy_tensor *to, spy_tensor *from, int64_t run, spyi_text *error) {
    spy_device *device = to->object.device;
    spyi_storage *out = to->storage, *in = from->storage;
    int64_t size = (int64_t)spyi_type_device_stride(to->type), index[SPY_MAX_RANK] = { 0 };
    spyi_use uses[2];
    uses[0] = spyi_use_of(&out->resource, to->begin_bytes, to->end_bytes, SPYI_USE_WRITES);
    uses[1] = spyi_use_of(&in->resource, from->begin_bytes, from->end_bytes, SPYI_USE_READS);
    spyi_before before = spyi_take_uses(device, uses, 2, false);
    spy_status status = SPY_OK;
    for (int64_t done = 0; done < to->element_count && status == SPY_OK; done += run) {
        int64_t a = 0, b = 0, step = run;
        for (uint32_t d = 0; d < to->shape.rank; d++) {
            a += index[d] * to->strides.dims[d];
            b += index[d] * from->strides.dims[d];
        }
        spyi_copy_work copy =
            spyi_copy_of(&out->chunk, out->offset + to->offset_bytes + (uint64_t)(a * size), &in->chunk,
                         in->offset + from->offset_bytes + (uint64_t)(b * size), (uint64_t)(run * size));
        if (done == 0) copy.work.before = before;
        status = spyi_record(device->backend, device->gpu, &copy.work, error);
        for (uint32_t d = to->shape.rank; d-- > 0 && step;) { // moves on to the next run
            int64_t n = to->shape.dims[d], at = index[d] + step;
            index[d] = at % n;
            step = at / n;
        }
    }
    spyi_uses_done(device, &before, false, status);
    spyi_note_batch(device, uses, 2); // many copies fill several batches
    return status;
}

// Returns whether copies on the device are cheaper than a copy through host memory. One recorded copy costs
// the device about as much as 4 KiB through host memory; up to 64 copies cost less than waiting for the GPU.
static bool spyi_runs_pay(int64_t run_bytes, int64_t runs) {
    return runs <= 64 || run_bytes >= 4096;
}

static spy_status spyi_copy(spy_tensor *to, spy_tensor *from, spyi_text *error) {
    bool same_type = to->type == from->type;
    if (to->element_count == 0) return SPY_OK;
    if (spyi_tensors_overlap(to, from)) {
        if (same_type && to->offset_bytes == from->offset_bytes &&
            memcmp(to->strides.dims, from->strides.dims, to->shape.rank * sizeof *to->strides.dims) == 0)
            return SPY_OK; // a copy of the tensor to itself
        return spyi_copy_through_host(to, from, error);
    }
    int64_t run = spyi_common_run(to, from), size = (int64_t)spyi_type_device_stride(to->type);
    if (same_type && spyi_runs_pay(run * size, to->element_count / run))
        return spyi_copy_runs(to, from, run, error);
    return spyi_copy_through_host(to, from, error);
}

static spy_status spyi_check_copy(const spy_tensor *to, const spy_tensor *from, spyi_text *error) {
    if (!spyi_is_on(to->object.device, from, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "from: ");
        return spyi_object_problem(from, SPYI_KIND_TENSOR, error);
    }
    if (to->shape.rank != from->shape.rank ||
        memcmp(to->shape.dims, from->shape.dims, to->shape.rank * sizeof *to->shape.dims) != 0) {
        spyi_text_add(error, "expected from to have the shape ");
        spyi_shape_text(&to->shape, error);
        spyi_text_add(error, " of to, got ");
        spyi_shape_text(&from->shape, error);
        spyi_text_add(error, "; spy_create_broadcast() stretches it, spy_create_reshape() cuts it anew");
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!spyi_types_alike(to->type, from->type)) {
        spyi_text_add(error, "%s cannot be converted to %s", from->type->display, to->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (spyi_tensor_overlaps_itself(to)) {
        spyi_text_add(error, "to is a view in which several elements lie at one place: they would be written "
                             "several times");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

spy_status spy_tensor_copy(spy_tensor *to, spy_tensor *from) {
    const char *function = "spy_tensor_copy";
    spy_status entered = spyi_enter(to, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    spy_device *device = to->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_check_copy(to, from, &error);
    if (status == SPY_OK) status = spyi_copy(to, from, &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

// >>the address of a tensor

uint64_t spy_tensor_address(spy_tensor *tensor) {
    const char *function = "spy_tensor_address";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return 0;
    spy_device *device = tensor->object.device;
    const spyi_storage *storage = tensor->storage;
    uint64_t address = 0;
    if (storage->chunk.address) address = storage->chunk.address + storage->offset + tensor->offset_bytes;
    else
        spyi_fail(&device->ctx, SPY_ERROR_UNSUPPORTED,
                  "%s: device '%s' has no pointers (SPY_FEATURE_POINTERS)", function,
                  device->base->limits.info.name);
    spyi_leave(device);
    return address;
}
