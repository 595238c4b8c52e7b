// Copies and fills on the device, and transfers between host and device. Uploads go through the stream in the
// order of work, by pinned memory. Downloads use a stream of their own and wait only for the work that writes
// what they read. Large transfers run in pieces: a team of CPU threads copies some pieces while the GPU
// transfers others. Host memory that the program has pinned is transferred directly.
#include "cuda/internal.h"

// >>staging

// Returns whether CUDA knows the host memory as pinned, so that the GPU can transfer it without a staging
// buffer.
static bool spyi_cuda_is_pinned(const spyi_cuda_gpu *gpu, const void *memory) {
    static const int attribute = SPYI_CU_POINTER_MEMORY_TYPE;
    unsigned type =
        0; // CUDA does not change it for memory that it does not know, for which cuPointerGetAttribute would
           // report an error
    void *value = &type;
    return gpu->cu.PointerGetAttributes(1, &attribute, &value, (spyi_cu_pointer)(uintptr_t)memory) ==
               SPYI_CU_OK &&
           type == SPYI_CU_MEMORY_TYPE_HOST;
}

// Waits until a staging buffer is free, and makes it at least `size` bytes large. Allocating pinned memory
// takes 0.4 ms for each MiB (measured on an H200's host).
static spy_status spyi_cuda_ready(spyi_cuda_gpu *gpu, spyi_cuda_staging *staging, size_t size,
                                  spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    int mode = spyi_cuda_relax(gpu);
    if (staging->used) result = gpu->cu.EventSynchronize(staging->event);
    if (result == SPYI_CU_OK) staging->used = false;
    if (result == SPYI_CU_OK && staging->size < size) {
        if (staging->host != NULL) (void)gpu->cu.MemFreeHost(staging->host);
        gpu->base.stats.driver_bytes -= staging->size;
        staging->host = NULL;
        staging->size = 0;
        result = gpu->cu.MemHostAlloc(&staging->host, size, SPYI_CU_HOST_ALLOC_PORTABLE);
        if (result == SPYI_CU_OK) staging->size = size;
        else staging->host = NULL;
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += staging->size;
    }
    spyi_cuda_restore(gpu, mode);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_fail(gpu, result, "a staging buffer of pinned memory", error);
}

// Returns the size of the pieces of a transfer of `size` bytes: about an eighth, within the sizes of staging
// buffers.
static size_t spyi_cuda_piece(uint64_t size) {
    size_t piece = SPYI_CUDA_STAGING_LEAST;
    while (piece < SPYI_CUDA_STAGING_SIZE && 8 * piece < size) piece *= 2;
    return piece;
}

// Returns the size of the next piece when `left` bytes are left.
static size_t spyi_cuda_next(uint64_t left, size_t piece) {
    return left < piece ? (size_t)left : piece;
}

static spy_status spyi_cuda_moved(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error) {
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, what, error);
}

// >>on the device

