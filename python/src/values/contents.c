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

// A view of a contiguous tensor's memory as bytes, from its first element on: to be released.
static spy_tensor *spyp_bytes_view(spy_tensor *tensor, size_t size) {
    spy_view_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape.rank = 1;
    desc.shape.dims[0] = (int64_t)size;
    desc.type = "uint8_t";
    return spy_create_view(tensor, &desc);
}

// Whether an object is an array whose elements lie in memory one after the other, as those of numpy in C's order.
static bool spyp_lies_packed(PyObject *object) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
        PyBuffer_Release(&view);
        return true;
    }
    PyErr_Clear();
    return false;
}

// Copies an array's bytes to the start of a contiguous tensor's memory, whatever its numbers are. Returns 1, or 0 if
// the object is no such array: structured arrays, and whole arrays of the elements' own numbers where these take more
// room on the device (a bool on Vulkan, a half3 on CUDA), are converted. Returns -1 with an exception set.
// Call it inside the device.
static int spyp_tensor_write_bytes(spyp_tensor *t, spyp_arena *arena, PyObject *object, const char *what) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_host_array array;
    size_t each = 1;
    if (!PyObject_CheckBuffer(object)) return 0;
    if (spyp_host_array_get(arena, object, what, &array) < 0) return -1;
    if (array.dtype == SPY_DTYPE_DEFAULT) return 0; // a structured array is copied by the fields of its struct
    const spy_type_info *type = spyp_element_info(t, &info);
    if (PyErr_Occurred()) return -1;
    spy_dtype scalar = type ? spyp_scalar_of(type, &each) : info.dtype;
    size_t room = info.element_size_bytes * (size_t)info.element_count;
    bool padded = scalar && array.dtype == scalar && array.size_bytes == info.host_size_bytes && array.size_bytes != room &&
                  !(type && type->kind == SPY_TYPE_KIND_STRUCT);
    if (!info.is_contiguous || !spyp_lies_packed(object)) {
        PyErr_Format(spyp.value_error,
                     "%s: copies bytes, so %s must be contiguous; tensor.from_numpy(data) copies numbers from and to any strides", what,
                     info.is_contiguous ? "the array" : "the tensor");
        return -1;
    }
    if (padded) return 0;
    if (array.size_bytes > room) {
        PyErr_Format(spyp.value_error, "%s: Shape mismatch: expected at most %zu bytes, got %zu", what, room, array.size_bytes);
        return -1;
    }
    spy_tensor *bytes = array.size_bytes ? spyp_bytes_view(t->tensor, array.size_bytes) : NULL;
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

// The bytes of structs as they lie on the device: an array of uint8 with one more dimension than the tensor. Call it
// inside the device.
static PyObject *spyp_struct_bytes(spyp_tensor *t, PyObject *numpy, const spy_tensor_info *info) {
    size_t size = info->element_size_bytes * (size_t)info->element_count;
    PyObject *outer = spyp_shape_tuple(&info->shape), *last = Py_BuildValue("(n)", (Py_ssize_t)info->element_size_bytes);
    PyObject *shape = outer && last ? PySequence_Concat(outer, last) : NULL;
    PyObject *array = shape ? PyObject_CallMethod(numpy, "empty", "Os", shape, "u1") : NULL;
    Py_XDECREF(outer);
    Py_XDECREF(last);
    Py_XDECREF(shape);
    spy_tensor *packed = NULL, *bytes = NULL;
    Py_buffer view;
    if (!array || !size || PyObject_GetBuffer(array, &view, PyBUF_CONTIG) < 0) return array;
    bool good = spyp_wait_to_read(t->device) == 0;
    if (good && !info->is_contiguous) {
        spy_tensor_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.like = t->tensor;
        packed = spy_create_tensor(t->device->device, &desc);
        good = packed && spy_tensor_copy(packed, t->tensor) == SPY_OK;
    }
    if (good) bytes = spyp_bytes_view(packed ? packed : t->tensor, size);
    if (!bytes || spy_tensor_read(bytes, view.buf, size) != SPY_OK) {
        if (!PyErr_Occurred()) spyp_raise(t->device);
        Py_CLEAR(array);
    }
    PyBuffer_Release(&view);
    spy_release_tensor(bytes);
    spy_release_tensor(packed);
    return array;
}

PyObject *spyp_tensor_to_numpy(spyp_tensor *t, bool structured) {
    PyObject *numpy = spyp_numpy(), *array = NULL, *dtype = NULL;
    spy_shape inner;
    if (!numpy || spyp_enter(t->device, "to_numpy") < 0) {
        Py_XDECREF(numpy);
        return NULL;
    }
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    const spy_type_info *type = spyp_element_info(t, &info);
    if (!PyErr_Occurred()) dtype = spyp_numpy_dtype(type, info.dtype, &inner);
    bool bytes = dtype && !structured && !PyUnicode_Check(dtype);
    if (bytes) array = spyp_struct_bytes(t, numpy, &info);
    else if (dtype && info.shape.rank + inner.rank <= 32) {
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
    if (array && !bytes && info.host_size_bytes && PyObject_GetBuffer(array, &view, PyBUF_CONTIG) == 0) {
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
