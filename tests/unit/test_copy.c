// Fills, ranges, copies between tensors, creation like another one, and addresses, on the null backend. Random copies are in
// test_view.c.
#include "data_test.h"

static const char source[] = "struct Mixed { float a; bool b; int8_t c; }\n"
                             "enum Kind { A, B }\n"
                             "float f(Mixed a, Kind k) { return 0; }\n";

typedef struct mixed {
    float a;
    bool b;
    int8_t c;
} mixed;

static int setup(void **state) {
    (void)state;
    return data_open(source, data_defaults());
}

static void release(spy_tensor *a, spy_tensor *b, spy_tensor *c) {
    spy_release_tensor(a);
    spy_release_tensor(b);
    spy_release_tensor(c);
}

static const spyi_null_op *op_from_end(size_t back) {
    return spyi_null_get_op(device->gpu, spyi_null_op_count(device->gpu) - 1 - back);
}

static void clear_ops(void) { // what is done is forgotten; all is
    GOOD(spy_wait(device));
    spyi_null_clear_ops(device->gpu);
    assert_int_equal(spyi_null_op_count(device->gpu), 0);
}

// >>creation

static void test_like(void **state) {
    (void)state;
    static const float v[] = { 1, 2, 3, 4, 5, 6 };
    spy_tensor *t = TENSOR(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), v), *turned = MADE(spy_create_transpose(t, SPY_DIMS(1, 0)));
    spy_tensor *structs = TYPED("Mixed", SPY_SHAPE(4), NULL);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.like = turned;
    spy_tensor *a = MADE(spy_create_tensor(device, &d));
    spy_tensor_info info = spy_get_tensor_info(a);
    assert_int_equal(info.shape.rank, 2);
    assert_true(info.shape.dims[0] == 3 && info.shape.dims[1] == 2 && info.is_contiguous && info.dtype == SPY_DTYPE_FLOAT32);
    d.dtype = SPY_DTYPE_INT8; // the shape alone
    spy_tensor *b = MADE(spy_create_tensor(device, &d));
    info = spy_get_tensor_info(b);
    assert_true(info.dtype == SPY_DTYPE_INT8 && info.element_count == 6);
    memset(&d, 0, sizeof d);
    d.like = structs; // the type alone
    d.shape = SPY_SHAPE(7);
    spy_tensor *c = MADE(spy_create_tensor(device, &d));
    info = spy_get_tensor_info(c);
    assert_string_equal(info.type, "Mixed");
    assert_int_equal(info.element_count, 7);
    d.data = v;
    d.zeroed = true;
    assert_null(spy_create_tensor(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_create_tensor", "data", "zeroed", "both");
    d.data = NULL;
    d.like = (spy_tensor *)(void *)device;
    assert_null(spy_create_tensor(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "desc.like");
    release(a, b, c);
    release(t, turned, structs);
}

static void test_zeroed(void **state) {
    (void)state;
    static const int64_t counts[] = { 0, 1, 3, 4, 64, 65535, 65536, 65537, 1000003 };
    static char got[1000003 * 2];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int word = 0; word < 2; word++) {
            memset(got, 1, sizeof got);
            release(TENSOR(word ? SPY_DTYPE_FLOAT16 : SPY_DTYPE_UINT8, SPY_SHAPE(counts[i]), got), NULL, NULL); // the pool gives this memory again
            spy_tensor_desc d;
            memset(&d, 0, sizeof d);
            d.shape = SPY_SHAPE(counts[i]);
            d.dtype = word ? SPY_DTYPE_FLOAT16 : SPY_DTYPE_UINT8;
            d.zeroed = true;
            spy_tensor *t = MADE(spy_create_tensor(device, &d));
            size_t size = (size_t)counts[i] << word;
            GOOD(spy_tensor_read(t, got, size));
            for (size_t k = 0; k < size; k++) assert_int_equal(got[k], 0);
            if (size < sizeof got) assert_int_equal(got[size], 1);
            spy_release_tensor(t);
        }
    }
}

