// Command encoders and command buffers. A command encoder is a command list that is recorded, a command buffer one that is
// finished.
#include "objects/objects.h"

#include <string.h>

#include "state/cold.h"

static const char *const spyp_op_names[] = { "none",    "call", "copy", "fill",   "write",
                                             "barrier", "push", "pop",  "marker", "timestamp" };

static void spyp_on_record(const spy_list_op *op, void *user_data) {
    spyp_encoder *e = (spyp_encoder *)user_data;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *kind =
        (size_t)op->kind < sizeof spyp_op_names / sizeof *spyp_op_names ? spyp_op_names[op->kind] : "none";
    PyObject *result = e->on_record ? PyObject_CallFunction(e->on_record, "sIs", kind, op->index, op->name)
                                    : Py_NewRef(Py_None);
    if (!result) PyErr_WriteUnraisable(e->on_record);
    Py_XDECREF(result);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
}

static PyObject *spyp_encoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "label", "on_record", NULL };
    PyObject *device, *on_record = Py_None;
    const char *label = NULL;
    spy_list_desc desc;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|zO:CommandEncoder", names, spyp.device, &device,
                                     &label, &on_record))
        return NULL;
    if (on_record != Py_None && !PyCallable_Check(on_record))
        return PyErr_Format(PyExc_TypeError,
                            "CommandEncoder: argument 'on_record': expected a callable, got %R",
                            (PyObject *)Py_TYPE(on_record));
    spyp_device *d = (spyp_device *)device;
    spyp_encoder *e = (spyp_encoder *)spyp_alloc(type);
    if (!e) return NULL;
    e->queries = PyList_New(0);
    e->functions = PyDict_New();
    e->device = (spyp_device *)Py_NewRef(device);
    memset(&desc, 0, sizeof desc);
    desc.label = label;
    if (on_record != Py_None) {
        e->on_record = Py_NewRef(on_record);
        desc.on_record = spyp_on_record;
        desc.user_data = e;
    }
    if (e->queries && e->functions && spyp_enter(d, "create_command_encoder") == 0) {
        e->list = spy_create_command_list(d->device, &desc);
        if (!e->list) spyp_raise(d);
        spyp_leave(d);
    }
    if (!e->list) Py_CLEAR(e);
    return (PyObject *)e;
}

static int spyp_encoder_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_encoder *)self)->device);
    Py_VISIT(((spyp_encoder *)self)->on_record);
    Py_VISIT(((spyp_encoder *)self)->queries);
    Py_VISIT(((spyp_encoder *)self)->functions);
    Py_VISIT(((spyp_encoder *)self)->leases);
    Py_VISIT(((spyp_encoder *)self)->recording);
    return 0;
}

static int spyp_encoder_clear(PyObject *self) {
    Py_CLEAR(((spyp_encoder *)self)->on_record);
    Py_CLEAR(((spyp_encoder *)self)->queries);
    Py_CLEAR(((spyp_encoder *)self)->functions);
    Py_CLEAR(((spyp_encoder *)self)->leases);
    Py_CLEAR(((spyp_encoder *)self)->recording);
    return 0;
}

static void spyp_encoder_dealloc(PyObject *self) {
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject_GC_UnTrack(self);
    if (e->list && e->device->device && e->device->fork_count == spyp.fork_count)
        spy_release_command_list(e->list);
    spyp_encoder_clear(self);
    Py_CLEAR(e->device);
    spyp_free(self);
}

// Begins a method that records. Returns -1 with an exception set.
static int spyp_encoder_begin(spyp_encoder *e, const char *what) {
    return spyp_encoder_open(e, what) < 0 ? -1 : spyp_enter(e->device, what);
}

// Ends a method that records. Returns None, or NULL with an exception set.
static PyObject *spyp_encoder_done(spyp_encoder *e, spy_status status) {
    if (status != SPY_OK && !PyErr_Occurred()) spyp_raise(e->device);
    spyp_leave(e->device);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

// >>recording

static PyObject *spyp_encoder_copy(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "dst", "dst_offset", "src", "src_offset", "size", NULL };
    static const char *const what = "CommandEncoder.copy_buffer";
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *dst, *src;
    long long dst_offset, src_offset, size;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!LO!LL:copy_buffer", names, spyp.tensor, &dst,
                                     &dst_offset, spyp.tensor, &src, &src_offset, &size) ||
        !spyp_tensor_is_of(dst, e->device, what, "dst") || !spyp_tensor_is_of(src, e->device, what, "src") ||
        spyp_encoder_begin(e, what) < 0)
        return NULL;
    spy_tensor *from = spyp_buffer_range((spyp_tensor *)src, src_offset, size, what), *to = NULL;
    if (from) to = spyp_buffer_range((spyp_tensor *)dst, dst_offset, size, what);
    spy_status status = from && to ? spy_list_copy(e->list, to, from) : SPY_ERROR_INVALID_ARGUMENT;
    spy_release_tensor(from);
    spy_release_tensor(to);
    return spyp_encoder_done(e, status);
}

