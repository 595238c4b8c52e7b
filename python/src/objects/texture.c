// Textures, their views, and samplers. slangpy/resources.py has their Python side.
#include "objects/objects.h"

#include <string.h>

#include "state/cold.h"

// >>what functions are given

static spyp_texture *spyp_texture_of(PyObject *object, const char *what) {
    if (PyObject_TypeCheck(object, spyp.texture)) return (spyp_texture *)object;
    PyErr_Format(PyExc_TypeError, "%s: expected a Texture or TextureView, got %R", what, (PyObject *)Py_TYPE(object));
    return NULL;
}

// Does the same as spyp_texture_of(), for a texture that must belong to `device`.
static spyp_texture *spyp_texture_on(PyObject *object, const spyp_device *device, const char *what) {
    spyp_texture *t = spyp_texture_of(object, what);
    if (!t || t->device == device) return t;
    PyErr_Format(spyp.value_error, "%s: the texture belongs to another device", what);
    return NULL;
}

// Reads (level, layer, layer_count, x, y, z, width, height, depth).
static int spyp_region_parse(PyObject *tuple, spy_texture_region *region) {
    memset(region, 0, sizeof *region);
    return PyArg_ParseTuple(tuple, "IIIIIIIII", &region->level, &region->layer, &region->layer_count,
                            &region->x, &region->y, &region->z, &region->width, &region->height,
                            &region->depth);
}

// The place that work goes to: a command list, or the device if `list` is NULL. Work begins with
// spyp_place_begin(), which returns -1 with an exception set, and ends with spyp_place_done().
typedef struct spyp_place {
    spyp_device *device;
    spy_command_list *list;
} spyp_place;

static int spyp_place_begin(spyp_place *place, spyp_device *device, PyObject *encoder, const char *what) {
    place->device = device;
    place->list = NULL;
    if (encoder && encoder != Py_None && !(place->list = spyp_encoder_list(encoder, device))) {
        spyp_error_behind("%s: ", what);
        return -1;
    }
    return spyp_enter(device, what);
}

// Returns None, or NULL with an exception set.
static PyObject *spyp_place_done(const spyp_place *place, spy_status status) {
    if (status != SPY_OK) spyp_raise(place->device);
    spyp_leave(place->device);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

// >>textures

static PyObject *spyp_texture_wrap(PyTypeObject *type, spyp_device *d, spy_texture *texture) {
    spyp_texture *t = (spyp_texture *)spyp_alloc(type);
    if (!t) {
        spy_release_texture(texture);
        return NULL;
    }
    t->device = (spyp_device *)Py_NewRef((PyObject *)d);
    t->texture = texture;
    t->sampler = Py_NewRef(Py_None);
    return (PyObject *)t;
}

static bool spyp_is_kind_of(PyObject *type, PyTypeObject *base, const char *what) {
    if (PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, base)) return true;
    PyErr_Format(PyExc_TypeError, "%s: expected a kind of %R, got %R", what, (PyObject *)base, type);
    return false;
}

