// Devices of the Vulkan backend: which adapter is chosen, what a driver lacks, features that an engine enables, an engine's objects,
// and many devices one after another.
#include "vk_backend_test.h"

// >>adapters, and what a driver lacks

static void test_choice(void **state) {
    spy_device_info infos[8];
    size_t i, count;
    test_gpu t;
    spy_device_desc desc = test_desc(&t);
    (void)state;
    memset(infos, 0, sizeof infos);
    count = backend->enumerate(infos, 8, &t.error);
    if (count == 0) {
        print_message("skipped: %s\n", spyi_text_str(&t.error));
        skip();
    }
    assert_int_equal(backend->enumerate(NULL, 0, &t.error), count);
    for (i = 0; i < count && i < 8; i++) {
        const spy_device_info *d = &infos[i];
        print_message(
            "%zu: %s, %s, type %d, features 0x%x, wave %u, groups %u of %u, block %u, memory %llu MiB\n",
            i + 1, d->name, d->driver, (int)d->type, d->features, d->subgroup_size, d->max_group_count,
            d->max_group_size, d->max_inline_block_bytes, (unsigned long long)(d->memory_bytes >> 20));
        assert_true(d->name[0] != '\0' && d->type != SPY_ADAPTER_TYPE_DEFAULT &&
                    strcmp(d->backend, "vulkan") == 0);
    }
    spyi_context_init(&t.ctx, &desc);
    desc.adapter = 77;
    assert_int_equal(backend->create(&t.ctx, &desc, &t.gpu, &t.error), SPY_ERROR_NO_DEVICE);
    assert_null(t.gpu);
    assert_non_null(strstr(spyi_text_str(&t.error), "looked for adapter 77"));
    assert_non_null(strstr(spyi_text_str(&t.error), infos[0].name));
    spyi_text_clear(&t.error);
    desc.adapter = 0;
    desc.adapter_name = "no such thing";
    assert_int_equal(backend->create(&t.ctx, &desc, &t.gpu, &t.error), SPY_ERROR_NO_DEVICE);
    print_message("%s\n", spyi_text_str(&t.error));
    spyi_text_clear(&t.error);
    desc.adapter_name = infos[count - 1].name;
    desc.adapter_type = infos[count - 1].type;
    test_ok(&t, backend->create(&t.ctx, &desc, &t.gpu, &t.error));
    assert_string_equal(test_limits(&t)->info.name, infos[count - 1].name);
    test_close(&t);
}

// A driver that lacks one function of Vulkan 1.2, at either level: refused by the function's name.
static PFN_vkGetInstanceProcAddr real_instance_proc;

static PFN_vkGetDeviceProcAddr real_device_proc;
static const char *lacking;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL lacking_device_proc(VkDevice device, const char *name) {
    return strcmp(name, lacking) == 0 ? NULL : real_device_proc(device, name);
}

static spy_vk_void_func lacking_instance_proc(void *instance, const char *name) {
    if (strcmp(name, lacking) == 0) return NULL;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (spy_vk_void_func)lacking_device_proc;
    return (spy_vk_void_func)real_instance_proc((VkInstance)instance, name);
}

static void test_missing_function(void **state) {
    static const char *const names[] = { "vkCmdDispatch", "vkCreateDevice" };
    test_gpu whole, t;
    spy_vk_desc hooked;
    spy_device_desc desc;
    size_t i;
    (void)state;
    test_open(&whole); // keeps the loader open
    real_instance_proc = ((spyi_vk_gpu *)(void *)whole.gpu)->instance.get_proc;
    real_device_proc = ((spyi_vk_gpu *)(void *)whole.gpu)->instance.GetDeviceProcAddr;
    desc = test_desc(&t);
    memset(&hooked, 0, sizeof hooked);
    hooked.get_instance_proc_addr = lacking_instance_proc;
    desc.backend_desc = &hooked;
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        char wanted[64];
        lacking = names[i];
        (void)snprintf(wanted, sizeof wanted, "does not know %s;", lacking);
        spyi_context_init(&t.ctx, &desc);
        assert_int_equal(backend->create(&t.ctx, &desc, &t.gpu, &t.error), SPY_ERROR_NO_DEVICE);
        assert_null(t.gpu);
        assert_non_null(strstr(spyi_text_str(&t.error), wanted));
        print_message("%s\n", spyi_text_str(&t.error));
        spyi_text_clear(&t.error);
        spyi_context_destroy(&t.ctx);
    }
    assert_int_equal(t.alive, 0);
    spyi_text_free(&t.error);
    test_close(&whole);
}

// >>cooperative matrices: the flags follow the enabled features and what the driver says of sizes and types

