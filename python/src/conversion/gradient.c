// Gradients: the class DiffPair, which is a value with its gradient, as an argument; and gradients of
// tensors.
#include "conversion/conversion.h"
#include "values/math_view.h"

#include <string.h>

// >>DiffPair

typedef struct spyp_pair_object {
    PyObject_HEAD PyObject *primal, *grad;
    bool needs_grad;
} spyp_pair_object;

static PyObject *spyp_pair_make(PyTypeObject *type, PyObject *primal, PyObject *grad, bool needs_grad) {
    spyp_pair_object *pair = (spyp_pair_object *)spyp_alloc(type);
    if (!pair) return NULL;
    pair->primal = Py_NewRef(primal);
    pair->grad = Py_NewRef(grad);
    pair->needs_grad = needs_grad;
    return (PyObject *)pair;
}

static PyObject *spyp_pair_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "primal", "grad", "needs_grad", NULL }, *slangpy_names[] = { "p", "d", "needs_grad", NULL };
    PyObject *primal = Py_None, *grad = Py_None;
    int needs_grad = 1;
    bool slangpy = kwargs && (PyDict_GetItemString(kwargs, "p") || PyDict_GetItemString(kwargs, "d"));
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOp:DiffPair", slangpy ? slangpy_names : names, &primal, &grad, &needs_grad))
        return NULL;
    if (primal == Py_None && grad == Py_None)
        return PyErr_Format(PyExc_TypeError, "DiffPair: expected a value, a gradient or both, got neither");
    if (Py_TYPE(primal) == spyp.pair || Py_TYPE(grad) == spyp.pair)
        return PyErr_Format(PyExc_TypeError,
                            "DiffPair: expected a value and its gradient, got a DiffPair as one of them");
    return spyp_pair_make(type, primal, grad, needs_grad);
}

static PyObject *spyp_pair_repr(PyObject *self) {
    spyp_pair_object *pair = (spyp_pair_object *)self;
    return PyUnicode_FromFormat("DiffPair(primal=%R, grad=%R)", pair->primal ? pair->primal : Py_None,
                                pair->grad ? pair->grad : Py_None);
}

static int spyp_pair_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((spyp_pair_object *)self)->primal);
    Py_VISIT(((spyp_pair_object *)self)->grad);
    return 0;
}

static int spyp_pair_clear(PyObject *self) {
    Py_CLEAR(((spyp_pair_object *)self)->primal);
    Py_CLEAR(((spyp_pair_object *)self)->grad);
    return 0;
}

static void spyp_pair_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    spyp_pair_clear(self);
    spyp_free(self);
}

// >>gradients that are numbers: floats in the arena, which the call may change

// Copies numbers to floats in the arena. Returns NULL with an exception set.
static void *spyp_floats(spyp_call *call, spy_dtype to, const void *from, spy_dtype from_type, size_t count) {
    void *data = spyp_arena_take(&call->arena, count * spy_dtype_size_bytes(to) + 1);
    return data && spyp_convert_numbers(data, to, from, from_type, count, "gradient") == 0 ? data : NULL;
}

