// Python values in memory, without a call: shapes, arrays of other libraries, element types, and the contents
// of tensors.
#ifndef SPYP_VALUES_H
#define SPYP_VALUES_H

#include "state/state.h"

// >>arrays.c
struct spyp_dl_tensor;

// One array of another library as host memory. It may be a copy of the array's elements.
typedef struct spyp_host_array {
    spy_dtype dtype; // dtype of the numbers; SPY_DTYPE_DEFAULT means that the elements are structs
    spy_shape shape;
    const void *data; // the elements: row-major, without gaps, native byte order
    size_t size_bytes;
    bool writable;    // `data` is the array's own memory and may be written
    Py_buffer *view;  // the buffer that the array exports, if it does
    PyObject *object; // the object that gives an array's fields by name, if it has structs; borrowed
    // The next members describe the array's own elements if `data` is a copy of them that can be copied back.
    void *place;                   // first element, or NULL if `data` is no such copy
    size_t item;                   // the bytes of an element
    int64_t strides[SPY_MAX_RANK]; // the bytes from one element to the next, by dimension
    bool swapped;                  // their byte order is not the native one
} spyp_host_array;

// Returns whether an object has host memory by the buffer protocol and is no CUDA array.
bool spyp_is_host_buffer(PyObject *object);
// Returns the names of a dict's or structured array's fields as a new tuple or list. NULL without an exception means that the object has
// none.
PyObject *spyp_field_names(PyObject *object);
// Makes an object whose update_this() copies array->data back to array->place, unless the elements have not
// changed. The arena keeps it. Returns NULL with an exception set.
PyObject *spyp_write_back_make(spyp_arena *arena, const spyp_host_array *array);
// Describes an object's array. Returns 1, or 0 if the object is no array, or -1 with an exception set if its
// array cannot be used.
int spyp_host_array_get(spyp_arena *arena, PyObject *object, const char *what, spyp_host_array *array);
int spyp_is_array(PyObject *object);
spy_dtype spyp_dtype_of_dl(const struct spyp_dl_tensor *tensor); // SPY_DTYPE_DEFAULT: no dtype fits
// Returns the dtype of a number of `size` bytes. `family` is its letter: b bool, i signed, u unsigned, f
// float. SPY_DTYPE_DEFAULT: no dtype fits.
spy_dtype spyp_dtype_of_family(char family, Py_ssize_t size);
// Raises the error for a rank above SPY_MAX_RANK; returns -1.
int spyp_too_many_dims(const char *what, int rank);
// Returns the DLPack capsule of an object, whose memory is to be used in `stream` (NULL means on the host), or NULL with an exception
// set.
PyObject *spyp_dlpack_capsule(PyObject *object, PyObject *stream, const char *what);
// Returns the tensor of a DLPack capsule that nobody has consumed, or NULL with an exception set.
const struct spyp_dl_tensor *spyp_capsule_tensor(PyObject *capsule, const char *what, bool *read_only);
// Returns an object that keeps such a capsule, and keeps others from consuming it, as long as it lives. NULL
// with an exception set.
PyObject *spyp_capsule_hold(PyObject *capsule);
bool spyp_is_true(PyObject *object, const char *name);
// Refuses a torch tensor that requires a gradient, because the gradient would be lost: returns -1 with an
// exception set, or 0 if torch has been told that no gradients are wanted.
int spyp_check_gradient(PyObject *object, const char *what);
// Returns 1 or 0 as a function of torch without arguments, such as is_grad_enabled(), returns True or False, or -1 with an exception set.
int spyp_torch_says(PyObject *function);
// Does the same as spyp_check_gradient() for a tensor that is known to require a gradient.
int spyp_refuse_gradient(const char *what);
// Returns the type of an object's DLPack device, or SPYP_DL_CPU if the object does not tell it, or -1 with an exception set. If `number`
// is not NULL, it receives the device's number.
long spyp_dl_device_of(PyObject *object, int *number);
// Returns the dtype of the buffer protocol's `format` for `size` bytes. SPY_DTYPE_DEFAULT: no dtype fits.
spy_dtype spyp_dtype_of_format(const char *format, Py_ssize_t size, bool *swapped);
const char *spyp_format_of_dtype(spy_dtype dtype);
PyObject *spyp_numpy(void); // numpy, a new reference; NULL with an ImportError set
// Returns numpy's dtype for elements of a type, as a new reference. `inner` receives the dimensions that a
// vector, matrix or array adds.
PyObject *spyp_numpy_dtype(const spy_type_info *info, spy_dtype scalar, spy_shape *inner);
// Puts the dimensions that a type's vectors, matrices and arrays add into `inner`. Returns the type of their
// elements, or NULL.
const spy_type_info *spyp_inner_shape(const spy_type_info *info, spy_shape *inner);

