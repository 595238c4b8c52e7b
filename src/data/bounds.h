// Support for desc.check_bounds: kernels note the first tensor index outside its shape in a record of the
// device. These functions create the record, number the arguments in it, and report it as an error.
#ifndef SPYI_BOUNDS_H
#define SPYI_BOUNDS_H

#include "data/device.h"

#define SPYI_BOUNDS_GRADIENT 0x80000000u // with a site: the index was into its tensor's gradient

// Creates `device->bounds`. *address becomes the device address of the record
// (src/slang/slangpy_bounds.slang). Without desc.check_bounds nobody calls it: `device->bounds` is NULL, and
// the functions below do nothing.
SPYI_FN spy_status spyi_bounds_create(spy_device *device, uint64_t *address, spyi_text *error);
SPYI_FN void spyi_bounds_destroy(spy_device *device);
// Returns the number (from 1) by which the record names an argument; 0: indices are not checked, or no memory
// is left for the name. Threads: any.
SPYI_FN uint32_t spyi_bounds_site(spy_device *device, const char *function, const char *argument);
// To be called after a wait. Returns SPY_ERROR_OUT_OF_RANGE with a text when finished work has noted a bad
// index, and clears the record. `function`: the name with which the caller's error text begins, so that it is
// not repeated; or NULL.
SPYI_FN spy_status spyi_bounds_take(spy_device *device, const char *function, spyi_text *error);
// Like spyi_bounds_take(), but reports the error to the device under the name of a public function.
SPYI_FN spy_status spyi_bounds_report(spy_device *device, const char *function);

#endif // SPYI_BOUNDS_H
