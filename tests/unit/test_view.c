// Views on the null backend: indexing, reshapes, other element types, and random ones against tests/common/view_model.h.
#include "data_test.h"
#include "view_model.h"

static const char source[] = "struct Two { float2 a; float b[2]; }\n"
                             "struct Mixed { float a; int b; }\n"
                             "struct Deep { Two t; float3x2 m; }\n"
                             "struct Flags { bool a; bool b[2]; }\n"
                             "struct Gap { uint8_t a; uint8_t3 b; uint8_t c; }\n"
                             "enum Kind { A, B }\n"
                             "float add(float a, float b) { return a + b; }\n"
                             "float f(Two a, Mixed b, Deep c, Flags d, Gap e) { return 0; }\n";

static int setup(void **state) {
    (void)state;
    return data_open(source, data_defaults());
}

static int32_t iota[120];

static void expect(spy_tensor *t, spy_shape shape, const int32_t *values, int line) {
    spy_tensor_info info = spy_get_tensor_info(t);
    int32_t got[120];
    if (info.shape.rank != shape.rank || memcmp(info.shape.dims, shape.dims, shape.rank * sizeof *shape.dims) != 0)
        fail_msg("line %d: the shape differs", line);
    GOOD(spy_tensor_read(t, got, info.host_size_bytes));
    for (int64_t i = 0; i < info.element_count; i++)
        if (got[i] != values[i]) fail_msg("line %d: element %d is %d, expected %d", line, (int)i, (int)got[i], (int)values[i]);
    spy_release_tensor(t);
}
#define EXPECT(t, shape, ...)                                                                                 \
    do {                                                                                                      \
        const int32_t v_[] = { __VA_ARGS__, 0 };                                                              \
        expect(MADE(t), (shape), v_, __LINE__);                                                               \
    } while (0)

// Rows are what Python 3.11 prints for list(range(10))[start:stop:step].
static void test_slices(void **state) {
    (void)state;
    enum { NONE = -1000 };
    static const struct {
        int start, stop, step, count;
        int32_t list[10];
    } rows[] = {
        { NONE, NONE, 1, 10, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
        { NONE, NONE, -1, 10, { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 } },
        { 2, 8, 3, 2, { 2, 5 } },
        { 2, 9, 3, 3, { 2, 5, 8 } },
        { -3, NONE, 1, 3, { 7, 8, 9 } },
        { -3, -1, 1, 2, { 7, 8 } },
        { 8, 2, -3, 2, { 8, 5 } },
        { 8, 1, -3, 3, { 8, 5, 2 } },
        { 8, NONE, -3, 3, { 8, 5, 2 } },
        { NONE, 6, -1, 3, { 9, 8, 7 } },
        { 100, -100, -4, 3, { 9, 5, 1 } },
        { -100, 100, 4, 3, { 0, 4, 8 } },
        { -100, 3, 1, 3, { 0, 1, 2 } },
        { 100, NONE, 1, 0, { 0 } },
        { -100, NONE, -1, 0, { 0 } },
        { 5, 5, 1, 0, { 0 } },
        { 5, 5, -1, 0, { 0 } },
        { 3, 5, -1, 0, { 0 } },
        { 5, 3, 1, 0, { 0 } },
        { 0, NONE, -1, 1, { 0 } },
        { -1, 0, -5, 2, { 9, 4 } },
    };
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(10), iota);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t start = rows[i].start == NONE ? SPY_INDEX_NONE : rows[i].start, stop = rows[i].stop == NONE ? SPY_INDEX_NONE : rows[i].stop;
        expect(MADE(spy_create_slice(t, 0, start, stop, rows[i].step)), SPY_SHAPE(rows[i].count), rows[i].list, (int)i);
        expect(MADE(spy_create_indexed(t, SPY_INDICES(spy_index_range(start, stop, rows[i].step)))), SPY_SHAPE(rows[i].count), rows[i].list, (int)i);
    }
    EXPECT(spy_create_slice(t, 0, SPY_INDEX_NONE, SPY_INDEX_NONE, INT64_MIN), SPY_SHAPE(1), 9);
    EXPECT(spy_create_slice(t, 0, INT64_MAX, INT64_MIN + 1, -9), SPY_SHAPE(2), 9, 0);
    EXPECT(spy_create_slice(t, 0, INT64_MIN + 1, INT64_MAX, INT64_MAX), SPY_SHAPE(1), 0);
    spy_release_tensor(t);
}

