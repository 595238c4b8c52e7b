// The null backend: the list of work, real bytes, submits in time, rules that it watches, failures on order.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#endif
#include "work_test.h"

typedef struct test_gpu {
    spyi_context ctx;
    const spy_backend *b;
    spyi_gpu *gpu;
    spyi_text error, report;
} test_gpu;

static spyi_null_desc test_defaults(void) {
    spyi_null_desc d;
    memset(&d, 0, sizeof d);
    return d;
}

static void test_open(test_gpu *t, spyi_null_desc d) {
    spy_device_desc desc;
    memset(t, 0, sizeof *t);
    memset(&desc, 0, sizeof desc);
    d.report = &t->report;
    desc.backend = spyi_null_backend();
    desc.backend_desc = &d;
    spyi_context_init(&t->ctx, &desc);
    t->b = desc.backend;
    assert_int_equal(t->b->create(&t->ctx, &desc, &t->gpu, &t->error), SPY_OK);
}

static void test_close(test_gpu *t, const char *report) {
    t->b->destroy(t->gpu);
    if (report) {
        if (!strstr(spyi_text_str(&t->report), report)) print_message("%s", spyi_text_str(&t->report));
        assert_non_null(strstr(spyi_text_str(&t->report), report));
    } else {
        assert_string_equal(spyi_text_str(&t->report), "");
    }
    spyi_context_destroy(&t->ctx);
    spyi_text_free(&t->error);
    spyi_text_free(&t->report);
}

static spyi_chunk test_chunk(test_gpu *t, spyi_memory memory, size_t size) {
    spyi_chunk c;
    assert_int_equal(t->b->allocate_chunk(t->gpu, memory, size, "test", &c, &t->error), SPY_OK);
    return c;
}

static spyi_kernel_desc test_kernel_desc(uint32_t block_size, uint32_t bindings) {
    static spyi_parameter parameters[64];
    spyi_kernel_desc d;
    memset(&d, 0, sizeof d);
    d.label = "kernel";
    d.code = "code";
    d.code_size = 4;
    d.entry = "main";
    d.iface.block_size = block_size;
    work_group(&d, 64);
    work_interface(&d, parameters, bindings, 0);
    return d;
}

static spyi_kernel *test_kernel(test_gpu *t, uint32_t block_size, uint32_t bindings) {
    spyi_kernel_desc d = test_kernel_desc(block_size, bindings);
    spyi_kernel *k = NULL;
    assert_int_equal(t->b->load(t->gpu, &d, &k, &t->error), SPY_OK);
    assert_non_null(k);
    return k;
}

static spy_status test_dispatch(test_gpu *t, spyi_kernel *k, const void *block, const spyi_binding *bindings,
                                uint32_t groups, bool barrier) {
    spyi_dispatch d = work_dispatch();
    d.kernel = k;
    d.block = block;
    d.bindings = bindings;
    d.groups[0] = groups;
    d.groups[1] = d.groups[2] = 1;
    d.work.before.barrier = barrier;
    return spyi_record(t->b, t->gpu, &d.work, &t->error);
}

// >>limits

static void test_limits(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    const spyi_limits *limits;
    spy_device_info info;
    spyi_text error = { NULL, 0, 0 };
    (void)state;
    test_open(&t, d);
    limits = &((const spyi_gpu_base *)(const void *)t.gpu)->limits;
    assert_int_equal(limits->profile.max_block_bytes, 128);
    assert_int_equal(limits->profile.max_bindings, 16);
    assert_true(limits->profile.bindings_from_bytes == UINT64_MAX);
    assert_string_equal(limits->info.backend, "null");
    assert_int_equal(limits->info.type, SPY_ADAPTER_TYPE_CPU);
    assert_true(limits->info.features & SPY_FEATURE_POINTERS);
    test_close(&t, NULL);

    d.max_block_bytes = 32;
    d.pointers_only = true;
    d.prefers_bindings = true;
    d.bindings_from_bytes = 1000;
    d.max_group_count = 7;
    d.unified_memory = true;
    d.target = SPYI_TARGET_CUDA;
    test_open(&t, d);
    limits = &((const spyi_gpu_base *)(const void *)t.gpu)->limits;
    assert_int_equal(limits->profile.max_block_bytes, 32);
    assert_int_equal(limits->info.max_inline_block_bytes, 32);
    assert_int_equal(limits->profile.max_bindings, 0);
    assert_true(limits->profile.prefers_bindings);
    assert_int_equal(limits->profile.bindings_from_bytes, 1000);
    assert_int_equal(limits->info.max_group_count, 7);
    assert_true(limits->unified_memory);
    assert_int_equal(limits->profile.target, SPYI_TARGET_CUDA);
    test_close(&t, NULL);

    assert_int_equal(spyi_null_backend()->enumerate(NULL, 0, &error), 1);
    assert_int_equal(spyi_null_backend()->enumerate(&info, 1, &error), 1);
    assert_string_equal(info.name, "null device");
}

