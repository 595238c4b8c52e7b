// Calls on the null backend, where every piece of recorded work can be looked at: barriers, blocks, variants, the plan cache,
// memory that is released while work is under way, and failures on order. Kernels are compiled for real and never run.
#include "spy_test.h"
#include "hold_slang.h"
#include "malloc_count.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "call/call.h"
#include "api/gradient.h"
#endif

static const char source[] = "float f(float x) { return x + 1; }\n"
                             "float g(float x, float y) { return x + y; }\n"
                             "float4 f4(float4 x) { return x; }\n"
                             "int8_t b(int8_t x) { return x; }\n"
                             "void upd(inout float x) { x += 1; }\n"
                             "extern static const float scale = 1;\n"
                             "float scaled(float x) { return x * scale; }\n"
                             "void set(uint t : SV_DispatchThreadID, float* p, float v) { p[t] = v; }\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                             "void own(uint t : SV_DispatchThreadID, uniform float* p, uniform float v) { p[t] = v; }\n"
                             "T sumv<T : IArithmetic, let N : int>(vector<T, N> v) { return v[0]; }\n"
                             "uniform float gain;\nfloat gained(float x) { return x * gain; }\n"
                             "[Differentiable] float times(float x, float w) { return x * w; }\n"
                             "float mat(float4x4 m, float4x4 n, float x) { return m[0][0] + n[0][0] + x; }\n";

#include "null_bench.h"

static spy_tensor *tensor_of(bench *t, spy_dtype dtype, spy_shape shape) { // no data: no upload
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.dtype = dtype;
    spy_tensor *x = spy_create_tensor(t->device, &d);
    if (!x) fail_msg("%s", spy_take_error(t->device).message);
    return x;
}
static spy_tensor *floats(bench *t, int64_t n) { return tensor_of(t, SPY_DTYPE_FLOAT32, SPY_SHAPE(n)); }

static void run(bench *t, spy_tensor *from, spy_tensor *to) { // to = f(from)
    good(t, spy_call(fn(t, "f"), SPY_ARGS(spy_arg_tensor("x", from), spy_arg_tensor("_result", to))));
}

static const spyi_null_op *last_op(bench *t) {
    size_t n = spyi_null_op_count(t->device->gpu);
    assert_true(n > 0);
    return spyi_null_get_op(t->device->gpu, n - 1);
}

// The kernel's first comment: "flat, 1 dimension, ...".
static const char *variant_of(bench *t, const char *function, spy_args args) {
    static char text[65536];
    size_t n = spy_explain_call(fn(t, function), args, NULL, text, sizeof text);
    assert_true(n < sizeof text);
    const char *line = strstr(text, "\n// ");
    line = line ? strstr(line + 1, "\n// ") : NULL;
    if (!line) fail_msg("no kernel: %s", text);
    return line + 4;
}
static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }
static bool line_has(const char *text, const char *part) {
    const char *end = strchr(text, '\n'), *at = strstr(text, part);
    return at && (!end || at < end);
}

// >>barriers

static void test_barriers(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 64), *b = floats(&t, 64), *c = floats(&t, 64), *d = floats(&t, 64), *e = floats(&t, 64), *g = floats(&t, 64);
    uint64_t before = spy_get_device_stats(t.device).barriers;
    run(&t, a, b);
    assert_false(last_op(&t)->barrier);
    run(&t, c, d); // independent
    assert_false(last_op(&t)->barrier);
    run(&t, a, g); // two readers of a
    assert_false(last_op(&t)->barrier);
    run(&t, b, e); // read after write
    assert_true(last_op(&t)->barrier);
    run(&t, d, floats(&t, 64)); // d was written before that barrier
    assert_false(last_op(&t)->barrier);
    run(&t, a, e); // write after write
    assert_true(last_op(&t)->barrier);
    run(&t, c, g); // g was written before both
    assert_false(last_op(&t)->barrier);
    run(&t, b, a); // a was read since the last barrier: write after read
    assert_true(last_op(&t)->barrier);
    // In place: one dispatch after another on one tensor.
    good(&t, spy_call(fn(&t, "upd"), SPY_ARGS(spy_arg_tensor("x", c))));
    assert_false(last_op(&t)->barrier); // c was read before the last barrier only
    good(&t, spy_call(fn(&t, "upd"), SPY_ARGS(spy_arg_tensor("x", c))));
    assert_true(last_op(&t)->barrier);
    assert_int_equal(spy_get_device_stats(t.device).barriers - before, 4);
    assert_int_equal(spy_get_device_stats(t.device).dispatches, 10);
    close_bench(&t);
}

static void test_barriers_of_storage(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 16), *x = floats(&t, 256), *low = spy_create_slice(x, 0, 0, 16, 1), *next = spy_create_slice(x, 0, 16, 32, 1), *across = spy_create_slice(x, 0, 8, 24, 1);
    run(&t, a, low);
    assert_false(last_op(&t)->barrier);
    run(&t, a, next); // the same storage, other bytes
    assert_false(last_op(&t)->barrier);
    run(&t, across, floats(&t, 16)); // both of them, by another view
    assert_true(last_op(&t)->barrier);
    // A released tensor's memory goes to the next tensor of that size: the old use still counts.
    spy_tensor *old = floats(&t, 5000);
    spyi_storage *storage = old->storage;
    spy_tensor *big = floats(&t, 5000);
    run(&t, big, old);
    spy_release_tensor(old);
    spy_tensor *fresh = floats(&t, 5000);
    assert_ptr_equal(fresh->storage, storage);
    run(&t, big, fresh);
    assert_true(last_op(&t)->barrier);
    // Uploads and fills are work like any other.
    float data[16] = { 0 };
    run(&t, a, low);
    good(&t, spy_tensor_write(low, data, sizeof data));
    assert_true(last_op(&t)->barrier);
    run(&t, low, next);
    assert_true(last_op(&t)->barrier);
    good(&t, spy_tensor_fill(next, 3));
    assert_true(last_op(&t)->barrier);
    close_bench(&t);
}

