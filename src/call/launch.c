// Makes the key of a variant from the call's shapes: merges dimensions, and decides how each leaf's memory is
// walked.
#include "call/launch.h"

// Computes the leaf's strides over the call's dimensions, in memory elements, and decides between a packed
// and a gathered walk.
static void spyi_leaf_strides(const spyi_leaf *leaf, const spy_shape *dims, const spy_shape *strides,
                              uint64_t offset, bool plain, spyi_launch_leaf *out, uint8_t *walk) {
    int64_t pack = 1;
    bool packed = !plain;
    for (uint32_t d = leaf->consumed; d-- > 0;) {
        int64_t size = dims->dims[leaf->batch_rank + d], stride = strides->dims[leaf->batch_rank + d];
        if (size != 1 && stride != pack) packed = false;
        pack *= size;
        out->inner[d] = stride;
    }
    const spyi_type *memory = leaf->packed;
    // Slang converts neither arrays nor matrices of small integers as a whole. A packed walk needs strides
    // and an offset that are multiples of the packed value.
    if (leaf->consumed && leaf->type->kind != SPYI_TYPE_VECTOR && memory != leaf->type) packed = false;
    size_t element = spyi_type_device_stride(leaf->element);
    if (leaf->consumed && spyi_type_device_stride(memory) != element * (size_t)pack) packed = false;
    if (leaf->consumed && offset % memory->device_align) packed = false;
    for (uint32_t d = 0; packed && d < leaf->batch_rank; d++)
        if (dims->dims[d] > 1 && strides->dims[d] % pack) packed = false;
    if (leaf->consumed == 0 || (leaf->traits & SPYI_TRAIT_ONE_PLACE))
        packed = true; // the element is the complete value
    if (!packed) pack = 1;
    *walk = packed ? 0 : SPYI_WALK_GATHER;
    out->memory_size = (uint32_t)(packed && leaf->consumed ? spyi_type_device_stride(memory) : element);
    if (leaf->traits & SPYI_TRAIT_ONE_PLACE) out->memory_size = (uint32_t)spyi_type_device_stride(leaf->type);
    memset(out->strides, 0, sizeof out->strides);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        if (dims->dims[d] != 1)
            out->strides[leaf->map[d]] = leaf->consumed ? strides->dims[d] / pack : strides->dims[d];
}

SPYI_FN bool spyi_is_walked(const spyi_bound *b, const spyi_launch *launch, uint32_t i) {
    return spyi_leaf_in_memory(&b->leaves[i]) && !(launch->key.walk[i] & SPYI_WALK_SKIPPED);
}

// Drops dimensions of size 1, and merges neighbours that every leaf walks as one dimension, unless the launch is plain.
// Backward calls
// have their own order of dimensions; those that gradients are summed over are not merged with others.
static void spyi_collapse(const spyi_bound *b, spyi_launch *launch) {
    uint32_t rank = 0, count = launch->shape.rank, kept = 0;
    int64_t ordered[SPY_MAX_RANK];
    const int64_t *sizes = launch->shape.dims;
    if (launch->key.team) {
        kept = spyi_launch_order(b, launch, ordered, &count);
        sizes = ordered;
    }
    launch->kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        int64_t size = sizes[k];
        if (k == kept) launch->kept = rank;
        if (size == 1 && !launch->plain) continue;
        bool merge = rank > launch->kept && !launch->plain;
        for (uint32_t i = 0; i < b->leaf_count && merge; i++) {
            const int64_t *strides = launch->leaves[i].strides;
            if (spyi_is_walked(b, launch, i)) merge = strides[rank - 1] == strides[k] * size;
        }
        if (launch->key.reordered)
            merge = merge && launch->element_strides[rank - 1] == launch->element_strides[k] * size;
        if (!merge) launch->dims[rank++] = size;
        else launch->dims[rank - 1] *= size;
        for (uint32_t i = 0; i < b->leaf_count; i++) // a stride is read before it is overwritten, because
                                                     // rank - 1 <= k
            if (spyi_is_walked(b, launch, i))
                launch->leaves[i].strides[rank - 1] = launch->leaves[i].strides[k];
        launch->element_strides[rank - 1] = launch->element_strides[k];
    }
    launch->rank = rank;
}

static uint8_t spyi_walk_for(const spyi_launch *launch, const spyi_launch_leaf *leaf, bool plain) {
    bool uniform = !plain, linear = !plain;
    int64_t expected = 1;
    for (uint32_t d = launch->rank; d-- > 0;) {
        uniform = uniform && leaf->strides[d] == 0;
        linear = linear && leaf->strides[d] == expected;
        expected *= launch->dims[d];
    }
    return uniform ? SPYI_WALK_UNIFORM : linear ? SPYI_WALK_LINEAR : SPYI_WALK_STRIDED;
}

