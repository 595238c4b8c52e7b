// Tensors as values: creation, and copies of their contents to and from host memory.
#include "values/values.h"

#include <string.h>

PyObject *spyp_tensor_make(PyTypeObject *type, spyp_device *device, spy_tensor *tensor, PyObject *module) {
    spyp_tensor *t = (spyp_tensor *)spyp_alloc(type);
    if (!t) {
        spy_release_tensor(tensor);
        return NULL;
    }
    t->device = (spyp_device *)Py_NewRef((PyObject *)device);
    t->tensor = tensor;
    t->module = Py_XNewRef(module);
    return (PyObject *)t;
}

int spyp_tensor_set_usage(PyObject *tensor, PyObject *usage) {
    static const long shader_resource = 8, unordered_access = 16; // BufferUsage in enums.py
    PyObject *value = !usage || usage == Py_None  ? NULL
                      : PyLong_Check(usage)       ? Py_NewRef(usage)
                                                  : PyObject_GetAttrString(usage, "value");
    long bits = value ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    if (PyErr_Occurred()) return -1;
    ((spyp_tensor *)tensor)->usage = (int)bits;
    ((spyp_tensor *)tensor)->read_only = (bits & shader_resource) && !(bits & unordered_access);
    return 0;
}

static spy_tensor *spyp_tensor_root(const spyp_tensor *t) {
    return t->root ? t->root : t->tensor;
}

void spyp_tensor_set_root(spyp_tensor *t, const spyp_tensor *of) {
    spy_tensor *old = t->root, *root = spyp_tensor_root(of);
    spy_retain_tensor(root);
    t->root = root;
    spy_release_tensor(old);
}

spy_tensor *spyp_tensor_whole(spyp_tensor *t, uint64_t *before_bytes) {
    *before_bytes = 0;
    if (!t->root) return t->tensor;
    // After point_to() the root may have other memory than this view.
    uint64_t begin = spy_tensor_address(t->root), at = begin ? spy_tensor_address(t->tensor) : 0;
    spy_tensor_info info = spy_get_tensor_info(t->root);
    if (!begin) (void)spy_take_error(t->device->device); // the device has no addresses
    if (!begin || !info.is_contiguous || at < begin || at - begin > (uint64_t)info.element_count * info.element_size_bytes) return t->tensor;
    *before_bytes = at - begin;
    return t->root;
}

PyObject *spyp_tensor_make_view(PyTypeObject *type, spyp_tensor *of, spy_tensor *view, PyObject *module) {
    PyObject *made = spyp_tensor_make(type, of->device, view, module);
    if (!made) return NULL;
    ((spyp_tensor *)made)->owner = Py_XNewRef(of->owner);
    ((spyp_tensor *)made)->read_only = of->read_only;
    ((spyp_tensor *)made)->usage = of->usage;
    ((spyp_tensor *)made)->memory = of->memory;
    spyp_tensor_set_root((spyp_tensor *)made, of);
    return made;
}

// Classes that are written in Python, such as Buffer, have attributes that a view lacks. So a view is a
// Tensor or an NDBuffer.
PyTypeObject *spyp_view_type(PyObject *self) {
    return PyObject_TypeCheck(self, spyp.ndbuffer) ? spyp.ndbuffer : spyp.tensor;
}

