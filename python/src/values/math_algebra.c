// Functions of slangpy.math on whole vectors, matrices and quaternions: products, lengths, inverses.
#include "values/math_value.h"
#include <math.h>

// >>products

void spyp_math_product(uint32_t rows, uint32_t inner, uint32_t columns, const double *a, const double *b,
                       double *result) {
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            double sum = 0;
            for (uint32_t i = 0; i < inner; i++) sum += a[r * inner + i] * b[i * columns + c];
            result[r * columns + c] = sum;
        }
    }
}

double spyp_math_dot(const double *a, const double *b, uint32_t size) {
    double sum;
    spyp_math_product(1, size, 1, a, b, &sum);
    return sum;
}

// A double cannot hold each product of two 32-bit integers exactly. If the sum is small, it is exact as a sum
// modulo 2^64.
static double spyp_math_dot_integers(const double *a, const double *b, uint32_t size) {
    double sum = spyp_math_dot(a, b, size);
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++) bits += (uint64_t)(int64_t)a[i] * (uint64_t)(int64_t)b[i];
    return fabs(sum) < 0x1p40 ? (double)(int64_t)bits : sum;
}

typedef double (*spyp_math_dot_function)(const double *a, const double *b, uint32_t size);

static void spyp_math_cross_by(spyp_math_dot_function dot, const double *a, const double *b, double *result) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        const double left[2] = { a[j], -a[k] }, right[2] = { b[k], b[j] };
        result[i] = dot(left, right, 2);
    }
}

void spyp_math_cross(const double *a, const double *b, double *result) {
    spyp_math_cross_by(spyp_math_dot, a, b, result);
}

void spyp_math_quaternion_product(const double *a, const double *b, double *result) {
    spyp_math_cross(a, b, result);
    for (int i = 0; i < 3; i++) result[i] += a[3] * b[i] + b[3] * a[i];
    result[3] = a[3] * b[3] - spyp_math_dot(a, b, 3);
}

// result = v + 2 w (u x v) + 2 u x (u x v), where u is the vector part of q and w its scalar part.
void spyp_math_quaternion_rotate(const double *q, const double *v, double *result) {
    double once[3], twice[3];
    spyp_math_cross(q, v, once);
    spyp_math_cross(q, once, twice);
    for (int i = 0; i < 3; i++) result[i] = v[i] + 2 * (q[3] * once[i] + twice[i]);
}

// Reads two vectors, or two quaternions, of the same type. Returns their kind, or NULL with a TypeError set.
static const spyp_math_kind *spyp_math_pair_of(const spyp_math_function *function, PyObject *const *args,
                                               bool quaternions, double *x, double *y) {
    const spyp_math_kind *kind = spyp_math_kind_of(args[0]);
    bool fits = kind && kind->dtype != SPY_DTYPE_BOOL &&
                (kind->form == SPYP_MATH_VECTOR || (quaternions && kind->form == SPYP_MATH_QUATERNION));
    if (!fits) {
        spyp_math_arg_error(function, 0, quaternions ? "a vector or quaternion" : "a vector", args[0]);
        return NULL;
    }
    if (spyp_math_kind_of(args[1]) != kind) {
        spyp_math_arg_error(function, 1, kind->name, args[1]);
        return NULL;
    }
    spyp_math_load_all(args[0], x);
    spyp_math_load_all(args[1], y);
    return kind;
}

// Returns the size of an operand of mul(). A left vector is a row, a right vector is a column.
static void spyp_math_operand_size(const spyp_math_kind *kind, bool left, uint32_t *rows, uint32_t *columns) {
    bool column = kind->form != SPYP_MATH_MATRIX && !left;
    *rows = column ? kind->columns : kind->rows;
    *columns = column ? 1 : kind->columns;
}

static PyObject *spyp_math_mul_quaternion(const spyp_math_function *function, PyObject *const *args) {
    double x[4], y[4], result[4];
    const spyp_math_kind *right = spyp_math_kind_of(args[1]);
    if (!spyp_math_arg_quaternion(function, 0, args[0], x)) return NULL;
    if (right && right->form == SPYP_MATH_VECTOR) {
        if (!spyp_math_arg_vector(function, 1, args[1], 3, y)) return NULL;
        spyp_math_quaternion_rotate(x, y, result);
        return spyp_math_float_vector(3, result);
    }
    if (!spyp_math_arg_quaternion(function, 1, args[1], y)) return NULL;
    spyp_math_quaternion_product(x, y, result);
    return spyp_math_quaternion(result);
}

