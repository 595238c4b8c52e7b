// The kinds of work that the library has, and functions that copy such work for later use.
#include "backend/work.h"

// Keeps work without pointers to data that must be kept with it.
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

// The bytes of the uniform buffers are copied one behind the other, each aligned to 16 bytes.
SPYI_FN void spyi_keep_inputs(const spyi_kernel *kernel, const void **block, const spyi_binding **bindings,
                              const spyi_uniform **uniforms, void *bytes, size_t *used) {
    const spyi_kernel_base *k = (const spyi_kernel_base *)(const void *)kernel;
    const spyi_uniform *from = *uniforms;
    *block = spyi_keep_bytes(*block, k->block_size, bytes, used);
    *bindings =
        (const spyi_binding *)spyi_keep_bytes(*bindings, k->binding_count * sizeof **bindings, bytes, used);
    spyi_uniform *kept = (spyi_uniform *)spyi_keep_bytes(from, k->uniform_count * sizeof *from, bytes, used);
    for (uint32_t i = 0; i < k->uniform_count; i++) {
        const void *data = spyi_keep_bytes(from[i].data, from[i].size, bytes, used);
        if (kept) kept[i].data = data;
    }
    *uniforms = kept;
}

SPYI_FN void spyi_visit_inputs(const spyi_work_visitor *v, spyi_kernel **kernel, const void **block,
                               const spyi_binding **given_bindings, const spyi_uniform **given_uniforms) {
    v->kernel(v->user, kernel);
    const spyi_kernel_base *k = (const spyi_kernel_base *)(const void *)*kernel;
    v->inside(v->user, block);
    v->inside(v->user, given_bindings);
    v->inside(v->user, given_uniforms);
    spyi_binding *bindings = (spyi_binding *)(uintptr_t)*given_bindings;
    spyi_uniform *uniforms = (spyi_uniform *)(uintptr_t)*given_uniforms;
    for (uint32_t i = 0; i < k->binding_count; i++) {
        spyi_binding *b = &bindings[i];
        if (b->kind == SPYI_BINDING_BUFFER) v->handle(v->user, &b->handle, &b->offset);
        else if (v->image) v->image(v->user, &b->handle);
        if (b->kind == SPYI_BINDING_COMBINED && v->image) v->image(v->user, &b->range);
    }
    for (uint32_t i = 0; i < k->uniform_count; i++) v->inside(v->user, &uniforms[i].data);
}

static size_t spyi_keep_dispatch(const spyi_work *work, void *bytes) {
    spyi_dispatch kept = *(const spyi_dispatch *)(const void *)work;
    size_t used = sizeof kept;
    spyi_keep_inputs(kept.kernel, &kept.block, &kept.bindings, &kept.uniforms, bytes, &used);
    if (bytes) memcpy(bytes, &kept, sizeof kept);
    return used;
}

static void spyi_visit_dispatch(spyi_work *work, const spyi_work_visitor *v) {
    spyi_dispatch *d = (spyi_dispatch *)(void *)work;
    spyi_visit_inputs(v, &d->kernel, &d->block, &d->bindings, &d->uniforms);
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

// Uploads cannot be kept, because their host data may change afterwards: a list copies from device memory
// instead.
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
