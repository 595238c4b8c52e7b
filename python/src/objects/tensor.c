// The classes Tensor and NDBuffer: N-dimensional arrays in device memory.
#include "objects/objects.h"
#include "objects/reflection.h"
#include "values/math_view.h"

#include <string.h>

// >>making tensors

// Makes a tensor. `dtype` is None, or anything that spyp_dtype_parse() knows. Call it outside the device.
static PyObject *spyp_tensor_create(PyTypeObject *type, spyp_device *d, const spy_shape *shape, PyObject *dtype, bool zeroed, const char *what) {
    spyp_dtype parsed;
    spy_tensor_desc desc;
    PyObject *result = NULL;
    if (dtype == Py_None) return PyErr_Format(spyp.value_error, "%s: argument 'dtype': expected a type, got None", what);
    if (spyp_dtype_parse(dtype, what, "dtype", &parsed) < 0) return NULL;
    spyp_module *from = parsed.from;
    spyp_module *standard = NULL;
    memset(&desc, 0, sizeof desc);
    desc.shape = *shape;
    desc.zeroed = zeroed;
    if (parsed.scalar) desc.dtype = parsed.scalar;
    else desc.type = parsed.type;
    desc.module = parsed.scalar ? NULL : parsed.module;
    if (desc.type && !desc.module) {
        standard = spyp_module_default(d);
        desc.module = standard ? standard->module : NULL;
    }
    if (from && from->device != d) {
        PyErr_Format(spyp.value_error, "%s: argument 'dtype': %s belongs to a module of another device", what, parsed.type);
    } else if ((!desc.type || desc.module) && spyp_enter(d, what) == 0) {
        spy_tensor *tensor = spy_create_tensor(d->device, &desc);
        if (!tensor) spyp_raise(d);
        spyp_leave(d);
        if (tensor) result = spyp_tensor_make(type, d, tensor, (PyObject *)from);
    }
    SPYP_DECREF(standard);
    Py_XDECREF(parsed.keeps);
    return result;
}

// Stores the memory type that a tensor is made with, a MemoryType or NULL. It is only for the property, because the memory is on the device
// in any case.
static int spyp_tensor_set_memory(PyObject *tensor, PyObject *memory) {
    PyObject *value = !memory || memory == Py_None ? NULL : PyLong_Check(memory) ? Py_NewRef(memory) : PyObject_GetAttrString(memory, "value");
    if (value) ((spyp_tensor *)tensor)->memory = (int)PyLong_AsLong(value);
    Py_XDECREF(value);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *spyp_tensor_fresh(PyObject *type_object, PyObject *args, PyObject *kwargs, bool zeroed, const char *what) {
    static char *names[] = { "device", "shape", "dtype", "usage", "memory_type", "element_count", "program_layout", NULL };
    PyObject *device, *shape = Py_None, *dtype = NULL, *usage = NULL, *memory = NULL, *count = Py_None, *layout = Py_None;
    spy_shape sizes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOOOO", names, &device, &shape, &dtype, &usage, &memory, &count, &layout)) return NULL;
    if (layout != Py_None && dtype && PyUnicode_Check(dtype)) { // the name of a type of the program that `layout` describes
        PyObject *type = PyObject_CallMethod(layout, "find_type_by_name", "O", dtype);
        PyObject *made = !type ? NULL : type == Py_None ? PyErr_Format(spyp.value_error, "%s: argument 'dtype': the program has no type %R", what, dtype)
                                                        : PyObject_CallMethod(type_object, zeroed ? "zeros" : "empty", "OOOOOO", device, shape, type,
                                                                              usage ? usage : Py_None, memory ? memory : Py_None, count);
        Py_XDECREF(type);
        return made;
    }
    spyp_device *d = spyp_device_of(device, what);
    if (!d) return NULL;
    if (shape == Py_None) shape = count;
    if (shape == Py_None) return PyErr_Format(spyp.value_error, "%s: argument 'shape' not specified", what);
    if (spyp_shape_parse(shape, what, &sizes) < 0) return NULL;
    PyObject *made = spyp_tensor_create((PyTypeObject *)type_object, d, &sizes, dtype, zeroed, what);
    if (made && (spyp_tensor_set_usage(made, usage) < 0 || spyp_tensor_set_memory(made, memory) < 0)) Py_CLEAR(made);
    return made;
}

static PyObject *spyp_tensor_empty(PyObject *type, PyObject *args, PyObject *kwargs) {
    return spyp_tensor_fresh(type, args, kwargs, false, "Tensor.empty");
}

static PyObject *spyp_tensor_zeros(PyObject *type, PyObject *args, PyObject *kwargs) {
    return spyp_tensor_fresh(type, args, kwargs, true, "Tensor.zeros");
}

// Sets all elements to one value. Call it inside the device.
static int spyp_tensor_fill_value(spyp_tensor *t, PyObject *value) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    const spy_type_info *type = spyp_element_info(t, &info);
    if (PyErr_Occurred()) return -1;
    size_t size = type ? type->size_bytes : spy_dtype_size_bytes(info.dtype);
    void *element = PyMem_Calloc(1, size + 1);
    if (!element) PyErr_NoMemory();
    int status = !element ? -1
                 : type   ? spyp_value_write((spyp_module *)t->module, type, value, element, "Tensor.full: argument 'fill_value'")
                          : spyp_number_write(info.dtype, value, element, "Tensor.full: argument 'fill_value'");
    if (status == 0 && info.element_count && spy_tensor_fill_data(t->tensor, element, size) != SPY_OK) {
        spyp_raise(t->device);
        status = -1;
    }
    PyMem_Free(element);
    return status;
}

static PyObject *spyp_tensor_full(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "shape", "fill_value", "dtype", NULL };
    PyObject *device, *shape, *value, *dtype = NULL;
    spy_shape sizes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:Tensor.full", names, &device, &shape, &value, &dtype)) return NULL;
    spyp_device *d = spyp_device_of(device, "Tensor.full");
    if (!d || spyp_shape_parse(shape, "Tensor.full: argument 'shape'", &sizes) < 0) return NULL;
    PyObject *made = spyp_tensor_create((PyTypeObject *)type, d, &sizes, dtype, false, "Tensor.full");
    if (!made) return NULL;
    int status = spyp_enter(d, "Tensor.full");
    if (status == 0) {
        status = spyp_tensor_fill_value((spyp_tensor *)made, value);
        spyp_leave(d);
    }
    if (status < 0) Py_CLEAR(made);
    return made;
}

