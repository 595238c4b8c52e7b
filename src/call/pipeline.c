// Pipelines of draws: finds a pipeline by its code and state, or makes it. The two stages have been compiled
// separately; here they get one interface, in which the fragment stage's parameters come behind those of the
// vertex stage.
#include "call/raster.h"
#include "plan/cache.h"

#define SPYI_MOST_PIPELINES 64 // most pipelines that a raster keeps

// >>lifetime

static void spyi_pipeline_free(spy_device *device, spyi_pipeline *p) {
    if (p->kernel) device->backend->destroy_kernel(device->gpu, p->kernel);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++)
        if (p->plans[s]) spyi_plan_release(device, p->plans[s]);
    spyi_free(&device->ctx, p, sizeof *p);
}

static bool spyi_pipeline_is_finished(spy_device *device, const spyi_pipeline *p) {
    const spyi_resource *r = &p->head.resource;
    if (spyi_is_held(r, device->base->held_from)) return false;
    return r->use_submit == 0 || device->backend->finished_submit(device->gpu) >= r->use_submit;
}

SPYI_FN void spyi_pipelines_free_finished(spy_device *device) {
    for (spyi_pipeline **at = &device->waiting_pipelines; *at;) {
        spyi_pipeline *p = *at;
        if (!spyi_pipeline_is_finished(device, p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        spyi_pipeline_free(device, p);
    }
}

static void spyi_pipeline_unused(spy_device *device, spyi_resource *resource) {
    spyi_pipeline *p = (spyi_pipeline *)(void *)resource; // the storage is p's first member, and the resource
                                                          // is the storage's
    p->next = device->waiting_pipelines;
    device->waiting_pipelines = p;
    spyi_pipelines_free_finished(device);
}

static const spyi_resource_kind spyi_pipeline_resource = { "pipeline", spyi_pipeline_unused };

SPYI_FN void spyi_pipelines_drop(spy_raster *raster) {
    while (raster->pipelines) {
        spyi_pipeline *p = raster->pipelines;
        raster->pipelines = p->next;
        spyi_resource_release(raster->object.device, &p->head.resource);
    }
    raster->pipeline_count = 0;
}

// Drops pipelines of code that a reload has replaced, and the least recently used pipeline if there are too
// many.
static void spyi_pipelines_trim(spy_raster *raster) {
    for (spyi_pipeline **at = &raster->pipelines; *at;) {
        spyi_pipeline *p = *at;
        bool old = !p->next && raster->pipeline_count >= SPYI_MOST_PIPELINES;
        for (int s = 0; s < SPYI_RASTER_STAGES; s++)
            old =
                old || (p->plans[s] && p->plans[s]->generation != p->plans[s]->function->module->generation);
        if (!old) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        raster->pipeline_count--;
        spyi_resource_release(raster->object.device, &p->head.resource);
    }
}

// >>the interface of both stages

typedef struct spyi_merged {
    spyi_parameter parameters[SPYI_RASTER_STAGES * (SPYI_MOST_PARAMETERS + SPYI_MOST_UNIFORMS) + 2];
    uint32_t count;
    void *code[SPYI_RASTER_STAGES]; // copies of the stages' code, which is changed
} spyi_merged;

static const spyi_program *spyi_stage_program(const spyi_draw_stage *stage) {
    return stage->variant ? stage->variant->program : NULL;
}

static bool spyi_draw_has_handles(const spyi_drawing *d) {
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spyi_program *program = spyi_stage_program(&d->stages[s]);
        if (program && spyi_interface_has(&program->iface, SPYI_PARAMETER_HANDLES)) return true;
    }
    return false;
}

// Adds one stage's parameters that take bindings, or its uniform buffers, and numbers them from *next on.
static void spyi_merge_parameters(spyi_merged *m, const spyi_program *program, uint8_t stage, bool uniforms,
                                  uint32_t *next) {
    const spyi_interface *iface = &program->iface;
    for (uint32_t i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        if (uniforms ? p->kind != SPYI_PARAMETER_UNIFORM : !spyi_takes_bindings(p)) continue;
        m->parameters[m->count] = *p;
        m->parameters[m->count].stages = stage;
        m->parameters[m->count++].number = *next;
        *next += uniforms ? 1 : p->count;
    }
}

static spy_status spyi_check_merged(const spyi_drawing *d, const spyi_kernel_base *has, uint32_t block_size,
                                    spyi_text *error) {
    const spyi_profile *profile = &d->device->base->limits.profile;
    uint32_t bindings = has[0].binding_count + has[1].binding_count,
             uniforms = has[0].uniform_count + has[1].uniform_count;
    if (block_size > profile->max_block_bytes)
        spyi_text_add(
            error,
            "the uniform parameters of both functions have %u bytes, the device takes %u; move them "
            "into a ConstantBuffer",
            block_size, profile->max_block_bytes);
    else if (bindings + uniforms > profile->max_bindings || uniforms > profile->max_uniforms)
        spyi_text_add(
            error,
            "both functions have %u bindings and %u uniform buffers, the device takes %u, of them %u "
            "uniform buffers",
            bindings, uniforms, profile->max_bindings, profile->max_uniforms);
    else return SPY_OK;
    return SPY_ERROR_UNSUPPORTED;
}

// Fills the stages and the interface of the desc. m->code is freed by the caller.
static spy_status spyi_merge(const spyi_drawing *d, spyi_merged *m, spyi_pipeline *p, spyi_raster_desc *desc,
                             spyi_text *error) {
    static const uint8_t bits[SPYI_RASTER_STAGES] = { SPYI_STAGE_VERTEX, SPYI_STAGE_FRAGMENT };
    spyi_kernel_base has[SPYI_RASTER_STAGES];
    memset(has, 0, sizeof has);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spyi_program *program = spyi_stage_program(&d->stages[s]);
        if (!program) continue;
        has[s] = spyi_interface_counts(&program->iface);
        p->offsets[s] = has[s].block_size ? (uint32_t)spyi_align(p->block_size, 16) : 0;
        if (has[s].block_size) p->block_size = p->offsets[s] + has[s].block_size;
    }
    spy_status status = spyi_check_merged(d, has, p->block_size, error);
    if (status != SPY_OK) return status;
    uint32_t next = 0, bindings = has[0].binding_count + has[1].binding_count;
    for (int uniforms = 0; uniforms < 2; uniforms++)
        for (int s = 0; s < SPYI_RASTER_STAGES; s++)
            if (d->stages[s].variant)
                spyi_merge_parameters(m, spyi_stage_program(&d->stages[s]), bits[s], uniforms != 0, &next);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spyi_program *program = spyi_stage_program(&d->stages[s]);
        if (!program) continue;
        m->code[s] = spyi_malloc(program->code.size);
        if (!m->code[s]) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        memcpy(m->code[s], program->code.data, program->code.size);
        uint32_t before = s ? has[0].binding_count : 0, uniforms_before = s ? has[0].uniform_count : 0;
        spyi_code_move((uint32_t *)m->code[s], program->code.size / sizeof(uint32_t), p->offsets[s],
                       has[s].binding_count, before, bindings + uniforms_before - has[s].binding_count);
        desc->stages[s].code = m->code[s];
        desc->stages[s].code_size = program->code.size;
        desc->stages[s].entry = program->entry;
    }
    p->handles = spyi_draw_has_handles(d);
    if (p->handles) {
        spyi_parameter *handles = &m->parameters[m->count++];
        memset(handles, 0, sizeof *handles);
        handles->kind = SPYI_PARAMETER_HANDLES;
        handles->stages = SPYI_STAGE_VERTEX | SPYI_STAGE_FRAGMENT;
        handles->space = SPYI_HANDLE_SET;
    }
    if (p->block_size) {
        spyi_parameter *values = &m->parameters[m->count++];
        memset(values, 0, sizeof *values);
        values->kind = SPYI_PARAMETER_VALUES;
        values->stages = (uint8_t)((has[0].block_size ? SPYI_STAGE_VERTEX : 0) |
                                   (has[1].block_size ? SPYI_STAGE_FRAGMENT : 0));
        values->count = 1;
        values->place.holder = SPYI_HOLDER_BLOCK;
    }
    desc->iface.parameters = m->parameters;
    desc->iface.parameter_count = m->count;
    desc->iface.block_size = p->block_size;
    return SPY_OK;
}

