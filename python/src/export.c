// Tensors as arrays of other libraries: DLPack, numpy's __array__, torch. Device memory of Vulkan cannot be shared with
// them: what they get is a copy in host memory.
#include "dlpack.h"
#include "spyp.h"

#include <stdlib.h>
#include <string.h>

// >>DLPack

enum { SPYP_EXPORT_RANK = 2 * SPY_MAX_RANK, SPYP_EXPORT_ALIGN = 256 };

// One allocation of malloc's: consumers free it from any thread, without the GIL.
typedef struct spyp_export {
    union {
        spyp_dl_legacy legacy;
        spyp_dl_versioned versioned;
    } managed;
    int64_t shape[SPYP_EXPORT_RANK], strides[SPYP_EXPORT_RANK];
} spyp_export;

static void spyp_delete_legacy(spyp_dl_legacy *self) {
    free(self->context);
}

static void spyp_delete_versioned(spyp_dl_versioned *self) {
    free(self->context);
}

// A capsule that nobody has consumed still owns its memory.
static void spyp_capsule_end(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, SPYP_DL_NAME)) {
        spyp_dl_legacy *legacy = (spyp_dl_legacy *)PyCapsule_GetPointer(capsule, SPYP_DL_NAME);
        legacy->deleter(legacy);
    } else if (PyCapsule_IsValid(capsule, SPYP_DL_NAME_VERSIONED)) {
        spyp_dl_versioned *versioned =
            (spyp_dl_versioned *)PyCapsule_GetPointer(capsule, SPYP_DL_NAME_VERSIONED);
        versioned->deleter(versioned);
    }
}

static uint8_t spyp_dl_code(spy_dtype dtype) {
    switch (dtype) {
    case SPY_BOOL: return SPYP_DL_BOOL;
    case SPY_FLOAT16:
    case SPY_FLOAT32:
    case SPY_FLOAT64: return SPYP_DL_FLOAT;
    case SPY_INT8:
    case SPY_INT16:
    case SPY_INT32:
    case SPY_INT64: return SPYP_DL_INT;
    default: return SPYP_DL_UINT;
    }
}

// Fills `tensor` with the sizes of `t` and the type of its numbers; -1 with an error when it has no such form.
static int spyp_export_describe(spyp_tensor *t, const spy_tensor_info *info, spyp_export *e,
                                spyp_dl_tensor *tensor) {
    spy_shape inner;
    const spy_type_info *type = spyp_element_info(t, info);
    if (PyErr_Occurred()) return -1;
    const spy_type_info *base = spyp_inner_shape(type, &inner);
    spy_dtype dtype = base ? base->dtype : info->dtype;
    if (dtype == SPY_DTYPE_DEFAULT) {
        PyErr_Format(PyExc_BufferError,
                     "__dlpack__: elements of %s have no form in DLPack; to_numpy() gives a structured array",
                     info->type);
        return -1;
    }
    int64_t step = 1;
    memcpy(e->shape, info->shape.dims, info->shape.rank * sizeof *e->shape);
    memcpy(e->shape + info->shape.rank, inner.dims, inner.rank * sizeof *e->shape);
    tensor->ndim = (int32_t)(info->shape.rank + inner.rank);
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
        e->strides[d] = step;
        step *= e->shape[d];
    }
    tensor->shape = e->shape;
    tensor->strides = e->strides;
    tensor->device.type = SPYP_DL_CPU;
    tensor->device.id = 0;
    tensor->dtype.code = spyp_dl_code(dtype);
    tensor->dtype.bits = (uint8_t)(8 * spy_dtype_size_bytes(dtype));
    tensor->dtype.lanes = 1;
    tensor->byte_offset = 0;
    return 0;
}

