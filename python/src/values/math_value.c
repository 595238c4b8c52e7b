// The table of value types, their components in memory, and how Python objects become components.
#include "values/math_value.h"
#include <math.h>

// >>kinds

#define SPYP_MATH_VECTORS(name, dtype)                                                                       \
    { name "1", SPYP_MATH_VECTOR, dtype, 1, 1, NULL }, { name "2", SPYP_MATH_VECTOR, dtype, 1, 2, NULL },    \
        { name "3", SPYP_MATH_VECTOR, dtype, 1, 3, NULL }, {                                                 \
        name "4", SPYP_MATH_VECTOR, dtype, 1, 4, NULL                                                        \
    }
#define SPYP_MATH_MATRICES(name, rows)                                                                       \
    { name "x2", SPYP_MATH_MATRIX, SPY_DTYPE_FLOAT32, rows, 2, NULL },                                       \
        { name "x3", SPYP_MATH_MATRIX, SPY_DTYPE_FLOAT32, rows, 3, NULL }, {                                 \
        name "x4", SPYP_MATH_MATRIX, SPY_DTYPE_FLOAT32, rows, 4, NULL                                        \
    }

spyp_math_kind spyp_math_kinds[] = {
    SPYP_MATH_VECTORS("bool", SPY_DTYPE_BOOL),
    SPYP_MATH_VECTORS("int", SPY_DTYPE_INT32),
    SPYP_MATH_VECTORS("uint", SPY_DTYPE_UINT32),
    SPYP_MATH_VECTORS("float", SPY_DTYPE_FLOAT32),
    SPYP_MATH_VECTORS("float16_t", SPY_DTYPE_FLOAT16),
    SPYP_MATH_VECTORS("double", SPY_DTYPE_FLOAT64),
    SPYP_MATH_MATRICES("float2", 2),
    SPYP_MATH_MATRICES("float3", 3),
    SPYP_MATH_MATRICES("float4", 4),
    { "float16_t", SPYP_MATH_SCALAR, SPY_DTYPE_FLOAT16, 0, 0, NULL },
    { "quatf", SPYP_MATH_QUATERNION, SPY_DTYPE_FLOAT32, 1, 4, NULL },
    { NULL, SPYP_MATH_SCALAR, SPY_DTYPE_DEFAULT, 0, 0, NULL },
};

// A hash table of type pointers with open addressing. About 30 of its 256 entries are used, so a look-up
// takes one or two comparisons.
enum { SPYP_MATH_PLACES = 256 };
static struct {
    PyTypeObject *type;
    const spyp_math_kind *kind;
} spyp_math_places[SPYP_MATH_PLACES];

static size_t spyp_math_place(const PyTypeObject *type) {
    uintptr_t bits = (uintptr_t)type;
    size_t place = (size_t)((bits >> 4) ^ (bits >> 12)) % SPYP_MATH_PLACES;
    while (spyp_math_places[place].type && spyp_math_places[place].type != type)
        place = (place + 1) % SPYP_MATH_PLACES;
    return place;
}

void spyp_math_kind_add(const spyp_math_kind *kind) {
    size_t place = spyp_math_place(kind->type);
    spyp_math_places[place].type = kind->type;
    spyp_math_places[place].kind = kind;
}

const spyp_math_kind *spyp_math_kind_of(PyObject *object) {
    return spyp_math_places[spyp_math_place(Py_TYPE(object))].kind;
}

const spyp_math_kind *spyp_math_kind_find(spy_dtype dtype, uint32_t rows, uint32_t columns) {
    if (dtype == SPY_DTYPE_DEFAULT) dtype = SPY_DTYPE_FLOAT32;
    for (const spyp_math_kind *kind = spyp_math_kinds; kind->name; kind++) {
        if (kind->dtype == dtype && kind->rows == rows && kind->columns == columns &&
            kind->form != SPYP_MATH_QUATERNION)
            return kind;
    }
    return NULL;
}

bool spyp_math_is_float(spy_dtype dtype) {
    return dtype == SPY_DTYPE_FLOAT16 || dtype == SPY_DTYPE_FLOAT32 || dtype == SPY_DTYPE_FLOAT64;
}

