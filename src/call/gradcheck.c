// spy_gradcheck: compares the gradients that backward calls compute with central differences of the function
// itself. The check works on copies of the arguments. Outputs get random gradients s; a backward call then
// gives, for each number x of the inputs, the derivative of L = sum(s * output) by x. The same derivative is
// estimated from two calls with x + h and x - h. Differences of outputs are taken one by one, in double, so
// that outputs that do not depend on x add nothing to the estimate.
#include "api/gradient.h"
#include "call/prepare.h"

#define SPYI_MOST_CHECKED 64

// One tensor of the check: an input or an output.
typedef struct spyi_checked {
    char path[64];                    // "x", "light.color", "_result"
    spy_tensor *tensor, *flat, *grad; // the copy, a view of its scalars, and a view of its gradient's scalars
    int64_t count;                    // the number of scalars
    spy_dtype dtype;
    bool input, output; // set when the call is bound; a tensor with neither takes no part
    double *seeds, *plus, *minus,
        *grads; // `count` numbers each; outputs use the first three, inputs the last
} spyi_checked;

typedef struct spyi_gradcheck {
    spy_function *function;
    spy_device *device;
    const spy_gradcheck_desc *desc;
    bool wide;      // float numbers, arrays and tensors are converted to double
    bool own_types; // numbers and host arrays keep their types; otherwise they become float
    spyi_checked items[SPYI_MOST_CHECKED];
    uint32_t count;
    spy_arg *args; // the arguments, and one more for the result
    size_t arg_count;
    void *blocks[SPYI_MOST_CHECKED]; // memory of lists of fields
    uint32_t block_count;
    uint64_t random;
    spyi_text error;
} spyi_gradcheck;

// >>copies of the arguments

static void spyi_gradcheck_clear(spyi_gradcheck *g) {
    for (uint32_t i = 0; i < g->count; i++) {
        spyi_checked *c = &g->items[i];
        spy_release_tensor(c->flat);
        spy_release_tensor(c->grad);
        spy_release_tensor(c->tensor);
        free(c->seeds);
        free(c->plus);
        free(c->minus);
        free(c->grads);
    }
    for (uint32_t i = 0; i < g->block_count; i++) free(g->blocks[i]);
    memset(g->items, 0, sizeof g->items);
    g->count = g->block_count = 0;
    g->arg_count = 0;
    spyi_text_clear(&g->error);
}

static spy_status spyi_gradcheck_no(spyi_gradcheck *g, spy_status status, const char *format, ...)
    SPYI_PRINTF(3, 4);
static spy_status spyi_gradcheck_no(spyi_gradcheck *g, spy_status status, const char *format, ...) {
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (!g->error.size) spyi_text_add(&g->error, "%s", line);
    return status;
}

// Adds a tensor of the check, which takes over `tensor`, and makes the views of its scalars. NULL means that
// the error has been reported.
static spyi_checked *spyi_gradcheck_add(spyi_gradcheck *g, const char *path, spy_tensor *tensor) {
    if (!tensor) return NULL;
    if (g->count == SPYI_MOST_CHECKED) {
        spy_release_tensor(tensor);
        (void)spyi_gradcheck_no(g, SPY_ERROR_UNSUPPORTED, "it has more than %d tensors and numbers",
                                SPYI_MOST_CHECKED);
        return NULL;
    }
    spyi_checked *c = &g->items[g->count++];
    snprintf(c->path, sizeof c->path, "%s", path);
    c->tensor = tensor;
    c->flat = spy_create_flat_view(tensor);
    c->grad = c->flat ? spy_create_flat_view(spy_tensor_grad(tensor)) : NULL;
    if (!c->grad) return NULL;
    spy_tensor_info info = spy_get_tensor_info(c->flat);
    c->dtype = info.dtype;
    c->count = info.element_count;
    size_t size = ((size_t)c->count + 1) * sizeof(double);
    c->seeds = (double *)spyi_malloc(size);
    c->plus = (double *)spyi_malloc(size);
    c->minus = (double *)spyi_malloc(size);
    c->grads = (double *)spyi_malloc(size);
    return c->seeds && c->plus && c->minus && c->grads ? c : NULL;
}

