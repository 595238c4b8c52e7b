// A Vulkan for tests/counts/calls.c: lavapipe, which says that it is a GPU, so that kernels take pointers as GPUs' kernels do, and
// whose recording does nothing. What callgrind counts are the library's own instructions: recording commands costs an empty
// function, and the rest of the driver is not counted.
#ifndef TESTS_COUNTS_VK_H
#define TESTS_COUNTS_VK_H

#include "slangpy_vk.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>
#include <vulkan/vulkan.h>

static struct {
    PFN_vkGetInstanceProcAddr instance_proc;
    PFN_vkGetDeviceProcAddr device_proc;
    PFN_vkGetPhysicalDeviceProperties properties;
    PFN_vkGetPhysicalDeviceProperties2 properties_2;
    PFN_vkQueueSubmit submit;
    uint64_t done; // the last value that a submission signals
    bool busy;     // the last submission has not finished
    long barriers, binds, pushes;
} standin;

static void VKAPI_CALL standin_bind(VkCommandBuffer c, VkPipelineBindPoint point, VkPipeline pipeline) {
    (void)c, (void)point, (void)pipeline;
    standin.binds++;
}
static void VKAPI_CALL standin_push(VkCommandBuffer c, VkPipelineLayout layout, VkShaderStageFlags stages,
                                    uint32_t offset, uint32_t size, const void *values) {
    (void)c, (void)layout, (void)stages, (void)offset, (void)size, (void)values;
    standin.pushes++;
}
static void VKAPI_CALL standin_dispatch(VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z) {
    (void)c, (void)x, (void)y, (void)z;
}
static void VKAPI_CALL standin_barrier(VkCommandBuffer c, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                       VkDependencyFlags flags, uint32_t count,
                                       const VkMemoryBarrier *barriers, uint32_t buffer_count,
                                       const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                                       const VkImageMemoryBarrier *images) {
    (void)c, (void)from, (void)to, (void)flags, (void)count, (void)barriers, (void)buffer_count,
        (void)buffers, (void)image_count, (void)images;
    standin.barriers++;
}
static VkResult VKAPI_CALL standin_reset(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags) {
    (void)device, (void)pool, (void)flags;
    return VK_SUCCESS;
}
static VkResult VKAPI_CALL standin_begin(VkCommandBuffer c, const VkCommandBufferBeginInfo *info) {
    (void)c, (void)info;
    return VK_SUCCESS;
}
static VkResult VKAPI_CALL standin_end(VkCommandBuffer c) {
    (void)c;
    return VK_SUCCESS;
}
static VkResult VKAPI_CALL standin_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                          VkFence fence) {
    const VkTimelineSemaphoreSubmitInfo *timeline = (const VkTimelineSemaphoreSubmitInfo *)infos->pNext;
    VkSubmitInfo signals = *infos;
    VkResult result;
    (void)count;
    signals.commandBufferCount = 0;
    standin.done = timeline->pSignalSemaphoreValues[timeline->signalSemaphoreValueCount - 1];
    CALLGRIND_TOGGLE_COLLECT;
    result = standin.submit(queue, 1, &signals, fence);
    CALLGRIND_TOGGLE_COLLECT;
    return result;
}
static VkResult VKAPI_CALL standin_value(VkDevice device, VkSemaphore semaphore, uint64_t *value) {
    (void)device, (void)semaphore;
    *value = standin.done - (standin.busy && standin.done > 0);
    return VK_SUCCESS;
}

static PFN_vkVoidFunction VKAPI_CALL standin_device_proc(VkDevice device, const char *name) {
#define STANDIN(vulkan, function)                                                                            \
    if (strcmp(name, vulkan) == 0) return (PFN_vkVoidFunction)function
    STANDIN("vkCmdBindPipeline", standin_bind);
    STANDIN("vkCmdPushConstants", standin_push);
    STANDIN("vkCmdDispatch", standin_dispatch);
    STANDIN("vkCmdPipelineBarrier", standin_barrier);
    STANDIN("vkResetCommandPool", standin_reset);
    STANDIN("vkBeginCommandBuffer", standin_begin);
    STANDIN("vkEndCommandBuffer", standin_end);
    STANDIN("vkGetSemaphoreCounterValue", standin_value);
    PFN_vkVoidFunction found = standin.device_proc(device, name);
    if (strcmp(name, "vkQueueSubmit") == 0) {
        standin.submit = (PFN_vkQueueSubmit)found;
        return (PFN_vkVoidFunction)standin_submit;
    }
    // Fills and copies are recorded for nobody.
    if (strcmp(name, "vkCmdFillBuffer") == 0 || strcmp(name, "vkCmdCopyBuffer") == 0)
        return (PFN_vkVoidFunction)standin_end;
    return found;
}

static void VKAPI_CALL standin_properties(VkPhysicalDevice adapter, VkPhysicalDeviceProperties *properties) {
    standin.properties(adapter, properties);
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}
static void VKAPI_CALL standin_properties_2(VkPhysicalDevice adapter,
                                            VkPhysicalDeviceProperties2 *properties) {
    standin.properties_2(adapter, properties);
    properties->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

static spy_vk_void_func standin_instance_proc(void *instance, const char *name) {
    PFN_vkVoidFunction found = standin.instance_proc((VkInstance)instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        standin.device_proc = (PFN_vkGetDeviceProcAddr)found;
        return (spy_vk_void_func)standin_device_proc;
    }
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
        standin.properties = (PFN_vkGetPhysicalDeviceProperties)found;
        return (spy_vk_void_func)standin_properties;
    }
    if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0) {
        standin.properties_2 = (PFN_vkGetPhysicalDeviceProperties2)found;
        return (spy_vk_void_func)standin_properties_2;
    }
    return (spy_vk_void_func)found;
}

// Sets up the device's desc. The program ends where the machine has no Vulkan loader.
static void standin_vk(spy_device_desc *desc) {
    static spy_vk_desc vulkan;
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    if (loader != NULL)
        standin.instance_proc = (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr");
    if (standin.instance_proc == NULL) exit(1);
    vulkan.get_instance_proc_addr = standin_instance_proc;
    desc->backend = spy_vk_backend();
    desc->backend_desc = &vulkan;
}

#endif