// _texture_make(cls, device, type, format, width, height, depth, array_size, levels, samples, usage, data, label): makes a texture.
static PyObject *spyp_texture_make(PyObject *self, PyObject *args) {
    PyObject *cls, *device, *data, *result = NULL;
    Py_buffer view;
    int type, format;
    spy_texture_desc desc;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    memset(&view, 0, sizeof view);
    if (!PyArg_ParseTuple(args, "OO!iiIIIIIIIOz:create_texture", &cls, spyp.device, &device, &type, &format,
                          &desc.width, &desc.height, &desc.depth, &desc.array_size, &desc.levels,
                          &desc.samples, &desc.usage, &data, &desc.label) ||
        !spyp_is_kind_of(cls, spyp.texture, "create_texture"))
        return NULL;
    if (data != Py_None && PyObject_GetBuffer(data, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    spyp_device *d = (spyp_device *)device;
    desc.type = (spy_texture_type)type;
    desc.format = (spy_format)format;
    desc.data = view.buf;
    desc.data_size_bytes = (size_t)view.len;
    if (spyp_enter(d, "create_texture") == 0) {
        spy_texture *texture = spy_create_texture(d->device, &desc);
        if (!texture) spyp_raise(d);
        spyp_leave(d);
        if (texture) result = spyp_texture_wrap((PyTypeObject *)cls, d, texture);
    }
    if (view.obj) PyBuffer_Release(&view);
    return result;
}

// _texture_view(cls, texture, format, level, level_count, layer, layer_count, with_grad=False): makes a view.
static PyObject *spyp_texture_part(PyObject *self, PyObject *args) {
    PyObject *cls, *object, *result = NULL;
    int format, with_grad = 0;
    spy_texture_view_desc desc;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    if (!PyArg_ParseTuple(args, "OO!iIIII|p:create_view", &cls, spyp.texture, &object, &format, &desc.level,
                          &desc.level_count, &desc.layer, &desc.layer_count, &with_grad) ||
        !spyp_is_kind_of(cls, spyp.texture, "create_view"))
        return NULL;
    spyp_texture *t = (spyp_texture *)object;
    desc.format = (spy_format)format;
    desc.with_grad = with_grad != 0;
    if (spyp_enter(t->device, with_grad ? "Texture.with_grads" : "create_view") < 0) return NULL;
    spy_texture *texture = spy_texture_view(t->texture, &desc);
    if (!texture) spyp_raise(t->device);
    spyp_leave(t->device);
    if (texture) result = spyp_texture_wrap((PyTypeObject *)cls, t->device, texture);
    return result;
}

// _texture_grad(texture, level): the gradient of a level as a Tensor, or None.
static PyObject *spyp_texture_gradient(PyObject *self, PyObject *args) {
    PyObject *object;
    unsigned level;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!I:get_grad", spyp.texture, &object, &level)) return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_enter(t->device, "Texture.get_grad") < 0) return NULL;
    spy_tensor *grad = spy_texture_grad(t->texture, level);
    if (grad) spy_retain_tensor(grad);
    spyp_leave(t->device);
    if (!grad) Py_RETURN_NONE; // levels are checked above
    return spyp_tensor_make(spyp.tensor, t->device, grad, NULL);
}

static PyObject *spyp_texture_zero_gradient(PyObject *self, PyObject *object) {
    spyp_place place;
    spyp_texture *t = spyp_texture_of(object, "Texture.zero_grad");
    SPYP_UNUSED(self);
    if (!t || spyp_place_begin(&place, t->device, NULL, "Texture.zero_grad") < 0) return NULL;
    return spyp_place_done(&place, spy_texture_zero_grad(t->texture));
}

// _texture_info(texture): returns (type, format, width, height, depth, array_size, layer_count, levels, samples, usage, size_bytes,
// shape).
static PyObject *spyp_texture_info(PyObject *self, PyObject *object) {
    spyp_texture *t = spyp_texture_of(object, "Texture");
    SPYP_UNUSED(self);
    if (!t || spyp_enter(t->device, "Texture") < 0) return NULL;
    spy_texture_info info = spy_get_texture_info(t->texture);
    spyp_leave(t->device);
    PyObject *shape = spyp_shape_tuple(&info.shape);
    if (!shape) return NULL;
    return Py_BuildValue("(iiIIIIIIIInN)", (int)info.type, (int)info.format, info.width, info.height,
                         info.depth, info.array_size, info.layer_count, info.levels, info.samples, info.usage,
                         (Py_ssize_t)info.size_bytes, shape);
}

// _texture_native(texture, view): the driver's image of a texture, or the driver's view of it.
static PyObject *spyp_texture_native(PyObject *self, PyObject *args) {
    PyObject *object;
    int view;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!p:native_handle", spyp.texture, &object, &view)) return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_enter(t->device, "native_handle") < 0) return NULL;
    uint64_t handle = view ? spy_texture_native_view(t->texture) : spy_texture_native_image(t->texture);
    if (!handle) spyp_raise(t->device);
    spyp_leave(t->device);
    return handle ? PyLong_FromUnsignedLongLong(handle) : NULL;
}

// _handle_of(object, writable=False, sampler=None): returns the 8 bytes of the DescriptorHandle of a texture, sampler or tensor.
static PyObject *spyp_handle_of(PyObject *self, PyObject *args) {
    PyObject *object, *sampler = Py_None;
    int writable = 0;
    uint64_t handle = 0;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O|pO:descriptor_handle", &object, &writable, &sampler)) return NULL;
    bool texture = PyObject_TypeCheck(object, spyp.texture), tensor = PyObject_TypeCheck(object, spyp.tensor);
    if (!texture && !tensor && !PyObject_TypeCheck(object, spyp.sampler))
        return PyErr_Format(PyExc_TypeError, "descriptor_handle: expected a texture, sampler or tensor");
    if (sampler != Py_None && !PyObject_TypeCheck(sampler, spyp.sampler))
        return PyErr_Format(PyExc_TypeError, "descriptor_handle: expected a Sampler");
    spyp_device *device = texture  ? ((spyp_texture *)object)->device
                          : tensor ? ((spyp_tensor *)object)->device
                                   : ((spyp_sampler *)object)->device;
    if (spyp_enter(device, "descriptor_handle") < 0) return NULL;
    spy_status status = tensor     ? spy_tensor_handle(((spyp_tensor *)object)->tensor, &handle)
                        : !texture ? spy_sampler_handle(((spyp_sampler *)object)->sampler, &handle)
                        : sampler != Py_None
                            ? spy_sampled_texture_handle(((spyp_texture *)object)->texture, ((spyp_sampler *)sampler)->sampler, &handle)
                            : spy_texture_handle(((spyp_texture *)object)->texture, writable != 0, &handle);
    if (status != SPY_OK) spyp_raise(device);
    spyp_leave(device);
    return status == SPY_OK ? PyLong_FromUnsignedLongLong(handle) : NULL;
}

// _sampler_native(sampler): returns the driver's sampler; 0 if it has none.
static PyObject *spyp_sampler_native(PyObject *self, PyObject *object) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(object, spyp.sampler)) return PyErr_Format(PyExc_TypeError, "native_handle: expected a Sampler");
    spyp_sampler *s = (spyp_sampler *)object;
    if (spyp_enter(s->device, "native_handle") < 0) return NULL;
    uint64_t handle = spy_sampler_native(s->sampler);
    spyp_leave(s->device);
    return PyLong_FromUnsignedLongLong(handle);
}

