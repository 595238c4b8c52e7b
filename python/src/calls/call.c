// One call: Python arguments become spy_args on the stack, spy_call() runs, and the results become Python
// values. Python objects are made for results only.
#include "calls/calls.h"
#include "slangpy_cuda.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

// Most calls of one thread that may run within each other, in user code that converts an argument or is called back. Each takes 11 KiB of
// the thread's stack.
#define SPYP_MOST_NESTED 64
static SPYP_THREAD_LOCAL int spyp_nested; // calls of this thread that are running

// >>errors

// Adds the parameter's type to the text of the exception for a value that cannot be an argument.
static void spyp_add_expected(spyp_call *call, const char *name, Py_ssize_t position) {
    PyObject *type, *value, *trace, *expected;
    if (call->foreign || !PyErr_ExceptionMatches(PyExc_TypeError) || !(expected = spyp_argument_types(call->function, name, position))) return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = PyObject_Str(value), *all = NULL;
    const char *words = text ? spyp_utf8(text) : NULL;
    if (words && strncmp(words, "Unsupported type <", 18) == 0) all = spyp_format("%U; expected %U", text, expected);
    PyErr_Restore(type, value, trace);
    if (all) PyErr_SetObject(spyp.type_error, all);
    Py_XDECREF(text);
    Py_XDECREF(all);
    Py_DECREF(expected);
}

static void spyp_add_argument(spyp_call *call, const char *name, Py_ssize_t position) {
    if (!name) name = spyp_argument_name(call->function, position);
    spyp_add_expected(call, name, position);
    if (name) spyp_error_prefix(call, "%U: argument '%s': ", call->function->name, name);
    else spyp_error_prefix(call, "%U: argument %zd: ", call->function->name, position + 1);
}

// >>arguments

int spyp_take_argument(spyp_invocation *in, PyObject *object, PyObject *name, const char *text, Py_ssize_t position) {
    return spyp_take_with_gradient(in, object, NULL, name, text, position);
}

int spyp_take_with_gradient(spyp_invocation *in, PyObject *object, PyObject *grad, PyObject *name, const char *text, Py_ssize_t position) {
    spyp_call *call = &in->call;
    if (in->args.count == SPYP_MOST_ARGS) {
        PyErr_Format(PyExc_TypeError, "%U: Too many arguments: expected at most %d", call->function->name, SPYP_MOST_ARGS);
        return -1;
    }
    spy_arg *arg = &in->items[in->args.count];
    call->name = text;
    call->position = position;
    int status = grad ? spyp_convert_value_and_gradient(call, object, grad, arg) : spyp_convert_here(call, object, text, arg);
    arg->name = text;
    spyp_chain *chain = call->function->chain;
    if (status == 0 && chain && (chain->map_args || chain->map_kwargs)) status = spyp_chain_map(call, name ? -1 : position, name, arg);
    if (status < 0) {
        spyp_add_argument(call, text, position);
        return -1;
    }
    if (!in->dispatch) spyp_drop_written(call, spyp_plain_value(object), arg);
    in->args.count++;
    return 0;
}

// >>where the result goes

spy_arg spyp_new_result(spyp_invocation *in, bool tensor) {
    if (in->call.mode == SPY_CALL_MODE_DEFAULT) return tensor ? spy_out_tensor("_result", &in->tensor) : spy_out_result("_result", &in->value);
    in->pair[0] = tensor ? spy_out_tensor(NULL, &in->tensor) : spy_out_result(NULL, &in->value);
    in->pair[1] = tensor ? spy_out_tensor(NULL, &in->grad_tensor) : spy_out_result(NULL, &in->grad);
    const spy_args pair = { in->pair, 2 };
    return spy_arg_diff_pair("_result", pair);
}

// Checks `_result` given as a name or class. Returns 0 if it says 'numpy', 'tensor' or 'texture', and -1 with
// an exception set otherwise.
static int spyp_result_kind(spyp_invocation *in) {
    PyObject *given = in->result;
    const char *word = NULL;
    PyObject *name = PyUnicode_Check(given) ? Py_NewRef(given) : PyObject_GetAttrString(given, "__name__");
    if (name) word = spyp_utf8(name);
    bool numpy = word && (strcmp(word, "numpy") == 0 || strcmp(word, "ndarray") == 0);
    bool texture = word && strcmp(word, "texture") == 0;
    texture = texture || (PyType_Check(given) && PyType_IsSubtype((PyTypeObject *)given, spyp.texture));
    bool tensors = (word && strcmp(word, "tensor") == 0) || (PyType_Check(given) && PyType_IsSubtype((PyTypeObject *)given, spyp.tensor));
    Py_XDECREF(name);
    PyErr_Clear();
    in->texture = texture && in->call.mode == SPY_CALL_MODE_DEFAULT;
    if (in->texture || ((numpy || tensors) && in->call.mode != SPY_CALL_MODE_BACKWARD)) return 0;
    PyErr_Format(spyp.value_error, "%U: argument '_result': expected %s, got %R", in->call.function->name,
                 in->call.mode == SPY_CALL_MODE_BACKWARD ? "a Tensor with gradients or a DiffPair"
                                                    : "'numpy', 'tensor', 'texture', Tensor, NDBuffer or an object to fill",
                 given);
    return -1;
}

// Returns whether all overloads of a function are void.
static bool spyp_returns_nothing(spyp_function *f) {
    const spy_decl *decl = spyp_declared(f);
    if (!decl) return false;
    for (; decl; decl = spy_next_overload(decl))
        if (!decl->type || decl->type->kind != SPY_TYPE_KIND_VOID) return false;
    return true;
}

