// The GPU's clock: converts its ticks to nanoseconds, and relates it to the host's clock
// (spy_get_calibration).
#include "data/device.h"

// The integral part of the period is multiplied in integers, so that large times keep their digits.
SPYI_FN uint64_t spyi_ticks_to_ns(uint64_t ticks, double period_ns) {
    uint64_t whole = (uint64_t)period_ns;
    return ticks * whole + (uint64_t)((double)ticks * (period_ns - (double)whole));
}

// Has the GPU store its time between two readings of the host's clock, while no other work runs. *host_ns is
// the middle of the two readings, *width_ns the time between them.
static spy_status spyi_calibrate(spy_device *device, const spy_tensor *ticks, uint64_t *host_ns,
                                 uint64_t *width_ns, spyi_text *error) {
    const spy_backend *table = device->backend;
    const spyi_storage *storage = ticks->storage;
    spyi_use use =
        spyi_use_of(&ticks->storage->resource, ticks->begin_bytes, ticks->end_bytes, SPYI_USE_WRITES);
    spy_status status = table->wait(device->gpu, device->base->open, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    uint64_t before = spyi_time_ns();
    spyi_time_mark_work mark = spyi_time_mark_of(0);
    spyi_time_store_work store = spyi_time_store_of(&storage->chunk, storage->offset + use.begin, 1);
    status = spyi_record(table, device->gpu, &mark.work, error);
    if (status != SPY_OK) return status;
    status = spyi_record_with(device, &store.work, &use, 1, false, error);
    if (status == SPY_OK) status = table->wait(device->gpu, device->base->open, UINT64_MAX, error);
    *width_ns = spyi_time_ns() - before;
    *host_ns = before + *width_ns / 2;
    return status;
}

enum { SPYI_CALIBRATIONS = 4 };

static spy_status spyi_get_calibration(spy_device *device, spy_calibration *calibration, spyi_text *error) {
    const spy_device_info *info = &device->base->limits.info;
    spy_status status;
    spy_shape one;
    uint64_t best = UINT64_MAX;
    if (!(info->features & SPY_FEATURE_TIMESTAMPS)) {
        spyi_text_add(error, "'%s' has no timestamps", info->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    memset(&one, 0, sizeof one);
    spy_tensor *tensor =
        spyi_tensor_make(device, device->scalars[SPY_DTYPE_UINT64], &one, "calibration", error, &status);
    if (!tensor) return status;
    // The first measurement may create the objects that store the time, and any may be delayed. So the
    // shortest one is the most exact.
    for (int i = 0; i < SPYI_CALIBRATIONS && status == SPY_OK; i++) {
        uint64_t ticks = 0, host = 0, width = 0;
        status = spyi_calibrate(device, tensor, &host, &width, error);
        if (status == SPY_OK) status = spyi_tensor_download(tensor, &ticks, error);
        if (status != SPY_OK || width >= best) continue;
        best = width;
        calibration->host_ns = host;
        calibration->gpu_ns = spyi_ticks_to_ns(ticks, info->timestamp_period_ns);
    }
    spyi_tensor_unlink(tensor);
    spyi_tensor_free(tensor);
    return status;
}

spy_status spy_get_calibration(spy_device *device, spy_calibration *calibration) {
    const char *function = "spy_get_calibration";
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (calibration) memset(calibration, 0, sizeof *calibration);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    spy_calibration got = { 0, 0 };
    status = spyi_get_calibration(device, &got, &error);
    if (status == SPY_OK && calibration) *calibration = got;
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}
