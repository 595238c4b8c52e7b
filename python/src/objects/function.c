// The class Function: a Slang function with a chain of options, maps, constants and globals. Each chained
// method makes a new Function.
#include "objects/objects.h"
#include "slangpy_cuda.h"

#include <string.h>

// >>chains

static void spyp_chain_release(spyp_chain *chain) {
    if (!chain || --chain->references) return;
    Py_XDECREF(chain->self);
    Py_XDECREF(chain->map_args);
    Py_XDECREF(chain->map_kwargs);
    Py_XDECREF(chain->constants);
    Py_XDECREF(chain->globals);
    Py_XDECREF(chain->setters);
    Py_XDECREF(chain->prelude);
    Py_XDECREF(chain->conformances);
    Py_XDECREF(chain->result);
    PyMem_Free(chain);
}

static spyp_chain *spyp_chain_copy(const spyp_chain *from) {
    spyp_chain *chain = (spyp_chain *)PyMem_Malloc(sizeof *chain);
    if (!chain) {
        PyErr_NoMemory();
        return NULL;
    }
    if (from) *chain = *from;
    else memset(chain, 0, sizeof *chain);
    chain->references = 1;
    Py_XINCREF(chain->self);
    Py_XINCREF(chain->map_args);
    Py_XINCREF(chain->map_kwargs);
    Py_XINCREF(chain->constants);
    Py_XINCREF(chain->globals);
    Py_XINCREF(chain->setters);
    Py_XINCREF(chain->prelude);
    Py_XINCREF(chain->conformances);
    Py_XINCREF(chain->result);
    return chain;
}

// Returns a copy of `self` whose chain may be changed, or NULL with an exception set.
static spyp_function *spyp_function_link(PyObject *self) {
    spyp_function *f = (spyp_function *)self;
    spyp_function *made = (spyp_function *)spyp_function_make(f->module, f->function, f->name);
    if (made && !(made->chain = spyp_chain_copy(f->chain))) Py_CLEAR(made);
    if (made) made->declared = Py_XNewRef(f->declared);
    return made;
}

static void spyp_set(PyObject **at, PyObject *value) {
    PyObject *old = *at;
    *at = Py_XNewRef(value);
    Py_XDECREF(old);
}

// >>methods that chain

static PyObject *spyp_link_map(PyObject *self, PyObject *args, PyObject *kwargs) {
    spyp_function *f = spyp_function_link(self);
    if (!f) return NULL;
    if (kwargs && spyp_check_parameters(f, kwargs, "map") < 0) {
        Py_DECREF(f);
        return NULL;
    }
    if (PyTuple_Size(args) || !f->chain->map_args) spyp_set(&f->chain->map_args, args);
    PyObject *all = spyp_merged(f->chain->map_kwargs, kwargs);
    if (!all) Py_CLEAR(f);
    else spyp_set(&f->chain->map_kwargs, all);
    Py_XDECREF(all);
    return (PyObject *)f;
}

// Fills the list of spy_declare() from the arguments of declare(). Returns their number, or -1 with an exception set.
static Py_ssize_t spyp_declarations(spyp_call *call, PyObject *args, PyObject *named, spy_arg **list) {
    const spyp_chain *chain = call->function->chain;
    Py_ssize_t n = PyTuple_Size(args), k = PyTuple_Size(named) / 2, count = 0;
    spy_arg *items = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + k + 1) * sizeof *items);
    if (!(*list = items)) return -1;
    if (chain && chain->self) items[count++] = spy_arg_any(NULL); // the bound instance
    for (Py_ssize_t i = 0; i < n + k; i++) {
        PyObject *entry = i < n ? PyTuple_GetItem(args, i) : PyTuple_GetItem(named, 2 * (i - n) + 1);
        const char *name = i < n ? NULL : spyp_utf8(PyTuple_GetItem(named, 2 * (i - n)));
        if (i >= n && !name) return -1;
        items[count] = spy_arg_any(name);
        if (spyp_apply_declaration(call, entry, &items[count++]) == 0) continue;
        if (name) spyp_error_prefix(call, "%U.declare: parameter '%s': ", call->function->name, name);
        else spyp_error_prefix(call, "%U.declare: parameter %zd: ", call->function->name, i + 1);
        return -1;
    }
    return count;
}

