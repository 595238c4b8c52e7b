// Functions of slangpy.math that make and use transformations. Matrices multiply column vectors (m @ v),
// coordinates are right-handed, depth goes from 0 to 1, and angles are in radians. Euler angles are GLM's.
#include "values/math_value.h"
#include <math.h>

// >>vectors of three

static void spyp_math_subtract3(const double *a, const double *b, double *result) {
    for (int i = 0; i < 3; i++) result[i] = a[i] - b[i];
}

static void spyp_math_normalize3(double *v) {
    double length = sqrt(spyp_math_dot(v, v, 3));
    for (int i = 0; i < 3; i++) v[i] /= length;
}

static bool spyp_math_value_error(const char *text) {
    PyErr_SetString(spyp.value_error, text);
    return false;
}

// Reads a direction: a float3 that is not zero. It is scaled to length 1.
static bool spyp_math_arg_direction(const spyp_math_function *function, int index, PyObject *arg,
                                    double *value) {
    if (!spyp_math_arg_vector(function, index, arg, 3, value)) return false;
    if (spyp_math_dot(value, value, 3) == 0)
        return spyp_math_value_error("math: expected a direction, got a vector of length 0");
    spyp_math_normalize3(value);
    return true;
}

// Reads a handedness. *left becomes true for 1 and "left_handed", false for 0, "right_handed" and a left-out
// argument. Returns false with an exception set for anything else.
static bool spyp_math_arg_handedness(const spyp_math_function *function, int index, PyObject *arg,
                                     bool *left) {
    double value = 0;
    *left = false;
    if (!arg) return true;
    if (PyUnicode_Check(arg)) {
        *left = PyUnicode_CompareWithASCIIString(arg, "left_handed") == 0;
        if (*left || PyUnicode_CompareWithASCIIString(arg, "right_handed") == 0) return true;
    } else if (spyp_math_read_scalar(SPY_DTYPE_INT32, arg, &value) > 0 && (value == 0 || value == 1)) {
        *left = value != 0;
        return true;
    }
    if (!PyErr_Occurred())
        spyp_math_arg_error(function, index, "Handedness.right_handed (0) or Handedness.left_handed (1)",
                            arg);
    return false;
}

// >>matrices of 4 x 4

static void spyp_math_unit4(double *m) {
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
}

// Makes a float4x4 whose upper left part is a rotation of 3 x 3.
static PyObject *spyp_math_from_rotation(const double *rotation) {
    double m[16];
    spyp_math_unit4(m);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) m[r * 4 + c] = rotation[r * 3 + c];
    return spyp_math_float_matrix(4, 4, m);
}

