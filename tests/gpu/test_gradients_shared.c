// Gradients of what the elements of a call share: sums over broadcast tensors, of all types and in groupshared memory; gradients
// that are attached or mapped; tensors that functions take whole.
#include "gradients.h"

// >>sums

// poly's gradients for x (rows, columns), w along one dimension, b along the other, or for all.
static void check_sums(int64_t rows, int64_t columns, spy_shape w_shape, spy_shape b_shape, bool deterministic) {
    size_t n = (size_t)(rows * columns);
    float *x = wave(n);
    size_t nw = w_shape.rank ? 1 : 1, nb = 1;
    for (uint32_t d = 0; d < w_shape.rank; d++) nw *= (size_t)w_shape.dims[d];
    for (uint32_t d = 0; d < b_shape.rank; d++) nb *= (size_t)b_shape.dims[d];
    float *w = wave(nw), *b = wave(nb);
    double *dx = (double *)calloc(n, sizeof *dx), *dw = (double *)calloc(nw, sizeof *dw), *db = (double *)calloc(nb, sizeof *db);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            // numpy's rule for (), (columns), (rows, 1), (1, columns) and (rows, columns)
            size_t at = (size_t)(i * columns + j);
            size_t iw = nw == 1 ? 0 : nw == n ? at : w_shape.rank == 2 && w_shape.dims[1] == 1 ? (size_t)i : (size_t)j;
            size_t ib = nb == 1 ? 0 : nb == n ? at : b_shape.rank == 2 && b_shape.dims[1] == 1 ? (size_t)i : (size_t)j;
            double v = x[at];
            dx[at] = 2 * (double)w[iw] * v + (double)b[ib];
            dw[iw] += v * v;
            db[ib] += v;
        }
    }
    spy_tensor *tx = floats(SPY_SHAPE(rows, columns), x), *tw = floats(w_shape, w), *tb = floats(b_shape, b), *r = seeded(SPY_SHAPE(rows, columns));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = deterministic;
    OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_tensor("b", tb), spy_arg_tensor("_result", r)), &o));
    HOLDS_ALL(spy_tensor_grad(tx), dx, n);
    expect_floats(spy_tensor_grad(tw), dw, nw, 2e-5, __FILE__, __LINE__);
    expect_floats(spy_tensor_grad(tb), db, nb, 2e-5, __FILE__, __LINE__);
    RELEASE(tx, tw, tb, r);
    free(x), free(w), free(b), free(dx), free(dw), free(db);
}

static void test_sums(void **state) {
    NEEDS_DEVICE();
    static const int64_t sizes[][2] = { { 1, 1 }, { 1, 5 }, { 7, 1 }, { 3, 4 }, { 33, 65 }, { 300, 500 }, { 2, 40000 }, { 40000, 3 }, { 257, 256 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t m = sizes[i][0], n = sizes[i][1];
        bool all = test_count(10) == 10; // else half of them
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            if (all || (i + (size_t)deterministic) % 2) {
                check_sums(m, n, gpu_rank0(), gpu_rank0(), deterministic);
                check_sums(m, n, SPY_SHAPE(n), SPY_SHAPE(m, 1), deterministic);
            }
            if (all || (i + (size_t)deterministic) % 2 == 0) {
                check_sums(m, n, SPY_SHAPE(m, n), SPY_SHAPE(1, n), deterministic);
                check_sums(m, n, gpu_rank0(), SPY_SHAPE(m, 1), deterministic);
            }
        }
    }
}

