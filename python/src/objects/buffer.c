// Buffers: tensors of rank 1 whose elements are bytes or one type. slangpy/buffers.py has their Python side.
#include "objects/objects.h"
#include "slangpy_cuda.h"
#include "slangpy_vk.h"

#include <string.h>

// Returns a view of rank 1 of the bytes of `tensor`, which is the tensor of `t` or one that has its memory. The caller releases the view.
// Returns NULL with an exception set. Call it inside the device.
static spy_tensor *spyp_buffer_bytes(spyp_tensor *t, spy_tensor *tensor, const char *what) {
    spy_tensor_info info = spy_get_tensor_info(tensor);
    spy_shape flat = { 1, { -1 } };
    if (!info.is_contiguous) {
        PyErr_Format(spyp.value_error, "%s: expected a buffer whose elements lie next to each other; copy it",
                     what);
        return NULL;
    }
    spy_tensor *row = spy_create_reshape(tensor, flat);
    spy_tensor *bytes = row ? spy_create_view_as(row, "void", NULL) : NULL;
    spy_release_tensor(row);
    if (!bytes) spyp_raise(t->device);
    return bytes;
}

// Returns a view of `size` bytes from byte `offset` on; see spyp_buffer_bytes(). If `size` is -1, the view
// goes to the end.
spy_tensor *spyp_buffer_range(spyp_tensor *t, long long offset, long long size, const char *what) {
    spy_tensor *bytes = spyp_buffer_bytes(t, t->tensor, what);
    if (!bytes) return NULL;
    long long all = (long long)spy_get_tensor_info(bytes).element_count;
    if (size == -1 && offset >= 0 && offset <= all) size = all - offset;
    if (offset < 0 || size < 0 || offset > all || size > all - offset) {
        PyErr_Format(spyp.value_error,
                     "%s: %lld bytes from offset %lld on are not within the buffer's %lld bytes", what, size,
                     offset, all);
        spy_release_tensor(bytes);
        return NULL;
    }
    if (offset == 0 && size == all) return bytes;
    spy_tensor *part = spy_create_slice(bytes, 0, offset, offset + size, 1);
    spy_release_tensor(bytes);
    if (!part) spyp_raise(t->device);
    return part;
}

// _element_name(tensor) returns the name of the elements' type.
static PyObject *spyp_element_name(PyObject *self, PyObject *tensor) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(tensor, spyp.tensor)) return PyErr_Format(PyExc_TypeError, "_element_name: expected a Tensor");
    spyp_tensor *t = (spyp_tensor *)tensor;
    if (spyp_enter(t->device, "Buffer") < 0) return NULL;
    PyObject *name = PyUnicode_FromString(spy_get_tensor_info(t->tensor).type);
    spyp_leave(t->device);
    return name;
}

// _set_usage(tensor, usage): set what calls may do with a tensor's memory.
static PyObject *spyp_set_usage(PyObject *self, PyObject *args) {
    PyObject *tensor, *usage;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!O:_set_usage", spyp.tensor, &tensor, &usage) || spyp_tensor_set_usage(tensor, usage) < 0) return NULL;
    Py_RETURN_NONE;
}

// _buffer_make(type, device, dtype, count, zeroed) makes a buffer. If `dtype` is None, its elements are
// bytes.
static PyObject *spyp_buffer_make(PyObject *self, PyObject *args) {
    PyObject *type, *device, *dtype, *result = NULL;
    long long count;
    int zeroed = 0;
    const char *label = NULL;
    spyp_dtype parsed;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "OO!OL|pz:create_buffer", &type, spyp.device, &device, &dtype, &count,
                          &zeroed, &label))
        return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "create_buffer: expected a kind of Tensor, got %R", type);
    spyp_device *d = (spyp_device *)device;
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(&parsed, 0, sizeof parsed);
    if (dtype == Py_None) desc.type = "void";
    else if (spyp_dtype_parse(dtype, "create_buffer", "dtype", &parsed) < 0) return NULL;
    if (parsed.scalar) desc.dtype = parsed.scalar;
    else if (parsed.type) desc.type = parsed.type;
    desc.module = parsed.scalar ? NULL : parsed.module;
    desc.shape.rank = 1;
    desc.shape.dims[0] = count;
    desc.zeroed = zeroed;
    desc.label = label;
    if (parsed.from && parsed.from->device != d) {
        PyErr_Format(spyp.value_error,
                     "create_buffer: argument 'struct_type': %s belongs to a module of another device",
                     parsed.type);
    } else if (spyp_enter(d, "create_buffer") == 0) {
        spy_tensor *tensor = spy_create_tensor(d->device, &desc);
        if (!tensor) spyp_raise(d);
        spyp_leave(d);
        if (tensor) result = spyp_tensor_make((PyTypeObject *)type, d, tensor, (PyObject *)parsed.from);
    }
    Py_XDECREF(parsed.keeps);
    return result;
}

