// spy_draw: collects the data of the targets, the two stages and the vertices, finds the pipeline, and
// records the draw on the queue or in a command list. Each stage is bound and compiled as a dispatch of a
// shader is. That may leave the device, so that other threads can change things. Everything is then found
// again, and a draw is recorded only after a round that never left the device.
#include "call/raster.h"
#include "kinds/kinds.h"
#include "plan/cache.h"

static const uint8_t spyi_stage_bits[SPYI_RASTER_STAGES] = { SPYI_STAGE_VERTEX, SPYI_STAGE_FRAGMENT };

// >>arguments

static bool spyi_takes_argument(const spyi_raster_part *part, const char *name) {
    const spyi_signature *signature = part->function ? &part->function->overloads.items[0] : NULL;
    for (uint32_t p = 0; signature && p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS; p++)
        if (!part->stage.entry.systems[p] && strcmp(signature->params[p].name, name) == 0) return true;
    return false;
}

static void spyi_draw_names(const spyi_drawing *d, spyi_text *error) {
    bool any = false;
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spyi_raster_part *part = &d->raster->parts[s];
        const spyi_signature *signature = part->function ? &part->function->overloads.items[0] : NULL;
        for (uint32_t p = 0; signature && p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS; p++) {
            if (part->stage.entry.systems[p]) continue;
            spyi_text_add(error, "%s'%s' of %s", any ? ", " : "; there are ", signature->params[p].name,
                          part->function->name);
            any = true;
        }
    }
    const spyi_varyings *inputs = &d->raster->parts[SPYI_RASTER_VERTEX].stage.inputs;
    for (uint32_t i = 0; !d->raster->attribute_count && i < inputs->count; i++) {
        spyi_text_add(error, "%sattribute '%s'", any ? ", " : "; there are ", inputs->items[i].name);
        any = true;
    }
}

// Finds which stages and lists take an argument of this name.
static spy_status spyi_find_feeds(spyi_drawing *d, const char *name, uint8_t *feeds, spyi_text *error) {
    *feeds = 0;
    if (spyi_takes_argument(&d->raster->parts[0], name)) *feeds |= SPYI_FEEDS_VERTEX;
    if (spyi_takes_argument(&d->raster->parts[1], name)) *feeds |= SPYI_FEEDS_FRAGMENT;
    if (spyi_is_attribute(d->raster, name)) *feeds |= SPYI_FEEDS_ATTRIBUTE;
    if (!*feeds) {
        spyi_text_add(error, "'%s' is neither a uniform parameter nor an attribute", name);
        spyi_draw_names(d, error);
        return SPY_ERROR_NOT_FOUND;
    }
    if (!(*feeds & SPYI_FEEDS_ATTRIBUTE) || *feeds == SPYI_FEEDS_ATTRIBUTE) return SPY_OK;
    spyi_text_add(error, "'%s' is the name of a uniform parameter and of an attribute; rename one", name);
    return SPY_ERROR_AMBIGUOUS;
}

