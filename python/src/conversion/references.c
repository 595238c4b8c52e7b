// Arguments that have classes of their own in this package: generators, references, packed arguments; and the cursor of Function.write().
#include "conversion/conversion.h"
#include "values/math_view.h"

#include <string.h>

// >>generators

enum { SPYP_CALL_ID, SPYP_THREAD_ID, SPYP_GRID, SPYP_WANG_HASH, SPYP_RAND_FLOAT };

typedef struct spyp_generator {
    PyObject_HEAD int kind;
    int dims; // the number of dimensions or components that the caller asked for; -1 means as many as the parameter has
    spy_grid_desc grid;
    spy_random_desc random;
    float low, high;
} spyp_generator;

static const char *const spyp_generator_names[] = { "call_id", "thread_id", "grid", "wang_hash",
                                                    "rand_float" };

// Makes a generator of the class `type`, or, if that is NULL, of the class for `kind`.
static spyp_generator *spyp_generator_make(PyTypeObject *type, int kind) {
    spyp_generator *g = (spyp_generator *)spyp_alloc(type ? type : spyp.generators[kind]);
    if (!g) return NULL;
    g->kind = kind;
    g->dims = -1;
    return g;
}

static PyObject *spyp_generator_repr(PyObject *self) {
    return spyp_format("<slangpy.%s>", spyp_generator_names[((spyp_generator *)self)->kind]);
}

static PyObject *spyp_generator_signature(PyObject *self, void *ignored) {
    const spyp_generator *g = (spyp_generator *)self;
    SPYP_UNUSED(ignored);
    return PyUnicode_FromFormat("[%s,%d,%u]", spyp_generator_names[g->kind], g->dims,
                                (unsigned)g->random.warmup);
}

static PyObject *spyp_generator_dims(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyLong_FromLong(((spyp_generator *)self)->dims);
}

static PyGetSetDef spyp_generator_getset[] = {
    { "slangpy_signature", spyp_generator_signature, NULL,
      "A text that is the same for generators of one kind and number of dimensions.", NULL },
    { "dims", spyp_generator_dims, NULL,
      "The number of dimensions or components; -1 takes the parameter's.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

// The Shape of a grid's offset or stride, of which rank 0 stands for `standard` in each dimension.
static PyObject *spyp_grid_shape(const spyp_generator *g, spy_shape numbers, int64_t standard) {
    if (numbers.rank == 0) {
        numbers.rank = g->grid.shape.rank;
        for (uint32_t i = 0; i < numbers.rank; i++) numbers.dims[i] = standard;
    }
    return spyp_shape_make(&numbers);
}

enum {
    SPYP_GENERATOR_SHAPE,
    SPYP_GENERATOR_OFFSET,
    SPYP_GENERATOR_STRIDE,
    SPYP_GENERATOR_SEED,
    SPYP_GENERATOR_WARMUP,
    SPYP_GENERATOR_HASH_SEED,
    SPYP_GENERATOR_MIN,
    SPYP_GENERATOR_MAX
};

static PyObject *spyp_generator_get(PyObject *self, void *closure) {
    const spyp_generator *g = (spyp_generator *)self;
    switch ((intptr_t)closure) {
    case SPYP_GENERATOR_SHAPE: return spyp_shape_make(&g->grid.shape);
    case SPYP_GENERATOR_OFFSET: return spyp_grid_shape(g, g->grid.offset, 0);
    case SPYP_GENERATOR_STRIDE: return spyp_grid_shape(g, g->grid.stride, 1);
    case SPYP_GENERATOR_SEED: return PyLong_FromUnsignedLong(g->random.seed);
    case SPYP_GENERATOR_WARMUP: return PyLong_FromUnsignedLong(g->random.warmup);
    case SPYP_GENERATOR_HASH_SEED: return PyBool_FromLong(!g->random.raw_seed);
    case SPYP_GENERATOR_MIN: return PyFloat_FromDouble((double)g->low);
    default: return PyFloat_FromDouble((double)g->high);
    }
}

#define SPYP_GENERATOR_SEEDS                                                                                 \
    { "seed", spyp_generator_get, NULL, "The seed of the random numbers.", (void *)SPYP_GENERATOR_SEED },    \
        { "warmup", spyp_generator_get, NULL,                                                                \
          "How often a thread's index is hashed before the seed joins it.", (void *)SPYP_GENERATOR_WARMUP }, \
    {                                                                                                        \
        "hash_seed", spyp_generator_get, NULL, "Whether the seed is hashed.",                                \
            (void *)SPYP_GENERATOR_HASH_SEED                                                                 \
    }

static PyGetSetDef spyp_no_getset[] = { { NULL, NULL, NULL, NULL, NULL } };
static PyGetSetDef spyp_grid_getset[] = {
    { "shape", spyp_generator_get, NULL, "The grid's sizes; -1 takes the call's size.",
      (void *)SPYP_GENERATOR_SHAPE },
    { "offset", spyp_generator_get, NULL, "The number that is added to each coordinate.",
      (void *)SPYP_GENERATOR_OFFSET },
    { "stride", spyp_generator_get, NULL, "The factor of each coordinate.", (void *)SPYP_GENERATOR_STRIDE },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyGetSetDef spyp_random_getset[] = { SPYP_GENERATOR_SEEDS, { NULL, NULL, NULL, NULL, NULL } };
static PyGetSetDef spyp_rand_float_getset[] = {
    SPYP_GENERATOR_SEEDS,
    { "min", spyp_generator_get, NULL, "The least number.", (void *)SPYP_GENERATOR_MIN },
    { "max", spyp_generator_get, NULL, "The upper limit, which no number reaches.",
      (void *)SPYP_GENERATOR_MAX },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyObject *spyp_grid_of(PyTypeObject *type, PyObject *shape, PyObject *offset, PyObject *stride);

static PyObject *spyp_ids(PyTypeObject *type, PyObject *args, PyObject *kwargs, int kind) {
    static char *names[] = { "dims", NULL };
    PyObject *given = NULL;
    int dims = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &given)) return NULL;
    if (given && kind == SPYP_CALL_ID && !type && !PyIndex_Check(given) &&
        PySequence_Check(given)) // a sequence of sizes makes a grid
        return spyp_grid_of(NULL, given, Py_None, Py_None);
    if (given) dims = (int)PyLong_AsLong(given);
    if (dims == -1 && PyErr_Occurred()) return NULL;
    if (dims < -1 || dims == 0 || dims > SPY_MAX_RANK)
        return PyErr_Format(spyp.value_error, "%s: argument 'dims': expected -1 or 1 to %d, got %d",
                            spyp_generator_names[kind], SPY_MAX_RANK, dims);
    spyp_generator *g = spyp_generator_make(type, kind); // the parameter's type gives the size
    if (g) g->dims = dims;
    return (PyObject *)g;
}

static PyObject *spyp_call_id(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_ids(NULL, args, kwargs, SPYP_CALL_ID);
}

static PyObject *spyp_thread_id(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_ids(NULL, args, kwargs, SPYP_THREAD_ID);
}

static PyObject *spyp_call_id_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return spyp_ids(type, args, kwargs, SPYP_CALL_ID);
}

static PyObject *spyp_thread_id_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return spyp_ids(type, args, kwargs, SPYP_THREAD_ID);
}

