// Command lists whose values change between submissions, against plain C: on CUDA, where the second submission makes a CUDA graph
// of the list, and on Vulkan, which records it anew. Random programs, all kinds of values, memory that stays, what is refused.
#include "gpu_test.h"
#include "chance.h"
#include "counting_allocator.h"
#include <sys/wait.h>

spy_device *gpu_device;
static const char *program;

static const char source[] =
    "uint step(uint x, uint a, uint b) { return x * a + b; }\n"
    "uint mix(uint p, uint q, uint k) { return p * 3u + q * k; }\n"
    "uint count(uint x, uint k) { return x + k; }\n"
    "struct Light { float3 color; float power; bool on; uint8_t tail; }\n"
    "float lit(Light l, float x) { return l.on ? (l.color.x + 2 * l.color.y + 4 * l.color.z) * l.power * x + float(l.tail) : -x; }\n"
    "float weigh(float w[4], float x, float3 v) { return (w[0] + 2 * w[1] + 4 * w[2] + 8 * w[3]) * x + v.x + v.y + v.z; }\n"
    "struct Part { float a; float3 v; }\n"
    "float held(ConstantBuffer<Part> p, float x) { return p.a * x + p.v.y; }\n"
    "float scale;\nPart part;\nint unused;\n"
    "float shared(float x) { return x * scale + part.v.z; }\n"
    "uint dice(uint r, uint x) { return r + x; }\n"
    "struct Big { float v[10000]; }\n"
    "struct Middle { float v[2000]; }\n"
    "float middle(Middle b, int i) { return b.v[i / 5]; }\n"
    "float big(Big b, int i) { return b.v[i]; }\n"
    "[Differentiable] float poly(no_diff float k, float x, float y) { return k * x * x * y; }\n"
    "float half_of(int i, bool on) { return on ? i * 0.5f : -1; }\n"
    "void poke(uint64_t p) { *(uint*)p = 1; }\n"
    "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
    "void own(uint3 t : SV_DispatchThreadID, uniform float k, uniform RWStructuredBuffer<float> to) { to[t.x] = k * t.x; }\n";

// >>helpers

static spy_module *open_module(void) {
    spy_device_desc d = gpu_desc();
    d.allocator = counting_allocator();
    gpu_device = gpu_open(&d);
    if (!gpu_device) skip();
    return MADE(spy_module, gpu_module(gpu_device, "graph", source));
}

static void close_device(void) {
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

static spy_function *fn(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}
static spy_command_list *new_list(void) {
    return MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
}
static spy_tensor *uints(int64_t n, const uint32_t *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(n), data));
}
static spy_tensor *floats(int64_t n, const float *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(n), data));
}

// Whether submissions are one launch: on CUDA from the second one on.
static void check_graph(spy_command_list *list, bool possible) {
    spy_list_info info = spy_get_list_info(list);
    bool expected = possible && info.submit_count > 1 && gpu_is_cuda() && !gpu_other_backend;
    assert_int_equal(info.graph, expected);
}

// tests/cuda/compile_only.c runs no kernel.
#define CHECK(condition) assert_true(gpu_other_backend || (condition))

// >>twenty calls

