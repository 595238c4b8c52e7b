// Calls of functions that end in a reduction. The library sums gradients of values that elements share
// (emit/team.c). A reduction is such a sum. The function `total` of its module has a derivative that gives
// one element as the gradient of its parameter `total_`, which all elements share, so that a backward call of
// `total` adds up the elements in one kernel. A backward call of the reduction itself is a backward call of
// the module's function `seeded`.
#include <math.h>

#include "api/gradient.h"
#include "api/list.h"
#include "api/resolve.h"
#include "data/type_name.h"
#include "fuse/fusion.h"

// One call of a reduction.
typedef struct spyi_reducing {
    spy_function *function;
    const spyi_fused *fused;
    const char *public_name;
    const spy_call_options *options; // NULL means that there are no options
    spy_arg *items;                  // the inputs, followed by the arguments that the library adds
    size_t count;                    // the number of inputs
    const spy_arg *result;           // the argument "_result"; NULL means that there is none
    spy_dims kept;                   // the dimensions of the call that the result has
    spy_shape shape;                 // the shape of the result
    double elements;                 // the number of elements that make up one value of the result
    bool timed;
    uint64_t *gpu_time_ns;
    bool explains; // the call is described, not made
    bool tries;    // the call is checked and compiled, not made
    char *text;
    size_t capacity, size; // `capacity` is the size of `text` in bytes, `size` that of the description
} spyi_reducing;

static spy_status spyi_reducing_fail(const spyi_reducing *r, spy_status status, const char *words) {
    return spyi_fail(&r->function->object.device->ctx, status, "%s: %s: %s", r->public_name,
                     r->function->name, words);
}

// Separates "_result" from the inputs.
static spy_status spyi_reducing_begin(spyi_reducing *r, spy_args args) {
    r->items = (spy_arg *)spyi_malloc((args.count + 4) * sizeof *r->items);
    if (!r->items) return spyi_reducing_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (size_t i = 0; args.items && i < args.count; i++) {
        if (args.items[i].name && strcmp(args.items[i].name, "_result") == 0) {
            if (r->result)
                return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT, "'_result' is given twice");
            r->result = &args.items[i];
        } else r->items[r->count++] = args.items[i];
    }
    if (!r->result)
        return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT, "expected an argument '_result'");
    return SPY_OK;
}

static spy_resolution *spyi_reducing_resolve(const spyi_reducing *r) {
    spy_args inputs;
    spy_call_options options;
    memset(&options, 0, sizeof options);
    if (r->options) options = *r->options;
    options.mode = SPY_CALL_MODE_DEFAULT;
    options.deterministic = false;
    options.append_to = NULL;
    inputs.items = r->items;
    inputs.count = r->count;
    return spy_resolve(r->fused->element, inputs, &options);
}

// Finds the call's shape, and the dimensions of it that the result has.
static spy_status spyi_reducing_shape(spyi_reducing *r) {
    bool gone[SPY_MAX_RANK] = { false };
    spy_resolution *resolution = spyi_reducing_resolve(r);
    if (!resolution) return SPY_ERROR_TYPE_MISMATCH; // the error has been reported
    spy_shape shape = resolution->shape;
    spy_release_resolution(resolution);
    for (uint32_t i = 0; i < r->fused->dims.count; i++) {
        int32_t dim = r->fused->dims.dims[i], at = dim < 0 ? dim + (int32_t)shape.rank : dim;
        char words[96];
        bool inside = at >= 0 && at < (int32_t)shape.rank;
        snprintf(words, sizeof words, "its reduction names dimension %d%s %u", (int)dim,
                 inside ? " twice, of" : "; the call's rank is", shape.rank);
        if (!inside || gone[at]) return spyi_reducing_fail(r, SPY_ERROR_OUT_OF_RANGE, words);
        gone[at] = true;
    }
    r->elements = 1;
    for (uint32_t d = 0; d < shape.rank; d++) {
        if (gone[d] || !r->fused->dims.count) {
            r->elements *= (double)shape.dims[d];
            continue;
        }
        r->kept.dims[r->kept.count++] = (int32_t)d;
        r->shape.dims[r->shape.rank++] = shape.dims[d];
    }
    return SPY_OK;
}

