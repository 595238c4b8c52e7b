// Converts tuples for structs, and lists of structs for arrays of structs. Reflection of the parameter's type says which of them it is.
#include "conversion/conversion.h"
#include "values/math_view.h"

#include <string.h>

// >>the expected type

// Follows the chain of steps, the outermost step first, from `type` into its fields and elements. Returns the
// type of the part that the chain ends at, or NULL when `type` has no such part.
static const spy_type_info *spyp_step_into(const spy_type_info *type, const spyp_step *step) {
    if (step && step->up) type = spyp_step_into(type, step->up);
    if (!step || !type) return type;
    if (!step->field) return type->kind == SPY_TYPE_KIND_ARRAY ? type->element : type;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, step->field) == 0) return type->fields[i].type;
    return NULL;
}

static bool spyp_holds_structs(const spy_type_info *type) {
    while (type && type->kind == SPY_TYPE_KIND_ARRAY) type = type->element;
    return type && type->kind == SPY_TYPE_KIND_STRUCT;
}

// Returns the type of the place in the globals that call->global names, such as "light.colors[2]", or NULL.
static const spy_type_info *spyp_global_type(const spyp_call *call) {
    const char *path = call->global;
    size_t size = strcspn(path, ".[");
    char name[256];
    if (!size || size >= sizeof name) return NULL;
    memcpy(name, path, size);
    name[size] = 0;
    const spy_decl *variable = spyp_find_quietly(call->function->module, name);
    const spy_type_info *type = variable && variable->kind == SPY_DECL_KIND_SHADER_PARAMETER ? variable->type : NULL;
    for (path += size; type && *path; path += size) {
        if (type->kind == SPY_TYPE_KIND_CONSTANT_BUFFER || type->kind == SPY_TYPE_KIND_PARAMETER_BLOCK) type = type->element;
        const bool index = *path == '[';
        path += !index && *path == '.';
        size = index ? strcspn(path, "]") + 1 : strcspn(path, ".[");
        if (!type || !size || size >= sizeof name || (index && path[size - 1] != ']')) return NULL;
        memcpy(name, path, size);
        name[size] = 0;
        spyp_step step = { NULL, index ? NULL : name };
        type = spyp_step_into(type, &step);
    }
    if (type && (type->kind == SPY_TYPE_KIND_CONSTANT_BUFFER || type->kind == SPY_TYPE_KIND_PARAMETER_BLOCK)) type = type->element;
    return type;
}

// Returns the type that a value of `n` items is converted for, if that is a struct or an array of structs. Among the overloads, an array of
// `n` elements comes first, then a struct, then any array. Returns NULL if no parameter is one of them, or if the types are not known.
static const spy_type_info *spyp_expected(const spyp_call *call, Py_ssize_t n) {
    const spy_type_info *best = NULL;
    if (call->global) {
        best = spyp_step_into(spyp_global_type(call), call->step);
        return spyp_holds_structs(best) ? best : NULL;
    }
    for (const spy_decl *decl = spyp_declared(call->function); decl; decl = spy_next_overload(decl)) {
        const spy_type_info *type = spyp_step_into(spyp_parameter_type(call->function, decl, call->name, call->position), call->step);
        if (!spyp_holds_structs(type)) continue;
        if (type->kind == SPY_TYPE_KIND_ARRAY && (!type->count || type->count == n)) return type;
        if (!best || (best->kind == SPY_TYPE_KIND_ARRAY && type->kind == SPY_TYPE_KIND_STRUCT)) best = type;
    }
    return best;
}

// >>tuples

// Returns a tuple as a new dict. The keys are the struct's fields, or the names of the tuple if it is a named
// tuple.
static PyObject *spyp_tuple_fields(PyObject *tuple, const spy_type_info *type) {
    PyObject *own = PyObject_GetAttrString(tuple, "_fields"), *dict = PyDict_New();
    Py_ssize_t n = PyTuple_Size(tuple);
    bool named = own && PyTuple_Check(own) && PyTuple_Size(own) == n;
    if (!own) PyErr_Clear();
    if (dict && n != (Py_ssize_t)type->field_count) {
        PyErr_Format(spyp.value_error, "expected a tuple of %u values for %s, got %zd", type->field_count, type->name, n);
        Py_CLEAR(dict);
    }
    for (Py_ssize_t i = 0; dict && i < n; i++) {
        PyObject *name = named ? Py_NewRef(PyTuple_GetItem(own, i)) : PyUnicode_FromString(type->fields[i].name);
        if (!name || PyDict_SetItem(dict, name, PyTuple_GetItem(tuple, i)) < 0) Py_CLEAR(dict);
        Py_XDECREF(name);
    }
    Py_XDECREF(own);
    return dict;
}

// Tells whether a tuple is one value of the struct, and not a sequence of such values.
static bool spyp_is_one(PyObject *tuple, const spy_type_info *type) {
    PyObject *first = PyTuple_Size(tuple) ? PyTuple_GetItem(tuple, 0) : NULL;
    if (!first || PyTuple_Size(tuple) == (Py_ssize_t)type->field_count)
        return !first || !PyDict_Check(first) || spyp_holds_structs(type->fields[0].type);
    return !PyDict_Check(first) && !PyTuple_Check(first);
}

// Returns a sequence of tuples, each a struct of `type`, as a new list of dicts.
static PyObject *spyp_tuple_rows(PyObject *rows, const spy_type_info *type) {
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < PyTuple_Size(rows); i++) {
        PyObject *row = PyTuple_GetItem(rows, i);
        PyObject *dict = PyTuple_Check(row) ? spyp_tuple_fields(row, type) : Py_NewRef(row);
        if (!dict || PyList_Append(list, dict) < 0) Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
}