static void test_sums_of_other_types(void **state) {
    NEEDS_DEVICE();
    enum { N = 100000 };
    // A half cannot count beyond 2,048: sums are made in float.
    spy_tensor *x = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(N), NULL, true), *w = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(), NULL, true), *r = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(N), NULL, true);
    OK(spy_tensor_fill(x, 0.5));
    OK(spy_tensor_fill(w, 2));
    OK(spy_tensor_fill(spy_tensor_grad(r), 0.125));
    OK(spy_call_backward(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r))));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    spy_tensor *wide = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_copy(wide, spy_tensor_grad(w)));
    HOLDS(wide, 3124); // 3,125, as a half has it
    // gradients in float of values in half, and the other way round
    d.shape = SPY_SHAPE(N);
    d.dtype = SPY_DTYPE_FLOAT16;
    d.grad_in = d.grad_out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), NULL, false);
    OK(spy_tensor_fill(d.grad_in, 0));
    spy_tensor *mixed = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(mixed, 0.5));
    OK(spy_call_backward(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", mixed), spy_arg_tensor("w", w), spy_arg_tensor("_result", r))));
    spy_tensor *end = spy_create_slice(d.grad_in, 0, N - 2, N, 1);
    HOLDS(end, 0.25, 0.25);
    double *xd = (double *)malloc(N * sizeof *xd), want = 0, got = 0;
    for (int i = 0; i < N; i++) xd[i] = 1e-7 * i + 1;
    for (int i = 0; i < N; i++) want += xd[i] * xd[i];
    spy_tensor *dx = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(N), xd, true), *dw = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(), NULL, true), *dr = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(N), NULL, true);
    OK(spy_tensor_fill(dw, 1));
    OK(spy_tensor_fill(spy_tensor_grad(dr), 1));
    OK(spy_call_backward(fn("poly_double"), SPY_ARGS(spy_arg_tensor("x", dx), spy_arg_tensor("w", dw), spy_arg_tensor("_result", dr))));
    OK(spy_tensor_read(spy_tensor_grad(dw), &got, sizeof got));
    assert_true(fabs(got - want) < 1e-9 * want);
    RELEASE(x, w, r, wide, d.grad_in, mixed, end, dx, dw, dr);
    free(xd);
}

// One tensor for two parameters, alike or turned; views of what has gradients.
static void test_shared_memory(void **state) {
    NEEDS_DEVICE();
    enum { N = 30 };
    float *data = wave(N * N);
    double want[N * N];
    spy_tensor *x = floats(SPY_SHAPE(N, N), data), *t = MADE(spy_tensor, spy_create_transpose(x, SPY_DIMS(1, 0))), *r = seeded(SPY_SHAPE(N, N));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", x), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N * N; i++) want[i] = 2 * (double)data[i];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", t), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i * N + j] = 2 * (double)data[j * N + i];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    OK(spy_tensor_zero_grad(x));
    // the first row for all of the matrix
    spy_tensor *row = MADE(spy_tensor, spy_create_select(x, 0, 0));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", row), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i * N + j] = (double)data[j];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) want[j] += (double)data[i * N + j];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    // every second column, from the last on
    spy_tensor *columns = MADE(spy_tensor, spy_create_slice(x, 1, SPY_INDEX_NONE, SPY_INDEX_NONE, -2)), *rc = seeded(SPY_SHAPE(N, N / 2));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", columns), spy_arg_f32("w", 3), spy_arg_tensor("_result", rc))));
    for (int i = 0; i < N * N; i++) want[i] = i % 2 ? 3 : 0;
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    // one element, stretched
    spy_tensor *one = floats(SPY_SHAPE(1), (float[]){ 2 }), *many = MADE(spy_tensor, spy_create_broadcast(one, SPY_SHAPE(N, N)));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("w", 3), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(one), 3.0 * N * N);
    // floats of a tensor of vectors
    spy_tensor *v = typed(SPY_DTYPE_DEFAULT, "float3", SPY_SHAPE(2), NULL, true), *flat = MADE(spy_tensor, spy_create_flat_view(v)), *r6 = seeded(SPY_SHAPE(2, 3));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", flat), spy_arg_f32("w", 3), spy_arg_tensor("_result", r6))));
    HOLDS(spy_tensor_grad(v), 3, 3, 3, 3, 3, 3);
    spy_tensor *plain = MADE(spy_tensor, spy_create_detached(x));
    assert_null(spy_tensor_grad(plain));
    RELEASE(x, t, r, row, columns, rc, one, many, v, flat, r6, plain);
    free(data);
}

