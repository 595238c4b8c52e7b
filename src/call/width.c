// Decides which elements a thread takes: neighbours as vectors, if every leaf allows it; a part of a tile, if
// some leaves lie across the others; several elements one group apart; or one element. The table at the end
// of the file has a row for each of these ways.
#include "call/launch.h"
#include "data/scalars.h"

// The most bytes of one thread's elements over all leaves in wide variants, because they lie in registers.
#define SPYI_WIDE_BYTES 256
#define SPYI_UNROLL_FROM ((int64_t)1 << 20) // least elements of a call whose threads take several

// Teams: a thread has several units in flight, of at most SPYI_UNITS_BYTES over all leaves, in calls of at
// least SPYI_UNITS_FROM elements whose sums have at most SPYI_UNITS_SCALARS scalars. The code is repeated for
// each element of a step, and derivatives can be long: their steps have at most SPYI_UNITS_DERIVATIVES
// elements.
#define SPYI_UNITS_BYTES SPYI_TUNED("BYTES", 64)
#define SPYI_UNITS_WIDE SPYI_TUNED("WIDE", 2) // most units of vectors
#define SPYI_UNITS_MOST SPYI_TUNED("MOST", 8) // most units of one element
#define SPYI_UNITS_DERIVATIVES 4u
#define SPYI_UNITS_VECTORS SPYI_TUNED("VECTORS", 1) // whether units may be vectors
#define SPYI_UNITS_CPU SPYI_TUNED("CPU", 2)
#define SPYI_UNITS_FROM ((int64_t)1 << 16)
#define SPYI_UNITS_SCALARS 4u

// A way in which a thread takes elements.
typedef struct spyi_way spyi_way;

// The choices of a way for a launch: these members of the variant's key, from which the emitted code follows.
typedef struct spyi_way_taken {
    uint32_t width, unroll, tile, turn;
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES]; // the walk of each leaf
} spyi_way_taken;

struct spyi_way {
    // Returns whether the launch allows the way (NULL means each launch does), and sets the members of *taken
    // that differ from those of the way with one element for each thread. `width` is the number of elements,
    // for ways that take vectors.
    bool (*allows)(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                   const spyi_way *way, spyi_way_taken *taken);
    uint32_t (*width)(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits);
    bool crosses; // a thread's elements may run on from one row to the next
    // Memory accesses for 16 neighbouring elements of one scalar, of the smallest type for which the way is
    // meant. Of the ways that a launch allows, the one with the lowest cost is taken.
    uint32_t cost;
};

// Converts the strides of a leaf that is loaded as vectors of `width` elements along a dimension to strides
// in vectors. Its last vector is read completely.
static void spyi_take_vectors(const spyi_launch *launch, spyi_launch_leaf *at, uint32_t along,
                              uint32_t width) {
    for (uint32_t d = 0; d < launch->rank; d++)
        if (d != along) at->strides[d] /= width;
    at->reach = at->offset + spyi_align((size_t)(at->end - at->offset), (size_t)at->memory_size * width);
}

// Returns whether each `width` elements of the leaf that are neighbours along dimension `along` are aligned vectors, for
// every thread.
static bool spyi_vector_fits(const spyi_launch *launch, const spyi_launch_leaf *leaf, uint32_t along,
                             bool linear, uint32_t components, uint32_t width) {
    uint64_t vector = (uint64_t)(leaf->memory_size / components) * SPYI_LANES,
             group = (uint64_t)leaf->memory_size * width;
    if (width > SPYI_LANES && vector < 16) vector = 16;
    uint64_t base = leaf->storage ? leaf->storage->offset : 0;
    if (leaf->begin != leaf->offset || leaf->strides[along] != 1 || (base + leaf->offset) % vector)
        return false;
    for (uint32_t d = 0; d < launch->rank; d++)
        if (!linear && d != along && leaf->strides[d] % width) return false;
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
                       : (int64_t)16384 * width; // with fewer elements a GPU needs more threads instead
    if (launch->rank == 0 || launch->count < from) return false;
    if (launch->rank > 1 && !crosses && launch->dims[launch->rank - 1] % width) return false;
    if (crosses && (launch->rank < 2 || b->mode || launch->key.reordered)) return false;
    bool outputs = false, row = true; // row: all leaves are linear
    size_t bytes = 0, largest = 0;    // bytes: size of an element over all leaves; largest: size of the
                                      // largest scalar
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_is_walked(b, launch, i) || walk[i] == SPYI_WALK_UNIFORM) continue;
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_can_widen(leaf) || (walk[i] & SPYI_WALK_GATHER)) return false;
        bool linear = walk[i] == SPYI_WALK_LINEAR;
        bool vector = (linear || !crosses) &&
                      spyi_vector_fits(launch, at, launch->rank - 1, linear, leaf->type->columns, width);
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

