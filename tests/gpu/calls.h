// What the programs test_calls_*.c share: the module calls.slang, tensors and checks of what they hold. Expected numbers are worked
// out by hand from the text of calls.slang, or by the loops beside the check.
#ifndef CALLS_H
#define CALLS_H

#include "gpu_test.h"

spy_device *gpu_device;

static spy_module *module;

static inline spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static inline spy_tensor *make(spy_dtype dtype, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, dtype, NULL, NULL, shape, data));
}

static inline spy_tensor *typed(const char *type, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, module, shape, data));
}

static inline spy_tensor *ramp(int64_t count, float first) { // (count,) floats: first, first + 1, ...
    float *data = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) data[i] = first + (float)i;
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(count), data);
    free(data);
    return t;
}

// The first `count` numbers of a tensor of floats.
static inline void expect_floats(spy_tensor *t, const float *expected, size_t count, int line) {
    size_t size = spy_get_tensor_info(t).host_size_bytes;
    float *got = (float *)malloc(size + 1);
    assert_true(size >= count * sizeof(float));
    gpu_ok(spy_tensor_read(t, got, size), "spy_tensor_read", __FILE__, line);
    size_t i = 0;
    while (i < count && got[i] == expected[i]) i++;
    if (i < count)
        print_error("line %d: element %zu is %g, expected %g\n", line, i, (double)got[i], (double)expected[i]);
    free(got);
    if (i < count) fail();
}

#define FLOATS(tensor, ...)                                                                                   \
    do {                                                                                                      \
        const float e_[] = { __VA_ARGS__ };                                                                   \
        expect_floats((tensor), e_, sizeof e_ / sizeof *e_, __LINE__);                                        \
    } while (0)

static inline int setup(void **state) {
    (void)state;
    return gpu_setup_file(__FILE__, "calls.slang", &module);
}

static inline int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

// No error is left over from the tests before.
static inline void clean(void) {
    spy_error e = spy_take_error(gpu_device);
    if (e.code != SPY_OK) fail_msg("left over: %s", e.message);
}

static inline bool device_has(spy_dtype d) {
    uint32_t f = spy_get_device_info(gpu_device).features;
    if (d == SPY_DTYPE_INT8 || d == SPY_DTYPE_UINT8) return f & SPY_FEATURE_INT8;
    if (d == SPY_DTYPE_INT16 || d == SPY_DTYPE_UINT16) return f & SPY_FEATURE_INT16;
    if (d == SPY_DTYPE_INT64 || d == SPY_DTYPE_UINT64) return f & SPY_FEATURE_INT64;
    if (d == SPY_DTYPE_FLOAT16) return f & SPY_FEATURE_FLOAT16;
    if (d == SPY_DTYPE_FLOAT64) return f & SPY_FEATURE_FLOAT64;
    return true;
}

// C's layout of calls.slang's structs.
typedef struct { float uv[2]; int16_t id; bool on; } c_inner;

typedef struct { float position[3], mass; c_inner inner; int32_t tags[2]; } c_particle;

#endif
