// Command lists on the null backend: what a submission hands to the backend compared with the same direct calls, barriers,
// allocations, lifetimes, failures on order, and every error. Kernels are compiled for real and never run.
#include "spy_test.h"
#include "hold_slang.h"
#include "malloc_count.h"
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "backend/null/null.h"
#include "list/list.h"
#endif
#include "work_test.h"

static const char source[] = "float f(float x) { return x + 1; }\n"
                             "float g(float x, float y) { return x + y; }\n"
                             "float mat(float4x4 m, float4x4 n, float x) { return m[0][0] + n[0][0] + x; }\n"
                             "float between(float3 v, float b, float x) { return v.x * b + x; }\n"
                             "void poke(uint* p, uint x) { p[0] = x; }\n"
                             "struct Odd { float a; uint8_t b; }\n"
                             "[Differentiable] float poly(float a, float b) { return a * b + a; }\n";

#include "null_bench.h"

static spy_tensor *tensor_of(bench *t, spy_dtype dtype, const char *type, spy_shape shape) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.dtype = dtype;
    d.type = type;
    d.module = t->module;
    spy_tensor *x = spy_create_tensor(t->device, &d);
    if (!x) fail_msg("%s", spy_take_error(t->device).message);
    return x;
}
static spy_tensor *floats(bench *t, int64_t n) {
    return tensor_of(t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(n));
}

static spy_command_list *list_of(bench *t) {
    spy_command_list *list = spy_create_command_list(t->device, NULL);
    assert_non_null(list);
    return list;
}

// to = f(from), at once or recorded.
static void run(bench *t, spy_command_list *list, spy_tensor *from, spy_tensor *to) {
    spy_function *f = fn(t, "f");
    if (list) good(t, spy_list_call(list, f, SPY_ARGS(spy_arg_tensor("x", from), spy_arg_tensor("_result", to))));
    else good(t, spy_call(f, SPY_ARGS(spy_arg_tensor("x", from), spy_arg_tensor("_result", to))));
}

static size_t op_count(bench *t) {
    return spyi_null_op_count(t->device->gpu);
}
static const spyi_null_op *op_at(bench *t, size_t index) {
    const spyi_null_op *op = spyi_null_get_op(t->device->gpu, index);
    assert_non_null(op);
    return op;
}

// The status, and the words of the device's error (of the thread's when there is none).
static void refused(bench *t, spy_status code, spy_status s, const char *words, int line) {
    spy_error e = spy_take_error(t->device);
    if (e.code == SPY_OK) e = spy_take_error(NULL);
    if (s == code && e.code == code && strstr(e.message, words)) return;
    fail_msg("line %d: gave %d, error %d '%s' without '%s'", line, (int)s, (int)e.code, e.message, words);
}
#define REFUSED(t, code, expression, words) refused(t, code, expression, words, __LINE__)

// >>what a submission does

typedef struct things {
    spy_tensor *x[5];
    float matrix[16];
} things;

static things make_things(bench *t) {
    things m;
    for (int i = 0; i < 5; i++) m.x[i] = floats(t, 100);
    for (int i = 0; i < 16; i++) m.matrix[i] = (float)i;
    return m;
}