static void test_twenty(void **state) {
    enum { N = 1000, CALLS = 20, ROUNDS = 200 };
    static uint32_t x[N], y[N], got[N];
    uint32_t a[CALLS], b[CALLS];
    (void)state;
    spy_module *m = open_module();
    seed();
    for (int i = 0; i < N; i++) x[i] = below(1u << 31);
    spy_tensor *t[2] = { uints(N, x), uints(N, NULL) };
    spy_function *step = fn(m, "step");
    spy_command_list *list = new_list();
    for (int c = 0; c < CALLS; c++) {
        a[c] = below(100), b[c] = below(1000);
        assert_int_equal(spy_get_list_info(list).call_count, c);
        OK(spy_list_call(list, step, SPY_ARGS(spy_arg_tensor("x", t[c % 2]), spy_arg_u32("a", a[c]), spy_arg_u32("b", b[c]), spy_arg_tensor("_result", t[(c + 1) % 2]))));
    }
    OK(spy_list_finish(list));
    assert_int_equal(spy_get_list_info(list).call_count, CALLS);
    OK(spy_list_submit(list));
    OK(spy_list_submit(list));
    OK(spy_call(step, SPY_ARGS(spy_arg_tensor("x", t[0]), spy_arg_u32("a", 3), spy_arg_u32("b", 1), spy_arg_tensor("_result", t[1])))); // compiles
    spy_device_stats first = spy_get_device_stats(gpu_device);
    for (int round = 0; round < 2; round++)
        for (int c = 0; c < CALLS; c++)
            for (int i = 0; i < N; i++) x[i] = x[i] * a[c] + b[c];
    long long before, allocated = 0;
    for (int round = 2; round < ROUNDS; round++) {
        before = allocations_made;
        for (uint32_t changes = below(4); changes > 0; changes--) {
            uint32_t c = below(CALLS), which = below(3);
            if (which != 1) a[c] = below(1u << 30);
            if (which != 0) b[c] = below(1u << 30);
            if (which == 0) OK(spy_list_set(list, c, SPY_ARGS(spy_arg_u32("a", a[c]))));
            else if (which == 1) OK(spy_list_set(list, c, SPY_ARGS(spy_arg_i32("b", (int32_t)b[c]))));
            else OK(spy_list_set(list, c, SPY_ARGS(spy_arg_u32("b", b[c]), spy_arg_u64("a", a[c]))));
        }
        OK(spy_list_submit(list));
        allocated += allocations_made - before;
        check_graph(list, true);
        for (int c = 0; c < CALLS; c++)
            for (int i = 0; i < N; i++) x[i] = x[i] * a[c] + b[c];
        if (round % 50 == 20) { // others in between
            OK(spy_call(step, SPY_ARGS(spy_arg_tensor("x", t[0]), spy_arg_u32("a", 3), spy_arg_u32("b", 1), spy_arg_tensor("_result", t[1]))));
            OK(spy_tensor_read(t[1], got, sizeof got));
            for (int i = 0; i < N; i++) y[i] = x[i] * 3 + 1;
            CHECK(memcmp(got, y, sizeof y) == 0);
        }
    }
    assert_int_equal(allocated, 0);
    spy_device_stats last = spy_get_device_stats(gpu_device);
    assert_int_equal(last.dispatches - first.dispatches, (ROUNDS - 2) * CALLS + 4);
    assert_int_equal(last.kernels_built, first.kernels_built);
    OK(spy_tensor_read(t[0], got, sizeof got));
    CHECK(memcmp(got, x, sizeof x) == 0);
    close_device();
}

// >>random programs: calls, copies and fills that meet in memory or do not, with other numbers each time

enum { ARRAYS = 24, SIZE = 64, DEEDS = 60 };

typedef struct deed {
    int kind, to, from, other; // 0: mix, 1: step in place, 2: copy, 3: fill, 4: barrier
    uint32_t k, call;
} deed;

static void do_on_host(uint32_t host[ARRAYS][SIZE], const deed *d) {
    for (int i = 0; i < SIZE; i++) {
        uint32_t *to = &host[d->to][i];
        if (d->kind == 0) *to = host[d->from][i] * 3u + host[d->other][i] * d->k;
        else if (d->kind == 1) *to = *to * d->k + 5;
        else if (d->kind == 2) *to = host[d->from][i];
        else if (d->kind == 3) *to = d->k;
    }
}

static void one_program(spy_module *m) {
    static uint32_t host[ARRAYS][SIZE], got[SIZE];
    spy_tensor *t[ARRAYS];
    deed deeds[DEEDS];
    uint32_t count = 2 + below(DEEDS - 1), calls = 0;
    int most = 2 + (int)below(ARRAYS - 1);
    spy_command_list *list = new_list();
    for (int a = 0; a < ARRAYS; a++) {
        for (int i = 0; i < SIZE; i++) host[a][i] = below(1u << 31);
        t[a] = uints(SIZE, host[a]);
    }
    for (uint32_t i = 0; i < count; i++) {
        deed *d = &deeds[i];
        d->kind = below(8) == 0 ? 4 : (int)below(4);
        d->to = (int)below((uint32_t)most);
        do d->from = (int)below((uint32_t)most);
        while (d->from == d->to);
        d->other = (int)below((uint32_t)most);
        d->k = below(1u << 20);
        d->call = calls;
        if (d->kind == 0) OK(spy_list_call(list, fn(m, "mix"), SPY_ARGS(spy_arg_tensor("p", t[d->from]), spy_arg_tensor("q", t[d->other]), spy_arg_u32("k", d->k), spy_arg_tensor("_result", t[d->to]))));
        else if (d->kind == 1) OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", t[d->to]), spy_arg_u32("a", d->k), spy_arg_u32("b", 5), spy_arg_tensor("_result", t[d->to]))));
        else if (d->kind == 2) OK(spy_list_copy(list, t[d->to], t[d->from]));
        else if (d->kind == 3) OK(spy_list_fill(list, t[d->to], (double)d->k));
        else OK(spy_list_barrier(list));
        calls += d->kind < 2;
    }
    OK(spy_list_finish(list));
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < count && round > 0; i++) {
            deed *d = &deeds[i];
            if (d->kind > 1 || below(3)) continue;
            d->k = below(1u << 20);
            OK(spy_list_set(list, d->call, SPY_ARGS(spy_arg_u32(d->kind == 0 ? "k" : "a", d->k))));
        }
        OK(spy_list_submit(list));
        for (uint32_t i = 0; i < count; i++) do_on_host(host, &deeds[i]);
        int look = (int)below(ARRAYS); // now and then: reads wait
        OK(spy_tensor_read(t[look], got, sizeof got));
        CHECK(memcmp(got, host[look], sizeof got) == 0);
    }
    for (int a = 0; a < ARRAYS; a++) {
        OK(spy_tensor_read(t[a], got, sizeof got));
        CHECK(memcmp(got, host[a], sizeof got) == 0);
        spy_release_tensor(t[a]);
    }
    spy_release_command_list(list);
}

