// Reload: new code for living modules. Functions hold names, so that only what was found by them is found again; plans
// of the old code leave the cache, and go once the GPU has finished with them.
#include "data/device.h"

typedef struct spyi_reload_event { // for the hook
    spy_module *module;            // retained
    spy_status status;
    char *message;
} spyi_reload_event;

typedef struct spyi_reload_run { // one public call
    spy_device *device;
    const char *function;
    spy_status status; // of the first failure
    spy_reload_info info;
    spyi_reload_event *events;
    size_t event_count;
} spyi_reload_run;

// A reference more, unless another thread has just dropped the last one.
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
        (spyi_reload_event *)realloc(run->events, (run->event_count + 1) * sizeof *grown);
    if (!grown) return;
    run->events = grown;
    if (!spyi_reload_hold(module)) return;
    grown[run->event_count].module = module;
    grown[run->event_count].status = status;
    grown[run->event_count++].message = spyi_strdup(message);
}

// Ends a public call: outside of the device, so that the hook may use it.
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

// >>which modules

static bool spyi_reload_needed(const spy_module *module) {
    return module->stale || spyi_unit_changed(module->unit);
}

// Marks a module, and of those that it links whatever has changed: their code is a part of its own.
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
            if (m->reloading || !spyi_reload_uses_marked(m)) continue;
            spyi_reload_mark(m, true);
            more = true;
        }
    }
}

// >>one reload

static spy_status spyi_reload_compile(spy_module *module, const char *source, spyi_text *error) {
    spyi_unit **link = (spyi_unit **)malloc((module->link_count + 1) * sizeof *link);
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

// The old code gives way. Nothing can fail any more: a function that is not found again stays as a name.
static void spyi_reload_replace(spy_module *module) {
    spy_device *device = module->object.device;
    spyi_unit_release(module->unit);
    module->unit = module->fresh;
    module->fresh = NULL;
    module->generation++;
    for (spy_function *f = module->functions; f; f = f->next) {
        spyi_text ignored = { NULL, 0, 0 };
        spyi_cache_forget_function(device, f);
        spyi_overloads_free(&f->overloads);
        f->entry_known = false;
        if (spyi_unit_find_function(module->unit, f->name, &f->overloads, &ignored) != SPY_OK ||
            f->overloads.count == 0)
            spyi_overloads_free(&f->overloads);
        spyi_text_free(&ignored);
    }
}

// Replaces `root` and all that depends on it, or nothing.
static void spyi_reload_run_one(spyi_reload_run *run, spy_module *root, const char *source) {
    spy_device *device = run->device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spyi_reload_mark(root, true);
    spyi_reload_mark_users(device);
    spy_module *oldest = device->modules, *failed = NULL;
    while (oldest->next) oldest = oldest->next;
    for (spy_module *m = oldest; m && status == SPY_OK;
         m = m->previous) { // those linked before those that link
        if (!m->reloading) continue;
        status = spyi_reload_compile(m, m == root ? source : NULL, &error);
        if (status != SPY_OK) failed = m;
    }
    if (status == SPY_OK) spyi_prepared_settle(device);
    for (spy_module *m = oldest; m; m = m->previous) {
        if (!m->reloading) continue;
        m->reloading = false;
        m->stale = m->tried = status != SPY_OK;
        if (status == SPY_OK) {
            spyi_reload_replace(m);
            run->info.reloaded++;
            spyi_logf(&device->ctx, SPY_LOG_INFO, "module '%s' has been reloaded", m->name);
            spyi_reload_tell(run, m, SPY_OK, "");
        } else if (m != failed) { // its files count as seen until they change again, as the failed one's do
            spyi_unit_give_up(m->unit, m->fresh);
            m->fresh = NULL;
        }
    }
    if (failed) {
        run->info.failed++;
        if (run->status == SPY_OK) run->status = status;
        spyi_fail(&device->ctx, status, "%s: module '%s' keeps its code: %s", run->function, root->name,
                  spyi_text_str(&error));
        spyi_reload_tell(run, failed, status, spyi_text_str(&error));
    }
    spyi_text_free(&error);
}

// >>the public functions

spy_status spy_reload_module(spy_module *module, const char *source) {
    const char *function = "spy_reload_module";
    spy_status entered = spyi_enter(module, SPYI_KIND_MODULE, function);
    if (entered != SPY_OK) return entered;
    spyi_reload_run run;
    memset(&run, 0, sizeof run);
    run.device = module->object.device;
    run.function = function;
    spyi_reload_run_one(&run, module, source);
    spyi_reload_finish(&run);
    return run.status;
}

spy_status spy_poll_reload(spy_device *device, uint64_t interval_ns, spy_reload_info *info) {
    const char *function = "spy_poll_reload";
    if (info) memset(info, 0, sizeof *info);
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spyi_reload_run run;
    memset(&run, 0, sizeof run);
    run.device = device;
    run.function = function;
    uint64_t now = spyi_time_ns();
    if (interval_ns == 0 || !device->reload_looked_ns || now - device->reload_looked_ns >= interval_ns) {
        device->reload_looked_ns = now;
        spy_module *oldest = NULL;
        bool changed = false;
        for (spy_module *m = device->modules; m; oldest = m, m = m->next) {
            m->tried = false;
            changed = changed || spyi_unit_changed(m->unit);
        }
        // What failed before may have failed for what has changed now.
        for (spy_module *m = changed ? oldest : NULL; m; m = m->previous)
            if (!m->tried && spyi_reload_needed(m)) spyi_reload_run_one(&run, m, NULL);
    }
    if (info) *info = run.info;
    spyi_reload_finish(&run);
    return run.status;
}