static void spyp_math_quaternion_matrix(const double *q, double *m) {
    static const double axes[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    for (int c = 0; c < 3; c++) {
        double column[3];
        spyp_math_quaternion_rotate(q, axes[c], column);
        for (int r = 0; r < 3; r++) m[r * 3 + c] = column[r];
    }
}

static void spyp_math_angle_axis(double angle, const double *axis, double *q) {
    for (int i = 0; i < 3; i++) q[i] = sin(angle / 2) * axis[i];
    q[3] = cos(angle / 2);
}

static void spyp_math_axis_matrix(double angle, const double *axis, double *m) {
    double q[4];
    spyp_math_angle_axis(angle, axis, q);
    spyp_math_quaternion_matrix(q, m);
}

static PyObject *spyp_math_rotation_about(const spyp_math_function *function, PyObject *arg, int axis) {
    double angle, m[9], unit[3] = { axis == 0, axis == 1, axis == 2 };
    if (!spyp_math_arg_number(function, 0, arg, &angle)) return NULL;
    spyp_math_axis_matrix(angle, unit, m);
    return spyp_math_from_rotation(m);
}

static PyObject *spyp_math_call_rotation_x(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_rotation_about(function, args[0], 0);
}

static PyObject *spyp_math_call_rotation_y(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_rotation_about(function, args[0], 1);
}

static PyObject *spyp_math_call_rotation_z(const spyp_math_function *function, PyObject *const *args) {
    return spyp_math_rotation_about(function, args[0], 2);
}

static PyObject *spyp_math_call_rotation(const spyp_math_function *function, PyObject *const *args) {
    double angle, axis[3], m[9];
    if (!spyp_math_arg_number(function, 0, args[0], &angle) ||
        !spyp_math_arg_direction(function, 1, args[1], axis))
        return NULL;
    spyp_math_axis_matrix(angle, axis, m);
    return spyp_math_from_rotation(m);
}

// matrix_from_rotation_xyz(): the angles are three numbers, or one float3.
static PyObject *spyp_math_call_rotation_xyz(const spyp_math_function *function, PyObject *const *args) {
    double angles[3], x[9], y[9], z[9], xy[9], all[9];
    static const double axes[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    if (args[1] && args[2]) {
        for (int i = 0; i < 3; i++)
            if (!spyp_math_arg_number(function, i, args[i], &angles[i])) return NULL;
    } else if (args[1] || args[2]) {
        spyp_math_value_error(
            "math.matrix_from_rotation_xyz: expected three angles or one float3, got two arguments");
        return NULL;
    } else if (!spyp_math_arg_vector(function, 0, args[0], 3, angles)) {
        return NULL;
    }
    spyp_math_axis_matrix(angles[0], axes[0], x);
    spyp_math_axis_matrix(angles[1], axes[1], y);
    spyp_math_axis_matrix(angles[2], axes[2], z);
    spyp_math_product(3, 3, 3, x, y, xy);
    spyp_math_product(3, 3, 3, xy, z, all);
    return spyp_math_from_rotation(all);
}

static void spyp_math_translation(const double *v, double *m) {
    spyp_math_unit4(m);
    for (int i = 0; i < 3; i++) m[i * 4 + 3] = v[i];
}

static void spyp_math_scaling(const double *v, double *m) {
    spyp_math_unit4(m);
    for (int i = 0; i < 3; i++) m[i * 5] = v[i];
}

static PyObject *spyp_math_call_translation(const spyp_math_function *function, PyObject *const *args) {
    double v[3], m[16];
    if (!spyp_math_arg_vector(function, 0, args[0], 3, v)) return NULL;
    spyp_math_translation(v, m);
    return spyp_math_float_matrix(4, 4, m);
}

static PyObject *spyp_math_call_scaling(const spyp_math_function *function, PyObject *const *args) {
    double v[3], m[16];
    if (!spyp_math_arg_vector(function, 0, args[0], 3, v)) return NULL;
    spyp_math_scaling(v, m);
    return spyp_math_float_matrix(4, 4, m);
}

static PyObject *spyp_math_call_translate(const spyp_math_function *function, PyObject *const *args) {
    double m[16], v[3], step[16], result[16];
    if (!spyp_math_arg_matrix(function, 0, args[0], 4, 4, m) ||
        !spyp_math_arg_vector(function, 1, args[1], 3, v))
        return NULL;
    spyp_math_translation(v, step);
    spyp_math_product(4, 4, 4, m, step, result);
    return spyp_math_float_matrix(4, 4, result);
}

static PyObject *spyp_math_call_scale(const spyp_math_function *function, PyObject *const *args) {
    double m[16], v[3], step[16], result[16];
    if (!spyp_math_arg_matrix(function, 0, args[0], 4, 4, m) ||
        !spyp_math_arg_vector(function, 1, args[1], 3, v))
        return NULL;
    spyp_math_scaling(v, step);
    spyp_math_product(4, 4, 4, m, step, result);
    return spyp_math_float_matrix(4, 4, result);
}

static PyObject *spyp_math_call_rotate(const spyp_math_function *function, PyObject *const *args) {
    double m[16], angle, axis[3], rotation[9], step[16], result[16];
    if (!spyp_math_arg_matrix(function, 0, args[0], 4, 4, m) ||
        !spyp_math_arg_number(function, 1, args[1], &angle) ||
        !spyp_math_arg_direction(function, 2, args[2], axis))
        return NULL;
    spyp_math_axis_matrix(angle, axis, rotation);
    spyp_math_unit4(step);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) step[r * 4 + c] = rotation[r * 3 + c];
    spyp_math_product(4, 4, 4, m, step, result);
    return spyp_math_float_matrix(4, 4, result);
}

// >>2-D

typedef void (*spyp_math_step_function)(const double *v, double *m);

static void spyp_math_translation_2d(const double *v, double *m) {
    const double made[9] = { 1, 0, v[0], 0, 1, v[1], 0, 0, 1 };
    memcpy(m, made, sizeof made);
}

static void spyp_math_scaling_2d(const double *v, double *m) {
    const double made[9] = { v[0], 0, 0, 0, v[1], 0, 0, 0, 1 };
    memcpy(m, made, sizeof made);
}

static void spyp_math_rotation_2d(const double *angle, double *m) {
    const double made[9] = { cos(*angle), -sin(*angle), 0, sin(*angle), cos(*angle), 0, 0, 0, 1 };
    memcpy(m, made, sizeof made);
}

// Makes the float3x3 of a translation, scaling or rotation of the plane, whose argument is `size` numbers. With one more
// argument, returns the product of a matrix and that float3x3.
static PyObject *spyp_math_step_2d(const spyp_math_function *function, PyObject *const *args,
                                   spyp_math_step_function make, uint32_t size, bool of_matrix) {
    double m[9], v[2], step[9], result[9];
    int at = of_matrix ? 1 : 0;
    if (of_matrix && !spyp_math_arg_matrix(function, 0, args[0], 3, 3, m)) return NULL;
    if (!(size == 1 ? spyp_math_arg_number(function, at, args[at], v)
                    : spyp_math_arg_vector(function, at, args[at], 2, v)))
        return NULL;
    make(v, step);
    if (!of_matrix) return spyp_math_float_matrix(3, 3, step);
    spyp_math_product(3, 3, 3, m, step, result);
    return spyp_math_float_matrix(3, 3, result);
}

#define SPYP_MATH_STEP_2D(name, make, size, of_matrix)                                                       \
    static PyObject *spyp_math_call_##name(const spyp_math_function *function, PyObject *const *args) {      \
        return spyp_math_step_2d(function, args, make, size, of_matrix);                                     \
    }

