// Calls in which arguments lie across each other, which go tile by tile (src/emit/tile.c), against loops in C: random shapes,
// layouts and element types. All memory that a call can see is compared afterwards, with what lies between and around the
// elements.
//
// Tiles pay on GPUs and in large calls; gpu_tiles_from() asks for them in small ones, on any device. SPY_TEST_SEED: repeat a
// run; SPY_TEST_ONLY: run this call alone, with its explanation.
#include "gpu_test.h"
#include "chance.h"

spy_device *gpu_device;
static spy_module *module;

#define MOST_RANK 4
#define INPUTS 6 // pieces of memory of a call, with its result

// Values are small whole numbers, which each type holds exactly and whose sums, too.
static const struct {
    const char *name, *scalar; // in the module; element type in Slang
    spy_dtype dtype;
    int components;
    uint32_t feature;
} types[] = {
    { "float", "float", SPY_DTYPE_FLOAT32, 1, 0 },      { "half", "half", SPY_DTYPE_FLOAT16, 1, SPY_FEATURE_FLOAT16 },
    { "u8", "uint8_t", SPY_DTYPE_UINT8, 1, SPY_FEATURE_INT8 }, { "i16", "int16_t", SPY_DTYPE_INT16, 1, SPY_FEATURE_INT16 },
    { "int", "int", SPY_DTYPE_INT32, 1, 0 },            { "double", "double", SPY_DTYPE_FLOAT64, 1, SPY_FEATURE_FLOAT64 },
    { "i64", "int64_t", SPY_DTYPE_INT64, 1, SPY_FEATURE_INT64 }, // seven scalars, then vectors
    { "float2", "float2", SPY_DTYPE_FLOAT32, 2, 0 },
    { "float3", "float3", SPY_DTYPE_FLOAT32, 3, 0 },    { "double3", "double3", SPY_DTYPE_FLOAT64, 3, SPY_FEATURE_FLOAT64 },
    { "half4", "half4", SPY_DTYPE_FLOAT16, 4, SPY_FEATURE_FLOAT16 },
};
enum { TYPES = sizeof types / sizeof *types };

static char *source(void) {
    static char text[16384];
    size_t n = 0;
    for (int t = 0; t < TYPES; t++) {
        const char *s = types[t].name, *v = types[t].scalar;
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s copy_%s(%s a) { return a; }\n"
                              "%s two_%s(%s a, %s b) { return %s(a + b + b); }\n"
                              "void three_%s(%s a, inout %s b, out %s c) { c = %s(a + b + b); b = %s(a + b); }\n",
                              v, s, v, v, s, v, v, v, s, v, v, v, v, v);
    }
    snprintf(text + n, sizeof text - n,
             "int placed2(int a, int[2] at) { return a + 1000 * at[0] + at[1]; }\n"
             "int placed3(int a, int[3] at) { return a + 1000 * at[1] + at[2] + 1000000 * at[0]; }\n"
             "[Differentiable] float product(float a, float b) { return a * b + b; }\n"
             "float mixed(half a, float b, uint8_t c) { return float(a) + b + b + float(c); }\n");
    return text;
}

static double half_value(uint16_t h) { // whole numbers from 0 on
    int exponent = h >> 10 & 31;
    double v = 1024 + (h & 1023);
    for (; exponent < 25; exponent++) v /= 2;
    return (h & 0x7fff) == 0 ? 0 : v;
}

static uint16_t half_of(int v) {
    int exponent = 25;
    if (v == 0) return 0;
    for (; v < 1024; v *= 2) exponent--;
    for (; v >= 2048; v /= 2) exponent++;
    return (uint16_t)(exponent << 10 | (v & 1023));
}

static void put(void *memory, spy_dtype dtype, int64_t i, int v) {
    switch (dtype) {
    case SPY_DTYPE_FLOAT32: ((float *)memory)[i] = (float)v; break;
    case SPY_DTYPE_FLOAT64: ((double *)memory)[i] = v; break;
    case SPY_DTYPE_FLOAT16: ((uint16_t *)memory)[i] = half_of(v); break;
    case SPY_DTYPE_UINT8: ((uint8_t *)memory)[i] = (uint8_t)v; break;
    case SPY_DTYPE_INT16: ((int16_t *)memory)[i] = (int16_t)v; break;
    case SPY_DTYPE_INT64: ((int64_t *)memory)[i] = v; break;
    default: ((int32_t *)memory)[i] = v; break;
    }
}

