// The functions of src/fuse that a device calls.
#ifndef SPYI_FUSE_H
#define SPYI_FUSE_H

#include "data/device.h"

SPYI_FN void spyi_fusions_attach(spy_device *device);
SPYI_FN void spyi_fusions_free_all(spy_device *device); // is called at the device's release

#endif // SPYI_FUSE_H
