// Reflection of declarations: functions, variables, attributes, entry points.
#include "objects/reflection.h"
#include "values/math_view.h"

#include <string.h>

#include "state/cold.h"

// >>constants and modifiers

PyObject *spyp_constant_read(const spy_constant *c) {
    switch (c->kind) {
    case SPY_CONSTANT_KIND_INT: return PyLong_FromLongLong(c->int_value);
    case SPY_CONSTANT_KIND_FLOAT: return PyFloat_FromDouble(c->float_value);
    case SPY_CONSTANT_KIND_STRING: return PyUnicode_FromString(c->string);
    default: Py_RETURN_NONE;
    }
}

// The members of ModifierID. A declaration has one if it has all flags of `set` and no flag of `unset`.
static const struct {
    long id;
    uint32_t set, unset;
} spyp_modifiers[] = {
    { 1, SPY_DECL_FLAG_NO_DIFF, 0 },
    { 2, SPY_DECL_FLAG_STATIC, 0 },
    { 3, SPY_DECL_FLAG_CONST, 0 },
    { 4, SPY_DECL_FLAG_EXPORT, 0 },
    { 5, SPY_DECL_FLAG_EXTERN, 0 },
    { 6, SPY_DECL_FLAG_DIFFERENTIABLE, 0 },
    { 7, SPY_DECL_FLAG_MUTATING, 0 },
    { 8, SPY_DECL_FLAG_IN_WRITTEN, 0 },
    { 9, SPY_DECL_FLAG_OUT, 0 },
    { 10, SPY_DECL_FLAG_IN | SPY_DECL_FLAG_OUT, SPY_DECL_FLAG_IN_WRITTEN },
};

static bool spyp_modifier_set(const spy_decl *decl, size_t i) {
    return (decl->flags & spyp_modifiers[i].set) == spyp_modifiers[i].set && !(decl->flags & spyp_modifiers[i].unset);
}

static PyObject *spyp_get_modifiers(spyp_reflection *r) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof spyp_modifiers / sizeof *spyp_modifiers; i++) {
        if (!spyp_modifier_set(r->decl, i)) continue;
        PyObject *member = spyp_enum("ModifierID", spyp_modifiers[i].id);
        if (!member || PyList_Append(list, member) < 0) Py_CLEAR(list);
        Py_XDECREF(member);
    }
    return list;
}

static PyObject *spyp_has_modifier(PyObject *self, PyObject *modifier) {
    spyp_reflection *r = (spyp_reflection *)self;
    long id = PyLong_Check(modifier) ? PyLong_AsLong(modifier) : -1;
    if (spyp_reflection_open(r, "has_modifier") < 0) return NULL;
    if (id < 0)
        return PyErr_Format(PyExc_TypeError, "has_modifier: argument 'modifier': expected a ModifierID, got %R", (PyObject *)Py_TYPE(modifier));
    for (size_t i = 0; i < sizeof spyp_modifiers / sizeof *spyp_modifiers; i++)
        if (spyp_modifiers[i].id == id) return PyBool_FromLong(spyp_modifier_set(r->decl, i));
    Py_RETURN_FALSE;
}

static PyObject *spyp_get_attributes(spyp_reflection *r) {
    return spyp_attribute_list(r, r->decl);
}

// Returns the declaration that has the attributes of an object; for a type, the declaration of the type. Returns NULL if there is none.
static const spy_decl *spyp_attribute_owner(PyObject *self) {
    spyp_reflection *r = (spyp_reflection *)self;
    return spyp_reflection_is(self, SPYP_TYPE) ? r->type->decl : r->decl;
}

PyObject *spyp_attribute_total(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    if (spyp_reflection_open((spyp_reflection *)self, "get_user_attribute_count") < 0) return NULL;
    const spy_decl *decl = spyp_attribute_owner(self);
    return PyLong_FromUnsignedLong(decl ? decl->attribute_count : 0);
}

PyObject *spyp_attribute_at(PyObject *self, PyObject *index) {
    long i = PyLong_Check(index) ? PyLong_AsLong(index) : -1;
    if (spyp_reflection_open((spyp_reflection *)self, "get_user_attribute_by_index") < 0) return NULL;
    const spy_decl *decl = spyp_attribute_owner(self);
    if (!decl || i < 0 || i >= (long)decl->attribute_count) {
        PyErr_Clear();
        return PyErr_Format(spyp.index_error, "get_user_attribute_by_index: there is no attribute %R", index);
    }
    return spyp_reflect_attribute(((spyp_reflection *)self)->module, &decl->attributes[i]);
}

PyObject *spyp_find_attribute(PyObject *self, PyObject *name) {
    spyp_reflection *r = (spyp_reflection *)self;
    const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    if (spyp_reflection_open(r, "find_user_attribute_by_name") < 0) return NULL;
    if (!text) {
        if (PyErr_Occurred()) return NULL;
        return PyErr_Format(PyExc_TypeError, "find_user_attribute_by_name: argument 'name': expected a str, got %R", (PyObject *)Py_TYPE(name));
    }
    const spy_decl *decl = spyp_attribute_owner(self);
    const spy_attribute *found = decl ? spy_find_attribute(decl, text) : NULL;
    if (!found) Py_RETURN_NONE;
    return spyp_reflect_attribute(r->module, found);
}

