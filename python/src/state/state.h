// The lowest layer of the Python extension: the one static struct, what the objects of Python's side are made of, the
// memory of a call, errors, and entering a device. Only public declarations of slangpy.h are used.
//
// The layers, from below; each is a folder, and each includes, declares and calls only what it or a layer below it defines
// (tools/amalgamate --check):
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
#define Py_T_BOOL T_BOOL
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_READONLY READONLY
#endif
#include "slangpy.h"

#include <stdarg.h>

// >>state: one interpreter, so one struct
typedef struct spyp_state {
    PyObject *module;
    // exceptions, by status
    PyObject *error, *type_error, *value_error, *lookup_error, *attribute_error, *compile_error;
    // types
    PyTypeObject *device, *module_type, *struct_type, *function, *tensor, *ndbuffer, *shape, *generator, *value_ref,
        *packed, *recorder, *encoder, *commands, *pair;
    // interned names
    PyObject *s_result, *s_append_to, *s_type, *s_get_this, *s_update_this, *s_dlpack, *s_dlpack_device,
        *s_cuda_array, *s_array_interface, *s_dtype, *s_name, *s_exchange;
    PyTypeObject *reflections[10], *binding, *resolution; // reflections: by spyp_reflected
    PyObject *s_to_cursor;
    PyObject *python_types, *cursor_types; // dict: type -> function(value), see extension.c
    PyObject *numpy;  // the module, once it was needed
    PyObject *logger; // function(level, message), or NULL
    PyTypeObject *write_back, *cursor, *element_cursor; // arrays.c, cursor.c
    unsigned long fork_count;
    bool exiting, leaving; // the interpreter ends; because of Ctrl-C
} spyp_state;
extern spyp_state spyp;

// >>objects

#define SPYP_SHARED 4
typedef struct spyp_shared {
    void *stream;   // CUDA's
    uint32_t users; // leases
} spyp_shared;

struct spyp_device;
// What a device needs of the layers above this one. Set when the device is made.
typedef struct spyp_above {
    int (*enter)(struct spyp_device *device);  // round the outermost entry, with streams of others; -1 with an error, outside again
    void (*leave)(struct spyp_device *device);
    struct spyp_module *(*default_module)(struct spyp_device *device); // an empty module, for types that no module defines; new reference
} spyp_above;

typedef struct spyp_device {
    PyObject_HEAD
    spy_device *device; // NULL: closed
    unsigned long owner;      // thread that is inside
    const char *what;         // what is being done, for errors; NULL: the text says it
    uint32_t depth;           // of its entries: callbacks may use the device again; these two are read and written under the GIL
    uint32_t waiting;         // threads that wait for their turn
    bool woken;               // one of them has been told
    PyThread_type_lock turn;  // released to tell one; else always held
    PyThreadState *released;  // while it is blocked without the GIL
    uint32_t blocked;         // depth of spy_blocking
    unsigned long fork_count; // of the process that made it
    PyObject *log, *progress, *reports; // callables, or NULL
    PyObject *held; // the error that was logged last, until it is known whether it is raised, or NULL
    PyObject *printed; // list that collects what kernels print, or NULL
    PyObject *close_callbacks, *reload_callbacks; // lists, or NULL
    PyObject *types;          // dict: (module or None, type name) -> Struct
    PyObject *follow;         // callable that gives the CUDA stream that this thread's work goes to, or NULL
    void *stream;             // CUDA's, where work goes to; NULL: the device's own
    PyObject *extra;          // dict of what Python code keeps with the device, or NULL
    const spyp_above *above;
    struct spyp_imports *imports; // tensors over memory of others, or NULL: foreign.c
    spyp_shared shared[SPYP_SHARED]; // streams of others whose work is ordered with all of the device's
    uint32_t shared_count;
    PyObject *returned;       // list of leases whose memory others have done with, or NULL
    int cuda;                 // CUDA's number of the GPU; -1: another backend
    PyObject *weakrefs;
    bool hot_reload, quiet; // quiet: messages are for nobody
    bool closing;           // close() runs its callbacks
    bool interrupted;       // Ctrl-C ended the last wait for its work
    uint64_t reload_interval_ns;
} spyp_device;

typedef struct spyp_module {
    PyObject_HEAD
    spyp_device *device;
    spy_module *module;
    PyObject *name;
    PyObject *found; // dict: name -> Function or Struct
    PyObject *link;  // tuple of Modules, kept alive
    PyObject *weakrefs;
} spyp_module;

