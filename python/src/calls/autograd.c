// Calls with torch tensors that require gradients, as nodes of torch's graph. slangpy/autograd.py makes the first call of a form, looks at
// its function and tensors, and says whether further calls of the form may be made here, by torch.autograd.Function's own C code and the
// two functions `_autograd_forward` and `_autograd_backward`. A call that fails here is made once more in Python, which reports the error.
#include "calls/calls.h"
#include "values/dlpack.h"

#include <string.h>

#define SPYP_AUTOGRAD_MOST 16 // most arguments of such a call
#define SPYP_AUTOGRADS 4      // most forms of calls of one function

// One form of call: its names, and the classes of its arguments.
struct spyp_autograd {
    spyp_autograd *next;
    Py_ssize_t n;    // arguments by position
    PyObject *names; // the tuple of the further arguments' names, kept, or NULL
    uint32_t count;  // the number of all arguments
    uint32_t reload_count; // the device's count at that time: a reload may change the parameters
    // Backward calls of this form cannot store gradients: [1] those whose tensors all have the shape of the
    // result's gradient, [0] others.
    bool sums[2];
    PyTypeObject *types[SPYP_AUTOGRAD_MOST]; // torch's two classes, float, int or bool, which are never freed
};

// A call that has become a node: the data that its backward pass needs beside the tensors, which torch saves.
typedef struct spyp_autograd_node {
    PyObject_HEAD spyp_function *function;
    PyObject *names;
    Py_ssize_t n;
    uint32_t count, tensors;
    PyObject *values[SPYP_AUTOGRAD_MOST]; // the arguments; NULL for a tensor
} spyp_autograd_node;

static PyTypeObject *spyp_autograd_node_type;

void spyp_autograd_free(spyp_autograd *graphs) {
    while (graphs) {
        spyp_autograd *next = graphs->next;
        Py_XDECREF(graphs->names);
        PyMem_Free(graphs);
        graphs = next;
    }
}

// >>learning

// The function whose call slangpy.autograd has just made in this thread, and which may be repeated here; not owned.
static SPYP_THREAD_LOCAL const void *spyp_autograd_repeats;

static bool spyp_is_torch(const PyTypeObject *type) {
    return type && (type == spyp.torch.types[0] || type == spyp.torch.types[1]);
}

void spyp_autograd_learn(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names, bool good) {
    const spyp_chain *chain = f->chain;
    Py_ssize_t count = n + (names ? PyTuple_Size(names) : 0);
    bool asked = spyp_autograd_repeats == f;
    spyp_autograd_repeats = NULL;
    if (!good || !asked || count > SPYP_AUTOGRAD_MOST || (chain && (chain->self || chain->result))) return;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyTypeObject *type = Py_TYPE(args[i]);
        if (!spyp_is_torch(type) && type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type) return;
        if (i >= n && PyUnicode_ReadChar(PyTuple_GetItem(names, i - n), 0) == '_') return; // this keyword is an option of the call
    }
    spyp_autograd *graph = (spyp_autograd *)PyMem_Calloc(1, sizeof *graph);
    if (!graph) return;
    graph->n = n;
    graph->names = Py_XNewRef(names);
    graph->count = (uint32_t)count;
    graph->reload_count = f->module->device->reload_count;
    for (Py_ssize_t i = 0; i < count; i++) graph->types[i] = Py_TYPE(args[i]);
    graph->next = f->graphs;
    f->graphs = graph;
    for (int i = 1; graph && i < SPYP_AUTOGRADS; i++) graph = graph->next;
    if (!graph) return;
    spyp_autograd *oldest = graph->next;
    graph->next = NULL;
    spyp_autograd_free(oldest);
}

// >>forward

// The call of this thread's last node has failed. Otherwise an error of torch's apply() comes from a hook, such as the end of a
// recomputation for torch.utils.checkpoint.
static SPYP_THREAD_LOCAL bool spyp_autograd_failed;

// Returns whether the arguments have this form.
static inline bool spyp_autograd_fits(const spyp_autograd *graph, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (graph->n != n || graph->names != names) return false;
    for (uint32_t i = 0; i < graph->count; i++)
        if (Py_TYPE(args[i]) != graph->types[i]) return false;
    return true;
}

