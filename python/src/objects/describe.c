// Descriptions of functions: print(f), f.__doc__ and inspect.signature(f) show Slang's declarations and their
// comments.
#include "objects/objects.h"

#include <string.h>

#include "state/cold.h"

// >>descriptors: attributes that mean one thing in an instance and another in its class

typedef struct spyp_instance_only {
    PyObject_HEAD
    PyObject *(*get)(PyObject *self);
    PyObject *of_class; // the class's own attribute of that name; NULL means that the class has none
    const char *name;
} spyp_instance_only;

static PyObject *spyp_instance_only_get(PyObject *self, PyObject *object, PyObject *type) {
    spyp_instance_only *d = (spyp_instance_only *)self;
    if (object && object != Py_None) return d->get(object);
    return d->of_class ? Py_NewRef(d->of_class) : PyErr_Format(PyExc_AttributeError, "%R has no attribute '%s'", type, d->name);
}

static void spyp_instance_only_dealloc(PyObject *self) {
    Py_CLEAR(((spyp_instance_only *)self)->of_class);
    spyp_free(self);
}

static PyType_Slot spyp_instance_only_slots[] = {
    { Py_tp_descr_get, (void *)spyp_instance_only_get },
    { Py_tp_dealloc, (void *)spyp_instance_only_dealloc },
    { 0, NULL },
};

static PyType_Spec spyp_instance_only_spec = { "slangpy._slangpy._InstanceOnly", sizeof(spyp_instance_only), 0,
                                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_instance_only_slots };

// Adds an attribute to a class: instances get the value of `get`, the class itself `of_class`. Takes over the reference
// `of_class`. Returns -1 with an exception set.
static int spyp_instance_only_add(PyTypeObject *kind, PyTypeObject *type, const char *name, PyObject *(*get)(PyObject *self), PyObject *of_class) {
    spyp_instance_only *d = (spyp_instance_only *)spyp_alloc(kind);
    if (d) {
        d->get = get;
        d->of_class = of_class;
        d->name = name;
    }
    int status = d ? PyObject_SetAttrString((PyObject *)type, name, (PyObject *)d) : -1;
    SPYP_DECREF(d);
    return status;
}

// >>functions

// Returns a declaration with its comment, indented, below it.
static PyObject *spyp_declaration_text(const spy_decl *decl) {
    PyObject *lines = PyUnicode_FromString(decl->doc), *line = PyUnicode_FromString("\n"), *indented = PyUnicode_FromString("\n    ");
    PyObject *doc = lines && line && indented ? PyUnicode_Replace(lines, line, indented, -1) : NULL;
    PyObject *text = doc ? spyp_format(*decl->doc ? "%s\n    %U" : "%s", decl->text, doc) : NULL;
    Py_XDECREF(lines);
    Py_XDECREF(line);
    Py_XDECREF(indented);
    Py_XDECREF(doc);
    return text;
}

// Describes all overloads as text. NULL without an exception: reflection does not know the function.
static PyObject *spyp_declarations_text(spyp_function *f) {
    spy_call_mode mode = f->chain ? f->chain->mode : SPY_CALL_MODE_DEFAULT;
    PyObject *text = NULL;
    for (const spy_decl *decl = spyp_declared(f); decl; decl = spy_next_overload(decl)) {
        PyObject *one = spyp_declaration_text(decl), *all = NULL;
        if (one && text) all = spyp_format("%U\n%U", text, one);
        else if (one && mode != SPY_CALL_MODE_DEFAULT) all = spyp_format("The %s derivative of\n%U", mode == SPY_CALL_MODE_BACKWARD ? "backward" : "forward", one);
        else if (one) all = Py_NewRef(one);
        Py_XDECREF(one);
        spyp_replace(&text, all);
        if (!text) break;
    }
    return text;
}

PyObject *spyp_function_str(PyObject *self) {
    PyObject *text = spyp_declarations_text((spyp_function *)self);
    return text || PyErr_Occurred() ? text : PyObject_Repr(self);
}

static PyObject *spyp_function_doc(PyObject *self) {
    PyObject *text = spyp_declarations_text((spyp_function *)self), *doc = NULL;
    if (!text) return PyErr_Occurred() ? NULL : PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__doc__");
    doc = spyp_format("%U\n\nA Slang function: called once for each element of the broadcast shape of its arguments. _result= says where "
                      "the result goes, _append_to= records the call, _thread_count= adds threads.", text);
    Py_DECREF(text);
    return doc;
}

// Returns an overload as a tuple: (name, type, has default) of each parameter, and the type of the result.
static PyObject *spyp_overload_parts(spyp_function *f, const spy_decl *decl) {
    bool instance = decl->kind == SPY_DECL_KIND_METHOD && !(decl->flags & SPY_DECL_FLAG_STATIC) && !(f->chain && f->chain->self);
    PyObject *list = PyList_New(0), *parts = NULL;
    for (uint32_t i = 0; list && i <= decl->child_count; i++) { // i == 0 is the instance
        const spy_decl *p = i ? &decl->children[i - 1] : NULL;
        if (p ? p->kind != SPY_DECL_KIND_PARAMETER : !instance) continue;
        PyObject *one = Py_BuildValue("(ssO)", p ? p->name : "this", p ? (p->type ? p->type->name : "") : decl->parent ? decl->parent->name : "",
                                      p && p->flags & SPY_DECL_FLAG_HAS_DEFAULT ? Py_True : Py_False);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (list) parts = Py_BuildValue("(Os)", list, decl->type ? decl->type->name : "void");
    Py_XDECREF(list);
    return parts;
}

static PyObject *spyp_function_signature(PyObject *self) {
    spyp_function *f = (spyp_function *)self;
    PyObject *overloads = PyList_New(0), *display = NULL, *result = NULL;
    for (const spy_decl *decl = spyp_declared(f); overloads && decl; decl = spy_next_overload(decl)) {
        PyObject *parts = spyp_overload_parts(f, decl);
        if (!parts || PyList_Append(overloads, parts) < 0) Py_CLEAR(overloads);
        Py_XDECREF(parts);
    }
    display = overloads ? PyImport_ImportModule("slangpy.display") : NULL;
    if (display) result = PyObject_CallMethod(display, "signature", "(O)", overloads);
    Py_XDECREF(overloads);
    Py_XDECREF(display);
    return result;
}

int spyp_describe_ready(void) {
    PyTypeObject *kind = (PyTypeObject *)PyType_FromSpec(&spyp_instance_only_spec);
    PyObject *doc = kind ? PyObject_GetAttrString((PyObject *)spyp.function, "__doc__") : NULL;
    int status = doc ? spyp_instance_only_add(kind, spyp.function, "__doc__", spyp_function_doc, doc) : -1;
    if (status == 0) status = spyp_instance_only_add(kind, spyp.function, "__signature__", spyp_function_signature, NULL);
    SPYP_DECREF(kind);
    return status;
}
