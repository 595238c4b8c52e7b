// The classes Module and Struct, whose attributes are the names of a Slang module.
#include "objects/reflection.h"

#include <string.h>

#include "state/cold.h"

// >>structs

static int spyp_struct_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_struct *)self)->module);
    return 0;
}

static void spyp_struct_dealloc(PyObject *self) {
    spyp_struct *s = (spyp_struct *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(s->module);
    Py_CLEAR(s->name);
    spyp_free(self);
}

// Finds a method, constructor, nested type or constant of a struct. Its path is "Struct::name".
static PyObject *spyp_struct_find(spyp_struct *s, PyObject *name) {
    PyObject *path = PyUnicode_FromFormat("%U::%U", s->name, name);
    PyObject *found = path ? spyp_module_find(s->module, path) : NULL;
    Py_XDECREF(path);
    return found;
}

static PyObject *spyp_struct_missing(spyp_struct *s, PyObject *name, PyObject *exception) {
    PyObject *near_names = spyp_near_names(s->info->decl, name);
    if (near_names) PyErr_Format(exception, "Type '%U' has no function or type named '%U'%U", s->name, name, near_names);
    Py_XDECREF(near_names);
    return NULL;
}

static PyObject *spyp_struct_getattr(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    const char *text = spyp_attribute_text(name);
    if (!text || (strncmp(text, "__", 2) == 0 && strcmp(text, "__init") != 0)) return NULL;
    PyErr_Clear();
    value = spyp_struct_find((spyp_struct *)self, name);
    return value || PyErr_Occurred() ? value : spyp_struct_missing((spyp_struct *)self, name, PyExc_AttributeError);
}

static PyObject *spyp_struct_item(PyObject *self, PyObject *name) {
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "Struct: expected a name in brackets, got %R", (PyObject *)Py_TYPE(name));
    if (!spyp_utf8(name)) return spyp_error_behind("Struct: ");
    PyObject *value = spyp_struct_find((spyp_struct *)self, name);
    return value || PyErr_Occurred() ? value : spyp_struct_missing((spyp_struct *)self, name, spyp.lookup_error);
}

// Struct(...) calls the struct's constructor.
static PyObject *spyp_struct_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (SPYP_UNLIKELY(spyp.tracers) && spyp_tracing) {
        PyObject *fuse = PyImport_ImportModule("slangpy.fusion");
        PyObject *made = fuse ? PyObject_CallMethod(fuse, "_traced_make", "OOO", self, args, kwargs ? kwargs : Py_None) : NULL;
        Py_XDECREF(fuse);
        return made;
    }
    PyObject *init = PyUnicode_FromString("__init"), *function = init ? spyp_struct_find((spyp_struct *)self, init) : NULL;
    Py_XDECREF(init);
    if (!function) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "Type '%U' has no constructor that can be called", ((spyp_struct *)self)->name);
        return NULL;
    }
    PyObject *result = PyObject_Call(function, args, kwargs);
    Py_DECREF(function);
    return result;
}

static PyObject *spyp_struct_repr(PyObject *self) {
    spyp_struct *s = (spyp_struct *)self;
    PyObject *name = s->module->device->device ? spyp_full_name(s->info) : Py_NewRef(s->name);
    PyObject *text = name ? PyUnicode_FromFormat("func::BaseStruct(full_name=\"%U\")", name) : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *spyp_struct_self(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef(self);
}

static PyObject *spyp_struct_as_func(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return PyErr_Format(spyp.value_error, "'%U' is a type; expected a function", ((spyp_struct *)self)->name);
}

PyObject *spyp_short_name(PyObject *path) {
    const char *text = spyp_utf8(path), *start = text;
    if (!text) return NULL;
    if (strchr(text, '[')) return spyp_library_name(path);
    size_t n = strcspn(text, "<");
    for (const char *c = text; c < text + n; c++)
        if (*c == '.' || *c == ':') start = c + 1;
    return PyUnicode_FromStringAndSize(start, (Py_ssize_t)(text + n - start));
}

static PyObject *spyp_struct_get_name(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_short_name(((spyp_struct *)self)->name);
}

static PyObject *spyp_struct_get_full_name(PyObject *self, void *ignored) {
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(self, &module);
    SPYP_UNUSED(ignored);
    return info ? spyp_full_name(info) : NULL;
}

static PyObject *spyp_struct_get_module(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_struct *)self)->module);
}

static PyObject *spyp_struct_get_fields(PyObject *self, void *ignored) {
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(self, &module);
    SPYP_UNUSED(ignored);
    PyObject *fields = info ? PyDict_New() : NULL;
    for (uint32_t i = 0; fields && i < info->field_count; i++) {
        PyObject *field = spyp_reflect_decl(SPYP_VARIABLE, module, &info->fields[i]);
        if (!field || PyDict_SetItemString(fields, info->fields[i].name, field) < 0) Py_CLEAR(fields);
        Py_XDECREF(field);
    }
    return fields;
}

// Returns the shape of a type: (N,) for vectors, (R, C) for matrices, (N, ...) for arrays, and () for all
// others.
static PyObject *spyp_struct_get_shape(PyObject *self, void *ignored) {
    spy_shape shape = { 0, { 0 } };
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(self, &module);
    SPYP_UNUSED(ignored);
    for (const spy_type_info *t = info; t && shape.rank + 1 < SPY_MAX_RANK; t = t->element) {
        if (t->kind == SPY_TYPE_KIND_ARRAY) {
            shape.dims[shape.rank++] = t->count;
            continue;
        }
        if (t->kind == SPY_TYPE_KIND_MATRIX) shape.dims[shape.rank++] = t->rows;
        if (t->kind == SPY_TYPE_KIND_MATRIX || t->kind == SPY_TYPE_KIND_VECTOR)
            shape.dims[shape.rank++] = t->columns;
        break;
    }
    return info ? spyp_shape_make(&shape) : NULL;
}

static PyObject *spyp_struct_get_size(PyObject *self, void *ignored) {
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(self, &module);
    SPYP_UNUSED(ignored);
    return info ? PyLong_FromSize_t(info->size_bytes) : NULL;
}

