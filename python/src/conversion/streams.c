// CUDA streams: parses the streams of other libraries, and sets the stream that a device's work goes to.
#include "conversion/conversion.h"
#include "slangpy_cuda.h"

// Returns the handle of another library's stream. torch's streams have cuda_stream, others have
// __cuda_stream__() -> (version, handle).
static PyObject *spyp_stream_handle(PyObject *object) {
    if (PyLong_Check(object)) return Py_NewRef(object);
    PyObject *handle = PyObject_GetAttrString(object, "cuda_stream");
    if (handle) return handle;
    PyErr_Clear();
    PyObject *pair = PyObject_CallMethod(object, "__cuda_stream__", NULL);
    handle = pair ? PySequence_GetItem(pair, 1) : NULL;
    Py_XDECREF(pair);
    return handle;
}

int spyp_stream_parse(PyObject *object, void **stream) {
    PyObject *handle = spyp_stream_handle(object);
    if (handle) *stream = PyLong_AsVoidPtr(handle);
    Py_XDECREF(handle);
    if (PyErr_Occurred()) {
        PyErr_Format(
            spyp.type_error,
            "cuda_stream: expected a CUDA stream's handle as int, or an object with cuda_stream, got %R",
            object);
        return -1;
    }
    if (!*stream) *stream = SPY_CUDA_STREAM_LEGACY;
    return 0;
}

spy_status spyp_stream_begin(spyp_device *d, void *stream) {
    return stream ? spy_cuda_set_stream(d->device, stream) : SPY_OK;
}

spy_status spyp_stream_end(spyp_device *d, void *stream) {
    return stream ? spy_cuda_set_stream(d->device, d->stream) : SPY_OK;
}

int spyp_stream_follow(spyp_device *d) {
    void *stream = NULL;
    int status = PyType_Check(d->follow) ? spyp_work_stream_of((PyTypeObject *)d->follow, d->cuda, &stream) : 0;
    if (status == 0) {
        PyObject *handle = PyObject_CallNoArgs(d->follow);
        status = handle ? spyp_stream_parse(handle, &stream) : -1;
        Py_XDECREF(handle);
    }
    if (status < 0 || stream == d->stream) return status < 0 ? -1 : 0;
    if (spy_cuda_set_stream(d->device, stream) == SPY_OK) {
        d->stream = stream;
        return 0;
    }
    spyp_raise(d);
    return -1;
}