static void test_random_programs(void **state) {
    (void)state;
    spy_module *m = open_module();
    seed();
    for (size_t n = 0; n < test_count(300); n++) one_program(m);
    close_device();
}

// Many calls that nothing orders, then one that reads what all wrote.
static void test_wide(void **state) {
    enum { N = 40 };
    uint32_t x[4] = { 1, 2, 3, 4 }, got[4], sum[4] = { 0, 0, 0, 0 };
    spy_tensor *t[N], *total;
    (void)state;
    spy_module *m = open_module();
    spy_command_list *list = new_list();
    total = uints(4, sum);
    for (int i = 0; i < N; i++) {
        t[i] = uints(4, x);
        OK(spy_list_call(list, fn(m, "count"), SPY_ARGS(spy_arg_tensor("x", t[i]), spy_arg_u32("k", (uint32_t)i), spy_arg_tensor("_result", t[i]))));
    }
    for (int i = 0; i < N; i++)
        OK(spy_list_call(list, fn(m, "mix"), SPY_ARGS(spy_arg_tensor("p", total), spy_arg_tensor("q", t[i]), spy_arg_u32("k", 7), spy_arg_tensor("_result", total))));
    OK(spy_list_finish(list));
    for (int round = 1; round < 6; round++) {
        OK(spy_list_submit(list));
        check_graph(list, true);
        for (int i = 0; i < N; i++)
            for (uint32_t e = 0; e < 4; e++) sum[e] = sum[e] * 3 + (x[e] + (uint32_t)(round * i)) * 7;
        OK(spy_tensor_read(total, got, sizeof got));
        CHECK(memcmp(got, sum, sizeof sum) == 0);
    }
    close_device();
}

// >>kinds of values

typedef struct light {
    float color[3], power;
    bool on;
    uint8_t tail;
} light;

static void check_floats(spy_tensor *t, float (*expect)(int i, const void *data), const void *data) {
    float got[64];
    OK(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < 64 && !gpu_other_backend; i++)
        if (got[i] != expect(i, data)) fail_msg("element %d is %g, not %g", i, (double)got[i], (double)expect(i, data));
}

static float expect_lit(int i, const void *data) {
    const light *l = (const light *)data;
    return l->on ? (l->color[0] + 2 * l->color[1] + 4 * l->color[2]) * l->power * (float)i + l->tail : -(float)i;
}
static float expect_weigh(int i, const void *data) {
    const float *w = (const float *)data;
    return (w[0] + 2 * w[1] + 4 * w[2] + 8 * w[3]) * (float)i + w[4] + w[5] + w[6];
}
static float expect_line(int i, const void *data) {
    const float *p = (const float *)data;
    return p[0] * (float)i + p[1];
}
static float expect_middle(int i, const void *data) {
    return ((const float *)data)[i * 20];
}
static float expect_big(int i, const void *data) {
    return ((const float *)data)[i * 100];
}
static float expect_half(int i, const void *data) {
    const int *p = (const int *)data;
    return p[1] ? (float)p[0] * 0.5f : -1 + 0 * (float)i;
}

