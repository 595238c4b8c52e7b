// Records operations into a command list: calls, copies, fills, writes, barriers, labels and timestamps. Host
// data are uploaded to device memory while they are recorded, so that a submission only copies on the device.
#include "list/saved.h"

// Enters the device of a list that is not finished; otherwise reports an error.
static spy_status spyi_list_enter(spy_command_list *list, const char *function) {
    spy_status status = spyi_enter(list, SPYI_KIND_LIST, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    status = spyi_list_check_open(list, &error);
    if (status == SPY_OK) return SPY_OK;
    spyi_fail_text(list->sink.object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

static spy_status spyi_list_leave(spy_command_list *list, const char *function, spy_status status,
                                  spyi_text *error) {
    if (status != SPY_OK) spyi_fail_text(list->sink.object.device, status, function, error);
    spyi_leave(list);
    return status;
}

// >>calls

spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args) {
    const char *name = "spy_list_call";
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = list;
    if (list) return spyi_call(function, args, &options, name, false, NULL);
    return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a command list, got NULL", name);
}

// >>copies, fills and writes

// Checks that the list can transfer the tensor: its elements must be one range of bytes.
static spy_status spyi_list_check_tensor(const spy_command_list *list, const char *name,
                                         const spy_tensor *tensor, spyi_text *error) {
    if (!spyi_is_on(list->sink.object.device, tensor, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "'%s': ", name);
        return spyi_object_problem(tensor, SPYI_KIND_TENSOR, error);
    }
    if (!tensor->contiguous) {
        spyi_text_add(error, "'%s': expected a contiguous tensor, got a view ", name);
        spyi_shape_text(&tensor->shape, error);
        spyi_text_add(error, " with strides ");
        spyi_shape_text(&tensor->strides, error);
        spyi_text_add(error, "; record a call that copies its elements");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

static spyi_use spyi_list_use(const spy_tensor *tensor, uint32_t how) {
    return spyi_use_of(&tensor->storage->resource, tensor->begin_bytes, tensor->end_bytes, how);
}

static uint64_t spyi_list_place(const spy_tensor *tensor) {
    return tensor->storage->offset + tensor->begin_bytes;
}

// Records a copy of all bytes, or nothing if there are no elements.
static spy_status spyi_list_add_copy(spy_command_list *list, spy_list_op_kind kind, const spy_tensor *to,
                                     const spy_tensor *from, spyi_text *error) {
    if (to->element_count == 0) return SPY_OK;
    spyi_copy_work copy = spyi_copy_of(&to->storage->chunk, spyi_list_place(to), &from->storage->chunk,
                                       spyi_list_place(from), to->end_bytes - to->begin_bytes);
    spyi_use uses[2];
    spyi_list_op *op;
    uses[0] = spyi_list_use(to, SPYI_USE_WRITES);
    uses[1] = spyi_list_use(from, SPYI_USE_READS);
    spy_status status = spyi_list_add(list, NULL, &copy.work, uses, 2, &op, error);
    if (status == SPY_OK) spyi_list_added(list, op, kind);
    return status;
}

static spy_status spyi_list_add_fill(spy_command_list *list, const spy_tensor *to, uint32_t pattern,
                                     spyi_text *error) {
    if (to->element_count == 0) return SPY_OK;
    spyi_fill_work fill =
        spyi_fill_of(&to->storage->chunk, spyi_list_place(to), to->end_bytes - to->begin_bytes, pattern);
    spyi_use use = spyi_list_use(to, SPYI_USE_WRITES);
    spyi_list_op *op;
    spy_status status = spyi_list_add(list, NULL, &fill.work, &use, 1, &op, error);
    if (status == SPY_OK) spyi_list_added(list, op, SPY_LIST_OP_KIND_FILL);
    return status;
}

SPYI_FN spy_status spyi_list_copy(spy_command_list *list, const spy_tensor *to, const spy_tensor *from,
                                  spyi_text *error) {
    spy_status status = spyi_list_check_tensor(list, "to", to, error);
    if (status == SPY_OK) status = spyi_list_check_tensor(list, "from", from, error);
    if (status != SPY_OK) return status;
    if (to->type != from->type) {
        spyi_text_add(error, "'from': expected elements of %s as 'to' has, got %s", to->type->display,
                      from->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (to->shape.rank != from->shape.rank ||
        memcmp(to->shape.dims, from->shape.dims, to->shape.rank * sizeof *to->shape.dims) != 0) {
        spyi_text_add(error, "'from': expected shape ");
        spyi_shape_text(&to->shape, error);
        spyi_text_add(error, " as 'to' has, got ");
        spyi_shape_text(&from->shape, error);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (spyi_tensors_may_overlap(to, from)) {
        spyi_text_add(error, "'to' and 'from' share memory");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_list_add_copy(list, SPY_LIST_OP_KIND_COPY, to, from, error);
    if (status == SPY_OK) spyi_note_op(list, SPYI_SCRIPT_COPY, to, from, NULL, 0, NULL, 0);
    return status;
}

spy_status spy_list_copy(spy_command_list *list, spy_tensor *to, spy_tensor *from) {
    const char *function = "spy_list_copy";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_copy(list, to, from, &error), &error);
}

// Makes a tensor with the type and shape of `like`, from which a recorded transfer copies. The caller
// releases the tensor with spyi_list_drop_source(); the list holds its memory.
static spy_tensor *spyi_list_source(const spy_tensor *like, spyi_text *error, spy_status *status) {
    return spyi_tensor_make(like->object.device, like->type, &like->shape, "list data", error, status);
}

static void spyi_list_drop_source(spy_tensor *source) {
    if (!source) return;
    spyi_tensor_unlink(source);
    spyi_tensor_free(source);
}

SPYI_FN spy_status spyi_list_fill(spy_command_list *list, const spy_tensor *tensor, double value,
                                  spyi_text *error) {
    bool repeats;
    uint32_t pattern;
    spy_tensor *source = NULL;
    spy_status status = spyi_list_check_tensor(list, "tensor", tensor, error);
    if (status == SPY_OK) status = spyi_fill_pattern(tensor, value, &repeats, &pattern, error);
    if (status != SPY_OK) return status;
    if (repeats) {
        status = spyi_list_add_fill(list, tensor, pattern, error);
    } else {
        source = spyi_list_source(tensor, error, &status);
        if (source) status = spyi_fill_tensor(source, value, error);
        if (status == SPY_OK) status = spyi_list_add_copy(list, SPY_LIST_OP_KIND_FILL, tensor, source, error);
        spyi_list_drop_source(source);
    }
    if (status == SPY_OK) spyi_note_op(list, SPYI_SCRIPT_FILL, tensor, NULL, NULL, value, NULL, 0);
    return status;
}

spy_status spy_list_fill(spy_command_list *list, spy_tensor *tensor, double value) {
    const char *function = "spy_list_fill";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_fill(list, tensor, value, &error), &error);
}

SPYI_FN spy_status spyi_list_write(spy_command_list *list, const spy_tensor *tensor, const void *data,
                                   size_t size_bytes, spyi_text *error) {
    spy_status status = spyi_list_check_tensor(list, "tensor", tensor, error);
    if (status != SPY_OK) return status;
    status = spyi_check_transfer(tensor, tensor->element_count, data, size_bytes, error);
    if (status != SPY_OK) return status;
    spy_tensor *source = spyi_list_source(tensor, error, &status);
    if (source) status = spyi_tensor_upload(source, data, error);
    if (status == SPY_OK) status = spyi_list_add_copy(list, SPY_LIST_OP_KIND_WRITE, tensor, source, error);
    spyi_list_drop_source(source);
    if (status == SPY_OK) spyi_note_op(list, SPYI_SCRIPT_WRITE, tensor, NULL, NULL, 0, data, size_bytes);
    return status;
}

spy_status spy_list_write(spy_command_list *list, spy_tensor *tensor, const void *data, size_t size_bytes) {
    const char *function = "spy_list_write";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_write(list, tensor, data, size_bytes, &error), &error);
}

// >>barriers, labels, timestamps

// Records an operation that uses no memory. `work` NULL means a barrier.
static spy_status spyi_list_mark(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const spyi_work *work, spyi_text *error) {
    spyi_list_op *op;
    spy_status status = spyi_list_add(list, name, work, NULL, 0, &op, error);
    if (status == SPY_OK) spyi_list_added(list, op, kind);
    return status;
}

SPYI_FN spy_status spyi_list_barrier(spy_command_list *list, spyi_text *error) {
    spy_status status = spyi_list_mark(list, SPY_LIST_OP_KIND_BARRIER, NULL, NULL, error);
    if (status == SPY_OK) spyi_note_op(list, SPYI_SCRIPT_BARRIER, NULL, NULL, NULL, 0, NULL, 0);
    return status;
}

spy_status spy_list_barrier(spy_command_list *list) {
    const char *function = "spy_list_barrier";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_barrier(list, &error), &error);
}

static spy_status spyi_list_add_label(spy_command_list *list, spyi_label label, const char *name,
                                      spyi_text *error) {
    static const spy_list_op_kind kinds[] = { SPY_LIST_OP_KIND_PUSH_LABEL, SPY_LIST_OP_KIND_POP_LABEL,
                                              SPY_LIST_OP_KIND_MARKER };
    static const spyi_script_op saved[] = { SPYI_SCRIPT_PUSH_LABEL, SPYI_SCRIPT_POP_LABEL,
                                            SPYI_SCRIPT_MARKER };
    spyi_label_work work = spyi_label_of(label, name);
    uint32_t depth = list->depth; // restored if recording fails
    list->depth = label == SPYI_LABEL_PUSH ? depth + 1 : label == SPYI_LABEL_POP ? depth - 1 : depth;
    spy_status status = spyi_list_mark(list, kinds[label], name, &work.work, error);
    if (status != SPY_OK) list->depth = depth;
    else spyi_note_op(list, saved[label], NULL, NULL, name, 0, NULL, 0);
    return status;
}

SPYI_FN spy_status spyi_list_label(spy_command_list *list, spyi_label label, const char *name,
                                   spyi_text *error) {
    if (label == SPYI_LABEL_POP && !list->depth) spyi_text_add(error, "no label has been pushed");
    else if (label != SPYI_LABEL_POP && !name) spyi_text_add(error, "'name': expected a text, got NULL");
    else return spyi_list_add_label(list, label, name, error);
    return SPY_ERROR_INVALID_ARGUMENT;
}

static spy_status spyi_list_name(spy_command_list *list, spyi_label label, const char *name,
                                 const char *function) {
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_label(list, label, name, &error), &error);
}

spy_status spy_list_push_label(spy_command_list *list, const char *name) {
    return spyi_list_name(list, SPYI_LABEL_PUSH, name, "spy_list_push_label");
}

spy_status spy_list_marker(spy_command_list *list, const char *name) {
    return spyi_list_name(list, SPYI_LABEL_POINT, name, "spy_list_marker");
}

spy_status spy_list_pop_label(spy_command_list *list) {
    return spyi_list_name(list, SPYI_LABEL_POP, NULL, "spy_list_pop_label");
}

SPYI_FN spy_status spyi_list_timestamp(spy_command_list *list, spyi_text *error) {
    const spyi_limits *limits = &list->sink.object.device->base->limits;
    if (!(limits->info.features & SPY_FEATURE_TIMESTAMPS)) {
        spyi_text_add(error, "'%s' has no timestamps", limits->info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (list->time_count == SPYI_TIME_SLOTS) {
        spyi_text_add(error, "the list has %u timestamps already, which is the most", SPYI_TIME_SLOTS);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    spyi_time_mark_work mark = spyi_time_mark_of(list->time_count);
    spy_status status = spyi_list_mark(list, SPY_LIST_OP_KIND_TIMESTAMP, NULL, &mark.work, error);
    if (status != SPY_OK) return status;
    list->time_count++;
    spyi_note_op(list, SPYI_SCRIPT_TIMESTAMP, NULL, NULL, NULL, 0, NULL, 0);
    return SPY_OK;
}

spy_status spy_list_timestamp(spy_command_list *list) {
    const char *function = "spy_list_timestamp";
    spy_status status = spyi_list_enter(list, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    return spyi_list_leave(list, function, spyi_list_timestamp(list, &error), &error);
}