// Inside the device: a copy of the elements in the form that DLPack wants; NULL with an error.
static spyp_export *spyp_export_make(spyp_tensor *t, bool versioned) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    size_t head = (sizeof(spyp_export) + SPYP_EXPORT_ALIGN - 1) / SPYP_EXPORT_ALIGN * SPYP_EXPORT_ALIGN;
    char *memory = (char *)malloc(SPYP_EXPORT_ALIGN + head + info.host_size_bytes);
    if (!memory) {
        PyErr_NoMemory();
        return NULL;
    }
    char *start = memory + (SPYP_EXPORT_ALIGN - (uintptr_t)memory % SPYP_EXPORT_ALIGN) % SPYP_EXPORT_ALIGN;
    spyp_export *e = (spyp_export *)start;
    spyp_dl_tensor *tensor = versioned ? &e->managed.versioned.tensor : &e->managed.legacy.tensor;
    if (versioned) {
        e->managed.versioned.version.major = 1;
        e->managed.versioned.version.minor = 0;
        e->managed.versioned.context = memory;
        e->managed.versioned.deleter = spyp_delete_versioned;
        e->managed.versioned.flags = SPYP_DL_COPIED;
    } else {
        e->managed.legacy.context = memory;
        e->managed.legacy.deleter = spyp_delete_legacy;
    }
    tensor->data = start + head;
    int status = spyp_export_describe(t, &info, e, tensor);
    if (status == 0) status = spyp_wait(t->device);
    if (status == 0 && info.host_size_bytes &&
        spy_tensor_read(t->tensor, tensor->data, info.host_size_bytes) != SPY_OK) {
        spyp_raise(t->device);
        status = -1;
    }
    if (status == 0) return e;
    free(memory);
    return NULL;
}

static int spyp_export_check(PyObject *stream, PyObject *device, PyObject *copy) {
    int type = SPYP_DL_CPU, id = 0;
    if (stream != Py_None) {
        PyErr_Format(PyExc_ValueError,
                     "__dlpack__: argument 'stream': expected None, for the copy lies in host memory, got %R",
                     stream);
        return -1;
    }
    if (copy == Py_False) {
        PyErr_SetString(
            PyExc_BufferError,
            "__dlpack__: argument 'copy': expected True or None: Vulkan's memory is always copied");
        return -1;
    }
    if (device == Py_None) return 0;
    PyObject *pair = PySequence_Tuple(device);
    bool good = pair && PyArg_ParseTuple(pair, "ii", &type, &id);
    Py_XDECREF(pair);
    if (good && type == SPYP_DL_CPU) return 0;
    if (good)
        PyErr_Format(PyExc_BufferError,
                     "__dlpack__: argument 'dl_device': expected (1, 0), host memory, got (%d, %d)", type,
                     id);
    return -1;
}

static PyObject *spyp_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    spyp_tensor *t = (spyp_tensor *)self;
    long major = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:__dlpack__", names, &stream, &version, &device,
                                     &copy))
        return NULL;
    if (spyp_export_check(stream, device, copy) < 0) return NULL;
    if (version != Py_None) {
        PyObject *first = PySequence_GetItem(version, 0);
        major = first ? PyLong_AsLong(first) : -1;
        Py_XDECREF(first);
        if (PyErr_Occurred()) return NULL;
    }
    if (spyp_enter(t->device, "__dlpack__") < 0) return NULL;
    spyp_export *e = spyp_export_make(t, major >= 1);
    spyp_leave(t->device);
    if (!e) return NULL;
    PyObject *capsule =
        PyCapsule_New(&e->managed, major >= 1 ? SPYP_DL_NAME_VERSIONED : SPYP_DL_NAME, spyp_capsule_end);
    if (!capsule) free(major >= 1 ? e->managed.versioned.context : e->managed.legacy.context);
    return capsule;
}

static PyObject *spyp_tensor_dlpack_device(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(self);
    SPYP_UNUSED(ignored);
    return Py_BuildValue("(ii)", SPYP_DL_CPU, 0);
}

// >>numpy

static PyObject *spyp_tensor_array(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) return NULL;
    if (copy == Py_False)
        return PyErr_Format(
            PyExc_ValueError,
            "__array__: argument 'copy': expected True or None: device memory is always copied");
    PyObject *array = spyp_tensor_to_numpy((spyp_tensor *)self);
    if (!array || dtype == Py_None) return array;
    PyObject *converted = PyObject_CallMethod(array, "astype", "O", dtype);
    Py_DECREF(array);
    return converted;
}

// >>what is naturally Python: slangpy/tensors.py