static PyObject *spyp_link_declare(PyObject *self, PyObject *args, PyObject *kwargs) {
    spyp_function *f = (spyp_function *)self, *made = NULL;
    spyp_device *d = f->module->device;
    spyp_call call;
    PyObject *named = kwargs ? spyp_dict_items(kwargs, "declare") : PyTuple_New(0);
    if (!named) return NULL;
    spyp_call_begin(&call, f);
    spy_args list;
    spy_arg *items;
    Py_ssize_t count = spyp_declarations(&call, args, named, &items);
    if (count >= 0 && spyp_enter(d, "declare") == 0) {
        list.items = items;
        list.count = (size_t)count;
        spy_function *declared = spy_declare(f->function, list);
        if (!declared) spyp_raise(d);
        spyp_leave(d);
        if (declared && f->chain) made = spyp_function_link(self);
        else if (declared) made = (spyp_function *)spyp_function_make(f->module, declared, f->name);
        if (made) made->function = declared;
        if (made && !made->chain) made->vectorcall = spyp_declared_vectorcall;
    }
    PyObject *all = made ? spyp_merged(f->declared ? PyTuple_GetItem(f->declared, 1) : NULL, kwargs) : NULL;
    PyObject *by_position = all && f->declared && !PyTuple_Size(args) ? PyTuple_GetItem(f->declared, 0) : args;
    if (all) spyp_replace(&made->declared, PyTuple_Pack(2, by_position, all));
    if (made && (!all || !made->declared)) Py_CLEAR(made);
    Py_XDECREF(all);
    Py_DECREF(named);
    spyp_call_end(&call);
    return (PyObject *)made;
}

// Appends an item to a tuple that may be NULL. Returns a new reference.
static PyObject *spyp_appended(PyObject *tuple, PyObject *item) {
    PyObject *one = item ? PyTuple_Pack(1, item) : NULL;
    PyObject *all = one && tuple ? PySequence_Concat(tuple, one) : Py_XNewRef(one);
    Py_XDECREF(one);
    return all;
}

// Returns a callable for set() in the form that takes the function which is called.
static PyObject *spyp_setter_of(PyObject *callable) {
    PyObject *chains = PyImport_ImportModule("slangpy.chains");
    PyObject *setter = chains ? PyObject_CallMethod(chains, "setter", "(O)", callable) : NULL;
    Py_XDECREF(chains);
    return setter;
}

// set() takes one dict, or one callable that returns a dict at each call, or keywords.
static PyObject *spyp_link_set(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *name = ((spyp_function *)self)->name, *item = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    bool named = kwargs && PyDict_Size(kwargs), dict = item && PyDict_Check(item);
    if (PyTuple_Size(args) + named != 1)
        return PyErr_Format(spyp.value_error, "%U.set: expected one dict, or one callable, or keywords", name);
    if (item && !dict && !PyCallable_Check(item))
        return PyErr_Format(spyp.type_error, "%U.set: expected a dict, keywords or a callable, got %R", name, (PyObject *)Py_TYPE(item));
    spyp_function *f = spyp_function_link(self);
    if (!f) return NULL;
    // Values that are set after a callable or a write() come after its values.
    bool later = (item && !dict) || f->chain->setters;
    PyObject **place = later ? &f->chain->setters : &f->chain->globals, *all = NULL;
    if (later) {
        PyObject *setter = item && !dict ? spyp_setter_of(item) : spyp_merged(dict ? item : kwargs, NULL);
        all = setter ? spyp_appended(*place, setter) : NULL;
        Py_XDECREF(setter);
    } else {
        all = spyp_merged(*place, dict ? item : kwargs);
    }
    if (all) spyp_set(place, all);
    else Py_CLEAR(f);
    Py_XDECREF(all);
    return (PyObject *)f;
}

static PyObject *spyp_link_constants(PyObject *self, PyObject *arg) {
    if (!PyDict_Check(arg))
        return PyErr_Format(spyp.type_error, "%U.constants: expected a dict, got %R", ((spyp_function *)self)->name, (PyObject *)Py_TYPE(arg));
    spyp_function *f = spyp_function_link(self);
    PyObject *all = f ? spyp_merged(f->chain->constants, arg) : NULL;
    if (all) spyp_set(&f->chain->constants, all);
    else Py_CLEAR(f);
    Py_XDECREF(all);
    return (PyObject *)f;
}

