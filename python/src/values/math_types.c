// The Python types of vectors, matrices, float16_t and quatf: construction, components, conversion. One set
// of functions serves all of them; each value points at its kind.
#include "values/math_value.h"

static const spyp_math_kind *spyp_math_kind_at(PyObject *self) {
    return ((const spyp_math_value *)self)->kind;
}

static double spyp_math_component(PyObject *self, uint32_t index) {
    const spyp_math_value *value = (const spyp_math_value *)self;
    return spyp_math_load(value->kind->dtype, value->data, index);
}

// Returns len(value): the rows of a matrix, the components of a vector.
static uint32_t spyp_math_length(const spyp_math_kind *kind) {
    return kind->form == SPYP_MATH_MATRIX ? kind->rows : kind->columns;
}

// >>construction

static void spyp_math_default(const spyp_math_kind *kind, double *components) {
    memset(components, 0, SPYP_MATH_MAX_SIZE * sizeof *components);
    if (kind->form == SPYP_MATH_QUATERNION) components[3] = 1;
    if (kind->form != SPYP_MATH_MATRIX) return;
    for (uint32_t i = 0; i < kind->rows && i < kind->columns; i++) components[i * kind->columns + i] = 1;
}

// Reads the components of a vector from its constructor's arguments: numbers and vectors in sequence, or one
// number for all components.
static int spyp_math_init_vector(const spyp_math_kind *kind, PyObject *args, double *components) {
    Py_ssize_t size = (Py_ssize_t)spyp_math_size(kind), items = PyTuple_Size(args), count = 0;
    double splat = 0;
    if (items == 1 && kind->form == SPYP_MATH_VECTOR) {
        int found = spyp_math_read_scalar(kind->dtype, PyTuple_GetItem(args, 0), &splat);
        if (found < 0) return -1;
        for (Py_ssize_t i = 0; found && i < size; i++) components[i] = splat;
        if (found) return 0;
    }
    for (Py_ssize_t i = 0; i < items; i++) {
        Py_ssize_t start = count < size ? count : size;
        Py_ssize_t found = spyp_math_read_list(kind->name, kind->dtype, PyTuple_GetItem(args, i),
                                               components + start, (uint32_t)(size - start));
        if (found < 0) return -1;
        count += found;
    }
    if (count == size) return 0;
    PyErr_Format(spyp.type_error, "%s: expected %zd component%s, got %zd", kind->name, size,
                 size == 1 ? "" : "s", count);
    return -1;
}

static int spyp_math_init_matrix(const spyp_math_kind *kind, PyObject *args, double *components) {
    PyObject *only = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    const spyp_math_kind *other = only ? spyp_math_kind_of(only) : NULL;
    double values[SPYP_MATH_MAX_SIZE];
    if (!other || other->form != SPYP_MATH_MATRIX)
        return spyp_math_read_matrix(kind->name, kind->dtype, only ? only : args, components, kind->rows,
                                     kind->columns);
    // A matrix of another size gives its upper left part. The rest is the identity.
    spyp_math_default(kind, components);
    spyp_math_load_all(only, values);
    for (uint32_t r = 0; r < kind->rows && r < other->rows; r++) {
        for (uint32_t c = 0; c < kind->columns && c < other->columns; c++)
            components[r * kind->columns + c] = values[r * other->columns + c];
    }
    return 0;
}

static int spyp_math_init_scalar(const spyp_math_kind *kind, PyObject *args, double *components) {
    Py_ssize_t count = PyTuple_Size(args);
    int found = count == 1 ? spyp_math_read_scalar(kind->dtype, PyTuple_GetItem(args, 0), components) : 0;
    PyObject *type;
    if (found > 0) return 0;
    if (found < 0) return -1;
    type = count == 1 ? spyp_math_type_name(PyTuple_GetItem(args, 0))
                      : PyUnicode_FromFormat("%zd arguments", count);
    if (type) PyErr_Format(PyExc_TypeError, "%s: expected one number, got %U", kind->name, type);
    Py_XDECREF(type);
    return -1;
}

