// Kinds of arguments beyond numbers and element-wise tensors: generators, methods on instances, whole tensors, pointers. Each
// value is compared with plain C: coordinates counted out, the Wang hash as it was published, tensors as arrays with strides.
#include "gpu_test.h"

spy_device *gpu_device;
static spy_module *module;

static spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static spy_tensor *make(spy_dtype dtype, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, dtype, NULL, NULL, shape, data));
}

static spy_tensor *typed(const char *type, spy_shape shape, const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, type, module, shape, data));
}

static uint32_t random_state = 12345;

static uint32_t draw(uint32_t below) { // xorshift
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % below;
}

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)draw((uint32_t)(high - low + 1));
}

// >>shapes and layouts

static int64_t count_of(spy_shape shape) {
    int64_t n = 1;
    for (uint32_t d = 0; d < shape.rank; d++) n *= shape.dims[d];
    return n;
}

// The index of element `n`, in the order of the shape.
static void index_of(spy_shape shape, int64_t n, int64_t *index) {
    for (uint32_t d = shape.rank; d-- > 0;) {
        index[d] = n % shape.dims[d];
        n /= shape.dims[d];
    }
}

static spy_shape random_shape(uint32_t rank, int64_t most) {
    spy_shape s = gpu_rank0();
    s.rank = rank;
    for (uint32_t d = 0; d < rank; d++) s.dims[d] = draw(4) == 0 ? 1 : between(1, most);
    return s;
}

// How an output lies: what makes the kernel wide, flat or strided.
typedef enum layout { PLAIN, SHIFTED, SPREAD, TURNED, BACKWARDS, LAYOUTS } layout;

