// Reload: gives living modules new code. A function keeps its name, by which its overloads are found again in
// the new code. Plans of the old code leave the cache and are freed once the GPU has finished with them.
//
// The work is a job: a module and all that depends on it, compiled outside of the device on a thread of its
// own (spy_poll_reload) or on the caller's (spy_reload_module, spy_reload_changed), and put in place of the
// old code within the device, which takes microseconds. A device has one job at a time.
#include "module/module.h"

typedef struct spyi_reload_event { // one call of the hook, which is to be made later
    spy_module *module;            // the event holds one reference
    spy_status status;
    char *message;
} spyi_reload_event;

typedef struct spyi_reload_run { // the state of one public call
    spy_device *device;
    const char *function;
    spy_status status; // the status of the first failure
    spy_reload_info info;
    spyi_reload_event *events;
    size_t event_count;
} spyi_reload_run;

typedef struct spyi_reload_function {
    spy_function *function;
    spyi_overloads overloads; // the overloads in the new code
    bool known;
} spyi_reload_function;

typedef struct spyi_reload_part { // one module of a job
    spy_module *module;           // the part holds one reference
    spyi_reload_function *functions;
    size_t function_count;
} spyi_reload_part;

struct spyi_reload_job {
    spy_device *device;
    spyi_reload_part *parts; // a module comes after those that it links
    size_t count;
    spy_module *root;
    char *source; // the root's new text; NULL means the text from which it was made
    bool compiled;
    spy_status status;
    size_t failed; // the index of the part that failed
    spyi_text error;
    spyi_dropped_unit *dropped; // the device's dropped units, which the job releases
    spyi_outside outside;
    bool threaded;
    spyi_thread thread;
    spyi_atomic finished;
};

// Adds a reference; false means that another thread has just released the last one.
static bool spyi_reload_hold(spy_module *module) {
    spyi_atomic *references = &module->object.references;
    for (int32_t n = spyi_atomic_load(references); n > 0; n = spyi_atomic_load(references))
        if (spyi_atomic_swap_if(references, n, n + 1)) return true;
    return false;
}

static void spyi_reload_tell(spyi_reload_run *run, spy_module *module, spy_status status,
                             const char *message) {
    if (!run->device->reload.func) return;
    spyi_reload_event *grown =
        (spyi_reload_event *)spyi_realloc(run->events, (run->event_count + 1) * sizeof *grown);
    if (!grown) return;
    run->events = grown;
    if (!spyi_reload_hold(module)) return;
    grown[run->event_count].module = module;
    grown[run->event_count].status = status;
    grown[run->event_count++].message = spyi_strdup(message);
}

// Ends a public call: leaves the device and then calls the hook, which may use the device.
static void spyi_reload_finish(spyi_reload_run *run) {
    spy_reload_hook hook = run->device->reload;
    spyi_leave(run->device);
    for (size_t i = 0; i < run->event_count; i++) {
        spyi_reload_event *event = &run->events[i];
        hook.func(event->module, event->status, event->message ? event->message : "", hook.user_data);
        free(event->message);
        spyi_object_release(&event->module->object);
    }
    free(run->events);
}

// >>which modules to reload

static bool spyi_reload_needed(const spy_module *module) {
    return !module->fixed && (module->stale || spyi_unit_changed(module->unit));
}

// Marks a module if `needed`, and the modules that it links if they need a reload, since its code contains
// theirs.
static void spyi_reload_mark(spy_module *module, bool needed) {
    if (module->reloading) return;
    module->reloading = needed;
    for (size_t i = 0; i < module->link_count; i++)
        spyi_reload_mark(module->link[i], spyi_reload_needed(module->link[i]));
}

static bool spyi_reload_uses_marked(const spy_module *module) {
    for (size_t i = 0; i < module->link_count; i++)
        if (module->link[i]->reloading) return true;
    for (const spy_module *m = module->object.device->modules; m; m = m->next)
        if (m->reloading && spyi_unit_reads(module->unit, m->unit)) return true;
    return false;
}

static void spyi_reload_mark_users(spy_device *device) {
    for (bool more = true; more;) {
        more = false;
        for (spy_module *m = device->modules; m; m = m->next) {
            if (m->reloading || m->fixed || !spyi_reload_uses_marked(m)) continue;
            spyi_reload_mark(m, true);
            more = true;
        }
    }
}

// >>the job, outside of the device

static spy_status spyi_reload_compile(spy_module *module, const char *source, spyi_text *error) {
    spyi_unit **link = (spyi_unit **)spyi_malloc((module->link_count + 1) * sizeof *link);
    if (!link) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < module->link_count; i++)
        link[i] = module->link[i]->fresh ? module->link[i]->fresh : module->link[i]->unit;
    spy_status status = spyi_unit_reload(module->unit, source, link, &module->fresh, error);
    free(link);
    return status;
}