// >>fills

static void test_fill_data(void **state) {
    (void)state;
    static mixed got[50000];
    const mixed one = { 1.5f, true, -7 };
    spy_tensor *t = TYPED("Mixed", SPY_SHAPE(50000), NULL);
    clear_ops();
    GOOD(spy_tensor_fill_data(t, &one, sizeof one));
    // 9 bytes, 12 apart on the device: 64 KiB from the host, the rest doubled there.
    assert_int_equal(spyi_null_get_op(device->gpu, 0)->kind, SPYI_NULL_UPLOAD);
    assert_true(spyi_null_get_op(device->gpu, 0)->size <= 65536);
    for (size_t i = 1; i < spyi_null_op_count(device->gpu); i++) assert_int_equal(spyi_null_get_op(device->gpu, i)->kind, SPYI_NULL_COPY);
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (size_t i = 0; i < 50000; i++) assert_true(got[i].a == 1.5f && got[i].b && got[i].c == -7);
    // A part: what lies around it stays.
    spy_tensor *part = MADE(spy_create_slice(t, 0, 100, 40000, 1)), *every = MADE(spy_create_slice(t, 0, 1, 50000, 1000));
    const mixed two = { -2, false, 100 }, three = { 3, true, 3 };
    GOOD(spy_tensor_fill_data(part, &two, sizeof two));
    GOOD(spy_tensor_fill_data(every, &three, sizeof three));
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (size_t i = 0; i < 50000; i++) {
        const mixed *m = i % 1000 == 1 ? &three : i >= 100 && i < 40000 ? &two : &one;
        assert_true(got[i].a == m->a && got[i].b == m->b && got[i].c == m->c);
    }
    assert_int_equal(spy_tensor_fill_data(t, &one, 7), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_tensor_fill_data", "Mixed", "8 bytes", "7");
    assert_int_equal(spy_tensor_fill_data(t, NULL, sizeof one), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "NULL");
    assert_int_equal(spy_tensor_fill_data(NULL, &one, sizeof one), SPY_ERROR_INVALID_ARGUMENT);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_tensor_fill_data");
    // Words are the device's own work; a value beyond double's reach is kept.
    const int64_t big = INT64_MAX - 1;
    spy_tensor *longs = TENSOR(SPY_DTYPE_INT64, SPY_SHAPE(3), NULL);
    GOOD(spy_tensor_fill_data(longs, &big, sizeof big));
    int64_t back[3];
    GOOD(spy_tensor_read(longs, back, sizeof back));
    assert_true(back[0] == big && back[1] == big && back[2] == big);
    const float pi = 3.14f;
    spy_tensor *floats = TENSOR(SPY_DTYPE_FLOAT32, SPY_SHAPE(100000), NULL);
    clear_ops();
    GOOD(spy_tensor_fill_data(floats, &pi, sizeof pi));
    assert_int_equal(spyi_null_op_count(device->gpu), 1);
    assert_int_equal(op_from_end(0)->kind, SPYI_NULL_FILL);
    GOOD(spy_tensor_fill(floats, 0));
    assert_int_equal(op_from_end(0)->kind, SPYI_NULL_FILL);
    release(t, part, every);
    release(longs, floats, NULL);
}

// >>ranges

static void test_ranges(void **state) {
    (void)state;
    int32_t v[24], got[24];
    for (int i = 0; i < 24; i++) v[i] = i;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(4, 6), v), *turned = MADE(spy_create_transpose(t, SPY_DIMS(1, 0)));
    GOOD(spy_tensor_read_range(t, 5, 3, got, 12));
    assert_true(got[0] == 5 && got[1] == 6 && got[2] == 7);
    GOOD(spy_tensor_read_range(turned, 3, 3, got, 12)); // 0 6 12 18 | 1 7 13 19 | ...
    assert_true(got[0] == 18 && got[1] == 1 && got[2] == 7);
    GOOD(spy_tensor_read_range(t, 24, 0, NULL, 0));
    clear_ops();
    GOOD(spy_tensor_write_range(t, 22, 2, (int32_t[]){ -1, -2 }, 8));
    assert_int_equal(op_from_end(0)->size, 8);
    GOOD(spy_tensor_read(t, got, sizeof got));
    assert_true(got[21] == 21 && got[22] == -1 && got[23] == -2);
    static const struct {
        int64_t first, count;
    } bad[] = { { 24, 1 }, { -1, 1 }, { 0, 25 }, { 0, -1 }, { INT64_MAX, INT64_MAX }, { INT64_MIN, 0 }, { 25, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(spy_tensor_read_range(t, bad[i].first, bad[i].count, got, 4), SPY_ERROR_OUT_OF_RANGE);
        ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_tensor_read_range", "24 elements");
        assert_int_equal(spy_tensor_write_range(t, bad[i].first, bad[i].count, got, 4), SPY_ERROR_OUT_OF_RANGE);
        ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_tensor_write_range", "24 elements");
    }
    assert_int_equal(spy_tensor_read_range(t, 0, 2, got, 4), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "2 elements of int", "8 bytes", "4");
    assert_int_equal(spy_tensor_write_range(t, 0, 2, NULL, 8), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "data is NULL");
    // The largest view: 2^57 elements of 8 bytes are told, not transferred.
    spy_tensor *one = TENSOR(SPY_DTYPE_INT64, SPY_SHAPE(1), NULL), *huge = MADE(spy_create_broadcast(one, SPY_SHAPE((int64_t)1 << 57)));
    assert_int_equal(spy_tensor_read(huge, NULL, 0), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_tensor_read");
    assert_int_equal(spy_tensor_write(huge, got, 0), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_tensor_write");
    GOOD(spy_tensor_fill(huge, 9)); // written once
    int64_t nine = 0;
    GOOD(spy_tensor_read(one, &nine, sizeof nine));
    assert_true(nine == 9);
    assert_null(spy_create_cursor(huge, 0, (int64_t)1 << 57)._type);
    ERROR_IS(SPY_ERROR_OUT_OF_MEMORY, "spy_create_cursor");
    release(t, turned, one);
    spy_release_tensor(huge);
}

// Elements far apart travel one by one, near ones together.
static void test_far_apart(void **state) {
    (void)state;
    enum { ROWS = 12, ROW = 1 << 20 };
    static uint8_t data[ROWS * ROW], back[ROWS * ROW];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7 + i / ROW);
    spy_tensor *t = TENSOR(SPY_DTYPE_UINT8, SPY_SHAPE(ROWS, ROW), data), *column = MADE(spy_create_slice(t, 1, 77, 79, 1));
    uint8_t got[ROWS * 2];
    GOOD(spy_tensor_read(column, got, sizeof got));
    for (size_t i = 0; i < ROWS; i++) assert_true(got[2 * i] == data[i * ROW + 77] && got[2 * i + 1] == data[i * ROW + 78]);
    clear_ops();
    for (size_t i = 0; i < sizeof got; i++) got[i] = data[i / 2 * ROW + 77 + i % 2] = (uint8_t)(200 + i);
    GOOD(spy_tensor_write(column, got, sizeof got));
    assert_int_equal(spyi_null_op_count(device->gpu), ROWS);
    for (size_t i = 0; i < ROWS; i++) assert_int_equal(op_from_end(i)->size, 2);
    spy_tensor *near_by = MADE(spy_create_slice(MADE(spy_create_slice(t, 0, 0, 1, 1)), 1, 0, 1000, 10));
    clear_ops();
    uint8_t hundred[100] = { 0 };
    for (size_t i = 0; i < 100; i++) data[i * 10] = 0;
    GOOD(spy_tensor_write(near_by, hundred, sizeof hundred));
    assert_int_equal(spyi_null_op_count(device->gpu), 1);
    GOOD(spy_tensor_read(t, back, sizeof back));
    assert_memory_equal(back, data, sizeof data);
    release(t, column, near_by);
}

// >>copies

static void test_copy_ways(void **state) {
    (void)state;
    spy_tensor *a = TENSOR(SPY_DTYPE_FLOAT32, SPY_SHAPE(64, 100), NULL), *b = TENSOR(SPY_DTYPE_FLOAT32, SPY_SHAPE(64, 100), NULL);
    GOOD(spy_tensor_fill(a, 1));
    clear_ops();
    GOOD(spy_tensor_copy(b, a)); // one copy on the device
    assert_int_equal(spyi_null_op_count(device->gpu), 1);
    assert_true(op_from_end(0)->kind == SPYI_NULL_COPY && op_from_end(0)->size == 25600 && op_from_end(0)->barrier);
    spy_tensor *left = MADE(spy_create_slice(a, 1, 0, 50, 1)), *right = MADE(spy_create_slice(b, 1, 50, 100, 1));
    clear_ops();
    GOOD(spy_tensor_copy(right, left)); // one for each row, one barrier
    assert_int_equal(spyi_null_op_count(device->gpu), 64);
    for (size_t i = 0; i < 64; i++) assert_true(op_from_end(i)->kind == SPYI_NULL_COPY && op_from_end(i)->size == 200 && op_from_end(i)->barrier == (i == 63));
    clear_ops();
    GOOD(spy_tensor_copy(a, a));
    assert_int_equal(spyi_null_op_count(device->gpu), 0);
    release(a, b, NULL);
    release(left, right, NULL);
}

static void test_copy_converts(void **state) {
    (void)state;
    static const float halves[] = { 1, 2, 3, 250, 5, 6 };
    uint8_t bytes[6];
    spy_tensor *f = TENSOR(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), halves), *u = TENSOR(SPY_DTYPE_UINT8, SPY_SHAPE(2, 3), "\7\7\7\7\7\7");
    GOOD(spy_tensor_copy(u, f));
    GOOD(spy_tensor_read(u, bytes, 6));
    for (int i = 0; i < 6; i++) assert_int_equal(bytes[i], (int)halves[i]);
    GOOD(spy_tensor_write_range(f, 4, 1, (float[]){ 2.5f }, 4));
    assert_int_equal(spy_tensor_copy(u, f), SPY_ERROR_OUT_OF_RANGE);
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_tensor_copy", "element 4", "2.5", "uint8_t");
    GOOD(spy_tensor_read(u, bytes, 6)); // nothing was written
    for (int i = 0; i < 6; i++) assert_int_equal(bytes[i], (int)halves[i]);
    static const bool flags[] = { true, false, true };
    spy_tensor *b = TYPED("bool3", SPY_SHAPE(1), flags), *d = TYPED("double3", SPY_SHAPE(1), NULL), *k = TYPED("Kind", SPY_SHAPE(2, 3), NULL);
    double doubles[3];
    GOOD(spy_tensor_copy(d, b));
    GOOD(spy_tensor_read(d, doubles, sizeof doubles));
    assert_true(doubles[0] == 1 && doubles[1] == 0 && doubles[2] == 1);
    GOOD(spy_tensor_copy(k, u));
    int32_t kinds[6];
    GOOD(spy_tensor_read(k, kinds, sizeof kinds));
    assert_int_equal(kinds[3], 250);
    spy_tensor *v = TYPED("float3[2]", SPY_SHAPE(1), halves), *w = TYPED("int3[2]", SPY_SHAPE(1), NULL);
    assert_int_equal(spy_tensor_copy(w, v), SPY_OK);
    GOOD(spy_tensor_read(w, kinds, sizeof kinds));
    assert_int_equal(kinds[3], 250);
    spy_tensor *s = TYPED("Mixed", SPY_SHAPE(2, 3), NULL);
    assert_int_equal(spy_tensor_copy(s, f), SPY_ERROR_TYPE_MISMATCH);
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "spy_tensor_copy", "float", "Mixed");
    assert_int_equal(spy_tensor_copy(b, v), SPY_ERROR_TYPE_MISMATCH);
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "float3[2]", "bool3");
    release(f, u, b);
    release(d, k, v);
    release(w, s, NULL);
}

