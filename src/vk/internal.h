// The types of the Vulkan backend and the functions that its files share. instance.c finds an adapter,
// device.c makes the device, memory.c and kernel.c make its objects, record.c records work, raster.c and
// raster_work.c make pipelines and passes of draws, submit.c submits work and waits, transfer.c copies to and from
// host memory, engine.c records into an engine's command buffers.
#ifndef SPYI_VK_INTERNAL_H
#define SPYI_VK_INTERNAL_H

#include "api/vk.h"
#include "backend/target.h"
#include "backend/raster.h"
#include "vk/functions.h"

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_vk.h needs a 64-bit target: Vulkan's handles are pointers there"
#endif

// Sets a variable to zero, because C++ refuses `= { 0 }` where the first member is an enum.
#define SPYI_VK_ZERO(x) memset(&(x), 0, sizeof(x))

// A batch is the work of one submission, in one command buffer.
// The most batches in flight; a further one waits for the oldest. From SPYI_VK_BATCHES_SMALL on it also waits while those
// in flight hold SPYI_VK_BATCHES_BYTES of blocks and small uploads.
#define SPYI_VK_BATCHES 64u
#define SPYI_VK_BATCHES_SMALL 16u
#define SPYI_VK_BATCHES_BYTES ((size_t)128 << 20)
#define SPYI_VK_BATCH_WORK 512u // the number of recorded operations at which a batch is submitted
// The bytes of blocks and small uploads at which a batch is submitted.
#define SPYI_VK_BATCH_BYTES (8u << 20)
// A submission because the queue is idle (8-10 us each on an H200) is followed by a pause of SHARE times its
// duration, at least MIN_NS and at most MAX_NS long.
#define SPYI_VK_IDLE_SHARE 32u
#define SPYI_VK_IDLE_MIN_NS 40000u
#define SPYI_VK_IDLE_MAX_NS 300000u
#define SPYI_VK_POLL_NS 10000u // the time between two checks whether the queue is idle
// The time that a wait spins before it blocks, which takes 15 us instead of 23.
#define SPYI_VK_SPIN_NS 50000u
#define SPYI_VK_PAGE_SIZE ((size_t)256 << 10) // the bytes of a page, for parameter blocks and small uploads
#define SPYI_VK_PAGES_KEPT ((size_t)64 << 20) // the bytes of free pages that are kept for later batches
// Uploads up to this size go through a page, larger ones through staging.
#define SPYI_VK_SMALL_UPLOAD 65536u
#define SPYI_VK_STAGING_SIZE ((size_t)16 << 20) // the most bytes of a staging buffer
#define SPYI_VK_STAGING_COUNT 4u // half of the staging buffers are the GPU's, half the copy team's
#define SPYI_VK_MAX_BINDINGS 32u // every driver's maxPushDescriptors is at least 32
// After this number of blocks that differed from the one before, the blocks of the bound kernel are not compared.
#define SPYI_VK_MOST_CHANGES 8u
#define SPYI_VK_MAX_PUSHED 256u // blocks up to this size are compared with the last one
#define SPYI_VK_RECENT 8u       // the number of kernels of a batch that are named when the device is lost
#define SPYI_VK_LABELS 8u       // the number of open debug labels that are shown; deeper ones are left out
#define SPYI_VK_WRITTEN 32u // the number of targets after which a pass waits for earlier passes in any case
#define SPYI_VK_SEMAPHORES 16u // the most semaphores of an engine in one submission

// >>features
// The list of required features, as X(struct, member), where the struct is a member of spyi_vk_feature_set.
// There is no other list.
#define SPYI_VK_REQUIRED_FEATURES(X)                                                                         \
    X(core.features, shaderInt64)                                                                            \
    X(v12, timelineSemaphore)                                                                                \
    X(v12, bufferDeviceAddress)                                                                              \
    X(v12, scalarBlockLayout)