// Finds the functions again in the new code. A function that the new code lacks keeps its name and has no
// overloads.
static spy_status spyi_reload_look_up(spyi_reload_part *part, spyi_text *error) {
    for (size_t i = 0; i < part->function_count; i++) {
        spyi_reload_function *f = &part->functions[i];
        spyi_text problem = { NULL, 0, 0 };
        if (f->known) continue;
        uint32_t failed = spyi_failed_allocations();
        spy_status status =
            spyi_unit_find_function(part->module->fresh, f->function->name, &f->overloads, &problem);
        if (status != SPY_OK) spyi_overloads_free(&f->overloads);
        status = spyi_check_allocations(failed, status, &problem);
        f->known = status == SPY_OK;
        if (!f->known) spyi_text_add(error, "%s", spyi_text_str(&problem));
        spyi_text_free(&problem);
        if (!f->known) return status;
    }
    return SPY_OK;
}

// Drops the new code. Its modules count as unchanged until their files change again, as after a failed
// compilation.
static void spyi_reload_give_up(spyi_reload_job *job) {
    for (size_t i = 0; i < job->count; i++) {
        spy_module *m = job->parts[i].module;
        if (m->fresh) spyi_unit_give_up(m->unit, m->fresh);
        m->fresh = NULL;
    }
}

static void spyi_reload_work(void *user) {
    spyi_reload_job *job = (spyi_reload_job *)user;
    spyi_note_thread(&job->outside.thread, spyi_thread_id());
    spyi_release_units(&job->device->ctx, job->dropped);
    job->dropped = NULL;
    for (size_t i = 0; i < job->count && job->status == SPY_OK && !job->compiled; i++) {
        spy_module *m = job->parts[i].module;
        job->status = spyi_reload_compile(m, m == job->root ? job->source : NULL, &job->error);
        if (job->status != SPY_OK) job->failed = i;
    }
    job->compiled = true;
    for (size_t i = 0; i < job->count && job->status == SPY_OK; i++) {
        job->status = spyi_reload_look_up(&job->parts[i], &job->error);
        if (job->status != SPY_OK) job->failed = i;
    }
    if (job->status != SPY_OK) spyi_reload_give_up(job);
    spyi_atomic_store(&job->finished, 1);
    if (job->threaded)
        spyi_turns_notify(&job->device->ctx.turns); // the device stays until the thread has been joined
}

// >>the job, within the device

static void spyi_reload_job_free(spyi_reload_job *job) {
    for (size_t i = 0; i < job->count; i++) {
        spyi_reload_part *part = &job->parts[i];
        for (size_t f = 0; f < part->function_count; f++) spyi_overloads_free(&part->functions[f].overloads);
        free(part->functions);
        part->module->reloading = false;
        spyi_object_release(&part->module->object);
    }
    if (job->device->reload_job == job) job->device->reload_job = NULL;
    spyi_release_units(&job->device->ctx, job->dropped);
    spyi_text_free(&job->error);
    free(job->parts);
    free(job->source);
    free(job);
}

// Adds the functions that the module has by now to the part; *more becomes true if there are new ones.
// Returns false when out of memory.
static bool spyi_reload_note_functions(spyi_reload_part *part, bool *more) {
    size_t count = 0, old = part->function_count;
    for (spy_function *f = part->module->functions; f; f = f->next) count++;
    if (count == old) return true;
    spyi_reload_function *grown =
        (spyi_reload_function *)spyi_realloc(part->functions, count * sizeof *grown);
    if (!grown) return false;
    memset(grown + old, 0, (count - old) * sizeof *grown);
    size_t at = count; // new functions come first in the module's list, and last in this array
    for (spy_function *f = part->module->functions; at > old; f = f->next) grown[--at].function = f;
    part->functions = grown;
    part->function_count = count;
    *more = true;
    return true;
}

// Returns a job for `root` and all modules that depend on it; NULL when out of memory.
static spyi_reload_job *spyi_reload_job_new(spy_device *device, spy_module *root, const char *source) {
    spyi_reload_job *job = (spyi_reload_job *)spyi_calloc(1, sizeof *job);
    spy_module *oldest = device->modules;
    size_t count = 0;
    bool more = false, good = job != NULL;
    if (!good) return NULL;
    spyi_reload_mark(root, true);
    spyi_reload_mark_users(device);
    for (spy_module *m = device->modules; m; m = m->next) {
        count += m->reloading;
        oldest = m;
    }
    job->device = device;
    job->root = root;
    job->source = spyi_strdup(source);
    job->parts = (spyi_reload_part *)spyi_calloc(count, sizeof *job->parts);
    good = job->parts && (job->source || !source);
    for (spy_module *m = oldest; m && good; m = m->previous) {
        if (!m->reloading) continue;
        job->parts[job->count].module = m;
        spyi_atomic_add(&m->object.references, 1);
        good = spyi_reload_note_functions(&job->parts[job->count++], &more);
    }
    if (good) return job;
    spyi_reload_job_free(job);
    for (spy_module *m = device->modules; m; m = m->next) m->reloading = false;
    return NULL;
}

