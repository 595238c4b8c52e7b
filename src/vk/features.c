// The device features and extensions that the library asks for, and the check that a kernel's SPIR-V needs
// only enabled ones. Drivers do not check this: lavapipe computes anyway, NVIDIA's driver hung the GPU.
#include "vk/internal.h"

typedef struct spyi_vk_feature_entry {
    const char *name;
    size_t offset; // the byte offset of the feature's VkBool32 in a spyi_vk_feature_set
} spyi_vk_feature_entry;

static const spyi_vk_feature_entry spyi_vk_feature_entries[] = {
#define SPYI_VK_ENTRY(where, member) { #member, offsetof(spyi_vk_feature_set, where.member) },
    SPYI_VK_REQUIRED_FEATURES(SPYI_VK_ENTRY) SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_ENTRY)
#undef SPYI_VK_ENTRY
};

#define SPYI_VK_FEATURE_NAME(where, member) #member,
#define SPYI_VK_EXTENSION_NAME(name) #name,
static const char *const spyi_vk_required_names[] = { SPYI_VK_REQUIRED_FEATURES(SPYI_VK_FEATURE_NAME) };
static const char *const spyi_vk_optional_names[] = { SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_FEATURE_NAME) };
static const char *const spyi_vk_extension_names[] = { SPYI_VK_OPTIONAL_EXTENSIONS(SPYI_VK_EXTENSION_NAME) };
#undef SPYI_VK_FEATURE_NAME
#undef SPYI_VK_EXTENSION_NAME

SPYI_FN size_t spyi_vk_feature_offset(uint32_t feature) {
    return spyi_vk_feature_entries[feature].offset;
}
SPYI_FN const char *spyi_vk_feature_name(uint32_t feature) {
    return spyi_vk_feature_entries[feature].name;
}
SPYI_FN const char *spyi_vk_extension_name(uint32_t extension) {
    return spyi_vk_extension_names[extension];
}

spy_vk_requirements spy_vk_required_features(void) {
    spy_vk_requirements r;
    SPYI_VK_ZERO(r);
    r.api_version = VK_API_VERSION_1_2;
    r.features = spyi_vk_required_names;
    r.feature_count = SPYI_VK_FEATURE_REQUIRED;
    r.optional_features = spyi_vk_optional_names;
    r.optional_feature_count = SPYI_VK_FEATURE_COUNT - SPYI_VK_FEATURE_REQUIRED;
    r.optional_extensions = spyi_vk_extension_names;
    r.optional_extension_count = SPYI_VK_EXTENSION_COUNT;
    return r;
}

static const spyi_vk_feature_struct spyi_vk_feature_structs[] = {
#define SPYI_VK_STRUCT(type, name, member, version, extension)                                               \
    SPYI_VK_STRUCT_OF(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, name, member, version, extension)
#define SPYI_VK_STRUCT_OF(type, name, member, version, extension)                                            \
    {                                                                                                        \
        type, "VkPhysicalDevice" name, offsetof(spyi_vk_feature_set, member),                                \
            sizeof(((spyi_vk_feature_set *)0)->member), VK_API_VERSION_1_##version, SPYI_VK_##extension      \
    }
    SPYI_VK_STRUCT(FEATURES_2, "Features2", core, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_1_FEATURES, "Vulkan11Features", v11, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_2_FEATURES, "Vulkan12Features", v12, 2, EXTENSION_COUNT),
    SPYI_VK_STRUCT(VULKAN_1_3_FEATURES, "Vulkan13Features", v13, 3, EXTENSION_COUNT),
    SPYI_VK_STRUCT(SHADER_ATOMIC_FLOAT_FEATURES_EXT, "ShaderAtomicFloatFeaturesEXT", atomic_float, 2,
                   EXT_shader_atomic_float),
    SPYI_VK_STRUCT(SHADER_ATOMIC_FLOAT_2_FEATURES_EXT, "ShaderAtomicFloat2FeaturesEXT", atomic_float2, 2,
                   EXT_shader_atomic_float2),
    SPYI_VK_STRUCT(SHADER_CLOCK_FEATURES_KHR, "ShaderClockFeaturesKHR", clock, 2, KHR_shader_clock),
    SPYI_VK_STRUCT(FRAGMENT_SHADER_BARYCENTRIC_FEATURES_NV, "FragmentShaderBarycentricFeaturesKHR",
                   barycentric, 2, KHR_fragment_shader_barycentric),
    SPYI_VK_STRUCT(VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT, "VertexAttributeDivisorFeaturesEXT", divisor, 2,
                   EXT_vertex_attribute_divisor),
    SPYI_VK_STRUCT_OF(SPYI_VK_FEATURES_MATRIX, "CooperativeMatrixFeaturesKHR", matrices, 2,
                      KHR_cooperative_matrix),
    SPYI_VK_STRUCT_OF(SPYI_VK_FEATURES_MATRIX_2, "CooperativeMatrix2FeaturesNV", matrices2, 2,
                      NV_cooperative_matrix2),
#undef SPYI_VK_STRUCT_OF
#undef SPYI_VK_STRUCT
};

