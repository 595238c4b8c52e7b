// Whether a call repeats its plan's last launch: then shapes, variant and all sizes stay as they are.
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

// Sizes and strides beyond the rank are 0 in both.
static bool spyi_same_shape(const spyi_launch_leaf *at, const spy_tensor *t) {
    const uint8_t *a = at->geometry, *b = (const uint8_t *)(const void *)&t->shape;
    size_t sizes = offsetof(spy_shape, dims) + t->shape.rank * sizeof *t->shape.dims;
    return spyi_same_words(a, b, sizes) &&
           spyi_same_words(a + sizeof(spy_shape), b + sizeof(spy_shape), sizes);
}

// No vector is larger, nor any other alignment that a launch asks for.
#define SPYI_MOST_ALIGNED 32u

// The largest power of two that divides an address. Two addresses of one class allow and forbid the same vectors.
static uint64_t spyi_alignment_class(uint64_t address) {
    address |= SPYI_MOST_ALIGNED;
    return address & (~address + 1);
}

// A kernel with pointers takes any base address of the same class, as long as there is room behind the end for whole vectors.
// Where a binding was placed for a tensor, offset and grid must be the very ones.
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

// The tensor of a leaf that lies in memory of the caller's; NULL: it does not.
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

// Steady loops call again and again with tensors of the same shapes and strides: no size, walk or variant changes then, as
// long as each address is aligned as it was, there is room for whole vectors, and none is an output and something else at once.
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
