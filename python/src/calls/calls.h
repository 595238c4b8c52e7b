// One call: its options and arguments, results, and calls that are recorded into a command list.
#ifndef SPYP_CALLS_H
#define SPYP_CALLS_H

#include "conversion/conversion.h"

// >>chain.c: the chain's share of a call
int spyp_chain_options(spyp_call *call, spy_call_options *options);
int spyp_chain_map(spyp_call *call, Py_ssize_t position, PyObject *name, spy_arg *arg);
int spyp_uint3_parse(PyObject *object, const char *what, uint32_t out[3]); // missing numbers are 1
PyObject *spyp_merged(PyObject *dict, PyObject *more); // a new dict of both; either may be NULL

// >>call.c
PyObject *spyp_function_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
PyObject *spyp_function_explain(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_time(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_dispatch(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_dispatch_indirect(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_resolve(PyObject *self, PyObject *args, PyObject *kwargs);

// >>resolve.c
PyObject *spyp_resolution_make(const spy_resolution *resolution);
int spyp_resolve_ready(PyObject *module);

// >>recording.c: calls that are recorded into a command encoder
// A command encoder, and a command buffer once recording has ended.
typedef struct spyp_encoder {
    PyObject_HEAD spyp_device *device;
    spy_command_list *list;
    PyObject *on_record; // function(kind, index, name), or NULL
    PyObject *queries;   // list of (QueryPool, index, number of the timestamp)
    PyObject *functions; // dict from a recorded call's number to its function
    PyObject *leases;    // list of what keeps other libraries' arrays that recorded calls use, or NULL
    bool finished;
} spyp_encoder;
spy_command_list *spyp_encoder_list(PyObject *encoder, const spyp_device *device); // of that device; NULL with an error
int spyp_encoder_open(spyp_encoder *e, const char *what); // -1 with an error: its recording has ended
// Whether a tensor is one of `device`, which may be used; else an error: "what: argument 'name': ...".
bool spyp_tensor_is_of(PyObject *tensor, const spyp_device *device, const char *what, const char *name);
int spyp_encoder_keep(PyObject *encoder, const spyp_call *call, PyObject *objects); // as long as it is there; -1 with an error
int spyp_encoder_recorded(PyObject *encoder, spyp_function *function); // after a call, inside the device; -1 with an error

#endif // SPYP_CALLS_H
