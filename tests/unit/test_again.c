// Calls that repeat the last one take a short way (call/again.c). Two devices make the same random calls, one of them always
// the long way: what is dispatched, what is returned and what errors say must be the same, after each call.
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "backend/null/null.h"
#include "call/again.h"
#include "call/call.h"
#endif

static const char source[] =
    "float add(float x, float y) { return x + y; }\n"
    "void into(float x, int k, inout float y) { y = x * k; }\n"
    "float3 mix(float3 a, float3 b, half t) { return a + (b - a) * t; }\n"
    "void two(float x, out float y, out float z) { y = x; z = -x; }\n"
    "float row(float4 v, uint8_t k) { return v.x + k; }\n"
    "[Differentiable] float poly(float a, float b) { return a * b + a; }\n"
    "[Differentiable] void both(float a, float b, out float y, out float z) { y = a * b; z = a + b; }\n";

// The last ones have gradients.
enum { PLAIN = 14, TENSORS = 22, SIDES = 2 };

typedef struct side {
    spy_device *device;
    spy_module *module;
    spy_tensor *tensors[TENSORS];
    spyi_text report;
} side;

static side sides[SIDES]; // [1] goes the long way
static int64_t length;    // of the common shape
static uint64_t seed;
static size_t repeated;
static bool paired; // the sides are open

static uint32_t draw_bits(void) { // splitmix64
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31) >> 1;
}

static void open_side(side *s) {
    static spyi_null_desc null_desc;
    spy_device_desc d;
    spy_module_desc m;
    memset(s, 0, sizeof *s);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&null_desc, 0, sizeof null_desc);
    null_desc.report = &s->report;
    d.backend = spyi_null_backend();
    d.backend_desc = &null_desc;
    s->device = spy_create_device(&d);
    assert_non_null(s->device);
    m.name = "again";
    m.source = source;
    s->module = spy_load_module(s->device, &m);
    if (!s->module) fail_msg("%s", spy_take_error(s->device).message);
}

static void close_side(side *s) {
    for (int i = 0; i < TENSORS; i++) spy_release_tensor(s->tensors[i]);
    spy_release_module(s->module);
    spy_release_device(s->device);
    if (s->report.size) print_error("%s", spyi_text_str(&s->report));
    assert_int_equal(s->report.size, 0);
    spyi_text_free(&s->report);
}

// >>tensors, in both devices the same: shapes, strides and places

static spy_tensor *make_with(side *s, spy_dtype dtype, spy_shape shape, bool with_grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.dtype = dtype;
    d.shape = shape;
    d.with_grad = with_grad;
    spy_tensor *t = spy_create_tensor(s->device, &d);
    if (!t) fail_msg("%s", spy_take_error(s->device).message);
    return t;
}

static spy_tensor *make(side *s, spy_dtype dtype, spy_shape shape) {
    return make_with(s, dtype, shape, false);
}

static spy_tensor *part(spy_tensor *of, int64_t first, int64_t step, int64_t count) {
    spy_view_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.strides = SPY_SHAPE(step);
    d.offset_elements = first;
    return spy_create_view(of, &d);
}

// Of the common shape, somewhere in memory that nothing else uses.
static spy_tensor *slice(side *s, int64_t first) {
    spy_tensor *whole = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(length + 24));
    spy_tensor *view = part(whole, first, 1, length);
    spy_release_tensor(whole);
    return view;
}