// Returns whether one of the tensors requires a gradient, and all have memory and numbers that calls of the device take as they are.
// slangpy.autograd copies bfloat16, and memory of CUDA for other devices.
static bool spyp_autograd_wanted(const spyp_device *d, const spyp_autograd *graph, PyObject *const *args) {
    spyp_dl_tensor t;
    bool wanted = false;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (!spyp_is_torch(graph->types[i])) continue;
        int wants = wanted ? 0 : spyp_requires_gradient(args[i]);
        if (wants < 0) PyErr_Clear();
        if (wants < 0 || spyp_torch_view(args[i], &t) < 0 || t.dtype.code == SPYP_DL_BFLOAT) return false;
        if (t.device.type == SPYP_DL_CUDA && d->cuda < 0) return false;
        wanted = wanted || wants;
    }
    return wanted;
}

// Returns the arguments of torch's apply(): the node, then the tensors. NULL with an exception set.
static PyObject *spyp_autograd_inputs(spyp_function *f, const spyp_autograd *graph, PyObject *const *args) {
    spyp_autograd_node *node = (spyp_autograd_node *)spyp_alloc(spyp_autograd_node_type);
    if (!node) return NULL;
    node->function = (spyp_function *)Py_NewRef((PyObject *)f);
    node->names = Py_XNewRef(graph->names);
    node->n = graph->n;
    node->count = graph->count;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (spyp_is_torch(graph->types[i])) node->tensors++;
        else node->values[i] = Py_NewRef(args[i]);
    }
    PyObject *inputs = PyTuple_New(1 + (Py_ssize_t)node->tensors);
    Py_ssize_t at = 1;
    if (!inputs) {
        SPYP_DECREF(node);
        return NULL;
    }
    PyTuple_SetItem(inputs, 0, (PyObject *)node);
    for (uint32_t i = 0; i < graph->count; i++)
        if (spyp_is_torch(graph->types[i])) PyTuple_SetItem(inputs, at++, Py_NewRef(args[i]));
    return inputs;
}

PyObject *spyp_autograd_call(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    const spyp_autograd *graph = f->graphs;
    while (graph && !spyp_autograd_fits(graph, args, n, names)) graph = graph->next;
    if (!graph || !spyp_autograd_wanted(f->module->device, graph, args)) return NULL;
    if (graph->reload_count != f->module->device->reload_count) {
        spyp_autograd_free(f->graphs);
        f->graphs = NULL;
        return NULL;
    }
    int records = spyp_torch_says(spyp.torch.grad_enabled), transforms = records > 0 ? spyp_torch_says(spyp.torch.transforms_active) : 0;
    if (records != 1 || transforms != 0) return NULL; // an exception is set if torch raised one
    PyObject *inputs = spyp_autograd_inputs(f, graph, args), *apply = Py_NewRef(spyp.torch.apply);
    spyp_autograd_failed = false;
    PyObject *result = inputs ? PyObject_Call(apply, inputs, NULL) : NULL;
    Py_XDECREF(inputs);
    Py_DECREF(apply);
    if (!result && spyp_autograd_failed && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
    return result;
}

// Takes the call's arguments. `tensors` are the node's tensors in order. `grads` has their gradients, each of which may be NULL; it may be
// NULL itself.
static int spyp_autograd_take(spyp_invocation *in, const spyp_autograd_node *node, PyObject *const *tensors, PyObject *const *grads) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        PyObject *name = (Py_ssize_t)i < node->n ? NULL : PyTuple_GetItem(node->names, (Py_ssize_t)i - node->n);
        const char *text = name ? spyp_utf8(name) : NULL;
        Py_ssize_t position = name ? -1 : (Py_ssize_t)i;
        PyObject *value = node->values[i] ? node->values[i] : tensors[k], *grad = node->values[i] || !grads ? NULL : grads[k];
        if (name && !text) return -1;
        if (!node->values[i]) k++;
        if (spyp_take_with_gradient(in, value, grad, name, text, position) < 0) return -1;
    }
    return 0;
}

// Returns the result as a tensor of torch, as a new reference, or NULL with an exception set.
static PyObject *spyp_autograd_result(spyp_invocation *in) {
    spyp_function *f = in->call.function;
    PyObject *given = in->exported ? spyp_foreign_take(&in->call, in->exported)
                                   : spyp_foreign_give(&in->call, spyp_tensor_make(spyp.tensor, f->module->device, in->tensor, (PyObject *)f->module));
    if (!given || spyp_is_torch(Py_TYPE(given))) return given;
    Py_DECREF(given);
    return PyErr_Format(PyExc_TypeError, "%U: the result is no tensor of torch", f->name);
}

