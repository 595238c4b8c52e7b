// A draw as a kind of work: copies it for later use, and lists its pointers.
#include "backend/raster.h"

static size_t spyi_keep_draw(const spyi_work *work, void *bytes) {
    spyi_draw_work kept = *(const spyi_draw_work *)(const void *)work;
    size_t used = sizeof kept;
    if (bytes) { // a copy has no bytes that were never set
        memset(kept.targets + kept.target_count, 0,
               (SPYI_MOST_TARGETS - kept.target_count) * sizeof *kept.targets);
        memset(kept.buffers + kept.buffer_count, 0,
               (SPYI_MOST_ATTRIBUTES - kept.buffer_count) * sizeof *kept.buffers);
    }
    spyi_keep_inputs(kept.kernel, &kept.block, &kept.bindings, &kept.uniforms, bytes, &used);
    if (bytes) memcpy(bytes, &kept, sizeof kept);
    return used;
}

static void spyi_visit_target(spyi_draw_target *target, const spyi_work_visitor *v) {
    if (!v->image) return;
    if (target->image) v->image(v->user, &target->image);
    if (target->view) v->image(v->user, &target->view);
    if (target->resolve) v->image(v->user, &target->resolve);
}

static void spyi_visit_draw_buffer(spyi_draw_buffer *buffer, const spyi_work_visitor *v) {
    if (buffer->handle) v->handle(v->user, &buffer->handle, &buffer->offset);
}

static void spyi_visit_draw(spyi_work *work, const spyi_work_visitor *v) {
    spyi_draw_work *d = (spyi_draw_work *)(void *)work;
    spyi_visit_inputs(v, &d->kernel, &d->block, &d->bindings, &d->uniforms);
    for (uint32_t i = 0; i < d->target_count; i++) spyi_visit_target(&d->targets[i], v);
    spyi_visit_target(&d->depth, v);
    for (uint32_t i = 0; i < d->buffer_count; i++) spyi_visit_draw_buffer(&d->buffers[i], v);
    spyi_visit_draw_buffer(&d->indices, v);
    spyi_visit_draw_buffer(&d->indirect, v);
}

SPYI_FN const spyi_work_kind *spyi_work_draw(void) {
    static const spyi_work_kind kind = { SPYI_WORK_DRAW, "draw", spyi_keep_draw, spyi_visit_draw };
    return &kind;
}
