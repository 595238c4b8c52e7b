// Reflection: the tree of spy_reflect_module() as Python objects. This file makes the objects, reads their properties by table, and has the
// properties and methods of Module.layout.
#include "objects/reflection.h"

#include <string.h>

#include "state/cold.h"

// >>enums of slangpy/reflection.py, which is imported when the first one is needed

PyObject *spyp_enum_class(const char *name) {
    PyObject *module = PyImport_ImportModule("slangpy.reflection");
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    return found;
}

PyObject *spyp_enum(const char *name, long value) {
    PyObject *type = spyp_enum_class(name), *member = type ? PyObject_CallFunction(type, "l", value) : NULL;
    Py_XDECREF(type);
    return member;
}

// A class attribute that is an enum of slangpy.reflection, such as TypeReflection.Kind.
typedef struct spyp_enum_link {
    PyObject_HEAD const char *name;
} spyp_enum_link;

static PyObject *spyp_enum_link_get(PyObject *self, PyObject *object, PyObject *type) {
    SPYP_UNUSED(object);
    SPYP_UNUSED(type);
    return spyp_enum_class(((spyp_enum_link *)self)->name);
}

static PyType_Slot spyp_enum_link_slots[] = {
    { Py_tp_descr_get, (void *)spyp_enum_link_get },
    { Py_tp_dealloc, (void *)spyp_free },
    { 0, NULL },
};
static PyType_Spec spyp_enum_link_spec = {
    "slangpy._slangpy._EnumLink",
    sizeof(spyp_enum_link),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_enum_link_slots,
};

static int spyp_enums_link(void) {
    static const struct {
        spyp_reflected of;
        const char *name, *enumeration;
    } links[] = {
        { SPYP_DECL, "Kind", "DeclKind" },
        { SPYP_TYPE, "Kind", "TypeKind" },
        { SPYP_TYPE, "ScalarType", "TypeScalar" },
        { SPYP_TYPE, "ResourceShape", "ResourceShape" },
        { SPYP_TYPE, "ResourceAccess", "ResourceAccess" },
        { SPYP_TYPE, "ParameterCategory", "ParameterCategory" },
    };
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spyp_enum_link_spec);
    int status = type ? 0 : -1;
    for (size_t i = 0; status == 0 && i < sizeof links / sizeof *links; i++) {
        spyp_enum_link *link = (spyp_enum_link *)spyp_alloc(type);
        if (link) link->name = links[i].enumeration;
        status = link ? PyObject_SetAttrString((PyObject *)spyp.reflections[links[i].of], links[i].name,
                                               (PyObject *)link)
                      : -1;
        SPYP_DECREF(link);
    }
    SPYP_DECREF(type);
    return status;
}

// >>objects

spyp_reflection *spyp_reflection_make(spyp_reflected kind, spyp_module *module) {
    spyp_reflection *r = (spyp_reflection *)spyp_alloc(spyp.reflections[kind]);
    if (!r) return NULL;
    r->module = (spyp_module *)Py_NewRef((PyObject *)module);
    r->reload_count = module->device->reload_count;
    return r;
}

// Returns the key of an object in module->reflected, which has the addresses of living objects without references, so that a declaration or
// type is the same object as long as somebody holds it. Types have their names as keys.
static PyObject *spyp_reflection_key(spyp_reflected kind, const void *at, const char *name) {
    return name ? spyp_format("%d %s", (int)kind, name) : spyp_format("%d %p", (int)kind, at);
}

// Returns whether a reload has made the object invalid.
static bool spyp_reflection_ended(const spyp_reflection *r) {
    return r->module->plain && r->reload_count != r->module->device->reload_count;
}

