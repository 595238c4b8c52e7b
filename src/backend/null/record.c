// Logs work of any kind: checks it against backend.h and the order of its barriers, and executes it when its
// batch finishes.
#include "backend/null/internal.h"

// >>order

SPYI_FN bool spyi_null_overlap(uint64_t a, uint64_t a_offset, uint64_t a_size, uint64_t b, uint64_t b_offset,
                               uint64_t b_size) {
    return a && a == b && a_offset < b_offset + b_size && b_offset < a_offset + a_size;
}

// Returns true when `op` is known to touch the range. Handles are never 0; the unused side of a transfer has
// the handle 0.
static bool spyi_null_touches(const spyi_null_op *op, uint64_t handle, uint64_t offset, uint64_t size) {
    uint32_t i;
    if (spyi_null_overlap(op->to, op->to_offset, op->size, handle, offset, size)) return true;
    if (spyi_null_overlap(op->from, op->from_offset, op->size, handle, offset, size)) return true;
    for (i = 0; i < op->binding_count; i++) {
        const spyi_binding *b = &op->bindings[i];
        if (spyi_null_overlap(b->handle, b->offset, b->range, handle, offset, size)) return true;
    }
    return false;
}

// Returns true when a transfer of one of the two ops writes memory that the other touches. (The memory that a
// kernel writes is not known here: two dispatches, or a dispatch and a copy from its bindings, may be right
// without a barrier.)
static bool spyi_null_need_order(const spyi_null_op *a, const spyi_null_op *b) {
    return (a->to && spyi_null_touches(b, a->to, a->to_offset, a->size)) ||
           (b->to && spyi_null_touches(a, b->to, b->to_offset, b->size));
}

// Checks that a barrier separates the op from earlier work that it must follow. A barrier before an op orders
// all earlier work before the op and all later work, but does not order the op itself before later work.
static spy_status spyi_null_check_order(spyi_null_gpu *n, const spyi_null_op *op, spyi_text *error) {
    size_t i;
    if (op->barrier) return SPY_OK;
    for (i = n->op_count; i > n->done_count; i--) {
        const spyi_null_op *earlier = n->ops[i - 1];
        if (spyi_null_need_order(earlier, op))
            return spyi_null_broken(n, error, "%s: no barrier after the %s of submit %llu that it overlaps",
                                    op->work->kind->name, earlier->work->kind->name,
                                    (unsigned long long)earlier->submit);
        if (earlier->barrier) break;
    }
    return SPY_OK;
}

// >>recording

// Makes an op, with a copy of the work and of its transitions behind it.
static spyi_null_op *spyi_null_new_op(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_null_rule *rule = spyi_null_rule_of(work);
    size_t (*keep)(const spyi_work *, void *) = rule->keep ? rule->keep : work->kind->keep;
    const size_t head = spyi_align(sizeof(spyi_null_op), 16);
    const size_t transitions = work->before.transition_count * sizeof *work->before.transitions;
    const size_t kept = keep ? spyi_align(keep(work, NULL), 16) : 0;
    const size_t extra = rule->extra ? rule->extra(work) : 0;
    spyi_null_op *op = NULL;
    if (n->op_count == n->op_capacity) {
        size_t capacity = n->op_capacity ? n->op_capacity * 2 : 64;
        spyi_null_op **ops = (spyi_null_op **)spyi_realloc(n->ops, capacity * sizeof *ops);
        if (ops) {
            n->ops = ops;
            n->op_capacity = capacity;
        }
    }
    if (n->op_count < n->op_capacity && keep)
        op = (spyi_null_op *)spyi_malloc(head + kept + transitions + extra);
    if (!op) {
        spyi_text_add(error, keep ? "no host memory to record a %s" : "a %s cannot be kept",
                      work->kind->name);
        return NULL;
    }
    memset(op, 0, sizeof *op);
    char *bytes = (char *)op + head;
    keep(work, bytes);
    spyi_work *copy = (spyi_work *)(void *)bytes;
    if (transitions) memcpy(bytes + kept, work->before.transitions, transitions);
    copy->before.transitions = transitions ? (const spyi_transition *)(const void *)(bytes + kept) : NULL;
    op->kind = rule->kind;
    op->barrier = work->before.barrier;
    op->submit = n->base.open;
    op->work = copy;
    op->label = "";
    if (rule->describe) rule->describe(n, op, work, bytes + kept + transitions);
    return op;
}

