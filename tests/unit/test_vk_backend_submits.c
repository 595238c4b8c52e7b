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

static VkResult VKAPI_CALL test_no_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                        const VkAllocationCallbacks *allocator, VkCommandPool *pool) {
    (void)device;
    (void)info;
    (void)allocator;
    *pool = VK_NULL_HANDLE;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

// Where no memory is left for one more slot, new work waits for an earlier batch. It fails only if no batch is in flight.
static void test_no_slot(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_chunk a;
    uint32_t y[4];
    PFN_vkCreateCommandPool real;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    real = gpu->vk.vkCreateCommandPool;
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 4096);
    gpu->vk.vkCreateCommandPool = test_no_pool;
    assert_int_equal(work_fill(backend, t.gpu, &a, 0, 4096, 1, false, &t.error), SPY_ERROR_OUT_OF_MEMORY);
    spyi_text_clear(&t.error);
    assert_int_equal(gpu->batch_count, 0);
    gpu->vk.vkCreateCommandPool = real;
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, 4096, 2, false, &t.error));
    gpu->vk.vkCreateCommandPool = test_no_pool;
    for (uint32_t i = 0; i < 20; i++) {
        test_ok(&t, backend->submit(t.gpu, &t.error));
        test_ok(&t, work_fill(backend, t.gpu, &a, 0, 4096, 3 + i, true, &t.error));
    }
    assert_int_equal(gpu->batch_count, 1);
    test_download(&t, y, &a, 0, sizeof y);
    assert_int_equal(y[0], 22);
    gpu->vk.vkCreateCommandPool = real;
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

// Many batches can be in flight at a time, more than before only while they hold few bytes; and where each is waited for, one slot
// serves all.
static void test_batches_in_flight(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_chunk a;
    spyi_kernel *kernel;
    VkSemaphore gate;
    slow_block block;
    uint32_t y[64], want = 7;
    char *data = (char *)calloc(1, SPYI_VK_SMALL_UPLOAD);
    uint64_t open;
    uint32_t slots;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    kernel = KERNEL(&t, slow, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, SPYI_VK_SMALL_UPLOAD);
    block.p = a.address;
    block.rounds = 1;
    block.n = 64;
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, 256, want, true, &t.error));
    for (int i = 0; i < 200; i++) {
        test_run(&t, kernel, &block, NULL, 64, true);
        want = want * 1664525u + 1013904223u;
        test_wait_all(&t);
    }
    assert_true(gpu->batch_count <= 2); // the fill may have been submitted before the first call

    gate = test_timeline(gpu);
    test_ok(&t, spyi_vk_add_semaphore(gpu, &gpu->waits, (uint64_t)gate, 1, &t.error));
    open = spyi_open_submit(t.gpu);
    for (uint32_t i = 0; i < SPYI_VK_BATCHES; i++) { // a wait for any of them would last for ever
        test_run(&t, kernel, &block, NULL, 64, true);
        want = want * 1664525u + 1013904223u;
        test_ok(&t, backend->submit(t.gpu, &t.error));
    }
    assert_int_equal(spyi_open_submit(t.gpu), open + SPYI_VK_BATCHES);
    assert_int_equal(backend->finished_submit(t.gpu), open - 1);
    assert_int_equal(gpu->batch_count, SPYI_VK_BATCHES);
    test_signal(gpu, gate, 1);
    test_run(&t, kernel, &block, NULL, 64, true); // waits for the oldest
    want = want * 1664525u + 1013904223u;
    assert_true(backend->finished_submit(t.gpu) >= open);
    assert_int_equal(gpu->batch_count, SPYI_VK_BATCHES);
    test_download(&t, y, &a, 0, sizeof y);
    for (int i = 0; i < 64; i++) assert_int_equal(y[i], want);
    gpu->vk.vkDestroySemaphore(gpu->device, gate, NULL);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);

    // Batches that are full of uploads: their number stays as it is from SPYI_VK_BATCHES_SMALL on.
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, SPYI_VK_SMALL_UPLOAD);
    gate = test_timeline(gpu);
    test_ok(&t, spyi_vk_add_semaphore(gpu, &gpu->waits, (uint64_t)gate, 1, &t.error));
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, 256, want, true,
                          &t.error)); // an idle device takes uploads without a batch
    while (gpu->batch_count < SPYI_VK_BATCHES_SMALL || gpu->batch != NULL)
        test_upload(&t, &a, 0, data, SPYI_VK_SMALL_UPLOAD, true);
    slots = gpu->batch_count;
    assert_int_equal(slots, SPYI_VK_BATCHES_SMALL);
    test_signal(gpu, gate, 1); // the next upload waits, instead of taking a slot more
    test_upload(&t, &a, 0, data, SPYI_VK_SMALL_UPLOAD, true);
    assert_int_equal(gpu->batch_count, slots);
    test_wait_all(&t);
    gpu->vk.vkDestroySemaphore(gpu->device, gate, NULL);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
    free(data);
}

// Barriers between kernels leave transfers out, which get a barrier of their own when one comes.
static VkPipelineStageFlags test_barrier_stages[2];
static PFN_vkCmdPipelineBarrier test_real_barrier;
static void VKAPI_CALL test_note_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                         VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t count,
                                         const VkMemoryBarrier *barriers, uint32_t buffer_count,
                                         const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                                         const VkImageMemoryBarrier *images) {
    if (to != VK_PIPELINE_STAGE_HOST_BIT) { // that of a batch's end
        test_barrier_stages[0] = from;
        test_barrier_stages[1] = to;
    }
    test_real_barrier(commands, from, to, flags, count, barriers, buffer_count, buffers, image_count, images);
}