SPYP_MATH_STEP_2D(translate_2d, spyp_math_translation_2d, 2, true)
SPYP_MATH_STEP_2D(scale_2d, spyp_math_scaling_2d, 2, true)
SPYP_MATH_STEP_2D(rotate_2d, spyp_math_rotation_2d, 1, true)
SPYP_MATH_STEP_2D(from_translation_2d, spyp_math_translation_2d, 2, false)
SPYP_MATH_STEP_2D(from_scaling_2d, spyp_math_scaling_2d, 2, false)
SPYP_MATH_STEP_2D(from_rotation_2d, spyp_math_rotation_2d, 1, false)

// >>decomposition

static PyObject *spyp_math_call_4x4_from_3x4(const spyp_math_function *function, PyObject *const *args) {
    double m[16] = { 0 };
    if (!spyp_math_arg_matrix(function, 0, args[0], 3, 4, m)) return NULL;
    m[15] = 1;
    return spyp_math_float_matrix(4, 4, m);
}

static PyObject *spyp_math_call_quat_matrix(const spyp_math_function *function,
                                            PyObject *const *args); // defined below

// Writes the components of a vector or quaternion that the caller gave.
static void spyp_math_write_floats(PyObject *value, uint32_t size, const double *components) {
    for (uint32_t i = 0; i < size; i++)
        spyp_math_store("math", SPY_DTYPE_FLOAT32, ((spyp_math_value *)value)->data, i, components[i]);
}

// Returns whether argument `index` is a value of this form and size, into which a result can be written.
static bool spyp_math_takes_floats(const spyp_math_function *function, int index, PyObject *arg,
                                   spyp_math_form form, uint32_t size) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    if (kind && kind->form == form && kind->columns == size && kind->dtype == SPY_DTYPE_FLOAT32) return true;
    spyp_math_arg_error(function, index,
                        form == SPYP_MATH_QUATERNION ? "quatf"
                        : size == 3                  ? "float3"
                                                     : "float4",
                        arg);
    return false;
}

// Splits the columns of a linear map into lengths, shears and a rotation, by Gram and Schmidt's steps: each column loses its
// parts along the ones before, and these parts are the shears. skew is (yz, xz, xy).
static bool spyp_math_split_columns(double column[3][3], double *scale, double *skew) {
    double xy, xz, yz, cross[3];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < i; j++) {
            double along = spyp_math_dot(column[i], column[j], 3);
            for (int k = 0; k < 3; k++) column[i][k] -= along * column[j][k];
            skew[3 - i - j] = along;
        }
        scale[i] = sqrt(spyp_math_dot(column[i], column[i], 3));
        if (scale[i] == 0) return false;
        for (int k = 0; k < 3; k++) column[i][k] /= scale[i];
    }
    xy = skew[2] / scale[1], xz = skew[1] / scale[2], yz = skew[0] / scale[2];
    skew[0] = yz, skew[1] = xz, skew[2] = xy;
    spyp_math_cross(column[1], column[2], cross);
    if (spyp_math_dot(column[0], cross, 3) >= 0) return true;
    for (int i = 0; i < 3; i++) { // for a mirrored system the scale gets the mirror
        scale[i] = -scale[i];
        for (int k = 0; k < 3; k++) column[i][k] = -column[i][k];
    }
    return true;
}