// One round of work, with a long block in it.
static void work(bench *t, spy_command_list *list, const things *m) {
    spy_tensor *const *x = m->x;
    spy_function *g = fn(t, "g"), *mat = fn(t, "mat");
    run(t, list, x[0], x[1]);
    run(t, list, x[1], x[2]); // needs the one before
    run(t, list, x[0], x[3]); // does not
    spy_args of_g = SPY_ARGS(spy_arg_tensor("x", x[2]), spy_arg_f32("y", 7.5f), spy_arg_tensor("_result", x[1]));
    spy_args of_mat = SPY_ARGS(spy_arg_array("m", m->matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_array("n", m->matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_tensor("x", x[3]), spy_arg_tensor("_result", x[4]));
    if (list) {
        good(t, spy_list_call(list, g, of_g));
        good(t, spy_list_call(list, mat, of_mat)); // its block goes by address
        good(t, spy_list_fill(list, x[0], 2));
    } else {
        good(t, spy_call(g, of_g));
        good(t, spy_call(mat, of_mat));
        good(t, spy_tensor_fill(x[0], 2));
    }
}

// The submission's operations are those of direct calls, byte by byte, barriers included.
static void test_like_direct_calls(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) { // pointers, structured buffers
        bench t;
        spyi_null_desc d = defaults();
        d.bindings_only = kind == 1;
        d.max_block_bytes = kind == 1 ? 256 : 128;
        open_with(&t, &d, NULL);
        things m = make_things(&t);
        work(&t, NULL, &m); // compiles
        good(&t, spy_wait(t.device));
        spy_command_list *list = list_of(&t);
        size_t before = op_count(&t);
        work(&t, list, &m);
        assert_int_equal(op_count(&t), before); // nothing has happened yet
        good(&t, spy_list_finish(list));
        // Both begin behind one and the same round.
        work(&t, NULL, &m);
        size_t direct = op_count(&t);
        work(&t, NULL, &m);
        size_t listed = op_count(&t), count = listed - direct;
        spy_device_stats first = spy_get_device_stats(t.device);
        good(&t, spy_list_submit(list));
        spy_device_stats last = spy_get_device_stats(t.device);
        assert_int_equal(op_count(&t), listed + count);
        assert_int_equal(count, 6);
        assert_int_equal(last.dispatches - first.dispatches, 5);
        assert_int_equal(last.plan_hits, first.plan_hits); // nothing was bound or looked up
        assert_int_equal(last.calls, first.calls);
        size_t barriers = 0;
        for (size_t i = 0; i < count; i++) {
            const spyi_null_op *a = op_at(&t, direct + i), *b = op_at(&t, listed + i);
            assert_int_equal(a->kind, b->kind);
            assert_int_equal(a->barrier, b->barrier);
            barriers += b->barrier;
            assert_int_equal(a->to, b->to);
            assert_int_equal(a->to_offset, b->to_offset);
            assert_int_equal(a->size, b->size);
            assert_int_equal(a->pattern, b->pattern);
            if (a->kind != SPYI_NULL_DISPATCH) continue;
            assert_string_equal(a->label, b->label);
            assert_memory_equal(a->groups, b->groups, sizeof a->groups);
            assert_int_equal(a->block_size, b->block_size);
            assert_memory_equal(a->block, b->block, a->block_size);
            assert_int_equal(a->binding_count, b->binding_count);
            assert_int_equal(a->binding_count > 0, kind == 1);
            if (a->binding_count)
                assert_memory_equal(a->bindings, b->bindings, a->binding_count * sizeof *a->bindings);
        }
        assert_int_equal(barriers, last.barriers - first.barriers);
        assert_true(barriers > 0 && barriers < count);
        assert_int_equal(op_at(&t, listed + 4)->block_by_address, kind == 0);
        close_bench(&t);
    }
}

// Between lists, and between lists and direct calls, memory decides too.
// A list whose values were changed does what calls with these values do, byte by byte, and what was submitted stays.
static void test_set(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    float matrix[16], other[16];
    for (int i = 0; i < 16; i++) matrix[i] = (float)i, other[i] = 100 - (float)i;
    spy_tensor *x = floats(&t, 10), *out = floats(&t, 10);
    spy_function *g = fn(&t, "g"), *mat = fn(&t, "mat");
    spy_command_list *list = list_of(&t);
    good(&t, spy_list_call(list, g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out))));
    good(&t, spy_list_call(list, mat, SPY_ARGS(spy_arg_array("m", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_array("n", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    good(&t, spy_list_finish(list));
    good(&t, spy_list_submit(list));
#if TEST_COUNTS_MALLOC
    size_t before = malloc_calls;
#endif
    for (int i = 0; i < 100; i++) {
        if (spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("y", 50 + (float)i))) != SPY_OK) fail();
        if (spy_list_set(list, 1, SPY_ARGS(spy_arg_array("n", other, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32))) != SPY_OK) fail();
    }
#if TEST_COUNTS_MALLOC
    assert_int_equal(malloc_calls, before);
#endif
    good(&t, spy_list_submit(list));
    good(&t, spy_call(g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out))));
    good(&t, spy_call(mat, SPY_ARGS(spy_arg_array("m", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_array("n", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    good(&t, spy_call(g, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 149), spy_arg_tensor("_result", out))));
    good(&t, spy_call(mat, SPY_ARGS(spy_arg_array("m", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_array("n", other, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    size_t count = op_count(&t);
    for (size_t i = 0; i < 4; i++) {
        const spyi_null_op *a = op_at(&t, count - 8 + i), *b = op_at(&t, count - 4 + i);
        assert_int_equal(a->kind, SPYI_NULL_DISPATCH);
        assert_string_equal(a->label, b->label);
        assert_int_equal(a->block_size, b->block_size);
        assert_memory_equal(a->block, b->block, a->block_size);
    }
    assert_false(spy_get_list_info(list).graph); // the backend has none
    REFUSED(&t, SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 1, SPY_ARGS(spy_arg_array("n", other, SPY_SHAPE(4, 3), SPY_DTYPE_FLOAT32))), "'n'");
    REFUSED(&t, SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 1, SPY_ARGS(spy_arg_array("n", other, SPY_SHAPE(2, 4, 4), SPY_DTYPE_FLOAT32))), "'n'");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_set(list, 1, SPY_ARGS(spy_arg_array("n", NULL, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32))), "'n'");
    const spy_args missing = { NULL, 2 };
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_set(list, 1, missing), "got NULL");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_set(NULL, 1, SPY_NO_ARGS), "spy_list_set");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_set((spy_command_list *)(void *)x, 1, SPY_NO_ARGS), "spy_list_set");
    close_bench(&t);
}

// One number for a whole vector is one number in the list, too: what stands behind it stays.
static void test_set_one_for_all(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    spy_tensor *x = floats(&t, 10), *out = floats(&t, 10);
    spy_function *between = fn(&t, "between");
    spy_command_list *list = list_of(&t);
    good(&t, spy_list_call(list, between, SPY_ARGS(spy_arg_f32("v", 1), spy_arg_f32("b", 2), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    good(&t, spy_list_finish(list));
    good(&t, spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("v", 5))));
    good(&t, spy_list_submit(list));
    good(&t, spy_call(between, SPY_ARGS(spy_arg_f32("v", 5), spy_arg_f32("b", 2), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    const spyi_null_op *set = op_at(&t, op_count(&t) - 2), *call = op_at(&t, op_count(&t) - 1);
    assert_int_equal(set->kind, SPYI_NULL_DISPATCH);
    assert_int_equal(set->block_size, call->block_size);
    assert_memory_equal(set->block, call->block, call->block_size);
    close_bench(&t);
}

static void test_barriers(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 64), *b = floats(&t, 64), *c = floats(&t, 64), *d = floats(&t, 64);
    spy_command_list *ab = list_of(&t), *cd = list_of(&t), *bc = list_of(&t);
    run(&t, ab, a, b);
    run(&t, cd, c, d);
    run(&t, bc, b, c);
    good(&t, spy_list_finish(ab));
    good(&t, spy_list_finish(cd));
    good(&t, spy_list_finish(bc));
    const struct {
        spy_command_list *list;
        spy_tensor *from, *to;
        bool barrier;
    } steps[] = {
        { ab, NULL, NULL, false }, // the first work there is
        { cd, NULL, NULL, false }, // other memory
        { bc, NULL, NULL, true },  // reads what ab wrote
        { ab, NULL, NULL, true },  // bc has read b since
        { NULL, d, a, true },      // ab has read a since
        { cd, NULL, NULL, true },  // d was read by the call
        { NULL, b, floats(&t, 64), false }, // b was written before that barrier
        { ab, NULL, NULL, true },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].list) good(&t, spy_list_submit(steps[i].list));
        else run(&t, NULL, steps[i].from, steps[i].to);
        if (op_at(&t, op_count(&t) - 1)->barrier != steps[i].barrier) fail_msg("step %zu", i);
    }
    // An explicit barrier goes with the next operation, whatever that is, and only with that.
    spy_command_list *forced = list_of(&t);
    good(&t, spy_list_barrier(forced));
    good(&t, spy_list_barrier(forced));
    run(&t, forced, floats(&t, 8), floats(&t, 8));
    run(&t, forced, floats(&t, 8), floats(&t, 8));
    good(&t, spy_list_barrier(forced)); // owed to what follows the list
    good(&t, spy_list_finish(forced));
    good(&t, spy_list_submit(forced));
    assert_true(op_at(&t, op_count(&t) - 2)->barrier);
    assert_false(op_at(&t, op_count(&t) - 1)->barrier);
    run(&t, NULL, floats(&t, 8), floats(&t, 8));
    assert_true(op_at(&t, op_count(&t) - 1)->barrier);
    close_bench(&t);
}

// >>transfers: the null backend moves bytes for real

static void test_transfers(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    float x[50], y[50], got[50];
    for (int i = 0; i < 50; i++) x[i] = (float)i, y[i] = (float)(100 * i);
    spy_tensor *a = floats(&t, 50), *b = floats(&t, 50), *bytes = tensor_of(&t, SPY_DTYPE_UINT8, NULL, SPY_SHAPE(13));
    spy_tensor *odd = tensor_of(&t, SPY_DTYPE_DEFAULT, "Odd", SPY_SHAPE(3)), *flags = tensor_of(&t, SPY_DTYPE_BOOL, NULL, SPY_SHAPE(5));
    spy_tensor *low = spy_create_slice(b, 0, 0, 10, 1), *high = spy_create_slice(b, 0, 40, 50, 1), *none = floats(&t, 0);
    const bool switches[5] = { true, false, true, true, false };
    spy_command_list *list = list_of(&t);
    good(&t, spy_list_write(list, a, x, sizeof x));
    good(&t, spy_list_copy(list, b, a));
    good(&t, spy_list_copy(list, high, low)); // two parts of one tensor
    good(&t, spy_list_fill(list, bytes, 9));  // 13 bytes are not on the fill's grid
    good(&t, spy_list_fill(list, odd, 3));    // 4 bytes and 1
    good(&t, spy_list_fill(list, low, -1));
    good(&t, spy_list_write(list, flags, switches, sizeof switches)); // other layout on the device
    good(&t, spy_list_copy(list, none, floats(&t, 0)));               // nothing to do
    good(&t, spy_list_fill(list, none, 1));
    good(&t, spy_list_write(list, none, NULL, 0));
    assert_int_equal(spy_get_list_info(list).op_count, 7);
    memset(x, 0, sizeof x); // the list has its own copy
    good(&t, spy_list_finish(list));
    for (int round = 0; round < 3; round++) {
        struct {
            float a;
            uint8_t b;
        } odds[3];
        uint8_t nines[13];
        bool back[5];
        good(&t, spy_tensor_write(a, y, sizeof y)); // overwritten by the list
        good(&t, spy_tensor_fill(bytes, 0));
        good(&t, spy_tensor_fill(odd, 0));
        good(&t, spy_tensor_fill(flags, 0));
        good(&t, spy_list_submit(list));
        good(&t, spy_tensor_read(a, got, sizeof got));
        for (int i = 0; i < 50; i++) assert_float_equal(got[i], (float)i, 0);
        good(&t, spy_tensor_read(b, got, sizeof got));
        for (int i = 0; i < 50; i++) assert_float_equal(got[i], (float)(i < 10 ? -1 : i < 40 ? i : i - 40), 0);
        good(&t, spy_tensor_read(bytes, nines, sizeof nines));
        for (int i = 0; i < 13; i++) assert_int_equal(nines[i], 9);
        good(&t, spy_tensor_read(odd, odds, sizeof odds));
        for (int i = 0; i < 3; i++) {
            assert_float_equal(odds[i].a, 3, 0);
            assert_int_equal(odds[i].b, 3);
        }
        good(&t, spy_tensor_read(flags, back, sizeof back));
        assert_memory_equal(back, switches, sizeof back);
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
    things m = make_things(&t);
    spy_command_list *list = list_of(&t);
    good(&t, spy_list_timestamp(list));
    good(&t, spy_list_push_label(list, "round"));
    work(&t, list, &m);
    good(&t, spy_list_pop_label(list));
    good(&t, spy_list_copy(list, m.x[1], m.x[0]));
    good(&t, spy_list_timestamp(list));
    good(&t, spy_list_finish(list));
    good(&t, spy_list_submit(list));
    good(&t, spy_wait(t.device));
    spy_device_stats first = spy_get_device_stats(t.device);
    size_t recorded = 6 + 2 + 1 + 1; // work, labels, copy, times
#if TEST_COUNTS_MALLOC
    size_t before = malloc_calls;
#endif
    for (int i = 0; i < 1000; i++) {
        if (spy_list_submit(list) != SPY_OK) fail();
        if (i % 16 == 0) spy_flush(t.device);
    }
    good(&t, spy_wait(t.device));
#if TEST_COUNTS_MALLOC
    // The null backend writes each operation down in a block of its own, and its list grows a few times; none of ours.
    size_t calls = malloc_calls - before;
    assert_true(calls >= 1000 * recorded && calls < 1000 * recorded + 10);
#else
    (void)recorded;
    print_message("skipped: malloc is not counted in this build\n");
#endif
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.dispatches - first.dispatches, 5000);
    assert_int_equal(last.driver_allocations, first.driver_allocations);
    assert_int_equal(last.used_bytes, first.used_bytes);
    assert_int_equal(last.pool_bytes, first.pool_bytes);
    assert_int_equal(last.plan_hits, first.plan_hits);
    assert_int_equal(spy_get_list_info(list).submit_count, 1001);
    close_bench(&t);
}

// >>lifetimes

// Everything that a list uses is released before it is submitted, and the list while its work is under way.
static void test_lifetimes(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    spy_device_desc more;
    (void)state;
    memset(&more, 0, sizeof more);
    more.max_plans = 2;
    d.hold_submits = true;
    open_with(&t, &d, &more);
    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor *a = floats(&t, 2000), *b = floats(&t, 2000), *made = NULL, *four = floats(&t, 4);
    uint64_t used = spy_get_device_stats(t.device).used_bytes;
    spy_command_list *list = list_of(&t);
    run(&t, list, a, b);
    good(&t, spy_list_call(list, fn(&t, "f"), SPY_ARGS(spy_arg_tensor("x", b), spy_out_tensor("_result", &made))));
    assert_non_null(made);
    good(&t, spy_list_call(list, fn(&t, "f"), SPY_ARGS(spy_arg_array("x", data, SPY_SHAPE(4), SPY_DTYPE_FLOAT32), spy_arg_tensor("_result", four))));
    good(&t, spy_list_write(list, four, data, sizeof data));
    good(&t, spy_list_finish(list));
    assert_true(spy_get_device_stats(t.device).used_bytes > used);
    spy_release_tensor(a);
    spy_release_tensor(b);
    spy_release_tensor(made);
    spy_release_tensor(four);
    spy_release_module(t.module); // the plans go out of the cache
    spy_flush(t.device);
    assert_int_equal(spy_get_device_stats(t.device).plan_count, 0);
    assert_true(spy_get_device_stats(t.device).used_bytes > used); // the list's
    assert_true(spyi_null_get_counts(t.device->gpu).kernels > 0);
    good(&t, spy_list_submit(list));
    good(&t, spy_list_submit(list));
    spy_submit_id id = spy_flush(t.device);
    spy_retain_command_list(list);
    spy_release_command_list(list);
    assert_int_equal(spy_get_list_info(list).submit_count, 2); // one reference is left
    spy_release_command_list(list);
    REFUSED(&t, SPY_ERROR_RELEASED, spy_list_submit(list), "command list has been released");
    spy_release_command_list(list);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    spy_flush(t.device);
    assert_int_equal(spy_get_device_stats(t.device).used_bytes, 0);
    assert_true(spyi_null_get_counts(t.device->gpu).kernels > 0); // work under way
    assert_false(spy_is_submit_finished(t.device, id));
    assert_int_equal(spy_wait_for_submit(t.device, id, 1000), SPY_ERROR_NOT_READY);
    spyi_null_finish(t.device->gpu, id);
    assert_true(spy_is_submit_finished(t.device, id));
    spyi_cache_collect(t.device);
    assert_int_equal(spyi_null_get_counts(t.device->gpu).kernels, 0);
    // Lists of all states go with the device.
    spy_command_list *open = list_of(&t), *finished = list_of(&t), *submitted = list_of(&t);
    spy_tensor *c = floats(&t, 8);
    good(&t, spy_list_fill(open, c, 1));
    good(&t, spy_list_fill(finished, c, 1));
    good(&t, spy_list_fill(submitted, c, 1));
    good(&t, spy_list_timestamp(submitted));
    good(&t, spy_list_finish(finished));
    good(&t, spy_list_finish(submitted));
    good(&t, spy_list_submit(submitted));
    close_bench(&t);
}

// >>marks

static void test_labels(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_list_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = "frame";
    spy_command_list *list = spy_create_command_list(t.device, &desc);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8);
    good(&t, spy_list_push_label(list, "outer"));
    good(&t, spy_list_push_label(list, "inner"));
    run(&t, list, a, b);
    good(&t, spy_list_pop_label(list));
    good(&t, spy_list_marker(list, "here"));
    good(&t, spy_list_pop_label(list));
    good(&t, spy_list_finish(list));
    good(&t, spy_list_submit(list));
    static const char *const expected[] = { "frame", "outer", "inner", NULL, "", "here", "", "" };
    assert_int_equal(op_count(&t), 8);
    for (size_t i = 0; i < 8; i++) {
        const spyi_null_op *op = op_at(&t, i);
        assert_int_equal(op->kind, expected[i] ? SPYI_NULL_LABEL : SPYI_NULL_DISPATCH);
        if (expected[i]) assert_string_equal(op->label, expected[i]);
    }
    close_bench(&t);
}

static void test_timestamps(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    uint64_t times[3], more[3];
    (void)state;
    d.timestamp_period_ns = 2.5; // 1000 ticks for each dispatch
    open_with(&t, &d, NULL);
    assert_true(spy_get_device_info(t.device).timestamp_period_ns == 2.5);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8);
    spy_command_list *list = list_of(&t), *other = list_of(&t);
    run(&t, list, a, b);
    good(&t, spy_list_timestamp(list));
    run(&t, list, a, b);
    run(&t, list, a, b);
    good(&t, spy_list_timestamp(list));
    good(&t, spy_list_timestamp(list));
    good(&t, spy_list_finish(list));
    good(&t, spy_list_timestamp(other));
    run(&t, other, a, b);
    good(&t, spy_list_finish(other));
    assert_int_equal(spy_get_list_info(list).timestamp_count, 3);
    for (uint64_t round = 0; round < 3; round++) {
        good(&t, spy_list_submit(list));
        good(&t, spy_list_submit(other)); // uses the same slots
        good(&t, spy_list_read_timestamps(list, times, 3));
        assert_int_equal(times[0], (4 * round + 1) * 2500);
        assert_int_equal(times[1], (4 * round + 3) * 2500);
        assert_int_equal(times[2], (4 * round + 3) * 2500);
        good(&t, spy_list_read_timestamps(other, more, 1));
        assert_int_equal(more[0], (4 * round + 3) * 2500);
    }
    spy_calibration c;
    uint64_t used = spy_get_device_stats(t.device).used_bytes, from = spyi_time_ns();
    good(&t, spy_get_calibration(t.device, &c));
    good(&t, spy_get_calibration(t.device, NULL));
    assert_int_equal(c.gpu_ns, 12 * 2500);
    assert_true(c.host_ns >= from && c.host_ns <= spyi_time_ns());
    assert_int_equal(spy_get_device_stats(t.device).used_bytes, used);
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 1, SPY_ERROR_OUT_OF_MEMORY);
    REFUSED(&t, SPY_ERROR_OUT_OF_MEMORY, spy_get_calibration(t.device, &c), "spy_get_calibration");
    assert_int_equal(c.gpu_ns, 0);
    assert_int_equal(spy_get_calibration(NULL, &c), SPY_ERROR_INVALID_ARGUMENT);
    spy_take_error(NULL);
    REFUSED(&t, SPY_ERROR_SHAPE_MISMATCH, spy_list_read_timestamps(list, times, 2), "has 3 timestamps, count is 2");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_read_timestamps(list, NULL, 3), "times_ns is NULL");
    spy_command_list *full = list_of(&t);
    for (int i = 0; i < 1024; i++) good(&t, spy_list_timestamp(full));
    REFUSED(&t, SPY_ERROR_OUT_OF_RANGE, spy_list_timestamp(full), "1024 timestamps");
    good(&t, spy_list_finish(full));
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_read_timestamps(full, times, 3), "has not been submitted");
    close_bench(&t);
    // Large times keep their digits; a device without timestamps says so.
    assert_true(spyi_ticks_to_ns(((uint64_t)1 << 60) + 1, 1.0) == ((uint64_t)1 << 60) + 1);
    assert_true(spyi_ticks_to_ns(((uint64_t)1 << 52) + 3, 10.0) == 10 * (((uint64_t)1 << 52) + 3));
    assert_true(spyi_ticks_to_ns(1200, 52.0833) == 62499);
    d = defaults();
    d.features = SPY_FEATURE_POINTERS | SPY_FEATURE_INT64;
    open_with(&t, &d, NULL);
    assert_true(spy_get_device_info(t.device).timestamp_period_ns == 0);
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_timestamp(list_of(&t)), "has no timestamps");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_get_calibration(t.device, NULL), "has no timestamps");
    close_bench(&t);
}