bool spyp_math_view(PyObject *object, spyp_math_info *info) {
    const spyp_math_kind *kind = spyp_math_kind_of(object);
    if (!kind) return false;
    info->slang_name = kind->form == SPYP_MATH_QUATERNION ? "float4" : kind->name;
    info->dtype = kind->dtype;
    info->rank = kind->form == SPYP_MATH_SCALAR ? 0 : kind->form == SPYP_MATH_MATRIX ? 2 : 1;
    info->dims[0] = info->rank == 0 ? 1 : info->rank == 1 ? kind->columns : kind->rows;
    info->dims[1] = info->rank == 2 ? kind->columns : 1;
    info->data = ((spyp_math_value *)object)->data;
    return true;
}

// >>components

// Converts to an IEEE 754 half, rounding to nearest even.
static uint16_t spyp_half_from_double(double value) {
    unsigned sign = signbit(value) ? 0x8000u : 0u;
    double size = fabs(value);
    int exponent;
    if (isnan(value)) return (uint16_t)(sign | 0x7e00u);
    if (size >= 65520.0) return (uint16_t)(sign | 0x7c00u);
    if (size < 0x1p-14) return (uint16_t)(sign | (unsigned)rint(size * 0x1p24));
    frexp(size, &exponent);
    // the value is 1.m * 2^(exponent - 1); a mantissa that rounds up to 2048 carries into the exponent
    return (uint16_t)(sign + ((unsigned)(exponent + 13) << 10) + (unsigned)rint(ldexp(size, 11 - exponent)));
}

static double spyp_half_to_double(uint16_t half) {
    int exponent = (half >> 10) & 31, mantissa = half & 1023;
    double size = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? ldexp(mantissa, -24)
                                  : ldexp(mantissa + 1024, exponent - 25);
    return half & 0x8000 ? -size : size;
}

#define SPYP_MATH_LOAD(c_type)                                                                               \
    {                                                                                                        \
        c_type loaded;                                                                                       \
        memcpy(&loaded, (const char *)data + index * sizeof loaded, sizeof loaded);                          \
        return (double)loaded;                                                                               \
    }

double spyp_math_load(spy_dtype dtype, const void *data, size_t index) {
    uint16_t half;
    switch (dtype) {
    case SPY_DTYPE_BOOL: return ((const uint8_t *)data)[index] != 0;
    case SPY_DTYPE_INT8: SPYP_MATH_LOAD(int8_t)
    case SPY_DTYPE_UINT8: SPYP_MATH_LOAD(uint8_t)
    case SPY_DTYPE_INT16: SPYP_MATH_LOAD(int16_t)
    case SPY_DTYPE_UINT16: SPYP_MATH_LOAD(uint16_t)
    case SPY_DTYPE_INT32: SPYP_MATH_LOAD(int32_t)
    case SPY_DTYPE_UINT32: SPYP_MATH_LOAD(uint32_t)
    case SPY_DTYPE_INT64: SPYP_MATH_LOAD(int64_t)
    case SPY_DTYPE_UINT64: SPYP_MATH_LOAD(uint64_t)
    case SPY_DTYPE_FLOAT64: SPYP_MATH_LOAD(double)
    case SPY_DTYPE_FLOAT16:
        memcpy(&half, (const char *)data + index * sizeof half, sizeof half);
        return spyp_half_to_double(half);
    default: SPYP_MATH_LOAD(float)
    }
}

static int spyp_math_range_error(const char *name, double low, double high, double value) {
    PyObject *got = fabs(value) < 0x1p63 ? PyLong_FromDouble(value) : PyFloat_FromDouble(value);
    if (got)
        PyErr_Format(PyExc_OverflowError, "%s: expected integers from %lld to %lld, got %S", name,
                     (long long)low, (long long)high, got);
    Py_XDECREF(got);
    return -1;
}

int spyp_math_store(const char *name, spy_dtype dtype, void *data, size_t index, double value) {
    if (dtype == SPY_DTYPE_FLOAT32) {
        float single = (float)value;
        memcpy((float *)data + index, &single, sizeof single);
    } else if (dtype == SPY_DTYPE_FLOAT64) {
        memcpy((double *)data + index, &value, sizeof value);
    } else if (dtype == SPY_DTYPE_FLOAT16) {
        uint16_t half = spyp_half_from_double(value);
        memcpy((uint16_t *)data + index, &half, sizeof half);
    } else if (dtype == SPY_DTYPE_BOOL) {
        ((uint8_t *)data)[index] = value != 0;
    } else {
        uint32_t bits;
        double low = dtype == SPY_DTYPE_INT32 ? INT32_MIN : 0,
               high = dtype == SPY_DTYPE_INT32 ? INT32_MAX : UINT32_MAX;
        if (!(value >= low && value <= high)) return spyp_math_range_error(name, low, high, value);
        bits = (uint32_t)(int64_t)value; // two's complement, for int and uint
        memcpy((uint32_t *)data + index, &bits, sizeof bits);
    }
    return 0;
}

