// vmap, vcast, vdim and declared functions on the null backend: what they mean for the parts of structs and pairs, which functions
// spy_declare() makes, that repeated calls neither allocate nor look up, and what is refused.
#include "spy_test.h"
#include "hold_slang.h"
#include "malloc_count.h"
#ifdef SPY_TEST_SPLIT
#include "api/fuse.h"
#include "api/gradient.h"
#include "api/list.h"
#include "api/resolve.h"
#include "backend/null/null.h"
#include "call/call.h"
#endif

static const char source[] = "float g(float x, float y) { return x + y; }\n"
                             "float3 shade(float3 c, float s) { return c * s; }\n"
                             "struct Light { float3 color; float power; };\n"
                             "float3 shine(Light l, float d) { return l.color * l.power * d; }\n"
                             "float over(float x) { return x; }\nfloat over(float3 y) { return y.x; }\n"
                             "[Differentiable] float times(float x, float w) { return x * w; }\n"
                             "T ident<T>(T x) { return x; }\n";

#include "null_bench.h"

static spy_tensor *tensor_of(bench *t, spy_shape shape, bool with_grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.with_grad = with_grad;
    spy_tensor *x = spy_create_tensor(t->device, &d);
    if (!x) fail_msg("%s", spy_take_error(t->device).message);
    return x;
}

// The mapping of each leaf of a call, in order: "0,1;;1" for two dimensions, none, and one.
static const char *maps_of(bench *t, spy_function *f, spy_args args) {
    static char text[256];
    spy_resolution *r = spy_resolve(f, args, NULL);
    text[0] = 0;
    if (!r) fail_msg("%s", spy_take_error(t->device).message);
    for (uint32_t i = 0; i < r->binding_count; i++) {
        if (r->bindings[i].kind == SPY_ARG_KIND_STRUCT) continue;
        for (uint32_t d = 0; d < r->bindings[i].map.count; d++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", d ? "," : "", (int)r->bindings[i].map.dims[d]);
        snprintf(text + strlen(text), sizeof text - strlen(text), ";");
    }
    spy_release_resolution(r);
    return text;
}

static void refused(bench *t, spy_status got, spy_status code, const char *words) {
    spy_error e = spy_take_error(t->device);
    if (got != code || e.code != code || !strstr(e.message, words))
        fail_msg("expected '%s' with '%s', got '%s': %s", spy_status_text(code), words, spy_status_text(got), e.message);
}

static void test_parts(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *c = tensor_of(&t, SPY_SHAPE(4, 3), false), *p = tensor_of(&t, SPY_SHAPE(4), false), *q = tensor_of(&t, SPY_SHAPE(5), false),
               *plane = tensor_of(&t, SPY_SHAPE(5, 4), false), *grid = tensor_of(&t, SPY_SHAPE(4, 5), false);
    spy_function *shine = fn(&t, "shine"), *g = fn(&t, "g"), *times = fn(&t, "times");
    spy_arg fields[2], pair[2];
    spy_args parts = { fields, 2 }, both = { pair, 2 };
    spy_dims none;
    memset(&none, 0, sizeof none);
    // around a struct: of each field that is run over; numbers and fields that are one value have none
    fields[0] = spy_arg_tensor("color", c);
    fields[1] = spy_arg_f32("power", 2);
    spy_arg light = spy_arg_struct("l", parts);
    assert_string_equal(maps_of(&t, shine, SPY_ARGS(spy_vmap(light, SPY_DIMS(1)), spy_vmap(spy_arg_tensor("d", q), SPY_DIMS(0)))), "1;;0;");
    fields[1] = spy_arg_tensor("power", p);
    assert_string_equal(maps_of(&t, shine, SPY_ARGS(spy_vmap(light, SPY_DIMS(2)), spy_arg_f32("d", 1))), "2;2;;");
    fields[1] = spy_vmap(fields[1], SPY_DIMS(0)); // its own
    assert_string_equal(maps_of(&t, shine, SPY_ARGS(spy_vmap(light, SPY_DIMS(1)), spy_arg_f32("d", 1))), "1;0;;");
    // around a pair: of the value and of its gradient
    pair[0] = spy_arg_tensor(NULL, p);
    pair[1] = spy_arg_tensor(NULL, p);
    assert_string_equal(maps_of(&t, times, SPY_ARGS(spy_vmap(spy_arg_diff_pair("x", both), SPY_DIMS(1)), spy_arg_tensor("w", plane))), "1;0,1;");
    assert_string_equal(maps_of(&t, times, SPY_ARGS(spy_vcast(spy_arg_diff_pair("x", both), "float"), spy_arg_f32("w", 1))), "0;;");
    // vdim, and no dimensions
    assert_string_equal(maps_of(&t, g, SPY_ARGS(spy_vdim(spy_arg_tensor("x", grid), 2), spy_vmap(spy_arg_tensor("y", q), SPY_DIMS(1)))), "0,1;1;");
    assert_string_equal(maps_of(&t, fn(&t, "shade"), SPY_ARGS(spy_vmap(spy_arg_f32n("c", (const float[]){ 1, 2, 3 }, 3), none), spy_arg_tensor("s", p))), ";0;");
    assert_string_equal(maps_of(&t, fn(&t, "over"), SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, c), "float"))), "0,1;");
    assert_string_equal(maps_of(&t, fn(&t, "over"), SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, c), "float3"))), "0;");
    close_bench(&t);
}