// Adds the argument by which the mean is divided.
static void spyi_reducing_scale(const spyi_reducing *r, size_t *count) {
    if (r->fused->reduction == SPY_FUSE_REDUCTION_MEAN)
        r->items[(*count)++] = spy_arg_f64("scale_", 1 / r->elements);
}

// >>trying a call
// The calls are recorded into a list that keeps nothing. A call that goes there without an error has been
// checked and compiled, and has changed nothing.

static spy_status spyi_nowhere_open(const spyi_sink *sink, spyi_text *error) {
    (void)sink;
    (void)error;
    return SPY_OK;
}

static spy_status spyi_nowhere_begin(spyi_sink *sink, spyi_text *error) {
    return spyi_nowhere_open(sink, error);
}

static spy_status spyi_nowhere_append(spyi_sink *sink, spyi_plan *plan, const spyi_variant *variant,
                                      const spyi_work *work, const spyi_use *uses, uint32_t use_count,
                                      bool untracked, spyi_text *error) {
    (void)plan;
    (void)variant;
    (void)work;
    (void)uses;
    (void)use_count;
    (void)untracked;
    return spyi_nowhere_open(sink, error);
}

static void spyi_nowhere_end(spyi_sink *sink, spyi_plan *plan, const spyi_values *values) {
    (void)sink;
    (void)plan;
    (void)values;
}

static void spyi_nowhere_drop(spyi_sink *sink) {
    (void)sink;
}

static void spyi_reducing_nowhere(const spyi_reducing *r, spyi_sink *sink) {
    static const spyi_sink_table table = { spyi_nowhere_open, spyi_nowhere_begin, spyi_nowhere_append,
                                           spyi_nowhere_end,  spyi_nowhere_drop,  NULL };
    memset(sink, 0, sizeof *sink);
    sink->object.kind = (uint32_t)SPYI_KIND_LIST;
    sink->object.device = r->function->object.device;
    sink->table = &table;
}

static spy_status spyi_reducing_run(spyi_reducing *r, spy_function *function, size_t count) {
    spy_call_options options;
    float ignored = 0;
    spy_arg pair[2];
    spy_args args, both;
    memset(&options, 0, sizeof options);
    if (r->options) options = *r->options;
    options.mode = SPY_CALL_MODE_BACKWARD;
    double ignored_double = 0;
    bool wide = r->fused->type->scalar == SPY_DTYPE_FLOAT64 && function == r->fused->seeded;
    pair[0] = wide ? spy_out_f64(NULL, &ignored_double) : spy_out_f32(NULL, &ignored);
    pair[1] = wide ? spy_arg_f64(NULL, 1) : spy_arg_f32(NULL, 1);
    both.items = pair;
    both.count = 2;
    r->items[count++] = spy_arg_diff_pair("_result", both);
    args.items = r->items;
    args.count = count;
    if (r->tries) {
        spyi_sink nowhere;
        spyi_reducing_nowhere(r, &nowhere);
        options.append_to = (spy_command_list *)(void *)&nowhere;
        return spyi_call(function, args, &options, r->public_name, false, NULL);
    }
    if (!r->explains) return spyi_call(function, args, &options, r->public_name, r->timed, r->gpu_time_ns);
    r->size = spy_explain_call(function, args, &options, r->text, r->capacity);
    return SPY_OK;
}

// >>the reduction

// Fills a tensor with the value that a reduction of no elements gives.
static spy_status spyi_reducing_clear(const spyi_reducing *r, spy_tensor *to) {
    double value = r->fused->reduction == SPY_FUSE_REDUCTION_MIN                        ? (double)INFINITY
                   : r->fused->reduction == SPY_FUSE_REDUCTION_MAX                      ? -(double)INFINITY
                   : r->fused->reduction == SPY_FUSE_REDUCTION_MEAN && r->elements == 0 ? (double)NAN
                                                                                        : 0;
    if (r->options && r->options->append_to) return spy_list_fill(r->options->append_to, to, value);
    return spy_tensor_fill(to, value);
}

