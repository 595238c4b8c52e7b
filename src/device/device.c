// Creation and release of devices: creates the parts of a device in the order of the stages, and frees them
// in the opposite order.
#include "backend/offline.h"
#include "base/store.h"
#include "call/prepare.h"
#include "call/raster.h"
#include "data/bounds.h"
#include "data/gpu_print.h"
#include "data/texture.h"
#include "fuse/fuse.h"
#include "list/list.h"
#include "plan/cache.h"
#include "plan/packs.h"

typedef struct spyi_close_callback {
    void (*func)(spy_device *device, void *user_data);
    void *user_data;
    struct spyi_close_callback *next;
} spyi_close_callback;

// >>release

// Runs the close callbacks, which may use the device and add further callbacks.
static void spyi_run_close_callbacks(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    while (device->close_callbacks) {
        spyi_close_callback *callback = device->close_callbacks;
        device->close_callbacks = callback->next;
        spyi_leave(device); // the callback may still read results
        callback->func(device, callback->user_data);
        if (!spyi_turns_try(&ctx->turns)) (void)spyi_turns_wait(&ctx->turns, NULL, NULL);
        spyi_free(ctx, callback, sizeof *callback);
    }
}

static void spyi_device_destroy(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    spyi_run_close_callbacks(device);
    if (SPYI_HAS_COMPILER) spyi_pack_save_at_end(device);
    spyi_reload_abandon(device);
    spyi_prepared_finish_all(device);
    for (int32_t seen = spyi_turns_events(&ctx->turns); ctx->outside; seen = spyi_turns_events(&ctx->turns))
        spyi_await(ctx, seen);     // another thread still loads a module
    spyi_turns_close(&ctx->turns); // threads that wait for a turn learn that the device has been released
    if (device->printer && !device->base->recording) spyi_print_flush(device, "spy_release_device");
    if (device->gpu) { // a close callback may have recorded more work
        spyi_text ignored = { NULL, 0, 0 };
        device->backend->wait(device->gpu, device->base->open, UINT64_MAX, &ignored);
        spyi_text_free(&ignored);
        (void)spyi_bounds_report(device, "spy_release_device"); // the error goes to the log
    }
    spyi_drain_releases(device);
    spyi_prepared_free_all(device);
    while (device->lists) spyi_list_free(device->lists);
    spyi_rasters_free_all(device);
    while (device->cursor_ranges) spyi_cursor_range_free(device->cursor_ranges);
    spyi_textures_free_all(device); // textures are freed before the tensors that are their gradients
    spyi_tensors_free_all(device);
    spyi_samplers_free_all(device);
    if (device->cache) spyi_cache_destroy(device);
    spyi_fusions_free_all(device);
    spyi_modules_free_all(device);
    spyi_free_retired_objects(ctx);
    if (device->readback) spyi_pool_give(device, device->readback);
    spyi_print_destroy(device);
    spyi_bounds_destroy(device);
    if (device->gpu) spyi_pool_destroy(device);
    if (device->compiler) spyi_compiler_destroy(device->compiler);
    if (device->types) spyi_types_destroy(device->types);
    free(device->dump_directory);
    free(device->record_path);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    if (spyi_builds_release(device)) spyi_device_free(device);
}

void spy_retain_device(spy_device *device) {
    spyi_object_retain(device, SPYI_KIND_DEVICE, "spy_retain_device");
}

void spy_release_device(spy_device *device) {
    if (!device || spyi_enter(device, SPYI_KIND_DEVICE, "spy_release_device") != SPY_OK) return;
    if (spyi_atomic_add(&device->ctx.object.references, -1) > 0) spyi_leave(device);
    else spyi_device_destroy(device);
}

// >>creation

static bool spyi_has_strings(const char *const *strings, size_t count) {
    if (count && !strings) return false;
    for (size_t i = 0; i < count; ++i)
        if (!strings[i]) return false;
    return true;
}

