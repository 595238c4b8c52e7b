// The classes of rasters and draws. slangpy/render.py and slangpy/drawing.py check the user's arguments, and pass them to the functions
// of this file as tuples of numbers.
#include "objects/objects.h"

#include <string.h>

#include "state/cold.h"

#define SPYP_MOST_ATTRIBUTES 32

typedef struct spyp_raster {
    PyObject_HEAD spyp_device *device;
    spy_raster *raster;
    spyp_function *vertex, *fragment; // `fragment` is NULL for a raster that writes only depth and stencil
} spyp_raster;

// >>making a raster

// Reads (enabled, color source, color target, color op, alpha source, alpha target, alpha op, channels that are kept) of each target.
static int spyp_blends_parse(PyObject *tuple, spy_raster_desc *desc) {
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > SPY_MOST_TARGETS) {
        PyErr_Format(spyp.value_error, "expected at most %d targets, got %zd", SPY_MOST_TARGETS, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int enabled, numbers[6];
        spy_blend *b = &desc->blends[i];
        if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "piiiiiiI", &enabled, &numbers[0], &numbers[1],
                              &numbers[2], &numbers[3], &numbers[4], &numbers[5], &b->keep))
            return -1;
        b->enabled = enabled;
        b->color_source = (spy_blend_factor)numbers[0];
        b->color_target = (spy_blend_factor)numbers[1];
        b->color_op = (spy_blend_op)numbers[2];
        b->alpha_source = (spy_blend_factor)numbers[3];
        b->alpha_target = (spy_blend_factor)numbers[4];
        b->alpha_op = (spy_blend_op)numbers[5];
    }
    return 0;
}

// Reads None, or (read mask, write mask, front, back), where a side is (fail, depth_fail, pass, compare).
static int spyp_stencil_parse(PyObject *tuple, spy_raster_desc *desc) {
    int sides[2][4];
    if (tuple == Py_None) return 0;
    if (!PyArg_ParseTuple(tuple, "II(iiii)(iiii)", &desc->stencil_read_mask, &desc->stencil_write_mask,
                          &sides[0][0], &sides[0][1], &sides[0][2], &sides[0][3], &sides[1][0], &sides[1][1],
                          &sides[1][2], &sides[1][3]))
        return -1;
    desc->stencil_enabled = true;
    for (int i = 0; i < 2; i++) {
        spy_stencil *s = i ? &desc->stencil_back : &desc->stencil_front;
        s->fail = (spy_stencil_op)sides[i][0];
        s->depth_fail = (spy_stencil_op)sides[i][1];
        s->pass = (spy_stencil_op)sides[i][2];
        s->compare = (spy_compare)sides[i][3];
    }
    return 0;
}