// Refuses a result that shares memory with an input, because the result is cleared before the inputs are
// read.
static spy_status spyi_reducing_apart(const spyi_reducing *r, const spy_tensor *to) {
    spy_status status = SPY_OK;
    if (spyi_enter(r->function, SPYI_KIND_FUNCTION, r->public_name) != SPY_OK) return SPY_ERROR_RELEASED;
    for (size_t i = 0; i < r->count && status == SPY_OK; i++) {
        const spy_arg *arg = &r->items[i];
        if (arg->kind == SPY_ARG_KIND_PAIR && arg->count == 2) arg = &arg->value.fields[0];
        if (arg->kind != SPY_ARG_KIND_TENSOR || !spyi_tensors_overlap(to, arg->value.tensor)) continue;
        status = spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                                    "'_result' lies in the same memory as an input");
    }
    spyi_leave(r->function);
    return status;
}

// Refuses a result that has no place, or that is no living tensor of the device.
static spy_status spyi_reducing_check(const spyi_reducing *r) {
    const spy_arg *a = r->result;
    if ((a->kind == SPY_ARG_KIND_NEW && !a->value.new_tensor) ||
        (a->kind == SPY_ARG_KIND_RESULT && !a->value.result))
        return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                                  "'_result': expected a place for it, got NULL");
    if (a->kind != SPY_ARG_KIND_TENSOR) return SPY_OK;
    spy_status status = spyi_enter(r->function, SPYI_KIND_FUNCTION, r->public_name);
    if (status != SPY_OK) return status;
    spy_device *device = r->function->object.device;
    if (!spyi_is_on(device, a->value.tensor, SPYI_KIND_TENSOR)) {
        spyi_text words = { NULL, 0, 0 };
        spyi_text_add(&words, "'_result': ");
        status = spyi_object_problem(a->value.tensor, SPYI_KIND_TENSOR, &words);
        (void)spyi_reducing_fail(r, status, spyi_text_str(&words));
        spyi_text_free(&words);
    }
    spyi_leave(device);
    return status;
}

static spy_status spyi_reduce_to(spyi_reducing *r, spy_tensor *to) {
    spy_device *device = r->function->object.device;
    const spyi_type *type = r->fused->type;
    spy_tensor_info info = spy_get_tensor_info(to);
    spy_arg pair[2];
    spy_args both;
    spy_tensor *one = NULL, *spread = NULL;
    size_t count = r->count;
    bool by_number = info.shape.rank == r->shape.rank + 1 && type->kind == SPYI_TYPE_VECTOR &&
                     info.shape.dims[r->shape.rank] == (int64_t)type->columns;
    bool fits = info.shape.rank == r->shape.rank || by_number;
    for (uint32_t d = 0; fits && d < r->shape.rank; d++) fits = info.shape.dims[d] == r->shape.dims[d];
    if (!fits) {
        spyi_text words = { NULL, 0, 0 };
        spyi_text_add(&words, "'_result': expected a tensor of shape ");
        spyi_shape_text(&r->shape, &words);
        spyi_text_add(&words, ", got ");
        spyi_shape_text(&info.shape, &words);
        spy_status status = spyi_reducing_fail(r, SPY_ERROR_SHAPE_MISMATCH, spyi_text_str(&words));
        spyi_text_free(&words);
        return status;
    }
    spy_status status = spyi_reducing_apart(r, to);
    if (status != SPY_OK) return status;
    // The value of total_ does not matter; only its gradient does.
    pair[0] = spy_arg_f32(NULL, 0);
    pair[1] = spy_vmap(spy_arg_tensor(NULL, to), r->kept);
    if (info.shape.rank) {
        spy_tensor_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.type = info.type;
        one = spy_create_tensor(device, &desc);
        spread = one ? spy_create_broadcast(one, info.shape) : NULL;
        spy_release_tensor(one);
        if (!spread) return SPY_ERROR_OUT_OF_DEVICE_MEMORY; // the error has been reported
        pair[0] = spy_vmap(spy_arg_tensor(NULL, spread), r->kept);
    }
    both.items = pair;
    both.count = 2;
    r->items[count++] = spy_arg_diff_pair("total_", both);
    spyi_reducing_scale(r, &count);
    if (r->result->kind == SPY_ARG_KIND_TENSOR && !r->explains &&
        r->elements > 0) { // a call that fails leaves the caller's tensor unchanged
        r->tries = true;
        status = spyi_reducing_run(r, r->fused->total, count);
        r->tries = false;
    }
    if (status == SPY_OK && !r->explains) status = spyi_reducing_clear(r, to);
    if (status == SPY_OK && r->elements > 0) status = spyi_reducing_run(r, r->fused->total, count);
    spy_release_tensor(spread);
    return status;
}