// Finds which stages and lists take each argument.
static spy_status spyi_draw_arguments(spyi_drawing *d, spyi_text *error) {
    spy_raster *r = d->raster;
    if (d->args.count && !d->args.items) {
        spyi_text_add(error, "expected arguments, got NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (d->args.count > SPYI_MOST_DRAW_ARGS) {
        spyi_text_add(error, "it has more than %d arguments", SPYI_MOST_DRAW_ARGS);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < d->args.count; i++) {
        const char *name = d->args.items[i].name;
        if (!name || !*name) {
            spyi_text_add(error, "argument %u has no name; arguments of a draw are given by name", i + 1);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        if (SPYI_LIKELY(i < r->fed_count && strcmp(r->fed[i].name, name) == 0)) {
            d->feeds[i] = r->fed[i].feeds;
            continue;
        }
        if (i < r->fed_count) r->fed_count = i;
        spyi_raster_forget(r);
        spy_status status = spyi_find_feeds(d, name, &d->feeds[i], error);
        if (status != SPY_OK) return status;
        size_t size = strlen(name) + 1;
        if (i != r->fed_count || i >= SPYI_MOST_FED || size > sizeof r->fed[i].name) continue;
        memcpy(r->fed[i].name, name, size);
        r->fed[i].feeds = d->feeds[i];
        r->fed_count = i + 1;
    }
    return SPY_OK;
}

// Fills `all` with an argument for each input and output of the stage, followed by the user's arguments for
// the stage.
static size_t spyi_stage_args(const spyi_drawing *d, int s, spy_arg *all) {
    const spyi_raster_part *part = &d->raster->parts[s];
    const spyi_signature *signature = &part->function->overloads.items[0];
    const uint8_t bit = s == SPYI_RASTER_VERTEX ? SPYI_FEEDS_VERTEX : SPYI_FEEDS_FRAGMENT;
    size_t count = 0;
    for (uint32_t p = 0; p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS; p++)
        if (part->stage.entry.systems[p])
            all[count++] =
                spyi_system_arg(signature->params[p].name, (spyi_system)part->stage.entry.systems[p]);
    for (size_t i = 0; i < d->args.count; i++)
        if (d->feeds[i] & bit) all[count++] = d->args.items[i];
    return count;
}

// >>stages

// Refuses a texture of the stage that is also a target of the draw. At this time d's values are those of the
// stage.
static spy_status spyi_check_feedback(const spyi_drawing *d, const spyi_variant *variant,
                                      const spyi_values *values, spyi_text *error) {
    spyi_use mine[SPYI_MOST_VALUE_USES];
    for (uint32_t i = 0; variant->resources && i < variant->access_count; i++) {
        const spyi_memory_access *access = &variant->accesses[i];
        if (!access->resource) continue;
        const spyi_value *v = &values->items[access->number];
        uint32_t count = access->resource->uses(v, access->reads, access->writes, mine);
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t t = 0; t < d->target_uses; t++) {
                const spyi_use *target = &d->raster->uses[t];
                if (target->resource != mine[k].resource || target->begin >= mine[k].end ||
                    mine[k].begin >= target->end)
                    continue;
                spyi_text_add(
                    error,
                    "'%s' lies in a texture that is a target of the same draw, so that it would be "
                    "read while it is written; draw into another texture, or another level or layer",
                    v->name ? v->name : "?");
                return SPY_ERROR_INVALID_ARGUMENT;
            }
    }
    return SPY_OK;
}

// Packs the stage's block, bindings and uniform buffers, and adds its uses.
static spy_status spyi_pack_stage(spyi_drawing *d, int s, spyi_run_state *run, spyi_variant *variant,
                                  spyi_text *error) {
    spyi_launch *launch = run->launch;
    spyi_draw_stage *stage = &d->stages[s];
    uint32_t size = variant->emitted.block_size, before = 0, uniforms_before = 0;
    if (s && d->stages[0].variant) {
        before = d->stages[0].variant->bound_inputs.binding_count;
        uniforms_before = d->stages[0].variant->bound_inputs.uniform_count;
    }
    if (launch->block_capacity < size) {
        uint8_t *block = (uint8_t *)spyi_realloc(launch->block, size + 64);
        if (!block) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        launch->block = block;
        launch->block_capacity = size;
    }
    spy_status status = spyi_pack_call(run->plan, run->values, variant, false, d->bindings + before, error);
    if (status == SPY_OK) status = spyi_check_feedback(d, variant, run->values, error);
    if (status != SPY_OK) return status;
    stage->variant = variant;
    stage->block = size ? launch->block : NULL;
    memcpy(d->uniforms + uniforms_before, variant->bound_inputs.uniforms,
           variant->bound_inputs.uniform_count * sizeof *d->uniforms);
    uint32_t count = spyi_collect_uses(run, variant, variant->uses);
    if (!spyi_raster_room(d, count, error)) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(d->raster->uses + d->use_count, variant->uses, count * sizeof *variant->uses);
    spyi_unite_uses(d->raster->uses, d->use_count, count); // both stages may have the same texture
    d->use_count += count;
    d->untracked = d->untracked || variant->untracked;
    return SPY_OK;
}

static void spyi_begin_stage(const spyi_drawing *d, spyi_plan *plan, const spyi_values *values,
                             spyi_run_state *run) {
    run->device = d->device; // the other members are for calls that make memory, which a draw does not
    run->plan = plan;
    run->bound = &plan->bound;
    run->values = values;
    run->sink = NULL;
    run->waits = run->left = run->timing = false;
    run->launch = plan->launch;
}

// Returns whether the options set nothing on which the binding or code of a stage depends.
static bool spyi_draw_is_plain(const spy_call_options *options) {
    spy_call_options plain;
    if (!options) return true;
    plain = *options;
    plain.append_to = NULL;
    return spyi_options_are_plain(&plain);
}

// Binds one stage, and compiles it if necessary. Sets *left when the device was left; the draw then starts
// again.
static spy_status spyi_draw_stage_of(spyi_drawing *d, int s, const spy_call_options *options, bool *left,
                                     spyi_text *error) {
    spyi_raster_part *part = &d->raster->parts[s];
    spy_arg all[SPYI_MOST_ENTRY_PARAMS + SPYI_MOST_DRAW_ARGS];
    spyi_values *values = d->device->cache->values;
    spyi_variant *variant = NULL;
    spyi_plan *plan = NULL;
    spyi_run_state run;
    spyi_threads threads;
    spy_args list;
    spy_status status;
    if (part->generation != part->function->module->generation) {
        *left = true;
        return spyi_raster_look(d->raster, s, error);
    }
    spyi_values repeated;
    if (spyi_draw_is_plain(options) && spyi_repeat_stage(d, s, &repeated)) {
        if (SPYI_LIKELY(d->stages[s].flat)) return SPY_OK;
        plan = d->stages[s].plan;
        variant = d->stages[s].variant;
        spyi_begin_stage(d, plan, &repeated, &run);
        status = spyi_call_shape(&plan->bound, &repeated, &plan->launch->shape, error);
        return status == SPY_OK ? spyi_pack_stage(d, s, &run, variant, error) : status;
    }
    memset(&threads, 0, sizeof threads);
    for (int i = 0; i < 3; i++) threads.count[i] = threads.group[i] = 1;
    threads.shader = true;
    threads.stage = spyi_stage_bits[s];
    list.items = all;
    list.count = spyi_stage_args(d, s, all);
    status = spyi_describe(part->function, list, options, &threads, values, error);
    if (status != SPY_OK) return status;
    uint32_t short_size = values->key_size;
    plan = spyi_cache_find(d->device, part->function, values);
    if (plan) d->device->stats.plan_hits++;
    if (!plan) {
        values->key_size = short_size; // removes sizes that the look-up may have added
        *left = true;
        status = spyi_plan_get(part->function, values, &plan, error);
        if (status != SPY_OK) return status;
    }
    d->stages[s].plan = plan;
    plan->references++;
    spyi_begin_stage(d, plan, values, &run);
    if (SPYI_LIKELY(plan->variant_count == 1)) { // this is usual for a stage, since it walks through no
                                                 // memory
        variant = plan->variants[0];
        status = spyi_call_shape(&plan->bound, values, &run.launch->shape, error);
    } else {
        status = spyi_choose(&run, &variant, error);
    }
    // a reload took place meanwhile
    if (status == SPY_ERROR_NOT_READY && !error->size) status = SPY_OK, *left = true;
    *left = *left || run.left;
    if (status != SPY_OK || *left) return status;
    status = spyi_pack_stage(d, s, &run, variant, error);
    if (status == SPY_OK && spyi_draw_is_plain(options)) spyi_learn_stage(d, s, values, (uint32_t)list.count);
    return status;
}

static void spyi_draw_stages_drop(spyi_drawing *d) {
    for (int s = 0; s < SPYI_RASTER_STAGES; s++)
        if (d->stages[s].plan) spyi_plan_release(d->device, d->stages[s].plan);
    memset(d->stages, 0, sizeof d->stages);
}

// >>the draw

// Refuses vertices that the stages write.
static spy_status spyi_check_written_vertices(const spyi_drawing *d, uint32_t first, spyi_text *error) {
    const spyi_use *uses = d->raster->uses;
    for (uint32_t i = first; i < d->use_count; i++)
        for (uint32_t k = d->target_uses; k < first; k++)
            if ((uses[k].how & SPYI_USE_WRITES) && uses[k].resource == uses[i].resource &&
                uses[k].begin < uses[i].end && uses[i].begin < uses[k].end) {
                spyi_text_add(error, "its functions write the memory of its own vertices, indices or counts; "
                                     "use another tensor");
                return SPY_ERROR_INVALID_ARGUMENT;
            }
    return SPY_OK;
}

// Copies the blocks of both stages into one block, one after the other. Sets *left when a value does not fit;
// the draw then starts again and reports it.
static spy_status spyi_draw_block(spyi_drawing *d, const spyi_pipeline *pipeline, bool *left,
                                  spyi_text *error) {
    spy_raster *r = d->raster;
    if (!pipeline->block_size) return SPY_OK;
    if (r->block_capacity < pipeline->block_size) {
        uint8_t *block = (uint8_t *)spyi_realloc(r->block, pipeline->block_size);
        if (!block) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        r->block = block;
        r->block_capacity = pipeline->block_size;
    }
    memset(r->block, 0, pipeline->block_size);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++) {
        const spyi_draw_stage *stage = &d->stages[s];
        uint8_t *block = r->block + pipeline->offsets[s];
        if (stage->flat && !spyi_pack_flat(stage->flat, d->args, block)) {
            spyi_raster_forget(r);
            *left = true;
            return SPY_OK;
        }
        if (stage->block) memcpy(block, stage->block, stage->variant->emitted.block_size);
    }
    d->work.block = r->block;
    return SPY_OK;
}