static PyObject *spyp_math_call_decompose(const spyp_math_function *function, PyObject *const *args) {
    double m[16], column[3][3], rotation[9], scale[3], skew[3] = { 0 }, position[3],
                                                       bottom[4] = { 0, 0, 0, 1 };
    if (!spyp_math_arg_matrix(function, 0, args[0], 4, 4, m) ||
        !spyp_math_takes_floats(function, 1, args[1], SPYP_MATH_VECTOR, 3) ||
        !spyp_math_takes_floats(function, 2, args[2], SPYP_MATH_QUATERNION, 4) ||
        !spyp_math_takes_floats(function, 3, args[3], SPYP_MATH_VECTOR, 3) ||
        !spyp_math_takes_floats(function, 4, args[4], SPYP_MATH_VECTOR, 3) ||
        !spyp_math_takes_floats(function, 5, args[5], SPYP_MATH_VECTOR, 4))
        return NULL;
    if (m[15] == 0 || m[12] != 0 || m[13] != 0 || m[14] != 0) Py_RETURN_FALSE; // the map is not affine
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) column[i][k] = m[k * 4 + i] / m[15];
        position[i] = m[i * 4 + 3] / m[15];
    }
    if (!spyp_math_split_columns(column, scale, skew)) Py_RETURN_FALSE;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) rotation[r * 3 + c] = column[c][r];
    PyObject *matrix = spyp_math_float_matrix(3, 3, rotation),
             *quaternion = matrix ? spyp_math_call_quat_matrix(function, &matrix) : NULL;
    Py_XDECREF(matrix);
    if (!quaternion) return NULL;
    spyp_math_load_all(quaternion, m);
    Py_DECREF(quaternion);
    spyp_math_write_floats(args[1], 3, scale);
    spyp_math_write_floats(args[2], 4, m);
    spyp_math_write_floats(args[3], 3, position);
    spyp_math_write_floats(args[4], 3, skew);
    spyp_math_write_floats(args[5], 4, bottom);
    Py_RETURN_TRUE;
}

// >>cameras

static bool spyp_math_numbers_of(const spyp_math_function *function, PyObject *const *args, int count,
                                 double *values) {
    for (int i = 0; i < count; i++)
        if (!spyp_math_arg_number(function, i, args[i], &values[i])) return false;
    return true;
}

static PyObject *spyp_math_call_perspective(const spyp_math_function *function, PyObject *const *args) {
    double v[4], focal, m[16] = { 0 }; // v: fovy, aspect, z_near, z_far
    if (!spyp_math_numbers_of(function, args, 4, v)) return NULL;
    if (!(v[0] > 0 && v[0] < 3.1415926535897931 && v[1] > 0 && v[2] != v[3])) {
        spyp_math_value_error("math.perspective: expected 0 < fovy < pi, aspect > 0 and z_near != z_far");
        return NULL;
    }
    focal = 1 / tan(v[0] / 2);
    m[0] = focal / v[1];
    m[5] = focal;
    m[10] = v[3] / (v[2] - v[3]);
    m[11] = v[2] * v[3] / (v[2] - v[3]);
    m[14] = -1;
    return spyp_math_float_matrix(4, 4, m);
}

static PyObject *spyp_math_call_ortho(const spyp_math_function *function, PyObject *const *args) {
    double v[6], m[16] = { 0 }; // v: left, right, bottom, top, z_near, z_far
    if (!spyp_math_numbers_of(function, args, 6, v)) return NULL;
    if (v[0] == v[1] || v[2] == v[3] || v[4] == v[5]) {
        spyp_math_value_error("math.ortho: expected left != right, bottom != top and z_near != z_far");
        return NULL;
    }
    m[0] = 2 / (v[1] - v[0]);
    m[3] = (v[0] + v[1]) / (v[0] - v[1]);
    m[5] = 2 / (v[3] - v[2]);
    m[7] = (v[2] + v[3]) / (v[2] - v[3]);
    m[10] = 1 / (v[4] - v[5]);
    m[11] = v[4] / (v[4] - v[5]);
    m[15] = 1;
    return spyp_math_float_matrix(4, 4, m);
}

