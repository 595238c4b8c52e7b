// The null backend's pipelines and draws: it stores the descs of pipelines and logs draws. Clears of targets
// are executed; a test's function runs in place of the shaders.
#include "backend/null/internal.h"

// >>pipelines

static spy_status spyi_null_check_raster(spyi_null_gpu *n, const spyi_raster_desc *desc, spyi_text *error) {
    const spyi_raster_state *s = &desc->state;
    const spyi_kernel_base has = spyi_interface_counts(&desc->iface);
    const spyi_limits *limits = &n->base.limits;
    for (int i = 0; i < SPYI_RASTER_STAGES; i++)
        if (desc->stages[i].code ? !desc->stages[i].code_size || !desc->stages[i].entry
                                 : i == SPYI_RASTER_VERTEX)
            return spyi_null_broken(n, error, "load: there is no code or no entry of stage %d", i);
    if (s->topology == SPY_TOPOLOGY_DEFAULT || s->topology >= SPY_TOPOLOGY_COUNT || s->samples == 0 ||
        s->sample_mask == 0 || s->target_count > SPYI_MOST_TARGETS ||
        s->attribute_count > SPYI_MOST_ATTRIBUTES || s->buffer_count > SPYI_MOST_ATTRIBUTES)
        return spyi_null_broken(n, error, "load: the state of the pipeline \"%s\" has no meaning",
                                desc->label);
    for (uint32_t i = 0; i < s->attribute_count; i++)
        if (s->attributes[i].buffer >= s->buffer_count || !spyi_format(s->attributes[i].format))
            return spyi_null_broken(n, error, "load: attribute %u of the pipeline \"%s\"", i, desc->label);
    if (has.block_size > limits->profile.max_block_bytes ||
        has.binding_count + has.uniform_count > limits->profile.max_bindings ||
        has.uniform_count > limits->profile.max_uniforms)
        return spyi_null_broken(n, error, "load: the interface of the pipeline \"%s\" exceeds a limit",
                                desc->label);
    return spyi_null_check_parameters(n, &desc->iface, error);
}