static int get(const void *memory, spy_dtype dtype, int64_t i) {
    switch (dtype) {
    case SPY_DTYPE_FLOAT32: return (int)((const float *)memory)[i];
    case SPY_DTYPE_FLOAT64: return (int)((const double *)memory)[i];
    case SPY_DTYPE_FLOAT16: return (int)half_value(((const uint16_t *)memory)[i]);
    case SPY_DTYPE_UINT8: return ((const uint8_t *)memory)[i];
    case SPY_DTYPE_INT16: return ((const int16_t *)memory)[i];
    case SPY_DTYPE_INT64: return (int)((const int64_t *)memory)[i];
    default: return ((const int32_t *)memory)[i];
    }
}

typedef struct leaf {
    spy_dtype dtype;
    int components;
    spy_tensor *base, *view;
    int64_t strides[MOST_RANK], offset, count; // in scalars; scalars of the storage
    void *memory;                              // what the storage must hold
} leaf;

// Makes memory for the call's elements: its dimensions in a random order, with room between and around. `full`: an output, so that
// no dimension is stretched. `tidy`: rows are aligned and without gaps.
static void lay_out(leaf *l, spy_dtype dtype, int components, uint32_t rank, const int64_t *dims, bool full, bool tidy) {
    uint32_t order[MOST_RANK];
    int64_t total = components, shape_dims[MOST_RANK + 1];
    memset(l, 0, sizeof *l);
    l->dtype = dtype;
    l->components = components;
    for (uint32_t d = 0; d < rank; d++) order[d] = d;
    for (uint32_t d = 0; d + 1 < rank; d++) {
        uint32_t other = d + below(rank - d), swap = order[d];
        order[d] = order[other];
        order[other] = swap;
    }
    for (uint32_t k = rank; k-- > 0;) { // the innermost first
        uint32_t d = order[k];
        bool stretched = !full && below(8) == 0;
        int64_t step = tidy || below(8) ? 1 : 2;
        shape_dims[d] = stretched ? 1 : dims[d];
        l->strides[d] = stretched ? 0 : total * step;
        if (!stretched) total *= dims[d] * step + (tidy ? 0 : below(3));
    }
    int64_t before = tidy ? 0 : below(5), behind = tidy ? 0 : below(5);
    l->offset = before * components;
    l->count = total + (before + behind) * components;
    for (uint32_t d = 0; d < rank && !tidy; d++)
        if (l->strides[d] && below(6) == 0) {
            l->offset += (dims[d] - 1) * l->strides[d];
            l->strides[d] = -l->strides[d];
        }
    l->memory = malloc((size_t)l->count * spy_dtype_size_bytes(dtype));
    assert_non_null(l->memory);
    for (int64_t i = 0; i < l->count; i++) put(l->memory, dtype, i, (int)below(50));
    l->base = MADE(spy_tensor, gpu_tensor(gpu_device, dtype, NULL, NULL, SPY_SHAPE(l->count), l->memory));
    spy_view_desc v;
    memset(&v, 0, sizeof v);
    v.shape.rank = v.strides.rank = rank + (components > 1);
    v.shape.dims[rank] = components;
    v.strides.dims[rank] = 1;
    for (uint32_t d = 0; d < rank; d++) {
        v.shape.dims[d] = shape_dims[d];
        v.strides.dims[d] = shape_dims[d] == 1 ? components : l->strides[d];
    }
    v.offset_elements = l->offset;
    l->view = MADE(spy_tensor, spy_create_view(l->base, &v));
}

static void compare(leaf *l, int call, const char *what) {
    size_t size = (size_t)l->count * spy_dtype_size_bytes(l->dtype);
    void *got = malloc(size);
    assert_non_null(got);
    OK(spy_tensor_read(l->base, got, size));
    if (memcmp(got, l->memory, size) != 0)
        for (int64_t i = 0; i < l->count; i++)
            if (get(got, l->dtype, i) != get(l->memory, l->dtype, i)) {
                free(got);
                fail_msg("call %d, %s: scalar %lld of %lld is %d, expected %d", call, what, (long long)i, (long long)l->count, get(got, l->dtype, i), get(l->memory, l->dtype, i));
            }
    free(got);
}

