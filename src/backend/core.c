// The functions that a backend may call on its device.
#include "backend/backend.h"

SPYI_FN spyi_gpu *spyi_device_gpu(spy_device *device, const char *backend_name, const char *function) {
    return SPYI_CONTEXT(device)->core->gpu(device, backend_name, function);
}

SPYI_FN spy_tensor *spyi_import_tensor(spy_device *device, const char *function, const spyi_chunk *chunk,
                                       uint64_t offset, uint64_t size, const spy_tensor_desc *desc) {
    return SPYI_CONTEXT(device)->core->import_tensor(device, function, chunk, offset, size, desc);
}

SPYI_FN bool spyi_tensor_location(spy_tensor *tensor, const char *function, spyi_chunk *chunk,
                                  uint64_t *offset_bytes) {
    if (spyi_as(tensor, SPYI_KIND_TENSOR)) {
        spy_device *device = ((const spyi_object *)(const void *)tensor)->device;
        SPYI_CONTEXT(device)->core->tensor_location(tensor, chunk, offset_bytes);
        return true;
    }
    spyi_refuse_object(tensor, SPYI_KIND_TENSOR, function);
    return false;
}

SPYI_FN spy_status spyi_recording_reported(spy_device *device, const char *function) {
    return SPYI_CONTEXT(device)->core->recording_reported(device, function);
}
