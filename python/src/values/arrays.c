// Arrays of other libraries: the buffer protocol, DLPack (versioned and legacy), __cuda_array_interface__.
#include "values/dlpack.h"
#include "values/values.h"
#include "values/math_view.h"

#include <string.h>

// >>formats

static const struct {
    char letter;
    char family; // b bool, i signed integer, u unsigned integer, f float
} spyp_letters[] = {
    { '?', 'b' }, { 'b', 'i' }, { 'B', 'u' }, { 'h', 'i' }, { 'H', 'u' }, { 'i', 'i' }, { 'I', 'u' }, { 'l', 'i' }, { 'L', 'u' },
    { 'q', 'i' }, { 'Q', 'u' }, { 'n', 'i' }, { 'N', 'u' }, { 'e', 'f' }, { 'f', 'f' }, { 'd', 'f' }, { 'c', 'u' },
};

spy_dtype spyp_dtype_of_family(char family, Py_ssize_t size) {
    switch (family) {
    case 'b': return size == 1 ? SPY_DTYPE_BOOL : SPY_DTYPE_DEFAULT;
    case 'i': return size == 1 ? SPY_DTYPE_INT8 : size == 2 ? SPY_DTYPE_INT16 : size == 4 ? SPY_DTYPE_INT32 : size == 8 ? SPY_DTYPE_INT64 : SPY_DTYPE_DEFAULT;
    case 'u': return size == 1 ? SPY_DTYPE_UINT8 : size == 2 ? SPY_DTYPE_UINT16 : size == 4 ? SPY_DTYPE_UINT32 : size == 8 ? SPY_DTYPE_UINT64 : SPY_DTYPE_DEFAULT;
    case 'f': return size == 2 ? SPY_DTYPE_FLOAT16 : size == 4 ? SPY_DTYPE_FLOAT32 : size == 8 ? SPY_DTYPE_FLOAT64 : SPY_DTYPE_DEFAULT;
    default: return SPY_DTYPE_DEFAULT;
    }
}