static void test_values(void **state) {
    (void)state;
    spy_module *m = open_module();
    float x[64], w[7] = { 1, 2, 3, 4, 5, 5, 5 }, line[2] = { 2, 3 }, lines[2] = { 4, 5 }, product[2] = { 1.5f, 0 };
    int half[2] = { 3, 1 }, index[64];
    float *numbers = (float *)malloc(10000 * sizeof *numbers);
    light l = { { 1, 2, 3 }, 2, true, 7 }, parts = { { 3, 2, 1 }, 4, true, 9 };
    for (int i = 0; i < 64; i++) x[i] = (float)i, index[i] = i * 100;
    for (int i = 0; i < 10000; i++) numbers[i] = (float)i;
    spy_tensor *in = floats(64, x), *out[9], *at = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    for (int i = 0; i < 9; i++) out[i] = floats(64, NULL);
    spy_command_list *list = new_list();
    OK(spy_list_call(list, fn(m, "lit"), SPY_ARGS(spy_arg_data("l", &l, sizeof l), spy_arg_tensor("x", in), spy_arg_tensor("_result", out[0]))));
    OK(spy_list_call(list, fn(m, "lit"), SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_f32n("color", parts.color, 3), spy_arg_f32("power", parts.power), spy_arg_bool("on", true), spy_arg_u32("tail", 9))), spy_arg_tensor("x", in), spy_arg_tensor("_result", out[1]))));
    OK(spy_list_call(list, fn(m, "weigh"), SPY_ARGS(spy_arg_f32n("w", w, 4), spy_arg_tensor("x", in), spy_arg_f32("v", 5), spy_arg_tensor("_result", out[2]))));
    OK(spy_list_call(list, fn(m, "held"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("a", line[0]), spy_arg_f32n("v", (const float[]){ 0, 3, 0 }, 3))), spy_arg_tensor("x", in), spy_arg_tensor("_result", out[3]))));
    spy_call_options o[2];
    memset(o, 0, sizeof o);
    o[0].globals = SPY_ARGS(spy_arg_f32("scale", lines[0]), spy_arg_struct("part", SPY_ARGS(spy_arg_f32("a", 0), spy_arg_f32n("v", (const float[]){ 0, 0, 5 }, 3))));
    o[1].globals = SPY_ARGS(spy_arg_f32("scale", product[0]), spy_arg_struct("part", SPY_ARGS(spy_arg_f32("a", 0), spy_arg_f32n("v", (const float[]){ 0, 0, 0 }, 3))));
    for (int i = 0; i < 2; i++) { // one kernel, two values of its globals
        o[i].append_to = list;
        OK(spy_call_with(fn(m, "shared"), SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("_result", out[4 + i])), &o[i]));
    }
    OK(spy_list_call(list, fn(m, "big"), SPY_ARGS(spy_arg_data("b", numbers, 40000), spy_arg_tensor("i", at), spy_arg_tensor("_result", out[6]))));
    OK(spy_list_call(list, fn(m, "half_of"), SPY_ARGS(spy_arg_i32(NULL, half[0]), spy_arg_bool(NULL, true), spy_arg_tensor("_result", out[7]))));
    OK(spy_list_call(list, fn(m, "middle"), SPY_ARGS(spy_arg_data("b", numbers, 8000), spy_arg_tensor("i", at), spy_arg_tensor("_result", out[8]))));
    OK(spy_list_finish(list));
    for (int round = 0; round < 6; round++) {
        if (round == 1 || round == 3) { // before the graph is made, and after
            l.color[1] += 0.5f, l.tail++, parts.color[2] = 7, parts.power = 1, parts.tail = 3, w[2] = 11, w[4] = w[5] = w[6] = 2;
            line[0] += 8, line[1] = -3, lines[0] = 6, lines[1] = 1, product[0] = -2, numbers[6300] = -1, numbers[0] += 3, numbers[1260] -= 7, half[0] = 9;
            if (round == 3) l.on = false, half[1] = 0;
            OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_data("l", &l, sizeof l))));
            OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_f32n("l.color", parts.color, 3), spy_arg_f32("l.power", 1), spy_arg_u32("l.tail", 3))));
            OK(spy_list_set(list, 2, SPY_ARGS(spy_arg_f32n("w", w, 4), spy_arg_f32("v", 2))));
            OK(spy_list_set(list, 3, SPY_ARGS(spy_arg_f32("p.a", line[0]), spy_arg_f32n("p.v", (const float[]){ 9, -3, 9 }, 3))));
            OK(spy_list_set(list, 4, SPY_ARGS(spy_arg_f32("scale", 6), spy_arg_f32n("part.v", (const float[]){ 9, 9, 1 }, 3))));
            OK(spy_list_set(list, 5, SPY_ARGS(spy_arg_f64("scale", -2))));
            OK(spy_list_set(list, 6, SPY_ARGS(spy_arg_data("b", numbers, 40000))));
            OK(spy_list_set(list, 8, SPY_ARGS(spy_arg_data("b", numbers, 8000)))); // on CUDA with the launch, the one before through memory
            OK(spy_list_set(list, 7, SPY_ARGS(spy_arg_i32(NULL, 9), spy_arg_bool(NULL, half[1]))));
        }
        OK(spy_list_submit(list));
        check_graph(list, true);
        if (round == 4) { // the same kernel with other globals in between
            o[0].append_to = NULL;
            OK(spy_call_with(fn(m, "shared"), SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("_result", out[4])), &o[0]));
            OK(spy_list_submit(list));
        }
        check_floats(out[0], expect_lit, &l);
        check_floats(out[1], expect_lit, &parts);
        check_floats(out[2], expect_weigh, w);
        check_floats(out[3], expect_line, line);
        check_floats(out[4], expect_line, lines);
        check_floats(out[5], expect_line, product);
        check_floats(out[6], expect_big, numbers);
        check_floats(out[7], expect_half, half);
        check_floats(out[8], expect_middle, numbers);
        for (int i = 0; i < 9; i++) OK(spy_tensor_fill(out[i], 77));
    }
    free(numbers);
    close_device();
}