#define SPYI_VK_OPTIONAL_FEATURES(X)                                                                         \
    X(core.features, shaderInt16)                                                                            \
    X(core.features, shaderFloat64)                                                                          \
    X(core.features, vertexPipelineStoresAndAtomics)                                                         \
    X(core.features, fragmentStoresAndAtomics)                                                               \
    X(core.features, shaderStorageImageExtendedFormats)                                                      \
    X(core.features, shaderStorageImageReadWithoutFormat)                                                    \
    X(core.features, shaderStorageImageWriteWithoutFormat)                                                   \
    X(core.features, shaderSampledImageArrayDynamicIndexing)                                                 \
    X(core.features, shaderStorageImageArrayDynamicIndexing)                                                 \
    X(core.features, shaderImageGatherExtended)                                                              \
    X(core.features, shaderResourceMinLod)                                                                   \
    X(core.features, imageCubeArray)                                                                         \
    X(core.features, samplerAnisotropy)                                                                      \
    X(core.features, textureCompressionBC)                                                                   \
    X(core.features, textureCompressionASTC_LDR)                                                             \
    X(core.features, shaderStorageBufferArrayDynamicIndexing)                                                \
    X(core.features, independentBlend)                                                                       \
    X(core.features, geometryShader)                                                                         \
    X(core.features, sampleRateShading)                                                                      \
    X(core.features, dualSrcBlend)                                                                           \
    X(core.features, multiDrawIndirect)                                                                      \
    X(core.features, drawIndirectFirstInstance)                                                              \
    X(core.features, depthClamp)                                                                             \
    X(core.features, depthBiasClamp)                                                                         \
    X(core.features, fillModeNonSolid)                                                                       \
    X(core.features, fullDrawIndexUint32)                                                                    \
    X(core.features, shaderClipDistance)                                                                     \
    X(core.features, shaderCullDistance)                                                                     \
    X(v11, storageBuffer16BitAccess)                                                                         \
    X(v11, uniformAndStorageBuffer16BitAccess)                                                               \
    X(v11, storagePushConstant16)                                                                            \
    X(v11, variablePointersStorageBuffer)                                                                    \
    X(v11, variablePointers)                                                                                 \
    X(v11, shaderDrawParameters)                                                                             \
    X(v12, storageBuffer8BitAccess)                                                                          \
    X(v12, uniformAndStorageBuffer8BitAccess)                                                                \
    X(v12, storagePushConstant8)                                                                             \
    X(v12, shaderFloat16)                                                                                    \
    X(v12, shaderInt8)                                                                                       \
    X(v12, shaderBufferInt64Atomics)                                                                         \
    X(v12, shaderSharedInt64Atomics)                                                                         \
    X(v12, samplerMirrorClampToEdge)                                                                         \
    X(v12, samplerFilterMinmax)                                                                              \
    X(v12, shaderSubgroupExtendedTypes)                                                                      \
    X(v12, shaderOutputLayer)                                                                                \
    X(v12, shaderOutputViewportIndex)                                                                        \
    X(v12, vulkanMemoryModel)                                                                                \
    X(v12, vulkanMemoryModelDeviceScope)                                                                     \
    X(v12, shaderUniformTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageBufferArrayNonUniformIndexing)                                                       \
    X(v12, shaderUniformTexelBufferArrayNonUniformIndexing)                                                  \
    X(v12, shaderStorageTexelBufferArrayNonUniformIndexing)                                                  \
    X(v12, shaderSampledImageArrayNonUniformIndexing)                                                        \
    X(v12, shaderStorageImageArrayNonUniformIndexing)                                                        \
    X(v12, descriptorBindingSampledImageUpdateAfterBind)                                                     \
    X(v12, descriptorBindingStorageImageUpdateAfterBind)                                                     \
    X(v12, descriptorBindingStorageBufferUpdateAfterBind)                                                    \
    X(v12, descriptorBindingUpdateUnusedWhilePending)                                                        \
    X(v12, descriptorBindingPartiallyBound)                                                                  \
    X(v12, runtimeDescriptorArray)                                                                           \
    X(v13, subgroupSizeControl)                                                                              \
    X(v13, computeFullSubgroups)                                                                             \
    X(v13, maintenance4)                                                                                     \
    X(v13, shaderIntegerDotProduct)                                                                          \
    X(v13, shaderDemoteToHelperInvocation)                                                                   \
    X(v13, dynamicRendering)                                                                                 \
    X(atomic_float, shaderBufferFloat32Atomics)                                                              \
    X(atomic_float, shaderBufferFloat32AtomicAdd)                                                            \
    X(atomic_float, shaderBufferFloat64Atomics)                                                              \
    X(atomic_float, shaderBufferFloat64AtomicAdd)                                                            \
    X(atomic_float, shaderSharedFloat32Atomics)                                                              \
    X(atomic_float, shaderSharedFloat32AtomicAdd)                                                            \
    X(atomic_float, shaderSharedFloat64Atomics)                                                              \
    X(atomic_float, shaderSharedFloat64AtomicAdd)                                                            \
    X(atomic_float2, shaderBufferFloat16Atomics)                                                             \
    X(atomic_float2, shaderBufferFloat16AtomicAdd)                                                           \
    X(atomic_float2, shaderBufferFloat16AtomicMinMax)                                                        \
    X(atomic_float2, shaderBufferFloat32AtomicMinMax)                                                        \
    X(atomic_float2, shaderBufferFloat64AtomicMinMax)                                                        \
    X(atomic_float2, shaderSharedFloat32AtomicMinMax)                                                        \
    X(clock, shaderSubgroupClock)                                                                            \
    X(clock, shaderDeviceClock)                                                                              \
    X(barycentric, fragmentShaderBarycentric)                                                                \
    X(divisor, vertexAttributeInstanceRateDivisor)                                                           \
    X(matrices, cooperativeMatrix)                                                                           \
    X(matrices2, cooperativeMatrixConversions)

#define SPYI_VK_OPTIONAL_EXTENSIONS(X)                                                                       \
    X(VK_KHR_push_descriptor)                                                                                \
    X(VK_EXT_shader_atomic_float)                                                                            \
    X(VK_EXT_shader_atomic_float2)                                                                           \
    X(VK_KHR_shader_clock)                                                                                   \
    X(VK_KHR_fragment_shader_barycentric)                                                                    \
    X(VK_EXT_vertex_attribute_divisor)                                                                       \
    X(VK_KHR_external_memory_fd)                                                                             \
    X(VK_KHR_external_semaphore_fd)                                                                          \
    X(VK_KHR_cooperative_matrix)                                                                             \
    X(VK_NV_cooperative_matrix2)

typedef enum spyi_vk_feature {
#define SPYI_VK_FEATURE_ENUM(where, name) SPYI_VK_FEATURE_##name,
    SPYI_VK_REQUIRED_FEATURES(SPYI_VK_FEATURE_ENUM) SPYI_VK_FEATURE_REQUIRED, // the number of required
                                                                              // features
    SPYI_VK_FEATURE_BEFORE_OPTIONAL = SPYI_VK_FEATURE_REQUIRED - 1,
    SPYI_VK_OPTIONAL_FEATURES(SPYI_VK_FEATURE_ENUM)
#undef SPYI_VK_FEATURE_ENUM
        SPYI_VK_FEATURE_COUNT
} spyi_vk_feature;