// Stores the tensor's address, and its shape and strides, which the tensor of a call that repeats the launch
// must have, too.
static void spyi_launch_tensor(spyi_launch_leaf *at, const spy_tensor *tensor) {
    at->bound = false;
    at->like = 0;
    at->storage = tensor->storage;
    at->serial = tensor->serial;
    at->begin = tensor->begin_bytes;
    at->end = at->reach = tensor->end_bytes;
    at->storage_offset = tensor->storage->offset;
    memcpy(at->geometry, &tensor->shape, sizeof at->geometry);
}

// Stores the binding of a tensor that is bound whole.
static spy_status spyi_launch_bound(const spyi_leaf *leaf, const spyi_value *v, spyi_launch_leaf *at,
                                    spyi_text *error) {
    at->binding_offset = at->storage_offset + at->begin;
    at->bound = true;
    return spyi_pack_leaf(leaf, v, NULL, error);
}

// Returns whether the tensor has rows without gaps from a multiple of 16 bytes on, as the batch engine copies
// them. NULL stands for a tensor that the call makes, which has such rows.
static bool spyi_is_dense(const spy_tensor *t) {
    int64_t stride = 1;
    if (!t) return true;
    for (uint32_t d = t->shape.rank; d-- > 0;) {
        if (t->shape.dims[d] != 1 && t->strides.dims[d] != stride) return false;
        stride *= t->shape.dims[d];
    }
    return (t->storage->chunk.address + t->storage->offset + t->offset_bytes) % 16 == 0;
}

static bool spyi_allows_batch(const spyi_bound *b, const spyi_values *values, const spyi_launch *launch) {
    const spyi_batch *batch = &b->batch;
    const spyi_pass *pass = &launch->passes[0];
    bool allows = !b->mode || (launch->pass_count == 1 && !pass->shared && !pass->together);
    uint32_t leaves[3] = { batch->inputs, batch->outputs, (uint32_t)batch->inputs_gradient };
    for (int i = 0; i < (batch->inputs_gradient < 0 ? 2 : 3) && allows; i++) {
        const spyi_leaf *leaf = &b->leaves[leaves[i]];
        if (i == 1 && batch->one_gradient) continue;
        const spyi_value *v = &values->items[leaf->value];
        allows = leaf->traits & SPYI_TRAIT_TENSOR ? spyi_is_dense(v->tensor)
                                                  : (leaf->traits & SPYI_TRAIT_CALL_SHAPED) != 0;
    }
    return allows;
}

// Decides that the batch engine runs the call. A backward call has a second dispatch, as if teams had left sums.
static void spyi_launch_batch(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const spyi_batch *batch = &b->batch;
    launch->key.batch = SPYI_BATCH_ENGINE;
    if (!b->mode) return;
    launch->team_parts = spyi_batch_groups(batch, limits, launch->count);
    launch->leaves_sums = true;
    launch->sums_bytes = (uint64_t)launch->team_parts * batch->sums_bytes;
    launch->leaves[batch->network].sums_offset = 0;
}

