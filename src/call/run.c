// Runs or records one call: shapes, memory, the parameter block, the dispatch, and results in host memory.
// Before the dispatch no memory of the user is changed: a call that fails earlier leaves every output as it
// was.
#include "call/again.h"
#include "call/same.h"
#include "data/bounds.h"
#include "data/gpu_print.h"
#include "data/texture.h"

SPYI_FN spy_status spyi_dispatch_launch(spyi_run_state *s, spyi_variant *variant, bool repeats, bool timed,
                                        spyi_text *error) {
    spy_device *device = s->device;
    spyi_launch *launch = s->launch;
    const spyi_emitted *e = &variant->emitted;
    spyi_dispatch dispatch;
    spyi_binding bindings[SPYI_MOST_MEMORY_LEAVES];
    spyi_use *uses;
    uint32_t use_count;
    // A kernel that uses handles may use all textures that have handles, and memory that is no argument.
    const bool handles = ((const spyi_kernel_base *)(const void *)variant->kernel)->handles;
    if (launch->block_capacity < e->block_size) { // 64 bytes more are for the padding of host values
        uint8_t *block = (uint8_t *)spyi_realloc(launch->block, e->block_size + 64);
        if (!block) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        launch->block = block;
        spyi_launch_forget(device, launch); // it has pointers into the old block
        launch->block_capacity = e->block_size;
    }
    spy_status status = spyi_pack_call(s->plan, s->values, variant, repeats, bindings, error);
    if (status != SPY_OK) return status;
    dispatch.work = spyi_work_of(spyi_work_dispatch());
    dispatch.kernel = variant->kernel;
    dispatch.block = launch->block;
    memcpy(dispatch.groups, launch->groups, sizeof dispatch.groups);
    dispatch.indirect = dispatch.indirect_offset = 0;
    if (s->values->threads && s->values->threads->counts) {
        const spyi_storage *counts = s->values->threads->counts->storage;
        dispatch.indirect = counts->chunk.handle;
        dispatch.indirect_offset = counts->offset + s->values->threads->counts_at;
    }
    dispatch.bindings = bindings;
    dispatch.uniforms = variant->bound_inputs.uniforms;
    if (handles && !spyi_variant_use_room(variant, device->listed_count)) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    uses = variant->uses;
    use_count = spyi_collect_uses(s, variant, uses);
    if (handles) use_count = spyi_listed_uses(device, uses, use_count);
    if (e->prints) uses[use_count++] = spyi_print_use(device);
    variant->use_count = use_count;
    if (s->sink)
        return s->sink->table->append_work(s->sink, s->plan, variant, &dispatch.work, uses, use_count,
                                           variant->untracked || handles, error);
    if (timed)
        status = device->backend->time_begin(device->gpu, error); // may submit, so it comes before
                                                                  // uses are recorded
    if (status != SPY_OK) return status;
    s->timing = s->timing || timed;
    status = spyi_record_with(device, &dispatch.work, uses, use_count, variant->untracked || handles, error);
    s->plan->last_submit = device->last_submit;
    return status;
}

SPYI_FN spy_status spyi_choose(spyi_run_state *s, spyi_variant **variant, spyi_text *error) {
    spyi_plan *plan = s->plan;
    const spyi_launch *launch = s->launch;
    *variant = NULL;
    plan->launch = s->launch; // other threads may have changed the launch when the device was left
    spy_status status = spyi_launch_shape(plan, s->values, error);
    if (status == SPY_OK) status = spyi_check_deferred(s, error);
    if (status != SPY_OK || launch->count == 0) return status;
    status = spyi_check_overlap(s->bound, s->values, launch, error);
    if (status != SPY_OK) return status;
    return spyi_variant_get(plan, s->values, s->sink != NULL, variant, &s->left, error);
}

// Returns whether later calls may repeat this launch. Host arrays, values with sizes of their own, and
// results in host memory need work at each call; and if an output shares memory, the variant may be a special
// one.
static bool spyi_is_repeatable(const spyi_bound *b, const spyi_values *values) {
    if (b->dispatch || b->options.count_rank) return false; // the sizes of such a call come from no tensor
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool own_sizes = (leaf->traits & SPYI_TRAIT_SIZED) && !(leaf->traits & SPYI_TRAIT_TENSOR) &&
                         !spyi_leaf_is_whole(leaf) && leaf->batch_rank;
        if (!(leaf->traits & SPYI_TRAIT_REPEATS) || own_sizes) return false;
    }
    return spyi_outputs_apart(b, values);
}