static uint32_t test_matrix_flags(bool feature, bool conversions, bool matrices) {
    spyi_vk_adapter adapter;
    memset(&adapter, 0, sizeof adapter);
    adapter.features[SPYI_VK_FEATURE_cooperativeMatrix] = feature;
    adapter.features[SPYI_VK_FEATURE_cooperativeMatrixConversions] = conversions;
    adapter.matrices = matrices;
    adapter.limits.maxComputeSharedMemorySize = 49152;
    spyi_vk_fill_info(&adapter);
    assert_int_equal(adapter.info.max_groupshared_bytes, 49152);
    return adapter.info.features &
           (SPY_FEATURE_COOPERATIVE_MATRIX | SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS);
}

static struct {
    uint32_t count;
    int32_t c, scope; // of the last one
} test_matrices;

static VkResult VKAPI_CALL test_get_matrices(VkPhysicalDevice device, uint32_t *count,
                                             spyi_vk_matrix_properties *properties) {
    uint32_t i;
    (void)device;
    if (properties == NULL) {
        *count = test_matrices.count;
        return VK_SUCCESS;
    }
    for (i = 0; i < *count; i++) {
        spyi_vk_matrix_properties *p = &properties[i];
        bool last = i + 1 == *count;
        assert_int_equal(p->sType, SPYI_VK_PROPERTIES_MATRIX);
        p->m = p->k = 16;
        p->n = last ? 16 : 8;
        p->a = p->b = SPYI_VK_MATRIX_FLOAT16;
        p->c = p->result = last ? test_matrices.c : SPYI_VK_MATRIX_FLOAT32;
        p->scope = last ? test_matrices.scope : SPYI_VK_MATRIX_SUBGROUP;
    }
    return VK_SUCCESS;
}

