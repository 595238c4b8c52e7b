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
static bool spyi_same_geometry(const spyi_launch_leaf *at, const spy_tensor *t) {
    const uint8_t *a = at->geometry, *b = (const uint8_t *)(const void *)&t->shape;
    size_t sizes = offsetof(spy_shape, dims) + t->shape.rank * sizeof *t->shape.dims,
           end = 2 * sizeof(spy_shape);
    return spyi_same_words(a, b, sizes) &&
           spyi_same_words(a + sizeof(spy_shape), b + sizeof(spy_shape), sizes) &&
           spyi_same_words(a + end, b + end, sizeof at->geometry - end);
}

SPYI_FN bool spyi_launch_leaf_repeats(spyi_launch_leaf *at, const spy_tensor *t, uint64_t grid) {
    spyi_storage *storage = t->storage;
    if (!spyi_same_geometry(at, t) || storage->size < at->reach ||
        ((storage->offset ^ at->storage_offset) & grid) != 0)
        return false;
    at->binding_offset += storage->offset - at->storage_offset;
    at->storage_offset = storage->offset;
    at->storage = storage;
    at->serial = t->serial;
    return true;
}

// Steady loops call again and again with tensors of the same geometry: nothing of the above changes then, as long as each
// storage lies on the same grid, is large enough for whole vectors, and none is an output and something else at once.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values) {
    spyi_launch *launch = &plan->launch;
    const spyi_bound *b = &plan->bound;
    if (!launch->repeatable || values->thread_count.rank) return false;
    uint64_t grid = spyi_launch_grid(&plan->function->object.device->base->limits);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!(b->leaves[i].traits & SPYI_TRAIT_TENSOR) && !spyi_leaf_is_whole(&b->leaves[i])) continue;
        const spy_tensor *t = values->items[b->leaves[i].value].tensor;
        spyi_launch_leaf *at = &launch->leaves[i];
        if ((launch->key.bindings && t->storage->offset + at->binding_offset < at->storage_offset) ||
            !spyi_launch_leaf_repeats(at, t, grid))
            return false;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || !(b->leaves[i].traits & SPYI_TRAIT_TENSOR)) continue;
        for (uint32_t j = 0; j < b->leaf_count; j++)
            if (j != i && ((b->leaves[j].traits & SPYI_TRAIT_TENSOR) || spyi_leaf_is_whole(&b->leaves[j])) &&
                launch->leaves[j].storage == launch->leaves[i].storage)
                return false;
    }
    return true;
}