// A tensor of `shape` with that layout, over storage of its own.
static spy_tensor *laid_out(const char *type, spy_shape shape, layout how) {
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

static const char *read_all(spy_tensor *t) {
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

// >>call_id and thread_id

// A function that hands on N components, as its result type lies in C.
static const struct receiver {
    const char *function, *type;
    uint32_t components;
    bool vector;
    char scalar; // i int, f float, b uint8_t, l int64_t
} receivers[] = {
    { "one", "int", 1, false, 'i' },
    { "two", "int2", 2, true, 'i' },
    { "three", "int3", 3, true, 'i' },
    { "four", "int4", 4, true, 'i' },
    { "three_floats", "float3", 3, true, 'f' },
    { "two_bytes", "uint8_t2", 2, true, 'b' },
    { "array1", "int[1]", 1, false, 'i' },
    { "array2", "int[2]", 2, false, 'i' },
    { "array3", "int[3]", 3, false, 'i' },
    { "array5", "int[5]", 5, false, 'i' },
    { "array8", "int[8]", 8, false, 'i' },
    { "float_array", "float[3]", 3, false, 'f' },
    { "long_array", "int64_t[4]", 4, false, 'l' },
};

static double component(const struct receiver *r, const char *data, int64_t element, uint32_t c) {
    size_t i = (size_t)element * r->components + c;
    if (r->scalar == 'i') return ((const int32_t *)(const void *)data)[i];
    if (r->scalar == 'f') return ((const float *)(const void *)data)[i];
    if (r->scalar == 'l') return (double)((const int64_t *)(const void *)data)[i];
    return ((const uint8_t *)(const void *)data)[i];
}

// Component `c` of the last N dimensions of an index; vectors take the last dimension first.
static int64_t coordinate(const struct receiver *r, const int64_t *index, uint32_t rank, uint32_t c) {
    int64_t d = (int64_t)rank - r->components + (r->vector ? r->components - 1 - c : c);
    return d < 0 ? 0 : index[d];
}

static void test_ids(void **state) {
    NEEDS_DEVICE();
    size_t rounds = test_count(400) < 40 ? 40 : test_count(400);
    for (size_t n = 0; n < rounds; n++) {
        const struct receiver *r = &receivers[n % (sizeof receivers / sizeof *receivers)];
        spy_shape shape = random_shape((uint32_t)(n / 13 % 6), 6);
        int64_t index[SPY_MAX_RANK], count = count_of(shape);
        spy_tensor *out = laid_out(r->type, shape, (layout)draw(LAYOUTS));
        bool thread = draw(3) == 0;
        OK(spy_call(fn(r->function), SPY_ARGS(thread ? spy_arg_thread_id("x") : spy_arg_call_id("x"),
                                              spy_arg_tensor("_result", out))));
        const char *got = read_all(out);
        for (int64_t i = 0; i < count; i++) {
            index_of(shape, i, index);
            for (uint32_t c = 0; c < r->components; c++)
                SAME(r->function, i, component(r, got, i, c),
                     thread ? (c == 0 ? i : 0) : coordinate(r, index, shape.rank, c));
        }
        spy_release_tensor(out);
    }
}

// What the text says the kernel is.
static void expect_variant(spy_function *f, spy_args args, const char *word) {
    static char text[1 << 16];
    spy_explain_call(f, args, NULL, text, sizeof text);
    if (!strstr(text, word)) fail_msg("no '%s' in: %s", word, text);
}

static void test_variants(void **state) {
    NEEDS_DEVICE();
    static const char *const words[LAYOUTS] = { "// wide", "// flat", "// strided", "// strided",
                                                "// strided" };
    for (int how = 0; how < LAYOUTS; how++)
        for (int broadcast = 0; broadcast < 2; broadcast++) {
            spy_shape shape = SPY_SHAPE(5, 16);
            int32_t row[16];
            for (int i = 0; i < 16; i++) row[i] = i + 1;
            spy_tensor *out = laid_out("int", shape, (layout)how),
                       *y = make(SPY_DTYPE_INT32, SPY_SHAPE(16), row);
            spy_arg second = broadcast ? spy_arg_tensor("y", y) : spy_arg_i32("y", 9);
            spy_args args = SPY_ARGS(spy_arg_thread_id("x"), second, spy_arg_tensor("_result", out));
            bool cpu = spy_get_device_info(gpu_device).type ==
                       SPY_ADAPTER_TYPE_CPU; // a GPU goes wide when there are many
            if (!broadcast) expect_variant(fn("beside"), args, how == 0 && !cpu ? "// flat" : words[how]);
            OK(spy_call(fn("beside"), args));
            const int32_t *got = (const int32_t *)(const void *)read_all(out);
            for (int64_t i = 0; i < 80; i++)
                SAME("beside", i, got[i], i * 1000 + (broadcast ? i % 16 + 1 : 9));
            spy_release_tensor(out);
            spy_release_tensor(y);
        }
}

// >>grid and range

static void test_grid(void **state) {
    NEEDS_DEVICE();
    size_t rounds = test_count(400) < 40 ? 40 : test_count(400);
    for (size_t n = 0; n < rounds; n++) {
        const struct receiver *r = &receivers[n % (sizeof receivers / sizeof *receivers)];
        uint32_t own = r->components, extra = own < 5 ? draw(3) : 0;
        spy_shape shape = random_shape(own + extra, own > 4 ? 3 : 5);
        int64_t index[SPY_MAX_RANK], count = count_of(shape);
        spy_grid_desc g;
        memset(&g, 0, sizeof g);
        g.shape.rank = own;
        bool offset = draw(2), stride = draw(2), bytes = r->scalar == 'b';
        g.offset.rank = offset ? own : 0;
        g.stride.rank = stride ? own : 0;
        spy_dims map;
        memset(&map, 0, sizeof map);
        map.count = draw(2) ? own : 0;
        bool taken[SPY_MAX_RANK] = { false };
        uint32_t of[SPY_MAX_RANK]; // dimension of the call for each of the grid's
        for (uint32_t d = 0; d < own; d++) {
            of[d] = extra + d;
            if (map.count) {
                do of[d] = draw(shape.rank);
                while (taken[of[d]]);
                taken[of[d]] = true;
                map.dims[d] = (int32_t)of[d];
            }
            uint32_t way = draw(4);
            g.shape.dims[d] = way == 0 ? -1 : way == 1 ? 1 : shape.dims[of[d]];
            g.offset.dims[d] = offset ? between(bytes ? 0 : -1000, 100) : 0;
            g.stride.dims[d] = stride ? between(bytes ? 0 : -7, 7) : 0;
        }
        spy_arg arg = spy_arg_grid("x", &g);
        if (map.count) arg = spy_vmap(arg, map);
        spy_tensor *out = laid_out(r->type, shape, (layout)draw(LAYOUTS));
        OK(spy_call(fn(r->function), SPY_ARGS(arg, spy_arg_tensor("_result", out))));
        const char *got = read_all(out);
        for (int64_t i = 0; i < count; i++) {
            index_of(shape, i, index);
            for (uint32_t c = 0; c < own; c++) {
                uint32_t d = r->vector ? own - 1 - c : c;
                int64_t at = g.shape.dims[d] == 1 ? 0 : index[of[d]]; // a size of 1 is stretched
                int64_t expected = (offset ? g.offset.dims[d] : 0) + (stride ? g.stride.dims[d] : 1) * at;
                SAME(r->function, i, component(r, got, i, c), expected);
            }
        }
        spy_release_tensor(out);
    }
    // The grid alone gives the call its shape.
    spy_grid_desc g;
    memset(&g, 0, sizeof g);
    g.shape = SPY_SHAPE(3, 4);
    spy_tensor *out = NULL;
    OK(spy_call(fn("two"), SPY_ARGS(spy_arg_grid("x", &g), spy_out_tensor("_result", &out))));
    assert_int_equal(spy_get_tensor_info(out).element_count, 12);
    const int32_t *got = (const int32_t *)(const void *)read_all(out);
    for (int i = 0; i < 12; i++) {
        SAME("x", i, got[2 * i], i % 4);
        SAME("y", i, got[2 * i + 1], i / 4);
    }
    spy_release_tensor(out);
}

static void test_range(void **state) {
    NEEDS_DEVICE();
    static const struct {
        int64_t start, stop, step;
    } ranges[] = {
        { 0, 8, 1 },
        { 5, 6, 1 },
        { 0, 17, 4 },
        { 8, -8, -3 },
        { -3, 100, 7 },
        { 3, 3, 1 },
        { 0, 5, -1 },
        { INT32_MIN, INT32_MIN + 10, 5 },
        { INT32_MAX - 9, INT32_MAX, 2 },
        { 0, INT32_MAX, INT32_MAX },
        { 7, 0, INT32_MIN },
    };
    for (size_t n = 0; n < sizeof ranges / sizeof *ranges; n++) {
        int64_t expected[64], count = 0;
        for (int64_t v = ranges[n].start; ranges[n].step > 0 ? v < ranges[n].stop : v > ranges[n].stop;
             v += ranges[n].step)
            expected[count++] = v;
        spy_tensor *out = NULL;
        spy_arg x = spy_arg_range("x", ranges[n].start, ranges[n].stop, ranges[n].step);
        OK(spy_call(fn("one"), SPY_ARGS(x, spy_out_tensor("_result", &out))));
        assert_int_equal(spy_get_tensor_info(out).element_count, count);
        const int32_t *got = (const int32_t *)(const void *)read_all(out);
        for (int64_t i = 0; i < count; i++) SAME("range", i, got[i], expected[i]);
        spy_release_tensor(out);
        out = NULL;
        OK(spy_call(fn("as_double"), SPY_ARGS(x, spy_out_tensor("_result", &out))));
        const double *wide = (const double *)(const void *)read_all(out);
        for (int64_t i = 0; i < count; i++) SAME("range of double", i, wide[i], expected[i]);
        spy_release_tensor(out);
    }
    // One number is stretched as any size of 1; mapped to the first dimension it runs along that one.
    spy_tensor *out = make(SPY_DTYPE_INT32, SPY_SHAPE(3, 4), NULL);
    OK(spy_call(fn("beside"),
                SPY_ARGS(spy_arg_range("x", 5, 6, 1), spy_vmap(spy_arg_range("y", 0, 30, 10), SPY_DIMS(0)),
                         spy_arg_tensor("_result", out))));
    const int32_t *got = (const int32_t *)(const void *)read_all(out);
    for (int i = 0; i < 12; i++) SAME("stretched", i, got[i], 5000 + i / 4 * 10);
    spy_release_tensor(out);
}

// >>random numbers
// Source: Thomas Wang's hash as in N. Reed, "Quick and Easy GPU Random Numbers in D3D11" (2013), and api/generator.h.

static uint32_t wang(uint32_t key) {
    key = (key ^ 61u) ^ (key >> 16);
    key *= 9u;
    key ^= key >> 4;
    key *= 668265261u;
    key ^= key >> 15;
    return key;
}

// `element` is the number of the call's element, times the components of the parameter.
static uint32_t first_state(const spy_random_desc *d, uint32_t element) {
    uint32_t seed = d->seed || d->explicit_seed ? d->seed : 2640457667u, s = element;
    for (uint32_t i = 0; i < d->warmup; i++) s = wang(s);
    return s ^ (d->raw_seed ? seed : wang(seed));
}

static float to_float(uint32_t hash, float low, float high) {
    volatile float unit = (float)(hash & 0x7fffffu) * (1.0f / 8388608.0f), width = high - low,
                   product = width * unit;
    volatile float value = low + product;
    return value == high ? low : value;
}

static spy_random_desc random_desc(size_t n) {
    spy_random_desc d;
    memset(&d, 0, sizeof d);
    if (n % 3 == 1) d.seed = draw(2) ? 1 : 0xfffffff0u + draw(16), d.explicit_seed = n % 2;
    if (n % 3 == 2) d.explicit_seed = true;
    d.warmup = draw(3) ? draw(20) : 0;
    d.raw_seed = draw(2);
    return d;
}

static void test_hash(void **state) {
    NEEDS_DEVICE();
    for (size_t n = 0; n < 24; n++) {
        spy_random_desc d = random_desc(n);
        spy_shape shape = random_shape(1 + draw(3), 9);
        int64_t count = count_of(shape);
        spy_tensor *out = laid_out("uint", shape, (layout)(n % LAYOUTS));
        OK(spy_call(fn("as_uint"), SPY_ARGS(spy_arg_wang_hash("x", &d), spy_arg_tensor("_result", out))));
        const uint32_t *got = (const uint32_t *)(const void *)read_all(out);
        for (int64_t i = 0; i < count; i++) SAME("hash", i, got[i], wang(first_state(&d, (uint32_t)i)));
        spy_release_tensor(out);
        static const struct {
            const char *function, *type;
            uint32_t components;
        } many[] = { { "hash3", "uint3", 3 }, { "hash4", "uint[4]", 4 } };
        for (int m = 0; m < 2; m++) {
            out = laid_out(many[m].type, shape, (layout)(n % LAYOUTS));
            OK(spy_call(fn(many[m].function),
                        SPY_ARGS(spy_arg_wang_hash("x", &d), spy_arg_tensor("_result", out))));
            got = (const uint32_t *)(const void *)read_all(out);
            for (int64_t i = 0; i < count; i++) {
                uint32_t s = first_state(&d, (uint32_t)i * many[m].components);
                for (uint32_t c = 0; c < many[m].components; c++) {
                    s = wang(s);
                    SAME(many[m].function, i, got[(size_t)i * many[m].components + c], s);
                }
            }
            spy_release_tensor(out);
        }
    }
    // The published beginning: seed 0, not hashed, thread 0.
    spy_random_desc zero;
    memset(&zero, 0, sizeof zero);
    zero.explicit_seed = zero.raw_seed = true;
    uint32_t four[4];
    OK(spy_call(fn("hash4"), SPY_ARGS(spy_arg_wang_hash("x", &zero),
                                      spy_out_array("_result", four, SPY_SHAPE(4), SPY_DTYPE_UINT32))));
    SAME("first", 0, four[0], 3232319850u);
    SAME("second", 1, four[1], 3075307816u);
    // Narrow and wide integers keep the low bits, without a sign.
    spy_tensor *out = make(SPY_DTYPE_UINT64, SPY_SHAPE(9), NULL),
               *bytes = make(SPY_DTYPE_INT8, SPY_SHAPE(9), NULL);
    OK(spy_call(fn("as_uint64"), SPY_ARGS(spy_arg_wang_hash("x", NULL), spy_arg_tensor("_result", out))));
    OK(spy_call(fn("as_int8"), SPY_ARGS(spy_arg_wang_hash("x", NULL), spy_arg_tensor("_result", bytes))));
    memset(&zero, 0, sizeof zero);
    const uint64_t *longs = (const uint64_t *)(const void *)read_all(out);
    for (uint32_t i = 0; i < 9; i++) SAME("uint64", i, longs[i], wang(first_state(&zero, i)));
    const int8_t *small = (const int8_t *)read_all(bytes);
    for (uint32_t i = 0; i < 9; i++) SAME("int8", i, small[i], (int8_t)(wang(first_state(&zero, i)) & 255u));
    spy_release_tensor(out);
    spy_release_tensor(bytes);
}

static void test_random(void **state) {
    NEEDS_DEVICE();
    static const float ranges[][2] = { { 0, 1 },         { -1, 1 },     { 1, 1.00000012f }, { 5, 5 },
                                       { -3.25f, 1e6f }, { 0, 1e-40f }, { -1e38f, 1e38f },  { 0.1f, 0.3f } };
    for (size_t n = 0; n < 32; n++) {
        spy_random_desc d = random_desc(n);
        const float *range = ranges[n % 8];
        spy_shape shape = random_shape(1 + draw(2), 40);
        int64_t count = count_of(shape);
        static const struct {
            const char *function, *type;
            uint32_t components;
            bool wide;
        } ways[] = {
            { "as_float", "float", 1, false },      { "random2", "float2", 2, false },
            { "three_floats", "float3", 3, false }, { "random5", "float[5]", 5, false },
            { "as_double", "double", 1, true },     { "random_double3", "double3", 3, true },
        };
        if (range[1] == 1e-40f) continue; // subnormal numbers: devices may flush them
        for (size_t m = 0; m < 6; m++) {
            spy_tensor *out = laid_out(ways[m].type, shape, (layout)((n + m) % LAYOUTS));
            OK(spy_call(fn(ways[m].function), SPY_ARGS(spy_arg_rand_float("x", range[0], range[1], &d),
                                                       spy_arg_tensor("_result", out))));
            const char *got = read_all(out);
            for (int64_t i = 0; i < count; i++) {
                uint32_t s = first_state(&d, (uint32_t)i * ways[m].components);
                for (uint32_t c = 0; c < ways[m].components; c++) {
                    size_t at = (size_t)i * ways[m].components + c;
                    s = wang(s);
                    float expected = to_float(s, range[0], range[1]);
                    SAME(ways[m].function, at,
                         ways[m].wide ? ((const double *)(const void *)got)[at]
                                      : ((const float *)(const void *)got)[at],
                         expected);
                }
            }
            spy_release_tensor(out);
        }
    }
}

// Generators as fields, beside each other, and in calls that are prepared.
static void test_together(void **state) {
    NEEDS_DEVICE();
    spy_args fields =
        SPY_ARGS(spy_arg_call_id("pos"), spy_arg_range("mass", 0, 600, 100), spy_arg_thread_id("count"));
    spy_tensor *out = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4, 6), NULL);
    spy_args args = SPY_ARGS(spy_arg_struct("p", fields), spy_arg_tensor("_result", out));
    for (int how = 0; how < 3; how++) {
        if (how == 0) {
            OK(spy_call(fn("sum_of"), args));
        } else {
            spy_prepare_desc d;
            memset(&d, 0, sizeof d);
            d.async = how == 2;
            spy_prepared *p = MADE(spy_prepared, spy_prepare(fn("sum_of"), args, &d));
            OK(spy_tensor_fill(out, -1));
            OK(spy_call_prepared(p, args));
            spy_release_prepared(p);
        }
        const float *got = (const float *)(const void *)read_all(out);
        for (int i = 0; i < 24; i++) SAME("sum_of", i, got[i], i % 6 + 10 * (i / 6) + 100 * (i % 6) + i);
    }
    spy_release_tensor(out);
}

