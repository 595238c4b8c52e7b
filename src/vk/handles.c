// Handles: the device's one table of textures, samplers and buffers that kernels find by numbers (descriptor
// indexing). It is descriptor set 1 of each kernel that uses handles, with a binding for each kind of descriptor. A
// handle is the number of an element of its binding, which is what Slang makes of DescriptorHandle<T> in SPIR-V; the
// compiler's side gives Slang's variables these bindings.
//
// Elements change while work that uses others of them is pending (UPDATE_UNUSED_WHILE_PENDING). An element that was
// given back is only taken again when the work that may use it has finished.
#include "vk/internal.h"

static const VkDescriptorType spyi_vk_handle_types[SPYI_HANDLE_KINDS] = {
    VK_DESCRIPTOR_TYPE_SAMPLER, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
};

static const uint32_t spyi_vk_handle_counts[SPYI_HANDLE_KINDS] = { 1024, 1024, 8192, 8192, 8192 };

SPYI_FN bool spyi_vk_has_handles(const spyi_vk_adapter *adapter) {
    static const uint16_t needs[] = { SPYI_VK_FEATURE_runtimeDescriptorArray,
                                      SPYI_VK_FEATURE_descriptorBindingPartiallyBound,
                                      SPYI_VK_FEATURE_descriptorBindingUpdateUnusedWhilePending,
                                      SPYI_VK_FEATURE_descriptorBindingSampledImageUpdateAfterBind,
                                      SPYI_VK_FEATURE_descriptorBindingStorageImageUpdateAfterBind,
                                      SPYI_VK_FEATURE_descriptorBindingStorageBufferUpdateAfterBind,
                                      SPYI_VK_FEATURE_shaderSampledImageArrayDynamicIndexing,
                                      SPYI_VK_FEATURE_shaderStorageImageArrayDynamicIndexing,
                                      SPYI_VK_FEATURE_shaderStorageBufferArrayDynamicIndexing };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (!adapter->features[needs[i]]) return false;
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++)
        if (adapter->handle_counts[i] < 64) return false;
    return true;
}

// Stores how many descriptors of each kind one set may have.
SPYI_FN void spyi_vk_query_handles(const VkPhysicalDeviceVulkan12Properties *v12, spyi_vk_adapter *adapter) {
    const uint32_t most[SPYI_HANDLE_KINDS] = { v12->maxDescriptorSetUpdateAfterBindSamplers / 2,
                                               v12->maxDescriptorSetUpdateAfterBindSamplers / 2,
                                               v12->maxDescriptorSetUpdateAfterBindSampledImages / 2,
                                               v12->maxDescriptorSetUpdateAfterBindStorageImages,
                                               v12->maxDescriptorSetUpdateAfterBindStorageBuffers };
    const uint32_t stage[SPYI_HANDLE_KINDS] = { v12->maxPerStageDescriptorUpdateAfterBindSamplers / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindSamplers / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindSampledImages / 2,
                                                v12->maxPerStageDescriptorUpdateAfterBindStorageImages,
                                                v12->maxPerStageDescriptorUpdateAfterBindStorageBuffers };
    // Half of the descriptors that a stage may have stays for the kernel's own bindings.
    const uint32_t share = v12->maxPerStageUpdateAfterBindResources / 2 / SPYI_HANDLE_KINDS;
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) {
        uint32_t count = spyi_vk_handle_counts[i];
        if (count > most[i] / 2) count = most[i] / 2;
        if (count > stage[i] / 2) count = stage[i] / 2;
        if (count > share) count = share;
        adapter->handle_counts[i] = count;
    }
}

static VkResult spyi_vk_make_handles(spyi_vk_gpu *gpu, spyi_vk_handles *h, const char **what) {
    const VkDescriptorBindingFlags flags = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                                           VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT |
                                           VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT;
    VkDescriptorSetLayoutBinding bindings[SPYI_HANDLE_KINDS];
    VkDescriptorBindingFlags all[SPYI_HANDLE_KINDS];
    VkDescriptorPoolSize sizes[SPYI_HANDLE_KINDS];
    VkDescriptorSetLayoutBindingFlagsCreateInfo binding_flags;
    VkDescriptorSetLayoutCreateInfo layout;
    VkDescriptorPoolCreateInfo pool;
    VkDescriptorSetAllocateInfo set;
    memset(bindings, 0, sizeof bindings);
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = sizes[i].type = spyi_vk_handle_types[i];
        bindings[i].descriptorCount = sizes[i].descriptorCount = gpu->adapter.handle_counts[i];
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_ALL_GRAPHICS;
        all[i] = flags;
    }
    SPYI_VK_ZERO(binding_flags);
    binding_flags.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO;
    binding_flags.bindingCount = SPYI_HANDLE_KINDS;
    binding_flags.pBindingFlags = all;
    SPYI_VK_ZERO(layout);
    layout.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    layout.pNext = &binding_flags;
    layout.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    layout.bindingCount = SPYI_HANDLE_KINDS;
    layout.pBindings = bindings;
    *what = "vkCreateDescriptorSetLayout";
    VkResult result = gpu->vk.vkCreateDescriptorSetLayout(gpu->device, &layout, NULL, &h->layout);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(pool);
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.flags = VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT;
    pool.maxSets = 1;
    pool.poolSizeCount = SPYI_HANDLE_KINDS;
    pool.pPoolSizes = sizes;
    *what = "vkCreateDescriptorPool";
    result = gpu->vk.vkCreateDescriptorPool(gpu->device, &pool, NULL, &h->pool);
    if (result != VK_SUCCESS) return result;
    SPYI_VK_ZERO(set);
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    set.descriptorPool = h->pool;
    set.descriptorSetCount = 1;
    set.pSetLayouts = &h->layout;
    *what = "vkAllocateDescriptorSets";
    return gpu->vk.vkAllocateDescriptorSets(gpu->device, &set, &h->set);
}

