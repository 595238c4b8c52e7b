// The functions of slangpy.math: how a call finds its entry in a table and reads its arguments, and the functions that work by component.
#include "values/math_value.h"
#include <math.h>

// >>calls

// Sets *name and *length to the next parameter of a signature such as "name(a, b=1)\n--", and moves *at
// behind it. Returns false at the end of the signature.
static bool spyp_math_parameter(const char **at, const char **name, size_t *length, bool *optional) {
    const char *from = *at + strspn(*at, " ,"), *to = from + strcspn(from, ",)");
    if (from == to) return false;
    *name = from;
    *length = strcspn(from, "=,)");
    *optional = from + *length < to;
    *at = to;
    return true;
}

static const char *spyp_math_parameters(const spyp_math_function *function) {
    return strchr(function->doc, '(') + 1;
}

static int spyp_math_name_length(const spyp_math_function *function) {
    return (int)strcspn(function->doc, "(");
}

// Sets a TypeError "math.lerp: WHAT". Takes over the reference `what`.
static void spyp_math_call_error(const spyp_math_function *function, PyObject *what) {
    PyObject *name = PyUnicode_FromStringAndSize(function->doc, spyp_math_name_length(function));
    if (name && what) PyErr_Format(PyExc_TypeError, "math.%U: %U", name, what);
    Py_XDECREF(name);
    Py_XDECREF(what);
}

// Returns the index of the parameter with a name, or -1 if there is none. Two functions have a second name for their first parameter, which
// may also say its type.
static int spyp_math_find_parameter(const spyp_math_function *function, PyObject *wanted) {
    static const char *const aliases[][2] = { { "q", "m" }, { "angles", "angle_x" } };
    const char *at = spyp_math_parameters(function), *name;
    size_t length;
    bool optional;
    for (int i = 0; spyp_math_parameter(&at, &name, &length, &optional); i++) {
        PyObject *text = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
        bool same = text && PyUnicode_Compare(text, wanted) == 0;
        for (int a = 0; i == 0 && text && a < 2; a++)
            same = same || (PyUnicode_CompareWithASCIIString(wanted, aliases[a][0]) == 0 &&
                            PyUnicode_CompareWithASCIIString(text, aliases[a][1]) == 0);
        Py_XDECREF(text);
        if (same) return i;
    }
    return -1;
}

static bool spyp_math_take_keyword(const spyp_math_function *function, PyObject *name, PyObject *value,
                                   PyObject **args) {
    int index = spyp_math_find_parameter(function, name);
    if (index >= 0 && !args[index]) {
        args[index] = value;
        return true;
    }
    if (PyErr_Occurred()) return false;
    spyp_math_call_error(function, PyUnicode_FromFormat(index < 0 ? "No parameter named '%U'"
                                                                  : "parameter '%U' specified multiple times",
                                                        name));
    return false;
}

// Returns whether all required arguments are given and no more than the function has. If not, a TypeError is
// set.
static bool spyp_math_check_args(const spyp_math_function *function, PyObject *const *args,
                                 Py_ssize_t given) {
    const char *at = spyp_math_parameters(function), *name;
    size_t length;
    bool optional;
    int count = 0;
    while (spyp_math_parameter(&at, &name, &length, &optional)) {
        if (!optional && count >= given && !args[count]) {
            PyObject *text = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
            if (text)
                spyp_math_call_error(function, PyUnicode_FromFormat("Parameter '%U' not specified", text));
            Py_XDECREF(text);
            return false;
        }
        count++;
    }
    if (given <= count) return true;
    spyp_math_call_error(function,
                         PyUnicode_FromFormat("Too many arguments: expected %d, got %zd", count, given));
    return false;
}

// >>calls whose arguments are lists, or vectors of other numbers than the function takes

