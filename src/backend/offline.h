// The offline backend: the GPU of a device with desc.offline, which records packs and lists without a GPU and
// without a driver. It takes any kernel and any work. Buffers hold the bytes that are uploaded, filled and
// copied; kernels, draws and work on textures do nothing, and textures read as zeros.
// Threads: the rules of backend.h.
#ifndef SPYI_BACKEND_OFFLINE_H
#define SPYI_BACKEND_OFFLINE_H

#include "backend/backend.h"

// Returns the backend, whose devices have the name "null" in spy_device_info.backend. A device has the limits
// that packs promise for the target of desc->backend; of the rest of the desc only adapter_type is read.
SPYI_FN const spy_backend *spyi_offline_backend(void);

// What a device without a GPU has of texels, for the null backend, too. spyi_offline_texels() sets limits->texels;
// the other is spyi_image_functions.support.
SPYI_FN void spyi_offline_texels(spyi_limits *limits);
SPYI_FN uint32_t spyi_offline_image_support(spyi_gpu *gpu, uint32_t format);

#endif // SPYI_BACKEND_OFFLINE_H