static PyObject *spyp_view_make(PyTypeObject *type, spyp_tensor *t, PyObject *shape, PyObject *strides, Py_ssize_t offset, PyObject *dtype,
                                const char *what);

// NDBuffer(array) makes a tensor on the device that push_current_device() has set.
static PyObject *spyp_tensor_wrap(PyTypeObject *type, PyObject *array) {
    PyObject *package = PyImport_ImportModule("slangpy"), *device = package ? PyObject_CallMethod(package, "current_device", NULL) : NULL;
    PyObject *made = device ? PyObject_CallMethod((PyObject *)type, "from_torch", "OO", device, array) : NULL;
    Py_XDECREF(package);
    Py_XDECREF(device);
    return made;
}

// Tensor(storage, dtype, shape, strides, offset) makes a view of another tensor's or buffer's memory.
static PyObject *spyp_tensor_over(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "storage", "dtype", "shape", "strides", "offset", NULL };
    PyObject *storage, *dtype, *shape, *strides = Py_None;
    Py_ssize_t offset = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|On:Tensor", names, &storage, &dtype, &shape, &strides, &offset)) return NULL;
    if (PyObject_TypeCheck(storage, spyp.tensor)) return spyp_view_make(type, (spyp_tensor *)storage, shape, strides, offset, dtype, "Tensor");
    return PyErr_Format(PyExc_TypeError, "Tensor: argument 'storage': expected a Buffer or Tensor, got %R", (PyObject *)Py_TYPE(storage));
}

// Tells whether the arguments begin with a tensor, or have a keyword `storage`.
static bool spyp_has_storage(PyObject *args, PyObject *kwargs) {
    if (PyTuple_Size(args)) return PyObject_TypeCheck(PyTuple_GetItem(args, 0), spyp.tensor);
    return kwargs && PyDict_GetItemString(kwargs, "storage");
}

// The constructors NDBuffer(device, dtype=, shape=), Tensor(device, shape, dtype), NDBuffer(array) and Tensor(storage, ...).
static PyObject *spyp_tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "dtype", "element_count", "shape", "usage", "memory_type", "element_type", NULL };
    PyObject *device, *dtype = NULL, *count = Py_None, *shape = Py_None, *usage = NULL, *memory = NULL, *element = NULL;
    spy_shape sizes;
    if (spyp_has_storage(args, kwargs)) return spyp_tensor_over(type, args, kwargs);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOOOO:NDBuffer", names, &device, &dtype, &count, &shape, &usage, &memory, &element)) return NULL;
    if (!dtype) dtype = element; // `element_type` is an older name of `dtype`
    if (!PyObject_TypeCheck(device, spyp.device) && spyp_is_array(device) && !dtype) return spyp_tensor_wrap(type, device);
    spyp_device *d = spyp_device_of(device, "NDBuffer");
    if (!d) return NULL;
    if (shape == Py_None && dtype && (PyTuple_Check(dtype) || PyLong_Check(dtype) || PyObject_TypeCheck(dtype, spyp.shape))) {
        shape = dtype; // the call is Tensor(device, shape, dtype)
        dtype = count == Py_None ? NULL : count;
        count = Py_None;
    }
    if (shape == Py_None) shape = count;
    if (shape == Py_None) return PyErr_Format(spyp.value_error, "NDBuffer: argument 'shape' or 'element_count' not specified");
    if (spyp_shape_parse(shape, "NDBuffer", &sizes) < 0) return NULL;
    PyObject *made = spyp_tensor_create(type, d, &sizes, dtype, false, "NDBuffer");
    if (made && spyp_tensor_set_usage(made, usage) < 0) Py_CLEAR(made);
    return made;
}

// Returns the one argument of a function, given by position or name, borrowed. NULL with an exception set.
static PyObject *spyp_only_argument(PyObject *args, PyObject *kwargs, const char *format, const char *name) {
    union { const char *in; char *out; } word;
    PyObject *value = NULL;
    word.in = name;
    char *names[] = { word.out, NULL };
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &value) ? value : NULL;
}

static PyObject *spyp_tensor_empty_like(PyObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *other = spyp_only_argument(args, kwargs, "O:Tensor.empty_like", "other");
    return other ? spyp_tensor_like(type, other, false, "Tensor.empty_like") : NULL;
}

static PyObject *spyp_tensor_zeros_like(PyObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *other = spyp_only_argument(args, kwargs, "O:Tensor.zeros_like", "other");
    return other ? spyp_tensor_like(type, other, true, "Tensor.zeros_like") : NULL;
}

// >>host data

static PyObject *spyp_tensor_copy_from(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *object = spyp_only_argument(args, kwargs, "O:copy_from_numpy", "data");
    if (!object || spyp_tensor_copy_bytes_from((spyp_tensor *)self, object, "copy_from_numpy") < 0) return NULL;
    Py_RETURN_NONE;
}

// Makes a tensor of a given element type for an array of numbers, or of structs with the same field names.
static PyObject *spyp_tensor_of_type(PyTypeObject *type, spyp_device *d, const spyp_host_array *array, PyObject *object, PyObject *dtype) {
    spyp_dtype parsed;
    spy_shape shape = array->shape;
    PyObject *result = NULL;
    if (spyp_dtype_parse(dtype, "Tensor.from_numpy", "dtype", &parsed) < 0) return NULL;
    int status = 0;
    if (!parsed.scalar && array->dtype != SPY_DTYPE_DEFAULT) {
        spyp_module *module = parsed.from ? (spyp_module *)Py_NewRef((PyObject *)parsed.from) : spyp_module_default(d);
        const spy_type_info *info = NULL;
        status = module ? spyp_enter(d, "Tensor.from_numpy") : -1;
        if (status == 0) {
            info = spy_reflect_type(module->module, parsed.type);
            if (!info) spyp_raise(d);
            spyp_leave(d);
            status = info ? spyp_outer_shape(info, &array->shape, &shape, "Tensor.from_numpy") : -1;
        }
        SPYP_DECREF(module);
    }
    Py_XDECREF(parsed.keeps);
    if (status == 0) result = spyp_tensor_create(type, d, &shape, dtype, false, "Tensor.from_numpy");
    if (result && spyp_tensor_fill_from((spyp_tensor *)result, object, "Tensor.from_numpy") < 0) Py_CLEAR(result);
    return result;
}