// Every pair of random calls: a barrier where needed and nowhere else, against a model that keeps bytes, not ranges.
static void test_barriers_at_random(void **state) {
    enum { TENSORS = 5, ELEMENTS = 64 };
    bench t;
    uint32_t seed = 12345;
    bool read[TENSORS][ELEMENTS], written[TENSORS][ELEMENTS];
    size_t extra = 0, needed = 0;
    (void)state;
    open_plain(&t);
    spy_tensor *x[TENSORS];
    for (int i = 0; i < TENSORS; i++) x[i] = floats(&t, ELEMENTS);
    memset(read, 0, sizeof read);
    memset(written, 0, sizeof written);
    for (size_t k = 0; k < test_count(5000); k++) {
        uint32_t r[4];
        for (int i = 0; i < 4; i++) r[i] = (seed = seed * 1664525u + 1013904223u) >> 12;
        int from = (int)(r[0] % TENSORS), to = (int)(r[1] % TENSORS);
        int64_t n = 4 * (1 + r[2] % 4), f0 = 4 * (int64_t)(r[3] % 12), t0 = 4 * (int64_t)((r[3] >> 8) % 12);
        if (from == to) continue;
        spy_tensor *in = spy_create_slice(x[from], 0, f0, f0 + n, 1), *out = spy_create_slice(x[to], 0, t0, t0 + n, 1);
        run(&t, in, out);
        bool need = false;
        for (int64_t i = 0; i < n; i++) need = need || written[from][f0 + i] || written[to][t0 + i] || read[to][t0 + i];
        bool got = last_op(&t)->barrier;
        if (need) assert_true(got);
        needed += need;
        extra += got && !need;
        if (got) {
            memset(read, 0, sizeof read);
            memset(written, 0, sizeof written);
        }
        for (int64_t i = 0; i < n; i++) read[from][f0 + i] = written[to][t0 + i] = true;
        spy_release_tensor(in);
        spy_release_tensor(out);
    }
    // Ranges are kept as one interval for a storage: some extra barriers are its price.
    print_message("%zu barriers needed, %zu more than needed\n", needed, extra);
    assert_true(extra < needed / 4 + 4);
    close_bench(&t);
}

// >>blocks and dispatches

static bool block_holds(const spyi_null_op *op, const void *bytes, size_t size) {
    for (size_t i = 0; i + size <= op->block_size; i += 4)
        if (memcmp((const char *)op->block + i, bytes, size) == 0) return true;
    return false;
}

