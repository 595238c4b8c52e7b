// The device's queue: submits work, waits for it and for the results of calls, and trims the memory pool.
#include "data/bounds.h"
#include "data/gpu_print.h"
#include "data/texture.h"

spy_submit_id spy_flush(spy_device *device) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_flush") != SPY_OK) return 0;
    spyi_text error = { NULL, 0, 0 };
    spy_submit_id id = device->base->open;
    spy_status status = device->backend->submit(device->gpu, &error);
    // Without recorded work the batch stays open, and the caller's last work is in the batch before it.
    if (device->base->open == id) id--;
    if (status != SPY_OK) {
        spyi_fail_text(device, status, "spy_flush", &error);
        id = 0;
    }
    spyi_leave(device);
    return id;
}

// Waits for all batches up to `id`. Returns SPY_ERROR_NOT_READY after the timeout, and when an engine has not
// reported work up to `id` as executed.
static spy_status spyi_wait(spy_device *device, const char *function, spy_submit_id id, uint64_t timeout_ns) {
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_wait_for(device->gpu, id, timeout_ns, false, &error);
    if (status == SPY_ERROR_NOT_READY) spyi_text_free(&error); // this is not a failure, so it is not reported
    else if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    if (status != SPY_OK) return status;
    spyi_images_free_finished(device);
    if (device->waiting_pipelines) device->free_pipelines(device);
    spyi_print_deliver(device);
    status = spyi_bounds_report(device, function);
    if (status != SPY_OK) return status;
    return device->base->held_from != 0 && id >= device->base->held_from ? SPY_ERROR_NOT_READY : SPY_OK;
}

SPYI_FN spy_status spyi_wait_for_results(spy_device *device, uint64_t submit, spyi_text *error) {
    bool held = device->base->held_from != 0 && submit >= device->base->held_from;
    return spyi_wait_for(device->gpu, submit, UINT64_MAX, !held, error);
}

spy_status spy_wait(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_wait");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_wait", device->base->open, UINT64_MAX);
    spyi_leave(device);
    return status;
}

spy_status spy_wait_for_submit(spy_device *device, spy_submit_id id, uint64_t timeout_ns) {
    const char *function = "spy_wait_for_submit";
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (entered != SPY_OK) return entered;
    spy_status status;
    if (id > device->base->open)
        status =
            spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                      "%s: id %llu has not been given out by spy_flush()", function, (unsigned long long)id);
    else status = spyi_wait(device, function, id, timeout_ns);
    spyi_leave(device);
    return status;
}

bool spy_is_submit_finished(spy_device *device, spy_submit_id id) {
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_is_submit_finished") != SPY_OK) return false;
    bool finished = device->backend->finished_submit(device->gpu) >= id;
    spyi_leave(device);
    return finished;
}

spy_status spy_trim(spy_device *device) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_trim");
    if (entered != SPY_OK) return entered;
    spy_status status = spyi_wait(device, "spy_trim", device->base->open, UINT64_MAX);
    if (status == SPY_ERROR_NOT_READY && !device->base->recording)
        status = SPY_OK; // the pool keeps the memory that recordings use, so this is no failure
    if (status == SPY_OK) spyi_pool_trim(device);
    spyi_leave(device);
    return status;
}

SPYI_FN spy_status spyi_take_reported(spy_device *device, const char *function) {
    spyi_pool_release_held(device);
    spyi_images_free_finished(device);
    if (device->waiting_pipelines) device->free_pipelines(device);
    spyi_print_deliver(device);
    return spyi_bounds_report(device, function);
}
