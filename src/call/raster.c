// spy_create_raster and the lifetime of rasters.
#include "call/draw_gradient.h"
#include "plan/cache.h"
#include "plan/packs.h"

static const char *const spyi_stage_words[SPYI_RASTER_STAGES] = { "vertex", "fragment" };

// >>stages

// Returns whether the parameters that a stage's inputs and outputs belong to exist, because the description
// may come from a pack.
static bool spyi_raster_has_params(const spyi_varyings *list, const spy_function *function) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].param != UINT32_MAX &&
            list->items[i].param >= function->overloads.items[0].param_count)
            return false;
    return true;
}

// Reads the reflection of a stage's function.
static spy_status spyi_raster_reflect(spyi_raster_part *part, int s, spyi_stage *stage, spyi_text *error) {
    static const uint8_t bits[SPYI_RASTER_STAGES] = { SPYI_STAGE_VERTEX, SPYI_STAGE_FRAGMENT };
    static const char *const others[] = { NULL,           "vertex",   "hull",          "domain",
                                          "geometry",     "fragment", "compute",       "raygeneration",
                                          "intersection", "anyhit",   "closesthit",    "miss",
                                          "callable",     "mesh",     "amplification", "dispatch" };
    spy_function *function = part->function;
    spyi_outside outside;
    spyi_text problem = { NULL, 0, 0 };
    spyi_step_out(function->object.device, &outside, function->module); // may wait for the compiler
    bool good = spyi_unit_stage(function->module->unit, function->name, bits[s], stage, &problem);
    spyi_step_in(function->object.device, &outside);
    spy_status status = SPY_OK;
    if (!good) {
        spyi_text_add(error, "%s: %s: %s", spyi_stage_words[s], function->name, spyi_text_str(&problem));
        status = spyi_is_packed(function->object.device) ? SPY_ERROR_NO_COMPILER : SPY_ERROR_COMPILE;
    } else if (!stage->declared) {
        const char *other = others[stage->other];
        spyi_text_add(error, "%s: '%s' is not a [shader(\"%s\")] function", spyi_stage_words[s],
                      function->name, spyi_stage_words[s]);
        if (other) spyi_text_add(error, "; it is a [shader(\"%s\")] one", other);
        status = SPY_ERROR_TYPE_MISMATCH;
    } else if (function->overloads.count != 1) {
        spyi_text_add(error, "%s: '%s' has overloads; give the shader a name of its own", spyi_stage_words[s],
                      function->name);
        status = SPY_ERROR_AMBIGUOUS;
    } else if (!spyi_raster_has_params(&stage->inputs, function) ||
               !spyi_raster_has_params(&stage->outputs, function)) {
        spyi_text_add(error, "%s: '%s' has other parameters than its description", spyi_stage_words[s],
                      function->name);
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_text_free(&problem);
    return status;
}

SPYI_FN void spyi_raster_forget(spy_raster *raster) {
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        if (raster->again[s].plan) spyi_plan_release(raster->object.device, raster->again[s].plan);
        raster->again[s].plan = NULL;
    }
    memset(raster->checked_forms, 0, sizeof raster->checked_forms);
}

SPYI_FN spy_status spyi_raster_look(spy_raster *raster, int s, spyi_text *error) {
    spyi_raster_part *part = &raster->parts[s];
    spyi_stage stage;
    memset(&stage, 0, sizeof stage);
    uint32_t generation = part->function->module->generation;
    spyi_atomic_add(&raster->object.references, 1); // keeps the raster alive while the device is left
    spy_status status = spyi_raster_reflect(part, s, &stage, error);
    if (status != SPY_OK) {
        spyi_stage_free(&stage);
    } else {
        spyi_stage_free(&part->stage);
        part->stage = stage;
        part->generation = generation;
        raster->fed_count = 0;
        spyi_raster_forget(raster);
        status = spyi_raster_check_attributes(raster, error);
    }
    spyi_object_release(&raster->object);
    return status;
}

static const char *spyi_scalar_word(const spyi_type *type) {
    return spyi_dtype_is_float(type->scalar) ? "floats"
           : type->scalar == SPY_DTYPE_UINT8 || type->scalar == SPY_DTYPE_UINT16 ||
                   type->scalar == SPY_DTYPE_UINT32 || type->scalar == SPY_DTYPE_UINT64
               ? "unsigned integers"
               : "integers";
}