typedef char spyi_vk_features_fit[SPYI_VK_FEATURE_COUNT <= SPY_VK_MAX_FEATURES ? 1 : -1];

// The names are macros of vulkan_core.h with the value 1: use them with # and ## only.
typedef enum spyi_vk_extension {
#define SPYI_VK_EXTENSION_ENUM(name) SPYI_##name,
    SPYI_VK_OPTIONAL_EXTENSIONS(SPYI_VK_EXTENSION_ENUM)
#undef SPYI_VK_EXTENSION_ENUM
        SPYI_VK_EXTENSION_COUNT
} spyi_vk_extension;

// VK_KHR_cooperative_matrix, for headers that are older than 1.3.255. Source: the Vulkan specification.
#define SPYI_VK_FEATURES_MATRIX ((VkStructureType)1000506000)
#define SPYI_VK_PROPERTIES_MATRIX ((VkStructureType)1000506001)
enum { SPYI_VK_MATRIX_FLOAT16 = 0, SPYI_VK_MATRIX_FLOAT32 = 1, SPYI_VK_MATRIX_SUBGROUP = 3 };

typedef struct spyi_vk_matrix_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix;
    VkBool32 cooperativeMatrixRobustBufferAccess;
} spyi_vk_matrix_features;

// VK_NV_cooperative_matrix2, likewise.
#define SPYI_VK_FEATURES_MATRIX_2 ((VkStructureType)1000593000)

typedef struct spyi_vk_matrix_2_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrixWorkgroupScope;
    VkBool32 cooperativeMatrixFlexibleDimensions;
    VkBool32 cooperativeMatrixReductions;
    VkBool32 cooperativeMatrixConversions;
    VkBool32 cooperativeMatrixPerElementOperations;
    VkBool32 cooperativeMatrixTensorAddressing;
    VkBool32 cooperativeMatrixBlockLoads;
} spyi_vk_matrix_2_features;

// A VkCooperativeMatrixPropertiesKHR. The types are VkComponentTypeKHR, the scope is a VkScopeKHR.
typedef struct spyi_vk_matrix_properties {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int32_t a, b, c, result;
    VkBool32 saturating;
    int32_t scope;
} spyi_vk_matrix_properties;

typedef VkResult(VKAPI_PTR *spyi_vk_get_matrix_properties)(VkPhysicalDevice adapter, uint32_t *count,
                                                           spyi_vk_matrix_properties *properties);

// A chain of feature structs for vkGetPhysicalDeviceFeatures2 and vkCreateDevice.
typedef struct spyi_vk_feature_set {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT atomic_float2;
    VkPhysicalDeviceShaderClockFeaturesKHR clock;
    VkPhysicalDeviceFragmentShaderBarycentricFeaturesNV barycentric; // the same struct as the newer ...KHR
    VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
    spyi_vk_matrix_features matrices;
    spyi_vk_matrix_2_features matrices2;
} spyi_vk_feature_set;

// One struct of a spyi_vk_feature_set, which an engine's chain may also contain.
typedef struct spyi_vk_feature_struct {
    VkStructureType type;
    const char *name;
    size_t offset, size; // both count bytes; the offset is in a spyi_vk_feature_set
    uint32_t version;    // the api_version that knows the struct
    uint32_t extension;  // the spyi_vk_extension that it belongs to; SPYI_VK_EXTENSION_COUNT means none
} spyi_vk_feature_struct;

// >>instance
typedef struct spyi_vk_instance {
    spyi_context *ctx;
    void *library; // the library of the loader; NULL means that the engine gave get_proc
    PFN_vkGetInstanceProcAddr get_proc;
    VkInstance handle;
    bool owned;           // the library made the instance
    uint32_t api_version; // the apiVersion with which the instance was made
#define SPYI_VK_INSTANCE_MEMBER(name) PFN_vk##name name;
    SPYI_VK_INSTANCE_FUNCTIONS(SPYI_VK_INSTANCE_MEMBER)
#undef SPYI_VK_INSTANCE_MEMBER
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    PFN_vkSetDebugUtilsObjectNameEXT set_name; // this function and the label functions are NULL without
                                               // VK_EXT_debug_utils
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    PFN_vkCmdInsertDebugUtilsLabelEXT insert_label;
    VkDebugUtilsMessengerEXT messenger;
    spyi_mutex message_lock;
    char message[512]; // the driver's last error or warning, for errors of results without a text
} spyi_vk_instance;

typedef struct spyi_vk_adapter {
    VkPhysicalDevice handle;
    uint32_t index;       // a number from 1 on, in the order of vkEnumeratePhysicalDevices
    uint32_t api_version; // the lower one of the device's and the instance's version
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t max_allocation; // the most bytes of an allocation
    uint32_t max_push_descriptors;
    uint32_t subgroup_operations; // the VkSubgroupFeatureFlags that compute kernels may use
    uint32_t queue_family;
    uint32_t lane_family;                  // the family of the queue for downloads, which may be queue_family
    uint32_t graphics_families;            // bit n says that queue family n can draw
    uint32_t timestamp_bits;               // 0 means that there are no timestamps
    bool features[SPYI_VK_FEATURE_COUNT];  // features that kernels may use, which the device has enabled
    bool supported[SPYI_VK_FEATURE_COUNT]; // features that the adapter has
    bool extensions[SPYI_VK_EXTENSION_COUNT];
    uint32_t handle_counts[SPYI_HANDLE_KINDS]; // the number of elements in the table of handles
    bool matrices; // cooperative matrices as SPY_FEATURE_COOPERATIVE_MATRIX says, if the feature is enabled
    bool float_controls[5]; // for 32-bit floats: keep denorms, flush them, signed zero inf nan, round to
                            // even, round to zero
    spy_device_info info;
    char refusal[256]; // the reason why the adapter cannot be used; "" means that it can
} spyi_vk_adapter;