// Returns an argument as a vector of `kind`, a new reference: a vector of the same size, or a list, tuple or array of as many numbers.
// Other arguments are returned as they are. NULL with an exception set: a number does not fit.
static PyObject *spyp_math_as_vector(const spyp_math_kind *kind, PyObject *arg) {
    const spyp_math_kind *own = spyp_math_kind_of(arg);
    bool list = !own && PySequence_Check(arg) && !PyUnicode_Check(arg) && !PyBytes_Check(arg);
    if (own == kind || (own && (own->form != SPYP_MATH_VECTOR || own->dtype == SPY_DTYPE_BOOL)) || (!own && !list)) return Py_NewRef(arg);
    if (PySequence_Size(arg) != (Py_ssize_t)kind->columns) {
        PyErr_Clear();
        return Py_NewRef(arg);
    }
    return PyObject_CallFunctionObjArgs((PyObject *)kind->type, arg, NULL);
}

// Repeats a call after a TypeError, with vectors of `kind` in the place of lists and of vectors of other kinds. Returns NULL without an
// exception if there are none of these, or if the call fails again.
static PyObject *spyp_math_call_converted(const spyp_math_function *function, PyObject *const *args, const spyp_math_kind *kind) {
    PyObject *changed[SPYP_MATH_MAX_ARGS] = { NULL }, *result = NULL;
    bool any = false, failed = !kind;
    for (int i = 0; i < SPYP_MATH_MAX_ARGS && !failed; i++) {
        if (!args[i]) continue;
        changed[i] = spyp_math_as_vector(kind, args[i]);
        any = any || changed[i] != args[i];
        failed = !changed[i];
    }
    if (any && !failed) result = function->call(function, changed);
    if (!result) PyErr_Clear();
    for (int i = 0; i < SPYP_MATH_MAX_ARGS; i++) Py_XDECREF(changed[i]);
    return result;
}

// Repeats a call after a TypeError in other readings of its arguments: with lists as vectors of the kind that all vectors have, or with
// all arguments as vectors of floats, which hold the numbers of ints, too. If none works, the exception that is set stays.
static PyObject *spyp_math_call_again(const spyp_math_function *function, PyObject *const *args) {
    PyObject *type, *value, *trace, *result;
    const spyp_math_kind *kind = NULL;
    Py_ssize_t size = 0;
    bool mixed = false;
    spy_dtype real = SPY_DTYPE_FLOAT32;
    PyErr_Fetch(&type, &value, &trace);
    for (int i = 0; i < SPYP_MATH_MAX_ARGS; i++) {
        const spyp_math_kind *own = args[i] ? spyp_math_kind_of(args[i]) : NULL;
        if (!own || own->form != SPYP_MATH_VECTOR) own = NULL;
        mixed = mixed || (own && kind && own->dtype != kind->dtype);
        if (own && own->dtype == SPY_DTYPE_FLOAT64) real = SPY_DTYPE_FLOAT64;
        if (own && !kind) kind = own;
        if (!size && args[i] && (own || (!spyp_math_kind_of(args[i]) && PySequence_Check(args[i])))) size = PySequence_Size(args[i]);
        PyErr_Clear();
    }
    result = kind && !mixed ? spyp_math_call_converted(function, args, kind) : NULL;
    if (!result && size > 0 && size <= 4) result = spyp_math_call_converted(function, args, spyp_math_kind_find(real, 1, (uint32_t)size));
    if (!result) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

static PyObject *spyp_math_dispatch(PyObject *capsule, PyObject *const *given, Py_ssize_t count,
                                    PyObject *names) {
    const spyp_math_function *function = (const spyp_math_function *)PyCapsule_GetPointer(capsule, NULL);
    PyObject *args[SPYP_MATH_MAX_ARGS] = { NULL };
    Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;
    if (!function) return NULL;
    for (Py_ssize_t i = 0; i < count && i < SPYP_MATH_MAX_ARGS; i++) args[i] = given[i];
    for (Py_ssize_t i = 0; i < keywords; i++) {
        if (!spyp_math_take_keyword(function, PyTuple_GetItem(names, i), given[count + i], args)) return NULL;
    }
    if (!spyp_math_check_args(function, args, count)) return NULL;
    PyObject *result = function->call(function, args);
    return result || !PyErr_ExceptionMatches(PyExc_TypeError) ? result : spyp_math_call_again(function, args);
}

// Adds one function to the module. `method` and `name` must never be freed, because Python keeps their
// addresses.
static int spyp_math_function_add(PyObject *math, const spyp_math_function *function, PyMethodDef *method,
                                  char *name) {
    PyObject *module_name = PyModule_GetNameObject(math);
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)function, NULL, NULL);
    PyObject *callable = NULL;
    int failed = -1;
    PyOS_snprintf(name, 40, "%.*s", spyp_math_name_length(function), function->doc);
    method->ml_name = name;
    method->ml_meth = (PyCFunction)(void (*)(void))spyp_math_dispatch;
    method->ml_flags = METH_FASTCALL | METH_KEYWORDS;
    method->ml_doc = function->doc;
    if (module_name && capsule) callable = PyCFunction_NewEx(method, capsule, module_name);
    if (callable) failed = PyModule_AddObjectRef(math, name, callable);
    Py_XDECREF(callable);
    Py_XDECREF(capsule);
    Py_XDECREF(module_name);
    return failed;
}

