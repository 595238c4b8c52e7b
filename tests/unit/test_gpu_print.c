// The print buffer on the null backend: the test writes the records that a kernel would, into unmapped memory, by the rules of
// slangpy_print.slang. When it is emptied, what is delivered, and what happens when that fails.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "api/print.h"
#include "backend/null/null.h"
#include "data/gpu_print.h"
#endif

typedef struct heard {
    char text[4096]; // of all messages: "level:message;"
} heard;
static heard log_heard;

static void listen(spy_log_level level, const char *message, void *user) {
    heard *h = (heard *)user;
    size_t used = strlen(h->text);
    snprintf(h->text + used, sizeof h->text - used, "%d:%s;", (int)level, message);
}

static spyi_text report;

static spy_device *open_device(const spyi_null_desc *null, size_t bytes, bool with_log) {
    static spyi_null_desc copy;
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    copy = *null;
    copy.report = &report;
    d.backend = spyi_null_backend();
    d.backend_desc = &copy;
    d.enable_print = true;
    d.print_buffer_bytes = bytes;
    if (with_log) d.log.func = listen;
    d.log.user_data = &log_heard;
    memset(&log_heard, 0, sizeof log_heard);
    return spy_create_device(&d);
}

static spy_device *open_plain(size_t bytes) {
    spyi_null_desc null;
    memset(&null, 0, sizeof null);
    spy_device *device = open_device(&null, bytes, true);
    assert_non_null(device);
    return device;
}

static void close_device(spy_device *device) {
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
    spyi_text_free(&report);
}

static void learn(spy_device *device, uint32_t hash, const char *text) {
    spyi_literals one;
    memset(&one, 0, sizeof one);
    assert_true(spyi_literals_add(&one, hash, text, strlen(text)));
    spyi_print_learn(device, &one);
    spyi_literals_free(&one);
}

static uint32_t *buffer_of(spy_device *device) {
    return (uint32_t *)(uintptr_t)spyi_print_address(device);
}

static void note(spy_device *device) {
    spyi_use use = spyi_print_use(device);
    spyi_before before = spyi_take_uses(device, &use, 1, false);
    spyi_uses_done(device, &before, false, SPY_OK);
}

// As a kernel does, in the open batch.
static void print_int(spy_device *device, uint32_t hash, int32_t value) {
    uint32_t *header = buffer_of(device);
    note(device);
    uint32_t at = header[0] < header[2] ? header[0] : header[2];
    if (header[0] < header[2]) header[0] += 4;
    if (at < header[2] && 4 <= header[2] - at) {
        uint32_t *record = header + SPYI_PRINT_HEADER_WORDS + at;
        record[0] = 4;
        record[1] = hash;
        record[2] = SPY_DTYPE_INT32;
        record[3] = (uint32_t)value;
        return;
    }
    if (at < header[2]) header[SPYI_PRINT_HEADER_WORDS + at] = 0;
    header[1]++;
}

static void heard_is(const char *expected) {
    assert_string_equal(log_heard.text, expected);
    log_heard.text[0] = 0;
}

static void test_delivery(void **state) {
    (void)state;
    spy_device *device = open_plain(0);
    learn(device, 7, "i = {}");
    assert_int_equal(spy_wait(device), SPY_OK);
    assert_int_equal(buffer_of(device)[2], (1 << 20) / 4 - 4);
    for (int round = 0; round < 3; round++) {
        print_int(device, 7, 1);
        print_int(device, 7, -2);
        print_int(device, 8, 3);
        assert_int_equal(spy_flush_print(device), SPY_OK);
        heard_is("3:i = 1;3:i = -2;3:<format 00000008>;");
        assert_int_equal(spy_wait(device), SPY_OK); // the reset has happened
        assert_int_equal(buffer_of(device)[0], 0);
        heard_is("");
    }
    print_int(device, 7, 5);
    close_device(device);
    heard_is("3:i = 5;");
}

// Nothing waits for work that prints but what says so.
static void test_unfinished(void **state) {
    (void)state;
    spy_device *device = open_plain(0);
    learn(device, 7, "i = {}");
    assert_int_equal(spy_wait(device), SPY_OK);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape.rank = 1;
    d.shape.dims[0] = 4;
    spy_tensor *early = spy_create_tensor(device, &d), *late = spy_create_tensor(device, &d);
    float data[4] = { 1, 2, 3, 4 };
    assert_int_equal(spy_tensor_write(early, data, sizeof data), SPY_OK);
    spyi_null_hold_submits(device->gpu, true);
    spy_flush(device);
    print_int(device, 7, 1);
    assert_int_equal(spy_tensor_write(late, data, sizeof data), SPY_OK);
    assert_int_equal(spy_tensor_read(early, data, sizeof data), SPY_OK);
    heard_is("");
    assert_int_equal(spy_tensor_read(late, data, sizeof data), SPY_OK);
    heard_is("3:i = 1;");
    spy_release_tensor(early);
    spy_release_tensor(late);
    close_device(device);
}

