// The results of Function.resolve(): how the library binds a call's arguments, without compiling or running
// the call.
#include "calls/calls.h"

#include <string.h>

#define SPYP_RECORD_MOST 8

// An object with a fixed number of values, which have names in its class.
typedef struct spyp_record {
    PyObject_HEAD
    PyObject *values[SPYP_RECORD_MOST];
} spyp_record;

#define SPYP_FIELD(name, i, doc) \
    { name, Py_T_OBJECT_EX, (Py_ssize_t)(offsetof(spyp_record, values) + (i) * sizeof(PyObject *)), Py_READONLY, doc }

static int spyp_record_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    for (int i = 0; i < SPYP_RECORD_MOST; i++) Py_VISIT(((spyp_record *)self)->values[i]);
    return 0;
}

static void spyp_record_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < SPYP_RECORD_MOST; i++) Py_CLEAR(((spyp_record *)self)->values[i]);
    spyp_free(self);
}

static PyObject *spyp_binding_repr(PyObject *self) {
    PyObject **v = ((spyp_record *)self)->values;
    return PyUnicode_FromFormat("<slangpy.Binding %U %U: %U, map %R>", v[1], v[0], v[3], v[4]);
}

static PyObject *spyp_resolution_repr(PyObject *self) {
    PyObject **v = ((spyp_record *)self)->values;
    return PyUnicode_FromFormat("<slangpy.Resolution %U over %R>", v[0], v[2]);
}

static PyMemberDef spyp_binding_members[] = {
    SPYP_FIELD("path", 0, "The parameter, or a field of it: 'x', 'light.color', '_result'."),
    SPYP_FIELD("type", 1, "The Slang type that each element of the call gets: 'float3', 'Light'."),
    SPYP_FIELD("direction", 2, "The parameter's direction: 'in', 'out' or 'inout'."),
    SPYP_FIELD("argument", 3, "A description of the argument, such as 'float tensor (100, 3)'."),
    SPYP_FIELD("map", 4, "The call's dimensions: dimension i of the argument is dimension map[i] of the call."),
    SPYP_FIELD("consumed_rank", 5, "The number of trailing dimensions of the argument that feed the type."),
    SPYP_FIELD("depth", 6, "0 for a parameter or '_result', 1 for their fields, and so on."),
    { NULL, 0, 0, 0, NULL },
};

static PyMemberDef spyp_resolution_members[] = {
    SPYP_FIELD("signature", 0, "The overload that was chosen: 'float3 scale(float3 v, float s)'."),
    SPYP_FIELD("result_type", 1, "The Slang type of the function's result; 'void' if it returns nothing."),
    SPYP_FIELD("shape", 2, "The Shape of the call: the function runs once for each of its elements."),
    SPYP_FIELD("bindings", 3, "Each parameter that got an argument, followed by its fields, then '_result': a tuple of Bindings."),
    SPYP_FIELD("argument_types", 4, "The Slang types of the parameters that got an argument, without '_result': a tuple of str."),
    { NULL, 0, 0, 0, NULL },
};

#define SPYP_RECORD_SLOTS(name, doc, repr, members)                                     \
    static PyType_Slot name##_slots[] = {                                               \
        { Py_tp_doc, (void *)doc },                                                     \
        { Py_tp_dealloc, (void *)spyp_record_dealloc },                                 \
        { Py_tp_traverse, (void *)spyp_record_traverse },                               \
        { Py_tp_repr, (void *)repr },                                                   \
        { Py_tp_members, members },                                                     \
        { 0, NULL },                                                                    \
    }
SPYP_RECORD_SLOTS(spyp_binding, "A parameter of a call, or a field of one, and the argument that it gets.", spyp_binding_repr, spyp_binding_members);
SPYP_RECORD_SLOTS(spyp_resolution, "The form of a call: overload, types, mapping, shape. See Function.resolve().", spyp_resolution_repr,
                  spyp_resolution_members);
static PyType_Spec spyp_binding_spec = {
    "slangpy._slangpy.Binding", sizeof(spyp_record), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_binding_slots,
};
static PyType_Spec spyp_resolution_spec = {
    "slangpy._slangpy.Resolution", sizeof(spyp_record), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_resolution_slots,
};

static PyObject *spyp_dims_tuple(const spy_dims *dims) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)dims->count);
    for (uint32_t i = 0; tuple && i < dims->count; i++) {
        PyObject *n = PyLong_FromLong(dims->dims[i]);
        if (!n || PyTuple_SetItem(tuple, (Py_ssize_t)i, n) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

// Takes over the references of all values. Returns NULL if one of them is NULL.
static PyObject *spyp_record_make(PyTypeObject *type, PyObject *const *values, size_t count) {
    spyp_record *record = (spyp_record *)spyp_alloc(type);
    bool good = record != NULL;
    for (size_t i = 0; i < count; i++) {
        if (!values[i]) good = false;
        if (record) record->values[i] = values[i];
        else Py_XDECREF(values[i]);
    }
    if (!good) Py_CLEAR(record);
    return (PyObject *)record;
}

static PyObject *spyp_binding_make(const spy_binding *b) {
    PyObject *values[] = {
        PyUnicode_FromString(b->path),
        PyUnicode_FromString(b->type),
        PyUnicode_FromString(b->direction == SPY_DIRECTION_OUT ? "out" : b->direction == SPY_DIRECTION_INOUT ? "inout" : "in"),
        PyUnicode_FromString(b->argument),
        spyp_dims_tuple(&b->map),
        PyLong_FromUnsignedLong(b->consumed_rank),
        PyLong_FromUnsignedLong(b->depth),
    };
    return spyp_record_make(spyp.binding, values, sizeof values / sizeof *values);
}

static bool spyp_is_parameter(const spy_binding *b) {
    return b->depth == 0 && strcmp(b->path, "_result") != 0;
}

// Returns the parameters' types, or the bindings themselves, as a new tuple.
static PyObject *spyp_bindings_tuple(const spy_resolution *r, bool types) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < r->binding_count; i++) {
        if (types && !spyp_is_parameter(&r->bindings[i])) continue;
        PyObject *item = types ? PyUnicode_FromString(r->bindings[i].type) : spyp_binding_make(&r->bindings[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *spyp_resolution_make(const spy_resolution *r) {
    PyObject *values[] = {
        PyUnicode_FromString(r->signature), PyUnicode_FromString(r->result_type), spyp_shape_make(&r->shape),
        spyp_bindings_tuple(r, false),      spyp_bindings_tuple(r, true),
    };
    return spyp_record_make(spyp.resolution, values, sizeof values / sizeof *values);
}

int spyp_resolve_ready(PyObject *module) {
    static PyMethodDef methods[] = {
        { "resolve", SPYP_FUNC(spyp_function_resolve), METH_VARARGS | METH_KEYWORDS,
          "resolve(*args, **kwargs): the Resolution of a call with these arguments. No kernel is compiled and nothing runs; errors are "
          "those of the call." },
        { NULL, NULL, 0, NULL },
    };
    spyp.binding = spyp_type_add(module, &spyp_binding_spec, NULL);
    spyp.resolution = spyp_type_add(module, &spyp_resolution_spec, NULL);
    return spyp.binding && spyp.resolution ? spyp_methods_add(spyp.function, methods) : -1;
}
