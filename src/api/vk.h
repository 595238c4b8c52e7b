// The Vulkan backend, and functions for engines that bring their own Vulkan objects. No Vulkan header is
// needed: the caller casts dispatchable handles to void *, and VkBuffer and VkSemaphore to uint64_t.
#ifndef SPY_API_VK_H
#define SPY_API_VK_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the backend for spy_device_desc.backend. It needs Vulkan 1.2 with timeline semaphores, buffer
// device addresses, scalar block layout and 64-bit integers, and is faster with push descriptors. Mesa's
// lavapipe of Debian 12 and all current GPU drivers have all of them. Threads: any.
SPY_API const spy_backend *spy_vk_backend(void);

// Have the same types as PFN_vkVoidFunction and PFN_vkGetInstanceProcAddr.
typedef void (*spy_vk_void_func)(void);
typedef spy_vk_void_func (*spy_vk_get_instance_proc_addr_func)(void *instance, const char *name);

// The type of spy_device_desc.backend_desc on Vulkan. All zero means that the library loads Vulkan and
// creates instance and device. When `device` is set, instance, physical_device, queue and queue_family must
// be set too. They must outlive the spy_device, and the VkDevice must have what spy_vk_required_features()
// lists.
typedef struct spy_vk_desc {
    spy_vk_get_instance_proc_addr_func get_instance_proc_addr; // NULL means the function of the Vulkan loader
    void *instance;                     // VkInstance
    void *physical_device;              // VkPhysicalDevice
    void *device;                       // VkDevice
    void *queue;                        // VkQueue with compute, and with graphics for draws
    uint32_t queue_family;
    uint32_t api_version; // the API version that the instance was created with; 0 means VK_API_VERSION_1_3
    void (*lock_queue)(void *user_data);   // called before and after each use of the queue; NULL means that
                                           // only the library uses the queue
    void (*unlock_queue)(void *user_data);
    void *lock_user_data;
    const char *const *enabled_features;   // the members of spy_vk_required_features().optional_features that
                                           // `device` was created with; other optional features count as
                                           // missing, because Vulkan cannot be asked for them
    uint32_t enabled_feature_count;        // the number of enabled_features
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_vk_desc;

// Fills *desc with the Vulkan objects of a device, so that another spy_device can be created on them. From
// then on both devices take a lock around each use of the queue. What *desc points to belongs to `device`,
// which must outlive the other spy_device. Returns SPY_ERROR_INVALID_ARGUMENT for a device of another
// backend. Threads: any.
SPY_API spy_status spy_vk_share_device(spy_device *device, spy_vk_desc *desc);

// The extensions and features that an engine's VkDevice must be created with. The strings and arrays are
// valid until the process ends.
typedef struct spy_vk_requirements {
    uint32_t api_version;               // lowest VkApplicationInfo.apiVersion and device version
    const char *const *extensions;      // device extensions that must be enabled
    uint32_t extension_count;
    const char *const *features;        // members of VkPhysicalDevice*Features that must be VK_TRUE
    uint32_t feature_count;
    const char *const *optional_features;   // further features that kernels use when present (16-bit types,
                                            // atomics ...)
    uint32_t optional_feature_count;
    const char *const *optional_extensions; // extensions that the optional features belong to
    uint32_t optional_extension_count;
} spy_vk_requirements;

// Returns the extensions and features that an engine's VkDevice must be created with. Threads: any.
SPY_API spy_vk_requirements spy_vk_required_features(void);

// The largest number of names in spy_vk_features.
#define SPY_VK_MAX_FEATURES 128

// The optional features that are enabled on an engine's device, for spy_vk_desc.enabled_features.
typedef struct spy_vk_features {
    uint32_t count;
    const char *names[SPY_VK_MAX_FEATURES]; // valid until the process ends
} spy_vk_features;

// Enables the features of spy_vk_required_features() in an engine's own feature structs. `features` is the
// VkPhysicalDeviceFeatures2, with its pNext chain, that goes into VkDeviceCreateInfo.pNext. Each feature is
// set in the struct of the chain that has it: VkPhysicalDeviceVulkan11Features and its successors, or the
// struct of a single extension. An optional feature that no struct of the chain has stays off. `supported` is
// the chain that vkGetPhysicalDeviceFeatures2 filled: optional features that are on there are enabled too;
// NULL if there is none. Features that the engine has enabled itself stay on. `enabled` is filled with the
// optional features that are on now; it may be NULL.
// SPY_ERROR_UNSUPPORTED: the device lacks a required feature. SPY_ERROR_INVALID_ARGUMENT: no struct of a
// chain has a required feature. Errors go to spy_take_error(NULL) and leave the chain unchanged. Threads:
// any.
//     spy_vk_features on;
//     vkGetPhysicalDeviceFeatures2(adapter, &have);  // have and want are chains of the same structs
//     spy_vk_fill_features(&want, &have, &on);       // device_info.pNext = &want
//     desc.enabled_features = on.names, desc.enabled_feature_count = on.count;
SPY_API spy_status spy_vk_fill_features(void *features, const void *supported, spy_vk_features *enabled);

// >>recordings: calls that go into an engine's command buffers

// The id of one recording of a device; 0 if there is none.
typedef uint64_t spy_vk_recording_id;

// Records all further calls and uploads into a VkCommandBuffer of the engine instead of one of the library.
// The command buffer must have been begun and be outside a render pass, as it is again after each call.
// Returns the recording's id; 0 on error: command_buffer is NULL, or another recording has not ended. The
// library first submits the work that it has recorded so far. A command buffer may be recorded into several times, which gives several ids.
// The engine submits its command buffers to the device's queue, in the order of their recordings and before
// it makes calls outside a recording that depend on them. The engine is responsible for barriers between its
// own commands and those of the library. Until the recording is reported as finished, the memory that it uses
// is kept (parameters, uploaded data, temporaries and the memory of released tensors), calls in it must not
// have results in host memory, and reading a tensor that it writes is SPY_ERROR_NOT_READY. Threads: any.
SPY_API spy_vk_recording_id spy_vk_begin_recording(spy_device *device, void *command_buffer);
// Ends the recording: further calls go into command buffers of the library. SPY_ERROR_INVALID_ARGUMENT when
// no recording has begun. Threads: any.
SPY_API spy_status spy_vk_end_recording(spy_device *device);
// Reports that the command buffer has been executed (its fence has been signalled), or was discarded and
// never will be. The library frees the memory that only this recording used, and its results can be read.
// Report each id once, in the order of the recordings. SPY_ERROR_INVALID_ARGUMENT for an id that was reported
// before, whose recording has not ended, that is out of order, or that is not from this device. Never waits.
// spy_get_device_stats() counts the recordings that have not been reported and the memory that is kept for
// them. Threads: any.
SPY_API spy_status spy_vk_recording_finished(spy_device *device, spy_vk_recording_id id);

// Sets *command_buffer to the VkCommandBuffer that the library records into now, for commands of the caller's own
// between its work. It has been begun, is outside a render pass, and is valid until the next call with this
// device. The caller is responsible for barriers: spy_list_barrier(), in lists that are submitted before and
// after, orders the library's work and the caller's. Threads: any.
SPY_API spy_status spy_vk_get_command_buffer(spy_device *device, void **command_buffer);

// Make the device's next submission wait for, or signal, this VkSemaphore. `value` is the value of a timeline
// semaphore; 0 for a binary semaphore. Threads: any.
SPY_API spy_status spy_vk_wait_semaphore(spy_device *device, uint64_t semaphore, uint64_t value);
SPY_API spy_status spy_vk_signal_semaphore(spy_device *device, uint64_t semaphore, uint64_t value);

// Creates a tensor over `size_bytes` bytes of an engine's VkBuffer from `offset_bytes` on. The buffer needs
// the usages storage buffer, shader device address, transfer source and transfer destination; for group
// counts also indirect buffer, and for Buffer<T> and RWBuffer<T> also uniform and storage texel buffer.
// desc->data must be NULL. The buffer must outlive the tensor and all calls with it. The caller releases the
// tensor. Returns NULL on failure. Threads: any.
SPY_API spy_tensor *spy_vk_create_tensor(spy_device *device, uint64_t buffer, uint64_t offset_bytes,
                                         uint64_t size_bytes, const spy_tensor_desc *desc);
// Sets *buffer to the VkBuffer of a tensor and *offset_bytes to the position of its first element. Threads:
// any.
SPY_API spy_status spy_vk_get_tensor_buffer(spy_tensor *tensor, uint64_t *buffer, uint64_t *offset_bytes);

// What a device can share with another API of the same GPU, such as CUDA, by POSIX file descriptors.
typedef struct spy_vk_sharing {
    uint8_t device_uuid[16]; // of the GPU: compare it with cuDeviceGetUuid()
    bool memory;             // whether spy_vk_create_shared_memory() works
    bool semaphores;         // whether spy_vk_create_shared_semaphore() works
} spy_vk_sharing;

// Memory of a VkBuffer that another API can use, too.
typedef struct spy_vk_shared_memory {
    uint64_t buffer;          // VkBuffer with all usages that spy_vk_create_tensor() lists
    uint64_t memory;          // VkDeviceMemory, allocated for this buffer alone ("dedicated")
    uint64_t size_bytes;      // what was asked for, rounded up to a multiple of 256
    uint64_t allocated_bytes; // size of the VkDeviceMemory, which an import states
    int fd;                   // opaque file descriptor, which belongs to the caller; an import takes it over
} spy_vk_shared_memory;

// Returns what the device can share. All zero, with an error, for NULL and devices of other backends.
// Threads: any.
SPY_API spy_vk_sharing spy_vk_get_sharing(spy_device *device);
// Allocates device memory with a file descriptor. spy_vk_create_tensor() makes tensors over it. The other API
// and the device each see what the other one has written after waiting for a semaphore that it signals.
// SPY_ERROR_UNSUPPORTED where spy_vk_get_sharing() says so; SPY_ERROR_OUT_OF_DEVICE_MEMORY. Threads: any.
SPY_API spy_status spy_vk_create_shared_memory(spy_device *device, uint64_t size_bytes,
                                               spy_vk_shared_memory *shared);
// Frees the buffer and the memory, not the file descriptor, and sets the struct to zero and its fd to -1. All
// tensors over it must have been released and all work with it must be done. Release it before the device.
// Threads: any.
SPY_API spy_status spy_vk_release_shared_memory(spy_device *device, spy_vk_shared_memory *shared);
// Creates a timeline semaphore of value 0, for spy_vk_wait_semaphore() and spy_vk_signal_semaphore(). Sets
// *semaphore to its VkSemaphore and *fd to its opaque file descriptor, which belongs to the caller; an import
// takes it over. SPY_ERROR_UNSUPPORTED where spy_vk_get_sharing() says so. Threads: any.
SPY_API spy_status spy_vk_create_shared_semaphore(spy_device *device, uint64_t *semaphore, int *fd);
// Destroys the semaphore, before the device. No submission may still wait for it or signal it. Threads: any.
SPY_API spy_status spy_vk_release_shared_semaphore(spy_device *device, uint64_t semaphore);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_VK_H