// >>the device

// The memory of parameter blocks, uniform buffers and small uploads of one batch or recording.
typedef struct spyi_vk_page {
    struct spyi_vk_page *next;
    spyi_chunk chunk;    // is mapped
    size_t used;         // the number of bytes in use
    VkBufferView *views; // views that the same work uses, destroyed when it has ended
    uint32_t view_count, view_capacity;
} spyi_vk_page;

// An element that was given back, and the batch after which no work uses it.
typedef struct spyi_vk_free_handle {
    uint32_t number;
    uint64_t submit;
} spyi_vk_free_handle;

// The table of handles (handles.c), made when it is first needed.
typedef struct spyi_vk_handles {
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;              // VK_NULL_HANDLE means that the table has not been made
    uint32_t used[SPYI_HANDLE_KINDS]; // elements from this number on have never been taken
    spyi_vk_free_handle *free[SPYI_HANDLE_KINDS];
    uint32_t free_count[SPYI_HANDLE_KINDS], free_capacity[SPYI_HANDLE_KINDS];
} spyi_vk_handles;

// One slot: a command buffer, with the memory that must live until it has been executed. A batch uses the slot that was
// used last of those whose work has ended, because its memory is in the processor's caches; a new slot is made only
// when all are in flight.
typedef struct spyi_vk_batch {
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t number; // the number of the last batch that was recorded here; 0 means none
    size_t bytes;    // the bytes that this batch uses in pages, as soon as it has been submitted
    spyi_vk_page *pages;
    spyi_kernel *recent[SPYI_VK_RECENT]; // a ring of the batch's last kernels
    uint32_t recent_count;               // counts all kernels of the batch
} spyi_vk_batch;

// A buffer for large transfers.
typedef struct spyi_vk_staging {
    spyi_chunk chunk;   // size 0 means not allocated yet
    size_t used;        // the bytes in use, for uploads only
    uint64_t number;    // the number of the last batch (uploads) or lane submission (downloads) that uses the
                        // buffer
    VkCommandPool pool; // for downloads only
    VkCommandBuffer commands;
} spyi_vk_staging;

typedef struct spyi_vk_semaphores {
    uint32_t count;
    VkSemaphore handles[SPYI_VK_SEMAPHORES + 1]; // there is one more for the library's timeline
    uint64_t values[SPYI_VK_SEMAPHORES + 1];
} spyi_vk_semaphores;

// Neighbouring bindings of a kernel that one VkWriteDescriptorSet fills: structured buffers, or one array, or
// one typed buffer, texture or sampler.
typedef struct spyi_vk_run {
    uint32_t first, count;
    VkDescriptorType type;
    bool images;     // the bindings are textures or samplers
    VkFormat format; // the format of a typed buffer's elements; VK_FORMAT_UNDEFINED means that the buffers
                     // are not typed
} spyi_vk_run;

// The inputs of a pipeline layout. Unused parameters are zero, so that equal shapes have equal bytes.
typedef struct spyi_vk_shape {
    VkShaderStageFlags stages; // the stages that have the inputs: compute, or vertex and fragment
    uint32_t push_size; // the bytes of push constants, a multiple of 4: those of the block, or 8 for the
                        // block's address
    uint32_t handles;   // 1 if set SPYI_HANDLE_SET is the table of handles, otherwise 0
    uint32_t count;
    spyi_parameter parameters[SPYI_VK_MAX_BINDINGS]; // the parameters with bindings, and the uniform buffers
} spyi_vk_shape;

// A pipeline layout, which all kernels of equal shape share.
typedef struct spyi_vk_layout {
    struct spyi_vk_layout *next;
    spyi_vk_shape shape;
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
} spyi_vk_layout;

typedef struct spyi_vk_kernel {
    spyi_kernel_base base; // must come first
    size_t size;           // the bytes of the object, which is a spyi_vk_kernel or spyi_vk_raster
    VkPipeline pipeline;
    VkPipelineLayout layout;
    VkPipelineBindPoint bind_point;
    VkShaderStageFlags stages; // the stages that use the layout's inputs
    uint32_t push_size;        // the bytes of push constants
    uint32_t run_count;
    spyi_vk_run runs[SPYI_VK_MAX_BINDINGS];
    bool block_by_address; // the block lies in a page, and its address is pushed
    char label[64];        // the label for messages; a longer one is cut off
} spyi_vk_kernel;

// A pipeline of vertex and fragment shaders.
typedef struct spyi_vk_raster {
    spyi_vk_kernel kernel;                                   // must come first
    uint8_t target_formats[SPYI_MOST_TARGETS], depth_format; // each is a spy_format; NONE means that there is
                                                             // no such target
    uint8_t target_count, samples;
    bool blend_color, stencil_reference; // draws set these; otherwise the pipeline has no use for them
} spyi_vk_raster;

