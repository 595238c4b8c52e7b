// The one static struct, interned names, the memory of a call, and helpers that every file uses.
#include "state/state.h"

#include <stdarg.h>
#include <string.h>

spyp_state spyp;
SPYP_THREAD_LOCAL bool spyp_tracing;

// >>helpers

PyTypeObject *spyp_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base) {
    PyObject *type = PyType_FromSpecWithBases(spec, (PyObject *)base);
    const char *dot = strrchr(spec->name, '.');
    if (!type) return NULL;
    if (PyModule_AddObjectRef(module, dot ? dot + 1 : spec->name, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type;
}

int spyp_methods_add(PyTypeObject *type, PyMethodDef *methods) {
    for (PyMethodDef *m = methods; m->ml_name; m++) {
        PyObject *descriptor = m->ml_flags & METH_CLASS ? PyDescr_NewClassMethod(type, m) : PyDescr_NewMethod(type, m);
        int set = descriptor ? PyObject_SetAttrString((PyObject *)type, m->ml_name, descriptor) : -1;
        Py_XDECREF(descriptor);
        if (set < 0) return -1;
    }
    return 0;
}

int spyp_getset_add(PyTypeObject *type, PyGetSetDef *def) {
    PyObject *descriptor = PyDescr_NewGetSet(type, def);
    int status = descriptor ? PyObject_SetAttrString((PyObject *)type, def->name, descriptor) : -1;
    Py_XDECREF(descriptor);
    return status;
}

PyObject *spyp_alloc(PyTypeObject *type) {
    return PyType_GenericAlloc(type, 0);
}

void spyp_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

const char *spyp_utf8(PyObject *string) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(string, &size);
    if (SPYP_LIKELY(text && strlen(text) == (size_t)size)) return text;
    if (text) PyErr_Format(spyp.value_error, "expected text without NUL characters, got %R", string);
    else if (PyErr_ExceptionMatches(PyExc_UnicodeError)) PyErr_Format(spyp.value_error, "expected text that UTF-8 can encode, got %R", string);
    return NULL;
}

PyObject *spyp_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *text = PyUnicode_FromFormatV(format, args);
    va_end(args);
    return text;
}

PyObject *spyp_one_argument(const char *method, const char *parameter, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (SPYP_LIKELY(count == 1 && !named)) return args[0];
    if (count == 0 && named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, 0), parameter) == 0)
        return args[0];
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, i), parameter) != 0)
            return PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", method,
                                PyTuple_GetItem(keywords, i));
    return PyErr_Format(PyExc_TypeError, "%s() takes exactly one argument, '%s' (%zd given)", method, parameter,
                        count + named);
}

int spyp_check_args(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most) {
    if (given >= least && given <= most) return 0;
    if (given > most)
        PyErr_Format(PyExc_TypeError, "%s: Too many arguments: expected %zd, got %zd", function, most, given);
    else
        PyErr_Format(PyExc_TypeError, "%s: expected at least %zd arguments, got %zd", function, least, given);
    return -1;
}

// >>memory of one call

void spyp_arena_begin(spyp_arena *arena) {
    arena->used = 0;
    arena->room = sizeof arena->first;
    arena->more = NULL;
    arena->held = NULL;
    arena->kept = NULL;
    arena->depth = 0;
}

typedef struct spyp_held {
    Py_buffer view;
    struct spyp_held *next;
} spyp_held;

// Releasing buffers and objects may run code of the user, which must not see an exception that is set here.
static void spyp_arena_release(spyp_arena *arena) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (; arena->held; arena->held = arena->held->next) PyBuffer_Release(&arena->held->view);
    Py_CLEAR(arena->kept);
    PyErr_Restore(type, value, trace);
}

void spyp_arena_end(spyp_arena *arena) {
    if (arena->held || arena->kept) spyp_arena_release(arena);
    while (arena->more) {
        void **next = (void **)*arena->more;
        PyMem_Free(arena->more);
        arena->more = next;
    }
}

