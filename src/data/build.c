// Has the backend make kernels, each on a thread of its own, so that a caller need not wait for a driver that
// compiles for long: desc.interrupt and desc.compile_timeout_s end the wait, and the thread goes on with
// copies of all that it reads.
//
// A build whose caller has left belongs to the device. A later call that needs the same kernel waits for that
// build, or finds it done. When the device is released meanwhile, the thread takes over what its work still
// needs (the backend's device, the context) and frees it at its end, so that a program can leave at once. The
// thread must not outlive an engine's device or the program's allocator; with either of these the release
// waits.
#include "base/store.h"
#include "data/device.h"

// Drivers' compilers recurse deeply. Only the part of the stack that is used takes memory.
#define SPYI_BUILD_STACK_BYTES ((size_t)64 << 20)

struct spyi_build {
    spyi_build *next; // the next build in spyi_builds.left
    spy_device *device;
    spyi_thread thread;
    bool started; // the build's thread runs and has not been joined
    bool done;    // guarded by device->builds.lock
    // These members are the result.
    spyi_kernel *kernel;
    spy_status status;
    spyi_text error, log;
    spyi_text blob;  // the compiled code, where device->sign_call is set
    uint32_t failed; // the number of allocations that failed on the thread
    // These members are the task. `bytes` holds the profile, the desc with NULL for its pointers, and the
    // data that these point to; equal bytes mean equal kernels. Without `compiles` the code is a blob, which
    // is only loaded.
    bool compiles;
    spyi_profile profile;
    spyi_kernel_desc desc; // its pointers lead into `bytes`
    size_t size;
    char *bytes;
};

// >>copies of a desc

// Adds an array of `size` bytes to b->bytes and sets *at to its copy. While b->bytes is NULL, only b->size
// grows.
static void spyi_build_add(spyi_build *b, const void *data, size_t size, const void **at) {
    if (b->bytes && data) {
        memcpy(b->bytes + b->size, data, size);
        *at = b->bytes + b->size;
    }
    if (data) b->size += spyi_align(size, 16);
}

static void spyi_build_add_all(spyi_build *b, const spyi_profile *profile, const spyi_kernel_desc *desc) {
    const void *label = NULL, *code = NULL, *entry = NULL, *parameters = NULL, *head;
    spyi_kernel_desc plain;
    memcpy(&plain, desc, sizeof plain);
    plain.label = plain.entry = NULL;
    plain.code = NULL;
    plain.iface.parameters = NULL;
    b->size = 0;
    b->compiles = profile != NULL;
    if (profile) b->profile = *profile;
    spyi_build_add(b, profile, sizeof *profile, &head);
    spyi_build_add(b, &plain, sizeof plain, &head);
    spyi_build_add(b, desc->label, desc->label ? strlen(desc->label) + 1 : 0, &label);
    spyi_build_add(b, desc->code, desc->code_size, &code);
    spyi_build_add(b, desc->entry, strlen(desc->entry) + 1, &entry);
    spyi_build_add(b, desc->iface.parameters, desc->iface.parameter_count * sizeof *desc->iface.parameters,
                   &parameters);
    b->desc = plain;
    b->desc.label = (const char *)label;
    b->desc.code = code;
    b->desc.entry = (const char *)entry;
    b->desc.iface.parameters = (const spyi_parameter *)parameters;
}

static void spyi_build_free(spyi_build *b) {
    spyi_text_free(&b->error);
    spyi_text_free(&b->log);
    spyi_text_free(&b->blob);
    free(b->bytes);
    free(b);
}

static spyi_build *spyi_build_new(spy_device *device, const spyi_profile *profile,
                                  const spyi_kernel_desc *desc) {
    spyi_build *b = (spyi_build *)spyi_calloc(1, sizeof *b);
    if (!b) return NULL;
    b->device = device;
    spyi_build_add_all(b, profile, desc); // this call only computes b->size
    b->bytes = (char *)spyi_calloc(1, b->size);
    if (b->bytes) {
        spyi_build_add_all(b, profile, desc);
        return b;
    }
    free(b);
    return NULL;
}

