// The device: creation, release, the guard that every public function passes, and what the device tells of itself.
#include "data/bounds.h"
#include "data/gpu_print.h"

#include "slang/embed.h"

// Our side in Slang: what `import slangpy;` finds, and the files that it includes.
static const spyi_embedded spyi_slang_files[] = { SPYI_SLANG_FILES };

// >>the guard

SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind) {
    spyi_object *o = (spyi_object *)object;
    return o && o->kind == (uint32_t)kind ? o : NULL;
}

static const char *spyi_kind_name(uint32_t kind) {
    switch (kind) {
    case SPYI_KIND_DEVICE: return "device";
    case SPYI_KIND_MODULE: return "module";
    case SPYI_KIND_FUNCTION: return "function";
    case SPYI_KIND_TENSOR: return "tensor";
    case SPYI_KIND_PREPARED: return "prepared call";
    case SPYI_KIND_CURSOR: return "cursor";
    case SPYI_KIND_LIST: return "command list";
    default: return "unknown object";
    }
}

static spy_status spyi_released(const char *function, const char *expected) {
    return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the %s has been released", function, expected);
}

static void spyi_queue_release(spyi_object *object);

static spyi_object *spyi_take_releases(spy_device *device) {
    spyi_mutex_lock(&device->release_lock);
    spyi_object *queue = device->release_queue;
    device->release_queue = NULL;
    spyi_atomic_store(&device->release_count, 0);
    spyi_mutex_unlock(&device->release_lock);
    return queue;
}

