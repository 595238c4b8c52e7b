// Call groups and thread groups of calls on a real device, against plain C: where each element is, in which group and at which
// place of it, over random shapes and tiles; results through views; groupshared memory; call information in wide kernels.
// With SPY_TEST_VALIDATION=1 each message of the validation layer is a failure.
#include "gpu_test.h"
#include "quiet_device.h"
#include "chance.h"

spy_device *gpu_device;

static const char source[] =
    "import slangpy;\n"
    // dimensionality, then id, group and place in the group, each as one number of eight bits a dimension.
    "struct Where { uint rank; uint id; uint group; uint place; }\n"
    "uint pack(CallShapeInfo c) { uint v = 0; for (int d = 0; d < c.dimensionality; d++) v = v * 256 + "
    "uint(c.shape[d]); return v; }\n"
    "Where where(uint x) { Where w; w.rank = uint(get_call_id().dimensionality); w.id = "
    "pack(get_call_id());\n"
    "  w.group = pack(get_call_group_id()); w.place = pack(get_call_group_thread_id()); return w; }\n"
    "uint plus(uint a, uint b, int4 id, int thread) { return a * 3 + b + uint(id.x + 7 * id.y + 49 * id.z + "
    "343 * id.w) + 100000 * uint(thread); }\n"
    "float flat_id(float x) { return x + 1000 * float(get_call_id().shape[0]); }\n"
    "float pair_id(float x) { CallShapeInfo c = get_call_id(); return x + float(c.shape[0] * 1000 + "
    "c.shape[1]); }\n"
    "float3 flat_id3(float3 x) { return x + float(get_call_id().shape[0]); }\n"
    "uint8_t flat_id8(uint8_t x) { return uint8_t(int(x) + get_call_id().shape[0]); }\n"
    "float plain_add(float x, float y) { return x + y; }\n"
    "void bump(inout uint x) { x += 1; }\n"
    "void tally(AtomicTensor<uint, 1> o) { o.add(0, 1u); }\n"
    "uint fill(uint x, AtomicTensor<uint, 1> o) { o.add(0, 1u); return x + 1; }\n"
    // Each group of 64 elements sums what its elements bring; sizes are multiples of it.
    "groupshared uint parts[64];\n"
    "uint share(uint x, uint place) { parts[place] = x; GroupMemoryBarrierWithGroupSync();\n"
    "  uint sum = 0; for (uint i = 0; i < 64; i++) sum += parts[i]; GroupMemoryBarrierWithGroupSync(); "
    "return sum; }\n"
    "uint tile_sum(uint x) { CallShapeInfo p = get_call_group_thread_id(); return share(x, uint(p.shape[0] * "
    "16 + p.shape[1])); }\n"
    "uint flat_sum(uint x, int thread) { return share(x, uint(thread) % 64); }\n";

static spy_module *open_module(void) {
    return quiet_open("grouping", source);
}

static spy_function *fn(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static spy_tensor *tensor(spy_dtype dtype, const char *type, spy_module *m, spy_shape shape,
                          const void *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, dtype, type, m, shape, data));
}

// >>random shapes and tiles

typedef struct tiling {
    spy_shape shape;
    int64_t group[SPY_MAX_RANK]; // of each dimension of the call
    spy_call_options options;
} tiling;

static void shape_text(const char *what, const int64_t *dims, uint32_t rank) {
    print_error("%s (", what);
    for (uint32_t d = 0; d < rank; d++) print_error(d ? ", %lld" : "%lld", (long long)dims[d]);
    print_error(")\n");
}