spy_dtype spyp_dtype_of_format(const char *format, Py_ssize_t size, bool *swapped) {
    *swapped = false;
    if (!format) return SPY_DTYPE_UINT8; // the buffer protocol's default is unsigned bytes
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

// >>strided memory

#define SPYP_RUN(size)                                                                                        \
    for (int64_t i = 0; i < n; i++, place += step, packed += size) memcpy(back ? place : packed, back ? packed : place, size)

// Copies one dimension. The elements at `packed` follow each other without gaps; those at `place` are `step`
// bytes apart.
static char *spyp_copy_run(char *packed, char *place, size_t item, int64_t n, int64_t step, bool back) {
    switch (item) { // with a constant size, the compiler copies an element with one move
    case 1: SPYP_RUN(1); break;
    case 2: SPYP_RUN(2); break;
    case 4: SPYP_RUN(4); break;
    case 8: SPYP_RUN(8); break;
    default: SPYP_RUN(item); break;
    }
    return packed;
}

// Copies elements of any strides (in bytes) from `place` to `packed` in row-major order, or back. Returns the
// end of `packed`.
static char *spyp_copy_strided(char *packed, char *place, size_t item, const int64_t *shape, const int64_t *strides, uint32_t rank,
                               bool back) {
    if (rank == 0) return spyp_copy_run(packed, place, item, 1, 0, back);
    if (rank == 1) return spyp_copy_run(packed, place, item, shape[0], strides[0], back);
    for (int64_t i = 0; i < shape[0]; i++)
        packed = spyp_copy_strided(packed, place + i * strides[0], item, shape + 1, strides + 1, rank - 1, back);
    return packed;
}

static void spyp_swap_bytes(char *data, size_t item, size_t count) {
    for (size_t i = 0; i < count; i++, data += item)
        for (size_t a = 0, b = item - 1; a < b; a++, b--) {
            char byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

// Sets array->data to the elements at `place` if they are row-major without gaps, and otherwise to a copy.
static int spyp_array_from(spyp_arena *arena, spyp_host_array *array, const void *place, size_t item, const int64_t *strides,
                           bool swapped, bool writable) {
    bool aligned = array->dtype == SPY_DTYPE_DEFAULT || (uintptr_t)place % item == 0;
    bool contiguous = !swapped && aligned;
    int64_t count = 1;
    for (uint32_t d = array->shape.rank; d-- > 0;) {
        if (array->shape.dims[d] != 1 && strides[d] != count * (int64_t)item) contiguous = false;
        count *= array->shape.dims[d];
    }
    array->size_bytes = (size_t)count * item;
    array->data = place;
    array->writable = writable && (contiguous || count == 0);
    if (contiguous || count == 0) return 1;
    char *copy = (char *)spyp_arena_take(arena, array->size_bytes);
    if (!copy) return -1;
    union { const void *in; void *out; } at;
    at.in = place;
    spyp_copy_strided(copy, (char *)at.out, item, array->shape.dims, strides, array->shape.rank, false);
    if (swapped) spyp_swap_bytes(copy, item, (size_t)count);
    array->data = copy;
    if (writable) {
        array->place = at.out;
        array->item = item;
        array->swapped = swapped;
        memcpy(array->strides, strides, array->shape.rank * sizeof *strides);
    }
    return 1;
}

// >>the buffer protocol

// Replaces the exception of an exporter that has no format for its elements by a TypeError.
static int spyp_unsupported_array(const char *what) {
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError)) return -1;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_Format(PyExc_TypeError, "%s: Unsupported type: %S", what, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

static int spyp_bad_format(const char *what, const char *format) {
    static const struct {
        const char *letters, *text;
    } kinds[] = { { "O", "Python objects" }, { "Z", "complex numbers" }, { "g", "long doubles" }, { "swuU", "text" } };
    const char *kind = NULL, *letter = format + (*format && strchr("<>!=@", *format) ? 1 : 0);
    while (*letter >= '0' && *letter <= '9') letter++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (*letter && strchr(kinds[i].letters, *letter)) kind = kinds[i].text;
    PyErr_Format(spyp.type_error, "%s: Unsupported type: an array of %s (format '%s'); expected bool, int, uint or float of at most 64 bits",
                 what, kind ? kind : "other elements", format);
    return -1;
}

int spyp_too_many_dims(const char *what, int rank) {
    PyErr_Format(spyp.value_error, "%s: expected at most %d dimensions, got %d", what, SPY_MAX_RANK, rank);
    return -1;
}

// Finds the fields of structs by name. numpy exports no buffer of structs whose fields are not in the order of their offsets.
static int spyp_from_records(PyObject *object, const char *what, spyp_host_array *array) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *names = spyp_field_names(object), *shape = names ? PyObject_GetAttrString(object, "shape") : NULL;
    int status = shape ? spyp_shape_parse(shape, what, &array->shape) : -1;
    Py_XDECREF(names);
    Py_XDECREF(shape);
    if (status < 0) {
        PyErr_Restore(type, value, trace);
        return spyp_unsupported_array(what);
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return 1;
}

static int spyp_from_buffer(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    Py_buffer *view = spyp_arena_buffer(arena, object, PyBUF_FULL_RO);
    int64_t strides[SPY_MAX_RANK];
    bool swapped;
    array->object = object;
    if (!view) return spyp_from_records(object, what, array);
    if (view->ndim > SPY_MAX_RANK) return spyp_too_many_dims(what, view->ndim);
    array->view = view;
    array->dtype = spyp_dtype_of_format(view->format, view->itemsize, &swapped);
    bool structs = view->format && strchr(view->format, '{');
    if (array->dtype == SPY_DTYPE_DEFAULT && !structs) return spyp_bad_format(what, view->format);
    int64_t step = view->itemsize;
    array->shape.rank = (uint32_t)view->ndim;
    for (int d = view->ndim - 1; d >= 0; d--) {
        array->shape.dims[d] = view->shape ? view->shape[d] : view->len / view->itemsize;
        strides[d] = view->strides ? view->strides[d] : step;
        step *= array->shape.dims[d];
    }
    if (!view->suboffsets) return spyp_array_from(arena, array, view->buf, (size_t)view->itemsize, strides, swapped, !view->readonly);
    void *copy = spyp_arena_take(arena, (size_t)view->len);
    if (!copy || PyBuffer_ToContiguous(copy, view, view->len, 'C') < 0) return -1;
    if (swapped) spyp_swap_bytes((char *)copy, (size_t)view->itemsize, (size_t)(view->len / view->itemsize));
    array->data = copy;
    array->size_bytes = (size_t)view->len;
    return 1;
}

// >>DLPack

spy_dtype spyp_dtype_of_dl(const spyp_dl_tensor *t) {
    static const char families[] = { 'i', 'u', 'f', 0, 0, 0, 'b' };
    if (t->dtype.lanes != 1 || t->dtype.bits % 8 || t->dtype.code >= sizeof families || !families[t->dtype.code]) return SPY_DTYPE_DEFAULT;
    return spyp_dtype_of_family(families[t->dtype.code], t->dtype.bits / 8);
}

// Converts bfloat16 numbers to float. A bfloat16 is the upper half of a float.
static int spyp_widen_bfloat(spyp_arena *arena, spyp_host_array *array) {
    size_t count = array->size_bytes / 2;
    uint32_t *wide = (uint32_t *)spyp_arena_take(arena, count * sizeof *wide);
    if (!wide) return -1;
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, (const char *)array->data + 2 * i, sizeof half);
        wide[i] = (uint32_t)half << 16;
    }
    array->data = wide;
    array->dtype = SPY_DTYPE_FLOAT32;
    array->size_bytes = count * sizeof *wide;
    array->writable = false;
    array->place = NULL;
    return 1;
}

static int spyp_from_dl_tensor(spyp_arena *arena, const spyp_dl_tensor *t, bool read_only, const char *what, spyp_host_array *array) {
    int64_t strides[SPY_MAX_RANK], step = 1;
    bool bfloat = t->dtype.code == SPYP_DL_BFLOAT && t->dtype.bits == 16 && t->dtype.lanes == 1;
    if (t->device.type == SPYP_DL_CUDA || (t->device.type != SPYP_DL_CPU && t->device.type != SPYP_DL_CUDA_HOST &&
                                           t->device.type != SPYP_DL_ROCM_HOST && t->device.type != SPYP_DL_CUDA_MANAGED)) {
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: an array in the memory of DLPack device %d; expected host memory", what, t->device.type);
        return -1;
    }
    array->dtype = bfloat ? SPY_DTYPE_FLOAT16 : spyp_dtype_of_dl(t);
    if (array->dtype == SPY_DTYPE_DEFAULT) {
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: DLPack elements of code %d with %d bits and %d lanes", what, t->dtype.code,
                     t->dtype.bits, t->dtype.lanes);
        return -1;
    }
    if (t->ndim < 0 || t->ndim > SPY_MAX_RANK) return spyp_too_many_dims(what, t->ndim);
    size_t item = spy_dtype_size_bytes(array->dtype);
    array->shape.rank = (uint32_t)t->ndim;
    for (int d = t->ndim - 1; d >= 0; d--) {
        array->shape.dims[d] = t->shape[d];
        if (t->shape[d] < 0 || (t->shape[d] && step > INT64_MAX / 8 / t->shape[d])) {
            PyErr_Format(spyp.value_error, "%s: DLPack: dimension %d has the size %lld", what, d, (long long)t->shape[d]);
            return -1;
        }
        strides[d] = (t->strides ? t->strides[d] : step) * (int64_t)item;
        step *= t->shape[d] ? t->shape[d] : 1;
    }
    int status = spyp_array_from(arena, array, (const char *)t->data + t->byte_offset, item, strides, false, !read_only);
    return status > 0 && bfloat ? spyp_widen_bfloat(arena, array) : status;
}