static void spyi_free_releases(spyi_object *queue) {
    while (queue) {
        spyi_object *object = queue;
        queue = object->release_next;
        if (object->released_kind == (uint32_t)SPYI_KIND_PREPARED &&
            spyi_prepared_compiles((struct spy_prepared *)(void *)object)) { // goes once its thread has ended
            spyi_queue_release(object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_TENSOR) {
            spyi_tensor_unlink((spy_tensor *)(void *)object);
            spyi_tensor_free((spy_tensor *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_MODULE) {
            spyi_module_free((spy_module *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_CURSOR) {
            spyi_cursor_range_free((struct spyi_cursor_range *)(void *)object);
        } else if (object->released_kind == (uint32_t)SPYI_KIND_LIST) {
            spyi_list_free((struct spy_command_list *)(void *)object);
        } else {
            spyi_prepared_free((struct spy_prepared *)(void *)object);
        }
    }
}

SPYI_FN void spyi_drain_releases(spy_device *device) {
    spyi_free_releases(spyi_take_releases(device));
}

// Frees what was released, inside the device. False: that was the object itself, or the module of this function.
static bool spyi_outlives_releases(spy_device *device, const spyi_object *o) {
    // The queue is taken before the object is looked at: what is released from now on is freed by a later call.
    spyi_object *queue = spyi_take_releases(device);
    bool function = o->kind == (uint32_t)SPYI_KIND_FUNCTION;
    spy_module *module = function ? ((const spy_function *)(const void *)o)->module : NULL;
    bool lives = o->kind != (uint32_t)SPYI_KIND_DEAD && !(module && module->object.kind == (uint32_t)SPYI_KIND_DEAD);
    bool held = lives && module; // what goes may be its last user
    if (held) spyi_atomic_add(&module->object.references, 1);
    spyi_free_releases(queue);
    if (!held || spyi_atomic_add(&module->object.references, -1) > 0) return lives;
    spyi_module_free(module);
    return false;
}

static void spyi_on_turn_blocks(void *user, bool begins) {
    spyi_block((spyi_context *)user, begins);
}

// Kept by the thread, which can ask without the device, and by the device, as all that is refused.
static spy_status spyi_refuse_callback(spyi_context *ctx, const char *function) {
    const char *format = "%s: this thread is in a call of device '%s' already: a callback must not use the device";
    spyi_fail(NULL, SPY_ERROR_BUSY, format, function, ctx->label);
    return spyi_fail(ctx, SPY_ERROR_BUSY, format, function, ctx->label);
}

// The turn was not free.
static spy_status spyi_enter_later(spy_device *device, const char *function) {
    spyi_context *ctx = &device->ctx;
    switch (spyi_turns_wait(&ctx->turns, spyi_on_turn_blocks, ctx)) {
    case SPYI_TURN_TAKEN: return SPY_OK;
    case SPYI_TURN_MINE: return spyi_refuse_callback(ctx, function);
    case SPYI_TURN_FORKED: return spyi_forked(ctx, function);
    default: return spyi_released(function, "device");
    }
}

// Whether this thread is in a call that works outside of the device: then it comes from a callback.
static bool spyi_is_outside(const spy_device *device) {
    const spyi_outside *o = device->outside;
    uintptr_t me = o ? spyi_thread_id() : 0;
    while (o && spyi_noted_thread(&o->thread) != me) o = o->next;
    return o != NULL;
}

SPYI_FN spy_status spyi_refuse_object(const void *object, spyi_kind kind, const char *function) {
    const char *expected = spyi_kind_name((uint32_t)kind);
    const spyi_object *o = (const spyi_object *)object;
    if (!o)
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s, got NULL", function, expected);
    if (o->kind == (uint32_t)SPYI_KIND_DEAD) return spyi_released(function, expected);
    return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s, got a %s", function, expected,
                     spyi_kind_name(o->kind));
}

SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function) {
    const spyi_object *o = (const spyi_object *)object;
    if (SPYI_LIKELY(o && o->kind == (uint32_t)kind)) {
        spy_device *device = o->device;
        spy_status status =
            SPYI_LIKELY(spyi_turns_try(&device->ctx.turns)) ? SPY_OK : spyi_enter_later(device, function);
        if (SPYI_LIKELY(status == SPY_OK && spyi_atomic_load(&device->release_count) == 0 && !device->outside))
            return SPY_OK;
        if (status != SPY_OK) return status;
        if (spyi_is_outside(device)) {
            spyi_leave(device);
            return spyi_refuse_callback(&device->ctx, function);
        }
        if (spyi_atomic_load(&device->release_count) == 0 || spyi_outlives_releases(device, o)) return SPY_OK;
        spyi_leave(device);
        return spyi_released(function, spyi_kind_name((uint32_t)kind));
    }
    return spyi_refuse_object(object, kind, function);
}

SPYI_FN void spyi_leave(const void *object) {
    spyi_turns_leave(&((const spyi_object *)object)->device->ctx.turns);
}

// >>work outside of the device

SPYI_FN void spyi_outside_begin(spy_device *device, spyi_outside *outside, spy_module *module) {
    memset(outside, 0, sizeof *outside);
    outside->next = device->outside;
    if (outside->next) outside->next->previous = outside;
    device->outside = outside;
    outside->module = module;
    if (!module) return;
    module->users++;
    spyi_atomic_add(&module->object.references, 1);
}

SPYI_FN void spyi_outside_end(spy_device *device, spyi_outside *outside) {
    if (outside->previous) outside->previous->next = outside->next;
    else device->outside = outside->next;
    if (outside->next) outside->next->previous = outside->previous;
    if (outside->module) {
        outside->module->users--;
        spyi_object_release(&outside->module->object);
    }
    spyi_turns_notify(&device->ctx.turns);
}

SPYI_FN void spyi_release_units(spyi_context *ctx, spyi_dropped_unit *dropped) {
    while (dropped) {
        spyi_dropped_unit *next = dropped->next;
        spyi_unit_release(dropped->unit);
        spyi_free(ctx, dropped, sizeof *dropped);
        dropped = next;
    }
}

SPYI_FN void spyi_step_out_to_make(spy_device *device, spyi_outside *outside, spy_module *module,
                                   const void *work, const void *key, size_t key_size) {
    spyi_dropped_unit *dropped = device->dropped_units;
    device->dropped_units = NULL;
    spyi_outside_begin(device, outside, module);
    outside->thread = spyi_thread_id();
    outside->work = work;
    outside->key = key;
    outside->key_size = key_size;
    spyi_leave(device);
    spyi_release_units(&device->ctx, dropped);
}

SPYI_FN void spyi_step_out(spy_device *device, spyi_outside *outside, spy_module *module) {
    spyi_step_out_to_make(device, outside, module, NULL, NULL, 0);
}

static void spyi_come_back(spy_device *device) {
    spyi_turns *turns = &device->ctx.turns;
    if (!spyi_turns_try(turns)) (void)spyi_turns_wait(turns, spyi_on_turn_blocks, &device->ctx);
}

SPYI_FN void spyi_step_in(spy_device *device, spyi_outside *outside) {
    spyi_come_back(device);
    spyi_outside_end(device, outside);
}

static void spyi_await(spy_device *device, int32_t seen) {
    spyi_turns_await(&device->ctx.turns, seen, spyi_on_turn_blocks, &device->ctx);
}

SPYI_FN void spyi_await_outside(spy_device *device, spy_module *module, int32_t seen) {
    spyi_outside waiting;
    spyi_outside_begin(device, &waiting, module);
    waiting.thread = spyi_thread_id();
    spyi_await(device, seen);
    spyi_outside_end(device, &waiting);
}

SPYI_FN bool spyi_is_under_way(const spy_device *device, const void *work, const void *key, size_t key_size) {
    const spyi_outside *o = device->outside;
    while (o && (o->work != work || o->key_size != key_size || memcmp(o->key, key, key_size) != 0)) o = o->next;
    return o != NULL;
}

SPYI_FN void spyi_await_work(spy_device *device, spy_module *module, const void *work, const void *key,
                             size_t key_size) {
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        if (!spyi_is_under_way(device, work, key, key_size)) return;
        spyi_await_outside(device, module, seen);
    }
}

SPYI_FN void spyi_drop_unit(spy_device *device, spyi_unit *unit) {
    spyi_dropped_unit *dropped = (spyi_dropped_unit *)spyi_allocate(&device->ctx, sizeof *dropped);
    if (!dropped) {
        spyi_unit_release(unit);
        return;
    }
    dropped->unit = unit;
    dropped->next = device->dropped_units;
    device->dropped_units = dropped;
}

SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error) {
    spyi_fail(&device->ctx, status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind, const char *function) {
    spyi_object *o = spyi_as(object, kind);
    if (o) spyi_atomic_add(&o->references, 1);
    else spyi_refuse_object(object, kind, function);
}

static void spyi_queue_release(spyi_object *object) {
    spy_device *device = object->device;
    spyi_mutex_lock(&device->release_lock);
    object->release_next = device->release_queue;
    device->release_queue = object;
    spyi_atomic_add(&device->release_count, 1);
    spyi_mutex_unlock(&device->release_lock);
}

SPYI_FN void spyi_object_release(spyi_object *object) {
    spy_device *device = object->device;
    if (device->ctx.turns.fork_count != spyi_fork_count()) {
        char what[64];
        snprintf(what, sizeof what, "release of a %s", spyi_kind_name(object->kind));
        spyi_forked(&device->ctx, what);
        return;
    }
    if (spyi_atomic_add(&object->references, -1) != 0) return;
    object->released_kind = object->kind;
    object->kind = (uint32_t)SPYI_KIND_DEAD; // uses are errors from now on
    spyi_queue_release(object);
}

SPYI_FN void spyi_bury(spy_device *device, spyi_object *object, size_t size) {
    object->kind = (uint32_t)SPYI_KIND_DEAD;
#ifndef NDEBUG
    spyi_grave *grave = (spyi_grave *)spyi_allocate(&device->ctx, sizeof *grave);
    if (grave) {
        grave->object = object;
        grave->size = size;
        grave->next = device->graves;
        device->graves = grave;
        return;
    }
#endif
    spyi_free(&device->ctx, object, size);
}

// >>creation and release

static void spyi_device_destroy(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    while (device->close_callbacks) {
        spyi_close_callback *callback = device->close_callbacks;
        device->close_callbacks = callback->next;
        spyi_leave(device); // it may still read results
        callback->func(device, callback->user_data);
        if (!spyi_turns_try(&ctx->turns)) (void)spyi_turns_wait(&ctx->turns, NULL, NULL);
        spyi_free(ctx, callback, sizeof *callback);
    }
    spyi_reload_abandon(device);
    spyi_prepared_finish_all(device);
    for (int32_t seen = spyi_turns_events(&ctx->turns); device->outside; seen = spyi_turns_events(&ctx->turns))
        spyi_await(device, seen); // a module that another thread still loads
    spyi_turns_close(&ctx->turns); // who waits for a turn hears that the device has been released
    if (device->printer && !device->base->recording) spyi_print_flush(device, "spy_release_device");
    if (device->gpu) { // a callback may have recorded more
        spyi_text ignored = { NULL, 0, 0 };
        device->backend->wait(device->gpu, device->backend->open_submit(device->gpu), UINT64_MAX, &ignored);
        spyi_text_free(&ignored);
        (void)spyi_bounds_report(device, "spy_release_device"); // the log hears it
    }
    spyi_drain_releases(device);
    spyi_prepared_free_all(device);
    while (device->lists) spyi_list_free(device->lists);
    while (device->cursor_ranges) spyi_cursor_range_free(device->cursor_ranges);
    while (device->tensors) {
        spy_tensor *tensor = device->tensors;
        device->tensors = tensor->next;
        if (tensor->storage && --tensor->storage->references == 0) spyi_pool_give(device, tensor->storage);
        free((void *)tensor->label);
        tensor->object.kind = (uint32_t)SPYI_KIND_DEAD;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
    while (device->dead_first) {
        spy_tensor *tensor = device->dead_first;
        device->dead_first = tensor->next;
        spyi_free(ctx, tensor, sizeof *tensor);
    }
    if (device->cache) spyi_cache_destroy(device);
    while (device->modules)
        spyi_module_free(device->modules); // newest first: those that link before those linked
    spyi_release_units(ctx, device->dropped_units);
    device->dropped_units = NULL;
    while (device->graves) {
        spyi_grave *grave = device->graves;
        device->graves = grave->next;
        spyi_free(ctx, grave->object, grave->size);
        spyi_free(ctx, grave, sizeof *grave);
    }
    if (device->readback) spyi_pool_give(device, device->readback);
    spyi_print_destroy(device);
    spyi_bounds_destroy(device);
    if (device->gpu) spyi_pool_destroy(device);
    if (device->compiler) spyi_compiler_destroy(device->compiler);
    if (device->types) spyi_types_destroy(device->types);
    free(device->dump_directory);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (spyi_builds_release(device)) spyi_device_free(device);
}

// What a build needs that the driver is not done with.
SPYI_FN void spyi_device_free(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    spyi_builds_free(device);
    if (device->gpu) device->backend->destroy(device->gpu);
    spyi_mutex_destroy(&device->release_lock);
    spyi_mutex_destroy(&device->dump_lock);
    spy_allocator allocator = ctx->allocator;
    spyi_context_destroy(ctx);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    allocator.free(device, sizeof *device, allocator.user_data);
}

spy_device *spy_create_device(const spy_device_desc *desc) {
    const char *function = "spy_create_device";
    if (!desc) {
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
        return NULL;
    }
    if (SPYI_DESC_PROBLEM(spy_device_desc, desc) != NULL) { // not even its log can be trusted
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function,
                  SPYI_DESC_PROBLEM(spy_device_desc, desc));
        return NULL;
    }
    const spy_allocator *a = &desc->allocator;
    bool some = a->allocate || a->reallocate || a->free, all = a->allocate && a->reallocate && a->free;
    spyi_context setup; // reports until the device exists
    memset(&setup, 0, sizeof setup);
    spy_device_desc plain = *desc;
    if (some && !all) memset(&plain.allocator, 0, sizeof plain.allocator);
    spyi_context_init(&setup, &plain);
    spy_device *device = NULL;
    spy_status status = SPY_OK;
    spyi_text error = { NULL, 0, 0 };
    if (desc->include_path_count && !desc->include_paths) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.include_path_count is %zu, include_paths is NULL",
                      desc->include_path_count);
    } else if (!desc->files.open && (desc->files.close || desc->files.stamp)) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.files has no open");
    } else if (some && !all) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.allocator needs all of allocate, reallocate and free, or none");
    } else if (desc->dump_directory && !spyi_folder_exists(desc->dump_directory)) {
        status = SPY_ERROR_IO;
        spyi_text_add(&error, "desc.dump_directory: expected an existing folder, got '%s'",
                      desc->dump_directory);
    } else if (!desc->backend) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "desc.backend is NULL; expected spy_vk_backend() or another backend's");
    } else {
        device = (spy_device *)spyi_allocate(&setup, sizeof *device);
        if (!device) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        }
    }
    if (device) {
        spyi_context_init(&device->ctx, desc);
        device->ctx.object.kind = (uint32_t)SPYI_KIND_DEVICE;
        device->ctx.object.device = device;
        spyi_atomic_store(&device->ctx.object.references, 1);
        spyi_mutex_init(&device->release_lock);
        spyi_mutex_init(&device->dump_lock);
        spyi_builds_init(device);
        device->backend = desc->backend;
        device->epoch = 1;
        device->dump_directory = spyi_strdup(desc->dump_directory);
        status = desc->backend->create(&device->ctx, desc, &device->gpu, &error);
    }
    if (device && status == SPY_OK) {
        device->base = (spyi_gpu_base *)device->gpu;
        spyi_compiler_desc compiler;
        memset(&compiler, 0, sizeof compiler);
        compiler.library_path = desc->slang_library;
        compiler.include_paths = desc->include_paths;
        compiler.include_path_count = desc->include_path_count;
        compiler.target = device->base->limits.target;
        compiler.print = desc->enable_print;
        if (desc->check_bounds) status = spyi_bounds_create(device, &compiler.bounds_record, &error);
        compiler.files = desc->files;
        device->reload = desc->reload;
        compiler.embedded = spyi_slang_files;
        compiler.embedded_count = sizeof spyi_slang_files / sizeof spyi_slang_files[0];
        device->types = spyi_types_create(compiler.target);
        device->compiler =
            device->types ? spyi_compiler_create(&device->ctx, device->types, &compiler) : NULL;
        device->cache = spyi_cache_create(device, desc->max_plans ? desc->max_plans : 1024);
        if (status == SPY_OK && (!device->types || !device->compiler || !device->cache)) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        } else if (status == SPY_OK) {
            for (int i = SPY_BOOL; i < SPY_DTYPE_COUNT; i++)
                device->scalars[i] = spyi_type_scalar(device->types, (spy_dtype)i);
            if (desc->enable_print) status = spyi_print_create(device, desc->print_buffer_bytes, &error);
        }
    }
    if (status != SPY_OK) {
        // Nobody can ask a device that does not exist, so the error is this thread's; the log hears it as well.
        if (spyi_log_wants(&setup, SPY_LOG_ERROR))
            spyi_logf(&setup, SPY_LOG_ERROR, "%s: %s", function, spyi_text_str(&error));
        spyi_fail(NULL, status, "%s: %s", function, spyi_text_str(&error));
        if (device) spyi_device_destroy(device);
        device = NULL;
    }
    spyi_text_free(&error);
    spyi_context_destroy(&setup);
    return device;
}