spyp_reflection *spyp_reflection_get(spyp_reflected kind, spyp_module *module, PyObject *key) {
    if (key && !module->reflected) module->reflected = PyDict_New();
    PyObject *known = key && module->reflected ? PyDict_GetItemWithError(module->reflected, key) : NULL;
    spyp_reflection *r = known ? (spyp_reflection *)PyLong_AsVoidPtr(known) : NULL;
    if (r && spyp_reflection_ended(r)) {
        Py_CLEAR(r->key);
        r = NULL;
    }
    if (r) {
        Py_DECREF(key);
        return (spyp_reflection *)Py_NewRef((PyObject *)r);
    }
    r = key && !PyErr_Occurred() ? spyp_reflection_make(kind, module) : NULL;
    PyObject *address = r ? PyLong_FromVoidPtr(r) : NULL;
    if (address && PyDict_SetItem(module->reflected, key, address) == 0) r->key = Py_NewRef(key);
    else if (r) {
        SPYP_DECREF(r);
        r = NULL;
    }
    Py_XDECREF(address);
    Py_XDECREF(key);
    return r;
}

PyObject *spyp_reflect_decl(spyp_reflected kind, spyp_module *module, const spy_decl *decl) {
    if (!decl) Py_RETURN_NONE;
    spyp_reflection *r = spyp_reflection_get(kind, module, spyp_reflection_key(kind, decl, NULL));
    if (r) r->decl = decl;
    return (PyObject *)r;
}

// Gives a new TypeReflection the class that says what it is, such as slangpy.reflection.VectorType. Takes over the reference.
static PyObject *spyp_with_class(spyp_reflection *r) {
    PyObject *classes = PyImport_ImportModule("slangpy.reflection.reflectiontypes");
    PyObject *found = classes ? PyObject_CallMethod(classes, "class_of", "O", (PyObject *)r) : NULL;
    if (!found || PyObject_SetAttrString((PyObject *)r, "__class__", found) < 0) {
        SPYP_DECREF(r);
        r = NULL;
    }
    Py_XDECREF(found);
    Py_XDECREF(classes);
    return (PyObject *)r;
}

PyObject *spyp_reflect_type(spyp_reflected kind, spyp_module *module, const spy_type_info *type) {
    if (!type) Py_RETURN_NONE;
    spyp_reflection *r = spyp_reflection_get(kind, module, spyp_reflection_key(kind, type, type->name));
    bool fresh = r && !r->type;
    if (r) r->type = type; // after a reload the type of that name is another one
    return fresh && kind == SPYP_TYPE ? spyp_with_class(r) : (PyObject *)r;
}

PyObject *spyp_reflect_attribute(spyp_module *module, const spy_attribute *attribute) {
    spyp_reflection *r = spyp_reflection_get(SPYP_ATTRIBUTE, module, spyp_reflection_key(SPYP_ATTRIBUTE, attribute, NULL));
    if (r) r->attribute = attribute;
    return (PyObject *)r;
}

int spyp_reflection_open(spyp_reflection *r, const char *what) {
    bool open = r->module->device->device != NULL;
    if (SPYP_LIKELY(open && !spyp_reflection_ended(r))) return 0;
    PyErr_Format(spyp.error, open ? "%s: the module was reloaded; ask its layout again" : "%s: the device is closed", what);
    return -1;
}