static spy_status spyi_draw_record(spyi_drawing *d, spyi_sink *sink, bool *left, spyi_text *error) {
    spyi_pipeline *pipeline = NULL;
    spy_status status = spyi_pipeline_get(d, &pipeline, left, error);
    if (status == SPY_OK && *left) return SPY_OK;
    if (status == SPY_OK) status = spyi_draw_block(d, pipeline, left, error);
    if (status == SPY_OK && *left) return SPY_OK;
    if (status == SPY_OK && !spyi_raster_room(d, 1, error)) status = SPY_ERROR_OUT_OF_MEMORY;
    if (status != SPY_OK) return status;
    if (pipeline->handles) { // a kernel with handles may use all textures that have handles, and memory that
                             // is no argument
        if (!spyi_raster_room(d, d->device->listed_count + 1, error)) return SPY_ERROR_OUT_OF_MEMORY;
        d->use_count = spyi_listed_uses(d->device, d->raster->uses, d->use_count);
        d->untracked = true;
    }
    d->raster->uses[d->use_count++] = spyi_use_of(&pipeline->head.resource, 0, 0, 0);
    d->work.work = spyi_work_of(spyi_work_draw());
    d->work.kernel = pipeline->kernel;
    d->work.bindings = d->bindings;
    d->work.uniforms = d->uniforms;
    d->work.stencil_reference = d->desc->stencil_reference;
    memcpy(d->work.blend_color, d->desc->blend_color, sizeof d->work.blend_color);
    if (sink)
        return sink->table->append_draw(sink, d->raster->label, &d->work.work, d->raster->uses, d->use_count,
                                        d->untracked, error);
    status = spyi_record_with(d->device, &d->work.work, d->raster->uses, d->use_count, d->untracked, error);
    for (int s = 0; s < SPYI_RASTER_STAGES && status == SPY_OK; s++)
        if (d->stages[s].plan) d->stages[s].plan->last_submit = d->device->last_submit;
    return status;
}

