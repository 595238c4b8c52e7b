// Creates and destroys CUDA devices: lists adapters, chooses one, takes or retains a context, and sets the
// device's limits.
#include "cuda/internal.h"

// >>adapters

static int spyi_cuda_attribute(const spyi_cu_driver *cu, spyi_cu_device device, int attribute) {
    int value = 0;
    (void)cu->DeviceGetAttribute(&value, attribute, device);
    return value;
}

static void spyi_cuda_describe(const spyi_cu_driver *cu, spyi_cu_device device, spy_device_info *info) {
    size_t memory = 0;
    memset(info, 0, sizeof *info);
    info->backend = "cuda";
    (void)cu->DeviceGetName(info->name, (int)sizeof info->name, device);
    (void)cu->DeviceTotalMem(&memory, device);
    (void)snprintf(info->driver, sizeof info->driver, "CUDA %d.%d, compute capability %d.%d",
                   cu->version / 1000, cu->version % 1000 / 10,
                   spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MAJOR),
                   spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MINOR));
    info->type = spyi_cuda_attribute(cu, device, SPYI_CU_INTEGRATED) ? SPY_ADAPTER_TYPE_INTEGRATED
                                                                     : SPY_ADAPTER_TYPE_DISCRETE;
    info->api_version = (uint32_t)cu->version;
    info->features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 | SPY_FEATURE_INT16 |
                     SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD | SPY_FEATURE_TIMESTAMPS |
                     SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS | SPY_FEATURE_HANDLES;
    info->subgroup_size = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_WARP_SIZE);
    info->max_group_size = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_THREADS_PER_BLOCK);
    info->max_group_count = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_GRID_DIM_X);
    // From CUDA 12.1 on, kernels on Volta and later devices take up to 32,764 bytes of parameters.
    info->max_inline_block_bytes =
        cu->version >= 12010 && spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MAJOR) >= 7 ? 32764 : 4096;
    info->memory_bytes = memory;
    info->max_binding_bytes = memory;
    info->timestamp_period_ns = 1; // %globaltimer counts nanoseconds
    info->multiprocessor_count = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MULTIPROCESSORS);
    info->max_shared_bytes = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_SHARED_BYTES);
    info->max_groupshared_bytes = info->max_shared_bytes;
}

SPYI_FN size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    spyi_cu_driver cu;
    int count = 0, i;
    if (spyi_cu_open(NULL, &cu, error) != SPY_OK) return 0;
    (void)cu.DeviceGetCount(&count);
    for (i = 0; i < count && (size_t)i < capacity; i++) {
        spyi_cu_device device;
        if (cu.DeviceGet(&device, i) == SPYI_CU_OK) spyi_cuda_describe(&cu, device, &infos[i]);
        else memset(&infos[i], 0, sizeof infos[i]);
    }
    return count > 0 ? (size_t)count : 0;
}

static bool spyi_cuda_has_part(const char *name, const char *part) { // ignores case
    size_t i, n = strlen(part);
    for (; *name != '\0'; name++) {
        for (i = 0; i < n; i++) {
            char a = name[i], b = part[i];
            if (a >= 'A' && a <= 'Z') a = (char)(a - 'A' + 'a');
            if (b >= 'A' && b <= 'Z') b = (char)(b - 'A' + 'a');
            if (a != b) break;
        }
        if (i == n) return true;
    }
    return n == 0;
}

