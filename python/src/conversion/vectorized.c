// Values with an explicit mapping or type: vmap(), vdim() and vcast() make them, and their converter applies the mapping or type to the
// argument that their value becomes.
#include "conversion/conversion.h"

typedef struct spyp_vectorized {
    PyObject_HEAD
    PyObject *value; // any argument, also another such object
    PyObject *way;   // the mapping, a tuple of dimensions, or the type
    bool cast;       // `way` is a type
} spyp_vectorized;

static PyObject *spyp_vectorized_make(PyObject *value, PyObject *way, bool cast) {
    int depth = 0;
    for (PyObject *inner = value; Py_TYPE(inner) == spyp.vectorized; inner = ((spyp_vectorized *)(void *)inner)->value)
        if (++depth >= 100) return PyErr_Format(spyp.value_error, "vmap: argument 'value': expected at most 100 mappings around each other");
    spyp_vectorized *v = way ? (spyp_vectorized *)(void *)spyp_alloc(spyp.vectorized) : NULL; // the garbage collector tracks the object
    if (!v) return NULL;
    v->value = Py_NewRef(value);
    v->way = Py_NewRef(way);
    v->cast = cast;
    return (PyObject *)v;
}

// >>as an argument

static int spyp_convert_vectorized(spyp_call *call, PyObject *object, spy_arg *arg) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)object;
    return spyp_convert(call, v->value, NULL, arg) < 0 ? -1 : spyp_apply_map(call, v->way, arg);
}

const spyp_converter spyp_vectorized_converter = { "vmap or vcast", spyp_convert_vectorized };

PyObject *spyp_plain_value(PyObject *object) {
    while (Py_TYPE(object) == spyp.vectorized) object = ((spyp_vectorized *)(void *)object)->value;
    return object;
}

int spyp_apply_declaration(spyp_call *call, PyObject *entry, spy_arg *arg) {
    if (entry == Py_None) return 0;
    if (Py_TYPE(entry) != spyp.vectorized) return spyp_apply_map(call, entry, arg);
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)entry;
    return spyp_apply_declaration(call, v->value, arg) < 0 ? -1 : spyp_apply_map(call, v->way, arg);
}

// >>making

// Returns the dimensions as a tuple of ints.
static PyObject *spyp_dims_parse(PyObject *dims, const char *what) {
    spy_shape shape;
    if (spyp_shape_parse(dims, what, &shape) < 0) return NULL;
    PyObject *tuple = PyTuple_New((Py_ssize_t)shape.rank);
    for (uint32_t i = 0; tuple && i < shape.rank; i++) {
        PyObject *dim = PyLong_FromLongLong(shape.dims[i]);
        if (dim) PyTuple_SetItem(tuple, (Py_ssize_t)i, dim);
        else Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *spyp_vmap(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "value", "dims", NULL };
    PyObject *value, *dims;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:vmap", names, &value, &dims)) return NULL;
    PyObject *way = spyp_dims_parse(dims, "vmap: argument 'dims'"), *made = spyp_vectorized_make(value, way, false);
    Py_XDECREF(way);
    return made;
}

static PyObject *spyp_vdim(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "value", "n", NULL };
    PyObject *value;
    int n;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oi:vdim", names, &value, &n)) return NULL;
    if (n < 0 || n > SPY_MAX_RANK)
        return PyErr_Format(spyp.value_error, "vdim: argument 'n': expected a number of dimensions from 0 to %d, got %d", SPY_MAX_RANK, n);
    PyObject *way = PyTuple_New(n);
    for (int i = 0; way && i < n; i++) PyTuple_SetItem(way, i, PyLong_FromLong(i));
    PyObject *made = spyp_vectorized_make(value, way, false);
    Py_XDECREF(way);
    return made;
}

static PyObject *spyp_vcast(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "value", "type", NULL };
    PyObject *value, *type;
    spyp_dtype dtype;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:vcast", names, &value, &type)) return NULL;
    if (spyp_dtype_parse(type, "vcast", "type", &dtype) < 0) return NULL;
    Py_XDECREF(dtype.keeps);
    if (Py_TYPE(value) != spyp.vectorized || !((spyp_vectorized *)(void *)value)->cast) return spyp_vectorized_make(value, type, true);
    return PyErr_Format(spyp.value_error, "vcast: argument 'value': expected a value without a type, got a vcast");
}

// >>the type