static PyObject *spyp_link_bind(PyObject *self, PyObject *arg) {
    spyp_function *f = spyp_function_link(self);
    if (f) spyp_set(&f->chain->self, arg);
    return (PyObject *)f;
}

static PyObject *spyp_link_return_type(PyObject *self, PyObject *arg) {
    spyp_function *f = spyp_function_link(self);
    if (f) spyp_set(&f->chain->result, arg == Py_None ? NULL : arg);
    return (PyObject *)f;
}

static PyObject *spyp_link_prelude(PyObject *self, PyObject *arg) {
    if (!PyUnicode_Check(arg))
        return PyErr_Format(PyExc_TypeError, "%U.prelude: expected Slang text, got %R", ((spyp_function *)self)->name, (PyObject *)Py_TYPE(arg));
    if (!spyp_utf8(arg)) return spyp_error_behind("%U.prelude: ", ((spyp_function *)self)->name);
    spyp_function *f = spyp_function_link(self);
    PyObject *all = f && f->chain->prelude ? PyUnicode_FromFormat("%U\n%U", f->chain->prelude, arg) : Py_NewRef(arg);
    if (!all) Py_CLEAR(f);
    if (f) spyp_set(&f->chain->prelude, all);
    Py_XDECREF(all);
    return (PyObject *)f;
}

static PyObject *spyp_link_conformances(PyObject *self, PyObject *arg) {
    PyObject *items = spyp_conformances_parse(arg, spyp_utf8(((spyp_function *)self)->name));
    if (!items) return NULL;
    spyp_function *f = spyp_function_link(self);
    if (f) spyp_set(&f->chain->conformances, items);
    Py_DECREF(items);
    return (PyObject *)f;
}

// Returns the function for backward or forward calls. Each function keeps both, so that f.bwds(...) allocates
// nothing.
static PyObject *spyp_function_get_mode(PyObject *self, void *which) {
    spyp_function *f = (spyp_function *)self;
    spy_call_mode mode = which ? SPY_CALL_MODE_FORWARD_DIFF : SPY_CALL_MODE_BACKWARD;
    PyObject **kept = &f->modes[which != NULL];
    if (f->chain && f->chain->mode == mode) return Py_NewRef(self);
    if (!*kept) {
        spyp_function *made = spyp_function_link(self);
        if (!made) return NULL;
        made->chain->mode = mode;
        *kept = (PyObject *)made;
    }
    return Py_NewRef(*kept);
}

static PyObject *spyp_link_deterministic(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "enable", NULL };
    int enable = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:deterministic", names, &enable)) return NULL;
    spyp_function *f = spyp_function_link(self);
    if (f) f->chain->deterministic = enable;
    return (PyObject *)f;
}

static PyObject *spyp_link_stream(PyObject *self, PyObject *object) {
    spyp_device *d = ((spyp_function *)self)->module->device;
    void *stream = NULL;
    if (spyp_stream_parse(object, &stream) < 0 || spyp_enter(d, "cuda_stream") < 0) return NULL;
    spy_status status = spy_cuda_set_stream(d->device, d->stream); // only CUDA devices have streams
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    spyp_function *f = status == SPY_OK ? spyp_function_link(self) : NULL;
    if (f) f->chain->stream = stream;
    return (PyObject *)f;
}

static PyObject *spyp_link_writer(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (PyTuple_Size(args) < 1 || !PyCallable_Check(PyTuple_GetItem(args, 0)))
        return PyErr_Format(spyp.type_error, "%U.write: expected a callable that takes a cursor", ((spyp_function *)self)->name);
    spyp_function *f = spyp_function_link(self);
    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args)), *named = spyp_merged(kwargs, NULL);
    PyObject *writer = rest && named ? PyTuple_Pack(3, PyTuple_GetItem(args, 0), rest, named) : NULL;
    PyObject *all = f && writer ? spyp_appended(f->chain->setters, writer) : NULL;
    if (all) spyp_set(&f->chain->setters, all);
    else Py_CLEAR(f);
    Py_XDECREF(rest);
    Py_XDECREF(named);
    Py_XDECREF(writer);
    Py_XDECREF(all);
    return (PyObject *)f;
}