// Reads the attributes as (name, index, format, offset, buffer), the layouts as (stride, instances for each element), and the names of
// attributes that have an element for each instance.
static int spyp_inputs_parse(PyObject *attributes, PyObject *layouts, PyObject *names, spy_raster_desc *desc,
                             spy_vertex_attribute *a, spy_vertex_layout *l, const char **texts) {
    Py_ssize_t counts[3] = { PyTuple_Size(attributes), PyTuple_Size(layouts), PyTuple_Size(names) };
    if (counts[0] > SPYP_MOST_ATTRIBUTES || counts[1] > SPY_MOST_VERTEX_BUFFERS ||
        counts[2] > SPYP_MOST_ATTRIBUTES) {
        PyErr_Format(spyp.value_error, "expected at most %d attributes and %d vertex buffers",
                     SPYP_MOST_ATTRIBUTES, SPY_MOST_VERTEX_BUFFERS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < counts[0]; i++) {
        int format;
        if (!PyArg_ParseTuple(PyTuple_GetItem(attributes, i), "sIiII", &a[i].name, &a[i].semantic_index,
                              &format, &a[i].offset_bytes, &a[i].buffer))
            return -1;
        a[i].format = (spy_format)format;
    }
    for (Py_ssize_t i = 0; i < counts[1]; i++)
        if (!PyArg_ParseTuple(PyTuple_GetItem(layouts, i), "II", &l[i].stride_bytes, &l[i].per_instances))
            return -1;
    for (Py_ssize_t i = 0; i < counts[2]; i++)
        if (!(texts[i] = spyp_utf8(PyTuple_GetItem(names, i)))) return -1;
    desc->attributes = a;
    desc->attribute_count = (size_t)counts[0];
    desc->layouts = l;
    desc->layout_count = (size_t)counts[1];
    desc->instance_attributes = texts;
    desc->instance_attribute_count = (size_t)counts[2];
    return 0;
}

// _raster_make(vertex, fragment, (topology, cull, clockwise_is_front, wireframe, depth_compare, depth_read_only, depth_clamped,
// alpha_to_coverage, sample_mask), (bias, slope, clamp), blends, stencil, attributes, layouts, instance_attributes, label): makes a
// raster.
static PyObject *spyp_raster_make(PyObject *self, PyObject *args) {
    PyObject *vertex, *fragment, *blends, *stencil, *attributes, *layouts, *names;
    int topology, cull, clockwise, wireframe, compare, read_only, clamped, coverage;
    spy_vertex_attribute a[SPYP_MOST_ATTRIBUTES];
    spy_vertex_layout l[SPY_MOST_VERTEX_BUFFERS];
    const char *texts[SPYP_MOST_ATTRIBUTES];
    spy_raster_desc desc;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    if (!PyArg_ParseTuple(args, "O!O(iippipppI)(fff)O!OO!O!O!z:create_render_pipeline", spyp.function,
                          &vertex, &fragment, &topology, &cull, &clockwise, &wireframe, &compare, &read_only,
                          &clamped, &coverage, &desc.sample_mask, &desc.depth_bias, &desc.depth_bias_slope,
                          &desc.depth_bias_clamp, &PyTuple_Type, &blends, &stencil, &PyTuple_Type,
                          &attributes, &PyTuple_Type, &layouts, &PyTuple_Type, &names, &desc.label))
        return NULL;
    if (fragment != Py_None && !PyObject_TypeCheck(fragment, spyp.function))
        return PyErr_Format(PyExc_TypeError, "draw: argument 'fragment': expected a Function or None, got %R",
                            (PyObject *)Py_TYPE(fragment));
    if (spyp_blends_parse(blends, &desc) < 0 || spyp_stencil_parse(stencil, &desc) < 0 ||
        spyp_inputs_parse(attributes, layouts, names, &desc, a, l, texts) < 0)
        return NULL;
    spyp_function *v = (spyp_function *)vertex, *f = fragment == Py_None ? NULL : (spyp_function *)fragment;
    spyp_device *d = v->module->device;
    desc.vertex = v->function;
    desc.fragment = f ? f->function : NULL;
    desc.topology = (spy_topology)topology;
    desc.cull = (spy_cull)cull;
    desc.clockwise_is_front = clockwise;
    desc.wireframe = wireframe;
    desc.depth_compare = (spy_compare)compare;
    desc.depth_read_only = read_only;
    desc.depth_clamped = clamped;
    desc.alpha_to_coverage = coverage;
    if (spyp_enter(d, "create_render_pipeline") < 0) return NULL;
    spy_raster *raster = spy_create_raster(d->device, &desc);
    if (!raster) spyp_raise(d);
    spyp_raster *made = raster ? (spyp_raster *)spyp_alloc(spyp.raster) : NULL;
    if (raster && !made) spy_release_raster(raster);
    spyp_leave(d);
    if (!made) return NULL;
    made->device = (spyp_device *)Py_NewRef((PyObject *)d);
    made->raster = raster;
    made->vertex = (spyp_function *)Py_NewRef(vertex);
    made->fragment = (spyp_function *)Py_XNewRef((PyObject *)f);
    return (PyObject *)made;
}

// >>drawing

// Converts the values of uniform parameters and attributes, by name. Returns -1 with an exception set.
static int spyp_draw_args(spyp_raster *r, spyp_call *call, PyObject *dict, spy_args *out) {
    PyObject *pairs = spyp_arena_kept(&call->arena, spyp_dict_items(dict, "draw"));
    Py_ssize_t n = pairs ? PyTuple_Size(pairs) / 2 : 0;
    spy_arg *items = pairs ? (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items) : NULL;
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name = spyp_utf8(PyTuple_GetItem(pairs, 2 * i));
        if (!name) return -1;
        const spy_decl *decl = r->fragment ? spyp_declared(r->vertex) : NULL;
        bool fragment = decl && !spyp_parameter_type(r->vertex, decl, name, SPYP_NO_PARAMETER);
        call->function = fragment ? r->fragment : r->vertex;
        call->name = name;
        call->position = SPYP_NO_PARAMETER;
        int status = spyp_convert_here(call, PyTuple_GetItem(pairs, 2 * i + 1), name, &items[i]);
        if (status < 0) {
            spyp_error_prefix(call, "draw: argument '%s': ", name);
            return -1;
        }
        if (call->mode != SPY_CALL_MODE_BACKWARD) spyp_input_only(&items[i]);
    }
    call->function = r->vertex;
    call->name = NULL;
    out->items = items;
    out->count = (size_t)n;
    return 0;
}