// Computes the axes of a camera that looks along `forward`: rows x, y and z of length 1. z points forward in
// left-handed coordinates and backward in right-handed ones.
static bool spyp_math_look_axes(const double *forward, const double *up, bool left, double *rows) {
    double *x = rows, *y = rows + 3, *z = rows + 6;
    for (int i = 0; i < 3; i++) z[i] = left ? forward[i] : -forward[i];
    spyp_math_cross(up, z, x);
    if (spyp_math_dot(z, z, 3) == 0 || spyp_math_dot(x, x, 3) == 0)
        return spyp_math_value_error(
            "math: expected a view direction and an up vector that are not parallel, nor zero");
    spyp_math_normalize3(x);
    spyp_math_normalize3(z);
    spyp_math_cross(z, x, y);
    return true;
}

static PyObject *spyp_math_call_look_at(const spyp_math_function *function, PyObject *const *args) {
    double eye[3], center[3], up[3], forward[3], rows[9], m[16];
    bool left;
    if (!spyp_math_arg_vector(function, 0, args[0], 3, eye) ||
        !spyp_math_arg_vector(function, 1, args[1], 3, center) ||
        !spyp_math_arg_vector(function, 2, args[2], 3, up) ||
        !spyp_math_arg_handedness(function, 3, args[3], &left))
        return NULL;
    spyp_math_subtract3(center, eye, forward);
    if (!spyp_math_look_axes(forward, up, left, rows)) return NULL;
    spyp_math_unit4(m);
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) m[r * 4 + c] = rows[r * 3 + c];
        m[r * 4 + 3] = -spyp_math_dot(rows + r * 3, eye, 3);
    }
    return spyp_math_float_matrix(4, 4, m);
}

// >>using transformations

static PyObject *spyp_math_call_transform_point(const spyp_math_function *function, PyObject *const *args) {
    double m[16], v[4], result[4];
    if (!spyp_math_arg_matrix(function, 0, args[0], 4, 4, m) ||
        !spyp_math_arg_vector(function, 1, args[1], 3, v))
        return NULL;
    v[3] = 1;
    spyp_math_product(4, 4, 1, m, v, result);
    return spyp_math_float_vector(3, result);
}

static PyObject *spyp_math_call_transform_vector(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *kind = spyp_math_kind_of(args[0]);
    double m[16], v[4], result[4];
    bool square = kind && kind->form == SPYP_MATH_MATRIX && kind->rows == kind->columns && kind->rows >= 3;
    bool quaternion = kind && kind->form == SPYP_MATH_QUATERNION;
    if (!square && !quaternion)
        return spyp_math_arg_error(function, 0, "float3x3, float4x4 or quatf", args[0]);
    spyp_math_load_all(args[0], m);
    if (!spyp_math_arg_vector(function, 1, args[1], 3, v)) return NULL;
    v[3] = 0;
    if (quaternion) spyp_math_quaternion_rotate(m, v, result);
    else spyp_math_product(kind->rows, kind->rows, 1, m, v, result);
    return spyp_math_float_vector(3, result);
}

// Reads the upper left 3 x 3 part of a float3x3 or float4x4 argument.
static bool spyp_math_arg_rotation(const spyp_math_function *function, PyObject *arg, double *m) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    double all[16];
    if (!kind || kind->form != SPYP_MATH_MATRIX || kind->rows != kind->columns || kind->rows < 3) {
        spyp_math_arg_error(function, 0, "float3x3 or float4x4", arg);
        return false;
    }
    spyp_math_load_all(arg, all);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t c = 0; c < 3; c++) m[r * 3 + c] = all[r * kind->columns + c];
    return true;
}

static PyObject *spyp_math_call_extract_euler(const spyp_math_function *function, PyObject *const *args) {
    double m[9], angles[3], s, c;
    if (!spyp_math_arg_rotation(function, args[0], m)) return NULL;
    angles[0] = atan2(-m[5], m[8]);
    angles[1] = atan2(m[2], sqrt(m[0] * m[0] + m[1] * m[1]));
    s = sin(angles[0]);
    c = cos(angles[0]);
    angles[2] = atan2(s * m[6] + c * m[3], c * m[4] + s * m[7]);
    return spyp_math_float_vector(3, angles);
}

// >>quaternions

static PyObject *spyp_math_call_quat_angle_axis(const spyp_math_function *function, PyObject *const *args) {
    double angle, axis[3], q[4];
    if (!spyp_math_arg_number(function, 0, args[0], &angle) ||
        !spyp_math_arg_direction(function, 1, args[1], axis))
        return NULL;
    spyp_math_angle_axis(angle, axis, q);
    return spyp_math_quaternion(q);
}