static void test_copy_errors(void **state) {
    (void)state;
    int32_t v[12], got[12];
    for (int i = 0; i < 12; i++) v[i] = i;
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(12), v),
               *grid = MADE(spy_create_reshape(t, SPY_SHAPE(3, 4)));
    assert_int_equal(spy_tensor_copy(t, grid), SPY_ERROR_SHAPE_MISMATCH);
    ERROR_IS(SPY_ERROR_SHAPE_MISMATCH, "spy_tensor_copy", "(12,)", "(3, 4)", "spy_create_broadcast");
    spy_tensor *first = MADE(spy_create_slice(t, 0, 0, 1, 1)), *wide = MADE(spy_create_broadcast(first, SPY_SHAPE(12)));
    assert_int_equal(spy_tensor_copy(wide, t), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "several elements lie at one place");
    assert_int_equal(spy_tensor_copy(t, NULL), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "from: expected a tensor, got NULL");
    assert_int_equal(spy_tensor_copy(NULL, t), SPY_ERROR_INVALID_ARGUMENT);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_tensor_copy", "NULL");
    // Overlap: as if from were copied away first.
    spy_tensor *low = MADE(spy_create_slice(t, 0, 0, 8, 1)), *high = MADE(spy_create_slice(t, 0, 4, 12, 1));
    GOOD(spy_tensor_copy(high, low));
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < 12; i++) assert_int_equal(got[i], i < 4 ? i : i - 4);
    spy_tensor *back = MADE(spy_create_slice(t, 0, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
    GOOD(spy_tensor_write(t, v, sizeof v));
    GOOD(spy_tensor_copy(t, back));
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < 12; i++) assert_int_equal(got[i], 11 - i);
    GOOD(spy_tensor_copy(t, wide)); // a stretched source is fine
    GOOD(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < 12; i++) assert_int_equal(got[i], 11);
    spy_tensor *empty = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(0, 3), NULL);
    GOOD(spy_tensor_copy(empty, empty));
    release(t, grid, first);
    release(wide, low, high);
    release(back, empty, NULL);
}