void spy_release_device(spy_device *device) {
    if (!device || spyi_enter(device, SPYI_KIND_DEVICE, "spy_release_device") != SPY_OK) return;
    spyi_device_destroy(device);
}

// >>work

spy_submit_id spy_flush(spy_device *device) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_flush") != SPY_OK) return 0;
    spyi_text error = { NULL, 0, 0 };
    spy_submit_id id = device->backend->open_submit(device->gpu);
    spy_status status = device->backend->submit(device->gpu, &error);
    // Without recorded work the number stays open: what was asked for ended with the batch before.
    if (device->backend->open_submit(device->gpu) == id) id--;
    if (status != SPY_OK) {
        spyi_fail_text(device, status, "spy_flush", &error);
        id = 0;
    }
    spyi_leave(device);
    return id;
}

// SPY_ERROR_NOT_READY also for work up to `id` that an engine has not reported as executed.
static spy_status spyi_wait(spy_device *device, const char *function, spy_submit_id id, uint64_t timeout_ns) {
    spyi_text error = { NULL, 0, 0 };
    spyi_block(&device->ctx, true);
    spy_status status = device->backend->wait(device->gpu, id, timeout_ns, &error);
    spyi_block(&device->ctx, false);
    if (status == SPY_ERROR_NOT_READY) spyi_text_free(&error); // an answer, not a failure
    else if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    if (status != SPY_OK) return status;
    spyi_print_deliver(device);
    status = spyi_bounds_report(device, function);
    if (status != SPY_OK) return status;
    return device->base->held_from != 0 && id >= device->base->held_from ? SPY_ERROR_NOT_READY : SPY_OK;
}