static void test_create_fails(void **state) {
    spyi_context ctx;
    spy_device_desc desc;
    spyi_null_desc d = test_defaults();
    spyi_gpu *gpu = NULL;
    spyi_text error = { NULL, 0, 0 };
    (void)state;
    memset(&desc, 0, sizeof desc);
    d.fail_create = true;
    desc.backend_desc = &d;
    spyi_context_init(&ctx, &desc);
    assert_int_equal(spyi_null_backend()->create(&ctx, &desc, &gpu, &error), SPY_ERROR_NO_DEVICE);
    assert_null(gpu);
    assert_true(error.size > 0);
    spyi_text_free(&error);
    spyi_context_destroy(&ctx);
}

// >>memory

static void test_chunks(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    spyi_chunk a, b, c;
    (void)state;
    d.memory_bytes = 4096;
    test_open(&t, d);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 1000);
    b = test_chunk(&t, SPYI_MEMORY_READBACK, 2000);
    assert_true(a.handle != 0 && a.handle != b.handle && a.handle != a.address);
    assert_true(a.address % 256 == 0 && a.address != b.address);
    assert_null(a.mapped);
    assert_ptr_equal(b.mapped, (void *)(uintptr_t)b.address);
    assert_non_null(a.memory);
    assert_int_equal(a.size, 1000);
    assert_ptr_equal(spyi_null_memory(t.gpu, a.handle, 10), (char *)(uintptr_t)a.address + 10);
    assert_null(spyi_null_memory(t.gpu, a.handle, 1000));
    assert_null(spyi_null_memory(t.gpu, 1, 0));
    assert_int_equal(spyi_null_get_counts(t.gpu).chunks, 2);
    assert_int_equal(spyi_null_get_counts(t.gpu).chunk_bytes, 3000);
    assert_int_equal(t.b->allocate_chunk(t.gpu, SPYI_MEMORY_DEVICE, 1097, "", &c, &t.error),
                     SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_null(c.memory);
    spyi_null_fail(t.gpu, SPYI_NULL_STEP_ALLOCATE, 1, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 96);
    t.b->free_chunk(t.gpu, &c);
    assert_int_equal(t.b->allocate_chunk(t.gpu, SPYI_MEMORY_DEVICE, 8, "", &c, &t.error),
                     SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 8); // once only
    t.b->free_chunk(t.gpu, &c);
    t.b->free_chunk(t.gpu, &b);
    t.b->free_chunk(t.gpu, &a);
    assert_int_equal(spyi_null_get_counts(t.gpu).chunk_bytes, 0);
    assert_int_equal(((spyi_gpu_base *)(void *)t.gpu)->stats.driver_allocations, 4);
    test_close(&t, NULL);
}

static void test_no_addresses(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    spyi_chunk a;
    (void)state;
    d.bindings_only = true;
    d.unified_memory = true;
    test_open(&t, d);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 16);
    assert_true(a.address == 0);
    assert_non_null(a.mapped);
    assert_ptr_equal(spyi_null_memory(t.gpu, a.handle, 0), a.mapped);
    t.b->free_chunk(t.gpu, &a);
    test_close(&t, NULL);
}

static void test_leaks(void **state) {
    test_gpu t;
    (void)state;
    test_open(&t, test_defaults());
    test_chunk(&t, SPYI_MEMORY_DEVICE, 16);
    test_close(&t, "1 chunks were not freed");
}

