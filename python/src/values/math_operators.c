// Arithmetic, bitwise and comparison operators of the value types, by component. One function per class of
// operator; a table says what each does to a pair of numbers.
#include "values/math_value.h"
#include <math.h>

typedef enum spyp_math_operator {
    SPYP_MATH_ADD,
    SPYP_MATH_SUBTRACT,
    SPYP_MATH_MULTIPLY,
    SPYP_MATH_DIVIDE,
    SPYP_MATH_FLOOR_DIVIDE,
    SPYP_MATH_REMAINDER,
    SPYP_MATH_AND,
    SPYP_MATH_OR,
    SPYP_MATH_XOR,
    SPYP_MATH_LEFT,
    SPYP_MATH_RIGHT
} spyp_math_operator;

static bool spyp_math_divides(spyp_math_operator op) {
    return op == SPYP_MATH_DIVIDE || op == SPYP_MATH_FLOOR_DIVIDE || op == SPYP_MATH_REMAINDER;
}

// Returns Python's remainder, which has the sign of b.
static double spyp_math_remainder(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double spyp_math_arithmetic(spyp_math_operator op, bool integers, double a, double b) {
    switch (op) {
    case SPYP_MATH_ADD: return a + b;
    case SPYP_MATH_SUBTRACT: return a - b;
    case SPYP_MATH_MULTIPLY: return a * b;
    case SPYP_MATH_DIVIDE: return integers ? trunc(a / b) : a / b;
    case SPYP_MATH_FLOOR_DIVIDE: return floor(a / b);
    default: return integers ? fmod(a, b) : spyp_math_remainder(a, b); // the remainder of integers is that of C and Slang
    }
}

// Computes bits of int and uint. Bits that are shifted out are lost, as in Slang.
static double spyp_math_bits(spyp_math_operator op, spy_dtype dtype, double a, double b) {
    int64_t x = (int64_t)a, y = (int64_t)b, bits;
    switch (op) {
    case SPYP_MATH_AND: bits = x & y; break;
    case SPYP_MATH_OR: bits = x | y; break;
    case SPYP_MATH_XOR: bits = x ^ y; break;
    case SPYP_MATH_LEFT: bits = (int64_t)((uint64_t)x << y); break;
    default: return floor(ldexp(a, -(int)y)); // int: an arithmetic shift
    }
    return dtype == SPY_DTYPE_INT32    ? (double)(int32_t)(uint32_t)bits
           : dtype == SPY_DTYPE_UINT32 ? (double)(uint32_t)bits
                                       : (double)bits;
}

// >>operands

// Returns whether a vector of the kind `right` becomes one of the kind `left` in an operator: floats take numbers of all kinds,
// and integers take integers.
static bool spyp_math_becomes(const spyp_math_kind *left, const spyp_math_kind *right) {
    if (left->form != SPYP_MATH_VECTOR || right->form != SPYP_MATH_VECTOR || left->columns != right->columns) return false;
    if (left->dtype == SPY_DTYPE_BOOL || right->dtype == SPY_DTYPE_BOOL) return false;
    return spyp_math_is_float(left->dtype) || !spyp_math_is_float(right->dtype);
}

// Returns the kind of a result: the kind of both operands, or of the only operand that has one; next to a float16_t the other operand's
// kind; of two vectors the left one's kind if it holds the other's numbers. Returns NULL if the operands do not go together.
static const spyp_math_kind *spyp_math_common_kind(PyObject *a, PyObject *b) {
    const spyp_math_kind *left = spyp_math_kind_of(a), *right = spyp_math_kind_of(b);
    if (!left || !right) return left ? left : right;
    if (left == right || right->form == SPYP_MATH_SCALAR) return left;
    if (spyp_math_becomes(left, right)) return left;
    return left->form == SPYP_MATH_SCALAR ? right : NULL;
}

static bool spyp_math_is_vector(PyObject *object) {
    const spyp_math_kind *kind = spyp_math_kind_of(object);
    return kind && kind->form == SPYP_MATH_VECTOR;
}

// Whether an object is an array of as many numbers as a vector has, whose kind can hold them.
static bool spyp_math_is_row(const spyp_math_kind *kind, PyObject *object) {
    Py_buffer view;
    if (spyp_math_kind_of(object) || !PyObject_CheckBuffer(object)) return false;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)) {
        PyErr_Clear();
        return false;
    }
    bool numbers = view.format && strchr(spyp_math_is_float(kind->dtype) ? "bBhHiIlLqQefd" : "bBhHiIlLqQ", view.format[0]);
    bool row = view.ndim == 1 && view.shape[0] == (Py_ssize_t)kind->columns && numbers;
    PyBuffer_Release(&view);
    return row;
}