SPYI_FN spy_status spyi_cuda_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_copy_work *copy = (const spyi_copy_work *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_pointer there = copy->to->address + copy->to_offset,
                    here = copy->from->address + copy->from_offset;
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_copy(gpu, there, here, copy->size, work->before.barrier, error);
    } else if (status == SPY_OK) {
        status = spyi_cuda_moved(gpu, gpu->cu.MemcpyAsync(there, here, (size_t)copy->size, gpu->stream),
                                 "cuMemcpyAsync", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_fill(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_fill_work *fill = (const spyi_fill_work *)(const void *)work;
    spyi_cu_pointer at = fill->to->address + fill->offset;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_fill(gpu, at, fill->size, fill->pattern, work->before.barrier, error);
    } else if (status == SPY_OK) {
        status = spyi_cuda_moved(
            gpu, gpu->cu.MemsetD32Async(at, fill->pattern, (size_t)(fill->size / 4), gpu->stream),
            "cuMemsetD32Async", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>uploads

static spy_status spyi_cuda_upload_page(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data,
                                        uint64_t size, spyi_text *error) {
    char *host;
    spyi_cu_pointer unused;
    spy_status status = spyi_cuda_take_bytes(gpu, (size_t)size, &host, &unused, error);
    if (status != SPY_OK) return status;
    memcpy(host, data, (size_t)size);
    return spyi_cuda_moved(gpu, gpu->cu.MemcpyHtoDAsync(to, host, (size_t)size, gpu->stream),
                           "cuMemcpyHtoDAsync", error);
}

// Uploads from the program's pinned memory, and waits for the transfer, because `data` may change after the
// return.
static spy_status spyi_cuda_upload_pinned(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data,
                                          uint64_t size, spyi_text *error) {
    spyi_cu_result result = gpu->cu.MemcpyHtoDAsync(to, data, (size_t)size, gpu->stream);
    if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(gpu->stream);
    return spyi_cuda_moved(gpu, result, "cuMemcpyHtoDAsync", error);
}

// Uploads in pieces through the staging buffers. A piece is sent to the GPU after the next one was posted to
// the copy team, so the team always has work.
static spy_status spyi_cuda_upload_staged(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const char *data,
                                          uint64_t size, spyi_text *error) {
    spyi_copy_team team;
    const size_t most = spyi_cuda_piece(size);
    uint64_t posted = 0, sent = 0; // both count bytes
    uint32_t pieces = 0;           // counts the pieces that were posted
    spyi_cuda_staging *last = NULL;
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), false);
    while (sent < size && status == SPY_OK) {
        spyi_cuda_staging *next = &gpu->upload[gpu->upload_next];
        size_t piece = spyi_cuda_next(size - posted, most);
        if (piece > 0) {
            status = spyi_cuda_ready(gpu, next, most, error);
            if (status != SPY_OK) break;
            spyi_copy_post(&team, next->host, data + posted, piece);
            gpu->upload_next = (gpu->upload_next + 1) % SPYI_CUDA_STAGING_COUNT;
            posted += piece;
            pieces++;
        }
        if (last != NULL) {
            size_t ready = spyi_cuda_next(size - sent, most);
            spyi_cu_result result;
            spyi_copy_wait(&team, piece > 0 ? pieces - 1 : pieces);
            result = gpu->cu.MemcpyHtoDAsync(to + sent, last->host, ready, gpu->stream);
            if (result == SPYI_CU_OK) result = gpu->cu.EventRecord(last->event, gpu->stream);
            last->used = true;
            status = spyi_cuda_moved(gpu, result, "cuMemcpyHtoDAsync", error);
            sent += ready;
        }
        last = next;
    }
    spyi_copy_end(&team);
    return status;
}

SPYI_FN spy_status spyi_cuda_upload(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_upload_work *upload = (const spyi_upload_work *)(const void *)work;
    const void *data = upload->data;
    const uint64_t size = upload->size;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_pointer at = upload->to->address + upload->offset;
    if (status != SPY_OK) {
        spyi_cuda_leave(gpu, pushed);
        return status;
    }
    if (size <= SPYI_CUDA_SMALL_UPLOAD || gpu->base.captured) // each launch of captured work uploads the data
                                                              // again
        status = spyi_cuda_upload_page(gpu, at, data, size, error);
    else if (spyi_cuda_is_pinned(gpu, data)) status = spyi_cuda_upload_pinned(gpu, at, data, size, error);
    else status = spyi_cuda_upload_staged(gpu, at, (const char *)data, size, error);
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>downloads

SPYI_FN spy_status spyi_cuda_read_small(spyi_cuda_gpu *gpu, void *data, spyi_cu_pointer from, size_t size,
                                        spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    if (gpu->bounce == NULL) {
        result = gpu->cu.MemHostAlloc(&gpu->bounce, SPYI_CUDA_SMALL_UPLOAD, SPYI_CU_HOST_ALLOC_PORTABLE);
        if (result != SPYI_CU_OK) gpu->bounce = NULL;
        else gpu->base.stats.driver_bytes += SPYI_CUDA_SMALL_UPLOAD;
        gpu->base.stats.driver_allocations++;
    }
    if (result == SPYI_CU_OK) result = gpu->cu.MemcpyDtoHAsync(gpu->bounce, from, size, stream);
    if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuMemcpyDtoHAsync", error);
    memcpy(data, gpu->bounce, size);
    return SPY_OK;
}

// Downloads in pieces through the staging buffers, on `stream`: the GPU fills half of the buffers while the
// copy team empties the others.
static spy_status spyi_cuda_download_staged(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from,
                                            uint64_t size, spyi_cu_stream stream, spyi_text *error) {
    spyi_copy_team team;
    const size_t most = spyi_cuda_piece(size);
    uint64_t asked = 0, taken = 0; // both count bytes
    uint32_t ask = 0, take = 0;    // both count pieces
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), true);
    while (taken < size && status == SPY_OK) {
        if (asked < size && ask - take < SPYI_CUDA_STAGING_COUNT / 2) {
            spyi_cuda_staging *staging = &gpu->download[ask % SPYI_CUDA_STAGING_COUNT];
            size_t piece = spyi_cuda_next(size - asked, most);
            spyi_cu_result result;
            if (ask >= SPYI_CUDA_STAGING_COUNT) spyi_copy_wait(&team, ask + 1 - SPYI_CUDA_STAGING_COUNT);
            status = spyi_cuda_ready(gpu, staging, most, error);
            if (status != SPY_OK) break;
            result = gpu->cu.MemcpyDtoHAsync(staging->host, from + asked, piece, stream);
            if (result == SPYI_CU_OK) result = gpu->cu.EventRecord(staging->event, stream);
            staging->used = true;
            status = spyi_cuda_moved(gpu, result, "cuMemcpyDtoHAsync", error);
            asked += piece;
            ask++;
        } else {
            spyi_cuda_staging *staging = &gpu->download[take % SPYI_CUDA_STAGING_COUNT];
            size_t piece = spyi_cuda_next(size - taken, most);
            status = spyi_cuda_ready(gpu, staging, most, error); // waits for the transfer
            if (status == SPY_OK) spyi_copy_post(&team, data + taken, staging->host, piece);
            taken += piece;
            take++;
        }
    }
    spyi_copy_end(&team);
    return status;
}

// Sets *stream to the stream for a download that must wait for the batches up to `after`: gpu->lane, which
// waits only for these, or gpu->stream, which waits for all work. A program's stream may hold other work on
// the same memory, so its downloads wait for all of it.
static spy_status spyi_cuda_follow(spyi_cuda_gpu *gpu, uint64_t after, spyi_cu_stream *stream,
                                   spyi_text *error) {
    spyi_cu_result result;
    *stream = gpu->stream;
    if (gpu->stream != gpu->own_stream) return SPY_OK;
    if (after < gpu->ordered) after = gpu->ordered;
    if (after + 1 >= gpu->base.open && gpu->work == 0) return SPY_OK;
    if (after >= gpu->base.open) return SPY_OK; // the caller must wait for all work
    *stream = gpu->lane;
    if (after <= gpu->finished) return SPY_OK;
    result = gpu->cu.StreamWaitEvent(gpu->lane, gpu->batches[after % SPYI_CUDA_BATCHES].event, 0);
    return spyi_cuda_moved(gpu, result, "cuStreamWaitEvent", error);
}

static spy_status spyi_cuda_fetch_on(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from, uint64_t size,
                                     spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_result result;
    if (size >= SPYI_CUDA_DRIVER_READ && !spyi_cuda_is_pinned(gpu, data))
        return spyi_cuda_download_staged(gpu, data, from, size, stream, error);
    if (size > SPYI_CUDA_SMALL_UPLOAD) {
        result = gpu->cu.MemcpyDtoHAsync(data, from, (size_t)size, stream);
        if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(stream);
        return spyi_cuda_moved(gpu, result, "cuMemcpyDtoHAsync", error);
    }
    return spyi_cuda_read_small(gpu, data, from, (size_t)size, stream, error);
}

// Downloads, and records that the batches that it waited for are finished.
static spy_status spyi_cuda_fetch(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from, uint64_t size,
                                  uint64_t after, spyi_text *error) {
    spyi_cu_stream stream;
    spy_status status = spyi_cuda_follow(gpu, after, &stream, error);
    if (status == SPY_OK) status = spyi_cuda_fetch_on(gpu, data, from, size, stream, error);
    if (status != SPY_OK) return status;
    if (stream == gpu->stream) return spyi_cuda_all_done(gpu, error);
    if (gpu->finished < after) gpu->finished = after;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_download(spyi_gpu *base, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && from->mapped != NULL) {
        status = spyi_cuda_wait_for(gpu, after, UINT64_MAX, error);
        if (status == SPY_OK) memcpy(data, (const char *)from->mapped + offset, (size_t)size);
    } else if (status == SPY_OK) {
        status = spyi_cuda_check_captured(gpu, "wait for", error);
        if (status == SPY_OK)
            status = spyi_cuda_fetch(gpu, (char *)data, from->address + offset, size, after, error);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_staging(spyi_cuda_gpu *gpu) {
    uint32_t i;
    if (gpu->bounce != NULL) (void)gpu->cu.MemFreeHost(gpu->bounce);
    for (i = 0; i < 2 * SPYI_CUDA_STAGING_COUNT; i++) {
        spyi_cuda_staging *staging =
            i < SPYI_CUDA_STAGING_COUNT ? &gpu->upload[i] : &gpu->download[i - SPYI_CUDA_STAGING_COUNT];
        if (staging->host != NULL) (void)gpu->cu.MemFreeHost(staging->host);
        if (staging->event != NULL) (void)gpu->cu.EventDestroy(staging->event);
    }
}
