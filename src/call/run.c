// One call: shapes, memory, the parameter block, the dispatch, and results to host memory.
//
// Up to the dispatch nothing of the user's is touched: a call that fails leaves every output as it was.
#include "call/list.h"
#include "data/bounds.h"
#include "data/gpu_print.h"

// >>temporaries: host arrays that are run over, new tensors, and places for results to host memory

typedef struct spyi_run_state {
    spy_device *device;
    spyi_plan *plan;
    const spyi_bound *bound;
    const spyi_values *values;
    spyi_launch *launch;
    spy_tensor *made[SPYI_MOST_MEMORY_LEAVES]; // by leaf: temporaries and new tensors
    uint32_t readback_offset[SPYI_MOST_MEMORY_LEAVES];
    spy_command_list *list; // records the call; NULL: it runs
    bool waits;             // something returns to host memory
    bool left;              // the device has been left to compile: the launch is worked out again
    bool timing;            // time_begin has been called
} spyi_run_state;

static void spyi_free_made(spyi_run_state *s, bool keep_new) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!s->made[i] || (keep_new && s->bound->leaves[i].source == SPYI_SOURCE_NEW)) continue;
        spyi_tensor_unlink(s->made[i]);
        spyi_tensor_free(s->made[i]);
        s->made[i] = NULL;
    }
}

// The scalar type of a host array's elements once they are on the device.
static spy_dtype spyi_leaf_scalar(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->element;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

static spy_status spyi_make_upload(spyi_run_state *s, uint32_t i, spyi_text *error) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_value *v = &s->values->items[leaf->value];
    spy_status status = SPY_OK;
    spy_shape shape = spyi_value_shape(v);
    int64_t count = spyi_shape_count(&shape);
    spy_dtype to = spyi_leaf_scalar(leaf), from = v->type->scalar;
    void *converted = NULL;
    if (leaf->in && to != from) {
        converted = spyi_malloc((size_t)count * spyi_scalar_size(to) + 1);
        if (!converted) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        if (!spyi_convert_scalars(converted, to, v->arg->value.data, from, (size_t)count)) {
            free(converted);
            return spyi_does_not_fit(leaf, v, error);
        }
    }
    s->made[i] = spyi_tensor_make(s->device, leaf->element, &shape, NULL, error, &status);
    if (s->made[i] && leaf->in)
        status = spyi_tensor_upload(s->made[i], converted ? converted : v->arg->value.data, error);
    free(converted);
    return status;
}

// Where results to host memory go in this launch.
static void spyi_place_readback(spyi_run_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (s->bound->leaves[i].source != SPYI_SOURCE_READBACK) continue;
        spyi_launch_leaf *at = &s->launch->leaves[i];
        at->storage = s->device->readback;
        at->offset = at->begin = s->readback_offset[i];
        at->end = at->reach = at->begin + at->memory_size;
    }
}

static spy_status spyi_make_readback(spyi_run_state *s, spyi_text *error) {
    uint32_t size = 0;
    spy_device *device = s->device;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        size = (uint32_t)spyi_align(size, 64);
        s->readback_offset[i] = size;
        size += (uint32_t)spyi_type_device_stride(leaf->type);
        s->waits = true;
    }
    if (!s->waits || size == 0) return SPY_OK;
    if (device->readback_submit) { // a call has left its results: the GPU may still write them
        spy_status status = spyi_wait_for_results(device, device->readback_submit, error);
        if (status != SPY_OK) return status;
        device->readback_submit = 0;
    }
    if (device->readback && device->readback->size < size) {
        spyi_pool_give(device, device->readback); // every call that uses it waits, so the GPU is done with it
        device->readback = NULL;
    }
    spy_status status = SPY_OK;
    if (!device->readback)
        device->readback = spyi_pool_take(device, SPYI_MEMORY_READBACK, size < 4096 ? 4096 : size,
                                          "slangpy readback", error, &status);
    if (!device->readback) return status;
    char *memory = (char *)device->readback->chunk.mapped + device->readback->offset;
    spyi_place_readback(s);
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (leaf->source != SPYI_SOURCE_READBACK) continue;
        const spyi_value *v = &s->values->items[leaf->value];
        if (leaf->in && v->kind == SPY_ARG_RESULT) {
            uint64_t host[SPY_RESULT_BYTES / 8];
            spy_dtype to = spyi_leaf_scalar(leaf);
            const spy_result *value = v->arg->value.result;
            if (!spyi_convert_scalars(host, to, value->data, value->dtype,
                                      leaf->type->host_size / spyi_scalar_size(to)))
                return spyi_does_not_fit(leaf, v, error);
            spyi_type_to_device(leaf->type, memory + s->readback_offset[i], host, 1);
        } else if (leaf->in) {
            spyi_type_to_device(leaf->type, memory + s->readback_offset[i], v->arg->value.data, 1);
        }
    }
    return SPY_OK;
}

static spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error) {
    const spyi_bound *b = s->bound;
    spy_status status = spyi_make_readback(s, error);
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->source == SPYI_SOURCE_UPLOAD) {
            status = spyi_make_upload(s, i, error);
            s->waits = s->waits || leaf->out;
        } else if (leaf->source == SPYI_SOURCE_NEW) {
            s->made[i] = spyi_tensor_make(s->device, leaf->element, &s->launch->shape, NULL, error, &status);
        }
        if (s->made[i]) s->launch->leaves[i].storage = s->made[i]->storage;
    }
    return status;
}

// >>hazards

// Results to host memory are left out: each call that has them waits. `untracked`: the kernel may read and write where
// nobody knows.
static uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses,
                                  bool *untracked) {
    const spyi_bound *b = s->bound;
    uint32_t count = 0;
    *untracked = false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_launch_leaf *at = &s->launch->leaves[i];
        *untracked = *untracked || leaf->untracked;
        bool whole = spyi_leaf_is_whole(leaf);
        if ((!spyi_leaf_in_memory(leaf) && !whole) || leaf->source == SPYI_SOURCE_READBACK) continue;
        if (s->launch->key.walk[i] & SPYI_WALK_SKIPPED) continue;
        spyi_use *use = &uses[count++];
        use->storage = at->storage;
        use->begin = at->begin;
        use->end = at->end;
        use->reads = whole ? leaf->reads : leaf->in;
        use->writes = whole ? leaf->writes : leaf->out;
        use->counts = false;
    }
    if (s->launch->leaves_sums) {
        spyi_use *use = &uses[count++];
        memset(use, 0, sizeof *use);
        use->storage = s->launch->sums_storage;
        use->end = s->launch->sums_bytes;
        use->reads = s->launch->finishes;
        use->writes = !s->launch->finishes;
    }
    const spyi_feeds *feeds = &variant->feeds;
    *untracked = *untracked || feeds->untracked;
    for (uint32_t i = 0; i < feeds->count; i++) {
        const spyi_leaf *leaf = &feeds->items[i].leaf;
        const spy_tensor *t = s->values->items[leaf->value].tensor;
        if (!t) continue;
        spyi_use *use = &uses[count++];
        use->storage = t->storage;
        use->begin = t->begin_bytes;
        use->end = t->end_bytes;
        use->reads = leaf->reads;
        use->writes = leaf->writes;
        use->counts = false;
    }
    const spyi_threads *threads = s->values->threads;
    if (threads && threads->counts) {
        spyi_use *use = &uses[count++];
        memset(use, 0, sizeof *use);
        use->storage = threads->counts->storage;
        use->begin = threads->counts_at;
        use->end = use->begin + 12;
        use->reads = use->counts = true;
    }
    return count;
}

// While a command list or an engine's command buffer is recorded into, no result can come back within the call.
static spy_status spyi_check_deferred(const spyi_run_state *s, spyi_text *error) {
    if (!s->list && !s->device->base->recording) return SPY_OK;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!leaf->out || (leaf->source != SPYI_SOURCE_READBACK && leaf->source != SPYI_SOURCE_UPLOAD))
            continue;
        spyi_text_add(error, "'%s' returns to host memory, but %s; give it a tensor and read that later",
                      leaf->path,
                      s->list ? "the call is recorded into a command list"
                              : "calls are being recorded into a command buffer that is not submitted here");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

// >>dispatch and results

