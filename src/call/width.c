// Decides how many elements a thread takes: neighbours as vectors, where every leaf allows it, or several
// elements one group apart.
#include "call/launch.h"

#define SPYI_WIDE_BYTES                                                                                      \
    256 // most bytes of one thread's elements over all leaves in wide variants: they lie in registers
#define SPYI_UNROLL_FROM ((int64_t)1 << 20) // least elements of a call whose threads take several

// Returns whether each `width` neighbouring elements of the leaf are aligned vectors, for every thread.
static bool spyi_vector_fits(const spyi_launch *launch, const spyi_launch_leaf *leaf, bool linear,
                             uint32_t components, uint32_t width) {
    uint64_t vector = (uint64_t)(leaf->memory_size / components) * SPYI_LANES,
             group = (uint64_t)leaf->memory_size * width;
    if (width > SPYI_LANES && vector < 16) vector = 16;
    uint64_t base = leaf->storage ? leaf->storage->offset : 0;
    if (leaf->begin != leaf->offset || leaf->strides[launch->rank - 1] != 1 || (base + leaf->offset) % vector)
        return false;
    for (uint32_t d = 0; d + 1 < launch->rank; d++)
        if (!linear && leaf->strides[d] % width) return false;
    // The last thread's vectors may be read beyond the last element, but not beyond the storage. Blocks of
    // the pool are multiples of 64 bytes.
    if (!leaf->storage) return 64 % group == 0 || (leaf->end - leaf->offset) % group == 0;
    return spyi_align((size_t)(leaf->end - leaf->offset), (size_t)group) + leaf->offset <=
           leaf->storage->size;
}

// Makes the variant wide if every leaf allows it and all outputs are vectors. With `crosses` a thread's
// elements may run on from one row to the next; leaves that are not linear are then read element by element.
static void spyi_try_wide(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits, uint32_t width,
                          bool crosses) {
    int64_t from = limits->profile.prefers_bindings
                       ? 2 * SPYI_LANES
                       : (int64_t)16384 * width; // with fewer elements a GPU needs the threads more
    if (launch->rank == 0 || launch->key.width > 1 || launch->count < from) return;
    if (launch->rank > 1 && !crosses && launch->dims[launch->rank - 1] % width) return;
    if (crosses && (launch->rank < 2 || b->mode || launch->key.reordered)) return;
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES];
    memcpy(walk, launch->key.walk, sizeof walk);
    bool outputs = false, row = true; // row: all leaves are linear
    size_t bytes = 0, largest = 0;    // bytes: an element over all leaves; largest: a scalar
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_is_walked(b, launch, i) || walk[i] == SPYI_WALK_UNIFORM) continue;
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_can_widen(leaf) || (walk[i] & SPYI_WALK_GATHER)) return;
        bool linear = walk[i] == SPYI_WALK_LINEAR;
        bool vector =
            (linear || !crosses) && spyi_vector_fits(launch, at, linear, leaf->type->columns, width);
        // With elements of several scalars, a GPU's threads skip over each other's vectors
        // (docs/measurements.md has the figures).
        if (leaf->type->columns > 1 && (!vector || !limits->profile.prefers_bindings)) return;
        bytes += at->memory_size;
        row = row && linear;
        if (largest < at->memory_size / leaf->type->columns) largest = at->memory_size / leaf->type->columns;
        if (leaf->out && !vector) return;
        outputs = outputs || leaf->out;
        bool still = !crosses && at->strides[launch->rank - 1] == 0;
        if (vector) walk[i] = linear ? SPYI_WALK_LINEAR : SPYI_WALK_INNER;
        else
            walk[i] =
                (uint8_t)((still ? SPYI_WALK_STILL : SPYI_WALK_STRIDED) | (walk[i] & SPYI_WALK_REVERSED));
    }
    if (!outputs || bytes * width > SPYI_WIDE_BYTES) return;
    if (row && largest > spyi_rules_of(limits->profile.target)->wide_scalar) return;
    memcpy(launch->key.walk, walk, sizeof walk);
    launch->key.width = (uint8_t)width;
    launch->key.crosses = crosses;
    // The strides of a leaf that is loaded as vectors count vectors. Its last vector is read as a whole.
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_is_walked(b, launch, i) || !spyi_key_is_vector(&launch->key, i)) continue;
        for (uint32_t d = 0; d + 1 < launch->rank; d++) at->strides[d] /= width;
        at->reach = at->offset + spyi_align((size_t)(at->end - at->offset), (size_t)at->memory_size * width);
    }
}

// Returns the elements that fill 16 bytes of the smallest scalars, on targets that load small scalars so;
// elsewhere SPYI_LANES.
static uint32_t spyi_widest(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits) {
    uint32_t smallest = 4;
    if (!spyi_rules_of(limits->profile.target)->packs_words) return SPYI_LANES;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_leaf_in_memory(&b->leaves[i]) && launch->key.walk[i] != SPYI_WALK_UNIFORM &&
            launch->leaves[i].memory_size < smallest)
            smallest = launch->leaves[i].memory_size;
    return smallest == 1 || smallest == 2 ? 16 / smallest : SPYI_LANES;
}

// Lets a thread of a large flat call that cannot be wide take several elements, so that more loads are under
// way: four, or two if elements are large (docs/measurements.md has the figures).
static void spyi_try_unroll(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits) {
    size_t bytes = 0;
    if (launch->key.width > 1 || launch->rank == 0 || launch->count < SPYI_UNROLL_FROM ||
        limits->profile.prefers_bindings)
        return;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_is_walked(b, launch, i) || launch->key.walk[i] == SPYI_WALK_UNIFORM) continue;
        if (launch->key.walk[i] != SPYI_WALK_LINEAR) return;
        bytes += launch->leaves[i].memory_size;
    }
    launch->key.unroll = bytes <= 16 ? 4 : bytes <= 64 ? 2 : 1;
}

SPYI_FN void spyi_launch_width(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    spyi_try_wide(b, launch, limits, spyi_widest(b, launch, limits), false);
    spyi_try_wide(b, launch, limits, SPYI_LANES, false);
    spyi_try_wide(b, launch, limits, SPYI_LANES, true);
    spyi_try_unroll(b, launch, limits);
}
