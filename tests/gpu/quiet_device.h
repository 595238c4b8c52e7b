// A device for each test, which fails where the device warned: with SPY_TEST_VALIDATION=1 each message of the validation layer.
#ifndef QUIET_DEVICE_H
#define QUIET_DEVICE_H

#include "gpu_test.h"

static int quiet_warnings;

static inline void quiet_listen(spy_log_level level, const char *message, void *user) {
    (void)user;
    if (strstr(message, "not a conformant") || strstr(message, "s so far"))
        return; // Mesa's word on lavapipe; a machine that is busy
    if (level == SPY_LOG_LEVEL_WARNING || strstr(message, "alidation")) {
        print_message("%s\n", message);
        quiet_warnings++;
    }
}

// gpu_device; the test is skipped where there is none.
static inline void quiet_device(void) {
    spy_device_desc d = gpu_desc();
    d.log.func = quiet_listen;
    quiet_warnings = 0;
    gpu_device = gpu_open(&d);
    if (!gpu_device) skip();
}

static inline spy_module *quiet_open(const char *name, const char *source) {
    quiet_device();
    return MADE(spy_module, gpu_module(gpu_device, name, source));
}

static inline void quiet_close(void) {
    spy_release_device(gpu_device);
    gpu_device = NULL;
    assert_int_equal(quiet_warnings, 0);
}

#endif // QUIET_DEVICE_H
