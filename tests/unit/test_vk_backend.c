// The Vulkan backend through its table, on whatever device there is: kernels by every way of passing
// parameters, order, transfers, submission, refusals, an engine's objects. Skipped, and said so, where there
// is no Vulkan device. SPY_TEST_VALIDATION=1: with the validation layer; its messages are failures.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "vk/internal.h"
#endif
#include "work_test.h"
#include "thread_limit.h"
#include "vk_kernels.h"
#include "vk_test.h"

static const spyi_limits *test_limits(test_gpu *t) {
    return &((const spyi_gpu_base *)(const void *)t->gpu)->limits;
}
static const spyi_gpu_stats *test_stats(test_gpu *t) {
    return &((const spyi_gpu_base *)(const void *)t->gpu)->stats;
}

static spyi_chunk test_chunk(test_gpu *t, spyi_memory memory, size_t size) {
    spyi_chunk chunk;
    test_ok(t, backend->allocate_chunk(t->gpu, memory, size, "test chunk", &chunk, &t->error));
    assert_int_equal(chunk.address % 256, 0);
    assert_true(chunk.size >= size);
    return chunk;
}

static spyi_kernel_desc test_kernel_desc(const char *entry, const uint32_t *code, size_t size,
                                         uint32_t block_size) {
    spyi_kernel_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = entry;
    desc.code = code;
    desc.code_size = size;
    desc.entry = entry;
    work_group(&desc, 64);
    desc.iface.block_size = block_size;
    return desc;
}

static spyi_kernel *test_kernel(test_gpu *t, spyi_kernel_desc desc) {
    spyi_kernel *kernel = NULL;
    test_ok(t, backend->load(t->gpu, &desc, &kernel, &t->error));
    return kernel;
}

