// Prepared calls: a plan and its variant made ahead of time, on a thread of their own if asked, and once more on such a thread
// when their module has been reloaded. Until that is done the call runs what it has.
//
// A compile thread works on copies of the call's values and snapshots of its tensors. What it made enters
// the cache within the device, when the prepared call is next asked for.
#include "call/call_internal.h"

struct spy_prepared {
    spyi_object object;
    spy_function *function;
    spyi_plan *plan; // one reference; NULL while compiling or after a failure
    bool running;    // a thread has not been joined yet
    bool queued;     // for a thread, after a reload
    spyi_thread thread;
    spyi_outside outside; // the thread's
    spyi_atomic finished; // set by the thread at its end
    spyi_values values;   // copies for threads
    spyi_kept_options kept;
    spyi_plan *made;   // by the thread
    spy_status status; // of the last compilation
    spyi_text error;
    spyi_text made_error;
    spy_status made_status;
    bool renewed;        // the last compilation was for a reload: the next call may bring other arguments
    uint32_t generation; // of the module that the plan, or the failure, is of; the thread's own while it runs
    spy_prepared *previous, *next;
};

// >>copies of values that outlive the caller's arguments

// A tensor as it was: the thread reads its shape and place, whatever becomes of it meanwhile.
typedef struct spyi_snapshot_part {
    spy_tensor tensor;
    spyi_storage storage;
} spyi_snapshot_part;

typedef struct spyi_snapshot {
    spyi_snapshot_part value; // first: freed through its tensor
    spyi_snapshot_part grads[2];
} spyi_snapshot;

// All but the head, whose references other threads count meanwhile.
static void spyi_snapshot_take(spyi_snapshot_part *to, const spy_tensor *from) {
    const size_t head = sizeof from->object;
    memset(to, 0, sizeof *to);
    to->tensor.object.kind = (uint32_t)SPYI_KIND_TENSOR;
    to->tensor.object.device = from->object.device;
    memcpy((char *)&to->tensor + head, (const char *)from + head, sizeof to->tensor - head);
    to->tensor.grads[0] = to->tensor.grads[1] = NULL;
    to->storage = *from->storage;
    to->tensor.storage = &to->storage;
}

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
    to->items = (spyi_value *)spyi_calloc(count + 1, sizeof *to->items);
    to->key = (uint8_t *)spyi_malloc(from->key_size);
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
        int8_t *map = (int8_t *)spyi_malloc(SPY_MAX_RANK);
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
            spyi_snapshot *snapshot = (spyi_snapshot *)spyi_malloc(sizeof *snapshot);
            good = good && snapshot;
            if (!snapshot) continue;
            spyi_snapshot_take(&snapshot->value, v->tensor);
            if (beside) snapshot->value.tensor.storage = beside->storage;
            for (int g = 0; g < 2; g++) { // the same tensor for both stays one
                const spy_tensor *grad = v->tensor->grads[g];
                bool second = g == 1 && grad == v->tensor->grads[0];
                if (grad && !second) spyi_snapshot_take(&snapshot->grads[g], grad);
                if (grad) snapshot->value.tensor.grads[g] = &snapshot->grads[second ? 0 : g].tensor;
            }
            copy->tensor = &snapshot->value.tensor;
            copy->dims = snapshot->value.tensor.shape.dims;
        } else if (v->dims) {
            int64_t *dims = (int64_t *)spyi_malloc(SPY_MAX_RANK * sizeof *dims);
            if (dims) memcpy(dims, v->dims, v->rank * sizeof *dims);
            copy->dims = dims;
            good = good && dims;
        }
    }
    return good;
}

// >>the work

// On a thread of its own, for a plan that nobody else knows yet.
static spy_status spyi_prepare_variants(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spyi_launch *launch = &plan->launch;
    spy_status status;
    launch->pass = 0;
    launch->finishes = false;
    do { // each pass of a backward call has a variant of its own
        spyi_variant *variant = NULL;
        status = spyi_launch_shape(plan, values, error);
        if (status != SPY_OK || launch->count == 0 || spyi_variant_find(plan, &launch->key)) continue;
        status = spyi_variant_create(plan, &launch->key, values, &variant, error);
        if (status == SPY_OK) status = spyi_plan_add_variant(plan, variant, error);
    } while (status == SPY_OK && plan->bound.mode == SPY_CALL_BACKWARD && launch->count &&
             spyi_next_pass(launch));
    launch->pass = 0;
    launch->finishes = false;
    return status;
}