static void test_kernel_barriers(void **state) {
    const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               both = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_chunk a;
    spyi_kernel *kernel;
    slow_block block;
    uint64_t barriers;
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    test_real_barrier = gpu->vk.vkCmdPipelineBarrier;
    gpu->vk.vkCmdPipelineBarrier = test_note_barrier;
    kernel = KERNEL(&t, slow, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 4096);
    block.p = a.address;
    block.rounds = 1;
    block.n = 64;
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, 4096, 7, true, &t.error));
    for (int round = 0; round < 3; round++) {
        test_run(&t, kernel, &block, NULL, 64, true); // after a transfer
        assert_int_equal(test_barrier_stages[0], both);
        assert_int_equal(test_barrier_stages[1], both);
        for (int i = 0; i < 2; i++) {
            test_run(&t, kernel, &block, NULL, 64, true); // after kernels
            assert_int_equal(test_barrier_stages[0], compute);
            assert_int_equal(test_barrier_stages[1], compute);
            if (round == 1) test_wait_all(&t); // other batches make no difference
        }
        // The tracker takes the kernels' barrier for one that orders transfers, too, and asks for none.
        barriers = test_stats(&t)->barriers;
        test_ok(&t, work_fill(backend, t.gpu, &a, 1024, 1024, 8, false, &t.error));
        assert_int_equal(test_stats(&t)->barriers, barriers + 1);
        assert_int_equal(test_barrier_stages[1], both);
        test_ok(&t, work_fill(backend, t.gpu, &a, 2048, 1024, 8, false, &t.error)); // once is enough
        assert_int_equal(test_stats(&t)->barriers, barriers + 1);
    }
    test_wait_all(&t);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    test_close(&t);
}

// A call that repeats the last call of its kernel in the same command buffer pushes no block.
static uint32_t test_push_count;
static PFN_vkCmdPushConstants test_real_push;
static void VKAPI_CALL test_note_push(VkCommandBuffer commands, VkPipelineLayout layout,
                                      VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                      const void *values) {
    test_push_count++;
    test_real_push(commands, layout, stages, offset, size, values);
}

static void test_expect_pushes(uint32_t count) {
    assert_int_equal(test_push_count, count);
    test_push_count = 0;
}

static void test_repeated_blocks(void **state) {
    test_gpu t;
    spyi_vk_gpu *gpu;
    spyi_chunk a;
    spyi_kernel *scale, *slow;
    scale_block block; // x, y, a, n
    slow_block other;
    float want[64];
    (void)state;
    test_open(&t);
    gpu = (spyi_vk_gpu *)(void *)t.gpu;
    scale = KERNEL(&t, scale, sizeof block);
    slow = KERNEL(&t, slow, sizeof other);
    a = test_chunk(&t, SPYI_MEMORY_READBACK, 64 * 1024);
    for (uint32_t i = 0; i < 64; i++) ((float *)a.mapped)[i] = (float)i;
    test_real_push = gpu->vk.vkCmdPushConstants;
    gpu->vk.vkCmdPushConstants = test_note_push;
    gpu->timing = true; // nothing is submitted but by this test
    block.x = a.address;
    block.y = a.address + 1024;
    block.a = 2;
    block.n = 64;
    other.p = a.address + 32 * 1024;
    other.rounds = 1;
    other.n = 64;
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(0);
    block.y += 1024;
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    block.x += 1024; // the first result
    block.y += 1024;
    block.a = 3;
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    block.x -= 1024;
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    test_run(&t, slow, &other, NULL, 64, true); // another kernel
    test_expect_pushes(1);
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    test_ok(&t, backend->submit(t.gpu, &t.error)); // another command buffer
    gpu->timing = true;
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    for (uint32_t i = 0; i < 2 * SPYI_VK_MOST_CHANGES; i++) { // blocks that always differ are not compared
        block.a = (float)i;
        test_run(&t, scale, &block, NULL, 64, true);
    }
    test_expect_pushes(2 * SPYI_VK_MOST_CHANGES);
    assert_int_equal(gpu->pushed_size, 0);
    test_run(&t, scale, &block, NULL, 64, true);
    test_expect_pushes(1);
    // Many random changes: each result is that of its own block.
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t change = test_random();
        if (change & 1) block.y = a.address + 1024 * (1 + change / 16 % 16);
        if (change & 2) block.a = (float)(change / 256 % 100);
        if (change & 4) block.n = 1 + change / 1024 % 64;
        if ((change & 56) == 0) test_run(&t, slow, &other, NULL, 64, false);
        const size_t at = (size_t)(block.y - a.address);
        test_run(&t, scale, &block, NULL, 64, true);
        test_wait_all(&t);
        for (uint32_t k = 0; k < block.n; k++) want[k] = block.a * (float)k;
        assert_memory_equal((const char *)a.mapped + at, want, block.n * sizeof *want);
        memset((char *)a.mapped + at, 0xaa, 1024);
        test_push_count = 0;
        // The next two are in one command buffer, the second one with what this one has left.
        gpu->timing = true;
        block.a += 1;
        test_run(&t, scale, &block, NULL, 64, true);
    }
    test_wait_all(&t);
    backend->destroy_kernel(t.gpu, scale);
    backend->destroy_kernel(t.gpu, slow);
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

// Runs the kernel twice with this number of rounds, and returns the nanoseconds that the second run takes.
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
        cmocka_unit_test(test_steady_state), cmocka_unit_test(test_repeated_blocks),
        cmocka_unit_test(test_no_slot), cmocka_unit_test(test_batches_in_flight),
        cmocka_unit_test(test_kernel_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
