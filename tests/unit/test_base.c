// Base: text, hash, edit distance, files, threads, clock, libraries, errors, log and memory.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "base/base.h"
#endif

static uint32_t test_random_state = 1;
static uint32_t test_random(uint32_t below) {
    test_random_state = test_random_state * 1664525u + 1013904223u;
    return (test_random_state >> 8) % below;
}

// >>names

static void test_names(void **state) {
    (void)state;
    assert_string_equal(spy_status_text(SPY_OK), "no error");
    assert_string_equal(spy_status_text(SPY_ERROR_SHAPE_MISMATCH), "shapes do not fit");
    assert_string_equal(spy_status_text((spy_status)-1000), "an unknown status");

    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_DEFAULT), 4);
    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_BOOL), 1);
    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_FLOAT16), 2);
    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_UINT64), 8);
    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_COUNT), 0);
    assert_int_equal(spy_dtype_size_bytes(SPY_DTYPE_FLOAT64), 8);
    assert_string_equal(spy_dtype_name(SPY_DTYPE_FLOAT16), "half");
    assert_string_equal(spy_dtype_name(SPY_DTYPE_UINT32), "uint");
    assert_string_equal(spy_dtype_name(SPY_DTYPE_DEFAULT), "float");
    assert_string_equal(spy_dtype_name((spy_dtype)99), "?");

    assert_int_equal(spyi_align(0, 16), 0);
    assert_int_equal(spyi_align(1, 16), 16);
    assert_int_equal(spyi_align(24, 12), 24); // no power of two
    assert_int_equal(spyi_align(25, 12), 36);
}

// >>text

static void test_text_grows(void **state) {
    spyi_text t = { NULL, 0, 0 };
    size_t i;
    (void)state;
    assert_string_equal(spyi_text_str(&t), "");
    spyi_text_add(&t, "%s", "");
    assert_string_equal(spyi_text_str(&t), "");
    for (i = 0; i < 1000; i++) {
        spyi_text_add(&t, "%d,", (int)i);
        assert_int_equal(t.size, strlen(t.data));
    }
    assert_memory_equal(t.data, "0,1,2,3,", 8);
    assert_string_equal(t.data + t.size - 8, "998,999,");
    spyi_text_clear(&t);
    assert_string_equal(spyi_text_str(&t), "");
    assert_true(t.capacity > 0);
    spyi_text_add_n(&t, "a\0b", 3);
    assert_int_equal(t.size, 3);
    assert_memory_equal(t.data, "a\0b", 4);
    spyi_text_free(&t);
    assert_null(t.data);
}

// One addition of every length about the capacity: exact fit, one more, one less.
static void test_text_boundaries(void **state) {
    char filler[300];
    int first, second;
    (void)state;
    memset(filler, 'x', sizeof filler);
    for (first = 0; first < 140; first++) {
        for (second = 0; second < 140; second++) {
            spyi_text t = { NULL, 0, 0 };
            spyi_text_add(&t, "%.*s", first, filler);
            spyi_text_add(&t, "%.*s", second, filler);
            assert_int_equal(t.size, first + second);
            assert_int_equal(strlen(spyi_text_str(&t)), first + second);
            spyi_text_free(&t);
        }
    }
}

static void test_strdup(void **state) {
    char *copy = spyi_strdup("text");
    (void)state;
    assert_string_equal(copy, "text");
    free(copy);
    assert_null(spyi_strdup(NULL));
}

// >>hash

static void test_hash(void **state) {
    unsigned char data[64 + 8], copy[64 + 8];
    size_t size, i;
    (void)state;
    for (i = 0; i < sizeof data; i++) data[i] = (unsigned char)test_random(256);
    for (size = 0; size <= 64; size++) {
        uint64_t h = spyi_hash(data, size, 7);
        assert_true(h == spyi_hash(data, size, 7));
        assert_true(h != spyi_hash(data, size, 8));
        assert_true(h != spyi_hash(data, size + 1, 7));
        memcpy(copy + 3, data, size); // alignment does not matter
        assert_true(h == spyi_hash(copy + 3, size, 7));
        for (i = 0; i < size * 8; i++) { // each bit does
            copy[3 + i / 8] = (unsigned char)(copy[3 + i / 8] ^ (1u << (i % 8)));
            assert_true(h != spyi_hash(copy + 3, size, 7));
            copy[3 + i / 8] = (unsigned char)(copy[3 + i / 8] ^ (1u << (i % 8)));
        }
    }
}

// >>edit distance

