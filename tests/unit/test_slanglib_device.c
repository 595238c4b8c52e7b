// The Slang side, src/slang, run on whatever Vulkan device there is: elements of every type go through its tensors and
// come out the same, atomic sums are right with and without the device's float atomics, random numbers have the
// published bits. Tensors reach Slang as addresses here. Skipped, and said so, where there is no device.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "data/device.h"
#endif
#include <stdio.h>

static const char test_source[] =
    "import slangpy;\n"
    "public struct Item { public float3 a; public int2 b; public bool3 c; public bool d; public half2 e; }\n"
    "public struct Particle { public float3 position; public int count; }\n"
    "public extension Particle : IAtomicAddable\n"
    "{\n"
    "    public static void atomic_add(Particle *at, Particle value)\n"
    "    {\n"
    "        float3.atomic_add(&at.position, value.position);\n"
    "        int.atomic_add(&at.count, value.count);\n"
    "    }\n"
    "}\n"
    // One element, by one of the ways of access.
    "public void move<E>(int i, uint64_t from, uint64_t to, int[2] shape, int[2] from_strides, int[2] "
    "to_strides, int way)\n"
    "{\n"
    "    let t = Tensor<E, 2>((E *)from, shape, from_strides);\n"
    "    let w = WTensor<E, 2>((E *)to, shape, to_strides);\n"
    "    let rw = RWTensor<E, 2>((E *)to, shape, to_strides);\n"
    "    int y = i / t.shape[1], x = i % t.shape[1];\n"
    "    int[2] at = { y, x };\n"
    "    if (way == 0) w[at] = t[at];\n"
    "    if (way == 1) w[y, x] = t[y, x];\n"
    "    if (way == 2) w[int2(x, y)] = t[int2(x, y)];\n"
    "    if (way == 3) w.store(at, t.load(at));\n"
    "    if (way == 4) w.store(y, x, t.load(y, x));\n"
    "    if (way == 5) w.store(int2(x, y), t.load(int2(x, y)));\n"
    "    if (way == 6) { rw[at] = t[at]; rw[at] = rw[at]; }\n"
    "    if (way == 7) { rw.store(at, t[at]); rw[y, x] = rw.load(uint2(x, y)); }\n"
    "}\n"
    // What a tensor has at a place, when the tensor itself lies in memory.
    "public float stored<let N : int>(uint64_t tensor, int[N] at) { return (*(Tensor<float, N> "
    "*)tensor)[at]; }\n"
    "public int size_of<let N : int>(int unused) { return sizeof(Tensor<float, N>); }\n"
    "public float ranked<let N : int>(uint64_t data, int[N] shape, int[N] strides, int[N] at)\n"
    "{\n"
    "    return Tensor<float, N>((float *)data, shape, strides)[at];\n"
    "}\n"
    "public void scatter<E : IAtomicAddable>(int i, E value, uint64_t to)\n"
    "{\n"
    "    int[2] shape = { 2, 3 };\n"
    "    AtomicTensor<E, 2>((E *)to, shape).add(i % 2, i % 3, value);\n"
    "}\n"
    "public uint4 hashes(uint thread, uint seed, uint warmup, bool hash_seed)\n"
    "{\n"
    "    WangHash h = WangHash(thread, seed, warmup, hash_seed);\n"
    "    uint x = h.next(), y = h.next(), z = h.next();\n"
    "    return uint4(x, y, z, wang_hash(thread));\n"
    "}\n"
    "public float number(uint thread, float low, float high)\n"
    "{\n"
    "    WangHash h = WangHash(thread);\n"
    "    return h.next_float(low, high);\n"
    "}\n"
    "int places(int scale)\n"
    "{\n"
    "    CallShapeInfo id = get_call_id(), group = get_call_group_id(), inside = "
    "CallShapeInfo::get_call_group_thread_id();\n"
    "    return ((id.shape[1] * 10 + group.shape[1]) * 10 + inside.shape[0]) * scale + id.dimensionality;\n"
    "}\n"
    "public int placed(int y, int x, int scale)\n"
    "{\n"
    "    int[3] shape = { 1000, 1000, 8 }, group = { 3, 2, 1 };\n"
    "    if (scale > 0) spyi_set_call((y * 1000 + x) * 8 + 7, shape, group);\n"
    "    return places(scale);\n"
    "}\n";

static spy_device *device;
static spy_module *module;

static spy_module *test_module(const char *more) {
    spyi_text source = { NULL, 0, 0 };
    spyi_text_add(&source, "%s%s", test_source, more);
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = source.data;
    spy_module *made = spy_load_module(device, &desc);
    if (!made) print_error("%s\n", spy_take_error(device).message);
    spyi_text_free(&source);
    return made;
}

