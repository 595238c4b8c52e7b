// Converts values in C's layout to Python values and back.
#include "values/values.h"
#include "values/math_view.h"

#include <string.h>

// >>scalars

#define SPYP_READ(type, make)                                                                                 \
    do {                                                                                                      \
        type value;                                                                                           \
        memcpy(&value, data, sizeof value);                                                                   \
        return make;                                                                                          \
    } while (0)

PyObject *spyp_scalar_read(spy_dtype dtype, const void *data) {
    switch (dtype) {
    case SPY_DTYPE_BOOL: SPYP_READ(uint8_t, PyBool_FromLong(value));
    case SPY_DTYPE_INT8: SPYP_READ(int8_t, PyLong_FromLong(value));
    case SPY_DTYPE_UINT8: SPYP_READ(uint8_t, PyLong_FromLong(value));
    case SPY_DTYPE_INT16: SPYP_READ(int16_t, PyLong_FromLong(value));
    case SPY_DTYPE_UINT16: SPYP_READ(uint16_t, PyLong_FromLong(value));
    case SPY_DTYPE_INT32: SPYP_READ(int32_t, PyLong_FromLong(value));
    case SPY_DTYPE_UINT32: SPYP_READ(uint32_t, PyLong_FromUnsignedLong(value));
    case SPY_DTYPE_INT64: SPYP_READ(int64_t, PyLong_FromLongLong(value));
    case SPY_DTYPE_UINT64: SPYP_READ(uint64_t, PyLong_FromUnsignedLongLong(value));
    case SPY_DTYPE_FLOAT64: SPYP_READ(double, PyFloat_FromDouble(value));
    case SPY_DTYPE_FLOAT16: {
        double wide = 0;
        spy_convert_numbers(&wide, SPY_DTYPE_FLOAT64, data, SPY_DTYPE_FLOAT16, 1);
        return PyFloat_FromDouble(wide);
    }
    default: SPYP_READ(float, PyFloat_FromDouble((double)value));
    }
}

int spyp_scalar_write(spy_dtype dtype, PyObject *value, void *data) {
    bool whole = PyLong_Check(value) || PyIndex_Check(value);
    PyObject *index = whole ? PyNumber_Index(value) : NULL;
    double number = 0;
    long long n = 0;
    unsigned long long u = 0;
    int overflow = 0;
    if (whole && !index) return -1;
    if (index) {
        n = PyLong_AsLongLongAndOverflow(index, &overflow);
        if (overflow > 0) u = PyLong_AsUnsignedLongLong(index);
        Py_DECREF(index);
    } else {
        number = PyFloat_AsDouble(value);
    }
    bool fits = !PyErr_Occurred() && overflow >= 0;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
    PyErr_Clear();
    spy_status status = !fits      ? SPY_ERROR_OUT_OF_RANGE
                        : !whole   ? spy_convert_numbers(data, dtype, &number, SPY_DTYPE_FLOAT64, 1)
                        : overflow ? spy_convert_numbers(data, dtype, &u, SPY_DTYPE_UINT64, 1)
                                   : spy_convert_numbers(data, dtype, &n, SPY_DTYPE_INT64, 1);
    if (status == SPY_OK) return 0;
    if (fits) (void)spy_take_error(NULL);
    PyObject *text = PyObject_Repr(value); // Python raises an error for ints of thousands of digits
    if (!text) PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%V does not fit into %s", text, "an int of thousands of digits", spy_dtype_name(dtype));
    Py_XDECREF(text);
    return -1;
}

int spyp_number_write(spy_dtype dtype, PyObject *value, void *data, const char *what) {
    if (!PyFloat_Check(value) && !PyIndex_Check(value) && !PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__float__")) {
        PyErr_Format(PyExc_TypeError, "%s: expected a number for %s, got %R", what, spy_dtype_name(dtype), (PyObject *)Py_TYPE(value));
        return -1;
    }
    if (spyp_scalar_write(dtype, value, data) == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) spyp_error_behind("%s: ", what);
    return -1;
}

