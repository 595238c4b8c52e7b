// Command lists: the object, and its submission, which repeats the recorded work without looking at
// arguments, shapes or plans. list_record.c has the recording functions.
#include "list/saved.h"

// >>the object

SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, spyi_text *error) {
    if (list->finished) {
        spyi_text_add(error,
                      "the command list%s%s has been finished: nothing more can be recorded; make another",
                      list->label ? " " : "", list->label ? list->label : "");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

spy_command_list *spy_create_command_list(spy_device *device, const spy_list_desc *desc) {
    const char *function = "spy_create_command_list";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    const char *problem = SPYI_DESC_PROBLEM(spy_list_desc, desc);
    if (problem) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
        spyi_leave(device);
        return NULL;
    }
    uint32_t failed = spyi_failed_allocations();
    spy_command_list *list = (spy_command_list *)spyi_allocate(&device->ctx, sizeof *list);
    if (list && desc) {
        list->label = spyi_strdup(desc->label);
        list->on_record = desc->on_record;
        list->user_data = desc->user_data;
    }
    if (list) {
        list->sink.object.kind = (uint32_t)SPYI_KIND_LIST;
        list->sink.object.device = device;
        spyi_atomic_store(&list->sink.object.references, 1);
        list->sink.table = spyi_list_sink_table();
        list->next = device->lists;
        if (list->next) list->next->previous = list;
        device->lists = list;
        spyi_notes_make(list);
    }
    if (spyi_failed_allocations() != failed) {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        if (list) spyi_object_release(&list->sink.object);
        list = NULL;
    }
    spyi_leave(device);
    return list;
}

void spy_retain_command_list(spy_command_list *list) {
    spyi_object_retain(list, SPYI_KIND_LIST, "spy_retain_command_list");
}

void spy_release_command_list(spy_command_list *list) {
    if (!list) return;
    if (spyi_as(list, SPYI_KIND_LIST)) spyi_object_release(&list->sink.object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_command_list: the list has been released already");
}

SPYI_FN void spyi_list_free(spy_command_list *list) {
    spy_device *device = list->sink.object.device;
    spyi_context *ctx = &device->ctx;
    spyi_list_drop_graph(list);
    spyi_notes_free(list);
    for (size_t i = 0; i < list->call_count; i++) spyi_plan_release(device, list->calls[i].plan);
    for (size_t i = 0; i < list->op_count; i++)
        if (list->ops[i].plan) spyi_plan_release(device, list->ops[i].plan);
    for (size_t i = 0; i < list->use_count; i++) spyi_resource_release(device, list->uses[i].resource);
    if (list->times) {
        spyi_tensor_unlink(list->times);
        spyi_tensor_free(list->times);
    }
    spyi_free(ctx, list->ops, list->op_capacity * sizeof *list->ops);
    spyi_free(ctx, list->uses, list->use_capacity * sizeof *list->uses);
    spyi_list_free_pages(list);
    spyi_free(ctx, list->calls, list->call_capacity * sizeof *list->calls);
    spyi_free(ctx, list->scratch, list->scratch_size);
    free(list->label);
    if (list->previous) list->previous->next = list->next;
    else device->lists = list->next;
    if (list->next) list->next->previous = list->previous;
    spyi_retire_object(device, &list->sink.object, sizeof *list);
}

// >>finish, submit, read

// Allocates room for the parameters of any one dispatch.
static spy_status spyi_list_make_scratch(spy_command_list *list, spyi_text *error) {
    spyi_context *ctx = &list->sink.object.device->ctx;
    size_t size = 0;
    for (size_t i = 0; i < list->op_count; i++) {
        const spyi_list_op *op = &list->ops[i];
        if (op->plan && op->size > size) size = op->size;
    }
    spyi_free(ctx, list->scratch, list->scratch_size); // frees the block that a failed spy_list_finish() has
                                                       // left
    list->scratch_size = size + 64;                    // adds room for the padding of host values
    list->scratch = (uint8_t *)spyi_allocate(ctx, list->scratch_size);
    if (list->scratch) return SPY_OK;
    list->scratch_size = 0;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN spy_status spyi_list_finish(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    spy_status status = spyi_list_check_open(list, error);
    if (status != SPY_OK) return status;
    if (list->depth) {
        spyi_text_add(error, "%u labels have been pushed and not popped", list->depth);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_list_make_scratch(list, error);
    if (status != SPY_OK) return status;
    if (list->time_count) {
        spy_shape shape;
        memset(&shape, 0, sizeof shape);
        shape.rank = 1;
        shape.dims[0] = list->time_count;
        list->times =
            spyi_tensor_make(device, device->scalars[SPY_DTYPE_UINT64], &shape, "timestamps", error, &status);
        if (!list->times) return status;
    }
    list->finished = true;
    return SPY_OK;
}

spy_status spy_list_finish(spy_command_list *list) {
    const char *function = "spy_list_finish";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_list_finish(list, &error);
    if (status != SPY_OK) spyi_fail_text(list->sink.object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

spy_status spy_list_submit(spy_command_list *list) {
    const char *function = "spy_list_submit";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (list->finished) status = spyi_list_submit(list, &error);
    else spyi_text_add(&error, "the command list is still being recorded; call spy_list_finish() first");
    if (SPYI_LIKELY(status == SPY_OK)) list->submit_count++;
    else spyi_fail_text(list->sink.object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

static spy_status spyi_list_read_times(spy_command_list *list, uint64_t *times_ns, size_t count,
                                       spyi_text *error) {
    if (!list->submit_count) {
        spyi_text_add(error, "the command list has not been submitted");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (count != list->time_count) {
        spyi_text_add(error, "the command list has %u timestamps, count is %zu", list->time_count, count);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!times_ns && count) {
        spyi_text_add(error, "times_ns is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spy_status status = count ? spyi_tensor_download(list->times, times_ns, error) : SPY_OK;
    double period = list->sink.object.device->base->limits.info.timestamp_period_ns;
    for (size_t i = 0; i < count && status == SPY_OK; i++)
        times_ns[i] = spyi_ticks_to_ns(times_ns[i], period);
    return status;
}

spy_status spy_list_read_timestamps(spy_command_list *list, uint64_t *times_ns, size_t count) {
    const char *function = "spy_list_read_timestamps";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_list_read_times(list, times_ns, count, &error);
    if (status != SPY_OK) spyi_fail_text(list->sink.object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

spy_list_info spy_get_list_info(spy_command_list *list) {
    spy_list_info info;
    memset(&info, 0, sizeof info);
    if (spyi_enter(list, SPYI_KIND_LIST, "spy_get_list_info") != SPY_OK) return info;
    info.op_count = (uint32_t)list->op_count;
    info.call_count = (uint32_t)list->call_count;
    info.timestamp_count = list->time_count;
    info.finished = list->finished;
    info.submit_count = list->submit_count;
    info.graph = list->graph != NULL;
    spyi_leave(list);
    return info;
}

static void spyi_list_release(spyi_object *object) {
    spyi_list_free((spy_command_list *)(void *)object);
}

SPYI_FN void spyi_lists_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_list_release, NULL };
    device->ctx.tables[SPYI_KIND_LIST - SPYI_KIND_DEVICE] = &table;
}
