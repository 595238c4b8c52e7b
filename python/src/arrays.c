// Arrays of other libraries: the buffer protocol, DLPack (versioned and legacy), __cuda_array_interface__.
#include "spyp_math.h"

#include <string.h>

// >>formats

static const struct {
    char letter;
    char family; // b bool, i signed, u unsigned, f float
} spyp_letters[] = {
    { '?', 'b' }, { 'b', 'i' }, { 'B', 'u' }, { 'h', 'i' }, { 'H', 'u' }, { 'i', 'i' }, { 'I', 'u' }, { 'l', 'i' }, { 'L', 'u' },
    { 'q', 'i' }, { 'Q', 'u' }, { 'n', 'i' }, { 'N', 'u' }, { 'e', 'f' }, { 'f', 'f' }, { 'd', 'f' }, { 'c', 'u' },
};

static spy_dtype spyp_dtype_of_family(char family, Py_ssize_t size) {
    switch (family) {
    case 'b': return size == 1 ? SPY_BOOL : SPY_DTYPE_DEFAULT;
    case 'i': return size == 1 ? SPY_INT8 : size == 2 ? SPY_INT16 : size == 4 ? SPY_INT32 : size == 8 ? SPY_INT64 : SPY_DTYPE_DEFAULT;
    case 'u': return size == 1 ? SPY_UINT8 : size == 2 ? SPY_UINT16 : size == 4 ? SPY_UINT32 : size == 8 ? SPY_UINT64 : SPY_DTYPE_DEFAULT;
    case 'f': return size == 2 ? SPY_FLOAT16 : size == 4 ? SPY_FLOAT32 : size == 8 ? SPY_FLOAT64 : SPY_DTYPE_DEFAULT;
    default: return SPY_DTYPE_DEFAULT;
    }
}

spy_dtype spyp_dtype_of_format(const char *format, Py_ssize_t size, bool *swapped) {
    *swapped = false;
    if (!format) return SPY_UINT8; // the protocol's default, unsigned bytes
    if (*format == '>' || *format == '!') *swapped = size > 1;
    if (strchr("<>!=@", *format) && *format) format++;
    for (size_t i = 0; i < sizeof spyp_letters / sizeof *spyp_letters; i++)
        if (spyp_letters[i].letter == format[0] && !format[1]) return spyp_dtype_of_family(spyp_letters[i].family, size);
    return SPY_DTYPE_DEFAULT;
}

const char *spyp_format_of_dtype(spy_dtype dtype) {
    static const char *const formats[SPY_DTYPE_COUNT] = { "f", "?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d" };
    return formats[dtype];
}

// >>host arrays

// Another byte order, as a new array of the native one.
static PyObject *spyp_native(PyObject *object) {
    PyObject *numpy = spyp_numpy(), *dtype = NULL, *order = NULL, *result = NULL;
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "asarray", "O", object) : NULL;
    if (array) dtype = PyObject_GetAttr(array, spyp.s_dtype);
    if (dtype) order = PyObject_CallMethod(dtype, "newbyteorder", "s", "=");
    if (order) result = PyObject_CallMethod(array, "astype", "O", order);
    Py_XDECREF(numpy);
    Py_XDECREF(array);
    Py_XDECREF(dtype);
    Py_XDECREF(order);
    return result;
}

static int spyp_from_buffer(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    Py_buffer *view = spyp_arena_buffer(arena, object, PyBUF_FULL_RO);
    bool swapped;
    if (!view) return -1;
    if (view->ndim > SPY_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%s: expected at most %d dimensions, got %d", what, SPY_MAX_RANK, view->ndim);
        return -1;
    }
    array->view = view;
    array->dtype = spyp_dtype_of_format(view->format, view->itemsize, &swapped);
    bool structs = view->format && strchr(view->format, '{');
    if (array->dtype == SPY_DTYPE_DEFAULT && !structs) {
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: an array with elements of format '%s'; expected bool, int, uint or float of at most 64 bits",
                     what, view->format);
        return -1;
    }
    if (swapped || (structs && strchr(view->format, '>'))) {
        PyObject *native = spyp_native(object);
        int status = native ? spyp_arena_keep(arena, native) : -1;
        if (status == 0) status = spyp_from_buffer(arena, native, what, array);
        Py_XDECREF(native);
        array->writable = false;
        return status;
    }
    array->shape.rank = (uint32_t)view->ndim;
    for (int d = 0; d < view->ndim; d++) array->shape.dims[d] = view->shape ? view->shape[d] : view->len / view->itemsize;
    array->size_bytes = (size_t)view->len;
    if (PyBuffer_IsContiguous(view, 'C')) {
        array->data = view->buf;
        array->writable = !view->readonly;
        return 1;
    }
    void *copy = spyp_arena_take(arena, (size_t)view->len + 1);
    if (!copy || PyBuffer_ToContiguous(copy, view, view->len, 'C') < 0) return -1;
    array->data = copy;
    return 1;
}