int spyp_math_functions_add(PyObject *math, const spyp_math_function *functions) {
    static PyMethodDef methods[128];
    static char names[128][40];
    static size_t count;
    for (; functions->call; functions++, count++) {
        if (spyp_math_function_add(math, functions, &methods[count], names[count])) return -1;
    }
    return 0;
}

// >>arguments

PyObject *spyp_math_arg_error(const spyp_math_function *function, int index, const char *expected,
                              PyObject *got) {
    const char *at = spyp_math_parameters(function), *name = "";
    size_t length = 0;
    bool optional;
    PyObject *type = spyp_math_type_name(got), *text;
    for (int i = 0; i <= index; i++) spyp_math_parameter(&at, &name, &length, &optional);
    text = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
    if (type && text)
        spyp_math_call_error(
            function, PyUnicode_FromFormat("argument '%U': expected %s, got '%U'", text, expected, type));
    Py_XDECREF(type);
    Py_XDECREF(text);
    return NULL;
}

bool spyp_math_arg_number(const spyp_math_function *function, int index, PyObject *arg, double *value) {
    int found = spyp_math_read_scalar(SPY_DTYPE_FLOAT64, arg, value);
    if (found == 0) spyp_math_arg_error(function, index, "a number", arg);
    return found > 0;
}

bool spyp_math_arg_vector(const spyp_math_function *function, int index, PyObject *arg, uint32_t size,
                          double *value) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    char expected[64];
    PyOS_snprintf(expected, sizeof expected, "float%u", size);
    if (kind && kind->form == SPYP_MATH_VECTOR && kind->columns == size && spyp_math_is_float(kind->dtype)) {
        spyp_math_load_all(arg, value);
        return true;
    }
    if (!kind && PySequence_Check(arg)) {
        Py_ssize_t found = spyp_math_read_list(expected, SPY_DTYPE_FLOAT32, arg, value, size);
        if (found < 0 || found == (Py_ssize_t)size) return found > 0;
    }
    spyp_math_arg_error(function, index, expected, arg);
    return false;
}

bool spyp_math_arg_matrix(const spyp_math_function *function, int index, PyObject *arg, uint32_t rows,
                          uint32_t columns, double *value) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    char expected[64];
    if (kind && kind->form == SPYP_MATH_MATRIX && kind->rows == rows && kind->columns == columns) {
        spyp_math_load_all(arg, value);
        return true;
    }
    PyOS_snprintf(expected, sizeof expected, "float%ux%u", rows, columns);
    spyp_math_arg_error(function, index, expected, arg);
    return false;
}

