// What a command list is made of: its operations, their uses and bytes, and how they grow. Calls are recorded through the
// table at the end.
#include "list/list.h"

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
    spyi_context *ctx = &list->sink.object.device->ctx;
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
        spyi_resource_retain(uses[i].resource);
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

SPYI_FN const char *spyi_list_op_name(const spy_command_list *list, const spyi_list_op *op) {
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

// >>calls

static spy_status spyi_sink_check_open(const spyi_sink *sink, spyi_text *error) {
    return spyi_list_check_open((const spy_command_list *)(const void *)sink, error);
}

// Records a dispatch of a plan's variant: its block, bindings and uniform buffers are copied, the plan and the storages are held.
// `untracked`: as for spyi_take_uses.
static spy_status spyi_list_append_dispatch(spyi_sink *sink, spyi_plan *plan, const spyi_variant *variant,
                                            const spyi_dispatch *dispatch, const spyi_use *uses,
                                            uint32_t use_count, bool untracked, spyi_text *error) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // which begins it
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

// Before a call is recorded, and after: what it was, for spy_list_set(). Only the first one fails.
static spy_status spyi_list_begin_call(spyi_sink *sink, spyi_text *error) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // which begins it
    void *calls = list->calls;
    bool good = spyi_list_reserve(&list->sink.object.device->ctx, &calls, &list->call_capacity,
                                  list->call_count, 1, sizeof *list->calls);
    list->calls = (spyi_list_call *)calls;
    if (!good) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    list->calls[list->call_count].first_op = (uint32_t)list->op_count;
    return SPY_OK;
}

static void spyi_list_end_call(spyi_sink *sink, spyi_plan *plan) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // which begins it
    spyi_list_call *call = &list->calls[list->call_count++];
    call->plan = plan;
    call->op_count = (uint32_t)list->op_count - call->first_op;
    plan->references++;
}

SPYI_FN const spyi_sink_table *spyi_list_sink_table(void) {
    static const spyi_sink_table table = { spyi_sink_check_open, spyi_list_begin_call,
                                           spyi_list_append_dispatch, spyi_list_end_call };
    return &table;
}