#define KERNEL(t, name, block_size)                                                                          \
    test_kernel(t, test_kernel_desc(#name, vk_kernel_##name, sizeof vk_kernel_##name, block_size))

typedef struct scale_block {
    uint64_t x, y;
    float a;
    uint32_t n;
} scale_block;

typedef struct table_block {
    uint64_t x, y;
    float a;
    uint32_t n;
    float table[64];
} table_block;

typedef struct slow_block {
    uint64_t p;
    uint32_t rounds, n;
} slow_block;

static void test_run(test_gpu *t, spyi_kernel *kernel, const void *block, const spyi_binding *bindings,
                     uint32_t n, bool barrier) {
    spyi_dispatch d = work_dispatch();
    d.kernel = kernel;
    d.block = block;
    d.bindings = bindings;
    d.groups[0] = (n + 63) / 64;
    d.groups[1] = d.groups[2] = 1;
    d.work.before.barrier = barrier;
    test_ok(t, spyi_record(backend, t->gpu, &d.work, &t->error));
}

static void test_upload(test_gpu *t, const spyi_chunk *to, uint64_t offset, const void *data, uint64_t size,
                        bool barrier) {
    test_ok(t, work_upload(backend, t->gpu, to, offset, data, size, barrier, &t->error));
}

static void test_download(test_gpu *t, void *data, const spyi_chunk *from, uint64_t offset, uint64_t size) {
    test_ok(t, backend->download(t->gpu, data, from, offset, size, spyi_open_submit(t->gpu), &t->error));
}

static void test_wait_all(test_gpu *t) {
    test_ok(t, backend->wait(t->gpu, spyi_open_submit(t->gpu), UINT64_MAX, &t->error));
}

static uint32_t random_state = 12345;
static uint32_t test_random(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static float *test_floats(size_t n) {
    float *data = (float *)malloc(n * sizeof *data);
    size_t i;
    for (i = 0; i < n; i++) data[i] = (float)(test_random() % 2000u) - 1000.0f;
    return data;
}

// >>kernels

enum { N = 1000 };

static void test_pointers(void **state) {
    test_gpu t;
    float y[N], *x = test_floats(N);
    spyi_chunk a, b;
    spyi_kernel *kernel;
    scale_block block;
    int i;
    (void)state;
    test_open(&t);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, N * 4);
    b = test_chunk(&t, SPYI_MEMORY_READBACK, N * 4);
    assert_non_null(b.mapped);
    memset(b.mapped, 0xff, N * 4);
    kernel = KERNEL(&t, scale, sizeof block);
    test_upload(&t, &a, 0, x, N * 4, true);
    block.x = a.address;
    block.y = b.address;
    block.a = 2.5f;
    block.n = N;
    test_run(&t, kernel, &block, NULL, N, true);
    test_download(&t, y, &b, 0, sizeof y);
    for (i = 0; i < N; i++) assert_true(y[i] == 2.5f * x[i]);
    assert_memory_equal(b.mapped, y, sizeof y);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &b);
    free(x);
    test_close(&t);
}

static void test_bindings(void **state) {
    struct {
        float a;
        uint32_t n;
    } block = { -3.0f, N };
    test_gpu t;
    spyi_kernel_desc desc =
        test_kernel_desc("scale_buffers", vk_kernel_scale_buffers, sizeof vk_kernel_scale_buffers, 8);
    float y[N], *x = test_floats(N);
    spyi_chunk chunk;
    spyi_kernel *kernel;
    spyi_binding bindings[2] = { { 0, 0, 0, SPYI_BINDING_BUFFER } };
    uint64_t offset;
    int i;
    (void)state;
    test_open(&t);
    if (test_limits(&t)->profile.max_bindings < 2) {
        print_message("skipped: no push descriptors\n");
        test_close(&t);
        skip();
    }
    spyi_parameter parameters[2];
    work_interface(&desc, parameters, 2, 0);
    kernel = test_kernel(&t, desc);
    offset = spyi_align(N * 4, test_limits(&t)->binding_alignment) + test_limits(&t)->binding_alignment;
    chunk = test_chunk(&t, SPYI_MEMORY_DEVICE, (size_t)offset + N * 4);
    test_ok(&t, work_fill(backend, t.gpu, &chunk, 0, chunk.size & ~(size_t)3, 0xffffffffu, false, &t.error));
    test_upload(&t, &chunk, 0, x, N * 4, true);
    for (i = 0; i < 2; i++) {
        bindings[i].handle = chunk.handle;
        bindings[i].offset = i == 0 ? 0 : offset;
        bindings[i].range = N * 4;
    }
    test_run(&t, kernel, &block, bindings, N, true);
    test_download(&t, y, &chunk, offset, sizeof y);
    for (i = 0; i < N; i++) assert_true(y[i] == -3.0f * x[i]);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &chunk);
    free(x);
    test_close(&t);
}

// Every dispatch has a block of its own, which must not be overwritten while it is in use: 3000 of 280 bytes.
static void test_block_by_address(void **state) {
    enum { COUNT = 3000, WIDTH = 64 };
    test_gpu t;
    spyi_kernel_desc desc = test_kernel_desc("scale_block", vk_kernel_scale_block,
                                             sizeof vk_kernel_scale_block, sizeof(table_block));
    float *y = (float *)malloc(COUNT * WIDTH * 4), *x = test_floats(WIDTH);
    spyi_chunk a, b;
    spyi_kernel *kernel;
    int i, k;
    (void)state;
    test_open(&t);
    desc.iface.block_by_address = true;
    kernel = test_kernel(&t, desc);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, WIDTH * 4);
    b = test_chunk(&t, SPYI_MEMORY_DEVICE, COUNT * WIDTH * 4);
    test_upload(&t, &a, 0, x, WIDTH * 4, true);
    for (k = 0; k < COUNT; k++) {
        table_block block;
        block.x = a.address;
        block.y = b.address + (uint64_t)k * WIDTH * 4;
        block.a = (float)k;
        block.n = WIDTH;
        for (i = 0; i < 64; i++) block.table[i] = (float)(k * 64 + i);
        test_run(&t, kernel, &block, NULL, WIDTH, k == 0);
        memset(&block, 0xee, sizeof block);
    }
    test_download(&t, y, &b, 0, COUNT * WIDTH * 4);
    for (k = 0; k < COUNT; k++) {
        for (i = 0; i < WIDTH; i++) {
            float want = (float)k * x[i] + (float)(k * 64 + i);
            if (y[k * WIDTH + i] != want)
                fail_msg("call %d, element %d: %g, not %g", k, i, (double)y[k * WIDTH + i], (double)want);
        }
    }
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &b);
    free(x);
    free(y);
    test_close(&t);
}

