// Dispatches: they run a function over an explicit number of threads, and each thread gets all arguments as
// they are. A shader of the user's module runs as it is (libslang does not end when another shader calls it);
// a plain function is called by a generated kernel.
#include "call/call.h"
#include "call/same.h"
#include "kinds/kinds.h"

static const spyi_entry *spyi_function_entry(spy_function *function) {
    if (function->entry_known) return &function->entry;
    spyi_entry entry;
    spyi_outside outside;
    memset(&entry, 0, sizeof entry);
    spyi_step_out(function->object.device, &outside, function->module); // may wait for the compiler
    spyi_unit_entry(function->module->unit, function->name, &entry);
    spyi_step_in(function->object.device, &outside);
    // A plain function's first parameter of this name gets the thread's number, as if it had
    // SV_DispatchThreadID.
    const spyi_signature *signature = &function->overloads.items[0];
    if (!entry.threads[0] && !entry.cuda_kernel && signature->param_count && !entry.systems[0] &&
        strcmp(signature->params[0].name, "dispatchThreadID") == 0)
        entry.systems[0] = SPYI_SYSTEM_THREAD;
    if (!function->entry_known) function->entry = entry;
    function->entry_known = true;
    return &function->entry;
}

// Fills `all` with one argument for each parameter that the system fills, then the user's arguments. Returns
// their number.
static size_t spyi_dispatch_args(const spy_function *function, spy_args args, spy_arg *all, size_t most) {
    const spyi_signature *signature = &function->overloads.items[0];
    size_t count = 0;
    for (uint32_t p = 0; p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS && count < most; p++)
        if (function->entry.systems[p])
            all[count++] =
                spyi_system_arg(signature->params[p].name, (spyi_system)function->entry.systems[p]);
    for (size_t i = 0; i < args.count && count < most; i++) all[count++] = args.items[i];
    return count;
}

static const char *spyi_dispatch_problem(const spy_function *function, spy_args args,
                                         const spy_call_options *o) {
    if (SPYI_DESC_PROBLEM(spy_call_options, o) != NULL) return SPYI_DESC_PROBLEM(spy_call_options, o);
    if (args.count && !args.items) return "expected arguments, got NULL";
    if (args.count > SPYI_MOST_ENTRY_PARAMS) return "it has too many arguments";
    if (function->overloads.count != 1)
        return "a function with overloads cannot be dispatched; give one its own name";
    if (o && (o->call_group_shape.rank || o->thread_count.rank))
        return "call_group_shape and thread_count are for calls; a dispatch says its threads itself";
    if (o && o->mode) return "a dispatch computes no gradients; call bwd_diff in Slang";
    return NULL;
}

// Reports an error if the caller gives what the function itself fixes: its group size, and the parameters
// that the system fills.
static spy_status spyi_check_entry(const spy_function *function, const char *name, spy_args args,
                                   const spy_call_options *options) {
    spyi_context *ctx = &function->object.device->ctx;
    const spyi_entry *entry = &function->entry;
    const spyi_signature *signature = &function->overloads.items[0];
    spyi_text problem = { NULL, 0, 0 };
    if (entry->cuda_kernel && !spyi_cuda_kernel_runs(function, &problem)) {
        spyi_fail(ctx, SPY_ERROR_UNSUPPORTED, "%s: %s: %s", name, function->name, spyi_text_str(&problem));
        spyi_text_free(&problem);
        return SPY_ERROR_UNSUPPORTED;
    }
    if ((uint64_t)entry->threads[0] * entry->threads[1] * entry->threads[2] > 1024)
        return spyi_fail(ctx, SPY_ERROR_UNSUPPORTED,
                         "%s: %s: its [numthreads(%u, %u, %u)] are more than 1024 threads", name,
                         function->name, entry->threads[0], entry->threads[1], entry->threads[2]);
    if (options && options->thread_group_size[0] && entry->threads[0])
        return spyi_fail(
            ctx, SPY_ERROR_INVALID_ARGUMENT,
            "%s: %s: it keeps its [numthreads(%u, %u, %u)]; thread_group_size is for plain functions", name,
            function->name, entry->threads[0], entry->threads[1], entry->threads[2]);
    bool takes_result = false; // whether `_result` is given; the message is then about that argument
    for (size_t i = 0; i < args.count; i++)
        if (args.items[i].name && strcmp(args.items[i].name, "_result") == 0) takes_result = true;
    if (!entry->threads[0] && !entry->cuda_kernel && !takes_result &&
        signature->result->kind != SPYI_TYPE_VOID)
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: %s: it returns %s, which a dispatch cannot give", name, function->name,
                         signature->result->display);
    for (size_t i = 0; i < args.count; i++)
        for (uint32_t p = 0; p < signature->param_count && p < SPYI_MOST_ENTRY_PARAMS; p++)
            if (entry->systems[p] && args.items[i].name &&
                strcmp(args.items[i].name, signature->params[p].name) == 0)
                return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                                 "%s: %s: '%s' is filled by the system and cannot be given", name,
                                 function->name, args.items[i].name);
    return SPY_OK;
}