static void test_blocks(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *x = floats(&t, 1000), *out = floats(&t, 1000);
    float y = 2.5f;
    uint32_t count = 1000;
    good(&t, spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", y), spy_arg_tensor("_result", out))));
    const spyi_null_op *op = last_op(&t);
    assert_int_equal(op->kind, SPYI_NULL_DISPATCH);
    assert_true(op->block_size <= 128 && !op->block_by_address);
    assert_true(block_holds(op, &y, 4) && block_holds(op, &count, 4));
    assert_int_equal(op->groups[0] * op->group_size >= 1000 / 4, true);
    if (op->binding_count == 0) { // by pointers: both addresses travel in the block
        uint64_t address = x->storage->chunk.address + x->storage->offset;
        assert_true(block_holds(op, &address, 8));
    }
    float m[16] = { 7 }, n[16] = { 8 };
    good(&t, spy_call(fn(&t, "mat"), SPY_ARGS(spy_arg_array("m", m, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_array("n", n, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    op = last_op(&t);
    assert_true(op->block_size >= 128 + 4 && op->block_by_address);
    assert_true(block_holds(op, m, 64) && block_holds(op, n, 64));
    close_bench(&t);
}

static void test_folding(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.max_group_count = 7;
    open_with(&t, &d, NULL);
    static const int64_t counts[] = { 1, 255, 256, 257, 7 * 256, 7 * 256 + 1, 20 * 256 + 3, 49 * 256 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        spy_tensor *x = floats(&t, counts[i]);
        run(&t, x, floats(&t, counts[i]));
        const spyi_null_op *op = last_op(&t);
        uint64_t threads = (uint64_t)op->groups[0] * op->groups[1] * op->groups[2] * op->group_size;
        assert_true(op->groups[0] <= 7 && op->groups[1] <= 7 && op->groups[2] <= 7);
        assert_true(threads >= (uint64_t)counts[i]);
        assert_true(threads < (uint64_t)counts[i] + 8 * op->group_size); // no more than a row too many
        if (op->groups[1] > 1) { // its width is in the block
            uint32_t row = op->groups[0] * op->group_size;
            assert_true(block_holds(op, &row, 4));
        }
    }
    close_bench(&t);
}

// >>variants

static void test_variants(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    open_with(&t, &d, NULL); // a GPU: pointers, wide from 65,536 elements on
#define F_ARGS(in, out) SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("_result", out))
    spy_tensor *small = floats(&t, 65532), *large = floats(&t, 65540), *o1 = floats(&t, 65532), *o2 = floats(&t, 65540);
    assert_true(starts(variant_of(&t, "f", F_ARGS(small, o1)), "flat, 1 dimension"));
    assert_true(starts(variant_of(&t, "f", F_ARGS(large, o2)), "wide, 1 dimension"));
    assert_true(line_has(variant_of(&t, "f", F_ARGS(large, o2)), "pointers"));
    // One element off the grid of vectors: flat.
    spy_tensor *off = spy_create_slice(floats(&t, 65541), 0, 1, 65541, 1);
    assert_true(starts(variant_of(&t, "f", F_ARGS(large, off)), "flat"));
    spy_tensor *every = spy_create_slice(floats(&t, 200), 0, 0, 200, 2), *hundred = floats(&t, 100);
    assert_true(starts(variant_of(&t, "f", F_ARGS(every, hundred)), "strided, 1 dimension"));
    // Three contiguous dimensions collapse to one; a transposed one does not; sizes of 1 disappear.
    spy_tensor *c3 = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(4, 1, 5, 6)), *c3o = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(4, 1, 5, 6));
    assert_true(starts(variant_of(&t, "f", F_ARGS(c3, c3o)), "flat, 1 dimension"));
    spy_tensor *turned = spy_create_transpose(c3, SPY_DIMS(2, 1, 0, 3)), *to = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 1, 4, 6));
    assert_true(starts(variant_of(&t, "f", F_ARGS(turned, to)), "strided, 3 dimensions"));
    assert_true(starts(variant_of(&t, "f", SPY_ARGS(spy_arg_f32("x", 1), spy_arg_tensor("_result", spy_create_select(hundred, 0, 3)))), "one element, 0 dimensions"));
#ifndef __SANITIZE_THREAD__ // which needs four bytes of its own for each of these
    // Offsets beyond 2^31 elements.
    spy_tensor *huge = tensor_of(&t, SPY_DTYPE_INT8, SPY_SHAPE(((int64_t)1 << 31) + 8)), *two = spy_create_slice(huge, 0, 0, ((int64_t)1 << 31) + 8, ((int64_t)1 << 31) - 8), *bo = tensor_of(&t, SPY_DTYPE_INT8, SPY_SHAPE(2));
    assert_int_equal(spy_get_tensor_info(two).shape.dims[0], 2);
    assert_false(line_has(variant_of(&t, "b", F_ARGS(two, bo)), "64-bit"));
    spy_tensor *far2 = spy_create_slice(huge, 0, 0, ((int64_t)1 << 31) + 8, (int64_t)1 << 31);
    assert_true(line_has(variant_of(&t, "b", F_ARGS(far2, bo)), "64-bit offsets"));
#endif
    close_bench(&t);
    // A device that likes structured buffers, and one without pointers.
    d = defaults();
    d.prefers_bindings = true;
    open_with(&t, &d, NULL);
    spy_tensor *x = floats(&t, 8), *y = floats(&t, 8);
    assert_true(starts(variant_of(&t, "f", F_ARGS(x, y)), "wide"));
    assert_true(line_has(variant_of(&t, "f", F_ARGS(x, y)), "structured buffers"));
    x = floats(&t, 7);
    y = floats(&t, 7);
    assert_true(starts(variant_of(&t, "f", F_ARGS(x, y)), "flat"));
    run(&t, x, y);
    assert_int_equal(last_op(&t)->binding_count, 2);
    close_bench(&t);
    // Large arrays by buffers, small ones by pointers.
    d = defaults();
    d.bindings_from_bytes = 4096;
    open_with(&t, &d, NULL);
    x = floats(&t, 1024);
    y = floats(&t, 1024);
    assert_true(line_has(variant_of(&t, "f", F_ARGS(x, y)), "structured buffers"));
    x = floats(&t, 1023);
    y = floats(&t, 1023);
    assert_true(line_has(variant_of(&t, "f", F_ARGS(x, y)), "pointers"));
    close_bench(&t);
}

// Without pointers there are only structured buffers, however small the arrays are.
static void test_no_pointers(void **state) {
    bench t;
    spyi_null_desc d;
    spy_tensor *x, *y;
    (void)state;
    d = defaults();
    d.bindings_only = true;
    d.max_binding_bytes = 4096;
    open_with(&t, &d, NULL);
    x = floats(&t, 1024);
    y = floats(&t, 1024);
    run(&t, x, y);
    spy_tensor *x2 = floats(&t, 1025), *y2 = floats(&t, 1025);
    assert_int_equal(spy_call(fn(&t, "f"), F_ARGS(x2, y2)), SPY_ERROR_UNSUPPORTED);
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_UNSUPPORTED);
    close_bench(&t);
}

// >>the plan cache

static spy_status by_rank(bench *t, uint32_t rank) { // a signature of its own for each rank
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.rank = rank;
    for (uint32_t i = 0; i < rank; i++) shape.dims[i] = 2;
    spy_tensor *x = tensor_of(t, SPY_DTYPE_FLOAT32, shape), *out = NULL;
    spy_status s = spy_call(fn(t, "f"), SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", &out)));
    spy_release_tensor(x);
    spy_release_tensor(out);
    return s;
}

static void test_eviction(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    spy_device_desc more;
    (void)state;
    memset(&more, 0, sizeof more);
    more.max_plans = 4;
    open_with(&t, &d, &more);
    for (uint32_t r = 1; r <= 6; r++) good(&t, by_rank(&t, r));
    spy_device_stats s = spy_get_device_stats(t.device);
    assert_int_equal(s.plans_built, 6);
    assert_int_equal(s.plan_hits, 0);
    assert_int_equal(s.plan_count, 4);
    for (uint32_t r = 3; r <= 6; r++) good(&t, by_rank(&t, r)); // the last four are there
    assert_int_equal(spy_get_device_stats(t.device).plan_hits, 4);
    assert_int_equal(spy_get_device_stats(t.device).plans_built, 6);
    good(&t, by_rank(&t, 1)); // pushes out 3, the least recently used
    good(&t, by_rank(&t, 4));
    assert_int_equal(spy_get_device_stats(t.device).plans_built, 7);
    good(&t, by_rank(&t, 3));
    assert_int_equal(spy_get_device_stats(t.device).plans_built, 8);
    assert_int_equal(spy_get_device_stats(t.device).plan_count, 4);
    // Kernels go with their plans.
    good(&t, spy_wait(t.device));
    good(&t, by_rank(&t, 2));
    assert_true(spyi_null_get_counts(t.device->gpu).kernels <= 5);
    close_bench(&t);
}

static void test_generic_sizes(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    for (int round = 0; round < 3; round++)
        for (int64_t n = 2; n <= 4; n++) {
            spy_tensor *v = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, n)), *out = NULL;
            good(&t, spy_call(fn(&t, "sumv"), SPY_ARGS(spy_arg_tensor("v", v), spy_out_tensor("_result", &out))));
            spy_release_tensor(v);
            spy_release_tensor(out);
        }
    spy_device_stats s = spy_get_device_stats(t.device);
    assert_int_equal(s.plans_built, 3); // one for each N
    assert_int_equal(s.plan_hits, 6);
    // Another number of rows is no other plan.
    spy_tensor *v = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(77, 3)), *out = NULL;
    good(&t, spy_call(fn(&t, "sumv"), SPY_ARGS(spy_arg_tensor("v", v), spy_out_tensor("_result", &out))));
    assert_int_equal(spy_get_device_stats(t.device).plans_built, 3);
    close_bench(&t);
    // The smallest cache still works, with redirects in it.
    spyi_null_desc d = defaults();
    spy_device_desc more;
    memset(&more, 0, sizeof more);
    more.max_plans = 1;
    open_with(&t, &d, &more);
    for (int i = 0; i < 12; i++) {
        v = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 2 + i % 3));
        good(&t, spy_call(fn(&t, "sumv"), SPY_ARGS(spy_arg_tensor("v", v), spy_out_tensor("_result", &out))));
        good(&t, by_rank(&t, 1 + (uint32_t)i % 2));
    }
    close_bench(&t);
}

