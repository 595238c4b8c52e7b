// What the machine allows, in plain Vulkan without our library: device-to-device copies, transfers from and to pinned host
// memory, and the cost of recording, executing and waiting for tiny dispatches. bench.c's figures are held against these.
//
//   raw_vk [--json FILE] [--quick | --full]        default: quick sizes on a CPU device, full ones on a GPU
#define _POSIX_C_SOURCE 200809L
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "bench_util.h"

// float *a, *b, *c as push constants; c[i] = a[i] + b[i] for the 32 threads of a group. Made once:
//   void main(uint3 t : SV_DispatchThreadID, uniform float *a, uniform float *b, uniform float *c) { c[t.x] = a[t.x] + b[t.x]; }
//   slangc -target spirv -O0 -entry main -stage compute; OpSource's language set to 0; spirv-opt -O --strip-debug
static const uint32_t add_spirv[] = {
    0x07230203, 0x00010500, 0x00280000, 0x00000025, 0x00000000, 0x00020011, 0x000014e3, 0x00020011,
    0x00000001, 0x0009000a, 0x5f565053, 0x5f52484b, 0x73796870, 0x6c616369, 0x6f74735f, 0x65676172,
    0x6675625f, 0x00726566, 0x0003000e, 0x000014e4, 0x00000001, 0x0007000f, 0x00000005, 0x00000002,
    0x6e69616d, 0x00000000, 0x0000000f, 0x00000009, 0x00060010, 0x00000002, 0x00000011, 0x00000020,
    0x00000001, 0x00000001, 0x00040047, 0x00000009, 0x0000000b, 0x0000001c, 0x00040047, 0x0000000d,
    0x00000006, 0x00000004, 0x00030047, 0x0000000b, 0x00000002, 0x00050048, 0x0000000b, 0x00000000,
    0x00000023, 0x00000000, 0x00050048, 0x0000000b, 0x00000001, 0x00000023, 0x00000008, 0x00050048,
    0x0000000b, 0x00000002, 0x00000023, 0x00000010, 0x00020013, 0x00000001, 0x00030021, 0x00000003,
    0x00000001, 0x00040015, 0x00000005, 0x00000020, 0x00000000, 0x00040017, 0x00000006, 0x00000005,
    0x00000003, 0x00040020, 0x00000008, 0x00000001, 0x00000006, 0x00030016, 0x0000000c, 0x00000020,
    0x00040020, 0x0000000d, 0x000014e5, 0x0000000c, 0x0005001e, 0x0000000b, 0x0000000d, 0x0000000d,
    0x0000000d, 0x00040020, 0x0000000e, 0x00000009, 0x0000000b, 0x00040015, 0x00000010, 0x00000020,
    0x00000001, 0x0004002b, 0x00000010, 0x00000011, 0x00000002, 0x00040020, 0x00000012, 0x00000009,
    0x0000000d, 0x0004002b, 0x00000010, 0x00000018, 0x00000000, 0x0004002b, 0x00000010, 0x0000001f,
    0x00000001, 0x0004003b, 0x00000008, 0x00000009, 0x00000001, 0x0004003b, 0x0000000e, 0x0000000f,
    0x00000009, 0x00050036, 0x00000001, 0x00000002, 0x00000000, 0x00000003, 0x000200f8, 0x00000004,
    0x0004003d, 0x00000006, 0x00000007, 0x00000009, 0x00050051, 0x00000005, 0x0000000a, 0x00000007,
    0x00000000, 0x00050041, 0x00000012, 0x00000013, 0x0000000f, 0x00000011, 0x0004003d, 0x0000000d,
    0x00000014, 0x00000013, 0x00050043, 0x0000000d, 0x00000015, 0x00000014, 0x0000000a, 0x00050041,
    0x00000012, 0x00000019, 0x0000000f, 0x00000018, 0x0004003d, 0x0000000d, 0x0000001a, 0x00000019,
    0x00050043, 0x0000000d, 0x0000001b, 0x0000001a, 0x0000000a, 0x0006003d, 0x0000000c, 0x0000001c,
    0x0000001b, 0x00000002, 0x00000004, 0x00050041, 0x00000012, 0x00000020, 0x0000000f, 0x0000001f,
    0x0004003d, 0x0000000d, 0x00000021, 0x00000020, 0x00050043, 0x0000000d, 0x00000022, 0x00000021,
    0x0000000a, 0x0006003d, 0x0000000c, 0x00000023, 0x00000022, 0x00000002, 0x00000004, 0x00050081,
    0x0000000c, 0x00000024, 0x0000001c, 0x00000023, 0x0005003e, 0x00000015, 0x00000024, 0x00000002,
    0x00000004, 0x000100fd, 0x00010038
};