// Parses the offset or stride of a grid, which has an entry for each dimension.
static int spyp_grid_numbers(const spyp_generator *g, PyObject *object, const char *what,
                             spy_shape *numbers) {
    if (object == Py_None) return 0;
    if (spyp_shape_parse(object, what, numbers) < 0) return -1;
    if (numbers->rank == g->grid.shape.rank) return 0;
    PyErr_Format(spyp.value_error, "%s: expected %u numbers, one for each dimension, got %u", what,
                 g->grid.shape.rank, numbers->rank);
    return -1;
}

// Makes a grid. `shape` may be a rank instead of sizes; then the call gives the sizes.
static PyObject *spyp_grid_of(PyTypeObject *type, PyObject *shape, PyObject *offset, PyObject *stride) {
    spyp_generator *g = spyp_generator_make(type, SPYP_GRID);
    int status = g ? spyp_shape_parse(shape, "grid: argument 'shape'", &g->grid.shape) : -1;
    if (status == 0 && PyLong_Check(shape)) {
        int64_t rank = g->grid.shape.dims[0];
        if (rank < 1 || rank > SPY_MAX_RANK) {
            PyErr_Format(spyp.value_error, "grid: argument 'shape': expected a rank of 1 to %d, got %R",
                         SPY_MAX_RANK, shape);
            status = -1;
        } else {
            g->grid.shape.rank = (uint32_t)rank;
            for (int64_t i = 0; i < rank; i++) g->grid.shape.dims[i] = -1;
        }
    }
    if (status == 0) status = spyp_grid_numbers(g, offset, "grid: argument 'offset'", &g->grid.offset);
    if (status == 0) status = spyp_grid_numbers(g, stride, "grid: argument 'stride'", &g->grid.stride);
    if (status == 0) g->dims = (int)g->grid.shape.rank;
    if (status < 0) Py_CLEAR(g);
    return (PyObject *)g;
}

static PyObject *spyp_grid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "shape", "offset", "stride", NULL };
    PyObject *shape, *offset = Py_None, *stride = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:grid", names, &shape, &offset, &stride)) return NULL;
    return spyp_grid_of(type, shape, offset, stride);
}

static PyObject *spyp_grid(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_grid_new(NULL, args, kwargs);
}

static int spyp_random_parse(spyp_generator *g, int dim, long long seed, long long warmup, int hash_seed,
                             const char *what) {
    if (seed < 0 || seed > UINT32_MAX || warmup < 0 || warmup > UINT32_MAX) {
        bool bad = seed < 0 || seed > UINT32_MAX;
        PyErr_Format(spyp.value_error, "%s: argument '%s': expected 0 to 4294967295, got %lld", what,
                     bad ? "seed" : "warmup", bad ? seed : warmup);
        return -1;
    }
    if (dim == 0 || dim < -1) {
        PyErr_Format(spyp.value_error, "%s: argument 'dim': expected 1 or more numbers, or -1, got %d", what,
                     dim);
        return -1;
    }
    g->dims = dim;
    g->random.seed = (uint32_t)seed;
    g->random.explicit_seed = seed == 0;
    g->random.warmup = (uint32_t)warmup;
    g->random.raw_seed = !hash_seed;
    return 0;
}

// Makes the argument of wang_hash() and WangHashArg(). The class has the default seed 0 and the function another one; `type` is NULL for
// the function.
static PyObject *spyp_wang_hash_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *function_names[] = { "dim", "seed", "warmup", "hash_seed", NULL },
                *class_names[] = { "dims", "seed", "warmup", "hash_seed", NULL };
    int dim = -1, hash_seed = 1;
    long long seed = type ? 0 : 2640457667, warmup = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iLLp:wang_hash", type ? class_names : function_names,
                                     &dim, &seed, &warmup, &hash_seed))
        return NULL;
    spyp_generator *g = spyp_generator_make(type, SPYP_WANG_HASH);
    if (g && spyp_random_parse(g, dim, seed, warmup, hash_seed, "wang_hash") < 0) Py_CLEAR(g);
    return (PyObject *)g;
}

static PyObject *spyp_wang_hash(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_wang_hash_make(NULL, args, kwargs);
}

static PyObject *spyp_rand_float_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "min", "max", "dim", "seed", "warmup", "hash_seed", NULL };
    int dim = -1, hash_seed = 1;
    long long seed = type ? 0 : 2640457667, warmup = 0;
    float low = 0, high = 1;
    const char *format = type ? "ff|iLLp:RandFloatArg" : "|ffiLLp:rand_float";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &low, &high, &dim, &seed, &warmup,
                                     &hash_seed))
        return NULL;
    spyp_generator *g = spyp_generator_make(type, SPYP_RAND_FLOAT);
    if (g && spyp_random_parse(g, dim, seed, warmup, hash_seed, "rand_float") < 0) Py_CLEAR(g);
    if (!g) return NULL;
    g->low = low;
    g->high = high;
    return (PyObject *)g;
}

