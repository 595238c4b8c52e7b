// Converters: one for each kind of Python value that can be an argument.
#include "conversion/conversion.h"
#include "values/math_view.h"

#include <math.h>
#include <string.h>

// >>numbers

int spyp_int_error(PyObject *number) {
    PyObject *text = PyObject_Str(number); // Python raises an error for ints of thousands of digits
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%V fits no integer type of Slang", text, "an int of thousands of digits");
    Py_XDECREF(text);
    return -1;
}

static int spyp_convert_bool(spyp_call *call, PyObject *object, spy_arg *arg) {
    SPYP_UNUSED(call);
    *arg = spy_arg_bool(NULL, object == Py_True);
    return 0;
}

// Converts a Python int. Its dtype is the narrowest of int, int64 and uint64 that holds it; the library
// converts it to the parameter's type if it fits. A pointer takes its address as a UINT, because no address
// is small enough for an int.
static int spyp_convert_int(spyp_call *call, PyObject *object, spy_arg *arg) {
    int overflow = 0;
    long long n = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (SPYP_LIKELY(overflow == 0)) {
        if (n == -1 && PyErr_Occurred()) return -1;
        bool address = n > INT32_MAX && (call->global || spyp_function_is(call->function, SPYP_TRAIT_POINTERS));
        *arg = address ? spy_arg_u64(NULL, (uint64_t)n) : spy_arg_i64(NULL, n);
        arg->dtype = n >= INT32_MIN && n <= INT32_MAX ? SPY_DTYPE_INT32 : SPY_DTYPE_INT64;
        return 0;
    }
    unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) return spyp_int_error(object);
    *arg = spy_arg_u64(NULL, u);
    return 0;
}

// Converts a Python float. A generic parameter takes it as float; a double parameter gets all its digits.
static int spyp_convert_float(spyp_call *call, PyObject *object, spy_arg *arg) {
    double value = PyFloat_AsDouble(object);
    SPYP_UNUSED(call);
    if (value == -1 && PyErr_Occurred()) return -1;
    *arg = spy_arg_f64(NULL, value);
    arg->dtype = SPY_DTYPE_FLOAT32;
    return 0;
}

// Converts an object with __index__ or __float__, such as a number of another library.
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

// Converts an object that knows the address of its memory, for a pointer parameter. It has .device_address,
// or .data_ptr() as torch's tensors have.
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

// The numbers of a nested list, in row-major order. Each number is asked for its value once, because that may
// run code of the user, which may change the lists.
typedef struct spyp_listing {
    spy_shape shape;
    uint64_t *data; // `count` numbers of 8 bytes: float64 if `floats` is set, otherwise int64
    size_t count, room;
    bool floats, wide; // wide: no integer type holds all the integers, so they are stored as floats
    int64_t least;
    uint64_t most;
} spyp_listing;

static bool spyp_is_sequence(PyObject *object) {
    return PyList_Check(object) || PyTuple_Check(object);
}

// Converts the numbers that were collected so far to float64. All further ones are stored as float64, too.
static void spyp_listing_widen(spyp_listing *listing) {
    for (size_t i = 0; i < listing->count && !listing->floats && !listing->wide; i++) {
        double value = listing->least < 0 ? (double)(int64_t)listing->data[i] : (double)listing->data[i];
        memcpy(&listing->data[i], &value, sizeof value);
    }
}

static int spyp_listing_add(spyp_call *call, spyp_listing *listing, uint64_t bits) {
    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 32;
        uint64_t *data = (uint64_t *)spyp_arena_take(&call->arena, room * sizeof *data);
        if (!data) return -1;
        if (listing->count) memcpy(data, listing->data, listing->count * sizeof *data);
        listing->data = data;
        listing->room = room;
    }
    listing->data[listing->count++] = bits;
    return 0;
}

static int spyp_listing_float(spyp_call *call, spyp_listing *listing, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return spyp_listing_add(call, listing, bits);
}