// A chain of dependent calls with copies and fills between them; every step needs the one before.
static void test_order(void **state) {
    enum { STEPS = 2000, WIDTH = 256 };
    test_gpu t;
    spyi_chunk a, b;
    spyi_kernel *kernel;
    slow_block block;
    uint32_t y[WIDTH], want = 7;
    uint64_t barriers;
    int i;
    (void)state;
    test_open(&t);
    kernel = KERNEL(&t, slow, sizeof block);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, WIDTH * 4);
    b = test_chunk(&t, SPYI_MEMORY_DEVICE, WIDTH * 4);
    test_ok(&t, work_fill(backend, t.gpu, &a, 0, WIDTH * 4, want, true, &t.error));
    block.p = a.address;
    block.rounds = 3;
    block.n = WIDTH;
    barriers = test_stats(&t)->barriers;
    for (i = 0; i < STEPS; i++) {
        int r;
        test_run(&t, kernel, &block, NULL, WIDTH, true);
        for (r = 0; r < 3; r++) want = want * 1664525u + 1013904223u;
        if (i % 100 == 50) { // round trip through the other chunk, and the first one overwritten between
            test_ok(&t, work_copy(backend, t.gpu, &b, 0, &a, 0, WIDTH * 4, true, &t.error));
            test_ok(&t, work_fill(backend, t.gpu, &a, 0, WIDTH * 4, 0xdeadbeefu, true, &t.error));
            test_ok(&t, work_copy(backend, t.gpu, &a, 0, &b, 0, WIDTH * 4, true, &t.error));
        }
        if (i % 500 == 250) { // an upload in the middle of it
            uint32_t data[WIDTH];
            int k;
            want = test_random();
            for (k = 0; k < WIDTH; k++) data[k] = want;
            test_upload(&t, &a, 0, data, sizeof data, true);
            memset(data, 0xaa, sizeof data);
        }
    }
    assert_true(test_stats(&t)->barriers - barriers >= STEPS);
    test_download(&t, y, &a, 0, sizeof y);
    for (i = 0; i < WIDTH; i++) assert_int_equal(y[i], want);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &b);
    test_close(&t);
}

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

// A timeline semaphore, as an engine has them.
static VkSemaphore test_timeline(spyi_vk_gpu *gpu) {
    VkSemaphoreTypeCreateInfo type;
    VkSemaphoreCreateInfo info;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    memset(&type, 0, sizeof type);
    memset(&info, 0, sizeof info);
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    assert_int_equal(gpu->vk.vkCreateSemaphore(gpu->device, &info, NULL, &semaphore), VK_SUCCESS);
    return semaphore;
}