// >>steady state

static void test_no_allocations(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.no_log = true;
    open_with(&t, &d, NULL);
    spy_tensor *x = floats(&t, 1000), *y = floats(&t, 1000),
               *v = tensor_of(&t, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 3));
    spy_tensor *strided = spy_create_slice(x, 0, 0, 1000, 10), *hundred = floats(&t, 100), *made = NULL, *five = floats(&t, 5);
    spy_function *g = fn(&t, "g"), *sumv = fn(&t, "sumv"), *gained = fn(&t, "gained");
    spy_call_options options;
    memset(&options, 0, sizeof options);
    float r;
    size_t before = 0;
    spy_device_stats first;
    memset(&first, 0, sizeof first);
    for (int i = 0; i < 2000; i++) {
        if (i == 1500) { // 1,024 dead headers are made before they are used again
            first = spy_get_device_stats(t.device);
#if TEST_COUNTS_MALLOC
            before = malloc_calls;
#endif
        }
        spy_status s = spy_call(g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", (float)i), spy_arg_tensor("_result", y)));
        s |= spy_call(g, SPY_ARGS(spy_arg_tensor("x", strided), spy_arg_f32("y", 2), spy_arg_tensor("_result", hundred)));
        s |= spy_call(g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 2), spy_out_tensor("_result", &made)));
        spy_release_tensor(made);
        s |= spy_call(g, SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 2), spy_out_f32("_result", &r)));
        s |= spy_call(sumv, SPY_ARGS(spy_arg_tensor("v", v), spy_arg_tensor("_result", five))); // found through its sizes
        options.globals = SPY_ARGS(spy_arg_f32("gain", (float)i));
        s |= spy_call_with(gained, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)), &options);
        good(&t, s);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.plan_hits - first.plan_hits, 3000);
    assert_int_equal(last.dispatches - first.dispatches, 3000);
    assert_int_equal(last.driver_allocations, first.driver_allocations);
    assert_int_equal(last.pool_bytes, first.pool_bytes);
#if TEST_COUNTS_MALLOC
    // The null backend writes each dispatch down in a block of its own: one each, and none of ours.
    assert_int_equal(malloc_calls - before, last.dispatches - first.dispatches);
#else
    (void)before;
    print_message("skipped: malloc is not counted in this build\n");
#endif
    close_bench(&t);
}

