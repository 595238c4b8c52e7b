// The class _Graph: a graph of calls while slangpy/fusion.py records it. A node of it is a tuple of two ints.
#include "objects/objects.h"

#include <string.h>

#include "state/cold.h"

typedef struct spyp_graph {
    PyObject_HEAD
    spyp_device *device;
    spy_fusion *fusion; // NULL means that it has ended
    PyObject *modules;  // a list of the Modules whose functions the graph calls
} spyp_graph;

// >>values

// Converts a value of a graph: a node (a tuple), a number, a vector (a list) or a struct (a dict, whose
// "_type" is its type's name). Returns 0, or -1 with an exception set.
static int spyp_graph_value(spyp_arena *arena, PyObject *object, const char *name, spy_arg *arg) {
    if (PyTuple_Check(object)) {
        spy_node node = { 0, 0 };
        unsigned long graph = 0, index = 0;
        if (!PyArg_ParseTuple(object, "kk", &graph, &index)) return -1;
        node.graph = (uint32_t)graph;
        node.index = (uint32_t)index;
        *arg = spy_arg_node(name, node);
        return 0;
    }
    if (PyBool_Check(object)) {
        *arg = spy_arg_bool(name, object == Py_True);
        return 0;
    }
    if (PyLong_Check(object)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) {
            unsigned long long large = PyLong_AsUnsignedLongLong(object);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                PyErr_Format(spyp.value_error, "expected an integer of at most 64 bits, got %R", object);
                return -1;
            }
            *arg = spy_arg_u64(name, large);
        } else if (value >= INT32_MIN && value <= INT32_MAX) {
            *arg = spy_arg_i32(name, (int32_t)value);
        } else {
            *arg = spy_arg_i64(name, value);
        }
        return 0;
    }
    if (PyFloat_Check(object)) {
        *arg = spy_arg_f64(name, PyFloat_AsDouble(object));
        return 0;
    }
    if (PyList_Check(object)) {
        Py_ssize_t n = PyList_Size(object);
        double *values = (double *)spyp_arena_take(arena, 4 * sizeof *values);
        bool real = false;
        if (!values) return -1;
        if (n < 1 || n > 4) {
            PyErr_Format(spyp.value_error, "expected a vector of 1 to 4 numbers, got %zd", n);
            return -1;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *item = PyList_GetItem(object, i);
            real = real || PyFloat_Check(item);
            values[i] = PyFloat_AsDouble(item);
            if (values[i] == -1 && PyErr_Occurred()) return -1;
        }
        if (real) {
            float *floats = (float *)(void *)values;
            for (Py_ssize_t i = 0; i < n; i++) floats[i] = (float)values[i];
            *arg = spy_arg_f32n(name, floats, (uint32_t)n);
        } else {
            int32_t *ints = (int32_t *)(void *)values;
            for (Py_ssize_t i = 0; i < n; i++) { // this loop writes only bytes of numbers that have been read
                if (!(values[i] >= INT32_MIN && values[i] <= INT32_MAX)) {
                    PyErr_Format(spyp.value_error, "expected a vector of integers from -2**31 to 2**31 - 1, got %R: write m.uint2(a, b) for larger ones", object);
                    return -1;
                }
                ints[i] = (int32_t)values[i];
            }
            *arg = spy_arg_i32n(name, ints, (uint32_t)n);
        }
        return 0;
    }
    if (PyDict_Check(object)) {
        PyObject *items = spyp_arena_kept(arena, spyp_dict_items(object, NULL));
        Py_ssize_t n = items ? PyTuple_Size(items) / 2 : 0;
        spy_arg *fields = items ? (spy_arg *)spyp_arena_take(arena, (size_t)(n + 1) * sizeof *fields) : NULL;
        const char *type = NULL;
        spy_args list = { fields, 0 };
        if (!fields || spyp_arena_down(arena) < 0) return -1;
        int status = 0;
        for (Py_ssize_t i = 0; i < n && status == 0; i++) {
            const char *key = spyp_utf8(PyTuple_GetItem(items, 2 * i));
            PyObject *value = PyTuple_GetItem(items, 2 * i + 1);
            if (key && strcmp(key, "_type") == 0 && PyUnicode_Check(value)) {
                type = spyp_utf8(value);
                status = type ? 0 : -1;
            } else {
                status = key ? spyp_graph_value(arena, value, key, &fields[list.count++]) : -1;
            }
        }
        spyp_arena_up(arena);
        if (status < 0) return -1;
        *arg = spy_arg_struct(name, list);
        if (type) *arg = spy_vcast(*arg, type);
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "expected a traced value, a number, a vector or a dict, got %R", (PyObject *)Py_TYPE(object));
    return -1;
}

