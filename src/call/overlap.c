// Memory that a call's arguments share. Threads run in any order, so an output may meet itself or another argument only
// where each thread touches its own element alone.
#include "call/call_internal.h"

// Trailing dimensions that lie next to each other: `run` elements, before `outer` remaining dimensions.
static uint32_t spyi_outer_dims(const spy_tensor *t, int64_t *run) {
    uint32_t outer = t->shape.rank;
    *run = 1;
    while (outer > 0 && (t->shape.dims[outer - 1] == 1 || t->strides.dims[outer - 1] == *run))
        *run *= t->shape.dims[--outer];
    return outer;
}

static uint64_t spyi_stride_bytes(const spy_tensor *t, uint32_t dim) {
    int64_t stride = t->strides.dims[dim];
    return (uint64_t)(stride < 0 ? -stride : stride) * spyi_type_device_stride(t->type);
}

// Whether two elements of the tensor can lie at one place. Exact for slices, transposes and broadcasts; for stranger
// strides it may say so though they do not.
static bool spyi_meets_itself(const spy_tensor *t) {
    if (t->contiguous || t->element_count < 2) return false;
    uint64_t covered = spyi_type_device_stride(t->type); // by the dimensions of smaller strides
    bool done[SPY_MAX_RANK] = { false };
    for (uint32_t n = 0; n < t->shape.rank; n++) {
        uint32_t next = t->shape.rank;
        for (uint32_t d = 0; d < t->shape.rank; d++) {
            if (done[d] || t->shape.dims[d] == 1) continue;
            if (next == t->shape.rank || spyi_stride_bytes(t, d) < spyi_stride_bytes(t, next)) next = d;
        }
        if (next == t->shape.rank) return false;
        done[next] = true;
        if (spyi_stride_bytes(t, next) < covered) return true;
        covered += spyi_stride_bytes(t, next) * (uint64_t)(t->shape.dims[next] - 1);
    }
    return false;
}

static uint64_t spyi_gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Whether an element of one can touch an element of the other. All places are offset + a multiple of the strides' greatest
// common divisor: columns of one matrix do not meet though their ranges do.
static bool spyi_meet(const spy_tensor *a, const spy_tensor *b) {
    if (a->storage != b->storage || a->begin_bytes >= b->end_bytes || b->begin_bytes >= a->end_bytes)
        return false;
    int64_t run_a, run_b;
    uint32_t outer_a = spyi_outer_dims(a, &run_a), outer_b = spyi_outer_dims(b, &run_b);
    uint64_t grid = 0, size_a = (uint64_t)run_a * spyi_type_device_stride(a->type),
             size_b = (uint64_t)run_b * spyi_type_device_stride(b->type);
    for (uint32_t d = 0; d < outer_a; d++)
        if (a->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(a, d));
    for (uint32_t d = 0; d < outer_b; d++)
        if (b->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(b, d));
    if (grid == 0) return true; // one run each, and their ranges meet
    uint64_t from_a = a->offset_bytes % grid, from_b = b->offset_bytes % grid;
    uint64_t distance = (from_b + grid - from_a) % grid;
    return distance < size_a || grid - distance < size_b;
}

// Whether both are walked alike: then each thread meets only itself.
static bool spyi_walk_alike(const spyi_bound *bound, const spyi_launch *launch, uint32_t i, uint32_t j) {
    const spyi_launch_leaf *a = &launch->leaves[i], *b = &launch->leaves[j];
    if (launch->key.walk[i] != launch->key.walk[j] || a->offset != b->offset ||
        a->memory_size != b->memory_size ||
        memcmp(a->strides, b->strides, launch->rank * sizeof *a->strides) != 0)
        return false;
    if (!(launch->key.walk[i] & SPYI_WALK_GATHER)) return true;
    uint32_t consumed =
        bound->leaves[i].consumed; // pieces of one value lie anywhere: they must be the same ones
    return consumed == bound->leaves[j].consumed &&
           memcmp(a->inner, b->inner, consumed * sizeof *a->inner) == 0;
}

SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error) {
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || b->leaves[i].source != SPYI_SOURCE_TENSOR) continue;
        const spy_tensor *out = values->items[b->leaves[i].value].tensor;
        if (spyi_meets_itself(out)) {
            spyi_text_add(
                error,
                "output '%s' is a view in which several elements lie at one place: they would be written "
                "several times",
                b->leaves[i].path);
            return SPY_ERROR_SHAPE_MISMATCH;
        }
        for (uint32_t j = 0; j < b->leaf_count; j++) {
            if (j == i || b->leaves[j].source != SPYI_SOURCE_TENSOR) continue;
            if (!spyi_meet(out, values->items[b->leaves[j].value].tensor)) continue;
            if (!b->leaves[j].out && spyi_walk_alike(b, launch, i, j)) continue;
            spyi_text_add(
                error,
                "output '%s' lies in the same memory as '%s' but not element by element: threads would read "
                "what others have written; use another tensor",
                b->leaves[i].path, b->leaves[j].path);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
    }
    return SPY_OK;
}