static void test_indexed(void **state) {
    (void)state;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(2, 3, 4), iota); // [i][j][k] = 12 i + 4 j + k
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_at(1), spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1), spy_index_at(-1))), SPY_SHAPE(3), 23, 19, 15);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_rest(), spy_index_at(2))), SPY_SHAPE(2, 3), 2, 6, 10, 14, 18, 22);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_at(0), spy_index_rest(), spy_index_range(3, 0, -2))), SPY_SHAPE(3, 2), 3, 1, 7, 5, 11, 9);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_new(), spy_index_at(1), spy_index_at(1), spy_index_new())), SPY_SHAPE(1, 1, 4), 16, 17, 18, 19);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_at(1), spy_index_at(2), spy_index_at(3))), data_rank0(), 23);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_at(1), spy_index_at(2), spy_index_rest(), spy_index_at(3))), data_rank0(), 23);
    spy_indices nothing = { NULL, 0 };
    expect(MADE(spy_create_indexed(t, nothing)), SPY_SHAPE(2, 3, 4), iota, __LINE__);
    EXPECT(spy_create_indexed(t, SPY_INDICES(spy_index_all(), spy_index_range(1, 1, 1))), SPY_SHAPE(2, 0, 4), 0);
    // What can go wrong.
    assert_null(spy_create_indexed(t, SPY_INDICES(spy_index_at(0), spy_index_at(0), spy_index_all(), spy_index_at(0))));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_create_indexed", "3 dimensions", "4");
    assert_null(spy_create_indexed(t, SPY_INDICES(spy_index_rest(), spy_index_at(4))));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_create_indexed", "index 4", "dimension 2", "4");
    assert_null(spy_create_indexed(t, SPY_INDICES(spy_index_at(-3))));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "index -3", "dimension 0");
    assert_null(spy_create_indexed(t, SPY_INDICES(spy_index_rest(), spy_index_at(0), spy_index_rest())));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "once");
    assert_null(spy_create_indexed(t, SPY_INDICES(spy_index_all(), spy_index_range(0, 1, 0))));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "step of 0", "dimension 1");
    assert_null(spy_create_slice(t, 1, 0, 1, 0));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_slice", "step of 0");
    assert_null(spy_create_slice(t, 3, 0, 1, 1));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_create_slice", "dimension 3");
    spy_index many[9];
    for (int i = 0; i < 9; i++) many[i] = spy_index_new();
    spy_indices nine = { many, 9 }, six = { many, 6 }, at_null = { NULL, 2 };
    assert_null(spy_create_indexed(t, nine));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "rank 12", "8");
    assert_null(spy_create_indexed(t, six));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "rank 9");
    assert_null(spy_create_indexed(t, at_null));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "2 items at NULL");
    memset(&many[0], 0, sizeof many[0]); // all zero is index 0
    spy_indices zeroed = { many, 1 };
    spy_tensor *first = spy_create_indexed(t, zeroed), *same = spy_create_select(t, 0, 0);
    spy_tensor_info a = spy_get_tensor_info(first), b = spy_get_tensor_info(same);
    assert_non_null(first);
    assert_memory_equal(&a.shape, &b.shape, sizeof a.shape);
    assert_int_equal(a.offset_elements, b.offset_elements);
    spy_release_tensor(first);
    spy_release_tensor(same);
    many[0].kind = (spy_index_kind)9;
    spy_indices strange = { many, 1 };
    assert_null(spy_create_indexed(t, strange));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "item 0", "kind 9");
    assert_null(spy_create_indexed(NULL, nothing));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_indexed", "NULL");
    spy_release_tensor(t);
}

