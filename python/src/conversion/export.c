// Tensors as arrays of other libraries: DLPack, __cuda_array_interface__, numpy's __array__, torch. The
// libraries share a tensor's CUDA memory. They cannot share Vulkan memory, so they get a copy in host memory.
#include "values/dlpack.h"
#include "conversion/conversion.h"
#include "slangpy_cuda.h"

#include <stdlib.h>
#include <string.h>

// >>DLPack

enum { SPYP_EXPORT_RANK = 2 * SPY_MAX_RANK, SPYP_EXPORT_ALIGN = 256 };

// The memory of an export is one block from malloc, because consumers free it from any thread and without the
// GIL.
typedef struct spyp_export {
    union {
        spyp_dl_legacy legacy;
        spyp_dl_versioned versioned;
    } managed;
    int64_t shape[SPYP_EXPORT_RANK], strides[SPYP_EXPORT_RANK];
    PyObject *lease; // lease of the tensor whose memory is shared; NULL means that the export has a copy, or owns a tensor
    // A result that only the other library uses, and its device, which is kept; see spyp_export_result(). NULL for other exports.
    spy_tensor *owned;
    spyp_device *device;
    void *stream; // stream in which the other library uses the memory
} spyp_export;

// Gives the memory of a result back to the device.
static void spyp_export_return(spyp_export *e) {
    spyp_device *d = e->device;
    if (e->stream == d->stream || !d->device || d->fork_count != spyp.fork_count) { // later work that uses the memory is in the same stream
        spyp_drop_tensor(d, e->owned);
    } else {
        PyObject *tensor = spyp_tensor_make(spyp.tensor, d, e->owned, NULL), *lease = tensor ? spyp_lease_make(d, e->stream, tensor) : NULL;
        if (lease) spyp_lease_end(lease);
        else PyErr_Clear();
        Py_XDECREF(tensor);
    }
    SPYP_DECREF(d);
}

// Frees an export. After the interpreter has ended, its tensor cannot be given back.
static void spyp_export_end(spyp_export *e, void *memory) {
    if ((e->lease || e->owned) && Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        if (e->owned) {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            spyp_export_return(e);
            PyErr_Restore(type, value, trace);
        } else {
            spyp_lease_end(e->lease);
        }
        PyGILState_Release(state);
    }
    free(memory);
}

static void spyp_delete_legacy(spyp_dl_legacy *self) {
    spyp_export_end((spyp_export *)(void *)self, self->context);
}

static void spyp_delete_versioned(spyp_dl_versioned *self) {
    spyp_export_end((spyp_export *)(void *)self, self->context);
}

// Frees the memory of a capsule that nobody has consumed.
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
    case SPY_DTYPE_BOOL: return SPYP_DL_BOOL;
    case SPY_DTYPE_FLOAT16:
    case SPY_DTYPE_FLOAT32:
    case SPY_DTYPE_FLOAT64: return SPYP_DL_FLOAT;
    case SPY_DTYPE_INT8:
    case SPY_DTYPE_INT16:
    case SPY_DTYPE_INT32:
    case SPY_DTYPE_INT64: return SPYP_DL_INT;
    default: return SPYP_DL_UINT;
    }
}