#define SPYI_INTERRUPT_NS 50000000u // desc.interrupt is asked so often

SPYI_FN spy_status spyi_wait_for_results(spy_device *device, uint64_t submit, spyi_text *error) {
    const spy_interrupt *interrupt = &device->ctx.interrupt;
    bool held = device->base->held_from != 0 && submit >= device->base->held_from;
    bool asks = interrupt->func && device->base->slices && !held;
    spy_status status;
    spyi_block(&device->ctx, true);
    for (;;) {
        size_t before = error->size;
        status = device->backend->wait(device->gpu, submit, asks ? SPYI_INTERRUPT_NS : UINT64_MAX, error);
        if (!asks || status != SPY_ERROR_NOT_READY) break;
        if (error->data) error->data[error->size = before] = 0; // not a failure
        if (!interrupt->func(interrupt->user_data)) continue;
        spyi_text_add(error, "interrupted before its results came; the GPU goes on");
        status = SPY_ERROR_INTERRUPTED;
        break;
    }
    spyi_block(&device->ctx, false);
    return status;
}

spy_status spy_wait(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_wait");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_wait", device->backend->open_submit(device->gpu), UINT64_MAX);
    spyi_leave(device);
    return status;
}

spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns) {
    const char *function = "spy_wait_for_submit";
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spy_status status;
    if (id > device->backend->open_submit(device->gpu))
        status =
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: id %llu has not been given out by spy_flush()", function, (unsigned long long)id);
    else status = spyi_wait(device, function, id, timeout_ns);
    spyi_leave(device);
    return status;
}