SPYP_NAMED(spyp_has_modifier_by_modifier, spyp_has_modifier, "has_modifier", "modifier")
SPYP_NAMED(spyp_attribute_at_by_number, spyp_attribute_at, "get_user_attribute_by_index", "index")
SPYP_NAMED(spyp_find_attribute_by_text, spyp_find_attribute, "find_user_attribute_by_name", "name")

#define SPYP_MODIFIER_METHODS                                                                                \
    { "has_modifier", SPYP_FUNC(spyp_has_modifier_by_modifier), METH_FASTCALL | METH_KEYWORDS,                                            \
      "has_modifier(modifier): whether it is declared with that ModifierID." },                              \
        { "get_user_attribute_count", spyp_attribute_total, METH_NOARGS,                                     \
          "get_user_attribute_count(): the number of user attributes." },                                    \
        { "get_user_attribute_by_index", SPYP_FUNC(spyp_attribute_at_by_number), METH_FASTCALL | METH_KEYWORDS,                                          \
          "get_user_attribute_by_index(index): an Attribute." },                                             \
    {                                                                                                        \
        "find_user_attribute_by_name", SPYP_FUNC(spyp_find_attribute_by_text), METH_FASTCALL | METH_KEYWORDS,                                          \
            "find_user_attribute_by_name(name): the Attribute of that name, or None."                        \
    }
#define SPYP_DECL_PROPERTIES                                                                                                 \
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The name: 'area'."),                                                        \
    SPYP_OF_DECL("text", SPYP_DECL_TEXT, text, "The declaration as one writes it: 'float lerp(float a, float b = 1)'."),    \
    SPYP_OF_DECL("doc", SPYP_DECL_TEXT, doc, "The comment right above it: its /// lines or its /** */; \"\" without one."), \
    SPYP_GET("modifiers", spyp_get_modifiers, "The ModifierIDs that it has."),                                              \
    SPYP_GET("user_attributes", spyp_get_attributes, "The attributes of the user's own, as Attributes.")

// >>declarations
//
// Slang has a generic function or struct as two declarations: the generic one has the generic parameters and, as its last child, the
// function or struct itself. spy_decl has one for both, so two DeclReflections stand for it: `inner` tells them apart.

#define SPYP_GENERIC_KINDS (1u << SPY_DECL_KIND_GENERIC_TYPE | 1u << SPY_DECL_KIND_GENERIC_VALUE)

static uint32_t spyp_decl_generics(const spy_decl *decl) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < decl->child_count; i++) count += SPYP_GENERIC_KINDS >> decl->children[i].kind & 1;
    return count;
}

// Returns whether the object stands for the generic declaration of a function or struct.
static bool spyp_decl_is_generic(const spyp_reflection *r) {
    return !r->inner && spyp_decl_generics(r->decl) > 0;
}

static PyObject *spyp_reflect_inner(spyp_reflection *generic) {
    spyp_reflection *inner = spyp_reflection_get(SPYP_DECL, generic->module, spyp_format("inner %p", generic->decl));
    if (!inner) return NULL;
    inner->decl = generic->decl;
    inner->inner = true;
    return (PyObject *)inner;
}

static uint32_t spyp_decl_count(const spyp_reflection *r) {
    uint32_t generics = spyp_decl_generics(r->decl);
    return r->inner ? r->decl->child_count - generics : generics ? generics + 1 : r->decl->child_count;
}

// Returns the child of that index as a new reference.
static PyObject *spyp_decl_child(spyp_reflection *r, uint32_t index) {
    bool generic = spyp_decl_is_generic(r);
    for (uint32_t i = 0; i < r->decl->child_count; i++) {
        bool parameter = SPYP_GENERIC_KINDS >> r->decl->children[i].kind & 1;
        if ((generic && !parameter) || (r->inner && parameter)) continue;
        if (index-- == 0) return spyp_reflect_decl(SPYP_DECL, r->module, &r->decl->children[i]);
    }
    return spyp_reflect_inner(r);
}

static PyObject *spyp_decl_kind(spyp_reflection *r) {
    static const uint8_t kinds[] = {
        // the number in DeclKind for each spy_decl_kind
        [SPY_DECL_KIND_MODULE] = 3,          [SPY_DECL_KIND_IMPORT] = 10,
        [SPY_DECL_KIND_NAMESPACE] = 6,       [SPY_DECL_KIND_STRUCT] = 1,
        [SPY_DECL_KIND_INTERFACE] = 8,       [SPY_DECL_KIND_ENUM] = 7,
        [SPY_DECL_KIND_ENUM_CASE] = 5,       [SPY_DECL_KIND_ALIAS] = 9,
        [SPY_DECL_KIND_ASSOCIATED_TYPE] = 9, [SPY_DECL_KIND_EXTENSION] = 11,
        [SPY_DECL_KIND_FIELD] = 5,           [SPY_DECL_KIND_PROPERTY] = 12,
        [SPY_DECL_KIND_SUBSCRIPT] = 13,      [SPY_DECL_KIND_FUNCTION] = 2,
        [SPY_DECL_KIND_METHOD] = 2,          [SPY_DECL_KIND_CONSTRUCTOR] = 2,
        [SPY_DECL_KIND_PARAMETER] = 5,       [SPY_DECL_KIND_GENERIC_TYPE] = 14,
        [SPY_DECL_KIND_GENERIC_VALUE] = 14,  [SPY_DECL_KIND_CONSTRAINT] = 15,
        [SPY_DECL_KIND_VARIABLE] = 5,        [SPY_DECL_KIND_SHADER_PARAMETER] = 5,
    };
    if (spyp_decl_is_generic(r)) return spyp_enum("DeclKind", 4);
    return spyp_enum("DeclKind", r->decl->kind < sizeof kinds ? kinds[r->decl->kind] : 0);
}