// Reads an operand's components; a number stands for all of them, a list, tuple or array has one number for each. Returns 1,
// or 0 when the operand does not fit, or -1 with an exception set.
static int spyp_math_operand(const spyp_math_kind *kind, PyObject *object, double *components) {
    int found;
    if (spyp_math_kind_of(object) == kind) {
        spyp_math_load_all(object, components);
        return 1;
    }
    if (kind->form == SPYP_MATH_VECTOR && (PyList_Check(object) || PyTuple_Check(object) || spyp_math_is_vector(object) || spyp_math_is_row(kind, object))) {
        Py_ssize_t count = spyp_math_read_list(kind->name, kind->dtype, object, components, kind->columns);
        return count < 0 ? -1 : count == (Py_ssize_t)kind->columns;
    }
    found = spyp_math_read_scalar(kind->dtype, object, components);
    if (kind->dtype == SPY_DTYPE_BOOL) components[0] = components[0] != 0;
    for (uint32_t i = 1; i < spyp_math_size(kind); i++) components[i] = components[0];
    return found;
}

// Reads both operands. Returns 1, or -1 with an exception set, or 0 when Python should try the other
// operand's operator.
static int spyp_math_operands(PyObject *a, PyObject *b, const spyp_math_kind **kind, double *x, double *y) {
    int found;
    *kind = spyp_math_common_kind(a, b);
    if (!*kind) return 0;
    x[0] = y[0] = 0;
    found = spyp_math_operand(*kind, a, x);
    return found > 0 ? spyp_math_operand(*kind, b, y) : found;
}

static PyObject *spyp_math_not_implemented(void) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

// >>binary operators

static bool spyp_math_shift_fits(const spyp_math_kind *kind, const double *y) {
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) {
        if (y[i] >= 0 && y[i] < 32) continue;
        PyErr_Format(spyp.value_error, "%s: expected a shift from 0 to 31, got %lld", kind->name,
                     (long long)y[i]);
        return false;
    }
    return true;
}

// The other operand of '&', '|' and '^' may be a Python int of any size, so its size is checked.
static bool spyp_math_bits_fit(const spyp_math_kind *kind, const double *x, const double *y) {
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) {
        if (fabs(x[i]) < 0x1p62 && fabs(y[i]) < 0x1p62) continue;
        PyErr_Format(PyExc_OverflowError, "%s: expected integers of at most 62 bits", kind->name);
        return false;
    }
    return true;
}

static bool spyp_math_divisor_fits(const spyp_math_kind *kind, const double *y) {
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) {
        if (y[i] != 0) continue;
        PyErr_Format(PyExc_ZeroDivisionError, "%s: division by zero in component %u", kind->name, i);
        return false;
    }
    return true;
}

// Returns whether an operator is '*' or a division of two matrices or two quaternions. These raise an error,
// because '*' could mean the product by component (Slang) or the matrix product (mathematics).
static bool spyp_math_is_product(const spyp_math_kind *kind, PyObject *a, PyObject *b,
                                 spyp_math_operator op) {
    if (kind->rows == 0 || kind->form == SPYP_MATH_VECTOR || op < SPYP_MATH_MULTIPLY) return false;
    return spyp_math_kind_of(a) == spyp_math_kind_of(b);
}

// Sums, differences and products of uints are taken modulo 2^32, as in Slang. A product of two uints that a double does not hold is left
// as it is, and is an error.
static void spyp_math_wrap(const spyp_math_kind *kind, double *x) {
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) {
        if (fabs(x[i]) >= 0x1p53) continue;
        x[i] = fmod(x[i], 0x1p32);
        if (x[i] < 0) x[i] += 0x1p32;
    }
}