// >>methods

typedef struct particle { // as kinds.slang's
    float pos[3];
    float mass;
    int32_t count;
} particle;

static void fill_particles(particle *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) p[i].pos[c] = (float)between(-50, 50);
        p[i].mass = (float)between(1, 9);
        p[i].count = (int32_t)between(0, 6);
    }
}

static void expect_particles(const char *what, const particle *got, const particle *expected, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < 3; c++) SAME(what, i, got[i].pos[c], expected[i].pos[c]);
        SAME(what, i, got[i].mass, expected[i].mass);
        SAME(what, i, got[i].count, expected[i].count);
    }
}

#define PARTICLES 40

static void test_methods(void **state) {
    NEEDS_DEVICE();
    particle p[PARTICLES], now[PARTICLES];
    const float axis[3] = { 1, 2, -1 };
    float v[PARTICLES][3];
    fill_particles(p, PARTICLES);
    for (int i = 0; i < PARTICLES; i++)
        for (int c = 0; c < 3; c++) v[i][c] = (float)between(-5, 5);
    spy_tensor *velocity = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(PARTICLES, 3), v);
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *all = laid_out("Particle", SPY_SHAPE(PARTICLES), (layout)how), *r = NULL;
        OK(spy_tensor_write(all, p, sizeof p));
        memcpy(now, p, sizeof p);
        OK(spy_call(fn("Particle.moment"),
                    SPY_ARGS(spy_arg_tensor("this", all),
                             spy_arg_array("axis", axis, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                             spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++)
            SAME("moment", i, got[i], (now[i].pos[0] + 2 * now[i].pos[1] - now[i].pos[2]) * now[i].mass);
        spy_release_tensor(r);
        for (int step = 0; step < 3; step++) {
            OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_arg_tensor("v", velocity), spy_arg_f32("dt", 2),
                                                      spy_arg_tensor("this", all))));
            for (int i = 0; i < PARTICLES; i++) {
                for (int c = 0; c < 3; c++) now[i].pos[c] += v[i][c] * 2;
                now[i].count++;
            }
        }
        expect_particles("step", (const particle *)(const void *)read_all(all), now, PARTICLES);
        spy_tensor *where = NULL;
        r = NULL;
        OK(spy_call(fn("Particle.drain"),
                    SPY_ARGS(spy_arg_tensor(NULL, all), spy_arg_f32(NULL, 0.5f), spy_out_tensor(NULL, &where),
                             spy_out_tensor("_result", &r))));
        got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) {
            SAME("drained from", i, got[i], now[i].mass);
            now[i].mass -= 0.5f;
        }
        expect_particles("drain", (const particle *)(const void *)read_all(all), now, PARTICLES);
        got = (const float *)(const void *)read_all(where);
        for (int i = 0; i < PARTICLES; i++)
            for (int c = 0; c < 3; c++) SAME("where", i, got[3 * i + c], now[i].pos[c]);
        spy_release_tensor(where);
        spy_release_tensor(r);
        int32_t ab[2] = { 11, 22 };
        r = NULL;
        OK(spy_call(fn("Particle.mix"), SPY_ARGS(spy_arg_tensor(NULL, all), spy_arg_i32(NULL, ab[0]),
                                                 spy_arg_i32(NULL, ab[1]), spy_out_tensor("_result", &r))));
        const int32_t *mixed = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) SAME("mix", i, mixed[i], ab[now[i].count > 3 ? 0 : 1]);
        spy_release_tensor(r);
        r = NULL;
        OK(spy_call(fn("Particle.next"),
                    SPY_ARGS(spy_arg_tensor("this", all), spy_out_tensor("_result", &r))));
        mixed = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < PARTICLES; i++) SAME("next", i, mixed[i], now[i].count + 1);
        spy_release_tensor(r);
        spy_release_tensor(all);
    }
    // One instance in host memory.
    particle one = p[0];
    OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_inout_data("this", &one, sizeof one), spy_arg_f32("v", 1),
                                              spy_arg_f32("dt", 3))));
    for (int c = 0; c < 3; c++) SAME("host step", c, one.pos[c], p[0].pos[c] + 3);
    SAME("host step", 3, one.count, p[0].count + 1);
    float f = 0;
    OK(spy_call(fn("Particle.moment"), SPY_ARGS(spy_arg_data("this", &one, sizeof one),
                                                spy_arg_array("axis", axis, SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                                                spy_out_f32("_result", &f))));
    SAME("host moment", 0, f, (one.pos[0] + 2 * one.pos[1] - one.pos[2]) * one.mass);
    OK(spy_call(fn("Particle.twice"), SPY_ARGS(spy_arg_f32("x", 4), spy_out_f32("_result", &f))));
    SAME("static", 0, f, 8);
    spy_release_tensor(velocity);
}

static void test_soa(void **state) {
    NEEDS_DEVICE();
    float pos[6 * 4 * 3], mass[4];
    int32_t count[6 * 4];
    for (int i = 0; i < 72; i++) pos[i] = (float)between(-9, 9);
    for (int i = 0; i < 24; i++) count[i] = (int32_t)between(0, 9);
    for (int i = 0; i < 4; i++) mass[i] = (float)between(1, 9);
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *t_pos = laid_out(how % 2 ? "float3" : "float",
                                     how % 2 ? SPY_SHAPE(6, 4) : SPY_SHAPE(6, 4, 3), (layout)how);
        spy_tensor *t_mass = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4), mass),
                   *t_count = laid_out("int", SPY_SHAPE(6, 4), (layout)how), *r = NULL;
        OK(spy_tensor_write(t_pos, pos, sizeof pos));
        OK(spy_tensor_write(t_count, count, sizeof count));
        spy_args fields = SPY_ARGS(spy_arg_tensor("count", t_count), spy_arg_tensor("pos", t_pos),
                                   spy_arg_tensor("mass", t_mass));
        OK(spy_call(fn("Particle.moment"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("axis", 2),
                                                    spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 24; i++)
            SAME("SOA moment", i, got[i],
                 (2 * pos[3 * i] + 2 * pos[3 * i + 1] + 2 * pos[3 * i + 2]) * mass[i % 4]);
        spy_release_tensor(r);
        // A broadcast field cannot be written.
        FAILS(SPY_ERROR_SHAPE_MISMATCH,
              spy_call(fn("Particle.step"),
                       SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("v", 1), spy_arg_f32("dt", 1))),
              "this.mass");
        spy_tensor *t_masses = laid_out("float", SPY_SHAPE(6, 4), (layout)how);
        fields = SPY_ARGS(spy_arg_tensor("count", t_count), spy_arg_tensor("pos", t_pos),
                          spy_arg_tensor("mass", t_masses));
        OK(spy_tensor_fill(t_masses, 3));
        for (int k = 0; k < 5; k++)
            OK(spy_call(fn("Particle.step"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_f32("v", 1),
                                                      spy_arg_f32("dt", 0.5f))));
        got = (const float *)(const void *)read_all(t_pos);
        for (int i = 0; i < 72; i++) SAME("SOA step", i, got[i], pos[i] + 2.5f);
        const int32_t *counted = (const int32_t *)(const void *)read_all(t_count);
        for (int i = 0; i < 24; i++) SAME("SOA count", i, counted[i], count[i] + 5);
        got = (const float *)(const void *)read_all(t_masses);
        for (int i = 0; i < 24; i++) SAME("SOA mass", i, got[i], 3);
        spy_release_tensor(t_pos);
        spy_release_tensor(t_mass);
        spy_release_tensor(t_masses);
        spy_release_tensor(t_count);
    }
}

static void test_constructors(void **state) {
    NEEDS_DEVICE();
    float m[20];
    for (int i = 0; i < 20; i++) m[i] = (float)between(-20, 20);
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(20), m), *r = NULL;
    static const char *const names[] = { "Particle", "Particle.__init", "Particle.$init" };
    for (int n = 0; n < 3; n++) {
        r = NULL;
        OK(spy_call(fn(names[n]), SPY_ARGS(spy_arg_tensor("m", t), spy_out_tensor("_result", &r))));
        const particle *got = (const particle *)(const void *)read_all(r);
        for (int i = 0; i < 20; i++) {
            SAME("pos", i, got[i].pos[2], m[i] + 2);
            SAME("mass", i, got[i].mass, 2 * m[i]);
            SAME("count", i, got[i].count, 7);
        }
        spy_release_tensor(r);
    }
    particle one;
    OK(spy_call(fn("Particle"), SPY_ARGS(spy_arg_f32("p", 3), spy_arg_f32("m", 4),
                                         spy_out_data("_result", &one, sizeof one))));
    assert_true(one.pos[0] == 3 && one.pos[2] == 3 && one.mass == 4 && one.count == 0);
    spy_release_tensor(t);
}