static void make_tensor(int i) {
    uint32_t shape = i < 8 ? 0 : draw_bits() % 3; // most of one shape: they repeat
    int64_t first = draw_bits() % 25;             // slices of one shape at any place: aligned or not
    for (int k = 0; k < SIDES; k++) {
        side *s = &sides[k];
        spy_release_tensor(s->tensors[i]);
        switch (i) {
        case 5:
        case 6:
        case 7: s->tensors[i] = slice(s, first); break;
        case 8: s->tensors[i] = part(s->tensors[0], first, 1, length - 24); break; // meets tensor 0
        case 9: s->tensors[i] = part(s->tensors[1], 0, 2, length / 2); break;
        case 10: s->tensors[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(length, 3)); break;
        case 11: s->tensors[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(length, 3)); break;
        case 12: s->tensors[i] = make(s, SPY_DTYPE_FLOAT64, SPY_SHAPE(length)); break;
        case 13:
            s->tensors[i] = make(s, SPY_DTYPE_FLOAT32, shape ? SPY_SHAPE(5, length) : SPY_SHAPE(1));
            break;
        case 14:
        case 15:
        case 16:
        case 17: s->tensors[i] = make_with(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(length), true); break;
        case 18: s->tensors[i] = make_with(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(1), true); break;
        case 19: s->tensors[i] = make_with(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, 1), true); break;
        case 20:
        case 21: s->tensors[i] = make_with(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(5, length), true); break;
        default: s->tensors[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(length)); break;
        }
        assert_non_null(s->tensors[i]);
    }
}

static spy_tensor *retained(spy_tensor *t) {
    if (t) spy_retain_tensor(t);
    return t;
}

// Other gradients for a tensor that has some: none on one side, one for both, or another tensor's.
static void regrade(int i) {
    uint32_t which = draw_bits() % 4, other = PLAIN + draw_bits() % 4;
    for (int k = 0; k < SIDES; k++) {
        side *s = &sides[k];
        spy_tensor *t = s->tensors[i], *in = NULL, *out = NULL;
        if (which != 1) in = make(s, SPY_DTYPE_FLOAT32, t->shape);
        if (which == 2) out = retained(in);
        if (which == 1) out = make(s, SPY_DTYPE_FLOAT32, t->shape);
        if (which == 3 && i < PLAIN + 4) out = retained(spy_tensor_grad_out(s->tensors[other]));
        s->tensors[i] = spy_create_attached(t, in, out, NULL);
        if (!s->tensors[i]) fail_msg("%s", spy_take_error(s->device).message);
        spy_release_tensor(t);
        spy_release_tensor(in);
        spy_release_tensor(out);
    }
}

// >>one call

typedef struct call {
    const char *function;
    spy_call_mode mode;
    uint32_t group; // threads; 0: plain options
    bool deterministic;
    uint32_t count;
    struct {
        const char *name;
        int tensor; // or a number, -1; a new tensor, -2; an array, -3; a whole result, -4; NULL, -5
        double number;
        bool whole; // the number is an int
        int gradient; // of a pair, whose value `tensor` is: the tensor; 0: no pair
    } args[4];
} call;

typedef struct outcome {
    spy_status status;
    char message[2048];
    spy_tensor *made[4];
    spy_result result;
} outcome;

static void forget(side *s) {
    for (spyi_plan *p = s->device->cache->newest; p; p = p->older)
        for (uint32_t i = 0; i < SPYI_GEOMETRIES && p->launches[i]; i++) p->launches[i]->repeatable = NULL;
}

// Keeps the order of dispatches that may run in any: which of them a barrier precedes depends on it, and so do the barriers of later calls.
// test_turned_passes() looks at the order.
static void keep_order(side *s) {
    for (spyi_plan *p = s->device->cache->newest; p; p = p->older)
        for (uint32_t i = 0; i < SPYI_GEOMETRIES && p->launches[i]; i++)
            if (p->launches[i]->again) p->launches[i]->again->any_order = false;
}

