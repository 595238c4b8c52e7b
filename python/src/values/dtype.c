// Element types: parses dtypes, and makes the Modules and Structs that types come from.
#include "values/values.h"

#include <string.h>

// >>modules and structs

PyObject *spyp_struct_make(spyp_module *module, const spy_type_info *info) {
    spyp_struct *s = (spyp_struct *)spyp_alloc(spyp.struct_type);
    if (!s) return NULL;
    s->module = (spyp_module *)Py_NewRef((PyObject *)module);
    s->info = info;
    s->name = PyUnicode_FromString(info->name);
    if (!s->name) Py_CLEAR(s);
    return (PyObject *)s;
}

PyObject *spyp_module_make(spyp_device *device, spy_module *module, PyObject *name, PyObject *link) {
    spyp_module *m = (spyp_module *)spyp_alloc(spyp.module_type);
    if (!m) {
        spy_release_module(module);
        return NULL;
    }
    m->device = (spyp_device *)Py_NewRef((PyObject *)device);
    m->module = module;
    m->name = Py_NewRef(name);
    m->link = Py_XNewRef(link);
    m->found = PyDict_New();
    if (!m->found) Py_CLEAR(m);
    return (PyObject *)m;
}

bool spyp_reflection_is(PyObject *object, spyp_reflected kind) {
    return PyObject_TypeCheck(object, spyp.reflections[kind]);
}

const spy_type_info *spyp_reflection_type(PyObject *object, spyp_module **module) {
    const spy_type_info *info = NULL;
    if (PyObject_TypeCheck(object, spyp.struct_type)) {
        *module = ((spyp_struct *)object)->module;
        info = ((spyp_struct *)object)->info;
    } else if (spyp_reflection_is(object, SPYP_TYPE) || spyp_reflection_is(object, SPYP_TYPE_LAYOUT)) {
        *module = ((spyp_reflection *)object)->module;
        info = ((spyp_reflection *)object)->type;
    }
    if (!info || (*module)->device->device) return info;
    PyErr_SetString(spyp.error, "a type of a closed device");
    return NULL;
}

// >>names of types in Slang and in the library

PyObject *spyp_library_name(PyObject *name) {
    const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    size_t size = text ? strlen(text) : 0, count = 0, end = size, at = 0;
    while (end > 0 && text[end - 1] == ']') {
        size_t begin = end - 1;
        while (begin > 0 && text[begin - 1] != '[' && text[begin - 1] != ']') begin--;
        if (begin == 0 || text[begin - 1] == ']') break;
        end = begin - 1;
        count++;
    }
    if (size > 1 && text[size - 1] == '*') {
        PyObject *target = PyUnicode_FromStringAndSize(text, (Py_ssize_t)size - 1), *pointer = target ? spyp_format("Ptr<%U>", target) : NULL;
        Py_XDECREF(target);
        return pointer;
    }
    if (!text || count < 2) return Py_NewRef(name);
    char *turned = (char *)PyMem_Malloc(size + 1);
    if (!turned) return PyErr_NoMemory();
    memcpy(turned, text, end);
    for (size_t last = size; last > end;) { // the groups from the last one to the first one
        size_t begin = last - 1;
        while (text[begin] != '[') begin--;
        memcpy(turned + end + at, text + begin, last - begin);
        at += last - begin;
        last = begin;
    }
    PyObject *made = PyUnicode_FromStringAndSize(turned, (Py_ssize_t)size);
    PyMem_Free(turned);
    return made;
}

// >>parsing dtypes