// _buffer_over(type, tensor) returns a buffer of bytes over the tensor's memory; for a view, over all the memory that the view is part of.
static PyObject *spyp_buffer_over(PyObject *self, PyObject *args) {
    PyObject *type, *object;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "OO!:storage", &type, spyp.tensor, &object)) return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "storage: expected a kind of Tensor, got %R", type);
    spyp_tensor *t = (spyp_tensor *)object;
    if (spyp_enter(t->device, "Tensor.storage") < 0) return NULL;
    uint64_t before;
    spy_tensor *bytes = spyp_buffer_bytes(t, spyp_tensor_whole(t, &before), "Tensor.storage");
    spyp_leave(t->device);
    return bytes ? spyp_tensor_make_view((PyTypeObject *)type, t, bytes, NULL) : NULL;
}

static spyp_tensor *spyp_tensor_of(PyObject *object, const char *what) {
    if (PyObject_TypeCheck(object, spyp.tensor)) return (spyp_tensor *)object;
    PyErr_Format(PyExc_TypeError, "%s: expected a Buffer or Tensor, got %R", what,
                 (PyObject *)Py_TYPE(object));
    return NULL;
}

// _buffer_size(tensor) returns the bytes of a tensor on the device.
static PyObject *spyp_buffer_size(PyObject *self, PyObject *object) {
    spyp_tensor *t = spyp_tensor_of(object, "Buffer.size");
    SPYP_UNUSED(self);
    if (!t || spyp_enter(t->device, "Buffer.size") < 0) return NULL;
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spyp_leave(t->device);
    return PyLong_FromSize_t((size_t)info.element_count * info.element_size_bytes);
}

// _buffer_handle(tensor) returns the VkBuffer that contains a buffer, and the buffer's offset in it in bytes. Only for Vulkan devices.
static PyObject *spyp_buffer_handle(PyObject *self, PyObject *object) {
    spyp_tensor *t = spyp_tensor_of(object, "Buffer.native_handle");
    uint64_t buffer = 0, offset = 0;
    SPYP_UNUSED(self);
    if (!t || spyp_enter(t->device, "Buffer.native_handle") < 0) return NULL;
    bool good = spy_vk_get_tensor_buffer(t->tensor, &buffer, &offset) == SPY_OK;
    if (!good) spyp_raise(t->device);
    spyp_leave(t->device);
    return good ? Py_BuildValue("(KK)", (unsigned long long)buffer, (unsigned long long)offset) : NULL;
}

// _open_commands(device) returns the VkCommandBuffer that the device records into, as an int. Only for Vulkan devices.
static PyObject *spyp_open_commands(PyObject *self, PyObject *device) {
    void *commands = NULL;
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(device, spyp.device)) return PyErr_Format(PyExc_TypeError, "_open_commands: expected a Device");
    spyp_device *d = (spyp_device *)device;
    if (spyp_enter(d, "CommandEncoder.execute_callback") < 0) return NULL;
    bool good = spy_vk_get_command_buffer(d->device, &commands) == SPY_OK;
    if (!good) spyp_raise(d);
    spyp_leave(d);
    return good ? PyLong_FromVoidPtr(commands) : NULL;
}

