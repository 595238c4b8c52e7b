// Makes the VkDevice with the features of features.c, or uses an engine's; finds its limits; turns results of
// Vulkan calls into errors.
#include "base/store.h"
#include "vk/internal.h"

SPYI_FN const char *spyi_vk_result_name(VkResult result) {
    static const struct {
        VkResult result;
        const char *name;
    } results[] = {
// clang-format off
#define SPYI_VK_RESULT(name) { name, #name },
        SPYI_VK_RESULT(VK_SUCCESS)
        SPYI_VK_RESULT(VK_NOT_READY)
        SPYI_VK_RESULT(VK_TIMEOUT)
        SPYI_VK_RESULT(VK_INCOMPLETE)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED)
        SPYI_VK_RESULT(VK_ERROR_DEVICE_LOST)
        SPYI_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
        SPYI_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
        SPYI_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
        SPYI_VK_RESULT(VK_ERROR_FRAGMENTED_POOL)
        SPYI_VK_RESULT(VK_ERROR_UNKNOWN)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_INVALID_SHADER_NV)
        SPYI_VK_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
#undef SPYI_VK_RESULT
        // clang-format on
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].result == result) return results[i].name;
    return "an unknown VkResult";
}

SPYI_FN bool spyi_vk_is_lost(const spyi_vk_gpu *gpu, spyi_text *error) {
    if (SPYI_LIKELY(!gpu->lost)) return false;
    spyi_text_add(error, "the device was lost earlier");
    return true;
}

static void spyi_vk_add_kernels(const spyi_vk_batch *batch, spyi_text *error) {
    uint32_t i, count = batch->recent_count < SPYI_VK_RECENT ? batch->recent_count : SPYI_VK_RECENT;
    for (i = 0; i < count; i++) {
        const spyi_kernel *kernel = batch->recent[(batch->recent_count - count + i) % SPYI_VK_RECENT];
        spyi_text_add(error, "%s '%s'", i == 0 ? "" : ",",
                      ((const spyi_vk_kernel *)(const void *)kernel)->label);
    }
}

// Adds the kernels of unfinished batches to the error of a lost device. These kernels still exist, because
// kernels that unfinished work uses may not be destroyed.
static void spyi_vk_describe_unfinished(spyi_vk_gpu *gpu, spyi_text *error) {
    uint64_t number = gpu->finished + 1;
    uint32_t shown = 0;
    for (; number <= gpu->base.open && shown < 3; number++) {
        const spyi_vk_batch *batch = gpu->batches, *end = gpu->batches + gpu->batch_count;
        while (batch < end && batch->number != number) batch++;
        if (batch == end || batch->recent_count == 0) continue;
        spyi_text_add(error, "; batch %llu ended with", (unsigned long long)number);
        spyi_vk_add_kernels(batch, error);
        shown++;
    }
}

SPYI_FN void spyi_vk_describe_dropped(const spyi_vk_batch *batch, spyi_text *error) {
    spyi_text_add(error, "; what was recorded since the last submission is not done");
    if (batch->recent_count == 0) return;
    spyi_text_add(error, ", the last kernels of it:");
    spyi_vk_add_kernels(batch, error);
}

SPYI_FN spy_status spyi_vk_fail(spyi_vk_gpu *gpu, VkResult result, const char *what, spyi_text *error) {
    spyi_text_add(error, "%s failed: %s", what, spyi_vk_result_name(result));
    switch ((int)result) {
    case VK_ERROR_DEVICE_LOST:
        if (!gpu->lost) spyi_vk_describe_unfinished(gpu, error);
        gpu->lost = true;
        return SPY_ERROR_DEVICE_LOST;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    case VK_ERROR_OUT_OF_HOST_MEMORY: return SPY_ERROR_OUT_OF_MEMORY;
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT: return SPY_ERROR_UNSUPPORTED;
    default: return SPY_ERROR_INTERNAL;
    }
}

SPYI_FN void spyi_vk_set_name(spyi_vk_gpu *gpu, VkObjectType type, uint64_t handle, const char *name) {
    VkDebugUtilsObjectNameInfoEXT info;
    if (gpu->instance.set_name == NULL || name == NULL || name[0] == '\0') return;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = name;
    (void)gpu->instance.set_name(gpu->device, &info); // a name that is not set harms nothing
}

