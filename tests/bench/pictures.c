// Textures and draws beside what the machine allows, in turns in one process:
//   - a call that reads and writes each texel of a square RGBA32F texture, beside a copy of as many bytes between tensors
//     and between textures;
//   - the gradient of a draw that fills a square target with respect to one uniform, beside the draw (Vulkan only);
//   - what issuing a draw costs from C, beside the same draws in plain Vulkan on the same device (Vulkan only).
//
//   pictures [--backend vk|cuda] [--json FILE] [--quick | --full]     default: quick sizes on a CPU device
//
// Draws rotate over TARGETS targets, so that each is a pass; a second row draws into one target. Both sides record, submit
// and wait alike: the time is from the first draw to the return of the submission, and the wait is outside of it.
#define _GNU_SOURCE
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "slangpy_vk.h"
#include "slangpy_cuda.h"

#include "../unit/raster_kernels.h"
#include "bench_util.h"
#include "counting_allocator.h"

#define TARGETS 4
#define DRAWS 512 // of one measured round
#define ROUNDS 40
#define SIZE 64   // of a target, in texels

typedef struct world {
    bench out;
    spy_device *device;
    spy_module *module;
    bool quick;
} world;

// Both sides push 48 bytes: what the plain draws hold in one block are here a parameter of each function.
static const char source[] =
    "struct Block { float2 scale; float2 offset; float depth; float unused0; float2 size; }\n"
    "struct Varying { float4 position : SV_Position; float4 color : COLOR; }\n"
    "[shader(\"vertex\")] Varying vs(uint id : SV_VertexID, uniform Block block) {\n"
    "    Varying o; float2 at = float2((id << 1) & 2, id & 2) * 2 - 1;\n"
    "    o.position = float4(at * block.scale + block.offset, block.depth, 1); o.color = float4(1); return o;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs(Varying v, uniform float4 tint) : SV_Target { return v.color * tint; }\n"
    "struct Shade : IDifferentiable { float4 position : SV_Position; float2 at : AT; }\n"
    "[Differentiable] [shader(\"vertex\")] Shade vs_shade(uint id : SV_VertexID) {\n"
    "    Shade o; float2 at = float2(float((id << 1) & 2), float(id & 2)) * 2 - 1;\n"
    "    o.position = float4(at.x, at.y, 0, 1); o.at = at; return o;\n"
    "}\n"
    "[Differentiable] [shader(\"fragment\")] float4 fs_shade(Shade v, uniform float gain) : SV_Target {\n"
    "    return float4(gain * v.at.x, gain * gain * v.at.y, sin(gain * v.at.x), 1);\n"
    "}\n"
    "void advance(inout float4 x) { x = x * 0.5 + 1; }\n";

static bool good(world *w, const char *item) {
    const spy_error error = spy_take_error(w->device);
    if (error.code != SPY_OK) bench_fail(&w->out, item, "%s", error.message);
    return error.code == SPY_OK;
}

// ---- texels

typedef struct square {
    int64_t side;
    spy_texture *image, *other;
    spy_tensor *a, *b;
    spy_function *advance;
} square;

// The same number in each texel, which a few steps of x * 0.5 + 1 change exactly.
static bool fill(world *w, square *s, float value) {
    spy_clear_color color;
    for (int i = 0; i < 4; ++i) color.floats[i] = value * (float)(i + 1);
    spy_texture_clear(s->image, color);
    return good(w, "texture_rmw");
}

static bool check(world *w, square *s, const char *item, spy_texture *texture, const float expected[4]) {
    const uint32_t last = (uint32_t)s->side - 1, at[4][2] = { { 0, 0 }, { last, 0 }, { 0, last }, { last / 3, last / 2 } };
    for (int i = 0; i < 4; ++i) {
        float texel[4] = { -1, -1, -1, -1 };
        spy_texture_region region;
        memset(&region, 0, sizeof region);
        region.x = at[i][0], region.y = at[i][1], region.width = region.height = 1;
        spy_texture_read(texture, &region, texel, sizeof texel);
        if (!good(w, item)) return false;
        if (memcmp(texel, expected, sizeof texel) == 0) continue;
        bench_fail(&w->out, item, "texel (%u, %u) is %g %g %g %g, expected %g %g %g %g", at[i][0], at[i][1], (double)texel[0],
                   (double)texel[1], (double)texel[2], (double)texel[3], (double)expected[0], (double)expected[1],
                   (double)expected[2], (double)expected[3]);
        return false;
    }
    return true;
}