// Returns the arguments of float3(x=1, y=2, z=3), float3(xy, z=3) or float3(scalar=1) as a tuple of positional arguments.
static PyObject *spyp_math_keywords(const spyp_math_kind *kind, PyObject *args, PyObject *keywords) {
    static const char *const names[] = { "scalar", "a",   "arg", "x",  "xy", "xyz",  "y",
                                         "yz",     "yzw", "z",   "zw", "w",  "value" };
    PyObject *list = PySequence_List(args), *components = NULL;
    for (size_t i = 0; list && i < sizeof names / sizeof names[0]; i++) {
        PyObject *component = PyDict_GetItemString(keywords, names[i]);
        if (component && PyList_Append(list, component) < 0) Py_CLEAR(list);
    }
    bool splat =
        list && PyList_Size(list) == 1 && spyp_math_size(kind) > 1 && PyDict_GetItemString(keywords, "x");
    if (list && (splat || PyList_Size(list) != PyTuple_Size(args) + PyDict_Size(keywords)))
        PyErr_Format(PyExc_TypeError, "%s: expected the names of components, got %R", kind->name, keywords);
    else if (list) components = PyList_AsTuple(list);
    Py_XDECREF(list);
    return components;
}

static const spyp_math_kind *spyp_math_kind_of_type(PyTypeObject *type) {
    const spyp_math_kind *kind = spyp_math_kinds;
    while (kind->type != type) kind++; // the search ends, because the types cannot be subclassed
    return kind;
}

// Turns the exception that is set into a TypeError, because an argument that does not fit has the wrong type for the
// constructor.
static PyObject *spyp_math_becomes_type_error(void) {
    PyObject *type, *error, *trace, *text;
    PyErr_Fetch(&type, &error, &trace);
    text = error ? PyObject_Str(error) : NULL;
    if (text) PyErr_SetObject(PyExc_TypeError, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return NULL;
}

static PyObject *spyp_math_type_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const spyp_math_kind *kind = spyp_math_kind_of_type(type);
    double components[SPYP_MATH_MAX_SIZE];
    bool named = keywords && PyDict_Size(keywords);
    int failed = 0;
    args =
        named ? spyp_math_keywords(kind, args, keywords) : PySequence_Tuple(args); // a tuple is its own tuple
    if (!args) return NULL;
    if (PyTuple_Size(args) == 0) spyp_math_default(kind, components);
    else if (kind->form == SPYP_MATH_SCALAR) failed = spyp_math_init_scalar(kind, args, components);
    else if (kind->form == SPYP_MATH_MATRIX) failed = spyp_math_init_matrix(kind, args, components);
    else failed = spyp_math_init_vector(kind, args, components);
    Py_DECREF(args);
    if (failed && named && PyErr_ExceptionMatches(PyExc_ValueError)) return spyp_math_becomes_type_error();
    if (failed) return NULL;
    PyObject *value = spyp_math_make(kind, components);
    return value || !PyErr_ExceptionMatches(PyExc_OverflowError) ? value : spyp_math_becomes_type_error();
}

static void spyp_math_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

// >>components by index

// Returns an index from 0 to count - 1, or -1 with an exception set. A negative index counts from the end.
static Py_ssize_t spyp_math_index(PyObject *self, PyObject *object, uint32_t count) {
    Py_ssize_t index;
    if (!PyIndex_Check(object)) {
        PyObject *type = spyp_math_type_name(object);
        if (type)
            PyErr_Format(PyExc_TypeError, "%s: expected an integer index, got '%U'",
                         spyp_math_kind_at(self)->name, type);
        Py_XDECREF(type);
        return -1;
    }
    index = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return -1;
    if (index >= -(Py_ssize_t)count && index < (Py_ssize_t)count)
        return index < 0 ? index + (Py_ssize_t)count : index;
    PyErr_Format(spyp.index_error, "%s: expected an index from %d to %d, got %zd",
                 spyp_math_kind_at(self)->name, -(int)count, (int)count - 1, index);
    return -1;
}

static PyObject *spyp_math_row(PyObject *self, uint32_t row) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    double components[SPYP_MATH_MAX_SIZE];
    spyp_math_load_all(self, components);
    return spyp_math_make(spyp_math_kind_find(kind->dtype, 1, kind->columns),
                          components + row * kind->columns);
}

static PyObject *spyp_math_item(PyObject *self, Py_ssize_t index) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    if (index < 0 || index >= (Py_ssize_t)spyp_math_length(kind)) { // Python's iteration ends with this error
        PyErr_Format(spyp.index_error, "%s: index %zd is out of range", kind->name, index);
        return NULL;
    }
    if (kind->form == SPYP_MATH_MATRIX) return spyp_math_row(self, (uint32_t)index);
    return spyp_math_scalar_new(kind->dtype, spyp_math_component(self, (uint32_t)index));
}

static Py_ssize_t spyp_math_len(PyObject *self) {
    return (Py_ssize_t)spyp_math_length(spyp_math_kind_at(self));
}