// The same for calls with options and for dispatches, direct and indirect; nothing is compiled again either.
// Backward calls in one pass, in several, and with sums that a second dispatch finishes.
static void test_no_allocations_backward(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.no_log = true;
    open_with(&t, &d, NULL);
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.with_grad = true;
    spy_tensor *x[2], *w[3], *r[2];
    for (int i = 0; i < 2; i++) {
        desc.shape = i ? SPY_SHAPE(30, 40) : SPY_SHAPE(100000);
        x[i] = spy_create_tensor(t.device, &desc);
        r[i] = spy_create_tensor(t.device, &desc);
    }
    desc.shape = SPY_SHAPE(1);
    w[0] = spy_create_tensor(t.device, &desc);
    desc.shape = SPY_SHAPE(40);
    w[1] = spy_create_tensor(t.device, &desc);
    desc.shape = SPY_SHAPE(30, 1);
    w[2] = spy_create_tensor(t.device, &desc);
    spy_function *times = fn(&t, "times");
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.mode = SPY_CALL_MODE_BACKWARD;
    options.deterministic = true;
    size_t before = 0;
    spy_device_stats first;
    memset(&first, 0, sizeof first);
    for (int i = 0; i < 1000; i++) {
        if (i == 600) { // the null backend's own list has grown
            first = spy_get_device_stats(t.device);
#if TEST_COUNTS_MALLOC
            before = malloc_calls;
#endif
        }
        spy_status s = spy_call(times, SPY_ARGS(spy_arg_tensor("x", x[0]), spy_arg_tensor("w", w[0]), spy_arg_tensor("_result", r[0])));
        s |= spy_call_backward(times, SPY_ARGS(spy_arg_tensor("x", x[0]), spy_arg_f32("w", (float)i), spy_arg_tensor("_result", r[0])));
        s |= spy_call_backward(times, SPY_ARGS(spy_arg_tensor("x", x[1]), spy_arg_tensor("w", w[1]), spy_arg_tensor("_result", r[1])));
        s |= spy_call_backward(times, SPY_ARGS(spy_arg_tensor("x", w[2]), spy_arg_tensor("w", w[1]), spy_arg_tensor("_result", r[1])));
        s |= spy_call_with(times, SPY_ARGS(spy_arg_tensor("x", x[0]), spy_arg_tensor("w", w[0]), spy_arg_tensor("_result", r[0])), &options);
        s |= spy_call_forward_diff(times, SPY_ARGS(spy_arg_tensor("x", x[0]), spy_arg_tensor("w", w[0]), spy_arg_tensor("_result", r[0])));
        good(&t, s);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.dispatches - first.dispatches, 400 * (1 + 1 + 1 + 2 + 2 + 1));
    assert_int_equal(last.driver_allocations, first.driver_allocations);
    assert_int_equal(last.pool_bytes, first.pool_bytes);
    assert_true(last.submits - first.submits <= 400);
#if TEST_COUNTS_MALLOC
    assert_int_equal(malloc_calls - before, last.dispatches - first.dispatches);
#else
    (void)before;
#endif
    close_bench(&t);
}

// What a gradient is summed with, by device and type: float atomics only where the device says that it has them, and only for
// floats; else a second dispatch adds up what the first has left.
static void test_gradient_sums(void **state) {
    (void)state;
    for (int atomics = 0; atomics < 2; atomics++) {
        bench t;
        spyi_null_desc d = defaults();
        d.features = ~0u;
        if (!atomics) d.features &= ~(uint32_t)SPY_FEATURE_ATOMIC_FLOAT32_ADD;
        open_with(&t, &d, NULL);
        for (int half = 0; half < 2; half++) {
            spy_tensor_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.with_grad = true;
            desc.shape = SPY_SHAPE(1000000);
            spy_tensor *x = spy_create_tensor(t.device, &desc), *r = spy_create_tensor(t.device, &desc);
            desc.shape = SPY_SHAPE(1);
            desc.dtype = half ? SPY_DTYPE_FLOAT16 : SPY_DTYPE_FLOAT32;
            spy_tensor *w = spy_create_tensor(t.device, &desc);
            for (int deterministic = 0; deterministic < 2; deterministic++) {
                static char text[20000];
                spy_call_options options;
                memset(&options, 0, sizeof options);
                options.mode = SPY_CALL_MODE_BACKWARD;
                options.deterministic = deterministic;
                spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r));
                bool adds = atomics && !half && !deterministic;
                uint64_t before = spy_get_device_stats(t.device).dispatches;
                spy_explain_call(fn(&t, "times"), args, &options, text, sizeof text);
                assert_int_equal(strstr(text, "InterlockedAdd") != NULL, adds);
                assert_int_equal(strstr(text, "w_grad__sums") != NULL, !adds);
                good(&t, spy_call_with(fn(&t, "times"), args, &options));
                assert_int_equal(spy_get_device_stats(t.device).dispatches - before, adds ? 1 : 2);
            }
        }
        close_bench(&t);
    }
}

static void test_no_allocations_with(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.no_log = true;
    open_with(&t, &d, NULL);
    spy_tensor *x = floats(&t, 960), *y = floats(&t, 960),
               *groups = tensor_of(&t, SPY_DTYPE_UINT32, SPY_SHAPE(3));
    spy_function *scaled = fn(&t, "scaled"), *set = fn(&t, "set"), *own = fn(&t, "own");
    const uint32_t counts[3] = { 2, 1, 1 };
    good(&t, spy_tensor_write(groups, counts, sizeof counts));
    spy_arg constant = spy_arg_f32("scale", 3);
    spy_call_options with, tiles, counted, wide_groups;
    memset(&with, 0, sizeof with);
    with.constants.items = &constant;
    with.constants.count = 1;
    with.prelude = "// nothing";
    tiles = counted = wide_groups = with;
    tiles.call_group_shape = SPY_SHAPE(7);
    wide_groups.thread_group_size[0] = 128;
    spy_device_stats first;
    size_t before = 0;
    memset(&first, 0, sizeof first);
    for (int i = 0; i < 1400; i++) {
        if (i == 1200) { // what the null backend keeps has grown to its size
            first = spy_get_device_stats(t.device);
#if TEST_COUNTS_MALLOC
            before = malloc_calls;
#endif
        }
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
        spy_args set_args = SPY_ARGS(spy_arg_tensor("p", x), spy_arg_f32("v", (float)i));
        spy_uint3 threads = { 1 + (uint32_t)i, 1, 1 };
        spy_status s = spy_call_with(scaled, args, &with);
        s |= spy_call_with(scaled, args, &tiles);
        s |= spy_call_with(scaled, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)), &wide_groups);
        counted.thread_count = SPY_SHAPE(960);
        s |= spy_call_with(scaled, args, &counted);
        s |= spy_dispatch(set, threads, set_args, NULL);
        s |= spy_dispatch(set, threads, set_args, &wide_groups);
        s |= spy_dispatch(own, threads, set_args, NULL);
        s |= spy_dispatch_indirect(set, groups, 0, set_args, NULL);
        s |= spy_dispatch_indirect(own, groups, 0, set_args, NULL);
        good(&t, s);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.plan_hits - first.plan_hits, 9 * 200);
    assert_int_equal(last.dispatches - first.dispatches, 9 * 200);
    assert_int_equal(last.kernels_built, first.kernels_built);
    assert_int_equal(last.kernels_built, 8); // a shader is one whoever counts its groups
    assert_int_equal(last.driver_allocations, first.driver_allocations);