// >>creation

static spy_status spyi_vk_make_device(spyi_vk_gpu *gpu, spyi_text *error) {
    static const float priority = 1.0f;
    const char *extensions[SPYI_VK_EXTENSION_COUNT];
    spyi_vk_feature_set set;
    VkDeviceQueueCreateInfo queues[2];
    VkDeviceCreateInfo info;
    VkResult result;
    const VkBool32 yes = VK_TRUE;
    uint32_t i;
    spyi_vk_feature_chain(&set, &gpu->adapter);
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        if (gpu->adapter.features[i]) memcpy((char *)&set + spyi_vk_feature_offset(i), &yes, sizeof yes);
    }
    memset(queues, 0, sizeof queues);
    for (i = 0; i < 2; i++) {
        queues[i].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queues[i].queueFamilyIndex = i == 0 ? gpu->adapter.queue_family : gpu->adapter.lane_family;
        queues[i].queueCount = 1;
        queues[i].pQueuePriorities = &priority;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &set.core;
    info.queueCreateInfoCount = gpu->adapter.lane_family != gpu->adapter.queue_family ? 2 : 1;
    info.pQueueCreateInfos = queues;
    info.ppEnabledExtensionNames = extensions;
    for (i = 0; i < SPYI_VK_EXTENSION_COUNT; i++) {
        if (gpu->adapter.extensions[i]) extensions[info.enabledExtensionCount++] = spyi_vk_extension_name(i);
    }
    result = gpu->instance.CreateDevice(gpu->adapter.handle, &info, NULL, &gpu->device);
    if (result != VK_SUCCESS) {
        gpu->device = VK_NULL_HANDLE;
        (void)spyi_vk_fail(gpu, result, "vkCreateDevice", error);
        spyi_text_add(error, " (adapter '%s')", gpu->adapter.info.name);
        return result == VK_ERROR_OUT_OF_HOST_MEMORY ? SPY_ERROR_OUT_OF_MEMORY : SPY_ERROR_NO_DEVICE;
    }
    gpu->owned = true;
    gpu->queue_family = gpu->adapter.queue_family;
    gpu->lane_family = gpu->adapter.lane_family;
    return SPY_OK;
}