// >>arrays

// Sets the type of an argument to an array of `n` elements, because the parameter's length is generic.
static int spyp_cast_to_array(spyp_call *call, const char *element, Py_ssize_t n, spy_arg *arg) {
    PyObject *name = spyp_format("%s[%zd]", element, n);
    int status = name ? spyp_arena_keep(&call->arena, name) : -1;
    if (status == 0) *arg = spy_vcast(*arg, spyp_utf8(name));
    Py_XDECREF(name);
    return status;
}

// Converts a list of structs for an array of structs. It becomes a struct without names of fields.
static int spyp_convert_elements(spyp_call *call, PyObject *rows, const spy_type_info *type, spy_arg *arg) {
    Py_ssize_t n = PyTuple_Size(rows);
    spy_arg *items = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items);
    spy_args list = { items, 0 };
    spyp_step step = { call->step, NULL };
    int status = items ? 0 : -1;
    call->step = &step;
    for (Py_ssize_t i = 0; i < n && status == 0; i++, list.count++) {
        status = spyp_convert(call, PyTuple_GetItem(rows, i), NULL, &items[i]);
        if (status < 0) spyp_error_prefix(call, "item %zd: ", i);
    }
    call->step = step.up;
    if (status < 0) return -1;
    *arg = spy_arg_struct(NULL, list);
    return type->count ? 0 : spyp_cast_to_array(call, type->element->name, n, arg);
}

// Converts a list of vectors, or of dicts with their types, for an array of generic elements and length: T a[N]. The first item determines
// T. Returns 1, or 0 if it is another list, or -1 with an exception set.
static int spyp_convert_open(spyp_call *call, PyObject *rows, PyObject *first, spy_arg *arg) {
    spyp_math_info info;
    const spy_type_info *type = spyp_open_array(call);
    bool open = type && type->element->kind == SPY_TYPE_KIND_OTHER, dict = PyDict_Check(first);
    PyObject *given = open && dict ? PyDict_GetItemString(first, "_type") : NULL, *name = NULL;
    if (!open || (dict ? !given : !(spyp_math_view(first, &info) && info.rank))) return 0;
    if (given && PyUnicode_Check(given)) name = Py_NewRef(given);
    else name = PyObject_GetAttrString(given ? given : (PyObject *)Py_TYPE(first), given ? "full_name" : "__name__");
    const char *element = name ? spyp_utf8(name) : NULL;
    Py_ssize_t n = PyTuple_Size(rows);
    spy_arg *items = element ? (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *items) : NULL;
    int status = items ? spyp_arena_keep(&call->arena, rows) : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++)
        if ((status = spyp_convert(call, PyTuple_GetItem(rows, i), NULL, &items[i])) < 0) spyp_error_prefix(call, "item %zd: ", i);
    const spy_args list = { items, (size_t)n };
    if (status == 0) *arg = spy_arg_struct(NULL, list);
    if (status == 0) status = spyp_cast_to_array(call, element, n, arg);
    Py_XDECREF(name);
    return status < 0 ? -1 : 1;
}

// Tells quickly whether a list can hold structs at all. Most lists hold numbers.
static bool spyp_may_hold_structs(const spyp_call *call, PyObject *object, PyObject *rows) {
    PyObject *first = PyTuple_Size(rows) ? PyTuple_GetItem(rows, 0) : NULL;
    bool may = first && (PyTuple_Check(object) || PyDict_Check(first) || PyTuple_Check(first));
    return may && (call->global || spyp_function_is(call->function, SPYP_TRAIT_STRUCTS));
}

int spyp_convert_structs(spyp_call *call, PyObject *object, PyObject *rows, spy_arg *arg) {
    if (PyTuple_Size(rows) && spyp_function_is(call->function, SPYP_TRAIT_OPEN_ARRAYS)) {
        int open = spyp_convert_open(call, rows, PyTuple_GetItem(rows, 0), arg);
        if (open) return open;
    }
    if (!spyp_may_hold_structs(call, object, rows)) return 0;
    PyObject *first = PyTuple_Size(rows) ? PyTuple_GetItem(rows, 0) : NULL, *made = NULL;
    bool structs = first && (PyDict_Check(first) || PyTuple_Check(first));
    const spy_type_info *type = first && (structs || PyTuple_Check(object)) ? spyp_expected(call, PyTuple_Size(rows)) : NULL;
    bool array = type && type->kind == SPY_TYPE_KIND_ARRAY;
    int done = 0;
    if (array && structs && type->count && type->count != PyTuple_Size(rows)) {
        PyErr_Format(spyp.value_error, "expected a list of %lld structs for %s, got %zd", (long long)type->count, type->name, PyTuple_Size(rows));
    } else if (array && structs) {
        done = spyp_arena_keep(&call->arena, rows) < 0 || spyp_convert_elements(call, rows, type, arg) < 0 ? -1 : 1;
    } else if (type && !array && PyTuple_Check(object) && spyp_is_one(object, type)) {
        made = spyp_tuple_fields(object, type);
    } else if (type && !array && PyTuple_Check(first)) {
        made = spyp_tuple_rows(rows, type);
    }
    if (made) done = spyp_arena_keep(&call->arena, made) < 0 || spyp_convert(call, made, NULL, arg) < 0 ? -1 : 1;
    else if (PyErr_Occurred()) done = -1;
    Py_XDECREF(made);
    return done;
}
