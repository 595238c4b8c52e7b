// Repeats a dispatch that has the same arguments as an earlier one of its plan: the same tensors and numbers,
// threads and options. The parameter block and the uses of memory are then ready. Kernels that are launched
// over the same tensors many times, as in training, cost as little as calls that repeat (again.c). A dispatch
// is only repeated if its arguments can be compared completely: tensors by their serial numbers, numbers, and
// pairs of tensors. Host memory, structs and other values may have changed behind their pointers.
#include "call/same.h"
#include "call/again.h"

// >>comparing

static inline bool spyi_same_name(const char *given, const char *name) {
    return given ? strcmp(given, name) == 0 : name[0] == 0;
}

static bool spyi_same_is(const spy_device *device, const spy_arg *arg, const spyi_same_value *v) {
    const spy_tensor *t = arg->value.tensor;
    if (spyi_again_what(arg) != v->what || arg->dtype != v->dtype || arg->type || arg->_map_count ||
        !spyi_same_name(arg->name, v->name))
        return false;
    if (arg->kind == SPY_ARG_KIND_PAIR) return arg->count == 2 && arg->value.fields;
    if (arg->value.u != v->value) return false;
    return arg->kind != SPY_ARG_KIND_TENSOR ||
           (spyi_is_on(device, t, SPYI_KIND_TENSOR) && t->serial == v->serial && t->grads[0] == v->grads[0] &&
            t->grads[1] == v->grads[1]);
}

static bool spyi_same_args(const spy_device *device, const spyi_same *same, spy_args args) {
    const spyi_same_value *v = same->values;
    if (args.count != same->arg_count) return false;
    for (size_t i = 0; i < args.count; i++) {
        const spy_arg *arg = &args.items[i];
        if (!spyi_same_is(device, arg, v++)) return false;
        for (int part = 0; part < 2 && arg->kind == SPY_ARG_KIND_PAIR; part++)
            if (!spyi_same_is(device, &arg->value.fields[part], v++)) return false;
    }
    return true;
}

static bool spyi_same_options(const spyi_same *same, const spy_call_options *options) {
    if (!same->has_options) return !options || spyi_options_are_plain(options);
    return options && memcmp(&same->options, options, sizeof *options) == 0;
}

// >>keeping

static bool spyi_same_take(const spy_arg *arg, spyi_same *same, bool in_pair) {
    bool tensor = arg->kind == SPY_ARG_KIND_TENSOR, pair = arg->kind == SPY_ARG_KIND_PAIR && !in_pair;
    bool number = arg->kind >= SPY_ARG_KIND_BOOL && arg->kind <= SPY_ARG_KIND_FLOAT;
    size_t length = arg->name ? strlen(arg->name) : 0;
    if ((!tensor && !number && !pair) || arg->type || arg->_map_count || length >= SPYI_SAME_NAME ||
        same->value_count == SPYI_SAME_VALUES || (pair && arg->count != 2))
        return false;
    spyi_same_value *v = &same->values[same->value_count++];
    memset(v, 0, sizeof *v);
    v->what = spyi_again_what(arg);
    v->dtype = arg->dtype;
    if (length) memcpy(v->name, arg->name, length);
    if (!pair) v->value = arg->value.u;
    if (tensor) {
        v->serial = arg->value.tensor->serial;
        memcpy(v->grads, arg->value.tensor->grads, sizeof v->grads);
    }
    return !pair || (spyi_same_take(&arg->value.fields[0], same, true) &&
                     spyi_same_take(&arg->value.fields[1], same, true));
}

SPYI_FN void spyi_same_keep(spy_function *function, const uint32_t threads[3], spy_args args,
                            const spy_call_options *options) {
    spyi_plan *plan = function->object.device->cache->ran;
    if (!plan || plan->function != function || !spyi_simple_options(options)) return;
    if (!plan->same) plan->same = (spyi_same *)spyi_malloc(sizeof *plan->same);
    spyi_same *same = plan->same;
    if (!same) return; // dispatches work without it
    same->variant = NULL;
    same->value_count = 0;
    for (size_t i = 0; i < args.count; i++)
        if (!spyi_same_take(&args.items[i], same, false)) return;
    same->arg_count = (uint32_t)args.count;
    same->has_options = !spyi_options_are_plain(options);
    if (same->has_options) memcpy(&same->options, options, sizeof *options);
    memcpy(same->threads, threads, sizeof same->threads);
    same->launch = plan->launch;
    same->variant = function->object.device->cache->ran_variant;
}

// >>repeating

static spy_status spyi_same_run(spyi_plan *plan, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    const spyi_same *same = plan->same;
    const spyi_variant *variant = same->variant;
    spyi_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    dispatch.work = spyi_work_of(spyi_work_dispatch());
    dispatch.kernel = variant->kernel;
    dispatch.block = same->launch->block;
    memcpy(dispatch.groups, same->launch->groups, sizeof dispatch.groups);
    spy_status status = spyi_record_with(device, &dispatch.work, variant->uses, variant->use_count,
                                         variant->untracked, error);
    plan->last_submit = device->last_submit;
    return status;
}

SPYI_FN bool spyi_same_dispatch(spy_function *function, const uint32_t threads[3], spy_args args,
                                const spy_call_options *options, spy_status *status, spyi_text *error) {
    spy_device *device = function->object.device;
    if (args.count && !args.items) return false;
    for (int i = 0; i < SPYI_RECENT_PLANS; i++) {
        spyi_plan *plan = function->recent[i];
        const spyi_same *same = plan ? plan->same : NULL;
        if (!same || !same->variant || memcmp(same->threads, threads, sizeof same->threads) != 0 ||
            !spyi_same_options(same, options) || !spyi_same_args(device, same, args))
            continue;
        *status = spyi_same_run(plan, error);
        if (*status == SPY_OK) device->stats.calls++;
        if (i > 0) spyi_make_recent(function, plan);
        spyi_lru_touch(device->cache, plan);
        device->stats.plan_hits++;
        return true;
    }
    return false;
}
