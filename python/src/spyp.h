// The Python extension's internal header: objects, the one static struct, and what each file offers to the others.
// Only public declarations of slangpy.h are used. Files, in the order in which a call passes them:
//   module.c      the extension module, types, exceptions      device.c   Device: memory order, locks, callbacks
//   modules.c     Module, Struct: names become functions       function.c Function: options by chaining
//   call.c        vectorcall: Python arguments to spy_call     convert.c  a converter for each kind of Python value
//   arrays.c      buffer protocol, DLPack, CUDA arrays         result.c   results to Python values
//   tensor.c      Tensor and NDBuffer                          values.c   generators, references, packed arguments
//   shape.c       Shape                                        errors.c   C's errors in Python's words
//   names.c       dir() and constants                         gradient.c DiffPair, gradients of tensors
//   buffer.c      memory in bytes                              encoder.c  command encoders and command buffers
//   cuda.c        contexts and streams of CUDA                foreign.c  CUDA memory shared with other libraries
//   math_*.c      float3, float4x4, ...
#ifndef SPYP_H
#define SPYP_H

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

// What chaining adds to a function. Immutable once made; shared by functions that chain on.
typedef struct spyp_chain spyp_chain;

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
// Before a recursion into data of the user; 0, or -1 with a RecursionError. spyp_arena_up() afterwards, also behind an error.
int spyp_arena_down(spyp_arena *arena);
static inline void spyp_arena_up(spyp_arena *arena) {
    arena->depth--;
}
Py_buffer *spyp_arena_buffer(spyp_arena *arena, PyObject *object, int flags); // NULL with an error set

// Any array of another library, seen as host memory.
typedef struct spyp_host_array {
    spy_dtype dtype;      // SPY_DTYPE_DEFAULT: structs
    spy_shape shape;
    const void *data;     // row-major, contiguous, native byte order
    size_t size_bytes;
    bool writable;        // data is the array's own memory and may be written
    Py_buffer *view;
    PyObject *object;     // of structs: what has their fields by name; borrowed
    void *place;          // where the elements lie that `data` is a copy of, when they may be written; else NULL
    size_t item;          // bytes of one, at place
    int64_t strides[SPY_MAX_RANK]; // at place, in bytes
    bool swapped;         // byte order at place
} spyp_host_array;

// >>calls

#define SPYP_NO_PARAMETER PY_SSIZE_T_MAX // the position of what is for none: a result, a global

// A value that goes into a call and comes back. All in the arena.
typedef struct spyp_part {
    PyObject *value;         // what went in; the arena or the caller keeps it
    struct spyp_back *back;  // where a number or array of numbers comes back; NULL: it is changed in place, if at all
    struct spyp_part *parts; // of a dict, in its order; NULL for '_type'
    Py_ssize_t count;
} spyp_part;

typedef struct spyp_back {
    spy_result result;
    void *host;         // instead of it: numbers that the call may change, and what they were; else NULL
    const void *before;
    size_t size_bytes;  // of either
    spy_dtype dtype;
    spy_shape shape;
    struct spyp_back *next;
} spyp_back;

typedef struct spyp_update { // an object to be told what came back: see spyp_call_update
    PyObject *object;
    PyObject **place;  // of the object, where the value goes; NULL: to its update_this()
    const spyp_part *part;
    struct spyp_update *next;
} spyp_update;

// From a value to a part of it: a field, or any element (NULL). On the C stack, while the part is converted.
typedef struct spyp_step {
    const struct spyp_step *up;
    const char *field;
} spyp_step;

typedef struct spyp_call {
    spyp_function *function;
    const char *name;      // of the argument that is being converted, or NULL: by position
    Py_ssize_t position;   // -1: the bound instance
    const spyp_step *step; // and which part of it; NULL: all of it
    spyp_arena arena;
    spyp_update *updates, **last_update;
    spyp_back *backs; // all of them, so that no tensor is lost
    bool foreign;     // the error that is set was raised by the user's own code
    bool gradient;    // what is converted is a gradient: numbers become floats that the call may change
    spy_call_mode mode;
    // of arrays in CUDA memory: foreign.c
    spyp_device *borrows;    // the device whose imports are used, or NULL
    void *streams[SPYP_SHARED]; // where their libraries work now
    uint32_t stream_count;
    const struct spyp_dl_exchange *library; // of the first one; NULL: it cannot be asked from C
    PyObject *wrap;          // instead: function(DLPack producer) that makes such an array, or NULL; borrowed
} spyp_call;