// GPU time of what `record` puts into a list, in nanoseconds; 0 on failure.
typedef void (*record_func)(spy_command_list *list, square *s);
static void record_texture_copy(spy_command_list *list, square *s) { spy_list_texture_copy(list, s->other, NULL, s->image, NULL); }
static void record_tensor_copy(spy_command_list *list, square *s) { spy_list_copy(list, s->b, s->a); }
static void record_call(spy_command_list *list, square *s) {
    spy_list_call(list, s->advance, SPY_ARGS(spy_arg_texture("x", s->image)));
}
static void record_tensor_call(spy_command_list *list, square *s) {
    spy_list_call(list, s->advance, SPY_ARGS(spy_arg_tensor("x", s->a)));
}

static spy_command_list *timed_list(world *w, square *s, record_func record) {
    spy_command_list *list = spy_create_command_list(w->device, NULL);
    spy_list_timestamp(list);
    spy_list_barrier(list);
    record(list, s);
    spy_list_barrier(list);
    spy_list_timestamp(list);
    spy_list_finish(list);
    return list;
}

static void measure_texels(world *w) {
    enum { KINDS = 4, WARM = 2, SAMPLES = 15 };
    static const char *const items[KINDS] = { "texture_rmw", "texture_copy", "tensor_copy", "tensor_rmw" };
    static const record_func records[KINDS] = { record_call, record_texture_copy, record_tensor_copy, record_tensor_call };
    square s = { .side = w->quick ? 512 : 8192 };
    const double bytes = 2.0 * 16 * (double)s.side * (double)s.side;
    const spy_texture_desc desc = { .format = SPY_FORMAT_RGBA32_FLOAT, .width = (uint32_t)s.side, .height = (uint32_t)s.side };
    const spy_tensor_desc tensor = { .shape = SPY_SHAPE(s.side, s.side, 4) };
    s.advance = spy_find_function(w->module, "advance");
    s.image = spy_create_texture(w->device, &desc), s.other = spy_create_texture(w->device, &desc);
    s.a = spy_create_tensor(w->device, &tensor), s.b = spy_create_tensor(w->device, &tensor);
    if (!good(w, "texture_rmw") || !fill(w, &s, 2)) return;
    spy_tensor_fill(s.a, 3);

    spy_call(s.advance, SPY_ARGS(spy_arg_texture("x", s.image))); // right before it is fast
    const float once[4] = { 2, 3, 4, 5 };
    spy_texture_copy(s.other, NULL, s.image, NULL);
    if (!check(w, &s, "texture_rmw", s.image, once) || !check(w, &s, "texture_copy", s.other, once)) return;

    double samples[KINDS][SAMPLES];
    spy_command_list *lists[KINDS];
    for (int k = 0; k < KINDS; ++k) lists[k] = timed_list(w, &s, records[k]);
    for (int i = -WARM; i < SAMPLES; ++i)
        for (int k = 0; k < KINDS; ++k) {
            uint64_t times[2] = { 0, 0 };
            spy_list_submit(lists[k]);
            spy_list_read_timestamps(lists[k], times, 2);
            if (!good(w, items[k])) return;
            if (i >= 0) samples[k][i] = times[1] > times[0] ? bytes / (double)(times[1] - times[0]) : 0;
        }
    double medians[KINDS];
    for (int k = 0; k < KINDS; ++k) {
        char note[64];
        snprintf(note, sizeof note, "%lld x %lld texels of 16 bytes, read and written", (long long)s.side, (long long)s.side);
        bench_report(&w->out, items[k], "GB/s", samples[k], SAMPLES, note); // sorts them
        medians[k] = samples[k][SAMPLES / 2];
    }
    bench_report_one(&w->out, "rmw_of_tensor_copy", "x", medians[0] / medians[2], "bar: 0.85");
    bench_report_one(&w->out, "rmw_of_texture_copy", "x", medians[0] / medians[1], "");
    for (int k = 0; k < KINDS; ++k) spy_release_command_list(lists[k]);
    spy_release_texture(s.image), spy_release_texture(s.other);
    spy_release_tensor(s.a), spy_release_tensor(s.b);
}

