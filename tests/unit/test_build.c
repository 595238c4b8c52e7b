// Kernels that a driver compiles for long: callers leave it, later calls take over what it makes, and the device can be released
// meanwhile. Results that do not come: callers leave these, too. On the null backend, and on CUDA with a driver without a GPU (fake_cuda/); kernels are compiled for real, never run.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // usleep
#endif
#include "spy_test.h"
#include "counting_allocator.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "cuda/internal.h"
#include "data/device.h"
#endif
#include "fake_cuda/fake_device.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// >>the driver

static spyi_atomic held;    // it does not end
static spyi_atomic entered; // kernels that it was asked for
static spyi_atomic refuses; // ... and makes none

static void driver_works(void) {
    spyi_atomic_add(&entered, 1);
    while (spyi_atomic_load(&held)) usleep(1000);
}

static spy_status on_kernel(const spyi_kernel_desc *desc, void *user_data, spyi_text *error) {
    const uint32_t magic = 0x07230203u; // SPIR-V's: the code is whole to the end
    (void)user_data;
    uint32_t before, after;
    memcpy(&before, desc->code, sizeof before);
    driver_works();
    memcpy(&after, desc->code, sizeof after);
    if (!spyi_atomic_load(&refuses) && before == magic && after == magic && strlen(desc->entry) && desc->label) return SPY_OK;
    spyi_text_add(error, "the driver refuses '%s'", desc->label);
    return SPY_ERROR_COMPILE;
}

static void on_load(void *user) {
    (void)user;
    driver_works();
}

// >>the device

static const char source[] = "float f(float x) { return x + 1; }\n"
                             "float g(float x) { return x + 2; }\n";

static spy_device *device;
static spy_module *module;
static spyi_text report, logged;
static SPYI_THREAD_LOCAL bool building, compiling; // this thread is in the step 'pipeline', or in another one
static spyi_atomic leaves;                         // desc.interrupt says yes: 1: in 'pipeline', 2: in no step; 0: never
static spyi_atomic blocked;
static const char *fake_path;

static void hear(spy_log_level level, const char *message, void *user_data) {
    (void)level, (void)user_data;
    spyi_text_add(&logged, "%s\n", message);
}

static void on_progress(const char *step, bool finished, void *user_data) {
    (void)user_data;
    building = !finished && strncmp(step, "pipeline ", 9) == 0;
    compiling = !finished && !building;
}

static bool on_interrupt(void *user_data) {
    (void)user_data;
    return spyi_atomic_load(&leaves) == (building ? 1 : compiling ? -1 : 2);
}

static void on_block(bool begins, void *user_data) {
    (void)user_data;
    spyi_atomic_add(&blocked, begins ? 1 : -1);
}

static spy_device_desc device_desc(void) {
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    d.log.func = hear;
    d.progress.func = on_progress;
    d.interrupt.func = on_interrupt;
    d.blocking.func = on_block;
    return d;
}

static void open_module(void) {
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "unit";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
}

static bool holds_submits; // the GPU does nothing until it is waited for without a limit

static void open_device(const spy_device_desc *desc) {
    spyi_null_desc null_desc;
    spy_device_desc d = *desc;
    memset(&null_desc, 0, sizeof null_desc);
    null_desc.on_kernel = on_kernel;
    null_desc.report = &report;
    null_desc.hold_submits = null_desc.bindings_only = holds_submits;
    d.backend_desc = &null_desc;
    spyi_text_clear(&logged);
    spyi_atomic_store(&held, 0);
    spyi_atomic_store(&entered, 0);
    spyi_atomic_store(&leaves, 0);
    spyi_atomic_store(&blocked, 0);
    spyi_atomic_store(&refuses, 0);
    building = false;
    device = spy_create_device(&d);
    assert_non_null(device);
    open_module();
}

static spy_status call(const char *name) {
    float result;
    spy_args args = SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &result));
    return spy_call(spy_find_function(module, name), args);
}