// Makes a tensor with the array's own element type.
static PyObject *spyp_tensor_of_own(PyTypeObject *type, spyp_device *d, const spyp_host_array *array) {
    spy_tensor_desc desc;
    if (array->dtype == SPY_DTYPE_DEFAULT)
        return PyErr_Format(spyp.type_error, "Tensor.from_numpy: a structured array has no Slang type of its own: expected dtype=module.Struct as well");
    if (spyp_enter(d, "Tensor.from_numpy") < 0) return NULL;
    memset(&desc, 0, sizeof desc);
    desc.shape = array->shape;
    desc.dtype = array->dtype;
    desc.data = array->size_bytes ? array->data : NULL;
    spy_tensor *tensor = spy_create_tensor(d->device, &desc);
    if (!tensor) spyp_raise(d);
    spyp_leave(d);
    return tensor ? spyp_tensor_make(type, d, tensor, NULL) : NULL;
}

// Makes a tensor over an array's own memory. NULL without an exception means that its memory cannot be shared.
static PyObject *spyp_tensor_shared(PyTypeObject *type, PyObject *device, PyObject *object, PyObject *dtype, const char *what) {
    spyp_device *d = spyp_device_of(device, what);
    return d ? spyp_foreign_tensor(type, d, object, dtype, false, what) : NULL;
}

static PyObject *spyp_tensor_of_array(PyTypeObject *type, PyObject *device, PyObject *object, PyObject *dtype) {
    spyp_device *d = spyp_device_of(device, "Tensor.from_numpy");
    spyp_arena arena;
    spyp_host_array array;
    PyObject *result = NULL;
    if (!d) return NULL;
    if (!dtype || dtype == Py_None) { // without a dtype a CUDA array is copied on the device
        PyObject *shared = spyp_foreign_tensor(type, d, object, NULL, true, "Tensor.from_numpy");
        if (shared) result = spyp_tensor_copy((spyp_tensor *)shared, "Tensor.from_numpy");
        Py_XDECREF(shared);
        if (result || PyErr_Occurred()) return result;
    }
    if (!dtype || dtype == Py_None) { // without a dtype an array whose dimensions are in another order in memory keeps that order
        PyObject *tensors = PyImport_ImportModule("slangpy.tensors");
        result = tensors ? PyObject_CallMethod(tensors, "transposed", "OOO", (PyObject *)type, device, object) : NULL;
        Py_XDECREF(tensors);
        if (result != Py_None) return result;
        Py_CLEAR(result);
    }
    spyp_arena_begin(&arena);
    int found = spyp_host_array_get(&arena, object, "Tensor.from_numpy", &array);
    if (found == 0) PyErr_Format(PyExc_TypeError, "Tensor.from_numpy: argument 'ndarray': expected an array, got %R", (PyObject *)Py_TYPE(object));
    if (found > 0) result = dtype && dtype != Py_None ? spyp_tensor_of_type(type, d, &array, object, dtype) : spyp_tensor_of_own(type, d, &array);
    spyp_arena_end(&arena);
    return result;
}

// Returns true, with an exception set, if an array is given in the device's place or if the device is missing.
static bool spyp_lacks_device(PyObject *args, PyObject *kwargs, const char *what) {
    PyObject *first = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    bool lacks = first ? !PyObject_TypeCheck(first, spyp.device) && (spyp_is_array(first) || PyList_Check(first))
                       : kwargs && !PyDict_GetItemString(kwargs, "device");
    if (!lacks) return false;
    PyErr_Format(PyExc_TypeError, "%s: argument 'device': expected a Device, got %R; write %s(device, array)", what,
                 first ? (PyObject *)Py_TYPE(first) : Py_None, what);
    return true;
}

// `Tensor.from_numpy(device, array)` makes a tensor; `tensor.from_numpy(array)` fills it. One attribute
// serves both: see spyp_either.
static PyObject *spyp_from_numpy(PyObject *owner, PyObject *args, PyObject *kwargs) {
    static char *makes[] = { "device", "ndarray", "usage", "memory_type", "dtype", "target_slang_dtype", NULL }, *fills[] = { "data", NULL };
    PyObject *device, *array, *dtype = NULL, *usage = NULL, *memory = NULL, *target = Py_None;
    if (PyType_Check(owner)) {
        if (spyp_lacks_device(args, kwargs, "Tensor.from_numpy")) return NULL;
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO$OO:Tensor.from_numpy", makes, &device, &array, &usage, &memory, &dtype, &target)) return NULL;
        if (target != Py_None) dtype = target;
        PyObject *made = spyp_tensor_of_array((PyTypeObject *)owner, device, array, dtype);
        if (made && spyp_tensor_set_usage(made, usage) < 0) Py_CLEAR(made);
        return made;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:from_numpy", fills, &array)) return NULL;
    if (spyp_tensor_fill_from((spyp_tensor *)owner, array, "from_numpy") < 0) return NULL; // as an older SlangPy: converted
    Py_RETURN_NONE;
}

// `Tensor.from_torch(device, tensor)` shares CUDA memory and copies other arrays. `tensor.from_torch(other)` fills the tensor.
static PyObject *spyp_from_foreign(PyObject *owner, PyObject *args, PyObject *kwargs, char *name, const char *format, const char *what) {
    char *names[] = { "device", name, "dtype", NULL };
    PyObject *device, *array, *dtype = NULL;
    if (!PyType_Check(owner)) return spyp_from_numpy(owner, args, kwargs);
    if (spyp_lacks_device(args, kwargs, what)) return NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &device, &array, &dtype)) return NULL;
    PyObject *made = spyp_tensor_shared((PyTypeObject *)owner, device, array, dtype, what);
    return made || PyErr_Occurred() ? made : spyp_tensor_of_array((PyTypeObject *)owner, device, array, dtype);
}

