// Converts a Python value to an argument of a call, takes new values back, and shares memory with other libraries.
#ifndef SPYP_CONVERSION_H
#define SPYP_CONVERSION_H

#include "values/values.h"

// >>the call that is being prepared

#define SPYP_NO_PARAMETER PY_SSIZE_T_MAX // the position of results and globals, which no parameter takes

// A value that a call gets and may change. It lies in the arena, with all data that it points to.
typedef struct spyp_part {
    // The value before the call, or the items of a dict; the arena or the caller keeps it.
    PyObject *value;
    // The changed numbers; NULL means that the call changes the value in place.
    struct spyp_back *back;
    struct spyp_part *parts; // one part for each item of a dict, in its order; NULL means that the value is not a dict
    Py_ssize_t count;        // the number of `parts`
} spyp_part;

// The changed value of a number or array of numbers: `result`, or floats in the arena if `host` is set.
typedef struct spyp_back {
    spy_result result;
    void *host;         // the numbers that the call may change, or NULL
    const void *before; // a copy of `host` from before the call
    size_t size_bytes; // the bytes of `host`
    spy_dtype dtype;
    spy_shape shape;
    struct spyp_back *next;
} spyp_back;

// One object that gets a changed value after the call; see spyp_call_update().
typedef struct spyp_update {
    PyObject *object;
    PyObject **place; // member of the object that gets the value; NULL means that object.update_this() gets it
    const spyp_part *part;
    struct spyp_update *next;
} spyp_update;

// One step from a value to a part of it: the name of a field, or NULL for any element. It lies on the C stack
// while the part is converted.
typedef struct spyp_step {
    const struct spyp_step *up;
    const char *field;
} spyp_step;

// The state of one call while its arguments are converted and until its results are given.
typedef struct spyp_call {
    spyp_function *function;
    const char *name;      // the name of the argument that is being converted; NULL means that it is given by position
    Py_ssize_t position;   // the position of that argument, from 0; -1 means the bound instance
    const spyp_step *step; // the part of that argument that is being converted; NULL means all of it
    const char *global;    // the path of the global or constant that is being converted; NULL means that it is an argument
    spyp_arena arena;
    spyp_update *updates, **last_update;
    spyp_back *backs; // a list of all spyp_back of the call, so that each tensor in them is released
    bool drops;       // plain values within the dict that is being converted do not come back
    bool result;      // the value of `_result` is being converted
    bool foreign;     // the error that is set was raised by the user's own code
    // The value being converted is a gradient: its numbers become floats that the call may change.
    bool gradient;
    bool unused_gradient; // a gradient was given for a no_diff parameter; the call does not use it
    spy_call_mode mode;
    // The next members are for arrays in CUDA memory; see foreign.c.
    spyp_device *borrows;    // the device whose imports are used, or NULL
    void *streams[SPYP_SHARED]; // CUDA streams in which the arrays' libraries work
    uint32_t stream_count;
    // DLPack functions of the first array's library; NULL means that it has none for C.
    const struct spyp_dl_exchange *library;
    // Function(DLPack producer) that makes an array of the library, used if it has no DLPack functions for C; or NULL; borrowed.
    PyObject *wrap;
    bool host_torch; // an argument is a tensor of torch on the CPU: the result is one, too
    bool diverts;    // slangpy.autograd makes the call if this device cannot read a torch tensor in its memory
} spyp_call;

// >>argument.c
void spyp_call_begin(spyp_call *call, spyp_function *function);
void spyp_call_end(spyp_call *call);
// Releases a tensor that no Python object owns. `tensor` may be NULL. A closed device has released its
// tensors already.
void spyp_drop_tensor(const spyp_device *d, spy_tensor *tensor);

// Converts one kind of Python values to arguments. `convert` fills *arg, except for its name,
// which the caller sets. It returns 0, or -1 with an exception set.
typedef struct spyp_converter {
    const char *kind; // the name of the kind of values, for messages
    int (*convert)(spyp_call *call, PyObject *object, spy_arg *arg);
} spyp_converter;
// Returns the converter for an object whose class is not in f->seen, and adds it there. NULL with an
// exception set.
const spyp_converter *spyp_new_converter(spyp_function *f, PyObject *object);
// Converts a value that lies within another one, such as a field of a dict. Returns 0, or -1 with an
// exception set.
int spyp_convert(spyp_call *call, PyObject *object, const char *name, spy_arg *arg);
// After the call, the value that `part` has become is stored at `place`, or given to object.update_this().
int spyp_call_update(spyp_call *call, PyObject *object, PyObject **place, const spyp_part *part);
// Puts words such as "%U: argument 'x': " before the text of the exception that is set. Exceptions of the
// user's code stay as they are.
void spyp_error_prefix(spyp_call *call, const char *format, ...);