static void test_signal(spyi_vk_gpu *gpu, VkSemaphore semaphore, uint64_t value) {
    VkSemaphoreSignalInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
    info.semaphore = semaphore;
    info.value = value;
    assert_int_equal(gpu->vk.vkSignalSemaphore(gpu->device, &info), VK_SUCCESS);
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

// Without memory for one more slot work waits for an earlier batch, and fails only where there is none.
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

// >>refusals

// Group counts that the host, a fill, a copy and finally a kernel have written, read in the same batch.
static void test_indirect(void **state) {
    enum { GROUPS = 40, ALL = GROUPS * 64 };
    const uint32_t three[3] = { 3, 1, 1 };
    test_gpu t;
    float *x = test_floats(ALL), *y = (float *)malloc(ALL * 4);
    spyi_chunk a, b, counts;
    spyi_kernel *kernel, *slow;
    scale_block block;
    slow_block add;
    spyi_dispatch d = work_dispatch();
    int round, i;
    (void)state;
    test_open(&t);
    kernel = KERNEL(&t, scale, sizeof(scale_block));
    slow = KERNEL(&t, slow, sizeof(slow_block));
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, ALL * 4);
    b = test_chunk(&t, SPYI_MEMORY_DEVICE, ALL * 4);
    counts = test_chunk(&t, SPYI_MEMORY_DEVICE, 256);
    test_upload(&t, &a, 0, x, ALL * 4, false);
    block.x = a.address;
    block.y = b.address;
    block.a = 2;
    block.n = ALL;
    d.kernel = kernel;
    d.block = &block;
    d.indirect = counts.handle;
    d.indirect_offset = 128;
    d.work.before.barrier = true;
    for (round = 0; round < 5; round++) {
        uint32_t want = 0; // groups
        test_ok(&t, work_fill(backend, t.gpu, &b, 0, ALL * 4, 0x7f7f7f7fu, true, &t.error));
        switch (round) {
        case 0:
            test_upload(&t, &counts, 128, three, sizeof three, true);
            want = 3;
            break;
        case 1:
            test_ok(&t, work_fill(backend, t.gpu, &counts, 128, 12, 1, true, &t.error));
            want = 1;
            break;
        case 2: // no groups at all
            test_ok(&t, work_fill(backend, t.gpu, &counts, 128, 12, 0, true, &t.error));
            break;
        case 3:
            test_upload(&t, &counts, 0, three, sizeof three, true);
            test_ok(&t, work_copy(backend, t.gpu, &counts, 128, &counts, 0, 12, true, &t.error));
            want = 3;
            break;
        default: // one step of slow() takes a seed to 17
            test_ok(&t, work_fill(backend, t.gpu, &counts, 128, 12, 1, true, &t.error));
            add.p = counts.address + 128;
            add.rounds = 1;
            add.n = 1;
            {
                // v * 1664525 + 1013904223 = 17 modulo 2^32, solved with the multiplier's inverse
                uint32_t inverse = 1, seed;
                for (i = 0; i < 5; i++) inverse *= 2u - 1664525u * inverse;
                seed = (17u - 1013904223u) * inverse;
                test_upload(&t, &counts, 128, &seed, 4, true);
            }
            test_run(&t, slow, &add, NULL, 1, true);
            want = 17;
            break;
        }
        test_ok(&t, spyi_record(backend, t.gpu, &d.work, &t.error));
        test_download(&t, y, &b, 0, ALL * 4);
        for (i = 0; i < ALL; i++) {
            uint32_t bits;
            memcpy(&bits, &y[i], 4);
            if ((uint32_t)i < want * 64 ? y[i] == 2.0f * x[i] : bits == 0x7f7f7f7fu) continue;
            fail_msg("round %d, element %d", round, i);
        }
    }
    backend->destroy_kernel(t.gpu, kernel);
    backend->destroy_kernel(t.gpu, slow);
    backend->free_chunk(t.gpu, &a);
    backend->free_chunk(t.gpu, &b);
    backend->free_chunk(t.gpu, &counts);
    free(x);
    free(y);
    test_close(&t);
}