int spyp_make_host_back(spyp_call *call, spy_arg *arg, spyp_back **out) {
    const bool number = arg->kind == SPY_ARG_KIND_BOOL || arg->kind == SPY_ARG_KIND_INT ||
                        arg->kind == SPY_ARG_KIND_UINT || arg->kind == SPY_ARG_KIND_FLOAT;
    if (!number && (arg->kind != SPY_ARG_KIND_ARRAY || arg->direction != SPY_DIRECTION_DEFAULT))
        return 0; // the call changes this value in place
    spyp_back *back = (spyp_back *)spyp_arena_take(&call->arena, sizeof *back);
    if (!back) return -1;
    memset(back, 0, offsetof(spyp_back, result) + offsetof(spy_result, data));
    back->dtype =
        arg->dtype == SPY_DTYPE_FLOAT16 || arg->dtype == SPY_DTYPE_FLOAT64 ? arg->dtype : SPY_DTYPE_FLOAT32;
    if (number && spyp_function_is(call->function, SPYP_TRAIT_DOUBLES)) back->dtype = SPY_DTYPE_FLOAT64;
    back->shape.rank = number ? 0 : (uint32_t)arg->count;
    size_t count = 1;
    for (uint32_t i = 0; i < back->shape.rank; i++) {
        back->shape.dims[i] = arg->dims[i];
        count *= (size_t)arg->dims[i];
    }
    const spy_dtype from = arg->kind == SPY_ARG_KIND_FLOAT ? SPY_DTYPE_FLOAT64
                           : arg->kind == SPY_ARG_KIND_INT ? SPY_DTYPE_INT64
                           : number                   ? SPY_DTYPE_UINT64
                                                      : arg->dtype;
    const void *data = number ? (const void *)&arg->value : arg->value.data;
    void *copy = spyp_floats(call, back->dtype, data, from, count);
    back->before = copy ? spyp_floats(call, back->dtype, data, from, count) : NULL;
    if (!back->before) return -1;
    back->host = copy;
    back->size_bytes = count * spy_dtype_size_bytes(back->dtype);
    // The gradient of an input is an output of the backward call, so the pair's own gradient is ignored: floatDiffPair(x) begins with 1.
    if (call->mode == SPY_CALL_MODE_BACKWARD && !spyp_may_change(call)) memset(copy, 0, back->size_bytes);
    back->next = call->backs;
    call->backs = back;
    if (number) {
        *arg = spy_arg_array(NULL, copy, back->shape, back->dtype);
    } else {
        arg->dtype = back->dtype;
        arg->value.data = copy;
    }
    arg->direction = SPY_DIRECTION_ANY;
    *out = back;
    return 1;
}

// Returns the numbers from *at on as nested lists, and moves *at behind them. `depth` is the dimension of the
// outermost list.
static PyObject *spyp_lists(const spyp_back *back, uint32_t depth, const char **at) {
    if (depth == back->shape.rank) {
        PyObject *number = spyp_scalar_read(back->dtype, *at);
        *at += spy_dtype_size_bytes(back->dtype);
        return number;
    }
    PyObject *list = PyList_New((Py_ssize_t)back->shape.dims[depth]);
    for (Py_ssize_t i = 0; list && i < (Py_ssize_t)back->shape.dims[depth]; i++) {
        PyObject *item = spyp_lists(back, depth + 1, at);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *spyp_host_back_value(const spyp_back *back, PyObject *like) {
    spyp_math_info info;
    const char *at = (const char *)back->host;
    if (spyp_math_view(like, &info)) {
        uint32_t rows = info.rank == 0 ? 0 : info.rank == 1 ? 1 : (uint32_t)info.dims[0];
        uint32_t columns = info.rank == 0 ? 0 : (uint32_t)info.dims[info.rank - 1];
        PyObject *value = spyp_math_new(back->dtype, rows, columns, back->host);
        if (value || PyErr_Occurred()) return value;
    }
    return spyp_lists(back, 0, &at);
}

// >>pairs as arguments

// Tells whether a new value replaces this value after the call. The call writes into other values, such as
// tensors.
static bool spyp_is_replaced(PyObject *value) {
    spyp_math_info info;
    return value == Py_None || PyFloat_Check(value) || PyLong_Check(value) || PyList_Check(value) ||
           PyTuple_Check(value) || spyp_math_view(value, &info);
}

// Converts a pair's primal as a separate argument. A backward call does not change it.
static int spyp_convert_primal(spyp_call *call, spyp_pair_object *pair, PyObject *primal, spy_arg *arg) {
    if (primal == Py_None) return spyp_convert_out(call, (PyObject *)pair, &pair->primal, primal, arg);
    if (call->mode == SPY_CALL_MODE_BACKWARD || !spyp_function_is(call->function, SPYP_TRAIT_CHANGES))
        return spyp_convert(call, primal, NULL, arg);
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    if (!part || spyp_convert_part(call, primal, arg, part) < 0) return -1;
    return spyp_call_update(call, (PyObject *)pair, &pair->primal, part);
}

static int spyp_convert_gradient(spyp_call *call, PyObject *grad, spy_arg *arg, spyp_part *part) {
    call->gradient = true;
    int status = spyp_convert_part(call, grad, arg, part);
    call->gradient = false;
    if (status < 0) spyp_error_prefix(call, "gradient: ");
    return status;
}

// Joins a primal and its gradient into one argument.
static int spyp_join(spyp_call *call, const spy_arg *primal, const spy_arg *grad, spy_arg *arg) {
    spy_arg *items = (spy_arg *)spyp_arena_take(&call->arena, 2 * sizeof *items);
    if (!items) return -1;
    items[0] = *primal;
    items[1] = *grad;
    const spy_args pair = { items, 2 };
    *arg = spy_arg_diff_pair(NULL, pair);
    return 0;
}

static int spyp_pair_fields(spyp_call *call, PyObject *primal, PyObject *grad, spy_arg *arg, spyp_part *part);

// Converts a field of a dict, with its gradient.
static int spyp_pair_field(spyp_call *call, PyObject *primal, PyObject *grad, spy_arg *arg, spyp_part *part) {
    spy_arg value, gradient;
    memset(part, 0, sizeof *part);
    part->value = grad;
    if (PyDict_Check(primal)) {
        if (spyp_arena_down(&call->arena) < 0) return -1;
        int status = spyp_pair_fields(call, primal, grad, arg, part);
        spyp_arena_up(&call->arena);
        return status;
    }
    if (spyp_convert(call, primal, NULL, &value) < 0 ||
        spyp_convert_gradient(call, grad, &gradient, part) < 0)
        return -1;
    return spyp_join(call, &value, &gradient, arg);
}

// Returns the index of the key that equals `key` in `items`, which are a dict's (key, value, key, value ...), or -1 if no key does.
static Py_ssize_t spyp_key_position(PyObject *items, PyObject *key) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(items) / 2; i++) {
        PyObject *other = PyTuple_GetItem(items, 2 * i);
        if (other == key || PyUnicode_Compare(key, other) == 0) return i;
    }
    return -1;
}