// Tells whether an argument is a number, or an array of numbers that cannot be written.
static bool spyp_is_constant(const spy_arg *arg) {
    bool number = arg->kind == SPY_ARG_KIND_BOOL || arg->kind == SPY_ARG_KIND_INT || arg->kind == SPY_ARG_KIND_UINT || arg->kind == SPY_ARG_KIND_FLOAT;
    return number || (arg->kind == SPY_ARG_KIND_ARRAY && arg->direction == SPY_DIRECTION_DEFAULT);
}

static int spyp_take_given(spyp_invocation *in, spy_arg *arg) {
    PyObject *given = in->result;
    spyp_chain *chain = in->call.function->chain;
    in->call.name = NULL;
    in->call.position = SPYP_NO_PARAMETER;
    in->call.result = true;
    bool pair = Py_TYPE(given) == spyp.pair, reference = Py_TYPE(given) != spyp.tensor && PyObject_TypeCheck(given, spyp.value_ref);
    int status = pair        ? spyp_convert_pair_result(&in->call, given, arg)
                 : reference ? spyp_convert_ref_out(&in->call, given, arg)
                             : spyp_convert_here(&in->call, given, "_result", arg);
    arg->name = "_result";
    in->call.result = false;
    if (status == 0 && in->call.mode != SPY_CALL_MODE_BACKWARD && spyp_is_constant(arg)) {
        PyErr_Format(spyp.type_error, "expected 'numpy', 'tensor', Tensor, NDBuffer, or what can be written: a Tensor, a ValueRef or a writable array, got %R",
                     (PyObject *)Py_TYPE(given));
        status = -1;
    }
    if (status == 0 && chain && chain->map_kwargs) status = spyp_chain_map(&in->call, -1, spyp.s_result, arg);
    if (status < 0) spyp_add_argument(&in->call, "_result", 0);
    return status;
}

static int spyp_take_result(spyp_invocation *in) {
    PyObject *given = in->result;
    spy_arg *arg = &in->items[in->args.count];
    if (!given || given == Py_None) {
        in->result = NULL;
        // The result may be void; if it is not, the library's error names the missing argument.
        if (in->call.mode == SPY_CALL_MODE_BACKWARD) return 0;
        *arg = spyp_new_result(in, false);
    } else if (PyType_Check(given) && PyType_IsSubtype((PyTypeObject *)given, spyp.value_ref)) {
        in->result = NULL; // the value itself
        *arg = spyp_new_result(in, false);
    } else if (PyType_Check(given) && PyDict_GetItemWithError(spyp.python_types, given)) {
        PyErr_Format(spyp.marshalled, "%U: argument '_result': results of %R are those of direct calls", in->call.function->name, given);
        return -1;
    } else if (PyUnicode_Check(given) || PyType_Check(given)) {
        if (spyp_result_kind(in) < 0) return -1;
        bool none = !in->texture && spyp_returns_nothing(in->call.function);
        if (none) in->result = NULL;
        *arg = spyp_new_result(in, !none);
    } else if (spyp_take_given(in, arg) < 0) {
        return -1;
    }
    in->args.count++;
    return 0;
}

// Reads a result of more than SPY_RESULT_BYTES, which the library gives as a tensor of one element.
static PyObject *spyp_give_large(spyp_function *f, const spy_result *value) {
    spyp_device *d = f->module->device;
    PyObject *result = NULL;
    size_t size = spy_get_tensor_info(value->tensor).host_size_bytes;
    void *data = PyMem_Malloc(size + 1);
    if (!data) {
        PyErr_NoMemory();
    } else if (spyp_enter(d, "result") == 0) {
        const spy_type_info *info = spy_reflect_type(f->module->module, value->type);
        bool good = info && spy_tensor_read(value->tensor, data, size) == SPY_OK;
        if (!good) spyp_raise(d);
        spyp_leave(d);
        if (good) result = spyp_value_read(f->module, info, data);
    }
    PyMem_Free(data);
    spyp_drop_tensor(d, value->tensor);
    return result;
}

PyObject *spyp_result_value(spyp_function *f, const spy_result *value) {
    if (value->tensor && spy_get_tensor_info(value->tensor).shape.rank == 0) return spyp_give_large(f, value);
    if (value->tensor) return spyp_tensor_make(spyp.tensor, f->module->device, value->tensor, (PyObject *)f->module);
    if (!value->type) Py_RETURN_NONE;
    return spyp_value_from(f->module, value);
}

static PyObject *spyp_give_tensor(spyp_function *f, PyObject *given, spy_tensor *tensor) {
    bool buffer = PyType_Check(given) && PyType_IsSubtype((PyTypeObject *)given, spyp.ndbuffer);
    PyObject *made = spyp_tensor_make(buffer ? spyp.ndbuffer : spyp.tensor, f->module->device, tensor, (PyObject *)f->module);
    bool numpy = PyUnicode_Check(given) ? PyUnicode_CompareWithASCIIString(given, "numpy") == 0
                                        : !PyType_IsSubtype((PyTypeObject *)given, spyp.tensor);
    if (!made || !numpy) return made;
    PyObject *array = spyp_tensor_to_numpy((spyp_tensor *)made, true);
    Py_DECREF(made);
    return array;
}