// Labels that span batches, and times that are stored again and again in the same slots.
static void test_marks(void **state) {
    enum { ROUNDS = 600, ALL = 4096 };
    test_gpu t;
    spyi_chunk chunk, times;
    spyi_kernel *kernel;
    slow_block block;
    uint64_t *got = (uint64_t *)calloc(ROUNDS * 2, 8);
    int i, k;
    (void)state;
    test_open(&t);
    if (!(test_limits(&t)->info.features & SPY_FEATURE_TIMESTAMPS)) {
        print_message("skipped: no timestamps\n");
        free(got);
        test_close(&t);
        skip();
    }
    assert_true(test_limits(&t)->info.timestamp_period_ns > 0);
    kernel = KERNEL(&t, slow, sizeof block);
    chunk = test_chunk(&t, SPYI_MEMORY_DEVICE, ALL * 4);
    times = test_chunk(&t, SPYI_MEMORY_DEVICE, ROUNDS * 16);
    block.p = chunk.address;
    block.rounds = 100;
    block.n = ALL;
    test_ok(&t, work_fill(backend, t.gpu, &chunk, 0, ALL * 4, 1, false, &t.error));
    for (i = 0; i < ROUNDS; i++) {
        test_ok(&t, work_label(backend, t.gpu, SPYI_LABEL_PUSH, "round", &t.error));
        test_ok(&t, work_time_mark(backend, t.gpu, 0, &t.error));
        test_run(&t, kernel, &block, NULL, ALL, true);
        test_ok(&t, work_label(backend, t.gpu, SPYI_LABEL_POINT, "between", &t.error));
        test_ok(&t, work_time_mark(backend, t.gpu, 1, &t.error));
        test_ok(&t, work_time_store(backend, t.gpu, &times, (uint64_t)i * 16, 2, false, &t.error));
        if (i % 3 == 0) test_ok(&t, backend->submit(t.gpu, &t.error));
        if (i % 3 == 1) test_ok(&t, work_label(backend, t.gpu, SPYI_LABEL_POINT, "last of a batch", &t.error));
        if (i % 3 == 1) test_ok(&t, backend->submit(t.gpu, &t.error));
        if (i % 60 >= 12) test_ok(&t, work_label(backend, t.gpu, SPYI_LABEL_POP, NULL, &t.error));
        if (i % 60 == 59) // twelve were left open, more than are shown
            for (k = 0; k < 12; k++) test_ok(&t, work_label(backend, t.gpu, SPYI_LABEL_POP, NULL, &t.error));
    }
    test_download(&t, got, &times, 0, ROUNDS * 16);
    for (i = 0; i < ROUNDS; i++) {
        assert_true(got[2 * i] < got[2 * i + 1]);
        if (i > 0) assert_true(got[2 * i - 1] <= got[2 * i]);
    }
    free(got);
    backend->destroy_kernel(t.gpu, kernel);
    backend->free_chunk(t.gpu, &chunk);
    backend->free_chunk(t.gpu, &times);
    test_close(&t);
}

static void test_refused(test_gpu *t, spyi_kernel_desc desc, spy_status want, const char *text) {
    spyi_kernel *kernel = NULL;
    assert_int_equal(backend->load(t->gpu, &desc, &kernel, &t->error), want);
    assert_null(kernel);
    if (strstr(spyi_text_str(&t->error), text) == NULL)
        fail_msg("'%s' lacks '%s'", spyi_text_str(&t->error), text);
    spyi_text_clear(&t->error);
}