// While calls are recorded for somebody else to submit, nothing can be waited for.
static void test_deferred(void **state) {
    (void)state;
    spy_device *device = open_plain(0);
    learn(device, 7, "i = {}");
    assert_int_equal(spy_wait(device), SPY_OK);
    print_int(device, 7, 1);
    device->base->recording = true;
    assert_int_equal(spy_flush_print(device), SPY_ERROR_UNSUPPORTED);
    spy_error e = spy_take_error(device);
    assert_int_equal(e.code, SPY_ERROR_UNSUPPORTED);
    assert_non_null(strstr(e.message, "spy_flush_print"));
    memset(&log_heard, 0, sizeof log_heard);
    spyi_print_deliver(device);
    heard_is("");
    device->base->recording = false;
    assert_int_equal(spy_flush_print(device), SPY_OK);
    heard_is("3:i = 1;");
    close_device(device);
}

static void test_overflow(void **state) {
    (void)state;
    spy_device *device = open_plain(100); // 21 words: five messages of four
    learn(device, 7, "{}");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(spy_wait(device), SPY_OK);
        for (int i = 0; i < 8; i++) print_int(device, 7, i);
        assert_int_equal(spy_flush_print(device), SPY_OK);
        heard_is("3:0;3:1;3:2;3:3;3:4;2:print: 3 messages did not fit and are lost: the buffer has 100 "
                 "bytes; give the device a "
                 "larger desc.print_buffer_bytes, or wait more often;");
    }
    close_device(device);
}

// Whatever a kernel wrote over the buffer: no message, or some, but nothing else.
static void test_garbage(void **state) {
    (void)state;
    spy_device *device = open_plain(4096);
    learn(device, 7, "{} {} {}");
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        assert_int_equal(spy_wait(device), SPY_OK);
        uint32_t *words = buffer_of(device);
        for (int i = 3; i < 1024; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            words[i] = (uint32_t)(seed >> 33) % (seed >> 62 ? 24u : 0xffffffffu);
        }
        words[0] = round % 3 ? (uint32_t)(seed >> 50) : UINT32_MAX;
        note(device);
        assert_int_equal(spy_flush_print(device), SPY_OK);
        log_heard.text[0] = 0;
    }
    close_device(device);
}

static void test_failures(void **state) {
    (void)state;
    spyi_null_desc null;
    memset(&null, 0, sizeof null);
    null.bindings_only = true;
    assert_null(open_device(&null, 0, true));
    spy_error e = spy_take_error(NULL);
    assert_int_equal(e.code, SPY_ERROR_UNSUPPORTED);
    assert_non_null(strstr(e.message, "desc.enable_print"));
    null.bindings_only = false;
    null.memory_bytes = 1 << 16;
    assert_null(open_device(&null, 1 << 24, true));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    spyi_text_free(&report);

    spy_device *device = open_plain(0);
    learn(device, 7, "i = {}");
    assert_int_equal(spy_wait(device), SPY_OK);
    print_int(device, 7, 1);
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_DEVICE_LOST); // the reset
    assert_int_equal(spy_flush_print(device), SPY_ERROR_DEVICE_LOST);
    e = spy_take_error(device);
    assert_int_equal(e.code, SPY_ERROR_DEVICE_LOST);
    assert_non_null(strstr(e.message, "spy_flush_print"));
    assert_non_null(strstr(log_heard.text, "3:i = 1;")); // what was read is delivered
    char text[16] = "x";
    print_int(device, 7, 2);
    assert_int_equal(spy_read_print(device, text, sizeof text), 0);
    assert_string_equal(text, "");
    close_device(device);

    null.memory_bytes = 0; // without a log, and never asked for
    device = open_device(&null, 0, false);
    assert_non_null(device);
    assert_int_equal(spy_wait(device), SPY_OK);
    print_int(device, 7, 1);
    assert_int_equal(spy_wait(device), SPY_OK);
    close_device(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delivery), cmocka_unit_test(test_unfinished), cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_garbage),    cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
