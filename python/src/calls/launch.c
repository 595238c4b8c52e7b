// Launches of slang-torch's kernels. slangpy/slangtorch.py makes a _Launcher for each number of threads and groups, and checks the sizes
// once. A _Launch, the result of kernel(...), holds the arguments and passes them to the launcher without another check of names or sizes.
#include "calls/calls.h"

#include <stddef.h>

// A kernel with the sizes of its launches.
typedef struct spyp_launcher {
    PyObject_HEAD spyp_function *function; // the function, whose chain has the threads of a group
    PyObject *names;                       // a tuple of the parameters' names
    uint32_t block[3], grid[3];
    spy_uint3 threads;
} spyp_launcher;

// A kernel with its arguments: the base class of slangtorch.TorchLaunch.
typedef struct spyp_launch {
    PyObject_HEAD PyObject *kernel; // slangtorch.TorchKernel
    PyObject *values;               // a tuple of the arguments, one for each parameter
    bool launched;
} spyp_launch;

static PyTypeObject *spyp_launcher_type;
static PyObject *spyp_s_block, *spyp_s_grid, *spyp_s_last, *spyp_s_prepare;

// >>launching

static int spyp_launch_take(spyp_invocation *in, const spyp_launcher *l, PyObject *values) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(l->names); i++) {
        PyObject *name = PyTuple_GetItem(l->names, i);
        const char *text = spyp_utf8(name);
        if (!text || spyp_take_argument(in, PyTuple_GetItem(values, i), name, text, -1) < 0) return -1;
    }
    return 0;
}

// Runs the kernel with the arguments `values`. Returns 0, or -1 with an exception set.
static int spyp_launch_run(const spyp_launcher *l, PyObject *values) {
    spyp_function *f = l->function;
    spyp_device *d = f->module->device;
    spyp_invocation in;
    spyp_invocation_begin(&in, f);
    in.dispatch = true;
    int status = spyp_nested_begin(&in.call);
    if (status == 0) status = spyp_launch_take(&in, l, values);
    if (status == 0) status = spyp_take_options(&in);
    if (status == 0 && (status = spyp_enter(d, "dispatch")) == 0) {
        void *stream = spyp_asked_stream(&in);
        spyp_look_for_changes(d);
        bool begun = spyp_work_begin(&in, stream) == SPY_OK;
        bool good = begun && spy_dispatch(f->function, l->threads, in.args, in.has_options ? &in.options : NULL) == SPY_OK;
        if (begun && !good) spyp_raise_call(d);
        else if (!begun) spyp_raise(d);
        if (begun && spyp_work_end(&in, stream) != SPY_OK && good) {
            spyp_raise(d);
            good = false;
        }
        spyp_leave(d);
        status = good ? 0 : -1;
        if (good && in.call.updates) status = spyp_give_updates(&in.call);
    }
    spyp_call_end(&in.call);
    spyp_nested_end();
    return status;
}

// _Launcher(...)(values): runs the kernel.
static PyObject *spyp_launcher_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    spyp_launcher *l = (spyp_launcher *)(void *)self;
    PyObject *values = !kwargs && PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    if (!values || !PyTuple_Check(values) || PyTuple_Size(values) != PyTuple_Size(l->names))
        return PyErr_Format(PyExc_TypeError, "%U: expected a tuple of %zd arguments", l->function->name, PyTuple_Size(l->names));
    if (spyp_launch_run(l, values) < 0) return NULL;
    Py_RETURN_NONE;
}

// Returns whether the object is a tuple of these three ints.
static inline bool spyp_launch_same(PyObject *object, const uint32_t sizes[3]) {
    if (!PyTuple_CheckExact(object) || PyTuple_Size(object) != 3) return false;
    for (Py_ssize_t i = 0; i < 3; i++) {
        PyObject *item = PyTuple_GetItem(object, i);
        int overflow = 0;
        if (!PyLong_CheckExact(item) || PyLong_AsLongAndOverflow(item, &overflow) != (long)sizes[i] || overflow) return false;
    }
    return true;
}

