// spy_explain_call: describes in words how the library understands a call, and gives the kernel's text.
#include "call/call.h"
#include "call/launch.h"
#include "plan/cache.h"

// The bytes that a call reads and writes, each element of memory counted once, and its kernels.
typedef struct spyi_traffic {
    double reads, writes;
    uint32_t kernels;
} spyi_traffic;

static void spyi_add_traffic(const spyi_bound *b, const spyi_launch *launch, spyi_traffic *t) {
    t->kernels++;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        uint8_t walk = i < SPYI_MOST_MEMORY_LEAVES ? launch->key.walk[i] : 0;
        if (!spyi_leaf_in_memory(leaf) || (walk & SPYI_WALK_SKIPPED)) continue;
        double bytes = (double)spyi_type_device_stride(leaf->element ? leaf->element : leaf->type);
        for (uint32_t d = 0; d < leaf->consumed && leaf->element && leaf->element != leaf->type; d++)
            if (leaf->consumed_dims[d] > 0) bytes *= (double)leaf->consumed_dims[d];
        for (uint32_t d = 0; d < launch->rank; d++)
            if (launch->leaves[i].strides[d] != 0) bytes *= (double)launch->dims[d];
        if (leaf->in) t->reads += bytes;
        if (leaf->out) t->writes += bytes;
    }
}

static void spyi_bytes_text(double bytes, spyi_text *out) {
    static const char *const units[] = { "bytes", "KB", "MB", "GB" };
    int unit = 0;
    while (bytes >= 10000 && unit < 3) {
        bytes /= 1000;
        unit++;
    }
    spyi_text_add(out, bytes == (double)(int64_t)bytes ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

// Appends the costs of the call. `traffic` is that of all its kernels.
static void spyi_explain_cost(const spyi_plan *plan, const spyi_traffic *traffic, spyi_text *out) {
    const spyi_fused *fused = plan->function->module->fused;
    if (fused) spyi_text_add(out, "  fuses %s\n", spyi_text_str(&fused->summary));
    spyi_text_add(out, "  reads ");
    spyi_bytes_text(traffic->reads, out);
    spyi_text_add(out, ", writes ");
    spyi_bytes_text(traffic->writes, out);
    spyi_text_add(out, ", %u kernel%s", traffic->kernels, traffic->kernels == 1 ? "" : "s");
    bool reduces = fused && fused->total == plan->function; // the call is backward only inside, for a
                                                            // reduction
    if (plan->bound.mode == SPY_CALL_MODE_BACKWARD && !reduces)
        spyi_text_add(
            out, ", nothing was stored for it: what it needs of the function's values it computes again");
    spyi_text_add(out, "\n");
}

static void spyi_explain(const spyi_plan *plan, const spyi_values *values, const spyi_traffic *traffic,
                         spyi_text *out) {
    const spyi_launch *launch = plan->launch;
    const spy_device *device = plan->function->object.device;
    spyi_text_add(out, "%s\n", plan->bound.signature.display);
    spyi_bound_text(&plan->bound, values, out);
    spyi_globals_text(plan->function, values, out);
    spyi_networks_text(&plan->bound, &device->base->limits, launch->key.batch, launch->key.rank == 0, out);
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
    spyi_text_add(out, "%s\n", spyi_variant_find(plan, &launch->key) ? ", compiled" : ", not compiled yet");
    spyi_explain_cost(plan, traffic, out);
    const spyi_fused *fused = plan->function->module->fused;
    spyi_text_add(out, "\n");
    if (fused) spyi_text_add(out, "%s\n", spyi_text_str(&fused->text));
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
    if (function->reduces) {
        spyi_object *module = &function->module->object;
        const spyi_fused_table *table = spyi_leave_for_reduction(function);
        size_t length = table->explain(function, args, options, text, capacity);
        spyi_object_release(module);
        return length;
    }
    spy_device *device = function->object.device;
    spyi_values *values = device->cache->values;
    spyi_text out = { NULL, 0, 0 };
    spyi_plan *plan = NULL;
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_describe(function, args, options, NULL, values, &out);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &out);
    if (status == SPY_OK) (void)spyi_plan_fresh_launch(plan); // keeps the last call's launch
    spyi_traffic traffic = { 0, 0, 0 };
    if (status == SPY_OK) status = spyi_launch_shape(plan, values, &out);
    // Goes over all passes of a backward call, and then describes the first one.
    bool more = status == SPY_OK && plan->launch->count > 0;
    while (more) {
        spyi_launch *launch = plan->launch;
        spyi_add_traffic(&plan->bound, launch, &traffic);
        more = plan->bound.mode == SPY_CALL_MODE_BACKWARD && spyi_next_pass(launch);
        if (more) status = spyi_launch_shape(plan, values, &out);
        more = more && status == SPY_OK;
        if (more || !traffic.kernels) continue;
        launch->pass = 0;
        launch->finishes = false;
        if (status == SPY_OK) status = spyi_launch_shape(plan, values, &out);
    }
    if (status == SPY_OK) spyi_explain(plan, values, &traffic, &out);
    size_t size = spyi_text_give(&out, failed, text, capacity);
    spyi_leave(device);
    return size;
}