SPYI_FN spy_status spyi_null_load_raster(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel,
                                         spyi_text *error) {
    spyi_null_gpu *n = spyi_null_cast(gpu);
    const spyi_interface *iface = &desc->iface;
    spy_status status = spyi_null_step_status(n, SPYI_NULL_STEP_KERNEL, error);
    *kernel = NULL;
    if (status == SPY_OK) status = spyi_null_check_raster(n, desc, error);
    if (status == SPY_OK && n->on_raster) status = n->on_raster(desc, n->on_kernel_data, error);
    if (status != SPY_OK) return status;
    spyi_null_kernel *k = (spyi_null_kernel *)spyi_calloc(1, sizeof *k);
    if (k) k->label = spyi_strdup(desc->label ? desc->label : "");
    if (k) k->parameters = (spyi_parameter *)spyi_calloc(iface->parameter_count + 1, sizeof *k->parameters);
    if (!k || !k->label || !k->parameters) {
        if (k) free(k->label), free(k->parameters);
        free(k);
        spyi_text_add(error, "no host memory for a pipeline");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    k->base = spyi_interface_counts(iface);
    k->draws = true;
    k->state = desc->state;
    k->iface = *iface;
    k->iface.parameters = k->parameters;
    if (iface->parameter_count)
        memcpy(k->parameters, iface->parameters, iface->parameter_count * sizeof *iface->parameters);
    spyi_mutex_lock(&n->lock);
    n->counts.kernels++;
    spyi_mutex_unlock(&n->lock);
    *kernel = (spyi_kernel *)(void *)k;
    return SPY_OK;
}

// >>draws

static const spyi_null_kernel *spyi_null_draw_kernel(const spyi_work *work) {
    return (const spyi_null_kernel *)(const void *)((const spyi_draw_work *)(const void *)work)->kernel;
}

static spy_status spyi_null_check_targets(spyi_null_gpu *n, const spyi_draw_work *d,
                                          const spyi_null_kernel *k, spyi_text *error) {
    spy_status status = SPY_OK;
    for (uint32_t i = 0; i <= d->target_count && status == SPY_OK; i++) {
        const spyi_draw_target *t = i < d->target_count ? &d->targets[i] : &d->depth;
        if (t->view) status = spyi_null_check_target(n, k->label, t->image, t->view, error);
        if (t->resolve && status == SPY_OK)
            status = spyi_null_check_target(n, k->label, 0, t->resolve, error);
    }
    return status;
}

SPYI_FN spy_status spyi_null_check_draw(spyi_null_gpu *n, const spyi_work *work, spyi_text *error) {
    const spyi_draw_work *d = (const spyi_draw_work *)(const void *)work;
    const spyi_null_kernel *k = spyi_null_draw_kernel(work);
    uint64_t bytes = (uint64_t)d->count * (d->short_indices ? 2 : 4);
    if (!k || !k->draws) return spyi_null_broken(n, error, "draw: the kernel is no pipeline of draws");
    if (d->target_count != k->state.target_count || d->buffer_count != k->state.buffer_count ||
        !d->depth.view != !k->state.depth_format)
        return spyi_null_broken(n, error, "draw of \"%s\": its targets or buffers are not the pipeline's",
                                k->label);
    for (uint32_t i = 0; i < d->target_count; i++)
        if (!d->targets[i].view != !k->state.target_formats[i])
            return spyi_null_broken(n, error, "draw of \"%s\": target %u", k->label, i);
    spy_status status = spyi_null_check_targets(n, d, k, error);
    if (status != SPY_OK) return status;
    bool some = d->count && d->instance_count;
    for (uint32_t i = 0; i < d->buffer_count && some; i++)
        if (!spyi_null_range(n, "draw: vertices", d->buffers[i].handle, d->buffers[i].offset, 1, error))
            return SPY_ERROR_INTERNAL;
    if (some && d->indices.handle && !d->indirect.handle &&
        !spyi_null_range(n, "draw: indices", d->indices.handle,
                         d->indices.offset + (uint64_t)d->first * (d->short_indices ? 2 : 4), bytes, error))
        return SPY_ERROR_INTERNAL;
    if (d->indirect.handle &&
        !spyi_null_range(n, "draw: counts", d->indirect.handle, d->indirect.offset,
                         (uint64_t)d->indirect_count * (d->indices.handle ? 20 : 16), error))
        return SPY_ERROR_INTERNAL;
    return spyi_null_check_inputs(n, "draw", k, d->block, d->bindings, d->uniforms, error);
}

SPYI_FN size_t spyi_null_draw_extra(const spyi_work *work) {
    return strlen(spyi_null_draw_kernel(work)->label) + 1;
}

SPYI_FN void spyi_null_describe_draw(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra) {
    const spyi_draw_work *d = (const spyi_draw_work *)(const void *)op->work;
    spyi_null_kernel *k = (spyi_null_kernel *)(void *)d->kernel;
    (void)work;
    op->kernel = k;
    op->block_size = k->base.block_size;
    op->block = d->block;
    op->binding_count = k->base.binding_count;
    op->bindings = d->bindings;
    op->iface = &k->iface;
    op->uniform_count = k->base.uniform_count;
    op->uniforms = d->uniforms;
    memcpy(extra, k->label, strlen(k->label) + 1); // the pipeline may be destroyed before a test reads the op
    op->label = (const char *)extra;
    (void)n;
}

SPYI_FN void spyi_null_run_draw(spyi_null_gpu *n, spyi_null_op *op) {
    if (n->func) n->func((spyi_gpu *)(void *)n, op, n->user_data);
    spyi_atomic_add(&op->kernel->pending, -1);
    op->kernel = NULL; // the pipeline may be destroyed from now on
}
