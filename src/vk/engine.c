// Bringing one's own: recording into an engine's command buffer, its semaphores, tensors over its buffers.
#include "vk/internal.h"

// Our own work so far is submitted first, so that it comes before what the engine will submit.
SPYI_FN spy_status spyi_vk_use_commands(spyi_vk_gpu *gpu, VkCommandBuffer commands, spyi_text *error) {
    // A number stands for work in one command buffer only: an empty submission closes it.
    spy_status status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    if (status != SPY_OK) return status;
    gpu->external = commands;
    gpu->base.deferred = commands != VK_NULL_HANDLE || gpu->external_number != 0;
    gpu->commands = VK_NULL_HANDLE;
    gpu->next_poll_ns = 0;
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_external_finished(spyi_vk_gpu *gpu, spyi_text *error) {
    // What was recorded since the last submission has been executed too, so its number may come.
    spy_status status = gpu->external_used ? spyi_vk_submit((spyi_gpu *)(void *)gpu, error) : SPY_OK;
    gpu->external_number = 0;
    gpu->base.deferred = gpu->external != VK_NULL_HANDLE;
    spyi_vk_return_pages(gpu, &gpu->external_pages);
    return status;
}

SPYI_FN spy_status spyi_vk_add_semaphore(spyi_vk_gpu *gpu, spyi_vk_semaphores *list, uint64_t semaphore,
                                         uint64_t value, spyi_text *error) {
    (void)gpu;
    if (semaphore == 0) {
        spyi_text_add(error, "the semaphore is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->count == SPYI_VK_SEMAPHORES) {
        spyi_text_add(error, "more than %u semaphores wait for one submission", SPYI_VK_SEMAPHORES);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    list->handles[list->count] = (VkSemaphore)semaphore;
    list->values[list->count] = value;
    list->count++;
    return SPY_OK;
}

// >>the public functions

static spyi_vk_gpu *spyi_vk_enter(spy_device *device, const char *function) {
    spyi_vk_gpu *gpu;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    gpu = (spyi_vk_gpu *)(void *)spyi_device_gpu(device, "vulkan", function);
    if (gpu == NULL) spyi_leave(device);
    return gpu;
}

static spy_status spyi_vk_leave(spy_device *device, spyi_vk_gpu *gpu, const char *function, spy_status status,
                                spyi_text *error) {
    if (status != SPY_OK) (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    spyi_leave(device);
    return status;
}

spy_status spy_vk_set_command_buffer(spy_device *device, void *command_buffer) {
    static const char function[] = "spy_vk_set_command_buffer";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function,
                         spyi_vk_use_commands(gpu, (VkCommandBuffer)command_buffer, &error), &error);
}

spy_status spy_vk_external_submit_finished(spy_device *device) {
    static const char function[] = "spy_vk_external_submit_finished";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function, spyi_vk_external_finished(gpu, &error), &error);
}

spy_status spy_vk_wait_semaphore(spy_device *device, uint64_t semaphore, uint64_t value) {
    static const char function[] = "spy_vk_wait_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function,
                         spyi_vk_add_semaphore(gpu, &gpu->waits, semaphore, value, &error), &error);
}

spy_status spy_vk_signal_semaphore(spy_device *device, uint64_t semaphore, uint64_t value) {
    static const char function[] = "spy_vk_signal_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function,
                         spyi_vk_add_semaphore(gpu, &gpu->signals, semaphore, value, &error), &error);
}

spy_tensor *spy_vk_create_tensor(spy_device *device, uint64_t buffer, uint64_t offset_bytes,
                                 uint64_t size_bytes, const spy_tensor_desc *desc) {
    static const char function[] = "spy_vk_create_tensor";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spy_tensor *tensor = NULL;
    VkBufferDeviceAddressInfo info;
    spyi_chunk chunk;
    if (gpu == NULL) return NULL;
    if (buffer == 0 || desc == NULL || desc->data != NULL) {
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        buffer == 0    ? "the buffer is NULL"
                        : desc == NULL ? "desc is NULL"
                                       : "desc->data must be NULL: the buffer has the contents");
    } else {
        memset(&chunk, 0, sizeof chunk);
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
        info.buffer = (VkBuffer)buffer;
        chunk.handle = buffer;
        chunk.address = gpu->vk.vkGetBufferDeviceAddress(gpu->device, &info);
        chunk.size = (size_t)(offset_bytes + size_bytes);
        tensor = spyi_import_tensor(device, function, &chunk, offset_bytes, size_bytes, desc);
    }
    spyi_leave(device);
    return tensor;
}

spy_status spy_vk_get_tensor_buffer(spy_tensor *tensor, uint64_t *buffer, uint64_t *offset_bytes) {
    static const char function[] = "spy_vk_get_tensor_buffer";
    spyi_chunk chunk;
    uint64_t offset = 0;
    if (buffer != NULL) *buffer = 0;
    if (offset_bytes != NULL) *offset_bytes = 0;
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    if (!spyi_tensor_location(tensor, function, &chunk, &offset)) {
        spyi_leave(tensor);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (buffer != NULL) *buffer = chunk.handle;
    if (offset_bytes != NULL) *offset_bytes = offset;
    spyi_leave(tensor);
    return SPY_OK;
}