static void test_declared(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *p = tensor_of(&t, SPY_SHAPE(4), false), *q = tensor_of(&t, SPY_SHAPE(5), false), *c = tensor_of(&t, SPY_SHAPE(4, 3), false);
    spy_function *g = fn(&t, "g"), *over = fn(&t, "over");
    spy_args plain = SPY_ARGS(spy_arg_tensor("x", p), spy_arg_tensor("y", q)), by_position = SPY_ARGS(spy_arg_tensor(NULL, p), spy_arg_tensor(NULL, q));
    spy_function *outer = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any(NULL), 1), spy_vmap(spy_arg_any("y"), SPY_DIMS(1))));
    assert_non_null(outer);
    assert_ptr_not_equal(outer, g);
    assert_string_equal(spy_function_name(outer), "g");
    assert_ptr_equal(spy_function_module(outer), t.module);
    // the same declaration is the same function; another one is another; the function found by name stays plain
    assert_ptr_equal(spy_declare(g, SPY_ARGS(spy_vmap(spy_arg_any(NULL), SPY_DIMS(0)), spy_vmap(spy_arg_any("y"), SPY_DIMS(1)))), outer);
    assert_ptr_not_equal(spy_declare(g, SPY_ARGS(spy_vmap(spy_arg_any(NULL), SPY_DIMS(1)), spy_vmap(spy_arg_any("y"), SPY_DIMS(0)))), outer);
    assert_ptr_equal(spy_find_function(t.module, "g"), g);
    assert_ptr_equal(spy_declare(g, SPY_ARGS(spy_arg_any(NULL), spy_arg_any(NULL))), g); // nothing is said
    assert_ptr_equal(spy_declare(g, SPY_NO_ARGS), g);
    // by name and by position, declared and called
    assert_string_equal(maps_of(&t, outer, plain), "0;1;");
    assert_string_equal(maps_of(&t, outer, by_position), "0;1;");
    assert_string_equal(maps_of(&t, outer, SPY_ARGS(spy_arg_tensor("y", q), spy_arg_tensor("x", p))), "0;1;");
    // further
    spy_function *first = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1)));
    assert_string_equal(maps_of(&t, spy_declare(first, SPY_ARGS(spy_arg_any(NULL), spy_vmap(spy_arg_any(NULL), SPY_DIMS(1)))), plain), "0;1;");
    // a type, for overloads whose parameters have other names
    assert_string_equal(maps_of(&t, spy_declare(over, SPY_ARGS(spy_vcast(spy_arg_any(NULL), "float"))), SPY_ARGS(spy_arg_tensor(NULL, c))), "0,1;");
    assert_string_equal(maps_of(&t, spy_declare(over, SPY_ARGS(spy_vcast(spy_arg_any("y"), "float3"))), SPY_ARGS(spy_arg_tensor(NULL, c))), "0;");
    // a bug would make a call without its mapping: both calls of one function of the compiler's have their own plans
    refused(&t, spy_call(g, plain), SPY_ERROR_SHAPE_MISMATCH, "spy_vmap says which dimensions it is run over");
    good(&t, spy_call(outer, plain));
    refused(&t, spy_call(g, plain), SPY_ERROR_SHAPE_MISMATCH, "Shape mismatch");
    close_bench(&t);
}

