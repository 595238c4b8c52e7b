// Opens the Vulkan loader, makes the instance, passes on messages of drivers and layers, lists the adapters
// and chooses one.
#include "vk/internal.h"

#define SPYI_VK_MAX_ADAPTERS 32u
#define SPYI_VK_MAX_FAMILIES 32u

#define SPYI_VK_VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

// Casts by memcpy(), because C has no cast from an object pointer to a function pointer.
static PFN_vkGetInstanceProcAddr spyi_vk_loader_entry(void *library) {
    void *symbol = spyi_library_symbol(library, "vkGetInstanceProcAddr");
    PFN_vkGetInstanceProcAddr get = NULL;
    if (symbol != NULL) memcpy(&get, &symbol, sizeof get);
    return get;
}

static spy_status spyi_vk_open_loader(spyi_vk_instance *instance, spyi_text *error) {
#if defined(_WIN32)
    static const char *const names[] = { "vulkan-1.dll" };
#elif defined(__APPLE__)
    static const char *const names[] = { "libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib" };
#else
    static const char *const names[] = { "libvulkan.so.1", "libvulkan.so" };
#endif
    size_t i, count = sizeof names / sizeof names[0];
    for (i = 0; i < count; i++) {
        instance->library = spyi_library_open(names[i]);
        if (instance->library == NULL) continue;
        instance->get_proc = spyi_vk_loader_entry(instance->library);
        if (instance->get_proc != NULL) return SPY_OK;
        spyi_library_close(instance->library);
        instance->library = NULL;
    }
    spyi_text_add(error, "the Vulkan loader cannot be opened; looked for");
    for (i = 0; i < count; i++) spyi_text_add(error, "%s %s", i == 0 ? "" : ",", names[i]);
    spyi_text_add(error, " (%s); on Debian: apt-get install libvulkan1 mesa-vulkan-drivers",
                  spyi_library_error());
    return SPY_ERROR_NO_DEVICE;
}

// >>messages of drivers and layers

static VKAPI_ATTR VkBool32 VKAPI_CALL spyi_vk_on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                                         const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                         void *user) {
    spyi_vk_instance *instance = (spyi_vk_instance *)user;
    spy_log_level level = SPY_LOG_LEVEL_DEBUG;
    const char *name = data->pMessageIdName != NULL ? data->pMessageIdName : "message";
    const char *text = data->pMessage != NULL ? data->pMessage : "";
    (void)types;
    if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) level = SPY_LOG_LEVEL_ERROR;
    else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) level = SPY_LOG_LEVEL_WARNING;
    else if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT) level = SPY_LOG_LEVEL_INFO;
    if (level <= SPY_LOG_LEVEL_WARNING) {
        size_t n = strlen(text);
        if (n >= sizeof instance->message) n = sizeof instance->message - 1;
        spyi_mutex_lock(&instance->message_lock);
        memcpy(instance->message, text, n);
        instance->message[n] = '\0';
        spyi_mutex_unlock(&instance->message_lock);
    }
    if (spyi_log_wants(instance->ctx, level)) spyi_logf(instance->ctx, level, "Vulkan: %s: %s", name, text);
    return VK_FALSE;
}

static void spyi_vk_messenger_info(spyi_vk_instance *instance, VkDebugUtilsMessengerCreateInfoEXT *info) {
    SPYI_VK_ZERO(*info);
    info->sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info->messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    if (spyi_log_wants(instance->ctx, SPY_LOG_LEVEL_DEBUG)) {
        info->messageSeverity |= VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT;
    }
    info->messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                        VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info->pfnUserCallback = spyi_vk_on_message;
    info->pUserData = instance;
}

// >>instance

static bool spyi_vk_has_layer(const spyi_vk_instance *instance, const char *name) {
    PFN_vkEnumerateInstanceLayerProperties list = (PFN_vkEnumerateInstanceLayerProperties)instance->get_proc(
        NULL, "vkEnumerateInstanceLayerProperties");
    VkLayerProperties *layers;
    uint32_t i, count = 0, capacity;
    bool found = false;
    if (list == NULL || list(&count, NULL) != VK_SUCCESS || count == 0) return false;
    capacity = count;
    layers = (VkLayerProperties *)spyi_allocate(instance->ctx, capacity * sizeof *layers);
    if (layers == NULL) return false;
    if (list(&count, layers) >= 0) {
        for (i = 0; i < count && !found; i++) found = strcmp(layers[i].layerName, name) == 0;
    }
    spyi_free(instance->ctx, layers, capacity * sizeof *layers);
    return found;
}

