// Tensors that a function takes whole, atomics on them, and pointers.
#include "kinds.h"

// >>whole tensors

// A view and where its elements lie in the storage, counted along.
typedef struct view {
    spy_tensor *tensor;
    spy_shape shape, strides;
    int64_t offset;
} view;

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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(test_whole_reads), TEST(test_whole_writes), TEST(test_whole_vectors), TEST(test_whole_types),
        TEST(test_whole_forms), TEST(test_atomics), TEST(test_pointers), TEST(test_addresses),
    };
    return kinds_run(tests, sizeof tests / sizeof *tests, argc, argv);
}