static void spyi_copy_state(spyi_raster_state *to, const spyi_raster_state *from) {
    memset(to, 0, sizeof *to);
    memcpy(to, from, SPYI_RASTER_STATE_HEAD);
    memcpy(to->attributes, from->attributes, from->attribute_count * sizeof *to->attributes);
    memcpy(to->buffers, from->buffers, from->buffer_count * sizeof *to->buffers);
}

// Makes a pipeline. The driver may compile for long, so the device is left meanwhile; the plans stay.
static spy_status spyi_pipeline_make(spyi_drawing *d, spyi_pipeline **out, spyi_text *error) {
    spy_device *device = d->device;
    spyi_pipeline *p = (spyi_pipeline *)spyi_allocate(&device->ctx, sizeof *p);
    spyi_merged *m = (spyi_merged *)spyi_calloc(1, sizeof *m);
    spyi_raster_desc desc;
    spyi_text step = { NULL, 0, 0 };
    memset(&desc, 0, sizeof desc);
    desc.label = d->raster->label;
    spyi_copy_state(&desc.state, &d->state);
    spy_status status = p && m ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
    if (status == SPY_OK) status = spyi_merge(d, m, p, &desc, error);
    else spyi_text_add(error, "out of host memory");
    if (status == SPY_OK) {
        spyi_outside outside;
        spyi_text_add(&step, "pipeline %s", desc.label);
        spyi_step_out(device, &outside, d->raster->parts[SPYI_RASTER_VERTEX].function->module);
        spyi_step(&device->ctx, spyi_text_str(&step), false);
        status = device->backend->raster->load(device->gpu, &desc, &p->kernel, error);
        spyi_step(&device->ctx, spyi_text_str(&step), true);
        spyi_step_in(device, &outside);
    }
    for (int s = 0; s < SPYI_RASTER_STAGES && m; s++) free(m->code[s]);
    free(m);
    spyi_text_free(&step);
    if (status != SPY_OK) {
        if (p) spyi_free(&device->ctx, p, sizeof *p);
        return status;
    }
    p->head.resource.kind = &spyi_pipeline_resource;
    p->head.resource.references = 1;
    p->state = desc.state;
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        p->plans[s] = d->stages[s].plan;
        p->variants[s] = d->stages[s].variant;
        if (p->plans[s]) p->plans[s]->references++;
    }
    device->stats.kernels_built++;
    *out = p;
    return SPY_OK;
}