static void make_call(side *s, const call *c, outcome *o) {
    static const float array[4] = { 1, 2, 3, 4 };
    spy_arg args[4], pairs[4][2];
    memset(o, 0, sizeof *o);
    for (uint32_t i = 0; i < c->count; i++) {
        const char *name = c->args[i].name;
        switch (c->args[i].tensor) {
        case -1:
            args[i] = c->args[i].whole ? spy_arg_i32(name, (int32_t)c->args[i].number)
                                       : spy_arg_f32(name, (float)c->args[i].number);
            break;
        case -2: args[i] = spy_out_tensor(name, &o->made[i]); break;
        case -3:
            args[i] = spy_arg_array(name, array, SPY_SHAPE((int64_t)c->args[i].number), SPY_DTYPE_FLOAT32);
            break;
        case -4: args[i] = spy_out_result(name, &o->result); break;
        case -5: args[i] = spy_arg_tensor(name, NULL); break;
        default: args[i] = spy_arg_tensor(name, s->tensors[c->args[i].tensor]); break;
        }
        if (!c->args[i].gradient || c->args[i].tensor < 0) continue;
        pairs[i][0] = args[i];
        pairs[i][0].name = NULL;
        pairs[i][1] = spy_arg_tensor(NULL, s->tensors[c->args[i].gradient]);
        spy_args pair;
        pair.items = pairs[i];
        pair.count = 2;
        args[i] = spy_arg_diff_pair(name, pair);
    }
    spy_args list;
    list.items = args;
    list.count = c->count;
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.mode = c->mode;
    options.thread_group_size[0] = c->group;
    options.deterministic = c->deterministic;
    o->status = spy_call_with(spy_find_function(s->module, c->function), list, &options);
    if (o->status != SPY_OK)
        (void)snprintf(o->message, sizeof o->message, "%s", spy_take_error(s->device).message);
}

static uint64_t word(const void *block, uint32_t at, uint32_t size) {
    uint64_t w = 0;
    memcpy(&w, (const char *)block + at, size);
    return w;
}

// An address counted from the start of the pool's memory that it lies in; other numbers as they are.
static uint64_t placed(side *s, uint64_t w) {
    uint64_t number = 1;
    for (int m = 0; m < 2; m++) // by spyi_memory
        for (const spyi_slab *slab = s->device->pool.slabs[m]; slab; slab = slab->next, number++)
            if (w - slab->chunk.address < slab->chunk.size) return number << 56 | (w - slab->chunk.address);
    for (const spy_tensor *t = s->device->tensors; t; t = t->next, number++) // with memory of its own
        if (w - t->storage->chunk.address < t->storage->chunk.size)
            return number << 56 | (w - t->storage->chunk.address);
    return w;
}

// The same work, at the same places of each device's memory.
static void same_op(const call *c, size_t n, size_t index) {
    const spyi_null_op *op[SIDES];
    for (int k = 0; k < SIDES; k++) op[k] = spyi_null_get_op(sides[k].device->gpu, index);
    assert_int_equal(op[0]->kind, op[1]->kind);
    assert_int_equal(op[0]->barrier, op[1]->barrier);
    assert_int_equal(op[0]->submit, op[1]->submit);
    assert_memory_equal(op[0]->groups, op[1]->groups, sizeof op[0]->groups);
    if (strcmp(op[0]->label ? op[0]->label : "", op[1]->label ? op[1]->label : "") != 0) {
        for (uint32_t i = 0; i < c->count; i++)
            print_error("argument %u: '%s' %d %g\n", i, c->args[i].name ? c->args[i].name : "",
                        c->args[i].tensor, c->args[i].number);
        fail_msg("call %zu of %s, mode %d, group %u%s, work %zu: %s, not %s", n, c->function, (int)c->mode,
                 c->group, c->deterministic ? ", deterministic" : "", index, op[0]->label, op[1]->label);
    }
    assert_int_equal(op[0]->block_size, op[1]->block_size);
    for (uint32_t at = 0; at < op[0]->block_size; at += 8) {
        uint32_t bytes = op[0]->block_size - at < 8 ? op[0]->block_size - at : 8;
        uint64_t a = word(op[0]->block, at, bytes), b = word(op[1]->block, at, bytes);
        if (placed(&sides[0], a) == placed(&sides[1], b)) continue;
        fail_msg("call %zu of %s, work %zu: the block at %u has %llx and %llx", n, c->function, index, at,
                 (unsigned long long)a, (unsigned long long)b);
    }
}

// What the call has dispatched, before memory that it used may be gone.
static void same_ops(const call *c, size_t n) {
    static size_t seen;
    size_t count = spyi_null_op_count(sides[0].device->gpu);
    assert_int_equal(count, spyi_null_op_count(sides[1].device->gpu));
    if (count < seen) seen = 0; // other devices
    for (; seen < count; seen++) same_op(c, n, seen);
}

