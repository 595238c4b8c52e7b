// forms MEGAELEMENTS GROUPS BINDINGS PUSH FILE.spv...: runs compute kernels of 256 threads a group as they are, and prints
// for each the least time of 20 runs by the GPU's clock, and what the driver says of its code (registers, local memory).
// PUSH: the push constants, as whole numbers with commas. Each binding is a buffer of that many floats, all 0.37.
//
// An experiment of 2026-11-26: why a fused chain's backward call takes 0.574 ms on an H200 under Vulkan. fuse_forms.sh runs it.
#define _POSIX_C_SOURCE 200809L
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const VkResult result_ = (call);                                                                     \
        if (result_ != VK_SUCCESS) {                                                                         \
            printf("%s gave %d (line %d)\n", #call, (int)result_, __LINE__);                                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { MOST_BINDINGS = 4, MOST_PUSH = 32, RUNS = 20 };

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandBuffer cmd;
static VkQueryPool queries;
static float period;
static bool has_statistics;

static void open_device(void) {
    TRY(volkInitialize());
    VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
    VkInstance instance;
    TRY(vkCreateInstance(
        &(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app }, NULL,
        &instance));
    volkLoadInstance(instance);
    VkPhysicalDevice all[8];
    uint32_t count = 8;
    vkEnumeratePhysicalDevices(instance, &count, all);
    VkPhysicalDeviceProperties p;
    for (uint32_t i = 0; i < count; i++) {
        vkGetPhysicalDeviceProperties(all[i], &p);
        if (!physical || p.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) physical = all[i];
    }
    vkGetPhysicalDeviceProperties(physical, &p);
    period = p.limits.timestampPeriod;
    printf("%s\n", p.deviceName);
    static VkExtensionProperties extensions[512];
    count = 512;
    vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions);
    const char *names[2];
    uint32_t name_count = 0;
    bool atomics = false;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(extensions[i].extensionName, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) == 0) {
            names[name_count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
            has_statistics = true;
        }
        if (strcmp(extensions[i].extensionName, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME) == 0) {
            names[name_count++] = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
            atomics = true;
        }
    }
    VkQueueFamilyProperties families[16];
    uint32_t family_count = 16, family = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &family_count, families);
    while (!(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) || !families[family].timestampValidBits) family++;
    float priority = 1;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE
    };
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
        .pNext = has_statistics ? &statistics : NULL,
        .shaderBufferFloat32AtomicAdd = VK_TRUE
    };
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = atomics ? (void *)&floats : floats.pNext,
        .scalarBlockLayout = VK_TRUE
    };
    VkDeviceQueueCreateInfo queue_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority };
    TRY(vkCreateDevice(physical,
                       &(VkDeviceCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                              .pNext = &features,
                                              .queueCreateInfoCount = 1,
                                              .pQueueCreateInfos = &queue_info,
                                              .enabledExtensionCount = name_count,
                                              .ppEnabledExtensionNames = names },
                       NULL, &device));
    volkLoadDevice(device);
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPool pool;
    TRY(vkCreateCommandPool(device,
                            &(VkCommandPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                                        .queueFamilyIndex = family },
                            NULL, &pool));
    TRY(vkAllocateCommandBuffers(device,
                                 &(VkCommandBufferAllocateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                                 .commandPool = pool,
                                                                 .commandBufferCount = 1 },
                                 &cmd));
    TRY(vkCreateQueryPool(device,
                          &(VkQueryPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                                    .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                                    .queryCount = 2 },
                          NULL, &queries));
}

