// Copies host memory to and from the device. Uploads go through pinned memory and are recorded in order with
// other work. Downloads go through a queue of their own, the lane (that of a copy engine where there is one),
// so that they wait only for the work whose result they read. Large transfers run in pieces: a copy team of
// CPU threads copies one piece while the GPU transfers another.
#include "vk/internal.h"

// >>uploads

// Returns whether no work is recorded or in flight, so that the host may write mapped memory directly.
static bool spyi_vk_is_idle(spyi_vk_gpu *gpu) {
    return gpu->batch == NULL && gpu->base.held_from == 0 && spyi_vk_poll(gpu) + 1 == gpu->base.open;
}

// Uploads through a page, in order with other work.
static spy_status spyi_vk_upload_page(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                                      const void *data, uint64_t size, bool barrier, spyi_text *error) {
    spyi_vk_page *page;
    size_t at;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status == SPY_OK) status = spyi_vk_take_bytes(gpu, (size_t)size, 16, &page, &at, error);
    if (status != SPY_OK) return status;
    memcpy((char *)page->chunk.mapped + at, data, (size_t)size);
    return spyi_vk_copy_buffer(gpu, to->handle, offset, page->chunk.handle, at, size, barrier, error);
}

// Makes an unused staging buffer large enough for `size` bytes, but not larger than SPYI_VK_STAGING_SIZE.
// Pinned memory costs 0.4 ms a MiB on an H200's host, so small transfers get a smaller buffer first.
static spy_status spyi_vk_fit_staging(spyi_vk_gpu *gpu, spyi_vk_staging *staging, spyi_vk_memory kind,
                                      uint64_t size, spyi_text *error) {
    size_t want = SPYI_VK_STAGING_SIZE;
    if (size <= staging->chunk.size || staging->chunk.size == SPYI_VK_STAGING_SIZE) return SPY_OK;
    if (size <= SPYI_VK_STAGING_SIZE / 8) want = SPYI_VK_STAGING_SIZE / 8;
    if (size <= SPYI_VK_STAGING_SIZE / 64) want = SPYI_VK_STAGING_SIZE / 64;
    spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &staging->chunk);
    return spyi_vk_allocate(gpu, kind, want, "slangpy staging", &staging->chunk, error);
}

// Finds a staging buffer with room for a part of `size` bytes. If the present one is full, takes the next one
// and waits for its earlier work.
static spy_status spyi_vk_take_staging(spyi_vk_gpu *gpu, uint64_t size, spyi_vk_staging **out,
                                       spyi_text *error) {
    spyi_vk_staging *staging = &gpu->upload[gpu->upload_next];
    spy_status status = SPY_OK;
    if (staging->used > 0 && staging->chunk.size - staging->used < SPYI_VK_SMALL_UPLOAD) {
        gpu->upload_next = (gpu->upload_next + 1) % SPYI_VK_STAGING_COUNT;
        staging = &gpu->upload[gpu->upload_next];
        if (staging->number >= gpu->base.open) status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
        if (status == SPY_OK) status = spyi_vk_wait_own(gpu, staging->number, UINT64_MAX, error);
        if (status == SPY_OK) staging->used = 0;
    }
    if (status == SPY_OK && staging->used == 0) {
        status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_STAGING, size, error);
    }
    *out = staging;
    return status;
}

// One piece of an upload, in a staging buffer.
typedef struct spyi_vk_piece {
    spyi_vk_staging *staging;
    size_t at, size; // the offset in the buffer and the size, both in bytes
} spyi_vk_piece;

// Has the team copy a piece of up to `size` bytes from `data` into a staging buffer.
static spy_status spyi_vk_post(spyi_vk_gpu *gpu, spyi_copy_team *team, const char *data, uint64_t size,
                               spyi_vk_piece *piece, spyi_text *error) {
    spy_status status = spyi_vk_take_staging(gpu, size, &piece->staging, error);
    if (status != SPY_OK) return status;
    piece->at = piece->staging->used;
    piece->size = piece->staging->chunk.size - piece->at;
    if (size < piece->size) piece->size = (size_t)size;
    spyi_copy_post(team, (char *)piece->staging->chunk.mapped + piece->at, data, piece->size);
    piece->staging->used = spyi_align(piece->at + piece->size, 16);
    return SPY_OK;
}

// Records the copy of a piece from its staging buffer to the device.
static spy_status spyi_vk_send(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                               const spyi_vk_piece *piece, bool barrier, spyi_text *error) {
    spy_status status;
    piece->staging->number = gpu->base.open;
    status = spyi_vk_copy_buffer(gpu, to->handle, offset, piece->staging->chunk.handle, piece->at,
                                 piece->size, barrier, error);
    // Large pieces start at once, so that the GPU transfers while the team copies the next one.
    if (status == SPY_OK && piece->size >= ((size_t)1 << 20))
        status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    return status;
}