// >>the work

// Describes the entry of a pack that holds the compiled code of a kernel's text.
static void spyi_build_question(const spyi_build *b, uint32_t arch, bool portable, spyi_text *out) {
    uint32_t numbers[5] = { (uint32_t)b->profile.target, arch, portable, b->profile.float_mode,
                            b->profile.debug_info };
    uint64_t name[2];
    spyi_archive_code_name(b->desc.code, b->desc.code_size, name);
    spyi_text_clear(out);
    spyi_text_add(out, "kernel %s\n", b->desc.entry);
    spyi_text_add_n(out, (const char *)numbers, sizeof numbers);
    spyi_text_add_n(out, (const char *)name, sizeof name);
}

// Finds code in a pack for this device: code of its own compute capability or, before 9.0, of an earlier one
// of its generation; otherwise PTX of any earlier one, newest first. From 9.0 on NVRTC makes code for one
// compute capability alone (cuda/nvrtc.c).
static spy_status spyi_build_unpack(spyi_build *b, spyi_text *blob) {
    spyi_store *pack = b->device->ctx.pack;
    spyi_text question = { NULL, 0, 0 };
    uint32_t arch = b->profile.arch, earlier = arch < 90 ? arch % 10 : 0;
    bool found = false;
    for (int portable = 0; portable < 2; portable++)
        for (uint32_t a = arch; !found && a && a + (portable ? arch : earlier) >= arch; a--) {
            spyi_build_question(b, a, portable != 0, &question);
            found = spyi_store_get(pack, &question, blob);
        }
    spyi_text_free(&question);
    if (found) return SPY_OK;
    spyi_text_add(&b->error,
                  "the pack has kernel '%s', but no code of it for compute capability %u.%u: name sm_%u "
                  "among the pack's architectures, or an older one for PTX",
                  b->desc.label ? b->desc.label : b->desc.entry, arch / 10, arch % 10, arch);
    return SPY_ERROR_NO_COMPILER;
}

// Compiles the kernel for all architectures of the pack that the device records: a cubin for each, and PTX of the oldest
// for all others.
static spy_status spyi_build_pack(spyi_build *b, spyi_text *blob) {
    spy_device *device = b->device;
    spyi_text question = { NULL, 0, 0 }, made = { NULL, 0, 0 };
    spyi_archive *pack = spyi_store_pack(device->ctx.pack);
    spy_status status = SPY_OK;
    for (uint32_t i = 0; i <= device->pack_arch_count && status == SPY_OK; i++) {
        spyi_profile profile = b->profile;
        profile.portable = i == device->pack_arch_count;
        profile.arch = device->pack_archs[profile.portable ? 0 : i];
        spyi_text_clear(&made);
        spyi_build_question(b, profile.arch, profile.portable, &question);
        if (spyi_archive_get(pack, &question, &made)) { // another call has the same kernel
            if (device->offline && i == 0) spyi_text_add_n(blob, made.data, made.size);
            continue;
        }
        status = device->backend->compile(&device->ctx, device->base->compiler, &profile, &b->desc, &made,
                                          &b->error);
        if (status != SPY_OK) break;
        if (!spyi_archive_put(pack, &question, &made)) status = SPY_ERROR_OUT_OF_MEMORY;
        char line[40];
        snprintf(line, sizeof line, "arch\tcu\t%s_%u", profile.portable ? "ptx" : "sm",
                 (unsigned)profile.arch);
        spyi_archive_note(pack, line, 1, made.size);
        if (device->offline && i == 0) spyi_text_add_n(blob, made.data, made.size);
    }
    spyi_text_free(&question);
    spyi_text_free(&made);
    return status;
}

