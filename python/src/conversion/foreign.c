// CUDA memory that is shared with other libraries, without a copy. Their arrays become arguments and Tensors,
// and their streams are ordered with the device's. An array needs __cuda_array_interface__ or DLPack, whose C
// functions are used if its type has them, as torch's has.
#include "values/dlpack.h"
#include "conversion/conversion.h"
#include "slangpy_cuda.h"

#include <stdlib.h>
#include <string.h>

// >>libraries

// One class of arrays, and the functions by which its library is asked.
typedef struct spyp_producer {
    PyTypeObject *type;          // the class; NULL means that the entry is free
    const spyp_dl_exchange *api; // DLPack functions for C; NULL means that the array is asked through its attributes
    // function(device) that returns the library's stream; NULL means CUDA's default stream.
    PyObject *stream;
    PyObject *wrap; // function(DLPack producer) that makes an array of the library, or NULL
    // Descriptor of the property requires_grad if `api` is set and the class has it, or NULL.
    PyObject *requires_grad;
    descrgetfunc get; // getter of `requires_grad`, stored so that no name is looked up at each call
} spyp_producer;

#define SPYP_PRODUCERS 16
static spyp_producer spyp_producers[SPYP_PRODUCERS];

static const spyp_dl_exchange *spyp_find_exchange(PyTypeObject *type) {
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, spyp.s_exchange);
    const spyp_dl_exchange *api = NULL;
    if (capsule && PyCapsule_IsValid(capsule, SPYP_DL_NAME_EXCHANGE))
        api = (const spyp_dl_exchange *)PyCapsule_GetPointer(capsule, SPYP_DL_NAME_EXCHANGE);
    Py_XDECREF(capsule);
    PyErr_Clear();
    while (api && api->version.major > 1) api = api->previous;
    return api && api->version.major == 1 && api->view && api->work_stream && api->take ? api : NULL;
}

static void spyp_find_requires_grad(spyp_producer *p) {
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)p->type, "requires_grad");
    if (!descriptor) PyErr_Clear();
    else if ((p->get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get)) != NULL) p->requires_grad = descriptor;
    else Py_DECREF(descriptor);
}

// Asks slangpy/interop.py for the functions of a library that has no DLPack functions for C. It knows torch
// and CuPy.
static int spyp_ask_library(spyp_producer *p) {
    PyObject *module = PyImport_ImportModule("slangpy.interop");
    PyObject *pair = module ? PyObject_CallMethod(module, "_library_of", "O", (PyObject *)p->type) : NULL;
    PyObject *stream = pair ? PySequence_GetItem(pair, 0) : NULL, *wrap = stream ? PySequence_GetItem(pair, 1) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(pair);
    p->stream = stream == Py_None ? NULL : Py_XNewRef(stream);
    p->wrap = wrap == Py_None ? NULL : Py_XNewRef(wrap);
    Py_XDECREF(stream);
    Py_XDECREF(wrap);
    return wrap ? 0 : -1;
}

// Finds the functions for a class of arrays. spyp_producers keeps them until another class replaces the entry.
static int spyp_meet_producer(PyTypeObject *type, spyp_producer *out) {
    static uint32_t turn;
    spyp_producer p = { (PyTypeObject *)Py_NewRef((PyObject *)type), spyp_find_exchange(type), NULL, NULL, NULL, NULL };
    if (!p.api && spyp_ask_library(&p) < 0) {
        Py_DECREF((PyObject *)type);
        return -1;
    }
    if (p.api) spyp_find_requires_grad(&p);
    spyp_producer *at = &spyp_producers[turn++ % SPYP_PRODUCERS], old = *at;
    *out = *at = p;
    SPYP_DECREF(old.type);
    Py_XDECREF(old.stream);
    Py_XDECREF(old.wrap);
    Py_XDECREF(old.requires_grad);
    return 0;
}

static inline int spyp_find_producer(PyTypeObject *type, spyp_producer *out) {
    for (int i = 0; i < SPYP_PRODUCERS && spyp_producers[i].type; i++) {
        if (spyp_producers[i].type != type) continue;
        *out = spyp_producers[i];
        return 0;
    }
    return spyp_meet_producer(type, out);
}

int spyp_work_stream_of(PyTypeObject *type, int device, void **stream) {
    spyp_producer p;
    if (spyp_find_producer(type, &p) < 0) return -1;
    if (!p.api) return 0;
    if (p.api->work_stream(SPYP_DL_CUDA, device, stream) != 0) return -1;
    if (!*stream) *stream = SPY_CUDA_STREAM_LEGACY;
    return 1;
}

// >>streams of a call

static int spyp_add_stream(spyp_call *call, void *stream) {
    uint32_t i = 0;
    if (!stream) stream = SPY_CUDA_STREAM_LEGACY;
    while (i < call->stream_count && call->streams[i] != stream) i++;
    if (i == SPYP_SHARED) {
        PyErr_Format(spyp.value_error, "expected arrays of at most %d CUDA streams in one call", SPYP_SHARED);
        return -1;
    }
    call->streams[i] = stream;
    if (i == call->stream_count) call->stream_count++;
    return 0;
}