static int spyp_listing_int(spyp_call *call, spyp_listing *listing, PyObject *object) {
    int overflow = 0;
    long long n = PyLong_AsLongLongAndOverflow(object, &overflow);
    unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : n > 0 ? (unsigned long long)n : 0;
    if (overflow < 0 || PyErr_Occurred()) return spyp_int_error(object);
    bool wide = (listing->most > INT64_MAX && !overflow && n < 0) || (overflow && listing->least < 0);
    if (wide) spyp_listing_widen(listing);
    listing->wide = listing->wide || wide;
    if (!overflow && n < listing->least) listing->least = n;
    if (u > listing->most) listing->most = u;
    if (listing->floats || listing->wide) return spyp_listing_float(call, listing, overflow ? (double)u : (double)n);
    return spyp_listing_add(call, listing, overflow ? (uint64_t)u : (uint64_t)n);
}

// Adds a number to the listing. It may be Python's or another library's, such as a numpy scalar.
static int spyp_listing_number(spyp_call *call, spyp_listing *listing, PyObject *object) {
    if (PyBool_Check(object) && !listing->floats && !listing->wide) return spyp_listing_add(call, listing, object == Py_True);
    if (PyLong_Check(object)) return spyp_listing_int(call, listing, object);
    double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) {
        PyObject *type, *error, *trace; // looking for attributes clears the exception
        bool missing = PyErr_ExceptionMatches(PyExc_TypeError);
        PyErr_Fetch(&type, &error, &trace);
        missing = missing && (spyp_is_array(object) || !PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__float__"));
        PyErr_Restore(type, error, trace);
        call->foreign = !missing;
        if (missing) PyErr_Format(PyExc_TypeError, "Unsupported type in a list: expected numbers, got %R", (PyObject *)Py_TYPE(object));
        return -1;
    }
    spyp_listing_widen(listing);
    listing->floats = true;
    return spyp_listing_float(call, listing, value);
}

static int spyp_listing_ragged(const spyp_listing *listing, uint32_t depth, Py_ssize_t n) {
    if (depth == listing->shape.rank)
        PyErr_Format(spyp.value_error, "Unsupported type: a ragged list: expected numbers in dimension %u, as at its beginning, got a list", depth - 1);
    else if (n < 0)
        PyErr_Format(spyp.value_error, "Unsupported type: a ragged list: expected lists in dimension %u, as at its beginning, got a number", depth - 1);
    else
        PyErr_Format(spyp.value_error, "Unsupported type: a ragged list: expected %lld items in dimension %u, as at its beginning, got %zd",
                     (long long)listing->shape.dims[depth], depth, n);
    return -1;
}

// Raises an error for a list with too many levels, which says how many it has by following the first items.
// Always returns -1.
static int spyp_listing_deep(spyp_call *call, PyObject *items, uint32_t depth) {
    PyObject *item = PyTuple_Size(items) ? Py_NewRef(PyTuple_GetItem(items, 0)) : NULL;
    if (!item || !spyp_is_sequence(item)) {
        PyErr_Format(spyp.value_error, "Unsupported type: expected a list of at most %d dimensions, got one of %u", SPY_MAX_RANK, depth + 1);
    } else if (spyp_arena_down(&call->arena) == 0) {
        PyObject *inner = spyp_list_items(item);
        if (inner) spyp_listing_deep(call, inner, depth + 1);
        Py_XDECREF(inner);
        spyp_arena_up(&call->arena);
    }
    Py_XDECREF(item);
    return -1;
}

static int spyp_listing_walk(spyp_call *call, spyp_listing *listing, PyObject *object, uint32_t depth);

// Adds the `n` items of a sequence to the listing. `items` is a tuple with a list's items, or a vector or a
// matrix.
static int spyp_listing_items(spyp_call *call, spyp_listing *listing, PyObject *items, Py_ssize_t n, uint32_t depth) {
    spy_shape *shape = &listing->shape;
    bool tuple = PyTuple_Check(items);
    if (depth == SPY_MAX_RANK) return tuple ? spyp_listing_deep(call, items, depth) : spyp_listing_ragged(listing, depth, n);
    if (depth == shape->rank && listing->count) return spyp_listing_ragged(listing, depth, n);
    if (depth == shape->rank) shape->dims[shape->rank++] = n;
    else if (shape->dims[depth] != n) return spyp_listing_ragged(listing, depth, n);
    int status = 0;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        PyObject *item = tuple ? Py_NewRef(PyTuple_GetItem(items, i)) : PySequence_GetItem(items, i);
        status = item ? spyp_listing_walk(call, listing, item, depth + 1) : -1;
        Py_XDECREF(item);
    }
    return status;
}

