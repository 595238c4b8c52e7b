// What the tests of src/data share: a null device with a module, and checks of errors.
#ifndef DATA_TEST_H
#define DATA_TEST_H

#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "api/generator.h"
#include "data/device.h"
#endif
#include <stdio.h>

static spy_device *device;
static spy_module *module;
static spyi_text report; // broken rules of the backend

static inline int data_open(const char *source, spyi_null_desc null_desc) {
    spy_device_desc d;
    spy_module_desc m;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    null_desc.report = &report;
    d.backend = spyi_null_backend();
    d.backend_desc = &null_desc;
    device = spy_create_device(&d);
    if (!device) return -1;
    if (!source) return 0;
    m.name = "unit";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) print_error("%s\n", spy_take_error(device).message);
    return module ? 0 : -1;
}

// No rule of backend.h was broken, nothing leaked.
static inline int data_close(void **state) {
    (void)state;
    spy_release_device(device);
    if (report.size) print_error("%s", spyi_text_str(&report));
    int bad = report.size != 0;
    spyi_text_free(&report);
    return bad;
}

static inline spyi_null_desc data_defaults(void) {
    spyi_null_desc d;
    memset(&d, 0, sizeof d);
    return d;
}

static inline void data_error_is(spy_device *from, spy_status code, const char *const *words, int line) {
    spy_error e = spy_take_error(from);
    bool good = e.code == code;
    for (; *words; words++) {
        if (strstr(e.message, *words)) continue;
        print_error("line %d: the message lacks '%s'\n", line, *words);
        good = false;
    }
    if (good) return;
    print_error("line %d: expected '%s', got '%s'\n    text: %s\n", line, spy_status_text(code), spy_status_text(e.code), e.message);
    fail();
}
// The pending error has this code and its text holds these words; it is taken away.
#define ERROR_IS(code, ...)                                                                                   \
    do {                                                                                                      \
        const char *const words_[] = { __VA_ARGS__, NULL };                                                   \
        data_error_is(device, (code), words_, __LINE__);                                                      \
    } while (0)
#define THREAD_ERROR_IS(code, ...)                                                                            \
    do {                                                                                                      \
        const char *const words_[] = { __VA_ARGS__, NULL };                                                   \
        data_error_is(NULL, (code), words_, __LINE__);                                                        \
    } while (0)

static inline void data_good(spy_status status, int line) {
    if (status == SPY_OK) return;
    print_error("line %d: %s\n", line, spy_take_error(device).message);
    fail();
}
#define GOOD(expression) data_good((expression), __LINE__)

static inline spy_tensor *data_tensor(spy_dtype dtype, const char *type, spy_shape shape, const void *data, int line) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.dtype = dtype;
    d.type = type;
    d.module = type ? module : NULL;
    d.shape = shape;
    d.data = data;
    spy_tensor *t = spy_create_tensor(device, &d);
    if (!t) {
        print_error("line %d: %s\n", line, spy_take_error(device).message);
        fail();
    }
    return t;
}
#define TENSOR(dtype, shape, data) data_tensor((dtype), NULL, (shape), (data), __LINE__)
#define TYPED(type, shape, data) data_tensor(SPY_DTYPE_DEFAULT, (type), (shape), (data), __LINE__)

static inline spy_tensor *data_made(spy_tensor *t, int line) {
    if (!t) {
        print_error("line %d: %s\n", line, spy_take_error(device).message);
        fail();
    }
    return t;
}
#define MADE(expression) data_made((expression), __LINE__)

static inline spy_shape data_rank0(void) {
    spy_shape s;
    memset(&s, 0, sizeof s);
    return s;
}

#endif