#define TINY_SPACING 256 // bytes from one tiny tensor to the next
#define RING_BYTES (16u << 20)

typedef struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    VkDeviceSize size;
    VkDeviceAddress address;
    void *mapped; // NULL for device memory
} buffer;

typedef struct raw {
    bench out;
    bool quick;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer cmd;
    VkFence fence;
    VkPipelineLayout layout;
    VkPipeline add, add_too; // two pipelines of one shader
    VkSemaphore timeline;
    uint64_t submissions; // what the timeline counts
    double created_ms;
} raw;

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const VkResult result_ = (call);                                                                     \
        if (result_ != VK_SUCCESS) {                                                                         \
            bench_fail(&r->out, "raw_vk", "%s gave %d (line %d)", #call, (int)result_, __LINE__);            \
            return false;                                                                                    \
        }                                                                                                    \
    } while (0)

// ---- set-up

static int rank_of(VkPhysicalDeviceType type) {
    if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return 3;
    if (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU) return 2;
    return type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU ? 1 : 0;
}

static bool create_device(raw *r) {
    const double start = bench_now_ns();
    TRY(volkInitialize());
    const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                    .apiVersion = VK_API_VERSION_1_2 };
    TRY(vkCreateInstance(
        &(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app },
        NULL, &r->instance));
    volkLoadInstance(r->instance);
    VkPhysicalDevice all[16];
    uint32_t count = 16;
    const VkResult listed = vkEnumeratePhysicalDevices(r->instance, &count, all);
    if ((listed != VK_SUCCESS && listed != VK_INCOMPLETE) || count == 0) {
        bench_fail(&r->out, "raw_vk", "no Vulkan device");
        return false;
    }
    int best = -1;
    for (uint32_t i = 0; i < count; ++i) {
        VkPhysicalDeviceProperties p;
        vkGetPhysicalDeviceProperties(all[i], &p);
        if (rank_of(p.deviceType) > best) {
            best = rank_of(p.deviceType);
            r->physical = all[i];
            r->properties = p;
        }
    }
    vkGetPhysicalDeviceMemoryProperties(r->physical, &r->memory);
    VkQueueFamilyProperties families[16];
    uint32_t family_count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(r->physical, &family_count, families);
    while (r->family < family_count && (!(families[r->family].queueFlags & VK_QUEUE_COMPUTE_BIT) ||
                                        families[r->family].timestampValidBits == 0))
        r->family++;
    if (r->family == family_count) {
        bench_fail(&r->out, "raw_vk", "no queue with compute and timestamps");
        return false;
    }
    const float priority = 1;
    VkPhysicalDeviceVulkan12Features features = { .sType =
                                                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                  .bufferDeviceAddress = VK_TRUE,
                                                  .timelineSemaphore = VK_TRUE };
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = r->family,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority };
    TRY(vkCreateDevice(r->physical,
                       &(VkDeviceCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                              .pNext = &features,
                                              .queueCreateInfoCount = 1,
                                              .pQueueCreateInfos = &queue },
                       NULL, &r->device));
    r->created_ms = (bench_now_ns() - start) * 1e-6;
    volkLoadDevice(r->device); // one device: the plain names go straight to the driver from here on
    vkGetDeviceQueue(r->device, r->family, 0, &r->queue);
    return true;
}