static PyObject *spyp_tensor_copy_from_torch(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *object = spyp_only_argument(args, kwargs, "O:copy_from_torch", "tensor");
    if (!object || spyp_tensor_fill_from((spyp_tensor *)self, object, "copy_from_torch") < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_from_torch(PyObject *owner, PyObject *args, PyObject *kwargs) {
    static char name[] = "tensor";
    return spyp_from_foreign(owner, args, kwargs, name, "OO|O:Tensor.from_torch", "Tensor.from_torch");
}

static PyObject *spyp_from_dlpack(PyObject *owner, PyObject *args, PyObject *kwargs) {
    static char name[] = "array";
    return spyp_from_foreign(owner, args, kwargs, name, "OO|O:Tensor.from_dlpack", "Tensor.from_dlpack");
}

// A descriptor that binds a function to the instance, or to the class if there is no instance.
typedef struct spyp_either {
    PyObject_HEAD
    PyMethodDef *method;
} spyp_either;

static PyObject *spyp_either_get(PyObject *self, PyObject *object, PyObject *type) {
    return PyCFunction_New(((spyp_either *)self)->method, object ? object : type);
}

static PyType_Slot spyp_either_slots[] = {
    { Py_tp_descr_get, (void *)spyp_either_get },
    { Py_tp_dealloc, (void *)spyp_free },
    { 0, NULL },
};

static PyType_Spec spyp_either_spec = { "slangpy._slangpy._Either", sizeof(spyp_either), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_either_slots };

static int spyp_eithers_add(PyTypeObject *type, PyMethodDef *methods, size_t count) {
    PyTypeObject *either = (PyTypeObject *)PyType_FromSpec(&spyp_either_spec);
    for (size_t i = 0; either && i < count; i++) {
        spyp_either *e = (spyp_either *)spyp_alloc(either);
        if (e) e->method = &methods[i];
        int set = e ? PyObject_SetAttrString((PyObject *)type, methods[i].ml_name, (PyObject *)e) : -1;
        SPYP_DECREF(e);
        if (set < 0) Py_CLEAR(either);
    }
    SPYP_DECREF(either);
    return either ? 0 : -1;
}

static PyObject *spyp_tensor_numpy_method(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "structured", NULL };
    int structured = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:to_numpy", names, &structured)) return NULL;
    return spyp_tensor_to_numpy((spyp_tensor *)self, structured != 0);
}

// Tensor.numpy(device, array) is another name of from_numpy(), and tensor.numpy() of to_numpy().
static PyObject *spyp_numpy_either(PyObject *owner, PyObject *args, PyObject *kwargs) {
    if (PyType_Check(owner)) {
        if (PyErr_WarnEx(PyExc_DeprecationWarning, "Tensor.numpy(device, array) is called Tensor.from_numpy() now", 1) < 0) return NULL;
        return spyp_from_numpy(owner, args, kwargs);
    }
    return spyp_tensor_numpy_method(owner, args, kwargs);
}

// >>views

static PyObject *spyp_view_of(spyp_tensor *t, spy_tensor *view) {
    if (!view) spyp_raise(t->device);
    spyp_leave(t->device);
    return view ? spyp_tensor_make_view(spyp_view_type((PyObject *)t), t, view, t->module) : NULL;
}

// Widens a range of elements, from *low to *high, by the steps of a shape with these strides. Returns false for an empty
// shape, and for ranges that exceed any memory.
static bool spyp_view_range(const spy_shape *shape, const spy_shape *strides, int64_t *low, int64_t *high) {
    int64_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        int64_t n = shape->dims[i], stride = strides->rank ? strides->dims[i] : step;
        if (n <= 0 || n > INT32_MAX || stride > INT32_MAX || stride < -INT32_MAX || *high > INT64_MAX / 4 || *low < INT64_MIN / 4) return false;
        *(stride < 0 ? low : high) += (n - 1) * stride;
        step = stride * n;
    }
    return true;
}

// Returns the tensor that view() refers to: the tensor itself, or all the memory that it is part of if the view reaches beyond its
// elements. The offset then counts from the beginning of that memory. Call it inside the device.
static spy_tensor *spyp_view_source(spyp_tensor *t, spy_view_desc *desc) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    int64_t low = desc->offset_elements, high = low, first = 0, last = 0;
    uint64_t before;
    bool known = !desc->type && (!desc->strides.rank || desc->strides.rank == desc->shape.rank) && spyp_view_range(&desc->shape, &desc->strides, &low, &high);
    if (!known || (spyp_view_range(&info.shape, &info.strides, &first, &last) && low >= first && high <= last)) return t->tensor;
    spy_tensor *whole = spyp_tensor_whole(t, &before);
    if (whole == t->tensor || before % info.element_size_bytes) return t->tensor;
    desc->offset_elements += (int64_t)(before / info.element_size_bytes);
    desc->type = info.type;
    desc->module = t->module ? ((spyp_module *)t->module)->module : NULL;
    return whole;
}

static PyObject *spyp_view_make(PyTypeObject *type, spyp_tensor *t, PyObject *shape, PyObject *strides, Py_ssize_t offset, PyObject *dtype,
                                const char *what) {
    spy_view_desc desc;
    spyp_dtype parsed;
    spy_tensor *view = NULL;
    PyObject *result = NULL;
    memset(&desc, 0, sizeof desc);
    memset(&parsed, 0, sizeof parsed);
    if (spyp_shape_parse(shape, what, &desc.shape) < 0) return NULL;
    if (strides != Py_None && spyp_shape_parse(strides, what, &desc.strides) < 0) return NULL;
    if (dtype != Py_None && spyp_dtype_parse(dtype, what, "dtype", &parsed) < 0) return NULL;
    desc.offset_elements = offset;
    desc.type = dtype == Py_None ? NULL : parsed.type ? parsed.type : spy_dtype_name(parsed.scalar);
    desc.module = parsed.module;
    if (parsed.from && parsed.from->device != t->device) {
        PyErr_Format(spyp.value_error, "%s: argument 'dtype': %s belongs to a module of another device", what, desc.type);
    } else if (spyp_enter(t->device, what) == 0) {
        spy_tensor *source = t->root ? spyp_view_source(t, &desc) : t->tensor;
        view = spy_create_view(source, &desc);
        if (!view) spyp_raise(t->device);
        spyp_leave(t->device);
    }
    if (view) result = spyp_tensor_make_view(type, t, view, parsed.from ? (PyObject *)parsed.from : t->module);
    Py_XDECREF(parsed.keeps);
    return result;
}

static PyObject *spyp_tensor_view(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "shape", "strides", "offset", "dtype", NULL };
    PyObject *shape, *strides = Py_None, *dtype = Py_None;
    Py_ssize_t offset = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OnO:view", names, &shape, &strides, &offset, &dtype)) return NULL;
    return spyp_view_make(spyp_view_type(self), (spyp_tensor *)self, shape, strides, offset, dtype, "Tensor.view");
}

// Returns the argument of view(), reshape() and so on, borrowed. It is written as (2, 3), as 2, 3, or as
// shape=(2, 3).
static PyObject *spyp_shape_argument(PyObject *args, PyObject *kwargs, const char *format) {
    bool sizes = PyTuple_Size(args) > 1 && !(kwargs && PyDict_Size(kwargs));
    return sizes ? args : spyp_only_argument(args, kwargs, format, "shape");
}