static int setup(void **state) {
    (void)state;
    spy_device_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.backend = spy_vk_backend();
    desc.adapter_name = getenv("SPY_TEST_ADAPTER");
    desc.enable_validation = getenv("SPY_TEST_VALIDATION") != NULL;
    device = spy_create_device(&desc);
    if (!device) {
        print_message("skipped: %s\n", spy_take_error(NULL).message);
        return 0;
    }
    module = test_module("");
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_device(device);
    return 0;
}

#define NEEDS_DEVICE()                                                                                       \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (!device) skip();                                                                                 \
    } while (0)

static void test_ok(spy_status status, int line) {
    if (status != SPY_OK) fail_msg("line %d: %s", line, spy_take_error(device).message);
}
#define OK(expression) test_ok((expression), __LINE__)

static spy_function *test_function(spy_module *m, const char *format, const char *type) {
    char name[100];
    snprintf(name, sizeof name, format, type);
    spy_function *function = spy_find_function(m, name);
    if (!function) fail_msg("%s: %s", name, spy_take_error(device).message);
    return function;
}

static spy_tensor *test_tensor(spy_module *m, const char *type, int64_t count, const void *data) {
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = SPY_SHAPE(count);
    desc.type = type;
    desc.module = m;
    desc.data = data;
    spy_tensor *tensor = spy_create_tensor(device, &desc);
    if (!tensor) fail_msg("%s", spy_take_error(device).message);
    return tensor;
}

static spy_tensor *test_ramp(int32_t count) {
    int32_t *data = (int32_t *)calloc((size_t)count, sizeof *data);
    for (int32_t i = 0; i < count; i++) data[i] = i;
    spy_tensor *tensor = test_tensor(NULL, "int", count, data);
    free(data);
    return tensor;
}

// Address of the first element. The device cannot see what is done through it: wait before and after.
static uint64_t test_address(const spy_tensor *tensor) {
    return tensor->storage->chunk.address + tensor->storage->offset + tensor->offset_bytes;
}

static uint32_t test_random(void) {
    static uint32_t state = 12345;
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

// >>elements

typedef struct test_layout {
    int32_t shape[2], from[2], to[2];
    int from_first, to_first; // index of the element at 0, 0
} test_layout;

#define TEST_COUNT 24 // elements of source and destination
static const test_layout test_layouts[] = {
    { { 4, 6 }, { 6, 1 }, { 6, 1 }, 0, 0 },    { { 6, 4 }, { 1, 6 }, { 4, 1 }, 0, 0 },
    { { 4, 6 }, { -6, -1 }, { 6, 1 }, 23, 0 }, { { 4, 6 }, { 6, 1 }, { 6, -1 }, 0, 5 },
    { { 4, 6 }, { 0, 1 }, { -6, 1 }, 3, 18 },  { { 2, 3 }, { 12, 2 }, { 3, 1 }, 1, 2 },
};
#define TEST_LAYOUTS (int)(sizeof test_layouts / sizeof test_layouts[0])

static void test_move(const char *type, size_t size, bool is_bool) {
    spy_function *move = test_function(module, "move<%s>", type);
    uint8_t *data = (uint8_t *)malloc(TEST_COUNT * size), *expected = (uint8_t *)malloc(TEST_COUNT * size),
            *got = (uint8_t *)malloc(TEST_COUNT * size);
    for (int way = 0; way < 8; way++) {
        const test_layout *l = &test_layouts[way < TEST_LAYOUTS ? way : way - TEST_LAYOUTS];
        // Halves and floats are moved as values: no NaN, whose bits may change.
        for (size_t i = 0; i < TEST_COUNT * size; i++)
            data[i] = (uint8_t)(is_bool ? test_random() & 1 : test_random() % 0x70 + 1);
        for (size_t i = 0; i < TEST_COUNT * size; i++)
            expected[i] = (uint8_t)(is_bool ? 0 : test_random() % 0x70 + 1);
        spy_tensor *from = test_tensor(module, type, TEST_COUNT, data);
        spy_tensor *to = test_tensor(module, type, TEST_COUNT, expected);
        int32_t count = l->shape[0] * l->shape[1];
        for (int32_t i = 0; i < count; i++) {
            int32_t y = i / l->shape[1], x = i % l->shape[1];
            memcpy(expected + (size_t)(l->to_first + y * l->to[0] + x * l->to[1]) * size,
                   data + (size_t)(l->from_first + y * l->from[0] + x * l->from[1]) * size, size);
        }
        size_t element = spy_get_tensor_info(from).element_size_bytes;
        spy_tensor *ramp = test_ramp(count);
        OK(spy_wait(device));
        OK(spy_call(move,
                    SPY_ARGS(spy_arg_tensor("i", ramp),
                             spy_arg_u64("from", test_address(from) + element * (size_t)l->from_first),
                             spy_arg_u64("to", test_address(to) + element * (size_t)l->to_first),
                             spy_arg_i32n("shape", l->shape, 2), spy_arg_i32n("from_strides", l->from, 2),
                             spy_arg_i32n("to_strides", l->to, 2), spy_arg_i32("way", way))));
        OK(spy_wait(device));
        OK(spy_tensor_read(to, got, TEST_COUNT * size));
        if (memcmp(got, expected, TEST_COUNT * size) != 0) fail_msg("%s, way %d", type, way);
        spy_release_tensor(from);
        spy_release_tensor(to);
        spy_release_tensor(ramp);
    }
    free(data);
    free(expected);
    free(got);
}

static void test_elements(void **state) {
    NEEDS_DEVICE();
    static const struct {
        const char *name;
        size_t size;
    } scalars[] = { { "bool", 1 },     { "int8_t", 1 },  { "int16_t", 2 },  { "int", 4 },
                    { "int64_t", 8 },  { "uint8_t", 1 }, { "uint16_t", 2 }, { "uint", 4 },
                    { "uint64_t", 8 }, { "half", 2 },    { "float", 4 },    { "double", 8 } };
    char type[64];
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        test_move(scalars[i].name, scalars[i].size, i == 0);
        for (uint32_t n = 2; n <= 4; n++) {
            snprintf(type, sizeof type, "vector<%s, %u>", scalars[i].name, n);
            test_move(type, scalars[i].size * n, i == 0);
        }
    }
    test_move("float2x3", 24, false);
    test_move("double3x3", 72, false);
    test_move("float[3]", 12, false);
    test_move("bool3[2]", 6, true);
    test_move("Item", 28, true); // no padding in C, whose bytes would be lost
}