static void test_refused(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *p = tensor_of(&t, SPY_SHAPE(4), false);
    spy_function *g = fn(&t, "g");
    spy_dims many;
    memset(&many, 0, sizeof many);
    many.count = 254; // the marker of spy_map_value()
    const struct {
        spy_arg arg;
        spy_status code;
        const char *words;
    } calls[] = {
        { spy_vdim(spy_arg_tensor("x", p), 2), SPY_ERROR_SHAPE_MISMATCH, "'x': its mapping names 2 dimensions, but 1 of its 1 are run over (float takes 0); spy_vdim(..., 1) names these" },
        { spy_vdim(spy_arg_tensor("x", p), 9), SPY_ERROR_INVALID_ARGUMENT, "argument 'x': its mapping has more than SPY_MAX_RANK entries" },
        { spy_vmap(spy_arg_tensor("x", p), many), SPY_ERROR_INVALID_ARGUMENT, "argument 'x': its mapping has more than SPY_MAX_RANK entries" },
        { spy_vdim(spy_vdim(spy_arg_tensor("x", p), 1), 1), SPY_ERROR_INVALID_ARGUMENT, "argument 'x': it has two mappings" },
        { spy_vmap(spy_arg_tensor("x", p), SPY_DIMS(-1)), SPY_ERROR_OUT_OF_RANGE, "'x': its mapping names dimension -1; expected 0 to 7" },
        { spy_vdim(spy_arg_f32("x", 1), 1), SPY_ERROR_INVALID_ARGUMENT, "'x': only tensors and host arrays have dimensions to map" },
        { spy_vcast(spy_arg_tensor("x", p), "float3"), SPY_ERROR_TYPE_MISMATCH, "'x': expected float, got a cast to float3" },
        { spy_arg_any("x"), SPY_ERROR_INVALID_ARGUMENT, "argument 'x': it was not made by one of the spy_arg_*" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        refused(&t, spy_call(g, SPY_ARGS(calls[i].arg, spy_arg_f32("y", 1))), calls[i].code, calls[i].words);
    spy_function *declared = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1)));
    refused(&t, spy_call(declared, SPY_ARGS(spy_vdim(spy_arg_tensor("x", p), 1), spy_arg_f32("y", 1))), SPY_ERROR_INVALID_ARGUMENT,
            "argument 'x': the function was declared with its mapping or type; expected the plain argument");
    const struct {
        spy_arg arg;
        spy_status code;
        const char *words;
    } declarations[] = {
        { spy_arg_tensor("x", p), SPY_ERROR_INVALID_ARGUMENT, "spy_declare: g: parameter 'x': expected spy_arg_any(), alone or within" },
        { spy_vdim(spy_arg_f32(NULL, 1), 1), SPY_ERROR_INVALID_ARGUMENT, "parameter 1: expected spy_arg_any()" },
        { spy_map_value(spy_arg_any("x")), SPY_ERROR_INVALID_ARGUMENT, "parameter 'x': expected spy_arg_any()" },
        { spy_vdim(spy_arg_any("z"), 1), SPY_ERROR_NOT_FOUND, "parameter 'z': the function has no parameter of this name" },
        { spy_vmap(spy_arg_any("x"), SPY_DIMS(1, 1)), SPY_ERROR_INVALID_ARGUMENT, "parameter 'x': its mapping names dimension 1 twice" },
        { spy_vmap(spy_arg_any("x"), SPY_DIMS(8)), SPY_ERROR_OUT_OF_RANGE, "parameter 'x': its mapping names dimension 8; expected 0 to 7" },
        { spy_vdim(spy_arg_any("x"), 200), SPY_ERROR_INVALID_ARGUMENT, "parameter 'x': its mapping has more than SPY_MAX_RANK entries" },
        { spy_vdim(spy_vdim(spy_arg_any("x"), 1), 1), SPY_ERROR_INVALID_ARGUMENT, "parameter 'x': it has two mappings" },
        { spy_vcast(spy_arg_any("x"), "flaot"), SPY_ERROR_NOT_FOUND, "parameter 'x': spy_vcast names 'flaot', which is no type of module 'unit'" },
        { spy_vcast(spy_arg_any("x"), ""), SPY_ERROR_NOT_FOUND, "parameter 'x': spy_vcast names ''" },
    };
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
        spy_function *made = spy_declare(g, SPY_ARGS(declarations[i].arg));
        assert_null(made);
        refused(&t, declarations[i].code, declarations[i].code, declarations[i].words);
    }
    assert_null(spy_declare(declared, SPY_ARGS(spy_vcast(spy_arg_any(NULL), "float"))));
    refused(&t, SPY_ERROR_INVALID_ARGUMENT, SPY_ERROR_INVALID_ARGUMENT, "parameter 1: it has been declared already");
    assert_null(spy_declare(g, SPY_ARGS(spy_arg_any(NULL), spy_arg_any(NULL), spy_vdim(spy_arg_any(NULL), 1))));
    refused(&t, SPY_ERROR_INVALID_ARGUMENT, SPY_ERROR_INVALID_ARGUMENT, "parameter 3: expected at most 2 parameters");
    spy_args wrong = { NULL, 2 };
    assert_null(spy_declare(g, wrong));
    refused(&t, SPY_ERROR_INVALID_ARGUMENT, SPY_ERROR_INVALID_ARGUMENT, "expected 2 parameters, got NULL");
    assert_null(spy_declare(NULL, wrong));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    close_bench(&t);
}

