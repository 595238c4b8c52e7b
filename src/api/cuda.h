// The CUDA backend, and functions for programs that bring their own CUDA context, stream and device memory.
// No CUDA header is needed: the caller casts CUcontext and CUstream to void *, and CUdeviceptr to uint64_t.
//
// At run time no CUDA toolkit is needed, only the driver (libcuda.so.1, nvcuda.dll) and NVRTC, which compiles
// kernels for the device's exact architecture. Both are opened when they are first used.
#ifndef SPY_API_CUDA_H
#define SPY_API_CUDA_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the backend for spy_device_desc.backend. It needs a driver of CUDA 11.4 or later, and a device of
// compute capability 5.0 or later (7.5 with NVRTC 13). Slang's wave functions assume that lanes are numbered
// by threadIdx.x: kernels that use them need groups whose x is a multiple of 32, or whose y and z are 1.
// Threads: any.
SPY_API const spy_backend *spy_cuda_backend(void);

// CUDA's handles of its two default streams. They are constants, not pointers to objects.
#define SPY_CUDA_STREAM_LEGACY ((void *)(uintptr_t)1)
#define SPY_CUDA_STREAM_PER_THREAD ((void *)(uintptr_t)2)

// The type of spy_device_desc.backend_desc on CUDA. All zero means that the device uses the adapter's primary
// context, which the CUDA runtime and torch use too, and creates a stream of its own.
typedef struct spy_cuda_desc {
    void *context;              // CUcontext, which must outlive the device and determines the adapter; NULL
                                // means the primary context
    void *stream;               // CUstream of that context, which must stay valid until the device is
                                // released or given another stream by spy_cuda_set_stream(); NULL means that
                                // the device creates one
    const char *nvrtc_library;  // the path of NVRTC, e.g. of libnvrtc.so.13; NULL means the environment
                                // variable SLANGPY_NVRTC_LIBRARY or, without it, a search
    const char *driver_library; // the path of the driver's library; NULL means that the system's search finds
                                // it
    // launch each kernel by cuLaunchKernel, so that profilers list it by name. false means that a kernel that
    // is launched repeatedly becomes a CUDA graph of one node, whose launch takes half the time, unless the
    // environment has CUDA_LAUNCH_BLOCKING=1
    bool direct_launches;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_cuda_desc;

// Sends all further work to `stream` (CUstream), where it begins after all earlier work of the device. NULL
// means the device's own stream. SPY_ERROR_INVALID_ARGUMENT for a stream of another context. Threads: any.
//
// A stream of the program may be captured into a CUDA graph (cuStreamBeginCapture), before it is set here or
// while work goes to it. Calls, dispatches, copies, fills, uploads and command lists then become nodes of the
// graph, and run when the program launches it. Before that, spy_cuda_set_stream() waits on the host for the
// device's earlier work, because a graph cannot. What captured work uses, also memory of tensors that are
// released, is kept until the device is released, and the graph must not be launched after that. Tensors that
// the graph uses must not be given other sizes or memory. While the stream is being captured, waits, reads,
// results in host memory and GPU times fail with SPY_ERROR_UNSUPPORTED. Work that was in the stream before the
// capture should be marked by spy_flush(): without that, spy_cuda_set_stream() fails during the capture.
SPY_API spy_status spy_cuda_set_stream(spy_device *device, void *stream);
// Order the device's work and the work of a stream that other code uses; the host does not wait. After
// spy_cuda_wait_stream(), further work of the device begins when all work that `stream` has so far is done.
// After spy_cuda_signal_stream(), further work of `stream` begins when all work that the device has so far is
// done. NULL, errors and threads as for spy_cuda_set_stream(). Where only the stream that shall wait is being
// captured, the host waits in its place; where only the other one is, the result is SPY_ERROR_UNSUPPORTED.
SPY_API spy_status spy_cuda_wait_stream(spy_device *device, void *stream);
SPY_API spy_status spy_cuda_signal_stream(spy_device *device, void *stream);
// Return the stream that the device's work goes to now (CUstream), and the device's context (CUcontext). NULL
// with an error when the device is not a CUDA device. Threads: any.
SPY_API void *spy_cuda_get_stream(spy_device *device);
SPY_API void *spy_cuda_get_context(spy_device *device);
// Returns the adapter's number for spy_device_desc.adapter: CUdevice + 1. 0 with an error when the device is
// not a CUDA device. Threads: any.
SPY_API uint32_t spy_cuda_get_adapter(spy_device *device);
// Makes the device's context current on this thread, for the program's own use of CUDA. All other functions
// leave a thread's current context unchanged, but a thread without one gets the device's. Threads: any.
SPY_API spy_status spy_cuda_make_current(spy_device *device);

// spy_cuda_get_current_context() sets *context to the context that is current on this thread (for
// spy_cuda_desc.context), or to NULL, and *adapter to its adapter's number (for spy_device_desc.adapter), or
// to 0. Either pointer may be NULL. spy_cuda_set_current_context() makes `context` current on this thread, as
// cuCtxSetCurrent does; with NULL the thread has no current context afterwards. Both use the driver that the
// system's search finds. SPY_ERROR_NO_DEVICE without a driver, SPY_ERROR_INVALID_ARGUMENT when `context` is
// not a context; spy_take_error(NULL) has the text. Threads: any.
SPY_API spy_status spy_cuda_get_current_context(void **context, uint32_t *adapter);
SPY_API spy_status spy_cuda_set_current_context(void *context);

// Creates a tensor over the program's own device memory: `size_bytes` bytes from `address` (CUdeviceptr) on.
// desc->data must be NULL. The memory must outlive the tensor and all calls with it. The caller releases the
// tensor. Returns NULL on failure; SPY_ERROR_INVALID_ARGUMENT for memory of another device, or memory that is
// not CUDA's. Threads: any. spy_tensor_address() is the reverse: it returns a tensor's address.
SPY_API spy_tensor *spy_cuda_create_tensor(spy_device *device, uint64_t address, uint64_t size_bytes,
                                           const spy_tensor_desc *desc);

// A CUDA context of the program, such as torch's, that uses memory and semaphores of another API, such as
// those of spy_vk_create_shared_memory() and spy_vk_create_shared_semaphore(). It is no device of the library.
typedef struct spy_cuda_peer spy_cuda_peer;

typedef struct spy_cuda_imported_memory {
    void *memory;     // CUexternalMemory
    uint64_t address; // CUdeviceptr of the first byte
} spy_cuda_imported_memory;

// Uses `context` (CUcontext), or this thread's current context if it is NULL. driver_library is that of
// spy_cuda_desc. uuid, which may be NULL, gets the UUID of the context's GPU: only memory of the same GPU can
// be imported (spy_vk_sharing.device_uuid). NULL on failure; spy_take_error(NULL) has the text, here and below.
// The caller closes the peer, after it has released what the peer imported. Threads: any.
SPY_API spy_cuda_peer *spy_cuda_open_peer(void *context, const char *driver_library, uint8_t uuid[16]);
SPY_API void spy_cuda_close_peer(spy_cuda_peer *peer);
// Maps the first `size_bytes` bytes of memory with a file descriptor, which then belongs to CUDA, also when
// only the mapping fails. The other arguments are members of spy_vk_shared_memory. The memory must outlive the
// import. Threads: any.
SPY_API spy_status spy_cuda_import_memory(spy_cuda_peer *peer, int fd, uint64_t allocated_bytes,
                                          uint64_t size_bytes, spy_cuda_imported_memory *imported);
// Removes the mapping. No work may still use it. Sets the struct to zero. Threads: any.
SPY_API spy_status spy_cuda_release_memory(spy_cuda_peer *peer, spy_cuda_imported_memory *imported);
// Imports a timeline semaphore by its file descriptor, which on success belongs to CUDA, and sets *semaphore
// to the CUexternalSemaphore. Threads: any.
SPY_API spy_status spy_cuda_import_semaphore(spy_cuda_peer *peer, int fd, void **semaphore);
SPY_API spy_status spy_cuda_release_semaphore(spy_cuda_peer *peer, void *semaphore);
// After what `stream` (CUstream) has so far, sets the semaphore to `value`, or lets the further work of the
// stream begin when it has reached `value`. The host does not wait. Threads: any.
SPY_API spy_status spy_cuda_signal_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value,
                                             void *stream);
SPY_API spy_status spy_cuda_wait_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value,
                                           void *stream);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CUDA_H