// ---- the gradient of a draw

static void measure_gradients(world *w) {
    enum { WARM = 2, SAMPLES = 15 };
    const uint32_t side = w->quick ? 512 : 4096;
    const float gain = 1.5f;
    spy_raster *raster = spy_create_raster(
        w->device, &(spy_raster_desc){ .vertex = spy_find_function(w->module, "vs_shade"),
                                       .fragment = spy_find_function(w->module, "fs_shade") });
    spy_texture *target = spy_create_texture(
        w->device, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                        .width = side,
                                        .height = side,
                                        .usage = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED,
                                        .with_grad = true });
    spy_tensor *uniform = spy_create_tensor(
        w->device, &(spy_tensor_desc){ .shape = SPY_SHAPE(1), .data = &gain, .with_grad = true });
    const spy_draw_desc draw = { .targets[0] = { .texture = target, .load = SPY_LOAD_CLEAR },
                                 .vertex_count = 3 };
    if (!good(w, "draw_gradient")) return;
    spy_tensor_fill(spy_texture_grad(target, 0), 1); // the gradient of the sum of all channels

    double samples[2][SAMPLES];
    spy_command_list *lists[2];
    for (int k = 0; k < 2; ++k) {
        lists[k] = spy_create_command_list(w->device, NULL);
        const spy_call_options options = { .append_to = lists[k] };
        spy_list_timestamp(lists[k]);
        spy_list_barrier(lists[k]);
        if (k == 0) spy_draw(raster, &draw, SPY_ARGS(spy_arg_f32("gain", gain)), &options);
        else spy_draw_backward(raster, &draw, SPY_ARGS(spy_arg_tensor("gain", uniform)), &options);
        spy_list_barrier(lists[k]);
        spy_list_timestamp(lists[k]);
        spy_list_finish(lists[k]);
        if (!good(w, "draw_gradient")) return;
    }
    for (int i = -WARM; i < SAMPLES; ++i)
        for (int k = 0; k < 2; ++k) {
            uint64_t times[2] = { 0, 0 };
            spy_list_submit(lists[k]);
            spy_list_read_timestamps(lists[k], times, 2);
            if (!good(w, "draw_gradient")) return;
            if (i >= 0) samples[k][i] = (double)(times[1] - times[0]) / 1e3;
        }
    char note[64];
    snprintf(note, sizeof note, "%u x %u pixels of 16 bytes", side, side);
    bench_report(&w->out, "draw_forward", "us", samples[0], SAMPLES, note); // sorts them
    bench_report(&w->out, "draw_gradient", "us", samples[1], SAMPLES, "to one uniform");
    bench_report_one(&w->out, "gradient_of_draw", "x", samples[1][SAMPLES / 2] / samples[0][SAMPLES / 2],
                     "bar: 3");
    // The gradient is a sum over all pixels of at.x + 2 gain at.y + at.x cos(gain at.x), which is 0; over the left half, of
    // which the scissor lets the draw write, it is not: the mean of x there is -1/2, and that of x cos(1.5 x) is known.
    float sum = 0;
    const double expected =
        (double)side * side / 2 * (-0.5 - (sin(1.5) / 1.5 + (cos(1.5) - 1) / (1.5 * 1.5)));
    spy_draw_desc half = draw;
    half.scissor = (spy_scissor){ 0, 0, side / 2, side };
    spy_tensor_zero_grad(uniform);
    spy_draw_backward(raster, &half, SPY_ARGS(spy_arg_tensor("gain", uniform)), NULL);
    spy_tensor_read(spy_tensor_grad(uniform), &sum, sizeof sum);
    if (good(w, "draw_gradient") && fabs(sum - expected) > 1e-3 * fabs(expected))
        bench_fail(&w->out, "draw_gradient", "it is %g, expected %g", (double)sum, expected);
    for (int k = 0; k < 2; ++k) spy_release_command_list(lists[k]);
    spy_release_raster(raster), spy_release_texture(target), spy_release_tensor(uniform);
}

