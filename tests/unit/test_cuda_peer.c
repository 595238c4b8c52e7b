// Memory and semaphores of another API in a CUDA context of the program, on a driver without a GPU (fake_cuda/): what is handed
// to the driver, who owns the file descriptors, and the errors. test_vk_shared.c has the other side.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "fake_cuda/fake_device.h"
#include <fcntl.h>
#include <sys/mman.h>

static const char *path;
static fake_cuda *fake;
static const uint8_t gpu[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static void refuses(spy_status code, const char *text) {
    spy_error e = spy_take_error(NULL);
    assert_int_equal(e.code, code);
    if (!strstr(e.message, text)) fail_msg("expected '%s' in: %s", text, e.message);
}

static spy_cuda_peer *open_peer(spy_device **device) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    *device = spy_create_device(&d); // its context is the program's here
    assert_non_null(*device);
    uint8_t uuid[16];
    spy_cuda_peer *peer = spy_cuda_open_peer(spy_cuda_get_context(*device), path, uuid);
    if (!peer) fail_msg("%s", spy_take_error(NULL).message);
    assert_memory_equal(uuid, gpu, 16);
    return peer;
}

static int file(size_t size) {
    int fd = memfd_create("shared", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    return fd;
}

static void test_memory(void **state) {
    (void)state;
    spy_device *device;
    spy_cuda_peer *peer = open_peer(&device);
    int fd = file(8192), kept = dup(fd);
    spy_cuda_imported_memory m;
    assert_int_equal(spy_cuda_import_memory(peer, fd, 8192, 5000, &m), SPY_OK);
    assert_true(m.address != 0 && fake->imports == 1);
    float *there = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0), *here = (float *)(uintptr_t)m.address;
    here[1] = 2.5f;
    assert_true(there[1] == 2.5f);
    there[2] = 7;
    assert_true(here[2] == 7);
    munmap(there, 8192);
    close(kept);
    assert_int_equal(spy_cuda_release_memory(peer, &m), SPY_OK);
    assert_true(m.address == 0 && fake->imports == 0 && !is_open(fd));
    assert_int_equal(spy_cuda_release_memory(peer, &m), SPY_OK); // again: nothing

    fd = file(4096);
    fake->fail = "cuImportExternalMemory";
    fake->fail_result = 999;
    assert_int_equal(spy_cuda_import_memory(peer, fd, 4096, 4096, &m), SPY_ERROR_INTERNAL);
    refuses(SPY_ERROR_INTERNAL, "cuImportExternalMemory gave CUDA_ERROR_FAKE (999)");
    assert_true(is_open(fd) && m.memory == NULL); // the caller's still
    assert_int_equal(spy_cuda_import_memory(peer, fd, 4096, 5000, &m), SPY_ERROR_INTERNAL); // more than there is
    refuses(SPY_ERROR_INTERNAL, "cuExternalMemoryGetMappedBuffer");
    assert_int_equal(fake->imports, 0);
    assert_int_equal(spy_cuda_import_memory(peer, -1, 4096, 4096, &m), SPY_ERROR_INVALID_ARGUMENT);
    refuses(SPY_ERROR_INVALID_ARGUMENT, "fd is no file descriptor");
    assert_int_equal(spy_cuda_import_memory(NULL, 0, 4096, 4096, &m), SPY_ERROR_INVALID_ARGUMENT);
    refuses(SPY_ERROR_INVALID_ARGUMENT, "peer is NULL");
    spy_cuda_close_peer(peer);
    spy_cuda_close_peer(NULL);
    spy_release_device(device);
}

static void test_semaphores(void **state) {
    (void)state;
    spy_device *device;
    spy_cuda_peer *peer = open_peer(&device);
    void *semaphore = NULL, *stream = spy_cuda_get_stream(device);
    assert_int_equal(spy_cuda_import_semaphore(peer, file(16), &semaphore), SPY_OK);
    assert_int_equal(spy_cuda_signal_semaphore(peer, semaphore, 5, stream), SPY_OK);
    assert_ptr_equal(fake->stream, stream);
    assert_int_equal(spy_cuda_wait_semaphore(peer, semaphore, 5, stream), SPY_OK);
    assert_ptr_equal(fake->waiting, stream);
    assert_int_equal(spy_cuda_wait_semaphore(peer, semaphore, 6, stream), SPY_ERROR_INTERNAL);
    refuses(SPY_ERROR_INTERNAL, "cuWaitExternalSemaphoresAsync");
    assert_int_equal(spy_cuda_signal_semaphore(peer, NULL, 6, stream), SPY_ERROR_INVALID_ARGUMENT);
    refuses(SPY_ERROR_INVALID_ARGUMENT, "the semaphore is NULL");
    assert_int_equal(spy_cuda_release_semaphore(peer, semaphore), SPY_OK);
    assert_int_equal(fake->imports, 0);
    spy_cuda_close_peer(peer);
    spy_release_device(device);
    assert_null(spy_cuda_open_peer(NULL, "no such library", NULL));
    refuses(SPY_ERROR_NO_DEVICE, "no such library");
}

// Memory of lavapipe, which the driver without a GPU maps. Another Vulkan device is on a GPU, whose memory it cannot map.
static void test_vulkan(void **state) {
    (void)state;
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.adapter_type = SPY_ADAPTER_TYPE_CPU;
    spy_device *vulkan = spy_create_device(&d), *device;
    if (!vulkan || !spy_vk_get_sharing(vulkan).memory) {
        print_message("skipped: no Vulkan device on the CPU that exports memory\n");
        (void)spy_take_error(NULL);
        spy_release_device(vulkan);
        skip();
    }
    spy_cuda_peer *peer = open_peer(&device);
    spy_vk_shared_memory shared;
    spy_cuda_imported_memory m;
    spy_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.shape = SPY_SHAPE(300);
    assert_int_equal(spy_vk_create_shared_memory(vulkan, 1200, &shared), SPY_OK);
    assert_int_equal(spy_cuda_import_memory(peer, shared.fd, shared.allocated_bytes, shared.size_bytes, &m), SPY_OK);
    spy_tensor *x = spy_vk_create_tensor(vulkan, shared.buffer, 0, shared.size_bytes, &t);
    float *seen = (float *)(uintptr_t)m.address, got[300];
    for (int round = 1; round < 4; round++) {
        assert_int_equal(spy_tensor_fill(x, round), SPY_OK);
        assert_int_equal(spy_wait(vulkan), SPY_OK);
        for (int i = 0; i < 300; i++) assert_true(seen[i] == (float)round);
        for (int i = 0; i < 300; i++) seen[i] = (float)(round * i);
        assert_int_equal(spy_tensor_read(x, got, sizeof got), SPY_OK);
        for (int i = 0; i < 300; i++) assert_true(got[i] == (float)(round * i));
    }
    spy_release_tensor(x);
    assert_int_equal(spy_cuda_release_memory(peer, &m), SPY_OK);
    assert_int_equal(spy_vk_release_shared_memory(vulkan, &shared), SPY_OK);
    spy_cuda_close_peer(peer);
    spy_release_device(device);
    spy_release_device(vulkan);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_vulkan),
    cmocka_unit_test(test_semaphores),
};

int main(int count, char **arguments) {
    (void)count;
    path = fake_cuda_path(arguments[0]);
    fake = fake_cuda_state_at(path);
    if (!fake) {
        print_error("%s cannot be opened\n", path);
        return 1;
    }
    fake->uuid = gpu;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