bool spyp_math_arg_quaternion(const spyp_math_function *function, int index, PyObject *arg, double *value) {
    const spyp_math_kind *kind = spyp_math_kind_of(arg);
    if (kind && kind->form == SPYP_MATH_QUATERNION) {
        spyp_math_load_all(arg, value);
        return true;
    }
    bool four = kind ? kind->form == SPYP_MATH_VECTOR && kind->columns == 4 && spyp_math_is_float(kind->dtype)
                     : PySequence_Check(arg) && PySequence_Size(arg) == 4;
    PyErr_Clear();
    if (four) return spyp_math_arg_vector(function, index, arg, 4, value);
    spyp_math_arg_error(function, index, "quatf", arg);
    return false;
}

PyObject *spyp_math_float_vector(uint32_t size, const double *components) {
    return spyp_math_make(spyp_math_kind_find(SPY_DTYPE_FLOAT32, 1, size), components);
}

PyObject *spyp_math_float_matrix(uint32_t rows, uint32_t columns, const double *components) {
    return spyp_math_make(spyp_math_kind_find(SPY_DTYPE_FLOAT32, rows, columns), components);
}

PyObject *spyp_math_quaternion(const double *components) {
    const spyp_math_kind *kind = spyp_math_kinds;
    while (kind->form != SPYP_MATH_QUATERNION) kind++;
    return spyp_math_make(kind, components);
}

// >>elementwise

static double spyp_math_exp2(double x) {
    return exp2(x);
}

static double spyp_math_rsqrt(double x) {
    return 1 / sqrt(x);
}

static double spyp_math_rcp(double x) {
    return 1 / x;
}

static double spyp_math_frac(double x) {
    return x - floor(x);
}

static double spyp_math_sign(double x) {
    return (x > 0) - (x < 0);
}

static double spyp_math_min(double x, double y) {
    return y < x ? y : x;
}

static double spyp_math_max(double x, double y) {
    return y > x ? y : x;
}

static double spyp_math_clamp(double x, double low, double high) {
    return spyp_math_min(spyp_math_max(x, low), high);
}

static double spyp_math_saturate(double x) {
    return spyp_math_clamp(x, 0, 1);
}

static double spyp_math_lerp(double x, double y, double s) {
    return x + s * (y - x);
}

// SlangPy's order: 1 where x >= y. Slang's own step(y, x) is step(x, y) here.
static double spyp_math_step(double x, double y) {
    return x >= y;
}

static double spyp_math_smoothstep(double low, double high, double x) {
    double t = spyp_math_saturate((x - low) / (high - low));
    return t * t * (3 - 2 * t);
}

static const double spyp_math_pi = 3.14159265358979323846;

static double spyp_math_degrees(double x) {
    return x * (180 / spyp_math_pi);
}

static double spyp_math_radians(double x) {
    return x * (spyp_math_pi / 180);
}

static double spyp_math_isfinite(double x) {
    return isfinite(x);
}

static double spyp_math_isinf(double x) {
    return isinf(x);
}

static double spyp_math_isnan(double x) {
    return isnan(x);
}

static double spyp_math_apply(const spyp_math_function *function, const double *x) {
    if (function->arity == 1) return function->map.one(x[0]);
    return function->arity == 2 ? function->map.two(x[0], x[1]) : function->map.three(x[0], x[1], x[2]);
}

// Finds the kind that the arguments have in common; NULL when all are numbers. Returns false with a TypeError
// set when there is none.
static bool spyp_math_elementwise_kind(const spyp_math_function *function, int arity, PyObject *const *args,
                                       const spyp_math_kind **common) {
    *common = NULL;
    for (int i = 0; i < arity; i++) {
        const spyp_math_kind *kind = spyp_math_kind_of(args[i]);
        if (!kind) continue;
        if (function->takes != SPYP_MATH_ANY &&
            (kind->dtype == SPY_DTYPE_BOOL ||
             (function->takes == SPYP_MATH_FLOATS && !spyp_math_is_float(kind->dtype)) ||
             (kind->form == SPYP_MATH_QUATERNION && arity == 1 && !function->to_bool))) {
            spyp_math_arg_error(function, i,
                                function->takes == SPYP_MATH_FLOATS ? "a float vector, matrix or number"
                                                                    : "a vector, matrix or number",
                                args[i]);
            return false;
        }
        if (!*common || (*common)->form == SPYP_MATH_SCALAR) {
            *common = kind;
        } else if (kind != *common && kind->form != SPYP_MATH_SCALAR) {
            spyp_math_arg_error(function, i, (*common)->name, args[i]);
            return false;
        }
    }
    return true;
}

