// CUDA functions for slangpy/interop.py: a thread's current context, and the stream of a device's work.
#include "objects/objects.h"
#include "slangpy_cuda.h"

#include "state/cold.h"

// >>streams

static PyObject *spyp_device_use_stream(PyObject *self, PyObject *object) {
    spyp_device *d = (spyp_device *)self;
    void *stream = NULL;
    if (object != Py_None && spyp_stream_parse(object, &stream) < 0) return NULL;
    if (spyp_enter(d, "cuda_stream") < 0) return NULL;
    spy_status status = spy_cuda_set_stream(d->device, stream ? stream : d->stream);
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_meet_stream(PyObject *self, PyObject *object, const char *what,
                                  spy_status (*meet)(spy_device *device, void *stream)) {
    spyp_device *d = (spyp_device *)self;
    void *stream = NULL;
    if (spyp_stream_parse(object, &stream) < 0 || spyp_enter(d, what) < 0) return NULL;
    spy_status status = meet(d->device, stream);
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_wait_stream(PyObject *self, PyObject *object) {
    return spyp_meet_stream(self, object, "Device.sync_to_cuda", spy_cuda_wait_stream);
}

static PyObject *spyp_device_signal_stream(PyObject *self, PyObject *object) {
    return spyp_meet_stream(self, object, "Device.sync_to_device", spy_cuda_signal_stream);
}

// >>contexts

static PyObject *spyp_device_make_current(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.set_cuda_context_current") < 0) return NULL;
    spy_status status = spy_cuda_make_current(d->device);
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_current_result(spy_status status, const char *what, PyObject *result) {
    if (status == SPY_OK) return result;
    spy_error error = spy_take_error(NULL);
    Py_XDECREF(result);
    return spyp_raise_status(error.code, error.message, what);
}

static PyObject *spyp_get_current(PyObject *self, PyObject *ignored) {
    void *context = NULL;
    uint32_t adapter = 0;
    spy_status status;
    SPYP_UNUSED(self);
    SPYP_UNUSED(ignored);
    Py_BEGIN_ALLOW_THREADS;
    status = spy_cuda_get_current_context(&context, &adapter);
    Py_END_ALLOW_THREADS;
    return spyp_current_result(status, "get_cuda_current_context_native_handles",
                               Py_BuildValue("(NI)", PyLong_FromVoidPtr(context), adapter));
}

static PyObject *spyp_set_current(PyObject *self, PyObject *object) {
    void *context = PyLong_AsVoidPtr(object);
    SPYP_UNUSED(self);
    if (PyErr_Occurred()) return NULL;
    return spyp_current_result(spy_cuda_set_current_context(context), "cuda_context_scope",
                               Py_NewRef(Py_None));
}

int spyp_cuda_ready(PyObject *module) {
    static PyMethodDef of_device[] = {
        { "_use_stream", spyp_device_use_stream, METH_O,
          "_use_stream(stream): all work goes to that CUDA stream, until _use_stream(None)." },
        { "_wait_stream", spyp_device_wait_stream, METH_O,
          "_wait_stream(stream): further work begins after what the stream has so far." },
        { "_signal_stream", spyp_device_signal_stream, METH_O,
          "_signal_stream(stream): what the stream is given from now on begins after all work so far." },
        { "_make_current", spyp_device_make_current, METH_NOARGS,
          "_make_current(): makes its CUDA context this thread's current one." },
        { NULL, NULL, 0, NULL },
    };
    static PyMethodDef functions[] = {
        { "_cuda_get_current", spyp_get_current, METH_NOARGS,
          "_cuda_get_current(): (the thread's current CUcontext, its adapter's number from 1), or (0, 0)." },
        { "_cuda_set_current", spyp_set_current, METH_O,
          "_cuda_set_current(context): make a CUcontext the thread's current one; 0 means none." },
        { NULL, NULL, 0, NULL },
    };
    return spyp_methods_add(spyp.device, of_device) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