// Returns a new texture with the texels of the result. A recorded call fills it when it runs.
static PyObject *spyp_give_texture(spyp_invocation *in) {
    spyp_function *f = in->call.function;
    PyObject *made = spyp_tensor_make(spyp.tensor, f->module->device, in->tensor, (PyObject *)f->module), *result = NULL;
    PyObject *resources = made ? PyImport_ImportModule("slangpy.resources") : NULL;
    if (resources) result = PyObject_CallMethod(resources, "of_result", "OO", made, in->append_to ? in->append_to : Py_None);
    if (!result && made) spyp_error_behind("%U: ", f->name);
    Py_XDECREF(resources);
    Py_XDECREF(made);
    return result;
}

static PyObject *spyp_give_result(spyp_invocation *in) {
    spyp_function *f = in->call.function;
    PyObject *given = in->result;
    if (in->call.mode == SPY_CALL_MODE_BACKWARD) Py_RETURN_NONE;
    if (given && !in->tensor) return Py_NewRef(spyp_plain_value(given));
    if (in->texture) return spyp_give_texture(in);
    if (in->exported) return spyp_foreign_take(&in->call, in->exported);
    PyObject *primal = given ? spyp_give_tensor(f, given, in->tensor) : spyp_result_value(f, &in->value);
    if (SPYP_LIKELY(in->call.mode == SPY_CALL_MODE_DEFAULT)) return given || (!in->call.borrows && !in->call.host_torch) ? primal : spyp_foreign_give(&in->call, primal);
    if (primal) return spyp_pair_give(primal, given ? spyp_give_tensor(f, given, in->grad_tensor) : spyp_result_value(f, &in->grad));
    spyp_drop_tensor(f->module->device, in->grad.tensor);
    spyp_drop_tensor(f->module->device, in->grad_tensor);
    return NULL;
}

// >>building and running

// Checks a keyword that begins with '_', as the options of a call do, but is no option and no parameter of
// the function. Returns 0, or -1 with a TypeError set when it is similar to an option's name.
static int spyp_check_keyword(const spyp_call *call, PyObject *name, const char *text) {
    for (const spy_decl *decl = spyp_declared(call->function); decl; decl = spy_next_overload(decl))
        if (spyp_parameter_type(call->function, decl, text, SPYP_NO_PARAMETER)) return 0;
    PyObject *absent = PyImport_ImportModule("slangpy.absent");
    PyObject *hint = absent ? PyObject_CallMethod(absent, "near_keyword", "O", name) : NULL;
    int near = hint ? PyObject_IsTrue(hint) : -1;
    if (near > 0) PyErr_Format(PyExc_TypeError, "%U: No parameter named '%U'%U", call->function->name, name, hint);
    Py_XDECREF(absent);
    Py_XDECREF(hint);
    return near ? -1 : 0;
}

// Returns whether the last of `n` arguments by position is a backward call's result, because it comes after
// all parameters. `names` has the names of the further arguments, or is NULL.
static bool spyp_ends_with_result(spyp_function *f, Py_ssize_t n, PyObject *names) {
    Py_ssize_t given = n, k = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < k; i++) {
        const char *text = spyp_utf8(PyTuple_GetItem(names, i));
        if (!text) PyErr_Clear();
        if (text && strcmp(text, "_result") == 0) return false;
        given += !text || text[0] != '_';
    }
    int most = n > 0 ? spyp_parameter_count(f) : -1;
    return most >= 0 && given == most + 1;
}

static int spyp_take_arguments(spyp_invocation *in, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    spyp_function *f = in->call.function;
    PyObject *const *named = args + n;
    if (in->call.mode == SPY_CALL_MODE_BACKWARD && spyp_ends_with_result(f, n, names)) in->result = args[--n];
    if (f->chain && f->chain->self && spyp_take_argument(in, f->chain->self, NULL, NULL, -1) < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (spyp_take_argument(in, args[i], NULL, NULL, i) < 0) return -1;
    Py_ssize_t k = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < k; i++) {
        PyObject *name = PyTuple_GetItem(names, i), *value = named[i];
        const char *text = spyp_utf8(name);
        if (!text) {
            spyp_error_prefix(&in->call, "%U: argument names: ", f->name);
            return -1;
        }
        if (SPYP_LIKELY(text[0] != '_')) {
            if (spyp_take_argument(in, value, name, text, -1) < 0) return -1;
        } else if (strcmp(text, "_result") == 0) {
            in->result = value;
        } else if (strcmp(text, "_append_to") == 0) {
            in->append_to = value == Py_None ? NULL : value;
        } else if (strcmp(text, "_thread_count") == 0) {
            in->thread_count = value == Py_None ? NULL : value;
        } else if (spyp_check_keyword(&in->call, name, text) < 0 || spyp_take_argument(in, value, name, text, -1) < 0) {
            return -1;
        }
    }
    return 0;
}

static int spyp_take_thread_count(spyp_invocation *in) {
    spy_shape *shape = &in->options.thread_count;
    if (spyp_shape_parse(in->thread_count, "argument '_thread_count'", shape) < 0) return -1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] > 0) continue;
        PyErr_Format(spyp.value_error, "argument '_thread_count': expected sizes from 1 on, got %lld", (long long)shape->dims[i]);
        return -1;
    }
    return 0;
}

int spyp_take_options(spyp_invocation *in) {
    spyp_function *f = in->call.function;
    if (!f->chain && !in->append_to && !in->thread_count) return 0;
    memset(&in->options, 0, sizeof in->options);
    in->has_options = true;
    if (spyp_chain_options(&in->call, &in->options) < 0) return -1;
    if (in->thread_count && spyp_take_thread_count(in) < 0) {
        spyp_error_prefix(&in->call, "%U: ", f->name);
        return -1;
    }
    if (in->append_to && !(in->options.append_to = spyp_encoder_list(in->append_to, f->module->device))) {
        spyp_error_prefix(&in->call, "%U: argument '_append_to': ", f->name);
        return -1;
    }
    return 0;
}