// Direct calls say what a seed gives.
static void test_random_seed(void **state) {
    uint32_t got[64], want[64];
    spy_random_desc a = { 0 }, b = { 0 };
    (void)state;
    spy_module *m = open_module();
    a.seed = 5, b.seed = 6;
    OK(spy_tensor_fill(uints(1, NULL), 0));
    spy_tensor *x = uints(64, NULL), *out = uints(64, NULL), *other = uints(64, NULL);
    OK(spy_tensor_fill(x, 3));
    spy_command_list *list = new_list();
    OK(spy_list_fill(list, out, 9));
    OK(spy_list_call(list, fn(m, "dice"), SPY_ARGS(spy_arg_wang_hash("r", &a), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    OK(spy_list_finish(list));
    for (int round = 0; round < 5; round++) {
        const spy_random_desc *now = round % 2 ? &b : &a;
        OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_wang_hash("r", now))));
        OK(spy_list_submit(list));
        OK(spy_call(fn(m, "dice"), SPY_ARGS(spy_arg_wang_hash("r", now), spy_arg_tensor("x", x), spy_arg_tensor("_result", other))));
        OK(spy_tensor_read(out, got, sizeof got));
        OK(spy_tensor_read(other, want, sizeof want));
        CHECK(memcmp(got, want, sizeof got) == 0 && got[0] != got[1]);
    }
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_rand_float("r", 0, 1, NULL))), "'r'", "wang_hash", "rand_float");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("r", 1))), "'r'", "wang_hash", "uint number");
    close_device();
}

// A backward call is several dispatches when gradients meet; all of them get the number.
static void test_backward(void **state) {
    enum { N = 6 };
    const float x[N] = { 1, 2, 3, 4, 5, 6 }, y[N] = { 3, 1, 4, 1, 5, 9 };
    float dx[N], dy[N], out_data[N * N], k = 2, want_x[N] = { 0 }, want_y[N] = { 0 };
    (void)state;
    spy_module *m = open_module();
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N, 1), d.data = x, d.with_grad = true;
    spy_tensor *tx = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    d.shape = SPY_SHAPE(1, N), d.data = y;
    spy_tensor *ty = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    d.shape = SPY_SHAPE(N, N), d.data = NULL;
    spy_tensor *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(spy_tensor_grad(out), 1));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    spy_command_list *list = new_list();
    o.append_to = list;
    o.mode = SPY_CALL_MODE_BACKWARD;
    spy_args args = SPY_ARGS(spy_arg_f32("k", k), spy_arg_tensor("x", tx), spy_arg_tensor("y", ty), spy_arg_tensor("_result", out));
    OK(spy_call_with(fn(m, "poly"), args, &o));
    OK(spy_list_call(list, fn(m, "poly"), args));
    OK(spy_list_finish(list));
    spy_list_info info = spy_get_list_info(list);
    assert_int_equal(info.call_count, 2);
    assert_true(info.op_count > 2);
    for (int round = 0; round < 5; round++) {
        if (round) OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("k", k = (float)(round * 3)))));
        if (round == 2) OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_f32("k", 10))));
        OK(spy_list_submit(list));
        for (int i = 0; i < N * N; i++) want_x[i / N] += 2 * k * x[i / N] * y[i % N], want_y[i % N] += k * x[i / N] * x[i / N];
    }
    check_graph(list, true);
    OK(spy_tensor_read(spy_tensor_grad(tx), dx, sizeof dx));
    OK(spy_tensor_read(spy_tensor_grad(ty), dy, sizeof dy));
    for (int i = 0; i < N; i++) CHECK(dx[i] == want_x[i] && dy[i] == want_y[i]); // whole numbers: in any order
    OK(spy_tensor_read(out, out_data, sizeof out_data));
    for (int i = 0; i < N * N; i++) CHECK(out_data[i] == 10 * x[i / N] * x[i / N] * y[i % N]);
    close_device();
}

