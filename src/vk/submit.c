// Submits batches and waits for them. One timeline semaphore counts the batches, so that a batch's number is
// all that a check or a wait needs. spyi_vk_recorded (record.c), and each function that waits, decide when a
// batch is submitted.
#include "vk/internal.h"

// Notes that batches up to `number` have finished. Numbers above the last batch belong to an engine's
// recordings, which are not counted here.
static void spyi_vk_note_finished(spyi_vk_gpu *gpu, uint64_t number) {
    if (number >= gpu->submitted) number = gpu->base.open - 1;
    if (number > gpu->finished) gpu->finished = number;
}

SPYI_FN uint64_t spyi_vk_poll(spyi_vk_gpu *gpu) {
    uint64_t value = 0;
    if (gpu->finished + 1 >= gpu->base.open || gpu->lost) return gpu->finished;
    if (gpu->finished >= gpu->submitted) {
        spyi_vk_note_finished(gpu, gpu->finished);
    } else if (gpu->vk.vkGetSemaphoreCounterValue(gpu->device, gpu->timeline, &value) == VK_SUCCESS &&
               value < gpu->base.open) { // a lost device may report any value
        spyi_vk_note_finished(gpu, value);
    }
    return gpu->finished;
}

// Returns the last batch in a slot with a number up to `number`. A batch that is in no slot any more has
// finished.
SPYI_FN uint64_t spyi_vk_own_number(const spyi_vk_gpu *gpu, uint64_t number) {
    uint64_t own = 0;
    uint32_t i;
    if (number >= gpu->submitted) return gpu->submitted;
    for (i = 0; i < gpu->batch_count; i++) {
        if (gpu->batches[i].number <= number && gpu->batches[i].number > own) own = gpu->batches[i].number;
    }
    return own;
}

SPYI_FN uint64_t spyi_vk_finished_submit(spyi_gpu *base) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint64_t finished = gpu->lost ? gpu->base.open - 1 : spyi_vk_poll(gpu); // a lost device runs no work
    if (gpu->base.held_from != 0 && finished >= gpu->base.held_from) finished = gpu->base.held_from - 1;
    return finished;
}

// >>the queue

static void spyi_vk_lock_queue(spyi_vk_gpu *gpu) {
    if (gpu->lock_queue != NULL) gpu->lock_queue(gpu->lock_user_data);
}

static void spyi_vk_unlock_queue(spyi_vk_gpu *gpu) {
    if (gpu->unlock_queue != NULL) gpu->unlock_queue(gpu->lock_user_data);
}

// Submits to a queue. `commands` may be VK_NULL_HANDLE, to wait for and signal semaphores alone.
SPYI_FN spy_status spyi_vk_queue_submit(spyi_vk_gpu *gpu, VkQueue queue, VkCommandBuffer commands,
                                        const spyi_vk_semaphores *waits, const spyi_vk_semaphores *signals,
                                        spyi_text *error) {
    VkPipelineStageFlags stages[SPYI_VK_SEMAPHORES + 1];
    VkTimelineSemaphoreSubmitInfo timeline;
    VkSubmitInfo info;
    VkResult result;
    uint32_t i;
    for (i = 0; i < waits->count; i++) stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    SPYI_VK_ZERO(timeline);
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = waits->count;
    timeline.pWaitSemaphoreValues = waits->values;
    timeline.signalSemaphoreValueCount = signals->count;
    timeline.pSignalSemaphoreValues = signals->values;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = waits->count;
    info.pWaitSemaphores = waits->handles;
    info.pWaitDstStageMask = stages;
    info.commandBufferCount = commands != VK_NULL_HANDLE ? 1 : 0;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = signals->count;
    info.pSignalSemaphores = signals->handles;
    spyi_vk_lock_queue(gpu);
    result = gpu->vk.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    spyi_vk_unlock_queue(gpu);
    gpu->base.stats.submits++;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkQueueSubmit", error);
}