// Reduces into a new tensor, and hands its values to a result in host memory, or the tensor itself to the
// caller.
static spy_status spyi_reduce_new(spyi_reducing *r) {
    const spy_arg *result = r->result;
    const spyi_type *type = r->fused->type;
    spy_device *device = r->function->object.device;
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.type = spyi_spell(type);
    desc.shape = r->shape;
    bool recorded = r->options && r->options->append_to;
    bool to_host = result->kind != SPY_ARG_KIND_NEW &&
                   !(result->kind == SPY_ARG_KIND_RESULT && (r->shape.rank || recorded));
    if (recorded && to_host)
        return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                                  "'_result': expected a tensor, since the call is recorded");
    spy_tensor *made = spy_create_tensor(device, &desc);
    if (!made) return SPY_ERROR_OUT_OF_DEVICE_MEMORY; // the error has been reported
    spy_status status = spyi_reduce_to(r, made);
    if (r->explains) {
        spy_release_tensor(made);
        return status;
    }
    size_t size = spy_get_tensor_info(made).host_size_bytes;
    uint32_t scalars = type->rows * type->columns;
    int64_t values = (int64_t)scalars;
    for (uint32_t d = 0; d < r->shape.rank; d++) values *= r->shape.dims[d];
    if (status != SPY_OK || !to_host) {
        if (status == SPY_OK && result->kind == SPY_ARG_KIND_NEW) *result->value.new_tensor = made;
        else if (status == SPY_OK) {
            result->value.result->tensor = made;
            result->value.result->size_bytes = 0;
            result->value.result->type = spyi_type_user_name(type);
            result->value.result->dtype = type->scalar;
            result->value.result->rows = type->rows;
            result->value.result->columns = type->columns;
        } else spy_release_tensor(made);
        return status;
    }
    int64_t room = result->kind == SPY_ARG_KIND_ARRAY ? 1 : 0;
    for (size_t d = 0; result->kind == SPY_ARG_KIND_ARRAY && d < result->count && d < SPY_MAX_RANK; d++)
        room *= result->dims[d];
    bool number = result->kind == SPY_ARG_KIND_FLOAT && result->dtype == type->scalar && values == 1 &&
                  result->value.out;
    bool array = result->kind == SPY_ARG_KIND_ARRAY && room == values && result->value.data &&
                 (result->dtype == type->scalar ||
                  (result->dtype == SPY_DTYPE_DEFAULT && type->scalar == SPY_DTYPE_FLOAT32));
    bool data = result->kind == SPY_ARG_KIND_DATA && result->count == size && result->value.data;
    if ((number || array || data) && result->direction == SPY_DIRECTION_OUT) {
        status = spy_tensor_read(made, result->value.out, size);
    } else if (result->kind == SPY_ARG_KIND_RESULT && size <= SPY_RESULT_BYTES) {
        spy_result *out = result->value.result;
        status = spy_tensor_read(made, out->data, size);
        out->tensor = NULL;
        out->type = spyi_type_user_name(type);
        out->dtype = type->scalar;
        out->rows = type->rows;
        out->columns = type->columns;
        out->size_bytes = size;
    } else {
        spyi_text words = { NULL, 0, 0 };
        spyi_text_add(&words, "'_result': expected a tensor, or spy_out_... of %s with shape ",
                      type->display);
        spyi_shape_text(&r->shape, &words);
        status = spyi_reducing_fail(r, SPY_ERROR_TYPE_MISMATCH, spyi_text_str(&words));
        spyi_text_free(&words);
    }
    spy_release_tensor(made);
    return status;
}

// >>its gradients

// Adds an argument of `seeded` that has the result's shape.
static void spyi_reducing_spread(const spyi_reducing *r, size_t *count, const char *name, const spy_arg *arg) {
    spy_arg *to = &r->items[(*count)++];
    *to = *arg;
    if (to->kind == SPY_ARG_KIND_TENSOR || to->kind == SPY_ARG_KIND_ARRAY) *to = spy_vmap(*to, r->kept);
    to->name = name;
}