static int spyp_listing_walk(spyp_call *call, spyp_listing *listing, PyObject *object, uint32_t depth) {
    spyp_math_info info;
    if (PyFloat_Check(object) && depth == listing->shape.rank && listing->floats) return spyp_listing_float(call, listing, PyFloat_AsDouble(object));
    if (!spyp_is_sequence(object)) {
        if (spyp_math_view(object, &info) && info.rank) return spyp_listing_items(call, listing, object, (Py_ssize_t)info.dims[0], depth);
        return depth == listing->shape.rank ? spyp_listing_number(call, listing, object) : spyp_listing_ragged(listing, depth, -1);
    }
    PyObject *items = spyp_list_items(object);
    int status = items ? spyp_listing_items(call, listing, items, PyTuple_Size(items), depth) : -1;
    Py_XDECREF(items);
    return status;
}

// Raises an OverflowError that names the first number that does not fit into `dtype`. Always returns -1.
static int spyp_listing_misfit(const spyp_listing *listing, spy_dtype dtype) {
    size_t i = 0;
    uint64_t unused;
    while (i + 1 < listing->count && spy_convert_numbers(&unused, dtype, &listing->data[i], SPY_DTYPE_FLOAT64, 1) == SPY_OK) i++;
    (void)spy_take_error(NULL);
    PyObject *number = spyp_scalar_read(SPY_DTYPE_FLOAT64, &listing->data[i]);
    if (number) PyErr_Format(PyExc_OverflowError, "%R does not fit into %s", number, spy_dtype_name(dtype));
    Py_XDECREF(number);
    return -1;
}

// Converts a list of numbers as an array. `items` is a tuple of the list's items.
static int spyp_convert_numbers_of(spyp_call *call, PyObject *items, spy_arg *arg) {
    spyp_listing listing;
    memset(&listing, 0, sizeof listing);
    if (spyp_listing_items(call, &listing, items, PyTuple_Size(items), 0) < 0) return -1;
    if (listing.wide && !listing.floats) {
        PyErr_SetString(PyExc_OverflowError, "the list's numbers fit no integer type of Slang together");
        return -1;
    }
    spy_dtype held = listing.floats ? SPY_DTYPE_FLOAT64 : listing.most > (uint64_t)INT64_MAX ? SPY_DTYPE_UINT64 : SPY_DTYPE_INT64, dtype = held;
    if (listing.floats && !spyp_function_is(call->function, SPYP_TRAIT_DOUBLES)) dtype = SPY_DTYPE_FLOAT32;
    if (held == SPY_DTYPE_INT64 && listing.least >= INT32_MIN && listing.most <= INT32_MAX)
        dtype = SPY_DTYPE_INT32;
    // Slang takes the length of `float a[N]` from an array of floats only.
    const spy_type_info *open = listing.floats ? NULL : spyp_open_array(call);
    while (open && open->kind == SPY_TYPE_KIND_ARRAY) open = open->element;
    bool numbers = open && (open->kind == SPY_TYPE_KIND_SCALAR || open->kind == SPY_TYPE_KIND_VECTOR || open->kind == SPY_TYPE_KIND_MATRIX);
    if (numbers && open->dtype >= SPY_DTYPE_FLOAT16 && open->dtype <= SPY_DTYPE_FLOAT64) dtype = open->dtype;
    void *data = listing.data;
    if (dtype != held || !data) data = spyp_arena_take(&call->arena, listing.count * spy_dtype_size_bytes(dtype) + 1);
    if (!data) return -1;
    if (dtype != held && spy_convert_numbers(data, dtype, listing.data, held, listing.count) != SPY_OK) {
        (void)spy_take_error(NULL);
        return spyp_listing_misfit(&listing, dtype);
    }
    *arg = spy_arg_array(NULL, data, listing.shape, dtype);
    return 0;
}

// >>lists of dicts and of tensors