static void test_reshape(void **state) {
    (void)state;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(2, 3, 4), iota), *turned = MADE(spy_create_transpose(t, SPY_DIMS(2, 0, 1)));
    spy_tensor *every = MADE(spy_create_slice(t, 2, 0, 4, 2)), *empty = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(3, 0), NULL);
    expect(MADE(spy_create_reshape(t, SPY_SHAPE(4, -1))), SPY_SHAPE(4, 6), iota, __LINE__);
    EXPECT(spy_create_reshape(turned, SPY_SHAPE(2, 2, 6)), SPY_SHAPE(2, 2, 6), 0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23);
    EXPECT(spy_create_reshape(every, SPY_SHAPE(12)), SPY_SHAPE(12), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    EXPECT(spy_create_reshape(empty, SPY_SHAPE(0, 7)), SPY_SHAPE(0, 7), 0);
    EXPECT(spy_create_reshape(MADE(spy_create_slice(t, 2, 3, 4, 1)), SPY_SHAPE(6)), SPY_SHAPE(6), 3, 7, 11, 15, 19, 23);
    assert_null(spy_create_reshape(turned, SPY_SHAPE(24)));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_create_reshape", "(4, 2, 3)", "(1, 12, 4)", "(24,)", "copy", "dimension 0", "spy_tensor_copy");
    assert_null(spy_create_reshape(t, SPY_SHAPE(5, 5)));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "(5, 5)", "24", "(2, 3, 4)");
    assert_null(spy_create_reshape(t, SPY_SHAPE(5, -1)));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "(5, -1)", "24");
    assert_null(spy_create_reshape(t, SPY_SHAPE(-1, 2, -1)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "-1");
    assert_null(spy_create_reshape(t, SPY_SHAPE(-2, 12)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_reshape");
    assert_null(spy_create_reshape(empty, SPY_SHAPE(0, -1)));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "anything");
    assert_null(spy_create_reshape(empty, SPY_SHAPE(2, -1, 0)));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "anything");
    spy_shape nine;
    memset(&nine, 0, sizeof nine);
    nine.rank = 9;
    assert_null(spy_create_reshape(t, nine));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "8");
    spy_release_tensor(t);
    spy_release_tensor(turned);
    spy_release_tensor(every);
    spy_release_tensor(empty);
}

// Other element types show the same bytes: reads of both are equal.
static void same_bytes(spy_tensor *a, spy_tensor *b, spy_shape shape, const char *type) {
    static char x[4096], y[4096];
    spy_tensor_info info = spy_get_tensor_info(b);
    size_t size = spy_get_tensor_info(a).host_size_bytes;
    assert_string_equal(info.type, type);
    assert_int_equal(info.shape.rank, shape.rank);
    assert_memory_equal(info.shape.dims, shape.dims, shape.rank * sizeof *shape.dims);
    assert_int_equal(info.host_size_bytes, size);
    GOOD(spy_tensor_read(a, x, size));
    GOOD(spy_tensor_read(b, y, size));
    assert_memory_equal(x, y, size);
    spy_release_tensor(b);
}

static void test_view_as(void **state) {
    (void)state;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(4, 6), iota);
    same_bytes(t, MADE(spy_create_view_as(t, "float", NULL)), SPY_SHAPE(4, 6), "float");
    same_bytes(t, MADE(spy_create_view_as(t, "float3", NULL)), SPY_SHAPE(4, 2), "float3");
    same_bytes(t, MADE(spy_create_view_as(t, "uint8_t", NULL)), SPY_SHAPE(4, 24), "uint8_t");
    same_bytes(t, MADE(spy_create_view_as(t, "half4", NULL)), SPY_SHAPE(4, 3), "half4");
    same_bytes(t, MADE(spy_create_view_as(t, "Mixed", module)), SPY_SHAPE(4, 3), "Mixed");
    same_bytes(t, MADE(spy_create_view_as(t, "int[6]", NULL)), SPY_SHAPE(4, 1), "int[6]");
    spy_tensor *turned = MADE(spy_create_transpose(t, SPY_DIMS(1, 0))), *left = MADE(spy_create_slice(t, 1, 0, 4, 1));
    same_bytes(turned, MADE(spy_create_view_as(turned, "uint", NULL)), SPY_SHAPE(6, 4), "uint");
    same_bytes(left, MADE(spy_create_view_as(left, "float2", NULL)), SPY_SHAPE(4, 2), "float2");
    spy_tensor *back = MADE(spy_create_slice(t, 0, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
    same_bytes(back, MADE(spy_create_view_as(back, "float2", NULL)), SPY_SHAPE(4, 3), "float2");
    spy_tensor *one = MADE(spy_create_indexed(t, SPY_INDICES(spy_index_at(0), spy_index_at(1))));
    same_bytes(one, MADE(spy_create_view_as(one, "float", NULL)), data_rank0(), "float");
    // What cannot be.
    assert_null(spy_create_view_as(turned, "float2", NULL));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_create_view_as", "int has 4 bytes", "float2 has 8", "last dimension", "6 apart");
    assert_null(spy_create_view_as(t, "float4x4", NULL));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "6 elements", "4 bytes", "float4x4", "64");
    assert_null(spy_create_view_as(one, "float2", NULL));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "single element", "same size");
    assert_null(spy_create_view_as(one, "double", NULL)); // its alignment is looked at first: element 1 lies at byte 4
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "byte 4", "double", "multiple of 8");
    spy_tensor *odd = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(3, 3), iota), *front = MADE(spy_create_slice(odd, 1, 0, 2, 1));
    assert_null(spy_create_view_as(front, "float2", NULL));
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "dimension 0", "12 bytes", "float2", "8");
    assert_null(spy_create_view_as(t, "Mixed", NULL));
    ERROR_IS(SPY_ERROR_NOT_FOUND, "Mixed", "module");
    assert_null(spy_create_view_as(t, NULL, NULL));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "NULL");
    spy_tensor *all[] = { t, turned, left, back, one, odd, front };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spy_release_tensor(all[i]);
}