typedef struct heard {
    uint32_t count;
    spy_list_op_kind kinds[16];
    char names[16][16];
    spy_device *device;
} heard;

static void listen(const spy_list_op *op, void *user) {
    heard *h = (heard *)user;
    assert_int_equal(op->index, h->count);
    h->kinds[h->count] = op->kind;
    snprintf(h->names[h->count++], sizeof h->names[0], "%s", op->name);
    assert_int_equal(spy_wait(h->device), SPY_ERROR_BUSY); // as documented
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_BUSY);
    assert_int_equal(spy_take_error(h->device).code, SPY_ERROR_BUSY);
}

static void test_callback(void **state) {
    bench t;
    heard h;
    spy_list_desc desc;
    float data[8] = { 0 };
    (void)state;
    open_plain(&t);
    memset(&h, 0, sizeof h);
    memset(&desc, 0, sizeof desc);
    h.device = t.device;
    desc.on_record = listen;
    desc.user_data = &h;
    spy_command_list *list = spy_create_command_list(t.device, &desc);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8);
    run(&t, list, a, b);
    good(&t, spy_list_copy(list, a, b));
    good(&t, spy_list_fill(list, b, 1));
    good(&t, spy_list_write(list, b, data, sizeof data));
    good(&t, spy_list_barrier(list));
    good(&t, spy_list_push_label(list, "label"));
    good(&t, spy_list_pop_label(list));
    good(&t, spy_list_marker(list, "marker"));
    good(&t, spy_list_timestamp(list));
    assert_int_equal(spy_list_fill(list, NULL, 1), SPY_ERROR_INVALID_ARGUMENT); // not heard
    good(&t, spy_list_finish(list));
    good(&t, spy_list_submit(list));
    assert_int_equal(h.count, 9);
    for (uint32_t i = 0; i < 9; i++) assert_int_equal(h.kinds[i], i + 1); // in the order of the enum
    assert_string_equal(h.names[0], "f");
    assert_string_equal(h.names[1], "");
    assert_string_equal(h.names[5], "label");
    assert_string_equal(h.names[6], "");
    assert_string_equal(h.names[7], "marker");
    close_bench(&t);
}

