// The Vulkan backend's own types and the functions its files share. Data flow: instance.c finds an adapter,
// device.c makes the device, memory.c and kernel.c its objects, record.c records and submits work, transfer.c
// moves host data.
#ifndef SPYI_VK_INTERNAL_H
#define SPYI_VK_INTERNAL_H

#include "api/vk.h"
#include "backend/target.h"
#include "backend/work.h"
#include "vk/functions.h"

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_vk.h needs a 64-bit target: Vulkan's handles are pointers there"
#endif

// C++ refuses `= { 0 }` where the first member is an enum.
#define SPYI_VK_ZERO(x) memset(&(x), 0, sizeof(x))

#define SPYI_VK_BATCHES 16u            // batches in flight; the next one waits for the oldest
#define SPYI_VK_BATCH_WORK 512u        // recorded operations after which a batch is submitted in any case
#define SPYI_VK_BATCH_BYTES (8u << 20) // the same for bytes of blocks and small uploads
// Submissions that only an idle queue asks for (8-10 us each on an H200) take a small share of the time, between limits.
#define SPYI_VK_IDLE_SHARE 32u
#define SPYI_VK_IDLE_MIN_NS 40000u
#define SPYI_VK_IDLE_MAX_NS 300000u
#define SPYI_VK_POLL_NS 10000u // time between two looks whether the queue is idle
#define SPYI_VK_SPIN_NS                                                                                      \
    50000u // a wait for a GPU spins so long before it blocks: 15 us instead of 23 (vulkan.md 12)
#define SPYI_VK_PAGE_SIZE ((size_t)256 << 10) // of memory for parameter blocks and small uploads
#define SPYI_VK_PAGES_KEPT ((size_t)64 << 20) // bytes of free pages; frames that upload much take them again
#define SPYI_VK_SMALL_UPLOAD 65536u           // up to here through a page, above through the staging ring
#define SPYI_VK_STAGING_SIZE ((size_t)16 << 20)
#define SPYI_VK_STAGING_COUNT 4u // half of them the GPU's, half the copy team's
#define SPYI_VK_MAX_BINDINGS 32u // every driver's maxPushDescriptors is at least that
#define SPYI_VK_RECENT 8u        // kernels of a batch that are named when the device is lost
#define SPYI_VK_LABELS 8u        // open debug labels that are shown
#define SPYI_VK_SEMAPHORES 16u   // an engine's semaphores that wait for the next submission

// >>features: the one list. X(struct, member); the struct is a member of spyi_vk_feature_set.
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
    X(core.features, shaderStorageBufferArrayDynamicIndexing)                                                \
    X(v11, storageBuffer16BitAccess)                                                                         \
    X(v11, uniformAndStorageBuffer16BitAccess)                                                               \
    X(v11, storagePushConstant16)                                                                            \
    X(v11, variablePointersStorageBuffer)                                                                    \
    X(v11, variablePointers)                                                                                 \
    X(v12, storageBuffer8BitAccess)                                                                          \
    X(v12, uniformAndStorageBuffer8BitAccess)                                                                \
    X(v12, storagePushConstant8)                                                                             \
    X(v12, shaderFloat16)                                                                                    \
    X(v12, shaderInt8)                                                                                       \
    X(v12, shaderBufferInt64Atomics)                                                                         \
    X(v12, shaderSharedInt64Atomics)                                                                         \
    X(v12, shaderSubgroupExtendedTypes)                                                                      \
    X(v12, vulkanMemoryModel)                                                                                \
    X(v12, vulkanMemoryModelDeviceScope)                                                                     \
    X(v12, shaderUniformTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageTexelBufferArrayDynamicIndexing)                                                     \
    X(v12, shaderStorageBufferArrayNonUniformIndexing)                                                       \
    X(v12, shaderUniformTexelBufferArrayNonUniformIndexing)                                                  \
    X(v12, shaderStorageTexelBufferArrayNonUniformIndexing)                                                  \
    X(v13, subgroupSizeControl)                                                                              \
    X(v13, computeFullSubgroups)                                                                             \
    X(v13, maintenance4)                                                                                     \
    X(v13, shaderIntegerDotProduct)                                                                          \
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
    X(clock, shaderDeviceClock)

