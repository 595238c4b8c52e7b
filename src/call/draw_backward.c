// spy_draw_backward: the calls and the draw that draw_gradient.h lists, one after another. Values of the draw
// that they need are looked up inside the device first. The calls and the draw are then made by the public
// functions.
#include "api/generator.h"
#include "api/gradient.h"
#include "call/draw_gradient.h"

enum { SPYI_DRAW_OWN_ARGS = 16 + SPYI_MOST_ATTRIBUTES + 2 * SPYI_MOST_TARGETS };

// One running spy_draw_backward().
typedef struct spyi_draw_pass {
    const char *name;
    spyi_drawing *d;
    spy_call_options options; // options of the calls
    spyi_draw_form form;
    spyi_draw_gradient gradient;
    uint32_t triangles;                           // triangles of one instance
    int64_t corners;                              // corners of all triangles of all instances
    bool reversed;                                // larger depths are in front
    spy_tensor *attributes[SPYI_MOST_ATTRIBUTES]; // for each buffer of the form, a tensor with the numbers of
                                                  // attributes, of shape (n, columns)
    uint32_t columns[SPYI_MOST_ATTRIBUTES];       // the columns of each of these tensors; 0 means as many as
                                                  // its struct has
    spy_tensor *indices, *corner_rows, *flat_rows, *positions;
    spy_raster *ids;
    spy_texture *id_target, *id_depth;
    spy_arg args[SPYI_DRAW_OWN_ARGS + SPYI_MOST_DRAW_ARGS];
    uint32_t arg_count;
    spy_arg fields[SPYI_MOST_DRAW_ARGS]; // copies of structs in `args` without their gradients
    uint32_t field_count;
} spyi_draw_pass;

// >>what is looked up of the draw

// Returns whether the argument has a gradient. A wrong argument is not refused here; the calls refuse it by
// its name.
static bool spyi_arg_has_gradient(const spy_device *device, const spy_arg *arg) {
    bool any = false;
    switch (arg->kind) {
    case SPY_ARG_KIND_PAIR: return true;
    case SPY_ARG_KIND_TENSOR:
        return spyi_is_on(device, arg->value.tensor, SPYI_KIND_TENSOR) &&
               arg->value.tensor->grads[SPYI_GRAD_OUT];
    case SPY_ARG_KIND_STRUCT:
        for (size_t i = 0; arg->value.fields && i < arg->count; i++)
            any = any || spyi_arg_has_gradient(device, &arg->value.fields[i]);
        return any;
    default: return false;
    }
}

static spy_status spyi_draw_unsupported(spyi_text *error, const char *what) {
    spyi_text_add(error, "%s", what);
    return SPY_ERROR_UNSUPPORTED;
}

// Refuses draws whose gradients are not supported.
static spy_status spyi_draw_check_gradients(const spyi_drawing *d, spyi_text *error) {
    const spy_raster *r = d->raster;
    const spy_draw_desc *desc = d->desc;
    const spyi_raster_part *parts = r->parts;
    if (!parts[SPYI_RASTER_FRAGMENT].function)
        return spyi_draw_unsupported(error,
                                     "the raster has no fragment function, whose derivative is needed");
    if (parts[SPYI_RASTER_VERTEX].function->module != parts[SPYI_RASTER_FRAGMENT].function->module)
        return spyi_draw_unsupported(error, "its functions are of two modules; gradients need both in one");
    if (r->attribute_count)
        return spyi_draw_unsupported(
            error, "its raster has desc.attributes; give attributes as arguments of the draw, "
                   "each a tensor that may have a gradient");
    if (r->state.topology != SPY_TOPOLOGY_TRIANGLE_LIST && r->state.topology != SPY_TOPOLOGY_TRIANGLE_STRIP)
        return spyi_draw_unsupported(error, "desc.topology: only triangles have gradients");
    if (r->state.wireframe)
        return spyi_draw_unsupported(error, "desc.wireframe: only filled triangles have gradients");
    if (r->state.stencil_enabled)
        return spyi_draw_unsupported(error,
                                     "desc.stencil_enabled: draws with a stencil test have no gradients");
    if (desc->indirect)
        return spyi_draw_unsupported(
            error, "draw.indirect: the host must know how much is drawn; give vertex_count");
    if (d->state.samples > 1) return spyi_draw_unsupported(error, "its targets have several samples");
    if (d->work.layers > 1) return spyi_draw_unsupported(error, "its targets have several layers");
    if (d->state.depth_compare && desc->depth.load != SPY_LOAD_CLEAR)
        return spyi_draw_unsupported(
            error, "draw.depth.load: expected SPY_LOAD_CLEAR: what is visible is found anew, "
                   "and the depths before the draw are gone");
    return SPY_OK;
}