// Any code that has a capsule may consume it and free its memory. While that memory is used here, the capsule has another name, which lies
// in this struct and which no library consumes.
typedef struct spyp_hold {
    char name[24];
    const char *own; // the capsule's own name
    PyObject *capsule;
    PyObject *guard; // object that owns this struct, and restores the name when it is freed; borrowed
} spyp_hold;

#define SPYP_HOLD "slangpy.hold"

static spyp_hold *spyp_hold_of(PyObject *capsule) {
    union { const char *name; spyp_hold *hold; } at = { PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL };
    if (!at.name) PyErr_Clear();
    return at.name && strcmp(at.name, SPYP_DL_NAME_HELD) == 0 ? at.hold : NULL;
}

static void spyp_hold_end(PyObject *guard) {
    spyp_hold *hold = (spyp_hold *)PyCapsule_GetPointer(guard, SPYP_HOLD);
    (void)PyCapsule_SetName(hold->capsule, hold->own);
    Py_DECREF(hold->capsule);
    PyMem_Free(hold);
}

PyObject *spyp_capsule_hold(PyObject *capsule) {
    spyp_hold *hold = spyp_hold_of(capsule);
    if (hold) return Py_NewRef(hold->guard);
    if (!(hold = (spyp_hold *)PyMem_Calloc(1, sizeof *hold))) return PyErr_NoMemory();
    PyObject *guard = PyCapsule_New(hold, SPYP_HOLD, NULL);
    PyOS_snprintf(hold->name, sizeof hold->name, "%s", SPYP_DL_NAME_HELD);
    hold->own = PyCapsule_GetName(capsule);
    if (!guard || PyCapsule_SetName(capsule, hold->name) < 0) {
        PyMem_Free(hold);
        Py_XDECREF(guard);
        return NULL;
    }
    hold->capsule = Py_NewRef(capsule);
    hold->guard = guard;
    (void)PyCapsule_SetDestructor(guard, spyp_hold_end);
    return guard;
}

