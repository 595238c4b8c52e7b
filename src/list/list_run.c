// Runs the operations of a command list one by one, as they were recorded, without a look at arguments,
// shapes or plans.
#include "list/list.h"

// Runs one operation. Work without uses waits for nothing: a barrier that is owed stays for the next work
// with uses.
static spy_status spyi_list_run_op(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    if (!op->work) {
        device->barrier_owed = true;
        return SPY_OK;
    }
    if (!op->plan && !op->use_count) return spyi_record(device->backend, device->gpu, op->work, error);
    const spyi_use *uses =
        op->use_count ? list->uses + op->first_use : NULL; // a list without uses has no array
    spy_status status = spyi_record_with(device, op->work, uses, op->use_count, op->untracked, error);
    if (op->plan) op->plan->last_submit = device->last_submit;
    return status;
}

// Copies the times from the device's slots, which all lists share, to the list's own memory.
static spy_status spyi_list_store_times(const spy_command_list *list, spyi_text *error) {
    const spy_tensor *times = list->times;
    spyi_use use =
        spyi_use_of(&times->storage->resource, times->begin_bytes, times->end_bytes, SPYI_USE_WRITES);
    spyi_time_store_work store =
        spyi_time_store_of(&times->storage->chunk, times->storage->offset + use.begin, list->time_count);
    return spyi_record_with(list->sink.object.device, &store.work, &use, 1, false, error);
}

// Closes `depth` labels, also those that a failed operation left open.
static void spyi_list_pop_labels(spy_device *device, uint32_t depth) {
    spyi_text ignored = { NULL, 0, 0 };
    spyi_label_work pop = spyi_label_of(SPYI_LABEL_POP, NULL);
    for (; depth > 0; depth--) (void)spyi_record(device->backend, device->gpu, &pop.work, &ignored);
    spyi_text_free(&ignored);
}

SPYI_FN spy_status spyi_list_run(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    spy_status status = SPY_OK;
    uint32_t depth = 0, labelled = 0; // the numbers of labels that the operations have open, and that the
                                      // list has open
    if (list->label) {
        spyi_label_work push = spyi_label_of(SPYI_LABEL_PUSH, list->label);
        status = spyi_record(device->backend, device->gpu, &push.work, error);
        labelled = status == SPY_OK;
    }
    for (size_t i = 0; i < list->op_count && SPYI_LIKELY(status == SPY_OK); i++) {
        const spyi_list_op *op = &list->ops[i];
        status = spyi_list_run_op(list, op, error);
        if (SPYI_LIKELY(status == SPY_OK)) depth = op->depth;
        else
            spyi_text_add(error, " (operation %zu of %zu%s%s)", i + 1, list->op_count,
                          op->name[0] ? ": " : "", op->name);
    }
    if (status == SPY_OK && list->times) status = spyi_list_store_times(list, error);
    spyi_list_pop_labels(device, depth + labelled);
    return status;
}
