// Finds the plan of a call in the cache, or makes it (binds arguments and checks globals) and puts it there.
// A call that makes a plan leaves the device, and other calls use the device meanwhile.
#include "plan/cache.h"
#include "plan/packs.h"

// >>calls that leave the device

static void spyi_hold_objects(const spyi_values *values, bool hold) {
    uint32_t count = spyi_values_all(values);
    for (uint32_t i = 0; i < count; i++) {
        spy_tensor *t = values->items[i].tensor;
        if (t && hold) spyi_atomic_add(&t->object.references, 1);
        else if (t) spyi_object_release(&t->object);
        for (int k = 0; k < 2; k++) {
            spyi_object *object = values->items[i].held[k];
            if (object && hold) spyi_atomic_add(&object->references, 1);
            else if (object) spyi_object_release(object);
        }
    }
}

// Sets the call's values aside, so that other calls can use the cache's. Returns false when out of memory.
static bool spyi_values_aside(spy_device *device, spyi_call_outside *o) {
    spyi_cache *cache = device->cache;
    spyi_values *others = cache->spare ? cache->spare : (spyi_values *)spyi_calloc(1, sizeof *others);
    if (!others) return false;
    cache->spare = others->next;
    others->next = NULL;
    memset(o, 0, sizeof *o);
    o->values = cache->values;
    cache->values = others;
    spyi_hold_objects(o->values, true);
    return true;
}

static void spyi_values_back(spy_device *device, const spyi_call_outside *o) {
    spyi_cache *cache = device->cache;
    spyi_hold_objects(o->values, false);
    cache->values->next = cache->spare;
    cache->spare = cache->values;
    cache->values = o->values;
}

SPYI_FN bool spyi_call_step_out(spy_function *function, spyi_call_outside *o, const void *work,
                                const void *key, size_t key_size) {
    spy_device *device = function->object.device;
    if (!spyi_values_aside(device, o)) return false;
    spyi_step_out_to_make(device, &o->outside, function->module, work, key, key_size);
    return true;
}

SPYI_FN void spyi_call_step_in(spy_function *function, spyi_call_outside *o) {
    spy_device *device = function->object.device;
    spyi_step_in(device, &o->outside);
    spyi_values_back(device, o);
}

SPYI_FN bool spyi_call_await(spy_function *function, const void *work, const void *key, size_t key_size) {
    spy_device *device = function->object.device;
    spyi_call_outside aside;
    if (!spyi_is_under_way(device, work, key, key_size) || !spyi_values_aside(device, &aside)) return false;
    spyi_await_work(device, function->module, work, key, key_size);
    spyi_values_back(device, &aside);
    return true;
}

// >>making

SPYI_FN bool spyi_cuda_kernel_runs(const spy_function *function, spyi_text *error) {
    const spyi_limits *limits = &function->object.device->base->limits;
    if (spyi_rules_of(limits->profile.target)->tensor_views) return true;
    spyi_text_add(
        error, "it is a [CudaKernel], which the CUDA backend alone runs; this device is '%s' of backend %s",
        limits->info.name, limits->info.backend);
    return false;
}

// Checks the further conditions of a call of a [CudaKernel], besides fitting arguments.
static spy_status spyi_cuda_kernel_check(const spy_function *function, const spyi_values *values,
                                         spyi_text *error) {
    if (!spyi_cuda_kernel_runs(function, error)) return SPY_ERROR_UNSUPPORTED;
    if (values->thread_count.rank == 1) return SPY_OK;
    spyi_text_add(
        error,
        "it is a [CudaKernel], which says itself what each of its threads does: expected the number of "
        "threads as options.thread_count of one dimension, got %s; or run it with spy_dispatch",
        values->thread_count.rank ? "one of more dimensions" : "none");
    return SPY_ERROR_INVALID_ARGUMENT;
}

// >>launches

// Makes a launch and its leaves in one block of memory; NULL when out of memory.
static spyi_launch *spyi_launch_new(const spyi_bound *bound) {
    spyi_launch *launch =
        (spyi_launch *)spyi_calloc(1, sizeof *launch + (bound->leaf_count + 1) * sizeof *launch->leaves);
    if (launch) launch->leaves = (spyi_launch_leaf *)(void *)(launch + 1);
    return launch;
}

