// Inside of the value types: one record per type, one object layout for all, components as doubles in between
// (a double holds every value of bool, int, uint, float and float16_t exactly).
#ifndef SPYP_MATH_VALUE_H
#define SPYP_MATH_VALUE_H

#include "values/math_view.h"
#include <stddef.h>
#include <string.h>

#define SPYP_MATH_MAX_SIZE 16  // components of a float4x4
#define SPYP_MATH_MAX_KINDS 48 // room in tables by kind

typedef enum spyp_math_form {
    SPYP_MATH_SCALAR,
    SPYP_MATH_VECTOR,
    SPYP_MATH_QUATERNION,
    SPYP_MATH_MATRIX
} spyp_math_form;

typedef struct spyp_math_kind {
    const char *name; // as Python has it; Slang's name too but for quatf
    spyp_math_form form;
    spy_dtype dtype;
    uint32_t rows, columns; // scalar: 0, 0; vector and quaternion: 1, N
    PyTypeObject *type;     // set by spyp_math_ready
} spyp_math_kind;

typedef struct spyp_math_value {
    PyObject ob_base; // PyObject_HEAD
    const spyp_math_kind *kind;
    bool true_when_any; // a bool vector made by `!=`: bool() asks for one difference, not for all
    double data[];      // as many bytes as the kind needs, packed; double for its alignment
} spyp_math_value;

// All kinds; ends with a NULL name.
extern spyp_math_kind spyp_math_kinds[];

// >>kinds

// The kind of a value, NULL for any other object.
const spyp_math_kind *spyp_math_kind_of(PyObject *object);
// Enters a kind whose `type` is set into the table of spyp_math_kind_of().
void spyp_math_kind_add(const spyp_math_kind *kind);
// The kind with these rows and columns (as in spyp_math_new), never the quaternion; NULL when there is none.
const spyp_math_kind *spyp_math_kind_find(spy_dtype dtype, uint32_t rows, uint32_t columns);
// How many components it has.
static inline uint32_t spyp_math_size(const spyp_math_kind *kind) {
    return kind->form == SPYP_MATH_SCALAR ? 1 : kind->rows * kind->columns;
}
bool spyp_math_is_float(spy_dtype dtype);

// >>components

// Reads or writes one scalar in memory; `index` counts scalars. store takes the dtypes of the value types and checks
// the range of integers; -1 with OverflowError set.
double spyp_math_load(spy_dtype dtype, const void *data, size_t index);
int spyp_math_store(const char *name, spy_dtype dtype, void *data, size_t index, double value);
void spyp_math_load_all(PyObject *value, double *components);
// The Python object of a component: bool, int or float.
PyObject *spyp_math_scalar_new(spy_dtype dtype, double value);
// A new value; components of integers must fit. NULL with an exception set.
PyObject *spyp_math_make(const spyp_math_kind *kind, const double *components);

// >>reading objects

// 1: `object` is a number that a `dtype` takes (integers take no floats), 0: it is not, -1: exception set.
int spyp_math_read_scalar(spy_dtype dtype, PyObject *object, double *value);
// Reads a number, vector, one-dimensional array or sequence of numbers, at most `room` of them into `components`; a
// vector of another dtype is converted. Returns how many there are, or -1 with an exception that begins with `name`.
Py_ssize_t spyp_math_read_list(const char *name, spy_dtype dtype, PyObject *object, double *components,
                               uint32_t room);
// As above for a two-dimensional array, a sequence of rows or a flat sequence of rows * columns: 0 or -1.
int spyp_math_read_matrix(const char *name, spy_dtype dtype, PyObject *object, double *components,
                          uint32_t rows, uint32_t columns);

// "float3", or the name of any object's type: a new reference to str for %U in messages.
PyObject *spyp_math_type_name(PyObject *object);

// >>operators (math_operators.c)

// Writes the operators of a kind and returns where the next slot goes.
PyType_Slot *spyp_math_number_slots_of(const spyp_math_kind *kind, PyType_Slot *at);
PyObject *spyp_math_compare(PyObject *a, PyObject *b, int operation);

// >>functions (math_functions.c, math_algebra.c, math_transforms.c)

typedef struct spyp_math_function spyp_math_function;

// `args` has an entry per parameter of the signature; a left-out optional one is NULL.
typedef PyObject *(*spyp_math_call)(const spyp_math_function *function, PyObject *const *args);

#define SPYP_MATH_MAX_ARGS 6

// The first line of `doc` is the signature, "lerp(x, y, s)\n--\n\n...": names and defaults are read from there.
struct spyp_math_function {
    spyp_math_call call;
    const char *doc;
    union { // what an elementwise function does to a component
        double (*one)(double);
        double (*two)(double, double);
        double (*three)(double, double, double);
    } map;
    int arity;    // which of them
    int takes;    // an elementwise function takes SPYP_MATH_FLOATS or SPYP_MATH_NUMBERS
    bool to_bool; // its result is a bool or bool vector
};

enum { SPYP_MATH_FLOATS = 1, SPYP_MATH_NUMBERS };

extern const spyp_math_function spyp_math_elementwise[]; // tables end with call == NULL
extern const spyp_math_function spyp_math_algebra[];
extern const spyp_math_function spyp_math_transforms[];

// Adds a table's functions to the module slangpy.math.
int spyp_math_functions_add(PyObject *math, const spyp_math_function *functions);
// Sets TypeError "math.lerp: argument 's': expected EXPECTED, got TYPE". Always NULL.
PyObject *spyp_math_arg_error(const spyp_math_function *function, int index, const char *expected,
                              PyObject *got);
// A number, a float vector of `size` (or any sequence of as many numbers), a square or any float matrix, a
// quaternion; false with TypeError or ValueError set.
bool spyp_math_arg_number(const spyp_math_function *function, int index, PyObject *arg, double *value);
bool spyp_math_arg_vector(const spyp_math_function *function, int index, PyObject *arg, uint32_t size,
                          double *value);
bool spyp_math_arg_matrix(const spyp_math_function *function, int index, PyObject *arg, uint32_t rows,
                          uint32_t columns, double *value);
bool spyp_math_arg_quaternion(const spyp_math_function *function, int index, PyObject *arg, double *value);
// A new floatN, floatRxC or quatf.
PyObject *spyp_math_float_vector(uint32_t size, const double *components);
PyObject *spyp_math_float_matrix(uint32_t rows, uint32_t columns, const double *components);
PyObject *spyp_math_quaternion(const double *components);
// result = a * b with a of rows x inner, b of inner x columns; result is another array than a and b.
void spyp_math_product(uint32_t rows, uint32_t inner, uint32_t columns, const double *a, const double *b,
                       double *result);
double spyp_math_dot(const double *a, const double *b, uint32_t size);
void spyp_math_cross(const double *a, const double *b, double *result); // of 3; result is another array
// The Hamilton product, components x y z w; result is another array than a and b.
void spyp_math_quaternion_product(const double *a, const double *b, double *result);
// result[3] = v rotated by the unit quaternion q.
void spyp_math_quaternion_rotate(const double *q, const double *v, double *result);

#endif