void spyp_call_begin(spyp_call *call, spyp_function *function);
void spyp_call_end(spyp_call *call);

// One kind of Python value that can be an argument. `convert` fills *arg (name is set) and gives 0, or -1 with an error.
typedef struct spyp_converter {
    const char *kind; // for messages
    int (*convert)(spyp_call *call, PyObject *object, spy_arg *arg);
} spyp_converter;

const spyp_converter *spyp_converter_of(PyObject *object); // NULL with TypeError 'Unsupported type' set
int spyp_convert(spyp_call *call, PyObject *object, const char *name, spy_arg *arg);
void spyp_input_only(spy_arg *arg); // host arrays in it are only read
int spyp_int_error(PyObject *number); // OverflowError: an int that no type has. Always -1
// `object` is told of the value that `part` becomes, at `place` or by update_this().
int spyp_call_update(spyp_call *call, PyObject *object, PyObject **place, const spyp_part *part);
// Puts words before the text of an error of ours: "%U: argument 'x': ...". Errors of the user's own code stay as they are.
void spyp_error_prefix(spyp_call *call, const char *format, ...);
void *spyp_error_behind(const char *format, ...); // the same outside a call; always NULL

// >>devices

// Before and after each use of device->device. enter: -1 with an error when it is closed or was made before a fork; waits for
// other threads without the GIL.
int spyp_enter(spyp_device *device, const char *what);
void spyp_leave(spyp_device *device);
// Waits for all work with Ctrl-C in between; -1 with an error set. Inside enter/leave.
int spyp_wait(spyp_device *device);
int spyp_wait_to_read(spyp_device *device); // before C reads from a tensor, as far as that does not hear Ctrl-C itself; as spyp_wait
spyp_device *spyp_device_of(PyObject *object, const char *what); // borrowed; NULL with TypeError
// A list of paths, or of strings, as C strings in the arena; 0, or -1 with an error.
int spyp_paths(spyp_arena *arena, PyObject *paths, const char *where, const char *const **out, size_t *count);
int spyp_strings(spyp_arena *arena, PyObject *list, const char *where, const char *what, const char *const **out, size_t *count);

// >>cuda.c
// A stream as int (0: CUDA's default one), or an object that has one; -1 with an error.
int spyp_stream_parse(PyObject *object, void **stream);
// Round work on another stream than the device's (NULL: none), which goes on behind it. Inside the device.
spy_status spyp_stream_begin(spyp_device *device, void *stream);
spy_status spyp_stream_end(spyp_device *device, void *stream);
int spyp_cuda_ready(PyObject *module);

int spyp_stream_follow(spyp_device *device); // work goes to the stream that `follow` says; -1 with an error
// Inside the device: others' streams and its own, at the outermost entry and leaving.
int spyp_stream_enter(spyp_device *device); // -1 with an error, outside again
void spyp_stream_leave(spyp_device *device);