PyObject *spyp_decl_list(spyp_reflected kind, spyp_module *module, const spy_decl *decls, uint32_t count,
                         uint32_t kinds) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        if (!(kinds >> decls[i].kind & 1)) continue;
        PyObject *item = spyp_reflect_decl(kind, module, &decls[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

PyObject *spyp_attribute_list(spyp_reflection *r, const spy_decl *decl) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && decl && i < decl->attribute_count; i++) {
        PyObject *item = spyp_reflect_attribute(r->module, &decl->attributes[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static int spyp_reflection_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((spyp_reflection *)self)->entries);
    Py_VISIT((PyObject *)((spyp_reflection *)self)->module);
    Py_VISIT(((spyp_reflection *)self)->parts);
    Py_VISIT(((spyp_reflection *)self)->arguments);
    return 0;
}

static void spyp_reflection_dealloc(PyObject *self) {
    spyp_reflection *r = (spyp_reflection *)self;
    PyObject_GC_UnTrack(self);
    if (r->key && r->module && r->module->reflected) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (PyDict_DelItem(r->module->reflected, r->key) < 0) PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    Py_CLEAR(r->key);
    Py_CLEAR(((spyp_reflection *)self)->parts);
    Py_CLEAR(((spyp_reflection *)self)->entries);
    Py_CLEAR(((spyp_reflection *)self)->arguments);
    Py_CLEAR(((spyp_reflection *)self)->module);
    spyp_free(self);
}

static const char *spyp_reflection_text(const spyp_reflection *r) {
    if (r->attribute) return r->attribute->name;
    return r->type ? r->type->name : r->decl ? r->decl->text : "";
}

static PyObject *spyp_reflection_repr(PyObject *self) {
    spyp_reflection *r = (spyp_reflection *)self;
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__name__"), *text;
    if (!name) return NULL;
    if (!r->module->device->device) text = spyp_format("<slangpy.%U, of a closed device>", name);
    else if (spyp_reflection_is(self, SPYP_TYPE)) text = spyp_type_repr(r);
    else if (spyp_reflection_is(self, SPYP_VARIABLE)) text = spyp_variable_repr(r);
    else text = spyp_format("<slangpy.%U %s>", name, spyp_reflection_text(r));
    Py_DECREF(name);
    return text;
}

// Compares two objects. They are equal if they stand for the same declaration, or for a type of the same name, in one module.
static PyObject *spyp_reflection_compare(PyObject *a, PyObject *b, int op) {
    bool types = spyp_reflection_is(a, SPYP_TYPE) && spyp_reflection_is(b, SPYP_TYPE); // their classes may differ
    if ((op != Py_EQ && op != Py_NE) || (Py_TYPE(a) != Py_TYPE(b) && !types)) Py_RETURN_NOTIMPLEMENTED;
    spyp_reflection *x = (spyp_reflection *)a, *y = (spyp_reflection *)b;
    bool built_in = x->module != y->module && spyp_reflection_is(a, SPYP_TYPE) && spyp_reflection_open(x, "comparison") == 0 &&
                    spyp_reflection_open(y, "comparison") == 0 && x->type && y->type && !x->type->decl && !y->type->decl;
    if (PyErr_Occurred()) return NULL;
    bool same = (x->module == y->module || built_in) && x->decl == y->decl && x->attribute == y->attribute &&
                x->offset == y->offset && x->parts == y->parts && x->inner == y->inner && x->arguments == y->arguments;
    if (same && x->type != y->type)
        same = x->type && y->type && spyp_reflection_open(x, "comparison") == 0 &&
               strcmp(x->type->name, y->type->name) == 0;
    if (PyErr_Occurred()) return NULL;
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t spyp_reflection_hash(PyObject *self) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "hash") < 0) return -1;
    bool type = r->type && spyp_reflection_is(self, SPYP_TYPE); // a type equals the Struct of that name
    PyObject *text = PyUnicode_FromString(type ? r->type->name : spyp_reflection_text(r));
    Py_hash_t hash = text ? PyObject_Hash(text) : -1;
    Py_XDECREF(text);
    return hash;
}

// >>properties

static PyObject *spyp_property_get(PyObject *self, void *closure) {
    const spyp_property *p = (const spyp_property *)closure;
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, p->name) < 0) return NULL;
    const char *decl = (const char *)r->decl + p->at, *type = (const char *)r->type + p->at;
    switch (p->form) {
    case SPYP_DECL_TEXT: return PyUnicode_FromString(*(const char *const *)(const void *)decl);
    case SPYP_DECL_SIZE: return PyLong_FromSize_t(*(const size_t *)(const void *)decl);
    case SPYP_DECL_UINT: return PyLong_FromUnsignedLong(*(const uint32_t *)(const void *)decl);
    case SPYP_DECL_FLAG: return PyBool_FromLong((r->decl->flags & p->at) != 0);
    case SPYP_TYPE_TEXT: return PyUnicode_FromString(*(const char *const *)(const void *)type);
    case SPYP_TYPE_SIZE: return PyLong_FromSize_t(*(const size_t *)(const void *)type);
    case SPYP_TYPE_IS: return PyBool_FromLong((long)(p->at >> r->type->kind & 1));
    default: return p->get(r);
    }
}

