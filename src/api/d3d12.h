// The D3D12 backend.
#ifndef SPY_API_D3D12_H
#define SPY_API_D3D12_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// The backend for spy_device_desc.backend. Not built yet: creating a device with it is an error that says so.
SPY_API const spy_backend *spy_d3d12_backend(void);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_D3D12_H