static void test_import(void **state) {
    test_gpu t;
    float mine[4] = { 1, 2, 3, 4 }, back[2];
    spyi_chunk c;
    (void)state;
    test_open(&t, test_defaults());
    c = spyi_null_import(t.gpu, mine, sizeof mine);
    assert_null(c.memory);
    assert_ptr_equal(spyi_null_memory(t.gpu, c.handle, 4), &mine[1]);
    assert_int_equal(t.b->download(t.gpu, back, &c, 8, 8, 0, &t.error), SPY_OK);
    assert_memory_equal(back, mine + 2, 8);
    t.b->free_chunk(t.gpu, &c);
    test_close(&t, "is no chunk of allocate_chunk");
}

// >>work

static void test_bytes_move(void **state) {
    test_gpu t;
    spyi_chunk a, b;
    unsigned char data[64], back[64];
    size_t i;
    uint64_t open;
    (void)state;
    for (i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
    test_open(&t, test_defaults());
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 64);
    b = test_chunk(&t, SPYI_MEMORY_DEVICE, 64);
    assert_int_equal(spyi_open_submit(t.gpu), 1);
    assert_int_equal(t.b->finished_submit(t.gpu), 0);
    assert_int_equal(work_upload(t.b, t.gpu, &a, 0, data, 64, false, &t.error), SPY_OK);
    data[5] = 99; // may change after the return
    assert_int_equal(work_copy(t.b, t.gpu, &b, 8, &a, 4, 32, true, &t.error), SPY_OK);
    assert_int_equal(work_fill(t.b, t.gpu, &b, 40, 8, 0x04030201u, false, &t.error), SPY_OK);
    assert_int_equal(*(unsigned char *)(uintptr_t)b.address, 0xcd); // nothing is done before the submit
    assert_false(spyi_null_get_op(t.gpu, 0)->done);
    open = spyi_open_submit(t.gpu);
    assert_int_equal(t.b->download(t.gpu, back, &b, 0, 64, open, &t.error), SPY_OK); // submits
    assert_int_equal(spyi_open_submit(t.gpu), 2);
    assert_int_equal(t.b->finished_submit(t.gpu), 1);
    assert_int_equal(back[0], 0xcd);
    assert_int_equal(back[8], 4);
    assert_int_equal(back[9], 5);
    assert_int_equal(back[39], 35);
    assert_int_equal(back[40], 1);
    assert_int_equal(back[47], 4);
    assert_int_equal(back[48], 0xcd);
    assert_int_equal(spyi_null_op_count(t.gpu), 3);
    assert_int_equal(spyi_null_get_op(t.gpu, 1)->kind, SPYI_NULL_COPY);
    assert_true(spyi_null_get_op(t.gpu, 1)->barrier);
    assert_int_equal(spyi_null_get_op(t.gpu, 1)->from_offset, 4);
    assert_int_equal(spyi_null_get_op(t.gpu, 2)->pattern, 0x04030201u);
    assert_null(spyi_null_get_op(t.gpu, 3));
    spyi_null_clear_ops(t.gpu);
    assert_int_equal(spyi_null_op_count(t.gpu), 0);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK); // no work: no submit
    assert_int_equal(spyi_open_submit(t.gpu), 2);
    assert_int_equal(((spyi_gpu_base *)(void *)t.gpu)->stats.submits, 1);
    assert_int_equal(((spyi_gpu_base *)(void *)t.gpu)->stats.barriers, 1);
    t.b->free_chunk(t.gpu, &a);
    t.b->free_chunk(t.gpu, &b);
    test_close(&t, NULL);
}

typedef struct test_block {
    uint64_t address;
    uint32_t count;
    float factor;
} test_block;

// A kernel: x[i] *= factor at an address, y[i] += x[i] in a binding.
static void test_run_kernel(spyi_gpu *gpu, const spyi_null_op *op, void *user_data) {
    test_block block;
    float *x, *y;
    uint32_t i;
    assert_string_equal(op->label, "kernel");
    assert_int_equal(op->block_size, sizeof block);
    memcpy(&block, op->block, sizeof block);
    x = (float *)(uintptr_t)block.address;
    y = (float *)spyi_null_memory(gpu, op->bindings[0].handle, op->bindings[0].offset);
    for (i = 0; i < block.count; i++) {
        x[i] *= block.factor;
        y[i] += x[i];
    }
    ++*(int *)user_data;
}