// Converts a list of (name or None, value).
static int spyp_graph_list(spyp_arena *arena, PyObject *list, spy_args *out) {
    PyObject *all = spyp_arena_kept(arena, PySequence_Tuple(list));
    Py_ssize_t n = all ? PyTuple_Size(all) : 0;
    spy_arg *items = all ? (spy_arg *)spyp_arena_take(arena, (size_t)(n + 1) * sizeof *items) : NULL;
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = NULL;
        const char *name = NULL;
        if (!PyArg_ParseTuple(PyTuple_GetItem(all, i), "zO", &name, &value)) return -1;
        if (spyp_graph_value(arena, value, name, &items[i]) < 0) return -1;
    }
    out->items = items;
    out->count = (size_t)n;
    return 0;
}

static PyObject *spyp_node_give(spy_node node) {
    return Py_BuildValue("(kk)", (unsigned long)node.graph, (unsigned long)node.index);
}

static bool spyp_graph_is_open(const spyp_graph *g) {
    if (g->fusion && g->device->device) return true;
    PyErr_SetString(spyp.error, "fuse: the trace has ended");
    return false;
}

// Ends a method that adds a node. Raises the library's error if the node was not made.
static PyObject *spyp_graph_done(spyp_graph *g, spy_node node) {
    if (!node.graph) spyp_raise(g->device);
    spyp_leave(g->device);
    return node.graph ? spyp_node_give(node) : NULL;
}

// >>methods

static PyObject *spyp_graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "name", "backward", NULL };
    PyObject *device;
    const char *name;
    int backward = 0;
    spy_fuse_desc desc;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!s|i:_Graph", names, spyp.device, &device, &name, &backward)) return NULL;
    spyp_graph *g = (spyp_graph *)spyp_alloc(type);
    if (!g) return NULL;
    g->device = (spyp_device *)Py_NewRef(device);
    g->modules = PyList_New(0);
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.backward = (spy_fuse_backward)backward;
    if (g->modules && spyp_enter(g->device, "fuse") == 0) {
        g->fusion = spy_fuse_begin(g->device->device, &desc);
        if (!g->fusion) spyp_raise(g->device);
        spyp_leave(g->device);
    }
    if (!g->fusion) Py_CLEAR(g);
    return (PyObject *)g;
}

static int spyp_node_parse(PyObject *object, spy_node *node) {
    unsigned long graph = 0, index = 0;
    if (!PyArg_ParseTuple(object, "kk", &graph, &index)) return -1;
    node->graph = (uint32_t)graph;
    node->index = (uint32_t)index;
    return 0;
}

static PyObject *spyp_graph_use(PyObject *self, PyObject *object) {
    spyp_graph *g = (spyp_graph *)self;
    if (!PyObject_TypeCheck(object, spyp.module_type)) return PyErr_Format(PyExc_TypeError, "fuse: expected a Module, got %R", (PyObject *)Py_TYPE(object));
    spyp_module *m = (spyp_module *)object;
    if (m->device != g->device)
        return PyErr_Format(spyp.value_error, "fuse: module '%U' belongs to another device than the functions before it", m->name);
    if (PyList_Append(g->modules, object) < 0 || !spyp_graph_is_open(g) || spyp_enter(g->device, "fuse") < 0) return NULL;
    spy_status status = spy_fuse_use(g->fusion, m->module);
    if (status != SPY_OK) spyp_raise(g->device);
    spyp_leave(g->device);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_graph_outs(PyObject *self, PyObject *value) {
    spyp_graph *g = (spyp_graph *)self;
    spy_node node = { 0, 0 };
    if (!PyTuple_Check(value) || spyp_node_parse(value, &node) < 0 || !spyp_graph_is_open(g) || spyp_enter(g->device, "fuse") < 0) return NULL;
    PyObject *names = PyList_New(0);
    const char *name = NULL;
    for (uint32_t i = 0; names && (name = spy_fuse_out_name(g->fusion, node, i)) != NULL; i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(names, text) < 0) Py_CLEAR(names);
        Py_XDECREF(text);
    }
    spyp_leave(g->device);
    return names;
}