static void spyi_prepare_thread(void *user) {
    spy_prepared *p = (spy_prepared *)user;
    spyi_turns *turns = &p->object.device->ctx.turns;
    spyi_note_thread(&p->outside.thread, spyi_thread_id());
    p->made_status = spyi_plan_create(p->function, &p->values, &p->made, &p->made_error);
    if (p->made_status == SPY_OK) p->made_status = spyi_prepare_variants(p->made, &p->values, &p->made_error);
    spyi_atomic_store(&p->finished, 1);
    spyi_turns_notify(turns); // the device stays until the thread has been joined
}

// Starts a thread that compiles the call for its values and the module's code of today; false: there is none to be had.
static bool spyi_prepare_start(spy_prepared *p) {
    if (!p->values.items) return false;
    spyi_atomic_store(&p->finished, 0);
    spyi_outside_begin(p->object.device, &p->outside, p->function->module);
    p->running = spyi_thread_start(&p->thread, spyi_prepare_thread, p);
    if (!p->running) spyi_outside_end(p->object.device, &p->outside);
    return p->running;
}

static bool spyi_prepared_outdated(const spy_prepared *p) {
    return p->generation != p->function->module->generation;
}

// The plan that the thread made, or the one that another call has brought into the cache meanwhile, with a reference.
static spyi_plan *spyi_prepared_enter(spy_prepared *p) {
    spy_device *device = p->object.device;
    spyi_plan *made = p->made;
    uint32_t size = p->values.key_size;
    spyi_plan *known = spyi_cache_find(device, p->function, &p->values);
    p->values.key_size = size; // without what the look-up has added
    p->made = NULL;
    device->stats.kernels_built += made->variant_count;
    if (!known) {
        // Plans chosen by sizes need a redirect; spyi_plan_get makes both at the next plain call.
        if (made->bound.sizes) return made;
        spyi_cache_insert(device, made);
        device->stats.plans_built++;
        made->references++;
        return made;
    }
    for (uint32_t i = 0; i < made->variant_count; i++) { // another call was faster: it gets our kernels
        spyi_variant *variant = made->variants[i];
        spyi_text ignored = { NULL, 0, 0 };
        if (spyi_variant_find(known, &variant->key)) spyi_variant_free(device, variant);
        else spyi_plan_add_variant(known, variant, &ignored); // frees it when it fails
        spyi_text_free(&ignored);
    }
    made->variant_count = 0;
    spyi_plan_release(device, made);
    known->references++;
    return known;
}

// After its thread has finished: takes over what that made. Inside the device.
static void spyi_prepare_join(spy_prepared *p) {
    if (!p->running) return;
    spy_device *device = p->object.device;
    spyi_thread_join(&p->thread);
    p->running = false;
    p->renewed = p->renewed || spyi_prepared_outdated(p);
    p->generation = p->function->module->generation; // which has waited for the thread
    spyi_outside_end(device, &p->outside);
    spyi_plan *old = p->plan;
    spyi_text swap = p->error;
    p->status = p->made_status;
    p->error = p->made_error;
    p->made_error = swap;
    spyi_text_clear(&p->made_error);
    p->plan = p->status == SPY_OK ? spyi_prepared_enter(p) : NULL;
    if (p->made) spyi_plan_release(device, p->made);
    p->made = NULL;
    if (old) spyi_plan_release(device, old);
}

// Leaves the device until the thread has finished, then joins it.
static void spyi_prepare_wait(spy_prepared *p) {
    spy_device *device = p->object.device;
    if (p->queued) { // it is wanted now
        p->queued = false;
        (void)spyi_prepare_start(p);
    }
    spyi_atomic_add(&p->object.references, 1);
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        if (!p->running || spyi_atomic_load(&p->finished)) break;
        spyi_await_outside(device, NULL, seen);
    }
    spyi_prepare_join(p);
    spyi_object_release(&p->object);
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

// Whether the cache has the plan: then there is nothing to compile on a thread.
static bool spyi_prepare_known(spy_prepared *p, spyi_values *values) {
    uint32_t size = values->key_size;
    bool known = spyi_cache_find(p->object.device, p->function, values) != NULL;
    values->key_size = size;
    return known;
}

