// desc.check_bounds: the device's record of the first tensor index outside a shape, reported as an error.
#ifndef SPYI_BOUNDS_H
#define SPYI_BOUNDS_H

#include "data/device.h"

// This bit of a site says that the index was into the gradient of the site's tensor.
#define SPYI_BOUNDS_GRADIENT 0x80000000u

// Creates `device->bounds`. *address becomes the address at which kernels note the first bad index
// (src/slang/slangpy_bounds.slang). Without desc.check_bounds nobody calls it, and the functions below do
// nothing.
SPYI_FN spy_status spyi_bounds_create(spy_device *device, uint64_t *address, spyi_text *error);
SPYI_FN void spyi_bounds_destroy(spy_device *device);
// Returns an argument's number in the record, from 1; 0 means that indices are not checked, or memory ran
// out. Threads: any.
SPYI_FN uint32_t spyi_bounds_site(spy_device *device, const char *function, const char *argument);
// Call this function after a wait. Returns SPY_ERROR_OUT_OF_RANGE with a text when finished work has noted a
// bad index, and clears the record. `function` is the name with which the caller's message begins, or NULL.
SPYI_FN spy_status spyi_bounds_take(spy_device *device, const char *function, spyi_text *error);
// Like spyi_bounds_take(), but reports the error under the name of a public function.
SPYI_FN spy_status spyi_bounds_report(spy_device *device, const char *function);

#endif // SPYI_BOUNDS_H