// A Slang type of a module, or a built-in one: what `module.Foo` and `module.float3` are.
typedef struct spyp_struct {
    PyObject_HEAD
    spyp_module *module;
    const spy_type_info *info; // lives as long as the module
    PyObject *name;
} spyp_struct;

typedef struct spyp_seen { // an argument kind met at this call site
    PyTypeObject *type;
    const struct spyp_converter *converter;
} spyp_seen;
#define SPYP_SEEN 8

// What chaining adds to a function: options, mapped and bound arguments. Immutable once made; shared by functions that chain on.
typedef struct spyp_chain {
    Py_ssize_t references;
    PyObject *self;               // bound instance, or NULL
    PyObject *map_args, *map_kwargs; // tuple and dict of maps or types, or NULL
    PyObject *constants, *globals;   // dict, or NULL
    PyObject *setters;            // tuple of callables that give further globals at each call, or NULL
    PyObject *writer;             // (callable for a cursor, further arguments...), or NULL
    PyObject *prelude;            // str, or NULL
    PyObject *conformances;       // tuple of str, or NULL
    PyObject *result;             // return_type(), or NULL
    spy_call_mode mode;
    bool deterministic;
    void *stream;                 // CUDA's, of calls; NULL: the device's own
    uint32_t group[3];
    spy_shape call_group;
} spyp_chain;

typedef struct spyp_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    spyp_module *module;
    spy_function *function;
    PyObject *name;
    spyp_chain *chain; // NULL: plain
    unsigned int traits; // SPYP_TRAIT_...; 0: not asked yet
    PyObject *modes[2];  // .bwds and .fwds, or NULL
    spyp_seen seen[SPYP_SEEN];
} spyp_function;

typedef struct spyp_tensor {
    PyObject_HEAD
    spyp_device *device;
    spy_tensor *tensor;
    PyObject *dtype;  // Struct; NULL until asked for
    PyObject *module; // Module that the element type comes from, or NULL
    PyObject *grad_in, *grad_out; // Tensors, or NULL
    PyObject *owner;  // lease of memory that is another library's, or NULL
    PyObject *weakrefs;
} spyp_tensor;

// >>what the user can change, and when
//
// Code of the user runs in more places than one expects: in __float__, __index__, __len__, __getitem__, __hash__, __eq__, __bool__,
// __str__, get_this(), update_this(), properties, buffer exporters, warnings and callbacks; and in __del__ and weak references'
// callbacks, whenever a reference is dropped or an object is allocated (the garbage collector). That code may change each list and
// dict, delete each attribute, close the device, load a cursor again, or call the same function once more. The rules of all files:
//
// 1. A list or dict of the user is never read in place. spyp_list_items() and spyp_dict_items() first copy its references into a
//    tuple, without running any code, and the tuple is what is measured, checked and read.
// 2. Keys of dicts that become names must be str; spyp_dict_items() checks them. spyp_utf8() refuses text with NUL characters,
//    which C would cut off.
// 3. What a call, an attribute or an item gives is a new reference, and C may point into it (texts of keys, components of vectors,
//    memory of arrays). spyp_arena_keep() keeps it until the call has run. Borrowed references are used only while no code can run.
// 4. Buffers stay exported until the call has run. DLPack capsules are renamed meanwhile, so that nobody else consumes them.
// 5. Each recursion over data of the user counts its depth with spyp_arena_down() (or Py_EnterRecursiveCall() where there is no
//    arena), and each call counts the calls within it: both end in a RecursionError.
// 6. What was looked up in the device is looked up again after code of the user ran. Device.close() is refused meanwhile.
// 7. Objects of another device are refused before anything of them is used: that device may be closed.

// >>memory of one call: freed when it ends

typedef struct spyp_arena {
    uint64_t first[192];
    size_t used;            // bytes of the newest block
    size_t room;
    void **more;            // blocks from malloc, linked by their first word
    struct spyp_held *held; // exported buffers, the newest first
    PyObject *kept;         // list of objects that must live until the end, or NULL
    uint32_t depth;         // of spyp_arena_down()
} spyp_arena;

#define SPYP_MOST_DEPTH 100 // levels of dicts, lists, get_this() and so on

