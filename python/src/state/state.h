// The lowest layer of the Python extension: its one static struct, the structs of all Python objects, the
// memory of a call, errors, and entering a device. It uses only public declarations of slangpy.h.
//
// The layers, from below; each is a folder, and each includes, declares and calls only what it or a layer
// below it defines (tools/amalgamate --check):
//   state       the static struct and the structs of all objects, errors, entering a device
//   values      Python values in memory: shapes, vectors, arrays, element types, contents of tensors
//   conversion  a Python value as an argument of a call, and what comes back
//   calls       one call: its arguments, options and results, also as part of a command list
//   objects     the classes that Python's users see, and the extension module
#ifndef SPYP_STATE_H
#define SPYP_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_T_INT T_INT
#define Py_T_BOOL T_BOOL
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_READONLY READONLY
#endif
#include "slangpy.h"

#include <stdarg.h>

// Host memory of a large array; NULL if there is none.
typedef struct spyp_memory {
    void *data;
    size_t size; // bytes
} spyp_memory;
#define SPYP_KEPT_BLOCKS 4

// >>state: there is one struct, because there is one interpreter
typedef struct spyp_state {
    PyObject *module;
    // Exception classes for the library's statuses.
    PyObject *error, *type_error, *value_error, *lookup_error, *attribute_error, *compile_error, *kernel_error, *index_error, *marshalled, *wants_gradient;
    // Classes of this package.
    PyTypeObject *device, *module_type, *struct_type, *function, *tensor, *ndbuffer, *shape, *generator, *generators[5], *value_ref,
        *packed, *vectorized, *recorder, *encoder, *commands, *pair, *texture, *sampler, *raster;
    // Interned strings: names that are looked up in objects and dicts, such as "_result" in s_result.
    PyObject *s_result, *s_append_to, *s_type, *s_get_this, *s_update_this, *s_dlpack, *s_dlpack_device,
        *s_cuda_array, *s_array_interface, *s_dtype, *s_name, *s_exchange, *s_to_save, *s_saved_tensors, *s_needs_input_grad, *s_call,
        *s_contiguous;
    PyTypeObject *reflections[10], *binding, *resolution; // reflections[i]: the class of spyp_reflected i
    PyObject *s_to_cursor;
    PyObject *python_types, *cursor_types; // dicts: class -> function(value); see extension.c
    PyObject *numpy;                       // the module; NULL until it is needed
    PyObject *logger; // function(level, message), or NULL
    PyTypeObject *write_back, *cursor, *element_cursor; // classes of arrays.c and cursor.c
    PyTypeObject *host_block;                // class of host_memory.c
    spyp_memory kept[SPYP_KEPT_BLOCKS];      // memory of freed arrays, the latest first
    // The objects of torch that slangpy.autograd has passed to this module; see calls/autograd.c.
    struct {
        PyTypeObject *types[2]; // torch.Tensor and torch.nn.Parameter
        PyObject *apply;        // makes a node of torch's graph
        PyObject *grad_enabled, *transforms_active, *zeros_like, *empty_like;
    } torch;
    Py_ssize_t tracers; // the number of threads in which slangpy.fusion records calls instead of making them
    unsigned long fork_count;                           // forks between the first process and this one
    bool exiting, leaving; // exiting: the interpreter is ending. leaving: Ctrl-C ends it
    bool interrupted;      // Ctrl-C has ended a wait, whose work may still run
} spyp_state;
extern spyp_state spyp;

// >>objects

#define SPYP_SHARED 4 // CUDA streams of other libraries per device, and per call

// One CUDA stream in which another library uses memory that it shares with the device.
typedef struct spyp_shared {
    void *stream;   // the stream's handle
    uint32_t users; // leases that name this stream
} spyp_shared;

struct spyp_device;
// The functions of higher layers that a device needs. They are set when the device is made.
typedef struct spyp_above {
    // Order the device's work with the streams of other libraries, at the outermost spyp_enter() and
    // spyp_leave(). After an error, enter() has left the device and returns -1 with an exception set.
    int (*enter)(struct spyp_device *device);
    void (*leave)(struct spyp_device *device);
    // Returns an empty module, for types that no module defines, as a new reference.
    struct spyp_module *(*default_module)(struct spyp_device *device);
} spyp_above;