static void test_bad_code(void **state) {
    uint32_t code[8 + sizeof vk_kernel_scale / 4] = { 0 };
    test_gpu t;
    size_t words = sizeof vk_kernel_scale / 4;
    spyi_kernel_desc desc = test_kernel_desc("scale", code, sizeof vk_kernel_scale, sizeof(scale_block));
    spyi_chunk chunk;
    (void)state;
    test_open(&t);
    memset(code, 0x55, sizeof code);
    test_refused(&t, desc, SPY_ERROR_COMPILE, "not SPIR-V");
    memcpy(code, vk_kernel_scale, sizeof vk_kernel_scale);
    code[5] = 17u; // an instruction of no words
    test_refused(&t, desc, SPY_ERROR_COMPILE, "damaged at word 5");
    code[5] = (0xffffu << 16) | 17u; // one that is longer than the code
    test_refused(&t, desc, SPY_ERROR_COMPILE, "damaged at word 5");
    code[5] = vk_kernel_scale[5];
    desc.code_size -= 2;
    test_refused(&t, desc, SPY_ERROR_COMPILE, "not SPIR-V");
    desc.code_size = sizeof vk_kernel_scale;
    desc.entry = "scal";
    test_refused(&t, desc, SPY_ERROR_NOT_FOUND, "no compute entry point 'scal'");
    desc.entry = "scale";
    // With one more capability: one that no device of ours has, and one that nobody knows.
    memcpy(code + 7, vk_kernel_scale + 5, sizeof vk_kernel_scale - 20);
    code[5] = (2u << 16) | 17u;
    desc.code_size = (words + 2) * 4;
    code[6] = 5297; // GroupNonUniformPartitionedNV
    test_refused(&t, desc, SPY_ERROR_UNSUPPORTED, "capability number 5297");
    code[6] = 6095;
    ((spyi_vk_gpu *)(void *)t.gpu)->adapter.features[SPYI_VK_FEATURE_shaderBufferFloat16AtomicAdd] = false;
    test_refused(&t, desc, SPY_ERROR_UNSUPPORTED, "the kernel needs AtomicFloat16AddEXT, which the device '");
    desc = test_kernel_desc("scale", vk_kernel_scale, sizeof vk_kernel_scale, 1 << 20);
    test_refused(&t, desc, SPY_ERROR_UNSUPPORTED, "bytes of parameters exceed");
    desc.iface.block_size = 24;
    static spyi_parameter parameters[1000];
    work_interface(&desc, parameters, 1000, 0);
    test_refused(&t, desc, SPY_ERROR_UNSUPPORTED, "1000 buffers");
    assert_int_equal(
        backend->allocate_chunk(t.gpu, SPYI_MEMORY_DEVICE, (size_t)1 << 50, "huge", &chunk, &t.error),
        SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_non_null(strstr(spyi_text_str(&t.error), "for 'huge'"));
    spyi_text_clear(&t.error);
    test_close(&t);
}

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

// >>compile threads

typedef struct test_worker {
    test_gpu *t;
    spyi_thread thread;
    int failures;
} test_worker;

static void test_compile(void *arg) {
    test_worker *w = (test_worker *)arg;
    spyi_text error;
    int i;
    memset(&error, 0, sizeof error);
    for (i = 0; i < 20; i++) {
        spyi_kernel *kernel = NULL;
        spyi_kernel_desc desc =
            test_kernel_desc("slow", vk_kernel_slow, sizeof vk_kernel_slow,
                             16 + 4 * (uint32_t)(i % 5)); // layouts that are made by the first
        if (backend->load(w->t->gpu, &desc, &kernel, &error) != SPY_OK) w->failures++;
        else backend->destroy_kernel(w->t->gpu, kernel);
    }
    spyi_text_free(&error);
}

static void test_compile_threads(void **state) {
    enum { THREADS = 3 };
    test_worker workers[THREADS];
    spy_device_desc desc;
    test_gpu t;
    int i;
    (void)state;
    test_open(&t);
    memset(&desc, 0, sizeof desc); // the counting allocator is for one thread
    backend->destroy(t.gpu);
    spyi_context_destroy(&t.ctx);
    spyi_context_init(&t.ctx, &desc);
    test_ok(&t, backend->create(&t.ctx, &desc, &t.gpu, &t.error));
    for (i = 0; i < THREADS; i++) {
        workers[i].t = &t;
        workers[i].failures = 0;
        assert_true(spyi_thread_start(&workers[i].thread, test_compile, &workers[i]));
    }
    for (i = 0; i < THREADS; i++) {
        spyi_thread_join(&workers[i].thread);
        assert_int_equal(workers[i].failures, 0);
    }
    test_close(&t);
}

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
        cmocka_unit_test(test_requirements),
        cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_not_built),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_missing_function),
        cmocka_unit_test(test_fill_features),
        cmocka_unit_test(test_fill_all_features),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_block_by_address),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_transfers_staged),
        cmocka_unit_test(test_transfers_mapped),
        cmocka_unit_test(test_download_after),
        cmocka_unit_test(test_repeated_blocks),
        cmocka_unit_test(test_no_slot),
        cmocka_unit_test(test_batches_in_flight),
        cmocka_unit_test(test_kernel_barriers),
        cmocka_unit_test(test_submits_when_idle),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_bad_code),
        cmocka_unit_test(test_queue_failures),
        cmocka_unit_test(test_compile_threads),
        cmocka_unit_test(test_engine),
        cmocka_unit_test(test_matrix_features),
        cmocka_unit_test(test_steady_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