void spyp_arena_begin(spyp_arena *arena);
void spyp_arena_end(spyp_arena *arena);
void *spyp_arena_take(spyp_arena *arena, size_t size); // aligned to 16; NULL with MemoryError set
int spyp_arena_keep(spyp_arena *arena, PyObject *object); // takes a new reference; -1 with an error set
PyObject *spyp_arena_kept(spyp_arena *arena, PyObject *made); // takes the reference `made` (may be NULL); gives it borrowed; NULL with an error
// Call it before each recursion into data of the user, and spyp_arena_up() after it, also after an error. Returns 0, or -1 with a
// RecursionError set.
int spyp_arena_down(spyp_arena *arena);
static inline void spyp_arena_up(spyp_arena *arena) {
    arena->depth--;
}
Py_buffer *spyp_arena_buffer(spyp_arena *arena, PyObject *object, int flags); // NULL with an error set

// >>enter.c
// Call these before and after each use of device->device. spyp_enter() waits for other threads without the GIL. It returns -1 with
// an exception set if the device is closed or was made before a fork.
int spyp_enter(spyp_device *device, const char *what);
void spyp_leave(spyp_device *device);
// Waits for all work of the device and lets Ctrl-C end the wait. Returns -1 with an exception set. Call it between enter and leave.
int spyp_wait(spyp_device *device);
int spyp_wait_to_read(spyp_device *device); // before C reads from a tensor, as far as that does not hear Ctrl-C itself; as spyp_wait
spyp_device *spyp_device_of(PyObject *object, const char *what); // borrowed; NULL with TypeError
// spyp_log() gives a message to the device's log function, or to the package's. spyp_notify() calls any function of the user.
// Exceptions that these functions raise are printed.
void spyp_log(spyp_device *device, long level, PyObject *text);
void spyp_notify(PyObject *function, PyObject *first, PyObject *second);

// >>errors.c
int spyp_errors_ready(PyObject *module);
// Raises the device's last error as an exception, or the thread's if `device` is NULL. Always returns NULL.
PyObject *spyp_raise(spyp_device *device);
PyObject *spyp_raise_index(spyp_device *device); // out of range: IndexError
// Raises a status and the library's message. `what` is the Python function, which replaces the C function's name at the beginning;
// if `what` is NULL, no name stands there.
PyObject *spyp_raise_status(spy_status status, const char *message, const char *what);
// Returns a message of the library in Python's words, as a new reference. If `all` is false, only the function's name is replaced.
PyObject *spyp_translate(const char *text, const char *what, bool all);
// Puts words before the text of the exception that is set, if it is the library's or a TypeError, ValueError or OverflowError.
// Always returns NULL.
void *spyp_error_behind(const char *format, ...);
// Does the same. If `deep` is true, words are also put before the text of a RecursionError.
void spyp_error_words(bool deep, const char *format, va_list list);

// >>state.c
int spyp_state_ready(void); // interned names; 0, or -1 with an error
// Put the items of a list of paths or strings into the arena as C strings. Return 0, or -1 with an exception set.
int spyp_paths(spyp_arena *arena, PyObject *paths, const char *where, const char *const **out, size_t *count);
int spyp_strings(spyp_arena *arena, PyObject *list, const char *where, const char *what, const char *const **out, size_t *count);
const char *spyp_attribute_text(PyObject *name); // as spyp_utf8(), with AttributeError
int spyp_getset_add(PyTypeObject *type, PyGetSetDef *def); // one property; 0, or -1 with an error
PyObject *spyp_list_items(PyObject *list); // of a list or tuple: its items as a tuple, a new reference
// Returns (key, value, key, value, ...) of a dict as a new tuple, without running code of the user. Raises a TypeError if a key is no
// str; its text begins with `what: ` unless `what` is NULL.
PyObject *spyp_dict_items(PyObject *dict, const char *what);
PyObject *spyp_item_named(PyObject *items, const char *name); // the value of a key among such items, borrowed, or NULL

PyTypeObject *spyp_type_add(PyObject *module, PyType_Spec *spec, PyTypeObject *base); // new reference
int spyp_methods_add(PyTypeObject *type, PyMethodDef *methods); // methods of another file; 0, or -1 with an error
PyObject *spyp_alloc(PyTypeObject *type);     // zeroed; NULL with an error
void spyp_free(PyObject *self);               // memory and the type's reference
const char *spyp_utf8(PyObject *string);      // lives as long as `string`; NULL with an error, also for text with NUL characters
PyObject *spyp_format(const char *format, ...); // str
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

#if defined(_MSC_VER)
#define SPYP_THREAD_LOCAL __declspec(thread)
#else
#define SPYP_THREAD_LOCAL __thread
#endif

#if defined(__GNUC__)
#define SPYP_LIKELY(x) __builtin_expect(!!(x), 1)
#define SPYP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define SPYP_LIKELY(x) (x)
#define SPYP_UNLIKELY(x) (x)
#endif

#endif // SPYP_STATE_H