// Checks that the vertex function writes all inputs of the fragment function.
static spy_status spyi_check_varyings(const spy_raster *raster, spyi_text *error) {
    const spyi_varyings *from = &raster->parts[SPYI_RASTER_VERTEX].stage.outputs,
                        *to = &raster->parts[SPYI_RASTER_FRAGMENT].stage.inputs;
    for (uint32_t k = 0; k < from->count; k++) // the driver checks matrices and arrays, which take several
                                               // locations
        if (from->items[k].type->kind != SPYI_TYPE_SCALAR && from->items[k].type->kind != SPYI_TYPE_VECTOR)
            return SPY_OK;
    for (uint32_t i = 0; i < to->count; i++) {
        const spyi_varying *in = &to->items[i], *out = NULL;
        for (uint32_t k = 0; k < from->count && !out; k++)
            if (from->items[k].location == in->location) out = &from->items[k];
        if (out && strcmp(spyi_scalar_word(in->type), spyi_scalar_word(out->type)) == 0) continue;
        spyi_text_add(error,
                      "the fragment function '%s' takes '%s' (%s) at location %u, where the vertex "
                      "function '%s' ",
                      raster->parts[SPYI_RASTER_FRAGMENT].function->name, in->name, in->type->display,
                      in->location, raster->parts[SPYI_RASTER_VERTEX].function->name);
        if (out) spyi_text_add(error, "writes '%s' (%s)", out->name, out->type->display);
        else spyi_text_add(error, "writes nothing");
        spyi_text_add(error, "; locations count inputs and outputs in their order, without SV_ ones");
        return SPY_ERROR_TYPE_MISMATCH;
    }
    return SPY_OK;
}

// >>the desc

static const char *spyi_check_blend(const spy_blend *b) {
    if ((unsigned)b->color_source >= SPY_BLEND_FACTOR_COUNT ||
        (unsigned)b->color_target >= SPY_BLEND_FACTOR_COUNT ||
        (unsigned)b->alpha_source >= SPY_BLEND_FACTOR_COUNT ||
        (unsigned)b->alpha_target >= SPY_BLEND_FACTOR_COUNT)
        return "a factor of desc.blends is not one of spy_blend_factor";
    if ((unsigned)b->color_op >= SPY_BLEND_OP_COUNT || (unsigned)b->alpha_op >= SPY_BLEND_OP_COUNT)
        return "an operation of desc.blends is not one of spy_blend_op";
    return b->keep > 15 ? "desc.blends: keep has bits beyond 1, 2, 4 and 8" : NULL;
}

static const char *spyi_check_stencil(const spy_stencil *s) {
    if ((unsigned)s->fail >= SPY_STENCIL_OP_COUNT || (unsigned)s->depth_fail >= SPY_STENCIL_OP_COUNT ||
        (unsigned)s->pass >= SPY_STENCIL_OP_COUNT)
        return "a stencil operation is not one of spy_stencil_op";
    return (unsigned)s->compare > SPY_COMPARE_ALWAYS ? "a stencil comparison is not one of spy_compare"
                                                     : NULL;
}