static PyObject *spyp_autograd_run(const spyp_autograd_node *node, PyObject *const *tensors) {
    spyp_function *f = node->function;
    spyp_device *d = f->module->device;
    spyp_invocation in;
    PyObject *result = NULL;
    spyp_invocation_begin(&in, f);
    int status = spyp_nested_begin(&in.call);
    if (status == 0) status = spyp_autograd_take(&in, node, tensors, NULL);
    if (status == 0) in.items[in.args.count++] = spyp_new_result(&in, true);
    if (status == 0) status = spyp_take_options(&in);
    if (status == 0 && spyp_enter(d, "call") == 0) {
        spyp_look_for_changes(d);
        bool good = spyp_call_in_order(&in) == SPY_OK;
        if (!good) spyp_raise_call(d);
        else if (in.call.library && in.tensor) in.exported = spyp_export_result(d, in.tensor, in.call.streams[0]);
        spyp_leave(d);
        if (good && in.tensor) result = spyp_autograd_result(&in);
        else if (good) PyErr_Format(PyExc_TypeError, "%U: there is no result", f->name);
    }
    spyp_call_end(&in.call);
    spyp_nested_end();
    return result;
}

static const spyp_autograd_node *spyp_autograd_node_of(PyObject *object) {
    if (object && Py_TYPE(object) == spyp_autograd_node_type) return (const spyp_autograd_node *)(const void *)object;
    if (object) PyErr_SetString(PyExc_TypeError, "expected a call of a Slang function");
    return NULL;
}

// _autograd_forward(ctx, node, *tensors): torch calls it within no_grad().
static PyObject *spyp_autograd_forward(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    SPYP_UNUSED(self);
    const spyp_autograd_node *node = n >= 2 ? spyp_autograd_node_of(args[1]) : NULL;
    if (!node || n != 2 + (Py_ssize_t)node->tensors) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "_autograd_forward: torch calls it");
    PyObject *save = PyTuple_New(n - 2);
    for (Py_ssize_t i = 2; save && i < n; i++) PyTuple_SetItem(save, i - 2, Py_NewRef(args[i]));
    int status = save ? PyObject_SetAttr(args[0], spyp.s_to_save, save) : -1;
    if (status == 0) status = PyObject_SetAttr(args[0], spyp.s_call, args[1]);
    Py_XDECREF(save);
    PyObject *result = status == 0 ? spyp_autograd_run(node, args + 2) : NULL;
    spyp_autograd_failed = !result;
    return result;
}

// >>backward

// Returns the form of the node's call, or NULL if it has been freed.
static spyp_autograd *spyp_autograd_form(const spyp_autograd_node *node) {
    spyp_autograd *graph = node->function->graphs;
    for (; graph; graph = graph->next) {
        bool fits = graph->n == node->n && graph->names == node->names && graph->count == node->count;
        for (uint32_t i = 0; fits && i < node->count; i++)
            fits = node->values[i] ? Py_TYPE(node->values[i]) == graph->types[i] : spyp_is_torch(graph->types[i]);
        if (fits) break;
    }
    return graph;
}

// Returns whether each tensor that wants a gradient has the shape of `gradient`.
static bool spyp_autograd_alike(const spyp_autograd_node *node, PyObject *const *tensors, const bool *wanted, PyObject *gradient) {
    spyp_dl_tensor of, t;
    if (spyp_torch_view(gradient, &of) < 0) return false;
    for (uint32_t i = 0; i < node->tensors; i++) {
        if (!wanted[i]) continue;
        if (spyp_torch_view(tensors[i], &t) < 0 || t.ndim != of.ndim) return false;
        for (int32_t d = 0; d < t.ndim; d++)
            if (t.shape[d] != of.shape[d]) return false;
    }
    return true;
}

// Returns the gradient of a result as a tensor whose elements lie in order, as a new reference, or NULL with an exception set.
static PyObject *spyp_autograd_in_order(PyObject *gradient) {
    spyp_dl_tensor t;
    int64_t step = 1;
    bool good = spyp_is_torch(Py_TYPE(gradient)) && spyp_torch_view(gradient, &t) == 0;
    for (int32_t i = good ? t.ndim - 1 : -1; good && i >= 0; i--) {
        good = !t.strides || t.shape[i] == 1 || t.strides[i] == step;
        step *= t.shape[i];
    }
    return good ? Py_NewRef(gradient) : spyp_call_method(gradient, spyp.s_contiguous);
}