static PyObject *spyp_reflection_is_valid(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    const spyp_reflection *r = (const spyp_reflection *)self;
    return PyBool_FromLong(r->module->device->device != NULL && !spyp_reflection_ended(r));
}

static PyObject *spyp_reflection_module(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_reflection *)self)->module);
}

static PyGetSetDef spyp_reflection_getset[] = {
    { "is_valid", spyp_reflection_is_valid, NULL, "Whether the object can be used: its device is open, and no reload has made it "
        "invalid.", NULL },
    { "module", spyp_reflection_module, NULL, "The Module that the object belongs to and keeps alive.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_reflection_slots[] = {
    { Py_tp_doc,
      (void *)"The base class of reflection objects. Objects of a Module stay valid when it is reloaded; objects of a SlangModule or "
          "ShaderProgram become invalid." },
    { Py_tp_dealloc, (void *)spyp_reflection_dealloc },
    { Py_tp_traverse, (void *)spyp_reflection_traverse },
    { Py_tp_repr, (void *)spyp_reflection_repr },
    { Py_tp_richcompare, (void *)spyp_reflection_compare },
    { Py_tp_hash, (void *)spyp_reflection_hash },
    { Py_tp_getset, spyp_reflection_getset },
    { 0, NULL },
};
static PyType_Spec spyp_reflection_spec = {
    "slangpy._slangpy.BaseReflectionObject",
    sizeof(spyp_reflection),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    spyp_reflection_slots,
};

#define SPYP_PROPERTY_COUNT 200 // members of all classes, with an end mark after each class

static PyTypeObject *spyp_reflection_class_add(PyObject *module, const spyp_reflection_class *c,
                                               PyTypeObject *base) {
    // Properties of all classes; their descriptors point at them.
    static PyGetSetDef getset[SPYP_PROPERTY_COUNT];
    static size_t used;
    static PyMethodDef no_methods[] = { { NULL, NULL, 0, NULL } };
    PyType_Slot slots[16] = {
        { Py_tp_doc, (void *)(uintptr_t)c->doc },
        { Py_tp_dealloc, (void *)spyp_reflection_dealloc },
        { Py_tp_traverse, (void *)spyp_reflection_traverse },
        { Py_tp_methods, c->methods ? c->methods : no_methods },
        { Py_tp_getset, &getset[used] },
    };
    char name[64];
    unsigned int flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
    if (c == &spyp_type_class) flags |= Py_TPFLAGS_BASETYPE; // slangpy.reflection.VectorType and the like
    for (size_t n = 5; c->more && c->more[n - 5].slot; n++) slots[n] = c->more[n - 5];
    if (!c->more || c->more->slot != Py_tp_new) flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    for (const spyp_property *p = c->properties; p->name && used < SPYP_PROPERTY_COUNT - 1; p++)
        getset[used++] = (PyGetSetDef){ p->name, spyp_property_get, NULL, p->doc, (void *)(uintptr_t)p };
    used++;
    PyOS_snprintf(name, sizeof name, "slangpy._slangpy.%s", c->name);
    PyType_Spec spec = { name, sizeof(spyp_reflection), 0, flags, slots };
    return spyp_type_add(module, &spec, base);
}

// >>Module.layout

const spy_type_info *spyp_find_type(spyp_module *m, const char *slang_name, bool required) {
    const spy_type_info *info = NULL;
    PyObject *given = PyUnicode_FromString(slang_name), *turned = given ? spyp_library_name(given) : NULL;
    const char *name = turned ? spyp_utf8(turned) : NULL;
    Py_XDECREF(given);
    if (!name || spyp_enter(m->device, "reflection") < 0) {
        Py_XDECREF(turned);
        return NULL;
    }
    if (required || spy_has_type(m->module, name)) {
        info = spy_reflect_type(m->module, name);
        if (!info) spyp_raise(m->device);
    }
    spyp_leave(m->device);
    Py_DECREF(turned);
    return info;
}

const spy_type_info *spyp_reflected_type(spyp_module *m, PyObject *object, const char *what) {
    spyp_module *ignored;
    const spy_type_info *info = spyp_reflection_type(object, &ignored);
    if (info || PyErr_Occurred()) return info;
    const char *name = PyUnicode_Check(object) ? spyp_utf8(object) : NULL;
    if (name) return spyp_find_type(m, name, true);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: expected a type or its name, got %R", what,
                     (PyObject *)Py_TYPE(object));
    return NULL;
}

