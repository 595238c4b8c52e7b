// Converters: one for each kind of Python value that can be an argument.
#include "spyp_math.h"

#include <math.h>
#include <string.h>

// >>numbers

static int spyp_convert_bool(spyp_call *call, PyObject *object, spy_arg *arg) {
    SPYP_UNUSED(call);
    *arg = spy_arg_bool(NULL, object == Py_True);
    return 0;
}

// The dtype of a Python int is the narrowest of int, int64 and uint64: parameters convert what fits. Pointers take an address as
// a UINT; none is so small that it is an int.
static int spyp_convert_int(spyp_call *call, PyObject *object, spy_arg *arg) {
    int overflow = 0;
    long long n = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (SPYP_LIKELY(overflow == 0)) {
        if (n == -1 && PyErr_Occurred()) return -1;
        bool address = n > INT32_MAX && spyp_function_is(call->function, SPYP_TRAIT_POINTERS);
        *arg = address ? spy_arg_u64(NULL, (uint64_t)n) : spy_arg_i64(NULL, n);
        arg->dtype = n >= INT32_MIN && n <= INT32_MAX ? SPY_INT32 : SPY_INT64;
        return 0;
    }
    unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%S fits no integer type of Slang", object);
        return -1;
    }
    *arg = spy_arg_u64(NULL, u);
    return 0;
}

// A generic parameter takes it as float; a double one gets all its digits.
static int spyp_convert_float(spyp_call *call, PyObject *object, spy_arg *arg) {
    double value = PyFloat_AsDouble(object);
    SPYP_UNUSED(call);
    if (value == -1 && PyErr_Occurred()) return -1;
    *arg = spy_arg_f64(NULL, value);
    arg->dtype = SPY_FLOAT32;
    return 0;
}

// What has __index__ or __float__: numbers of other libraries.
static int spyp_convert_number(spyp_call *call, PyObject *object, spy_arg *arg) {
    bool whole = PyIndex_Check(object);
    PyObject *number = whole ? PyNumber_Index(object) : PyNumber_Float(object);
    if (!number) {
        call->foreign = true;
        return -1;
    }
    int status = whole ? spyp_convert_int(call, number, arg) : spyp_convert_float(call, number, arg);
    Py_DECREF(number);
    return status;
}

// What knows where its memory is, for a pointer: .device_address, or .data_ptr() as torch has it.
static int spyp_convert_address(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *address = PyObject_GetAttrString(object, PyObject_HasAttrString(object, "device_address") ? "device_address" : "data_ptr");
    if (address && PyCallable_Check(address)) spyp_replace(&address, PyObject_CallNoArgs(address));
    if (!address) call->foreign = true;
    int status = address ? 0 : -1;
    unsigned long long number = address && PyLong_Check(address) ? PyLong_AsUnsignedLongLong(address) : 0;
    if (address && (!PyLong_Check(address) || PyErr_Occurred())) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected an address of 64 bits from %R, got %R", (PyObject *)Py_TYPE(object), address);
        status = -1;
    }
    Py_XDECREF(address);
    *arg = spy_arg_u64(NULL, number);
    return status;
}

// >>lists: numbers as a host array

typedef struct spyp_listing {
    spy_shape shape;
    bool floats;
    bool numbers; // a number was met: its depth is the rank
    int64_t least;
    uint64_t most;
    PyObject *odd; // borrowed: what is no number
} spyp_listing;

static bool spyp_is_sequence(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object);
}

// Finds sizes and range of a nested list. false: ragged, or not all numbers (listing->odd).
static bool spyp_list_measure(PyObject *object, uint32_t depth, spyp_listing *listing) {
    spyp_math_info info;
    bool sequence = spyp_is_sequence(object), value = !sequence && spyp_math_view(object, &info) && info.rank;
    if (sequence || value) {
        Py_ssize_t n = value ? (Py_ssize_t)info.dims[0] : PySequence_Size(object);
        if (depth == SPY_MAX_RANK) return false;
        if (depth == listing->shape.rank && listing->numbers) return false;
        if (depth == listing->shape.rank) listing->shape.dims[listing->shape.rank++] = n;
        else if (listing->shape.dims[depth] != n) return false;
        for (Py_ssize_t i = 0; i < n; i++) {
            PyObject *item = PySequence_GetItem(object, i);
            bool good = item && spyp_list_measure(item, depth + 1, listing);
            Py_XDECREF(item); // the sequence holds it, or it is a number
            if (!good) return false;
        }
        return true;
    }
    if (depth != listing->shape.rank) return false;
    listing->numbers = true;
    if (PyFloat_Check(object)) {
        listing->floats = true;
        return true;
    }
    if (PyBool_Check(object)) return true;
    if (PyLong_Check(object)) {
        int overflow = 0;
        long long n = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow < 0) return false;
        unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : n > 0 ? (unsigned long long)n : 0;
        if (PyErr_Occurred()) return false;
        if (!overflow && n < listing->least) listing->least = n;
        if (u > listing->most) listing->most = u;
        return true;
    }
    double number = PyFloat_AsDouble(object); // numpy scalars and their like
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        listing->odd = object;
        return false;
    }
    listing->floats = true;
    return true;
}

