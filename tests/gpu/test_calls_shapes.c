// Which elements a call runs over: mapping and broadcast, views, outputs that overlap their inputs.
#include "calls.h"
#include "chance.h"

// >>mapping and broadcast

static void test_broadcast(void **state) {
    NEEDS_DEVICE();
    const float row[3] = { 1, 2, 3 }, col[2] = { 10, 20 };
    spy_tensor *r = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3), row), *c = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 1), col), *out = NULL;
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", c), spy_arg_tensor("b", r), spy_out_tensor("_result", &out))));
    spy_tensor_info info = spy_get_tensor_info(out);
    assert_true(info.shape.rank == 2 && info.shape.dims[0] == 2 && info.shape.dims[1] == 3 && info.dtype == SPY_DTYPE_FLOAT32 && info.is_contiguous);
    FLOATS(out, 9, 8, 7, 19, 18, 17);
    spy_release_tensor(out);
    // Outer product: a's dimension is kernel dimension 0, b's is 1.
    spy_tensor *a = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2), col);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", a), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("b", r), SPY_DIMS(1)), spy_out_tensor("_result", &out))));
    FLOATS(out, 9, 8, 7, 19, 18, 17);
    spy_release_tensor(out);
    // The other way round: shape (3, 2), row-major.
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", a), SPY_DIMS(1)), spy_vmap(spy_arg_tensor("b", r), SPY_DIMS(0)), spy_out_tensor("_result", &out))));
    FLOATS(out, 9, 19, 8, 18, 7, 17);
    spy_release_tensor(out);
    // A map that transposes, and one for the output: out[i][j] = m[j][i].
    const float m[6] = { 0, 1, 2, 3, 4, 5 };
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), m),
               *o = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3, 2), NULL);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_vmap(spy_arg_tensor("a", t), SPY_DIMS(1, 0)), spy_arg_f32("b", 0), spy_arg_tensor("_result", o))));
    FLOATS(o, 0, 3, 1, 4, 2, 5);
    spy_tensor *o2 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(3, 2), NULL);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", t), spy_arg_f32("b", 0), spy_vmap(spy_arg_tensor("_result", o2), SPY_DIMS(1, 0)))));
    FLOATS(o2, 0, 3, 1, 4, 2, 5);
    // Trailing dimensions feed the type, the mapped ones are run over.
    OK(spy_call(fn("scale3"), SPY_ARGS(spy_vmap(spy_arg_tensor("v", t), SPY_DIMS(1)), spy_vmap(spy_arg_tensor("s", a), SPY_DIMS(0)), spy_out_tensor("_result", &out))));
    info = spy_get_tensor_info(out);
    assert_true(info.shape.rank == 2 && info.shape.dims[0] == 2 && info.shape.dims[1] == 2);
    FLOATS(out, 0, 10, 20, 30, 40, 50, 0, 20, 40, 60, 80, 100);
    spy_release_tensor(out);
    // Eight dimensions.
    float many[64], expected[64];
    for (int i = 0; i < 64; i++) {
        many[i] = (float)i;
        expected[i] = (float)(2 * i);
    }
    spy_tensor *t8 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 1, 2, 2, 1, 2, 2, 2), many), *o8 = NULL;
    OK(spy_call(fn("saxpy"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("x", t8), spy_arg_tensor("y", t8), spy_out_tensor("_result", &o8))));
    assert_int_equal(spy_get_tensor_info(o8).shape.rank, 8);
    expect_floats(o8, expected, 64, __LINE__);
    clean();
}

