// Kernels of the Vulkan backend: by every way of passing parameters, in order, indirect, compiled on several threads; and code that is
// refused.
#include "vk_backend_test.h"

typedef struct table_block {
    uint64_t x, y;
    float a;
    uint32_t n;
    float table[64];
} table_block;

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

// >>indirect kernels, marks, refusals

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indirect), cmocka_unit_test(test_marks), cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_bindings), cmocka_unit_test(test_block_by_address),
        cmocka_unit_test(test_order), cmocka_unit_test(test_bad_code),
        cmocka_unit_test(test_compile_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