PyObject *spyp_tensor_like(PyObject *type, PyObject *other, bool zeroed, const char *what) {
    spy_tensor_desc desc;
    if (!PyObject_TypeCheck(other, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "%s: argument 'other': expected a Tensor, got %R", what, (PyObject *)Py_TYPE(other));
    spyp_tensor *t = (spyp_tensor *)other;
    memset(&desc, 0, sizeof desc);
    desc.like = t->tensor;
    desc.zeroed = zeroed;
    if (spyp_enter(t->device, what) < 0) return NULL;
    spy_tensor *tensor = spy_create_tensor(t->device->device, &desc);
    if (!tensor) spyp_raise(t->device);
    spyp_leave(t->device);
    return tensor ? spyp_tensor_make((PyTypeObject *)type, t->device, tensor, t->module) : NULL;
}

PyObject *spyp_tensor_copy(spyp_tensor *t, const char *what) {
    PyObject *made = spyp_tensor_like((PyObject *)spyp_view_type((PyObject *)t), (PyObject *)t, false, what);
    if (!made || spyp_enter(t->device, what) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    spy_status status = spy_tensor_copy(((spyp_tensor *)made)->tensor, t->tensor);
    if (status != SPY_OK) spyp_raise(t->device);
    spyp_leave(t->device);
    if (status != SPY_OK) Py_CLEAR(made);
    return made;
}

// >>host data

// Returns the element type. Returns NULL for scalars, or with an exception set. Call it inside the device.
const spy_type_info *spyp_element_info(spyp_tensor *t, const spy_tensor_info *info) {
    if (info->dtype != SPY_DTYPE_DEFAULT) return NULL;
    spyp_module *module = t->module ? (spyp_module *)Py_NewRef(t->module) : t->device->above->default_module(t->device);
    const spy_type_info *type = module ? spy_reflect_type(module->module, info->type) : NULL;
    if (module && !type) spyp_raise(t->device);
    SPYP_DECREF(module);
    return type;
}

// Copies host data into the tensor. Numbers are converted, and fields of structs are found by their names.
// Call it inside the device.
static int spyp_tensor_write_from(spyp_tensor *t, spyp_arena *arena, PyObject *object, const char *what) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    const spy_type_info *type = spyp_element_info(t, &info);
    if (PyErr_Occurred()) return -1;
    if (type && info.element_count && info.host_size_bytes != (size_t)info.element_count * type->size_bytes) {
        PyErr_Format(spyp.error, "%s: %s changed its layout since the tensor was made", what, info.type);
        return -1;
    }
    spyp_host_array array;
    size_t each;
    spy_dtype scalar = type ? spyp_scalar_of(type, &each) : info.dtype;
    const void *data = NULL;
    // Numbers of the right type are copied from the buffer itself.
    if (scalar && PyObject_CheckBuffer(object)) {
        if (spyp_host_array_get(arena, object, what, &array) < 0) return -1;
        if (array.dtype == scalar && array.size_bytes == info.host_size_bytes) data = array.data;
    }
    if (!data) {
        char *packed = (char *)spyp_arena_take(arena, info.host_size_bytes);
        if (!packed || spyp_pack_values(arena, type, info.dtype, object, info.element_count, packed, what) < 0) return -1;
        data = packed;
    }
    if (spy_tensor_write(t->tensor, data, info.host_size_bytes) == SPY_OK) return 0;
    spyp_raise(t->device);
    return -1;
}

// Copies an array's bytes to the start of a contiguous tensor's memory. Returns 1, or 0 if the array has as many numbers as the tensor, or
// if `object` is no array, or -1 with an exception set. Call it inside the device.
static int spyp_tensor_write_bytes(spyp_tensor *t, spyp_arena *arena, PyObject *object, const char *what) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_host_array array;
    size_t each = 1;
    int64_t count = 1;
    if (!PyObject_CheckBuffer(object)) return 0;
    if (spyp_host_array_get(arena, object, what, &array) < 0) return -1;
    if (array.dtype == SPY_DTYPE_DEFAULT) return 0; // a structured array is copied by the fields of its struct
    const spy_type_info *type = spyp_element_info(t, &info);
    if (PyErr_Occurred()) return -1;
    spy_dtype scalar = type ? spyp_scalar_of(type, &each) : info.dtype;
    for (uint32_t i = 0; i < array.shape.rank; i++) count *= array.shape.dims[i];
    if (scalar && count == info.element_count * (int64_t)each) return 0;
    if (!scalar && array.size_bytes == info.host_size_bytes) {
        if (spy_tensor_write(t->tensor, array.data, array.size_bytes) == SPY_OK) return 1;
        spyp_raise(t->device);
        return -1;
    }
    size_t room = info.element_size_bytes * (size_t)info.element_count;
    if (array.size_bytes > room || !info.is_contiguous) {
        PyErr_Format(spyp.value_error, "%s: Shape mismatch: expected %lld numbers, got %lld; bytes are copied if there are no more than %zu%s, got %zu",
                     what, (long long)(info.element_count * (int64_t)each), (long long)count, room,
                     info.is_contiguous ? "" : " and the tensor is contiguous", array.size_bytes);
        return -1;
    }
    spy_view_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape.rank = 1;
    desc.shape.dims[0] = (int64_t)array.size_bytes;
    desc.type = "uint8_t";
    spy_tensor *bytes = array.size_bytes ? spy_create_view(t->tensor, &desc) : NULL;
    bool good = !array.size_bytes || (bytes && spy_tensor_write(bytes, array.data, array.size_bytes) == SPY_OK);
    if (!good) spyp_raise(t->device);
    spy_release_tensor(bytes);
    return good ? 1 : -1;
}