// Returns the tensor of a capsule that nobody has consumed. The capsule is not consumed here, either: its
// destructor frees the memory.
const spyp_dl_tensor *spyp_capsule_tensor(PyObject *capsule, const char *what, bool *read_only) {
    const spyp_hold *hold = spyp_hold_of(capsule);
    const char *own = hold ? hold->own : PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
    const char *now = hold ? hold->name : own; // equals `own` unless the capsule is held
    *read_only = false;
    if (own && strcmp(own, SPYP_DL_NAME_VERSIONED) == 0) {
        spyp_dl_versioned *v = (spyp_dl_versioned *)PyCapsule_GetPointer(capsule, now);
        *read_only = v->flags & SPYP_DL_READ_ONLY;
        if (v->version.major == 1) return &v->tensor;
        PyErr_Format(PyExc_TypeError, "%s: Unsupported type: DLPack version %u; expected 1", what, v->version.major);
        return NULL;
    }
    if (own && strcmp(own, SPYP_DL_NAME) == 0) return &((spyp_dl_legacy *)PyCapsule_GetPointer(capsule, now))->tensor;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s: Unsupported type: expected a DLPack capsule that nobody has consumed, got %s%s", what,
                 PyCapsule_CheckExact(capsule) ? "a capsule named " : "no capsule", own ? own : "");
    return NULL;
}

static int spyp_from_capsule(spyp_arena *arena, PyObject *capsule, const char *what, spyp_host_array *array) {
    bool read_only;
    const spyp_dl_tensor *tensor = spyp_capsule_tensor(capsule, what, &read_only);
    return tensor && spyp_arena_kept(arena, spyp_capsule_hold(capsule)) ? spyp_from_dl_tensor(arena, tensor, read_only, what, array) : -1;
}

PyObject *spyp_dlpack_capsule(PyObject *object, PyObject *stream, const char *what) {
    PyObject *method = PyObject_GetAttr(object, spyp.s_dlpack), *none = PyTuple_New(0), *capsule = NULL;
    PyObject *keywords = method && none ? Py_BuildValue("{s:(ii)}", "max_version", 1, 0) : NULL;
    if (keywords && stream && PyDict_SetItemString(keywords, "stream", stream) < 0) Py_CLEAR(keywords);
    if (keywords) capsule = PyObject_Call(method, none, keywords);
    // The producer is older than DLPack 1.0 and knows no max_version.
    if (!capsule && keywords && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(keywords, "max_version") == 0) capsule = PyObject_Call(method, none, keywords);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    if (!capsule && keywords) spyp_unsupported_array(what);
    return capsule;
}