static PyObject *spyp_rand_float(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_rand_float_make(NULL, args, kwargs);
}

static int spyp_convert_generator(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_generator *g = (spyp_generator *)object;
    SPYP_UNUSED(call);
    switch (g->kind) {
    case SPYP_CALL_ID: *arg = spy_arg_call_id(NULL); break;
    case SPYP_THREAD_ID: *arg = spy_arg_thread_id(NULL); break;
    case SPYP_GRID: *arg = spy_arg_grid(NULL, &g->grid); break;
    case SPYP_WANG_HASH: *arg = spy_arg_wang_hash(NULL, &g->random); break;
    default: *arg = spy_arg_rand_float(NULL, g->low, g->high, &g->random); break;
    }
    return 0;
}

static int spyp_convert_range(spyp_call *call, PyObject *object, spy_arg *arg) {
    static const char *const names[] = { "start", "stop", "step" };
    long long n[3];
    SPYP_UNUSED(call);
    for (int i = 0; i < 3; i++) {
        PyObject *value = PyObject_GetAttrString(object, names[i]);
        n[i] = value ? PyLong_AsLongLong(value) : -1;
        Py_XDECREF(value);
        if (PyErr_Occurred()) return -1;
    }
    // SlangPy passes (stop - start) // step numbers: a last step that is not whole gives none.
    const long long most = 1ll << 40;
    bool small = n[0] > -most && n[0] < most && n[1] > -most && n[1] < most;
    if (small && n[2] && (n[1] - n[0] > 0) == (n[2] > 0)) n[1] -= (n[1] - n[0]) % n[2];
    *arg = spy_arg_range(NULL, n[0], n[1], n[2]);
    return 0;
}

// >>references

typedef struct spyp_value_ref_object {
    PyObject_HEAD
    PyObject *value;
} spyp_value_ref_object;

static PyObject *spyp_ref_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "init_value", NULL };
    PyObject *value = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:ValueRef", names, &value)) return NULL;
    spyp_value_ref_object *ref = (spyp_value_ref_object *)spyp_alloc(type);
    if (ref) ref->value = Py_NewRef(value);
    return (PyObject *)ref;
}

static PyObject *spyp_ref_make(PyObject *args, PyObject *kwargs, PyObject *standard, const char *format) {
    static char *names[] = { "init_value", NULL };
    PyObject *value = standard;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &value)) return NULL;
    if (PyLong_Check(value) && PyFloat_Check(standard)) value = PyNumber_Float(value);
    else Py_INCREF(value);
    PyObject *ref = value ? PyObject_CallFunctionObjArgs((PyObject *)spyp.value_ref, value, NULL) : NULL;
    Py_XDECREF(value);
    return ref;
}

static PyObject *spyp_int_ref(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *zero = PyLong_FromLong(0), *ref = zero ? spyp_ref_make(args, kwargs, zero, "|O:intRef") : NULL;
    SPYP_UNUSED(self);
    Py_XDECREF(zero);
    return ref;
}

static PyObject *spyp_float_ref(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *zero = PyFloat_FromDouble(0),
             *ref = zero ? spyp_ref_make(args, kwargs, zero, "|O:floatRef") : NULL;
    SPYP_UNUSED(self);
    Py_XDECREF(zero);
    return ref;
}

static PyObject *spyp_ref_repr(PyObject *self) {
    return PyUnicode_FromFormat("ValueRef(%R)", ((spyp_value_ref_object *)self)->value);
}

static int spyp_ref_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((spyp_value_ref_object *)self)->value);
    return 0;
}

static int spyp_ref_clear(PyObject *self) {
    Py_CLEAR(((spyp_value_ref_object *)self)->value);
    return 0;
}

static void spyp_ref_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    spyp_ref_clear(self);
    spyp_free(self);
}

static PyObject *spyp_ref_signature(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return spyp_format("[ValueRef,%R]", (PyObject *)Py_TYPE(((spyp_value_ref_object *)self)->value));
}