// Returns a list of the values that one field has in all dicts of a list, or NULL with an exception set.
static PyObject *spyp_column(PyObject *rows, PyObject *key, Py_ssize_t fields) {
    PyObject *column = PyList_New(0);
    for (Py_ssize_t i = 0; column && i < PyTuple_Size(rows); i++) {
        PyObject *row = PyTuple_GetItem(rows, i);
        PyObject *value = PyDict_Check(row) && PyDict_Size(row) == fields ? Py_XNewRef(PyDict_GetItemWithError(row, key)) : NULL;
        if (!value && !PyErr_Occurred())
            PyErr_Format(spyp.value_error, "expected a list of dicts with the same fields: item %zd is not like item 0, which has %R", i, key);
        if (!value || PyList_Append(column, value) < 0) Py_CLEAR(column);
        Py_XDECREF(value);
    }
    return column;
}

void spyp_drop_written(const spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_math_info info;
    bool number = arg->kind >= SPY_ARG_KIND_BOOL && arg->kind <= SPY_ARG_KIND_FLOAT;
    if (arg->direction != SPY_DIRECTION_DEFAULT || !(number || arg->kind == SPY_ARG_KIND_ARRAY)) return;
    if (call->mode != SPY_CALL_MODE_DEFAULT || !spyp_function_is(call->function, SPYP_TRAIT_CHANGES)) return;
    if (number || spyp_math_view(object, &info)) arg->direction = SPY_DIRECTION_DROP;
}

static int spyp_convert_dict(spyp_call *call, PyObject *given, spy_arg *arg);

// Converts a list of dicts as a dict of lists: the structs have one dimension.
static int spyp_convert_dicts(spyp_call *call, PyObject *rows, spy_arg *arg) {
    PyObject *columns = spyp_arena_kept(&call->arena, PyDict_New());
    PyObject *first = columns ? spyp_arena_kept(&call->arena, spyp_dict_items(PyTuple_GetItem(rows, 0), NULL)) : NULL;
    Py_ssize_t fields = first ? PyTuple_Size(first) / 2 : -1;
    int status = first ? 0 : -1;
    for (Py_ssize_t i = 0; i < fields && status == 0; i++) {
        PyObject *key = PyTuple_GetItem(first, 2 * i), *value = PyTuple_GetItem(first, 2 * i + 1);
        PyObject *column = spyp_column(rows, key, fields);
        if (column && PyUnicode_CompareWithASCIIString(key, "_type") == 0) {
            Py_ssize_t same = PySequence_Count(column, value);
            spyp_replace(&column, Py_NewRef(value));
            if (same >= 0 && same < PyTuple_Size(rows)) PyErr_SetString(spyp.value_error, "expected a list of dicts with the same '_type'");
        }
        status = column && !PyErr_Occurred() ? PyDict_SetItem(columns, key, column) : -1;
        Py_XDECREF(column);
    }
    return status == 0 ? spyp_convert_dict(call, columns, arg) : -1;
}

// Returns whether an item of a list is no number, and feeds one element of an array: a buffer, a texture, a
// sampler or a DifferentialPair.
static bool spyp_is_element(PyObject *item) {
    return PyObject_TypeCheck(item, spyp.tensor) || PyObject_TypeCheck(item, spyp.pair) ||
           PyObject_TypeCheck(item, spyp.texture) || PyObject_TypeCheck(item, spyp.sampler);
}

// Converts a list of buffers, textures, samplers or pairs as a struct without names of fields.
static int spyp_convert_tensors(spyp_call *call, PyObject *tensors, spy_arg *arg) {
    Py_ssize_t n = PyTuple_Size(tensors);
    spy_arg *items = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items);
    spy_args list = { items, 0 };
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < n; i++, list.count++) {
        if (spyp_convert(call, PyTuple_GetItem(tensors, i), NULL, &items[i]) == 0) continue;
        spyp_error_prefix(call, "item %zd: ", i);
        return -1;
    }
    *arg = spy_arg_struct(NULL, list);
    return 0;
}

// Returns whether an item of a list stands for the value that its get_this() returns.
static bool spyp_stands_for_this(PyObject *item) {
    if (PyFloat_Check(item) || PyLong_Check(item) || PyDict_Check(item) || PyType_Check(item)) return false;
    if (spyp_is_sequence(item) || spyp_is_element(item)) return false;
    return PyObject_HasAttr(item, spyp.s_get_this);
}