SPYI_FN void spyi_vk_destroy_handles(spyi_vk_gpu *gpu) {
    spyi_vk_handles *h = &gpu->handles;
    if (h->pool != VK_NULL_HANDLE) gpu->vk.vkDestroyDescriptorPool(gpu->device, h->pool, NULL);
    if (h->layout != VK_NULL_HANDLE) gpu->vk.vkDestroyDescriptorSetLayout(gpu->device, h->layout, NULL);
    for (uint32_t i = 0; i < SPYI_HANDLE_KINDS; i++) free(h->free[i]);
    memset(h, 0, sizeof *h);
}

// Makes the table of handles if there is none. The caller holds gpu->layout_lock.
SPYI_FN VkResult spyi_vk_need_handles(spyi_vk_gpu *gpu, const char **what) {
    if (gpu->handles.set != VK_NULL_HANDLE) return VK_SUCCESS;
    VkResult result = spyi_vk_make_handles(gpu, &gpu->handles, what);
    if (result != VK_SUCCESS) spyi_vk_destroy_handles(gpu);
    return result;
}

static uint32_t spyi_vk_handle_kind(spyi_binding_kind kind) {
    switch (kind) {
    case SPYI_BINDING_SAMPLER: return SPYI_HANDLE_SAMPLER;
    case SPYI_BINDING_COMBINED: return SPYI_HANDLE_COMBINED;
    case SPYI_BINDING_TEXTURE: return SPYI_HANDLE_TEXTURE;
    case SPYI_BINDING_RW_TEXTURE: return SPYI_HANDLE_RW_TEXTURE;
    default: return SPYI_HANDLE_BUFFER;
    }
}

// Returns the number of a free element; UINT32_MAX means that all are taken.
static uint32_t spyi_vk_take_handle(spyi_vk_gpu *gpu, uint32_t kind) {
    spyi_vk_handles *h = &gpu->handles;
    for (uint32_t i = 0; i < h->free_count[kind]; i++) {
        spyi_vk_free_handle *f = &h->free[kind][i];
        uint32_t number = f->number;
        if (spyi_vk_finished_submit((spyi_gpu *)(void *)gpu) < f->submit) continue;
        *f = h->free[kind][--h->free_count[kind]];
        return number;
    }
    return h->used[kind] < gpu->adapter.handle_counts[kind] ? h->used[kind]++ : UINT32_MAX;
}

SPYI_FN spy_status spyi_vk_add_handle(spyi_gpu *base, const spyi_binding *b, uint64_t *handle,
                                      spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const uint32_t kind = spyi_vk_handle_kind((spyi_binding_kind)b->kind);
    VkDescriptorImageInfo image;
    VkDescriptorBufferInfo buffer;
    VkWriteDescriptorSet write;
    const char *what = "";
    *handle = 0;
    if (!(gpu->base.limits.info.features & SPY_FEATURE_HANDLES)) {
        spyi_text_add(error, "the device '%s' has no descriptor indexing, which handles need",
                      gpu->adapter.info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_mutex_lock(&gpu->layout_lock);
    VkResult result = spyi_vk_need_handles(gpu, &what);
    spyi_mutex_unlock(&gpu->layout_lock);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, what, error);
    uint32_t number = spyi_vk_take_handle(gpu, kind);
    if (number == UINT32_MAX) {
        spyi_text_add(
            error,
            "the device's %u handles of this kind are all in use; release textures or buffers that have one",
            gpu->adapter.handle_counts[kind]);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    spyi_vk_describe_image(b, &image);
    buffer.buffer = (VkBuffer)b->handle;
    buffer.offset = b->offset;
    buffer.range = b->range;
    SPYI_VK_ZERO(write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = gpu->handles.set;
    write.dstBinding = kind;
    write.dstArrayElement = number;
    write.descriptorCount = 1;
    write.descriptorType = spyi_vk_handle_types[kind];
    write.pImageInfo = &image;
    write.pBufferInfo = &buffer;
    gpu->vk.vkUpdateDescriptorSets(gpu->device, 1, &write, 0, NULL);
    *handle = number;
    return SPY_OK;
}

SPYI_FN void spyi_vk_remove_handle(spyi_gpu *base, spyi_binding_kind binding, uint64_t handle) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spyi_vk_handles *h = &gpu->handles;
    const uint32_t kind = spyi_vk_handle_kind(binding);
    if (h->free_count[kind] == h->free_capacity[kind]) {
        uint32_t capacity = h->free_capacity[kind] ? h->free_capacity[kind] * 2 : 16;
        spyi_vk_free_handle *grown =
            (spyi_vk_free_handle *)spyi_realloc(h->free[kind], capacity * sizeof *grown);
        if (!grown) return; // the element stays taken
        h->free[kind] = grown;
        h->free_capacity[kind] = capacity;
    }
    h->free[kind][h->free_count[kind]].number = (uint32_t)handle;
    h->free[kind][h->free_count[kind]++].submit = gpu->base.open - (gpu->batch == NULL);
}
