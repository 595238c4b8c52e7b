// Waiting for work of a backend: without telling anybody while the backend spins, then with desc.blocking told and desc.interrupt
// asked.
#include "backend/backend.h"

#define SPYI_WAIT_SLICE_NS 50000000u // desc.interrupt is asked so often

// Waits for at most `slice_ns`, and takes that from *timeout_ns.
static spy_status spyi_wait_slice(spyi_gpu_base *base, uint64_t submit, uint64_t slice_ns,
                                  uint64_t *timeout_ns, spyi_text *error) {
    if (slice_ns > *timeout_ns) slice_ns = *timeout_ns;
    if (*timeout_ns != UINT64_MAX) *timeout_ns -= slice_ns;
    return base->backend->wait((spyi_gpu *)(void *)base, submit, slice_ns, error);
}

// "Not ready" after a slice is no failure when the wait goes on: what was said of it is removed.
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
    // Most waits for a GPU end within the spin. A program's lock that is released meanwhile (an interpreter's, say) may be taken
    // by another thread, which keeps it for milliseconds: so desc.blocking hears only of waits that last longer.
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