static int spyp_from_dlpack(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    PyObject *capsule = spyp_dlpack_capsule(object, NULL, what);
    int status = capsule ? spyp_arena_keep(arena, capsule) : -1;
    Py_XDECREF(capsule);
    return status < 0 ? -1 : spyp_from_capsule(arena, capsule, what, array);
}

// >>arrays of other devices

bool spyp_is_true(PyObject *object, const char *name) {
    PyObject *value = PyObject_GetAttrString(object, name);
    bool yes = value && value != Py_None && PyObject_IsTrue(value) > 0;
    PyErr_Clear();
    Py_XDECREF(value);
    return yes;
}

long spyp_dl_device_of(PyObject *object, int *number) {
    if (!PyObject_HasAttr(object, spyp.s_dlpack_device)) return SPYP_DL_CPU;
    PyObject *pair = spyp_call_method(object, spyp.s_dlpack_device);
    PyObject *type = pair ? PySequence_GetItem(pair, 0) : NULL, *second = type && number ? PySequence_GetItem(pair, 1) : NULL;
    long device = type ? PyLong_AsLong(type) : -1;
    if (second) *number = (int)PyLong_AsLong(second);
    Py_XDECREF(pair);
    Py_XDECREF(type);
    Py_XDECREF(second);
    return PyErr_Occurred() ? -1 : device;
}

// Describes an array of another device after its own library has copied it to the host: torch's cpu(), CuPy's get(), Numba's
// copy_to_host(), our tensors' to_numpy().
static int spyp_from_device(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    static const char *const ways[] = { "cpu", "get", "copy_to_host", "to_numpy" };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        PyObject *method = PyObject_GetAttrString(object, ways[i]);
        bool own = PyObject_TypeCheck(object, spyp.tensor);
        PyObject *host = method && own ? spyp_tensor_to_numpy((spyp_tensor *)object, true) : method ? PyObject_CallNoArgs(method) : NULL;
        bool missing = !method;
        Py_XDECREF(method);
        if (missing) {
            PyErr_Clear();
            continue;
        }
        int status = host ? spyp_arena_keep(arena, host) : -1;
        bool still = status == 0 && !PyObject_CheckBuffer(host) &&
                     (spyp_dl_device_of(host, NULL) != SPYP_DL_CPU || !PyObject_HasAttr(host, spyp.s_dlpack));
        if (status == 0 && !still) status = spyp_host_array_get(arena, host, what, array);
        Py_XDECREF(host);
        array->writable = false; // `data` is a copy
        array->place = NULL;
        if (!still || PyErr_Occurred()) return PyErr_Occurred() ? -1 : status;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s: Unsupported type: %R lies in another device's memory, which this backend cannot read, and it has no cpu(), get(), "
                 "copy_to_host() or to_numpy()",
                 what, (PyObject *)Py_TYPE(object));
    return -1;
}

// >>any array

int spyp_is_array(PyObject *object) {
    if (PyUnicode_Check(object) || PyType_Check(object)) return 0;
    return PyObject_CheckBuffer(object) || PyObject_HasAttr(object, spyp.s_dlpack) || PyObject_HasAttr(object, spyp.s_cuda_array) ||
           PyObject_HasAttr(object, spyp.s_array_interface) || PyObject_HasAttrString(object, "__array__") || PyCapsule_CheckExact(object);
}

// Uses another array instead of the object: the result of its method `method`, or numpy.asarray(object) if `method` is NULL.
static int spyp_instead(spyp_arena *arena, PyObject *object, const char *method, const char *what, spyp_host_array *array) {
    PyObject *numpy = method ? NULL : spyp_numpy();
    PyObject *other = method ? PyObject_CallMethod(object, method, NULL) : numpy ? PyObject_CallMethod(numpy, "asarray", "(O)", object) : NULL;
    int status = other ? spyp_arena_keep(arena, other) : -1;
    if (status == 0) status = spyp_host_array_get(arena, other, what, array);
    Py_XDECREF(numpy);
    Py_XDECREF(other);
    return status;
}