// Asks a library for its current stream.
static int spyp_ask_stream(const spyp_producer *p, int device, void **stream) {
    *stream = SPY_CUDA_STREAM_LEGACY;
    if (p->api && p->api->work_stream(SPYP_DL_CUDA, device, stream) != 0) return -1;
    if (!p->stream) return 0;
    PyObject *function = Py_NewRef(p->stream), *handle = PyObject_CallFunction(function, "i", device);
    int status = handle ? spyp_stream_parse(handle, stream) : -1;
    Py_XDECREF(handle);
    Py_DECREF(function);
    return status;
}

static spy_status spyp_order_streams(const spyp_call *call, void *own, spy_status (*order)(spy_device *device, void *stream)) {
    spy_status status = SPY_OK;
    for (uint32_t i = 0; i < call->stream_count && status == SPY_OK; i++)
        if (call->streams[i] != own) status = order(call->function->module->device->device, call->streams[i]);
    return status;
}

spy_status spyp_foreign_begin(const spyp_call *call, void *own) {
    return spyp_order_streams(call, own, spy_cuda_wait_stream);
}

spy_status spyp_foreign_end(const spyp_call *call, void *own) {
    return spyp_order_streams(call, own, spy_cuda_signal_stream);
}

// >>describing an array

// The memory of one array.
typedef struct spyp_extent {
    uint64_t address;
    uint32_t rank;
    int32_t dtype;
    int64_t sizes[2 * SPY_MAX_RANK]; // `rank` sizes, then `rank` strides; both count elements
} spyp_extent;

typedef struct spyp_seen_array {
    spyp_extent extent;
    // lasting: the address is known to be on this GPU, so a tensor over it can be kept.
    bool read_only, lasting;
} spyp_seen_array;

static int spyp_unsupported(const char *text) {
    PyErr_Format(PyExc_TypeError, "Unsupported type: an array of %s in CUDA memory; expected bool, int, uint or float of at most 64 bits", text);
    return -1;
}

static int spyp_check_gpu(const spyp_device *d, int number) {
    if (SPYP_LIKELY(number == d->cuda)) return 0;
    PyErr_Format(spyp.value_error, "expected an array in the memory of cuda:%d, which is the device's GPU, got one of cuda:%d", d->cuda, number);
    return -1;
}

static int spyp_bad_dl_type(const spyp_dl_tensor *t) {
    char text[64];
    const char *name = t->dtype.code == SPYP_DL_BFLOAT ? "bfloat" : t->dtype.code == SPYP_DL_COMPLEX ? "complex" : NULL;
    if (name && t->dtype.lanes == 1) PyOS_snprintf(text, sizeof text, "%s%d", name, t->dtype.bits);
    else PyOS_snprintf(text, sizeof text, "DLPack's code %d with %d bits and %d lanes", t->dtype.code, t->dtype.bits, t->dtype.lanes);
    return spyp_unsupported(text);
}

// Returns the product, or INT64_MAX if it is too large; spyp_extent_range() refuses that.
static int64_t spyp_times(int64_t step, int64_t size) {
    return size > 0 && step > INT64_MAX / size ? INT64_MAX : size > 0 ? step * size : step;
}

// Returns a stride in elements. CuPy 14 divides the bytes of a negative stride as an unsigned number, so that
// x[::-1] of float32 has 2^62 - 1; this is corrected.
static inline int64_t spyp_dl_stride(const spyp_dl_tensor *t, uint32_t i) {
    int64_t stride = t->strides[i], item = (int64_t)t->dtype.bits * t->dtype.lanes / 8;
    if (SPYP_LIKELY(stride < (int64_t)1 << 56) || item < 1) return stride;
    int64_t bytes = (int64_t)((uint64_t)stride * (uint64_t)item);
    return bytes < 0 && bytes % item == 0 ? bytes / item : stride;
}

static inline int spyp_see_dl(const spyp_device *d, const spyp_dl_tensor *t, spyp_seen_array *seen) {
    spyp_extent *e = &seen->extent;
    if (spyp_check_gpu(d, t->device.id) < 0) return -1;
    bool plain = t->dtype.code == SPYP_DL_FLOAT && t->dtype.bits == 32 && t->dtype.lanes == 1;
    e->dtype = (int32_t)(plain ? SPY_DTYPE_FLOAT32 : spyp_dtype_of_dl(t));
    if (e->dtype == (int32_t)SPY_DTYPE_DEFAULT) return spyp_bad_dl_type(t);
    if (t->ndim < 0 || t->ndim > SPY_MAX_RANK) return spyp_too_many_dims("DLPack", t->ndim);
    e->rank = (uint32_t)t->ndim;
    e->address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    for (uint32_t i = 0; i < e->rank; i++) e->sizes[i] = t->shape[i];
    if (SPYP_LIKELY(t->strides != NULL)) {
        for (uint32_t i = 0; i < e->rank; i++) e->sizes[e->rank + i] = spyp_dl_stride(t, i);
    } else {
        int64_t step = 1;
        for (uint32_t i = e->rank; i-- > 0; step = spyp_times(step, t->shape[i])) e->sizes[e->rank + i] = step;
    }
    seen->lasting = true;
    return 0;
}

