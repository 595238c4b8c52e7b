// The null backend's texts: the report of broken rules, failures that a test has ordered, and its recorded
// work.
#include "backend/null/internal.h"

// Adds a broken rule of backend.h to the report, and to the caller's error, or to the log when `error` is
// NULL.
SPYI_FN spy_status spyi_null_broken(spyi_null_gpu *n, spyi_text *error, const char *format, ...) {
    spyi_text text = { NULL, 0, 0 };
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    spyi_text_add(&text, "null backend: %s\n", line);
    spyi_mutex_lock(&n->lock);
    spyi_text_add_n(n->report, text.data, text.size);
    spyi_mutex_unlock(&n->lock);
    spyi_text_free(&text);
    if (error) spyi_text_add(error, "%s", line);
    else spyi_logf(n->base.ctx, SPY_LOG_LEVEL_ERROR, "null backend: %s", line);
    return SPY_ERROR_INTERNAL;
}

// Returns the status with which the test has ordered this step to fail, or SPY_OK.
SPYI_FN spy_status spyi_null_step_status(spyi_null_gpu *n, spyi_null_step step, spyi_text *error) {
    spy_status status;
    spyi_mutex_lock(&n->lock);
    status = n->fail_status[step];
    if (status != SPY_OK && n->fail_skip[step] > 0) {
        n->fail_skip[step]--;
        status = SPY_OK;
    } else {
        n->fail_status[step] = SPY_OK;
    }
    spyi_mutex_unlock(&n->lock);
    if (status != SPY_OK)
        spyi_text_add(error, "the test asked for this failure: %s", spy_status_text(status));
    return status;
}

void spyi_null_fail(spyi_gpu *gpu, spyi_null_step step, uint32_t skip, spy_status status) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    spyi_mutex_lock(&n->lock);
    n->fail_status[step] = status;
    n->fail_skip[step] = skip;
    spyi_mutex_unlock(&n->lock);
}

const char *spyi_null_report(spyi_gpu *gpu) {
    return spyi_text_str(spyi_null_cast(gpu)->report);
}

// >>work as text

static const char *spyi_null_use_name(uint32_t how) {
    const uint32_t both = SPYI_USE_READS | SPYI_USE_WRITES;
    return how & SPYI_USE_ATTACHMENT ? "attachment"
           : how & SPYI_USE_SAMPLED  ? "sampled"
           : how & SPYI_USE_STORED   ? "stored"
           : how & SPYI_USE_COPIED   ? (how & both) == both    ? "copied within"
                                       : how & SPYI_USE_WRITES ? "copied to"
                                                               : "copied from"
                                     : "nothing";
}

SPYI_FN void spyi_null_tell_work(spyi_gpu *gpu, spyi_text *out) {
    const spyi_null_gpu *n = spyi_null_cast(gpu);
    for (size_t i = 0; i < n->op_count; i++) {
        const spyi_null_op *op = n->ops[i];
        const spyi_before *before = &op->work->before;
        spyi_text_add(out, "%s", op->work->kind->name);
        if (op->label[0]) spyi_text_add(out, " \"%s\"", op->label);
        if (op->kind == SPYI_NULL_DISPATCH)
            spyi_text_add(out, " of %u x %u x %u groups", op->groups[0], op->groups[1], op->groups[2]);
        if (op->to || op->from) spyi_text_add(out, " of %llu bytes", (unsigned long long)op->size);
        if (before->barrier) spyi_text_add(out, ", after a barrier");
        for (uint32_t k = 0; k < before->transition_count; k++) {
            const spyi_transition *t = &before->transitions[k];
            spyi_text_add(out, ", after texture %llu level %u layers %u to %u: %s -> %s",
                          (unsigned long long)t->texture, t->level, t->first_layer,
                          t->first_layer + t->layer_count - 1, spyi_null_use_name(t->from),
                          spyi_null_use_name(t->to));
        }
        spyi_text_add(out, "\n");
    }
}