// Repeated calls with mappings, with types and of declared functions: found at once, and without an allocation. Each way of the
// arguments keeps its own plan, whatever calls come between.
static void test_no_allocations(void **state) {
    bench t;
    spyi_null_desc d = defaults();
    (void)state;
    d.no_log = true;
    open_with(&t, &d, NULL);
    spy_tensor *p = tensor_of(&t, SPY_SHAPE(40), true), *q = tensor_of(&t, SPY_SHAPE(40), true), *plane = tensor_of(&t, SPY_SHAPE(40, 40), true),
               *c = tensor_of(&t, SPY_SHAPE(40, 3), false), *line = tensor_of(&t, SPY_SHAPE(40), false), *deep = tensor_of(&t, SPY_SHAPE(40, 3), false);
    spy_function *g = fn(&t, "g"), *times = fn(&t, "times"), *over = fn(&t, "over");
    spy_function *outer = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1), spy_vmap(spy_arg_any("y"), SPY_DIMS(1))));
    spy_function *product = spy_declare(times, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1), spy_vmap(spy_arg_any("w"), SPY_DIMS(1))));
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
        spy_status s = spy_call(outer, SPY_ARGS(spy_arg_tensor("x", p), spy_arg_tensor("y", q), spy_arg_tensor("_result", plane)));
        s |= spy_call(outer, SPY_ARGS(spy_arg_tensor(NULL, q), spy_arg_tensor(NULL, p), spy_arg_tensor("_result", plane)));
        s |= spy_call(g, SPY_ARGS(spy_vdim(spy_arg_tensor("x", p), 1), spy_vmap(spy_arg_tensor("y", q), SPY_DIMS(1)), spy_arg_tensor("_result", plane)));
        s |= spy_call(g, SPY_ARGS(spy_arg_tensor("x", p), spy_arg_tensor("y", q), spy_arg_tensor("_result", line)));
        s |= spy_call(over, SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, c), "float3"), spy_arg_tensor("_result", line)));
        s |= spy_call(over, SPY_ARGS(spy_vcast(spy_arg_tensor(NULL, c), "float"), spy_arg_tensor("_result", deep)));
        s |= spy_call_backward(product, SPY_ARGS(spy_arg_tensor("x", p), spy_arg_tensor("w", q), spy_arg_tensor("_result", plane)));
        good(&t, s);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.plan_hits - first.plan_hits, 2800);
    assert_int_equal(last.plans_built - first.plans_built, 0);
    assert_int_equal(last.driver_allocations, first.driver_allocations);