// Checks the order and adds the op to the list, or frees it.
static spy_status spyi_null_add_op(spyi_null_gpu *n, spyi_null_op *op, spyi_text *error) {
    spy_status status = spyi_null_check_order(n, op, error);
    if (status != SPY_OK) {
        free(op);
        return status;
    }
    n->ops[n->op_count++] = op;
    n->open_has_work = true;
    if (op->barrier) n->base.stats.barriers++;
    if (op->kernel) {
        spyi_atomic_add(&op->kernel->pending, 1);
        n->recorded_dispatches++;
        if (op->kind == SPYI_NULL_DRAW) n->base.stats.draws++;
        else n->base.stats.dispatches++;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_null_record(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_null_rule *rule = spyi_null_rule_of(work);
    spyi_null_op *op;
    spy_status status =
        n->lost ? spyi_null_lost(error) : spyi_null_step_status(n, SPYI_NULL_STEP_RECORD, error);
    if (status == SPY_ERROR_DEVICE_LOST && !n->lost) spyi_null_lose(n);
    if (status == SPY_OK && work->before.transition_count)
        status = spyi_null_transit(n, &work->before, error);
    if (status == SPY_OK && rule->check) status = rule->check(n, work, error);
    if (status == SPY_OK && rule->at_once) return status;
    op = status == SPY_OK ? spyi_null_new_op(n, work, error) : NULL;
    if (op) status = spyi_null_add_op(n, op, error);
    else if (status == SPY_OK) status = SPY_ERROR_OUT_OF_MEMORY;
    if (status != SPY_OK) spyi_null_transit_back(n, &work->before);
    return status;
}

// >>batches

SPYI_FN void spyi_null_forget_done(spyi_null_gpu *n) {
    size_t i;
    for (i = 0; i < n->done_count; i++) free(n->ops[i]);
    n->op_count -= n->done_count;
    if (n->op_count) memmove(n->ops, n->ops + n->done_count, n->op_count * sizeof *n->ops);
    n->done_count = 0;
}

SPYI_FN void spyi_null_run_up_to(spyi_null_gpu *n, uint64_t submit) {
    if (submit >= n->base.open) submit = n->base.open - 1;
    if (submit <= n->finished) return;
    while (n->done_count < n->op_count && n->ops[n->done_count]->submit <= submit) {
        spyi_null_op *op = n->ops[n->done_count];
        const spyi_null_rule *rule = spyi_null_rule_of(op->work);
        if (rule->carry_out) rule->carry_out(n, op);
        op->done = true;
        n->done_count++;
    }
    n->finished = submit;
    if (n->no_log) spyi_null_forget_done(n);
}

// Drops all work that has not finished; nothing is executed or waited for afterwards.
SPYI_FN void spyi_null_lose(spyi_null_gpu *n) {
    n->lost = true;
    while (n->op_count > n->done_count) {
        spyi_null_op *op = n->ops[--n->op_count];
        if (op->kernel) spyi_atomic_add(&op->kernel->pending, -1);
        free(op);
    }
    n->open_has_work = false;
    n->finished = n->base.open;
}

SPYI_FN spy_status spyi_null_lost(spyi_text *error) {
    spyi_text_add(error, "the device is lost");
    return SPY_ERROR_DEVICE_LOST;
}

SPYI_FN uint64_t spyi_null_finished_submit(spyi_gpu *gpu) {
    return spyi_null_cast(gpu)->finished;
}

SPYI_FN spy_status spyi_null_submit(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->lost) return spyi_null_lost(error);
    if (!n->open_has_work) return SPY_OK;
    status = spyi_null_step_status(n, SPYI_NULL_STEP_SUBMIT, error);
    if (status == SPY_ERROR_DEVICE_LOST) spyi_null_lose(n);
    if (status != SPY_OK) return status;
    n->base.open++;
    n->open_has_work = false;
    n->base.stats.submits++;
    if (!n->hold) spyi_null_run_up_to(n, n->base.open - 1);
    return SPY_OK;
}

SPYI_FN spy_status spyi_null_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (submit >= n->base.open) {
        spy_status status = spyi_null_submit(gpu, error);
        if (status != SPY_OK) return status;
        submit = n->base.open - 1;
    }
    if (submit <= n->finished) return SPY_OK;
    if (timeout_ns != UINT64_MAX) {
        spyi_text_add(error, "submit %llu has not finished", (unsigned long long)submit);
        return SPY_ERROR_NOT_READY;
    }
    spyi_null_run_up_to(n, submit);
    return SPY_OK;
}

SPYI_FN spy_status spyi_null_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const unsigned char *memory;
    size_t i;
    spy_status status = n->lost ? spyi_null_lost(error) : spyi_null_wait(gpu, after, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    memory = spyi_null_range(n, "download", from->handle, offset, size, error);
    if (!memory) return SPY_ERROR_INTERNAL;
    for (i = n->done_count; i < n->op_count; i++) {
        const spyi_null_op *op = n->ops[i];
        if (spyi_null_overlap(op->to, op->to_offset, op->size, from->handle, offset, size))
            return spyi_null_broken(
                n, error, "download after submit %llu: the %s of submit %llu still writes there",
                (unsigned long long)after, op->work->kind->name, (unsigned long long)op->submit);
    }
    memcpy(data, memory, (size_t)size);
    return SPY_OK;
}

// >>timers: a dispatch takes 1000 ns

SPYI_FN spy_status spyi_null_time_begin(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state == 1) return spyi_null_broken(n, error, "time_begin: the last one has not ended");
    n->time_state = 1;
    n->time_first = n->recorded_dispatches;
    n->open_has_work = true;
    return SPY_OK;
}

SPYI_FN spy_status spyi_null_time_end(spyi_gpu *gpu, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    if (n->lost) return spyi_null_lost(error);
    if (n->time_state != 1) return spyi_null_broken(n, error, "time_end: there was no time_begin");
    n->time_state = 2;
    n->time_last = n->recorded_dispatches;
    n->time_submit = n->base.open;
    n->open_has_work = true;
    return SPY_OK;
}

SPYI_FN spy_status spyi_null_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spy_status status;
    if (n->time_state != 2) return spyi_null_broken(n, error, "time_elapsed: there was no time_end");
    status = spyi_null_wait(gpu, n->time_submit, UINT64_MAX, error);
    if (status == SPY_OK) *ns = (n->time_last - n->time_first) * 1000u;
    return status;
}