int spyp_nested_begin(const spyp_call *call) {
    if (SPYP_LIKELY(++spyp_nested <= SPYP_MOST_NESTED)) return 0;
    PyErr_Format(PyExc_RecursionError, "%U: expected at most %d calls within each other's arguments", call->function->name, SPYP_MOST_NESTED);
    return -1;
}

void spyp_nested_end(void) {
    spyp_nested--;
}

void spyp_invocation_begin(spyp_invocation *in, spyp_function *f) {
    spyp_call_begin(&in->call, f);
    in->args.items = in->items;
    in->args.count = 0;
    in->has_options = in->dispatch = in->texture = false;
    in->result = in->append_to = in->thread_count = NULL;
    in->value.tensor = in->grad.tensor = in->tensor = in->grad_tensor = NULL;
    in->value.type = in->grad.type = NULL;
    in->exported = NULL;
}

// Returns the time in nanoseconds of a clock that steps every few milliseconds and costs a few nanoseconds, or 0 if the system has none.
static uint64_t spyp_coarse_ns(void) {
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0) return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
    return 0;
}

#define SPYP_COARSE_STEP_NS 10000000u // Linux: 1 to 10 ms

void spyp_look_for_changes(spyp_device *d) {
    const char *what = d->what;
    if (!d->hot_reload) return;
    // The library's own clock decides, but asking it takes 50 ns.
    const uint64_t now = d->reload_interval_ns ? spyp_coarse_ns() : 0;
    if (now < d->reload_due_ns) return;
    if (now) d->reload_due_ns = now + d->reload_interval_ns + SPYP_COARSE_STEP_NS;
    d->what = "hot reload";
    spy_reload_info info = { 0, 0, 0 };
    if (spy_reload_changed(d->device, d->reload_interval_ns, &info) != SPY_OK) (void)spy_take_error(d->device);
    d->reload_count += info.reloaded != 0;
    d->what = what;
}

void *spyp_asked_stream(const spyp_invocation *in) {
    const spyp_function *f = in->call.function;
    return f->chain && !in->append_to ? f->chain->stream : NULL;
}

spy_status spyp_work_begin(const spyp_invocation *in, void *stream) {
    spyp_device *d = in->call.function->module->device;
    spy_status status = spyp_stream_begin(d, stream);
    if (status != SPY_OK || in->append_to || !in->call.stream_count) return status;
    status = spyp_foreign_begin(&in->call, stream ? stream : d->stream);
    if (status != SPY_OK) (void)spyp_stream_end(d, stream);
    return status;
}

spy_status spyp_work_end(const spyp_invocation *in, void *stream) {
    spyp_device *d = in->call.function->module->device;
    spy_status status = in->call.stream_count && !in->append_to ? spyp_foreign_end(&in->call, stream ? stream : d->stream) : SPY_OK;
    spy_status back = spyp_stream_end(d, stream);
    return status == SPY_OK ? back : status;
}

spy_status spyp_call_in_order(const spyp_invocation *in) {
    const spyp_function *f = in->call.function;
    void *stream = spyp_asked_stream(in);
    spy_status status = spyp_work_begin(in, stream);
    if (status != SPY_OK) return status;
    status = in->has_options ? spy_call_with(f->function, in->args, &in->options) : spy_call(f->function, in->args);
    spy_status back = spyp_work_end(in, stream);
    return status == SPY_OK ? back : status;
}

// A recorded call runs later. Until then the encoder keeps the call's arguments, which may be memory of other
// libraries.
static int spyp_keep_arrays(const spyp_invocation *in, PyObject *const *args, Py_ssize_t n) {
    PyObject *all = PyTuple_New(n + 1);
    if (!all) return -1;
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SetItem(all, i, Py_NewRef(args[i]));
    PyTuple_SetItem(all, n, Py_NewRef(in->call.arena.kept ? in->call.arena.kept : Py_None));
    int status = spyp_encoder_keep(in->append_to, &in->call, all);
    Py_DECREF(all);
    return status;
}

// Gives a call to `name` of the Python module `module`, as name(function, args, kwargs) or, with `value`, name(function, value, args,
// kwargs). NULL with an exception set.
static PyObject *spyp_call_in_python(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names, const char *module,
                                     const char *name, PyObject *value) {
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), k = names ? PyTuple_Size(names) : 0;
    PyObject *from = PyImport_ImportModule(module), *given = PyTuple_New(n), *named = PyDict_New(), *result = NULL;
    bool good = from && given && named;
    for (Py_ssize_t i = 0; good && i < n; i++) PyTuple_SetItem(given, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; good && i < k; i++) good = PyDict_SetItem(named, PyTuple_GetItem(names, i), args[n + i]) == 0;
    if (good && value) result = PyObject_CallMethod(from, name, "OOOO", self, value, given, named);
    else if (good) result = PyObject_CallMethod(from, name, "OOO", self, given, named);
    Py_XDECREF(from);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return result;
}

// Lets slangpy.marshalling make a call that has values of classes with a Marshall, or is asked for a result of such a class.
static PyObject *spyp_call_marshalled(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyErr_Clear();
    return spyp_call_in_python(self, args, nargsf, names, "slangpy.marshalling", "call", NULL);
}

