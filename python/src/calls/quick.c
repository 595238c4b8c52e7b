// Calls of declared functions that are like an earlier call: same names, same classes of arguments, all of them tensors or numbers. The
// tensors and numbers are put into the arguments of the earlier call.
#include "calls/calls.h"

#include <string.h>

#define SPYP_QUICK_MOST 16 // most arguments of such a call, including the result

// What an argument of the next call must be like, and where it goes. `object` is kept.
typedef struct spyp_quick_item {
    PyTypeObject *type; // Tensor, NDBuffer, float or int, which are never freed
    size_t from;        // the index of this argument in the array of objects that Python passes to the call
} spyp_quick_item;

struct spyp_quick {
    Py_ssize_t n;    // arguments by position
    PyObject *names; // the tuple of the further arguments' names, kept, or NULL
    size_t count;    // the number of `args`
    Py_ssize_t given; // the index of `_result` among the objects; -1 means a new result
    bool busy;       // a call uses `args`; a call within that call does not use this struct
    spyp_quick_item items[SPYP_QUICK_MOST];
    spy_arg args[SPYP_QUICK_MOST];
    spy_result value;
};

void spyp_quick_free(spyp_quick *quick) {
    if (quick) Py_XDECREF(quick->names);
    PyMem_Free(quick);
}

// >>learning

static bool spyp_quick_type(PyTypeObject *type, const spy_arg *arg) {
    if (type == spyp.tensor || type == spyp.ndbuffer) return arg->kind == SPY_ARG_KIND_TENSOR;
    if (type == &PyFloat_Type) return arg->kind == SPY_ARG_KIND_FLOAT;
    return type == &PyLong_Type && arg->kind == SPY_ARG_KIND_INT && arg->dtype == SPY_DTYPE_INT32;
}

// Stores the class and the index of the object that argument `k` was made of. Returns false if the object's class is no
// class of quick calls.
static bool spyp_quick_note(spyp_quick *quick, size_t k, size_t from, PyObject *object, const spy_arg *arg) {
    if (!spyp_quick_type(Py_TYPE(object), arg)) return false;
    quick->items[k].type = Py_TYPE(object);
    quick->items[k].from = from;
    quick->args[k] = *arg;
    return true;
}

void spyp_quick_learn(spyp_function *f, PyObject *const *args, Py_ssize_t n, PyObject *names, const spy_args *made) {
    Py_ssize_t k = names ? PyTuple_Size(names) : 0;
    size_t count = 0;
    bool good = !f->chain && made->count <= SPYP_QUICK_MOST && !(f->quick && f->quick->busy);
    spyp_quick *quick = good ? (spyp_quick *)PyMem_Calloc(1, sizeof *quick) : NULL;
    if (!quick) return;
    quick->n = n;
    quick->given = -1;
    for (Py_ssize_t i = 0; good && i < n + k; i++) {
        const char *name = i < n ? NULL : spyp_utf8(PyTuple_GetItem(names, i - n));
        if (name && strcmp(name, "_result") == 0) {
            quick->given = i;
            continue;
        }
        good = (i < n || (name && name[0] != '_')) && count < made->count &&
               spyp_quick_note(quick, count, (size_t)i, args[i], &made->items[count]);
        count++;
    }
    if (good && quick->given >= 0) { // `_result` is the last argument
        good = count + 1 == made->count && spyp_quick_note(quick, count, (size_t)quick->given, args[quick->given], &made->items[count]) &&
               made->items[count].kind == SPY_ARG_KIND_TENSOR;
    } else if (good) {
        good = count + 1 == made->count && made->items[count].kind == SPY_ARG_KIND_RESULT;
        if (good) quick->args[count] = spy_out_result("_result", &quick->value);
    }
    PyErr_Clear();
    if (!good) {
        spyp_quick_free(quick);
        return;
    }
    quick->count = made->count;
    quick->names = Py_XNewRef(names); // `args` points into these names
    spyp_quick_free(f->quick);
    f->quick = quick;
}

// >>calling

// Puts the objects into the arguments. Returns false if the call is of another form.
static inline bool spyp_quick_take(const spyp_function *f, spyp_quick *quick, PyObject *const *args) {
    size_t count = quick->count - (quick->given < 0);
    for (size_t k = 0; k < count; k++) {
        const spyp_quick_item *item = &quick->items[k];
        PyObject *object = args[item->from];
        spy_arg *arg = &quick->args[k];
        if (Py_TYPE(object) != item->type) return false;
        if (arg->kind == SPY_ARG_KIND_TENSOR) {
            const spyp_tensor *t = (const spyp_tensor *)(const void *)object;
            if (t->device != f->module->device || t->read_only != (arg->direction == SPY_DIRECTION_IN)) return false;
            arg->value.tensor = t->tensor;
        } else if (arg->kind == SPY_ARG_KIND_FLOAT) {
            arg->value.f = PyFloat_AsDouble(object);
        } else {
            int overflow = 0;
            long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
            if (overflow || number < INT32_MIN || number > INT32_MAX) return false;
            arg->value.i = number;
        }
    }
    return true;
}

PyObject *spyp_declared_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    spyp_function *f = (spyp_function *)self;
    spyp_quick *quick = f->quick;
    if ((SPYP_UNLIKELY(spyp.tracers) && spyp_tracing) || !quick || quick->busy || quick->n != PyVectorcall_NARGS(nargsf) || quick->names != names || !spyp_quick_take(f, quick, args))
        return spyp_function_vectorcall(self, args, nargsf, names);
    spyp_device *d = f->module->device;
    PyObject *result = NULL;
    spy_args list;
    list.items = quick->args;
    list.count = quick->count;
    quick->value.tensor = NULL;
    quick->value.type = NULL;
    quick->busy = true; // other threads may run while this thread waits for the device
    if (SPYP_LIKELY(spyp_enter(d, "call") == 0)) {
        spyp_look_for_changes(d);
        bool good = spy_call(f->function, list) == SPY_OK;
        if (!good) spyp_raise_call(d);
        spyp_leave(d);
        if (SPYP_LIKELY(good)) result = quick->given >= 0 ? Py_NewRef(args[quick->given]) : spyp_result_value(f, &quick->value);
    }
    quick->busy = false;
    return result;
}