static int spyp_check_gradient_fields(PyObject *values, PyObject *grad) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(grad) / 2; i++) {
        PyObject *key = PyTuple_GetItem(grad, 2 * i);
        if (spyp_key_position(values, key) >= 0 || PyUnicode_CompareWithASCIIString(key, "_type") == 0) continue;
        PyErr_Format(spyp.value_error, "the gradient has a field %R, which the value has not", key);
        return -1;
    }
    return 0;
}

// Converts a dict of values and a dict of gradients. A field with a gradient becomes a pair of its own; the
// other fields are constants.
static int spyp_pair_fields(spyp_call *call, PyObject *primal, PyObject *given, spy_arg *arg,
                            spyp_part *part) {
    if (!PyDict_Check(given)) {
        PyErr_Format(PyExc_TypeError, "expected a dict for the gradient of a dict, got %R",
                     (PyObject *)Py_TYPE(given));
        return -1;
    }
    PyObject *values = spyp_arena_kept(&call->arena, spyp_dict_items(primal, NULL)), *type = NULL;
    PyObject *grad = values ? spyp_arena_kept(&call->arena, spyp_dict_items(given, "gradient")) : NULL;
    if (!grad || spyp_check_gradient_fields(values, grad) < 0) return -1;
    Py_ssize_t n = PyTuple_Size(values) / 2;
    spy_arg *fields = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *fields);
    part->value = grad;
    part->count = PyTuple_Size(grad) / 2;
    part->parts = (spyp_part *)spyp_arena_take(&call->arena, (size_t)(part->count + 1) * sizeof *part->parts);
    spy_args list = { fields, 0 };
    if (!fields || !part->parts) return -1;
    memset(part->parts, 0, (size_t)part->count * sizeof *part->parts);
    for (Py_ssize_t i = 0; i < part->count; i++) part->parts[i].value = PyTuple_GetItem(grad, 2 * i + 1);
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *value = PyTuple_GetItem(values, 2 * k + 1);
        const char *name = spyp_utf8(PyTuple_GetItem(values, 2 * k));
        if (!name) return -1;
        if (strcmp(name, "_type") == 0) {
            type = value;
            continue;
        }
        Py_ssize_t i = spyp_key_position(grad, PyTuple_GetItem(values, 2 * k));
        int status =
            i < 0 ? spyp_convert(call, value, name, &fields[list.count])
                  : spyp_pair_field(call, value, part->parts[i].value, &fields[list.count], &part->parts[i]);
        if (status < 0) {
            spyp_error_prefix(call, "field '%s': ", name);
            return -1;
        }
        fields[list.count++].name = name;
    }
    *arg = spy_arg_struct(NULL, list);
    return type ? spyp_apply_map(call, type, arg) : 0;
}