static PyObject *spyp_math_call_quat_between(const spyp_math_function *function, PyObject *const *args) {
    double from[3], to[3], q[4], length;
    if (!spyp_math_arg_direction(function, 0, args[0], from) ||
        !spyp_math_arg_direction(function, 1, args[1], to))
        return NULL;
    spyp_math_cross(from, to, q);
    q[3] = 1 + spyp_math_dot(from, to, 3);
    if (q[3] < 1e-9) { // for opposite directions: half a turn about any axis at right angles
        const double helper[3] = { fabs(from[0]) < 0.5, fabs(from[0]) >= 0.5, 0 };
        spyp_math_cross(from, helper, q);
        q[3] = 0;
    }
    length = sqrt(spyp_math_dot(q, q, 3) + q[3] * q[3]);
    for (int i = 0; i < 4; i++) q[i] /= length;
    return spyp_math_quaternion(q);
}

static PyObject *spyp_math_call_quat_euler(const spyp_math_function *function, PyObject *const *args) {
    double angles[3], x[4] = { 0 }, y[4] = { 0 }, z[4] = { 0 }, zy[4], q[4];
    if (!spyp_math_arg_vector(function, 0, args[0], 3, angles)) return NULL;
    x[0] = sin(angles[0] / 2);
    x[3] = cos(angles[0] / 2);
    y[1] = sin(angles[1] / 2);
    y[3] = cos(angles[1] / 2);
    z[2] = sin(angles[2] / 2);
    z[3] = cos(angles[2] / 2);
    spyp_math_quaternion_product(z, y, zy);
    spyp_math_quaternion_product(zy, x, q);
    return spyp_math_quaternion(q);
}

// Converts a rotation matrix. The largest of 4 x^2, 4 y^2, 4 z^2 and 4 w^2 says which component the others
// are divided by.
static void spyp_math_matrix_quaternion(const double *m, double *q) {
    double trace = m[0] + m[4] + m[8], squares[4], root;
    int largest = 3;
    for (int i = 0; i < 3; i++) squares[i] = 1 + 2 * m[i * 4] - trace;
    squares[3] = 1 + trace;
    for (int i = 0; i < 3; i++)
        if (squares[i] > squares[largest]) largest = i;
    root = sqrt(squares[largest]);
    q[largest] = root / 2;
    if (largest == 3) {
        q[0] = (m[7] - m[5]) / (2 * root);
        q[1] = (m[2] - m[6]) / (2 * root);
        q[2] = (m[3] - m[1]) / (2 * root);
        return;
    }
    int next = (largest + 1) % 3, last = (largest + 2) % 3;
    q[next] = (m[next * 3 + largest] + m[largest * 3 + next]) / (2 * root);
    q[last] = (m[last * 3 + largest] + m[largest * 3 + last]) / (2 * root);
    q[3] = (m[last * 3 + next] - m[next * 3 + last]) / (2 * root);
}

static PyObject *spyp_math_call_quat_matrix(const spyp_math_function *function, PyObject *const *args) {
    double m[9], q[4];
    if (!spyp_math_arg_rotation(function, args[0], m)) return NULL;
    spyp_math_matrix_quaternion(m, q);
    return spyp_math_quaternion(q);
}

static PyObject *spyp_math_call_quat_look_at(const spyp_math_function *function, PyObject *const *args) {
    double direction[3], up[3], rows[9], m[9], q[4];
    bool left;
    if (!spyp_math_arg_vector(function, 0, args[0], 3, direction) ||
        !spyp_math_arg_vector(function, 1, args[1], 3, up) ||
        !spyp_math_arg_handedness(function, 2, args[2], &left) ||
        !spyp_math_look_axes(direction, up, left, rows))
        return NULL;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) m[r * 3 + c] = rows[c * 3 + r];
    spyp_math_matrix_quaternion(m, q);
    return spyp_math_quaternion(q);
}

static PyObject *spyp_math_call_matrix_quat(const spyp_math_function *function, PyObject *const *args) {
    double q[4], m[9];
    if (!spyp_math_arg_quaternion(function, 0, args[0], q)) return NULL;
    spyp_math_quaternion_matrix(q, m);
    return spyp_math_float_matrix(3, 3, m);
}