// Returns the sizes that were given as one argument, by position or name, or as several numbers; borrowed.
// Returns NULL with an exception set.
static PyObject *spyp_sizes_given(PyObject *args, PyObject *kwargs, const char *name) {
    Py_ssize_t named = kwargs ? PyDict_Size(kwargs) : 0;
    if (!named) return PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : args;
    PyObject *value = named == 1 && PyTuple_Size(args) == 0 ? PyDict_GetItemString(kwargs, name) : NULL;
    return value ? value : PyErr_Format(PyExc_TypeError, "%s: expected one argument, '%s', or numbers", name, name);
}

static PyObject *spyp_link_group_size(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *size = spyp_sizes_given(args, kwargs, "thread_group_size");
    if (!size) return NULL;
    spyp_function *f = spyp_function_link(self);
    if (f && spyp_uint3_parse(size, "thread_group_size", f->chain->group) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *spyp_link_shared_bytes(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "shared_bytes", NULL };
    unsigned long long bytes = 0;
    PyObject *number;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:shared_bytes", names, &number)) return NULL;
    if (!PyLong_Check(number))
        return PyErr_Format(PyExc_TypeError, "shared_bytes: expected an int, got %R", (PyObject *)Py_TYPE(number));
    bytes = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || bytes > UINT32_MAX) {
        PyErr_Clear();
        return PyErr_Format(spyp.value_error, "shared_bytes: expected 0 to 2**32 - 1, got %S", number);
    }
    spyp_function *f = spyp_function_link(self);
    if (f) f->chain->shared_bytes = (uint32_t)bytes;
    return (PyObject *)f;
}

static PyObject *spyp_link_call_group(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *shape = spyp_sizes_given(args, kwargs, "call_group_shape");
    if (!shape) return NULL;
    spyp_function *f = spyp_function_link(self);
    if (f && spyp_shape_parse(shape, "call_group_shape", &f->chain->call_group) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

// >>what a chain adds to a call

// >>the type

PyObject *spyp_function_make(spyp_module *module, spy_function *function, PyObject *name) {
    PyObject *f = spyp_function_new(module, function, name);
    if (f) ((spyp_function *)f)->vectorcall = spyp_function_vectorcall;
    return f;
}

static int spyp_function_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_function *f = (spyp_function *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)f->module);
    if (f->chain && f->chain->references == 1) {
        Py_VISIT(f->chain->self);
        Py_VISIT(f->chain->map_args);
        Py_VISIT(f->chain->map_kwargs);
        Py_VISIT(f->chain->constants);
        Py_VISIT(f->chain->globals);
        Py_VISIT(f->chain->setters);
        Py_VISIT(f->chain->result);
    }
    for (int i = 0; i < SPYP_SEEN; i++) Py_VISIT((PyObject *)f->seen[i].type);
    for (int i = 0; i < 2; i++) Py_VISIT(f->modes[i]);
    Py_VISIT(f->declared);
    return 0;
}

static int spyp_function_clear(PyObject *self) {
    spyp_function *f = (spyp_function *)self;
    spyp_chain *chain = f->chain;
    f->chain = NULL;
    spyp_chain_release(chain);
    for (int i = 0; i < SPYP_SEEN; i++) Py_CLEAR(f->seen[i].type);
    for (int i = 0; i < 2; i++) Py_CLEAR(f->modes[i]);
    Py_CLEAR(f->declared);
    spyp_quick_free(f->quick);
    f->quick = NULL;
    spyp_autograd_free(f->graphs);
    f->graphs = NULL;
    return 0;
}

static void spyp_function_dealloc(PyObject *self) {
    spyp_function *f = (spyp_function *)self;
    PyObject_GC_UnTrack(self);
    spyp_function_clear(self);
    Py_CLEAR(f->name);
    Py_CLEAR(f->module);
    spyp_free(self);
}

// Returns ".declare(vmapping(0, 1), b=float3)".
static PyObject *spyp_declared_text(PyObject *declared) {
    PyObject *vectorized = PyImport_ImportModule("slangpy.vectorized"), *text = NULL;
    if (vectorized) text = PyObject_CallMethod(vectorized, "declared_text", "OO", PyTuple_GetItem(declared, 0), PyTuple_GetItem(declared, 1));
    Py_XDECREF(vectorized);
    return text;
}

