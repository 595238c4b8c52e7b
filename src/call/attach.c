// Registers functions of src/call that lower layers need: the release of prepared calls, and the treatment of
// plans and prepared calls when code changes.
#include "call/prepare.h"
#include "call/raster.h"
#include "plan/cache.h"

static void spyi_prepared_release(spyi_object *object) {
    struct spy_prepared *prepared = (struct spy_prepared *)(void *)object;
    if (spyi_prepared_compiles(prepared)) spyi_queue_release(object); // its thread must end first
    else spyi_prepared_free(prepared);
}

static void spyi_forget_code(spy_device *device, const spy_function *function) {
    if (device->cache) spyi_cache_forget_function(device, function);
}

SPYI_FN void spyi_calls_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_prepared_release, NULL };
    static const spyi_code_listener listener = { spyi_forget_code, spyi_prepared_reloaded,
                                                 spyi_prepared_collect, spyi_prepared_renewing };
    device->ctx.tables[SPYI_KIND_PREPARED - SPYI_KIND_DEVICE] = &table;
    device->listener = &listener;
    spyi_rasters_attach(device);
}
