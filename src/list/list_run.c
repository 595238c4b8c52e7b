// Operations of a command list one by one, as they were recorded: no look at arguments, shapes or plans.
#include "list/list.h"

SPYI_FN void spyi_list_get_dispatch(const spy_command_list *list, const spyi_list_op *op,
                                    spyi_dispatch *launch) {
    *launch = op->launch;
    launch->block = list->bytes + op->block;
    launch->bindings = (const spyi_binding *)(const void *)(list->bytes + op->bindings);
    spyi_uniform *uniforms = (spyi_uniform *)(void *)(list->bytes + op->uniforms);
    size_t data = op->data;
    for (uint32_t i = 0; i < op->uniform_count; i++) { // the list's bytes may have moved
        uniforms[i].data = list->bytes + data;
        data += spyi_align(uniforms[i].size, 16);
    }
    launch->uniforms = uniforms;
}

static spy_status spyi_list_dispatch(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    spyi_dispatch launch;
    spyi_list_get_dispatch(list, op, &launch);
    spy_status status = spyi_record_with(device, &launch.work, list->uses + op->first_use, op->use_count,
                                         op->untracked, error);
    op->plan->last_submit = device->last_submit;
    return status;
}

static spy_status spyi_list_transfer(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    const spyi_use *uses = &list->uses[op->first_use];
    const spyi_storage *to = (const spyi_storage *)(const void *)uses[0].resource;
    uint64_t offset = to->offset + uses[0].begin, size = uses[0].end - uses[0].begin;
    if (op->repeats) {
        spyi_fill_work fill = spyi_fill_of(&to->chunk, offset, size, op->pattern);
        return spyi_record_with(device, &fill.work, uses, 1, false, error);
    }
    const spyi_storage *from = (const spyi_storage *)(const void *)uses[1].resource;
    spyi_copy_work copy = spyi_copy_of(&to->chunk, offset, &from->chunk, from->offset + uses[1].begin, size);
    return spyi_record_with(device, &copy.work, uses, 2, false, error);
}

static spy_status spyi_list_label(spy_device *device, spyi_label kind, const char *name, spyi_text *error) {
    spyi_label_work label = spyi_label_of(kind, name);
    return spyi_record(device->backend, device->gpu, &label.work, error);
}

static spy_status spyi_list_run_op(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    switch (op->kind) {
    case SPY_LIST_OP_CALL: return spyi_list_dispatch(list, op, error);
    case SPY_LIST_OP_COPY:
    case SPY_LIST_OP_FILL:
    case SPY_LIST_OP_WRITE: return spyi_list_transfer(list, op, error);
    case SPY_LIST_OP_BARRIER: device->barrier_owed = true; return SPY_OK;
    case SPY_LIST_OP_PUSH_LABEL:
        return spyi_list_label(device, SPYI_LABEL_PUSH, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_POP_LABEL: return spyi_list_label(device, SPYI_LABEL_POP, NULL, error);
    case SPY_LIST_OP_MARKER:
        return spyi_list_label(device, SPYI_LABEL_POINT, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_TIMESTAMP: {
        spyi_time_mark_work mark = spyi_time_mark_of(op->pattern);
        return spyi_record(device->backend, device->gpu, &mark.work, error);
    }
    case SPY_LIST_OP_NONE: break;
    }
    return SPY_OK;
}

// The times go from their slots, which all lists share, to the list's own memory.
static spy_status spyi_list_store_times(const spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    const spy_tensor *times = list->times;
    spyi_use use =
        spyi_use_of(&times->storage->resource, times->begin_bytes, times->end_bytes, SPYI_USE_WRITES);
    spyi_time_store_work store =
        spyi_time_store_of(&times->storage->chunk, times->storage->offset + use.begin, list->time_count);
    return spyi_record_with(device, &store.work, &use, 1, false, error);
}

// Also what a failure part of the way left open.
static void spyi_list_pop_labels(spy_device *device, uint32_t depth) {
    spyi_text ignored = { NULL, 0, 0 };
    for (; depth > 0; depth--) (void)spyi_list_label(device, SPYI_LABEL_POP, NULL, &ignored);
    spyi_text_free(&ignored);
}

SPYI_FN spy_status spyi_list_run(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    spy_status status = SPY_OK;
    uint32_t depth = 0; // open labels
    if (list->label) {
        status = spyi_list_label(device, SPYI_LABEL_PUSH, list->label, error);
        depth += status == SPY_OK;
    }
    for (size_t i = 0; i < list->op_count && SPYI_LIKELY(status == SPY_OK); i++) {
        const spyi_list_op *op = &list->ops[i];
        status = spyi_list_run_op(list, op, error);
        if (status != SPY_OK)
            spyi_text_add(error, " (operation %zu of %zu%s%s)", i + 1, list->op_count, op->name ? ": " : "",
                          spyi_list_op_name(list, op));
        else if (op->kind == SPY_LIST_OP_PUSH_LABEL) depth++;
        else if (op->kind == SPY_LIST_OP_POP_LABEL) depth--;
    }
    if (status == SPY_OK && list->times) status = spyi_list_store_times(list, error);
    spyi_list_pop_labels(device, depth);
    return status;
}