// Returns the index of the component m[r, c] of a matrix, or -1 with an exception set.
static Py_ssize_t spyp_math_pair(PyObject *self, PyObject *key) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t row, column;
    if (PyTuple_Size(key) != 2) {
        PyErr_Format(spyp.index_error, "%s: expected [row] or [row, column], got %zd indices", kind->name,
                     PyTuple_Size(key));
        return -1;
    }
    row = spyp_math_index(self, PyTuple_GetItem(key, 0), kind->rows);
    if (row < 0) return -1;
    column = spyp_math_index(self, PyTuple_GetItem(key, 1), kind->columns);
    return column < 0 ? -1 : row * (Py_ssize_t)kind->columns + column;
}

static PyObject *spyp_math_subscript(PyObject *self, PyObject *key) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    bool pair = kind->form == SPYP_MATH_MATRIX && PyTuple_Check(key);
    Py_ssize_t index = pair ? spyp_math_pair(self, key) : spyp_math_index(self, key, spyp_math_length(kind));
    if (index < 0) return NULL;
    return pair ? spyp_math_scalar_new(kind->dtype, spyp_math_component(self, (uint32_t)index))
                : spyp_math_item(self, index);
}

// Writes one component. `value` is NULL for `del v[0]`, which raises an error.
static int spyp_math_set(PyObject *self, uint32_t index, PyObject *value) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    double component = 0;
    int found = value ? spyp_math_read_scalar(kind->dtype, value, &component) : 0;
    if (found > 0)
        return spyp_math_store(kind->name, kind->dtype, ((spyp_math_value *)self)->data, index, component);
    if (!value) PyErr_Format(PyExc_TypeError, "%s: components cannot be deleted", kind->name);
    if (found < 0 || !value) return -1;
    PyObject *type = spyp_math_type_name(value);
    if (type)
        PyErr_Format(PyExc_TypeError, "%s: expected a component of type %s, got '%U'", kind->name,
                     spy_dtype_name(kind->dtype), type);
    Py_XDECREF(type);
    return -1;
}

// Writes `count` components, which are `step` apart, from a vector or sequence of `count` numbers. After an
// error none is changed.
static int spyp_math_set_line(PyObject *self, uint32_t first, uint32_t step, uint32_t count, PyObject *line) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    double components[SPYP_MATH_MAX_SIZE];
    Py_ssize_t found;
    if (!line) {
        PyErr_Format(PyExc_TypeError, "%s: rows cannot be deleted", kind->name);
        return -1;
    }
    found = spyp_math_read_list(kind->name, kind->dtype, line, components, count);
    if (found < 0) return -1;
    if (found != (Py_ssize_t)count) {
        PyErr_Format(spyp.type_error, "%s: expected %u components, got %zd", kind->name, count, found);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) { // no store fails, because matrices have floats
        spyp_math_store(kind->name, kind->dtype, ((spyp_math_value *)self)->data, first + i * step,
                        components[i]);
    }
    return 0;
}

static int spyp_math_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    bool pair = kind->form == SPYP_MATH_MATRIX && PyTuple_Check(key);
    Py_ssize_t index = pair ? spyp_math_pair(self, key) : spyp_math_index(self, key, spyp_math_length(kind));
    if (index < 0) return -1;
    if (kind->form == SPYP_MATH_MATRIX && !pair)
        return spyp_math_set_line(self, (uint32_t)index * kind->columns, 1, kind->columns, value);
    return spyp_math_set(self, (uint32_t)index, value);
}

// >>components by name

static PyObject *spyp_math_get_component(PyObject *self, void *index) {
    return spyp_math_item(self, (Py_ssize_t)(intptr_t)index);
}

static int spyp_math_set_component(PyObject *self, PyObject *value, void *index) {
    return spyp_math_set(self, (uint32_t)(uintptr_t)index, value);
}

// Finds the component indices of a swizzle such as "xyz" or "bgr". Returns their number, or 0 when `name` is
// no swizzle.
static uint32_t spyp_math_swizzle(const spyp_math_kind *kind, const char *name, size_t length,
                                  uint32_t *indices) {
    static const char *const sets[] = { "xyzw", "rgba" };
    if (length < 2 || length > 4) return 0;
    for (size_t s = 0; s < 2; s++) {
        uint32_t count = 0;
        for (; count < length; count++) {
            const char *at = strchr(sets[s], name[count]);
            if (!at || (uint32_t)(at - sets[s]) >= kind->columns) break;
            indices[count] = (uint32_t)(at - sets[s]);
        }
        if (count == length) return count;
    }
    return 0;
}