// >>errors

static void test_refusals(void **state) {
    bench t, u;
    (void)state;
    open_plain(&t);
    open_plain(&u);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8), *nine = floats(&t, 9), *foreign = floats(&u, 8);
    spy_tensor *ints = tensor_of(&t, SPY_DTYPE_INT32, NULL, SPY_SHAPE(8)), *column = spy_create_slice(a, 0, 0, 8, 2);
    spy_tensor *low = spy_create_slice(nine, 0, 0, 5, 1), *high = spy_create_slice(nine, 0, 4, 9, 1), *dead = floats(&t, 8);
    spy_function *f = fn(&t, "f");
    float host[8] = { 0 }, one;
    spy_command_list *list = list_of(&t);
    spy_release_tensor(dead);

    // Other devices, NULL and dead objects.
    assert_null(spy_create_command_list(NULL, NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_call(NULL, f, SPY_NO_ARGS), "spy_list_call: expected a command list, got NULL");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_call(list, NULL, SPY_NO_ARGS), "spy_list_call: expected a function, got NULL");
    REFUSED(&u, SPY_ERROR_INVALID_ARGUMENT, spy_list_call(list, fn(&u, "f"), SPY_ARGS(spy_arg_tensor("x", foreign), spy_arg_tensor("_result", foreign))), "belongs to another device");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_copy(list, a, foreign), "'from': the tensor belongs to another device");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_copy(NULL, a, b), "spy_list_copy: expected a command list, got NULL");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_submit((spy_command_list *)(void *)a), "expected a command list, got a tensor");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_copy(list, NULL, b), "'to': expected a tensor, got NULL");
    REFUSED(&t, SPY_ERROR_RELEASED, spy_list_copy(list, a, dead), "'from': the tensor has been released");

    // Copies, fills, writes.
    REFUSED(&t, SPY_ERROR_SHAPE_MISMATCH, spy_list_copy(list, a, nine), "expected shape (8,) as 'to' has, got (9,)");
    REFUSED(&t, SPY_ERROR_TYPE_MISMATCH, spy_list_copy(list, a, ints), "expected elements of float as 'to' has, got int");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_copy(list, low, high), "share memory");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_copy(list, column, floats(&t, 4)), "'to': expected a contiguous tensor, got a view (4,) with strides (2,)");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_fill(list, column, 0), "'tensor': expected a contiguous tensor");
    REFUSED(&t, SPY_ERROR_OUT_OF_RANGE, spy_list_fill(list, ints, 0.5), "0.5 does not fit into int");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_write(list, column, host, 16), "'tensor': expected a contiguous tensor");
    REFUSED(&t, SPY_ERROR_SHAPE_MISMATCH, spy_list_write(list, a, host, 31), "32 bytes in C's layout, size_bytes is 31");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_write(list, a, NULL, 32), "data is NULL");

    // Calls: what spy_call refuses, and results to host memory.
    REFUSED(&t, SPY_ERROR_SHAPE_MISMATCH, spy_list_call(list, f, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", nine))), "Shape mismatch");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_call(list, f, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &one))), "'_result' returns to host memory, but the call is recorded into a command list; give it a tensor");
    REFUSED(&t, SPY_ERROR_UNSUPPORTED, spy_list_call(list, f, SPY_ARGS(spy_arg_tensor("x", a), spy_out_array("_result", host, SPY_SHAPE(8), SPY_DTYPE_FLOAT32))), "'_result' returns to host memory");
    run(&t, list, nine, nine);

    // Labels, submission before the end, recording after it.
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_pop_label(list), "no label has been pushed");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_push_label(list, NULL), "'name': expected a text, got NULL");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_marker(list, NULL), "'name'");
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_submit(list), "still being recorded; call spy_list_finish() first");
    good(&t, spy_list_push_label(list, "l"));
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_finish(list), "1 labels have been pushed and not popped");
    good(&t, spy_list_pop_label(list));
    good(&t, spy_list_finish(list));
    const char *ended = "has been finished: nothing more can be recorded";
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_finish(list), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_call(list, f, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", b))), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_copy(list, a, b), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_fill(list, a, 0), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_write(list, a, host, 32), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_barrier(list), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_push_label(list, "l"), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_pop_label(list), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_marker(list, "l"), ended);
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_list_timestamp(list), ended);
    assert_int_equal(spy_get_list_info(list).op_count, 3); // the call in place, push and pop
    good(&t, spy_list_submit(list));
    assert_int_equal(spy_get_list_info(NULL).op_count, 0);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    spy_release_command_list(NULL);
    close_bench(&u);
    close_bench(&t);
}