// Finds the declaration of a path if its kind is among `kinds`; otherwise returns NULL, without an exception.
static const spy_decl *spyp_find_declaration(spyp_module *m, const char *path, uint32_t kinds) {
    spyp_device *d = m->device;
    if (spyp_enter(d, "reflection") < 0) return NULL;
    d->quiet = true; // a search that finds nothing is no error
    const spy_decl *decl = spy_find_decl(m->module, path);
    spy_error error = { SPY_OK, "" };
    if (!decl) error = spy_take_error(d->device);
    d->quiet = false;
    if (!decl && error.code != SPY_ERROR_NOT_FOUND)
        spyp_raise_status(error.code, error.message, "reflection");
    spyp_leave(d);
    return decl && kinds >> decl->kind & 1 ? decl : NULL;
}

// Returns the function of a name with generic arguments, such as "twice<float>", or None.
static PyObject *spyp_find_specialized(spyp_module *m, PyObject *path) {
    PyObject *function = PyObject_CallMethod((PyObject *)m, "find_function", "O", path), *helpers = NULL, *split = NULL, *found = NULL;
    if (!function || function == Py_None) return function;
    Py_DECREF(function);
    helpers = PyImport_ImportModule("slangpy.helpers");
    split = helpers ? PyObject_CallMethod(helpers, "parse_generic_signature", "O", path) : NULL;
    const char *base = split ? spyp_utf8(PyTuple_GetItem(split, 0)) : NULL;
    const spy_decl *decl = base ? spyp_find_declaration(m, base, SPYP_FUNCTION_KINDS) : NULL;
    PyObject *arguments = base && !PyErr_Occurred() ? spyp_generic_arguments(decl, PyTuple_GetItem(split, 1)) : NULL;
    if (arguments == Py_None) found = Py_NewRef(Py_None);
    else if (arguments) found = spyp_reflect_with(SPYP_FUNCTION, m, decl, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(split);
    Py_XDECREF(helpers);
    return found;
}

static PyObject *spyp_find_function(spyp_module *m, PyObject *path, bool required) {
    const char *text = path ? spyp_utf8(path) : NULL;
    const spy_decl *decl = text ? spyp_find_declaration(m, text, SPYP_FUNCTION_KINDS) : NULL;
    if (!decl && PyErr_Occurred()) return NULL;
    if (!decl && text && strchr(text, '<')) {
        PyObject *found = spyp_find_specialized(m, path);
        if (found != Py_None || !required) return found;
        Py_DECREF(found);
    }
    if (!decl && required)
        return PyErr_Format(spyp.value_error, "Module '%U' has no function named '%U'", m->name, path);
    return spyp_reflect_decl(SPYP_FUNCTION, m, decl);
}

static int spyp_check_name(PyObject *name, const char *what) {
    if (PyUnicode_Check(name) && spyp_utf8(name)) return 0;
    if (PyErr_Occurred()) spyp_error_behind("%s: argument 'name': ", what);
    else
        PyErr_Format(PyExc_TypeError, "%s: argument 'name': expected a str, got %R", what,
                     (PyObject *)Py_TYPE(name));
    return -1;
}

static PyObject *spyp_layout_find_type(PyObject *self, PyObject *name) {
    if (spyp_reflection_open((spyp_reflection *)self, "find_type_by_name") < 0) return NULL;
    spyp_module *m = ((spyp_reflection *)self)->module;
    const char *text = spyp_check_name(name, "find_type_by_name") == 0 ? spyp_utf8(name) : NULL;
    const spy_type_info *info = text ? spyp_find_type(m, text, false) : NULL;
    return PyErr_Occurred() ? NULL : spyp_reflect_type(SPYP_TYPE, m, info);
}

static PyObject *spyp_layout_require_type(PyObject *self, PyObject *name) {
    if (spyp_reflection_open((spyp_reflection *)self, "require_type_by_name") < 0) return NULL;
    spyp_module *m = ((spyp_reflection *)self)->module;
    const char *text = spyp_check_name(name, "require_type_by_name") == 0 ? spyp_utf8(name) : NULL;
    const spy_type_info *info = text ? spyp_find_type(m, text, true) : NULL;
    return info ? spyp_reflect_type(SPYP_TYPE, m, info) : NULL;
}

static PyObject *spyp_layout_find_function(PyObject *self, PyObject *name) {
    if (spyp_reflection_open((spyp_reflection *)self, "find_function_by_name") < 0) return NULL;
    if (spyp_check_name(name, "find_function_by_name") < 0) return NULL;
    return spyp_find_function(((spyp_reflection *)self)->module, name, false);
}

static PyObject *spyp_layout_require_function(PyObject *self, PyObject *name) {
    if (spyp_reflection_open((spyp_reflection *)self, "require_function_by_name") < 0) return NULL;
    if (spyp_check_name(name, "require_function_by_name") < 0) return NULL;
    return spyp_find_function(((spyp_reflection *)self)->module, name, true);
}

// Returns a name without generic arguments, as declarations have it: "Grid::get" for "Grid<float, 4>::get".
static PyObject *spyp_without_arguments(const char *name) {
    char text[1024];
    size_t n = 0, depth = 0;
    for (const char *c = name; *c && n < sizeof text - 1; c++) {
        if (*c == '<') depth++;
        if (!depth) text[n++] = *c;
        if (*c == '>' && depth) depth--;
    }
    return PyUnicode_FromStringAndSize(text, (Py_ssize_t)n);
}

static PyObject *spyp_layout_find_method(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "type", "name", NULL };
    spyp_module *m = ((spyp_reflection *)self)->module;
    PyObject *type, *name;
    if (spyp_reflection_open((spyp_reflection *)self, "find_function_by_name_in_type") < 0) return NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OU:find_function_by_name_in_type", names, &type, &name)) return NULL;
    const spy_type_info *info =
        spyp_reflected_type(m, type, "find_function_by_name_in_type: argument 'type'");
    if (!info) return NULL;
    PyObject *bare = spyp_without_arguments(info->name);
    bool constructor = PyUnicode_CompareWithASCIIString(name, "$init") == 0; // Slang's name for constructors
    PyObject *path = !bare ? NULL : constructor ? spyp_format("%U::__init", bare) : spyp_format("%U::%U", bare, name),
             *found = path ? spyp_find_function(m, path, false) : NULL;
    Py_XDECREF(bare);
    Py_XDECREF(path);
    return found;
}