// Converts one argument, or one part of it, without counting the depth of recursion. Returns 0, or -1 with an exception set.
static inline int spyp_convert_here(spyp_call *call, PyObject *object, const char *name, spy_arg *arg) {
    spyp_function *f = call->function;
    const PyTypeObject *type = Py_TYPE(object);
    const spyp_converter *converter = NULL;
    for (int i = 0; i < SPYP_SEEN && f->seen[i].type; i++) {
        if (f->seen[i].type != type) continue;
        converter = f->seen[i].converter;
        break;
    }
    if (!converter && !(converter = spyp_new_converter(f, object))) return -1;
    int status = converter->convert(call, object, arg);
    arg->name = name;
    return status;
}

// >>convert.c
const spyp_converter *spyp_converter_of(PyObject *object); // NULL with TypeError 'Unsupported type' set
void spyp_input_only(spy_arg *arg); // forbids the call to write into host arrays of the argument
// Raises an OverflowError for an int that fits no type; always returns -1.
int spyp_int_error(PyObject *number);
// Lets a field that is a plain value be an out or inout argument, whose new value is dropped.
void spyp_drop_changes(spy_arg *arg);
// Lets a number, a vector or a matrix be an out or inout argument of a plain call: it goes in, and what the
// function writes is dropped.
void spyp_drop_written(const spyp_call *call, PyObject *object, spy_arg *arg);
// Arranges that what the call writes into array->data is copied to array->place. Returns 1, or -1 with an
// exception set.
int spyp_array_write_back(spyp_call *call, const spyp_host_array *array);
int spyp_apply_map(spyp_call *call, PyObject *map, spy_arg *arg);
// Returns the converter for a value of a class that users have registered. NULL without an exception means that its class is not
// registered.
const spyp_converter *spyp_extension_converter(PyObject *object);

// >>structs.c
// Converts a tuple for a struct, or a list of structs for an array of them. `rows` has the items. Returns 1,
// or 0 if the parameter is something else, or -1 with an exception set.
int spyp_convert_structs(spyp_call *call, PyObject *object, PyObject *rows, spy_arg *arg);

// >>parameters.c: what a function takes
// Makes a Function for converting arguments only. spyp_function_make() makes one that can be called.
PyObject *spyp_function_new(spyp_module *module, spy_function *function, PyObject *name);
// A function has a trait if one of its overloads has it. Reflection finds the traits when they are first
// asked for.
#define SPYP_TRAIT_KNOWN 1u   // the traits have been found
#define SPYP_TRAIT_DOUBLES 2u // has a parameter of doubles
#define SPYP_TRAIT_POINTERS 8u // has a parameter that is a pointer, or has one in it
#define SPYP_TRAIT_STRUCTS 16u // has a parameter that is a struct or an array of structs, or has one in it
#define SPYP_TRAIT_PAIRS 32u // has a parameter that is or holds a DifferentialPair<T>
#define SPYP_TRAIT_OPEN_ARRAYS 128u // has a parameter that is an array of generic length
#define SPYP_TRAIT_TENSORS 64u // has a parameter that takes a tensor whole: Tensor<T, D>, IRWTensor<T, D> ...
#define SPYP_TRAIT_CHANGES 4u // has out or inout parameters, or changes its instance
bool spyp_function_is(spyp_function *function, unsigned int trait);
// Returns the number of parameters of the overload that has most, including the instance of a method unless one is bound. Returns -1 if the
// parameters are not known.
int spyp_parameter_count(spyp_function *function);
// Returns whether a parameter is a pointer, which may only be read though its type says that it is written.
bool spyp_takes_pointers(spyp_function *function);
// Returns a declaration of the module by its path, or NULL, without an error. Enters the device.
const spy_decl *spyp_find_quietly(spyp_module *module, const char *path);
// Returns whether the argument that is being converted is for a parameter that takes a tensor whole. *writes
// receives whether the function may write it.
bool spyp_takes_tensor(const spyp_call *call, bool *writes);
// Returns whether the function may change the argument that is being converted: it is a result, or for an out
// or inout parameter, or the instance of a method that changes it.
bool spyp_may_change(const spyp_call *call);
// Returns whether the argument that is being converted is for a parameter that is no_diff in all overloads.
bool spyp_is_no_diff(const spyp_call *call);
// Returns the function's first declaration, or NULL if reflection does not know the function. Enters the
// device.
const spy_decl *spyp_declared(spyp_function *function);
// Returns the type of the array of generic length that the argument is converted for, or NULL.
const spy_type_info *spyp_open_array(const spyp_call *call);
// Returns the type of an overload's parameter by its name, or by its position if `name` is NULL. Returns NULL
// if it has no such parameter.
const spy_type_info *spyp_parameter_type(spyp_function *function, const spy_decl *decl, const char *name, Py_ssize_t position);
// Returns the name of the parameter at a position, or NULL if it is not known or the overloads differ. Keeps
// an exception that is set.
const char *spyp_argument_name(spyp_function *function, Py_ssize_t position);
// Returns the name of an overload's parameter by its position, or NULL. Without `bound` a method's first one is
// "this".
const char *spyp_parameter_name(const spy_decl *decl, bool bound, Py_ssize_t position);
// Returns the types that the overloads have for a parameter as new text: "int or float3". The parameter is found by its name, or by its
// position if it has no name. NULL without an exception means that the types are not known. Keeps an exception that is set.
PyObject *spyp_argument_types(spyp_function *function, const char *name, Py_ssize_t position);
// Returns the entry that `dict` has for the name of the parameter at a position, borrowed, or NULL. A bound
// instance is not counted.
PyObject *spyp_find_named(spyp_function *function, Py_ssize_t position, PyObject *dict);
// Returns 0, or -1 with an exception set for a key of `dict` that names no parameter.
int spyp_check_parameters(spyp_function *function, PyObject *dict, const char *what);