static PyObject *spyp_in_python(const char *function, PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *module = PyImport_ImportModule("slangpy.tensors"),
             *callable = module ? PyObject_GetAttrString(module, function) : NULL;
    PyObject *first = PyTuple_Pack(1, self),
             *all = first && args ? PySequence_Concat(first, args) : Py_XNewRef(first);
    PyObject *result = callable && all ? PyObject_Call(callable, all, kwargs) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(callable);
    Py_XDECREF(first);
    Py_XDECREF(all);
    return result;
}

static PyObject *spyp_tensor_to_torch(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_in_python("to_torch", self, NULL, NULL);
}

static PyObject *spyp_tensor_uniforms(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_in_python("Uniforms", self, NULL, NULL);
}

static PyObject *spyp_tensor_load_image(PyObject *type, PyObject *args, PyObject *kwargs) {
    return spyp_in_python("load_from_image", type, args, kwargs);
}

static PyObject *spyp_tensor_storage(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_in_python("storage", self, NULL, NULL);
}

static PyMethodDef spyp_export_methods[] = {
    { "__dlpack__", SPYP_FUNC(spyp_tensor_dlpack), METH_VARARGS | METH_KEYWORDS,
      "__dlpack__(stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule of a copy in "
      "host memory. Waits. "
      "BufferError for structs, for another device and for copy=False." },
    { "__dlpack_device__", spyp_tensor_dlpack_device, METH_NOARGS,
      "__dlpack_device__(): (1, 0), host memory: where __dlpack__() copies to." },
    { "__array__", SPYP_FUNC(spyp_tensor_array), METH_VARARGS | METH_KEYWORDS,
      "__array__(dtype=None, copy=None): as to_numpy(), for numpy.asarray(tensor). Waits." },
    { "to_torch", spyp_tensor_to_torch, METH_NOARGS,
      "to_torch(): a torch tensor on the CPU with a copy of the contents. Waits. ImportError without "
      "torch." },
    { "torch", spyp_tensor_to_torch, METH_NOARGS, "torch(): as to_torch()." },
    { "uniforms", spyp_tensor_uniforms, METH_NOARGS,
      "uniforms(): a dict of shape, strides and offset; as a value for dispatch(vars=...) it is the "
      "tensor." },
    { "load_from_image", SPYP_FUNC(spyp_tensor_load_image), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
      "load_from_image(device, path, flip_y=False, linearize=False, scale=1.0, offset=0.0, grayscale=False): "
      "an image file as a (height, "
      "width) tensor of float, float2, float3 or float4; 8-bit values become 0 to 1. Needs Pillow." },
    { NULL, NULL, 0, NULL },
};

// _is_static(struct, name): whether a struct's method has no `this`; for instances.py.
static PyObject *spyp_is_static(PyObject *self, PyObject *args) {
    PyObject *struct_type, *found = NULL;
    const char *name;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!s:_is_static", spyp.struct_type, &struct_type, &name)) return NULL;
    spyp_struct *s = (spyp_struct *)struct_type;
    if (spyp_enter(s->module->device, "_is_static") < 0) return NULL;
    const spy_decl *decl = s->info->decl;
    for (uint32_t i = 0; decl && i < decl->child_count && !found; i++)
        if (decl->children[i].kind == SPY_DECL_METHOD && strcmp(decl->children[i].name, name) == 0)
            found = PyBool_FromLong(decl->children[i].flags & SPY_DECL_STATIC);
    spyp_leave(s->module->device);
    return found ? found : PyBool_FromLong(0);
}

static PyMethodDef spyp_export_functions[] = {
    { "_is_static", spyp_is_static, METH_VARARGS,
      "_is_static(struct, name): whether the method has no `this`." },
    { NULL, NULL, 0, NULL },
};

int spyp_export_ready(PyObject *module) {
    static PyGetSetDef storage = { "storage", spyp_tensor_storage, NULL,
                                   "The tensor's memory as a Buffer of bytes: the same memory. ValueError unless elements lie "
                                   "next to each other.",
                                   NULL };
    return spyp_methods_add(spyp.tensor, spyp_export_methods) < 0 || spyp_getset_add(spyp.tensor, &storage) < 0
               ? -1
               : PyModule_AddFunctions(module, spyp_export_functions);
}