#define SPYI_VK_OPTIONAL_EXTENSIONS(X)                                                                       \
    X(VK_KHR_push_descriptor)                                                                                \
    X(VK_EXT_shader_atomic_float)                                                                            \
    X(VK_EXT_shader_atomic_float2)                                                                           \
    X(VK_KHR_shader_clock)

typedef enum spyi_vk_feature {
#define SPYI_VK_FEATURE_ENUM(where, name) SPYI_VK_FEATURE_##name,
    SPYI_VK_REQUIRED_FEATURES(SPYI_VK_FEATURE_ENUM) SPYI_VK_FEATURE_REQUIRED, // so many are required
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

// A chain for vkGetPhysicalDeviceFeatures2 and vkCreateDevice.
typedef struct spyi_vk_feature_set {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT atomic_float2;
    VkPhysicalDeviceShaderClockFeaturesKHR clock;
} spyi_vk_feature_set;

// >>instance
typedef struct spyi_vk_instance {
    spyi_context *ctx;
    void *library; // NULL: the engine's
    PFN_vkGetInstanceProcAddr get_proc;
    VkInstance handle;
    bool owned;
    uint32_t api_version; // that it was made with
#define SPYI_VK_INSTANCE_MEMBER(name) PFN_vk##name name;
    SPYI_VK_INSTANCE_FUNCTIONS(SPYI_VK_INSTANCE_MEMBER)
#undef SPYI_VK_INSTANCE_MEMBER
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    PFN_vkSetDebugUtilsObjectNameEXT set_name; // NULL: no VK_EXT_debug_utils
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    PFN_vkCmdInsertDebugUtilsLabelEXT insert_label;
    VkDebugUtilsMessengerEXT messenger;
    spyi_mutex message_lock;
    char message[512]; // the driver's last complaint, for errors that carry no text of their own
} spyi_vk_instance;

typedef struct spyi_vk_adapter {
    VkPhysicalDevice handle;
    uint32_t index;       // from 1, in the order of vkEnumeratePhysicalDevices
    uint32_t api_version; // what device and instance both have
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t max_allocation; // bytes
    uint32_t max_push_descriptors;
    uint32_t subgroup_operations; // VkSubgroupFeatureFlags in compute kernels
    uint32_t queue_family;
    uint32_t lane_family; // of the downloads' queue; queue_family: none of its own
    uint32_t timestamp_bits;
    bool features
        [SPYI_VK_FEATURE_COUNT]; // that kernels may use: of an engine's device those that it has enabled
    bool supported[SPYI_VK_FEATURE_COUNT]; // that the adapter has
    bool extensions[SPYI_VK_EXTENSION_COUNT];
    bool float_controls[5]; // 32-bit: denorm preserve, flush; signed zero inf nan; round to even, to zero
    spy_device_info info;
    char refusal[256]; // why it cannot be used; "": it can
} spyi_vk_adapter;

// >>the device
typedef struct spyi_vk_page {
    struct spyi_vk_page *next;
    spyi_chunk chunk;    // mapped
    size_t used;         // bytes
    VkBufferView *views; // that the same work uses
    uint32_t view_count, view_capacity;
} spyi_vk_page;

// One command buffer with what must live until it has been executed. Number n uses slot n % SPYI_VK_BATCHES.
typedef struct spyi_vk_batch {
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t number; // of the last batch that was recorded here; 0: none
    spyi_vk_page *pages;
    spyi_kernel *recent[SPYI_VK_RECENT]; // the last kernels, a ring
    uint32_t recent_count;               // all kernels of the batch
} spyi_vk_batch;

typedef struct spyi_vk_staging {
    spyi_chunk chunk;   // size 0: not allocated yet
    size_t used;        // bytes
    uint64_t number;    // the last batch (uploads) or lane submission (downloads) that uses it
    VkCommandPool pool; // downloads only
    VkCommandBuffer commands;
} spyi_vk_staging;

typedef struct spyi_vk_semaphores {
    uint32_t count;
    VkSemaphore handles[SPYI_VK_SEMAPHORES + 1]; // one more for our own
    uint64_t values[SPYI_VK_SEMAPHORES + 1];
} spyi_vk_semaphores;

// Neighbouring bindings of a kernel that one write fills: structured buffers, or one array, or one typed buffer.
typedef struct spyi_vk_run {
    uint32_t first, count;
    VkDescriptorType type;
    VkFormat format; // of typed buffers; else VK_FORMAT_UNDEFINED
} spyi_vk_run;

// What a layout is made of; unused parameters are zero.
typedef struct spyi_vk_shape {
    uint32_t push_size; // multiple of 4: the block, or 8 for its address
    uint32_t count;
    spyi_parameter parameters[SPYI_VK_MAX_BINDINGS]; // those with bindings, and uniform buffers
} spyi_vk_shape;

// Kernels of equal shapes share one.
typedef struct spyi_vk_layout {
    struct spyi_vk_layout *next;
    spyi_vk_shape shape;
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
} spyi_vk_layout;

typedef struct spyi_vk_kernel {
    spyi_kernel_base base; // first
    VkPipeline pipeline;
    VkPipelineLayout layout;
    uint32_t push_size; // of the shape
    uint32_t run_count;
    spyi_vk_run runs[SPYI_VK_MAX_BINDINGS];
    bool block_by_address;
    char label[64]; // cut off
} spyi_vk_kernel;

// What was recorded into an engine's command buffer between one begin and its end, with the memory that must live until
// the engine has reported it as executed. It has the batch numbers first to last for itself.
typedef struct spyi_vk_recording {
    struct spyi_vk_recording *next; // that was begun after it
    uint64_t serial;                // counts from 1; part of its id
    uint64_t first, last;           // last is 0 until it has ended
    bool used;                      // something was recorded
    spyi_vk_page *pages;
} spyi_vk_recording;

typedef struct spyi_vk_gpu {
    spyi_gpu_base base; // first
    spyi_vk_functions vk;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family, lane_family;
    bool owned; // we made the device
    bool lost;

    // Recording. base.open is the number of the batch being recorded. Numbers below it are our submitted batches and an
    // engine's recordings. The timeline semaphore counts the former: it never gets a recording's number.
    VkCommandBuffer commands; // to record into; NULL: none begun
    spyi_vk_kernel *bound;    // kernel whose pipeline is bound in it
    uint64_t submitted;       // the last of our own batches
    uint64_t finished;        // our own batches up to here, as last seen
    uint32_t work;            // operations in the open batch
    size_t work_bytes;        // in its pages
    uint64_t next_poll_ns;    // not before then: look whether the queue is idle
    spyi_vk_batch *batch;     // the open one's slot; NULL: not begun
    VkSemaphore timeline;
    spyi_vk_page *free_pages;
    size_t free_page_bytes;
    spyi_vk_batch batches[SPYI_VK_BATCHES];

    // An engine's command buffers, instead of ours.
    VkCommandBuffer external;           // that is being recorded into; NULL: none
    bool external_used;                 // the open batch's number stands for work in it
    spyi_vk_recording *first_recording; // not reported as executed, oldest first
    spyi_vk_recording *last_recording;
    spyi_vk_recording *free_recordings; // to be used again
    uint64_t recording_serial;          // of the last one that was begun
    uint64_t recording_tag;             // upper bits of this device's ids
    spyi_vk_semaphores waits, signals;  // of the next submission
    void (*lock_queue)(void *user_data);
    void (*unlock_queue)(void *user_data);
    void *lock_user_data;

    // Transfers: uploads go through the main queue in order, downloads through a lane of their own.
    spyi_vk_staging upload[SPYI_VK_STAGING_COUNT];
    uint32_t upload_next;
    spyi_vk_staging download[SPYI_VK_STAGING_COUNT];
    uint64_t download_left; // batch that writes to download[0] though its reader was interrupted; 0: none
    VkQueue lane_queue;     // may equal queue
    VkSemaphore lane;       // timeline of the lane
    uint64_t lane_number;   // last submission to it

    VkQueryPool queries;             // two timestamps; made when first used
    uint64_t time_number;            // batch of time_end; 0: none
    bool timing;                     // between time_begin and time_end
    VkQueryPool marks;               // SPYI_TIME_SLOTS timestamps; made when first used
    uint32_t label_depth;            // open labels
    char labels[SPYI_VK_LABELS][64]; // of which these, cut off

    uint32_t memory_type[4]; // by spyi_vk_memory
    VkPipelineCache pipeline_cache;
    spyi_mutex layout_lock;
    spyi_vk_layout *layouts;

    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
} spyi_vk_gpu;

// Kinds of memory: the table's two, and two of our own.
typedef enum spyi_vk_memory {
    SPYI_VK_MEMORY_DEVICE = SPYI_MEMORY_DEVICE,
    SPYI_VK_MEMORY_READBACK = SPYI_MEMORY_READBACK,
    SPYI_VK_MEMORY_STAGING, // host memory that the host writes
    SPYI_VK_MEMORY_PAGE     // that the host writes and kernels read: mapped device memory when there is such
} spyi_vk_memory;

// >>features.c
SPYI_FN size_t spyi_vk_feature_offset(uint32_t feature); // of its VkBool32 in a spyi_vk_feature_set
SPYI_FN const char *spyi_vk_feature_name(uint32_t feature);
SPYI_FN const char *spyi_vk_extension_name(uint32_t extension);
// Fill in sType and pNext for what this adapter has (extensions and api_version are known).
SPYI_FN void spyi_vk_feature_chain(spyi_vk_feature_set *set, const spyi_vk_adapter *adapter);
// SPIR-V is well formed, has the entry point, and needs only what is enabled in `adapter`.
SPYI_FN spy_status spyi_vk_check_code(const spyi_vk_adapter *adapter, const spyi_kernel_desc *desc,
                                      spyi_text *error);

// >>instance.c
SPYI_FN spy_status spyi_vk_instance_init(spyi_vk_instance *instance, spyi_context *ctx,
                                         const spy_vk_desc *engine, bool enable_validation, spyi_text *error);
SPYI_FN void spyi_vk_instance_destroy(spyi_vk_instance *instance);
SPYI_FN spy_status spyi_vk_choose_adapter(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                          spyi_vk_adapter *adapter, spyi_text *error);
SPYI_FN void spyi_vk_query_adapter(const spyi_vk_instance *instance, VkPhysicalDevice device, uint32_t index,
                                   spyi_vk_adapter *adapter);
// What the user sees of its features and limits, from the rest.
SPYI_FN void spyi_vk_fill_info(spyi_vk_adapter *adapter);
SPYI_FN size_t spyi_vk_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);