// The plan and its variants on this thread, for the arguments at hand and the module's code of today.
static spy_status spyi_prepare_now(spy_prepared *p, spyi_values *values, spyi_text *error) {
    spyi_plan *plan = NULL;
    spy_status status = spyi_plan_get(p->function, values, &plan, error);
    if (status != SPY_OK) return status;
    plan->references++; // before the device is left again
    status = spyi_variants_make(plan, values, error);
    if (status != SPY_OK) {
        spyi_plan_release(p->object.device, plan);
        return status;
    }
    if (p->plan) spyi_plan_release(p->object.device, p->plan);
    p->plan = plan;
    p->status = SPY_OK;
    p->generation = plan->generation;
    return SPY_OK;
}

// What a thread will compile the next time. false: out of memory, and no thread will.
static bool spyi_prepared_remember(spy_prepared *p, const spyi_values *values) {
    if (p->values.items) spyi_free_copies(&p->values);
    memset(&p->values, 0, sizeof p->values);
    if (spyi_copy_values(values, &p->values)) return true;
    spyi_free_copies(&p->values);
    memset(&p->values, 0, sizeof p->values);
    return false;
}

static spy_status spyi_prepare(spy_prepared *p, spy_args args, const spy_prepare_desc *desc,
                               spyi_text *error) {
    spyi_values *values = p->object.device->cache->values;
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
    if (status != SPY_OK) return status;
    if (!spyi_prepared_remember(p, values)) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (desc && desc->async && !spyi_prepare_known(p, values) && spyi_prepare_start(p)) return SPY_OK;
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

// >>reloads

// A program may have prepared thousands: few threads at a time, each of which is started within a frame.
#define SPYI_MOST_RENEWING 4

static bool spyi_prepared_is_renewed(const spy_prepared *p) {
    return p->queued || (p->running && spyi_prepared_outdated(p));
}

static void spyi_prepared_start_queued(spy_device *device) {
    int running = 0;
    spy_prepared *p;
    for (p = device->prepared; p; p = p->next) running += p->running;
    for (p = device->prepared; p && running < SPYI_MOST_RENEWING; p = p->next) {
        if (!p->queued) continue;
        p->queued = false;
        running += spyi_prepare_start(p); // without a thread the next call compiles
    }
}

SPYI_FN void spyi_prepared_reloaded(spy_device *device) {
    for (spy_prepared *p = device->prepared; p; p = p->next)
        if (!p->running && spyi_prepared_outdated(p)) p->queued = true;
    spyi_prepared_start_queued(device);
}

SPYI_FN void spyi_prepared_collect(spy_device *device) {
    bool queued = false;
    for (spy_prepared *p = device->prepared; p; p = p->next) {
        if (p->running && spyi_atomic_load(&p->finished)) spyi_prepare_join(p);
        queued = queued || p->queued;
    }
    if (queued) spyi_prepared_start_queued(device);
}

SPYI_FN bool spyi_prepared_renewing(const spy_device *device) {
    const spy_prepared *p = device->prepared;
    while (p && !spyi_prepared_is_renewed(p)) p = p->next;
    return p != NULL;
}

SPYI_FN bool spyi_prepared_compiles(spy_prepared *p) {
    return p->running && !spyi_atomic_load(&p->finished);
}

SPYI_FN void spyi_prepared_finish_all(spy_device *device) {
    spyi_block(&device->ctx, true);
    for (spy_prepared *p = device->prepared; p; p = p->next) {
        p->queued = false;
        spyi_prepare_join(p);
    }
    spyi_block(&device->ctx, false);
}

// >>calls

// Reports a failed compilation each time it is asked for.
static spy_status spyi_prepared_state(const spy_prepared *p, const char *name) {
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
    spyi_prepared_collect(device);
    bool compiles = prepared->running || prepared->queued ||
                    (spyi_prepared_outdated(prepared) && spyi_prepare_start(prepared));
    spy_status status = compiles ? SPY_ERROR_NOT_READY : spyi_prepared_state(prepared, name);
    spyi_leave(device);
    return status;
}

static spy_status spyi_prepared_mismatch(const spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spyi_text_add(error, "the arguments are not of the kinds, types, ranks and names that the call "
                         "was prepared for:\n");
    spyi_text_add(error, "  %s\n", plan->bound.signature.display);
    uint32_t end = values->count + values->global_count, number = 0;
    for (uint32_t i = 0; i < end; i = spyi_value_end(values->items, i)) {
        if (i < values->count) spyi_text_add(error, "  argument %u: ", ++number);
        else spyi_text_add(error, "  global '%s': ", values->items[i].name);
        spyi_value_text(&values->items[i], error);
        spyi_text_add(error, "\n");
    }
    return SPY_ERROR_TYPE_MISMATCH;
}

// Whether the plan is of arguments such as these. Plans chosen by sizes have them in their key.
static bool spyi_prepared_fits(const spyi_plan *plan, spyi_values *values, spy_status *status) {
    uint32_t size = values->key_size;
    if (plan->bound.sizes && plan->key_size > size && memcmp(plan->key, values->key, size) == 0 &&
        !spyi_key_add_sizes(values, plan->bound.sizes))
        *status = SPY_ERROR_OUT_OF_MEMORY;
    return plan->key_size == values->key_size && memcmp(plan->key, values->key, values->key_size) == 0;
}

// The call, for arguments that do not repeat the last one. SPY_ERROR_NOT_READY without a text: the old code cannot make it,
// and the thread that compiles the new one has to be waited for.
static spy_status spyi_prepared_run(spy_prepared *p, spy_args args, spyi_text *error) {
    spyi_values *values = p->object.device->cache->values;
    spy_status status = spyi_describe(p->function, args, spyi_prepared_options(p), NULL, values, error);
    uint32_t size = values->key_size;
    bool fits = status == SPY_OK && p->plan && spyi_prepared_fits(p->plan, values, &status);
    if (status != SPY_OK) return status;
    bool renewed = p->running || p->queued;
    if (renewed && !fits) return SPY_ERROR_NOT_READY;
    values->key_size = size;
    if (!renewed && (!p->plan || spyi_prepared_outdated(p) || (p->renewed && !fits))) {
        status = spyi_prepare_now(p, values, error);
        if (status != SPY_OK) return status;
        values->key_size = size;
        if (!p->running)
            (void)spyi_prepared_remember(p, values); // else a thread that another call started reads them
        fits = true;
    }
    if (fits && !spyi_prepared_fits(p->plan, values, &status)) fits = false; // with the sizes in the key
    if (status == SPY_OK && !fits) return spyi_prepared_mismatch(p->plan, values, error);
    if (status == SPY_OK) status = spyi_run(p->plan, values, NULL, false, NULL, error);
    if (status == SPY_OK && !renewed) p->renewed = false;
    return status;
}

// What there is to run: waits for a first compilation, takes over what a thread has finished. An error of the code of
// today is reported; code that a reload has replaced is made anew by spyi_prepared_run().
static spy_status spyi_prepared_settle(spy_prepared *p, const char *name) {
    if ((p->running || p->queued) && !p->plan) spyi_prepare_wait(p);
    if (p->running && spyi_atomic_load(&p->finished)) spyi_prepare_join(p);
    if (p->running || p->queued || spyi_prepared_outdated(p) || p->renewed) return SPY_OK;
    return spyi_prepared_state(p, name);
}

spy_status spy_call_prepared(spy_prepared *prepared, spy_args args) {
    const char *name = "spy_call_prepared";
    spy_status entered = spyi_enter(prepared, SPYI_KIND_PREPARED, name);
    if (entered != SPY_OK) return entered;
    spy_device *device = prepared->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (prepared->running || prepared->queued || !prepared->plan)
        status = spyi_prepared_settle(prepared, name);
    if (status != SPY_OK) {
        spyi_leave(device);
        return status;
    }
    bool current =
        prepared->plan && (prepared->running || prepared->queued || !spyi_prepared_outdated(prepared));
    bool again = current && !prepared->kept.given && spyi_call_again(prepared->plan, args, &status, &error);
    while (!again) {
        status = spyi_prepared_run(prepared, args, &error);
        if (status != SPY_ERROR_NOT_READY || error.size || !spyi_prepared_outdated(prepared)) break;
        if (prepared->running || prepared->queued) spyi_prepare_wait(prepared);
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, prepared->function->name, spyi_text_str(&error));
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
    spyi_text_free(&p->made_error);
    if (p->values.items) spyi_free_copies(&p->values);
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