static bool spyp_math_multiplies(const spyp_math_kind *kind) {
    return kind && kind->dtype == SPY_DTYPE_FLOAT32 &&
           (kind->form == SPYP_MATH_VECTOR || kind->form == SPYP_MATH_MATRIX);
}

static PyObject *spyp_math_call_mul(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *left = spyp_math_kind_of(args[0]), *right = spyp_math_kind_of(args[1]);
    double x[SPYP_MATH_MAX_SIZE], y[SPYP_MATH_MAX_SIZE], result[SPYP_MATH_MAX_SIZE];
    uint32_t rows, inner, inner_right, columns;
    char expected[64];
    bool quaternion = left && left->form == SPYP_MATH_QUATERNION;
    if (quaternion) return spyp_math_mul_quaternion(function, args);
    if (!spyp_math_multiplies(left))
        return spyp_math_arg_error(function, 0, "a float matrix, float vector or quatf", args[0]);
    spyp_math_operand_size(left, true, &rows, &inner);
    PyOS_snprintf(expected, sizeof expected, "a float%u or a float matrix of %u rows", inner, inner);
    if (!spyp_math_multiplies(right)) return spyp_math_arg_error(function, 1, expected, args[1]);
    spyp_math_operand_size(right, false, &inner_right, &columns);
    if (inner != inner_right) return spyp_math_arg_error(function, 1, expected, args[1]);
    spyp_math_load_all(args[0], x);
    spyp_math_load_all(args[1], y);
    spyp_math_product(rows, inner, columns, x, y, result);
    if (left->form == SPYP_MATH_MATRIX && right->form == SPYP_MATH_MATRIX)
        return spyp_math_float_matrix(rows, columns, result);
    if (rows == 1 && columns == 1) return PyFloat_FromDouble(result[0]); // both operands are vectors
    return spyp_math_float_vector(rows * columns, result);
}

static PyObject *spyp_math_call_dot(const spyp_math_function *function, PyObject *const *args) {
    double x[4], y[4], result;
    uint64_t stored = 0;
    const spyp_math_kind *kind = spyp_math_pair_of(function, args, true, x, y);
    if (!kind) return NULL;
    if (spyp_math_is_float(kind->dtype)) return PyFloat_FromDouble(spyp_math_dot(x, y, kind->columns));
    result = spyp_math_dot_integers(x, y, kind->columns);
    if (spyp_math_store(kind->name, kind->dtype, &stored, 0, result)) return NULL; // the type cannot hold the result
    return spyp_math_scalar_new(kind->dtype, result);
}

static PyObject *spyp_math_call_cross(const spyp_math_function *function, PyObject *const *args) {
    double x[4], y[4], result[4];
    const spyp_math_kind *kind = spyp_math_pair_of(function, args, true, x, y);
    if (!kind) return NULL;
    if (kind->form == SPYP_MATH_QUATERNION) { // as in GLM, the product of the quaternions
        spyp_math_quaternion_product(x, y, result);
        return spyp_math_make(kind, result);
    }
    if (kind->columns != 3) return spyp_math_arg_error(function, 0, "a vector of 3 components", args[0]);
    spyp_math_cross_by(spyp_math_is_float(kind->dtype) ? spyp_math_dot : spyp_math_dot_integers, x, y,
                       result);
    return spyp_math_make(kind, result);
}

// >>length

// Reads a float vector or quaternion. Returns its kind, or NULL with a TypeError set.
static const spyp_math_kind *spyp_math_measured(const spyp_math_function *function, PyObject *arg,
                                                double *x) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    if (!kind || !spyp_math_is_float(kind->dtype) || kind->form == SPYP_MATH_MATRIX ||
        kind->form == SPYP_MATH_SCALAR) {
        spyp_math_arg_error(function, 0, "a float vector or quaternion", arg);
        return NULL;
    }
    spyp_math_load_all(arg, x);
    return kind;
}