// >>finding, or else making

static bool spyi_same_state(const spyi_raster_state *a, const spyi_raster_state *b) {
    if (memcmp(a, b, SPYI_RASTER_STATE_HEAD) != 0) return false;
    return (!a->attribute_count ||
            memcmp(a->attributes, b->attributes, a->attribute_count * sizeof *a->attributes) == 0) &&
           (!a->buffer_count || memcmp(a->buffers, b->buffers, a->buffer_count * sizeof *a->buffers) == 0);
}

SPYI_FN spy_status spyi_pipeline_get(spyi_drawing *d, spyi_pipeline **pipeline, bool *left,
                                     spyi_text *error) {
    spy_raster *raster = d->raster;
    spyi_pipeline **at = &raster->pipelines, *found;
    while (*at && ((*at)->variants[0] != d->stages[0].variant || (*at)->variants[1] != d->stages[1].variant ||
                   !spyi_same_state(&(*at)->state, &d->state)))
        at = &(*at)->next;
    found = *at;
    if (!found) {
        spyi_pipelines_free_finished(d->device);
        spyi_pipelines_trim(raster);
        spy_status status = spyi_pipeline_make(d, &found, error);
        if (status != SPY_OK) return status;
        raster->pipeline_count++;
        *left = true;
    } else {
        *at = found->next;
    }
    found->next = raster->pipelines;
    raster->pipelines = found;
    *pipeline = found;
    return SPY_OK;
}