SPYI_FN void spyi_launch_forget(spy_device *device, spyi_launch *launch) {
    if (launch->graph) {
        device->backend->graph_destroy(device->gpu, launch->graph);
        device->launch_graphs--;
    }
    free(launch->again);
    launch->graph = NULL;
    launch->again = NULL;
}

SPYI_FN void spyi_plan_use_launch(spyi_plan *plan, uint32_t index) {
    spyi_launch *launch = plan->launches[index];
    for (; index > 0; index--) plan->launches[index] = plan->launches[index - 1];
    plan->launch = plan->launches[0] = launch;
}

SPYI_FN spyi_launch *spyi_plan_fresh_launch(spyi_plan *plan) {
    uint32_t i = 0;
    while (i < SPYI_GEOMETRIES - 1 && plan->launches[i] && plan->launches[i]->repeatable) i++;
    if (!plan->launches[i]) plan->launches[i] = spyi_launch_new(&plan->bound);
    if (!plan->launches[i]) i--; // memory ran out, so the launch before it is reused
    spyi_plan_use_launch(plan, i);
    plan->launch->repeatable = NULL;
    return plan->launch;
}

SPYI_FN bool spyi_plan_add_launch(spyi_plan *plan) {
    plan->launch = plan->launches[0] = spyi_launch_new(&plan->bound);
    return plan->launch != NULL;
}

SPYI_FN spyi_plan *spyi_plan_new(spy_function *function, const spyi_values *values) {
    spyi_plan *plan = (spyi_plan *)spyi_calloc(1, sizeof *plan);
    if (plan) plan->key = (uint8_t *)spyi_malloc(values->key_size);
    if (!plan || !plan->key) {
        free(plan);
        return NULL;
    }
    memcpy(plan->key, values->key, values->key_size);
    plan->key_size = values->key_size;
    plan->hash = spyi_hash(plan->key, plan->key_size, 0);
    plan->function = function;
    plan->generation = function->module->generation;
    plan->references = 1;
    plan->value_count = values->count;
    if (function->object.device->sign_call)
        plan->signature = function->object.device->sign_call(function, values);
    return plan;
}

SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **out,
                                    spyi_text *error) {
    uint32_t failed = spyi_failed_allocations();
    spyi_plan *plan = spyi_plan_new(function, values);
    spy_status status = SPY_OK;
    if (!plan) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (!values->threads && spyi_unit_is_shader(function->module->unit, function->name)) {
        spyi_text_add(
            error, "it is a shader of its own, which no kernel can call for each element (libslang would not "
                   "come back); spy_dispatch runs it");
        status = SPY_ERROR_UNSUPPORTED;
    }
    bool cuda_kernel = status == SPY_OK && !values->threads &&
                       spyi_unit_is_cuda_kernel(function->module->unit, function->name);
    if (cuda_kernel) status = spyi_cuda_kernel_check(function, values, error);
    if (status == SPY_OK) status = spyi_bind(function, values, &plan->bound, error);
    if (status == SPY_OK) status = spyi_options_copy(function, values, &plan->bound.options, error);
    if (status == SPY_OK) spyi_find_networks(function, &plan->bound);
    // A [CudaKernel] finds its element by its thread's number, so each element needs its own thread.
    uint32_t *group = plan->bound.options.threads;
    if (cuda_kernel && status == SPY_OK && !group[0])
        group[0] = SPYI_CUDA_KERNEL_THREADS, group[1] = group[2] = 1;
    if (status == SPY_OK) status = spyi_globals_check(function, values, error);
    if (status == SPY_OK && plan->bound.leaf_count > SPYI_MOST_MEMORY_LEAVES) {
        spyi_text_add(error, "the arguments have %u leaves, at most %d are possible", plan->bound.leaf_count,
                      SPYI_MOST_MEMORY_LEAVES);
        status = SPY_ERROR_UNSUPPORTED;
    }
    if (status == SPY_OK && !spyi_plan_add_launch(plan)) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    status = spyi_check_allocations(failed, status, error);
    if (status != SPY_OK) {
        spyi_bound_free(&plan->bound);
        free(plan->launch);
        free(plan->key);
        free(plan);
        return status;
    }
    *out = plan;
    return SPY_OK;
}