static PyObject *spyp_vectorized_repr(PyObject *self) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)self;
    return PyUnicode_FromFormat("%s(%R, %R)", v->cast ? "vcast" : "vmap", v->value, v->way);
}

static int spyp_vectorized_traverse(PyObject *self, visitproc visit, void *arg) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(v->value);
    Py_VISIT(v->way);
    return 0;
}

static int spyp_vectorized_clear(PyObject *self) {
    spyp_vectorized *v = (spyp_vectorized *)(void *)self;
    PyObject *value = v->value, *way = v->way;
    v->value = Py_NewRef(Py_None); // None, because other code may still use the object
    v->way = Py_NewRef(Py_None);
    Py_XDECREF(value);
    Py_XDECREF(way);
    return 0;
}

static void spyp_vectorized_dealloc(PyObject *self) {
    spyp_vectorized *v = (spyp_vectorized *)(void *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(v->value);
    Py_CLEAR(v->way);
    spyp_free(self);
}

static PyObject *spyp_vectorized_get_value(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef(((spyp_vectorized *)(void *)self)->value);
}

static PyObject *spyp_vectorized_get_dims(PyObject *self, void *ignored) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)self;
    SPYP_UNUSED(ignored);
    return Py_NewRef(v->cast ? Py_None : v->way);
}

static PyObject *spyp_vectorized_get_type(PyObject *self, void *ignored) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)self;
    SPYP_UNUSED(ignored);
    return Py_NewRef(v->cast ? v->way : Py_None);
}

// Makes the same vmap() or vcast() of another value, for code that replaces values within arguments.
static PyObject *spyp_vectorized_around(PyObject *self, PyObject *value) {
    const spyp_vectorized *v = (const spyp_vectorized *)(void *)self;
    return spyp_vectorized_make(value, v->way, v->cast);
}

static PyMethodDef spyp_vectorized_methods[] = {
    { "around", spyp_vectorized_around, METH_O, "around(value): the same mapping or type for another value." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_vectorized_getset[] = {
    { "value", spyp_vectorized_get_value, NULL, "The argument that has the mapping or type.", NULL },
    { "dims", spyp_vectorized_get_dims, NULL, "The dimensions of the call, for vmap() and vdim(); None for vcast().", NULL },
    { "type", spyp_vectorized_get_type, NULL, "The type, for vcast(); None for vmap() and vdim().", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_vectorized_slots[] = {
    { Py_tp_doc, (void *)"An argument with an explicit mapping or type: see vmap, vdim, vcast." },
    { Py_tp_repr, (void *)spyp_vectorized_repr },
    { Py_tp_traverse, (void *)spyp_vectorized_traverse },
    { Py_tp_clear, (void *)spyp_vectorized_clear },
    { Py_tp_dealloc, (void *)spyp_vectorized_dealloc },
    { Py_tp_methods, spyp_vectorized_methods },
    { Py_tp_getset, spyp_vectorized_getset },
    { 0, NULL },
};

static PyType_Spec spyp_vectorized_spec = {
    "slangpy._slangpy.Vectorized", sizeof(spyp_vectorized), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_vectorized_slots,
};

static PyMethodDef spyp_vectorized_functions[] = {
    { "vmap", SPYP_FUNC(spyp_vmap), METH_VARARGS | METH_KEYWORDS,
      "vmap(value, dims): the argument `value` with an explicit mapping: its dimension i is run over as dimension dims[i] of the call, "
      "and its further dimensions feed the parameter's type. () passes it as one value. Around a dict it is the mapping of each field "
      "that is run over." },
    { "vdim", SPYP_FUNC(spyp_vdim), METH_VARARGS | METH_KEYWORDS,
      "vdim(value, n): vmap(value, (0, ..., n - 1)): the first n dimensions of `value` are the call's." },
    { "vcast", SPYP_FUNC(spyp_vcast), METH_VARARGS | METH_KEYWORDS,
      "vcast(value, type): the argument `value`, whose elements have an explicit Slang type; the mapping follows from it. The parameter "
      "must have this type, which chooses among overloads and for generic parameters." },
    { NULL, NULL, 0, NULL },
};

int spyp_vectorized_ready(PyObject *module) {
    spyp.vectorized = spyp_type_add(module, &spyp_vectorized_spec, NULL);
    return spyp.vectorized ? PyModule_AddFunctions(module, spyp_vectorized_functions) : -1;
}