// Returns the launcher for these sizes, a new reference: the kernel's last launcher, or the result of kernel._prepare(). NULL with an
// exception set.
static PyObject *spyp_launcher_for(PyObject *kernel, PyObject *block, PyObject *grid) {
    PyObject *last = PyObject_GetAttr(kernel, spyp_s_last);
    if (!last) return NULL;
    if (Py_TYPE(last) == spyp_launcher_type && spyp_launch_same(block, ((spyp_launcher *)(void *)last)->block) &&
        spyp_launch_same(grid, ((spyp_launcher *)(void *)last)->grid))
        return last;
    Py_DECREF(last);
    return PyObject_CallMethodObjArgs(kernel, spyp_s_prepare, block, grid, NULL);
}

// Lets kernel._explain(error) change the exception that is set. Always returns NULL.
static PyObject *spyp_launch_explain(PyObject *kernel) {
    PyObject *type, *value, *trace;
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(spyp.error)) return NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *changed = PyObject_CallMethod(kernel, "_explain", "O", value);
    if (changed) PyErr_SetObject((PyObject *)Py_TYPE(changed), changed);
    Py_XDECREF(changed);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return NULL;
}

// >>launches

// Finds blockSize and gridSize, borrowed. Returns 0, or -1 with a TypeError set.
static int spyp_launch_sizes(PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject *out[2]) {
    Py_ssize_t k = names ? PyTuple_Size(names) : 0;
    out[0] = n > 0 ? args[0] : NULL;
    out[1] = n > 1 ? args[1] : NULL;
    bool good = n <= 2;
    for (Py_ssize_t i = 0; good && i < k; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int which = name == spyp_s_block || PyUnicode_Compare(name, spyp_s_block) == 0  ? 0
                    : name == spyp_s_grid || PyUnicode_Compare(name, spyp_s_grid) == 0 ? 1
                                                                                       : -1;
        good = which >= 0 && !out[which];
        if (good) out[which] = args[n + i];
    }
    if (good && out[0] && out[1]) return 0;
    PyErr_SetString(PyExc_TypeError, "launchRaw: expected blockSize and gridSize, a tuple of 3 ints each");
    return -1;
}

static PyObject *spyp_launch_raw(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    spyp_launch *launch = (spyp_launch *)(void *)self;
    PyObject *sizes[2];
    launch->launched = true;
    if (spyp_launch_sizes(args, n, names, sizes) < 0) return NULL;
    PyObject *made = spyp_launcher_for(launch->kernel, sizes[0], sizes[1]), *values = Py_NewRef(launch->values);
    int status = -1;
    if (made && Py_TYPE(made) == spyp_launcher_type && PyTuple_Size(values) == PyTuple_Size(((spyp_launcher *)(void *)made)->names)) {
        status = spyp_launch_run((const spyp_launcher *)(const void *)made, values);
        if (status < 0 && PyErr_ExceptionMatches(spyp.wants_gradient)) {
            // A kernel takes the memory of a tensor that requires a gradient, such as a parameter, as it is.
            PyErr_Clear();
            spyp_replace(&values, PyObject_CallMethod(launch->kernel, "_without_gradients", "(O)", values));
            status = values ? spyp_launch_run((const spyp_launcher *)(const void *)made, values) : -1;
        }
        if (status < 0) (void)spyp_launch_explain(launch->kernel);
    } else if (made) {
        PyErr_SetString(PyExc_TypeError, "launchRaw: expected the arguments of its kernel");
    }
    Py_XDECREF(made);
    Py_XDECREF(values);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

// _Launch(kernel, values): the constructor.
static PyObject *spyp_launch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(kwargs);
    if (PyTuple_Size(args) != 2 || !PyTuple_Check(PyTuple_GetItem(args, 1))) return PyErr_Format(PyExc_TypeError, "_Launch: expected a kernel and a tuple");
    spyp_launch *launch = (spyp_launch *)(void *)spyp_alloc(type);
    if (!launch) return NULL;
    launch->kernel = Py_NewRef(PyTuple_GetItem(args, 0));
    launch->values = Py_NewRef(PyTuple_GetItem(args, 1));
    return (PyObject *)launch;
}

// Warns of a launch that was never made. Python calls it for classes that are written in Python, as TorchLaunch is.
static void spyp_launch_finalize(PyObject *self) {
    spyp_launch *launch = (spyp_launch *)(void *)self;
    PyObject *type, *value, *trace;
    if (launch->launched || spyp.exiting) return;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done = PyObject_CallMethod(launch->kernel, "_never_launched", NULL);
    if (!done) PyErr_WriteUnraisable(launch->kernel);
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}