// Sends a piece to the GPU only after the next one has been posted, so that the team always has something to
// copy.
static spy_status spyi_vk_upload_staged(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                                        const void *data, uint64_t size, bool barrier, spyi_text *error) {
    spyi_copy_team team;
    uint64_t posted = 0, sent = 0; // both count bytes
    uint32_t pieces = 0;           // counts the pieces that were posted
    spyi_vk_piece last, next;
    spy_status status = SPY_OK;
    SPYI_VK_ZERO(last);
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), false);
    while (sent < size && status == SPY_OK) {
        SPYI_VK_ZERO(next);
        if (posted < size) {
            status = spyi_vk_post(gpu, &team, (const char *)data + posted, size - posted, &next, error);
            if (status != SPY_OK) break;
            posted += next.size;
            pieces++;
        }
        if (last.size > 0) {
            spyi_copy_wait(&team, next.size > 0 ? pieces - 1 : pieces);
            status = spyi_vk_send(gpu, to, offset + sent, &last, barrier, error);
            barrier = false; // the pieces do not overlap
            sent += last.size;
        }
        last = next;
    }
    spyi_copy_end(&team);
    return status;
}

SPYI_FN spy_status spyi_vk_upload(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_upload_work *upload = (const spyi_upload_work *)(const void *)work;
    const spyi_chunk *to = upload->to;
    const void *data = upload->data;
    const uint64_t offset = upload->offset, size = upload->size;
    const bool barrier = work->before.barrier;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    // The engine submits its command buffer at a time of its choice, so the data must stay in a page until
    // then.
    if (gpu->external != VK_NULL_HANDLE)
        return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
    if (to->mapped != NULL) {
        if (!spyi_vk_is_idle(gpu)) {
            if (size <= SPYI_VK_SMALL_UPLOAD)
                return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
            // Waiting for the work costs less than a second copy, which competes with the work for memory.
            // When an engine has unreported recordings, waiting is not possible, so the upload is staged as
            // for unmapped memory.
            if (gpu->base.held_from != 0) {
                return spyi_vk_upload_staged(gpu, to, offset, data, size, barrier, error);
            }
            {
                spy_status status = spyi_vk_wait(base, gpu->base.open, UINT64_MAX, error);
                if (status != SPY_OK) return status;
            }
        }
        memcpy((char *)to->mapped + offset, data, (size_t)size);
        return SPY_OK;
    }
    if (size <= SPYI_VK_SMALL_UPLOAD) return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
    return spyi_vk_upload_staged(gpu, to, offset, data, size, barrier, error);
}

// >>downloads

// Records the download of one piece and submits it on the lane, where it waits for batch `after` on the GPU.
static spy_status spyi_vk_fetch(spyi_vk_gpu *gpu, spyi_vk_staging *staging, const spyi_chunk *from,
                                uint64_t offset, size_t size, uint64_t after, spyi_text *error) {
    VkCommandBufferBeginInfo begin;
    spyi_vk_semaphores waits, signals;
    uint64_t own = spyi_vk_own_number(gpu, after);
    VkMemoryBarrier barrier;
    VkBufferCopy region;
    VkResult result;
    spy_status status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_READBACK, size, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(begin);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    result = gpu->vk.vkResetCommandPool(gpu->device, staging->pool, 0);
    if (result == VK_SUCCESS) result = gpu->vk.vkBeginCommandBuffer(staging->commands, &begin);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkBeginCommandBuffer", error);
    region.srcOffset = offset;
    region.dstOffset = 0;
    region.size = size;
    gpu->vk.vkCmdCopyBuffer(staging->commands, (VkBuffer)from->handle, (VkBuffer)staging->chunk.handle, 1,
                            &region);
    SPYI_VK_ZERO(barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    gpu->vk.vkCmdPipelineBarrier(staging->commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    result = gpu->vk.vkEndCommandBuffer(staging->commands);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkEndCommandBuffer", error);
    waits.count = own > 0 ? 1 : 0;
    waits.handles[0] = gpu->timeline;
    waits.values[0] = own;
    signals.count = 1;
    signals.handles[0] = gpu->lane;
    signals.values[0] = gpu->lane_number + 1;
    status = spyi_vk_queue_submit(gpu, gpu->lane_queue, staging->commands, &waits, &signals, error);
    if (status == SPY_OK) staging->number = ++gpu->lane_number;
    return status;
}

// Downloads in pieces. The GPU fills half of the staging buffers while the team empties the others.
static spy_status spyi_vk_download_staged(spyi_vk_gpu *gpu, char *data, const spyi_chunk *from,
                                          uint64_t offset, uint64_t size, uint64_t after, spyi_text *error) {
    spyi_copy_team team;
    uint64_t asked = 0, taken = 0; // both count bytes
    uint32_t ask = 0, take = 0;    // both count pieces
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), true);
    while (taken < size && status == SPY_OK) {
        if (asked < size && ask - take < SPYI_VK_STAGING_COUNT / 2) {
            uint64_t piece = size - asked < SPYI_VK_STAGING_SIZE ? size - asked : SPYI_VK_STAGING_SIZE;
            if (ask >= SPYI_VK_STAGING_COUNT) spyi_copy_wait(&team, ask + 1 - SPYI_VK_STAGING_COUNT);
            status = spyi_vk_fetch(gpu, &gpu->download[ask % SPYI_VK_STAGING_COUNT], from, offset + asked,
                                   (size_t)piece, after, error);
            asked += piece;
            ask++;
        } else {
            spyi_vk_staging *staging = &gpu->download[take % SPYI_VK_STAGING_COUNT];
            uint64_t piece = size - taken < SPYI_VK_STAGING_SIZE ? size - taken : SPYI_VK_STAGING_SIZE;
            status = spyi_vk_wait_value(gpu, gpu->lane, staging->number, UINT64_MAX, error);
            if (status == SPY_OK) spyi_copy_post(&team, data + taken, staging->chunk.mapped, (size_t)piece);
            taken += piece;
            take++;
        }
    }
    spyi_copy_end(&team);
    // After an error, wait for the submitted pieces before their staging buffers are used again.
    if (status != SPY_OK && !gpu->lost) {
        spyi_text ignored;
        memset(&ignored, 0, sizeof ignored);
        (void)spyi_vk_wait_value(gpu, gpu->lane, gpu->lane_number, UINT64_MAX, &ignored);
        spyi_text_free(&ignored);
    }
    return status;
}