// >>DLPack: what is needed of its ABI. Source: dlpack.h of version 1.0.

typedef struct spyp_dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides; // strides in elements, or NULL: row-major
    uint64_t byte_offset;
} spyp_dl_tensor;

typedef struct spyp_dl_legacy {
    spyp_dl_tensor tensor;
    void *context;
    void (*deleter)(struct spyp_dl_legacy *self);
} spyp_dl_legacy;

typedef struct spyp_dl_versioned {
    struct { uint32_t major, minor; } version;
    void *context;
    void (*deleter)(struct spyp_dl_versioned *self);
    uint64_t flags; // bit 0: read-only
    spyp_dl_tensor tensor;
} spyp_dl_versioned;

enum { SPYP_DL_CPU = 1, SPYP_DL_CUDA = 2, SPYP_DL_CUDA_HOST = 3 };

static spy_dtype spyp_dtype_of_dl(const spyp_dl_tensor *t) {
    static const char families[] = { 'i', 'u', 'f', 0, 0, 0, 'b' };
    if (t->dtype.lanes != 1 || t->dtype.code >= sizeof families || !families[t->dtype.code]) return SPY_DTYPE_DEFAULT;
    return spyp_dtype_of_family(families[t->dtype.code], t->dtype.bits / 8);
}

// Elements in row-major order, whatever the strides.
static void spyp_gather(char **to, const char *from, size_t item, const int64_t *shape, const int64_t *strides, int rank) {
    if (rank == 0) {
        memcpy(*to, from, item);
        *to += item;
        return;
    }
    for (int64_t i = 0; i < shape[0]; i++)
        spyp_gather(to, from + i * strides[0] * (int64_t)item, item, shape + 1, strides + 1, rank - 1);
}

static int spyp_from_dl_tensor(spyp_arena *arena, const spyp_dl_tensor *t, bool read_only, const char *what, spyp_host_array *array) {
    if (t->device.type != SPYP_DL_CPU && t->device.type != SPYP_DL_CUDA_HOST) {
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: an array in the memory of DLPack device %d; expected host memory", what, t->device.type);
        return -1;
    }
    array->dtype = spyp_dtype_of_dl(t);
    if (array->dtype == SPY_DTYPE_DEFAULT || t->ndim > SPY_MAX_RANK) {
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: DLPack elements of code %d with %d bits and %d dimensions", what,
                     t->dtype.code, t->dtype.bits, t->ndim);
        return -1;
    }
    size_t item = spy_dtype_size_bytes(array->dtype), count = 1;
    bool contiguous = true;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->strides && t->shape[d] != 1 && t->strides[d] != (int64_t)count) contiguous = false;
        count *= (size_t)t->shape[d];
    }
    array->shape.rank = (uint32_t)t->ndim;
    for (int d = 0; d < t->ndim; d++) array->shape.dims[d] = t->shape[d];
    array->size_bytes = count * item;
    array->data = (const char *)t->data + t->byte_offset;
    array->writable = contiguous && !read_only;
    if (contiguous || count == 0) return 1;
    char *copy = (char *)spyp_arena_take(arena, array->size_bytes + 1), *to = copy;
    if (!copy) return -1;
    spyp_gather(&to, (const char *)array->data, item, t->shape, t->strides, t->ndim);
    array->data = copy;
    return 1;
}