static PyObject *spyp_math_getattr(PyObject *self, PyObject *name) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    uint32_t indices[4];
    uint32_t count = text ? spyp_math_swizzle(kind, text, (size_t)length, indices) : 0;
    double components[4];
    if (!text) return NULL;
    if (!count) return PyObject_GenericGetAttr(self, name);
    for (uint32_t i = 0; i < count; i++) components[i] = spyp_math_component(self, indices[i]);
    return spyp_math_make(spyp_math_kind_find(kind->dtype, 1, count), components);
}

// >>attributes

static PyObject *spyp_math_get_shape(PyObject *self, void *Py_UNUSED(closure)) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    if (kind->form == SPYP_MATH_SCALAR) return PyTuple_New(0);
    if (kind->form == SPYP_MATH_MATRIX) return Py_BuildValue("(II)", kind->rows, kind->columns);
    return Py_BuildValue("(I)", kind->columns);
}

static PyObject *spyp_math_get_element_type(PyObject *self, void *Py_UNUSED(closure)) {
    spy_dtype dtype = spyp_math_kind_at(self)->dtype;
    PyTypeObject *type = dtype == SPY_DTYPE_BOOL     ? &PyBool_Type
                         : spyp_math_is_float(dtype) ? &PyFloat_Type
                                                     : &PyLong_Type;
    PyObject *object = (PyObject *)type;
    Py_INCREF(object);
    return object;
}

#define SPYP_MATH_COMMON_GETSETS                                                                             \
    { "shape", spyp_math_get_shape, NULL, "The sizes of the dimensions: (N,) of a vector, (rows, columns).",     \
      NULL },                                                                                                \
    {                                                                                                        \
        "element_type", spyp_math_get_element_type, NULL, "Python type of a component: bool, int or float.", \
            NULL                                                                                             \
    }
#define SPYP_MATH_COMPONENT(name, index)                                                                     \
    {                                                                                                        \
        name, spyp_math_get_component, spyp_math_set_component, "Component " #index ".",                     \
            (void *)(intptr_t)index                                                                          \
    }

// The last component comes first, so that a vector of N components uses the table from entry 8 - 2 N on.
static PyGetSetDef spyp_math_vector_getsets[] = {
    SPYP_MATH_COMPONENT("w", 3),      SPYP_MATH_COMPONENT("a", 3), SPYP_MATH_COMPONENT("z", 2),
    SPYP_MATH_COMPONENT("b", 2),      SPYP_MATH_COMPONENT("y", 1), SPYP_MATH_COMPONENT("g", 1),
    SPYP_MATH_COMPONENT("x", 0),      SPYP_MATH_COMPONENT("r", 0), SPYP_MATH_COMMON_GETSETS,
    { NULL, NULL, NULL, NULL, NULL },
};
static PyGetSetDef spyp_math_quaternion_getsets[] = {
    SPYP_MATH_COMPONENT("x", 0), SPYP_MATH_COMPONENT("y", 1), SPYP_MATH_COMPONENT("z", 2),
    SPYP_MATH_COMPONENT("w", 3), SPYP_MATH_COMMON_GETSETS,    { NULL, NULL, NULL, NULL, NULL },
};
static PyGetSetDef spyp_math_getsets[] = { SPYP_MATH_COMMON_GETSETS, { NULL, NULL, NULL, NULL, NULL } };

// >>text

// Returns the shortest text that reads back as the same float or half, or NULL with an exception set.
static char *spyp_math_format_float(spy_dtype dtype, double value) {
    int most = dtype == SPY_DTYPE_FLOAT16 ? 5 : dtype == SPY_DTYPE_FLOAT64 ? 17 : 9;
    for (int digits = most - 3;; digits++) {
        uint64_t again = 0;
        char *text = PyOS_double_to_string(value, 'g', digits, 0, NULL);
        if (!text || digits == most) return text;
        spyp_math_store("", dtype, &again, 0, PyOS_string_to_double(text, NULL, NULL));
        if (spyp_math_load(dtype, &again, 0) == value) return text;
        PyMem_Free(text);
    }
}

static PyObject *spyp_math_component_text(spy_dtype dtype, double value) {
    PyObject *text;
    char *digits;
    if (dtype == SPY_DTYPE_BOOL) return PyUnicode_FromString(value != 0 ? "true" : "false");
    if (!spyp_math_is_float(dtype)) return PyUnicode_FromFormat("%lld", (long long)value);
    digits = spyp_math_format_float(dtype, value);
    text = digits ? PyUnicode_FromString(digits) : NULL;
    PyMem_Free(digits);
    return text;
}