// Uses an engine's device. It is taken to have the required features, and the optional ones that the desc
// names.
static spy_status spyi_vk_use_engine(spyi_vk_gpu *gpu, const spy_vk_desc *engine, spyi_text *error) {
    bool enabled[SPYI_VK_FEATURE_COUNT];
    uint32_t i, k;
    if (engine->instance == NULL || engine->physical_device == NULL || engine->queue == NULL) {
        spyi_text_add(error, "spy_vk_desc has a device but no %s",
                      engine->instance == NULL ? "instance"
                      : engine->queue == NULL  ? "queue"
                                               : "physical_device");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_vk_query_adapter(&gpu->instance, (VkPhysicalDevice)engine->physical_device, 1, &gpu->adapter);
    if (gpu->adapter.refusal[0] != '\0') {
        spyi_text_add(error, "the engine's physical device '%s' %s", gpu->adapter.info.name,
                      gpu->adapter.refusal);
        return SPY_ERROR_NO_DEVICE;
    }
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) enabled[i] = i < SPYI_VK_FEATURE_REQUIRED;
    for (k = 0; k < engine->enabled_feature_count; k++) {
        for (i = 0;
             i < SPYI_VK_FEATURE_COUNT && strcmp(engine->enabled_features[k], spyi_vk_feature_name(i)) != 0;)
            i++;
        if (i == SPYI_VK_FEATURE_COUNT || !gpu->adapter.features[i]) {
            spyi_text_add(error, "spy_vk_desc.enabled_features names '%s', which %s",
                          engine->enabled_features[k],
                          i == SPYI_VK_FEATURE_COUNT ? "spy_vk_required_features() does not list"
                                                     : "the physical device lacks");
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        enabled[i] = true;
    }
    memcpy(gpu->adapter.features, enabled, sizeof enabled);
    spyi_vk_fill_info(&gpu->adapter);
    gpu->device = (VkDevice)engine->device;
    gpu->queue = (VkQueue)engine->queue;
    gpu->queue_family = engine->queue_family;
    gpu->lane_family = engine->queue_family;
    gpu->lane_queue = gpu->queue;
    gpu->lock_queue = engine->lock_queue;
    gpu->unlock_queue = engine->unlock_queue;
    gpu->lock_user_data = engine->lock_user_data;
    return SPY_OK;
}

// The members of spyi_vk_functions.
#define SPYI_VK_ENTRY(name) { #name, offsetof(spyi_vk_functions, name) },
static const spyi_vk_function spyi_vk_needed_functions[] = { SPYI_VK_DEVICE_FUNCTIONS(SPYI_VK_ENTRY) };
static const spyi_vk_function spyi_vk_optional_functions[] = { SPYI_VK_OPTIONAL_DEVICE_FUNCTIONS(
    SPYI_VK_ENTRY) };
#undef SPYI_VK_ENTRY

// Fills the members of gpu->vk that `functions` names. Returns the name of a function that the driver does
// not have, or NULL.
static const char *spyi_vk_load_table(spyi_vk_gpu *gpu, const spyi_vk_function *functions, size_t count) {
    const char *missing = NULL;
    size_t i;
    for (i = 0; i < count; i++) {
        PFN_vkVoidFunction found = gpu->instance.GetDeviceProcAddr(gpu->device, functions[i].name);
        memcpy((char *)&gpu->vk + functions[i].offset, &found, sizeof found);
        if (found == NULL) missing = functions[i].name;
    }
    return missing;
}

// Fills the table of the device's functions. After an error a device that the library made is destroyed.
static spy_status spyi_vk_load_functions(spyi_vk_gpu *gpu, spyi_text *error) {
    const char *missing;
    PFN_vkDestroyDevice destroy;
    missing = spyi_vk_load_table(gpu, spyi_vk_needed_functions,
                                 sizeof spyi_vk_needed_functions / sizeof spyi_vk_needed_functions[0]);
    spyi_vk_load_table(gpu, spyi_vk_optional_functions,
                       sizeof spyi_vk_optional_functions / sizeof spyi_vk_optional_functions[0]);
    if (missing == NULL) return SPY_OK;
    spyi_text_add(error, "vkGetDeviceProcAddr of '%s' does not know %s; Vulkan 1.2 is needed",
                  gpu->adapter.info.name, missing);
    destroy = gpu->vk.vkDestroyDevice;
    if (gpu->owned && destroy != NULL) destroy(gpu->device, NULL);
    gpu->device = VK_NULL_HANDLE;
    return SPY_ERROR_NO_DEVICE;
}

// Fills limits.texels: the elements that typed buffers can have.
static void spyi_vk_set_texels(spyi_vk_gpu *gpu) {
    uint32_t scalar, columns;
    for (scalar = 0; scalar < SPY_DTYPE_COUNT; scalar++) {
        for (columns = 1; columns <= 4; columns++) {
            VkFormat format = spyi_vk_texel_format(scalar, columns);
            uint8_t *use = &gpu->base.limits.texels[scalar][columns - 1];
            VkFormatProperties has;
            if (format == VK_FORMAT_UNDEFINED) continue;
            gpu->instance.GetPhysicalDeviceFormatProperties(gpu->adapter.handle, format, &has);
            if ((has.bufferFeatures & VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT) != 0)
                *use |= SPYI_TEXEL_READS;
            if ((has.bufferFeatures & VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT) != 0)
                *use |= SPYI_TEXEL_WRITES;
        }
    }
}

static void spyi_vk_set_limits(spyi_vk_gpu *gpu) {
    spyi_limits *limits = &gpu->base.limits;
    spyi_profile *profile = &limits->profile;
    const VkPhysicalDeviceLimits *have = &gpu->adapter.limits;
    const VkMemoryType *type = &gpu->adapter.memory.memoryTypes[gpu->memory_type[SPYI_VK_MEMORY_DEVICE]];
    const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    limits->info = gpu->adapter.info;
    spyi_profile_of_info(profile, &limits->info);
    profile->target = SPYI_TARGET_SPIRV;
    profile->max_block_bytes = have->maxPushConstantsSize;
    if (gpu->vk.vkCmdPushDescriptorSetKHR != NULL && gpu->adapter.extensions[SPYI_VK_KHR_push_descriptor]) {
        profile->max_bindings = gpu->adapter.max_push_descriptors;
        if (have->maxPerStageDescriptorStorageBuffers < profile->max_bindings) {
            profile->max_bindings = have->maxPerStageDescriptorStorageBuffers;
        }
        if (profile->max_bindings > SPYI_VK_MAX_BINDINGS) profile->max_bindings = SPYI_VK_MAX_BINDINGS;
    }
    limits->binding_alignment = 16;
    if (have->minStorageBufferOffsetAlignment > limits->binding_alignment) {
        limits->binding_alignment = (uint32_t)have->minStorageBufferOffsetAlignment;
    }
    limits->max_binding_bytes = have->maxStorageBufferRange;
    limits->texel_alignment = (uint32_t)have->minTexelBufferOffsetAlignment;
    limits->max_texels = have->maxTexelBufferElements;
    spyi_vk_set_texels(gpu);
    profile->max_uniforms = have->maxPerStageDescriptorUniformBuffers;
    profile->max_uniform_bytes = have->maxUniformBufferRange;
    limits->fill_alignment = 4;
    profile->names_formats = !gpu->adapter.features[SPYI_VK_FEATURE_shaderStorageImageReadWithoutFormat] ||
                             !gpu->adapter.features[SPYI_VK_FEATURE_shaderStorageImageWriteWithoutFormat];
    profile->prefers_bindings = gpu->adapter.info.type == SPY_ADAPTER_TYPE_CPU;
    profile->bindings_from_bytes = (uint64_t)8 << 20;
    // On lavapipe a barrier costs more than memory accesses that are far apart, so tiles take twice the time.
    profile->tiles_from = profile->prefers_bindings ? UINT64_MAX : SPYI_TILES_FROM;
    limits->unified_memory =
        gpu->adapter.info.type != SPY_ADAPTER_TYPE_DISCRETE && (type->propertyFlags & mapped) == mapped;
}

// >>what the driver has compiled, kept on disk

// The most bytes of a pipeline cache that are worth reading at each start.
#define SPYI_VK_MOST_PIPELINE_BYTES ((size_t)64 << 20)

static void spyi_vk_pipeline_question(const spyi_vk_gpu *gpu, spyi_text *out) {
    spyi_text_add(out, "VkPipelineCache\n%s\n%s", gpu->adapter.info.name, gpu->adapter.info.driver);
}

// Writes the pipeline cache of `size` bytes to the store.
static void spyi_vk_store_pipelines(spyi_vk_gpu *gpu, const spyi_text *question, size_t size) {
    spyi_text data = { NULL, 0, 0 };
    if (!gpu->base.ctx->store || size > SPYI_VK_MOST_PIPELINE_BYTES) return;
    data.data = (char *)spyi_malloc(size);
    data.size = size;
    if (data.data &&
        gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &data.size, data.data) == VK_SUCCESS)
        spyi_store_put(gpu->base.ctx->store, question, &data);
    free(data.data);
}