static PyObject *spyp_encoder_clear_buffer(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "buffer", "offset", "size", NULL };
    static const char *const what = "CommandEncoder.clear_buffer";
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *buffer;
    long long offset = 0, size = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|LL:clear_buffer", names, spyp.tensor, &buffer, &offset,
                                     &size) ||
        !spyp_tensor_is_of(buffer, e->device, what, "buffer") ||
        spyp_encoder_begin(e, what) < 0)
        return NULL;
    spy_tensor *to = spyp_buffer_range((spyp_tensor *)buffer, offset, size, what);
    spy_status status = to ? spy_list_fill(e->list, to, 0) : SPY_ERROR_INVALID_ARGUMENT;
    spy_release_tensor(to);
    return spyp_encoder_done(e, status);
}

static PyObject *spyp_encoder_upload(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "buffer", "offset", "data", NULL };
    static const char *const what = "CommandEncoder.upload_buffer_data";
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *buffer, *result = NULL;
    long long offset;
    Py_buffer data;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!Ly*:upload_buffer_data", names, spyp.tensor, &buffer,
                                     &offset, &data))
        return NULL;
    if (spyp_tensor_is_of(buffer, e->device, what, "buffer") && spyp_encoder_begin(e, what) == 0) {
        spy_tensor *to = spyp_buffer_range((spyp_tensor *)buffer, offset, (long long)data.len, what);
        spy_status status =
            to ? spy_list_write(e->list, to, data.buf, (size_t)data.len) : SPY_ERROR_INVALID_ARGUMENT;
        spy_release_tensor(to);
        result = spyp_encoder_done(e, status);
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *spyp_encoder_copy_tensor(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "dst", "src", NULL };
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *dst, *src;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:copy_tensor", names, spyp.tensor, &dst, spyp.tensor,
                                     &src) ||
        !spyp_tensor_is_of(dst, e->device, "CommandEncoder.copy_tensor", "dst") ||
        !spyp_tensor_is_of(src, e->device, "CommandEncoder.copy_tensor", "src") ||
        spyp_encoder_begin(e, "CommandEncoder.copy_tensor") < 0)
        return NULL;
    return spyp_encoder_done(
        e, spy_list_copy(e->list, ((spyp_tensor *)dst)->tensor, ((spyp_tensor *)src)->tensor));
}

static PyObject *spyp_encoder_fill(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "tensor", "value", NULL };
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *tensor;
    double value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!d:fill_tensor", names, spyp.tensor, &tensor, &value) ||
        !spyp_tensor_is_of(tensor, e->device, "CommandEncoder.fill_tensor", "tensor") ||
        spyp_encoder_begin(e, "CommandEncoder.fill_tensor") < 0)
        return NULL;
    return spyp_encoder_done(e, spy_list_fill(e->list, ((spyp_tensor *)tensor)->tensor, value));
}

// Records a mark or a group with a name. SlangPy gives them a color, too; the library's labels have none.
static PyObject *spyp_encoder_named(PyObject *self, PyObject *args, PyObject *kwargs, const char *what,
                                    spy_status (*record)(spy_command_list *, const char *)) {
    static char *names[] = { "name", "color", NULL };
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *color = NULL;
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|O", names, &name, &color) ||
        spyp_encoder_begin(e, what) < 0)
        return NULL;
    return spyp_encoder_done(e, record(e->list, name));
}

static PyObject *spyp_encoder_push(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_encoder_named(self, args, kwargs, "CommandEncoder.push_debug_group", spy_list_push_label);
}

static PyObject *spyp_encoder_marker(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_encoder_named(self, args, kwargs, "CommandEncoder.insert_debug_marker", spy_list_marker);
}