static PyGetSetDef spyp_ref_getset[] = {
    { "slangpy_signature", spyp_ref_signature, NULL, "A text that is the same for values of one type.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef spyp_ref_members[] = {
    { "value", Py_T_OBJECT_EX, offsetof(spyp_value_ref_object, value), 0,
      "What goes in, and then what came back." },
    { NULL, 0, 0, 0, NULL },
};

// >>values that go in and come back

// Makes an argument of numbers a result as well, so that its new value comes back. Returns 1, or 0 if the
// argument is no number and no array of numbers, or -1 with an exception set.
static int spyp_make_back(spyp_call *call, spy_arg *arg, spyp_back **out) {
    if (call->gradient) return spyp_make_host_back(call, arg, out);
    const void *data = &arg->value;
    size_t count = 1;
    spy_dtype dtype = arg->dtype, wide = SPY_DTYPE_UINT64;
    uint64_t number;
    switch (arg->kind) {
    case SPY_ARG_KIND_BOOL:
    case SPY_ARG_KIND_UINT:
    case SPY_ARG_KIND_INT:
    case SPY_ARG_KIND_FLOAT: // the dtype for a generic parameter, or double if digits would be lost
        if (arg->kind == SPY_ARG_KIND_INT) wide = SPY_DTYPE_INT64;
        if (arg->kind == SPY_ARG_KIND_FLOAT) wide = SPY_DTYPE_FLOAT64;
        if (wide == SPY_DTYPE_FLOAT64 && spyp_function_is(call->function, SPYP_TRAIT_DOUBLES))
            dtype = SPY_DTYPE_FLOAT64;
        if (spyp_convert_numbers(&number, dtype, data, wide, 1, "value") < 0) return -1;
        data = &number;
        break;
    case SPY_ARG_KIND_ARRAY:
        if (arg->direction != SPY_DIRECTION_DEFAULT) return 0; // the call writes into the argument's own memory
        data = arg->value.data;
        for (size_t i = 0; i < arg->count; i++) count *= (size_t)arg->dims[i];
        break;
    default: return 0;
    }
    size_t size = count * spy_dtype_size_bytes(dtype);
    if (!count || size > SPY_RESULT_BYTES) return 0;
    spyp_back *back = (spyp_back *)spyp_arena_take(&call->arena, sizeof *back);
    if (!back) return -1;
    memset(&back->result, 0, offsetof(spy_result, data));
    back->host = NULL;
    memcpy(back->result.data, data, size);
    back->result.dtype = dtype;
    back->result.size_bytes = size;
    back->next = call->backs;
    call->backs = back;
    *arg = spy_inout_result(NULL, &back->result);
    *out = back;
    return 1;
}

// Converts the items of a dict; *type receives the value of "_type".
static int spyp_convert_part_items(spyp_call *call, PyObject *items, spy_arg *fields, spy_args *list, spyp_part *part, PyObject **type) {
    for (part->count = 0; 2 * part->count < PyTuple_Size(items); part->count++) {
        PyObject *item = PyTuple_GetItem(items, 2 * part->count + 1);
        spyp_part *inner = &part->parts[part->count];
        const char *name = spyp_utf8(PyTuple_GetItem(items, 2 * part->count));
        memset(inner, 0, sizeof *inner);
        inner->value = item;
        if (!name) return -1;
        if (strcmp(name, "_type") == 0) {
            *type = item;
            continue;
        }
        if (spyp_convert_part(call, item, &fields[list->count], inner) < 0) {
            spyp_error_prefix(call, "field '%s': ", name);
            return -1;
        }
        fields[list->count++].name = name;
    }
    return 0;
}

static int spyp_convert_part_dict(spyp_call *call, PyObject *dict, spy_arg *arg, spyp_part *part) {
    PyObject *items = spyp_arena_kept(&call->arena, spyp_dict_items(dict, NULL)), *type = NULL;
    Py_ssize_t n = items ? PyTuple_Size(items) / 2 : 0;
    if (!items) return -1;
    spy_arg *fields = (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *fields);
    part->parts = (spyp_part *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *part->parts);
    spy_args list = { fields, 0 };
    if (!fields || !part->parts) return -1;
    part->value = items;
    // A struct with tensors among its fields stands for many structs, all of which have its plain values.
    bool outer = call->drops;
    for (Py_ssize_t i = 0; i < n && !call->drops; i++) {
        PyObject *item = PyTuple_GetItem(items, 2 * i + 1);
        spyp_math_info info;
        call->drops = PyObject_TypeCheck(item, spyp.tensor) || (spyp_is_array(item) && !spyp_math_view(item, &info));
    }
    int status = spyp_convert_part_items(call, items, fields, &list, part, &type);
    call->drops = outer;
    if (status < 0) return -1;
    *arg = spy_arg_struct(NULL, list);
    return type ? spyp_apply_map(call, type, arg) : 0;
}

int spyp_convert_part(spyp_call *call, PyObject *value, spy_arg *arg, spyp_part *part) {
    memset(part, 0, sizeof *part);
    part->value = value;
    if (PyDict_Check(value)) {
        if (spyp_arena_down(&call->arena) < 0) return -1;
        int status = spyp_convert_part_dict(call, value, arg, part);
        spyp_arena_up(&call->arena);
        return status;
    }
    if (spyp_convert(call, value, NULL, arg) < 0) return -1;
    if (call->drops && !call->gradient) {
        spyp_drop_changes(arg);
        return 0;
    }
    return spyp_make_back(call, arg, &part->back) < 0 ? -1 : 0;
}

static bool spyp_part_changed(const spyp_part *part) {
    if (part->back && part->back->host)
        return memcmp(part->back->host, part->back->before, part->back->size_bytes) != 0;
    if (part->back) return part->back->result.type || part->back->result.tensor;
    for (Py_ssize_t i = 0; i < part->count; i++)
        if (spyp_part_changed(&part->parts[i])) return true;
    return false;
}

// Returns a copy of a dict that was an argument, in which the values that the call changed are replaced.
static PyObject *spyp_part_dict(spyp_module *module, const spyp_part *part) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < part->count; i++) {
        PyObject *value = spyp_part_value(module, &part->parts[i]);
        if (!value || PyDict_SetItem(dict, PyTuple_GetItem(part->value, 2 * i), value) < 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

PyObject *spyp_part_value(spyp_module *module, const spyp_part *part) {
    if (part->parts) return spyp_part_dict(module, part);
    if (!spyp_part_changed(part)) return Py_NewRef(part->value);
    if (part->back && part->back->host) return spyp_host_back_value(part->back, part->value);
    spy_tensor *tensor = part->back->result.tensor;
    part->back->result.tensor = NULL;
    return tensor ? spyp_tensor_make(spyp.tensor, module->device, tensor, (PyObject *)module)
                  : spyp_value_from(module, &part->back->result);
}

int spyp_convert_out(spyp_call *call, PyObject *object, PyObject **place, PyObject *otherwise, spy_arg *arg) {
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    spyp_back *back = part ? (spyp_back *)spyp_arena_take(&call->arena, sizeof *back) : NULL;
    if (!back) return -1;
    memset(part, 0, sizeof *part);
    memset(&back->result, 0, offsetof(spy_result, data));
    back->host = NULL;
    back->next = call->backs;
    call->backs = back;
    part->value = otherwise;
    part->back = back;
    *arg = spy_out_result(NULL, &back->result);
    return spyp_call_update(call, object, place, part);
}

PyObject *spyp_ref_value(PyObject *ref) {
    PyObject *value = ((spyp_value_ref_object *)ref)->value;
    return Py_NewRef(value ? value : Py_None);
}

int spyp_convert_ref_out(spyp_call *call, PyObject *object, spy_arg *arg) {
    return spyp_convert_out(call, object, &((spyp_value_ref_object *)object)->value, Py_None, arg);
}

static int spyp_convert_ref(spyp_call *call, PyObject *object, spy_arg *arg) {
    PyObject *value = ((spyp_value_ref_object *)object)->value;
    if (!value || value == Py_None) return spyp_convert_ref_out(call, object, arg);
    if (!(value = spyp_arena_kept(&call->arena, Py_NewRef(value)))) return -1;
    if (call->mode == SPY_CALL_MODE_BACKWARD || !spyp_function_is(call->function, SPYP_TRAIT_CHANGES))
        return spyp_convert(call, value, NULL, arg);
    spyp_part *part = (spyp_part *)spyp_arena_take(&call->arena, sizeof *part);
    PyObject **place = &((spyp_value_ref_object *)object)->value;
    return part && spyp_convert_part(call, value, arg, part) == 0
               ? spyp_call_update(call, object, place, part)
               : -1;
}

int spyp_give_updates(spyp_call *call) {
    for (const spyp_update *u = call->updates; u; u = u->next) {
        PyObject *value = spyp_part_value(call->function->module, u->part), *done = value;
        if (!value) return -1;
        if (u->place) {
            // What a ValueRef holds after a call is the struct itself, without the name of its type that the dict had before.
            if (u->part->parts && PyDict_Check(value) && PyDict_GetItemString(value, "_type") && PyDict_DelItemString(value, "_type") < 0) {
                Py_DECREF(value);
                return -1;
            }
            spyp_replace(u->place, value);
            continue;
        }
        done = spyp_call_method_one(u->object, spyp.s_update_this, value);
        Py_DECREF(value);
        Py_XDECREF(done);
        if (!done) return -1;
    }
    return 0;
}

// >>packed arguments

typedef struct spyp_packed_object {
    PyObject_HEAD spyp_device *device;
    spy_packed *packed; // NULL means that each call converts the value
    PyObject *value;    // the value that was packed
} spyp_packed_object;

// Returns whether a value holds a list of dicts, or of objects with get_this(). What such a list becomes depends on the parameter: elements of an array,
// or a dimension of the call.
static bool spyp_holds_list_of_dicts(PyObject *value, int depth) {
    bool holds = false;
    if (depth > 16) return false;
    if (PyList_Check(value)) {
        PyObject *first = PyList_Size(value) > 0 ? PyList_GetItem(value, 0) : NULL;
        return first && (PyDict_Check(first) || PyObject_HasAttr(first, spyp.s_get_this));
    }
    PyObject *values = PyDict_Check(value) ? PyDict_Values(value) : NULL;
    for (Py_ssize_t i = 0; values && !holds && i < PyList_Size(values); i++) holds = spyp_holds_list_of_dicts(PyList_GetItem(values, i), depth + 1);
    PyErr_Clear();
    Py_XDECREF(values);
    return holds;
}

static PyObject *spyp_packed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "module", "python_object", NULL },
                *pack_names[] = { "module", "arg_value", NULL };
    PyObject *module, *value;
    spyp_call call;
    spy_arg arg;
    PyObject *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:pack", type ? names : pack_names, spyp.module_type,
                                     &module, &value))
        return NULL;
    if (PyObject_TypeCheck(value, spyp.packed)) return Py_NewRef(value);
    PyObject *made = !PyType_Check(value) && PyObject_HasAttr(value, spyp.s_get_this) ? spyp_call_method(value, spyp.s_get_this) : NULL;
    if (PyErr_Occurred()) return NULL;
    if (made) value = made; // its value at this time is packed
    PyObject *name = PyUnicode_FromString("pack"),
             *function = name ? spyp_function_new((spyp_module *)module, NULL, name) : NULL;
    spyp_device *d = ((spyp_module *)module)->device;
    if (function && spyp_holds_list_of_dicts(value, 0)) {
        spyp_packed_object *p = (spyp_packed_object *)spyp_alloc(type ? type : spyp.packed);
        if (p) p->device = (spyp_device *)Py_NewRef((PyObject *)d);
        if (p) p->value = Py_NewRef(value);
        result = (PyObject *)p;
    } else if (function) {
        spyp_call_begin(&call, (spyp_function *)function);
        if (spyp_convert(&call, value, NULL, &arg) == 0 && spyp_enter(d, "pack") == 0) {
            spyp_input_only(&arg);
            spy_packed *packed = spy_pack(d->device, arg);
            if (!packed) spyp_raise(d);
            spyp_leave(d);
            spyp_packed_object *p =
                packed ? (spyp_packed_object *)spyp_alloc(type ? type : spyp.packed) : NULL;
            if (p) {
                p->device = (spyp_device *)Py_NewRef((PyObject *)d);
                p->packed = packed;
                p->value = Py_NewRef(value);
            } else if (packed) {
                spy_release_packed(packed);
            }
            result = (PyObject *)p;
        }
        spyp_call_end(&call);
    }
    Py_XDECREF(name);
    Py_XDECREF(function);
    Py_XDECREF(made);
    return result;
}

