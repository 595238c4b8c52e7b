// Memory that a Vulkan device and a CUDA context of the program, such as torch's, both use, and timeline semaphores that order the work of
// the two. slangpy/sharing.py uses it for calls with torch's CUDA tensors.
#include "objects/objects.h"
#include "slangpy_cuda.h"
#include "slangpy_vk.h"

#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

#include "state/cold.h"

typedef struct spyp_shared_memory {
    spy_vk_shared_memory vulkan;
    spy_cuda_imported_memory cuda;
} spyp_shared_memory;

typedef struct spyp_shared_semaphore {
    uint64_t vulkan; // VkSemaphore; 0: the host stands for it
    void *cuda;      // CUexternalSemaphore
} spyp_shared_semaphore;

typedef struct spyp_sharing {
    PyObject_HEAD
    spyp_device *device;
    spy_cuda_peer *peer; // NULL once it is closed
    spyp_shared_memory *memory;
    spyp_shared_semaphore *semaphores;
    Py_ssize_t memory_count, semaphore_count;
} spyp_sharing;

static const char spyp_sharing_what[] = "sharing with CUDA";

// Raises the error of a function of the CUDA side, which has no device.
static int spyp_sharing_raise(void) {
    spy_error error = spy_take_error(NULL);
    spyp_raise_status(error.code, error.message, NULL);
    return -1;
}

// Closes the descriptor of a semaphore that CUDA did not take. There are none on Windows.
static void spyp_sharing_drop(int fd) {
#ifndef _WIN32
    if (fd >= 0) (void)close(fd);
#else
    SPYP_UNUSED(fd);
#endif
}

// >>making and closing

// Waits for the device's work and releases everything. Errors are not reported.
static void spyp_sharing_end(spyp_sharing *s) {
    PyObject *type, *value, *trace;
    spyp_device *d = s->device;
    if (!s->peer) return;
    PyErr_Fetch(&type, &value, &trace);
    if (spyp_enter(d, spyp_sharing_what) == 0) {
        (void)spyp_wait(d);
        for (Py_ssize_t i = 0; i < s->memory_count; i++) {
            (void)spy_cuda_release_memory(s->peer, &s->memory[i].cuda);
            (void)spy_vk_release_shared_memory(d->device, &s->memory[i].vulkan);
        }
        for (Py_ssize_t i = 0; i < s->semaphore_count; i++) {
            (void)spy_cuda_release_semaphore(s->peer, s->semaphores[i].cuda);
            (void)spy_vk_release_shared_semaphore(d->device, s->semaphores[i].vulkan);
        }
        (void)spy_take_error(d->device);
        (void)spy_take_error(NULL);
        spyp_leave(d);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    spy_cuda_close_peer(s->peer);
    s->peer = NULL;
    PyMem_Free(s->memory);
    PyMem_Free(s->semaphores);
    s->memory = NULL;
    s->semaphores = NULL;
    s->memory_count = s->semaphore_count = 0;
}

static PyObject *spyp_sharing_close(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    spyp_sharing_end((spyp_sharing *)(void *)self);
    Py_RETURN_NONE;
}

// Returns NULL with an exception set where the two are not the same GPU, or cannot share.
static spy_cuda_peer *spyp_sharing_open(spyp_device *d, void *context, int host_waits) {
    uint8_t uuid[16];
    if (spyp_enter(d, spyp_sharing_what) < 0) return NULL;
    spy_vk_sharing sharing = spy_vk_get_sharing(d->device);
    spy_cuda_peer *peer = NULL;
    if (!sharing.memory || (!sharing.semaphores && !host_waits)) {
        if (spy_take_error(d->device).code != SPY_OK) PyErr_SetString(spyp.error, "sharing with CUDA: the device is not Vulkan's");
        else PyErr_Format(spyp.error, "sharing with CUDA: the device cannot export %s", sharing.memory ? "timeline semaphores" : "memory");
    } else if (!(peer = spy_cuda_open_peer(context, NULL, uuid))) {
        spyp_sharing_raise();
    } else if (!host_waits && memcmp(uuid, sharing.device_uuid, sizeof uuid) != 0) {
        spy_cuda_close_peer(peer);
        peer = NULL;
        PyErr_SetString(spyp.error, "sharing with CUDA: the device is on another GPU than the CUDA context");
    }
    spyp_leave(d);
    return peer;
}

static PyObject *spyp_sharing_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *device;
    unsigned long long context = 0;
    int host_waits = 0;
    SPYP_UNUSED(kwargs);
    if (!PyArg_ParseTuple(args, "O!|Kp:_Sharing", spyp.device, &device, &context, &host_waits)) return NULL;
    spy_cuda_peer *peer = spyp_sharing_open((spyp_device *)device, (void *)(uintptr_t)context, host_waits);
    spyp_sharing *s = peer ? (spyp_sharing *)spyp_alloc(type) : NULL;
    if (!s) {
        spy_cuda_close_peer(peer);
        return NULL;
    }
    s->device = (spyp_device *)Py_NewRef(device);
    s->peer = peer;
    return (PyObject *)s;
}

