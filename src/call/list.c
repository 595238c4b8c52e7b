// Command lists: the object, its growth, and its submission, which repeats what was recorded without looking at arguments,
// shapes or plans again. What can be recorded is in list_record.c.
#include "call/list.h"

// >>growth

// Room for `more` elements behind `count`.
static bool spyi_list_reserve(spyi_context *ctx, void **items, size_t *capacity, size_t count, size_t more,
                              size_t element) {
    if (count + more <= *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < count + more) wanted = count + more;
    void *moved = spyi_reallocate(ctx, *items, *capacity * element, wanted * element);
    if (!moved) return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

SPYI_FN spy_status spyi_list_add(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const spyi_use *uses, uint32_t use_count, size_t extra, uint32_t *extra_at,
                                 spyi_list_op **out, spyi_text *error) {
    spyi_context *ctx = &list->object.device->ctx;
    size_t name_size = name ? strlen(name) + 1 : 0, at = spyi_align(list->byte_count, 16);
    void *ops = list->ops, *all_uses = list->uses, *bytes = list->bytes;
    if (at + extra + name_size > UINT32_MAX) {
        spyi_text_add(error, "the list holds more than 4 GiB of parameters");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    bool good = spyi_list_reserve(ctx, &ops, &list->op_capacity, list->op_count, 1, sizeof *list->ops);
    list->ops = (spyi_list_op *)ops;
    good = good && spyi_list_reserve(ctx, &all_uses, &list->use_capacity, list->use_count, use_count,
                                     sizeof *list->uses);
    list->uses = (spyi_use *)all_uses;
    good = good && spyi_list_reserve(ctx, &bytes, &list->byte_capacity, at, extra + name_size, 1);
    list->bytes = (uint8_t *)bytes;
    if (!good) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_list_op *op = &list->ops[list->op_count++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->first_use = (uint32_t)list->use_count;
    op->use_count = use_count;
    for (uint32_t i = 0; i < use_count; i++) {
        list->uses[list->use_count++] = uses[i];
        uses[i].storage->references++;
    }
    if (extra_at) *extra_at = (uint32_t)at;
    if (name) {
        op->name = (uint32_t)(at + extra);
        memcpy(list->bytes + op->name, name, name_size);
    }
    list->byte_count = at + extra + name_size;
    *out = op;
    return SPY_OK;
}

static const char *spyi_list_op_name(const spy_command_list *list, const spyi_list_op *op) {
    return op->name ? (const char *)list->bytes + op->name : "";
}

SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op) {
    if (!list->on_record) return;
    spy_list_op told;
    told.kind = op->kind;
    told.index = (uint32_t)(op - list->ops);
    told.name = spyi_list_op_name(list, op);
    list->on_record(&told, list->user_data);
}

SPYI_FN spy_status spyi_list_append_dispatch(spy_command_list *list, spyi_plan *plan,
                                             const spyi_variant *variant, const spyi_dispatch *dispatch,
                                             const spyi_use *uses, uint32_t use_count, bool untracked,
                                             spyi_text *error) {
    size_t block_size = variant->emitted.block_size, bindings_at = spyi_align(block_size, 16);
    size_t bindings_size = variant->feeds.binding_count * sizeof *dispatch->bindings;
    size_t uniforms_at = spyi_align(bindings_at + bindings_size, 16), size = uniforms_at;
    uint32_t uniform_count = variant->feeds.uniform_count;
    if (uniform_count) size = spyi_align(size + uniform_count * sizeof *dispatch->uniforms, 16);
    size_t data_at = size;
    for (uint32_t i = 0; i < uniform_count; i++) size += spyi_align(dispatch->uniforms[i].size, 16);
    spyi_list_op *op;
    uint32_t at;
    spy_status status =
        spyi_list_add(list, SPY_LIST_OP_CALL, plan->function->name, uses, use_count, size, &at, &op, error);
    if (status != SPY_OK) return status;
    op->launch = *dispatch;
    op->block = at;
    op->bindings = at + (uint32_t)bindings_at;
    if (block_size) memcpy(list->bytes + op->block, dispatch->block, block_size);
    if (bindings_size) memcpy(list->bytes + op->bindings, dispatch->bindings, bindings_size);
    op->uniforms = at + (uint32_t)uniforms_at;
    op->uniform_count = uniform_count;
    for (uint32_t i = 0; i < uniform_count; i++) {
        const spyi_uniform *u = &dispatch->uniforms[i];
        memcpy(list->bytes + op->uniforms + i * sizeof *u, u, sizeof *u);
        memcpy(list->bytes + at + data_at, u->data, u->size);
        data_at += spyi_align(u->size, 16);
    }
    op->data = at + (uint32_t)uniforms_at;
    if (uniform_count)
        op->data = at + (uint32_t)spyi_align(uniforms_at + uniform_count * sizeof *dispatch->uniforms, 16);
    op->data_end = at + (uint32_t)size;
    op->plan = plan;
    op->variant = variant;
    op->untracked = untracked;
    op->dispatch = list->dispatch_count++;
    plan->references++;
    spyi_list_added(list, op);
    return SPY_OK;
}

SPYI_FN spy_status spyi_list_begin_call(spy_command_list *list, spyi_text *error) {
    void *calls = list->calls;
    bool good = spyi_list_reserve(&list->object.device->ctx, &calls, &list->call_capacity, list->call_count,
                                  1, sizeof *list->calls);
    list->calls = (spyi_list_call *)calls;
    if (!good) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    list->calls[list->call_count].first_op = (uint32_t)list->op_count;
    return SPY_OK;
}

SPYI_FN void spyi_list_end_call(spy_command_list *list, spyi_plan *plan) {
    spyi_list_call *call = &list->calls[list->call_count++];
    call->plan = plan;
    call->op_count = (uint32_t)list->op_count - call->first_op;
    plan->references++;
}

// >>submission

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
    spy_device *device = list->object.device;
    spyi_dispatch launch;
    spyi_list_get_dispatch(list, op, &launch);
    op->plan->last_submit = device->backend->open_submit(device->gpu);
    launch.barrier = spyi_take_uses(device, list->uses + op->first_use, op->use_count, op->untracked);
    spy_status status = device->backend->dispatch(device->gpu, &launch, error);
    spyi_uses_done(device, launch.barrier, op->untracked, status);
    return status;
}

static spy_status spyi_list_transfer(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->object.device;
    const spyi_use *to = &list->uses[op->first_use];
    const spyi_chunk *chunk = &to->storage->chunk;
    uint64_t offset = to->storage->offset + to->begin, size = to->end - to->begin;
    bool barrier = spyi_take_uses(device, to, op->use_count, false);
    spy_status status;
    if (op->repeats) {
        status = device->backend->fill(device->gpu, chunk, offset, size, op->pattern, barrier, error);
    } else {
        const spyi_use *from = to + 1;
        status = device->backend->copy(device->gpu, chunk, offset, &from->storage->chunk,
                                       from->storage->offset + from->begin, size, barrier, error);
    }
    spyi_uses_done(device, barrier, false, status);
    return status;
}

static spy_status spyi_list_run_op(const spy_command_list *list, const spyi_list_op *op, spyi_text *error) {
    spy_device *device = list->object.device;
    switch (op->kind) {
    case SPY_LIST_OP_CALL: return spyi_list_dispatch(list, op, error);
    case SPY_LIST_OP_COPY:
    case SPY_LIST_OP_FILL:
    case SPY_LIST_OP_WRITE: return spyi_list_transfer(list, op, error);
    case SPY_LIST_OP_BARRIER: device->barrier_owed = true; return SPY_OK;
    case SPY_LIST_OP_PUSH_LABEL:
        return device->backend->label(device->gpu, SPYI_LABEL_PUSH, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_POP_LABEL: return device->backend->label(device->gpu, SPYI_LABEL_POP, NULL, error);
    case SPY_LIST_OP_MARKER:
        return device->backend->label(device->gpu, SPYI_LABEL_POINT, spyi_list_op_name(list, op), error);
    case SPY_LIST_OP_TIMESTAMP: return device->backend->time_mark(device->gpu, op->pattern, error);
    case SPY_LIST_OP_NONE: break;
    }
    return SPY_OK;
}

// The times go from their slots, which all lists share, to the list's own memory.
static spy_status spyi_list_store_times(const spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    const spy_tensor *times = list->times;
    spyi_use use;
    memset(&use, 0, sizeof use);
    use.storage = times->storage;
    use.begin = times->begin_bytes;
    use.end = times->end_bytes;
    use.writes = true;
    bool barrier = spyi_take_uses(device, &use, 1, false);
    spy_status status = device->backend->time_store(
        device->gpu, &use.storage->chunk, use.storage->offset + use.begin, list->time_count, barrier, error);
    spyi_uses_done(device, barrier, false, status);
    return status;
}

// Also what a failure part of the way left open.
static void spyi_list_pop_labels(spy_device *device, uint32_t depth) {
    spyi_text ignored = { NULL, 0, 0 };
    for (; depth > 0; depth--) (void)device->backend->label(device->gpu, SPYI_LABEL_POP, NULL, &ignored);
    spyi_text_free(&ignored);
}

static spy_status spyi_list_run(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    spy_status status = SPY_OK;
    uint32_t depth = 0; // open labels
    if (list->label) {
        status = device->backend->label(device->gpu, SPYI_LABEL_PUSH, list->label, error);
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

// >>the object

SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, const spy_device *device,
                                        spyi_text *error) {
    if (!spyi_as(list, SPYI_KIND_LIST)) {
        spyi_text_add(error, list ? "the command list has been released" : "the command list is NULL");
        return list ? SPY_ERROR_RELEASED : SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->object.device != device) {
        spyi_text_add(error, "the command list belongs to another device");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
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
    spy_command_list *list = (spy_command_list *)spyi_allocate(&device->ctx, sizeof *list);
    if (list && desc) {
        list->label = spyi_strdup(desc->label);
        list->on_record = desc->on_record;
        list->user_data = desc->user_data;
    }
    if (list) {
        list->object.kind = (uint32_t)SPYI_KIND_LIST;
        list->object.device = device;
        spyi_atomic_store(&list->object.references, 1);
        list->byte_count = 1;
        list->next = device->lists;
        if (list->next) list->next->previous = list;
        device->lists = list;
    } else {
        spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    spyi_leave(device);
    return list;
}

void spy_retain_command_list(spy_command_list *list) {
    spyi_object_retain(list, SPYI_KIND_LIST, "spy_retain_command_list");
}

void spy_release_command_list(spy_command_list *list) {
    if (!list) return;
    if (spyi_as(list, SPYI_KIND_LIST)) spyi_object_release(&list->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_command_list: the list has been released already");
}

SPYI_FN void spyi_list_free(spy_command_list *list) {
    spy_device *device = list->object.device;
    spyi_context *ctx = &device->ctx;
    spyi_list_drop_graph(list);
    for (size_t i = 0; i < list->call_count; i++) spyi_plan_release(device, list->calls[i].plan);
    for (size_t i = 0; i < list->op_count; i++)
        if (list->ops[i].plan) spyi_plan_release(device, list->ops[i].plan);
    for (size_t i = 0; i < list->use_count; i++)
        if (--list->uses[i].storage->references == 0) spyi_pool_give(device, list->uses[i].storage);
    if (list->times) {
        spyi_tensor_unlink(list->times);
        spyi_tensor_free(list->times);
    }
    spyi_free(ctx, list->ops, list->op_capacity * sizeof *list->ops);
    spyi_free(ctx, list->uses, list->use_capacity * sizeof *list->uses);
    spyi_free(ctx, list->bytes, list->byte_capacity);
    spyi_free(ctx, list->calls, list->call_capacity * sizeof *list->calls);
    spyi_free(ctx, list->scratch, list->scratch_size);
    free(list->label);
    if (list->previous) list->previous->next = list->next;
    else device->lists = list->next;
    if (list->next) list->next->previous = list->previous;
    spyi_bury(device, &list->object, sizeof *list);
}

// >>finish, submit, read

// Room for the parameters of any one dispatch.
static spy_status spyi_list_make_scratch(spy_command_list *list, spyi_text *error) {
    spyi_context *ctx = &list->object.device->ctx;
    size_t size = 0;
    for (size_t i = 0; i < list->op_count; i++) {
        const spyi_list_op *op = &list->ops[i];
        if (op->plan && op->data_end - op->block > size) size = op->data_end - op->block;
    }
    spyi_free(ctx, list->scratch, list->scratch_size); // of a finish that failed
    list->scratch_size = size + 64;                    // host values may be copied with their padding
    list->scratch = (uint8_t *)spyi_allocate(ctx, list->scratch_size);
    if (list->scratch) return SPY_OK;
    list->scratch_size = 0;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

static spy_status spyi_list_finish(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->object.device;
    spy_status status = spyi_list_check_open(list, device, error);
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
            spyi_tensor_make(device, device->scalars[SPY_UINT64], &shape, "timestamps", error, &status);
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
    if (status != SPY_OK) spyi_fail_text(list->object.device, status, function, &error);
    spyi_leave(list);
    return status;
}

spy_status spy_list_submit(spy_command_list *list) {
    const char *function = "spy_list_submit";
    spy_status entered = spyi_enter(list, SPYI_KIND_LIST, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (list->finished) status = spyi_list_submit(list, spyi_list_run, &error);
    else spyi_text_add(&error, "the command list is still being recorded; call spy_list_finish() first");
    if (SPYI_LIKELY(status == SPY_OK)) list->submit_count++;
    else spyi_fail_text(list->object.device, status, function, &error);
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
    double period = list->object.device->base->limits.info.timestamp_period_ns;
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
    if (status != SPY_OK) spyi_fail_text(list->object.device, status, function, &error);
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