// Extensions of built-in types: instances that wide kernels load as vectors.
static void test_extensions(void **state) {
    NEEDS_DEVICE();
    float x[33], v[33 * 3];
    int32_t k[33];
    for (int i = 0; i < 33; i++) x[i] = (float)between(-99, 99), k[i] = (int32_t)between(-99, 99);
    for (int i = 0; i < 99; i++) v[i] = (float)i;
    for (int how = 0; how < LAYOUTS; how++) {
        spy_tensor *t = laid_out("float", SPY_SHAPE(33), (layout)how),
                   *t3 = laid_out("float3", SPY_SHAPE(33), (layout)how),
                   *ints = make(SPY_DTYPE_INT32, SPY_SHAPE(33), k), *r = NULL;
        OK(spy_tensor_write(t, x, sizeof x));
        OK(spy_tensor_write(t3, v, sizeof v));
        OK(spy_call(fn("float.plus"),
                    SPY_ARGS(spy_arg_tensor("this", t), spy_arg_f32("y", 1), spy_out_tensor("_result", &r))));
        const float *got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("plus", i, got[i], x[i] + 1);
        spy_release_tensor(r);
        OK(spy_call(fn("float.bump"), SPY_ARGS(spy_arg_tensor("this", t), spy_arg_range("y", 0, 33, 1))));
        got = (const float *)(const void *)read_all(t);
        for (int i = 0; i < 33; i++) SAME("bump", i, got[i], x[i] + (float)i);
        r = NULL;
        OK(spy_call(fn("float3.turn"), SPY_ARGS(spy_arg_tensor("this", t3), spy_out_tensor("_result", &r))));
        got = (const float *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("turn", i, got[i], v[3 * i + 1]);
        got = (const float *)(const void *)read_all(t3);
        for (int i = 0; i < 99; i++) SAME("turned", i, got[i], v[i / 3 * 3 + (i + 1) % 3]);
        spy_release_tensor(r);
        r = NULL;
        OK(spy_call(fn("int.squared"),
                    SPY_ARGS(spy_arg_tensor("this", ints), spy_out_tensor("_result", &r))));
        const int32_t *squares = (const int32_t *)(const void *)read_all(r);
        for (int i = 0; i < 33; i++) SAME("squared", i, squares[i], k[i] * k[i]);
        spy_release_tensor(r);
        spy_release_tensor(t);
        spy_release_tensor(t3);
        spy_release_tensor(ints);
    }
}

// >>whole tensors

// A view and where its elements lie in the storage, counted along.
typedef struct view {
    spy_tensor *tensor;
    spy_shape shape, strides;
    int64_t offset;
} view;

#define STORED 400

static void be(view *v, spy_tensor *t) {
    spy_release_tensor(v->tensor);
    v->tensor = t;
}

// A random view of `rank` dimensions over STORED elements; with `own`, each element has a place of its own.
static view random_view(spy_tensor *storage, uint32_t rank, bool own) {
    view v;
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    v.shape = random_shape(rank, 4);
    v.strides = v.shape;
    int64_t stride = 1;
    for (uint32_t k = rank; k-- > 0; stride *= v.shape.dims[k]) v.strides.dims[k] = stride;
    v.offset = between(0, 20);
    d.shape = v.shape;
    d.offset_elements = v.offset;
    v.tensor = MADE(spy_tensor, spy_create_view(storage, &d));
    for (int n = (int)draw(5); n > 0; n--) {
        uint32_t k = draw(rank), way = draw(own ? 3 : 4);
        int64_t size = v.shape.dims[k];
        if (way == 0 && size > 1) { // a slice
            int64_t start = between(0, size - 1), step = between(1, 2);
            be(&v, MADE(spy_tensor, spy_create_slice(v.tensor, k, start, size, step)));
            v.offset += start * v.strides.dims[k];
            v.strides.dims[k] *= step;
            v.shape.dims[k] = (size - start + step - 1) / step;
        } else if (way == 1 && rank > 1) { // two dimensions change places
            spy_dims order;
            memset(&order, 0, sizeof order);
            order.count = rank;
            uint32_t other = (k + 1) % rank;
            for (uint32_t i = 0; i < rank; i++)
                order.dims[i] = (int32_t)(i == k ? other : i == other ? k : i);
            be(&v, MADE(spy_tensor, spy_create_transpose(v.tensor, order)));
            int64_t a = v.shape.dims[k], b = v.strides.dims[k];
            v.shape.dims[k] = v.shape.dims[other];
            v.strides.dims[k] = v.strides.dims[other];
            v.shape.dims[other] = a;
            v.strides.dims[other] = b;
        } else if (way == 2) { // backwards
            memset(&d, 0, sizeof d);
            d.shape = v.shape;
            d.strides = v.strides;
            d.offset_elements = (size - 1) * v.strides.dims[k];
            d.strides.dims[k] = -d.strides.dims[k];
            be(&v, MADE(spy_tensor, spy_create_view(v.tensor, &d)));
            v.offset += d.offset_elements;
            v.strides.dims[k] = -v.strides.dims[k];
        } else if (way == 3 && size == 1) { // stretched
            v.shape.dims[k] = between(1, 4);
            be(&v, MADE(spy_tensor, spy_create_broadcast(v.tensor, v.shape)));
            v.strides.dims[k] = 0;
        }
    }
    return v;
}

static int64_t place_of(const view *v, const int64_t *index) {
    int64_t at = v->offset;
    for (uint32_t d = 0; d < v->shape.rank; d++) at += index[d] * v->strides.dims[d];
    return at;
}

static spy_grid_desc grid_of(spy_shape shape) {
    spy_grid_desc g;
    memset(&g, 0, sizeof g);
    g.shape = shape;
    return g;
}

static spy_tensor *numbered(float *data) { // STORED floats: 0, 1, 2, ...
    for (int i = 0; i < STORED; i++) data[i] = (float)i;
    return make(SPY_DTYPE_FLOAT32, SPY_SHAPE(STORED), data);
}

static void test_whole_reads(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *storage = numbered(data);
    static const char *const readers[] = { "at1", "at2", "at3", "at4" };
    size_t rounds = test_count(1200);
    for (size_t n = 0; n < rounds; n++) {
        uint32_t rank = 1 + (uint32_t)n % 4;
        view v = random_view(storage, rank, false);
        spy_grid_desc g = grid_of(v.shape);
        int64_t index[SPY_MAX_RANK], count = count_of(v.shape);
        spy_tensor *out = NULL;
        spy_arg at = rank == 1 ? spy_arg_range("i", 0, v.shape.dims[0], 1) : spy_arg_grid("p", &g);
        OK(spy_call(fn(readers[rank - 1]),
                    SPY_ARGS(at, spy_arg_tensor("t", v.tensor), spy_out_tensor("_result", &out))));
        const float *got = (const float *)(const void *)read_all(out);
        for (int64_t i = 0; i < count; i++) {
            index_of(v.shape, i, index);
            SAME(readers[rank - 1], i, got[i], place_of(&v, index));
        }
        spy_release_tensor(out);
        // Of more dimensions than the parameter: run over, each row its own.
        if (rank > 1) {
            out = NULL;
            OK(spy_call(fn("sum"),
                        SPY_ARGS(spy_arg_tensor("row", v.tensor), spy_out_tensor("_result", &out))));
            got = (const float *)(const void *)read_all(out);
            int64_t last = v.shape.dims[rank - 1];
            for (int64_t i = 0; i < count / last; i++) {
                double expected = 0;
                for (int64_t k = 0; k < last; k++) {
                    index_of(v.shape, i * last + k, index);
                    expected += (double)place_of(&v, index);
                }
                SAME("sum", i, got[i], expected);
            }
            spy_release_tensor(out);
        }
        if (rank == 2) {
            int32_t sizes[2];
            OK(spy_call(fn("sizes2"),
                        SPY_ARGS(spy_arg_tensor("t", v.tensor),
                                 spy_out_array("_result", sizes, SPY_SHAPE(2), SPY_DTYPE_INT32))));
            assert_true(sizes[0] == v.shape.dims[0] && sizes[1] == v.shape.dims[1]);
        }
        float last = 0;
        for (uint32_t d = 0; d < rank; d++) index[d] = v.shape.dims[d] - 1;
        OK(spy_call(fn("corner"), SPY_ARGS(spy_arg_tensor("t", v.tensor), spy_out_f32("_result", &last))));
        SAME("corner", 0, last, place_of(&v, index));
        spy_release_tensor(v.tensor);
    }
    spy_release_tensor(storage);
}

static void test_whole_writes(void **state) {
    NEEDS_DEVICE();
    size_t rounds = test_count(600);
    for (size_t n = 0; n < rounds; n++) {
        float data[STORED], values[64];
        spy_tensor *storage = numbered(data);
        uint32_t rank = 1 + (uint32_t)n % 3;
        view v = random_view(storage, rank, true);
        spy_grid_desc g = grid_of(v.shape);
        int64_t index[SPY_MAX_RANK], count = count_of(v.shape);
        for (int64_t i = 0; i < count; i++) values[i] = (float)between(-999, 999);
        spy_arg what = spy_arg_array("v", values, v.shape, SPY_DTYPE_FLOAT32),
                t = spy_arg_tensor("t", v.tensor);
        if (rank == 1) OK(spy_call(fn("put1"), SPY_ARGS(spy_arg_range("i", 0, v.shape.dims[0], 1), t, what)));
        else OK(spy_call(fn(rank == 2 ? "put2" : "put3"), SPY_ARGS(spy_arg_grid("p", &g), t, what)));
        for (int64_t i = 0; i < count; i++) {
            index_of(v.shape, i, index);
            float *at = &data[place_of(&v, index)];
            *at = rank == 2 ? *at * 2 + values[i] : values[i];
        }
        const float *got = (const float *)(const void *)read_all(storage);
        for (int i = 0; i < STORED; i++) SAME("written", i, got[i], data[i]);
        if (rank > 1) { // row by row
            OK(spy_call(fn("scale_row"), SPY_ARGS(spy_arg_tensor("row", v.tensor), spy_arg_f32("by", 3))));
            for (int64_t i = 0; i < count; i++) {
                index_of(v.shape, i, index);
                data[place_of(&v, index)] *= 3;
            }
            got = (const float *)(const void *)read_all(storage);
            for (int i = 0; i < STORED; i++) SAME("scaled", i, got[i], data[i]);
        }
        spy_release_tensor(v.tensor);
        spy_release_tensor(storage);
    }
}

// float (..., 3) for Tensor<float3, D>: its rows must lie together, and so must what they are counted in.
static void test_whole_vectors(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *storage = numbered(data), *out = NULL;
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(8, 3);
    d.strides = SPY_SHAPE(-6, 1);
    d.offset_elements = 100;
    spy_tensor *rows = MADE(spy_tensor, spy_create_view(storage, &d));
    OK(spy_call(fn("vector_at"), SPY_ARGS(spy_arg_range("i", 7, -1, -1), spy_arg_tensor("t", rows),
                                          spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 24; i++) SAME("rows", i, got[i], 100 - 6 * (7 - i / 3) + i % 3);
    spy_release_tensor(out);
    float v[24];
    for (int i = 0; i < 24; i++) v[i] = (float)(1000 + i);
    OK(spy_call(fn("put_vector"), SPY_ARGS(spy_arg_range("i", 0, 8, 1), spy_arg_tensor("t", rows),
                                           spy_arg_array("v", v, SPY_SHAPE(8, 3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 24; i++) data[100 - 6 * (i / 3) + i % 3] = v[i];
    got = (const float *)(const void *)read_all(storage);
    for (int i = 0; i < STORED; i++) SAME("put_vector", i, got[i], data[i]);
    spy_release_tensor(rows);
    // Matrices of (n, 2, 3), and two dimensions of rows.
    d.shape = SPY_SHAPE(5, 2, 3);
    d.strides = SPY_SHAPE(12, 3, 1);
    d.offset_elements = 7;
    rows = MADE(spy_tensor, spy_create_view(storage, &d));
    out = NULL;
    OK(spy_call(fn("matrix_at"), SPY_ARGS(spy_arg_range("i", 0, 5, 1), spy_arg_tensor("t", rows),
                                          spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 30; i++) SAME("matrices", i, got[i], data[7 + i / 6 * 12 + i % 6]);
    spy_release_tensor(out);
    out = NULL;
    spy_grid_desc g = grid_of(SPY_SHAPE(5, 2));
    OK(spy_call(fn("vector_at2"),
                SPY_ARGS(spy_arg_grid("p", &g), spy_arg_tensor("t", rows), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 30; i++) SAME("vectors", i, got[i], data[7 + i / 6 * 12 + i % 6]);
    spy_release_tensor(out);
    spy_release_tensor(rows);
    // Rows that do not lie in steps of whole float3: an error, never a wrong read.
    static const struct {
        int64_t outer, inner, offset;
    } bad[] = { { 4, 1, 0 }, { 1, 1, 0 }, { -4, 1, 40 }, { 3, 2, 0 }, { 3, -1, 9 }, { 2, 1, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        d.shape = SPY_SHAPE(4, 3);
        d.strides = SPY_SHAPE(bad[i].outer, bad[i].inner);
        d.offset_elements = bad[i].offset;
        rows = MADE(spy_tensor, spy_create_view(storage, &d));
        out = NULL;
        FAILS(SPY_ERROR_OUT_OF_RANGE,
              spy_call(fn("vector_at"), SPY_ARGS(spy_arg_range("i", 0, 4, 1), spy_arg_tensor("t", rows),
                                                 spy_out_tensor("_result", &out))),
              "'t'", "do not lie next to each other");
        assert_null(out);
        spy_release_tensor(rows);
    }
    spy_release_tensor(storage);
}

// Every element type comes through as it is.
static void test_whole_types(void **state) {
    NEEDS_DEVICE();
    static const struct {
        const char *type;
        size_t size;
    } types[] = {
        { "bool", 1 },      { "int8_t", 1 },  { "uint8_t", 1 },   { "int16_t", 2 },   { "uint16_t", 2 },
        { "int", 4 },       { "uint", 4 },    { "int64_t", 8 },   { "uint64_t", 8 },  { "half", 2 },
        { "float", 4 },     { "double", 8 },  { "float2", 8 },    { "float3", 12 },   { "float4", 16 },
        { "int3", 12 },     { "half3", 6 },   { "uint8_t4", 4 },  { "double3", 24 },  { "bool3", 3 },
        { "float3x3", 36 }, { "int2x4", 32 }, { "float[5]", 20 }, { "Particle", 20 },
    };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (!test_turn(k, 3)) continue;
        unsigned char data[16 * 40];
        spy_dtype floats = SPY_DTYPE_FLOAT32;
        (void)floats;
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (unsigned char)(strncmp(types[k].type, "bool", 4) == 0 ? draw(2) : draw(60));
        spy_tensor *from = typed(types[k].type, SPY_SHAPE(16), NULL),
                   *to = typed(types[k].type, SPY_SHAPE(16), NULL), *out = NULL;
        OK(spy_tensor_write(from, data, 16 * types[k].size));
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_range("i", 0, 16, 1), spy_arg_tensor("from", from),
                                         spy_arg_tensor("to", to))));
        if (memcmp(read_all(to), data, 16 * types[k].size) != 0) fail_msg("copy of %s", types[k].type);
        OK(spy_call(fn("same"), SPY_ARGS(spy_arg_range("i", 15, -1, -1), spy_arg_tensor("t", to),
                                         spy_out_tensor("_result", &out))));
        const char *got = read_all(out);
        for (size_t i = 0; i < 16; i++)
            if (memcmp(got + i * types[k].size, data + (15 - i) * types[k].size, types[k].size) != 0)
                fail_msg("same of %s: element %zu", types[k].type, i);
        spy_release_tensor(from);
        spy_release_tensor(to);
        spy_release_tensor(out);
    }
}

static void test_whole_forms(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *storage = numbered(data), *t = MADE(spy_tensor, spy_create_slice(storage, 0, 10, 74, 2)),
               *out = NULL;
    spy_arg i = spy_arg_range("i", 0, 32, 1), whole = spy_arg_tensor("t", t);
    OK(spy_call(fn("any_tensor"), SPY_ARGS(i, whole, spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 32; k++) SAME("ITensor", k, got[k], 10 + 2 * k + 1);
    spy_release_tensor(out);
    out = NULL;
    OK(spy_call(fn("constrained"), SPY_ARGS(i, whole, spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 32; k++) SAME("X : ITensor", k, got[k], 3 * (10 + 2 * k));
    spy_release_tensor(out);
    OK(spy_call(fn("any_writer"), SPY_ARGS(i, whole, spy_arg_thread_id("v"))));
    OK(spy_call(fn("any_both"), SPY_ARGS(i, whole)));
    got = (const float *)(const void *)read_all(t);
    for (int k = 0; k < 32; k++) SAME("IRWTensor", k, got[k], k + 1);
    // In structs, beside numbers of every size, with rows that are run over.
    OK(spy_tensor_write(storage, data, sizeof data));
    out = NULL;
    spy_tensor *rows =
        MADE(spy_tensor, spy_create_view(storage, &(spy_view_desc){ .shape = SPY_SHAPE(4, 6),
                                                                    .strides = SPY_SHAPE(10, 1),
                                                                    .offset_elements = 3 }));
    float scales[4] = { 1, 2, 3, 4 };
    spy_args scene =
        SPY_ARGS(spy_arg_tensor("t", rows), spy_arg_array("scale", scales, SPY_SHAPE(4), SPY_DTYPE_FLOAT32));
    OK(spy_call(fn("sample"),
                SPY_ARGS(spy_arg_struct("s", scene), spy_arg_i32("i", 5), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 4; k++) SAME("sample", k, got[k], (double)scales[k] * (3 + 10 * k + 5));
    spy_release_tensor(out);
    out = NULL;
    OK(spy_call(fn("Scene.at"), SPY_ARGS(spy_arg_struct("this", scene), spy_arg_call_id("i"),
                                         spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 4; k++) SAME("Scene.at", k, got[k], (double)scales[k] * (3 + 10 * k + k));
    spy_release_tensor(out);
    out = NULL;
    uint8_t ks[4] = { 7, 8, 9, 10 };
    OK(spy_call(fn("weighted"),
                SPY_ARGS(spy_arg_tensor("row", rows), spy_arg_array("k", ks, SPY_SHAPE(4), SPY_DTYPE_UINT8),
                         spy_arg_f32("w", 0.5f), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 4; k++) SAME("weighted", k, got[k], (6 * (3 + 10 * k) + 15) * 0.5 + ks[k]);
    spy_release_tensor(out);
    spy_release_tensor(rows);
    spy_tensor *image =
        MADE(spy_tensor, spy_create_view(storage, &(spy_view_desc){ .shape = SPY_SHAPE(5, 4),
                                                                    .strides = SPY_SHAPE(1, 5),
                                                                    .offset_elements = 200 }));
    out = NULL;
    spy_args inner = SPY_ARGS(spy_arg_tensor("t", t), spy_arg_f32("scale", 2));
    spy_args deep = SPY_ARGS(spy_arg_i32("before", 1000), spy_arg_struct("scene", inner),
                             spy_arg_u32("between", 200), spy_arg_tensor("image", image));
    spy_grid_desc g = grid_of(SPY_SHAPE(5, 4));
    OK(spy_call(fn("deep"),
                SPY_ARGS(spy_arg_struct("d", deep), spy_arg_grid("p", &g), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 20; k++) SAME("deep", k, got[k], (10 + 2 * (k % 4)) * 2);
    got = (const float *)(const void *)read_all(storage);
    for (int k = 0; k < 20; k++) SAME("deep image", k, got[200 + k], data[200 + k] + 1200);
    spy_release_tensor(out);
    spy_release_tensor(image);
    spy_release_tensor(t);
    spy_release_tensor(storage);
    // A struct that changes keeps its tensor.
    uint32_t states[12];
    for (uint32_t k = 0; k < 12; k++) states[k] = 5 * k;
    storage = numbered(data);
    spy_tensor *walking = make(SPY_DTYPE_UINT32, SPY_SHAPE(12), states);
    spy_args walk = SPY_ARGS(spy_arg_tensor("state", walking), spy_arg_tensor("t", storage));
    for (int n = 1; n < 4; n++) {
        out = NULL;
        OK(spy_call(fn("Walk.next"),
                    SPY_ARGS(spy_arg_struct("this", walk), spy_out_tensor("_result", &out))));
        got = (const float *)(const void *)read_all(out);
        for (int k = 0; k < 12; k++) SAME("walk", k, got[k], 5 * k + 3 * n);
        spy_release_tensor(out);
    }
    spy_release_tensor(walking);
    spy_release_tensor(storage);
    // The sizes that an element takes choose the overload, at each call anew.
    for (int n = 0; n < 6; n++) {
        float f = 0, six[6] = { 0, 1, 2, 3, 4, 5 };
        int columns = n % 2 ? 2 : 3;
        t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, columns), six);
        OK(spy_call(fn("picked"), SPY_ARGS(spy_arg_tensor("t", t), spy_out_f32("_result", &f))));
        SAME("picked", n, f, columns * 1000 + columns - 1);
        spy_release_tensor(t);
    }
}

static void test_atomics(void **state) {
    NEEDS_DEVICE();
    enum { N = 5000, SLOTS = 7 };
    int64_t sums[SLOTS] = { 0 }, counts[SLOTS] = { 0 };
    for (int i = 0; i < N; i++) sums[i % SLOTS] += i, counts[i % SLOTS]++;
    spy_arg i = spy_arg_range("i", 0, N, 1);
    static const struct {
        const char *function, *type;
        double factor;
    } ways[] = {
        { "count_int", "int", 1 },
        { "count_uint", "uint", 1 },
        { "count_long", "int64_t", 1 << 20 },
        { "count_float", "float", 1 },
        { "count_double", "double", 0.5 },
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int how = 0; how < LAYOUTS; how++) {
            spy_tensor *t = laid_out(ways[w].type, SPY_SHAPE(SLOTS), (layout)how);
            OK(spy_tensor_fill(t, 0));
            OK(spy_call(fn(ways[w].function), SPY_ARGS(i, spy_arg_tensor("t", t))));
            const char *got = read_all(t);
            for (int k = 0; k < SLOTS; k++) {
                double came = w == 0   ? ((const int32_t *)(const void *)got)[k]
                              : w == 1 ? ((const uint32_t *)(const void *)got)[k]
                              : w == 2 ? (double)((const int64_t *)(const void *)got)[k]
                              : w == 3 ? ((const float *)(const void *)got)[k]
                                       : ((const double *)(const void *)got)[k];
                SAME(ways[w].function, k, came, (double)sums[k] * ways[w].factor);
            }
            spy_release_tensor(t);
        }
    spy_tensor *t = typed("float3", SPY_SHAPE(SLOTS), NULL),
               *rows = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(SLOTS, 3), NULL);
    OK(spy_tensor_fill(t, 0));
    OK(spy_tensor_fill(rows, 0));
    for (int n = 0; n < 2; n++) {
        OK(spy_call(fn("count_vector"), SPY_ARGS(i, spy_arg_tensor("t", n ? rows : t))));
        const float *got = (const float *)(const void *)read_all(n ? rows : t);
        for (int k = 0; k < SLOTS; k++) {
            SAME("x", k, got[3 * k], sums[k]);
            SAME("y", k, got[3 * k + 1], counts[k]);
            SAME("z", k, got[3 * k + 2], -sums[k]);
        }
    }
    spy_release_tensor(t);
    spy_release_tensor(rows);
    t = laid_out("int", SPY_SHAPE(2, 3), TURNED);
    OK(spy_tensor_fill(t, 0));
    spy_grid_desc g = grid_of(SPY_SHAPE(10, 21));
    OK(spy_call(fn("count_grid"), SPY_ARGS(spy_arg_grid("p", &g), spy_arg_tensor("t", t))));
    int32_t expected[6] = { 0 };
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 21; x++) expected[y % 2 * 3 + x % 3] += x + 100 * y;
    const int32_t *cells = (const int32_t *)(const void *)read_all(t);
    for (int k = 0; k < 6; k++) SAME("count_grid", k, cells[k], expected[k]);
    spy_release_tensor(t);
}

// >>pointers

static void test_pointers(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *storage = numbered(data), *part = MADE(spy_tensor, spy_create_slice(storage, 0, 40, 80, 1)),
               *out = NULL;
    spy_arg i = spy_arg_range("i", 0, 40, 1);
    OK(spy_call(fn("peek"), SPY_ARGS(i, spy_arg_tensor("p", part), spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 40; k++) SAME("peek", k, got[k], 40 + k);
    spy_release_tensor(out);
    OK(spy_call(fn("poke"), SPY_ARGS(i, spy_arg_tensor("p", part), spy_arg_thread_id("v"))));
    uint64_t address = 0;
    OK(spy_call(fn("address"), SPY_ARGS(spy_arg_tensor("p", storage), spy_out_u64("_result", &address))));
    assert_true(address != 0);
    uint64_t places[3], next = 0; // a result that is a pointer, and an address for each element
    OK(spy_call(fn("second"), SPY_ARGS(spy_arg_tensor("p", storage), spy_out_u64("_result", &next))));
    assert_true(next == address + 4);
    for (int k = 0; k < 3; k++) places[k] = address + 8 * (uint64_t)k;
    out = NULL;
    OK(spy_call(fn("peek"), SPY_ARGS(spy_arg_i32("i", 1), spy_arg_array("p", places, SPY_SHAPE(3), SPY_DTYPE_UINT64), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 3; k++) SAME("peek each", k, got[k], 2 * k + 1);
    spy_release_tensor(out);
    for (int round = 0; round < 50; round++) { // by its number: nothing says what is written
        OK(spy_call(fn("poke"), SPY_ARGS(i, spy_arg_u64("p", address + 40 * sizeof(float)),
                                         spy_arg_f32("v", (float)round))));
        out = NULL;
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", part), spy_arg_f32("b", 1),
                                        spy_out_tensor("_result", &out))));
        got = (const float *)(const void *)read_all(out);
        for (int k = 0; k < 40; k++) SAME("poked", k, got[k], round + 1);
        spy_release_tensor(out);
    }
    out = NULL;
    OK(spy_call(fn("peek3"), SPY_ARGS(spy_arg_range("i", 0, 12, 1), spy_arg_u64("p", address),
                                      spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 36; k++) SAME("peek3", k, got[k], data[k]);
    spy_release_tensor(out);
    float last = 0;
    spy_args buffer = SPY_ARGS(spy_arg_tensor("data", storage), spy_arg_i32("n", STORED));
    OK(spy_call(fn("Buffer.last"), SPY_ARGS(spy_arg_struct("this", buffer), spy_out_f32("_result", &last))));
    SAME("last", 0, last, STORED - 1);
    out = NULL;
    int32_t sizes[3] = { 4, 1, 3 };
    buffer =
        SPY_ARGS(spy_arg_tensor("data", storage), spy_arg_array("n", sizes, SPY_SHAPE(3), SPY_DTYPE_INT32));
    OK(spy_call(fn("peek_buffer"),
                SPY_ARGS(spy_arg_struct("b", buffer), spy_arg_i32("i", 2), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 3; k++) SAME("peek_buffer", k, got[k], sizes[k] > 2 ? 2 : -1);
    spy_release_tensor(out);
    particle p[5];
    fill_particles(p, 5);
    spy_tensor *all = typed("Particle", SPY_SHAPE(5), p);
    out = NULL;
    OK(spy_call(fn("peek_mass"), SPY_ARGS(spy_arg_range("i", 4, -1, -1), spy_arg_tensor("p", all),
                                          spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int k = 0; k < 5; k++) SAME("peek_mass", k, got[k], p[4 - k].mass);
    spy_release_tensor(out);
    spy_release_tensor(all);
    spy_release_tensor(part);
    spy_release_tensor(storage);
}

// What was written by an address is there when it is read, though nothing ties the call to the tensor; calls whose
// parameters change while the ones before still run.
static void test_addresses(void **state) {
    enum { CALLS = 300 };
    static int32_t got[8 + CALLS];
    NEEDS_DEVICE();
    spy_tensor *to = typed("int", SPY_SHAPE(8 + CALLS), NULL);
    const uint64_t address = spy_tensor_address(to);
    for (int round = 0; round < 3; round++) {
        OK(spy_tensor_fill(to, round == 0 ? 0 : 77));
        spy_flush(gpu_device);
        for (int n = 0; n < CALLS; n++)
            OK(spy_call(fn("spin"), SPY_ARGS(spy_arg_u64("to", address), spy_arg_i32("n", n),
                                             spy_arg_i32("turns", n % 5 == 0 ? 20000 : 0))));
        OK(spy_tensor_read(to, got, sizeof got));
        for (int n = 0; n < CALLS; n++) SAME("spin", n, got[8 + n], n);
    }
    spy_release_tensor(to);
}

// >>order

// Calls that write through a whole tensor, and calls that read and write it element by element, without a wait between.
static void test_hazards(void **state) {
    NEEDS_DEVICE();
    enum { N = 3000, ROUNDS = 200 };
    static float a[N], b[N], next[N];
    for (int i = 0; i < N; i++) a[i] = (float)(i % 13), b[i] = (float)(i % 7);
    spy_tensor *ta = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), a), *tb = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), b),
               *tc = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL);
    spy_arg i = spy_arg_range("i", 0, N, 1);
    for (int round = 0; round < ROUNDS; round++) {
        // c = reversed a: reads whole, writes element-wise
        OK(spy_call(fn("reversed"), SPY_ARGS(i, spy_arg_tensor("t", ta), spy_arg_tensor("_result", tc))));
        // a[i] += c[i]: writes whole what was read, reads element-wise what was written
        OK(spy_call(fn("accumulate"), SPY_ARGS(i, spy_arg_tensor("t", ta), spy_arg_tensor("v", tc))));
        // b = b + a: reads element-wise what was written whole
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_tensor("a", tb), spy_arg_tensor("b", ta),
                                        spy_arg_tensor("_result", tb))));
        // a = b by whole tensors on both sides, one of them written element-wise before; then smaller again
        OK(spy_call(fn("copy"), SPY_ARGS(i, spy_arg_tensor("from", tb), spy_arg_tensor("to", ta))));
        OK(spy_call(
            fn("scale_row"),
            SPY_ARGS(spy_arg_tensor(
                         "row",
                         MADE(spy_tensor, spy_create_view(ta, &(spy_view_desc){ .shape = SPY_SHAPE(N, 1) }))),
                     spy_arg_f32("by", 0.25f))));
        for (int k = 0; k < N; k++) next[k] = a[k] + a[N - 1 - k];
        for (int k = 0; k < N; k++) {
            b[k] = b[k] + next[k];
            a[k] = b[k] * 0.25f;
        }
        if (round % 20 == 19) { // the numbers must stay finite and exact in both
            OK(spy_call(fn("add"),
                        SPY_ARGS(spy_arg_f32("a", 3), spy_arg_f32("b", 0), spy_arg_tensor("_result", tb))));
            for (int k = 0; k < N; k++) b[k] = 3;
        }
    }
    const float *got = (const float *)(const void *)read_all(ta);
    for (int k = 0; k < N; k++) SAME("a", k, got[k], a[k]);
    got = (const float *)(const void *)read_all(tb);
    for (int k = 0; k < N; k++) SAME("b", k, got[k], b[k]);
    spy_release_tensor(ta);
    spy_release_tensor(tb);
    spy_release_tensor(tc);
}

// Copies to a tensor wait for the calls that read it whole, and those for the copies.
static void test_copies(void **state) {
    NEEDS_DEVICE();
    enum { N = 4000, ROUNDS = 40 };
    static float data[N];
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL), *out[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        out[round] = NULL;
        if (round % 3 == 0) {
            OK(spy_tensor_fill(t, round));
        } else if (round % 3 == 1) {
            for (int k = 0; k < N; k++) data[k] = (float)(round * 10000 + k);
            OK(spy_tensor_write(t, data, sizeof data));
        } else {
            OK(spy_call(fn("any_writer"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", t),
                                                   spy_arg_f32("v", (float)-round))));
        }
        OK(spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", t),
                                             spy_out_tensor("_result", &out[round]))));
    }
    for (int round = 0; round < ROUNDS; round++) {
        const float *got = (const float *)(const void *)read_all(out[round]);
        for (int k = 0; k < N; k++)
            SAME("copies", k, got[k],
                 round % 3 == 0   ? round
                 : round % 3 == 1 ? round * 10000 + N - 1 - k
                                  : -round);
        spy_release_tensor(out[round]);
    }
    spy_release_tensor(t);
}

// A tensor that is released right behind the call keeps its memory until the call is done.
static void test_releases(void **state) {
    NEEDS_DEVICE();
    enum { N = 2000 };
    static float data[N];
    spy_tensor *out[40];
    for (int round = 0; round < 40; round++) {
        for (int k = 0; k < N; k++) data[k] = (float)(round * 10000 + k);
        spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), data),
                   *w = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(N), NULL);
        out[round] = NULL;
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("from", t),
                                         spy_arg_tensor("to", w))));
        OK(spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, N, 1), spy_arg_tensor("t", w),
                                             spy_out_tensor("_result", &out[round]))));
        spy_release_tensor(t);
        spy_release_tensor(w);
    }
    for (int round = 0; round < 40; round++) {
        const float *got = (const float *)(const void *)read_all(out[round]);
        for (int k = 0; k < N; k++) SAME("reversed", k, got[k], round * 10000 + N - 1 - k);
        spy_release_tensor(out[round]);
    }
}

// >>how many times, and prepared calls

static void test_thread_count(void **state) {
    NEEDS_DEVICE();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(64), NULL);
    for (int n = 1; n < 40; n += 3) { // one kind of call, other sizes each time
        OK(spy_tensor_fill(t, -1));
        o.thread_count = SPY_SHAPE(n);
        OK(spy_call_with(fn("put1"),
                         SPY_ARGS(spy_arg_thread_id("i"), spy_arg_tensor("t", t), spy_arg_f32("v", 5)), &o));
        const float *got = (const float *)(const void *)read_all(t);
        for (int k = 0; k < 64; k++) SAME("thread_count", k, got[k], k < n ? 5 : -1);
    }
    for (int n = 0; n < 6; n++) {
        spy_tensor *out = NULL;
        spy_shape shape = random_shape((uint32_t)n, 5);
        o.thread_count = shape;
        int64_t index[SPY_MAX_RANK], count = count_of(shape);
        OK(spy_call_with(fn("array3"), SPY_ARGS(spy_arg_call_id("x"), spy_out_tensor("_result", &out)), &o));
        spy_shape made = spy_get_tensor_info(out).shape;
        assert_int_equal(made.rank, shape.rank);
        const int32_t *got = (const int32_t *)(const void *)read_all(out);
        for (int64_t i = 0; i < count; i++) {
            index_of(shape, i, index);
            for (uint32_t c = 0; c < 3; c++)
                SAME("array3", i, got[3 * i + c], coordinate(&receivers[8], index, shape.rank, c));
        }
        spy_release_tensor(out);
    }
    // It joins the shape by the rule: 1 is stretched, another size is an error, 0 does nothing.
    spy_tensor *out = NULL;
    o.thread_count = SPY_SHAPE(3, 1);
    OK(spy_call_with(fn("one"), SPY_ARGS(spy_arg_range("x", 0, 5, 1), spy_out_tensor("_result", &out)), &o));
    assert_int_equal(spy_get_tensor_info(out).element_count, 15);
    spy_release_tensor(out);
    o.thread_count = SPY_SHAPE(4);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_with(fn("one"), SPY_ARGS(spy_arg_range("x", 0, 5, 1)), &o),
          "thread_count", "'x'", "(5,)");
    FAILS(SPY_ERROR_SHAPE_MISMATCH,
          spy_call_with(fn("as_float"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_tensor("_result", t)), &o),
          "_result");
    o.thread_count = SPY_SHAPE(0);
    OK(spy_call_with(fn("put1"),
                     SPY_ARGS(spy_arg_thread_id("i"), spy_arg_tensor("t", t), spy_arg_f32("v", 99)), &o));
    assert_true(((const float *)(const void *)read_all(t))[0] == 5);
    o.thread_count = SPY_SHAPE(-1);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("one"), SPY_ARGS(spy_arg_i32("x", 0)), &o),
          "thread_count", "negative");
    spy_release_tensor(t);
}