// Returns the number of the smallest scalars that fill 16 bytes, on targets that load small scalars in this
// way; on others SPYI_LANES.
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

// >>tiles

// The elements of a tile along each of its dimensions: 32 floats are 128 bytes, four sectors of a cache line
// on NVIDIA. Twice as many where threads take eight small scalars.
#define SPYI_TILE_SIDE 32u
#define SPYI_TILE_THREADS 256u // threads of a group that has a tile
// The most groupshared memory of a group with a tile, which each device has, and which leaves room for eight groups.
#define SPYI_TILE_BYTES 16384u
// The least size of each of the two dimensions of a tile; with smaller ones most of a tile is empty.
#define SPYI_TILE_LEAST 16
// The distance in bytes from which on each element is an access of its own: a sector on NVIDIA.
#define SPYI_TILE_APART 32

// Returns whether the leaf's elements are neighbours along dimension `dim`, and lie apart along the last one.
static bool spyi_lies_across(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                             uint32_t i, uint32_t dim) {
    const spyi_launch_leaf *at = &launch->leaves[i];
    const spyi_type *packed = b->leaves[i].packed;
    int64_t step = at->strides[launch->rank - 1];
    if (!spyi_is_walked(b, launch, i) || (launch->key.walk[i] & SPYI_WALK_GATHER) || at->memory_size > 16)
        return false;
    // Vectors of three or four 64-bit scalars are moved scalar by scalar through pointers on some targets.
    if (packed->kind != SPYI_TYPE_SCALAR && spyi_rules_of(limits->profile.target)->splits_vectors &&
        at->memory_size > 8 && spy_dtype_size_bytes(packed->scalar) == 8)
        return false;
    return at->strides[dim] == 1 && (step < 0 ? -step : step) * at->memory_size >= SPYI_TILE_APART;
}

// Finds the dimension along which most bytes of an element are neighbours that are apart along the last
// dimension. Returns the last one if there is none.
static uint32_t spyi_turned_dimension(const spyi_bound *b, const spyi_launch *launch,
                                      const spyi_limits *limits) {
    uint32_t last = launch->rank - 1, found = last, most = 0;
    for (uint32_t d = 0; d < last; d++) {
        uint32_t bytes = 0;
        if (launch->dims[d] < SPYI_TILE_LEAST) continue;
        for (uint32_t i = 0; i < b->leaf_count; i++)
            if (spyi_leaf_in_memory(&b->leaves[i]) && spyi_lies_across(b, launch, limits, i, d))
                bytes += launch->leaves[i].memory_size;
        if (bytes > most) found = d;
        if (bytes > most) most = bytes;
    }
    return found;
}

// Returns whether another leaf lies in the same memory, as an input and an output of a call in place do.
static bool spyi_has_twin(const spyi_bound *b, const spyi_launch *launch, uint32_t i) {
    const spyi_launch_leaf *at = &launch->leaves[i];
    for (uint32_t j = 0; j < b->leaf_count; j++)
        if (j != i && spyi_is_walked(b, launch, j) && at->storage && launch->leaves[j].storage == at->storage)
            return true;
    return false;
}

