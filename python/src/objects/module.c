// The extension module: adds its types in the order in which they depend on each other, and has the functions by which slangpy/*.py set the
// module's state.
#include "objects/objects.h"
#include "values/math_view.h"

#ifdef __GLIBC__
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#endif

#include "state/cold.h"

static PyObject *spyp_after_fork(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(self);
    SPYP_UNUSED(ignored);
    spyp.fork_count++;
    Py_RETURN_NONE;
}

#ifdef __GLIBC__
static void spyp_end_now(int status, void *ignored) {
    SPYP_UNUSED(ignored);
    (void)fflush(NULL);
    _exit(status);
}
#endif

// Lets the process end without the exit handlers that were registered before. Threads of a driver still compile or run abandoned work,
// and would use what LLVM's handlers destroy: lavapipe ended such a process with a segmentation fault in one of two runs.
static void spyp_end_without_handlers(void) {
#ifdef __GLIBC__
    (void)on_exit(spyp_end_now, NULL);
#endif
}

static PyObject *spyp_at_exit(PyObject *self, PyObject *interrupted) {
    SPYP_UNUSED(self);
    spyp.exiting = true;
    spyp.leaving = interrupted == Py_True;
    if (spyp.interrupted) spyp_end_without_handlers();
    Py_RETURN_NONE;
}

static PyMethodDef spyp_module_methods[] = {
    { "_at_exit", spyp_at_exit, METH_O,
      "Tells the module that the interpreter ends; True: because of Ctrl-C. Work whose wait Ctrl-C has ended is not waited for again, "
      "and in this case no work is." },
    { "_after_fork", spyp_after_fork, METH_NOARGS, "Tells the module in the child of a fork that existing devices belong to the "
        "parent." },
    { NULL, NULL, 0, NULL },
};

static int spyp_module_exec(PyObject *module) {
    if (spyp.module) {
        PyErr_SetString(PyExc_ImportError, "slangpy: one interpreter of a process can import it");
        return -1;
    }
    spyp.module = module;
    if (spyp_state_ready() < 0 || spyp_errors_ready(module) < 0 || spyp_device_ready(module) < 0 ||
        spyp_modules_ready(module) < 0 || spyp_function_ready(module) < 0 || spyp_shape_ready(module) < 0 || spyp_tensor_ready(module) < 0 ||
        spyp_values_ready(module) < 0 || spyp_buffer_ready(module) < 0 || spyp_encoder_ready(module) < 0 ||
        spyp_math_ready(module) < 0 || spyp_reflection_ready(module) < 0 || spyp_resolve_ready(module) < 0 ||
        spyp_extension_ready(module) < 0 || spyp_names_ready() < 0 || spyp_describe_ready() < 0 || spyp_gradient_ready(module) < 0 ||
        spyp_vectorized_ready(module) < 0 || spyp_cuda_ready(module) < 0 || spyp_foreign_ready(module) < 0 ||
        spyp_texture_ready(module) < 0 || spyp_raster_ready(module) < 0 || spyp_fuse_ready(module) < 0 ||
        spyp_autograd_ready(module) < 0 || spyp_launch_ready(module) < 0 || spyp_sharing_ready(module) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SPY_VERSION", SPY_VERSION);
}

static PyModuleDef_Slot spyp_module_slots[] = {
    { Py_mod_exec, (void *)spyp_module_exec },
#if PY_VERSION_HEX >= 0x030C0000
    { Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED },
#endif
    { 0, NULL },
};

static struct PyModuleDef spyp_module_def = {
    PyModuleDef_HEAD_INIT, "slangpy._slangpy", "Call Slang GPU functions from Python: slangpy.h as an extension.", 0,
    spyp_module_methods, spyp_module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__slangpy(void);
PyMODINIT_FUNC PyInit__slangpy(void) {
    return PyModuleDef_Init(&spyp_module_def);
}