// >>references.c: generators, references and packed arguments
const spyp_converter *spyp_values_converter(PyObject *object); // NULL if this file does not convert the object's class
// Converts a value that comes back after the call, and describes it in *part. Numbers and arrays of numbers
// come back as new values, dicts field by field; other values are changed in place.
int spyp_convert_part(spyp_call *call, PyObject *value, spy_arg *arg, spyp_part *part);
// Converts a ValueRef that takes a result and gives no value, such as `_result`.
int spyp_convert_ref_out(spyp_call *call, PyObject *object, spy_arg *arg);
// Returns the value that a ValueRef holds.
PyObject *spyp_ref_value(PyObject *ref);
// Makes an argument whose result is stored at `place`, a member of `object`. If the call gives no result, the
// place gets `otherwise`, which the caller keeps.
int spyp_convert_out(spyp_call *call, PyObject *object, PyObject **place, PyObject *otherwise, spy_arg *arg);
// Returns the part's value after the call as a new reference.
PyObject *spyp_part_value(spyp_module *module, const spyp_part *part);
// After a call: stores new values in references, and passes them to update_this(). Returns 0, or -1 with an
// exception set.
int spyp_give_updates(spyp_call *call);
// Converts a structured array as a struct of arrays, field by field.
int spyp_convert_records(spyp_call *call, const spyp_host_array *array, spy_arg *arg);
// Makes a cursor for Function.write(). What is written through it goes into the dict, by path.
PyObject *spyp_recorder_make(PyObject *dict);
int spyp_values_ready(PyObject *module);

// >>vectorized.c: vmap(), vdim() and vcast()
extern const spyp_converter spyp_vectorized_converter;
// Returns the value within all vmap() and vcast() around it, borrowed; another object is returned as it is.
PyObject *spyp_plain_value(PyObject *object);
// Applies an entry of declare() to an argument: None, dimensions, a type, or a type within vmap().
int spyp_apply_declaration(spyp_call *call, PyObject *entry, spy_arg *arg);
int spyp_vectorized_ready(PyObject *module);

// >>gradient.c: values with gradients
extern const spyp_converter spyp_pair_converter;
// Converts a value and its gradient, an array that is written or read where it lies, as an argument of a backward call. The gradient of a
// no_diff parameter is not used. Returns 0, or -1 with an exception set.
int spyp_convert_value_and_gradient(spyp_call *call, PyObject *primal, PyObject *grad, spy_arg *arg);
// Converts a DiffPair for `_result`.
int spyp_convert_pair_result(spyp_call *call, PyObject *pair, spy_arg *arg);
// Copies an argument's numbers to floats in the arena, which the call may change. Returns 1, or 0 if the
// argument has no numbers or is written in place, or -1 with an exception set.
int spyp_make_host_back(spyp_call *call, spy_arg *arg, spyp_back **out);
// Returns back->host as nested lists, or as a vector or matrix if `like` is one. A new reference.
PyObject *spyp_host_back_value(const spyp_back *back, PyObject *like);
// Returns a result and its gradient as a Tensor with a gradient, or as a DiffPair. Takes over both references. An exception is set if one
// of them is NULL.
PyObject *spyp_pair_give(PyObject *primal, PyObject *grad);
int spyp_gradient_ready(PyObject *module);

