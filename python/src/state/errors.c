// Raises the library's errors as Python exceptions, in the words that Python users know.
#include "state/state.h"

#include <string.h>

// >>exceptions

// Adds an exception class to the module. `bases` is a new reference, which it releases.
static PyObject *spyp_exception_of_bases(PyObject *module, const char *name, const char *doc, PyObject *bases) {
    PyObject *type = bases ? PyErr_NewExceptionWithDoc(name, doc, bases, NULL) : NULL;
    Py_XDECREF(bases);
    if (type && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, type) < 0) Py_CLEAR(type);
    return type;
}

// Adds an exception class with one to three bases to the module. `second` and `third` may be NULL.
static PyObject *spyp_exception_add(PyObject *module, const char *name, const char *doc, PyObject *first, PyObject *second, PyObject *third) {
    PyObject *bases = third ? PyTuple_Pack(3, first, second, third) : second ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first);
    return spyp_exception_of_bases(module, name, doc, bases);
}

int spyp_errors_ready(PyObject *module) {
    spyp.error = spyp_exception_add(module, "slangpy.Error",
                                    "An error of the library. The text says which function, which argument, what was expected and what "
                                    "came.",
                                    PyExc_RuntimeError, NULL, NULL);
    if (!spyp.error) return -1;
    // SlangPy raises these two for arguments that do not fit. Scripts catch them, so the library's errors about arguments are both.
    PyObject *bound = spyp_exception_add(module, "slangpy.BoundVariableException", "BoundVariableException(message, variable): an argument "
                                         "does not fit the parameter.", PyExc_Exception, NULL, NULL);
    PyObject *resolve = bound ? spyp_exception_add(module, "slangpy.ResolveException", "No function fits the arguments of a call.", bound, NULL, NULL)
                              : NULL;
    Py_XDECREF(bound);
    if (!resolve) return -1;
    spyp.type_error = spyp_exception_of_bases(module, "slangpy.ArgumentTypeError",
                                              "A type that does not fit. Also a TypeError, and a ValueError for scripts that "
                                              "were written for SlangPy.",
                                              PyTuple_Pack(4, spyp.error, PyExc_TypeError, PyExc_ValueError, resolve));
    spyp.value_error = spyp_exception_add(module, "slangpy.ArgumentValueError",
                                          "A value, shape or number of arguments that does not fit. Also a ValueError.",
                                          spyp.error, PyExc_ValueError, resolve);
    Py_DECREF(resolve);
    if (!spyp.value_error) return -1;
    spyp.lookup_error = spyp_exception_add(module, "slangpy.NameNotFoundError",
                                           "A name, file or object that was not found. Also a KeyError, an AttributeError and a ValueError.",
                                           spyp.value_error, PyExc_KeyError, PyExc_AttributeError);
    spyp.compile_error = spyp_exception_add(module, "slangpy.SlangCompileError",
                                            "Slang code that does not compile: the compiler's text, with file and line.",
                                            spyp.error, NULL, NULL);
    if (!spyp.compile_error) return -1;
    spyp.kernel_error = spyp_exception_add(module, "slangpy.KernelCompileError",
                                           "A kernel that a call or a dispatch has generated does not compile. Also a ValueError.", spyp.compile_error,
                                           PyExc_ValueError, NULL);
    spyp.marshalled = PyErr_NewException("slangpy._Marshalled", PyExc_TypeError, NULL);
    spyp.wants_gradient = PyErr_NewException("slangpy._WantsGradient", spyp.error, NULL);
    spyp.attribute_error = PyExc_AttributeError;
    spyp.index_error = spyp_exception_add(module, "slangpy.IndexOutOfRangeError",
                                          "An index that a tensor does not have. Also an IndexError.", spyp.error, PyExc_IndexError, NULL);
    if (!spyp.index_error || !spyp.marshalled || !spyp.wants_gradient || !spyp.kernel_error || !spyp.type_error || !spyp.value_error || !spyp.lookup_error) return -1;
    // KeyError.__str__() would return the repr of the text.
    PyObject *plain = PyObject_GetAttrString(PyExc_BaseException, "__str__");
    int set = plain ? PyObject_SetAttrString(spyp.lookup_error, "__str__", plain) : -1;
    Py_XDECREF(plain);
    return set;
}