static void test_dispatches(void **state) {
    test_gpu t;
    spyi_chunk c;
    spyi_kernel *k;
    spyi_binding binding = { 0, 0, 0, SPYI_BINDING_BUFFER };
    test_block block;
    const spyi_null_op *op;
    float data[4] = { 1, 2, 3, 4 }, zero[4] = { 0 };
    int runs = 0;
    uint64_t ns = 0;
    (void)state;
    test_open(&t, test_defaults());
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 256);
    k = test_kernel(&t, sizeof block, 1);
    spyi_null_on_dispatch(t.gpu, test_run_kernel, &runs);
    assert_int_equal(work_upload(t.b, t.gpu, &c, 0, data, 16, false, &t.error), SPY_OK);
    assert_int_equal(work_upload(t.b, t.gpu, &c, 64, zero, 16, false, &t.error), SPY_OK);
    block.address = c.address;
    block.count = 4;
    block.factor = 3;
    binding.handle = c.handle;
    binding.offset = 64;
    binding.range = 16;
    assert_int_equal(t.b->time_begin(t.gpu, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, &block, &binding, 5, true), SPY_OK);
    block.factor = 0; // copied during the call, as are the bindings
    binding.handle = 0;
    assert_int_equal(t.b->time_end(t.gpu, &t.error), SPY_OK);
    assert_int_equal(runs, 0);
    assert_int_equal(t.b->download(t.gpu, data, &c, 64, 16, 1, &t.error), SPY_OK);
    assert_int_equal(runs, 1);
    assert_true(data[0] == 3 && data[3] == 12);
    assert_int_equal(t.b->time_elapsed(t.gpu, &ns, &t.error), SPY_OK);
    assert_int_equal(ns, 1000);
    op = spyi_null_get_op(t.gpu, 2);
    assert_int_equal(op->kind, SPYI_NULL_DISPATCH);
    assert_int_equal(op->groups[0], 5);
    assert_int_equal(op->group_size, 64);
    assert_true(op->barrier && op->done);
    assert_int_equal(op->submit, 1);
    t.b->destroy_kernel(t.gpu, k);
    assert_string_equal(op->label, "kernel"); // the list outlives the kernel
    t.b->free_chunk(t.gpu, &c);
    test_close(&t, NULL);
}

static void test_held_submits(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    spyi_kernel *k;
    uint32_t block = 0;
    (void)state;
    d.hold_submits = true;
    test_open(&t, d);
    k = test_kernel(&t, 4, 0);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    assert_int_equal(t.b->finished_submit(t.gpu), 0);
    assert_int_equal(t.b->wait(t.gpu, 1, 1000, &t.error), SPY_ERROR_NOT_READY);
    spyi_null_finish(t.gpu, 1);
    assert_int_equal(t.b->finished_submit(t.gpu), 1);
    assert_int_equal(t.b->wait(t.gpu, 1, 1000, &t.error), SPY_OK);
    assert_false(spyi_null_get_op(t.gpu, 1)->done);
    spyi_null_finish(t.gpu, 100); // not the open one
    assert_int_equal(t.b->finished_submit(t.gpu), 2);
    assert_int_equal(spyi_open_submit(t.gpu), 3);
    assert_int_equal(t.b->wait(t.gpu, 3, UINT64_MAX, &t.error), SPY_OK); // submits
    assert_int_equal(t.b->finished_submit(t.gpu), 3);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    t.b->destroy_kernel(t.gpu, k);
    assert_non_null(strstr(spyi_null_report(t.gpu), "\"kernel\" is not done"));
    spyi_null_hold_submits(t.gpu, false);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK);
    assert_int_equal(t.b->finished_submit(t.gpu), 4);
    t.b->destroy_kernel(t.gpu, k);
    assert_int_equal(spyi_null_get_counts(t.gpu).kernels, 0);
    test_close(&t, "is not done");
}

static void test_no_log(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    spyi_kernel *k;
    uint32_t block = 0;
    (void)state;
    d.no_log = true;
    test_open(&t, d);
    k = test_kernel(&t, 4, 0);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    assert_int_equal(spyi_null_op_count(t.gpu), 1);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK);
    assert_int_equal(spyi_null_op_count(t.gpu), 0);
    t.b->destroy_kernel(t.gpu, k);
    test_close(&t, NULL);
}