SPYI_FN const spyi_vk_feature_struct *spyi_vk_feature_struct_of(uint32_t feature) {
    size_t at = spyi_vk_feature_offset(feature);
    const spyi_vk_feature_struct *s = spyi_vk_feature_structs;
    while (at - s->offset >= s->size) s++;
    return s;
}

SPYI_FN void spyi_vk_feature_chain(spyi_vk_feature_set *set, const spyi_vk_adapter *adapter) {
    VkBaseOutStructure *last = NULL;
    SPYI_VK_ZERO(*set);
    for (size_t i = 0; i < sizeof spyi_vk_feature_structs / sizeof *spyi_vk_feature_structs; i++) {
        const spyi_vk_feature_struct *s = &spyi_vk_feature_structs[i];
        VkBaseOutStructure *node = (VkBaseOutStructure *)(void *)((char *)set + s->offset);
        node->sType = s->type;
        if (adapter->api_version < s->version ||
            (s->extension < SPYI_VK_EXTENSION_COUNT && !adapter->extensions[s->extension]))
            continue;
        if (last != NULL) last->pNext = node;
        last = node;
    }
}

// >>capabilities

typedef enum spyi_vk_need {
    SPYI_VK_NEED_NOTHING,
    SPYI_VK_NEED_FEATURE,  // `value` or `other`, both spyi_vk_feature, must be enabled
    SPYI_VK_NEED_SUBGROUP, // `value` is a VkSubgroupFeatureFlagBits
    SPYI_VK_NEED_FLOAT     // `value` is an index into spyi_vk_adapter.float_controls
} spyi_vk_need;

typedef struct spyi_vk_capability {
    uint16_t number;
    uint8_t need; // a spyi_vk_need
    uint8_t value, other;
    const char *name;
} spyi_vk_capability;