static spy_status spyi_reduce_backward(spyi_reducing *r) {
    const spy_arg *result = r->result, *value, *seed;
    size_t count = r->count;
    spy_arg tensor;
    if (!r->fused->seeded) {
        spyi_text words = { NULL, 0, 0 };
        spyi_text_add(&words, "it has no derivative: %s", spyi_text_str(&r->fused->no_derivative));
        spy_status status = spyi_reducing_fail(r, SPY_ERROR_UNSUPPORTED, spyi_text_str(&words));
        spyi_text_free(&words);
        return status;
    }
    if (result->kind == SPY_ARG_KIND_TENSOR) {
        spy_tensor *grad = spy_tensor_grad_in(result->value.tensor);
        if (!grad)
            return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                                      "'_result': expected a tensor with a gradient, got none");
        tensor = spy_arg_tensor(NULL, grad);
        value = result;
        seed = &tensor;
    } else if (result->kind == SPY_ARG_KIND_PAIR && result->count == 2 && result->value.fields) {
        value = &result->value.fields[0];
        seed = &result->value.fields[1];
    } else {
        return spyi_reducing_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                                  "'_result': expected a tensor with a gradient, or spy_arg_diff_pair()");
    }
    spyi_reducing_spread(r, &count, "seed_", seed);
    spyi_reducing_scale(r, &count);
    if (r->fused->reduction >= SPY_FUSE_REDUCTION_MIN) spyi_reducing_spread(r, &count, "value_", value);
    return spyi_reducing_run(r, r->fused->seeded, count);
}

static spy_status spyi_reduce(spyi_reducing *r, spy_args args) {
    spy_call_mode mode = r->options ? r->options->mode : SPY_CALL_MODE_DEFAULT;
    spy_status status = spyi_reducing_begin(r, args);
    if (status == SPY_OK && mode == SPY_CALL_MODE_FORWARD_DIFF)
        status = spyi_reducing_fail(
            r, SPY_ERROR_UNSUPPORTED,
            "a function that ends in a reduction has no forward derivative: reduce the derivatives of "
            "the function before its end");
    if (status == SPY_OK) status = spyi_reducing_check(r);
    if (status == SPY_OK) status = spyi_reducing_shape(r);
    if (status == SPY_OK && mode == SPY_CALL_MODE_BACKWARD) status = spyi_reduce_backward(r);
    else if (status == SPY_OK && r->result->kind == SPY_ARG_KIND_TENSOR)
        status = spyi_reduce_to(r, r->result->value.tensor);
    else if (status == SPY_OK) status = spyi_reduce_new(r);
    free(r->items);
    return status;
}

static void spyi_reducing_of(spyi_reducing *r, spy_function *function, const spy_call_options *options,
                             const char *public_name) {
    memset(r, 0, sizeof *r);
    r->function = function;
    r->fused = function->module->fused;
    r->options = options;
    r->public_name = public_name;
}

static spy_status spyi_reduced_call(spy_function *function, spy_args args, const spy_call_options *options,
                                    const char *public_name, bool timed, uint64_t *gpu_time_ns) {
    spyi_reducing r;
    spyi_reducing_of(&r, function, options, public_name);
    r.timed = timed;
    r.gpu_time_ns = gpu_time_ns;
    return spyi_reduce(&r, args);
}

static size_t spyi_reduced_explain(spy_function *function, spy_args args, const spy_call_options *options,
                                   char *text, size_t capacity) {
    spyi_reducing r;
    spyi_reducing_of(&r, function, options, "spy_explain_call");
    r.explains = true;
    r.text = text;
    r.capacity = capacity;
    (void)spyi_reduce(&r, args); // it reports a call that it cannot explain
    return r.size;
}

// Resolves the inputs of a reduction, over all elements.
static spy_resolution *spyi_reduced_resolve(spy_function *function, spy_args args,
                                            const spy_call_options *options) {
    spyi_reducing r;
    spyi_reducing_of(&r, function, options, "spy_resolve");
    spy_resolution *resolution = spyi_reducing_begin(&r, args) == SPY_OK ? spyi_reducing_resolve(&r) : NULL;
    free(r.items);
    return resolution;
}

SPYI_FN const spyi_fused_table *spyi_reductions(void) {
    static const spyi_fused_table table = { spyi_reduced_call, spyi_reduced_explain, spyi_reduced_resolve };
    return &table;
}
