// slangpy_vk.h: the Vulkan backend of slangpy.h.
// Generated from src/ by tools/amalgamate; do not edit. Every `>>` line names the file that follows.
// MIT license; its text is at the end of this file.

#include "slangpy.h"

#if SPY_VERSION != 100
#error "slangpy_vk.h is of release 0.1.0 and slangpy.h of another one: copy both from the same release"
#endif

#ifndef SLANGPY_VK_H
#define SLANGPY_VK_H

// >>api/vk.h ------------------------------------------------------------------------------------------------

// The Vulkan backend, and functions for engines that bring their own Vulkan objects. No Vulkan header is
// needed: the caller casts dispatchable handles to void *, and VkBuffer and VkSemaphore to uint64_t.

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

#endif // SLANGPY_VK_H

#if defined(SLANGPY_IMPLEMENTATION) && !defined(SLANGPY_VK_IMPLEMENTED)
#define SLANGPY_VK_IMPLEMENTED

#ifndef SPYI_SINGLE_HEADER
#error "the implementation of slangpy_vk.h uses that of slangpy.h, which was not compiled in this file: define SLANGPY_IMPLEMENTATION before the first include of either"
#endif

// >>vk/functions.h ------------------------------------------------------------------------------------------

// The list of Vulkan functions that the backend calls, and the headers that declare their types. The backend
// gets their addresses at run time and keeps them in members of its own structs, so that no symbol clashes
// with the program's libvulkan or volk. A function that the backend calls must have a line here.

// Vulkan headers from 1.3.204 on will do, with or without VK_NO_PROTOTYPES, also if the program or its volk.h
// has included them before, because only their types and constants are used.
#ifndef VULKAN_CORE_H_
#ifdef __has_include
#if !__has_include(<vulkan/vulkan.h>)
#error "slangpy_vk.h needs vulkan/vulkan.h on the include path (Debian: apt install libvulkan-dev)"
#endif
#endif
#include <vulkan/vulkan.h>
#endif

#ifndef VK_API_VERSION_1_3
#error "slangpy_vk.h needs Vulkan headers of version 1.3.204 or later, but found older ones"
#endif

// The functions of the instance, which come from vkGetInstanceProcAddr. spyi_vk_instance has a member for
// each, named without "vk". An instance that lacks one is refused.
#define SPYI_VK_INSTANCE_FUNCTIONS(X)                                                                        \
    X(DestroyInstance)                                                                                       \
    X(EnumeratePhysicalDevices)                                                                              \
    X(EnumerateDeviceExtensionProperties)                                                                    \
    X(GetPhysicalDeviceProperties)                                                                           \
    X(GetPhysicalDeviceProperties2)                                                                          \
    X(GetPhysicalDeviceFeatures2)                                                                            \
    X(GetPhysicalDeviceExternalBufferProperties)                                                             \
    X(GetPhysicalDeviceExternalSemaphoreProperties)                                                          \
    X(GetPhysicalDeviceFormatProperties)                                                                     \
    X(GetPhysicalDeviceImageFormatProperties)                                                                \
    X(GetPhysicalDeviceMemoryProperties)                                                                     \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                \
    X(CreateDevice)                                                                                          \
    X(GetDeviceProcAddr)

// The functions of the device, which come from vkGetDeviceProcAddr. Vulkan 1.2 has all of them; a device that
// lacks one is refused.
#define SPYI_VK_DEVICE_FUNCTIONS(X)                                                                          \
    X(vkAllocateCommandBuffers)                                                                              \
    X(vkAllocateDescriptorSets)                                                                              \
    X(vkAllocateMemory)                                                                                      \
    X(vkBeginCommandBuffer)                                                                                  \
    X(vkBindBufferMemory)                                                                                    \
    X(vkBindImageMemory)                                                                                     \
    X(vkCmdBeginRenderPass)                                                                                  \
    X(vkCmdBindDescriptorSets)                                                                               \
    X(vkCmdBindIndexBuffer)                                                                                  \
    X(vkCmdBindPipeline)                                                                                     \
    X(vkCmdBindVertexBuffers)                                                                                \
    X(vkCmdBlitImage)                                                                                        \
    X(vkCmdClearColorImage)                                                                                  \
    X(vkCmdClearDepthStencilImage)                                                                           \
    X(vkCmdCopyBuffer)                                                                                       \
    X(vkCmdCopyBufferToImage)                                                                                \
    X(vkCmdCopyImage)                                                                                        \
    X(vkCmdCopyImageToBuffer)                                                                                \
    X(vkCmdCopyQueryPoolResults)                                                                             \
    X(vkCmdDispatch)                                                                                         \
    X(vkCmdDispatchIndirect)                                                                                 \
    X(vkCmdDraw)                                                                                             \
    X(vkCmdDrawIndexed)                                                                                      \
    X(vkCmdDrawIndexedIndirect)                                                                              \
    X(vkCmdDrawIndirect)                                                                                     \
    X(vkCmdEndRenderPass)                                                                                    \
    X(vkCmdFillBuffer)                                                                                       \
    X(vkCmdPipelineBarrier)                                                                                  \
    X(vkCmdPushConstants)                                                                                    \
    X(vkCmdResetQueryPool)                                                                                   \
    X(vkCmdResolveImage)                                                                                     \
    X(vkCmdSetBlendConstants)                                                                                \
    X(vkCmdSetScissor)                                                                                       \
    X(vkCmdSetStencilReference)                                                                              \
    X(vkCmdSetViewport)                                                                                      \
    X(vkCmdWriteTimestamp)                                                                                   \
    X(vkCreateBuffer)                                                                                        \
    X(vkCreateBufferView)                                                                                    \
    X(vkCreateCommandPool)                                                                                   \
    X(vkCreateComputePipelines)                                                                              \
    X(vkCreateDescriptorPool)                                                                                \
    X(vkCreateDescriptorSetLayout)                                                                           \
    X(vkCreateFramebuffer)                                                                                   \
    X(vkCreateGraphicsPipelines)                                                                             \
    X(vkCreateImage)                                                                                         \
    X(vkCreateImageView)                                                                                     \
    X(vkCreatePipelineCache)                                                                                 \
    X(vkGetPipelineCacheData)                                                                                \
    X(vkCreatePipelineLayout)                                                                                \
    X(vkCreateQueryPool)                                                                                     \
    X(vkCreateRenderPass)                                                                                    \
    X(vkCreateSampler)                                                                                       \
    X(vkCreateSemaphore)                                                                                     \
    X(vkCreateShaderModule)                                                                                  \
    X(vkDestroyBuffer)                                                                                       \
    X(vkDestroyBufferView)                                                                                   \
    X(vkDestroyCommandPool)                                                                                  \
    X(vkDestroyDescriptorPool)                                                                               \
    X(vkDestroyDescriptorSetLayout)                                                                          \
    X(vkDestroyDevice)                                                                                       \
    X(vkDestroyFramebuffer)                                                                                  \
    X(vkDestroyImage)                                                                                        \
    X(vkDestroyImageView)                                                                                    \
    X(vkDestroyPipeline)                                                                                     \
    X(vkDestroyPipelineCache)                                                                                \
    X(vkDestroyPipelineLayout)                                                                               \
    X(vkDestroyQueryPool)                                                                                    \
    X(vkDestroyRenderPass)                                                                                   \
    X(vkDestroySampler)                                                                                      \
    X(vkDestroySemaphore)                                                                                    \
    X(vkDestroyShaderModule)                                                                                 \
    X(vkEndCommandBuffer)                                                                                    \
    X(vkFreeMemory)                                                                                          \
    X(vkGetBufferDeviceAddress)                                                                              \
    X(vkGetBufferMemoryRequirements)                                                                         \
    X(vkGetDeviceQueue)                                                                                      \
    X(vkGetImageMemoryRequirements)                                                                          \
    X(vkGetQueryPoolResults)                                                                                 \
    X(vkGetSemaphoreCounterValue)                                                                            \
    X(vkMapMemory)                                                                                           \
    X(vkQueueSubmit)                                                                                         \
    X(vkQueueWaitIdle)                                                                                       \
    X(vkResetCommandPool)                                                                                    \
    X(vkSignalSemaphore)                                                                                     \
    X(vkUpdateDescriptorSets)                                                                                \
    X(vkWaitSemaphores)

// The functions of device extensions and of Vulkan 1.3. Their member is NULL where the driver does not have
// them.
#define SPYI_VK_OPTIONAL_DEVICE_FUNCTIONS(X)                                                                 \
    X(vkCmdBeginRendering)                                                                                   \
    X(vkCmdEndRendering)                                                                                     \
    X(vkCmdPushDescriptorSetKHR)                                                                             \
    X(vkGetMemoryFdKHR)                                                                                      \
    X(vkGetSemaphoreFdKHR)

// A function by name. A loop over a table makes less code than a call for each function.
typedef struct spyi_vk_function {
    const char *name;
    size_t offset; // the offset of the function's member in its struct
} spyi_vk_function;

typedef struct spyi_vk_functions {
#define SPYI_VK_MEMBER(name) PFN_##name name;
    SPYI_VK_DEVICE_FUNCTIONS(SPYI_VK_MEMBER)
    SPYI_VK_OPTIONAL_DEVICE_FUNCTIONS(SPYI_VK_MEMBER)
#undef SPYI_VK_MEMBER
} spyi_vk_functions;

// >>vk/internal.h -------------------------------------------------------------------------------------------

// The types of the Vulkan backend and the functions that its files share. instance.c finds an adapter,
// device.c makes the device, memory.c and kernel.c make its objects, record.c records work, raster.c and
// raster_work.c make pipelines and passes of draws, submit.c submits work and waits, transfer.c copies to and from
// host memory, engine.c records into an engine's command buffers.

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_vk.h needs a 64-bit target: Vulkan's handles are pointers there"
#endif

// Sets a variable to zero, because C++ refuses `= { 0 }` where the first member is an enum.
#define SPYI_VK_ZERO(x) memset(&(x), 0, sizeof(x))

// A batch is the work of one submission, in one command buffer.
// The most batches in flight; a further one waits for the oldest. From SPYI_VK_BATCHES_SMALL on it also waits while those
// in flight hold SPYI_VK_BATCHES_BYTES of blocks and small uploads.
#define SPYI_VK_BATCHES 64u
#define SPYI_VK_BATCHES_SMALL 16u
#define SPYI_VK_BATCHES_BYTES ((size_t)128 << 20)
#define SPYI_VK_BATCH_WORK 512u // the number of recorded operations at which a batch is submitted
// The bytes of blocks and small uploads at which a batch is submitted.
#define SPYI_VK_BATCH_BYTES (8u << 20)
// A submission because the queue is idle (8-10 us each on an H200) is followed by a pause of SHARE times its
// duration, at least MIN_NS and at most MAX_NS long.
#define SPYI_VK_IDLE_SHARE 32u
#define SPYI_VK_IDLE_MIN_NS 40000u
#define SPYI_VK_IDLE_MAX_NS 300000u
#define SPYI_VK_POLL_NS 10000u // the time between two checks whether the queue is idle
// The time that a wait spins before it blocks, which takes 15 us instead of 23.
#define SPYI_VK_SPIN_NS 50000u
#define SPYI_VK_PAGE_SIZE ((size_t)256 << 10) // the bytes of a page, for parameter blocks and small uploads
#define SPYI_VK_PAGES_KEPT ((size_t)64 << 20) // the bytes of free pages that are kept for later batches
// Uploads up to this size go through a page, larger ones through staging.
#define SPYI_VK_SMALL_UPLOAD 65536u
#define SPYI_VK_STAGING_SIZE ((size_t)16 << 20) // the most bytes of a staging buffer
#define SPYI_VK_STAGING_COUNT 4u // half of the staging buffers are the GPU's, half the copy team's
#define SPYI_VK_MAX_BINDINGS 32u // every driver's maxPushDescriptors is at least 32
// After this number of blocks that differed from the one before, the blocks of the bound kernel are not compared.
#define SPYI_VK_MOST_CHANGES 8u
#define SPYI_VK_MAX_PUSHED 256u // blocks up to this size are compared with the last one
#define SPYI_VK_RECENT 8u       // the number of kernels of a batch that are named when the device is lost
#define SPYI_VK_LABELS 8u       // the number of open debug labels that are shown; deeper ones are left out
#define SPYI_VK_WRITTEN 32u // the number of targets after which a pass waits for earlier passes in any case
#define SPYI_VK_SEMAPHORES 16u // the most semaphores of an engine in one submission

// >>features
// The list of required features, as X(struct, member), where the struct is a member of spyi_vk_feature_set.
// There is no other list.
#define SPYI_VK_REQUIRED_FEATURES(X)                                                                         \
    X(core.features, shaderInt64)                                                                            \
    X(v12, timelineSemaphore)                                                                                \
    X(v12, bufferDeviceAddress)                                                                              \
    X(v12, scalarBlockLayout)

#define SPYI_VK_OPTIONAL_FEATURES(X)                                                                         \
    X(core.features, shaderInt16)                                                                            \
    X(core.features, shaderFloat64)                                                                          \
    X(core.features, vertexPipelineStoresAndAtomics)                                                         \
    X(core.features, fragmentStoresAndAtomics)                                                               \
    X(core.features, shaderStorageImageExtendedFormats)                                                      \
    X(core.features, shaderStorageImageReadWithoutFormat)                                                    \
    X(core.features, shaderStorageImageWriteWithoutFormat)                                                   \
    X(core.features, shaderSampledImageArrayDynamicIndexing)                                                 \
    X(core.features, shaderStorageImageArrayDynamicIndexing)                                                 \
    X(core.features, shaderImageGatherExtended)                                                              \
    X(core.features, shaderResourceMinLod)                                                                   \
    X(core.features, imageCubeArray)                                                                         \
    X(core.features, samplerAnisotropy)                                                                      \
    X(core.features, textureCompressionBC)                                                                   \
    X(core.features, textureCompressionASTC_LDR)                                                             \
    X(core.features, shaderStorageBufferArrayDynamicIndexing)                                                \
    X(core.features, independentBlend)                                                                       \
    X(core.features, geometryShader)                                                                         \
    X(core.features, sampleRateShading)                                                                      \
    X(core.features, dualSrcBlend)                                                                           \
    X(core.features, multiDrawIndirect)                                                                      \
    X(core.features, drawIndirectFirstInstance)                                                              \
    X(core.features, depthClamp)                                                                             \
    X(core.features, depthBiasClamp)                                                                         \
    X(core.features, fillModeNonSolid)                                                                       \
    X(core.features, fullDrawIndexUint32)                                                                    \
    X(core.features, shaderClipDistance)                                                                     \
    X(core.features, shaderCullDistance)                                                                     \
    X(v11, storageBuffer16BitAccess)                                                                         \
    X(v11, uniformAndStorageBuffer16BitAccess)                                                               \
    X(v11, storagePushConstant16)                                                                            \
    X(v11, variablePointersStorageBuffer)                                                                    \
    X(v11, variablePointers)                                                                                 \
    X(v11, shaderDrawParameters)                                                                             \
    X(v12, storageBuffer8BitAccess)                                                                          \
    X(v12, uniformAndStorageBuffer8BitAccess)                                                                \
    X(v12, storagePushConstant8)                                                                             \
    X(v12, shaderFloat16)                                                                                    \
    X(v12, shaderInt8)                                                                                       \
    X(v12, shaderBufferInt64Atomics)                                                                         \
    X(v12, shaderSharedInt64Atomics)                                                                         \
    X(v12, samplerMirrorClampToEdge)                                                                         \
    X(v12, samplerFilterMinmax)                                                                              \
    X(v12, shaderSubgroupExtendedTypes)                                                                      \
    X(v12, shaderOutputLayer)                                                                                \
    X(v12, shaderOutputViewportIndex)                                                                        \
    X(v12, vulkanMemoryModel)                                                                                \
    X(v12, vulkanMemoryModelDeviceScope)                                                                     \
    X(v12, shaderUniformTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageBufferArrayNonUniformIndexing)                                                       \
    X(v12, shaderUniformTexelBufferArrayNonUniformIndexing)                                                  \
    X(v12, shaderStorageTexelBufferArrayNonUniformIndexing)                                                  \
    X(v12, shaderSampledImageArrayNonUniformIndexing)                                                        \
    X(v12, shaderStorageImageArrayNonUniformIndexing)                                                        \
    X(v12, descriptorBindingSampledImageUpdateAfterBind)                                                     \
    X(v12, descriptorBindingStorageImageUpdateAfterBind)                                                     \
    X(v12, descriptorBindingStorageBufferUpdateAfterBind)                                                    \
    X(v12, descriptorBindingUpdateUnusedWhilePending)                                                        \
    X(v12, descriptorBindingPartiallyBound)                                                                  \
    X(v12, runtimeDescriptorArray)                                                                           \
    X(v13, subgroupSizeControl)                                                                              \
    X(v13, computeFullSubgroups)                                                                             \
    X(v13, maintenance4)                                                                                     \
    X(v13, shaderIntegerDotProduct)                                                                          \
    X(v13, shaderDemoteToHelperInvocation)                                                                   \
    X(v13, dynamicRendering)                                                                                 \
    X(atomic_float, shaderBufferFloat32Atomics)                                                              \
    X(atomic_float, shaderBufferFloat32AtomicAdd)                                                            \
    X(atomic_float, shaderBufferFloat64Atomics)                                                              \
    X(atomic_float, shaderBufferFloat64AtomicAdd)                                                            \
    X(atomic_float, shaderSharedFloat32Atomics)                                                              \
    X(atomic_float, shaderSharedFloat32AtomicAdd)                                                            \
    X(atomic_float, shaderSharedFloat64Atomics)                                                              \
    X(atomic_float, shaderSharedFloat64AtomicAdd)                                                            \
    X(atomic_float2, shaderBufferFloat16Atomics)                                                             \
    X(atomic_float2, shaderBufferFloat16AtomicAdd)                                                           \
    X(atomic_float2, shaderBufferFloat16AtomicMinMax)                                                        \
    X(atomic_float2, shaderBufferFloat32AtomicMinMax)                                                        \
    X(atomic_float2, shaderBufferFloat64AtomicMinMax)                                                        \
    X(atomic_float2, shaderSharedFloat32AtomicMinMax)                                                        \
    X(clock, shaderSubgroupClock)                                                                            \
    X(clock, shaderDeviceClock)                                                                              \
    X(barycentric, fragmentShaderBarycentric)                                                                \
    X(divisor, vertexAttributeInstanceRateDivisor)                                                           \
    X(matrices, cooperativeMatrix)                                                                           \
    X(matrices2, cooperativeMatrixConversions)

#define SPYI_VK_OPTIONAL_EXTENSIONS(X)                                                                       \
    X(VK_KHR_push_descriptor)                                                                                \
    X(VK_EXT_shader_atomic_float)                                                                            \
    X(VK_EXT_shader_atomic_float2)                                                                           \
    X(VK_KHR_shader_clock)                                                                                   \
    X(VK_KHR_fragment_shader_barycentric)                                                                    \
    X(VK_EXT_vertex_attribute_divisor)                                                                       \
    X(VK_KHR_external_memory_fd)                                                                             \
    X(VK_KHR_external_semaphore_fd)                                                                          \
    X(VK_KHR_cooperative_matrix)                                                                             \
    X(VK_NV_cooperative_matrix2)

typedef enum spyi_vk_feature {
#define SPYI_VK_FEATURE_ENUM(where, name) SPYI_VK_FEATURE_##name,
    SPYI_VK_REQUIRED_FEATURES(SPYI_VK_FEATURE_ENUM) SPYI_VK_FEATURE_REQUIRED, // the number of required
                                                                              // features
    SPYI_VK_FEATURE_BEFORE_OPTIONAL = SPYI_VK_FEATURE_REQUIRED - 1,
    SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_FEATURE_ENUM)
#undef SPYI_VK_FEATURE_ENUM
        SPYI_VK_FEATURE_COUNT
} spyi_vk_feature;

typedef char spyi_vk_features_fit[SPYI_VK_FEATURE_COUNT <= SPY_VK_MAX_FEATURES ? 1 : -1];

// The names are macros of vulkan_core.h with the value 1: use them with # and ## only.
typedef enum spyi_vk_extension {
#define SPYI_VK_EXTENSION_ENUM(name) SPYI_##name,
    SPYI_VK_OPTIONAL_EXTENSIONS(SPYI_VK_EXTENSION_ENUM)
#undef SPYI_VK_EXTENSION_ENUM
        SPYI_VK_EXTENSION_COUNT
} spyi_vk_extension;

// VK_KHR_cooperative_matrix, for headers that are older than 1.3.255. Source: the Vulkan specification.
#define SPYI_VK_FEATURES_MATRIX ((VkStructureType)1000506000)
#define SPYI_VK_PROPERTIES_MATRIX ((VkStructureType)1000506001)
enum { SPYI_VK_MATRIX_FLOAT16 = 0, SPYI_VK_MATRIX_FLOAT32 = 1, SPYI_VK_MATRIX_SUBGROUP = 3 };

typedef struct spyi_vk_matrix_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix;
    VkBool32 cooperativeMatrixRobustBufferAccess;
} spyi_vk_matrix_features;

// VK_NV_cooperative_matrix2, likewise.
#define SPYI_VK_FEATURES_MATRIX_2 ((VkStructureType)1000593000)

typedef struct spyi_vk_matrix_2_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrixWorkgroupScope;
    VkBool32 cooperativeMatrixFlexibleDimensions;
    VkBool32 cooperativeMatrixReductions;
    VkBool32 cooperativeMatrixConversions;
    VkBool32 cooperativeMatrixPerElementOperations;
    VkBool32 cooperativeMatrixTensorAddressing;
    VkBool32 cooperativeMatrixBlockLoads;
} spyi_vk_matrix_2_features;

// A VkCooperativeMatrixPropertiesKHR. The types are VkComponentTypeKHR, the scope is a VkScopeKHR.
typedef struct spyi_vk_matrix_properties {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturating;
    int32_t scope;
} spyi_vk_matrix_properties;

typedef VkResult(VKAPI_PTR *spyi_vk_get_matrix_properties)(VkPhysicalDevice adapter, uint32_t *count,
                                                           spyi_vk_matrix_properties *properties);

// A chain of feature structs for vkGetPhysicalDeviceFeatures2 and vkCreateDevice.
typedef struct spyi_vk_feature_set {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT atomic_float2;
    VkPhysicalDeviceShaderClockFeaturesKHR clock;
    VkPhysicalDeviceFragmentShaderBarycentricFeaturesNV barycentric; // the same struct as the newer ...KHR
    VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
    spyi_vk_matrix_features matrices;
    spyi_vk_matrix_2_features matrices2;
} spyi_vk_feature_set;

// One struct of a spyi_vk_feature_set, which an engine's chain may also contain.
typedef struct spyi_vk_feature_struct {
    VkStructureType type;
    const char *name;
    size_t offset, size; // both count bytes; the offset is in a spyi_vk_feature_set
    uint32_t version;    // the api_version that knows the struct
    uint32_t extension;  // the spyi_vk_extension that it belongs to; SPYI_VK_EXTENSION_COUNT means none
} spyi_vk_feature_struct;

// >>instance
typedef struct spyi_vk_instance {
    spyi_context *ctx;
    void *library; // the library of the loader; NULL means that the engine gave get_proc
    PFN_vkGetInstanceProcAddr get_proc;
    VkInstance handle;
    bool owned;           // the library made the instance
    uint32_t api_version; // the apiVersion with which the instance was made
#define SPYI_VK_INSTANCE_MEMBER(name) PFN_vk##name name;
    SPYI_VK_INSTANCE_FUNCTIONS(SPYI_VK_INSTANCE_MEMBER)
#undef SPYI_VK_INSTANCE_MEMBER
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    PFN_vkSetDebugUtilsObjectNameEXT set_name; // this function and the label functions are NULL without
                                               // VK_EXT_debug_utils
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    PFN_vkCmdInsertDebugUtilsLabelEXT insert_label;
    VkDebugUtilsMessengerEXT messenger;
    spyi_mutex message_lock;
    char message[512]; // the driver's last error or warning, for errors of results without a text
} spyi_vk_instance;

typedef struct spyi_vk_adapter {
    VkPhysicalDevice handle;
    uint32_t index;       // a number from 1 on, in the order of vkEnumeratePhysicalDevices
    uint32_t api_version; // the lower one of the device's and the instance's version
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t max_allocation; // the most bytes of an allocation
    uint32_t max_push_descriptors;
    uint32_t subgroup_operations; // the VkSubgroupFeatureFlags that compute kernels may use
    uint32_t queue_family;
    uint32_t lane_family;                  // the family of the queue for downloads, which may be queue_family
    uint32_t graphics_families;            // bit n says that queue family n can draw
    uint32_t timestamp_bits;               // 0 means that there are no timestamps
    bool features[SPYI_VK_FEATURE_COUNT];  // features that kernels may use, which the device has enabled
    bool supported[SPYI_VK_FEATURE_COUNT]; // features that the adapter has
    bool extensions[SPYI_VK_EXTENSION_COUNT];
    uint32_t handle_counts[SPYI_HANDLE_KINDS]; // the number of elements in the table of handles
    bool matrices; // cooperative matrices as SPY_FEATURE_COOPERATIVE_MATRIX says, if the feature is enabled
    bool float_controls[5]; // for 32-bit floats: keep denorms, flush them, signed zero inf nan, round to
                            // even, round to zero
    spy_device_info info;
    char refusal[256]; // the reason why the adapter cannot be used; "" means that it can
} spyi_vk_adapter;

// >>the device

// The memory of parameter blocks, uniform buffers and small uploads of one batch or recording.
typedef struct spyi_vk_page {
    struct spyi_vk_page *next;
    spyi_chunk chunk;    // is mapped
    size_t used;         // the number of bytes in use
    VkBufferView *views; // views that the same work uses, destroyed when it has ended
    uint32_t view_count, view_capacity;
} spyi_vk_page;

// An element that was given back, and the batch after which no work uses it.
typedef struct spyi_vk_free_handle {
    uint32_t number;
    uint64_t submit;
} spyi_vk_free_handle;

// The table of handles (handles.c), made when it is first needed.
typedef struct spyi_vk_handles {
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;              // VK_NULL_HANDLE means that the table has not been made
    uint32_t used[SPYI_HANDLE_KINDS]; // elements from this number on have never been taken
    spyi_vk_free_handle *free[SPYI_HANDLE_KINDS];
    uint32_t free_count[SPYI_HANDLE_KINDS], free_capacity[SPYI_HANDLE_KINDS];
} spyi_vk_handles;

// One slot: a command buffer, with the memory that must live until it has been executed. A batch uses the slot that was
// used last of those whose work has ended, because its memory is in the processor's caches; a new slot is made only
// when all are in flight.
typedef struct spyi_vk_batch {
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t number; // the number of the last batch that was recorded here; 0 means none
    size_t bytes;    // the bytes that this batch uses in pages, as soon as it has been submitted
    spyi_vk_page *pages;
    spyi_kernel *recent[SPYI_VK_RECENT]; // a ring of the batch's last kernels
    uint32_t recent_count;               // counts all kernels of the batch
} spyi_vk_batch;

// A buffer for large transfers.
typedef struct spyi_vk_staging {
    spyi_chunk chunk;   // size 0 means not allocated yet
    size_t used;        // the bytes in use, for uploads only
    uint64_t number;    // the number of the last batch (uploads) or lane submission (downloads) that uses the
                        // buffer
    VkCommandPool pool; // for downloads only
    VkCommandBuffer commands;
} spyi_vk_staging;

typedef struct spyi_vk_semaphores {
    uint32_t count;
    VkSemaphore handles[SPYI_VK_SEMAPHORES + 1]; // there is one more for the library's timeline
    uint64_t values[SPYI_VK_SEMAPHORES + 1];
} spyi_vk_semaphores;

// Neighbouring bindings of a kernel that one VkWriteDescriptorSet fills: structured buffers, or one array, or
// one typed buffer, texture or sampler.
typedef struct spyi_vk_run {
    uint32_t first, count;
    VkDescriptorType type;
    bool images;     // the bindings are textures or samplers
    VkFormat format; // the format of a typed buffer's elements; VK_FORMAT_UNDEFINED means that the buffers
                     // are not typed
} spyi_vk_run;

// The inputs of a pipeline layout. Unused parameters are zero, so that equal shapes have equal bytes.
typedef struct spyi_vk_shape {
    VkShaderStageFlags stages; // the stages that have the inputs: compute, or vertex and fragment
    uint32_t push_size; // the bytes of push constants, a multiple of 4: those of the block, or 8 for the
                        // block's address
    uint32_t handles;   // 1 if set SPYI_HANDLE_SET is the table of handles, otherwise 0
    uint32_t count;
    spyi_parameter parameters[SPYI_VK_MAX_BINDINGS]; // the parameters with bindings, and the uniform buffers
} spyi_vk_shape;

// A pipeline layout, which all kernels of equal shape share.
typedef struct spyi_vk_layout {
    struct spyi_vk_layout *next;
    spyi_vk_shape shape;
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
} spyi_vk_layout;

typedef struct spyi_vk_kernel {
    spyi_kernel_base base; // must come first
    size_t size;           // the bytes of the object, which is a spyi_vk_kernel or spyi_vk_raster
    VkPipeline pipeline;
    VkPipelineLayout layout;
    VkPipelineBindPoint bind_point;
    VkShaderStageFlags stages; // the stages that use the layout's inputs
    uint32_t push_size;        // the bytes of push constants
    uint32_t run_count;
    spyi_vk_run runs[SPYI_VK_MAX_BINDINGS];
    bool block_by_address; // the block lies in a page, and its address is pushed
    char label[64];        // the label for messages; a longer one is cut off
} spyi_vk_kernel;

// A pipeline of vertex and fragment shaders.
typedef struct spyi_vk_raster {
    spyi_vk_kernel kernel;                                   // must come first
    uint8_t target_formats[SPYI_MOST_TARGETS], depth_format; // each is a spy_format; NONE means that there is
                                                             // no such target
    uint8_t target_count, samples;
    bool blend_color, stencil_reference; // draws set these; otherwise the pipeline has no use for them
} spyi_vk_raster;

// The targets of a pass, and the state of the pass that is open.
typedef struct spyi_vk_pass {
    // The command buffer; NULL means that no pass is open. While one is open, spyi_vk_gpu.commands is NULL, so that
    // all other work takes the way through spyi_vk_begin(), which ends the pass.
    VkCommandBuffer commands;
    uint64_t views[SPYI_MOST_TARGETS], resolves[SPYI_MOST_TARGETS], depth;
    uint32_t target_count, width, height, layers;
    // The state that draws have set in the command buffer, where it stays from pass to pass. `bound` NULL
    // means that nothing is set. The blend colour and the stencil reference are those of `bound`.
    const spyi_vk_raster *bound;
    float viewport[6];
    int32_t scissor[4];
    float blend_color[4];
    uint32_t stencil_reference;
    spyi_draw_buffer buffers[SPYI_MOST_ATTRIBUTES]; // vertex buffers, of the last draw that had some
    spyi_draw_buffer indices;
    uint32_t buffer_count;
    bool short_indices;
    spyi_binding bindings[SPYI_VK_MAX_BINDINGS]; // the bindings that were pushed for `bound`
    bool pushed;                                 // `bindings` may be compared with those of a draw
} spyi_vk_pass;

// Passes of devices without dynamic rendering, and their targets (render_pass.c).
typedef struct spyi_vk_render_pass spyi_vk_render_pass;
typedef struct spyi_vk_framebuffer spyi_vk_framebuffer;

// One recording: the work between a spy_vk_begin_recording() and its end, in an engine's command buffer, with
// the memory that must live until the engine has reported it as executed. Its work has the batch numbers
// first to last, which no other work has.
typedef struct spyi_vk_recording {
    struct spyi_vk_recording *next; // the recording that was begun after it
    uint64_t serial;                // a number that counts from 1 and is part of the recording's id
    uint64_t first, last;           // last is 0 until the recording has ended
    bool used;                      // something was recorded into it
    spyi_vk_page *pages;
} spyi_vk_recording;

typedef struct spyi_vk_gpu {
    spyi_gpu_base base; // must come first
    spyi_vk_functions vk;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family, lane_family;
    bool owned; // the library made the device
    bool lost;

    // These members are for recording. base.open is the number of the open batch, which is being recorded.
    // Lower numbers are batches that were submitted, and recordings of an engine. The timeline semaphore
    // counts batches: it never gets a recording's number.
    VkCommandBuffer commands; // the command buffer to record into; NULL means that none has begun, or a pass
                              // is open
    spyi_vk_pass pass;        // the open pass of draws
    bool draws;               // something was drawn, so barriers wait for the stages of draws, too
    // Images that passes of batches have drawn into since the last barrier for targets.
    uint64_t written[SPYI_VK_WRITTEN];
    uint32_t written_count;
    bool own_draws;         // something was drawn in a batch, after which the queue's earlier work is ordered
                            // before draws
    bool dynamic_rendering; // the device has dynamic rendering; otherwise spyi_vk_render_pass is used
    spyi_vk_kernel *bound;  // the kernel whose pipeline is bound in `commands`
    // The push constants of `bound` in `commands`, of which there are pushed_size bytes; 0: not known.
    uint32_t pushed_size,
        pushed_changes; // pushed_changes: how often they have changed since the pipeline was bound
    uint8_t pushed[SPYI_VK_MAX_PUSHED];
    // `transferred`: transfers (copies, fills, clears) were recorded since the last barrier that waits for transfers.
    // `transfers_wait`: the last barrier was for kernels alone, so that the next transfer needs a barrier first.
    bool transferred, transfers_wait;
    uint64_t submitted;    // the number of the last batch that was submitted
    uint64_t finished;     // batches up to this number had finished at the last look
    uint32_t work;         // the number of operations in the open batch
    size_t work_bytes;     // the bytes that the open batch uses in pages
    uint64_t next_poll_ns; // before this time the queue is not checked for being idle
    spyi_vk_batch *batch;  // the slot of the open batch; NULL means that it has not begun
    VkSemaphore timeline;
    spyi_vk_page *free_pages;
    size_t free_page_bytes;
    uint32_t batch_count; // the number of slots that have been made
    spyi_vk_batch batches[SPYI_VK_BATCHES];

    // These members are for recordings into an engine's command buffers.
    VkCommandBuffer external; // the engine's command buffer of the open recording; NULL means that none is
                              // open
    bool external_used;       // work with the number base.open was recorded into `external`
    spyi_vk_recording *first_recording; // recordings not reported as executed, oldest first
    spyi_vk_recording *last_recording;
    spyi_vk_recording *free_recordings; // a list of unused objects
    uint64_t recording_serial;          // the serial of the last recording that was begun
    uint64_t recording_tag;             // the upper bits of the ids of this device's recordings
    spyi_vk_semaphores waits, signals;  // the semaphores of an engine for the next submission
    void (*lock_queue)(void *user_data);
    void (*unlock_queue)(void *user_data);
    void *lock_user_data;
    spyi_mutex share_lock;                              // guards the queue from spy_vk_share_device() on
    bool shares;                                        // share_lock is in use
    const char *shared_features[SPYI_VK_FEATURE_COUNT]; // the optional features that are on

    // These members are for transfers: uploads go through the main queue in order, downloads through a queue
    // of their own, the lane.
    spyi_vk_staging upload[SPYI_VK_STAGING_COUNT];
    uint32_t upload_next;
    spyi_vk_staging download[SPYI_VK_STAGING_COUNT];
    uint64_t download_left; // the batch that still writes to download[0] after an interrupted wait; 0 means
                            // that there is none
    VkQueue lane_queue;     // may be the same as `queue`
    VkSemaphore lane;       // the timeline of the lane
    uint64_t lane_number;   // the number of the last submission to the lane

    VkQueryPool queries;  // two timestamps, which are made when first used
    uint64_t time_number; // the number of the batch of the last time_end; 0 means that there is none
    bool timing;          // true between time_begin and time_end
    VkQueryPool marks;    // SPYI_TIME_SLOTS timestamps, which are made when first used
    uint32_t label_depth; // the number of open labels
    char labels[SPYI_VK_LABELS][64]; // the names of the outermost open labels; longer names are cut off

    uint32_t memory_type[4]; // the index of the VkMemoryType of each spyi_vk_memory
    VkPipelineCache pipeline_cache;
    size_t pipeline_bytes;  // the size of the pipeline cache's data when it was made or last kept
    spyi_mutex layout_lock; // guards the layouts and render passes
    spyi_vk_layout *layouts;
    spyi_vk_render_pass *render_passes;
    spyi_vk_framebuffer *framebuffers;
    spyi_vk_handles handles;

    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
} spyi_vk_gpu;

// Kinds of memory: the two of the backend's table, and two of this backend.
typedef enum spyi_vk_memory {
    SPYI_VK_MEMORY_DEVICE = SPYI_MEMORY_DEVICE,
    SPYI_VK_MEMORY_READBACK = SPYI_MEMORY_READBACK,
    SPYI_VK_MEMORY_STAGING, // host memory that the host writes and the GPU copies
    SPYI_VK_MEMORY_PAGE     // memory that the host writes and kernels read, which is mapped device memory if
                            // possible
} spyi_vk_memory;

// >>features.c
SPYI_FN size_t spyi_vk_feature_offset(uint32_t feature); // the byte offset of the feature's VkBool32 in
                                                         // spyi_vk_feature_set
SPYI_FN const char *spyi_vk_feature_name(uint32_t feature);
SPYI_FN const char *spyi_vk_extension_name(uint32_t extension);
SPYI_FN const spyi_vk_feature_struct *spyi_vk_feature_struct_of(uint32_t feature);
// Fills in the sType and pNext members for an adapter whose extensions and api_version are known.
SPYI_FN void spyi_vk_feature_chain(spyi_vk_feature_set *set, const spyi_vk_adapter *adapter);
// Checks that the SPIR-V is well formed, has the entry point of this stage, and needs only features that are enabled
// in `adapter`.
SPYI_FN spy_status spyi_vk_check_code(const spyi_vk_adapter *adapter, const spyi_kernel_desc *desc,
                                      VkShaderStageFlagBits stage, spyi_text *error);

// >>instance.c
SPYI_FN spy_status spyi_vk_instance_init(spyi_vk_instance *instance, spyi_context *ctx,
                                         const spy_vk_desc *engine, bool enable_validation, spyi_text *error);
SPYI_FN void spyi_vk_instance_destroy(spyi_vk_instance *instance);
SPYI_FN spy_status spyi_vk_choose_adapter(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                          spyi_vk_adapter *adapter, spyi_text *error);
SPYI_FN void spyi_vk_query_adapter(const spyi_vk_instance *instance, VkPhysicalDevice device, uint32_t index,
                                   spyi_vk_adapter *adapter);
// Sets adapter->matrices: whether the driver lists the sizes and types of SPY_FEATURE_COOPERATIVE_MATRIX.
SPYI_FN void spyi_vk_query_matrices(const spyi_vk_instance *instance, spyi_vk_adapter *adapter);
// Fills adapter->info, which the user sees, from the adapter's features and limits.
SPYI_FN void spyi_vk_fill_info(spyi_vk_adapter *adapter);
SPYI_FN size_t spyi_vk_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);

// >>device.c
SPYI_FN spy_status spyi_vk_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                  spyi_text *error);
SPYI_FN void spyi_vk_destroy(spyi_gpu *gpu);
SPYI_FN const char *spyi_vk_result_name(VkResult result);
// Appends "`what` failed: VK_..." to the error and returns the status for this result.
SPYI_FN spy_status spyi_vk_fail(spyi_vk_gpu *gpu, VkResult result, const char *what, spyi_text *error);
// Returns whether the device is lost, and then adds that to the error.
SPYI_FN bool spyi_vk_is_lost(const spyi_vk_gpu *gpu, spyi_text *error);
// Adds to the error that the batch is dropped, with the names of its last kernels.
SPYI_FN void spyi_vk_describe_dropped(const spyi_vk_batch *batch, spyi_text *error);
SPYI_FN void spyi_vk_set_name(spyi_vk_gpu *gpu, VkObjectType type, uint64_t handle, const char *name);

// >>memory.c
SPYI_FN bool spyi_vk_choose_memory(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN VkResult spyi_vk_try_allocate(spyi_vk_gpu *gpu, uint32_t type, size_t size, bool exported,
                                      spyi_chunk *chunk, const char **what);
SPYI_FN spy_status spyi_vk_allocate(spyi_vk_gpu *gpu, spyi_vk_memory kind, size_t size, const char *label,
                                    spyi_chunk *chunk, spyi_text *error);
SPYI_FN spy_status spyi_vk_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                          spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_vk_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
// Finds `size` bytes in a page; they live until the batch, or the engine's recording, has been executed.
SPYI_FN spy_status spyi_vk_take_bytes(spyi_vk_gpu *gpu, size_t size, size_t alignment, spyi_vk_page **page,
                                      size_t *offset, spyi_text *error);
// Makes the view of a typed buffer for one dispatch.
SPYI_FN spy_status spyi_vk_make_view(spyi_vk_gpu *gpu, const spyi_binding *binding, VkFormat format,
                                     VkBufferView *view, spyi_text *error);
// Moves pages whose work has been executed to the free pages.
SPYI_FN void spyi_vk_return_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);
SPYI_FN void spyi_vk_free_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);

// >>kernel.c
// Returns the format of a typed buffer's elements, or VK_FORMAT_UNDEFINED if there is none.
SPYI_FN VkFormat spyi_vk_texel_format(uint32_t scalar, uint32_t columns);
SPYI_FN spy_status spyi_vk_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                spyi_text *error);
SPYI_FN void spyi_vk_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN void spyi_vk_destroy_layouts(spyi_vk_gpu *gpu);
// Checks that the device takes this number of parameters, bindings, textures and samplers.
SPYI_FN spy_status spyi_vk_check_interface(const spyi_vk_gpu *gpu, const spyi_interface *iface,
                                           spyi_text *error);
// Makes an object of `size` bytes, which begins with a spyi_vk_kernel, with the layout of its inputs but no pipeline.
SPYI_FN spy_status spyi_vk_new_kernel(spyi_vk_gpu *gpu, const spyi_interface *iface, const char *label,
                                      VkShaderStageFlags stages, size_t size, spyi_vk_kernel **kernel,
                                      spyi_text *error);
SPYI_FN VkResult spyi_vk_make_module(spyi_vk_gpu *gpu, const void *code, size_t size, VkShaderModule *module);
// Ends the making of a kernel, for which the function `what` gave this result. After an error frees the
// kernel.
SPYI_FN spy_status spyi_vk_end_kernel(spyi_vk_gpu *gpu, spyi_vk_kernel *kernel, const char *label,
                                      VkResult result, const char *what, spyi_kernel **out, spyi_text *error);

// >>handles.c
SPYI_FN bool spyi_vk_has_handles(const spyi_vk_adapter *adapter);
SPYI_FN void spyi_vk_query_handles(const VkPhysicalDeviceVulkan12Properties *v12, spyi_vk_adapter *adapter);
SPYI_FN VkResult spyi_vk_need_handles(spyi_vk_gpu *gpu, const char **what);
SPYI_FN void spyi_vk_destroy_handles(spyi_vk_gpu *gpu);
SPYI_FN spy_status spyi_vk_add_handle(spyi_gpu *gpu, const spyi_binding *binding, uint64_t *handle,
                                      spyi_text *error);
SPYI_FN void spyi_vk_remove_handle(spyi_gpu *gpu, spyi_binding_kind kind, uint64_t handle);

// >>raster.c
SPYI_FN spy_status spyi_vk_load_raster(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel,
                                       spyi_text *error);

// >>render_pass.c
SPYI_FN VkAttachmentLoadOp spyi_vk_load_op(bool clear, bool ignore); // from members of spyi_draw_target
// Finds or makes a pass into targets with the formats of the raster: with the loads of a draw, or for a pipeline
// (draw NULL).
SPYI_FN VkResult spyi_vk_find_render_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster,
                                          const spyi_draw_work *draw, VkRenderPass *pass);
SPYI_FN spy_status spyi_vk_begin_render_pass(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                             const spyi_vk_raster *raster, const spyi_draw_work *draw,
                                             spyi_text *error);
SPYI_FN void spyi_vk_forget_view(spyi_vk_gpu *gpu,
                                 VkImageView view); // destroys the framebuffers that have the view
SPYI_FN void spyi_vk_destroy_render_passes(spyi_vk_gpu *gpu);

// >>raster_work.c
SPYI_FN spy_status spyi_vk_draw(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_vk_end_pass(spyi_vk_gpu *gpu); // does nothing where no pass is open

// >>record.c
SPYI_FN spy_status spyi_vk_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy_buffer(spyi_vk_gpu *gpu, uint64_t to, uint64_t to_offset, uint64_t from,
                                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error);
// Must be called after each recorded operation; submits the batch when it is full. With `urgent` somebody may
// wait for the result, so that an idle queue gets the batch at once.
SPYI_FN spy_status spyi_vk_recorded(spyi_vk_gpu *gpu, bool urgent, spyi_text *error);
// Records a barrier: all work recorded earlier is finished and visible to later work. With `counts` its
// writes are also visible to the reading of indirect group counts.
SPYI_FN void spyi_vk_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands, bool counts);
// Records the barrier before a transfer, into gpu->commands: the one that the tracker asks for (`barrier`), or one
// that makes up for earlier barriers for kernels alone.
SPYI_FN void spyi_vk_before_transfer(spyi_vk_gpu *gpu, bool barrier);
// Records the barrier and the transitions of images that must come before work.
SPYI_FN void spyi_vk_before(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_before *before,
                            bool counts);
// Gives the layouts back after a failure, and returns `status`.
SPYI_FN spy_status spyi_vk_failed(spyi_vk_gpu *gpu, const spyi_before *before, spy_status status);
// Returns the stages that barriers must order; those of draws are among them only once there was a draw.
SPYI_FN VkPipelineStageFlags spyi_vk_stages(const spyi_vk_gpu *gpu);
SPYI_FN void spyi_vk_describe_image(const spyi_binding *binding, VkDescriptorImageInfo *image);
// Pushes a kernel's block, bindings and uniform buffers. `bindings` NULL means that there are none, or that
// they are pushed already.
SPYI_FN spy_status spyi_vk_push_inputs(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                       const spyi_vk_kernel *kernel, const void *block,
                                       const spyi_binding *bindings, const spyi_uniform *uniforms,
                                       spyi_text *error);
// Makes a pool of `count` timestamps if *pool is NULL.
SPYI_FN spy_status spyi_vk_make_queries(spyi_vk_gpu *gpu, VkQueryPool *pool, uint32_t count,
                                        spyi_text *error);
// Makes sure that the command buffer gpu->commands has begun.
SPYI_FN spy_status spyi_vk_begin(spyi_vk_gpu *gpu, spyi_text *error);

// >>image.c
SPYI_FN uint32_t spyi_vk_image_support(spyi_gpu *gpu, uint32_t format);
SPYI_FN spy_status spyi_vk_create_image(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label,
                                        spyi_image *image, spyi_text *error);
SPYI_FN void spyi_vk_destroy_image(spyi_gpu *gpu, spyi_image *image);
SPYI_FN spy_status spyi_vk_create_image_view(spyi_gpu *gpu, const spyi_image *image,
                                             const spyi_image_desc *image_desc,
                                             const spyi_image_view_desc *desc, uint64_t sampler,
                                             uint64_t *view, spyi_text *error);
SPYI_FN void spyi_vk_destroy_image_view(spyi_gpu *gpu, uint64_t view, bool stored);
SPYI_FN spy_status spyi_vk_create_sampler(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                          spyi_text *error);
SPYI_FN void spyi_vk_destroy_sampler(spyi_gpu *gpu, uint64_t sampler);
SPYI_FN VkFormat spyi_vk_format(uint32_t format); // returns VK_FORMAT_UNDEFINED if Vulkan has no such format
// Returns the layout of an image's part in this use; `format` is a spy_format.
SPYI_FN VkImageLayout spyi_vk_image_layout(uint32_t how, uint32_t format);
SPYI_FN VkImageAspectFlags spyi_vk_aspects(uint32_t format);
SPYI_FN VkFormatFeatureFlags spyi_vk_format_features(const spyi_vk_gpu *gpu, uint32_t format);

// >>image_work.c
SPYI_FN spy_status spyi_vk_image_bytes(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_blit(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_clear(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>mark.c
SPYI_FN spy_status spyi_vk_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_vk_open_labels(spyi_vk_gpu *gpu);  // is called when a batch begins
SPYI_FN void spyi_vk_close_labels(spyi_vk_gpu *gpu); // is called when a batch ends
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>submit.c
SPYI_FN uint64_t spyi_vk_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_vk_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_make_submit_objects(spyi_vk_gpu *gpu,
                                               spyi_text *error); // makes command buffers and timelines
// Finds a slot whose work has ended, or makes one. Where there are as many as may be, waits for the oldest.
SPYI_FN spy_status spyi_vk_take_slot(spyi_vk_gpu *gpu, spyi_vk_batch **slot, spyi_text *error);
SPYI_FN void spyi_vk_destroy_submit_objects(spyi_vk_gpu *gpu);
SPYI_FN uint64_t
spyi_vk_poll(spyi_vk_gpu *gpu); // updates and returns gpu->finished, which ignores an engine's recordings
SPYI_FN spy_status spyi_vk_wait_value(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value,
                                      uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait_own(spyi_vk_gpu *gpu, uint64_t number, uint64_t timeout_ns, spyi_text *error);
// Returns the last batch with a number up to `number`, to which the timeline counts. Returns 0 if there is
// none, or if it has finished.
SPYI_FN uint64_t spyi_vk_own_number(const spyi_vk_gpu *gpu, uint64_t number);
SPYI_FN spy_status spyi_vk_queue_submit(spyi_vk_gpu *gpu, VkQueue queue, VkCommandBuffer commands,
                                        const spyi_vk_semaphores *waits, const spyi_vk_semaphores *signals,
                                        spyi_text *error);
SPYI_FN void spyi_vk_wait_idle(spyi_vk_gpu *gpu);
// Creates a timeline semaphore of value 0. `next` is the chain of further structs, or NULL.
SPYI_FN VkResult spyi_vk_make_timeline(spyi_vk_gpu *gpu, const void *next, VkSemaphore *semaphore);
// Records a barrier that makes the writes of the work in `commands` available to the host.
SPYI_FN void spyi_vk_host_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands);

// >>transfer.c
SPYI_FN spy_status spyi_vk_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                    uint64_t size, uint64_t after, spyi_text *error);
SPYI_FN void spyi_vk_destroy_staging(spyi_vk_gpu *gpu);

// >>engine.c
// These functions are the parts of the public functions that need no spy_device.
SPYI_FN spy_status spyi_vk_begin_recording(spyi_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *id,
                                           spyi_text *error);
SPYI_FN spy_status spyi_vk_end_recording(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_finish_recording(spyi_vk_gpu *gpu, uint64_t id, spyi_text *error);
// Returns whether work with this number is in a recording that the engine has not reported as executed, and
// then adds that to the error.
SPYI_FN bool spyi_vk_is_held(const spyi_vk_gpu *gpu, uint64_t number, spyi_text *error);
SPYI_FN void spyi_vk_destroy_recordings(spyi_vk_gpu *gpu);
// Begin and end a public function of this backend. spyi_vk_enter() returns NULL, with an error, for devices of other
// backends. spyi_vk_leave() reports `error` unless the status is SPY_OK, and frees it.
SPYI_FN spyi_vk_gpu *spyi_vk_enter(spy_device *device, const char *function);
SPYI_FN spy_status spyi_vk_leave(spy_device *device, spyi_vk_gpu *gpu, const char *function,
                                 spy_status status, spyi_text *error);
SPYI_FN spy_status spyi_vk_add_semaphore(spyi_vk_gpu *gpu, spyi_vk_semaphores *list, uint64_t semaphore,
                                         uint64_t value, spyi_text *error);

// >>vk/features.c -------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// The device features and extensions that the library asks for, and the check that a kernel's SPIR-V needs
// only enabled ones. Drivers do not check this: lavapipe computes anyway, NVIDIA's driver hung the GPU.

typedef struct spyi_vk_feature_entry {
    const char *name;
    size_t offset; // the byte offset of the feature's VkBool32 in a spyi_vk_feature_set
} spyi_vk_feature_entry;

static const spyi_vk_feature_entry spyi_vk_feature_entries[] = {
#define SPYI_VK_ENTRY(where, member) { #member, offsetof(spyi_vk_feature_set, where.member) },
    SPYI_VK_REQUIRED_FEATURES(SPYI_VK_ENTRY) SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_ENTRY)
#undef SPYI_VK_ENTRY
};

#define SPYI_VK_FEATURE_NAME(where, member) #member,
#define SPYI_VK_EXTENSION_NAME(name) #name,
static const char *const spyi_vk_required_names[] = { SPYI_VK_REQUIRED_FEATURES(SPYI_VK_FEATURE_NAME) };
static const char *const spyi_vk_optional_names[] = { SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_FEATURE_NAME) };
static const char *const spyi_vk_extension_names[] = { SPYI_VK_OPTIONAL_EXTENSIONS(SPYI_VK_EXTENSION_NAME) };
#undef SPYI_VK_FEATURE_NAME
#undef SPYI_VK_EXTENSION_NAME

SPYI_FN size_t spyi_vk_feature_offset(uint32_t feature) {
    return spyi_vk_feature_entries[feature].offset;
}
SPYI_FN const char *spyi_vk_feature_name(uint32_t feature) {
    return spyi_vk_feature_entries[feature].name;
}
SPYI_FN const char *spyi_vk_extension_name(uint32_t extension) {
    return spyi_vk_extension_names[extension];
}

spy_vk_requirements spy_vk_required_features(void) {
    spy_vk_requirements r;
    SPYI_VK_ZERO(r);
    r.api_version = VK_API_VERSION_1_2;
    r.features = spyi_vk_required_names;
    r.feature_count = SPYI_VK_FEATURE_REQUIRED;
    r.optional_features = spyi_vk_optional_names;
    r.optional_feature_count = SPYI_VK_FEATURE_COUNT - SPYI_VK_FEATURE_REQUIRED;
    r.optional_extensions = spyi_vk_extension_names;
    r.optional_extension_count = SPYI_VK_EXTENSION_COUNT;
    return r;
}

static const spyi_vk_feature_struct spyi_vk_feature_structs[] = {
#define SPYI_VK_STRUCT(type, name, member, version, extension)                                               \
    SPYI_VK_STRUCT_OF(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, name, member, version, extension)
#define SPYI_VK_STRUCT_OF(type, name, member, version, extension)                                            \
    {                                                                                                        \
        type, "VkPhysicalDevice" name, offsetof(spyi_vk_feature_set, member),                                \
            sizeof(((spyi_vk_feature_set *)0)->member), VK_API_VERSION_1_##version, SPYI_VK_##extension      \
    }
    SPYI_VK_STRUCT(FEATURES_2, "Features2", core, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_1_FEATURES, "Vulkan11Features", v11, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_2_FEATURES, "Vulkan12Features", v12, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_3_FEATURES, "Vulkan13Features", v13, 3, EXTENSION_COUNT),
    SPYI_VK_STRUCT(SHADER_ATOMIC_FLOAT_FEATURES_EXT, "ShaderAtomicFloatFeaturesEXT", atomic_float, 2,
                   EXT_shader_atomic_float),
    SPYI_VK_STRUCT(SHADER_ATOMIC_FLOAT_2_FEATURES_EXT, "ShaderAtomicFloat2FeaturesEXT", atomic_float2, 2,
                   EXT_shader_atomic_float2),
    SPYI_VK_STRUCT(SHADER_CLOCK_FEATURES_KHR, "ShaderClockFeaturesKHR", clock, 2, KHR_shader_clock),
    SPYI_VK_STRUCT(FRAGMENT_SHADER_BARYCENTRIC_FEATURES_NV, "FragmentShaderBarycentricFeaturesKHR",
                   barycentric, 2, KHR_fragment_shader_barycentric),
    SPYI_VK_STRUCT(VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT, "VertexAttributeDivisorFeaturesEXT", divisor, 2,
                   EXT_vertex_attribute_divisor),
    SPYI_VK_STRUCT_OF(SPYI_VK_FEATURES_MATRIX, "CooperativeMatrixFeaturesKHR", matrices, 2,
                      KHR_cooperative_matrix),
    SPYI_VK_STRUCT_OF(SPYI_VK_FEATURES_MATRIX_2, "CooperativeMatrix2FeaturesNV", matrices2, 2,
                      NV_cooperative_matrix2),
#undef SPYI_VK_STRUCT_OF
#undef SPYI_VK_STRUCT
};

SPYI_FN const spyi_vk_feature_struct *spyi_vk_feature_struct_of(uint32_t feature) {
    size_t at = spyi_vk_feature_offset(feature);
    const spyi_vk_feature_struct *s = spyi_vk_feature_structs;
    while (at - s->offset >= s->size) s++;
    return s;
}

SPYI_FN void spyi_vk_feature_chain(spyi_vk_feature_set *set, const spyi_vk_adapter *adapter) {
    VkBaseOutStructure *last = NULL;
    SPYI_VK_ZERO(*set);
    for (size_t i = 0; i < sizeof spyi_vk_feature_structs / sizeof *spyi_vk_feature_structs; i++) {
        const spyi_vk_feature_struct *s = &spyi_vk_feature_structs[i];
        VkBaseOutStructure *node = (VkBaseOutStructure *)(void *)((char *)set + s->offset);
        node->sType = s->type;
        if (adapter->api_version < s->version ||
            (s->extension < SPYI_VK_EXTENSION_COUNT && !adapter->extensions[s->extension]))
            continue;
        if (last != NULL) last->pNext = node;
        last = node;
    }
}

// >>capabilities

typedef enum spyi_vk_need {
    SPYI_VK_NEED_NOTHING,
    SPYI_VK_NEED_FEATURE,  // `value` or `other`, both spyi_vk_feature, must be enabled
    SPYI_VK_NEED_SUBGROUP, // `value` is a VkSubgroupFeatureFlagBits
    SPYI_VK_NEED_FLOAT     // `value` is an index into spyi_vk_adapter.float_controls
} spyi_vk_need;

typedef struct spyi_vk_capability {
    uint16_t number;
    uint8_t need; // a spyi_vk_need
    uint8_t value, other;
    const char *name;
} spyi_vk_capability;

#define SPYI_VK_CAP(number, name)                                                                            \
    { number, SPYI_VK_NEED_NOTHING, 0, 0, #name }
#define SPYI_VK_CAP_EITHER(number, name, feature, other)                                                     \
    { number, SPYI_VK_NEED_FEATURE, SPYI_VK_FEATURE_##feature, SPYI_VK_FEATURE_##other, #name }
#define SPYI_VK_CAP_FEATURE(number, name, feature) SPYI_VK_CAP_EITHER(number, name, feature, feature)
#define SPYI_VK_CAP_SUBGROUP(number, name, bit)                                                              \
    { number, SPYI_VK_NEED_SUBGROUP, VK_SUBGROUP_FEATURE_##bit##_BIT, 0, #name }
#define SPYI_VK_CAP_FLOAT(number, name, index)                                                               \
    { number, SPYI_VK_NEED_FLOAT, index, 0, #name }

// The capabilities that the library knows. A capability that is not listed is refused. Source: SPIR-V 1.6,
// "Capability", and the Vulkan specification's appendix "Capabilities".
static const spyi_vk_capability spyi_vk_capabilities[] = {
    SPYI_VK_CAP(0, Matrix),
    SPYI_VK_CAP(1, Shader),
    SPYI_VK_CAP_FEATURE(2, Geometry, geometryShader), // a fragment shader's SV_PrimitiveID needs this
    SPYI_VK_CAP_FEATURE(9, Float16, shaderFloat16),
    SPYI_VK_CAP_FEATURE(10, Float64, shaderFloat64),
    SPYI_VK_CAP_FEATURE(11, Int64, shaderInt64),
    SPYI_VK_CAP_EITHER(12, Int64Atomics, shaderBufferInt64Atomics, shaderSharedInt64Atomics),
    SPYI_VK_CAP_FEATURE(22, Int16, shaderInt16),
    SPYI_VK_CAP_FEATURE(25, ImageGatherExtended, shaderImageGatherExtended),
    SPYI_VK_CAP_FEATURE(29, SampledImageArrayDynamicIndexing, shaderSampledImageArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(30, StorageBufferArrayDynamicIndexing, shaderStorageBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(31, StorageImageArrayDynamicIndexing, shaderStorageImageArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(32, ClipDistance, shaderClipDistance),
    SPYI_VK_CAP_FEATURE(33, CullDistance, shaderCullDistance),
    SPYI_VK_CAP_FEATURE(34, ImageCubeArray, imageCubeArray),
    SPYI_VK_CAP_FEATURE(35, SampleRateShading, sampleRateShading),
    SPYI_VK_CAP_FEATURE(39, Int8, shaderInt8),
    SPYI_VK_CAP_FEATURE(42, MinLod, shaderResourceMinLod),
    SPYI_VK_CAP(43, Sampled1D),
    SPYI_VK_CAP(44, Image1D),
    SPYI_VK_CAP_FEATURE(45, SampledCubeArray, imageCubeArray),
    SPYI_VK_CAP(46, SampledBuffer),
    SPYI_VK_CAP(47, ImageBuffer),
    SPYI_VK_CAP_FEATURE(49, StorageImageExtendedFormats, shaderStorageImageExtendedFormats),
    SPYI_VK_CAP(50, ImageQuery),
    SPYI_VK_CAP(51, DerivativeControl),
    SPYI_VK_CAP_FEATURE(52, InterpolationFunction, sampleRateShading),
    SPYI_VK_CAP_FEATURE(55, StorageImageReadWithoutFormat, shaderStorageImageReadWithoutFormat),
    SPYI_VK_CAP_FEATURE(56, StorageImageWriteWithoutFormat, shaderStorageImageWriteWithoutFormat),
    SPYI_VK_CAP_SUBGROUP(61, GroupNonUniform, BASIC),
    SPYI_VK_CAP_SUBGROUP(62, GroupNonUniformVote, VOTE),
    SPYI_VK_CAP_SUBGROUP(63, GroupNonUniformArithmetic, ARITHMETIC),
    SPYI_VK_CAP_SUBGROUP(64, GroupNonUniformBallot, BALLOT),
    SPYI_VK_CAP_SUBGROUP(65, GroupNonUniformShuffle, SHUFFLE),
    SPYI_VK_CAP_SUBGROUP(66, GroupNonUniformShuffleRelative, SHUFFLE_RELATIVE),
    SPYI_VK_CAP_SUBGROUP(67, GroupNonUniformClustered, CLUSTERED),
    SPYI_VK_CAP_SUBGROUP(68, GroupNonUniformQuad, QUAD),
    SPYI_VK_CAP_FEATURE(69, ShaderLayer, shaderOutputLayer),
    SPYI_VK_CAP_FEATURE(70, ShaderViewportIndex, shaderOutputViewportIndex),
    SPYI_VK_CAP_FEATURE(4427, DrawParameters, shaderDrawParameters),
    SPYI_VK_CAP_FEATURE(4433, StorageBuffer16BitAccess, storageBuffer16BitAccess),
    SPYI_VK_CAP_FEATURE(4434, UniformAndStorageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess),
    SPYI_VK_CAP_FEATURE(4435, StoragePushConstant16, storagePushConstant16),
    SPYI_VK_CAP(4437, DeviceGroup),
    SPYI_VK_CAP_FEATURE(4441, VariablePointersStorageBuffer, variablePointersStorageBuffer),
    SPYI_VK_CAP_FEATURE(4442, VariablePointers, variablePointers),
    SPYI_VK_CAP_FEATURE(4448, StorageBuffer8BitAccess, storageBuffer8BitAccess),
    SPYI_VK_CAP_FEATURE(4449, UniformAndStorageBuffer8BitAccess, uniformAndStorageBuffer8BitAccess),
    SPYI_VK_CAP_FEATURE(4450, StoragePushConstant8, storagePushConstant8),
    SPYI_VK_CAP_FLOAT(4464, DenormPreserve, 0),
    SPYI_VK_CAP_FLOAT(4465, DenormFlushToZero, 1),
    SPYI_VK_CAP_FLOAT(4466, SignedZeroInfNanPreserve, 2),
    SPYI_VK_CAP_FLOAT(4467, RoundingModeRTE, 3),
    SPYI_VK_CAP_FLOAT(4468, RoundingModeRTZ, 4),
    SPYI_VK_CAP_EITHER(5055, ShaderClockKHR, shaderSubgroupClock, shaderDeviceClock),
    SPYI_VK_CAP_EITHER(5254, ShaderViewportIndexLayerEXT, shaderOutputLayer, shaderOutputViewportIndex),
    SPYI_VK_CAP_FEATURE(5284, FragmentBarycentricKHR, fragmentShaderBarycentric),
    SPYI_VK_CAP(5301, ShaderNonUniform),
    SPYI_VK_CAP_FEATURE(5304, UniformTexelBufferArrayDynamicIndexing,
                        shaderUniformTexelBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(5305, StorageTexelBufferArrayDynamicIndexing,
                        shaderStorageTexelBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(5302, RuntimeDescriptorArray, runtimeDescriptorArray),
    SPYI_VK_CAP_FEATURE(5307, SampledImageArrayNonUniformIndexing, shaderSampledImageArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5308, StorageBufferArrayNonUniformIndexing,
                        shaderStorageBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5309, StorageImageArrayNonUniformIndexing, shaderStorageImageArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5311, UniformTexelBufferArrayNonUniformIndexing,
                        shaderUniformTexelBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5312, StorageTexelBufferArrayNonUniformIndexing,
                        shaderStorageTexelBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5345, VulkanMemoryModel, vulkanMemoryModel),
    SPYI_VK_CAP_FEATURE(5346, VulkanMemoryModelDeviceScope, vulkanMemoryModelDeviceScope),
    SPYI_VK_CAP_FEATURE(5347, PhysicalStorageBufferAddresses, bufferDeviceAddress),
    SPYI_VK_CAP_FEATURE(5379, DemoteToHelperInvocation, shaderDemoteToHelperInvocation),
    SPYI_VK_CAP_EITHER(5612, AtomicFloat32MinMaxEXT, shaderBufferFloat32AtomicMinMax,
                       shaderSharedFloat32AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5613, AtomicFloat64MinMaxEXT, shaderBufferFloat64AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5616, AtomicFloat16MinMaxEXT, shaderBufferFloat16AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5431, CooperativeMatrixConversionsNV, cooperativeMatrixConversions),
    SPYI_VK_CAP_FEATURE(6022, CooperativeMatrixKHR, cooperativeMatrix),
    SPYI_VK_CAP_FEATURE(6016, DotProductInputAll, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6017, DotProductInput4x8Bit, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6018, DotProductInput4x8BitPacked, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6019, DotProduct, shaderIntegerDotProduct),
    SPYI_VK_CAP_EITHER(6033, AtomicFloat32AddEXT, shaderBufferFloat32AtomicAdd, shaderSharedFloat32AtomicAdd),
    SPYI_VK_CAP_EITHER(6034, AtomicFloat64AddEXT, shaderBufferFloat64AtomicAdd, shaderSharedFloat64AtomicAdd),
    SPYI_VK_CAP_FEATURE(6095, AtomicFloat16AddEXT, shaderBufferFloat16AtomicAdd),
};

static spy_status spyi_vk_check_capability(const spyi_vk_adapter *adapter, uint32_t number,
                                           spyi_text *error) {
    size_t i, n = sizeof spyi_vk_capabilities / sizeof spyi_vk_capabilities[0];
    const spyi_vk_capability *c = NULL;
    bool there = true;
    for (i = 0; i < n && c == NULL; i++) {
        if (spyi_vk_capabilities[i].number == number) c = &spyi_vk_capabilities[i];
    }
    if (c == NULL) {
        spyi_text_add(error,
                      "the kernel needs the SPIR-V capability number %u, which the library does not know",
                      number);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (c->need == SPYI_VK_NEED_FEATURE) there = adapter->features[c->value] || adapter->features[c->other];
    if (c->need == SPYI_VK_NEED_SUBGROUP) there = (adapter->subgroup_operations & c->value) != 0;
    if (c->need == SPYI_VK_NEED_FLOAT) there = adapter->float_controls[c->value];
    if (there) return SPY_OK;
    if (c->need == SPYI_VK_NEED_FEATURE && (adapter->supported[c->value] || adapter->supported[c->other])) {
        uint32_t has = adapter->supported[c->value] ? c->value : c->other;
        spyi_text_add(error,
                      "the kernel needs %s; the device '%s' supports it, but it was not enabled: make the "
                      "VkDevice with "
                      "the feature %s and name it in spy_vk_desc.enabled_features",
                      c->name, adapter->info.name, spyi_vk_feature_entries[has].name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_text_add(error, "the kernel needs %s, which the device '%s' lacks", c->name, adapter->info.name);
    if (c->need == SPYI_VK_NEED_FEATURE)
        spyi_text_add(error, " (Vulkan feature %s)", spyi_vk_feature_entries[c->value].name);
    return SPY_ERROR_UNSUPPORTED;
}

// Returns whether the NUL-terminated text in SPIR-V words (little-endian, at most `count` words) is `name`.
static bool spyi_vk_words_equal(const uint32_t *words, size_t count, const char *name) {
    size_t i;
    for (i = 0; i < count * 4; i++) {
        char c = (char)((words[i / 4] >> (8 * (i % 4))) & 0xffu);
        if (c != name[i]) return false;
        if (c == '\0') return true;
    }
    return false;
}

// >>writes to memory

// These are numbers of the SPIR-V specification.
enum {
    SPYI_SPIRV_TYPE_POINTER = 32,
    SPYI_SPIRV_STORE = 62,
    SPYI_SPIRV_COPY_MEMORY = 63,
    SPYI_SPIRV_IMAGE_WRITE = 99,
    SPYI_SPIRV_FIRST_ATOMIC = 228, // is OpAtomicStore; the numbers before it are loads, which write nothing
    SPYI_SPIRV_LAST_ATOMIC = 242,  // is OpAtomicXor
    SPYI_SPIRV_ATOMIC_MIN_EXT = 5614,
    SPYI_SPIRV_ATOMIC_MAX_EXT = 5615,
    SPYI_SPIRV_ATOMIC_ADD_EXT = 6035,
    SPYI_SPIRV_UNIFORM = 2, // these are storage classes; UNIFORM is a buffer's with the old decoration
                            // BufferBlock
    SPYI_SPIRV_STORAGE_BUFFER = 12,
    SPYI_SPIRV_PHYSICAL = 5349
};

// Returns the type of a pointer that an instruction makes; 0 means that the instruction makes another id, or
// no pointer.
static uint32_t spyi_vk_pointer_type(const uint32_t *words, uint32_t id) {
    switch (words[0] & 0xffffu) {
    case 55:  // OpFunctionParameter
    case 57:  // OpFunctionCall
    case 59:  // OpVariable
    case 61:  // OpLoad
    case 65:  // OpAccessChain
    case 66:  // OpInBoundsAccessChain
    case 67:  // OpPtrAccessChain
    case 70:  // OpInBoundsPtrAccessChain
    case 81:  // OpCompositeExtract
    case 83:  // OpCopyObject
    case 120: // OpConvertUToPtr
    case 124: // OpBitcast
    case 169: // OpSelect
    case 245: // OpPhi
        return words[0] >> 16 > 2 && words[2] == id ? words[1] : 0;
    default: return 0;
    }
}

// Returns whether the pointer `id` points to a buffer, from the instruction that makes it and from its type.
static bool spyi_vk_points_to_buffer(const uint32_t *words, size_t count, uint32_t id) {
    uint32_t type = 0;
    for (size_t i = 5; i < count && type == 0; i += words[i] >> 16)
        type = spyi_vk_pointer_type(words + i, id);
    for (size_t i = 5; i < count; i += words[i] >> 16) {
        if ((words[i] & 0xffffu) != SPYI_SPIRV_TYPE_POINTER || words[i] >> 16 < 4 || words[i + 1] != type)
            continue;
        return words[i + 2] == SPYI_SPIRV_UNIFORM || words[i + 2] == SPYI_SPIRV_STORAGE_BUFFER ||
               words[i + 2] == SPYI_SPIRV_PHYSICAL;
    }
    return false;
}

static bool spyi_vk_writes_memory(const uint32_t *words, size_t count) {
    for (size_t i = 5; i < count; i += words[i] >> 16) {
        const uint32_t op = words[i] & 0xffffu;
        if (op == SPYI_SPIRV_IMAGE_WRITE || (op >= SPYI_SPIRV_FIRST_ATOMIC && op <= SPYI_SPIRV_LAST_ATOMIC) ||
            op == SPYI_SPIRV_ATOMIC_MIN_EXT || op == SPYI_SPIRV_ATOMIC_MAX_EXT ||
            op == SPYI_SPIRV_ATOMIC_ADD_EXT)
            return true;
        if ((op == SPYI_SPIRV_STORE || op == SPYI_SPIRV_COPY_MEMORY) && words[i] >> 16 > 1 &&
            spyi_vk_points_to_buffer(words, count, words[i + 1]))
            return true;
    }
    return false;
}

// Refuses a stage of a draw that writes to memory without the feature for it. `words` must be well formed.
static spy_status spyi_vk_check_writes(const spyi_vk_adapter *adapter, VkShaderStageFlagBits stage,
                                       const uint32_t *words, size_t count, spyi_text *error) {
    const bool vertex = stage == VK_SHADER_STAGE_VERTEX_BIT;
    const uint32_t feature =
        vertex ? SPYI_VK_FEATURE_vertexPipelineStoresAndAtomics : SPYI_VK_FEATURE_fragmentStoresAndAtomics;
    if (stage == VK_SHADER_STAGE_COMPUTE_BIT || adapter->features[feature]) return SPY_OK;
    if (!spyi_vk_writes_memory(words, count)) return SPY_OK;
    spyi_text_add(error, "the %s shader writes to memory, which the device '%s' %s (Vulkan feature %s)",
                  vertex ? "vertex" : "fragment", adapter->info.name,
                  adapter->supported[feature] ? "supports, but has not enabled" : "does not support",
                  spyi_vk_feature_name(feature));
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN spy_status spyi_vk_check_code(const spyi_vk_adapter *adapter, const spyi_kernel_desc *desc,
                                      VkShaderStageFlagBits stage, spyi_text *error) {
    // These are numbers of the SPIR-V specification: two instructions and the execution models.
    enum { ENTRY_POINT = 15, CAPABILITY = 17, VERTEX = 0, FRAGMENT = 4, GL_COMPUTE = 5 };
    const uint32_t model = stage == VK_SHADER_STAGE_VERTEX_BIT     ? VERTEX
                           : stage == VK_SHADER_STAGE_FRAGMENT_BIT ? FRAGMENT
                                                                   : GL_COMPUTE;
    const uint32_t *words = (const uint32_t *)desc->code;
    size_t i, size, count = desc->code_size / 4;
    bool entry = false;
    if (words == NULL || desc->code_size % 4 != 0 || count < 5 || words[0] != 0x07230203u) {
        spyi_text_add(error, "the code of kernel '%s' is not SPIR-V",
                      desc->label ? desc->label : desc->entry);
        return SPY_ERROR_COMPILE;
    }
    for (i = 5; i < count; i += size) {
        uint32_t op = words[i] & 0xffffu;
        size = words[i] >> 16;
        if (size == 0 || size > count - i || (op == CAPABILITY && size < 2) ||
            (op == ENTRY_POINT && size < 4)) {
            spyi_text_add(error, "the SPIR-V of kernel '%s' is damaged at word %zu",
                          desc->label ? desc->label : desc->entry, i);
            return SPY_ERROR_COMPILE;
        }
        if (op == CAPABILITY) {
            spy_status status = spyi_vk_check_capability(adapter, words[i + 1], error);
            if (status != SPY_OK) return status;
        }
        if (op == ENTRY_POINT && words[i + 1] == model) {
            entry = entry || spyi_vk_words_equal(words + i + 3, size - 3, desc->entry);
        }
    }
    if (entry) return spyi_vk_check_writes(adapter, stage, words, count, error);
    spyi_text_add(error, "the SPIR-V has no %s entry point '%s'",
                  model == VERTEX     ? "vertex"
                  : model == FRAGMENT ? "fragment"
                                      : "compute",
                  desc->entry);
    return SPY_ERROR_NOT_FOUND;
}

// >>vk/fill_features.c --------------------------------------------------------------------------------------

// spy_vk_fill_features(): sets the features that the library needs or can use in an engine's own chain of feature structs.

// The feature structs of single extensions, which an engine may use in place of
// VkPhysicalDeviceVulkan11Features, 12 and 13, as X(end of the struct's name, end of its VkStructureType,
// member).
#define SPYI_VK_SINGLE_FEATURES(X)                                                                           \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, storageBuffer16BitAccess)                                \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, uniformAndStorageBuffer16BitAccess)                      \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, storagePushConstant16)                                   \
    X(VariablePointersFeatures, VARIABLE_POINTERS_FEATURES, variablePointersStorageBuffer)                   \
    X(VariablePointersFeatures, VARIABLE_POINTERS_FEATURES, variablePointers)                                \
    X(ShaderDrawParametersFeatures, SHADER_DRAW_PARAMETERS_FEATURES, shaderDrawParameters)                   \
    X(TimelineSemaphoreFeatures, TIMELINE_SEMAPHORE_FEATURES, timelineSemaphore)                             \
    X(BufferDeviceAddressFeatures, BUFFER_DEVICE_ADDRESS_FEATURES, bufferDeviceAddress)                      \
    X(ScalarBlockLayoutFeatures, SCALAR_BLOCK_LAYOUT_FEATURES, scalarBlockLayout)                            \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, storageBuffer8BitAccess)                                   \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, uniformAndStorageBuffer8BitAccess)                         \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, storagePushConstant8)                                      \
    X(ShaderFloat16Int8Features, SHADER_FLOAT16_INT8_FEATURES, shaderFloat16)                                \
    X(ShaderFloat16Int8Features, SHADER_FLOAT16_INT8_FEATURES, shaderInt8)                                   \
    X(ShaderAtomicInt64Features, SHADER_ATOMIC_INT64_FEATURES, shaderBufferInt64Atomics)                     \
    X(ShaderAtomicInt64Features, SHADER_ATOMIC_INT64_FEATURES, shaderSharedInt64Atomics)                     \
    X(ShaderSubgroupExtendedTypesFeatures, SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,                          \
      shaderSubgroupExtendedTypes)                                                                           \
    X(VulkanMemoryModelFeatures, VULKAN_MEMORY_MODEL_FEATURES, vulkanMemoryModel)                            \
    X(VulkanMemoryModelFeatures, VULKAN_MEMORY_MODEL_FEATURES, vulkanMemoryModelDeviceScope)                 \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderUniformTexelBufferArrayDynamicIndexing)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderStorageTexelBufferArrayDynamicIndexing)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderStorageBufferArrayNonUniformIndexing)  \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderUniformTexelBufferArrayNonUniformIndexing)                                                       \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderStorageTexelBufferArrayNonUniformIndexing)                                                       \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderSampledImageArrayNonUniformIndexing)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderStorageImageArrayNonUniformIndexing)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingSampledImageUpdateAfterBind)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingStorageImageUpdateAfterBind)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingStorageBufferUpdateAfterBind)                                                         \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, descriptorBindingUpdateUnusedWhilePending)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, descriptorBindingPartiallyBound)             \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, runtimeDescriptorArray)                      \
    X(SubgroupSizeControlFeatures, SUBGROUP_SIZE_CONTROL_FEATURES, subgroupSizeControl)                      \
    X(SubgroupSizeControlFeatures, SUBGROUP_SIZE_CONTROL_FEATURES, computeFullSubgroups)                     \
    X(Maintenance4Features, MAINTENANCE_4_FEATURES, maintenance4)                                            \
    X(ShaderIntegerDotProductFeatures, SHADER_INTEGER_DOT_PRODUCT_FEATURES, shaderIntegerDotProduct)         \
    X(ShaderDemoteToHelperInvocationFeatures, SHADER_DEMOTE_TO_HELPER_INVOCATION_FEATURES,                   \
      shaderDemoteToHelperInvocation)                                                                        \
    X(DynamicRenderingFeatures, DYNAMIC_RENDERING_FEATURES, dynamicRendering)

typedef struct spyi_vk_single_feature {
    VkStructureType type;
    uint32_t feature; // a spyi_vk_feature
    size_t offset;    // the byte offset of the feature's VkBool32 in the struct
} spyi_vk_single_feature;

static const spyi_vk_single_feature spyi_vk_single_features[] = {
#define SPYI_VK_SINGLE(name, type, member)                                                                   \
    { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, SPYI_VK_FEATURE_##member,                                    \
      offsetof(VkPhysicalDevice##name, member) },
    SPYI_VK_SINGLE_FEATURES(SPYI_VK_SINGLE)
#undef SPYI_VK_SINGLE
};

// Returns a feature's VkBool32 in a chain of feature structs, or NULL when no struct of the chain has it.
static VkBool32 *spyi_vk_find_feature(void *chain, uint32_t feature) {
    const spyi_vk_feature_struct *usual = spyi_vk_feature_struct_of(feature);
    const size_t count = sizeof spyi_vk_single_features / sizeof spyi_vk_single_features[0];
    VkBaseOutStructure *node = (VkBaseOutStructure *)chain;
    size_t i;
    for (; node != NULL; node = node->pNext) {
        char *start = (char *)(void *)node;
        if (node->sType == usual->type)
            return (VkBool32 *)(void *)(start + (spyi_vk_feature_offset(feature) - usual->offset));
        for (i = 0; i < count; i++) {
            const spyi_vk_single_feature *single = &spyi_vk_single_features[i];
            if (node->sType == single->type && feature == single->feature)
                return (VkBool32 *)(void *)(start + single->offset);
        }
    }
    return NULL;
}

// Checks that both chains have a member for each required feature, and that it is set in `supported` (may be
// NULL).
static spy_status spyi_vk_check_required(void *features, void *supported, const char *function) {
    uint32_t i;
    for (i = 0; i < SPYI_VK_FEATURE_REQUIRED; i++) {
        const VkBool32 *wanted = spyi_vk_find_feature(features, i);
        const VkBool32 *has = supported != NULL ? spyi_vk_find_feature(supported, i) : wanted;
        if (wanted == NULL || has == NULL)
            return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: %s: no struct of the chain has %s: expected a %s in it", function,
                             wanted == NULL ? "features" : "supported", spyi_vk_feature_name(i),
                             spyi_vk_feature_struct_of(i)->name);
        if (supported != NULL && *has == VK_FALSE)
            return spyi_fail(NULL, SPY_ERROR_UNSUPPORTED,
                             "%s: supported: the physical device lacks %s (%s), which is required", function,
                             spyi_vk_feature_name(i), spyi_vk_feature_struct_of(i)->name);
    }
    return SPY_OK;
}

spy_status spy_vk_fill_features(void *features, const void *supported, spy_vk_features *enabled) {
    static const char function[] = "spy_vk_fill_features";
    void *have = (void *)(uintptr_t)supported; // the chain is only read
    spy_status status;
    uint32_t i;
    if (features == NULL)
        return spyi_fail(
            NULL, SPY_ERROR_INVALID_ARGUMENT,
            "%s: features: expected a chain that begins with a VkPhysicalDeviceFeatures2, got NULL",
            function);
    status = spyi_vk_check_required(features, have, function);
    if (status != SPY_OK) return status;
    if (enabled != NULL) enabled->count = 0;
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        VkBool32 *wanted = spyi_vk_find_feature(features, i);
        const VkBool32 *has = have != NULL ? spyi_vk_find_feature(have, i) : NULL;
        if (wanted == NULL) continue;
        if (i < SPYI_VK_FEATURE_REQUIRED || (has != NULL && *has != VK_FALSE)) *wanted = VK_TRUE;
        if (i >= SPYI_VK_FEATURE_REQUIRED && *wanted != VK_FALSE && enabled != NULL)
            enabled->names[enabled->count++] = spyi_vk_feature_name(i);
    }
    return SPY_OK;
}

// >>vk/instance.c -------------------------------------------------------------------------------------------

// Opens the Vulkan loader, makes the instance, passes on messages of drivers and layers, lists the adapters
// and chooses one.

#define SPYI_VK_MAX_ADAPTERS 32u
#define SPYI_VK_MAX_FAMILIES 32u

#define SPYI_VK_VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

// Casts by memcpy(), because C has no cast from an object pointer to a function pointer.
static PFN_vkGetInstanceProcAddr spyi_vk_loader_entry(void *library) {
    void *symbol = spyi_library_symbol(library, "vkGetInstanceProcAddr");
    PFN_vkGetInstanceProcAddr get = NULL;
    if (symbol != NULL) memcpy(&get, &symbol, sizeof get);
    return get;
}

static spy_status spyi_vk_open_loader(spyi_vk_instance *instance, spyi_text *error) {
#if defined(_WIN32)
    static const char *const names[] = { "vulkan-1.dll" };
#elif defined(__APPLE__)
    static const char *const names[] = { "libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib" };
#else
    static const char *const names[] = { "libvulkan.so.1", "libvulkan.so" };
#endif
    size_t i, count = sizeof names / sizeof names[0];
    for (i = 0; i < count; i++) {
        instance->library = spyi_library_open(names[i]);
        if (instance->library == NULL) continue;
        instance->get_proc = spyi_vk_loader_entry(instance->library);
        if (instance->get_proc != NULL) return SPY_OK;
        spyi_library_close(instance->library);
        instance->library = NULL;
    }
    spyi_text_add(error, "the Vulkan loader cannot be opened; looked for");
    for (i = 0; i < count; i++) spyi_text_add(error, "%s %s", i == 0 ? "" : ",", names[i]);
    spyi_text_add(error, " (%s); on Debian: apt-get install libvulkan1 mesa-vulkan-drivers",
                  spyi_library_error());
    return SPY_ERROR_NO_DEVICE;
}

// >>messages of drivers and layers

static VKAPI_ATTR VkBool32 VKAPI_CALL spyi_vk_on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                                         const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                         void *user) {
    spyi_vk_instance *instance = (spyi_vk_instance *)user;
    spy_log_level level = SPY_LOG_LEVEL_DEBUG;
    const char *name = data->pMessageIdName != NULL ? data->pMessageIdName : "message";
    const char *text = data->pMessage != NULL ? data->pMessage : "";
    (void)types;
    if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) level = SPY_LOG_LEVEL_ERROR;
    else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) level = SPY_LOG_LEVEL_WARNING;
    else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT) level = SPY_LOG_LEVEL_INFO;
    if (level <= SPY_LOG_LEVEL_WARNING) {
        size_t n = strlen(text);
        if (n >= sizeof instance->message) n = sizeof instance->message - 1;
        spyi_mutex_lock(&instance->message_lock);
        memcpy(instance->message, text, n);
        instance->message[n] = '\0';
        spyi_mutex_unlock(&instance->message_lock);
    }
    if (spyi_log_wants(instance->ctx, level)) spyi_logf(instance->ctx, level, "Vulkan: %s: %s", name, text);
    return VK_FALSE;
}

static void spyi_vk_messenger_info(spyi_vk_instance *instance, VkDebugUtilsMessengerCreateInfoEXT *info) {
    SPYI_VK_ZERO(*info);
    info->sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info->messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    if (spyi_log_wants(instance->ctx, SPY_LOG_LEVEL_DEBUG)) {
        info->messageSeverity |= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT;
    }
    info->messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info->pfnUserCallback = spyi_vk_on_message;
    info->pUserData = instance;
}

// >>instance

static bool spyi_vk_has_layer(const spyi_vk_instance *instance, const char *name) {
    PFN_vkEnumerateInstanceLayerProperties list = (PFN_vkEnumerateInstanceLayerProperties)instance->get_proc(
        NULL, "vkEnumerateInstanceLayerProperties");
    VkLayerProperties *layers;
    uint32_t i, count = 0, capacity;
    bool found = false;
    if (list == NULL || list(&count, NULL) != VK_SUCCESS || count == 0) return false;
    capacity = count;
    layers = (VkLayerProperties *)spyi_allocate(instance->ctx, capacity * sizeof *layers);
    if (layers == NULL) return false;
    if (list(&count, layers) >= 0) {
        for (i = 0; i < count && !found; i++) found = strcmp(layers[i].layerName, name) == 0;
    }
    spyi_free(instance->ctx, layers, capacity * sizeof *layers);
    return found;
}

static bool spyi_vk_has_instance_extension(const spyi_vk_instance *instance, const char *layer,
                                           const char *name) {
    PFN_vkEnumerateInstanceExtensionProperties list =
        (PFN_vkEnumerateInstanceExtensionProperties)instance->get_proc(
            NULL, "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties *items;
    uint32_t i, count = 0, capacity;
    bool found = false;
    if (list == NULL || list(layer, &count, NULL) != VK_SUCCESS || count == 0) return false;
    capacity = count;
    items = (VkExtensionProperties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return false;
    if (list(layer, &count, items) >= 0) {
        for (i = 0; i < count && !found; i++) found = strcmp(items[i].extensionName, name) == 0;
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
    return found;
}

static spy_status spyi_vk_make_instance(spyi_vk_instance *instance, bool enable_validation, bool *debug_utils,
                                        spyi_text *error) {
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)instance->get_proc(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)instance->get_proc(NULL, "vkEnumerateInstanceVersion");
    const char *layers[1], *extensions[2];
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    VkResult result;
    uint32_t loader = VK_API_VERSION_1_0;
    if (version != NULL) (void)version(&loader);
    if (create == NULL || loader < VK_API_VERSION_1_1) {
        spyi_text_add(error, "the Vulkan loader is of version 1.0; at least 1.1 is needed");
        return SPY_ERROR_NO_DEVICE;
    }
    SPYI_VK_ZERO(application);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = instance->ctx->label;
    application.pEngineName = "slangpy.h";
    application.engineVersion = SPY_VERSION;
    application.apiVersion = VK_API_VERSION_1_3; // the newest version that is used; drivers of 1.2 do as well

    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    info.ppEnabledLayerNames = layers;
    info.ppEnabledExtensionNames = extensions;
    if (enable_validation && spyi_vk_has_layer(instance, SPYI_VK_VALIDATION_LAYER)) {
        layers[info.enabledLayerCount++] = SPYI_VK_VALIDATION_LAYER;
    } else if (enable_validation) {
        spyi_logf(instance->ctx, SPY_LOG_LEVEL_WARNING,
                  "validation was asked for, but the layer " SPYI_VK_VALIDATION_LAYER
                  " is not installed (Debian: vulkan-validationlayers)");
    }
    *debug_utils = spyi_vk_has_instance_extension(instance, NULL, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
                   (info.enabledLayerCount > 0 &&
                    spyi_vk_has_instance_extension(instance, layers[0], VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
    if (*debug_utils) {
        extensions[info.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        spyi_vk_messenger_info(instance, &messenger);
        info.pNext = &messenger; // this messenger gets the messages of the creation itself
    }
#if defined(VK_KHR_portability_enumeration)
    if (spyi_vk_has_instance_extension(instance, NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[info.enabledExtensionCount++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
#endif
    result = create(&info, NULL, &instance->handle);
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "vkCreateInstance failed: %s%s", spyi_vk_result_name(result),
                      result == VK_ERROR_INCOMPATIBLE_DRIVER
                          ? ": no Vulkan driver is installed (on Debian: apt-get install mesa-vulkan-drivers)"
                          : "");
        return result == VK_ERROR_OUT_OF_HOST_MEMORY ? SPY_ERROR_OUT_OF_MEMORY : SPY_ERROR_NO_DEVICE;
    }
    instance->owned = true;
    instance->api_version = VK_API_VERSION_1_3;
    return SPY_OK;
}

// Two tables of the functions that an instance loads into spyi_vk_instance. The functions of the first must be there;
// those of the second are NULL without VK_EXT_debug_utils.
#define SPYI_VK_ENTRY(name) { "vk" #name, offsetof(spyi_vk_instance, name) },
static const spyi_vk_function spyi_vk_instance_functions[] = { SPYI_VK_INSTANCE_FUNCTIONS(SPYI_VK_ENTRY) };
#undef SPYI_VK_ENTRY
static const spyi_vk_function spyi_vk_debug_functions[] = {
    { "vkSetDebugUtilsObjectNameEXT", offsetof(spyi_vk_instance, set_name) },
    { "vkCmdBeginDebugUtilsLabelEXT", offsetof(spyi_vk_instance, begin_label) },
    { "vkCmdEndDebugUtilsLabelEXT", offsetof(spyi_vk_instance, end_label) },
    { "vkCmdInsertDebugUtilsLabelEXT", offsetof(spyi_vk_instance, insert_label) },
    { "vkDestroyDebugUtilsMessengerEXT", offsetof(spyi_vk_instance, destroy_messenger) },
};

// Fills the members that `functions` names. Returns the name of a function that the instance does not have,
// or NULL.
static const char *spyi_vk_load_instance(spyi_vk_instance *instance, const spyi_vk_function *functions,
                                         size_t count) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        PFN_vkVoidFunction found = instance->get_proc(instance->handle, functions[i].name);
        memcpy((char *)instance + functions[i].offset, &found, sizeof found);
        if (found == NULL) missing = functions[i].name;
    }
    return missing;
}

// Uses the instance of the engine's desc if it has one, and otherwise makes one. After an error nothing needs
// to be destroyed.
SPYI_FN spy_status spyi_vk_instance_init(spyi_vk_instance *instance, spyi_context *ctx,
                                         const spy_vk_desc *engine, bool enable_validation,
                                         spyi_text *error) {
    bool debug_utils = false;
    spy_status status = SPY_OK;
    const char *missing;
    SPYI_VK_ZERO(*instance);
    instance->ctx = ctx;
    if (engine != NULL && engine->get_instance_proc_addr != NULL) {
        // The desc's function type has void * in place of VkInstance, which is a pointer on all platforms.
        memcpy(&instance->get_proc, &engine->get_instance_proc_addr, sizeof instance->get_proc);
    } else {
        status = spyi_vk_open_loader(instance, error);
        if (status != SPY_OK) return status;
    }
    spyi_mutex_init(&instance->message_lock);
    if (engine != NULL && engine->instance != NULL) {
        instance->handle = (VkInstance)engine->instance;
        instance->api_version = engine->api_version != 0 ? engine->api_version : VK_API_VERSION_1_3;
    } else {
        status = spyi_vk_make_instance(instance, enable_validation, &debug_utils, error);
        if (status != SPY_OK) {
            spyi_vk_instance_destroy(instance);
            return status;
        }
    }
    missing = spyi_vk_load_instance(instance, spyi_vk_instance_functions,
                                    sizeof spyi_vk_instance_functions / sizeof *spyi_vk_instance_functions);
    if (missing != NULL) {
        spyi_text_add(error, "vkGetInstanceProcAddr does not know %s; Vulkan 1.2 is needed", missing);
        spyi_vk_instance_destroy(instance);
        return SPY_ERROR_NO_DEVICE;
    }
    (void)spyi_vk_load_instance(instance, spyi_vk_debug_functions,
                                sizeof spyi_vk_debug_functions / sizeof *spyi_vk_debug_functions);
    if (debug_utils) {
        PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)instance->get_proc(
            instance->handle, "vkCreateDebugUtilsMessengerEXT");
        VkDebugUtilsMessengerCreateInfoEXT info;
        spyi_vk_messenger_info(instance, &info);
        if (create == NULL || instance->destroy_messenger == NULL ||
            create(instance->handle, &info, NULL, &instance->messenger) != VK_SUCCESS) {
            instance->messenger = VK_NULL_HANDLE; // without a messenger only messages are missing
        }
    }
    return SPY_OK;
}

// The first instance of the process, which stays with its loader when its device is released. The loader unloads the
// drivers with the last instance, and NVIDIA's driver (580.159) cannot be loaded for the 30th time: its libraries
// leave something behind in the process each time.
static VkInstance spyi_vk_kept_instance;

// Returns whether the instance stays.
static bool spyi_vk_keep_instance(const spyi_vk_instance *instance) {
    spyi_global_lock();
    bool keep = spyi_vk_kept_instance == VK_NULL_HANDLE;
    if (keep) spyi_vk_kept_instance = instance->handle;
    spyi_global_unlock();
    return keep;
}

SPYI_FN void spyi_vk_instance_destroy(spyi_vk_instance *instance) {
    bool keeps = instance->owned && spyi_vk_keep_instance(instance);
    if (instance->get_proc == NULL) return;
    if (instance->messenger != VK_NULL_HANDLE)
        instance->destroy_messenger(instance->handle, instance->messenger, NULL);
    if (instance->owned && !keeps && instance->DestroyInstance != NULL)
        instance->DestroyInstance(instance->handle, NULL);
    spyi_mutex_destroy(&instance->message_lock);
    if (instance->library != NULL && !keeps) spyi_library_close(instance->library);
    SPYI_VK_ZERO(*instance);
}

// >>adapters

static const char *spyi_vk_type_name(spy_adapter_type type) {
    if (type == SPY_ADAPTER_TYPE_DISCRETE) return "discrete";
    if (type == SPY_ADAPTER_TYPE_INTEGRATED) return "integrated";
    return type == SPY_ADAPTER_TYPE_CPU ? "cpu" : "any";
}

static spy_adapter_type spyi_vk_adapter_type(VkPhysicalDeviceType type) {
    if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return SPY_ADAPTER_TYPE_DISCRETE;
    if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) return SPY_ADAPTER_TYPE_CPU;
    return SPY_ADAPTER_TYPE_INTEGRATED; // these are integrated, virtual and unknown ones
}

static void spyi_vk_query_extensions(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    VkExtensionProperties *items;
    uint32_t i, k, count = 0, capacity;
    if (instance->EnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, NULL) != VK_SUCCESS ||
        count == 0)
        return;
    capacity = count;
    items = (VkExtensionProperties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return;
    if (instance->EnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, items) >= 0) {
        for (i = 0; i < count; i++) {
            for (k = 0; k < SPYI_VK_EXTENSION_COUNT; k++) {
                if (strcmp(items[i].extensionName, spyi_vk_extension_name(k)) == 0)
                    adapter->extensions[k] = true;
            }
        }
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
}

// Chooses one queue family for all work, since order between queues needs semaphores: a family with compute,
// if possible with graphics, too. Downloads use the queue of a copy engine where there is one, at the same
// time as work. A second queue of a family with graphics does not help: the GPU slices time between the two
// (docs/measurements.md, "Queues for downloads").
static bool spyi_vk_query_queues(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    const VkQueueFlags uses = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    VkQueueFamilyProperties families[SPYI_VK_MAX_FAMILIES];
    uint32_t i, count = SPYI_VK_MAX_FAMILIES;
    bool found = false, graphics = false;
    instance->GetPhysicalDeviceQueueFamilyProperties(adapter->handle, &count, families);
    for (i = 0; i < count; i++) {
        bool draws = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if (draws) adapter->graphics_families |= 1u << i;
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || (found && (graphics || !draws))) continue;
        found = true;
        graphics = draws;
        adapter->queue_family = i;
        adapter->timestamp_bits = families[i].timestampValidBits;
    }
    adapter->lane_family = adapter->queue_family;
    for (i = 0; i < count && adapter->lane_family == adapter->queue_family; i++) {
        if ((families[i].queueFlags & uses) == VK_QUEUE_TRANSFER_BIT) adapter->lane_family = i;
    }
    return found;
}

static void spyi_vk_query_features(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    spyi_vk_feature_set set;
    uint32_t i;
    spyi_vk_feature_chain(&set, adapter);
    instance->GetPhysicalDeviceFeatures2(adapter->handle, &set.core);
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        VkBool32 value;
        memcpy(&value, (const char *)&set + spyi_vk_feature_offset(i), sizeof value);
        adapter->features[i] = adapter->supported[i] = value != VK_FALSE;
    }
}

SPYI_FN void spyi_vk_query_matrices(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    spyi_vk_get_matrix_properties get = NULL;
    spyi_vk_matrix_properties *items;
    uint32_t i, count = 0, capacity;
    if (!adapter->features[SPYI_VK_FEATURE_cooperativeMatrix]) return;
    get = (spyi_vk_get_matrix_properties)instance->get_proc(
        instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (get == NULL || get(adapter->handle, &count, NULL) != VK_SUCCESS || count == 0) return;
    capacity = count;
    items = (spyi_vk_matrix_properties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return;
    for (i = 0; i < capacity; i++) {
        SPYI_VK_ZERO(items[i]);
        items[i].sType = SPYI_VK_PROPERTIES_MATRIX;
    }
    if (get(adapter->handle, &count, items) >= 0) {
        for (i = 0; i < count; i++) {
            const spyi_vk_matrix_properties *p = &items[i];
            if (p->m == 16 && p->n == 16 && p->k == 16 && p->a == SPYI_VK_MATRIX_FLOAT16 &&
                p->b == SPYI_VK_MATRIX_FLOAT16 && p->c == SPYI_VK_MATRIX_FLOAT32 &&
                p->result == SPYI_VK_MATRIX_FLOAT32 && p->scope == SPYI_VK_MATRIX_SUBGROUP)
                adapter->matrices = true;
        }
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
}

static void spyi_vk_query_properties(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    VkPhysicalDeviceProperties2 properties;
    VkPhysicalDeviceVulkan11Properties v11;
    VkPhysicalDeviceVulkan12Properties v12;
    VkPhysicalDevicePushDescriptorPropertiesKHR push;
    spy_device_info *info = &adapter->info;
    SPYI_VK_ZERO(properties);
    SPYI_VK_ZERO(v11);
    SPYI_VK_ZERO(v12);
    SPYI_VK_ZERO(push);
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    push.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR;
    properties.pNext = &v11;
    v11.pNext = &v12;
    if (adapter->extensions[SPYI_VK_KHR_push_descriptor]) v12.pNext = &push;
    instance->GetPhysicalDeviceProperties2(adapter->handle, &properties);
    adapter->max_push_descriptors = push.maxPushDescriptors;
    adapter->max_allocation = v11.maxMemoryAllocationSize;
    spyi_vk_query_handles(&v12, adapter);
    if ((v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
        adapter->subgroup_operations = v11.subgroupSupportedOperations;
    }
    adapter->float_controls[0] = v12.shaderDenormPreserveFloat32 != VK_FALSE;
    adapter->float_controls[1] = v12.shaderDenormFlushToZeroFloat32 != VK_FALSE;
    adapter->float_controls[2] = v12.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
    adapter->float_controls[3] = v12.shaderRoundingModeRTEFloat32 != VK_FALSE;
    adapter->float_controls[4] = v12.shaderRoundingModeRTZFloat32 != VK_FALSE;
    info->subgroup_size = v11.subgroupSize;
    (void)snprintf(info->driver, sizeof info->driver, "%.120s %.120s", v12.driverName, v12.driverInfo);
}

SPYI_FN void spyi_vk_fill_info(spyi_vk_adapter *adapter) {
    spy_device_info *info = &adapter->info;
    const VkPhysicalDeviceLimits *limits = &adapter->limits;
    const bool *f = adapter->features;
    uint32_t i;
    info->features = 0;
    if (f[SPYI_VK_FEATURE_shaderFloat16] && f[SPYI_VK_FEATURE_storageBuffer16BitAccess])
        info->features |= SPY_FEATURE_FLOAT16;
    if (f[SPYI_VK_FEATURE_shaderFloat64]) info->features |= SPY_FEATURE_FLOAT64;
    if (f[SPYI_VK_FEATURE_shaderInt8] && f[SPYI_VK_FEATURE_storageBuffer8BitAccess])
        info->features |= SPY_FEATURE_INT8;
    if (f[SPYI_VK_FEATURE_shaderInt16] && f[SPYI_VK_FEATURE_storageBuffer16BitAccess])
        info->features |= SPY_FEATURE_INT16;
    if (f[SPYI_VK_FEATURE_shaderInt64]) info->features |= SPY_FEATURE_INT64;
    if (f[SPYI_VK_FEATURE_shaderBufferFloat32AtomicAdd]) info->features |= SPY_FEATURE_ATOMIC_FLOAT32_ADD;
    if (adapter->timestamp_bits != 0) {
        info->features |= SPY_FEATURE_TIMESTAMPS;
        info->timestamp_period_ns = (double)adapter->limits.timestampPeriod;
    }
    if ((adapter->subgroup_operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0)
        info->features |= SPY_FEATURE_SUBGROUPS;
    if (f[SPYI_VK_FEATURE_bufferDeviceAddress]) info->features |= SPY_FEATURE_POINTERS;
    if (spyi_vk_has_handles(adapter)) info->features |= SPY_FEATURE_HANDLES;
    if (f[SPYI_VK_FEATURE_cooperativeMatrix] && adapter->matrices) {
        info->features |= SPY_FEATURE_COOPERATIVE_MATRIX;
        if (f[SPYI_VK_FEATURE_cooperativeMatrixConversions])
            info->features |= SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS;
    }
    info->max_groupshared_bytes = limits->maxComputeSharedMemorySize;
    info->max_group_size = limits->maxComputeWorkGroupInvocations;
    if (limits->maxComputeWorkGroupSize[0] < info->max_group_size)
        info->max_group_size = limits->maxComputeWorkGroupSize[0];
    info->max_group_count = limits->maxComputeWorkGroupCount[0];
    info->max_inline_block_bytes = limits->maxPushConstantsSize;
    info->max_binding_bytes = limits->maxStorageBufferRange;
    for (i = 0; i < adapter->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &adapter->memory.memoryHeaps[i];
        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap->size > info->memory_bytes) {
            info->memory_bytes = heap->size;
        }
    }
}

SPYI_FN void spyi_vk_query_adapter(const spyi_vk_instance *instance, VkPhysicalDevice device, uint32_t index,
                                   spyi_vk_adapter *adapter) {
    VkPhysicalDeviceProperties properties;
    uint32_t i;
    size_t n;
    SPYI_VK_ZERO(*adapter);
    instance->GetPhysicalDeviceProperties(device, &properties);
    adapter->handle = device;
    adapter->index = index;
    adapter->limits = properties.limits;
    adapter->info.backend = "vulkan";
    adapter->info.type = spyi_vk_adapter_type(properties.deviceType);
    adapter->info.api_version = properties.apiVersion;
    (void)snprintf(adapter->info.name, sizeof adapter->info.name, "%s", properties.deviceName);
    adapter->api_version =
        properties.apiVersion < instance->api_version ? properties.apiVersion : instance->api_version;
    instance->GetPhysicalDeviceMemoryProperties(device, &adapter->memory);
    if (adapter->api_version < VK_API_VERSION_1_2) {
        (void)snprintf(adapter->refusal, sizeof adapter->refusal, "has Vulkan %u.%u; 1.2 is needed",
                       VK_API_VERSION_MAJOR(adapter->api_version),
                       VK_API_VERSION_MINOR(adapter->api_version));
        return; // Vulkan below 1.2 does not know the structs of the further queries
    }
    spyi_vk_query_extensions(instance, adapter);
    spyi_vk_query_features(instance, adapter);
    spyi_vk_query_properties(instance, adapter);
    spyi_vk_query_matrices(instance, adapter);
    if (!spyi_vk_query_queues(instance, adapter)) {
        (void)snprintf(adapter->refusal, sizeof adapter->refusal, "has no queue with compute");
    }
    for (i = 0; i < SPYI_VK_FEATURE_REQUIRED; i++) {
        if (adapter->features[i]) continue;
        n = strlen(adapter->refusal);
        (void)snprintf(adapter->refusal + n, sizeof adapter->refusal - n, "%s%s", n == 0 ? "lacks " : ", ",
                       spyi_vk_feature_name(i));
    }
    spyi_vk_fill_info(adapter);
}

// >>choice

static char spyi_vk_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool spyi_vk_contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] != '\0' && spyi_vk_lower(text[i]) == spyi_vk_lower(part[i])) i++;
        if (part[i] == '\0') return true;
        if (*text == '\0') return false;
    }
}

// Returns the reason why the desc does not ask for this adapter, or NULL when it may be chosen.
static const char *spyi_vk_not_wanted(const spyi_vk_adapter *adapter, const spy_device_desc *desc) {
    if (desc->adapter != 0 && desc->adapter != adapter->index) return "has another number";
    if (desc->adapter != 0) return NULL; // name and type choose only where the desc has no number
    if (desc->adapter_name != NULL && !spyi_vk_contains(adapter->info.name, desc->adapter_name))
        return "has another name";
    if (desc->adapter_type != SPY_ADAPTER_TYPE_DEFAULT && desc->adapter_type != adapter->info.type)
        return "is of another type";
    return NULL;
}

static void spyi_vk_explain_choice(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                   const VkPhysicalDevice *devices, uint32_t count, spyi_vk_adapter *adapter,
                                   spyi_text *error) {
    uint32_t i;
    spyi_text_add(error, "no Vulkan device fits; looked for ");
    if (desc->adapter != 0) spyi_text_add(error, "adapter %u", desc->adapter);
    else spyi_text_add(error, "an adapter of %s type", spyi_vk_type_name(desc->adapter_type));
    if (desc->adapter == 0 && desc->adapter_name != NULL)
        spyi_text_add(error, " named '%s'", desc->adapter_name);
    spyi_text_add(error, "; found");
    if (count == 0) spyi_text_add(error, " none (on Debian: apt-get install mesa-vulkan-drivers)");
    for (i = 0; i < count; i++) {
        const char *why;
        spyi_vk_query_adapter(instance, devices[i], i + 1, adapter);
        why = spyi_vk_not_wanted(adapter, desc);
        spyi_text_add(error, "%s %u '%s' (%s), which %s", i == 0 ? "" : ";", i + 1, adapter->info.name,
                      spyi_vk_type_name(adapter->info.type), why != NULL ? why : adapter->refusal);
    }
}

static spy_status spyi_vk_list_devices(const spyi_vk_instance *instance, VkPhysicalDevice *devices,
                                       uint32_t *count, spyi_text *error) {
    VkResult result;
    *count = SPYI_VK_MAX_ADAPTERS;
    result = instance->EnumeratePhysicalDevices(instance->handle, count, devices);
    if (result >= 0) return SPY_OK;
    spyi_text_add(error, "vkEnumeratePhysicalDevices failed: %s", spyi_vk_result_name(result));
    return SPY_ERROR_NO_DEVICE;
}

// Chooses among the adapters that the desc allows. A discrete one comes before an integrated one, which comes
// before a cpu; of one type the first is chosen.
SPYI_FN spy_status spyi_vk_choose_adapter(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                          spyi_vk_adapter *adapter, spyi_text *error) {
    VkPhysicalDevice devices[SPYI_VK_MAX_ADAPTERS];
    uint32_t i, count, best = 0, best_type = (uint32_t)SPY_ADAPTER_TYPE_CPU + 1;
    spy_status status = spyi_vk_list_devices(instance, devices, &count, error);
    if (status != SPY_OK) return status;
    for (i = 0; i < count; i++) {
        spyi_vk_query_adapter(instance, devices[i], i + 1, adapter);
        if (adapter->refusal[0] != '\0' || spyi_vk_not_wanted(adapter, desc) != NULL) continue;
        if ((uint32_t)adapter->info.type >= best_type) continue;
        best = i + 1;
        best_type = (uint32_t)adapter->info.type;
    }
    if (best == 0) {
        spyi_vk_explain_choice(instance, desc, devices, count, adapter, error);
        return SPY_ERROR_NO_DEVICE;
    }
    spyi_vk_query_adapter(instance, devices[best - 1], best, adapter);
    return SPY_OK;
}

SPYI_FN size_t spyi_vk_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    VkPhysicalDevice devices[SPYI_VK_MAX_ADAPTERS];
    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
    spyi_context ctx;
    spy_device_desc desc;
    uint32_t i, count = 0, failed = spyi_failed_allocations();
    memset(&desc, 0, sizeof desc);
    memset(&ctx, 0, sizeof ctx);
    spyi_context_init(&ctx, &desc);
    if (spyi_vk_instance_init(&instance, &ctx, NULL, false, error) == SPY_OK) {
        if (spyi_vk_list_devices(&instance, devices, &count, error) != SPY_OK) count = 0;
        for (i = 0; i < count && i < capacity && infos != NULL; i++) {
            spyi_vk_query_adapter(&instance, devices[i], i + 1, &adapter);
            infos[i] = adapter.info;
        }
        spyi_vk_instance_destroy(&instance);
    }
    if (spyi_check_allocations(failed, SPY_OK, error) != SPY_OK) count = 0;
    spyi_context_destroy(&ctx);
    return count;
}

// >>vk/device.c ---------------------------------------------------------------------------------------------

// Makes the VkDevice with the features of features.c, or uses an engine's; finds its limits; turns results of
// Vulkan calls into errors.

SPYI_FN const char *spyi_vk_result_name(VkResult result) {
    static const struct {
        VkResult result;
        const char *name;
    } results[] = {
// clang-format off
#define SPYI_VK_RESULT(name) { name, #name },
        SPYI_VK_RESULT(VK_SUCCESS)
        SPYI_VK_RESULT(VK_NOT_READY)
        SPYI_VK_RESULT(VK_TIMEOUT)
        SPYI_VK_RESULT(VK_INCOMPLETE)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED)
        SPYI_VK_RESULT(VK_ERROR_DEVICE_LOST)
        SPYI_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
        SPYI_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
        SPYI_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
        SPYI_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
        SPYI_VK_RESULT(VK_ERROR_FRAGMENTED_POOL)
        SPYI_VK_RESULT(VK_ERROR_UNKNOWN)
        SPYI_VK_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY)
        SPYI_VK_RESULT(VK_ERROR_INVALID_SHADER_NV)
        SPYI_VK_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
#undef SPYI_VK_RESULT
        // clang-format on
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].result == result) return results[i].name;
    return "an unknown VkResult";
}

SPYI_FN bool spyi_vk_is_lost(const spyi_vk_gpu *gpu, spyi_text *error) {
    if (SPYI_LIKELY(!gpu->lost)) return false;
    spyi_text_add(error, "the device was lost earlier");
    return true;
}

static void spyi_vk_add_kernels(const spyi_vk_batch *batch, spyi_text *error) {
    uint32_t i, count = batch->recent_count < SPYI_VK_RECENT ? batch->recent_count : SPYI_VK_RECENT;
    for (i = 0; i < count; i++) {
        const spyi_kernel *kernel = batch->recent[(batch->recent_count - count + i) % SPYI_VK_RECENT];
        spyi_text_add(error, "%s '%s'", i == 0 ? "" : ",",
                      ((const spyi_vk_kernel *)(const void *)kernel)->label);
    }
}

// Adds the kernels of unfinished batches to the error of a lost device. These kernels still exist, because
// kernels that unfinished work uses may not be destroyed.
static void spyi_vk_describe_unfinished(spyi_vk_gpu *gpu, spyi_text *error) {
    uint64_t number = gpu->finished + 1;
    uint32_t shown = 0;
    for (; number <= gpu->base.open && shown < 3; number++) {
        const spyi_vk_batch *batch = gpu->batches, *end = gpu->batches + gpu->batch_count;
        while (batch < end && batch->number != number) batch++;
        if (batch == end || batch->recent_count == 0) continue;
        spyi_text_add(error, "; batch %llu ended with", (unsigned long long)number);
        spyi_vk_add_kernels(batch, error);
        shown++;
    }
}

SPYI_FN void spyi_vk_describe_dropped(const spyi_vk_batch *batch, spyi_text *error) {
    spyi_text_add(error, "; what was recorded since the last submission is not done");
    if (batch->recent_count == 0) return;
    spyi_text_add(error, ", the last kernels of it:");
    spyi_vk_add_kernels(batch, error);
}

SPYI_FN spy_status spyi_vk_fail(spyi_vk_gpu *gpu, VkResult result, const char *what, spyi_text *error) {
    spyi_text_add(error, "%s failed: %s", what, spyi_vk_result_name(result));
    switch ((int)result) {
    case VK_ERROR_DEVICE_LOST:
        if (!gpu->lost) spyi_vk_describe_unfinished(gpu, error);
        gpu->lost = true;
        return SPY_ERROR_DEVICE_LOST;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    case VK_ERROR_OUT_OF_HOST_MEMORY: return SPY_ERROR_OUT_OF_MEMORY;
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT: return SPY_ERROR_UNSUPPORTED;
    default: return SPY_ERROR_INTERNAL;
    }
}

SPYI_FN void spyi_vk_set_name(spyi_vk_gpu *gpu, VkObjectType type, uint64_t handle, const char *name) {
    VkDebugUtilsObjectNameInfoEXT info;
    if (gpu->instance.set_name == NULL || name == NULL || name[0] == '\0') return;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = name;
    (void)gpu->instance.set_name(gpu->device, &info); // a name that is not set harms nothing
}

// >>creation

static spy_status spyi_vk_make_device(spyi_vk_gpu *gpu, spyi_text *error) {
    static const float priority = 1.0f;
    const char *extensions[SPYI_VK_EXTENSION_COUNT];
    spyi_vk_feature_set set;
    VkDeviceQueueCreateInfo queues[2];
    VkDeviceCreateInfo info;
    VkResult result;
    const VkBool32 yes = VK_TRUE;
    uint32_t i;
    spyi_vk_feature_chain(&set, &gpu->adapter);
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        if (gpu->adapter.features[i]) memcpy((char *)&set + spyi_vk_feature_offset(i), &yes, sizeof yes);
    }
    memset(queues, 0, sizeof queues);
    for (i = 0; i < 2; i++) {
        queues[i].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queues[i].queueFamilyIndex = i == 0 ? gpu->adapter.queue_family : gpu->adapter.lane_family;
        queues[i].queueCount = 1;
        queues[i].pQueuePriorities = &priority;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &set.core;
    info.queueCreateInfoCount = gpu->adapter.lane_family != gpu->adapter.queue_family ? 2 : 1;
    info.pQueueCreateInfos = queues;
    info.ppEnabledExtensionNames = extensions;
    for (i = 0; i < SPYI_VK_EXTENSION_COUNT; i++) {
        if (gpu->adapter.extensions[i]) extensions[info.enabledExtensionCount++] = spyi_vk_extension_name(i);
    }
    result = gpu->instance.CreateDevice(gpu->adapter.handle, &info, NULL, &gpu->device);
    if (result != VK_SUCCESS) {
        gpu->device = VK_NULL_HANDLE;
        (void)spyi_vk_fail(gpu, result, "vkCreateDevice", error);
        spyi_text_add(error, " (adapter '%s')", gpu->adapter.info.name);
        return result == VK_ERROR_OUT_OF_HOST_MEMORY ? SPY_ERROR_OUT_OF_MEMORY : SPY_ERROR_NO_DEVICE;
    }
    gpu->owned = true;
    gpu->queue_family = gpu->adapter.queue_family;
    gpu->lane_family = gpu->adapter.lane_family;
    return SPY_OK;
}

// Uses an engine's device. It is taken to have the required features, and the optional ones that the desc
// names.
static spy_status spyi_vk_use_engine(spyi_vk_gpu *gpu, const spy_vk_desc *engine, spyi_text *error) {
    bool enabled[SPYI_VK_FEATURE_COUNT];
    uint32_t i, k;
    if (engine->instance == NULL || engine->physical_device == NULL || engine->queue == NULL) {
        spyi_text_add(error, "spy_vk_desc has a device but no %s",
                      engine->instance == NULL ? "instance"
                      : engine->queue == NULL  ? "queue"
                                               : "physical_device");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_vk_query_adapter(&gpu->instance, (VkPhysicalDevice)engine->physical_device, 1, &gpu->adapter);
    if (gpu->adapter.refusal[0] != '\0') {
        spyi_text_add(error, "the engine's physical device '%s' %s", gpu->adapter.info.name,
                      gpu->adapter.refusal);
        return SPY_ERROR_NO_DEVICE;
    }
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) enabled[i] = i < SPYI_VK_FEATURE_REQUIRED;
    for (k = 0; k < engine->enabled_feature_count; k++) {
        for (i = 0;
             i < SPYI_VK_FEATURE_COUNT && strcmp(engine->enabled_features[k], spyi_vk_feature_name(i)) != 0;)
            i++;
        if (i == SPYI_VK_FEATURE_COUNT || !gpu->adapter.features[i]) {
            spyi_text_add(error, "spy_vk_desc.enabled_features names '%s', which %s",
                          engine->enabled_features[k],
                          i == SPYI_VK_FEATURE_COUNT ? "spy_vk_required_features() does not list"
                                                     : "the physical device lacks");
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        enabled[i] = true;
    }
    memcpy(gpu->adapter.features, enabled, sizeof enabled);
    spyi_vk_fill_info(&gpu->adapter);
    gpu->device = (VkDevice)engine->device;
    gpu->queue = (VkQueue)engine->queue;
    gpu->queue_family = engine->queue_family;
    gpu->lane_family = engine->queue_family;
    gpu->lane_queue = gpu->queue;
    gpu->lock_queue = engine->lock_queue;
    gpu->unlock_queue = engine->unlock_queue;
    gpu->lock_user_data = engine->lock_user_data;
    return SPY_OK;
}

// The members of spyi_vk_functions.
#define SPYI_VK_ENTRY(name) { #name, offsetof(spyi_vk_functions, name) },
static const spyi_vk_function spyi_vk_needed_functions[] = { SPYI_VK_DEVICE_FUNCTIONS(SPYI_VK_ENTRY) };
static const spyi_vk_function spyi_vk_optional_functions[] = { SPYI_VK_OPTIONAL_DEVICE_FUNCTIONS(
    SPYI_VK_ENTRY) };
#undef SPYI_VK_ENTRY

// Fills the members of gpu->vk that `functions` names. Returns the name of a function that the driver does
// not have, or NULL.
static const char *spyi_vk_load_table(spyi_vk_gpu *gpu, const spyi_vk_function *functions, size_t count) {
    const char *missing = NULL;
    size_t i;
    for (i = 0; i < count; i++) {
        PFN_vkVoidFunction found = gpu->instance.GetDeviceProcAddr(gpu->device, functions[i].name);
        memcpy((char *)&gpu->vk + functions[i].offset, &found, sizeof found);
        if (found == NULL) missing = functions[i].name;
    }
    return missing;
}

// Fills the table of the device's functions. After an error a device that the library made is destroyed.
static spy_status spyi_vk_load_functions(spyi_vk_gpu *gpu, spyi_text *error) {
    const char *missing;
    PFN_vkDestroyDevice destroy;
    missing = spyi_vk_load_table(gpu, spyi_vk_needed_functions,
                                 sizeof spyi_vk_needed_functions / sizeof spyi_vk_needed_functions[0]);
    spyi_vk_load_table(gpu, spyi_vk_optional_functions,
                       sizeof spyi_vk_optional_functions / sizeof spyi_vk_optional_functions[0]);
    if (missing == NULL) return SPY_OK;
    spyi_text_add(error, "vkGetDeviceProcAddr of '%s' does not know %s; Vulkan 1.2 is needed",
                  gpu->adapter.info.name, missing);
    destroy = gpu->vk.vkDestroyDevice;
    if (gpu->owned && destroy != NULL) destroy(gpu->device, NULL);
    gpu->device = VK_NULL_HANDLE;
    return SPY_ERROR_NO_DEVICE;
}

// Fills limits.texels: the elements that typed buffers can have.
static void spyi_vk_set_texels(spyi_vk_gpu *gpu) {
    uint32_t scalar, columns;
    for (scalar = 0; scalar < SPY_DTYPE_COUNT; scalar++) {
        for (columns = 1; columns <= 4; columns++) {
            VkFormat format = spyi_vk_texel_format(scalar, columns);
            uint8_t *use = &gpu->base.limits.texels[scalar][columns - 1];
            VkFormatProperties has;
            if (format == VK_FORMAT_UNDEFINED) continue;
            gpu->instance.GetPhysicalDeviceFormatProperties(gpu->adapter.handle, format, &has);
            if ((has.bufferFeatures & VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT) != 0)
                *use |= SPYI_TEXEL_READS;
            if ((has.bufferFeatures & VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT) != 0)
                *use |= SPYI_TEXEL_WRITES;
        }
    }
}

static void spyi_vk_set_limits(spyi_vk_gpu *gpu) {
    spyi_limits *limits = &gpu->base.limits;
    spyi_profile *profile = &limits->profile;
    const VkPhysicalDeviceLimits *have = &gpu->adapter.limits;
    const VkMemoryType *type = &gpu->adapter.memory.memoryTypes[gpu->memory_type[SPYI_VK_MEMORY_DEVICE]];
    const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    limits->info = gpu->adapter.info;
    spyi_profile_of_info(profile, &limits->info);
    profile->target = SPYI_TARGET_SPIRV;
    profile->max_block_bytes = have->maxPushConstantsSize;
    if (gpu->vk.vkCmdPushDescriptorSetKHR != NULL && gpu->adapter.extensions[SPYI_VK_KHR_push_descriptor]) {
        profile->max_bindings = gpu->adapter.max_push_descriptors;
        if (have->maxPerStageDescriptorStorageBuffers < profile->max_bindings) {
            profile->max_bindings = have->maxPerStageDescriptorStorageBuffers;
        }
        if (profile->max_bindings > SPYI_VK_MAX_BINDINGS) profile->max_bindings = SPYI_VK_MAX_BINDINGS;
    }
    limits->binding_alignment = 16;
    if (have->minStorageBufferOffsetAlignment > limits->binding_alignment) {
        limits->binding_alignment = (uint32_t)have->minStorageBufferOffsetAlignment;
    }
    limits->max_binding_bytes = have->maxStorageBufferRange;
    limits->texel_alignment = (uint32_t)have->minTexelBufferOffsetAlignment;
    limits->max_texels = have->maxTexelBufferElements;
    spyi_vk_set_texels(gpu);
    profile->max_uniforms = have->maxPerStageDescriptorUniformBuffers;
    profile->max_uniform_bytes = have->maxUniformBufferRange;
    limits->fill_alignment = 4;
    profile->names_formats = !gpu->adapter.features[SPYI_VK_FEATURE_shaderStorageImageReadWithoutFormat] ||
                             !gpu->adapter.features[SPYI_VK_FEATURE_shaderStorageImageWriteWithoutFormat];
    profile->prefers_bindings = gpu->adapter.info.type == SPY_ADAPTER_TYPE_CPU;
    profile->bindings_from_bytes = (uint64_t)8 << 20;
    // On lavapipe a barrier costs more than memory accesses that are far apart, so tiles take twice the time.
    profile->tiles_from = profile->prefers_bindings ? UINT64_MAX : SPYI_TILES_FROM;
    limits->unified_memory =
        gpu->adapter.info.type != SPY_ADAPTER_TYPE_DISCRETE && (type->propertyFlags & mapped) == mapped;
}

// >>what the driver has compiled, kept on disk

// The most bytes of a pipeline cache that are worth reading at each start.
#define SPYI_VK_MOST_PIPELINE_BYTES ((size_t)64 << 20)

static void spyi_vk_pipeline_question(const spyi_vk_gpu *gpu, spyi_text *out) {
    spyi_text_add(out, "VkPipelineCache\n%s\n%s", gpu->adapter.info.name, gpu->adapter.info.driver);
}

// Writes the pipeline cache of `size` bytes to the store.
static void spyi_vk_store_pipelines(spyi_vk_gpu *gpu, const spyi_text *question, size_t size) {
    spyi_text data = { NULL, 0, 0 };
    if (!gpu->base.ctx->store || size > SPYI_VK_MOST_PIPELINE_BYTES) return;
    data.data = (char *)spyi_malloc(size);
    data.size = size;
    if (data.data &&
        gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &data.size, data.data) == VK_SUCCESS)
        spyi_store_put(gpu->base.ctx->store, question, &data);
    free(data.data);
}

// The first start writes an empty cache at once, so that later starts find as many files as it had.
static VkResult spyi_vk_make_pipeline_cache(spyi_vk_gpu *gpu) {
    VkPipelineCacheCreateInfo info;
    spyi_text question = { NULL, 0, 0 }, kept = { NULL, 0, 0 };
    spyi_vk_pipeline_question(gpu, &question);
    (void)spyi_store_get(gpu->base.ctx->store, &question, &kept);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = kept.size; // the driver ignores data of another device or version
    info.pInitialData = kept.data;
    VkResult result = gpu->vk.vkCreatePipelineCache(gpu->device, &info, NULL, &gpu->pipeline_cache);
    if (result == VK_SUCCESS)
        (void)gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &gpu->pipeline_bytes, NULL);
    if (result == VK_SUCCESS && kept.size == 0) spyi_vk_store_pipelines(gpu, &question, gpu->pipeline_bytes);
    spyi_text_free(&question);
    spyi_text_free(&kept);
    return result;
}

static void spyi_vk_keep_pipeline_cache(spyi_vk_gpu *gpu) {
    spyi_text question = { NULL, 0, 0 };
    size_t size = 0;
    if (gpu->pipeline_cache == VK_NULL_HANDLE ||
        gpu->vk.vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &size, NULL) != VK_SUCCESS ||
        size == gpu->pipeline_bytes)
        return;
    spyi_vk_pipeline_question(gpu, &question);
    spyi_vk_store_pipelines(gpu, &question, size);
    spyi_text_free(&question);
}

static spy_status spyi_vk_setup(spyi_vk_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    const spy_vk_desc *engine = (const spy_vk_desc *)desc->backend_desc;
    VkResult result;
    spy_status status;
    uint32_t failed = spyi_failed_allocations();
    if (SPYI_DESC_PROBLEM(spy_vk_desc, engine) != NULL) {
        spyi_text_add(error, "desc.backend_desc: %s", SPYI_DESC_PROBLEM(spy_vk_desc, engine));
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_instance_init(&gpu->instance, gpu->base.ctx, engine, desc->enable_validation, error);
    if (status != SPY_OK) return status;
    gpu->base.slices = true;
    gpu->base.borrowed = engine != NULL && (engine->device != NULL || engine->instance != NULL);
    if (engine != NULL && engine->device != NULL) {
        status = spyi_vk_use_engine(gpu, engine, error);
    } else {
        status = spyi_vk_choose_adapter(&gpu->instance, desc, &gpu->adapter, error);
        if (status == SPY_OK) status = spyi_vk_make_device(gpu, error);
    }
    if (status == SPY_OK) status = spyi_vk_load_functions(gpu, error);
    // An extension that could not be asked for looks like one that is missing.
    status = spyi_check_allocations(failed, status, error);
    if (status != SPY_OK) return status;
    if (gpu->owned) {
        gpu->vk.vkGetDeviceQueue(gpu->device, gpu->queue_family, 0, &gpu->queue);
        gpu->vk.vkGetDeviceQueue(gpu->device, gpu->lane_family, 0, &gpu->lane_queue);
    }
    gpu->dynamic_rendering =
        gpu->adapter.features[SPYI_VK_FEATURE_dynamicRendering] && gpu->vk.vkCmdBeginRendering != NULL;
    gpu->base.spin_ns = gpu->adapter.info.type != SPY_ADAPTER_TYPE_CPU ? SPYI_VK_SPIN_NS : 0;
    if (!spyi_vk_choose_memory(gpu, error)) return SPY_ERROR_NO_DEVICE;
    spyi_vk_set_limits(gpu);
    result = spyi_vk_make_pipeline_cache(gpu);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreatePipelineCache", error);
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_QUEUE, (uint64_t)(uintptr_t)gpu->queue, desc->label);
    return spyi_vk_make_submit_objects(gpu, error);
}

SPYI_FN spy_status spyi_vk_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **out,
                                  spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)spyi_allocate(ctx, sizeof *gpu);
    spy_status status;
    *out = NULL;
    if (gpu == NULL) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    gpu->base.backend = spy_vk_backend();
    gpu->base.ctx = ctx;
    gpu->base.open = 1;
    spyi_mutex_init(&gpu->layout_lock);
    status = spyi_vk_setup(gpu, desc, error);
    if (status != SPY_OK) {
        spyi_vk_destroy((spyi_gpu *)(void *)gpu);
        return status;
    }
    spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "Vulkan device '%s', %s", gpu->adapter.info.name,
              gpu->adapter.info.driver);
    *out = (spyi_gpu *)(void *)gpu;
    return SPY_OK;
}

// Destroys a device, also one of which only a part was made.
SPYI_FN void spyi_vk_destroy(spyi_gpu *base) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_context *ctx = gpu->base.ctx;
    if (gpu->device != VK_NULL_HANDLE) {
        spyi_vk_wait_idle(gpu);
        spyi_vk_destroy_staging(gpu);
        spyi_vk_destroy_submit_objects(gpu);
        spyi_vk_destroy_render_passes(gpu);
        spyi_vk_destroy_layouts(gpu);
        spyi_vk_destroy_handles(gpu);
        spyi_vk_keep_pipeline_cache(gpu);
        gpu->vk.vkDestroyPipelineCache(gpu->device, gpu->pipeline_cache, NULL);
        if (gpu->owned) gpu->vk.vkDestroyDevice(gpu->device, NULL);
    }
    spyi_vk_instance_destroy(&gpu->instance);
    spyi_mutex_destroy(&gpu->layout_lock);
    if (gpu->shares) spyi_mutex_destroy(&gpu->share_lock);
    spyi_free(ctx, gpu, sizeof *gpu);
}

SPYI_COLD_END

// >>vk/memory.c ---------------------------------------------------------------------------------------------

// Device memory: chooses a memory type for each kind of memory, allocates chunks, and keeps pages for
// parameter blocks.

// Finds the first memory type with all flags of `need`, if possible with all of `want`, then if possible with
// none of `avoid`.
static bool spyi_vk_find_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags need,
                              VkMemoryPropertyFlags want, VkMemoryPropertyFlags avoid, uint32_t *type) {
    // Lazily allocated, protected, and AMD's coherent and uncached types are not meant for such buffers.
    const VkMemoryPropertyFlags never =
        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    uint32_t i;
    int best = -1;
    for (i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        int score = ((flags & want) == want ? 2 : 0) + ((flags & avoid) == 0 ? 1 : 0);
        if ((flags & need) != need || (flags & never) != 0 || score <= best) continue;
        best = score;
        *type = i;
    }
    return best >= 0;
}

// Chooses the memory types. It assumes that buffers of the library's usage may use every memory type that
// buffers can use; if not, the first allocation fails.
SPYI_FN bool spyi_vk_choose_memory(spyi_vk_gpu *gpu, spyi_text *error) {
    const VkPhysicalDeviceMemoryProperties *memory = &gpu->adapter.memory;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    bool discrete = gpu->adapter.info.type == SPY_ADAPTER_TYPE_DISCRETE;
    bool ok =
        spyi_vk_find_type(memory, local, discrete ? 0 : host | cached, discrete ? host : 0,
                          &gpu->memory_type[SPYI_VK_MEMORY_DEVICE]) &&
        spyi_vk_find_type(memory, host, cached, discrete ? local : 0,
                          &gpu->memory_type[SPYI_VK_MEMORY_READBACK]) &&
        spyi_vk_find_type(memory, host, 0, discrete ? local : 0, &gpu->memory_type[SPYI_VK_MEMORY_STAGING]) &&
        spyi_vk_find_type(memory, host, local, 0, &gpu->memory_type[SPYI_VK_MEMORY_PAGE]);
    if (!ok) spyi_text_add(error, "the device '%s' has no usable memory types", gpu->adapter.info.name);
    return ok;
}

// *what gets the name of the function that failed. `exported` says that the memory gets a file descriptor
// (vk/shared.c): an allocation for this buffer alone, because some drivers export no other.
SPYI_FN VkResult spyi_vk_try_allocate(spyi_vk_gpu *gpu, uint32_t type, size_t size, bool exported,
                                      spyi_chunk *chunk, const char **what) {
    VkMemoryPropertyFlags flags = gpu->adapter.memory.memoryTypes[type].propertyFlags;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBufferCreateInfo buffer_info;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info;
    VkMemoryAllocateFlagsInfo allocate_flags;
    VkExternalMemoryBufferCreateInfo external;
    VkExportMemoryAllocateInfo export_info;
    VkMemoryDedicatedAllocateInfo dedicated;
    VkBufferDeviceAddressInfo address;
    VkResult result;
    uint32_t families[2];
    families[0] = gpu->queue_family;
    families[1] = gpu->lane_family;
    SPYI_VK_ZERO(buffer_info);
    buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer_info.size = size;
    buffer_info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                        VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                        VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                        VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                        VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
    SPYI_VK_ZERO(external);
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    if (exported) buffer_info.pNext = &external;
    if (families[0] != families[1]) { // sharing between queues costs nothing for buffers
        buffer_info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        buffer_info.queueFamilyIndexCount = 2;
        buffer_info.pQueueFamilyIndices = families;
    }
    *what = "vkCreateBuffer";
    result = gpu->vk.vkCreateBuffer(gpu->device, &buffer_info, NULL, &buffer);
    if (result != VK_SUCCESS) return result;
    *what = "vkAllocateMemory";
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, buffer, &needs);

    SPYI_VK_ZERO(allocate_flags);
    allocate_flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    allocate_flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    SPYI_VK_ZERO(export_info);
    export_info.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
    export_info.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(dedicated);
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
    dedicated.buffer = buffer;
    dedicated.pNext = &export_info;
    if (exported) allocate_flags.pNext = &dedicated;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &allocate_flags;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    result = (needs.memoryTypeBits & (1u << type)) != 0 ? VK_SUCCESS : VK_ERROR_FEATURE_NOT_PRESENT;
    if (result == VK_SUCCESS) result = gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, &memory);
    if (result == VK_SUCCESS) {
        *what = "vkBindBufferMemory";
        result = gpu->vk.vkBindBufferMemory(gpu->device, buffer, memory, 0);
    }
    if (result == VK_SUCCESS && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
        *what = "vkMapMemory";
        result = gpu->vk.vkMapMemory(gpu->device, memory, 0, VK_WHOLE_SIZE, 0, &chunk->mapped);
    }
    if (result != VK_SUCCESS) {
        chunk->mapped = NULL;
        gpu->vk.vkDestroyBuffer(gpu->device, buffer, NULL);
        if (memory != VK_NULL_HANDLE) gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
        return result;
    }
    SPYI_VK_ZERO(address);
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = buffer;
    chunk->handle = (uint64_t)buffer;
    chunk->address = gpu->vk.vkGetBufferDeviceAddress(gpu->device, &address);
    chunk->size = size;
    chunk->memory = (void *)memory;
    return VK_SUCCESS;
}

SPYI_FN spy_status spyi_vk_allocate(spyi_vk_gpu *gpu, spyi_vk_memory kind, size_t size, const char *label,
                                    spyi_chunk *chunk, spyi_text *error) {
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const char *what = "vkAllocateMemory";
    uint32_t type = gpu->memory_type[kind];
    const VkMemoryHeap *heap =
        &gpu->adapter.memory.memoryHeaps[gpu->adapter.memory.memoryTypes[type].heapIndex];
    memset(chunk, 0, sizeof *chunk);
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    size = spyi_align(size, 256);
    if (size <= gpu->adapter.max_allocation && size <= heap->size)
        result = spyi_vk_try_allocate(gpu, type, size, false, chunk, &what);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY &&
        kind == SPYI_VK_MEMORY_PAGE) { // the heap of mapped device memory may be small
        result =
            spyi_vk_try_allocate(gpu, gpu->memory_type[SPYI_VK_MEMORY_STAGING], size, false, chunk, &what);
    }
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "%llu bytes%s%s%s were asked for; ", (unsigned long long)size,
                      label != NULL && label[0] != '\0' ? " for '" : "", label != NULL ? label : "",
                      label != NULL && label[0] != '\0' ? "'" : "");
        if (size > gpu->adapter.max_allocation || size > heap->size) {
            spyi_text_add(error, "the largest allocation of '%s' is %llu bytes", gpu->adapter.info.name,
                          (unsigned long long)(gpu->adapter.max_allocation < heap->size
                                                   ? gpu->adapter.max_allocation
                                                   : heap->size));
            return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        }
        return spyi_vk_fail(gpu, result, what, error);
    }
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += chunk->size;
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_BUFFER, chunk->handle, label);
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_allocate_chunk(spyi_gpu *base, spyi_memory memory, size_t size, const char *label,
                                          spyi_chunk *chunk, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_allocate(gpu, (spyi_vk_memory)memory, size, label, chunk, error);
    // The mapping of device memory that is not cached is not offered, because the host reads such memory at 1
    // us per 8 bytes.
    if (memory == SPYI_MEMORY_DEVICE && !gpu->base.limits.unified_memory) chunk->mapped = NULL;
    return status;
}

SPYI_FN void spyi_vk_free_chunk(spyi_gpu *base, spyi_chunk *chunk) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (chunk->memory != NULL) { // imported chunks have no memory here: the engine owns it
        gpu->vk.vkDestroyBuffer(gpu->device, (VkBuffer)chunk->handle, NULL);
        gpu->vk.vkFreeMemory(gpu->device, (VkDeviceMemory)chunk->memory, NULL);
        gpu->base.stats.driver_bytes -= chunk->size;
    }
    memset(chunk, 0, sizeof *chunk);
}

// >>pages

// Takes a free page of at least `size` bytes and at most twice that (or SPYI_VK_PAGE_SIZE). Returns NULL when
// there is none.
static spyi_vk_page *spyi_vk_reuse_page(spyi_vk_gpu *gpu, size_t size) {
    size_t most = size > SPYI_VK_PAGE_SIZE ? size * 2 : SPYI_VK_PAGE_SIZE;
    spyi_vk_page **at;
    for (at = &gpu->free_pages; *at != NULL; at = &(*at)->next) {
        spyi_vk_page *page = *at;
        if (page->chunk.size < size || page->chunk.size > most) continue;
        *at = page->next;
        gpu->free_page_bytes -= page->chunk.size;
        return page;
    }
    return NULL;
}

SPYI_FN spy_status spyi_vk_take_bytes(spyi_vk_gpu *gpu, size_t size, size_t alignment, spyi_vk_page **out,
                                      size_t *offset, spyi_text *error) {
    bool external = gpu->external != VK_NULL_HANDLE;
    spyi_vk_page **list = external ? &gpu->last_recording->pages : &gpu->batch->pages;
    spyi_vk_page *page = *list;
    size_t rounded = spyi_align(size, 16), at = page != NULL ? spyi_align(page->used, alignment) : 0;
    spy_status status;
    if (page == NULL || page->chunk.size < at + rounded) {
        page = spyi_vk_reuse_page(gpu, rounded);
        if (page == NULL) {
            page = (spyi_vk_page *)spyi_allocate(gpu->base.ctx, sizeof *page);
            if (page == NULL) {
                spyi_text_add(error, "no host memory for a page of parameters");
                return SPY_ERROR_OUT_OF_MEMORY;
            }
            status = spyi_vk_allocate(gpu, SPYI_VK_MEMORY_PAGE,
                                      rounded > SPYI_VK_PAGE_SIZE ? rounded : SPYI_VK_PAGE_SIZE,
                                      "slangpy parameters", &page->chunk, error);
            if (status != SPY_OK) {
                spyi_free(gpu->base.ctx, page, sizeof *page);
                return status;
            }
        }
        at = 0;
        page->next = *list;
        *list = page;
        if (external) gpu->base.stats.recording_bytes += page->chunk.size;
    }
    *out = page;
    *offset = at;
    page->used = at + rounded;
    gpu->work_bytes += rounded;
    return SPY_OK;
}

// Makes the view of a typed buffer. A page of the work keeps the view, and it is destroyed when that work has
// ended.
SPYI_FN spy_status spyi_vk_make_view(spyi_vk_gpu *gpu, const spyi_binding *binding, VkFormat format,
                                     VkBufferView *view, spyi_text *error) {
    VkBufferViewCreateInfo info;
    VkResult result;
    spyi_vk_page *page;
    size_t offset;
    spy_status status = spyi_vk_take_bytes(gpu, 0, 1, &page, &offset, error);
    if (status != SPY_OK) return status;
    if (page->view_count == page->view_capacity) {
        uint32_t capacity = page->view_capacity ? page->view_capacity * 2 : 16;
        VkBufferView *views = (VkBufferView *)spyi_realloc(page->views, capacity * sizeof *views);
        if (views == NULL) {
            spyi_text_add(error, "no host memory for a typed buffer");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        page->views = views;
        page->view_capacity = capacity;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
    info.buffer = (VkBuffer)binding->handle;
    info.format = format;
    info.offset = binding->offset;
    info.range = binding->range;
    result = gpu->vk.vkCreateBufferView(gpu->device, &info, NULL, view);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateBufferView", error);
    page->views[page->view_count++] = *view;
    return SPY_OK;
}

static void spyi_vk_free_views(spyi_vk_gpu *gpu, spyi_vk_page *page) {
    while (page->view_count > 0)
        gpu->vk.vkDestroyBufferView(gpu->device, page->views[--page->view_count], NULL);
}

static void spyi_vk_free_page(spyi_vk_gpu *gpu, spyi_vk_page *page) {
    spyi_vk_free_views(gpu, page);
    free(page->views);
    spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &page->chunk);
    spyi_free(gpu->base.ctx, page, sizeof *page);
}

SPYI_FN void spyi_vk_return_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages) {
    while (*pages != NULL) {
        spyi_vk_page *page = *pages;
        *pages = page->next;
        spyi_vk_free_views(gpu, page);
        if (gpu->free_page_bytes + page->chunk.size > SPYI_VK_PAGES_KEPT) {
            spyi_vk_free_page(gpu, page);
            continue;
        }
        page->next = gpu->free_pages;
        gpu->free_pages = page;
        gpu->free_page_bytes += page->chunk.size;
    }
}

SPYI_FN void spyi_vk_free_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages) {
    while (*pages != NULL) {
        spyi_vk_page *page = *pages;
        *pages = page->next;
        spyi_vk_free_page(gpu, page);
    }
}

// >>vk/handles.c --------------------------------------------------------------------------------------------

// Handles: the device's one table of textures, samplers and buffers that kernels find by numbers (descriptor
// indexing). It is descriptor set 1 of each kernel that uses handles, with a binding for each kind of descriptor. A
// handle is the number of an element of its binding, which is what Slang makes of DescriptorHandle<T> in SPIR-V; the
// compiler's side gives Slang's variables these bindings.
//
// Elements change while work that uses others of them is pending (UPDATE_UNUSED_WHILE_PENDING). An element that was
// given back is only taken again when the work that may use it has finished.

static const VkDescriptorType spyi_vk_handle_types[SPYI_HANDLE_KINDS] = {
    VK_DESCRIPTOR_TYPE_SAMPLER, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
};

static const uint32_t spyi_vk_handle_counts[SPYI_HANDLE_KINDS] = { 1024, 1024, 8192, 8192, 8192 };

SPYI_FN bool spyi_vk_has_handles(const spyi_vk_adapter *adapter) {
    static const uint16_t needs[] = { SPYI_VK_FEATURE_runtimeDescriptorArray,
                                      SPYI_VK_FEATURE_descriptorBindingPartiallyBound,
                                      SPYI_VK_FEATURE_descriptorBindingUpdateUnusedWhilePending,
                                      SPYI_VK_FEATURE_descriptorBindingSampledImageUpdateAfterBind,
                                      SPYI_VK_FEATURE_descriptorBindingStorageImageUpdateAfterBind,
                                      SPYI_VK_FEATURE_descriptorBindingStorageBufferUpdateAfterBind,
                                      SPYI_VK_FEATURE_shaderSampledImageArrayDynamicIndexing,
                                      SPYI_VK_FEATURE_shaderStorageImageArrayDynamicIndexing,
                                      SPYI_VK_FEATURE_shaderStorageBufferArrayDynamicIndexing };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (!adapter->features[needs[i]]) return false;
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++)
        if (adapter->handle_counts[i] < 64) return false;
    return true;
}

// Stores how many descriptors of each kind one set may have.
SPYI_FN void spyi_vk_query_handles(const VkPhysicalDeviceVulkan12Properties *v12, spyi_vk_adapter *adapter) {
    const uint32_t most[SPYI_HANDLE_KINDS] = { v12->maxDescriptorSetUpdateAfterBindSamplers / 2,
                                               v12->maxDescriptorSetUpdateAfterBindSamplers / 2,
                                               v12->maxDescriptorSetUpdateAfterBindSampledImages / 2,
                                               v12->maxDescriptorSetUpdateAfterBindStorageImages,
                                               v12->maxDescriptorSetUpdateAfterBindStorageBuffers };
    const uint32_t stage[SPYI_HANDLE_KINDS] = { v12->maxPerStageDescriptorUpdateAfterBindSamplers / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindSamplers / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindSampledImages / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindStorageImages,
                                                v12->maxPerStageDescriptorUpdateAfterBindStorageBuffers };
    // Half of the descriptors that a stage may have stays for the kernel's own bindings.
    const uint32_t share = v12->maxPerStageUpdateAfterBindResources / 2 / SPYI_HANDLE_KINDS;
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) {
        uint32_t count = spyi_vk_handle_counts[i];
        if (count > most[i] / 2) count = most[i] / 2;
        if (count > stage[i] / 2) count = stage[i] / 2;
        if (count > share) count = share;
        adapter->handle_counts[i] = count;
    }
}

static VkResult spyi_vk_make_handles(spyi_vk_gpu *gpu, spyi_vk_handles *h, const char **what) {
    const VkDescriptorBindingFlags flags = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                                           VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |
                                           VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT;
    VkDescriptorSetLayoutBinding bindings[SPYI_HANDLE_KINDS];
    VkDescriptorBindingFlags all[SPYI_HANDLE_KINDS];
    VkDescriptorPoolSize sizes[SPYI_HANDLE_KINDS];
    VkDescriptorSetLayoutBindingFlagsCreateInfo binding_flags;
    VkDescriptorSetLayoutCreateInfo layout;
    VkDescriptorPoolCreateInfo pool;
    VkDescriptorSetAllocateInfo set;
    memset(bindings, 0, sizeof bindings);
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = sizes[i].type = spyi_vk_handle_types[i];
        bindings[i].descriptorCount = sizes[i].descriptorCount = gpu->adapter.handle_counts[i];
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_ALL_GRAPHICS;
        all[i] = flags;
    }
    SPYI_VK_ZERO(binding_flags);
    binding_flags.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;
    binding_flags.bindingCount = SPYI_HANDLE_KINDS;
    binding_flags.pBindingFlags = all;
    SPYI_VK_ZERO(layout);
    layout.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    layout.pNext = &binding_flags;
    layout.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    layout.bindingCount = SPYI_HANDLE_KINDS;
    layout.pBindings = bindings;
    *what = "vkCreateDescriptorSetLayout";
    VkResult result = gpu->vk.vkCreateDescriptorSetLayout(gpu->device, &layout, NULL, &h->layout);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(pool);
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pool.maxSets = 1;
    pool.poolSizeCount = SPYI_HANDLE_KINDS;
    pool.pPoolSizes = sizes;
    *what = "vkCreateDescriptorPool";
    result = gpu->vk.vkCreateDescriptorPool(gpu->device, &pool, NULL, &h->pool);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(set);
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    set.descriptorPool = h->pool;
    set.descriptorSetCount = 1;
    set.pSetLayouts = &h->layout;
    *what = "vkAllocateDescriptorSets";
    return gpu->vk.vkAllocateDescriptorSets(gpu->device, &set, &h->set);
}

SPYI_FN void spyi_vk_destroy_handles(spyi_vk_gpu *gpu) {
    spyi_vk_handles *h = &gpu->handles;
    if (h->pool != VK_NULL_HANDLE) gpu->vk.vkDestroyDescriptorPool(gpu->device, h->pool, NULL);
    if (h->layout != VK_NULL_HANDLE) gpu->vk.vkDestroyDescriptorSetLayout(gpu->device, h->layout, NULL);
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) free(h->free[i]);
    memset(h, 0, sizeof *h);
}

// Makes the table of handles if there is none. The caller holds gpu->layout_lock.
SPYI_FN VkResult spyi_vk_need_handles(spyi_vk_gpu *gpu, const char **what) {
    if (gpu->handles.set != VK_NULL_HANDLE) return VK_SUCCESS;
    VkResult result = spyi_vk_make_handles(gpu, &gpu->handles, what);
    if (result != VK_SUCCESS) spyi_vk_destroy_handles(gpu);
    return result;
}

static uint32_t spyi_vk_handle_kind(spyi_binding_kind kind) {
    switch (kind) {
    case SPYI_BINDING_SAMPLER: return SPYI_HANDLE_SAMPLER;
    case SPYI_BINDING_COMBINED: return SPYI_HANDLE_COMBINED;
    case SPYI_BINDING_TEXTURE: return SPYI_HANDLE_TEXTURE;
    case SPYI_BINDING_RW_TEXTURE: return SPYI_HANDLE_RW_TEXTURE;
    default: return SPYI_HANDLE_BUFFER;
    }
}

// Returns the number of a free element; UINT32_MAX means that all are taken.
static uint32_t spyi_vk_take_handle(spyi_vk_gpu *gpu, uint32_t kind) {
    spyi_vk_handles *h = &gpu->handles;
    for (uint32_t i = 0; i < h->free_count[kind]; i++) {
        spyi_vk_free_handle *f = &h->free[kind][i];
        uint32_t number = f->number;
        if (spyi_vk_finished_submit((spyi_gpu *)(void *)gpu) < f->submit) continue;
        *f = h->free[kind][--h->free_count[kind]];
        return number;
    }
    return h->used[kind] < gpu->adapter.handle_counts[kind] ? h->used[kind]++ : UINT32_MAX;
}

SPYI_FN spy_status spyi_vk_add_handle(spyi_gpu *base, const spyi_binding *b, uint64_t *handle,
                                      spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const uint32_t kind = spyi_vk_handle_kind((spyi_binding_kind)b->kind);
    VkDescriptorImageInfo image;
    VkDescriptorBufferInfo buffer;
    VkWriteDescriptorSet write;
    const char *what = "";
    *handle = 0;
    if (!(gpu->base.limits.info.features & SPY_FEATURE_HANDLES)) {
        spyi_text_add(error, "the device '%s' has no descriptor indexing, which handles need",
                      gpu->adapter.info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_mutex_lock(&gpu->layout_lock);
    VkResult result = spyi_vk_need_handles(gpu, &what);
    spyi_mutex_unlock(&gpu->layout_lock);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, what, error);
    uint32_t number = spyi_vk_take_handle(gpu, kind);
    if (number == UINT32_MAX) {
        spyi_text_add(
            error,
            "the device's %u handles of this kind are all in use; release textures or buffers that have one",
            gpu->adapter.handle_counts[kind]);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    spyi_vk_describe_image(b, &image);
    buffer.buffer = (VkBuffer)b->handle;
    buffer.offset = b->offset;
    buffer.range = b->range;
    SPYI_VK_ZERO(write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = gpu->handles.set;
    write.dstBinding = kind;
    write.dstArrayElement = number;
    write.descriptorCount = 1;
    write.descriptorType = spyi_vk_handle_types[kind];
    write.pImageInfo = &image;
    write.pBufferInfo = &buffer;
    gpu->vk.vkUpdateDescriptorSets(gpu->device, 1, &write, 0, NULL);
    *handle = number;
    return SPY_OK;
}

SPYI_FN void spyi_vk_remove_handle(spyi_gpu *base, spyi_binding_kind binding, uint64_t handle) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_handles *h = &gpu->handles;
    const uint32_t kind = spyi_vk_handle_kind(binding);
    if (h->free_count[kind] == h->free_capacity[kind]) {
        uint32_t capacity = h->free_capacity[kind] ? h->free_capacity[kind] * 2 : 16;
        spyi_vk_free_handle *grown =
            (spyi_vk_free_handle *)spyi_realloc(h->free[kind], capacity * sizeof *grown);
        if (!grown) return; // the element stays taken
        h->free[kind] = grown;
        h->free_capacity[kind] = capacity;
    }
    h->free[kind][h->free_count[kind]].number = (uint32_t)handle;
    h->free[kind][h->free_count[kind]++].submit = gpu->base.open - (gpu->batch == NULL);
}

// >>vk/kernel.c ---------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// Kernels: makes a compute pipeline of SPIR-V, with a pipeline layout that kernels share. raster.c makes
// pipelines of draws with the same layouts. Several threads may load kernels at once. On the device this
// changes only the list of layouts, under a lock, and VkPipelineCache, which locks itself.

SPYI_FN VkFormat spyi_vk_texel_format(uint32_t scalar, uint32_t columns) {
    static const struct {
        uint8_t scalar;
        VkFormat formats[4];
    } list[] = {
#define SPYI_VK_FORMATS(bits, kind)                                                                          \
    { VK_FORMAT_R##bits##_##kind, VK_FORMAT_R##bits##G##bits##_##kind,                                       \
      VK_FORMAT_R##bits##G##bits##B##bits##_##kind, VK_FORMAT_R##bits##G##bits##B##bits##A##bits##_##kind }
        { SPY_DTYPE_FLOAT32, SPYI_VK_FORMATS(32, SFLOAT) },
        { SPY_DTYPE_FLOAT16, SPYI_VK_FORMATS(16, SFLOAT) },
        { SPY_DTYPE_INT32, SPYI_VK_FORMATS(32, SINT) },
        { SPY_DTYPE_UINT32, SPYI_VK_FORMATS(32, UINT) },
        { SPY_DTYPE_INT16, SPYI_VK_FORMATS(16, SINT) },
        { SPY_DTYPE_UINT16, SPYI_VK_FORMATS(16, UINT) },
        { SPY_DTYPE_INT8, SPYI_VK_FORMATS(8, SINT) },
        { SPY_DTYPE_UINT8, SPYI_VK_FORMATS(8, UINT) },
#undef SPYI_VK_FORMATS
    };
    size_t i;
    for (i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (list[i].scalar == scalar) return list[i].formats[columns - 1];
    }
    return VK_FORMAT_UNDEFINED;
}

static VkDescriptorType spyi_vk_descriptor_type(const spyi_parameter *parameter) {
    switch ((spyi_parameter_kind)parameter->kind) {
    case SPYI_PARAMETER_UNIFORM: return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    case SPYI_PARAMETER_TEXELS: return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    case SPYI_PARAMETER_RW_TEXELS: return VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
    case SPYI_PARAMETER_TEXTURE: return VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    case SPYI_PARAMETER_RW_TEXTURE: return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case SPYI_PARAMETER_SAMPLER: return VK_DESCRIPTOR_TYPE_SAMPLER;
    case SPYI_PARAMETER_COMBINED: return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    default: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    }
}

// Groups the kernel's bindings by the VkWriteDescriptorSet that fills them: one for neighbouring structured
// buffers, one for each array, and one for each typed buffer, texture and sampler.
static void spyi_vk_make_runs(spyi_vk_kernel *kernel, const spyi_vk_shape *shape) {
    spyi_vk_run *run = NULL;
    for (uint32_t i = 0; i < shape->count; i++) {
        const spyi_parameter *p = &shape->parameters[i];
        bool plain = p->kind == SPYI_PARAMETER_BUFFER && p->count == 1;
        if (!spyi_takes_bindings(p)) continue;
        if (run != NULL && plain) {
            run->count++;
            continue;
        }
        spyi_vk_run *next = &kernel->runs[kernel->run_count++];
        next->first = p->number;
        next->count = p->count;
        next->type = spyi_vk_descriptor_type(p);
        next->images = p->kind >= SPYI_PARAMETER_TEXTURE;
        next->format = p->kind == SPYI_PARAMETER_TEXELS || p->kind == SPYI_PARAMETER_RW_TEXELS
                           ? spyi_vk_texel_format(p->scalar, p->columns)
                           : VK_FORMAT_UNDEFINED;
        run = plain ? next : NULL;
    }
}

static VkResult spyi_vk_make_layout(spyi_vk_gpu *gpu, spyi_vk_layout *layout, const char **what) {
    VkDescriptorSetLayoutBinding bindings[SPYI_VK_MAX_BINDINGS];
    VkDescriptorSetLayoutCreateInfo set;
    VkPipelineLayoutCreateInfo info;
    VkPushConstantRange range;
    VkResult result = VK_SUCCESS;
    const spyi_vk_shape *shape = &layout->shape;
    VkDescriptorSetLayout sets[2];
    uint32_t i;
    if (shape->count > 0 || shape->handles) { // the table of handles is set 1, so there must be a set 0
        memset(bindings, 0, sizeof bindings);
        for (i = 0; i < shape->count; i++) {
            bindings[i].binding = shape->parameters[i].number;
            bindings[i].descriptorType = spyi_vk_descriptor_type(&shape->parameters[i]);
            bindings[i].descriptorCount = shape->parameters[i].count;
            bindings[i].stageFlags = shape->stages;
        }
        SPYI_VK_ZERO(set);
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
        set.bindingCount = shape->count;
        set.pBindings = bindings;
        *what = "vkCreateDescriptorSetLayout";
        result = gpu->vk.vkCreateDescriptorSetLayout(gpu->device, &set, NULL, &layout->set);
        if (result == VK_SUCCESS && shape->handles) result = spyi_vk_need_handles(gpu, what);
        if (result != VK_SUCCESS) return result;
    }
    sets[0] = layout->set;
    sets[1] = gpu->handles.layout;
    SPYI_VK_ZERO(range);
    // There is one range for all stages, even if each stage reads its own part: vkCmdPushConstants must name all
    // stages of every range that it touches, so that ranges for single stages would need a push for each.
    range.stageFlags = shape->stages;
    range.size = shape->push_size;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = shape->handles ? 2 : shape->count > 0 ? 1 : 0;
    info.pSetLayouts = sets;
    info.pushConstantRangeCount = shape->push_size > 0 ? 1 : 0;
    info.pPushConstantRanges = &range;
    *what = "vkCreatePipelineLayout";
    return gpu->vk.vkCreatePipelineLayout(gpu->device, &info, NULL, &layout->pipeline);
}

static void spyi_vk_free_layout(spyi_vk_gpu *gpu, spyi_vk_layout *layout) {
    gpu->vk.vkDestroyPipelineLayout(gpu->device, layout->pipeline, NULL);
    gpu->vk.vkDestroyDescriptorSetLayout(gpu->device, layout->set, NULL);
    spyi_free(gpu->base.ctx, layout, sizeof *layout);
}

// Finds or makes the layout for a shape. Layouts live as long as the device, because there are few.
static VkResult spyi_vk_find_layout(spyi_vk_gpu *gpu, const spyi_vk_shape *shape, VkPipelineLayout *out,
                                    const char **what) {
    spyi_vk_layout *layout;
    VkResult result = VK_SUCCESS;
    spyi_mutex_lock(&gpu->layout_lock);
    for (layout = gpu->layouts; layout != NULL; layout = layout->next) {
        if (memcmp(&layout->shape, shape, sizeof layout->shape) == 0) break;
    }
    if (layout == NULL) {
        layout = (spyi_vk_layout *)spyi_allocate(gpu->base.ctx, sizeof *layout);
        if (layout == NULL) {
            *what = "the allocation of a layout";
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
        } else {
            layout->shape = *shape;
            result = spyi_vk_make_layout(gpu, layout, what);
            if (result == VK_SUCCESS) {
                layout->next = gpu->layouts;
                gpu->layouts = layout;
            } else {
                spyi_vk_free_layout(gpu, layout);
            }
        }
    }
    *out = result == VK_SUCCESS ? layout->pipeline : VK_NULL_HANDLE;
    spyi_mutex_unlock(&gpu->layout_lock);
    return result;
}

SPYI_FN void spyi_vk_destroy_layouts(spyi_vk_gpu *gpu) {
    while (gpu->layouts != NULL) {
        spyi_vk_layout *layout = gpu->layouts;
        gpu->layouts = layout->next;
        spyi_vk_free_layout(gpu, layout);
    }
}

SPYI_FN spy_status spyi_vk_check_interface(const spyi_vk_gpu *gpu, const spyi_interface *iface,
                                           spyi_text *error) {
    const spyi_limits *limits = &gpu->base.limits;
    const VkPhysicalDeviceLimits *have = &gpu->adapter.limits;
    const spyi_kernel_base has = spyi_interface_counts(iface);
    uint32_t i, kinds[SPYI_PARAMETER_KINDS] = { 0 };
    if (!iface->block_by_address && iface->block_size > limits->profile.max_block_bytes) {
        spyi_text_add(error, "the kernel's %u bytes of parameters exceed the device's %u", iface->block_size,
                      limits->profile.max_block_bytes);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (spyi_interface_has(iface, SPYI_PARAMETER_HANDLES) && !(limits->info.features & SPY_FEATURE_HANDLES)) {
        spyi_text_add(
            error, "the kernel uses bindless handles, for which the device '%s' has no descriptor indexing",
            gpu->adapter.info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (has.binding_count + has.uniform_count > limits->profile.max_bindings ||
        has.uniform_count > limits->profile.max_uniforms) {
        spyi_text_add(error,
                      "the kernel has %u buffers, textures and samplers, and %u uniform buffers, the device "
                      "takes %u, of which %u uniform buffers",
                      has.binding_count, has.uniform_count, limits->profile.max_bindings,
                      limits->profile.max_uniforms);
        return SPY_ERROR_UNSUPPORTED;
    }
    for (i = 0; i < iface->parameter_count; i++)
        kinds[iface->parameters[i].kind] += iface->parameters[i].count;
    uint32_t sampled =
        kinds[SPYI_PARAMETER_TEXELS] + kinds[SPYI_PARAMETER_TEXTURE] + kinds[SPYI_PARAMETER_COMBINED];
    uint32_t stored = kinds[SPYI_PARAMETER_RW_TEXELS] + kinds[SPYI_PARAMETER_RW_TEXTURE];
    uint32_t samplers = kinds[SPYI_PARAMETER_SAMPLER] + kinds[SPYI_PARAMETER_COMBINED];
    if (samplers > have->maxPerStageDescriptorSamplers) {
        spyi_text_add(error, "the kernel has %u samplers, the device '%s' takes %u", samplers,
                      gpu->adapter.info.name, have->maxPerStageDescriptorSamplers);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (sampled > have->maxPerStageDescriptorSampledImages ||
        stored > have->maxPerStageDescriptorStorageImages) {
        spyi_text_add(error,
                      "the kernel has %u typed buffers and textures that it reads and %u that it writes, the "
                      "device '%s' takes %u and %u",
                      sampled, stored, gpu->adapter.info.name, have->maxPerStageDescriptorSampledImages,
                      have->maxPerStageDescriptorStorageImages);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

// Adds the driver's last message to the error. Mesa gives the reason of a VK_ERROR_UNKNOWN only in such a
// message.
static void spyi_vk_add_message(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_mutex_lock(&gpu->instance.message_lock);
    if (gpu->instance.message[0] != '\0')
        spyi_text_add(error, "; the driver's last message: %s", gpu->instance.message);
    spyi_mutex_unlock(&gpu->instance.message_lock);
}

SPYI_FN VkResult spyi_vk_make_module(spyi_vk_gpu *gpu, const void *code, size_t size,
                                     VkShaderModule *module) {
    VkShaderModuleCreateInfo info;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = size;
    info.pCode = (const uint32_t *)code;
    return gpu->vk.vkCreateShaderModule(gpu->device, &info, NULL, module);
}

// Makes the pipeline. On failure *what becomes the name of the Vulkan function that failed.
static VkResult spyi_vk_make_pipeline(spyi_vk_gpu *gpu, const spyi_kernel_desc *desc, spyi_vk_kernel *kernel,
                                      const char **what) {
    VkComputePipelineCreateInfo info;
    VkShaderModule module = VK_NULL_HANDLE;
    *what = "vkCreateShaderModule";
    VkResult result = spyi_vk_make_module(gpu, desc->code, desc->code_size, &module);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = desc->entry;
    info.layout = kernel->layout;
    *what = "vkCreateComputePipelines";
    result =
        gpu->vk.vkCreateComputePipelines(gpu->device, gpu->pipeline_cache, 1, &info, NULL, &kernel->pipeline);
    gpu->vk.vkDestroyShaderModule(gpu->device, module, NULL);
    return result;
}

SPYI_FN spy_status spyi_vk_end_kernel(spyi_vk_gpu *gpu, spyi_vk_kernel *kernel, const char *label,
                                      VkResult result, const char *what, spyi_kernel **out,
                                      spyi_text *error) {
    if (result != VK_SUCCESS) {
        spyi_free(gpu->base.ctx, kernel, kernel->size);
        spy_status status = spyi_vk_fail(gpu, result, what, error);
        spyi_text_add(error, " for kernel '%s'", label);
        spyi_vk_add_message(gpu, error);
        return status == SPY_ERROR_INTERNAL ? SPY_ERROR_COMPILE : status;
    }
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)kernel->pipeline, label);
    *out = (spyi_kernel *)(void *)kernel;
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_new_kernel(spyi_vk_gpu *gpu, const spyi_interface *iface, const char *label,
                                      VkShaderStageFlags stages, size_t size, spyi_vk_kernel **out,
                                      spyi_text *error) {
    spyi_vk_kernel *kernel = (spyi_vk_kernel *)spyi_allocate(gpu->base.ctx, size);
    spyi_kernel *none = NULL;
    spyi_vk_shape shape;
    const char *what = "";
    uint32_t i;
    *out = NULL;
    if (kernel == NULL) {
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    kernel->size = size;
    kernel->base = spyi_interface_counts(iface);
    kernel->stages = stages;
    kernel->bind_point = stages == VK_SHADER_STAGE_COMPUTE_BIT ? VK_PIPELINE_BIND_POINT_COMPUTE
                                                               : VK_PIPELINE_BIND_POINT_GRAPHICS;
    kernel->block_by_address = iface->block_by_address && iface->block_size > 0;
    kernel->push_size = kernel->block_by_address ? 8 : (uint32_t)spyi_align(iface->block_size, 4);
    (void)snprintf(kernel->label, sizeof kernel->label, "%s", label);
    SPYI_VK_ZERO(shape);
    shape.stages = stages;
    shape.push_size = kernel->push_size;
    for (i = 0; i < iface->parameter_count; i++) {
        if (iface->parameters[i].kind == SPYI_PARAMETER_HANDLES) shape.handles = 1;
        if (iface->parameters[i].kind == SPYI_PARAMETER_VALUES ||
            iface->parameters[i].kind == SPYI_PARAMETER_HANDLES)
            continue;
        shape.parameters[shape.count] = iface->parameters[i];
        SPYI_VK_ZERO(shape.parameters[shape.count].place); // layouts do not depend on the place
        shape.count++;
    }
    spyi_vk_make_runs(kernel, &shape);
    spyi_mutex_lock(&gpu->instance.message_lock);
    gpu->instance.message[0] = '\0';
    spyi_mutex_unlock(&gpu->instance.message_lock);
    VkResult result = spyi_vk_find_layout(gpu, &shape, &kernel->layout, &what);
    if (result != VK_SUCCESS) return spyi_vk_end_kernel(gpu, kernel, label, result, what, &none, error);
    *out = kernel;
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_load(spyi_gpu *base, const spyi_kernel_desc *desc, spyi_kernel **out,
                                spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const char *label = desc->label != NULL ? desc->label : desc->entry, *what = "";
    spyi_vk_kernel *kernel;
    spy_status status = spyi_vk_check_interface(gpu, &desc->iface, error);
    *out = NULL;
    if (status == SPY_OK)
        status = spyi_vk_check_code(&gpu->adapter, desc, VK_SHADER_STAGE_COMPUTE_BIT, error);
    if (status == SPY_OK)
        status = spyi_vk_new_kernel(gpu, &desc->iface, label, VK_SHADER_STAGE_COMPUTE_BIT, sizeof *kernel,
                                    &kernel, error);
    if (status != SPY_OK) return status;
    VkResult result = spyi_vk_make_pipeline(gpu, desc, kernel, &what);
    return spyi_vk_end_kernel(gpu, kernel, label, result, what, out, error);
}

SPYI_FN void spyi_vk_destroy_kernel(spyi_gpu *base, spyi_kernel *handle) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_kernel *kernel = (spyi_vk_kernel *)(void *)handle;
    gpu->vk.vkDestroyPipeline(gpu->device, kernel->pipeline, NULL);
    spyi_free(gpu->base.ctx, kernel, kernel->size);
}

SPYI_COLD_END

// >>vk/record.c ---------------------------------------------------------------------------------------------

// Records dispatches, copies, fills and timestamps into the open command buffer, the library's or an
// engine's. spyi_vk_dispatch is the hot path: it allocates, locks and formats nothing.

#if defined(__GNUC__) || defined(__clang__)
#define SPYI_VK_COLD __attribute__((noinline, cold))
#define SPYI_VK_HOT inline __attribute__((always_inline))
#else
#define SPYI_VK_COLD
#define SPYI_VK_HOT
#endif

SPYI_FN VkPipelineStageFlags spyi_vk_stages(const spyi_vk_gpu *gpu) {
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkPipelineStageFlags draw = VK_PIPELINE_STAGE_VERTEX_INPUT_BIT |
                                      VK_PIPELINE_STAGE_VERTEX_SHADER_BIT |
                                      VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT;
    return gpu->draws ? work | draw : work;
}

// Records a barrier for kernels alone. After it transfers still need a barrier of their own.
static SPYI_VK_HOT void spyi_vk_kernel_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    gpu->base.stats.barriers++;
    gpu->transfers_wait = true;
}

// Records a barrier. Earlier work is the work in this command buffer and all work before it on the queue. The
// source stages include the reading of group counts, because that comes before a dispatch's shader.
SPYI_FN void spyi_vk_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands, bool counts) {
    const VkPipelineStageFlags stages = spyi_vk_stages(gpu);
    VkPipelineStageFlags after = stages;
    // A barrier in an engine's command buffer may be executed after the next batch, so the next batch cannot rely on it.
    gpu->transferred = gpu->transfers_wait = gpu->external != VK_NULL_HANDLE;
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    if (gpu->draws) barrier.dstAccessMask |= VK_ACCESS_INDEX_READ_BIT | VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT;
    if (counts) {
        after |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
        barrier.dstAccessMask |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    }
    gpu->vk.vkCmdPipelineBarrier(commands, stages, after, 0, 1, &barrier, 0, NULL, 0, NULL);
    gpu->base.stats.barriers++;
}

SPYI_FN void spyi_vk_before_transfer(spyi_vk_gpu *gpu, bool barrier) {
    if (barrier || gpu->transfers_wait) spyi_vk_barrier(gpu, gpu->commands, false);
    gpu->transferred = true;
}

// Adds the stages and accesses of a use of an image; the writes alone if `first`, as reads need no flush.
static void spyi_vk_add_access(uint32_t how, bool first, VkPipelineStageFlags *stages,
                               VkAccessFlags *access) {
    const bool reads = (how & SPYI_USE_READS) && !first, writes = (how & SPYI_USE_WRITES) || first;
    if (how & SPYI_USE_ATTACHMENT) {
        *stages |= VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                   VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
        *access |= VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
        if (!first)
            *access |= VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    } else if (how & SPYI_USE_COPIED) {
        if (reads) *access |= VK_ACCESS_TRANSFER_READ_BIT;
        if (writes) *access |= VK_ACCESS_TRANSFER_WRITE_BIT;
    } else if (how & SPYI_USE_STORED) { // later reads and writes need no further transition
        *access |= VK_ACCESS_SHADER_WRITE_BIT;
        if (!first) *access |= VK_ACCESS_SHADER_READ_BIT;
    } else if (how & SPYI_USE_SAMPLED) {
        if (!first) *access |= VK_ACCESS_SHADER_READ_BIT;
    }
}

#define SPYI_VK_TRANSITIONS 16u // the number of transitions in one vkCmdPipelineBarrier

static void spyi_vk_transit(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_before *before,
                            bool back) {
    const VkPipelineStageFlags stages = spyi_vk_stages(gpu);
    VkImageMemoryBarrier barriers[SPYI_VK_TRANSITIONS];
    uint32_t done, count, i;
    for (done = 0; done < before->transition_count; done += count) {
        VkPipelineStageFlags from = stages, to = stages;
        count = before->transition_count - done;
        if (count > SPYI_VK_TRANSITIONS) count = SPYI_VK_TRANSITIONS;
        memset(barriers, 0, count * sizeof *barriers);
        for (i = 0; i < count; i++) {
            const spyi_transition *t = &before->transitions[done + i];
            const uint32_t begin = back ? t->to : t->from, end = back && t->from ? t->from : t->to;
            VkImageMemoryBarrier *b = &barriers[i];
            b->sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
            spyi_vk_add_access(begin, true, &from, &b->srcAccessMask);
            spyi_vk_add_access(end, false, &to, &b->dstAccessMask);
            b->oldLayout = spyi_vk_image_layout(begin, t->format);
            b->newLayout = spyi_vk_image_layout(end, t->format);
            b->srcQueueFamilyIndex = b->dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            b->image = (VkImage)t->texture;
            b->subresourceRange.aspectMask = spyi_vk_aspects(t->format);
            b->subresourceRange.baseMipLevel = t->level;
            b->subresourceRange.levelCount = 1;
            b->subresourceRange.baseArrayLayer = t->first_layer;
            b->subresourceRange.layerCount = t->layer_count;
        }
        gpu->vk.vkCmdPipelineBarrier(commands, from, to, 0, 0, NULL, 0, NULL, count, barriers);
    }
}

SPYI_FN SPYI_VK_COLD void spyi_vk_before(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                         const spyi_before *before, bool counts) {
    if (before->barrier) spyi_vk_barrier(gpu, commands, counts);
    spyi_vk_transit(gpu, commands, before, false);
}

// Takes the layouts back after a failure, because work that fails must not change them. A part without
// content keeps its new layout: the next transition begins with nothing, too.
SPYI_FN SPYI_VK_COLD spy_status spyi_vk_failed(spyi_vk_gpu *gpu, const spyi_before *before,
                                               spy_status status) {
    spyi_vk_end_pass(gpu);
    gpu->pass.bound = NULL; // the failed work may be freed
    if (before->transition_count) spyi_vk_transit(gpu, gpu->commands, before, true);
    return status;
}

// Begins the open batch in its slot, or, during a recording, takes the engine's command buffer. Ends an open pass.
SPYI_FN SPYI_VK_COLD spy_status spyi_vk_begin(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_vk_batch *batch;
    VkCommandBufferBeginInfo info;
    VkResult result;
    spy_status status;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    spyi_vk_end_pass(gpu);
    if (gpu->commands != VK_NULL_HANDLE) return SPY_OK;
    gpu->pass.bound =
        NULL; // the next commands go to another command buffer, or the engine may have set its own state
    if (gpu->external != VK_NULL_HANDLE) {
        gpu->commands = gpu->external;
        gpu->bound = NULL;
        return SPY_OK;
    }
    status = spyi_vk_take_slot(gpu, &batch, error);
    if (status != SPY_OK) return status;
    result = gpu->vk.vkResetCommandPool(gpu->device, batch->pool, 0);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkResetCommandPool", error);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    result = gpu->vk.vkBeginCommandBuffer(batch->commands, &info);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkBeginCommandBuffer", error);
    batch->number = gpu->base.open;
    batch->recent_count = 0;
    gpu->batch = batch;
    gpu->commands = batch->commands;
    gpu->bound = NULL;
    spyi_vk_open_labels(gpu);
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_recorded(spyi_vk_gpu *gpu, bool urgent, spyi_text *error) {
    spy_status status;
    uint64_t now, spent;
    if (gpu->external != VK_NULL_HANDLE) {
        spyi_vk_end_pass(gpu);
        gpu->commands = VK_NULL_HANDLE; // the engine may record between two calls: bind the pipeline again
        gpu->external_used = true;
        gpu->last_recording->used = true;
        return SPY_OK;
    }
    if (++gpu->work >= SPYI_VK_BATCH_WORK || gpu->work_bytes >= SPYI_VK_BATCH_BYTES) {
        return spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    }
    if (!urgent || gpu->timing) return SPY_OK; // timed work stays in one batch
    // Reading the clock costs as much as vkCmdPushConstants, so only every eighth operation reads it.
    if (gpu->next_poll_ns != 0 && (gpu->work & 7u) != 0) return SPY_OK;
    now = spyi_time_ns();
    if (now < gpu->next_poll_ns) return SPY_OK;
    gpu->next_poll_ns = now + SPYI_VK_POLL_NS;
    if (spyi_vk_poll(gpu) + 1 < gpu->base.open) return SPY_OK;
    status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    spent = (spyi_time_ns() - now) * SPYI_VK_IDLE_SHARE;
    gpu->next_poll_ns = now + (spent < SPYI_VK_IDLE_MIN_NS   ? SPYI_VK_IDLE_MIN_NS
                               : spent > SPYI_VK_IDLE_MAX_NS ? SPYI_VK_IDLE_MAX_NS
                                                             : spent);
    return status;
}

// >>dispatch

SPYI_FN void spyi_vk_describe_image(const spyi_binding *b, VkDescriptorImageInfo *image) {
    bool general = b->kind == SPYI_BINDING_RW_TEXTURE || b->offset == SPYI_USE_STORED;
    image->sampler = b->kind == SPYI_BINDING_SAMPLER    ? (VkSampler)b->handle
                     : b->kind == SPYI_BINDING_COMBINED ? (VkSampler)b->range
                                                        : VK_NULL_HANDLE;
    image->imageView = b->kind == SPYI_BINDING_SAMPLER ? VK_NULL_HANDLE : (VkImageView)b->handle;
    image->imageLayout = general ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
}

static SPYI_VK_COLD void spyi_vk_describe_images(const spyi_binding *bindings, const spyi_vk_run *run,
                                                 VkDescriptorImageInfo *images) {
    for (uint32_t i = run->first; i < run->first + run->count; i++)
        spyi_vk_describe_image(&bindings[i], &images[i]);
}

static spy_status spyi_vk_push_bindings(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                        const spyi_vk_kernel *kernel, const spyi_binding *bindings,
                                        spyi_text *error) {
    VkDescriptorBufferInfo infos[SPYI_VK_MAX_BINDINGS];
    VkDescriptorImageInfo images[SPYI_VK_MAX_BINDINGS];
    VkBufferView views[SPYI_VK_MAX_BINDINGS];
    VkWriteDescriptorSet writes[SPYI_VK_MAX_BINDINGS];
    uint32_t i, r;
    for (r = 0; r < kernel->run_count; r++) {
        const spyi_vk_run *run = &kernel->runs[r];
        VkWriteDescriptorSet *write = &writes[r];
        if (run->images) spyi_vk_describe_images(bindings, run, images);
        for (i = run->first; !run->images && i < run->first + run->count; i++) {
            infos[i].buffer = (VkBuffer)bindings[i].handle;
            infos[i].offset = bindings[i].offset;
            infos[i].range = bindings[i].range;
            if (SPYI_LIKELY(run->format == VK_FORMAT_UNDEFINED)) continue;
            spy_status status = spyi_vk_make_view(gpu, &bindings[i], run->format, &views[i], error);
            if (status != SPY_OK) return status;
        }
        write->sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write->pNext = NULL;
        write->dstSet = VK_NULL_HANDLE;
        write->dstBinding = run->first;
        write->dstArrayElement = 0;
        write->descriptorCount = run->count;
        write->descriptorType = run->type;
        write->pImageInfo = images + run->first;
        write->pBufferInfo = infos + run->first;
        write->pTexelBufferView = views + run->first;
    }
    gpu->vk.vkCmdPushDescriptorSetKHR(commands, kernel->bind_point, kernel->layout, 0, kernel->run_count,
                                      writes);
    return SPY_OK;
}

// Copies the bytes of uniform buffers into pages, and binds them behind the kernel's other buffers.
static SPYI_VK_COLD spy_status spyi_vk_push_uniforms(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                                     const spyi_vk_kernel *kernel,
                                                     const spyi_uniform *uniforms, spyi_text *error) {
    VkDescriptorBufferInfo infos[SPYI_VK_MAX_BINDINGS];
    VkWriteDescriptorSet write;
    uint32_t i;
    for (i = 0; i < kernel->base.uniform_count; i++) {
        spyi_vk_page *page;
        size_t offset;
        spy_status status = spyi_vk_take_bytes(gpu, uniforms[i].size,
                                               (size_t)gpu->adapter.limits.minUniformBufferOffsetAlignment,
                                               &page, &offset, error);
        if (status != SPY_OK) return status;
        memcpy((char *)page->chunk.mapped + offset, uniforms[i].data, uniforms[i].size);
        infos[i].buffer = (VkBuffer)page->chunk.handle;
        infos[i].offset = offset;
        infos[i].range = uniforms[i].size;
    }
    SPYI_VK_ZERO(write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstBinding = kernel->base.binding_count;
    write.descriptorCount = kernel->base.uniform_count;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    write.pBufferInfo = infos;
    gpu->vk.vkCmdPushDescriptorSetKHR(commands, kernel->bind_point, kernel->layout, 0, 1, &write);
    return SPY_OK;
}

// Pushes a block that vkCmdPushConstants cannot take unchanged: one that goes through memory, so that its
// address is pushed, or one whose size is not a multiple of 4.
static SPYI_VK_COLD spy_status spyi_vk_push_block(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                                  const spyi_vk_kernel *kernel, const void *block,
                                                  spyi_text *error) {
    unsigned char padded[512];
    const void *push = padded;
    if (kernel->block_by_address) {
        spyi_vk_page *page;
        size_t offset;
        uint64_t address;
        spy_status status = spyi_vk_take_bytes(gpu, kernel->base.block_size, 16, &page, &offset, error);
        if (status != SPY_OK) return status;
        memcpy((char *)page->chunk.mapped + offset, block, kernel->base.block_size);
        address = page->chunk.address + offset;
        memcpy(padded, &address, sizeof address);
    } else if (kernel->push_size <= sizeof padded) {
        memset(padded, 0, kernel->push_size);
        memcpy(padded, block, kernel->base.block_size);
    } else {
        spyi_text_add(error, "a parameter block of %u bytes is no multiple of 4", kernel->base.block_size);
        return SPY_ERROR_INTERNAL;
    }
    gpu->vk.vkCmdPushConstants(commands, kernel->layout, kernel->stages, 0, kernel->push_size, push);
    return SPY_OK;
}

// Pushes a kernel's block, unless the command buffer has it from the last call. The kernel is bound, and its block is its push
// constants. Where the blocks of several calls have differed, the next ones are not compared.
static SPYI_VK_HOT void spyi_vk_push_constants(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                               const spyi_vk_kernel *kernel, const void *block) {
    const uint32_t size = kernel->push_size;
    if (gpu->pushed_size == size) {
        if (memcmp(gpu->pushed, block, size) == 0) return;
        gpu->pushed_size = 0;
        gpu->pushed_changes++;
    }
    if (gpu->pushed_changes < SPYI_VK_MOST_CHANGES && size <= SPYI_VK_MAX_PUSHED) {
        memcpy(gpu->pushed, block, size);
        gpu->pushed_size = size;
    }
    gpu->vk.vkCmdPushConstants(commands, kernel->layout, kernel->stages, 0, size, block);
}

static SPYI_VK_HOT spy_status spyi_vk_push(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                           const spyi_vk_kernel *kernel, const void *block,
                                           const spyi_binding *bindings, const spyi_uniform *uniforms,
                                           spyi_text *error) {
    spy_status status = SPY_OK;
    if (SPYI_LIKELY(kernel->push_size == kernel->base.block_size && !kernel->block_by_address)) {
        if (kernel->push_size > 0) spyi_vk_push_constants(gpu, commands, kernel, block);
    } else {
        status = spyi_vk_push_block(gpu, commands, kernel, block, error);
        if (status != SPY_OK) return status;
    }
    if (kernel->run_count > 0 && bindings != NULL) {
        status = spyi_vk_push_bindings(gpu, commands, kernel, bindings, error);
        if (status != SPY_OK) return status;
    }
    if (kernel->base.uniform_count > 0)
        status = spyi_vk_push_uniforms(gpu, commands, kernel, uniforms, error);
    if (!SPYI_LIKELY(!kernel->base.handles))
        gpu->vk.vkCmdBindDescriptorSets(commands, kernel->bind_point, kernel->layout, SPYI_HANDLE_SET, 1,
                                        &gpu->handles.set, 0, NULL);
    return status;
}

SPYI_FN spy_status spyi_vk_push_inputs(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                       const spyi_vk_kernel *kernel, const void *block,
                                       const spyi_binding *bindings, const spyi_uniform *uniforms,
                                       spyi_text *error) {
    gpu->pushed_size = 0; // those of gpu->bound are overwritten
    const spy_status status = spyi_vk_push(gpu, commands, kernel, block, bindings, uniforms, error);
    gpu->pushed_size = 0;
    return status;
}

SPYI_FN spy_status spyi_vk_dispatch(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    spyi_vk_kernel *kernel = (spyi_vk_kernel *)(void *)dispatch->kernel;
    VkCommandBuffer commands;
    spy_status status;
    if (!SPYI_LIKELY(gpu->commands != VK_NULL_HANDLE)) {
        status = spyi_vk_begin(gpu, error);
        if (status != SPY_OK) return status;
    }
    commands = gpu->commands;
    if (!SPYI_LIKELY(work->before.transition_count == 0))
        spyi_vk_before(gpu, commands, &work->before, dispatch->indirect != 0);
    else if (work->before.barrier) {
        if (SPYI_LIKELY(!gpu->transferred && !gpu->draws && gpu->external == VK_NULL_HANDLE &&
                        dispatch->indirect == 0))
            spyi_vk_kernel_barrier(gpu, commands);
        else spyi_vk_barrier(gpu, commands, dispatch->indirect != 0);
    }
    if (gpu->bound != kernel) {
        gpu->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->pipeline);
        gpu->bound = kernel;
        gpu->pushed_size = gpu->pushed_changes = 0;
    }
    status =
        spyi_vk_push(gpu, commands, kernel, dispatch->block, dispatch->bindings, dispatch->uniforms, error);
    if (!SPYI_LIKELY(status == SPY_OK)) return spyi_vk_failed(gpu, &work->before, status);
    if (SPYI_LIKELY(dispatch->indirect == 0)) {
        gpu->vk.vkCmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
    } else {
        gpu->vk.vkCmdDispatchIndirect(commands, (VkBuffer)dispatch->indirect, dispatch->indirect_offset);
    }
    gpu->base.stats.dispatches++;
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_vk_batch *batch = gpu->batch;
        batch->recent[batch->recent_count++ % SPYI_VK_RECENT] = dispatch->kernel;
    }
    return spyi_vk_recorded(gpu, true, error);
}

// >>copies and fills

SPYI_FN spy_status spyi_vk_copy_buffer(spyi_vk_gpu *gpu, uint64_t to, uint64_t to_offset, uint64_t from,
                                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error) {
    VkBufferCopy region;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, barrier);
    region.srcOffset = from_offset;
    region.dstOffset = to_offset;
    region.size = size;
    gpu->vk.vkCmdCopyBuffer(gpu->commands, (VkBuffer)from, (VkBuffer)to, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_copy_work *copy = (const spyi_copy_work *)(const void *)work;
    return spyi_vk_copy_buffer((spyi_vk_gpu *)(void *)gpu, copy->to->handle, copy->to_offset,
                               copy->from->handle, copy->from_offset, copy->size, work->before.barrier,
                               error);
}

SPYI_FN spy_status spyi_vk_fill(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_fill_work *fill = (const spyi_fill_work *)(const void *)work;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    gpu->vk.vkCmdFillBuffer(gpu->commands, (VkBuffer)fill->to->handle, fill->offset, fill->size,
                            fill->pattern);
    return spyi_vk_recorded(gpu, false, error);
}

// >>timestamps

SPYI_FN spy_status spyi_vk_make_queries(spyi_vk_gpu *gpu, VkQueryPool *pool, uint32_t count,
                                        spyi_text *error) {
    VkQueryPoolCreateInfo info;
    VkResult result;
    if (gpu->adapter.timestamp_bits == 0) {
        spyi_text_add(error, "the queue of '%s' has no timestamps", gpu->adapter.info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (*pool != VK_NULL_HANDLE) return SPY_OK;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = count;
    result = gpu->vk.vkCreateQueryPool(gpu->device, &info, NULL, pool);
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateQueryPool", error);
}

// The barrier makes the timestamp wait for earlier work, so that its time is not counted.
SPYI_FN spy_status spyi_vk_time_begin(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_make_queries(gpu, &gpu->queries, 2, error);
    if (status == SPY_OK) status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->time_number = 0;
    gpu->timing = true;
    spyi_vk_barrier(gpu, gpu->commands, false);
    gpu->vk.vkCmdResetQueryPool(gpu->commands, gpu->queries, 0, 2);
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->queries, 0);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_end(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status;
    if (gpu->queries == VK_NULL_HANDLE) {
        spyi_text_add(error, "no time was begun");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    gpu->timing = false;
    status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->queries, 1);
    gpu->time_number = gpu->base.open;
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_elapsed(spyi_gpu *base, uint64_t *ns, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint64_t ticks[2], mask = UINT64_MAX;
    VkResult result;
    spy_status status;
    *ns = 0;
    if (gpu->time_number == 0) {
        spyi_text_add(error, "no time was taken");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_wait(base, gpu->time_number, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    result =
        gpu->vk.vkGetQueryPoolResults(gpu->device, gpu->queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkGetQueryPoolResults", error);
    if (gpu->adapter.timestamp_bits < 64) mask = ((uint64_t)1 << gpu->adapter.timestamp_bits) - 1;
    *ns = (uint64_t)((double)((ticks[1] - ticks[0]) & mask) * (double)gpu->adapter.limits.timestampPeriod);
    return SPY_OK;
}

// >>vk/image.c ----------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// Images, their views, and samplers. Each image has memory of its own: drivers allow thousands of allocations.

// The format that Vulkan has for each spy_format.
static const VkFormat spyi_vk_image_formats[SPY_FORMAT_COUNT] = {
    VK_FORMAT_UNDEFINED,
    VK_FORMAT_R8_UINT,
    VK_FORMAT_R8_SINT,
    VK_FORMAT_R8_UNORM,
    VK_FORMAT_R8_SNORM,
    VK_FORMAT_R8G8_UINT,
    VK_FORMAT_R8G8_SINT,
    VK_FORMAT_R8G8_UNORM,
    VK_FORMAT_R8G8_SNORM,
    VK_FORMAT_R8G8B8A8_UINT,
    VK_FORMAT_R8G8B8A8_SINT,
    VK_FORMAT_R8G8B8A8_UNORM,
    VK_FORMAT_R8G8B8A8_SRGB,
    VK_FORMAT_R8G8B8A8_SNORM,
    VK_FORMAT_B8G8R8A8_UNORM,
    VK_FORMAT_B8G8R8A8_SRGB,
    VK_FORMAT_B8G8R8A8_UNORM,
    VK_FORMAT_B8G8R8A8_SRGB,
    VK_FORMAT_R16_UINT,
    VK_FORMAT_R16_SINT,
    VK_FORMAT_R16_UNORM,
    VK_FORMAT_R16_SNORM,
    VK_FORMAT_R16_SFLOAT,
    VK_FORMAT_R16G16_UINT,
    VK_FORMAT_R16G16_SINT,
    VK_FORMAT_R16G16_UNORM,
    VK_FORMAT_R16G16_SNORM,
    VK_FORMAT_R16G16_SFLOAT,
    VK_FORMAT_R16G16B16A16_UINT,
    VK_FORMAT_R16G16B16A16_SINT,
    VK_FORMAT_R16G16B16A16_UNORM,
    VK_FORMAT_R16G16B16A16_SNORM,
    VK_FORMAT_R16G16B16A16_SFLOAT,
    VK_FORMAT_R32_UINT,
    VK_FORMAT_R32_SINT,
    VK_FORMAT_R32_SFLOAT,
    VK_FORMAT_R32G32_UINT,
    VK_FORMAT_R32G32_SINT,
    VK_FORMAT_R32G32_SFLOAT,
    VK_FORMAT_R32G32B32_UINT,
    VK_FORMAT_R32G32B32_SINT,
    VK_FORMAT_R32G32B32_SFLOAT,
    VK_FORMAT_R32G32B32A32_UINT,
    VK_FORMAT_R32G32B32A32_SINT,
    VK_FORMAT_R32G32B32A32_SFLOAT,
    VK_FORMAT_R64_UINT,
    VK_FORMAT_R64_SINT,
    VK_FORMAT_A4R4G4B4_UNORM_PACK16,
    VK_FORMAT_R5G6B5_UNORM_PACK16,
    VK_FORMAT_A1R5G5B5_UNORM_PACK16,
    VK_FORMAT_E5B9G9R9_UFLOAT_PACK32,
    VK_FORMAT_A2B10G10R10_UINT_PACK32,
    VK_FORMAT_A2B10G10R10_UNORM_PACK32,
    VK_FORMAT_B10G11R11_UFLOAT_PACK32,
    VK_FORMAT_D32_SFLOAT,
    VK_FORMAT_D16_UNORM,
    VK_FORMAT_D32_SFLOAT_S8_UINT,
    VK_FORMAT_BC1_RGBA_UNORM_BLOCK,
    VK_FORMAT_BC1_RGBA_SRGB_BLOCK,
    VK_FORMAT_BC2_UNORM_BLOCK,
    VK_FORMAT_BC2_SRGB_BLOCK,
    VK_FORMAT_BC3_UNORM_BLOCK,
    VK_FORMAT_BC3_SRGB_BLOCK,
    VK_FORMAT_BC4_UNORM_BLOCK,
    VK_FORMAT_BC4_SNORM_BLOCK,
    VK_FORMAT_BC5_UNORM_BLOCK,
    VK_FORMAT_BC5_SNORM_BLOCK,
    VK_FORMAT_BC6H_UFLOAT_BLOCK,
    VK_FORMAT_BC6H_SFLOAT_BLOCK,
    VK_FORMAT_BC7_UNORM_BLOCK,
    VK_FORMAT_BC7_SRGB_BLOCK,
    VK_FORMAT_ASTC_4x4_UNORM_BLOCK,
    VK_FORMAT_ASTC_4x4_SRGB_BLOCK,
    VK_FORMAT_ASTC_6x6_UNORM_BLOCK,
    VK_FORMAT_ASTC_6x6_SRGB_BLOCK,
    VK_FORMAT_ASTC_8x8_UNORM_BLOCK,
    VK_FORMAT_ASTC_8x8_SRGB_BLOCK,
};

SPYI_FN VkFormat spyi_vk_format(uint32_t format) {
    return format < SPY_FORMAT_COUNT ? spyi_vk_image_formats[format] : VK_FORMAT_UNDEFINED;
}

SPYI_FN VkImageAspectFlags spyi_vk_aspects(uint32_t format) {
    switch (format) {
    case SPY_FORMAT_D32_FLOAT:
    case SPY_FORMAT_D16_UNORM: return VK_IMAGE_ASPECT_DEPTH_BIT;
    case SPY_FORMAT_D32_FLOAT_S8_UINT: return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default: return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

SPYI_FN VkImageLayout spyi_vk_image_layout(uint32_t how, uint32_t format) {
    const uint32_t both = SPYI_USE_READS | SPYI_USE_WRITES;
    if (how == 0) return VK_IMAGE_LAYOUT_UNDEFINED;
    if (how & SPYI_USE_STORED) return VK_IMAGE_LAYOUT_GENERAL;
    if (how & SPYI_USE_SAMPLED) return VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    if (how & SPYI_USE_ATTACHMENT)
        return spyi_vk_aspects(format) == VK_IMAGE_ASPECT_COLOR_BIT
                   ? VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
                   : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    if ((how & both) == both) return VK_IMAGE_LAYOUT_GENERAL;
    return how & SPYI_USE_WRITES ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
                                 : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

SPYI_FN VkFormatFeatureFlags spyi_vk_format_features(const spyi_vk_gpu *gpu, uint32_t format) {
    VkFormatProperties properties;
    VkFormat vk = spyi_vk_format(format);
    if (vk == VK_FORMAT_UNDEFINED ||
        (vk == VK_FORMAT_A4R4G4B4_UNORM_PACK16 && gpu->adapter.api_version < VK_API_VERSION_1_3) ||
        (format >= SPY_FORMAT_BC1_UNORM && format <= SPY_FORMAT_BC7_UNORM_SRGB &&
         !gpu->adapter.features[SPYI_VK_FEATURE_textureCompressionBC]) ||
        (format >= SPY_FORMAT_ASTC4X4_UNORM &&
         !gpu->adapter.features[SPYI_VK_FEATURE_textureCompressionASTC_LDR]))
        return 0;
    gpu->instance.GetPhysicalDeviceFormatProperties(gpu->adapter.handle, vk, &properties);
    return properties.optimalTilingFeatures;
}

static VkImageUsageFlags spyi_vk_image_usage(uint32_t usage) {
    VkImageUsageFlags flags = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (usage & SPY_TEXTURE_USAGE_SAMPLED) flags |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (usage & SPY_TEXTURE_USAGE_STORED) flags |= VK_IMAGE_USAGE_STORAGE_BIT;
    if (usage & SPY_TEXTURE_USAGE_COLOR_TARGET) flags |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (usage & SPY_TEXTURE_USAGE_DEPTH_TARGET) flags |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    return flags;
}

SPYI_FN uint32_t spyi_vk_image_support(spyi_gpu *base, uint32_t format) {
    const spyi_vk_gpu *gpu = (const spyi_vk_gpu *)(const void *)base;
    const VkFormatFeatureFlags has = spyi_vk_format_features(gpu, format);
    const VkFormatFeatureFlags copies =
        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    VkImageFormatProperties limits;
    uint32_t usage = 0;
    if ((has & copies) != copies) return 0;
    if (has & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) usage |= SPY_TEXTURE_USAGE_SAMPLED;
    if (has & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT) usage |= SPY_TEXTURE_USAGE_STORED;
    if (has & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) usage |= SPY_TEXTURE_USAGE_COLOR_TARGET;
    if (has & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT) usage |= SPY_TEXTURE_USAGE_BLENDED;
    if (has & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) usage |= SPY_TEXTURE_USAGE_DEPTH_TARGET;
    if (has & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT) usage |= SPY_TEXTURE_USAGE_FILTERED;
    usage |= SPY_TEXTURE_USAGE_COPIED;
    if (has & VK_FORMAT_FEATURE_BLIT_SRC_BIT) usage |= SPYI_BLITS_FROM;
    if (has & VK_FORMAT_FEATURE_BLIT_DST_BIT) usage |= SPYI_BLITS_TO;
    const uint32_t targets = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_DEPTH_TARGET;
    if ((usage & targets) &&
        gpu->instance.GetPhysicalDeviceImageFormatProperties(
            gpu->adapter.handle, spyi_vk_format(format), VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
            spyi_vk_image_usage(usage & (targets | SPY_TEXTURE_USAGE_SAMPLED)), 0, &limits) == VK_SUCCESS &&
        limits.sampleCounts > VK_SAMPLE_COUNT_1_BIT)
        usage |= SPY_TEXTURE_USAGE_MULTISAMPLED;
    return usage;
}

// >>images

static void spyi_vk_image_info(const spyi_image_desc *desc, VkImageCreateInfo *info) {
    const bool plain = spyi_vk_aspects(desc->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    SPYI_VK_ZERO(*info);
    info->sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info->imageType = desc->type == SPY_TEXTURE_TYPE_1D   ? VK_IMAGE_TYPE_1D
                      : desc->type == SPY_TEXTURE_TYPE_3D ? VK_IMAGE_TYPE_3D
                                                          : VK_IMAGE_TYPE_2D;
    if (plain) info->flags |= VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT; // so that views may have other formats
    if (desc->type == SPY_TEXTURE_TYPE_CUBE) info->flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    info->format = spyi_vk_format(desc->format);
    info->extent.width = desc->width;
    info->extent.height = desc->height;
    info->extent.depth = desc->depth;
    info->mipLevels = desc->levels;
    info->arrayLayers = desc->layers;
    info->samples = (VkSampleCountFlagBits)desc->samples;
    info->tiling = VK_IMAGE_TILING_OPTIMAL;
    info->usage = spyi_vk_image_usage(desc->usage);
    info->sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    info->initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
}

static spy_status spyi_vk_check_image(const spyi_vk_gpu *gpu, const spyi_image_desc *d,
                                      const VkImageCreateInfo *info, spyi_text *error) {
    const char *name = gpu->adapter.info.name;
    VkImageFormatProperties most;
    if (d->type == SPY_TEXTURE_TYPE_CUBE && d->array &&
        !gpu->adapter.features[SPYI_VK_FEATURE_imageCubeArray]) {
        spyi_text_add(error, "the device '%s' has no arrays of cubes (Vulkan feature imageCubeArray)", name);
        return SPY_ERROR_UNSUPPORTED;
    }
    VkResult result = gpu->instance.GetPhysicalDeviceImageFormatProperties(
        gpu->adapter.handle, info->format, info->imageType, info->tiling, info->usage, info->flags, &most);
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "the device '%s' has no textures of this type, format and usage together", name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (d->width > most.maxExtent.width || d->height > most.maxExtent.height ||
        d->depth > most.maxExtent.depth || d->layers > most.maxArrayLayers || d->levels > most.maxMipLevels) {
        spyi_text_add(error,
                      "%u x %u x %u texels, %u layers and %u levels exceed what '%s' has for this format: "
                      "%u x %u x %u, %u and %u",
                      d->width, d->height, d->depth, d->layers, d->levels, name, most.maxExtent.width,
                      most.maxExtent.height, most.maxExtent.depth, most.maxArrayLayers, most.maxMipLevels);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!(most.sampleCounts & d->samples)) {
        spyi_text_add(error, "the device '%s' has no %u samples for this format; it has", name, d->samples);
        for (uint32_t i = 1; i <= 64; i *= 2)
            if (most.sampleCounts & i) spyi_text_add(error, " %u", i);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

// Allocates memory for the image and binds it. On failure *what becomes the name of the Vulkan function that
// failed.
static VkResult spyi_vk_bind_image(spyi_vk_gpu *gpu, VkImage image, VkDeviceMemory *memory, size_t *size,
                                   const char **what) {
    const VkPhysicalDeviceMemoryProperties *types = &gpu->adapter.memory;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info;
    VkResult result;
    uint32_t i, type = UINT32_MAX;
    gpu->vk.vkGetImageMemoryRequirements(gpu->device, image, &needs);
    for (i = 0; i < types->memoryTypeCount; i++) {
        const bool local = (types->memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
        if (!(needs.memoryTypeBits >> i & 1u)) continue;
        if (type == UINT32_MAX) type = i;
        if (local) {
            type = i;
            break;
        }
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    *what = "vkAllocateMemory";
    result = type == UINT32_MAX ? VK_ERROR_FEATURE_NOT_PRESENT
                                : gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, memory);
    if (result != VK_SUCCESS) return result;
    *size = (size_t)needs.size;
    *what = "vkBindImageMemory";
    return gpu->vk.vkBindImageMemory(gpu->device, image, *memory, 0);
}

SPYI_FN spy_status spyi_vk_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                        spyi_image *image, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkImage handle = VK_NULL_HANDLE;
    VkImageCreateInfo info;
    VkResult result;
    const char *what = "vkCreateImage";
    size_t size = 0;
    memset(image, 0, sizeof *image);
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    spyi_vk_image_info(desc, &info);
    spy_status status = spyi_vk_check_image(gpu, desc, &info, error);
    if (status != SPY_OK) return status;
    result = gpu->vk.vkCreateImage(gpu->device, &info, NULL, &handle);
    if (result == VK_SUCCESS) result = spyi_vk_bind_image(gpu, handle, &memory, &size, &what);
    if (result != VK_SUCCESS) {
        if (handle != VK_NULL_HANDLE) gpu->vk.vkDestroyImage(gpu->device, handle, NULL);
        if (memory != VK_NULL_HANDLE) gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
        return spyi_vk_fail(gpu, result, what, error);
    }
    image->handle = (uint64_t)handle;
    image->memory = (void *)memory;
    image->size = size;
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += size;
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_IMAGE, image->handle, label);
    return SPY_OK;
}

SPYI_FN void spyi_vk_destroy_image(spyi_gpu *base, spyi_image *image) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (image->memory != NULL) { // imported images have no memory here: the engine owns them
        gpu->vk.vkDestroyImage(gpu->device, (VkImage)image->handle, NULL);
        gpu->vk.vkFreeMemory(gpu->device, (VkDeviceMemory)image->memory, NULL);
        gpu->base.stats.driver_bytes -= image->size;
    }
    memset(image, 0, sizeof *image);
}

// >>views

static VkImageViewType spyi_vk_view_type(const spyi_image_view_desc *d) {
    // the faces of a cube are layers of a target
    if (d->target && d->type == SPY_TEXTURE_TYPE_CUBE) return VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    switch (d->type) {
    case SPY_TEXTURE_TYPE_1D: return d->array ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_1D;
    case SPY_TEXTURE_TYPE_3D: return VK_IMAGE_VIEW_TYPE_3D;
    case SPY_TEXTURE_TYPE_CUBE: return d->array ? VK_IMAGE_VIEW_TYPE_CUBE_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE;
    default: return d->array ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    }
}

SPYI_FN spy_status spyi_vk_create_image_view(spyi_gpu *base, const spyi_image *image,
                                             const spyi_image_desc *image_desc,
                                             const spyi_image_view_desc *desc, uint64_t sampler,
                                             uint64_t *view, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    VkImageViewUsageCreateInfo usage; // the view's format need not have the image's other usages
    VkImageViewCreateInfo info;
    VkImageView handle = VK_NULL_HANDLE;
    (void)image_desc, (void)sampler;
    SPYI_VK_ZERO(usage);
    usage.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO;
    const bool color = spyi_vk_aspects(desc->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    usage.usage = desc->target && color ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                  : desc->target        ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
                  : desc->stored        ? VK_IMAGE_USAGE_STORAGE_BIT
                                        : VK_IMAGE_USAGE_SAMPLED_BIT;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    info.pNext = &usage;
    info.image = (VkImage)image->handle;
    info.viewType = spyi_vk_view_type(desc);
    info.format = spyi_vk_format(desc->format);
    info.subresourceRange.aspectMask = spyi_vk_aspects(desc->format);
    if (!desc->target) info.subresourceRange.aspectMask &= ~(VkImageAspectFlags)VK_IMAGE_ASPECT_STENCIL_BIT;
    info.subresourceRange.baseMipLevel = desc->first_level;
    info.subresourceRange.levelCount = desc->level_count;
    info.subresourceRange.baseArrayLayer = desc->first_layer;
    info.subresourceRange.layerCount = desc->layer_count;
    VkResult result = gpu->vk.vkCreateImageView(gpu->device, &info, NULL, &handle);
    *view = (uint64_t)handle;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateImageView", error);
}

SPYI_FN void spyi_vk_destroy_image_view(spyi_gpu *base, uint64_t view, bool stored) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    (void)stored;
    spyi_vk_forget_view(gpu, (VkImageView)view);
    gpu->vk.vkDestroyImageView(gpu->device, (VkImageView)view, NULL);
}

// >>samplers

static VkSamplerAddressMode spyi_vk_address_mode(spy_address_mode mode) {
    switch (mode) {
    case SPY_ADDRESS_MODE_MIRROR: return VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT;
    case SPY_ADDRESS_MODE_CLAMP: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    case SPY_ADDRESS_MODE_BORDER: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    case SPY_ADDRESS_MODE_MIRROR_ONCE: return VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE;
    default: return VK_SAMPLER_ADDRESS_MODE_REPEAT;
    }
}

static VkBorderColor spyi_vk_border(const float *color) {
    if (color[0] + color[1] + color[2] >= 1.5f) return VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    return color[3] >= 0.5f ? VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
}

static bool spyi_vk_any_address(const spy_sampler_desc *d, spy_address_mode mode) {
    return d->address_u == mode || d->address_v == mode || d->address_w == mode;
}

static spy_status spyi_vk_check_sampler(const spyi_vk_gpu *gpu, const spy_sampler_desc *d, spyi_text *error) {
    const bool *has = gpu->adapter.features;
    const char *lacks = NULL;
    if (d->max_anisotropy > 1 && !has[SPYI_VK_FEATURE_samplerAnisotropy]) lacks = "samplerAnisotropy";
    if (d->reduction > SPY_REDUCTION_AVERAGE && !has[SPYI_VK_FEATURE_samplerFilterMinmax])
        lacks = "samplerFilterMinmax";
    if (spyi_vk_any_address(d, SPY_ADDRESS_MODE_MIRROR_ONCE) &&
        !has[SPYI_VK_FEATURE_samplerMirrorClampToEdge])
        lacks = "samplerMirrorClampToEdge";
    if (!lacks) return SPY_OK;
    spyi_text_add(error, "the device '%s' has no such sampler (Vulkan feature %s)", gpu->adapter.info.name,
                  lacks);
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN spy_status spyi_vk_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                          spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const float most = gpu->adapter.limits.maxSamplerAnisotropy, bias = gpu->adapter.limits.maxSamplerLodBias;
    VkSamplerReductionModeCreateInfo reduction;
    VkSamplerCreateInfo info;
    VkSampler handle = VK_NULL_HANDLE;
    spy_status status = spyi_vk_check_sampler(gpu, desc, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(info);
    SPYI_VK_ZERO(reduction);
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    if (desc->reduction > SPY_REDUCTION_AVERAGE) {
        reduction.sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO;
        reduction.reductionMode = desc->reduction == SPY_REDUCTION_MIN ? VK_SAMPLER_REDUCTION_MODE_MIN
                                                                       : VK_SAMPLER_REDUCTION_MODE_MAX;
        info.pNext = &reduction;
    }
    info.minFilter = desc->min_filter == SPY_FILTER_NEAREST ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    info.magFilter = desc->mag_filter == SPY_FILTER_NEAREST ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    info.mipmapMode = desc->mip_filter == SPY_FILTER_NEAREST ? VK_SAMPLER_MIPMAP_MODE_NEAREST
                                                             : VK_SAMPLER_MIPMAP_MODE_LINEAR;
    info.addressModeU = spyi_vk_address_mode(desc->address_u);
    info.addressModeV = spyi_vk_address_mode(desc->address_v);
    info.addressModeW = spyi_vk_address_mode(desc->address_w);
    info.mipLodBias = desc->mip_bias > bias ? bias : desc->mip_bias < -bias ? -bias : desc->mip_bias;
    info.anisotropyEnable = desc->max_anisotropy > 1;
    info.maxAnisotropy = (float)desc->max_anisotropy > most ? most : (float)desc->max_anisotropy;
    info.compareEnable = desc->compare != SPY_COMPARE_NONE;
    // Both enums have the same order from NEVER on.
    info.compareOp =
        info.compareEnable ? (VkCompareOp)(desc->compare - SPY_COMPARE_NEVER) : VK_COMPARE_OP_NEVER;
    info.minLod = desc->min_level;
    info.maxLod = desc->max_level != 0 ? desc->max_level : VK_LOD_CLAMP_NONE;
    info.borderColor = spyi_vk_border(desc->border);
    VkResult result = gpu->vk.vkCreateSampler(gpu->device, &info, NULL, &handle);
    *sampler = (uint64_t)handle;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateSampler", error);
}

SPYI_FN void spyi_vk_destroy_sampler(spyi_gpu *base, uint64_t sampler) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    gpu->vk.vkDestroySampler(gpu->device, (VkSampler)sampler, NULL);
}

SPYI_COLD_END

// >>vk/image_work.c -----------------------------------------------------------------------------------------

// Records the work on images: copies from and to buffers, copies between images, blits, resolves and clears.

static spy_status spyi_vk_begin_image_work(spyi_vk_gpu *gpu, const spyi_work *work, spyi_text *error) {
    spyi_before transitions = work->before;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    transitions.barrier = false;
    spyi_vk_before(gpu, gpu->commands, &transitions, false);
    return SPY_OK;
}

static VkImageSubresourceLayers spyi_vk_box_layers(const spyi_image_box *box, uint32_t format) {
    VkImageSubresourceLayers layers;
    layers.aspectMask = spyi_vk_aspects(format);
    layers.mipLevel = box->level;
    layers.baseArrayLayer = box->first_layer;
    layers.layerCount = box->layer_count;
    return layers;
}

static VkOffset3D spyi_vk_box_begin(const spyi_image_box *box) {
    VkOffset3D at;
    at.x = (int32_t)box->x;
    at.y = (int32_t)box->y;
    at.z = (int32_t)box->z;
    return at;
}

static VkOffset3D spyi_vk_box_end(const spyi_image_box *box) {
    VkOffset3D at;
    at.x = (int32_t)(box->x + box->width);
    at.y = (int32_t)(box->y + box->height);
    at.z = (int32_t)(box->z + box->depth);
    return at;
}

static VkExtent3D spyi_vk_box_size(const spyi_image_box *box) {
    VkExtent3D size;
    size.width = box->width;
    size.height = box->height;
    size.depth = box->depth;
    return size;
}

SPYI_FN spy_status spyi_vk_image_bytes(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    const spy_format_info *format = spyi_format(w->desc.format);
    VkBufferImageCopy region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(region);
    region.bufferOffset = w->offset;
    region.bufferRowLength = (uint32_t)(w->row_pitch / format->block_bytes) * format->block_width;
    region.bufferImageHeight = (uint32_t)(w->slice_pitch / w->row_pitch) * format->block_height;
    region.imageSubresource = spyi_vk_box_layers(&w->box, w->desc.format);
    region.imageOffset = spyi_vk_box_begin(&w->box);
    region.imageExtent = spyi_vk_box_size(&w->box);
    if (w->to_image)
        gpu->vk.vkCmdCopyBufferToImage(gpu->commands, (VkBuffer)w->chunk->handle, (VkImage)w->image,
                                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    else
        gpu->vk.vkCmdCopyImageToBuffer(gpu->commands, (VkImage)w->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                       (VkBuffer)w->chunk->handle, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)work;
    const bool within = spyi_image_copies_within(w);
    VkImageCopy region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffset = spyi_vk_box_begin(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffset = spyi_vk_box_begin(&w->to_box);
    region.extent = spyi_vk_box_size(&w->from_box);
    gpu->vk.vkCmdCopyImage(
        gpu->commands, (VkImage)w->from,
        within ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, (VkImage)w->to,
        within ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

static spy_status spyi_vk_resolve(spyi_vk_gpu *gpu, const spyi_image_blit_work *w, spyi_text *error) {
    VkImageResolve region;
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffset = spyi_vk_box_begin(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffset = spyi_vk_box_begin(&w->to_box);
    region.extent = spyi_vk_box_size(&w->from_box);
    gpu->vk.vkCmdResolveImage(gpu->commands, (VkImage)w->from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                              (VkImage)w->to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_blit(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_blit_work *w = (const spyi_image_blit_work *)(const void *)work;
    VkImageBlit region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    if (w->resolve) return spyi_vk_resolve(gpu, w, error);
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffsets[0] = spyi_vk_box_begin(&w->from_box);
    region.srcOffsets[1] = spyi_vk_box_end(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffsets[0] = spyi_vk_box_begin(&w->to_box);
    region.dstOffsets[1] = spyi_vk_box_end(&w->to_box);
    gpu->vk.vkCmdBlitImage(gpu->commands, (VkImage)w->from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           (VkImage)w->to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region,
                           w->linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_clear(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)work;
    VkImageSubresourceRange range;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    range.aspectMask = spyi_vk_aspects(w->desc.format);
    range.baseMipLevel = w->first_level;
    range.levelCount = w->level_count;
    range.baseArrayLayer = w->first_layer;
    range.layerCount = w->layer_count;
    if (range.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT) {
        VkClearColorValue color;
        memcpy(&color, &w->color, sizeof color);
        gpu->vk.vkCmdClearColorImage(gpu->commands, (VkImage)w->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                     &color, 1, &range);
    } else {
        VkClearDepthStencilValue value;
        value.depth = w->depth;
        value.stencil = w->stencil;
        gpu->vk.vkCmdClearDepthStencilImage(gpu->commands, (VkImage)w->image,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &range);
    }
    return spyi_vk_recorded(gpu, false, error);
}

// >>vk/raster.c ---------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// Loads rasters: makes a graphics pipeline of a vertex and a fragment shader over a spyi_raster_state.
// Several threads may load at once, as kernel.c describes. Features that the device lacks are refused by
// name, because drivers do not check them.

// >>refusals

static spy_status spyi_vk_lacks(const spyi_vk_gpu *gpu, const char *what, const char *feature,
                                spyi_text *error) {
    spyi_text_add(error, "the device '%s' has no %s (Vulkan feature %s)", gpu->adapter.info.name, what,
                  feature);
    return SPY_ERROR_UNSUPPORTED;
}

static bool spyi_vk_is_second_source(uint32_t factor) {
    return factor >= SPY_BLEND_FACTOR_SOURCE1_COLOR && factor <= SPY_BLEND_FACTOR_ONE_MINUS_SOURCE1_ALPHA;
}

static spy_status spyi_vk_check_blends(const spyi_vk_gpu *gpu, const spyi_raster_state *s, spyi_text *error) {
    const bool *has = gpu->adapter.features;
    const spyi_raster_blend *first = NULL;
    for (uint32_t i = 0; i < s->target_count; i++) {
        const spyi_raster_blend *b = &s->blends[i];
        if (s->target_formats[i] == SPY_FORMAT_NONE) continue;
        if (first && memcmp(first, b, sizeof *b) != 0 && !has[SPYI_VK_FEATURE_independentBlend])
            return spyi_vk_lacks(gpu, "different blends for several targets", "independentBlend", error);
        first = b;
        if (!b->enabled) continue;
        if ((spyi_vk_is_second_source(b->color_from) || spyi_vk_is_second_source(b->color_to) ||
             spyi_vk_is_second_source(b->alpha_from) || spyi_vk_is_second_source(b->alpha_to)) &&
            !has[SPYI_VK_FEATURE_dualSrcBlend])
            return spyi_vk_lacks(gpu, "blends with a second colour", "dualSrcBlend", error);
        if (!(spyi_vk_format_features(gpu, s->target_formats[i]) &
              VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT)) {
            spyi_text_add(error, "target %u: the device '%s' cannot blend into %s", i, gpu->adapter.info.name,
                          spyi_format(s->target_formats[i])->name);
            return SPY_ERROR_UNSUPPORTED;
        }
    }
    return SPY_OK;
}

static spy_status spyi_vk_check_attributes(const spyi_vk_gpu *gpu, const spyi_raster_state *s,
                                           spyi_text *error) {
    const VkPhysicalDeviceLimits *have = &gpu->adapter.limits;
    const char *name = gpu->adapter.info.name;
    for (uint32_t i = 0; i < s->attribute_count; i++) {
        const spyi_raster_attribute *a = &s->attributes[i];
        VkFormatProperties properties;
        gpu->instance.GetPhysicalDeviceFormatProperties(gpu->adapter.handle, spyi_vk_format(a->format),
                                                        &properties);
        if (!(properties.bufferFeatures & VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT)) {
            spyi_text_add(error, "the device '%s' has no vertex attributes of format %s", name,
                          spyi_format(a->format) ? spyi_format(a->format)->name : "NONE");
            return SPY_ERROR_UNSUPPORTED;
        }
        if (a->location >= have->maxVertexInputAttributes ||
            a->offset > have->maxVertexInputAttributeOffset) {
            spyi_text_add(
                error,
                "a vertex attribute at location %u lies %u bytes behind the start of a vertex; the device "
                "'%s' has %u locations and at most %u bytes",
                a->location, a->offset, name, have->maxVertexInputAttributes,
                have->maxVertexInputAttributeOffset);
            return SPY_ERROR_UNSUPPORTED;
        }
    }
    for (uint32_t i = 0; i < s->buffer_count; i++) {
        if (s->buffers[i].stride > have->maxVertexInputBindingStride) {
            spyi_text_add(error, "vertices that lie %u bytes apart: the device '%s' takes at most %u",
                          s->buffers[i].stride, name, have->maxVertexInputBindingStride);
            return SPY_ERROR_UNSUPPORTED;
        }
        if (s->buffers[i].per_instance > 1 &&
            !gpu->adapter.features[SPYI_VK_FEATURE_vertexAttributeInstanceRateDivisor])
            return spyi_vk_lacks(gpu, "attributes that several instances share",
                                 "vertexAttributeInstanceRateDivisor", error);
    }
    return SPY_OK;
}

static spy_status spyi_vk_check_targets(const spyi_vk_gpu *gpu, const spyi_raster_state *s,
                                        spyi_text *error) {
    const VkPhysicalDeviceLimits *have = &gpu->adapter.limits;
    const char *name = gpu->adapter.info.name;
    if (s->target_count > have->maxColorAttachments) {
        spyi_text_add(error, "%u targets; the device '%s' has %u", s->target_count, name,
                      have->maxColorAttachments);
        return SPY_ERROR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i <= s->target_count; i++) {
        const bool depth = i == s->target_count;
        const uint32_t format = depth ? s->depth_format : s->target_formats[i];
        const VkFormatFeatureFlags needs =
            depth ? VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT : VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT;
        if (format == SPY_FORMAT_NONE || (spyi_vk_format_features(gpu, format) & needs)) continue;
        spyi_text_add(error, "the device '%s' cannot draw into %s as a %s target", name,
                      spyi_format(format) ? spyi_format(format)->name : "such a format",
                      depth ? "depth" : "colour");
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

static spy_status spyi_vk_check_raster(const spyi_vk_gpu *gpu, const spyi_raster_desc *desc,
                                       spyi_text *error) {
    const spyi_raster_state *s = &desc->state;
    const bool *has = gpu->adapter.features;
    if (!(gpu->adapter.graphics_families >> gpu->queue_family & 1u)) {
        spyi_text_add(error, "the queue of '%s' cannot draw: its family %u has no VK_QUEUE_GRAPHICS_BIT",
                      gpu->adapter.info.name, gpu->queue_family);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (s->wireframe && !has[SPYI_VK_FEATURE_fillModeNonSolid])
        return spyi_vk_lacks(gpu, "wireframes", "fillModeNonSolid", error);
    if (s->depth_clamped && !has[SPYI_VK_FEATURE_depthClamp])
        return spyi_vk_lacks(gpu, "clamped depth", "depthClamp", error);
    if ((s->depth_bias_clamp < 0 || s->depth_bias_clamp > 0) && !has[SPYI_VK_FEATURE_depthBiasClamp])
        return spyi_vk_lacks(gpu, "limit of the depth bias", "depthBiasClamp", error);
    spy_status status = spyi_vk_check_targets(gpu, s, error);
    if (status == SPY_OK) status = spyi_vk_check_blends(gpu, s, error);
    if (status == SPY_OK) status = spyi_vk_check_attributes(gpu, s, error);
    if (status == SPY_OK) status = spyi_vk_check_interface(gpu, &desc->iface, error);
    for (uint32_t i = 0; i < SPYI_RASTER_STAGES && status == SPY_OK; i++) {
        spyi_kernel_desc stage;
        if (i == SPYI_RASTER_FRAGMENT && desc->stages[i].code == NULL) continue;
        SPYI_VK_ZERO(stage);
        stage.label = desc->label;
        stage.code = desc->stages[i].code;
        stage.code_size = desc->stages[i].code_size;
        stage.entry = desc->stages[i].entry;
        status = spyi_vk_check_code(
            &gpu->adapter, &stage,
            i == SPYI_RASTER_FRAGMENT ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_VERTEX_BIT, error);
    }
    return status;
}

// >>parts of the pipeline

static VkBlendFactor spyi_vk_blend_factor(uint32_t factor, bool from) {
    static const VkBlendFactor factors[SPY_BLEND_FACTOR_COUNT] = {
        VK_BLEND_FACTOR_ONE, // stands for DEFAULT, which the code below replaces
        VK_BLEND_FACTOR_ZERO,
        VK_BLEND_FACTOR_ONE,
        VK_BLEND_FACTOR_SRC_COLOR,
        VK_BLEND_FACTOR_ONE_MINUS_SRC_COLOR,
        VK_BLEND_FACTOR_SRC_ALPHA,
        VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        VK_BLEND_FACTOR_DST_ALPHA,
        VK_BLEND_FACTOR_ONE_MINUS_DST_ALPHA,
        VK_BLEND_FACTOR_DST_COLOR,
        VK_BLEND_FACTOR_ONE_MINUS_DST_COLOR,
        VK_BLEND_FACTOR_SRC_ALPHA_SATURATE,
        VK_BLEND_FACTOR_CONSTANT_COLOR,
        VK_BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR,
        VK_BLEND_FACTOR_SRC1_COLOR,
        VK_BLEND_FACTOR_ONE_MINUS_SRC1_COLOR,
        VK_BLEND_FACTOR_SRC1_ALPHA,
        VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA,
    };
    if (factor == SPY_BLEND_FACTOR_DEFAULT || factor >= SPY_BLEND_FACTOR_COUNT)
        return from ? VK_BLEND_FACTOR_ONE : VK_BLEND_FACTOR_ZERO;
    return factors[factor];
}

static VkBlendOp spyi_vk_blend_op(uint32_t op) { // both enums have the same order from ADD on
    return op == SPY_BLEND_OP_DEFAULT ? VK_BLEND_OP_ADD : (VkBlendOp)(op - SPY_BLEND_OP_ADD);
}

static VkCompareOp spyi_vk_compare(uint32_t compare) { // both enums have the same order from NEVER on
    return compare == SPY_COMPARE_NONE ? VK_COMPARE_OP_ALWAYS : (VkCompareOp)(compare - SPY_COMPARE_NEVER);
}

// The structs of one pipeline, which point to each other.
typedef struct spyi_vk_raster_parts {
    VkPipelineShaderStageCreateInfo stages[SPYI_RASTER_STAGES];
    VkVertexInputBindingDescription buffers[SPYI_MOST_ATTRIBUTES];
    VkVertexInputAttributeDescription attributes[SPYI_MOST_ATTRIBUTES];
    VkVertexInputBindingDivisorDescriptionEXT divisors[SPYI_MOST_ATTRIBUTES];
    VkPipelineVertexInputDivisorStateCreateInfoEXT divisor;
    VkPipelineVertexInputStateCreateInfo input;
    VkPipelineInputAssemblyStateCreateInfo assembly;
    VkPipelineViewportStateCreateInfo viewport;
    VkPipelineRasterizationStateCreateInfo rasterization;
    VkSampleMask sample_mask[2];
    VkPipelineMultisampleStateCreateInfo multisample;
    VkPipelineDepthStencilStateCreateInfo depth;
    VkPipelineColorBlendAttachmentState blends[SPYI_MOST_TARGETS];
    VkPipelineColorBlendStateCreateInfo blend;
    VkDynamicState dynamic_states[4];
    VkPipelineDynamicStateCreateInfo dynamic;
    VkFormat formats[SPYI_MOST_TARGETS];
    VkPipelineRenderingCreateInfo rendering;
    VkGraphicsPipelineCreateInfo info;
} spyi_vk_raster_parts;

static void spyi_vk_set_input(const spyi_raster_state *s, spyi_vk_raster_parts *p) {
    for (uint32_t i = 0; i < s->buffer_count; i++) {
        p->buffers[i].binding = i;
        p->buffers[i].stride = s->buffers[i].stride;
        p->buffers[i].inputRate =
            s->buffers[i].per_instance ? VK_VERTEX_INPUT_RATE_INSTANCE : VK_VERTEX_INPUT_RATE_VERTEX;
        if (s->buffers[i].per_instance <= 1) continue;
        VkVertexInputBindingDivisorDescriptionEXT *divisor =
            &p->divisors[p->divisor.vertexBindingDivisorCount++];
        divisor->binding = i;
        divisor->divisor = s->buffers[i].per_instance;
    }
    for (uint32_t i = 0; i < s->attribute_count; i++) {
        p->attributes[i].location = s->attributes[i].location;
        p->attributes[i].binding = s->attributes[i].buffer;
        p->attributes[i].format = spyi_vk_format(s->attributes[i].format);
        p->attributes[i].offset = s->attributes[i].offset;
    }
    p->divisor.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT;
    p->divisor.pVertexBindingDivisors = p->divisors;
    p->input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    p->input.pNext = p->divisor.vertexBindingDivisorCount ? &p->divisor : NULL;
    p->input.vertexBindingDescriptionCount = s->buffer_count;
    p->input.pVertexBindingDescriptions = p->buffers;
    p->input.vertexAttributeDescriptionCount = s->attribute_count;
    p->input.pVertexAttributeDescriptions = p->attributes;
    p->assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    p->assembly.topology = s->topology == SPY_TOPOLOGY_DEFAULT // both enums have the same order from
                                                               // POINT_LIST on
                               ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
                               : (VkPrimitiveTopology)(s->topology - SPY_TOPOLOGY_POINT_LIST);
}

static void spyi_vk_set_rasterization(const spyi_raster_state *s, spyi_vk_raster_parts *p) {
    VkPipelineRasterizationStateCreateInfo *r = &p->rasterization;
    p->viewport.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO;
    p->viewport.viewportCount = p->viewport.scissorCount = 1;
    r->sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    r->depthClampEnable = s->depth_clamped;
    r->polygonMode = s->wireframe ? VK_POLYGON_MODE_LINE : VK_POLYGON_MODE_FILL;
    r->cullMode = (VkCullModeFlags)s->cull; // both enums have the same values
    r->frontFace = s->clockwise_is_front ? VK_FRONT_FACE_CLOCKWISE : VK_FRONT_FACE_COUNTER_CLOCKWISE;
    r->depthBiasConstantFactor = s->depth_bias;
    r->depthBiasSlopeFactor = s->depth_bias_slope;
    r->depthBiasClamp = s->depth_bias_clamp;
    r->depthBiasEnable = r->depthBiasConstantFactor < 0 || r->depthBiasConstantFactor > 0 ||
                         r->depthBiasSlopeFactor < 0 || r->depthBiasSlopeFactor > 0;
    r->lineWidth = 1;
    p->multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    p->multisample.rasterizationSamples = (VkSampleCountFlagBits)s->samples;
    p->multisample.alphaToCoverageEnable = s->alpha_to_coverage;
    p->sample_mask[0] = s->sample_mask;
    p->sample_mask[1] = ~(VkSampleMask)0; // the second word, for up to 64 samples
    p->multisample.pSampleMask = p->sample_mask;
}

static void spyi_vk_set_depth(const spyi_raster_state *s, spyi_vk_raster_parts *p) {
    VkPipelineDepthStencilStateCreateInfo *d = &p->depth;
    d->sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO;
    d->depthTestEnable = s->depth_format != SPY_FORMAT_NONE && s->depth_compare != SPY_COMPARE_NONE;
    d->depthWriteEnable = d->depthTestEnable && s->depth_write;
    d->depthCompareOp = spyi_vk_compare(s->depth_compare);
    d->stencilTestEnable =
        s->stencil_enabled && (spyi_vk_aspects(s->depth_format) & VK_IMAGE_ASPECT_STENCIL_BIT);
    for (uint32_t i = 0; i < 2; i++) {
        VkStencilOpState *side = i == 0 ? &d->front : &d->back;
        side->failOp = (VkStencilOp)s->stencil[i][0]; // both enums have the same order
        side->depthFailOp = (VkStencilOp)s->stencil[i][1];
        side->passOp = (VkStencilOp)s->stencil[i][2];
        side->compareOp = spyi_vk_compare(s->stencil[i][3]);
        side->compareMask = s->stencil_read_mask;
        side->writeMask = s->stencil_write_mask;
    }
}

static void spyi_vk_set_blend(const spyi_raster_state *s, spyi_vk_raster_parts *p) {
    for (uint32_t i = 0; i < s->target_count; i++) {
        const spyi_raster_blend *from = &s->blends[i];
        VkPipelineColorBlendAttachmentState *b = &p->blends[i];
        b->blendEnable = from->enabled;
        b->srcColorBlendFactor = spyi_vk_blend_factor(from->color_from, true);
        b->dstColorBlendFactor = spyi_vk_blend_factor(from->color_to, false);
        b->colorBlendOp = spyi_vk_blend_op(from->color_op);
        b->srcAlphaBlendFactor = spyi_vk_blend_factor(from->alpha_from, true);
        b->dstAlphaBlendFactor = spyi_vk_blend_factor(from->alpha_to, false);
        b->alphaBlendOp = spyi_vk_blend_op(from->alpha_op);
        // channels have the same bits in Vulkan
        b->colorWriteMask = (VkColorComponentFlags)(~from->keeps & 15u);
    }
    p->blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    p->blend.attachmentCount = s->target_count;
    p->blend.pAttachments = p->blends;
}

static bool spyi_vk_is_constant(VkBlendFactor factor) {
    return factor == VK_BLEND_FACTOR_CONSTANT_COLOR || factor == VK_BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR;
}

// A draw sets only the state that its pipeline uses, because each command costs time.
static void spyi_vk_set_dynamic(spyi_vk_raster *raster, spyi_vk_raster_parts *p) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->blend.attachmentCount; i++) {
        const VkPipelineColorBlendAttachmentState *b = &p->blends[i];
        raster->blend_color =
            raster->blend_color ||
            (b->blendEnable &&
             (spyi_vk_is_constant(b->srcColorBlendFactor) || spyi_vk_is_constant(b->dstColorBlendFactor) ||
              spyi_vk_is_constant(b->srcAlphaBlendFactor) || spyi_vk_is_constant(b->dstAlphaBlendFactor)));
    }
    raster->stencil_reference = p->depth.stencilTestEnable;
    p->dynamic_states[count++] = VK_DYNAMIC_STATE_VIEWPORT;
    p->dynamic_states[count++] = VK_DYNAMIC_STATE_SCISSOR;
    if (raster->blend_color) p->dynamic_states[count++] = VK_DYNAMIC_STATE_BLEND_CONSTANTS;
    if (raster->stencil_reference) p->dynamic_states[count++] = VK_DYNAMIC_STATE_STENCIL_REFERENCE;
    p->dynamic.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO;
    p->dynamic.dynamicStateCount = count;
    p->dynamic.pDynamicStates = p->dynamic_states;
}

// Sets the formats of the targets, for dynamic rendering.
static void spyi_vk_set_rendering(const spyi_raster_state *s, spyi_vk_raster_parts *p) {
    const VkImageAspectFlags aspects = spyi_vk_aspects(s->depth_format);
    const VkFormat depth = spyi_vk_format(s->depth_format);
    for (uint32_t i = 0; i < s->target_count; i++) p->formats[i] = spyi_vk_format(s->target_formats[i]);
    p->rendering.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
    p->rendering.colorAttachmentCount = s->target_count;
    p->rendering.pColorAttachmentFormats = p->formats;
    if (aspects & VK_IMAGE_ASPECT_DEPTH_BIT) p->rendering.depthAttachmentFormat = depth;
    if (aspects & VK_IMAGE_ASPECT_STENCIL_BIT) p->rendering.stencilAttachmentFormat = depth;
}

// >>load

// Makes the modules of the stages. The caller destroys them, also after an error.
static VkResult spyi_vk_set_stages(spyi_vk_gpu *gpu, const spyi_raster_desc *desc, spyi_vk_raster_parts *p) {
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < SPYI_RASTER_STAGES && result == VK_SUCCESS; i++) {
        VkPipelineShaderStageCreateInfo *stage = &p->stages[p->info.stageCount];
        if (desc->stages[i].code == NULL) continue;
        stage->sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        stage->stage = i == SPYI_RASTER_VERTEX ? VK_SHADER_STAGE_VERTEX_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
        stage->pName = desc->stages[i].entry;
        result = spyi_vk_make_module(gpu, desc->stages[i].code, desc->stages[i].code_size, &stage->module);
        if (result == VK_SUCCESS) p->info.stageCount++;
    }
    return result;
}

static VkResult spyi_vk_make_raster(spyi_vk_gpu *gpu, const spyi_raster_desc *desc, spyi_vk_raster *raster,
                                    spyi_vk_raster_parts *p, const char **what) {
    const spyi_raster_state *s = &desc->state;
    VkResult result;
    spyi_vk_set_input(s, p);
    spyi_vk_set_rasterization(s, p);
    spyi_vk_set_depth(s, p);
    spyi_vk_set_blend(s, p);
    spyi_vk_set_dynamic(raster, p);
    p->info.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    p->info.pStages = p->stages;
    p->info.pVertexInputState = &p->input;
    p->info.pInputAssemblyState = &p->assembly;
    p->info.pViewportState = &p->viewport;
    p->info.pRasterizationState = &p->rasterization;
    p->info.pMultisampleState = &p->multisample;
    p->info.pDepthStencilState = &p->depth;
    p->info.pColorBlendState = &p->blend;
    p->info.pDynamicState = &p->dynamic;
    p->info.layout = raster->kernel.layout;
    if (gpu->dynamic_rendering) {
        spyi_vk_set_rendering(s, p);
        p->info.pNext = &p->rendering;
    } else {
        *what = "vkCreateRenderPass";
        result = spyi_vk_find_render_pass(gpu, raster, NULL, &p->info.renderPass);
        if (result != VK_SUCCESS) return result;
    }
    *what = "vkCreateShaderModule";
    result = spyi_vk_set_stages(gpu, desc, p);
    if (result == VK_SUCCESS) {
        *what = "vkCreateGraphicsPipelines";
        result = gpu->vk.vkCreateGraphicsPipelines(gpu->device, gpu->pipeline_cache, 1, &p->info, NULL,
                                                   &raster->kernel.pipeline);
    }
    for (uint32_t i = 0; i < p->info.stageCount; i++)
        gpu->vk.vkDestroyShaderModule(gpu->device, p->stages[i].module, NULL);
    return result;
}

SPYI_FN spy_status spyi_vk_load_raster(spyi_gpu *base, const spyi_raster_desc *desc, spyi_kernel **out,
                                       spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_raster_state *s = &desc->state;
    const char *label = desc->label != NULL ? desc->label : desc->stages[SPYI_RASTER_VERTEX].entry,
               *what = "";
    const VkShaderStageFlags stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
    spyi_vk_raster_parts parts;
    spyi_vk_kernel *kernel;
    spy_status status = spyi_vk_check_raster(gpu, desc, error);
    *out = NULL;
    if (status == SPY_OK)
        status = spyi_vk_new_kernel(gpu, &desc->iface, label, stages, sizeof(spyi_vk_raster), &kernel, error);
    if (status != SPY_OK) return status;
    spyi_vk_raster *raster = (spyi_vk_raster *)(void *)kernel;
    memcpy(raster->target_formats, s->target_formats, sizeof raster->target_formats);
    raster->depth_format = s->depth_format;
    raster->target_count = s->target_count;
    raster->samples = s->samples;
    SPYI_VK_ZERO(parts);
    VkResult result = spyi_vk_make_raster(gpu, desc, raster, &parts, &what);
    return spyi_vk_end_kernel(gpu, kernel, label, result, what, out, error);
}

SPYI_COLD_END

// >>vk/render_pass.c ----------------------------------------------------------------------------------------

// Passes of draws on devices without dynamic rendering (Vulkan 1.2, or an engine's device that has not
// enabled it): a VkRenderPass for each combination of formats and loads, and a VkFramebuffer for each
// combination of views. Both are kept: there are few render passes, and framebuffers live as long as their
// views.

enum { SPYI_VK_PASS_PARTS = 2 * SPYI_MOST_TARGETS + 1 }; // the number of targets, their resolves, and depth

// The key of a pass, which is plain bytes without padding, so that equal passes have equal bytes. All passes
// with the same formats and samples are compatible, so that a pipeline needs only one of them.
typedef struct spyi_vk_pass_key {
    uint8_t formats[SPYI_MOST_TARGETS], loads[SPYI_MOST_TARGETS]; // `formats` are spy_format, `loads` are
                                                                  // VkAttachmentLoadOp
    uint8_t depth_format, depth_load, stencil_load;
    uint8_t count, samples, resolves; // bit i of `resolves` says that target i is resolved
} spyi_vk_pass_key;

struct spyi_vk_render_pass {
    spyi_vk_render_pass *next;
    spyi_vk_pass_key key;
    VkRenderPass handle;
};

struct spyi_vk_framebuffer {
    spyi_vk_framebuffer *next;
    VkRenderPass pass;
    VkImageView views[SPYI_VK_PASS_PARTS];
    uint32_t view_count, width, height, layers;
    VkFramebuffer handle;
};

SPYI_FN VkAttachmentLoadOp spyi_vk_load_op(bool clear, bool ignore) {
    return clear    ? VK_ATTACHMENT_LOAD_OP_CLEAR
           : ignore ? VK_ATTACHMENT_LOAD_OP_DONT_CARE
                    : VK_ATTACHMENT_LOAD_OP_LOAD;
}

static spyi_vk_pass_key spyi_vk_make_key(const spyi_vk_raster *raster, const spyi_draw_work *d) {
    spyi_vk_pass_key key;
    SPYI_VK_ZERO(key);
    memcpy(key.formats, raster->target_formats, sizeof key.formats);
    key.depth_format = raster->depth_format;
    key.count = raster->target_count;
    key.samples = raster->samples;
    if (d == NULL) return key;
    for (uint32_t i = 0; i < d->target_count; i++) {
        if (d->targets[i].view == 0) continue;
        key.loads[i] = (uint8_t)spyi_vk_load_op(d->targets[i].clear, d->targets[i].ignore);
        if (d->targets[i].resolve) key.resolves = (uint8_t)(key.resolves | 1u << i);
    }
    if (d->depth.view == 0) return key;
    key.depth_load = (uint8_t)spyi_vk_load_op(d->depth.clear, d->depth.ignore);
    key.stencil_load = (uint8_t)spyi_vk_load_op(d->depth.clear_stencil, d->depth.ignore_stencil);
    return key;
}

static uint32_t spyi_vk_add_part(VkAttachmentDescription *part, uint32_t format, uint32_t samples,
                                 uint32_t load) {
    SPYI_VK_ZERO(*part);
    part->format = spyi_vk_format(format);
    part->samples = (VkSampleCountFlagBits)samples;
    part->loadOp = (VkAttachmentLoadOp)load;
    part->storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    part->stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    part->stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE;
    // The layouts do not change in the pass, because transitions come from the uses of the images.
    part->initialLayout = part->finalLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, format);
    return 1;
}

static VkResult spyi_vk_make_render_pass(spyi_vk_gpu *gpu, const spyi_vk_pass_key *key, VkRenderPass *pass) {
    VkAttachmentDescription parts[SPYI_VK_PASS_PARTS];
    VkAttachmentReference colors[SPYI_MOST_TARGETS], resolves[SPYI_MOST_TARGETS], depth;
    VkSubpassDescription subpass;
    VkRenderPassCreateInfo info;
    uint32_t i, count = 0;
    for (i = 0; i < key->count; i++) {
        colors[i].attachment = resolves[i].attachment = VK_ATTACHMENT_UNUSED;
        colors[i].layout = resolves[i].layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
        if (key->formats[i] == SPY_FORMAT_NONE) continue;
        colors[i].attachment = count;
        count += spyi_vk_add_part(&parts[count], key->formats[i], key->samples, key->loads[i]);
        if (!(key->resolves >> i & 1u)) continue;
        resolves[i].attachment = count;
        count += spyi_vk_add_part(&parts[count], key->formats[i], 1, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    }
    depth.attachment = count;
    depth.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    if (key->depth_format != SPY_FORMAT_NONE) {
        count += spyi_vk_add_part(&parts[count], key->depth_format, key->samples, key->depth_load);
        parts[depth.attachment].stencilLoadOp = (VkAttachmentLoadOp)key->stencil_load;
    }
    SPYI_VK_ZERO(subpass);
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    subpass.colorAttachmentCount = key->count;
    subpass.pColorAttachments = colors;
    subpass.pResolveAttachments = key->resolves ? resolves : NULL;
    subpass.pDepthStencilAttachment = key->depth_format != SPY_FORMAT_NONE ? &depth : NULL;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    info.attachmentCount = count;
    info.pAttachments = parts;
    info.subpassCount = 1;
    info.pSubpasses = &subpass;
    return gpu->vk.vkCreateRenderPass(gpu->device, &info, NULL, pass);
}

// Finds or makes a render pass. Threads that load pipelines call this, too.
SPYI_FN VkResult spyi_vk_find_render_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster,
                                          const spyi_draw_work *draw, VkRenderPass *pass) {
    const spyi_vk_pass_key key = spyi_vk_make_key(raster, draw);
    VkResult result = VK_SUCCESS;
    spyi_mutex_lock(&gpu->layout_lock);
    spyi_vk_render_pass *found = gpu->render_passes;
    while (found != NULL && memcmp(&found->key, &key, sizeof key) != 0) found = found->next;
    if (found == NULL) {
        found = (spyi_vk_render_pass *)spyi_allocate(gpu->base.ctx, sizeof *found);
        result =
            found != NULL ? spyi_vk_make_render_pass(gpu, &key, &found->handle) : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (result == VK_SUCCESS) {
            found->key = key;
            found->next = gpu->render_passes;
            gpu->render_passes = found;
        } else {
            spyi_free(gpu->base.ctx, found, sizeof *found);
        }
    }
    *pass = result == VK_SUCCESS ? found->handle : VK_NULL_HANDLE;
    spyi_mutex_unlock(&gpu->layout_lock);
    return result;
}

// >>framebuffers

// Fills views and sizes, in the order of the pass's parts.
static void spyi_vk_list_views(const spyi_draw_work *d, VkRenderPass pass, spyi_vk_framebuffer *f) {
    SPYI_VK_ZERO(*f);
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (t->view == 0) continue;
        f->views[f->view_count++] = (VkImageView)t->view;
        if (t->resolve) f->views[f->view_count++] = (VkImageView)t->resolve;
    }
    if (d->depth.view) f->views[f->view_count++] = (VkImageView)d->depth.view;
    f->pass = pass;
    f->width = d->width;
    f->height = d->height;
    f->layers = d->layers;
}

static bool spyi_vk_same_framebuffer(const spyi_vk_framebuffer *a, const spyi_vk_framebuffer *b) {
    return a->pass == b->pass && a->view_count == b->view_count && a->width == b->width &&
           a->height == b->height && a->layers == b->layers &&
           memcmp(a->views, b->views, a->view_count * sizeof *a->views) == 0;
}

static VkResult spyi_vk_find_framebuffer(spyi_vk_gpu *gpu, const spyi_draw_work *d, VkRenderPass pass,
                                         VkFramebuffer *out) {
    spyi_vk_framebuffer wanted, *found = gpu->framebuffers;
    VkFramebufferCreateInfo info;
    spyi_vk_list_views(d, pass, &wanted);
    while (found != NULL && !spyi_vk_same_framebuffer(found, &wanted)) found = found->next;
    if (found == NULL) {
        found = (spyi_vk_framebuffer *)spyi_allocate(gpu->base.ctx, sizeof *found);
        if (found == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
        *found = wanted;
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO;
        info.renderPass = pass;
        info.attachmentCount = found->view_count;
        info.pAttachments = found->views;
        info.width = found->width;
        info.height = found->height;
        info.layers = found->layers;
        VkResult result = gpu->vk.vkCreateFramebuffer(gpu->device, &info, NULL, &found->handle);
        if (result != VK_SUCCESS) {
            spyi_free(gpu->base.ctx, found, sizeof *found);
            return result;
        }
        found->next = gpu->framebuffers;
        gpu->framebuffers = found;
    }
    *out = found->handle;
    return VK_SUCCESS;
}

SPYI_FN spy_status spyi_vk_begin_render_pass(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                             const spyi_vk_raster *raster, const spyi_draw_work *d,
                                             spyi_text *error) {
    VkClearValue clears[SPYI_VK_PASS_PARTS];
    VkRenderPassBeginInfo info;
    VkResult result;
    SPYI_VK_ZERO(info);
    result = spyi_vk_find_render_pass(gpu, raster, d, &info.renderPass);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateRenderPass", error);
    result = spyi_vk_find_framebuffer(gpu, d, info.renderPass, &info.framebuffer);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateFramebuffer", error);
    memset(clears, 0, sizeof clears);
    for (uint32_t i = 0; i < d->target_count; i++) {
        if (d->targets[i].view == 0) continue;
        memcpy(&clears[info.clearValueCount++].color, &d->targets[i].color, sizeof clears[0].color);
        if (d->targets[i].resolve) info.clearValueCount++;
    }
    if (d->depth.view) {
        clears[info.clearValueCount].depthStencil.depth = d->depth.depth;
        clears[info.clearValueCount++].depthStencil.stencil = d->depth.stencil;
    }
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
    info.renderArea.extent.width = d->width;
    info.renderArea.extent.height = d->height;
    info.pClearValues = clears;
    gpu->vk.vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
    return SPY_OK;
}

// Destroys the framebuffers of a view. No work uses the view any more, and so none uses its framebuffers.
SPYI_FN void spyi_vk_forget_view(spyi_vk_gpu *gpu, VkImageView view) {
    spyi_vk_framebuffer **link = &gpu->framebuffers;
    while (*link != NULL) {
        spyi_vk_framebuffer *f = *link;
        bool has = false;
        for (uint32_t i = 0; i < f->view_count && !has; i++) has = f->views[i] == view;
        if (!has) {
            link = &f->next;
            continue;
        }
        *link = f->next;
        gpu->vk.vkDestroyFramebuffer(gpu->device, f->handle, NULL);
        spyi_free(gpu->base.ctx, f, sizeof *f);
    }
}

SPYI_FN void spyi_vk_destroy_render_passes(spyi_vk_gpu *gpu) {
    while (gpu->framebuffers != NULL) {
        spyi_vk_framebuffer *f = gpu->framebuffers;
        gpu->framebuffers = f->next;
        gpu->vk.vkDestroyFramebuffer(gpu->device, f->handle, NULL);
        spyi_free(gpu->base.ctx, f, sizeof *f);
    }
    while (gpu->render_passes != NULL) {
        spyi_vk_render_pass *pass = gpu->render_passes;
        gpu->render_passes = pass->next;
        gpu->vk.vkDestroyRenderPass(gpu->device, pass->handle, NULL);
        spyi_free(gpu->base.ctx, pass, sizeof *pass);
    }
}

// >>vk/raster_work.c ----------------------------------------------------------------------------------------

// Records draws. Draws into the same targets that follow each other become one pass: the first one begins it, and
// whatever cannot be part of it ends it, through spyi_vk_begin() or spyi_vk_end_pass(): other work, a barrier, a clear,
// other targets, a submission, the return to an engine.

static bool spyi_vk_draws_anything(const spyi_draw_work *d) {
    return d->indirect.handle ? d->indirect_count > 0 : d->count > 0 && d->instance_count > 0;
}

// >>passes

SPYI_FN void spyi_vk_end_pass(spyi_vk_gpu *gpu) {
    spyi_vk_pass *pass = &gpu->pass;
    if (SPYI_LIKELY(pass->commands == VK_NULL_HANDLE)) return;
    if (gpu->dynamic_rendering) gpu->vk.vkCmdEndRendering(pass->commands);
    else gpu->vk.vkCmdEndRenderPass(pass->commands);
    gpu->commands = pass->commands;
    pass->commands = VK_NULL_HANDLE;
}

// Returns whether a draw can go on in the open pass.
static bool spyi_vk_continues(const spyi_vk_pass *pass, const spyi_draw_work *d) {
    if (pass->commands == VK_NULL_HANDLE || d->work.before.barrier || d->work.before.transition_count > 0 ||
        pass->target_count != d->target_count || pass->width != d->width || pass->height != d->height ||
        pass->layers != d->layers || pass->depth != d->depth.view ||
        (d->depth.view && (d->depth.clear || d->depth.clear_stencil)))
        return false;
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (pass->views[i] != t->view || pass->resolves[i] != t->resolve || (t->view && t->clear))
            return false;
    }
    return true;
}

static void spyi_vk_note_pass(spyi_vk_pass *pass, const spyi_draw_work *d) {
    for (uint32_t i = 0; i < d->target_count; i++) {
        pass->views[i] = d->targets[i].view;
        pass->resolves[i] = d->targets[i].resolve;
    }
    pass->depth = d->depth.view;
    pass->target_count = d->target_count;
    pass->width = d->width;
    pass->height = d->height;
    pass->layers = d->layers;
}

static bool spyi_vk_was_written(const spyi_vk_gpu *gpu, uint64_t image) {
    for (uint32_t i = 0; i < gpu->written_count; i++)
        if (gpu->written[i] == image) return true;
    return false;
}

// Returns whether earlier passes may have drawn into targets of the draw's pass. Passes into other targets need not
// wait for each other: a GPU is idle for a while in such a wait.
static bool spyi_vk_must_wait(const spyi_vk_gpu *gpu, const spyi_draw_work *d) {
    // In an engine's recording the answer is always yes, because the engine may execute it after batches that
    // were recorded later.
    if (gpu->external != VK_NULL_HANDLE || gpu->written_count == SPYI_VK_WRITTEN) return true;
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (t->view && (t->resolve || spyi_vk_was_written(gpu, t->image))) return true;
    }
    return d->depth.view && spyi_vk_was_written(gpu, d->depth.image);
}

static void spyi_vk_note_written(spyi_vk_gpu *gpu, const spyi_draw_target *t) {
    if (t->view && gpu->written_count < SPYI_VK_WRITTEN) gpu->written[gpu->written_count++] = t->image;
    if (t->view && t->resolve)
        gpu->written_count = SPYI_VK_WRITTEN; // the resolve view's image is not known, so that the next pass
                                              // waits in any case
}

// Orders a pass after earlier passes that wrote to its targets, whose layout stays. All other order between a target
// and other work comes with a transition, which spyi_vk_before() records: into this layout before the pass, and out of
// it after the pass, each with the stages and accesses of targets.
static void spyi_vk_target_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                        VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                        VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask =
        VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    barrier.dstAccessMask = barrier.srcAccessMask | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT |
                            VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// Integer samples are not averaged, so that sample 0 is taken.
static VkResolveModeFlagBits spyi_vk_resolve_mode(uint32_t format) {
    return spyi_format(format)->is_integer ? VK_RESOLVE_MODE_SAMPLE_ZERO_BIT : VK_RESOLVE_MODE_AVERAGE_BIT;
}

static void spyi_vk_begin_rendering(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_vk_raster *raster,
                                    const spyi_draw_work *d) {
    VkRenderingAttachmentInfo targets[SPYI_MOST_TARGETS], depth, stencil;
    VkRenderingInfo info;
    memset(targets, 0, d->target_count * sizeof *targets);
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        VkRenderingAttachmentInfo *a = &targets[i];
        a->sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
        if (t->view == 0) continue;
        a->imageView = (VkImageView)t->view;
        a->imageLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, raster->target_formats[i]);
        a->loadOp = spyi_vk_load_op(t->clear, t->ignore);
        a->storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        memcpy(&a->clearValue.color, &t->color, sizeof a->clearValue.color);
        if (t->resolve == 0) continue;
        a->resolveMode = spyi_vk_resolve_mode(raster->target_formats[i]);
        a->resolveImageView = (VkImageView)t->resolve;
        a->resolveImageLayout = a->imageLayout;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
    info.renderArea.extent.width = d->width;
    info.renderArea.extent.height = d->height;
    info.layerCount = d->layers;
    info.colorAttachmentCount = d->target_count;
    info.pColorAttachments = targets;
    if (d->depth.view) {
        SPYI_VK_ZERO(depth);
        depth.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
        depth.imageView = (VkImageView)d->depth.view;
        depth.imageLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, raster->depth_format);
        depth.loadOp = spyi_vk_load_op(d->depth.clear, d->depth.ignore);
        depth.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        depth.clearValue.depthStencil.depth = d->depth.depth;
        depth.clearValue.depthStencil.stencil = d->depth.stencil;
        stencil = depth;
        stencil.loadOp = spyi_vk_load_op(d->depth.clear_stencil, d->depth.ignore_stencil);
        info.pDepthAttachment = &depth;
        if (spyi_vk_aspects(raster->depth_format) & VK_IMAGE_ASPECT_STENCIL_BIT)
            info.pStencilAttachment = &stencil;
    }
    gpu->vk.vkCmdBeginRendering(commands, &info);
}

// Returns whether the indices of a draw have to be copied. lavapipe of Mesa 22 forgets the offset of an index buffer in
// indirect draws, and reads the indices from the buffer's first byte on.
static bool spyi_vk_copies_indices(const spyi_vk_gpu *gpu, const spyi_draw_work *d) {
    return d->indirect.handle && d->indices.handle && d->indices.offset > 0 && spyi_vk_draws_anything(d) &&
           gpu->adapter.info.type == SPY_ADAPTER_TYPE_CPU;
}

// Copies the indices to the first byte of a page, which `copy` becomes.
static spy_status spyi_vk_copy_indices(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d,
                                       spyi_draw_buffer *copy, spyi_text *error) {
    VkBufferCopy region;
    spyi_vk_page *page;
    size_t at;
    spy_status status;
    if (d->indices_size > SIZE_MAX / 2) {
        spyi_text_add(error, "no host memory for the indices of an indirect draw");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    // Only the first byte of a page is a multiple of that much.
    status = spyi_vk_take_bytes(gpu, (size_t)d->indices_size, (size_t)1 << 30, &page, &at, error);
    if (status != SPY_OK) return status;
    region.srcOffset = d->indices.offset;
    region.dstOffset = at;
    region.size = d->indices_size;
    if (region.size > 0)
        gpu->vk.vkCmdCopyBuffer(commands, (VkBuffer)d->indices.handle, (VkBuffer)page->chunk.handle, 1,
                                &region);
    spyi_vk_barrier(gpu, commands, true);
    copy->handle = page->chunk.handle;
    copy->offset = at;
    return SPY_OK;
}

// Begins a pass. `copy` becomes a copy of the draw's indices; NULL means that the draw needs none.
static spy_status spyi_vk_begin_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster, const spyi_draw_work *d,
                                     spyi_draw_buffer *copy, spyi_text *error) {
    VkCommandBuffer commands;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    commands = gpu->commands;
    // Barriers before the first draw did not cover the stages of draws, so one more barrier must. (A
    // recording of an engine may be executed later than the next batch, which needs its own.)
    spyi_before before = d->work.before;
    bool *ordered = gpu->external != VK_NULL_HANDLE ? &gpu->draws : &gpu->own_draws;
    if (!*ordered) before.barrier = true;
    *ordered = gpu->draws = true;
    spyi_vk_before(gpu, commands, &before, d->indirect.handle != 0);
    if (copy != NULL) {
        status = spyi_vk_copy_indices(gpu, commands, d, copy, error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &d->work.before, status);
    }
    if (spyi_vk_must_wait(gpu, d)) {
        spyi_vk_target_barrier(gpu, commands);
        if (gpu->external == VK_NULL_HANDLE) gpu->written_count = 0;
    }
    for (uint32_t i = 0; i < d->target_count; i++) spyi_vk_note_written(gpu, &d->targets[i]);
    spyi_vk_note_written(gpu, &d->depth);
    if (gpu->dynamic_rendering) {
        spyi_vk_begin_rendering(gpu, commands, raster, d);
    } else {
        status = spyi_vk_begin_render_pass(gpu, commands, raster, d, error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &d->work.before, status);
    }
    spyi_vk_note_pass(&gpu->pass, d);
    gpu->pass.commands = commands;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.stats.passes++;
    return SPY_OK;
}

// >>draws

// Sets the scissor, whose offset Vulkan does not allow to be negative.
static void spyi_vk_set_scissor(spyi_vk_gpu *gpu, VkCommandBuffer commands, const int32_t *scissor) {
    VkRect2D rect;
    int64_t end[2];
    for (int i = 0; i < 2; i++) {
        end[i] = (int64_t)scissor[i] + scissor[2 + i];
        if (end[i] < 0) end[i] = 0;
    }
    rect.offset.x = scissor[0] > 0 ? scissor[0] : 0;
    rect.offset.y = scissor[1] > 0 ? scissor[1] : 0;
    rect.extent.width = end[0] > rect.offset.x ? (uint32_t)(end[0] - rect.offset.x) : 0;
    rect.extent.height = end[1] > rect.offset.y ? (uint32_t)(end[1] - rect.offset.y) : 0;
    gpu->vk.vkCmdSetScissor(commands, 0, 1, &rect);
}

// Compares `count` words of 8 bytes. gcc calls the library's memcmp() for more than one.
static inline bool spyi_vk_differs(const void *a, const void *b, uint32_t count) {
    uint64_t x[3], y[3], differs = 0;
    memcpy(x, a, count * sizeof *x);
    memcpy(y, b, count * sizeof *y);
    for (uint32_t i = 0; i < count; i++) differs |= x[i] ^ y[i];
    return differs != 0;
}

// Binds the pipeline and sets what differs from the command buffer's last draw. Viewport and scissor stay from
// pipeline to pipeline, because every pipeline takes them from the command buffer.
static void spyi_vk_set_state(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_vk_raster *raster,
                              const spyi_draw_work *d) {
    spyi_vk_pass *pass = &gpu->pass;
    const bool all = pass->bound == NULL, other = pass->bound != raster;
    if (other) {
        gpu->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, raster->kernel.pipeline);
        pass->bound = raster;
        pass->pushed = false;
    }
    if (all) {
        pass->buffer_count = 0;
        pass->indices.handle = 0;
    }
    if (all || spyi_vk_differs(pass->viewport, d->viewport, 3)) {
        VkViewport viewport; // has a negative height, because y = 1 of Vulkan's clip space is at the lower
                             // edge
        memcpy(pass->viewport, d->viewport, sizeof pass->viewport);
        viewport.x = d->viewport[0];
        viewport.y = d->viewport[1] + d->viewport[3];
        viewport.width = d->viewport[2];
        viewport.height = -d->viewport[3];
        viewport.minDepth = d->viewport[4];
        viewport.maxDepth = d->viewport[5];
        gpu->vk.vkCmdSetViewport(commands, 0, 1, &viewport);
    }
    if (all || spyi_vk_differs(pass->scissor, d->scissor, 2)) {
        memcpy(pass->scissor, d->scissor, sizeof pass->scissor);
        spyi_vk_set_scissor(gpu, commands, d->scissor);
    }
    if (raster->blend_color && (other || spyi_vk_differs(pass->blend_color, d->blend_color, 2))) {
        memcpy(pass->blend_color, d->blend_color, sizeof pass->blend_color);
        gpu->vk.vkCmdSetBlendConstants(commands, d->blend_color);
    }
    if (raster->stencil_reference && (other || pass->stencil_reference != d->stencil_reference)) {
        pass->stencil_reference = d->stencil_reference;
        gpu->vk.vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_AND_BACK, d->stencil_reference);
    }
}

static bool spyi_vk_same_buffers(const spyi_draw_buffer *a, const spyi_draw_buffer *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i].handle != b[i].handle || a[i].offset != b[i].offset) return false;
    return true;
}

static void spyi_vk_bind_buffers(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d) {
    spyi_vk_pass *pass = &gpu->pass;
    VkBuffer buffers[SPYI_MOST_ATTRIBUTES];
    VkDeviceSize offsets[SPYI_MOST_ATTRIBUTES];
    if (pass->buffer_count >= d->buffer_count &&
        spyi_vk_same_buffers(pass->buffers, d->buffers, d->buffer_count))
        return;
    for (uint32_t i = 0; i < d->buffer_count; i++) {
        buffers[i] = (VkBuffer)d->buffers[i].handle;
        offsets[i] = d->buffers[i].offset;
        pass->buffers[i] = d->buffers[i];
    }
    pass->buffer_count = d->buffer_count; // those behind them stay bound, but need not be known
    gpu->vk.vkCmdBindVertexBuffers(commands, 0, d->buffer_count, buffers, offsets);
}

static void spyi_vk_bind_indices(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d,
                                 const spyi_draw_buffer *indices) {
    spyi_vk_pass *pass = &gpu->pass;
    if (pass->short_indices == d->short_indices && spyi_vk_same_buffers(&pass->indices, indices, 1)) return;
    pass->short_indices = d->short_indices;
    pass->indices = *indices;
    gpu->vk.vkCmdBindIndexBuffer(commands, (VkBuffer)indices->handle, indices->offset,
                                 d->short_indices ? VK_INDEX_TYPE_UINT16 : VK_INDEX_TYPE_UINT32);
}

// Returns whether the draw's bindings are those of the last draw with its pipeline, which stay pushed, and notes them
// if not. Uniform buffers get new bytes for each draw.
static bool spyi_vk_repeats_bindings(spyi_vk_pass *pass, const spyi_vk_kernel *kernel,
                                     const spyi_binding *bindings) {
    const size_t size = kernel->base.binding_count * sizeof *bindings;
    if (size == 0 || (pass->pushed && memcmp(pass->bindings, bindings, size) == 0)) return true;
    memcpy(pass->bindings, bindings, size);
    pass->pushed = true;
    return false;
}

static void spyi_vk_draw_indirect(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d) {
    const bool many = gpu->adapter.features[SPYI_VK_FEATURE_multiDrawIndirect];
    const uint32_t most = many ? gpu->adapter.limits.maxDrawIndirectCount : 1;
    const uint32_t stride =
        d->indices.handle ? sizeof(VkDrawIndexedIndirectCommand) : sizeof(VkDrawIndirectCommand);
    for (uint32_t done = 0, count; done < d->indirect_count; done += count) {
        const VkDeviceSize at = d->indirect.offset + (VkDeviceSize)done * stride;
        count = d->indirect_count - done < most ? d->indirect_count - done : most;
        if (d->indices.handle)
            gpu->vk.vkCmdDrawIndexedIndirect(commands, (VkBuffer)d->indirect.handle, at, count, stride);
        else gpu->vk.vkCmdDrawIndirect(commands, (VkBuffer)d->indirect.handle, at, count, stride);
    }
}

SPYI_FN spy_status spyi_vk_draw(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_draw_work *d = (const spyi_draw_work *)(const void *)work;
    spyi_vk_raster *raster = (spyi_vk_raster *)(void *)d->kernel;
    spyi_vk_pass *pass = &gpu->pass;
    const bool copies = spyi_vk_copies_indices(gpu, d);
    spyi_draw_buffer indices = d->indices;
    spy_status status;
    if (copies || !spyi_vk_continues(pass, d)) {
        status = spyi_vk_begin_pass(gpu, raster, d, copies ? &indices : NULL, error);
        if (status != SPY_OK) return status;
    }
    if (spyi_vk_draws_anything(d)) {
        VkCommandBuffer commands = pass->commands;
        spyi_vk_set_state(gpu, commands, raster, d);
        status = spyi_vk_push_inputs(
            gpu, commands, &raster->kernel, d->block,
            spyi_vk_repeats_bindings(pass, &raster->kernel, d->bindings) ? NULL : d->bindings, d->uniforms,
            error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &work->before, status);
        if (d->buffer_count > 0) spyi_vk_bind_buffers(gpu, commands, d);
        if (indices.handle) spyi_vk_bind_indices(gpu, commands, d, &indices);
        if (d->indirect.handle) spyi_vk_draw_indirect(gpu, commands, d);
        else if (d->indices.handle)
            gpu->vk.vkCmdDrawIndexed(commands, d->count, d->instance_count, d->first, d->first_vertex,
                                     d->first_instance);
        else gpu->vk.vkCmdDraw(commands, d->count, d->instance_count, d->first, d->first_instance);
    }
    gpu->base.stats.draws++;
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_vk_batch *batch = gpu->batch;
        batch->recent[batch->recent_count++ % SPYI_VK_RECENT] = d->kernel;
    }
    // Not urgent: a submission would end the pass. (Nor may the next pass submit when it begins: its resources are noted
    // for the open batch already.)
    return spyi_vk_recorded(gpu, false, error);
}

// >>vk/mark.c -----------------------------------------------------------------------------------------------

// Records marks into the open command buffer: labels for debug tools, and timestamps that are stored in
// memory.

// In Vulkan a label may end in another command buffer than it began in, but Mesa before 23.1 crashes then. So
// each batch closes the open labels and the next batch opens them again. Labels deeper than SPYI_VK_LABELS
// are left out.

static bool spyi_vk_has_labels(const spyi_vk_gpu *gpu) {
    const spyi_vk_instance *instance = &gpu->instance;
    return instance->begin_label != NULL && instance->end_label != NULL && instance->insert_label != NULL;
}

static VkDebugUtilsLabelEXT spyi_vk_label_info(const char *name) {
    VkDebugUtilsLabelEXT label;
    SPYI_VK_ZERO(label);
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    label.pLabelName = name;
    return label;
}

static uint32_t spyi_vk_shown_labels(const spyi_vk_gpu *gpu) {
    return gpu->label_depth < SPYI_VK_LABELS ? gpu->label_depth : SPYI_VK_LABELS;
}

SPYI_FN void spyi_vk_open_labels(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < spyi_vk_shown_labels(gpu); i++) {
        VkDebugUtilsLabelEXT label = spyi_vk_label_info(gpu->labels[i]);
        gpu->instance.begin_label(gpu->commands, &label);
    }
}

SPYI_FN void spyi_vk_close_labels(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < spyi_vk_shown_labels(gpu); i++) gpu->instance.end_label(gpu->batch->commands);
}

static void spyi_vk_push_label(spyi_vk_gpu *gpu, VkCommandBuffer commands, const char *name) {
    uint32_t at = gpu->label_depth++;
    VkDebugUtilsLabelEXT label = spyi_vk_label_info(name);
    if (at >= SPYI_VK_LABELS) return;
    (void)snprintf(gpu->labels[at], sizeof gpu->labels[at], "%s", name);
    gpu->instance.begin_label(commands, &label);
}

static void spyi_vk_pop_label(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    if (gpu->label_depth == 0) return;
    if (--gpu->label_depth < SPYI_VK_LABELS) gpu->instance.end_label(commands);
}

// Begins or ends a label. Labels may do so anywhere, even inside an open pass, which they do not end.
SPYI_FN spy_status spyi_vk_label(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_label_work *given = (const spyi_label_work *)(const void *)work;
    VkDebugUtilsLabelEXT label = spyi_vk_label_info(given->name);
    VkCommandBuffer commands = gpu->pass.commands;
    spy_status status;
    if (!spyi_vk_has_labels(gpu)) return SPY_OK;
    if (commands == VK_NULL_HANDLE) {
        status = spyi_vk_begin(gpu, error);
        if (status != SPY_OK) return status;
        commands = gpu->commands;
    }
    switch (given->label) {
    case SPYI_LABEL_PUSH: spyi_vk_push_label(gpu, commands, given->name); break;
    case SPYI_LABEL_POP: spyi_vk_pop_label(gpu, commands); break;
    case SPYI_LABEL_POINT: gpu->instance.insert_label(commands, &label); break;
    }
    return spyi_vk_recorded(gpu, false, error);
}

// Writes a timestamp. The slot can be reset without a barrier, because commands on queries run in the order
// in which they were recorded.
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    spy_status status = spyi_vk_make_queries(gpu, &gpu->marks, SPYI_TIME_SLOTS, error);
    if (status == SPY_OK) status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->vk.vkCmdResetQueryPool(gpu->commands, gpu->marks, slot, 1);
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->marks, slot);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_time_store_work *store = (const spyi_time_store_work *)(const void *)work;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    gpu->vk.vkCmdCopyQueryPoolResults(gpu->commands, gpu->marks, 0, store->count, (VkBuffer)store->to->handle,
                                      store->offset, sizeof(uint64_t),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return spyi_vk_recorded(gpu, true, error);
}

// >>vk/submit.c ---------------------------------------------------------------------------------------------

// Submits batches and waits for them. One timeline semaphore counts the batches, so that a batch's number is
// all that a check or a wait needs. spyi_vk_recorded (record.c), and each function that waits, decide when a
// batch is submitted.

// Notes that batches up to `number` have finished. Numbers above the last batch belong to an engine's
// recordings, which are not counted here.
static void spyi_vk_note_finished(spyi_vk_gpu *gpu, uint64_t number) {
    if (number >= gpu->submitted) number = gpu->base.open - 1;
    if (number > gpu->finished) gpu->finished = number;
}

SPYI_FN uint64_t spyi_vk_poll(spyi_vk_gpu *gpu) {
    uint64_t value = 0;
    if (gpu->finished + 1 >= gpu->base.open || gpu->lost) return gpu->finished;
    if (gpu->finished >= gpu->submitted) {
        spyi_vk_note_finished(gpu, gpu->finished);
    } else if (gpu->vk.vkGetSemaphoreCounterValue(gpu->device, gpu->timeline, &value) == VK_SUCCESS &&
               value < gpu->base.open) { // a lost device may report any value
        spyi_vk_note_finished(gpu, value);
    }
    return gpu->finished;
}

// Returns the last batch in a slot with a number up to `number`. A batch that is in no slot any more has
// finished.
SPYI_FN uint64_t spyi_vk_own_number(const spyi_vk_gpu *gpu, uint64_t number) {
    uint64_t own = 0;
    uint32_t i;
    if (number >= gpu->submitted) return gpu->submitted;
    for (i = 0; i < gpu->batch_count; i++) {
        if (gpu->batches[i].number <= number && gpu->batches[i].number > own) own = gpu->batches[i].number;
    }
    return own;
}

SPYI_FN uint64_t spyi_vk_finished_submit(spyi_gpu *base) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint64_t finished = gpu->lost ? gpu->base.open - 1 : spyi_vk_poll(gpu); // a lost device runs no work
    if (gpu->base.held_from != 0 && finished >= gpu->base.held_from) finished = gpu->base.held_from - 1;
    return finished;
}

// >>the queue

static void spyi_vk_lock_queue(spyi_vk_gpu *gpu) {
    if (gpu->lock_queue != NULL) gpu->lock_queue(gpu->lock_user_data);
}

static void spyi_vk_unlock_queue(spyi_vk_gpu *gpu) {
    if (gpu->unlock_queue != NULL) gpu->unlock_queue(gpu->lock_user_data);
}

// Submits to a queue. `commands` may be VK_NULL_HANDLE, to wait for and signal semaphores alone.
SPYI_FN spy_status spyi_vk_queue_submit(spyi_vk_gpu *gpu, VkQueue queue, VkCommandBuffer commands,
                                        const spyi_vk_semaphores *waits, const spyi_vk_semaphores *signals,
                                        spyi_text *error) {
    VkPipelineStageFlags stages[SPYI_VK_SEMAPHORES + 1];
    VkTimelineSemaphoreSubmitInfo timeline;
    VkSubmitInfo info;
    VkResult result;
    uint32_t i;
    for (i = 0; i < waits->count; i++) stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    SPYI_VK_ZERO(timeline);
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = waits->count;
    timeline.pWaitSemaphoreValues = waits->values;
    timeline.signalSemaphoreValueCount = signals->count;
    timeline.pSignalSemaphoreValues = signals->values;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = waits->count;
    info.pWaitSemaphores = waits->handles;
    info.pWaitDstStageMask = stages;
    info.commandBufferCount = commands != VK_NULL_HANDLE ? 1 : 0;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = signals->count;
    info.pSignalSemaphores = signals->handles;
    spyi_vk_lock_queue(gpu);
    result = gpu->vk.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    spyi_vk_unlock_queue(gpu);
    gpu->base.stats.submits++;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkQueueSubmit", error);
}

// Records a barrier for the host, which reads results in mapped memory after a wait, so that the GPU's writes
// must be made available to it.
SPYI_FN void spyi_vk_host_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, spyi_vk_stages(gpu), VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                 NULL, 0, NULL);
}

// Drops a batch that could not be ended, or that the queue refused twice. The error says so, because calls
// that recorded it have returned SPY_OK. The timeline is set to the batch's number, or later waits would
// hang.
static void spyi_vk_drop_batch(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_text ignored;
    VkSemaphoreSignalInfo info;
    memset(&ignored, 0, sizeof ignored);
    if (!gpu->lost && gpu->batch != NULL) spyi_vk_describe_dropped(gpu->batch, error);
    if (!gpu->lost && spyi_vk_wait_own(gpu, gpu->submitted, UINT64_MAX, &ignored) == SPY_OK) {
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = gpu->timeline;
        info.value = gpu->base.open;
        if (gpu->vk.vkSignalSemaphore(gpu->device, &info) != VK_SUCCESS) gpu->lost = true;
    }
    spyi_text_free(&ignored);
}

// Submits the open batch. If that fails for want of memory, the batch is still intact, so this function waits
// for earlier work, which may free memory, and submits once more.
static spy_status spyi_vk_submit_batch(spyi_vk_gpu *gpu, spyi_text *error) {
    VkCommandBuffer commands = gpu->batch != NULL ? gpu->batch->commands : VK_NULL_HANDLE;
    spyi_text first;
    spy_status status;
    memset(&first, 0, sizeof first);
    status = spyi_vk_queue_submit(gpu, gpu->queue, commands, &gpu->waits, &gpu->signals, &first);
    if (status != SPY_OK && !gpu->lost &&
        spyi_vk_wait_own(gpu, gpu->submitted, UINT64_MAX, &first) == SPY_OK) {
        spyi_text_clear(&first);
        status = spyi_vk_queue_submit(gpu, gpu->queue, commands, &gpu->waits, &gpu->signals, &first);
    }
    if (status != SPY_OK) spyi_text_add(error, "%s", spyi_text_str(&first));
    spyi_text_free(&first);
    return status;
}

SPYI_FN spy_status spyi_vk_submit(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_semaphores *signals = &gpu->signals;
    spy_status status = SPY_OK;
    if (gpu->batch == NULL && signals->count == 0) { // with a signal, submit even without a batch
        if (gpu->external_used) gpu->base.open++;
        gpu->external_used = false;
        return SPY_OK;
    }
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (gpu->batch != NULL) {
        VkResult result;
        spyi_vk_end_pass(gpu);
        spyi_vk_close_labels(gpu);
        spyi_vk_host_barrier(gpu, gpu->batch->commands);
        result = gpu->vk.vkEndCommandBuffer(gpu->batch->commands);
        if (result != VK_SUCCESS) status = spyi_vk_fail(gpu, result, "vkEndCommandBuffer", error);
    }
    if (status == SPY_OK) {
        signals->handles[signals->count] = gpu->timeline;
        signals->values[signals->count] = gpu->base.open;
        signals->count++;
        status = spyi_vk_submit_batch(gpu, error);
    }
    if (status != SPY_OK) spyi_vk_drop_batch(gpu, error);
    gpu->waits.count = 0;
    signals->count = 0;
    if (gpu->batch != NULL) gpu->batch->bytes = gpu->work_bytes;
    gpu->batch = NULL;
    gpu->commands = VK_NULL_HANDLE;
    gpu->submitted = gpu->base.open;
    gpu->external_used = false;
    gpu->timing = false;
    gpu->work = 0;
    gpu->work_bytes = 0;
    gpu->base.open++;
    return status;
}

// >>waiting

SPYI_FN spy_status spyi_vk_wait_value(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value,
                                      uint64_t timeout_ns, spyi_text *error) {
    VkSemaphoreWaitInfo info;
    VkResult result;
    uint64_t now, begin, spin = timeout_ns < gpu->base.spin_ns ? timeout_ns : gpu->base.spin_ns;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (spin > 0) {
        begin = spyi_time_ns();
        do {
            uint64_t have = 0;
            result = gpu->vk.vkGetSemaphoreCounterValue(gpu->device, semaphore, &have);
            if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkGetSemaphoreCounterValue", error);
            if (have >= value) return SPY_OK;
            now = spyi_time_ns() - begin;
        } while (now < spin);
        if (timeout_ns != UINT64_MAX) timeout_ns = now < timeout_ns ? timeout_ns - now : 0;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    result = gpu->vk.vkWaitSemaphores(gpu->device, &info, timeout_ns);
    if (result == VK_SUCCESS) return SPY_OK;
    if (result == VK_TIMEOUT) {
        spyi_text_add(error, "the work had not finished when the time was over");
        return SPY_ERROR_NOT_READY;
    }
    return spyi_vk_fail(gpu, result, "vkWaitSemaphores", error);
}

// Waits for batches up to `number`, but not for an engine's recordings.
SPYI_FN spy_status spyi_vk_wait_own(spyi_vk_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                    spyi_text *error) {
    spy_status status;
    if (number <= gpu->finished) return SPY_OK;
    number = spyi_vk_own_number(gpu, number);
    if (number > gpu->finished) {
        status = spyi_vk_wait_value(gpu, gpu->timeline, number, timeout_ns, error);
        if (status != SPY_OK) return status;
    }
    spyi_vk_note_finished(gpu, number);
    if (gpu->finished + 1 == gpu->base.open)
        gpu->next_poll_ns = 0; // the queue is idle: the next work is submitted at once
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_wait(spyi_gpu *base, uint64_t number, uint64_t timeout_ns, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (spyi_vk_is_held(gpu, number, error)) {
        spy_status status = spyi_vk_wait_own(gpu, number, timeout_ns, error); // wait at least for the batches
        return status == SPY_OK ? SPY_ERROR_NOT_READY : status;
    }
    if (number >= gpu->base.open) {
        spy_status status = spyi_vk_submit(base, error);
        if (status != SPY_OK) return status;
    }
    return spyi_vk_wait_own(gpu, number, timeout_ns, error);
}

SPYI_FN void spyi_vk_wait_idle(spyi_vk_gpu *gpu) {
    if (gpu->queue == VK_NULL_HANDLE) return;
    spyi_vk_lock_queue(gpu);
    (void)gpu->vk.vkQueueWaitIdle(
        gpu->queue); // returns for a lost device, too; the device is being released, so ignore errors
    if (gpu->lane_queue != gpu->queue) (void)gpu->vk.vkQueueWaitIdle(gpu->lane_queue);
    spyi_vk_unlock_queue(gpu);
}

// >>objects that live as long as the device

SPYI_FN VkResult spyi_vk_make_timeline(spyi_vk_gpu *gpu, const void *next, VkSemaphore *semaphore) {
    VkSemaphoreTypeCreateInfo type;
    VkSemaphoreCreateInfo info;
    SPYI_VK_ZERO(type);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.pNext = next;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    return gpu->vk.vkCreateSemaphore(gpu->device, &info, NULL, semaphore);
}

// *function is the name of Vulkan's function that returned the result.
static VkResult spyi_vk_make_commands(spyi_vk_gpu *gpu, uint32_t family, VkCommandPool *pool,
                                      VkCommandBuffer *commands, const char **function) {
    VkCommandPoolCreateInfo pool_info;
    VkCommandBufferAllocateInfo info;
    VkResult result;
    SPYI_VK_ZERO(pool_info);
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool_info.queueFamilyIndex = family;
    *function = "vkCreateCommandPool";
    result = gpu->vk.vkCreateCommandPool(gpu->device, &pool_info, NULL, pool);
    if (result != VK_SUCCESS) return result;
    *function = "vkAllocateCommandBuffers";
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = *pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    return gpu->vk.vkAllocateCommandBuffers(gpu->device, &info, commands);
}

// Looks for a slot whose work has ended, and returns the one of them that was used last; NULL if all slots are in flight. *oldest
// becomes the slot in flight that was used first, and *bytes the bytes of pages that all slots in flight use.
static spyi_vk_batch *spyi_vk_find_slot(spyi_vk_gpu *gpu, spyi_vk_batch **oldest, size_t *bytes) {
    spyi_vk_batch *found = NULL;
    uint32_t i;
    *oldest = NULL;
    *bytes = 0;
    for (i = 0; i < gpu->batch_count; i++) {
        spyi_vk_batch *slot = &gpu->batches[i];
        if (slot->number > gpu->finished) {
            if (*oldest == NULL || slot->number < (*oldest)->number) *oldest = slot;
            *bytes += slot->bytes;
            continue;
        }
        if (slot->pages != NULL) spyi_vk_return_pages(gpu, &slot->pages);
        if (found == NULL || slot->number > found->number) found = slot;
    }
    return found;
}

SPYI_FN spy_status spyi_vk_take_slot(spyi_vk_gpu *gpu, spyi_vk_batch **slot, spyi_text *error) {
    spyi_vk_batch *oldest;
    size_t bytes;
    (void)spyi_vk_poll(gpu);
    *slot = spyi_vk_find_slot(gpu, &oldest, &bytes);
    if (*slot == NULL && (gpu->batch_count < SPYI_VK_BATCHES_SMALL ||
                          (gpu->batch_count < SPYI_VK_BATCHES && bytes < SPYI_VK_BATCHES_BYTES))) {
        spyi_vk_batch *made = &gpu->batches[gpu->batch_count];
        const char *function;
        VkResult result =
            spyi_vk_make_commands(gpu, gpu->queue_family, &made->pool, &made->commands, &function);
        if (result == VK_SUCCESS) {
            gpu->batch_count++;
            *slot = made;
            return SPY_OK;
        }
        gpu->vk.vkDestroyCommandPool(gpu->device, made->pool, NULL);
        SPYI_VK_ZERO(*made);
        if (oldest == NULL) return spyi_vk_fail(gpu, result, function, error);
    }
    if (*slot == NULL) { // none was made for want of memory, or there may be no more
        spy_status status = spyi_vk_wait_own(gpu, oldest->number, UINT64_MAX, error);
        if (status != SPY_OK) return status;
        *slot = spyi_vk_find_slot(gpu, &oldest, &bytes);
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_make_submit_objects(spyi_vk_gpu *gpu, spyi_text *error) {
    const char *function = "vkCreateSemaphore";
    VkResult result = spyi_vk_make_timeline(gpu, NULL, &gpu->timeline);
    uint32_t i;
    if (result == VK_SUCCESS) result = spyi_vk_make_timeline(gpu, NULL, &gpu->lane);
    for (i = 0; i < SPYI_VK_STAGING_COUNT && result == VK_SUCCESS; i++) {
        result = spyi_vk_make_commands(gpu, gpu->lane_family, &gpu->download[i].pool,
                                       &gpu->download[i].commands, &function);
    }
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, function, error);
}

SPYI_FN void spyi_vk_destroy_submit_objects(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < gpu->batch_count; i++) {
        gpu->vk.vkDestroyCommandPool(gpu->device, gpu->batches[i].pool, NULL);
        spyi_vk_free_pages(gpu, &gpu->batches[i].pages);
    }
    for (i = 0; i < SPYI_VK_STAGING_COUNT; i++) {
        gpu->vk.vkDestroyCommandPool(gpu->device, gpu->download[i].pool, NULL);
    }
    spyi_vk_free_pages(gpu, &gpu->free_pages);
    spyi_vk_destroy_recordings(gpu);
    gpu->vk.vkDestroyQueryPool(gpu->device, gpu->queries, NULL);
    gpu->vk.vkDestroyQueryPool(gpu->device, gpu->marks, NULL);
    gpu->vk.vkDestroySemaphore(gpu->device, gpu->timeline, NULL);
    gpu->vk.vkDestroySemaphore(gpu->device, gpu->lane, NULL);
}

// >>vk/transfer.c -------------------------------------------------------------------------------------------

// Copies host memory to and from the device. Uploads go through pinned memory and are recorded in order with
// other work. Downloads go through a queue of their own, the lane (that of a copy engine where there is one),
// so that they wait only for the work whose result they read. Large transfers run in pieces: a copy team of
// CPU threads copies one piece while the GPU transfers another.

// >>uploads

// Returns whether no work is recorded or in flight, so that the host may write mapped memory directly.
static bool spyi_vk_is_idle(spyi_vk_gpu *gpu) {
    return gpu->batch == NULL && gpu->base.held_from == 0 && spyi_vk_poll(gpu) + 1 == gpu->base.open;
}

// Uploads through a page, in order with other work.
static spy_status spyi_vk_upload_page(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                                      const void *data, uint64_t size, bool barrier, spyi_text *error) {
    spyi_vk_page *page;
    size_t at;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status == SPY_OK) status = spyi_vk_take_bytes(gpu, (size_t)size, 16, &page, &at, error);
    if (status != SPY_OK) return status;
    memcpy((char *)page->chunk.mapped + at, data, (size_t)size);
    return spyi_vk_copy_buffer(gpu, to->handle, offset, page->chunk.handle, at, size, barrier, error);
}

// Makes an unused staging buffer large enough for `size` bytes, but not larger than SPYI_VK_STAGING_SIZE.
// Pinned memory costs 0.4 ms a MiB on an H200's host, so small transfers get a smaller buffer first.
static spy_status spyi_vk_fit_staging(spyi_vk_gpu *gpu, spyi_vk_staging *staging, spyi_vk_memory kind,
                                      uint64_t size, spyi_text *error) {
    size_t want = SPYI_VK_STAGING_SIZE;
    if (size <= staging->chunk.size || staging->chunk.size == SPYI_VK_STAGING_SIZE) return SPY_OK;
    if (size <= SPYI_VK_STAGING_SIZE / 8) want = SPYI_VK_STAGING_SIZE / 8;
    if (size <= SPYI_VK_STAGING_SIZE / 64) want = SPYI_VK_STAGING_SIZE / 64;
    spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &staging->chunk);
    return spyi_vk_allocate(gpu, kind, want, "slangpy staging", &staging->chunk, error);
}

// Finds a staging buffer with room for a part of `size` bytes. If the present one is full, takes the next one
// and waits for its earlier work.
static spy_status spyi_vk_take_staging(spyi_vk_gpu *gpu, uint64_t size, spyi_vk_staging **out,
                                       spyi_text *error) {
    spyi_vk_staging *staging = &gpu->upload[gpu->upload_next];
    spy_status status = SPY_OK;
    if (staging->used > 0 && staging->chunk.size - staging->used < SPYI_VK_SMALL_UPLOAD) {
        gpu->upload_next = (gpu->upload_next + 1) % SPYI_VK_STAGING_COUNT;
        staging = &gpu->upload[gpu->upload_next];
        if (staging->number >= gpu->base.open) status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
        if (status == SPY_OK) status = spyi_vk_wait_own(gpu, staging->number, UINT64_MAX, error);
        if (status == SPY_OK) staging->used = 0;
    }
    if (status == SPY_OK && staging->used == 0) {
        status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_STAGING, size, error);
    }
    *out = staging;
    return status;
}

// One piece of an upload, in a staging buffer.
typedef struct spyi_vk_piece {
    spyi_vk_staging *staging;
    size_t at, size; // the offset in the buffer and the size, both in bytes
} spyi_vk_piece;

// Has the team copy a piece of up to `size` bytes from `data` into a staging buffer.
static spy_status spyi_vk_post(spyi_vk_gpu *gpu, spyi_copy_team *team, const char *data, uint64_t size,
                               spyi_vk_piece *piece, spyi_text *error) {
    spy_status status = spyi_vk_take_staging(gpu, size, &piece->staging, error);
    if (status != SPY_OK) return status;
    piece->at = piece->staging->used;
    piece->size = piece->staging->chunk.size - piece->at;
    if (size < piece->size) piece->size = (size_t)size;
    spyi_copy_post(team, (char *)piece->staging->chunk.mapped + piece->at, data, piece->size);
    piece->staging->used = spyi_align(piece->at + piece->size, 16);
    return SPY_OK;
}

// Records the copy of a piece from its staging buffer to the device.
static spy_status spyi_vk_send(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                               const spyi_vk_piece *piece, bool barrier, spyi_text *error) {
    spy_status status;
    piece->staging->number = gpu->base.open;
    status = spyi_vk_copy_buffer(gpu, to->handle, offset, piece->staging->chunk.handle, piece->at,
                                 piece->size, barrier, error);
    // Large pieces start at once, so that the GPU transfers while the team copies the next one.
    if (status == SPY_OK && piece->size >= ((size_t)1 << 20))
        status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    return status;
}

// Sends a piece to the GPU only after the next one has been posted, so that the team always has something to
// copy.
static spy_status spyi_vk_upload_staged(spyi_vk_gpu *gpu, const spyi_chunk *to, uint64_t offset,
                                        const void *data, uint64_t size, bool barrier, spyi_text *error) {
    spyi_copy_team team;
    uint64_t posted = 0, sent = 0; // both count bytes
    uint32_t pieces = 0;           // counts the pieces that were posted
    spyi_vk_piece last, next;
    spy_status status = SPY_OK;
    SPYI_VK_ZERO(last);
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), false);
    while (sent < size && status == SPY_OK) {
        SPYI_VK_ZERO(next);
        if (posted < size) {
            status = spyi_vk_post(gpu, &team, (const char *)data + posted, size - posted, &next, error);
            if (status != SPY_OK) break;
            posted += next.size;
            pieces++;
        }
        if (last.size > 0) {
            spyi_copy_wait(&team, next.size > 0 ? pieces - 1 : pieces);
            status = spyi_vk_send(gpu, to, offset + sent, &last, barrier, error);
            barrier = false; // the pieces do not overlap
            sent += last.size;
        }
        last = next;
    }
    spyi_copy_end(&team);
    return status;
}

SPYI_FN spy_status spyi_vk_upload(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_upload_work *upload = (const spyi_upload_work *)(const void *)work;
    const spyi_chunk *to = upload->to;
    const void *data = upload->data;
    const uint64_t offset = upload->offset, size = upload->size;
    const bool barrier = work->before.barrier;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    // The engine submits its command buffer at a time of its choice, so the data must stay in a page until
    // then.
    if (gpu->external != VK_NULL_HANDLE)
        return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
    if (to->mapped != NULL) {
        if (!spyi_vk_is_idle(gpu)) {
            if (size <= SPYI_VK_SMALL_UPLOAD)
                return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
            // Waiting for the work costs less than a second copy, which competes with the work for memory.
            // When an engine has unreported recordings, waiting is not possible, so the upload is staged as
            // for unmapped memory.
            if (gpu->base.held_from != 0) {
                return spyi_vk_upload_staged(gpu, to, offset, data, size, barrier, error);
            }
            {
                spy_status status = spyi_vk_wait(base, gpu->base.open, UINT64_MAX, error);
                if (status != SPY_OK) return status;
            }
        }
        memcpy((char *)to->mapped + offset, data, (size_t)size);
        return SPY_OK;
    }
    if (size <= SPYI_VK_SMALL_UPLOAD) return spyi_vk_upload_page(gpu, to, offset, data, size, barrier, error);
    return spyi_vk_upload_staged(gpu, to, offset, data, size, barrier, error);
}

// >>downloads

// Records the download of one piece and submits it on the lane, where it waits for batch `after` on the GPU.
static spy_status spyi_vk_fetch(spyi_vk_gpu *gpu, spyi_vk_staging *staging, const spyi_chunk *from,
                                uint64_t offset, size_t size, uint64_t after, spyi_text *error) {
    VkCommandBufferBeginInfo begin;
    spyi_vk_semaphores waits, signals;
    uint64_t own = spyi_vk_own_number(gpu, after);
    VkMemoryBarrier barrier;
    VkBufferCopy region;
    VkResult result;
    spy_status status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_READBACK, size, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(begin);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    result = gpu->vk.vkResetCommandPool(gpu->device, staging->pool, 0);
    if (result == VK_SUCCESS) result = gpu->vk.vkBeginCommandBuffer(staging->commands, &begin);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkBeginCommandBuffer", error);
    region.srcOffset = offset;
    region.dstOffset = 0;
    region.size = size;
    gpu->vk.vkCmdCopyBuffer(staging->commands, (VkBuffer)from->handle, (VkBuffer)staging->chunk.handle, 1,
                            &region);
    SPYI_VK_ZERO(barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    gpu->vk.vkCmdPipelineBarrier(staging->commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    result = gpu->vk.vkEndCommandBuffer(staging->commands);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkEndCommandBuffer", error);
    waits.count = own > 0 ? 1 : 0;
    waits.handles[0] = gpu->timeline;
    waits.values[0] = own;
    signals.count = 1;
    signals.handles[0] = gpu->lane;
    signals.values[0] = gpu->lane_number + 1;
    status = spyi_vk_queue_submit(gpu, gpu->lane_queue, staging->commands, &waits, &signals, error);
    if (status == SPY_OK) staging->number = ++gpu->lane_number;
    return status;
}

// Downloads in pieces. The GPU fills half of the staging buffers while the team empties the others.
static spy_status spyi_vk_download_staged(spyi_vk_gpu *gpu, char *data, const spyi_chunk *from,
                                          uint64_t offset, uint64_t size, uint64_t after, spyi_text *error) {
    spyi_copy_team team;
    uint64_t asked = 0, taken = 0; // both count bytes
    uint32_t ask = 0, take = 0;    // both count pieces
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), true);
    while (taken < size && status == SPY_OK) {
        if (asked < size && ask - take < SPYI_VK_STAGING_COUNT / 2) {
            uint64_t piece = size - asked < SPYI_VK_STAGING_SIZE ? size - asked : SPYI_VK_STAGING_SIZE;
            if (ask >= SPYI_VK_STAGING_COUNT) spyi_copy_wait(&team, ask + 1 - SPYI_VK_STAGING_COUNT);
            status = spyi_vk_fetch(gpu, &gpu->download[ask % SPYI_VK_STAGING_COUNT], from, offset + asked,
                                   (size_t)piece, after, error);
            asked += piece;
            ask++;
        } else {
            spyi_vk_staging *staging = &gpu->download[take % SPYI_VK_STAGING_COUNT];
            uint64_t piece = size - taken < SPYI_VK_STAGING_SIZE ? size - taken : SPYI_VK_STAGING_SIZE;
            status = spyi_vk_wait_value(gpu, gpu->lane, staging->number, UINT64_MAX, error);
            if (status == SPY_OK) spyi_copy_post(&team, data + taken, staging->chunk.mapped, (size_t)piece);
            taken += piece;
            take++;
        }
    }
    spyi_copy_end(&team);
    // After an error, wait for the submitted pieces before their staging buffers are used again.
    if (status != SPY_OK && !gpu->lost) {
        spyi_text ignored;
        memset(&ignored, 0, sizeof ignored);
        (void)spyi_vk_wait_value(gpu, gpu->lane, gpu->lane_number, UINT64_MAX, &ignored);
        spyi_text_free(&ignored);
    }
    return status;
}

// Downloads little memory. A download that reads the result of the latest work is recorded behind that work,
// if possible in the same batch. After an interrupted wait the GPU may still write to the staging buffer;
// gpu->download_left says so.
static spy_status spyi_vk_download_small(spyi_vk_gpu *gpu, void *data, const spyi_chunk *from,
                                         uint64_t offset, uint64_t size, spyi_text *error) {
    spyi_vk_staging *staging = &gpu->download[0];
    uint64_t number;
    spy_status status = spyi_vk_fit_staging(gpu, staging, SPYI_VK_MEMORY_READBACK, size, error);
    if (status != SPY_OK) return status;
    number = gpu->base.open;
    status = spyi_vk_copy_buffer(gpu, staging->chunk.handle, 0, from->handle, offset, size, true, error);
    if (status == SPY_OK && gpu->base.open == number) status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    if (status == SPY_OK) status = spyi_wait_for((spyi_gpu *)(void *)gpu, number, UINT64_MAX, true, error);
    if (status == SPY_ERROR_INTERRUPTED) gpu->download_left = number;
    if (status == SPY_OK) memcpy(data, staging->chunk.mapped, (size_t)size);
    return status;
}

SPYI_FN spy_status spyi_vk_download(spyi_gpu *base, void *data, const spyi_chunk *from, uint64_t offset,
                                    uint64_t size, uint64_t after, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    bool latest = after >= gpu->base.open || (after + 1 == gpu->base.open && gpu->batch == NULL);
    spy_status status;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    if (spyi_vk_is_held(gpu, after, error)) return SPY_ERROR_NOT_READY;
    if (from->mapped != NULL) {
        status = spyi_wait_for(base, after, UINT64_MAX, true, error);
        if (status == SPY_OK) memcpy(data, (const char *)from->mapped + offset, (size_t)size);
        return status;
    }
    if (gpu->download_left > 0) {
        status = spyi_wait_for(base, gpu->download_left, UINT64_MAX, true, error);
        if (status != SPY_OK) return status;
        gpu->download_left = 0;
    }
    if (latest && size <= SPYI_VK_STAGING_SIZE / 64 && gpu->external == VK_NULL_HANDLE) {
        return spyi_vk_download_small(gpu, data, from, offset, size, error);
    }
    if (after >= gpu->base.open) {
        status = spyi_vk_submit(base, error);
        if (status != SPY_OK) return status;
        if (after >= gpu->base.open) after = gpu->base.open - 1; // there was no work
    }
    if (gpu->base.ctx->interrupt.func) { // wait here: a wait of the lane, on the GPU, cannot be interrupted
        status = spyi_wait_for(base, after, UINT64_MAX, true, error);
        if (status != SPY_OK) return status;
    }
    return spyi_vk_download_staged(gpu, (char *)data, from, offset, size, after, error);
}

SPYI_FN void spyi_vk_destroy_staging(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_VK_STAGING_COUNT; i++) {
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &gpu->upload[i].chunk);
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &gpu->download[i].chunk);
    }
}

// >>vk/engine.c ---------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// Works with an engine's own Vulkan objects: recordings into its command buffers, its semaphores, tensors
// over its buffers.

// >>recordings
//
// The id of a recording is a serial number in the lower 48 bits, and a tag above it, which differs between
// devices. The engine must submit recordings, and report them as executed, in the order in which they were
// begun. The first one in the list is the oldest, and its work has the lowest batch numbers.

#define SPYI_VK_SERIAL_BITS 48u
#define SPYI_VK_MANY_RECORDINGS 64u // the number of unreported recordings at which the log warns about them

static void spyi_vk_note_recordings(spyi_vk_gpu *gpu) {
    gpu->base.held_from = gpu->first_recording != NULL ? gpu->first_recording->first : 0;
}

// The tag is made when the first recording begins, so that a device without recordings does not read the
// clock.
static uint64_t spyi_vk_make_tag(const spyi_vk_gpu *gpu) {
    uint64_t seed[2];
    seed[0] = (uint64_t)(uintptr_t)gpu;
    seed[1] = spyi_time_ns();
    return (spyi_hash(seed, sizeof seed, 0) << SPYI_VK_SERIAL_BITS) | ((uint64_t)1 << 63);
}

static spyi_vk_recording *spyi_vk_new_recording(spyi_vk_gpu *gpu) {
    spyi_vk_recording *recording = gpu->free_recordings;
    if (recording != NULL) gpu->free_recordings = recording->next;
    else recording = (spyi_vk_recording *)spyi_allocate(gpu->base.ctx, sizeof *recording);
    if (recording != NULL) SPYI_VK_ZERO(*recording);
    return recording;
}

// Begins a recording. Submits the open batch first, so that it comes before the work that the engine will
// submit.
SPYI_FN spy_status spyi_vk_begin_recording(spyi_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *id,
                                           spyi_text *error) {
    spyi_vk_recording *recording;
    spy_status status;
    *id = 0;
    if (commands == VK_NULL_HANDLE) {
        spyi_text_add(error, "command_buffer: expected a VkCommandBuffer, got NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (gpu->external != VK_NULL_HANDLE) {
        spyi_text_add(error, "recording %llu has not ended: call spy_vk_end_recording() before the next one",
                      (unsigned long long)gpu->recording_serial);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    if (status != SPY_OK) return status;
    recording = spyi_vk_new_recording(gpu);
    if (recording == NULL) {
        spyi_text_add(error, "no host memory for a recording");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    if (gpu->recording_tag == 0) gpu->recording_tag = spyi_vk_make_tag(gpu);
    recording->serial = ++gpu->recording_serial;
    recording->first = gpu->base.open;
    if (gpu->last_recording != NULL) gpu->last_recording->next = recording;
    else gpu->first_recording = recording;
    gpu->last_recording = recording;
    gpu->external = commands;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.recording = true;
    spyi_vk_note_recordings(gpu);
    if (++gpu->base.stats.recordings == SPYI_VK_MANY_RECORDINGS) {
        spyi_logf(gpu->base.ctx, SPY_LOG_LEVEL_WARNING,
                  "%u recordings have not been reported as executed, the oldest is number %llu: call "
                  "spy_vk_recording_finished() once the fence of a submission has been signalled, or their "
                  "memory stays in use",
                  SPYI_VK_MANY_RECORDINGS, (unsigned long long)gpu->first_recording->serial);
    }
    *id = gpu->recording_tag | recording->serial;
    return SPY_OK;
}

// Makes the recording's writes available to the host, which reads unified memory directly, without a copy.
static void spyi_vk_recording_barrier(spyi_vk_gpu *gpu) {
    const spyi_vk_recording *recording = gpu->last_recording;
    if (recording->used && gpu->base.limits.unified_memory) spyi_vk_host_barrier(gpu, gpu->external);
}

SPYI_FN spy_status spyi_vk_end_recording(spyi_vk_gpu *gpu, spyi_text *error) {
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_text_add(error, "no recording has begun: call spy_vk_begin_recording() first");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_vk_recording_barrier(gpu);
    gpu->last_recording->last = gpu->base.open++;
    gpu->external = VK_NULL_HANDLE;
    gpu->external_used = false;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.recording = false;
    gpu->work_bytes = 0;
    gpu->next_poll_ns = 0;
    return SPY_OK;
}

// Adds to the error why an id is not that of the oldest recording.
static void spyi_vk_explain_id(const spyi_vk_gpu *gpu, uint64_t id, spyi_text *error) {
    const spyi_vk_recording *oldest = gpu->first_recording;
    unsigned long long serial = (unsigned long long)(id & (((uint64_t)1 << SPYI_VK_SERIAL_BITS) - 1));
    uint64_t tag = id - serial;
    if (id == 0) {
        spyi_text_add(
            error,
            "id: 0 is what a spy_vk_begin_recording() that failed returns; expected the id of a recording");
    } else if (tag != gpu->recording_tag || tag == 0) {
        spyi_text_add(
            error,
            "id: 0x%llx is not the id of a recording of device '%s': it is another device's, or was not "
            "returned by spy_vk_begin_recording()",
            (unsigned long long)id, gpu->base.ctx->label);
    } else if (serial > gpu->recording_serial || serial == 0) {
        spyi_text_add(error, "id: recording %llu has not been begun; the last one was %llu", serial,
                      (unsigned long long)gpu->recording_serial);
    } else if (oldest == NULL || serial < oldest->serial) {
        spyi_text_add(error, "id: recording %llu has been reported as finished before", serial);
    } else if (serial == gpu->recording_serial && gpu->external != VK_NULL_HANDLE) {
        spyi_text_add(
            error,
            "id: recording %llu is still being recorded: call spy_vk_end_recording(), and report it "
            "when its command buffer has been executed",
            serial);
    } else {
        spyi_text_add(
            error,
            "id: recording %llu cannot be finished before recording %llu, which was begun earlier and "
            "has not been reported; report recordings in their order, and also one whose command "
            "buffer was thrown away instead of submitted",
            serial, (unsigned long long)oldest->serial);
    }
}

SPYI_FN spy_status spyi_vk_finish_recording(spyi_vk_gpu *gpu, uint64_t id, spyi_text *error) {
    spyi_vk_recording *oldest = gpu->first_recording;
    const spyi_vk_page *page;
    if (oldest == NULL || oldest->last == 0 || id != (gpu->recording_tag | oldest->serial)) {
        spyi_vk_explain_id(gpu, id, error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    gpu->first_recording = oldest->next;
    if (gpu->first_recording == NULL) gpu->last_recording = NULL;
    for (page = oldest->pages; page != NULL; page = page->next)
        gpu->base.stats.recording_bytes -= page->chunk.size;
    gpu->base.stats.recordings--;
    spyi_vk_return_pages(gpu, &oldest->pages);
    oldest->next = gpu->free_recordings;
    gpu->free_recordings = oldest;
    spyi_vk_note_recordings(gpu);
    return SPY_OK;
}

SPYI_FN bool spyi_vk_is_held(const spyi_vk_gpu *gpu, uint64_t number, spyi_text *error) {
    const spyi_vk_recording *recording = gpu->first_recording;
    while (recording != NULL &&
           (number < recording->first || (recording->last != 0 && number > recording->last)))
        recording = recording->next;
    if (recording == NULL) return false;
    spyi_text_add(
        error,
        "the work is in recording %llu, into a command buffer of the engine, which has not been reported as "
        "executed: call spy_vk_recording_finished() with its id once its fence has been signalled",
        (unsigned long long)recording->serial);
    return true;
}

// Destroys the recordings. The caller has waited until the queue is idle, so no submitted work uses their
// memory.
SPYI_FN void spyi_vk_destroy_recordings(spyi_vk_gpu *gpu) {
    spyi_vk_recording *next, *recording;
    if (gpu->first_recording != NULL) {
        spyi_logf(gpu->base.ctx, SPY_LOG_LEVEL_WARNING,
                  "spy_release_device: %llu recordings have not been reported as executed, the first is "
                  "number %llu; their "
                  "command buffers must not be submitted any more",
                  (unsigned long long)gpu->base.stats.recordings,
                  (unsigned long long)gpu->first_recording->serial);
    }
    for (recording = gpu->first_recording; recording != NULL; recording = next) {
        next = recording->next;
        spyi_vk_free_pages(gpu, &recording->pages);
        spyi_free(gpu->base.ctx, recording, sizeof *recording);
    }
    for (recording = gpu->free_recordings; recording != NULL; recording = next) {
        next = recording->next;
        spyi_free(gpu->base.ctx, recording, sizeof *recording);
    }
}

// >>semaphores

SPYI_FN spy_status spyi_vk_add_semaphore(spyi_vk_gpu *gpu, spyi_vk_semaphores *list, uint64_t semaphore,
                                         uint64_t value, spyi_text *error) {
    (void)gpu;
    if (semaphore == 0) {
        spyi_text_add(error, "the semaphore is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (list->count == SPYI_VK_SEMAPHORES) {
        spyi_text_add(error, "more than %u semaphores wait for one submission", SPYI_VK_SEMAPHORES);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    list->handles[list->count] = (VkSemaphore)semaphore;
    list->values[list->count] = value;
    list->count++;
    return SPY_OK;
}

// >>the public functions

SPYI_FN spyi_vk_gpu *spyi_vk_enter(spy_device *device, const char *function) {
    spyi_vk_gpu *gpu;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    gpu = (spyi_vk_gpu *)(void *)spyi_device_gpu(device, "vulkan", function);
    if (gpu == NULL) spyi_leave(device);
    return gpu;
}

static spy_status spyi_vk_told(spyi_vk_gpu *gpu, const char *function, spy_status status, spyi_text *error) {
    if (status != SPY_OK) (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(error));
    spyi_text_free(error);
    return status;
}

SPYI_FN spy_status spyi_vk_leave(spy_device *device, spyi_vk_gpu *gpu, const char *function,
                                 spy_status status, spyi_text *error) {
    (void)spyi_vk_told(gpu, function, status, error);
    spyi_leave(device);
    return status;
}

static void spyi_vk_lock_shared(void *mutex) {
    spyi_mutex_lock((spyi_mutex *)mutex);
}

static void spyi_vk_unlock_shared(void *mutex) {
    spyi_mutex_unlock((spyi_mutex *)mutex);
}

spy_status spy_vk_share_device(spy_device *device, spy_vk_desc *desc) {
    static const char function[] = "spy_vk_share_device";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    uint32_t i, count = 0;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (desc == NULL) {
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc is NULL", function);
        spyi_leave(device);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (gpu->lock_queue == NULL) {
        spyi_mutex_init(&gpu->share_lock);
        gpu->shares = true;
        gpu->lock_user_data = &gpu->share_lock;
        gpu->unlock_queue = spyi_vk_unlock_shared;
        gpu->lock_queue = spyi_vk_lock_shared;
    }
    for (i = SPYI_VK_FEATURE_REQUIRED; i < SPYI_VK_FEATURE_COUNT; i++)
        if (gpu->adapter.features[i]) gpu->shared_features[count++] = spyi_vk_feature_name(i);
    memset(desc, 0, sizeof *desc);
    memcpy(&desc->get_instance_proc_addr, &gpu->instance.get_proc, sizeof gpu->instance.get_proc);
    desc->instance = (void *)gpu->instance.handle;
    desc->physical_device = (void *)gpu->adapter.handle;
    desc->device = (void *)gpu->device;
    desc->queue = (void *)gpu->queue;
    desc->queue_family = gpu->queue_family;
    desc->api_version = gpu->instance.api_version;
    desc->lock_queue = gpu->lock_queue;
    desc->unlock_queue = gpu->unlock_queue;
    desc->lock_user_data = gpu->lock_user_data;
    desc->enabled_features = gpu->shared_features;
    desc->enabled_feature_count = count;
    spyi_leave(device);
    return SPY_OK;
}

spy_vk_recording_id spy_vk_begin_recording(spy_device *device, void *command_buffer) {
    static const char function[] = "spy_vk_begin_recording";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    uint64_t id = 0;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return 0;
    (void)spyi_vk_leave(device, gpu, function,
                        spyi_vk_begin_recording(gpu, (VkCommandBuffer)command_buffer, &id, &error), &error);
    return id;
}

spy_status spy_vk_end_recording(spy_device *device) {
    static const char function[] = "spy_vk_end_recording";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function, spyi_vk_end_recording(gpu, &error), &error);
}

spy_status spy_vk_recording_finished(spy_device *device, spy_vk_recording_id id) {
    static const char function[] = "spy_vk_recording_finished";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    spy_status status;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    status = spyi_vk_told(gpu, function, spyi_vk_finish_recording(gpu, id, &error), &error);
    if (status == SPY_OK) status = spyi_recording_reported(device, function);
    spyi_leave(device);
    return status;
}

spy_status spy_vk_get_command_buffer(spy_device *device, void **command_buffer) {
    static const char function[] = "spy_vk_get_command_buffer";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    spy_status status;
    memset(&error, 0, sizeof error);
    if (command_buffer != NULL) *command_buffer = NULL;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (command_buffer == NULL) {
        spyi_text_add(&error, "command_buffer is NULL");
        return spyi_vk_leave(device, gpu, function, SPY_ERROR_INVALID_ARGUMENT, &error);
    }
    status = spyi_vk_begin(gpu, &error);
    if (status == SPY_OK) {
        *command_buffer = (void *)gpu->commands;
        gpu->bound = NULL; // the caller may bind other pipelines
        gpu->pass.bound = NULL;
    }
    return spyi_vk_leave(device, gpu, function, status, &error);
}

spy_status spy_vk_wait_semaphore(spy_device *device, uint64_t semaphore, uint64_t value) {
    static const char function[] = "spy_vk_wait_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function,
                         spyi_vk_add_semaphore(gpu, &gpu->waits, semaphore, value, &error), &error);
}

spy_status spy_vk_signal_semaphore(spy_device *device, uint64_t semaphore, uint64_t value) {
    static const char function[] = "spy_vk_signal_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error;
    memset(&error, 0, sizeof error);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    return spyi_vk_leave(device, gpu, function,
                         spyi_vk_add_semaphore(gpu, &gpu->signals, semaphore, value, &error), &error);
}

spy_tensor *spy_vk_create_tensor(spy_device *device, uint64_t buffer, uint64_t offset_bytes,
                                 uint64_t size_bytes, const spy_tensor_desc *desc) {
    static const char function[] = "spy_vk_create_tensor";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spy_tensor *tensor = NULL;
    VkBufferDeviceAddressInfo info;
    spyi_chunk chunk;
    if (gpu == NULL) return NULL;
    if (buffer == 0 || desc == NULL || desc->data != NULL) {
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        buffer == 0    ? "the buffer is NULL"
                        : desc == NULL ? "desc is NULL"
                                       : "desc->data must be NULL: the buffer has the contents");
    } else {
        memset(&chunk, 0, sizeof chunk);
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
        info.buffer = (VkBuffer)buffer;
        chunk.handle = buffer;
        chunk.address = gpu->vk.vkGetBufferDeviceAddress(gpu->device, &info);
        chunk.size = (size_t)(offset_bytes + size_bytes);
        tensor = spyi_import_tensor(device, function, &chunk, offset_bytes, size_bytes, desc);
    }
    spyi_leave(device);
    return tensor;
}

spy_status spy_vk_get_tensor_buffer(spy_tensor *tensor, uint64_t *buffer, uint64_t *offset_bytes) {
    static const char function[] = "spy_vk_get_tensor_buffer";
    spyi_chunk chunk;
    uint64_t offset = 0;
    if (buffer != NULL) *buffer = 0;
    if (offset_bytes != NULL) *offset_bytes = 0;
    spy_status entered = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (entered != SPY_OK) return entered;
    if (!spyi_tensor_location(tensor, function, &chunk, &offset)) {
        spyi_leave(tensor);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (buffer != NULL) *buffer = chunk.handle;
    if (offset_bytes != NULL) *offset_bytes = offset;
    spyi_leave(tensor);
    return SPY_OK;
}

// >>vk/shared.c ---------------------------------------------------------------------------------------------

// Memory and timeline semaphores that another API of the same GPU uses, too: CUDA imports both by their file
// descriptors. Source: Vulkan specification, VK_KHR_external_memory_fd and VK_KHR_external_semaphore_fd.

static VkExternalMemoryFeatureFlags spyi_vk_exported_buffers(const spyi_vk_gpu *gpu) {
    VkPhysicalDeviceExternalBufferInfo info;
    VkExternalBufferProperties properties;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
    gpu->instance.GetPhysicalDeviceExternalBufferProperties(gpu->adapter.handle, &info, &properties);
    return properties.externalMemoryProperties.externalMemoryFeatures;
}

static VkExternalSemaphoreFeatureFlags spyi_vk_exported_timelines(const spyi_vk_gpu *gpu) {
    VkPhysicalDeviceExternalSemaphoreInfo info;
    VkSemaphoreTypeCreateInfo type;
    VkExternalSemaphoreProperties properties;
    SPYI_VK_ZERO(type);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO;
    info.pNext = &type;
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES;
    gpu->instance.GetPhysicalDeviceExternalSemaphoreProperties(gpu->adapter.handle, &info, &properties);
    return properties.externalSemaphoreFeatures;
}

static spy_vk_sharing spyi_vk_sharing(const spyi_vk_gpu *gpu) {
    spy_vk_sharing sharing;
    VkPhysicalDeviceIDProperties id;
    VkPhysicalDeviceProperties2 properties;
    memset(&sharing, 0, sizeof sharing);
    SPYI_VK_ZERO(id);
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    SPYI_VK_ZERO(properties);
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &id;
    gpu->instance.GetPhysicalDeviceProperties2(gpu->adapter.handle, &properties);
    memcpy(sharing.device_uuid, id.deviceUUID, sizeof sharing.device_uuid);
    sharing.memory = gpu->adapter.extensions[SPYI_VK_KHR_external_memory_fd] &&
                     gpu->vk.vkGetMemoryFdKHR != NULL &&
                     (spyi_vk_exported_buffers(gpu) & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0;
    sharing.semaphores =
        gpu->adapter.extensions[SPYI_VK_KHR_external_semaphore_fd] && gpu->vk.vkGetSemaphoreFdKHR != NULL &&
        (spyi_vk_exported_timelines(gpu) & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
    return sharing;
}

static spy_status spyi_vk_cannot_share(const spyi_vk_gpu *gpu, const char *what, const char *extension,
                                       spyi_text *error) {
    spyi_text_add(
        error, "'%s' cannot export %s: it needs %s, which %s", gpu->adapter.info.name, what, extension,
        gpu->base.borrowed ? "the engine did not enable for its VkDevice, or its driver does not have"
                           : "its driver does not have for them");
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_vk_export_memory(spyi_vk_gpu *gpu, uint64_t size_bytes, spy_vk_shared_memory *shared,
                                        spyi_text *error) {
    uint32_t type = gpu->memory_type[SPYI_VK_MEMORY_DEVICE];
    VkDeviceSize most = gpu->adapter.memory.memoryHeaps[gpu->adapter.memory.memoryTypes[type].heapIndex].size;
    const char *what = "vkAllocateMemory";
    VkMemoryRequirements needs;
    VkMemoryGetFdInfoKHR info;
    spyi_chunk chunk;
    VkResult result;
    int fd = -1;
    if (size_bytes == 0) {
        spyi_text_add(error, "size_bytes is 0");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!spyi_vk_sharing(gpu).memory)
        return spyi_vk_cannot_share(gpu, "memory", "VK_KHR_external_memory_fd", error);
    if (gpu->adapter.max_allocation < most) most = gpu->adapter.max_allocation;
    if (size_bytes > most) {
        spyi_text_add(error, "%llu bytes were asked for; the largest allocation of '%s' is %llu bytes",
                      (unsigned long long)size_bytes, gpu->adapter.info.name, (unsigned long long)most);
        return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    memset(&chunk, 0, sizeof chunk);
    result = spyi_vk_try_allocate(gpu, type, spyi_align((size_t)size_bytes, 256), true, &chunk, &what);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, what, error);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
    info.memory = (VkDeviceMemory)chunk.memory;
    info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = gpu->vk.vkGetMemoryFdKHR(gpu->device, &info, &fd);
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += chunk.size;
    if (result != VK_SUCCESS) {
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &chunk);
        return spyi_vk_fail(gpu, result, "vkGetMemoryFdKHR", error);
    }
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_BUFFER, chunk.handle, "shared memory");
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, (VkBuffer)chunk.handle, &needs);
    shared->buffer = chunk.handle;
    shared->memory = (uint64_t)(uintptr_t)chunk.memory;
    shared->size_bytes = chunk.size;
    shared->allocated_bytes = needs.size;
    shared->fd = fd;
    return SPY_OK;
}

static spy_status spyi_vk_export_semaphore(spyi_vk_gpu *gpu, uint64_t *semaphore, int *fd, spyi_text *error) {
    VkExportSemaphoreCreateInfo exported;
    VkSemaphoreGetFdInfoKHR get;
    VkSemaphore made = VK_NULL_HANDLE;
    VkResult result;
    if (!spyi_vk_sharing(gpu).semaphores)
        return spyi_vk_cannot_share(gpu, "timeline semaphores", "VK_KHR_external_semaphore_fd", error);
    SPYI_VK_ZERO(exported);
    exported.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO;
    exported.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = spyi_vk_make_timeline(gpu, &exported, &made);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateSemaphore", error);
    SPYI_VK_ZERO(get);
    get.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR;
    get.semaphore = made;
    get.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    result = gpu->vk.vkGetSemaphoreFdKHR(gpu->device, &get, fd);
    if (result != VK_SUCCESS) {
        gpu->vk.vkDestroySemaphore(gpu->device, made, NULL);
        return spyi_vk_fail(gpu, result, "vkGetSemaphoreFdKHR", error);
    }
    *semaphore = (uint64_t)made;
    return SPY_OK;
}

// >>the public functions

spy_vk_sharing spy_vk_get_sharing(spy_device *device) {
    spyi_vk_gpu *gpu = spyi_vk_enter(device, "spy_vk_get_sharing");
    spy_vk_sharing sharing;
    memset(&sharing, 0, sizeof sharing);
    if (gpu == NULL) return sharing;
    sharing = spyi_vk_sharing(gpu);
    spyi_leave(device);
    return sharing;
}

spy_status spy_vk_create_shared_memory(spy_device *device, uint64_t size_bytes,
                                       spy_vk_shared_memory *shared) {
    static const char function[] = "spy_vk_create_shared_memory";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (shared != NULL) {
        memset(shared, 0, sizeof *shared);
        shared->fd = -1;
    }
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (shared == NULL) spyi_text_add(&error, "shared is NULL");
    else status = spyi_vk_export_memory(gpu, size_bytes, shared, &error);
    return spyi_vk_leave(device, gpu, function, status, &error);
}

spy_status spy_vk_release_shared_memory(spy_device *device, spy_vk_shared_memory *shared) {
    static const char function[] = "spy_vk_release_shared_memory";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_chunk chunk;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (shared != NULL && shared->buffer != 0) {
        memset(&chunk, 0, sizeof chunk);
        chunk.handle = shared->buffer;
        chunk.memory = (void *)(uintptr_t)shared->memory;
        chunk.size = (size_t)shared->size_bytes;
        spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &chunk);
        memset(shared, 0, sizeof *shared);
        shared->fd = -1;
    }
    spyi_leave(device);
    return SPY_OK;
}

spy_status spy_vk_create_shared_semaphore(spy_device *device, uint64_t *semaphore, int *fd) {
    static const char function[] = "spy_vk_create_shared_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore != NULL) *semaphore = 0;
    if (fd != NULL) *fd = -1;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore == NULL || fd == NULL)
        spyi_text_add(&error, "%s is NULL", semaphore == NULL ? "semaphore" : "fd");
    else status = spyi_vk_export_semaphore(gpu, semaphore, fd, &error);
    return spyi_vk_leave(device, gpu, function, status, &error);
}

spy_status spy_vk_release_shared_semaphore(spy_device *device, uint64_t semaphore) {
    static const char function[] = "spy_vk_release_shared_semaphore";
    spyi_vk_gpu *gpu = spyi_vk_enter(device, function);
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore != 0) gpu->vk.vkDestroySemaphore(gpu->device, (VkSemaphore)semaphore, NULL);
    spyi_leave(device);
    return SPY_OK;
}

// >>vk/backend.c --------------------------------------------------------------------------------------------

// The function table of the Vulkan backend.

static const spyi_image_functions spyi_vk_images = {
    spyi_vk_image_support,     spyi_vk_create_image,       spyi_vk_destroy_image,
    spyi_vk_create_image_view, spyi_vk_destroy_image_view, spyi_vk_create_sampler,
    spyi_vk_destroy_sampler,   spyi_vk_add_handle,         spyi_vk_remove_handle,
};

static const spyi_raster_functions spyi_vk_raster_functions = { spyi_vk_load_raster };

// The members are in the order of struct spyi_backend, the functions for work in that of spyi_work_number.
// clang-format off
static const struct spyi_backend spyi_vk_table = {
    "vulkan",
    spyi_vk_enumerate,
    spyi_vk_create,
    spyi_vk_destroy,
    spyi_vk_allocate_chunk,
    spyi_vk_free_chunk,
    spyi_compile_as_is,
    NULL, // the compiler itself repairs SPIR-V
    NULL, // no compiler to open
    spyi_vk_load,
    spyi_vk_destroy_kernel,
    {
        spyi_vk_dispatch,
        spyi_vk_copy,
        spyi_vk_fill,
        spyi_vk_upload,
        spyi_vk_label,
        spyi_vk_time_mark,
        spyi_vk_time_store,
        spyi_vk_image_bytes,
        spyi_vk_image_copy,
        spyi_vk_image_blit,
        spyi_vk_image_clear,
        spyi_vk_draw,
    },
    spyi_vk_download,
    spyi_vk_time_begin,
    spyi_vk_time_end,
    spyi_vk_time_elapsed,
    spyi_vk_finished_submit,
    spyi_vk_submit,
    spyi_vk_wait,
    NULL, // these six are NULL because Vulkan has no graphs: each submission records its command buffer anew
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL, // Vulkan has no streams of the program
    &spyi_vk_images,
    &spyi_vk_raster_functions,
    SPYI_TARGET_SPIRV,
};
// clang-format on

const spy_backend *spy_vk_backend(void) {
    return &spyi_vk_table;
}

SPYI_COLD_END

#endif // SLANGPY_VK_IMPLEMENTED

/*
MIT License

Copyright (c) 2026 the slangpy.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/