bool spy_is_submit_finished(spy_device *device, spy_submit_id id) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_is_submit_finished") != SPY_OK) return false;
    bool finished = device->backend->finished_submit(device->gpu) >= id;
    spyi_leave(device);
    return finished;
}

spy_status spy_add_close_callback(spy_device *device, void (*func)(spy_device *, void *), void *user_data) {
    const char *function = "spy_add_close_callback";
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spy_status status = SPY_OK;
    spyi_close_callback *callback = NULL;
    if (!func)
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a function, got NULL",
                           function);
    if (status == SPY_OK) {
        callback = (spyi_close_callback *)spyi_allocate(&device->ctx, sizeof *callback);
        if (!callback)
            status = spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    if (callback) {
        callback->func = func;
        callback->user_data = user_data;
        callback->next = device->close_callbacks;
        device->close_callbacks = callback;
    }
    spyi_leave(device);
    return status;
}

spy_status spy_trim(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_trim");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_trim", device->backend->open_submit(device->gpu), UINT64_MAX);
    if (status == SPY_ERROR_NOT_READY && !device->base->recording)
        status = SPY_OK; // recordings keep what they use
    if (status == SPY_OK) spyi_pool_trim(device);
    spyi_leave(device);
    return status;
}

spy_status spy_set_dump_directory(spy_device *device, const char *directory) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_set_dump_directory");
    if (entered != SPY_OK) return entered;
    spy_status status = SPY_OK;
    char *copy = directory ? spyi_strdup(directory) : NULL;
    if (directory && !spyi_folder_exists(directory)) {
        status =
            spyi_fail(&device->ctx, SPY_ERROR_IO,
                      "spy_set_dump_directory: directory: expected an existing folder, got '%s'", directory);
        free(copy);
    } else if (directory && !copy) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_fail(&device->ctx, status, "spy_set_dump_directory: out of host memory");
    } else {
        spyi_mutex_lock(&device->dump_lock);
        char *old = device->dump_directory;
        device->dump_directory = copy;
        spyi_mutex_unlock(&device->dump_lock);
        free(old);
    }
    spyi_leave(device);
    return status;
}