// >>device.c
SPYI_FN spy_status spyi_vk_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                  spyi_text *error);
SPYI_FN void spyi_vk_destroy(spyi_gpu *gpu);
SPYI_FN const char *spyi_vk_result_name(VkResult result);
// Append "`what` failed: VK_..." and return the status that goes with it.
SPYI_FN spy_status spyi_vk_fail(spyi_vk_gpu *gpu, VkResult result, const char *what, spyi_text *error);
SPYI_FN bool spyi_vk_is_lost(const spyi_vk_gpu *gpu, spyi_text *error); // adds to the error then
SPYI_FN void spyi_vk_describe_dropped(const spyi_vk_batch *batch, spyi_text *error);
SPYI_FN void spyi_vk_set_name(spyi_vk_gpu *gpu, VkObjectType type, uint64_t handle, const char *name);

// >>memory.c
SPYI_FN bool spyi_vk_choose_memory(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_allocate(spyi_vk_gpu *gpu, spyi_vk_memory kind, size_t size, const char *label,
                                    spyi_chunk *chunk, spyi_text *error);
SPYI_FN spy_status spyi_vk_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                          spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_vk_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
// `size` bytes that live as long as the batch, or the engine's recording.
SPYI_FN spy_status spyi_vk_take_bytes(spyi_vk_gpu *gpu, size_t size, size_t alignment, spyi_vk_page **page,
                                      size_t *offset, spyi_text *error);
SPYI_FN spy_status spyi_vk_make_view(spyi_vk_gpu *gpu, const spyi_binding *binding, VkFormat format,
                                     VkBufferView *view, spyi_text *error);
SPYI_FN void spyi_vk_return_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);
SPYI_FN void spyi_vk_free_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages);