static PyObject *spyp_pack(PyObject *self, PyObject *args, PyObject *kwargs) {
    SPYP_UNUSED(self);
    return spyp_packed_new(NULL, args, kwargs);
}

static PyMemberDef spyp_packed_members[] = {
    { "python_object", Py_T_OBJECT_EX, offsetof(spyp_packed_object, value), Py_READONLY,
      "The value that was packed." },
    { NULL, 0, 0, 0, NULL },
};

static int spyp_packed_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((spyp_packed_object *)self)->value);
    Py_VISIT((PyObject *)((spyp_packed_object *)self)->device);
    return 0;
}

static void spyp_packed_dealloc(PyObject *self) {
    spyp_packed_object *p = (spyp_packed_object *)self;
    PyObject_GC_UnTrack(self);
    if (p->packed && p->device->device && p->device->fork_count == spyp.fork_count) spy_release_packed(p->packed);
    Py_CLEAR(p->value);
    Py_CLEAR(p->device);
    spyp_free(self);
}

static int spyp_convert_packed(spyp_call *call, PyObject *object, spy_arg *arg) {
    spyp_packed_object *p = (spyp_packed_object *)object;
    if (p->device != call->function->module->device) {
        PyErr_SetString(spyp.value_error, "the packed argument belongs to another device");
        return -1;
    }
    if (!p->packed) return spyp_convert(call, p->value, NULL, arg);
    *arg = spy_arg_packed(NULL, p->packed);
    return 0;
}