static PyObject *spyp_struct_compare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || (!PyObject_TypeCheck(b, spyp.struct_type) && !spyp_reflection_is(b, SPYP_TYPE))) Py_RETURN_NOTIMPLEMENTED;
    spyp_struct *x = (spyp_struct *)a, *y = (spyp_struct *)b;
    spyp_module *module, *of;
    if (!PyObject_TypeCheck(b, spyp.struct_type)) { // struct.struct, which SlangPy's tensors have as dtype
        const spy_type_info *t = spyp_reflection_type(a, &module), *u = t ? spyp_reflection_type(b, &of) : NULL;
        if (!u) return NULL;
        bool equal = strcmp(t->name, u->name) == 0 && (module->module == of->module || (!t->decl && !u->decl));
        return PyBool_FromLong(equal == (op == Py_EQ));
    }
    bool same = PyUnicode_Compare(x->name, y->name) == 0;
    if (same && x->module != y->module) { // built-in types are the same in all modules
        const spy_type_info *t = spyp_reflection_type(a, &module), *u = t ? spyp_reflection_type(b, &module) : NULL;
        if (!u) return NULL;
        same = !t->decl && !u->decl;
    }
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t spyp_struct_hash(PyObject *self) {
    return PyObject_Hash(((spyp_struct *)self)->name);
}

static PyMethodDef spyp_struct_methods[] = {
    { "as_struct", spyp_struct_self, METH_NOARGS, "as_struct(): the type itself, for code that says module.Foo.as_struct()." },
    { "as_func", spyp_struct_as_func, METH_NOARGS, "as_func(): Raises ValueError, because this is a type." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_struct_getset[] = {
    { "name", spyp_struct_get_name, NULL, "Slang's name without its path and generic arguments, e.g. 'float3' or 'Particle'.", NULL },
    { "full_name", spyp_struct_get_full_name, NULL, "The name with its path and generic arguments: 'vector<float,3>', 'Scene.Light', "
        "'Grid<int>'.", NULL },
    { "module", spyp_struct_get_module, NULL, "The module in which the name is known.", NULL },
    { "fields", spyp_struct_get_fields, NULL, "The fields by name, as VariableReflections; empty for a type that is not a struct.", NULL },
    { "shape", spyp_struct_get_shape, NULL, "The sizes of a vector, matrix or array; () for other types.", NULL },
    { "size_bytes", spyp_struct_get_size, NULL, "The bytes of a value in C's layout; 0 for types that host memory cannot hold.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

// Struct(module, slang_struct, options={}) makes the Struct of a TypeReflection.
static PyObject *spyp_struct_of(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "module", "slang_struct", "options", NULL };
    PyObject *module, *given, *options = Py_None;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|O:Struct", names, spyp.module_type, &module, &given, &options)) return NULL;
    PyObject *name = PyUnicode_Check(given) ? Py_NewRef(given) : PyObject_GetAttrString(given, "full_name");
    PyObject *found = name ? PyObject_CallMethod(module, "require_struct", "O", name) : NULL;
    Py_XDECREF(name);
    return found;
}

static PyType_Slot spyp_struct_slots[] = {
    { Py_tp_new, (void *)spyp_struct_of },
    { Py_tp_doc, (void *)"A Slang type: `module.Particle`, `module.float3`. Attributes are its methods and nested types; calling it "
        "calls its constructor. Struct(module, slang_struct, options={}) makes one of a TypeReflection." },
    { Py_tp_dealloc, (void *)spyp_struct_dealloc },
    { Py_tp_traverse, (void *)spyp_struct_traverse },
    { Py_tp_getattro, (void *)spyp_struct_getattr },
    { Py_tp_call, (void *)spyp_struct_call },
    { Py_tp_repr, (void *)spyp_struct_repr },
    { Py_tp_richcompare, (void *)spyp_struct_compare },
    { Py_tp_hash, (void *)spyp_struct_hash },
    { Py_mp_subscript, (void *)spyp_struct_item },
    { Py_tp_methods, spyp_struct_methods },
    { Py_tp_getset, spyp_struct_getset },
    { 0, NULL },
};

static PyType_Spec spyp_struct_spec = {
    "slangpy._slangpy.Struct", sizeof(spyp_struct), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_struct_slots,
};

// >>modules

static int spyp_module_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_module *m = (spyp_module *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)m->device);
    Py_VISIT(m->found);
    Py_VISIT(m->link);
    Py_VISIT(m->made);
    Py_VISIT(m->extra);
    return 0;
}

static int spyp_module_clear(PyObject *self) {
    spyp_module *m = (spyp_module *)self;
    Py_CLEAR(m->found);
    Py_CLEAR(m->link);
    Py_CLEAR(m->made);
    Py_CLEAR(m->extra);
    return 0;
}

static void spyp_module_dealloc(PyObject *self) {
    spyp_module *m = (spyp_module *)self;
    PyObject_GC_UnTrack(self);
    if (m->weakrefs) PyObject_ClearWeakRefs(self);
    spyp_module_clear(self);
    Py_CLEAR(m->reflected);
    if (m->module && m->device->device && m->device->fork_count == spyp.fork_count) spy_release_module(m->module);
    Py_CLEAR(m->name);
    Py_CLEAR(m->device);
    spyp_free(self);
}

// Returns the part of the library's message after the missing name, as a new str: ", did you mean 'add'?", ": it is ...", or "".
static PyObject *spyp_module_hint(const char *message, const char *name) {
    static const char missing[] = "has no function '";
    const char *rest = strstr(message, missing);
    if (!rest) {
        PyObject *text = spyp_translate(message, NULL, true), *hint = text ? spyp_format(": %U", text) : NULL;
        Py_XDECREF(text);
        return hint;
    }
    rest += sizeof missing - 1 + strlen(name);
    return PyUnicode_FromString(*rest ? rest + 1 : rest);
}

// Finds a function or type of the module. NULL without an exception means that the module has none of that name, and *why receives similar
// names unless `why` is NULL. Call it inside the device.
static PyObject *spyp_module_look_up(spyp_module *m, PyObject *name, PyObject **why) {
    const char *text = spyp_utf8(name);
    spyp_device *d = m->device;
    PyObject *turned = text ? spyp_library_name(name) : NULL, *made = NULL;
    const char *type = turned ? spyp_utf8(turned) : NULL;
    if (!type) return NULL;
    bool known = spy_has_type(m->module, type);
    const spy_type_info *info = known ? spy_reflect_type(m->module, type) : NULL;
    Py_DECREF(turned);
    if (known) made = info ? spyp_struct_make(m, info) : spyp_raise(d);
    if (known) return made;
    d->quiet = true; // a search that finds nothing is no error
    spy_function *function = spy_find_function(m->module, text);
    spy_error error = { SPY_OK, "" };
    if (!function) error = spy_take_error(d->device);
    d->quiet = false;
    if (function) return spyp_function_make(m, function, name);
    if (error.code != SPY_ERROR_NOT_FOUND) return spyp_raise_status(error.code, error.message, d->what);
    PyObject *hint = spyp_module_hint(error.message, text), *constant = hint ? spyp_module_constant(m, text) : NULL;
    if (why && !constant && !PyErr_Occurred()) *why = Py_NewRef(hint);
    Py_XDECREF(hint);
    return constant;
}

static PyObject *spyp_module_find_why(spyp_module *m, PyObject *name, PyObject **why) {
    if (!m->found) return PyErr_Format(spyp.error, "Module '%U' is being collected as garbage", m->name);
    if (m->found_at != m->device->reload_count) PyDict_Clear(m->found); // after a reload a struct may have other fields
    m->found_at = m->device->reload_count;
    PyObject *found = PyDict_GetItemWithError(m->found, name);
    if (found || PyErr_Occurred()) return Py_XNewRef(found);
    if (spyp_enter(m->device, "Module") < 0) return NULL;
    found = spyp_module_look_up(m, name, why);
    spyp_leave(m->device);
    // Constants are not kept, because a reload changes them.
    bool lasts =
        found && (PyObject_TypeCheck(found, spyp.function) || PyObject_TypeCheck(found, spyp.struct_type));
    if (lasts && PyDict_SetItem(m->found, name, found) < 0) Py_CLEAR(found);
    return found;
}

PyObject *spyp_module_find(spyp_module *m, PyObject *name) {
    return spyp_module_find_why(m, name, NULL);
}

static PyObject *spyp_module_missing(spyp_module *m, PyObject *name, PyObject *why, PyObject *exception) {
    if (!PyErr_Occurred())
        PyErr_Format(exception, "Module '%U' has no function or type named '%U'%V", m->name, name, why, "");
    Py_XDECREF(why);
    return NULL;
}

// Returns the object that draws with functions of the module, for a module that has no function or type `draw`. It is kept with what
// was found, so that it is found again at once.
static PyObject *spyp_module_draw(spyp_module *m, PyObject *name) {
    PyObject *drawing = PyImport_ImportModule("slangpy.drawing");
    PyObject *made = drawing ? PyObject_CallMethod(drawing, "Draw", "O", (PyObject *)m) : NULL;
    if (made && PyDict_SetItem(m->found, name, made) < 0) Py_CLEAR(made);
    Py_XDECREF(drawing);
    return made;
}

static PyObject *spyp_module_getattr(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(self, name), *why = NULL;
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    const char *text = spyp_attribute_text(name);
    if (!text || strncmp(text, "__", 2) == 0 || strncmp(text, "_repr_", 6) == 0 || strncmp(text, "_ipython_", 9) == 0) return NULL;
    PyErr_Clear();
    value = spyp_module_find_why((spyp_module *)self, name, &why);
    if (!value && strcmp(text, "draw") == 0 && !PyErr_Occurred()) {
        Py_XDECREF(why);
        return spyp_module_draw((spyp_module *)self, name);
    }
    return value ? value : spyp_module_missing((spyp_module *)self, name, why, PyExc_AttributeError);
}

static PyObject *spyp_module_item(PyObject *self, PyObject *name) {
    PyObject *why = NULL;
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "Module: expected a name in brackets, got %R", (PyObject *)Py_TYPE(name));
    if (!spyp_utf8(name)) return spyp_error_behind("Module: ");
    bool empty = PyUnicode_GetLength(name) == 0; // names nothing
    PyObject *value = empty ? NULL : spyp_module_find_why((spyp_module *)self, name, &why);
    return value ? value : spyp_module_missing((spyp_module *)self, name, why, spyp.lookup_error);
}