static const char *spyi_raster_problem(const spy_raster_desc *d) {
    const char *problem = NULL;
    if (!d) return "expected a desc, got NULL";
    if (SPYI_DESC_PROBLEM(spy_raster_desc, d) != NULL) return SPYI_DESC_PROBLEM(spy_raster_desc, d);
    if ((unsigned)d->topology >= SPY_TOPOLOGY_COUNT) return "desc.topology is not one of spy_topology";
    if ((unsigned)d->cull > SPY_CULL_BACK) return "desc.cull is not one of spy_cull";
    if ((unsigned)d->depth_compare > SPY_COMPARE_ALWAYS)
        return "desc.depth_compare is not one of spy_compare";
    for (int i = 0; i < SPY_MOST_TARGETS && !problem; i++) problem = spyi_check_blend(&d->blends[i]);
    if (!problem) problem = spyi_check_stencil(&d->stencil_front);
    if (!problem) problem = spyi_check_stencil(&d->stencil_back);
    if (problem) return problem;
    if ((d->stencil_read_mask | d->stencil_write_mask) > 255) return "a stencil mask has more than 8 bits";
    if (d->attribute_count && !d->attributes) return "attribute_count is given, but attributes is NULL";
    if (d->layout_count && !d->layouts) return "layout_count is given, but layouts is NULL";
    if (d->attribute_count > 4096) return "it has more than 4096 attributes";
    if (d->layout_count > SPY_MOST_VERTEX_BUFFERS) return "it has more than SPY_MOST_VERTEX_BUFFERS layouts";
    if (d->instance_attribute_count && !d->instance_attributes)
        return "instance_attribute_count is given, but instance_attributes is NULL";
    for (size_t i = 0; i < d->attribute_count; i++) {
        if (!d->attributes[i].name || !*d->attributes[i].name) return "an attribute has no name";
        if (d->attributes[i].buffer >= d->layout_count) return "an attribute's buffer is none of the layouts";
    }
    for (size_t i = 0; i < d->instance_attribute_count; i++)
        if (!d->instance_attributes[i]) return "a name in instance_attributes is NULL";
    return NULL;
}

static void spyi_stencil_state(const spy_stencil *from, uint8_t to[4]) {
    to[0] = (uint8_t)from->fail;
    to[1] = (uint8_t)from->depth_fail;
    to[2] = (uint8_t)from->pass;
    to[3] = (uint8_t)(from->compare ? from->compare : SPY_COMPARE_ALWAYS);
}

// Replaces a default blend factor by `factor`.
static uint8_t spyi_factor(spy_blend_factor given, spy_blend_factor factor) {
    return (uint8_t)(given ? given : factor);
}

static void spyi_raster_fix_state(spy_raster *r, const spy_raster_desc *d) {
    spyi_raster_state *s = &r->state;
    s->topology = (uint8_t)(d->topology ? d->topology : SPY_TOPOLOGY_TRIANGLE_LIST);
    s->cull = (uint8_t)d->cull;
    s->clockwise_is_front = d->clockwise_is_front;
    s->wireframe = d->wireframe;
    s->depth_compare = (uint8_t)d->depth_compare;
    s->depth_write = d->depth_compare && !d->depth_read_only;
    s->depth_clamped = d->depth_clamped;
    s->stencil_enabled = d->stencil_enabled;
    if (d->stencil_enabled) {
        s->stencil_read_mask = (uint8_t)(d->stencil_read_mask ? d->stencil_read_mask : 255);
        s->stencil_write_mask = (uint8_t)(d->stencil_write_mask ? d->stencil_write_mask : 255);
    }
    spyi_stencil_state(&d->stencil_front, s->stencil[0]);
    spyi_stencil_state(&d->stencil_back, s->stencil[1]);
    s->samples = 1;
    s->alpha_to_coverage = d->alpha_to_coverage;
    s->depth_bias = d->depth_bias;
    s->depth_bias_slope = d->depth_bias_slope;
    s->depth_bias_clamp = d->depth_bias_clamp;
    s->sample_mask = d->sample_mask ? d->sample_mask : UINT32_MAX;
    for (int i = 0; i < SPY_MOST_TARGETS; i++) {
        const spy_blend *b = &d->blends[i];
        spyi_raster_blend *to = &r->blends[i];
        to->enabled = b->enabled;
        to->color_from = spyi_factor(b->color_source, SPY_BLEND_FACTOR_ONE);
        to->color_to = spyi_factor(b->color_target, SPY_BLEND_FACTOR_ZERO);
        to->color_op = (uint8_t)(b->color_op ? b->color_op : SPY_BLEND_OP_ADD);
        to->alpha_from = spyi_factor(b->alpha_source, SPY_BLEND_FACTOR_ONE);
        to->alpha_to = spyi_factor(b->alpha_target, SPY_BLEND_FACTOR_ZERO);
        to->alpha_op = (uint8_t)(b->alpha_op ? b->alpha_op : SPY_BLEND_OP_ADD);
        to->keeps = (uint8_t)b->keep;
    }
}