static int spyp_tensor_fill(spyp_tensor *t, PyObject *object, bool bytes, const char *what) {
    spyp_arena arena;
    int status = -1;
    spyp_arena_begin(&arena);
    if (spyp_enter(t->device, what) == 0) {
        status = bytes ? spyp_tensor_write_bytes(t, &arena, object, what) : 0;
        if (status == 0) status = spyp_tensor_write_from(t, &arena, object, what);
        spyp_leave(t->device);
    }
    spyp_arena_end(&arena);
    return status < 0 ? -1 : 0;
}

int spyp_tensor_fill_from(spyp_tensor *t, PyObject *object, const char *what) {
    return spyp_tensor_fill(t, object, false, what);
}

int spyp_tensor_copy_bytes_from(spyp_tensor *t, PyObject *object, const char *what) {
    return spyp_tensor_fill(t, object, true, what);
}

int spyp_outer_shape(const spy_type_info *info, const spy_shape *sizes, spy_shape *outer, const char *what) {
    spy_shape inner;
    size_t each;
    const spy_type_info *base = spyp_inner_shape(info, &inner);
    if (base && base->kind == SPY_TYPE_KIND_STRUCT && spyp_scalar_of(base, &each)) inner.dims[inner.rank++] = (int64_t)each;
    *outer = *sizes;
    bool same = sizes->rank >= inner.rank;
    if (same) outer->rank = sizes->rank - inner.rank;
    for (uint32_t i = 0; same && i < inner.rank; i++) same = sizes->dims[outer->rank + i] == inner.dims[i];
    if (same) return 0;
    PyObject *expected = spyp_shape_tuple(&inner), *given = spyp_shape_tuple(sizes);
    if (expected && given)
        PyErr_Format(spyp.value_error, "%s: Shape mismatch: expected an array that ends in %R for %s, got %R", what, expected, info->name, given);
    Py_XDECREF(expected);
    Py_XDECREF(given);
    return -1;
}

PyObject *spyp_tensor_to_numpy(spyp_tensor *t) {
    PyObject *numpy = spyp_numpy(), *array = NULL, *dtype = NULL;
    spy_shape inner;
    if (!numpy || spyp_enter(t->device, "to_numpy") < 0) {
        Py_XDECREF(numpy);
        return NULL;
    }
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    const spy_type_info *type = spyp_element_info(t, &info);
    if (!PyErr_Occurred()) dtype = spyp_numpy_dtype(type, info.dtype, &inner);
    if (dtype && info.shape.rank + inner.rank <= 32) {
        PyObject *outer = spyp_shape_tuple(&info.shape), *more = spyp_shape_tuple(&inner);
        PyObject *shape = outer && more ? PySequence_Concat(outer, more) : NULL;
        // Structs may have gaps, so the memory begins with zeros.
        if (shape && PyUnicode_Check(dtype)) array = spyp_empty_array(numpy, shape, dtype, info.host_size_bytes);
        else if (shape) array = PyObject_CallMethod(numpy, "zeros", "OO", shape, dtype);
        Py_XDECREF(outer);
        Py_XDECREF(more);
        Py_XDECREF(shape);
    }
    Py_buffer view;
    if (array && info.host_size_bytes && PyObject_GetBuffer(array, &view, PyBUF_CONTIG) == 0) {
        bool good = spyp_wait_to_read(t->device) == 0;
        if (good && spy_tensor_read(t->tensor, view.buf, info.host_size_bytes) != SPY_OK) good = spyp_raise(t->device) != NULL;
        PyBuffer_Release(&view);
        if (!good) Py_CLEAR(array);
    }
    if (PyErr_Occurred()) Py_CLEAR(array);
    spyp_leave(t->device);
    Py_XDECREF(dtype);
    Py_DECREF(numpy);
    return array;
}