void spyp_math_load_all(PyObject *object, double *components) {
    const spyp_math_value *value = (const spyp_math_value *)object;
    uint32_t size = spyp_math_size(value->kind);
    for (uint32_t i = 0; i < size; i++) components[i] = spyp_math_load(value->kind->dtype, value->data, i);
}

PyObject *spyp_math_scalar_new(spy_dtype dtype, double value) {
    if (dtype == SPY_DTYPE_BOOL) return PyBool_FromLong(value != 0);
    return spyp_math_is_float(dtype) ? PyFloat_FromDouble(value) : PyLong_FromLongLong((long long)value);
}

static spyp_math_value *spyp_math_allocate(const spyp_math_kind *kind) {
    spyp_math_value *value = (spyp_math_value *)PyType_GenericAlloc(kind->type, 0); // zeroed
    if (value) value->kind = kind;
    return value;
}

PyObject *spyp_math_make(const spyp_math_kind *kind, const double *components) {
    spyp_math_value *value = spyp_math_allocate(kind);
    if (!value) return NULL;
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) {
        if (spyp_math_store(kind->name, kind->dtype, value->data, i, components[i])) {
            Py_DECREF(value);
            return NULL;
        }
    }
    return (PyObject *)value;
}

PyObject *spyp_math_new(spy_dtype dtype, uint32_t rows, uint32_t columns, const void *data) {
    const spyp_math_kind *kind = spyp_math_kind_find(dtype, rows, rows ? columns : 0);
    spyp_math_value *value = kind ? spyp_math_allocate(kind) : NULL;
    if (value) memcpy(value->data, data, spyp_math_size(kind) * spy_dtype_size_bytes(kind->dtype));
    return (PyObject *)value;
}

// >>reading objects

PyObject *spyp_math_type_name(PyObject *object) {
    return PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
}

// Sets a TypeError "NAME: expected EXPECTED, got TYPE".
static int spyp_math_type_error(const char *name, const char *expected, PyObject *got) {
    PyObject *type = spyp_math_type_name(got);
    if (type) PyErr_Format(PyExc_TypeError, "%s: expected %s, got '%U'", name, expected, type);
    Py_XDECREF(type);
    return -1;
}

static const char *spyp_math_numbers(spy_dtype dtype) {
    return spyp_math_is_float(dtype) ? "numbers" : dtype == SPY_DTYPE_BOOL ? "bools" : "integers";
}

static int spyp_math_number_error(const char *name, spy_dtype dtype, PyObject *got) {
    char expected[64];
    PyOS_snprintf(expected, sizeof expected, "%s or a sequence of %s", spyp_math_numbers(dtype),
                  spyp_math_numbers(dtype));
    return spyp_math_type_error(name, expected, got);
}

// Finds the dtype of a buffer's elements by its format and item size. Returns false for structs, objects and
// a foreign byte order.
static bool spyp_math_format(const Py_buffer *view, spy_dtype *dtype) {
    static const struct {
        const char *codes;
        spy_dtype by_size[4]; // for items of 1, 2, 4 and 8 bytes
    } formats[] = {
        { "?", { SPY_DTYPE_BOOL, SPY_DTYPE_DEFAULT, SPY_DTYPE_DEFAULT, SPY_DTYPE_DEFAULT } },
        { "bhilqn", { SPY_DTYPE_INT8, SPY_DTYPE_INT16, SPY_DTYPE_INT32, SPY_DTYPE_INT64 } },
        { "BHILQN", { SPY_DTYPE_UINT8, SPY_DTYPE_UINT16, SPY_DTYPE_UINT32, SPY_DTYPE_UINT64 } },
        { "efd", { SPY_DTYPE_DEFAULT, SPY_DTYPE_FLOAT16, SPY_DTYPE_FLOAT32, SPY_DTYPE_FLOAT64 } },
    };
    const char *format = view->format ? view->format : "B";
    int size = view->itemsize == 1   ? 0
               : view->itemsize == 2 ? 1
               : view->itemsize == 4 ? 2
               : view->itemsize == 8 ? 3
                                     : -1;
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (size < 0 || !format[0] || format[1]) return false;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!strchr(formats[i].codes, *format)) continue;
        *dtype = formats[i].by_size[size];
        return *dtype != SPY_DTYPE_DEFAULT;
    }
    return false;
}