// find_function() and similar methods. `kind` is the class of the result. If `required` is true, it raises
// instead of returning None.
static PyObject *spyp_module_find_kind(PyObject *self, PyObject *name, PyTypeObject *kind, bool required, const char *what) {
    PyObject *why = NULL;
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "Module: expected the name of a %s, got %R", what, (PyObject *)Py_TYPE(name));
    if (!spyp_utf8(name)) return spyp_error_behind("Module: ");
    PyObject *value = spyp_module_find_why((spyp_module *)self, name, &why);
    if (value && !PyObject_TypeCheck(value, kind)) {
        const char *is = PyObject_TypeCheck(value, spyp.function) ? "function" : PyObject_TypeCheck(value, spyp.struct_type) ? "type" : "constant";
        Py_CLEAR(value);
        if (required) return PyErr_Format(spyp.value_error, "Module '%U': '%U' is a %s; expected a %s", ((spyp_module *)self)->name, name, is, what);
    }
    if (!value && PyErr_Occurred()) return NULL;
    if (value || required) {
        if (!value) return spyp_module_missing((spyp_module *)self, name, why, spyp.value_error);
        return value;
    }
    Py_XDECREF(why);
    Py_RETURN_NONE;
}

static PyObject *spyp_module_find_function(PyObject *self, PyObject *name) {
    return spyp_module_find_kind(self, name, spyp.function, false, "function");
}

static PyObject *spyp_module_require_function(PyObject *self, PyObject *name) {
    return spyp_module_find_kind(self, name, spyp.function, true, "function");
}

static PyObject *spyp_module_find_struct(PyObject *self, PyObject *name) {
    return spyp_module_find_kind(self, name, spyp.struct_type, false, "type");
}

static PyObject *spyp_module_require_struct(PyObject *self, PyObject *name) {
    return spyp_module_find_kind(self, name, spyp.struct_type, true, "type");
}

static PyObject *spyp_module_find_in_struct(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "struct", "name", NULL };
    PyObject *type, *name, *path = NULL, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OU:find_function_in_struct", names, &type, &name)) return NULL;
    if (PyObject_TypeCheck(type, spyp.struct_type)) path = spyp_format("%U::%U", ((spyp_struct *)type)->name, name);
    else if (PyUnicode_Check(type)) path = spyp_format("%U::%U", type, name);
    else PyErr_Format(PyExc_TypeError, "find_function_in_struct: argument 'struct': expected a Struct or name, got %R", (PyObject *)Py_TYPE(type));
    if (path) result = spyp_module_find_function(self, path);
    Py_XDECREF(path);
    return result;
}

// >>loading

// Converts {"name": "value"} to the defines of a module.
static int spyp_defines(spyp_arena *arena, PyObject *dict, const char *where, spy_module_desc *desc) {
    if (!dict || dict == Py_None) return 0;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s: 'defines': expected a dict of str, got %R", where, (PyObject *)Py_TYPE(dict));
        return -1;
    }
    PyObject *items = spyp_arena_kept(arena, spyp_dict_items(dict, NULL));
    Py_ssize_t n = items ? PyTuple_Size(items) / 2 : 0;
    spy_define *defines = items ? (spy_define *)spyp_arena_take(arena, (size_t)(n + 1) * sizeof *defines) : NULL;
    for (Py_ssize_t i = 0; defines && i < n; i++) {
        PyObject *text = spyp_arena_kept(arena, PyObject_Str(PyTuple_GetItem(items, 2 * i + 1)));
        defines[i].name = text ? spyp_utf8(PyTuple_GetItem(items, 2 * i)) : NULL;
        defines[i].value = defines[i].name ? spyp_utf8(text) : NULL;
        if (!defines[i].value) defines = NULL;
    }
    if (!defines) {
        spyp_error_behind("%s: 'defines': ", where);
        return -1;
    }
    desc->defines = defines;
    desc->define_count = (size_t)n;
    return 0;
}