// Fills `tensor` with the sizes of `t`, packed in host memory, and the type of its numbers. Returns -1 with
// an exception set if DLPack has no form for it.
static int spyp_export_describe(spyp_tensor *t, const spy_tensor_info *info, spyp_export *e,
                                spyp_dl_tensor *tensor) {
    spy_shape inner;
    const spy_type_info *type = spyp_element_info(t, info);
    if (PyErr_Occurred()) return -1;
    const spy_type_info *base = spyp_inner_shape(type, &inner);
    spy_dtype dtype = base ? base->dtype : info->dtype;
    if (dtype == SPY_DTYPE_DEFAULT) {
        PyErr_Format(PyExc_BufferError,
                     "__dlpack__: elements of %s have no form in DLPack; to_numpy(structured=True) gives an array with the fields",
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

// Describes the elements in the device's memory instead of a copy. Returns -1 with an exception set. Call it
// inside the device.
static int spyp_export_place(spyp_tensor *t, const spy_tensor_info *info, spyp_export *e, spyp_dl_tensor *tensor) {
    size_t item = tensor->dtype.bits / 8u, each = 1;
    for (int32_t i = (int32_t)info->shape.rank; i < tensor->ndim; i++) each *= (size_t)e->shape[i];
    if (info->element_size_bytes != each * item) {
        PyErr_Format(PyExc_BufferError, "__dlpack__: elements of %s have gaps in the device's memory; to_numpy(structured=True) gives them without", info->type);
        return -1;
    }
    for (uint32_t i = 0; i < info->shape.rank; i++) e->strides[i] = info->strides.dims[i] * (int64_t)each;
    union { uint64_t number; void *pointer; } address = { info->element_count ? spy_tensor_address(t->tensor) : 0 };
    tensor->data = address.pointer;
    tensor->device.type = SPYP_DL_CUDA;
    tensor->device.id = t->device->cuda;
    return 0;
}

// Allocates an export with room for `data` bytes. Returns NULL with an exception set. Call it inside the
// device.
static spyp_export *spyp_export_new(bool versioned, uint64_t flags, size_t data, spyp_dl_tensor **tensor) {
    size_t head = (sizeof(spyp_export) + SPYP_EXPORT_ALIGN - 1) / SPYP_EXPORT_ALIGN * SPYP_EXPORT_ALIGN;
    char *memory = (char *)malloc(SPYP_EXPORT_ALIGN + head + data);
    if (!memory) {
        PyErr_NoMemory();
        return NULL;
    }
    char *start = memory + (SPYP_EXPORT_ALIGN - (uintptr_t)memory % SPYP_EXPORT_ALIGN) % SPYP_EXPORT_ALIGN;
    spyp_export *e = (spyp_export *)(void *)start;
    e->lease = NULL;
    e->owned = NULL;
    *tensor = versioned ? &e->managed.versioned.tensor : &e->managed.legacy.tensor;
    if (versioned) {
        e->managed.versioned.version.major = 1;
        e->managed.versioned.version.minor = 0;
        e->managed.versioned.context = memory;
        e->managed.versioned.deleter = spyp_delete_versioned;
        e->managed.versioned.flags = flags;
    } else {
        e->managed.legacy.context = memory;
        e->managed.legacy.deleter = spyp_delete_legacy;
    }
    (*tensor)->data = start + head;
    return e;
}

static void spyp_export_free(spyp_export *e, bool versioned) {
    if (versioned) e->managed.versioned.deleter(&e->managed.versioned);
    else e->managed.legacy.deleter(&e->managed.legacy);
}

// Makes an export with a copy of the elements in host memory. Returns NULL with an exception set. Call it
// inside the device.
static spyp_export *spyp_export_make(spyp_tensor *t, bool versioned) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_dl_tensor *tensor;
    spyp_export *e = spyp_export_new(versioned, SPYP_DL_COPIED, info.host_size_bytes, &tensor);
    if (!e) return NULL;
    int status = spyp_export_describe(t, &info, e, tensor);
    if (status == 0) status = spyp_wait_to_read(t->device);
    if (status == 0 && info.host_size_bytes &&
        spy_tensor_read(t->tensor, tensor->data, info.host_size_bytes) != SPY_OK) {
        spyp_raise(t->device);
        status = -1;
    }
    if (status == 0) return e;
    spyp_export_free(e, versioned);
    return NULL;
}

// Makes an export of the tensor's own memory. Work in `stream` (NULL means not known) begins after the device's work so far. Call it
// outside the device.
static spyp_export *spyp_export_share(spyp_tensor *t, bool versioned, void *stream) {
    spyp_dl_tensor *tensor;
    spyp_export *e = NULL;
    if (spyp_enter(t->device, "__dlpack__") < 0) return NULL;
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    int status = (e = spyp_export_new(versioned, 0, 0, &tensor)) ? 0 : -1;
    if (status == 0) status = spyp_export_describe(t, &info, e, tensor);
    if (status == 0) status = spyp_export_place(t, &info, e, tensor);
    if (status == 0 && stream && stream != t->device->stream && spy_cuda_signal_stream(t->device->device, stream) != SPY_OK) {
        spyp_raise(t->device);
        status = -1;
    }
    spyp_leave(t->device);
    if (status == 0 && (e->lease = spyp_lease_make(t->device, stream, (PyObject *)t)) != NULL) return e;
    if (e) spyp_export_free(e, versioned);
    return NULL;
}

spyp_dl_versioned *spyp_export_shared(spyp_tensor *t, void *stream) {
    spyp_export *e = spyp_export_share(t, true, stream);
    return e ? &e->managed.versioned : NULL;
}

spyp_dl_versioned *spyp_export_result(spyp_device *d, spy_tensor *result, void *stream) {
    spyp_dl_tensor *tensor;
    spy_tensor_info info = spy_get_tensor_info(result);
    if (!d->follow || stream != d->stream || info.dtype == SPY_DTYPE_DEFAULT || info.element_size_bytes != spy_dtype_size_bytes(info.dtype)) return NULL;
    spyp_export *e = spyp_export_new(true, 0, 0, &tensor);
    if (!e) {
        PyErr_Clear();
        return NULL;
    }
    memcpy(e->shape, info.shape.dims, info.shape.rank * sizeof *e->shape);
    memcpy(e->strides, info.strides.dims, info.shape.rank * sizeof *e->strides);
    tensor->ndim = (int32_t)info.shape.rank;
    tensor->shape = e->shape;
    tensor->strides = e->strides;
    tensor->dtype.code = spyp_dl_code(info.dtype);
    tensor->dtype.bits = (uint8_t)(8 * info.element_size_bytes);
    tensor->dtype.lanes = 1;
    tensor->byte_offset = 0;
    union { uint64_t number; void *pointer; } address = { info.element_count ? spy_tensor_address(result) : 0 };
    tensor->data = address.pointer;
    tensor->device.type = SPYP_DL_CUDA;
    tensor->device.id = d->cuda;
    e->owned = result;
    e->device = (spyp_device *)Py_NewRef((PyObject *)d);
    e->stream = stream;
    return &e->managed.versioned;
}

// Returns the kind of export that the arguments ask for: 1 for the memory itself, 0 for a copy in host memory, 2 for a copy on the device,
// or -1 with an exception set.
static int spyp_export_check(const spyp_device *d, PyObject *stream, PyObject *device, PyObject *copy) {
    int here = d->cuda >= 0 ? SPYP_DL_CUDA : SPYP_DL_CPU, number = d->cuda >= 0 ? d->cuda : 0, type = here, id = number;
    if (device != Py_None) {
        PyObject *pair = PySequence_Tuple(device);
        bool good = pair && PyArg_ParseTuple(pair, "ii", &type, &id);
        Py_XDECREF(pair);
        if (!good) return -1;
    }
    if (type != SPYP_DL_CPU && (type != here || id != number)) {
        PyErr_Format(PyExc_BufferError, "__dlpack__: argument 'dl_device': expected (1, 0), host memory,%s got (%d, %d)",
                     here == SPYP_DL_CUDA ? " or the tensor's own device," : "", type, id);
        return -1;
    }
    if (type == SPYP_DL_CUDA) return copy == Py_True ? 2 : 1;
    if (stream != Py_None) {
        PyErr_Format(spyp.value_error,
                     "__dlpack__: argument 'stream': expected None, for the copy lies in host memory, got %R",
                     stream);
        return -1;
    }
    if (copy != Py_False) return 0;
    PyErr_SetString(PyExc_BufferError, here == SPYP_DL_CUDA ? "__dlpack__: argument 'copy': expected True or None for host memory"
                                                            : "__dlpack__: argument 'copy': expected True or None: Vulkan's memory is always copied");
    return -1;
}

// Parses the argument `stream`. None is CUDA's default stream, and -1 is no stream.
static int spyp_consumer_stream(PyObject *object, void **stream) {
    *stream = SPY_CUDA_STREAM_LEGACY;
    if (object == Py_None) return 0;
    if (!PyLong_Check(object) || PyLong_AsLongLong(object) != -1) return PyErr_Occurred() ? -1 : spyp_stream_parse(object, stream);
    *stream = NULL;
    return 0;
}

// Makes the export that spyp_export_check() has chosen (`how`). Call it outside the device.
static spyp_export *spyp_export_as(spyp_tensor *t, int how, bool versioned, PyObject *stream) {
    void *consumer = NULL;
    if (how && spyp_consumer_stream(stream, &consumer) < 0) return NULL;
    if (how == 1) return spyp_export_share(t, versioned, consumer);
    if (how == 2) {
        PyObject *copy = spyp_tensor_copy(t, "__dlpack__");
        spyp_export *e = copy ? spyp_export_share((spyp_tensor *)copy, versioned, consumer) : NULL;
        if (e && versioned) e->managed.versioned.flags = SPYP_DL_COPIED;
        Py_XDECREF(copy);
        return e;
    }
    if (spyp_enter(t->device, "__dlpack__") < 0) return NULL;
    spyp_export *e = spyp_export_make(t, versioned);
    spyp_leave(t->device);
    return e;
}

static PyObject *spyp_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    spyp_tensor *t = (spyp_tensor *)self;
    long major = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:__dlpack__", names, &stream, &version, &device,
                                     &copy))
        return NULL;
    int how = spyp_export_check(t->device, stream, device, copy);
    if (how < 0) return NULL;
    if (version != Py_None) {
        PyObject *first = PySequence_GetItem(version, 0);
        major = first ? PyLong_AsLong(first) : -1;
        Py_XDECREF(first);
        if (PyErr_Occurred()) return NULL;
    }
    spyp_export *e = spyp_export_as(t, how, major >= 1, stream);
    if (!e) return NULL;
    PyObject *capsule =
        PyCapsule_New(&e->managed, major >= 1 ? SPYP_DL_NAME_VERSIONED : SPYP_DL_NAME, spyp_capsule_end);
    if (!capsule) spyp_export_free(e, major >= 1);
    return capsule;
}