// Lets a function of Python repeat a call that has failed. It returns NotImplemented for calls that it does not make, whose exception is
// set again. If `tells` is set, an exception that it raises is the call's.
static PyObject *spyp_call_instead(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names, const char *module,
                                   const char *name, bool tells) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *result = spyp_call_in_python(self, args, nargsf, names, module, name, tells ? NULL : value);
    if (tells ? result != Py_NotImplemented : result && result != Py_NotImplemented) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return result;
    }
    Py_XDECREF(result);
    if (!result) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return NULL;
}

PyObject *spyp_function_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    spyp_function *f = (spyp_function *)self;
    spyp_device *d = f->module->device;
    spyp_invocation in;
    PyObject *result = NULL;
    if (SPYP_UNLIKELY(spyp.tracers) && spyp_tracing)
        return spyp_call_in_python(self, args, nargsf, names, "slangpy.fusion", "_traced_call", NULL);
    if (f->graphs && ((result = spyp_autograd_call(f, args, PyVectorcall_NARGS(nargsf), names)) != NULL || PyErr_Occurred())) return result;
    spyp_invocation_begin(&in, f);
    in.call.diverts = in.call.mode == SPY_CALL_MODE_DEFAULT;
    int status = spyp_nested_begin(&in.call);
    if (SPYP_LIKELY(status == 0)) status = spyp_take_arguments(&in, args, PyVectorcall_NARGS(nargsf), names);
    if (status == 0 && !in.result && f->chain) in.result = f->chain->result;
    if (status == 0 && (!in.append_to || in.result)) status = spyp_take_result(&in);
    if (status == 0) status = spyp_take_options(&in);
    if (status == 0 && spyp_enter(d, "call") == 0) {
        spyp_look_for_changes(d);
        bool ordered = in.call.stream_count || (f->chain && f->chain->stream);
        spy_status done = ordered           ? spyp_call_in_order(&in)
                          : !in.has_options ? spy_call(f->function, in.args)
                                            : spy_call_with(f->function, in.args, &in.options);
        if (SPYP_LIKELY(done == SPY_OK)) {
            int kept = in.append_to ? spyp_encoder_recorded(in.append_to, f) : 0;
            if (in.append_to && kept == 0)
                kept = spyp_keep_arrays(&in, args, PyVectorcall_NARGS(nargsf) + (names ? PyTuple_Size(names) : 0));
            // A result without dimensions is a number.
            if (in.call.library && in.value.tensor && in.call.mode == SPY_CALL_MODE_DEFAULT && spy_get_tensor_info(in.value.tensor).shape.rank)
                in.exported = spyp_export_result(d, in.value.tensor, in.call.streams[0]);
            spyp_leave(d);
            if (kept == 0) result = in.append_to && !in.tensor ? Py_NewRef(Py_None) : spyp_give_result(&in);
        } else {
            spyp_raise_call(d);
            spyp_leave(d);
        }
        if (result && in.call.updates && spyp_give_updates(&in.call) < 0) Py_CLEAR(result);
        else if (result && in.call.updates && !in.append_to && in.result && result == in.result && PyObject_TypeCheck(result, spyp.value_ref))
            spyp_replace(&result, spyp_ref_value(result));
        else if (result && f->declared && !ordered && !in.has_options) spyp_quick_learn(f, args, PyVectorcall_NARGS(nargsf), names, &in.args);
    }
    spyp_call_end(&in.call);
    spyp_nested_end();
    if (!result && PyErr_ExceptionMatches(spyp.marshalled)) return spyp_call_marshalled(self, args, nargsf, names);
    if (!result && in.call.mode == SPY_CALL_MODE_BACKWARD && PyErr_ExceptionMatches(PyExc_ValueError))
        // slangpy.gradients makes backward calls for numbers that have no gradients, and for pairs for inout parameters
        return spyp_call_instead(self, args, nargsf, names, "slangpy.gradients", "_backward_of_numbers", false);
    if (!result && in.call.mode == SPY_CALL_MODE_DEFAULT && PyErr_ExceptionMatches(spyp.wants_gradient)) {
        result = spyp_call_instead(self, args, nargsf, names, "slangpy.autograd", "call", true);
        spyp_autograd_learn(f, args, PyVectorcall_NARGS(nargsf), names, result != NULL);
        return result;
    }
    // Calls with torch tensors without memory of their own, as within torch.func.vmap, fail in many ways, and bfloat16 must be copied. A
    // value that contains itself must not be walked again.
    if (!result && in.call.mode == SPY_CALL_MODE_DEFAULT && !PyErr_ExceptionMatches(PyExc_RecursionError) &&
        PyDict_GetItemString(PyImport_GetModuleDict(), "torch"))
        return spyp_call_instead(self, args, nargsf, names, "slangpy.autograd", "instead", true);
    return result;
}

// >>dispatch(), explain(), time() and resolve(): they take a call's arguments and use them otherwise

typedef PyObject *(*spyp_verb)(spyp_invocation *in, void *data);

static PyObject *spyp_verb_dispatch(spyp_invocation *in, void *data);