// >>the struct itself

static void test_struct(void **state) {
    NEEDS_DEVICE();
    float data[8];
    for (int i = 0; i < 8; i++) data[i] = (float)i + 0.5f;
    spy_tensor *tensor = test_tensor(NULL, "float", 8, data);
    for (uint32_t rank = 1; rank <= 8; rank++) {
        // { address, offset, unused, shape, strides } as bytes; only the first and the last stride are not 0.
        uint8_t bytes[80];
        int32_t shape[8], strides[8], at[8] = { 0 }, got = 0;
        uint64_t address = test_address(tensor);
        uint32_t offset = 3;
        char name[40];
        for (uint32_t d = 0; d < rank; d++) shape[d] = 2, strides[d] = d + 1 == rank ? -2 : d == 0 ? 1 : 0;
        memset(bytes, 0xcd, sizeof bytes);
        memcpy(bytes, &address, 8);
        memcpy(bytes + 8, &offset, 4);
        memcpy(bytes + 16, shape, 4 * rank);
        memcpy(bytes + 16 + 4 * rank, strides, 4 * rank);
        spy_tensor *block = test_tensor(NULL, "uint8_t", 80, bytes);
        OK(spy_wait(device));
        snprintf(name, sizeof name, "%u", rank);
        OK(spy_call(test_function(module, "size_of<%s>", name),
                    SPY_ARGS(spy_arg_i32(NULL, 0), spy_out_i32("_result", &got))));
        assert_int_equal(got, 16 + 8 * rank);
        for (int last = 0; last < 2; last++) {
            float value = 0, direct = 0;
            at[rank - 1] = last;
            if (rank > 1) at[0] = 1;
            OK(spy_call(test_function(module, "stored<%s>", name),
                        SPY_ARGS(spy_arg_u64(NULL, test_address(block)), spy_arg_i32n(NULL, at, rank),
                                 spy_out_f32("_result", &value))));
            assert_true(value == data[3 + (rank > 1 ? 1 : 0) - 2 * last]);
            OK(spy_call(test_function(module, "ranked<%s>", name),
                        SPY_ARGS(spy_arg_u64(NULL, address + 12), spy_arg_i32n(NULL, shape, rank),
                                 spy_arg_i32n(NULL, strides, rank), spy_arg_i32n(NULL, at, rank),
                                 spy_out_f32("_result", &direct))));
            assert_true(direct == value);
        }
        spy_release_tensor(block);
    }
    spy_release_tensor(tensor);
}

// >>atomics

