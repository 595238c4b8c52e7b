// The CUDA backend: its entry, and how a program brings its own context, stream and device memory. No CUDA header is
// needed: CUcontext and CUstream are void *, CUdeviceptr is uint64_t, cast by the caller.
//
// Neither a toolkit nor its headers are needed at run time: the driver (libcuda.so.1, nvcuda.dll) and NVRTC, which compiles
// kernels for the device's exact architecture, are opened when they are first used.
#ifndef SPY_API_CUDA_H
#define SPY_API_CUDA_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// The backend for spy_device_desc.backend: a driver of CUDA 11.4 or later, a device of compute capability 5.0 or later (7.5
// with NVRTC 13). Wave functions of Slang assume that lanes are numbered by threadIdx.x: give groups whose x is a multiple
// of 32 to kernels that use them, or whose y and z are 1.
SPY_API const spy_backend *spy_cuda_backend(void);

// CUDA's own handles of the default streams, which are no pointers.
#define SPY_CUDA_STREAM_LEGACY ((void *)(uintptr_t)1)
#define SPY_CUDA_STREAM_PER_THREAD ((void *)(uintptr_t)2)

// For spy_device_desc.backend_desc. All zero: the primary context of the adapter, which the CUDA runtime and torch use
// too, and a stream of the device's own.
typedef struct spy_cuda_desc {
    void *context;              // CUcontext, which must outlive the device; the adapter is then its own. NULL: primary
    void *stream;               // CUstream of that context, which must outlive the device or the next
                                // spy_cuda_set_stream(); NULL: one of the device's own
    const char *nvrtc_library;  // path of libnvrtc.so.13 or the like; NULL: SLANGPY_NVRTC_LIBRARY, then searched
    const char *driver_library; // path of the driver's library; NULL: found by the system
    bool direct_launches;       // each call by cuLaunchKernel, so that profilers list it by name. false: a kernel that comes
                                // back becomes a CUDA graph of one node, which is launched in half the time, unless the
                                // environment has CUDA_LAUNCH_BLOCKING=1
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_cuda_desc;

// All further work goes to `stream`, after all earlier work. NULL: the device's own. SPY_ERROR_INVALID_ARGUMENT for a
// stream of another context. Threads: any.
SPY_API spy_status spy_cuda_set_stream(spy_device *device, void *stream);
// Order between the device and a stream that others fill; the host waits for nothing. wait: all further work of the device
// begins after what `stream` has been given so far. signal: what `stream` is given from now on begins after all work of the
// device so far. NULL, errors and threads as for spy_cuda_set_stream().
SPY_API spy_status spy_cuda_wait_stream(spy_device *device, void *stream);
SPY_API spy_status spy_cuda_signal_stream(spy_device *device, void *stream);
// What work goes to now (CUstream), and the device's CUcontext. NULL with an error for other devices. Threads: any.
SPY_API void *spy_cuda_get_stream(spy_device *device);
SPY_API void *spy_cuda_get_context(spy_device *device);
// The adapter's number, as spy_device_desc.adapter: CUdevice + 1. 0 with an error for other devices. Threads: any.
SPY_API uint32_t spy_cuda_get_adapter(spy_device *device);
// Makes the device's context current on this thread, for the program's own use of CUDA. The library itself leaves every
// thread's current context as it was, but for threads that have none: those get the device's. Threads: any.
SPY_API spy_status spy_cuda_make_current(spy_device *device);

// The context that is current on this thread, for spy_cuda_desc.context, and its adapter's number, for
// spy_device_desc.adapter; NULL and 0: there is none. Either may be NULL. And the way back, as cuCtxSetCurrent: NULL takes the
// current one off this thread. Of the driver that the system finds. SPY_ERROR_NO_DEVICE without one,
// SPY_ERROR_INVALID_ARGUMENT for what is no context; errors are the thread's, as those of spy_create_device(). Threads: any.
SPY_API spy_status spy_cuda_get_current_context(void **context, uint32_t *adapter);
SPY_API spy_status spy_cuda_set_current_context(void *context);

// A tensor over `size_bytes` of device memory from `address` (CUdeviceptr) on. desc->data must be NULL. The memory must
// outlive the tensor and all calls with it. SPY_ERROR_INVALID_ARGUMENT for memory of another device or none of CUDA's.
// Threads: any. The address of a tensor is spy_tensor_address().
SPY_API spy_tensor *spy_cuda_create_tensor(spy_device *device, uint64_t address, uint64_t size_bytes,
                                           const spy_tensor_desc *desc);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CUDA_H