// Rows whose sizes are no multiples of four: vectors of the output lie in two rows, what is broadcast or turned is read by
// coordinates, and the last vector is not full.
static void test_across_rows(void **state) {
    NEEDS_DEVICE();
    const bool gpu = spy_get_device_info(gpu_device).type != SPY_ADAPTER_TYPE_CPU;
    seed();
    int across = 0;
    const int trials = (int)test_count(300);
    for (int trial = 0; trial < trials; trial++) {
        spy_shape shape, a_shape, b_shape;
        memset(&shape, 0, sizeof shape);
        shape.rank = 2 + below(4);
        int64_t others = 1, count, a_strides[SPY_MAX_RANK] = { 0 }, b_strides[SPY_MAX_RANK] = { 0 };
        for (uint32_t d = shape.rank; d-- > 1;) others *= shape.dims[d] = 1 + (int64_t)below(7);
        shape.dims[0] = (gpu ? 65536 : 16) / others + 1 + (int64_t)below(9);
        count = others * shape.dims[0];
        a_shape = b_shape = shape;
        for (uint32_t d = 0; d < shape.rank; d++) {
            if (below(3) == 0) a_shape.dims[d] = 1;
            if (below(4) == 0) b_shape.dims[d] = 1;
        }
        int64_t a_count = 1, b_count = 1;
        for (uint32_t d = shape.rank; d-- > 0;) {
            if (a_shape.dims[d] > 1) a_strides[d] = a_count;
            if (b_shape.dims[d] > 1) b_strides[d] = b_count;
            a_count *= a_shape.dims[d];
            b_count *= b_shape.dims[d];
        }
        float *data = (float *)malloc((size_t)count * 3 * sizeof *data), *b_data = data + count, *want = b_data + count;
        for (int64_t i = 0; i < count; i++) data[i] = (float)i, b_data[i] = (float)(100000 + 3 * i);
        spy_tensor *a = make(SPY_DTYPE_FLOAT32, a_shape, data), *b = make(SPY_DTYPE_FLOAT32, b_shape, b_data), *out = make(SPY_DTYPE_FLOAT32, shape, NULL);
        // One of b's dimensions runs backward at times.
        uint32_t turned = below(shape.rank);
        int64_t first = 0;
        if (b_shape.dims[turned] > 1 && below(2) == 0) {
            b = MADE(spy_tensor, spy_create_slice(b, turned, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
            first = (b_shape.dims[turned] - 1) * b_strides[turned];
            b_strides[turned] = -b_strides[turned];
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t rest = i, at_a = 0, at_b = first;
            for (uint32_t d = shape.rank; d-- > 0; rest /= shape.dims[d])
                at_a += rest % shape.dims[d] * a_strides[d], at_b += rest % shape.dims[d] * b_strides[d];
            want[i] = data[at_a] - b_data[at_b];
        }
        char text[16384];
        const spy_args args = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", out));
        OK(spy_tensor_fill(out, 77));
        OK(spy_call(fn("sub"), args));
        spy_explain_call(fn("sub"), args, NULL, text, sizeof text);
        across += strstr(text, "wide, across rows") != NULL;
        expect_floats(out, want, (size_t)count, __LINE__);
        free(data);
        clean();
    }
    print_message("%d of %d calls across rows\n", across, trials);
    assert_true(across > trials / 10);
}

static void test_strict_broadcasting(void **state) {
    NEEDS_DEVICE();
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "strict";
    d.source = "float sub(float a, float b) { return a - b; }";
    d.strict_broadcasting = true;
    spy_module *strict = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_function *f = MADE(spy_function, spy_find_function(strict, "sub"));
    spy_tensor *m = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), NULL), *r = ramp(3, 0), *r1 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(1, 3), NULL), *out = NULL;
    OK(spy_tensor_fill(m, 5));
    OK(spy_tensor_fill(r1, 2));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_tensor("b", r), spy_out_tensor("_result", &out))), "sub", "'b'", "Strict broadcasting");
    assert_null(out);
    OK(spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_tensor("b", r1), spy_out_tensor("_result", &out)))); // size 1 still stretches
    FLOATS(out, 3, 3, 3, 3, 3, 3);
    OK(spy_call(f, SPY_ARGS(spy_arg_tensor("a", m), spy_arg_f32("b", 1), spy_out_tensor("_result", &out)))); // numbers too
    spy_release_module(strict);
    clean();
}

// >>views