static PyObject *spyp_math_binary(PyObject *a, PyObject *b, spyp_math_operator op) {
    const spyp_math_kind *kind;
    double x[SPYP_MATH_MAX_SIZE], y[SPYP_MATH_MAX_SIZE];
    bool bitwise = op >= SPYP_MATH_AND, integers;
    int found = spyp_math_operands(a, b, &kind, x, y);
    if (found <= 0) return found < 0 ? NULL : spyp_math_not_implemented();
    if (spyp_math_is_product(kind, a, b, op)) {
        PyErr_Format(PyExc_TypeError, "%s: use '@' or math.mul() for the product, math.inverse() to divide",
                     kind->name);
        return NULL;
    }
    integers = !spyp_math_is_float(kind->dtype);
    if (integers && spyp_math_divides(op) && !spyp_math_divisor_fits(kind, y)) return NULL;
    if (op >= SPYP_MATH_LEFT && !spyp_math_shift_fits(kind, y)) return NULL;
    if (bitwise && !spyp_math_bits_fit(kind, x, y)) return NULL;
    for (uint32_t i = 0; i < spyp_math_size(kind); i++)
        x[i] = bitwise ? spyp_math_bits(op, kind->dtype, x[i], y[i])
                       : spyp_math_arithmetic(op, integers, x[i], y[i]);
    if (kind->dtype == SPY_DTYPE_UINT32 && !bitwise) spyp_math_wrap(kind, x);
    return spyp_math_make(kind, x);
}

// The operators += and so on change a vector itself, as in SlangPy, so that all names of it show the new components.
static PyObject *spyp_math_in_place(PyObject *self, PyObject *other, spyp_math_operator op) {
    const spyp_math_kind *kind = spyp_math_kind_of(self);
    PyObject *result = spyp_math_binary(self, other, op);
    if (!result || result == Py_NotImplemented || spyp_math_kind_of(result) != kind) return result;
    memcpy(((spyp_math_value *)self)->data, ((spyp_math_value *)result)->data,
           spyp_math_size(kind) * spy_dtype_size_bytes(kind->dtype));
    Py_DECREF(result);
    return Py_NewRef(self);
}

// A slot of the operator `op`, by spyp_math_binary() or spyp_math_in_place().
#define SPYP_MATH_SLOT(name, by, op)                                                                         \
    static PyObject *name(PyObject *a, PyObject *b) {                                                        \
        return by(a, b, op);                                                                                 \
    }
SPYP_MATH_SLOT(spyp_math_add, spyp_math_binary, SPYP_MATH_ADD)
SPYP_MATH_SLOT(spyp_math_subtract, spyp_math_binary, SPYP_MATH_SUBTRACT)
SPYP_MATH_SLOT(spyp_math_multiply, spyp_math_binary, SPYP_MATH_MULTIPLY)
SPYP_MATH_SLOT(spyp_math_divide, spyp_math_binary, SPYP_MATH_DIVIDE)
SPYP_MATH_SLOT(spyp_math_floor_divide, spyp_math_binary, SPYP_MATH_FLOOR_DIVIDE)
SPYP_MATH_SLOT(spyp_math_modulo, spyp_math_binary, SPYP_MATH_REMAINDER)
SPYP_MATH_SLOT(spyp_math_and, spyp_math_binary, SPYP_MATH_AND)
SPYP_MATH_SLOT(spyp_math_or, spyp_math_binary, SPYP_MATH_OR)
SPYP_MATH_SLOT(spyp_math_xor, spyp_math_binary, SPYP_MATH_XOR)
SPYP_MATH_SLOT(spyp_math_left, spyp_math_binary, SPYP_MATH_LEFT)
SPYP_MATH_SLOT(spyp_math_right, spyp_math_binary, SPYP_MATH_RIGHT)
SPYP_MATH_SLOT(spyp_math_add_to, spyp_math_in_place, SPYP_MATH_ADD)
SPYP_MATH_SLOT(spyp_math_subtract_from, spyp_math_in_place, SPYP_MATH_SUBTRACT)
SPYP_MATH_SLOT(spyp_math_multiply_by, spyp_math_in_place, SPYP_MATH_MULTIPLY)
SPYP_MATH_SLOT(spyp_math_divide_by, spyp_math_in_place, SPYP_MATH_DIVIDE)
SPYP_MATH_SLOT(spyp_math_modulo_by, spyp_math_in_place, SPYP_MATH_REMAINDER)
SPYP_MATH_SLOT(spyp_math_and_with, spyp_math_in_place, SPYP_MATH_AND)
SPYP_MATH_SLOT(spyp_math_or_with, spyp_math_in_place, SPYP_MATH_OR)
SPYP_MATH_SLOT(spyp_math_xor_with, spyp_math_in_place, SPYP_MATH_XOR)
SPYP_MATH_SLOT(spyp_math_left_by, spyp_math_in_place, SPYP_MATH_LEFT)
SPYP_MATH_SLOT(spyp_math_right_by, spyp_math_in_place, SPYP_MATH_RIGHT)