// Returns a conformance that is not text as (interface, type, id), where the id is -1 if it is not given. The conformance is a tuple
// ("IShape", "Circle", 0), or an object with interface_name, type_name and id.
static PyObject *spyp_conformance_parts(PyObject *item, const char *where) {
    PyObject *parts[3] = { NULL, NULL, NULL }, *result = NULL;
    static const char *const names[] = { "interface_name", "type_name", "id" };
    Py_ssize_t n = PyTuple_Check(item) ? PyTuple_Size(item) : 0;
    for (int i = 0; i < 3; i++) {
        parts[i] = i < n ? Py_NewRef(PyTuple_GetItem(item, i)) : n ? NULL : PyObject_GetAttrString(item, names[i]);
        if (!parts[i]) PyErr_Clear();
    }
    bool good = parts[0] && PyUnicode_Check(parts[0]) && parts[1] && PyUnicode_Check(parts[1]) && n <= 3;
    long id = good && parts[2] && parts[2] != Py_None ? PyLong_AsLong(parts[2]) : -1;
    if (PyErr_Occurred()) good = false;
    PyErr_Clear();
    if (good) result = Py_BuildValue("OOl", parts[0], parts[1], id);
    else PyErr_Format(PyExc_TypeError, "%s: 'type_conformances': expected 'Circle : IShape' or ('IShape', 'Circle'), got %R", where, item);
    for (int i = 0; i < 3; i++) Py_XDECREF(parts[i]);
    return result;
}

// Returns whether another conformance of `list` than number `at` has the same interface as `item`, and the same
// type (`id` is -1) or this id.
static bool spyp_conformance_meets(PyObject *list, Py_ssize_t at, PyObject *item, long id) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *other = PyList_GetItem(list, i);
        if (i == at || !PyTuple_Check(other) || PyUnicode_Compare(PyTuple_GetItem(other, 0), PyTuple_GetItem(item, 0)) != 0) continue;
        if (id < 0 ? PyUnicode_Compare(PyTuple_GetItem(other, 1), PyTuple_GetItem(item, 1)) == 0 : PyLong_AsLong(PyTuple_GetItem(other, 2)) == id)
            return true;
    }
    return false;
}

// Gives each conformance without an id the lowest one that no other type of the interface has.
static int spyp_conformances_number(PyObject *list, const char *where) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyTuple_Check(item)) continue;
        long id = PyLong_AsLong(PyTuple_GetItem(item, 2));
        bool twice = spyp_conformance_meets(list, i, item, -1);
        if (twice || (id >= 0 && spyp_conformance_meets(list, i, item, id))) {
            PyErr_Format(spyp.value_error, "%s: 'type_conformances': %R has a %s that another one has, too",
                         where, item, twice ? "type" : "number");
            return -1;
        }
        if (id >= 0) continue;
        for (id = 0; spyp_conformance_meets(list, i, item, id);) id++;
        PyObject *numbered = Py_BuildValue("OOl", PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), id);
        if (!numbered || PyList_SetItem(list, i, numbered) < 0) return -1;
    }
    return 0;
}

PyObject *spyp_conformances_parse(PyObject *items, const char *where) {
    PyObject *list = PyUnicode_Check(items) ? NULL : PySequence_List(items);
    if (!list) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "%s: 'type_conformances': expected a list, got %R", where, (PyObject *)Py_TYPE(items));
    }
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) {
        PyObject *item = PyList_GetItem(list, i), *parts = PyUnicode_Check(item) ? Py_NewRef(item) : spyp_conformance_parts(item, where);
        if (!parts || PyList_SetItem(list, i, parts) < 0) Py_CLEAR(list);
    }
    if (list && spyp_conformances_number(list, where) < 0) Py_CLEAR(list);
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) { // makes the texts that the library takes: "Circle : IShape = 0"
        PyObject *item = PyList_GetItem(list, i);
        if (!PyTuple_Check(item)) continue;
        PyObject *text = spyp_format("%U : %U = %S", PyTuple_GetItem(item, 1), PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 2));
        if (!text || PyList_SetItem(list, i, text) < 0) Py_CLEAR(list);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

// The options that SlangPy's scripts may give. Some have no effect and are accepted silently, because they ask for the library's only
// behaviour, or are meant for other targets.
static const char *const spyp_option_names[] = {
    "strict_broadcasting", "compiler_options", "defines", "include_paths", "optimization", "debug_info", "floating_point_mode",
    "warnings_as_errors", "enable_experimental_features", "type_conformances", "downstream_args",
    // The next options have no effect.
    "shader_model", "matrix_layout", "enable_warnings", "disable_warnings", "report_downstream_time", "report_perf_benchmark",
    "skip_spirv_validation", "dump_intermediates", "dump_intermediates_prefix", "implicit_element_casts",
    "implicit_tensor_casts", "defer_target_compilation",
};

static int spyp_warn_unknown(PyObject *options, const char *where) {
    PyObject *items = PyDict_Check(options) ? spyp_dict_items(options, where) : PyTuple_New(0);
    int status = items ? 0 : -1;
    for (Py_ssize_t k = 0; status == 0 && k < PyTuple_Size(items); k += 2) {
        PyObject *key = PyTuple_GetItem(items, k);
        bool known = false;
        for (size_t i = 0; i < sizeof spyp_option_names / sizeof *spyp_option_names; i++)
            known = known || PyUnicode_CompareWithASCIIString(key, spyp_option_names[i]) == 0;
        if (!known) status = PyErr_WarnFormat(PyExc_UserWarning, 2, "%s: the option %R is not known, and has no effect", where, key);
    }
    Py_XDECREF(items);
    return status;
}

// Returns an option by its name from a dict or from an object's attributes, borrowed from the arena. NULL means that
// the option is missing or None, or that memory ran out.
static PyObject *spyp_option(spyp_arena *arena, PyObject *options, const char *name) {
    PyObject *value = PyDict_Check(options) ? Py_XNewRef(PyDict_GetItemString(options, name)) : PyObject_GetAttrString(options, name);
    if (!value) {
        PyErr_Clear();
        return NULL;
    }
    value = spyp_arena_kept(arena, value);
    return value == Py_None ? NULL : value;
}

static bool spyp_flag(spyp_arena *arena, PyObject *options, const char *name) {
    PyObject *value = spyp_option(arena, options, name);
    return value && PyObject_IsTrue(value) > 0;
}