static PyObject *spyp_exception_of(spy_status status) {
    switch (status) {
    case SPY_ERROR_TYPE_MISMATCH:
    case SPY_ERROR_AMBIGUOUS: return spyp.type_error;
    case SPY_ERROR_INVALID_ARGUMENT:
    case SPY_ERROR_SHAPE_MISMATCH:
    case SPY_ERROR_OUT_OF_RANGE: return spyp.value_error;
    case SPY_ERROR_NOT_FOUND: return spyp.lookup_error;
    case SPY_ERROR_COMPILE: return spyp.kernel_error;
    case SPY_ERROR_OUT_OF_MEMORY: return PyExc_MemoryError;
    default: return spyp.error;
    }
}

// >>the library's messages in Python's words

// Pairs of a phrase in the library's messages and the words that replace it in Python. They are tried in
// order.
static const char *const spyp_words[][2] = {
    { "a tensor or spy_out_...", "a Tensor, a ValueRef or a writable array" },
    { "a tensor or spy_inout_...", "a Tensor, a ValueRef or a writable array" },
    { "or an address as uint64", "or an address as a large int or a numpy.uint64" },
    { "a struct without names of fields, one for each element", "a list of dicts, one for each element" },
    { "module 'slangpy_default' knows no type ", "for a type of a module's own give module.Name; Slang itself has no type " },
    { " is not known to module 'slangpy_default'", " is none of Slang's own; for a module's own give dtype=module.Name" },
    { "options.constants", ".constants({...})" },
    { "options.prelude", ".prelude(text)" },
    { "desc.link", "link=[...]" },
    { "options.thread_count of one dimension", "_thread_count=" },
    { "; or run it with spy_dispatch", "; dispatch() runs it, too" },
    { ": create it with desc.dtype ", ": Tensor.from_numpy(device, array, dtype=...) converts; give it the dtype " },
    { " (options.globals)", " (see set())" },
    { "spy_create_broadcast()", "broadcast_to()" },
    { "spy_create_reshape()", "reshape()" },
    { "spy_tensor_copy() to a tensor made with desc.like", "copying it to an empty_like()" },
    { "call spy_list_finish() first", "call finish() first" },
    { "spy_dispatch runs it", "dispatch() runs it" },
    { "spy_flush()", "flush()" },
    { "spy_index_rest()", "..." },
    { "; expected spy_vk_backend() or another backend's", "" },
    { "; use spy_vk_backend()", "; use DeviceType.vulkan" },
    { "is not one of spy_dtype", "is not known" },
    { "spy_vk_desc.", "" },
    { "spy_cuda_desc.", "" },
    { "SPY_FEATURE_POINTERS", "Feature.pointer" },
    { "SPY_OPTIMIZATION_NONE", "SlangOptimizationLevel.none" },
    { "SPY_MAX_RANK", "8" },
    { "spy_arg_any(), alone or within spy_vmap(), spy_vdim() or spy_vcast()", "None, vmapping(...) or a type" },
    { "spy_vmap", "vmap" },
    { "spy_vdim", "vdim" },
    { "spy_vcast", "vcast" },
    { "spy_declare", "declare" },
    { " desc.print_buffer_bytes", " print_buffer_size" },
    { "a tensor with one, spy_arg_diff_pair, or a struct of p and d", "a tensor with_grads(), a DiffPair, or a dict of p and d" },
    { "make its tensor with_grad, or give spy_arg_diff_pair", "give a tensor with_grads(), or a DiffPair" },
    { "spy_call_forward_diff works", "fwds() works" },
    { "spy_call_backward works", "bwds() works" },
    { "make their tensors with_grad", "give tensors with_grads()" },
    { " desc.with_grad", " with_grads()" },
    { " with_grad: ", " " },
    { "desc.grad_in", "argument 'grad_in'" },
    { "desc.grad_out", "argument 'grad_out'" },
    { " that are known without desc.module", "" },
    { " desc.like", " empty_like()" },
    { " desc.", " " },
    { " options.", " " },
    { "got void tensor ", "got an untyped buffer (Tensor(buffer, dtype, shape) gives it a type) of bytes " },
};