static PyObject *spyp_graph_input(PyObject *self, PyObject *args) {
    spyp_graph *g = (spyp_graph *)self;
    const char *name, *type;
    if (!PyArg_ParseTuple(args, "sz:input", &name, &type) || !spyp_graph_is_open(g) || spyp_enter(g->device, "fuse") < 0) return NULL;
    return spyp_graph_done(g, spy_fuse_input(g->fusion, name, type));
}

static PyObject *spyp_graph_call(PyObject *self, PyObject *args) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject *function, *list, *result = NULL;
    spyp_arena arena;
    spy_args given = { NULL, 0 };
    if (!PyArg_ParseTuple(args, "O!O:call", spyp.function, &function, &list) || !spyp_graph_is_open(g)) return NULL;
    spyp_function *f = (spyp_function *)function;
    if (f->module->device != g->device)
        return PyErr_Format(spyp.value_error, "fuse: function '%U' belongs to another device than the functions before it", f->name);
    if (PyList_Append(g->modules, (PyObject *)f->module) < 0) return NULL;
    spyp_arena_begin(&arena);
    if (spyp_graph_list(&arena, list, &given) == 0 && spyp_enter(g->device, "fuse") == 0)
        result = spyp_graph_done(g, spy_fuse_call(g->fusion, f->function, given));
    spyp_arena_end(&arena);
    return result;
}

static PyObject *spyp_graph_make(PyObject *self, PyObject *args) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject *list, *result = NULL;
    const char *type;
    spyp_arena arena;
    spy_args given = { NULL, 0 };
    if (!PyArg_ParseTuple(args, "sO:make", &type, &list) || !spyp_graph_is_open(g)) return NULL;
    spyp_arena_begin(&arena);
    if (spyp_graph_list(&arena, list, &given) == 0 && spyp_enter(g->device, "fuse") == 0)
        result = spyp_graph_done(g, spy_fuse_make(g->fusion, type, given));
    spyp_arena_end(&arena);
    return result;
}

static PyObject *spyp_graph_op(PyObject *self, PyObject *args) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject *list, *result = NULL;
    const char *op;
    spyp_arena arena;
    spy_args given = { NULL, 0 };
    if (!PyArg_ParseTuple(args, "sO:op", &op, &list) || !spyp_graph_is_open(g)) return NULL;
    spyp_arena_begin(&arena);
    if (spyp_graph_list(&arena, list, &given) == 0 && spyp_enter(g->device, "fuse") == 0)
        result = spyp_graph_done(g, spy_fuse_op(g->fusion, op, given));
    spyp_arena_end(&arena);
    return result;
}

static PyObject *spyp_graph_part(PyObject *self, PyObject *args, spy_node (*part)(spy_fusion *, spy_node, const char *)) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject *value;
    const char *name;
    spy_node node;
    if (!PyArg_ParseTuple(args, "O!s", &PyTuple_Type, &value, &name) || spyp_node_parse(value, &node) < 0 || !spyp_graph_is_open(g) ||
        spyp_enter(g->device, "fuse") < 0)
        return NULL;
    return spyp_graph_done(g, part(g->fusion, node, name));
}

static PyObject *spyp_graph_member(PyObject *self, PyObject *args) {
    return spyp_graph_part(self, args, spy_fuse_member);
}