static void test_views(void **state) {
    NEEDS_DEVICE();
    float data[24];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(4, 6), data), *out = NULL;
    struct {
        spy_tensor *view;
        spy_shape shape;
        int64_t offset, s0, s1;
    } rows[] = {
        { spy_create_slice(t, 1, 1, 6, 2), SPY_SHAPE(4, 3), 1, 6, 2 },
        { spy_create_slice(t, 0, -3, -1, 1), SPY_SHAPE(2, 6), 6, 6, 1 },
        { spy_create_slice(t, 1, 4, 100, 3), SPY_SHAPE(4, 1), 4, 6, 1 },
        { spy_create_transpose(t, SPY_DIMS(1, 0)), SPY_SHAPE(6, 4), 0, 1, 6 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 6), .strides = SPY_SHAPE(-6, -1), .offset_elements = 23 }), SPY_SHAPE(4, 6), 23, -6, -1 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(2, 3), .strides = SPY_SHAPE(7, -2), .offset_elements = 9 }), SPY_SHAPE(2, 3), 9, 7, -2 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(5, 4), .strides = SPY_SHAPE(1, 1), .offset_elements = 3 }), SPY_SHAPE(5, 4), 3, 1, 1 },
        { spy_create_broadcast(spy_create_slice(t, 0, 2, 3, 1), SPY_SHAPE(3, 6)), SPY_SHAPE(3, 6), 12, 0, 1 },
        { spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(3, 8) }), SPY_SHAPE(3, 8), 0, 8, 1 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        float expected[64], in[64];
        size_t n = 0;
        assert_non_null(rows[k].view);
        for (int64_t i = 0; i < rows[k].shape.dims[0]; i++)
            for (int64_t j = 0; j < rows[k].shape.dims[1]; j++) expected[n++] = data[rows[k].offset + i * rows[k].s0 + j * rows[k].s1];
        spy_tensor_info info = spy_get_tensor_info(rows[k].view);
        assert_true(info.shape.rank == 2 && info.shape.dims[0] == rows[k].shape.dims[0] && info.shape.dims[1] == rows[k].shape.dims[1]);
        assert_true(info.offset_elements == rows[k].offset);
        OK(spy_tensor_read(rows[k].view, in, n * 4));
        assert_memory_equal(in, expected, n * 4);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", rows[k].view), spy_arg_f32("b", 0), spy_out_tensor("_result", &out))));
        expect_floats(out, expected, n, __LINE__);
        spy_release_tensor(out);
        spy_release_tensor(rows[k].view);
    }
    // As outputs: what lies between the elements stays.
    spy_tensor *selected = spy_create_select(t, 1, -2), *every = spy_create_slice(t, 1, 0, 6, 3);
    assert_true(spy_get_tensor_info(selected).shape.rank == 1 && spy_get_tensor_info(selected).shape.dims[0] == 4);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("a", 100), spy_arg_f32("b", 1), spy_arg_tensor("_result", selected))));
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_f32("a", -1), spy_arg_f32("b", 1), spy_arg_tensor("_result", every))));
    float expected[24];
    for (int i = 0; i < 24; i++) expected[i] = i % 6 == 4 ? 99 : i % 3 == 0 ? -2 : (float)i;
    expect_floats(t, expected, 24, __LINE__);
    // A view of another type keeps the memory alive after the tensor is gone.
    spy_tensor *f3 = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(8), .type = "float3" });
    assert_non_null(f3);
    spy_release_tensor(t);
    float back[24];
    OK(spy_tensor_read(f3, back, sizeof back));
    assert_memory_equal(back, expected, sizeof back);
    // Strided fill and write.
    OK(spy_tensor_fill(selected, 7));
    OK(spy_tensor_write(every, (float[]){ 50, 51, 52, 53, 54, 55, 56, 57 }, 32));
    OK(spy_tensor_read(f3, back, sizeof back));
    for (int i = 0; i < 24; i++) assert_true(back[i] == (i % 6 == 4 ? 7 : i % 3 == 0 ? (float)(50 + i / 3) : (float)i));
    clean();
}

// point_to compares the shapes, not what may lie behind their last dimension.
static void test_point_to(void **state) {
    NEEDS_DEVICE();
    spy_tensor *m = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *x = ramp(3, 10);
    spy_tensor *row0 = spy_create_select(m, 0, 0), *row1 = spy_create_select(m, 0, 1);
    OK(spy_tensor_point_to(row0, row1));
    FLOATS(row0, 4, 5, 6);
    OK(spy_tensor_point_to(row0, x));
    FLOATS(row0, 10, 11, 12);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    memset(&d.shape, 0x11, sizeof d.shape); // dims beyond the rank are not looked at
    d.shape.rank = 1;
    d.shape.dims[0] = 3;
    d.dtype = SPY_DTYPE_FLOAT32;
    d.type = NULL;
    d.module = NULL;
    d.data = (float[]){ 7, 8, 9 };
    d.data_size_bytes = 12;
    d.label = NULL;
    d.like = NULL;
    d.zeroed = d.with_grad = false;
    d.grad_in = d.grad_out = NULL;
    spy_tensor *dirty = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_point_to(dirty, x));
    FLOATS(dirty, 10, 11, 12);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_tensor_point_to(x, m), "spy_tensor_point_to");
    clean();
}