// The lists of `work` and `state` are empty, and their elements are not set.
static void spyi_draw_begin(spyi_drawing *d) {
    memset(&d->work, 0, SPYI_DRAW_WORK_HEAD);
    memcpy(&d->state, &d->raster->state, SPYI_RASTER_STATE_HEAD);
    d->use_count = d->target_uses = 0;
    d->untracked = false;
}

SPYI_FN spy_status spyi_draw_look(spyi_drawing *d, spyi_text *error) {
    spyi_draw_begin(d);
    spy_status status = spyi_draw_arguments(d, error);
    if (status == SPY_OK) status = spyi_draw_targets(d, error);
    if (status == SPY_OK) status = spyi_draw_vertices(d, error);
    return status;
}

// Does everything for the draw including its recording. Sets *left when the device was left, so that nothing
// was recorded.
static spy_status spyi_draw_once(spyi_drawing *d, const spy_call_options *options, spyi_sink *sink,
                                 bool *left, spyi_text *error) {
    spy_status status = SPY_OK;
    spyi_draw_begin(d);
    *left = false;
    if (sink) {
        if (!spyi_is_on(d->device, sink, SPYI_KIND_LIST)) {
            spyi_text_add(error, "its options: append_to: ");
            return spyi_object_problem(sink, SPYI_KIND_LIST, error);
        }
        status = sink->table->check_open(sink, error);
    }
    if (status == SPY_OK) status = spyi_draw_arguments(d, error);
    if (status == SPY_OK) status = spyi_draw_targets(d, error);
    for (int s = 0; s < SPYI_RASTER_STAGES && status == SPY_OK && !*left; s++) {
        if (!d->raster->parts[s].function) continue;
        size_t before = error->size;
        status = spyi_draw_stage_of(d, s, options, left, error);
        if (status == SPY_OK || error->size == before) continue;
        spyi_text named = { NULL, 0, 0 };
        spyi_text_add(&named, "%s: %s", d->raster->parts[s].function->name, spyi_text_str(error) + before);
        error->size = before;
        spyi_text_add(error, "%s", spyi_text_str(&named));
        spyi_text_free(&named);
    }
    if (status != SPY_OK || *left) return status;
    uint32_t first = d->use_count;
    status = spyi_draw_vertices(d, error);
    if (status == SPY_OK) status = spyi_check_written_vertices(d, first, error);
    if (status == SPY_OK) status = spyi_draw_record(d, sink, left, error);
    return status;
}