static PyObject *spyp_layout_type_layout(PyObject *self, PyObject *type) {
    if (spyp_reflection_open((spyp_reflection *)self, "get_type_layout") < 0) return NULL;
    spyp_module *m = ((spyp_reflection *)self)->module;
    const spy_type_info *info = spyp_reflected_type(m, type, "get_type_layout: argument 'type'");
    return info ? spyp_reflect_type(SPYP_TYPE_LAYOUT, m, info) : NULL;
}

static PyObject *spyp_layout_is_sub_type(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "sub_type", "super_type", NULL };
    spyp_module *m = ((spyp_reflection *)self)->module;
    PyObject *type, *super;
    if (spyp_reflection_open((spyp_reflection *)self, "is_sub_type") < 0) return NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:is_sub_type", names, &type, &super)) return NULL;
    const spy_type_info *a = spyp_reflected_type(m, type, "is_sub_type: argument 'sub_type'");
    const spy_type_info *b = a ? spyp_reflected_type(m, super, "is_sub_type: argument 'super_type'") : NULL;
    if (!b || spyp_enter(m->device, "is_sub_type") < 0) return NULL;
    bool yes = spy_type_implements(m->module, a->name, b->name);
    spy_error error = { SPY_OK, "" };
    if (!yes) error = spy_take_error(m->device->device);
    spyp_leave(m->device);
    return error.code == SPY_OK ? PyBool_FromLong(yes)
                                : spyp_raise_status(error.code, error.message, "is_sub_type");
}

