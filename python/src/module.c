// The extension module: its types, exceptions and interned names, and helpers that every file uses.
#include "spyp_math.h"
#include "spyp.h"

#include <stdarg.h>
#include <string.h>

spyp_state spyp;

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
    return PyUnicode_AsUTF8AndSize(string, &size);
}

PyObject *spyp_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *text = PyUnicode_FromFormatV(format, args);
    va_end(args);
    return text;
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
    arena->buffer_count = 0;
    arena->kept = NULL;
}

void spyp_arena_end(spyp_arena *arena) {
    for (uint32_t i = 0; i < arena->buffer_count; i++) PyBuffer_Release(arena->buffers[i]);
    while (arena->more) {
        void **next = (void **)*arena->more;
        PyMem_Free(arena->more);
        arena->more = next;
    }
    if (!arena->kept) return;
    PyObject *type, *value, *trace; // what is released may run code, which an error of ours must not reach
    PyErr_Fetch(&type, &value, &trace);
    Py_CLEAR(arena->kept);
    PyErr_Restore(type, value, trace);
}

void *spyp_arena_take(spyp_arena *arena, size_t size) {
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

// Beyond the first few, a memoryview holds the export.
Py_buffer *spyp_arena_buffer(spyp_arena *arena, PyObject *object, int flags) {
    Py_buffer *view = (Py_buffer *)spyp_arena_take(arena, sizeof *view);
    if (!view) return NULL;
    if (arena->buffer_count == sizeof arena->buffers / sizeof *arena->buffers) {
        PyObject *holder = PyMemoryView_FromObject(object);
        int kept = holder ? spyp_arena_keep(arena, holder) : -1;
        Py_XDECREF(holder);
        if (kept < 0 || PyObject_GetBuffer(object, view, flags) < 0) return NULL;
        PyBuffer_Release(view); // the holder's export keeps memory, shape and format where they are
        return view;
    }
    if (PyObject_GetBuffer(object, view, flags) < 0) return NULL;
    arena->buffers[arena->buffer_count++] = view;
    return view;
}

// >>names

static int spyp_strings_ready(void) {
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
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].at = PyUnicode_InternFromString(names[i].text))) return -1;
    return 0;
}

// >>the module

static PyObject *spyp_after_fork(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(self);
    SPYP_UNUSED(ignored);
    spyp.fork_count++;
    Py_RETURN_NONE;
}

static PyMethodDef spyp_module_methods[] = {
    { "_after_fork", spyp_after_fork, METH_NOARGS, "Called in the child of a fork: its devices are the parent's." },
    { NULL, NULL, 0, NULL },
};

static int spyp_module_exec(PyObject *module) {
    if (spyp.module) {
        PyErr_SetString(PyExc_ImportError, "slangpy: one interpreter of a process can import it");
        return -1;
    }
    spyp.module = module;
    if (spyp_strings_ready() < 0 || spyp_errors_ready(module) < 0 || spyp_device_ready(module) < 0 ||
        spyp_modules_ready(module) < 0 || spyp_function_ready(module) < 0 || spyp_shape_ready(module) < 0 || spyp_tensor_ready(module) < 0 ||
        spyp_values_ready(module) < 0 || spyp_buffer_ready(module) < 0 || spyp_encoder_ready(module) < 0 ||
        spyp_math_ready(module) < 0 || spyp_reflection_ready(module) < 0 || spyp_resolve_ready(module) < 0 ||
        spyp_extension_ready(module) < 0 || spyp_names_ready() < 0 || spyp_describe_ready() < 0 || spyp_gradient_ready(module) < 0 ||
        spyp_cuda_ready(module) < 0 || spyp_foreign_ready(module) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SPY_VERSION", SPY_VERSION);
}

static PyModuleDef_Slot spyp_module_slots[] = {
    { Py_mod_exec, (void *)spyp_module_exec },
#if PY_VERSION_HEX >= 0x030C0000
    { Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED },
#endif
    { 0, NULL },
};

static struct PyModuleDef spyp_module_def = {
    PyModuleDef_HEAD_INIT, "slangpy._slangpy", "Call Slang GPU functions from Python: slangpy.h as an extension.", 0,
    spyp_module_methods, spyp_module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__slangpy(void);
PyMODINIT_FUNC PyInit__slangpy(void) {
    return PyModuleDef_Init(&spyp_module_def);
}
