// The class Device: making and closing devices, their methods, and callbacks from the library.
#include "objects/objects.h"
#include "slangpy_cuda.h"
#include "slangpy_vk.h"

#include <string.h>

#include "state/cold.h"

// >>callbacks from the library, which may run with the GIL or without it

static void spyp_on_block(bool begins, void *user_data) {
    spyp_device *d = (spyp_device *)user_data;
    if (d->owner != PyThread_get_thread_ident()) return;
    if (begins) {
        if (d->blocked++ == 0) d->released = PyEval_SaveThread();
    } else if (--d->blocked == 0) {
        PyThreadState *state = d->released;
        d->released = NULL;
        PyEval_RestoreThread(state);
    }
}

// The library calls this function while the thread waits without the GIL. The device keeps the exception that a signal handler raises,
// because the library may still end the call successfully.
static bool spyp_on_interrupt(void *user_data) {
    spyp_device *d = (spyp_device *)user_data;
    if (d->owner != PyThread_get_thread_ident() || !d->released) return false;
    PyEval_RestoreThread(d->released);
    bool raised = PyErr_CheckSignals() < 0;
    if (raised) spyp_keep_heard(d);
    spyp.interrupted = spyp.interrupted || raised;
    d->interrupted = d->interrupted || raised; // a running compilation is abandoned when the process ends
    d->released = PyEval_SaveThread();
    return raised;
}

static void spyp_on_log(spy_log_level level, const char *message, void *user_data) {
    spyp_device *d = (spyp_device *)user_data;
    if (d->quiet) return;
    PyGILState_STATE state = PyGILState_Ensure();
    if (d->printed && level == SPY_LOG_LEVEL_INFO) {
        PyObject *line = spyp_format("%s\n", message);
        if (!line || PyList_Append(d->printed, line) < 0) PyErr_Clear();
        Py_XDECREF(line);
    } else {
        bool ours = d->depth && d->owner == PyThread_get_thread_ident();
        PyObject *text = spyp_translate(message, ours ? d->what : NULL, false);
        if (text && level == SPY_LOG_LEVEL_ERROR && ours) {
            PyObject *first = d->held;
            d->held = Py_NewRef(text);
            if (first) spyp_log(d, SPY_LOG_LEVEL_ERROR, first);
            Py_XDECREF(first);
        } else {
            spyp_log(d, (long)level, text);
        }
        Py_XDECREF(text);
    }
    PyGILState_Release(state);
}

static void spyp_on_progress(const char *step, bool finished, void *user_data) {
    spyp_device *d = (spyp_device *)user_data;
    if (!d->progress && !d->reports) return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *text = PyUnicode_DecodeUTF8(step, (Py_ssize_t)strlen(step), "replace");
    if (d->reports) spyp_notify(d->reports, text, finished ? Py_True : Py_False);
    if (d->progress) spyp_notify(d->progress, text, finished ? Py_True : Py_False);
    Py_XDECREF(text);
    PyGILState_Release(state);
}

static void spyp_on_reload(struct spy_module *module, spy_status status, const char *message, void *user_data) {
    spyp_device *d = (spyp_device *)user_data;
    SPYP_UNUSED(module);
    d->reload_count += status == SPY_OK;
    if (!d->reload_callbacks) return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *good = status == SPY_OK ? Py_True : Py_False;
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *list = PySequence_List(d->reload_callbacks);
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) spyp_notify(PyList_GetItem(list, i), good, text);
    Py_XDECREF(list);
    Py_XDECREF(text);
    PyGILState_Release(state);
}

// >>functions for the layers below

static const spyp_above spyp_device_above = { spyp_stream_enter, spyp_stream_leave, spyp_module_default };

// >>making

typedef struct spyp_backend {
    const char *name;
    const spy_backend *(*get)(void);
    const char *why_not;
} spyp_backend;

static const spyp_backend spyp_backends[] = {
    { "automatic", spy_vk_backend, NULL },
    { "vulkan", spy_vk_backend, NULL },
    { "cuda", spy_cuda_backend, NULL },
    { "d3d12", NULL, "the D3D12 backend is not built into this version" },
    { "metal", NULL, "Metal is out of this library's scope; Vulkan (MoltenVK) is what it runs on there" },
    { "wgpu", NULL, "WebGPU is out of this library's scope" },
    { "cpu", NULL, "a CPU target is out of this library's scope; Vulkan runs on the CPU by Mesa's lavapipe" },
};