// Returns `count` components as text: "{1, 2, 3}".
static PyObject *spyp_math_line_text(spy_dtype dtype, const double *components, uint32_t count) {
    PyObject *line = PyUnicode_FromString("");
    for (uint32_t i = 0; line && i < count; i++) {
        PyObject *text = spyp_math_component_text(dtype, components[i]);
        spyp_replace(&line, text ? PyUnicode_FromFormat("%U%s%U%s", line, i ? ", " : "{", text,
                                                        i + 1 < count ? "" : "}")
                                 : NULL);
        Py_XDECREF(text);
    }
    return line;
}

static PyObject *spyp_math_rows_text(const spyp_math_kind *kind, const double *components) {
    PyObject *rows = PyUnicode_FromString("");
    for (uint32_t r = 0; rows && r < kind->rows; r++) {
        PyObject *row = spyp_math_line_text(kind->dtype, components + r * kind->columns, kind->columns);
        spyp_replace(&rows, row ? PyUnicode_FromFormat("%U%s%U%s", rows, r ? ", " : "{", row,
                                                       r + 1 < kind->rows ? "" : "}")
                                : NULL);
        Py_XDECREF(row);
    }
    return rows;
}

// str() and repr(): {1, 2, 3}, {{1, 2}, {3, 4}}, and for float16_t the number.
static PyObject *spyp_math_repr(PyObject *self) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    double components[SPYP_MATH_MAX_SIZE];
    spyp_math_load_all(self, components);
    if (kind->form == SPYP_MATH_SCALAR) return spyp_math_component_text(kind->dtype, components[0]);
    if (kind->form == SPYP_MATH_MATRIX) return spyp_math_rows_text(kind, components);
    return spyp_math_line_text(kind->dtype, components, spyp_math_size(kind));
}

static PyObject *spyp_math_components_tuple(PyObject *self) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    uint32_t size = spyp_math_size(kind);
    PyObject *components = PyTuple_New((Py_ssize_t)size);
    for (uint32_t i = 0; components && i < size; i++) {
        PyObject *component = spyp_math_scalar_new(kind->dtype, spyp_math_component(self, i));
        if (component) PyTuple_SetItem(components, (Py_ssize_t)i, component);
        else Py_CLEAR(components);
    }
    return components;
}

// Values hash as the tuple of their components, so that equal values of several types have one hash; float16_t as the float
// that it equals. A value that is changed while it is a key of a dict is not found any more.
static Py_hash_t spyp_math_hash(PyObject *self) {
    bool scalar = spyp_math_kind_at(self)->form == SPYP_MATH_SCALAR;
    PyObject *key =
        scalar ? PyFloat_FromDouble(spyp_math_component(self, 0)) : spyp_math_components_tuple(self);
    Py_hash_t hash = key ? PyObject_Hash(key) : -1;
    Py_XDECREF(key);
    return hash;
}

// >>methods

static PyObject *spyp_math_reduce(PyObject *self, PyObject *Py_UNUSED(none)) {
    PyObject *components = spyp_math_components_tuple(self);
    return components ? Py_BuildValue("(ON)", Py_TYPE(self), components) : NULL;
}

static PyObject *spyp_math_to_numpy(PyObject *self, PyObject *Py_UNUSED(none)) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "array", "O", self) : NULL;
    Py_XDECREF(numpy);
    return array;
}

static PyObject *spyp_math_from_numpy(PyObject *type, PyObject *array) {
    return PyObject_CallFunctionObjArgs(type, array, NULL);
}

static PyObject *spyp_math_zeros(PyObject *type, PyObject *Py_UNUSED(none)) {
    double components[SPYP_MATH_MAX_SIZE] = { 0 };
    return spyp_math_make(spyp_math_kind_of_type((PyTypeObject *)type), components);
}

static PyObject *spyp_math_identity(PyObject *type, PyObject *Py_UNUSED(none)) {
    const spyp_math_kind *kind = spyp_math_kind_of_type((PyTypeObject *)type);
    double components[SPYP_MATH_MAX_SIZE];
    spyp_math_default(kind, components);
    return spyp_math_make(kind, components);
}

static PyObject *spyp_math_get_row(PyObject *self, PyObject *index) {
    Py_ssize_t row = spyp_math_index(self, index, spyp_math_kind_at(self)->rows);
    return row < 0 ? NULL : spyp_math_row(self, (uint32_t)row);
}