// The targets of a pass, and the state of the pass that is open.
typedef struct spyi_vk_pass {
    // The command buffer; NULL means that no pass is open. While one is open, spyi_vk_gpu.commands is NULL, so that
    // all other work takes the way through spyi_vk_begin(), which ends the pass.
    VkCommandBuffer commands;
    uint64_t views[SPYI_MOST_TARGETS], resolves[SPYI_MOST_TARGETS], depth;
    uint32_t target_count, width, height, layers;
    // The state that draws have set in the command buffer, where it stays from pass to pass. `bound` NULL
    // means that nothing is set. The blend colour and the stencil reference are those of `bound`.
    const spyi_vk_raster *bound;
    float viewport[6];
    int32_t scissor[4];
    float blend_color[4];
    uint32_t stencil_reference;
    spyi_draw_buffer buffers[SPYI_MOST_ATTRIBUTES]; // vertex buffers, of the last draw that had some
    spyi_draw_buffer indices;
    uint32_t buffer_count;
    bool short_indices;
    spyi_binding bindings[SPYI_VK_MAX_BINDINGS]; // the bindings that were pushed for `bound`
    bool pushed;                                 // `bindings` may be compared with those of a draw
} spyi_vk_pass;

// Passes of devices without dynamic rendering, and their targets (render_pass.c).
typedef struct spyi_vk_render_pass spyi_vk_render_pass;
typedef struct spyi_vk_framebuffer spyi_vk_framebuffer;

// One recording: the work between a spy_vk_begin_recording() and its end, in an engine's command buffer, with
// the memory that must live until the engine has reported it as executed. Its work has the batch numbers
// first to last, which no other work has.
typedef struct spyi_vk_recording {
    struct spyi_vk_recording *next; // the recording that was begun after it
    uint64_t serial;                // a number that counts from 1 and is part of the recording's id
    uint64_t first, last;           // last is 0 until the recording has ended
    bool used;                      // something was recorded into it
    spyi_vk_page *pages;
} spyi_vk_recording;

typedef struct spyi_vk_gpu {
    spyi_gpu_base base; // must come first
    spyi_vk_functions vk;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family, lane_family;
    bool owned; // the library made the device
    bool lost;

    // These members are for recording. base.open is the number of the open batch, which is being recorded.
    // Lower numbers are batches that were submitted, and recordings of an engine. The timeline semaphore
    // counts batches: it never gets a recording's number.
    VkCommandBuffer commands; // the command buffer to record into; NULL means that none has begun, or a pass
                              // is open
    spyi_vk_pass pass;        // the open pass of draws
    bool draws;               // something was drawn, so barriers wait for the stages of draws, too
    // Images that passes of batches have drawn into since the last barrier for targets.
    uint64_t written[SPYI_VK_WRITTEN];
    uint32_t written_count;
    bool own_draws;         // something was drawn in a batch, after which the queue's earlier work is ordered
                            // before draws
    bool dynamic_rendering; // the device has dynamic rendering; otherwise spyi_vk_render_pass is used
    spyi_vk_kernel *bound;  // the kernel whose pipeline is bound in `commands`
    // The push constants of `bound` in `commands`, of which there are pushed_size bytes; 0: not known.
    uint32_t pushed_size,
        pushed_changes; // pushed_changes: how often they have changed since the pipeline was bound
    uint8_t pushed[SPYI_VK_MAX_PUSHED];
    // `transferred`: transfers (copies, fills, clears) were recorded since the last barrier that waits for transfers.
    // `transfers_wait`: the last barrier was for kernels alone, so that the next transfer needs a barrier first.
    bool transferred, transfers_wait;
    uint64_t submitted;    // the number of the last batch that was submitted
    uint64_t finished;     // batches up to this number had finished at the last look
    uint32_t work;         // the number of operations in the open batch
    size_t work_bytes;     // the bytes that the open batch uses in pages
    uint64_t next_poll_ns; // before this time the queue is not checked for being idle
    spyi_vk_batch *batch;  // the slot of the open batch; NULL means that it has not begun
    VkSemaphore timeline;
    spyi_vk_page *free_pages;
    size_t free_page_bytes;
    uint32_t batch_count; // the number of slots that have been made
    spyi_vk_batch batches[SPYI_VK_BATCHES];

    // These members are for recordings into an engine's command buffers.
    VkCommandBuffer external; // the engine's command buffer of the open recording; NULL means that none is
                              // open
    bool external_used;       // work with the number base.open was recorded into `external`
    spyi_vk_recording *first_recording; // recordings not reported as executed, oldest first
    spyi_vk_recording *last_recording;
    spyi_vk_recording *free_recordings; // a list of unused objects
    uint64_t recording_serial;          // the serial of the last recording that was begun
    uint64_t recording_tag;             // the upper bits of the ids of this device's recordings
    spyi_vk_semaphores waits, signals;  // the semaphores of an engine for the next submission
    void (*lock_queue)(void *user_data);
    void (*unlock_queue)(void *user_data);
    void *lock_user_data;
    spyi_mutex share_lock;                              // guards the queue from spy_vk_share_device() on
    bool shares;                                        // share_lock is in use
    const char *shared_features[SPYI_VK_FEATURE_COUNT]; // the optional features that are on

    // These members are for transfers: uploads go through the main queue in order, downloads through a queue
    // of their own, the lane.
    spyi_vk_staging upload[SPYI_VK_STAGING_COUNT];
    uint32_t upload_next;
    spyi_vk_staging download[SPYI_VK_STAGING_COUNT];
    uint64_t download_left; // the batch that still writes to download[0] after an interrupted wait; 0 means
                            // that there is none
    VkQueue lane_queue;     // may be the same as `queue`
    VkSemaphore lane;       // the timeline of the lane
    uint64_t lane_number;   // the number of the last submission to the lane

    VkQueryPool queries;  // two timestamps, which are made when first used
    uint64_t time_number; // the number of the batch of the last time_end; 0 means that there is none
    bool timing;          // true between time_begin and time_end
    VkQueryPool marks;    // SPYI_TIME_SLOTS timestamps, which are made when first used
    uint32_t label_depth; // the number of open labels
    char labels[SPYI_VK_LABELS][64]; // the names of the outermost open labels; longer names are cut off

    uint32_t memory_type[4]; // the index of the VkMemoryType of each spyi_vk_memory
    VkPipelineCache pipeline_cache;
    size_t pipeline_bytes;  // the size of the pipeline cache's data when it was made or last kept
    spyi_mutex layout_lock; // guards the layouts and render passes
    spyi_vk_layout *layouts;
    spyi_vk_render_pass *render_passes;
    spyi_vk_framebuffer *framebuffers;
    spyi_vk_handles handles;

    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
} spyi_vk_gpu;

