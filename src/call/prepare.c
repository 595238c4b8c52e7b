// Prepared calls: a plan and its variant made ahead of time, on a thread of their own if asked.
//
// A compile thread works on copies of the call's values and snapshots of its tensors. What it made enters
// the cache on the caller's thread, when the prepared call is next asked for.
#include "call/call_internal.h"

struct spy_prepared {
    spyi_object object;
    spy_function *function;
    spyi_plan *plan; // one reference; NULL while compiling or after a failure
    bool running;    // a thread has not been joined yet
    spyi_thread thread;
    spyi_atomic finished; // set by the thread at its end
    spyi_values values;   // copies for the thread
    spyi_kept_options kept;
    spyi_plan *made;   // by the thread
    spy_status status; // of the compilation
    spyi_text error;
    uint32_t generation; // of the module that the plan was made from
    spy_prepared *previous, *next;
};

// >>copies of values that outlive the caller's arguments

// A tensor as it was: the thread reads its shape and place, whatever becomes of it meanwhile.
typedef struct spyi_snapshot {
    spy_tensor tensor; // first: freed through it
    spyi_storage storage;
} spyi_snapshot;

// The first value that is this one's tensor, or lies in its storage: what is one for the caller stays one in the copies.
static uint32_t spyi_first_of_tensor(const spyi_values *values, uint32_t i) {
    uint32_t j = 0;
    while (values->items[j].tensor != values->items[i].tensor) j++;
    return j;
}

static uint32_t spyi_first_of_storage(const spyi_values *values, uint32_t i) {
    uint32_t j = 0;
    while (!values->items[j].tensor || values->items[j].tensor->storage != values->items[i].tensor->storage)
        j++;
    return j;
}

static void spyi_free_copies(spyi_values *values) {
    uint32_t count = values->count + values->global_count + values->grad_count;
    for (uint32_t i = count; i-- > 0;) {
        spyi_value *v = &values->items[i];
        free((void *)v->name);
        free((void *)v->cast);
        if (!v->tensor) free((void *)v->dims);
        else if (spyi_first_of_tensor(values, i) == i) free(v->tensor);
        free((void *)v->map);
    }
    spyi_values_free(values);
}

static bool spyi_copy_values(const spyi_values *from, spyi_values *to) {
    uint32_t count = from->count + from->global_count + from->grad_count;
    to->items = (spyi_value *)calloc(count + 1, sizeof *to->items);
    to->key = (uint8_t *)malloc(from->key_size);
    if (!to->items || !to->key) return false;
    to->capacity = count;
    to->count = from->count;
    to->global_count = from->global_count;
    to->grad_count = from->grad_count;
    to->options = from->options; // kept
    to->thread_count = from->thread_count;
    to->key_capacity = to->key_size = from->key_size;
    memcpy(to->key, from->key, from->key_size);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_value *v = &from->items[i];
        spyi_value *copy = &to->items[i];
        *copy = *v;
        copy->arg = NULL;
        copy->name = spyi_strdup(v->name);
        copy->cast = spyi_strdup(v->cast);
        int8_t *map = (int8_t *)malloc(SPY_MAX_RANK);
        if (map) memcpy(map, v->map, v->map_count);
        copy->map = map;
        good = good && map && (copy->name || !v->name) && (copy->cast || !v->cast);
        copy->tensor = NULL;
        copy->dims = NULL;
        uint32_t same = v->tensor ? spyi_first_of_tensor(from, i) : i;
        if (same < i) {
            copy->tensor = to->items[same].tensor;
            copy->dims = to->items[same].dims;
        } else if (v->tensor) {
            const spy_tensor *beside = to->items[spyi_first_of_storage(from, i)].tensor;
            spyi_snapshot *snapshot = (spyi_snapshot *)malloc(sizeof *snapshot);
            good = good && snapshot;
            if (!snapshot) continue;
            snapshot->tensor = *v->tensor;
            snapshot->storage = *v->tensor->storage;
            snapshot->tensor.storage = beside ? beside->storage : &snapshot->storage;
            copy->tensor = &snapshot->tensor;
            copy->dims = snapshot->tensor.shape.dims;
        } else if (v->dims) {
            int64_t *dims = (int64_t *)malloc(SPY_MAX_RANK * sizeof *dims);
            if (dims) memcpy(dims, v->dims, v->rank * sizeof *dims);
            copy->dims = dims;
            good = good && dims;
        }
    }
    return good;
}