// >>shape.c
// Parses a shape that is given as a tuple, a list, a Shape or an int. Returns 0, or -1 with an exception set.
int spyp_shape_parse(PyObject *object, const char *what, spy_shape *shape);
PyObject *spyp_shape_make(const spy_shape *shape); // a new Shape
PyObject *spyp_shape_tuple(const spy_shape *shape);
int spyp_shape_ready(PyObject *module);

// >>records.c: host data into values of any type
// Returns the scalar type of all numbers in a value, and their number in `count`. Returns SPY_DTYPE_DEFAULT
// if there are several types.
spy_dtype spyp_scalar_of(const spy_type_info *info, size_t *count);
// Packs `count` values in C's layout into `out`. They come from numbers, a structured array, or a dict of
// either by field names. Their type is `info`, or `scalar` if `info` is NULL. Returns 0, or -1 with an
// exception set.
int spyp_pack_values(spyp_arena *arena, const spy_type_info *info, spy_dtype scalar, PyObject *object, int64_t count, char *out,
                     const char *what);

// >>result.c: numbers, vectors and structs between C's layout and Python
// Makes a Python value of a type from `data`, which has C's layout.
PyObject *spyp_value_read(spyp_module *module, const spy_type_info *info, const void *data);
PyObject *spyp_value_from(spyp_module *module, const spy_result *result); // makes a value of a result that is not a tensor
PyObject *spyp_scalar_read(spy_dtype dtype, const void *data);
int spyp_scalar_write(spy_dtype dtype, PyObject *value, void *data); // 0, or -1 with an exception set
// Does the same as spyp_scalar_write(). Its errors begin with `what: `.
int spyp_number_write(spy_dtype dtype, PyObject *value, void *data, const char *what);
int spyp_value_write(spyp_module *module, const spy_type_info *info, PyObject *value, void *data, const char *what);
// Converts numbers to another type. Floats cannot become integers, and every value must fit. Returns 0, or -1
// with an exception set.
int spyp_convert_numbers(void *to, spy_dtype to_type, const void *from, spy_dtype from_type, size_t count, const char *what);

// >>extension.c: classes that users have registered
// Returns whether an object is a number, dict, list or tuple. These classes cannot be registered.
bool spyp_is_plain(PyObject *object);
// Returns the function that `dict` has for the object's class or for the nearest of its bases, as a new reference. NULL without an
// exception means that it has none.
PyObject *spyp_registered(PyObject *dict, PyObject *object);
// Returns function(object) as a new reference. The result must be of another class than the object. Takes
// over the reference `function`.
PyObject *spyp_registered_call(PyObject *function, PyObject *object);
// Returns the value that stands for an object in memory, as a new reference. NULL without an exception means the object itself.
PyObject *spyp_extension_value(PyObject *object);
int spyp_extension_ready(PyObject *module);

// >>dtype.c: element types, and the modules that they come from
// Returns the library's name of a type that is named as in Slang, as a new reference. Slang's "float[2][3]" has 3 elements of
// float[2]; in the library's names the outermost size comes first, as in C's declarations: "float[3][2]". The same turns the library's
// name of an array into Slang's. A pointer "float*" is "Ptr<float>".
PyObject *spyp_library_name(PyObject *name);
// Parses a dtype that a user gave: a Struct, a name such as "float3", a numpy dtype, float, int, bool, or a class such as float3. `type`
// is its name, and `module` knows the name (NULL means that it is built in). Returns 0, or -1 with an exception set, which names the
// function `what` and its argument; with `what` NULL, the caller puts their names before its text.
typedef struct spyp_dtype {
    spy_dtype scalar; // SPY_DTYPE_DEFAULT: the type is no scalar, and `type` names it
    const char *type;
    spy_module *module;
    PyObject *keeps;   // object that owns the text `type`; a new reference
    spyp_module *from; // Python object of `module`, borrowed from `keeps`, or NULL
} spyp_dtype;
int spyp_dtype_parse(PyObject *object, const char *what, const char *argument, spyp_dtype *dtype);
// Makes a Module. Takes over `module`.
PyObject *spyp_module_make(spyp_device *device, spy_module *module, PyObject *name, PyObject *link);
PyObject *spyp_struct_make(spyp_module *module, const spy_type_info *info);
// Returns the type that a Struct, TypeReflection or TypeLayoutReflection stands for. NULL without an
// exception: `object` is none of these.
const spy_type_info *spyp_reflection_type(PyObject *object, spyp_module **module);