#if TEST_COUNTS_MALLOC
    assert_int_equal(malloc_calls - before, last.dispatches - first.dispatches); // the null backend's own notes
#else
    (void)before;
    print_message("skipped: malloc is not counted in this build\n");
#endif
    close_bench(&t);
}

// Random calls of a declared function, each beside the same call of the function itself: the same blocks and groups, and the same
// refusals. The tensors are of two sizes, some share memory, and some calls change their mind at a later argument.
static void test_same_as_plain(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *tensors[10];
    tensors[8] = tensor_of(&t, SPY_SHAPE(80), false);
    for (int i = 0; i < 6; i++) tensors[i] = tensor_of(&t, SPY_SHAPE(i == 5 ? 44 : 40), false);
    tensors[6] = spy_create_slice(tensors[8], 0, 0, 40, 1);
    tensors[7] = spy_create_slice(tensors[8], 0, 8, 48, 1); // shares memory with the one before
    tensors[9] = spy_create_slice(tensors[8], 0, 0, 80, 2);
    spy_function *g = fn(&t, "g"), *declared = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1)));
    uint32_t random = 7, direct = 0, refusals = 0;
    for (int i = 0; i < 3000; i++) {
        uint32_t pick[3];
        for (int k = 0; k < 3; k++) {
            random = random * 1664525u + 1013904223u;
            pick[k] = (random >> 16) % 10;
        }
        bool number = i % 7 == 3, names = i % 5 != 2;
        spy_arg y = number ? spy_arg_f32(names ? "y" : NULL, (float)i) : spy_arg_tensor(names ? "y" : NULL, tensors[pick[1]]);
        spy_arg x = spy_arg_tensor(names ? "x" : NULL, tensors[pick[0]]), result = spy_arg_tensor("_result", tensors[pick[2]]);
        uint64_t looked_up = spy_get_device_stats(t.device).plan_hits;
        spy_status one = spy_call(declared, SPY_ARGS(x, y, result));
        (void)spy_take_error(t.device);
        size_t ops = spyi_null_op_count(t.device->gpu);
        direct += one == SPY_OK && spy_get_device_stats(t.device).plan_hits > looked_up;
        spy_status other = spy_call(g, SPY_ARGS(spy_vdim(x, 1), y, result));
        (void)spy_take_error(t.device);
        if (one != other) fail_msg("call %d: %s, and %s", i, spy_status_text(one), spy_status_text(other));
        refusals += one != SPY_OK;
        if (one != SPY_OK) continue;
        assert_int_equal(spyi_null_op_count(t.device->gpu), ops + 1);
        const spyi_null_op *a = spyi_null_get_op(t.device->gpu, ops - 1), *b = spyi_null_get_op(t.device->gpu, ops);
        assert_int_equal(a->block_size, b->block_size);
        assert_memory_equal(a->block, b->block, a->block_size);
        assert_memory_equal(a->groups, b->groups, sizeof a->groups);
    }
    assert_true(direct > 500);
    assert_true(refusals > 300);
    close_bench(&t);
}