// Compiles, unless the device's store has the blob. The blob depends on the desc, the profile and the driver.
// The version of the compiler does not matter to the driver; another file of desc's compiler is another
// question.
static spy_status spyi_build_compile(spyi_build *b, spyi_text *blob) {
    spy_device *device = b->device;
    const char *compiler = device->base->compiler;
    bool as_is = device->backend->compile == spyi_compile_as_is;
    spyi_store *store = as_is ? NULL : device->ctx.store;
    uint64_t stamp = compiler ? spyi_library_stamp(compiler) : 0;
    spyi_text question = { NULL, 0, 0 };
    if (device->ctx.pack && !as_is) {
        if (!spyi_archive_is_recording(spyi_store_pack(device->ctx.pack))) return spyi_build_unpack(b, blob);
        spy_status status = spyi_build_pack(b, blob);
        if (status != SPY_OK || device->offline) return status;
    }
    if (store) {
        spyi_text_add(&question, "%s\n%s\n%s\n", device->backend->name, device->base->limits.info.driver,
                      compiler ? compiler : "");
        spyi_text_add_n(&question, (const char *)&stamp, sizeof stamp);
        spyi_text_add_n(&question, b->bytes, b->size);
        if (spyi_store_get(store, &question, blob)) {
            spyi_text_free(&question);
            return SPY_OK;
        }
    }
    spy_status status =
        device->backend->compile(&device->ctx, compiler, &b->profile, &b->desc, blob, &b->error);
    if (status == SPY_OK && store) spyi_store_put(store, &question, blob);
    spyi_text_free(&question);
    return status;
}

static void spyi_build_make(spyi_build *b) {
    spy_device *device = b->device;
    spyi_text blob = { NULL, 0, 0 };
    spyi_kernel_desc desc = b->desc; // the desc of the kernel to load, with the compiled blob as its code
    uint32_t failed = spyi_failed_allocations();
    b->status = SPY_OK;
    if (b->compiles) {
        b->status = spyi_build_compile(b, &blob);
        desc.code = blob.data;
        desc.code_size = blob.size;
    }
    if (b->status == SPY_OK) b->status = device->backend->load(device->gpu, &desc, &b->kernel, &b->error);
    if (device->sign_call) b->blob = blob;
    else spyi_text_free(&blob);
    b->failed = spyi_failed_allocations() - failed;
}

// Returns whether all builds whose callers have left are done.
static bool spyi_builds_over(const spyi_builds *builds) {
    const spyi_build *b = builds->left;
    while (b && b->done) b = b->next;
    return !b;
}

static void spyi_build_thread(void *user) {
    spyi_build *b = (spyi_build *)user;
    spy_device *device = b->device;
    spyi_builds *builds = &device->builds;
    spyi_keep_log(&b->log);
    spyi_build_make(b);
    spyi_keep_log(NULL);
    spyi_mutex_lock(&builds->lock);
    b->done = true;
    bool last = builds->released && spyi_builds_over(builds);
    spyi_signal_all(&builds->changed);
    spyi_mutex_unlock(&builds->lock);
    if (last) spyi_device_free(device);
}

static void spyi_build_join(spyi_build *b) {
    if (b->started) spyi_thread_join(&b->thread);
    b->started = false;
}

// Looks for a build in builds->left that makes the same kernel as `wanted`, and gives it to the caller; NULL
// means that there is none.
static spyi_build *spyi_build_take(spyi_builds *builds, const spyi_build *wanted) {
    spyi_mutex_lock(&builds->lock);
    spyi_build **at = &builds->left;
    while (*at && ((*at)->size != wanted->size || memcmp((*at)->bytes, wanted->bytes, wanted->size) != 0))
        at = &(*at)->next;
    spyi_build *found = *at;
    if (found) *at = found->next;
    spyi_mutex_unlock(&builds->lock);
    return found;
}

// Waits for the build; false means that the caller is to leave, and the build is now in builds->left.
static bool spyi_build_wait(spyi_build *b, spyi_long_wait *wait) {
    spyi_builds *builds = &b->device->builds;
    spyi_mutex_lock(&builds->lock);
    while (!b->done && !spyi_long_wait_left(wait)) spyi_long_wait_once(wait, &builds->changed, &builds->lock);
    bool done = b->done;
    if (!done) {
        b->next = builds->left;
        builds->left = b;
    }
    spyi_mutex_unlock(&builds->lock);
    return done;
}

