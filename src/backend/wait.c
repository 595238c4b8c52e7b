// Waits for a backend's work: first spins without calling the program, then calls desc.blocking and
// desc.interrupt.
#include "backend/backend.h"

#define SPYI_WAIT_SLICE_NS 50000000u // time between two calls of desc.interrupt

// Waits for at most `slice_ns`, and subtracts the waited time from *timeout_ns.
static spy_status spyi_wait_slice(spyi_gpu_base *base, uint64_t submit, uint64_t slice_ns,
                                  uint64_t *timeout_ns, spyi_text *error) {
    if (slice_ns > *timeout_ns) slice_ns = *timeout_ns;
    if (*timeout_ns != UINT64_MAX) *timeout_ns -= slice_ns;
    return base->backend->wait((spyi_gpu *)(void *)base, submit, slice_ns, error);
}

// Removes the text of a "not ready" after a slice, because the wait continues and has not failed.
static void spyi_wait_goes_on(spyi_text *error, size_t size) {
    if (error->data) error->data[error->size = size] = 0;
}

SPYI_FN spy_status spyi_wait_for(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, bool interruptible,
                                 spyi_text *error) {
    spyi_gpu_base *base = (spyi_gpu_base *)(void *)gpu;
    const spy_interrupt *interrupt = &base->ctx->interrupt;
    bool asks = interruptible && base->slices && interrupt->func;
    size_t before = error->size;
    spy_status status;
    // Most waits for a GPU end during the spin. When desc.blocking releases a program's lock (an
    // interpreter's, say), another thread may take the lock and keep it for milliseconds. Therefore
    // desc.blocking is called only for longer waits.
    if (base->spin_ns > 0 && base->ctx->blocking.func) {
        status = spyi_wait_slice(base, submit, base->spin_ns, &timeout_ns, error);
        if (status != SPY_ERROR_NOT_READY || timeout_ns == 0) return status;
        spyi_wait_goes_on(error, before);
    }
    spyi_block(base->ctx, true);
    for (;;) {
        status = spyi_wait_slice(base, submit, asks ? SPYI_WAIT_SLICE_NS : UINT64_MAX, &timeout_ns, error);
        if (!asks || status != SPY_ERROR_NOT_READY || timeout_ns == 0) break;
        spyi_wait_goes_on(error, before);
        if (!interrupt->func(interrupt->user_data)) continue;
        spyi_text_add(error, "interrupted before its results came; the GPU goes on");
        status = SPY_ERROR_INTERRUPTED;
        break;
    }
    spyi_block(base->ctx, false);
    return status;
}
