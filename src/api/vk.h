// The Vulkan backend: its entry, and how an engine brings its own Vulkan objects. No Vulkan header is needed:
// dispatchable handles are void *, VkBuffer and VkSemaphore are uint64_t, cast by the caller.
#ifndef SPY_API_VK_H
#define SPY_API_VK_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// The backend for spy_device_desc.backend. Vulkan 1.2 with timeline semaphores, buffer device addresses,
// scalar block layout, 64-bit integers, and best with push descriptors: Mesa's lavapipe of Debian 12 and
// every current driver of a GPU have them.
SPY_API const spy_backend *spy_vk_backend(void);

// PFN_vkVoidFunction and PFN_vkGetInstanceProcAddr.
typedef void (*spy_vk_void_func)(void);
typedef spy_vk_void_func (*spy_vk_get_instance_proc_addr_func)(void *instance, const char *name);

// For spy_device_desc.backend_desc. All zero: the library loads Vulkan and makes instance and device. With
// `device`, all of instance, physical_device, queue and queue_family are needed; they must outlive the
// spy_device, and the device must have what spy_vk_required_features() asks for.
typedef struct spy_vk_desc {
    spy_vk_get_instance_proc_addr_func get_instance_proc_addr; // NULL: from the Vulkan loader
    void *instance;                     // VkInstance
    void *physical_device;              // VkPhysicalDevice
    void *device;                       // VkDevice
    void *queue;                        // VkQueue with compute
    uint32_t queue_family;
    uint32_t api_version;               // that the instance was made with; 0: VK_API_VERSION_1_3
    void (*lock_queue)(void *user_data);   // called round every use of the queue; NULL: the queue is ours alone
    void (*unlock_queue)(void *user_data);
    void *lock_user_data;
    const char *const *enabled_features;   // those of spy_vk_required_features().optional_features that `device` was
    uint32_t enabled_feature_count;        // created with; others count as missing: Vulkan does not tell
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_vk_desc;

// What an engine's VkDevice must be created with. Valid for the life of the process.
typedef struct spy_vk_requirements {
    uint32_t api_version;               // least VkApplicationInfo.apiVersion and device version
    const char *const *extensions;      // device extensions that must be enabled
    uint32_t extension_count;
    const char *const *features;        // members of VkPhysicalDevice*Features that must be VK_TRUE
    uint32_t feature_count;
    const char *const *optional_features;   // further ones that kernels use when present (16-bit types, atomics ...)
    uint32_t optional_feature_count;
    const char *const *optional_extensions; // extensions that the optional features belong to
    uint32_t optional_extension_count;
} spy_vk_requirements;

// What an engine's VkDevice needs. Threads: any.
SPY_API spy_vk_requirements spy_vk_required_features(void);

// Names that spy_vk_features holds at most.
#define SPY_VK_MAX_FEATURES 64

// The optional features that an engine's device has on, for spy_vk_desc.enabled_features.
typedef struct spy_vk_features {
    uint32_t count;
    const char *names[SPY_VK_MAX_FEATURES]; // valid for the life of the process
} spy_vk_features;

// Turn on what spy_vk_required_features() lists in an engine's own feature structs. `features`: the VkPhysicalDeviceFeatures2 with
// its pNext chain that goes into VkDeviceCreateInfo.pNext. Each feature is looked for in VkPhysicalDeviceVulkan11Features and
// its successors and in the structs of single extensions, whichever the chain has; an optional one in none of them stays off.
// `supported`: the chain that vkGetPhysicalDeviceFeatures2 filled. Optional features that it has are turned on too; NULL: none.
// What the engine has turned on itself stays on. `enabled`: filled with the optional features that are on now; may be NULL.
// SPY_ERROR_UNSUPPORTED: the device lacks a required feature. SPY_ERROR_INVALID_ARGUMENT: a chain has no struct with a required
// one. Errors go to spy_take_error(NULL) and leave the chain as it was. Threads: any.
//     spy_vk_features on;
//     vkGetPhysicalDeviceFeatures2(adapter, &have);             // have and want are chains of the same structs
//     spy_vk_fill_features(&want, &have, &on);                  // device_info.pNext = &want
//     desc.enabled_features = on.names, desc.enabled_feature_count = on.count;
SPY_API spy_status spy_vk_fill_features(void *features, const void *supported, spy_vk_features *enabled);

// >>recordings: calls that go into an engine's command buffers

// Names one recording of a device; 0: none.
typedef uint64_t spy_vk_recording_id;

// Record all calls from now on, uploads too, into a VkCommandBuffer of the engine (begun, outside a render pass) instead
// of our own. Gives the recording's id; 0 on error: command_buffer is NULL, or a recording has not ended. Our own work so
// far is submitted first. A command buffer may be recorded into several times, which gives several ids.
// The engine submits its command buffers to the device's queue, in the order of their recordings and before it makes
// calls outside a recording that depend on them. Barriers between the engine's own commands and ours are the engine's.
// Until the recording is reported as finished, what it uses stays as it is (parameters, uploaded data, temporaries and
// the memory of released tensors), calls in it must not have results in host memory, and reading what it writes is
// SPY_ERROR_NOT_READY. Threads: any.
SPY_API spy_vk_recording_id spy_vk_begin_recording(spy_device *device, void *command_buffer);
// Calls go into command buffers of our own again. SPY_ERROR_INVALID_ARGUMENT: no recording has begun.
SPY_API spy_status spy_vk_end_recording(spy_device *device);
// The command buffer has been executed (its fence has been signalled), or was thrown away and never will be: what only
// this recording used is free, and its results can be read. Each id is reported once, in the order of the recordings;
// SPY_ERROR_INVALID_ARGUMENT for an id that was reported before, whose recording has not ended, that comes before its
// turn, or that this device has not given. Never waits. Threads: any.
// spy_get_device_stats() counts the recordings that have not been reported, and the memory that waits for them.
SPY_API spy_status spy_vk_recording_finished(spy_device *device, spy_vk_recording_id id);

// Our next submission waits for / signals this semaphore. `value` for timeline semaphores, 0 for binary ones.
SPY_API spy_status spy_vk_wait_semaphore(spy_device *device, uint64_t semaphore, uint64_t value);
SPY_API spy_status spy_vk_signal_semaphore(spy_device *device, uint64_t semaphore, uint64_t value);

// A tensor over an engine's VkBuffer from `offset_bytes` on (usage: storage buffer, shader device address,
// transfer source and destination; indirect buffer for group counts, uniform and storage texel buffer for
// Buffer<T> and RWBuffer<T>). desc->data must be NULL. The buffer
// must outlive the tensor and all calls with it.
SPY_API spy_tensor *spy_vk_create_tensor(spy_device *device, uint64_t buffer, uint64_t offset_bytes,
                                         uint64_t size_bytes, const spy_tensor_desc *desc);
// The VkBuffer and the byte offset of a tensor's first element.
SPY_API spy_status spy_vk_get_tensor_buffer(spy_tensor *tensor, uint64_t *buffer, uint64_t *offset_bytes);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_VK_H