static void both(const call *c, size_t n) {
    outcome o[SIDES];
    uint64_t hits[SIDES];
    forget(&sides[1]);
    keep_order(&sides[0]);
    sides[0].device->cache->values->count = UINT32_MAX; // describing sets it
    for (int k = 0; k < SIDES; k++) {
        spy_device_stats before = sides[k].device->stats;
        make_call(&sides[k], c, &o[k]);
        hits[k] = sides[k].device->stats.plan_hits - before.plan_hits;
    }
    if (sides[0].device->cache->values->count == UINT32_MAX) repeated++;
    if (o[0].status != o[1].status || strcmp(o[0].message, o[1].message) != 0)
        fail_msg("call %zu: '%s' and '%s'", n, o[0].message, o[1].message);
    assert_int_equal(hits[0], hits[1]);
    assert_int_equal(o[0].result.size_bytes, o[1].result.size_bytes);
    assert_true((o[0].result.tensor == NULL) == (o[1].result.tensor == NULL));
    same_ops(c, n);
    for (int k = 0; k < SIDES; k++) {
        spy_release_tensor(o[k].result.tensor);
        for (int i = 0; i < 4; i++) spy_release_tensor(o[k].made[i]);
    }
}

// >>random calls

static int any_tensor(void) { // mostly of the common shape
    uint32_t r = draw_bits() % 24;
    return (int)(r < PLAIN ? r : r % 8);
}

static void argument(call *c, const char *name, int tensor) {
    c->args[c->count].name = draw_bits() % 40 ? name : "wrong";
    c->args[c->count].tensor = tensor;
    c->args[c->count].number = (double)(draw_bits() % 300);
    c->args[c->count++].whole = draw_bits() % 3 != 0;
}

// Makes some arguments of a call with gradients pairs of tensors, most of them plain ones of the common shape.
static void pair_up(call *c) {
    bool most = draw_bits() % 2;
    for (uint32_t i = 0; i < c->count; i++) {
        if (draw_bits() % 8 ? !most : most) continue;
        if (draw_bits() % 8) c->args[i].tensor = 1 + (int)(draw_bits() % 7);
        c->args[i].gradient = 1 + (int)(draw_bits() % 7);
    }
}

static int tensor_or_number(void) {
    return draw_bits() % 6 ? any_tensor() : draw_bits() % 12 ? -1 : -5;
}
static int graded(void) { // mostly of the common shape
    uint32_t r = draw_bits() % 16;
    return r < 8 ? PLAIN + (int)(r % 4) : r < 15 ? PLAIN + (int)(r % 8) : any_tensor();
}
static int result(void) {
    uint32_t r = draw_bits() % 8;
    return r == 0 ? -2 : r == 1 ? -4 : any_tensor();
}

