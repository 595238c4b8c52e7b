// Copies elements of tensors to and from host memory in C's layout.
//
// Elements that lie apart are copied either as one range with everything between them or piece by piece,
// whichever costs less. An upload does not change the elements between the written ones.
#include "data/device.h"

// >>ranges of bytes

// The bytes of a download that blocks. A copy to the host of so many bytes takes a tenth of a millisecond, so desc.blocking is told of it.
#define SPYI_BLOCKING_BYTES ((uint64_t)1 << 20)

static spy_status spyi_range_upload(spy_tensor *t, uint64_t begin, uint64_t end, const void *image,
                                    spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_storage *storage = t->storage;
    spyi_use use = spyi_use_of(&storage->resource, begin, end, SPYI_USE_WRITES);
    spyi_upload_work upload = spyi_upload_of(&storage->chunk, storage->offset + begin, image, end - begin);
    spy_status status = spyi_record_with(device, &upload.work, &use, 1, false, error);
    spyi_note_batch(device, &use, 1); // a large upload fills several batches
    return status;
}

static spy_status spyi_range_download(spy_tensor *t, uint64_t begin, uint64_t end, void *image,
                                      spyi_text *error) {
    spy_device *device = t->object.device;
    const spyi_storage *storage = t->storage;
    uint64_t written = storage->resource.write_submit;
    if (written < device->untracked_submit) written = device->untracked_submit;
    bool blocks = end - begin >= SPYI_BLOCKING_BYTES;
    if (blocks) spyi_block(&device->ctx, true);
    spy_status status = device->backend->download(device->gpu, image, &storage->chunk,
                                                  storage->offset + begin, end - begin, written, error);
    if (blocks) spyi_block(&device->ctx, false);
    return status;
}

// >>boxes of elements: dimensions dim.. of a box, from element offset `at` of the tensor on

// The fixed cost of one transfer (recording it, or waiting for it), in bytes that could be copied in that
// time.
#define SPYI_TRANSFER_BYTES 32768.0

static int64_t spyi_box_count(const spyi_box *box, uint32_t dim) {
    int64_t count = 1;
    for (; dim < box->rank; dim++) count *= box->dims[dim];
    return count;
}

static bool spyi_box_contiguous(const spyi_box *box, uint32_t dim) {
    int64_t expected = 1;
    for (uint32_t i = box->rank; i-- > dim;) {
        if (box->dims[i] != 1 && box->strides[i] != expected) return false;
        expected *= box->dims[i];
    }
    return true;
}

// Computes the lowest element offset of the box, and the one behind its highest.
static void spyi_box_reach(const spyi_box *box, uint32_t dim, int64_t *low, int64_t *high) {
    *low = 0;
    *high = 1;
    for (; dim < box->rank; dim++) {
        int64_t span = (box->dims[dim] - 1) * box->strides[dim];
        if (span < 0) *low += span;
        else *high += span;
    }
}

// Returns the cost of copying the box in the cheaper way, in bytes. Sets *split when it is cheaper to copy in
// pieces, one for each item of dimension `dim`.
static double spyi_box_cost(const spyi_box *box, uint32_t dim, size_t element, bool upload, bool *split) {
    int64_t low, high;
    bool ignored;
    spyi_box_reach(box, dim, &low, &high);
    double whole = (double)(high - low) * (double)element + SPYI_TRANSFER_BYTES;
    *split = false;
    if (dim == box->rank || spyi_box_contiguous(box, dim)) return whole;
    if (upload) whole *= 2; // the elements between must be downloaded first
    double parts = (double)box->dims[dim] * spyi_box_cost(box, dim + 1, element, upload, &ignored);
    *split = parts < whole;
    return *split ? parts : whole;
}

// Copies elements between packed host memory and a host copy of the box's device bytes, with element offset 0
// at `image`. Returns the end of the host memory.
static char *spyi_scatter(const spyi_type *type, const spyi_box *box, uint32_t dim, char *image, char *host,
                          bool upload) {
    bool run = dim == box->rank || (dim + 1 == box->rank && box->strides[dim] == 1);
    int64_t n = dim == box->rank ? 1 : box->dims[dim];
    if (run) {
        if (upload) spyi_type_to_device(type, image, host, (size_t)n);
        else spyi_type_to_host(type, host, image, (size_t)n);
        return host + (size_t)n * spyi_type_host_stride(type);
    }
    int64_t step = box->strides[dim] * (int64_t)spyi_type_device_stride(type);
    for (int64_t i = 0; i < n; i++) host = spyi_scatter(type, box, dim + 1, image + i * step, host, upload);
    return host;
}