// Returns whether all scalars of the tensor's elements are floats of one type, so that it can be checked.
static bool spyi_has_float_scalars(const spy_tensor *tensor) {
    const spyi_type *type = tensor->type;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    if (type->kind == SPYI_TYPE_STRUCT) {
        for (uint32_t f = 0; f < type->field_count; f++) {
            const spyi_type *field = type->fields[f].type;
            while (field->kind == SPYI_TYPE_ARRAY) field = field->element;
            if (field->kind > SPYI_TYPE_MATRIX || !spyi_dtype_is_float(field->scalar)) return false;
        }
        return type->field_count > 0;
    }
    return type->kind <= SPYI_TYPE_MATRIX && spyi_dtype_is_float(type->scalar);
}

// Returns a copy of the tensor with a gradient.
static spy_tensor *spyi_gradcheck_copy(spyi_gradcheck *g, spy_tensor *from) {
    spy_tensor_info info = spy_get_tensor_info(from);
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = info.shape;
    desc.with_grad = true;
    desc.module = spy_function_module(g->function);
    if (g->wide && info.dtype == SPY_DTYPE_FLOAT32) desc.dtype = SPY_DTYPE_FLOAT64;
    else desc.like = from;
    spy_tensor *made = spy_create_tensor(g->device, &desc);
    if (made && spy_tensor_copy(made, from) == SPY_OK) return made;
    spy_release_tensor(made);
    return NULL;
}

// Returns a tensor of host numbers with a gradient. The numbers are zeros if `data` is NULL.
static spy_tensor *spyi_gradcheck_numbers(spyi_gradcheck *g, const void *data, spy_shape shape,
                                          spy_dtype dtype) {
    spy_dtype to = g->wide ? SPY_DTYPE_FLOAT64 : g->own_types ? dtype : SPY_DTYPE_FLOAT32;
    int64_t count = spyi_shape_count(&shape);
    if (count < 0) return NULL; // the shape is negative or too large, which the caller reports
    void *converted = data ? spyi_malloc((size_t)(count > 0 ? count : 0) * sizeof(double) + 1) : NULL;
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = shape;
    desc.dtype = to;
    desc.with_grad = true;
    desc.data = converted;
    desc.zeroed = !data;
    bool good =
        !data || (converted && spy_convert_numbers(converted, to, data, dtype, (size_t)count) == SPY_OK);
    spy_tensor *made = good ? spy_create_tensor(g->device, &desc) : NULL;
    free(converted);
    return made;
}

static spy_status spyi_gradcheck_list(spyi_gradcheck *g, spy_args args, const char *parent, spy_arg *out);