#if TEST_COUNTS_MALLOC
    assert_int_equal(malloc_calls - before, last.dispatches - first.dispatches);
#else
    (void)before;
    print_message("skipped: malloc is not counted in this build\n");
#endif
    close_bench(&t);
}

// >>work under way

static void test_release_while_held(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    spy_device_desc more;
    (void)state;
    memset(&more, 0, sizeof more);
    more.max_plans = 2;
    d.hold_submits = true;
    open_with(&t, &d, &more);
    // Tensors and plans go while nothing has finished: the null backend reports what is freed too early.
    for (uint32_t r = 1; r <= 6; r++) {
        good(&t, by_rank(&t, r));
        spy_flush(t.device);
    }
    spy_tensor *x = floats(&t, 1 << 19), *y = floats(&t, 1 << 19); // chunks of their own
    run(&t, x, y);
    spy_submit_id id = spy_flush(t.device);
    assert_true(id > 0);
    assert_false(spy_is_submit_finished(t.device, id));
    assert_int_equal(spy_wait_for_submit(t.device, id, 1000), SPY_ERROR_NOT_READY);
    assert_int_equal(spy_take_error(t.device).code, SPY_OK); // an answer, not an error
    spy_release_tensor(x);
    spy_release_tensor(y);
    spyi_null_finish(t.device->gpu, id);
    assert_true(spy_is_submit_finished(t.device, id));
    good(&t, spy_trim(t.device));
    assert_int_equal(spy_get_device_stats(t.device).used_bytes, 0);
    x = floats(&t, 1 << 19);
    y = floats(&t, 1 << 19);
    run(&t, x, y);
    spy_release_tensor(x);
    spy_release_tensor(y);
    good(&t, spy_trim(t.device)); // waits by itself
    x = floats(&t, 100);
    run(&t, x, floats(&t, 100)); // and the device goes with work recorded, flushed and not
    spy_flush(t.device);
    run(&t, x, floats(&t, 100));
    close_bench(&t);
}

static void stand_in(spyi_gpu *gpu, const spyi_null_op *op, void *user) { // stores `user` where the only result goes
    void *to;
    uint64_t address;
    if (op->binding_count) {
        to = spyi_null_memory(gpu, op->bindings[0].handle, op->bindings[0].offset);
    } else {
        memcpy(&address, op->block, 8); // addresses come first
        to = (void *)(uintptr_t)address;
    }
    assert_non_null(to);
    memcpy(to, user, 4);
}

static void test_results_wait(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    float stored = 42.5f, got = 0;
    (void)state;
    d.hold_submits = true;
    open_with(&t, &d, NULL);
    spyi_null_on_dispatch(t.device->gpu, stand_in, &stored);
    good(&t, spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 2), spy_out_f32("_result", &got))));
    assert_true(got == 42.5f); // written when the held submit was waited for
    close_bench(&t);
}

// >>failures

static void lose_device(spyi_null_step step) {
    bench t;
    {
        float r = 5, data[64];
        open_plain(&t);
        spy_tensor *x = floats(&t, 64), *y = floats(&t, 64), *made = NULL;
        run(&t, x, y);
        good(&t, spy_wait(t.device));
        spyi_null_fail(t.device->gpu, step, 0, SPY_ERROR_DEVICE_LOST);
        spy_status s = spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", y)));
        if (s == SPY_OK) s = spy_wait(t.device);
        assert_int_equal(s, SPY_ERROR_DEVICE_LOST);
        spy_error e = spy_take_error(t.device);
        assert_int_equal(e.code, SPY_ERROR_DEVICE_LOST);
        if (!strstr(e.message, "g")) print_error("%s\n", e.message);
        print_message("the text: %s\n", e.message);
        // All that follows says so, and nothing crashes or waits for ever.
        assert_int_equal(spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("y", 1), spy_out_f32("_result", &r))), SPY_ERROR_DEVICE_LOST);
        assert_true(r == 5);
        assert_int_equal(spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_out_tensor("_result", &made))), SPY_ERROR_DEVICE_LOST);
        assert_null(made);
        assert_int_equal(spy_tensor_read(y, data, sizeof data), SPY_ERROR_DEVICE_LOST);
        assert_int_equal(spy_tensor_write(y, data, sizeof data), SPY_ERROR_DEVICE_LOST);
        assert_int_equal(spy_wait(t.device), SPY_ERROR_DEVICE_LOST);
        assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_DEVICE_LOST);
        spy_release_tensor(x);
        close_bench(&t);
    }
}

static void test_device_lost(void **state) {
    (void)state;
    lose_device(SPYI_NULL_STEP_SUBMIT);
}

static void test_device_lost_recording(void **state) {
    (void)state;
    lose_device(SPYI_NULL_STEP_RECORD);
}