// a @ b: math.mul(a, b), or NotImplemented if an operand is not a value type.
static PyObject *spyp_math_matmul(PyObject *a, PyObject *b) {
    const spyp_math_kind *left = spyp_math_kind_of(a), *right = spyp_math_kind_of(b);
    PyObject *args[] = { a, b };
    const spyp_math_function *mul = spyp_math_algebra; // mul() is the table's first function
    if (!left || !right) return spyp_math_not_implemented();
    return mul->call(mul, args);
}

// >>unary operators

static PyObject *spyp_math_unary(PyObject *self, double (*map)(double)) {
    const spyp_math_kind *kind = spyp_math_kind_of(self);
    double components[SPYP_MATH_MAX_SIZE];
    spyp_math_load_all(self, components);
    for (uint32_t i = 0; i < spyp_math_size(kind); i++) components[i] = map(components[i]);
    if (kind->dtype == SPY_DTYPE_UINT32) spyp_math_wrap(kind, components);
    return spyp_math_make(kind, components);
}

static double spyp_math_minus(double x) {
    return -x;
}

static double spyp_math_same(double x) {
    return x;
}

static double spyp_math_not_bool(double x) {
    return x == 0;
}

static double spyp_math_not_int(double x) {
    return -1 - x;
}

static double spyp_math_not_uint(double x) {
    return (double)UINT32_MAX - x;
}

static PyObject *spyp_math_negative(PyObject *self) {
    return spyp_math_unary(self, spyp_math_minus);
}

static PyObject *spyp_math_positive(PyObject *self) {
    return spyp_math_unary(self, spyp_math_same);
}

static PyObject *spyp_math_absolute(PyObject *self) {
    return spyp_math_unary(self, fabs);
}

static PyObject *spyp_math_invert(PyObject *self) {
    spy_dtype dtype = spyp_math_kind_of(self)->dtype;
    return spyp_math_unary(self, dtype == SPY_DTYPE_BOOL    ? spyp_math_not_bool
                                 : dtype == SPY_DTYPE_INT32 ? spyp_math_not_int
                                                            : spyp_math_not_uint);
}

// bool(): true for a bool vector if all components are true, and for a float16_t that is not zero.
static int spyp_math_bool(PyObject *self) {
    double components[SPYP_MATH_MAX_SIZE];
    spyp_math_load_all(self, components);
    for (uint32_t i = 0; i < spyp_math_size(spyp_math_kind_of(self)); i++) {
        if (components[i] == 0) return 0;
    }
    return 1;
}

// All kinds have this function. Without it, float() and int() would read a value's bytes as text.
static PyObject *spyp_math_number_float(PyObject *self) {
    const spyp_math_kind *kind = spyp_math_kind_of(self);
    double components[SPYP_MATH_MAX_SIZE];
    if (spyp_math_size(kind) != 1) {
        PyErr_Format(PyExc_TypeError, "%s: expected one component to make a number, got %u", kind->name,
                     spyp_math_size(kind));
        return NULL;
    }
    spyp_math_load_all(self, components);
    return PyFloat_FromDouble(components[0]);
}