// _texture_write(texture, region, data, encoder=None): copies bytes to a texture.
static PyObject *spyp_texture_write(PyObject *self, PyObject *args) {
    PyObject *object, *tuple, *encoder = NULL, *result = NULL;
    spy_texture_region region;
    spyp_place place;
    Py_buffer data;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!O!y*|O:copy_from_numpy", spyp.texture, &object, &PyTuple_Type, &tuple,
                          &data, &encoder))
        return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_region_parse(tuple, &region) &&
        spyp_place_begin(&place, t->device, encoder, "upload_texture_data") == 0) {
        spy_status status =
            place.list
                ? spy_list_texture_write(place.list, t->texture, &region, data.buf, (size_t)data.len)
                : spy_texture_write(t->texture, &region, data.buf, (size_t)data.len);
        result = spyp_place_done(&place, status);
    }
    PyBuffer_Release(&data);
    return result;
}

// _texture_read(texture, region, out): fills a contiguous writable array.
static PyObject *spyp_texture_read(PyObject *self, PyObject *args) {
    PyObject *object, *tuple, *result = NULL;
    spy_texture_region region;
    Py_buffer out;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!O!w*:to_numpy", spyp.texture, &object, &PyTuple_Type, &tuple, &out))
        return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_region_parse(tuple, &region) && spyp_enter(t->device, "Texture.to_numpy") == 0) {
        bool good = spyp_wait_to_read(t->device) == 0;
        if (good && spy_texture_read(t->texture, &region, out.buf, (size_t)out.len) != SPY_OK) {
            spyp_raise(t->device);
            good = false;
        }
        spyp_leave(t->device);
        if (good) result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
    return result;
}