// Parses an option that is one of some names, given as a str or as a member of an enum. *out receives its
// number, or 0 if it is missing.
static int spyp_named(spyp_arena *arena, PyObject *options, const char *option, const char *const *names, const char *where, int *out) {
    PyObject *value = spyp_option(arena, options, option);
    *out = 0;
    if (!value) return PyErr_Occurred() ? -1 : 0;
    PyObject *name = PyUnicode_Check(value) ? Py_NewRef(value) : PyObject_GetAttr(value, spyp.s_name);
    bool found = false;
    for (int i = 0; name && PyUnicode_Check(name) && names[i]; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) != 0) continue;
        *out = i;
        found = true;
    }
    Py_XDECREF(name);
    if (found) return 0;
    PyErr_Clear();
    PyErr_Format(spyp.value_error, "%s: option '%s': expected one of its names, such as '%s', got %R", where, option, names[1], value);
    return -1;
}

static const char *const spyp_optimizations[] = { "default", "none", "low", "high", "maximal", NULL };
static const char *const spyp_debug_infos[] = { "default", "none", "minimal", "standard", "maximal", NULL };
static const char *const spyp_float_modes[] = { "default", "precise", "fast", NULL };

// Parses the options of NVRTC that the library supports; all others are refused. On Vulkan no compiler runs after Slang, and the options
// are Slang's.
static int spyp_downstream(spyp_arena *arena, PyObject *options, const char *where, spy_compile_options *out) {
    static const struct {
        const char *word;
        spy_float_mode float_mode;
        spy_debug_info debug_info;
    } known[] = {
        { "use_fast_math", SPY_FLOAT_MODE_FAST, SPY_DEBUG_INFO_DEFAULT },     { "fmad=false", SPY_FLOAT_MODE_PRECISE, SPY_DEBUG_INFO_DEFAULT },
        { "generate-line-info", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_LINES }, { "lineinfo", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_LINES },
        { "device-debug", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_FULL },      { "G", SPY_FLOAT_MODE_DEFAULT, SPY_DEBUG_INFO_FULL },
    };
    const char *const *items = NULL;
    size_t count = 0;
    PyObject *list = spyp_option(arena, options, "downstream_args");
    if (!list) return PyErr_Occurred() ? -1 : 0;
    if (spyp_strings(arena, list, where, "downstream_args", &items, &count) < 0) return -1;
    for (size_t i = 0; i < count; i++) {
        const char *word = items[i] + strspn(items[i], "-");
        size_t k = 0, n = sizeof known / sizeof *known;
        while (k < n && (word == items[i] || strcmp(known[k].word, word) != 0)) k++;
        if (k == n) {
            PyErr_Format(spyp.value_error,
                         "%s: option 'downstream_args': expected '-use_fast_math', '-fmad=false', '-lineinfo' or '-G', which NVRTC "
                         "gets, got '%s'; it gets no other ones",
                         where, items[i]);
            return -1;
        }
        if (known[k].float_mode) out->float_mode = known[k].float_mode;
        if (known[k].debug_info) out->debug_info = known[k].debug_info;
    }
    return 0;
}

static int spyp_module_conformances(spyp_arena *arena, PyObject *value, const char *where, spy_module_desc *desc) {
    PyObject *items = spyp_conformances_parse(value, where);
    int status = items ? spyp_arena_keep(arena, items) : -1;
    if (status == 0) status = spyp_strings(arena, items, where, "type_conformances", &desc->conformances, &desc->conformance_count);
    Py_XDECREF(items);
    return status;
}

// Parses SlangPy's options: strict_broadcasting, and the members of SlangCompilerOptions.
static int spyp_module_options(spyp_arena *arena, PyObject *options, const char *where, spy_module_desc *desc) {
    PyObject *value;
    int optimization, debug_info, float_mode;
    desc->zero_missing = true;
    if (!options || options == Py_None) return 0;
    if (spyp_warn_unknown(options, where) < 0) return -1;
    desc->strict_broadcasting = spyp_flag(arena, options, "strict_broadcasting");
    if ((value = spyp_option(arena, options, "compiler_options"))) {
        options = value;
        if (spyp_warn_unknown(options, where) < 0) return -1;
    }
    if (spyp_defines(arena, spyp_option(arena, options, "defines"), where, desc) < 0 ||
        spyp_paths(arena, spyp_option(arena, options, "include_paths"), where, &desc->include_paths, &desc->include_path_count) < 0 ||
        spyp_named(arena, options, "optimization", spyp_optimizations, where, &optimization) < 0 ||
        spyp_named(arena, options, "debug_info", spyp_debug_infos, where, &debug_info) < 0 ||
        spyp_named(arena, options, "floating_point_mode", spyp_float_modes, where, &float_mode) < 0)
        return -1;
    desc->options.optimization = (spy_optimization)optimization;
    desc->options.debug_info = debug_info > SPY_DEBUG_INFO_FULL ? SPY_DEBUG_INFO_FULL : (spy_debug_info)debug_info;
    desc->options.float_mode = (spy_float_mode)float_mode;
    desc->options.warnings_as_errors = spyp_flag(arena, options, "warnings_as_errors");
    desc->options.experimental_features = spyp_flag(arena, options, "enable_experimental_features");
    if (spyp_downstream(arena, options, where, &desc->options) < 0) return -1;
    if (!(value = spyp_option(arena, options, "type_conformances"))) return PyErr_Occurred() ? -1 : 0;
    return spyp_module_conformances(arena, value, where, desc);
}

// Returns the module's name: the name that was given, or the file's name without its folder and extension.
static PyObject *spyp_module_name(const spy_module_desc *desc) {
    if (desc->name) return PyUnicode_FromString(desc->name);
    const char *start = desc->path, *end;
    for (const char *p = desc->path; *p; p++)
        if (*p == '/' || *p == '\\') start = p + 1;
    for (end = start; *end && *end != '.'; end++) {}
    return PyUnicode_DecodeUTF8(start, end - start, "replace");
}

// Notes how the module was loaded, for load_again().
static int spyp_module_note(spyp_module *m, const spy_module_desc *desc, PyObject *options) {
    PyObject *path = desc->path ? PyBytes_FromString(desc->path) : Py_NewRef(Py_None), *source = Py_NewRef(Py_None);
    if (desc->source) {
        Py_ssize_t size = (Py_ssize_t)(desc->source_size_bytes ? desc->source_size_bytes : strlen(desc->source));
        spyp_replace(&source, PyUnicode_DecodeUTF8(desc->source, size, NULL));
    }
    if (path && source) m->made = Py_BuildValue("OzOOO", path, desc->name, source, options ? options : Py_None, m->link);
    Py_XDECREF(path);
    Py_XDECREF(source);
    return m->made ? 0 : -1;
}