PyObject *spyp_translate(const char *text, const char *what, bool all) {
    size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    bool prefix = strncmp(text, "spy_", 4) == 0 && strncmp(text + name, ": ", 2) == 0;
    if (prefix) text += name + 2;
    const char *all_of_it = prefix ? text - 1 : text; // includes the space before `text`
    PyObject *rest = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"), *from, *to;
    PyObject *result = rest && prefix && what ? spyp_format("%s: %U", what, rest) : Py_XNewRef(rest);
    for (size_t i = 0; all && result && i < sizeof spyp_words / sizeof *spyp_words; i++) {
        if (!strstr(all_of_it, spyp_words[i][0])) continue;
        from = PyUnicode_FromString(spyp_words[i][0]);
        to = PyUnicode_FromString(spyp_words[i][1]);
        spyp_replace(&result, from && to ? PyUnicode_Replace(result, from, to, -1) : NULL);
        Py_XDECREF(from);
        Py_XDECREF(to);
    }
    Py_XDECREF(rest);
    return result;
}

static PyObject *spyp_raise_as(PyObject *exception, spy_status status, const char *message, const char *what) {
    if (PyErr_Occurred()) return NULL; // the error of a callback is more exact
    if (!message || !*message) message = spy_status_text(status);
    // Compile errors quote Slang code, which must not be translated.
    PyObject *text = spyp_translate(message, what, status != SPY_ERROR_COMPILE);
    if (text) PyErr_SetObject(exception, text);
    Py_XDECREF(text);
    return NULL;
}

PyObject *spyp_raise_status(spy_status status, const char *message, const char *what) {
    return spyp_raise_as(spyp_exception_of(status), status, message, what);
}

PyObject *spyp_raise(spyp_device *d) {
    spy_error error = spy_take_error(d ? d->device : NULL);
    if (spyp_raise_heard(d)) return NULL;
    if (error.code == SPY_OK && d) error = spy_take_error(NULL);
    return spyp_raise_status(error.code == SPY_OK ? SPY_ERROR_INTERNAL : error.code, error.message, d ? d->what : NULL);
}

PyObject *spyp_raise_call(spyp_device *d) {
    spy_error error = spy_take_error(d->device);
    if (spyp_raise_heard(d)) return NULL;
    if (error.code == SPY_OK) error = spy_take_error(NULL);
    spy_status status = error.code == SPY_OK ? SPY_ERROR_INTERNAL : error.code;
    return spyp_raise_as(spyp_exception_of(status), status, error.message, NULL);
}

PyObject *spyp_raise_source(spyp_device *d) {
    spy_error error = spy_take_error(d->device);
    if (spyp_raise_heard(d)) return NULL;
    bool text = error.code == SPY_ERROR_COMPILE || error.code == SPY_ERROR_IO;
    return spyp_raise_as(text ? spyp.compile_error : spyp_exception_of(error.code), error.code, error.message, d->what);
}

PyObject *spyp_raise_index(spyp_device *d) {
    spy_error error = spy_take_error(d->device);
    if (spyp_raise_heard(d)) return NULL;
    PyObject *exception = error.code == SPY_ERROR_OUT_OF_RANGE ? spyp.index_error : spyp_exception_of(error.code);
    return spyp_raise_as(exception, error.code, error.message, d->what);
}

// >>words before the text of an error that is set

void spyp_error_words(bool deep, const char *format, va_list list) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (type == PyExc_RecursionError ? !deep
                                     : type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_OverflowError &&
                                           !PyErr_GivenExceptionMatches(type, spyp.error)) {
        PyErr_Restore(type, value, trace);
        return;
    }
    PyObject *words = PyUnicode_FromFormatV(format, list), *text = words ? spyp_format("%U%S", words, value) : NULL;
    if (text) PyErr_SetObject(type, text);
    Py_XDECREF(words);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

void *spyp_error_behind(const char *format, ...) {
    va_list list;
    va_start(list, format);
    spyp_error_words(true, format, list);
    va_end(list);
    return NULL;
}