static void test_flat(void **state) {
    (void)state;
    static const struct {
        const char *type, *scalar;
        spy_shape shape; // of a tensor of (2, 3) elements
        size_t scalars;
    } rows[] = {
        { "float3", "float", { 3, { 2, 3, 3 } }, 3 },
        { "double4x3", "double", { 4, { 2, 3, 4, 3 } }, 12 },
        { "int[5]", "int", { 3, { 2, 3, 5 } }, 5 },
        { "half2[3][2]", "half", { 5, { 2, 3, 3, 2, 2 } }, 12 },
        { "Two", "float", { 3, { 2, 3, 4 } }, 4 },
        { "Two[2]", "float", { 4, { 2, 3, 2, 4 } }, 8 },
        { "Deep", "float", { 3, { 2, 3, 10 } }, 10 },
        { "bool3", "bool", { 3, { 2, 3, 3 } }, 3 },
        { "Flags", "bool", { 3, { 2, 3, 3 } }, 3 },
        { "Gap", "uint8_t", { 3, { 2, 3, 5 } }, 5 },
        { "Kind", "int", { 2, { 2, 3 } }, 1 },
        { "uint8_t", "uint8_t", { 2, { 2, 3 } }, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static uint8_t data[1024];
        for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)(strcmp(rows[i].scalar, "bool") ? model_random(120) : model_random(2));
        spy_tensor *t = TYPED(rows[i].type, SPY_SHAPE(2, 3), data);
        same_bytes(t, MADE(spy_create_flat_view(t)), rows[i].shape, rows[i].scalar);
        spy_tensor *v = MADE(spy_create_indexed(t, SPY_INDICES(spy_index_range(SPY_INDEX_NONE, SPY_INDEX_NONE, -1), spy_index_range(0, 3, 2))));
        spy_shape shape = rows[i].shape;
        shape.dims[1] = 2;
        same_bytes(v, MADE(spy_create_flat_view(v)), shape, rows[i].scalar);
        spy_release_tensor(v);
        spy_release_tensor(t);
    }
    spy_tensor *mixed = TYPED("Mixed", SPY_SHAPE(3), NULL), *nested = TYPED("Mixed[2]", SPY_SHAPE(3), NULL);
    assert_null(spy_create_flat_view(mixed));
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "spy_create_flat_view", "Mixed", "'a' is float", "'b' is int");
    assert_null(spy_create_flat_view(nested));
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "'a' is float", "'b' is int");
    spy_tensor *deep = TYPED("float3x3", SPY_SHAPE(1, 1, 1, 1, 1, 1, 2), NULL);
    assert_null(spy_create_flat_view(deep));
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "rank above 8");
    assert_null(spy_create_flat_view(NULL));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_flat_view", "NULL");
    assert_null(spy_create_view_as(NULL, "float", NULL));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_view_as", "NULL");
    assert_null(spy_create_reshape(NULL, SPY_SHAPE(1)));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_reshape", "NULL");
    spy_release_tensor(mixed);
    spy_release_tensor(nested);
    spy_release_tensor(deep);
}

static void test_random(void **state) {
    (void)state;
    for (size_t i = 0; i < test_count(20000); i++) {
        model_state = i + 1;
        model_check_view(device);
    }
}

static void test_random_copies(void **state) {
    (void)state;
    for (size_t i = 0; i < test_count(20000); i++) {
        model_state = i + 1;
        model_check_copy(device);
    }
}

#define BAD(code, expression, ...)                                                                            \
    do {                                                                                                      \
        assert_int_equal(expression, code);                                                                   \
        ERROR_IS(code, __VA_ARGS__);                                                                          \
    } while (0)
#define BAD_NULL(code, expression, ...)                                                                       \
    do {                                                                                                      \
        assert_null(expression);                                                                              \
        ERROR_IS(code, __VA_ARGS__);                                                                          \
    } while (0)