static PyObject *spyp_function_repr(PyObject *self) {
    spyp_function *f = (spyp_function *)self;
    spy_call_mode mode = f->chain ? f->chain->mode : SPY_CALL_MODE_DEFAULT;
    const char *derivative = mode == SPY_CALL_MODE_BACKWARD ? ".bwds" : mode == SPY_CALL_MODE_FORWARD_DIFF ? ".fwds" : "";
    PyObject *declared = f->declared ? spyp_declared_text(f->declared) : PyUnicode_FromString("");
    PyObject *text = declared ? spyp_format("<slangpy.Function %U%s%U of module %U>", f->name, derivative, declared, f->module->name) : NULL;
    Py_XDECREF(declared);
    return text;
}

static PyObject *spyp_function_call_method(PyObject *self, PyObject *args, PyObject *kwargs) {
    return PyObject_Call(self, args, kwargs);
}

// append_to(encoder, ...) does the same as f(..., _append_to=encoder).
static PyObject *spyp_function_append_to(PyObject *self, PyObject *args, PyObject *kwargs) {
    if (PyTuple_Size(args) < 1)
        return PyErr_Format(PyExc_TypeError, "%U.append_to: expected a command encoder, got no argument", ((spyp_function *)self)->name);
    PyObject *all = spyp_merged(kwargs, NULL), *rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args)), *result = NULL;
    if (all && rest && PyDict_SetItem(all, spyp.s_append_to, PyTuple_GetItem(args, 0)) == 0) result = PyObject_Call(self, rest, all);
    Py_XDECREF(all);
    Py_XDECREF(rest);
    return result;
}

// Returns slangpy.chains.build(function, args, kwargs).
static PyObject *spyp_function_build(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *chains = PyImport_ImportModule("slangpy.chains");
    PyObject *built = chains ? PyObject_CallMethod(chains, "build", "OOO", self, args, kwargs ? kwargs : Py_None) : NULL;
    Py_XDECREF(chains);
    return built;
}

static PyObject *spyp_function_self(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef(self);
}

static PyObject *spyp_function_as_struct(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return PyErr_Format(spyp.value_error, "'%U' is a function; expected a type", ((spyp_function *)self)->name);
}

// Returns the name behind that of the struct, with generic arguments: "get" for "Grid<float, 4>::get", "f<float>" for "f<float>".
static PyObject *spyp_function_get_name(PyObject *self, void *ignored) {
    const char *text = spyp_utf8(((spyp_function *)self)->name), *start = text;
    int depth = 0;
    SPYP_UNUSED(ignored);
    for (const char *c = text; c && *c; c++) {
        depth += (*c == '<') - (*c == '>');
        if (depth == 0 && (*c == '.' || *c == ':')) start = c + 1;
    }
    return text ? PyUnicode_FromString(start) : NULL;
}

static PyObject *spyp_function_get_full_name(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyObject_CallMethod(((spyp_function *)self)->name, "replace", "ss", "::", ".");
}

static PyObject *spyp_function_get_declared(PyObject *self, void *ignored) {
    spyp_function *f = (spyp_function *)self;
    SPYP_UNUSED(ignored);
    return Py_NewRef(f->declared ? f->declared : Py_None);
}

static PyObject *spyp_function_get_module(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef((PyObject *)((spyp_function *)self)->module);
}

// >>calls through another function (slangpy/marshalling.py)

// Returns (mode, the class that return_type() was given or None, the bound instance or None).
static PyObject *spyp_chain_of(PyObject *self, PyObject *function) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(function, spyp.function)) return PyErr_Format(PyExc_TypeError, "expected a Function, got %R", (PyObject *)Py_TYPE(function));
    const spyp_chain *chain = ((spyp_function *)function)->chain;
    return Py_BuildValue("(iOO)", chain ? (int)chain->mode : 0, chain && chain->result ? chain->result : Py_None,
                         chain && chain->self ? chain->self : Py_None);
}

// Returns whether the function has no chain, or one that only binds an instance.
static PyObject *spyp_chain_is_plain(PyObject *self, PyObject *function) {
    SPYP_UNUSED(self);
    if (!PyObject_TypeCheck(function, spyp.function)) return PyErr_Format(PyExc_TypeError, "expected a Function, got %R", (PyObject *)Py_TYPE(function));
    const spyp_chain *c = ((spyp_function *)function)->chain;
    bool plain = !c || (!c->map_args && !c->map_kwargs && !c->constants && !c->globals && !c->setters && !c->prelude &&
                        !c->conformances && !c->result && c->mode == SPY_CALL_MODE_DEFAULT && !c->deterministic && !c->stream &&
                        !c->group[0] && !c->call_group.rank && !c->shared_bytes);
    return PyBool_FromLong(plain);
}