// Returns whether a dispatch takes all its inputs from its block: it has no bindings, uniform buffers or
// handles, whose contents may change, and no buffer of messages.
static bool spyi_is_bare(const spyi_plan *plan, const spyi_variant *variant) {
    const spyi_emitted *e = &variant->emitted;
    return plan->bound.dispatch && !variant->bound_inputs.count && !e->prints && !e->binding_count &&
           !variant->key.bindings && !((const spyi_kernel_base *)(const void *)variant->kernel)->handles;
}

SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spyi_sink *sink, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    spyi_run_state s;
    s.device = device;
    s.plan = plan;
    s.bound = &plan->bound;
    s.values = values;
    s.sink = sink;
    s.waits = s.left = s.timing = false;
    memset(s.made, 0, plan->bound.leaf_count * sizeof *s.made);
    spy_status status = SPY_OK;
    bool repeats = spyi_launch_repeats(plan, values);
    bool several = false; // the call has several dispatches
    s.launch = repeats ? plan->launch : spyi_plan_fresh_launch(plan);
    spyi_variant *variant = s.launch->repeatable;
    uint64_t sums_bytes = 0;
    device->cache->ran = NULL;
    if (plan->same)
        plan->same->variant = NULL; // the launch's block changes, so that its last dispatch
                                    // cannot be repeated
    s.launch->repeatable = NULL;    // set again when this call has succeeded
    s.launch->several = false;
    if (!repeats) s.launch->adds = NULL;
    else if (s.launch->adds) sums_bytes = s.launch->sums_bytes;
    if (!repeats && plan->bound.mode == SPY_CALL_MODE_BACKWARD)
        status = spyi_choose_passes(&s, &variant, &several, &sums_bytes, error);
    while (!repeats && plan->bound.mode != SPY_CALL_MODE_BACKWARD && status == SPY_OK) {
        s.left = false;
        status = spyi_choose(&s, &variant, error);
        if (!s.left) break;
    }
    if (status != SPY_OK) return status;
    status = spyi_make_memory(&s, error);
    if (status == SPY_OK && sums_bytes)
        s.launch->sums_storage =
            spyi_pool_take(device, SPYI_MEMORY_DEVICE, sums_bytes, "slangpy sums", error, &status);
    // a command list may hold the sums, too
    if (s.launch->sums_storage) s.launch->sums_storage->resource.references = 1;
    // Temporaries have got their memory only now.
    if (status == SPY_OK && variant && variant->key.bindings && !several)
        status = spyi_launch_place(plan, error);
    if (status == SPY_OK && variant) {
        status = several          ? spyi_run_passes(&s, variant, timed, error)
                 : s.launch->adds ? spyi_run_batch_again(&s, variant, timed, error)
                                  : spyi_dispatch_launch(&s, variant, repeats, timed, error);
        if (status == SPY_OK && timed) status = device->backend->time_end(device->gpu, error);
        else if (s.timing) { // timing also ends after a failure
            spyi_text ignored = { NULL, 0, 0 };
            (void)device->backend->time_end(device->gpu, &ignored);
            spyi_text_free(&ignored);
        }
        if (!sink) device->stats.calls++;
    }
    if (s.launch->sums_storage) spyi_resource_release(device, &s.launch->sums_storage->resource);
    s.launch->sums_storage = NULL;
    if (status == SPY_OK && variant && s.waits) status = spyi_return_results(&s, error);
    if (status == SPY_OK && variant && timed)
        status = device->backend->time_elapsed(device->gpu, gpu_time_ns, error);
    if ((s.waits || timed) && status != SPY_ERROR_INTERRUPTED) spyi_print_deliver(device);
    if (status == SPY_OK && (s.waits || timed))
        status = spyi_bounds_take(device, plan->function->name, error);
    if (status == SPY_OK)
        for (uint32_t i = 0; i < s.bound->leaf_count; i++)
            spyi_give_result(&s.bound->leaves[i], values->items[s.bound->leaves[i].value].arg, s.made[i]);
    spyi_free_made(&s, status == SPY_OK);
    if (several && s.launch->several) s.launch->adds = NULL;
    if (status == SPY_OK &&
        (several && !s.launch->adds ? s.launch->several : repeats || spyi_is_repeatable(s.bound, values)))
        s.launch->repeatable = variant;
    if (status == SPY_OK && repeats && variant && !sink) spyi_again_learn(plan, values, variant);
    if (status == SPY_OK && variant && !sink && !timed && !several && !s.waits &&
        spyi_is_bare(plan, variant)) {
        device->cache->ran = plan;
        device->cache->ran_variant = variant;
    }
    return status;
}
