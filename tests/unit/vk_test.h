// The Vulkan backend opened without the rest of the library, for tests of its table: with an allocator that counts, and a log in
// which any warning is a failure. Include it after work_test.h.
#ifndef TESTS_VK_TEST_H
#define TESTS_VK_TEST_H

typedef struct test_gpu {
    spyi_context ctx;
    spyi_gpu *gpu;
    spyi_text error;
    spyi_text log;
    uint64_t allocations; // of host memory, by the library
    int64_t alive;
} test_gpu;

static const spy_backend *backend;
static const char *test_ignored_message; // part of a warning that this program may cause

static void *counted_allocate(size_t size, size_t alignment, void *user) {
    test_gpu *t = (test_gpu *)user;
    (void)alignment;
    t->allocations++;
    t->alive++;
    return malloc(size);
}

static void *counted_reallocate(void *memory, size_t old_size, size_t size, size_t alignment, void *user) {
    test_gpu *t = (test_gpu *)user;
    (void)old_size;
    (void)alignment;
    t->allocations++;
    return realloc(memory, size);
}

static void counted_free(void *memory, size_t size, void *user) {
    test_gpu *t = (test_gpu *)user;
    (void)size;
    if (memory != NULL) t->alive--;
    free(memory);
}

static void test_log(spy_log_level level, const char *message, void *user) {
    test_gpu *t = (test_gpu *)user;
    // Mesa warns on every machine that lavapipe is not conformant.
    if (level > SPY_LOG_LEVEL_WARNING || strstr(message, "not a conformant") || strstr(message, "s so far") ||
        (test_ignored_message != NULL && strstr(message, test_ignored_message)))
        return;
    spyi_text_add(&t->log, "%s\n", message);
    print_message("%s\n", message);
}

static spy_device_desc test_desc(test_gpu *t) {
    spy_device_desc desc;
    const char *validation = getenv("SPY_TEST_VALIDATION");
    memset(t, 0, sizeof *t);
    memset(&desc, 0, sizeof desc);
    backend = spy_vk_backend();
    desc.backend = backend;
    desc.allocator.allocate = counted_allocate;
    desc.allocator.reallocate = counted_reallocate;
    desc.allocator.free = counted_free;
    desc.allocator.user_data = t;
    desc.log.func = test_log;
    desc.log.user_data = t;
    desc.label = "test";
    desc.enable_validation = validation != NULL && validation[0] == '1';
    return desc;
}

static void test_ok(test_gpu *t, spy_status status) {
    if (status != SPY_OK) fail_msg("%s: %s", spy_status_text(status), spyi_text_str(&t->error));
}

static void test_open(test_gpu *t) {
    spy_device_desc desc = test_desc(t);
    spy_status status;
    spyi_context_init(&t->ctx, &desc);
    status = backend->create(&t->ctx, &desc, &t->gpu, &t->error);
    if (status == SPY_ERROR_NO_DEVICE) {
        print_message("skipped: %s\n", spyi_text_str(&t->error));
        spyi_context_destroy(&t->ctx);
        spyi_text_free(&t->error);
        skip();
    }
    test_ok(t, status);
}

static void test_close(test_gpu *t) {
    backend->destroy(t->gpu);
    spyi_context_destroy(&t->ctx);
    assert_int_equal(t->alive, 0);
    assert_string_equal(spyi_text_str(&t->error), "");
    assert_string_equal(spyi_text_str(&t->log), "");
    spyi_text_free(&t->error);
    spyi_text_free(&t->log);
}

#endif