static PyObject *spyp_math_call_length(const spyp_math_function *function, PyObject *const *args) {
    double x[4];
    const spyp_math_kind *kind = spyp_math_measured(function, args[0], x);
    return kind ? PyFloat_FromDouble(sqrt(spyp_math_dot(x, x, kind->columns))) : NULL;
}

static PyObject *spyp_math_call_distance(const spyp_math_function *function, PyObject *const *args) {
    double x[4], y[4];
    const spyp_math_kind *kind = spyp_math_measured(function, args[0], x);
    if (!kind || !spyp_math_pair_of(function, args, false, x, y)) return NULL;
    for (uint32_t i = 0; i < kind->columns; i++) x[i] -= y[i];
    return PyFloat_FromDouble(sqrt(spyp_math_dot(x, x, kind->columns)));
}

static PyObject *spyp_math_call_normalize(const spyp_math_function *function, PyObject *const *args) {
    double x[4], length;
    const spyp_math_kind *kind = spyp_math_measured(function, args[0], x);
    if (!kind) return NULL;
    length = sqrt(spyp_math_dot(x, x, kind->columns));
    for (uint32_t i = 0; i < kind->columns; i++) x[i] /= length;
    return spyp_math_make(kind, x);
}

static PyObject *spyp_math_call_reflect(const spyp_math_function *function, PyObject *const *args) {
    double x[4], n[4], along;
    const spyp_math_kind *kind = spyp_math_measured(function, args[0], x);
    if (!kind || !spyp_math_pair_of(function, args, false, x, n)) return NULL;
    along = spyp_math_dot(x, n, kind->columns);
    for (uint32_t i = 0; i < kind->columns; i++) x[i] -= 2 * along * n[i];
    return spyp_math_make(kind, x);
}

static PyObject *spyp_math_call_refract(const spyp_math_function *function, PyObject *const *args) {
    double x[4], n[4], eta, along, rest;
    const spyp_math_kind *kind = spyp_math_measured(function, args[0], x);
    if (!kind || !spyp_math_pair_of(function, args, false, x, n)) return NULL;
    if (!spyp_math_arg_number(function, 2, args[2], &eta)) return NULL;
    along = spyp_math_dot(x, n, kind->columns);
    rest = 1 - eta * eta * (1 - along * along);
    for (uint32_t i = 0; i < kind->columns; i++)
        x[i] = rest < 0 ? 0 : eta * x[i] - (eta * along + sqrt(rest)) * n[i];
    return spyp_math_make(kind, x);
}

// >>truth

static PyObject *spyp_math_truth(const spyp_math_function *function, PyObject *arg, bool any) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    double x[4];
    if (!kind || kind->form != SPYP_MATH_VECTOR) return spyp_math_arg_error(function, 0, "a vector", arg);
    spyp_math_load_all(arg, x);
    for (uint32_t i = 0; i < kind->columns; i++) {
        if ((x[i] != 0) == any) return PyBool_FromLong(any);
    }
    return PyBool_FromLong(!any);
}

static PyObject *spyp_math_call_all(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_truth(function, args[0], false);
}

static PyObject *spyp_math_call_none(const spyp_math_function *function, PyObject *const *args) {
    PyObject *any = spyp_math_truth(function, args[0], true);
    if (any) spyp_replace(&any, PyBool_FromLong(any != Py_True));
    return any;
}

static PyObject *spyp_math_call_any(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_truth(function, args[0], true);
}

// >>bits

// Reads the 32 bits of each component as another type. A number counts as a component of the source type that
// fits it.
static PyObject *spyp_math_reinterpret(const spyp_math_function *function, PyObject *arg, spy_dtype dtype) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    spy_dtype source = PyIndex_Check(arg) ? SPY_DTYPE_UINT32 : SPY_DTYPE_FLOAT32;
    uint32_t bits = 0;
    double value;
    int found;
    if (kind && kind->form == SPYP_MATH_VECTOR && spy_dtype_size_bytes(kind->dtype) == 4)
        return spyp_math_new(dtype, 1, kind->columns, ((const spyp_math_value *)arg)->data);
    found = kind && kind->form != SPYP_MATH_SCALAR ? 0 : spyp_math_read_scalar(source, arg, &value);
    if (found > 0 && source == SPY_DTYPE_UINT32 && value < 0) source = SPY_DTYPE_INT32;
    if (found == 0)
        return spyp_math_arg_error(function, 0, "a vector of float, int or uint, or a number", arg);
    if (found < 0 || spyp_math_store("math", source, &bits, 0, value)) return NULL;
    return spyp_math_scalar_new(dtype, spyp_math_load(dtype, &bits, 0));
}

