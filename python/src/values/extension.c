// The values of classes that users have registered. PYTHON_TYPES serves arguments of calls; register_write_to_cursor_type() and to_cursor()
// serve values that are written to memory.
#include "values/values.h"

PyObject *spyp_registered(PyObject *dict, PyObject *object) {
    if (!PyDict_Size(dict)) return NULL;
    PyObject *order = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__mro__"), *found = NULL;
    Py_ssize_t n = order && PyTuple_Check(order) ? PyTuple_Size(order) : 0; // a metaclass may give any object
    for (Py_ssize_t i = 0; i < n && !found && !PyErr_Occurred(); i++)
        found = Py_XNewRef(PyDict_GetItemWithError(dict, PyTuple_GetItem(order, i)));
    Py_XDECREF(order);
    return found;
}

// Returns whether a registered function has two parameters: the module's layout and the value.
static bool spyp_takes_layout(PyObject *function) {
    bool is_class = PyType_Check(function);
    PyObject *own = is_class ? PyObject_GetAttrString(function, "__init__") : Py_NewRef(function);
    PyObject *code = own ? PyObject_GetAttrString(own, "__code__") : NULL, *count = code ? PyObject_GetAttrString(code, "co_argcount") : NULL;
    long n = count ? PyLong_AsLong(count) : 0;
    if (n >= 2) { // a function of the value alone, the usual case, needs no further look
        PyObject *defaults = PyObject_GetAttrString(own, "__defaults__");
        if (defaults && PyTuple_Check(defaults)) n -= (long)PyTuple_Size(defaults);
        if (is_class || PyObject_HasAttrString(own, "__func__")) n--; // `self`
        Py_XDECREF(defaults);
    }
    PyErr_Clear();
    Py_XDECREF(count);
    Py_XDECREF(code);
    Py_XDECREF(own);
    return n == 2;
}

PyObject *spyp_registered_call(PyObject *function, PyObject *object) {
    if (spyp_takes_layout(function)) { // slangpy/marshalling.py makes the call
        PyErr_Format(spyp.marshalled, "values of %R are arguments of direct calls alone, not of dicts, cursors or dispatch()", (PyObject *)Py_TYPE(object));
        Py_DECREF(function);
        return NULL;
    }
    PyObject *value = PyObject_CallFunctionObjArgs(function, object, NULL);
    Py_DECREF(function);
    if (value && Py_IS_TYPE(value, Py_TYPE(object))) {
        PyErr_Format(PyExc_TypeError, "the function registered for %R gave another one; expected a value of a known type", (PyObject *)Py_TYPE(object));
        Py_CLEAR(value);
    }
    return value;
}

bool spyp_is_plain(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyDict_Type || type == &PyList_Type ||
           type == &PyTuple_Type;
}

PyObject *spyp_extension_value(PyObject *object) {
    if (spyp_is_plain(object)) return NULL;
    PyObject *function = spyp_registered(spyp.cursor_types, object);
    if (function) return spyp_registered_call(function, object);
    if (PyErr_Occurred() || PyType_Check(object)) return NULL;
    if (PyObject_HasAttr(object, spyp.s_to_cursor)) return spyp_call_method(object, spyp.s_to_cursor);
    if (!PyObject_HasAttr(object, spyp.s_get_this)) return NULL;
    PyObject *value = spyp_call_method(object, spyp.s_get_this);
    if (value == object) {
        PyErr_Format(spyp.error, "get_this() of %R gave the object itself; expected a value of a known type", (PyObject *)Py_TYPE(object));
        Py_CLEAR(value);
    }
    return value;
}

// >>registering

static PyObject *spyp_register(PyObject *dict, PyObject *args, PyObject *kwargs, const char *format, const char *what) {
    static char *names[] = { "type", "function", NULL };
    PyObject *type, *function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &PyType_Type, &type, &function)) return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "%s: argument 'function': expected a callable, got %R", what, (PyObject *)Py_TYPE(function));
    if (PyDict_SetItem(dict, type, function) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_register_python_type(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_register(spyp.python_types, args, kwargs, "O!O:register_python_type", "register_python_type");
}

static PyObject *spyp_register_cursor_type(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_register(spyp.cursor_types, args, kwargs, "O!O:register_write_to_cursor_type", "register_write_to_cursor_type");
}

static PyMethodDef spyp_extension_functions[] = {
    { "register_python_type", SPYP_FUNC(spyp_register_python_type), METH_VARARGS | METH_KEYWORDS,
      "register_python_type(type, function): arguments of that class, or of one derived from it, are passed as function(value). "
      "It gives a number, list, dict, array, tensor or generator, or an object with get_this() and update_this(). As "
      "PYTHON_TYPES[type] = function. Register before the first call with such a value." },
    { "register_write_to_cursor_type", SPYP_FUNC(spyp_register_cursor_type), METH_VARARGS | METH_KEYWORDS,
      "register_write_to_cursor_type(type, function): what a cursor writes for values of that class, function(value): numbers, "
      "lists, dicts. A class may have a method to_cursor() instead." },
    { NULL, NULL, 0, NULL },
};

int spyp_extension_ready(PyObject *module) {
    spyp.python_types = PyDict_New();
    spyp.cursor_types = PyDict_New();
    if (!spyp.python_types || !spyp.cursor_types || PyModule_AddObjectRef(module, "PYTHON_TYPES", spyp.python_types) < 0) return -1;
    return PyModule_AddFunctions(module, spyp_extension_functions);
}