// Returns the type, in which a specialised function's arguments stand for its generic parameters.
static PyObject *spyp_decl_type(spyp_reflection *r) {
    if (!r->arguments || !r->decl->type) return spyp_reflect_type(SPYP_TYPE, r->module, r->decl->type);
    PyObject *helpers = PyImport_ImportModule("slangpy.helpers"), *name = helpers ? spyp_full_name(r->decl->type) : NULL;
    PyObject *whole = name ? PyObject_CallMethod(helpers, "with_arguments", "OO", name, r->arguments) : NULL;
    const char *text = whole ? spyp_utf8(whole) : NULL;
    const spy_type_info *info = text ? spyp_find_type(r->module, text, false) : NULL;
    PyObject *type = PyErr_Occurred() ? NULL : spyp_reflect_type(SPYP_TYPE, r->module, info ? info : r->decl->type);
    Py_XDECREF(helpers);
    Py_XDECREF(name);
    Py_XDECREF(whole);
    return type;
}

// Makes the object of a function or parameter whose generic parameters have these arguments, which may be NULL.
// Returns a dict of generic arguments by the names of a function's generic parameters, or None if their numbers differ.
PyObject *spyp_generic_arguments(const spy_decl *decl, PyObject *list) {
    if (!decl || PyList_Size(list) != (Py_ssize_t)spyp_decl_generics(decl)) Py_RETURN_NONE;
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0, at = 0; dict && i < decl->child_count; i++) {
        if (!(SPYP_GENERIC_KINDS >> decl->children[i].kind & 1)) continue;
        if (PyDict_SetItemString(dict, decl->children[i].name, PyList_GetItem(list, (Py_ssize_t)at++)) < 0) Py_CLEAR(dict);
    }
    return dict;
}

PyObject *spyp_reflect_with(spyp_reflected kind, spyp_module *module, const spy_decl *decl, PyObject *arguments) {
    if (!arguments) return spyp_reflect_decl(kind, module, decl);
    spyp_reflection *r = spyp_reflection_get(kind, module, spyp_format("%d %p %R", (int)kind, decl, arguments));
    if (r) {
        r->decl = decl;
        if (!r->arguments) r->arguments = Py_NewRef(arguments);
    }
    return (PyObject *)r;
}

static PyObject *spyp_decl_parent(spyp_reflection *r) {
    PyObject *parent = spyp_reflect_decl(SPYP_DECL, r->module, r->inner ? r->decl : r->decl->parent);
    if (!parent || parent == Py_None || r->inner || SPYP_GENERIC_KINDS >> r->decl->kind & 1) return parent;
    if (spyp_decl_is_generic((spyp_reflection *)parent)) spyp_replace(&parent, spyp_reflect_inner((spyp_reflection *)parent));
    return parent;
}

static PyObject *spyp_decl_children(spyp_reflection *r) {
    uint32_t count = spyp_decl_count(r);
    PyObject *list = PyList_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *item = spyp_decl_child(r, i);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *spyp_decl_child_count(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(spyp_decl_count(r));
}

static PyObject *spyp_decl_value(spyp_reflection *r) {
    return spyp_constant_read(&r->decl->value);
}

// Returns an object of another class for the same declaration if its kind is among `kinds`.
static PyObject *spyp_decl_as(PyObject *self, spyp_reflected class, uint32_t kinds, const char *what) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, what) < 0) return NULL;
    if (!(kinds >> r->decl->kind & 1)) return PyErr_Format(PyExc_TypeError, "DeclReflection.%s: '%s' is none", what, r->decl->text);
    return class == SPYP_TYPE ? spyp_decl_type(r) : spyp_reflect_decl(class, r->module, r->decl);
}

static PyObject *spyp_decl_as_type(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_decl_as(self, SPYP_TYPE, SPYP_TYPE_KINDS, "as_type");
}

static PyObject *spyp_decl_as_function(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_decl_as(self, SPYP_FUNCTION, SPYP_FUNCTION_KINDS, "as_function");
}

static PyObject *spyp_decl_as_variable(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_decl_as(self, SPYP_VARIABLE, SPYP_VARIABLE_KINDS, "as_variable");
}

