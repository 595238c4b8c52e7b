// Transfers and submits of the Vulkan backend: staged and mapped copies, what a steady state costs, times, and a queue that fails.
#include "vk_backend_test.h"
#include "thread_limit.h"

// >>transfers

// `mapped` false: as on a device whose memory the host does not see.
static void test_transfers(bool mapped) {
    static const size_t sizes[] = {
        1, 3, 4, 1000, 65536, 65537, 1000003, 40 << 20, 88 << 20
    }; // more than the ring of staging buffers
    test_gpu t;
    size_t largest = 88 << 20, i, k;
    unsigned char *data = (unsigned char *)malloc(largest), *back = (unsigned char *)malloc(largest);
    spyi_chunk a, busy;
    spyi_kernel *kernel;
    slow_block block;
    test_open(&t);
    for (i = 0; i < largest; i++) data[i] = (unsigned char)(test_random() & 0xffu);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, largest + 16);
    if (!mapped) a.mapped = NULL;
    busy = test_chunk(&t, SPYI_MEMORY_DEVICE, 4096);
    kernel = KERNEL(&t, slow, sizeof block);
    test_ok(&t, work_fill(backend, t.gpu, &busy, 0, 4096, 1, false, &t.error));
    block.p = busy.address;
    block.rounds = 200000;
    block.n = 1024;
    for (k = 0; k < 2 * sizeof sizes / sizeof sizes[0]; k++) {
        size_t size = sizes[k / 2], offset = k % 3;
        if (k % 2 == 1) test_run(&t, kernel, &block, NULL, 1024, true); // while work is in flight
        memset(back, 0, size);
        test_upload(&t, &a, offset, data, size, true);
        if (k % 4 == 3) test_run(&t, kernel, &block, NULL, 1024, false);
        start_limit =
            k % 2 == 0 ? 0 : -1; // without other threads nothing is copied before somebody waits for it
        test_download(&t, back, &a, offset, size);
        start_limit = -1;
        if (memcmp(data, back, size) != 0) fail_msg("%zu bytes at %zu came back changed", size, offset);
        data[0]++;
    }
    // Several uploads in order to one place, none waited for: the last one stands.
    for (k = 0; k < 200; k++) {
        size_t size = k % 2 == 0 ? 20000 : 300000;
        data[0] = (unsigned char)k;
        test_upload(&t, &a, 0, data, size, true);
        if (k % 7 == 0) test_run(&t, kernel, &block, NULL, 64, false);
    }
    test_download(&t, back, &a, 0, 300000);
    assert_memory_equal(back, data, 300000);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &busy);
    free(data);
    free(back);
    test_close(&t);
}

static void test_transfers_staged(void **state) {
    (void)state;
    test_transfers(false);
}

static void test_transfers_mapped(void **state) {
    (void)state;
    test_transfers(true);
}

// A download waits for what it is told to, not for later work: here for none that cannot even begin. (On a
// device with one queue only and memory that the host does not see, it must wait; none such is known.)
static void test_download_after(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_chunk a, large;
    VkSemaphore gate;
    uint32_t y[16];
    uint64_t first, later;
    int i;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    gate = test_timeline(gpu);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 4096);
    large = test_chunk(&t, SPYI_MEMORY_DEVICE, 1 << 20);
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, 4096, 42, false, &t.error));
    first = spyi_open_submit(t.gpu);
    test_ok(&t, backend->submit(t.gpu, &t.error));
    test_ok(&t, spyi_vk_add_semaphore(gpu, &gpu->waits, (uint64_t)gate, 1, &t.error));
    later = spyi_open_submit(t.gpu);
    test_ok(&t, work_fill(backend, t.gpu, &large, 0, 1 << 20, 43, true, &t.error));
    test_ok(&t, backend->submit(t.gpu, &t.error));
    test_ok(&t, work_fill(backend, t.gpu, &large, 0, 1 << 20, 44, true, &t.error)); // recorded only
    if (a.mapped != NULL || gpu->lane_queue != gpu->queue) {
        test_ok(&t, backend->download(t.gpu, y, &a, 0, sizeof y, first, &t.error));
        for (i = 0; i < 16; i++) assert_int_equal(y[i], 42);
    }
    assert_true(backend->finished_submit(t.gpu) < later);
    assert_int_equal(backend->wait(t.gpu, later, 1000000, &t.error), SPY_ERROR_NOT_READY);
    spyi_text_clear(&t.error);
    test_signal(gpu, gate, 1);
    test_download(&t, y, &large, 4096, sizeof y);
    for (i = 0; i < 16; i++) assert_int_equal(y[i], 44);
    test_wait_all(&t);
    gpu->vk.vkDestroySemaphore(gpu->device, gate, NULL);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &large);
    test_close(&t);
}