// Keeps the pair's values for the call, because other code may change the pair meanwhile.
static int spyp_pair_keep(spyp_call *call, spyp_pair_object *pair, PyObject **primal, PyObject **grad) {
    *primal = pair->primal ? pair->primal : Py_None;
    *grad = pair->grad ? pair->grad : Py_None;
    return spyp_arena_keep(&call->arena, *primal) < 0 ? -1 : spyp_arena_keep(&call->arena, *grad);
}

// Tells whether only the pair's value is used: for no_diff parameters of backward calls, and in calls that compute no gradients, of
// functions that take no DifferentialPair. Packed arguments keep the gradient, because they can be given to any call.
static bool spyp_is_value_only(const spyp_call *call, const spyp_pair_object *pair) {
    if (!pair->needs_grad || (call->mode == SPY_CALL_MODE_BACKWARD && spyp_is_no_diff(call))) return true;
    return call->mode == SPY_CALL_MODE_DEFAULT && call->function->function && !spyp_function_is(call->function, SPYP_TRAIT_PAIRS);
}

// Tells whether an earlier argument of a backward call stores its gradient at this place already.
static bool spyp_is_told(const spyp_call *call, PyObject **place) {
    for (const spyp_update *u = call->updates; call->mode == SPY_CALL_MODE_BACKWARD && u; u = u->next)
        if (u->place == place) return true;
    return false;
}

static int spyp_convert_pair(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_pair_object *pair = (spyp_pair_object *)object;
    PyObject *primal, *grad;
    spy_arg value, gradient;
    if (spyp_pair_keep(call, pair, &primal, &grad) < 0) return -1;
    if (spyp_is_value_only(call, pair)) return spyp_convert_primal(call, pair, primal, arg);
    if (grad == Py_None) {
        PyErr_SetString(spyp.value_error, "the DiffPair has no gradient");
        return -1;
    }
    if (spyp_is_told(call, &pair->grad) && (spyp_is_replaced(grad) || PyDict_Check(grad))) {
        PyErr_SetString(spyp.value_error,
                        "the DiffPair is another argument too: its one gradient cannot be added to twice");
        return -1;
    }
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    if (!part) return -1;
    memset(part, 0, sizeof *part);
    if (PyDict_Check(primal)) {
        if (spyp_pair_fields(call, primal, grad, arg, part) < 0) return -1;
    } else if (spyp_convert_primal(call, pair, primal, &value) < 0 ||
               spyp_convert_gradient(call, grad, &gradient, part) < 0 ||
               spyp_join(call, &value, &gradient, arg) < 0) {
        return -1;
    }
    return spyp_call_update(call, object, &pair->grad, part);
}
int spyp_convert_value_and_gradient(spyp_call *call, PyObject *primal, PyObject *grad, spy_arg *arg) {
    spyp_part part;
    spy_arg value, gradient;
    if (spyp_is_no_diff(call)) {
        call->unused_gradient = true;
        return spyp_convert(call, primal, NULL, arg);
    }
    if (spyp_convert_gradient(call, grad, &gradient, &part) < 0) return -1;
    if (primal == grad) value = gradient;
    else if (spyp_convert(call, primal, NULL, &value) < 0) return -1;
    if (!part.back) return spyp_join(call, &value, &gradient, arg);
    PyErr_SetString(PyExc_TypeError, "expected a gradient that can be written where it lies");
    return -1;
}

const spyp_converter spyp_pair_converter = { "value with its gradient", spyp_convert_pair };

// Converts a DiffPair for `_result`. Numbers and None are replaced by the results; tensors, arrays and dicts
// of them are written in place.
int spyp_convert_pair_result(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_pair_object *pair = (spyp_pair_object *)object;
    PyObject *primal, *grad;
    spy_arg value, gradient;
    bool backward = call->mode == SPY_CALL_MODE_BACKWARD;
    if (spyp_pair_keep(call, pair, &primal, &grad) < 0) return -1;
    bool only = spyp_is_value_only(call, pair);
    if (!spyp_is_replaced(primal) && (only || PyDict_Check(primal)))
        return spyp_convert_pair(call, object, arg);
    int status = spyp_is_replaced(primal)
                     ? spyp_convert_out(call, object, &pair->primal, primal, only ? arg : &value)
                     : spyp_convert(call, primal, NULL, &value);
    if (status < 0 || only) return status;
    if (backward && grad == Py_None) {
        PyErr_SetString(spyp.value_error, "the DiffPair has no gradient");
        return -1;
    }
    if (!backward && spyp_is_replaced(grad)) {
        status = spyp_convert_out(call, object, &pair->grad, grad, &gradient);
    } else {
        spyp_part part; // unused: no value comes back
        status = spyp_convert_gradient(call, grad, &gradient, &part);
    }
    return status < 0 ? -1 : spyp_join(call, &value, &gradient, arg);
}