// The first start writes an empty cache at once, so that later starts find as many files as it had.
static VkResult spyi_vk_make_pipeline_cache(spyi_vk_gpu *gpu) {
    VkPipelineCacheCreateInfo info;
    spyi_text question = { NULL, 0, 0 }, kept = { NULL, 0, 0 };
    spyi_vk_pipeline_question(gpu, &question);
    (void)spyi_store_get(gpu->base.ctx->store, &question, &kept);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = kept.size; // the driver ignores data of another device or version
    info.pInitialData = kept.data;
    VkResult result = gpu->vk.vkCreatePipelineCache(gpu->device, &info, NULL, &gpu->pipeline_cache);
    if (result == VK_SUCCESS)
        (void)gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &gpu->pipeline_bytes, NULL);
    if (result == VK_SUCCESS && kept.size == 0) spyi_vk_store_pipelines(gpu, &question, gpu->pipeline_bytes);
    spyi_text_free(&question);
    spyi_text_free(&kept);
    return result;
}

static void spyi_vk_keep_pipeline_cache(spyi_vk_gpu *gpu) {
    spyi_text question = { NULL, 0, 0 };
    size_t size = 0;
    if (gpu->pipeline_cache == VK_NULL_HANDLE ||
        gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &size, NULL) != VK_SUCCESS ||
        size == gpu->pipeline_bytes)
        return;
    spyi_vk_pipeline_question(gpu, &question);
    spyi_vk_store_pipelines(gpu, &question, size);
    spyi_text_free(&question);
}