// >>structured arrays: a struct whose fields are the array's fields

int spyp_convert_records(spyp_call *call, const spyp_host_array *array, spy_arg *arg) {
    PyObject *numpy = spyp_numpy(),
             *object = numpy ? PyObject_CallMethod(numpy, "asarray", "(O)", array->object) : NULL;
    PyObject *dtype = object ? PyObject_GetAttr(object, spyp.s_dtype) : NULL,
             *names = dtype ? PyObject_GetAttrString(dtype, "names") : NULL;
    Py_ssize_t n = names && PyTuple_Check(names) ? PyTuple_Size(names) : -1;
    int status = n >= 0 ? spyp_arena_keep(&call->arena, names) : -1;
    if (status == 0) status = spyp_arena_keep(&call->arena, object);
    spy_arg *fields =
        status == 0 ? (spy_arg *)spyp_arena_take(&call->arena, (size_t)(n + 1) * sizeof *fields) : NULL;
    if (n < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "Unsupported type: structs in an array without names of fields");
    for (Py_ssize_t i = 0; fields && status == 0 && i < n; i++) {
        PyObject *field = PyObject_GetItem(object, PyTuple_GetItem(names, i));
        status = field ? spyp_arena_keep(&call->arena, field) : -1;
        const char *name = status == 0 ? spyp_utf8(PyTuple_GetItem(names, i)) : NULL;
        status = name ? spyp_convert(call, field, name, &fields[i]) : -1;
        Py_XDECREF(field);
    }
    if (fields && status == 0) {
        spy_args list = { fields, (size_t)n };
        *arg = spy_arg_struct(NULL, list);
    }
    Py_XDECREF(names);
    Py_XDECREF(dtype);
    Py_XDECREF(object);
    Py_XDECREF(numpy);
    return fields ? status : -1;
}

// >>the cursor of Function.write(): cursor.path.to.field = value, cursor["path"] = value, cursor.write(dict)

typedef struct spyp_recorder {
    PyObject_HEAD
    PyObject *dict;
    PyObject *path; // str, or NULL at the root
    PyObject *at;   // ReflectionCursor at the same place, or NULL if the program is not known
} spyp_recorder;

static PyObject *spyp_recorder_at(PyObject *dict, PyObject *path, PyObject *at) {
    spyp_recorder *r = (spyp_recorder *)spyp_alloc(spyp.recorder);
    if (!r) return NULL;
    r->dict = Py_NewRef(dict);
    r->path = Py_XNewRef(path);
    r->at = Py_XNewRef(at);
    return (PyObject *)r;
}

PyObject *spyp_recorder_make(PyObject *dict) {
    return spyp_recorder_at(dict, NULL, NULL);
}

// ShaderCursor(object): `object` is a dict that receives the written values, or has such a dict as its
// attribute `values`.
static PyObject *spyp_recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "shader_object", NULL };
    PyObject *object;
    SPYP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:ShaderCursor", names, &object)) return NULL;
    PyObject *dict = PyDict_Check(object) ? Py_NewRef(object) : PyObject_GetAttrString(object, "values"),
             *made = NULL;
    if (dict && PyDict_Check(dict)) {
        PyObject *program = PyDict_Check(object) ? NULL : PyObject_GetAttrString(object, "program");
        if (!program) PyErr_Clear();
        PyObject *at = PyDict_Check(object) ? NULL : PyObject_GetAttrString(program ? program : object, "reflection");
        PyErr_Clear(); // an object of a user's class may have no program
        made = spyp_recorder_at(dict, NULL, at);
        Py_XDECREF(program);
        Py_XDECREF(at);
    } else {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "ShaderCursor: argument 'shader_object': expected a ShaderObject, got %R",
                     (PyObject *)Py_TYPE(object));
    }
    Py_XDECREF(dict);
    return made;
}

static PyObject *spyp_recorder_path(spyp_recorder *r, PyObject *key) {
    if (PyLong_Check(key)) return spyp_format("%V[%S]", r->path, "", key);
    if (!PyUnicode_Check(key))
        return PyErr_Format(PyExc_TypeError, "cursor: expected a name or index, got %R",
                            (PyObject *)Py_TYPE(key));
    return r->path ? spyp_format("%U.%U", r->path, key) : Py_NewRef(key);
}

static PyObject *spyp_recorder_get(PyObject *self, PyObject *key) {
    PyObject *path = spyp_recorder_path((spyp_recorder *)self, key);
    PyObject *at = path ? ((spyp_recorder *)self)->at : NULL, *part = NULL, *r = NULL;
    if (at) part = PyObject_CallMethod(at, PyLong_Check(key) ? "find_element" : "find_field", "O", key);
    if (path && (!at || part)) r = spyp_recorder_at(((spyp_recorder *)self)->dict, path, part);
    Py_XDECREF(part);
    Py_XDECREF(path);
    return r;
}

static PyObject *spyp_recorder_getattr(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    const char *text = spyp_attribute_text(name);
    if (!text || strncmp(text, "__", 2) == 0) return NULL;
    PyErr_Clear();
    return spyp_recorder_get(self, name);
}