static tiling random_tiling(void) {
    static const uint32_t largest[4] = { 200, 40, 14, 8 };
    tiling t;
    memset(&t, 0, sizeof t);
    t.shape.rank = 1 + below(4);
    for (uint32_t d = 0; d < t.shape.rank; d++) {
        t.shape.dims[d] = 1 + below(largest[t.shape.rank - 1]);
        t.group[d] = 1;
    }
    uint32_t way = below(4);
    if (way < 2) { // call groups, of the last dimensions
        uint32_t rank = 1 + below(t.shape.rank);
        t.options.call_group_shape.rank = rank;
        for (uint32_t d = 0; d < rank; d++)
            t.options.call_group_shape.dims[d] = t.group[t.shape.rank - rank + d] =
                1 + below(below(8) ? 5 : 70);
    }
    if (way == 1 ||
        way == 2) { // thread groups; those of two or three dimensions are tiles when nothing else says so
        int dims = 1 + (int)below(3);
        uint64_t yz = 1;
        for (int i = 0; i < dims; i++) t.options.thread_group_size[i] = 1 + below(i ? 5 : 40);
        for (int i = 1; i < dims; i++) yz *= t.options.thread_group_size[i];
        for (uint32_t i = 0; way == 2 && yz > 1 && i < 3 && i < t.shape.rank; i++)
            t.group[t.shape.rank - 1 - i] =
                t.options.thread_group_size[i] ? t.options.thread_group_size[i] : 1;
    }
    return t;
}

static void check_where(spy_module *m, const tiling *t) {
    int64_t count = 1;
    for (uint32_t d = 0; d < t->shape.rank; d++) count *= t->shape.dims[d];
    spy_tensor *x = tensor(SPY_DTYPE_UINT32, NULL, NULL, t->shape, NULL),
               *w = tensor(SPY_DTYPE_DEFAULT, "Where", m, t->shape, NULL);
    uint32_t(*got)[4] = malloc((size_t)count * sizeof *got);
    memset(got, 0xee, (size_t)count * sizeof *got);
    OK(spy_tensor_write(w, got, (size_t)count * sizeof *got));
    OK(spy_call_with(fn(m, "where"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", w)),
                     &t->options));
    OK(spy_tensor_read(w, got, (size_t)count * sizeof *got));
    size_t wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at[SPY_MAX_RANK], rest = i;
        uint32_t id = 0, group = 0, place = 0;
        for (uint32_t d = t->shape.rank; d-- > 0; rest /= t->shape.dims[d]) at[d] = rest % t->shape.dims[d];
        for (uint32_t d = 0; d < t->shape.rank; d++) {
            id = id * 256 + (uint32_t)at[d];
            group = group * 256 + (uint32_t)(at[d] / t->group[d]);
            place = place * 256 + (uint32_t)(at[d] % t->group[d]);
        }
        bool good = got[i][0] == t->shape.rank && got[i][1] == id && got[i][2] == group && got[i][3] == place;
        if (!good && wrong++ == 0)
            print_error("element %lld: rank %u, id %x, group %x, place %x; expected %u, %x, %x, %x\n",
                        (long long)i, got[i][0], got[i][1], got[i][2], got[i][3], t->shape.rank, id, group,
                        place);
    }
    if (wrong) {
        shape_text("call", t->shape.dims, t->shape.rank);
        shape_text("group", t->group, t->shape.rank);
    }
    assert_int_equal(wrong, 0);
    free(got);
    spy_release_tensor(x);
    spy_release_tensor(w);
}

static void test_where(void **state) {
    (void)state;
    spy_module *m = open_module();
    seed();
    for (size_t round = 0; round < test_count(500); round++) {
        tiling t = random_tiling();
        check_where(m, &t);
        for (uint32_t d = 0; d < t.shape.rank; d++)
            t.shape.dims[d] = 1 + t.shape.dims[d] / 2; // the same kernel
        check_where(m, &t);
    }
    quiet_close();
}