static PyObject *spyp_math_get_col(PyObject *self, PyObject *index) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t column = spyp_math_index(self, index, kind->columns);
    double components[4];
    if (column < 0) return NULL;
    for (uint32_t r = 0; r < kind->rows; r++)
        components[r] = spyp_math_component(self, r * kind->columns + (uint32_t)column);
    return spyp_math_make(spyp_math_kind_find(kind->dtype, 1, kind->rows), components);
}

// Reads the arguments (index, line) of set_row() and set_col().
static bool spyp_math_set_args(PyObject *self, PyObject *args, const char *name, uint32_t count,
                               Py_ssize_t *index, PyObject **line) {
    if (PyTuple_Size(args) != 2) {
        PyErr_Format(PyExc_TypeError, "%s.%s: expected 2 arguments, got %zd", spyp_math_kind_at(self)->name,
                     name, PyTuple_Size(args));
        return false;
    }
    *index = spyp_math_index(self, PyTuple_GetItem(args, 0), count);
    *line = PyTuple_GetItem(args, 1);
    return *index >= 0;
}

static PyObject *spyp_math_set_row(PyObject *self, PyObject *args) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t row;
    PyObject *line;
    if (!spyp_math_set_args(self, args, "set_row", kind->rows, &row, &line)) return NULL;
    if (spyp_math_set_line(self, (uint32_t)row * kind->columns, 1, kind->columns, line)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_math_set_col(PyObject *self, PyObject *args) {
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t column;
    PyObject *line;
    if (!spyp_math_set_args(self, args, "set_col", kind->columns, &column, &line)) return NULL;
    if (spyp_math_set_line(self, (uint32_t)column, kind->columns, kind->rows, line)) return NULL;
    Py_RETURN_NONE;
}

#define SPYP_MATH_COMMON_METHODS                                                                             \
    { "__reduce__", spyp_math_reduce, METH_NOARGS, "For copy and pickle." },                                 \
        { "to_numpy", spyp_math_to_numpy, METH_NOARGS,                                                       \
          "to_numpy($self)\n--\n\nA new array of the value's shape. numpy.asarray(value) shares its memory " \
          "instead." },                                                                                      \
    {                                                                                                        \
        "from_numpy", spyp_math_from_numpy, METH_O | METH_CLASS,                                             \
            "from_numpy($type, array, /)\n--\n\nThe value of an array of its shape; integers take no float " \
            "arrays."                                                                                        \
    }
#define SPYP_MATH_END                                                                                        \
    { NULL, NULL, 0, NULL }

static PyMethodDef spyp_math_methods[] = { SPYP_MATH_COMMON_METHODS, SPYP_MATH_END };
static PyMethodDef spyp_math_quaternion_methods[] = {
    SPYP_MATH_COMMON_METHODS,
    { "identity", spyp_math_identity, METH_NOARGS | METH_CLASS,
      "identity($type)\n--\n\nThe rotation by nothing: (0, 0, 0, 1)." },
    SPYP_MATH_END,
};
static PyMethodDef spyp_math_matrix_methods[] = {
    SPYP_MATH_COMMON_METHODS,
    { "identity", spyp_math_identity, METH_NOARGS | METH_CLASS,
      "identity($type)\n--\n\nOnes on the diagonal." },
    { "zeros", spyp_math_zeros, METH_NOARGS | METH_CLASS, "zeros($type)\n--\n\nZero everywhere." },
    { "get_row", spyp_math_get_row, METH_O,
      "get_row($self, row, /)\n--\n\nA row as a new vector, as m[row]." },
    { "set_row", spyp_math_set_row, METH_VARARGS,
      "set_row($self, row, value, /)\n--\n\nWrites a row from a vector or sequence, as m[row] = value." },
    { "get_col", spyp_math_get_col, METH_O, "get_col($self, col, /)\n--\n\nA column as a new vector." },
    { "set_col", spyp_math_set_col, METH_VARARGS,
      "set_col($self, col, value, /)\n--\n\nWrites a column from a vector or sequence." },
    SPYP_MATH_END,
};

// >>buffer protocol

static int spyp_math_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    // Two sizes and two strides in bytes for each kind, to which views point. Each export writes the same values.
    static Py_ssize_t layouts[SPYP_MATH_MAX_KINDS][4];
    const spyp_math_kind *kind = spyp_math_kind_at(self);
    Py_ssize_t *layout = layouts[kind - spyp_math_kinds],
               size = (Py_ssize_t)spy_dtype_size_bytes(kind->dtype);
    static const char *const formats[SPY_DTYPE_COUNT] = { [SPY_DTYPE_BOOL] = "?",
                                                          [SPY_DTYPE_INT32] = "i",
                                                          [SPY_DTYPE_UINT32] = "I",
                                                          [SPY_DTYPE_FLOAT16] = "e",
                                                          [SPY_DTYPE_FLOAT32] = "f",
                                                          [SPY_DTYPE_FLOAT64] = "d" };
    bool matrix = kind->form == SPYP_MATH_MATRIX, fixed = kind->form == SPYP_MATH_SCALAR;
    if (fixed && (flags & PyBUF_WRITABLE)) {
        PyErr_Format(PyExc_BufferError, "%s: its memory is read-only", kind->name);
        view->obj = NULL;
        return -1;
    }
    layout[0] = matrix ? (Py_ssize_t)kind->rows : (Py_ssize_t)kind->columns;
    layout[1] = (Py_ssize_t)kind->columns;
    layout[2] = matrix ? (Py_ssize_t)kind->columns * size : size;
    layout[3] = size;
    memset(view, 0, sizeof *view);
    view->buf = ((spyp_math_value *)self)->data;
    view->obj = self;
    Py_INCREF(self);
    view->len = (Py_ssize_t)spyp_math_size(kind) * size;
    view->itemsize = size;
    view->readonly = fixed;
    view->ndim = matrix ? 2 : !fixed;
    view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)formats[kind->dtype] : NULL;
    view->shape = (flags & PyBUF_ND) && !fixed ? layout : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES && !fixed ? layout + 2 : NULL;
    return 0;
}

