// Works with an engine's own Vulkan objects: recordings into its command buffers, its semaphores, tensors
// over its buffers.
#include "vk/internal.h"

// >>recordings
//
// The id of a recording is a serial number in the lower 48 bits, and a tag above it, which differs between
// devices. The engine must submit recordings, and report them as executed, in the order in which they were
// begun. The first one in the list is the oldest, and its work has the lowest batch numbers.

#define SPYI_VK_SERIAL_BITS 48u
#define SPYI_VK_MANY_RECORDINGS 64u // the number of unreported recordings at which the log warns about them

static void spyi_vk_note_recordings(spyi_vk_gpu *gpu) {
    gpu->base.held_from = gpu->first_recording != NULL ? gpu->first_recording->first : 0;
}

// The tag is made when the first recording begins, so that a device without recordings does not read the
// clock.
static uint64_t spyi_vk_make_tag(const spyi_vk_gpu *gpu) {
    uint64_t seed[2];
    seed[0] = (uint64_t)(uintptr_t)gpu;
    seed[1] = spyi_time_ns();
    return (spyi_hash(seed, sizeof seed, 0) << SPYI_VK_SERIAL_BITS) | ((uint64_t)1 << 63);
}

static spyi_vk_recording *spyi_vk_new_recording(spyi_vk_gpu *gpu) {
    spyi_vk_recording *recording = gpu->free_recordings;
    if (recording != NULL) gpu->free_recordings = recording->next;
    else recording = (spyi_vk_recording *)spyi_allocate(gpu->base.ctx, sizeof *recording);
    if (recording != NULL) SPYI_VK_ZERO(*recording);
    return recording;
}

