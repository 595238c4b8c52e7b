// Works out whether elements of one tensor, or of two, share memory.
#include "data/device.h"

// Splits the dimensions: the trailing ones that are contiguous hold *run elements. Returns the number of
// outer dimensions.
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

SPYI_FN bool spyi_tensor_overlaps_itself(const spy_tensor *t) {
    if (t->contiguous || t->element_count < 2) return false;
    // Counts the bytes that the dimensions with smaller strides cover.
    uint64_t covered = spyi_type_device_stride(t->type);
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

// All runs begin at the offset plus a multiple of the strides' greatest common divisor, so that columns of
// one matrix are found apart though their ranges overlap.
SPYI_FN bool spyi_tensors_overlap(const spy_tensor *a, const spy_tensor *b) {
    if (!spyi_tensors_may_overlap(a, b)) return false;
    int64_t run_a, run_b;
    uint32_t outer_a = spyi_outer_dims(a, &run_a), outer_b = spyi_outer_dims(b, &run_b);
    uint64_t grid = 0, size_a = (uint64_t)run_a * spyi_type_device_stride(a->type),
             size_b = (uint64_t)run_b * spyi_type_device_stride(b->type);
    for (uint32_t d = 0; d < outer_a; d++)
        if (a->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(a, d));
    for (uint32_t d = 0; d < outer_b; d++)
        if (b->shape.dims[d] > 1) grid = spyi_gcd(grid, spyi_stride_bytes(b, d));
    if (grid == 0) return true; // each tensor is one run, and the runs overlap
    uint64_t from_a = a->offset_bytes % grid, from_b = b->offset_bytes % grid;
    uint64_t distance = (from_b + grid - from_a) % grid;
    return distance < size_a || grid - distance < size_b;
}