// Loads a module. `conformances` are further type conformances, or NULL.
static PyObject *spyp_load(spyp_device *d, const char *where, spy_module_desc *desc, PyObject *options, PyObject *link,
                           PyObject *conformances) {
    spyp_arena arena;
    PyObject *result = NULL, *links = link && link != Py_None ? PySequence_Tuple(link) : PyTuple_New(0);
    if (!links && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: argument 'link': expected a list of Modules, got %R", where, (PyObject *)Py_TYPE(link));
    spyp_arena_begin(&arena);
    Py_ssize_t n = links ? PyTuple_Size(links) : -1;
    spy_module **modules = n >= 0 ? (spy_module **)spyp_arena_take(&arena, (size_t)(n + 1) * sizeof *modules) : NULL;
    // The device's options.
    if (!options || options == Py_None) options = PyDict_GetItemString(d->extra, "compiler_options");
    bool good = modules && spyp_module_options(&arena, options, where, desc) == 0;
    if (good && conformances) good = spyp_module_conformances(&arena, conformances, where, desc) == 0;
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *m = PyTuple_GetItem(links, i);
        good = PyObject_TypeCheck(m, spyp.module_type);
        if (!good) PyErr_Format(PyExc_TypeError, "%s: argument 'link': expected Modules, got %R", where, (PyObject *)Py_TYPE(m));
        else modules[i] = ((spyp_module *)m)->module;
        if (good && ((spyp_module *)m)->device != d) {
            PyErr_Format(spyp.value_error, "%s: argument 'link': Module '%U' belongs to another device", where, ((spyp_module *)m)->name);
            good = false;
        }
    }
    if (good && spyp_enter(d, where) == 0) {
        desc->link = modules;
        desc->link_count = (size_t)n;
        spy_module *module = spy_load_module(d->device, desc);
        if (!module) spyp_raise_source(d);
        spyp_leave(d);
        PyObject *name = module ? spyp_module_name(desc) : NULL;
        if (name) result = spyp_module_make(d, module, name, links);
        else spy_release_module(module);
        if (result && spyp_module_note((spyp_module *)result, desc, options) < 0) Py_CLEAR(result);
        Py_XDECREF(name);
    }
    Py_XDECREF(links);
    spyp_arena_end(&arena);
    return result;
}

static PyObject *spyp_load_file(PyObject *device, PyObject *path, PyObject *options, PyObject *link, const char *where) {
    spyp_device *d = spyp_device_of(device, where);
    PyObject *bytes = NULL;
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    if (!d) return NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        bool text = PyErr_ExceptionMatches(PyExc_ValueError); // a ValueError means that the text has NUL characters
        PyErr_Clear();
        if (text) return PyErr_Format(spyp.value_error, "%s: argument 'path': expected a path that the system can have, got %R", where, path);
        return PyErr_Format(PyExc_TypeError, "%s: argument 'path': expected a path, got %R", where, (PyObject *)Py_TYPE(path));
    }
    const char *name = PyBytes_AsString(bytes);
    for (const char *p = name; *p; p++)
        if (*p == '/' || *p == '\\') name = p + 1;
    if (!strchr(name, '.')) { // "example" is example.slang
        PyObject *full = PyBytes_FromFormat("%s.slang", PyBytes_AsString(bytes));
        spyp_replace(&bytes, full);
    }
    desc.path = bytes ? PyBytes_AsString(bytes) : NULL;
    PyObject *module = bytes ? spyp_load(d, where, &desc, options, link, NULL) : NULL;
    Py_XDECREF(bytes);
    return module;
}

static PyObject *spyp_module_load_file(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "path", "options", "link", NULL };
    PyObject *device, *path, *options = NULL, *link = NULL;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:Module.load_from_file", names, &device, &path, &options, &link)) return NULL;
    return spyp_load_file(device, path, options, link, "Module.load_from_file");
}

static PyObject *spyp_module_load_source(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "name", "source", "options", "link", NULL };
    PyObject *device, *options = NULL, *link = NULL;
    const char *name, *source;
    Py_ssize_t size;
    spy_module_desc desc;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Oss#|OO:Module.load_from_source", names, &device, &name, &source, &size,
                                     &options, &link))
        return NULL;
    spyp_device *d = spyp_device_of(device, "Module.load_from_source");
    if (!d) return NULL;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.source = source;
    desc.source_size_bytes = (size_t)size;
    if (!size) desc.source_size_bytes = 0;
    return spyp_load(d, "Module.load_from_source", &desc, options, link, NULL);
}

// Loads the module's code another time, with further modules linked to it, with other options unless `options` is None, and with these type
// conformances unless there are none.
static PyObject *spyp_module_again(spyp_module *m, const char *where, PyObject *options, PyObject *link, PyObject *conformances) {
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    if (!m->made) return PyErr_Format(spyp.error, "%s: module '%U' cannot be loaded again", where, m->name);
    PyObject *path = PyTuple_GetItem(m->made, 0), *name = PyTuple_GetItem(m->made, 1), *source = PyTuple_GetItem(m->made, 2);
    PyObject *own = PyTuple_GetItem(m->made, 4), *list = PyList_New(0), *result = NULL;
    if (path != Py_None) desc.path = PyBytes_AsString(path);
    if (name != Py_None) desc.name = spyp_utf8(name);
    if (source != Py_None) desc.source = spyp_utf8(source);
    bool empty = !options || options == Py_None || (PyDict_Check(options) && PyDict_Size(options) == 0);
    if (empty) options = PyTuple_GetItem(m->made, 3);
    bool good = list && PyList_SetSlice(list, 0, 0, own) == 0;
    if (good && link && link != Py_None) {
        PyObject *both = PySequence_InPlaceConcat(list, link);
        good = both != NULL;
        Py_XDECREF(both);
    }
    if (good) result = spyp_load(m->device, where, &desc, options, list, conformances);
    Py_XDECREF(list);
    return result;
}

static PyObject *spyp_module_load_again(PyObject *self, PyObject *args) {
    PyObject *options, *link, *conformances;
    if (!PyArg_ParseTuple(args, "OOO:_load_again", &options, &link, &conformances)) return NULL;
    int any = PyObject_IsTrue(conformances);
    return any < 0 ? NULL : spyp_module_again((spyp_module *)self, "link_program", options, link, any ? conformances : NULL);
}