// Reads the components of argument `index`; one number stands for all components. Returns false with an
// exception set.
static bool spyp_math_elementwise_arg(const spyp_math_function *function, int index, PyObject *arg,
                                      spy_dtype dtype, const spyp_math_kind *kind, double *components) {
    int found;
    char expected[64];
    if (kind && spyp_math_kind_of(arg) == kind) {
        spyp_math_load_all(arg, components);
        return true;
    }
    found = spyp_math_read_scalar(dtype, arg, components);
    for (uint32_t i = 1; kind && i < spyp_math_size(kind); i++) components[i] = components[0];
    PyOS_snprintf(expected, sizeof expected, "%s%s", kind ? kind->name : "a vector",
                  spyp_math_is_float(dtype) ? " or a number" : " or an integer");
    if (found == 0) spyp_math_arg_error(function, index, expected, arg);
    return found > 0;
}

static PyObject *spyp_math_elementwise_result(const spyp_math_function *function, const spyp_math_kind *kind,
                                              spy_dtype dtype, const double *components) {
    if (!kind) return spyp_math_scalar_new(function->to_bool ? SPY_DTYPE_BOOL : dtype, components[0]);
    if (!function->to_bool) return spyp_math_make(kind, components);
    if (kind->form == SPYP_MATH_SCALAR || kind->form == SPYP_MATH_MATRIX)
        return PyBool_FromLong(components[0] != 0);
    return spyp_math_make(spyp_math_kind_find(SPY_DTYPE_BOOL, 1, kind->columns), components);
}

static PyObject *spyp_math_call_elementwise(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *kind;
    int arity = function->arity;
    bool integers = function->takes != SPYP_MATH_FLOATS;
    double x[3][SPYP_MATH_MAX_SIZE] = { { 0 } }, result[SPYP_MATH_MAX_SIZE];
    spy_dtype dtype;
    if (!spyp_math_elementwise_kind(function, arity, args, &kind)) return NULL;
    for (int i = 0; i < arity; i++) integers = integers && PyLong_Check(args[i]);
    dtype = kind ? kind->dtype : integers ? SPY_DTYPE_INT64 : SPY_DTYPE_FLOAT64;
    for (int i = 0; i < arity; i++) {
        if (!spyp_math_elementwise_arg(function, i, args[i], dtype, kind, x[i])) return NULL;
    }
    for (uint32_t i = 0; i < (kind ? spyp_math_size(kind) : 1); i++) {
        const double components[3] = { x[0][i], x[1][i], x[2][i] };
        result[i] = spyp_math_apply(function, components);
    }
    return spyp_math_elementwise_result(function, kind, dtype, result);
}

#define SPYP_MATH_ONE(map, doc, takes, to_bool)                                                              \
    { spyp_math_call_elementwise, doc, { .one = map }, 1, takes, to_bool }
#define SPYP_MATH_TWO(map, doc, takes)                                                                       \
    { spyp_math_call_elementwise, doc, { .two = map }, 2, takes, false }
#define SPYP_MATH_COMPARE(name, map, says)                                                                   \
    {                                                                                                        \
        spyp_math_call_elementwise,                                                                          \
            name "(x, y)\n--\n\nWhether x " says " y, by component, as bool or bool vector.",                \
            { .two = map }, 2, SPYP_MATH_ANY, true                                                           \
    }
#define SPYP_MATH_THREE(map, doc, takes)                                                                     \
    { spyp_math_call_elementwise, doc, { .three = map }, 3, takes, false }

static double spyp_math_eq(double x, double y) {
    return x == y;
}