static spy_status spyi_launch_shape_as(spyi_plan *plan, const spyi_values *values, bool plain,
                                       spyi_text *error) {
    const spyi_bound *b = &plan->bound;
    spyi_launch *launch = plan->launch;
    const spy_device *device = plan->function->object.device;
    const spyi_limits *limits = &device->base->limits;
    launch->repeatable = NULL;
    launch->plain = plain;
    memset(&launch->key, 0, sizeof launch->key);
    spy_status status = spyi_call_shape(b, values, &launch->shape, error);
    if (status != SPY_OK) return status;
    launch->count = spyi_shape_count(&launch->shape);
    if (launch->count < 0 || launch->count >= ((int64_t)1 << 31)) {
        spyi_text_add(error, "the call has shape ");
        spyi_shape_text(&launch->shape, error);
        spyi_text_add(error, ", which is more than the 2147483647 elements that one call can have");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        spyi_launch_leaf *at = &launch->leaves[i];
        if (spyi_leaf_is_whole(leaf)) spyi_launch_tensor(at, v->tensor);
        if (leaf->binds ||
            spyi_leaf_is_resource(leaf)) { // a field of a target without bindings is checked, too
            status =
                leaf->binds ? spyi_launch_bound(leaf, v, at, error) : spyi_pack_leaf(leaf, v, NULL, error);
            if (status == SPY_OK && leaf->out) status = spyi_check_output(leaf, v, &launch->shape, error);
            if (status != SPY_OK) return status;
        }
        if (!spyi_leaf_in_memory(leaf)) continue;
        spy_shape dims, strides;
        spyi_leaf_measures(leaf, v, &launch->shape, &dims, &strides);
        at->storage = leaf->traits & SPYI_TRAIT_TENSOR ? v->tensor->storage : NULL;
        at->offset = leaf->traits & SPYI_TRAIT_TENSOR ? v->tensor->offset_bytes : 0;
        spyi_leaf_strides(leaf, &dims, &strides, at->offset, plain, at, &launch->key.walk[i]);
        if (at->storage) {
            spyi_launch_tensor(at, v->tensor);
        } else {
            at->begin = 0;
            at->end = leaf->traits & SPYI_TRAIT_ONE_PLACE
                          ? at->memory_size
                          : (uint64_t)spyi_shape_count(&dims) * spyi_type_device_stride(leaf->element);
        }
        at->reach = at->end;
        at->first = (at->offset - at->begin) / at->memory_size;
        if (launch->count == 0 && leaf->role == SPYI_ROLE_ADDED && !leaf->in && spyi_shape_count(&dims) > 0) {
            spyi_text_add(error, "its option store_gradients: no element of the call stores '%s'",
                          leaf->path);
            return SPY_ERROR_UNSUPPORTED;
        }
        // Seeds that are a tensor have as many elements as their output.
        bool seeds = b->mode == SPY_CALL_MODE_BACKWARD && leaf->role == SPYI_ROLE_READ &&
                     values->items[b->leaves[leaf->value_leaf].value].tensor;
        if ((leaf->out || seeds) && !(leaf->traits & SPYI_TRAIT_CALL_SHAPED) &&
            leaf->role != SPYI_ROLE_ADDED) {
            status = spyi_check_output(leaf, v, &launch->shape, error);
            if (status != SPY_OK) return status;
        }
    }
    if (launch->count == 0) return SPY_OK;
    if (b->mode == SPY_CALL_MODE_BACKWARD) {
        status = spyi_launch_passes(b, values, launch, error);
        if (status != SPY_OK) return status;
        spyi_launch_teams(b, limits, launch);
    }
    uint32_t group[SPY_MAX_RANK];
    launch->key.grouped = spyi_call_group(b, group) && !launch->key.team;
    if (launch->key.grouped) {
        launch->rank = launch->shape.rank;
        memcpy(launch->dims, launch->shape.dims, sizeof launch->dims);
    } else {
        spyi_collapse(b, launch);
    }
    launch->key.rank = (uint8_t)launch->rank;
    launch->key.width = 1;
    launch->key.unroll = 1;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_is_walked(b, launch, i))
            launch->key.walk[i] =
                (uint8_t)(launch->key.walk[i] |
                          (plain || launch->leaves[i].begin < launch->leaves[i].offset ? SPYI_WALK_REVERSED
                                                                                       : 0u) |
                          spyi_walk_for(launch, &launch->leaves[i], plain));
    if (!b->options.threads[0] && !launch->key.grouped && !launch->key.team && !launch->key.together &&
        !plain) // each element has a thread of its own in the other cases
        spyi_launch_width(b, limits, launch);
    if (launch->key.team && !plain) spyi_launch_units(b, limits, launch);
    spyi_rooms rooms;
    const spyi_variant_key *key = &launch->key;
    bool in_turn = limits->info.multiprocessor_count && !plain;
    if (in_turn && b->is_batch && spyi_allows_batch(b, values, launch)) spyi_launch_batch(b, limits, launch);
    else if (in_turn && key->rank && !key->team && !key->grouped && spyi_rooms_of(b, limits, &rooms))
        launch->key.batch = SPYI_BATCH_ROOMS;
    launch->key.index64 = plain;
    spyi_choose_access(b, values, limits, launch);
    if (!launch->key.bindings && !(limits->info.features & SPY_FEATURE_POINTERS)) {
        spyi_text_add(error, "its arrays do not fit into structured buffers, and the device has no pointers");
        return SPY_ERROR_UNSUPPORTED;
    }
    launch->key.walk_count = (uint8_t)b->leaf_count;
    launch->key.by_team =
        launch->key.team && !plain && launch->rank == 2 && launch->kept == 1 && !launch->finishes;
    return spyi_launch_groups(b, values, limits, group, launch, error);
}

SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spy_status status = spyi_launch_shape_as(plan, values, false, error);
    if (status != SPY_OK || values->threads || !spyi_plan_wants_plain(plan, &plan->launch->key))
        return status;
    return spyi_launch_shape_as(plan, values, true, error);
}