// >>kernel.c
// Of a typed buffer's elements; VK_FORMAT_UNDEFINED: there is none.
SPYI_FN VkFormat spyi_vk_texel_format(uint32_t scalar, uint32_t columns);
SPYI_FN spy_status spyi_vk_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                spyi_text *error);
SPYI_FN void spyi_vk_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN void spyi_vk_destroy_layouts(spyi_vk_gpu *gpu);

// >>record.c
SPYI_FN spy_status spyi_vk_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_copy_buffer(spyi_vk_gpu *gpu, uint64_t to, uint64_t to_offset, uint64_t from,
                                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error);
// After each recorded operation; `urgent`: someone may look at its result, so an idle queue gets it at once.
SPYI_FN spy_status spyi_vk_recorded(spyi_vk_gpu *gpu, bool urgent, spyi_text *error);
// All work recorded earlier is finished and visible; `counts`: to the reading of indirect group counts as well.
SPYI_FN void spyi_vk_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands, bool counts);
// Timestamps, in a pool made when first needed.
SPYI_FN spy_status spyi_vk_make_queries(spyi_vk_gpu *gpu, VkQueryPool *pool, uint32_t count,
                                        spyi_text *error);
// Make sure that a command buffer is open: gpu->commands.
SPYI_FN spy_status spyi_vk_begin(spyi_vk_gpu *gpu, spyi_text *error);