static spy_texture *spyp_target_texture(PyObject *object, const spyp_device *d, const char *what,
                                        bool *good) {
    *good = false;
    if (!PyObject_TypeCheck(object, spyp.texture)) {
        PyErr_Format(PyExc_TypeError, "draw: %s: expected a Texture or TextureView, got %R", what,
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    if (((spyp_texture *)object)->device != d) {
        PyErr_Format(spyp.value_error, "draw: %s: the texture belongs to another device", what);
        return NULL;
    }
    *good = true;
    return ((spyp_texture *)object)->texture;
}

// Reads (texture, load, kind, (r, g, b, a), resolve or None) of each target, or None.
static int spyp_targets_parse(PyObject *tuple, const spyp_device *d, spy_draw_desc *desc) {
    bool good;
    Py_ssize_t n = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < n && i < SPY_MOST_TARGETS; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i), *texture, *resolve, *color;
        spy_draw_target *t = &desc->targets[i];
        const char *kind;
        int load;
        if (item == Py_None) continue;
        if (!PyArg_ParseTuple(item, "OisO!O", &texture, &load, &kind, &PyTuple_Type, &color, &resolve))
            return -1;
        int read = kind[0] == 'f' ? PyArg_ParseTuple(color, "ffff", &t->clear.floats[0], &t->clear.floats[1],
                                                     &t->clear.floats[2], &t->clear.floats[3])
                   : kind[0] == 'u' ? PyArg_ParseTuple(color, "IIII", &t->clear.uints[0], &t->clear.uints[1],
                                                       &t->clear.uints[2], &t->clear.uints[3])
                                    : PyArg_ParseTuple(color, "iiii", &t->clear.ints[0], &t->clear.ints[1],
                                                       &t->clear.ints[2], &t->clear.ints[3]);
        if (!read) return -1;
        t->texture = spyp_target_texture(texture, d, "target", &good);
        if (!good) return -1;
        t->load = (spy_load)load;
        if (resolve != Py_None) t->resolve = spyp_target_texture(resolve, d, "resolve target", &good);
        if (!good) return -1;
    }
    return 0;
}

static int spyp_depth_parse(PyObject *tuple, const spyp_device *d, spy_draw_desc *desc) {
    PyObject *texture;
    int load, stencil_load;
    bool good;
    if (tuple == Py_None) return 0;
    if (!PyArg_ParseTuple(tuple, "OiifI", &texture, &load, &stencil_load, &desc->depth.clear,
                          &desc->depth.stencil_clear))
        return -1;
    desc->depth.texture = spyp_target_texture(texture, d, "depth", &good);
    desc->depth.load = (spy_load)load;
    desc->depth.stencil_load = (spy_load)stencil_load;
    return good ? 0 : -1;
}

