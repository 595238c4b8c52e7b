// spy_call and the other functions that make calls. The stages of a call, in order: describe and sign, look
// up, (bind, emit, compile), run.
#include "call/call.h"
#include "api/gradient.h"
#include "call/prepare.h"
#include "call/run.h"

SPYI_FN spy_status spyi_call_failed(spy_function *function, spy_status status, const char *public_name,
                                    spyi_text *error) {
    spyi_fail(&function->object.device->ctx, status, "%s: %s: %s", public_name, function->name,
              spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

// Returns SPY_OK if `sink` can record a call on this device now; otherwise `error` says why not.
static spy_status spyi_sink_check(const spyi_sink *sink, const spy_device *device, spyi_text *error) {
    if (!spyi_is_on(device, sink, SPYI_KIND_LIST)) return spyi_object_problem(sink, SPYI_KIND_LIST, error);
    return sink->table->check_open(sink, error);
}

// Records a call. Compiling comes first, because it leaves the device, and other threads may then change the
// list: the list is checked again afterwards.
static spy_status spyi_call_record(spy_function *function, spyi_plan *plan, const spyi_values *values,
                                   spyi_sink *sink, spyi_text *error) {
    spy_status status = spyi_variants_make(plan, values, error);
    if (status == SPY_OK) status = spyi_sink_check(sink, function->object.device, error);
    if (status == SPY_OK) status = sink->table->begin_call(sink, error);
    if (status != SPY_OK) return status;
    status = spyi_run(plan, values, sink, false, NULL, error);
    if (status == SPY_OK) sink->table->end_call(sink, plan, values);
    else sink->table->drop_call(sink);
    return status;
}

// Makes, records or times a call or dispatch. The caller has entered the device.
static spy_status spyi_call_timed(spy_function *function, spy_args args, const spy_call_options *options,
                                  const spyi_threads *threads, const char *public_name, bool timed,
                                  uint64_t *gpu_time_ns) {
    spyi_values *values = function->object.device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    // the sink is the first member of a list
    spyi_sink *sink = options ? (spyi_sink *)(void *)options->append_to : NULL;
    spy_status status = SPY_OK;
    if (SPYI_LIKELY(!threads && !timed) && spyi_cache_again(function, args, options, &status, &error))
        return status == SPY_OK ? SPY_OK : spyi_call_failed(function, status, public_name, &error);
    if (SPYI_DESC_PROBLEM(spy_call_options, options) != NULL) {
        spyi_text_add(&error, "its options: %s", SPYI_DESC_PROBLEM(spy_call_options, options));
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (sink && timed) {
        spyi_text_add(&error, "its options: append_to: a call that is recorded cannot be timed; "
                              "spy_list_timestamp can");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (sink) {
        status = spyi_sink_check(sink, function->object.device, &error);
    }
    if (SPYI_LIKELY(status == SPY_OK))
        status = spyi_describe(function, args, options, threads, values, &error);
    if (SPYI_LIKELY(status == SPY_OK)) status = spyi_plan_get(function, values, &plan, &error);
    if (sink && plan) plan->references++; // the reference keeps the plan if compiling drops it from the cache
    if (SPYI_LIKELY(status == SPY_OK)) {
        if (sink) status = spyi_call_record(function, plan, values, sink, &error);
        // spyi_cache_again() has tried only the last few plans; this plan may be older.
        else if (threads || timed || !spyi_call_again(plan, args, &status, &error))
            status = spyi_run(plan, values, NULL, timed, gpu_time_ns, &error);
        if (status != SPY_OK) {
            spyi_text_add(&error, "\n");
            spyi_bound_text(&plan->bound, values, &error);
        }
    }
    if (sink && plan) spyi_plan_release(function->object.device, plan);
    if (status != SPY_OK) spyi_call_failed(function, status, public_name, &error);
    return status;
}

SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name) {
    return spyi_call_timed(function, args, options, threads, public_name, false, NULL);
}

SPYI_FN const spyi_fused_table *spyi_leave_for_reduction(spy_function *function) {
    const spyi_fused_table *table = function->object.device->fused_table;
    spyi_atomic_add(&function->module->object.references, 1);
    spyi_leave(function);
    return table;
}

SPYI_FN spy_status spyi_call(spy_function *function, spy_args args, const spy_call_options *options,
                             const char *public_name, bool timed, uint64_t *gpu_time_ns) {
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, public_name);
    if (status != SPY_OK) return status;
    spy_device *device = function->object.device;
    if (!SPYI_LIKELY(!function->reduces)) {
        spyi_object *module = &function->module->object;
        const spyi_fused_table *table = spyi_leave_for_reduction(function);
        status = table->call(function, args, options, public_name, timed, gpu_time_ns);
        spyi_object_release(module);
        return status;
    }
    status = spyi_call_timed(function, args, options, NULL, public_name, timed, gpu_time_ns);
    if (SPYI_LIKELY(device->summed_count == 0)) {
        spyi_leave(device);
        return status;
    }
    spyi_summed summed[SPYI_MOST_SUMMED];
    uint32_t count = spyi_sums_take(device, summed);
    spyi_leave(device);
    return spyi_sums_finish(device, summed, count, options, status, public_name);
}

// Makes a call of a declared function.
static SPYI_NOINLINE spy_status spyi_call_declared(spy_function *function, spy_args args,
                                                   const char *public_name) {
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, public_name);
    if (status != SPY_OK) return status;
    bool made = spyi_call_direct(function, args, &status, &error);
    if (made && status != SPY_OK) (void)spyi_call_failed(function, status, public_name, &error);
    spyi_leave(function->object.device);
    return SPYI_LIKELY(made) ? status : spyi_call(function, args, NULL, public_name, false, NULL);
}

spy_status spy_call(spy_function *function, spy_args args) {
    if (spyi_as(function, SPYI_KIND_FUNCTION) && function->declared && !function->reduces)
        return spyi_call_declared(function, args, "spy_call");
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

static spy_status spyi_call_mode(spy_function *function, spy_args args, spy_call_mode mode,
                                 const char *name) {
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.mode = mode;
    return spyi_call(function, args, &options, name, false, NULL);
}

spy_status spy_call_backward(spy_function *function, spy_args args) {
    return spyi_call_mode(function, args, SPY_CALL_MODE_BACKWARD, "spy_call_backward");
}

spy_status spy_call_forward_diff(spy_function *function, spy_args args) {
    return spyi_call_mode(function, args, SPY_CALL_MODE_FORWARD_DIFF, "spy_call_forward_diff");
}
