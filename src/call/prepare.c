// Prepared calls: makes a plan and its variants ahead of time, on a thread of its own if the caller asks for
// that, and again on a thread when the module has been reloaded. Until the new plan is ready the call runs
// the old one. A compile thread works on copies of the call's values and snapshots of its tensors. The plan
// that it made enters the cache inside the device, when the prepared call is next used.
#include "call/prepare.h"
#include "call/launch.h"
#include "plan/packs.h"

// >>variants

SPYI_FN spy_status spyi_variants_make(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spyi_launch *launch = spyi_plan_fresh_launch(plan);
    spyi_variant *variant = NULL;
    spy_status status = SPY_OK;
    bool left = true, more = true;
    while (status == SPY_OK && (left || more)) { // starts again whenever other threads had the device
        if (left) {
            launch->pass = 0;
            launch->finishes = false;
        }
        left = false;
        plan->launch = launch;
        status = spyi_launch_shape(plan, values, error);
        if (status == SPY_OK && launch->count)
            status = spyi_variant_get(plan, values, false, &variant, &left, error);
        // Each pass of a backward call has its own variant.
        more = !left && status == SPY_OK && plan->bound.mode == SPY_CALL_MODE_BACKWARD && launch->count &&
               spyi_next_pass(launch);
    }
    launch->pass = 0;
    launch->finishes = false;
    return status;
}

// Makes the variants on a compile thread, for a plan that no other thread knows yet.
static spy_status spyi_prepare_variants(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    spyi_launch *launch = plan->launch;
    spy_status status = SPY_OK;
    launch->pass = 0;
    launch->finishes = false;
    bool more = true;
    while (more) { // each pass of a backward call has its own variant
        spyi_variant *variant = NULL;
        status = spyi_launch_shape(plan, values, error);
        if (status == SPY_OK && launch->count && !spyi_variant_find(plan, &launch->key)) {
            status = spyi_variant_create(plan, &launch->key, values, &variant, error);
            if (status == SPY_OK) status = spyi_plan_add_variant(plan, variant, error);
        }
        if (status == SPY_ERROR_NO_COMPILER && spyi_plan_note_absent(plan, &launch->key)) {
            spyi_text_free(error); // the pack may have the plain variant, which is tried next
            status = SPY_OK;
            launch->pass = 0;
            launch->finishes = false;
            continue;
        }
        more = status == SPY_OK && plan->bound.mode == SPY_CALL_MODE_BACKWARD && launch->count &&
               spyi_next_pass(launch);
    }
    launch->pass = 0;
    launch->finishes = false;
    return status;
}

// >>threads

static void spyi_prepare_thread(void *user) {
    spy_prepared *p = (spy_prepared *)user;
    spyi_turns *turns = &p->object.device->ctx.turns;
    spyi_note_thread(&p->outside.thread, spyi_thread_id());
    spyi_compile_patiently();
    p->made_status = spyi_plan_create(p->function, &p->values, &p->made, &p->made_error);
    if (p->made_status == SPY_OK) p->made_status = spyi_prepare_variants(p->made, &p->values, &p->made_error);
    spyi_atomic_store(&p->finished, 1);
    spyi_turns_notify(turns); // the device lives until it has joined the thread
}

SPYI_FN bool spyi_prepare_start(spy_prepared *p) {
    if (!p->values.items) return false;
    spyi_atomic_store(&p->finished, 0);
    spyi_outside_begin(p->object.device, &p->outside, p->function->module);
    // Plain calls with the same key wait for the thread instead of compiling the same kernels.
    p->outside.work = p->function;
    p->outside.key = p->values.key;
    p->outside.key_size = p->values.key_size;
    p->running = spyi_thread_start(&p->thread, spyi_prepare_thread, p);
    if (!p->running) spyi_outside_end(p->object.device, &p->outside);
    return p->running;
}

SPYI_FN bool spyi_prepared_outdated(const spy_prepared *p) {
    return p->generation != p->function->module->generation;
}