static void *spyp_list_fill(PyObject *object, spy_dtype dtype, void *at) {
    spyp_math_info info;
    if (spyp_is_sequence(object) || (spyp_math_view(object, &info) && info.rank)) {
        Py_ssize_t n = PySequence_Size(object);
        for (Py_ssize_t i = 0; i < n && at; i++) {
            PyObject *item = PySequence_GetItem(object, i);
            at = item ? spyp_list_fill(item, dtype, at) : NULL;
            Py_XDECREF(item);
        }
        return at;
    }
    if (spyp_scalar_write(dtype, object, at) < 0) return NULL;
    return (char *)at + spy_dtype_size_bytes(dtype);
}

static int spyp_convert_dict(spyp_call *call, PyObject *given, spy_arg *arg);

// The values of one field in all dicts of a list, as a list; NULL with an error.
static PyObject *spyp_column(PyObject *rows, Py_ssize_t n, PyObject *key, Py_ssize_t fields) {
    PyObject *column = PyList_New(0);
    for (Py_ssize_t i = 0; column && i < n; i++) {
        PyObject *row = PySequence_GetItem(rows, i);
        PyObject *value = row && PyDict_Check(row) && PyDict_Size(row) == fields ? PyDict_GetItemWithError(row, key) : NULL;
        if (!value && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "expected a list of dicts with the same fields: item %zd is not like item 0, which has %R", i, key);
        if (!value || PyList_Append(column, value) < 0) Py_CLEAR(column);
        Py_XDECREF(row);
    }
    return column;
}

// A list of dicts is a dict of lists: one dimension of structs.
static int spyp_convert_dicts(spyp_call *call, PyObject *rows, PyObject *first, spy_arg *arg) {
    PyObject *columns = PyDict_New(), *key, *value;
    Py_ssize_t at = 0, n = PySequence_Size(rows), fields = PyDict_Size(first);
    int status = columns ? spyp_arena_keep(&call->arena, columns) : -1;
    while (status == 0 && PyDict_Next(first, &at, &key, &value)) {
        PyObject *column = spyp_column(rows, n, key, fields);
        if (column && PyUnicode_CompareWithASCIIString(key, "_type") == 0) {
            Py_ssize_t same = PySequence_Count(column, value);
            spyp_replace(&column, Py_NewRef(value));
            if (same >= 0 && same < n) PyErr_SetString(PyExc_ValueError, "expected a list of dicts with the same '_type'");
        }
        status = column && !PyErr_Occurred() ? PyDict_SetItem(columns, key, column) : -1;
        Py_XDECREF(column);
    }
    Py_XDECREF(columns);
    return status == 0 ? spyp_convert_dict(call, columns, arg) : -1;
}

// A list of tensors is a struct without names: the elements of an array of buffers.
static int spyp_convert_tensors(spyp_call *call, PyObject *given, spy_arg *arg) {
    PyObject *object = PySequence_Tuple(given); // other code may change the list meanwhile
    int kept = object ? spyp_arena_keep(&call->arena, object) : -1;
    Py_XDECREF(object);
    if (kept < 0) return -1;
    Py_ssize_t n = PyTuple_Size(object);
    spy_arg *items = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items);
    spy_args list = { items, 0 };
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < n; i++, list.count++) {
        if (spyp_convert(call, PyTuple_GetItem(object, i), NULL, &items[i]) == 0) continue;
        spyp_error_prefix(call, "item %zd: ", i);
        return -1;
    }
    *arg = spy_arg_struct(NULL, list);
    return 0;
}