static spy_status spyi_check_device_desc(const spy_device_desc *desc, spyi_text *error) {
    const spy_allocator *a = &desc->allocator;
    bool some = a->allocate || a->reallocate || a->free, all = a->allocate && a->reallocate && a->free;
    if (!spyi_has_strings(desc->include_paths, desc->include_path_count)) {
        spyi_text_add(error, "desc.include_path_count is %zu, include_paths is NULL or holds a NULL",
                      desc->include_path_count);
    } else if (!spyi_has_strings(desc->slang_paths, desc->slang_path_count)) {
        spyi_text_add(error, "desc.slang_path_count is %zu, slang_paths is NULL or holds a NULL",
                      desc->slang_path_count);
    } else if (!desc->files.open && (desc->files.close || desc->files.stamp)) {
        spyi_text_add(error, "desc.files has no open");
    } else if (some && !all) {
        spyi_text_add(error, "desc.allocator needs all of allocate, reallocate and free, or none");
    } else if (desc->dump_directory && !spyi_folder_exists(desc->dump_directory)) {
        spyi_text_add(error, "desc.dump_directory: expected an existing folder, got '%s'",
                      desc->dump_directory);
        return SPY_ERROR_IO;
    } else if (!SPYI_HAS_COMPILER && (desc->offline || desc->record_pack)) {
        spyi_text_add(error, "desc.record_pack and desc.offline need the compiler, which SLANGPY_NO_COMPILER "
                             "has left out of this program");
        return SPY_ERROR_NO_COMPILER;
    } else if (desc->offline && !desc->record_pack && !desc->pack && !desc->pack_data) {
        spyi_text_add(error, "desc.offline is set without a pack or record_pack: a device without a GPU only "
                             "makes packs and tells what is in them");
    } else if (desc->record_pack && (desc->pack || desc->pack_data || desc->check_bounds)) {
        spyi_text_add(error, "desc.record_pack is set together with %s",
                      desc->check_bounds ? "check_bounds, whose kernels have an address of this process"
                                         : "a pack");
    } else if (desc->pack && desc->pack_data) {
        spyi_text_add(error, "desc.pack and desc.pack_data are both set");
    } else if (desc->pack_arch_count > SPYI_MOST_ARCHS || (desc->pack_arch_count && !desc->pack_archs)) {
        spyi_text_add(error, "desc.pack_arch_count is %zu: expected at most %d, and pack_archs not NULL",
                      desc->pack_arch_count, SPYI_MOST_ARCHS);
    } else if (desc->record_pack && desc->offline && desc->backend &&
               desc->backend->target == SPYI_TARGET_CUDA && !desc->pack_arch_count) {
        spyi_text_add(error,
                      "desc.pack_archs is empty: without a GPU, CUDA kernels need at least one architecture");
    } else if (!desc->backend) {
        spyi_text_add(error, "desc.backend is NULL; expected spy_vk_backend() or another backend's");
    } else {
        return SPY_OK;
    }
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Opens the pack of the desc, or begins one. Without either, status is SPY_OK and *pack NULL.
static spy_status spyi_device_pack(const spy_device_desc *desc, spyi_archive **pack, spyi_text *error) {
    spyi_text file = { NULL, 0, 0 };
    const char *record = getenv("SLANGPY_RECORD_PACK"), *path = desc->pack;
    if (!path && !desc->pack_data && !desc->record_pack) path = getenv("SLANGPY_PACK");
    if (path && !*path) path = NULL;
    bool given = path || desc->pack_data,
         records = SPYI_HAS_COMPILER && (desc->record_pack || (!given && record && *record));
    *pack = NULL;
    if (!given && !records) return SPY_OK;
    if (records && desc->check_bounds) {
        spyi_text_add(error,
                      "SLANGPY_RECORD_PACK is set together with desc.check_bounds, whose kernels have an "
                      "address of this process");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (path && !spyi_file_read(path, &file)) {
        spyi_text_add(error, "%s: '%s' cannot be read: %s", desc->pack ? "desc.pack" : "SLANGPY_PACK", path,
                      spyi_file_problem());
        spyi_text_free(&file);
        return SPY_ERROR_IO;
    }
    if (!given) {
        *pack = spyi_archive_begin();
        if (!*pack) spyi_text_add(error, "out of host memory");
        return *pack ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_text why = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    *pack = path ? spyi_archive_open(file.data, file.size, true, &why)
                 : spyi_archive_open(desc->pack_data, desc->pack_size_bytes, false, &why);
    if (!*pack)
        spyi_text_add(error,
                      path ? "desc.pack: '%s' cannot be used: %s" : "desc.pack_data%s cannot be used: %s",
                      path ? path : "", spyi_text_str(&why));
    spyi_text_free(&why);
    if (*pack) return SPY_OK;
    return spyi_failed_allocations() != failed ? SPY_ERROR_OUT_OF_MEMORY : SPY_ERROR_INVALID_ARGUMENT;
}

static int spyi_compare_archs(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// Gives a device that uses or records a pack the one profile that kernels of packs are made for, so that their texts
// are the same everywhere. Of what it promises a device can lack the floating-point atomics only: a kernel that needs
// them, or another feature, says so when it is loaded.
static spy_status spyi_device_pack_profile(spy_device *device, spyi_text *error) {
    spyi_profile *profile = &device->base->limits.profile;
    bool cuda = profile->target == SPYI_TARGET_CUDA;
    uint32_t block = cuda ? 4096 : 128;
    if (profile->max_block_bytes < block || profile->max_group_size < 256 ||
        profile->max_group_count < 65535) {
        spyi_text_add(
            error,
            "packs need devices that take %u bytes of parameters, groups of 256 threads and 65535 groups; "
            "this one takes %u, %u and %u",
            block, profile->max_block_bytes, profile->max_group_size, profile->max_group_count);
        return SPY_ERROR_UNSUPPORTED;
    }
    profile->max_block_bytes = block;
    profile->max_group_size = 256;
    profile->max_group_count = 65535;
    profile->features |= SPY_FEATURE_ATOMIC_FLOAT32_ADD;
    profile->names_formats = !cuda;
    device->base->limits.any_arch = true;
    if (cuda && device->pack_arch_count == 0) device->pack_archs[device->pack_arch_count++] = profile->arch;
    qsort(device->pack_archs, device->pack_arch_count, sizeof *device->pack_archs, spyi_compare_archs);
    return SPY_OK;
}

// Makes the GPU of a device that has none: the offline backend, with the compiling functions of the backend
// that the desc names.
static spy_status spyi_device_offline(spy_device *device, const spy_device_desc *desc, spyi_text *error) {
    device->offline_backend = *spyi_offline_backend();
    device->offline_backend.compile = desc->backend->compile;
    device->offline_backend.mend = desc->backend->mend;
    device->offline_backend.open_compiler = desc->backend->open_compiler;
    device->backend = &device->offline_backend;
    return device->backend->create(&device->ctx, desc, &device->gpu, error);
}

// Opens the device's store, unless nothing is to be kept.
static spyi_store *spyi_device_store(spyi_context *ctx, const spy_device_desc *desc) {
    if (ctx->pack && !desc->cache_path) return NULL;
    const char *folder = desc->cache_path ? desc->cache_path : getenv("SLANGPY_CACHE");
    if (folder && (!*folder || strcmp(folder, "off") == 0)) return NULL;
    return spyi_store_open(ctx, folder, desc->cache_size_bytes ? desc->cache_size_bytes : (uint64_t)1 << 30);
}

static void spyi_device_init(spy_device *device, const spy_device_desc *desc, spyi_archive *pack) {
    bool records = pack && spyi_archive_is_recording(pack); // without memory the next lines close the pack
    spyi_context_init(&device->ctx, desc);
    device->ctx.pack = pack ? spyi_store_of_pack(&device->ctx, pack) : NULL;
    device->ctx.store = spyi_device_store(&device->ctx, desc);
    for (size_t i = 0; i < desc->pack_arch_count; i++) device->pack_archs[i] = desc->pack_archs[i];
    device->pack_arch_count = (uint32_t)desc->pack_arch_count;
    device->offline = desc->offline;
    if (!desc->record_pack && records && device->ctx.pack)
        device->record_path = spyi_strdup(getenv("SLANGPY_RECORD_PACK"));
    device->ctx.object.kind = (uint32_t)SPYI_KIND_DEVICE;
    device->ctx.object.device = device;
    spyi_atomic_store(&device->ctx.object.references, 1);
    device->ctx.core = spyi_device_core();
    spyi_mutex_init(&device->dump_lock);
    spyi_builds_init(device);
    device->backend = desc->backend;
    device->epoch = 1;
    device->reload = desc->reload;
    device->dump_directory = spyi_strdup(desc->dump_directory);
    spyi_tensors_attach(device);
    spyi_textures_attach(device);
    spyi_samplers_attach(device);
    spyi_cursors_attach(device);
    spyi_modules_attach(device);
    spyi_fusions_attach(device);
    spyi_calls_attach(device);
    spyi_lists_attach(device);
}

// Makes the members that other stages own, once the device has its GPU.
static spy_status spyi_device_fill(spy_device *device, const spy_device_desc *desc, spyi_text *error) {
    spy_status status = SPY_OK;
    uint64_t bounds_record = 0;
    device->base = (spyi_gpu_base *)device->gpu;
    if (device->ctx.pack) status = spyi_device_pack_profile(device, error);
    if (status != SPY_OK) return status;
    if (desc->check_bounds) status = spyi_bounds_create(device, &bounds_record, error);
    device->types = spyi_types_create(device->base->limits.profile.target);
    if (device->types) device->compiler = spyi_compiler_for(device, desc, bounds_record);
    device->cache = spyi_cache_create(device, desc->max_plans ? desc->max_plans : 1024);
    if (status != SPY_OK) return status;
    if (!device->types || !device->compiler || !device->cache) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (int i = SPY_DTYPE_BOOL; i < SPY_DTYPE_COUNT; i++)
        device->scalars[i] = spyi_type_scalar(device->types, (spy_dtype)i);
    return desc->enable_print ? spyi_print_create(device, desc->print_buffer_bytes, error) : SPY_OK;
}

spy_device *spy_create_device(const spy_device_desc *desc) {
    const char *function = "spy_create_device";
    if (!desc) {
        spyi_forget_thread_error();
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
        return NULL;
    }
    if (SPYI_DESC_PROBLEM(spy_device_desc, desc) != NULL) { // not even its log can be trusted
        spyi_forget_thread_error();
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function,
                  SPYI_DESC_PROBLEM(spy_device_desc, desc));
        return NULL;
    }
    const spy_allocator *a = &desc->allocator;
    spyi_context setup; // this context reports through its log until the device exists
    spy_device_desc plain = *desc;
    if (!a->allocate || !a->reallocate || !a->free) memset(&plain.allocator, 0, sizeof plain.allocator);
    spyi_context_init(&setup, &plain);
    spy_device *device = NULL;
    spyi_text error = { NULL, 0, 0 };
    spyi_archive *pack = NULL;
    spy_status status = spyi_check_device_desc(desc, &error);
    if (status == SPY_OK) status = spyi_device_pack(desc, &pack, &error);
    if (status == SPY_OK) {
        device = (spy_device *)spyi_allocate(&setup, sizeof *device);
        if (!device) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
            spyi_archive_close(pack);
        }
    }
    if (device) {
        spyi_device_init(device, desc, pack);
        if (pack && !device->ctx.pack) {
            status = SPY_ERROR_OUT_OF_MEMORY;
            spyi_text_add(&error, "out of host memory");
        } else {
            status = SPYI_HAS_COMPILER && desc->offline
                         ? spyi_device_offline(device, desc, &error)
                         : desc->backend->create(&device->ctx, desc, &device->gpu, &error);
        }
        if (status == SPY_OK) status = spyi_device_fill(device, desc, &error);
    }
    if (status != SPY_OK) {
        // A device that was not made cannot be asked, so the error is stored for this thread; the log gets
        // it, too.
        if (spyi_log_wants(&setup, SPY_LOG_LEVEL_ERROR))
            spyi_logf(&setup, SPY_LOG_LEVEL_ERROR, "%s: %s", function, spyi_text_str(&error));
        spyi_forget_thread_error();
        spyi_fail(NULL, status, "%s: %s", function, spyi_text_str(&error));
        if (device) spyi_device_destroy(device);
        device = NULL;
    }
    spyi_text_free(&error);
    spyi_context_destroy(&setup);
    return device;
}

// >>close callbacks

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

// >>information

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
    stats.texture_bytes = device->image_bytes;
    spyi_compiler_counts(device->compiler, &stats.cache_hits, &stats.cache_misses);
    stats.cache_writes = spyi_store_count(device->ctx.store).writes;
    stats.compiler_loads = spyi_compiler_loads(device->compiler);
    spyi_leave(device);
    return stats;
}
