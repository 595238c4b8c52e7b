// Memory and timeline semaphores that another API of the same GPU uses, too: CUDA imports both by their file
// descriptors. Source: Vulkan specification, VK_KHR_external_memory_fd and VK_KHR_external_semaphore_fd.
#include "vk/internal.h"

static VkExternalMemoryFeatureFlags spyi_vk_exported_buffers(const spyi_vk_gpu *gpu) {
    VkPhysicalDeviceExternalBufferInfo info;
    VkExternalBufferProperties properties;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
    gpu->instance.GetPhysicalDeviceExternalBufferProperties(gpu->adapter.handle, &info, &properties);
    return properties.externalMemoryProperties.externalMemoryFeatures;
}

static VkExternalSemaphoreFeatureFlags spyi_vk_exported_timelines(const spyi_vk_gpu *gpu) {
    VkPhysicalDeviceExternalSemaphoreInfo info;
    VkSemaphoreTypeCreateInfo type;
    VkExternalSemaphoreProperties properties;
    SPYI_VK_ZERO(type);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO;
    info.pNext = &type;
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES;
    gpu->instance.GetPhysicalDeviceExternalSemaphoreProperties(gpu->adapter.handle, &info, &properties);
    return properties.externalSemaphoreFeatures;
}

static spy_vk_sharing spyi_vk_sharing(const spyi_vk_gpu *gpu) {
    spy_vk_sharing sharing;
    VkPhysicalDeviceIDProperties id;
    VkPhysicalDeviceProperties2 properties;
    memset(&sharing, 0, sizeof sharing);
    SPYI_VK_ZERO(id);
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &id;
    gpu->instance.GetPhysicalDeviceProperties2(gpu->adapter.handle, &properties);
    memcpy(sharing.device_uuid, id.deviceUUID, sizeof sharing.device_uuid);
    sharing.memory = gpu->adapter.extensions[SPYI_VK_KHR_external_memory_fd] &&
                     gpu->vk.vkGetMemoryFdKHR != NULL &&
                     (spyi_vk_exported_buffers(gpu) & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
    sharing.semaphores =
        gpu->adapter.extensions[SPYI_VK_KHR_external_semaphore_fd] && gpu->vk.vkGetSemaphoreFdKHR != NULL &&
        (spyi_vk_exported_timelines(gpu) & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
    return sharing;
}

static spy_status spyi_vk_cannot_share(const spyi_vk_gpu *gpu, const char *what, const char *extension,
                                       spyi_text *error) {
    spyi_text_add(
        error, "'%s' cannot export %s: it needs %s, which %s", gpu->adapter.info.name, what, extension,
        gpu->base.borrowed ? "the engine did not enable for its VkDevice, or its driver does not have"
                           : "its driver does not have for them");
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_vk_export_memory(spyi_vk_gpu *gpu, uint64_t size_bytes, spy_vk_shared_memory *shared,
                                        spyi_text *error) {
    uint32_t type = gpu->memory_type[SPYI_VK_MEMORY_DEVICE];
    VkDeviceSize most = gpu->adapter.memory.memoryHeaps[gpu->adapter.memory.memoryTypes[type].heapIndex].size;
    const char *what = "vkAllocateMemory";
    VkMemoryRequirements needs;
    VkMemoryGetFdInfoKHR info;
    spyi_chunk chunk;
    VkResult result;
    int fd = -1;
    if (size_bytes == 0) {
        spyi_text_add(error, "size_bytes is 0");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!spyi_vk_sharing(gpu).memory)
        return spyi_vk_cannot_share(gpu, "memory", "VK_KHR_external_memory_fd", error);
    if (gpu->adapter.max_allocation < most) most = gpu->adapter.max_allocation;
    if (size_bytes > most) {
        spyi_text_add(error, "%llu bytes were asked for; the largest allocation of '%s' is %llu bytes",
                      (unsigned long long)size_bytes, gpu->adapter.info.name, (unsigned long long)most);
        return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    memset(&chunk, 0, sizeof chunk);
    result = spyi_vk_try_allocate(gpu, type, spyi_align((size_t)size_bytes, 256), true, &chunk, &what);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, what, error);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
    info.memory = (VkDeviceMemory)chunk.memory;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = gpu->vk.vkGetMemoryFdKHR(gpu->device, &info, &fd);
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += chunk.size;
    if (result != VK_SUCCESS) {
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &chunk);
        return spyi_vk_fail(gpu, result, "vkGetMemoryFdKHR", error);
    }
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_BUFFER, chunk.handle, "shared memory");
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, (VkBuffer)chunk.handle, &needs);
    shared->buffer = chunk.handle;
    shared->memory = (uint64_t)(uintptr_t)chunk.memory;
    shared->size_bytes = chunk.size;
    shared->allocated_bytes = needs.size;
    shared->fd = fd;
    return SPY_OK;
}