// >>rules

static void test_kernel_rules(void **state) {
    test_gpu t;
    spyi_kernel_desc d = test_kernel_desc(129, 0);
    spyi_kernel *k;
    spyi_binding binding = { 0, 0, 0, SPYI_BINDING_BUFFER };
    spyi_chunk c;
    char block[129] = { 0 };
    (void)state;
    test_open(&t, test_defaults());
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_ERROR_INTERNAL);
    assert_null(k);
    d.iface.block_by_address = true;
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, NULL, NULL, 1, false), SPY_ERROR_INTERNAL);
    assert_int_equal(test_dispatch(&t, k, block, NULL, 0, false), SPY_ERROR_INTERNAL);
    assert_int_equal(test_dispatch(&t, k, block, NULL, 65536, false), SPY_ERROR_INTERNAL);
    assert_int_equal(test_dispatch(&t, k, block, NULL, 65535, false), SPY_OK);
    assert_true(spyi_null_get_op(t.gpu, 0)->block_by_address);
    assert_int_equal(spyi_null_get_op(t.gpu, 0)->block_size, 129);
    assert_int_equal(t.b->wait(t.gpu, 1, UINT64_MAX, &t.error), SPY_OK);
    t.b->destroy_kernel(t.gpu, k);
    d = test_kernel_desc(0, 17);
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_ERROR_INTERNAL);
    d = test_kernel_desc(0, 0);
    work_group(&d, 1025);
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_ERROR_INTERNAL);

    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 256);
    k = test_kernel(&t, 0, 1);
    binding.handle = c.handle;
    binding.offset = 32;
    binding.range = 4;
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_ERROR_INTERNAL);
    binding.offset = 192;
    binding.range = 65;
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_ERROR_INTERNAL);
    binding.range = 64;
    binding.handle++;
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_ERROR_INTERNAL);
    binding.handle--;
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_OK);
    t.b->free_chunk(t.gpu, &c); // still in use: refused
    assert_int_equal(t.b->wait(t.gpu, 2, UINT64_MAX, &t.error), SPY_OK);
    t.b->free_chunk(t.gpu, &c);
    t.b->destroy_kernel(t.gpu, k);
    test_close(&t, "submit 2 still uses the chunk");
}

