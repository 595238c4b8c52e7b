// 04_engine_vulkan: an engine with its own Vulkan calls a Slang function into its own VkBuffer, recorded into
// its own command buffer, which it submits itself.
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

enum { POINTS = 4096 };

static void check_vk(VkResult result, const char *what) {
    if (result == VK_SUCCESS) return;
    fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
    exit(1);
}

// 1. What the library needs of a VkDevice is a list of names: members of VkPhysicalDevice*Features. An engine
//    knows these structs; this is its table of those it can turn on.
typedef struct features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan12Features v12;
} features;

static const struct feature_name {
    const char *name;
    size_t offset; // of its VkBool32
} known_features[] = {
    { "shaderInt64", offsetof(features, core.features.shaderInt64) },
    { "timelineSemaphore", offsetof(features, v12.timelineSemaphore) },
    { "bufferDeviceAddress", offsetof(features, v12.bufferDeviceAddress) },
    { "scalarBlockLayout", offsetof(features, v12.scalarBlockLayout) },
};

static void enable_features(features *f, const spy_vk_requirements *needs) {
    memset(f, 0, sizeof *f);
    f->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    f->core.pNext = &f->v12;
    f->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    for (uint32_t i = 0; i < needs->feature_count; i++) {
        size_t k = 0, count = sizeof known_features / sizeof *known_features;
        while (k < count && strcmp(known_features[k].name, needs->features[i]) != 0) k++;
        if (k == count) {
            fprintf(stderr, "this engine does not know the feature %s\n", needs->features[i]);
            exit(1);
        }
        *(VkBool32 *)(void *)((char *)f + known_features[k].offset) = VK_TRUE;
    }
}

// Optional extensions make kernels faster or more types possible: the engine takes those that the device has.
static uint32_t find_extensions(VkPhysicalDevice adapter, const spy_vk_requirements *needs, const char **names) {
    VkExtensionProperties found[512];
    uint32_t found_count = 512, count = 0;
    vkEnumerateDeviceExtensionProperties(adapter, NULL, &found_count, found);
    for (uint32_t i = 0; i < needs->extension_count; i++) names[count++] = needs->extensions[i];
    for (uint32_t i = 0; i < needs->optional_extension_count; i++)
        for (uint32_t k = 0; k < found_count; k++)
            if (strcmp(found[k].extensionName, needs->optional_extensions[i]) == 0)
                names[count++] = needs->optional_extensions[i];
    return count;
}

// A host-visible buffer with the four usages that a tensor's buffer must have.
static VkBuffer make_buffer(VkPhysicalDevice adapter, VkDevice device, VkDeviceSize size,
                            VkDeviceMemory *memory) {
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

// clang-format off: Vulkan's descs are shorter this way
int main(void) {
    // 2. The engine's own Vulkan: instance, adapter, queue family with compute, device, queue, a buffer.
    spy_vk_requirements needs = spy_vk_required_features();
    VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = needs.api_version };
    VkInstance instance;
    VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app };
    check_vk(vkCreateInstance(&instance_info, NULL, &instance), "vkCreateInstance");
    VkPhysicalDevice adapter;
    uint32_t adapter_count = 1, family = 0, family_count = 16;
    if (vkEnumeratePhysicalDevices(instance, &adapter_count, &adapter) < 0 || adapter_count == 0) {
        fprintf(stderr, "no Vulkan device (on Debian: apt-get install mesa-vulkan-drivers)\n");
        return 1;
    }
    VkQueueFamilyProperties families[16];
    vkGetPhysicalDeviceQueueFamilyProperties(adapter, &family_count, families);
    while (family + 1 < family_count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) family++;

    features enabled;
    const char *extensions[32];
    enable_features(&enabled, &needs);
    uint32_t extension_count = find_extensions(adapter, &needs, extensions);
    VkDeviceQueueCreateInfo queue_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &(float){ 1 } };
    VkDeviceCreateInfo device_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &enabled.core,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
        .enabledExtensionCount = extension_count, .ppEnabledExtensionNames = extensions };
    VkDevice device;
    VkQueue queue;
    check_vk(vkCreateDevice(adapter, &device_info, NULL, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, family, 0, &queue);
    VkDeviceMemory memory;
    VkBuffer buffer = make_buffer(adapter, device, POINTS * sizeof(float), &memory);

    VkCommandPool pool;
    VkCommandBuffer commands;
    VkCommandPoolCreateInfo pool_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family };
    check_vk(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo commands_info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool, .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = 1 };
    check_vk(vkAllocateCommandBuffers(device, &commands_info, &commands), "vkAllocateCommandBuffers");

    // 3. The library on top of it. An engine with threads also gives lock_queue and unlock_queue.
    spy_vk_desc own = { .instance = instance, .physical_device = adapter, .device = device, .queue = queue,
        .queue_family = family, .api_version = needs.api_version };
    spy_device *dev = spy_create_device(&(spy_device_desc){
        .backend = spy_vk_backend(), .backend_desc = &own, .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "wave.slang" });
    spy_function *wave = spy_find_function(mod, "wave");

    // 4. A tensor over the engine's buffer, and one of the library's for the input.
    float x[POINTS];
    for (int i = 0; i < POINTS; i++) x[i] = (float)i / POINTS;
    spy_tensor *xs = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(POINTS), .data = x });
    spy_tensor_desc heights_desc = { .shape = SPY_SHAPE(POINTS) };
    spy_tensor *heights = spy_vk_create_tensor(dev, (uint64_t)buffer, 0, sizeof x, &heights_desc);
    const spy_arg items[] = { spy_arg_tensor("x", xs), spy_arg_f32("time", 1), spy_arg_tensor("_result", heights) };
    spy_args args = { items, sizeof items / sizeof *items }; // a list that is kept has a name; SPY_ARGS is for one call

    // 5. Compile before the first frame, so that no frame waits (`.async` would do it on another thread).
    spy_prepared *ready = spy_prepare(wave, args, NULL);

    // 6. A frame. The call is recorded where the engine is recording; barriers to the engine's own commands
    //    round it are the engine's business. Our uploads (xs) have been submitted before it.
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    check_vk(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    spy_vk_set_command_buffer(dev, commands);
    spy_call_prepared(ready, args);
    spy_vk_set_command_buffer(dev, NULL);
    VkMemoryBarrier to_host = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT };
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &to_host, 0, NULL, 0, NULL);
    check_vk(vkEndCommandBuffer(commands), "vkEndCommandBuffer");

    // 7. The engine submits. Once the work is done it says so: from then on the library may read its results.
    VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1 };
    submit.pCommandBuffers = &commands;
    check_vk(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    check_vk(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    spy_vk_external_submit_finished(dev);

    // 8. The engine looks into its buffer, the library into its tensor: the same memory.
    float read[POINTS] = { 0 }, *mapped;
    spy_tensor_read(heights, read, sizeof read);
    check_vk(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped), "vkMapMemory");
    spy_error err = spy_take_error(dev);
    bool good = err.code == SPY_OK && memcmp(read, mapped, sizeof read) == 0;
    for (int i = 0; good && i < POINTS; i++)
        good = fabs((double)mapped[i] - (0.5 * sin(3 * (double)x[i] + 1) + 0.25 * cos(7 * (double)x[i] - 2))) < 1e-4;
    printf("%d points in the engine's buffer are %s %s\n", POINTS, good ? "right" : "wrong", err.message);

    // 9. First the library, then what it was given.
    spy_release_device(dev);
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return good ? 0 : 1;
}
