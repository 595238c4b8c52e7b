// Kernels: SPIR-V to a compute pipeline, and the pipeline layouts that kernels share. Free-threaded: what it
// changes in the device is the list of layouts, under a lock; VkPipelineCache locks itself.
#include "vk/internal.h"

static VkResult spyi_vk_make_layout(spyi_vk_gpu *gpu, spyi_vk_layout *layout) {
    VkDescriptorSetLayoutBinding bindings[SPYI_VK_MAX_BINDINGS];
    VkDescriptorSetLayoutCreateInfo set;
    VkPipelineLayoutCreateInfo info;
    VkPushConstantRange range;
    VkResult result = VK_SUCCESS;
    uint32_t i, count = layout->binding_count + layout->uniform_count;
    if (count > 0) {
        memset(bindings, 0, sizeof bindings);
        for (i = 0; i < count; i++) {
            bindings[i].binding = i;
            bindings[i].descriptorType = i < layout->binding_count ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                                   : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
            bindings[i].descriptorCount = 1;
            bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        }
        SPYI_VK_ZERO(set);
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
        set.bindingCount = count;
        set.pBindings = bindings;
        result = gpu->vk.vkCreateDescriptorSetLayout(gpu->device, &set, NULL, &layout->set);
        if (result != VK_SUCCESS) return result;
    }
    SPYI_VK_ZERO(range);
    range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    range.size = layout->push_size;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = count > 0 ? 1 : 0;
    info.pSetLayouts = &layout->set;
    info.pushConstantRangeCount = layout->push_size > 0 ? 1 : 0;
    info.pPushConstantRanges = &range;
    return gpu->vk.vkCreatePipelineLayout(gpu->device, &info, NULL, &layout->pipeline);
}

static void spyi_vk_free_layout(spyi_vk_gpu *gpu, spyi_vk_layout *layout) {
    gpu->vk.vkDestroyPipelineLayout(gpu->device, layout->pipeline, NULL);
    gpu->vk.vkDestroyDescriptorSetLayout(gpu->device, layout->set, NULL);
    spyi_free(gpu->base.ctx, layout, sizeof *layout);
}

// Layouts live as long as the device: there are few, one for each triple of sizes.
static VkResult spyi_vk_find_layout(spyi_vk_gpu *gpu, const spyi_vk_kernel *kernel, VkPipelineLayout *out) {
    spyi_vk_layout *layout;
    VkResult result = VK_SUCCESS;
    spyi_mutex_lock(&gpu->layout_lock);
    for (layout = gpu->layouts; layout != NULL; layout = layout->next) {
        if (layout->push_size == kernel->push_size && layout->binding_count == kernel->binding_count &&
            layout->uniform_count == kernel->uniform_count)
            break;
    }
    if (layout == NULL) {
        layout = (spyi_vk_layout *)spyi_allocate(gpu->base.ctx, sizeof *layout);
        if (layout == NULL) {
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
        } else {
            layout->push_size = kernel->push_size;
            layout->binding_count = kernel->binding_count;
            layout->uniform_count = kernel->uniform_count;
            result = spyi_vk_make_layout(gpu, layout);
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

static spy_status spyi_vk_check_kernel(const spyi_vk_gpu *gpu, const spyi_kernel_desc *desc,
                                       spyi_text *error) {
    const spyi_limits *limits = &gpu->base.limits;
    if (!desc->block_by_address && desc->block_size > limits->max_block_bytes) {
        spyi_text_add(error, "the kernel's %u bytes of parameters exceed the device's %u", desc->block_size,
                      limits->max_block_bytes);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (desc->binding_count + desc->uniform_count > limits->max_bindings ||
        desc->uniform_count > limits->max_uniforms) {
        spyi_text_add(error,
                      "the kernel has %u structured buffers and %u uniform buffers, the device takes %u, of "
                      "which %u uniform buffers",
                      desc->binding_count, desc->uniform_count, limits->max_bindings, limits->max_uniforms);
        return SPY_ERROR_UNSUPPORTED;
    }
    return spyi_vk_check_code(&gpu->adapter, desc, error);
}

// What the driver said, when it said something: Mesa's VK_ERROR_UNKNOWN has its reason only there.
static void spyi_vk_add_message(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_mutex_lock(&gpu->instance.message_lock);
    if (gpu->instance.message[0] != '\0')
        spyi_text_add(error, "; the driver's last message: %s", gpu->instance.message);
    spyi_mutex_unlock(&gpu->instance.message_lock);
}

static VkResult spyi_vk_make_pipeline(spyi_vk_gpu *gpu, const spyi_kernel_desc *desc,
                                      spyi_vk_kernel *kernel) {
    VkShaderModuleCreateInfo module_info;
    VkComputePipelineCreateInfo info;
    VkShaderModule module = VK_NULL_HANDLE;
    VkResult result = spyi_vk_find_layout(gpu, kernel, &kernel->layout);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(module_info);
    module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module_info.codeSize = desc->code_size;
    module_info.pCode = (const uint32_t *)desc->code;
    result = gpu->vk.vkCreateShaderModule(gpu->device, &module_info, NULL, &module);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = desc->entry;
    info.layout = kernel->layout;
    result =
        gpu->vk.vkCreateComputePipelines(gpu->device, gpu->pipeline_cache, 1, &info, NULL, &kernel->pipeline);
    gpu->vk.vkDestroyShaderModule(gpu->device, module, NULL);
    return result;
}

SPYI_FN spy_status spyi_vk_create_kernel(spyi_gpu *base, const spyi_kernel_desc *desc, spyi_kernel **out,
                                         spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const char *label = desc->label != NULL ? desc->label : desc->entry;
    spyi_vk_kernel *kernel;
    VkResult result;
    spy_status status = spyi_vk_check_kernel(gpu, desc, error);
    *out = NULL;
    if (status != SPY_OK) return status;
    kernel = (spyi_vk_kernel *)spyi_allocate(gpu->base.ctx, sizeof *kernel);
    if (kernel == NULL) {
        spyi_text_add(error, "no host memory for a kernel");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    kernel->block_size = desc->block_size;
    kernel->block_by_address = desc->block_by_address && desc->block_size > 0;
    kernel->push_size = kernel->block_by_address ? 8 : (uint32_t)spyi_align(desc->block_size, 4);
    kernel->binding_count = desc->binding_count;
    kernel->uniform_count = desc->uniform_count;
    (void)snprintf(kernel->label, sizeof kernel->label, "%s", label);
    spyi_mutex_lock(&gpu->instance.message_lock);
    gpu->instance.message[0] = '\0';
    spyi_mutex_unlock(&gpu->instance.message_lock);
    result = spyi_vk_make_pipeline(gpu, desc, kernel);
    if (result != VK_SUCCESS) {
        spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
        status = spyi_vk_fail(gpu, result, "vkCreateComputePipelines", error);
        spyi_text_add(error, " for kernel '%s'", label);
        spyi_vk_add_message(gpu, error);
        return status == SPY_ERROR_INTERNAL ? SPY_ERROR_COMPILE : status;
    }
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)kernel->pipeline, label);
    *out = (spyi_kernel *)(void *)kernel;
    return SPY_OK;
}

SPYI_FN void spyi_vk_destroy_kernel(spyi_gpu *base, spyi_kernel *handle) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_kernel *kernel = (spyi_vk_kernel *)(void *)handle;
    gpu->vk.vkDestroyPipeline(gpu->device, kernel->pipeline, NULL);
    spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
}