// Reads the element type of a __cuda_array_interface__, such as "<f4".
static int spyp_see_typestr(PyObject *typestr, spyp_extent *e, Py_ssize_t *item) {
    const char *text = typestr && PyUnicode_Check(typestr) ? spyp_utf8(typestr) : "";
    if (!text) return -1;
    bool good = text[0] && text[1] && text[2] >= '0' && text[2] <= '9';
    *item = good ? (Py_ssize_t)strtol(text + 2, NULL, 10) : 0;
    spy_dtype dtype = good && !(text[0] == '>' && *item > 1) ? spyp_dtype_of_family(text[1], *item) : SPY_DTYPE_DEFAULT;
    e->dtype = (int32_t)dtype;
    if (dtype != SPY_DTYPE_DEFAULT) return 0;
    char words[96];
    PyOS_snprintf(words, sizeof words, "%s ('%.40s')", text[0] == '>' ? "big-endian numbers" : good && text[1] == 'c' ? "complex numbers" : "other elements", text);
    return spyp_unsupported(words);
}

static int spyp_see_strides(PyObject *strides, spyp_extent *e, Py_ssize_t item) {
    int64_t *out = e->sizes + e->rank, step = 1;
    bool given = strides && strides != Py_None;
    for (uint32_t i = e->rank; i-- > 0;) {
        PyObject *bytes = given ? PySequence_GetItem(strides, (Py_ssize_t)i) : NULL;
        out[i] = bytes ? PyLong_AsLongLong(bytes) : step;
        Py_XDECREF(bytes);
        if (PyErr_Occurred()) return -1;
        if (given && out[i] % item) {
            PyErr_Format(spyp.value_error, "__cuda_array_interface__: expected strides that are multiples of the elements' %zd bytes, got %R", item, strides);
            return -1;
        }
        if (given) out[i] /= item;
        step = spyp_times(step, e->sizes[i]);
    }
    return 0;
}

// Reads a __cuda_array_interface__. `items` are the keys and values of its dict.
static int spyp_see_interface(PyObject *items, spyp_seen_array *seen, PyObject **stream) {
    spyp_extent *e = &seen->extent;
    PyObject *shape = spyp_item_named(items, "shape"), *data = spyp_item_named(items, "data");
    PyObject *mask = spyp_item_named(items, "mask");
    spy_shape sizes;
    Py_ssize_t item;
    *stream = spyp_item_named(items, "stream");
    if (!shape || !data || !PyTuple_Check(data) || PyTuple_Size(data) != 2) {
        PyErr_Format(PyExc_TypeError, "__cuda_array_interface__: expected 'shape', and 'data' as (address, read-only), got %R", items);
        return -1;
    }
    if (mask && mask != Py_None) {
        PyErr_SetString(PyExc_TypeError, "Unsupported type: a masked array in CUDA memory");
        return -1;
    }
    if (spyp_shape_parse(shape, "__cuda_array_interface__", &sizes) < 0) return -1;
    e->rank = sizes.rank;
    memcpy(e->sizes, sizes.dims, sizes.rank * sizeof *e->sizes);
    PyObject *address = PyTuple_GetItem(data, 0);
    e->address = address == Py_None ? 0 : PyLong_AsUnsignedLongLong(address);
    int read_only = PyErr_Occurred() ? -1 : PyObject_IsTrue(PyTuple_GetItem(data, 1));
    if (read_only < 0 || spyp_see_typestr(spyp_item_named(items, "typestr"), e, &item) < 0) return -1;
    seen->read_only = read_only;
    seen->lasting = false; // the interface does not say which GPU has the memory
    return spyp_see_strides(spyp_item_named(items, "strides"), e, item);
}

// >>tensors over arrays

// Computes the bytes from the lowest element to the end of the highest one, and where the first element lies.
// Returns -1 with an exception set.
static int spyp_extent_range(const spyp_extent *e, int64_t *count, int64_t *first, int64_t *elements) {
    int64_t low = 0, high = 0, most = INT64_MAX / 64;
    *elements = 1;
    for (uint32_t i = 0; i < e->rank; i++) {
        int64_t n = e->sizes[i], step = e->sizes[e->rank + i], reach = step == INT64_MIN ? -1 : step < 0 ? -step : step;
        bool good = n >= 0 && reach >= 0 && (n == 0 || *elements <= most / n) && (n <= 1 || reach <= most / (n - 1));
        if (good && n > 1) *(step < 0 ? &low : &high) += (n - 1) * step;
        if (!good || low < -most || high > most) {
            PyErr_Format(spyp.value_error, "expected an array in memory, got one with %lld elements of stride %lld in dimension %u", (long long)n,
                         (long long)step, i);
            return -1;
        }
        *elements *= n;
    }
    *first = -low;
    *count = high - low + 1;
    return 0;
}

// Makes a tensor over an array's memory. Returns NULL with an exception set. Call it inside the device.
static spy_tensor *spyp_tensor_over_extent(spyp_device *d, const spyp_extent *e) {
    int64_t count, first, elements;
    spy_tensor_desc desc;
    spy_view_desc view;
    if (spyp_extent_range(e, &count, &first, &elements) < 0) return NULL;
    memset(&desc, 0, sizeof desc);
    memset(&view, 0, sizeof view);
    view.shape.rank = view.strides.rank = e->rank;
    memcpy(view.shape.dims, e->sizes, e->rank * sizeof *e->sizes);
    memcpy(view.strides.dims, e->sizes + e->rank, e->rank * sizeof *e->sizes);
    view.offset_elements = first;
    desc.dtype = (spy_dtype)e->dtype;
    desc.shape.rank = 1;
    desc.shape.dims[0] = count;
    size_t size = spy_dtype_size_bytes(desc.dtype);
    if (!elements) desc.shape = view.shape; // an array without elements may have any address
    spy_tensor *all = elements ? spy_cuda_create_tensor(d->device, e->address - (uint64_t)first * size, (uint64_t)count * size, &desc)
                               : spy_create_tensor(d->device, &desc);
    spy_tensor *made = all && elements ? spy_create_view(all, &view) : all;
    if (!made) spyp_raise(d);
    if (all && all != made) spy_release_tensor(all);
    return made;
}

