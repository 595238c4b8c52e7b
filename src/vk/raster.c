// Loads rasters: makes a graphics pipeline of a vertex and a fragment shader over a spyi_raster_state.
// Several threads may load at once, as kernel.c describes. Features that the device lacks are refused by
// name, because drivers do not check them.
#include "vk/internal.h"

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