// A submission that fails part of the way says where; its barrier stays owed; the list can be submitted again.
static void test_failures(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8), *c = floats(&t, 8);
    spy_command_list *list = list_of(&t);
    good(&t, spy_list_fill(list, a, 1));
    run(&t, list, a, b);
    run(&t, list, b, c);
    good(&t, spy_list_finish(list));
    for (uint32_t step = 0; step < 3; step++) {
        size_t before = op_count(&t);
        spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, step, SPY_ERROR_OUT_OF_MEMORY);
        char words[64];
        snprintf(words, sizeof words, "(operation %u of 3%s)", step + 1, step ? ": f" : "");
        REFUSED(&t, SPY_ERROR_OUT_OF_MEMORY, spy_list_submit(list), words);
        assert_int_equal(op_count(&t), before + step);
        run(&t, NULL, floats(&t, 8), floats(&t, 8)); // the failed barrier comes with the next work
        assert_int_equal(op_at(&t, op_count(&t) - 1)->barrier, step > 0 || before > 0);
    }
    assert_int_equal(spy_get_list_info(list).submit_count, 0);
    good(&t, spy_list_submit(list));
    // What was pushed before a failure is popped: the null backend would report a pop too many, and close_bench() asks.
    spy_list_desc named;
    memset(&named, 0, sizeof named);
    named.label = "named";
    spy_command_list *labels = spy_create_command_list(t.device, &named);
    good(&t, spy_list_push_label(labels, "inside"));
    good(&t, spy_list_fill(labels, a, 2));
    good(&t, spy_list_pop_label(labels));
    good(&t, spy_list_finish(labels));
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 2, SPY_ERROR_OUT_OF_MEMORY);
    size_t before_labels = op_count(&t);
    REFUSED(&t, SPY_ERROR_OUT_OF_MEMORY, spy_list_submit(labels), "(operation 2 of 3)");
    static const char *const left[] = { "named", "inside", "", "" };
    assert_int_equal(op_count(&t), before_labels + 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(op_at(&t, before_labels + i)->label, left[i]);
    // Lost: an error, and everything can still be released.
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 1, SPY_ERROR_DEVICE_LOST);
    REFUSED(&t, SPY_ERROR_DEVICE_LOST, spy_list_submit(list), "spy_list_submit");
    REFUSED(&t, SPY_ERROR_DEVICE_LOST, spy_list_submit(list), "lost");
    spy_release_command_list(list);
    close_bench(&t);
}