// Copies the desc's lists. Returns false when out of memory.
static bool spyi_raster_copy_lists(spy_raster *r, const spy_raster_desc *d) {
    r->attributes = (spy_vertex_attribute *)spyi_calloc(d->attribute_count + 1, sizeof *r->attributes);
    r->instance_attributes =
        (char **)spyi_calloc(d->instance_attribute_count + 1, sizeof *r->instance_attributes);
    if (!r->attributes || !r->instance_attributes) return false;
    for (; r->attribute_count < d->attribute_count; r->attribute_count++) {
        spy_vertex_attribute *a = &r->attributes[r->attribute_count];
        *a = d->attributes[r->attribute_count];
        a->name = spyi_strdup(a->name);
        if (!a->name) return false;
    }
    for (; r->instance_attribute_count < d->instance_attribute_count; r->instance_attribute_count++) {
        char *name = spyi_strdup(d->instance_attributes[r->instance_attribute_count]);
        if (!name) return false;
        r->instance_attributes[r->instance_attribute_count] = name;
    }
    for (size_t i = 0; i < d->layout_count; i++) {
        r->layouts[i].stride = d->layouts[i].stride_bytes;
        r->layouts[i].per_instance = d->layouts[i].per_instances;
    }
    r->layout_count = (uint32_t)d->layout_count;
    return true;
}

// >>lifetime

static void spyi_raster_clear(spy_raster *r) {
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        spyi_stage_free(&r->parts[s].stage);
        if (r->parts[s].function) spyi_module_drop(r->parts[s].function->module);
    }
    for (uint32_t i = 0; i < r->attribute_count; i++) free((char *)(uintptr_t)r->attributes[i].name);
    for (uint32_t i = 0; i < r->instance_attribute_count; i++) free(r->instance_attributes[i]);
    free(r->attributes);
    free(r->instance_attributes);
    free(r->label);
    free(r->uses);
    free(r->block);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) free(r->again[s].items);
}

static void spyi_raster_drop(spy_raster *r) {
    spy_device *device = r->object.device;
    if (r->previous) r->previous->next = r->next;
    else device->rasters = r->next;
    if (r->next) r->next->previous = r->previous;
    spyi_raster_forget(r);
    spyi_draw_gradients_drop(r);
    if (r->ids) spyi_object_release(&r->ids->object);
    if (r->id_target) spyi_object_release(&r->id_target->object);
    if (r->id_depth) spyi_object_release(&r->id_depth->object);
    spyi_pipelines_drop(r);
    spyi_raster_clear(r);
    spyi_retire_object(device, &r->object, sizeof *r);
}

static void spyi_raster_released(spyi_object *object) {
    spyi_raster_drop((spy_raster *)(void *)object);
}

SPYI_FN void spyi_rasters_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_raster_released, NULL };
    device->ctx.tables[SPYI_KIND_RASTER - SPYI_KIND_DEVICE] = &table;
    device->free_pipelines = spyi_pipelines_free_finished;
}

// Frees all rasters. The device has waited for all work before, or is lost.
SPYI_FN void spyi_rasters_free_all(spy_device *device) {
    // The modules are released in any order, so the rasters must not use them.
    for (spy_raster *r = device->rasters; r; r = r->next) r->ids = NULL;
    while (device->rasters) spyi_raster_drop(device->rasters);
    for (spyi_pipeline *p = device->waiting_pipelines; p; p = p->next)
        p->head.resource.use_submit = p->head.resource.held_submit = 0;
    spyi_pipelines_free_finished(device);
}

SPYI_FN bool spyi_raster_room(spyi_drawing *d, uint32_t count, spyi_text *error) {
    spy_raster *r = d->raster;
    if (SPYI_LIKELY(d->use_count + count <= r->use_capacity)) return true;
    uint32_t capacity = 2 * (d->use_count + count);
    spyi_use *uses = (spyi_use *)spyi_realloc(r->uses, capacity * sizeof *uses);
    if (!uses) {
        spyi_text_add(error, "out of host memory");
        return false;
    }
    r->uses = uses;
    r->use_capacity = capacity;
    return true;
}

// >>creation

static char *spyi_raster_label(const spy_raster_desc *d) {
    spyi_text text = { NULL, 0, 0 };
    if (d->label && *d->label) return spyi_strdup(d->label);
    spyi_text_add(&text, "%s", d->vertex->name);
    if (d->fragment) spyi_text_add(&text, " and %s", d->fragment->name);
    char *label = spyi_strdup(spyi_text_str(&text));
    spyi_text_free(&text);
    return label;
}