void *spyp_arena_take(spyp_arena *arena, size_t size) {
    if (size > PY_SSIZE_T_MAX / 2) {
        PyErr_NoMemory();
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    if (!arena->more && size <= arena->room - arena->used) {
        void *memory = (char *)arena->first + arena->used;
        arena->used += size;
        return memory;
    }
    void **block = (void **)PyMem_Malloc(size + 16);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    *block = arena->more;
    arena->more = block;
    return (char *)block + 16;
}

int spyp_arena_keep(spyp_arena *arena, PyObject *object) {
    if (!arena->kept) arena->kept = PyList_New(0);
    return arena->kept ? PyList_Append(arena->kept, object) : -1;
}

PyObject *spyp_arena_kept(spyp_arena *arena, PyObject *made) {
    if (!made) return NULL;
    int kept = spyp_arena_keep(arena, made);
    Py_DECREF(made);
    return kept < 0 ? NULL : made;
}

int spyp_arena_down(spyp_arena *arena) {
    if (arena->depth++ < SPYP_MOST_DEPTH) return 0;
    arena->depth--;
    PyErr_Format(PyExc_RecursionError, "expected a value of at most %d levels, got one that is nested deeper or contains itself", SPYP_MOST_DEPTH);
    return -1;
}

Py_buffer *spyp_arena_buffer(spyp_arena *arena, PyObject *object, int flags) {
    spyp_held *held = (spyp_held *)spyp_arena_take(arena, sizeof *held);
    if (!held || PyObject_GetBuffer(object, &held->view, flags) < 0) return NULL;
    held->next = arena->held;
    arena->held = held;
    return &held->view;
}

// >>what the user can change

PyObject *spyp_list_items(PyObject *list) {
    return PyList_Check(list) ? PyList_AsTuple(list) : Py_NewRef(list);
}

PyObject *spyp_dict_items(PyObject *dict, const char *what) {
    PyObject *key, *value, *items = NULL;
    Py_ssize_t n;
    do { // the allocation may run code that changes the dict
        Py_XDECREF(items);
        n = PyDict_Size(dict);
        if (!(items = PyTuple_New(2 * n))) return NULL;
    } while (n != PyDict_Size(dict));
    for (Py_ssize_t i = 0, at = 0; i < n && PyDict_Next(dict, &at, &key, &value); i++) {
        PyTuple_SetItem(items, 2 * i, Py_NewRef(key));
        PyTuple_SetItem(items, 2 * i + 1, Py_NewRef(value));
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        key = PyTuple_GetItem(items, 2 * i);
        if (PyUnicode_Check(key)) continue;
        PyErr_Format(PyExc_TypeError, "%s%sexpected field names of str, got a key of %R", what ? what : "", what ? ": " : "", (PyObject *)Py_TYPE(key));
        Py_DECREF(items);
        return NULL;
    }
    return items;
}

PyObject *spyp_item_named(PyObject *items, const char *name) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(items); i += 2)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(items, i), name) == 0) return PyTuple_GetItem(items, i + 1);
    return NULL;
}

// >>texts

const char *spyp_attribute_text(PyObject *name) {
    const char *text = spyp_utf8(name);
    // The name has NUL characters, or UTF-8 cannot encode it.
    if (!text) PyErr_Format(PyExc_AttributeError, "no attribute has the name %R", name);
    return text;
}

// Puts a list of paths into the arena as C strings. Returns -1 with an exception set if an item is no path.
int spyp_paths(spyp_arena *arena, PyObject *paths, const char *where, const char *const **out, size_t *count) {
    *count = 0;
    *out = NULL;
    if (!paths || paths == Py_None) return 0;
    PyObject *list = PySequence_List(paths);
    if (!list || spyp_arena_keep(arena, list) < 0) {
        Py_XDECREF(list);
        return -1;
    }
    Py_DECREF(list);
    Py_ssize_t n = PyList_Size(list);
    const char **items = (const char **)spyp_arena_take(arena, (size_t)(n + 1) * sizeof *items);
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(PyList_GetItem(list, i), &bytes)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s: argument 'include_paths': expected a list of paths, got %R in it", where,
                         PyList_GetItem(list, i));
            return -1;
        }
        int kept = spyp_arena_keep(arena, bytes);
        Py_DECREF(bytes);
        if (kept < 0) return -1;
        items[i] = PyBytes_AsString(bytes);
    }
    *out = items;
    *count = (size_t)n;
    return 0;
}

int spyp_strings(spyp_arena *arena, PyObject *given, const char *where, const char *what, const char *const **out, size_t *count) {
    PyObject *list = PyUnicode_Check(given) ? NULL : PySequence_List(given);
    *count = 0;
    *out = NULL;
    if (!list || spyp_arena_keep(arena, list) < 0) {
        Py_XDECREF(list);
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: '%s': expected a list of str, got %R", where, what, (PyObject *)Py_TYPE(given));
        return -1;
    }
    Py_DECREF(list);
    Py_ssize_t n = PyList_Size(list);
    const char **items = (const char **)spyp_arena_take(arena, (size_t)(n + 1) * sizeof *items);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *item = PyList_GetItem(list, i);
        items[i] = PyUnicode_Check(item) ? spyp_utf8(item) : NULL;
        if (items[i]) continue;
        if (PyErr_Occurred()) spyp_error_behind("%s: '%s': ", where, what);
        else PyErr_Format(PyExc_TypeError, "%s: '%s': expected a list of str, got %R in it", where, what, (PyObject *)Py_TYPE(item));
        return -1;
    }
    *out = items;
    *count = (size_t)n;
    return items ? 0 : -1;
}

// >>names

int spyp_state_ready(void) {
    static const struct {
        PyObject **at;
        const char *text;
    } names[] = {
        { &spyp.s_result, "_result" },
        { &spyp.s_append_to, "_append_to" },
        { &spyp.s_type, "_type" },
        { &spyp.s_get_this, "get_this" },
        { &spyp.s_update_this, "update_this" },
        { &spyp.s_dlpack, "__dlpack__" },
        { &spyp.s_dlpack_device, "__dlpack_device__" },
        { &spyp.s_cuda_array, "__cuda_array_interface__" },
        { &spyp.s_array_interface, "__array_interface__" },
        { &spyp.s_exchange, "__dlpack_c_exchange_api__" },
        { &spyp.s_dtype, "dtype" },
        { &spyp.s_name, "name" },
        { &spyp.s_to_cursor, "to_cursor" },
        { &spyp.s_to_save, "to_save" },
        { &spyp.s_saved_tensors, "saved_tensors" },
        { &spyp.s_needs_input_grad, "needs_input_grad" },
        { &spyp.s_call, "call" },
        { &spyp.s_contiguous, "contiguous" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].at = PyUnicode_InternFromString(names[i].text))) return -1;
    return 0;
}