// Returns the function `base` with the chain of `function`, except its return type and, unless `bound`, its instance.
static PyObject *spyp_rebase(PyObject *self, PyObject *args) {
    PyObject *function, *base;
    int bound = 1;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "O!O!|p:_rebase", spyp.function, &function, spyp.function, &base, &bound)) return NULL;
    PyObject *declared = ((spyp_function *)function)->declared;
    if (declared) { // the declared arguments of the function hold for the base, too
        PyObject *method = PyObject_GetAttrString(base, "declare");
        base = method ? PyObject_Call(method, PyTuple_GetItem(declared, 0), PyTuple_GetItem(declared, 1)) : NULL;
        Py_XDECREF(method);
        if (!base) return NULL;
    }
    spyp_function *b = (spyp_function *)base, *made = (spyp_function *)spyp_function_make(b->module, b->function, b->name);
    if (declared) Py_DECREF(base);
    if (made && !(made->chain = spyp_chain_copy(((spyp_function *)function)->chain))) Py_CLEAR(made);
    if (made) Py_CLEAR(made->chain->result);
    if (made && !bound) Py_CLEAR(made->chain->self);
    return (PyObject *)made;
}

static PyMethodDef spyp_chain_functions[] = {
    { "_chain_of", spyp_chain_of, METH_O, "The settings of a Function's chain: its mode (0, or a derivative's), its return type, its "
        "instance." },
    { "_chain_is_plain", spyp_chain_is_plain, METH_O, "Whether a Function's chain has nothing but a bound instance." },
    { "_rebase", spyp_rebase, METH_VARARGS,
      "_rebase(function, base, bound=True): `base` with the chain of `function`, except its return type and, unless bound, its instance." },
    { NULL, NULL, 0, NULL },
};

SPYP_NAMED(spyp_link_constants_by_constants, spyp_link_constants, "constants", "constants")
SPYP_NAMED(spyp_link_bind_by_this, spyp_link_bind, "bind", "this")
SPYP_NAMED(spyp_link_return_type_by_return_type, spyp_link_return_type, "return_type", "return_type")
SPYP_NAMED(spyp_link_prelude_by_code, spyp_link_prelude, "prelude", "code")
SPYP_NAMED(spyp_link_conformances_by_type_conformances, spyp_link_conformances, "type_conformances", "type_conformances")
SPYP_NAMED(spyp_link_stream_by_stream, spyp_link_stream, "cuda_stream", "stream")

