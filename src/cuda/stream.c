// The device's stream and its progress. Launches reach the GPU at once; an event after each batch of work
// tells when pages and blocks of the pool are free again.
#include "cuda/internal.h"

SPYI_FN spy_status spyi_cuda_check_lost(const spyi_cuda_gpu *gpu, spyi_text *error) {
    if (SPYI_LIKELY(!gpu->lost)) return SPY_OK;
    spyi_text_add(error, "the device was lost earlier");
    return SPY_ERROR_DEVICE_LOST;
}

// >>batches

static void spyi_cuda_collect(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_CUDA_BATCHES; i++) // skips the open batch, whose slot still has an old number
        if (gpu->batches[i].number <= gpu->finished && i != gpu->base.open % SPYI_CUDA_BATCHES)
            spyi_cuda_return_pages(gpu, &gpu->batches[i].pages);
}

static uint64_t spyi_cuda_poll(spyi_cuda_gpu *gpu) {
    int mode = spyi_cuda_relax(gpu);
    while (gpu->finished + 1 < gpu->base.open && !gpu->lost) {
        spyi_cuda_batch *batch = &gpu->batches[(gpu->finished + 1) % SPYI_CUDA_BATCHES];
        if (gpu->cu.EventQuery(batch->event) != SPYI_CU_OK) break; // the next wait reports a fault
        gpu->finished++;
    }
    spyi_cuda_restore(gpu, mode);
    return gpu->finished;
}

static spy_status spyi_cuda_wait_event(spyi_cuda_gpu *gpu, uint64_t number, spyi_text *error) {
    spyi_cu_result result;
    if (number <= gpu->finished) return SPY_OK;
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.EventSynchronize(gpu->batches[number % SPYI_CUDA_BATCHES].event);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventSynchronize", error);
    if (number > gpu->finished) gpu->finished = number;
    return SPY_OK;
}

// Ends the open batch, and waits until the slot of the next one is free.
static spy_status spyi_cuda_next_batch(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cuda_batch *next = &gpu->batches[(gpu->base.open + 1) % SPYI_CUDA_BATCHES];
    spy_status status = SPY_OK;
    gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].number = gpu->base.open;
    gpu->base.open++;
    gpu->work = 0;
    gpu->work_bytes = 0;
    gpu->base.stats.submits++;
    if (next->number > gpu->finished) status = spyi_cuda_wait_event(gpu, next->number, error);
    spyi_cuda_collect(gpu);
    return status;
}

SPYI_FN spy_status spyi_cuda_end_batch(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result;
    if (gpu->work == 0) return SPY_OK;
    result = gpu->cu.EventRecord(gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].event, gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    return spyi_cuda_next_batch(gpu, error);
}

SPYI_FN spy_status spyi_cuda_worked(spyi_cuda_gpu *gpu, spyi_text *error) {
    if (!SPYI_LIKELY(!gpu->base.captured)) return SPY_OK; // captured work belongs to no batch (capture.c)
    if (SPYI_LIKELY(++gpu->work < SPYI_CUDA_BATCH_WORK && gpu->work_bytes < SPYI_CUDA_BATCH_BYTES))
        return SPY_OK;
    return spyi_cuda_end_batch(gpu, error);
}

// >>waiting

SPYI_FN spy_status spyi_cuda_all_done(spyi_cuda_gpu *gpu, spyi_text *error) {
    gpu->finished = gpu->work > 0 ? gpu->base.open : gpu->base.open - 1;
    if (gpu->work > 0) return spyi_cuda_next_batch(gpu, error);
    spyi_cuda_collect(gpu);
    return SPY_OK;
}