// An object of a reflection class. All these classes have the same C struct, and each uses some of its
// members.
typedef struct spyp_reflection {
    PyObject_HEAD
    spyp_module *module; // owns the declarations and types
    // For a declaration, function, variable or entry point: its declaration. For a program: the module's.
    const spy_decl *decl;
    const spy_type_info *type; // description of a type, of a layout, or of the value that a cursor points at
    const spy_attribute *attribute;
    // Bytes to the value that a cursor points at, on the device and in C's layout.
    size_t offset, host_offset;
    PyObject *key;   // key in module->reflected, or NULL
    PyObject *parts; // a dict of a program's cursor: the layouts of its globals and entry points by name; or NULL
    PyObject *entries; // for a program: a list of EntryPointLayouts instead of all of the module's, or NULL
    // For a function or its parameters: a dict of types by the names of generic parameters. For an entry point: its name in the program.
    // Otherwise NULL.
    PyObject *arguments;
    uint32_t reload_count; // the device's reload_count when the object was made
    bool inner; // a DeclReflection stands for the function or struct within the generic declaration
} spyp_reflection;

typedef enum spyp_reflected {
    SPYP_PROGRAM,
    SPYP_DECL,
    SPYP_FUNCTION,
    SPYP_VARIABLE,
    SPYP_VARIABLE_LAYOUT,
    SPYP_ENTRY_POINT,
    SPYP_ATTRIBUTE,
    SPYP_TYPE,
    SPYP_TYPE_LAYOUT,
    SPYP_CURSOR,
    SPYP_REFLECTED_COUNT
} spyp_reflected;

bool spyp_reflection_is(PyObject *object, spyp_reflected kind);

// >>contents.c: tensors
// Makes a Python object for a tensor. Takes over `tensor`.
PyObject *spyp_tensor_make(PyTypeObject *type, spyp_device *device, spy_tensor *tensor, PyObject *module);
// Takes the usage that a tensor is made with, a BufferUsage or NULL. Returns -1 with an exception set if it is
// no number.
int spyp_tensor_set_usage(PyObject *tensor, PyObject *usage);
// Makes a Python object for a view of the tensor `of`. Takes over `view`.
PyObject *spyp_tensor_make_view(PyTypeObject *type, spyp_tensor *of, spy_tensor *view, PyObject *module);
// Notes that a tensor sees the memory of `of`.
void spyp_tensor_set_root(spyp_tensor *t, const spyp_tensor *of);
// Returns the tensor, borrowed, that has all the memory that a view is part of, and the bytes from its beginning to the
// view's first element; the view itself if that memory is not known. Call it inside the device.
spy_tensor *spyp_tensor_whole(spyp_tensor *t, uint64_t *before_bytes);
// Makes a tensor with the element type and the shape of `other`.
PyObject *spyp_tensor_like(PyObject *type, PyObject *other, bool zeroed, const char *what);
// Makes a tensor with a copy of another's contents. The host does not wait for the copy.
PyObject *spyp_tensor_copy(spyp_tensor *tensor, const char *what);
// The contents as a numpy array. Structs become structured elements, or the bytes of each a further dimension.
PyObject *spyp_tensor_to_numpy(spyp_tensor *tensor, bool structured);
// Makes a numpy array of `size` bytes, which the caller fills. dtype: anything that numpy takes as one.
PyObject *spyp_empty_array(PyObject *numpy, PyObject *shape, PyObject *dtype, size_t size);
void spyp_host_memory_drop(void); // gives the kept memory of large numpy arrays back to the system
PyTypeObject *spyp_view_type(PyObject *tensor); // the class of the tensor's views: Tensor or NDBuffer
// Copies host data into a tensor. Returns 0, or -1 with an exception set.
int spyp_tensor_fill_from(spyp_tensor *tensor, PyObject *object, const char *what);
// Like spyp_tensor_fill_from(), but an array that is not structured is copied byte by byte to the start of the tensor's
// memory, whatever its dtype. Both must be contiguous and the array no larger.
int spyp_tensor_copy_bytes_from(spyp_tensor *tensor, PyObject *object, const char *what);
// Returns the type of a tensor's elements. NULL without an exception means that they are scalars. Call it inside the device.
const spy_type_info *spyp_element_info(spyp_tensor *t, const spy_tensor_info *info);
// Computes the sizes of a tensor whose elements come from an array of `sizes`. The last dimensions, which
// belong to the element type, are cut off.
int spyp_outer_shape(const spy_type_info *info, const spy_shape *sizes, spy_shape *outer, const char *what);

#endif // SPYP_VALUES_H