// Makes the backward call. `grads` has one gradient for each tensor that wants one, and is NULL for others. If `stores` is true, the call
// stores into these gradients; otherwise it adds to them. Returns 0, or -1 with an exception set.
static int spyp_autograd_run_backward(const spyp_autograd_node *node, PyObject *const *tensors, PyObject *const *grads, PyObject *gradient,
                                      bool stores) {
    PyObject *function = node->function->modes[0] ? Py_NewRef(node->function->modes[0]) : PyObject_GetAttrString((PyObject *)node->function, "bwds");
    spyp_function *f = (spyp_function *)function;
    spyp_device *d = node->function->module->device;
    spyp_invocation in;
    if (!f) return -1;
    spyp_invocation_begin(&in, f);
    int status = spyp_nested_begin(&in.call);
    if (status == 0) status = spyp_autograd_take(&in, node, tensors, grads);
    if (status == 0) status = spyp_take_with_gradient(&in, gradient, gradient, spyp.s_result, "_result", SPYP_NO_PARAMETER);
    if (status == 0) status = spyp_take_options(&in);
    in.options.store_gradients = stores; // a function for backward calls always has options
    if (status == 0 && stores && in.call.unused_gradient) { // nothing would be stored into it
        PyErr_Format(PyExc_TypeError, "%U: a no_diff parameter has a gradient", f->name);
        status = -1;
    }
    if (status == 0 && (status = spyp_enter(d, "call")) == 0) {
        spyp_look_for_changes(d);
        status = spyp_call_in_order(&in) == SPY_OK ? 0 : -1;
        if (status < 0) spyp_raise_call(d);
        spyp_leave(d);
        if (status == 0 && in.call.updates) status = spyp_give_updates(&in.call);
    }
    spyp_call_end(&in.call);
    spyp_nested_end();
    Py_DECREF(function);
    return status;
}

// Makes a gradient for each tensor that wants one, by torch's function `make`, and puts them into the tuple `made`, (None, gradient or
// None of each tensor, ...). Returns 0, or -1 with an exception set.
static int spyp_autograd_make(const spyp_autograd_node *node, PyObject *make, PyObject *const *tensors, const bool *wanted, PyObject **grads,
                              PyObject *made) {
    for (uint32_t i = 0; i < node->tensors; i++) {
        grads[i] = wanted[i] ? PyObject_CallFunctionObjArgs(make, tensors[i], NULL) : NULL;
        if (wanted[i] && !grads[i]) return -1;
        PyTuple_SetItem(made, (Py_ssize_t)i + 1, grads[i] ? grads[i] : Py_NewRef(Py_None));
    }
    return 0;
}

// Fills a tuple, (None, gradient or None of each tensor, ...). The call stores into new gradients unless such a call of this form has been
// refused before; otherwise it adds to zeros. Returns 0, or -1 with an exception set.
static int spyp_autograd_fill(const spyp_autograd_node *node, PyObject *saved, PyObject *needs, PyObject *gradient, PyObject *made) {
    PyObject *tensors[SPYP_AUTOGRAD_MOST], *grads[SPYP_AUTOGRAD_MOST], *ordered = spyp_autograd_in_order(gradient);
    bool wanted[SPYP_AUTOGRAD_MOST], stores = false;
    int status = -1;
    if (!ordered) return -1;
    for (uint32_t i = 0; i < node->tensors; i++) {
        tensors[i] = PyTuple_GetItem(saved, (Py_ssize_t)i);
        wanted[i] = PyTuple_GetItem(needs, (Py_ssize_t)i + 1) == Py_True;
    }
    PyTuple_SetItem(made, 0, Py_NewRef(Py_None));
    spyp_autograd *form = spyp_autograd_form(node);
    const bool alike = form && spyp_autograd_alike(node, tensors, wanted, ordered);
    if (form && !form->sums[alike]) {
        status = spyp_autograd_make(node, spyp.torch.empty_like, tensors, wanted, grads, made);
        if (status == 0) status = spyp_autograd_run_backward(node, tensors, grads, ordered, true);
        stores = status == 0 || !PyErr_ExceptionMatches(PyExc_Exception);
        if (!stores) {
            PyErr_Clear();
            form = spyp_autograd_form(node); // another thread may have freed it meanwhile
            if (form) form->sums[alike] = true;
        }
    }
    if (!stores) {
        status = spyp_autograd_make(node, spyp.torch.zeros_like, tensors, wanted, grads, made);
        if (status == 0) status = spyp_autograd_run_backward(node, tensors, grads, ordered, false);
    }
    Py_DECREF(ordered);
    return status;
}