// Replaces one argument by a tensor that can be checked, if it holds float numbers. Other arguments stay as
// they are.
static spy_status spyi_gradcheck_arg(spyi_gradcheck *g, const spy_arg *arg, const char *path, spy_arg *out) {
    spy_tensor *made = NULL;
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    bool out_only = arg->direction == SPY_DIRECTION_OUT;
    *out = *arg;
    if (arg->kind == SPY_ARG_KIND_PAIR && arg->count == 2 && arg->value.fields) {
        spy_arg value = arg->value.fields[0];
        value.name = arg->name;
        if (!value._map_count) { // takes the mapping of the pair
            value._map_count = arg->_map_count;
            memcpy(value._map, arg->_map, sizeof value._map);
        }
        if (!value.type) value.type = arg->type; // takes the type of the pair
        return spyi_gradcheck_arg(g, &value, path, out);
    }
    if (arg->kind == SPY_ARG_KIND_STRUCT && arg->value.fields) {
        spy_args fields = { arg->value.fields, arg->count };
        if (g->block_count == SPYI_MOST_CHECKED)
            return spyi_gradcheck_no(g, SPY_ERROR_UNSUPPORTED, "'%s': it has too many structs", path);
        spy_arg *items = (spy_arg *)spyi_calloc(arg->count + 1, sizeof *items);
        g->blocks[g->block_count++] = items;
        out->value.fields = items;
        return items ? spyi_gradcheck_list(g, fields, path, items) : SPY_ERROR_OUT_OF_MEMORY;
    }
    if (arg->kind == SPY_ARG_KIND_TENSOR) {
        if (!spyi_as(arg->value.tensor, SPYI_KIND_TENSOR) || !spyi_has_float_scalars(arg->value.tensor))
            return SPY_OK; // the call reports the error
        made = spyi_gradcheck_copy(g, arg->value.tensor);
    } else if (arg->kind == SPY_ARG_KIND_ARRAY &&
               spyi_dtype_is_float(arg->dtype ? arg->dtype : SPY_DTYPE_FLOAT32) &&
               arg->count <= SPY_MAX_RANK) {
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, arg->count * sizeof *shape.dims);
        made = spyi_gradcheck_numbers(g, out_only ? NULL : arg->value.data, shape,
                                      arg->dtype ? arg->dtype : SPY_DTYPE_FLOAT32);
    } else if (arg->kind == SPY_ARG_KIND_FLOAT) {
        double number = 0;
        if (arg->direction == SPY_DIRECTION_INOUT && arg->value.out)
            (void)spy_convert_numbers(&number, SPY_DTYPE_FLOAT64, arg->value.out, arg->dtype, 1);
        else if (!out_only) number = arg->value.f;
        made = spyi_gradcheck_numbers(g, NULL, shape, arg->dtype);
        if (made && !out_only && spy_tensor_fill(made, number) != SPY_OK) {
            spy_release_tensor(made);
            made = NULL;
        }
    } else {
        return SPY_OK;
    }
    if (!spyi_gradcheck_add(g, path, made))
        return spyi_gradcheck_no(g, SPY_ERROR_OUT_OF_MEMORY, "'%s': no copy of it can be made", path);
    spy_arg tensor = spy_arg_tensor(arg->name, made);
    tensor._map_count = arg->_map_count;
    memcpy(tensor._map, arg->_map, sizeof tensor._map);
    tensor.type = arg->type;
    *out = tensor;
    return SPY_OK;
}

static spy_status spyi_gradcheck_list(spyi_gradcheck *g, spy_args args, const char *parent, spy_arg *out) {
    spy_status status = SPY_OK;
    for (size_t i = 0; i < args.count && status == SPY_OK; i++) {
        const char *name = args.items[i].name;
        char path[64];
        if (name && name[0]) snprintf(path, sizeof path, "%s%s%s", parent, parent[0] ? "." : "", name);
        else if (parent[0]) snprintf(path, sizeof path, "%s[%zu]", parent, i);
        else snprintf(path, sizeof path, "%zu", i + 1);
        status = spyi_gradcheck_arg(g, &args.items[i], path, &out[i]);
    }
    return status;
}

// >>binding

static spy_args spyi_gradcheck_args(const spyi_gradcheck *g) {
    spy_args args;
    args.items = g->args;
    args.count = g->arg_count;
    return args;
}

static spyi_checked *spyi_gradcheck_of(spyi_gradcheck *g, const spy_tensor *tensor, bool gradient) {
    for (uint32_t i = 0; tensor && i < g->count; i++)
        if ((gradient ? g->items[i].tensor->grads[SPYI_GRAD_OUT] : g->items[i].tensor) == tensor)
            return &g->items[i];
    return NULL;
}