// Reads (viewport or None, scissor or None, stencil reference, blend color or None).
static int spyp_view_parse(PyObject *tuple, spy_draw_desc *desc) {
    PyObject *viewport, *scissor, *color;
    spy_viewport *v = &desc->viewport;
    spy_scissor *s = &desc->scissor;
    if (!PyArg_ParseTuple(tuple, "OOIO", &viewport, &scissor, &desc->stencil_reference, &color)) return -1;
    if (viewport != Py_None && !PyArg_ParseTuple(viewport, "ffffff", &v->x, &v->y, &v->width, &v->height,
                                                 &v->min_depth, &v->max_depth))
        return -1;
    if (scissor != Py_None && !PyArg_ParseTuple(scissor, "iiII", &s->x, &s->y, &s->width, &s->height))
        return -1;
    float *b = desc->blend_color;
    return color == Py_None || PyArg_ParseTuple(color, "ffff", &b[0], &b[1], &b[2], &b[3]) ? 0 : -1;
}

// Returns the tensor of a buffer, or NULL with an exception set.
static spy_tensor *spyp_buffer_of(PyObject *object, const spyp_device *d, const char *name) {
    if (!PyObject_TypeCheck(object, spyp.tensor)) {
        PyErr_Format(PyExc_TypeError, "draw: argument '%s': expected a Buffer or Tensor, got %R", name,
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    return spyp_tensor_is_of(object, d, "draw", name) ? ((spyp_tensor *)object)->tensor : NULL;
}

// Reads the indices as (buffer or None, offset, 16 bit), the vertex buffers as (buffer or None, offset) each, and the arguments of an
// indirect draw as None or (buffer, offset, count).
static int spyp_buffers_parse(PyObject *indices, PyObject *vertices, PyObject *indirect, const spyp_device *d,
                              spy_draw_desc *desc) {
    PyObject *buffer;
    Py_ssize_t offset;
    int small;
    if (!PyArg_ParseTuple(indices, "Onp", &buffer, &offset, &small)) return -1;
    if (buffer != Py_None && !(desc->indices = spyp_buffer_of(buffer, d, "indices"))) return -1;
    desc->indices_offset_bytes = (size_t)offset;
    desc->indices_are_16_bit = small;
    Py_ssize_t n = PyTuple_Size(vertices);
    for (Py_ssize_t i = 0; i < n && i < SPY_MOST_VERTEX_BUFFERS; i++) {
        if (!PyArg_ParseTuple(PyTuple_GetItem(vertices, i), "On", &buffer, &offset)) return -1;
        if (buffer != Py_None &&
            !(desc->vertex_buffers[i].tensor = spyp_buffer_of(buffer, d, "vertex_buffers")))
            return -1;
        desc->vertex_buffers[i].offset_bytes = (size_t)offset;
    }
    if (indirect == Py_None) return 0;
    if (!PyArg_ParseTuple(indirect, "OnI", &buffer, &offset, &desc->indirect_count)) return -1;
    desc->indirect_offset_bytes = (size_t)offset;
    desc->indirect = spyp_buffer_of(buffer, d, "arg_buffer");
    return desc->indirect ? 0 : -1;
}

// Appends arguments to a list, which gets new memory in the arena. Returns -1 with an exception set.
static int spyp_append_args(spyp_arena *arena, spy_args *to, const spy_args *more) {
    if (!to->count || !more->count) {
        if (more->count) *to = *more;
        return 0;
    }
    spy_arg *items = (spy_arg *)spyp_arena_take(arena, (to->count + more->count) * sizeof *items);
    if (!items) return -1;
    memcpy(items, to->items, to->count * sizeof *items);
    memcpy(items + to->count, more->items, more->count * sizeof *items);
    to->items = items;
    to->count += more->count;
    return 0;
}

// Adds the conformances that the options do not have yet.
static int spyp_append_conformances(spyp_arena *arena, spy_call_options *to, const spy_call_options *more) {
    const char **all = (const char **)spyp_arena_take(
        arena, (to->conformance_count + more->conformance_count + 1) * sizeof *all);
    if (!all) return -1;
    size_t count = 0;
    for (; count < to->conformance_count; count++) all[count] = to->conformances[count];
    for (size_t i = 0; i < more->conformance_count; i++) {
        size_t k = 0;
        while (k < count && strcmp(all[k], more->conformances[i]) != 0) k++;
        if (k == count) all[count++] = more->conformances[i];
    }
    to->conformances = all;
    to->conformance_count = count;
    return 0;
}

// Sets the options of both functions' chains, such as their type conformances, and the globals of the draw.
static int spyp_draw_options(spyp_raster *r, spyp_call *call, PyObject *globals, spy_call_options *options) {
    spy_call_options more;
    spy_args given = { NULL, 0 };
    int status = spyp_chain_options(call, options);
    if (status == 0 && r->fragment && r->fragment->chain) {
        memset(&more, 0, sizeof more);
        call->function = r->fragment;
        status = spyp_chain_options(call, &more);
        call->function = r->vertex;
        if (status == 0 && options->prelude && more.prelude) {
            PyErr_SetString(spyp.value_error, "draw: both functions have a prelude; give it to one of them");
            status = -1;
        }
        if (!options->prelude) options->prelude = more.prelude;
        if (status == 0) status = spyp_append_conformances(&call->arena, options, &more);
        if (status == 0) status = spyp_append_args(&call->arena, &options->constants, &more.constants);
        if (status == 0) status = spyp_append_args(&call->arena, &options->globals, &more.globals);
    }
    if (status == 0 && globals != Py_None && PyDict_Size(globals))
        status = spyp_dict_args(call, globals, &given);
    return status == 0 ? spyp_append_args(&call->arena, &options->globals, &given) : -1;
}

// _raster_draw(raster, targets, depth, view, (vertex_count, first_vertex, instance_count, first_instance, vertex_offset, draw_nothing),
// indices, vertex_buffers, indirect, args, globals, encoder, None or (edges, deterministic, explain)): draws, or, with the last argument,
// computes or explains gradients.
static PyObject *spyp_raster_draw(PyObject *self, PyObject *args) {
    PyObject *raster, *targets, *depth, *view, *indices, *vertices, *indirect, *named, *globals, *encoder,
        *backward, *result = NULL;
    int nothing, edges = 0, deterministic = 0, explain = 0;
    size_t size = 0;
    char *text = NULL;
    spy_draw_desc desc;
    spy_call_options options;
    spy_args items = { NULL, 0 };
    spyp_call call;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    memset(&options, 0, sizeof options);
    if (!PyArg_ParseTuple(args, "O!O!OO!(IIIIip)O!O!OO!OOO:draw", spyp.raster, &raster, &PyTuple_Type,
                          &targets, &depth, &PyTuple_Type, &view, &desc.vertex_count, &desc.first_vertex,
                          &desc.instance_count, &desc.first_instance, &desc.vertex_offset, &nothing,
                          &PyTuple_Type, &indices, &PyTuple_Type, &vertices, &indirect, &PyDict_Type, &named,
                          &globals, &encoder, &backward) ||
        (backward != Py_None && !PyArg_ParseTuple(backward, "ppp", &edges, &deterministic, &explain)))
        return NULL;
    spyp_raster *r = (spyp_raster *)raster;
    spyp_device *d = r->device;
    desc.draw_nothing = nothing;
    desc.edge_gradients = edges;
    if (spyp_targets_parse(targets, d, &desc) < 0 || spyp_depth_parse(depth, d, &desc) < 0 ||
        spyp_view_parse(view, &desc) < 0 || spyp_buffers_parse(indices, vertices, indirect, d, &desc) < 0)
        return NULL;
    spyp_call_begin(&call, r->vertex);
    if (backward != Py_None) call.mode = SPY_CALL_MODE_BACKWARD;
    int status = spyp_draw_args(r, &call, named, &items);
    if (status == 0) status = spyp_draw_options(r, &call, globals, &options);
    if (status == 0 && encoder != Py_None && !(options.append_to = spyp_encoder_list(encoder, d)))
        status = -1;
    options.deterministic = deterministic;
    if (status == 0 && spyp_enter(d, "draw") == 0) {
        spyp_look_for_changes(d);
        if (explain) {
            size = spy_explain_draw(r->raster, &desc, items, &options, NULL, 0);
            text = (char *)spyp_arena_take(&call.arena, size + 1);
            if (text) spy_explain_draw(r->raster, &desc, items, &options, text, size + 1);
            spyp_leave(d);
            result = text ? PyUnicode_FromString(text) : NULL;
            spyp_call_end(&call);
            return result;
        }
        bool good = (backward == Py_None ? spy_draw(r->raster, &desc, items, &options)
                                    : spy_draw_backward(r->raster, &desc, items, &options)) == SPY_OK;
        if (good && encoder != Py_None) good = spyp_encoder_keep(encoder, &call, named) == 0;
        else if (!good) spyp_raise_call(d);
        spyp_leave(d);
        if (good && call.updates) good = spyp_give_updates(&call) == 0;
        if (good) result = Py_NewRef(Py_None);
    }
    spyp_call_end(&call);
    return result;
}

// >>the type

static int spyp_raster_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_raster *r = (spyp_raster *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)r->vertex);
    Py_VISIT((PyObject *)r->fragment);
    return 0;
}

