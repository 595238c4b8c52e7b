// Rejects calls whose arguments share memory in a harmful way. Threads run in any order, so an output may
// share memory with itself or with another argument only if each thread touches nothing but its own element.
#include "call/launch.h"

// Returns whether both leaves are walked in the same way. Each thread then shares memory only with itself.
static bool spyi_walk_alike(const spyi_bound *bound, const spyi_launch *launch, uint32_t i, uint32_t j) {
    const spyi_launch_leaf *a = &launch->leaves[i], *b = &launch->leaves[j];
    if (launch->key.walk[i] != launch->key.walk[j] || a->offset != b->offset ||
        a->memory_size != b->memory_size ||
        memcmp(a->strides, b->strides, launch->rank * sizeof *a->strides) != 0)
        return false;
    if (!(launch->key.walk[i] & SPYI_WALK_GATHER)) return true;
    uint32_t consumed =
        bound->leaves[i].consumed; // gathered components can lie anywhere, so that both leaves must consume
                                   // the same dimensions
    return consumed == bound->leaves[j].consumed &&
           memcmp(a->inner, b->inner, consumed * sizeof *a->inner) == 0;
}

// Returns whether elements of a gradient overlap. Broadcast dimensions do not count: along them, elements of
// the call share a gradient element, which is allowed.
static bool spyi_added_overlaps_itself(const spy_tensor *tensor) {
    spy_tensor once = *tensor;
    for (uint32_t d = 0; d < once.shape.rank; d++)
        if (once.strides.dims[d] == 0 && once.shape.dims[d] > 1) once.shape.dims[d] = 1;
    once.grads_follow = false;
    spyi_tensor_measure(&once);
    return spyi_tensor_overlaps_itself(&once);
}

// Returns the host memory (*size bytes) to which a gradient is copied; NULL means that it stays on the
// device.
static const char *spyi_added_host(const spyi_bound *b, const spyi_values *values, uint32_t i, size_t *size) {
    const spyi_leaf *leaf = &b->leaves[i];
    if (leaf->role != SPYI_ROLE_ADDED || !(leaf->traits & SPYI_TRAIT_RETURNS)) return NULL;
    return leaf->kind->run->memory->host(leaf, &values->items[leaf->value], size);
}

// Returns whether another gradient is copied to the same host memory. The later one would overwrite the
// earlier one's sum.
static bool spyi_host_gradients_meet(const spyi_bound *b, const spyi_values *values, uint32_t i,
                                     spyi_text *error) {
    size_t size = 0, other_size = 0;
    const char *host = spyi_added_host(b, values, i, &size);
    for (uint32_t j = i + 1; host && j < b->leaf_count; j++) {
        const char *other = spyi_added_host(b, values, j, &other_size);
        if (!other || host >= other + other_size || other >= host + size) continue;
        spyi_text_add(error,
                      "gradients '%s' and '%s' lie in the same host memory: give each its own, or tensors",
                      b->leaves[i].path, b->leaves[j].path);
        return true;
    }
    return false;
}

// >>textures

static bool spyi_parts_overlap(const spyi_use *a, uint32_t a_count, const spyi_use *b, uint32_t b_count) {
    for (uint32_t i = 0; i < a_count; i++)
        for (uint32_t k = 0; k < b_count; k++)
            if (a[i].resource == b[k].resource && a[i].begin < b[k].end && b[k].begin < a[i].end) return true;
    return false;
}

// Returns whether each element of the call gets the same texel of both textures.
static bool spyi_texels_alike(const spyi_leaf *a, const spyi_value *x, const spyi_leaf *b,
                              const spyi_value *y) {
    return a->batch_rank && a->batch_rank == b->batch_rank && x->rank == y->rank &&
           memcmp(a->map, b->map, a->batch_rank) == 0 &&
           memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
}

// Checks an output that is a texture against all other textures of the call.
static spy_status spyi_check_texture(const spyi_bound *b, const spyi_values *values, uint32_t i,
                                     spyi_text *error) {
    spyi_use mine[SPYI_MOST_VALUE_USES], theirs[SPYI_MOST_VALUE_USES];
    const spyi_leaf *out = &b->leaves[i];
    const spyi_value *v = &values->items[out->value];
    uint32_t count = out->kind->run->resource->uses(v, out->reads, out->writes, mine);
    for (uint32_t j = 0; j < b->leaf_count; j++) {
        const spyi_leaf *leaf = &b->leaves[j];
        const spyi_value *w = &values->items[leaf->value];
        if (j == i || !spyi_leaf_is_resource(leaf) || !w->held[0]) continue;
        uint32_t others = leaf->kind->run->resource->uses(w, leaf->reads, leaf->writes, theirs);
        if (!spyi_parts_overlap(mine, count, theirs, others)) continue;
        if (!leaf->out && spyi_texels_alike(out, v, leaf, w)) continue;
        spyi_text_add(
            error,
            "output '%s' lies in the same texture as '%s' but not texel by texel: threads would read "
            "what others have written; use another texture",
            out->path, leaf->path);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error) {
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (spyi_host_gradients_meet(b, values, i, error)) return SPY_ERROR_INVALID_ARGUMENT;
        // Calls that are compiled ahead on a thread have no textures.
        if (b->leaves[i].out && spyi_leaf_is_resource(&b->leaves[i]) &&
            values->items[b->leaves[i].value].held[0]) {
            spy_status status = spyi_check_texture(b, values, i, error);
            if (status != SPY_OK) return status;
        }
        if (!b->leaves[i].out || !(b->leaves[i].traits & SPYI_TRAIT_TENSOR)) continue;
        const spy_tensor *out = values->items[b->leaves[i].value].tensor;
        bool added = b->leaves[i].role == SPYI_ROLE_ADDED; // several elements of the call may share such a
                                                           // gradient
        if (added ? spyi_added_overlaps_itself(out) : spyi_tensor_overlaps_itself(out)) {
            spyi_text_add(
                error,
                "output '%s' is a view in which several elements lie at one place: they would be written "
                "several times",
                b->leaves[i].path);
            return SPY_ERROR_SHAPE_MISMATCH;
        }
        for (uint32_t j = 0; j < b->leaf_count; j++) {
            bool whole = spyi_leaf_is_whole(&b->leaves[j]); // threads may access any part of a tensor that is
                                                            // passed whole
            if (j == i || (!(b->leaves[j].traits & SPYI_TRAIT_TENSOR) && !whole)) continue;
            if (!spyi_tensors_overlap(out, values->items[b->leaves[j].value].tensor)) continue;
            // additions to both happen in order within a thread, or in separate passes
            if (added && b->leaves[j].role == SPYI_ROLE_ADDED) continue;
            if (added) {
                spyi_text_add(error, "gradient '%s' lies in the same memory as '%s', which the call reads",
                              b->leaves[i].path, b->leaves[j].path);
                return SPY_ERROR_INVALID_ARGUMENT;
            }
            if (!whole && !b->leaves[j].out && spyi_walk_alike(b, launch, i, j)) continue;
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
