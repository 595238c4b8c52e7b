// Declarations that the files math_*.c share: one record for each value type, and one object layout for all
// types. Functions compute with components as doubles, because a double holds every bool, int, uint, float,
// float16_t and double exactly.
#ifndef SPYP_MATH_VALUE_H
#define SPYP_MATH_VALUE_H

#include "values/math_view.h"
#include <stddef.h>
#include <string.h>

#define SPYP_MATH_MAX_SIZE 16  // most components of a kind, those of a float4x4
#define SPYP_MATH_MAX_KINDS 48 // entries of tables that are indexed by kind

typedef enum spyp_math_form {
    SPYP_MATH_SCALAR,
    SPYP_MATH_VECTOR,
    SPYP_MATH_QUATERNION,
    SPYP_MATH_MATRIX
} spyp_math_form;

typedef struct spyp_math_kind {
    const char *name; // the name in Python and Slang; Slang has no quatf
    spyp_math_form form;
    spy_dtype dtype;
    uint32_t rows, columns; // 0, 0 for a scalar; 1, N for a vector or quaternion
    PyTypeObject *type;     // the Python type, set by spyp_math_ready()
} spyp_math_kind;

typedef struct spyp_math_value {
    PyObject ob_base; // PyObject_HEAD
    const spyp_math_kind *kind;
    double data[]; // packed components, as many bytes as the kind needs; `double` aligns them
} spyp_math_value;

// Table of all kinds. It ends with a NULL name.
extern spyp_math_kind spyp_math_kinds[];

// >>kinds

// Returns the kind of a value, or NULL for any other object.
const spyp_math_kind *spyp_math_kind_of(PyObject *object);
// Enters a kind whose `type` is set into the table of spyp_math_kind_of().
void spyp_math_kind_add(const spyp_math_kind *kind);
// Returns the kind with these rows and columns (as in spyp_math_new), or NULL when there is none. It never
// returns the quaternion's.
const spyp_math_kind *spyp_math_kind_find(spy_dtype dtype, uint32_t rows, uint32_t columns);
// Returns the number of components.
static inline uint32_t spyp_math_size(const spyp_math_kind *kind) {
    return kind->form == SPYP_MATH_SCALAR ? 1 : kind->rows * kind->columns;
}
bool spyp_math_is_float(spy_dtype dtype);

// >>components

// Read and write one scalar in memory; `index` counts scalars. spyp_math_store() takes the dtypes of the
// value types and checks the range of integers. It returns 0, or -1 with an OverflowError set that begins
// with `name`.
double spyp_math_load(spy_dtype dtype, const void *data, size_t index);
int spyp_math_store(const char *name, spy_dtype dtype, void *data, size_t index, double value);
void spyp_math_load_all(PyObject *value, double *components);
// Returns a component as a new Python bool, int or float.
PyObject *spyp_math_scalar_new(spy_dtype dtype, double value);
// Makes a value. Returns NULL with an exception set, also when an integer component does not fit.
PyObject *spyp_math_make(const spyp_math_kind *kind, const double *components);

// >>reading objects

// Reads a number that a `dtype` can hold; integers take no floats. Returns 1, or 0 when `object` is no such
// number, or -1 with an exception set.
int spyp_math_read_scalar(spy_dtype dtype, PyObject *object, double *value);
// Reads a number, vector, one-dimensional array or sequence of numbers. Writes at most `room` numbers to
// `components`; a vector of another dtype is converted. Returns how many numbers `object` has, or -1 with an
// exception that begins with `name`.
Py_ssize_t spyp_math_read_list(const char *name, spy_dtype dtype, PyObject *object, double *components,
                               uint32_t room);
// Reads a two-dimensional array, a sequence of rows, or a flat sequence of rows * columns numbers. Returns 0,
// or -1 with an exception that begins with `name`.
int spyp_math_read_matrix(const char *name, spy_dtype dtype, PyObject *object, double *components,
                          uint32_t rows, uint32_t columns);

