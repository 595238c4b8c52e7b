// One call: its options and arguments, results, and calls that are recorded into a command list.
#ifndef SPYP_CALLS_H
#define SPYP_CALLS_H

#include "conversion/conversion.h"

// >>chain.c: what a function's chain adds to a call
int spyp_chain_options(spyp_call *call, spy_call_options *options);
int spyp_chain_map(spyp_call *call, Py_ssize_t position, PyObject *name, spy_arg *arg);
int spyp_uint3_parse(PyObject *object, const char *what, uint32_t out[3]); // numbers that are left out become 1
// Converts the items of a dict, globals or constants, to named arguments. Returns 0, or -1 with an exception set.
int spyp_dict_args(spyp_call *call, PyObject *dict, spy_args *out);
// Returns a new dict with the items of both dicts; either may be NULL.
PyObject *spyp_merged(PyObject *dict, PyObject *more);

// >>call.c
#define SPYP_MOST_ARGS 64 // most arguments of a call

// One call with its arguments, options and results.
typedef struct spyp_invocation {
    spyp_call call;
    spy_arg items[SPYP_MOST_ARGS + 1]; // one more than SPYP_MOST_ARGS, for the result
    spy_args args;
    spy_call_options options;
    bool has_options;
    spy_result value, grad; // a result that no `_result` object takes, and its gradient of a forward call
    spy_tensor *tensor, *grad_tensor; // a result that must be a tensor, and its gradient
    struct spyp_dl_versioned *exported; // DLPack export of the result, of which its library makes an array, or NULL
    bool texture;                     // the result's tensor becomes a texture
    spy_arg pair[2];
    PyObject *result;       // the argument `_result`, borrowed; NULL means that it was not given
    PyObject *append_to;    // the argument `_append_to`, borrowed, or NULL
    PyObject *thread_count; // the argument `_thread_count`, borrowed, or NULL
    bool dispatch;          // the number of threads is given, so that nothing may be written to arguments
} spyp_invocation;

void spyp_invocation_begin(spyp_invocation *in, spyp_function *f);
// Call these before and after the work of an invocation. spyp_nested_begin() returns 0, or -1 with a RecursionError set if too many calls run
// within each other; spyp_nested_end() is called after that error, too.
int spyp_nested_begin(const spyp_call *call);
void spyp_nested_end(void);
// Converts one argument. `text` is its name, or NULL. `position` counts from 0; a bound instance has -1. Returns 0, or -1 with an exception
// set.
int spyp_take_argument(spyp_invocation *in, PyObject *object, PyObject *name, const char *text, Py_ssize_t position);
// Does the same for an argument of a backward call with its gradient, which may be NULL. The result, "_result", is at SPYP_NO_PARAMETER.
int spyp_take_with_gradient(spyp_invocation *in, PyObject *object, PyObject *grad, PyObject *name, const char *text, Py_ssize_t position);
// Makes the argument for a result that no `_result` object takes: a value of any type, or a new tensor.
spy_arg spyp_new_result(spyp_invocation *in, bool tensor);
// Fills in->options if the call has any. Returns 0, or -1 with an exception set.
int spyp_take_options(spyp_invocation *in);
// Returns the stream that Function.cuda_stream() has set, or NULL. Calls that are recorded have none.
void *spyp_asked_stream(const spyp_invocation *in);
// Call these before and after the work of a call. The call goes to the stream that was asked for, and the device's own stream continues
// after it. The call is ordered with the streams of the libraries whose arrays it uses.
spy_status spyp_work_begin(const spyp_invocation *in, void *stream);
spy_status spyp_work_end(const spyp_invocation *in, void *stream);
// Makes the call, ordered with the streams of the libraries whose arrays it uses. Call it inside the device.
spy_status spyp_call_in_order(const spyp_invocation *in);
// Reloads modules whose files have changed. If that fails, the log gets the error, and the old code stays.
// Call it inside the device.
void spyp_look_for_changes(spyp_device *d);
PyObject *spyp_function_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
PyObject *spyp_function_explain(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_prepare(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_time(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_dispatch(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_dispatch_indirect(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_resolve(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_gradcheck(PyObject *self, PyObject *args, PyObject *kwargs);

// Returns the value or the new tensor of a call as a new reference, or NULL with an exception set.
PyObject *spyp_result_value(spyp_function *f, const spy_result *value);

// >>quick.c: repeated calls of declared functions
PyObject *spyp_declared_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
// Learns from a call that has succeeded, whose arguments became `made`, so that spyp_quick_take() can repeat it.
void spyp_quick_learn(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names, const spy_args *made);
void spyp_quick_free(spyp_quick *quick); // `quick` may be NULL

// >>autograd.c: calls that become nodes of torch's graph
// Makes a call of a form that spyp_autograd_learn() has seen. NULL without an exception means that the call has another form, or it failed
// and is to be made in another way, which reports the error.
PyObject *spyp_autograd_call(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names);
// Learns from a call that slangpy.autograd has made, if slangpy.autograd has said that the call can be repeated here. `good` tells that the
// call has succeeded.
void spyp_autograd_learn(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names, bool good);
void spyp_autograd_free(spyp_autograd *graphs); // `graphs` may be NULL
int spyp_autograd_ready(PyObject *module);

// >>launch.c: launches of slang-torch's kernels
int spyp_launch_ready(PyObject *module);

// >>resolve.c
PyObject *spyp_resolution_make(const spy_resolution *resolution);
int spyp_resolve_ready(PyObject *module);

// >>recording.c: calls that are recorded into a command encoder
// A command encoder, and a command buffer once recording has ended.
typedef struct spyp_encoder {
    PyObject_HEAD spyp_device *device;
    spy_command_list *list;
    PyObject *on_record; // function(kind, index, name), or NULL
    PyObject *queries;   // a list of (QueryPool, index, number of the timestamp)
    PyObject *functions; // a dict from a recorded call's number to its function
    PyObject *recording; // object of encoders.py for the recording, which the command buffer gets, too; or NULL
    PyObject *leases;    // a list of the objects that keep other libraries' arrays for recorded calls, or NULL
    bool finished;
    bool loaded; // the list comes from a pack, so the functions of its calls are not known
} spyp_encoder;
// Returns the list of an encoder that records for `device`, or NULL with an exception set.
spy_command_list *spyp_encoder_list(PyObject *encoder, const spyp_device *device);
// Returns 0 while the encoder records, or -1 with an exception set when recording has ended.
int spyp_encoder_open(spyp_encoder *e, const char *what);
// Returns whether a tensor belongs to `device`. If not, an exception is set: "what: argument 'name': ...".
bool spyp_tensor_is_of(PyObject *tensor, const spyp_device *device, const char *what, const char *name);
// Keeps a recorded call's objects as long as the encoder lives. Returns 0, or -1 with an exception set.
int spyp_encoder_keep(PyObject *encoder, const spyp_call *call, PyObject *objects);
// Notes the function of the call that was recorded last. Call it inside the device. Returns 0, or -1 with an
// exception set.
int spyp_encoder_recorded(PyObject *encoder, spyp_function *function);

#endif // SPYP_CALLS_H