int spyp_convert_numbers(void *to, spy_dtype to_type, const void *from, spy_dtype from_type, size_t count, const char *what) {
    if (spy_convert_numbers(to, to_type, from, from_type, count) == SPY_OK) return 0;
    (void)spy_take_error(NULL);
    PyErr_Format(PyExc_OverflowError, "%s: expected numbers that fit into %s, got %s", what, spy_dtype_name(to_type), spy_dtype_name(from_type));
    return -1;
}

// >>values of any type

static PyObject *spyp_read_array(spyp_module *module, const spy_type_info *info, const char *data) {
    PyObject *list = PyList_New((Py_ssize_t)info->count);
    for (int64_t i = 0; list && i < info->count; i++) {
        PyObject *item = spyp_value_read(module, info->element, data + (size_t)i * info->element->size_bytes);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *spyp_read_struct(spyp_module *module, const spy_type_info *info, const char *data) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < info->field_count; i++) {
        PyObject *value = spyp_value_read(module, info->fields[i].type, data + info->fields[i].offset_bytes);
        if (!value || PyDict_SetItemString(dict, info->fields[i].name, value) < 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

// Returns nested lists of numbers for a vector or matrix that has no class of its own.
static PyObject *spyp_read_rows(spy_dtype dtype, uint32_t rows, uint32_t columns, const char *data) {
    size_t step = spy_dtype_size_bytes(dtype);
    PyObject *list = PyList_New((Py_ssize_t)(rows > 1 ? rows : columns));
    for (uint32_t i = 0; list && i < (rows > 1 ? rows : columns); i++) {
        PyObject *item = rows > 1 ? spyp_read_rows(dtype, 1, columns, data + i * columns * step) : spyp_scalar_read(dtype, data + i * step);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *spyp_read_plain(spy_dtype dtype, spy_type_kind kind, uint32_t rows, uint32_t columns, const void *data) {
    if (kind == SPY_TYPE_KIND_SCALAR) return spyp_scalar_read(dtype, data);
    PyObject *value = spyp_math_new(dtype, rows, columns, data);
    return value || PyErr_Occurred() ? value : spyp_read_rows(dtype, rows, columns, (const char *)data);
}

PyObject *spyp_value_read(spyp_module *module, const spy_type_info *info, const void *data) {
    switch (info->kind) {
    case SPY_TYPE_KIND_SCALAR:
    case SPY_TYPE_KIND_VECTOR:
    case SPY_TYPE_KIND_MATRIX:
        return spyp_read_plain(info->dtype, info->kind, info->rows, info->columns, data);
    case SPY_TYPE_KIND_ENUM: return spyp_scalar_read(info->dtype, data);
    case SPY_TYPE_KIND_ARRAY: return spyp_read_array(module, info, (const char *)data);
    case SPY_TYPE_KIND_STRUCT: return spyp_read_struct(module, info, (const char *)data);
    case SPY_TYPE_KIND_HANDLE:
    case SPY_TYPE_KIND_POINTER: return spyp_scalar_read(SPY_DTYPE_UINT64, data);
    default: return PyErr_Format(spyp.error, "a value of %s has no form in Python", info->name);
    }
}

// Returns a vector of numbers of 8 or 16 bits in the class of 32 bits, which can do all that vectors can: an int8_t3 is an int3, a
// half3 a float3.
static PyObject *spyp_read_wide(spy_dtype dtype, uint32_t columns, const void *data) {
    bool real = dtype == SPY_DTYPE_FLOAT16, natural = dtype == SPY_DTYPE_UINT8 || dtype == SPY_DTYPE_UINT16;
    spy_dtype wide = real ? SPY_DTYPE_FLOAT32 : natural ? SPY_DTYPE_UINT32 : SPY_DTYPE_INT32;
    uint64_t numbers[2]; // 4 numbers of 32 bits
    spy_convert_numbers(numbers, wide, data, dtype, columns);
    return spyp_math_new(wide, 1, columns, numbers);
}

// Whether a type of one component is a vector, as float1 is, and no scalar.
static bool spyp_names_vector(const char *type) {
    size_t size = strlen(type);
    return size && (type[size - 1] == '1' || strncmp(type, "vector<", 7) == 0);
}

PyObject *spyp_value_from(spyp_module *module, const spy_result *result) {
    spy_dtype dtype = result->dtype;
    bool vector = dtype != SPY_DTYPE_DEFAULT && result->rows == 1 && (result->columns > 1 || spyp_names_vector(result->type));
    if (dtype != SPY_DTYPE_DEFAULT && result->rows * result->columns == 1 && !vector) return spyp_scalar_read(dtype, result->data);
    if (vector && dtype != SPY_DTYPE_BOOL && spy_dtype_size_bytes(dtype) < 4) return spyp_read_wide(dtype, result->columns, result->data);
    if (dtype != SPY_DTYPE_DEFAULT)
        return spyp_read_plain(result->dtype, result->rows > 1 ? SPY_TYPE_KIND_MATRIX : SPY_TYPE_KIND_VECTOR, result->rows, result->columns, result->data);
    if (spyp_enter(module->device, "result") < 0) return NULL;
    const spy_type_info *info = spy_reflect_type(module->module, result->type);
    if (!info) spyp_raise(module->device);
    spyp_leave(module->device);
    return info ? spyp_value_read(module, info, result->data) : NULL;
}

// >>Python values to C's layout

static int spyp_write_items(spyp_module *module, const spy_type_info *info, PyObject *given, char *data, int64_t count, size_t step,
                            const spy_type_info *element, spy_dtype scalar, uint32_t columns, const char *what) {
    // A list becomes a tuple; other values stay as they are.
    PyObject *value = PyList_Check(given) ? spyp_list_items(given) : Py_NewRef(given);
    int status = value ? 0 : -1;
    Py_ssize_t n = value ? PySequence_Size(value) : -1;
    if (value && n != count) {
        PyErr_Clear();
        PyErr_Format(spyp.value_error, "%s: expected %lld values for %s, got %R", what, (long long)count, info->name, given);
        status = -1;
    }
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        status = !item     ? -1
                 : element ? spyp_value_write(module, element, item, data + (size_t)i * step, what)
                 : columns ? spyp_write_items(module, info, item, data + (size_t)i * step, columns, spy_dtype_size_bytes(scalar), NULL, scalar, 0, what)
                           : spyp_number_write(scalar, item, data + (size_t)i * step, what);
        Py_XDECREF(item);
    }
    Py_XDECREF(value);
    return status;
}

// Raises the error for a dict that has all fields and more. `items` are its keys and values. Always returns
// -1.
static int spyp_too_many_fields(const spy_type_info *info, PyObject *items, const char *what) {
    Py_ssize_t n = PyTuple_Size(items) / 2;
    PyObject *extra = NULL;
    for (Py_ssize_t i = 0; !extra && i < n; i++) {
        PyObject *key = PyTuple_GetItem(items, 2 * i);
        bool known = PyUnicode_CompareWithASCIIString(key, "_type") == 0;
        for (uint32_t f = 0; !known && f < info->field_count; f++) known = PyUnicode_CompareWithASCIIString(key, info->fields[f].name) == 0;
        if (!known) extra = key;
    }
    PyErr_Format(PyExc_KeyError, "%s: %s has %u fields, got %zd; it has no field %R", what, info->name, info->field_count, n, extra ? extra : Py_None);
    return -1;
}

static int spyp_write_struct(spyp_module *module, const spy_type_info *info, PyObject *value, char *data, const char *what) {
    if (!PyDict_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a dict for %s, got %R", what, info->name, (PyObject *)Py_TYPE(value));
        return -1;
    }
    PyObject *items = spyp_dict_items(value, what);
    Py_ssize_t n = items ? PyTuple_Size(items) / 2 : 0;
    int status = items ? 0 : -1;
    for (uint32_t i = 0; i < info->field_count && status == 0; i++) {
        PyObject *field = spyp_item_named(items, info->fields[i].name);
        if (field) {
            status = spyp_value_write(module, info->fields[i].type, field, data + info->fields[i].offset_bytes, what);
        } else {
            PyErr_Format(PyExc_KeyError, "%s: field '%s' of %s not specified", what, info->fields[i].name, info->name);
            status = -1;
        }
    }
    if (status == 0 && n != (Py_ssize_t)info->field_count + (spyp_item_named(items, "_type") != NULL)) {
        status = spyp_too_many_fields(info, items, what);
    }
    Py_XDECREF(items);
    return status;
}

// Writes a pointer: an address as an int, or that of the first element of a Tensor or Buffer. Call it inside the
// device.
static int spyp_write_pointer(spyp_module *module, const spy_type_info *info, PyObject *value, void *data, const char *what) {
    if (!PyObject_TypeCheck(value, spyp.tensor)) {
        if (PyLong_Check(value) && !PyBool_Check(value)) return spyp_number_write(SPY_DTYPE_UINT64, value, data, what);
        PyErr_Format(PyExc_TypeError, "%s: expected an address, a Buffer or a Tensor for %s, got %R", what, info->name, (PyObject *)Py_TYPE(value));
        return -1;
    }
    spyp_tensor *t = (spyp_tensor *)value;
    if (t->device != module->device) {
        PyErr_Format(spyp.value_error, "%s: a Tensor for %s belongs to another device", what, info->name);
        return -1;
    }
    uint64_t address = spy_tensor_address(t->tensor);
    if (!address) spyp_raise(t->device);
    memcpy(data, &address, sizeof address);
    return address ? 0 : -1;
}

int spyp_value_write(spyp_module *module, const spy_type_info *info, PyObject *value, void *data, const char *what) {
    size_t scalar = spy_dtype_size_bytes(info->dtype);
    PyObject *other = spyp_extension_value(value); // set if the value's class is registered or has to_cursor()
    if (other || PyErr_Occurred()) {
        int status = other && Py_EnterRecursiveCall(" in a value for a cursor") == 0 ? 0 : -1;
        if (status == 0) {
            status = spyp_value_write(module, info, other, data, what);
            Py_LeaveRecursiveCall();
        }
        Py_XDECREF(other);
        return status;
    }
    switch (info->kind) {
    case SPY_TYPE_KIND_ENUM:
    case SPY_TYPE_KIND_SCALAR: return spyp_number_write(info->dtype, value, data, what);
    case SPY_TYPE_KIND_VECTOR: return spyp_write_items(module, info, value, (char *)data, info->columns, scalar, NULL, info->dtype, 0, what);
    case SPY_TYPE_KIND_MATRIX:
        return spyp_write_items(module, info, value, (char *)data, info->rows, scalar * info->columns, NULL, info->dtype, info->columns, what);
    case SPY_TYPE_KIND_ARRAY:
        return spyp_write_items(module, info, value, (char *)data, info->count, info->element->size_bytes, info->element, SPY_DTYPE_FLOAT32, 0, what);
    case SPY_TYPE_KIND_STRUCT: return spyp_write_struct(module, info, value, (char *)data, what);
    case SPY_TYPE_KIND_HANDLE: return spyp_number_write(SPY_DTYPE_UINT64, value, data, what);
    case SPY_TYPE_KIND_POINTER: return spyp_write_pointer(module, info, value, data, what);
    default: PyErr_Format(spyp.error, "%s: a value of %s cannot be given from Python", what, info->name); return -1;
    }
}