// Opens a buffer of numbers that can be converted to `dtype`. Returns false, without an exception, when
// `object` has none.
static bool spyp_math_buffer(spy_dtype dtype, PyObject *object, Py_buffer *view, spy_dtype *source) {
    if (!PyObject_CheckBuffer(object)) return false;
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT)) {
        PyErr_Clear();
        return false;
    }
    if (spyp_math_format(view, source) && (spyp_math_is_float(dtype) || !spyp_math_is_float(*source)))
        return true;
    PyBuffer_Release(view);
    return false;
}

// Returns a dimension's stride in bytes. Exporters such as ctypes give no strides when elements lie row-major
// without gaps.
static Py_ssize_t spyp_math_stride(const Py_buffer *view, int dimension) {
    Py_ssize_t step = view->itemsize;
    if (view->strides) return view->strides[dimension];
    for (int d = view->ndim - 1; d > dimension; d--) step *= view->shape[d];
    return step;
}

// Reads a number of another class: an object with __index__, or with __float__ when `dtype` is a float type.
static int spyp_math_read_other(spy_dtype dtype, PyObject *object, double *value) {
    PyObject *number;
    if (!PyNumber_Check(object)) return 0;
    number = spyp_math_is_float(dtype) ? PyNumber_Float(object) : PyNumber_Index(object);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
        return 0;
    }
    int result = spyp_math_read_scalar(dtype, number, value);
    Py_DECREF(number);
    return result;
}

int spyp_math_read_scalar(spy_dtype dtype, PyObject *object, double *value) {
    const spyp_math_kind *kind;
    Py_buffer view;
    spy_dtype source;
    if (PyFloat_Check(object)) {
        *value = PyFloat_AsDouble(object);
        return spyp_math_is_float(dtype);
    }
    if (PyLong_Check(object)) {
        *value = PyLong_AsDouble(object);
        return *value == -1 && PyErr_Occurred() ? -1 : 1;
    }
    kind = spyp_math_kind_of(object);
    if (kind) {
        if (kind->form != SPYP_MATH_SCALAR || !spyp_math_is_float(dtype)) return 0;
        spyp_math_load_all(object, value);
        return 1;
    }
    if (spyp_math_buffer(dtype, object, &view, &source)) {
        int result = view.ndim == 0;
        if (result) *value = spyp_math_load(source, view.buf, 0);
        PyBuffer_Release(&view);
        return result;
    }
    if (PyObject_CheckBuffer(object) || PyUnicode_Check(object)) return 0;
    if (PySequence_Check(object)) { // a tensor of rank 0 is a sequence, but its len() fails
        if (PySequence_Size(object) >= 0) return 0;
        PyErr_Clear();
    }
    return spyp_math_read_other(dtype, object, value);
}

// Reads the components of a vector or quaternion of any dtype, converted as in Slang: floats become integers
// towards zero.
static Py_ssize_t spyp_math_read_vector(const char *name, spy_dtype dtype, PyObject *object,
                                        double *components, uint32_t room) {
    const spyp_math_kind *kind = spyp_math_kind_of(object);
    uint32_t count = spyp_math_size(kind);
    double values[SPYP_MATH_MAX_SIZE];
    if (kind->form == SPYP_MATH_MATRIX || kind->form == SPYP_MATH_SCALAR)
        return spyp_math_number_error(name, dtype, object);
    spyp_math_load_all(object, values);
    for (uint32_t i = 0; i < count && i < room; i++)
        components[i] = spyp_math_is_float(dtype) || dtype == SPY_DTYPE_BOOL ? values[i] : trunc(values[i]);
    return (Py_ssize_t)count;
}

static Py_ssize_t spyp_math_read_sequence(const char *name, spy_dtype dtype, PyObject *object,
                                          double *components, uint32_t room) {
    Py_ssize_t count = PySequence_Size(object);
    if (count < 0) return -1;
    for (Py_ssize_t i = 0; i < count && i < (Py_ssize_t)room; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        int found = item ? spyp_math_read_scalar(dtype, item, components + i) : -1;
        if (found == 0) spyp_math_type_error(name, spyp_math_numbers(dtype), item);
        Py_XDECREF(item);
        if (found <= 0) return -1;
    }
    return count;
}