static void spyp_raster_dealloc(PyObject *self) {
    spyp_raster *r = (spyp_raster *)self;
    PyObject_GC_UnTrack(self);
    if (r->raster && r->device->device && r->device->fork_count == spyp.fork_count)
        spy_release_raster(r->raster);
    Py_CLEAR(r->vertex);
    Py_CLEAR(r->fragment);
    Py_CLEAR(r->device);
    spyp_free(self);
}

static PyType_Slot spyp_raster_slots[] = {
    { Py_tp_doc, (void *)"A vertex and a fragment function, and how they draw." },
    { Py_tp_dealloc, (void *)spyp_raster_dealloc },
    { Py_tp_traverse, (void *)spyp_raster_traverse },
    { 0, NULL },
};

static PyType_Spec spyp_raster_spec = {
    "slangpy._slangpy._Raster",
    sizeof(spyp_raster),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_raster_slots,
};

// _raster_outputs(raster): returns a bit for each target that the fragment function writes.
static PyObject *spyp_raster_outputs(PyObject *self, PyObject *object) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(object, spyp.raster))
        return PyErr_Format(PyExc_TypeError, "expected a raster, got %R", (PyObject *)Py_TYPE(object));
    spyp_raster *r = (spyp_raster *)object;
    if (spyp_enter(r->device, "create_render_pipeline") < 0) return NULL;
    uint32_t bits = spy_raster_outputs(r->raster);
    spyp_leave(r->device);
    return PyLong_FromUnsignedLong(bits);
}

static PyMethodDef spyp_raster_functions[] = {
    { "_raster_outputs", spyp_raster_outputs, METH_O,
      "_raster_outputs(raster): a bit for each target that the fragment function writes." },
    { "_raster_make", spyp_raster_make, METH_VARARGS,
      "_raster_make(vertex, fragment, numbers, bias, blends, stencil, attributes, layouts, "
      "instance_attributes, label): make a raster of a vertex and a fragment Function." },
    { "_raster_draw", spyp_raster_draw, METH_VARARGS,
      "_raster_draw(raster, targets, depth, view, counts, indices, vertex_buffers, indirect, args, globals, "
      "encoder, gradients): draw, record a draw, or compute a draw's gradients." },
    { NULL, NULL, 0, NULL },
};

int spyp_raster_ready(PyObject *module) {
    spyp.raster = spyp_type_add(module, &spyp_raster_spec, NULL);
    return spyp.raster ? PyModule_AddFunctions(module, spyp_raster_functions) : -1;
}