// A cache of tensors over the arrays that were arguments recently, because allocators return the same
// addresses and sizes again. The tensors keep no memory alive: each call's own array does.
#define SPYP_IMPORTS 256   // entries of the cache
#define SPYP_IMPORT_WAYS 4 // entries that may hold a given array
typedef struct spyp_import {
    spyp_extent extent;
    spy_tensor *tensor; // NULL means that the entry is free
} spyp_import;

typedef struct spyp_imports {
    spyp_import items[SPYP_IMPORTS];
    // turn: chooses the entry that is replaced next. users: running calls that may use the tensors.
    uint32_t turn, users;
    spy_tensor **dropped; // tensors that are not in `items`; released when there are no users
    size_t dropped_count, dropped_room;
} spyp_imports;

static void spyp_release_dropped(spyp_device *d, spyp_imports *m) {
    bool ours = d->device && d->fork_count == spyp.fork_count;
    while (m->dropped_count) {
        spy_tensor *t = m->dropped[--m->dropped_count];
        if (ours) spy_release_tensor(t);
    }
}

static int spyp_drop_import(spyp_imports *m, spy_tensor *tensor) {
    if (m->dropped_count == m->dropped_room) {
        size_t room = m->dropped_room ? 2 * m->dropped_room : 16;
        spy_tensor **more = (spy_tensor **)PyMem_Realloc(m->dropped, room * sizeof *more);
        if (!more) {
            PyErr_NoMemory();
            return -1;
        }
        m->dropped = more;
        m->dropped_room = room;
    }
    m->dropped[m->dropped_count++] = tensor;
    return 0;
}

void spyp_imports_drop(spyp_device *d) {
    spyp_imports *m = d->imports;
    if (!m) return;
    d->imports = NULL;
    for (uint32_t i = 0; i < SPYP_IMPORTS; i++)
        if (m->items[i].tensor && d->device && d->fork_count == spyp.fork_count) spy_release_tensor(m->items[i].tensor);
    spyp_release_dropped(d, m);
    PyMem_Free(m->dropped);
    PyMem_Free(m);
}