// Finds which channels of which targets have gradients.
static spy_status spyi_draw_find_targets(spyi_draw_pass *pass, spyi_text *error) {
    const spyi_drawing *d = pass->d;
    bool any = false;
    for (uint32_t i = 0; i < d->work.target_count; i++) {
        const spy_texture *t = d->desc->targets[i].texture;
        if (!t || !t->grad_levels[0]) continue;
        const spy_format_info *format = spyi_format(t->part.format);
        if (d->raster->blends[i].keeps == 15) continue;
        if (d->raster->blends[i].enabled) {
            spyi_text_add(
                error, "draw.targets[%u]: the raster blends into it; blended targets have no gradients", i);
            return SPY_ERROR_UNSUPPORTED;
        }
        if (t->grad_levels[0]->shape.rank != 2) {
            spyi_text_add(error, "draw.targets[%u].texture: expected a 2-D texture without layers", i);
            return SPY_ERROR_UNSUPPORTED;
        }
        pass->form.columns[i] = (uint8_t)t->grad_levels[0]->type->columns;
        pass->form.channels[i] =
            (uint8_t)(15u & ~(unsigned)d->raster->blends[i].keeps & ((1u << pass->form.columns[i]) - 1));
        pass->form.clamps[i] = (uint8_t)(format->is_unorm ? 1 : format->is_snorm ? 2 : 0);
        any = any || pass->form.channels[i];
        if (pass->form.edges && d->desc->targets[i].load != SPY_LOAD_CLEAR) {
            spyi_text_add(
                error,
                "draw.targets[%u].load: expected SPY_LOAD_CLEAR: edge_gradients needs the colour behind the "
                "triangles",
                i);
            return SPY_ERROR_UNSUPPORTED;
        }
    }
    if (any) return SPY_OK;
    spyi_text_add(error, "no target has a gradient to start from: make its texture with_grad");
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Finds the argument that gives an input of the vertex function, and its tensor and columns.
static spy_status spyi_draw_find_attributes(spyi_draw_pass *pass, spyi_text *error) {
    const spyi_drawing *d = pass->d;
    const spyi_raster_part *part = &d->raster->parts[SPYI_RASTER_VERTEX];
    const spyi_signature *signature = &part->function->overloads.items[0];
    const spy_arg *of[SPYI_MOST_ATTRIBUTES];
    for (uint32_t i = 0; i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        const spy_arg *arg = NULL;
        bool field = false;
        for (size_t k = 0; k < d->args.count && (!arg || field); k++) { // an argument with the input's own
                                                                        // name comes first
            const spy_arg *a = &d->args.items[k];
            if (!(d->feeds[k] & SPYI_FEEDS_ATTRIBUTE)) continue;
            bool own = strcmp(a->name, v->name) == 0;
            if (!own && (arg || !v->field || strcmp(signature->params[v->param].name, a->name) != 0))
                continue;
            arg = a;
            field = !own;
        }
        const spy_tensor *t = arg->value.tensor; // spyi_draw_vertices() has checked it
        uint32_t b = 0, offset = 0;
        while (b < pass->form.buffer_count && of[b] != arg) b++;
        if (b == pass->form.buffer_count) {
            of[b] = arg;
            pass->attributes[b] = arg->value.tensor;
            pass->columns[b] = field ? 0 : v->type->columns;
            pass->form.buffer_count++;
        }
        spy_dtype scalar = t->type->scalar;
        if (field) {
            for (uint32_t f = 0; f < t->type->field_count; f++)
                if (strcmp(t->type->fields[f].name, v->name) == 0) {
                    offset = (uint32_t)t->type->fields[f].device_offset;
                    scalar = t->type->fields[f].type->scalar;
                }
        }
        pass->form.buffers[i] = (uint8_t)b;
        pass->form.columns_of[i] = (uint8_t)(offset / 4);
        pass->form.buffer_has_floats[b] = (uint8_t)(scalar == SPY_DTYPE_FLOAT32  ? 1
                                                    : scalar == SPY_DTYPE_INT32  ? 2
                                                    : scalar == SPY_DTYPE_UINT32 ? 3
                                                                                 : 0);
        if (field && t->grads[SPYI_GRAD_OUT] &&
            t->grads[SPYI_GRAD_OUT]->type->device_size != t->type->device_size) {
            spyi_text_add(error,
                          "'%s': the gradient %s has not all fields of %s, as where some are no_diff; give "
                          "the fields as "
                          "tensors of their own",
                          arg->name, t->grads[SPYI_GRAD_OUT]->type->display, t->type->display);
            return SPY_ERROR_UNSUPPORTED;
        }
        pass->form.buffer_has_grad[b] = pass->form.buffer_has_floats[b] == 1 && t->grads[SPYI_GRAD_OUT];
        if (pass->form.buffer_has_floats[b]) continue;
        spyi_text_add(error,
                      "attribute '%s': a tensor of %s has no gradients; give float32, or int32 and uint32",
                      v->name, spy_dtype_name(scalar));
        return SPY_ERROR_TYPE_MISMATCH;
    }
    return SPY_OK;
}

static void spyi_draw_find_indices(spyi_draw_pass *pass) {
    const spy_tensor *t = pass->d->desc->indices;
    pass->indices = pass->d->desc->indices;
    if (!t) return;
    pass->form.indexed = 1;
    pass->form.short_indices = pass->d->work.short_indices;
    pass->form.signed_indices = t->type->scalar == SPY_DTYPE_INT32 || t->type->scalar == SPY_DTYPE_INT16;
}

static spy_status spyi_draw_count(spyi_draw_pass *pass, spyi_text *error) {
    const spyi_drawing *d = pass->d;
    bool strip = d->raster->state.topology == SPY_TOPOLOGY_TRIANGLE_STRIP;
    uint32_t count = d->work.count;
    pass->triangles = strip ? (count > 2 ? count - 2 : 0) : count / 3;
    uint64_t all = (uint64_t)pass->triangles * d->work.instance_count;
    pass->corners = all <= INT32_MAX / 12 ? 3 * (int64_t)all : 0;
    if (all <= INT32_MAX / 12) return SPY_OK;
    spyi_text_add(error, "it has %llu triangles, gradients take at most %d", (unsigned long long)all,
                  INT32_MAX / 12);
    return SPY_ERROR_OUT_OF_RANGE;
}

// Finds the functions, tensors and sizes that the calls need, and the generated module. Called inside the
// device.
static spy_status spyi_draw_prepare(spyi_draw_pass *pass, spyi_text *error) {
    spyi_drawing *d = pass->d;
    spy_raster *r = d->raster;
    memset(&pass->form, 0, sizeof pass->form);
    for (int s = 0; s < SPYI_RASTER_STAGES; s++)
        if (r->parts[s].function && r->parts[s].generation != r->parts[s].function->module->generation) {
            spy_status status = spyi_raster_look(r, s, error);
            if (status != SPY_OK) return status;
        }
    spy_status status = spyi_draw_look(d, error);
    if (status == SPY_OK) status = spyi_draw_check_gradients(d, error);
    if (status == SPY_OK) status = spyi_draw_count(pass, error);
    pass->form.edges = d->desc->edge_gradients;
    if (status == SPY_OK) status = spyi_draw_find_targets(pass, error);
    if (status == SPY_OK) status = spyi_draw_find_attributes(pass, error);
    if (status != SPY_OK)
        return status; // the members feeds, args and indices of `d` are only right after a successful check
    for (size_t i = 0; i < d->args.count; i++)
        if ((d->feeds[i] & (SPYI_FEEDS_VERTEX | SPYI_FEEDS_ATTRIBUTE)) &&
            spyi_arg_has_gradient(d->device, &d->args.items[i]))
            pass->form.vertices = 1;
    if (!pass->form.vertices)
        pass->form.edges = 0; // edges do not move if the vertex function has no
                              // gradients
    spyi_draw_find_indices(pass);
    uint8_t compare = r->state.depth_compare;
    pass->reversed = compare == SPY_COMPARE_GREATER || compare == SPY_COMPARE_GREATER_EQUAL;
    if (pass->corners) status = spyi_draw_gradient_get(r, &pass->form, &pass->gradient, error);
    return status;
}

// >>temporaries

// Returns a view of an attribute's numbers, of shape (n, columns).
static spy_tensor *spyi_draw_numbers(spy_tensor *tensor, uint32_t columns) {
    spy_tensor *flat = spy_create_flat_view(tensor);
    if (!flat) return NULL;
    spy_shape shape = spy_get_tensor_info(flat).shape;
    int64_t last = shape.rank ? shape.dims[shape.rank - 1] : 1;
    if (shape.rank == 2 && (!columns || last == columns)) return flat;
    memset(&shape, 0, sizeof shape);
    shape.rank = 2;
    shape.dims[0] = -1;
    shape.dims[1] = columns ? columns : last;
    spy_tensor *rows = spy_create_reshape(flat, shape);
    spy_release_tensor(flat);
    return rows;
}

static spy_tensor *spyi_draw_rows(spy_device *device, int64_t rows, uint32_t columns, spy_dtype dtype,
                                  bool grad) {
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape.rank = 2;
    desc.shape.dims[0] = rows;
    desc.shape.dims[1] = columns;
    desc.dtype = dtype;
    desc.with_grad = grad;
    desc.label = "corners of triangles";
    return spy_create_tensor(device, &desc);
}

static bool spyi_draw_tensors(spyi_draw_pass *pass) {
    spy_device *device = pass->d->device;
    const spyi_draw_gradient *g = &pass->gradient;
    bool good = true;
    for (uint32_t b = 0; b < pass->form.buffer_count; b++) {
        pass->attributes[b] = spyi_draw_numbers(pass->attributes[b], pass->columns[b]);
        good = good && pass->attributes[b];
    }
    if (pass->indices) pass->indices = spy_create_flat_view(pass->indices);
    if (pass->indices && spy_get_tensor_info(pass->indices).shape.rank != 1) {
        spy_shape line;
        memset(&line, 0, sizeof line);
        line.rank = 1;
        line.dims[0] = -1;
        spy_tensor *flat = spy_create_reshape(pass->indices, line);
        spy_release_tensor(pass->indices);
        pass->indices = flat;
    }
    good = good && (pass->indices || !pass->form.indexed);
    pass->corner_rows =
        spyi_draw_rows(device, pass->corners, g->columns, SPY_DTYPE_FLOAT32, pass->form.vertices);
    bool flat = g->flat_columns != 0;
    pass->flat_rows =
        spyi_draw_rows(device, flat ? pass->corners : 1, flat ? g->flat_columns : 1, SPY_DTYPE_INT32, false);
    pass->positions = pass->corner_rows ? spy_create_slice(pass->corner_rows, 1, 0, 4, 1) : NULL;
    return good && pass->corner_rows && pass->flat_rows && pass->positions;
}

static spy_texture *spyi_draw_texture(const spyi_draw_pass *pass, spy_format format,
                                      spy_texture_usage usage) {
    spy_texture_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = format;
    desc.width = pass->d->work.width;
    desc.height = pass->d->work.height;
    desc.usage = (uint32_t)usage | SPY_TEXTURE_USAGE_SAMPLED;
    desc.label = "numbers of triangles";
    return spy_create_texture(pass->d->device, &desc);
}

static const char spyi_draw_ids_source[] =
    "struct Corner { float4 position : SV_Position; nointerpolation uint id : ID; };\n"
    "[shader(\"vertex\")] Corner draw_ids_vertex(float4 position : POSITION, uint id : SV_VertexID)\n"
    "{\n"
    "    return { position, id / 3 + 1 };\n"
    "}\n"
    "[shader(\"fragment\")] uint draw_ids_fragment(Corner corner) : SV_Target { return corner.id; }\n";

// Finds the functions that draw the triangles' numbers. On failure they are NULL, and the error has been
// reported.
static void spyi_draw_id_functions(spy_device *device, const char *name, spy_function *functions[2]) {
    spy_module_desc desc;
    functions[0] = functions[1] = NULL;
    if (spyi_enter(device, SPYI_KIND_DEVICE, name) != SPY_OK) return;
    memcpy(functions, device->draw_ids, sizeof device->draw_ids);
    spyi_leave(device);
    if (functions[0]) return;
    memset(&desc, 0, sizeof desc);
    desc.name = "slangpy_draw_ids";
    desc.source = spyi_draw_ids_source;
    spy_module *module = spy_load_module(device, &desc);
    functions[0] = module ? spy_find_function(module, "draw_ids_vertex") : NULL;
    functions[1] = module ? spy_find_function(module, "draw_ids_fragment") : NULL;
    if (!functions[1] || spyi_enter(device, SPYI_KIND_DEVICE, name) != SPY_OK) return;
    memcpy(device->draw_ids, functions, sizeof device->draw_ids); // the functions live as long as the device
    spyi_leave(device);
}

// Makes the raster that draws the triangles' numbers, with the depth and stencil tests of the draw.
static spy_raster *spyi_draw_id_raster(const spyi_draw_pass *pass) {
    spy_function *functions[2];
    const spyi_raster_state *s = &pass->d->raster->state;
    spy_raster_desc desc;
    spyi_draw_id_functions(pass->d->device, pass->name, functions);
    if (!functions[1]) return NULL;
    memset(&desc, 0, sizeof desc);
    desc.vertex = functions[0];
    desc.fragment = functions[1];
    desc.cull = (spy_cull)s->cull;
    desc.clockwise_is_front = s->clockwise_is_front;
    desc.depth_compare = (spy_compare)s->depth_compare;
    desc.depth_read_only = !s->depth_write;
    desc.depth_clamped = s->depth_clamped;
    desc.depth_bias = s->depth_bias;
    desc.depth_bias_slope = s->depth_bias_slope;
    desc.depth_bias_clamp = s->depth_bias_clamp;
    desc.label = "numbers of triangles";
    return spy_create_raster(pass->d->device, &desc);
}

// Takes the targets that the last call stored in the raster, or makes new ones.
static bool spyi_draw_id_objects(spyi_draw_pass *pass) {
    spy_raster *r = pass->d->raster;
    const spy_draw_desc *desc = pass->d->desc;
    const spy_texture *depth = desc->depth.texture;
    spy_texture *old[2] = { NULL, NULL };
    if (spyi_enter(r, SPYI_KIND_RASTER, pass->name) != SPY_OK) return false;
    pass->ids = r->ids;
    pass->id_target = r->id_target;
    pass->id_depth = r->id_depth;
    r->id_target = r->id_depth = NULL; // another thread then makes targets of its own
    if (pass->ids) spyi_atomic_add(&pass->ids->object.references, 1);
    spyi_leave(pass->d->device);
    if (pass->id_target &&
        (pass->id_target->width != pass->d->work.width || pass->id_target->height != pass->d->work.height))
        old[0] = pass->id_target, pass->id_target = NULL;
    if (pass->id_depth &&
        (!depth || pass->id_depth->part.format != depth->part.format ||
         pass->id_depth->width != pass->d->work.width || pass->id_depth->height != pass->d->work.height))
        old[1] = pass->id_depth, pass->id_depth = NULL;
    spy_release_texture(old[0]);
    spy_release_texture(old[1]);
    if (!pass->id_target)
        pass->id_target = spyi_draw_texture(pass, SPY_FORMAT_R32_UINT, SPY_TEXTURE_USAGE_COLOR_TARGET);
    if (!pass->id_depth && depth)
        pass->id_depth =
            spyi_draw_texture(pass, (spy_format)depth->part.format, SPY_TEXTURE_USAGE_DEPTH_TARGET);
    if (!pass->ids) {
        pass->ids = spyi_draw_id_raster(pass);
        if (pass->ids && spyi_enter(r, SPYI_KIND_RASTER, pass->name) == SPY_OK) {
            if (!r->ids) {
                r->ids = pass->ids;
                spyi_atomic_add(&r->ids->object.references, 1);
            }
            spyi_leave(pass->d->device);
        }
    }
    return pass->ids && pass->id_target && (pass->id_depth || !depth);
}

static void spyi_draw_pass_end(spyi_draw_pass *pass, bool made) {
    spy_raster *r = pass->d->raster;
    if (pass->gradient.module) spyi_object_release(&pass->gradient.module->object);
    if (!made) return;
    for (uint32_t b = 0; b < pass->form.buffer_count; b++) spy_release_tensor(pass->attributes[b]);
    spy_release_tensor(pass->indices);
    spy_release_tensor(pass->positions);
    spy_release_tensor(pass->corner_rows);
    spy_release_tensor(pass->flat_rows);
    spy_release_raster(pass->ids);
    if (spyi_enter(r, SPYI_KIND_RASTER, pass->name) == SPY_OK) { // stores the targets for the next call
        if (!r->id_target) r->id_target = pass->id_target, pass->id_target = NULL;
        if (!r->id_depth) r->id_depth = pass->id_depth, pass->id_depth = NULL;
        spyi_leave(pass->d->device);
    }
    spy_release_texture(pass->id_target);
    spy_release_texture(pass->id_depth);
}

// >>the calls

static void spyi_draw_arg(spyi_draw_pass *pass, spy_arg arg) {
    pass->args[pass->arg_count++] = arg;
}

static void spyi_draw_tensor(spyi_draw_pass *pass, const char *name, spy_tensor *tensor) {
    spyi_draw_arg(pass, spy_arg_tensor(name, tensor));
}

// Returns the argument without gradients: the value of a pair, or a copy of a struct's fields without theirs.
static spy_arg spyi_draw_value(spyi_draw_pass *pass, const spy_arg *arg) {
    spy_arg value = *arg;
    if (arg->kind == SPY_ARG_KIND_PAIR && arg->count == 2 && arg->value.fields) {
        value = arg->value.fields[0];
        value.name = arg->name;
    } else if (arg->kind == SPY_ARG_KIND_STRUCT && arg->value.fields &&
               arg->count <= SPYI_MOST_DRAW_ARGS - pass->field_count) {
        spy_arg *fields = pass->fields + pass->field_count;
        pass->field_count += (uint32_t)arg->count;
        for (size_t i = 0; i < arg->count; i++) fields[i] = spyi_draw_value(pass, &arg->value.fields[i]);
        value.value.fields = fields;
    }
    return value;
}

// Adds the arguments of the draw that one of its functions takes.
static void spyi_draw_user_args(spyi_draw_pass *pass, uint8_t feeds, bool with_gradients) {
    pass->field_count = 0;
    for (size_t i = 0; i < pass->d->args.count; i++) {
        const spy_arg *arg = &pass->d->args.items[i];
        if (pass->d->feeds[i] & feeds)
            spyi_draw_arg(pass, with_gradients ? *arg : spyi_draw_value(pass, arg));
    }
}

static spy_status spyi_draw_call_of(spyi_draw_pass *pass, spy_function *function, const char *name,
                                    spy_call_mode mode, int64_t rows, int64_t columns) {
    spy_args args;
    spy_call_options options = pass->options;
    if (!function) function = spy_find_function(pass->gradient.module, name);
    if (!function) return spyi_reported_status();
    args.items = pass->args;
    args.count = pass->arg_count;
    options.mode = mode;
    options.thread_count.rank = columns ? 2 : 1;
    options.thread_count.dims[0] = rows;
    options.thread_count.dims[1] = columns;
    return spy_call_with(function, args, &options);
}

static spy_status spyi_draw_run_corners(spyi_draw_pass *pass, spy_call_mode mode) {
    static const char *const names[SPYI_MOST_ATTRIBUTES] = {
        "slangpy_draw_a0",  "slangpy_draw_a1",  "slangpy_draw_a2",  "slangpy_draw_a3",
        "slangpy_draw_a4",  "slangpy_draw_a5",  "slangpy_draw_a6",  "slangpy_draw_a7",
        "slangpy_draw_a8",  "slangpy_draw_a9",  "slangpy_draw_a10", "slangpy_draw_a11",
        "slangpy_draw_a12", "slangpy_draw_a13", "slangpy_draw_a14", "slangpy_draw_a15"
    };
    const spyi_draw_work *w = &pass->d->work;
    const int32_t range[4] = { (int32_t)pass->triangles, (int32_t)w->first, w->first_vertex,
                               (int32_t)w->first_instance };
    pass->arg_count = 0;
    spyi_draw_arg(pass, spy_arg_call_id("slangpy_draw_at"));
    spyi_draw_arg(pass, spy_arg_i32n("slangpy_draw_range", range, 4));
    if (pass->form.indexed) spyi_draw_tensor(pass, "slangpy_draw_indices", pass->indices);
    for (uint32_t b = 0; b < pass->form.buffer_count; b++)
        spyi_draw_tensor(pass, names[b], pass->attributes[b]);
    spyi_draw_tensor(pass, "slangpy_draw_corners", pass->corner_rows);
    spyi_draw_tensor(pass, "slangpy_draw_flat", pass->flat_rows);
    spyi_draw_user_args(pass, SPYI_FEEDS_VERTEX, mode == SPY_CALL_MODE_BACKWARD);
    return spyi_draw_call_of(pass, pass->gradient.corner, "slangpy_draw_corner", mode, pass->corners, 0);
}

static spy_status spyi_draw_run_ids(spyi_draw_pass *pass) {
    const spy_draw_desc *from = pass->d->desc;
    spy_draw_desc desc;
    spy_arg position = spy_arg_tensor("position", pass->positions);
    spy_args args = { &position, 1 };
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = pass->options.append_to;
    memset(&desc, 0, sizeof desc);
    desc.targets[0].texture = pass->id_target;
    desc.targets[0].load = SPY_LOAD_CLEAR;
    desc.depth.texture = pass->id_depth;
    desc.depth.load = from->depth.load;
    desc.depth.stencil_load = SPY_LOAD_IGNORE;
    desc.depth.clear = from->depth.clear;
    desc.viewport = from->viewport;
    desc.scissor = from->scissor;
    desc.vertex_count = (uint32_t)pass->corners;
    return spy_draw(pass->ids, &desc, args, &options);
}

static const char *const spyi_draw_grad_names[SPY_MOST_TARGETS] = { "slangpy_draw_g0", "slangpy_draw_g1",
                                                                    "slangpy_draw_g2", "slangpy_draw_g3",
                                                                    "slangpy_draw_g4", "slangpy_draw_g5",
                                                                    "slangpy_draw_g6", "slangpy_draw_g7" };
static const char *const spyi_draw_whole_names[SPY_MOST_TARGETS] = { "slangpy_draw_t0", "slangpy_draw_t1",
                                                                     "slangpy_draw_t2", "slangpy_draw_t3",
                                                                     "slangpy_draw_t4", "slangpy_draw_t5",
                                                                     "slangpy_draw_t6", "slangpy_draw_t7" };
static const char *const spyi_draw_clear_names[SPY_MOST_TARGETS] = { "slangpy_draw_c0", "slangpy_draw_c1",
                                                                     "slangpy_draw_c2", "slangpy_draw_c3",
                                                                     "slangpy_draw_c4", "slangpy_draw_c5",
                                                                     "slangpy_draw_c6", "slangpy_draw_c7" };

// Calls slangpy_draw_pixel or slangpy_draw_edges, which have the same arguments and result. `view` is a
// SpyiDrawView.
static spy_status spyi_draw_run_pixels(spyi_draw_pass *pass, bool edges) {
    const spyi_draw_work *w = &pass->d->work;
    spy_arg pair[2];
    spy_args items = { pair, 2 };
    float view[6];
    memcpy(view, w->viewport, sizeof view);
    pair[0] = spy_arg_f32(NULL, 0);
    pair[1] = spy_arg_f32(NULL, 1); // the result of the function is a sum, whose gradient is 1
    pass->arg_count = 0;
    spyi_draw_arg(pass, spy_arg_call_id("slangpy_draw_at"));
    spyi_draw_arg(pass, spy_arg_texture(edges ? "slangpy_draw_ids" : "slangpy_draw_id", pass->id_target));
    spyi_draw_arg(pass, spy_arg_data("slangpy_draw_view", view, sizeof view));
    spyi_draw_arg(pass, spy_arg_i32("slangpy_draw_triangles", (int32_t)pass->triangles));
    if (edges)
        spyi_draw_arg(pass, spy_arg_i32("slangpy_draw_nearer", pass->reversed ? -1
                                                               : pass->d->raster->state.depth_compare &&
                                                                       pass->d->raster->state.depth_write
                                                                   ? 1
                                                                   : 0));
    spyi_draw_tensor(pass, "slangpy_draw_corners", pass->corner_rows);
    spyi_draw_tensor(pass, "slangpy_draw_flat", pass->flat_rows);
    for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++) {
        if (!pass->form.channels[t]) continue;
        const spy_draw_target *target = &pass->d->desc->targets[t];
        spy_tensor *grad = target->texture->grad_levels[0];
        spyi_draw_tensor(pass, edges ? spyi_draw_whole_names[t] : spyi_draw_grad_names[t], grad);
        if (edges) spyi_draw_arg(pass, spy_arg_f32n(spyi_draw_clear_names[t], target->clear.floats, 4));
    }
    spyi_draw_user_args(pass, SPYI_FEEDS_FRAGMENT, !edges);
    spyi_draw_arg(pass, spy_arg_diff_pair("_result", items));
    return spyi_draw_call_of(pass, edges ? pass->gradient.edges : pass->gradient.pixel,
                             edges ? "slangpy_draw_edges" : "slangpy_draw_pixel", SPY_CALL_MODE_BACKWARD,
                             w->height, w->width);
}