static spy_status spyi_box_range(spy_tensor *t, const spyi_box *box, uint32_t dim, int64_t at, char *host,
                                 bool upload, spyi_text *error) {
    int64_t low, high, element = (int64_t)spyi_type_device_stride(t->type);
    spyi_box_reach(box, dim, &low, &high);
    uint64_t begin = (uint64_t)((int64_t)t->offset_bytes + (at + low) * element),
             end = (uint64_t)((int64_t)t->offset_bytes + (at + high) * element);
    bool contiguous = spyi_box_contiguous(box, dim);
    if (contiguous && t->type->same_layout)
        return upload ? spyi_range_upload(t, begin, end, host, error)
                      : spyi_range_download(t, begin, end, host, error);
    char *image = (char *)spyi_calloc(1, (size_t)(end - begin));
    if (!image) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spy_status status = SPY_OK;
    if (!upload || !contiguous) status = spyi_range_download(t, begin, end, image, error);
    if (status == SPY_OK) spyi_scatter(t->type, box, dim, image - low * element, host, upload);
    if (status == SPY_OK && upload) status = spyi_range_upload(t, begin, end, image, error);
    free(image);
    return status;
}

static spy_status spyi_box_move(spy_tensor *t, const spyi_box *box, uint32_t dim, int64_t at, char *host,
                                bool upload, spyi_text *error) {
    bool split;
    spyi_box_cost(box, dim, spyi_type_device_stride(t->type), upload, &split);
    if (!split) return spyi_box_range(t, box, dim, at, host, upload, error);
    spy_status status = SPY_OK;
    size_t part = (size_t)spyi_box_count(box, dim + 1) * spyi_type_host_stride(t->type);
    for (int64_t i = 0; i < box->dims[dim] && status == SPY_OK; i++, host += part)
        status = spyi_box_move(t, box, dim + 1, at + i * box->strides[dim], host, upload, error);
    return status;
}

SPYI_FN spy_status spyi_tensor_download_box(spy_tensor *t, const spyi_box *box, void *data,
                                            spyi_text *error) {
    if (spyi_box_count(box, 0) == 0) return SPY_OK;
    return spyi_box_move(t, box, 0, 0, (char *)data, false, error);
}

// >>elements by their number in row-major order

// Copies elements first .. first + count of dimensions `dim` and up: part of a row, then a box of full rows,
// then part of another row.
static spy_status spyi_elements_move(spy_tensor *t, uint32_t dim, int64_t at, int64_t first, int64_t count,
                                     char *host, bool upload, spyi_text *error) {
    spyi_box box;
    memset(&box, 0, sizeof box);
    box.rank = t->shape.rank - dim;
    memcpy(box.dims, t->shape.dims + dim, box.rank * sizeof *box.dims);
    memcpy(box.strides, t->strides.dims + dim, box.rank * sizeof *box.strides);
    if (box.rank == 0) return spyi_box_move(t, &box, 0, at, host, upload, error);
    int64_t row = spyi_box_count(&box, 1), stride = t->strides.dims[dim], index = first / row;
    size_t size = spyi_type_host_stride(t->type);
    spy_status status = SPY_OK;
    if (first % row) {
        int64_t n = row - first % row < count ? row - first % row : count;
        status = spyi_elements_move(t, dim + 1, at + index * stride, first % row, n, host, upload, error);
        host += (size_t)n * size;
        count -= n;
        index++;
    }
    box.dims[0] = count / row;
    if (status == SPY_OK && box.dims[0])
        status = spyi_box_move(t, &box, 0, at + index * stride, host, upload, error);
    host += (size_t)(box.dims[0] * row) * size;
    index += box.dims[0];
    if (status == SPY_OK && count % row)
        status = spyi_elements_move(t, dim + 1, at + index * stride, 0, count % row, host, upload, error);
    return status;
}

SPYI_FN spy_status spyi_tensor_move(spy_tensor *t, int64_t first, int64_t count, void *data, bool upload,
                                    spyi_text *error) {
    if (count == 0) return SPY_OK;
    if (!t->contiguous) return spyi_elements_move(t, 0, 0, first, count, (char *)data, upload, error);
    spyi_box run;
    memset(&run, 0, sizeof run);
    run.rank = 1;
    run.dims[0] = count;
    run.strides[0] = 1;
    return spyi_box_move(t, &run, 0, first, (char *)data, upload, error);
}

SPYI_FN spy_status spyi_tensor_upload(spy_tensor *t, const void *data, spyi_text *error) {
    return spyi_tensor_move(t, 0, t->element_count, (void *)(uintptr_t)data, true, error);
}

SPYI_FN spy_status spyi_tensor_download(spy_tensor *t, void *data, spyi_text *error) {
    return spyi_tensor_move(t, 0, t->element_count, data, false, error);
}