// Returns -1 with an exception set if a value may not be set at a part of the place; a key of None is the place itself.
static int spyp_recorder_check(spyp_recorder *r, PyObject *key, PyObject *value) {
    bool resource = PyObject_TypeCheck(value, spyp.texture) || PyObject_TypeCheck(value, spyp.sampler) || PyObject_TypeCheck(value, spyp.tensor);
    if (!resource && !PyLong_Check(value) && !PyFloat_Check(value) && !PyUnicode_Check(value)) return 0; // others are never refused here
    bool known = r->at && spyp_reflection_is(r->at, SPYP_CURSOR);
    PyObject *done = known ? PyObject_CallMethod(r->at, "_check", "OO", key, value) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int spyp_recorder_set(PyObject *self, PyObject *key, PyObject *value) {
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "cursor: values cannot be deleted");
        return -1;
    }
    PyObject *path = spyp_recorder_path((spyp_recorder *)self, key);
    int status = path ? spyp_recorder_check((spyp_recorder *)self, key, value) : -1;
    if (status == 0) status = PyDict_SetItem(((spyp_recorder *)self)->dict, path, value);
    Py_XDECREF(path);
    return status;
}

static PyObject *spyp_recorder_write(PyObject *self, PyObject *value) {
    spyp_recorder *r = (spyp_recorder *)self;
    int status = 0;
    if (r->path) {
        status = spyp_recorder_check(r, Py_None, value);
        if (status == 0) status = PyDict_SetItem(r->dict, r->path, value);
    } else if (PyDict_Check(value)) {
        status = PyDict_Update(r->dict, value);
    } else {
        PyErr_Format(PyExc_TypeError, "cursor.write: expected a dict, got %R", (PyObject *)Py_TYPE(value));
        status = -1;
    }
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static int spyp_recorder_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((spyp_recorder *)self)->dict);
    Py_VISIT(((spyp_recorder *)self)->at);
    return 0;
}

static void spyp_recorder_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((spyp_recorder *)self)->dict);
    Py_CLEAR(((spyp_recorder *)self)->path);
    Py_CLEAR(((spyp_recorder *)self)->at);
    spyp_free(self);
}

// _moved(path, at) returns a cursor at another place of the same object. A path of None is the root.
static PyObject *spyp_recorder_moved(PyObject *self, PyObject *args) {
    PyObject *path, *at;
    if (!PyArg_ParseTuple(args, "OO:_moved", &path, &at)) return NULL;
    return spyp_recorder_at(((spyp_recorder *)self)->dict, path == Py_None ? NULL : path, at == Py_None ? NULL : at);
}

static PyMemberDef spyp_recorder_members[] = {
    { "_path", Py_T_OBJECT_EX, offsetof(spyp_recorder, path), Py_READONLY, "The place's path." },
    { "_at", Py_T_OBJECT_EX, offsetof(spyp_recorder, at), Py_READONLY, "The ReflectionCursor at the place." },
    { NULL, 0, 0, 0, NULL },
};

SPYP_NAMED(spyp_recorder_write_by_val, spyp_recorder_write, "write", "val")
SPYP_NAMED(spyp_recorder_get_by_name, spyp_recorder_get, "find_field", "name")
SPYP_NAMED(spyp_recorder_get_by_index, spyp_recorder_get, "find_element", "index")

static PyMethodDef spyp_recorder_methods[] = {
    { "_moved", spyp_recorder_moved, METH_VARARGS, "_moved(path, at): a cursor at another part of the same object." },
    { "write", SPYP_FUNC(spyp_recorder_write_by_val), METH_FASTCALL | METH_KEYWORDS,
      "write(value): set the value at the cursor; write(dict) at the root sets several values." },
    { "find_field", SPYP_FUNC(spyp_recorder_get_by_name), METH_FASTCALL | METH_KEYWORDS, "find_field(name): the cursor of a field, as "
        "cursor[name]." },
    { "find_element", SPYP_FUNC(spyp_recorder_get_by_index), METH_FASTCALL | METH_KEYWORDS,
      "find_element(index): the cursor of an element, as cursor[index]." },
    { NULL, NULL, 0, NULL },
};

// >>types

static const spyp_converter spyp_own_converters[] = {
    { "generator", spyp_convert_generator },
    { "range", spyp_convert_range },
    { "reference", spyp_convert_ref },
    { "packed argument", spyp_convert_packed },
};

const spyp_converter *spyp_values_converter(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (PyObject_TypeCheck(object, spyp.generator)) return &spyp_own_converters[0];
    if (type == &PyRange_Type) return &spyp_own_converters[1];
    if (PyObject_TypeCheck(object, spyp.value_ref)) return &spyp_own_converters[2];
    if (PyObject_TypeCheck(object, spyp.packed)) return &spyp_own_converters[3];
    if (type == spyp.vectorized) return &spyp_vectorized_converter;
    if (type == spyp.pair) return &spyp_pair_converter;
    return NULL;
}

#define SPYP_TYPE(variable, name, object, flags, slots)                                                      \
    static PyType_Spec variable = { "slangpy._slangpy." name, sizeof(object), 0,                             \
                                    Py_TPFLAGS_DEFAULT | (flags), slots }

static PyType_Slot spyp_generator_slots[] = {
    { Py_tp_doc, (void *)"An argument whose values the kernel computes: see call_id, thread_id, grid, wang_hash, rand_float." },
    { Py_tp_repr, (void *)spyp_generator_repr },
    { Py_tp_getset, spyp_generator_getset },
    { Py_tp_dealloc, (void *)spyp_free },
    { 0, NULL },
};
SPYP_TYPE(spyp_generator_spec, "Generator", spyp_generator,
          Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, spyp_generator_slots);