static void draw(call *c) {
    bool named = draw_bits() % 10 != 0;
#define NAMED(text) (named ? text : NULL)
    memset(c, 0, sizeof *c);
    c->group = draw_bits() % 4 ? 0 : 64u << draw_bits() % 2;
    switch (draw_bits() % 12) {
    case 8:
    case 9:
        c->function = "poly";
        c->mode = draw_bits() % 4 ? SPY_CALL_MODE_BACKWARD : SPY_CALL_MODE_FORWARD_DIFF;
        c->deterministic = draw_bits() % 3 == 0;
        argument(c, NAMED("a"), graded());
        argument(c, NAMED("b"), draw_bits() % 3 ? graded() : tensor_or_number());
        argument(c, "_result", draw_bits() % 4 ? 20 + (int)(draw_bits() % 2) : graded());
        pair_up(c);
        break;
    case 10:
        c->function = "both";
        c->mode = draw_bits() % 4 ? SPY_CALL_MODE_BACKWARD : SPY_CALL_MODE_FORWARD_DIFF;
        argument(c, NAMED("a"), graded());
        argument(c, NAMED("b"), graded());
        argument(c, NAMED("y"), draw_bits() % 4 ? 20 + (int)(draw_bits() % 2) : graded());
        argument(c, NAMED("z"), draw_bits() % 2 ? graded() : result());
        pair_up(c);
        break;
    case 11: // in the plain mode, of tensors with gradients
        c->function = "poly";
        argument(c, NAMED("a"), graded());
        argument(c, NAMED("b"), graded());
        argument(c, "_result", graded());
        break;
    case 0:
        c->function = "into";
        argument(c, NAMED("x"), tensor_or_number());
        argument(c, NAMED("k"), draw_bits() % 8 ? -1 : any_tensor());
        argument(c, NAMED("y"), any_tensor());
        break;
    case 1:
        c->function = "mix";
        argument(c, NAMED("a"), draw_bits() % 4 ? 10 : -3);
        c->args[0].number = draw_bits() % 5 ? 3 : 4;
        argument(c, NAMED("b"), draw_bits() % 4 ? 10 : 13);
        argument(c, NAMED("t"), -1);
        argument(c, "_result", draw_bits() % 3 ? 11 : result());
        break;
    case 2:
        c->function = "two";
        argument(c, NAMED("x"), tensor_or_number());
        argument(c, NAMED("y"), result());
        argument(c, NAMED("z"), result());
        break;
    case 3:
        c->function = "row";
        argument(c, NAMED("v"), -3);
        c->args[0].number = draw_bits() % 6 ? 4 : 3;
        argument(c, NAMED("k"), draw_bits() % 3 ? any_tensor() : -1);
        argument(c, "_result", result());
        break;
    default:
        c->function = "add";
        argument(c, NAMED("x"), tensor_or_number());
        argument(c, NAMED("y"), tensor_or_number());
        argument(c, "_result", result());
        break;
    }
}

static void compare(int64_t elements, size_t calls) {
    size_t good = 0;
    length = elements;
    const char *given = getenv("SPY_TEST_SEED");
    seed = given ? strtoull(given, NULL, 10) : 20261122;
    print_message("seed %llu\n", (unsigned long long)seed);
    repeated = 0;
    for (int k = 0; k < SIDES && !paired; k++) open_side(&sides[k]);
    paired = true; // for the next comparison, too, which would make half of their kernels again
    for (int i = 0; i < TENSORS; i++) make_tensor(i);
    for (size_t n = 0; n < calls; n++) {
        call c;
        draw(&c);
        // Several times, as loops do: now with other tensors or numbers, now with what has been released and made again.
        for (uint32_t times = 1 + draw_bits() % 6; times; times--) {
            both(&c, n);
            good++;
            for (uint32_t i = 0; i < c.count; i++) {
                if (c.args[i].tensor == -1) c.args[i].number = (double)(draw_bits() % 300);
                if (c.args[i].tensor >= 0 && c.args[i].tensor < 8 && draw_bits() % 2)
                    c.args[i].tensor = (int)(draw_bits() % 8);
                if (c.args[i].tensor >= PLAIN && c.args[i].tensor < PLAIN + 4 && draw_bits() % 2)
                    c.args[i].tensor = PLAIN + (int)(draw_bits() % 4);
            }
            if (draw_bits() % 16 == 0) make_tensor((int)(2 + draw_bits() % 6)); // no view is of these
            if (draw_bits() % 16 == 0) make_tensor(PLAIN + (int)(draw_bits() % (TENSORS - PLAIN)));
            if (draw_bits() % 32 == 0) regrade(PLAIN + (int)(draw_bits() % (TENSORS - PLAIN)));
            if (draw_bits() % 32 == 0)
                for (int k = 0; k < SIDES; k++)
                    assert_int_equal(spy_tensor_point_to(sides[k].tensors[2], sides[k].tensors[3]), SPY_OK);
            if (draw_bits() % 64 == 0)
                for (int k = 0; k < SIDES; k++) assert_int_equal(spy_wait(sides[k].device), SPY_OK);
        }
    }
    print_message("%zu calls, %zu the short way\n", good, repeated);
    assert_true(repeated * (good < 1000 ? 60 : 20) > good);
    for (int k = 0; k < SIDES; k++)
        for (int i = 0; i < TENSORS; i++) {
            spy_release_tensor(sides[k].tensors[i]);
            sides[k].tensors[i] = NULL;
        }
}