// Finds which tensors of a backward call are inputs with a gradient, and which are outputs.
static spy_status spyi_gradcheck_directions(spyi_gradcheck *g, const spyi_plan *plan,
                                            const spyi_values *values) {
    for (uint32_t l = 0; l < plan->bound.leaf_count; l++) {
        const spyi_leaf *leaf = &plan->bound.leaves[l];
        const spyi_value *v = &values->items[leaf->value];
        spyi_checked *c = spyi_gradcheck_of(g, v->tensor, leaf->value >= values->count);
        if (!c) continue;
        if (leaf->value < values->count) {
            snprintf(c->path, sizeof c->path, "%s", leaf->path);
            if (leaf->param_in && leaf->param_out)
                return spyi_gradcheck_no(g, SPY_ERROR_UNSUPPORTED,
                                         "'%s' is an inout parameter: its gradients cannot be checked",
                                         leaf->path);
            c->output = c->output || leaf->param_out;
        } else {
            c->input = true;
        }
    }
    for (uint32_t i = 0; i < g->count; i++) g->items[i].input = g->items[i].input && !g->items[i].output;
    return SPY_OK;
}

// Makes the plan and the kernels of a call. Reports no errors. Sets *has_result when the function returns a
// value.
static spy_status spyi_gradcheck_bind(spyi_gradcheck *g, spy_call_mode mode, bool *has_result) {
    spy_status status = spyi_enter(g->function, SPYI_KIND_FUNCTION, "spy_gradcheck");
    if (status != SPY_OK) return status;
    spyi_values *values = g->device->cache->values;
    spy_call_options options;
    spyi_plan *plan = NULL;
    memset(&options, 0, sizeof options);
    options.mode = mode;
    status = spyi_describe(g->function, spyi_gradcheck_args(g), &options, NULL, values, &g->error);
    if (status == SPY_OK) status = spyi_plan_get(g->function, values, &plan, &g->error);
    if (status == SPY_OK) {
        plan->references++; // the reference keeps the plan if compiling drops it from the cache
        status = spyi_variants_make(plan, values, &g->error);
        if (has_result) *has_result = plan->bound.has_result;
        if (status == SPY_OK && mode == SPY_CALL_MODE_BACKWARD)
            status = spyi_gradcheck_directions(g, plan, values);
        spyi_plan_release(g->device, plan);
    }
    spyi_leave(g->device);
    return status;
}

// >>numbers

static double spyi_gradcheck_random(spyi_gradcheck *g) { // returns a number with an absolute value of 0.25 to
                                                         // 1, of either sign
    g->random = spyi_hash(&g->random, sizeof g->random, 1);
    double u = (double)(g->random >> 40) / 16777216.0;
    return (g->random & 1 ? 1 : -1) * (0.25 + 0.75 * u);
}

static spy_status spyi_gradcheck_read(spy_tensor *flat, double *to) {
    spy_tensor_info info = spy_get_tensor_info(flat);
    void *raw = spyi_malloc(info.host_size_bytes + 1);
    if (!raw) return SPY_ERROR_OUT_OF_MEMORY;
    spy_status status = spy_tensor_read(flat, raw, info.host_size_bytes);
    if (status == SPY_OK)
        status = spy_convert_numbers(to, SPY_DTYPE_FLOAT64, raw, info.dtype, (size_t)info.element_count);
    free(raw);
    return status;
}

static spy_status spyi_gradcheck_write(spy_tensor *flat, int64_t first, int64_t count, const double *from) {
    spy_tensor_info info = spy_get_tensor_info(flat);
    size_t size = (size_t)count * spy_dtype_size_bytes(info.dtype);
    void *raw = spyi_malloc(size + 1);
    if (!raw) return SPY_ERROR_OUT_OF_MEMORY;
    spy_status status = spy_convert_numbers(raw, info.dtype, from, SPY_DTYPE_FLOAT64, (size_t)count);
    if (status == SPY_OK) status = spy_tensor_write_range(flat, first, count, raw, size);
    free(raw);
    return status;
}

// Returns half the distance of neighbouring numbers at 1.
static double spyi_gradcheck_precision(spy_dtype dtype) {
    return dtype == SPY_DTYPE_FLOAT64 ? 1.2e-16 : dtype == SPY_DTYPE_FLOAT32 ? 6e-8 : 5e-4;
}