// Finds the backend for DeviceType.vulkan, "vulkan" or None.
static const spy_backend *spyp_backend_of(PyObject *type, const char *where) {
    PyObject *name = NULL;
    if (type == Py_None) return spy_vk_backend();
    if (PyUnicode_Check(type)) name = Py_NewRef(type);
    else name = PyObject_GetAttr(type, spyp.s_name);
    const char *text = name && PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    const spy_backend *backend = NULL;
    const spyp_backend *found = NULL;
    for (size_t i = 0; text && i < sizeof spyp_backends / sizeof *spyp_backends; i++)
        if (strcmp(spyp_backends[i].name, text) == 0) found = &spyp_backends[i];
    if (found && found->get) {
        backend = found->get();
    } else if (found) {
        PyErr_Format(spyp.error, "%s: DeviceType.%s: %s", where, found->name, found->why_not);
    } else {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: argument 'type': expected a DeviceType, got %R", where, type);
    }
    Py_XDECREF(name);
    return backend;
}

static int spyp_device_setup(spyp_device *d, PyObject *type, const char *adapter_name, unsigned int adapter, PyObject *paths,
                             PyObject *slang_paths, spy_device_desc *desc) {
    spyp_arena arena;
    spyp_arena_begin(&arena);
    desc->backend = spyp_backend_of(type, "create_device");
    int status = desc->backend ? spyp_paths(&arena, paths, "create_device", &desc->include_paths, &desc->include_path_count) : -1;
    if (status == 0) status = spyp_paths(&arena, slang_paths, "create_device", &desc->slang_paths, &desc->slang_path_count);
    if (status == 0) {
        desc->adapter = adapter;
        desc->adapter_name = adapter_name;
        desc->log.func = spyp_on_log;
        desc->log.user_data = d;
        desc->log.level = SPY_LOG_LEVEL_WARNING; // messages that kernels print are logged at any level
        desc->progress.func = spyp_on_progress;
        desc->progress.user_data = d;
        desc->blocking.func = spyp_on_block;
        desc->blocking.user_data = d;
        desc->interrupt.func = spyp_on_interrupt;
        desc->interrupt.user_data = d;
        desc->reload.func = spyp_on_reload;
        desc->reload.user_data = d;
        d->owner = PyThread_get_thread_ident();
        d->depth = 1;
        d->device = spy_create_device(desc);
        bool cuda = d->device && strcmp(spy_get_device_info(d->device).backend, "cuda") == 0;
        if (cuda) d->cuda = (int)spy_cuda_get_adapter(d->device) - 1;
        if (!d->device) {
            spy_error error = spy_take_error(NULL);
            spyp_raise_status(error.code, error.message, "create_device");
            status = -1;
        }
        spyp_leave(d);
    }
    spyp_arena_end(&arena);
    return status;
}

// Parses a LUID as enumerate_adapters() gives it. It has 16 bytes, and the first one is the adapter's number,
// from 1.
static int spyp_luid_parse(PyObject *luid, unsigned int *adapter) {
    PyObject *bytes = PyUnicode_Check(luid) || PyDict_Check(luid) ? NULL : PySequence_Tuple(luid);
    bool good = bytes && PyTuple_Size(bytes) == 16;
    for (Py_ssize_t i = 0; good && i < 16; i++) {
        PyObject *byte = PyTuple_GetItem(bytes, i);
        long n = PyLong_Check(byte) ? PyLong_AsLong(byte) : -1;
        good = n >= 0 && n <= 255 && (i == 0 || n == 0);
        if (i == 0) *adapter = (unsigned int)n;
    }
    good = good && *adapter > 0;
    Py_XDECREF(bytes);
    if (good) return 0;
    PyErr_Clear();
    PyErr_Format(spyp.value_error, "create_device: argument 'adapter_luid': expected the 16 bytes that enumerate_adapters() gives as an adapter's luid, got %R", luid);
    return -1;
}

// Reads compute capabilities, as 90 for sm_90. Returns their number, or -1 with an exception set.
static Py_ssize_t spyp_archs_parse(PyObject *archs, uint32_t *numbers, Py_ssize_t most) {
    PyObject *items = PySequence_Tuple(archs);
    Py_ssize_t count = items ? PyTuple_Size(items) : -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        long n = i < most && PyLong_Check(item) ? PyLong_AsLong(item) : -1;
        if (n < 10 || n > 999) {
            PyErr_Clear();
            PyErr_Format(spyp.value_error, "create_device: argument 'pack_archs': expected at most %zd compute capabilities such as 90 for sm_90, got %R", most, archs);
            count = -1;
            break;
        }
        numbers[i] = (uint32_t)n;
    }
    Py_XDECREF(items);
    return count;
}

// Gets the Vulkan objects of another Device.
static int spyp_device_share(PyObject *other, spy_vk_desc *vulkan) {
    spyp_device *d = spyp_device_of(other, "create_device");
    if (!d || spyp_enter(d, "create_device") < 0) return -1;
    spy_status status = spy_vk_share_device(d->device, vulkan);
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    return status == SPY_OK ? 0 : -1;
}

// Returns the Vulkan objects of the device as (VkInstance, VkPhysicalDevice, VkDevice).
static PyObject *spyp_device_vulkan(PyObject *self, PyObject *ignored) {
    spy_vk_desc vulkan;
    SPYP_UNUSED(ignored);
    if (spyp_device_share(self, &vulkan) < 0) return NULL;
    return Py_BuildValue("(NNN)", PyLong_FromVoidPtr(vulkan.instance), PyLong_FromVoidPtr(vulkan.physical_device),
                         PyLong_FromVoidPtr(vulkan.device));
}

