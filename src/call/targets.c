// The targets of a draw: checks formats, uses and sizes against each other and against the results of the
// fragment function. Also fills the members of the work, of the pipeline's state and of the uses that depend
// on them.
#include "call/raster.h"

#define SPYI_TARGET_HOW (SPYI_USE_ATTACHMENT | SPYI_USE_READS | SPYI_USE_WRITES)

static void spyi_target_name(uint32_t i, const char *member, spyi_text *out) {
    if (i == SPYI_MOST_TARGETS) spyi_text_add(out, "draw.depth.%s", member);
    else spyi_text_add(out, "draw.targets[%u].%s", i, member);
}

static spy_status spyi_bad_target(uint32_t i, const char *member, const spy_texture *t, const char *what,
                                  spyi_text *error) {
    spyi_target_name(i, member, error);
    spyi_text_add(error, ": ");
    if (t) spyi_texture_text(t, error);
    spyi_text_add(error, "%s", what);
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Checks whether the texture may be this target at all.
static spy_status spyi_check_target(uint32_t i, const char *member, const spy_texture *t, spyi_text *error) {
    const uint32_t usage =
        i == SPYI_MOST_TARGETS ? SPY_TEXTURE_USAGE_DEPTH_TARGET : SPY_TEXTURE_USAGE_COLOR_TARGET;
    const spy_format_info *format = spyi_format(t->part.format);
    if (i == SPYI_MOST_TARGETS && !format->has_depth)
        return spyi_bad_target(i, member, t, " has no depth; take d32_float or d16_unorm", error);
    if (i != SPYI_MOST_TARGETS && format->has_depth)
        return spyi_bad_target(i, member, t, " has depth, not colours; it belongs to draw.depth", error);
    if (t->part.type == SPY_TEXTURE_TYPE_1D || t->part.type == SPY_TEXTURE_TYPE_3D)
        return spyi_bad_target(i, member, t, ": expected a 2-D texture or a cube", error);
    if (!(t->image->desc.usage & usage))
        return spyi_bad_target(i, member, t,
                               i == SPYI_MOST_TARGETS ? " was created without SPY_TEXTURE_USAGE_DEPTH_TARGET"
                                                      : " was created without SPY_TEXTURE_USAGE_COLOR_TARGET",
                               error);
    return SPY_OK;
}

// Returns a number for the properties of a texture that the checks of a target read, except for its size.
// Never 0.
static uint32_t spyi_target_form(const spy_texture *t) {
    const uint32_t uses = SPY_TEXTURE_USAGE_DEPTH_TARGET | SPY_TEXTURE_USAGE_COLOR_TARGET;
    uint32_t form = 1u + (uint32_t)t->part.type;
    SPYI_ASSERT(t->image->desc.samples < 256);
    form |= (uint32_t)t->part.format << 8 | t->image->desc.samples << 16;
    return form | ((t->image->desc.usage & uses) == uses                   ? 3u << 24
                   : t->image->desc.usage & SPY_TEXTURE_USAGE_COLOR_TARGET ? 1u << 24
                                                                           : 2u << 24);
}

// Makes the checks of each single target, notes its use, and gives its view. `i` is SPYI_MOST_TARGETS for the
// depth target. *checked: an equal texture has passed all checks that do not depend on the other targets.
static spy_status spyi_draw_one_target(spyi_drawing *d, uint32_t i, const char *member, spy_texture *t,
                                       uint64_t *view, bool *checked, spyi_text *error) {
    *checked = false;
    if (!spyi_is_on(d->device, t, SPYI_KIND_TEXTURE)) {
        spyi_target_name(i, member, error);
        spyi_text_add(error, ": ");
        return spyi_object_problem(t, SPYI_KIND_TEXTURE, error);
    }
    *checked = t->target_form && t->target_form == d->raster->checked_forms[i];
    if (!*checked) {
        spy_status status = spyi_check_target(i, member, t, error);
        if (status != SPY_OK) return status;
        t->target_form = spyi_target_form(t);
    }
    spyi_draw_work *w = &d->work;
    uint32_t layers = t->part.layer_count;
    if (!w->width) {
        w->width = t->width;
        w->height = t->height;
        w->layers = layers;
    } else if (w->width != t->width || w->height != t->height || w->layers != layers) {
        spyi_bad_target(i, member, t, "", error);
        spyi_text_add(error, " has %u layers; the targets before it have %u x %u texels and %u layers",
                      layers, w->width, w->height, w->layers);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    uint32_t failed = spyi_failed_allocations();
    *view = spyi_texture_target_view(t, error);
    if (!*view) return spyi_check_allocations(failed, SPY_ERROR_UNSUPPORTED, error);
    spyi_use *use = &d->raster->uses[d->use_count];
    uint32_t count = spyi_texture_level_uses(t, 0, SPYI_TARGET_HOW, use);
    for (uint32_t k = 0; k < d->use_count; k++)
        if (d->raster->uses[k].resource == use->resource && d->raster->uses[k].begin < use->end &&
            use->begin < d->raster->uses[k].end)
            return spyi_bad_target(i, member, t, " is a target of the same draw twice", error);
    d->use_count += count;
    return SPY_OK;
}

static spy_status spyi_check_samples(spyi_drawing *d, uint32_t i, const spy_texture *t, bool *first,
                                     spyi_text *error) {
    uint32_t samples = t->image->desc.samples;
    if (*first) d->state.samples = (uint8_t)samples;
    *first = false;
    if (d->state.samples == samples) return SPY_OK;
    spyi_bad_target(i, "texture", t, "", error);
    spyi_text_add(error, " has %u samples; the targets before it have %u", samples, d->state.samples);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// Returns the class of numbers of a type: 0 floats, 1 integers, 2 unsigned integers.
static int spyi_number_class(spy_dtype scalar) {
    switch (scalar) {
    case SPY_DTYPE_FLOAT16:
    case SPY_DTYPE_FLOAT32:
    case SPY_DTYPE_FLOAT64: return 0;
    case SPY_DTYPE_UINT8:
    case SPY_DTYPE_UINT16:
    case SPY_DTYPE_UINT32:
    case SPY_DTYPE_UINT64: return 2;
    default: return 1;
    }
}

// Checks the fragment function's output for a colour target.
static spy_status spyi_check_output_for(const spyi_drawing *d, uint32_t i, const spy_texture *t,
                                        spyi_text *error) {
    const spyi_raster_part *part = &d->raster->parts[SPYI_RASTER_FRAGMENT];
    const spy_format_info *format = spyi_format(t->part.format);
    const spyi_varying *out = NULL;
    for (uint32_t k = 0; k < part->stage.outputs.count; k++)
        if (part->stage.outputs.items[k].location == i) out = &part->stage.outputs.items[k];
    if (!out && d->desc->draw_nothing) return SPY_OK; // the draw only clears the target
    if (d->raster->blends[i].keeps == 15) return SPY_OK;
    if (!out) {
        spyi_bad_target(i, "texture", t, "", error);
        if (!part->function) spyi_text_add(error, ": the raster has no fragment function that writes it");
        else
            spyi_text_add(error, ": the fragment function '%s' has no output SV_Target%u",
                          part->function->name, i);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (format->is_integer == (spyi_number_class(out->type->scalar) != 0) &&
        (!format->is_integer || spyi_number_class(format->dtype) == spyi_number_class(out->type->scalar)))
        return SPY_OK;
    spyi_bad_target(i, "texture", t, "", error);
    spyi_text_add(error, " takes %s, and the fragment function '%s' returns %s",
                  !format->is_integer ? "floats"
                  : format->is_signed ? "integers"
                                      : "unsigned integers",
                  part->function->name, out->type->display);
    return SPY_ERROR_TYPE_MISMATCH;
}

static spy_status spyi_check_blending(const spyi_drawing *d, uint32_t i, const spy_texture *t,
                                      spyi_text *error) {
    if (!d->raster->blends[i].enabled) return SPY_OK;
    if (d->device->backend->images->support(d->device->gpu, t->part.format) & SPY_TEXTURE_USAGE_BLENDED)
        return SPY_OK;
    (void)spyi_bad_target(i, "texture", t, " is of a format that the device does not blend", error);
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_draw_resolve(spyi_drawing *d, uint32_t i, const spy_texture *from, spy_texture *to,
                                    spyi_text *error) {
    bool checked;
    spy_status status =
        spyi_draw_one_target(d, i, "resolve", to, &d->work.targets[i].resolve, &checked, error);
    if (status != SPY_OK) return status;
    if (from->image->desc.samples == 1)
        return spyi_bad_target(i, "resolve", to,
                               ": its target has one sample for each texel, so there is "
                               "nothing to average",
                               error);
    if (to->image->desc.samples > 1)
        return spyi_bad_target(i, "resolve", to, " has several samples itself", error);
    if (to->part.format != from->part.format)
        return spyi_bad_target(i, "resolve", to, " is not of the target's format", error);
    return SPY_OK;
}

static spy_status spyi_draw_color(spyi_drawing *d, uint32_t i, bool *first, spyi_text *error) {
    const spy_draw_target *target = &d->desc->targets[i];
    spyi_draw_target *to = &d->work.targets[i];
    bool checked;
    memset(to, 0, sizeof *to);
    if ((unsigned)target->load > SPY_LOAD_IGNORE)
        return spyi_bad_target(i, "load", NULL, "it is not one of spy_load", error);
    if (!target->texture) {
        if (!target->resolve) return SPY_OK;
        return spyi_bad_target(i, "resolve", NULL, "there is no target whose samples it gets", error);
    }
    spy_status status = spyi_draw_one_target(d, i, "texture", target->texture, &to->view, &checked, error);
    if (status == SPY_OK) status = spyi_check_samples(d, i, target->texture, first, error);
    if (status == SPY_OK && !checked) {
        status = spyi_check_output_for(d, i, target->texture, error);
        if (status == SPY_OK) status = spyi_check_blending(d, i, target->texture, error);
        if (status == SPY_OK && !d->desc->draw_nothing) // otherwise the output may be missing
            d->raster->checked_forms[i] = target->texture->target_form;
    }
    if (status != SPY_OK) return status;
    to->image = target->texture->image->image.handle;
    to->clear = target->load == SPY_LOAD_CLEAR;
    to->ignore = target->load == SPY_LOAD_IGNORE;
    to->color = target->clear;
    d->state.target_formats[i] = target->texture->part.format;
    d->state.blends[i] = d->raster->blends[i];
    return target->resolve ? spyi_draw_resolve(d, i, target->texture, target->resolve, error) : SPY_OK;
}

static spy_status spyi_draw_depth_target(spyi_drawing *d, bool *first, spyi_text *error) {
    const spy_draw_depth *depth = &d->desc->depth;
    const uint32_t i = SPYI_MOST_TARGETS;
    spyi_draw_target *to = &d->work.depth;
    spyi_raster_state *s = &d->state;
    if ((unsigned)depth->load > SPY_LOAD_IGNORE || (unsigned)depth->stencil_load > SPY_LOAD_IGNORE)
        return spyi_bad_target(i, "load", NULL, "it is not one of spy_load", error);
    if (!depth->texture) {
        if (!s->depth_compare && !s->stencil_enabled) return SPY_OK;
        spyi_text_add(error, "draw.depth.texture is NULL, and the raster's %s needs a depth target",
                      s->depth_compare ? "depth_compare" : "stencil_enabled");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    bool checked;
    spy_status status = spyi_draw_one_target(d, i, "texture", depth->texture, &to->view, &checked, error);
    if (status == SPY_OK) status = spyi_check_samples(d, i, depth->texture, first, error);
    if (status != SPY_OK) return status;
    if (s->stencil_enabled && !spyi_format(depth->texture->part.format)->has_stencil)
        return spyi_bad_target(i, "texture", depth->texture,
                               " has no stencil, which the raster tests; take d32_float_s8_uint", error);
    d->raster->checked_forms[i] = depth->texture->target_form;
    if (depth->load == SPY_LOAD_CLEAR && !(depth->clear >= 0 && depth->clear <= 1))
        return spyi_bad_target(i, "clear", NULL, "expected a depth from 0 to 1", error);
    to->image = depth->texture->image->image.handle;
    to->clear = depth->load == SPY_LOAD_CLEAR;
    to->ignore = depth->load == SPY_LOAD_IGNORE;
    to->clear_stencil = depth->stencil_load == SPY_LOAD_CLEAR;
    to->ignore_stencil = depth->stencil_load == SPY_LOAD_IGNORE;
    to->depth = depth->clear;
    to->stencil = depth->stencil_clear;
    s->depth_format = depth->texture->part.format;
    return SPY_OK;
}

static spy_status spyi_draw_area(spyi_drawing *d, spyi_text *error) {
    const spy_viewport *v = &d->desc->viewport;
    const spy_scissor *s = &d->desc->scissor;
    spyi_draw_work *w = &d->work;
    w->viewport[2] = (float)w->width; // the other members are 0
    w->viewport[3] = (float)w->height;
    w->viewport[5] = 1;
    w->scissor[2] = (int32_t)w->width;
    w->scissor[3] = (int32_t)w->height;
    uint64_t given_bits[3], any = s->width;
    memcpy(given_bits, v, sizeof given_bits);
    for (int i = 0; i < 3; i++) any |= given_bits[i];
    if (!any) return SPY_OK; // no scissor: all of the targets
    if (v->width != 0) {
        const float given[4] = { v->x, v->y, v->width, v->height };
        memcpy(w->viewport, given, sizeof given);
    }
    if (v->min_depth != 0 || v->max_depth != 0) {
        w->viewport[4] = v->min_depth;
        w->viewport[5] = v->max_depth;
    }
    if (!(v->width >= 0 && v->height >= 0 && v->width <= 65536 && v->height <= 65536 &&
          (v->width == 0 || v->height > 0)) ||
        !(v->x >= -65536 && v->x <= 65536 && v->y >= -65536 && v->y <= 65536)) {
        spyi_text_add(error, "draw.viewport is %g x %g from (%g, %g) on; expected sizes above 0, up to 65536",
                      (double)v->width, (double)v->height, (double)v->x, (double)v->y);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!(w->viewport[4] >= 0 && w->viewport[4] <= 1 && w->viewport[5] >= 0 && w->viewport[5] <= 1)) {
        spyi_text_add(error, "draw.viewport: depths from %g to %g, expected 0 to 1", (double)v->min_depth,
                      (double)v->max_depth);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!s->width) return SPY_OK;
    if (s->x < 0 || s->y < 0 || s->width > 1u << 24 || s->height > 1u << 24) {
        spyi_text_add(error, "draw.scissor is %u x %u from (%d, %d) on; expected a place from (0, 0) on",
                      s->width, s->height, s->x, s->y);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    w->scissor[0] = s->x;
    w->scissor[1] = s->y;
    w->scissor[2] = (int32_t)s->width;
    w->scissor[3] = (int32_t)s->height;
    return SPY_OK;
}

SPYI_FN spy_status spyi_draw_targets(spyi_drawing *d, spyi_text *error) {
    bool first = true;
    spy_status status = SPY_OK;
    uint32_t count = SPY_MOST_TARGETS;
    while (count > 1 &&
           !((uintptr_t)d->desc->targets[count - 1].texture | (uintptr_t)d->desc->targets[count - 1].resolve))
        count--;
    if (count == 1 && !d->desc->targets[0].texture && !d->desc->targets[0].resolve) count = 0;
    if (!spyi_raster_room(d, 2 * SPYI_MOST_TARGETS + 1, error)) return SPY_ERROR_OUT_OF_MEMORY;
    d->work.target_count = count;
    d->state.target_count = (uint8_t)count;
    for (uint32_t i = 0; i < count && status == SPY_OK; i++) status = spyi_draw_color(d, i, &first, error);
    if (status == SPY_OK) status = spyi_draw_depth_target(d, &first, error);
    if (status == SPY_OK && first) {
        spyi_text_add(error, "it has no target: expected a texture in draw.targets or draw.depth");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    d->target_uses = d->use_count;
    if (status == SPY_OK) status = spyi_draw_area(d, error);
    return status;
}