// A call that fails while it is recorded took its barrier with it: the next one needs one still.
static void test_barrier_after_failure(void **state) {
    bench t;
    float data[64] = { 0 };
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 64), *b = floats(&t, 64), *c = floats(&t, 64), *d = floats(&t, 64);
    run(&t, c, d); // both kernels are there
    good(&t, spy_call(fn(&t, "g"), SPY_ARGS(spy_arg_tensor("x", c), spy_arg_f32("y", 1), spy_arg_tensor("_result", a))));
    run(&t, a, b); // writes b
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_OUT_OF_MEMORY);
    assert_int_equal(spy_call(fn(&t, "f"), SPY_ARGS(spy_arg_tensor("x", b), spy_arg_tensor("_result", floats(&t, 64)))), SPY_ERROR_OUT_OF_MEMORY);
    (void)spy_take_error(t.device);
    run(&t, b, floats(&t, 64)); // reads b
    assert_true(last_op(&t)->barrier);
    // The same for an upload that fails.
    run(&t, c, b);
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_OUT_OF_MEMORY);
    assert_int_equal(spy_tensor_write(b, data, sizeof data), SPY_ERROR_OUT_OF_MEMORY);
    (void)spy_take_error(t.device);
    run(&t, b, floats(&t, 64));
    assert_true(last_op(&t)->barrier);
    close_bench(&t);
}

// That the text of a lost device names the batch and its kernels is the backend's: test_vk_backend_submits looks at it.

static void test_failures(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *x = floats(&t, 64), *made = NULL;
    float r = 5;
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", &made));
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_KERNEL, 0, SPY_ERROR_COMPILE);
    assert_int_equal(spy_call(fn(&t, "f"), args), SPY_ERROR_COMPILE);
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_COMPILE);
    assert_null(made);
    good(&t, spy_call(fn(&t, "f"), args)); // once it works again
    spy_release_tensor(made);
    made = NULL;
    uint64_t used = spy_get_device_stats(t.device).used_bytes;
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(spy_call(fn(&t, "f"), args), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    (void)spy_take_error(t.device);
    assert_null(made);
    (void)spy_wait(t.device);
    assert_true(spy_get_device_stats(t.device).used_bytes <= used); // the new tensor's memory came back
    // A value that does not fit is found before anything is recorded.
    size_t ops = spyi_null_op_count(t.device->gpu);
    assert_int_equal(spy_call(fn(&t, "b"), SPY_ARGS(spy_arg_i32("x", 300), spy_out_data("_result", &r, 1))), SPY_ERROR_OUT_OF_RANGE);
    (void)spy_take_error(t.device);
    assert_true(r == 5);
    assert_int_equal(spyi_null_op_count(t.device->gpu), ops);
    close_bench(&t);
}