static spy_status spyi_raster_check(spy_device *device, const spy_raster_desc *d, spyi_text *error) {
    const char *problem = spyi_raster_problem(d);
    if (problem) {
        spyi_text_add(error, "%s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spy_function *function = s == SPYI_RASTER_VERTEX ? d->vertex : d->fragment;
        if ((s == SPYI_RASTER_FRAGMENT && !function) || spyi_is_on(device, function, SPYI_KIND_FUNCTION))
            continue;
        spyi_text_add(error, "desc.%s: ", spyi_stage_words[s]);
        return spyi_object_problem(function, SPYI_KIND_FUNCTION, error);
    }
    if (device->backend->raster) return SPY_OK;
    spyi_text_add(error, "raster is on Vulkan; the device '%s' is of the backend '%s'",
                  device->base->limits.info.name, device->backend->name);
    return SPY_ERROR_UNSUPPORTED;
}

static spy_raster *spyi_raster_make(spy_device *device, const spy_raster_desc *d, spy_status *status,
                                    spyi_text *error) {
    *status = spyi_raster_check(device, d, error);
    if (*status != SPY_OK) return NULL;
    spy_raster *r = (spy_raster *)spyi_allocate(&device->ctx, sizeof *r);
    if (!r) {
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    r->object.kind = (uint32_t)SPYI_KIND_RASTER;
    r->object.device = device;
    spyi_atomic_store(&r->object.references, 1);
    r->next = device->rasters; // added before the device is left, so that the device's release finds the
                               // raster
    if (r->next) r->next->previous = r;
    device->rasters = r;
    r->label = spyi_raster_label(d);
    spyi_raster_fix_state(r, d);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        spy_function *function = s == SPYI_RASTER_VERTEX ? d->vertex : d->fragment;
        if (!function) continue;
        r->parts[s].function = function;
        spyi_atomic_add(&function->module->object.references, 1);
    }
    if (!r->label || !spyi_raster_copy_lists(r, d)) {
        spyi_text_add(error, "out of host memory");
        *status = SPY_ERROR_OUT_OF_MEMORY;
    }
    for (int s = 0; s < SPYI_RASTER_STAGES && *status == SPY_OK; s++) {
        spyi_raster_part *part = &r->parts[s];
        if (!part->function) continue;
        part->generation = part->function->module->generation;
        *status = spyi_raster_reflect(part, s, &part->stage, error);
    }
    if (*status == SPY_OK) *status = spyi_check_varyings(r, error);
    if (*status == SPY_OK) *status = spyi_raster_check_attributes(r, error);
    if (*status == SPY_OK) return r;
    spyi_raster_drop(r);
    return NULL;
}

spy_raster *spy_create_raster(spy_device *device, const spy_raster_desc *desc) {
    const char *name = "spy_create_raster";
    if (spyi_enter(device, SPYI_KIND_DEVICE, name) != SPY_OK) return NULL;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spy_raster *raster = spyi_raster_make(device, desc, &status, &error);
    if (!raster) spyi_fail_text(device, status, name, &error);
    spyi_text_free(&error);
    spyi_leave(device);
    return raster;
}

uint32_t spy_raster_outputs(spy_raster *raster) {
    if (spyi_enter(raster, SPYI_KIND_RASTER, "spy_raster_outputs") != SPY_OK) return 0;
    const spyi_varyings *outputs = &raster->parts[SPYI_RASTER_FRAGMENT].stage.outputs;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < outputs->count; i++)
        if (outputs->items[i].location < SPY_MOST_TARGETS) bits |= 1u << outputs->items[i].location;
    spyi_leave(raster->object.device);
    return bits;
}

void spy_retain_raster(spy_raster *raster) {
    spyi_object_retain(raster, SPYI_KIND_RASTER, "spy_retain_raster");
}

void spy_release_raster(spy_raster *raster) {
    if (!raster) return;
    if (spyi_as(raster, SPYI_KIND_RASTER)) spyi_object_release(&raster->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_raster: the raster has been released already");
}
