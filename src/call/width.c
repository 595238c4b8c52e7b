// Decides how many elements a thread takes: neighbours as vectors, where every leaf allows it, several elements one
// group apart, or one element. The table at the end of the file has a row for each of these ways.
#include "call/launch.h"

#define SPYI_WIDE_BYTES                                                                                      \
    256 // most bytes of one thread's elements over all leaves in wide variants: they lie in registers
#define SPYI_UNROLL_FROM ((int64_t)1 << 20) // least elements of a call whose threads take several

// A way in which a thread takes elements.
typedef struct spyi_way spyi_way;

// What a way makes of a launch: the code that is emitted for it follows from these members of the variant's key.
typedef struct spyi_way_taken {
    uint32_t width, unroll;
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES]; // of each leaf
} spyi_way_taken;

struct spyi_way {
    // Condition: returns whether the launch allows the way (NULL: each launch does), and then sets the members of
    // *taken that differ from those of one element a thread. `width`: how many elements, of the ways that take vectors.
    bool (*allows)(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                   const spyi_way *way, spyi_way_taken *taken);
    uint32_t (*width)(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits);
    bool crosses; // a thread's elements may run on from one row to the next
    // Accesses of memory for 16 neighbouring elements of one scalar, of the smallest type for which the way is
    // meant. Of the ways that a launch allows, that with the lowest cost is taken.
    uint32_t cost;
};

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

// Returns whether every leaf allows vectors and all outputs are vectors. Where elements cross rows, leaves that are
// not linear are read element by element.
static bool spyi_wide_allows(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                             const spyi_way *way, spyi_way_taken *taken) {
    const uint32_t width = way->width(b, launch, limits);
    const bool crosses = way->crosses;
    uint8_t *walk = taken->walk;
    int64_t from = limits->profile.prefers_bindings
                       ? 2 * SPYI_LANES
                       : (int64_t)16384 * width; // with fewer elements a GPU needs the threads more
    if (launch->rank == 0 || launch->count < from) return false;
    if (launch->rank > 1 && !crosses && launch->dims[launch->rank - 1] % width) return false;
    if (crosses && (launch->rank < 2 || b->mode || launch->key.reordered)) return false;
    bool outputs = false, row = true; // row: all leaves are linear
    size_t bytes = 0, largest = 0;    // bytes: an element over all leaves; largest: a scalar
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_is_walked(b, launch, i) || walk[i] == SPYI_WALK_UNIFORM) continue;
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_can_widen(leaf) || (walk[i] & SPYI_WALK_GATHER)) return false;
        bool linear = walk[i] == SPYI_WALK_LINEAR;
        bool vector =
            (linear || !crosses) && spyi_vector_fits(launch, at, linear, leaf->type->columns, width);
        // With elements of several scalars, a GPU's threads skip over each other's vectors
        // (docs/measurements.md has the figures).
        if (leaf->type->columns > 1 && (!vector || !limits->profile.prefers_bindings)) return false;
        bytes += at->memory_size;
        row = row && linear;
        if (largest < at->memory_size / leaf->type->columns) largest = at->memory_size / leaf->type->columns;
        if (leaf->out && !vector) return false;
        outputs = outputs || leaf->out;
        bool still = !crosses && at->strides[launch->rank - 1] == 0;
        if (vector) walk[i] = linear ? SPYI_WALK_LINEAR : SPYI_WALK_INNER;
        else
            walk[i] =
                (uint8_t)((still ? SPYI_WALK_STILL : SPYI_WALK_STRIDED) | (walk[i] & SPYI_WALK_REVERSED));
    }
    if (!outputs || bytes * width > SPYI_WIDE_BYTES) return false;
    if (row && largest > spyi_rules_of(limits->profile.target)->wide_scalar) return false;
    taken->width = width;
    return true;
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

static uint32_t spyi_lanes(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits) {
    (void)b;
    (void)launch;
    (void)limits;
    return SPYI_LANES;
}

// Lets a thread of a large flat call that cannot be wide take several elements, so that more loads are under
// way: four, or two if elements are large (docs/measurements.md has the figures).
static bool spyi_several_allows(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                                const spyi_way *way, spyi_way_taken *taken) {
    size_t bytes = 0;
    (void)way;
    if (launch->rank == 0 || launch->count < SPYI_UNROLL_FROM || limits->profile.prefers_bindings)
        return false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_is_walked(b, launch, i) || launch->key.walk[i] == SPYI_WALK_UNIFORM) continue;
        if (launch->key.walk[i] != SPYI_WALK_LINEAR) return false;
        bytes += launch->leaves[i].memory_size;
    }
    taken->unroll = bytes <= 16 ? 4 : bytes <= 64 ? 2 : 1;
    return true;
}

// Several elements a group apart have as many accesses as one element a thread, of which four are under way.
static const spyi_way spyi_ways[] = {
    // condition, elements, across rows, cost
    { spyi_wide_allows, spyi_widest, false, 1 }, // vectors that fill 16 bytes with small scalars
    { spyi_wide_allows, spyi_lanes, false, 4 },  // vectors
    { spyi_wide_allows, spyi_lanes, true, 5 },   // vectors that may lie in two rows
    { spyi_several_allows, NULL, false, 15 },    // several elements, a group apart
    { NULL, NULL, false, 16 },                   // one element
};

SPYI_FN void spyi_launch_width(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const uint32_t count = sizeof spyi_ways / sizeof *spyi_ways;
    const spyi_way *best = &spyi_ways[count - 1]; // one element
    spyi_way_taken taken, best_taken;
    best_taken.width = best_taken.unroll = 1;
    for (const spyi_way *way = spyi_ways; way < spyi_ways + count; way++) {
        if (way->cost >= best->cost || b->whole_warps)
            continue; // a network works on an element of each thread
        taken.width = taken.unroll = 1;
        memcpy(taken.walk, launch->key.walk, sizeof taken.walk);
        if (!way->allows(b, launch, limits, way, &taken)) continue;
        best = way;
        best_taken = taken;
    }
    launch->key.unroll = (uint8_t)best_taken.unroll;
    if (best_taken.width == 1) return;
    memcpy(launch->key.walk, best_taken.walk, sizeof best_taken.walk);
    launch->key.width = (uint8_t)best_taken.width;
    launch->key.crosses = best->crosses;
    // The strides of a leaf that is loaded as vectors count vectors. Its last vector is read as a whole.
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_is_walked(b, launch, i) || !spyi_key_is_vector(&launch->key, i)) continue;
        for (uint32_t d = 0; d + 1 < launch->rank; d++) at->strides[d] /= best_taken.width;
        at->reach = at->offset +
                    spyi_align((size_t)(at->end - at->offset), (size_t)at->memory_size * best_taken.width);
    }
}
