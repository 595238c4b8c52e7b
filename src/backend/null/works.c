// The kinds of work that the null backend executes: for each kind, the rules of backend.h and its effect on
// memory.
#include "backend/null/internal.h"

// Sets the range that the op writes or reads; the range has been checked.
static void spyi_null_set_to(spyi_null_gpu *n, spyi_null_op *op, const spyi_chunk *to, uint64_t offset,
                             uint64_t size) {
    op->to = to->handle;
    op->to_offset = offset;
    op->to_memory = spyi_null_range(n, op->work->kind->name, op->to, offset, size, NULL);
    op->size = size;
}

static void spyi_null_set_from(spyi_null_gpu *n, spyi_null_op *op, uint64_t handle, uint64_t offset,
                               uint64_t size) {
    op->from = handle;
    op->from_offset = offset;
    op->from_memory = spyi_null_range(n, op->work->kind->name, handle, offset, size, NULL);
    op->size = size;
}

// >>dispatch

SPYI_FN spy_status spyi_null_check_inputs(spyi_null_gpu *n, const char *what, const spyi_null_kernel *k,
                                          const void *block, const spyi_binding *bindings,
                                          const spyi_uniform *uniforms, spyi_text *error) {
    const spyi_limits *limits = &n->base.limits;
    uint32_t i;
    if ((k->base.block_size && !block) || (k->base.binding_count && !bindings) ||
        (k->base.uniform_count && !uniforms))
        return spyi_null_broken(n, error, "%s of \"%s\": its block or its bindings are NULL", what, k->label);
    for (i = 0; i < k->base.uniform_count; i++) {
        const spyi_uniform *u = &uniforms[i];
        if (!u->data || (u->size == 0 && !spyi_rules_of(limits->profile.target)->by_address) ||
            u->size > limits->profile.max_uniform_bytes)
            return spyi_null_broken(n, error, "%s of \"%s\": uniform buffer %u has %u bytes, not 1 to %u",
                                    what, k->label, i, u->data ? u->size : 0,
                                    limits->profile.max_uniform_bytes);
    }
    for (i = 0; i < k->base.binding_count; i++) {
        const spyi_binding *b = &bindings[i];
        const spyi_parameter *s = spyi_interface_find(&k->iface, i);
        bool texels = s->kind != SPYI_PARAMETER_BUFFER;
        uint64_t texel = texels ? spy_dtype_size_bytes((spy_dtype)s->scalar) * s->columns : 1;
        if (b->kind != SPYI_BINDING_BUFFER) {
            spy_status status = spyi_null_check_image_binding(n, k->label, i, b, s, error);
            if (status != SPY_OK) return status;
            continue;
        }
        if (s->kind >= SPYI_PARAMETER_TEXTURE)
            return spyi_null_broken(n, error, "%s of \"%s\": binding %u is a buffer", what, k->label, i);
        if (b->offset % (texels ? limits->texel_alignment : limits->binding_alignment) != 0 ||
            b->range % texel != 0 ||
            b->range > (texels ? limits->max_texels * texel : limits->max_binding_bytes))
            return spyi_null_broken(
                n, error, "%s of \"%s\": binding %u: offset %llu is misaligned, or range %llu too large",
                what, k->label, i, (unsigned long long)b->offset, (unsigned long long)b->range);
        if (!spyi_null_range(n, "dispatch: binding", b->handle, b->offset, b->range, error))
            return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

static spy_status spyi_null_check_dispatch(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_dispatch *d = (const spyi_dispatch *)(const void *)work;
    const spyi_limits *limits = &n->base.limits;
    const spyi_null_kernel *k = (const spyi_null_kernel *)(const void *)d->kernel;
    uint32_t i;
    if (!k) return spyi_null_broken(n, error, "dispatch: the kernel is NULL");
    if (d->indirect) {
        if (d->indirect_offset % 4 != 0)
            return spyi_null_broken(n, error, "dispatch of \"%s\": group counts at %llu are misaligned",
                                    k->label, (unsigned long long)d->indirect_offset);
        if (!spyi_null_range(n, "dispatch: group counts", d->indirect, d->indirect_offset, sizeof d->groups,
                             error))
            return SPY_ERROR_INTERNAL;
    }
    for (i = 0; i < 3 && !d->indirect; i++) {
        if (d->groups[i] == 0 || d->groups[i] > limits->info.max_group_count)
            return spyi_null_broken(n, error, "dispatch of \"%s\": %u groups in dimension %u are not 1 to %u",
                                    k->label, d->groups[i], i, limits->info.max_group_count);
    }
    return spyi_null_check_inputs(n, "dispatch", k, d->block, d->bindings, d->uniforms, error);
}

static void spyi_null_describe_dispatch(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work,
                                        void *extra) {
    const spyi_dispatch *d = (const spyi_dispatch *)(const void *)op->work;
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)d->kernel;
    (void)work;
    op->kernel = k;
    op->group_size = spyi_interface_threads(&k->iface);
    if (d->indirect) spyi_null_set_from(n, op, d->indirect, d->indirect_offset, sizeof op->groups);
    else memcpy(op->groups, d->groups, sizeof op->groups);
    op->block_by_address = k->iface.block_by_address;
    op->block_size = k->base.block_size;
    op->block = d->block;
    op->binding_count = k->base.binding_count;
    op->bindings = d->bindings;
    op->iface = &k->iface;
    op->uniform_count = k->base.uniform_count;
    op->uniforms = d->uniforms;
    memcpy(extra, k->label, strlen(k->label) + 1); // the kernel may be destroyed before a test reads the op
    op->label = (const char *)extra;
}

static size_t spyi_null_dispatch_extra(const spyi_work *work) {
    const spyi_dispatch *d = (const spyi_dispatch *)(const void *)work;
    return strlen(((const spyi_null_kernel *)(const void *)d->kernel)->label) + 1;
}

static void spyi_null_run_dispatch(spyi_null_gpu *n, spyi_null_op *op) {
    if (op->from) memcpy(op->groups, op->from_memory, sizeof op->groups);
    if (n->func) n->func((spyi_gpu *)(void *)n, op, n->user_data);
    spyi_atomic_add(&op->kernel->pending, -1);
    op->kernel = NULL; // the kernel may be destroyed from now on
}

// >>transfers

static spy_status spyi_null_check_copy(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_copy_work *c = (const spyi_copy_work *)(const void *)work;
    if (!spyi_null_range(n, "copy: to", c->to->handle, c->to_offset, c->size, error) ||
        !spyi_null_range(n, "copy: from", c->from->handle, c->from_offset, c->size, error))
        return SPY_ERROR_INTERNAL;
    if (spyi_null_overlap(c->to->handle, c->to_offset, c->size, c->from->handle, c->from_offset, c->size))
        return spyi_null_broken(n, error, "copy: the two ranges overlap");
    return SPY_OK;
}

static void spyi_null_describe_copy(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra) {
    const spyi_copy_work *c = (const spyi_copy_work *)(const void *)work;
    (void)extra;
    spyi_null_set_to(n, op, c->to, c->to_offset, c->size);
    spyi_null_set_from(n, op, c->from->handle, c->from_offset, c->size);
}

static void spyi_null_run_copy(spyi_null_gpu *n, spyi_null_op *op) {
    (void)n;
    memmove(op->to_memory, op->from_memory, (size_t)op->size);
}

static spy_status spyi_null_check_fill(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_fill_work *f = (const spyi_fill_work *)(const void *)work;
    const uint32_t alignment = n->base.limits.fill_alignment;
    if (f->offset % alignment != 0 || f->size % alignment != 0)
        return spyi_null_broken(n, error, "fill: offset %llu and size %llu must be multiples of %u",
                                (unsigned long long)f->offset, (unsigned long long)f->size, alignment);
    return spyi_null_range(n, "fill", f->to->handle, f->offset, f->size, error) ? SPY_OK : SPY_ERROR_INTERNAL;
}

static void spyi_null_describe_fill(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra) {
    const spyi_fill_work *f = (const spyi_fill_work *)(const void *)work;
    (void)extra;
    spyi_null_set_to(n, op, f->to, f->offset, f->size);
    op->pattern = f->pattern;
}

// The byte at `to_offset` gets the pattern's first byte in memory.
static void spyi_null_run_fill(spyi_null_gpu *n, spyi_null_op *op) {
    (void)n;
    for (uint64_t i = 0; i < op->size; i++) op->to_memory[i] = ((const unsigned char *)&op->pattern)[i % 4];
}

static spy_status spyi_null_check_upload(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_upload_work *u = (const spyi_upload_work *)(const void *)work;
    return spyi_null_range(n, "upload", u->to->handle, u->offset, u->size, error) ? SPY_OK
                                                                                  : SPY_ERROR_INTERNAL;
}

static size_t spyi_null_keep_upload(const spyi_work *work, void *bytes) {
    if (bytes) memcpy(bytes, work, sizeof(spyi_upload_work));
    return sizeof(spyi_upload_work);
}

static size_t spyi_null_upload_extra(const spyi_work *work) {
    return (size_t)((const spyi_upload_work *)(const void *)work)->size;
}

static void spyi_null_describe_upload(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work,
                                      void *extra) {
    const spyi_upload_work *u = (const spyi_upload_work *)(const void *)work;
    memcpy(extra, u->data, (size_t)u->size); // the caller's bytes may change after the return
    op->data = extra;
    spyi_null_set_to(n, op, u->to, u->offset, u->size);
}

static void spyi_null_run_upload(spyi_null_gpu *n, spyi_null_op *op) {
    (void)n;
    memcpy(op->to_memory, op->data, (size_t)op->size);
}

// >>timestamps

// The clock advances by 1000 ticks with each recorded dispatch.
static spy_status spyi_null_time_mark(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    if (slot >= SPYI_TIME_SLOTS)
        return spyi_null_broken(n, error, "time_mark: slot %u is not below %u", slot, SPYI_TIME_SLOTS);
    n->marks[slot] = n->recorded_dispatches * 1000u;
    n->open_has_work = true;
    return SPY_OK;
}

static spy_status spyi_null_check_time_store(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_time_store_work *s = (const spyi_time_store_work *)(const void *)work;
    if (s->count == 0 || s->count > SPYI_TIME_SLOTS || s->offset % sizeof *n->marks)
        return spyi_null_broken(n, error, "time_store: %u slots to byte %llu", s->count,
                                (unsigned long long)s->offset);
    return spyi_null_range(n, "time_store", s->to->handle, s->offset, s->count * sizeof *n->marks, error)
               ? SPY_OK
               : SPY_ERROR_INTERNAL;
}

static size_t spyi_null_time_store_extra(const spyi_work *work) {
    return ((const spyi_time_store_work *)(const void *)work)->count * sizeof(uint64_t);
}

static void spyi_null_describe_time_store(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work,
                                          void *extra) {
    const spyi_time_store_work *s = (const spyi_time_store_work *)(const void *)work;
    memcpy(extra, n->marks, s->count * sizeof *n->marks);
    op->data = extra;
    spyi_null_set_to(n, op, s->to, s->offset, s->count * sizeof *n->marks);
}

// >>labels

static spy_status spyi_null_check_label(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_label_work *l = (const spyi_label_work *)(const void *)work;
    if (l->label == SPYI_LABEL_POP && n->label_depth == 0)
        return spyi_null_broken(n, error, "label: a pop without a push");
    if (l->label != SPYI_LABEL_POP && !l->name) return spyi_null_broken(n, error, "label: the name is NULL");
    return SPY_OK;
}

static void spyi_null_describe_label(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra) {
    const spyi_label_work *l = (const spyi_label_work *)(const void *)op->work;
    (void)work, (void)extra;
    if (l->label == SPYI_LABEL_PUSH) n->label_depth++;
    if (l->label == SPYI_LABEL_POP) n->label_depth--;
    if (l->label != SPYI_LABEL_POP) op->label = l->name;
}

// >>the rules

SPYI_FN const spyi_null_rule *spyi_null_rule_of(const spyi_work *work) {
    // The rules by spyi_work_number. Work of a kind without a rule is logged, and changes nothing.
    static const spyi_null_rule rules[SPYI_WORK_ROOM] = {
        { SPYI_NULL_DISPATCH, false, spyi_null_check_dispatch, NULL, spyi_null_dispatch_extra,
          spyi_null_describe_dispatch, spyi_null_run_dispatch },
        { SPYI_NULL_COPY, false, spyi_null_check_copy, NULL, NULL, spyi_null_describe_copy,
          spyi_null_run_copy },
        { SPYI_NULL_FILL, false, spyi_null_check_fill, NULL, NULL, spyi_null_describe_fill,
          spyi_null_run_fill },
        { SPYI_NULL_UPLOAD, false, spyi_null_check_upload, spyi_null_keep_upload, spyi_null_upload_extra,
          spyi_null_describe_upload, spyi_null_run_upload },
        { SPYI_NULL_LABEL, false, spyi_null_check_label, NULL, NULL, spyi_null_describe_label, NULL },
        { SPYI_NULL_OTHER, true, spyi_null_time_mark, NULL, NULL, NULL, NULL },
        { SPYI_NULL_UPLOAD, false, spyi_null_check_time_store, NULL, spyi_null_time_store_extra,
          spyi_null_describe_time_store, spyi_null_run_upload },
        { SPYI_NULL_COPY, false, spyi_null_check_image_bytes, NULL, NULL, spyi_null_describe_image_bytes,
          spyi_null_run_image_bytes },
        { SPYI_NULL_OTHER, false, spyi_null_check_image_copy, NULL, NULL, NULL, spyi_null_run_image_copy },
        { SPYI_NULL_OTHER, false, spyi_null_check_image_blit, NULL, NULL, NULL, spyi_null_run_image_blit },
        { SPYI_NULL_OTHER, false, spyi_null_check_image_clear, NULL, NULL, NULL, spyi_null_run_image_clear },
        { SPYI_NULL_DRAW, false, spyi_null_check_draw, NULL, spyi_null_draw_extra, spyi_null_describe_draw,
          spyi_null_run_draw },
    };
    return &rules[work->kind->number];
}