// Computes pitch, yaw and roll, the angles about x, y and z, of a quaternion. Pitch and roll do not depend on its length.
static bool spyp_math_euler(const spyp_math_function *function, PyObject *arg, double *angles) {
    double q[4], m[9];
    if (!spyp_math_arg_quaternion(function, 0, arg, q)) return false;
    spyp_math_quaternion_matrix(q, m);
    angles[0] = atan2(2 * (q[1] * q[2] + q[3] * q[0]), q[3] * q[3] - q[0] * q[0] - q[1] * q[1] + q[2] * q[2]);
    angles[1] = asin(fmax(-1, fmin(1, -m[6])));
    angles[2] = atan2(2 * (q[0] * q[1] + q[3] * q[2]), q[3] * q[3] + q[0] * q[0] - q[1] * q[1] - q[2] * q[2]);
    return true;
}

static PyObject *spyp_math_call_euler_angles(const spyp_math_function *function, PyObject *const *args) {
    double angles[3];
    return spyp_math_euler(function, args[0], angles) ? spyp_math_float_vector(3, angles) : NULL;
}

static PyObject *spyp_math_call_pitch(const spyp_math_function *function, PyObject *const *args) {
    double angles[3];
    return spyp_math_euler(function, args[0], angles) ? PyFloat_FromDouble(angles[0]) : NULL;
}

static PyObject *spyp_math_call_yaw(const spyp_math_function *function, PyObject *const *args) {
    double angles[3];
    return spyp_math_euler(function, args[0], angles) ? PyFloat_FromDouble(angles[1]) : NULL;
}

static PyObject *spyp_math_call_roll(const spyp_math_function *function, PyObject *const *args) {
    double angles[3];
    return spyp_math_euler(function, args[0], angles) ? PyFloat_FromDouble(angles[2]) : NULL;
}

// >>table

#define SPYP_MATH_CALL(call, doc)                                                                            \
    { call, doc, { NULL }, 0, 0, false }