// Records a barrier for the host, which reads results in mapped memory after a wait, so that the GPU's writes
// must be made available to it.
SPYI_FN void spyi_vk_host_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, spyi_vk_stages(gpu), VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                 NULL, 0, NULL);
}

// Drops a batch that could not be ended, or that the queue refused twice. The error says so, because calls
// that recorded it have returned SPY_OK. The timeline is set to the batch's number, or later waits would
// hang.
static void spyi_vk_drop_batch(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_text ignored;
    VkSemaphoreSignalInfo info;
    memset(&ignored, 0, sizeof ignored);
    if (!gpu->lost && gpu->batch != NULL) spyi_vk_describe_dropped(gpu->batch, error);
    if (!gpu->lost && spyi_vk_wait_own(gpu, gpu->submitted, UINT64_MAX, &ignored) == SPY_OK) {
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = gpu->timeline;
        info.value = gpu->base.open;
        if (gpu->vk.vkSignalSemaphore(gpu->device, &info) != VK_SUCCESS) gpu->lost = true;
    }
    spyi_text_free(&ignored);
}

// Submits the open batch. If that fails for want of memory, the batch is still intact, so this function waits
// for earlier work, which may free memory, and submits once more.
static spy_status spyi_vk_submit_batch(spyi_vk_gpu *gpu, spyi_text *error) {
    VkCommandBuffer commands = gpu->batch != NULL ? gpu->batch->commands : VK_NULL_HANDLE;
    spyi_text first;
    spy_status status;
    memset(&first, 0, sizeof first);
    status = spyi_vk_queue_submit(gpu, gpu->queue, commands, &gpu->waits, &gpu->signals, &first);
    if (status != SPY_OK && !gpu->lost &&
        spyi_vk_wait_own(gpu, gpu->submitted, UINT64_MAX, &first) == SPY_OK) {
        spyi_text_clear(&first);
        status = spyi_vk_queue_submit(gpu, gpu->queue, commands, &gpu->waits, &gpu->signals, &first);
    }
    if (status != SPY_OK) spyi_text_add(error, "%s", spyi_text_str(&first));
    spyi_text_free(&first);
    return status;
}

SPYI_FN spy_status spyi_vk_submit(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_semaphores *signals = &gpu->signals;
    spy_status status = SPY_OK;
    if (gpu->batch == NULL && signals->count == 0) { // with a signal, submit even without a batch
        if (gpu->external_used) gpu->base.open++;
        gpu->external_used = false;
        return SPY_OK;
    }
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (gpu->batch != NULL) {
        VkResult result;
        spyi_vk_end_pass(gpu);
        spyi_vk_close_labels(gpu);
        spyi_vk_host_barrier(gpu, gpu->batch->commands);
        result = gpu->vk.vkEndCommandBuffer(gpu->batch->commands);
        if (result != VK_SUCCESS) status = spyi_vk_fail(gpu, result, "vkEndCommandBuffer", error);
    }
    if (status == SPY_OK) {
        signals->handles[signals->count] = gpu->timeline;
        signals->values[signals->count] = gpu->base.open;
        signals->count++;
        status = spyi_vk_submit_batch(gpu, error);
    }
    if (status != SPY_OK) spyi_vk_drop_batch(gpu, error);
    gpu->waits.count = 0;
    signals->count = 0;
    if (gpu->batch != NULL) gpu->batch->bytes = gpu->work_bytes;
    gpu->batch = NULL;
    gpu->commands = VK_NULL_HANDLE;
    gpu->submitted = gpu->base.open;
    gpu->external_used = false;
    gpu->timing = false;
    gpu->work = 0;
    gpu->work_bytes = 0;
    gpu->base.open++;
    return status;
}

// >>waiting

