// The results of a call: values in host memory, new tensors, and the descriptions of both.
#include "call/run.h"

SPYI_FN spy_status spyi_check_deferred(const spyi_run_state *s, spyi_text *error) {
    if (!s->sink) spyi_watch(s->device->base);
    if (!s->sink && !s->device->base->recording) return SPY_OK;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!leaf->out || !(leaf->traits & SPYI_TRAIT_RETURNS)) continue;
        spyi_text_add(
            error, "'%s' returns to host memory, but %s; give it a tensor and read that later", leaf->path,
            s->sink ? "the call is recorded into a command list" : spyi_recording_text(s->device->base));
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_return_results(spyi_run_state *s, spyi_text *error) {
    spy_device *device = s->device;
    const spyi_bound *b = s->bound;
    spy_status status = spyi_wait_for_results(device, s->plan->last_submit, error);
    if (status == SPY_ERROR_INTERRUPTED) device->readback_submit = s->plan->last_submit;
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        spyi_made made;
        if (!leaf->out || !(leaf->traits & SPYI_TRAIT_RETURNS)) continue;
        spyi_describe_made(s, i, &made);
        status = leaf->kind->run->memory->finish(leaf, &s->values->items[leaf->value], &made, error);
    }
    return status;
}

SPYI_FN void spyi_give_result(const spyi_leaf *leaf, const spy_arg *arg, spy_tensor *made) {
    if ((leaf->traits & SPYI_TRAIT_CALL_SHAPED) && arg->kind == SPY_ARG_KIND_NEW)
        *arg->value.new_tensor = made;
    if (arg->kind != SPY_ARG_KIND_RESULT || !leaf->out) return; // an input has no result
    spy_result *result = arg->value.result;
    const spyi_type *type = leaf->type;
    bool plain =
        type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    result->tensor = made;
    result->type = spyi_type_user_name(type);
    result->dtype = plain ? type->scalar : SPY_DTYPE_DEFAULT;
    result->rows = plain ? type->rows : 0;
    result->columns = plain ? type->columns : 0;
    result->size_bytes = made ? 0 : type->host_size;
}