// >>types

static const char *const spyp_math_doc[] = {
    [SPYP_MATH_SCALAR] = "%s(value=0, /)\n--\n\nA number in 16 bits (IEEE 754 half), rounded to nearest "
                         "even. It cannot be changed.",
    [SPYP_MATH_VECTOR] =
        "%s(*components, **named)\n--\n\n"
        "A vector of %u components of type %s. Without arguments it is zero; one number goes to all "
        "components; numbers, vectors, sequences and arrays are put one after the other and must give %u "
        "components: TypeError or ValueError if not. Floats become "
        "integers only from vectors: int3(float3(1.5)). x=, y=, xy=, ... name the components.\n\n"
        "Operators work by component on two vectors of one type, or a vector and a number, list or tuple. "
        "'==' and '<' "
        "compare by value, as tuples do; math.eq(), math.lt() and their sisters give a bool vector. '/' of "
        "integers "
        "rounds towards zero as in Slang, '//' and '%%' as in Python. Swizzles (v.xy, v.bgr) make new "
        "vectors; v.x, v[0] can be written.",
    [SPYP_MATH_QUATERNION] = "%s(*components, **named)\n--\n\n"
                             "A quaternion of %u %s x, y, z (the vector part) and w: %u floats. Without "
                             "arguments it is the identity. '@' and math.mul() are the Hamilton product.",
    [SPYP_MATH_MATRIX] = "%s(*components)\n--\n\n"
                         "A matrix of %u rows and %u columns of float, packed by rows; vectors are columns: "
                         "m @ v. Without arguments it is the identity; else rows, a sequence of rows, rows * "
                         "columns numbers or an array of that shape. From a matrix of another size it takes "
                         "the upper left part. '@' and math.mul() are the matrix product; '*' and '/' take "
                         "numbers only. m[r] is a copy of a row; m[r, c] = x, m[r] = row write.",
};

static const PyType_Slot spyp_math_item_slots[] = {
    { Py_tp_iter, (void *)PySeqIter_New },
    { Py_sq_length, (void *)spyp_math_len },
    { Py_sq_item, (void *)spyp_math_item },
    { Py_mp_length, (void *)spyp_math_len },
    { Py_mp_subscript, (void *)spyp_math_subscript },
    { Py_mp_ass_subscript, (void *)spyp_math_ass_subscript },
    { 0, NULL },
};

static PyType_Slot *spyp_math_put(PyType_Slot *at, int slot, void *value) {
    at->slot = slot;
    at->pfunc = value;
    return at + 1;
}

static PyType_Slot *spyp_math_put_all(PyType_Slot *at, const PyType_Slot *slots) {
    while (slots->slot) *at++ = *slots++;
    return at;
}