static void test_prepared(void **state) {
    NEEDS_DEVICE();
    for (int async = 0; async < 2; async++) {
        float data[STORED], *six = data;
        spy_tensor *t = numbered(data),
                   *rows =
                       MADE(spy_tensor, spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(10, 40) }));
        spy_tensor *out = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(10), NULL);
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        spy_arg row = spy_arg_tensor("row", rows), k = spy_arg_i32("k", async ? 3 : 4);
        spy_args args = SPY_ARGS(row, k, spy_arg_f32("w", 2), spy_arg_tensor("_result", out));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(fn("weighted"), args, &d));
        // What was described may go: nothing of it is looked at later.
        OK(spy_call_prepared(p, args));
        const float *got = (const float *)(const void *)read_all(out);
        for (int i = 0; i < 10; i++) SAME("weighted", i, got[i], (40 * 40 * i + 780) * 2 + (async ? 3 : 4));
        (void)six;
        spy_release_prepared(p);
        spy_grid_desc *g = (spy_grid_desc *)calloc(1, sizeof *g); // gone before the thread is done
        g->shape = SPY_SHAPE(2, 5);
        spy_tensor *small =
            MADE(spy_tensor, spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(2, 5) }));
        spy_args at = SPY_ARGS(spy_arg_grid("p", g), spy_arg_tensor("t", small), spy_arg_f32("v", 1));
        p = MADE(spy_prepared, spy_prepare(fn("put2"), at, &d));
        free(g);
        spy_grid_desc again = grid_of(SPY_SHAPE(2, 5));
        OK(spy_call_prepared(
            p, SPY_ARGS(spy_arg_grid("p", &again), spy_arg_tensor("t", small), spy_arg_f32("v", 1))));
        got = (const float *)(const void *)read_all(small);
        for (int i = 0; i < 10; i++) SAME("put2", i, got[i], 2 * i + 1);
        FAILS(SPY_ERROR_TYPE_MISMATCH,
              spy_call_prepared(p, SPY_ARGS(spy_arg_grid("p", &again), spy_arg_tensor("t", rows),
                                            spy_arg_tensor("v", small))),
              "prepared");
        spy_release_prepared(p);
        spy_release_tensor(small);
        spy_release_tensor(rows);
        spy_release_tensor(out);
        spy_release_tensor(t);
    }
}