// >>gradients of tensors

static spy_module *spyp_tensor_module(spyp_tensor *t) {
    return t->module ? ((spyp_module *)t->module)->module : NULL;
}

// Makes a gradient of zeros for the tensor's elements.
static PyObject *spyp_gradient_new(spyp_tensor *t) {
    spy_tensor *grad = NULL;
    if (spyp_enter(t->device, "Tensor.with_grads") < 0) return NULL;
    spy_tensor *attached = spy_create_attached(t->tensor, NULL, NULL, spyp_tensor_module(t));
    if (attached) {
        grad = spy_tensor_grad(attached);
        spy_retain_tensor(grad);
        spy_release_tensor(attached);
    } else {
        spyp_raise(t->device);
    }
    spyp_leave(t->device);
    return grad ? spyp_tensor_make(spyp_view_type((PyObject *)t), t->device, grad, t->module) : NULL;
}

static int spyp_tensor_fill_number(spyp_tensor *t, PyObject *number) {
    double value = PyFloat_AsDouble(number);
    if ((value == -1 && PyErr_Occurred()) || spyp_enter(t->device, "Tensor.with_grads") < 0) return -1;
    int status = spy_tensor_fill(t->tensor, value) == SPY_OK ? 0 : -1;
    if (status < 0) spyp_raise(t->device);
    spyp_leave(t->device);
    return status;
}

// Returns grad_in or grad_out as a Tensor: the tensor that was given, or a new one with the numbers that were given.
static PyObject *spyp_gradient_of(spyp_tensor *t, PyObject *given, const char *what) {
    if (PyObject_TypeCheck(given, spyp.tensor)) {
        if (((spyp_tensor *)given)->device == t->device) return Py_NewRef(given);
        return PyErr_Format(spyp.value_error, "%s: the tensor belongs to another device", what);
    }
    bool numbers = PyFloat_Check(given) || PyLong_Check(given) || PyList_Check(given) || PyTuple_Check(given);
    if (!numbers && !PyDict_Check(given) && !spyp_is_array(given))
        return PyErr_Format(PyExc_TypeError, "%s: expected a Tensor, an array, a list, a number or a dict, got %R", what, (PyObject *)Py_TYPE(given));
    PyObject *made = spyp_gradient_new(t), *array = NULL;
    if (!made) return NULL;
    if (PyList_Check(given) || PyTuple_Check(given)) {
        PyObject *numpy = spyp_numpy();
        array = numpy ? PyObject_CallMethod(numpy, "asarray", "(O)", given) : NULL;
        Py_XDECREF(numpy);
        if (!array) Py_CLEAR(made);
        if (!array) return NULL;
        given = array;
    }
    int status = PyFloat_Check(given) || PyLong_Check(given)
                     ? spyp_tensor_fill_number((spyp_tensor *)made, given)
                     : spyp_tensor_fill_from((spyp_tensor *)made, given, what);
    Py_XDECREF(array);
    if (status < 0) Py_CLEAR(made);
    return made;
}

// Makes a view of the tensor with these gradients, which may be NULL. Takes over their references.
static PyObject *spyp_tensor_attach(PyTypeObject *type, spyp_tensor *t, PyObject *grad_in,
                                    PyObject *grad_out) {
    PyObject *made = NULL;
    if (spyp_enter(t->device, "Tensor.with_grads") == 0) {
        spy_tensor *view = spy_create_attached(t->tensor, grad_in ? ((spyp_tensor *)grad_in)->tensor : NULL,
                                               grad_out ? ((spyp_tensor *)grad_out)->tensor : NULL, NULL);
        if (!view) spyp_raise(t->device);
        spyp_leave(t->device);
        if (view) made = spyp_tensor_make_view(type, t, view, t->module);
    }
    if (made) {
        ((spyp_tensor *)made)->grad_in = Py_XNewRef(grad_in);
        ((spyp_tensor *)made)->grad_out = Py_XNewRef(grad_out);
    }
    Py_XDECREF(grad_in);
    Py_XDECREF(grad_out);
    return made;
}