static PyObject *spyp_tensor_broadcast(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *shape = spyp_shape_argument(args, kwargs, "O:broadcast_to");
    spyp_tensor *t = (spyp_tensor *)self;
    spy_shape sizes;
    if (!shape || spyp_shape_parse(shape, "broadcast_to", &sizes) < 0 || spyp_enter(t->device, "Tensor.broadcast_to") < 0) return NULL;
    return spyp_view_of(t, spy_create_broadcast(t->tensor, sizes));
}

static PyObject *spyp_tensor_reshape(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *shape = spyp_shape_argument(args, kwargs, "O:reshape");
    spyp_tensor *t = (spyp_tensor *)self;
    spy_shape sizes;
    if (!shape || spyp_shape_parse(shape, "reshape", &sizes) < 0 || spyp_enter(t->device, "Tensor.reshape") < 0) return NULL;
    return spyp_view_of(t, spy_create_reshape(t->tensor, sizes));
}

static PyObject *spyp_tensor_flatten(PyObject *self, PyObject *ignored) {
    spyp_tensor *t = (spyp_tensor *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(t->device, "Tensor.flatten_dtype") < 0) return NULL;
    return spyp_view_of(t, spy_create_flat_view(t->tensor));
}

static int spyp_index_bound(PyObject *slice, const char *name, int64_t *out) {
    PyObject *value = PyObject_GetAttrString(slice, name);
    int status = value ? 0 : -1;
    if (value && value != Py_None) {
        *out = PyLong_AsLongLong(value);
        if (PyErr_Occurred()) status = -1;
    }
    Py_XDECREF(value);
    return status;
}

static int spyp_index_parse(PyObject *item, spy_index *index) {
    if (item == Py_Ellipsis) {
        *index = spy_index_rest();
    } else if (item == Py_None) {
        *index = spy_index_new();
    } else if (PySlice_Check(item)) {
        int64_t start = SPY_INDEX_NONE, stop = SPY_INDEX_NONE, step = 1;
        if (spyp_index_bound(item, "start", &start) < 0 || spyp_index_bound(item, "stop", &stop) < 0 || spyp_index_bound(item, "step", &step) < 0)
            return -1;
        *index = spy_index_range(start, stop, step);
    } else {
        PyObject *whole = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
        if (!whole) {
            PyErr_Format(spyp.type_error, "Tensor: expected indices of int, slice, None or ..., got %R", (PyObject *)Py_TYPE(item));
            return -1;
        }
        int overflow;
        long long n = PyLong_AsLongLongAndOverflow(whole, &overflow);
        *index = spy_index_at(n);
        Py_DECREF(whole);
        if (overflow) PyErr_SetString(spyp.index_error, "Tensor: expected an index within a dimension, got one of more than 63 bits");
        if (overflow) return -1;
    }
    return 0;
}

static PyObject *spyp_tensor_subscript(PyObject *self, PyObject *key) {
    spyp_tensor *t = (spyp_tensor *)self;
    spy_index items[4 * SPY_MAX_RANK];
    spy_indices list = { items, 1 };
    if (PyTuple_Check(key)) {
        Py_ssize_t n = PyTuple_Size(key);
        if (n > 4 * SPY_MAX_RANK) return PyErr_Format(spyp.index_error, "Tensor: expected at most %d indices, got %zd", 4 * SPY_MAX_RANK, n);
        for (Py_ssize_t i = 0; i < n; i++)
            if (spyp_index_parse(PyTuple_GetItem(key, i), &items[i]) < 0) return NULL;
        list.count = (size_t)n;
    } else if (spyp_index_parse(key, &items[0]) < 0) {
        return NULL;
    }
    if (spyp_enter(t->device, "Tensor") < 0) return NULL;
    spy_tensor *view = spy_create_indexed(t->tensor, list);
    if (view && spy_get_tensor_info(view).shape.rank == 0) { // a view of one element has the shape (1,)
        spy_index one = spy_index_new();
        spy_indices ones = { &one, 1 };
        spy_tensor *line = spy_create_indexed(view, ones);
        spy_release_tensor(view);
        view = line;
    }
    if (view) return spyp_view_of(t, view);
    spyp_raise_index(t->device);
    spyp_leave(t->device);
    return NULL;
}

// >>other methods and properties

