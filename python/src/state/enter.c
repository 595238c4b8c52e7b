// Entering a device: one thread at a time uses it, and waits for its work without the GIL.
#include "state/state.h"

// >>messages

// Calls function(first, second). An exception that it raises is printed, because no Python code waits for the
// result.
void spyp_notify(PyObject *function, PyObject *first, PyObject *second) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *result = first && second ? PyObject_CallFunctionObjArgs(function, first, second, NULL) : NULL;
    if (!result) PyErr_WriteUnraisable(function);
    Py_XDECREF(result);
    PyErr_Restore(type, value, trace);
}

// Passes a message to the device's log function, or to the package's if the device has none.
void spyp_log(spyp_device *d, long level, PyObject *text) {
    PyObject *function = Py_XNewRef(d->log ? d->log : spyp.logger), *number = PyLong_FromLong(level);
    if (function) spyp_notify(function, number, text);
    Py_XDECREF(number);
    Py_XDECREF(function);
}

// Passes the error message that was held back to the log. If an exception is being raised, the user gets the error from that, and the
// log gets it as a debug message.
static void spyp_release_held(spyp_device *d) {
    PyObject *text = d->held;
    d->held = NULL;
    spyp_log(d, PyErr_Occurred() || d->heard ? SPY_LOG_LEVEL_DEBUG : SPY_LOG_LEVEL_ERROR, text);
    Py_DECREF(text);
}

// >>entering

// Waits while another thread is inside the device. Returns with the GIL, and with no thread inside.
static void spyp_wait_turn(spyp_device *d) {
    d->waiting++;
    while (d->depth) {
        Py_BEGIN_ALLOW_THREADS;
        PyThread_acquire_lock(d->turn, WAIT_LOCK);
        Py_END_ALLOW_THREADS;
        d->woken = false;
    }
    d->waiting--;
}

int spyp_enter(spyp_device *d, const char *what) {
    unsigned long me = PyThread_get_thread_ident();
    if (SPYP_LIKELY(d->device && d->fork_count == spyp.fork_count)) {
        if (d->depth && d->owner == me) {
            d->depth++;
            return 0;
        }
        if (d->depth) spyp_wait_turn(d);
        d->owner = me;
        d->depth = 1;
        d->what = what;
        if (SPYP_LIKELY(d->device != NULL)) return SPYP_LIKELY(!d->follow && !d->shared_count && !d->returned) ? 0 : d->above->enter(d);
        spyp_leave(d);
    }
    if (d->device)
        PyErr_Format(spyp.error, "%s: the device was made before this process was forked; make another one in the child", what);
    else
        PyErr_Format(spyp.error, "%s: the device is closed", what);
    return -1;
}

// >>exceptions of signal handlers

void spyp_keep_heard(spyp_device *d) {
    PyObject *type, *trace;
    Py_CLEAR(d->heard);
    PyErr_Fetch(&type, &d->heard, &trace);
    PyErr_NormalizeException(&type, &d->heard, &trace);
    if (trace && d->heard) PyException_SetTraceback(d->heard, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

static int spyp_raise_exception(void *exception) {
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)exception), (PyObject *)exception);
    Py_DECREF((PyObject *)exception);
    return -1;
}

bool spyp_raise_heard(spyp_device *d) {
    PyObject *exception = d ? d->heard : NULL;
    if (!exception) return false;
    d->heard = NULL;
    (void)spyp_raise_exception(exception);
    return true;
}

// Has the interpreter raise the exception of a signal handler after a call that succeeded, or that failed with another error.
static void spyp_raise_heard_later(spyp_device *d) {
    PyObject *exception = d->heard;
    d->heard = NULL;
    if (Py_AddPendingCall(spyp_raise_exception, exception) < 0) Py_DECREF(exception);
}

void spyp_leave(spyp_device *d) {
    if (SPYP_UNLIKELY(d->shared_count) && d->depth == 1) d->above->leave(d);
    if (SPYP_UNLIKELY(d->held != NULL) && d->depth == 1) spyp_release_held(d);
    if (--d->depth) return;
    if (SPYP_UNLIKELY(d->heard != NULL)) spyp_raise_heard_later(d);
    d->owner = 0;
    if (!d->waiting || d->woken) return;
    d->woken = true;
    PyThread_release_lock(d->turn);
}

// Waits in slices of 50 ms, so that Ctrl-C has an effect. While C spins, for the first 50 us, it keeps the GIL: most waits for a GPU
// are over by then, and another thread that takes the GIL may keep it for 5 ms.
int spyp_wait(spyp_device *d) {
    spy_submit_id id = spy_flush(d->device);
    spy_status status = SPY_ERROR_NOT_READY;
    if (!id) { // no work was ever submitted, or a submission failed
        spy_error error = spy_take_error(d->device);
        if (error.code == SPY_OK) return 0;
        if (spyp_raise_heard(d)) return -1;
        spyp_raise_status(error.code, error.message, d->what);
        return -1;
    }
    while (status == SPY_ERROR_NOT_READY) {
        status = spy_wait_for_submit(d->device, id, 50000000u);
        if (status == SPY_ERROR_NOT_READY && PyErr_CheckSignals() < 0) {
            d->interrupted = true;
            return -1;
        }
    }
    d->interrupted = false;
    if (status == SPY_OK) return 0;
    spyp_raise(d);
    return -1;
}

// On Vulkan spy_tensor_read() waits by itself, without the GIL, and Ctrl-C ends its wait. For a small tensor it needs one submission;
// spyp_wait() and a read need two. On CUDA nothing ends the wait of spy_tensor_read(), so spyp_wait() is called before.
int spyp_wait_to_read(spyp_device *d) {
    return d->cuda < 0 ? 0 : spyp_wait(d);
}

spyp_device *spyp_device_of(PyObject *object, const char *what) {
    if (PyObject_TypeCheck(object, spyp.device)) return (spyp_device *)object;
    if (PyObject_TypeCheck(object, spyp.module_type)) return ((spyp_module *)object)->device;
    PyErr_Format(PyExc_TypeError, "%s: argument 'device': expected a Device, got %R", what, (PyObject *)Py_TYPE(object));
    return NULL;
}