static PyObject *spyp_math_type_make(PyObject *module, const spyp_math_kind *kind, const char *full_name) {
    char doc[1200];
    PyType_Slot slots[64], *at = slots;
    PyType_Spec spec = { full_name, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots };
    bool scalar = kind->form == SPYP_MATH_SCALAR, matrix = kind->form == SPYP_MATH_MATRIX;
    bool quaternion = kind->form == SPYP_MATH_QUATERNION;
    spec.basicsize =
        (int)(offsetof(spyp_math_value, data) + spyp_math_size(kind) * spy_dtype_size_bytes(kind->dtype));
    if (matrix)
        PyOS_snprintf(doc, sizeof doc, spyp_math_doc[SPYP_MATH_MATRIX], kind->name, kind->rows,
                      kind->columns);
    else
        PyOS_snprintf(doc, sizeof doc, spyp_math_doc[kind->form], kind->name, kind->columns,
                      spy_dtype_name(kind->dtype), kind->columns);
    at = spyp_math_put(at, Py_tp_doc, doc); // Python copies the text
    at = spyp_math_put(at, Py_tp_new, (void *)spyp_math_type_new);
    at = spyp_math_put(at, Py_tp_dealloc, (void *)spyp_math_dealloc);
    at = spyp_math_put(at, Py_tp_repr, (void *)spyp_math_repr);
    at = spyp_math_put(at, Py_tp_hash, (void *)spyp_math_hash);
    at = spyp_math_put(at, Py_tp_richcompare, (void *)spyp_math_compare);
    at = spyp_math_put(at, Py_bf_getbuffer, (void *)spyp_math_getbuffer);
    at = spyp_math_put(at, Py_tp_methods,
                       matrix       ? spyp_math_matrix_methods
                       : quaternion ? spyp_math_quaternion_methods
                                    : spyp_math_methods);
    at = spyp_math_put(at, Py_tp_getset,
                       matrix || scalar ? spyp_math_getsets
                       : quaternion     ? spyp_math_quaternion_getsets
                                        : spyp_math_vector_getsets + 8 - 2 * kind->columns);
    if (kind->form == SPYP_MATH_VECTOR) at = spyp_math_put(at, Py_tp_getattro, (void *)spyp_math_getattr);
    if (!scalar) at = spyp_math_put_all(at, spyp_math_item_slots);
    at = spyp_math_number_slots_of(kind, at);
    spyp_math_put(at, 0, NULL);
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}

// Makes the submodule, so that `import slangpy.math` finds it, too.
static PyObject *spyp_math_module_make(void) {
    static const char name[] = "slangpy.math";
    PyObject *math = PyModule_New(name);
    if (!math) return NULL;
    if (PyModule_SetDocString(math,
                              "Vectors, matrices and quaternions, and functions on them with Slang's names. "
                              "Angles are in radians, coordinates right-handed unless said otherwise.") ||
        PyDict_SetItemString(PyImport_GetModuleDict(), name, math))
        Py_CLEAR(math);
    return math;
}

static int spyp_math_types_add(PyObject *module, PyObject *math) {
    static char names[SPYP_MATH_MAX_KINDS][24]; // static, because Python 3.11 keeps the pointer
    for (spyp_math_kind *kind = spyp_math_kinds; kind->name; kind++) {
        char *full_name = names[kind - spyp_math_kinds];
        PyOS_snprintf(full_name, sizeof names[0], "slangpy.%s", kind->name);
        PyObject *type = spyp_math_type_make(module, kind, full_name);
        if (!type) return -1;
        kind->type = (PyTypeObject *)type; // this reference is never dropped
        spyp_math_kind_add(kind);
        if (PyModule_AddObjectRef(module, kind->name, type) || PyModule_AddObjectRef(math, kind->name, type))
            return -1;
    }
    return 0;
}

// Runs once in a process, because the kinds point at the types of the one interpreter.
int spyp_math_ready(PyObject *module) {
    PyObject *math = NULL;
    int failed;
    if (spyp_math_kinds[0].type) {
        PyErr_SetString(PyExc_ImportError, "slangpy can be loaded once in a process");
        return -1;
    }
    math = spyp_math_module_make();
    failed = !math || spyp_math_types_add(module, math) ||
             spyp_math_functions_add(math, spyp_math_elementwise) ||
             spyp_math_functions_add(math, spyp_math_algebra) ||
             spyp_math_functions_add(math, spyp_math_transforms) ||
             PyModule_AddObjectRef(module, "math", math);
    Py_XDECREF(math);
    return failed ? -1 : 0;
}