// Kinds of memory: the two of the backend's table, and two of this backend.
typedef enum spyi_vk_memory {
    SPYI_VK_MEMORY_DEVICE = SPYI_MEMORY_DEVICE,
    SPYI_VK_MEMORY_READBACK = SPYI_MEMORY_READBACK,
    SPYI_VK_MEMORY_STAGING, // host memory that the host writes and the GPU copies
    SPYI_VK_MEMORY_PAGE     // memory that the host writes and kernels read, which is mapped device memory if
                            // possible
} spyi_vk_memory;

// >>features.c
SPYI_FN size_t spyi_vk_feature_offset(uint32_t feature); // the byte offset of the feature's VkBool32 in
                                                         // spyi_vk_feature_set
SPYI_FN const char *spyi_vk_feature_name(uint32_t feature);
SPYI_FN const char *spyi_vk_extension_name(uint32_t extension);
SPYI_FN const spyi_vk_feature_struct *spyi_vk_feature_struct_of(uint32_t feature);
// Fills in the sType and pNext members for an adapter whose extensions and api_version are known.
SPYI_FN void spyi_vk_feature_chain(spyi_vk_feature_set *set, const spyi_vk_adapter *adapter);
// Checks that the SPIR-V is well formed, has the entry point of this stage, and needs only features that are enabled
// in `adapter`.
SPYI_FN spy_status spyi_vk_check_code(const spyi_vk_adapter *adapter, const spyi_kernel_desc *desc,
                                      VkShaderStageFlagBits stage, spyi_text *error);

// >>instance.c
SPYI_FN spy_status spyi_vk_instance_init(spyi_vk_instance *instance, spyi_context *ctx,
                                         const spy_vk_desc *engine, bool enable_validation, spyi_text *error);
SPYI_FN void spyi_vk_instance_destroy(spyi_vk_instance *instance);
SPYI_FN spy_status spyi_vk_choose_adapter(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                          spyi_vk_adapter *adapter, spyi_text *error);
SPYI_FN void spyi_vk_query_adapter(const spyi_vk_instance *instance, VkPhysicalDevice device, uint32_t index,
                                   spyi_vk_adapter *adapter);
// Sets adapter->matrices: whether the driver lists the sizes and types of SPY_FEATURE_COOPERATIVE_MATRIX.
SPYI_FN void spyi_vk_query_matrices(const spyi_vk_instance *instance, spyi_vk_adapter *adapter);
// Fills adapter->info, which the user sees, from the adapter's features and limits.
SPYI_FN void spyi_vk_fill_info(spyi_vk_adapter *adapter);
SPYI_FN size_t spyi_vk_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);

// >>device.c
SPYI_FN spy_status spyi_vk_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                  spyi_text *error);
SPYI_FN void spyi_vk_destroy(spyi_gpu *gpu);
SPYI_FN const char *spyi_vk_result_name(VkResult result);
// Appends "`what` failed: VK_..." to the error and returns the status for this result.
SPYI_FN spy_status spyi_vk_fail(spyi_vk_gpu *gpu, VkResult result, const char *what, spyi_text *error);
// Returns whether the device is lost, and then adds that to the error.
SPYI_FN bool spyi_vk_is_lost(const spyi_vk_gpu *gpu, spyi_text *error);
// Adds to the error that the batch is dropped, with the names of its last kernels.
SPYI_FN void spyi_vk_describe_dropped(const spyi_vk_batch *batch, spyi_text *error);
SPYI_FN void spyi_vk_set_name(spyi_vk_gpu *gpu, VkObjectType type, uint64_t handle, const char *name);

// >>memory.c
SPYI_FN bool spyi_vk_choose_memory(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN VkResult spyi_vk_try_allocate(spyi_vk_gpu *gpu, uint32_t type, size_t size, bool exported,
                                      spyi_chunk *chunk, const char **what);
SPYI_FN spy_status spyi_vk_allocate(spyi_vk_gpu *gpu, spyi_vk_memory kind, size_t size, const char *label,
                                    spyi_chunk *chunk, spyi_text *error);
SPYI_FN spy_status spyi_vk_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                          spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_vk_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
// Finds `size` bytes in a page; they live until the batch, or the engine's recording, has been executed.
SPYI_FN spy_status spyi_vk_take_bytes(spyi_vk_gpu *gpu, size_t size, size_t alignment, spyi_vk_page **page,
                                      size_t *offset, spyi_text *error);
// Makes the view of a typed buffer for one dispatch.
SPYI_FN spy_status spyi_vk_make_view(spyi_vk_gpu *gpu, const spyi_binding *binding, VkFormat format,
                                     VkBufferView *view, spyi_text *error);
// Moves pages whose work has been executed to the free pages.
SPYI_FN void spyi_vk_return_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);
SPYI_FN void spyi_vk_free_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);