static int spyp_convert_list(spyp_call *call, PyObject *object, spy_arg *arg) {
    int structs = spyp_convert_structs(call, object, arg);
    if (structs) return structs < 0 ? -1 : 0;
    spyp_listing listing;
    PyObject *first = PySequence_Size(object) > 0 ? PySequence_GetItem(object, 0) : NULL;
    if (first && PyDict_Check(first)) {
        int status = spyp_convert_dicts(call, object, first, arg);
        Py_DECREF(first);
        return status;
    }
    bool tensors = first && PyObject_TypeCheck(first, spyp.tensor);
    Py_XDECREF(first);
    if (tensors) return spyp_convert_tensors(call, object, arg);
    memset(&listing, 0, sizeof listing);
    if (!spyp_list_measure(object, 0, &listing)) {
        if (PyErr_Occurred()) return -1;
        if (listing.odd)
            PyErr_Format(PyExc_TypeError, "Unsupported type in a list: expected numbers, got %R", (PyObject *)Py_TYPE(listing.odd));
        else
            PyErr_SetString(PyExc_ValueError, "Unsupported type: expected a list of numbers, or of lists of one length");
        return -1;
    }
    spy_dtype dtype = listing.floats                                             ? SPY_FLOAT32
                      : listing.least < 0 && listing.most > (uint64_t)INT64_MAX  ? SPY_DTYPE_DEFAULT
                      : listing.most > (uint64_t)INT64_MAX                       ? SPY_UINT64
                      : listing.least < INT32_MIN || listing.most > INT32_MAX    ? SPY_INT64
                                                                                 : SPY_INT32;
    if (dtype == SPY_FLOAT32 && spyp_function_is(call->function, SPYP_TRAIT_DOUBLES)) dtype = SPY_FLOAT64;
    if (dtype == SPY_DTYPE_DEFAULT) {
        PyErr_SetString(PyExc_OverflowError, "the list's numbers fit no integer type of Slang together");
        return -1;
    }
    size_t count = 1;
    for (uint32_t i = 0; i < listing.shape.rank; i++) count *= (size_t)listing.shape.dims[i];
    void *data = spyp_arena_take(&call->arena, count * spy_dtype_size_bytes(dtype) + 1);
    if (!data || !spyp_list_fill(object, dtype, data)) return -1;
    *arg = spy_arg_array(NULL, dtype, listing.shape, data);
    return 0;
}

// >>structs

const char *spyp_field_name(PyObject *key) {
    if (PyUnicode_Check(key)) return spyp_utf8(key);
    PyErr_Format(PyExc_TypeError, "expected field names, got the key %R", key);
    return NULL;
}

static int spyp_convert_dict(spyp_call *call, PyObject *given, spy_arg *arg) {
    PyObject *object = PyDict_Copy(given), *key, *value; // other code may change the dict meanwhile
    int kept = object ? spyp_arena_keep(&call->arena, object) : -1;
    Py_XDECREF(object);
    if (kept < 0) return -1;
    PyObject *type = PyDict_GetItemWithError(object, spyp.s_type);
    Py_ssize_t at = 0, n = PyDict_Size(object);
    if (PyErr_Occurred()) return -1;
    spy_arg *fields = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *fields);
    spy_args list = { fields, 0 };
    if (!fields) return -1;
    while (PyDict_Next(object, &at, &key, &value)) {
        const char *name = spyp_field_name(key);
        if (!name) return -1;
        if (value == type && strcmp(name, "_type") == 0) continue;
        spyp_step step = { call->step, name };
        call->step = &step;
        int status = spyp_convert(call, value, name, &fields[list.count]);
        call->step = step.up;
        if (status < 0) {
            spyp_error_prefix(call, "field '%s': ", name);
            return -1;
        }
        list.count++;
    }
    *arg = spy_arg_struct(NULL, list);
    return type ? spyp_apply_map(call, type, arg) : 0;
}

// >>tensors, arrays, values

static int spyp_convert_tensor(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_tensor *t = (spyp_tensor *)object;
    if (SPYP_LIKELY(t->device == call->function->module->device)) {
        *arg = spy_arg_tensor(NULL, t->tensor);
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "the tensor belongs to another device");
    return -1;
}

static int spyp_convert_math(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_math_info info;
    spy_shape shape;
    SPYP_UNUSED(call);
    if (!spyp_math_view(object, &info)) return -1;
    shape.rank = info.rank;
    shape.dims[0] = info.dims[0];
    shape.dims[1] = info.dims[1];
    if (info.rank) { // one value, whatever the parameter
        *arg = spy_map_value(spy_arg_array(NULL, info.dtype, shape, info.data));
        return 0;
    }
    PyObject *number = spyp_scalar_read(info.dtype, info.data);
    if (!number) return -1;
    *arg = spy_arg_f64(NULL, PyFloat_AsDouble(number));
    arg->dtype = info.dtype;
    Py_DECREF(number);
    return 0;
}