static PyObject *spyp_math_call_asfloat(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_reinterpret(function, args[0], SPY_DTYPE_FLOAT32);
}

static PyObject *spyp_math_call_asint(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_reinterpret(function, args[0], SPY_DTYPE_INT32);
}

static PyObject *spyp_math_call_asuint(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_reinterpret(function, args[0], SPY_DTYPE_UINT32);
}

// Reads the bits of a half as a number, or the other way round (`to_half`). Vectors of integers and floats go by component.
static PyObject *spyp_math_half_bits(const spyp_math_function *function, PyObject *arg, bool to_half) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    spy_dtype source = to_half ? SPY_DTYPE_FLOAT32 : SPY_DTYPE_UINT32,
              made = to_half ? SPY_DTYPE_UINT32 : SPY_DTYPE_FLOAT32;
    double x[4];
    int found = 1;
    if (kind && kind->form == SPYP_MATH_VECTOR && kind->dtype == source) spyp_math_load_all(arg, x);
    else found = kind ? 0 : spyp_math_read_scalar(source, arg, x);
    if (found == 0)
        return spyp_math_arg_error(
            function, 0, to_half ? "a float vector or a number" : "a uint vector or an integer", arg);
    if (found < 0) return NULL;
    for (uint32_t i = 0; i < (kind ? kind->columns : 1); i++) {
        uint16_t half = (uint16_t)(uint32_t)(int64_t)(to_half ? 0 : x[i]);
        if (to_half) spyp_math_store("math", SPY_DTYPE_FLOAT16, &half, 0, x[i]);
        x[i] = to_half ? half : spyp_math_load(SPY_DTYPE_FLOAT16, &half, 0);
    }
    return kind ? spyp_math_make(spyp_math_kind_find(made, 1, kind->columns), x)
                : spyp_math_scalar_new(made, x[0]);
}

static PyObject *spyp_math_call_f16tof32(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_half_bits(function, args[0], false);
}

static PyObject *spyp_math_call_f32tof16(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_half_bits(function, args[0], true);
}

static PyObject *spyp_math_call_asfloat16(const spyp_math_function *function, PyObject *const *args) {
    double bits;
    uint16_t half;
    int found = spyp_math_read_scalar(SPY_DTYPE_UINT32, args[0], &bits);
    if (found == 0) return spyp_math_arg_error(function, 0, "an integer", args[0]);
    if (found < 0) return NULL;
    half = (uint16_t)(int64_t)bits;
    return spyp_math_new(SPY_DTYPE_FLOAT16, 0, 0, &half);
}

static PyObject *spyp_math_call_asuint16(const spyp_math_function *function, PyObject *const *args) {
    double value;
    uint16_t half;
    if (!spyp_math_arg_number(function, 0, args[0], &value)) return NULL;
    spyp_math_store("math", SPY_DTYPE_FLOAT16, &half, 0, value);
    return PyLong_FromLong(half);
}

// >>matrices

static PyObject *spyp_math_call_transpose(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *kind = spyp_math_kind_of(args[0]);
    double m[SPYP_MATH_MAX_SIZE], result[SPYP_MATH_MAX_SIZE];
    if (!kind || kind->form != SPYP_MATH_MATRIX) return spyp_math_arg_error(function, 0, "a matrix", args[0]);
    spyp_math_load_all(args[0], m);
    for (uint32_t r = 0; r < kind->rows; r++) {
        for (uint32_t c = 0; c < kind->columns; c++) result[c * kind->rows + r] = m[r * kind->columns + c];
    }
    return spyp_math_float_matrix(kind->columns, kind->rows, result);
}

static void spyp_math_swap_rows(double *m, uint32_t size, uint32_t a, uint32_t b) {
    for (uint32_t c = 0; c < size; c++) {
        double kept = m[a * size + c];
        m[a * size + c] = m[b * size + c];
        m[b * size + c] = kept;
    }
}