static void spyp_sharing_dealloc(PyObject *self) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    PyObject_GC_UnTrack(self);
    if (s->peer && s->device->device && s->device->fork_count == spyp.fork_count && !spyp.leaving) spyp_sharing_end(s);
    Py_CLEAR(s->device);
    spyp_free(self);
}

static int spyp_sharing_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_sharing *)(void *)self)->device);
    return 0;
}

// Enters the device of an open object. Returns -1 with an exception set.
static int spyp_sharing_enter(spyp_sharing *s) {
    if (s->peer) return spyp_enter(s->device, spyp_sharing_what);
    PyErr_SetString(spyp.error, "sharing with CUDA: it is closed");
    return -1;
}

// >>memory

// Makes memory for both sides. Returns -1 with an exception set, a MemoryError where there is no more. Call it inside the device.
static int spyp_sharing_add(spyp_sharing *s, uint64_t size) {
    spyp_shared_memory made, *more = (spyp_shared_memory *)PyMem_Realloc(s->memory, (size_t)(s->memory_count + 1) * sizeof *more);
    if (!more) return PyErr_NoMemory(), -1;
    s->memory = more;
    if (spy_vk_create_shared_memory(s->device->device, size, &made.vulkan) != SPY_OK) {
        spy_error error = spy_take_error(s->device->device);
        spyp_raise_status(error.code == SPY_ERROR_OUT_OF_DEVICE_MEMORY ? SPY_ERROR_OUT_OF_MEMORY : error.code, error.message, NULL);
        return -1;
    }
    if (spy_cuda_import_memory(s->peer, made.vulkan.fd, made.vulkan.allocated_bytes, made.vulkan.size_bytes, &made.cuda) != SPY_OK) {
        (void)spy_vk_release_shared_memory(s->device->device, &made.vulkan);
        return spyp_sharing_raise(); // the descriptor may be CUDA's or not, and stays
    }
    made.vulkan.fd = -1; // CUDA's
    s->memory[s->memory_count++] = made;
    return 0;
}

// memory(size) -> (number, address in CUDA)
static PyObject *spyp_sharing_memory(PyObject *self, PyObject *arg) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    unsigned long long size = PyLong_AsUnsignedLongLong(arg);
    if (PyErr_Occurred() || spyp_sharing_enter(s) < 0) return NULL;
    int status = spyp_sharing_add(s, size);
    spyp_leave(s->device);
    if (status < 0) return NULL;
    return Py_BuildValue("nK", s->memory_count - 1, (unsigned long long)s->memory[s->memory_count - 1].cuda.address);
}

// tensor(number, dtype, shape) -> Tensor of scalars over that memory
static PyObject *spyp_sharing_tensor(PyObject *self, PyObject *args) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    Py_ssize_t number;
    PyObject *dtype, *shape;
    spyp_dtype parsed;
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    if (!PyArg_ParseTuple(args, "nOO:tensor", &number, &dtype, &shape) || spyp_dtype_parse(dtype, "tensor", "dtype", &parsed) < 0) return NULL;
    Py_XDECREF(parsed.keeps);
    if (!parsed.scalar || number < 0 || number >= s->memory_count) return PyErr_Format(spyp.value_error, "tensor: expected a scalar dtype and a number of memory()");
    if (spyp_shape_parse(shape, "tensor", &desc.shape) < 0 || spyp_sharing_enter(s) < 0) return NULL;
    const spy_vk_shared_memory *memory = &s->memory[number].vulkan;
    desc.dtype = parsed.scalar;
    spy_tensor *tensor = spy_vk_create_tensor(s->device->device, memory->buffer, 0, memory->size_bytes, &desc);
    if (!tensor) spyp_raise(s->device);
    spyp_leave(s->device);
    return tensor ? spyp_tensor_make(spyp.tensor, s->device, tensor, NULL) : NULL;
}