static bool spyi_vk_has_instance_extension(const spyi_vk_instance *instance, const char *layer,
                                           const char *name) {
    PFN_vkEnumerateInstanceExtensionProperties list =
        (PFN_vkEnumerateInstanceExtensionProperties)instance->get_proc(
            NULL, "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties *items;
    uint32_t i, count = 0, capacity;
    bool found = false;
    if (list == NULL || list(layer, &count, NULL) != VK_SUCCESS || count == 0) return false;
    capacity = count;
    items = (VkExtensionProperties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return false;
    if (list(layer, &count, items) >= 0) {
        for (i = 0; i < count && !found; i++) found = strcmp(items[i].extensionName, name) == 0;
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
    return found;
}

static spy_status spyi_vk_make_instance(spyi_vk_instance *instance, bool enable_validation, bool *debug_utils,
                                        spyi_text *error) {
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)instance->get_proc(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)instance->get_proc(NULL, "vkEnumerateInstanceVersion");
    const char *layers[1], *extensions[2];
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    VkResult result;
    uint32_t loader = VK_API_VERSION_1_0;
    if (version != NULL) (void)version(&loader);
    if (create == NULL || loader < VK_API_VERSION_1_1) {
        spyi_text_add(error, "the Vulkan loader is of version 1.0; at least 1.1 is needed");
        return SPY_ERROR_NO_DEVICE;
    }
    SPYI_VK_ZERO(application);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = instance->ctx->label;
    application.pEngineName = "slangpy.h";
    application.engineVersion = SPY_VERSION;
    application.apiVersion = VK_API_VERSION_1_3; // the newest version that is used; drivers of 1.2 do as well

    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    info.ppEnabledLayerNames = layers;
    info.ppEnabledExtensionNames = extensions;
    if (enable_validation && spyi_vk_has_layer(instance, SPYI_VK_VALIDATION_LAYER)) {
        layers[info.enabledLayerCount++] = SPYI_VK_VALIDATION_LAYER;
    } else if (enable_validation) {
        spyi_logf(instance->ctx, SPY_LOG_LEVEL_WARNING,
                  "validation was asked for, but the layer " SPYI_VK_VALIDATION_LAYER
                  " is not installed (Debian: vulkan-validationlayers)");
    }
    *debug_utils = spyi_vk_has_instance_extension(instance, NULL, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
                   (info.enabledLayerCount > 0 &&
                    spyi_vk_has_instance_extension(instance, layers[0], VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
    if (*debug_utils) {
        extensions[info.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        spyi_vk_messenger_info(instance, &messenger);
        info.pNext = &messenger; // this messenger gets the messages of the creation itself
    }
#if defined(VK_KHR_portability_enumeration)
    if (spyi_vk_has_instance_extension(instance, NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[info.enabledExtensionCount++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
#endif
    result = create(&info, NULL, &instance->handle);
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "vkCreateInstance failed: %s%s", spyi_vk_result_name(result),
                      result == VK_ERROR_INCOMPATIBLE_DRIVER
                          ? ": no Vulkan driver is installed (on Debian: apt-get install mesa-vulkan-drivers)"
                          : "");
        return result == VK_ERROR_OUT_OF_HOST_MEMORY ? SPY_ERROR_OUT_OF_MEMORY : SPY_ERROR_NO_DEVICE;
    }
    instance->owned = true;
    instance->api_version = VK_API_VERSION_1_3;
    return SPY_OK;
}

// Two tables of the functions that an instance loads into spyi_vk_instance. The functions of the first must be there;
// those of the second are NULL without VK_EXT_debug_utils.
#define SPYI_VK_ENTRY(name) { "vk" #name, offsetof(spyi_vk_instance, name) },
static const spyi_vk_function spyi_vk_instance_functions[] = { SPYI_VK_INSTANCE_FUNCTIONS(SPYI_VK_ENTRY) };
#undef SPYI_VK_ENTRY
static const spyi_vk_function spyi_vk_debug_functions[] = {
    { "vkSetDebugUtilsObjectNameEXT", offsetof(spyi_vk_instance, set_name) },
    { "vkCmdBeginDebugUtilsLabelEXT", offsetof(spyi_vk_instance, begin_label) },
    { "vkCmdEndDebugUtilsLabelEXT", offsetof(spyi_vk_instance, end_label) },
    { "vkCmdInsertDebugUtilsLabelEXT", offsetof(spyi_vk_instance, insert_label) },
    { "vkDestroyDebugUtilsMessengerEXT", offsetof(spyi_vk_instance, destroy_messenger) },
};

// Fills the members that `functions` names. Returns the name of a function that the instance does not have,
// or NULL.
static const char *spyi_vk_load_instance(spyi_vk_instance *instance, const spyi_vk_function *functions,
                                         size_t count) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        PFN_vkVoidFunction found = instance->get_proc(instance->handle, functions[i].name);
        memcpy((char *)instance + functions[i].offset, &found, sizeof found);
        if (found == NULL) missing = functions[i].name;
    }
    return missing;
}

// Uses the instance of the engine's desc if it has one, and otherwise makes one. After an error nothing needs
// to be destroyed.
SPYI_FN spy_status spyi_vk_instance_init(spyi_vk_instance *instance, spyi_context *ctx,
                                         const spy_vk_desc *engine, bool enable_validation,
                                         spyi_text *error) {
    bool debug_utils = false;
    spy_status status = SPY_OK;
    const char *missing;
    SPYI_VK_ZERO(*instance);
    instance->ctx = ctx;
    if (engine != NULL && engine->get_instance_proc_addr != NULL) {
        // The desc's function type has void * in place of VkInstance, which is a pointer on all platforms.
        memcpy(&instance->get_proc, &engine->get_instance_proc_addr, sizeof instance->get_proc);
    } else {
        status = spyi_vk_open_loader(instance, error);
        if (status != SPY_OK) return status;
    }
    spyi_mutex_init(&instance->message_lock);
    if (engine != NULL && engine->instance != NULL) {
        instance->handle = (VkInstance)engine->instance;
        instance->api_version = engine->api_version != 0 ? engine->api_version : VK_API_VERSION_1_3;
    } else {
        status = spyi_vk_make_instance(instance, enable_validation, &debug_utils, error);
        if (status != SPY_OK) {
            spyi_vk_instance_destroy(instance);
            return status;
        }
    }
    missing = spyi_vk_load_instance(instance, spyi_vk_instance_functions,
                                    sizeof spyi_vk_instance_functions / sizeof *spyi_vk_instance_functions);
    if (missing != NULL) {
        spyi_text_add(error, "vkGetInstanceProcAddr does not know %s; Vulkan 1.2 is needed", missing);
        spyi_vk_instance_destroy(instance);
        return SPY_ERROR_NO_DEVICE;
    }
    (void)spyi_vk_load_instance(instance, spyi_vk_debug_functions,
                                sizeof spyi_vk_debug_functions / sizeof *spyi_vk_debug_functions);
    if (debug_utils) {
        PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)instance->get_proc(
            instance->handle, "vkCreateDebugUtilsMessengerEXT");
        VkDebugUtilsMessengerCreateInfoEXT info;
        spyi_vk_messenger_info(instance, &info);
        if (create == NULL || instance->destroy_messenger == NULL ||
            create(instance->handle, &info, NULL, &instance->messenger) != VK_SUCCESS) {
            instance->messenger = VK_NULL_HANDLE; // without a messenger only messages are missing
        }
    }
    return SPY_OK;
}

// The first instance of the process, which stays with its loader when its device is released. The loader unloads the
// drivers with the last instance, and NVIDIA's driver (580.159) cannot be loaded for the 30th time: its libraries
// leave something behind in the process each time.
static VkInstance spyi_vk_kept_instance;

// Returns whether the instance stays.
static bool spyi_vk_keep_instance(const spyi_vk_instance *instance) {
    spyi_global_lock();
    bool keep = spyi_vk_kept_instance == VK_NULL_HANDLE;
    if (keep) spyi_vk_kept_instance = instance->handle;
    spyi_global_unlock();
    return keep;
}

SPYI_FN void spyi_vk_instance_destroy(spyi_vk_instance *instance) {
    bool keeps = instance->owned && spyi_vk_keep_instance(instance);
    if (instance->get_proc == NULL) return;
    if (instance->messenger != VK_NULL_HANDLE)
        instance->destroy_messenger(instance->handle, instance->messenger, NULL);
    if (instance->owned && !keeps && instance->DestroyInstance != NULL)
        instance->DestroyInstance(instance->handle, NULL);
    spyi_mutex_destroy(&instance->message_lock);
    if (instance->library != NULL && !keeps) spyi_library_close(instance->library);
    SPYI_VK_ZERO(*instance);
}

// >>adapters

static const char *spyi_vk_type_name(spy_adapter_type type) {
    if (type == SPY_ADAPTER_TYPE_DISCRETE) return "discrete";
    if (type == SPY_ADAPTER_TYPE_INTEGRATED) return "integrated";
    return type == SPY_ADAPTER_TYPE_CPU ? "cpu" : "any";
}

static spy_adapter_type spyi_vk_adapter_type(VkPhysicalDeviceType type) {
    if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return SPY_ADAPTER_TYPE_DISCRETE;
    if (type == VK_PHYSICAL_DEVICE_TYPE_CPU) return SPY_ADAPTER_TYPE_CPU;
    return SPY_ADAPTER_TYPE_INTEGRATED; // these are integrated, virtual and unknown ones
}

static void spyi_vk_query_extensions(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    VkExtensionProperties *items;
    uint32_t i, k, count = 0, capacity;
    if (instance->EnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, NULL) != VK_SUCCESS ||
        count == 0)
        return;
    capacity = count;
    items = (VkExtensionProperties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return;
    if (instance->EnumerateDeviceExtensionProperties(adapter->handle, NULL, &count, items) >= 0) {
        for (i = 0; i < count; i++) {
            for (k = 0; k < SPYI_VK_EXTENSION_COUNT; k++) {
                if (strcmp(items[i].extensionName, spyi_vk_extension_name(k)) == 0)
                    adapter->extensions[k] = true;
            }
        }
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
}

// Chooses one queue family for all work, since order between queues needs semaphores: a family with compute,
// if possible with graphics, too. Downloads use the queue of a copy engine where there is one, at the same
// time as work. A second queue of a family with graphics does not help: the GPU slices time between the two
// (docs/measurements.md, "Queues for downloads").
static bool spyi_vk_query_queues(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    const VkQueueFlags uses = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    VkQueueFamilyProperties families[SPYI_VK_MAX_FAMILIES];
    uint32_t i, count = SPYI_VK_MAX_FAMILIES;
    bool found = false, graphics = false;
    instance->GetPhysicalDeviceQueueFamilyProperties(adapter->handle, &count, families);
    for (i = 0; i < count; i++) {
        bool draws = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if (draws) adapter->graphics_families |= 1u << i;
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || (found && (graphics || !draws))) continue;
        found = true;
        graphics = draws;
        adapter->queue_family = i;
        adapter->timestamp_bits = families[i].timestampValidBits;
    }
    adapter->lane_family = adapter->queue_family;
    for (i = 0; i < count && adapter->lane_family == adapter->queue_family; i++) {
        if ((families[i].queueFlags & uses) == VK_QUEUE_TRANSFER_BIT) adapter->lane_family = i;
    }
    return found;
}

static void spyi_vk_query_features(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    spyi_vk_feature_set set;
    uint32_t i;
    spyi_vk_feature_chain(&set, adapter);
    instance->GetPhysicalDeviceFeatures2(adapter->handle, &set.core);
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        VkBool32 value;
        memcpy(&value, (const char *)&set + spyi_vk_feature_offset(i), sizeof value);
        adapter->features[i] = adapter->supported[i] = value != VK_FALSE;
    }
}

SPYI_FN void spyi_vk_query_matrices(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    spyi_vk_get_matrix_properties get = NULL;
    spyi_vk_matrix_properties *items;
    uint32_t i, count = 0, capacity;
    if (!adapter->features[SPYI_VK_FEATURE_cooperativeMatrix]) return;
    get = (spyi_vk_get_matrix_properties)instance->get_proc(
        instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (get == NULL || get(adapter->handle, &count, NULL) != VK_SUCCESS || count == 0) return;
    capacity = count;
    items = (spyi_vk_matrix_properties *)spyi_allocate(instance->ctx, capacity * sizeof *items);
    if (items == NULL) return;
    for (i = 0; i < capacity; i++) {
        SPYI_VK_ZERO(items[i]);
        items[i].sType = SPYI_VK_PROPERTIES_MATRIX;
    }
    if (get(adapter->handle, &count, items) >= 0) {
        for (i = 0; i < count; i++) {
            const spyi_vk_matrix_properties *p = &items[i];
            if (p->m == 16 && p->n == 16 && p->k == 16 && p->a == SPYI_VK_MATRIX_FLOAT16 &&
                p->b == SPYI_VK_MATRIX_FLOAT16 && p->c == SPYI_VK_MATRIX_FLOAT32 &&
                p->result == SPYI_VK_MATRIX_FLOAT32 && p->scope == SPYI_VK_MATRIX_SUBGROUP)
                adapter->matrices = true;
        }
    }
    spyi_free(instance->ctx, items, capacity * sizeof *items);
}

static void spyi_vk_query_properties(const spyi_vk_instance *instance, spyi_vk_adapter *adapter) {
    VkPhysicalDeviceProperties2 properties;
    VkPhysicalDeviceVulkan11Properties v11;
    VkPhysicalDeviceVulkan12Properties v12;
    VkPhysicalDevicePushDescriptorPropertiesKHR push;
    spy_device_info *info = &adapter->info;
    SPYI_VK_ZERO(properties);
    SPYI_VK_ZERO(v11);
    SPYI_VK_ZERO(v12);
    SPYI_VK_ZERO(push);
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    push.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR;
    properties.pNext = &v11;
    v11.pNext = &v12;
    if (adapter->extensions[SPYI_VK_KHR_push_descriptor]) v12.pNext = &push;
    instance->GetPhysicalDeviceProperties2(adapter->handle, &properties);
    adapter->max_push_descriptors = push.maxPushDescriptors;
    adapter->max_allocation = v11.maxMemoryAllocationSize;
    spyi_vk_query_handles(&v12, adapter);
    if ((v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
        adapter->subgroup_operations = v11.subgroupSupportedOperations;
    }
    adapter->float_controls[0] = v12.shaderDenormPreserveFloat32 != VK_FALSE;
    adapter->float_controls[1] = v12.shaderDenormFlushToZeroFloat32 != VK_FALSE;
    adapter->float_controls[2] = v12.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
    adapter->float_controls[3] = v12.shaderRoundingModeRTEFloat32 != VK_FALSE;
    adapter->float_controls[4] = v12.shaderRoundingModeRTZFloat32 != VK_FALSE;
    info->subgroup_size = v11.subgroupSize;
    (void)snprintf(info->driver, sizeof info->driver, "%.120s %.120s", v12.driverName, v12.driverInfo);
}

SPYI_FN void spyi_vk_fill_info(spyi_vk_adapter *adapter) {
    spy_device_info *info = &adapter->info;
    const VkPhysicalDeviceLimits *limits = &adapter->limits;
    const bool *f = adapter->features;
    uint32_t i;
    info->features = 0;
    if (f[SPYI_VK_FEATURE_shaderFloat16] && f[SPYI_VK_FEATURE_storageBuffer16BitAccess])
        info->features |= SPY_FEATURE_FLOAT16;
    if (f[SPYI_VK_FEATURE_shaderFloat64]) info->features |= SPY_FEATURE_FLOAT64;
    if (f[SPYI_VK_FEATURE_shaderInt8] && f[SPYI_VK_FEATURE_storageBuffer8BitAccess])
        info->features |= SPY_FEATURE_INT8;
    if (f[SPYI_VK_FEATURE_shaderInt16] && f[SPYI_VK_FEATURE_storageBuffer16BitAccess])
        info->features |= SPY_FEATURE_INT16;
    if (f[SPYI_VK_FEATURE_shaderInt64]) info->features |= SPY_FEATURE_INT64;
    if (f[SPYI_VK_FEATURE_shaderBufferFloat32AtomicAdd]) info->features |= SPY_FEATURE_ATOMIC_FLOAT32_ADD;
    if (adapter->timestamp_bits != 0) {
        info->features |= SPY_FEATURE_TIMESTAMPS;
        info->timestamp_period_ns = (double)adapter->limits.timestampPeriod;
    }
    if ((adapter->subgroup_operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0)
        info->features |= SPY_FEATURE_SUBGROUPS;
    if (f[SPYI_VK_FEATURE_bufferDeviceAddress]) info->features |= SPY_FEATURE_POINTERS;
    if (spyi_vk_has_handles(adapter)) info->features |= SPY_FEATURE_HANDLES;
    if (f[SPYI_VK_FEATURE_cooperativeMatrix] && adapter->matrices) {
        info->features |= SPY_FEATURE_COOPERATIVE_MATRIX;
        if (f[SPYI_VK_FEATURE_cooperativeMatrixConversions])
            info->features |= SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS;
    }
    info->max_groupshared_bytes = limits->maxComputeSharedMemorySize;
    info->max_group_size = limits->maxComputeWorkGroupInvocations;
    if (limits->maxComputeWorkGroupSize[0] < info->max_group_size)
        info->max_group_size = limits->maxComputeWorkGroupSize[0];
    info->max_group_count = limits->maxComputeWorkGroupCount[0];
    info->max_inline_block_bytes = limits->maxPushConstantsSize;
    info->max_binding_bytes = limits->maxStorageBufferRange;
    for (i = 0; i < adapter->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &adapter->memory.memoryHeaps[i];
        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap->size > info->memory_bytes) {
            info->memory_bytes = heap->size;
        }
    }
}

SPYI_FN void spyi_vk_query_adapter(const spyi_vk_instance *instance, VkPhysicalDevice device, uint32_t index,
                                   spyi_vk_adapter *adapter) {
    VkPhysicalDeviceProperties properties;
    uint32_t i;
    size_t n;
    SPYI_VK_ZERO(*adapter);
    instance->GetPhysicalDeviceProperties(device, &properties);
    adapter->handle = device;
    adapter->index = index;
    adapter->limits = properties.limits;
    adapter->info.backend = "vulkan";
    adapter->info.type = spyi_vk_adapter_type(properties.deviceType);
    adapter->info.api_version = properties.apiVersion;
    (void)snprintf(adapter->info.name, sizeof adapter->info.name, "%s", properties.deviceName);
    adapter->api_version =
        properties.apiVersion < instance->api_version ? properties.apiVersion : instance->api_version;
    instance->GetPhysicalDeviceMemoryProperties(device, &adapter->memory);
    if (adapter->api_version < VK_API_VERSION_1_2) {
        (void)snprintf(adapter->refusal, sizeof adapter->refusal, "has Vulkan %u.%u; 1.2 is needed",
                       VK_API_VERSION_MAJOR(adapter->api_version),
                       VK_API_VERSION_MINOR(adapter->api_version));
        return; // Vulkan below 1.2 does not know the structs of the further queries
    }
    spyi_vk_query_extensions(instance, adapter);
    spyi_vk_query_features(instance, adapter);
    spyi_vk_query_properties(instance, adapter);
    spyi_vk_query_matrices(instance, adapter);
    if (!spyi_vk_query_queues(instance, adapter)) {
        (void)snprintf(adapter->refusal, sizeof adapter->refusal, "has no queue with compute");
    }
    for (i = 0; i < SPYI_VK_FEATURE_REQUIRED; i++) {
        if (adapter->features[i]) continue;
        n = strlen(adapter->refusal);
        (void)snprintf(adapter->refusal + n, sizeof adapter->refusal - n, "%s%s", n == 0 ? "lacks " : ", ",
                       spyi_vk_feature_name(i));
    }
    spyi_vk_fill_info(adapter);
}

// >>choice

static char spyi_vk_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool spyi_vk_contains(const char *text, const char *part) {
    for (;; text++) {
        size_t i = 0;
        while (part[i] != '\0' && spyi_vk_lower(text[i]) == spyi_vk_lower(part[i])) i++;
        if (part[i] == '\0') return true;
        if (*text == '\0') return false;
    }
}

// Returns the reason why the desc does not ask for this adapter, or NULL when it may be chosen.
static const char *spyi_vk_not_wanted(const spyi_vk_adapter *adapter, const spy_device_desc *desc) {
    if (desc->adapter != 0 && desc->adapter != adapter->index) return "has another number";
    if (desc->adapter != 0) return NULL; // name and type choose only where the desc has no number
    if (desc->adapter_name != NULL && !spyi_vk_contains(adapter->info.name, desc->adapter_name))
        return "has another name";
    if (desc->adapter_type != SPY_ADAPTER_TYPE_DEFAULT && desc->adapter_type != adapter->info.type)
        return "is of another type";
    return NULL;
}

static void spyi_vk_explain_choice(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                   const VkPhysicalDevice *devices, uint32_t count, spyi_vk_adapter *adapter,
                                   spyi_text *error) {
    uint32_t i;
    spyi_text_add(error, "no Vulkan device fits; looked for ");
    if (desc->adapter != 0) spyi_text_add(error, "adapter %u", desc->adapter);
    else spyi_text_add(error, "an adapter of %s type", spyi_vk_type_name(desc->adapter_type));
    if (desc->adapter == 0 && desc->adapter_name != NULL)
        spyi_text_add(error, " named '%s'", desc->adapter_name);
    spyi_text_add(error, "; found");
    if (count == 0) spyi_text_add(error, " none (on Debian: apt-get install mesa-vulkan-drivers)");
    for (i = 0; i < count; i++) {
        const char *why;
        spyi_vk_query_adapter(instance, devices[i], i + 1, adapter);
        why = spyi_vk_not_wanted(adapter, desc);
        spyi_text_add(error, "%s %u '%s' (%s), which %s", i == 0 ? "" : ";", i + 1, adapter->info.name,
                      spyi_vk_type_name(adapter->info.type), why != NULL ? why : adapter->refusal);
    }
}

static spy_status spyi_vk_list_devices(const spyi_vk_instance *instance, VkPhysicalDevice *devices,
                                       uint32_t *count, spyi_text *error) {
    VkResult result;
    *count = SPYI_VK_MAX_ADAPTERS;
    result = instance->EnumeratePhysicalDevices(instance->handle, count, devices);
    if (result >= 0) return SPY_OK;
    spyi_text_add(error, "vkEnumeratePhysicalDevices failed: %s", spyi_vk_result_name(result));
    return SPY_ERROR_NO_DEVICE;
}

// Chooses among the adapters that the desc allows. A discrete one comes before an integrated one, which comes
// before a cpu; of one type the first is chosen.
SPYI_FN spy_status spyi_vk_choose_adapter(const spyi_vk_instance *instance, const spy_device_desc *desc,
                                          spyi_vk_adapter *adapter, spyi_text *error) {
    VkPhysicalDevice devices[SPYI_VK_MAX_ADAPTERS];
    uint32_t i, count, best = 0, best_type = (uint32_t)SPY_ADAPTER_TYPE_CPU + 1;
    spy_status status = spyi_vk_list_devices(instance, devices, &count, error);
    if (status != SPY_OK) return status;
    for (i = 0; i < count; i++) {
        spyi_vk_query_adapter(instance, devices[i], i + 1, adapter);
        if (adapter->refusal[0] != '\0' || spyi_vk_not_wanted(adapter, desc) != NULL) continue;
        if ((uint32_t)adapter->info.type >= best_type) continue;
        best = i + 1;
        best_type = (uint32_t)adapter->info.type;
    }
    if (best == 0) {
        spyi_vk_explain_choice(instance, desc, devices, count, adapter, error);
        return SPY_ERROR_NO_DEVICE;
    }
    spyi_vk_query_adapter(instance, devices[best - 1], best, adapter);
    return SPY_OK;
}

SPYI_FN size_t spyi_vk_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    VkPhysicalDevice devices[SPYI_VK_MAX_ADAPTERS];
    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
    spyi_context ctx;
    spy_device_desc desc;
    uint32_t i, count = 0, failed = spyi_failed_allocations();
    memset(&desc, 0, sizeof desc);
    memset(&ctx, 0, sizeof ctx);
    spyi_context_init(&ctx, &desc);
    if (spyi_vk_instance_init(&instance, &ctx, NULL, false, error) == SPY_OK) {
        if (spyi_vk_list_devices(&instance, devices, &count, error) != SPY_OK) count = 0;
        for (i = 0; i < count && i < capacity && infos != NULL; i++) {
            spyi_vk_query_adapter(&instance, devices[i], i + 1, &adapter);
            infos[i] = adapter.info;
        }
        spyi_vk_instance_destroy(&instance);
    }
    if (spyi_check_allocations(failed, SPY_OK, error) != SPY_OK) count = 0;
    spyi_context_destroy(&ctx);
    return count;
}