// >>addresses

static void test_address(void **state) {
    (void)state;
    int32_t v[12] = { 0 };
    spy_tensor *t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(12), v), *part = MADE(spy_create_slice(t, 0, 3, 12, 1));
    uint64_t address = spy_tensor_address(t);
    assert_true(address != 0);
    assert_true(spy_tensor_address(part) == address + 12);
    assert_true(spy_tensor_address(NULL) == 0);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "spy_tensor_address", "NULL");
    release(t, part, NULL);
    spy_device *kept = device;
    spyi_null_desc d = data_defaults();
    d.bindings_only = true;
    assert_int_equal(data_open(NULL, d), 0);
    t = TENSOR(SPY_DTYPE_INT32, SPY_SHAPE(1), v);
    assert_true(spy_tensor_address(t) == 0);
    ERROR_IS(SPY_ERROR_UNSUPPORTED, "spy_tensor_address", "no pointers");
    spy_release_device(device);
    device = kept;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like),          cmocka_unit_test(test_zeroed),      cmocka_unit_test(test_fill_data),
        cmocka_unit_test(test_ranges),        cmocka_unit_test(test_far_apart),   cmocka_unit_test(test_copy_ways),
        cmocka_unit_test(test_copy_converts), cmocka_unit_test(test_copy_errors), cmocka_unit_test(test_address),
    };
    return cmocka_run_group_tests(tests, setup, data_close);
}