// Returns a list's items as a tuple, in which an item with get_this() is replaced by the value of get_this().
static PyObject *spyp_unpacked_items(spyp_call *call, PyObject *object) {
    PyObject *items = spyp_list_items(object), *unpacked = NULL;
    for (Py_ssize_t i = 0; items && i < PyTuple_Size(items); i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        if (!spyp_stands_for_this(item)) continue;
        if (!unpacked && !(unpacked = PySequence_List(items))) break;
        PyObject *value = spyp_call_method(item, spyp.s_get_this);
        if (!value) call->foreign = true;
        if (value && PyList_SetItem(unpacked, i, value) == 0) continue;
        Py_CLEAR(items);
    }
    if (items && unpacked) spyp_replace(&items, PyList_AsTuple(unpacked));
    Py_XDECREF(unpacked);
    if (PyErr_Occurred()) Py_CLEAR(items);
    return items;
}

static int spyp_convert_list(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *items = spyp_unpacked_items(call, object);
    PyObject *first = items && PyTuple_Size(items) ? PyTuple_GetItem(items, 0) : NULL;
    bool dicts = first && PyDict_Check(first), tensors = first && spyp_is_element(first);
    int structs = items ? spyp_convert_structs(call, object, items, arg) : -1;
    int status = structs             ? (structs < 0 ? -1 : 0)
                 : dicts || tensors ? spyp_arena_keep(&call->arena, items)
                                    : spyp_convert_numbers_of(call, items, arg);
    if (status == 0 && !structs && dicts) status = spyp_convert_dicts(call, items, arg);
    if (status == 0 && !structs && tensors) status = spyp_convert_tensors(call, items, arg);
    Py_XDECREF(items);
    return status;
}

// >>structs

void spyp_drop_changes(spy_arg *arg) {
    bool number = arg->kind >= SPY_ARG_KIND_BOOL && arg->kind <= SPY_ARG_KIND_FLOAT;
    bool host = number || arg->kind == SPY_ARG_KIND_ARRAY || arg->kind == SPY_ARG_KIND_DATA;
    if (host && arg->direction == SPY_DIRECTION_DEFAULT) arg->direction = SPY_DIRECTION_DROP;
}

static int spyp_convert_dict(spyp_call *call, PyObject *given, spy_arg *arg) {
    PyObject *items = spyp_arena_kept(&call->arena, spyp_dict_items(given, NULL)), *type = NULL;
    Py_ssize_t n = items ? PyTuple_Size(items) / 2 : 0;
    spy_arg *fields = items ? (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *fields) : NULL;
    spy_args list = { fields, 0 };
    if (!fields) return -1;
    bool changes = call->result || (call->function->function && spyp_function_is(call->function, SPYP_TRAIT_CHANGES));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PyTuple_GetItem(items, 2 * i + 1);
        const char *name = spyp_utf8(PyTuple_GetItem(items, 2 * i));
        if (!name) return -1;
        if (strcmp(name, "_type") == 0) {
            type = value;
            continue;
        }
        spyp_step step = { call->step, name };
        call->step = &step;
        int status = spyp_convert(call, value, name, &fields[list.count]);
        call->step = step.up;
        if (status < 0) {
            spyp_error_prefix(call, "field '%s': ", name);
            return -1;
        }
        if (changes) spyp_drop_changes(&fields[list.count]);
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
        if (t->read_only && !spyp_takes_pointers(call->function)) arg->direction = SPY_DIRECTION_IN;
        return 0;
    }
    PyErr_SetString(spyp.value_error, "the tensor belongs to another device");
    return -1;
}

static int spyp_convert_texture(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_texture *t = (spyp_texture *)object;
    bool sampled = t->sampler && PyObject_TypeCheck(t->sampler, spyp.sampler);
    *arg = sampled ? spy_arg_sampled_texture(NULL, t->texture, ((spyp_sampler *)t->sampler)->sampler)
                   : spy_arg_texture(NULL, t->texture);
    if (SPYP_LIKELY(t->device == call->function->module->device)) return 0;
    PyErr_SetString(spyp.value_error, "the texture belongs to another device");
    return -1;
}