SPYI_FN spy_status spyi_build_kernel(spy_device *device, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, const char *what, spyi_kernel **kernel,
                                     spyi_text *blob, spyi_text *error) {
    spyi_long_wait wait;
    spyi_build *b = spyi_build_new(device, profile, desc);
    *kernel = NULL;
    if (!b) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    spyi_build *left = spyi_build_take(&device->builds, b);
    if (left) {
        spyi_build_free(b);
        b = left;
    } else {
        b->started = spyi_thread_start_deep(&b->thread, spyi_build_thread, b, SPYI_BUILD_STACK_BYTES);
        if (!b->started) { // no thread could be started: this thread builds
            spyi_build_make(b);
            b->done = true;
        }
    }
    spyi_long_wait_begin(&wait, &device->ctx, what, "the driver's compiler", false);
    bool done = spyi_build_wait(b, &wait);
    spyi_long_wait_end(&wait);
    if (!done) {
        spyi_library_stay(); // the thread runs this library's code
        spyi_logf(&device->ctx, SPY_LOG_LEVEL_WARNING,
                  "%s: the driver's compiler is left to itself until it is done", what);
        return spyi_long_wait_say(&wait, error);
    }
    spyi_build_join(b);
    spyi_tell_log(&device->ctx, &b->log);
    spyi_note_failed_allocations(b->failed);
    spy_status status = b->status;
    *kernel = b->kernel;
    if (blob) {
        *blob = b->blob;
        memset(&b->blob, 0, sizeof b->blob);
    }
    spyi_text_add_n(error, spyi_text_str(&b->error), b->error.size);
    spyi_build_free(b);
    return status;
}

static void spyi_builds_opener(void *user) {
    spy_device *device = (spy_device *)user;
    device->backend->open_compiler(device->base->compiler);
}

SPYI_FN void spyi_builds_open_compiler(spy_device *device) {
    spyi_builds *builds = &device->builds;
    if (!device->backend->open_compiler || !spyi_atomic_swap_if(&builds->opening, 0, 1)) return;
    builds->opener_started =
        spyi_thread_start_deep(&builds->opener, spyi_builds_opener, device, SPYI_BUILD_STACK_BYTES);
}

// >>the device's end

SPYI_FN void spyi_builds_init(spy_device *device) {
    spyi_mutex_init(&device->builds.lock);
    spyi_signal_init(&device->builds.changed);
}

SPYI_FN bool spyi_builds_release(spy_device *device) {
    spyi_builds *builds = &device->builds;
    bool stays = spyi_allocator_is_given(&device->ctx) || (device->base && device->base->borrowed);
    spyi_mutex_lock(&builds->lock);
    bool over = spyi_builds_over(builds);
    if (!over && stays) {
        spyi_block(&device->ctx, true);
        while (!spyi_builds_over(builds)) spyi_signal_wait(&builds->changed, &builds->lock);
        spyi_block(&device->ctx, false);
        over = true;
    }
    if (!over) {
        builds->released = true;
        for (spyi_build *b = builds->left; b; b = b->next) {
            if (b->done) continue;
            spyi_thread_detach(&b->thread);
            b->started = false;
        }
    }
    spyi_mutex_unlock(&builds->lock);
    return over;
}

SPYI_FN void spyi_builds_free(spy_device *device) {
    spyi_builds *builds = &device->builds;
    if (builds->opener_started) spyi_thread_join(&builds->opener);
    while (builds->left) {
        spyi_build *b = builds->left;
        builds->left = b->next;
        spyi_build_join(b);
        if (b->kernel) device->backend->destroy_kernel(device->gpu, b->kernel);
        spyi_build_free(b);
    }
    spyi_signal_destroy(&builds->changed);
    spyi_mutex_destroy(&builds->lock);
}