// Runs the function with number `at` of the input moved by `by`; the outputs' numbers go to `plus` or
// `minus`. *moved gets the number that the function got.
static spy_status spyi_gradcheck_side(spyi_gradcheck *g, const spyi_checked *c, int64_t at, double value,
                                      bool plus, double *moved) {
    uint64_t raw = 0;
    size_t size = spy_dtype_size_bytes(c->dtype);
    spy_status status = spyi_gradcheck_write(c->flat, at, 1, &value);
    if (status == SPY_OK)
        status = spy_tensor_read_range(c->flat, at, 1, &raw, size); // reads the number as the type has
                                                                    // rounded it
    if (status == SPY_OK) status = spy_convert_numbers(moved, SPY_DTYPE_FLOAT64, &raw, c->dtype, 1);
    if (status == SPY_OK) status = spy_call(g->function, spyi_gradcheck_args(g));
    for (uint32_t i = 0; i < g->count && status == SPY_OK; i++)
        if (g->items[i].output)
            status = spyi_gradcheck_read(g->items[i].flat, plus ? g->items[i].plus : g->items[i].minus);
    return status;
}

// >>comparing

// Writes the index of a scalar for messages: "(2, 1)".
static void spyi_gradcheck_index(const spyi_checked *c, int64_t at, spyi_text *out) {
    spy_shape shape = spy_get_tensor_info(c->flat).shape;
    for (uint32_t d = shape.rank; d-- > 0;) {
        int64_t size = shape.dims[d];
        shape.dims[d] = at % size;
        at /= size;
    }
    spyi_shape_text(&shape, out);
}

// Compares the gradient of one number with central differences, and keeps the worst one in *info.
static spy_status spyi_gradcheck_number(spyi_gradcheck *g, spyi_checked *c, int64_t at,
                                        spy_gradcheck_info *info, double *worst) {
    double precision = spyi_gradcheck_precision(c->dtype), x = 0, upper = 0, lower = 0, difference = 0,
           noise = 0;
    uint64_t raw = 0;
    spy_status status = spy_tensor_read_range(c->flat, at, 1, &raw, spy_dtype_size_bytes(c->dtype));
    if (status == SPY_OK) status = spy_convert_numbers(&x, SPY_DTYPE_FLOAT64, &raw, c->dtype, 1);
    double size = x < 0 ? -x : x, step = c->dtype == SPY_DTYPE_FLOAT64   ? 1.0 / (1 << 17)
                                         : c->dtype == SPY_DTYPE_FLOAT32 ? 1.0 / (1 << 8)
                                                                         : 1.0 / (1 << 4);
    step = g->desc && g->desc->step > 0 ? g->desc->step : step * (size > 1 ? size : 1);
    if (status == SPY_OK) status = spyi_gradcheck_side(g, c, at, x + step, true, &upper);
    if (status == SPY_OK) status = spyi_gradcheck_side(g, c, at, x - step, false, &lower);
    if (status == SPY_OK) status = spyi_gradcheck_write(c->flat, at, 1, &x);
    if (status != SPY_OK) return status;
    if (upper == lower)
        return spyi_gradcheck_no(g, SPY_ERROR_OUT_OF_RANGE,
                                 "desc.step: %g is too small for '%s', which has a number of size %g", step,
                                 c->path, size);
    for (uint32_t i = 0; i < g->count; i++) {
        const spyi_checked *o = &g->items[i];
        for (int64_t k = 0; o->output && k < o->count; k++) {
            double change = o->plus[k] - o->minus[k], seed = o->seeds[k];
            if (change == 0) continue;
            difference += seed * change;
            noise += (seed < 0 ? -seed : seed) * spyi_gradcheck_precision(o->dtype) *
                     ((o->plus[k] < 0 ? -o->plus[k] : o->plus[k]) +
                      (o->minus[k] < 0 ? -o->minus[k] : o->minus[k]));
        }
    }
    double numeric = difference / (upper - lower), analytic = c->grads[at];
    double largest = numeric < 0 ? -numeric : numeric, other = analytic < 0 ? -analytic : analytic;
    if (other > largest) largest = other;
    bool precise = precision < 1e-10;
    double relative = g->desc && g->desc->relative_tolerance > 0 ? g->desc->relative_tolerance
                      : precise                                  ? 1e-5
                      : precision < 1e-6                         ? 1e-2
                                                                 : 0.1;
    double absolute = g->desc && g->desc->absolute_tolerance > 0 ? g->desc->absolute_tolerance
                      : precise                                  ? 1e-7
                      : precision < 1e-6                         ? 1e-3
                                                                 : 0.05;
    double allowed = absolute + relative * largest + 8 * noise / (upper - lower);
    double error = (analytic > numeric ? analytic - numeric : numeric - analytic) / allowed;
    info->checked++;
    if (!(error <= 1)) info->wrong++; // this also counts NaN as wrong
    if (!(error <= *worst) || info->checked == 1) {
        *worst = error;
        snprintf(info->argument, sizeof info->argument, "%s", c->path);
        info->element = at;
        info->analytic = analytic;
        info->numeric = numeric;
    }
    return SPY_OK;
}