// Describes the numbers of a tensor that lies without gaps. Returns false if it is none: a tensor of structs, or a view. Call it inside the
// device.
static bool spyp_sharing_numbers(spyp_tensor *t, spy_view_desc *numbers) {
    spy_tensor_info info = spy_get_tensor_info(t->tensor);
    spy_shape inner;
    const spy_type_info *type = spyp_element_info(t, &info), *base = spyp_inner_shape(type, &inner);
    spy_dtype dtype = base ? base->dtype : info.dtype;
    size_t count = 1;
    PyErr_Clear();
    memset(numbers, 0, sizeof *numbers);
    if (dtype == SPY_DTYPE_DEFAULT || dtype == SPY_DTYPE_BOOL || !info.is_contiguous || !info.element_count || info.shape.rank + inner.rank > SPY_MAX_RANK) return false;
    numbers->shape = info.shape;
    for (uint32_t i = 0; i < inner.rank; i++) count *= (size_t)(numbers->shape.dims[numbers->shape.rank++] = inner.dims[i]);
    numbers->type = spy_dtype_name(dtype);
    return count * spy_dtype_size_bytes(dtype) == info.element_size_bytes;
}

// numbers(tensor) -> (dtype, shape) of a tensor's numbers, or None where it cannot be seen as one of scalars
static PyObject *spyp_sharing_describe(PyObject *self, PyObject *tensor) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    spy_view_desc numbers;
    if (!PyObject_TypeCheck(tensor, spyp.tensor) || ((spyp_tensor *)tensor)->device != s->device) return PyErr_Format(PyExc_TypeError, "numbers: expected a Tensor of the device");
    if (spyp_sharing_enter(s) < 0) return NULL;
    bool good = spyp_sharing_numbers((spyp_tensor *)tensor, &numbers);
    spyp_leave(s->device);
    if (!good) Py_RETURN_NONE;
    PyObject *shape = spyp_shape_tuple(&numbers.shape);
    return shape ? Py_BuildValue("sN", numbers.type, shape) : NULL;
}

// copy(to, from): the device copies the numbers of a tensor that numbers() has described.
static PyObject *spyp_sharing_copy(PyObject *self, PyObject *args) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    PyObject *to, *from;
    spy_view_desc numbers;
    if (!PyArg_ParseTuple(args, "O!O!:copy", spyp.tensor, &to, spyp.tensor, &from) || spyp_sharing_enter(s) < 0) return NULL;
    bool good = spyp_sharing_numbers((spyp_tensor *)from, &numbers);
    spy_tensor *view = good ? spy_create_view(((spyp_tensor *)from)->tensor, &numbers) : NULL;
    good = view && spy_tensor_copy(((spyp_tensor *)to)->tensor, view) == SPY_OK;
    if (!good) spyp_raise(s->device);
    spy_release_tensor(view);
    spyp_leave(s->device);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// >>order

// Makes a semaphore for both sides. Returns -1 with an exception set. Call it inside the device.
static int spyp_sharing_add_semaphore(spyp_sharing *s, int fd) {
    spyp_shared_semaphore made = { 0, NULL }, *more = (spyp_shared_semaphore *)PyMem_Realloc(s->semaphores, (size_t)(s->semaphore_count + 1) * sizeof *more);
    if (!more) return PyErr_NoMemory(), -1;
    s->semaphores = more;
    if (fd < 0 && spy_vk_create_shared_semaphore(s->device->device, &made.vulkan, &fd) != SPY_OK) return spyp_raise(s->device), -1;
    if (spy_cuda_import_semaphore(s->peer, fd, &made.cuda) != SPY_OK) {
        spyp_sharing_raise();
        spyp_sharing_drop(fd);
        (void)spy_vk_release_shared_semaphore(s->device->device, made.vulkan);
        return -1;
    }
    s->semaphores[s->semaphore_count++] = made;
    return 0;
}

// semaphore(fd=-1) -> number. fd: the host stands for the device's side.
static PyObject *spyp_sharing_semaphore(PyObject *self, PyObject *args) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    int fd = -1;
    if (!PyArg_ParseTuple(args, "|i:semaphore", &fd) || spyp_sharing_enter(s) < 0) return NULL;
    int status = spyp_sharing_add_semaphore(s, fd);
    spyp_leave(s->device);
    return status == 0 ? PyLong_FromSsize_t(s->semaphore_count - 1) : NULL;
}