static PyObject *spyp_program_parameters(spyp_reflection *r) {
    return spyp_decl_list(SPYP_VARIABLE_LAYOUT, r->module, r->decl->children, r->decl->child_count,
                          1u << SPY_DECL_KIND_SHADER_PARAMETER);
}

// Appends the entry points among all declarations to a list.
static int spyp_add_entry_points(PyObject *list, spyp_module *module, const spy_decl *decl) {
    for (uint32_t i = 0; i < decl->child_count; i++) {
        const spy_decl *child = &decl->children[i];
        if (child->kind == SPY_DECL_KIND_NAMESPACE && spyp_add_entry_points(list, module, child) < 0)
            return -1;
        if (child->kind != SPY_DECL_KIND_FUNCTION || child->stage == SPY_STAGE_NONE) continue;
        PyObject *item = spyp_reflect_decl(SPYP_ENTRY_POINT, module, child);
        int status = item ? PyList_Append(list, item) : -1;
        Py_XDECREF(item);
        if (status < 0) return -1;
    }
    return 0;
}

static PyObject *spyp_program_entry_points(spyp_reflection *r) {
    if (r->entries) return PySequence_List(r->entries);
    PyObject *list = PyList_New(0);
    if (list && spyp_add_entry_points(list, r->module, r->decl) < 0) Py_CLEAR(list);
    return list;
}

static PyObject *spyp_program_module_decl(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_DECL, r->module, r->decl);
}

// Returns a layout of the same module with the given entry points, which are those of a program and may be fewer than its module has.
static PyObject *spyp_program_of_entries(PyObject *self, PyObject *entries) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "layout") < 0) return NULL;
    PyObject *list = PySequence_List(entries);
    spyp_reflection *made = list ? spyp_reflection_make(SPYP_PROGRAM, r->module) : NULL;
    if (made) {
        made->decl = r->decl;
        made->entries = Py_NewRef(list);
    }
    Py_XDECREF(list);
    return (PyObject *)made;
}

SPYP_NAMED(spyp_layout_find_type_by_name, spyp_layout_find_type, "find_type_by_name", "name")
SPYP_NAMED(spyp_layout_find_function_by_name, spyp_layout_find_function, "find_function_by_name", "name")
SPYP_NAMED(spyp_layout_type_layout_by_type, spyp_layout_type_layout, "get_type_layout", "type")