static PyObject *spyp_device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "type", "enable_debug_layers", "adapter_luid", "include_paths", "enable_cuda_interop",
                             "enable_print", "enable_hot_reload", "enable_compilation_reports", "cuda_context",
                             "bindless_options", "adapter_name", "max_plans", "slang_library", "dump_directory", "label",
                             "log", "progress", "print_buffer_size", "compiler_options", "compile_timeout_s", "check_bounds", "slang_paths", "shared",
                             "cache_path", "cache_size", "pack", "record_pack", "offline", "pack_archs", NULL };
    PyObject *backend = Py_None, *luid = Py_None, *paths = NULL, *context = Py_None, *bindless = Py_None, *log = Py_None,
             *progress = Py_None, *options = Py_None, *slang_paths = Py_None, *shared = Py_None, *pack = Py_None, *archs = Py_None;
    const char *adapter_name = NULL, *library = NULL, *dump = NULL, *label = NULL, *cache = NULL;
    unsigned long long cache_size = 0;
    int layers = 0, interop = 0, print = 0, reload = 1, reports = 0, bounds = 0, records = 0, offline = 0;
    unsigned int plans = 0, adapter = 0;
    Py_ssize_t print_bytes = 0;
    double timeout = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OpOOppppOOzIzzzOOnOdpOOzKOppO:create_device", names, &backend, &layers, &luid, &paths,
                                     &interop, &print, &reload, &reports, &context, &bindless, &adapter_name, &plans, &library,
                                     &dump, &label, &log, &progress, &print_bytes, &options, &timeout, &bounds, &slang_paths, &shared,
                                     &cache, &cache_size, &pack, &records, &offline, &archs))
        return NULL;
    uint32_t arch_numbers[16];
    Py_ssize_t arch_count = archs == Py_None ? 0 : spyp_archs_parse(archs, arch_numbers, 16);
    if (arch_count < 0) return NULL;
    spy_cuda_desc cuda;
    memset(&cuda, 0, sizeof cuda);
    if (context != Py_None && !(cuda.context = PyLong_AsVoidPtr(context)) && PyErr_Occurred()) return NULL;
    if (luid != Py_None && spyp_luid_parse(luid, &adapter) < 0) return NULL;
    if (options != Py_None && !paths) { // SlangCompilerOptions or a dict
        paths = PyDict_Check(options) ? Py_XNewRef(PyDict_GetItemString(options, "include_paths"))
                                      : PyObject_GetAttrString(options, "include_paths");
        if (!paths) PyErr_Clear();
    } else {
        Py_XINCREF(paths);
    }
    spyp_device *d = (spyp_device *)spyp_alloc(type);
    if (!d || !(d->turn = PyThread_allocate_lock())) {
        Py_XDECREF(paths);
        Py_XDECREF((PyObject *)d);
        return d ? PyErr_NoMemory() : NULL;
    }
    PyThread_acquire_lock(d->turn, WAIT_LOCK);
    d->fork_count = spyp.fork_count;
    d->cuda = -1;
    d->above = &spyp_device_above;
    d->log = log == Py_None ? NULL : Py_NewRef(log);
    d->progress = progress == Py_None ? NULL : Py_NewRef(progress);
    d->hot_reload = reload;
    d->reload_interval_ns = 300000000u;
    d->types = PyDict_New();
    d->extra = PyDict_New();
    spy_device_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.backend_desc = cuda.context ? &cuda : NULL;
    spy_vk_desc vulkan;
    if (shared != Py_None && d->types && d->extra) {
        if (spyp_device_share(shared, &vulkan) < 0) {
            Py_XDECREF(paths);
            Py_DECREF((PyObject *)d);
            return NULL;
        }
        d->lender = Py_NewRef(shared);
        desc.backend_desc = &vulkan;
    }
    desc.slang_library = library;
    desc.dump_directory = dump;
    desc.max_plans = plans;
    desc.enable_validation = layers;
    desc.label = label;
    desc.enable_print = print;
    desc.print_buffer_bytes = (size_t)print_bytes;
    desc.compile_timeout_s = timeout;
    desc.check_bounds = bounds;
    desc.cache_path = cache;
    desc.cache_size_bytes = cache_size;
    desc.record_pack = records;
    desc.offline = offline;
    desc.pack_archs = arch_count ? arch_numbers : NULL;
    desc.pack_arch_count = (size_t)arch_count;
    if (PyBytes_Check(pack)) {
        d->pack = Py_NewRef(pack);
        desc.pack_data = PyBytes_AsString(pack);
        desc.pack_size_bytes = (size_t)PyBytes_Size(pack);
    } else if (pack != Py_None) {
        desc.pack = PyUnicode_AsUTF8AndSize(pack, NULL);
        if (!desc.pack) {
            Py_XDECREF(paths);
            Py_DECREF((PyObject *)d);
            return NULL;
        }
    }
    int status = d->types && d->extra ? spyp_device_setup(d, backend, adapter_name, adapter, paths, slang_paths, &desc) : -1;
    Py_XDECREF(paths);
    if (status < 0) Py_CLEAR(d);
    return (PyObject *)d;
}