// Returns whether some leaves lie across the others. With vectors, all leaves but those with one element for a row of the
// tile or for all must be vectors along their own neighbours.
static bool spyi_tiled_allows(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                              const spyi_way *way, spyi_way_taken *taken) {
    if (launch->rank < 2 || launch->dims[launch->rank - 1] < SPYI_TILE_LEAST ||
        (uint64_t)launch->count < limits->profile.tiles_from ||
        spyi_group_size(b, &limits->profile, launch->rank) != SPYI_TILE_THREADS)
        return false;
    const uint32_t last = launch->rank - 1, turn = spyi_turned_dimension(b, launch, limits);
    const uint32_t width = way->width ? way->width(b, launch, limits) : 1;
    const uint32_t tile = width > SPYI_LANES ? 2 * SPYI_TILE_SIDE : SPYI_TILE_SIDE;
    uint32_t shared = 0;
    if (turn == last || (width > 1 && (launch->dims[last] % width || launch->dims[turn] % width)))
        return false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_launch_leaf *at = &launch->leaves[i];
        uint8_t flags = taken->walk[i] & (uint8_t)~SPYI_WALK_MASK;
        if (!spyi_is_walked(b, launch, i)) continue;
        if ((at->end - at->begin) / at->memory_size >= (uint64_t)1 << 31)
            return false; // the tile would need 64-bit offsets
        if (taken->walk[i] == SPYI_WALK_UNIFORM && !leaf->out) continue;
        if (width > 1 && (leaf->type->kind != SPYI_TYPE_SCALAR || (flags & SPYI_WALK_GATHER))) return false;
        uint32_t bytes = (tile + (at->memory_size < 4 ? 4 / at->memory_size : 1)) * tile * at->memory_size;
        bool turned = spyi_lies_across(b, launch, limits, i, turn);
        if (turned && shared + bytes > SPYI_TILE_BYTES) {
            if (spyi_has_twin(b, launch, i))
                return false; // both leaves must be walked in the same way
                              // (overlap.c)
            turned = false;
        }
        bool inner = !turned && at->strides[last] == 1;
        if (width > 1 &&
            ((turned || inner) ? !spyi_vector_fits(launch, at, turned ? turn : last, false, 1, width)
                               : leaf->out))
            return false;
        if (turned) shared += bytes;
        taken->walk[i] = (uint8_t)(flags | (turned                   ? SPYI_WALK_TURNED
                                            : inner                  ? SPYI_WALK_INNER
                                            : at->strides[last] == 0 ? SPYI_WALK_STILL
                                                                     : SPYI_WALK_STRIDED));
    }
    if (shared == 0) return false; // no leaf fits into groupshared memory
    taken->width = width;
    taken->tile = tile;
    taken->turn = turn;
    taken->unroll = tile * tile / width / SPYI_TILE_THREADS;
    return true;
}

// Returns the number of elements of a thread's row in a tile of vectors: eight small scalars, which are 8 or
// 16 bytes, or four.
static uint32_t spyi_tile_lanes(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits) {
    return spyi_widest(b, launch, limits) > SPYI_LANES ? 2 * SPYI_LANES : SPYI_LANES;
}

// If a launch allows tiles, one of its leaves has an access for each element in the other ways. The way of
// several elements a group apart has as many accesses as the way of one element, of which four are under way.
static const spyi_way spyi_ways[] = {
    // The columns are: condition, number of elements, whether elements cross rows, cost.
    { spyi_tiled_allows, spyi_tile_lanes, false, 1 }, // a part of a tile, by vectors
    { spyi_tiled_allows, NULL, false, 1 },            // a part of a tile, element by element
    { spyi_wide_allows, spyi_widest, false, 1 },      // vectors that fill 16 bytes with small scalars
    { spyi_wide_allows, spyi_lanes, false, 4 },       // vectors
    { spyi_wide_allows, spyi_lanes, true, 5 },        // vectors that may lie in two rows
    { spyi_several_allows, NULL, false, 15 },         // several elements, a group apart
    { NULL, NULL, false, 16 },                        // one element
};

// Makes the kernel number its elements by the strides of their coordinates, if it uses the numbers.
static void spyi_number_elements(const spyi_bound *b, spyi_launch *launch) {
    int64_t stride = 1;
    launch->key.reordered = b->uses_library || b->call_info;
    for (uint32_t d = launch->rank; d-- > 0;) {
        launch->element_strides[d] = stride;
        stride *= launch->dims[d];
    }
}

SPYI_FN void spyi_launch_width(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const uint32_t count = sizeof spyi_ways / sizeof *spyi_ways;
    const spyi_way *best = &spyi_ways[count - 1]; // one element
    spyi_way_taken taken, best_taken;
    best_taken.width = best_taken.unroll = 1;
    best_taken.tile = best_taken.turn = 0;
    for (const spyi_way *way = spyi_ways; way < spyi_ways + count; way++) {
        if (way->cost >= best->cost || b->whole_warps) continue; // a network needs an element for each thread
        taken.width = taken.unroll = 1;
        taken.tile = taken.turn = 0;
        memcpy(taken.walk, launch->key.walk, sizeof taken.walk);
        if (!way->allows(b, launch, limits, way, &taken)) continue;
        best = way;
        best_taken = taken;
    }
    launch->key.unroll = (uint8_t)best_taken.unroll;
    if (best_taken.width == 1 && !best_taken.tile) return;
    memcpy(launch->key.walk, best_taken.walk, sizeof best_taken.walk);
    launch->key.width = (uint8_t)best_taken.width;
    launch->key.crosses = best->crosses;
    launch->key.tile = (uint8_t)best_taken.tile;
    launch->key.turn = (uint8_t)best_taken.turn;
    if (best_taken.tile) spyi_number_elements(b, launch);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        bool turned = (launch->key.walk[i] & SPYI_WALK_MASK) == SPYI_WALK_TURNED;
        if (!spyi_is_walked(b, launch, i) || !spyi_key_is_vector(&launch->key, i)) continue;
        spyi_take_vectors(launch, &launch->leaves[i], turned ? best_taken.turn : launch->rank - 1,
                          best_taken.width);
    }
}