// >>finding, or else making

// Gives `made` the long key, which includes the sizes that its types were chosen by. Puts a redirect under
// the short key, or widens the one that is there.
static bool spyi_plan_redirect(spy_device *device, spyi_plan *made, spyi_values *values,
                               uint32_t short_size) {
    values->key_size = short_size;
    spyi_plan *redirect = spyi_cache_redirect(device, made->function, values);
    uint8_t *sizes = redirect ? redirect->redirect : (uint8_t *)spyi_calloc(values->count + 1, 1);
    spyi_plan *fresh = redirect || !sizes ? NULL : (spyi_plan *)spyi_calloc(1, sizeof *fresh);
    uint8_t *short_key = fresh ? (uint8_t *)spyi_malloc(short_size) : NULL;
    if (!redirect && !short_key) {
        free(sizes);
        free(fresh);
        return false;
    }
    for (uint32_t i = 0; i < values->count; i++)
        if (made->bound.sizes[i] > sizes[i]) sizes[i] = made->bound.sizes[i];
    if (!redirect) {
        memcpy(short_key, values->key, short_size);
        fresh->key = short_key;
        fresh->key_size = short_size;
        fresh->hash = spyi_hash(short_key, short_size, 0);
        fresh->redirect = sizes;
        fresh->function = made->function;
        fresh->generation = made->generation;
        fresh->references = 1;
        spyi_cache_insert(device, fresh);
    }
    uint8_t *key =
        spyi_key_add_sizes(values, sizes) ? (uint8_t *)spyi_realloc(made->key, values->key_size) : NULL;
    if (!key) return false;
    memcpy(key, values->key, values->key_size);
    memcpy(made->bound.sizes, sizes, values->count);
    made->sized_from = short_size;
    made->key = key;
    made->key_size = values->key_size;
    made->hash = spyi_hash(key, made->key_size, 0);
    return true;
}

SPYI_FN bool spyi_plan_insert(spy_device *device, spyi_plan *plan, spyi_values *values, uint32_t short_size) {
    if (plan->bound.sizes && !spyi_plan_redirect(device, plan, values, short_size)) {
        spyi_plan_release(device, plan);
        return false;
    }
    spyi_cache_insert(device, plan);
    return true;
}

SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error) {
    spy_device *device = function->object.device;
    uint32_t short_size = values->key_size; // spyi_cache_find() may extend the key
    *plan = spyi_cache_find(device, function, values);
    if (SPYI_LIKELY(*plan != NULL)) {
        device->stats.plan_hits++;
        return SPY_OK;
    }
    spyi_call_outside outside;
    if (spyi_call_await(function, function, values->key, values->key_size)) {
        values->key_size = short_size;
        return spyi_plan_get(function, values, plan, error);
    }
    spyi_plan *made = NULL;
    uint32_t lacks =
        spyi_compiler_lacks(device->compiler); // the count may include another thread's failures, which makes
                                               // the text too broad
    bool left = spyi_call_step_out(function, &outside, function, values->key, values->key_size);
    spy_status status = spyi_plan_create(function, values, &made, error);
    if (left) spyi_call_step_in(function, &outside);
    if (status != SPY_OK && spyi_is_packed(device) && spyi_compiler_lacks(device->compiler) != lacks)
        status = spyi_pack_explain(function, values, error);
    if (status != SPY_OK) return status;
    if (left && !made->bound.sizes) { // a prepared call may have added the plan meanwhile
        *plan = spyi_cache_find(device, function, values);
        if (*plan) {
            spyi_plan_release(device, made);
            return SPY_OK;
        }
    }
    if (!spyi_plan_insert(device, made, values, short_size)) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    device->stats.plans_built++;
    *plan = made;
    return SPY_OK;
}