// The same random calls on two devices, declared on the one and plain on the other: the same work with the same barriers, whatever
// fills, other functions and ends of batches come between. The null backend itself reports barriers that are missing. A tensor is
// compared with an argument's shape once, and is known after that.
static void test_barriers(void **state) {
    enum { TENSORS = 7, CALLS = 1500 };
    bench t[2];
    spy_function *f[2], *times[2];
    spy_tensor *tensors[2][TENSORS];
    uint32_t random = 11, barriers = 0, same = 0;
    uint64_t known = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        open_plain(&t[k]);
        for (int i = 0; i < TENSORS - 1; i++) tensors[k][i] = tensor_of(&t[k], SPY_SHAPE(40), false);
        tensors[k][TENSORS - 1] = tensor_of(&t[k], SPY_SHAPE(80), false);
        tensors[k][5] = spy_create_slice(tensors[k][TENSORS - 1], 0, 0, 40, 1);
        tensors[k][6] = spy_create_slice(tensors[k][TENSORS - 1], 0, 8, 48, 1); // shares memory with the one before
        times[k] = fn(&t[k], "times");
        f[k] = fn(&t[k], "g");
    }
    f[0] = spy_declare(f[0], SPY_ARGS(spy_vdim(spy_arg_any("x"), 1)));
    for (int i = 0; i < CALLS; i++) {
        uint32_t pick[4];
        for (int k = 0; k < 4; k++) {
            random = random * 1664525u + 1013904223u;
            pick[k] = (random >> 16) % TENSORS;
        }
        if (i % 40 < 20) { // as most loops: the same inputs, one of a few outputs
            pick[0] = 0;
            pick[1] = 1;
            pick[2] = 2 + pick[2] % 3;
        }
        if (i == 300) known = t[0].device->last_like;
        size_t before[2];
        for (int k = 0; k < 2; k++) {
            before[k] = spyi_null_op_count(t[k].device->gpu);
            spy_arg x = spy_arg_tensor("x", tensors[k][pick[0]]);
            (void)spy_call(f[k], SPY_ARGS(k ? spy_vdim(x, 1) : x, spy_arg_tensor("y", tensors[k][pick[1]]), spy_arg_tensor("_result", tensors[k][pick[2]])));
            if (pick[3] == 0) good(&t[k], spy_tensor_fill(tensors[k][pick[1]], 1));
            if (pick[3] == 1) (void)spy_flush(t[k].device);
            if (pick[3] == 2) (void)spy_call(times[k], SPY_ARGS(spy_arg_tensor("x", tensors[k][pick[2]]), spy_arg_f32("w", 2), spy_arg_tensor("_result", tensors[k][pick[0]])));
            (void)spy_take_error(t[k].device);
        }
        size_t made = spyi_null_op_count(t[0].device->gpu) - before[0];
        assert_int_equal(spyi_null_op_count(t[1].device->gpu) - before[1], made);
        for (size_t n = 0; n < made; n++) {
            const spyi_null_op *a = spyi_null_get_op(t[0].device->gpu, before[0] + n), *b = spyi_null_get_op(t[1].device->gpu, before[1] + n);
            if (a->kind != b->kind || a->barrier != b->barrier || a->submit != b->submit)
                fail_msg("call %d: work %zu has %s barrier, and the plain call's %s", i, n, a->barrier ? "a" : "no", b->barrier ? "one" : "none");
            barriers += a->barrier;
            same++;
        }
    }
    assert_true(barriers > 300 && same - barriers > 300);
    assert_int_equal(t[0].device->last_like, known); // no leaf gets another number
    assert_true(known > 0 && t[1].device->last_like == 0);
    for (int k = 0; k < 2; k++) close_bench(&t[k]);
}

