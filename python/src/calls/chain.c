// The settings that a chain adds to a call: options, globals, constants and maps.
#include "calls/calls.h"

#include <string.h>

PyObject *spyp_merged(PyObject *dict, PyObject *more) {
    PyObject *all = dict ? PyDict_Copy(dict) : PyDict_New();
    if (all && more && PyDict_Update(all, more) < 0) Py_CLEAR(all);
    return all;
}

int spyp_uint3_parse(PyObject *object, const char *what, uint32_t out[3]) {
    spy_shape shape;
    if (spyp_shape_parse(object, what, &shape) < 0) return -1;
    if (shape.rank > 3) {
        PyErr_Format(spyp.value_error, "%s: expected at most 3 numbers, got %u", what, shape.rank);
        return -1;
    }
    for (uint32_t i = 0; i < 3; i++) {
        int64_t n = i < shape.rank ? shape.dims[i] : 1;
        if (n < 0 || n > UINT32_MAX) {
            PyErr_Format(spyp.value_error, "%s: expected numbers from 0 to 4294967295, got %lld", what, (long long)n);
            return -1;
        }
        out[i] = (uint32_t)n;
    }
    return 0;
}

int spyp_dict_args(spyp_call *call, PyObject *dict, spy_args *out) {
    PyObject *pairs = spyp_arena_kept(&call->arena, spyp_dict_items(dict, spyp_utf8(call->function->name)));
    Py_ssize_t n = pairs ? PyTuple_Size(pairs) / 2 : 0;
    spy_arg *items = pairs ? (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items) : NULL;
    if (!items) return -1;
    out->items = items;
    out->count = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name = spyp_utf8(PyTuple_GetItem(pairs, 2 * i));
        if (!name) {
            spyp_error_prefix(call, "%U: ", call->function->name);
            return -1;
        }
        call->global = name;
        int status = spyp_convert(call, PyTuple_GetItem(pairs, 2 * i + 1), name, &items[out->count]);
        call->global = NULL;
        if (status < 0) {
            spyp_error_prefix(call, "%U: '%s': ", call->function->name, name);
            return -1;
        }
        spyp_input_only(&items[out->count]);
        out->count++;
    }
    return 0;
}

// Calls the callable of a write(), which stores values in the dict `all` through a cursor.
static int spyp_run_writer(PyObject *writer, PyObject *all) {
    PyObject *cursor = spyp_recorder_make(all);
    PyObject *first = cursor ? PyTuple_Pack(1, cursor) : NULL, *args = first ? PySequence_Concat(first, PyTuple_GetItem(writer, 1)) : NULL;
    PyObject *done = args ? PyObject_Call(PyTuple_GetItem(writer, 0), args, PyTuple_GetItem(writer, 2)) : NULL;
    Py_XDECREF(cursor);
    Py_XDECREF(first);
    Py_XDECREF(args);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

// What set() and write() give, in the order of the chain: the last value of a global is the one that counts.
static int spyp_chain_globals(spyp_call *call, spy_args *out) {
    spyp_chain *chain = call->function->chain;
    if (!chain->setters) return chain->globals ? spyp_dict_args(call, chain->globals, out) : 0;
    PyObject *all = spyp_merged(chain->globals, NULL);
    if (!all || spyp_arena_keep(&call->arena, all) < 0) {
        Py_XDECREF(all);
        return -1;
    }
    Py_DECREF(all);
    for (Py_ssize_t i = 0; i < PyTuple_Size(chain->setters); i++) {
        PyObject *setter = PyTuple_GetItem(chain->setters, i);
        if (PyTuple_Check(setter)) {
            if (spyp_run_writer(setter, all) < 0) return -1;
            continue;
        }
        PyObject *more = PyDict_Check(setter) ? Py_NewRef(setter) : PyObject_CallFunctionObjArgs(setter, (PyObject *)call->function, NULL);
        int good = more && PyDict_Check(more) ? PyDict_Update(all, more) : -1;
        if (more && good < 0 && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%U.set: the callable gave %R; expected a dict", call->function->name, (PyObject *)Py_TYPE(more));
        Py_XDECREF(more);
        if (good < 0) return -1;
    }
    return spyp_dict_args(call, all, out);
}

// Converts the constants. A constant must be a number or a vector; another value is an error that names its type.
static int spyp_chain_constants(spyp_call *call, spy_args *out) {
    if (spyp_dict_args(call, call->function->chain->constants, out) == 0) return 0;
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(spyp.error)) return -1;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    if (text) PyErr_SetObject(spyp.type_error, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

// Makes a call group one thread group, so that its threads can share memory (groupshared) and wait for each other. The number of threads
// stays if the script has set thread_group_size(), or if the group has one thread.
static void spyp_group_threads(const spyp_chain *chain, uint32_t group[3]) {
    int64_t threads = 1;
    for (uint32_t i = 0; i < chain->call_group.rank && threads <= 1024; i++)
        threads *= chain->call_group.dims[i] > 0 && chain->call_group.dims[i] <= 1024 ? chain->call_group.dims[i] : 1025;
    if (group[0] || threads < 2 || threads > 1024) return;
    group[0] = (uint32_t)threads;
    group[1] = group[2] = 1;
}

int spyp_chain_options(spyp_call *call, spy_call_options *options) {
    spyp_chain *chain = call->function->chain;
    if (!chain) return 0;
    if (chain->prelude) options->prelude = spyp_utf8(chain->prelude);
    memcpy(options->thread_group_size, chain->group, sizeof chain->group);
    options->call_group_shape = chain->call_group;
    spyp_group_threads(chain, options->thread_group_size);
    options->mode = chain->mode;
    options->deterministic = chain->deterministic;
    options->shared_bytes = chain->shared_bytes;
    if (chain->constants && spyp_chain_constants(call, &options->constants) < 0) return -1;
    if (chain->conformances && spyp_strings(&call->arena, chain->conformances, "type_conformances", "items", &options->conformances,
                                            &options->conformance_count) < 0)
        return -1;
    return spyp_chain_globals(call, &options->globals);
}

int spyp_chain_map(spyp_call *call, Py_ssize_t position, PyObject *name, spy_arg *arg) {
    spyp_chain *chain = call->function->chain;
    PyObject *map = NULL;
    if (name && chain->map_kwargs) map = PyDict_GetItemWithError(chain->map_kwargs, name);
    if (!map && position >= 0 && chain->map_args && position < PyTuple_Size(chain->map_args))
        map = PyTuple_GetItem(chain->map_args, position);
    if (!map && position >= 0 && chain->map_kwargs && PyDict_Size(chain->map_kwargs))
        map = spyp_find_named(call->function, position, chain->map_kwargs);
    return map && map != Py_None ? spyp_apply_map(call, map, arg) : 0;
}