// Gives the outputs random gradients, and reads the inputs' gradients after a backward call.
static spy_status spyi_gradcheck_backward(spyi_gradcheck *g) {
    spy_status status = SPY_OK;
    for (uint32_t i = 0; i < g->count && status == SPY_OK; i++) {
        spyi_checked *c = &g->items[i];
        for (int64_t k = 0; c->output && k < c->count; k++) c->seeds[k] = spyi_gradcheck_random(g);
        if (c->output) status = spyi_gradcheck_write(c->grad, 0, c->count, c->seeds);
        if (c->output && status == SPY_OK)
            status = spyi_gradcheck_read(c->grad, c->seeds); // reads the numbers as the type has rounded them
    }
    if (status == SPY_OK) status = spy_call_backward(g->function, spyi_gradcheck_args(g));
    for (uint32_t i = 0; i < g->count && status == SPY_OK; i++)
        if (g->items[i].input) status = spyi_gradcheck_read(g->items[i].grad, g->items[i].grads);
    return status;
}

static spy_status spyi_gradcheck_compare(spyi_gradcheck *g, spy_gradcheck_info *info) {
    int64_t most = g->desc && g->desc->max_elements ? g->desc->max_elements : 64;
    double worst = 0;
    spy_status status = spyi_gradcheck_backward(g);
    for (uint32_t i = 0; i < g->count && status == SPY_OK; i++) {
        spyi_checked *c = &g->items[i];
        int64_t count = !c->input ? 0 : c->count < most ? c->count : most;
        for (int64_t k = 0; k < count && status == SPY_OK; k++) {
            // If there are many numbers, divides them into `count` parts and takes one number at random from
            // each.
            int64_t begin = (int64_t)((double)c->count / (double)count * (double)k);
            int64_t end = (int64_t)((double)c->count / (double)count * (double)(k + 1));
            double u = (spyi_gradcheck_random(g) + 1) / 2;
            int64_t at = count == c->count ? k : begin + (int64_t)(u * (double)(end - begin - 1));
            if (c->dtype == SPY_DTYPE_FLOAT64) info->float64 = true;
            status = spyi_gradcheck_number(g, c, at, info, &worst);
        }
    }
    return status;
}

// >>the public function