typedef struct spyp_device {
    PyObject_HEAD
    spy_device *device; // NULL after close()
    unsigned long owner;              // the id of the thread that uses the device
    const char *what;                 // Python function in use, for error texts; NULL means that the text names it
    // The number of spyp_enter() of `owner` without their spyp_leave(): callbacks may enter again. `depth` and `owner` change only under
    // the GIL.
    uint32_t depth;
    uint32_t waiting;                   // threads that wait to enter the device
    bool woken;                         // one of the waiting threads was woken and has not run yet
    PyThread_type_lock turn;            // released to wake one waiting thread; otherwise always held
    PyThreadState *released;            // thread state of `owner` while it waits without the GIL, or NULL
    uint32_t blocked;                   // waits of the library that have begun and not ended; they nest
    unsigned long fork_count;           // spyp.fork_count of the process that made the device
    PyObject *log, *progress, *reports; // callables, or NULL
    // The text of the last logged error, kept until it is known whether an exception has the same text, or NULL.
    PyObject *held;
    PyObject *printed; // a list of the texts that kernels print, while they are collected, or NULL
    // Lists of (number, function) and of functions, or NULL.
    PyObject *close_callbacks, *reload_callbacks;
    unsigned long callback_count; // the number of the last close callback
    uint32_t reload_count; // the number of reloads of modules since the device was made; look-ups from before a reload may be out of date
    PyObject *lender; // the Device whose Vulkan objects this one uses, which must outlive it, or NULL
    PyObject *pack;   // the bytes of the pack that the device runs from, or NULL
    PyObject *types;          // dict: (module or None, type name) -> Struct
    // Callable, or class of a library's arrays, that gives this thread's CUDA stream, or NULL.
    PyObject *follow;
    void *stream;             // CUDA stream that the device's work goes to; NULL means the device's own stream
    PyObject *extra;          // a dict of objects that slangpy/*.py keeps with the device, or NULL
    const spyp_above *above;
    struct spyp_imports *imports;    // tensors over other libraries' memory (foreign.c), or NULL
    spyp_shared shared[SPYP_SHARED]; // streams of other libraries, ordered with all work of the device
    uint32_t shared_count;
    PyObject *returned; // a list of ended leases whose memory the device can use again, or NULL
    int cuda;           // CUDA's number of the GPU; -1 means that the backend is not CUDA
    PyObject *weakrefs;
    // hot_reload: calls reload modules whose files have changed. quiet: the library's messages are dropped,
    // because a search that finds nothing is no error.
    bool hot_reload, quiet;
    bool closing;     // close() is running
    PyObject *heard;  // exception that a signal's handler raised while the library waited, or NULL
    bool interrupted; // Ctrl-C ended the last wait for the device's work
    uint64_t reload_interval_ns, reload_due_ns; // reload_due_ns: calls before this time of the coarse clock look for no changes
} spyp_device;

typedef struct spyp_module {
    PyObject_HEAD
    spyp_device *device;
    spy_module *module;
    PyObject *name;
    PyObject *found; // dict: name -> Function or Struct
    uint32_t found_at; // device->reload_count when `found` was emptied last
    PyObject *link;  // a tuple of Modules, kept alive
    PyObject *reflected; // dict: key of a reflection object -> its address, while it lives; or NULL
    // Tuple for load_again(): path as bytes, name and source, each or None, options, link.
    PyObject *made;
    PyObject *extra; // a dict of objects that Python code keeps with the module, or NULL
    PyObject *weakrefs;
    bool plain; // a SlangModule: a reload makes its reflection objects invalid, as in SlangPy
} spyp_module;

// A Slang type of a module, or a built-in one: the object `module.Foo` or `module.float3`.
typedef struct spyp_struct {
    PyObject_HEAD
    spyp_module *module;
    const spy_type_info *info; // lives as long as the module
    PyObject *name;
} spyp_struct;

// A class of arguments that a function was called with, and its converter.
typedef struct spyp_seen {
    PyTypeObject *type;
    const struct spyp_converter *converter;
} spyp_seen;
#define SPYP_SEEN 8