// _texture_copy(to, to_region, from, from_region, encoder=None): copies texels between textures.
static PyObject *spyp_texture_copy(PyObject *self, PyObject *args) {
    PyObject *to, *to_tuple, *from, *from_tuple, *encoder = NULL;
    spy_texture_region to_region, from_region;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!O!OO!|O:copy_texture", spyp.texture, &to, &PyTuple_Type, &to_tuple, &from,
                          &PyTuple_Type, &from_tuple, &encoder) ||
        !spyp_region_parse(to_tuple, &to_region) || !spyp_region_parse(from_tuple, &from_region))
        return NULL;
    spyp_texture *dst = (spyp_texture *)to, *src = spyp_texture_on(from, dst->device, "copy_texture");
    if (!src || spyp_place_begin(&place, dst->device, encoder, "copy_texture") < 0) return NULL;
    spy_status status = place.list ? spy_list_texture_copy(place.list, dst->texture, &to_region, src->texture,
                                                           &from_region)
                                   : spy_texture_copy(dst->texture, &to_region, src->texture, &from_region);
    return spyp_place_done(&place, status);
}

// _texture_copy_buffer(to_buffer, texture, region, buffer, offset, row_pitch, encoder=None): copies between a
// texture and bytes of a tensor.
static PyObject *spyp_texture_copy_buffer(PyObject *self, PyObject *args) {
    static const char *const names[] = { "copy_buffer_to_texture", "copy_texture_to_buffer" };
    PyObject *object, *tuple, *buffer, *encoder = NULL;
    int to_buffer;
    long long offset, pitch;
    spy_texture_region region;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "pO!O!O!LL|O:copy_texture_to_buffer", &to_buffer, spyp.texture, &object,
                          &PyTuple_Type, &tuple, spyp.tensor, &buffer, &offset, &pitch, &encoder) ||
        !spyp_region_parse(tuple, &region))
        return NULL;
    const char *what = names[to_buffer ? 1 : 0];
    spyp_texture *t = (spyp_texture *)object;
    if (!spyp_tensor_is_of(buffer, t->device, what, "buffer")) return NULL;
    if (offset < 0 || pitch < 0)
        return PyErr_Format(spyp.value_error, "%s: expected an offset and a row pitch of 0 or more, got %lld and %lld",
                            what, offset, pitch);
    if (spyp_place_begin(&place, t->device, encoder, what) < 0) return NULL;
    spy_tensor *b = ((spyp_tensor *)buffer)->tensor;
    size_t at = (size_t)offset, row = (size_t)pitch;
    spy_status status;
    if (to_buffer)
        status = place.list ? spy_list_texture_copy_to_tensor(place.list, t->texture, &region, b, at, row)
                            : spy_texture_copy_to_tensor(t->texture, &region, b, at, row);
    else
        status = place.list ? spy_list_texture_copy_from_tensor(place.list, t->texture, &region, b, at, row)
                            : spy_texture_copy_from_tensor(t->texture, &region, b, at, row);
    return spyp_place_done(&place, status);
}

// _texture_clear(texture, kind, (r, g, b, a), encoder=None): clears to a color. `kind` is the type of the color's values: "f", "u" or
// "i".
static PyObject *spyp_texture_clear_to(PyObject *self, PyObject *args) {
    PyObject *object, *tuple, *encoder = NULL;
    const char *kind;
    spy_clear_color color;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!sO!|O:clear_texture", spyp.texture, &object, &kind, &PyTuple_Type, &tuple,
                          &encoder))
        return NULL;
    int read = kind[0] == 'f' ? PyArg_ParseTuple(tuple, "ffff", &color.floats[0], &color.floats[1],
                                                 &color.floats[2], &color.floats[3])
               : kind[0] == 'u' ? PyArg_ParseTuple(tuple, "IIII", &color.uints[0], &color.uints[1],
                                                   &color.uints[2], &color.uints[3])
                                : PyArg_ParseTuple(tuple, "iiii", &color.ints[0], &color.ints[1],
                                                   &color.ints[2], &color.ints[3]);
    spyp_texture *t = (spyp_texture *)object;
    if (!read || spyp_place_begin(&place, t->device, encoder, "clear_texture") < 0) return NULL;
    spy_status status = place.list ? spy_list_texture_clear(place.list, t->texture, color)
                                   : spy_texture_clear(t->texture, color);
    return spyp_place_done(&place, status);
}