// Sets a gradient that the user gives as a tensor to zero.
static int spyp_zero_given(PyObject *given) {
    PyObject *done = PyObject_TypeCheck(given, spyp.tensor) ? PyObject_CallMethod(given, "clear", NULL) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyObject *spyp_tensor_with_grads(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "grad_in", "grad_out", "zero", NULL };
    spyp_tensor *t = (spyp_tensor *)self;
    PyObject *in = Py_None, *out = Py_None;
    int zero = 0; // whether to set given tensors to zero; new gradients are zero in any case, and gradients that are made of numbers keep
                  // these
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOp:with_grads", names, &in, &out, &zero)) return NULL;
    bool none = in == Py_None && out == Py_None;
    PyObject *grad_in = none            ? spyp_gradient_new(t)
                        : in == Py_None ? NULL
                                        : spyp_gradient_of(t, in, "Tensor.with_grads: argument 'grad_in'");
    if (!grad_in && PyErr_Occurred()) return NULL;
    PyObject *grad_out = none || out == in ? Py_XNewRef(grad_in)
                         : out == Py_None
                             ? NULL
                             : spyp_gradient_of(t, out, "Tensor.with_grads: argument 'grad_out'");
    if ((!grad_out && PyErr_Occurred()) || (zero && (spyp_zero_given(in) < 0 || (out != in && spyp_zero_given(out) < 0)))) {
        Py_XDECREF(grad_in);
        Py_XDECREF(grad_out);
        return NULL;
    }
    return spyp_tensor_attach(spyp_view_type(self), t, grad_in, grad_out);
}

static PyObject *spyp_detached(PyTypeObject *type, spyp_tensor *t) {
    if (spyp_enter(t->device, "Tensor.detach") < 0) return NULL;
    spy_tensor *view = spy_create_detached(t->tensor);
    if (!view) spyp_raise(t->device);
    spyp_leave(t->device);
    return view ? spyp_tensor_make_view(type, t, view, t->module) : NULL;
}

static PyObject *spyp_tensor_detach(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_detached(spyp_view_type(self), (spyp_tensor *)self);
}

// Finds the gradients of a view, which the library has made. Called at the first access to them.
static int spyp_find_gradients(spyp_tensor *t) {
    if (t->grad_in || t->grad_out) return 0;
    if (spyp_enter(t->device, "Tensor") < 0) return -1;
    spy_tensor *found[2] = { spy_tensor_grad_in(t->tensor), spy_tensor_grad_out(t->tensor) };
    for (int i = 0; i < 2; i++)
        if (found[i]) spy_retain_tensor(found[i]);
    spyp_leave(t->device);
    PyTypeObject *type = spyp_view_type((PyObject *)t);
    if (found[0]) t->grad_in = spyp_tensor_make(type, t->device, found[0], t->module);
    if (found[1] && found[1] == found[0]) {
        spy_release_tensor(found[1]);
        t->grad_out = Py_XNewRef(t->grad_in);
    } else if (found[1]) {
        t->grad_out = spyp_tensor_make(type, t->device, found[1], t->module);
    }
    return PyErr_Occurred() ? -1 : 0;
}

enum { SPYP_GRAD, SPYP_GRAD_IN, SPYP_GRAD_OUT };

static PyObject *spyp_tensor_get_grad(PyObject *self, void *which) {
    spyp_tensor *t = (spyp_tensor *)self;
    if (spyp_find_gradients(t) < 0) return NULL;
    PyObject *grad = (int)(intptr_t)which == SPYP_GRAD_IN ? t->grad_in : t->grad_out;
    if (!grad && (int)(intptr_t)which == SPYP_GRAD) grad = t->grad_in;
    if (!grad && (int)(intptr_t)which == SPYP_GRAD)
        return PyErr_Format(spyp.lookup_error, "Tensor.grad: expected a tensor with gradients, got one without; with_grads() gives one that has some");
    return Py_NewRef(grad ? grad : Py_None);
}