// a * 3 + b + call_id + thread_id, where a, b and the result are views: of every second element, backwards, broadcast.
static void test_views(void **state) {
    (void)state;
    spy_module *m = open_module();
    seed();
    for (size_t round = 0; round < test_count(300); round++) {
        tiling t = random_tiling();
        uint32_t rank = t.shape.rank;
        int64_t count = 1, base[3][SPY_MAX_RANK], step[3][SPY_MAX_RANK];
        spy_tensor *whole[3], *view[3];
        uint32_t *data[3];
        for (uint32_t d = 0; d < rank; d++) count *= t.shape.dims[d];
        for (int k = 0; k < 3; k++) {
            spy_shape big = t.shape;
            int64_t elements = 1;
            for (uint32_t d = 0; d < rank; d++) {
                uint32_t way = below(k < 2 ? 4 : 3); // whole, every second, backwards, broadcast
                step[k][d] = way == 1 ? 2 : way == 2 ? -1 : way == 3 ? 0 : 1;
                base[k][d] = way == 2 ? t.shape.dims[d] - 1 : 0;
                big.dims[d] = way == 1 ? 2 * t.shape.dims[d] : way == 3 ? 1 : t.shape.dims[d];
                elements *= big.dims[d];
            }
            data[k] = (uint32_t *)malloc((size_t)elements * 4);
            for (int64_t i = 0; i < elements; i++) data[k][i] = (uint32_t)next_random();
            whole[k] = view[k] = tensor(SPY_DTYPE_UINT32, NULL, NULL, big, data[k]);
            int64_t stride = 1;
            for (uint32_t d = rank; d-- > 0; stride *= big.dims[d]) {
                if (step[k][d] != 1 && step[k][d] != 0)
                    view[k] = MADE(spy_tensor,
                                   spy_create_slice(view[k], d, SPY_INDEX_NONE, SPY_INDEX_NONE, step[k][d]));
                step[k][d] *= stride;
                base[k][d] *= stride;
            }
        }
        OK(spy_call_with(fn(m, "plus"),
                         SPY_ARGS(spy_arg_tensor("a", view[0]), spy_arg_tensor("b", view[1]),
                                  spy_arg_call_id("id"), spy_arg_thread_id("thread"),
                                  spy_arg_tensor("_result", view[2])),
                         &t.options));
        uint32_t *got = (uint32_t *)malloc((size_t)count * 4);
        OK(spy_tensor_read(view[2], got, (size_t)count * 4));
        size_t wrong = 0;
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i, at[2] = { 0, 0 }, group = 0, place = 0, groups = 1, members = 1;
            uint32_t id = 0, factor = 1;
            for (uint32_t d = rank; d-- > 0; rest /= t.shape.dims[d], factor *= 7) {
                int64_t c = rest % t.shape.dims[d];
                id += factor * (uint32_t)c;
                group += groups * (c / t.group[d]);
                place += members * (c % t.group[d]);
                groups *= (t.shape.dims[d] + t.group[d] - 1) / t.group[d];
                members *= t.group[d];
                for (int k = 0; k < 2; k++) at[k] += base[k][d] + c * step[k][d];
            }
            // Threads are numbered group by group.
            uint32_t thread = (uint32_t)(group * members + place);
            wrong += got[i] != data[0][at[0]] * 3 + data[1][at[1]] + id + 100000 * thread;
        }
        if (wrong) {
            shape_text("call", t.shape.dims, rank);
            shape_text("group", t.group, rank);
        }
        assert_int_equal(wrong, 0);
        free(got);
        for (int k = 0; k < 3; k++) {
            if (view[k] != whole[k]) spy_release_tensor(view[k]);
            spy_release_tensor(whole[k]);
            free(data[k]);
        }
    }
    quiet_close();
}

// >>groupshared memory