// The options, maps and bound arguments that chained methods have added to a function. It does not change once it is made, and functions
// that are chained further share it.
typedef struct spyp_chain {
    Py_ssize_t references;
    PyObject *self;               // bound instance, or NULL
    PyObject *map_args, *map_kwargs; // tuple and dict of map()'s entries, or NULL
    PyObject *constants, *globals;   // dicts, or NULL
    PyObject *setters; // a tuple, or NULL: dicts and callables that return further globals at each call, of set(), and a tuple
                       // (callable, arguments, keywords) for each write()
    PyObject *prelude;            // str, or NULL
    PyObject *conformances;       // a tuple of str, or NULL
    PyObject *result;             // the class that was given to return_type(), or NULL
    spy_call_mode mode;
    bool deterministic;
    uint32_t shared_bytes; // dynamic shared memory of a group; 0 if there is none
    void *stream; // CUDA stream of the calls; NULL means the device's
    uint32_t group[3];
    spy_shape call_group;
} spyp_chain;

typedef struct spyp_quick spyp_quick; // calls/quick.c
typedef struct spyp_autograd spyp_autograd; // calls/autograd.c

typedef struct spyp_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    spyp_module *module;
    spy_function *function;
    PyObject *name;
    spyp_chain *chain;   // NULL means that nothing is chained
    unsigned int traits; // bits SPYP_TRAIT_...; 0 if not known yet
    PyObject *declared;  // the arguments of declare(): (tuple, dict), or NULL
    spyp_quick *quick;   // how calls of a declared function are repeated, or NULL
    spyp_autograd *graphs; // forms of calls that become nodes of torch's graph without Python code, or NULL
    PyObject *modes[2];  // the functions .bwds and .fwds; NULL until they are used
    spyp_seen seen[SPYP_SEEN];
} spyp_function;

typedef struct spyp_tensor {
    PyObject_HEAD
    spyp_device *device;
    spy_tensor *tensor;
    PyObject *dtype;  // Struct of the elements; NULL until it is used
    PyObject *module; // Module that the element type comes from, or NULL
    PyObject *grad_in, *grad_out; // Tensors, or NULL
    bool read_only;               // the tensor's usage says that no call may write it
    int usage, memory;            // the BufferUsage and MemoryType of enums.py that the buffer was made with; 0 means the defaults
    PyObject *owner;              // lease of another library's memory under the tensor, or NULL
    spy_tensor *root; // for a view: the tensor that the memory was made for, retained; otherwise NULL
    PyObject *weakrefs;
} spyp_tensor;

// A texture or a view of one: the base class of Texture and TextureView, whose other members are Python's.
typedef struct spyp_texture {
    PyObject_HEAD
    spyp_device *device;
    spy_texture *texture;
    PyObject *sampler; // a Sampler for parameters such as Sampler2D<T>, or None
    PyObject *weakrefs;
} spyp_texture;

typedef struct spyp_sampler {
    PyObject_HEAD
    spyp_device *device;
    spy_sampler *sampler;
    PyObject *weakrefs;
} spyp_sampler;

// >>rules: what code of the user can change, and when
//
// Code of the user runs in more places than one expects: in __float__, __index__, __len__, __getitem__,
// __hash__, __eq__, __bool__, __str__, get_this(), update_this(), properties, buffer exporters, warnings and
// callbacks; and in __del__ and weak references' callbacks, whenever a reference is dropped or an object is
// allocated (the garbage collector). That code may change each list and dict, delete each attribute, close
// the device, load a cursor again, or call the same function once more. The rules of all files:
//
// 1. A list or dict of the user is never read in place. spyp_list_items() and spyp_dict_items() first copy
//    its references into a tuple, without running any code, and the tuple is what is measured, checked and
//    read.
// 2. Keys of dicts that become names must be str; spyp_dict_items() checks them. spyp_utf8() refuses text
//    with NUL characters, which C would cut off.
// 3. The value of a call, an attribute or an item is a new reference, and C may point into it (texts of keys,
//    components of vectors, memory of arrays). spyp_arena_keep() keeps it until the call has run. Borrowed
//    references are used only while no code can run.
// 4. Buffers stay exported until the call has run. DLPack capsules are renamed meanwhile, so that nobody else
//    consumes them.
// 5. Each recursion over data of the user counts its depth with spyp_arena_down() (or Py_EnterRecursiveCall()
//    where there is no arena), and each call counts the calls within it: both end in a RecursionError.
// 6. What was looked up in the device is looked up again after code of the user ran. Device.close() is
//    refused meanwhile.
// 7. Objects of another device are refused before anything of them is used: that device may be closed.