// >>teams

// Decides how many neighbours a unit of a team's thread has (emit/team.c): as many as one access holds, if
// the elements of a sum are neighbours and all leaves that are loaded allow vectors, otherwise one.
static uint32_t spyi_unit_width(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits,
                                uint32_t per_thread, spyi_way_taken *taken) {
    const uint32_t width = spyi_widest(b, launch, limits);
    bool any = false;
    if (!SPYI_UNITS_VECTORS || !launch->key.inner || launch->finishes || launch->key.reordered ||
        per_thread < width || launch->rank == 0)
        return 1;
    if (launch->rank > 1 && launch->dims[launch->rank - 1] % width) return 1;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_launch_leaf *at = &launch->leaves[i];
        uint8_t *walk = &taken->walk[i];
        if (!spyi_is_walked(b, launch, i) || (*walk & SPYI_WALK_SUMMED) ||
            (*walk & SPYI_WALK_MASK) == SPYI_WALK_UNIFORM)
            continue;
        bool linear = (*walk & SPYI_WALK_MASK) == SPYI_WALK_LINEAR;
        if (leaf->out || !spyi_leaf_can_widen(leaf) || (*walk & SPYI_WALK_GATHER)) return 1;
        if (leaf->type->columns == 1 && spyi_vector_fits(launch, at, launch->rank - 1, linear, 1, width)) {
            *walk = (uint8_t)(linear ? SPYI_WALK_LINEAR : SPYI_WALK_INNER);
            any = true;
        } else {
            *walk = (uint8_t)(SPYI_WALK_STRIDED | (*walk & SPYI_WALK_REVERSED));
        }
    }
    return any ? width : 1;
}

SPYI_FN void spyi_launch_units(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const bool cpu = limits->profile.prefers_bindings;
    const uint32_t group = spyi_group_size(b, &limits->profile, 1),
                   team = spyi_team_size(&launch->key, group);
    const uint32_t length = launch->length < launch->each ? launch->length : launch->each;
    uint32_t scalars = 0, units = 1, most, width = 1;
    size_t bytes = 0; // the bytes of one unit, over all leaves
    spyi_way_taken taken;
    if (launch->key.together || (!cpu && launch->count < SPYI_UNITS_FROM)) return;
    memcpy(taken.walk, launch->key.walk, sizeof taken.walk);
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (launch->key.walk[i] & SPYI_WALK_SUMMED) scalars += spyi_type_scalars(b->leaves[i].type);
    if (scalars > SPYI_UNITS_SCALARS) return;
    width = spyi_unit_width(b, launch, limits, length / team, &taken);
    if (width > 1) memcpy(launch->key.walk, taken.walk, sizeof taken.walk);
    launch->key.width = (uint8_t)width;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_launch_leaf *at = &launch->leaves[i];
        uint8_t walk = launch->key.walk[i];
        if (!spyi_is_walked(b, launch, i) || (walk & SPYI_WALK_SUMMED) ||
            (walk & SPYI_WALK_MASK) == SPYI_WALK_UNIFORM)
            continue;
        if (walk & SPYI_WALK_GATHER) return;
        bytes += (size_t)at->memory_size * width;
        if (spyi_key_is_vector(&launch->key, i)) spyi_take_vectors(launch, at, launch->rank - 1, width);
    }
    most = width > 1 ? SPYI_UNITS_WIDE : SPYI_UNITS_MOST;
    if (cpu) most = SPYI_UNITS_CPU;
    else if (!b->combine && !launch->finishes && most * width > SPYI_UNITS_DERIVATIVES)
        most = SPYI_UNITS_DERIVATIVES / width;
    if (launch->finishes) bytes = scalars * sizeof(float);
    while (units < most && 2 * units * bytes <= SPYI_UNITS_BYTES && 2 * units * width <= length / team)
        units *= 2;
    launch->key.unroll = (uint8_t)units;
}