static PyObject *spyp_tensor_dlpack_device(PyObject *self, PyObject *ignored) {
    const spyp_device *d = ((spyp_tensor *)self)->device;
    SPYP_UNUSED(ignored);
    return Py_BuildValue("(ii)", d->cuda >= 0 ? SPYP_DL_CUDA : SPYP_DL_CPU, d->cuda >= 0 ? d->cuda : 0);
}

// >>__cuda_array_interface__, version 3

static PyObject *spyp_interface_make(spyp_tensor *t) {
    static const char kinds[] = { 'i', 'u', 'f', 0, 0, 0, 'b' };
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_export e;
    spyp_dl_tensor tensor;
    if (spyp_export_describe(t, &info, &e, &tensor) < 0 || spyp_export_place(t, &info, &e, &tensor) < 0) return NULL;
    long long item = tensor.dtype.bits / 8;
    PyObject *shape = PyTuple_New(tensor.ndim), *strides = PyTuple_New(tensor.ndim), *dict = NULL;
    for (int32_t i = 0; shape && strides && i < tensor.ndim; i++) {
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(e.shape[i]));
        PyTuple_SetItem(strides, i, PyLong_FromLongLong(e.strides[i] * item));
    }
    PyObject *stream = PyLong_FromVoidPtr(spy_cuda_get_stream(t->device->device));
    PyObject *type = spyp_format("%c%c%d", item == 1 ? '|' : '<', kinds[tensor.dtype.code], (int)item);
    PyObject *address = PyLong_FromVoidPtr(tensor.data);
    if (shape && strides && stream && type && address)
        dict = Py_BuildValue("{s:O,s:O,s:(OO),s:O,s:i,s:O}", "shape", shape, "typestr", type, "data", address, Py_False, "strides",
                             info.is_contiguous ? Py_None : strides, "version", 3, "stream", stream);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(stream);
    Py_XDECREF(type);
    Py_XDECREF(address);
    return dict;
}