// Waits for all work in the stream, without an event.
static spy_status spyi_cuda_wait_all(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = gpu->cu.StreamSynchronize(gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuStreamSynchronize", error);
    return spyi_cuda_all_done(gpu, error);
}

static spy_status spyi_cuda_wait_time(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error) {
    uint64_t begin = spyi_time_ns();
    do {
        spyi_cu_result result;
        if (spyi_cuda_poll(gpu) >= number) return SPY_OK;
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.EventQuery(gpu->batches[(gpu->finished + 1) % SPYI_CUDA_BATCHES].event);
        spyi_cuda_restore(gpu, mode);
        if (result != SPYI_CU_OK && result != SPYI_CU_NOT_READY)
            return spyi_cuda_fail(gpu, result, "cuEventQuery", error);
    } while (spyi_time_ns() - begin < timeout_ns);
    spyi_text_add(error, "the work had not finished when the time was over");
    return SPY_ERROR_NOT_READY;
}

SPYI_FN spy_status spyi_cuda_wait_for(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error) {
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status != SPY_OK || number <= gpu->finished) return status;
    if (number >= gpu->base.open) status = spyi_cuda_check_captured(gpu, "wait for", error);
    if (status != SPY_OK) return status;
    bool all =
        number >= gpu->base.open || (number + 1 == gpu->base.open && gpu->work == 0 && !gpu->base.watched);
    if (timeout_ns == UINT64_MAX && all) return spyi_cuda_wait_all(gpu, error);
    if (number >= gpu->base.open) {
        status = spyi_cuda_end_batch(gpu, error);
        if (status != SPY_OK) return status;
        number = gpu->base.open - 1;
    }
    if (timeout_ns != UINT64_MAX) return spyi_cuda_wait_time(gpu, number, timeout_ns, error);
    return spyi_cuda_wait_event(gpu, number, error);
}

// >>functions of the backend's table

SPYI_FN uint64_t spyi_cuda_finished_submit(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    uint64_t finished;
    bool pushed;
    if (gpu->lost) return gpu->base.open - 1; // no work of a lost device runs any more
    if (gpu->finished + 1 >= gpu->base.open) return gpu->finished;
    pushed = spyi_cuda_enter(gpu);
    finished = spyi_cuda_poll(gpu);
    spyi_cuda_leave(gpu, pushed);
    return finished;
}