SPYI_FN spy_status spyi_vk_wait_value(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value,
                                      uint64_t timeout_ns, spyi_text *error) {
    VkSemaphoreWaitInfo info;
    VkResult result;
    uint64_t now, begin, spin = timeout_ns < gpu->base.spin_ns ? timeout_ns : gpu->base.spin_ns;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (spin > 0) {
        begin = spyi_time_ns();
        do {
            uint64_t have = 0;
            result = gpu->vk.vkGetSemaphoreCounterValue(gpu->device, semaphore, &have);
            if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkGetSemaphoreCounterValue", error);
            if (have >= value) return SPY_OK;
            now = spyi_time_ns() - begin;
        } while (now < spin);
        if (timeout_ns != UINT64_MAX) timeout_ns = now < timeout_ns ? timeout_ns - now : 0;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    result = gpu->vk.vkWaitSemaphores(gpu->device, &info, timeout_ns);
    if (result == VK_SUCCESS) return SPY_OK;
    if (result == VK_TIMEOUT) {
        spyi_text_add(error, "the work had not finished when the time was over");
        return SPY_ERROR_NOT_READY;
    }
    return spyi_vk_fail(gpu, result, "vkWaitSemaphores", error);
}

// Waits for batches up to `number`, but not for an engine's recordings.
SPYI_FN spy_status spyi_vk_wait_own(spyi_vk_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                    spyi_text *error) {
    spy_status status;
    if (number <= gpu->finished) return SPY_OK;
    number = spyi_vk_own_number(gpu, number);
    if (number > gpu->finished) {
        status = spyi_vk_wait_value(gpu, gpu->timeline, number, timeout_ns, error);
        if (status != SPY_OK) return status;
    }
    spyi_vk_note_finished(gpu, number);
    if (gpu->finished + 1 == gpu->base.open)
        gpu->next_poll_ns = 0; // the queue is idle: the next work is submitted at once
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_wait(spyi_gpu *base, uint64_t number, uint64_t timeout_ns, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (spyi_vk_is_held(gpu, number, error)) {
        spy_status status = spyi_vk_wait_own(gpu, number, timeout_ns, error); // wait at least for the batches
        return status == SPY_OK ? SPY_ERROR_NOT_READY : status;
    }
    if (number >= gpu->base.open) {
        spy_status status = spyi_vk_submit(base, error);
        if (status != SPY_OK) return status;
    }
    return spyi_vk_wait_own(gpu, number, timeout_ns, error);
}

SPYI_FN void spyi_vk_wait_idle(spyi_vk_gpu *gpu) {
    if (gpu->queue == VK_NULL_HANDLE) return;
    spyi_vk_lock_queue(gpu);
    (void)gpu->vk.vkQueueWaitIdle(
        gpu->queue); // returns for a lost device, too; the device is being released, so ignore errors
    if (gpu->lane_queue != gpu->queue) (void)gpu->vk.vkQueueWaitIdle(gpu->lane_queue);
    spyi_vk_unlock_queue(gpu);
}

// >>objects that live as long as the device

SPYI_FN VkResult spyi_vk_make_timeline(spyi_vk_gpu *gpu, const void *next, VkSemaphore *semaphore) {
    VkSemaphoreTypeCreateInfo type;
    VkSemaphoreCreateInfo info;
    SPYI_VK_ZERO(type);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.pNext = next;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    return gpu->vk.vkCreateSemaphore(gpu->device, &info, NULL, semaphore);
}

// *function is the name of Vulkan's function that returned the result.
static VkResult spyi_vk_make_commands(spyi_vk_gpu *gpu, uint32_t family, VkCommandPool *pool,
                                      VkCommandBuffer *commands, const char **function) {
    VkCommandPoolCreateInfo pool_info;
    VkCommandBufferAllocateInfo info;
    VkResult result;
    SPYI_VK_ZERO(pool_info);
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = family;
    *function = "vkCreateCommandPool";
    result = gpu->vk.vkCreateCommandPool(gpu->device, &pool_info, NULL, pool);
    if (result != VK_SUCCESS) return result;
    *function = "vkAllocateCommandBuffers";
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = *pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    return gpu->vk.vkAllocateCommandBuffers(gpu->device, &info, commands);
}

// Looks for a slot whose work has ended, and returns the one of them that was used last; NULL if all slots are in flight. *oldest
// becomes the slot in flight that was used first, and *bytes the bytes of pages that all slots in flight use.
static spyi_vk_batch *spyi_vk_find_slot(spyi_vk_gpu *gpu, spyi_vk_batch **oldest, size_t *bytes) {
    spyi_vk_batch *found = NULL;
    uint32_t i;
    *oldest = NULL;
    *bytes = 0;
    for (i = 0; i < gpu->batch_count; i++) {
        spyi_vk_batch *slot = &gpu->batches[i];
        if (slot->number > gpu->finished) {
            if (*oldest == NULL || slot->number < (*oldest)->number) *oldest = slot;
            *bytes += slot->bytes;
            continue;
        }
        if (slot->pages != NULL) spyi_vk_return_pages(gpu, &slot->pages);
        if (found == NULL || slot->number > found->number) found = slot;
    }
    return found;
}

SPYI_FN spy_status spyi_vk_take_slot(spyi_vk_gpu *gpu, spyi_vk_batch **slot, spyi_text *error) {
    spyi_vk_batch *oldest;
    size_t bytes;
    (void)spyi_vk_poll(gpu);
    *slot = spyi_vk_find_slot(gpu, &oldest, &bytes);
    if (*slot == NULL && (gpu->batch_count < SPYI_VK_BATCHES_SMALL ||
                          (gpu->batch_count < SPYI_VK_BATCHES && bytes < SPYI_VK_BATCHES_BYTES))) {
        spyi_vk_batch *made = &gpu->batches[gpu->batch_count];
        const char *function;
        VkResult result =
            spyi_vk_make_commands(gpu, gpu->queue_family, &made->pool, &made->commands, &function);
        if (result == VK_SUCCESS) {
            gpu->batch_count++;
            *slot = made;
            return SPY_OK;
        }
        gpu->vk.vkDestroyCommandPool(gpu->device, made->pool, NULL);
        SPYI_VK_ZERO(*made);
        if (oldest == NULL) return spyi_vk_fail(gpu, result, function, error);
    }
    if (*slot == NULL) { // none was made for want of memory, or there may be no more
        spy_status status = spyi_vk_wait_own(gpu, oldest->number, UINT64_MAX, error);
        if (status != SPY_OK) return status;
        *slot = spyi_vk_find_slot(gpu, &oldest, &bytes);
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_make_submit_objects(spyi_vk_gpu *gpu, spyi_text *error) {
    const char *function = "vkCreateSemaphore";
    VkResult result = spyi_vk_make_timeline(gpu, NULL, &gpu->timeline);
    uint32_t i;
    if (result == VK_SUCCESS) result = spyi_vk_make_timeline(gpu, NULL, &gpu->lane);
    for (i = 0; i < SPYI_VK_STAGING_COUNT && result == VK_SUCCESS; i++) {
        result = spyi_vk_make_commands(gpu, gpu->lane_family, &gpu->download[i].pool,
                                       &gpu->download[i].commands, &function);
    }
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, function, error);
}

SPYI_FN void spyi_vk_destroy_submit_objects(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < gpu->batch_count; i++) {
        gpu->vk.vkDestroyCommandPool(gpu->device, gpu->batches[i].pool, NULL);
        spyi_vk_free_pages(gpu, &gpu->batches[i].pages);
    }
    for (i = 0; i < SPYI_VK_STAGING_COUNT; i++) {
        gpu->vk.vkDestroyCommandPool(gpu->device, gpu->download[i].pool, NULL);
    }
    spyi_vk_free_pages(gpu, &gpu->free_pages);
    spyi_vk_destroy_recordings(gpu);
    gpu->vk.vkDestroyQueryPool(gpu->device, gpu->queries, NULL);
    gpu->vk.vkDestroyQueryPool(gpu->device, gpu->marks, NULL);
    gpu->vk.vkDestroySemaphore(gpu->device, gpu->timeline, NULL);
    gpu->vk.vkDestroySemaphore(gpu->device, gpu->lane, NULL);
}