static PyObject *spyp_encoder_plain(PyObject *self, const char *what,
                                    spy_status (*record)(spy_command_list *)) {
    spyp_encoder *e = (spyp_encoder *)self;
    return spyp_encoder_begin(e, what) < 0 ? NULL : spyp_encoder_done(e, record(e->list));
}

static PyObject *spyp_encoder_pop(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_encoder_plain(self, "CommandEncoder.pop_debug_group", spy_list_pop_label);
}

static PyObject *spyp_encoder_barrier(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_encoder_plain(self, "CommandEncoder.global_barrier", spy_list_barrier);
}

// Records a timestamp and returns its number in the list.
static PyObject *spyp_encoder_timestamp(PyObject *self, PyObject *ignored) {
    spyp_encoder *e = (spyp_encoder *)self;
    SPYP_UNUSED(ignored);
    if (spyp_encoder_begin(e, "CommandEncoder.write_timestamp") < 0) return NULL;
    uint32_t count = spy_get_list_info(e->list).timestamp_count;
    PyObject *done = spyp_encoder_done(e, spy_list_timestamp(e->list));
    Py_XDECREF(done);
    return done ? PyLong_FromUnsignedLong(count) : NULL;
}

static PyObject *spyp_encoder_finish(PyObject *self, PyObject *ignored) {
    spyp_encoder *e = (spyp_encoder *)self, *made = NULL;
    SPYP_UNUSED(ignored);
    if (spyp_encoder_begin(e, "CommandEncoder.finish") < 0) return NULL;
    PyObject *done = spyp_encoder_done(e, spy_list_finish(e->list));
    if (!done) return NULL;
    Py_DECREF(done);
    made = (spyp_encoder *)spyp_alloc(spyp.commands);
    if (!made) return NULL;
    e->finished = made->finished = true;
    made->device = (spyp_device *)Py_NewRef((PyObject *)e->device);
    made->queries = Py_NewRef(e->queries);
    made->functions = Py_NewRef(e->functions);
    made->recording = Py_XNewRef(e->recording);
    made->list = e->list;
    spy_retain_command_list(e->list);
    return (PyObject *)made;
}

// _split() returns the recording so far as a CommandBuffer. The encoder continues with an empty recording.
static PyObject *spyp_encoder_split(PyObject *self, PyObject *ignored) {
    spyp_encoder *e = (spyp_encoder *)self;
    spy_list_desc desc;
    SPYP_UNUSED(ignored);
    if (spyp_encoder_begin(e, "CommandEncoder.execute_callback") < 0) return NULL;
    memset(&desc, 0, sizeof desc);
    if (e->on_record) {
        desc.on_record = spyp_on_record;
        desc.user_data = e;
    }
    spy_status status = spy_list_finish(e->list);
    spy_command_list *list = status == SPY_OK ? spy_create_command_list(e->device->device, &desc) : NULL;
    PyObject *done = spyp_encoder_done(e, list ? SPY_OK : SPY_ERROR_INVALID_ARGUMENT);
    Py_XDECREF(done);
    if (!done) return NULL;
    spyp_encoder *made = (spyp_encoder *)spyp_alloc(spyp.commands);
    PyObject *functions = made ? PyDict_New() : NULL;
    if (!functions) {
        Py_XDECREF((PyObject *)made);
        spy_release_command_list(list);
        return NULL;
    }
    made->finished = true;
    made->device = (spyp_device *)Py_NewRef((PyObject *)e->device);
    made->queries = PyList_New(0);
    made->functions = e->functions;
    e->functions = functions;
    made->leases = e->leases;
    e->leases = NULL;
    made->list = e->list;
    e->list = list;
    return (PyObject *)made;
}

// >>encoders and command buffers

static PyObject *spyp_encoder_get_device(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_encoder *)self)->device);
}

static PyObject *spyp_encoder_get_finished(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(((spyp_encoder *)self)->finished);
}

enum { SPYP_OPS, SPYP_CALLS, SPYP_STAMPS, SPYP_SUBMITS };

static PyObject *spyp_encoder_count(PyObject *self, void *which) {
    spyp_encoder *e = (spyp_encoder *)self;
    if (spyp_enter(e->device, "CommandEncoder") < 0) return NULL;
    spy_list_info info = spy_get_list_info(e->list);
    spyp_leave(e->device);
    switch ((int)(intptr_t)which) {
    case SPYP_OPS: return PyLong_FromUnsignedLong(info.op_count);
    case SPYP_CALLS: return PyLong_FromUnsignedLong(info.call_count);
    case SPYP_STAMPS: return PyLong_FromUnsignedLong(info.timestamp_count);
    default: return PyLong_FromUnsignedLongLong(info.submit_count);
    }
}