// Starts the job on a thread, or does it on this one, which leaves the device meanwhile.
static void spyi_reload_start(spyi_reload_job *job, bool background) {
    spy_device *device = job->device;
    spyi_atomic_store(&job->finished, 0);
    job->dropped = device->dropped_units;
    device->dropped_units = NULL;
    device->reload_job = job;
    job->threaded = background;
    if (background) {
        spyi_outside_begin(device, &job->outside, NULL);
        if (spyi_thread_start(&job->thread, spyi_reload_work, job)) return;
        spyi_outside_end(device, &job->outside);
        job->threaded = false;
    }
    spyi_step_out(device, &job->outside, NULL);
    spyi_reload_work(job);
    spyi_step_in(device, &job->outside);
}

static void spyi_reload_join(spyi_reload_job *job) {
    if (!job->threaded) return;
    spyi_thread_join(&job->thread);
    spyi_outside_end(job->device, &job->outside);
    job->threaded = false;
}

// Replaces the module's code and its functions' overloads by the new ones. Nothing here can fail.
static void spyi_reload_replace(spyi_reload_part *part) {
    spy_module *module = part->module;
    spy_device *device = module->object.device;
    spyi_drop_unit(device, module->unit);
    module->unit = module->fresh;
    module->fresh = NULL;
    module->generation++;
    for (size_t i = 0; i < part->function_count; i++) {
        spy_function *f = part->functions[i].function;
        device->listener->forget(device, f);
        spyi_overloads_free(&f->overloads);
        f->overloads = part->functions[i].overloads;
        f->entry_known = false;
        memset(&part->functions[i].overloads, 0, sizeof f->overloads);
    }
}

static void spyi_reload_failed(spyi_reload_run *run, spyi_reload_job *job) {
    spy_module *failed = job->parts[job->failed].module;
    for (size_t i = 0; i < job->count; i++) job->parts[i].module->stale = job->parts[i].module->tried = true;
    run->info.failed++;
    if (run->status == SPY_OK) run->status = job->status;
    spyi_fail(&run->device->ctx, job->status, "%s: module '%s' keeps its code: %s", run->function,
              job->root->name, spyi_text_str(&job->error));
    spyi_reload_tell(run, failed, job->status, spyi_text_str(&job->error));
}

// Ends the device's job if it has finished: replaces the code of all of its modules, or of none. Returns
// false when the job still compiles, or when other work still compiles with the old code.
static bool spyi_reload_collect(spyi_reload_run *run, bool background) {
    spy_device *device = run->device;
    spyi_reload_job *job = device->reload_job;
    if (!spyi_atomic_load(&job->finished)) return false;
    if (job->status == SPY_OK) {
        bool more = false, good = true;
        device->listener->collect(device);
        for (size_t i = 0; i < job->count; i++) {
            if (job->parts[i].module->users) return false;
            good = good && spyi_reload_note_functions(&job->parts[i], &more);
        }
        if (good && more) { // users have found functions while the job compiled
            spyi_reload_join(job);
            spyi_reload_start(job, background);
            return !background && spyi_reload_collect(run, background);
        }
        if (!good) {
            job->status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&job->error, "out of host memory");
            spyi_reload_give_up(job);
        }
    }
    spyi_reload_join(job);
    if (job->status == SPY_OK) {
        for (size_t i = 0; i < job->count; i++) {
            spy_module *m = job->parts[i].module;
            m->stale = m->tried = false;
            spyi_reload_replace(&job->parts[i]);
            run->info.reloaded++;
            spyi_logf(&device->ctx, SPY_LOG_LEVEL_INFO, "module '%s' has been reloaded", m->name);
            spyi_reload_tell(run, m, SPY_OK, "");
        }
        for (spy_module *m = device->modules; m; m = m->next) {
            if (m->reloading || m->fixed || !spyi_reload_uses_marked(m)) continue;
            m->stale = device->reload_looking = true; // the module was loaded with the old code while the job
                                                      // compiled
            m->tried = false;
        }
        device->listener->reloaded(device);
    } else {
        spyi_reload_failed(run, job);
    }
    spyi_reload_job_free(job);
    return true;
}

SPYI_FN void spyi_reload_abandon(spy_device *device) {
    spyi_reload_job *job = device->reload_job;
    if (!job) return;
    spyi_block(&device->ctx, true);
    spyi_reload_join(job);
    spyi_block(&device->ctx, false);
    for (size_t i = 0; i < job->count; i++) {
        if (job->parts[i].module->fresh) spyi_unit_release(job->parts[i].module->fresh);
        job->parts[i].module->fresh = NULL;
    }
    spyi_reload_job_free(job);
}

