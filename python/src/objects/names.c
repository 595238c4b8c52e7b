// The names of modules and types: what dir() lists, and the values of constants.
#include "objects/reflection.h"

#include <string.h>

#include "state/cold.h"

// Tells whether a declaration can be an attribute: functions, types, and constants whose values are known.
static bool spyp_is_attribute(const spy_decl *d) {
    static const uint32_t always = 1u << SPY_DECL_KIND_FUNCTION | 1u << SPY_DECL_KIND_METHOD | 1u << SPY_DECL_KIND_STRUCT | 1u << SPY_DECL_KIND_INTERFACE |
                                   1u << SPY_DECL_KIND_ENUM | 1u << SPY_DECL_KIND_ALIAS;
    static const uint32_t known = 1u << SPY_DECL_KIND_VARIABLE | 1u << SPY_DECL_KIND_ENUM_CASE;
    return always >> d->kind & 1 || (known >> d->kind & 1 && d->value.kind != SPY_CONSTANT_KIND_NONE);
}

PyObject *spyp_module_constant(spyp_module *m, const char *path) {
    spyp_device *d = m->device;
    d->quiet = true; // a search that finds nothing is no error
    const spy_decl *decl = spy_find_decl(m->module, path);
    if (!decl) (void)spy_take_error(d->device);
    d->quiet = false;
    if (!decl || (decl->kind != SPY_DECL_KIND_VARIABLE && decl->kind != SPY_DECL_KIND_ENUM_CASE) || !spyp_is_attribute(decl)) return NULL;
    bool flag =
        decl->value.kind == SPY_CONSTANT_KIND_INT && decl->type && decl->type->dtype == SPY_DTYPE_BOOL;
    return flag ? PyBool_FromLong(decl->value.int_value != 0) : spyp_constant_read(&decl->value);
}

// Lists the names that every object has, and those in the declaration, which may be NULL.
static PyObject *spyp_names_of(PyObject *self, const spy_decl *decl) {
    PyObject *usual = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__dir__", "O", self), *all = usual ? PySet_New(usual) : NULL;
    for (uint32_t i = 0; all && decl && i < decl->child_count; i++) {
        if (!spyp_is_attribute(&decl->children[i])) continue;
        PyObject *name = PyUnicode_FromString(decl->children[i].name);
        if (!name || PySet_Add(all, name) < 0) Py_CLEAR(all);
        Py_XDECREF(name);
    }
    PyObject *list = all ? PySequence_List(all) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(usual);
    return list;
}

PyObject *spyp_near_names(const spy_decl *decl, PyObject *name) {
    PyObject *list = PyList_New(0), *module = PyImport_ImportModule("difflib"), *text = PyUnicode_FromString("");
    for (uint32_t i = 0; list && decl && i < decl->child_count; i++) {
        if (!spyp_is_attribute(&decl->children[i]) || decl->children[i].kind == SPY_DECL_KIND_CONSTRUCTOR) continue;
        PyObject *child = PyUnicode_FromString(decl->children[i].name);
        if (!child || PyList_Append(list, child) < 0) Py_CLEAR(list);
        Py_XDECREF(child);
    }
    PyObject *near_names = list && module ? PyObject_CallMethod(module, "get_close_matches", "OO", name, list) : NULL;
    for (Py_ssize_t i = 0; near_names && text && i < PyList_Size(near_names); i++) {
        PyObject *words = spyp_format("%U%s%R", text, i ? ", " : ", did you mean ", PyList_GetItem(near_names, i));
        spyp_replace(&text, words);
    }
    if (text && PyUnicode_GetLength(text)) spyp_replace(&text, spyp_format("%U?", text));
    if (!near_names) Py_CLEAR(text);
    Py_XDECREF(near_names);
    Py_XDECREF(list);
    Py_XDECREF(module);
    return text;
}

static PyObject *spyp_module_dir(PyObject *self, PyObject *ignored) {
    spyp_module *m = (spyp_module *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(m->device, "dir(module)") < 0) return NULL;
    const spy_decl *root = spy_reflect_module(m->module);
    if (!root) spyp_raise(m->device);
    spyp_leave(m->device);
    PyObject *list = root ? spyp_names_of(self, root) : NULL, *draw = list ? PyUnicode_FromString("draw") : NULL;
    int there = draw ? PySequence_Contains(list, draw) : -1;
    if (there < 0 || (!there && PyList_Append(list, draw) < 0)) Py_CLEAR(list);
    Py_XDECREF(draw);
    return list;
}

static PyObject *spyp_struct_dir(PyObject *self, PyObject *ignored) {
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(self, &module);
    SPYP_UNUSED(ignored);
    return info ? spyp_names_of(self, info->decl) : NULL;
}

int spyp_names_ready(void) {
    static PyMethodDef of_module[] = {
        { "__dir__", spyp_module_dir, METH_NOARGS, "__dir__(): its functions, types and constants too, and draw." },
        { NULL, NULL, 0, NULL },
    };
    static PyMethodDef of_struct[] = {
        { "__dir__", spyp_struct_dir, METH_NOARGS, "__dir__(): its methods, nested types and constants too." },
        { NULL, NULL, 0, NULL },
    };
    return spyp_methods_add(spyp.module_type, of_module) < 0 ? -1 : spyp_methods_add(spyp.struct_type, of_struct);
}