// ---- draws

typedef struct block {
    float scale[2], offset[2], depth, unused, size[2], tint[4];
} block;

typedef struct plain {
    VkDevice device;
    VkPhysicalDevice physical;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkImage images[TARGETS];
    VkImageView views[TARGETS];
    VkDeviceMemory memory[TARGETS];
} plain;

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const VkResult result_ = (call);                                                                     \
        if (result_ != VK_SUCCESS) {                                                                         \
            bench_fail(&w->out, "draws", "%s gave %d (line %d)", #call, (int)result_, __LINE__);             \
            return false;                                                                                    \
        }                                                                                                    \
    } while (0)

static bool plain_pipeline(world *w, plain *p) {
    const VkPushConstantRange range = { VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(block) };
    TRY(vkCreatePipelineLayout(p->device,
                               &(VkPipelineLayoutCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                              .pushConstantRangeCount = 1,
                                                              .pPushConstantRanges = &range },
                               NULL, &p->layout));
    const struct {
        const uint32_t *words;
        size_t bytes;
        VkShaderStageFlagBits stage;
        const char *name;
    } stages[2] = { { raster_vertex_id, sizeof raster_vertex_id, VK_SHADER_STAGE_VERTEX_BIT, "vertex_id" },
                    { raster_fragment_main, sizeof raster_fragment_main, VK_SHADER_STAGE_FRAGMENT_BIT, "fragment_main" } };
    VkPipelineShaderStageCreateInfo infos[2];
    for (int i = 0; i < 2; ++i) {
        VkShaderModule module;
        TRY(vkCreateShaderModule(p->device,
                                 &(VkShaderModuleCreateInfo){ .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                              .codeSize = stages[i].bytes,
                                                              .pCode = stages[i].words },
                                 NULL, &module));
        infos[i] = (VkPipelineShaderStageCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = stages[i].stage,
                                                      .module = module,
                                                      .pName = stages[i].name };
    }
    static const VkDynamicState dynamic[2] = { VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR };
    const VkFormat format = VK_FORMAT_R32G32B32A32_SFLOAT;
    const VkPipelineColorBlendAttachmentState blend = { .colorWriteMask = 15 };
    const VkPipelineRenderingCreateInfo rendering = { .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                      .colorAttachmentCount = 1,
                                                      .pColorAttachmentFormats = &format };
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &rendering,
        .stageCount = 2,
        .pStages = infos,
        .pVertexInputState =
            &(VkPipelineVertexInputStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO },
        .pInputAssemblyState =
            &(VkPipelineInputAssemblyStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                       .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST },
        .pViewportState = &(VkPipelineViewportStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                                .viewportCount = 1,
                                                                .scissorCount = 1 },
        .pRasterizationState =
            &(VkPipelineRasterizationStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                                                       .lineWidth = 1 },
        .pMultisampleState =
            &(VkPipelineMultisampleStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                     .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT },
        .pColorBlendState =
            &(VkPipelineColorBlendStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                    .attachmentCount = 1,
                                                    .pAttachments = &blend },
        .pDynamicState = &(VkPipelineDynamicStateCreateInfo){ .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                              .dynamicStateCount = 2,
                                                              .pDynamicStates = dynamic },
        .layout = p->layout,
    };
    TRY(vkCreateGraphicsPipelines(p->device, VK_NULL_HANDLE, 1, &info, NULL, &p->pipeline));
    for (int i = 0; i < 2; ++i) vkDestroyShaderModule(p->device, infos[i].module, NULL);
    return true;
}