// Makes an object of `type`, a subclass of Module or Module itself, for the same module.
static PyObject *spyp_module_view(PyObject *self, PyObject *type) {
    spyp_module *m = (spyp_module *)self;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, spyp.module_type))
        return PyErr_Format(PyExc_TypeError, "_view: expected a class of modules, got %R", type);
    spyp_module *view = (spyp_module *)spyp_alloc((PyTypeObject *)type);
    if (!view) return NULL;
    view->device = (spyp_device *)Py_NewRef((PyObject *)m->device);
    view->name = Py_NewRef(m->name);
    view->link = Py_XNewRef(m->link);
    view->made = Py_XNewRef(m->made);
    view->found = PyDict_New();
    view->extra = m->extra ? PyDict_Copy(m->extra) : NULL;
    view->plain = PyObject_HasAttrString(type, "_plain_reflection");
    if (view->found && spyp_enter(m->device, "Module") == 0) {
        spy_retain_module(m->module);
        view->module = m->module;
        spyp_leave(m->device);
    }
    if (view->module) return (PyObject *)view;
    SPYP_DECREF(view);
    return NULL;
}

// Makes a Module of a SlangModule. With options or modules to link, its code is loaded another time.
static PyObject *spyp_module_wrap(PyObject *module, PyObject *options, PyObject *link, const char *where) {
    spyp_module *m = (spyp_module *)module;
    int other = options && options != Py_None ? PyObject_IsTrue(options) : 0;
    int linked = link && link != Py_None ? PyObject_IsTrue(link) : 0;
    if (other < 0 || linked < 0) return NULL;
    PyObject *made = other || linked ? spyp_module_again(m, where, options, link, NULL)
                     : Py_TYPE(module) == spyp.module_type ? Py_NewRef(module)
                                                           : spyp_module_view(module, (PyObject *)spyp.module_type);
    if (made && made != module && m->extra && ((spyp_module *)made)->extra == NULL)
        ((spyp_module *)made)->extra = PyDict_Copy(m->extra);
    return made;
}

// load_from_module() makes a Module of a SlangModule.
static PyObject *spyp_module_load_module(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device", "module", "options", "link", NULL };
    PyObject *device, *module, *options = NULL, *link = NULL;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:Module.load_from_module", names, &device, &module, &options, &link)) return NULL;
    if (!PyObject_TypeCheck(module, spyp.module_type))
        return PyErr_Format(PyExc_TypeError, "Module.load_from_module: argument 'module': expected a module, got %R", (PyObject *)Py_TYPE(module));
    return spyp_module_wrap(module, options, link, "Module.load_from_module");
}

// Module(device_module) does the same as load_from_module().
static PyObject *spyp_module_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "device_module", "options", "link", NULL };
    PyObject *module, *options = NULL, *link = NULL;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:Module", names, &module, &options, &link)) return NULL;
    if (!PyObject_TypeCheck(module, spyp.module_type))
        return PyErr_Format(PyExc_TypeError, "Module: expected a loaded module; see Module.load_from_file and load_from_source");
    return spyp_module_wrap(module, options, link, "Module");
}

static PyObject *spyp_module_reload(PyObject *self, PyObject *args) {
    spyp_module *m = (spyp_module *)self;
    const char *source = NULL;
    if (!PyArg_ParseTuple(args, "|z:Module.reload", &source) || spyp_enter(m->device, "Module.reload") < 0) return NULL;
    spy_status status = spy_reload_module(m->module, source);
    if (status != SPY_OK) spyp_raise_source(m->device);
    spyp_leave(m->device);
    if (status != SPY_OK) return NULL;
    if (source && m->made && PyTuple_GetItem(m->made, 2) != Py_None) { // a later load_again() has the new text, too
        PyObject *made = Py_BuildValue("OOsOO", PyTuple_GetItem(m->made, 0), PyTuple_GetItem(m->made, 1), source,
                                       PyTuple_GetItem(m->made, 3), PyTuple_GetItem(m->made, 4));
        if (!made) return NULL;
        spyp_replace(&m->made, made);
    }
    Py_RETURN_NONE;
}

static PyObject *spyp_module_on_hot_reload(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    if (((spyp_module *)self)->found) PyDict_Clear(((spyp_module *)self)->found);
    Py_RETURN_NONE;
}

static PyObject *spyp_module_save(PyObject *self, PyObject *path) {
    spyp_module *m = (spyp_module *)self;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
    spy_status status = SPY_ERROR_RELEASED;
    if (spyp_enter(m->device, "Module.save") == 0) {
        status = spy_save_module(m->module, PyBytes_AsString(bytes));
        if (status != SPY_OK) spyp_raise(m->device);
        spyp_leave(m->device);
    }
    Py_DECREF(bytes);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_module_get_name(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef(((spyp_module *)self)->name);
}

static PyObject *spyp_module_get_device(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_module *)self)->device);
}

static PyObject *spyp_module_get_made(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    PyObject *made = ((spyp_module *)self)->made;
    return Py_NewRef(made ? made : Py_None);
}

// Two objects of one module, such as a Module and its device_module, have the same number.
static PyObject *spyp_module_get_number(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyLong_FromVoidPtr(((spyp_module *)self)->module);
}

static PyObject *spyp_module_get_extra(PyObject *self, void *ignored) {
    spyp_module *m = (spyp_module *)self;
    SPYP_UNUSED(ignored);
    if (!m->extra) m->extra = PyDict_New();
    return Py_XNewRef(m->extra);
}

static PyObject *spyp_module_repr(PyObject *self) {
    spyp_module *m = (spyp_module *)self;
    Py_ssize_t linked = m->link && PyTuple_Check(m->link) ? PyTuple_Size(m->link) : 0;
    if (Py_TYPE(self) != spyp.module_type) return spyp_format("<slangpy.SlangModule %U>", m->name);
    return spyp_format("Module(name=%R, linked_modules=%zd)", m->name, linked);
}

spyp_module *spyp_module_default(spyp_device *d) {
    PyObject *module = PyDict_GetItemString(d->extra, "default module");
    if (module) return (spyp_module *)Py_NewRef(module);
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "slangpy_default";
    desc.source = "import slangpy;\n";
    module = spyp_load(d, "slangpy", &desc, NULL, NULL, NULL);
    if (module && PyDict_SetItemString(d->extra, "default module", module) < 0) Py_CLEAR(module);
    return (spyp_module *)module;
}

SPYP_NAMED(spyp_module_find_function_by_name, spyp_module_find_function, "find_function", "name")
SPYP_NAMED(spyp_module_require_function_by_name, spyp_module_require_function, "require_function", "name")
SPYP_NAMED(spyp_module_find_struct_by_name, spyp_module_find_struct, "find_struct", "name")
SPYP_NAMED(spyp_module_require_struct_by_name, spyp_module_require_struct, "require_struct", "name")