static PyMethodDef spyp_function_methods[] = {
    { "call", SPYP_FUNC(spyp_function_call_method), METH_VARARGS | METH_KEYWORDS, "call(*args, **kwargs): call the function, as the "
        "object itself does." },
    { "append_to", SPYP_FUNC(spyp_function_append_to), METH_VARARGS | METH_KEYWORDS,
      "append_to(command_encoder, *args, **kwargs): record the call into a command encoder instead of making it." },
    { "dispatch", SPYP_FUNC(spyp_function_dispatch), METH_VARARGS | METH_KEYWORDS,
      "dispatch(thread_count, *args, vars={}, command_encoder=None, **kwargs): run the function in the given number of threads; "
      "arguments are passed whole." },
    { "dispatch_indirect", SPYP_FUNC(spyp_function_dispatch_indirect), METH_VARARGS | METH_KEYWORDS,
      "dispatch_indirect(groups, *args, vars={}, command_encoder=None, **kwargs): run over as many groups as stand in GPU memory "
      "when it runs: the first three numbers (x, y, z) of a contiguous Tensor of uint, or of a slice of one. No more than the "
      "device's limits; nothing checks that. Arguments go whole." },
    { "explain", SPYP_FUNC(spyp_function_explain), METH_VARARGS | METH_KEYWORDS,
      "explain(*args, **kwargs): describe the call with these arguments: binding table, call shape, kernel text. Nothing runs." },
    { "prepare", SPYP_FUNC(spyp_function_prepare), METH_VARARGS | METH_KEYWORDS,
      "prepare(*args, **kwargs): begin to compile the call with these arguments on a thread of the library, and return at once. Their "
      "kinds, types and shapes matter. The call itself waits for it, and raises what is wrong. Several kernels compile at the same time." },
    { "time", SPYP_FUNC(spyp_function_time), METH_VARARGS | METH_KEYWORDS,
      "time(*args, **kwargs): make the call, wait for it, and give the GPU's time in seconds." },
    { "map", SPYP_FUNC(spyp_link_map), METH_VARARGS | METH_KEYWORDS,
      "map(*args, **kwargs): for each argument, by position or parameter name, a tuple of kernel dimensions (() for one value that is "
      "passed whole) or the Slang type it is loaded as. A name that no overload has is a ValueError." },
    { "_gradcheck", SPYP_FUNC(spyp_function_gradcheck), METH_VARARGS | METH_KEYWORDS,
      "_gradcheck(options, *args, **kwargs): runs gradcheck() of the package; gives None, or the text of the error." },
    { "declare", SPYP_FUNC(spyp_link_declare), METH_VARARGS | METH_KEYWORDS,
      "declare(*args, **kwargs): the function with mappings and types that its calls need not say: for each parameter, by position or "
      "name, vmapping(...), a Slang type, vmap(type, dims) for both, or None. Its calls take plain arguments." },
    { "set", SPYP_FUNC(spyp_link_set), METH_VARARGS | METH_KEYWORDS,
      "set(*args, **kwargs): values for the module's global shader parameters: one dict, keywords, or one callable that gives a dict "
      "at each call. It gets the function that is called, if it takes an argument." },
    { "constants", SPYP_FUNC(spyp_link_constants_by_constants), METH_FASTCALL | METH_KEYWORDS, "constants(values): a dict of values "
        "for `extern static const`, which are fixed when the kernel is compiled." },
    { "bind", SPYP_FUNC(spyp_link_bind_by_this), METH_FASTCALL | METH_KEYWORDS, "bind(this): bind the instance that a method is called "
        "on." },
    { "return_type", SPYP_FUNC(spyp_link_return_type_by_return_type), METH_FASTCALL | METH_KEYWORDS, "return_type(return_type): the "
        "form of results: 'numpy', 'tensor', Tensor, NDBuffer or numpy.ndarray; None is the default." },
    { "thread_group_size", SPYP_FUNC(spyp_link_group_size), METH_VARARGS | METH_KEYWORDS, "thread_group_size(*size): the threads of a "
        "group, as up to three numbers or a tuple; missing ones are 1." },
    { "shared_bytes", SPYP_FUNC(spyp_link_shared_bytes), METH_VARARGS | METH_KEYWORDS,
      "shared_bytes(bytes): dynamic shared memory of each group, which CUDA text in the function reaches; at most "
      "Device.info.limits.max_shared_bytes." },
    { "call_group_shape", SPYP_FUNC(spyp_link_call_group), METH_VARARGS | METH_KEYWORDS, "call_group_shape(*shape): the shape of the "
        "groups of elements that run next to each other." },
    { "prelude", SPYP_FUNC(spyp_link_prelude_by_code), METH_FASTCALL | METH_KEYWORDS, "prelude(text): Slang text at the head of the "
        "generated kernel, behind the texts of earlier prelude()." },
    { "type_conformances", SPYP_FUNC(spyp_link_conformances_by_type_conformances), METH_FASTCALL | METH_KEYWORDS,
      "type_conformances(conformances): types that interface values may have at run time: a list of 'Circle : IShape = 0' or "
      "('IShape', 'Circle', 0)." },
    { "deterministic", SPYP_FUNC(spyp_link_deterministic), METH_VARARGS | METH_KEYWORDS,
      "deterministic(enable=True): .bwds sums gradients in a fixed order, so that each run gives the same bits. Slower for what many "
      "elements share. An error where the function itself adds to a gradient (DiffTensor)." },
    { "cuda_stream", SPYP_FUNC(spyp_link_stream_by_stream), METH_FASTCALL | METH_KEYWORDS,
      "cuda_stream(stream): calls run on that CUDA stream, after all earlier work of the device, which goes on after them. An int, a "
      "NativeHandle, or an object with cuda_stream or __cuda_stream__(), as torch's streams. ValueError where the device is not CUDA's, or the stream of another context." },
    { "write", SPYP_FUNC(spyp_link_writer), METH_VARARGS | METH_KEYWORDS,
      "write(function, *args, **kwargs): call function(cursor, *args, **kwargs) at each call; it sets globals through a ShaderCursor." },
    { "debug_build_call_data", SPYP_FUNC(spyp_function_build), METH_VARARGS | METH_KEYWORDS,
      "debug_build_call_data(*args, **kwargs): build the kernel of a call with these arguments without running it; gives an object "
      "with code, pipeline and debug_only_bindings." },
    { "as_func", spyp_function_self, METH_NOARGS, "as_func(): the function itself." },
    { "as_struct", spyp_function_as_struct, METH_NOARGS, "as_struct(): Raises ValueError, because this is a function." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_function_getset[] = {
    { "name", spyp_function_get_name, NULL, "Slang's name of the function: 'f', 'f<float>'; for a method without the struct's name.", NULL },
    { "full_name", spyp_function_get_full_name, NULL, "The name with that of its struct and with generic arguments: 'Particle.step', "
        "'f<float>'.", NULL },
    { "declared", spyp_function_get_declared, NULL,
      "The arguments of declare(): a tuple of the entries by position and a dict of the entries by name; None without declare().", NULL },
    { "module", spyp_function_get_module, NULL, "The module that the function is looked up in.", NULL },
    { "bwds", spyp_function_get_mode, NULL,
      "The backward derivative, a Function: bwds(..., _result=tensor) takes the arguments of the call, reads the gradients of the "
      "outputs (grad_in of tensors, .grad of a DiffPair) and adds, for each element, the product with the derivative to the gradients "
      "of the inputs (grad_out, .grad). Outputs stay as they are, what has no gradient is a constant, and it gives None. An inout "
      "parameter must hold the value that went in, and needs separate grad_in and grad_out. Slang must know a derivative "
      "([Differentiable]); else slangpy.Error says why it does not.", NULL },
    { "fwds", spyp_function_get_mode, NULL,
      "The forward derivative, a Function: fwds(...) takes the arguments of the call and reads the gradients of the inputs as a "
      "direction. It gives the result with its gradient, how fast it changes in that direction: a Tensor with gradients, or a "
      "DiffPair of values or arrays. A _result that is given, and out parameters, get both as well.", (void *)1 },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_function_members[] = {
    { "__vectorcalloffset__", Py_T_PYSSIZET, offsetof(spyp_function, vectorcall), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

// Function(module, func, struct=None, options={}) finds the function by a name or a FunctionReflection.
static PyObject *spyp_function_of(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "module", "func", "struct", "options", NULL };
    PyObject *module, *given, *owner = Py_None, *options = Py_None, *found = NULL;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|OO:Function", names, spyp.module_type, &module, &given, &owner, &options)) return NULL;
    PyObject *name = PyUnicode_Check(given) ? Py_NewRef(given) : PyObject_GetAttr(given, spyp.s_name);
    if (name) found = owner == Py_None ? PyObject_CallMethod(module, "require_function", "O", name) : PyObject_GetItem(owner, name);
    Py_XDECREF(name);
    return found;
}

static PyType_Slot spyp_function_slots[] = {
    { Py_tp_new, (void *)spyp_function_of },
    { Py_tp_doc, (void *)"A Slang function. Calling it runs it once for each element of the broadcast shape of its arguments; _result= "
        "says where the result goes, _append_to= records the call, _thread_count= adds threads. A pointer takes a tensor, a buffer, "
        "an address (a large int) or an object with device_address or data_ptr(); a list of dicts is one dimension of structs. "
        "Function(module, func, struct=None, options={}) finds the function, as module[func] does." },
    { Py_tp_dealloc, (void *)spyp_function_dealloc },
    { Py_tp_traverse, (void *)spyp_function_traverse },
    { Py_tp_clear, (void *)spyp_function_clear },
    { Py_tp_repr, (void *)spyp_function_repr },
    { Py_tp_str, (void *)spyp_function_str },
    { Py_tp_call, (void *)PyVectorcall_Call },
    { Py_tp_methods, spyp_function_methods },
    { Py_tp_getset, spyp_function_getset },
    { Py_tp_members, spyp_function_members },
    { 0, NULL },
};

static PyType_Spec spyp_function_spec = {
    "slangpy._slangpy.Function", sizeof(spyp_function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, spyp_function_slots,
};

int spyp_function_ready(PyObject *module) {
    spyp.function = spyp_type_add(module, &spyp_function_spec, NULL);
    return spyp.function ? PyModule_AddFunctions(module, spyp_chain_functions) : -1;
}