static void test_as_the_long_way(void **state) {
    (void)state;
    compare(64, test_count(20000) / (test_everything() ? 1 : 4));
}

// Kernels that go 16 bytes at a time: slices at another alignment need another one.
static void test_wide(void **state) {
    (void)state;
    compare(1 << 20, test_count(5000) / (test_everything() ? 1 : 4));
}

// The short way is taken at all: the third call of a loop neither describes its arguments nor looks for a plan.
static void test_taken(void **state) {
    (void)state;
    side *s = &sides[0];
    open_side(s);
    for (int i = 0; i < 3; i++) s->tensors[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(64));
    spy_function *f = spy_find_function(s->module, "add");
    for (int n = 0; n < 4; n++) {
        s->device->cache->values->count = UINT32_MAX; // describing sets it
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("x", s->tensors[0]), spy_arg_f32("y", (float)n),
                                              spy_arg_tensor("_result", s->tensors[2]))),
                         SPY_OK);
        assert_int_equal(s->device->cache->values->count, n < 2 ? 3 : UINT32_MAX);
    }
    s->device->cache->values->count = 0;
    close_side(s);
}

// Whether a call goes the short way: it does not describe its arguments.
static bool is_short(side *s, spy_tensor *x, spy_tensor *result) {
    s->device->cache->values->count = UINT32_MAX;
    assert_int_equal(
        spy_call(spy_find_function(s->module, "add"),
                 SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", result))),
        SPY_OK);
    bool taken = s->device->cache->values->count == UINT32_MAX;
    s->device->cache->values->count = 0;
    return taken;
}

// A prepared call and calls with the same options share a plan. What the prepared one learnt serves the others: its copy of
// the options has lists of its own, which say nothing.
static void test_prepared_options(void **state) {
    (void)state;
    side *s = &sides[0];
    open_side(s);
    spy_function *f = spy_find_function(s->module, "add");
    s->tensors[0] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(64));
    s->tensors[1] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(64));
    spy_args args = SPY_ARGS(spy_arg_tensor("x", s->tensors[0]), spy_arg_f32("y", 1), spy_arg_tensor("_result", s->tensors[1]));
    spy_call_options options;
    spy_prepare_desc desc;
    memset(&options, 0, sizeof options);
    memset(&desc, 0, sizeof desc);
    options.thread_group_size[0] = 64;
    desc.options = &options;
    spy_prepared *p = spy_prepare(f, args, &desc);
    assert_non_null(p);
    for (int n = 0; n < 3; n++) assert_int_equal(spy_call_prepared(p, args), SPY_OK);
    for (int gone = 0; gone < 2; gone++) {
        s->device->cache->values->count = UINT32_MAX; // describing sets it
        assert_int_equal(spy_call_with(f, args, &options), SPY_OK);
        assert_int_equal(s->device->cache->values->count, UINT32_MAX);
        s->device->cache->values->count = 0;
        spy_release_prepared(p);
        p = NULL;
    }
    close_side(s);
}

// Slices of a long tensor, one after another, aligned and not: each of the four alignments of floats needs to be learnt once.
static void test_slices(void **state) {
    (void)state;
    side *s = &sides[0];
    const int64_t sizes[3] = { 1 << 17, (1 << 17) + 1, 100 };
    open_side(s);
    for (int k = 0; k < 3; k++) {
        int64_t size = sizes[k];
        s->tensors[0] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(40 * size));
        s->tensors[1] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(size));
        uint32_t taken = 0, late = 0;
        for (int64_t i = 0; i < 40; i++) {
            spy_tensor *x = part(s->tensors[0], i * size, 1, size);
            bool good = is_short(s, x, s->tensors[1]);
            taken += good;
            late += i >= 25 && !good;
            spy_release_tensor(x);
        }
        print_message("slices of %lld: %u of 40 the short way\n", (long long)size, taken);
        assert_int_equal(late, 0);
        assert_true(taken >= 28);
        for (int i = 0; i < 2; i++) spy_release_tensor(s->tensors[i]);
        s->tensors[0] = s->tensors[1] = NULL;
    }
    close_side(s);
}