// Gradients that come later, and other ones than a tensor's own.
static void test_attached(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 1, 2, 3 }, false), *r = floats(SPY_SHAPE(3), NULL);
    spy_tensor *ones = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 1, 1, 1 }, false), *sum = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 5, 5, 5 }, false);
    spy_tensor *fresh = MADE(spy_tensor, spy_create_attached(x, NULL, NULL, NULL)), *other = MADE(spy_tensor, spy_create_attached(r, ones, NULL, NULL)),
               *again = MADE(spy_tensor, spy_create_attached(fresh, NULL, sum, NULL));
    assert_null(spy_tensor_grad(x));
    assert_ptr_equal(spy_tensor_grad_in(other), ones);
    assert_null(spy_tensor_grad_out(other));
    assert_ptr_equal(spy_tensor_grad_out(again), sum);
    HOLDS(spy_tensor_grad(fresh), 0, 0, 0);
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", fresh), spy_arg_f32("w", 3), spy_arg_tensor("_result", other))));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", again), spy_arg_f32("w", 3), spy_arg_tensor("_result", other))));
    HOLDS(spy_tensor_grad(fresh), 3, 3, 3);
    HOLDS(sum, 8, 8, 8);
    HOLDS(spy_tensor_grad(r), 0, 0, 0); // its own is as it was
    OK(spy_tensor_write(x, (float[]){ 7, 8, 9 }, 12));
    HOLDS(again, 7, 8, 9); // the same memory
    spy_tensor *light = typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(2), NULL, false), *lit = MADE(spy_tensor, spy_create_attached(light, NULL, NULL, module));
    assert_string_equal(spy_get_tensor_info(spy_tensor_grad(lit)).type, spy_get_tensor_info(spy_tensor_grad(typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(1), NULL, true))).type);
    // refused
    spy_tensor *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false), *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    assert_null(spy_create_attached(ints, NULL, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_create_attached", "int", "no gradients");
    assert_null(spy_create_attached(light, NULL, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "Light", "module");
    assert_null(spy_create_attached(x, small, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "grad_in", "(3,)", "(2,)");
    assert_null(spy_create_attached(x, NULL, ints, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "grad_out", "float", "int");
    assert_null(spy_create_attached(NULL, NULL, NULL, NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    RELEASE(x, r, ones, sum, fresh, other, again, light, lit, ints, small);
}

// Explicit mappings: an outer product, a parameter turned against the result, vectors by trailing dimensions.
static void test_maps(void **state) {
    NEEDS_DEVICE();
    enum { A = 50, B = 70 };
    float *a = wave(A), *b = wave(B);
    double da[A] = { 0 }, db[B] = { 0 };
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++) da[i] += (double)b[j], db[j] += (double)a[i];
    spy_tensor *ta = floats(SPY_SHAPE(A), a), *tb = floats(SPY_SHAPE(B), b), *r = seeded(SPY_SHAPE(A, B)), *turned = seeded(SPY_SHAPE(B, A));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_vmap(spy_arg_tensor("x", ta), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("w", tb), SPY_DIMS(1)), spy_arg_tensor("_result", r))));
    HOLDS_ALL(spy_tensor_grad(ta), da, A);
    HOLDS_ALL(spy_tensor_grad(tb), db, B);
    OK(spy_tensor_zero_grad(ta));
    OK(spy_tensor_zero_grad(tb));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_vmap(spy_arg_tensor("x", ta), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("w", tb), SPY_DIMS(1)),
                                               spy_vmap(spy_arg_tensor("_result", turned), SPY_DIMS(1, 0)))));
    HOLDS_ALL(spy_tensor_grad(ta), da, A);
    HOLDS_ALL(spy_tensor_grad(tb), db, B);
    // pairs in fields
    float dk = 0;
    spy_arg k = spy_arg_diff_pair("k", SPY_ARGS(spy_arg_f32(NULL, 2), spy_inout_f32(NULL, &dk)));
    OK(spy_call_backward(fn("shade"), SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_f32("color", 1), spy_arg_f32("power", 1), spy_arg_i32("id", 1),
                                                                            spy_arg_struct("inner", SPY_ARGS(spy_arg_f32n("uv", (float[]){ 5, 6 }, 2), k)), spy_arg_f32("off", 0))),
                                               spy_arg_tensor("x", ta), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))));
    assert_float_equal(dk, 6 * A, 1e-3);
    RELEASE(ta, tb, r, turned);
    free(a), free(b);
}