static PyObject *spyp_tensor_clear_data(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "command_encoder", NULL };
    spyp_tensor *t = (spyp_tensor *)self;
    PyObject *encoder = Py_None;
    spy_status status = SPY_OK;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:clear", names, &encoder)) return NULL;
    spy_command_list *list = encoder == Py_None ? NULL : spyp_encoder_list(encoder, t->device);
    if ((encoder != Py_None && !list) || spyp_enter(t->device, "Tensor.clear") < 0) return NULL;
    uint64_t before;
    spy_tensor *whole = spyp_tensor_whole(t, &before); // clears all of the memory, also that of a view, as SlangPy does
    if (list) {
        status = spy_list_fill(list, whole, 0);
    } else {
        spy_tensor_info info = spy_get_tensor_info(whole);
        char *zero = (char *)PyMem_Calloc(1, info.element_size_bytes * 2 + 64);
        size_t host = info.element_count ? info.host_size_bytes / (size_t)info.element_count : 0;
        if (zero && host) status = spy_tensor_fill_data(whole, zero, host);
        PyMem_Free(zero);
    }
    if (status != SPY_OK) spyp_raise(t->device);
    spyp_leave(t->device);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_tensor_point_to(PyObject *self, PyObject *args, PyObject *kwargs) {
    spyp_tensor *t = (spyp_tensor *)self;
    PyObject *other = spyp_only_argument(args, kwargs, "O:point_to", "target");
    if (!other) return NULL;
    if (!PyObject_TypeCheck(other, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "point_to: argument 'target': expected a Tensor, got %R", (PyObject *)Py_TYPE(other));
    if (((spyp_tensor *)other)->device != t->device) return PyErr_Format(spyp.value_error, "point_to: argument 'target': the tensor belongs to another device");
    if (spyp_enter(t->device, "Tensor.point_to") < 0) return NULL;
    spy_status status = spy_tensor_point_to(t->tensor, ((spyp_tensor *)other)->tensor);
    if (status != SPY_OK) spyp_raise(t->device);
    spyp_leave(t->device);
    Py_CLEAR(t->grad_in); // dropped, because the tensor has the target's gradients now
    Py_CLEAR(t->grad_out);
    if (status != SPY_OK) return NULL;
    spyp_replace(&t->owner, Py_XNewRef(((spyp_tensor *)other)->owner));
    if (other != self) spyp_tensor_set_root(t, (spyp_tensor *)other);
    Py_RETURN_NONE;
}

static PyObject *spyp_tensor_contiguous(PyObject *self, PyObject *ignored) {
    spyp_tensor *t = (spyp_tensor *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(t->device, "Tensor.is_contiguous") < 0) return NULL;
    bool contiguous = spy_get_tensor_info(t->tensor).is_contiguous;
    spyp_leave(t->device);
    return PyBool_FromLong(contiguous);
}

// The getter of the properties that spy_tensor_info has. `which` says which property is asked for.
enum { SPYP_SHAPE, SPYP_STRIDES, SPYP_OFFSET, SPYP_COUNT, SPYP_NDIM, SPYP_ADDRESS };

static PyObject *spyp_tensor_get(PyObject *self, void *which) {
    spyp_tensor *t = (spyp_tensor *)self;
    if (spyp_enter(t->device, "Tensor") < 0) return NULL;
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    PyObject *value = NULL;
    switch ((int)(intptr_t)which) {
    case SPYP_SHAPE: value = spyp_shape_make(&info.shape); break;
    case SPYP_STRIDES: value = spyp_shape_make(&info.strides); break;
    case SPYP_OFFSET: value = PyLong_FromLongLong(info.offset_elements); break;
    case SPYP_COUNT: value = PyLong_FromLongLong(info.element_count); break;
    case SPYP_NDIM: value = PyLong_FromUnsignedLong(info.shape.rank); break;
    default: {
        uint64_t address = spy_tensor_address(t->tensor);
        value = address ? PyLong_FromUnsignedLongLong(address) : spyp_raise(t->device);
        break;
    }
    }
    spyp_leave(t->device);
    return value;
}

static PyObject *spyp_tensor_get_dtype(PyObject *self, void *ignored) {
    spyp_tensor *t = (spyp_tensor *)self;
    SPYP_UNUSED(ignored);
    if (t->dtype) return Py_NewRef(t->dtype);
    spyp_module *module = t->module ? (spyp_module *)Py_NewRef(t->module) : spyp_module_default(t->device);
    if (!module) return NULL;
    if (spyp_enter(t->device, "Tensor.dtype") == 0) {
        spy_tensor_info info = spy_get_tensor_info(t->tensor);
        const spy_type_info *type = spy_reflect_type(module->module, info.type);
        if (!type) spyp_raise(t->device);
        spyp_leave(t->device);
        if (type) t->dtype = spyp_reflect_type(SPYP_TYPE, module, type);
    }
    Py_DECREF(module);
    return Py_XNewRef(t->dtype);
}

static PyObject *spyp_tensor_get_device(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_tensor *)self)->device);
}

static PyObject *spyp_tensor_repr(PyObject *self) { // the text of repr(), which does not read from the GPU
    spyp_tensor *t = (spyp_tensor *)self;
    PyObject *name = PyType_GetName(Py_TYPE(self)), *text = NULL;
    if (name && !t->device->device) {
        text = spyp_format("<slangpy.%U, of a closed device>", name);
    } else if (name) {
        PyObject *tensors = PyImport_ImportModule("slangpy.tensors");
        text = tensors ? PyObject_CallMethod(tensors, "representation", "OO", name, self) : NULL;
        Py_XDECREF(tensors);
    }
    Py_XDECREF(name);
    return text;
}

static PyObject *spyp_tensor_text(PyObject *self, bool structured) {
    PyObject *array = spyp_tensor_to_numpy((spyp_tensor *)self, structured), *text = array ? PyObject_Str(array) : NULL;
    Py_XDECREF(array);
    return text;
}

// str(tensor) is that of to_numpy().
static PyObject *spyp_tensor_str(PyObject *self) {
    return spyp_tensor_text(self, false);
}

// Returns the text that shows a tensor: its values, unless they are gone.
static PyObject *spyp_tensor_shown(PyObject *self) {
    return ((spyp_tensor *)self)->device->device ? spyp_tensor_text(self, true) : spyp_tensor_repr(self);
}

static PyObject *spyp_tensor_html(PyObject *self, PyObject *ignored) {
    PyObject *text = spyp_tensor_shown(self), *html = text ? PyImport_ImportModule("html") : NULL;
    PyObject *escaped = html ? PyObject_CallMethod(html, "escape", "O", text) : NULL;
    PyObject *result = escaped ? spyp_format("<pre>%U</pre>", escaped) : NULL;
    SPYP_UNUSED(ignored);
    Py_XDECREF(text);
    Py_XDECREF(html);
    Py_XDECREF(escaped);
    return result;
}

// Shows a tensor in IPython's terminal, also within lists and dicts.
static PyObject *spyp_tensor_pretty(PyObject *self, PyObject *args) {
    PyObject *printer;
    int cycle;
    if (!PyArg_ParseTuple(args, "Op:_repr_pretty_", &printer, &cycle)) return NULL;
    PyObject *text = spyp_tensor_shown(self), *done = text ? PyObject_CallMethod(printer, "text", "O", text) : NULL;
    Py_XDECREF(text);
    return done;
}

// Tells whether a comparison with this object may have been meant element by element.
static bool spyp_is_comparable(PyObject *other) {
    spyp_math_info info;
    return PyLong_CheckExact(other) || PyBool_Check(other) || PyFloat_CheckExact(other) || PyList_Check(other) || PyTuple_Check(other) ||
           PyObject_TypeCheck(other, spyp.tensor) || spyp_math_view(other, &info);
}

// Tensors are compared by identity, so that they can be in lists, sets and dicts. A comparison with values
// gives a warning, because its result is always False. Arrays of other libraries have an == of their own,
// which Python asks next.
static PyObject *spyp_tensor_compare(PyObject *self, PyObject *other, int op) {
    if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    if (self == other) return PyBool_FromLong(op == Py_EQ);
    if (spyp_is_comparable(other) &&
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "Tensor: %s compares which object it is, and not the elements: write tensor.to_numpy() %s value, or "
                         "'tensor is%s other' for the object",
                         op == Py_EQ ? "==" : "!=", op == Py_EQ ? "==" : "!=", op == Py_EQ ? "" : " not") < 0)
        return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