static VkBuffer create_buffer(VkDeviceSize size) {
    VkBuffer buffer;
    VkDeviceMemory memory;
    TRY(vkCreateBuffer(device,
                       &(VkBufferCreateInfo){ .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                              .size = size,
                                              .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                                       VK_BUFFER_USAGE_STORAGE_BUFFER_BIT },
                       NULL, &buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1) ||
           !(types.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
        type++;
    TRY(vkAllocateMemory(device,
                         &(VkMemoryAllocateInfo){ .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                                  .allocationSize = needs.size,
                                                  .memoryTypeIndex = type },
                         NULL, &memory));
    TRY(vkBindBufferMemory(device, buffer, memory, 0));
    return buffer;
}

static void begin(void) {
    TRY(vkBeginCommandBuffer(cmd, &(VkCommandBufferBeginInfo){
                                      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO }));
}

static void finish(void) {
    TRY(vkEndCommandBuffer(cmd));
    TRY(vkQueueSubmit(queue, 1,
                      &(VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                       .commandBufferCount = 1,
                                       .pCommandBuffers = &cmd },
                      VK_NULL_HANDLE));
    TRY(vkQueueWaitIdle(queue));
}

static void print_statistics(VkPipeline pipeline) {
    VkPipelineInfoKHR info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline };
    VkPipelineExecutablePropertiesKHR parts[4];
    uint32_t count = 4;
    if (!has_statistics) return;
    for (int i = 0; i < 4; i++)
        parts[i] = (VkPipelineExecutablePropertiesKHR){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR
        };
    TRY(vkGetPipelineExecutablePropertiesKHR(device, &info, &count, parts));
    for (uint32_t p = 0; p < count; p++) {
        VkPipelineExecutableStatisticKHR items[32];
        uint32_t item_count = 32;
        for (int i = 0; i < 32; i++)
            items[i] = (VkPipelineExecutableStatisticKHR){ .sType =
                                                               VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR };
        vkGetPipelineExecutableStatisticsKHR(
            device,
            &(VkPipelineExecutableInfoKHR){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = p },
            &item_count, items);
        printf("     ");
        for (uint32_t i = 0; i < item_count; i++) {
            if (items[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)
                printf(" %s %g;", items[i].name, items[i].value.f64);
            else printf(" %s %lld;", items[i].name, (long long)items[i].value.i64);
        }
        printf("\n");
    }
}

int main(int argc, char **argv) {
    uint32_t push[MOST_PUSH], push_count = 0;
    if (argc < 6) return 2;
    const VkDeviceSize size = strtoull(argv[1], NULL, 10) * 4 << 20;
    const uint32_t groups = (uint32_t)atoi(argv[2]), bindings = (uint32_t)atoi(argv[3]);
    for (char *at = argv[4]; *at && push_count < MOST_PUSH; at += *at == ',')
        push[push_count++] = (uint32_t)strtoul(at, &at, 0);
    open_device();
    VkBuffer buffers[MOST_BINDINGS];
    float fill = 0.37f;
    uint32_t bits;
    memcpy(&bits, &fill, sizeof bits);
    begin();
    for (uint32_t i = 0; i < bindings; i++) {
        buffers[i] = create_buffer(size);
        vkCmdFillBuffer(cmd, buffers[i], 0, size, bits);
    }
    finish();
    VkDescriptorSetLayoutBinding items[MOST_BINDINGS];
    for (uint32_t i = 0; i < bindings; i++)
        items[i] = (VkDescriptorSetLayoutBinding){ i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                   NULL };
    VkDescriptorSetLayout set_layout;
    TRY(vkCreateDescriptorSetLayout(
        device,
        &(VkDescriptorSetLayoutCreateInfo){ .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = bindings,
                                            .pBindings = items },
        NULL, &set_layout));
    VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, push_count * 4 };
    VkPipelineLayout layout;
    TRY(vkCreatePipelineLayout(device,
                               &(VkPipelineLayoutCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                              .setLayoutCount = 1,
                                                              .pSetLayouts = &set_layout,
                                                              .pushConstantRangeCount = 1,
                                                              .pPushConstantRanges = &range },
                               NULL, &layout));
    VkDescriptorPool pool;
    TRY(vkCreateDescriptorPool(
        device,
        &(VkDescriptorPoolCreateInfo){
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            .maxSets = 1,
            .poolSizeCount = 1,
            .pPoolSizes = &(VkDescriptorPoolSize){ VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST_BINDINGS } },
        NULL, &pool));
    VkDescriptorSet set;
    TRY(vkAllocateDescriptorSets(
        device,
        &(VkDescriptorSetAllocateInfo){ .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &set_layout },
        &set));
    for (uint32_t i = 0; i < bindings; i++)
        vkUpdateDescriptorSets(
            device, 1,
            &(VkWriteDescriptorSet){ .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                     .dstSet = set,
                                     .dstBinding = i,
                                     .descriptorCount = 1,
                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                     .pBufferInfo = &(VkDescriptorBufferInfo){ buffers[i], 0, VK_WHOLE_SIZE } },
            0, NULL);
    for (int f = 5; f < argc; f++) {
        static uint32_t code[1 << 18];
        FILE *file = fopen(argv[f], "rb");
        if (!file) return 2;
        size_t bytes = fread(code, 1, sizeof code, file);
        fclose(file);
        VkShaderModule module;
        VkPipeline pipeline;
        TRY(vkCreateShaderModule(device,
                                 &(VkShaderModuleCreateInfo){ .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                              .codeSize = bytes,
                                                              .pCode = code },
                                 NULL, &module));
        VkComputePipelineCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .flags = has_statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0u,
            .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                       .module = module,
                       .pName = "spyi_kernel" },
            .layout = layout
        };
        TRY(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
        double best = 1e30;
        for (int run = 0; run < RUNS; run++) {
            uint64_t ticks[2];
            begin();
            vkCmdResetQueryPool(cmd, queries, 0, 2);
            vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
            vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
            vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_count * 4, push);
            vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
            vkCmdDispatch(cmd, groups, 1, 1);
            vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
            finish();
            TRY(vkGetQueryPoolResults(device, queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
            double ms = (double)(ticks[1] - ticks[0]) * period * 1e-6;
            if (ms < best) best = ms;
        }
        const char *name = strrchr(argv[f], '/');
        printf("%-34s %8.3f ms\n", name ? name + 1 : argv[f], best);
        print_statistics(pipeline);
        fflush(stdout);
    }
    return 0;
}