static spy_status spyi_cuda_choose(spyi_cuda_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    spyi_cu_driver *cu = &gpu->cu;
    spy_device_info info;
    int count = 0, i, best = -1;
    (void)cu->DeviceGetCount(&count);
    if (desc->adapter > (uint32_t)count) {
        spyi_text_add(error, "desc.adapter is %u, there are %d CUDA devices", desc->adapter, count);
        return SPY_ERROR_NO_DEVICE;
    }
    for (i = 0; i < count; i++) {
        spyi_cu_device device;
        if (desc->adapter != 0 && (uint32_t)i + 1 != desc->adapter) continue;
        if (cu->DeviceGet(&device, i) != SPYI_CU_OK) continue;
        spyi_cuda_describe(cu, device, &info);
        if (desc->adapter_name != NULL && !spyi_cuda_has_part(info.name, desc->adapter_name)) continue;
        if (desc->adapter_type != SPY_ADAPTER_TYPE_DEFAULT && desc->adapter_type != info.type) continue;
        if (best >= 0 && info.type != SPY_ADAPTER_TYPE_DISCRETE)
            continue; // the first discrete device is chosen
        if (best >= 0 && gpu->base.limits.info.type == SPY_ADAPTER_TYPE_DISCRETE) continue;
        best = i;
        gpu->device = device;
        gpu->base.limits.info = info;
    }
    if (best >= 0) return SPY_OK;
    spyi_text_add(error, "none of the %d CUDA devices fits the desc", count);
    if (desc->adapter_name != NULL) spyi_text_add(error, " (adapter_name '%s')", desc->adapter_name);
    spyi_text_add(error, ":");
    for (i = 0; i < count; i++) {
        spyi_cu_device device;
        if (cu->DeviceGet(&device, i) != SPYI_CU_OK) continue;
        spyi_cuda_describe(cu, device, &info);
        spyi_text_add(error, "%s %d '%s'", i > 0 ? "," : "", i + 1, info.name);
    }
    return SPY_ERROR_NO_DEVICE;
}

// >>contexts

SPYI_FN bool spyi_cuda_enter_slowly(spyi_cuda_gpu *gpu, spyi_cu_context now) {
    if (now != NULL) return gpu->cu.CtxPushCurrent(gpu->context) == SPYI_CU_OK;
    gpu->made_current = true;
    (void)gpu->cu.CtxSetCurrent(
        gpu->context); // the thread had no context: it keeps the device's, so that the next call need not set
                       // it again
    return false;
}

static bool spyi_cuda_is_fatal(spyi_cu_result result) {
    switch (result) {
    case SPYI_CU_ILLEGAL_ADDRESS:
    case SPYI_CU_LAUNCH_TIMEOUT:
    case SPYI_CU_CONTEXT_DESTROYED:
    case SPYI_CU_ASSERT:
    case SPYI_CU_HARDWARE_STACK_ERROR:
    case SPYI_CU_ILLEGAL_INSTRUCTION:
    case SPYI_CU_MISALIGNED_ADDRESS:
    case SPYI_CU_INVALID_ADDRESS_SPACE:
    case SPYI_CU_INVALID_PC:
    case SPYI_CU_LAUNCH_FAILED:
    case SPYI_CU_ECC_UNCORRECTABLE:
    case SPYI_CU_NVLINK_UNCORRECTABLE: return true;
    default: return false;
    }
}

// Appends the labels of kernels that may have been running: the last kernels, in batches that are not known
// to be finished.
static void spyi_cuda_name_recent(const spyi_cuda_gpu *gpu, spyi_text *error) {
    uint32_t i, count = gpu->recent_count < SPYI_CUDA_RECENT ? gpu->recent_count : SPYI_CUDA_RECENT,
                named = 0;
    for (i = 0; i < count; i++) {
        uint32_t slot = (gpu->recent_count - 1 - i) % SPYI_CUDA_RECENT;
        if (gpu->recent_batch[slot] <= gpu->finished) break;
        spyi_text_add(error, "%s'%s'",
                      named++ > 0 ? ", " : "; its last kernels, newest first: ", gpu->recent_label[slot]);
    }
}