static void test_memory_retry(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.memory_bytes = (uint64_t)64 << 20;
    open_with(&t, &d, NULL);
    spy_tensor *x[3];
    for (int i = 0; i < 2; i++) x[i] = floats(&t, 5 << 20); // 20 MiB each
    run(&t, x[0], x[1]);
    for (int i = 0; i < 2; i++) spy_release_tensor(x[i]); // 40 MiB stay in the pool, in use by the GPU
    spy_tensor *big = floats(&t, 12 << 20); // 48 MiB: only when they are given back
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = SPY_SHAPE(12 << 20);
    assert_null(spy_create_tensor(t.device, &desc)); // this one is too much
    spy_error e = spy_take_error(t.device);
    assert_int_equal(e.code, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_non_null(strstr(e.message, "in use"));
    spy_release_tensor(big);
    // A refusal that is gone at the second try is not seen.
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_ALLOCATE, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    spy_release_tensor(floats(&t, 3 << 20));
    assert_int_equal(spy_take_error(t.device).code, SPY_OK);
    // A call that gets no memory for its result leaves everything as it was.
    x[0] = floats(&t, 8 << 20);
    spy_tensor *made = NULL;
    spy_tensor *stretched = spy_create_broadcast(spy_create_slice(x[0], 0, 0, 1, 1), SPY_SHAPE(16 << 20));
    assert_int_equal(spy_call(fn(&t, "f"), SPY_ARGS(spy_arg_tensor("x", stretched), spy_out_tensor("_result", &made))), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_null(made);
    close_bench(&t);
}

// The host's memory ends at every allocation in turn.
typedef struct ration {
    size_t left, live;
} ration;
static void *ration_allocate(size_t size, size_t alignment, void *user) {
    ration *r = (ration *)user;
    (void)alignment;
    if (r->left == 0) return NULL;
    r->left--;
    r->live += size;
    return malloc(size + 1);
}
static void *ration_reallocate(void *memory, size_t old_size, size_t size, size_t alignment, void *user) {
    ration *r = (ration *)user;
    (void)alignment;
    if (r->left == 0) return NULL;
    r->left--;
    r->live += size - old_size;
    return realloc(memory, size + 1);
}
static void ration_free(void *memory, size_t size, void *user) {
    if (memory) ((ration *)user)->live -= size;
    free(memory);
}

static void test_host_memory(void **state) {
    (void)state;
    bool all = false;
    size_t limit = 0;
    for (; !all && limit < 400; limit++) {
        ration r = { limit, 0 };
        spyi_null_desc nd = defaults();
        spy_device_desc d;
        memset(&d, 0, sizeof d);
        d.backend = spyi_null_backend();
        d.backend_desc = &nd;
        d.allocator.allocate = ration_allocate;
        d.allocator.reallocate = ration_reallocate;
        d.allocator.free = ration_free;
        d.allocator.user_data = &r;
        spy_device *device = spy_create_device(&d);
        if (!device) {
            assert_int_not_equal(spy_take_error(NULL).code, SPY_OK);
            assert_int_equal(r.live, 0);
            continue;
        }
        spy_module_desc md;
        memset(&md, 0, sizeof md);
        md.name = "unit";
        md.source = source;
        spy_module *m = spy_load_module(device, &md);
        spy_function *f = m ? spy_find_function(m, "f") : NULL;
        spy_tensor_desc td;
        memset(&td, 0, sizeof td);
        td.shape = SPY_SHAPE(64);
        spy_tensor *x = spy_create_tensor(device, &td), *made = NULL, *part = x ? spy_create_slice(x, 0, 0, 8, 1) : NULL;
        spy_status s = f && part ? spy_call(f, SPY_ARGS(spy_arg_tensor("x", part), spy_out_tensor("_result", &made))) : SPY_ERROR_OUT_OF_MEMORY;
        assert_true(s == SPY_OK ? made != NULL : made == NULL);
        all = s == SPY_OK;
        if (!all) assert_int_equal(spy_take_error(device).code, SPY_ERROR_OUT_OF_MEMORY);
        spy_release_device(device);
        assert_int_equal(r.live, 0);
    }
    print_message("%zu allocations are enough for the first call\n", limit - 1);
    assert_true(all);
}

// >>repeated launches

// Calls that repeat the geometry of the one before take a short way: it must give the very dispatch that the long way gives.
static void repeats_with(bool bindings) {
    bench t;
    spyi_null_desc nd = defaults();
    nd.prefers_bindings = bindings;
    open_with(&t, &nd, NULL);
    spy_module_desc md;
    memset(&md, 0, sizeof md);
    md.name = "again";
    md.source = source;
    spy_module *again = spy_load_module(t.device, &md);
    assert_non_null(again);
    spy_function *f = fn(&t, "g"), *other = spy_find_function(again, "g");
    spy_tensor *views[40];
    for (int i = 0; i < 40; i++) {
        spy_tensor *x = floats(&t, 4096 + (i % 3) * 160);
        int64_t start = i % 5 == 0 ? 0 : i % 5 == 1 ? 16 : i % 5 == 2 ? 3 : 64;
        views[i] = spy_create_slice(x, 0, start, start + (i % 2 ? 256 : 37), i % 4 == 3 ? 2 : 1);
        assert_non_null(views[i]);
    }
    spy_tensor *one = floats(&t, 1), *one_out = floats(&t, 1);
    srand(7);
    int x = 0, y = 1, o = 2, same = 0;
    for (int i = 0; i < 600; i++) {
        if (rand() % 3 == 0) x = rand() % 40;
        if (rand() % 3 == 0) y = rand() % 40;
        do o = rand() % 40;
        while (o == x || o == y);
        float s = (float)rand();
        bool number = rand() % 2 != 0;
        spy_arg second = number ? spy_arg_f32("y", s) : spy_arg_tensor("y", views[y]);
        spy_status a = spy_call(f, SPY_ARGS(spy_arg_tensor("x", views[x]), second, spy_arg_tensor("_result", views[o])));
        if (a != SPY_OK) { // shapes that do not meet
            assert_int_equal(a, SPY_ERROR_SHAPE_MISMATCH);
            assert_int_equal(spy_take_error(t.device).code, a);
            continue;
        }
        spyi_null_op was = *last_op(&t);
        uint8_t *block = (uint8_t *)malloc(was.block_size);
        memcpy(block, was.block, was.block_size);
        spyi_binding ranges[3];
        assert_true(was.binding_count <= 3);
        memcpy(ranges, was.bindings, was.binding_count * sizeof *ranges);
        spy_arg unlike = number ? spy_arg_f32("y", 1) : spy_arg_tensor("y", one);
        good(&t, spy_call(other, SPY_ARGS(spy_arg_tensor("x", one), unlike, spy_arg_tensor("_result", one_out))));
        good(&t, spy_call(other, SPY_ARGS(spy_arg_tensor("x", views[x]), second, spy_arg_tensor("_result", views[o]))));
        const spyi_null_op *is = last_op(&t);
        assert_int_equal(is->block_size, was.block_size);
        assert_memory_equal(is->block, block, was.block_size);
        assert_memory_equal(is->groups, was.groups, sizeof was.groups);
        assert_int_equal(is->binding_count, was.binding_count);
        if (was.binding_count) assert_memory_equal(is->bindings, ranges, was.binding_count * sizeof *ranges);
        free(block);
        same++;
    }
    assert_true(same > 100);
    close_bench(&t);
}

static void test_repeats(void **state) {
    (void)state;
    repeats_with(false);
    repeats_with(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),   cmocka_unit_test(test_barriers_of_storage), cmocka_unit_test(test_barriers_at_random), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_folding),    cmocka_unit_test(test_variants), cmocka_unit_test(test_no_pointers),            cmocka_unit_test(test_eviction),           cmocka_unit_test(test_generic_sizes),
        cmocka_unit_test(test_no_allocations), cmocka_unit_test(test_no_allocations_backward), cmocka_unit_test(test_gradient_sums), cmocka_unit_test(test_no_allocations_with), cmocka_unit_test(test_release_while_held), cmocka_unit_test(test_results_wait),    cmocka_unit_test(test_device_lost), cmocka_unit_test(test_device_lost_recording), cmocka_unit_test(test_barrier_after_failure), cmocka_unit_test(test_failures),      cmocka_unit_test(test_memory_retry),       cmocka_unit_test(test_host_memory), cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
