// The CUDA backend.
#ifndef SPY_API_CUDA_H
#define SPY_API_CUDA_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// The backend for spy_device_desc.backend. Not built yet: creating a device with it is an error that says so.
const spy_backend *spy_cuda_backend(void);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CUDA_H
