// Reflection of declarations: functions, variables, attributes, entry points.
#include "objects/reflection.h"

#include <string.h>

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
    { 8, SPY_DECL_FLAG_IN, SPY_DECL_FLAG_OUT },
    { 9, SPY_DECL_FLAG_OUT, SPY_DECL_FLAG_IN },
    { 10, SPY_DECL_FLAG_IN | SPY_DECL_FLAG_OUT, 0 },
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

static PyObject *spyp_find_attribute(PyObject *self, PyObject *name) {
    spyp_reflection *r = (spyp_reflection *)self;
    const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    if (spyp_reflection_open(r, "find_user_attribute_by_name") < 0) return NULL;
    if (!text) {
        if (PyErr_Occurred()) return NULL;
        return PyErr_Format(PyExc_TypeError, "find_user_attribute_by_name: argument 'name': expected a str, got %R", (PyObject *)Py_TYPE(name));
    }
    const spy_attribute *found = spy_find_attribute(r->decl, text);
    if (!found) Py_RETURN_NONE;
    spyp_reflection *attribute = spyp_reflection_make(SPYP_ATTRIBUTE, r->module);
    if (attribute) attribute->attribute = found;
    return (PyObject *)attribute;
}

#define SPYP_MODIFIER_METHODS                                                                                                \
    { "has_modifier", spyp_has_modifier, METH_O, "has_modifier(modifier): whether it is declared with that ModifierID." },  \
    { "find_user_attribute_by_name", spyp_find_attribute, METH_O,                                                           \
      "find_user_attribute_by_name(name): the Attribute of that name, or None." }
#define SPYP_DECL_PROPERTIES                                                                                                 \
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The name: 'area'."),                                                        \
    SPYP_OF_DECL("text", SPYP_DECL_TEXT, text, "The declaration as one writes it: 'float lerp(float a, float b = 1)'."),    \
    SPYP_OF_DECL("doc", SPYP_DECL_TEXT, doc, "The comment right above it: its /// lines or its /** */; \"\" without one."), \
    SPYP_GET("modifiers", spyp_get_modifiers, "The ModifierIDs that it has."),                                              \
    SPYP_GET("user_attributes", spyp_get_attributes, "The attributes of the user's own, as Attributes.")

// >>declarations

static PyObject *spyp_decl_kind(spyp_reflection *r) {
    static const uint8_t kinds[] = {
        // the number in DeclKind of each spy_decl_kind
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
    return spyp_enum("DeclKind", r->decl->kind < sizeof kinds ? kinds[r->decl->kind] : 0);
}

static PyObject *spyp_decl_type(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE, r->module, r->decl->type);
}

static PyObject *spyp_decl_parent(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_DECL, r->module, r->decl->parent);
}

