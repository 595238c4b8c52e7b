// The call cache: plans by signature key. The least recently used plan leaves first. A function's last few
// plans are compared first, byte by byte, so that steady loops neither hash nor search.
#include "plan/cache.h"

SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans) {
    spyi_cache *cache = (spyi_cache *)spyi_allocate(&device->ctx, sizeof *cache);
    if (!cache) return NULL;
    cache->max_plans = max_plans;
    cache->values = (spyi_values *)spyi_calloc(1, sizeof *cache->values);
    cache->bucket_count = SPYI_LEAST_BUCKETS;
    while (cache->bucket_count < max_plans && cache->bucket_count < SPYI_MOST_BUCKETS)
        cache->bucket_count *= 2;
    cache->buckets = (spyi_plan **)spyi_allocate(&device->ctx, cache->bucket_count * sizeof *cache->buckets);
    if (cache->values && cache->buckets) return cache;
    spyi_free(&device->ctx, cache->buckets, cache->bucket_count * sizeof *cache->buckets);
    free(cache->values);
    spyi_free(&device->ctx, cache, sizeof *cache);
    return NULL;
}

// Returns the first plan of the bucket for a hash. The number of buckets never changes: the cache knows from
// the start how many plans it may hold, so that inserting a plan needs no memory and cannot fail.
static spyi_plan **spyi_cache_bucket(const spyi_cache *cache, uint64_t hash) {
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

// >>life of plans

static void spyi_plan_free(spy_device *device, spyi_plan *plan) {
    for (uint32_t i = 0; i < SPYI_GEOMETRIES && plan->launches[i]; i++) {
        free(plan->launches[i]->block);
        spyi_launch_forget(device, plan->launches[i]); // the graph is freed before the kernels
        free(plan->launches[i]);
    }
    for (uint32_t i = 0; i < plan->variant_count; i++) spyi_variant_free(device, plan->variants[i]);
    free(plan->variants);
    spyi_bound_free(&plan->bound);
    free(plan->repeated_options);
    free(plan->absent);
    free(plan->same);
    free(plan->key);
    free(plan->redirect);
    free(plan);
}

SPYI_FN void spyi_plan_release(spy_device *device, spyi_plan *plan) {
    if (--plan->references > 0) return;
    if (!device->ctx.outside && device->backend->finished_submit(device->gpu) >= plan->last_submit) {
        spyi_plan_free(device, plan);
        return;
    }
    plan->retired = device->cache->retired;
    device->cache->retired = plan;
}

SPYI_FN void spyi_cache_collect(spy_device *device) {
    spyi_plan **at = &device->cache->retired;
    if (!*at || device->ctx.outside) return; // a call that is outside comes back to its plan
    uint64_t finished = device->backend->finished_submit(device->gpu);
    while (*at) {
        spyi_plan *plan = *at;
        if (plan->last_submit > finished) {
            at = &plan->retired;
            continue;
        }
        *at = plan->retired;
        spyi_plan_free(device, plan);
    }
}

// >>order of use

static void spyi_lru_remove(spyi_cache *cache, spyi_plan *plan) {
    if (plan->newer) plan->newer->older = plan->older;
    else cache->newest = plan->older;
    if (plan->older) plan->older->newer = plan->newer;
    else cache->oldest = plan->newer;
    plan->newer = plan->older = NULL;
}

static void spyi_lru_add(spyi_cache *cache, spyi_plan *plan) {
    plan->older = cache->newest;
    if (cache->newest) cache->newest->newer = plan;
    else cache->oldest = plan;
    cache->newest = plan;
}

SPYI_FN void spyi_lru_touch(spyi_cache *cache, spyi_plan *plan) {
    if (cache->newest == plan) return;
    spyi_lru_remove(cache, plan);
    spyi_lru_add(cache, plan);
}

SPYI_FN void spyi_make_recent(spy_function *function, spyi_plan *plan) {
    int at = 0;
    while (at < SPYI_RECENT_PLANS - 1 && function->recent[at] != plan) at++;
    for (; at > 0; at--) function->recent[at] = function->recent[at - 1];
    function->recent[0] = plan;
}

static void spyi_cache_remove(spy_device *device, spyi_plan *plan) {
    spyi_cache *cache = device->cache;
    spyi_plan **at = spyi_cache_bucket(cache, plan->hash);
    while (*at != plan) at = &(*at)->chain;
    *at = plan->chain;
    for (int i = 0; i < SPYI_RECENT_PLANS; i++)
        if (plan->function->recent[i] == plan) plan->function->recent[i] = NULL;
    spyi_lru_remove(cache, plan);
    plan->chain = NULL;
    cache->count--;
    spyi_plan_release(device, plan);
}

// >>look-up

static bool spyi_key_equal(const spyi_plan *plan, const spyi_values *values) {
    return plan->key_size == values->key_size && memcmp(plan->key, values->key, values->key_size) == 0;
}

static spyi_plan *spyi_cache_lookup(spy_device *device, spy_function *function, spyi_values *values) {
    for (int i = 0; i < SPYI_RECENT_PLANS; i++) {
        spyi_plan *plan = function->recent[i];
        if (!plan || !spyi_key_equal(plan, values)) continue;
        if (i > 0) spyi_make_recent(function, plan);
        return plan;
    }
    spyi_cache *cache = device->cache;
    if (cache->count == 0) return NULL;
    uint64_t hash = spyi_hash(values->key, values->key_size, 0);
    for (spyi_plan *plan = *spyi_cache_bucket(cache, hash); plan; plan = plan->chain) {
        if (plan->hash != hash || !spyi_key_equal(plan, values)) continue;
        spyi_make_recent(function, plan);
        return plan;
    }
    return NULL;
}

SPYI_FN spyi_plan *spyi_cache_redirect(spy_device *device, spy_function *function, spyi_values *values) {
    spyi_plan *plan = spyi_cache_lookup(device, function, values);
    return plan && plan->redirect ? plan : NULL;
}

SPYI_FN spyi_plan *spyi_cache_find(spy_device *device, spy_function *function, spyi_values *values) {
    spyi_cache *cache = device->cache;
    spyi_plan *plan = spyi_cache_lookup(device, function, values);
    if (plan && plan->redirect) {
        spyi_lru_touch(cache, plan); // stays in the cache as long as the plan that it leads to
        if (!spyi_key_add_sizes(values, plan->redirect)) return NULL;
        plan = spyi_cache_lookup(device, function, values);
    }
    if (plan) spyi_lru_touch(cache, plan);
    return plan;
}

// >>changes

SPYI_FN void spyi_cache_insert(spy_device *device, spyi_plan *plan) {
    spyi_cache *cache = device->cache;
    spyi_cache_collect(device);
    // A redirect and its plan are inserted together: the plan must not push out its own redirect.
    uint32_t most = cache->max_plans < 2 ? 2 : cache->max_plans;
    while (cache->count >= most) spyi_cache_remove(device, cache->oldest);
    spyi_plan **bucket = spyi_cache_bucket(cache, plan->hash);
    plan->chain = *bucket;
    *bucket = plan;
    cache->count++;
    spyi_lru_add(cache, plan);
    spyi_make_recent(plan->function, plan);
    device->stats.plan_count = cache->count;
}

SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function) {
    for (spyi_plan *plan = device->cache->oldest; plan;) {
        spyi_plan *next = plan->newer;
        if (plan->function == function) spyi_cache_remove(device, plan);
        plan = next;
    }
    device->stats.plan_count = device->cache->count;
}

SPYI_FN void spyi_cache_destroy(spy_device *device) {
    spyi_cache *cache = device->cache;
    while (cache->oldest) spyi_cache_remove(device, cache->oldest);
    while (cache->retired) { // the GPU is idle by now, or lost
        spyi_plan *plan = cache->retired;
        cache->retired = plan->retired;
        spyi_plan_free(device, plan);
    }
    spyi_free(&device->ctx, cache->buckets, cache->bucket_count * sizeof *cache->buckets);
    for (cache->values->next = cache->spare; cache->values;) {
        spyi_values *values = cache->values;
        cache->values = values->next;
        spyi_values_free(values);
        free(values);
    }
    spyi_free(&device->ctx, cache, sizeof *cache);
    device->cache = NULL;
}