// Scalars are named by a letter: i int and uint, l their 64-bit ones, h half, f float, d double.
static size_t test_put(char kind, int value, uint8_t *at) {
    int64_t l = value;
    uint16_t h = spyi_float_to_half(value);
    float f = (float)value;
    double d = value;
    switch (kind) {
    case 'h': memcpy(at, &h, sizeof h); return sizeof h;
    case 'f': memcpy(at, &f, sizeof f); return sizeof f;
    case 'd': memcpy(at, &d, sizeof d); return sizeof d;
    case 'l': memcpy(at, &l, sizeof l); return sizeof l;
    default: memcpy(at, &value, sizeof value); return sizeof value;
    }
}

// Element i % 2, i % 3 gets a value made from i, 3,000 times; sums are small enough to be exact in any order.
static void test_scatter(spy_module *m, const char *type, const char *kinds) {
    enum { count = 3000 };
    uint8_t got[6 * 32], expected[6 * 32], zero[6 * 32] = { 0 };
    int sums[6][16] = { { 0 } };
    uint8_t *values = (uint8_t *)malloc(count * 32);
    size_t size = 0, expected_size = 0;
    for (int i = 0; i < count; i++) {
        for (int c = 0; kinds[c]; c++) {
            int value = (i * 7 + c) % 5 - 2 + (i % 100 == c);
            size += test_put(kinds[c], value, values + size);
            sums[i % 2 * 3 + i % 3][c] += value;
        }
    }
    size /= count;
    for (int e = 0; e < 6; e++)
        for (int c = 0; kinds[c]; c++)
            expected_size += test_put(kinds[c], sums[e][c], expected + expected_size);
    spy_tensor *to = test_tensor(m, type, 6, zero), *from = test_tensor(m, type, count, values);
    spy_tensor *ramp = test_ramp(count);
    OK(spy_wait(device));
    OK(spy_call(test_function(m, "scatter<%s>", type),
                SPY_ARGS(spy_arg_tensor("i", ramp), spy_arg_tensor("value", from),
                         spy_arg_u64("to", test_address(to)))));
    OK(spy_wait(device));
    OK(spy_tensor_read(to, got, expected_size));
    if (memcmp(got, expected, 6 * size) != 0) fail_msg("sums of %s", type);
    spy_release_tensor(to);
    spy_release_tensor(from);
    spy_release_tensor(ramp);
    free(values);
}

static void test_scatter_ints(spy_module *m) {
    test_scatter(m, "int", "i");
    test_scatter(m, "uint3", "iii");
    test_scatter(m, "int64_t", "l");
    test_scatter(m, "vector<uint64_t, 2>", "ll");
}

static void test_atomics(void **state) {
    NEEDS_DEVICE();
    test_scatter_ints(module);
    test_scatter(module, "float", "f");
    test_scatter(module, "float3", "fff");
    test_scatter(module, "float2x3", "ffffff");
    test_scatter(module, "half", "h");
    test_scatter(module, "half3", "hhh");
    test_scatter(module, "double", "d");
    test_scatter(module, "double3", "ddd");
    test_scatter(module, "Particle", "fffi");
}