// Prepares the check with one choice of number types. Reports nothing; g->error says what failed.
static spy_status spyi_gradcheck_try(spyi_gradcheck *g, spy_args args) {
    spy_result result;
    spy_tensor *made = NULL;
    bool has_result = false;
    size_t result_at = args.count;
    memset(&result, 0, sizeof result);
    for (size_t i = 0; i < args.count; i++)
        if (args.items[i].name && strcmp(args.items[i].name, "_result") == 0) result_at = i;
    spy_status status = spyi_gradcheck_list(g, args, "", g->args);
    if (status != SPY_OK) return status;
    g->arg_count = args.count + (result_at == args.count);
    g->args[result_at] = spy_out_result("_result", &result);
    status = spyi_gradcheck_bind(g, SPY_CALL_MODE_DEFAULT, &has_result);
    if (status != SPY_OK) return status;
    if (has_result) {
        g->args[result_at] = spy_out_tensor("_result", &made);
        status = spy_call(g->function, spyi_gradcheck_args(g));
        if (status != SPY_OK) return status;
        spy_tensor *attached = spyi_has_float_scalars(made)
                                   ? spy_create_attached(made, NULL, NULL, spy_function_module(g->function))
                                   : NULL;
        if (!attached || !spyi_gradcheck_add(g, "_result", attached)) {
            spy_release_tensor(made);
            return spyi_gradcheck_no(g, SPY_ERROR_UNSUPPORTED,
                                     "'_result': expected a result of floats of one type");
        }
        spy_release_tensor(made);
        g->args[result_at] = spy_arg_tensor("_result", attached);
    } else { // the function returns nothing, so the call has no result
        memmove(&g->args[result_at], &g->args[result_at + 1],
                (g->arg_count - result_at - 1) * sizeof *g->args);
        g->arg_count--;
    }
    return spyi_gradcheck_bind(g, SPY_CALL_MODE_BACKWARD, NULL);
}

spy_status spy_gradcheck(spy_function *function, spy_args args, const spy_gradcheck_desc *desc,
                         spy_gradcheck_info *info) {
    const char *name = "spy_gradcheck";
    spy_gradcheck_info own;
    spyi_gradcheck g;
    if (!info) info = &own;
    memset(info, 0, sizeof *info);
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, name);
    if (status != SPY_OK) return status;
    memset(&g, 0, sizeof g);
    g.function = function;
    g.device = function->object.device;
    spyi_leave(g.device);
    spyi_context *ctx = &g.device->ctx;
    const char *problem = SPYI_DESC_PROBLEM(spy_gradcheck_desc, desc);
    if (problem || (args.count && !args.items))
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s: %s", name, function->name,
                         problem ? problem : "expected a list of arguments, got NULL");
    g.desc = desc;
    g.random = desc ? desc->seed + 1 : 1;
    g.args = (spy_arg *)spyi_calloc(args.count + 2, sizeof *g.args);
    status = g.args ? SPY_ERROR_TYPE_MISMATCH : SPY_ERROR_OUT_OF_MEMORY;
    spyi_text first = { NULL, 0, 0 }; // the reason why the arguments cannot be checked in their own types
    spy_status first_status = SPY_OK;
    for (int attempt = 0; attempt < 3 && status != SPY_OK && g.args; attempt++) {
        spyi_gradcheck_clear(&g);
        g.wide = attempt == 0;
        g.own_types = attempt == 2;
        status = spyi_gradcheck_try(&g, args);
        if (attempt != 1 || status == SPY_OK) continue;
        first_status = status;
        spyi_text_add(&first, "%s", spyi_text_str(&g.error));
    }
    if (status != SPY_OK && first_status != SPY_OK) {
        status = first_status;
        spyi_text_clear(&g.error);
        spyi_text_add(&g.error, "%s", spyi_text_str(&first));
    }
    if (status == SPY_OK) status = spyi_gradcheck_compare(&g, info);
    if (status == SPY_OK && info->wrong) {
        status = SPY_ERROR_WRONG_GRADIENT;
        spyi_text_add(&g.error, "%u of %u gradients are wrong; the worst: argument '%s', element ",
                      info->wrong, info->checked, info->argument);
        for (uint32_t i = 0; i < g.count; i++)
            if (g.items[i].input && strcmp(g.items[i].path, info->argument) == 0) {
                spyi_gradcheck_index(&g.items[i], info->element, &g.error);
                break;
            }
        spyi_text_add(&g.error, ": expected %.9g, by central differences, got %.9g, by the derivative",
                      info->numeric, info->analytic);
    }
    if (status != SPY_OK)
        spyi_fail(ctx, status, "%s: %s: %s", name, function->name,
                  g.error.size ? spyi_text_str(&g.error) : "a call of the check failed");
    spyi_gradcheck_clear(&g);
    spyi_text_free(&g.error);
    spyi_text_free(&first);
    free(g.args);
    return status;
}