// The block of parameters is larger than push constants: it goes by address.
static void test_large_block(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *t = numbered(data), *out = NULL;
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(2, 1, 2, 1, 2, 1, 2, 3);
    spy_tensor *v = MADE(spy_tensor, spy_create_view(t, &d));
    spy_args scene = SPY_ARGS(spy_arg_tensor("t", v), spy_arg_rand_float("scale", 2, 2, NULL));
    OK(spy_call(fn("sample"),
                SPY_ARGS(spy_arg_struct("s", scene), spy_arg_i32("i", 2), spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 16; i++) SAME("sample", i, got[i], (3 * i + 2) * 2);
    spy_release_tensor(out);
    spy_release_tensor(v);
    spy_release_tensor(t);
}

// >>what is refused

static void test_refused(void **state) {
    NEEDS_DEVICE();
    int32_t kept = 77;
    spy_arg out = spy_out_i32("_result", &kept), x;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", NULL), out)), "'x'",
          "spy_grid_desc");
    spy_grid_desc g = grid_of(SPY_SHAPE(3));
    g.offset = SPY_SHAPE(1, 2);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "rank");
    g = grid_of(SPY_SHAPE(3));
    g.stride = SPY_SHAPE((int64_t)1 << 31);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "32 bits");
    g = grid_of(SPY_SHAPE(3));
    g.shape.rank = 9;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_grid("x", &g), out)), "'x'",
          "rank");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(spy_arg_range("x", 0, 5, 0), out)),
          "step is 0");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("one"), SPY_ARGS(spy_arg_range("x", 0, (int64_t)1 << 40, 1), out)), "32 bits");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("as_float"), SPY_ARGS(spy_arg_rand_float("x", 1, 0, NULL))),
          "'x'", "low <= high");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("as_float"),
                   SPY_ARGS(spy_arg_rand_float("x", 0, (float)(0.0 / (1.0 - (double)(kept / 77))), NULL))),
          "'x'", "finite");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("as_float"), SPY_ARGS(spy_arg_rand_float("x", -3e38f, 3e38f, NULL))), "'x'", "finite");
    x = spy_arg_call_id("x");
    x.direction = SPY_DIRECTION_OUT;
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'", "in parameter");
    x.direction = (spy_direction)7;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'", "direction");
    x = spy_arg_call_id("x");
    x._custom = NULL;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("one"), SPY_ARGS(x, out)), "'x'");
    // Whole tensors.
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(8), NULL),
               *ints = make(SPY_DTYPE_INT32, SPY_SHAPE(8), NULL);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at2"), SPY_ARGS(spy_arg_i32("p", 0), spy_arg_tensor("t", t))),
          "'t'", "2 trailing");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(fn("at1"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_tensor("t", ints))), "'t'",
          "Tensor<float, 1>", "int tensor");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("at1"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_tensor("t", NULL))), "'t'", "NULL");
    float array[8] = { 0 };
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(fn("at1"),
                   SPY_ARGS(spy_arg_i32("i", 0), spy_arg_array("t", array, SPY_SHAPE(8), SPY_DTYPE_FLOAT32))),
          "'t'", "takes a tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("peek"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_f32("p", 1))),
          "'p'", "float*", "address");
    // An output that the function may read anywhere: threads would read what others have written.
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("reversed"), SPY_ARGS(spy_arg_range("i", 0, 8, 1), spy_arg_tensor("t", t),
                                            spy_arg_tensor("_result", t))),
          "_result", "'t'");
    // Instances.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("Particle.next"), SPY_NO_ARGS), "'this'", "not specified");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("Particle.next"), SPY_ARGS(spy_arg_tensor("this", t))),
          "'this'", "Particle");
    assert_null(spy_find_function(module, "Particle.nothing"));
    ERROR_ON(gpu_device, SPY_ERROR_NOT_FOUND, "Particle.nothing");
    spy_release_tensor(t);
    spy_release_tensor(ints);
    assert_int_equal(kept, 77);
}

