// Calls that are recorded into a command encoder.
#include "calls/calls.h"

int spyp_encoder_open(spyp_encoder *e, const char *what) {
    if (!e->finished) return 0;
    PyErr_Format(spyp.error, "%s: the command encoder is finished; create another one", what);
    return -1;
}

spy_command_list *spyp_encoder_list(PyObject *encoder, const spyp_device *device) {
    if (!PyObject_TypeCheck(encoder, spyp.encoder)) {
        PyErr_Format(PyExc_TypeError, "expected a CommandEncoder, got %R", (PyObject *)Py_TYPE(encoder));
        return NULL;
    }
    spyp_encoder *e = (spyp_encoder *)encoder;
    if (!e->device->device) {
        PyErr_SetString(spyp.error, "CommandEncoder: the device is closed");
        return NULL;
    }
    if (e->device != device) {
        PyErr_SetString(spyp.value_error, "CommandEncoder: the encoder belongs to another device");
        return NULL;
    }
    return spyp_encoder_open(e, "CommandEncoder") < 0 ? NULL : e->list;
}

int spyp_encoder_recorded(PyObject *encoder, spyp_function *function) {
    spyp_encoder *e = (spyp_encoder *)encoder;
    PyObject *number = PyLong_FromUnsignedLong(spy_get_list_info(e->list).call_count - 1u);
    int status = number ? PyDict_SetItem(e->functions, number, (PyObject *)function) : -1;
    Py_XDECREF(number);
    return status;
}

int spyp_encoder_keep(PyObject *encoder, const spyp_call *call, PyObject *objects) {
    spyp_encoder *e = (spyp_encoder *)encoder;
    if (!e->leases) e->leases = PyList_New(0);
    return e->leases ? spyp_foreign_keep(call, e->leases, objects) : -1;
}

bool spyp_tensor_is_of(PyObject *tensor, const spyp_device *device, const char *what, const char *name) {
    if (((spyp_tensor *)tensor)->device == device) return true;
    PyErr_Format(spyp.value_error, "%s: argument '%s': the tensor belongs to another device", what, name);
    return false;
}
