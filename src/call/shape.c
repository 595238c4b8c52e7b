// Computes the call shape from the shapes of all leaves, by numpy's rule.
//
// Source of the broadcast rule: numpy's general broadcasting rules (align at the last dimension, size 1
// stretches).
#include "call/launch.h"

SPYI_FN void spyi_leaf_measures(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                spy_shape *dims, spy_shape *strides) {
    if (leaf->traits & SPYI_TRAIT_TENSOR) {
        *dims = v->tensor->shape;
        *strides = v->tensor->strides;
        return;
    }
    if (leaf->traits & SPYI_TRAIT_CALL_SHAPED) {
        *dims = *call;
    } else {
        *dims = spyi_value_shape(v);
    }
    *strides = spyi_row_major(dims);
}

static spy_status spyi_size_error(const spyi_leaf *leaf, const spyi_value *v, uint32_t dim,
                                  spyi_text *error) {
    spy_shape shape = spyi_value_shape(v);
    spyi_text_add(error, "'%s': %s takes its trailing dimensions, so dimension %u must be %lld, got shape ",
                  leaf->path, leaf->type->display, leaf->batch_rank + dim,
                  (long long)leaf->consumed_dims[dim]);
    spyi_shape_text(&shape, error);
    if (!v->cast && !v->map_count) spyi_text_add(error, "; spy_vcast says which type its elements have");
    return SPY_ERROR_SHAPE_MISMATCH;
}

SPYI_FN spy_status spyi_call_shape(const spyi_bound *b, const spyi_values *values, spy_shape *call,
                                   spyi_text *error) {
    uint32_t owner[SPY_MAX_RANK] = { 0 };
    call->rank = b->rank;
    for (uint32_t d = 0; d < SPY_MAX_RANK; d++) call->dims[d] = 1;
    for (uint32_t d = 0; d < values->thread_count.rank; d++) {
        uint32_t k = b->rank - values->thread_count.rank + d;
        call->dims[k] = values->thread_count.dims[d];
        owner[k] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        uint32_t wrong = leaf->consumed ? spyi_leaf_wrong_size(leaf, v) : 0;
        if (wrong < leaf->consumed) return spyi_size_error(leaf, v, wrong, error);
        if (!(leaf->traits & SPYI_TRAIT_SIZED)) continue;
        for (uint32_t d = 0; d < leaf->batch_rank; d++) {
            uint32_t k = leaf->map[d];
            int64_t size = v->dims[d];
            if (size == 1 || size == -1 || size == call->dims[k]) continue;
            if (call->dims[k] == 1) {
                call->dims[k] = size;
                owner[k] = i;
                continue;
            }
            bool counted = owner[k] == UINT32_MAX;
            const spyi_leaf *other = counted ? NULL : &b->leaves[owner[k]];
            spy_shape mine = spyi_value_shape(v),
                      theirs =
                          counted ? values->thread_count : spyi_value_shape(&values->items[other->value]);
            spyi_text_add(error, "Shape mismatch: '%s' has shape ", counted ? "thread_count" : other->path);
            spyi_shape_text(&theirs, error);
            spyi_text_add(error, " and '%s' has shape ", leaf->path);
            spyi_shape_text(&mine, error);
            spyi_text_add(error, ": dimension %u of the call is %lld for one and %lld for the other", k,
                          (long long)call->dims[k], (long long)size);
            if (!v->map_count) spyi_text_add(error, "; spy_vmap says which dimensions it is run over");
            return SPY_ERROR_SHAPE_MISMATCH;
        }
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_check_output(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                     spyi_text *error) {
    bool covers = true;
    for (uint32_t k = 0; k < call->rank; k++) {
        bool mapped = call->dims[k] == 1;
        for (uint32_t d = 0; d < leaf->batch_rank; d++)
            if (leaf->map[d] == k) mapped = v->dims[d] == call->dims[k];
        covers = covers && mapped;
    }
    if (covers) return SPY_OK;
    spy_shape mine = spyi_value_shape(v);
    spyi_text_add(error, "Shape mismatch: output '%s' has shape ", leaf->path);
    spyi_shape_text(&mine, error);
    spyi_text_add(error, ", the call has shape ");
    spyi_shape_text(call, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}