// Calls every close callback, also after one has raised. *error gets the first exception; later exceptions
// are printed.
static void spyp_call_close_callbacks(spyp_device *d, PyObject **error) {
    PyObject *callbacks = d->close_callbacks;
    d->close_callbacks = NULL;
    for (Py_ssize_t i = 0; callbacks && i < PyList_Size(callbacks); i++) {
        PyObject *function = Py_NewRef(PyTuple_GetItem(PyList_GetItem(callbacks, i), 1));
        PyObject *result = PyObject_CallFunctionObjArgs(function, (PyObject *)d, NULL);
        if (!result && !*error) {
            PyObject *type, *trace;
            PyErr_Fetch(&type, error, &trace);
            PyErr_NormalizeException(&type, error, &trace);
            if (trace) PyException_SetTraceback(*error, trace);
            Py_XDECREF(type);
            Py_XDECREF(trace);
        } else if (!result) {
            PyErr_WriteUnraisable(function);
        }
        Py_XDECREF(result);
        Py_DECREF(function);
    }
    Py_XDECREF(callbacks);
}

// Closes a device. Returns -1 with an exception set if it stays open. Call it inside the device.
static int spyp_device_end(spyp_device *d) {
    PyDict_Clear(d->types);
    PyDict_Clear(d->extra);
    spyp_wait(d); // Ctrl-C ends this wait; other errors do not keep the device open
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(spyp.error)) return -1;
    PyErr_Clear();
    spyp_imports_drop(d);
    Py_CLEAR(d->returned);
    spy_device *device = d->device;
    d->device = NULL;
    spy_release_device(device);
    Py_CLEAR(d->pack);
    return 0;
}