// >>information

spy_device_info spy_get_device_info(const spy_device *device) {
    spy_device_info info;
    memset(&info, 0, sizeof info);
    if (spyi_as(device, SPYI_KIND_DEVICE)) info = device->base->limits.info;
    else spyi_refuse_object(device, SPYI_KIND_DEVICE, "spy_get_device_info");
    return info;
}

size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity) {
    if (!backend) {
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_enumerate_adapters: expected a backend, got NULL");
        return 0;
    }
    spyi_text error = { NULL, 0, 0 };
    size_t count = backend->enumerate(infos, infos ? capacity : 0, &error);
    if (error.size) spyi_fail(NULL, SPY_ERROR_NO_DEVICE, "spy_enumerate_adapters: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return count;
}

spy_device_stats spy_get_device_stats(spy_device *device) {
    spy_device_stats stats;
    memset(&stats, 0, sizeof stats);
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_get_device_stats") != SPY_OK) return stats;
    stats = device->stats;
    stats.dispatches = device->base->stats.dispatches;
    stats.barriers = device->base->stats.barriers;
    stats.submits = device->base->stats.submits;
    stats.driver_allocations = device->base->stats.driver_allocations;
    stats.driver_bytes = device->base->stats.driver_bytes;
    stats.recordings = device->base->stats.recordings;
    stats.recording_bytes = device->base->stats.recording_bytes + device->pool.waiting_bytes;
    stats.pool_bytes = device->pool.held_bytes;
    stats.used_bytes = device->pool.used_bytes;
    stats.compiler_loads = spyi_compiler_loads(device->compiler);
    spyi_leave(device);
    return stats;
}

// >>for backends

SPYI_FN spy_status spyi_recording_reported(spy_device *device, const char *function) {
    spyi_pool_release_held(device);
    spyi_print_deliver(device);
    return spyi_bounds_report(device, function);
}

SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name, const char *function) {
    if (strcmp(device->backend->name, backend_name) == 0) return device->gpu;
    spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a %s device, got a %s one", function,
              backend_name, device->backend->name);
    return NULL;
}