// Converts the arguments, enters the device and calls `verb`.
static PyObject *spyp_with_arguments(PyObject *self, PyObject *args, Py_ssize_t first, PyObject *kwargs, bool result, const char *what,
                                     spyp_verb verb, void *data) {
    spyp_function *f = (spyp_function *)self;
    spyp_device *d = f->module->device;
    PyObject *items = kwargs ? spyp_dict_items(kwargs, what) : PyTuple_New(0);
    Py_ssize_t n = PyTuple_Size(args) - first, k = items ? PyTuple_Size(items) / 2 : 0;
    PyObject **all = items ? (PyObject **)PyMem_Malloc((size_t)(n + k + 1) * sizeof *all) : NULL, *made = NULL;
    PyObject *names = all ? PyTuple_New(k) : NULL;
    spyp_invocation in;
    if (!names) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        PyMem_Free(all);
        Py_XDECREF(items);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) all[i] = PyTuple_GetItem(args, first + i);
    for (Py_ssize_t i = 0; i < k; i++) {
        all[n + i] = PyTuple_GetItem(items, 2 * i + 1);
        PyTuple_SetItem(names, i, Py_NewRef(PyTuple_GetItem(items, 2 * i)));
    }
    spyp_invocation_begin(&in, f);
    in.dispatch = verb == spyp_verb_dispatch;
    int status = spyp_nested_begin(&in.call);
    if (status == 0) status = spyp_take_arguments(&in, all, n, names);
    if (status == 0 && result) status = spyp_take_result(&in);
    if (status == 0) status = spyp_take_options(&in);
    if (status == 0 && spyp_enter(d, what) == 0) {
        void *stream = spyp_asked_stream(&in);
        spyp_look_for_changes(d);
        bool begun = spyp_work_begin(&in, stream) == SPY_OK;
        made = begun ? verb(&in, data) : spyp_raise(d);
        if (begun && spyp_work_end(&in, stream) != SPY_OK) spyp_replace(&made, spyp_raise(d));
        if (made && in.append_to && spyp_keep_arrays(&in, all, n + k) < 0) Py_CLEAR(made);
        spyp_leave(d);
    }
    // Results of time(), which are not given to the user.
    spy_tensor *unused[] = { in.value.tensor, in.grad.tensor, in.tensor, in.grad_tensor };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) spyp_drop_tensor(d, unused[i]);
    if (made && in.call.updates && spyp_give_updates(&in.call) < 0) Py_CLEAR(made);
    spyp_call_end(&in.call);
    spyp_nested_end();
    PyMem_Free(all);
    Py_DECREF(names);
    Py_DECREF(items);
    return made;
}

typedef struct spyp_threads {
    spy_uint3 count;
    spy_tensor *groups; // the numbers of groups in GPU memory, or NULL
    bool small;         // groups of 32 threads, unless the chain sets another size
    PyObject *missing;  // a list of the names of what the dispatch needs and was not given; NULL if it was given everything
} spyp_threads;

// Returns the names of what the call of the error that was raised last was not given, as a list, or NULL.
static PyObject *spyp_missing_names(const spyp_device *d) {
    const char *name = spy_missing_names(d->device);
    PyObject *list = *name ? PyList_New(0) : NULL;
    for (; list && *name; name += strlen(name) + 1) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *spyp_verb_dispatch(spyp_invocation *in, void *data) {
    spyp_threads *threads = (spyp_threads *)data;
    if (threads->small && !in->has_options) memset(&in->options, 0, sizeof in->options);
    if (threads->small && !in->options.thread_group_size[0]) {
        in->has_options = true;
        in->options.thread_group_size[0] = 32;
        in->options.thread_group_size[1] = in->options.thread_group_size[2] = 1;
    }
    const spy_call_options *options = in->has_options ? &in->options : NULL;
    spyp_function *f = in->call.function;
    spy_status status = threads->groups ? spy_dispatch_indirect(f->function, threads->groups, 0, in->args, options)
                                        : spy_dispatch(f->function, threads->count, in->args, options);
    if (status != SPY_OK) {
        spyp_raise_call(f->module->device);
        spyp_replace(&threads->missing, spyp_missing_names(f->module->device));
        return NULL;
    }
    if (in->append_to && spyp_encoder_recorded(in->append_to, f) < 0) return NULL;
    Py_RETURN_NONE;
}

// Returns whether the function is a plain one that gets its thread as `dispatchThreadID`. Scripts for SlangPy rely on its groups having 32
// threads.
static bool spyp_has_thread_parameter(spyp_function *f) {
    const spy_decl *decl = spyp_declared(f);
    const char *name = decl && decl->stage == SPY_STAGE_NONE ? spyp_parameter_name(decl, false, 0) : NULL;
    return name && strcmp(name, "dispatchThreadID") == 0;
}

static int spyp_threads_parse(const spyp_device *device, PyObject *object, bool indirect, spyp_threads *threads) {
    uint32_t n[3];
    threads->groups = NULL;
    threads->small = false;
    if (!indirect) {
        if (spyp_uint3_parse(object, "dispatch: argument 'thread_count'", n) < 0) return -1;
        threads->count.x = n[0], threads->count.y = n[1], threads->count.z = n[2];
        return 0;
    }
    if (PyObject_TypeCheck(object, spyp.tensor)) {
        threads->groups = ((spyp_tensor *)object)->tensor;
        return spyp_tensor_is_of(object, device, "dispatch_indirect", "groups") ? 0 : -1;
    }
    PyErr_Format(PyExc_TypeError, "dispatch_indirect: argument 'groups': expected a Tensor of uint, got %R", (PyObject *)Py_TYPE(object));
    return -1;
}

// Removes the names from a dispatch's keywords that are no parameters: scripts pass one dict to several
// functions. Options begin with '_'. Returns 0, or -1 with an exception set.
static int spyp_drop_unknown(spyp_function *f, PyObject *kwargs) {
    PyObject *names = PyDict_Keys(kwargs);
    const spy_decl *declared = spyp_declared(f);
    int status = names ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(names); i++) {
        PyObject *name = PyList_GetItem(names, i);
        const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
        if (!text) PyErr_Clear();
        const spy_decl *decl = text && text[0] != '_' ? declared : NULL;
        bool known = !decl;
        for (; decl && !known; decl = spy_next_overload(decl)) known = spyp_parameter_type(f, decl, text, SPYP_NO_PARAMETER) != NULL;
        if (!known) status = PyDict_DelItem(kwargs, name);
    }
    Py_XDECREF(names);
    return status;
}