static PyMethodDef spyp_module_methods_table[] = {
    { "load_from_file", SPYP_FUNC(spyp_module_load_file), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
      "load_from_file(device, path, options={}, link=[]): load a .slang or .slang-module file; a name without extension is a .slang "
      "file. `options`: strict_broadcasting, defines, include_paths, optimization ..." },
    { "load_from_source", SPYP_FUNC(spyp_module_load_source), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
      "load_from_source(device, name, source, options={}, link=[]): load Slang text." },
    { "load_from_module", SPYP_FUNC(spyp_module_load_module), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
      "load_from_module(device, module, options={}, link=[]): make a Module of a SlangModule, with further modules linked to it." },
    { "find_function", SPYP_FUNC(spyp_module_find_function_by_name), METH_FASTCALL | METH_KEYWORDS, "find_function(name): the function of that name, or None." },
    { "require_function", SPYP_FUNC(spyp_module_require_function_by_name), METH_FASTCALL | METH_KEYWORDS, "require_function(name): returns "
        "the function of that name; raises a ValueError if the module has no such function." },
    { "find_struct", SPYP_FUNC(spyp_module_find_struct_by_name), METH_FASTCALL | METH_KEYWORDS, "find_struct(name): the type of that name, or None." },
    { "require_struct", SPYP_FUNC(spyp_module_require_struct_by_name), METH_FASTCALL | METH_KEYWORDS, "require_struct(name): returns the "
        "type of that name; raises a ValueError if the module has no such type." },
    { "find_function_in_struct", SPYP_FUNC(spyp_module_find_in_struct), METH_VARARGS | METH_KEYWORDS, "find_function_in_struct(struct, name): the "
        "method of a type, which is given as a type or by name; None if the type has none of that name." },
    { "on_hot_reload", spyp_module_on_hot_reload, METH_NOARGS, "on_hot_reload(): forget the functions and types that were looked up." },
    { "reload", spyp_module_reload, METH_VARARGS,
      "reload(source=None): load the code again, from its file or from new text. If that fails, the module stays as it was." },
    { "save", spyp_module_save, METH_O, "save(path): write the module in compiled form as a .slang-module file." },
    { "_load_again", spyp_module_load_again, METH_VARARGS,
      "_load_again(options, link, type_conformances): load the module's code again as another module, linked to further ones." },
    { "_view", spyp_module_view, METH_O, "_view(type): an object of Module or of a subclass for the same module." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_module_getset[] = {
    { "name", spyp_module_get_name, NULL, "The module's name or path.", NULL },
    { "device", spyp_module_get_device, NULL, "The device that the module was loaded on.", NULL },
    { "_made", spyp_module_get_made, NULL, "How it was loaded: (path, name, source, options, link).", NULL },
    { "_number", spyp_module_get_number, NULL, "A number that only objects of the same module have in common.", NULL },
    { "_extra", spyp_module_get_extra, NULL, "What Python code keeps with the module: a dict.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_module_members[] = {
    { "__weaklistoffset__", Py_T_PYSSIZET, offsetof(spyp_module, weakrefs), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot spyp_module_type_slots[] = {
    { Py_tp_doc, (void *)"Slang code whose functions and types are found by name: as attributes, or as module['f<float, 4>'] for a "
        "specialisation." },
    { Py_tp_new, (void *)spyp_module_new },
    { Py_tp_dealloc, (void *)spyp_module_dealloc },
    { Py_tp_traverse, (void *)spyp_module_traverse },
    { Py_tp_clear, (void *)spyp_module_clear },
    { Py_tp_getattro, (void *)spyp_module_getattr },
    { Py_tp_repr, (void *)spyp_module_repr },
    { Py_mp_subscript, (void *)spyp_module_item },
    { Py_tp_methods, spyp_module_methods_table },
    { Py_tp_getset, spyp_module_getset },
    { Py_tp_members, spyp_module_members },
    { 0, NULL },
};

static PyType_Spec spyp_module_spec = {
    "slangpy._slangpy.Module", sizeof(spyp_module), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, spyp_module_type_slots,
};

// >>what a device loads

static PyObject *spyp_device_load(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "path", "options", "link", NULL };
    PyObject *path, *options = NULL, *link = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:Device.load_module", names, &path, &options, &link)) return NULL;
    return spyp_load_file(self, path, options, link, "Device.load_module");
}

static PyObject *spyp_device_load_source(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "module_name", "source", "options", "link", NULL };
    PyObject *name, *source, *options = Py_None, *link = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UU|OO:Device.load_module_from_source", names, &name, &source, &options, &link))
        return NULL;
    PyObject *all = PyTuple_Pack(5, self, name, source, options, link);
    PyObject *module = all ? spyp_module_load_source(NULL, all, NULL) : NULL;
    Py_XDECREF(all);
    return module;
}

// _check_options(options) raises the error that loading a module with these options would raise.
static PyObject *spyp_check_options(PyObject *self, PyObject *options) {
    spyp_arena arena;
    spy_module_desc desc;
    SPYP_UNUSED(self);
    memset(&desc, 0, sizeof desc);
    spyp_arena_begin(&arena);
    int status = spyp_module_options(&arena, options, "compiler_options", &desc);
    spyp_arena_end(&arena);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef spyp_device_load_methods[] = {
    { "load_module", SPYP_FUNC(spyp_device_load), METH_VARARGS | METH_KEYWORDS, "load_module(path, options={}, link=[]): load a Module." },
    { "load_module_from_file", SPYP_FUNC(spyp_device_load), METH_VARARGS | METH_KEYWORDS,
      "load_module_from_file(path, options={}, link=[]): load a Module from a file." },
    { "load_module_from_source", SPYP_FUNC(spyp_device_load_source), METH_VARARGS | METH_KEYWORDS,
      "load_module_from_source(module_name, source, options={}, link=[]): load a Module from text." },
    { NULL, NULL, 0, NULL },
};

// Returns the tuple of what a module was loaded from: path as bytes, name and text, each or None, options, link. Returns None for a module
// that was not loaded.
static PyObject *spyp_made_of(PyObject *self, PyObject *module) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(module, spyp.module_type)) return PyErr_Format(PyExc_TypeError, "expected a Module, got %R", (PyObject *)Py_TYPE(module));
    PyObject *made = ((spyp_module *)module)->made;
    return Py_NewRef(made ? made : Py_None);
}

int spyp_modules_ready(PyObject *module) {
    static PyMethodDef functions[] = {
        { "_made_of", spyp_made_of, METH_O, "What a module was loaded from: path as bytes, name and text, each or None, options, "
            "linked modules; None if it was not loaded from file or text." },
        { "_check_options", spyp_check_options, METH_O, "_check_options(options): raise the error that loading a module with these "
            "options would raise." },
        { NULL, NULL, 0, NULL },
    };
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
    spyp.module_type = spyp_type_add(module, &spyp_module_spec, NULL);
    spyp.struct_type = spyp_type_add(module, &spyp_struct_spec, NULL);
    return spyp.module_type && spyp.struct_type ? spyp_methods_add(spyp.device, spyp_device_load_methods) : -1;
}