static inline bool spyp_same_extent(const spyp_extent *a, const spyp_extent *b) {
    if (a->address != b->address || a->rank != b->rank || a->dtype != b->dtype) return false;
    for (uint32_t i = 0; i < 2 * a->rank; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return true;
}

static spy_tensor *spyp_new_import(spyp_device *d, spyp_imports *m, const spyp_seen_array *seen, uint32_t slot) {
    if (spyp_enter(d, "CUDA array") < 0) return NULL;
    spy_tensor *made = spyp_tensor_over_extent(d, &seen->extent);
    spyp_leave(d);
    if (!made) return NULL;
    spyp_import *at = NULL;
    for (uint32_t i = 0; i < SPYP_IMPORT_WAYS && seen->lasting && !at; i++)
        if (!m->items[(slot + i) % SPYP_IMPORTS].tensor) at = &m->items[(slot + i) % SPYP_IMPORTS];
    if (!at && seen->lasting) at = &m->items[(slot + m->turn++ % SPYP_IMPORT_WAYS) % SPYP_IMPORTS];
    spy_tensor *out = at ? at->tensor : made;
    if (out && spyp_drop_import(m, out) < 0) {
        spy_release_tensor(made);
        return NULL;
    }
    if (at) {
        at->extent = seen->extent;
        at->tensor = made;
    }
    return made;
}

static inline spy_tensor *spyp_import_of(spyp_device *d, const spyp_seen_array *seen) {
    const spyp_extent *e = &seen->extent;
    spyp_imports *m = d->imports;
    uint64_t mixed = (e->address ^ (uint64_t)(e->rank ? e->sizes[0] : 0) << 40 ^ (uint64_t)e->rank << 60) * 0x9E3779B97F4A7C15u;
    uint32_t slot = (uint32_t)(mixed >> 56);
    for (uint32_t i = 0; i < SPYP_IMPORT_WAYS && seen->lasting; i++) {
        const spyp_import *at = &m->items[(slot + i) % SPYP_IMPORTS];
        if (at->tensor && spyp_same_extent(&at->extent, e)) return at->tensor;
    }
    return spyp_new_import(d, m, seen, slot);
}

void spyp_foreign_return(spyp_call *call) {
    spyp_imports *m = call->borrows->imports;
    if (m && m->users && --m->users == 0 && SPYP_UNLIKELY(m->dropped_count)) spyp_release_dropped(call->borrows, m);
}

static int spyp_borrow_imports(spyp_call *call, spyp_device *d) {
    if (!d->imports) d->imports = (spyp_imports *)PyMem_Calloc(1, sizeof *d->imports);
    if (!d->imports) {
        PyErr_NoMemory();
        return -1;
    }
    d->imports->users++;
    call->borrows = d;
    return 0;
}

// >>asking an array

// Raises a TypeError for an array whose library has raised an exception: with the array's layout if that is a sparse one of torch, else with
// the first line of the exception's text, because torch puts a trace of C++ functions behind it.
static int spyp_unsupported_by(PyObject *object) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *layout = PyObject_GetAttrString(object, "layout"), *name = layout ? PyObject_Str(layout) : NULL;
    const char *words = name ? spyp_utf8(name) : NULL;
    PyErr_Clear();
    if (words && strstr(words, "sparse")) {
        PyErr_Format(PyExc_TypeError, "Unsupported type: a tensor of layout %U; expected one of layout torch.strided, such as x.to_dense() gives", name);
    } else {
        PyObject *text = value ? PyObject_Str(value) : NULL, *lines = text ? PyUnicode_Splitlines(text, 0) : NULL;
        PyObject *first = lines && PyList_Size(lines) > 0 ? PyList_GetItem(lines, 0) : NULL;
        PyErr_Clear();
        if (first) PyErr_Format(PyExc_TypeError, "Unsupported type: %U", first);
        else PyErr_SetString(PyExc_TypeError, "Unsupported type: its library cannot give it");
        Py_XDECREF(lines);
        Py_XDECREF(text);
    }
    Py_XDECREF(name);
    Py_XDECREF(layout);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

// Returns the device's stream in the numbers of DLPack and the array interface, which have no stream 0. NULL with an exception set.
static PyObject *spyp_own_stream(spyp_device *d) {
    if (spyp_enter(d, "CUDA array") < 0) return NULL;
    void *stream = spy_cuda_get_stream(d->device);
    spyp_leave(d);
    return PyLong_FromVoidPtr(stream);
}

// Describes an array by its __dlpack__, which orders the library's stream before the device's. *capsule is a
// new reference.
static int spyp_see_dlpack(spyp_device *d, PyObject *object, spyp_seen_array *seen, PyObject **capsule) {
    PyObject *stream = NULL, *plain = NULL;
    *capsule = NULL;
    if (PyCapsule_CheckExact(object)) *capsule = Py_NewRef(object);
    else if ((stream = spyp_own_stream(d)) != NULL) {
        bool grad = spyp_is_true(object, "requires_grad"); // torch exports no tensor that requires a gradient
        plain = grad ? PyObject_CallMethod(object, "detach", NULL) : Py_NewRef(object);
        if (plain) *capsule = spyp_dlpack_capsule(plain, stream, "DLPack");
    }
    Py_XDECREF(plain);
    Py_XDECREF(stream);
    const spyp_dl_tensor *tensor = *capsule ? spyp_capsule_tensor(*capsule, "DLPack", &seen->read_only) : NULL;
    PyObject *hold = tensor && spyp_see_dl(d, tensor, seen) == 0 ? spyp_capsule_hold(*capsule) : NULL;
    spyp_replace(capsule, hold);
    return hold ? 1 : -1;
}

// Returns 1 if the object has an array in CUDA memory, and the GPU's number, or -1 for the number if the object does not tell it. Returns 0
// for other objects, and -1 with an exception set.
static int spyp_has_cuda_memory(PyObject *object, bool *dlpack, int *number) {
    *dlpack = false;
    *number = -1;
    if (PyCapsule_CheckExact(object)) {
        bool read_only;
        const spyp_dl_tensor *tensor = spyp_capsule_tensor(object, "DLPack", &read_only);
        if (!tensor) return -1;
        *dlpack = true;
        *number = tensor->device.id;
        return tensor->device.type == SPYP_DL_CUDA;
    }
    if (PyObject_HasAttr(object, spyp.s_dlpack)) {
        long type = spyp_dl_device_of(object, number);
        if (type == -1 && PyErr_Occurred()) return -1;
        *dlpack = true;
        return type == SPYP_DL_CUDA;
    }
    return PyObject_HasAttr(object, spyp.s_cuda_array);
}

// Describes an array by its attributes: *seen, a new reference to the object that keeps its memory, and the library's current stream.
// Returns 1, or 0 if it is not in CUDA memory, or -1 with an exception set.
static int spyp_see_attributes(spyp_device *d, const spyp_producer *p, PyObject *object, spyp_seen_array *seen, PyObject **keeper,
                               void **stream) {
    bool dlpack;
    int number, found = spyp_has_cuda_memory(object, &dlpack, &number);
    *keeper = NULL;
    seen->read_only = false;
    if (found <= 0) return found;
    if (spyp_check_gradient(object, NULL) < 0) return -1;
    if (dlpack) {
        if (spyp_check_gpu(d, number) < 0 || spyp_ask_stream(p, d->cuda, stream) < 0) return -1;
        return spyp_see_dlpack(d, object, seen, keeper);
    }
    PyObject *dict = PyObject_GetAttr(object, spyp.s_cuda_array), *given = NULL;
    if (dict && PyDict_Check(dict)) spyp_replace(&dict, spyp_dict_items(dict, "__cuda_array_interface__"));
    else if (dict) PyErr_Format(PyExc_TypeError, "__cuda_array_interface__: expected a dict, got %R", dict);
    int status = dict && !PyErr_Occurred() ? spyp_see_interface(dict, seen, &given) : -1;
    if (status == 0) status = given && given != Py_None ? spyp_stream_parse(given, stream) : spyp_ask_stream(p, d->cuda, stream);
    Py_XDECREF(dict);
    if (status < 0) return -1;
    *keeper = Py_NewRef(object);
    return 1;
}

// >>arguments

static int spyp_see_by_attributes(spyp_call *call, const spyp_producer *p, PyObject *object, spyp_seen_array *seen) {
    PyObject *keeper;
    void *stream = NULL;
    // A copy with its own references, because the entry may be replaced meanwhile.
    spyp_producer mine = { p->type, NULL, Py_XNewRef(p->stream), Py_XNewRef(p->wrap), NULL, NULL };
    int found = spyp_see_attributes(call->function->module->device, &mine, object, seen, &keeper, &stream);
    if (found > 0 && (spyp_add_stream(call, stream) < 0 || spyp_arena_keep(&call->arena, keeper) < 0 ||
                      (mine.wrap && spyp_arena_keep(&call->arena, mine.wrap) < 0)))
        found = -1;
    if (found > 0 && !call->wrap) call->wrap = mine.wrap;
    Py_XDECREF(keeper);
    Py_XDECREF(mine.stream);
    Py_XDECREF(mine.wrap);
    return found;
}

static inline int spyp_wants_gradient(const spyp_producer *p, PyObject *object) {
    PyObject *flag = p->get(p->requires_grad, object, (PyObject *)p->type);
    Py_XDECREF(flag); // True and False are never freed
    return SPYP_LIKELY(flag == Py_False) ? 0 : !flag ? -1 : flag == Py_True ? spyp_refuse_gradient(NULL) : 0;
}

int spyp_requires_gradient(PyObject *object) {
    spyp_producer p;
    if (spyp_find_producer(Py_TYPE(object), &p) < 0) return -1;
    if (!p.requires_grad) return 0;
    PyObject *flag = p.get(p.requires_grad, object, (PyObject *)p.type);
    Py_XDECREF(flag); // True and False are never freed
    return flag ? flag == Py_True : -1;
}

int spyp_torch_view(PyObject *object, spyp_dl_tensor *out) {
    spyp_producer p;
    if (spyp_find_producer(Py_TYPE(object), &p) == 0 && p.api && p.api->view(object, out) == 0) return 0;
    PyErr_Clear();
    return -1;
}

static inline int spyp_see_array(spyp_call *call, PyObject *object, spyp_seen_array *seen) {
    spyp_producer p;
    spyp_dl_tensor t;
    seen->read_only = false;
    if (spyp_find_producer(Py_TYPE(object), &p) < 0) return -1;
    if (SPYP_UNLIKELY(!p.api)) return spyp_see_by_attributes(call, &p, object, seen);
    if (p.requires_grad && spyp_wants_gradient(&p, object) < 0) return -1;
    if (p.api->view(object, &t) != 0) return spyp_unsupported_by(object);
    if (t.device.type != SPYP_DL_CUDA) {
        call->host_torch = call->host_torch || p.requires_grad;
        return 0;
    }
    const spyp_device *d = call->function->module->device;
    if (spyp_see_dl(d, &t, seen) < 0) return -1;
    if (SPYP_LIKELY(call->library == p.api)) return 1;
    void *stream = NULL;
    if (p.api->work_stream(SPYP_DL_CUDA, d->cuda, &stream) != 0 || spyp_add_stream(call, stream) < 0) return -1;
    if (!call->library) call->library = p.api;
    return 1;
}

// Notes that the object is a tensor of torch, which alone has requires_grad, for a device of another API than
// CUDA. Returns -1 with an exception set if it lies in CUDA memory.
static int spyp_note_torch(spyp_call *call, PyObject *object) {
    spyp_producer p;
    spyp_dl_tensor t;
    if (spyp_is_plain(object)) return 0;
    if (spyp_find_producer(Py_TYPE(object), &p) < 0) return -1;
    if (!p.requires_grad) return 0;
    call->host_torch = true;
    if (!call->diverts) return 0;
    if (p.api->view(object, &t) != 0) PyErr_Clear();
    else if (t.device.type == SPYP_DL_CUDA) {
        PyErr_SetString(spyp.wants_gradient, "the tensor lies in CUDA memory, which a device of another API cannot use");
        return -1;
    }
    return 0;
}

int spyp_foreign_convert(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_device *d = call->function->module->device;
    spyp_seen_array seen;
    if (spyp_is_host_buffer(object)) return 0;
    if (d->cuda < 0) return spyp_note_torch(call, object);
    int found = spyp_see_array(call, object, &seen);
    if (found <= 0 || (!call->borrows && spyp_borrow_imports(call, d) < 0)) return found <= 0 ? found : -1;
    spy_tensor *tensor = spyp_import_of(d, &seen);
    if (!tensor) return -1;
    *arg = spy_arg_tensor(NULL, tensor);
    if (seen.read_only) arg->direction = SPY_DIRECTION_IN;
    return 1;
}

// >>leases: memory that the device and another library use

// A lease of memory that the device and another library use; see spyp_lease_make().
typedef struct spyp_lease {
    PyObject_HEAD
    spyp_device *device;
    void *stream; // CUDA stream in which the other library uses the memory; NULL if not known
    bool counted; // the stream has been counted in device->shared
    PyObject *object;
} spyp_lease;

static PyTypeObject *spyp_lease_type;

// Counts one more use of a stream. A device that follows a library's stream always works in that stream and
// needs no count.
static int spyp_share_begin(spyp_device *d, void *stream) {
    uint32_t i = 0;
    while (i < d->shared_count && d->shared[i].stream != stream) i++;
    if (i == SPYP_SHARED) {
        PyErr_Format(spyp.value_error, "expected memory of the device to be used in at most %d other CUDA streams at a time", SPYP_SHARED);
        return -1;
    }
    if (i == d->shared_count) {
        d->shared[i].stream = stream;
        d->shared[d->shared_count++].users = 0;
    }
    d->shared[i].users++;
    return 0;
}

static void spyp_share_end(spyp_device *d, const void *stream) {
    for (uint32_t i = 0; i < d->shared_count; i++)
        if (d->shared[i].stream == stream && --d->shared[i].users == 0) {
            d->shared[i] = d->shared[--d->shared_count];
            return;
        }
}

PyObject *spyp_lease_make(spyp_device *d, void *stream, PyObject *object) {
    bool counted = stream && !d->follow;
    if (counted && spyp_share_begin(d, stream) < 0) return NULL;
    spyp_lease *lease = (spyp_lease *)spyp_alloc(spyp_lease_type);
    if (!lease) {
        if (counted) spyp_share_end(d, stream);
        return NULL;
    }
    lease->device = (spyp_device *)Py_NewRef((PyObject *)d);
    lease->stream = stream;
    lease->counted = counted;
    lease->object = Py_NewRef(object);
    return (PyObject *)lease;
}

// The device's work is ordered after the lease's stream when a thread enters the device next. Then the memory can be used again.
void spyp_lease_end(PyObject *lease) {
    spyp_device *d = ((spyp_lease *)lease)->device;
    if (d->device && d->fork_count == spyp.fork_count) {
        if (!d->returned) d->returned = PyList_New(0);
        if (!d->returned || PyList_Append(d->returned, lease) < 0) PyErr_Clear();
    }
    Py_DECREF(lease);
}

// Takes back the memory of leases that have ended. A stream that does not exist any more has no work either.
// Call it inside the device.
static void spyp_take_returned(spyp_device *d) {
    PyObject *list = d->returned;
    d->returned = NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        void *stream = ((spyp_lease *)PyList_GetItem(list, i))->stream;
        if (stream && stream != d->stream && spy_cuda_wait_stream(d->device, stream) != SPY_OK) (void)spy_take_error(d->device);
    }
    Py_DECREF(list);
}