// Returns the tensor's __cuda_array_interface__. Raises an AttributeError if the tensor has none, so that hasattr() is False.
static PyObject *spyp_tensor_interface(PyObject *self, void *ignored) {
    spyp_tensor *t = (spyp_tensor *)self;
    SPYP_UNUSED(ignored);
    if (t->device->cuda < 0)
        return PyErr_Format(PyExc_AttributeError, "__cuda_array_interface__: the tensor lies in the memory of a device that is not CUDA's");
    if (spyp_enter(t->device, "__cuda_array_interface__") < 0) return NULL;
    PyObject *dict = spyp_interface_make(t);
    spyp_leave(t->device);
    if (dict || !PyErr_ExceptionMatches(PyExc_BufferError)) return dict;
    PyErr_Clear();
    return PyErr_Format(PyExc_AttributeError, "__cuda_array_interface__: the elements have no form in it");
}

// >>numpy

static PyObject *spyp_tensor_array(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) return NULL;
    if (copy == Py_False)
        return PyErr_Format(
            spyp.value_error,
            "__array__: argument 'copy': expected True or None: device memory is always copied");
    PyObject *array = spyp_tensor_to_numpy((spyp_tensor *)self, true);
    if (!array || dtype == Py_None) return array;
    PyObject *converted = PyObject_CallMethod(array, "astype", "O", dtype);
    Py_DECREF(array);
    return converted;
}

