// Information about devices, the directory for dumps of a device's kernels, and the last step of a device's
// release.
#include "base/store.h"
#include "data/device.h"

// >>information

spy_device_info spy_get_device_info(const spy_device *device) {
    spy_device_info info;
    memset(&info, 0, sizeof info);
    if (spyi_as(device, SPYI_KIND_DEVICE)) info = device->base->limits.info;
    else spyi_refuse_object(device, SPYI_KIND_DEVICE, "spy_get_device_info");
    return info;
}

size_t spy_enumerate_adapters(const spy_backend *backend, spy_device_info *infos, size_t capacity) {
    if (!backend) {
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_enumerate_adapters: expected a backend, got NULL");
        return 0;
    }
    spyi_text error = { NULL, 0, 0 };
    size_t count = backend->enumerate(infos, infos ? capacity : 0, &error);
    if (error.size) spyi_fail(NULL, SPY_ERROR_NO_DEVICE, "spy_enumerate_adapters: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return count;
}

spy_status spy_set_dump_directory(spy_device *device, const char *directory) {
    spy_status entered = spyi_enter(device, SPYI_KIND_DEVICE, "spy_set_dump_directory");
    if (entered != SPY_OK) return entered;
    spy_status status = SPY_OK;
    char *copy = directory ? spyi_strdup(directory) : NULL;
    if (directory && !spyi_folder_exists(directory)) {
        status =
            spyi_fail(&device->ctx, SPY_ERROR_IO,
                      "spy_set_dump_directory: directory: expected an existing folder, got '%s'", directory);
        free(copy);
    } else if (directory && !copy) {
        status = SPY_ERROR_OUT_OF_MEMORY;
        spyi_fail(&device->ctx, status, "spy_set_dump_directory: out of host memory");
    } else {
        spyi_mutex_lock(&device->dump_lock);
        char *old = device->dump_directory;
        device->dump_directory = copy;
        spyi_mutex_unlock(&device->dump_lock);
        free(old);
    }
    spyi_leave(device);
    return status;
}

// Frees the objects that the driver may need until the last build is done: builds, the backend's device and
// the context.
SPYI_FN void spyi_device_free(spy_device *device) {
    spyi_context *ctx = &device->ctx;
    spyi_builds_free(device);
    if (device->gpu) device->backend->destroy(device->gpu);
    spyi_mutex_destroy(&device->dump_lock);
    spyi_store_close(ctx->store);
    spyi_store_close(ctx->pack);
    spy_allocator allocator = ctx->allocator;
    spyi_context_destroy(ctx);
    ctx->object.kind = (uint32_t)SPYI_KIND_DEAD;
    allocator.free(device, sizeof *device, allocator.user_data);
}
