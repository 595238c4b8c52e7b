// The D3D12 backend, which is not implemented yet.
#ifndef SPY_API_D3D12_H
#define SPY_API_D3D12_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the backend for spy_device_desc.backend. It is not implemented yet: creating a device with it
// fails.
SPY_API const spy_backend *spy_d3d12_backend(void);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_D3D12_H