// Sizes that would wrap: each is refused, or is exact, and nothing overflows (config=asan has UBSan).
static void test_huge(void **state) {
    (void)state;
    const int64_t exa = (int64_t)1 << 60;
    spy_tensor *one = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(1), iota);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.type = "float4";
    d.shape = SPY_SHAPE(1);
    spy_tensor *four = MADE(spy_create_tensor(device, &d));

    // Broadcast views: 2^60 bytes can be, 2^60 elements of 4 or 16 bytes cannot.
    spy_tensor *large = MADE(spy_create_broadcast(one, SPY_SHAPE(exa / 4)));
    assert_true(spy_get_tensor_info(large).element_count == exa / 4);
    assert_true(spy_get_tensor_info(large).host_size_bytes == (size_t)exa);
    int32_t value[4];
    BAD(SPY_ERROR_SHAPE_MISMATCH, spy_tensor_read(large, value, sizeof value), "1152921504606846976 bytes");
    memset(&d, 0, sizeof d);
    d.like = large;
    BAD_NULL(SPY_ERROR_OUT_OF_DEVICE_MEMORY, spy_create_tensor(device, &d), "spy_create_tensor");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(one, SPY_SHAPE(exa)), "2^60 bytes");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(four, SPY_SHAPE(exa)), "2^60 bytes");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(four, SPY_SHAPE(2 * exa)), "2^60 bytes");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(one, SPY_SHAPE(INT64_MAX)), "2^60 bytes");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(one, SPY_SHAPE(-1)), "negative size -1");
    BAD_NULL(SPY_ERROR_SHAPE_MISMATCH, spy_create_broadcast(one, SPY_SHAPE(exa, 0, exa)), "2^60 bytes");
    spy_release_tensor(MADE(spy_create_flat_view(large)));
    spy_release_tensor(MADE(spy_create_view_as(one, "half", NULL)));
    spy_release_tensor(large);

    // New tensors.
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(exa);
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_tensor(device, &d), "desc.shape", "2^60 bytes");
    d.shape = SPY_SHAPE(exa, 0, exa);
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_tensor(device, &d), "desc.shape", "2^60 bytes");
    d.shape = SPY_SHAPE(3, -1);
    BAD_NULL(SPY_ERROR_INVALID_ARGUMENT, spy_create_tensor(device, &d), "desc.shape", "negative size -1 in dimension 1");

    // Views with offsets and strides.
    spy_view_desc v;
    spy_tensor *ten = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(10), iota);
    memset(&v, 0, sizeof v);
    v.shape = SPY_SHAPE(0);
    v.offset_elements = -1;
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "offset -1");
    v.offset_elements = 11;
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "offset 11");
    v.offset_elements = INT64_MIN;
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "offset");
    v.offset_elements = 10;
    spy_release_tensor(MADE(spy_create_view(ten, &v)));
    v.shape = SPY_SHAPE(1);
    v.offset_elements = 0;
    v.strides = SPY_SHAPE(INT64_MAX); // no step is taken, but a view of it as bytes would scale it
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "strides");
    v.strides = SPY_SHAPE(INT64_MIN);
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "strides");
    v.shape = SPY_SHAPE(exa, exa);
    v.strides = SPY_SHAPE(0, 0);
    BAD_NULL(SPY_ERROR_OUT_OF_RANGE, spy_create_view(ten, &v), "desc.shape", "2^60 bytes");

    // Arguments: none of them is read, or copied, beyond its end.
    float f = 0;
    assert_null(spy_pack(device, spy_arg_array("a", &f, SPY_SHAPE(4 * exa), SPY_DTYPE_FLOAT32)));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_pack", "'a'", "too large size");
    spy_function *add = spy_find_function(module, "add");
    BAD(SPY_ERROR_INVALID_ARGUMENT, spy_call(add, SPY_ARGS(spy_arg_array("a", &f, SPY_SHAPE(4 * exa), SPY_DTYPE_FLOAT32), spy_arg_f32("b", 1), spy_out_f32("_result", &f))), "'a'", "too large size");
    BAD(SPY_ERROR_INVALID_ARGUMENT, spy_call(add, SPY_ARGS(spy_arg_range("a", 0, 10, INT64_MIN), spy_arg_f32("b", 1), spy_out_f32("_result", &f))), "'a'");
    spy_release_tensor(ten);
    spy_release_tensor(four);
    spy_release_tensor(one);
}

int main(void) {
    for (int i = 0; i < 120; i++) iota[i] = i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),  cmocka_unit_test(test_indexed), cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_view_as), cmocka_unit_test(test_flat),    cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_copies), cmocka_unit_test(test_huge),
    };
    return cmocka_run_group_tests(tests, setup, data_close);
}