// Downloads little memory. A download that reads the result of the latest work is recorded behind that work,
// if possible in the same batch. After an interrupted wait the GPU may still write to the staging buffer;
// gpu->download_left says so.
static spy_status spyi_vk_download_small(spyi_vk_gpu *gpu, void *data, const spyi_chunk *from,
                                         uint64_t offset, uint64_t size, spyi_text *error) {
    spyi_vk_staging *staging = &gpu->download[0];
    uint64_t number;
    spy_status status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_READBACK, size, error);
    if (status != SPY_OK) return status;
    number = gpu->base.open;
    status = spyi_vk_copy_buffer(gpu, staging->chunk.handle, 0, from->handle, offset, size, true, error);
    if (status == SPY_OK && gpu->base.open == number) status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    if (status == SPY_OK) status = spyi_wait_for((spyi_gpu *)(void *)gpu, number, UINT64_MAX, true, error);
    if (status == SPY_ERROR_INTERRUPTED) gpu->download_left = number;
    if (status == SPY_OK) memcpy(data, staging->chunk.mapped, (size_t)size);
    return status;
}

SPYI_FN spy_status spyi_vk_download(spyi_gpu *base, void *data, const spyi_chunk *from, uint64_t offset,
                                    uint64_t size, uint64_t after, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    bool latest = after >= gpu->base.open || (after + 1 == gpu->base.open && gpu->batch == NULL);
    spy_status status;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (spyi_vk_is_held(gpu, after, error)) return SPY_ERROR_NOT_READY;
    if (from->mapped != NULL) {
        status = spyi_wait_for(base, after, UINT64_MAX, true, error);
        if (status == SPY_OK) memcpy(data, (const char *)from->mapped + offset, (size_t)size);
        return status;
    }
    if (gpu->download_left > 0) {
        status = spyi_wait_for(base, gpu->download_left, UINT64_MAX, true, error);
        if (status != SPY_OK) return status;
        gpu->download_left = 0;
    }
    if (latest && size <= SPYI_VK_STAGING_SIZE / 64 && gpu->external == VK_NULL_HANDLE) {
        return spyi_vk_download_small(gpu, data, from, offset, size, error);
    }
    if (after >= gpu->base.open) {
        status = spyi_vk_submit(base, error);
        if (status != SPY_OK) return status;
        if (after >= gpu->base.open) after = gpu->base.open - 1; // there was no work
    }
    if (gpu->base.ctx->interrupt.func) { // wait here: a wait of the lane, on the GPU, cannot be interrupted
        status = spyi_wait_for(base, after, UINT64_MAX, true, error);
        if (status != SPY_OK) return status;
    }
    return spyi_vk_download_staged(gpu, (char *)data, from, offset, size, after, error);
}

SPYI_FN void spyi_vk_destroy_staging(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_VK_STAGING_COUNT; i++) {
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &gpu->upload[i].chunk);
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &gpu->download[i].chunk);
    }
}
