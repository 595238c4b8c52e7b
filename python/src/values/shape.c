// Shape: sizes of an array's dimensions, and every way to write them.
#include "values/values.h"
#include "values/math_view.h"

#include <string.h>

typedef struct spyp_shape_object {
    PyObject_HEAD
    spy_shape shape;
} spyp_shape_object;

PyObject *spyp_shape_make(const spy_shape *shape) {
    spyp_shape_object *s = (spyp_shape_object *)spyp_alloc(spyp.shape);
    if (s) s->shape = *shape;
    return (PyObject *)s;
}

PyObject *spyp_shape_tuple(const spy_shape *shape) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)shape->rank);
    for (uint32_t i = 0; tuple && i < shape->rank; i++) {
        PyObject *n = PyLong_FromLongLong(shape->dims[i]);
        if (!n || PyTuple_SetItem(tuple, (Py_ssize_t)i, n) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static int spyp_size_parse(PyObject *item, const char *what, int64_t *size) {
    PyObject *whole = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
    *size = whole ? PyLong_AsLongLong(whole) : -1;
    if (whole && PyErr_Occurred()) PyErr_Format(PyExc_OverflowError, "%s: expected sizes of at most 63 bits", what);
    else if (!whole && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: expected a shape (a tuple of int), got %R in it", what, (PyObject *)Py_TYPE(item));
    Py_XDECREF(whole);
    return PyErr_Occurred() ? -1 : 0;
}

int spyp_shape_parse(PyObject *object, const char *what, spy_shape *shape) {
    spyp_math_info info;
    memset(shape, 0, sizeof *shape);
    if (PyObject_TypeCheck(object, spyp.shape)) {
        *shape = ((spyp_shape_object *)object)->shape;
        return 0;
    }
    if (PyLong_Check(object)) {
        shape->rank = 1;
        return spyp_size_parse(object, what, &shape->dims[0]);
    }
    if (PyList_Check(object)) { // code of the items may change the list
        PyObject *items = spyp_list_items(object);
        int status = items ? spyp_shape_parse(items, what, shape) : -1;
        Py_XDECREF(items);
        return status;
    }
    bool sequence = PyTuple_Check(object) || PyList_Check(object) || spyp_math_view(object, &info) || PySequence_Check(object);
    Py_ssize_t n = sequence && !PyUnicode_Check(object) ? PySequence_Size(object) : -1;
    if (n < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: expected a shape (a tuple of int), got %R", what, (PyObject *)Py_TYPE(object));
        return -1;
    }
    if (n > SPY_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%s: expected at most %d dimensions, got %zd", what, SPY_MAX_RANK, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        int status = item ? spyp_size_parse(item, what, &shape->dims[i]) : -1;
        Py_XDECREF(item);
        if (status < 0) return -1;
    }
    shape->rank = (uint32_t)n;
    return 0;
}

static PyObject *spyp_shape_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    spy_shape shape;
    SPYP_UNUSED(type);
    if (kwargs && PyDict_Size(kwargs)) return PyErr_Format(PyExc_TypeError, "Shape: expected no keywords");
    PyObject *sizes = PyTuple_Size(args) == 1 && !PyLong_Check(PyTuple_GetItem(args, 0)) ? PyTuple_GetItem(args, 0) : args;
    return spyp_shape_parse(sizes, "Shape", &shape) < 0 ? NULL : spyp_shape_make(&shape);
}

static PyObject *spyp_shape_as_tuple(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_shape_tuple(&((spyp_shape_object *)self)->shape);
}

static PyObject *spyp_shape_repr(PyObject *self) {
    PyObject *tuple = spyp_shape_as_tuple(self, NULL), *text = NULL;
    if (tuple) text = PyUnicode_FromFormat("Shape%R", tuple);
    Py_XDECREF(tuple);
    return text;
}

static Py_ssize_t spyp_shape_length(PyObject *self) {
    return (Py_ssize_t)((spyp_shape_object *)self)->shape.rank;
}

static PyObject *spyp_shape_item(PyObject *self, Py_ssize_t i) {
    const spy_shape *s = &((spyp_shape_object *)self)->shape;
    if (i < 0 || i >= (Py_ssize_t)s->rank) return PyErr_Format(PyExc_IndexError, "Shape: index %zd is beyond its %u dimensions", i, s->rank);
    return PyLong_FromLongLong(s->dims[i]);
}

// Indices and slices work as those of a tuple.
static PyObject *spyp_shape_subscript(PyObject *self, PyObject *key) {
    PyObject *tuple = spyp_shape_as_tuple(self, NULL), *item = tuple ? PyObject_GetItem(tuple, key) : NULL;
    Py_XDECREF(tuple);
    return item;
}

static PyObject *spyp_shape_compare(PyObject *a, PyObject *b, int op) {
    spy_shape other;
    if ((op != Py_EQ && op != Py_NE) || (!PyTuple_Check(b) && !PyList_Check(b) && !PyObject_TypeCheck(b, spyp.shape)) ||
        spyp_shape_parse(b, "Shape", &other) < 0) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    const spy_shape *one = &((spyp_shape_object *)a)->shape;
    bool same = one->rank == other.rank && memcmp(one->dims, other.dims, one->rank * sizeof *one->dims) == 0;
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t spyp_shape_hash(PyObject *self) {
    PyObject *tuple = spyp_shape_as_tuple(self, NULL);
    Py_hash_t hash = tuple ? PyObject_Hash(tuple) : -1;
    Py_XDECREF(tuple);
    return hash;
}

static PyObject *spyp_shape_concat(PyObject *a, PyObject *b) {
    spy_shape sum, more;
    if (spyp_shape_parse(a, "Shape", &sum) < 0 || spyp_shape_parse(b, "Shape", &more) < 0) return NULL;
    if (sum.rank + more.rank > SPY_MAX_RANK)
        return PyErr_Format(PyExc_ValueError, "Shape: expected at most %d dimensions, got %u", SPY_MAX_RANK, sum.rank + more.rank);
    memcpy(sum.dims + sum.rank, more.dims, more.rank * sizeof *sum.dims);
    sum.rank += more.rank;
    return spyp_shape_make(&sum);
}

static bool spyp_shape_known(const spy_shape *s) {
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0) return false;
    return true;
}

static PyObject *spyp_shape_concrete(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(spyp_shape_known(&((spyp_shape_object *)self)->shape));
}

static PyObject *spyp_shape_count(PyObject *self, void *ignored) {
    const spy_shape *s = &((spyp_shape_object *)self)->shape;
    PyObject *count = PyLong_FromLong(1); // a Python int, which does not overflow
    SPYP_UNUSED(ignored);
    for (uint32_t i = 0; count && i < s->rank; i++) {
        PyObject *n = PyLong_FromLongLong(s->dims[i]);
        spyp_replace(&count, n ? PyNumber_Multiply(count, n) : NULL);
        Py_XDECREF(n);
    }
    return count;
}

// Returns the strides of a row-major array of this shape, in elements.
static PyObject *spyp_shape_strides(PyObject *self, PyObject *ignored) {
    spy_shape s = ((spyp_shape_object *)self)->shape;
    int64_t step = 1;
    SPYP_UNUSED(ignored);
    for (uint32_t i = s.rank; i-- > 0;) {
        int64_t n = s.dims[i], most = n < 0 ? -(n + 1) : n;
        s.dims[i] = step;
        if (i && most && step > INT64_MAX / (most + 1)) return PyErr_Format(PyExc_OverflowError, "Shape: expected strides of at most 63 bits");
        step = i ? step * n : step;
    }
    return spyp_shape_make(&s);
}

static PyMethodDef spyp_shape_methods[] = {
    { "as_tuple", spyp_shape_as_tuple, METH_NOARGS, "The sizes as a tuple." },
    { "as_list", SPYP_FUNC(PySequence_List), METH_NOARGS, "The sizes as a list." },
    { "calc_contiguous_strides", spyp_shape_strides, METH_NOARGS, "Row-major strides in elements." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_shape_getset[] = {
    { "concrete", spyp_shape_concrete, NULL, "Whether no size is -1.", NULL },
    { "valid", spyp_shape_concrete, NULL, "Whether no size is -1.", NULL },
    { "element_count", spyp_shape_count, NULL, "The product of the sizes.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_shape_slots[] = {
    { Py_tp_doc, (void *)"Sizes of an array's dimensions, the last one varying fastest. Equal to a tuple of the same sizes." },
    { Py_tp_new, (void *)spyp_shape_new },
    { Py_tp_dealloc, (void *)spyp_free },
    { Py_tp_repr, (void *)spyp_shape_repr },
    { Py_tp_richcompare, (void *)spyp_shape_compare },
    { Py_tp_hash, (void *)spyp_shape_hash },
    { Py_sq_length, (void *)spyp_shape_length },
    { Py_sq_item, (void *)spyp_shape_item },
    { Py_sq_concat, (void *)spyp_shape_concat },
    { Py_mp_length, (void *)spyp_shape_length },
    { Py_mp_subscript, (void *)spyp_shape_subscript },
    { Py_tp_methods, spyp_shape_methods },
    { Py_tp_getset, spyp_shape_getset },
    { 0, NULL },
};

static PyType_Spec spyp_shape_spec = { "slangpy._slangpy.Shape", sizeof(spyp_shape_object), 0, Py_TPFLAGS_DEFAULT, spyp_shape_slots };

int spyp_shape_ready(PyObject *module) {
    spyp.shape = spyp_type_add(module, &spyp_shape_spec, NULL);
    return spyp.shape ? 0 : -1;
}