static PFN_vkVoidFunction VKAPI_CALL test_get_matrix_proc(VkInstance handle, const char *name) {
    (void)handle;
    assert_string_equal(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    return (PFN_vkVoidFunction)test_get_matrices;
}

static bool test_query_matrices(spyi_context *ctx, uint32_t count, int32_t c, int32_t scope) {
    spyi_vk_instance instance;
    spyi_vk_adapter adapter;
    memset(&instance, 0, sizeof instance);
    memset(&adapter, 0, sizeof adapter);
    instance.ctx = ctx;
    instance.get_proc = test_get_matrix_proc;
    adapter.features[SPYI_VK_FEATURE_cooperativeMatrix] = true;
    test_matrices.count = count;
    test_matrices.c = c;
    test_matrices.scope = scope;
    spyi_vk_query_matrices(&instance, &adapter);
    return adapter.matrices;
}

static void test_matrix_features(void **state) {
    const uint32_t one = SPY_FEATURE_COOPERATIVE_MATRIX,
                   both = one | SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS;
    spy_device_desc desc;
    spyi_context ctx;
    (void)state;
    memset(&desc, 0, sizeof desc);
    spyi_context_init(&ctx, &desc);
    assert_int_equal(test_matrix_flags(true, true, true), both);
    assert_int_equal(test_matrix_flags(true, false, true), one);
    assert_int_equal(test_matrix_flags(true, true, false), 0);
    assert_int_equal(test_matrix_flags(false, true, true), 0);
    assert_true(test_query_matrices(&ctx, 3, SPYI_VK_MATRIX_FLOAT32, SPYI_VK_MATRIX_SUBGROUP));
    assert_false(test_query_matrices(&ctx, 3, SPYI_VK_MATRIX_FLOAT16, SPYI_VK_MATRIX_SUBGROUP));
    assert_false(test_query_matrices(&ctx, 3, SPYI_VK_MATRIX_FLOAT32, 2)); // of a workgroup
    assert_false(test_query_matrices(&ctx, 0, SPYI_VK_MATRIX_FLOAT32, SPYI_VK_MATRIX_SUBGROUP));
    spyi_context_destroy(&ctx);
}

// >>spy_vk_fill_features: an engine's chains, without a GPU

static bool test_names(const spy_vk_features *on, const char *name) {
    uint32_t i, found = 0;
    for (i = 0; i < on->count; i++) found += strcmp(on->names[i], name) == 0 ? 1u : 0u;
    assert_true(found <= 1);
    return found == 1;
}

static void test_fill_error(void *want, const void *have, spy_status status, const char *text) {
    spy_vk_features on;
    spy_error error;
    on.count = 77;
    assert_int_equal(spy_vk_fill_features(want, have, &on), status);
    assert_int_equal(on.count, 77);
    error = spy_take_error(NULL);
    assert_int_equal(error.code, status);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' not in '%s'", text, error.message);
}

static void test_fill_features(void **state) {
    VkPhysicalDeviceFeatures2 have, want;
    VkPhysicalDeviceVulkan12Features have12, want12;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceBufferDeviceAddressFeatures address;
    VkPhysicalDeviceScalarBlockLayoutFeatures scalar;
    VkPhysicalDeviceShaderFloat16Int8Features small;
    spy_vk_features on;
    (void)state;
    memset(&have, 0, sizeof have);
    memset(&want, 0, sizeof want);
    memset(&have12, 0, sizeof have12);
    memset(&want12, 0, sizeof want12);
    have.sType = want.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    have12.sType = want12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    test_fill_error(NULL, NULL, SPY_ERROR_INVALID_ARGUMENT, "features: expected a chain");
    test_fill_error(&want12, NULL, SPY_ERROR_INVALID_ARGUMENT,
                    "has shaderInt64: expected a VkPhysicalDeviceFeatures2");
    test_fill_error(&want, NULL, SPY_ERROR_INVALID_ARGUMENT,
                    "features: no struct of the chain has timelineSemaphore: expected a "
                    "VkPhysicalDeviceVulkan12Features");
    want.pNext = &want12;
    have.features.shaderInt64 = VK_TRUE;
    test_fill_error(&want, &have, SPY_ERROR_INVALID_ARGUMENT, "supported: no struct");
    have.pNext = &have12;
    have12.timelineSemaphore = have12.bufferDeviceAddress = VK_TRUE;
    test_fill_error(&want, &have, SPY_ERROR_UNSUPPORTED, "the physical device lacks scalarBlockLayout");
    assert_int_equal(want.features.shaderInt64, VK_FALSE); // nothing is half written

    // Required ones, optional ones that are there, the engine's own.
    have12.scalarBlockLayout = have12.shaderInt8 = have12.hostQueryReset = have.features.shaderFloat64 =
        VK_TRUE;
    want.features.shaderInt16 = want12.drawIndirectCount = VK_TRUE;
    assert_int_equal(spy_vk_fill_features(&want, &have, &on), SPY_OK);
    assert_true(want.features.shaderInt64 && want12.timelineSemaphore && want12.bufferDeviceAddress &&
                want12.scalarBlockLayout);
    assert_true(want.features.shaderFloat64 && want12.shaderInt8 && want.features.shaderInt16 &&
                want12.drawIndirectCount);
    assert_false(want12.hostQueryReset || want12.shaderFloat16 || want.features.geometryShader);
    assert_int_equal(on.count, 3);
    assert_true(test_names(&on, "shaderFloat64") && test_names(&on, "shaderInt8") &&
                test_names(&on, "shaderInt16"));

    // The structs of single extensions.
    memset(&want.features, 0, sizeof want.features);
    memset(&timeline, 0, sizeof timeline);
    memset(&address, 0, sizeof address);
    memset(&scalar, 0, sizeof scalar);
    memset(&small, 0, sizeof small);
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    scalar.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES;
    small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    want.pNext = &timeline;
    timeline.pNext = &address;
    address.pNext = &scalar;
    scalar.pNext = &small;
    assert_int_equal(spy_vk_fill_features(&want, &have, &on), SPY_OK);
    assert_true(timeline.timelineSemaphore && address.bufferDeviceAddress && scalar.scalarBlockLayout);
    assert_true(small.shaderInt8 && !small.shaderFloat16 && !address.bufferDeviceAddressCaptureReplay);
    assert_int_equal(on.count, 2);

    // Without `supported` the required ones alone; without `enabled` too.
    memset(&want.features, 0, sizeof want.features);
    small.shaderInt8 = VK_FALSE;
    assert_int_equal(spy_vk_fill_features(&want, NULL, &on), SPY_OK);
    assert_true(want.features.shaderInt64 && !want.features.shaderFloat64 && !small.shaderInt8 &&
                on.count == 0);
    assert_int_equal(spy_vk_fill_features(&want, &have, NULL), SPY_OK);
    assert_true(want.features.shaderFloat64 && small.shaderInt8);
}

// All that a real device has, in the structs that the library itself uses.
static void test_fill_all_features(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_vk_feature_set have, want;
    spy_vk_features on;
    uint32_t i, count = 0;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    spyi_vk_feature_chain(&have, &gpu->adapter);
    spyi_vk_feature_chain(&want, &gpu->adapter);
    gpu->instance.GetPhysicalDeviceFeatures2(gpu->adapter.handle, &have.core);
    assert_int_equal(spy_vk_fill_features(&want, &have, &on), SPY_OK);
    for (i = 0; i < SPYI_VK_FEATURE_COUNT; i++) {
        VkBool32 value;
        memcpy(&value, (const char *)&want + spyi_vk_feature_offset(i), sizeof value);
        assert_int_equal(value, gpu->adapter.features[i]);
        if (i < SPYI_VK_FEATURE_REQUIRED || !value) continue;
        assert_true(test_names(&on, spyi_vk_feature_name(i)));
        count++;
    }
    assert_int_equal(on.count, count);
    test_close(&t);
}

// >>an engine's objects: a second backend device over the first one's VkDevice

static int locks, unlocks;

static void test_lock(void *user) {
    (void)user;
    assert_int_equal(locks, unlocks);
    locks++;
}

static void test_unlock(void *user) {
    (void)user;
    unlocks++;
}

static spy_vk_desc test_engine_desc(const spyi_vk_gpu *own) {
    static const char *const features[] = { "shaderInt16" };
    spy_vk_desc desc;
    memset(&desc, 0, sizeof desc);
    memcpy(&desc.get_instance_proc_addr, &own->instance.get_proc, sizeof desc.get_instance_proc_addr);
    desc.instance = own->instance.handle;
    desc.physical_device = own->adapter.handle;
    desc.device = own->device;
    desc.queue = own->queue;
    desc.queue_family = own->queue_family;
    desc.lock_queue = test_lock;
    desc.unlock_queue = test_unlock;
    if (own->adapter.features[SPYI_VK_FEATURE_shaderInt16]) {
        desc.enabled_features = features;
        desc.enabled_feature_count = 1;
    }
    return desc;
}

static void test_engine(void **state) {
    enum { WIDTH = 64 };
    test_gpu t, e;
    spy_device_desc desc;
    spy_vk_desc engine;
    spyi_vk_gpu *own, *gpu;
    spyi_chunk a;
    spyi_kernel *kernel;
    slow_block block;
    uint32_t y[WIDTH], want, big_data = 0;
    uint64_t number, id, value = 0;
    VkSemaphore timeline;
    spyi_text message;
    unsigned char *large = (unsigned char *)malloc(100000);
    int i;
    (void)state;
    memset(&message, 0, sizeof message);
    test_open(&t);
    own = (spyi_vk_gpu *)(void *)t.gpu;
    desc = test_desc(&e);
    engine = test_engine_desc(own);
    desc.backend_desc = &engine;
    spyi_context_init(&e.ctx, &desc);
    engine.queue = NULL;
    assert_int_equal(backend->create(&e.ctx, &desc, &e.gpu, &e.error), SPY_ERROR_INVALID_ARGUMENT);
    spyi_text_clear(&e.error);
    engine.queue = own->queue;
    test_ok(&e, backend->create(&e.ctx, &desc, &e.gpu, &e.error));
    gpu = (spyi_vk_gpu *)(void *)e.gpu;
    assert_false(gpu->adapter.features[SPYI_VK_FEATURE_shaderFloat64]);

    kernel = KERNEL(&e, slow, sizeof block);
    a = test_chunk(&e, SPYI_MEMORY_DEVICE, 1 << 20);
    block.p = a.address;
    block.rounds = 1;
    block.n = WIDTH;
    test_ok(&e, work_fill(backend, e.gpu, &a, 0, WIDTH * 4, 5, true, &e.error));
    test_run(&e, kernel, &block, NULL, WIDTH, true);
    want = 5u * 1664525u + 1013904223u;

    // Into the engine's command buffer, here the first device's.
    test_ok(&t, spyi_vk_begin(own, &t.error));
    test_ok(&e, spyi_vk_begin_recording(gpu, own->commands, &id, &e.error));
    number = spyi_open_submit(e.gpu);
    test_run(&e, kernel, &block, NULL, WIDTH, true);
    want = want * 1664525u + 1013904223u;
    memset(large, 0x5a, 100000);
    test_upload(&e, &a, 4096, large, 100000, true);
    test_ok(&e, spyi_vk_end_recording(gpu, &e.error));
    assert_true(spyi_open_submit(e.gpu) > number);
    assert_true(backend->finished_submit(e.gpu) < number);
    assert_int_equal(backend->wait(e.gpu, number, UINT64_MAX, &message), SPY_ERROR_NOT_READY);
    assert_int_equal(backend->download(e.gpu, y, &a, 0, sizeof y, number, &message), SPY_ERROR_NOT_READY);
    assert_non_null(strstr(spyi_text_str(&message), "spy_vk_recording_finished"));
    test_ok(&t, backend->submit(t.gpu, &t.error)); // the engine submits
    test_wait_all(&t);
    test_ok(&e, spyi_vk_finish_recording(gpu, id, &e.error));
    test_ok(&e, backend->wait(e.gpu, number, UINT64_MAX, &e.error));
    assert_true(backend->finished_submit(e.gpu) >= number);
    test_run(&e, kernel, &block, NULL, WIDTH, true);
    want = want * 1664525u + 1013904223u;
    test_download(&e, y, &a, 0, sizeof y);
    for (i = 0; i < WIDTH; i++) assert_int_equal(y[i], want);
    test_download(&e, &big_data, &a, 4096 + 99996, 4);
    assert_int_equal(big_data, 0x5a5a5a5au);

    // Semaphores: the next submission signals one of the engine's, and waits for a value that it must give
    // first.
    timeline = test_timeline(own);
    test_ok(&e, spyi_vk_add_semaphore(gpu, &gpu->signals, (uint64_t)timeline, 3, &e.error));
    test_ok(&e, backend->submit(e.gpu, &e.error)); // no work, yet a signal
    test_wait_all(&e);
    assert_int_equal(own->vk.vkGetSemaphoreCounterValue(own->device, timeline, &value), VK_SUCCESS);
    assert_int_equal(value, 3);
    test_ok(&e, spyi_vk_add_semaphore(gpu, &gpu->waits, (uint64_t)timeline, 4, &e.error));
    number = spyi_open_submit(e.gpu);
    test_run(&e, kernel, &block, NULL, WIDTH, true);
    test_ok(&e, backend->submit(e.gpu, &e.error));
    assert_int_equal(backend->wait(e.gpu, number, 20000000, &message), SPY_ERROR_NOT_READY);
    test_signal(own, timeline, 4);
    test_ok(&e, backend->wait(e.gpu, number, UINT64_MAX, &e.error));
    assert_int_equal(spyi_vk_add_semaphore(gpu, &gpu->waits, 0, 0, &message), SPY_ERROR_INVALID_ARGUMENT);
    spyi_text_free(&message);
    own->vk.vkDestroySemaphore(own->device, timeline, NULL);
    assert_true(locks > 0);
    assert_int_equal(locks, unlocks);
    backend->destroy_kernel(e.gpu, kernel);
    backend->free_chunk(e.gpu, &a);
    test_close(&e);
    test_close(&t);
    free(large);
}

// >>requirements, and many devices

static void test_requirements(void **state) {
    spy_vk_requirements r = spy_vk_required_features();
    uint32_t i;
    (void)state;
    assert_int_equal(r.api_version, VK_API_VERSION_1_2);
    assert_int_equal(r.feature_count, SPYI_VK_FEATURE_REQUIRED);
    assert_int_equal(r.feature_count + r.optional_feature_count, SPYI_VK_FEATURE_COUNT);
    for (i = 0; i < r.feature_count; i++) assert_string_equal(r.features[i], spyi_vk_feature_name(i));
    for (i = 0; i < r.optional_feature_count; i++) {
        assert_string_equal(r.optional_features[i], spyi_vk_feature_name(r.feature_count + i));
    }
    assert_string_equal(r.optional_extensions[0], "VK_KHR_push_descriptor");
}

static void test_not_built(void **state) {
    const spy_backend *other = spy_d3d12_backend();
    spyi_text error;
    spyi_gpu *gpu = NULL;
    (void)state;
    memset(&error, 0, sizeof error);
    assert_int_equal(other->enumerate(NULL, 0, &error), 0);
    assert_int_equal(other->create(NULL, NULL, &gpu, &error), SPY_ERROR_UNSUPPORTED);
    assert_null(gpu);
    assert_non_null(strstr(spyi_text_str(&error), "this backend is not built yet"));
    spyi_text_free(&error);
}

#ifdef __linux__
static int mapped_libraries(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1000];
    int count = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) count += strstr(line, "r-xp") && strstr(line, ".so");
    fclose(maps);
    return count;
}

// NVIDIA's driver cannot be loaded for the 30th time in a process, so it stays loaded when all devices are gone.
static void test_many_devices(void **state) {
    test_gpu t;
    (void)state;
    test_open(&t);
    int open = mapped_libraries();
    test_close(&t);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(mapped_libraries(), open);
        test_open(&t);
        test_close(&t);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef __linux__
        cmocka_unit_test(test_many_devices),
#endif
        cmocka_unit_test(test_requirements), cmocka_unit_test(test_not_built),
        cmocka_unit_test(test_choice), cmocka_unit_test(test_missing_function),
        cmocka_unit_test(test_fill_features), cmocka_unit_test(test_fill_all_features),
        cmocka_unit_test(test_engine), cmocka_unit_test(test_matrix_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