static spy_function *own_fn(spy_module *own, const char *name) {
    return MADE(spy_function, spy_find_function(own, name));
}

// Functions of the user's may be called as those of our Slang module, which he has not imported.
static void test_own_names(void **state) {
    NEEDS_DEVICE();
    static const char source[] = "struct Tensor { float x; float get(float y) { return x + y; } }\n"
                                 "struct WangHash { uint x; }\n"
                                 "uint wang_hash(uint seed) { return seed + 5; }\n"
                                 "int get_call_id(int x) { return x + 6; }\n"
                                 "float boxed(Tensor t, float k) { return t.x * k; }\n"
                                 "uint hashed(WangHash h) { return h.x; }\n";
    spy_module *own = MADE(spy_module, gpu_module(gpu_device, "own_names", source));
    uint32_t u = 0;
    int32_t s = 0;
    float f = 0;
    OK(spy_call(own_fn(own, "wang_hash"), SPY_ARGS(spy_arg_thread_id("seed"), spy_out_u32("_result", &u))));
    SAME("wang_hash", 0, u, 5);
    OK(spy_call(own_fn(own, "get_call_id"), SPY_ARGS(spy_arg_call_id("x"), spy_out_i32("_result", &s))));
    SAME("get_call_id", 0, s, 6);
    spy_args fields = SPY_ARGS(spy_arg_rand_float("x", 2, 2, NULL));
    OK(spy_call(own_fn(own, "boxed"),
                SPY_ARGS(spy_arg_struct("t", fields), spy_arg_thread_id("k"), spy_out_f32("_result", &f))));
    SAME("boxed", 0, f, 0);
    OK(spy_call(own_fn(own, "Tensor.get"), SPY_ARGS(spy_arg_struct("this", fields), spy_arg_thread_id("y"),
                                                    spy_out_f32("_result", &f))));
    SAME("Tensor.get", 0, f, 2);
    spy_release_module(own);
}