static Py_hash_t spyp_tensor_hash(PyObject *self) {
    Py_hash_t hash = (Py_hash_t)((uintptr_t)self >> 4);
    return hash == -1 ? -2 : hash;
}

static PyObject *spyp_tensor_cursor(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "start", "count", NULL };
    PyObject *start = Py_None, *count = Py_None;
    spyp_tensor *t = (spyp_tensor *)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:cursor", names, &start, &count)) return NULL;
    int64_t first = start == Py_None ? 0 : PyLong_AsLongLong(start);
    if (PyErr_Occurred() || spyp_enter(t->device, "Tensor.cursor") < 0) return NULL;
    int64_t n = count == Py_None ? spy_get_tensor_info(t->tensor).element_count - first : PyLong_AsLongLong(count);
    spyp_leave(t->device);
    return PyErr_Occurred() ? NULL : spyp_cursor_make(t->device, t->tensor, self, t->module, first, n);
}

static Py_ssize_t spyp_tensor_length(PyObject *self) {
    spyp_tensor *t = (spyp_tensor *)self;
    if (spyp_enter(t->device, "Tensor") < 0) return -1;
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_leave(t->device);
    if (info.shape.rank) return (Py_ssize_t)info.shape.dims[0];
    PyErr_SetString(PyExc_TypeError, "len() of a tensor of rank 0");
    return -1;
}

static PyObject *spyp_tensor_item(PyObject *self, Py_ssize_t i) {
    PyObject *index = PyLong_FromSsize_t(i), *item = index ? spyp_tensor_subscript(self, index) : NULL;
    Py_XDECREF(index);
    return item;
}

static int spyp_tensor_bool(PyObject *self) {
    SPYP_UNUSED(self);
    return 1;
}

static int spyp_tensor_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_tensor *t = (spyp_tensor *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)t->device);
    Py_VISIT(t->dtype);
    Py_VISIT(t->module);
    Py_VISIT(t->grad_in);
    Py_VISIT(t->grad_out);
    Py_VISIT(t->owner);
    return 0;
}

static void spyp_tensor_dealloc(PyObject *self) {
    spyp_tensor *t = (spyp_tensor *)self;
    PyObject_GC_UnTrack(self);
    if (t->weakrefs) PyObject_ClearWeakRefs(self);
    if (t->tensor && t->device->device && t->device->fork_count == spyp.fork_count) {
        spy_release_tensor(t->root);
        spy_release_tensor(t->tensor);
    }
    Py_CLEAR(t->dtype);
    Py_CLEAR(t->module);
    Py_CLEAR(t->grad_in);
    Py_CLEAR(t->grad_out);
    Py_CLEAR(t->owner);
    Py_CLEAR(t->device);
    spyp_free(self);
}

