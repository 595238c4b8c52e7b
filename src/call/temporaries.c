// Memory that a running call makes itself: uploaded host arrays that are run over, new tensors, and places for results to host
// memory.
#include "call/run.h"

SPYI_FN void spyi_free_made(spyi_run_state *s, bool keep_new) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!s->made[i] || (keep_new && s->bound->leaves[i].source == SPYI_SOURCE_NEW)) continue;
        spyi_tensor_unlink(s->made[i]);
        spyi_tensor_free(s->made[i]);
        s->made[i] = NULL;
    }
}

// The scalar type of a host array's elements once they are on the device.
static spy_dtype spyi_leaf_scalar(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->element;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

static spy_status spyi_make_upload(spyi_run_state *s, uint32_t i, spyi_text *error) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_value *v = &s->values->items[leaf->value];
    spy_status status = SPY_OK;
    spy_shape shape = spyi_value_shape(v);
    int64_t count = spyi_shape_count(&shape);
    spy_dtype to = spyi_leaf_scalar(leaf), from = v->type->scalar;
    void *converted = NULL;
    if (leaf->in && to != from) {
        converted = spyi_malloc((size_t)count * spyi_scalar_size(to) + 1);
        if (!converted) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        if (!spyi_convert_scalars(converted, to, v->arg->value.data, from, (size_t)count)) {
            free(converted);
            return spyi_does_not_fit(leaf, v, error);
        }
    }
    s->made[i] = spyi_tensor_make(s->device, leaf->element, &shape, NULL, error, &status);
    if (s->made[i] && leaf->in)
        status = spyi_tensor_upload(s->made[i], converted ? converted : v->arg->value.data, error);
    free(converted);
    return status;
}

SPYI_FN void spyi_place_readback(spyi_run_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (s->bound->leaves[i].source != SPYI_SOURCE_READBACK) continue;
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
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        size = (uint32_t)spyi_align(size, 64);
        s->readback_offset[i] = size;
        size += (uint32_t)spyi_type_device_stride(leaf->type);
        s->waits = true;
    }
    if (!s->waits || size == 0) return SPY_OK;
    if (device->readback_submit) { // a call has left its results: the GPU may still write them
        spy_status status = spyi_wait_for_results(device, device->readback_submit, error);
        if (status != SPY_OK) return status;
        device->readback_submit = 0;
    }
    if (device->readback && device->readback->size < size) {
        spyi_pool_give(device, device->readback); // every call that uses it waits, so the GPU is done with it
        device->readback = NULL;
    }
    spy_status status = SPY_OK;
    if (!device->readback)
        device->readback = spyi_pool_take(device, SPYI_MEMORY_READBACK, size < 4096 ? 4096 : size,
                                          "slangpy readback", error, &status);
    if (!device->readback) return status;
    char *memory = (char *)device->readback->chunk.mapped + device->readback->offset;
    spyi_place_readback(s);
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        const spyi_value *v = &s->values->items[leaf->value];
        if (leaf->in && v->kind == SPY_ARG_RESULT) {
            uint64_t host[SPY_RESULT_BYTES / 8];
            spy_dtype to = spyi_leaf_scalar(leaf);
            const spy_result *value = v->arg->value.result;
            if (!spyi_convert_scalars(host, to, value->data, value->dtype,
                                      leaf->type->host_size / spyi_scalar_size(to)))
                return spyi_does_not_fit(leaf, v, error);
            spyi_type_to_device(leaf->type, memory + s->readback_offset[i], host, 1);
        } else if (leaf->in) {
            spyi_type_to_device(leaf->type, memory + s->readback_offset[i], v->arg->value.data, 1);
        }
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error) {
    const spyi_bound *b = s->bound;
    spy_status status = spyi_make_readback(s, error);
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->source == SPYI_SOURCE_UPLOAD) {
            status = spyi_make_upload(s, i, error);
            s->waits = s->waits || leaf->out;
        } else if (leaf->source == SPYI_SOURCE_NEW) {
            s->made[i] = spyi_tensor_make(s->device, leaf->element, &s->launch->shape, NULL, error, &status);
        }
        if (s->made[i]) s->launch->leaves[i].storage = s->made[i]->storage;
    }
    return status;
}