// >>memory of one call

// The memory that is freed when the call ends. Small calls need only `first`.
typedef struct spyp_arena {
    uint64_t first[192];
    size_t used;            // the bytes of `first` that are taken
    size_t room;            // the bytes of `first`
    void **more;            // blocks of PyMem_Malloc(), linked by their first word
    struct spyp_held *held; // exported buffers, the newest first
    PyObject *kept;         // a list of objects that must live until the call ends, or NULL
    uint32_t depth;         // the number of spyp_arena_down() without their spyp_arena_up()
} spyp_arena;

#define SPYP_MOST_DEPTH 100 // most levels of dicts, lists, get_this() and so on

void spyp_arena_begin(spyp_arena *arena);
void spyp_arena_end(spyp_arena *arena);
// Returns `size` bytes, aligned to 16 and not zeroed, or NULL with a MemoryError set.
void *spyp_arena_take(spyp_arena *arena, size_t size);
// Keeps a new reference to the object until the call ends. Returns 0, or -1 with an exception set.
int spyp_arena_keep(spyp_arena *arena, PyObject *object);
// Takes over the reference `made`, keeps it until the call ends, and returns it borrowed. Returns NULL with
// an exception set if that fails or if `made` is NULL.
PyObject *spyp_arena_kept(spyp_arena *arena, PyObject *made);
// Call it before each recursion into data of the user, and spyp_arena_up() after it, also after an error.
// Returns 0, or -1 with a RecursionError set.
int spyp_arena_down(spyp_arena *arena);
static inline void spyp_arena_up(spyp_arena *arena) {
    arena->depth--;
}
// Exports the object's buffer until the call ends. Returns NULL with an exception set if the object does not
// export it.
Py_buffer *spyp_arena_buffer(spyp_arena *arena, PyObject *object, int flags);

// >>enter.c
// Call these before and after each use of device->device. spyp_enter() waits for other threads without the
// GIL. It returns -1 with an exception set if the device is closed or was made before a fork.
int spyp_enter(spyp_device *device, const char *what);
void spyp_leave(spyp_device *device);
// Keeps the exception of a signal handler, which is set, until the call ends: a call that fails raises it in place of its own error
// (spyp_raise), and spyp_leave() has it raised behind any other call.
void spyp_keep_heard(spyp_device *device);
// Raises the exception that was kept; false if there is none.
bool spyp_raise_heard(spyp_device *device);
// Waits for all work of the device and lets Ctrl-C end the wait. Returns -1 with an exception set. Call it
// between enter and leave.
int spyp_wait(spyp_device *device);
// Call it before spy_tensor_read(). On CUDA it waits like spyp_wait(); on Vulkan spy_tensor_read() itself
// lets Ctrl-C end its wait.
int spyp_wait_to_read(spyp_device *device);
// Returns the device that a Device or Module stands for, borrowed, or NULL with a TypeError set.
spyp_device *spyp_device_of(PyObject *object, const char *what);
// spyp_log() passes a message to the device's log function, or to the package's. spyp_notify() calls any function of the user. Exceptions
// that these functions raise are printed.
void spyp_log(spyp_device *device, long level, PyObject *text);
void spyp_notify(PyObject *function, PyObject *first, PyObject *second);

// >>errors.c
int spyp_errors_ready(PyObject *module);
// Raises the device's last error as an exception, or the thread's if `device` is NULL. Always returns NULL.
PyObject *spyp_raise(spyp_device *device);
// Like spyp_raise() for an error of a call, whose text names the Slang function itself.
PyObject *spyp_raise_call(spyp_device *device);
PyObject *spyp_raise_source(spyp_device *device); // does the same as spyp_raise() for loading; a missing file is a SlangCompileError, too
PyObject *spyp_raise_index(spyp_device *device); // does the same as spyp_raise(), with an IndexError for an index out of range
// Raises a status and the library's message. `what` is the Python function, which replaces the C function's
// name at the beginning; if `what` is NULL, no name stands there.
PyObject *spyp_raise_status(spy_status status, const char *message, const char *what);
// Returns a message of the library in Python's words, as a new reference. If `all` is false, only the
// function's name is replaced.
PyObject *spyp_translate(const char *text, const char *what, bool all);
// Puts words before the text of the exception that is set, if it is the library's or a TypeError, ValueError
// or OverflowError. Always returns NULL.
void *spyp_error_behind(const char *format, ...);
// Does the same as spyp_error_behind(). If `deep` is true, words are also put before the text of a
// RecursionError.
void spyp_error_words(bool deep, const char *format, va_list list);