// The capsule stays ours, unconsumed, until the call ends: its own destructor then frees it.
static int spyp_from_dlpack(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    PyObject *method = PyObject_GetAttr(object, spyp.s_dlpack), *none = PyTuple_New(0), *capsule = NULL;
    PyObject *keywords = method && none ? Py_BuildValue("{s:(ii)}", "max_version", 1, 0) : NULL;
    if (keywords) capsule = PyObject_Call(method, none, keywords);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { // a producer that knows no versions
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    int status = capsule ? spyp_arena_keep(arena, capsule) : -1;
    Py_XDECREF(capsule);
    if (status < 0) return -1;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        spyp_dl_versioned *v = (spyp_dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (v->version.major == 1) return spyp_from_dl_tensor(arena, &v->tensor, v->flags & 1u, what, array);
        PyErr_Format(PyExc_TypeError, "%s: DLPack version %u is not known", what, v->version.major);
        return -1;
    }
    spyp_dl_legacy *legacy = (spyp_dl_legacy *)PyCapsule_GetPointer(capsule, "dltensor");
    return legacy ? spyp_from_dl_tensor(arena, &legacy->tensor, false, what, array) : -1;
}

int spyp_is_array(PyObject *object) {
    if (PyUnicode_Check(object)) return 0;
    return PyObject_CheckBuffer(object) || PyObject_HasAttr(object, spyp.s_dlpack);
}

int spyp_host_array_get(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    memset(array, 0, sizeof *array);
    if (PyUnicode_Check(object)) return 0;
    if (PyObject_CheckBuffer(object)) return spyp_from_buffer(arena, object, what, array);
    if (PyObject_HasAttr(object, spyp.s_dlpack)) return spyp_from_dlpack(arena, object, what, array);
    return 0;
}

// >>numpy

PyObject *spyp_numpy(void) {
    if (!spyp.numpy) spyp.numpy = PyImport_ImportModule("numpy");
    return Py_XNewRef(spyp.numpy);
}

// The element type as numpy says it: scalars, vectors (N,), matrices (R, C), arrays (N, ...) by further dimensions; structs
// as structured dtypes.
PyObject *spyp_numpy_dtype(const spy_type_info *info, spy_dtype scalar, spy_shape *inner) {
    static const char *const names[SPY_DTYPE_COUNT] = { "f4", "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8" };
    inner->rank = 0;
    while (info && info->kind == SPY_TYPE_ARRAY && inner->rank < SPY_MAX_RANK - 2) {
        inner->dims[inner->rank++] = info->count;
        info = info->element;
    }
    if (info && info->kind == SPY_TYPE_MATRIX) inner->dims[inner->rank++] = info->rows;
    if (info && (info->kind == SPY_TYPE_MATRIX || info->kind == SPY_TYPE_VECTOR)) inner->dims[inner->rank++] = info->columns;
    if (!info || info->kind != SPY_TYPE_STRUCT) return PyUnicode_FromString(names[info ? info->dtype : scalar]);
    PyObject *fields = PyList_New(0), *offsets = PyList_New(0), *formats = PyList_New(0), *result = NULL;
    for (uint32_t i = 0; fields && offsets && formats && i < info->field_count; i++) {
        spy_shape part;
        PyObject *type = spyp_numpy_dtype(info->fields[i].type, SPY_FLOAT32, &part), *shape = spyp_shape_tuple(&part);
        PyObject *format = type && shape ? PyTuple_Pack(2, type, shape) : NULL, *name = PyUnicode_FromString(info->fields[i].name);
        PyObject *offset = PyLong_FromSize_t(info->fields[i].offset_bytes);
        bool good = format && name && offset && PyList_Append(fields, name) == 0 && PyList_Append(offsets, offset) == 0 &&
                    PyList_Append(formats, format) == 0;
        Py_XDECREF(type);
        Py_XDECREF(shape);
        Py_XDECREF(format);
        Py_XDECREF(name);
        Py_XDECREF(offset);
        if (!good) Py_CLEAR(fields);
    }
    if (fields && offsets && formats)
        result = Py_BuildValue("{s:O,s:O,s:O,s:n}", "names", fields, "formats", formats, "offsets", offsets, "itemsize", (Py_ssize_t)info->size_bytes);
    Py_XDECREF(fields);
    Py_XDECREF(offsets);
    Py_XDECREF(formats);
    return result;
}