// _texture_clear_depth(texture, depth, stencil, encoder=None): clears a depth texture.
static PyObject *spyp_texture_clear_depth_to(PyObject *self, PyObject *args) {
    PyObject *object, *encoder = NULL;
    float depth;
    unsigned int stencil;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!fI|O:clear_texture_depth_stencil", spyp.texture, &object, &depth, &stencil,
                          &encoder))
        return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_place_begin(&place, t->device, encoder, "clear_texture_depth_stencil") < 0) return NULL;
    spy_status status = place.list ? spy_list_texture_clear_depth(place.list, t->texture, depth, stencil)
                                   : spy_texture_clear_depth(t->texture, depth, stencil);
    return spyp_place_done(&place, status);
}

// _texture_blit(to, from, filter, encoder=None): copies with scaling. filter: 0 is nearest, 1 linear, -1 averages the samples of a
// multisampled texture.
static PyObject *spyp_texture_blit_to(PyObject *self, PyObject *args) {
    PyObject *to, *from, *encoder = NULL;
    int filter;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "OOi|O:blit", &to, &from, &filter, &encoder)) return NULL;
    spyp_texture *dst = spyp_texture_of(to, "blit");
    spyp_texture *src = dst ? spyp_texture_on(from, dst->device, "blit") : NULL;
    if (!src || spyp_place_begin(&place, dst->device, encoder, "blit") < 0) return NULL;
    spy_filter how = filter == 1 ? SPY_FILTER_LINEAR : SPY_FILTER_NEAREST;
    spy_status status;
    if (filter < 0)
        status = place.list ? spy_list_texture_resolve(place.list, dst->texture, src->texture)
                            : spy_texture_resolve(dst->texture, src->texture);
    else
        status = place.list ? spy_list_texture_blit(place.list, dst->texture, src->texture, how)
                            : spy_texture_blit(dst->texture, src->texture, how);
    return spyp_place_done(&place, status);
}

// _texture_mips(texture, encoder=None): computes the levels of a texture.
static PyObject *spyp_texture_mips(PyObject *self, PyObject *args) {
    PyObject *object, *encoder = NULL;
    spyp_place place;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!|O:generate_mips", spyp.texture, &object, &encoder)) return NULL;
    spyp_texture *t = (spyp_texture *)object;
    if (spyp_place_begin(&place, t->device, encoder, "generate_mips") < 0) return NULL;
    return spyp_place_done(&place, place.list ? spy_list_texture_generate_mips(place.list, t->texture)
                                              : spy_texture_generate_mips(t->texture));
}

// _format_support(device, format): returns the SPY_TEXTURE_USAGE_* that the device supports for the format.
static PyObject *spyp_format_support(PyObject *self, PyObject *args) {
    PyObject *device;
    int format;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!i:get_format_support", spyp.device, &device, &format) ||
        spyp_enter((spyp_device *)device, "get_format_support") < 0)
        return NULL;
    uint32_t bits = spy_format_support(((spyp_device *)device)->device, (spy_format)format);
    spyp_leave((spyp_device *)device);
    return PyLong_FromUnsignedLong(bits);
}

static int spyp_texture_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_texture *)self)->device);
    Py_VISIT(((spyp_texture *)self)->sampler);
    return 0;
}

static void spyp_texture_dealloc(PyObject *self) {
    spyp_texture *t = (spyp_texture *)self;
    PyObject_GC_UnTrack(self);
    if (t->weakrefs) PyObject_ClearWeakRefs(self);
    if (t->texture && t->device->device && t->device->fork_count == spyp.fork_count)
        spy_release_texture(t->texture);
    Py_CLEAR(t->sampler);
    Py_CLEAR(t->device);
    spyp_free(self);
}

static PyObject *spyp_texture_get_device(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_texture *)self)->device);
}

// >>samplers