static PyObject *spyp_device_close(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    PyObject *error = NULL;
    SPYP_UNUSED(ignored);
    if (!d->device || d->closing) Py_RETURN_NONE;
    Py_CLEAR(d->follow); // the stream is not needed any more, and asking for it may fail
    if (spyp_enter(d, "Device.close") < 0) return NULL;
    if (d->depth > 1) { // code of the user calls close() during a use of the device
        spyp_leave(d);
        return PyErr_Format(spyp.error, "Device.close: the device is in use by this thread: expected no call from a callback or a conversion of a value");
    }
    d->closing = true;
    spyp_call_close_callbacks(d, &error);
    int status = spyp_device_end(d);
    spyp_host_memory_drop();
    d->closing = false;
    spyp_leave(d);
    if (status == 0 && error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static int spyp_device_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_device *d = (spyp_device *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(d->log);
    Py_VISIT(d->progress);
    Py_VISIT(d->reports);
    Py_VISIT(d->close_callbacks);
    Py_VISIT(d->reload_callbacks);
    Py_VISIT(d->follow);
    Py_VISIT(d->types);
    Py_VISIT(d->extra);
    Py_VISIT(d->returned);
    Py_VISIT(d->heard);
    return 0;
}

static int spyp_device_clear(PyObject *self) {
    spyp_device *d = (spyp_device *)self;
    Py_CLEAR(d->log);
    Py_CLEAR(d->progress);
    Py_CLEAR(d->reports);
    Py_CLEAR(d->held);
    Py_CLEAR(d->follow);
    Py_CLEAR(d->close_callbacks);
    Py_CLEAR(d->reload_callbacks);
    Py_CLEAR(d->types);
    Py_CLEAR(d->extra);
    Py_CLEAR(d->returned);
    Py_CLEAR(d->heard);
    return 0;
}

// Waits for the device's work before the device is released. Returns false after a Ctrl-C; then the device
// stays until the process ends.
static bool spyp_outwait(spyp_device *d) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    d->owner = PyThread_get_thread_ident();
    d->depth = 1;
    d->what = "Device";
    spyp_wait(d);
    bool left = PyErr_Occurred() && !PyErr_ExceptionMatches(spyp.error);
    if (left) PyErr_WriteUnraisable((PyObject *)Py_TYPE((PyObject *)d));
    else PyErr_Clear(); // errors of the device's work are not reported
    PyErr_Restore(type, value, trace);
    return !left;
}

static void spyp_device_dealloc(PyObject *self) {
    spyp_device *d = (spyp_device *)self;
    PyObject_GC_UnTrack(self);
    if (d->weakrefs) PyObject_ClearWeakRefs(self);
    Py_CLEAR(d->types); // the types hold objects that use the device
    Py_CLEAR(d->extra);
    spyp_imports_drop(d);
    // A release would wait for work that ends with the process.
    bool abandoned = spyp.exiting && (spyp.leaving || d->interrupted);
    if (d->device && d->fork_count == spyp.fork_count && !abandoned && spyp_outwait(d)) {
        spy_device *device = d->device;
        d->device = NULL;
        spy_release_device(device);
    }
    if (!spyp.exiting) spyp_host_memory_drop();
    spyp_device_clear(self);
    Py_CLEAR(d->lender);
    Py_CLEAR(d->pack);
    if (d->turn) PyThread_free_lock(d->turn);
    spyp_free(self);
}

// >>methods

static PyObject *spyp_device_wait(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.wait") < 0) return NULL;
    int status = spyp_wait(d);
    spyp_leave(d);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_submit(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.flush") < 0) return NULL;
    spy_submit_id id = spy_flush(d->device);
    spy_error error = { SPY_OK, "" };
    if (!id) error = spy_take_error(d->device);
    if (error.code != SPY_OK) spyp_raise_status(error.code, error.message, d->what);
    spyp_leave(d);
    return error.code == SPY_OK ? PyLong_FromUnsignedLongLong(id) : NULL;
}

static PyObject *spyp_device_wait_for_submit(PyObject *self, PyObject *arg) {
    spyp_device *d = (spyp_device *)self;
    spy_submit_id id = PyLong_AsUnsignedLongLong(arg);
    if (PyErr_Occurred() || spyp_enter(d, "Device.wait_for_submit") < 0) return NULL;
    spy_status status = SPY_ERROR_NOT_READY;
    while (status == SPY_ERROR_NOT_READY && !PyErr_Occurred()) {
        status = spy_wait_for_submit(d->device, id, 50000000u);
        if (status == SPY_ERROR_NOT_READY) PyErr_CheckSignals();
    }
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_is_finished(PyObject *self, PyObject *arg) {
    spyp_device *d = (spyp_device *)self;
    spy_submit_id id = PyLong_AsUnsignedLongLong(arg);
    if (PyErr_Occurred() || spyp_enter(d, "Device.is_submit_finished") < 0) return NULL;
    bool done = spy_is_submit_finished(d->device, id);
    spyp_leave(d);
    return PyBool_FromLong(done);
}

static PyObject *spyp_info_dict(const spy_device_info *i) {
    return Py_BuildValue("{s:s,s:s,s:s,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:K,s:K,s:d,s:I,s:I,s:I}", "backend", i->backend, "name", i->name, "driver",
                         i->driver, "type", (int)i->type, "api_version", i->api_version, "features", i->features,
                         "subgroup_size", i->subgroup_size, "max_group_size", i->max_group_size, "max_group_count",
                         i->max_group_count, "max_inline_block_bytes", i->max_inline_block_bytes, "memory_bytes",
                         (unsigned long long)i->memory_bytes, "max_binding_bytes", (unsigned long long)i->max_binding_bytes,
                         "timestamp_period_ns", i->timestamp_period_ns, "multiprocessor_count", i->multiprocessor_count,
                         "max_shared_bytes", i->max_shared_bytes, "max_groupshared_bytes", i->max_groupshared_bytes);
}

static PyObject *spyp_device_info(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.info") < 0) return NULL;
    spy_device_info info = spy_get_device_info(d->device);
    spyp_leave(d);
    return spyp_info_dict(&info);
}

static PyObject *spyp_device_stats(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.stats") < 0) return NULL;
    spy_device_stats s = spy_get_device_stats(d->device);
    spyp_leave(d);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "calls", s.calls, "plan_hits", s.plan_hits,
                         "plans_built", s.plans_built, "kernels_built", s.kernels_built, "dispatches", s.dispatches, "barriers",
                         s.barriers, "submits", s.submits, "plan_count", s.plan_count, "pool_bytes", s.pool_bytes, "used_bytes",
                         s.used_bytes, "driver_allocations", s.driver_allocations, "compiler_loads", s.compiler_loads,
                         "driver_bytes", s.driver_bytes, "cache_hits", s.cache_hits, "cache_misses", s.cache_misses, "cache_writes",
                         s.cache_writes);
}

static PyObject *spyp_device_trim(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.trim") < 0) return NULL;
    bool good = spyp_wait(d) == 0;
    if (good && spy_trim(d->device) != SPY_OK) good = spyp_raise(d) != NULL;
    spyp_leave(d);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// Returns the same moment on the GPU's and on the host's clock: (gpu_ns, host_ns).
static PyObject *spyp_device_calibration(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.get_timestamp_calibration") < 0) return NULL;
    spy_calibration c = { 0, 0 };
    spy_status status = spy_get_calibration(d->device, &c);
    if (status != SPY_OK) spyp_raise(d);
    spyp_leave(d);
    return status == SPY_OK ? Py_BuildValue("KK", (unsigned long long)c.gpu_ns, (unsigned long long)c.host_ns) : NULL;
}

static PyObject *spyp_device_set_dump(PyObject *self, PyObject *path) {
    spyp_device *d = (spyp_device *)self;
    PyObject *bytes = NULL;
    spy_status status = SPY_ERROR_RELEASED;
    if (path != Py_None && !PyUnicode_FSConverter(path, &bytes)) return NULL;
    if (spyp_enter(d, "set_dump_generated_shaders") == 0) {
        status = spy_set_dump_directory(d->device, bytes ? PyBytes_AsString(bytes) : NULL);
        if (status != SPY_OK) spyp_raise(d);
        spyp_leave(d);
    }
    Py_XDECREF(bytes);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_save_pack(PyObject *self, PyObject *path) {
    spyp_device *d = (spyp_device *)self;
    PyObject *bytes = NULL;
    spy_status status = SPY_ERROR_RELEASED;
    if (!PyUnicode_FSConverter(path, &bytes)) return NULL;
    if (spyp_enter(d, "Device.save_pack") == 0) {
        status = spy_save_pack(d->device, PyBytes_AsString(bytes));
        if (status != SPY_OK) spyp_raise(d);
        spyp_leave(d);
    }
    Py_XDECREF(bytes);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_pack_manifest(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    PyObject *text = NULL;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.pack_manifest") < 0) return NULL;
    size_t size = spy_get_pack_manifest(d->device, NULL, 0);
    char *copy = PyMem_Malloc(size + 1);
    if (copy) {
        copy[0] = '\0';
        (void)spy_get_pack_manifest(d->device, copy, size + 1);
        text = PyUnicode_FromString(copy);
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(copy);
    spyp_leave(d);
    return text;
}

// Adds `item` to one of the device's lists of callbacks.
static int spyp_add_callback(PyObject **list, PyObject *item) {
    if (!*list) *list = PyList_New(0);
    return item && *list ? PyList_Append(*list, item) : -1;
}

static PyObject *spyp_device_on_close(PyObject *self, PyObject *function) {
    spyp_device *d = (spyp_device *)self;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "Device.register_device_close_callback: expected a callable, got %R", (PyObject *)Py_TYPE(function));
    PyObject *number = PyLong_FromUnsignedLong(d->callback_count + 1), *item = number ? PyTuple_Pack(2, number, function) : NULL;
    if (spyp_add_callback(&d->close_callbacks, item) < 0) Py_CLEAR(number);
    else d->callback_count++;
    Py_XDECREF(item);
    return number;
}

static PyObject *spyp_device_off_close(PyObject *self, PyObject *number) {
    PyObject *list = ((spyp_device *)self)->close_callbacks;
    for (Py_ssize_t i = list ? PyList_Size(list) : 0; i-- > 0;) {
        int same = PyObject_RichCompareBool(PyTuple_GetItem(PyList_GetItem(list, i), 0), number, Py_EQ);
        if (same < 0 || (same && PyList_SetSlice(list, i, i + 1, NULL) < 0)) return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *spyp_device_on_hot_reload(PyObject *self, PyObject *function) {
    if (spyp_add_callback(&((spyp_device *)self)->reload_callbacks, function) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_device_set_delay(PyObject *self, PyObject *arg) {
    double ms = PyFloat_AsDouble(arg);
    if (PyErr_Occurred()) return NULL;
    if (!(ms >= 0 && ms < 1e9))
        return PyErr_Format(spyp.value_error, "Device.set_hot_reload_delay: expected milliseconds from 0 on, got %R", arg);
    ((spyp_device *)self)->reload_interval_ns = (uint64_t)(ms * 1e6);
    ((spyp_device *)self)->reload_due_ns = 0;
    Py_RETURN_NONE;
}

// Reloads all modules whose files have changed. Returns the number of reloaded modules.
static PyObject *spyp_device_reload_with(PyObject *self, bool all) {
    spyp_device *d = (spyp_device *)self;
    if (spyp_enter(d, "Device.reload_all_programs") < 0) return NULL;
    spy_reload_info info = { 0, 0, 0 };
    spy_status status = spy_reload_changed(d->device, 0, &info);
    if (status != SPY_OK) spyp_raise_source(d);
    d->reload_count += all || info.reloaded != 0;
    spyp_leave(d);
    return status == SPY_OK ? PyLong_FromUnsignedLong(info.reloaded) : NULL;
}

static PyObject *spyp_device_reload(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_device_reload_with(self, true);
}

static PyObject *spyp_device_reload_changed(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_device_reload_with(self, false);
}

static PyObject *spyp_device_flush_print(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "Device.flush_print") < 0) return NULL;
    bool good = spyp_wait(d) == 0;
    if (good && spy_flush_print(d->device) != SPY_OK) good = spyp_raise(d) != NULL;
    spyp_leave(d);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// Returns the messages that kernels have printed. The library logs them while the host waits, so d->printed collects them during the wait.
static PyObject *spyp_device_print_string(PyObject *self, PyObject *ignored) {
    spyp_device *d = (spyp_device *)self;
    PyObject *lines = PyList_New(0), *text = NULL;
    SPYP_UNUSED(ignored);
    if (!lines || spyp_enter(d, "Device.flush_print_to_string") < 0) {
        Py_XDECREF(lines);
        return NULL;
    }
    d->printed = lines;
    bool good = spyp_wait(d) == 0 && spy_flush_print(d->device) == SPY_OK;
    d->printed = NULL;
    if (!good) spyp_raise(d);
    spyp_leave(d);
    if (good) {
        PyObject *empty = PyUnicode_FromString("");
        text = empty ? PyUnicode_Join(empty, lines) : NULL;
        Py_XDECREF(empty);
    }
    Py_DECREF(lines);
    return text;
}

static PyObject *spyp_device_repr(PyObject *self) {
    spyp_device *d = (spyp_device *)self;
    if (!d->device) return PyUnicode_FromString("<slangpy.Device, closed>");
    spy_device_info info = spy_get_device_info(d->device);
    return spyp_format("<slangpy.Device %s, %s>", info.backend, info.name);
}

static PyObject *spyp_device_closed(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(((spyp_device *)self)->device == NULL);
}

static PyObject *spyp_device_extra(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return Py_NewRef(((spyp_device *)self)->extra);
}

// Gets log, progress or reports: a callable or None.
static PyObject *spyp_callable_get(PyObject *self, void *offset) {
    PyObject *value = *(PyObject **)(void *)((char *)self + (size_t)offset);
    return Py_NewRef(value ? value : Py_None);
}

static int spyp_callable_set(PyObject *self, PyObject *value, void *offset) {
    PyObject **at = (PyObject **)(void *)((char *)self + (size_t)offset), *old = *at;
    if (value && value != Py_None && !PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "Device: expected a callable or None, got %R", (PyObject *)Py_TYPE(value));
        return -1;
    }
    *at = value && value != Py_None ? Py_NewRef(value) : NULL;
    Py_XDECREF(old);
    return 0;
}

static PyObject *spyp_enumerate(PyObject *self, PyObject *args) {
    PyObject *type = Py_None;
    spy_device_info infos[32];
    SPYP_UNUSED(self);
    if (!PyArg_ParseTuple(args, "|O:enumerate_adapters", &type)) return NULL;
    const spy_backend *backend = spyp_backend_of(type, "enumerate_adapters");
    if (!backend) return NULL;
    size_t count = spy_enumerate_adapters(backend, infos, 32);
    spy_error error = spy_take_error(NULL);
    if (!count && error.code != SPY_OK) return spyp_raise_status(error.code, error.message, "enumerate_adapters");
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count && i < 32; i++) {
        PyObject *info = spyp_info_dict(&infos[i]);
        if (!info || PyList_Append(list, info) < 0) Py_CLEAR(list);
        Py_XDECREF(info);
    }
    return list;
}

static PyObject *spyp_set_logger(PyObject *self, PyObject *function) {
    SPYP_UNUSED(self);
    spyp_replace(&spyp.logger, function == Py_None ? NULL : Py_NewRef(function));
    Py_RETURN_NONE;
}

SPYP_NAMED(spyp_device_wait_for_submit_by_id, spyp_device_wait_for_submit, "wait_for_submit", "id")
SPYP_NAMED(spyp_device_is_finished_by_id, spyp_device_is_finished, "is_submit_finished", "id")
SPYP_NAMED(spyp_device_on_close_by_callback, spyp_device_on_close, "register_device_close_callback", "callback")
SPYP_NAMED(spyp_device_set_delay_by_timeout_ms, spyp_device_set_delay, "set_hot_reload_delay", "timeout_ms")
SPYP_NAMED(spyp_device_off_close_by_id, spyp_device_off_close, "unregister_device_close_callback", "id")

static PyMethodDef spyp_device_methods[] = {
    { "close", spyp_device_close, METH_NOARGS, "Wait for the device's work, and release the device and all objects that were made from "
        "it." },
    { "wait", spyp_device_wait, METH_NOARGS, "Submit all work and wait for it. Ctrl-C ends the waiting." },
    { "flush", spyp_device_submit, METH_NOARGS, "Submit all recorded work to the GPU without waiting; gives the submission's id." },
    { "wait_for_submit", SPYP_FUNC(spyp_device_wait_for_submit_by_id), METH_FASTCALL | METH_KEYWORDS, "Wait for the work up to an id "
        "that flush() or a submit function returned." },
    { "is_submit_finished", SPYP_FUNC(spyp_device_is_finished_by_id), METH_FASTCALL | METH_KEYWORDS, "Whether the work up to an id has finished. Never waits." },
    { "_vulkan", spyp_device_vulkan, METH_NOARGS, "(VkInstance, VkPhysicalDevice, VkDevice) of a Vulkan device, as ints." },
    { "_info", spyp_device_info, METH_NOARGS, "The device's properties as a dict." },
    { "stats", spyp_device_stats, METH_NOARGS, "Counts since the device was made: calls, dispatches, barriers, submits, bytes." },
    { "_calibration", spyp_device_calibration, METH_NOARGS, "(gpu_ns, host_ns): one moment on the GPU's clock and the host's." },
    { "_save_pack", spyp_device_save_pack, METH_O, "Write what the device has recorded to a file." },
    { "_pack_manifest", spyp_device_pack_manifest, METH_NOARGS, "The manifest of the device's pack, as text." },
    { "_load_list", spyp_device_load_list, METH_VARARGS, "_load_list(name, tensors): a CommandBuffer of the pack." },
    { "_set_dump_directory", spyp_device_set_dump, METH_O, "Where generated kernels are written from now on; None: nowhere." },
    { "trim", spyp_device_trim, METH_NOARGS, "Give unused pooled memory back to the driver." },
    { "register_device_close_callback", SPYP_FUNC(spyp_device_on_close_by_callback), METH_FASTCALL | METH_KEYWORDS,
      "Call function(device) before the device is released; gives a number for unregister_device_close_callback()." },
    { "_on_reload", spyp_device_on_hot_reload, METH_O, "Call function(succeeded, message) after each reload of a module." },
    { "set_hot_reload_delay", SPYP_FUNC(spyp_device_set_delay_by_timeout_ms), METH_FASTCALL | METH_KEYWORDS, "Set the least time "
        "between two looks at the files, in milliseconds." },
    { "reload_all_programs", spyp_device_reload, METH_NOARGS, "Reload all modules whose files have changed, and return their number." },
    { "_reload_changed", spyp_device_reload_changed, METH_NOARGS, "Do the same as reload_all_programs(), except that plain reflection "
        "objects stay valid if no file has changed." },
    { "flush_print", spyp_device_flush_print, METH_NOARGS, "Wait for work that prints, and deliver its messages to the log." },
    { "flush_print_to_string", spyp_device_print_string, METH_NOARGS,
      "Wait for work that prints; gives its messages, one on each line." },
    { "unregister_device_close_callback", SPYP_FUNC(spyp_device_off_close_by_id), METH_FASTCALL | METH_KEYWORDS, "Forget the close "
        "callback with that number." },
    { NULL, NULL, 0, NULL },
};

#define SPYP_AT(member) ((void *)offsetof(spyp_device, member))
static PyGetSetDef spyp_device_getset[] = {
    { "is_closed", spyp_device_closed, NULL, "Whether close() was called.", NULL },
    { "log", spyp_callable_get, spyp_callable_set, "function(level, message) that sees this device's messages, or None.",
      SPYP_AT(log) },
    { "progress", spyp_callable_get, spyp_callable_set,
      "function(step, finished) called around slow steps such as compiling, or None.", SPYP_AT(progress) },
    { "_reports", spyp_callable_get, spyp_callable_set, "As progress, for compilation reports.", SPYP_AT(reports) },
    { "_follow", spyp_callable_get, spyp_callable_set, "function() that gives the CUDA stream that work goes to, or None.",
      SPYP_AT(follow) },
    { "_extra", spyp_device_extra, NULL, "What Python code keeps with the device: a dict.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_device_members[] = {
    { "__weaklistoffset__", Py_T_PYSSIZET, offsetof(spyp_device, weakrefs), Py_READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot spyp_device_slots[] = {
    { Py_tp_doc, (void *)"A GPU with its memory pool, compiler sessions and cache of compiled calls. See create_device()." },
    { Py_tp_new, (void *)spyp_device_new },
    { Py_tp_dealloc, (void *)spyp_device_dealloc },
    { Py_tp_traverse, (void *)spyp_device_traverse },
    { Py_tp_clear, (void *)spyp_device_clear },
    { Py_tp_repr, (void *)spyp_device_repr },
    { Py_tp_methods, spyp_device_methods },
    { Py_tp_getset, spyp_device_getset },
    { Py_tp_members, spyp_device_members },
    { 0, NULL },
};

static PyType_Spec spyp_device_spec = {
    "slangpy._slangpy._Device", sizeof(spyp_device), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, spyp_device_slots,
};

static PyMethodDef spyp_device_functions[] = {
    { "_enumerate_adapters", spyp_enumerate, METH_VARARGS, "Describe the adapters of a backend as a list of dicts." },
    { "_set_logger", spyp_set_logger, METH_O, "set function(level, message) for the messages of devices without a log of their own; or "
        "None." },
    { NULL, NULL, 0, NULL },
};

int spyp_device_ready(PyObject *module) {
    spyp.device = spyp_type_add(module, &spyp_device_spec, NULL);
    return spyp.device && PyModule_AddFunctions(module, spyp_device_functions) == 0 ? 0 : -1;
}