static spy_status spyi_draw_run(spyi_draw_pass *pass) {
    if (!spyi_draw_tensors(pass) || !spyi_draw_id_objects(pass)) return spyi_reported_status();
    spy_status status = spyi_draw_run_corners(pass, SPY_CALL_MODE_DEFAULT);
    if (status == SPY_OK) status = spyi_draw_run_ids(pass);
    if (status == SPY_OK) status = spyi_draw_run_pixels(pass, false);
    if (status == SPY_OK && pass->form.edges) status = spyi_draw_run_pixels(pass, true);
    if (status == SPY_OK && pass->form.vertices) status = spyi_draw_run_corners(pass, SPY_CALL_MODE_BACKWARD);
    return status;
}

// >>what is computed, in words

static const char *spyi_draw_role(const spyi_draw_pass *pass, size_t i) {
    const spy_arg *arg = &pass->d->args.items[i];
    uint8_t feeds = pass->d->feeds[i];
    if (arg->_custom && strcmp(arg->_custom->name, "texture") == 0 && (feeds & SPYI_FEEDS_FRAGMENT))
        return "if it has a gradient, that of the texels that were read: exact";
    if (!spyi_arg_has_gradient(pass->d->device, arg)) return "a constant";
    if (feeds == SPYI_FEEDS_FRAGMENT) return "gets a gradient, by the fragment function's derivative: exact";
    return pass->form.edges
               ? "gets a gradient, through the corners of triangles: exact inside, and of edges as below"
               : "gets a gradient, through the corners of triangles: exact inside, without edges";
}