static void test_dispatch(void **state) {
    float got[64];
    (void)state;
    spy_module *m = open_module();
    spy_tensor *out = floats(64, NULL), *counts = uints(3, (const uint32_t[]){ 2, 1, 1 });
    spy_call_options o;
    memset(&o, 0, sizeof o);
    for (int indirect = 0; indirect < 2; indirect++) {
        spy_command_list *list = new_list();
        o.append_to = list;
        OK(spy_list_fill(list, out, 0));
        if (indirect) OK(spy_dispatch_indirect(fn(m, "own"), counts, 0, SPY_ARGS(spy_arg_f32("k", 2), spy_arg_tensor("to", out)), &o));
        else OK(spy_dispatch(fn(m, "own"), (spy_uint3){ 64, 1, 1 }, SPY_ARGS(spy_arg_f32("k", 2), spy_arg_tensor("to", out)), &o));
        OK(spy_list_finish(list));
        for (int round = 0; round < 4; round++) {
            if (round) OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_f32(round == 2 ? NULL : "k", (float)round * 5))));
            OK(spy_list_submit(list));
            check_graph(list, !indirect); // CUDA has no launch whose size lies in memory
            OK(spy_tensor_read(out, got, sizeof got));
            for (int i = 0; i < 64; i++) CHECK(got[i] == (round ? (float)round * 5 : 2) * (float)i);
        }
        spy_release_command_list(list);
    }
    close_device();
}

// >>memory, order, times

// The list's memory is nobody else's, whatever was released.
static void test_pinned(void **state) {
    enum { N = 5000 };
    static uint32_t x[N], got[N];
    (void)state;
    spy_module *m = open_module();
    for (uint32_t i = 0; i < N; i++) x[i] = i;
    spy_tensor *a = uints(N, x), *b = uints(N, NULL), *out = uints(N, NULL), *others[6];
    spy_function *step = fn(m, "step");
    spy_command_list *list = new_list();
    OK(spy_list_call(list, step, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("a", 3), spy_arg_u32("b", 0), spy_arg_tensor("_result", b))));
    OK(spy_list_call(list, step, SPY_ARGS(spy_arg_tensor("x", b), spy_arg_u32("a", 5), spy_arg_u32("b", 0), spy_arg_tensor("_result", out))));
    light l = { { 1, 2, 3 }, 2, true, 7 };
    spy_tensor *bright = floats(64, NULL), *line = floats(64, NULL);
    float ramp[64];
    for (int i = 0; i < 64; i++) ramp[i] = (float)i;
    OK(spy_tensor_write(line, ramp, sizeof ramp));
    OK(spy_list_call(list, fn(m, "lit"), SPY_ARGS(spy_arg_data("l", &l, sizeof l), spy_arg_tensor("x", line), spy_arg_tensor("_result", bright))));
    spy_release_tensor(line);
    OK(spy_list_finish(list));
    for (int round = 0; round < 6; round++) {
        if (round == 2) { // there is a graph by now
            spy_release_tensor(a);
            spy_release_tensor(b);
            OK(spy_trim(gpu_device));
            for (int i = 0; i < 6; i++) others[i] = uints(N, NULL), OK(spy_tensor_fill(others[i], 1e6));
        }
        if (round == 3) spy_release_module(m);
        l.power = (float)round;
        OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_u32("b", (uint32_t)round))));
        OK(spy_list_set(list, 2, SPY_ARGS(spy_arg_data("l", &l, sizeof l))));
        FAILS(SPY_ERROR_NOT_FOUND, spy_list_set(list, 2, SPY_ARGS(spy_arg_u32("q", 1))), "call 2: lit");
        OK(spy_list_submit(list));
        if (round == 5) spy_release_command_list(list); // its last launch goes on
        OK(spy_tensor_read(out, got, sizeof got));
        for (uint32_t i = 0; i < N; i++) CHECK(got[i] == 15 * i + (uint32_t)round);
        check_floats(bright, expect_lit, &l);
    }
    spy_release_tensor(bright);
    for (int i = 0; i < 6; i++) spy_release_tensor(others[i]);
    spy_release_tensor(out);
    OK(spy_wait(gpu_device));
    OK(spy_trim(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).used_bytes, 0);
    close_device();
}

// Submitted work keeps its values, though nothing waits between.
static void test_order(void **state) {
    enum { ROUNDS = 300 };
    uint32_t zero = 0, got, want = 0, got_last[1];
    (void)state;
    spy_module *m = open_module();
    spy_tensor *a = uints(1, &zero), *last = uints(1, &zero);
    spy_command_list *list = new_list();
    OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("a", 3), spy_arg_u32("b", 0), spy_arg_tensor("_result", a))));
    OK(spy_list_copy(list, last, a));
    OK(spy_list_finish(list));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("b", round))));
        OK(spy_list_submit(list));
        want = want * 3 + round;
    }
    OK(spy_tensor_read(a, &got, sizeof got));
    OK(spy_tensor_read(last, got_last, sizeof got_last));
    CHECK(got == want && got_last[0] == want);
    close_device();
}

