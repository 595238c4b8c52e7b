// spy_vk_fill_features(): sets the features that the library needs or can use in an engine's own chain of feature structs.
#include "vk/internal.h"

// The feature structs of single extensions, which an engine may use in place of
// VkPhysicalDeviceVulkan11Features, 12 and 13, as X(end of the struct's name, end of its VkStructureType,
// member).
#define SPYI_VK_SINGLE_FEATURES(X)                                                                           \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, storageBuffer16BitAccess)                                \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, uniformAndStorageBuffer16BitAccess)                      \
    X(16BitStorageFeatures, 16BIT_STORAGE_FEATURES, storagePushConstant16)                                   \
    X(VariablePointersFeatures, VARIABLE_POINTERS_FEATURES, variablePointersStorageBuffer)                   \
    X(VariablePointersFeatures, VARIABLE_POINTERS_FEATURES, variablePointers)                                \
    X(ShaderDrawParametersFeatures, SHADER_DRAW_PARAMETERS_FEATURES, shaderDrawParameters)                   \
    X(TimelineSemaphoreFeatures, TIMELINE_SEMAPHORE_FEATURES, timelineSemaphore)                             \
    X(BufferDeviceAddressFeatures, BUFFER_DEVICE_ADDRESS_FEATURES, bufferDeviceAddress)                      \
    X(ScalarBlockLayoutFeatures, SCALAR_BLOCK_LAYOUT_FEATURES, scalarBlockLayout)                            \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, storageBuffer8BitAccess)                                   \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, uniformAndStorageBuffer8BitAccess)                         \
    X(8BitStorageFeatures, 8BIT_STORAGE_FEATURES, storagePushConstant8)                                      \
    X(ShaderFloat16Int8Features, SHADER_FLOAT16_INT8_FEATURES, shaderFloat16)                                \
    X(ShaderFloat16Int8Features, SHADER_FLOAT16_INT8_FEATURES, shaderInt8)                                   \
    X(ShaderAtomicInt64Features, SHADER_ATOMIC_INT64_FEATURES, shaderBufferInt64Atomics)                     \
    X(ShaderAtomicInt64Features, SHADER_ATOMIC_INT64_FEATURES, shaderSharedInt64Atomics)                     \
    X(ShaderSubgroupExtendedTypesFeatures, SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,                          \
      shaderSubgroupExtendedTypes)                                                                           \
    X(VulkanMemoryModelFeatures, VULKAN_MEMORY_MODEL_FEATURES, vulkanMemoryModel)                            \
    X(VulkanMemoryModelFeatures, VULKAN_MEMORY_MODEL_FEATURES, vulkanMemoryModelDeviceScope)                 \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderUniformTexelBufferArrayDynamicIndexing)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderStorageTexelBufferArrayDynamicIndexing)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderStorageBufferArrayNonUniformIndexing)  \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderUniformTexelBufferArrayNonUniformIndexing)                                                       \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      shaderStorageTexelBufferArrayNonUniformIndexing)                                                       \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderSampledImageArrayNonUniformIndexing)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, shaderStorageImageArrayNonUniformIndexing)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingSampledImageUpdateAfterBind)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingStorageImageUpdateAfterBind)                                                          \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES,                                              \
      descriptorBindingStorageBufferUpdateAfterBind)                                                         \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, descriptorBindingUpdateUnusedWhilePending)   \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, descriptorBindingPartiallyBound)             \
    X(DescriptorIndexingFeatures, DESCRIPTOR_INDEXING_FEATURES, runtimeDescriptorArray)                      \
    X(SubgroupSizeControlFeatures, SUBGROUP_SIZE_CONTROL_FEATURES, subgroupSizeControl)                      \
    X(SubgroupSizeControlFeatures, SUBGROUP_SIZE_CONTROL_FEATURES, computeFullSubgroups)                     \
    X(Maintenance4Features, MAINTENANCE_4_FEATURES, maintenance4)                                            \
    X(ShaderIntegerDotProductFeatures, SHADER_INTEGER_DOT_PRODUCT_FEATURES, shaderIntegerDotProduct)         \
    X(ShaderDemoteToHelperInvocationFeatures, SHADER_DEMOTE_TO_HELPER_INVOCATION_FEATURES,                   \
      shaderDemoteToHelperInvocation)                                                                        \
    X(DynamicRenderingFeatures, DYNAMIC_RENDERING_FEATURES, dynamicRendering)