// The host's memory ends at every allocation in turn.
typedef struct ration {
    size_t left, live;
    bool on;
} ration;
static void *ration_allocate(size_t size, size_t alignment, void *user) {
    ration *r = (ration *)user;
    (void)alignment;
    if (r->on && r->left == 0) return NULL;
    if (r->on) r->left--;
    r->live += size;
    return malloc(size + 1);
}
static void *ration_reallocate(void *memory, size_t old_size, size_t size, size_t alignment, void *user) {
    ration *r = (ration *)user;
    (void)alignment;
    if (r->on && r->left == 0) return NULL;
    if (r->on) r->left--;
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
    const float data[4] = { 1, 2, 3, 4 };
    for (; !all && limit < 100; limit++) {
        ration r = { limit, 0, false };
        bench t;
        spyi_null_desc nd = defaults();
        spy_device_desc d;
        memset(&d, 0, sizeof d);
        d.allocator.allocate = ration_allocate;
        d.allocator.reallocate = ration_reallocate;
        d.allocator.free = ration_free;
        d.allocator.user_data = &r;
        open_with(&t, &nd, &d);
        spy_tensor *a = floats(&t, 4), *made = NULL;
        run(&t, NULL, a, floats(&t, 4));
        uint64_t used = spy_get_device_stats(t.device).used_bytes;
        r.on = true;
        spy_command_list *list = spy_create_command_list(t.device, NULL);
        spy_status s = list ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
        uint32_t ops = 0;
        for (int i = 0; s == SPY_OK && i < 20; i++) { // beyond the arrays' first sizes
            made = NULL;
            s = i % 2 ? spy_list_write(list, a, data, sizeof data)
                      : spy_list_call(list, fn(&t, "f"), SPY_ARGS(spy_arg_array("x", data, SPY_SHAPE(4), SPY_DTYPE_FLOAT32), spy_out_tensor("_result", &made)));
            if (i % 2 == 0) assert_int_equal(made != NULL, s == SPY_OK);
            if (made) spy_release_tensor(made);
            ops += s == SPY_OK;
        }
        if (s == SPY_OK) s = spy_list_timestamp(list);
        if (s == SPY_OK) s = spy_list_finish(list);
        all = s == SPY_OK;
        r.on = false;
        if (!all) assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_OUT_OF_MEMORY);
        if (list && !all) { // what was recorded before is whole
            assert_true(spy_get_list_info(list).op_count == ops || spy_get_list_info(list).op_count == 21);
            good(&t, spy_list_finish(list));
        }
        if (list) good(&t, spy_list_submit(list));
        spy_release_command_list(list);
        spy_flush(t.device);
        assert_int_equal(spy_get_device_stats(t.device).used_bytes, used);
        close_bench(&t);
        assert_int_equal(r.live, 0);
    }
    print_message("%zu allocations are enough for this list\n", limit - 1);
    assert_true(all && limit > 10);
}