// Returns, with a reference, the plan that the thread made, or the equal plan that another call has put into
// the cache meanwhile.
static spyi_plan *spyi_prepared_enter(spy_prepared *p) {
    spy_device *device = p->object.device;
    spyi_plan *made = p->made;
    uint32_t size = p->values.key_size;
    spyi_plan *known = spyi_cache_find(device, p->function, &p->values);
    p->values.key_size = size; // removes the bytes that the look-up has added
    p->made = NULL;
    device->stats.kernels_built += made->variant_count;
    if (!known) {
        made->references++; // the cache's reference, which it drops when it cannot take the plan
        device->stats.plans_built += spyi_plan_insert(device, made, &p->values, size);
        p->values.key_size = size;
        return made;
    }
    for (uint32_t i = 0; i < made->variant_count; i++) { // the cached plan gets the variants that it lacks
        spyi_variant *variant = made->variants[i];
        spyi_text ignored = { NULL, 0, 0 };
        if (spyi_variant_find(known, &variant->key)) spyi_variant_free(device, variant);
        else
            spyi_plan_add_variant(known, variant, &ignored); // spyi_plan_add_variant() frees the variant
                                                             // when it fails
        spyi_text_free(&ignored);
    }
    made->variant_count = 0;
    spyi_plan_release(device, made);
    known->references++;
    return known;
}

SPYI_FN void spyi_prepare_join(spy_prepared *p) {
    if (!p->running) return;
    spy_device *device = p->object.device;
    spyi_thread_join(&p->thread);
    p->running = false;
    p->renewed = p->renewed || spyi_prepared_outdated(p);
    p->generation = p->function->module->generation; // reloads wait for the thread
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

SPYI_FN void spyi_prepare_wait(spy_prepared *p) {
    spy_device *device = p->object.device;
    spyi_atomic_add(&p->object.references, 1);
    if (p->queued) // the call is needed now
        spyi_await_work(device, p->function->module, p->function, p->values.key, p->values.key_size);
    if (p->queued) {
        p->queued = false;
        (void)spyi_prepare_start(p);
    }
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        if (!p->running || spyi_atomic_load(&p->finished)) break;
        spyi_await_outside(device, NULL, seen);
    }
    spyi_prepare_join(p);
    spyi_object_release(&p->object);
}

// >>preparing

SPYI_FN const spy_call_options *spyi_prepared_options(const spy_prepared *p) {
    return p->kept.given ? &p->kept.options : NULL;
}

// Makes a prepared call and adds it to the device's list; NULL when out of memory.
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

// Returns whether the cache has the plan, so that no thread needs to compile it.
static bool spyi_prepare_known(spy_prepared *p, spyi_values *values) {
    uint32_t size = values->key_size;
    bool known = spyi_cache_find(p->object.device, p->function, values) != NULL;
    values->key_size = size;
    return known;
}

SPYI_FN spy_status spyi_prepare_now(spy_prepared *p, spyi_values *values, spyi_text *error) {
    spyi_plan *plan = NULL;
    spy_status status = spyi_plan_get(p->function, values, &plan, error);
    if (status != SPY_OK) return status;
    plan->references++; // taken before the device is left
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

SPYI_FN bool spyi_prepared_remember(spy_prepared *p, const spyi_values *values) {
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
    // A device that records a pack takes note of kernels on the calling thread.
    bool async = desc && desc->async && !spyi_is_recording(p->object.device);
    if (async && spyi_is_under_way(p->object.device, p->function, values->key, values->key_size)) {
        p->queued = true; // another prepared call makes the same plan
        return SPY_OK;
    }
    if (async && !spyi_prepare_known(p, values) && spyi_prepare_start(p)) return SPY_OK;
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
    spyi_retire_object(device, &p->object, sizeof *p);
}

void spy_retain_prepared(spy_prepared *prepared) {
    spyi_object_retain(prepared, SPYI_KIND_PREPARED, "spy_retain_prepared");
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
