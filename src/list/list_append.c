// The contents of a command list: its operations, their uses and memory, and how they grow. Calls are
// recorded through the table at the end of this file.
#include "list/saved.h"

// >>growth

// Makes room for `more` elements behind the first `count`. `capacity` counts elements; `element` is the size
// of one in bytes.
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

#define SPYI_LIST_PAGE_BYTES 4096u

// Takes `size` bytes from the list's pages, aligned to 16 bytes. Returns NULL when out of memory.
static void *spyi_list_take_bytes(spy_command_list *list, size_t size) {
    spyi_list_page *page = list->pages;
    size_t at = page ? spyi_align(page->used, 16) : 0;
    if (!page || page->size - page->used < 16 || page->size - at < size) {
        size_t head = spyi_align(sizeof *page, 16);
        size_t wanted = page ? 2 * page->size : SPYI_LIST_PAGE_BYTES; // doubling keeps the pages few
        if (wanted < head + size) wanted = head + size;
        page = (spyi_list_page *)spyi_allocate(&list->sink.object.device->ctx, wanted);
        if (!page) return NULL;
        page->next = list->pages;
        page->size = wanted;
        list->pages = page;
        at = head;
    }
    page->used = at + size;
    return (char *)page + at;
}

SPYI_FN void spyi_list_free_pages(spy_command_list *list) {
    while (list->pages) {
        spyi_list_page *page = list->pages;
        list->pages = page->next;
        spyi_free(&list->sink.object.device->ctx, page, page->size);
    }
}

SPYI_FN spy_status spyi_list_add(spy_command_list *list, const char *name, const spyi_work *work,
                                 const spyi_use *uses, uint32_t use_count, spyi_list_op **out,
                                 spyi_text *error) {
    spyi_context *ctx = &list->sink.object.device->ctx;
    if (work && !work->kind->keep) {
        spyi_text_add(error, "%s: a command list does not support it", work->kind->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    size_t work_size = work ? spyi_align(work->kind->keep(work, NULL), 16) : 0;
    size_t name_size = name ? strlen(name) + 1 : 0;
    void *ops = list->ops, *all_uses = list->uses;
    bool good = spyi_list_reserve(ctx, &ops, &list->op_capacity, list->op_count, 1, sizeof *list->ops);
    list->ops = (spyi_list_op *)ops;
    good = good && spyi_list_reserve(ctx, &all_uses, &list->use_capacity, list->use_count, use_count,
                                     sizeof *list->uses);
    list->uses = (spyi_use *)all_uses;
    char *bytes = good ? (char *)spyi_list_take_bytes(list, work_size + name_size + 1) : NULL;
    if (!bytes) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_list_op *op = &list->ops[list->op_count++];
    memset(op, 0, sizeof *op);
    if (work) work->kind->keep(work, bytes);
    op->work = work ? (spyi_work *)(void *)bytes : NULL;
    op->size = work_size;
    op->first_use = (uint32_t)list->use_count;
    op->use_count = use_count;
    op->depth = list->depth;
    for (uint32_t i = 0; i < use_count; i++) {
        list->uses[list->use_count++] = uses[i];
        spyi_resource_retain(uses[i].resource);
    }
    if (name) memcpy(bytes + work_size, name, name_size);
    op->name = bytes + work_size; // the name is "" when none is given, because pages are zeroed
    *out = op;
    return SPY_OK;
}

SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op, spy_list_op_kind kind) {
    if (!list->on_record) return;
    spy_list_op told;
    told.kind = kind;
    told.index = (uint32_t)(op - list->ops);
    told.name = op->name;
    list->on_record(&told, list->user_data);
}

// >>calls

static spy_status spyi_sink_check_open(const spyi_sink *sink, spyi_text *error) {
    return spyi_list_check_open((const spy_command_list *)(const void *)sink, error);
}

// Records work of a plan's variant: copies the work, and holds the plan and the resources. `untracked` means
// the same as in spyi_take_uses().
static spy_status spyi_list_append_work(spyi_sink *sink, spyi_plan *plan, const spyi_variant *variant,
                                        const spyi_work *work, const spyi_use *uses, uint32_t use_count,
                                        bool untracked, spyi_text *error) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // `sink` is the list's first member
    spyi_list_op *op;
    spy_status status = spyi_list_add(list, plan->function->name, work, uses, use_count, &op, error);
    if (status != SPY_OK) return status;
    op->plan = plan;
    op->variant = variant;
    op->untracked = untracked;
    op->dispatch = list->dispatch_count++;
    plan->references++;
    spyi_list_added(list, op, SPY_LIST_OP_KIND_CALL);
    return SPY_OK;
}

// spyi_list_begin_call() and spyi_list_end_call() note the operations of one call, for spy_list_set(). Only
// the first of the two can fail.
static spy_status spyi_list_begin_call(spyi_sink *sink, spyi_text *error) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // `sink` is the list's first member
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

static void spyi_list_end_call(spyi_sink *sink, spyi_plan *plan, const spyi_values *values) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // `sink` is the list's first member
    spyi_list_call *call = &list->calls[list->call_count++];
    call->plan = plan;
    call->op_count = (uint32_t)list->op_count - call->first_op;
    plan->references++;
    spyi_note_call(list, call, values);
}

// Removes the operations of a call that failed after its first dispatch, because otherwise half a call would
// run at each submission.
static void spyi_list_drop_call(spyi_sink *sink) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // `sink` is the list's first member
    spy_device *device = list->sink.object.device;
    size_t first_op = list->calls[list->call_count].first_op;
    while (list->op_count > first_op) {
        const spyi_list_op *op = &list->ops[--list->op_count];
        while (list->use_count > op->first_use)
            spyi_resource_release(device, list->uses[--list->use_count].resource);
        spyi_plan_release(device, op->plan);
        list->dispatch_count--;
    }
}

// Records a draw, which is no call: spy_list_set() changes none of its arguments.
static spy_status spyi_list_append_draw(spyi_sink *sink, const char *name, const spyi_work *work,
                                        const spyi_use *uses, uint32_t use_count, bool untracked,
                                        spyi_text *error) {
    spy_command_list *list = (spy_command_list *)(void *)sink; // `sink` is the list's first member
    spyi_list_op *op;
    spy_status status = spyi_list_add(list, name, work, uses, use_count, &op, error);
    if (status != SPY_OK) return status;
    op->untracked = untracked;
    spyi_list_added(list, op, SPY_LIST_OP_KIND_DRAW);
    spyi_note_refusal(list, "a draw, which cannot be saved");
    return SPY_OK;
}

SPYI_FN const spyi_sink_table *spyi_list_sink_table(void) {
    static const spyi_sink_table table = {
        spyi_sink_check_open, spyi_list_begin_call, spyi_list_append_work,
        spyi_list_end_call,   spyi_list_drop_call,  spyi_list_append_draw
    };
    return &table;
}