static PyObject *spyp_graph_out(PyObject *self, PyObject *args) {
    return spyp_graph_part(self, args, spy_fuse_out);
}

static PyObject *spyp_graph_type(PyObject *self, PyObject *value) {
    spyp_graph *g = (spyp_graph *)self;
    spy_node node = { 0, 0 };
    if (!PyTuple_Check(value) || spyp_node_parse(value, &node) < 0 || !spyp_graph_is_open(g) || spyp_enter(g->device, "fuse") < 0) return NULL;
    const char *type = spy_fuse_type(g->fusion, node);
    spyp_leave(g->device);
    if (!type) Py_RETURN_NONE;
    return PyUnicode_FromString(type);
}

static PyObject *spyp_graph_output(PyObject *self, PyObject *args) {
    spyp_graph *g = (spyp_graph *)self;
    const char *name;
    PyObject *value, *dims = NULL, *result = NULL;
    int reduction = 0;
    spyp_arena arena;
    spy_arg arg;
    spy_dims list;
    memset(&list, 0, sizeof list);
    if (!PyArg_ParseTuple(args, "sO|iO!:output", &name, &value, &reduction, &PyTuple_Type, &dims) || !spyp_graph_is_open(g)) return NULL;
    Py_ssize_t n = dims ? PyTuple_Size(dims) : 0;
    if (n > SPY_MAX_RANK) return PyErr_Format(spyp.value_error, "fuse: expected at most %d dimensions, got %zd", SPY_MAX_RANK, n);
    for (Py_ssize_t i = 0; i < n; i++) {
        long dim = PyLong_AsLong(PyTuple_GetItem(dims, i));
        if (dim == -1 && PyErr_Occurred()) return NULL;
        list.dims[list.count++] = dim < -1000 ? -1000 : dim > 1000 ? 1000 : (int32_t)dim;
    }
    spyp_arena_begin(&arena);
    if (spyp_graph_value(&arena, value, NULL, &arg) == 0 && spyp_enter(g->device, "fuse") == 0) {
        spy_status status = reduction ? spy_fuse_reduce(g->fusion, (spy_fuse_reduction)reduction, list, arg)
                                      : spy_fuse_output(g->fusion, name, arg);
        if (status != SPY_OK) spyp_raise(g->device);
        else result = Py_NewRef(Py_None);
        spyp_leave(g->device);
    }
    spyp_arena_end(&arena);
    return result;
}

static PyObject *spyp_graph_end(PyObject *self, PyObject *ignored) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject *result = NULL;
    SPYP_UNUSED(ignored);
    if (!spyp_graph_is_open(g) || spyp_enter(g->device, "fuse") < 0) return NULL;
    spy_fusion *fusion = g->fusion;
    g->fusion = NULL;
    spy_function *function = spy_fuse_end(fusion);
    if (!function) spyp_raise(g->device);
    const char *text = function ? spy_function_name(function) : NULL;
    PyObject *name = text ? PyUnicode_FromString(text) : NULL, *links = name ? PySequence_Tuple(g->modules) : NULL;
    PyObject *module = links ? spyp_module_make(g->device, spy_function_module(function), name, links) : NULL;
    if (function && !module) spy_release_module(spy_function_module(function));
    if (module) result = spyp_function_make((spyp_module *)module, function, name);
    spyp_leave(g->device);
    Py_XDECREF(module);
    Py_XDECREF(links);
    Py_XDECREF(name);
    return result;
}

static PyObject *spyp_graph_cancel(PyObject *self, PyObject *ignored) {
    spyp_graph *g = (spyp_graph *)self;
    SPYP_UNUSED(ignored);
    if (g->fusion && g->device->device) {
        if (spyp_enter(g->device, "fuse") == 0) {
            spy_fuse_cancel(g->fusion);
            spyp_leave(g->device);
        } else {
            PyErr_Clear(); // the process was forked, or the device was closed
        }
    }
    g->fusion = NULL;
    Py_RETURN_NONE;
}

// >>the type

static int spyp_graph_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_graph *)self)->device);
    Py_VISIT(((spyp_graph *)self)->modules);
    return 0;
}

