// 04_engine_vulkan: an engine with its own Vulkan calls a Slang function into its own VkBuffers, recorded into
// its own command buffers, which it submits itself, with two frames in flight.
//
// The engine links libvulkan. The library does not: it loads Vulkan under private names, so the two do not
// meet. In a file that holds the library's implementation our header comes first, then the engine's headers.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where wave.slang lies; otherwise run the program beside it
#endif

enum { POINTS = 4096, FRAMES = 60, IN_FLIGHT = 2 };

static void check_vk(VkResult result, const char *what) {
    if (result == VK_SUCCESS) return;
    fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
    exit(1);
}

// clang-format off: Vulkan's descs are shorter this way
// 1. Optional extensions make kernels faster. The engine enables each optional extension that the device has.
static uint32_t find_extensions(VkPhysicalDevice adapter, const spy_vk_requirements *needs, const char **names) {
    VkExtensionProperties found[512];
    uint32_t found_count = 512, count = 0;
    vkEnumerateDeviceExtensionProperties(adapter, NULL, &found_count, found);
    for (uint32_t i = 0; i < needs->extension_count; i++) names[count++] = needs->extensions[i];
    for (uint32_t i = 0; i < needs->optional_extension_count; i++)
        for (uint32_t k = 0; k < found_count; k++)
            if (!strcmp(found[k].extensionName, needs->optional_extensions[i])) names[count++] = needs->optional_extensions[i];
    return count;
}

// A host-visible buffer with the four usages that a tensor's buffer must have.
static VkBuffer make_buffer(VkPhysicalDevice adapter, VkDevice device, VkDeviceSize size, VkDeviceMemory *memory) {
    VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage };
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags };
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    VkBuffer buffer;
    check_vk(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(adapter, &types);
    for (uint32_t i = types.memoryTypeCount; i-- > 0;)
        if ((needs.memoryTypeBits >> i & 1) && (types.memoryTypes[i].propertyFlags & wanted) == wanted)
            allocate.memoryTypeIndex = i;
    allocate.allocationSize = needs.size;
    check_vk(vkAllocateMemory(device, &allocate, NULL, memory), "vkAllocateMemory");
    check_vk(vkBindBufferMemory(device, buffer, *memory, 0), "vkBindBufferMemory");
    return buffer;
}

// What the engine keeps for each frame in flight: all that the GPU may still use while the next one is recorded.
typedef struct frame {
    VkCommandBuffer commands;
    VkFence fence;         // signalled when the frame has been executed
    VkBuffer buffer;       // that the library writes
    VkDeviceMemory memory; // of the buffer
    float *mapped;
    spy_tensor *heights;           // over the buffer
    spy_vk_recording_id recording; // 0: none
    float time;
} frame;

static float x[POINTS];