static int spyp_launch_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_launch *launch = (spyp_launch *)(void *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(launch->kernel);
    Py_VISIT(launch->values);
    return 0;
}

static void spyp_launch_dealloc(PyObject *self) {
    spyp_launch *launch = (spyp_launch *)(void *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(launch->kernel);
    Py_CLEAR(launch->values);
    spyp_free(self);
}

// >>launchers

// _Launcher(function, names, block, grid): the constructor.
static PyObject *spyp_launcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *names;
    unsigned int b[3], g[3];
    SPYP_UNUSED(kwargs);
    if (!PyArg_ParseTuple(args, "O!O!(III)(III):_Launcher", spyp.function, &function, &PyTuple_Type, &names, &b[0], &b[1], &b[2], &g[0], &g[1], &g[2]))
        return NULL;
    spyp_launcher *l = (spyp_launcher *)(void *)spyp_alloc(type);
    if (!l) return NULL;
    l->function = (spyp_function *)Py_NewRef(function);
    l->names = Py_NewRef(names);
    uint64_t threads[3];
    for (int i = 0; i < 3; i++) {
        l->block[i] = b[i];
        l->grid[i] = g[i];
        threads[i] = (uint64_t)b[i] * g[i];
        if (threads[i] <= UINT32_MAX) continue;
        PyErr_Format(spyp.value_error, "dispatch: argument 'thread_count': expected numbers from 0 to 4294967295, got %llu", (unsigned long long)threads[i]);
        Py_DECREF((PyObject *)l);
        return NULL;
    }
    l->threads.x = (uint32_t)threads[0];
    l->threads.y = (uint32_t)threads[1];
    l->threads.z = (uint32_t)threads[2];
    return (PyObject *)l;
}

static int spyp_launcher_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_launcher *)(void *)self)->function);
    return 0;
}

static void spyp_launcher_dealloc(PyObject *self) {
    spyp_launcher *l = (spyp_launcher *)(void *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(l->function);
    Py_CLEAR(l->names);
    spyp_free(self);
}

static PyType_Slot spyp_launcher_slots[] = {
    { Py_tp_doc, (void *)"_Launcher(function, names, block, grid): a kernel with the sizes of its launches. It takes a tuple of arguments." },
    { Py_tp_new, (void *)spyp_launcher_new },
    { Py_tp_call, (void *)spyp_launcher_call },
    { Py_tp_traverse, (void *)spyp_launcher_traverse },
    { Py_tp_dealloc, (void *)spyp_launcher_dealloc },
    { 0, NULL },
};

static PyMethodDef spyp_launch_methods[] = {
    { "launchRaw", SPYP_FUNC(spyp_launch_raw), METH_FASTCALL | METH_KEYWORDS, "launchRaw(blockSize, gridSize): runs gridSize groups of blockSize threads." },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef spyp_launch_members[] = {
    { "_kernel", Py_T_OBJECT_EX, offsetof(spyp_launch, kernel), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot spyp_launch_slots[] = {
    { Py_tp_doc, (void *)"_Launch(kernel, values): a kernel with its arguments." },
    { Py_tp_new, (void *)spyp_launch_new },
    { Py_tp_finalize, (void *)spyp_launch_finalize },
    { Py_tp_traverse, (void *)spyp_launch_traverse },
    { Py_tp_dealloc, (void *)spyp_launch_dealloc },
    { Py_tp_methods, spyp_launch_methods },
    { Py_tp_members, spyp_launch_members },
    { 0, NULL },
};

static PyType_Spec spyp_launcher_spec = { "slangpy._slangpy._Launcher", sizeof(spyp_launcher), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_launcher_slots };
static PyType_Spec spyp_launch_spec = { "slangpy._slangpy._Launch", sizeof(spyp_launch), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                        spyp_launch_slots };

int spyp_launch_ready(PyObject *module) {
    spyp_s_block = PyUnicode_InternFromString("blockSize");
    spyp_s_grid = PyUnicode_InternFromString("gridSize");
    spyp_s_last = PyUnicode_InternFromString("_last");
    spyp_s_prepare = PyUnicode_InternFromString("_prepare");
    if (!spyp_s_block || !spyp_s_grid || !spyp_s_last || !spyp_s_prepare) return -1;
    return (spyp_launcher_type = spyp_type_add(module, &spyp_launcher_spec, NULL)) && spyp_type_add(module, &spyp_launch_spec, NULL) ? 0 : -1;
}