typedef struct spyi_vk_single_feature {
    VkStructureType type;
    uint32_t feature; // a spyi_vk_feature
    size_t offset;    // the byte offset of the feature's VkBool32 in the struct
} spyi_vk_single_feature;

static const spyi_vk_single_feature spyi_vk_single_features[] = {
#define SPYI_VK_SINGLE(name, type, member)                                                                   \
    { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, SPYI_VK_FEATURE_##member,                                    \
      offsetof(VkPhysicalDevice##name, member) },
    SPYI_VK_SINGLE_FEATURES(SPYI_VK_SINGLE)
#undef SPYI_VK_SINGLE
};

// Returns a feature's VkBool32 in a chain of feature structs, or NULL when no struct of the chain has it.
static VkBool32 *spyi_vk_find_feature(void *chain, uint32_t feature) {
    const spyi_vk_feature_struct *usual = spyi_vk_feature_struct_of(feature);
    const size_t count = sizeof spyi_vk_single_features / sizeof spyi_vk_single_features[0];
    VkBaseOutStructure *node = (VkBaseOutStructure *)chain;
    size_t i;
    for (; node != NULL; node = node->pNext) {
        char *start = (char *)(void *)node;
        if (node->sType == usual->type)
            return (VkBool32 *)(void *)(start + (spyi_vk_feature_offset(feature) - usual->offset));
        for (i = 0; i < count; i++) {
            const spyi_vk_single_feature *single = &spyi_vk_single_features[i];
            if (node->sType == single->type && feature == single->feature)
                return (VkBool32 *)(void *)(start + single->offset);
        }
    }
    return NULL;
}

// Checks that both chains have a member for each required feature, and that it is set in `supported` (may be
// NULL).
static spy_status spyi_vk_check_required(void *features, void *supported, const char *function) {
    uint32_t i;
    for (i = 0; i < SPYI_VK_FEATURE_REQUIRED; i++) {
        const VkBool32 *wanted = spyi_vk_find_feature(features, i);
        const VkBool32 *has = supported != NULL ? spyi_vk_find_feature(supported, i) : wanted;
        if (wanted == NULL || has == NULL)
            return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: %s: no struct of the chain has %s: expected a %s in it", function,
                             wanted == NULL ? "features" : "supported", spyi_vk_feature_name(i),
                             spyi_vk_feature_struct_of(i)->name);
        if (supported != NULL && *has == VK_FALSE)
            return spyi_fail(NULL, SPY_ERROR_UNSUPPORTED,
                             "%s: supported: the physical device lacks %s (%s), which is required", function,
                             spyi_vk_feature_name(i), spyi_vk_feature_struct_of(i)->name);
    }
    return SPY_OK;
}

spy_status spy_vk_fill_features(void *features, const void *supported, spy_vk_features *enabled) {
    static const char function[] = "spy_vk_fill_features";
    void *have = (void *)(uintptr_t)supported; // the chain is only read
    spy_status status;
    uint32_t i;
    if (features == NULL)
        return spyi_fail(
            NULL, SPY_ERROR_INVALID_ARGUMENT,
            "%s: features: expected a chain that begins with a VkPhysicalDeviceFeatures2, got NULL",
            function);
    status = spyi_vk_check_required(features, have, function);
    if (status != SPY_OK) return status;
    if (enabled != NULL) enabled->count = 0;
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        VkBool32 *wanted = spyi_vk_find_feature(features, i);
        const VkBool32 *has = have != NULL ? spyi_vk_find_feature(have, i) : NULL;
        if (wanted == NULL) continue;
        if (i < SPYI_VK_FEATURE_REQUIRED || (has != NULL && *has != VK_FALSE)) *wanted = VK_TRUE;
        if (i >= SPYI_VK_FEATURE_REQUIRED && *wanted != VK_FALSE && enabled != NULL)
            enabled->names[enabled->count++] = spyi_vk_feature_name(i);
    }
    return SPY_OK;
}