int spyp_torch_says(PyObject *function) {
    PyObject *answer = PyObject_CallNoArgs(function);
    int status = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return status;
}

// Returns 1 if torch records operations for gradients or is not imported, 0 if it does not record, and -1
// with an exception set.
static int spyp_grad_enabled(void) {
    if (SPYP_LIKELY(spyp.torch.grad_enabled != NULL)) return spyp_torch_says(spyp.torch.grad_enabled);
    PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch"), *enabled = NULL;
    if (torch && PyObject_HasAttrString(torch, "is_grad_enabled")) enabled = PyObject_CallMethod(torch, "is_grad_enabled", NULL);
    else return 1;
    int status = enabled ? PyObject_IsTrue(enabled) : -1;
    Py_XDECREF(enabled);
    return status;
}

int spyp_refuse_gradient(const char *what) {
    int enabled = spyp_grad_enabled();
    if (enabled <= 0) return enabled;
    PyErr_Format(spyp.wants_gradient,
                 "%s%sit requires a gradient, which only a direct call of a function gives to torch: write x.detach() for its numbers "
                 "alone, or DiffPair(x.detach(), gradient) as an argument of .bwds; within torch.no_grad() it is taken as it is",
                 what ? what : "", what ? ": " : "");
    return -1;
}

int spyp_check_gradient(PyObject *object, const char *what) {
    return spyp_is_true(object, "requires_grad") ? spyp_refuse_gradient(what) : 0;
}

static int spyp_host_array_of(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    if (!spyp_is_array(object)) return 0;
    if (PyCapsule_CheckExact(object)) return spyp_from_capsule(arena, object, what, array);
    if (PyObject_HasAttr(object, spyp.s_dlpack)) {
        long device = spyp_dl_device_of(object, NULL);
        if (device == -1 && PyErr_Occurred()) return -1;
        if (spyp_check_gradient(object, strcmp(what, "array") == 0 ? NULL : what) < 0) return -1;
        if (device != SPYP_DL_CPU && device != SPYP_DL_CUDA_HOST && device != SPYP_DL_ROCM_HOST && device != SPYP_DL_CUDA_MANAGED)
            return spyp_from_device(arena, object, what, array);
        // Torch exports no tensor that requires a gradient.
        if (spyp_is_true(object, "requires_grad")) return spyp_instead(arena, object, "detach", what, array);
        return spyp_from_dlpack(arena, object, what, array);
    }
    if (PyObject_HasAttr(object, spyp.s_cuda_array)) return spyp_from_device(arena, object, what, array);
    return spyp_instead(arena, object, NULL, what, array);
}

int spyp_host_array_get(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array) {
    memset(array, 0, sizeof *array);
    if (spyp_is_host_buffer(object)) return spyp_from_buffer(arena, object, what, array);
    if (spyp_arena_down(arena) < 0) return -1; // an array's detach() or cpu() may return further arrays without end
    int status = spyp_host_array_of(arena, object, what, array);
    spyp_arena_up(arena);
    return status;
}

// >>arrays that a call writes through a copy

typedef struct spyp_write_back {
    PyObject_HEAD
    spyp_host_array array;
    const void *before;
} spyp_write_back;

static PyObject *spyp_write_back_get(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(self);
    SPYP_UNUSED(ignored);
    Py_RETURN_NONE;
}

// Copies the elements back to the array if the call has changed any. If not, the array is left alone, because
// another thread may have written to it.
static PyObject *spyp_write_back_update(PyObject *self, PyObject *ignored) {
    const spyp_host_array *a = &((spyp_write_back *)self)->array;
    SPYP_UNUSED(ignored);
    if (memcmp(a->data, ((spyp_write_back *)self)->before, a->size_bytes) != 0) {
        union { const void *in; void *out; } packed;
        packed.in = a->data;
        if (a->swapped) spyp_swap_bytes((char *)packed.out, a->item, a->size_bytes / a->item);
        spyp_copy_strided((char *)packed.out, (char *)a->place, a->item, a->shape.dims, a->strides, a->shape.rank, true);
    }
    Py_RETURN_NONE;
}