static PyMethodDef spyp_tensor_methods[] = {
    { "empty", SPYP_FUNC(spyp_tensor_empty), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
      "empty(device, shape, dtype=float): a tensor of undefined contents." },
    { "zeros", SPYP_FUNC(spyp_tensor_zeros), METH_VARARGS | METH_KEYWORDS | METH_CLASS, "zeros(device, shape, dtype=float): a tensor of zeros." },
    { "full", SPYP_FUNC(spyp_tensor_full), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
      "full(device, shape, fill_value, dtype=float): a tensor whose elements all have one value." },
    { "empty_like", SPYP_FUNC(spyp_tensor_empty_like), METH_VARARGS | METH_KEYWORDS | METH_CLASS, "empty_like(other): of its shape and type, contents undefined." },
    { "zeros_like", SPYP_FUNC(spyp_tensor_zeros_like), METH_VARARGS | METH_KEYWORDS | METH_CLASS, "zeros_like(other): of its shape and type, all zero." },
    { "to_numpy", SPYP_FUNC(spyp_tensor_numpy_method), METH_VARARGS | METH_KEYWORDS,
      "to_numpy(*, structured=False): a numpy array of the contents; vectors, matrices and arrays become further dimensions. Structs: "
      "one more dimension of uint8, their bytes as they lie on the device; with structured=True elements with named fields. Waits." },
    { "copy_from_numpy", SPYP_FUNC(spyp_tensor_copy_from), METH_VARARGS | METH_KEYWORDS, "copy_from_numpy(data): copy the bytes of an array to the start of the tensor's memory, whatever its dtype. RuntimeError: the array "
      "or the tensor is not contiguous, or the array is larger. For structs a structured array or a dict of arrays goes by field names. "
      "tensor.from_numpy(data) converts numbers." },
    { "copy_from_torch", SPYP_FUNC(spyp_tensor_copy_from_torch), METH_VARARGS | METH_KEYWORDS,
      "copy_from_torch(tensor): fill the tensor from one of torch's with as many numbers, converted; the same as tensor.from_torch(tensor)." },
    { "view", SPYP_FUNC(spyp_tensor_view), METH_VARARGS | METH_KEYWORDS,
      "view(shape, strides=None, offset=0, dtype=None): a tensor over the same memory with another shape, strides or offset, in "
      "elements." },
    { "broadcast_to", SPYP_FUNC(spyp_tensor_broadcast), METH_VARARGS | METH_KEYWORDS, "broadcast_to(shape): a view with the given "
        "sizes: sizes of 1 are stretched, leading dimensions added. Copies nothing." },
    { "reshape", SPYP_FUNC(spyp_tensor_reshape), METH_VARARGS | METH_KEYWORDS, "reshape(shape): a view of the same elements with other "
        "sizes, one of which may be -1. Never copies." },
    { "flatten_dtype", spyp_tensor_flatten, METH_NOARGS, "flatten_dtype(): a view of the same memory whose elements are scalars, with "
        "further dimensions: a float3 tensor (100) gives a float tensor (100, 3)." },
    { "clear", SPYP_FUNC(spyp_tensor_clear_data), METH_VARARGS | METH_KEYWORDS, "clear(command_encoder=None): set all bytes of the "
        "tensor's memory to zero; for a view, of all the memory that the view is part of." },
    { "point_to", SPYP_FUNC(spyp_tensor_point_to), METH_VARARGS | METH_KEYWORDS,
      "point_to(target): make the tensor show the memory of `target`, which must have the same shape, strides and type; otherwise "
      "ValueError." },
    { "cursor", SPYP_FUNC(spyp_tensor_cursor), METH_VARARGS | METH_KEYWORDS,
      "cursor(start=0, count=None): a BufferCursor over elements start .. start + count in row-major order, copied to the host: cursor[i].field "
      "= value, cursor[i].read(); cursor.apply() copies back what was written. Waits." },
    { "_repr_html_", spyp_tensor_html, METH_NOARGS, "_repr_html_(): as print() shows it, for notebooks. Waits." },
    { "_repr_pretty_", spyp_tensor_pretty, METH_VARARGS, "_repr_pretty_(printer, cycle): the same for IPython. Waits." },
    { "is_contiguous", spyp_tensor_contiguous, METH_NOARGS, "is_contiguous(): whether elements lie row-major without gaps." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_tensor_getset[] = {
    { "shape", spyp_tensor_get, NULL, "The sizes of the dimensions.", (void *)SPYP_SHAPE },
    { "strides", spyp_tensor_get, NULL, "Steps between neighbours of each dimension, in elements.", (void *)SPYP_STRIDES },
    { "offset", spyp_tensor_get, NULL, "The position of the first element in the storage, in elements.", (void *)SPYP_OFFSET },
    { "element_count", spyp_tensor_get, NULL, "The product of the sizes.", (void *)SPYP_COUNT },
    { "ndim", spyp_tensor_get, NULL, "The number of dimensions.", (void *)SPYP_NDIM },
    { "device_address", spyp_tensor_get, NULL, "The GPU's address of the first element.", (void *)SPYP_ADDRESS },
    { "dtype", spyp_tensor_get_dtype, NULL, "The Slang element type, a TypeReflection: that of a Struct is struct.struct.", NULL },
    { "device", spyp_tensor_get_device, NULL, "The device that it lives on.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_tensor_members[] = {
    { "_usage", Py_T_INT, offsetof(spyp_tensor, usage), Py_READONLY, "The value of its BufferUsage; 0: the default." },
    { "_memory", Py_T_INT, offsetof(spyp_tensor, memory), Py_READONLY, "The value of its MemoryType." },
    { "__weaklistoffset__", Py_T_PYSSIZET, offsetof(spyp_tensor, weakrefs), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot spyp_tensor_slots[] = {
    { Py_tp_doc, (void *)"Tensor(device, shape, dtype=float): an N-dimensional strided array of device memory with a Slang element "
        "type, with undefined contents. Tensor(storage, dtype, shape, strides=None, offset=0) makes one over the memory of a Buffer "
        "or another tensor; strides and offset are in elements. == compares identity, and warns if it is given values: to_numpy() == "
        "value compares elements." },
    { Py_tp_new, (void *)spyp_tensor_new },
    { Py_tp_dealloc, (void *)spyp_tensor_dealloc },
    { Py_tp_traverse, (void *)spyp_tensor_traverse },
    { Py_tp_repr, (void *)spyp_tensor_repr },
    { Py_tp_str, (void *)spyp_tensor_str },
    { Py_tp_richcompare, (void *)spyp_tensor_compare },
    { Py_tp_hash, (void *)spyp_tensor_hash },
    { Py_nb_bool, (void *)spyp_tensor_bool },
    { Py_mp_length, (void *)spyp_tensor_length },
    { Py_mp_subscript, (void *)spyp_tensor_subscript },
    { Py_sq_length, (void *)spyp_tensor_length },
    { Py_sq_item, (void *)spyp_tensor_item },
    { Py_tp_methods, spyp_tensor_methods },
    { Py_tp_getset, spyp_tensor_getset },
    { Py_tp_members, spyp_tensor_members },
    { 0, NULL },
};

static PyType_Spec spyp_tensor_spec = {
    "slangpy._slangpy.Tensor", sizeof(spyp_tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, spyp_tensor_slots,
};

static PyType_Slot spyp_ndbuffer_slots[] = {
    { Py_tp_doc, (void *)"NDBuffer(device, dtype=float, element_count=None, shape=None): Slang's other name for a Tensor. NDBuffer(array): a copy "
                         "of any array (numpy, ...) on the device that push_current_device() set; as from_torch() for one in CUDA memory." },
    { 0, NULL },
};

static PyType_Spec spyp_ndbuffer_spec = {
    "slangpy._slangpy.NDBuffer", sizeof(spyp_tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, spyp_ndbuffer_slots,
};

static PyMethodDef spyp_eithers[] = {
    { "from_numpy", SPYP_FUNC(spyp_from_numpy), METH_VARARGS | METH_KEYWORDS,
      "Tensor.from_numpy(device, ndarray, usage=None, memory_type=None, dtype=None): a new tensor with a copy of any array, of its own "
      "type or of `dtype`, whose vectors, matrices and arrays take the last dimensions; structured arrays fill structs by field "
      "names. tensor.from_numpy(data): fill the tensor from an array with as many numbers, converted." },
    { "from_torch", SPYP_FUNC(spyp_from_torch), METH_VARARGS | METH_KEYWORDS,
      "Tensor.from_torch(device, tensor, dtype=None): a tensor over the memory of any array in CUDA memory (torch, CuPy, Numba, ...), where the "
      "device is CUDA's; of its own type, or of a `dtype` whose numbers are its own: its vectors, matrices, arrays and structs take the "
      "last dimensions. The memory lives as long as the tensor; the array's stream and the device's work stay in order. Other "
      "arrays: as from_numpy. TypeError and ValueError for arrays that cannot be shared: of another GPU, read-only, of numbers that "
      "Slang lacks." },
    { "from_dlpack", SPYP_FUNC(spyp_from_dlpack), METH_VARARGS | METH_KEYWORDS,
      "Tensor.from_dlpack(device, array, dtype=None): as from_torch, also of a DLPack capsule." },
    { "numpy", SPYP_FUNC(spyp_numpy_either), METH_VARARGS | METH_KEYWORDS,
      "Tensor.numpy(device, ndarray): as from_numpy. tensor.numpy(): as to_numpy." },
};

int spyp_tensor_ready(PyObject *module) {
    if (!(spyp.tensor = spyp_type_add(module, &spyp_tensor_spec, NULL))) return -1;
    if (!(spyp.ndbuffer = spyp_type_add(module, &spyp_ndbuffer_spec, spyp.tensor))) return -1;
    if (spyp_export_ready(module) < 0 || spyp_cursor_ready(module) < 0) return -1;
    return spyp_eithers_add(spyp.tensor, spyp_eithers, sizeof spyp_eithers / sizeof *spyp_eithers);
}