// Finds the children of a kind, and of a name unless it is NULL: all of them, or the first one.
static PyObject *spyp_decl_find(PyObject *self, PyObject *kind, PyObject *name, bool first) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "DeclReflection") < 0) return NULL;
    PyObject *list = PyList_New(0), *found = NULL;
    uint32_t count = spyp_decl_count(r);
    for (uint32_t i = 0; list && !found && i < count; i++) {
        PyObject *item = spyp_decl_child(r, i);
        if (item && name && PyUnicode_CompareWithASCIIString(name, ((spyp_reflection *)item)->decl->name) != 0) {
            Py_DECREF(item);
            continue;
        }
        PyObject *has = item ? spyp_decl_kind((spyp_reflection *)item) : NULL;
        int same = has ? PyObject_RichCompareBool(has, kind, Py_EQ) : -1;
        if (same < 0 || (same > 0 && PyList_Append(list, item) < 0)) Py_CLEAR(list);
        if (same > 0 && first) found = Py_NewRef(item);
        Py_XDECREF(has);
        Py_XDECREF(item);
    }
    if (list && !first) return list;
    bool failed = !list;
    Py_XDECREF(list);
    if (failed) {
        Py_XDECREF(found);
        return NULL;
    }
    return found ? found : Py_NewRef(Py_None);
}

static PyObject *spyp_decl_children_of_kind(PyObject *self, PyObject *kind) {
    return spyp_decl_find(self, kind, NULL, false);
}

static PyObject *spyp_decl_find_children(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "kind", "child_name", NULL };
    PyObject *kind, *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|U:find_children_of_kind", names, &kind, &name)) return NULL;
    return spyp_decl_find(self, kind, name, false);
}

static PyObject *spyp_decl_find_first(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "kind", "child_name", NULL };
    PyObject *kind, *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|U:find_first_child_of_kind", names, &kind, &name)) return NULL;
    return spyp_decl_find(self, kind, name, true);
}

static Py_ssize_t spyp_decl_length(PyObject *self) {
    spyp_reflection *r = (spyp_reflection *)self;
    return spyp_reflection_open(r, "len") < 0 ? -1 : (Py_ssize_t)spyp_decl_count(r);
}

static PyObject *spyp_decl_item(PyObject *self, Py_ssize_t i) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "DeclReflection") < 0) return NULL;
    if (i < 0 || i >= (Py_ssize_t)spyp_decl_count(r))
        return PyErr_Format(spyp.index_error, "DeclReflection: index %zd is out of range: there are %u children", i, spyp_decl_count(r));
    return spyp_decl_child(r, (uint32_t)i);
}

static int spyp_decl_bool(PyObject *self) { // defined because a declaration without children, whose len() is 0, is true as well
    SPYP_UNUSED(self);
    return 1;
}

SPYP_NAMED(spyp_decl_children_of_kind_by_kind, spyp_decl_children_of_kind, "children_of_kind", "kind")

static PyMethodDef spyp_decl_methods[] = {
    SPYP_MODIFIER_METHODS,
    { "as_type", spyp_decl_as_type, METH_NOARGS, "as_type(): the TypeReflection of a struct, enum, interface or alias." },
    { "as_function", spyp_decl_as_function, METH_NOARGS, "as_function(): the FunctionReflection of a function or method." },
    { "as_variable", spyp_decl_as_variable, METH_NOARGS, "as_variable(): the VariableReflection of a field, parameter or variable." },
    { "find_children_of_kind", SPYP_FUNC(spyp_decl_find_children), METH_VARARGS | METH_KEYWORDS,
      "find_children_of_kind(kind, child_name=...): the children of a kind, or of a kind and name, as a list of DeclReflections." },
    { "children_of_kind", SPYP_FUNC(spyp_decl_children_of_kind_by_kind), METH_FASTCALL | METH_KEYWORDS, "children_of_kind(kind): the "
        "children of a kind, as a list of DeclReflections." },
    { "find_first_child_of_kind", SPYP_FUNC(spyp_decl_find_first), METH_VARARGS | METH_KEYWORDS,
      "find_first_child_of_kind(kind, child_name=...): the first child of a kind and name as a DeclReflection, or None." },
    { NULL, NULL, 0, NULL },
};

static const PyType_Slot spyp_decl_slots[] = {
    { Py_sq_length, (void *)spyp_decl_length },
    { Py_sq_item, (void *)spyp_decl_item },
    { Py_nb_bool, (void *)spyp_decl_bool },
    { 0, NULL },
};