// >>streams.c: streams of CUDA
// Parses a stream, given as an int (0 means CUDA's default stream) or as an object that has a stream. Returns -1 with an exception set.
int spyp_stream_parse(PyObject *object, void **stream);
// Call these before and after work that goes to `stream`; the device's own stream continues after that work.
// They do nothing if `stream` is NULL. Call them inside the device.
spy_status spyp_stream_begin(spyp_device *device, void *stream);
spy_status spyp_stream_end(spyp_device *device, void *stream);
// Sends the device's work to the stream that device->follow gives. Returns 0, or -1 with an exception set.
int spyp_stream_follow(spyp_device *device);

// >>foreign.c: CUDA memory of other libraries, in and out, without a copy
struct spyp_dl_versioned;
// Order the streams of other libraries with the device's own, when the device is entered and left. See
// spyp_above.
int spyp_stream_enter(spyp_device *device); // after an error the device has been left, and it returns -1
void spyp_stream_leave(spyp_device *device);
// Converts an array in CUDA memory. Returns 1, or 0 if its memory is not CUDA's or the device is not, or -1
// with an exception set.
int spyp_foreign_convert(spyp_call *call, PyObject *object, spy_arg *arg);
// Returns 1 if an object of one of torch's classes requires a gradient, 0 if it does not, or -1 with an exception set.
int spyp_requires_gradient(PyObject *object);
// Describes the memory of an object of one of torch's classes, with torch's own DLPack functions. Returns 0, or -1 without an exception if they
// cannot.
struct spyp_dl_tensor;
int spyp_torch_view(PyObject *object, struct spyp_dl_tensor *out);
// Makes a Tensor over the memory of an array in CUDA memory. NULL without an exception means that the object is no such array. `dtype` is
// None, or the element type that its numbers are seen as. If `reads` is true, the tensor is only read, and the array may be read-only.
PyObject *spyp_foreign_tensor(PyTypeObject *type, spyp_device *device, PyObject *object, PyObject *dtype, bool reads, const char *what);
// Call these before and after the work of a call, inside the device. They order it with the streams of the
// arrays' libraries. `own` is the stream of the call.
spy_status spyp_foreign_begin(const spyp_call *call, void *own);
spy_status spyp_foreign_end(const spyp_call *call, void *own);
void spyp_foreign_return(spyp_call *call); // ends the use of the call's arrays
// Adds the objects that a recorded call uses to a list, with leases for the streams of other libraries.
// Returns -1 with an exception set.
int spyp_foreign_keep(const spyp_call *call, PyObject *list, PyObject *objects);
void spyp_imports_drop(spyp_device *device); // releases the tensors over arrays
// Asks a library for the CUDA stream that the calling thread works in. `type` is the class of its arrays.
// Returns 1, or 0 if the library has no DLPack functions for C, or -1 with an exception set.
int spyp_work_stream_of(PyTypeObject *type, int device, void **stream);
// Makes a lease of memory that this device and another library use. As long as the lease lives, `object` is kept, and `stream` (NULL means
// not known) is ordered with the device's work.
PyObject *spyp_lease_make(spyp_device *device, void *stream, PyObject *object);
// Ends a lease. The device uses the memory again after the work that is in the lease's stream. Takes over the
// reference.
void spyp_lease_end(PyObject *lease);
// Returns a tensor as an array of the library whose arrays the call got; if the call got no such array, returns the tensor itself. Takes over the reference. Call it
// outside the device.
PyObject *spyp_foreign_give(const spyp_call *call, PyObject *tensor);
// Returns the export of spyp_export_result() as an array of the library, or NULL with an exception set. Call it outside the device.
PyObject *spyp_foreign_take(const spyp_call *call, struct spyp_dl_versioned *result);
int spyp_foreign_ready(PyObject *module);

// >>export.c: tensors as arrays of other libraries
int spyp_export_ready(PyObject *module);
// Makes a DLPack export of a tensor's CUDA memory for use in `stream`. Returns NULL with an exception set.
struct spyp_dl_versioned *spyp_export_shared(spyp_tensor *tensor, void *stream);
// Makes an export of a new result, without a Tensor, if the device's work goes to `stream`, the other library's stream, and the elements
// are scalars. The export then owns the result. NULL without an exception means that no such export is possible, and the caller still owns
// the result. Call it inside the device.
struct spyp_dl_versioned *spyp_export_result(spyp_device *device, spy_tensor *result, void *stream);

#endif // SPYP_CONVERSION_H