static void good(spy_status status, int line) { fake_good(device, status, line); }
#define GOOD(expression) good(expression, __LINE__)
#define FAILS(status, code, word, more) fake_fails(device, status, code, word, more, __LINE__)

// The last thread of a device's frees what it still needed.
static int thread_count(void) {
    char line[128];
    int count = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "Threads: %d", &count);
    if (f) fclose(f);
    return count;
}

static void wait_for_threads(int count) {
    for (int i = 0; i < 5000 && thread_count() > count; i++) usleep(1000);
    assert_int_equal(thread_count(), count);
}

// >>leaving

static void test_interrupt(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    open_device(&d);
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    uint64_t began = spyi_time_ns();
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "spy_call: f", ": interrupted after");
    assert_true(spyi_time_ns() - began < 5000000000u); // 0.1 s on a machine that has time
    assert_non_null(strstr(spyi_text_str(&logged), "the driver's compiler is left to itself"));
    assert_int_equal(spyi_atomic_load(&blocked), 0);
    // Once more, while it is still at it; and then to the end: the driver has been asked once.
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "spy_call: f", "pipeline f_");
    spyi_atomic_store(&leaves, 0);
    spyi_atomic_store(&held, 0);
    GOOD(call("f"));
    assert_int_equal(spyi_atomic_load(&entered), 1);
    GOOD(call("g")); // a kernel of its own
    GOOD(call("f"));
    assert_int_equal(spyi_atomic_load(&entered), 2);
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
}

static void test_timeout(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    d.compile_timeout_s = 2.2;
    open_device(&d);
    spyi_atomic_store(&held, 1);
    FAILS(call("f"), SPY_ERROR_TIMEOUT, "spy_call: f", "desc.compile_timeout_s allows 2.2");
    assert_non_null(strstr(spyi_text_str(&logged), ": 2 s so far; the driver's compiler is still at it"));
    // What it says at last is told to the next caller.
    spyi_atomic_store(&refuses, 1);
    spyi_atomic_store(&held, 0);
    FAILS(call("f"), SPY_ERROR_COMPILE, "spy_call: f", "the driver refuses 'f_");
    spyi_atomic_store(&refuses, 0);
    GOOD(call("f"));
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
}

// >>releasing

// The release comes back at once; the thread ends the device.
static void test_release(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    open_device(&d);
    int threads = thread_count();
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "", "");
    FAILS(call("g"), SPY_ERROR_INTERRUPTED, "", "");
    uint64_t began = spyi_time_ns();
    spy_release_device(device);
    assert_true(spyi_time_ns() - began < 5000000000u);
    spyi_text_clear(&logged);
    spyi_atomic_store(&held, 0);
    wait_for_threads(threads);
    assert_string_equal(spyi_text_str(&report), "");
    assert_string_equal(spyi_text_str(&logged), "");
    assert_int_equal(spyi_atomic_load(&blocked), 0);
}

// What was left and is done by then goes with the device.
static void test_release_done(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    open_device(&d);
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "", "");
    spyi_atomic_store(&held, 0);
    usleep(20000);
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
}

static void *let_go(void *arg) {
    usleep(200000);
    spyi_atomic_store(&held, 0);
    return arg;
}

// The program's allocator is not used after the release, which waits.
static void test_release_allocator(void **state) {
    (void)state;
    pthread_t thread;
    spy_device_desc d = device_desc();
    d.allocator = counting_allocator();
    open_device(&d);
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "", "");
    assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
    spy_release_device(device);
    assert_int_equal(spyi_atomic_load(&held), 0);
    assert_int_equal(bytes_alive, 0);
    pthread_join(thread, NULL);
    assert_string_equal(spyi_text_str(&report), "");
}

// >>results

static void play(spyi_gpu *gpu, const spyi_null_op *op, void *user_data) {
    (void)user_data;
    float *result = (float *)spyi_null_memory(gpu, op->bindings[op->binding_count - 1].handle, op->bindings[op->binding_count - 1].offset);
    *result = 7;
}