const spyp_math_function spyp_math_transforms[] = {
    SPYP_MATH_CALL(spyp_math_call_euler_angles,
                   "euler_angles(x)\n--\n\n(pitch, yaw, roll) of a unit quaternion as float3, the inverse of "
                   "quat_from_euler_angles."),
    SPYP_MATH_CALL(spyp_math_call_pitch, "pitch(x)\n--\n\nThe Euler angle about x of a unit quaternion."),
    SPYP_MATH_CALL(spyp_math_call_yaw, "yaw(x)\n--\n\nThe Euler angle about y of a unit quaternion."),
    SPYP_MATH_CALL(spyp_math_call_roll, "roll(x)\n--\n\nThe Euler angle about z of a unit quaternion."),
    SPYP_MATH_CALL(spyp_math_call_extract_euler,
                   "extract_euler_angle_xyz(m)\n--\n\nThe angles of matrix_from_rotation_xyz as float3, from "
                   "a float3x3 or float4x4."),
    SPYP_MATH_CALL(spyp_math_call_look_at,
                   "matrix_from_look_at(eye, center, up, handedness=0)\n--\n\nThe view matrix (float4x4) of "
                   "one at `eye` who looks to `center`: along -z, or +z when handedness is "
                   "Handedness.left_handed. ValueError when up is parallel to that."),
    SPYP_MATH_CALL(spyp_math_call_matrix_quat,
                   "matrix_from_quat(q)\n--\n\nThe rotation of a unit quaternion as float3x3."),
    SPYP_MATH_CALL(spyp_math_call_rotation,
                   "matrix_from_rotation(angle, axis)\n--\n\nThe rotation by `angle` radians about `axis` "
                   "(float3, of any length) as float4x4."),
    SPYP_MATH_CALL(
        spyp_math_call_rotation_x,
        "matrix_from_rotation_x(angle)\n--\n\nThe rotation by `angle` radians about x as float4x4."),
    SPYP_MATH_CALL(
        spyp_math_call_rotation_y,
        "matrix_from_rotation_y(angle)\n--\n\nThe rotation by `angle` radians about y as float4x4."),
    SPYP_MATH_CALL(
        spyp_math_call_rotation_z,
        "matrix_from_rotation_z(angle)\n--\n\nThe rotation by `angle` radians about z as float4x4."),
    SPYP_MATH_CALL(spyp_math_call_rotation_xyz,
                   "matrix_from_rotation_xyz(angle_x, angle_y=None, angle_z=None)\n--\n\nThe product X @ Y @ "
                   "Z of rotations as float4x4, from three angles in radians or one float3."),
    SPYP_MATH_CALL(spyp_math_call_scaling,
                   "matrix_from_scaling(v)\n--\n\nThe scaling by a float3 as float4x4."),
    SPYP_MATH_CALL(spyp_math_call_translation,
                   "matrix_from_translation(v)\n--\n\nThe translation by a float3 as float4x4."),
    SPYP_MATH_CALL(spyp_math_call_ortho,
                   "ortho(left, right, bottom, top, z_near, z_far)\n--\n\nThe orthographic projection as "
                   "float4x4: x and y to -1 .. 1, z from -z_near .. -z_far to 0 .. 1."),
    SPYP_MATH_CALL(
        spyp_math_call_perspective,
        "perspective(fovy, aspect, z_near, z_far)\n--\n\nThe perspective projection as float4x4: fovy in "
        "radians from bottom to top, aspect width / height, z from -z_near .. -z_far to 0 .. 1."),
    SPYP_MATH_CALL(spyp_math_call_quat_angle_axis, "quat_from_angle_axis(angle, axis)\n--\n\nThe rotation by "
                                                   "`angle` radians about `axis` (float3, of any length)."),
    SPYP_MATH_CALL(
        spyp_math_call_quat_euler,
        "quat_from_euler_angles(angles)\n--\n\nThe rotation about x, then y, then z by a float3 of radians."),
    SPYP_MATH_CALL(spyp_math_call_quat_look_at,
                   "quat_from_look_at(dir, up, handedness=0)\n--\n\nThe rotation that turns -z to `dir` (+z "
                   "when handedness is Handedness.left_handed) and y towards `up`."),
    SPYP_MATH_CALL(spyp_math_call_quat_matrix, "quat_from_matrix(m)\n--\n\nThe quaternion of a rotation "
                                               "matrix, float3x3 or the upper left of a float4x4."),
    SPYP_MATH_CALL(spyp_math_call_quat_between,
                   "quat_from_rotation_between_vectors(from_, to)\n--\n\nThe shortest rotation that turns "
                   "the direction `from_` to `to`."),
    SPYP_MATH_CALL(spyp_math_call_rotate,
                   "rotate(m, angle, axis)\n--\n\nm @ matrix_from_rotation(angle, axis)."),
    SPYP_MATH_CALL(spyp_math_call_scale, "scale(m, v)\n--\n\nm @ matrix_from_scaling(v)."),
    SPYP_MATH_CALL(spyp_math_call_transform_point,
                   "transform_point(m, v)\n--\n\nThe float3 v as a point moved by a float4x4: with w = 1 and "
                   "without a division by the new w."),
    SPYP_MATH_CALL(spyp_math_call_transform_vector,
                   "transform_vector(m, v)\n--\n\nThe float3 v as a direction turned by a float3x3, a "
                   "float4x4 (with w = 0) or a unit quaternion."),
    SPYP_MATH_CALL(spyp_math_call_4x4_from_3x4,
                   "matrix_4x4_from_3x4(m)\n--\n\nThe float3x4 m with the row 0, 0, 0, 1 below it."),
    SPYP_MATH_CALL(spyp_math_call_translate_2d,
                   "translate_2d(m, v)\n--\n\nm @ matrix_from_translation_2d(v)."),
    SPYP_MATH_CALL(spyp_math_call_scale_2d, "scale_2d(m, v)\n--\n\nm @ matrix_from_scaling_2d(v)."),
    SPYP_MATH_CALL(spyp_math_call_rotate_2d,
                   "rotate_2d(m, angle)\n--\n\nm @ matrix_from_rotation_2d(angle)."),
    SPYP_MATH_CALL(spyp_math_call_from_translation_2d,
                   "matrix_from_translation_2d(v)\n--\n\nThe translation by a float2 as float3x3."),
    SPYP_MATH_CALL(spyp_math_call_from_scaling_2d,
                   "matrix_from_scaling_2d(v)\n--\n\nThe scaling by a float2 as float3x3."),
    SPYP_MATH_CALL(
        spyp_math_call_from_rotation_2d,
        "matrix_from_rotation_2d(angle)\n--\n\nThe rotation of the plane by `angle` radians as float3x3."),
    SPYP_MATH_CALL(spyp_math_call_decompose,
                   "decompose(model_matrix, scale, orientation, translation, skew, "
                   "perspective)\n--\n\nSplits an affine float4x4 and writes "
                   "the parts into the values given: scale, translation and skew are float3, orientation is "
                   "a quatf, perspective a float4. "
                   "False, and nothing written, for a matrix that is not affine or has no inverse."),
    SPYP_MATH_CALL(spyp_math_call_translate, "translate(m, v)\n--\n\nm @ matrix_from_translation(v)."),
    { NULL, NULL, { NULL }, 0, 0, false },
};