// Returns the gradients that backward() returns, or NULL with an exception set.
static PyObject *spyp_autograd_gradients(PyObject *ctx, const spyp_autograd_node *node, PyObject *saved, PyObject *gradient) {
    PyObject *needs = PyObject_GetAttr(ctx, spyp.s_needs_input_grad), *made = NULL;
    Py_ssize_t count = (Py_ssize_t)node->tensors;
    if (needs && PyTuple_Check(needs) && PyTuple_Size(needs) == count + 1 && PyTuple_Check(saved) && PyTuple_Size(saved) == count)
        made = PyTuple_New(count + 1);
    else if (needs) PyErr_SetString(PyExc_TypeError, "_autograd_backward: torch calls it");
    if (made && spyp_autograd_fill(node, saved, needs, gradient, made) < 0) Py_CLEAR(made);
    Py_XDECREF(needs);
    return made;
}

// Makes the backward pass of the node `ctx`. Returns the gradients, or NULL with an exception set.
static PyObject *spyp_autograd_pass(PyObject *ctx, PyObject *gradient) {
    PyObject *call = PyObject_GetAttr(ctx, spyp.s_call), *saved = NULL, *made = NULL;
    const spyp_autograd_node *node = spyp_autograd_node_of(call);
    if (node) saved = PyObject_GetAttr(ctx, spyp.s_saved_tensors); // torch raises an error if they have been freed or changed
    int records = saved ? spyp_torch_says(spyp.torch.grad_enabled) : 0;
    if (saved && records == 0) made = spyp_autograd_gradients(ctx, node, saved, gradient);
    if (saved && !made && (records > 0 || PyErr_ExceptionMatches(PyExc_Exception))) {
        // Python makes the backward pass for gradients of gradients, and to report errors.
        PyErr_Clear();
        PyObject *module = PyImport_ImportModule("slangpy.autograd");
        made = module ? PyObject_CallMethod(module, "backward_again", "OOOO", ctx, call, saved, gradient) : NULL;
        Py_XDECREF(module);
    }
    Py_XDECREF(saved);
    Py_XDECREF(call);
    return made;
}

// _autograd_backward(ctx, gradient): torch's Python code for nodes calls it in the backward pass.
static PyObject *spyp_autograd_backward(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    SPYP_UNUSED(self);
    if (n == 2) return spyp_autograd_pass(args[0], args[1]);
    return PyErr_Format(PyExc_TypeError, "_autograd_backward: torch calls it");
}

// apply(gradient), a method of torch's class of the node: torch's engine calls it in the backward pass. It stands in the place of a Python
// method that calls backward().
static PyObject *spyp_autograd_apply(PyObject *ctx, PyObject *const *args, Py_ssize_t n) {
    if (n == 1) return spyp_autograd_pass(ctx, args[0]);
    return PyErr_Format(PyExc_TypeError, "apply: expected one gradient, got %zd", n);
}

// >>what slangpy.autograd gives and asks

// _autograd_ready(types, apply, grad_enabled, transforms_active, zeros_like, empty_like): stores the objects of torch that this file uses.
static PyObject *spyp_autograd_given(PyObject *self, PyObject *args) {
    PyObject *types[2], *functions[5];
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "(O!O!)OOOOO:_autograd_ready", &PyType_Type, &types[0], &PyType_Type, &types[1], &functions[0], &functions[1],
                          &functions[2], &functions[3], &functions[4]))
        return NULL;
    PyObject **at[] = { &spyp.torch.apply, &spyp.torch.grad_enabled, &spyp.torch.transforms_active, &spyp.torch.zeros_like, &spyp.torch.empty_like };
    for (int i = 0; i < 5; i++) spyp_replace(at[i], Py_NewRef(functions[i]));
    for (int i = 0; i < 2; i++) {
        PyTypeObject *old = spyp.torch.types[i];
        spyp.torch.types[i] = (PyTypeObject *)Py_NewRef(types[i]);
        SPYP_DECREF(old);
    }
    Py_RETURN_NONE;
}