SPYI_FN spy_status spyi_cuda_fail(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error) {
    spyi_cu_say(&gpu->cu, result, what, error);
    if (spyi_cuda_is_fatal(result)) {
        if (!gpu->lost)
            spyi_text_add(error, "; the device is lost: work of batches %llu to %llu is not done",
                          (unsigned long long)gpu->finished + 1, (unsigned long long)gpu->base.open);
        if (!gpu->lost) spyi_cuda_name_recent(gpu, error);
        // All contexts of the process then return the same error, also new ones by cuCtxCreate or by a reset
        // of the primary context (measured: driver 580.159, H200).
        spyi_text_add(error, ", and so is CUDA for the rest of this process");
        gpu->lost = true;
        return SPY_ERROR_DEVICE_LOST;
    }
    return result == SPYI_CU_OUT_OF_MEMORY ? SPY_ERROR_OUT_OF_DEVICE_MEMORY : SPY_ERROR_INTERNAL;
}

// Uses the program's context and finds out its device.
static spy_status spyi_cuda_take_context(spyi_cuda_gpu *gpu, const spy_device_desc *desc, void *context,
                                         spyi_text *error) {
    spyi_cu_result result;
    spyi_cu_context before = NULL;
    gpu->context = (spyi_cu_context)context;
    result = gpu->cu.CtxPushCurrent(gpu->context);
    if (result == SPYI_CU_OK) {
        result = gpu->cu.CtxGetDevice(&gpu->device);
        (void)gpu->cu.CtxPopCurrent(&before);
    }
    if (result != SPYI_CU_OK) {
        spyi_cu_say(&gpu->cu, result, "the desc's CUDA context cannot be used: cuCtxGetDevice", error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_cuda_describe(&gpu->cu, gpu->device, &gpu->base.limits.info);
    if (desc->adapter == 0 || desc->adapter == (uint32_t)gpu->device + 1) return SPY_OK;
    spyi_text_add(error, "desc.adapter is %u, but the given context is of device %d, '%s'", desc->adapter,
                  gpu->device + 1, gpu->base.limits.info.name);
    return SPY_ERROR_INVALID_ARGUMENT;
}

static spy_status spyi_cuda_retain_context(spyi_cuda_gpu *gpu, const spy_device_desc *desc,
                                           spyi_text *error) {
    spyi_cu_result result;
    spy_status status = spyi_cuda_choose(gpu, desc, error);
    if (status != SPY_OK) return status;
    result = gpu->cu.PrimaryCtxRetain(&gpu->context, gpu->device);
    gpu->primary = result == SPYI_CU_OK;
    if (result == SPYI_CU_OK) return SPY_OK;
    gpu->context = NULL;
    spyi_cu_say(&gpu->cu, result, "cuDevicePrimaryCtxRetain", error);
    spyi_text_add(error, " for '%s'", gpu->base.limits.info.name);
    if (spyi_cuda_is_fatal(result))
        spyi_text_add(error, "; a fault has ended CUDA's work in this process: start it anew");
    return result == SPYI_CU_OUT_OF_MEMORY ? SPY_ERROR_OUT_OF_DEVICE_MEMORY : SPY_ERROR_NO_DEVICE;
}

// >>devices

static void spyi_cuda_set_limits(spyi_cuda_gpu *gpu) {
    spyi_limits *limits = &gpu->base.limits;
    spyi_profile *profile = &limits->profile;
    spyi_profile_of_info(profile, &limits->info);
    profile->target = SPYI_TARGET_CUDA;
    profile->max_block_bytes = limits->info.max_inline_block_bytes;
    profile->max_bindings = 64; // buffers are ordinary kernel arguments; only uniform buffers are counted
    limits->binding_alignment = 16;
    limits->max_binding_bytes = UINT64_MAX / 2;
    profile->max_uniforms = 32;
    profile->max_uniform_bytes = 65536; // the size of the constant memory for global parameters
    limits->fill_alignment = 4;
    profile->bindings_from_bytes = UINT64_MAX; // arrays of any size are passed as pointers
    profile->tiles_from = SPYI_TILES_FROM;
    profile->arch = (uint32_t)(10 * spyi_cuda_attribute(&gpu->cu, gpu->device, SPYI_CU_CAPABILITY_MAJOR) +
                               spyi_cuda_attribute(&gpu->cu, gpu->device, SPYI_CU_CAPABILITY_MINOR));
}

static spy_status spyi_cuda_setup(spyi_cuda_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    const spy_cuda_desc *given = (const spy_cuda_desc *)desc->backend_desc;
    spy_status status;
    spyi_cuda_entered entered;
    if (SPYI_DESC_PROBLEM(spy_cuda_desc, given) != NULL) {
        spyi_text_add(error, "desc.backend_desc: %s", SPYI_DESC_PROBLEM(spy_cuda_desc, given));
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_cu_open(given != NULL ? given->driver_library : NULL, &gpu->cu, error);
    if (status != SPY_OK) return status;
    if (given != NULL && given->nvrtc_library != NULL) {
        gpu->nvrtc_path = spyi_strdup(given->nvrtc_library);
        if (gpu->nvrtc_path == NULL) return SPY_ERROR_OUT_OF_MEMORY;
        gpu->base.compiler = gpu->nvrtc_path;
    }
    const char *blocking =
        getenv("CUDA_LAUNCH_BLOCKING"); // the driver's variable for debugging: each launch waits
    gpu->direct_launches =
        (given != NULL && given->direct_launches) || (blocking != NULL && strcmp(blocking, "1") == 0);
    gpu->base.borrowed = given != NULL && given->context != NULL;
    if (gpu->base.borrowed) status = spyi_cuda_take_context(gpu, desc, given->context, error);
    else status = spyi_cuda_retain_context(gpu, desc, error);
    if (status != SPY_OK) return status;
    spyi_cuda_set_limits(gpu);
    entered = spyi_cuda_enter_relaxed(gpu);
    status = spyi_cuda_make_stream(gpu, error);
    if (status == SPY_OK && given != NULL && given->stream != NULL)
        status = spyi_cuda_use_stream(gpu, (spyi_cu_stream)given->stream, error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **out,
                                    spyi_text *error) {
    spyi_cuda_gpu *gpu = (spyi_cuda_gpu *)spyi_allocate(ctx, sizeof *gpu);
    spy_status status;
    *out = NULL;
    if (gpu == NULL) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    gpu->base.backend = spy_cuda_backend();
    gpu->base.ctx = ctx;
    gpu->base.open = 1;
    status = spyi_cuda_setup(gpu, desc, error);
    if (status != SPY_OK) {
        spyi_cuda_destroy((spyi_gpu *)(void *)gpu);
        return status;
    }
    spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "CUDA device '%s', %s", gpu->base.limits.info.name,
              gpu->base.limits.info.driver);
    *out = (spyi_gpu *)(void *)gpu;
    return SPY_OK;
}

// Also destroys a device whose creation has failed half-way.
SPYI_FN void spyi_cuda_destroy(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_context *ctx = gpu->base.ctx;
    if (gpu->context != NULL) {
        spyi_cu_context now = NULL;
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        if (gpu->stream != NULL && !gpu->lost) {
            spyi_watch(&gpu->base);
            if (!gpu->base.captured) (void)gpu->cu.StreamSynchronize(gpu->stream);
        }
        spyi_cuda_free_kept(gpu);
        spyi_cuda_destroy_staging(gpu);
        spyi_cuda_destroy_time(gpu);
        spyi_cuda_destroy_blit(gpu);
        spyi_cuda_destroy_stream(gpu);
        spyi_cuda_leave_relaxed(gpu, entered);
        // A context that spyi_cuda_enter() has left current on this thread is removed, because its release
        // may destroy it.
        if (gpu->primary && gpu->made_current && gpu->cu.CtxGetCurrent(&now) == SPYI_CU_OK &&
            now == gpu->context)
            (void)gpu->cu.CtxSetCurrent(NULL);
        if (gpu->primary) (void)gpu->cu.PrimaryCtxRelease(gpu->device);
    }
    free(gpu->nvrtc_path);
    spyi_free(ctx, gpu, sizeof *gpu);
}