// Inverts a matrix by Gauss-Jordan elimination with row pivots. It turns `m` into the identity, and
// `inverse`, which must be the identity before, into the inverse of `m`. Returns the determinant; if that is
// 0, `inverse` is not valid.
static double spyp_math_eliminate(double *m, double *inverse, uint32_t size) {
    double determinant = 1;
    for (uint32_t column = 0; column < size; column++) {
        uint32_t pivot = column;
        double factor;
        for (uint32_t r = column + 1; r < size; r++)
            if (fabs(m[r * size + column]) > fabs(m[pivot * size + column])) pivot = r;
        factor = m[pivot * size + column];
        if (factor == 0) return 0;
        determinant *= pivot == column ? factor : -factor;
        spyp_math_swap_rows(m, size, pivot, column);
        spyp_math_swap_rows(inverse, size, pivot, column);
        for (uint32_t c = 0; c < size; c++) {
            m[column * size + c] /= factor;
            inverse[column * size + c] /= factor;
        }
        for (uint32_t r = 0; r < size; r++) {
            double times = m[r * size + column];
            for (uint32_t c = 0; r != column && c < size; c++) {
                m[r * size + c] -= times * m[column * size + c];
                inverse[r * size + c] -= times * inverse[column * size + c];
            }
        }
    }
    return determinant;
}

// Computes the determinant and the inverse of a square matrix argument. Returns its number of rows, or 0 with
// a TypeError set.
static uint32_t spyp_math_solve(const spyp_math_function *function, PyObject *arg, double *inverse,
                                double *determinant) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    double m[SPYP_MATH_MAX_SIZE];
    if (!kind || kind->form != SPYP_MATH_MATRIX || kind->rows != kind->columns) {
        spyp_math_arg_error(function, 0, "a square matrix", arg);
        return 0;
    }
    spyp_math_load_all(arg, m);
    for (uint32_t i = 0; i < kind->rows * kind->rows; i++) inverse[i] = i % (kind->rows + 1) == 0;
    *determinant = spyp_math_eliminate(m, inverse, kind->rows);
    return kind->rows;
}

static PyObject *spyp_math_call_determinant(const spyp_math_function *function, PyObject *const *args) {
    double inverse[SPYP_MATH_MAX_SIZE], determinant;
    return spyp_math_solve(function, args[0], inverse, &determinant) ? PyFloat_FromDouble(determinant) : NULL;
}

// >>quaternions

static PyObject *spyp_math_call_conjugate(const spyp_math_function *function, PyObject *const *args) {
    double q[4];
    if (!spyp_math_arg_quaternion(function, 0, args[0], q)) return NULL;
    for (int i = 0; i < 3; i++) q[i] = -q[i];
    return spyp_math_quaternion(q);
}

static PyObject *spyp_math_call_inverse(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *kind = spyp_math_kind_of(args[0]);
    double x[SPYP_MATH_MAX_SIZE], determinant;
    uint32_t size;
    if (kind && kind->form == SPYP_MATH_QUATERNION) {
        spyp_math_load_all(args[0], x);
        determinant = spyp_math_dot(x, x, 4);
        for (int i = 0; i < 4; i++) x[i] = (i < 3 ? -x[i] : x[i]) / determinant;
        return spyp_math_quaternion(x);
    }
    size = spyp_math_solve(function, args[0], x, &determinant);
    if (!size) return NULL;
    if (determinant != 0) return spyp_math_float_matrix(size, size, x);
    PyErr_Format(spyp.value_error,
                 "math.inverse: argument 'x': expected a matrix that has an inverse, got determinant 0");
    return NULL;
}

// Interpolates two rotations along the shorter arc.
static PyObject *spyp_math_call_slerp(const spyp_math_function *function, PyObject *const *args) {
    double a[4], b[4], s, cosine, angle, from, to;
    if (!spyp_math_arg_quaternion(function, 0, args[0], a) ||
        !spyp_math_arg_quaternion(function, 1, args[1], b) || !spyp_math_arg_number(function, 2, args[2], &s))
        return NULL;
    cosine = spyp_math_dot(a, b, 4);
    angle = acos(fmin(fabs(cosine), 1));
    from = angle < 1e-6 ? 1 - s : sin((1 - s) * angle) / sin(angle);
    to = angle < 1e-6 ? s : sin(s * angle) / sin(angle);
    for (int i = 0; i < 4; i++) a[i] = from * a[i] + (cosine < 0 ? -to : to) * b[i];
    return spyp_math_quaternion(a);
}