// Layers of several sizes in turns on one function keep their launches; a fifth size pushes the oldest out.
static void test_in_turns(void **state) {
    (void)state;
    side *s = &sides[0];
    spy_tensor *in[5], *out[5];
    open_side(s);
    for (int i = 0; i < 5; i++) {
        in[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(64 + i));
        out[i] = make(s, SPY_DTYPE_FLOAT32, SPY_SHAPE(64 + i));
    }
    for (int turns = 2; turns <= 5; turns++)
        for (int n = 0; n < 4 * turns; n++) {
            bool taken = is_short(s, in[n % turns], out[n % turns]);
            if (n >= 2 * turns) assert_int_equal(taken, turns <= SPYI_GEOMETRIES);
        }
    for (int i = 0; i < 5; i++) {
        spy_release_tensor(in[i]);
        spy_release_tensor(out[i]);
    }
    close_side(s);
}

// Two passes whose gradients share no memory run in either order: each repeated call begins with the kernel that the last one ended
// with, so that a backend binds one pipeline for a call. Exact sums, whose kernels come in pairs, keep their order.
static void test_turned_passes(void **state) {
    enum { CALLS = 8 };
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        side *s = &sides[0];
        open_side(s);
        spy_function *f = spy_find_function(s->module, "poly");
        const int64_t rows =
            exact ? 1 << 18 : 16; // so long that the parts of a sum need a kernel of their own
        const spy_shape shapes[3] = { SPY_SHAPE(1, 4), SPY_SHAPE(rows, 1), SPY_SHAPE(rows, 4) };
        for (int i = 0; i < 3; i++) s->tensors[i] = make_with(s, SPY_DTYPE_FLOAT32, shapes[i], true);
        spy_call_options options;
        memset(&options, 0, sizeof options);
        options.mode = SPY_CALL_MODE_BACKWARD;
        options.deterministic = exact != 0;
        const void *last = NULL;
        size_t each = 0;
        for (int n = 0; n < CALLS; n++) {
            const size_t before = spyi_null_op_count(s->device->gpu);
            const void *first = NULL;
            size_t dispatches = 0;
            assert_int_equal(
                spy_call_with(f,
                              SPY_ARGS(spy_arg_tensor("a", s->tensors[0]), spy_arg_tensor("b", s->tensors[1]),
                                       spy_arg_tensor("_result", s->tensors[2])),
                              &options),
                SPY_OK);
            const void *ended = NULL;
            for (size_t i = before; i < spyi_null_op_count(s->device->gpu); i++) {
                const spyi_null_op *op = spyi_null_get_op(s->device->gpu, i);
                if (op->kind != SPYI_NULL_DISPATCH) continue;
                if (dispatches++ == 0) first = op->kernel;
                ended = op->kernel;
            }
            if (n == 0) each = dispatches;
            assert_int_equal(dispatches, each);
            assert_int_equal(each, exact ? 3 : 2);
            assert_ptr_not_equal(first, ended);
            if (n > 3) assert_int_equal(first == last, !exact);
            last = ended;
        }
        close_side(s);
    }
}

// The last test: what the comparisons have left is in order.
static void test_closed(void **state) {
    (void)state;
    for (int k = 0; k < SIDES && paired; k++) close_side(&sides[k]);
    paired = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),         cmocka_unit_test(test_prepared_options),
        cmocka_unit_test(test_slices),        cmocka_unit_test(test_in_turns),
        cmocka_unit_test(test_turned_passes), cmocka_unit_test(test_as_the_long_way),
        cmocka_unit_test(test_wide),          cmocka_unit_test(test_closed),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