static PyObject *spyp_decl_children(spyp_reflection *r) {
    return spyp_decl_list(SPYP_DECL, r->module, r->decl->children, r->decl->child_count, ~0u);
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
    for (uint32_t i = 0; list && !found && i < r->decl->child_count; i++) {
        const spy_decl *child = &r->decl->children[i];
        if (name && PyUnicode_CompareWithASCIIString(name, child->name) != 0) continue;
        PyObject *item = spyp_reflect_decl(SPYP_DECL, r->module, child);
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
    return spyp_reflection_open(r, "len") < 0 ? -1 : (Py_ssize_t)r->decl->child_count;
}

static PyObject *spyp_decl_item(PyObject *self, Py_ssize_t i) {
    spyp_reflection *r = (spyp_reflection *)self;
    if (spyp_reflection_open(r, "DeclReflection") < 0) return NULL;
    if (i < 0 || i >= (Py_ssize_t)r->decl->child_count)
        return PyErr_Format(PyExc_IndexError, "DeclReflection: index %zd is out of range: there are %u children", i, r->decl->child_count);
    return spyp_reflect_decl(SPYP_DECL, r->module, &r->decl->children[i]);
}

static int spyp_decl_bool(PyObject *self) { // it is true also when len() is 0
    SPYP_UNUSED(self);
    return 1;
}

static PyMethodDef spyp_decl_methods[] = {
    SPYP_MODIFIER_METHODS,
    { "as_type", spyp_decl_as_type, METH_NOARGS, "as_type(): the TypeReflection of a struct, enum, interface or alias." },
    { "as_function", spyp_decl_as_function, METH_NOARGS, "as_function(): the FunctionReflection of a function or method." },
    { "as_variable", spyp_decl_as_variable, METH_NOARGS, "as_variable(): the VariableReflection of a field, parameter or variable." },
    { "find_children_of_kind", SPYP_FUNC(spyp_decl_find_children), METH_VARARGS | METH_KEYWORDS,
      "find_children_of_kind(kind, child_name=...): a list of DeclReflections, all or those of one name." },
    { "children_of_kind", spyp_decl_children_of_kind, METH_O, "children_of_kind(kind): a list of DeclReflections." },
    { "find_first_child_of_kind", SPYP_FUNC(spyp_decl_find_first), METH_VARARGS | METH_KEYWORDS,
      "find_first_child_of_kind(kind, child_name=...): a DeclReflection, or None." },
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
    SPYP_GET("kind", spyp_decl_kind, "What it declares: a DeclReflection.Kind."),
    SPYP_OF_DECL("path", SPYP_DECL_TEXT, path, "The name with its parents': 'geometry::Circle::area'; '' where it has none."),
    SPYP_GET("type", spyp_decl_type, "Of a variable; a function's result; what a struct declares; else None."),
    SPYP_GET("parent", spyp_decl_parent, "The declaration that this one lies in; None: it is the root."),
    SPYP_GET("children", spyp_decl_children, "The declarations in it, as a list; len() and [i] do it without one."),
    SPYP_OF_DECL("child_count", SPYP_DECL_UINT, child_count, "How many children it has."),
    SPYP_GET("value", spyp_decl_value, "A number or text: of an enum's case, a constant, a default; None where it is not known."),
    SPYP_OF_DECL("file", SPYP_DECL_TEXT, file, "The file it is written in; '' when that is not known."),
    SPYP_OF_DECL("line", SPYP_DECL_UINT, line, "The line, from 1; 0 when that is not known."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_decl_class = {
    "DeclReflection", "A declaration of a module. len(decl), decl[i] and iteration give its children.", spyp_decl_properties,
    spyp_decl_methods, spyp_decl_slots,
};

// >>functions

static PyObject *spyp_function_parameters(spyp_reflection *r) {
    return spyp_decl_list(SPYP_VARIABLE, r->module, r->decl->children, r->decl->child_count, 1u << SPY_DECL_KIND_PARAMETER);
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

// Tells whether the function's parameters have exactly these types.
static int spyp_takes_types(spyp_module *m, const spy_decl *f, PyObject *types, Py_ssize_t n) {
    Py_ssize_t at = 0;
    for (uint32_t i = 0; i < f->child_count; i++) {
        if (f->children[i].kind != SPY_DECL_KIND_PARAMETER) continue;
        if (at == n) return 0;
        const spy_type_info *info = spyp_reflected_type(m, PyTuple_GetItem(types, at++), "specialize_with_arg_types: argument 'types'");
        if (!info) return -1;
        if (!f->children[i].type || strcmp(f->children[i].type->name, info->name) != 0) return 0;
    }
    return at == n;
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
    int fits = 0;
    for (uint32_t i = 0; fits == 0 && i < parent->child_count; i++) {
        if (!spyp_overloads(&parent->children[i], r->decl)) continue;
        fits = spyp_takes_types(r->module, &parent->children[i], all, PyTuple_Size(all));
        if (fits > 0) found = spyp_reflect_decl(SPYP_FUNCTION, r->module, &parent->children[i]);
    }
    Py_DECREF(all);
    return found || fits < 0 ? found : Py_NewRef(Py_None);
}

static PyMethodDef spyp_function_methods[] = {
    SPYP_MODIFIER_METHODS,
    { "specialize_with_arg_types", spyp_function_specialize, METH_O,
      "specialize_with_arg_types(types): the overload whose parameters have exactly these types (TypeReflections or names), or "
      "None. Function.resolve() finds what a call would take, with conversions and generics." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_function_properties[] = {
    SPYP_DECL_PROPERTIES,
    SPYP_OF_DECL("full_name", SPYP_DECL_TEXT, path, "The name with its parents': 'geometry::Circle::area'."),
    SPYP_GET("return_type", spyp_decl_type, "The type of the result; 'void' is one too."),
    SPYP_GET("parameters", spyp_function_parameters, "The parameters, as VariableReflections."),
    SPYP_GET("this", spyp_function_this, "The type that it is a method of; None for others and static ones."),
    SPYP_GET("is_overloaded", spyp_function_is_overloaded, "Whether there are others of the name."),
    SPYP_GET("overloads", spyp_function_overloads, "All functions of the name, this one among them."),
    SPYP_GET("is_constructor", spyp_function_is_constructor, "Whether it is an __init."),
    SPYP_GET("have_return_value", spyp_function_have_return_value, "Whether the result is not void."),
    SPYP_IF("is_generic", SPYP_DECL_FLAG, SPY_DECL_FLAG_GENERIC,
            "Whether it has generic parameters, or its struct has."),
    SPYP_IF("static", SPYP_DECL_FLAG, SPY_DECL_FLAG_STATIC, "Whether it is a static method."),
    SPYP_IF("mutating", SPYP_DECL_FLAG, SPY_DECL_FLAG_MUTATING,
            "Whether it is a method that changes its instance."),
    SPYP_IF("differentiable", SPYP_DECL_FLAG, SPY_DECL_FLAG_DIFFERENTIABLE,
            "Whether it is [Differentiable]."),
    SPYP_GET("decl", spyp_function_decl, "Its DeclReflection."),
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
    SPYP_GET("type", spyp_decl_type, "Its TypeReflection; None for an enum's case."),
    SPYP_GET("index", spyp_variable_index, "Its position among the parameters or fields, from 0."),
    SPYP_IF("has_default", SPYP_DECL_FLAG, SPY_DECL_FLAG_HAS_DEFAULT, "Whether a call may leave it out; whether it is initialised."),
    SPYP_GET("value", spyp_decl_value, "A constant's, a default that is a plain number; else None."),
    SPYP_GET("decl", spyp_function_decl, "Its DeclReflection."),
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
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The name."),
    SPYP_GET("variable", spyp_layout_variable, "The VariableReflection."),
    SPYP_GET("type", spyp_decl_type, "The TypeReflection."),
    SPYP_GET("type_layout", spyp_layout_of_variable, "The TypeLayoutReflection."),
    SPYP_OF_DECL("offset", SPYP_DECL_SIZE, device_offset_bytes, "Bytes from the beginning of its struct, or of the uniform globals, on the device."),
    SPYP_OF_DECL("host_offset", SPYP_DECL_SIZE, offset_bytes, "Bytes from the beginning of its struct in C's layout."),
    SPYP_OF_DECL("binding", SPYP_DECL_UINT, binding, "Of a global resource, in the module's own layout."),
    SPYP_OF_DECL("space", SPYP_DECL_UINT, space, "The descriptor set of a global resource."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_variable_layout_class = {
    "VariableLayoutReflection", "Where a field or a global shader parameter lies.", spyp_variable_layout_properties, NULL, NULL,
};

// >>entry points

static PyObject *spyp_entry_stage(spyp_reflection *r) {
    return spyp_enum("ShaderStage", (long)r->decl->stage);
}

static PyObject *spyp_entry_group(spyp_reflection *r) {
    return Py_BuildValue("(III)", r->decl->group_size[0], r->decl->group_size[1], r->decl->group_size[2]);
}

static PyObject *spyp_entry_parameters(spyp_reflection *r) {
    return spyp_decl_list(SPYP_VARIABLE_LAYOUT, r->module, r->decl->children, r->decl->child_count, 1u << SPY_DECL_KIND_PARAMETER);
}

static PyObject *spyp_entry_function(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_FUNCTION, r->module, r->decl);
}

static const spyp_property spyp_entry_point_properties[] = {
    SPYP_OF_DECL("name", SPYP_DECL_TEXT, name, "The name."),
    SPYP_GET("stage", spyp_entry_stage, "The ShaderStage."),
    SPYP_GET("compute_thread_group_size", spyp_entry_group, "[numthreads] as a tuple (x, y, z); zeros for other stages."),
    SPYP_GET("parameters", spyp_entry_parameters, "The parameters, as VariableLayoutReflections."),
    SPYP_GET("function", spyp_entry_function, "The FunctionReflection."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_entry_point_class = {
    "EntryPointLayout", "A function with a [shader(...)] attribute.", spyp_entry_point_properties, NULL, NULL,
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

static const spyp_property spyp_attribute_properties[] = {
    SPYP_GET("name", spyp_attribute_name, "The name: 'Range' of [Range(0, 1)]."),
    SPYP_GET("args", spyp_attribute_args,
             "The arguments: int, float, str, or None for those that Slang does not tell (double, half, more than 32 bits)."),
    SPYP_GET("argument_count", spyp_attribute_count, "How many arguments it has."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_attribute_class = {
    "Attribute", "An attribute that is declared as a struct, at a declaration.", spyp_attribute_properties, NULL, NULL,
};