// Moves the values of `vars` whose names are parameters of the function, and no globals of its module, to the
// arguments: a program's root has the parameters of its entry point beside the globals. Returns the values
// that are left as a new reference, or NULL with an exception set.
static PyObject *spyp_take_parameters(spyp_function *f, PyObject *vars, PyObject *kwargs) {
    PyObject *rest = PyDict_Copy(vars), *names = rest ? PyDict_Keys(rest) : NULL;
    const spy_decl *declared = spyp_declared(f);
    int status = names ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(names); i++) {
        PyObject *name = PyList_GetItem(names, i);
        const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
        if (!text) PyErr_Clear();
        if (!text || !declared || !spyp_parameter_type(f, declared, text, SPYP_NO_PARAMETER)) continue;
        const spy_decl *variable = spyp_find_quietly(f->module, text);
        if (variable && variable->kind == SPY_DECL_KIND_SHADER_PARAMETER) continue;
        if (!PyDict_GetItemWithError(kwargs, name)) status = PyErr_Occurred() ? -1 : PyDict_SetItem(kwargs, name, PyDict_GetItem(rest, name));
        if (status == 0) status = PyDict_DelItem(rest, name);
    }
    Py_XDECREF(names);
    if (status < 0) Py_CLEAR(rest);
    return rest;
}

// Returns how many arguments by position after the first are the options `vars`, a dict or None, and
// `command_encoder`: 0, 1 or 2. Structs are given by name.
static Py_ssize_t spyp_count_options(PyObject *args) {
    Py_ssize_t n = PyTuple_Size(args);
    PyObject *vars = n > 1 ? PyTuple_GetItem(args, 1) : NULL, *encoder = n > 2 ? PyTuple_GetItem(args, 2) : NULL;
    if (!vars || !(vars == Py_None || PyDict_Check(vars))) return 0;
    return encoder && (encoder == Py_None || PyObject_TypeCheck(encoder, spyp.encoder)) ? 2 : 1;
}

// After a dispatch that failed because a parameter or global was not given, one of the list `missing`: adds zero or an empty resource for
// it to `kwargs` or to *function, clears the exception and returns true. Otherwise returns false, and the exception stays.
// (slangpy/programs.py)
static bool spyp_add_missing(PyObject **function, PyObject *missing, PyObject *kwargs) {
    if (!missing || PyList_Size(missing) == 0) return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *programs = PyImport_ImportModule("slangpy.programs");
    PyObject *again = programs ? PyObject_CallMethod(programs, "_add_missing", "OOO", *function, missing, kwargs) : NULL;
    PyErr_Clear();
    Py_XDECREF(programs);
    if (!again || again == Py_None) {
        Py_XDECREF(again);
        PyErr_Restore(type, value, trace);
        return false;
    }
    spyp_replace(function, again);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

// Removes the entries of a dict whose values are None: a dispatch takes them as not given. Returns 0, or -1 with an exception set.
static int spyp_drop_none(PyObject *dict) {
    PyObject *names = PyDict_Keys(dict);
    int status = names ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(names); i++)
        if (PyDict_GetItem(dict, PyList_GetItem(names, i)) == Py_None) status = PyDict_DelItem(dict, PyList_GetItem(names, i));
    Py_XDECREF(names);
    return status;
}

// Takes `thread_count` (dispatch_indirect(): `groups`) by position or name, then the options `vars` and
// `command_encoder`, and then the function's arguments.
static PyObject *spyp_dispatch_with(PyObject *self, PyObject *args, PyObject *kwargs, bool indirect) {
    const char *verb = indirect ? "dispatch_indirect" : "dispatch", *what = indirect ? "groups" : "thread_count";
    spyp_function *f = (spyp_function *)self;
    PyObject *rest = kwargs ? PyDict_Copy(kwargs) : PyDict_New(), *count = NULL, *vars = NULL, *encoder = NULL, *function = NULL, *result = NULL;
    Py_ssize_t given = spyp_count_options(args), first = PyTuple_Size(args) > 0;
    spyp_threads threads;
    threads.missing = NULL;
    if (!rest) return NULL;
    count = Py_XNewRef(first ? PyTuple_GetItem(args, 0) : PyDict_GetItemString(rest, what));
    vars = Py_XNewRef(given > 0 ? PyTuple_GetItem(args, 1) : PyDict_GetItemString(rest, "vars"));
    encoder = Py_XNewRef(given > 1 ? PyTuple_GetItem(args, 2) : PyDict_GetItemString(rest, "command_encoder"));
    if (!count) {
        PyErr_Format(PyExc_TypeError, "%U.%s: argument '%s' not specified", f->name, verb, what);
    } else if (spyp_threads_parse(f->module->device, count, indirect, &threads) == 0) {
        const char *own[] = { first ? "vars" : what, "vars", "command_encoder" };
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (PyDict_GetItemString(rest, own[i])) PyDict_DelItemString(rest, own[i]);
        threads.small = !indirect && spyp_has_thread_parameter(f);
        function = spyp_drop_unknown(f, rest) == 0 && spyp_drop_none(rest) == 0 ? Py_NewRef(self) : NULL;
        if (function && vars && PyDict_Check(vars)) {
            PyObject *globals = spyp_take_parameters(f, vars, rest);
            if (globals && (spyp_drop_none(globals) < 0 || spyp_drop_none(rest) < 0)) Py_CLEAR(globals);
            spyp_replace(&vars, globals);
            if (!globals) Py_CLEAR(function);
            else if (PyDict_Size(globals) == 0) Py_CLEAR(vars);
        }
        if (function && vars && vars != Py_None) {
            PyObject *set = PyObject_CallMethod(self, "set", "(O)", vars);
            spyp_replace(&function, set);
        }
        if (function && encoder && encoder != Py_None && PyDict_SetItem(rest, spyp.s_append_to, encoder) < 0) Py_CLEAR(function);
        do {
            Py_CLEAR(threads.missing);
            if (function) result = spyp_with_arguments(function, args, first + given, rest, false, verb, spyp_verb_dispatch, &threads);
        } while (function && !result && spyp_add_missing(&function, threads.missing, rest));
    }
    Py_XDECREF(threads.missing);
    Py_XDECREF(count);
    Py_XDECREF(function);
    Py_XDECREF(vars);
    Py_XDECREF(encoder);
    Py_DECREF(rest);
    return result;
}

