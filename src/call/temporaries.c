// Makes the memory of a running call: uploads of host arrays that the call runs over, new tensors, and room
// for results in host memory.
#include "call/run.h"

SPYI_FN void spyi_free_made(spyi_run_state *s, bool keep_new) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!s->made[i] || (keep_new && (s->bound->leaves[i].traits & SPYI_TRAIT_CALL_SHAPED))) continue;
        spyi_tensor_unlink(s->made[i]);
        spyi_tensor_free(s->made[i]);
        s->made[i] = NULL;
    }
}

SPYI_FN void spyi_describe_made(const spyi_run_state *s, uint32_t i, spyi_made *made) {
    made->device = s->device;
    made->shape = &s->launch->shape;
    made->tensor = s->made[i];
    made->place = NULL;
    if (s->bound->leaves[i].traits & SPYI_TRAIT_ONE_PLACE)
        made->place =
            (char *)s->device->readback->chunk.mapped + s->device->readback->offset + s->readback_offset[i];
}

// Has the leaf's kind make its memory.
static spy_status spyi_make_leaf(spyi_run_state *s, uint32_t i, spyi_text *error) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_made made;
    spyi_describe_made(s, i, &made);
    spy_status status = leaf->kind->run->memory->make(leaf, &s->values->items[leaf->value], &made, error);
    s->made[i] = made.tensor;
    if (made.tensor) s->launch->leaves[i].storage = made.tensor->storage;
    return status;
}

SPYI_FN void spyi_place_readback(spyi_run_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!(s->bound->leaves[i].traits & SPYI_TRAIT_ONE_PLACE)) continue;
        spyi_launch_leaf *at = &s->launch->leaves[i];
        at->storage = s->device->readback;
        at->offset = at->begin = s->readback_offset[i];
        at->end = at->reach = at->begin + at->memory_size;
    }
}

static spy_status spyi_make_readback(spyi_run_state *s, spyi_text *error) {
    uint32_t size = 0;
    spy_device *device = s->device;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!(leaf->traits & SPYI_TRAIT_ONE_PLACE)) continue;
        size = (uint32_t)spyi_align(size, 64);
        s->readback_offset[i] = size;
        size += (uint32_t)spyi_type_device_stride(leaf->type);
        s->waits = true;
    }
    if (!s->waits || size == 0) return SPY_OK;
    if (device->readback_submit) { // the GPU may still write the results of an interrupted call
        spy_status status = spyi_wait_for_results(device, device->readback_submit, error);
        if (status != SPY_OK) return status;
        device->readback_submit = 0;
    }
    if (device->readback && device->readback->size < size) {
        spyi_pool_give(device, device->readback); // every call that uses the buffer waits, so the GPU does
                                                  // not use it any more
        device->readback = NULL;
    }
    spy_status status = SPY_OK;
    if (!device->readback)
        device->readback = spyi_pool_take(device, SPYI_MEMORY_READBACK, size < 4096 ? 4096 : size,
                                          "slangpy readback", error, &status);
    if (!device->readback) return status;
    spyi_place_readback(s);
    for (uint32_t i = 0; i < s->bound->leaf_count && status == SPY_OK; i++)
        if (s->bound->leaves[i].traits & SPYI_TRAIT_ONE_PLACE) status = spyi_make_leaf(s, i, error);
    return status;
}

SPYI_FN spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error) {
    const spyi_bound *b = s->bound;
    spy_status status = spyi_make_readback(s, error);
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!leaf->kind->run->memory || (leaf->traits & SPYI_TRAIT_ONE_PLACE)) continue;
        status = spyi_make_leaf(s, i, error);
        s->waits = s->waits || (leaf->out && (leaf->traits & SPYI_TRAIT_RETURNS));
    }
    return status;
}