// >>looking for changes

static void spyi_reload_look(spy_device *device) {
    device->reload_looked_ns = spyi_time_ns();
    for (spy_module *m = device->modules; m; m = m->next) {
        m->tried = false;
        device->reload_looking = device->reload_looking || (!m->fixed && spyi_unit_changed(m->unit));
    }
}

// Starts a job for the next module that needs a reload, the oldest first. A module whose reload failed before
// is tried again, since other files have changed.
static void spyi_reload_next(spyi_reload_run *run, bool background) {
    spy_device *device = run->device;
    spy_module *m = device->modules;
    while (m && m->next) m = m->next;
    while (m && (m->tried || !spyi_reload_needed(m))) m = m->previous;
    device->reload_looking = m != NULL;
    if (!m) return;
    spyi_reload_job *job = spyi_reload_job_new(device, m, NULL);
    if (job) {
        spyi_reload_start(job, background);
        return;
    }
    device->reload_looking = false;
    run->status = spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", run->function);
}

// Leaves the device until the running job has ended, then puts its result in place.
static void spyi_reload_finish_job(spyi_reload_run *run) {
    spy_device *device = run->device;
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        if (!device->reload_job || spyi_reload_collect(run, false)) return;
        spyi_await_outside(device, NULL, seen);
    }
}

static void spyi_reload_finish_all(spyi_reload_run *run) {
    for (spyi_reload_finish_job(run); run->device->reload_looking; spyi_reload_finish_job(run))
        spyi_reload_next(run, false);
}

// Leaves the device until the prepared calls have their new code.
static void spyi_reload_await_prepared(spy_device *device) {
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        device->listener->collect(device);
        if (!device->listener->renewing(device)) return;
        spyi_await_outside(device, NULL, seen);
    }
}

// >>the public functions

static spy_status spyi_reload_enter(spyi_reload_run *run, const void *object, spyi_kind kind,
                                    const char *function) {
    memset(run, 0, sizeof *run);
    run->function = function;
    run->status = spyi_enter(object, kind, function);
    if (run->status == SPY_OK) run->device = ((const spyi_object *)object)->device;
    return run->status;
}

spy_status spy_reload_module(spy_module *module, const char *source) {
    spyi_reload_run run;
    if (spyi_reload_enter(&run, module, SPYI_KIND_MODULE, "spy_reload_module") != SPY_OK) return run.status;
    spy_device *device = run.device;
    spyi_reload_finish_all(&run); // ends a reload that another thread has begun
    run.status = SPY_OK;
    spyi_reload_job *job = spyi_reload_job_new(device, module, source);
    if (job) {
        spyi_reload_start(job, false);
        spyi_reload_finish_all(&run);
        spyi_reload_await_prepared(device);
    } else {
        run.status = spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", run.function);
    }
    spyi_reload_finish(&run);
    return run.status;
}

static bool spyi_reload_due(const spy_device *device, uint64_t interval_ns) {
    return interval_ns == 0 || !device->reload_looked_ns ||
           spyi_time_ns() - device->reload_looked_ns >= interval_ns;
}

spy_status spy_reload_changed(spy_device *device, uint64_t interval_ns, spy_reload_info *info) {
    spyi_reload_run run;
    if (info) memset(info, 0, sizeof *info);
    if (spyi_reload_enter(&run, device, SPYI_KIND_DEVICE, "spy_reload_changed") != SPY_OK) return run.status;
    if (spyi_reload_due(device, interval_ns)) {
        spyi_reload_finish_all(&run); // ends a reload that another thread has begun
        spyi_reload_look(device);
        spyi_reload_finish_all(&run);
        spyi_reload_await_prepared(device);
    }
    if (info) *info = run.info;
    spyi_reload_finish(&run);
    return run.status;
}

spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info) {
    spyi_reload_run run;
    if (info) memset(info, 0, sizeof *info);
    if (spyi_reload_enter(&run, device, SPYI_KIND_DEVICE, "spy_poll_reload") != SPY_OK) return run.status;
    if (!device->reload_job || spyi_reload_collect(&run, true)) {
        if (!device->reload_looking && spyi_reload_due(device, interval_ns)) spyi_reload_look(device);
        if (device->reload_looking) spyi_reload_next(&run, true);
    }
    device->listener->collect(device);
    if (device->reload_job) run.info.compiling = (uint32_t)device->reload_job->count;
    else if (device->listener->renewing(device)) run.info.compiling = 1;
    if (info) *info = run.info;
    spyi_reload_finish(&run);
    return run.status;
}