// >>the work

// Makes the variant that a call with these values needs, unless the plan has it.
static spy_status spyi_prepare_variant(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    const spyi_launch *launch = &plan->launch;
    spyi_variant *variant = NULL;
    spy_status status = spyi_launch_shape(plan, values, error);
    if (status != SPY_OK || launch->count == 0 || spyi_variant_find(plan, &launch->key)) return status;
    status = spyi_variant_create(plan, &launch->key, values, &variant, error);
    return status == SPY_OK ? spyi_plan_add_variant(plan, variant, error) : status;
}

// Each pass of a backward call has a variant of its own.
static spy_status spyi_prepare_variants(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spyi_launch *launch = &plan->launch;
    spy_status status;
    launch->pass = 0;
    launch->finishes = false;
    do status = spyi_prepare_variant(plan, values, error);
    while (status == SPY_OK && plan->bound.mode == SPY_CALL_BACKWARD && launch->count &&
           spyi_next_pass(launch));
    launch->pass = 0;
    launch->finishes = false;
    return status;
}

static void spyi_prepare_thread(void *user) {
    spy_prepared *p = (spy_prepared *)user;
    p->status = spyi_plan_create(p->function, &p->values, &p->made, &p->error);
    if (p->status == SPY_OK) p->status = spyi_prepare_variants(p->made, &p->values, &p->error);
    spyi_atomic_store(&p->finished, 1);
}

// Joins a finished (or awaited) thread and puts what it made into the cache. Inside the device.
static void spyi_prepare_join(spy_prepared *p) {
    if (!p->running) return;
    spyi_thread_join(&p->thread);
    p->running = false;
    spy_device *device = p->object.device;
    if (p->status != SPY_OK && p->made) {
        spyi_plan_release(device, p->made);
        p->made = NULL;
    }
    if (p->made) {
        device->stats.kernels_built += p->made->variant_count;
        spyi_values *values = &p->values;
        spyi_plan *known = spyi_cache_find(device, p->function, values);
        if (known) { // another call was faster: it gets our kernels
            for (uint32_t i = 0; i < p->made->variant_count; i++) {
                spyi_variant *variant = p->made->variants[i];
                spyi_text ignored = { NULL, 0, 0 };
                if (spyi_variant_find(known, &variant->key)) spyi_variant_free(device, variant);
                else spyi_plan_add_variant(known, variant, &ignored); // frees it when it fails
                spyi_text_free(&ignored);
            }
            p->made->variant_count = 0;
            spyi_plan_release(device, p->made);
            p->plan = known;
        } else {
            p->plan = p->made;
            // Plans chosen by sizes need a redirect; spyi_plan_get makes both at the next plain call.
            if (!p->made->bound.sizes) {
                spyi_cache_insert(device, p->made);
                device->stats.plans_built++;
                p->plan->references++;
            }
            p->made = NULL;
            spyi_free_copies(&p->values);
            return;
        }
        p->plan->references++;
        p->made = NULL;
    }
    spyi_free_copies(&p->values);
}

static const spy_call_options *spyi_prepared_options(const spy_prepared *p) {
    return p->kept.given ? &p->kept.options : NULL;
}

// Among the device's prepared calls; NULL: out of memory.
static spy_prepared *spyi_prepared_new(spy_function *function) {
    spy_device *device = function->object.device;
    spy_prepared *p = (spy_prepared *)spyi_allocate(&device->ctx, sizeof *p);
    if (!p) return NULL;
    p->object.kind = (uint32_t)SPYI_KIND_PREPARED;
    p->object.device = device;
    spyi_atomic_store(&p->object.references, 1);
    p->function = function;
    p->generation = function->module->generation;
    p->next = device->prepared;
    if (p->next) p->next->previous = p;
    device->prepared = p;
    spyi_atomic_add(&function->module->object.references, 1);
    return p;
}