static bool plain_target(world *w, plain *p, int i) {
    TRY(vkCreateImage(p->device,
                      &(VkImageCreateInfo){ .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                            .imageType = VK_IMAGE_TYPE_2D,
                                            .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                            .extent = { SIZE, SIZE, 1 },
                                            .mipLevels = 1,
                                            .arrayLayers = 1,
                                            .samples = VK_SAMPLE_COUNT_1_BIT,
                                            .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT },
                      NULL, &p->images[i]));
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(p->device, p->images[i], &needs);
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(p->physical, &memory);
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1) ||
           !(memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT))
        type++;
    TRY(vkAllocateMemory(p->device,
                         &(VkMemoryAllocateInfo){ .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                                  .allocationSize = needs.size,
                                                  .memoryTypeIndex = type },
                         NULL, &p->memory[i]));
    TRY(vkBindImageMemory(p->device, p->images[i], p->memory[i], 0));
    TRY(vkCreateImageView(p->device,
                          &(VkImageViewCreateInfo){ .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                                    .image = p->images[i],
                                                    .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                                    .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                                    .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } },
                          NULL, &p->views[i]));
    return true;
}

static bool plain_submit(world *w, plain *p) {
    TRY(vkEndCommandBuffer(p->commands));
    TRY(vkQueueSubmit(p->queue, 1,
                      &(VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                       .commandBufferCount = 1,
                                       .pCommandBuffers = &p->commands },
                      p->fence));
    return true;
}

static bool plain_begin(world *w, plain *p) {
    TRY(vkResetCommandPool(p->device, p->pool, 0));
    TRY(vkBeginCommandBuffer(p->commands,
                             &(VkCommandBufferBeginInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                                          .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT }));
    return true;
}

static bool plain_wait(world *w, plain *p) {
    TRY(vkWaitForFences(p->device, 1, &p->fence, VK_TRUE, 60000000000u));
    TRY(vkResetFences(p->device, 1, &p->fence));
    return true;
}

static bool plain_open(world *w, plain *p) {
    spy_vk_desc shared;
    memset(&shared, 0, sizeof shared);
    spy_vk_share_device(w->device, &shared);
    if (!good(w, "draws")) return false;
    TRY(volkInitialize());
    volkLoadInstance((VkInstance)shared.instance);
    volkLoadDevice((VkDevice)shared.device);
    p->device = (VkDevice)shared.device;
    p->physical = (VkPhysicalDevice)shared.physical_device;
    p->queue = (VkQueue)shared.queue;
    TRY(vkCreateCommandPool(p->device,
                            &(VkCommandPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                                        .queueFamilyIndex = shared.queue_family },
                            NULL, &p->pool));
    TRY(vkAllocateCommandBuffers(p->device,
                                 &(VkCommandBufferAllocateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                                 .commandPool = p->pool,
                                                                 .commandBufferCount = 1 },
                                 &p->commands));
    TRY(vkCreateFence(p->device, &(VkFenceCreateInfo){ .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO }, NULL, &p->fence));
    if (vkCmdBeginRendering == NULL) vkCmdBeginRendering = vkCmdBeginRenderingKHR;
    if (vkCmdEndRendering == NULL) vkCmdEndRendering = vkCmdEndRenderingKHR;
    if (vkCmdBeginRendering == NULL || !plain_pipeline(w, p)) return false;
    for (int i = 0; i < TARGETS; ++i)
        if (!plain_target(w, p, i)) return false;
    if (!plain_begin(w, p)) return false;
    for (int i = 0; i < TARGETS; ++i) {
        const VkImageMemoryBarrier in = { .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                          .newLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .image = p->images[i],
                                          .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 } };
        vkCmdPipelineBarrier(p->commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, 0,
                             0, NULL, 0, NULL, 1, &in);
    }
    return plain_submit(w, p) && plain_wait(w, p);
}