static PyObject *spyp_math_number_int(PyObject *self) {
    PyObject *number = spyp_math_number_float(self);
    PyObject *whole = number ? PyNumber_Long(number) : NULL;
    Py_XDECREF(number);
    return whole;
}

// The kinds that have an operator.
enum {
    SPYP_MATH_OF_BOOL = 1,
    SPYP_MATH_OF_INT = 2,
    SPYP_MATH_OF_FLOAT = 4,
    SPYP_MATH_OF_MATRIX = 8,
    SPYP_MATH_OF_QUATERNION = 16,
    SPYP_MATH_OF_HALF = 32,
    SPYP_MATH_OF_REAL =
        SPYP_MATH_OF_FLOAT | SPYP_MATH_OF_MATRIX | SPYP_MATH_OF_QUATERNION | SPYP_MATH_OF_HALF,
    SPYP_MATH_OF_NUMBERS = SPYP_MATH_OF_REAL | SPYP_MATH_OF_INT,
    SPYP_MATH_OF_BITS = SPYP_MATH_OF_INT | SPYP_MATH_OF_BOOL,
    SPYP_MATH_OF_VECTOR = SPYP_MATH_OF_INT | SPYP_MATH_OF_FLOAT,
    SPYP_MATH_OF_ALL = SPYP_MATH_OF_NUMBERS | SPYP_MATH_OF_BOOL
};

static const struct {
    int slot;
    int of;
    void *function;
} spyp_math_number_slots[] = {
    { Py_nb_add, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_add },
    { Py_nb_subtract, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_subtract },
    { Py_nb_multiply, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_multiply },
    { Py_nb_true_divide, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_divide },
    { Py_nb_floor_divide, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_floor_divide },
    { Py_nb_remainder, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_modulo },
    { Py_nb_negative, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_negative },
    { Py_nb_positive, SPYP_MATH_OF_NUMBERS, (void *)spyp_math_positive },
    { Py_nb_absolute, SPYP_MATH_OF_NUMBERS & ~SPYP_MATH_OF_QUATERNION, (void *)spyp_math_absolute },
    { Py_nb_matrix_multiply, SPYP_MATH_OF_FLOAT | SPYP_MATH_OF_MATRIX | SPYP_MATH_OF_QUATERNION,
      (void *)spyp_math_matmul },
    { Py_nb_and, SPYP_MATH_OF_BITS, (void *)spyp_math_and },
    { Py_nb_or, SPYP_MATH_OF_BITS, (void *)spyp_math_or },
    { Py_nb_xor, SPYP_MATH_OF_BITS, (void *)spyp_math_xor },
    { Py_nb_invert, SPYP_MATH_OF_BITS, (void *)spyp_math_invert },
    { Py_nb_lshift, SPYP_MATH_OF_INT, (void *)spyp_math_left },
    { Py_nb_rshift, SPYP_MATH_OF_INT, (void *)spyp_math_right },
    { Py_nb_inplace_add, SPYP_MATH_OF_VECTOR, (void *)spyp_math_add_to },
    { Py_nb_inplace_subtract, SPYP_MATH_OF_VECTOR, (void *)spyp_math_subtract_from },
    { Py_nb_inplace_multiply, SPYP_MATH_OF_VECTOR, (void *)spyp_math_multiply_by },
    { Py_nb_inplace_true_divide, SPYP_MATH_OF_VECTOR, (void *)spyp_math_divide_by },
    { Py_nb_inplace_remainder, SPYP_MATH_OF_INT, (void *)spyp_math_modulo_by },
    { Py_nb_inplace_and, SPYP_MATH_OF_BITS, (void *)spyp_math_and_with },
    { Py_nb_inplace_or, SPYP_MATH_OF_BITS, (void *)spyp_math_or_with },
    { Py_nb_inplace_xor, SPYP_MATH_OF_BITS, (void *)spyp_math_xor_with },
    { Py_nb_inplace_lshift, SPYP_MATH_OF_INT, (void *)spyp_math_left_by },
    { Py_nb_inplace_rshift, SPYP_MATH_OF_INT, (void *)spyp_math_right_by },
    { Py_nb_bool, SPYP_MATH_OF_BOOL | SPYP_MATH_OF_HALF, (void *)spyp_math_bool },
    { Py_nb_float, SPYP_MATH_OF_ALL, (void *)spyp_math_number_float },
    { Py_nb_int, SPYP_MATH_OF_ALL, (void *)spyp_math_number_int },
};

