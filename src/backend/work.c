// The kinds of work that the library has, and how their pieces are kept.
#include "backend/work.h"

// Keeps work that points to nothing which must be kept with it.
static size_t spyi_keep_plain(const spyi_work *work, size_t size, void *bytes) {
    if (bytes) memcpy(bytes, work, size);
    return size;
}

// Copies `size` bytes to the next 16-byte boundary of `bytes` after *used, which then ends behind them.
// Returns the address of the copy; with `bytes` NULL only counts, and returns NULL.
static void *spyi_keep_bytes(const void *data, size_t size, void *bytes, size_t *used) {
    size_t at = spyi_align(*used, 16);
    void *place = bytes ? (char *)bytes + at : NULL;
    if (place && size) memcpy(place, data, size);
    *used = at + size;
    return place;
}

// >>dispatch

// The uniform buffers' bytes come one behind the other, each 16-byte aligned.
static size_t spyi_keep_dispatch(const spyi_work *work, void *bytes) {
    const spyi_dispatch *d = (const spyi_dispatch *)(const void *)work;
    const spyi_kernel_base *kernel = (const spyi_kernel_base *)(const void *)d->kernel;
    spyi_dispatch *kept = (spyi_dispatch *)bytes;
    size_t used = spyi_keep_plain(work, sizeof *d, bytes);
    const void *block = spyi_keep_bytes(d->block, kernel->block_size, bytes, &used);
    const void *bindings =
        spyi_keep_bytes(d->bindings, kernel->binding_count * sizeof *d->bindings, bytes, &used);
    spyi_uniform *uniforms = (spyi_uniform *)spyi_keep_bytes(
        d->uniforms, kernel->uniform_count * sizeof *d->uniforms, bytes, &used);
    for (uint32_t i = 0; i < kernel->uniform_count; i++) {
        const void *data = spyi_keep_bytes(d->uniforms[i].data, d->uniforms[i].size, bytes, &used);
        if (uniforms) uniforms[i].data = data;
    }
    if (kept) {
        kept->block = block;
        kept->bindings = (const spyi_binding *)bindings;
        kept->uniforms = uniforms;
    }
    return used;
}

// Visits the kernel first, as it has the numbers of bindings and uniform buffers.
static void spyi_visit_dispatch(spyi_work *work, const spyi_work_visitor *v) {
    spyi_dispatch *d = (spyi_dispatch *)(void *)work;
    v->kernel(v->user, &d->kernel);
    const spyi_kernel_base *kernel = (const spyi_kernel_base *)(const void *)d->kernel;
    v->inside(v->user, &d->block);
    v->inside(v->user, &d->bindings);
    v->inside(v->user, &d->uniforms);
    spyi_binding *bindings = (spyi_binding *)(uintptr_t)d->bindings;
    spyi_uniform *uniforms = (spyi_uniform *)(uintptr_t)d->uniforms;
    for (uint32_t i = 0; i < kernel->binding_count; i++) {
        spyi_binding *b = &bindings[i];
        if (b->kind == SPYI_BINDING_BUFFER) v->handle(v->user, &b->handle, &b->offset);
        else if (v->image) v->image(v->user, &b->handle);
        if (b->kind == SPYI_BINDING_COMBINED && v->image) v->image(v->user, &b->range);
    }
    for (uint32_t i = 0; i < kernel->uniform_count; i++) v->inside(v->user, &uniforms[i].data);
    if (d->indirect) v->handle(v->user, &d->indirect, &d->indirect_offset);
}

SPYI_FN const spyi_work_kind *spyi_work_dispatch(void) {
    static const spyi_work_kind kind = { SPYI_WORK_DISPATCH, "dispatch", spyi_keep_dispatch,
                                         spyi_visit_dispatch };
    return &kind;
}

// >>transfers

static size_t spyi_keep_copy(const spyi_work *work, void *bytes) {
    return spyi_keep_plain(work, sizeof(spyi_copy_work), bytes);
}

static void spyi_visit_copy(spyi_work *work, const spyi_work_visitor *v) {
    spyi_copy_work *copy = (spyi_copy_work *)(void *)work;
    v->memory(v->user, &copy->to, &copy->to_offset);
    v->memory(v->user, &copy->from, &copy->from_offset);
}

SPYI_FN const spyi_work_kind *spyi_work_copy(void) {
    static const spyi_work_kind kind = { SPYI_WORK_COPY, "copy", spyi_keep_copy, spyi_visit_copy };
    return &kind;
}

static size_t spyi_keep_fill(const spyi_work *work, void *bytes) {
    return spyi_keep_plain(work, sizeof(spyi_fill_work), bytes);
}

static void spyi_visit_fill(spyi_work *work, const spyi_work_visitor *v) {
    spyi_fill_work *fill = (spyi_fill_work *)(void *)work;
    v->memory(v->user, &fill->to, &fill->offset);
}

SPYI_FN const spyi_work_kind *spyi_work_fill(void) {
    static const spyi_work_kind kind = { SPYI_WORK_FILL, "fill", spyi_keep_fill, spyi_visit_fill };
    return &kind;
}

// Uploads cannot be kept, as host data are those of one moment: a list copies from device memory instead.
SPYI_FN const spyi_work_kind *spyi_work_upload(void) {
    static const spyi_work_kind kind = { SPYI_WORK_UPLOAD, "upload", NULL, NULL };
    return &kind;
}

// >>labels and timestamps

static size_t spyi_keep_label(const spyi_work *work, void *bytes) {
    const spyi_label_work *label = (const spyi_label_work *)(const void *)work;
    size_t used = spyi_keep_plain(work, sizeof *label, bytes);
    if (!label->name) return used;
    const void *name = spyi_keep_bytes(label->name, strlen(label->name) + 1, bytes, &used);
    if (bytes) ((spyi_label_work *)bytes)->name = (const char *)name;
    return used;
}

static void spyi_visit_label(spyi_work *work, const spyi_work_visitor *v) {
    v->inside(v->user, &((spyi_label_work *)(void *)work)->name);
}

SPYI_FN const spyi_work_kind *spyi_work_label(void) {
    static const spyi_work_kind kind = { SPYI_WORK_LABEL, "label", spyi_keep_label, spyi_visit_label };
    return &kind;
}

static size_t spyi_keep_time_mark(const spyi_work *work, void *bytes) {
    return spyi_keep_plain(work, sizeof(spyi_time_mark_work), bytes);
}

SPYI_FN const spyi_work_kind *spyi_work_time_mark(void) {
    static const spyi_work_kind kind = { SPYI_WORK_TIME_MARK, "timestamp", spyi_keep_time_mark, NULL };
    return &kind;
}

static size_t spyi_keep_time_store(const spyi_work *work, void *bytes) {
    return spyi_keep_plain(work, sizeof(spyi_time_store_work), bytes);
}

static void spyi_visit_time_store(spyi_work *work, const spyi_work_visitor *v) {
    spyi_time_store_work *store = (spyi_time_store_work *)(void *)work;
    v->memory(v->user, &store->to, &store->offset);
}

SPYI_FN const spyi_work_kind *spyi_work_time_store(void) {
    static const spyi_work_kind kind = { SPYI_WORK_TIME_STORE, "store of timestamps", spyi_keep_time_store,
                                         spyi_visit_time_store };
    return &kind;
}

// >>what a backend does not have

SPYI_FN spy_status spyi_work_unsupported(const struct spyi_backend *backend, const spyi_work *work,
                                         spyi_text *error) {
    spyi_text_add(error, "%s: the backend '%s' does not support it", work->kind->name, backend->name);
    return SPY_ERROR_UNSUPPORTED;
}