// A tensor that points to other memory is compared again.
static void test_pointed_elsewhere(void **state) {
    bench t;
    (void)state;
    open_plain(&t);
    spy_tensor *long_one = tensor_of(&t, SPY_SHAPE(80), false), *y = tensor_of(&t, SPY_SHAPE(40), false), *out = tensor_of(&t, SPY_SHAPE(40), false),
               *moves = tensor_of(&t, SPY_SHAPE(40), false), *odd = spy_create_slice(long_one, 0, 1, 41, 1);
    spy_function *g = fn(&t, "g"), *declared = spy_declare(g, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1)));
    for (int i = 0; i < 40; i++) {
        spy_tensor *x = i % 2 ? moves : y;
        if (i == 30) good(&t, spy_tensor_point_to(moves, odd)); // at another alignment: another variant of the kernel
        good(&t, spy_call(declared, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("_result", out))));
        size_t ops = spyi_null_op_count(t.device->gpu);
        good(&t, spy_call(g, SPY_ARGS(spy_vdim(spy_arg_tensor("x", x), 1), spy_arg_tensor("y", y), spy_arg_tensor("_result", out))));
        const spyi_null_op *a = spyi_null_get_op(t.device->gpu, ops - 1), *b = spyi_null_get_op(t.device->gpu, ops);
        assert_int_equal(a->block_size, b->block_size);
        assert_memory_equal(a->block, b->block, a->block_size);
        assert_string_equal(a->label, b->label);
    }
    close_bench(&t);
}

// >>functions that end in a reduction

static spy_module *released; // by the next allocation; NULL: none

static void *allocate(size_t size, size_t alignment, void *user_data) {
    spy_module *module = released;
    (void)alignment;
    (void)user_data;
    released = NULL;
    if (module) spy_release_module(module); // as another thread may at any time
    return malloc(size);
}

static void *reallocate(void *memory, size_t old_size, size_t size, size_t alignment, void *user_data) {
    (void)old_size;
    (void)alignment;
    (void)user_data;
    return realloc(memory, size);
}

static void deallocate(void *pointer, size_t size, void *user_data) {
    (void)size;
    (void)user_data;
    free(pointer);
}

// spy_explain_call() of a function that ends in a reduction is several steps, between which it leaves the device. It keeps the
// function's module until it returns.
static void test_released_reduction(void **state) {
    bench t;
    char text[4096];
    spy_device_desc d;
    spyi_null_desc null_desc = defaults();
    spy_dims all;
    spy_tensor *out = NULL;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&all, 0, sizeof all);
    d.allocator.allocate = allocate;
    d.allocator.reallocate = reallocate;
    d.allocator.free = deallocate;
    open_with(&t, &null_desc, &d);
    spy_fusion *graph = spy_fuse_begin(t.device, NULL);
    spy_node x = spy_fuse_input(graph, "x", NULL), y = spy_fuse_call(graph, fn(&t, "times"), SPY_ARGS(spy_arg_node(NULL, x), spy_arg_f32(NULL, 2)));
    good(&t, spy_fuse_reduce(graph, SPY_FUSE_REDUCTION_SUM, all, spy_arg_node(NULL, y)));
    spy_function *sum = spy_fuse_end(graph);
    assert_non_null(sum);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", tensor_of(&t, SPY_SHAPE(40), false)), spy_out_tensor("_result", &out));
    released = spy_function_module(sum);
    assert_true(spy_explain_call(sum, args, NULL, text, sizeof text) > 100);
    assert_null(released);
    assert_non_null(strstr(text, "total_"));
    // now the function is gone
    assert_int_equal(spy_explain_call(sum, args, NULL, NULL, 0), 0);
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    assert_null(spy_resolve(sum, args, NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_RELEASED);
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_plain),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_pointed_elsewhere),
        cmocka_unit_test(test_released_reduction),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_allocations),
    };
    if (getenv("SPY_TEST_ONLY")) cmocka_set_test_filter(getenv("SPY_TEST_ONLY"));
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