int spyp_stream_enter(spyp_device *d) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    int status = d->follow ? spyp_stream_follow(d) : 0;
    for (uint32_t i = 0; status == 0 && i < d->shared_count; i++)
        if (spy_cuda_wait_stream(d->device, d->shared[i].stream) != SPY_OK) status = spyp_raise(d) ? 0 : -1;
    if (status == 0 && d->returned) spyp_take_returned(d);
    if (status == 0) {
        PyErr_Restore(type, value, trace);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    spyp_leave(d);
    return -1;
}

void spyp_stream_leave(spyp_device *d) {
    for (uint32_t i = 0; i < d->shared_count && d->device; i++)
        if (spy_cuda_signal_stream(d->device, d->shared[i].stream) != SPY_OK) (void)spy_take_error(d->device);
}

int spyp_foreign_keep(const spyp_call *call, PyObject *list, PyObject *objects) {
    if (!call->stream_count) return PyList_Append(list, objects);
    for (uint32_t i = 0; i < call->stream_count; i++) {
        PyObject *lease = spyp_lease_make(call->borrows, call->streams[i], objects);
        int status = lease ? PyList_Append(list, lease) : -1;
        Py_XDECREF(lease);
        if (status < 0) return -1;
    }
    return 0;
}

static void spyp_lease_dealloc(PyObject *self) {
    spyp_lease *lease = (spyp_lease *)self;
    PyObject_GC_UnTrack(self);
    if (lease->counted) spyp_share_end(lease->device, lease->stream);
    Py_CLEAR(lease->object);
    Py_CLEAR(lease->device);
    spyp_free(self);
}

