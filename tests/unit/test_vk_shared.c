// Memory and semaphores with file descriptors: a second VkDevice imports the memory and sees the same bytes, in both
// directions; tensors over it take part in calls of the library as others do. Semaphores are tested where the driver exports
// timeline semaphores (lavapipe of Debian 12 does not, and the error says so). Skipped where there is no Vulkan device.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "list/list.h"
#include "vk/internal.h"
#endif
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static int warnings;

static void listen(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (strstr(message, "not a conformant") || strstr(message, "vulkan-validationlayers")) return;
    if (level == SPY_LOG_LEVEL_WARNING || strstr(message, "alidation")) {
        print_message("%s\n", message);
        warnings++;
    }
}

static spy_device *open_device(void) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.log.func = listen;
    d.enable_validation = true;
    spy_device *device = spy_create_device(&d);
    if (!device) {
        spy_error e = spy_take_error(NULL);
        if (e.code != SPY_ERROR_NO_DEVICE) fail_msg("%s", e.message);
        print_message("skipped: %s\n", e.message);
    }
    return device;
}

static void good(spy_device *device, spy_status s) {
    if (s != SPY_OK) fail_msg("%s", spy_take_error(device).message);
}

static void refuses(spy_device *device, spy_status code, const char *text) {
    spy_error e = spy_take_error(device);
    assert_int_equal(e.code, code);
    if (!strstr(e.message, text)) fail_msg("expected '%s' in: %s", text, e.message);
}

// Imports the memory into another device, where the host sees it.
typedef struct importer {
    spy_device *device;
    spyi_vk_gpu *gpu;
    VkBuffer buffer;
    VkDeviceMemory memory;
    float *mapped;
} importer;