// Begins a recording. Submits the open batch first, so that it comes before the work that the engine will
// submit.
SPYI_FN spy_status spyi_vk_begin_recording(spyi_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *id,
                                           spyi_text *error) {
    spyi_vk_recording *recording;
    spy_status status;
    *id = 0;
    if (commands == VK_NULL_HANDLE) {
        spyi_text_add(error, "command_buffer: expected a VkCommandBuffer, got NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (gpu->external != VK_NULL_HANDLE) {
        spyi_text_add(error, "recording %llu has not ended: call spy_vk_end_recording() before the next one",
                      (unsigned long long)gpu->recording_serial);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    if (status != SPY_OK) return status;
    recording = spyi_vk_new_recording(gpu);
    if (recording == NULL) {
        spyi_text_add(error, "no host memory for a recording");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (gpu->recording_tag == 0) gpu->recording_tag = spyi_vk_make_tag(gpu);
    recording->serial = ++gpu->recording_serial;
    recording->first = gpu->base.open;
    if (gpu->last_recording != NULL) gpu->last_recording->next = recording;
    else gpu->first_recording = recording;
    gpu->last_recording = recording;
    gpu->external = commands;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.recording = true;
    spyi_vk_note_recordings(gpu);
    if (++gpu->base.stats.recordings == SPYI_VK_MANY_RECORDINGS) {
        spyi_logf(gpu->base.ctx, SPY_LOG_LEVEL_WARNING,
                  "%u recordings have not been reported as executed, the oldest is number %llu: call "
                  "spy_vk_recording_finished() once the fence of a submission has been signalled, or their "
                  "memory stays in use",
                  SPYI_VK_MANY_RECORDINGS, (unsigned long long)gpu->first_recording->serial);
    }
    *id = gpu->recording_tag | recording->serial;
    return SPY_OK;
}

// Makes the recording's writes available to the host, which reads unified memory directly, without a copy.
static void spyi_vk_recording_barrier(spyi_vk_gpu *gpu) {
    const spyi_vk_recording *recording = gpu->last_recording;
    if (recording->used && gpu->base.limits.unified_memory) spyi_vk_host_barrier(gpu, gpu->external);
}

SPYI_FN spy_status spyi_vk_end_recording(spyi_vk_gpu *gpu, spyi_text *error) {
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_text_add(error, "no recording has begun: call spy_vk_begin_recording() first");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_vk_recording_barrier(gpu);
    gpu->last_recording->last = gpu->base.open++;
    gpu->external = VK_NULL_HANDLE;
    gpu->external_used = false;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.recording = false;
    gpu->work_bytes = 0;
    gpu->next_poll_ns = 0;
    return SPY_OK;
}

// Adds to the error why an id is not that of the oldest recording.
static void spyi_vk_explain_id(const spyi_vk_gpu *gpu, uint64_t id, spyi_text *error) {
    const spyi_vk_recording *oldest = gpu->first_recording;
    unsigned long long serial = (unsigned long long)(id & (((uint64_t)1 << SPYI_VK_SERIAL_BITS) - 1));
    uint64_t tag = id - serial;
    if (id == 0) {
        spyi_text_add(
            error,
            "id: 0 is what a spy_vk_begin_recording() that failed returns; expected the id of a recording");
    } else if (tag != gpu->recording_tag || tag == 0) {
        spyi_text_add(
            error,
            "id: 0x%llx is not the id of a recording of device '%s': it is another device's, or was not "
            "returned by spy_vk_begin_recording()",
            (unsigned long long)id, gpu->base.ctx->label);
    } else if (serial > gpu->recording_serial || serial == 0) {
        spyi_text_add(error, "id: recording %llu has not been begun; the last one was %llu", serial,
                      (unsigned long long)gpu->recording_serial);
    } else if (oldest == NULL || serial < oldest->serial) {
        spyi_text_add(error, "id: recording %llu has been reported as finished before", serial);
    } else if (serial == gpu->recording_serial && gpu->external != VK_NULL_HANDLE) {
        spyi_text_add(
            error,
            "id: recording %llu is still being recorded: call spy_vk_end_recording(), and report it "
            "when its command buffer has been executed",
            serial);
    } else {
        spyi_text_add(
            error,
            "id: recording %llu cannot be finished before recording %llu, which was begun earlier and "
            "has not been reported; report recordings in their order, and also one whose command "
            "buffer was thrown away instead of submitted",
            serial, (unsigned long long)oldest->serial);
    }
}

SPYI_FN spy_status spyi_vk_finish_recording(spyi_vk_gpu *gpu, uint64_t id, spyi_text *error) {
    spyi_vk_recording *oldest = gpu->first_recording;
    const spyi_vk_page *page;
    if (oldest == NULL || oldest->last == 0 || id != (gpu->recording_tag | oldest->serial)) {
        spyi_vk_explain_id(gpu, id, error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    gpu->first_recording = oldest->next;
    if (gpu->first_recording == NULL) gpu->last_recording = NULL;
    for (page = oldest->pages; page != NULL; page = page->next)
        gpu->base.stats.recording_bytes -= page->chunk.size;
    gpu->base.stats.recordings--;
    spyi_vk_return_pages(gpu, &oldest->pages);
    oldest->next = gpu->free_recordings;
    gpu->free_recordings = oldest;
    spyi_vk_note_recordings(gpu);
    return SPY_OK;
}

SPYI_FN bool spyi_vk_is_held(const spyi_vk_gpu *gpu, uint64_t number, spyi_text *error) {
    const spyi_vk_recording *recording = gpu->first_recording;
    while (recording != NULL &&
           (number < recording->first || (recording->last != 0 && number > recording->last)))
        recording = recording->next;
    if (recording == NULL) return false;
    spyi_text_add(
        error,
        "the work is in recording %llu, into a command buffer of the engine, which has not been reported as "
        "executed: call spy_vk_recording_finished() with its id once its fence has been signalled",
        (unsigned long long)recording->serial);
    return true;
}

// Destroys the recordings. The caller has waited until the queue is idle, so no submitted work uses their
// memory.
SPYI_FN void spyi_vk_destroy_recordings(spyi_vk_gpu *gpu) {
    spyi_vk_recording *next, *recording;
    if (gpu->first_recording != NULL) {
        spyi_logf(gpu->base.ctx, SPY_LOG_LEVEL_WARNING,
                  "spy_release_device: %llu recordings have not been reported as executed, the first is "
                  "number %llu; their "
                  "command buffers must not be submitted any more",
                  (unsigned long long)gpu->base.stats.recordings,
                  (unsigned long long)gpu->first_recording->serial);
    }
    for (recording = gpu->first_recording; recording != NULL; recording = next) {
        next = recording->next;
        spyi_vk_free_pages(gpu, &recording->pages);
        spyi_free(gpu->base.ctx, recording, sizeof *recording);
    }
    for (recording = gpu->free_recordings; recording != NULL; recording = next) {
        next = recording->next;
        spyi_free(gpu->base.ctx, recording, sizeof *recording);
    }
}

// >>semaphores

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

SPYI_FN spyi_vk_gpu *spyi_vk_enter(spy_device *device, const char *function) {
    spyi_vk_gpu *gpu;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    gpu = (spyi_vk_gpu *)(void *)spyi_device_gpu(device, "vulkan", function);
    if (gpu == NULL) spyi_leave(device);
    return gpu;
}

static spy_status spyi_vk_told(spyi_vk_gpu *gpu, const char *function, spy_status status, spyi_text *error) {
    if (status != SPY_OK) (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

SPYI_FN spy_status spyi_vk_leave(spy_device *device, spyi_vk_gpu *gpu, const char *function,
                                 spy_status status, spyi_text *error) {
    (void)spyi_vk_told(gpu, function, status, error);
    spyi_leave(device);
    return status;
}

static void spyi_vk_lock_shared(void *mutex) {
    spyi_mutex_lock((spyi_mutex *)mutex);
}

static void spyi_vk_unlock_shared(void *mutex) {
    spyi_mutex_unlock((spyi_mutex *)mutex);
}

spy_status spy_vk_share_device(spy_device *device, spy_vk_desc *desc) {
    static const char function[] = "spy_vk_share_device";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    uint32_t i, count = 0;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (desc == NULL) {
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc is NULL", function);
        spyi_leave(device);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (gpu->lock_queue == NULL) {
        spyi_mutex_init(&gpu->share_lock);
        gpu->shares = true;
        gpu->lock_user_data = &gpu->share_lock;
        gpu->unlock_queue = spyi_vk_unlock_shared;
        gpu->lock_queue = spyi_vk_lock_shared;
    }
    for (i = SPYI_VK_FEATURE_REQUIRED; i < SPYI_VK_FEATURE_COUNT; i++)
        if (gpu->adapter.features[i]) gpu->shared_features[count++] = spyi_vk_feature_name(i);
    memset(desc, 0, sizeof *desc);
    memcpy(&desc->get_instance_proc_addr, &gpu->instance.get_proc, sizeof gpu->instance.get_proc);
    desc->instance = (void *)gpu->instance.handle;
    desc->physical_device = (void *)gpu->adapter.handle;
    desc->device = (void *)gpu->device;
    desc->queue = (void *)gpu->queue;
    desc->queue_family = gpu->queue_family;
    desc->api_version = gpu->instance.api_version;
    desc->lock_queue = gpu->lock_queue;
    desc->unlock_queue = gpu->unlock_queue;
    desc->lock_user_data = gpu->lock_user_data;
    desc->enabled_features = gpu->shared_features;
    desc->enabled_feature_count = count;
    spyi_leave(device);
    return SPY_OK;
}

spy_vk_recording_id spy_vk_begin_recording(spy_device *device, void *command_buffer) {
    static const char function[] = "spy_vk_begin_recording";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    uint64_t id = 0;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return 0;
    (void)spyi_vk_leave(device, gpu, function,
                        spyi_vk_begin_recording(gpu, (VkCommandBuffer)command_buffer, &id, &error), &error);
    return id;
}

spy_status spy_vk_end_recording(spy_device *device) {
    static const char function[] = "spy_vk_end_recording";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function, spyi_vk_end_recording(gpu, &error), &error);
}

spy_status spy_vk_recording_finished(spy_device *device, spy_vk_recording_id id) {
    static const char function[] = "spy_vk_recording_finished";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    spy_status status;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    status = spyi_vk_told(gpu, function, spyi_vk_finish_recording(gpu, id, &error), &error);
    if (status == SPY_OK) status = spyi_recording_reported(device, function);
    spyi_leave(device);
    return status;
}

spy_status spy_vk_get_command_buffer(spy_device *device, void **command_buffer) {
    static const char function[] = "spy_vk_get_command_buffer";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    spy_status status;
    memset(&error, 0, sizeof error);
    if (command_buffer != NULL) *command_buffer = NULL;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (command_buffer == NULL) {
        spyi_text_add(&error, "command_buffer is NULL");
        return spyi_vk_leave(device, gpu, function, SPY_ERROR_INVALID_ARGUMENT, &error);
    }
    status = spyi_vk_begin(gpu, &error);
    if (status == SPY_OK) {
        *command_buffer = (void *)gpu->commands;
        gpu->bound = NULL; // the caller may bind other pipelines
        gpu->pass.bound = NULL;
    }
    return spyi_vk_leave(device, gpu, function, status, &error);
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