static int spyp_lease_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_lease *)self)->device);
    Py_VISIT(((spyp_lease *)self)->object);
    return 0;
}

static PyType_Slot spyp_lease_slots[] = {
    { Py_tp_dealloc, (void *)spyp_lease_dealloc },
    { Py_tp_traverse, (void *)spyp_lease_traverse },
    { 0, NULL },
};

// >>tensors for users

// Returns a view of the tensor whose elements are of `dtype`; the tensor's numbers are their scalars. Takes
// over `tensor`. Call it inside the device. Returns NULL with an exception set.
static spy_tensor *spyp_see_as(spyp_device *d, spy_tensor *tensor, const spyp_dtype *dtype, const char *what) {
    spy_tensor_info info = spy_get_tensor_info(tensor);
    spyp_module *module = dtype->from ? (spyp_module *)Py_NewRef((PyObject *)dtype->from) : d->above->default_module(d);
    const spy_type_info *type = module && dtype->type ? spy_reflect_type(module->module, dtype->type) : NULL;
    spy_tensor *made = NULL;
    spy_view_desc view;
    size_t each = 1;
    memset(&view, 0, sizeof view);
    spy_dtype scalar = type ? spyp_scalar_of(type, &each) : dtype->scalar;
    if (module && dtype->type && !type) {
        spyp_raise(d);
    } else if (module && (scalar != info.dtype || scalar == SPY_DTYPE_DEFAULT)) {
        PyErr_Format(PyExc_TypeError, "%s: argument 'dtype': expected one whose numbers are all %s, as the array's, got %s", what, info.type,
                     type ? type->name : spy_dtype_name(dtype->scalar));
    } else if (module && !type) {
        made = tensor;
    } else if (module && spyp_outer_shape(type, &info.shape, &view.shape, what) == 0) {
        bool good = true;
        int64_t step = 1;
        for (uint32_t i = info.shape.rank; i-- > view.shape.rank; step *= info.shape.dims[i]) good = good && (info.shape.dims[i] == 1 || info.strides.dims[i] == step);
        view.strides.rank = view.shape.rank;
        for (uint32_t i = 0; i < view.shape.rank; i++) {
            good = good && (info.shape.dims[i] <= 1 || info.strides.dims[i] % (int64_t)each == 0);
            view.strides.dims[i] = info.strides.dims[i] / (int64_t)each;
        }
        view.type = type->name;
        view.module = module->module;
        if (good && !(made = spy_create_view(tensor, &view))) spyp_raise(d);
        if (made && spy_get_tensor_info(made).element_size_bytes != each * spy_dtype_size_bytes(scalar)) {
            spy_release_tensor(made);
            made = NULL;
            good = false;
        }
        if (!good) PyErr_Format(spyp.value_error, "%s: argument 'dtype': expected an array whose numbers lie as those of %s do, without gaps", what, type->name);
    }
    SPYP_DECREF(module);
    if (made != tensor) spy_release_tensor(tensor);
    return made;
}