// CUDA: the graph goes to whatever stream is the device's.
static void test_streams(void **state) {
    uint32_t zero = 0, got, want = 0;
    (void)state;
    if (!gpu_is_cuda() || gpu_other_backend) {
        print_message("skipped: Vulkan has no streams\n");
        skip();
    }
    spy_module *m = open_module();
    spy_tensor *a = uints(1, &zero);
    spy_command_list *list = new_list();
    for (int i = 0; i < 4; i++) OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("a", 3), spy_arg_u32("b", 0), spy_arg_tensor("_result", a))));
    OK(spy_list_finish(list));
    for (uint32_t round = 0; round < 60; round++) { // our own, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
        OK(spy_cuda_set_stream(gpu_device, (void *)(uintptr_t)(round % 3)));
        OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("b", round))));
        OK(spy_list_submit(list));
        check_graph(list, true);
        want = (want * 3 + round) * 27;
        if (round % 7) continue;
        OK(spy_tensor_read(a, &got, sizeof got));
        assert_int_equal(got, want);
    }
    OK(spy_tensor_read(a, &got, sizeof got));
    assert_int_equal(got, want);
    close_device();
}

static void test_times(void **state) {
    uint64_t t[3];
    uint32_t data[64], got[64];
    (void)state;
    spy_module *m = open_module();
    if (!(spy_get_device_info(gpu_device).features & SPY_FEATURE_TIMESTAMPS) || gpu_other_backend) {
        print_message("skipped: no timestamps\n");
        close_device();
        skip();
    }
    for (uint32_t i = 0; i < 64; i++) data[i] = i;
    spy_tensor *a = uints(64, NULL), *b = uints(64, NULL);
    spy_list_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = "times";
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, &desc));
    OK(spy_list_timestamp(list));
    OK(spy_list_push_label(list, "work"));
    OK(spy_list_write(list, a, data, sizeof data));
    OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("a", 1), spy_arg_u32("b", 1), spy_arg_tensor("_result", b))));
    OK(spy_list_pop_label(list));
    OK(spy_list_timestamp(list));
    OK(spy_list_barrier(list));
    OK(spy_list_copy(list, a, b));
    OK(spy_list_timestamp(list));
    OK(spy_list_finish(list));
    uint64_t before = 0;
    for (uint32_t round = 0; round < 5; round++) {
        OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("b", round))));
        OK(spy_list_submit(list));
        check_graph(list, true);
        OK(spy_list_read_timestamps(list, t, 3));
        assert_true(before < t[0] && t[0] <= t[1] && t[1] <= t[2]);
        before = t[2];
        OK(spy_tensor_read(a, got, sizeof got));
        for (uint32_t i = 0; i < 64; i++) assert_int_equal(got[i], i + round);
    }
    close_device();
}

// >>refused

