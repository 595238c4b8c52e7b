// Waiting for a backend's work: who is told of it, who is asked whether to leave, and for how long the backend is asked to wait.
#include "spy_test.h"

#ifdef SPY_TEST_SPLIT
#include "backend/backend.h"
#endif

static struct {
    uint64_t slices[8];   // the limits that the backend's `wait` was called with, in nanoseconds
    uint32_t waits;       // number of these calls
    uint32_t ready_at;    // the call that finds the work finished, from 1
    int32_t blocked;      // depth of desc.blocking
    uint32_t told;        // calls of desc.blocking
    uint32_t asked;       // calls of desc.interrupt
    uint32_t leave_at;    // the call of desc.interrupt that asks to leave, from 1; 0: none does
    bool asked_unblocked; // desc.interrupt was asked while desc.blocking had not been told
} seen;

static spy_status fake_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    (void)gpu;
    assert_int_equal(submit, 7);
    assert_true(seen.waits < 8);
    seen.slices[seen.waits++] = timeout_ns;
    if (seen.waits >= seen.ready_at) return SPY_OK;
    spyi_text_add(error, "not finished");
    return SPY_ERROR_NOT_READY;
}

static void on_block(bool begins, void *user) {
    (void)user;
    seen.blocked += begins ? 1 : -1;
    seen.told++;
}

static bool on_interrupt(void *user) {
    (void)user;
    seen.asked++;
    seen.asked_unblocked = seen.asked_unblocked || seen.blocked != 1;
    return seen.leave_at && seen.asked >= seen.leave_at;
}

static struct spyi_backend backend;
static spyi_context ctx;
static spyi_gpu_base gpu;
static spyi_text said;

static spy_status wait_for(uint32_t ready_at, uint64_t timeout_ns, bool interruptible) {
    uint32_t leave_at = seen.leave_at;
    memset(&seen, 0, sizeof seen);
    seen.ready_at = ready_at;
    seen.leave_at = leave_at;
    spyi_text_clear(&said);
    spy_status status = spyi_wait_for((spyi_gpu *)(void *)&gpu, 7, timeout_ns, interruptible, &said);
    assert_int_equal(seen.blocked, 0);
    assert_false(seen.asked_unblocked);
    return status;
}

static int setup(void **state) {
    (void)state;
    memset(&seen, 0, sizeof seen);
    memset(&ctx, 0, sizeof ctx);
    memset(&gpu, 0, sizeof gpu);
    backend.wait = fake_wait;
    ctx.blocking.func = on_block;
    ctx.interrupt.func = on_interrupt;
    gpu.backend = &backend;
    gpu.ctx = &ctx;
    gpu.slices = true;
    gpu.spin_ns = 50000;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    spyi_text_free(&said);
    return 0;
}

static void test_short_waits_tell_nobody(void **state) {
    (void)state;
    assert_int_equal(wait_for(1, UINT64_MAX, true), SPY_OK);
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.slices[0], 50000);
    assert_int_equal(seen.told + seen.asked, 0);
}

static void test_long_waits_tell_and_ask(void **state) {
    (void)state;
    assert_int_equal(wait_for(4, UINT64_MAX, true), SPY_OK);
    assert_int_equal(seen.waits, 4);
    assert_int_equal(seen.slices[3], 50000000);
    assert_int_equal(seen.told, 2);
    assert_int_equal(seen.asked, 2);
    assert_string_equal(spyi_text_str(&said), "");
    seen.leave_at = 2;
    assert_int_equal(wait_for(8, UINT64_MAX, true), SPY_ERROR_INTERRUPTED);
    assert_int_equal(seen.asked, 2);
    assert_string_equal(spyi_text_str(&said), "interrupted before its results came; the GPU goes on");
    assert_int_equal(wait_for(2, UINT64_MAX, false), SPY_OK); // not interruptible: one wait without a limit
    assert_int_equal(seen.asked, 0);
    assert_true(seen.slices[1] == UINT64_MAX);
}

static void test_limits(void **state) {
    (void)state;
    assert_int_equal(wait_for(8, 20000, true), SPY_ERROR_NOT_READY); // shorter than the spin
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.slices[0], 20000);
    assert_int_equal(seen.told, 0);
    assert_string_equal(spyi_text_str(&said), "not finished");
    assert_int_equal(wait_for(8, 120050000, true), SPY_ERROR_NOT_READY);
    assert_int_equal(seen.waits, 4);
    assert_int_equal(seen.slices[1] + seen.slices[2] + seen.slices[3], 120000000);
    assert_int_equal(seen.asked, 2);
    assert_string_equal(spyi_text_str(&said), "not finished");
    assert_int_equal(wait_for(8, 0, false), SPY_ERROR_NOT_READY);
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.told, 0);
    gpu.spin_ns = 0; // the backend is asked once, also without any time
    assert_int_equal(wait_for(1, 0, false), SPY_OK);
    assert_int_equal(wait_for(8, 0, true), SPY_ERROR_NOT_READY);
    assert_int_equal(seen.waits, 1);
}

// Work in an engine's command buffer is not ready, however long one waits: the backend says why.
static void test_held(void **state) {
    (void)state;
    assert_int_equal(wait_for(8, UINT64_MAX, false), SPY_ERROR_NOT_READY);
    assert_int_equal(seen.waits, 2);
    assert_string_equal(spyi_text_str(&said), "not finished");
}

// A backend that sleeps at once (lavapipe), one that cannot wait in slices (CUDA), and a program without callbacks.
static void test_without(void **state) {
    (void)state;
    gpu.spin_ns = 0;
    assert_int_equal(wait_for(1, UINT64_MAX, true), SPY_OK);
    assert_int_equal(seen.slices[0], 50000000);
    assert_int_equal(seen.told, 2);
    gpu.slices = false;
    assert_int_equal(wait_for(1, UINT64_MAX, true), SPY_OK);
    assert_true(seen.slices[0] == UINT64_MAX);
    assert_int_equal(seen.told, 2);
    setup(NULL);
    memset(&ctx, 0, sizeof ctx);
    assert_int_equal(wait_for(1, UINT64_MAX, true), SPY_OK);
    assert_int_equal(seen.waits, 1);
    assert_true(seen.slices[0] == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_waits_tell_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_waits_tell_and_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