// >>kernel.c
// Returns the format of a typed buffer's elements, or VK_FORMAT_UNDEFINED if there is none.
SPYI_FN VkFormat spyi_vk_texel_format(uint32_t scalar, uint32_t columns);
SPYI_FN spy_status spyi_vk_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                spyi_text *error);
SPYI_FN void spyi_vk_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN void spyi_vk_destroy_layouts(spyi_vk_gpu *gpu);
// Checks that the device takes this number of parameters, bindings, textures and samplers.
SPYI_FN spy_status spyi_vk_check_interface(const spyi_vk_gpu *gpu, const spyi_interface *iface,
                                           spyi_text *error);
// Makes an object of `size` bytes, which begins with a spyi_vk_kernel, with the layout of its inputs but no pipeline.
SPYI_FN spy_status spyi_vk_new_kernel(spyi_vk_gpu *gpu, const spyi_interface *iface, const char *label,
                                      VkShaderStageFlags stages, size_t size, spyi_vk_kernel **kernel,
                                      spyi_text *error);
SPYI_FN VkResult spyi_vk_make_module(spyi_vk_gpu *gpu, const void *code, size_t size, VkShaderModule *module);
// Ends the making of a kernel, for which the function `what` gave this result. After an error frees the
// kernel.
SPYI_FN spy_status spyi_vk_end_kernel(spyi_vk_gpu *gpu, spyi_vk_kernel *kernel, const char *label,
                                      VkResult result, const char *what, spyi_kernel **out, spyi_text *error);

// >>handles.c
SPYI_FN bool spyi_vk_has_handles(const spyi_vk_adapter *adapter);
SPYI_FN void spyi_vk_query_handles(const VkPhysicalDeviceVulkan12Properties *v12, spyi_vk_adapter *adapter);
SPYI_FN VkResult spyi_vk_need_handles(spyi_vk_gpu *gpu, const char **what);
SPYI_FN void spyi_vk_destroy_handles(spyi_vk_gpu *gpu);
SPYI_FN spy_status spyi_vk_add_handle(spyi_gpu *gpu, const spyi_binding *binding, uint64_t *handle,
                                      spyi_text *error);
SPYI_FN void spyi_vk_remove_handle(spyi_gpu *gpu, spyi_binding_kind kind, uint64_t handle);

// >>raster.c
SPYI_FN spy_status spyi_vk_load_raster(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel,
                                       spyi_text *error);

// >>render_pass.c
SPYI_FN VkAttachmentLoadOp spyi_vk_load_op(bool clear, bool ignore); // from members of spyi_draw_target
// Finds or makes a pass into targets with the formats of the raster: with the loads of a draw, or for a pipeline
// (draw NULL).
SPYI_FN VkResult spyi_vk_find_render_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster,
                                          const spyi_draw_work *draw, VkRenderPass *pass);
SPYI_FN spy_status spyi_vk_begin_render_pass(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                             const spyi_vk_raster *raster, const spyi_draw_work *draw,
                                             spyi_text *error);
SPYI_FN void spyi_vk_forget_view(spyi_vk_gpu *gpu,
                                 VkImageView view); // destroys the framebuffers that have the view
SPYI_FN void spyi_vk_destroy_render_passes(spyi_vk_gpu *gpu);

// >>raster_work.c
SPYI_FN spy_status spyi_vk_draw(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_vk_end_pass(spyi_vk_gpu *gpu); // does nothing where no pass is open

// >>record.c
SPYI_FN spy_status spyi_vk_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy_buffer(spyi_vk_gpu *gpu, uint64_t to, uint64_t to_offset, uint64_t from,
                                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error);
// Must be called after each recorded operation; submits the batch when it is full. With `urgent` somebody may
// wait for the result, so that an idle queue gets the batch at once.
SPYI_FN spy_status spyi_vk_recorded(spyi_vk_gpu *gpu, bool urgent, spyi_text *error);
// Records a barrier: all work recorded earlier is finished and visible to later work. With `counts` its
// writes are also visible to the reading of indirect group counts.
SPYI_FN void spyi_vk_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands, bool counts);
// Records the barrier before a transfer, into gpu->commands: the one that the tracker asks for (`barrier`), or one
// that makes up for earlier barriers for kernels alone.
SPYI_FN void spyi_vk_before_transfer(spyi_vk_gpu *gpu, bool barrier);
// Records the barrier and the transitions of images that must come before work.
SPYI_FN void spyi_vk_before(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_before *before,
                            bool counts);
// Gives the layouts back after a failure, and returns `status`.
SPYI_FN spy_status spyi_vk_failed(spyi_vk_gpu *gpu, const spyi_before *before, spy_status status);
// Returns the stages that barriers must order; those of draws are among them only once there was a draw.
SPYI_FN VkPipelineStageFlags spyi_vk_stages(const spyi_vk_gpu *gpu);
SPYI_FN void spyi_vk_describe_image(const spyi_binding *binding, VkDescriptorImageInfo *image);
// Pushes a kernel's block, bindings and uniform buffers. `bindings` NULL means that there are none, or that
// they are pushed already.
SPYI_FN spy_status spyi_vk_push_inputs(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                       const spyi_vk_kernel *kernel, const void *block,
                                       const spyi_binding *bindings, const spyi_uniform *uniforms,
                                       spyi_text *error);
// Makes a pool of `count` timestamps if *pool is NULL.
SPYI_FN spy_status spyi_vk_make_queries(spyi_vk_gpu *gpu, VkQueryPool *pool, uint32_t count,
                                        spyi_text *error);