// >>foreign.c: CUDA memory of other libraries, in and out, without a copy
struct spyp_dl_tensor;
struct spyp_dl_versioned;
bool spyp_is_host_buffer(PyObject *object); // host memory by the buffer protocol, and no CUDA array
// An array in CUDA memory as an argument: 1; 0: it lies elsewhere, or the device is not CUDA's; -1 with an error.
int spyp_foreign_convert(spyp_call *call, PyObject *object, spy_arg *arg);
// A Tensor over such an array's memory; NULL without an error: as 0. `dtype`: None, or what its numbers are seen as.
// `reads`: it is only read, and may be a read-only one.
PyObject *spyp_foreign_tensor(PyTypeObject *type, spyp_device *device, PyObject *object, PyObject *dtype, bool reads, const char *what);
// Round a call, inside the device: its work and that of the arrays' libraries. `own`: the stream of the call.
spy_status spyp_foreign_begin(const spyp_call *call, void *own);
spy_status spyp_foreign_end(const spyp_call *call, void *own);
void spyp_foreign_return(spyp_call *call);      // the end of spyp_call_end()
// What a recorded call uses, `objects`, into a list, with leases for streams of others; -1 with an error.
int spyp_foreign_keep(const spyp_call *call, PyObject *list, PyObject *objects);
void spyp_imports_drop(spyp_device *device);    // the device is closed
int spyp_work_stream_of(PyTypeObject *type, int device, void **stream); // 1; 0: it cannot be asked from C; -1 with an error
// Memory that two sides use: `object` is kept, and the stream (NULL: not known) is ordered with the device's work meanwhile.
PyObject *spyp_lease_make(spyp_device *device, void *stream, PyObject *object);
void spyp_lease_end(PyObject *lease); // its memory is used again after what its stream was given; takes the reference
// Takes a tensor; gives it as an array of the call's library, if that is one. Outside the device.
PyObject *spyp_foreign_give(const spyp_call *call, PyObject *tensor);
int spyp_foreign_ready(PyObject *module);

// >>errors

int spyp_errors_ready(PyObject *module);
// Raises the device's error (NULL: the thread's). Always NULL.
PyObject *spyp_raise(spyp_device *device);
PyObject *spyp_raise_index(spyp_device *device); // out of range: IndexError
// The same for a status and C's text; `what`: the Python function, in place of C's name (NULL: neither).
PyObject *spyp_raise_status(spy_status status, const char *message, const char *what);
// C's text in Python's words; `all`: also behind the name it begins with. A new reference.
PyObject *spyp_translate(const char *text, const char *what, bool all);

// >>modules

// type_conformances as a tuple of str; NULL with an error.
PyObject *spyp_conformances_parse(PyObject *items, const char *where);
PyObject *spyp_module_make(spyp_device *device, spy_module *module, PyObject *name, PyObject *link); // takes `module`
PyObject *spyp_struct_make(spyp_module *module, const spy_type_info *info);
// A dtype given by a user: Struct, "float3", numpy dtype, Python type float/int/bool, math type. `type` names it, `module`
// is where it is known (NULL: built in). 0, or -1 with an error.
typedef struct spyp_dtype {
    spy_dtype scalar;     // or SPY_DTYPE_DEFAULT: `type`
    const char *type;
    spy_module *module;
    PyObject *keeps;      // what `type` lies in; a new reference
    spyp_module *from;    // borrowed from keeps, or NULL
} spyp_dtype;
int spyp_dtype_parse(PyObject *object, const char *what, spyp_dtype *dtype);
PyObject *spyp_module_find(spyp_module *module, PyObject *name); // new reference; NULL without an error: nothing of that name
spyp_module *spyp_module_default(spyp_device *device); // an empty module of the device, for built-in types; new reference

