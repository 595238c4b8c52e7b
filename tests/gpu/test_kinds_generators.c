// Arguments that kernels make: ids of calls and threads, how many there are, grids, ranges and random numbers.
#include "kinds.h"

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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(test_ids), TEST(test_variants), TEST(test_grid), TEST(test_range), TEST(test_hash), TEST(test_random),
        TEST(test_together), TEST(test_thread_count),
    };
    return kinds_run(tests, sizeof tests / sizeof *tests, argc, argv);
}