// >>methods that are written in Python: slangpy/tensors.py

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
      "__dlpack__(stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule. Of a CUDA device: of the tensor's own "
      "memory, for work in `stream` (a handle; None: CUDA's default one), which begins after all work so far; while it is used "
      "there, the device's work and that stream's are in order (-1: the consumer sees to that). Of others, or with dl_device=(1, 0): of a "
      "copy in host memory. Waits. BufferError for structs, for another device and where copy=False cannot be had." },
    { "__dlpack_device__", spyp_tensor_dlpack_device, METH_NOARGS,
      "__dlpack_device__(): (2, n) for CUDA's GPU n; else (1, 0), host memory, where __dlpack__() copies to." },
    { "__array__", SPYP_FUNC(spyp_tensor_array), METH_VARARGS | METH_KEYWORDS,
      "__array__(dtype=None, copy=None): as to_numpy(), for numpy.asarray(tensor). Waits." },
    { "to_torch", spyp_tensor_to_torch, METH_NOARGS,
      "to_torch(): a torch tensor over the same memory if the device is CUDA's; otherwise one on the CPU with a copy of the contents, "
      "for which the call waits. ImportError without torch." },
    { "torch", spyp_tensor_to_torch, METH_NOARGS, "torch(): the same as to_torch()." },
    { "uniforms", spyp_tensor_uniforms, METH_NOARGS,
      "uniforms(): a dict of shape, strides and offset, which stands for the tensor in dispatch(vars=...)." },
    { "load_from_image", SPYP_FUNC(spyp_tensor_load_image), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
      "load_from_image(device, path, flip_y=False, linearize=False, scale=1.0, offset=0.0, grayscale=False): "
      "an image file as a (height, "
      "width) tensor of float, float2, float3 or float4; 8-bit values become 0 to 1. Needs Pillow." },
    { NULL, NULL, 0, NULL },
};

// _is_static(struct, name) tells instances.py whether a struct's method is static.
static PyObject *spyp_is_static(PyObject *self, PyObject *args) {
    PyObject *struct_type, *found = NULL;
    const char *name;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!s:_is_static", spyp.struct_type, &struct_type, &name)) return NULL;
    spyp_struct *s = (spyp_struct *)struct_type;
    if (spyp_enter(s->module->device, "_is_static") < 0) return NULL;
    const spy_decl *decl = s->info->decl;
    for (uint32_t i = 0; decl && i < decl->child_count && !found; i++)
        if (decl->children[i].kind == SPY_DECL_KIND_METHOD && strcmp(decl->children[i].name, name) == 0)
            found = PyBool_FromLong(decl->children[i].flags & SPY_DECL_FLAG_STATIC);
    spyp_leave(s->module->device);
    return found ? found : PyBool_FromLong(0);
}

static PyMethodDef spyp_export_functions[] = {
    { "_is_static", spyp_is_static, METH_VARARGS,
      "_is_static(struct, name): whether a method is static." },
    { NULL, NULL, 0, NULL },
};

int spyp_export_ready(PyObject *module) {
    static PyGetSetDef storage = { "storage", spyp_tensor_storage, NULL,
                                   "The tensor's memory as a Buffer of bytes. For a view it is all the memory that the view is part "
                                   "of, so that views share one storage; `offset` is the view's position in it.",
                                   NULL };
    static PyGetSetDef interface = { "__cuda_array_interface__", spyp_tensor_interface, NULL,
                                     "The tensor's memory as other CUDA libraries find it, version 3, with the stream that its work goes to. "
                                     "AttributeError for other devices and for structs.",
                                     NULL };
    return spyp_methods_add(spyp.tensor, spyp_export_methods) < 0 || spyp_getset_add(spyp.tensor, &storage) < 0 ||
                   spyp_getset_add(spyp.tensor, &interface) < 0
               ? -1
               : PyModule_AddFunctions(module, spyp_export_functions);
}