static void let_go(leaf *l) {
    spy_release_tensor(l->view);
    spy_release_tensor(l->base);
    free(l->memory);
}

// One side of the call: whole tiles of 32 and 64, vectors of four and eight (`tidy`), or any.
static int64_t side(bool tidy) {
    switch (tidy ? below(3) : 3) {
    case 0: return 32 * (1 + (int64_t)below(3));
    case 1: return 16 + 4 * (int64_t)below(30);
    case 2: return 16 + 8 * (int64_t)below(12);
    default: return 16 + (int64_t)below(100);
    }
}

// The scalar of an element, of which `at` has the coordinates.
static int64_t place_of(const leaf *l, uint32_t rank, const int64_t *at, int component) {
    int64_t place = l->offset + component;
    for (uint32_t d = 0; d < rank; d++) place += at[d] * l->strides[d];
    return place;
}

// What the call must leave in memory.
static void expect(int kind, leaf *l, int count, uint32_t rank, const int64_t *dims, bool in_place) {
    int64_t at[MOST_RANK] = { 0 }, elements = 1;
    for (uint32_t d = 0; d < rank; d++) elements *= dims[d];
    for (int64_t e = 0; e < elements; e++) {
        int64_t rest = e;
        for (uint32_t d = rank; d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
        for (int c = 0; c < l[0].components; c++) {
            int v[INPUTS];
            for (int i = 0; i < count; i++) v[i] = get(l[i].memory, l[i].dtype, place_of(&l[i], rank, at, c));
            leaf *out = in_place ? &l[0] : &l[count - 1];
            int result = kind == 0   ? v[0]
                         : kind <= 2 ? v[0] + 2 * v[1]
                         : kind == 4 ? v[0] + 2 * v[1] + v[2]
                                     : v[0] + (int)(rank == 2 ? 1000 * at[0] + at[1] : 1000 * at[1] + at[2] + 1000000 * at[0]);
            put(out->memory, out->dtype, place_of(out, rank, at, c), result);
            if (kind == 2) put(l[1].memory, l[1].dtype, place_of(&l[1], rank, at, c), v[0] + v[1]);
        }
    }
}

// The derivatives of product() in both directions: values a and b, their gradients, the result and its gradient.
static void expect_gradients(bool backward, leaf *l, uint32_t rank, const int64_t *dims) {
    int64_t at[MOST_RANK] = { 0 }, elements = 1;
    for (uint32_t d = 0; d < rank; d++) elements *= dims[d];
    for (int64_t e = 0; e < elements; e++) {
        int64_t rest = e;
        int v[6];
        for (uint32_t d = rank; d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
        for (int i = 0; i < 6; i++) v[i] = get(l[i].memory, l[i].dtype, place_of(&l[i], rank, at, 0));
        if (backward) {
            put(l[2].memory, l[2].dtype, place_of(&l[2], rank, at, 0), v[2] + v[5] * v[1]);
            put(l[3].memory, l[3].dtype, place_of(&l[3], rank, at, 0), v[3] + v[5] * (v[0] + 1));
        } else {
            put(l[4].memory, l[4].dtype, place_of(&l[4], rank, at, 0), v[0] * v[1] + v[1]);
            put(l[5].memory, l[5].dtype, place_of(&l[5], rank, at, 0), v[2] * v[1] + v[3] * (v[0] + 1));
        }
    }
}

static bool has(uint32_t feature) { return !feature || (spy_get_device_info(gpu_device).features & feature); }

static void random_call(int call, size_t *tiled, size_t *by_vectors, bool show) {
    // kinds: copy, two inputs, an inout and an output, numbered elements, mixed types
    static const int args_of[] = { 2, 3, 3, 2, 4 };
    bool tidy = below(3) > 0;
    int scalars = tidy ? 7 : TYPES, kind = (int)below(5), type = (int)below((uint32_t)scalars), count = args_of[kind];
    uint32_t rank = 2 + below(3);
    int64_t dims[MOST_RANK];
    char name[64];
    leaf l[INPUTS];
    spy_arg args[INPUTS];
    size_t n = 0;
    while (!has(types[type].feature)) type = (int)below((uint32_t)scalars);
    if (kind == 4 && !(has(SPY_FEATURE_FLOAT16) && has(SPY_FEATURE_INT8))) kind = 1, count = 3;
    if (kind == 3) {
        type = 4;
        rank = 2 + below(2);
    }
    uint32_t x = below(rank), y = (x + 1 + below(rank - 1)) % rank;
    bool in_place = kind <= 1 && types[type].components == 1 && below(4) == 0;
    for (uint32_t d = 0; d < rank; d++) dims[d] = d == x || d == y ? side(tidy) : 1 + (int64_t)below(3);
    static const char *const names[] = { "copy", "two", "three" };
    if (kind < 3) snprintf(name, sizeof name, "%s_%s", names[kind], types[type].name);
    else if (kind == 3) snprintf(name, sizeof name, "placed%u", rank);
    else snprintf(name, sizeof name, "mixed");
    for (int i = 0; i < count; i++) {
        static const spy_dtype mixed[] = { SPY_DTYPE_FLOAT16, SPY_DTYPE_FLOAT32, SPY_DTYPE_UINT8, SPY_DTYPE_FLOAT32 };
        bool out = i == count - 1 || (kind == 2 && i > 0);
        lay_out(&l[i], kind == 4 ? mixed[i] : types[type].dtype, kind >= 3 ? 1 : types[type].components, rank, dims, out || (in_place && i == 0), tidy && below(12) > 0);
        if (in_place && i == count - 1) args[n++] = spy_arg_tensor("_result", l[0].view);
        else args[n++] = spy_arg_tensor(i == count - 1 && kind != 2 ? "_result" : NULL, l[i].view);
        if (kind == 3 && i == 0) args[n++] = spy_arg_call_id("at");
    }
    if (kind == 3) args[0].name = "a";
    static char text[65536];
    spy_function *f = MADE(spy_function, spy_find_function(module, name));
    spy_args list = { args, n };
    if (!spy_explain_call(f, list, NULL, text, sizeof text)) text[0] = 0;
    if (show) print_message("%s\n", text);
    bool tiles = strstr(text, "\n// tiled, ") != NULL;
    *tiled += tiles;
    *by_vectors += tiles && (strstr(text, " >> 2)") || strstr(text, " >> 3)"));
    if (spy_call(f, list) != SPY_OK) fail_msg("call %d, %s: %s\n%s", call, name, spy_take_error(gpu_device).message, text);
    if (!gpu_other_backend) expect(kind, l, count, rank, dims, in_place);
    for (int i = 0; i < count; i++) {
        if (!gpu_other_backend) compare(&l[i], call, i == count - 1 ? "result" : i ? "second" : "first");
        let_go(&l[i]);
    }
}

static void test_random_calls(void **state) {
    NEEDS_DEVICE();
    if (!gpu_tiles_from) {
        print_message("skipped: this build has no gpu_tiles_from()\n");
        skip();
    }
    const uint32_t most_groups = spy_get_device_info(gpu_device).max_group_count;
    size_t calls = test_count(600), tiled = 0, by_vectors = 0;
    const char *only = getenv("SPY_TEST_ONLY");
    seed();
    uint64_t first = chance_state;
    for (size_t i = 0; i < calls; i++) {
        chance_state = first + i * 7919;
        if (only && strtoul(only, NULL, 0) != i) continue;
        // The null backend of compile_only.c refuses dispatches that are too large even when they are folded.
        gpu_tiles_from(gpu_device, 1, i % 4 ? most_groups : gpu_other_backend ? 32 : 2);
        random_call((int)i, &tiled, &by_vectors, only != NULL);
    }
    gpu_tiles_from(gpu_device, 1, most_groups);
    print_message("%zu calls, %zu tiled, of which %zu by vectors\n", calls, tiled, by_vectors);
    if (only) return;
    if (calls < 60) return; // too few to expect a share
    assert_true(tiled * 3 > calls);
    assert_true(by_vectors * 20 > calls);
}

// Backward and forward-mode calls whose values and gradients all have layouts of their own.
static void test_gradients(void **state) {
    NEEDS_DEVICE();
    if (!gpu_tiles_from) skip();
    size_t calls = test_count(200), tiled = 0;
    seed();
    gpu_tiles_from(gpu_device, 1, spy_get_device_info(gpu_device).max_group_count);
    for (size_t call = 0; call < calls; call++) {
        bool backward = below(3) > 0, tidy = below(2) == 0;
        uint32_t rank = 2 + below(2);
        int64_t dims[MOST_RANK];
        leaf l[6];
        spy_tensor *with[3];
        static char text[65536];
        for (uint32_t d = 0; d < rank; d++) dims[d] = d + 2 >= rank ? side(tidy) : 2;
        for (int i = 0; i < 6; i++) lay_out(&l[i], SPY_DTYPE_FLOAT32, 1, rank, dims, true, tidy);
        for (int i = 0; i < 3; i++) {
            spy_tensor *gradient = l[i == 2 ? 5 : i + 2].view;
            with[i] = MADE(spy_tensor, spy_create_attached(l[i == 2 ? 4 : i].view, gradient, gradient, NULL));
        }
        spy_args args = SPY_ARGS(spy_arg_tensor("a", with[0]), spy_arg_tensor("b", with[1]), spy_arg_tensor("_result", with[2]));
        spy_function *f = MADE(spy_function, spy_find_function(module, "product"));
        spy_call_options options = { .mode = backward ? SPY_CALL_MODE_BACKWARD : SPY_CALL_MODE_FORWARD_DIFF };
        if (spy_explain_call(f, args, &options, text, sizeof text)) tiled += strstr(text, "\n// tiled, ") != NULL;
        if (spy_call_with(f, args, &options) != SPY_OK) fail_msg("call %zu: %s\n%s", call, spy_take_error(gpu_device).message, text);
        if (!gpu_other_backend) expect_gradients(backward, l, rank, dims);
        for (int i = 0; i < 3; i++) spy_release_tensor(with[i]);
        for (int i = 0; i < 6; i++) {
            static const char *const names[] = { "a", "b", "gradient of a", "gradient of b", "result", "gradient of the result" };
            if (!gpu_other_backend) compare(&l[i], (int)call, names[i]);
            let_go(&l[i]);
        }
    }
    print_message("%zu calls, %zu tiled\n", calls, tiled);
    assert_true(calls < 10 || tiled * 3 > calls);
}

// The way is taken where it pays, and nowhere else.
static void test_choice(void **state) {
    NEEDS_DEVICE();
    if (!gpu_tiles_from) skip();
    static const struct {
        int64_t dims[2];
        uint64_t from;
        bool turned, tiles;
    } cases[] = {
        { { 64, 64 }, 4096, true, true },   { { 64, 64 }, 4097, true, false }, { { 64, 64 }, 1, false, false },
        { { 15, 4000 }, 1, true, false },   { { 4000, 15 }, 1, true, false },  { { 16, 16 }, 1, true, true },
        { { 33, 47 }, 1, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static char text[65536];
        int64_t h = cases[i].dims[0], w = cases[i].dims[1];
        gpu_tiles_from(gpu_device, cases[i].from, spy_get_device_info(gpu_device).max_group_count);
        spy_tensor *a = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, cases[i].turned ? SPY_SHAPE(w, h) : SPY_SHAPE(h, w), NULL));
        spy_tensor *t = cases[i].turned ? MADE(spy_tensor, spy_create_transpose(a, SPY_DIMS(1, 0))) : NULL;
        spy_tensor *c = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(h, w), NULL));
        spy_explain_call(MADE(spy_function, spy_find_function(module, "copy_float")),
                         SPY_ARGS(spy_arg_tensor("a", t ? t : a), spy_arg_tensor("_result", c)), NULL, text, sizeof text);
        if ((strstr(text, "\n// tiled, ") != NULL) != cases[i].tiles) fail_msg("case %zu: %s", i, text);
        spy_release_tensor(t);
        spy_release_tensor(a);
        spy_release_tensor(c);
    }
}

// Each kernel is valid SPIR-V. Runs last.
static void test_spirv(void **state) {
    NEEDS_DEVICE();
    if (!gpu_tiles_from) skip();
    if (gpu_is_cuda()) {
        print_message("skipped: not a Vulkan device\n");
        skip();
    }
    gpu_check_spirv(gpu_dump_folder(), 4);
}

static int setup(void **state) {
    (void)state;
    return gpu_setup_dumped("tiles", source(), &module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_random_calls),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests(tests, setup, gpu_teardown_dumped);
}
