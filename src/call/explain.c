// spy_explain_call: describes in words how the library understands a call, and gives the kernel's text.
#include "call/launch.h"
#include "plan/cache.h"

static void spyi_explain(const spyi_plan *plan, const spyi_values *values, spyi_text *out) {
    const spyi_launch *launch = plan->launch;
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
    if (spyi_emit(plan->function, &plan->function->object.device->base->limits.profile, &plan->bound,
                  &launch->key, &emitted, out) == SPY_OK) {
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
    if (status == SPY_OK) (void)spyi_plan_fresh_launch(plan); // keeps the last call's launch
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