#define SPYP_GENERATOR_TYPE(name, make, getset, doc)                                                         \
    static PyType_Slot make##_slots[] = {                                                                    \
        { Py_tp_doc, (void *)doc }, { Py_tp_new, (void *)make }, { Py_tp_getset, getset }, { 0, NULL }       \
    };                                                                                                       \
    SPYP_TYPE(make##_spec, name, spyp_generator, Py_TPFLAGS_BASETYPE, make##_slots)

SPYP_GENERATOR_TYPE("CallIdArg", spyp_call_id_new, spyp_no_getset,
                    "CallIdArg(dims=-1): the argument that call_id() returns.");
SPYP_GENERATOR_TYPE("ThreadIdArg", spyp_thread_id_new, spyp_no_getset,
                    "ThreadIdArg(dims=-1): the argument that thread_id() returns.");
SPYP_GENERATOR_TYPE("GridArg", spyp_grid_new, spyp_grid_getset,
                    "GridArg(shape, offset=None, stride=None): the argument that grid() returns.");
SPYP_GENERATOR_TYPE(
    "WangHashArg", spyp_wang_hash_make, spyp_random_getset,
    "WangHashArg(dims=-1, seed=0, warmup=0, hash_seed=True): the argument that wang_hash() returns.");
SPYP_GENERATOR_TYPE("RandFloatArg", spyp_rand_float_make, spyp_rand_float_getset,
                    "RandFloatArg(min, max, dim=-1, seed=0, warmup=0, hash_seed=True): the argument that "
                    "rand_float() returns.");

static PyType_Slot spyp_ref_slots[] = {
    { Py_tp_doc,
      (void *)"ValueRef(init_value): a value that an out or inout parameter changes; .value holds it." },
    { Py_tp_new, (void *)spyp_ref_new },
    { Py_tp_repr, (void *)spyp_ref_repr },
    { Py_tp_dealloc, (void *)spyp_ref_dealloc },
    { Py_tp_traverse, (void *)spyp_ref_traverse },
    { Py_tp_clear, (void *)spyp_ref_clear },
    { Py_tp_members, spyp_ref_members },
    { Py_tp_getset, spyp_ref_getset },
    { 0, NULL },
};
SPYP_TYPE(spyp_ref_spec, "ValueRef", spyp_value_ref_object, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
          spyp_ref_slots);

static PyType_Slot spyp_packed_slots[] = {
    { Py_tp_doc, (void *)"PackedArg(module, python_object): an argument that pack() has converted once and that serves many calls." },
    { Py_tp_new, (void *)spyp_packed_new },
    { Py_tp_members, spyp_packed_members },
    { Py_tp_dealloc, (void *)spyp_packed_dealloc },
    { Py_tp_traverse, (void *)spyp_packed_traverse },
    { 0, NULL },
};
SPYP_TYPE(spyp_packed_spec, "PackedArg", spyp_packed_object, Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
          spyp_packed_slots);

static PyType_Slot spyp_recorder_slots[] = {
    { Py_tp_doc, (void *)"The module's global shader parameters, to be set: cursor.light.color = value, "
                         "cursor['gain'] = 2." },
    { Py_tp_new, (void *)spyp_recorder_new },
    { Py_tp_getattro, (void *)spyp_recorder_getattr },
    { Py_tp_setattro, (void *)spyp_recorder_set },
    { Py_mp_subscript, (void *)spyp_recorder_get },
    { Py_mp_ass_subscript, (void *)spyp_recorder_set },
    { Py_tp_dealloc, (void *)spyp_recorder_dealloc },
    { Py_tp_traverse, (void *)spyp_recorder_traverse },
    { Py_tp_methods, spyp_recorder_methods },
    { Py_tp_members, spyp_recorder_members },
    { 0, NULL },
};
SPYP_TYPE(spyp_recorder_spec, "ShaderCursor", spyp_recorder, Py_TPFLAGS_HAVE_GC, spyp_recorder_slots);

static PyMethodDef spyp_values_functions[] = {
    { "call_id", SPYP_FUNC(spyp_call_id), METH_VARARGS | METH_KEYWORDS,
      "call_id(dims=-1): an argument with the position of each element in the call's shape. `dims` is the parameter's size, which need "
      "not be given. call_id((2, 3)) is the same as grid((2, 3))." },
    { "thread_id", SPYP_FUNC(spyp_thread_id), METH_VARARGS | METH_KEYWORDS,
      "thread_id(dims=-1): an argument with the number of each element. `dims` is the parameter's size, which need not be given." },
    { "grid", SPYP_FUNC(spyp_grid), METH_VARARGS | METH_KEYWORDS,
      "grid(shape, offset=0, stride=1): an argument with the coordinates of a grid; -1 in shape is any size, and an int is a rank of "
      "any sizes." },
    { "wang_hash", SPYP_FUNC(spyp_wang_hash), METH_VARARGS | METH_KEYWORDS,
      "wang_hash(dim=-1, seed=2640457667, warmup=0, hash_seed=True): an argument of random unsigned numbers." },
    { "rand_float", SPYP_FUNC(spyp_rand_float), METH_VARARGS | METH_KEYWORDS,
      "rand_float(min=0, max=1, dim=-1, seed=2640457667, warmup=0, hash_seed=True): random floats in [min, "
      "max)." },
    { "intRef", SPYP_FUNC(spyp_int_ref), METH_VARARGS | METH_KEYWORDS, "intRef(init_value=0): a ValueRef." },
    { "floatRef", SPYP_FUNC(spyp_float_ref), METH_VARARGS | METH_KEYWORDS,
      "floatRef(init_value=0.0): make a ValueRef of a float." },
    { "pack", SPYP_FUNC(spyp_pack), METH_VARARGS | METH_KEYWORDS,
      "pack(module, arg_value): the value as a PackedArg, converted once for many calls. A PackedArg is "
      "returned as it is." },
    { NULL, NULL, 0, NULL },
};

int spyp_values_ready(PyObject *module) {
    if (!(spyp.generator = spyp_type_add(module, &spyp_generator_spec, NULL))) return -1;
    PyType_Spec *specs[] = { &spyp_call_id_new_spec, &spyp_thread_id_new_spec, &spyp_grid_new_spec,
                             &spyp_wang_hash_make_spec, &spyp_rand_float_make_spec };
    for (int i = 0; i < 5; i++)
        if (!(spyp.generators[i] = spyp_type_add(module, specs[i], spyp.generator))) return -1;
    if (!(spyp.value_ref = spyp_type_add(module, &spyp_ref_spec, NULL))) return -1;
    if (!(spyp.packed = spyp_type_add(module, &spyp_packed_spec, NULL))) return -1;
    if (!(spyp.recorder = spyp_type_add(module, &spyp_recorder_spec, NULL))) return -1;
    return PyModule_AddFunctions(module, spyp_values_functions);
}