// Where the element is, in dimensions that a sum walks in another order.
static void test_places(void **state) {
    NEEDS_DEVICE();
    enum { R = 40, C = 70 };
    float *x = wave(R * C), w[C];
    double dw[C] = { 0 }, dv[C] = { 0 };
    for (int i = 0; i < C; i++) w[i] = (float)i;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            dw[j] += (double)x[i * C + j] * (j + 10 * i);
            dv[j] += (double)x[i * C + j] * j;
        }
    spy_tensor *tx = floats(SPY_SHAPE(R, C), x), *tw = floats(SPY_SHAPE(C), w), *r = seeded(SPY_SHAPE(R, C));
    OK(spy_call_backward(fn("at_place"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_call_id("at"), spy_arg_tensor("_result", r))));
    expect_floats(spy_tensor_grad(tw), dw, C, 1e-4, __FILE__, __LINE__);
    for (int groups = 0; groups < 2; groups++) {
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        if (groups) o.call_group_shape = SPY_SHAPE(4, 8);
        if (groups) o.thread_group_size[0] = 96;
        OK(spy_tensor_zero_grad(tw));
        OK(spy_call_with(fn("where"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_tensor("_result", r)), &o));
        expect_floats(spy_tensor_grad(tw), dv, C, 1e-4, __FILE__, __LINE__);
    }
    RELEASE(tx, tw, r);
    free(x);
}

// >>tensors taken whole