PyObject *spyp_function_make(spyp_module *module, spy_function *function, PyObject *name);
// The chain's share of a call: options, mapped and bound arguments. function.c
struct spyp_chain {
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
};
int spyp_chain_options(spyp_call *call, spy_call_options *options);
int spyp_chain_map(spyp_call *call, Py_ssize_t position, PyObject *name, spy_arg *arg);
PyObject *spyp_function_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
int spyp_apply_map(spyp_call *call, PyObject *map, spy_arg *arg);
int spyp_uint3_parse(PyObject *object, const char *what, uint32_t out[3]); // missing numbers are 1
PyObject *spyp_function_explain(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_time(PyObject *self, PyObject *args, PyObject *kwargs);
// What some overload of the function does; found out by reflection when first asked.
#define SPYP_TRAIT_KNOWN 1u
#define SPYP_TRAIT_DOUBLES 2u // has a parameter of doubles
#define SPYP_TRAIT_POINTERS 8u // has a parameter that is a pointer, or has one in it
#define SPYP_TRAIT_STRUCTS 16u // has a parameter that is a struct or an array of structs, or has one in it
#define SPYP_TRAIT_PAIRS 32u // has a parameter that is or holds a DifferentialPair<T>
#define SPYP_TRAIT_CHANGES 4u // has out or inout parameters, or changes its instance
bool spyp_function_is(spyp_function *function, unsigned int trait);
// The first declaration of the function; NULL: reflection does not know it. Enters the device.
const spy_decl *spyp_declared(spyp_function *function);
// The type of an overload's parameter by its name (NULL: by its position, as spyp_argument_name); NULL: it has none.
const spy_type_info *spyp_parameter_type(spyp_function *function, const spy_decl *decl, const char *name, Py_ssize_t position);
// What the parameter of that position is called; NULL: not known, or overloads do not agree. An error that is set stays.
const char *spyp_argument_name(spyp_function *function, Py_ssize_t position);
// The types that overloads have for a parameter, by its name or else by its position, as text: "int or float3"; a new reference, NULL
// without an error: not known. An error that is set stays.
PyObject *spyp_argument_types(spyp_function *function, const char *name, Py_ssize_t position);
// The parameter of that position (the bound instance not counted) that `dict` has an entry for; borrowed, or NULL.
PyObject *spyp_find_named(spyp_function *function, Py_ssize_t position, PyObject *dict);
int spyp_check_parameters(spyp_function *function, PyObject *dict, const char *what); // -1: it has no such parameter
int spyp_convert_records(spyp_call *call, const spyp_host_array *array, spy_arg *arg); // a structured array, field by field
PyObject *spyp_recorder_make(PyObject *dict); // values.c: a cursor whose writes go into a dict, path by path
spy_command_list *spyp_encoder_list(PyObject *encoder, const spyp_device *device); // encoder.c: of that device; NULL with an error
// Whether a tensor is one of `device`, which may be used; else an error: "what: argument 'name': ...".
bool spyp_tensor_is_of(PyObject *tensor, const spyp_device *device, const char *what, const char *name);
int spyp_encoder_keep(PyObject *encoder, const spyp_call *call, PyObject *objects); // as long as it is there; -1 with an error
int spyp_encoder_recorded(PyObject *encoder, spyp_function *function); // after a call, inside the device; -1 with an error
// Bytes offset .. offset + size of a tensor's memory (size -1: to its end) as a view to be released. Inside the device; NULL
// with an error. buffer.c
spy_tensor *spyp_buffer_range(spyp_tensor *tensor, long long offset, long long size, const char *what);
PyObject *spyp_function_dispatch(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *spyp_function_dispatch_indirect(PyObject *self, PyObject *args, PyObject *kwargs);

// >>reflection, extension

// The type that a Struct, TypeReflection or TypeLayoutReflection stands for; NULL without an error: `object` is none.
const spy_type_info *spyp_reflection_type(PyObject *object, spyp_module **module);
PyObject *spyp_resolution_make(const spy_resolution *resolution);
PyObject *spyp_function_resolve(PyObject *self, PyObject *args, PyObject *kwargs); // call.c
// A value of a class that users have registered: `converter` makes an argument of it; NULL: it is none.
const spyp_converter *spyp_extension_converter(PyObject *object);
// What such a value is in memory (a new reference); NULL without an error: itself.
PyObject *spyp_extension_value(PyObject *object);

const char *spyp_attribute_text(PyObject *name); // as spyp_utf8(), with AttributeError. modules.c
// ", did you mean 'a', 'b'?" of the names in a declaration (may be NULL) that are near to `name`, or ""; a new reference. names.c
PyObject *spyp_near_names(const spy_decl *decl, PyObject *name);
// The value of a constant or of an enum's case, by its path; NULL without an error: there is none. Inside the device. names.c
PyObject *spyp_module_constant(spyp_module *module, const char *path);

// >>results

PyObject *spyp_value_read(spyp_module *module, const spy_type_info *info, const void *data); // in C's layout
PyObject *spyp_value_from(spyp_module *module, const spy_result *result); // a value; not a tensor
PyObject *spyp_scalar_read(spy_dtype dtype, const void *data);
int spyp_scalar_write(spy_dtype dtype, PyObject *value, void *data); // -1 with an error
int spyp_number_write(spy_dtype dtype, PyObject *value, void *data, const char *what); // the same, whose errors begin with `what: `
int spyp_value_write(spyp_module *module, const spy_type_info *info, PyObject *value, void *data, const char *what);

// >>tensors and arrays

PyObject *spyp_tensor_make(PyTypeObject *type, spyp_device *device, spy_tensor *tensor, PyObject *module); // takes `tensor`
PyObject *spyp_tensor_make_view(PyTypeObject *type, spyp_tensor *of, spy_tensor *view, PyObject *module); // the same for a view of `of`
PyObject *spyp_tensor_copy(spyp_tensor *tensor, const char *what); // a new tensor with the same contents, without a wait
PyObject *spyp_tensor_to_numpy(spyp_tensor *tensor);
PyTypeObject *spyp_view_type(PyObject *tensor); // of its views: Tensor or NDBuffer
int spyp_tensor_fill_from(spyp_tensor *tensor, PyObject *object, const char *what); // copies host data; -1 with an error
int spyp_shape_parse(PyObject *object, const char *what, spy_shape *shape); // tuple, list, Shape, int
PyObject *spyp_shape_make(const spy_shape *shape); // a Shape
PyObject *spyp_shape_tuple(const spy_shape *shape);

// 1: filled; 0: no array; -1: an error is set (an array of a kind that cannot be used).
int spyp_host_array_get(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array);
int spyp_is_array(PyObject *object);
spy_dtype spyp_dtype_of_dl(const struct spyp_dl_tensor *tensor); // DEFAULT: none
spy_dtype spyp_dtype_of_family(char family, Py_ssize_t size);    // by array protocols' letters; DEFAULT: none
int spyp_too_many_dims(const char *what, int rank);              // -1 with the error
// The DLPack capsule of an object, for work in `stream` (NULL: in host memory). NULL with an error.
PyObject *spyp_dlpack_capsule(PyObject *object, PyObject *stream, const char *what);
const struct spyp_dl_tensor *spyp_capsule_tensor(PyObject *capsule, const char *what, bool *read_only); // NULL with an error
// Of such a capsule: an object that keeps it, and keeps others from consuming it, as long as the object lives. NULL with an error.
PyObject *spyp_capsule_hold(PyObject *capsule);
bool spyp_is_true(PyObject *object, const char *name);
// A torch tensor that requires a gradient, which would be lost: -1 with an error, unless torch is told that none is wanted.
int spyp_check_gradient(PyObject *object, const char *what);
int spyp_refuse_gradient(const char *what); // the same of one that is known to
// The DLPack device of an object that says it, SPYP_DL_CPU for others; -1 with an error. Its number, too, if asked for.
long spyp_dl_device_of(PyObject *object, int *number);
// What the call writes into array->data goes on to array->place. 1: so it will; 0: too many arguments; -1: an error.
int spyp_array_write_back(spyp_call *call, const spyp_host_array *array);
// Numbers of another type; floats to integers and what does not fit are errors. 0, or -1 with an error.
int spyp_convert_numbers(void *to, spy_dtype to_type, const void *from, spy_dtype from_type, size_t count, const char *what);
spy_dtype spyp_dtype_of_format(const char *format, Py_ssize_t size, bool *swapped); // DEFAULT: none
const char *spyp_format_of_dtype(spy_dtype dtype);
PyObject *spyp_numpy(void);                     // the module, new reference; ImportError with what to do
PyObject *spyp_numpy_dtype(const spy_type_info *info, spy_dtype scalar, spy_shape *inner); // dtype and further dimensions

// Sizes of the tensor that takes an array of `sizes` as elements of a type: dimensions that belong to the type are cut off.
int spyp_outer_shape(const spy_type_info *info, const spy_shape *sizes, spy_shape *outer, const char *what);

// The dimensions that a type's vectors, matrices and arrays add; gives what is left: a scalar, struct ..., or NULL.
const spy_type_info *spyp_inner_shape(const spy_type_info *info, spy_shape *inner);

// >>records.c: host data into values of any type
// The names of a dict's or structured array's fields, as a new tuple or list; NULL without an error: it has none.
PyObject *spyp_field_names(PyObject *object);
// The one scalar type of all numbers in a value, and how many there are; DEFAULT: several.
spy_dtype spyp_scalar_of(const spy_type_info *info, size_t *count);
// Packs `count` values in C's layout into `out`, from numbers, a structured array or a dict of either, by field names.
// `info`: their type, or NULL with `scalar`. 0, or -1 with an error.
int spyp_pack_values(spyp_arena *arena, const spy_type_info *info, spy_dtype scalar, PyObject *object, int64_t count, char *out,
                     const char *what);

// >>export.c: tensors as arrays of other libraries
int spyp_export_ready(PyObject *module);
struct spyp_dl_versioned *spyp_export_shared(spyp_tensor *tensor, void *stream); // CUDA memory; NULL with an error
const spy_type_info *spyp_element_info(spyp_tensor *t, const spy_tensor_info *info); // inside the device; NULL: scalars, or an error

// >>cursor.c
// A BufferCursor over elements first .. first + count of a tensor; `owner` lives as long as it does. NULL with an error.
PyObject *spyp_cursor_make(spyp_device *device, spy_tensor *tensor, PyObject *owner, PyObject *module, int64_t first, int64_t count);
int spyp_cursor_ready(PyObject *module);

// >>values.c: converters of their own
const spyp_converter *spyp_values_converter(PyObject *object); // NULL: none of these
// A value that goes in and comes back: *part. Numbers and arrays of numbers come back as values, dicts field by field; the
// rest is changed in place.
int spyp_convert_part(spyp_call *call, PyObject *value, spy_arg *arg, spyp_part *part);
int spyp_convert_ref_out(spyp_call *call, PyObject *object, spy_arg *arg); // a ValueRef for `_result`
// The same for a place of any object, which gets `otherwise` (kept by the caller) when nothing comes.
int spyp_convert_out(spyp_call *call, PyObject *object, PyObject **place, PyObject *otherwise, spy_arg *arg);
PyObject *spyp_part_value(spyp_module *module, const spyp_part *part); // after the call; new reference
int spyp_give_updates(spyp_call *call);

// >>describe.c
PyObject *spyp_function_str(PyObject *self); // Slang's declarations with their comments
int spyp_describe_ready(void);

// >>structs.c
// A tuple for a struct, or a list of structs for an array of them, whose items are `rows`: 1; 0: it is something else; -1 with an error.
int spyp_convert_structs(spyp_call *call, PyObject *object, PyObject *rows, spy_arg *arg);

// >>gradient.c: values with gradients
extern const spyp_converter spyp_pair_converter;
int spyp_convert_pair_result(spyp_call *call, PyObject *pair, spy_arg *arg); // a DiffPair for `_result`
int spyp_make_host_back(spyp_call *call, spy_arg *arg, spyp_back **out);     // see spyp_back.host; as spyp_make_back
PyObject *spyp_host_back_value(const spyp_back *back, PyObject *like);       // new reference
int spyp_map_pair(spyp_call *call, PyObject *map, spy_arg *arg);
// A result and its gradient: a Tensor with it, or a DiffPair. Takes both references; either may be NULL with an error.
PyObject *spyp_pair_give(PyObject *primal, PyObject *grad);
int spyp_gradient_ready(PyObject *module);

// >>types: each file makes its own; 0, or -1 with an error
int spyp_device_ready(PyObject *module);
int spyp_modules_ready(PyObject *module);
int spyp_function_ready(PyObject *module);
int spyp_shape_ready(PyObject *module);
int spyp_tensor_ready(PyObject *module);
int spyp_values_ready(PyObject *module);
int spyp_buffer_ready(PyObject *module);
int spyp_encoder_ready(PyObject *module);
int spyp_reflection_ready(PyObject *module);
int spyp_resolve_ready(PyObject *module);
int spyp_extension_ready(PyObject *module);
int spyp_names_ready(void);
int spyp_getset_add(PyTypeObject *type, PyGetSetDef *def); // one property; 0, or -1 with an error
// >>helpers of all files

PyObject *spyp_list_items(PyObject *list); // of a list or tuple: its items as a tuple, a new reference
// Of a dict: (key, value, key, value, ...) as a tuple, a new reference. TypeError, behind `what: ` unless that is NULL, when a key is
// no str. No code of the user runs.
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

// What the limited API of 3.12 lacks. `replace` takes the reference `value`.
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

#endif // SPYP_H