// >>state.c
int spyp_state_ready(void); // makes the interned strings; 0, or -1 with an exception set
// Put the items of a list of paths or strings into the arena as C strings. Return 0, or -1 with an exception
// set.
int spyp_paths(spyp_arena *arena, PyObject *paths, const char *where, const char *const **out, size_t *count);
int spyp_strings(spyp_arena *arena, PyObject *list, const char *where, const char *what, const char *const **out, size_t *count);
const char *spyp_attribute_text(PyObject *name); // does the same as spyp_utf8(); its errors are AttributeErrors
// Adds one property; 0, or -1 with an exception set.
int spyp_getset_add(PyTypeObject *type, PyGetSetDef *def);
PyObject *spyp_list_items(PyObject *list); // the items of a list or tuple as a tuple, a new reference
// Returns (key, value, key, value, ...) of a dict as a new tuple, without running code of the user. Raises a
// TypeError if a key is no str; its text begins with `what: ` unless `what` is NULL.
PyObject *spyp_dict_items(PyObject *dict, const char *what);
// Returns a key's value from a tuple of spyp_dict_items(), borrowed, or NULL.
PyObject *spyp_item_named(PyObject *items, const char *name);

PyTypeObject *spyp_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base); // returns a new reference
// Adds another file's methods; 0, or -1 with an exception set.
int spyp_methods_add(PyTypeObject *type, PyMethodDef *methods);
PyObject *spyp_alloc(PyTypeObject *type); // a zeroed object, or NULL with an exception set
void spyp_free(PyObject *self);           // frees the object's memory and drops its reference to its type
// Returns a str as UTF-8 that lives as long as the str. Returns NULL with an exception set, also for text
// with NUL characters.
const char *spyp_utf8(PyObject *string);
PyObject *spyp_format(const char *format, ...); // a new str, or NULL with an exception set
// Returns the one argument of `method`, borrowed, which was given by position or by its name. Returns NULL
// with a TypeError set for other arguments.
PyObject *spyp_one_argument(const char *method, const char *parameter, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords);
int spyp_check_args(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most);

#define SPYP_UNUSED(x) (void)(x)

// These functions are missing in the limited API of Python 3.12. spyp_replace() takes over the reference `value`.
static inline void spyp_replace(PyObject **at, PyObject *value) {
    PyObject *old = *at;
    *at = value;
    Py_XDECREF(old);
}
static inline PyObject *spyp_call_method(PyObject *object, PyObject *name) {
    return PyObject_CallMethodObjArgs(object, name, NULL);
}
static inline PyObject *spyp_call_method_one(PyObject *object, PyObject *name, PyObject *arg) {
    return PyObject_CallMethodObjArgs(object, name, arg, NULL);
}
#define SPYP_DECREF(object) Py_XDECREF((PyObject *)(object))
#define SPYP_FUNC(f) ((PyCFunction)(void (*)(void))(f))
// Defines `named`, a METH_FASTCALL | METH_KEYWORDS method, over `function`, a METH_O one: its one argument may
// be given by name, too.
#define SPYP_NAMED(named, function, method, parameter)                                                       \
    static PyObject *named(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {    \
        PyObject *value = spyp_one_argument(method, parameter, args, count, keywords);                       \
        return value ? function(self, value) : NULL;                                                         \
    }

#if defined(_MSC_VER)
#define SPYP_THREAD_LOCAL __declspec(thread)
#else
#define SPYP_THREAD_LOCAL __thread
#endif

// Whether slangpy.fusion records the calls of this thread.
extern SPYP_THREAD_LOCAL bool spyp_tracing;

#if defined(__GNUC__)
#define SPYP_LIKELY(x) __builtin_expect(!!(x), 1)
#define SPYP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define SPYP_LIKELY(x) (x)
#define SPYP_UNLIKELY(x) (x)
#endif

#endif // SPYP_STATE_H