// _sampler_make(cls, device, (min, mag, mip), (u, v, w), compare, reduction, anisotropy, bias, least, most, border, label): makes a
// sampler. Filters, modes and the other enums are slangpy.h's numbers.
static PyObject *spyp_sampler_make(PyObject *self, PyObject *args) {
    PyObject *cls, *device;
    int filters[3], modes[3], compare, reduction;
    spy_sampler_desc desc;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    if (!PyArg_ParseTuple(args, "OO!(iii)(iii)iiIfff(ffff)z:create_sampler", &cls, spyp.device, &device,
                          &filters[0], &filters[1], &filters[2], &modes[0], &modes[1], &modes[2], &compare,
                          &reduction, &desc.max_anisotropy, &desc.mip_bias, &desc.min_level, &desc.max_level,
                          &desc.border[0], &desc.border[1], &desc.border[2], &desc.border[3], &desc.label) ||
        !spyp_is_kind_of(cls, spyp.sampler, "create_sampler"))
        return NULL;
    desc.min_filter = (spy_filter)filters[0];
    desc.mag_filter = (spy_filter)filters[1];
    desc.mip_filter = (spy_filter)filters[2];
    desc.address_u = (spy_address_mode)modes[0];
    desc.address_v = (spy_address_mode)modes[1];
    desc.address_w = (spy_address_mode)modes[2];
    desc.compare = (spy_compare)compare;
    desc.reduction = (spy_reduction)reduction;
    spyp_device *d = (spyp_device *)device;
    if (spyp_enter(d, "create_sampler") < 0) return NULL;
    spy_sampler *sampler = spy_create_sampler(d->device, &desc);
    if (!sampler) spyp_raise(d);
    spyp_leave(d);
    spyp_sampler *made = sampler ? (spyp_sampler *)spyp_alloc((PyTypeObject *)cls) : NULL;
    if (!made) {
        spy_release_sampler(sampler);
        return NULL;
    }
    made->device = (spyp_device *)Py_NewRef(device);
    made->sampler = sampler;
    return (PyObject *)made;
}

static int spyp_sampler_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_sampler *)self)->device);
    return 0;
}

static void spyp_sampler_dealloc(PyObject *self) {
    spyp_sampler *s = (spyp_sampler *)self;
    PyObject_GC_UnTrack(self);
    if (s->weakrefs) PyObject_ClearWeakRefs(self);
    if (s->sampler && s->device->device && s->device->fork_count == spyp.fork_count)
        spy_release_sampler(s->sampler);
    Py_CLEAR(s->device);
    spyp_free(self);
}

static PyObject *spyp_sampler_get_device(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_sampler *)self)->device);
}

// >>types