static void test_refusals(void **state) {
    uint32_t got[8], x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    (void)state;
    spy_module *m = open_module();
    spy_tensor *a = uints(8, x), *b = uints(8, NULL), *none = uints(0, NULL);
    spy_command_list *list = new_list();
    spy_args args = SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("a", 2), spy_arg_u32("b", 1), spy_arg_tensor("_result", b));
    OK(spy_list_call(list, fn(m, "step"), args));
    OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_u32("a", 2), spy_arg_u32("b", 1), spy_arg_tensor("_result", none))));
    OK(spy_list_call(list, fn(m, "half_of"), SPY_ARGS(spy_arg_i32("i", 2), spy_arg_bool("on", true), spy_arg_tensor("_result", floats(4, NULL)))));
    OK(spy_list_call(list, fn(m, "step"), args));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("a", 3))), "spy_list_set", "still being recorded");
    OK(spy_list_finish(list));
    assert_int_equal(spy_get_list_info(list).call_count, 4);
    for (int round = 0; round < 3; round++) { // without a graph, and with one
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_list_set(list, 4, SPY_ARGS(spy_arg_u32("a", 3))), "spy_list_set", "4 calls", "got 4");
        FAILS(SPY_ERROR_NOT_FOUND, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("c", 3))), "spy_list_set", "'c'", "'a', 'b'", "call 0: step");
        FAILS(SPY_ERROR_NOT_FOUND, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("a", 1), spy_arg_u32("scale", 3))), "'scale'");
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("a", 9), spy_arg_f32("b", 1.5f))), "'b'", "expected uint, got float that does not fit", "1.5");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_f32n("b", (const float[]){ 1 }, 1))), "'b'", "expected a number for uint", "float host array (1,)");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_tensor("a", a))), "'a'", "expected a number for uint", "uint tensor (8,)");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_tensor("x", a))), "'x'", "memory");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_tensor("_result", a))), "'_result'", "memory");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_tensor(NULL, a))), "'x'", "memory"); // the first by position
        FAILS(SPY_ERROR_OUT_OF_RANGE, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("a", 9), spy_arg_i32("b", -1))), "'b'", "does not fit", "-1");
        FAILS(SPY_ERROR_NOT_FOUND, spy_list_set(list, 2, SPY_ARGS(spy_arg_i32(NULL, 1), spy_arg_bool(NULL, true), spy_arg_i32(NULL, 1))), "argument 3", "fewer", "call 2: half_of");
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 2, SPY_ARGS(spy_arg_struct("i", SPY_ARGS(spy_arg_i32("x", 1))))), "'i'", "struct of 1 fields");
        FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_set(list, 0, SPY_ARGS(spy_arg_data("a", NULL, 4))), "'a'", "NULL");
        OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_u32("a", 9)))); // no elements: nothing to change
        OK(spy_list_set(list, 0, SPY_NO_ARGS));
        OK(spy_list_submit(list));
        check_graph(list, true);
        OK(spy_tensor_read(b, got, sizeof got));
        for (uint32_t i = 0; i < 8; i++) CHECK(got[i] == 2 * x[i] + 1); // refused values are not taken in part
    }
    FAILS(SPY_ERROR_UNSUPPORTED, spy_list_call(new_list(), fn(m, "count"), SPY_ARGS(spy_arg_u32("x", 1), spy_arg_u32("k", 2), spy_out_u32("_result", got))), "'_result' returns to host memory");
    assert_int_equal(spy_list_set(NULL, 0, SPY_NO_ARGS), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_list_set");
    close_device();
}

// >>CUDA alone: a graph that faults, in a process of its own

static int child_fault(void) {
    spy_device_desc d = gpu_desc();
    gpu_device = spy_create_device(&d);
    spy_module *m = gpu_device ? gpu_module(gpu_device, "faults", source) : NULL;
    spy_function *poke = m ? spy_find_function(m, "poke") : NULL, *count = m ? spy_find_function(m, "count") : NULL;
    spy_tensor *a =
        gpu_device ? gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(4), NULL) : NULL;
    spy_command_list *list = gpu_device ? spy_create_command_list(gpu_device, NULL) : NULL;
    uint64_t place = a ? spy_tensor_address(a) : 0;
    if (!poke || !count || !a || !list || !place) return 1;
    spy_list_call(list, count, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("k", 1), spy_arg_tensor("_result", a)));
    spy_list_call(list, poke, SPY_ARGS(spy_arg_u64("p", place)));
    spy_list_finish(list);
    for (int i = 0; i < 3; i++) spy_list_submit(list);
    if (spy_wait(gpu_device) != SPY_OK || !spy_get_list_info(list).graph) return 2;
    spy_list_set(list, 1, SPY_ARGS(spy_arg_u64("p", 64)));
    spy_list_submit(list);
    spy_status status = spy_wait(gpu_device);
    spy_error e = spy_take_error(gpu_device);
    printf("%s\n", e.message);
    int wrong = status != SPY_ERROR_DEVICE_LOST || !strstr(e.message, "poke") || !strstr(e.message, "lost");
    wrong += spy_list_submit(list) != SPY_ERROR_DEVICE_LOST;
    wrong += spy_list_set(list, 1, SPY_ARGS(spy_arg_u64("p", place))) != SPY_ERROR_DEVICE_LOST;
    spy_release_command_list(list);
    spy_release_device(gpu_device);
    return wrong;
}

static void test_fault(void **state) {
    (void)state;
    if (!gpu_is_cuda() || gpu_other_backend) {
        print_message("skipped: CUDA alone survives a kernel that faults\n");
        skip();
    }
    (void)open_module();
    close_device();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "fault", (char *)NULL);
        _exit(127);
    }
    int result = -1;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
}

int main(int count, char **words) {
    program = words[0];
    if (count > 1 && strcmp(words[1], "fault") == 0) return child_fault();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty),   cmocka_unit_test(test_random_programs), cmocka_unit_test(test_wide),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_random_seed), cmocka_unit_test(test_backward),     cmocka_unit_test(test_dispatch), cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_streams), cmocka_unit_test(test_times),           cmocka_unit_test(test_refusals), cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