static void test_groupshared(void **state) {
    enum { H = 12, W = 48, N = 640 };
    (void)state;
    spy_module *m = open_module();
    seed();
    static uint32_t x[H][W], got[H][W], line[N], sums[N];
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) x[i][j] = (uint32_t)next_random();
    for (int i = 0; i < N; i++) line[i] = (uint32_t)next_random();
    spy_tensor *a = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(H, W), x),
               *r = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(H, W), NULL);
    spy_tensor *b = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(N), line),
               *s = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(N), NULL);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    for (int way = 0; way < 2; way++) { // tiles of 4 x 16 by thread_group_size alone, and by call_group_shape
        o.thread_group_size[0] = way ? 64 : 16;
        o.thread_group_size[1] = way ? 0 : 4;
        if (way) o.call_group_shape = SPY_SHAPE(4, 16);
        OK(spy_tensor_fill(r, 0));
        OK(spy_call_with(fn(m, "tile_sum"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", r)),
                         &o));
        OK(spy_tensor_read(r, got, sizeof got));
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++) {
                uint32_t sum = 0;
                for (int k = 0; k < 64; k++) sum += x[i / 4 * 4 + k / 16][j / 16 * 16 + k % 16];
                assert_int_equal(got[i][j], sum);
            }
    }
    memset(&o, 0, sizeof o);
    o.thread_group_size[0] = 64;
    OK(spy_call_with(
        fn(m, "flat_sum"),
        SPY_ARGS(spy_arg_tensor("x", b), spy_arg_thread_id("thread"), spy_arg_tensor("_result", s)), &o));
    OK(spy_tensor_read(s, sums, sizeof sums));
    for (int i = 0; i < N; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < 64; k++) sum += line[i / 64 * 64 + k];
        assert_int_equal(sums[i], sum);
    }
    quiet_close();
}

// >>one element, whatever the group