static PyMethodDef spyp_write_back_methods[] = {
    { "get_this", spyp_write_back_get, METH_NOARGS, "get_this(): None." },
    { "update_this", spyp_write_back_update, METH_O, "update_this(value): copy the elements back." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot spyp_write_back_slots[] = {
    { Py_tp_methods, spyp_write_back_methods },
    { Py_tp_dealloc, (void *)spyp_free },
    { 0, NULL },
};

static PyType_Spec spyp_write_back_spec = { "slangpy._slangpy._WriteBack", sizeof(spyp_write_back), 0,
                                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_write_back_slots };

PyObject *spyp_write_back_make(spyp_arena *arena, const spyp_host_array *array) {
    if (!spyp.write_back) spyp.write_back = (PyTypeObject *)PyType_FromSpec(&spyp_write_back_spec);
    void *before = spyp_arena_take(arena, array->size_bytes);
    spyp_write_back *w = spyp.write_back && before ? (spyp_write_back *)spyp_alloc(spyp.write_back) : NULL;
    if (!w) return NULL;
    memcpy(before, array->data, array->size_bytes);
    w->array = *array;
    w->before = before;
    return spyp_arena_kept(arena, (PyObject *)w);
}

// >>numpy

PyObject *spyp_numpy(void) {
    if (!spyp.numpy) spyp.numpy = PyImport_ImportModule("numpy");
    if (!spyp.numpy && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ImportError, "this needs numpy, which is not installed: pip install numpy");
    }
    return Py_XNewRef(spyp.numpy);
}

const spy_type_info *spyp_inner_shape(const spy_type_info *info, spy_shape *inner) {
    inner->rank = 0;
    while (info && info->kind == SPY_TYPE_KIND_ARRAY && inner->rank < SPY_MAX_RANK - 2) {
        inner->dims[inner->rank++] = info->count;
        info = info->element;
    }
    if (info && info->kind == SPY_TYPE_KIND_MATRIX) inner->dims[inner->rank++] = info->rows;
    if (info && (info->kind == SPY_TYPE_KIND_MATRIX || info->kind == SPY_TYPE_KIND_VECTOR)) inner->dims[inner->rank++] = info->columns;
    return info;
}

// Describes the element type in numpy's way. Vectors (N,), matrices (R, C) and arrays (N, ...) become further
// dimensions of a scalar type; structs become structured dtypes.
PyObject *spyp_numpy_dtype(const spy_type_info *info, spy_dtype scalar, spy_shape *inner) {
    static const char *const names[SPY_DTYPE_COUNT] = { "f4", "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8" };
    info = spyp_inner_shape(info, inner);
    if (!info || info->kind != SPY_TYPE_KIND_STRUCT) return PyUnicode_FromString(names[info ? info->dtype : scalar]);
    PyObject *fields = PyList_New(0), *offsets = PyList_New(0), *formats = PyList_New(0), *result = NULL;
    for (uint32_t i = 0; fields && offsets && formats && i < info->field_count; i++) {
        spy_shape part;
        PyObject *type = spyp_numpy_dtype(info->fields[i].type, SPY_DTYPE_FLOAT32, &part), *shape = spyp_shape_tuple(&part);
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

PyObject *spyp_field_names(PyObject *object) {
    if (PyDict_Check(object)) return PyDict_Keys(object);
    PyObject *dtype = PyObject_GetAttr(object, spyp.s_dtype),
             *names = dtype ? PyObject_GetAttrString(dtype, "names") : NULL;
    Py_XDECREF(dtype);
    if (!names || names == Py_None || !PyTuple_Check(names)) {
        PyErr_Clear();
        Py_CLEAR(names);
    }
    return names;
}

// CuPy's arrays have the buffer protocol, too, but raise an exception when a buffer is asked for.
bool spyp_is_host_buffer(PyObject *object) {
    return PyObject_CheckBuffer(object) && !PyObject_HasAttr((PyObject *)Py_TYPE(object), spyp.s_cuda_array);
}
