// Fills the field of a tensor that is passed whole: the tensor in the layout of slangpy_tensor.slang, its
// gradients in the same layout, and the strides of the dimensions that it is run over.
#include "data/bounds.h"
#include "kinds/internal.h"

SPYI_FN uint32_t spyi_whole_parts(const spyi_leaf *leaf) {
    return leaf->whole_grads == (SPYI_WHOLE_LOADS | SPYI_WHOLE_STORES) ? 3 : leaf->whole_grads ? 2 : 1;
}

// Returns how many elements of the tensor's memory make one element of the parameter, or 0 when they are not
// contiguous.
static int64_t spyi_whole_pack(const spyi_leaf *leaf, const spy_tensor *t) {
    int64_t pack = 1;
    uint32_t outer = t->shape.rank;
    while (outer > leaf->batch_rank && leaf->consumed_dims[outer - 1 - leaf->batch_rank] != -1) {
        outer--;
        if (t->shape.dims[outer] != 1 && t->strides.dims[outer] != pack) return 0;
        pack *= t->shape.dims[outer];
    }
    for (uint32_t d = 0; d < outer; d++)
        if (t->shape.dims[d] > 1 && t->strides.dims[d] % pack) return 0;
    return pack;
}

// Writes one tensor: address (8 bytes), offset, site, sizes, strides (4 bytes each). `element` is the bytes
// of one element.
static bool spyi_fill_part(const spyi_leaf *leaf, const spy_tensor *t, uint64_t element, uint32_t site,
                           uint8_t *out, spyi_text *error) {
    int64_t pack = spyi_whole_pack(leaf, t);
    uint64_t first = t->offset_bytes - t->begin_bytes;
    if (pack == 0 || t->begin_bytes % leaf->element->device_align || first % element) {
        spyi_text_add(error, "its trailing dimensions do not lie next to each other, as %s needs",
                      leaf->element->display);
        return false;
    }
    if (!t->storage->chunk.address || (t->end_bytes - t->begin_bytes) / element > INT32_MAX) {
        spyi_text_add(error, t->storage->chunk.address
                                 ? "it spans more than 2147483647 elements, which a tensor in Slang cannot"
                                 : "the device has no pointers, which tensors in Slang are made of");
        return false;
    }
    uint64_t address = t->storage->chunk.address + t->storage->offset + t->begin_bytes;
    uint32_t offset = (uint32_t)(first / element), rank = 0;
    memcpy(out, &address, 8);
    memcpy(out + 8, &offset, 4);
    memcpy(out + 12, &site, 4);
    while (rank < leaf->consumed && leaf->consumed_dims[rank] == -1) rank++;
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t dim = leaf->batch_rank + d;
        int32_t size = (int32_t)t->shape.dims[dim];
        int32_t stride = t->shape.dims[dim] == 1 ? 0 : (int32_t)(t->strides.dims[dim] / pack);
        memcpy(out + 16 + 4 * d, &size, 4);
        memcpy(out + 16 + 4 * (rank + d), &stride, 4);
    }
    return true;
}

// Returns the gradient `which` if a call of the leaf's mode uses it, otherwise NULL.
static const spy_tensor *spyi_whole_gradient(const spyi_leaf *leaf, const spyi_value *value, int which) {
    bool backward = leaf->mode == SPY_CALL_MODE_BACKWARD;
    uint8_t use = which == SPYI_GRAD_IN ? (backward ? SPYI_WHOLE_STORES : SPYI_WHOLE_LOADS)
                                        : (backward ? SPYI_WHOLE_LOADS : SPYI_WHOLE_STORES);
    if (!leaf->mode || !(leaf->whole_grads & use)) return NULL;
    return leaf->paired ? value[1].tensor : value->tensor->grads[which];
}

SPYI_FN bool spyi_whole_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    uint8_t *out = (uint8_t *)field;
    uint32_t parts = spyi_whole_parts(leaf), size = (leaf->field_size - 4 * leaf->batch_rank) / parts;
    int64_t pack = spyi_whole_pack(leaf, t);
    if (!spyi_fill_part(leaf, t, spyi_type_device_stride(leaf->element), leaf->site, out, error))
        return false;
    memset(out + size, 0, (size_t)size * (parts - 1));
    for (int g = 0; g < 2 && parts > 1; g++) {
        const spy_tensor *grad = spyi_whole_gradient(leaf, value, g);
        uint64_t scalars = spyi_type_device_stride(leaf->element) / spyi_type_device_stride(t->type);
        if (!grad) continue;
        bool alike = leaf->batch_rank == 0 || memcmp(&grad->strides, &t->strides, sizeof t->strides) == 0;
        if (!alike) spyi_text_add(error, "it is run over, so that its gradient must lie as it does");
        if (!alike || !spyi_fill_part(leaf, grad, scalars * spyi_type_device_stride(grad->type),
                                      leaf->site ? leaf->site | SPYI_BOUNDS_GRADIENT : 0,
                                      out + size * (parts == 3 ? (uint32_t)g + 1 : 1), error))
            return false;
    }
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        int32_t stride = t->shape.dims[d] == 1 ? 0 : (int32_t)(t->strides.dims[d] / pack);
        memcpy(out + size * parts + 4 * d, &stride, 4);
    }
    return true;
}

// The tensor and each gradient begin with their address.
SPYI_FN uint32_t spyi_whole_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    uint32_t parts = spyi_whole_parts(leaf), size = (leaf->field_size - 4 * leaf->batch_rank) / parts;
    for (uint32_t i = 0; i < parts; i++) offsets[i] = i * size;
    return parts;
}

SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field) {
    uint32_t parts = spyi_whole_parts(leaf), size = (leaf->field_size - 4 * leaf->batch_rank) / parts;
    if (leaf->whole_grads & SPYI_WHOLE_LOADS) memset((uint8_t *)field + size * (parts - 1), 0, 8);
}