static int spyp_math_class_of(const spyp_math_kind *kind) {
    switch (kind->form) {
    case SPYP_MATH_SCALAR: return SPYP_MATH_OF_HALF;
    case SPYP_MATH_MATRIX: return SPYP_MATH_OF_MATRIX;
    case SPYP_MATH_QUATERNION: return SPYP_MATH_OF_QUATERNION;
    default: break;
    }
    if (kind->dtype == SPY_DTYPE_BOOL) return SPYP_MATH_OF_BOOL;
    return spyp_math_is_float(kind->dtype) ? SPYP_MATH_OF_FLOAT : SPYP_MATH_OF_INT;
}

PyType_Slot *spyp_math_number_slots_of(const spyp_math_kind *kind, PyType_Slot *at) {
    int class_of = spyp_math_class_of(kind);
    for (size_t i = 0; i < sizeof spyp_math_number_slots / sizeof spyp_math_number_slots[0]; i++) {
        if (!(spyp_math_number_slots[i].of & class_of)) continue;
        at->slot = spyp_math_number_slots[i].slot;
        at->pfunc = spyp_math_number_slots[i].function;
        at++;
    }
    return at;
}

// >>comparison

static bool spyp_math_holds(int operation, double a, double b) {
    switch (operation) {
    case Py_LT: return a < b;
    case Py_LE: return a <= b;
    case Py_GT: return a > b;
    case Py_GE: return a >= b;
    case Py_EQ: return a == b;
    default: return a != b;
    }
}

// Reads the operand of a comparison with `kind`: a value or array of as many components, a list or tuple of as many numbers, or one
// number for all components. Returns 1, or 0 if `object` is none of these.
static int spyp_math_comparand(const spyp_math_kind *kind, PyObject *object, double *components) {
    const spyp_math_kind *other = spyp_math_kind_of(object);
    bool matrix = kind->form == SPYP_MATH_MATRIX;
    Py_ssize_t count = 0, size = (Py_ssize_t)spyp_math_size(kind);
    if (other && other->form != SPYP_MATH_SCALAR) {
        if (kind->form != other->form || kind->rows != other->rows || kind->columns != other->columns)
            return 0;
        spyp_math_load_all(object, components);
        return 1;
    }
    if (other || !(PyList_Check(object) || PyTuple_Check(object) || PyObject_CheckBuffer(object))) {
        int found = spyp_math_read_scalar(SPY_DTYPE_FLOAT64, object, components);
        for (Py_ssize_t i = 1; i < size; i++) components[i] = components[0];
        if (found < 0) PyErr_Clear();
        return found > 0;
    }
    if (matrix &&
        !spyp_math_read_matrix(kind->name, SPY_DTYPE_FLOAT64, object, components, kind->rows, kind->columns))
        return 1;
    if (!matrix)
        count = spyp_math_read_list(kind->name, SPY_DTYPE_FLOAT64, object, components, (uint32_t)size);
    PyErr_Clear();
    return count == size;
}

// Compares by value: `==` all components, `<`, `<=`, `>` and `>=` the first components that differ, as tuples do.
PyObject *spyp_math_compare(PyObject *a, PyObject *b, int operation) {
    const spyp_math_kind *kind = spyp_math_kind_of(a);
    double x[SPYP_MATH_MAX_SIZE], y[SPYP_MATH_MAX_SIZE] = { 0 };
    uint32_t i = 0;
    if (!kind) return spyp_math_not_implemented();
    spyp_math_load_all(a, x);
    if (!spyp_math_comparand(kind, b, y)) {
        if (PyObject_CheckBuffer(b) && (operation == Py_EQ || operation == Py_NE))
            return PyBool_FromLong(operation == Py_NE);
        return spyp_math_not_implemented();
    }
    while (i + 1 < spyp_math_size(kind) && x[i] == y[i]) i++;
    return PyBool_FromLong(spyp_math_holds(operation, x[i], y[i]));
}