static void spyi_draw_explain(const spyi_draw_pass *pass, spyi_text *out) {
    const spyi_drawing *d = pass->d;
    spyi_draw_gradient again = pass->gradient;
    spyi_text text = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    spyi_text_add(out, "%s: gradients of %lld triangles on %u x %u pixels\n", d->raster->label,
                  (long long)pass->corners / 3, d->work.width, d->work.height);
    for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++) {
        if (!pass->form.channels[t]) continue;
        spyi_text_add(out, "  target %u: the gradient of its channels", t);
        for (uint32_t c = 0; c < 4; c++)
            if (pass->form.channels[t] & 1u << c) spyi_text_add(out, " %c", "rgba"[c]);
        spyi_text_add(out, " is read%s\n",
                      pass->form.clamps[t] ? "; values that the format cuts off have none" : "");
    }
    for (size_t i = 0; i < d->args.count; i++)
        spyi_text_add(out, "  %s: %s\n", d->args.items[i].name, spyi_draw_role(pass, i));
    spyi_text_add(out, "  exact: shading, interpolation, perspective and depth, where a pixel goes on "
                       "showing the same triangle\n");
    spyi_text_add(
        out,
        pass->form.edges
            ? "  approximate: edges of triangles, by one sample on each line of pixels that an edge crosses\n"
              "  not counted: lines where triangles intersect\n"
            : "  not counted: which triangle a pixel shows, at edges and where triangles intersect "
              "(edge_gradients)\n");
    if (pass->corners && spyi_draw_gradient_text(d->raster, &again, &text, &error) == SPY_OK)
        spyi_text_add(out, "\n%s", spyi_text_str(&text));
    spyi_text_free(&text);
    spyi_text_free(&error);
}