static void plain_close(plain *p) {
    for (int i = 0; i < TARGETS; ++i) {
        vkDestroyImageView(p->device, p->views[i], NULL);
        vkDestroyImage(p->device, p->images[i], NULL);
        vkFreeMemory(p->device, p->memory[i], NULL);
    }
    vkDestroyPipeline(p->device, p->pipeline, NULL);
    vkDestroyPipelineLayout(p->device, p->layout, NULL);
    vkDestroyFence(p->device, p->fence, NULL);
    vkDestroyCommandPool(p->device, p->pool, NULL);
}

static block block_of(uint32_t i) {
    const block made = { { 1, 1 }, { 0, 0 }, 0.5f, 0, { SIZE, SIZE }, { (float)(i % 7), 1, 1, 1 } };
    return made;
}

// Nanoseconds of DRAWS plain draws and their submission. Draws into one target are one pass.
static bool plain_draws(world *w, plain *p, bool rotate, double *spent) {
    const double start = bench_now_ns();
    if (!plain_begin(w, p)) return false;
    for (uint32_t i = 0; i < DRAWS; ++i) {
        if (rotate ? i % TARGETS == 0 : i == 0) {
            const VkMemoryBarrier barrier = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                              .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                              .dstAccessMask =
                                                  VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT };
            const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
            vkCmdPipelineBarrier(p->commands, stage, stage, 0, 1, &barrier, 0, NULL, 0, NULL);
        }
        if (rotate || i == 0) {
            const VkRenderingAttachmentInfo target = { .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                       .imageView = p->views[rotate ? i % TARGETS : 0],
                                                       .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                                       .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                       .storeOp = VK_ATTACHMENT_STORE_OP_STORE };
            const VkViewport viewport = { 0, SIZE, SIZE, -SIZE, 0, 1 };
            const VkRect2D scissor = { { 0, 0 }, { SIZE, SIZE } };
            vkCmdBeginRendering(p->commands, &(VkRenderingInfo){ .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                                                 .renderArea = { { 0, 0 }, { SIZE, SIZE } },
                                                                 .layerCount = 1,
                                                                 .colorAttachmentCount = 1,
                                                                 .pColorAttachments = &target });
            vkCmdSetViewport(p->commands, 0, 1, &viewport);
            vkCmdSetScissor(p->commands, 0, 1, &scissor);
            vkCmdBindPipeline(p->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, p->pipeline);
        }
        const block b = block_of(i);
        vkCmdPushConstants(p->commands, p->layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof b, &b);
        vkCmdDraw(p->commands, 3, 1, 0, 0);
        if (rotate) vkCmdEndRendering(p->commands);
    }
    if (!rotate) vkCmdEndRendering(p->commands);
    if (!plain_submit(w, p)) return false;
    *spent = bench_now_ns() - start;
    return plain_wait(w, p);
}

static bool our_draws(world *w, spy_raster *raster, spy_texture *const *targets, bool rotate, double *spent) {
    spy_draw_desc draw;
    memset(&draw, 0, sizeof draw);
    draw.vertex_count = 3;
    const double start = bench_now_ns();
    for (uint32_t i = 0; i < DRAWS; ++i) {
        const block b = block_of(i);
        draw.targets[0].texture = targets[rotate ? i % TARGETS : 0];
        spy_draw(raster, &draw, SPY_ARGS(spy_arg_data("block", &b, sizeof b - sizeof b.tint), spy_arg_f32n("tint", b.tint, 4)),
                 NULL);
    }
    spy_flush(w->device);
    *spent = bench_now_ns() - start;
    spy_wait(w->device);
    return good(w, "draws");
}