static spy_status spyi_vk_setup(spyi_vk_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    const spy_vk_desc *engine = (const spy_vk_desc *)desc->backend_desc;
    VkResult result;
    spy_status status;
    uint32_t failed = spyi_failed_allocations();
    if (SPYI_DESC_PROBLEM(spy_vk_desc, engine) != NULL) {
        spyi_text_add(error, "desc.backend_desc: %s", SPYI_DESC_PROBLEM(spy_vk_desc, engine));
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_instance_init(&gpu->instance, gpu->base.ctx, engine, desc->enable_validation, error);
    if (status != SPY_OK) return status;
    gpu->base.slices = true;
    gpu->base.borrowed = engine != NULL && (engine->device != NULL || engine->instance != NULL);
    if (engine != NULL && engine->device != NULL) {
        status = spyi_vk_use_engine(gpu, engine, error);
    } else {
        status = spyi_vk_choose_adapter(&gpu->instance, desc, &gpu->adapter, error);
        if (status == SPY_OK) status = spyi_vk_make_device(gpu, error);
    }
    if (status == SPY_OK) status = spyi_vk_load_functions(gpu, error);
    // An extension that could not be asked for looks like one that is missing.
    status = spyi_check_allocations(failed, status, error);
    if (status != SPY_OK) return status;
    if (gpu->owned) {
        gpu->vk.vkGetDeviceQueue(gpu->device, gpu->queue_family, 0, &gpu->queue);
        gpu->vk.vkGetDeviceQueue(gpu->device, gpu->lane_family, 0, &gpu->lane_queue);
    }
    gpu->dynamic_rendering =
        gpu->adapter.features[SPYI_VK_FEATURE_dynamicRendering] && gpu->vk.vkCmdBeginRendering != NULL;
    gpu->base.spin_ns = gpu->adapter.info.type != SPY_ADAPTER_TYPE_CPU ? SPYI_VK_SPIN_NS : 0;
    if (!spyi_vk_choose_memory(gpu, error)) return SPY_ERROR_NO_DEVICE;
    spyi_vk_set_limits(gpu);
    result = spyi_vk_make_pipeline_cache(gpu);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreatePipelineCache", error);
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_QUEUE, (uint64_t)(uintptr_t)gpu->queue, desc->label);
    return spyi_vk_make_submit_objects(gpu, error);
}

SPYI_FN spy_status spyi_vk_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **out,
                                  spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)spyi_allocate(ctx, sizeof *gpu);
    spy_status status;
    *out = NULL;
    if (gpu == NULL) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    gpu->base.backend = spy_vk_backend();
    gpu->base.ctx = ctx;
    gpu->base.open = 1;
    spyi_mutex_init(&gpu->layout_lock);
    status = spyi_vk_setup(gpu, desc, error);
    if (status != SPY_OK) {
        spyi_vk_destroy((spyi_gpu *)(void *)gpu);
        return status;
    }
    spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "Vulkan device '%s', %s", gpu->adapter.info.name,
              gpu->adapter.info.driver);
    *out = (spyi_gpu *)(void *)gpu;
    return SPY_OK;
}

// Destroys a device, also one of which only a part was made.
SPYI_FN void spyi_vk_destroy(spyi_gpu *base) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_context *ctx = gpu->base.ctx;
    if (gpu->device != VK_NULL_HANDLE) {
        spyi_vk_wait_idle(gpu);
        spyi_vk_destroy_staging(gpu);
        spyi_vk_destroy_submit_objects(gpu);
        spyi_vk_destroy_render_passes(gpu);
        spyi_vk_destroy_layouts(gpu);
        spyi_vk_destroy_handles(gpu);
        spyi_vk_keep_pipeline_cache(gpu);
        gpu->vk.vkDestroyPipelineCache(gpu->device, gpu->pipeline_cache, NULL);
        if (gpu->owned) gpu->vk.vkDestroyDevice(gpu->device, NULL);
    }
    spyi_vk_instance_destroy(&gpu->instance);
    spyi_mutex_destroy(&gpu->layout_lock);
    if (gpu->shares) spyi_mutex_destroy(&gpu->share_lock);
    spyi_free(ctx, gpu, sizeof *gpu);
}