static double spyp_math_ne(double x, double y) {
    return x != y;
}

static double spyp_math_lt(double x, double y) {
    return x < y;
}

static double spyp_math_le(double x, double y) {
    return x <= y;
}

static double spyp_math_gt(double x, double y) {
    return x > y;
}

static double spyp_math_ge(double x, double y) {
    return x >= y;
}

static const spyp_math_function *spyp_math_select_values(void);

// select(): the first argument is a bool or bool vector, the others are read as those of max() are.
static PyObject *spyp_math_call_select(const spyp_math_function *function, PyObject *const *args) {
    const spyp_math_kind *condition = spyp_math_kind_of(args[0]), *kind;
    double x[3][SPYP_MATH_MAX_SIZE] = { { 0 } };
    spy_dtype dtype;
    bool integers = PyLong_Check(args[1]) && PyLong_Check(args[2]);
    if (condition ? condition->form != SPYP_MATH_VECTOR || condition->dtype != SPY_DTYPE_BOOL
                  : !PyBool_Check(args[0]))
        return spyp_math_arg_error(function, 0, "a bool vector", args[0]);
    if (!spyp_math_elementwise_kind(spyp_math_select_values(), 2, args + 1, &kind)) return NULL;
    if (!kind && condition)
        kind = spyp_math_kind_find(integers ? SPY_DTYPE_INT32 : SPY_DTYPE_FLOAT32, 1, condition->columns);
    dtype = kind ? kind->dtype : integers ? SPY_DTYPE_INT64 : SPY_DTYPE_FLOAT64;
    if (!spyp_math_elementwise_arg(function, 0, args[0], SPY_DTYPE_BOOL, condition, x[0])) return NULL;
    if (condition && spyp_math_size(kind) != spyp_math_size(condition))
        return spyp_math_arg_error(function, 1, "as many components as 'condition' has", args[1]);
    for (int i = 1; i < 3; i++)
        if (!spyp_math_elementwise_arg(function, i, args[i], dtype, kind, x[i])) return NULL;
    for (uint32_t i = 0; i < (kind ? spyp_math_size(kind) : 1); i++)
        x[1][i] = x[0][condition ? i : 0] != 0 ? x[1][i] : x[2][i];
    return spyp_math_elementwise_result(function, kind, dtype, x[1]);
}