// A view may not see more than its tensor: the pool's rounding up is nobody's memory.
static void test_view_bounds(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(5, 0);
    static const struct { int64_t n, stride, offset; } bad[] = { { 6, 1, 0 }, { 5, 1, 1 }, { 2, 5, 0 }, { 1, 1, 5 }, { 2, -1, 0 }, { 1, 1, -1 }, { 3, INT64_MAX / 2, 0 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spy_view_desc d;
        memset(&d, 0, sizeof d);
        d.shape = SPY_SHAPE(bad[i].n);
        d.strides = SPY_SHAPE(bad[i].stride);
        d.offset_elements = bad[i].offset;
        if (spy_create_view(t, &d)) fail_msg("view %zu of 5 elements: %lld x stride %lld from %lld was accepted", i, (long long)bad[i].n, (long long)bad[i].stride, (long long)bad[i].offset);
        ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "spy_create_view");
    }
    clean();
}

// In place, element by element, is fine; anything else that overlaps is refused; neighbours in one storage are neither.
static void test_in_place(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(40, 0);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", t), spy_arg_f32("b", 1), spy_arg_tensor("_result", t))));
    FLOATS(t, -1, 0, 1, 2);
    OK(spy_call(fn("swap_f32"), SPY_ARGS(spy_arg_tensor("a", spy_create_slice(t, 0, 0, 20, 1)), spy_arg_tensor("b", spy_create_slice(t, 0, 20, 40, 1)))));
    FLOATS(t, 19, 20, 21, 22);
    spy_tensor *shifted = spy_create_slice(t, 0, 1, 11, 1), *first = spy_create_slice(t, 0, 0, 10, 1);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", shifted), spy_arg_f32("b", 1), spy_arg_tensor("_result", first))), "sub", "'_result'", "'a'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("dup_f32"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", first), spy_arg_tensor("c", first))), "dup_f32", "'b'", "'c'");
    spy_release_tensor(t);
    clean();
}

// [0, 10) and [10, 20) of one storage do not meet, whatever vectors the kernel loads.
static void test_neighbours(void **state) {
    NEEDS_DEVICE();
    float data[1000];
    for (int i = 0; i < 1000; i++) data[i] = (float)i;
    for (int64_t n = 8; n <= 14; n++) {
        spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(1000), data);
        spy_tensor *low = spy_create_slice(t, 0, 0, n, 1), *high = spy_create_slice(t, 0, n, 2 * n, 1);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", high), spy_arg_f32("b", 1), spy_arg_tensor("_result", low))));
        OK(spy_call(fn("dup_f32"), SPY_ARGS(spy_arg_f32("a", 5), spy_arg_tensor("b", spy_create_slice(t, 0, 100, 100 + n, 1)), spy_arg_tensor("c", spy_create_slice(t, 0, 100 + n, 100 + 2 * n, 1)))));
        float expected[1000];
        for (int64_t i = 0; i < 1000; i++) {
            expected[i] = (float)i;
            if (i < n) expected[i] = (float)(i + n - 1);
            if (i >= 100 && i < 100 + n) expected[i] = 5;
            if (i >= 100 + n && i < 100 + 2 * n) expected[i] = 6;
        }
        expect_floats(t, expected, 1000, __LINE__);
        spy_release_tensor(t);
    }
    clean();
}

// Even and odd elements of one storage never meet either.
static void test_interleaved(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 2), (float[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 });
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", spy_create_select(t, 1, 1)), spy_arg_f32("b", 100), spy_arg_tensor("_result", spy_create_select(t, 1, 0)))));
    FLOATS(t, -99, 1, -97, 3, -95, 5, -93, 7, -91, 9);
    clean();
}

// Two gathers that agree in their batch strides and differ inside: thread 0 writes what thread 3 reads.
static void test_overlap_inside(void **state) {
    NEEDS_DEVICE();
    spy_tensor *t = ramp(64, 0);
    spy_tensor *in = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 3), .strides = SPY_SHAPE(1, 6) });
    spy_tensor *out = spy_create_view(t, &(spy_view_desc){ .shape = SPY_SHAPE(4, 3), .strides = SPY_SHAPE(1, 4) });
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("scale3"), SPY_ARGS(spy_arg_tensor("v", in), spy_arg_f32("s", 1), spy_arg_tensor("_result", out))), "scale3", "'_result'", "'v'");
    clean();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast), cmocka_unit_test(test_across_rows),
        cmocka_unit_test(test_strict_broadcasting), cmocka_unit_test(test_views), cmocka_unit_test(test_point_to),
        cmocka_unit_test(test_view_bounds), cmocka_unit_test(test_in_place), cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_interleaved), cmocka_unit_test(test_overlap_inside),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