// Returns the name of an object's type, such as "float3", as a new str for %U in messages.
PyObject *spyp_math_type_name(PyObject *object);

// >>operators (math_operators.c)

// Writes a kind's operators to the slots from `at` on. Returns the slot after them.
PyType_Slot *spyp_math_number_slots_of(const spyp_math_kind *kind, PyType_Slot *at);
PyObject *spyp_math_compare(PyObject *a, PyObject *b, int operation);

// >>functions (math_functions.c, math_algebra.c, math_transforms.c)

typedef struct spyp_math_function spyp_math_function;

// Runs a function. `args` has an entry for each parameter of the signature. An optional argument that was
// left out is NULL.
typedef PyObject *(*spyp_math_call)(const spyp_math_function *function, PyObject *const *args);

#define SPYP_MATH_MAX_ARGS 6

// One function of slangpy.math. The first line of `doc` is its signature, "lerp(x, y, s)\n--\n\n...", which
// gives the names of the parameters and says which are optional.
struct spyp_math_function {
    spyp_math_call call;
    const char *doc;
    union { // a function of one component of each argument
        double (*one)(double);
        double (*two)(double, double);
        double (*three)(double, double, double);
    } map;
    int arity; // arguments of an elementwise function, 1 to 3: selects the member of `map`
    int takes; // arguments of an elementwise function: SPYP_MATH_FLOATS, SPYP_MATH_NUMBERS or SPYP_MATH_ANY
    bool to_bool; // the result is a bool or bool vector
};

enum { SPYP_MATH_FLOATS = 1, SPYP_MATH_NUMBERS, SPYP_MATH_ANY }; // ANY includes bools and quaternions

extern const spyp_math_function spyp_math_elementwise[]; // the table ends with call == NULL
extern const spyp_math_function spyp_math_algebra[];
extern const spyp_math_function spyp_math_transforms[];

// Adds a table's functions to the module slangpy.math.
int spyp_math_functions_add(PyObject *math, const spyp_math_function *functions);
// Sets a TypeError "math.lerp: argument 's': expected EXPECTED, got TYPE". Always returns NULL.
PyObject *spyp_math_arg_error(const spyp_math_function *function, int index, const char *expected,
                              PyObject *got);
// Read argument `index`: a number, a float vector or sequence of `size` numbers, a float matrix of rows x
// columns, or a quaternion. They return false with a TypeError or ValueError set.
bool spyp_math_arg_number(const spyp_math_function *function, int index, PyObject *arg, double *value);
bool spyp_math_arg_vector(const spyp_math_function *function, int index, PyObject *arg, uint32_t size,
                          double *value);
bool spyp_math_arg_matrix(const spyp_math_function *function, int index, PyObject *arg, uint32_t rows,
                          uint32_t columns, double *value);
bool spyp_math_arg_quaternion(const spyp_math_function *function, int index, PyObject *arg, double *value);
// Make a floatN, a floatRxC or a quatf.
PyObject *spyp_math_float_vector(uint32_t size, const double *components);
PyObject *spyp_math_float_matrix(uint32_t rows, uint32_t columns, const double *components);
PyObject *spyp_math_quaternion(const double *components);
// Computes result = a * b. `a` is rows x inner, `b` is inner x columns. `result` must not overlap them.
void spyp_math_product(uint32_t rows, uint32_t inner, uint32_t columns, const double *a, const double *b,
                       double *result);
double spyp_math_dot(const double *a, const double *b, uint32_t size);
// Computes the cross product of vectors of 3 numbers. `result` must not overlap `a` and `b`.
void spyp_math_cross(const double *a, const double *b, double *result);
// Computes the Hamilton product of quaternions with components x y z w. `result` must not overlap `a` and
// `b`.
void spyp_math_quaternion_product(const double *a, const double *b, double *result);
// Rotates the vector v[3] by the unit quaternion q[4] into result[3].
void spyp_math_quaternion_rotate(const double *q, const double *v, double *result);

#endif