// With the device's own float atomics, where it has them.
static void test_native_atomics(void **state) {
    NEEDS_DEVICE();
    static const struct {
        int bit;
        const char *type, *kinds;
    } rows[] = { { 1, "float3", "fff" }, { 2, "half", "h" }, { 4, "double", "d" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char more[100];
        snprintf(more, sizeof more, "export public static const int slangpy_atomic_floats = %d;\n",
                 rows[i].bit);
        spy_module *m = test_module(more);
        assert_non_null(m);
        spy_tensor *ramp = test_ramp(1), *value = test_tensor(m, rows[i].type, 1, "................");
        spy_status status = spy_call(test_function(m, "scatter<%s>", rows[i].type),
                                     SPY_ARGS(spy_arg_tensor("i", ramp), spy_arg_tensor("value", value),
                                              spy_arg_u64("to", test_address(value))));
        OK(spy_wait(device));
        if (status == SPY_OK) test_scatter(m, rows[i].type, rows[i].kinds);
        else print_message("skipped: %s: %s\n", rows[i].type, spy_take_error(device).message);
        spy_release_tensor(ramp);
        spy_release_tensor(value);
        spy_release_module(m);
    }
}

// >>random numbers

static uint32_t test_wang(uint32_t x) { // as published
    x = (x ^ 61) ^ (x >> 16);
    x *= 9;
    x = x ^ (x >> 4);
    x *= 0x27d4eb2d;
    x = x ^ (x >> 15);
    return x;
}

static void test_hashes(void **state) {
    NEEDS_DEVICE();
    spy_function *hashes = test_function(module, "%s", "hashes");
    for (int i = 0; i < 40; i++) {
        uint32_t thread = i < 4 ? (uint32_t)i : test_random(), seed = i < 2 ? 0 : test_random(),
                 warmup = (uint32_t)i % 5;
        bool hash_seed = i % 2 != 0;
        uint32_t got[4], x = thread ^ (hash_seed ? test_wang(seed) : seed);
        for (uint32_t k = 0; k < warmup; k++) x = test_wang(x);
        OK(spy_call(hashes,
                    SPY_ARGS(spy_arg_u32(NULL, thread), spy_arg_u32(NULL, seed), spy_arg_u32(NULL, warmup),
                             spy_arg_bool(NULL, hash_seed), spy_out_data("_result", got, sizeof got))));
        for (int k = 0; k < 3; k++) {
            x = test_wang(x);
            assert_int_equal(got[k], x);
        }
        assert_int_equal(got[3], test_wang(thread));
    }
    // The example of SlangPy's documentation: thread 0 and thread 1 of wang_hash() when its seed was 0.
    static const int32_t documented[2][2] = { { -1062647446, -1219659480 }, { 663891101, 1738326990 } };
    for (uint32_t thread = 0; thread < 2; thread++) {
        int32_t got[4];
        OK(spy_call(hashes, SPY_ARGS(spy_arg_u32(NULL, thread), spy_arg_u32(NULL, 0), spy_arg_u32(NULL, 0),
                                     spy_arg_bool(NULL, false), spy_out_data("_result", got, sizeof got))));
        assert_int_equal(got[0], documented[thread][0]);
        assert_int_equal(got[1], documented[thread][1]);
    }
}

static void test_floats(void **state) {
    NEEDS_DEVICE();
    static const float ranges[][2] = { { 0, 1 },       { 0, 10 }, { -3, 7 }, { 1, 2 },
                                       { 0.1f, 0.3f }, { 5, -5 }, { 4, 4 },  { 1e6f, 1e6f + 1 } };
    enum { count = 20000 };
    spy_function *number = test_function(module, "%s", "number");
    spy_tensor *ramp = test_ramp(count);
    float *got = (float *)malloc(count * sizeof *got);
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        float low = ranges[r][0], high = ranges[r][1];
        spy_tensor *result = NULL;
        OK(spy_call(number, SPY_ARGS(spy_arg_tensor("thread", ramp), spy_arg_f32("low", low),
                                     spy_arg_f32("high", high), spy_out_tensor("_result", &result))));
        OK(spy_tensor_read(result, got, count * sizeof *got));
        spy_release_tensor(result);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t hash = test_wang(i ^ test_wang(2640457667u));
            volatile float size = high - low, product = size * ((float)(hash >> 8) / 16777216.0f),
                           sum = low + product;
            float expected = sum == high ? low : sum;
            if (memcmp(&got[i], &expected, sizeof expected) != 0)
                fail_msg("[%g, %g) thread %u: %.9g, expected %.9g", (double)low, (double)high, i,
                         (double)got[i], (double)expected);
        }
    }
    spy_release_tensor(ramp);
    free(got);
}

// >>the call

static void test_places(void **state) {
    NEEDS_DEVICE();
    enum { rows = 5, columns = 4 };
    int32_t ys[rows], got[rows * columns];
    for (int i = 0; i < rows; i++) ys[i] = i;
    spy_tensor *y = test_tensor(NULL, "int", rows, ys), *x = test_ramp(columns), *result = NULL;
    spy_function *placed = test_function(module, "%s", "placed");
    OK(spy_call(placed, SPY_ARGS(spy_vmap(spy_arg_tensor("y", y), SPY_DIMS(0)),
                                 spy_vmap(spy_arg_tensor("x", x), SPY_DIMS(1)), spy_arg_i32("scale", 100),
                                 spy_out_tensor("_result", &result))));
    OK(spy_tensor_read(result, got, sizeof got));
    for (int i = 0; i < rows * columns; i++) {
        int row = i / columns, column = i % columns;
        assert_int_equal(got[i], ((column * 10 + column / 2) * 10 + row % 3) * 100 + 3);
    }
    spy_release_tensor(result);
    int32_t nowhere = -1;
    OK(spy_call(placed, SPY_ARGS(spy_arg_i32("y", 1), spy_arg_i32("x", 1), spy_arg_i32("scale", 0),
                                 spy_out_i32("_result", &nowhere))));
    assert_int_equal(nowhere, 0); // not set: no dimensions
    spy_release_tensor(y);
    spy_release_tensor(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),       cmocka_unit_test(test_struct), cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_native_atomics), cmocka_unit_test(test_hashes), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