static const struct {
    const char *name;
    spy_dtype dtype;
} spyp_scalar_names[] = {
    { "float", SPY_DTYPE_FLOAT32 },   { "float32", SPY_DTYPE_FLOAT32 }, { "float32_t", SPY_DTYPE_FLOAT32 }, { "double", SPY_DTYPE_FLOAT64 },
    { "float64", SPY_DTYPE_FLOAT64 }, { "float64_t", SPY_DTYPE_FLOAT64 }, { "half", SPY_DTYPE_FLOAT16 },    { "float16", SPY_DTYPE_FLOAT16 },
    { "float16_t", SPY_DTYPE_FLOAT16 }, { "int", SPY_DTYPE_INT32 },     { "int32", SPY_DTYPE_INT32 },       { "int32_t", SPY_DTYPE_INT32 },
    { "uint", SPY_DTYPE_UINT32 },     { "uint32", SPY_DTYPE_UINT32 },   { "uint32_t", SPY_DTYPE_UINT32 },   { "int8", SPY_DTYPE_INT8 },
    { "int8_t", SPY_DTYPE_INT8 },     { "uint8", SPY_DTYPE_UINT8 },     { "uint8_t", SPY_DTYPE_UINT8 },     { "int16", SPY_DTYPE_INT16 },
    { "int16_t", SPY_DTYPE_INT16 },   { "uint16", SPY_DTYPE_UINT16 },   { "uint16_t", SPY_DTYPE_UINT16 },   { "int64", SPY_DTYPE_INT64 },
    { "int64_t", SPY_DTYPE_INT64 },   { "uint64", SPY_DTYPE_UINT64 },   { "uint64_t", SPY_DTYPE_UINT64 },   { "bool", SPY_DTYPE_BOOL },
};

static spy_dtype spyp_scalar_of_name(const char *name) {
    for (size_t i = 0; i < sizeof spyp_scalar_names / sizeof *spyp_scalar_names; i++)
        if (strcmp(spyp_scalar_names[i].name, name) == 0) return spyp_scalar_names[i].dtype;
    return SPY_DTYPE_DEFAULT;
}

int spyp_dtype_parse(PyObject *object, const char *what, const char *argument, spyp_dtype *dtype) {
    memset(dtype, 0, sizeof *dtype);
    if (!object || object == Py_None) {
        dtype->scalar = SPY_DTYPE_FLOAT32;
        return 0;
    }
    const spy_type_info *info = spyp_reflection_type(object, &dtype->from);
    if (info) {
        dtype->keeps = Py_NewRef(object);
        dtype->module = dtype->from->module;
        dtype->type = info->name;
        if (info->kind == SPY_TYPE_KIND_SCALAR) dtype->scalar = info->dtype;
    }
    if (info || PyErr_Occurred()) return info ? 0 : -1;
    if (object == (PyObject *)&PyFloat_Type) dtype->scalar = SPY_DTYPE_FLOAT32;
    else if (object == (PyObject *)&PyLong_Type) dtype->scalar = SPY_DTYPE_INT32;
    else if (object == (PyObject *)&PyBool_Type) dtype->scalar = SPY_DTYPE_BOOL;
    if (dtype->scalar) return 0;
    PyObject *name = NULL;
    if (PyUnicode_Check(object)) {
        name = spyp_library_name(object);
    } else if (PyType_Check(object)) { // classes such as numpy.float32 and float3
        name = PyObject_GetAttrString(object, "__name__");
    } else { // objects with a name: numpy.dtype, DataType.float32, torch.float32
        name = PyObject_GetAttr(object, spyp.s_name);
        if (!name) {
            PyErr_Clear();
            name = PyObject_Str(object);
            const char *said = name ? spyp_utf8(name) : NULL;
            if (!said || strncmp(said, "torch.", 6) != 0) Py_CLEAR(name);
        }
    }
    const char *text = name && PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    if (text && strncmp(text, "torch.", 6) == 0) text += 6;
    if (text) dtype->scalar = spyp_scalar_of_name(text);
    if (text && PyType_Check(object) && strcmp(text, "quatf") == 0) text = "float4"; // Slang has no type of quaternions
    if (text && !dtype->scalar) dtype->type = text;
    dtype->keeps = name;
    if (text) return 0;
    Py_CLEAR(dtype->keeps);
    PyErr_Clear();
    const char *expected = "expected a type of a module, a numpy dtype or a name, got";
    if (what) PyErr_Format(PyExc_TypeError, "%s: argument '%s': %s %R", what, argument, expected, object);
    else PyErr_Format(PyExc_TypeError, "%s %R", expected, object);
    return -1;
}