// A backward call of several dispatches is recorded whole, or not at all: the list is as it was before.
static void test_half_a_call(void **state) {
    (void)state;
    bool all = false;
    for (size_t limit = 0; !all && limit < 20; limit++) {
        ration r = { limit, 0, false };
        bench t;
        spyi_null_desc nd = defaults();
        spy_device_desc d;
        memset(&d, 0, sizeof d);
        d.allocator.allocate = ration_allocate;
        d.allocator.reallocate = ration_reallocate;
        d.allocator.free = ration_free;
        d.allocator.user_data = &r;
        open_with(&t, &nd, &d);
        spy_tensor *x[3];
        for (int i = 0; i < 3; i++) {
            spy_tensor_desc td;
            memset(&td, 0, sizeof td);
            td.shape = i < 2 ? SPY_SHAPE(i ? 5 : 1, i ? 1 : 4096) : SPY_SHAPE(5, 4096);
            td.with_grad = true;
            x[i] = spy_create_tensor(t.device, &td);
            assert_non_null(x[i]);
        }
        spy_args args = SPY_ARGS(spy_arg_tensor("a", x[0]), spy_arg_tensor("b", x[1]), spy_arg_tensor("_result", x[2]));
        good(&t, spy_call_backward(fn(&t, "poly"), args));
        size_t dispatches = op_count(&t);
        for (size_t i = 0; i < op_count(&t); i++) dispatches -= op_at(&t, i)->kind != SPYI_NULL_DISPATCH;
        assert_true(dispatches > 1);
        spy_command_list *list = list_of(&t);
        for (size_t i = 0; i + 1 < 16; i++) good(&t, spy_list_fill(list, x[0], 1)); // one more fits the array
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        o.append_to = list;
        r.on = true;
        spy_status s = spy_call_with(fn(&t, "poly"), args, &o);
        r.on = false;
        all = s == SPY_OK;
        if (!all) assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_OUT_OF_MEMORY);
        assert_int_equal(spy_get_list_info(list).op_count, 15 + (all ? dispatches : 0));
        assert_int_equal(spy_get_list_info(list).call_count, all);
        good(&t, spy_list_finish(list));
        good(&t, spy_list_submit(list));
        spy_release_command_list(list);
        close_bench(&t);
        assert_int_equal(r.live, 0);
    }
    assert_true(all);
}

// >>indirect dispatch: group counts from memory, with barriers that cover their reading