SPYI_FN const char *spyi_draw_problem(const spy_draw_desc *desc, const spy_call_options *o) {
    if (!desc) return "expected a spy_draw_desc, got NULL";
    if (SPYI_DESC_PROBLEM(spy_draw_desc, desc) != NULL) return SPYI_DESC_PROBLEM(spy_draw_desc, desc);
    if (SPYI_DESC_PROBLEM(spy_call_options, o) != NULL) return SPYI_DESC_PROBLEM(spy_call_options, o);
    if (!o) return NULL;
    if (o->mode) return "its options: mode: a draw computes no gradients";
    if (o->call_group_shape.rank || o->thread_count.rank || o->thread_group_size[0])
        return "its options: thread_group_size, call_group_shape and thread_count are for calls";
    if (o->store_gradients) return "its options: store_gradients is for calls";
    return NULL;
}

spy_status spy_draw(spy_raster *raster, const spy_draw_desc *desc, spy_args args,
                    const spy_call_options *options) {
    const char *name = "spy_draw";
    spy_status status = spyi_enter(raster, SPYI_KIND_RASTER, name);
    if (status != SPY_OK) return status;
    spy_device *device = raster->object.device;
    // the sink is the first member of a command list
    spyi_sink *sink = options ? (spyi_sink *)(void *)options->append_to : NULL;
    spyi_text error = { NULL, 0, 0 };
    const char *problem = spyi_draw_problem(desc, options);
    spyi_drawing d;
    d.raster = raster;
    d.device = device;
    d.desc = desc;
    d.args = args;
    memset(d.stages, 0, sizeof d.stages);
    if (problem) {
        spyi_text_add(&error, "%s", problem);
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_atomic_add(&raster->object.references, 1); // keeps the raster alive while the device is left
    for (bool left = true; left && status == SPY_OK;) {
        status = spyi_draw_once(&d, options, sink, &left, &error);
        spyi_draw_stages_drop(&d);
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, raster->label, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    spyi_object_release(&raster->object);
    return status;
}
