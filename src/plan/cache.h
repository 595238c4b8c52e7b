// A device's plans by their keys, and the memory that its calls reuse.
#ifndef SPYI_PLAN_CACHE_H
#define SPYI_PLAN_CACHE_H

#include "plan/plan.h"

enum { SPYI_LEAST_BUCKETS = 16, SPYI_MOST_BUCKETS = 65536 };

struct spyi_cache {
    spyi_plan **buckets;   // chains of plans, by the last bits of their hashes
    uint32_t bucket_count; // a power of two
    uint32_t max_plans, count;
    spyi_plan *newest, *oldest;
    spyi_plan *retired;
    spyi_values *values; // the values of the call that is inside the device
    spyi_values *spare;  // the values for other calls, while some calls work outside of the device
    // The plan whose last run was one dispatch that can be repeated unchanged, and its variant; NULL means
    // that the device's last run was not such a one.
    spyi_plan *ran;
    spyi_variant *ran_variant;
};

typedef struct spyi_cache spyi_cache;
SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans);
SPYI_FN void spyi_cache_destroy(spy_device *device);
SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function);
// Finds a plan by its key. Returns NULL when the cache has no such plan.
SPYI_FN spyi_plan *spyi_cache_find(spy_device *device, spy_function *function, spyi_values *values);
SPYI_FN spyi_plan *spyi_cache_redirect(spy_device *device, spy_function *function, spyi_values *values);
SPYI_FN void spyi_cache_insert(spy_device *device, spyi_plan *plan);

// Makes a plan the most recently used one: of the cache, and of its function's last few plans.
SPYI_FN void spyi_lru_touch(spyi_cache *cache, spyi_plan *plan);
SPYI_FN void spyi_make_recent(spy_function *function, spyi_plan *plan);

SPYI_FN void spyi_plan_release(spy_device *device, spyi_plan *plan);
SPYI_FN void spyi_cache_collect(spy_device *device); // frees retired plans whose work has finished

#endif // SPYI_PLAN_CACHE_H
