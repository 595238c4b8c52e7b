// What the programs test_kinds_*.c share: the module kinds.slang, random shapes and layouts of outputs, and checks by element. Each
// value is compared with plain C: coordinates counted out, the Wang hash as it was published, tensors as arrays with strides.
#ifndef KINDS_H
#define KINDS_H

#include "gpu_test.h"

spy_device *gpu_device;

static spy_module *module;

static inline spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static inline spy_tensor *make(spy_dtype dtype, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, dtype, NULL, NULL, shape, data));
}

static inline spy_tensor *typed(const char *type, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, module, shape, data));
}

static uint32_t random_state = 12345;

static inline uint32_t draw(uint32_t below) { // xorshift
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % below;
}

static inline int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)draw((uint32_t)(high - low + 1));
}

static inline int64_t count_of(spy_shape shape) {
    int64_t n = 1;
    for (uint32_t d = 0; d < shape.rank; d++) n *= shape.dims[d];
    return n;
}

// The index of element `n`, in the order of the shape.
static inline void index_of(spy_shape shape, int64_t n, int64_t *index) {
    for (uint32_t d = shape.rank; d-- > 0;) {
        index[d] = n % shape.dims[d];
        n /= shape.dims[d];
    }
}

static inline spy_shape random_shape(uint32_t rank, int64_t most) {
    spy_shape s = gpu_rank0();
    s.rank = rank;
    for (uint32_t d = 0; d < rank; d++) s.dims[d] = draw(4) == 0 ? 1 : between(1, most);
    return s;
}

// How an output lies: what makes the kernel wide, flat or strided.
typedef enum layout { PLAIN, SHIFTED, SPREAD, TURNED, BACKWARDS, LAYOUTS } layout;

// A tensor of `shape` with that layout, over storage of its own.
static inline spy_tensor *laid_out(const char *type, spy_shape shape, layout how) {
    if (shape.rank == 0 || how == PLAIN) return typed(type, shape, NULL);
    spy_view_desc v;
    memset(&v, 0, sizeof v);
    v.shape = v.strides = shape;
    int64_t stride = how == SPREAD ? 2 : 1, first = how == SHIFTED ? 1 : 0;
    for (uint32_t i = 0; i < shape.rank; i++) {
        uint32_t d = how == TURNED ? i : shape.rank - 1 - i; // TURNED: the first dimension is the innermost
        v.strides.dims[d] = stride;
        stride *= shape.dims[d];
    }
    if (how == BACKWARDS)
        for (uint32_t d = 0; d < shape.rank; d++) {
            first += (shape.dims[d] - 1) * v.strides.dims[d];
            v.strides.dims[d] = -v.strides.dims[d];
        }
    v.offset_elements = first;
    spy_tensor *storage = typed(type, SPY_SHAPE(stride + 2), NULL);
    spy_tensor *view = MADE(spy_tensor, spy_create_view(storage, &v));
    spy_release_tensor(storage);
    return view;
}

static char host[1 << 20];

static inline const char *read_all(spy_tensor *t) {
    size_t size = spy_get_tensor_info(t).host_size_bytes;
    assert_true(size <= sizeof host);
    OK(spy_tensor_read(t, host, size));
    return host;
}

#define SAME(what, element, came, expected)                                                                  \
    do {                                                                                                     \
        double came_ = (double)(came), expected_ = (double)(expected);                                       \
        if (came_ != expected_) {                                                                            \
            print_error("line %d: %s: element %lld is %.17g, expected %.17g\n", __LINE__, what,              \
                        (long long)(element), came_, expected_);                                             \
            fail();                                                                                          \
        }                                                                                                    \
    } while (0)

typedef struct particle { // as kinds.slang's
    float pos[3];
    float mass;
    int32_t count;
} particle;

static inline void fill_particles(particle *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) p[i].pos[c] = (float)between(-50, 50);
        p[i].mass = (float)between(1, 9);
        p[i].count = (int32_t)between(0, 6);
    }
}

#define STORED 400

static inline spy_grid_desc grid_of(spy_shape shape) {
    spy_grid_desc g;
    memset(&g, 0, sizeof g);
    g.shape = shape;
    return g;
}

static inline spy_tensor *numbered(float *data) { // STORED floats: 0, 1, 2, ...
    for (int i = 0; i < STORED; i++) data[i] = (float)i;
    return make(SPY_DTYPE_FLOAT32, SPY_SHAPE(STORED), data);
}

static inline int setup(void **state) {
    (void)state;
    if (getenv("SPY_TEST_SEED"))
        random_state += (uint32_t)strtoul(getenv("SPY_TEST_SEED"), NULL, 10) * 2654435761u;
    return gpu_setup_file(__FILE__, "kinds.slang", &module);
}

static inline int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

// A test that failed leaves no error to the next one.
static inline int clean(void **state) {
    (void)state;
    if (gpu_device) spy_take_error(gpu_device);
    spy_take_error(NULL);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup(f, clean)

// Runs the tests of a program, or with an argument only those whose names hold it.
static inline int kinds_run(const struct CMUnitTest *tests, size_t count, int argc, char **argv) {
    char filter[128];
    if (argc > 1) {
        snprintf(filter, sizeof filter, "*%s*", argv[1]);
        cmocka_set_test_filter(filter);
    }
    return gpu_run_group_tests("kinds", tests, count, setup, teardown);
}

#endif
