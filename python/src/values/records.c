// Converts host data to values of any type: numbers by their count, structs by the names of their fields, in any packing.
#include "values/values.h"

#include <string.h>

spy_dtype spyp_scalar_of(const spy_type_info *info, size_t *count) {
    spy_shape inner;
    size_t all = 0, times = 1;
    const spy_type_info *base = spyp_inner_shape(info, &inner);
    *count = 0;
    for (uint32_t i = 0; i < inner.rank; i++) times *= (size_t)inner.dims[i];
    if (!base || base->kind != SPY_TYPE_KIND_STRUCT) {
        *count = times;
        return base ? base->dtype : SPY_DTYPE_DEFAULT;
    }
    spy_dtype dtype = SPY_DTYPE_DEFAULT;
    for (uint32_t i = 0; i < base->field_count; i++) {
        size_t n;
        spy_dtype one = spyp_scalar_of(base->fields[i].type, &n);
        if (one == SPY_DTYPE_DEFAULT || (i && one != dtype)) return SPY_DTYPE_DEFAULT;
        dtype = one;
        all += n;
    }
    *count = all * times;
    return dtype;
}

static const spy_decl *spyp_field_of(const spy_type_info *info, PyObject *name) {
    for (uint32_t i = 0; i < info->field_count; i++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, info->fields[i].name) == 0)
            return &info->fields[i];
    return NULL;
}

static PyObject *spyp_known_fields(const spy_type_info *info) {
    PyObject *list = PyUnicode_FromString("");
    for (uint32_t i = 0; list && i < info->field_count; i++) {
        PyObject *more = spyp_format("%U%s'%s'", list, i ? ", " : "", info->fields[i].name);
        Py_DECREF(list);
        list = more;
    }
    return list;
}

// Packs each field of `count` structs from the item that has its name.
static int spyp_pack_fields(spyp_arena *arena, const spy_type_info *info, PyObject *object, PyObject *names,
                            int64_t count, char *out, const char *what) {
    Py_ssize_t n = PySequence_Size(names), used = 0;
    memset(out, 0, (size_t)count * info->size_bytes);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PySequence_GetItem(names, i);
        const spy_decl *field = name ? spyp_field_of(info, name) : NULL;
        PyObject *value = field ? PyObject_GetItem(object, name) : NULL;
        int status = value ? spyp_arena_keep(arena, value) : -1;
        bool text = name && PyUnicode_Check(name);
        if (text && !field && PyUnicode_CompareWithASCIIString(name, "_type") == 0) {
            Py_DECREF(name);
            continue;
        }
        if (name && !text) PyErr_Format(PyExc_TypeError, "%s: expected field names of str, got a key of %R", what, (PyObject *)Py_TYPE(name));
        if (text && !field) {
            PyObject *known = spyp_known_fields(info);
            PyErr_Format(spyp.value_error, "%s: %s has no field %R; expected %V", what, info->name, name,
                         known, "");
            Py_XDECREF(known);
        }
        char *packed =
            status == 0 ? (char *)spyp_arena_take(arena, (size_t)count * field->type->size_bytes) : NULL;
        PyObject *path = packed ? spyp_format("%s: field '%s'", what, field->name) : NULL;
        if (path)
            status = spyp_pack_values(arena, field->type, SPY_DTYPE_DEFAULT, value, count, packed,
                                      spyp_utf8(path));
        for (int64_t k = 0; path && status == 0 && k < count; k++)
            memcpy(out + (size_t)k * info->size_bytes + field->offset_bytes,
                   packed + (size_t)k * field->type->size_bytes, field->type->size_bytes);
        bool good = path && status == 0;
        Py_XDECREF(name);
        Py_XDECREF(value);
        Py_XDECREF(path);
        if (!good) return -1;
        used++;
    }
    if (used == (Py_ssize_t)info->field_count) return 0;
    for (uint32_t i = 0; i < info->field_count; i++) {
        PyObject *name = PyUnicode_FromString(info->fields[i].name);
        int found = name ? PySequence_Contains(names, name) : -1;
        Py_XDECREF(name);
        if (found < 0) return -1;
        if (!found)
            PyErr_Format(spyp.value_error, "%s: field '%s' of %s not specified", what, info->fields[i].name,
                         info->name);
        if (!found) return -1;
    }
    return 0;
}

// Packs numbers in the order of the type's scalars. Structs of several scalar types are packed from bytes.
static int spyp_pack_numbers(spyp_arena *arena, const spy_type_info *info, spy_dtype scalar, size_t each,
                             PyObject *object, int64_t count, char *out, const char *what) {
    spyp_host_array array;
    int found = spyp_host_array_get(arena, object, what, &array);
    if (found == 0)
        PyErr_Format(PyExc_TypeError, "%s: expected an array, got %R", what, (PyObject *)Py_TYPE(object));
    if (found <= 0) return -1;
    size_t size = spy_dtype_size_bytes(array.dtype), given = array.dtype ? array.size_bytes / size : 0;
    if (!scalar && array.dtype && size != 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s: expected a structured array with the fields of %s, or its bytes in C's layout, got "
                     "an array of %s",
                     what, info->name, spy_dtype_name(array.dtype));
        return -1;
    }
    if (!array.dtype) {
        PyErr_Format(PyExc_TypeError, "%s: expected numbers for %s, got an array of structs", what,
                     info ? info->name : spy_dtype_name(scalar));
        return -1;
    }
    size_t expected = (size_t)count * (scalar ? each : info->size_bytes);
    if (given != expected) {
        PyErr_Format(spyp.value_error, "%s: Shape mismatch: expected %zu %s, got %zu", what, expected,
                     scalar ? "numbers" : "bytes", given);
        return -1;
    }
    if (scalar && scalar != array.dtype)
        return spyp_convert_numbers(out, scalar, array.data, array.dtype, given, what);
    memcpy(out, array.data, array.size_bytes);
    return 0;
}

int spyp_pack_values(spyp_arena *arena, const spy_type_info *info, spy_dtype scalar, PyObject *object,
                     int64_t count, char *out, const char *what) {
    spy_shape inner;
    size_t each = 1;
    const spy_type_info *base = spyp_inner_shape(info, &inner);
    if (info) scalar = spyp_scalar_of(info, &each);
    if (!base || base->kind != SPY_TYPE_KIND_STRUCT)
        return spyp_pack_numbers(arena, info, scalar, each, object, count, out, what);
    for (uint32_t i = 0; i < inner.rank; i++) count *= inner.dims[i];
    PyObject *names = spyp_field_names(object), *records = NULL;
    if (!names && PyObject_CheckBuffer(object)) { // numpy knows the fields of ctypes' structs
        Py_buffer *view = spyp_arena_buffer(arena, object, PyBUF_FULL_RO);
        PyErr_Clear();
        PyObject *numpy = view && view->format && strchr(view->format, '{') ? spyp_numpy() : NULL;
        records = numpy ? PyObject_CallMethod(numpy, "asarray", "(O)", object) : NULL;
        Py_XDECREF(numpy);
        int kept = records ? spyp_arena_keep(arena, records) : 0;
        names = records && kept == 0 ? spyp_field_names(records) : NULL;
        if (PyErr_Occurred()) {
            Py_XDECREF(records);
            return -1;
        }
    }
    if (!names) return spyp_pack_numbers(arena, info, scalar, each, object, count, out, what);
    // The number of elements is checked for each field. An array without elements has no field to check.
    int status = spyp_pack_fields(arena, base, records ? records : object, names, count, out, what);
    Py_DECREF(names);
    Py_XDECREF(records);
    return status;
}
