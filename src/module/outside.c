// Work outside of the device, above all compiling: other threads use the device meanwhile. The module that
// such work uses keeps its code until the work ends. On the way out a thread also frees the units that the
// device has dropped.
#include "module/module.h"

SPYI_FN void spyi_outside_begin(spy_device *device, spyi_outside *outside, spy_module *module) {
    if (module) module->users++;
    spyi_outside_add(&device->ctx, outside, module ? &module->object : NULL);
}

SPYI_FN void spyi_outside_end(spy_device *device, spyi_outside *outside) {
    if (outside->kept) ((spy_module *)(void *)outside->kept)->users--;
    spyi_outside_remove(&device->ctx, outside);
}

SPYI_FN void spyi_release_units(spyi_context *ctx, spyi_dropped_unit *dropped) {
    while (dropped) {
        spyi_dropped_unit *next = dropped->next;
        spyi_unit_release(dropped->unit);
        spyi_free(ctx, dropped, sizeof *dropped);
        dropped = next;
    }
}

SPYI_FN void spyi_step_out_to_make(spy_device *device, spyi_outside *outside, spy_module *module,
                                   const void *work, const void *key, size_t key_size) {
    spyi_dropped_unit *dropped = device->dropped_units;
    device->dropped_units = NULL;
    spyi_outside_begin(device, outside, module);
    outside->thread = spyi_thread_id();
    outside->work = work;
    outside->key = key;
    outside->key_size = key_size;
    spyi_leave(device);
    spyi_release_units(&device->ctx, dropped);
}

SPYI_FN void spyi_step_out(spy_device *device, spyi_outside *outside, spy_module *module) {
    spyi_step_out_to_make(device, outside, module, NULL, NULL, 0);
}

SPYI_FN void spyi_step_in(spy_device *device, spyi_outside *outside) {
    spyi_come_back(&device->ctx);
    spyi_outside_end(device, outside);
}

SPYI_FN void spyi_await_outside(spy_device *device, spy_module *module, int32_t seen) {
    spyi_outside waiting;
    spyi_outside_begin(device, &waiting, module);
    waiting.thread = spyi_thread_id();
    spyi_await(&device->ctx, seen);
    spyi_outside_end(device, &waiting);
}

SPYI_FN void spyi_await_work(spy_device *device, spy_module *module, const void *work, const void *key,
                             size_t key_size) {
    for (;;) {
        int32_t seen = spyi_turns_events(&device->ctx.turns);
        device->listener->collect(device);
        if (!spyi_is_under_way(device, work, key, key_size)) return;
        spyi_await_outside(device, module, seen);
    }
}

SPYI_FN void spyi_drop_unit(spy_device *device, spyi_unit *unit) {
    spyi_dropped_unit *dropped = (spyi_dropped_unit *)spyi_allocate(&device->ctx, sizeof *dropped);
    if (!dropped) {
        spyi_unit_release(unit);
        return;
    }
    dropped->unit = unit;
    dropped->next = device->dropped_units;
    device->dropped_units = dropped;
}
