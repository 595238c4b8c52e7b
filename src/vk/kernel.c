// Kernels: makes a compute pipeline of SPIR-V, with a pipeline layout that kernels share. raster.c makes
// pipelines of draws with the same layouts. Several threads may load kernels at once. On the device this
// changes only the list of layouts, under a lock, and VkPipelineCache, which locks itself.
#include "vk/internal.h"

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