// The definition, without a table.
static unsigned test_distance(const char *a, const char *b) {
    unsigned best, d;
    if (!*a) return (unsigned)strlen(b);
    if (!*b) return (unsigned)strlen(a);
    best = test_distance(a + 1, b + 1) + ((*a | 32) != (*b | 32));
    d = test_distance(a + 1, b) + 1;
    if (d < best) best = d;
    d = test_distance(a, b + 1) + 1;
    return d < best ? d : best;
}

static void test_edit_distance(void **state) {
    static const char letters[] = "abABc";
    char a[8], b[8], big[400];
    size_t i, k, n = test_count(20000);
    (void)state;
    assert_int_equal(spyi_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(spyi_edit_distance("Saxpy", "saxPY"), 0);
    assert_int_equal(spyi_edit_distance("", "abc"), 3);
    for (i = 0; i < n; i++) {
        size_t size_a = test_random(7), size_b = test_random(7);
        for (k = 0; k < size_a; k++) a[k] = letters[test_random(5)];
        for (k = 0; k < size_b; k++) b[k] = letters[test_random(5)];
        a[size_a] = 0;
        b[size_b] = 0;
        assert_int_equal(spyi_edit_distance(a, b), test_distance(a, b));
    }
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    assert_int_equal(spyi_edit_distance(big, "y"), sizeof big - 1);
    assert_int_equal(spyi_edit_distance(big, big + 1), 1);
}

// >>files

static void test_files(void **state) {
    const char *path = "test_base.tmp", content[] = "line\r\nzero \0 and \xff";
    spyi_text t = { NULL, 0, 0 };
    char *big = (char *)malloc(100000);
    size_t i;
    (void)state;
    assert_true(spyi_file_write(path, content, sizeof content));
    assert_true(spyi_file_exists(path));
    assert_true(spyi_file_read(path, &t));
    assert_int_equal(t.size, sizeof content);
    assert_memory_equal(t.data, content, sizeof content);
    assert_non_null(big);
    for (i = 0; i < 100000; i++) big[i] = (char)test_random(256);
    assert_true(spyi_file_write(path, big, 100000));
    assert_true(spyi_file_read(path, &t)); // replaces what was there
    assert_int_equal(t.size, 100000);
    assert_memory_equal(t.data, big, 100000);
    assert_true(spyi_file_write(path, NULL, 0));
    assert_true(spyi_file_read(path, &t));
    assert_string_equal(spyi_text_str(&t), "");
    assert_int_equal(remove(path), 0);
    assert_false(spyi_file_exists(path));
    assert_false(spyi_file_read(path, &t));
    assert_false(spyi_file_read(".", &t)); // a folder
    assert_false(spyi_file_exists("."));
    assert_false(spyi_file_exists(NULL));
    assert_false(spyi_file_write("no/such/folder/file", "x", 1));
    free(big);
    spyi_text_free(&t);
}

static void test_own_folder(void **state) {
    spyi_text t = { NULL, 0, 0 };
    (void)state;
    spyi_own_folder(&t);
    assert_true(t.size > 0);
    assert_true(t.data[t.size - 1] != '/');
    spyi_text_add(&t, "/test_base");
    assert_true(spyi_file_exists(t.data));
    spyi_text_free(&t);
}

static void test_library(void **state) {
    void *library = spyi_library_open("libc.so.6");
    (void)state;
    assert_non_null(library);
    assert_non_null(spyi_library_symbol(library, "malloc"));
    assert_null(spyi_library_symbol(library, "spy_no_such_symbol"));
    spyi_library_close(library);
    assert_null(spyi_library_open("no_such_library.so"));
    assert_non_null(strstr(spyi_library_error(), "no_such_library.so"));
    assert_null(spyi_library_open(NULL));
    spyi_library_close(NULL);
}

// >>threads

typedef struct test_shared {
    spyi_atomic atomic;
    spyi_mutex mutex;
    int count, global_count, gated_count; // plain: guarded by the mutex, the global lock, the gate
    spyi_atomic gate;
} test_shared;

enum { TEST_THREADS = 4, TEST_ROUNDS = 2000 };

static void test_thread_work(void *arg) {
    test_shared *s = (test_shared *)arg;
    int i;
    for (i = 0; i < TEST_ROUNDS; i++) {
        spyi_atomic_add(&s->atomic, 3);
        spyi_mutex_lock(&s->mutex);
        s->count++;
        spyi_mutex_unlock(&s->mutex);
        spyi_global_lock();
        s->global_count++;
        spyi_global_unlock();
        while (!spyi_atomic_swap_if(&s->gate, 0, 1)) {}
        s->gated_count++;
        spyi_atomic_store(&s->gate, 0);
    }
}

static void test_threads(void **state) {
    test_shared s;
    spyi_thread threads[TEST_THREADS];
    int i;
    (void)state;
    memset(&s, 0, sizeof s);
    spyi_mutex_init(&s.mutex);
    for (i = 0; i < TEST_THREADS; i++) assert_true(spyi_thread_start(&threads[i], test_thread_work, &s));
    for (i = 0; i < TEST_THREADS; i++) spyi_thread_join(&threads[i]);
    spyi_mutex_destroy(&s.mutex);
    assert_int_equal(s.atomic.value, 3 * TEST_THREADS * TEST_ROUNDS);
    assert_int_equal(s.count, TEST_THREADS * TEST_ROUNDS);
    assert_int_equal(s.global_count, TEST_THREADS * TEST_ROUNDS);
    assert_int_equal(s.gated_count, TEST_THREADS * TEST_ROUNDS);
    assert_int_equal(spyi_atomic_add(&s.atomic, -1), 3 * TEST_THREADS * TEST_ROUNDS - 1);
    assert_false(spyi_atomic_swap_if(&s.gate, 5, 6));
    assert_int_equal(spyi_atomic_load(&s.gate), 0);
}

static void test_clock(void **state) {
    uint64_t first = spyi_time_ns(), last = first;
    (void)state;
    while (last - first < 2000000) { // it moves, and never back
        uint64_t now = spyi_time_ns();
        assert_true(now >= last);
        last = now;
    }
}

// >>errors and log

typedef struct test_log {
    int count;
    spy_log_level level;
    char last[20000];
    spy_device *take_from; // asks for the error from inside the callback
    spy_error taken;
} test_log;

static void test_log_func(spy_log_level level, const char *message, void *user_data) {
    test_log *log = (test_log *)user_data;
    size_t size = strlen(message);
    log->count++;
    log->level = level;
    if (size >= sizeof log->last) size = sizeof log->last - 1;
    memcpy(log->last, message, size);
    log->last[size] = 0;
    if (log->take_from) log->taken = spy_take_error(log->take_from);
}

static spy_device *test_device(spyi_context *ctx) {
    return (spy_device *)(void *)ctx;
}

static void test_context_with_log(spyi_context *ctx, test_log *log, spy_log_level level) {
    spy_device_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(log, 0, sizeof *log);
    desc.log.func = test_log_func;
    desc.log.user_data = log;
    desc.log.level = level;
    spyi_context_init(ctx, &desc);
}

static void test_first_error_stays(void **state) {
    spyi_context ctx;
    test_log log;
    spy_error e;
    const char *message;
    (void)state;
    test_context_with_log(&ctx, &log, SPY_LOG_LEVEL_DEFAULT);
    e = spy_take_error(test_device(&ctx));
    assert_int_equal(e.code, SPY_OK);
    assert_string_equal(e.message, "");
    assert_int_equal(spyi_fail(&ctx, SPY_ERROR_NOT_FOUND, "first %d", 1), SPY_ERROR_NOT_FOUND);
    assert_int_equal(spyi_fail(&ctx, SPY_ERROR_BUSY, "second %d", 2), SPY_ERROR_BUSY);
    assert_int_equal(log.count, 2); // the log has seen both
    assert_string_equal(log.last, "second 2");
    e = spy_take_error(test_device(&ctx));
    assert_int_equal(e.code, SPY_ERROR_NOT_FOUND);
    assert_string_equal(e.message, "first 1");
    message = e.message;
    spyi_fail(&ctx, SPY_ERROR_IO, "third");
    assert_string_equal(message, "first 1"); // valid until the next take
    e = spy_take_error(test_device(&ctx));
    assert_int_equal(e.code, SPY_ERROR_IO);
    assert_string_equal(e.message, "third");
    assert_int_equal(spy_take_error(test_device(&ctx)).code, SPY_OK);
    spyi_fail(&ctx, SPY_ERROR_INTERNAL, "%s", "");
    assert_string_equal(spy_take_error(test_device(&ctx)).message, "an internal error of the library");

    log.take_from = test_device(&ctx); // no dead lock
    spyi_fail(&ctx, SPY_ERROR_IO, "in the callback");
    assert_int_equal(log.taken.code, SPY_OK); // the log comes first
    assert_int_equal(spy_take_error(test_device(&ctx)).code, SPY_ERROR_IO);
    spyi_context_destroy(&ctx);
    assert_int_equal(spy_take_error(test_device(&ctx)).code, SPY_ERROR_RELEASED);
    assert_int_equal(spy_take_error(NULL).code, SPY_OK);
}

static void test_long_messages(void **state) {
    spyi_context ctx;
    test_log log;
    spy_error e;
    char *big = (char *)malloc(15001);
    size_t i;
    (void)state;
    assert_non_null(big);
    for (i = 0; i < 15000; i += 2) memcpy(big + i, "\xc3\xa4", 2); // a two-byte character
    big[15000] = 0;
    test_context_with_log(&ctx, &log, SPY_LOG_LEVEL_DEFAULT);
    spyi_fail(&ctx, SPY_ERROR_COMPILE, "%s", big);
    assert_string_equal(log.last, big);
    assert_string_equal(spy_take_error(test_device(&ctx)).message, big);
    spyi_context_destroy(&ctx);

    for (i = 0; i < 2; i++) { // the cut falls between characters for either alignment
        size_t size;
        spyi_fail(NULL, SPY_ERROR_COMPILE, "%s%s", i ? "x" : "", big);
        spyi_fail(NULL, SPY_ERROR_IO, "not this one");
        e = spy_take_error(NULL);
        assert_int_equal(e.code, SPY_ERROR_COMPILE);
        size = strlen(e.message);
        assert_true(size > 8000 && size < 8192);
        assert_string_equal(e.message + size - 3, "...");
        assert_int_equal((unsigned char)e.message[size - 4], 0xa4);
    }
    assert_int_equal(spy_take_error(NULL).code, SPY_OK);
    free(big);
}

static void test_log_levels(void **state) {
    spyi_context ctx;
    test_log log;
    (void)state;
    test_context_with_log(&ctx, &log, SPY_LOG_LEVEL_DEFAULT);
    spyi_logf(&ctx, SPY_LOG_LEVEL_INFO, "hidden");
    assert_int_equal(log.count, 0);
    spyi_logf(&ctx, SPY_LOG_LEVEL_WARNING, "%s", "shown");
    assert_int_equal(log.count, 1);
    assert_int_equal(log.level, SPY_LOG_LEVEL_WARNING);
    assert_string_equal(log.last, "shown");
    spyi_context_destroy(&ctx);
    test_context_with_log(&ctx, &log, SPY_LOG_LEVEL_ERROR);
    assert_false(spyi_log_wants(&ctx, SPY_LOG_LEVEL_WARNING));
    assert_true(spyi_log_wants(&ctx, SPY_LOG_LEVEL_ERROR));
    spyi_context_destroy(&ctx);
    test_context_with_log(&ctx, &log, SPY_LOG_LEVEL_DEBUG);
    assert_true(spyi_log_wants(&ctx, SPY_LOG_LEVEL_DEBUG));
    spyi_context_destroy(&ctx);
    assert_false(spyi_log_wants(NULL, SPY_LOG_LEVEL_ERROR));
    spyi_logf(NULL, SPY_LOG_LEVEL_ERROR, "nowhere");
    spyi_step(NULL, "nothing", true);
}

static void test_thread_error_of_another(void *arg) {
    spy_error *seen = (spy_error *)arg;
    seen[0] = spy_take_error(NULL); // not the other thread's
    spyi_fail(NULL, SPY_ERROR_BUSY, "mine");
    seen[1] = spy_take_error(NULL);
    seen[1].message =
        strcmp(seen[1].message, "mine") == 0 ? "good" : "bad"; // the thread's memory goes with it
}

static void test_errors_of_threads(void **state) {
    spyi_thread thread;
    spy_error seen[2];
    (void)state;
    spyi_fail(NULL, SPY_ERROR_IO, "main");
    assert_true(spyi_thread_start(&thread, test_thread_error_of_another, seen));
    spyi_thread_join(&thread);
    assert_int_equal(seen[0].code, SPY_OK);
    assert_int_equal(seen[1].code, SPY_ERROR_BUSY);
    assert_string_equal(seen[1].message, "good");
    assert_string_equal(spy_take_error(NULL).message, "main");
}

static void test_fail_often(void *arg) {
    int i;
    for (i = 0; i < 500; i++) {
        spyi_fail((spyi_context *)arg, SPY_ERROR_COMPILE, "compile thread, round %d", i);
    }
}

static void test_errors_together(void **state) {
    spyi_context ctx;
    spyi_thread threads[TEST_THREADS];
    int i;
    (void)state;
    spyi_context_init(&ctx, NULL);
    for (i = 0; i < TEST_THREADS; i++) assert_true(spyi_thread_start(&threads[i], test_fail_often, &ctx));
    for (i = 0; i < 500; i++) {
        spy_error e = spy_take_error(test_device(&ctx));
        if (e.code != SPY_OK) assert_memory_equal(e.message, "compile thread, round ", 22);
    }
    for (i = 0; i < TEST_THREADS; i++) spyi_thread_join(&threads[i]);
    spyi_context_destroy(&ctx);
}

// >>memory

typedef struct test_memory {
    int blocks;
    size_t bytes;
    size_t alignment;
    bool fail;
} test_memory;

static void *test_give(size_t size, size_t alignment, void *user_data) {
    test_memory *m = (test_memory *)user_data;
    void *memory = m->fail ? NULL : malloc(size);
    m->alignment = alignment;
    if (!memory) return NULL;
    memset(memory, 0xee, size);
    m->blocks++;
    m->bytes += size;
    return memory;
}

static void *test_move(void *memory, size_t old_size, size_t new_size, size_t alignment, void *user_data) {
    test_memory *m = (test_memory *)user_data;
    void *moved = test_give(new_size, alignment, user_data);
    if (!moved) return NULL;
    memcpy(moved, memory, old_size < new_size ? old_size : new_size);
    free(memory);
    m->blocks--;
    m->bytes -= old_size;
    return moved;
}

static void test_take_back(void *memory, size_t size, void *user_data) {
    test_memory *m = (test_memory *)user_data;
    free(memory);
    m->blocks--;
    m->bytes -= size;
}

static void test_allocator(void **state) {
    static const unsigned char zero[100] = { 0 };
    spyi_context ctx;
    spy_device_desc desc;
    test_memory m;
    unsigned char *p, *q;
    char label[] = "my device";
    (void)state;
    memset(&desc, 0, sizeof desc);
    memset(&m, 0, sizeof m);
    desc.allocator.allocate = test_give;
    desc.allocator.reallocate = test_move;
    desc.allocator.free = test_take_back;
    desc.allocator.user_data = &m;
    desc.label = label;
    spyi_context_init(&ctx, &desc);
    label[0] = '?';
    assert_string_equal(ctx.label, "my device");
    assert_int_equal(ctx.error_code, SPY_OK);
    p = (unsigned char *)spyi_allocate(&ctx, 50);
    assert_memory_equal(p, zero, 50);
    assert_int_equal(m.alignment, 16);
    p[49] = 7;
    p = (unsigned char *)spyi_reallocate(&ctx, p, 50, 100);
    assert_int_equal(p[49], 7);
    assert_memory_equal(p + 50, zero, 50);
    q = (unsigned char *)spyi_reallocate(&ctx, NULL, 0, 0); // NULL means out of memory only
    assert_non_null(q);
    m.fail = true;
    assert_null(spyi_allocate(&ctx, 8));
    assert_null(spyi_reallocate(&ctx, p, 100, 200)); // p stays
    assert_int_equal(p[49], 7);
    spyi_free(&ctx, p, 100);
    spyi_free(&ctx, q, 0);
    spyi_free(&ctx, NULL, 3);
    assert_int_equal(m.blocks, 0);
    assert_int_equal(m.bytes, 0);
    spyi_context_destroy(&ctx);

    desc.allocator.reallocate = NULL;
    spyi_context_init(&ctx, &desc);
    assert_int_equal(ctx.error_code, SPY_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(spy_take_error(test_device(&ctx)).message, "reallocate is NULL"));
    spyi_context_destroy(&ctx);

    p = (unsigned char *)spyi_allocate(NULL, 100); // before there is a device
    assert_memory_equal(p, zero, 100);
    spyi_free(NULL, p, 100);
}

static void test_progress_func(const char *step, bool finished, void *user_data) {
    spyi_text_add((spyi_text *)user_data, "%s %d;", step, (int)finished);
}

static void test_progress(void **state) {
    spyi_context ctx;
    spy_device_desc desc;
    spyi_text t = { NULL, 0, 0 };
    (void)state;
    memset(&desc, 0, sizeof desc);
    desc.progress.func = test_progress_func;
    desc.progress.user_data = &t;
    spyi_context_init(&ctx, &desc);
    spyi_step(&ctx, "upload", false);
    spyi_step(&ctx, "upload", true);
    assert_string_equal(t.data, "upload 0;upload 1;");
    assert_string_equal(ctx.label, "device");
    spyi_context_destroy(&ctx);
    spyi_text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_text_boundaries),
        cmocka_unit_test(test_strdup),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_own_folder),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_log_levels),
        cmocka_unit_test(test_errors_of_threads),
        cmocka_unit_test(test_errors_together),
        cmocka_unit_test(test_allocator),
        cmocka_unit_test(test_progress),
    };
    const char *seed = getenv("SPY_TEST_SEED");
    if (seed) test_random_state = (uint32_t)strtoul(seed, NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