static int spyp_graph_clear(PyObject *self) {
    Py_CLEAR(((spyp_graph *)self)->modules);
    return 0;
}

static void spyp_graph_dealloc(PyObject *self) {
    spyp_graph *g = (spyp_graph *)self;
    PyObject_GC_UnTrack(self);
    spyp_graph_clear(self); // a graph that was not cancelled ends with its device
    Py_CLEAR(g->device);
    spyp_free(self);
}

static PyMethodDef spyp_graph_methods[] = {
    { "use", spyp_graph_use, METH_O, "use(module): make the types of a module known by name in the graph." },
    { "outs", spyp_graph_outs, METH_O, "outs(node): the names of the out and inout parameters of a call." },
    { "input", spyp_graph_input, METH_VARARGS, "input(name, type): add an input; gives its node. type None: the type that the first "
        "use needs." },
    { "call", spyp_graph_call, METH_VARARGS, "call(function, [(name or None, value)]): record a call of a Function; gives its node." },
    { "make", spyp_graph_make, METH_VARARGS, "make(type, [(name or None, value)]): record the construction of a value; gives its node." },
    { "op", spyp_graph_op, METH_VARARGS, "op(name, [(None, value)]): record an operator; gives its node." },
    { "member", spyp_graph_member, METH_VARARGS, "member(node, name): record the access to a member of a value; gives its node." },
    { "out", spyp_graph_out, METH_VARARGS, "out(node, name): the node of the value that a call leaves in an out parameter." },
    { "type", spyp_graph_type, METH_O, "type(node): the name of a node's Slang type, or None." },
    { "output", spyp_graph_output, METH_VARARGS, "output(name, value, reduction=0, dims=()): add an output to the graph." },
    { "end", spyp_graph_end, METH_NOARGS, "end(): end the recording; gives the Function." },
    { "cancel", spyp_graph_cancel, METH_NOARGS, "cancel(): drop the graph." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot spyp_graph_slots[] = {
    { Py_tp_new, (void *)spyp_graph_new },
    { Py_tp_doc, (void *)"A graph of calls that slangpy.fusion records." },
    { Py_tp_dealloc, (void *)spyp_graph_dealloc },
    { Py_tp_traverse, (void *)spyp_graph_traverse },
    { Py_tp_clear, (void *)spyp_graph_clear },
    { Py_tp_methods, spyp_graph_methods },
    { 0, NULL },
};

static PyType_Spec spyp_graph_spec = {
    "slangpy._slangpy._Graph", sizeof(spyp_graph), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_graph_slots,
};

// >>traces

static PyObject *spyp_set_tracing(PyObject *self, PyObject *on) {
    bool now = on == Py_True;
    SPYP_UNUSED(self);
    spyp.tracers += (Py_ssize_t)now - (Py_ssize_t)spyp_tracing;
    spyp_tracing = now;
    Py_RETURN_NONE;
}

static PyObject *spyp_fused_text(PyObject *self, PyObject *object) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(object, spyp.function)) return PyErr_Format(PyExc_TypeError, "expected a Function, got %R", (PyObject *)Py_TYPE(object));
    spyp_function *f = (spyp_function *)object;
    if (spyp_enter(f->module->device, "fuse") < 0) return NULL;
    const char *text = spy_fuse_text(f->function);
    PyObject *result = text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
    spyp_leave(f->module->device);
    return result;
}

static PyMethodDef spyp_trace_functions[] = {
    { "_set_tracing", spyp_set_tracing, METH_O, "_set_tracing(on): whether slangpy.fusion records the calls of this thread." },
    { "_fused_text", spyp_fused_text, METH_O, "_fused_text(function): the Slang text of a fused function, or None." },
    { NULL, NULL, 0, NULL },
};

int spyp_fuse_ready(PyObject *module) {
    PyTypeObject *type = spyp_type_add(module, &spyp_graph_spec, NULL);
    Py_XDECREF((PyObject *)type);
    return type ? PyModule_AddFunctions(module, spyp_trace_functions) : -1;
}
