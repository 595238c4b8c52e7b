// Command lists recorded into an engine's command buffer: a second device over the first one's Vulkan objects, whose lists go
// into the first one's command buffers. Skipped, and said so, where there is no Vulkan device. SPY_TEST_VALIDATION=1: with
// the validation layer; its messages are failures.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "call/list.h"
#include "vk/internal.h"
#endif

static int warnings;

static void listen(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (strstr(message, "not a conformant")) return; // Mesa's word on lavapipe
    if (level == SPY_LOG_WARNING || strstr(message, "alidation")) {
        print_message("%s\n", message);
        warnings++;
    }
}

static spy_device *open_device(const spy_vk_desc *engine) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_vk_backend();
    d.backend_desc = engine;
    d.log.func = listen;
    d.enable_validation = getenv("SPY_TEST_VALIDATION") != NULL;
    return spy_create_device(&d);
}

static void good(spy_device *device, spy_status s) {
    if (s != SPY_OK) fail_msg("%s", spy_take_error(device).message);
}

static void test_engine(void **state) {
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT];
    uint64_t times[2];
    spyi_text error = { NULL, 0, 0 };
    spy_vk_desc engine;
    (void)state;
    warnings = 0;
    spy_device *first = open_device(NULL);
    if (!first) {
        print_message("skipped: %s\n", spy_take_error(NULL).message);
        skip();
    }
    spyi_vk_gpu *own = (spyi_vk_gpu *)(void *)first->gpu;
    memset(&engine, 0, sizeof engine);
    engine.get_instance_proc_addr = (spy_vk_get_instance_proc_addr_func)own->instance.get_proc;
    engine.instance = (void *)own->instance.handle;
    engine.physical_device = (void *)own->adapter.handle;
    engine.device = (void *)own->device;
    engine.queue = (void *)own->queue;
    engine.queue_family = own->queue_family;
    engine.api_version = own->instance.api_version;
    spy_device *device = open_device(&engine);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);

    for (int i = 0; i < COUNT; i++) x[i] = (float)i;
    spy_tensor_desc td;
    memset(&td, 0, sizeof td);
    td.shape = SPY_SHAPE(COUNT);
    spy_tensor *a = spy_create_tensor(device, &td), *b = spy_create_tensor(device, &td);
    spy_list_desc ld;
    memset(&ld, 0, sizeof ld);
    ld.label = "list";
    spy_command_list *list = spy_create_command_list(device, &ld);
    bool timed = (spy_get_device_info(device).features & SPY_FEATURE_TIMESTAMPS) != 0;
    if (timed) good(device, spy_list_timestamp(list));
    good(device, spy_list_push_label(list, "copies"));
    good(device, spy_list_write(list, a, x, sizeof x));
    good(device, spy_list_copy(list, b, a));
    good(device, spy_list_fill(list, a, 7));
    good(device, spy_list_marker(list, "end"));
    good(device, spy_list_pop_label(list));
    if (timed) good(device, spy_list_timestamp(list));
    good(device, spy_list_finish(list));

    for (int round = 0; round < 3; round++) {
        good(device, spy_tensor_fill(b, -1));
        assert_int_equal(spyi_vk_begin(own, &error), SPY_OK);
        good(device, spy_vk_set_command_buffer(device, (void *)own->commands));
        good(device, spy_list_submit(list));
        good(device, spy_list_submit(list));
        good(device, spy_vk_set_command_buffer(device, NULL));
        // Nothing has been executed yet, and that is what reads say.
        assert_int_equal(spy_tensor_read(b, y, sizeof y), SPY_ERROR_NOT_READY);
        assert_int_equal(spy_take_error(device).code, SPY_ERROR_NOT_READY);
        if (timed) {
            assert_int_equal(spy_list_read_timestamps(list, times, 2), SPY_ERROR_NOT_READY);
            assert_int_equal(spy_take_error(device).code, SPY_ERROR_NOT_READY);
        }
        assert_int_equal(first->backend->submit(first->gpu, &error), SPY_OK);
        good(first, spy_wait(first));
        good(device, spy_vk_external_submit_finished(device));
        good(device, spy_tensor_read(b, y, sizeof y));
        assert_memory_equal(y, x, sizeof x);
        good(device, spy_tensor_read(a, y, sizeof y));
        for (int i = 0; i < COUNT; i++) assert_float_equal(y[i], 7, 0);
        if (timed) {
            good(device, spy_list_read_timestamps(list, times, 2));
            assert_true(times[0] <= times[1]);
        }
        good(device, spy_list_submit(list)); // and by itself again
        good(device, spy_tensor_read(b, y, sizeof y));
        assert_memory_equal(y, x, sizeof x);
    }
    spy_release_device(device);
    spy_release_device(first);
    assert_int_equal(error.size, 0);
    assert_int_equal(warnings, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_engine) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