static bool create_objects(raw *r) {
    TRY(vkCreateCommandPool(
        r->device,
        &(VkCommandPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = r->family },
        NULL, &r->pool));
    TRY(vkAllocateCommandBuffers(
        r->device,
        &(VkCommandBufferAllocateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = r->pool,
                                        .commandBufferCount = 1 },
        &r->cmd));
    TRY(vkCreateFence(r->device, &(VkFenceCreateInfo){ .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO }, NULL,
                      &r->fence));
    const VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 24 };
    TRY(vkCreatePipelineLayout(
        r->device,
        &(VkPipelineLayoutCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &range },
        NULL, &r->layout));
    VkShaderModule module;
    TRY(vkCreateShaderModule(
        r->device,
        &(VkShaderModuleCreateInfo){ .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = sizeof add_spirv,
                                     .pCode = add_spirv },
        NULL, &module));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main" },
        .layout = r->layout
    };
    TRY(vkCreateComputePipelines(r->device, VK_NULL_HANDLE, 1, &info, NULL, &r->add));
    TRY(vkCreateComputePipelines(r->device, VK_NULL_HANDLE, 1, &info, NULL, &r->add_too));
    const VkSemaphoreTypeCreateInfo counts = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                               .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
    TRY(vkCreateSemaphore(
        r->device,
        &(VkSemaphoreCreateInfo){ .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &counts }, NULL,
        &r->timeline));
    vkDestroyShaderModule(r->device, module, NULL);
    return true;
}

static bool create_buffer(raw *r, buffer *b, VkDeviceSize size, bool on_host) {
    memset(b, 0, sizeof *b);
    b->size = size;
    TRY(vkCreateBuffer(r->device,
                       &(VkBufferCreateInfo){ .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                              .size = size,
                                              .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                       VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                                       VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                       VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT },
                       NULL, &b->handle));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(r->device, b->handle, &needs);
    // Host memory: cached and coherent, and not the window into device memory, which the host reads at a snail's pace.
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                       VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const VkMemoryPropertyFlags wanted = on_host ? host : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags avoided =
        on_host ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    uint32_t type = UINT32_MAX;
    for (uint32_t i = r->memory.memoryTypeCount; i-- > 0;) {
        const VkMemoryPropertyFlags flags = r->memory.memoryTypes[i].propertyFlags;
        if (!(needs.memoryTypeBits >> i & 1) || (flags & wanted) != wanted) continue;
        if (type == UINT32_MAX || !(flags & avoided)) type = i;
    }
    if (type == UINT32_MAX) {
        bench_fail(&r->out, "raw_vk", "no memory type with flags 0x%x", (unsigned)wanted);
        return false;
    }
    const VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                              .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    TRY(vkAllocateMemory(r->device,
                         &(VkMemoryAllocateInfo){ .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                                  .pNext = &flags,
                                                  .allocationSize = needs.size,
                                                  .memoryTypeIndex = type },
                         NULL, &b->memory));
    TRY(vkBindBufferMemory(r->device, b->handle, b->memory, 0));
    b->address = vkGetBufferDeviceAddress(
        r->device, &(VkBufferDeviceAddressInfo){ .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                                 .buffer = b->handle });
    if (on_host) TRY(vkMapMemory(r->device, b->memory, 0, VK_WHOLE_SIZE, 0, &b->mapped));
    return true;
}

static void destroy_buffer(raw *r, buffer *b) {
    vkDestroyBuffer(r->device, b->handle, NULL);
    vkFreeMemory(r->device, b->memory, NULL);
}

// ---- commands

static bool begin(raw *r) {
    TRY(vkBeginCommandBuffer(
        r->cmd, &(VkCommandBufferBeginInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                             .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT }));
    return true;
}

static bool submit(raw *r) {
    TRY(vkEndCommandBuffer(r->cmd));
    TRY(vkQueueSubmit(r->queue, 1,
                      &(VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                       .commandBufferCount = 1,
                                       .pCommandBuffers = &r->cmd },
                      r->fence));
    return true;
}

static bool wait(raw *r, bool spin) {
    VkResult result = VK_NOT_READY;
    while (spin && result == VK_NOT_READY) result = vkGetFenceStatus(r->device, r->fence);
    if (!spin) result = vkWaitForFences(r->device, 1, &r->fence, VK_TRUE, 60000000000u);
    TRY(result);
    TRY(vkResetFences(r->device, 1, &r->fence));
    return true;
}

static void barrier(raw *r) {
    const VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT };
    vkCmdPipelineBarrier(r->cmd, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &all, 0, NULL, 0, NULL);
}

// Only what dependent dispatches need: write to read in the compute stage.
static void compute_barrier(raw *r) {
    const VkMemoryBarrier writes = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT };
    vkCmdPipelineBarrier(r->cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         0, 1, &writes, 0, NULL, 0, NULL);
}

