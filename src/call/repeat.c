// Decides whether a call repeats one of its plan's launches. If it does, shapes, variant and all sizes stay
// as they are.
#include "call/launch.h"

SPYI_FN uint64_t spyi_launch_grid(const spyi_limits *limits) {
    uint64_t grid = limits->binding_alignment > limits->texel_alignment ? limits->binding_alignment
                                                                        : limits->texel_alignment;
    return (grid > 64 ? grid : 64) - 1;
}

static bool spyi_same_words(const uint8_t *a, const uint8_t *b, size_t size) {
    uint64_t x, y, differ = 0;
    for (size_t i = 0; i < size; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        differ |= x ^ y;
    }
    return differ == 0;
}

// Returns whether shape and strides are equal. Both have zeros beyond the rank.
static bool spyi_same_shape(const spyi_launch_leaf *at, const spy_tensor *t) {
    const uint8_t *a = at->geometry, *b = (const uint8_t *)(const void *)&t->shape;
    size_t sizes = offsetof(spy_shape, dims) + t->shape.rank * sizeof *t->shape.dims;
    return spyi_same_words(a, b, sizes) &&
           spyi_same_words(a + sizeof(spy_shape), b + sizeof(spy_shape), sizes);
}

// The largest alignment in bytes that a launch needs, which is that of the largest vector.
#define SPYI_MOST_ALIGNED 32u

// Returns the largest power of two that divides the address, at most SPYI_MOST_ALIGNED. Addresses with the
// same result allow the same vectors.
static uint64_t spyi_alignment_class(uint64_t address) {
    address |= SPYI_MOST_ALIGNED;
    return address & (~address + 1);
}

// With pointers a kernel takes any base address of the same alignment class, if the storage has room for
// whole vectors behind the end. With a binding, the tensor's offset must be the same, and the storage's
// offset must agree in all bits of `grid`.
SPYI_FN bool spyi_launch_leaf_repeats(const spyi_launch_leaf *at, const spy_tensor *t, uint64_t grid) {
    const spyi_storage *storage = t->storage;
    if (!spyi_same_shape(at, t)) return false;
    if (at->bound)
        return t->offset_bytes == at->offset && t->begin_bytes == at->begin && storage->size >= at->reach &&
               ((storage->offset ^ at->storage_offset) & grid) == 0;
    return spyi_alignment_class(storage->offset + t->begin_bytes) ==
               spyi_alignment_class(at->storage_offset + at->begin) &&
           storage->size - t->begin_bytes >= at->reach - at->begin;
}

SPYI_FN void spyi_launch_leaf_take(spyi_launch_leaf *at, const spy_tensor *t) {
    const spyi_storage *storage = t->storage;
    at->binding_offset += storage->offset - at->storage_offset;
    at->storage_offset = storage->offset;
    at->storage = t->storage;
    at->serial = t->serial;
    at->offset = t->offset_bytes;
    at->reach += t->begin_bytes - at->begin;
    at->begin = t->begin_bytes;
    at->end = t->end_bytes;
}

// Returns the caller's tensor in which the leaf lies; NULL means that there is none.
static const spy_tensor *spyi_leaf_tensor(const spyi_bound *b, const spyi_values *values, uint32_t i) {
    const spyi_leaf *leaf = &b->leaves[i];
    return (leaf->traits & SPYI_TRAIT_TENSOR) || spyi_leaf_is_whole(leaf) ? values->items[leaf->value].tensor
                                                                          : NULL;
}

SPYI_FN bool spyi_outputs_apart(const spyi_bound *b, const spyi_values *values) {
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || !(b->leaves[i].traits & SPYI_TRAIT_TENSOR)) continue;
        const spy_tensor *out = spyi_leaf_tensor(b, values, i);
        for (uint32_t j = 0; j < b->leaf_count; j++) {
            const spy_tensor *other = spyi_leaf_tensor(b, values, j);
            if (j != i && other && spyi_tensors_may_overlap(out, other)) return false;
        }
    }
    return true;
}

static bool spyi_one_repeats(const spyi_launch *launch, const spyi_bound *b, const spyi_values *values,
                             uint64_t grid) {
    if (!launch->repeatable || launch->several) return false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spy_tensor *t = spyi_leaf_tensor(b, values, i);
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (t && ((launch->key.bindings && t->storage->offset + at->binding_offset < at->storage_offset) ||
                  !spyi_launch_leaf_repeats(at, t, grid)))
            return false;
    }
    return true;
}

// Loops often make calls with tensors of the same shapes and strides. No size, walk or variant then changes
// if each address has its old alignment, each storage has room for complete vectors, and no output shares
// memory with another argument.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values) {
    const spyi_bound *b = &plan->bound;
    uint32_t i = 0;
    if (values->thread_count.rank || !spyi_outputs_apart(b, values)) return false;
    uint64_t grid = spyi_launch_grid(&plan->function->object.device->base->limits);
    while (i < SPYI_GEOMETRIES && plan->launches[i] && !spyi_one_repeats(plan->launches[i], b, values, grid))
        i++;
    if (i == SPYI_GEOMETRIES || !plan->launches[i]) return false;
    spyi_plan_use_launch(plan, i);
    for (uint32_t k = 0; k < b->leaf_count; k++) {
        const spy_tensor *t = spyi_leaf_tensor(b, values, k);
        if (t) spyi_launch_leaf_take(&plan->launch->leaves[k], t);
    }
    return true;
}