// Puts the names of a function and of its argument before the text of the exception that is set.
static void spyp_name_array(const char *what) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (type == PyExc_TypeError || type == PyExc_ValueError || PyErr_GivenExceptionMatches(type, spyp.error))
        PyErr_Format(type, "%s: argument 'array': %S", what, value);
    else PyErr_Restore(Py_XNewRef(type), Py_XNewRef(value), Py_XNewRef(trace));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

PyObject *spyp_foreign_tensor(PyTypeObject *type, spyp_device *d, PyObject *object, PyObject *dtype, bool reads, const char *what) {
    spyp_producer p;
    spyp_seen_array seen;
    spyp_dtype parsed;
    PyObject *keeper, *made = NULL;
    void *stream = NULL;
    if (d->cuda < 0 || spyp_is_host_buffer(object) || spyp_find_producer(Py_TYPE(object), &p) < 0) return NULL;
    spyp_producer mine = { p.type, p.api, Py_XNewRef(p.stream), NULL, NULL, NULL };
    int found = spyp_see_attributes(d, &mine, object, &seen, &keeper, &stream);
    Py_XDECREF(mine.stream);
    if (found < 0) spyp_name_array(what);
    memset(&parsed, 0, sizeof parsed);
    if (found > 0 && seen.read_only && !reads)
        PyErr_Format(spyp.value_error, "%s: expected an array that may be written, got a read-only one; from_numpy() copies it", what);
    else if (found > 0 && (!dtype || dtype == Py_None || spyp_dtype_parse(dtype, what, "dtype", &parsed) == 0) && spyp_enter(d, what) == 0) {
        spy_tensor *tensor = spyp_tensor_over_extent(d, &seen.extent);
        if (tensor && (parsed.scalar || parsed.type)) tensor = spyp_see_as(d, tensor, &parsed, what);
        if (tensor && spy_cuda_wait_stream(d->device, stream) != SPY_OK) {
            spyp_raise(d);
            spy_release_tensor(tensor);
            tensor = NULL;
        }
        spyp_leave(d);
        PyObject *lease = tensor ? spyp_lease_make(d, stream, keeper) : NULL;
        if (lease) made = spyp_tensor_make(type, d, tensor, (PyObject *)parsed.from);
        else if (tensor) spy_release_tensor(tensor);
        if (made) ((spyp_tensor *)made)->owner = Py_NewRef(lease);
        Py_XDECREF(lease);
    }
    Py_XDECREF(parsed.keeps);
    Py_XDECREF(keeper);
    return made;
}

PyObject *spyp_foreign_give(const spyp_call *call, PyObject *tensor) {
    PyObject *given = NULL;
    void *object = NULL;
    if ((!call->library && !call->wrap && !call->host_torch) || !tensor || !PyObject_TypeCheck(tensor, spyp.tensor)) return tensor;
    if (call->library) {
        spyp_dl_versioned *shared = spyp_export_shared((spyp_tensor *)tensor, call->streams[0]);
        if (shared && call->library->take(shared, &object) == 0) given = (PyObject *)object;
    } else if (call->wrap) {
        given = PyObject_CallFunctionObjArgs(call->wrap, tensor, NULL);
    } else {
        given = PyObject_CallMethod(tensor, "to_torch", NULL);
    }
    if (!given && PyErr_ExceptionMatches(PyExc_BufferError)) { // DLPack has no type for structs
        PyErr_Clear();
        return tensor;
    }
    Py_DECREF(tensor);
    return given;
}

PyObject *spyp_foreign_take(const spyp_call *call, struct spyp_dl_versioned *result) {
    void *object = NULL;
    return call->library->take(result, &object) == 0 ? (PyObject *)object : NULL;
}

static PyType_Spec spyp_lease_spec = { "slangpy._slangpy._Lease", sizeof(spyp_lease), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_lease_slots };

int spyp_foreign_ready(PyObject *module) {
    SPYP_UNUSED(module);
    return (spyp_lease_type = (PyTypeObject *)PyType_FromSpec(&spyp_lease_spec)) ? 0 : -1;
}