static void test_whole(void **state) {
    NEEDS_DEVICE();
    enum { N = 20 };
    float x[N], w3[9];
    double g[3] = { 0 }, dx[N], by_row[3] = { 0 };
    for (int i = 0; i < N; i++) x[i] = (float)(i % 5);
    for (int i = 0; i < 9; i++) w3[i] = (float)i;
    for (int i = 0; i < N; i++) {
        g[i % 3] += (double)x[i] * 1;
        g[0] += (double)x[i] * (1 + i % 3);
        by_row[i % 3] += (double)x[i];
        dx[i] = 1 + i % 3;
    }
    spy_tensor *w = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *tx = floats(SPY_SHAPE(N), x), *r = seeded(SPY_SHAPE(N));
    spy_args args = SPY_ARGS(spy_arg_tensor("w", w), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r));
    OK(spy_call_backward(fn("gather"), args));
    HOLDS_ALL(spy_tensor_grad(w), g, 3);
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_backward(fn("gather_any"), args));
    HOLDS_ALL(spy_tensor_grad(w), by_row, 3);
    spy_tensor *vectors = floats(SPY_SHAPE(3, 3), w3);
    OK(spy_call_backward(fn("gather3"), SPY_ARGS(spy_arg_tensor("w", vectors), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(vectors), 0, by_row[0], 0, 0, by_row[1], 0, 0, by_row[2], 0);
    spy_tensor *same = floats(SPY_SHAPE(N), x), *o = floats(SPY_SHAPE(N), x);
    OK(spy_call_backward(fn("once"), SPY_ARGS(spy_arg_tensor("w", same), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    double each[N];
    for (int i = 0; i < N; i++) each[i] = (double)x[i];
    HOLDS_ALL(spy_tensor_grad(same), each, N);
    // one place for all threads of a wave, also when some of them do not come by
    double sum = 0, most = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        most += i % 3 == 0 ? 0 : (double)x[i];
        each[i] = 0;
    }
    OK(spy_tensor_zero_grad(same));
    OK(spy_call_backward(fn("uniform_"), SPY_ARGS(spy_arg_tensor("w", same), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    each[2] = sum;
    HOLDS_ALL(spy_tensor_grad(same), each, N);
    OK(spy_tensor_zero_grad(vectors));
    OK(spy_call_backward(fn("uniform3"), SPY_ARGS(spy_arg_tensor("w", vectors), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(vectors), 0, 0, 0, 0, most, 0, 0, 0, 0);
    // stores
    OK(spy_tensor_fill(spy_tensor_grad(o), 2));
    OK(spy_tensor_zero_grad(tx));
    OK(spy_call_backward(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = 4 * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    OK(spy_call(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] * (double)x[i];
    HOLDS_ALL(o, dx, N);
    OK(spy_tensor_fill(spy_tensor_grad(tx), 3));
    OK(spy_call_forward_diff(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = 6 * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(o), dx, N);
    // both
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    d.data = x;
    d.grad_in = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), x, false);
    d.grad_out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), x, false);
    spy_tensor *rw = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_zero_grad(tx));
    OK(spy_call_backward(fn("update"), SPY_ARGS(spy_arg_tensor("o", rw), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    for (int i = 0; i < N; i++) dx[i] += (double)x[i];
    HOLDS_ALL(d.grad_out, dx, N);
    // each element of the call its own row
    spy_tensor *rows = floats(SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *r2 = seeded(SPY_SHAPE(2));
    OK(spy_call_backward(fn("sum_row"), SPY_ARGS(spy_arg_tensor("w", rows), spy_arg_tensor("_result", r2))));
    HOLDS(spy_tensor_grad(rows), 2, 1, 1, 5, 4, 1);
    // forward mode, without a gradient, and beside sums in several passes, which must not count it again
    OK(spy_tensor_fill(spy_tensor_grad(w), 1));
    OK(spy_tensor_fill(spy_tensor_grad(tx), 1));
    OK(spy_call_forward_diff(fn("gather_any"), args));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] + 1 + i % 3;
    HOLDS_ALL(spy_tensor_grad(r), dx, N);
    spy_tensor *m = floats(SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *c = floats(SPY_SHAPE(3), (float[]){ 1, 1, 1 }), *q = floats(SPY_SHAPE(2, 1), (float[]){ 1, 1 }), *rm = seeded(SPY_SHAPE(2, 3));
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_backward(fn("whole"), SPY_ARGS(spy_arg_tensor("x", m), spy_arg_tensor("w", c), spy_arg_tensor("v", q), spy_arg_tensor("t", w), spy_arg_tensor("_result", rm))));
    HOLDS(spy_tensor_grad(c), 5, 7, 9);
    HOLDS(spy_tensor_grad(q), 6, 15);
    HOLDS(spy_tensor_grad(m), 1, 1, 1, 1, 1, 1);
    HOLDS(spy_tensor_grad(w), 21, 0, 0);
    RELEASE(w, tx, r, vectors, same, o, d.grad_in, d.grad_out, rw, rows, r2, m, c, q, rm);
}

// >>gradients that are stored

// Gradients of poly(x, w, b), all of one shape, which are stored over what `garbage` left there. The call is made
// several times, as calls that repeat take another path. Every second one has transposed tensors.
static void check_stored(int64_t rows, int64_t columns, float garbage) {
    size_t n = (size_t)(rows * columns);
    float *x = wave(n), *w = wave(n), *b = wave(n);
    double *dx = (double *)calloc(n, sizeof *dx), *dw = (double *)calloc(n, sizeof *dw), *db = (double *)calloc(n, sizeof *db);
    for (size_t i = 0; i < n; i++) {
        w[i] += 0.5f, b[i] -= 0.25f;
        dx[i] = 2 * (double)w[i] * x[i] + (double)b[i];
        dw[i] = (double)x[i] * x[i];
        db[i] = x[i];
    }
    spy_tensor *t[4] = { floats(SPY_SHAPE(rows, columns), x), floats(SPY_SHAPE(rows, columns), w), floats(SPY_SHAPE(rows, columns), b), seeded(SPY_SHAPE(rows, columns)) };
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.store_gradients = true;
    for (int turn = 0; turn < 5; turn++) {
        spy_tensor *way[4];
        for (int i = 0; i < 4; i++) way[i] = turn % 2 ? MADE(spy_tensor, spy_create_transpose(t[i], SPY_DIMS(1, 0))) : t[i];
        for (int i = 0; i < 3; i++) OK(spy_tensor_fill(spy_tensor_grad(t[i]), garbage));
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", way[0]), spy_arg_tensor("w", way[1]), spy_arg_tensor("b", way[2]), spy_arg_tensor("_result", way[3])), &o));
        HOLDS_ALL(spy_tensor_grad(t[0]), dx, n);
        HOLDS_ALL(spy_tensor_grad(t[1]), dw, n);
        HOLDS_ALL(spy_tensor_grad(t[2]), db, n);
        for (int i = 0; i < 4 && turn % 2; i++) spy_release_tensor(way[i]);
    }
    RELEASE(t[0], t[1], t[2], t[3]);
    free(x), free(w), free(b), free(dx), free(dw), free(db);
}

static void test_stored(void **state) {
    NEEDS_DEVICE();
    static const int64_t sizes[][2] = { { 1, 1 }, { 1, 5 }, { 7, 1 }, { 3, 4 }, { 33, 65 }, { 300, 500 }, { 1, 1024 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_stored(sizes[i][0], sizes[i][1], i % 2 ? NAN : 7.0f);
    // a call that adds, of the same function and tensors, is another kernel
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *w = floats(SPY_SHAPE(3), (float[]){ 1, 1, 2 }), *r = seeded(SPY_SHAPE(3));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    for (int turn = 0; turn < 4; turn++) {
        OK(spy_tensor_fill(spy_tensor_grad(x), 10));
        o.store_gradients = turn % 2;
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o));
        if (turn % 2) HOLDS(spy_tensor_grad(x), 3, 5, 13);
        else HOLDS(spy_tensor_grad(x), 13, 15, 23);
    }
    spy_tensor *half_x = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true), *half_w = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true), *half_r = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true);
    OK(spy_tensor_fill(half_x, 0.5));
    OK(spy_tensor_fill(half_w, 2));
    OK(spy_tensor_fill(spy_tensor_grad(half_r), 1));
    OK(spy_tensor_fill(spy_tensor_grad(half_x), 99));
    OK(spy_tensor_fill(spy_tensor_grad(half_w), 99));
    OK(spy_call_with(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", half_x), spy_arg_tensor("w", half_w), spy_arg_tensor("_result", half_r)), &o));
    spy_tensor *wide = floats(SPY_SHAPE(5), NULL);
    OK(spy_tensor_copy(wide, spy_tensor_grad(half_x)));
    HOLDS(wide, 2, 2, 2, 2, 2);
    OK(spy_tensor_copy(wide, spy_tensor_grad(half_w)));
    HOLDS(wide, 0.25, 0.25, 0.25, 0.25, 0.25);
    RELEASE(x, w, r, half_x, half_w, half_r, wide);
}

static void test_what_cannot_be_stored(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *w = floats(SPY_SHAPE(3), (float[]){ 1, 1, 2 }), *one = floats(SPY_SHAPE(1), (float[]){ 2 }), *r = seeded(SPY_SHAPE(3)), *r1 = seeded(SPY_SHAPE(1));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.store_gradients = true;
    OK(spy_tensor_fill(spy_tensor_grad(x), 10));
    for (int turn = 0; turn < 2; turn++) {
        // several elements have one place: w is broadcast; x is given twice; the function itself adds; the gradient is a number's
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", one), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "'w.grad' is a sum");
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "is a sum");
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("gather"), SPY_ARGS(spy_arg_tensor("w", x), spy_arg_call_id("i"), spy_arg_f32("x", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "added to");
        float own = 5;
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients");
        assert_float_equal(own, 5, 0);
        // the same shapes without what is shared
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", one), spy_arg_f32("w", 3), spy_arg_f32("b", 1), spy_arg_tensor("_result", r1)), &o));
        HOLDS(spy_tensor_grad(one), 13);
    }
    HOLDS(spy_tensor_grad(x), 10, 10, 10); // nothing was touched
    // a call without elements stores nothing
    spy_tensor *none = floats(SPY_SHAPE(0), NULL), *none_r = floats(SPY_SHAPE(0), NULL);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_tensor("w", one), spy_arg_f32("b", 1), spy_arg_tensor("_result", none_r)), &o), "store_gradients", "'w.grad'");
    OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_f32("w", 1), spy_arg_f32("b", 1), spy_arg_tensor("_result", none_r)), &o));
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients is given for a call that is recorded");
    spy_release_command_list(o.append_to);
    RELEASE(x, w, one, r, r1, none, none_r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums), cmocka_unit_test(test_sums_of_other_types), cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_places), cmocka_unit_test(test_maps), cmocka_unit_test(test_whole),
        cmocka_unit_test(test_attached), cmocka_unit_test(test_stored), cmocka_unit_test(test_what_cannot_be_stored),
    };
    return RUN_GRADIENT_TESTS(tests);
}