static spy_status spyi_dispatch_launch(spyi_run_state *s, spyi_variant *variant, bool repeats, bool timed,
                                       spyi_text *error) {
    spy_device *device = s->device;
    spyi_launch *launch = s->launch;
    const spyi_emitted *e = &variant->emitted;
    spyi_dispatch dispatch;
    spyi_binding bindings[SPYI_MOST_MEMORY_LEAVES];
    spyi_use *uses = variant->uses;
    uint32_t use_count;
    bool untracked;
    if (launch->block_capacity < e->block_size) { // host values may be copied with their padding
        uint8_t *block = (uint8_t *)spyi_realloc(launch->block, e->block_size + 64);
        if (!block) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        launch->block = block;
        launch->block_capacity = e->block_size;
    }
    spy_status status = spyi_pack_block(s->plan, s->values, variant, repeats, error);
    if (status != SPY_OK) return status;
    for (uint32_t i = 0; i < e->binding_count; i++) {
        const spyi_launch_leaf *at = &launch->leaves[e->bindings[i]];
        bindings[i].handle = at->storage->chunk.handle;
        bindings[i].offset = at->binding_offset;
        bindings[i].range = at->storage->offset + at->reach - at->binding_offset;
        if (bindings[i].range > at->storage->chunk.size - at->binding_offset)
            bindings[i].range = at->storage->chunk.size - at->binding_offset;
    }
    if (variant->feeds.count) status = spyi_feeds_pack(&variant->feeds, s->values, bindings, error);
    if (status != SPY_OK) return status;
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
    dispatch.uniforms = variant->feeds.uniforms;
    use_count = spyi_collect_uses(s, variant, uses, &untracked);
    if (e->prints) uses[use_count++] = spyi_print_use(device);
    if (s->list)
        return spyi_list_append_dispatch(s->list, s->plan, variant, &dispatch, uses, use_count, untracked,
                                         error);
    if (timed)
        status = device->backend->time_begin(device->gpu, error); // may submit: before batches are noted
    if (status != SPY_OK) return status;
    s->timing = s->timing || timed;
    s->plan->last_submit = device->backend->open_submit(device->gpu);
    dispatch.barrier = spyi_take_uses(device, uses, use_count, untracked);
    status = device->backend->dispatch(device->gpu, &dispatch, error);
    spyi_uses_done(device, dispatch.barrier, untracked, status);
    return status;
}

static spy_status spyi_return_results(spyi_run_state *s, spyi_text *error) {
    spy_device *device = s->device;
    const spyi_bound *b = s->bound;
    spy_status status = spyi_wait_for_results(device, s->plan->last_submit, error);
    if (status == SPY_ERROR_INTERRUPTED) device->readback_submit = s->plan->last_submit;
    for (uint32_t i = 0; i < b->leaf_count && status == SPY_OK; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &s->values->items[leaf->value];
        if (!leaf->out) continue;
        if (leaf->source == SPYI_SOURCE_READBACK) {
            const char *memory = (const char *)device->readback->chunk.mapped + device->readback->offset;
            void *to = v->kind == SPY_ARG_RESULT ? (void *)v->arg->value.result->data : v->arg->value.out;
            spyi_type_to_host(leaf->type, to, memory + s->readback_offset[i], 1);
        } else if (leaf->source == SPYI_SOURCE_UPLOAD) {
            status = spyi_tensor_download(s->made[i], v->arg->value.out, error);
        }
    }
    return status;
}

// After success: hands a new tensor to the caller, and describes results of whatever kind.
SPYI_FN void spyi_give_result(const spyi_leaf *leaf, const spy_arg *arg, spy_tensor *made) {
    if (leaf->source == SPYI_SOURCE_NEW && arg->kind == SPY_ARG_NEW) *arg->value.new_tensor = made;
    if (arg->kind != SPY_ARG_RESULT || !leaf->out) return; // an in parameter gives nothing back
    spy_result *result = arg->value.result;
    const spyi_type *type = leaf->type;
    bool plain =
        type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR || type->kind == SPYI_TYPE_MATRIX;
    result->tensor = made;
    result->type = spyi_type_user_name(type);
    result->dtype = plain ? type->scalar : SPY_DTYPE_DEFAULT;
    result->rows = plain ? type->rows : 0;
    result->columns = plain ? type->columns : 0;
    result->size_bytes = made ? 0 : type->host_size;
}

// Shapes, checks and the variant to run, compiled if need be; NULL: there is nothing to do. Of a backward call: of the pass that
// the launch names.
static spy_status spyi_choose(spyi_run_state *s, spyi_variant **variant, spyi_text *error) {
    spyi_plan *plan = s->plan;
    const spyi_launch *launch = s->launch;
    *variant = NULL;
    spy_status status = spyi_launch_shape(plan, s->values, error);
    if (status == SPY_OK) status = spyi_check_deferred(s, error);
    if (status != SPY_OK || launch->count == 0) return status;
    status = spyi_check_overlap(s->bound, s->values, launch, error);
    if (status != SPY_OK) return status;
    return spyi_variant_get(plan, s->values, s->list != NULL, variant, &s->left, error);
}

// >>passes of a backward call

