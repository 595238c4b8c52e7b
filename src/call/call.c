// spy_call and its companions: the stages of a call in order. describe and sign, look up, (bind, emit, compile), run.
#include "call/list.h"
#include "api/gradient.h"

// How a failed call ends: the function, what was wrong, and the call as it was understood.
static spy_status spyi_call_failed(spy_function *function, spy_status status, const char *public_name,
                                   spyi_text *error) {
    spyi_fail(&function->object.device->ctx, status, "%s: %s: %s", public_name, function->name,
              spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

// Options that say nothing.
static bool spyi_options_are_plain(const spy_call_options *options) {
    static spy_call_options none; // never written
    return !options || memcmp(options, &none, sizeof none) == 0;
}

// Inside the device: the stages of a call or dispatch.
static spy_status spyi_call_timed(spy_function *function, spy_args args, const spy_call_options *options,
                                  const spyi_threads *threads, const char *public_name, bool timed,
                                  uint64_t *gpu_time_ns) {
    spyi_values *values = function->object.device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    spy_command_list *list = options ? options->append_to : NULL;
    spy_status status = SPY_OK;
    if (SPYI_LIKELY(!threads && !timed && spyi_options_are_plain(options)) &&
        spyi_cache_again(function, args, &status, &error))
        return status == SPY_OK ? SPY_OK : spyi_call_failed(function, status, public_name, &error);
    if (SPYI_DESC_PROBLEM(spy_call_options, options) != NULL) {
        spyi_text_add(&error, "its options: %s", SPYI_DESC_PROBLEM(spy_call_options, options));
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (list && timed) {
        spyi_text_add(&error, "its options: append_to: a call that is recorded cannot be timed; "
                              "spy_list_timestamp can");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (list) {
        status = spyi_list_check_open(list, function->object.device, &error);
    }
    if (SPYI_LIKELY(status == SPY_OK))
        status = spyi_describe(function, args, options, threads, values, &error);
    if (SPYI_LIKELY(status == SPY_OK)) status = spyi_plan_get(function, values, &plan, &error);
    if (SPYI_LIKELY(status == SPY_OK)) {
        if (list) { // what compiles leaves the device: before the list is changed, which other threads may do meanwhile
            status = spyi_variants_make(plan, values, &error);
            if (status == SPY_OK) status = spyi_list_check_open(list, function->object.device, &error);
            if (status == SPY_OK) status = spyi_list_begin_call(list, &error);
        }
        if (status == SPY_OK) status = spyi_run(plan, values, list, timed, gpu_time_ns, &error);
        if (status == SPY_OK && list) spyi_list_end_call(list, plan);
        if (status != SPY_OK) {
            spyi_text_add(&error, "\n");
            spyi_bound_text(&plan->bound, values, &error);
        }
    }
    if (status != SPY_OK) spyi_call_failed(function, status, public_name, &error);
    return status;
}

SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name) {
    return spyi_call_timed(function, args, options, threads, public_name, false, NULL);
}

static spy_status spyi_call(spy_function *function, spy_args args, const spy_call_options *options,
                            const char *public_name, bool timed, uint64_t *gpu_time_ns) {
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, public_name);
    if (status != SPY_OK) return status;
    status = spyi_call_timed(function, args, options, NULL, public_name, timed, gpu_time_ns);
    spyi_leave(function);
    return status;
}

spy_status spy_call(spy_function *function, spy_args args) {
    return spyi_call(function, args, NULL, "spy_call", false, NULL);
}

spy_status spy_call_with(spy_function *function, spy_args args, const spy_call_options *options) {
    return spyi_call(function, args, options, "spy_call_with", false, NULL);
}

spy_status spy_time_call(spy_function *function, spy_args args, const spy_call_options *options,
                         uint64_t *gpu_time_ns) {
    uint64_t ignored;
    if (!gpu_time_ns) gpu_time_ns = &ignored;
    *gpu_time_ns = 0;
    return spyi_call(function, args, options, "spy_time_call", true, gpu_time_ns);
}

spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args) {
    const char *name = "spy_list_call";
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = list;
    if (list) return spyi_call(function, args, &options, name, false, NULL);
    return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a command list, got NULL", name);
}

static spy_status spyi_call_mode(spy_function *function, spy_args args, spy_call_mode mode,
                                 const char *name) {
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.mode = mode;
    return spyi_call(function, args, &options, name, false, NULL);
}

spy_status spy_call_backward(spy_function *function, spy_args args) {
    return spyi_call_mode(function, args, SPY_CALL_BACKWARD, "spy_call_backward");
}

spy_status spy_call_forward_diff(spy_function *function, spy_args args) {
    return spyi_call_mode(function, args, SPY_CALL_FORWARD_DIFF, "spy_call_forward_diff");
}

// >>explaining

static void spyi_explain(const spyi_plan *plan, const spyi_values *values, spyi_text *out) {
    const spyi_launch *launch = &plan->launch;
    const spy_device *device = plan->function->object.device;
    spyi_text_add(out, "%s\n", plan->bound.signature.display);
    spyi_bound_text(&plan->bound, values, out);
    spyi_globals_text(plan->function, values, out);
    spyi_text_add(out, "  call shape ");
    spyi_shape_text(&launch->shape, out);
    spyi_text_add(out, ", %lld elements on %s\n", (long long)launch->count, device->base->limits.info.name);
    if (launch->count == 0) {
        spyi_text_add(out, "  nothing to do\n");
        return;
    }
    spy_shape collapsed;
    memset(&collapsed, 0, sizeof collapsed);
    collapsed.rank = launch->rank;
    memcpy(collapsed.dims, launch->dims, launch->rank * sizeof *launch->dims);
    spyi_text_add(out, "  collapsed to ");
    spyi_shape_text(&collapsed, out);
    spyi_text_add(out, "%s\n\n", spyi_variant_find(plan, &launch->key) ? ", compiled" : ", not compiled yet");
    spyi_emitted emitted;
    if (spyi_emit(plan->function, &plan->bound, &launch->key, &emitted, out) == SPY_OK) {
        spyi_text_add(out, "%s", spyi_text_str(&emitted.text));
        spyi_emitted_free(&emitted);
    }
}

size_t spy_explain_call(spy_function *function, spy_args args, const spy_call_options *options, char *text,
                        size_t capacity) {
    if (text && capacity) text[0] = 0;
    if (spyi_enter(function, SPYI_KIND_FUNCTION, "spy_explain_call") != SPY_OK) return 0;
    spy_device *device = function->object.device;
    spyi_values *values = device->cache->values;
    spyi_text out = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_describe(function, args, options, NULL, values, &out);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &out);
    if (status == SPY_OK) status = spyi_launch_shape(plan, values, &out);
    if (status == SPY_OK) spyi_explain(plan, values, &out);
    const char *all = spyi_failed_allocations() == failed ? spyi_text_str(&out) : "out of host memory";
    size_t size = strlen(all);
    if (text && capacity) {
        size_t n = size < capacity - 1 ? size : capacity - 1;
        memcpy(text, all, n);
        text[n] = 0;
    }
    spyi_text_free(&out);
    spyi_leave(device);
    return size;
}