// Reads a one-dimensional buffer. Returns 0 when `object` has no buffer of numbers; its items may still be
// numbers.
static Py_ssize_t spyp_math_read_buffer(const char *name, spy_dtype dtype, PyObject *object,
                                        double *components, uint32_t room) {
    Py_buffer view;
    spy_dtype source;
    Py_ssize_t count;
    if (!spyp_math_buffer(dtype, object, &view, &source)) return 0;
    count = view.ndim == 1 ? view.shape[0] : -1;
    if (count < 0)
        PyErr_Format(spyp.type_error, "%s: expected an array of 1 dimension, got %d dimensions", name,
                     view.ndim);
    for (Py_ssize_t i = 0; i < count && i < (Py_ssize_t)room; i++)
        components[i] = spyp_math_load(source, (const char *)view.buf + i * spyp_math_stride(&view, 0), 0);
    PyBuffer_Release(&view);
    return count;
}

Py_ssize_t spyp_math_read_list(const char *name, spy_dtype dtype, PyObject *object, double *components,
                               uint32_t room) {
    double value;
    Py_ssize_t found = spyp_math_read_scalar(dtype, object, &value);
    if (found < 0) return -1;
    if (found && room) components[0] = value;
    if (found) return 1;
    if (spyp_math_kind_of(object)) return spyp_math_read_vector(name, dtype, object, components, room);
    found = spyp_math_read_buffer(name, dtype, object, components, room);
    if (found != 0) return found;
    if (PySequence_Check(object) && !PyUnicode_Check(object))
        return spyp_math_read_sequence(name, dtype, object, components, room);
    return spyp_math_number_error(name, dtype, object);
}

// Reads a buffer of rows x columns. Returns the number of components, or 0 when `object` has no
// two-dimensional buffer of numbers, or -1 with an exception set.
static int spyp_math_read_array(const char *name, spy_dtype dtype, PyObject *object, double *components,
                                uint32_t rows, uint32_t columns) {
    Py_buffer view;
    spy_dtype source;
    int count = 0;
    if (!spyp_math_buffer(dtype, object, &view, &source)) return 0;
    if (view.ndim == 2 && (view.shape[0] != (Py_ssize_t)rows || view.shape[1] != (Py_ssize_t)columns)) {
        PyErr_Format(spyp.type_error, "%s: expected an array of shape (%u, %u), got (%zd, %zd)", name, rows,
                     columns, view.shape[0], view.shape[1]);
        count = -1;
    } else if (view.ndim == 2) {
        for (uint32_t r = 0; r < rows; r++) {
            for (uint32_t c = 0; c < columns; c++, count++)
                components[count] =
                    spyp_math_load(source,
                                   (const char *)view.buf + (Py_ssize_t)r * spyp_math_stride(&view, 0) +
                                       (Py_ssize_t)c * spyp_math_stride(&view, 1),
                                   0);
        }
    }
    PyBuffer_Release(&view);
    return count;
}

int spyp_math_read_matrix(const char *name, spy_dtype dtype, PyObject *object, double *components,
                          uint32_t rows, uint32_t columns) {
    uint32_t size = rows * columns, count = 0;
    Py_ssize_t items, found = spyp_math_read_array(name, dtype, object, components, rows, columns);
    if (found != 0) return found < 0 ? -1 : 0;
    if (!PySequence_Check(object) || PyUnicode_Check(object))
        return spyp_math_number_error(name, dtype, object);
    items = PySequence_Size(object);
    if (items < 0) return -1;
    if (items != (Py_ssize_t)rows && items != (Py_ssize_t)size) {
        PyErr_Format(spyp.type_error, "%s: expected %u rows of %u or %u components, got %zd", name, rows,
                     columns, size, items);
        return -1;
    }
    for (Py_ssize_t i = 0; i < items; i++) {
        uint32_t expected = items == (Py_ssize_t)size ? 1 : columns;
        PyObject *item = PySequence_GetItem(object, i);
        found = item ? spyp_math_read_list(name, dtype, item, components + count, expected) : -1;
        Py_XDECREF(item);
        if (found < 0) return -1;
        if (found != (Py_ssize_t)expected) {
            PyErr_Format(spyp.type_error, "%s: expected rows of %u components, got %zd in row %zd", name,
                         expected, found, i);
            return -1;
        }
        count += expected;
    }
    return 0;
}