// Sets grad_in or grad_out: the tensor sees its memory through a new tensor of the library.
static int spyp_tensor_set_grad(PyObject *self, PyObject *value, void *which) {
    spyp_tensor *t = (spyp_tensor *)self;
    bool in = (int)(intptr_t)which == SPYP_GRAD_IN;
    if (spyp_find_gradients(t) < 0) return -1;
    PyObject *given = !value || value == Py_None ? NULL : spyp_gradient_of(t, value, in ? "Tensor.grad_in" : "Tensor.grad_out");
    if (!given && PyErr_Occurred()) return -1;
    PyObject *grads[2] = { in ? given : t->grad_in, in ? t->grad_out : given };
    spyp_tensor *made = (spyp_tensor *)(grads[0] || grads[1]
                                            ? spyp_tensor_attach(spyp_view_type(self), t, Py_XNewRef(grads[0]), Py_XNewRef(grads[1]))
                                            : spyp_detached(spyp_view_type(self), t));
    if (made && spyp_enter(t->device, "Tensor") == 0) {
        spy_tensor *old = t->tensor;
        t->tensor = made->tensor;
        made->tensor = old; // `old` is released with `made`
        spyp_leave(t->device);
        spyp_replace(in ? &t->grad_in : &t->grad_out, Py_XNewRef(given));
    }
    Py_XDECREF(given);
    SPYP_DECREF(made);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *spyp_pair_give(PyObject *primal, PyObject *grad) {
    PyObject *made = NULL;
    if (primal && grad == Py_None) made = Py_NewRef(primal); // the result is void or has no gradient
    else if (primal && grad && PyObject_TypeCheck(primal, spyp.tensor) &&
             PyObject_TypeCheck(grad, spyp.tensor))
        made = spyp_tensor_attach(spyp_view_type(primal), (spyp_tensor *)primal, Py_NewRef(grad),
                                  Py_NewRef(grad));
    else if (primal && grad) made = spyp_pair_make(spyp.pair, primal, grad, true);
    Py_XDECREF(primal);
    Py_XDECREF(grad);
    return made;
}

// _gradient_view(type, tensor, attach) makes a view of another class, with new gradients or without any, for
// NDDifferentiableBuffer.
static PyObject *spyp_gradient_view(PyObject *self, PyObject *args) {
    PyObject *type, *tensor;
    int attach;
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "OO!p:_gradient_view", &type, spyp.tensor, &tensor, &attach)) return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "_gradient_view: expected a kind of Tensor, got %R", type);
    if (!attach) return spyp_detached((PyTypeObject *)type, (spyp_tensor *)tensor);
    PyObject *grad = spyp_gradient_new((spyp_tensor *)tensor);
    return grad ? spyp_tensor_attach((PyTypeObject *)type, (spyp_tensor *)tensor, grad, Py_NewRef(grad))
                : NULL;
}

// >>types

// Returns the address of a DiffPair's member for `type`: 0 (PrimType.primal) or 1 (PrimType.derivative). NULL with a ValueError set for
// other values.
static PyObject **spyp_pair_place(PyObject *self, PyObject *type) {
    spyp_pair_object *pair = (spyp_pair_object *)self;
    long which = PyLong_Check(type) ? PyLong_AsLong(type) : -1;
    if (which == 0 || which == 1) return which ? &pair->grad : &pair->primal;
    if (!PyErr_Occurred()) PyErr_Format(spyp.value_error, "DiffPair: argument 'type': expected a PrimType, got %R", type);
    return NULL;
}

static PyObject *spyp_pair_get(PyObject *self, PyObject *type) {
    PyObject **at = spyp_pair_place(self, type);
    return at ? Py_NewRef(*at ? *at : Py_None) : NULL;
}

static PyObject *spyp_pair_set(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "type", "value", NULL };
    PyObject *type, *value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:set", names, &type, &value)) return NULL;
    PyObject **at = spyp_pair_place(self, type);
    if (!at) return NULL;
    spyp_replace(at, Py_NewRef(value));
    Py_RETURN_NONE;
}

static PyObject *spyp_pair_signature(PyObject *self, void *ignored) {
    spyp_pair_object *pair = (spyp_pair_object *)self;
    SPYP_UNUSED(ignored);
    return spyp_format("[DiffPair,%R,%R]", pair->primal ? (PyObject *)Py_TYPE(pair->primal) : Py_None,
                       pair->grad ? (PyObject *)Py_TYPE(pair->grad) : Py_None);
}

SPYP_NAMED(spyp_pair_get_by_type, spyp_pair_get, "get", "type")