// A kernel that lasts: the call that waits for its result is left. The next one waits for it: their results lie in one memory.
static void test_results(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    holds_submits = true;
    open_device(&d);
    holds_submits = false;
    spyi_null_on_dispatch(device->gpu, play, NULL);
    float result = 1;
    spy_args args = SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &result));
    spy_function *f = spy_find_function(module, "f");
    spyi_atomic_store(&leaves, 2);
    FAILS(spy_call(f, args), SPY_ERROR_INTERRUPTED, "spy_call: f", "interrupted before its results came");
    FAILS(spy_call(f, args), SPY_ERROR_INTERRUPTED, "spy_call: f", "interrupted before its results came");
    assert_true(result == 1);
    spyi_atomic_store(&leaves, 0);
    spyi_null_hold_submits(device->gpu, false);
    GOOD(spy_call(f, args));
    assert_true(result == 7);
    assert_int_equal(spyi_atomic_load(&blocked), 0);
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
}

// >>several callers

static void *call_f(void *arg) {
    *(spy_status *)arg = call("f");
    return NULL;
}

// A thread that compiles the same kernel ahead of time, and a caller that leaves it.
static void test_threads(void **state) {
    (void)state;
    spy_device_desc d = device_desc();
    pthread_t threads[3];
    spy_status status[3];
    open_device(&d);
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "", "");
    spyi_atomic_store(&leaves, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, call_f, &status[i]), 0);
    usleep(20000);
    spyi_atomic_store(&held, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) GOOD(status[i]);
    assert_int_equal(spyi_atomic_load(&entered), 1);
    spy_release_device(device);
    assert_string_equal(spyi_text_str(&report), "");
}

// >>CUDA

static void open_cuda(fake_cuda **fake) {
    spy_device_desc d = device_desc();
    spy_cuda_desc cuda;
    *fake = fake_cuda_state_at(fake_path);
    assert_non_null(*fake);
    (*fake)->on_load = on_load;
    memset(&cuda, 0, sizeof cuda);
    cuda.driver_library = fake_path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    spyi_atomic_store(&held, 0);
    spyi_atomic_store(&entered, 0);
    spyi_atomic_store(&leaves, 0);
    building = false;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    open_module();
}

static void test_cuda(void **state) {
    (void)state;
    fake_cuda *fake;
    open_cuda(&fake);
    // NVRTC takes some milliseconds at least, and it has to be opened.
    spyi_atomic_store(&leaves, 1);
    FAILS(call("f"), SPY_ERROR_INTERRUPTED, "spy_call: f", ": interrupted after");
    spyi_atomic_store(&leaves, 0);
    GOOD(call("f"));
    assert_int_equal(spyi_atomic_load(&entered), 1);
    // The driver that translates PTX.
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("g"), SPY_ERROR_INTERRUPTED, "spy_call: g", ": interrupted after");
    spyi_atomic_store(&held, 0);
    spyi_atomic_store(&leaves, 0);
    GOOD(call("g"));
    assert_int_equal(spyi_atomic_load(&entered), 2);
    spy_release_device(device);
    assert_int_equal(fake->modules, 0);
    // A device that is released meanwhile.
    int threads = thread_count();
    open_cuda(&fake);
    spyi_atomic_store(&held, 1);
    spyi_atomic_store(&leaves, 1);
    FAILS(call("g"), SPY_ERROR_INTERRUPTED, "", "");
    while (!spyi_atomic_load(&entered)) usleep(1000);
    spy_release_device(device);
    spyi_atomic_store(&held, 0);
    wait_for_threads(threads);
    assert_int_equal(fake->modules, 0);
    assert_int_equal(fake->allocations, 0);
}

static int end(void **state) {
    spyi_text_free(&report);
    spyi_text_free(&logged);
    return let_slang_go(state);
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupt),    cmocka_unit_test(test_timeout),           cmocka_unit_test(test_release),
        cmocka_unit_test(test_release_done), cmocka_unit_test(test_release_allocator), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, hold_slang, end);
}
