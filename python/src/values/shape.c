// The class Shape: sizes of an array's dimensions, and every way to write them.
#include "values/values.h"
#include "values/math_view.h"

#include <stddef.h>
#include <string.h>

typedef struct spyp_shape_object {
    PyObject_VAR_HEAD // ob_size is the number of dimensions, which calls limit to SPY_MAX_RANK, and this class does not
        bool invalid; // Shape(None), which has no sizes
    int64_t dims[];
} spyp_shape_object;

static const int64_t *spyp_shape_dims(PyObject *self) {
    return ((spyp_shape_object *)self)->dims;
}

// Makes a Shape of `rank` sizes. `dims` may be NULL; the sizes are 0 then.
static PyObject *spyp_shape_of(const int64_t *dims, Py_ssize_t rank) {
    spyp_shape_object *s = (spyp_shape_object *)PyType_GenericAlloc(spyp.shape, rank);
    if (s && dims) memcpy(s->dims, dims, (size_t)rank * sizeof *dims);
    return (PyObject *)s;
}

PyObject *spyp_shape_make(const spy_shape *shape) {
    return spyp_shape_of(shape->dims, (Py_ssize_t)shape->rank);
}

static PyObject *spyp_shape_tuple_of(const int64_t *dims, Py_ssize_t rank) {
    PyObject *tuple = PyTuple_New(rank);
    for (Py_ssize_t i = 0; tuple && i < rank; i++) {
        PyObject *n = PyLong_FromLongLong(dims[i]);
        if (!n || PyTuple_SetItem(tuple, i, n) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *spyp_shape_tuple(const spy_shape *shape) {
    return spyp_shape_tuple_of(shape->dims, (Py_ssize_t)shape->rank);
}

static int spyp_size_parse(PyObject *item, const char *what, int64_t *size) {
    PyObject *whole = PyIndex_Check(item) ? PyNumber_Index(item) : NULL;
    *size = whole ? PyLong_AsLongLong(whole) : -1;
    if (whole && PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "%s: expected sizes of at most 63 bits", what);
    else if (!whole && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: expected a shape (a tuple of int), got %R in it", what,
                     (PyObject *)Py_TYPE(item));
    Py_XDECREF(whole);
    return PyErr_Occurred() ? -1 : 0;
}

static int spyp_rank_check(Py_ssize_t rank, const char *what) {
    if (rank <= SPY_MAX_RANK) return 0;
    PyErr_Format(spyp.value_error, "%s: expected at most %d dimensions, got %zd", what, SPY_MAX_RANK, rank);
    return -1;
}

int spyp_shape_parse(PyObject *object, const char *what, spy_shape *shape) {
    spyp_math_info info;
    memset(shape, 0, sizeof *shape);
    if (PyObject_TypeCheck(object, spyp.shape)) {
        if (((spyp_shape_object *)object)->invalid) {
            PyErr_Format(spyp.value_error, "%s: expected a shape, got Shape(None), which is none", what);
            return -1;
        }
        if (spyp_rank_check(Py_SIZE(object), what) < 0) return -1;
        shape->rank = (uint32_t)Py_SIZE(object);
        memcpy(shape->dims, spyp_shape_dims(object), shape->rank * sizeof *shape->dims);
        return 0;
    }
    if (PyLong_Check(object)) {
        shape->rank = 1;
        return spyp_size_parse(object, what, &shape->dims[0]);
    }
    if (PyList_Check(object)) { // code of the items could change the list, so a tuple is read
        PyObject *items = spyp_list_items(object);
        int status = items ? spyp_shape_parse(items, what, shape) : -1;
        Py_XDECREF(items);
        return status;
    }
    bool sequence = PyTuple_Check(object) || PyList_Check(object) || spyp_math_view(object, &info) ||
                    PySequence_Check(object);
    Py_ssize_t n = sequence && !PyUnicode_Check(object) ? PySequence_Size(object) : -1;
    if (n < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: expected a shape (a tuple of int), got %R", what,
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    if (spyp_rank_check(n, what) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        int status = item ? spyp_size_parse(item, what, &shape->dims[i]) : -1;
        Py_XDECREF(item);
        if (status < 0) return -1;
    }
    shape->rank = (uint32_t)n;
    return 0;
}

// Makes a Shape of a sequence of ints of any length. Takes over the reference `sizes`, which may be NULL.
static PyObject *spyp_shape_of_sequence(PyObject *sizes) {
    PyObject *tuple = sizes ? PySequence_Tuple(sizes) : NULL;
    PyObject *shape = tuple ? spyp_shape_of(NULL, PyTuple_Size(tuple)) : NULL;
    for (Py_ssize_t i = 0; shape && i < PyTuple_Size(tuple); i++) {
        if (spyp_size_parse(PyTuple_GetItem(tuple, i), "Shape", &((spyp_shape_object *)shape)->dims[i]) < 0)
            Py_CLEAR(shape);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(sizes);
    return shape;
}

static PyObject *spyp_shape_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *only = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    SPYP_UNUSED(type);
    if (kwargs && PyDict_Size(kwargs) == 1 && PyTuple_Size(args) == 0)
        only = PyDict_GetItemString(kwargs, "shape");
    if (kwargs && PyDict_Size(kwargs) && (!only || PyTuple_Size(args)))
        return PyErr_Format(PyExc_TypeError, "Shape: expected no keyword but 'shape'");
    if (only == Py_None) {
        PyObject *none = spyp_shape_of(NULL, 0);
        if (none) ((spyp_shape_object *)none)->invalid = true;
        return none;
    }
    if (only && PyIndex_Check(only) && !PySequence_Check(only))
        return spyp_shape_of_sequence(PyTuple_Pack(1, only));
    if (!only) only = args;
    if (PyUnicode_Check(only) || !PySequence_Check(only))
        return PyErr_Format(PyExc_TypeError, "Shape: expected a shape (a tuple of int), got %R",
                            (PyObject *)Py_TYPE(only));
    Py_INCREF(only);
    return spyp_shape_of_sequence(only);
}

static PyObject *spyp_shape_as_tuple(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_shape_tuple_of(spyp_shape_dims(self), Py_SIZE(self));
}

static PyObject *spyp_shape_repr(PyObject *self) {
    PyObject *list =
        ((spyp_shape_object *)self)->invalid ? PyUnicode_FromString("[invalid]") : PySequence_List(self);
    PyObject *text = list ? PyObject_Str(list) : NULL;
    Py_XDECREF(list);
    return text;
}

static Py_ssize_t spyp_shape_length(PyObject *self) {
    return Py_SIZE(self);
}

static PyObject *spyp_shape_item(PyObject *self, Py_ssize_t i) {
    if (i < 0 || i >= Py_SIZE(self))
        return PyErr_Format(spyp.index_error, "Shape: index %zd is beyond its %zd dimensions", i,
                            Py_SIZE(self));
    return PyLong_FromLongLong(spyp_shape_dims(self)[i]);
}

// Indices and slices work as those of a tuple.
static PyObject *spyp_shape_subscript(PyObject *self, PyObject *key) {
    PyObject *tuple = spyp_shape_as_tuple(self, NULL), *item = tuple ? PyObject_GetItem(tuple, key) : NULL;
    Py_XDECREF(tuple);
    return item;
}

// Returns a Shape for the other operand of an operator: itself, or one made of a tuple or list of ints. NULL, without an
// exception, for any other object.
static PyObject *spyp_shape_operand(PyObject *object) {
    PyObject *shape = NULL;
    if (!PyTuple_Check(object) && !PyList_Check(object) && !PyObject_TypeCheck(object, spyp.shape))
        return NULL;
    Py_INCREF(object);
    if (PyObject_TypeCheck(object, spyp.shape)) return object;
    shape = spyp_shape_of_sequence(object);
    if (!shape) PyErr_Clear();
    return shape;
}

static PyObject *spyp_shape_compare(PyObject *a, PyObject *b, int op) {
    PyObject *other = op == Py_EQ || op == Py_NE ? spyp_shape_operand(b) : NULL;
    if (!other) Py_RETURN_NOTIMPLEMENTED;
    bool same = Py_SIZE(a) == Py_SIZE(other) &&
                ((spyp_shape_object *)a)->invalid == ((spyp_shape_object *)other)->invalid &&
                memcmp(spyp_shape_dims(a), spyp_shape_dims(other), (size_t)Py_SIZE(a) * sizeof(int64_t)) == 0;
    Py_DECREF(other);
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t spyp_shape_hash(PyObject *self) {
    PyObject *tuple = spyp_shape_as_tuple(self, NULL);
    Py_hash_t hash = tuple ? PyObject_Hash(tuple) : -1;
    Py_XDECREF(tuple);
    return hash;
}

// a + b: the sizes of both, one after the other. Either may be a tuple or list.
static PyObject *spyp_shape_add(PyObject *a, PyObject *b) {
    PyObject *first = spyp_shape_operand(a), *second = first ? spyp_shape_operand(b) : NULL, *sum = NULL;
    if (second && (((spyp_shape_object *)first)->invalid || ((spyp_shape_object *)second)->invalid))
        PyErr_Format(spyp.value_error, "Shape: expected two shapes, got Shape(None), which is none");
    else if (second) sum = spyp_shape_of(NULL, Py_SIZE(first) + Py_SIZE(second));
    if (sum) {
        int64_t *dims = ((spyp_shape_object *)sum)->dims;
        memcpy(dims, spyp_shape_dims(first), (size_t)Py_SIZE(first) * sizeof *dims);
        memcpy(dims + Py_SIZE(first), spyp_shape_dims(second), (size_t)Py_SIZE(second) * sizeof *dims);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (!second) Py_RETURN_NOTIMPLEMENTED;
    return sum;
}

static PyObject *spyp_shape_concrete(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++)
        if (spyp_shape_dims(self)[i] < 0) Py_RETURN_FALSE;
    Py_RETURN_TRUE; // of Shape(None) too, as in SlangPy
}

static PyObject *spyp_shape_valid(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(!((spyp_shape_object *)self)->invalid);
}

static PyObject *spyp_shape_count(PyObject *self, void *ignored) {
    PyObject *count = PyLong_FromLong(1); // a Python int, which does not overflow
    SPYP_UNUSED(ignored);
    for (Py_ssize_t i = 0; count && i < Py_SIZE(self); i++) {
        PyObject *n = PyLong_FromLongLong(spyp_shape_dims(self)[i]);
        spyp_replace(&count, n ? PyNumber_Multiply(count, n) : NULL);
        Py_XDECREF(n);
    }
    return count;
}

// Returns the strides of a row-major array of this shape, in elements.
static PyObject *spyp_shape_strides(PyObject *self, PyObject *ignored) {
    PyObject *strides = spyp_shape_of(NULL, Py_SIZE(self));
    int64_t step = 1;
    SPYP_UNUSED(ignored);
    for (Py_ssize_t i = Py_SIZE(self); strides && i-- > 0;) {
        int64_t n = spyp_shape_dims(self)[i], most = n < 0 ? -(n + 1) : n;
        ((spyp_shape_object *)strides)->dims[i] = step;
        if (i && most && step > INT64_MAX / (most + 1)) {
            Py_DECREF(strides);
            return PyErr_Format(PyExc_OverflowError, "Shape: expected strides of at most 63 bits");
        }
        step = i ? step * n : step;
    }
    return strides;
}

static PyMethodDef spyp_shape_methods[] = {
    { "as_tuple", spyp_shape_as_tuple, METH_NOARGS, "The sizes as a tuple." },
    { "as_list", SPYP_FUNC(PySequence_List), METH_NOARGS, "The sizes as a list." },
    { "calc_contiguous_strides", spyp_shape_strides, METH_NOARGS, "Row-major strides in elements." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_shape_getset[] = {
    { "concrete", spyp_shape_concrete, NULL, "Whether no size is -1.", NULL },
    { "valid", spyp_shape_valid, NULL, "False only for Shape(None), which stands for no shape.", NULL },
    { "element_count", spyp_shape_count, NULL, "The product of the sizes.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_shape_slots[] = {
    { Py_tp_doc,
      (void *)"Shape(*sizes) or Shape(sizes): sizes of an array's dimensions, the last one varying fastest. "
              "Equal to a tuple or list of the same "
              "sizes. A size of -1 is open. Shape(None) stands for no shape: its `valid` is False." },
    { Py_tp_new, (void *)spyp_shape_new },
    { Py_tp_dealloc, (void *)spyp_free },
    { Py_tp_repr, (void *)spyp_shape_repr },
    { Py_tp_richcompare, (void *)spyp_shape_compare },
    { Py_tp_hash, (void *)spyp_shape_hash },
    { Py_sq_length, (void *)spyp_shape_length },
    { Py_sq_item, (void *)spyp_shape_item },
    { Py_nb_add, (void *)spyp_shape_add },
    { Py_mp_length, (void *)spyp_shape_length },
    { Py_mp_subscript, (void *)spyp_shape_subscript },
    { Py_tp_methods, spyp_shape_methods },
    { Py_tp_getset, spyp_shape_getset },
    { 0, NULL },
};

static PyType_Spec spyp_shape_spec = { "slangpy._slangpy.Shape", (int)offsetof(spyp_shape_object, dims),
                                       (int)sizeof(int64_t), Py_TPFLAGS_DEFAULT, spyp_shape_slots };

int spyp_shape_ready(PyObject *module) {
    spyp.shape = spyp_type_add(module, &spyp_shape_spec, NULL);
    return spyp.shape ? 0 : -1;
}