static void import_memory(importer *i, const spy_vk_shared_memory *shared) {
    VkImportMemoryFdInfoKHR from = { VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL,
                                     VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, shared->fd };
    VkExternalMemoryBufferCreateInfo external = { VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
                                                  VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT };
    VkMemoryDedicatedAllocateInfo dedicated = { VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, &from, VK_NULL_HANDLE, VK_NULL_HANDLE };
    VkBufferCreateInfo buffer;
    VkMemoryAllocateInfo info;
    memset(&buffer, 0, sizeof buffer);
    memset(&info, 0, sizeof info);
    buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    i->gpu = (spyi_vk_gpu *)(void *)i->device->gpu;
    buffer.pNext = &external;
    buffer.size = shared->size_bytes;
    buffer.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    assert_int_equal(i->gpu->vk.vkCreateBuffer(i->gpu->device, &buffer, NULL, &i->buffer), VK_SUCCESS);
    dedicated.buffer = i->buffer;
    info.pNext = &dedicated;
    info.allocationSize = shared->allocated_bytes;
    info.memoryTypeIndex = i->gpu->memory_type[SPYI_VK_MEMORY_DEVICE];
    assert_int_equal(i->gpu->vk.vkAllocateMemory(i->gpu->device, &info, NULL, &i->memory), VK_SUCCESS);
    assert_int_equal(i->gpu->vk.vkBindBufferMemory(i->gpu->device, i->buffer, i->memory, 0), VK_SUCCESS);
    void *mapped = NULL;
    if (spy_get_device_info(i->device).type != SPY_ADAPTER_TYPE_DISCRETE)
        assert_int_equal(i->gpu->vk.vkMapMemory(i->gpu->device, i->memory, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    i->mapped = (float *)mapped;
}

static void test_memory(void **state) {
    (void)state;
    spy_device *device = open_device();
    if (!device) skip();
    spy_vk_sharing sharing = spy_vk_get_sharing(device);
    spy_vk_shared_memory shared;
    if (!sharing.memory) {
        print_message("no exported memory here\n");
        assert_int_equal(spy_vk_create_shared_memory(device, 1000, &shared), SPY_ERROR_UNSUPPORTED);
        refuses(device, SPY_ERROR_UNSUPPORTED, "VK_KHR_external_memory_fd");
        spy_release_device(device);
        return;
    }
    int any = 0;
    for (int i = 0; i < 16; i++) any |= sharing.device_uuid[i];
    assert_int_not_equal(any, 0);
    spy_device_stats before = spy_get_device_stats(device);
    good(device, spy_vk_create_shared_memory(device, 1000, &shared));
    assert_int_equal(shared.size_bytes, 1024);
    assert_true(shared.allocated_bytes >= 1024 && shared.fd >= 0 && shared.buffer != 0);

    importer other = { open_device(), NULL, VK_NULL_HANDLE, VK_NULL_HANDLE, NULL };
    assert_non_null(other.device);
    import_memory(&other, &shared); // takes the descriptor over
    if (other.mapped) {
        spy_tensor_desc d;
        memset(&d, 0, sizeof d);
        d.shape = SPY_SHAPE(200);
        spy_tensor *t = spy_vk_create_tensor(device, shared.buffer, 64, 800, &d);
        assert_non_null(t);
        for (int round = 1; round < 4; round++) {
            float got[200];
            good(device, spy_tensor_fill(t, round + 0.5));
            good(device, spy_tensor_read(t, got, sizeof got)); // waits
            for (int i = 0; i < 200; i++) assert_true(other.mapped[16 + i] == (float)round + 0.5f);
            for (int i = 0; i < 200; i++) other.mapped[16 + i] = (float)(i * round);
            good(device, spy_tensor_read(t, got, sizeof got));
            for (int i = 0; i < 200; i++) assert_true(got[i] == (float)(i * round));
        }
        spy_release_tensor(t);
    } else print_message("memory of the GPU is not mapped: the contents are compared by tests/torch/on_gpu.py\n");
    spyi_vk_gpu *gpu = other.gpu;
    gpu->vk.vkDestroyBuffer(gpu->device, other.buffer, NULL);
    gpu->vk.vkFreeMemory(gpu->device, other.memory, NULL);
    good(device, spy_vk_release_shared_memory(device, &shared));
    assert_true(shared.buffer == 0 && shared.fd == -1);
    good(device, spy_vk_release_shared_memory(device, &shared)); // again: nothing
    assert_true(spy_get_device_stats(device).driver_bytes <= before.driver_bytes + (1u << 26));

    assert_int_equal(spy_vk_create_shared_memory(device, 0, &shared), SPY_ERROR_INVALID_ARGUMENT);
    refuses(device, SPY_ERROR_INVALID_ARGUMENT, "size_bytes is 0");
    assert_int_equal(spy_vk_create_shared_memory(device, 16, NULL), SPY_ERROR_INVALID_ARGUMENT);
    refuses(device, SPY_ERROR_INVALID_ARGUMENT, "shared is NULL");
    assert_int_equal(spy_vk_create_shared_memory(device, (uint64_t)1 << 60, &shared), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    refuses(device, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "largest allocation");
    spy_release_device(other.device);
    spy_release_device(device);
    assert_int_equal(warnings, 0);
}

static void test_semaphores(void **state) {
    (void)state;
    spy_device *device = open_device();
    if (!device) skip();
    uint64_t semaphore = 7;
    int fd = 7;
    if (!spy_vk_get_sharing(device).semaphores) {
        assert_int_equal(spy_vk_create_shared_semaphore(device, &semaphore, &fd), SPY_ERROR_UNSUPPORTED);
        refuses(device, SPY_ERROR_UNSUPPORTED, "VK_KHR_external_semaphore_fd");
        assert_true(semaphore == 0 && fd == -1);
    } else {
        good(device, spy_vk_create_shared_semaphore(device, &semaphore, &fd));
        assert_true(semaphore != 0 && fd >= 0);
        spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)device->gpu;
        uint64_t value = 0;
        good(device, spy_vk_signal_semaphore(device, semaphore, 3));
        (void)spy_flush(device);
        good(device, spy_wait(device));
        assert_int_equal(gpu->vk.vkGetSemaphoreCounterValue(gpu->device, (VkSemaphore)semaphore, &value), VK_SUCCESS);
        assert_int_equal(value, 3);
        (void)close(fd);
        good(device, spy_vk_release_shared_semaphore(device, semaphore));
    }
    assert_int_equal(spy_vk_create_shared_semaphore(device, NULL, &fd), SPY_ERROR_INVALID_ARGUMENT);
    refuses(device, SPY_ERROR_INVALID_ARGUMENT, "semaphore is NULL");
    spy_release_device(device);
    spy_vk_sharing nothing = spy_vk_get_sharing(NULL);
    assert_false(nothing.memory || nothing.semaphores);
    (void)spy_take_error(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_semaphores),
};

int main(void) {
    return cmocka_run_group_tests(tests, NULL, NULL);
}