static const spyp_property spyp_decl_properties[] = {
    SPYP_DECL_PROPERTIES,
    SPYP_GET("kind", spyp_decl_kind, "A DeclReflection.Kind: function, struct and so on."),
    SPYP_OF_DECL("path", SPYP_DECL_TEXT, path, "The name with those of its parents: 'geometry::Circle::area'; '' for a declaration "
        "without a name."),
    SPYP_GET("type", spyp_decl_type, "The type of a variable, the result type of a function, or the type that a struct declares; "
        "otherwise None."),
    SPYP_GET("parent", spyp_decl_parent, "The declaration that contains this one; None for the root."),
    SPYP_GET("children", spyp_decl_children, "The declarations in this one, as a list; len(decl) and decl[i] need no list."),
    SPYP_GET("child_count", spyp_decl_child_count, "The number of declarations in this one."),
    SPYP_GET("value", spyp_decl_value, "The number or text of an enum's case, a constant or a default value; None if it is not known."),
    SPYP_OF_DECL("file", SPYP_DECL_TEXT, file, "The file of the declaration; '' if it is not known."),
    SPYP_OF_DECL("line", SPYP_DECL_UINT, line, "The line of the declaration, from 1; 0 if it is not known."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_decl_class = {
    "DeclReflection",
    "A declaration of a module. len(decl), decl[i] and iteration give its children. A generic function or struct is the last child "
    "of a declaration of the kind generic, behind its generic parameters.",
    spyp_decl_properties,
    spyp_decl_methods, spyp_decl_slots,
};

// >>functions

static PyObject *spyp_function_parameters(spyp_reflection *r) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < r->decl->child_count; i++) {
        if (r->decl->children[i].kind != SPY_DECL_KIND_PARAMETER) continue;
        PyObject *item = spyp_reflect_with(SPYP_VARIABLE, r->module, &r->decl->children[i], r->arguments);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *spyp_function_this(spyp_reflection *r) {
    bool member = r->decl->kind == SPY_DECL_KIND_METHOD && !(r->decl->flags & SPY_DECL_FLAG_STATIC);
    return spyp_reflect_type(SPYP_TYPE, r->module, member && r->decl->parent ? r->decl->parent->type : NULL);
}

static bool spyp_overloads(const spy_decl *a, const spy_decl *b) {
    return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static uint32_t spyp_overload_count(const spy_decl *decl) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < decl->parent->child_count; i++) count += spyp_overloads(&decl->parent->children[i], decl);
    return count;
}

static PyObject *spyp_function_is_overloaded(spyp_reflection *r) {
    return PyBool_FromLong(spyp_overload_count(r->decl) > 1);
}

static PyObject *spyp_function_overloads(spyp_reflection *r) {
    const spy_decl *parent = r->decl->parent;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < parent->child_count; i++) {
        if (!spyp_overloads(&parent->children[i], r->decl)) continue;
        PyObject *item = spyp_reflect_decl(SPYP_FUNCTION, r->module, &parent->children[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *spyp_function_is_constructor(spyp_reflection *r) {
    return PyBool_FromLong(r->decl->kind == SPY_DECL_KIND_CONSTRUCTOR);
}

static PyObject *spyp_function_have_return_value(spyp_reflection *r) {
    return PyBool_FromLong(r->decl->type && r->decl->type->kind != SPY_TYPE_KIND_VOID);
}

static PyObject *spyp_function_decl(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_DECL, r->module, r->decl);
}

// Returns the cost of converting a number of one type to another. 0 means that the types are the same, and -1 that the number does not fit,
// as a float does not fit an integer.
static int spyp_scalar_cost(spy_dtype from, spy_dtype to) {
    bool floating = from == SPY_DTYPE_FLOAT16 || from == SPY_DTYPE_FLOAT32 || from == SPY_DTYPE_FLOAT64;
    bool to_floating = to == SPY_DTYPE_FLOAT16 || to == SPY_DTYPE_FLOAT32 || to == SPY_DTYPE_FLOAT64;
    if (from == to) return 0;
    return floating && !to_floating ? -1 : floating == to_floating ? 1 : 2;
}

// Returns the cost of passing an argument of one type to a parameter of another, or -1. A scalar fills a vector.
static int spyp_type_cost(const spy_type_info *from, const spy_type_info *to) {
    const unsigned numbers =
        1u << SPY_TYPE_KIND_SCALAR | 1u << SPY_TYPE_KIND_VECTOR | 1u << SPY_TYPE_KIND_MATRIX;
    if (strcmp(from->name, to->name) == 0) return 0;
    const spy_type_info *inner = to;
    while (inner->kind == SPY_TYPE_KIND_ARRAY && inner->count && inner->element) inner = inner->element;
    // The type depends on a generic parameter, or its size does.
    if (inner->kind == SPY_TYPE_KIND_OTHER || (inner->kind == SPY_TYPE_KIND_ARRAY && from->kind == SPY_TYPE_KIND_ARRAY)) return 8;
    if (!(numbers >> from->kind & 1) || !(numbers >> to->kind & 1)) return -1;
    bool fills = from->kind == SPY_TYPE_KIND_SCALAR && to->kind != SPY_TYPE_KIND_SCALAR;
    if (!fills && (from->kind != to->kind || from->rows != to->rows || from->columns != to->columns))
        return -1;
    int cost = spyp_scalar_cost(from->dtype, to->dtype);
    return cost < 0 ? -1 : cost + (fills ? 4 : 0);
}

// Returns the cost of passing arguments of these types to a function; -1 means that they do not fit; -2: an exception is set.
static int spyp_types_cost(spyp_module *m, const spy_decl *f, PyObject *types, Py_ssize_t n) {
    Py_ssize_t at = 0;
    int all = 0;
    for (uint32_t i = 0; i < f->child_count; i++) {
        if (f->children[i].kind != SPY_DECL_KIND_PARAMETER) continue;
        if (at == n) return -1;
        const spy_type_info *info = spyp_reflected_type(m, PyTuple_GetItem(types, at++), "specialize_with_arg_types: argument 'types'");
        if (!info) return -2;
        int cost = f->children[i].type ? spyp_type_cost(info, f->children[i].type) : 8;
        if (cost < 0) return -1;
        all += cost;
    }
    return at == n ? all : -1;
}

// Returns a generic function with the arguments that follow from the types of a call's arguments, or None. Takes over
// the reference to `function`.
static PyObject *spyp_function_with_types(PyObject *function, PyObject *types) {
    spyp_reflection *f = (spyp_reflection *)function;
    if (!f || function == Py_None || spyp_decl_generics(f->decl) == 0) return function;
    PyObject *helpers = PyImport_ImportModule("slangpy.helpers"), *found = NULL;
    PyObject *arguments = helpers ? PyObject_CallMethod(helpers, "generic_arguments", "OO", function, types) : NULL;
    if (arguments == Py_None) found = Py_NewRef(Py_None);
    else if (arguments) found = spyp_reflect_with(SPYP_FUNCTION, f->module, f->decl, arguments);
    Py_XDECREF(helpers);
    Py_XDECREF(arguments);
    Py_DECREF(function);
    return found;
}

static PyObject *spyp_function_specialize(PyObject *self, PyObject *types) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "specialize_with_arg_types") < 0) return NULL;
    PyObject *all = PyUnicode_Check(types) ? NULL : PySequence_Tuple(types), *found = NULL;
    if (!all) {
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError, "specialize_with_arg_types: argument 'types': expected a list of types, got %R", (PyObject *)Py_TYPE(types));
    }
    const spy_decl *parent = r->decl->parent;
    const spy_decl *best = NULL;
    int least = -1, cost = 0;
    for (uint32_t i = 0; cost != -2 && i < parent->child_count; i++) {
        if (!spyp_overloads(&parent->children[i], r->decl)) continue;
        cost = spyp_types_cost(r->module, &parent->children[i], all, PyTuple_Size(all));
        if (cost < 0 || (best && cost >= least)) continue;
        least = cost;
        best = &parent->children[i];
    }
    if (cost != -2) found = spyp_function_with_types(spyp_reflect_decl(SPYP_FUNCTION, r->module, best), all);
    Py_DECREF(all);
    return found;
}