// _stream(device) returns the CUstream of a CUDA device's work, as an int.
static PyObject *spyp_device_stream(PyObject *self, PyObject *device) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(device, spyp.device)) return PyErr_Format(PyExc_TypeError, "_stream: expected a Device");
    spyp_device *d = (spyp_device *)device;
    if (spyp_enter(d, "CommandEncoder.execute_callback") < 0) return NULL;
    void *stream = spy_cuda_get_stream(d->device);
    spyp_leave(d);
    return PyLong_FromVoidPtr(stream);
}

// _buffer_write(tensor, data, offset) writes the bytes of a contiguous array.
static PyObject *spyp_buffer_write(PyObject *self, PyObject *args) {
    PyObject *object;
    Py_buffer data;
    long long offset = 0;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "Oy*|L:Buffer.copy_from_numpy", &object, &data, &offset)) return NULL;
    spyp_tensor *t = spyp_tensor_of(object, "Buffer.copy_from_numpy");
    bool good = false;
    if (t && spyp_enter(t->device, "Buffer.copy_from_numpy") == 0) {
        spy_tensor *part = spyp_buffer_range(t, offset, (long long)data.len, "Buffer.copy_from_numpy");
        good = part && spy_tensor_write(part, data.buf, (size_t)data.len) == SPY_OK;
        if (part && !good) spyp_raise(t->device);
        spy_release_tensor(part);
        spyp_leave(t->device);
    }
    PyBuffer_Release(&data);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// _buffer_read(tensor, offset, size) returns bytes as they lie on the device. It waits for the work that
// writes them.
static PyObject *spyp_buffer_read(PyObject *self, PyObject *args) {
    PyObject *object, *result = NULL;
    long long offset = 0, size = -1;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O|LL:Buffer.to_numpy", &object, &offset, &size)) return NULL;
    spyp_tensor *t = spyp_tensor_of(object, "Buffer.to_numpy");
    if (!t || spyp_enter(t->device, "Buffer.to_numpy") < 0) return NULL;
    if (spyp_wait_to_read(t->device) == 0) {
        spy_tensor *part = spyp_buffer_range(t, offset, size, "Buffer.to_numpy");
        if (part) {
            size_t count = spy_get_tensor_info(part).host_size_bytes;
            result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)count);
            if (result && spy_tensor_read(part, PyByteArray_AsString(result), count) != SPY_OK) {
                Py_CLEAR(result);
                spyp_raise(t->device);
            }
        }
        spy_release_tensor(part);
    }
    spyp_leave(t->device);
    return result;
}

static PyMethodDef spyp_buffer_functions[] = {
    { "_buffer_make", spyp_buffer_make, METH_VARARGS,
      "_buffer_make(type, device, dtype, count, zeroed=False, label=None): make the tensor of rank 1 below a Buffer." },
    { "_element_name", spyp_element_name, METH_O, "_element_name(tensor): the name of a tensor's element type." },
    { "_set_usage", spyp_set_usage, METH_VARARGS, "_set_usage(tensor, usage): set what calls may do with a tensor's memory." },
    { "_buffer_over", spyp_buffer_over, METH_VARARGS, "_buffer_over(type, tensor): a tensor of bytes over a tensor's memory." },
    { "_buffer_handle", spyp_buffer_handle, METH_O, "_buffer_handle(tensor): the VkBuffer that contains a buffer, and the buffer's offset in it in bytes." },
    { "_open_commands", spyp_open_commands, METH_O, "_open_commands(device): the VkCommandBuffer that the device records into." },
    { "_stream", spyp_device_stream, METH_O, "_stream(device): the CUstream of the device's work." },
    { "_buffer_size", spyp_buffer_size, METH_O, "_buffer_size(tensor): bytes of a tensor on the device." },
    { "_buffer_write", spyp_buffer_write, METH_VARARGS,
      "_buffer_write(tensor, data, offset=0): copy bytes to a buffer." },
    { "_buffer_read", spyp_buffer_read, METH_VARARGS,
      "_buffer_read(tensor, offset=0, size=-1): read a buffer into a bytearray." },
    { NULL, NULL, 0, NULL },
};

int spyp_buffer_ready(PyObject *module) {
    return PyModule_AddFunctions(module, spyp_buffer_functions);
}