static PyObject *spyp_encoder_repr(PyObject *self) {
    spyp_encoder *e = (spyp_encoder *)self;
    const char *kind = PyObject_TypeCheck(self, spyp.commands) ? "CommandBuffer" : "CommandEncoder";
    if (!e->device->device) return spyp_format("<slangpy.%s, of a closed device>", kind);
    spy_list_info info = spy_get_list_info(e->list);
    return spyp_format("<slangpy.%s, %u operations%s>", kind, info.op_count, e->finished ? ", finished" : "");
}

// >>command buffers

// Submits the recorded operations to the device. Device.submit_command_buffers() flushes afterwards.
static PyObject *spyp_commands_submit(PyObject *self, PyObject *ignored) {
    spyp_encoder *e = (spyp_encoder *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(e->device, "submit_command_buffer") < 0) return NULL;
    return spyp_encoder_done(e, spy_list_submit(e->list));
}

#define SPYP_MOST_CHANGES 64

// Converts the items of a dict to arguments, as a call of the function converts its arguments.
static spy_status spyp_commands_change(spyp_encoder *e, uint32_t number, spyp_function *f, PyObject *values) {
    spy_arg items[SPYP_MOST_CHANGES];
    spy_args args = { items, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    Py_ssize_t n = PyTuple_Size(values);
    spyp_call call;
    spyp_call_begin(&call, f);
    for (Py_ssize_t i = 0; !PyErr_Occurred() && i < n; i += 2) {
        PyObject *value = PyTuple_GetItem(values, i + 1);
        const char *name = spyp_utf8(PyTuple_GetItem(values, i));
        spy_arg *arg = &items[args.count];
        if (args.count++ == SPYP_MOST_CHANGES - 1u) {
            PyErr_Format(PyExc_TypeError, "CommandBuffer.set: expected at most %d values", SPYP_MOST_CHANGES - 1);
        } else if (name && spyp_convert(&call, value, name, arg) < 0) {
            spyp_error_prefix(&call, "CommandBuffer.set: %U: argument '%s': ", f->name, name);
        } else if (name) {
            spyp_input_only(arg);
        }
    }
    if (!PyErr_Occurred() && spyp_enter(e->device, "CommandBuffer.set") == 0) {
        status = spy_list_set(e->list, number, args);
        if (status != SPY_OK) spyp_raise(e->device);
        spyp_leave(e->device);
    }
    spyp_call_end(&call);
    return status;
}

// Converts plain numbers, for a list whose functions are not known.
static spy_status spyp_commands_change_loaded(spyp_encoder *e, uint32_t number, PyObject *values) {
    spy_arg items[SPYP_MOST_CHANGES];
    spy_args args = { items, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    Py_ssize_t n = PyTuple_Size(values);
    for (Py_ssize_t i = 0; !PyErr_Occurred() && i < n && args.count < SPYP_MOST_CHANGES; i += 2) {
        PyObject *value = PyTuple_GetItem(values, i + 1);
        const char *name = spyp_utf8(PyTuple_GetItem(values, i));
        spy_arg *arg = &items[args.count++];
        int overflow = 0;
        if (!name) break;
        if (PyBool_Check(value)) {
            *arg = spy_arg_bool(name, value == Py_True);
        } else if (PyLong_Check(value)) {
            long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
            *arg = overflow > 0 ? spy_arg_u64(name, PyLong_AsUnsignedLongLong(value)) : spy_arg_i64(name, whole);
            if (!overflow && whole >= INT32_MIN && whole <= INT32_MAX) arg->dtype = SPY_DTYPE_INT32;
        } else if (PyFloat_Check(value)) {
            *arg = spy_arg_f64(name, PyFloat_AsDouble(value));
            arg->dtype = SPY_DTYPE_FLOAT32;
        } else {
            PyErr_Format(PyExc_TypeError,
                         "CommandBuffer.set: argument '%s': expected a number, as the list was loaded from a pack, got %R",
                         name, (PyObject *)Py_TYPE(value));
        }
    }
    if (!PyErr_Occurred() && spyp_enter(e->device, "CommandBuffer.set") == 0) {
        status = spy_list_set(e->list, number, args);
        if (status != SPY_OK) spyp_raise(e->device);
        spyp_leave(e->device);
    }
    return status;
}

static PyObject *spyp_commands_set(PyObject *self, PyObject *args, PyObject *kwargs) {
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *number;
    if (!PyArg_ParseTuple(args, "O!:set", &PyLong_Type, &number)) return NULL;
    PyObject *function = Py_XNewRef(PyDict_GetItemWithError(e->functions, number)), *result = NULL;
    PyObject *values = kwargs ? spyp_dict_items(kwargs, "CommandBuffer.set") : PyTuple_New(0);
    if (e->loaded && values &&
        spyp_commands_change_loaded(e, (uint32_t)PyLong_AsUnsignedLong(number), values) == SPY_OK)
        result = Py_NewRef(Py_None);
    else if (!function && !PyErr_Occurred())
        PyErr_Format(spyp.index_error, "CommandBuffer.set: expected the number of one of %zd recorded calls, got %S",
                     PyDict_Size(e->functions), number);
    if (function && values &&
        spyp_commands_change(e, (uint32_t)PyLong_AsUnsignedLong(number), (spyp_function *)function, values) == SPY_OK)
        result = Py_NewRef(Py_None);
    Py_XDECREF(function);
    Py_XDECREF(values);
    return result;
}

static PyObject *spyp_commands_times(PyObject *self, PyObject *ignored) {
    spyp_encoder *e = (spyp_encoder *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(e->device, "QueryPool") < 0) return NULL;
    uint32_t count = spy_get_list_info(e->list).timestamp_count;
    uint64_t *times = (uint64_t *)PyMem_Calloc(count + 1u, sizeof *times);
    spy_status status = times ? spy_list_read_timestamps(e->list, times, count) : SPY_ERROR_OUT_OF_MEMORY;
    PyObject *done = spyp_encoder_done(e, status), *list = done ? PyList_New(0) : NULL;
    Py_XDECREF(done);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(times[i]);
        if (!number || PyList_Append(list, number) < 0) Py_CLEAR(list);
        Py_XDECREF(number);
    }
    PyMem_Free(times);
    return list;
}

// >>lists in packs

// Returns the tensors of a dict as arguments. `made` gets the tensors of items that are None; if it is NULL, None is an error.
// Returns -1 with an exception set. The caller frees `items` and releases `pairs`.
static int spyp_list_tensors(spyp_device *d, PyObject *tensors, const char *what, PyObject **pairs, spy_arg **items,
                             spy_tensor ***made) {
    *items = NULL;
    *pairs = NULL;
    if (!PyDict_Check(tensors)) {
        PyErr_Format(PyExc_TypeError, "%s: argument 'tensors': expected a dict of tensors by their names, got %R", what,
                     (PyObject *)Py_TYPE(tensors));
        return -1;
    }
    *pairs = spyp_dict_items(tensors, what);
    if (!*pairs) return -1;
    Py_ssize_t n = PyTuple_Size(*pairs) / 2;
    *items = (spy_arg *)PyMem_Calloc((size_t)n + 1, sizeof **items);
    if (made) *made = (spy_tensor **)PyMem_Calloc((size_t)n + 1, sizeof **made);
    if (!*items || (made && !*made)) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !PyErr_Occurred() && i < n; i++) {
        const char *name = spyp_utf8(PyTuple_GetItem(*pairs, 2 * i));
        PyObject *value = PyTuple_GetItem(*pairs, 2 * i + 1);
        if (!name) break;
        if (made && value == Py_None) {
            (*items)[i] = spy_out_tensor(name, &(*made)[i]);
        } else if (!PyObject_TypeCheck(value, spyp.tensor)) {
            PyErr_Format(PyExc_TypeError, "%s: argument 'tensors': '%s': expected a tensor, got %R", what, name,
                         (PyObject *)Py_TYPE(value));
        } else if (spyp_tensor_is_of(value, d, what, name)) {
            (*items)[i] = spy_arg_tensor(name, ((spyp_tensor *)value)->tensor);
        }
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

static PyObject *spyp_commands_save(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "name", "tensors", NULL };
    static const char *const what = "CommandBuffer.save";
    spyp_encoder *e = (spyp_encoder *)self;
    PyObject *tensors, *pairs = NULL, *done = NULL;
    spy_arg *items = NULL;
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO:save", names, &name, &tensors)) return NULL;
    PyObject *parts = e->recording ? PyObject_GetAttrString(e->recording, "parts") : NULL;
    if (parts && PyObject_Length(parts) > 0)
        PyErr_Format(spyp.error, "%s: a recording with execute_callback() cannot be saved", what);
    Py_XDECREF(parts);
    int count = PyErr_Occurred() ? -1 : spyp_list_tensors(e->device, tensors, what, &pairs, &items, NULL);
    if (count >= 0 && spyp_enter(e->device, what) == 0) {
        spy_args list = { items, (size_t)count };
        done = spyp_encoder_done(e, spy_save_list(e->list, name, list));
    }
    PyMem_Free(items);
    Py_XDECREF(pairs);
    return done;
}

// _load_list(name, tensors) returns a CommandBuffer, and puts the tensors that the list makes into the dict.
PyObject *spyp_device_load_list(PyObject *self, PyObject *args) {
    static const char *const what = "Device.load_list";
    spyp_device *d = (spyp_device *)self;
    PyObject *tensors, *pairs = NULL;
    spy_arg *items = NULL;
    spy_tensor **made = NULL;
    spyp_encoder *e = NULL;
    const char *name;
    if (!PyArg_ParseTuple(args, "sO:load_list", &name, &tensors)) return NULL;
    int count = spyp_list_tensors(d, tensors, what, &pairs, &items, &made);
    if (count >= 0) e = (spyp_encoder *)spyp_alloc(spyp.commands);
    if (e) {
        e->device = (spyp_device *)Py_NewRef(self);
        e->queries = PyList_New(0);
        e->functions = PyDict_New();
        e->finished = e->loaded = true;
        if (e->queries && e->functions && spyp_enter(d, what) == 0) {
            spy_args list = { items, (size_t)count };
            e->list = spy_load_list(d->device, name, list);
            if (!e->list) spyp_raise(d);
            spyp_leave(d);
        }
        if (!e->list) Py_CLEAR(e);
    }
    for (int i = 0; i < count; i++) {
        PyObject *tensor = made[i] ? spyp_tensor_make(spyp.tensor, d, made[i], NULL) : NULL;
        if (made[i] && (!tensor || PyDict_SetItem(tensors, PyTuple_GetItem(pairs, 2 * i), tensor) < 0)) Py_CLEAR(e);
        Py_XDECREF(tensor);
    }
    PyMem_Free(items);
    PyMem_Free(made);
    Py_XDECREF(pairs);
    return (PyObject *)e;
}

// >>types

#define SPYP_METHOD(name, function, doc)                                                                     \
    { name, SPYP_FUNC(function), METH_VARARGS | METH_KEYWORDS, doc }

static PyMethodDef spyp_encoder_methods[] = {
    { "_split", spyp_encoder_split, METH_NOARGS, "_split(): end the recording so far; gives it as a CommandBuffer." },
    SPYP_METHOD(
        "copy_buffer", spyp_encoder_copy,
        "copy_buffer(dst, dst_offset, src, src_offset, size): copy bytes between ranges that do not overlap."),
    SPYP_METHOD("clear_buffer", spyp_encoder_clear_buffer,
                "clear_buffer(buffer, offset=0, size=-1): set bytes to zero; a size of -1 goes to the end."),
    SPYP_METHOD("upload_buffer_data", spyp_encoder_upload,
                "upload_buffer_data(buffer, offset, data): copy the current bytes of a contiguous array to the buffer."),
    SPYP_METHOD("copy_tensor", spyp_encoder_copy_tensor,
                "copy_tensor(dst, src): copy all elements of a tensor to another of the same shape and type; both are contiguous."),
    SPYP_METHOD("fill_tensor", spyp_encoder_fill,
                "fill_tensor(tensor, value): set every number of a contiguous tensor to one value."),
    SPYP_METHOD("push_debug_group", spyp_encoder_push,
                "push_debug_group(name, color=None): begin a named group of operations, for debug tools."),
    SPYP_METHOD("insert_debug_marker", spyp_encoder_marker,
                "insert_debug_marker(name, color=None): record a name at this point, for debug tools."),
    { "pop_debug_group", spyp_encoder_pop, METH_NOARGS, "pop_debug_group(): end the newest group." },
    { "global_barrier", spyp_encoder_barrier, METH_NOARGS,
      "global_barrier(): all earlier work ends before later work begins. Buffers and tensors never need "
      "it." },
    { "_timestamp", spyp_encoder_timestamp, METH_NOARGS,
      "_timestamp(): record a GPU time; gives its number in the list." },
    { "finish", spyp_encoder_finish, METH_NOARGS,
      "finish(): end the recording; gives a CommandBuffer to submit. The encoder is used up." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef spyp_commands_methods[] = {
    SPYP_METHOD("set", spyp_commands_set,
                "set(call, /, **values): from the next submission on, a recorded call gets other numbers, or lists or "
                "arrays that feed one value. call: its number, from 0: call_count before it was recorded. Parts "
                "of structs and shader parameters by path: **{'light.power': 2}."),
    SPYP_METHOD("save", spyp_commands_save,
                "save(name, tensors): put the recording into the pack that its device records (record_pack). tensors: a dict "
                "of the tensors that it uses, by the names that Device.load_list() takes."),
    { "_submit", spyp_commands_submit, METH_NOARGS,
      "_submit(): run the recorded operations in order." },
    { "_times", spyp_commands_times, METH_NOARGS,
      "_times(): the timestamps of the last submission in ns. Waits for it." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef spyp_encoder_members[] = {
    { "_queries", Py_T_OBJECT_EX, offsetof(spyp_encoder, queries), Py_READONLY,
      "Timestamps and the QueryPools they go to." },
    { "_recording", Py_T_OBJECT_EX, offsetof(spyp_encoder, recording), 0, "What encoders.py keeps of the recording." },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef spyp_encoder_getset[] = {
    { "device", spyp_encoder_get_device, NULL, "The device that the encoder was made for.", NULL },
    { "is_finished", spyp_encoder_get_finished, NULL, "Whether the recording has ended.", NULL },
    { "op_count", spyp_encoder_count, NULL, "Recorded operations.", (void *)SPYP_OPS },
    { "call_count", spyp_encoder_count, NULL, "Recorded calls and dispatches.", (void *)SPYP_CALLS },
    { "timestamp_count", spyp_encoder_count, NULL, "Recorded timestamps.", (void *)SPYP_STAMPS },
    { "submit_count", spyp_encoder_count, NULL, "Submissions so far.", (void *)SPYP_SUBMITS },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_encoder_slots[] = {
    { Py_tp_doc, (void *)"Records calls, copies and marks, to be submitted any number of times: see "
                         "Device.create_command_encoder()." },
    { Py_tp_new, (void *)spyp_encoder_new },
    { Py_tp_dealloc, (void *)spyp_encoder_dealloc },
    { Py_tp_traverse, (void *)spyp_encoder_traverse },
    { Py_tp_clear, (void *)spyp_encoder_clear },
    { Py_tp_repr, (void *)spyp_encoder_repr },
    { Py_tp_methods, spyp_encoder_methods },
    { Py_tp_getset, spyp_encoder_getset },
    { Py_tp_members, spyp_encoder_members },
    { 0, NULL },
};

static PyType_Spec spyp_encoder_spec = {
    "slangpy._slangpy._CommandEncoder",
    sizeof(spyp_encoder),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    spyp_encoder_slots,
};

static PyType_Slot spyp_commands_slots[] = {
    { Py_tp_doc, (void *)"A finished recording: see Device.submit_command_buffer()." },
    { Py_tp_dealloc, (void *)spyp_encoder_dealloc },
    { Py_tp_traverse, (void *)spyp_encoder_traverse },
    { Py_tp_clear, (void *)spyp_encoder_clear },
    { Py_tp_repr, (void *)spyp_encoder_repr },
    { Py_tp_methods, spyp_commands_methods },
    { Py_tp_getset, spyp_encoder_getset },
    { Py_tp_members, spyp_encoder_members },
    { 0, NULL },
};

static PyType_Spec spyp_commands_spec = {
    "slangpy._slangpy.CommandBuffer",
    sizeof(spyp_encoder),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_commands_slots,
};

int spyp_encoder_ready(PyObject *module) {
    spyp.encoder = spyp_type_add(module, &spyp_encoder_spec, NULL);
    spyp.commands = spyp_type_add(module, &spyp_commands_spec, NULL);
    return spyp.encoder && spyp.commands ? 0 : -1;
}
