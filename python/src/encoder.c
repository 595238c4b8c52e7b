// Command encoders.
#include "spyp.h"

spy_command_list *spyp_encoder_list(PyObject *encoder) {
    PyErr_Format(PyExc_TypeError, "expected a CommandEncoder, got %R", (PyObject *)Py_TYPE(encoder));
    return NULL;
}