static PyObject *spyp_function_full_name(spyp_reflection *r) {
    PyObject *name = PyUnicode_FromString(r->decl->path), *values = NULL, *comma = NULL, *joined = NULL;
    if (!name || !r->arguments) return name;
    values = PyDict_Values(r->arguments);
    comma = values ? PyUnicode_FromString(", ") : NULL;
    joined = comma ? PyUnicode_Join(comma, values) : NULL;
    spyp_replace(&name, joined ? PyUnicode_FromFormat("%U<%U>", name, joined) : NULL);
    Py_XDECREF(joined);
    Py_XDECREF(comma);
    Py_XDECREF(values);
    return name;
}

SPYP_NAMED(spyp_function_specialize_by_types, spyp_function_specialize, "specialize_with_arg_types", "types")

static PyMethodDef spyp_function_methods[] = {
    SPYP_MODIFIER_METHODS,
    { "specialize_with_arg_types", SPYP_FUNC(spyp_function_specialize_by_types), METH_FASTCALL | METH_KEYWORDS,
      "specialize_with_arg_types(types): the overload that takes arguments of these types (TypeReflections or names) with the least "
      "conversions, or None. A generic function is specialised for these types. Function.resolve() finds the overload of a call." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_function_properties[] = {
    SPYP_DECL_PROPERTIES,
    SPYP_GET("full_name", spyp_function_full_name, "The name with its parents' and with generic arguments: 'geometry::Circle::area', 'f<float>'."),
    SPYP_GET("return_type", spyp_decl_type, "The type of the result, which may be 'void'."),
    SPYP_GET("parameters", spyp_function_parameters, "The parameters, as VariableReflections."),
    SPYP_GET("this", spyp_function_this, "The type that the method belongs to; None for static methods and other functions."),
    SPYP_GET("is_overloaded", spyp_function_is_overloaded, "Whether there are other functions of the name."),
    SPYP_GET("overloads", spyp_function_overloads, "All functions of the name, including this one."),
    SPYP_GET("is_constructor", spyp_function_is_constructor, "Whether the function is an __init."),
    SPYP_GET("have_return_value", spyp_function_have_return_value, "Whether the result type is not void."),
    SPYP_IF("is_generic", SPYP_DECL_FLAG, SPY_DECL_FLAG_GENERIC,
            "Whether the function has generic parameters, or its struct has."),
    SPYP_IF("static", SPYP_DECL_FLAG, SPY_DECL_FLAG_STATIC, "Whether the function is a static method."),
    SPYP_IF("mutating", SPYP_DECL_FLAG, SPY_DECL_FLAG_MUTATING,
            "Whether the function is a method that changes its instance."),
    SPYP_IF("differentiable", SPYP_DECL_FLAG, SPY_DECL_FLAG_DIFFERENTIABLE,
            "Whether the function is [Differentiable]."),
    SPYP_GET("decl", spyp_function_decl, "The function's DeclReflection."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_function_class = {
    "FunctionReflection", "A declared function, method or constructor.", spyp_function_properties, spyp_function_methods, NULL,
};

// >>variables

// Returns the variable's index among the parameters or fields of the same declaration.
static PyObject *spyp_variable_index(spyp_reflection *r) {
    unsigned long index = 0;
    for (const spy_decl *d = r->decl->parent ? r->decl->parent->children : r->decl; d != r->decl; d++) index += d->kind == r->decl->kind;
    return PyLong_FromUnsignedLong(index);
}

static PyMethodDef spyp_variable_methods[] = {
    SPYP_MODIFIER_METHODS,
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_variable_properties[] = {
    SPYP_DECL_PROPERTIES,
    SPYP_GET("type", spyp_decl_type, "The variable's TypeReflection; None for the case of an enum."),
    SPYP_GET("index", spyp_variable_index, "The position among the parameters or fields, from 0."),
    SPYP_IF("has_default", SPYP_DECL_FLAG, SPY_DECL_FLAG_HAS_DEFAULT, "Whether a parameter has a default value, or a variable an "
        "initial one."),
    SPYP_GET("value", spyp_decl_value, "The value of a constant, or a default value that is a plain number; otherwise None."),
    SPYP_GET("decl", spyp_function_decl, "The variable's DeclReflection."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_variable_class = {
    "VariableReflection", "A parameter, field, constant or variable.", spyp_variable_properties, spyp_variable_methods, NULL,
};

static PyObject *spyp_layout_variable(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_VARIABLE, r->module, r->decl);
}

static PyObject *spyp_layout_of_variable(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE_LAYOUT, r->module, r->decl->type);
}

static const spyp_property spyp_variable_layout_properties[] = {
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The variable's name."),
    SPYP_GET("variable", spyp_layout_variable, "The VariableReflection."),
    SPYP_GET("type", spyp_decl_type, "The TypeReflection."),
    SPYP_GET("type_layout", spyp_layout_of_variable, "The TypeLayoutReflection."),
    SPYP_OF_DECL("offset", SPYP_DECL_SIZE, device_offset_bytes, "The bytes from the beginning of the variable's struct, or of the "
        "uniform globals, on the device."),
    SPYP_OF_DECL("host_offset", SPYP_DECL_SIZE, offset_bytes, "The bytes from the beginning of the variable's struct in C's layout."),
    SPYP_OF_DECL("binding", SPYP_DECL_UINT, binding, "The binding of a global resource in the layout of the module alone."),
    SPYP_OF_DECL("space", SPYP_DECL_UINT, space, "The descriptor set of a global resource."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_variable_layout_class = {
    "VariableLayoutReflection", "The place of a field or a global shader parameter in memory or among bindings.", spyp_variable_layout_properties, NULL, NULL,
};

PyObject *spyp_variable_repr(spyp_reflection *r) {
    PyObject *type = r->decl->type ? spyp_full_name(r->decl->type) : PyUnicode_FromString("");
    PyObject *text =
        type ? spyp_format("refl::Variable(name=\"%s\", type=\"%U\")", r->decl->name, type) : NULL;
    Py_XDECREF(type);
    return text;
}

// >>entry points

static PyObject *spyp_entry_stage(spyp_reflection *r) {
    return spyp_enum("ShaderStage", (long)r->decl->stage);
}

static PyObject *spyp_entry_group(spyp_reflection *r) {
    return spyp_math_new(SPY_DTYPE_UINT32, 1, 3, r->decl->group_size);
}

static PyObject *spyp_entry_parameters(spyp_reflection *r) {
    return spyp_decl_list(SPYP_VARIABLE_LAYOUT, r->module, r->decl->children, r->decl->child_count, 1u << SPY_DECL_KIND_PARAMETER);
}

static PyObject *spyp_entry_function(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_FUNCTION, r->module, r->decl);
}

// Returns the name in the program: the name of rename() takes the place of the generic arguments.
static PyObject *spyp_entry_override(spyp_reflection *r) {
    return r->arguments ? Py_NewRef(r->arguments) : PyUnicode_FromString(r->decl->name);
}

static PyObject *spyp_entry_named(PyObject *self, PyObject *name) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "EntryPointLayout") < 0) return NULL;
    return spyp_reflect_with(SPYP_ENTRY_POINT, r->module, r->decl, name);
}

static PyMethodDef spyp_entry_point_methods[] = {
    { "_named", spyp_entry_named, METH_O, "_named(name): the same entry point under another name in the program." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_entry_point_properties[] = {
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The name of the function."),
    SPYP_GET("name_override", spyp_entry_override, "The name in the program: the function's, or the one that rename() gave it."),
    SPYP_GET("stage", spyp_entry_stage, "The ShaderStage."),
    SPYP_GET("compute_thread_group_size", spyp_entry_group,
             "The sizes of [numthreads] as a uint3; zeros for other stages."),
    SPYP_GET("parameters", spyp_entry_parameters, "The parameters, as VariableLayoutReflections."),
    SPYP_GET("function", spyp_entry_function, "The FunctionReflection."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_entry_point_class = {
    "EntryPointLayout", "A function with a [shader(...)] attribute.", spyp_entry_point_properties, spyp_entry_point_methods, NULL,
};

// >>attributes

static PyObject *spyp_attribute_name(spyp_reflection *r) {
    return PyUnicode_FromString(r->attribute->name);
}

static PyObject *spyp_attribute_args(spyp_reflection *r) {
    PyObject *args = PyTuple_New((Py_ssize_t)r->attribute->arg_count);
    for (uint32_t i = 0; args && i < r->attribute->arg_count; i++) {
        PyObject *value = spyp_constant_read(&r->attribute->args[i]);
        if (!value || PyTuple_SetItem(args, (Py_ssize_t)i, value) < 0) Py_CLEAR(args);
    }
    return args;
}

static PyObject *spyp_attribute_count(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(r->attribute->arg_count);
}

// Returns the argument of that index, or NULL with an IndexError.
static const spy_constant *spyp_attribute_arg(PyObject *self, PyObject *index, const char *what) {
    spyp_reflection *r = (spyp_reflection *)self;
    long i = PyLong_Check(index) ? PyLong_AsLong(index) : -1;
    if (spyp_reflection_open(r, what) < 0) return NULL;
    if (i >= 0 && i < (long)r->attribute->arg_count) return &r->attribute->args[i];
    PyErr_Clear();
    PyErr_Format(spyp.index_error, "Attribute.%s: %s has no argument %R", what, r->attribute->name, index);
    return NULL;
}

static PyObject *spyp_attribute_int(PyObject *self, PyObject *index) {
    const spy_constant *c = spyp_attribute_arg(self, index, "argument_value_int");
    if (c && c->kind == SPY_CONSTANT_KIND_INT) return PyLong_FromLongLong(c->int_value);
    return c ? PyErr_Format(spyp.error, "Attribute.argument_value_int: argument %R is no int", index) : NULL;
}

static PyObject *spyp_attribute_float(PyObject *self, PyObject *index) {
    const spy_constant *c = spyp_attribute_arg(self, index, "argument_value_float");
    if (c && (c->kind == SPY_CONSTANT_KIND_FLOAT || c->kind == SPY_CONSTANT_KIND_INT))
        return PyFloat_FromDouble(c->float_value);
    return c ? PyErr_Format(spyp.error, "Attribute.argument_value_float: argument %R is no float", index)
             : NULL;
}

static PyObject *spyp_attribute_string(PyObject *self, PyObject *index) {
    const spy_constant *c = spyp_attribute_arg(self, index, "argument_value_string");
    if (c && c->kind == SPY_CONSTANT_KIND_STRING) return PyUnicode_FromString(c->string);
    return c ? PyErr_Format(spyp.error, "Attribute.argument_value_string: argument %R is no text", index)
             : NULL;
}

// Returns the type of an argument. The attribute is declared as a struct, whose fields have the types of the arguments.
static PyObject *spyp_attribute_type(PyObject *self, PyObject *index) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (!spyp_attribute_arg(self, index, "argument_type")) return NULL;
    char name[256];
    PyOS_snprintf(name, sizeof name, "%sAttribute", r->attribute->name);
    const spy_type_info *info = spyp_find_type(r->module, name, false);
    long i = PyLong_AsLong(index);
    if (PyErr_Occurred()) return NULL;
    return spyp_reflect_type(SPYP_TYPE, r->module,
                             info && i < (long)info->field_count ? info->fields[i].type : NULL);
}

SPYP_NAMED(spyp_attribute_type_by_index, spyp_attribute_type, "argument_type", "index")
SPYP_NAMED(spyp_attribute_int_by_index, spyp_attribute_int, "argument_value_int", "index")
SPYP_NAMED(spyp_attribute_float_by_index, spyp_attribute_float, "argument_value_float", "index")
SPYP_NAMED(spyp_attribute_string_by_index, spyp_attribute_string, "argument_value_string", "index")

static PyMethodDef spyp_attribute_methods[] = {
    { "argument_type", SPYP_FUNC(spyp_attribute_type_by_index), METH_FASTCALL | METH_KEYWORDS,
      "argument_type(index): the TypeReflection of an argument." },
    { "argument_value_int", SPYP_FUNC(spyp_attribute_int_by_index), METH_FASTCALL | METH_KEYWORDS,
      "argument_value_int(index): an argument that is an int." },
    { "argument_value_float", SPYP_FUNC(spyp_attribute_float_by_index), METH_FASTCALL | METH_KEYWORDS,
      "argument_value_float(index): an argument that is a float." },
    { "argument_value_string", SPYP_FUNC(spyp_attribute_string_by_index), METH_FASTCALL | METH_KEYWORDS,
      "argument_value_string(index): an argument that is a str." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_attribute_properties[] = {
    SPYP_GET("name", spyp_attribute_name, "The attribute's name: 'Range' of [Range(0, 1)]."),
    SPYP_GET("args", spyp_attribute_args,
             "The arguments: int, float, str, or None for arguments that Slang does not tell (double, half, more than 32 bits)."),
    SPYP_GET("argument_count", spyp_attribute_count, "The number of arguments."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_attribute_class = {
    "Attribute",
    "An attribute of a declaration; attributes are declared as structs.",
    spyp_attribute_properties,
    spyp_attribute_methods,
    NULL,
};