static spy_status spyi_vk_export_semaphore(spyi_vk_gpu *gpu, uint64_t *semaphore, int *fd, spyi_text *error) {
    VkExportSemaphoreCreateInfo exported;
    VkSemaphoreGetFdInfoKHR get;
    VkSemaphore made = VK_NULL_HANDLE;
    VkResult result;
    if (!spyi_vk_sharing(gpu).semaphores)
        return spyi_vk_cannot_share(gpu, "timeline semaphores", "VK_KHR_external_semaphore_fd", error);
    SPYI_VK_ZERO(exported);
    exported.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
    exported.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = spyi_vk_make_timeline(gpu, &exported, &made);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateSemaphore", error);
    SPYI_VK_ZERO(get);
    get.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR;
    get.semaphore = made;
    get.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = gpu->vk.vkGetSemaphoreFdKHR(gpu->device, &get, fd);
    if (result != VK_SUCCESS) {
        gpu->vk.vkDestroySemaphore(gpu->device, made, NULL);
        return spyi_vk_fail(gpu, result, "vkGetSemaphoreFdKHR", error);
    }
    *semaphore = (uint64_t)made;
    return SPY_OK;
}

// >>the public functions

spy_vk_sharing spy_vk_get_sharing(spy_device *device) {
    spyi_vk_gpu *gpu = spyi_vk_enter(device, "spy_vk_get_sharing");
    spy_vk_sharing sharing;
    memset(&sharing, 0, sizeof sharing);
    if (gpu == NULL) return sharing;
    sharing = spyi_vk_sharing(gpu);
    spyi_leave(device);
    return sharing;
}

spy_status spy_vk_create_shared_memory(spy_device *device, uint64_t size_bytes,
                                       spy_vk_shared_memory *shared) {
    static const char function[] = "spy_vk_create_shared_memory";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (shared != NULL) {
        memset(shared, 0, sizeof *shared);
        shared->fd = -1;
    }
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (shared == NULL) spyi_text_add(&error, "shared is NULL");
    else status = spyi_vk_export_memory(gpu, size_bytes, shared, &error);
    return spyi_vk_leave(device, gpu, function, status, &error);
}

spy_status spy_vk_release_shared_memory(spy_device *device, spy_vk_shared_memory *shared) {
    static const char function[] = "spy_vk_release_shared_memory";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_chunk chunk;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (shared != NULL && shared->buffer != 0) {
        memset(&chunk, 0, sizeof chunk);
        chunk.handle = shared->buffer;
        chunk.memory = (void *)(uintptr_t)shared->memory;
        chunk.size = (size_t)shared->size_bytes;
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &chunk);
        memset(shared, 0, sizeof *shared);
        shared->fd = -1;
    }
    spyi_leave(device);
    return SPY_OK;
}

spy_status spy_vk_create_shared_semaphore(spy_device *device, uint64_t *semaphore, int *fd) {
    static const char function[] = "spy_vk_create_shared_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore != NULL) *semaphore = 0;
    if (fd != NULL) *fd = -1;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore == NULL || fd == NULL)
        spyi_text_add(&error, "%s is NULL", semaphore == NULL ? "semaphore" : "fd");
    else status = spyi_vk_export_semaphore(gpu, semaphore, fd, &error);
    return spyi_vk_leave(device, gpu, function, status, &error);
}

spy_status spy_vk_release_shared_semaphore(spy_device *device, uint64_t semaphore) {
    static const char function[] = "spy_vk_release_shared_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore != 0) gpu->vk.vkDestroySemaphore(gpu->device, (VkSemaphore)semaphore, NULL);
    spyi_leave(device);
    return SPY_OK;
}