static PyMethodDef spyp_texture_functions[] = {
    { "_texture_make", spyp_texture_make, METH_VARARGS,
      "_texture_make(cls, device, type, format, width, height, depth, array_size, levels, samples, usage, "
      "data, label): make a texture." },
    { "_texture_view", spyp_texture_part, METH_VARARGS,
      "_texture_view(cls, texture, format, level, level_count, layer, layer_count, with_grad=False): make a texture over a part of "
      "another one." },
    { "_texture_grad", spyp_texture_gradient, METH_VARARGS,
      "_texture_grad(texture, level): the gradient of a texture's level, a Tensor or None." },
    { "_texture_zero_grad", spyp_texture_zero_gradient, METH_O,
      "_texture_zero_grad(texture): set a texture's gradient to zero." },
    { "_texture_info", spyp_texture_info, METH_O,
      "_texture_info(texture): (type, format, width, height, depth, array_size, layer_count, levels, samples, usage, size_bytes, "
      "shape) of a texture." },
    { "_texture_native", spyp_texture_native, METH_VARARGS,
      "_texture_native(texture, view): the driver's image of a texture, or the driver's view of it." },
    { "_handle_of", spyp_handle_of, METH_VARARGS,
      "_handle_of(object, writable=False, sampler=None): the 8 bytes of an object's DescriptorHandle." },
    { "_sampler_native", spyp_sampler_native, METH_O, "_sampler_native(sampler): the driver's sampler, or 0." },
    { "_texture_write", spyp_texture_write, METH_VARARGS,
      "_texture_write(texture, region, data, encoder=None): copy bytes to a texture." },
    { "_texture_read", spyp_texture_read, METH_VARARGS,
      "_texture_read(texture, region, out): copy a texture's bytes to a writable array." },
    { "_texture_copy", spyp_texture_copy, METH_VARARGS,
      "_texture_copy(to, to_region, from, from_region, encoder=None): copy texels between textures." },
    { "_texture_copy_buffer", spyp_texture_copy_buffer, METH_VARARGS,
      "_texture_copy_buffer(to_buffer, texture, region, buffer, offset, row_pitch, encoder=None): copy bytes between a buffer and a "
      "texture." },
    { "_texture_clear", spyp_texture_clear_to, METH_VARARGS,
      "_texture_clear(texture, kind, color, encoder=None): set all texels of a texture to a color." },
    { "_texture_clear_depth", spyp_texture_clear_depth_to, METH_VARARGS,
      "_texture_clear_depth(texture, depth, stencil, encoder=None): set all texels of a depth texture." },
    { "_texture_blit", spyp_texture_blit_to, METH_VARARGS,
      "_texture_blit(to, from, filter, encoder=None): copy a texture to another with scaling and conversion; filter -1 averages "
      "samples." },
    { "_texture_mips", spyp_texture_mips, METH_VARARGS,
      "_texture_mips(texture, encoder=None): compute each level of a texture from the level before." },
    { "_format_support", spyp_format_support, METH_VARARGS,
      "_format_support(device, format): the uses that a device supports for a format." },
    { "_sampler_make", spyp_sampler_make, METH_VARARGS,
      "_sampler_make(cls, device, filters, modes, compare, reduction, anisotropy, bias, least, most, border, "
      "label): make a sampler." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef spyp_texture_members[] = {
    { "sampler", Py_T_OBJECT_EX, offsetof(spyp_texture, sampler), 0,
      "The Sampler that goes with it to parameters such as Sampler2D<T>, or None." },
    { "__weaklistoffset__", Py_T_PYSSIZET, offsetof(spyp_texture, weakrefs), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyMemberDef spyp_sampler_members[] = {
    { "__weaklistoffset__", Py_T_PYSSIZET, offsetof(spyp_sampler, weakrefs), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef spyp_texture_getset[] = {
    { "device", spyp_texture_get_device, NULL, "The Device that the texture was made on.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyGetSetDef spyp_sampler_getset[] = {
    { "device", spyp_sampler_get_device, NULL, "The Device that the sampler was made on.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_texture_slots[] = {
    { Py_tp_doc, (void *)"A texture, or a view of a texture." },
    { Py_tp_dealloc, (void *)spyp_texture_dealloc },
    { Py_tp_traverse, (void *)spyp_texture_traverse },
    { Py_tp_getset, spyp_texture_getset },
    { Py_tp_members, spyp_texture_members },
    { 0, NULL },
};

static PyType_Spec spyp_texture_spec = {
    "slangpy._slangpy._Texture",
    sizeof(spyp_texture),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_texture_slots,
};

static PyType_Slot spyp_sampler_slots[] = {
    { Py_tp_doc, (void *)"A sampler: how textures are sampled." },
    { Py_tp_dealloc, (void *)spyp_sampler_dealloc },
    { Py_tp_traverse, (void *)spyp_sampler_traverse },
    { Py_tp_getset, spyp_sampler_getset },
    { Py_tp_members, spyp_sampler_members },
    { 0, NULL },
};

static PyType_Spec spyp_sampler_spec = {
    "slangpy._slangpy._Sampler",
    sizeof(spyp_sampler),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_sampler_slots,
};

int spyp_texture_ready(PyObject *module) {
    spyp.texture = spyp_type_add(module, &spyp_texture_spec, NULL);
    spyp.sampler = spyp_type_add(module, &spyp_sampler_spec, NULL);
    return spyp.texture && spyp.sampler ? PyModule_AddFunctions(module, spyp_texture_functions) : -1;
}