// A scalar of numpy's keeps its type.
static int spyp_convert_array_scalar(const spyp_host_array *array, spy_arg *arg) {
    const void *p = array->data;
    PyObject *number = spyp_scalar_read(array->dtype, p);
    if (!number) return -1;
    switch (array->dtype) {
    case SPY_BOOL: *arg = spy_arg_bool(NULL, number == Py_True); break;
    case SPY_FLOAT16:
    case SPY_FLOAT32:
    case SPY_FLOAT64: *arg = spy_arg_f64(NULL, PyFloat_AsDouble(number)); break;
    case SPY_UINT64: *arg = spy_arg_u64(NULL, PyLong_AsUnsignedLongLong(number)); break;
    case SPY_UINT8:
    case SPY_UINT16:
    case SPY_UINT32: *arg = spy_arg_u64(NULL, PyLong_AsUnsignedLongLong(number)); break;
    default: *arg = spy_arg_i64(NULL, PyLong_AsLongLong(number)); break;
    }
    arg->dtype = array->dtype;
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int spyp_convert_array(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_host_array array;
    int found = spyp_foreign_convert(call, object, arg);
    if (SPYP_LIKELY(found)) return found < 0 ? -1 : 0;
    found = spyp_host_array_get(&call->arena, object, "array", &array);
    if (found == 0) PyErr_Format(PyExc_TypeError, "Unsupported type %R", (PyObject *)Py_TYPE(object));
    if (found <= 0) return -1;
    if (array.dtype == SPY_DTYPE_DEFAULT) return spyp_convert_records(call, &array, arg);
    if (array.shape.rank == 0 && !array.writable && !array.place) return spyp_convert_array_scalar(&array, arg);
    *arg = spy_arg_array(NULL, array.dtype, array.shape, array.data);
    int back = array.place ? spyp_array_write_back(call, &array) : 0;
    if (array.writable || back > 0) arg->direction = SPY_DIRECTION_ANY;
    return back < 0 ? -1 : 0;
}

void spyp_input_only(spy_arg *arg) {
    if (arg->direction == SPY_DIRECTION_ANY) arg->direction = SPY_DIRECTION_DEFAULT;
    union { const spy_arg *in; spy_arg *out; } fields; // they lie in our arena
    fields.in = arg->kind == SPY_ARG_STRUCT || arg->kind == SPY_ARG_PAIR ? arg->value.fields : NULL;
    for (size_t i = 0; fields.in && i < arg->count; i++) spyp_input_only(&fields.out[i]);
}

// >>objects with get_this() and update_this()

static int spyp_convert_this(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *value = spyp_call_method(object, spyp.s_get_this);
    int status = value ? spyp_arena_keep(&call->arena, value) : -1;
    if (!value) call->foreign = true;
    Py_XDECREF(value);
    if (status < 0) return -1;
    if (call->mode == SPY_CALL_BACKWARD || !spyp_function_is(call->function, SPYP_TRAIT_CHANGES) ||
        !PyObject_HasAttr(object, spyp.s_update_this))
        return spyp_convert(call, value, NULL, arg);
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    if (!part || spyp_convert_part(call, value, arg, part) < 0) return -1;
    return spyp_call_update(call, object, NULL, part);
}

// >>the table

static const spyp_converter spyp_converter_table[] = {
    { "bool", spyp_convert_bool },     { "int", spyp_convert_int },      { "float", spyp_convert_float },
    { "list", spyp_convert_list },     { "struct", spyp_convert_dict },  { "tensor", spyp_convert_tensor },
    { "vector or matrix", spyp_convert_math }, { "array", spyp_convert_array }, { "object", spyp_convert_this },
    { "number", spyp_convert_number }, { "address", spyp_convert_address },
};
enum { BOOL, INT, FLOAT, LIST, STRUCT, TENSOR, MATH, ARRAY, THIS, NUMBER, ADDRESS };

const spyp_converter *spyp_converter_of(PyObject *object) {
    spyp_math_info info;
    const spyp_converter *own;
    if ((own = spyp_extension_converter(object)) || PyErr_Occurred()) return own;
    if (PyBool_Check(object)) return &spyp_converter_table[BOOL];
    if (PyObject_TypeCheck(object, spyp.tensor)) return &spyp_converter_table[TENSOR];
    if (spyp_math_view(object, &info)) return &spyp_converter_table[MATH];
    if ((own = spyp_values_converter(object))) return own;
    bool class_itself = PyType_Check(object); // has its instances' attributes
    if (!class_itself && PyObject_HasAttr(object, spyp.s_get_this)) return &spyp_converter_table[THIS];
    if (PyLong_Check(object)) return &spyp_converter_table[INT];
    if (PyFloat_Check(object)) return &spyp_converter_table[FLOAT];
    if (PyDict_Check(object)) return &spyp_converter_table[STRUCT];
    if (PyList_Check(object) || PyTuple_Check(object)) return &spyp_converter_table[LIST];
    if (spyp_is_array(object)) return &spyp_converter_table[ARRAY];
    if (!class_itself && (PyIndex_Check(object) || PyObject_HasAttrString(object, "__float__"))) return &spyp_converter_table[NUMBER];
    if (!class_itself && (PyObject_HasAttrString(object, "device_address") || PyObject_HasAttrString(object, "data_ptr")))
        return &spyp_converter_table[ADDRESS];
    PyErr_Format(PyExc_TypeError, "Unsupported type %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