static void measure_draws(world *w) {
    plain p;
    memset(&p, 0, sizeof p);
    spy_texture *targets[TARGETS];
    for (int i = 0; i < TARGETS; ++i)
        targets[i] = spy_create_texture(
            w->device, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                            .width = SIZE,
                                            .height = SIZE,
                                            .usage = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED });
    spy_raster *raster = spy_create_raster(w->device, &(spy_raster_desc){ .vertex = spy_find_function(w->module, "vs"),
                                                                          .fragment = spy_find_function(w->module, "fs") });
    if (!good(w, "draws") || !plain_open(w, &p)) return;
    for (int rotate = 1; rotate >= 0; --rotate) {
        double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS], spent;
        uint64_t before = 0;
        char item[64];
        for (int round = -4; round < ROUNDS; ++round) {
            if (round == 0) before = (uint64_t)allocations_made;
            if (!our_draws(w, raster, targets, rotate == 1, &spent)) return;
            if (round >= 0) ours[round] = spent / DRAWS;
            if (!plain_draws(w, &p, rotate == 1, &spent)) return;
            if (round >= 0) theirs[round] = spent / DRAWS, ratios[round] = ours[round] / theirs[round];
        }
        const uint64_t made = (uint64_t)allocations_made - before;
        const char *where = rotate ? "rotating" : "one_target";
        float texel[4];
        const spy_texture_region region = { .x = SIZE / 2, .y = SIZE / 2, .width = 1, .height = 1 };
        spy_texture_read(targets[rotate ? (DRAWS - 1) % TARGETS : 0], &region, texel, sizeof texel);
        if (good(w, "draws") && texel[0] != (float)((DRAWS - 1) % 7))
            bench_fail(&w->out, "draws", "the target is %g, expected %d", (double)texel[0], (DRAWS - 1) % 7);
        snprintf(item, sizeof item, "draw_%s", where);
        bench_report(&w->out, item, "ns", ours, ROUNDS, made == 0 ? "0 allocations" : "");
        if (made != 0) bench_fail(&w->out, item, "%llu allocations", (unsigned long long)made);
        snprintf(item, sizeof item, "plain_draw_%s", where);
        bench_report(&w->out, item, "ns", theirs, ROUNDS, "bare Vulkan, in turns");
        snprintf(item, sizeof item, "draw_ratio_%s", where);
        bench_report(&w->out, item, "x", ratios, ROUNDS, rotate ? "bar: 1.5" : "");
    }
    plain_close(&p);
    for (int i = 0; i < TARGETS; ++i) spy_release_texture(targets[i]);
    spy_release_raster(raster);
}

int main(int argc, char **argv) {
    world w;
    memset(&w, 0, sizeof w);
    bool cuda = false;
    int size = 0;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--quick") == 0) size = 1;
        else if (strcmp(argv[i], "--full") == 0) size = 2;
        else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) cuda = strcmp(argv[++i], "cuda") == 0;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) w.out.json = fopen(argv[++i], "a");
        else {
            fprintf(stderr, "usage: pictures [--backend vk|cuda] [--json FILE] [--quick | --full]\n");
            return 2;
        }
    }
    w.device = spy_create_device(&(spy_device_desc){
        .backend = cuda ? spy_cuda_backend() : spy_vk_backend(),
        .log = { .func = spy_log_stderr },
        .allocator = { .allocate = count_allocate, .reallocate = count_reallocate, .free = count_free } });
    if (w.device == NULL) {
        bench_fail(&w.out, "device", "%s", spy_take_error(NULL).message);
        return 1;
    }
    const spy_device_info info = spy_get_device_info(w.device);
    w.quick = size == 0 ? info.type == SPY_ADAPTER_TYPE_CPU : size == 1;
    bench_report_device(&w.out, info.name, info.driver, info.type == SPY_ADAPTER_TYPE_CPU, w.quick);
    w.module = spy_load_module(w.device, &(spy_module_desc){ .name = "pictures", .source = source });
    if (w.module == NULL) good(&w, "module");
    else measure_texels(&w);
    if (w.module != NULL && !cuda) measure_gradients(&w);
    if (w.module != NULL && !cuda) measure_draws(&w);
    spy_release_device(w.device);
    if (w.out.json != NULL) fclose(w.out.json);
    return w.out.failures == 0 ? 0 : 1;
}