const spyp_math_function spyp_math_elementwise[] = {
    SPYP_MATH_COMPARE("eq", spyp_math_eq, "=="),
    SPYP_MATH_COMPARE("ne", spyp_math_ne, "!="),
    SPYP_MATH_COMPARE("lt", spyp_math_lt, "<"),
    SPYP_MATH_COMPARE("le", spyp_math_le, "<="),
    SPYP_MATH_COMPARE("gt", spyp_math_gt, ">"),
    SPYP_MATH_COMPARE("ge", spyp_math_ge, ">="),
    { spyp_math_call_select,
      "select(condition, true_value, false_value)\n--\n\nOf each component true_value's where the condition "
      "is true, else false_value's.",
      { NULL },
      3,
      SPYP_MATH_ANY,
      false },
    SPYP_MATH_ONE(fabs, "abs(x)\n--\n\nThe value without its sign.", SPYP_MATH_NUMBERS, false),
    SPYP_MATH_ONE(acos, "acos(x)\n--\n\nThe angle in radians, 0 to pi, whose cosine is x.", SPYP_MATH_FLOATS,
                  false),
    SPYP_MATH_ONE(asin, "asin(x)\n--\n\nThe angle in radians, -pi/2 to pi/2, whose sine is x.",
                  SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(atan, "atan(x)\n--\n\nThe angle in radians, -pi/2 to pi/2, whose tangent is x.",
                  SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(ceil, "ceil(x)\n--\n\nThe next whole number above.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(cos, "cos(x)\n--\n\nCosine of an angle in radians.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(cosh, "cosh(x)\n--\n\nHyperbolic cosine.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_degrees, "degrees(x)\n--\n\nRadians to degrees.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(exp, "exp(x)\n--\n\ne to the power of x.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_exp2, "exp2(x)\n--\n\n2 to the power of x.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(floor, "floor(x)\n--\n\nThe next whole number below.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_frac, "frac(x)\n--\n\nx - floor(x).", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_isfinite, "isfinite(x)\n--\n\nNeither infinite nor NaN, as bool or bool vector.",
                  SPYP_MATH_FLOATS, true),
    SPYP_MATH_ONE(spyp_math_isinf, "isinf(x)\n--\n\nInfinite, as bool or bool vector.", SPYP_MATH_FLOATS,
                  true),
    SPYP_MATH_ONE(spyp_math_isnan, "isnan(x)\n--\n\nNot a number, as bool or bool vector.", SPYP_MATH_FLOATS,
                  true),
    SPYP_MATH_ONE(log, "log(x)\n--\n\nNatural logarithm.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(log10, "log10(x)\n--\n\nLogarithm to base 10.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(log2, "log2(x)\n--\n\nLogarithm to base 2.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_radians, "radians(x)\n--\n\nDegrees to radians.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_rcp, "rcp(x)\n--\n\n1 / x.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(round, "round(x)\n--\n\nThe nearest whole number; halves go away from 0.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_rsqrt, "rsqrt(x)\n--\n\n1 / sqrt(x).", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_saturate, "saturate(x)\n--\n\nx limited to 0 .. 1.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(spyp_math_sign, "sign(x)\n--\n\n-1, 0 or 1, in the type of x.", SPYP_MATH_NUMBERS, false),
    SPYP_MATH_ONE(sin, "sin(x)\n--\n\nSine of an angle in radians.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(sinh, "sinh(x)\n--\n\nHyperbolic sine.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(sqrt, "sqrt(x)\n--\n\nSquare root; NaN below zero.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(tan, "tan(x)\n--\n\nTangent of an angle in radians.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(tanh, "tanh(x)\n--\n\nHyperbolic tangent.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_ONE(trunc, "trunc(x)\n--\n\nThe next whole number towards zero.", SPYP_MATH_FLOATS, false),
    SPYP_MATH_TWO(atan2, "atan2(y, x)\n--\n\nThe angle of the point (x, y) in radians, -pi to pi.",
                  SPYP_MATH_FLOATS),
    SPYP_MATH_TWO(fmod, "fmod(x, y)\n--\n\nThe rest of x / y with the sign of x.", SPYP_MATH_FLOATS),
    SPYP_MATH_TWO(spyp_math_max, "max(x, y)\n--\n\nThe larger of each pair.", SPYP_MATH_ANY),
    SPYP_MATH_TWO(spyp_math_min, "min(x, y)\n--\n\nThe smaller of each pair.", SPYP_MATH_ANY),
    SPYP_MATH_TWO(pow, "pow(x, y)\n--\n\nx to the power of y.", SPYP_MATH_FLOATS),
    SPYP_MATH_TWO(spyp_math_step, "step(x, y)\n--\n\n1 where x >= y, 0 elsewhere.", SPYP_MATH_FLOATS),
    SPYP_MATH_THREE(spyp_math_clamp, "clamp(x, min, max)\n--\n\nx limited to min .. max.", SPYP_MATH_ANY),
    SPYP_MATH_THREE(spyp_math_lerp,
                    "lerp(x, y, s)\n--\n\nx + s * (y - x); s is a number or one per component.",
                    SPYP_MATH_FLOATS),
    SPYP_MATH_THREE(spyp_math_smoothstep,
                    "smoothstep(min, max, x)\n--\n\n0 up to min, 1 from max, a smooth cubic between.",
                    SPYP_MATH_FLOATS),
    { NULL, NULL, { NULL }, 0, 0, false },
};

static const spyp_math_function *spyp_math_select_values(void) {
    return spyp_math_elementwise; // the address of any entry that takes SPYP_MATH_ANY
}