static spy_status spyi_run_threads(spy_function *function, spyi_threads *threads, spy_args args,
                                   const spy_call_options *options, const char *name) {
    spy_status entered = spyi_enter(function, SPYI_KIND_FUNCTION, name);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (!threads->counts && spyi_same_dispatch(function, threads->count, args, options, &status, &error)) {
        if (status != SPY_OK) (void)spyi_call_failed(function, status, name, &error);
        spyi_leave(function);
        return status;
    }
    const char *problem = spyi_dispatch_problem(function, args, options);
    status = problem ? SPY_ERROR_INVALID_ARGUMENT : SPY_OK;
    const spyi_entry *entry = problem ? NULL : spyi_function_entry(function);
    if (problem) {
        spyi_fail(&function->object.device->ctx, status, "%s: %s: %s", name, function->name, problem);
    } else if ((status = spyi_check_entry(function, name, args, options)) == SPY_OK) {
        spy_arg all[2 * SPYI_MOST_ENTRY_PARAMS];
        const uint32_t *size =
            options && options->thread_group_size[0] ? options->thread_group_size : entry->threads;
        threads->shader = entry->threads[0] != 0;
        threads->guarded = !threads->shader && !entry->cuda_kernel &&
                           !threads->counts; // a shader checks by itself whether its thread is in range
        for (int i = 0; i < 3; i++)
            threads->group[i] = size[0] ? (size[i] ? size[i] : 1) : i ? 1 : SPYI_CUDA_KERNEL_THREADS;
        spy_args list;
        list.items = all;
        list.count = spyi_dispatch_args(function, args, all, sizeof all / sizeof all[0]);
        status = spyi_call_inside(function, list, options, threads, name);
        if (status == SPY_OK && !threads->counts) spyi_same_keep(function, threads->count, args, options);
    }
    spyi_leave(function);
    return status;
}

SPYI_FN spy_status spyi_dispatch_threads(spy_function *function, spy_uint3 threads, spy_args args,
                                         const spy_call_options *options, const char *public_name) {
    spyi_threads t;
    memset(&t, 0, sizeof t);
    t.count[0] = threads.x;
    t.count[1] = threads.y;
    t.count[2] = threads.z;
    return spyi_run_threads(function, &t, args, options, public_name);
}

SPYI_FN spy_status spyi_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index,
                                          spy_args args, const spy_call_options *options,
                                          const char *public_name) {
    spy_status status = spyi_enter(function, SPYI_KIND_FUNCTION, public_name);
    if (status != SPY_OK) return status;
    spyi_context *ctx = &function->object.device->ctx;
    spyi_text problem = { NULL, 0, 0 };
    spyi_threads t;
    memset(&t, 0, sizeof t);
    if (!spyi_is_on(function->object.device, groups, SPYI_KIND_TENSOR)) {
        spyi_text_add(&problem, "groups: ");
        status = spyi_object_problem(groups, SPYI_KIND_TENSOR, &problem);
    } else if (groups->type->kind != SPYI_TYPE_SCALAR || groups->type->scalar != SPY_DTYPE_UINT32 ||
               !groups->contiguous) {
        spyi_text_add(&problem, "groups is not a contiguous tensor of uint32");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (index < 0 || index > groups->element_count - 3) {
        spyi_text_add(&problem, "the three group counts at index lie beyond the tensor's end");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    if (status != SPY_OK)
        spyi_fail(ctx, status, "%s: %s: %s", public_name, function->name, spyi_text_str(&problem));
    spyi_text_free(&problem);
    spyi_leave(function);
    if (status != SPY_OK) return status;
    t.counts = groups;
    t.counts_at = groups->offset_bytes + 4 * (uint64_t)index;
    t.count[0] = t.count[1] = t.count[2] = 1;
    return spyi_run_threads(function, &t, args, options, public_name);
}

spy_status spy_dispatch(spy_function *function, spy_uint3 threads, spy_args args,
                        const spy_call_options *options) {
    return spyi_dispatch_threads(function, threads, args, options, "spy_dispatch");
}

spy_status spy_dispatch_indirect(spy_function *function, spy_tensor *groups, int64_t index, spy_args args,
                                 const spy_call_options *options) {
    return spyi_dispatch_indirect(function, groups, index, args, options, "spy_dispatch_indirect");
}