static int spyp_convert_sampler(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_sampler *s = (spyp_sampler *)object;
    *arg = spy_arg_sampler(NULL, s->sampler);
    if (SPYP_LIKELY(s->device == call->function->module->device)) return 0;
    PyErr_SetString(spyp.value_error, "the sampler belongs to another device");
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
    if (info.rank) { // a vector or matrix is one value for every parameter
        *arg = spy_map_value(spy_arg_array(NULL, info.data, shape, info.dtype));
        return 0;
    }
    PyObject *number = spyp_scalar_read(info.dtype, info.data);
    if (!number) return -1;
    *arg = spy_arg_f64(NULL, PyFloat_AsDouble(number));
    arg->dtype = info.dtype;
    Py_DECREF(number);
    return 0;
}

// Converts an array of one number, such as a numpy scalar. The argument gets the array's type.
static int spyp_convert_array_scalar(const spyp_host_array *array, spy_arg *arg) {
    const void *p = array->data;
    PyObject *number = spyp_scalar_read(array->dtype, p);
    if (!number) return -1;
    switch (array->dtype) {
    case SPY_DTYPE_BOOL: *arg = spy_arg_bool(NULL, number == Py_True); break;
    case SPY_DTYPE_FLOAT16:
    case SPY_DTYPE_FLOAT32:
    case SPY_DTYPE_FLOAT64: *arg = spy_arg_f64(NULL, PyFloat_AsDouble(number)); break;
    case SPY_DTYPE_UINT64: *arg = spy_arg_u64(NULL, PyLong_AsUnsignedLongLong(number)); break;
    case SPY_DTYPE_UINT8:
    case SPY_DTYPE_UINT16:
    case SPY_DTYPE_UINT32: *arg = spy_arg_u64(NULL, PyLong_AsUnsignedLongLong(number)); break;
    default: *arg = spy_arg_i64(NULL, PyLong_AsLongLong(number)); break;
    }
    arg->dtype = array->dtype;
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

// Converts an array of host memory for a parameter that takes a tensor whole. The argument is a tensor with a copy of the array, which is
// copied back if the call may write it: a backward call writes the gradient of what the function reads.
static int spyp_convert_whole(spyp_call *call, PyObject *object, bool writes, spy_arg *arg) {
    PyObject *made = PyObject_CallMethod((PyObject *)spyp.tensor, "from_numpy", "OO", (PyObject *)call->function->module->device, object);
    PyObject *tensor = spyp_arena_kept(&call->arena, made);
    if (!tensor || spyp_convert_tensor(call, tensor, arg) < 0) return -1;
    if (!writes) return 0;
    PyObject *tensors = PyImport_ImportModule("slangpy.tensors");
    PyObject *back = spyp_arena_kept(&call->arena, tensors ? PyObject_CallMethod(tensors, "WriteBack", "OO", tensor, object) : NULL);
    spyp_part *part = back ? (spyp_part *)spyp_arena_take(&call->arena, sizeof *part) : NULL;
    Py_XDECREF(tensors);
    if (!part) return -1;
    memset(part, 0, sizeof *part);
    part->value = Py_None;
    return spyp_call_update(call, back, NULL, part);
}

static int spyp_convert_array(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_host_array array;
    bool writes;
    int found = spyp_foreign_convert(call, object, arg);
    if (SPYP_LIKELY(found)) return found < 0 ? -1 : 0;
    if (spyp_takes_tensor(call, &writes)) {
        if (call->gradient && call->mode == SPY_CALL_MODE_BACKWARD) writes = !writes;
        return spyp_convert_whole(call, object, writes, arg);
    }
    found = spyp_host_array_get(&call->arena, object, "array", &array);
    if (found == 0) PyErr_Format(spyp.type_error, "Unsupported type %R", (PyObject *)Py_TYPE(object));
    if (found <= 0) return -1;
    if (array.dtype == SPY_DTYPE_DEFAULT) return spyp_convert_records(call, &array, arg);
    if (array.shape.rank == 0 && !array.writable && !array.place) return spyp_convert_array_scalar(&array, arg);
    *arg = spy_arg_array(NULL, array.data, array.shape, array.dtype);
    int back = array.place ? spyp_array_write_back(call, &array) : 0;
    if (array.writable || back > 0) arg->direction = SPY_DIRECTION_ANY;
    return back < 0 ? -1 : 0;
}

void spyp_input_only(spy_arg *arg) {
    if (arg->direction == SPY_DIRECTION_ANY || arg->direction == SPY_DIRECTION_DROP) arg->direction = SPY_DIRECTION_DEFAULT;
    union {
        const spy_arg *in;
        spy_arg *out;
    } fields; // the fields lie in the arena, so they may be written
    fields.in = arg->kind == SPY_ARG_KIND_STRUCT || arg->kind == SPY_ARG_KIND_PAIR ? arg->value.fields : NULL;
    for (size_t i = 0; fields.in && i < arg->count; i++) spyp_input_only(&fields.out[i]);
}

// >>objects with get_this() and update_this()

static int spyp_convert_this(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *made = spyp_call_method(object, spyp.s_get_this), *value = spyp_arena_kept(&call->arena, made);
    if (!made) call->foreign = true;
    if (!value) return -1;
    if (call->mode == SPY_CALL_MODE_BACKWARD || !PyObject_HasAttr(object, spyp.s_update_this)) return spyp_convert(call, value, NULL, arg);
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    if (!part) return -1;
    if (!spyp_function_is(call->function, SPYP_TRAIT_CHANGES)) { // update_this() gets what get_this() gave
        memset(part, 0, sizeof *part);
        part->value = value;
        if (spyp_convert(call, value, NULL, arg) < 0) return -1;
    } else if (spyp_convert_part(call, value, arg, part) < 0) {
        return -1;
    }
    return spyp_call_update(call, object, NULL, part);
}

// >>the table

static const spyp_converter spyp_converter_table[] = {
    { "bool", spyp_convert_bool },     { "int", spyp_convert_int },      { "float", spyp_convert_float },
    { "list", spyp_convert_list },     { "struct", spyp_convert_dict },  { "tensor", spyp_convert_tensor },
    { "vector or matrix", spyp_convert_math }, { "array", spyp_convert_array }, { "object", spyp_convert_this },
    { "number", spyp_convert_number }, { "address", spyp_convert_address }, { "texture", spyp_convert_texture },
    { "sampler", spyp_convert_sampler },
};
enum { BOOL, INT, FLOAT, LIST, STRUCT, TENSOR, MATH, ARRAY, THIS, NUMBER, ADDRESS, TEXTURE, SAMPLER };

const spyp_converter *spyp_converter_of(PyObject *object) {
    spyp_math_info info;
    const spyp_converter *own;
    if ((own = spyp_extension_converter(object)) || PyErr_Occurred()) return own;
    if (PyBool_Check(object)) return &spyp_converter_table[BOOL];
    if (PyObject_TypeCheck(object, spyp.tensor)) return &spyp_converter_table[TENSOR];
    if (PyObject_TypeCheck(object, spyp.texture)) return &spyp_converter_table[TEXTURE];
    if (PyObject_TypeCheck(object, spyp.sampler)) return &spyp_converter_table[SAMPLER];
    if (spyp_math_view(object, &info)) return &spyp_converter_table[MATH];
    if ((own = spyp_values_converter(object))) return own;
    bool class_itself = PyType_Check(object); // an object that is a class has the methods of its instances as attributes
    if (!class_itself && PyObject_HasAttr(object, spyp.s_get_this)) return &spyp_converter_table[THIS];
    if (PyLong_Check(object)) return &spyp_converter_table[INT];
    if (PyFloat_Check(object)) return &spyp_converter_table[FLOAT];
    if (PyDict_Check(object)) return &spyp_converter_table[STRUCT];
    if (PyList_Check(object) || PyTuple_Check(object)) return &spyp_converter_table[LIST];
    if (PyBytes_Check(object)) { // bytes may be text, so the user must say which numbers they are
        PyErr_Format(spyp.type_error,
                     "Unsupported type %R: numpy.frombuffer(value, dtype) says which numbers its bytes are",
                     (PyObject *)Py_TYPE(object));
        return NULL;
    }
    if (spyp_is_array(object)) return &spyp_converter_table[ARRAY];
    if (!class_itself && (PyIndex_Check(object) || PyObject_HasAttrString(object, "__float__"))) return &spyp_converter_table[NUMBER];
    if (!class_itself && (PyObject_HasAttrString(object, "device_address") || PyObject_HasAttrString(object, "data_ptr")))
        return &spyp_converter_table[ADDRESS];
    PyErr_Format(spyp.type_error, "Unsupported type %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

// >>classes that users have registered

static int spyp_convert_extension(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *function = spyp_registered(spyp.python_types, object);
    PyObject *value = function              ? spyp_registered_call(function, object)
                      : PyErr_Occurred()    ? NULL
                                            : spyp_extension_value(object);
    // The class is no longer registered.
    if (!value && !PyErr_Occurred())
        PyErr_Format(spyp.type_error, "Unsupported type %R", (PyObject *)Py_TYPE(object));
    value = spyp_arena_kept(&call->arena, value);
    return value ? spyp_convert(call, value, NULL, arg) : -1;
}

const spyp_converter *spyp_extension_converter(PyObject *object) {
    static const spyp_converter converter = { "registered type", spyp_convert_extension };
    if (spyp_is_plain(object)) return NULL;
    PyObject *function = spyp_registered(spyp.python_types, object);
    if (!function && (PyErr_Occurred() || PyObject_HasAttr(object, spyp.s_get_this) || PyType_Check(object))) return NULL;
    if (!function) function = spyp_registered(spyp.cursor_types, object);
    bool known = function != NULL;
    Py_XDECREF(function);
    return known || (!PyErr_Occurred() && PyObject_HasAttr(object, spyp.s_to_cursor)) ? &converter : NULL;
}

// >>arrays whose elements are copied back

int spyp_array_write_back(spyp_call *call, const spyp_host_array *array) {
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    PyObject *back = part ? spyp_write_back_make(&call->arena, array) : NULL;
    if (!back) return -1;
    memset(part, 0, sizeof *part);
    part->value = Py_None;
    return spyp_call_update(call, back, NULL, part) < 0 ? -1 : 1;
}

// >>map()

// Applies the entries of a dict to a struct's fields by name; the entry "$type" is the struct's type.
static int spyp_map_fields(spyp_call *call, PyObject *map, spy_arg *arg) {
    union { // the fields lie in the arena, so they may be written
        const spy_arg *in;
        spy_arg *out;
    } fields;
    PyObject *items = spyp_arena_kept(&call->arena, spyp_dict_items(map, "map"));
    if (!items) return -1;
    fields.in = arg->value.fields;
    for (Py_ssize_t i = 0; i + 1 < PyTuple_Size(items); i += 2) {
        const char *name = spyp_utf8(PyTuple_GetItem(items, i));
        PyObject *entry = PyTuple_GetItem(items, i + 1);
        if (!name) return -1;
        bool type = strcmp(name, "$type") == 0 || strcmp(name, "_type") == 0;
        size_t k = 0;
        while (!type && k < arg->count && !(fields.in[k].name && strcmp(fields.in[k].name, name) == 0)) k++;
        if (!type && k == arg->count) {
            PyErr_Format(spyp.value_error, "map: the dict has no field '%s'", name);
            return -1;
        }
        if (spyp_apply_map(call, entry, type ? arg : &fields.out[k]) < 0) return -1;
    }
    return 0;
}

// Applies one entry of map() to an argument. The entry is a tuple of kernel dimensions, or a type, or, for a
// dict, a dict of such entries.
int spyp_apply_map(spyp_call *call, PyObject *map, spy_arg *arg) {
    bool dims = PyTuple_Check(map) || PyList_Check(map) || PyLong_Check(map);
    if (PyDict_Check(map) && arg->kind == SPY_ARG_KIND_STRUCT) return spyp_map_fields(call, map, arg);
    if (dims) {
        spy_shape shape;
        if (spyp_shape_parse(map, "map", &shape) < 0) return -1;
        spy_dims list;
        list.count = shape.rank;
        for (uint32_t i = 0; i < shape.rank; i++) list.dims[i] = shape.dims[i] < -128 || shape.dims[i] > 127 ? 127 : (int32_t)shape.dims[i];
        *arg = spy_vmap(*arg, list);
        return 0;
    }
    spyp_dtype dtype;
    if (spyp_dtype_parse(map, NULL, NULL, &dtype) < 0) return -1;
    const char *name = dtype.type ? dtype.type : spy_dtype_name(dtype.scalar);
    int kept = dtype.keeps ? spyp_arena_keep(&call->arena, dtype.keeps) : 0;
    Py_XDECREF(dtype.keeps);
    if (kept == 0) *arg = spy_vcast(*arg, name);
    return kept;
}
