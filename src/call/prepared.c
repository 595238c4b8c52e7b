// Calls and reloads of prepared calls. A reload compiles them again on threads.
#include "call/prepare.h"
#include "call/run.h"

// >>reloads

// Most threads at a time that compile reloaded code: a program may have prepared thousands of calls, and each
// thread is started within a frame.
#define SPYI_MOST_RENEWING 4

static bool spyi_prepared_is_renewed(const spy_prepared *p) {
    return p->queued || (p->running && spyi_prepared_outdated(p));
}

// Takes the plan from the cache, if another call has made it.
static bool spyi_prepared_take_known(spy_prepared *p) {
    uint32_t size = p->values.key_size;
    spyi_plan *known = spyi_cache_find(p->object.device, p->function, &p->values);
    p->values.key_size = size;
    if (!known || p->plan) return false;
    known->references++;
    p->plan = known;
    p->status = SPY_OK;
    p->generation = known->generation;
    return true;
}

static void spyi_prepared_start_queued(spy_device *device) {
    int running = 0;
    spy_prepared *p;
    for (p = device->prepared; p; p = p->next) running += p->running;
    for (p = device->prepared; p && running < SPYI_MOST_RENEWING; p = p->next) {
        if (!p->queued || spyi_is_under_way(device, p->function, p->values.key, p->values.key_size)) continue;
        p->queued = false;
        if (!spyi_prepared_take_known(p))
            running += spyi_prepare_start(p); // if no thread starts, the next call compiles
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

// Reports the error of a failed compilation; each call of the function reports it again.
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
    uint32_t end = spyi_values_given(values), number = 0;
    for (uint32_t i = 0; i < end; i = spyi_value_end(values->items, i)) {
        if (i < values->count) spyi_text_add(error, "  argument %u: ", ++number);
        else spyi_text_add(error, "  global '%s': ", values->items[i].name);
        spyi_value_text(&values->items[i], error);
        spyi_text_add(error, "\n");
    }
    return SPY_ERROR_TYPE_MISMATCH;
}

// Returns whether the plan was made for arguments with this key. The key of a plan whose types depend on
// sizes includes the sizes, which are then added to the values' key.
static bool spyi_prepared_fits(const spyi_plan *plan, spyi_values *values, spy_status *status) {
    uint32_t size = values->key_size;
    if (plan->bound.sizes && plan->key_size > size && memcmp(plan->key, values->key, size) == 0 &&
        !spyi_key_add_sizes(values, plan->bound.sizes))
        *status = SPY_ERROR_OUT_OF_MEMORY;
    return plan->key_size == values->key_size && memcmp(plan->key, values->key, values->key_size) == 0;
}

// Makes a call that spyi_call_again() could not repeat. Returns SPY_ERROR_NOT_READY without an error text if
// the plan at hand cannot make the call and the thread that compiles the new code must be waited for.
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
            (void)spyi_prepared_remember(p, values); // a running thread still reads the old
                                                     // copies
        fits = true;
    }
    if (fits && !spyi_prepared_fits(p->plan, values, &status)) fits = false; // adds the sizes to the key
    if (status == SPY_OK && !fits) return spyi_prepared_mismatch(p->plan, values, error);
    if (status == SPY_OK) status = spyi_run(p->plan, values, NULL, false, NULL, error);
    if (status == SPY_OK && !renewed) p->renewed = false;
    return status;
}

// Waits for a first compilation, and takes over the results of a thread that has finished. Reports the error
// of a compilation of the current code; after a reload, spyi_prepared_run() compiles anew instead.
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
    bool again = current && spyi_call_again(prepared->plan, args, &status, &error);
    while (!again) {
        status = spyi_prepared_run(prepared, args, &error);
        if (status != SPY_ERROR_NOT_READY || error.size || !spyi_prepared_outdated(prepared)) break;
        if (prepared->running || prepared->queued) spyi_prepare_wait(prepared);
    }
    if (status != SPY_OK)
        spyi_fail(&device->ctx, status, "%s: %s: %s", name, prepared->function->name, spyi_text_str(&error));
    spyi_text_free(&error);
    if (SPYI_LIKELY(device->summed_count == 0)) {
        spyi_leave(device);
        return status;
    }
    spyi_summed summed[SPYI_MOST_SUMMED];
    uint32_t count = spyi_sums_take(device, summed);
    spyi_leave(device);
    return spyi_sums_finish(device, summed, count, NULL, status, name);
}