// Makes sure that the command buffer gpu->commands has begun.
SPYI_FN spy_status spyi_vk_begin(spyi_vk_gpu *gpu, spyi_text *error);

// >>image.c
SPYI_FN uint32_t spyi_vk_image_support(spyi_gpu *gpu, uint32_t format);
SPYI_FN spy_status spyi_vk_create_image(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label,
                                        spyi_image *image, spyi_text *error);
SPYI_FN void spyi_vk_destroy_image(spyi_gpu *gpu, spyi_image *image);
SPYI_FN spy_status spyi_vk_create_image_view(spyi_gpu *gpu, const spyi_image *image,
                                             const spyi_image_desc *image_desc,
                                             const spyi_image_view_desc *desc, uint64_t sampler,
                                             uint64_t *view, spyi_text *error);
SPYI_FN void spyi_vk_destroy_image_view(spyi_gpu *gpu, uint64_t view, bool stored);
SPYI_FN spy_status spyi_vk_create_sampler(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                          spyi_text *error);
SPYI_FN void spyi_vk_destroy_sampler(spyi_gpu *gpu, uint64_t sampler);
SPYI_FN VkFormat spyi_vk_format(uint32_t format); // returns VK_FORMAT_UNDEFINED if Vulkan has no such format
// Returns the layout of an image's part in this use; `format` is a spy_format.
SPYI_FN VkImageLayout spyi_vk_image_layout(uint32_t how, uint32_t format);
SPYI_FN VkImageAspectFlags spyi_vk_aspects(uint32_t format);
SPYI_FN VkFormatFeatureFlags spyi_vk_format_features(const spyi_vk_gpu *gpu, uint32_t format);

// >>image_work.c
SPYI_FN spy_status spyi_vk_image_bytes(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_blit(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_image_clear(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>mark.c
SPYI_FN spy_status spyi_vk_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_vk_open_labels(spyi_vk_gpu *gpu);  // is called when a batch begins
SPYI_FN void spyi_vk_close_labels(spyi_vk_gpu *gpu); // is called when a batch ends
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>submit.c
SPYI_FN uint64_t spyi_vk_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_vk_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_make_submit_objects(spyi_vk_gpu *gpu,
                                               spyi_text *error); // makes command buffers and timelines
// Finds a slot whose work has ended, or makes one. Where there are as many as may be, waits for the oldest.
SPYI_FN spy_status spyi_vk_take_slot(spyi_vk_gpu *gpu, spyi_vk_batch **slot, spyi_text *error);
SPYI_FN void spyi_vk_destroy_submit_objects(spyi_vk_gpu *gpu);
SPYI_FN uint64_t
spyi_vk_poll(spyi_vk_gpu *gpu); // updates and returns gpu->finished, which ignores an engine's recordings
SPYI_FN spy_status spyi_vk_wait_value(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value,
                                      uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait_own(spyi_vk_gpu *gpu, uint64_t number, uint64_t timeout_ns, spyi_text *error);
// Returns the last batch with a number up to `number`, to which the timeline counts. Returns 0 if there is
// none, or if it has finished.
SPYI_FN uint64_t spyi_vk_own_number(const spyi_vk_gpu *gpu, uint64_t number);
SPYI_FN spy_status spyi_vk_queue_submit(spyi_vk_gpu *gpu, VkQueue queue, VkCommandBuffer commands,
                                        const spyi_vk_semaphores *waits, const spyi_vk_semaphores *signals,
                                        spyi_text *error);
SPYI_FN void spyi_vk_wait_idle(spyi_vk_gpu *gpu);
// Creates a timeline semaphore of value 0. `next` is the chain of further structs, or NULL.
SPYI_FN VkResult spyi_vk_make_timeline(spyi_vk_gpu *gpu, const void *next, VkSemaphore *semaphore);
// Records a barrier that makes the writes of the work in `commands` available to the host.
SPYI_FN void spyi_vk_host_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands);

// >>transfer.c
SPYI_FN spy_status spyi_vk_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                    uint64_t size, uint64_t after, spyi_text *error);
SPYI_FN void spyi_vk_destroy_staging(spyi_vk_gpu *gpu);

// >>engine.c
// These functions are the parts of the public functions that need no spy_device.
SPYI_FN spy_status spyi_vk_begin_recording(spyi_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *id,
                                           spyi_text *error);
SPYI_FN spy_status spyi_vk_end_recording(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_finish_recording(spyi_vk_gpu *gpu, uint64_t id, spyi_text *error);
// Returns whether work with this number is in a recording that the engine has not reported as executed, and
// then adds that to the error.
SPYI_FN bool spyi_vk_is_held(const spyi_vk_gpu *gpu, uint64_t number, spyi_text *error);
SPYI_FN void spyi_vk_destroy_recordings(spyi_vk_gpu *gpu);
// Begin and end a public function of this backend. spyi_vk_enter() returns NULL, with an error, for devices of other
// backends. spyi_vk_leave() reports `error` unless the status is SPY_OK, and frees it.
SPYI_FN spyi_vk_gpu *spyi_vk_enter(spy_device *device, const char *function);
SPYI_FN spy_status spyi_vk_leave(spy_device *device, spyi_vk_gpu *gpu, const char *function,
                                 spy_status status, spyi_text *error);
SPYI_FN spy_status spyi_vk_add_semaphore(spyi_vk_gpu *gpu, spyi_vk_semaphores *list, uint64_t semaphore,
                                         uint64_t value, spyi_text *error);

#endif // SPYI_VK_INTERNAL_H