static void test_single(void **state) {
    (void)state;
    spy_module *m = open_module();
    static const uint32_t sizes[5][3] = { { 64, 1, 1 }, { 8, 8, 1 }, { 4, 4, 4 }, { 1, 32, 0 }, { 1, 1, 1 } };
    uint32_t zero = 0, count, expected = 0;
    spy_tensor *o = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(1), &zero),
               *one = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(1), &zero);
    spy_tensor *square = tensor(SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(1, 1), &zero);
    for (int k = 0; k < 5; k++) {
        spy_call_options options;
        memset(&options, 0, sizeof options);
        memcpy(options.thread_group_size, sizes[k], sizeof sizes[k]);
        OK(spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", o)), &options));
        OK(spy_call_with(
            fn(m, "fill"),
            SPY_ARGS(spy_arg_tensor("x", one), spy_arg_tensor("o", o), spy_arg_tensor("_result", square)),
            &options));
        options.thread_count = SPY_SHAPE(1);
        OK(spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", o)), &options));
        options.thread_count = SPY_SHAPE(3, 5);
        OK(spy_call_with(fn(m, "tally"), SPY_ARGS(spy_arg_tensor("o", o)), &options));
        OK(spy_tensor_read(o, &count, sizeof count));
        expected += 3 + 15;
        assert_int_equal(count, expected);
    }
    quiet_close();
}

// >>call information in kernels that give a thread several elements

static void check_wide(spy_module *m, int64_t n) {
    float *x = (float *)malloc((size_t)n * 12), *got = (float *)malloc((size_t)n * 12);
    for (int64_t i = 0; i < 3 * n; i++) x[i] = (float)(i % 7);
    spy_tensor *a = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(n), x),
               *r = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(n), NULL);
    OK(spy_call(fn(m, "flat_id"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", r))));
    OK(spy_tensor_read(r, got, (size_t)n * 4));
    size_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += got[i] != x[i] + 1000 * (float)i;
    assert_int_equal(wrong, 0);
    spy_release_tensor(a);
    spy_release_tensor(r);
    a = tensor(SPY_DTYPE_DEFAULT, "float3", NULL, SPY_SHAPE(n), x);
    r = tensor(SPY_DTYPE_DEFAULT, "float3", NULL, SPY_SHAPE(n), NULL);
    OK(spy_call(fn(m, "flat_id3"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", r))));
    OK(spy_tensor_read(r, got, (size_t)n * 12));
    for (int64_t i = 0; i < 3 * n; i++) wrong += got[i] != x[i] + (float)(i / 3);
    assert_int_equal(wrong, 0);
    spy_release_tensor(a);
    spy_release_tensor(r);
    uint8_t *bytes = (uint8_t *)x, *back = (uint8_t *)got;
    for (int64_t i = 0; i < n; i++) bytes[i] = (uint8_t)next_random();
    a = tensor(SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(n), bytes);
    r = tensor(SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(n), NULL);
    OK(spy_call(fn(m, "flat_id8"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", r))));
    OK(spy_tensor_read(r, back, (size_t)n));
    for (int64_t i = 0; i < n; i++) wrong += back[i] != (uint8_t)(bytes[i] + i);
    assert_int_equal(wrong, 0);
    spy_release_tensor(a);
    spy_release_tensor(r);
    free(x);
    free(got);
}

static void test_wide(void **state) {
    enum { H = 50, W = 64 };
    (void)state;
    spy_module *m = open_module();
    static const int64_t sizes[] = { 1, 3, 4, 7, 8, 9, 1001, 4096, 100003 };
    seed();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_wide(m, sizes[i]);
    // Rank 2, collapsed to one dimension; of rows that a row is broadcast to; and transposed.
    static float x[H][W], got[H][W];
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) x[i][j] = (float)(i * 3 + j);
    spy_tensor *a = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(H, W), x),
               *r = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(H, W), NULL);
    spy_tensor *row = MADE(spy_tensor, spy_create_select(a, 0, 5)),
               *t = MADE(spy_tensor, spy_create_transpose(a, SPY_DIMS(1, 0)));
    OK(spy_call(fn(m, "pair_id"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", r))));
    OK(spy_tensor_read(r, got, sizeof got));
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) assert_true(got[i][j] == x[i][j] + (float)(i * 1000 + j));
    OK(spy_call(fn(m, "pair_id"), SPY_ARGS(spy_arg_tensor("x", row), spy_arg_tensor("_result", r))));
    OK(spy_tensor_read(r, got, sizeof got));
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) assert_true(got[i][j] == x[5][j] + (float)(i * 1000 + j));
    spy_tensor *made = NULL;
    OK(spy_call(fn(m, "pair_id"), SPY_ARGS(spy_arg_tensor("x", t), spy_out_tensor("_result", &made))));
    OK(spy_tensor_read(made, got, sizeof got));
    const float *flat = &got[0][0];
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++) assert_true(flat[i * H + j] == x[j][i] + (float)(i * 1000 + j));
    quiet_close();
}

// >>errors

static void test_errors(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *f = fn(m, "plain_add");
    spy_tensor *x = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(5, 7), NULL),
               *r = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(5, 7), NULL);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", r));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.call_group_shape = SPY_SHAPE(1, 2, 3);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_with(f, args, &o), "spy_call_with", "plain_add",
          "call_group_shape has 3 dimensions, the call has 2");
    o.call_group_shape = SPY_SHAPE(2, 0);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(f, args, &o), "call_group_shape", "1 to 65536");
    o.call_group_shape = SPY_SHAPE(2, -3);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(f, args, &o), "call_group_shape");
    o.call_group_shape = SPY_SHAPE(65537, 1);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(f, args, &o), "call_group_shape");
    o.call_group_shape = SPY_SHAPE(65536, 65536);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(f, args, &o), "call_group_shape", "2^30");
    o.call_group_shape.rank = SPY_MAX_RANK + 1;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(f, args, &o), "call_group_shape", "SPY_MAX_RANK");
    // Groups that reach far beyond the call: more threads than can be counted.
    spy_tensor *tall = tensor(SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(100000, 1), NULL);
    o.call_group_shape = SPY_SHAPE(1, 65536);
    FAILS(
        SPY_ERROR_OUT_OF_RANGE,
        spy_call_with(
            f, SPY_ARGS(spy_arg_tensor("x", tall), spy_arg_f32("y", 1), spy_arg_tensor("_result", tall)), &o),
        "call groups", "(100000, 1)");
    // A large tile over a small call is well.
    OK(spy_tensor_fill(x, 2));
    o.call_group_shape = SPY_SHAPE(64, 128);
    OK(spy_call_with(f, args, &o));
    float got[35];
    OK(spy_tensor_read(r, got, sizeof got));
    for (int i = 0; i < 35; i++) assert_true(got[i] == 3);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where),  cmocka_unit_test(test_views), cmocka_unit_test(test_groupshared),
        cmocka_unit_test(test_single), cmocka_unit_test(test_wide),  cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