PyObject *spyp_function_dispatch(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_dispatch_with(self, args, kwargs, false);
}

PyObject *spyp_function_dispatch_indirect(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_dispatch_with(self, args, kwargs, true);
}

static PyObject *spyp_verb_explain(spyp_invocation *in, void *data) {
    spyp_function *f = in->call.function;
    SPYP_UNUSED(data);
    spy_resolution *possible = spy_resolve(f->function, in->args, in->has_options ? &in->options : NULL);
    // If a call cannot be resolved, its explanation is only the error message.
    if (!possible) return spyp_raise_call(f->module->device);
    spy_release_resolution(possible);
    size_t size = spy_explain_call(f->function, in->args, in->has_options ? &in->options : NULL, NULL, 0);
    char *text = (char *)PyMem_Malloc(size + 1);
    if (!text) return PyErr_NoMemory();
    spy_explain_call(f->function, in->args, in->has_options ? &in->options : NULL, text, size + 1);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyMem_Free(text);
    return result;
}

PyObject *spyp_function_explain(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_with_arguments(self, args, 0, kwargs, true, "explain", spyp_verb_explain, NULL);
}

static PyObject *spyp_verb_prepare(spyp_invocation *in, void *data) {
    spyp_function *f = in->call.function;
    spy_prepare_desc desc;
    SPYP_UNUSED(data);
    memset(&desc, 0, sizeof desc);
    desc.async = true;
    desc.options = in->has_options ? &in->options : NULL;
    spy_prepared *prepared = spy_prepare(f->function, in->args, &desc);
    if (!prepared) return spyp_raise_call(f->module->device);
    spy_release_prepared(prepared); // it goes on to compile, and the device keeps what it makes
    Py_RETURN_NONE;
}

PyObject *spyp_function_prepare(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_with_arguments(self, args, 0, kwargs, true, "prepare", spyp_verb_prepare, NULL);
}

static PyObject *spyp_verb_time(spyp_invocation *in, void *data) {
    spyp_function *f = in->call.function;
    uint64_t ns = 0;
    SPYP_UNUSED(data);
    if (spy_time_call(f->function, in->args, in->has_options ? &in->options : NULL, &ns) != SPY_OK)
        return spyp_raise_call(f->module->device);
    return PyFloat_FromDouble((double)ns * 1e-9);
}

PyObject *spyp_function_time(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_with_arguments(self, args, 0, kwargs, true, "time", spyp_verb_time, NULL);
}

static PyObject *spyp_verb_resolve(spyp_invocation *in, void *data) {
    spyp_function *f = in->call.function;
    SPYP_UNUSED(data);
    spy_resolution *resolution = spy_resolve(f->function, in->args, in->has_options ? &in->options : NULL);
    if (!resolution) return spyp_raise(f->module->device);
    PyObject *result = spyp_resolution_make(resolution);
    spy_release_resolution(resolution);
    return result;
}

PyObject *spyp_function_resolve(PyObject *self, PyObject *args, PyObject *kwargs) {
    return spyp_with_arguments(self, args, 0, kwargs, true, "resolve", spyp_verb_resolve, NULL);
}

// Returns None if all gradients agree, or the text of the error if some are wrong.
static PyObject *spyp_verb_gradcheck(spyp_invocation *in, void *data) {
    spyp_function *f = in->call.function;
    spy_status status = spy_gradcheck(f->function, in->args, (const spy_gradcheck_desc *)data, NULL);
    if (status == SPY_OK) Py_RETURN_NONE;
    if (status != SPY_ERROR_WRONG_GRADIENT) return spyp_raise_call(f->module->device);
    spy_error error = spy_take_error(f->module->device->device);
    return spyp_translate(error.message, "gradcheck", true);
}

// _gradcheck((step, relative tolerance, absolute tolerance, elements, seed), *args, **kwargs): checks gradients for slangpy/gradients.py.
PyObject *spyp_function_gradcheck(PyObject *self, PyObject *args, PyObject *kwargs) {
    spy_gradcheck_desc desc;
    unsigned long long seed;
    memset(&desc, 0, sizeof desc);
    PyObject *options = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    if (!options || !PyTuple_Check(options)) return PyErr_Format(PyExc_TypeError, "_gradcheck: expected a tuple of options");
    if (!PyArg_ParseTuple(options, "dddIK:_gradcheck", &desc.step, &desc.relative_tolerance, &desc.absolute_tolerance, &desc.max_elements, &seed))
        return NULL;
    desc.seed = seed;
    return spyp_with_arguments(self, args, 1, kwargs, false, "gradcheck", spyp_verb_gradcheck, &desc);
}