static PyMethodDef spyp_program_methods[] = {
    { "_of_entry_points", spyp_program_of_entries, METH_O, "_of_entry_points(layouts): the same layout with the given entry points." },
    { "find_type_by_name", SPYP_FUNC(spyp_layout_find_type_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_type_by_name(name): a TypeReflection: 'float3', 'ns::Grid<float, 4>', 'Circle[8]'; None if there is no such type." },
    { "require_type_by_name", spyp_layout_require_type, METH_O,
      "require_type_by_name(name): returns the type that find_type_by_name() finds; raises a LookupError with similar names if no type has that name." },
    { "find_function_by_name", SPYP_FUNC(spyp_layout_find_function_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_function_by_name(name): a FunctionReflection, the first of the overloads: 'f', 'ns::f', 'Circle::area', without generic "
      "arguments; None if there is no such function." },
    { "require_function_by_name", spyp_layout_require_function, METH_O,
      "require_function_by_name(name): returns the function that find_function_by_name() finds; raises a ValueError if no function has that name." },
    { "find_function_by_name_in_type", SPYP_FUNC(spyp_layout_find_method), METH_VARARGS | METH_KEYWORDS,
      "find_function_by_name_in_type(type, name): returns the method of a type with that name, or its constructor for '$init'; None if the type has none." },
    { "get_type_layout", SPYP_FUNC(spyp_layout_type_layout_by_type), METH_FASTCALL | METH_KEYWORDS,
      "get_type_layout(type): the TypeLayoutReflection of a type or its name: sizes and offsets." },
    { "is_sub_type", SPYP_FUNC(spyp_layout_is_sub_type), METH_VARARGS | METH_KEYWORDS,
      "is_sub_type(sub_type, super_type): whether a type implements an interface." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_program_properties[] = {
    SPYP_GET("parameters", spyp_program_parameters,
             "The global shader parameters, as VariableLayoutReflections."),
    SPYP_GET("entry_points", spyp_program_entry_points, "The entry points, as EntryPointLayouts."),
    SPYP_GET("module_decl", spyp_program_module_decl, "The root of the declarations, a DeclReflection."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_program_class = {
    "ProgramLayout",
    "Types, functions and shader parameters of a module by name: Module.layout. Lists do not follow reloads; a reloaded module has "
    "another layout.",
    spyp_program_properties,
    spyp_program_methods,
    NULL,
};

// >>properties that other classes get

static PyObject *spyp_module_layout(PyObject *self, void *ignored) {
    spyp_module *m = (spyp_module *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(m->device, "Module.layout") < 0) return NULL;
    const spy_decl *root = spy_reflect_module(m->module);
    if (!root) spyp_raise(m->device);
    spyp_leave(m->device);
    return root ? spyp_reflect_decl(SPYP_PROGRAM, m, root) : NULL;
}

static PyObject *spyp_module_module_decl(PyObject *self, void *ignored) {
    PyObject *layout = spyp_module_layout(self, ignored);
    PyObject *decl = layout ? spyp_program_module_decl((spyp_reflection *)layout) : NULL;
    Py_XDECREF(layout);
    return decl;
}

static PyObject *spyp_struct_struct(PyObject *self, void *ignored) {
    spyp_struct *s = (spyp_struct *)self;
    SPYP_UNUSED(ignored);
    return spyp_reflect_type(SPYP_TYPE, s->module, s->info);
}

static PyObject *spyp_function_reflection(PyObject *self, void *ignored) {
    spyp_function *f = (spyp_function *)self;
    const char *name = spyp_utf8(f->name);
    SPYP_UNUSED(ignored);
    PyObject *bare = name ? spyp_without_arguments(name) : NULL;
    PyObject *found = bare ? spyp_find_function(f->module, bare, false) : NULL;
    Py_XDECREF(bare);
    return found;
}

static int spyp_reflection_extend(void) {
    static PyGetSetDef layout = { "layout", spyp_module_layout, NULL,
                                  "Reflection of the module: a ProgramLayout.", NULL };
    static PyGetSetDef decl = { "module_decl", spyp_module_module_decl, NULL,
                                "The root of the module's declarations.", NULL };
    static PyGetSetDef type = { "struct", spyp_struct_struct, NULL,
                                "The reflection of the type, a TypeReflection.", NULL };
    static PyGetSetDef function = { "reflection", spyp_function_reflection, NULL,
                                    "The reflection of the function's declaration, of the first overload: a FunctionReflection; None "
                                    "for functions that Slang itself declares.",
                                    NULL };
    return spyp_getset_add(spyp.module_type, &layout) < 0 || spyp_getset_add(spyp.module_type, &decl) < 0 ||
                   spyp_getset_add(spyp.struct_type, &type) < 0 ||
                   spyp_getset_add(spyp.function, &function) < 0
               ? -1
               : 0;
}

int spyp_reflection_ready(PyObject *module) {
    static const spyp_reflection_class *const classes[SPYP_REFLECTED_COUNT] = {
        &spyp_program_class,         &spyp_decl_class,        &spyp_function_class,  &spyp_variable_class,
        &spyp_variable_layout_class, &spyp_entry_point_class, &spyp_attribute_class, &spyp_type_class,
        &spyp_type_layout_class,     &spyp_cursor_class,
    };
    PyTypeObject *base = spyp_type_add(module, &spyp_reflection_spec, NULL);
    if (!base) return -1;
    for (int i = 0; i < SPYP_REFLECTED_COUNT; i++)
        if (!(spyp.reflections[i] = spyp_reflection_class_add(module, classes[i], base))) return -1;
    SPYP_DECREF(base);
    return spyp_enums_link() < 0 || spyp_reflection_extend() < 0 ? -1 : 0;
}