#define SPYI_VK_CAP(number, name)                                                                            \
    { number, SPYI_VK_NEED_NOTHING, 0, 0, #name }
#define SPYI_VK_CAP_EITHER(number, name, feature, other)                                                     \
    { number, SPYI_VK_NEED_FEATURE, SPYI_VK_FEATURE_##feature, SPYI_VK_FEATURE_##other, #name }
#define SPYI_VK_CAP_FEATURE(number, name, feature) SPYI_VK_CAP_EITHER(number, name, feature, feature)
#define SPYI_VK_CAP_SUBGROUP(number, name, bit)                                                              \
    { number, SPYI_VK_NEED_SUBGROUP, VK_SUBGROUP_FEATURE_##bit##_BIT, 0, #name }
#define SPYI_VK_CAP_FLOAT(number, name, index)                                                               \
    { number, SPYI_VK_NEED_FLOAT, index, 0, #name }

// The capabilities that the library knows. A capability that is not listed is refused. Source: SPIR-V 1.6,
// "Capability", and the Vulkan specification's appendix "Capabilities".
static const spyi_vk_capability spyi_vk_capabilities[] = {
    SPYI_VK_CAP(0, Matrix),
    SPYI_VK_CAP(1, Shader),
    SPYI_VK_CAP_FEATURE(2, Geometry, geometryShader), // a fragment shader's SV_PrimitiveID needs this
    SPYI_VK_CAP_FEATURE(9, Float16, shaderFloat16),
    SPYI_VK_CAP_FEATURE(10, Float64, shaderFloat64),
    SPYI_VK_CAP_FEATURE(11, Int64, shaderInt64),
    SPYI_VK_CAP_EITHER(12, Int64Atomics, shaderBufferInt64Atomics, shaderSharedInt64Atomics),
    SPYI_VK_CAP_FEATURE(22, Int16, shaderInt16),
    SPYI_VK_CAP_FEATURE(25, ImageGatherExtended, shaderImageGatherExtended),
    SPYI_VK_CAP_FEATURE(29, SampledImageArrayDynamicIndexing, shaderSampledImageArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(30, StorageBufferArrayDynamicIndexing, shaderStorageBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(31, StorageImageArrayDynamicIndexing, shaderStorageImageArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(32, ClipDistance, shaderClipDistance),
    SPYI_VK_CAP_FEATURE(33, CullDistance, shaderCullDistance),
    SPYI_VK_CAP_FEATURE(34, ImageCubeArray, imageCubeArray),
    SPYI_VK_CAP_FEATURE(35, SampleRateShading, sampleRateShading),
    SPYI_VK_CAP_FEATURE(39, Int8, shaderInt8),
    SPYI_VK_CAP_FEATURE(42, MinLod, shaderResourceMinLod),
    SPYI_VK_CAP(43, Sampled1D),
    SPYI_VK_CAP(44, Image1D),
    SPYI_VK_CAP_FEATURE(45, SampledCubeArray, imageCubeArray),
    SPYI_VK_CAP(46, SampledBuffer),
    SPYI_VK_CAP(47, ImageBuffer),
    SPYI_VK_CAP_FEATURE(49, StorageImageExtendedFormats, shaderStorageImageExtendedFormats),
    SPYI_VK_CAP(50, ImageQuery),
    SPYI_VK_CAP(51, DerivativeControl),
    SPYI_VK_CAP_FEATURE(52, InterpolationFunction, sampleRateShading),
    SPYI_VK_CAP_FEATURE(55, StorageImageReadWithoutFormat, shaderStorageImageReadWithoutFormat),
    SPYI_VK_CAP_FEATURE(56, StorageImageWriteWithoutFormat, shaderStorageImageWriteWithoutFormat),
    SPYI_VK_CAP_SUBGROUP(61, GroupNonUniform, BASIC),
    SPYI_VK_CAP_SUBGROUP(62, GroupNonUniformVote, VOTE),
    SPYI_VK_CAP_SUBGROUP(63, GroupNonUniformArithmetic, ARITHMETIC),
    SPYI_VK_CAP_SUBGROUP(64, GroupNonUniformBallot, BALLOT),
    SPYI_VK_CAP_SUBGROUP(65, GroupNonUniformShuffle, SHUFFLE),
    SPYI_VK_CAP_SUBGROUP(66, GroupNonUniformShuffleRelative, SHUFFLE_RELATIVE),
    SPYI_VK_CAP_SUBGROUP(67, GroupNonUniformClustered, CLUSTERED),
    SPYI_VK_CAP_SUBGROUP(68, GroupNonUniformQuad, QUAD),
    SPYI_VK_CAP_FEATURE(69, ShaderLayer, shaderOutputLayer),
    SPYI_VK_CAP_FEATURE(70, ShaderViewportIndex, shaderOutputViewportIndex),
    SPYI_VK_CAP_FEATURE(4427, DrawParameters, shaderDrawParameters),
    SPYI_VK_CAP_FEATURE(4433, StorageBuffer16BitAccess, storageBuffer16BitAccess),
    SPYI_VK_CAP_FEATURE(4434, UniformAndStorageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess),
    SPYI_VK_CAP_FEATURE(4435, StoragePushConstant16, storagePushConstant16),
    SPYI_VK_CAP(4437, DeviceGroup),
    SPYI_VK_CAP_FEATURE(4441, VariablePointersStorageBuffer, variablePointersStorageBuffer),
    SPYI_VK_CAP_FEATURE(4442, VariablePointers, variablePointers),
    SPYI_VK_CAP_FEATURE(4448, StorageBuffer8BitAccess, storageBuffer8BitAccess),
    SPYI_VK_CAP_FEATURE(4449, UniformAndStorageBuffer8BitAccess, uniformAndStorageBuffer8BitAccess),
    SPYI_VK_CAP_FEATURE(4450, StoragePushConstant8, storagePushConstant8),
    SPYI_VK_CAP_FLOAT(4464, DenormPreserve, 0),
    SPYI_VK_CAP_FLOAT(4465, DenormFlushToZero, 1),
    SPYI_VK_CAP_FLOAT(4466, SignedZeroInfNanPreserve, 2),
    SPYI_VK_CAP_FLOAT(4467, RoundingModeRTE, 3),
    SPYI_VK_CAP_FLOAT(4468, RoundingModeRTZ, 4),
    SPYI_VK_CAP_EITHER(5055, ShaderClockKHR, shaderSubgroupClock, shaderDeviceClock),
    SPYI_VK_CAP_EITHER(5254, ShaderViewportIndexLayerEXT, shaderOutputLayer, shaderOutputViewportIndex),
    SPYI_VK_CAP_FEATURE(5284, FragmentBarycentricKHR, fragmentShaderBarycentric),
    SPYI_VK_CAP(5301, ShaderNonUniform),
    SPYI_VK_CAP_FEATURE(5304, UniformTexelBufferArrayDynamicIndexing,
                        shaderUniformTexelBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(5305, StorageTexelBufferArrayDynamicIndexing,
                        shaderStorageTexelBufferArrayDynamicIndexing),
    SPYI_VK_CAP_FEATURE(5302, RuntimeDescriptorArray, runtimeDescriptorArray),
    SPYI_VK_CAP_FEATURE(5307, SampledImageArrayNonUniformIndexing, shaderSampledImageArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5308, StorageBufferArrayNonUniformIndexing,
                        shaderStorageBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5309, StorageImageArrayNonUniformIndexing, shaderStorageImageArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5311, UniformTexelBufferArrayNonUniformIndexing,
                        shaderUniformTexelBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5312, StorageTexelBufferArrayNonUniformIndexing,
                        shaderStorageTexelBufferArrayNonUniformIndexing),
    SPYI_VK_CAP_FEATURE(5345, VulkanMemoryModel, vulkanMemoryModel),
    SPYI_VK_CAP_FEATURE(5346, VulkanMemoryModelDeviceScope, vulkanMemoryModelDeviceScope),
    SPYI_VK_CAP_FEATURE(5347, PhysicalStorageBufferAddresses, bufferDeviceAddress),
    SPYI_VK_CAP_FEATURE(5379, DemoteToHelperInvocation, shaderDemoteToHelperInvocation),
    SPYI_VK_CAP_EITHER(5612, AtomicFloat32MinMaxEXT, shaderBufferFloat32AtomicMinMax,
                       shaderSharedFloat32AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5613, AtomicFloat64MinMaxEXT, shaderBufferFloat64AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5616, AtomicFloat16MinMaxEXT, shaderBufferFloat16AtomicMinMax),
    SPYI_VK_CAP_FEATURE(5431, CooperativeMatrixConversionsNV, cooperativeMatrixConversions),
    SPYI_VK_CAP_FEATURE(6022, CooperativeMatrixKHR, cooperativeMatrix),
    SPYI_VK_CAP_FEATURE(6016, DotProductInputAll, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6017, DotProductInput4x8Bit, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6018, DotProductInput4x8BitPacked, shaderIntegerDotProduct),
    SPYI_VK_CAP_FEATURE(6019, DotProduct, shaderIntegerDotProduct),
    SPYI_VK_CAP_EITHER(6033, AtomicFloat32AddEXT, shaderBufferFloat32AtomicAdd, shaderSharedFloat32AtomicAdd),
    SPYI_VK_CAP_EITHER(6034, AtomicFloat64AddEXT, shaderBufferFloat64AtomicAdd, shaderSharedFloat64AtomicAdd),
    SPYI_VK_CAP_FEATURE(6095, AtomicFloat16AddEXT, shaderBufferFloat16AtomicAdd),
};

static spy_status spyi_vk_check_capability(const spyi_vk_adapter *adapter, uint32_t number,
                                           spyi_text *error) {
    size_t i, n = sizeof spyi_vk_capabilities / sizeof spyi_vk_capabilities[0];
    const spyi_vk_capability *c = NULL;
    bool there = true;
    for (i = 0; i < n && c == NULL; i++) {
        if (spyi_vk_capabilities[i].number == number) c = &spyi_vk_capabilities[i];
    }
    if (c == NULL) {
        spyi_text_add(error,
                      "the kernel needs the SPIR-V capability number %u, which the library does not know",
                      number);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (c->need == SPYI_VK_NEED_FEATURE) there = adapter->features[c->value] || adapter->features[c->other];
    if (c->need == SPYI_VK_NEED_SUBGROUP) there = (adapter->subgroup_operations & c->value) != 0;
    if (c->need == SPYI_VK_NEED_FLOAT) there = adapter->float_controls[c->value];
    if (there) return SPY_OK;
    if (c->need == SPYI_VK_NEED_FEATURE && (adapter->supported[c->value] || adapter->supported[c->other])) {
        uint32_t has = adapter->supported[c->value] ? c->value : c->other;
        spyi_text_add(error,
                      "the kernel needs %s; the device '%s' supports it, but it was not enabled: make the "
                      "VkDevice with "
                      "the feature %s and name it in spy_vk_desc.enabled_features",
                      c->name, adapter->info.name, spyi_vk_feature_entries[has].name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_text_add(error, "the kernel needs %s, which the device '%s' lacks", c->name, adapter->info.name);
    if (c->need == SPYI_VK_NEED_FEATURE)
        spyi_text_add(error, " (Vulkan feature %s)", spyi_vk_feature_entries[c->value].name);
    return SPY_ERROR_UNSUPPORTED;
}

// Returns whether the NUL-terminated text in SPIR-V words (little-endian, at most `count` words) is `name`.
static bool spyi_vk_words_equal(const uint32_t *words, size_t count, const char *name) {
    size_t i;
    for (i = 0; i < count * 4; i++) {
        char c = (char)((words[i / 4] >> (8 * (i % 4))) & 0xffu);
        if (c != name[i]) return false;
        if (c == '\0') return true;
    }
    return false;
}

// >>writes to memory

// These are numbers of the SPIR-V specification.
enum {
    SPYI_SPIRV_TYPE_POINTER = 32,
    SPYI_SPIRV_STORE = 62,
    SPYI_SPIRV_COPY_MEMORY = 63,
    SPYI_SPIRV_IMAGE_WRITE = 99,
    SPYI_SPIRV_FIRST_ATOMIC = 228, // is OpAtomicStore; the numbers before it are loads, which write nothing
    SPYI_SPIRV_LAST_ATOMIC = 242,  // is OpAtomicXor
    SPYI_SPIRV_ATOMIC_MIN_EXT = 5614,
    SPYI_SPIRV_ATOMIC_MAX_EXT = 5615,
    SPYI_SPIRV_ATOMIC_ADD_EXT = 6035,
    SPYI_SPIRV_UNIFORM = 2, // these are storage classes; UNIFORM is a buffer's with the old decoration
                            // BufferBlock
    SPYI_SPIRV_STORAGE_BUFFER = 12,
    SPYI_SPIRV_PHYSICAL = 5349
};

// Returns the type of a pointer that an instruction makes; 0 means that the instruction makes another id, or
// no pointer.
static uint32_t spyi_vk_pointer_type(const uint32_t *words, uint32_t id) {
    switch (words[0] & 0xffffu) {
    case 55:  // OpFunctionParameter
    case 57:  // OpFunctionCall
    case 59:  // OpVariable
    case 61:  // OpLoad
    case 65:  // OpAccessChain
    case 66:  // OpInBoundsAccessChain
    case 67:  // OpPtrAccessChain
    case 70:  // OpInBoundsPtrAccessChain
    case 81:  // OpCompositeExtract
    case 83:  // OpCopyObject
    case 120: // OpConvertUToPtr
    case 124: // OpBitcast
    case 169: // OpSelect
    case 245: // OpPhi
        return words[0] >> 16 > 2 && words[2] == id ? words[1] : 0;
    default: return 0;
    }
}

// Returns whether the pointer `id` points to a buffer, from the instruction that makes it and from its type.
static bool spyi_vk_points_to_buffer(const uint32_t *words, size_t count, uint32_t id) {
    uint32_t type = 0;
    for (size_t i = 5; i < count && type == 0; i += words[i] >> 16)
        type = spyi_vk_pointer_type(words + i, id);
    for (size_t i = 5; i < count; i += words[i] >> 16) {
        if ((words[i] & 0xffffu) != SPYI_SPIRV_TYPE_POINTER || words[i] >> 16 < 4 || words[i + 1] != type)
            continue;
        return words[i + 2] == SPYI_SPIRV_UNIFORM || words[i + 2] == SPYI_SPIRV_STORAGE_BUFFER ||
               words[i + 2] == SPYI_SPIRV_PHYSICAL;
    }
    return false;
}

static bool spyi_vk_writes_memory(const uint32_t *words, size_t count) {
    for (size_t i = 5; i < count; i += words[i] >> 16) {
        const uint32_t op = words[i] & 0xffffu;
        if (op == SPYI_SPIRV_IMAGE_WRITE || (op >= SPYI_SPIRV_FIRST_ATOMIC && op <= SPYI_SPIRV_LAST_ATOMIC) ||
            op == SPYI_SPIRV_ATOMIC_MIN_EXT || op == SPYI_SPIRV_ATOMIC_MAX_EXT ||
            op == SPYI_SPIRV_ATOMIC_ADD_EXT)
            return true;
        if ((op == SPYI_SPIRV_STORE || op == SPYI_SPIRV_COPY_MEMORY) && words[i] >> 16 > 1 &&
            spyi_vk_points_to_buffer(words, count, words[i + 1]))
            return true;
    }
    return false;
}

// Refuses a stage of a draw that writes to memory without the feature for it. `words` must be well formed.
static spy_status spyi_vk_check_writes(const spyi_vk_adapter *adapter, VkShaderStageFlagBits stage,
                                       const uint32_t *words, size_t count, spyi_text *error) {
    const bool vertex = stage == VK_SHADER_STAGE_VERTEX_BIT;
    const uint32_t feature =
        vertex ? SPYI_VK_FEATURE_vertexPipelineStoresAndAtomics : SPYI_VK_FEATURE_fragmentStoresAndAtomics;
    if (stage == VK_SHADER_STAGE_COMPUTE_BIT || adapter->features[feature]) return SPY_OK;
    if (!spyi_vk_writes_memory(words, count)) return SPY_OK;
    spyi_text_add(error, "the %s shader writes to memory, which the device '%s' %s (Vulkan feature %s)",
                  vertex ? "vertex" : "fragment", adapter->info.name,
                  adapter->supported[feature] ? "supports, but has not enabled" : "does not support",
                  spyi_vk_feature_name(feature));
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN spy_status spyi_vk_check_code(const spyi_vk_adapter *adapter, const spyi_kernel_desc *desc,
                                      VkShaderStageFlagBits stage, spyi_text *error) {
    // These are numbers of the SPIR-V specification: two instructions and the execution models.
    enum { ENTRY_POINT = 15, CAPABILITY = 17, VERTEX = 0, FRAGMENT = 4, GL_COMPUTE = 5 };
    const uint32_t model = stage == VK_SHADER_STAGE_VERTEX_BIT     ? VERTEX
                           : stage == VK_SHADER_STAGE_FRAGMENT_BIT ? FRAGMENT
                                                                   : GL_COMPUTE;
    const uint32_t *words = (const uint32_t *)desc->code;
    size_t i, size, count = desc->code_size / 4;
    bool entry = false;
    if (words == NULL || desc->code_size % 4 != 0 || count < 5 || words[0] != 0x07230203u) {
        spyi_text_add(error, "the code of kernel '%s' is not SPIR-V",
                      desc->label ? desc->label : desc->entry);
        return SPY_ERROR_COMPILE;
    }
    for (i = 5; i < count; i += size) {
        uint32_t op = words[i] & 0xffffu;
        size = words[i] >> 16;
        if (size == 0 || size > count - i || (op == CAPABILITY && size < 2) ||
            (op == ENTRY_POINT && size < 4)) {
            spyi_text_add(error, "the SPIR-V of kernel '%s' is damaged at word %zu",
                          desc->label ? desc->label : desc->entry, i);
            return SPY_ERROR_COMPILE;
        }
        if (op == CAPABILITY) {
            spy_status status = spyi_vk_check_capability(adapter, words[i + 1], error);
            if (status != SPY_OK) return status;
        }
        if (op == ENTRY_POINT && words[i + 1] == model) {
            entry = entry || spyi_vk_words_equal(words + i + 3, size - 3, desc->entry);
        }
    }
    if (entry) return spyi_vk_check_writes(adapter, stage, words, count, error);
    spyi_text_add(error, "the SPIR-V has no %s entry point '%s'",
                  model == VERTEX     ? "vertex"
                  : model == FRAGMENT ? "fragment"
                                      : "compute",
                  desc->entry);
    return SPY_ERROR_NOT_FOUND;
}