// >>submission

static void test_steady_state(void **state) {
    const int CALLS = (int)test_count(30000);
    test_gpu t;
    spyi_chunk a;
    spyi_kernel *kernel;
    scale_block block;
    uint64_t allocations, driver, submits, begin, issued, done, round;
    float y;
    int i, pass;
    (void)state;
    test_open(&t);
    kernel = KERNEL(&t, scale, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_READBACK, 4096);
    block.x = a.address;
    block.y = a.address + 1024;
    block.a = 1;
    block.n = 64;
    for (pass = 0; pass < 6; pass++) {
        bool barrier = pass % 2 == 1;
        test_wait_all(&t);
        allocations = t.allocations;
        driver = test_stats(&t)->driver_allocations;
        submits = test_stats(&t)->submits;
        begin = spyi_time_ns();
        for (i = 0; i < CALLS; i++) test_run(&t, kernel, &block, NULL, 64, barrier);
        issued = spyi_time_ns() - begin;
        test_wait_all(&t);
        done = spyi_time_ns() - begin;
        if (pass >= 2) { // warm
            assert_int_equal(t.allocations, allocations);
            assert_int_equal(test_stats(&t)->driver_allocations, driver);
            print_message("%d calls%s: issue %.0f ns, with the wait %.0f ns each, %llu submits\n", CALLS,
                          barrier ? " with barriers" : "", (double)issued / CALLS, (double)done / CALLS,
                          (unsigned long long)(test_stats(&t)->submits - submits));
        }
    }
    begin = spyi_time_ns();
    for (i = 0; i < 1000; i++) {
        block.a = (float)i;
        test_run(&t, kernel, &block, NULL, 64, true);
        test_download(&t, &y, &a, 1024, 4);
    }
    round = (spyi_time_ns() - begin) / 1000;
    print_message("one call, wait and read: %.1f us\n", (double)round * 1e-3);
    assert_int_equal(backend->finished_submit(t.gpu), spyi_open_submit(t.gpu) - 1);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

// An idle queue gets work at once, though nobody waits or flushes.
static void test_submits_when_idle(void **state) {
    test_gpu t;
    spyi_chunk a;
    spyi_kernel *kernel;
    scale_block block;
    uint64_t begin, number;
    (void)state;
    test_open(&t);
    kernel = KERNEL(&t, scale, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_READBACK, 4096);
    block.x = a.address;
    block.y = a.address + 1024;
    block.a = 1;
    block.n = 64;
    test_wait_all(&t);
    number = spyi_open_submit(t.gpu);
    test_run(&t, kernel, &block, NULL, 64, true);
    begin = spyi_time_ns();
    while (backend->finished_submit(t.gpu) < number && spyi_time_ns() - begin < 10000000000u) continue;
    assert_true(backend->finished_submit(t.gpu) >= number);
    // An empty batch is no work.
    number = test_stats(&t)->submits;
    test_ok(&t, backend->submit(t.gpu, &t.error));
    test_wait_all(&t);
    assert_int_equal(test_stats(&t)->submits, number);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

// The nanoseconds that the kernel takes for so many rounds, when it runs for the second time.
static uint64_t test_span(test_gpu *t, spyi_kernel *kernel, slow_block *block, uint32_t rounds) {
    uint64_t ns = 0;
    block->rounds = rounds;
    test_run(t, kernel, block, NULL, 64, true);
    test_ok(t, backend->time_begin(t->gpu, &t->error));
    test_run(t, kernel, block, NULL, 64, true);
    test_ok(t, backend->time_end(t->gpu, &t->error));
    test_ok(t, backend->time_elapsed(t->gpu, &ns, &t->error));
    return ns;
}

static void test_time(void **state) {
    test_gpu t;
    spyi_chunk a;
    spyi_kernel *kernel;
    slow_block block;
    uint64_t brief = 0, longer = 0;
    (void)state;
    test_open(&t);
    kernel = KERNEL(&t, slow, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 4096);
    assert_int_equal(backend->time_elapsed(t.gpu, &brief, &t.error), SPY_ERROR_INVALID_ARGUMENT);
    spyi_text_clear(&t.error);
    block.p = a.address;
    block.n = 64;
    // A busy machine may stop the brief kernel for longer than the other takes, but hardly 20 times.
    for (int i = 0; i < 20 && longer <= brief; i++) {
        brief = test_span(&t, kernel, &block, 10);
        longer = test_span(&t, kernel, &block, 10000000);
    }
    print_message("timestamps: %llu ns and %llu ns\n", (unsigned long long)brief, (unsigned long long)longer);
    assert_true(longer > brief && longer < 60000000000u);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

// >>a queue that fails

// A queue that fails on order, in place of the driver's.
static VkResult test_queue_result;

static VKAPI_ATTR VkResult VKAPI_CALL test_queue_fails(VkQueue queue, uint32_t count,
                                                       const VkSubmitInfo *infos, VkFence fence) {
    (void)queue;
    (void)count;
    (void)infos;
    (void)fence;
    return test_queue_result;
}

static void test_queue_failures(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    PFN_vkQueueSubmit real;
    spyi_chunk a;
    spyi_kernel *kernel;
    scale_block block;
    spyi_dispatch d = work_dispatch();
    float y[4];
    uint64_t number;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    kernel = KERNEL(&t, scale, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_READBACK, 4096);
    memset(a.mapped, 0, 4096);
    block.x = a.address;
    block.y = a.address + 1024;
    block.a = 3;
    block.n = 4;
    d.kernel = kernel;
    d.block = &block;
    d.groups[0] = d.groups[1] = d.groups[2] = 1;
    real = gpu->vk.vkQueueSubmit;

    // Out of memory: the batch is lost, the device is not, and nobody waits for ever.
    ((float *)a.mapped)[0] = 5;
    gpu->vk.vkQueueSubmit = test_queue_fails;
    test_queue_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    number = spyi_open_submit(t.gpu);
    assert_int_equal(spyi_record(backend, t.gpu, &d.work, &t.error), SPY_ERROR_OUT_OF_DEVICE_MEMORY); // at once: idle
    spyi_text_clear(&t.error);
    gpu->vk.vkQueueSubmit = real;
    test_ok(&t, backend->wait(t.gpu, number, UINT64_MAX, &t.error));
    test_run(&t, kernel, &block, NULL, 4, true);
    test_download(&t, y, &a, 1024, sizeof y);
    assert_true(y[0] == 15);

    gpu->vk.vkQueueSubmit = test_queue_fails;
    test_queue_result = VK_ERROR_DEVICE_LOST;
    assert_int_equal(spyi_record(backend, t.gpu, &d.work, &t.error), SPY_ERROR_DEVICE_LOST);
    assert_non_null(strstr(spyi_text_str(&t.error), "ended with 'scale'"));
    print_message("%s\n", spyi_text_str(&t.error));
    spyi_text_clear(&t.error);
    gpu->vk.vkQueueSubmit = real;
    assert_int_equal(spyi_record(backend, t.gpu, &d.work, &t.error), SPY_ERROR_DEVICE_LOST);
    assert_int_equal(backend->download(t.gpu, y, &a, 0, 4, spyi_open_submit(t.gpu), &t.error),
                     SPY_ERROR_DEVICE_LOST);
    assert_int_equal(backend->wait(t.gpu, spyi_open_submit(t.gpu), 0, &t.error), SPY_ERROR_DEVICE_LOST);
    assert_int_equal(backend->finished_submit(t.gpu), spyi_open_submit(t.gpu) - 1);
    spyi_text_clear(&t.error);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_staged), cmocka_unit_test(test_transfers_mapped),
        cmocka_unit_test(test_download_after), cmocka_unit_test(test_submits_when_idle),
        cmocka_unit_test(test_time), cmocka_unit_test(test_queue_failures),
        cmocka_unit_test(test_steady_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
