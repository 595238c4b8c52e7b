// desc.check_bounds: what kernels noted of an index outside a tensor's shape.
#ifndef SPYI_BOUNDS_H
#define SPYI_BOUNDS_H

#include "data/device.h"

#define SPYI_BOUNDS_GRADIENT 0x80000000u // beside a site: its tensor's gradient

// Without desc.check_bounds there is no `device->bounds`, and all but create do nothing.
// *address: where kernels note the first bad index (src/slang/slangpy_bounds.slang).
SPYI_FN spy_status spyi_bounds_create(spy_device *device, uint64_t *address, spyi_text *error);
SPYI_FN void spyi_bounds_destroy(spy_device *device);
// The number of an argument in the record, from any thread; 0: indices are not checked, or no memory is left for its name.
SPYI_FN uint32_t spyi_bounds_site(spy_device *device, const char *function, const char *argument);
// After a wait: SPY_ERROR_OUT_OF_RANGE with a text when finished work has noted an index, which is forgotten then. `function`:
// the called function's name, when the error begins with it; or NULL.
SPYI_FN spy_status spyi_bounds_take(spy_device *device, const char *function, spyi_text *error);
// The same, reported as the device's error under the name of a public function.
SPYI_FN spy_status spyi_bounds_report(spy_device *device, const char *function);

#endif // SPYI_BOUNDS_H