// The device's further work begins after what the stream has so far. Call it inside the device.
static int spyp_sharing_in(spyp_sharing *s, const spyp_shared_semaphore *semaphore, uint64_t value, void *stream) {
    if (spy_cuda_signal_semaphore(s->peer, semaphore->cuda, value, stream) != SPY_OK) return spyp_sharing_raise();
    if (!semaphore->vulkan || spy_vk_wait_semaphore(s->device->device, semaphore->vulkan, value) == SPY_OK) return 0;
    spyp_raise(s->device);
    return -1;
}

// Submits the device's work; the stream's further work begins after it. Call it inside the device.
static int spyp_sharing_out(spyp_sharing *s, const spyp_shared_semaphore *semaphore, uint64_t value, void *stream) {
    spy_device *device = s->device->device;
    if (!semaphore->vulkan) {
        if (spyp_wait(s->device) < 0) return -1;
        if (spy_cuda_signal_semaphore(s->peer, semaphore->cuda, value, stream) != SPY_OK) return spyp_sharing_raise();
    } else if (spy_vk_signal_semaphore(device, semaphore->vulkan, value) != SPY_OK || !spy_flush(device)) {
        spyp_raise(s->device);
        return -1;
    }
    return spy_cuda_wait_semaphore(s->peer, semaphore->cuda, value, stream) == SPY_OK ? 0 : spyp_sharing_raise();
}

static PyObject *spyp_sharing_order(PyObject *self, PyObject *args, int (*way)(spyp_sharing *s, const spyp_shared_semaphore *semaphore, uint64_t value, void *stream)) {
    spyp_sharing *s = (spyp_sharing *)(void *)self;
    Py_ssize_t number;
    unsigned long long value, stream;
    if (!PyArg_ParseTuple(args, "nKK", &number, &value, &stream)) return NULL;
    if (number < 0 || number >= s->semaphore_count) return PyErr_Format(spyp.value_error, "expected a number of semaphore()");
    if (spyp_sharing_enter(s) < 0) return NULL;
    int status = way(s, &s->semaphores[number], value, (void *)(uintptr_t)stream);
    spyp_leave(s->device);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_sharing_to_device(PyObject *self, PyObject *args) {
    return spyp_sharing_order(self, args, spyp_sharing_in);
}

static PyObject *spyp_sharing_to_cuda(PyObject *self, PyObject *args) {
    return spyp_sharing_order(self, args, spyp_sharing_out);
}

// >>the type

static PyMethodDef spyp_sharing_methods[] = {
    { "memory", spyp_sharing_memory, METH_O, "memory(size) -> (number, address in CUDA): makes memory for both sides." },
    { "tensor", spyp_sharing_tensor, METH_VARARGS, "tensor(number, dtype, shape): a Tensor of scalars over that memory." },
    { "numbers", spyp_sharing_describe, METH_O, "numbers(tensor) -> (dtype, shape) of its numbers, or None where they have none or lie with gaps." },
    { "copy", spyp_sharing_copy, METH_VARARGS, "copy(to, source): the device copies the numbers of a tensor." },
    { "semaphore", spyp_sharing_semaphore, METH_VARARGS, "semaphore(fd=-1) -> number. fd: the host stands for the device's side, for tests." },
    { "to_device", spyp_sharing_to_device, METH_VARARGS, "to_device(semaphore, value, stream): the device's further work begins after the stream's." },
    { "to_cuda", spyp_sharing_to_cuda, METH_VARARGS, "to_cuda(semaphore, value, stream): submits; the stream's further work begins after the device's." },
    { "close", spyp_sharing_close, METH_NOARGS, "close(): waits for the device's work and releases everything." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot spyp_sharing_slots[] = {
    { Py_tp_doc, (void *)"_Sharing(device, context=0, host_waits=False): what a Vulkan device shares with a CUDA context, by default the current one." },
    { Py_tp_new, (void *)spyp_sharing_new },
    { Py_tp_dealloc, (void *)spyp_sharing_dealloc },
    { Py_tp_traverse, (void *)spyp_sharing_traverse },
    { Py_tp_methods, spyp_sharing_methods },
    { 0, NULL },
};

static PyType_Spec spyp_sharing_spec = { "slangpy._slangpy._Sharing", sizeof(spyp_sharing), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_sharing_slots };

int spyp_sharing_ready(PyObject *module) {
    PyTypeObject *type = spyp_type_add(module, &spyp_sharing_spec, NULL);
    SPYP_DECREF(type);
    return type ? 0 : -1;
}