static void test_indirect(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    const uint32_t groups[6] = { 0, 0, 0, 5, 6, 7 };
    spy_tensor *a = floats(&t, 64), *b = floats(&t, 64), *counts = tensor_of(&t, SPY_DTYPE_UINT32, NULL, SPY_SHAPE(6));
    spy_function *f = fn(&t, "f");
    run(&t, NULL, a, b);
    spyi_plan *plan = f->recent[0];
    spyi_variant *variant = plan->variants[0];
    spyi_dispatch d = work_dispatch();
    spyi_use uses[3];
    d.kernel = variant->kernel;
    d.block = op_at(&t, op_count(&t) - 1)->block;
    d.indirect = counts->storage->chunk.handle;
    d.indirect_offset = counts->storage->offset + 12;
    uses[0] = spyi_use_of(&a->storage->resource, 0, 256, SPYI_USE_READS);
    uses[1] = spyi_use_of(&b->storage->resource, 0, 256, SPYI_USE_WRITES);
    uses[2] = spyi_use_of(&counts->storage->resource, 12, 24, SPYI_USE_READS | SPYI_USE_COUNTS);
    spyi_text error = { NULL, 0, 0 };
    spy_command_list *list = list_of(&t), *elsewhere = list_of(&t);
    assert_int_equal(list->sink.table->append_work(&list->sink, plan, variant, &d.work, uses, 3, false, &error), SPY_OK);
    good(&t, spy_list_finish(list));
    uses[0].resource = &floats(&t, 64)->storage->resource;
    uses[1].resource = &floats(&t, 64)->storage->resource;
    assert_int_equal(elsewhere->sink.table->append_work(&elsewhere->sink, plan, variant, &d.work, uses, 3, false, &error), SPY_OK);
    good(&t, spy_list_finish(elsewhere));

    good(&t, spy_tensor_write(counts, groups, sizeof groups));
    good(&t, spy_list_submit(elsewhere));
    const spyi_null_op *op = op_at(&t, op_count(&t) - 1);
    assert_true(op->barrier); // the counts were written just before
    good(&t, spy_list_submit(elsewhere));
    good(&t, spy_wait(t.device));
    assert_int_equal(op->groups[0], 5);
    assert_int_equal(op->groups[1], 6);
    assert_int_equal(op->groups[2], 7);
    assert_true(op_at(&t, op_count(&t) - 1)->barrier); // writes what it wrote before
    run(&t, NULL, floats(&t, 8), floats(&t, 8));
    good(&t, spy_list_submit(list));
    assert_false(op_at(&t, op_count(&t) - 1)->barrier); // the counts have been seen, b was written two barriers ago

    // A barrier of a plain dispatch between the write and the read does not cover the counts.
    good(&t, spy_tensor_fill(counts, 3));
    run(&t, NULL, b, a);
    run(&t, NULL, a, b);
    assert_true(op_at(&t, op_count(&t) - 1)->barrier);
    good(&t, spy_list_submit(elsewhere));
    assert_true(op_at(&t, op_count(&t) - 1)->barrier);
    // Nor does one that was lost with its operation.
    good(&t, spy_tensor_fill(counts, 4));
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_OUT_OF_MEMORY);
    REFUSED(&t, SPY_ERROR_OUT_OF_MEMORY, spy_list_submit(elsewhere), "operation 1 of 1: f");
    run(&t, NULL, floats(&t, 8), floats(&t, 8)); // takes the barrier that is owed
    good(&t, spy_list_submit(list));
    assert_true(op_at(&t, op_count(&t) - 1)->barrier);
    // Writing the counts again waits for the dispatch that reads them.
    good(&t, spy_tensor_fill(counts, 5));
    assert_true(op_at(&t, op_count(&t) - 1)->barrier);
    assert_int_equal(error.size, 0);
    close_bench(&t);
}

// >>calls with options

static void test_append_to(void **state) {
    bench t;
    spy_call_options o;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 1000), *b = floats(&t, 1000);
    spy_command_list *list = list_of(&t);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", b));
    memset(&o, 0, sizeof o);
    o.prelude = "// recorded";
    o.append_to = list;
    good(&t, spy_call_with(fn(&t, "f"), args, &o));
    assert_int_equal(op_count(&t), 0);
    good(&t, spy_list_finish(list));
    REFUSED(&t, SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn(&t, "f"), args, &o), "spy_call_with: f: the command list has been finished");
    good(&t, spy_list_submit(list));
    uint64_t plans = spy_get_device_stats(t.device).plans_built;
    o.append_to = NULL;
    good(&t, spy_call_with(fn(&t, "f"), args, &o)); // the same plan: where it goes is no part of the call's kind
    assert_int_equal(spy_get_device_stats(t.device).plans_built, plans);
    good(&t, spy_call(fn(&t, "f"), args));
    assert_int_equal(spy_get_device_stats(t.device).plans_built, plans + 1); // the other options are
    assert_int_equal(op_count(&t), 3);
    close_bench(&t);
}

// A pointer given as a number leads to memory that nobody knows of: all work before and after it is kept apart.
static void test_untracked(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8), *c = floats(&t, 8), *d = floats(&t, 8);
    spy_tensor *counts = tensor_of(&t, SPY_DTYPE_UINT32, NULL, SPY_SHAPE(3));
    spyi_storage *storage = counts->storage;
    spy_command_list *list = list_of(&t), *indirect = list_of(&t);
    uint64_t address = storage->chunk.address + storage->offset;
    run(&t, list, a, b);
    good(&t, spy_list_call(list, fn(&t, "poke"), SPY_ARGS(spy_arg_u64("p", address), spy_arg_u32("x", 1))));
    run(&t, list, c, d);
    good(&t, spy_list_finish(list));
    good(&t, spy_list_submit(list));
    assert_int_equal(op_count(&t), 3);
    assert_false(op_at(&t, 0)->barrier);
    assert_true(op_at(&t, 1)->barrier);
    assert_true(op_at(&t, 2)->barrier);
    run(&t, NULL, c, a);
    assert_false(op_at(&t, 3)->barrier);
    // Group counts that a pointer may have written: the barrier of the call between does not cover their reading.
    spyi_plan *plan = fn(&t, "f")->recent[0];
    spyi_dispatch launch = work_dispatch();
    spyi_use use;
    spyi_text error = { NULL, 0, 0 };
    launch.kernel = plan->variants[0]->kernel;
    launch.block = op_at(&t, 3)->block;
    launch.indirect = storage->chunk.handle;
    launch.indirect_offset = storage->offset;
    use = spyi_use_of(&storage->resource, 0, 12, SPYI_USE_READS | SPYI_USE_COUNTS);
    assert_int_equal(storage->write_epoch, 0);
    assert_int_equal(indirect->sink.table->append_work(&indirect->sink, plan, plan->variants[0], &launch.work, &use, 1, false, &error), SPY_OK);
    good(&t, spy_list_finish(indirect));
    good(&t, spy_list_submit(indirect));
    assert_true(op_at(&t, 4)->barrier);
    good(&t, spy_list_submit(indirect));
    assert_false(op_at(&t, 5)->barrier);
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_direct_calls), cmocka_unit_test(test_barriers), cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_no_allocations),    cmocka_unit_test(test_lifetimes), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_timestamps),        cmocka_unit_test(test_callback), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failures),          cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_half_a_call), cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_append_to),         cmocka_unit_test(test_untracked), cmocka_unit_test(test_set), cmocka_unit_test(test_set_one_for_all),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