// Every pass has its variant before the first one runs: what cannot be compiled must not be noticed half way. Leaves the
// launch as the first pass has it. `several`: it is not the only one; `bytes`: that the largest one's sums need.
static spy_status spyi_choose_passes(spyi_run_state *s, spyi_variant **first, bool *several, uint64_t *bytes,
                                     spyi_text *error) {
    spyi_launch *launch = s->launch;
    spyi_variant *variant = NULL;
    spy_status status;
    do { // until nobody else has had the device between the first pass and the last
        s->left = false;
        *several = false;
        *bytes = 0;
        launch->pass = 0;
        launch->finishes = false;
        status = spyi_choose(s, first, error);
        while (status == SPY_OK && !s->left && *first && spyi_next_pass(launch)) {
            if (launch->sums_bytes > *bytes) *bytes = launch->sums_bytes;
            *several = true;
            status = spyi_choose(s, &variant, error);
        }
        launch->pass = 0;
        launch->finishes = false;
    } while (status == SPY_OK && s->left);
    return status == SPY_OK && *several ? spyi_choose(s, first, error) : status;
}

static spy_status spyi_run_passes(spyi_run_state *s, spyi_variant *variant, bool timed, spyi_text *error) {
    spyi_launch *launch = s->launch;
    spy_status status = SPY_OK;
    do {
        if (launch->pass || launch->finishes) status = spyi_choose(s, &variant, error);
        for (uint32_t i = 0; i < s->bound->leaf_count && status == SPY_OK; i++) // temporaries, again
            if (s->made[i]) launch->leaves[i].storage = s->made[i]->storage;
        spyi_place_readback(s);
        if (status == SPY_OK && variant->key.bindings) status = spyi_launch_place(s->plan, error);
        if (status == SPY_OK) status = spyi_dispatch_launch(s, variant, false, timed, error);
        timed = false; // the first one begins
    } while (status == SPY_OK && spyi_next_pass(launch));
    launch->pass = 0;
    launch->finishes = false;
    return status;
}

// Host arrays, values that bring sizes of their own, and results to host memory, bring work of their own to each call.
static bool spyi_is_repeatable(const spyi_bound *b) {
    if (b->dispatch || b->options.count_rank) return false; // its sizes are no tensor's
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_source source = b->leaves[i].source;
        if (source == SPYI_SOURCE_KIND && (spyi_leaf_is_whole(&b->leaves[i]) || b->leaves[i].batch_rank == 0))
            continue;
        if (source != SPYI_SOURCE_TENSOR && source != SPYI_SOURCE_SCALAR && source != SPYI_SOURCE_BYTES &&
            source != SPYI_SOURCE_NEW && source != SPYI_SOURCE_NONE)
            return false;
    }
    return true;
}

SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spy_command_list *list, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    spyi_run_state s;
    s.device = device;
    s.plan = plan;
    s.bound = &plan->bound;
    s.values = values;
    s.launch = &plan->launch;
    s.list = list;
    s.waits = s.left = s.timing = false;
    memset(s.made, 0, plan->bound.leaf_count * sizeof *s.made);
    spy_status status = SPY_OK;
    spyi_variant *variant = s.launch->repeatable;
    bool repeats = spyi_launch_repeats(plan, values);
    bool several = false; // dispatches
    uint64_t sums_bytes = 0;
    s.launch->repeatable = NULL; // until this one has run
    if (!repeats && plan->bound.mode == SPY_CALL_BACKWARD)
        status = spyi_choose_passes(&s, &variant, &several, &sums_bytes, error);
    while (!repeats && plan->bound.mode != SPY_CALL_BACKWARD && status == SPY_OK) {
        s.left = false;
        status = spyi_choose(&s, &variant, error);
        if (!s.left) break;
    }
    if (status != SPY_OK) return status;
    status = spyi_make_memory(&s, error);
    if (status == SPY_OK && sums_bytes)
        s.launch->sums_storage =
            spyi_pool_take(device, SPYI_MEMORY_DEVICE, sums_bytes, "slangpy sums", error, &status);
    if (s.launch->sums_storage) s.launch->sums_storage->references = 1; // a list may keep it
    if (status == SPY_OK && variant && variant->key.bindings &&
        !several) // temporaries have their place only now
        status = spyi_launch_place(plan, error);
    if (status == SPY_OK && variant) {
        status = several ? spyi_run_passes(&s, variant, timed, error)
                         : spyi_dispatch_launch(&s, variant, repeats, timed, error);
        if (status == SPY_OK && timed) status = device->backend->time_end(device->gpu, error);
        else if (s.timing) { // what failed ends, too
            spyi_text ignored = { NULL, 0, 0 };
            (void)device->backend->time_end(device->gpu, &ignored);
            spyi_text_free(&ignored);
        }
        if (!list) device->stats.calls++;
    }
    if (s.launch->sums_storage && --s.launch->sums_storage->references == 0)
        spyi_pool_give(device, s.launch->sums_storage);
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
    if (status == SPY_OK && !several && (repeats || spyi_is_repeatable(s.bound)))
        s.launch->repeatable = variant;
    if (status == SPY_OK && repeats && variant && !list) spyi_again_learn(plan, values, variant);
    return status;
}