SPYI_FN spy_status spyi_cuda_submit(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    bool pushed;
    if (status != SPY_OK || gpu->work == 0) return status;
    pushed = spyi_cuda_enter(gpu);
    status = spyi_cuda_check_captured(gpu, "mark the end of earlier work in", error);
    if (status == SPY_OK) status = spyi_cuda_end_batch(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_wait(spyi_gpu *base, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spy_status status = spyi_cuda_wait_for(gpu, submit, timeout_ns, error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

// >>streams

static spy_status spyi_cuda_check_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_context context = NULL;
    spyi_cu_result result;
    if ((uintptr_t)stream <= 2)
        return SPY_OK; // the handles of the default streams belong to the current context
    result = gpu->cu.StreamGetCtx(stream, &context);
    if (result == SPYI_CU_OK && context == gpu->context) return SPY_OK;
    if (result != SPYI_CU_OK) spyi_cu_say(&gpu->cu, result, "cuStreamGetCtx", error);
    else
        spyi_text_add(error, "the stream is of another context than the device '%s'",
                      gpu->base.limits.info.name);
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Makes further work of the stream `after` begin when the present work of the stream `before` is done.
static spy_status spyi_cuda_order(spyi_cuda_gpu *gpu, spyi_cu_stream before, spyi_cu_stream after,
                                  spyi_text *error) {
    bool captured = spyi_cuda_is_captured(gpu, before), waits = spyi_cuda_is_captured(gpu, after);
    spyi_cu_result result;
    if (captured && !waits) {
        spyi_text_add(error, "cannot wait for a stream that is being captured from one that is not: the "
                             "captured work runs when the program launches the CUDA graph");
        return SPY_ERROR_UNSUPPORTED;
    }
    result = gpu->cu.EventRecord(gpu->order, before);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (waits && !captured) { // a graph cannot wait for work outside, so the host does
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.EventSynchronize(gpu->order);
        spyi_cuda_restore(gpu, mode);
        return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuEventSynchronize", error);
    }
    result = gpu->cu.StreamWaitEvent(after, gpu->order, 0);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamWaitEvent", error);
}

// Replaces a NULL *stream by the device's own stream and checks it. *other tells whether it differs from the
// stream that work goes to.
static spy_status spyi_cuda_other_stream(spyi_cuda_gpu *gpu, spyi_cu_stream *stream, bool *other,
                                         spyi_text *error) {
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (*stream == NULL) *stream = gpu->own_stream;
    *other = *stream != gpu->stream;
    return status == SPY_OK && *other ? spyi_cuda_check_stream(gpu, *stream, error) : status;
}

SPYI_FN spy_status spyi_cuda_wait_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    spyi_watch(&gpu->base);
    if (status == SPY_OK && other) status = spyi_cuda_order(gpu, stream, gpu->stream, error);
    if (status != SPY_OK || !other || gpu->base.captured) return status;
    gpu->work++; // this ends the batch, so that downloads on `lane` wait for its event
    gpu->ordered = gpu->base.open;
    return spyi_cuda_end_batch(gpu, error);
}

SPYI_FN spy_status spyi_cuda_signal_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    return status == SPY_OK && other ? spyi_cuda_order(gpu, gpu->stream, stream, error) : status;
}

// Makes work in `stream` begin after the work of all batches that have ended: a stream that is being captured
// cannot wait for them, so the host does.
static spy_status spyi_cuda_after_batches(spyi_cuda_gpu *gpu, spyi_cu_stream stream, bool captured,
                                          spyi_text *error) {
    uint64_t last = gpu->base.open - 1;
    spyi_cu_result result;
    if (gpu->finished >= last) return SPY_OK;
    if (captured) return spyi_cuda_wait_event(gpu, last, error);
    result = gpu->cu.StreamWaitEvent(stream, gpu->batches[last % SPYI_CUDA_BATCHES].event, 0);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamWaitEvent", error);
}

// Sends further work to `stream`, where it begins after the work of the old stream.
SPYI_FN spy_status spyi_cuda_use_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other, captured;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    if (status != SPY_OK || !other) return status;
    spyi_watch(&gpu->base);
    captured = spyi_cuda_is_captured(gpu, stream);
    if (gpu->base.captured && gpu->work > 0) {
        spyi_text_add(error, "work from before the capture is in the stream that is being captured now, and "
                             "no other stream can wait for it: call spy_flush() before a capture begins");
        return SPY_ERROR_UNSUPPORTED;
    }
    status = spyi_cuda_end_batch(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_after_batches(gpu, stream, captured, error);
    if (status != SPY_OK) return status;
    gpu->stream = stream;
    gpu->base.watched = stream != gpu->own_stream;
    if (gpu->base.watched) gpu->base.borrowed = true;
    gpu->base.recording = gpu->base.captured = captured;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_make_stream(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = gpu->cu.StreamCreate(&gpu->own_stream, SPYI_CU_STREAM_NON_BLOCKING);
    uint32_t i;
    if (result == SPYI_CU_OK) result = gpu->cu.StreamCreate(&gpu->lane, SPYI_CU_STREAM_NON_BLOCKING);
    if (result == SPYI_CU_OK) result = gpu->cu.EventCreate(&gpu->order, SPYI_CU_EVENT_DISABLE_TIMING);
    for (i = 0; i < SPYI_CUDA_BATCHES && result == SPYI_CU_OK; i++)
        result = gpu->cu.EventCreate(&gpu->batches[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
    for (i = 0; i < SPYI_CUDA_STAGING_COUNT && result == SPYI_CU_OK; i++) {
        result = gpu->cu.EventCreate(&gpu->upload[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
        if (result == SPYI_CU_OK)
            result = gpu->cu.EventCreate(&gpu->download[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
    }
    gpu->stream = gpu->own_stream;
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamCreate", error);
}

SPYI_FN void spyi_cuda_destroy_stream(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_CUDA_BATCHES; i++) {
        spyi_cuda_free_pages(gpu, &gpu->batches[i].pages);
        if (gpu->batches[i].event != NULL) (void)gpu->cu.EventDestroy(gpu->batches[i].event);
    }
    spyi_cuda_free_pages(gpu, &gpu->free_pages);
    if (gpu->order != NULL) (void)gpu->cu.EventDestroy(gpu->order);
    if (gpu->lane != NULL) (void)gpu->cu.StreamDestroy(gpu->lane);
    if (gpu->own_stream != NULL) (void)gpu->cu.StreamDestroy(gpu->own_stream);
}