// Waits for the frame, tells the library so, and looks at the result: an engine would draw from it instead.
static bool finish_frame(spy_device *dev, VkDevice device, frame *f) {
    bool good = true;
    if (f->recording == 0) return true;
    check_vk(vkWaitForFences(device, 1, &f->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    check_vk(vkResetFences(device, 1, &f->fence), "vkResetFences");
    spy_vk_recording_finished(dev, f->recording);
    f->recording = 0;
    for (int i = 0; i < POINTS; i++) {
        double at = (double)x[i], t = (double)f->time;
        good = good && fabs((double)f->mapped[i] - (0.5 * sin(3 * at + t) + 0.25 * cos(7 * at - 2 * t))) < 1e-4;
    }
    return good;
}

int main(void) {
    // 2. The engine's own Vulkan: instance, adapter, queue family with compute, device, queue, command buffers.
    spy_vk_requirements needs = spy_vk_required_features();
    VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = needs.api_version };
    VkInstance instance;
    VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
    check_vk(vkCreateInstance(&instance_info, NULL, &instance), "vkCreateInstance");
    VkPhysicalDevice adapter;
    uint32_t adapter_count = 1, family = 0, family_count = 16;
    if (vkEnumeratePhysicalDevices(instance, &adapter_count, &adapter) < 0 || adapter_count == 0)
        check_vk(VK_ERROR_INITIALIZATION_FAILED, "no Vulkan device (on Debian: apt-get install mesa-vulkan-drivers)");
    VkQueueFamilyProperties families[16];
    vkGetPhysicalDeviceQueueFamilyProperties(adapter, &family_count, families);
    while (family + 1 < family_count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) family++;
    // The library turns on what it needs, and what it can use, in the engine's VkPhysicalDevice*Features.
    VkPhysicalDeviceVulkan12Features has12 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES }, enabled12 = has12;
    VkPhysicalDeviceFeatures2 has = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &has12 }, enabled = has;
    spy_vk_features on;
    enabled.pNext = &enabled12;
    vkGetPhysicalDeviceFeatures2(adapter, &has);
    if (spy_vk_fill_features(&enabled, &has, &on) != SPY_OK) {
        fprintf(stderr, "%s\n", spy_take_error(NULL).message);
        return 1;
    }
    const char *extensions[32];
    uint32_t extension_count = find_extensions(adapter, &needs, extensions);
    VkDeviceQueueCreateInfo queue_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &(float){ 1 } };
    VkDeviceCreateInfo device_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &enabled,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
        .enabledExtensionCount = extension_count, .ppEnabledExtensionNames = extensions };
    VkDevice device; VkQueue queue;
    check_vk(vkCreateDevice(adapter, &device_info, NULL, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPool pool;
    VkCommandPoolCreateInfo pool_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, .queueFamilyIndex = family };
    check_vk(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");

    // 3. The library on top of it. An engine with threads also gives lock_queue and unlock_queue; one that enables
    //    optional features names them in enabled_features.
    spy_vk_desc own = { .instance = instance, .physical_device = adapter, .device = device, .queue = queue,
        .queue_family = family, .api_version = needs.api_version, .enabled_features = on.names, .enabled_feature_count = on.count };
    spy_device *dev = spy_create_device(&(spy_device_desc){
        .backend = spy_vk_backend(), .backend_desc = &own, .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "wave.slang" });
    spy_function *wave = spy_find_function(mod, "wave");

    // 4. For each frame in flight a command buffer, a fence, and a tensor over a buffer of the engine's.
    frame frames[IN_FLIGHT] = { 0 };
    spy_tensor *xs = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(POINTS) });
    for (int i = 0; i < IN_FLIGHT; i++) {
        frame *f = &frames[i];
        VkCommandBufferAllocateInfo commands_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pool, .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1 };
        check_vk(vkAllocateCommandBuffers(device, &commands_info, &f->commands), "vkAllocateCommandBuffers");
        VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
        check_vk(vkCreateFence(device, &fence_info, NULL, &f->fence), "vkCreateFence");
        f->buffer = make_buffer(adapter, device, sizeof x, &f->memory);
        check_vk(vkMapMemory(device, f->memory, 0, VK_WHOLE_SIZE, 0, (void **)&f->mapped), "vkMapMemory");
        spy_tensor_desc heights_desc = { .shape = SPY_SHAPE(POINTS) };
        f->heights = spy_vk_create_tensor(dev, (uint64_t)f->buffer, 0, sizeof x, &heights_desc);
    }

    // 5. Compile before the first frame, so that no frame waits (`.async` would do it on another thread).
    spy_prepared *ready = spy_prepare(wave, SPY_ARGS(spy_arg_tensor("x", xs), spy_arg_f32("time", 0),
        spy_arg_tensor("_result", frames[0].heights)), NULL);

    // 6. The frames. Each waits for the one before the last, whose slot it takes; meanwhile the GPU has the last one. The
    //    upload and the call are recorded where the engine is recording; barriers to its own commands are its own.
    bool good = true;
    for (int i = 0; i < POINTS; i++) x[i] = (float)i / POINTS;
    for (int n = 0; n < FRAMES; n++) {
        frame *f = &frames[n % IN_FLIGHT];
        good = finish_frame(dev, device, f) && good;
        f->time = (float)n / 60;
        VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
        check_vk(vkBeginCommandBuffer(f->commands, &begin), "vkBeginCommandBuffer");
        f->recording = spy_vk_begin_recording(dev, f->commands);
        spy_tensor_write(xs, x, sizeof x);
        spy_call_prepared(ready, SPY_ARGS(spy_arg_tensor("x", xs), spy_arg_f32("time", f->time),
            spy_arg_tensor("_result", f->heights)));
        spy_vk_end_recording(dev);
        VkMemoryBarrier to_host = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT };
        vkCmdPipelineBarrier(f->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
            &to_host, 0, NULL, 0, NULL);
        check_vk(vkEndCommandBuffer(f->commands), "vkEndCommandBuffer");
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
            .pCommandBuffers = &f->commands };
        check_vk(vkQueueSubmit(queue, 1, &submit, f->fence), "vkQueueSubmit");
    }
    for (int n = FRAMES; n < FRAMES + IN_FLIGHT; n++) good = finish_frame(dev, device, &frames[n % IN_FLIGHT]) && good;

    spy_error err = spy_take_error(dev);
    good = good && err.code == SPY_OK;
    printf("%d frames, %d in flight: %d points in the engine's buffers are %s %s\n", FRAMES, IN_FLIGHT, POINTS,
           good ? "right" : "wrong", err.message);

    // 7. First the library, then what it was given.
    spy_release_device(dev);
    for (int i = 0; i < IN_FLIGHT; i++) {
        vkDestroyFence(device, frames[i].fence, NULL);
        vkDestroyBuffer(device, frames[i].buffer, NULL);
        vkFreeMemory(device, frames[i].memory, NULL);
    }
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return good ? 0 : 1;
}