// What dependent dispatches with transfers among them need.
static void transfer_barrier(raw *r) {
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                                   VK_ACCESS_TRANSFER_READ_BIT |
                                                   VK_ACCESS_TRANSFER_WRITE_BIT };
    vkCmdPipelineBarrier(r->cmd, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

static void record_copy(raw *r, const buffer *from, const buffer *to, VkDeviceSize from_offset,
                        VkDeviceSize to_offset, VkDeviceSize size) {
    const VkBufferCopy region = { from_offset, to_offset, size };
    vkCmdCopyBuffer(r->cmd, from->handle, to->handle, 1, &region);
}

static void record_add(raw *r, VkDeviceAddress a, VkDeviceAddress b, VkDeviceAddress c) {
    const uint64_t pointers[3] = { a, b, c };
    vkCmdPushConstants(r->cmd, r->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof pointers, pointers);
    vkCmdDispatch(r->cmd, 1, 1, 1);
}

// ---- copies

// Fill `b` with hashes of the position, through `ring`.
static bool fill_random(raw *r, const buffer *b, buffer *ring, uint64_t stream) {
    for (VkDeviceSize at = 0; at < b->size; at += ring->size) {
        const VkDeviceSize size = b->size - at < ring->size ? b->size - at : ring->size;
        uint64_t *words = (uint64_t *)ring->mapped;
        for (VkDeviceSize i = 0; i < size / 8; ++i) words[i] = bench_hash(at / 8 + i, stream);
        if (!begin(r)) return false;
        record_copy(r, ring, b, 0, at, size);
        if (!submit(r) || !wait(r, false)) return false;
    }
    return true;
}

static bool check_random(raw *r, const char *item, const buffer *b, buffer *ring, uint64_t stream) {
    for (VkDeviceSize at = 0; at < b->size; at += ring->size) {
        const VkDeviceSize size = b->size - at < ring->size ? b->size - at : ring->size;
        if (!begin(r)) return false;
        record_copy(r, b, ring, at, 0, size);
        barrier(r);
        if (!submit(r) || !wait(r, false)) return false;
        const uint64_t *words = (const uint64_t *)ring->mapped;
        for (VkDeviceSize i = 0; i < size / 8; ++i)
            if (words[i] != bench_hash(at / 8 + i, stream)) {
                bench_fail(&r->out, item, "the copy is wrong at byte %llu", (unsigned long long)(at + i * 8));
                return false;
            }
    }
    return true;
}

// Copies of `size` bytes from `from` to `to` in one submission, a timestamp on either side; GB/s counts `counted` bytes a copy.
static bool time_copies(raw *r, const char *item, const buffer *from, const buffer *to, double counted) {
    enum { WARM = 3, COPIES = 20 };
    VkQueryPool queries;
    TRY(vkCreateQueryPool(r->device,
                          &(VkQueryPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                                    .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                                    .queryCount = 2 * (WARM + COPIES) },
                          NULL, &queries));
    if (!begin(r)) return false;
    vkCmdResetQueryPool(r->cmd, queries, 0, 2 * (WARM + COPIES));
    barrier(r);
    for (uint32_t i = 0; i < WARM + COPIES; ++i) {
        vkCmdWriteTimestamp(r->cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * i);
        record_copy(r, from, to, 0, 0, from->size);
        barrier(r);
        vkCmdWriteTimestamp(r->cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * i + 1);
    }
    if (!submit(r) || !wait(r, false)) return false;
    uint64_t ticks[2 * (WARM + COPIES)];
    TRY(vkGetQueryPoolResults(r->device, queries, 0, 2 * (WARM + COPIES), sizeof ticks, ticks, sizeof *ticks,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    vkDestroyQueryPool(r->device, queries, NULL);
    double samples[COPIES];
    for (uint32_t i = 0; i < COPIES; ++i) {
        const uint64_t *t = &ticks[2 * (WARM + i)];
        const double ns = (double)(t[1] - t[0]) * (double)r->properties.limits.timestampPeriod;
        if (ns <= 0) {
            bench_fail(&r->out, item, "a copy took no time");
            return false;
        }
        samples[i] = counted / ns;
    }
    bench_report(&r->out, item, "GB/s", samples, COPIES, "");
    return true;
}

static bool measure_copy(raw *r, buffer *ring, const char *item, VkDeviceSize size) {
    buffer from, to;
    if (!create_buffer(r, &from, size, false) || !create_buffer(r, &to, size, false)) return false;
    const bool done = fill_random(r, &from, ring, 1) && fill_random(r, &to, ring, 2) &&
                      time_copies(r, item, &from, &to, 2 * (double)size) &&
                      check_random(r, item, &to, ring, 1);
    destroy_buffer(r, &from);
    destroy_buffer(r, &to);
    return done;
}

static bool measure_transfers(raw *r, buffer *ring, VkDeviceSize size) {
    buffer host, device;
    if (!create_buffer(r, &host, size, true) || !create_buffer(r, &device, size, false)) return false;
    uint64_t *words = (uint64_t *)host.mapped;
    for (VkDeviceSize i = 0; i < size / 8; ++i) words[i] = bench_hash(i, 3);
    bool done = fill_random(r, &device, ring, 2) &&
                time_copies(r, "raw_upload", &host, &device, (double)size) &&
                check_random(r, "raw_upload", &device, ring, 3);
    memset(host.mapped, 0xCD, size);
    done = done && time_copies(r, "raw_download", &device, &host, (double)size);
    for (VkDeviceSize i = 0; done && i < size / 8; ++i)
        if (words[i] != bench_hash(i, 3)) {
            bench_fail(&r->out, "raw_download", "the copy is wrong at byte %llu", (unsigned long long)i * 8);
            done = false;
        }
    destroy_buffer(r, &host);
    destroy_buffer(r, &device);
    return done;
}

// ---- dispatches

// Tiny tensors in one host buffer: a, b, then OUTPUTS outputs. Both the host and the device write there.
static float *tiny(const buffer *b, uint32_t i) {
    return (float *)(void *)((char *)b->mapped + (size_t)i * TINY_SPACING);
}
static VkDeviceAddress tiny_address(const buffer *b, uint32_t i) {
    return b->address + (VkDeviceAddress)i * TINY_SPACING;
}

// Fill a and b of `host`, poison the rest, and copy all to `device`.
static bool prepare_tiny(raw *r, const buffer *host, const buffer *device) {
    for (uint32_t t = 0; t < 2 + OUTPUTS; ++t)
        for (uint32_t i = 0; i < FLOATS; ++i) tiny(host, t)[i] = t == 0 ? (float)i : t == 1 ? 1.0f : -77.0f;
    if (!begin(r)) return false;
    record_copy(r, host, device, 0, 0, host->size);
    return submit(r) && wait(r, false);
}

static bool fetch_tiny(raw *r, const buffer *host, const buffer *device) {
    if (!begin(r)) return false;
    record_copy(r, device, host, 0, 0, host->size);
    barrier(r);
    return submit(r) && wait(r, false);
}

// `count` calls over rotating outputs (a barrier a round of them) or, as a chain, x += 1 from one buffer to the other.
static bool measure_many(raw *r, const buffer *host, const buffer *device, uint32_t count, bool chain) {
    enum { ROUNDS = 5 };
    double record_us[ROUNDS], total_us[ROUNDS];
    const char *item = chain ? "raw_chain" : "raw_rotating";
    for (int round = -1; round < ROUNDS; ++round) { // -1 warms up
        if (!prepare_tiny(r, host, device)) return false;
        bench_await_core();
        const double start = bench_now_ns();
        if (!begin(r)) return false;
        vkCmdBindPipeline(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, r->add);
        const double recording = bench_now_ns();
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t from = chain && i > 0 ? 2 + (i - 1) % 2 : 0;
            const uint32_t to = chain ? 2 + i % 2 : 2 + i % OUTPUTS;
            if (chain) vkCmdBindPipeline(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, r->add);
            record_add(r, tiny_address(device, from), tiny_address(device, 1), tiny_address(device, to));
            if (chain || i % OUTPUTS == OUTPUTS - 1) compute_barrier(r);
        }
        const double recorded = bench_now_ns();
        if (!submit(r) || !wait(r, false)) return false;
        const double end = bench_now_ns();
        if (round >= 0) record_us[round] = (recorded - recording) / count * 1e-3;
        if (round >= 0) total_us[round] = (end - start) / count * 1e-3;
        if (!fetch_tiny(r, host, device)) return false;
        for (uint32_t t = 2; t < (chain ? 4u : 2u + OUTPUTS); ++t)
            for (uint32_t i = 0; i < FLOATS; ++i) {
                const uint32_t last = t == 2 + (count - 1) % 2 ? count : count - 1;
                const float expected = (float)i + (chain ? (float)last : 1.0f);
                if (tiny(host, t)[i] != expected) { // an exact number of exact steps
                    bench_fail(&r->out, item, "output %u[%u] is %g, expected %g", t - 2, i,
                               (double)tiny(host, t)[i], (double)expected);
                    return false;
                }
            }
    }
    bench_report(&r->out, chain ? "raw_record_chain" : "raw_record", "us", record_us, ROUNDS,
                 chain ? "bind pipeline, push constants, dispatch, barrier" : "push constants, dispatch");
    bench_report(&r->out, item, "us", total_us, ROUNDS, "one submission, wait included");
    return true;
}

// ---- calls as our library issues them: a submission for each BATCH dispatches, each of which signals a timeline semaphore, while
// the GPU works on earlier ones. What is timed is the issue, as in bench.c's rows of the same sort.

enum { BATCH = 512, SLOTS = 32 };

typedef enum issue_kind {
    ISSUE_ROTATING, // 16 outputs in turn, a barrier a round of them
    ISSUE_SAME,     // one output, so a barrier a call
    ISSUE_SAME_ALL, // with a barrier that orders transfers, too
    ISSUE_TWO,      // a call is two dispatches of two pipelines, to two outputs, and a barrier
    ISSUE_TURNED,   // the same, and each call begins with the pipeline that the last one ended with
    ISSUE_KINDS
} issue_kind;

static const struct {
    const char *item, *note;
} issue_kinds[ISSUE_KINDS] = {
    { "raw_issue_rotating", "push constants, dispatch; a barrier each 16" },
    { "raw_issue", "push constants, dispatch, barrier" },
    { "raw_issue_all_stages", "... a barrier for transfers, too" },
    { "raw_issue_two", "two pipelines: bind, push constants, dispatch, twice; barrier" },
    { "raw_issue_two_turned", "... one bound in each call" },
};

typedef struct slots {
    VkCommandPool pools[SLOTS];
    VkCommandBuffer commands[SLOTS];
    uint64_t numbers[SLOTS]; // the submission that each slot belongs to
} slots;

static bool make_slots(raw *r, slots *s) {
    for (int i = 0; i < SLOTS; ++i) {
        TRY(vkCreateCommandPool(
            r->device,
            &(VkCommandPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                        .queueFamilyIndex = r->family },
            NULL, &s->pools[i]));
        TRY(vkAllocateCommandBuffers(
            r->device,
            &(VkCommandBufferAllocateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = s->pools[i],
                                            .commandBufferCount = 1 },
            &s->commands[i]));
    }
    return true;
}

static bool wait_for_number(raw *r, uint64_t number) {
    TRY(vkWaitSemaphores(r->device,
                         &(VkSemaphoreWaitInfo){ .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                                 .semaphoreCount = 1,
                                                 .pSemaphores = &r->timeline,
                                                 .pValues = &number },
                         60000000000u));
    return true;
}

// Begins the command buffer of a slot, which r->cmd becomes.
static bool begin_slot(raw *r, slots *s, uint32_t at) {
    if (s->numbers[at] > 0 && !wait_for_number(r, s->numbers[at])) return false;
    TRY(vkResetCommandPool(r->device, s->pools[at], 0));
    r->cmd = s->commands[at];
    return begin(r);
}

static bool submit_slot(raw *r, slots *s, uint32_t at) {
    const uint64_t number = ++r->submissions;
    TRY(vkEndCommandBuffer(r->cmd));
    TRY(vkQueueSubmit(r->queue, 1,
                      &(VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                       .pNext =
                                           &(VkTimelineSemaphoreSubmitInfo){
                                               .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                               .signalSemaphoreValueCount = 1,
                                               .pSignalSemaphoreValues = &number },
                                       .commandBufferCount = 1,
                                       .pCommandBuffers = &r->cmd,
                                       .signalSemaphoreCount = 1,
                                       .pSignalSemaphores = &r->timeline },
                      VK_NULL_HANDLE));
    s->numbers[at] = number;
    return true;
}

static bool issue(raw *r, slots *s, const buffer *device, uint32_t count, issue_kind kind) {
    const bool two = kind >= ISSUE_TWO;
    const VkDeviceAddress a = tiny_address(device, 0), b = tiny_address(device, 1);
    VkPipeline bound = VK_NULL_HANDLE;
    uint32_t at = 0, recorded = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (recorded == 0) {
            if (!begin_slot(r, s, at)) return false;
            bound = VK_NULL_HANDLE;
        }
        for (uint32_t k = 0; k < (two ? 2u : 1u); ++k) {
            const uint32_t which = kind == ISSUE_TURNED ? (k + i) % 2 : k;
            const VkPipeline pipeline = two && which ? r->add_too : r->add;
            const uint32_t output = kind == ISSUE_ROTATING ? i % OUTPUTS : two ? which : 0;
            if (bound != pipeline) vkCmdBindPipeline(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
            bound = pipeline;
            record_add(r, a, b, tiny_address(device, 2 + output));
            ++recorded;
        }
        if (kind == ISSUE_SAME_ALL) transfer_barrier(r);
        else if (kind != ISSUE_ROTATING || i % OUTPUTS == OUTPUTS - 1) compute_barrier(r);
        if (recorded < BATCH && i + 1 < count) continue;
        if (!submit_slot(r, s, at)) return false;
        at = (at + 1) % SLOTS;
        recorded = 0;
    }
    return true;
}

static bool check_issue(raw *r, const buffer *host, const buffer *device, issue_kind kind) {
    const uint32_t outputs = kind == ISSUE_ROTATING ? OUTPUTS : kind >= ISSUE_TWO ? 2 : 1;
    if (!fetch_tiny(r, host, device)) return false;
    for (uint32_t t = 0; t < outputs; ++t)
        for (uint32_t i = 0; i < FLOATS; ++i)
            if (tiny(host, 2 + t)[i] != (float)i + 1) {
                bench_fail(&r->out, issue_kinds[kind].item, "output %u[%u] is %g", t, i,
                           (double)tiny(host, 2 + t)[i]);
                return false;
            }
    return true;
}

// All sorts in turns, round by round.
static bool measure_issues(raw *r, const buffer *host, const buffer *device, uint32_t count) {
    enum { ROUNDS = 7 };
    double us[ISSUE_KINDS][ROUNDS];
    const VkCommandBuffer own = r->cmd;
    slots s = { .numbers = { 0 } };
    bool good = make_slots(r, &s);
    for (int round = -2; good && round < ROUNDS; ++round)
        for (int kind = 0; good && kind < ISSUE_KINDS; ++kind) {
            r->cmd = own;
            if (!prepare_tiny(r, host, device)) return false;
            bench_await_core();
            const double start = bench_now_ns();
            good = issue(r, &s, device, count, (issue_kind)kind);
            const double end = bench_now_ns();
            if (round >= 0) us[kind][round] = (end - start) / count * 1e-3;
            good = good && wait_for_number(r, r->submissions);
            r->cmd = own;
            good = good && check_issue(r, host, device, (issue_kind)kind);
        }
    for (int kind = 0; good && kind < ISSUE_KINDS; ++kind)
        bench_report(&r->out, issue_kinds[kind].item, "us", us[kind], ROUNDS, issue_kinds[kind].note);
    r->cmd = own;
    for (int i = 0; i < SLOTS; ++i) vkDestroyCommandPool(r->device, s.pools[i], NULL);
    return good;
}

// Record, submit, wait and read one result that the kernel writes into host memory.
static bool measure_round_trip(raw *r, const buffer *host, uint32_t count, bool spin) {
    double *samples = (double *)malloc(count * sizeof *samples);
    if (samples == NULL) return false;
    bool good = true;
    for (uint32_t i = 0; good && i < count; ++i) {
        tiny(host, 0)[0] = (float)i;
        tiny(host, 2)[0] = -77;
        if (i % 20 == 0) bench_await_core();
        const double start = bench_now_ns();
        good = begin(r);
        if (!good) break;
        vkCmdBindPipeline(r->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, r->add);
        record_add(r, tiny_address(host, 0), tiny_address(host, 1), tiny_address(host, 2));
        const VkMemoryBarrier to_host = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                          .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                          .dstAccessMask = VK_ACCESS_HOST_READ_BIT };
        vkCmdPipelineBarrier(r->cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                             &to_host, 0, NULL, 0, NULL);
        good = submit(r) && wait(r, spin);
        const float result = *(volatile float *)tiny(host, 2);
        samples[i] = (bench_now_ns() - start) * 1e-3;
        if (good && result != (float)i + 1) {
            bench_fail(&r->out, "raw_scalar", "result %g, expected %g", (double)result, (double)i + 1);
            good = false;
        }
    }
    // The first tenth warms up.
    if (good)
        bench_report(
            &r->out, spin ? "raw_scalar_spin" : "raw_scalar", "us", samples + count / 10, count - count / 10,
            spin ? "record, submit, spin on the fence, read" : "record, submit, wait for the fence, read");
    free(samples);
    return good;
}

static bool measure_all(raw *r) {
    buffer ring, host, device;
    const VkDeviceSize elements = (VkDeviceSize)1 << (r->quick ? 20 : 26);
    if (!create_objects(r) || !create_buffer(r, &ring, RING_BYTES, true) ||
        !create_buffer(r, &host, (2 + OUTPUTS) * TINY_SPACING, true) ||
        !create_buffer(r, &device, host.size, false))
        return false;
    bool good = measure_copy(r, &ring, "raw_copy_add", elements * 6); // as many bytes as c = a + b moves
    good = measure_copy(r, &ring, "raw_copy_brdf", elements / 4 * 12) && good;
    good = measure_transfers(r, &ring, elements * 4) && good;
    const uint32_t count = r->quick ? 1000 : 10000;
    good = measure_many(r, &host, &device, count, false) && good;
    good = measure_many(r, &host, &device, count, true) && good;
    good = measure_issues(r, &host, &device, count) && good;
    good = prepare_tiny(r, &host, &device) && good;
    good = measure_round_trip(r, &host, r->quick ? 100 : 1000, false) && good;
    good = measure_round_trip(r, &host, r->quick ? 100 : 1000, true) && good;
    destroy_buffer(r, &ring);
    destroy_buffer(r, &host);
    destroy_buffer(r, &device);
    return good;
}

int main(int argc, char **argv) {
    raw state = { .quick = false };
    raw *r = &state;
    int size = 0; // 1: quick, 2: full
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--quick") == 0) {
            size = 1;
        } else if (strcmp(argv[i], "--full") == 0) {
            size = 2;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            r->out.json = fopen(argv[++i], "a");
            if (r->out.json == NULL) {
                perror(argv[i]);
                return 2;
            }
        } else {
            fprintf(stderr, "usage: raw_vk [--json FILE] [--quick | --full]\n");
            return 2;
        }
    }
    bool good = create_device(r);
    if (good) {
        const bool is_cpu = r->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
        r->quick = size == 0 ? is_cpu : size == 1;
        bench_report_device(&r->out, r->properties.deviceName, "raw Vulkan", is_cpu, r->quick);
        bench_report_one(&r->out, "raw_device", "s", r->created_ms * 1e-3,
                         "load Vulkan, create instance and device");
        good = measure_all(r);
        vkDeviceWaitIdle(r->device);
        if (r->add != VK_NULL_HANDLE) vkDestroyPipeline(r->device, r->add, NULL);
        if (r->add_too != VK_NULL_HANDLE) vkDestroyPipeline(r->device, r->add_too, NULL);
        if (r->timeline != VK_NULL_HANDLE) vkDestroySemaphore(r->device, r->timeline, NULL);
        if (r->layout != VK_NULL_HANDLE) vkDestroyPipelineLayout(r->device, r->layout, NULL);
        if (r->fence != VK_NULL_HANDLE) vkDestroyFence(r->device, r->fence, NULL);
        if (r->pool != VK_NULL_HANDLE) vkDestroyCommandPool(r->device, r->pool, NULL);
        vkDestroyDevice(r->device, NULL);
    }
    if (r->instance != VK_NULL_HANDLE) vkDestroyInstance(r->instance, NULL);
    if (r->out.json != NULL) fclose(r->out.json);
    return good && r->out.failures == 0 ? 0 : 1;
}