static PyMethodDef spyp_pair_methods[] = {
    { "get", SPYP_FUNC(spyp_pair_get_by_type), METH_FASTCALL | METH_KEYWORDS, "get(type): returns the value for PrimType.primal, the "
        "gradient for PrimType.derivative." },
    { "set", SPYP_FUNC(spyp_pair_set), METH_VARARGS | METH_KEYWORDS, "set(type, value): replace the value or the gradient." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_pair_getset[] = {
    { "slangpy_signature", spyp_pair_signature, NULL, "A text that is the same for pairs of the same types.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_pair_members[] = {
    { "primal", Py_T_OBJECT_EX, offsetof(spyp_pair_object, primal), 0, "The value." },
    { "grad", Py_T_OBJECT_EX, offsetof(spyp_pair_object, grad), 0,
      "Its gradient; after a call that computes it, the new one." },
    { "needs_grad", Py_T_BOOL, offsetof(spyp_pair_object, needs_grad), 0, "False: the value is a constant." },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot spyp_pair_slots[] = {
    { Py_tp_doc, (void *)"DiffPair(primal=None, grad=None, needs_grad=True): a value and its gradient, as an argument of .bwds and "
        ".fwds. Each of the two is a number, list, vector, array, tensor or dict. The call replaces numbers and lists by the new "
        "values; it writes arrays and tensors in their memory, and adds to them. Backward calls give the gradients of inputs and read "
        "those of outputs; forward calls the other way round. primal None stands for an output whose value does not matter. Other "
        "calls take only the value." },
    { Py_tp_new, (void *)spyp_pair_new },
    { Py_tp_repr, (void *)spyp_pair_repr },
    { Py_tp_dealloc, (void *)spyp_pair_dealloc },
    { Py_tp_traverse, (void *)spyp_pair_traverse },
    { Py_tp_clear, (void *)spyp_pair_clear },
    { Py_tp_members, spyp_pair_members },
    { Py_tp_methods, spyp_pair_methods },
    { Py_tp_getset, spyp_pair_getset },
    { 0, NULL },
};

static PyType_Spec spyp_pair_spec = {
    "slangpy._slangpy.DiffPair",
    sizeof(spyp_pair_object),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    spyp_pair_slots,
};

int spyp_gradient_ready(PyObject *module) {
    static PyMethodDef methods[] = {
        { "with_grads", SPYP_FUNC(spyp_tensor_with_grads), METH_VARARGS | METH_KEYWORDS,
          "with_grads(grad_in=None, grad_out=None, zero=False): the same memory as a Tensor that carries "
          "gradients, of its shape and of "
          "Slang's T.Differential. Without arguments one new one, zero, serves for both; grad_in is what "
          "calls read, grad_out what "
          "backward calls add to and forward ones write. Each is a Tensor, or numbers for a new one: an "
          "array, a list or one number for "
          "all. zero: whether tensors that are given are set to zero. TypeError: elements that have no gradients, as int." },
        { "detach", spyp_tensor_detach, METH_NOARGS,
          "detach(): a tensor over the same memory without gradients." },
        { NULL, NULL, 0, NULL },
    };
    static PyMethodDef functions[] = {
        { "_gradient_view", spyp_gradient_view, METH_VARARGS,
          "_gradient_view(type, tensor, attach): the gradient tensor of an NDDifferentiableBuffer." },
        { NULL, NULL, 0, NULL },
    };
    static PyGetSetDef grads[] = {
        { "grad", spyp_tensor_get_grad, NULL,
          "The gradient, a Tensor: grad_out if there is one, otherwise grad_in. Without gradients it raises a NameNotFoundError, which "
          "is a RuntimeError and an AttributeError. A view's gradient is a view.",
          (void *)SPYP_GRAD },
        { "grad_in", spyp_tensor_get_grad, spyp_tensor_set_grad,
          "The gradient that calls read, in backward calls that of an output; or None.", (void *)SPYP_GRAD_IN },
        { "grad_out", spyp_tensor_get_grad, spyp_tensor_set_grad,
          "The gradient that calls write, in backward calls that of an input; or None.", (void *)SPYP_GRAD_OUT },
    };
    for (size_t i = 0; i < sizeof grads / sizeof *grads; i++)
        if (spyp_getset_add(spyp.tensor, &grads[i]) < 0) return -1;
    spyp.pair = spyp_type_add(module, &spyp_pair_spec, NULL);
    return spyp.pair && spyp_methods_add(spyp.tensor, methods) == 0 ? PyModule_AddFunctions(module, functions)
                                                                    : -1;
}