// The kernel's call information is that of the call.
static void test_call_info(void **state) {
    NEEDS_DEVICE();
    spy_tensor *out = typed("int[3]", SPY_SHAPE(4, 5), NULL);
    OK(spy_call(fn("where_am_i"), SPY_ARGS(spy_arg_tensor("_result", out))));
    const int32_t *got = (const int32_t *)(const void *)read_all(out);
    for (int i = 0; i < 20; i++) {
        SAME("rank", i, got[3 * i], 2);
        SAME("row", i, got[3 * i + 1], i / 5);
        SAME("column", i, got[3 * i + 2], i % 5);
    }
    spy_release_tensor(out);
    for (int how = 0; how < LAYOUTS; how++) { // four elements of a thread are four places
        out = laid_out("int", SPY_SHAPE(3, 16), (layout)how);
        OK(spy_call(fn("column"), SPY_ARGS(spy_arg_tensor("_result", out))));
        got = (const int32_t *)(const void *)read_all(out);
        for (int i = 0; i < 48; i++) SAME("column", i, got[i], i % 16);
        spy_release_tensor(out);
    }
}

static void test_hidden_names(void **state) {
    NEEDS_DEVICE();
    float data[STORED];
    spy_tensor *t = numbered(data), *out = NULL;
    OK(spy_call(fn("a_mix"), SPY_ARGS(spy_arg_range("i", 0, 9, 1), spy_arg_tensor("v_t", t),
                                      spy_arg_tensor("w_p", t), spy_arg_tensor("spy_i", t),
                                      spy_arg_call_id("r_result"), spy_out_tensor("_result", &out))));
    const float *got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 9; i++) SAME("a_mix", i, got[i], 4 * i);
    spy_release_tensor(out);
    spy_tensor *made = NULL;
    out = NULL;
    OK(spy_call(fn("a_this"),
                SPY_ARGS(spy_arg_range("spy_thread", 0, 9, 1), spy_out_tensor("_result", &made))));
    OK(spy_call(fn("a_this.b_step"), SPY_ARGS(spy_arg_tensor("this", made), spy_arg_thread_id("_shape"),
                                              spy_arg_f32("_count", 0.5f), spy_out_tensor("_result", &out))));
    got = (const float *)(const void *)read_all(out);
    for (int i = 0; i < 9; i++) SAME("b_step", i, got[i], 2 * i + 0.5);
    spy_release_tensor(out);
    spy_release_tensor(made);
    spy_release_tensor(t);
}

// >>main

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0; // each test then says "skipped"
    if (getenv("SPY_TEST_SEED"))
        random_state += (uint32_t)strtoul(getenv("SPY_TEST_SEED"), NULL, 10) * 2654435761u;
    char path[512];
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = gpu_path(__FILE__, "kinds.slang", path, sizeof path);
    module = spy_load_module(gpu_device, &m);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

// A test that failed leaves no error to the next one.
static int clean(void **state) {
    (void)state;
    if (gpu_device) spy_take_error(gpu_device);
    spy_take_error(NULL);
    return 0;
}

int main(int argc, char **argv) { // test_kinds [TEST]: only tests whose names hold it
#define TEST(f) cmocka_unit_test_setup(f, clean)
    const struct CMUnitTest tests[] = {
        TEST(test_ids),          TEST(test_variants),      TEST(test_grid),         TEST(test_range),
        TEST(test_hash),         TEST(test_random),        TEST(test_together),     TEST(test_methods),
        TEST(test_soa),          TEST(test_constructors),  TEST(test_extensions),   TEST(test_whole_reads),
        TEST(test_whole_writes), TEST(test_whole_vectors), TEST(test_whole_types),  TEST(test_whole_forms),
        TEST(test_atomics),      TEST(test_pointers),      TEST(test_hazards),      TEST(test_releases),
        TEST(test_thread_count), TEST(test_prepared),      TEST(test_large_block),  TEST(test_refused),
        TEST(test_own_names),    TEST(test_call_info),     TEST(test_hidden_names), TEST(test_copies),
        TEST(test_addresses),
    };
    char filter[128];
    if (argc > 1) {
        snprintf(filter, sizeof filter, "*%s*", argv[1]);
        cmocka_set_test_filter(filter);
    }
    return cmocka_run_group_tests_name("kinds", tests, setup, teardown);
}