static void test_transfer_rules(void **state) {
    test_gpu t;
    spyi_chunk c;
    char data[64] = { 0 };
    (void)state;
    test_open(&t, test_defaults());
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 64);
    assert_int_equal(work_upload(t.b, t.gpu, &c, 32, data, 33, false, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_upload(t.b, t.gpu, &c, UINT64_MAX, data, 2, false, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_upload(t.b, t.gpu, &c, 0, data, 0, false, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_fill(t.b, t.gpu, &c, 2, 4, 0, false, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_copy(t.b, t.gpu, &c, 0, &c, 8, 16, false, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(t.b->download(t.gpu, data, &c, 0, 65, 0, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(spyi_null_op_count(t.gpu), 0);
    t.b->free_chunk(t.gpu, &c);
    test_close(&t, "are not in the chunk of 64");
}

static void test_barrier_rules(void **state) {
    test_gpu t;
    spyi_null_desc d = test_defaults();
    spyi_chunk a, b;
    spyi_kernel *k;
    spyi_binding binding = { 0, 0, 0, SPYI_BINDING_BUFFER };
    char data[64] = { 0 };
    (void)state;
    d.hold_submits = true;
    test_open(&t, d);
    a = test_chunk(&t, SPYI_MEMORY_DEVICE, 256);
    b = test_chunk(&t, SPYI_MEMORY_DEVICE, 256);
    k = test_kernel(&t, 0, 1);
    binding.handle = a.handle;
    binding.offset = 0;
    binding.range = 64;
    assert_int_equal(work_upload(t.b, t.gpu, &a, 0, data, 64, false, &t.error), SPY_OK);
    assert_int_equal(work_upload(t.b, t.gpu, &a, 64, data, 64, false, &t.error), SPY_OK); // beside it
    assert_int_equal(work_upload(t.b, t.gpu, &a, 60, data, 8, false, &t.error),
                     SPY_ERROR_INTERNAL); // write, write
    assert_int_equal(work_copy(t.b, t.gpu, &b, 0, &a, 0, 64, false, &t.error),
                     SPY_ERROR_INTERNAL); // read after write
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_ERROR_INTERNAL);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false),
                     SPY_ERROR_INTERNAL); // a submit is no barrier
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, true), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, NULL, &binding, 1, false), SPY_OK); // both may only read
    assert_int_equal(work_copy(t.b, t.gpu, &b, 0, &a, 64, 64, false, &t.error),
                     SPY_OK); // ordered by the dispatch's
    assert_int_equal(work_fill(t.b, t.gpu, &a, 0, 64, 0, false, &t.error), SPY_ERROR_INTERNAL); // write after read
    assert_int_equal(t.b->wait(t.gpu, spyi_open_submit(t.gpu), UINT64_MAX, &t.error), SPY_OK);
    assert_int_equal(work_fill(t.b, t.gpu, &a, 0, 64, 0, false, &t.error), SPY_OK); // all is done
    // Reads that wait for too little.
    assert_int_equal(t.b->download(t.gpu, data, &a, 0, 4, 1, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(t.b->download(t.gpu, data, &a, 64, 4, 1, &t.error), SPY_OK);
    assert_int_equal(t.b->wait(t.gpu, spyi_open_submit(t.gpu), UINT64_MAX, &t.error), SPY_OK);
    t.b->destroy_kernel(t.gpu, k);
    t.b->free_chunk(t.gpu, &a);
    t.b->free_chunk(t.gpu, &b);
    test_close(&t, "no barrier after the upload of submit 1");
}

// Group counts from memory, read when the dispatch is carried out.
static void test_indirect(void **state) {
    test_gpu t;
    spyi_chunk c;
    spyi_kernel *k;
    spyi_dispatch d = work_dispatch();
    const uint32_t groups[3] = { 2, 3, 4 };
    (void)state;
    test_open(&t, test_defaults());
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 64);
    k = test_kernel(&t, 0, 0);
    d.kernel = k;
    d.indirect = c.handle;
    d.indirect_offset = 8;
    assert_int_equal(work_upload(t.b, t.gpu, &c, 8, groups, sizeof groups, false, &t.error), SPY_OK);
    assert_int_equal(spyi_record(t.b, t.gpu, &d.work, &t.error), SPY_ERROR_INTERNAL); // no barrier after the upload
    d.work.before.barrier = true;
    assert_int_equal(spyi_record(t.b, t.gpu, &d.work, &t.error), SPY_OK);
    assert_int_equal(work_fill(t.b, t.gpu, &c, 16, 4, 0, false, &t.error), SPY_ERROR_INTERNAL); // still to be read
    assert_int_equal(t.b->wait(t.gpu, spyi_open_submit(t.gpu), UINT64_MAX, &t.error), SPY_OK);
    assert_memory_equal(spyi_null_get_op(t.gpu, 1)->groups, groups, sizeof groups);
    d.indirect_offset = 10;
    assert_int_equal(spyi_record(t.b, t.gpu, &d.work, &t.error), SPY_ERROR_INTERNAL);
    d.indirect_offset = 56;
    assert_int_equal(spyi_record(t.b, t.gpu, &d.work, &t.error), SPY_ERROR_INTERNAL);
    t.b->destroy_kernel(t.gpu, k);
    t.b->free_chunk(t.gpu, &c);
    test_close(&t, "group counts: bytes 56 to 68 are not in the chunk of 64");
}

static void test_marks(void **state) {
    test_gpu t;
    spyi_chunk c;
    spyi_kernel *k;
    uint64_t times[2];
    (void)state;
    test_open(&t, test_defaults());
    c = test_chunk(&t, SPYI_MEMORY_DEVICE, 64);
    k = test_kernel(&t, 0, 0);
    assert_int_equal(work_label(t.b, t.gpu, SPYI_LABEL_PUSH, "a", &t.error), SPY_OK);
    assert_int_equal(work_time_mark(t.b, t.gpu, 0, &t.error), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, NULL, NULL, 1, false), SPY_OK);
    assert_int_equal(work_time_mark(t.b, t.gpu, 1, &t.error), SPY_OK);
    assert_int_equal(work_time_store(t.b, t.gpu, &c, 16, 2, false, &t.error), SPY_OK);
    assert_int_equal(work_label(t.b, t.gpu, SPYI_LABEL_POP, NULL, &t.error), SPY_OK);
    assert_int_equal(t.b->download(t.gpu, times, &c, 16, 16, spyi_open_submit(t.gpu), &t.error), SPY_OK);
    assert_int_equal(times[1] - times[0], 1000);
    assert_int_equal(work_label(t.b, t.gpu, SPYI_LABEL_POP, NULL, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_label(t.b, t.gpu, SPYI_LABEL_POINT, NULL, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_time_mark(t.b, t.gpu, SPYI_TIME_SLOTS, &t.error), SPY_ERROR_INTERNAL);
    assert_int_equal(work_time_store(t.b, t.gpu, &c, 4, 1, false, &t.error), SPY_ERROR_INTERNAL);
    t.b->destroy_kernel(t.gpu, k);
    t.b->free_chunk(t.gpu, &c);
    test_close(&t, "label: a pop without a push");
}

// >>failures

static void test_failures(void **state) {
    test_gpu t;
    spyi_kernel_desc d = test_kernel_desc(4, 0);
    spyi_kernel *k;
    uint32_t block = 0;
    uint64_t lost;
    (void)state;
    test_open(&t, test_defaults());
    spyi_null_fail(t.gpu, SPYI_NULL_STEP_KERNEL, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(t.b->load(t.gpu, &d, &k, &t.error), SPY_OK);
    spyi_null_fail(t.gpu, SPYI_NULL_STEP_RECORD, 1, SPY_ERROR_OUT_OF_MEMORY);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_ERROR_OUT_OF_MEMORY);
    spyi_null_fail(t.gpu, SPYI_NULL_STEP_SUBMIT, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(t.b->submit(t.gpu, &t.error), SPY_OK); // the work was kept
    spyi_null_fail(t.gpu, SPYI_NULL_STEP_SUBMIT, 0, SPY_ERROR_DEVICE_LOST);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_OK);
    lost = spyi_open_submit(t.gpu);
    assert_int_equal(t.b->wait(t.gpu, lost, UINT64_MAX, &t.error), SPY_ERROR_DEVICE_LOST);
    assert_int_equal(test_dispatch(&t, k, &block, NULL, 1, false), SPY_ERROR_DEVICE_LOST);
    assert_true(t.b->finished_submit(t.gpu) >= lost); // so that what waits for it can be freed
    assert_int_equal(spyi_null_op_count(t.gpu), 1);
    t.b->destroy_kernel(t.gpu, k);
    test_close(&t, NULL);
}

// Kernels are made and destroyed by compile threads.
static void test_make_kernels(void *arg) {
    test_gpu *t = (test_gpu *)arg;
    spyi_kernel_desc d = test_kernel_desc(4, 0);
    int i;
    for (i = 0; i < 200; i++) {
        spyi_text error = { NULL, 0, 0 };
        spyi_kernel *k = NULL;
        if (t->b->load(t->gpu, &d, &k, &error) == SPY_OK) t->b->destroy_kernel(t->gpu, k);
        spyi_text_free(&error);
    }
}

static void test_kernel_threads(void **state) {
    test_gpu t;
    spyi_thread threads[3];
    int i;
    (void)state;
    test_open(&t, test_defaults());
    for (i = 0; i < 3; i++) assert_true(spyi_thread_start(&threads[i], test_make_kernels, &t));
    test_make_kernels(&t);
    for (i = 0; i < 3; i++) spyi_thread_join(&threads[i]);
    assert_int_equal(spyi_null_get_counts(t.gpu).kernels, 0);
    test_close(&t, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_create_fails),
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_no_addresses),
        cmocka_unit_test(test_leaks),          cmocka_unit_test(test_import),
        cmocka_unit_test(test_bytes_move),     cmocka_unit_test(test_dispatches),
        cmocka_unit_test(test_held_submits),   cmocka_unit_test(test_no_log),
        cmocka_unit_test(test_kernel_rules),   cmocka_unit_test(test_transfer_rules),
        cmocka_unit_test(test_barrier_rules),  cmocka_unit_test(test_failures),
        cmocka_unit_test(test_kernel_threads), cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