// _autograd_apply(class) -> the method apply() for torch's class of the nodes that are made here.
static PyObject *spyp_autograd_method(PyObject *self, PyObject *type) {
    static PyMethodDef apply = { "apply", SPYP_FUNC(spyp_autograd_apply), METH_FASTCALL, "apply(gradient): the backward pass of the node." };
    SPYP_UNUSED(self);
    if (PyType_Check(type)) return PyDescr_NewMethod((PyTypeObject *)type, &apply);
    return PyErr_Format(PyExc_TypeError, "_autograd_apply: expected a class");
}

// _autograd_repeats(function): allows that further calls like the one that slangpy.autograd makes are made without it.
static PyObject *spyp_autograd_repeat(PyObject *self, PyObject *function) {
    SPYP_UNUSED(self);
    spyp_autograd_repeats = function;
    Py_RETURN_NONE;
}

// _autograd_parts(node) -> (function, values, number of arguments by position, names). Ellipsis stands for each tensor.
static PyObject *spyp_autograd_parts(PyObject *self, PyObject *object) {
    const spyp_autograd_node *node = spyp_autograd_node_of(object);
    SPYP_UNUSED(self);
    PyObject *values = node ? PyTuple_New((Py_ssize_t)node->count) : NULL;
    if (!values) return NULL;
    for (uint32_t i = 0; i < node->count; i++) PyTuple_SetItem(values, (Py_ssize_t)i, Py_NewRef(node->values[i] ? node->values[i] : Py_Ellipsis));
    return Py_BuildValue("(ONnO)", (PyObject *)node->function, values, node->n, node->names ? node->names : Py_None);
}

static int spyp_autograd_node_traverse(PyObject *self, visitproc visit, void *arg) {
    const spyp_autograd_node *node = (const spyp_autograd_node *)(const void *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)node->function);
    return 0;
}

static void spyp_autograd_node_dealloc(PyObject *self) {
    spyp_autograd_node *node = (spyp_autograd_node *)(void *)self;
    PyObject_GC_UnTrack(self);
    for (uint32_t i = 0; i < node->count; i++) Py_CLEAR(node->values[i]);
    Py_CLEAR(node->names);
    Py_CLEAR(node->function);
    spyp_free(self);
}

static PyType_Slot spyp_autograd_node_slots[] = {
    { Py_tp_dealloc, (void *)spyp_autograd_node_dealloc },
    { Py_tp_traverse, (void *)spyp_autograd_node_traverse },
    { 0, NULL },
};

static PyType_Spec spyp_autograd_node_spec = { "slangpy._slangpy._AutogradNode", sizeof(spyp_autograd_node), 0,
                                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_autograd_node_slots };

int spyp_autograd_ready(PyObject *module) {
    static PyMethodDef functions[] = {
        { "_autograd_ready", spyp_autograd_given, METH_VARARGS, "_autograd_ready(types, apply, grad_enabled, transforms_active, zeros_like, empty_like): what calls use of torch." },
        { "_autograd_apply", spyp_autograd_method, METH_O, "_autograd_apply(class): the method apply() for the class of nodes." },
        { "_autograd_repeats", spyp_autograd_repeat, METH_O, "_autograd_repeats(function): further calls like the present one need no Python code." },
        { "_autograd_parts", spyp_autograd_parts, METH_O, "_autograd_parts(node): (function, values, arguments by position, names); Ellipsis stands for each tensor." },
        { "_autograd_forward", SPYP_FUNC(spyp_autograd_forward), METH_FASTCALL, "_autograd_forward(ctx, node, *tensors): forward() of the node." },
        { "_autograd_backward", SPYP_FUNC(spyp_autograd_backward), METH_FASTCALL, "_autograd_backward(ctx, gradient): backward() of the node." },
        { NULL, NULL, 0, NULL },
    };
    spyp_autograd_node_type = (PyTypeObject *)PyType_FromSpec(&spyp_autograd_node_spec);
    return spyp_autograd_node_type ? PyModule_AddFunctions(module, functions) : -1;
}