// Starts a thread that compiles the described call; false: there is nothing to compile, or no thread to be had.
static bool spyi_prepare_start(spy_prepared *p, spyi_values *values) {
    uint32_t size = values->key_size;
    bool known = spyi_cache_find(p->object.device, p->function, values) != NULL;
    values->key_size = size; // without what the look-up has added
    if (known) return false;
    p->running =
        spyi_copy_values(values, &p->values) && spyi_thread_start(&p->thread, spyi_prepare_thread, p);
    if (!p->running) spyi_free_copies(&p->values);
    return p->running;
}

static spy_status spyi_prepare_now(spy_prepared *p, spyi_values *values, spyi_text *error) {
    spy_status status = spyi_plan_get(p->function, values, &p->plan, error);
    if (status != SPY_OK) return status;
    uint32_t before = p->plan->variant_count;
    p->plan->references++;
    status = spyi_prepare_variants(p->plan, values, error);
    p->object.device->stats.kernels_built += p->plan->variant_count - before;
    return status;
}

static spy_status spyi_prepare(spy_prepared *p, spy_args args, const spy_prepare_desc *desc,
                               spyi_text *error) {
    spyi_values *values = &p->object.device->cache->values;
    const char *problem = SPYI_DESC_PROBLEM(spy_prepare_desc, desc);
    if (problem) {
        spyi_text_add(error, "desc: %s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spy_status status = spyi_options_keep(desc ? desc->options : NULL, &p->kept, error);
    if (status == SPY_OK && p->kept.options.append_to) {
        spyi_text_add(error, "its options: append_to: a prepared call cannot be recorded; expected NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    if (status == SPY_OK)
        status = spyi_describe(p->function, args, spyi_prepared_options(p), NULL, values, error);
    if (status != SPY_OK || (desc && desc->async && spyi_prepare_start(p, values))) return status;
    return spyi_prepare_now(p, values, error);
}

spy_prepared *spy_prepare(spy_function *function, spy_args args, const spy_prepare_desc *desc) {
    const char *name = "spy_prepare";
    if (spyi_enter(function, SPYI_KIND_FUNCTION, name) != SPY_OK) return NULL;
    spy_device *device = function->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_prepared *p = spyi_prepared_new(function);
    spy_status status = p ? spyi_prepare(p, args, desc, &error) : SPY_ERROR_OUT_OF_MEMORY;
    if (!p) spyi_text_add(&error, "out of host memory");
    if (status != SPY_OK) {
        if (p) spyi_prepared_free(p);
        p = NULL;
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, function->name, spyi_text_str(&error));
    }
    spyi_text_free(&error);
    spyi_leave(device);
    return p;
}

SPYI_FN void spyi_prepared_settle(spy_device *device) {
    for (spy_prepared *p = device->prepared; p; p = p->next)
        if (p->function->module->reloading) spyi_prepare_join(p);
}

static bool spyi_prepared_outdated(const spy_prepared *p) {
    return p->generation != p->function->module->generation;
}

// The plan of the reloaded module, for the arguments at hand.
static spy_status spyi_prepared_renew(spy_prepared *p, spyi_values *values, spyi_text *error) {
    spyi_plan *plan = NULL;
    spy_status status = spyi_plan_get(p->function, values, &plan, error);
    if (status != SPY_OK) return status;
    plan->references++;
    if (p->plan) spyi_plan_release(p->object.device, p->plan);
    p->plan = plan;
    p->status = SPY_OK;
    p->generation = p->function->module->generation;
    return SPY_OK;
}

// Reports a failed compilation each time it is asked for. One of code that a reload has replaced is no more.
static spy_status spyi_prepared_state(spy_prepared *p, const char *name) {
    spyi_prepare_join(p);
    if (spyi_prepared_outdated(p)) return SPY_OK;
    if (p->status != SPY_OK)
        spyi_fail(&p->object.device->ctx, p->status, "%s: %s: %s", name, p->function->name,
                  spyi_text_str(&p->error));
    return p->status;
}

spy_status spy_prepared_ready(spy_prepared *prepared) {
    const char *name = "spy_prepared_ready";
    spy_status entered = spyi_enter(prepared, SPYI_KIND_PREPARED, name);
    if (entered != SPY_OK) return entered;
    spy_device *device = prepared->object.device;
    spy_status status = SPY_ERROR_NOT_READY;
    if (!prepared->running || spyi_atomic_load(&prepared->finished))
        status = spyi_prepared_state(prepared, name);
    spyi_leave(device);
    return status;
}

spy_status spy_call_prepared(spy_prepared *prepared, spy_args args) {
    const char *name = "spy_call_prepared";
    spy_status entered = spyi_enter(prepared, SPYI_KIND_PREPARED, name);
    if (entered != SPY_OK) return entered;
    spy_device *device = prepared->object.device;
    spyi_values *values = &device->cache->values;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = prepared->running || !prepared->plan ? spyi_prepared_state(prepared, name) : SPY_OK;
    bool again = status == SPY_OK && !prepared->kept.given && !spyi_prepared_outdated(prepared) &&
                 spyi_call_again(prepared->plan, args, &status, &error);
    if (again && status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, prepared->function->name, spyi_text_str(&error));
    if (status == SPY_OK && !again) {
        status =
            spyi_describe(prepared->function, args, spyi_prepared_options(prepared), NULL, values, &error);
        if (status == SPY_OK && spyi_prepared_outdated(prepared))
            status = spyi_prepared_renew(prepared, values, &error);
        const spyi_plan *plan = prepared->plan;
        if (status == SPY_OK && plan->bound.sizes && plan->key_size > values->key_size &&
            memcmp(plan->key, values->key, values->key_size) == 0 && // the same arguments but for their sizes
            !spyi_key_add_sizes(values, plan->bound.sizes))
            status = SPY_ERROR_OUT_OF_MEMORY;
        if (status == SPY_OK &&
            (plan->key_size != values->key_size || memcmp(plan->key, values->key, values->key_size) != 0)) {
            spyi_text_add(&error, "the arguments are not of the kinds, types, ranks and names that the call "
                                  "was prepared for:\n");
            spyi_text_add(&error, "  %s\n", plan->bound.signature.display);
            uint32_t end = values->count + values->global_count, number = 0;
            for (uint32_t i = 0; i < end; i = spyi_value_end(values->items, i)) {
                if (i < values->count) spyi_text_add(&error, "  argument %u: ", ++number);
                else spyi_text_add(&error, "  global '%s': ", values->items[i].name);
                spyi_value_text(&values->items[i], &error);
                spyi_text_add(&error, "\n");
            }
            status = SPY_ERROR_TYPE_MISMATCH;
        }
        if (status == SPY_OK) status = spyi_run(prepared->plan, values, NULL, false, NULL, &error);
        if (status != SPY_OK)
            spyi_fail(&device->ctx, status, "%s: %s: %s", name, prepared->function->name,
                      spyi_text_str(&error));
    }
    spyi_text_free(&error);
    spyi_leave(device);
    return status;
}

// >>release

SPYI_FN void spyi_prepared_free(spy_prepared *p) {
    spy_device *device = p->object.device;
    spyi_prepare_join(p);
    if (p->plan) spyi_plan_release(device, p->plan);
    if (p->previous) p->previous->next = p->next;
    else device->prepared = p->next;
    if (p->next) p->next->previous = p->previous;
    spyi_text_free(&p->error);
    spyi_kept_free(&p->kept);
    spyi_module_drop(p->function->module);
    spyi_bury(device, &p->object, sizeof *p);
}

void spy_release_prepared(spy_prepared *prepared) {
    if (!prepared) return;
    if (spyi_as(prepared, SPYI_KIND_PREPARED)) spyi_object_release(&prepared->object);
    else
        spyi_fail(NULL, SPY_ERROR_RELEASED,
                  "spy_release_prepared: the prepared call has been released already");
}

SPYI_FN void spyi_prepared_free_all(spy_device *device) {
    while (device->prepared) spyi_prepared_free(device->prepared);
}