// >>mark.c
SPYI_FN spy_status spyi_vk_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_vk_open_labels(spyi_vk_gpu *gpu);  // at a batch's begin
SPYI_FN void spyi_vk_close_labels(spyi_vk_gpu *gpu); // and end
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>submit.c
SPYI_FN uint64_t spyi_vk_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_vk_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_make_submit_objects(spyi_vk_gpu *gpu,
                                               spyi_text *error); // command buffers, timelines
SPYI_FN void spyi_vk_destroy_submit_objects(spyi_vk_gpu *gpu);
SPYI_FN uint64_t
spyi_vk_poll(spyi_vk_gpu *gpu); // our own finished batches, whatever an engine has still to do
SPYI_FN spy_status spyi_vk_wait_value(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value,
                                      uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_vk_wait_own(spyi_vk_gpu *gpu, uint64_t number, uint64_t timeout_ns, spyi_text *error);
// The last of our own batches up to `number`: what the timeline counts to. 0: there is none.
SPYI_FN uint64_t spyi_vk_own_number(const spyi_vk_gpu *gpu, uint64_t number);
SPYI_FN spy_status spyi_vk_queue_submit(spyi_vk_gpu *gpu, VkQueue queue, VkCommandBuffer commands,
                                        const spyi_vk_semaphores *waits, const spyi_vk_semaphores *signals,
                                        spyi_text *error);
SPYI_FN void spyi_vk_wait_idle(spyi_vk_gpu *gpu);
// What has been recorded into `commands` is made available to the host.
SPYI_FN void spyi_vk_host_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands);

// >>transfer.c
SPYI_FN spy_status spyi_vk_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_vk_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                    uint64_t size, uint64_t after, spyi_text *error);
SPYI_FN void spyi_vk_destroy_staging(spyi_vk_gpu *gpu);

// >>engine.c: the parts of the public functions that need no spy_device
SPYI_FN spy_status spyi_vk_begin_recording(spyi_vk_gpu *gpu, VkCommandBuffer commands, uint64_t *id,
                                           spyi_text *error);
SPYI_FN spy_status spyi_vk_end_recording(spyi_vk_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_vk_finish_recording(spyi_vk_gpu *gpu, uint64_t id, spyi_text *error);
// Whether work with this number is in an engine's command buffer that has not been reported as executed; if so the error
// names it.
SPYI_FN bool spyi_vk_is_held(const spyi_vk_gpu *gpu, uint64_t number, spyi_text *error);
SPYI_FN void spyi_vk_destroy_recordings(spyi_vk_gpu *gpu);
SPYI_FN spy_status spyi_vk_add_semaphore(spyi_vk_gpu *gpu, spyi_vk_semaphores *list, uint64_t semaphore,
                                         uint64_t value, spyi_text *error);

#endif // SPYI_VK_INTERNAL_H
