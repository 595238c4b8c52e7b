// The list of Vulkan functions that the backend calls, and the headers that declare their types. The backend
// gets their addresses at run time and keeps them in members of its own structs, so that no symbol clashes
// with the program's libvulkan or volk. A function that the backend calls must have a line here.
#ifndef SPYI_VK_FUNCTIONS_H
#define SPYI_VK_FUNCTIONS_H

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

#endif