// >>the public functions

// Fills the members that both public functions need.
static void spyi_draw_pass_begin(spyi_draw_pass *pass, spyi_drawing *d, spy_raster *raster,
                                 const spy_draw_desc *draw, spy_args args, const spy_call_options *options,
                                 const char *name) {
    memset(pass, 0, sizeof *pass);
    memset(d->stages, 0, sizeof d->stages);
    d->raster = raster;
    d->device = raster->object.device;
    d->desc = draw;
    d->args = args;
    pass->name = name;
    pass->d = d;
    if (options) pass->options = *options;
}

spy_status spy_draw_backward(spy_raster *raster, const spy_draw_desc *draw, spy_args args,
                             const spy_call_options *options) {
    const char *name = "spy_draw_backward";
    spy_status status = spyi_enter(raster, SPYI_KIND_RASTER, name);
    if (status != SPY_OK) return status;
    spy_device *device = raster->object.device;
    spyi_text error = { NULL, 0, 0 };
    const char *problem = spyi_draw_problem(draw, options);
    spyi_drawing d;
    spyi_draw_pass pass;
    spyi_draw_pass_begin(&pass, &d, raster, draw, args, options, name);
    if (problem) {
        spyi_text_add(&error, "%s", problem);
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_atomic_add(&raster->object.references, 1); // keeps the raster alive while the device is left
    if (status == SPY_OK) status = spyi_draw_prepare(&pass, &error);
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, raster->label, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    bool runs = status == SPY_OK && pass.corners;
    if (runs) status = spyi_draw_run(&pass);
    spyi_draw_pass_end(&pass, runs);
    spyi_object_release(&raster->object);
    return status;
}

size_t spy_explain_draw(spy_raster *raster, const spy_draw_desc *draw, spy_args args,
                        const spy_call_options *options, char *text, size_t capacity) {
    const char *name = "spy_explain_draw";
    if (text && capacity) text[0] = 0;
    if (spyi_enter(raster, SPYI_KIND_RASTER, name) != SPY_OK) return 0;
    spy_device *device = raster->object.device;
    uint32_t failed = spyi_failed_allocations();
    const char *problem = spyi_draw_problem(draw, options);
    spyi_text out = { NULL, 0, 0 };
    spyi_drawing d;
    spyi_draw_pass pass;
    spyi_draw_pass_begin(&pass, &d, raster, draw, args, options, name);
    spyi_atomic_add(&raster->object.references, 1); // keeps the raster alive while the device is left
    if (problem) spyi_text_add(&out, "%s", problem);
    else if (spyi_draw_prepare(&pass, &out) == SPY_OK) spyi_draw_explain(&pass, &out);
    size_t size = spyi_text_give(&out, failed, text, capacity);
    if (pass.gradient.module) spyi_object_release(&pass.gradient.module->object);
    spyi_leave(device);
    spyi_object_release(&raster->object);
    return size;
}