#define SPYP_MATH_CALL(call, doc)                                                                            \
    { call, doc, { NULL }, 0, 0, false }

const spyp_math_function spyp_math_algebra[] = {
    SPYP_MATH_CALL(spyp_math_call_mul, "mul(x, y)\n--\n\nThe product of matrices, of a matrix and a column "
                                       "vector, of a row vector and a matrix, of quaternions; a quaternion "
                                       "times a float3 rotates it. TypeError when the sizes do not fit."),
    SPYP_MATH_CALL(spyp_math_call_all, "all(x)\n--\n\nWhether no component is zero."),
    SPYP_MATH_CALL(spyp_math_call_any, "any(x)\n--\n\nWhether a component is not zero."),
    SPYP_MATH_CALL(spyp_math_call_none, "none(x)\n--\n\nWhether every component is zero."),
    SPYP_MATH_CALL(spyp_math_call_asfloat16, "asfloat16(x)\n--\n\nThe float16_t of 16 bits."),
    SPYP_MATH_CALL(spyp_math_call_asuint16, "asuint16(x)\n--\n\nThe 16 bits of a float16_t as an int."),
    SPYP_MATH_CALL(spyp_math_call_f16tof32,
                   "f16tof32(x)\n--\n\nThe float whose half has the low 16 bits of x."),
    SPYP_MATH_CALL(spyp_math_call_f32tof16, "f32tof16(x)\n--\n\nThe bits of x as a half."),
    SPYP_MATH_CALL(spyp_math_call_asfloat, "asfloat(x)\n--\n\nThe bits of int, uint or float as float."),
    SPYP_MATH_CALL(spyp_math_call_asint, "asint(x)\n--\n\nThe bits of float, uint or int as int."),
    SPYP_MATH_CALL(spyp_math_call_asuint, "asuint(x)\n--\n\nThe bits of float, int or uint as uint."),
    SPYP_MATH_CALL(spyp_math_call_conjugate,
                   "conjugate(x)\n--\n\nThe quaternion with its vector part negated."),
    SPYP_MATH_CALL(spyp_math_call_cross, "cross(x, y)\n--\n\nThe cross product of two vectors of 3 "
                                         "components; of two quaternions their product."),
    SPYP_MATH_CALL(spyp_math_call_determinant, "determinant(x)\n--\n\nOf a square matrix."),
    SPYP_MATH_CALL(spyp_math_call_distance, "distance(x, y)\n--\n\nThe length of y - x."),
    SPYP_MATH_CALL(spyp_math_call_dot, "dot(x, y)\n--\n\nThe sum of products of two vectors or quaternions "
                                       "of one type; OverflowError when integers are out of range."),
    SPYP_MATH_CALL(
        spyp_math_call_inverse,
        "inverse(x)\n--\n\nThe inverse of a square matrix or quaternion; ValueError when a matrix has none."),
    SPYP_MATH_CALL(spyp_math_call_length,
                   "length(x)\n--\n\nThe Euclidean length of a float vector or quaternion."),
    SPYP_MATH_CALL(spyp_math_call_normalize, "normalize(x)\n--\n\nx / length(x); NaN for the length 0."),
    SPYP_MATH_CALL(spyp_math_call_reflect,
                   "reflect(i, n)\n--\n\nThe direction i reflected at a surface with the unit normal n."),
    SPYP_MATH_CALL(spyp_math_call_refract,
                   "refract(i, n, eta)\n--\n\nThe unit direction i refracted at the unit normal n, eta the "
                   "ratio of the indices; zero at total reflection."),
    SPYP_MATH_CALL(spyp_math_call_slerp, "slerp(x, y, s)\n--\n\nBetween two unit quaternions, s from 0 to 1, "
                                         "at even speed and the shorter way."),
    SPYP_MATH_CALL(spyp_math_call_transpose,
                   "transpose(x)\n--\n\nThe matrix with rows and columns exchanged."),
    { NULL, NULL, { NULL }, 0, 0, false },
};
