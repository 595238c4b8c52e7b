// Command lists on a real device, against plain C: lists submitted a thousand times, random programs run as lists, as direct
// calls and on the host, results in new tensors, lifetimes, timestamps, and calls of more than 65,535 groups.
// With SPY_TEST_VALIDATION=1 each message of the validation layer is a failure.
#include "gpu_test.h"
#include "quiet_device.h"
#include "chance.h"

spy_device *gpu_device;

static const char source[] = "uint step(uint x, uint y) { return x * 1664525u + y; }\n"
                             "uint mix(uint a, uint b) { return a * 3u + b; }\n"
                             "void bump(uint* p) { p[0] += 10; }\n"
                             "void turn(inout uint x) { x = x * 1664525u + 1013904223u; }\n"
                             "uint8_t next8(uint8_t x) { return uint8_t(x + uint8_t(3)); }\n"
                             "struct Pair { uint a; uint8_t b; }\n"
                             "uint pick(Pair p, uint x) { return p.a * x + uint(p.b); }\n"
                             "uint slow(uint x, uint rounds) { for (uint i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u; return x; }\n";

static spy_module *open_module(void) {
    return quiet_open("lists", source);
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

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// >>a thousand submissions

// x = step(x, y) through a second tensor; y is written anew now and then between submissions.
static void test_thousand(void **state) {
    enum { N = 1000, TIMES = 1000 };
    static uint32_t x[N], y[N], got[N];
    (void)state;
    spy_module *m = open_module();
    seed();
    for (int i = 0; i < N; i++) x[i] = (uint32_t)next_random(), y[i] = (uint32_t)next_random();
    spy_tensor *a = uints(N, x), *b = uints(N, NULL), *c = uints(N, y);
    spy_function *step = fn(m, "step");
    spy_command_list *list = new_list();
    OK(spy_list_call(list, step, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("y", c), spy_arg_tensor("_result", b))));
    OK(spy_list_copy(list, a, b));
    OK(spy_list_finish(list));
    spy_device_stats first = spy_get_device_stats(gpu_device);
    for (int t = 0; t < TIMES; t++) {
        OK(spy_list_submit(list));
        for (int i = 0; i < N; i++) x[i] = x[i] * 1664525u + y[i];
        if (t % 100 == 50) {
            for (int i = 0; i < N; i++) y[i] = (uint32_t)next_random();
            OK(spy_tensor_write(c, y, sizeof y));
        }
        if (t % 100 != 99) continue;
        OK(spy_tensor_read(a, got, sizeof got));
        assert_memory_equal(got, x, sizeof x);
    }
    spy_device_stats last = spy_get_device_stats(gpu_device);
    assert_int_equal(last.dispatches - first.dispatches, TIMES);
    assert_int_equal(last.plan_hits, first.plan_hits);
    assert_int_equal(last.kernels_built, first.kernels_built);
    assert_int_equal(spy_get_list_info(list).submit_count, TIMES);
    quiet_close();
}

// What a recorded call costs to submit beside a direct one; printed only.
static void test_cost(void **state) {
    enum { CALLS = 200, TIMES = 50 };
    (void)state;
    spy_module *m = open_module();
    spy_tensor *a[8], *b[8];
    for (int i = 0; i < 8; i++) a[i] = uints(256, NULL), b[i] = uints(256, NULL);
    spy_function *mix = fn(m, "mix");
    spy_command_list *list = new_list();
    double direct = 1e9, listed = 1e9;
    for (int i = 0; i < CALLS; i++) OK(spy_list_call(list, mix, SPY_ARGS(spy_arg_tensor("a", a[i % 8]), spy_arg_u32("b", 5), spy_arg_tensor("_result", b[i % 8]))));
    OK(spy_list_finish(list));
    for (int t = 0; t < TIMES; t++) {
        OK(spy_wait(gpu_device));
        double begin = seconds();
        OK(spy_list_submit(list));
        double end = seconds();
        if (end - begin < listed) listed = end - begin;
        OK(spy_wait(gpu_device));
        begin = seconds();
        for (int i = 0; i < CALLS; i++) OK(spy_call(mix, SPY_ARGS(spy_arg_tensor("a", a[i % 8]), spy_arg_u32("b", 5), spy_arg_tensor("_result", b[i % 8]))));
        end = seconds();
        if (end - begin < direct) direct = end - begin;
    }
    print_message("%d calls, each: %.0f ns in a list, %.0f ns directly\n", CALLS, listed / CALLS * 1e9, direct / CALLS * 1e9);
    quiet_close();
}

// >>random programs: views of one tensor that overlap, and others

enum { N = 300, BASE = 4 * N, VIEWS = 10, ARRAYS = 5 };

typedef struct world {
    spy_module *module;
    uint32_t host[ARRAYS][BASE];
    int array[VIEWS]; // of each view
    int offset[VIEWS];
    spy_tensor *view[VIEWS];
} world;

typedef enum what { MIX, TURN, COPY, FILL, WRITE, BARRIER, LABEL, WHATS } what;

typedef struct deed {
    what kind;
    int to, from, other;
    uint32_t value;
    uint32_t data[N];
} deed;

static void make_world(world *w) {
    w->module = open_module();
    for (int i = 0; i < ARRAYS; i++)
        for (int k = 0; k < BASE; k++) w->host[i][k] = (uint32_t)next_random();
    spy_tensor *base = uints(BASE, w->host[0]);
    for (int v = 0; v < VIEWS; v++) { // 6 windows in array 0, 4 arrays of their own
        w->array[v] = v < 6 ? 0 : v - 5;
        w->offset[v] = v < 4 ? v * N : v == 4 ? N / 2 : v == 5 ? 2 * N + 7 : 0;
        w->view[v] = v < 6 ? MADE(spy_tensor, spy_create_slice(base, 0, w->offset[v], w->offset[v] + N, 1)) : uints(N, w->host[v - 5]);
    }
}

static uint32_t *host_of(world *w, int view) {
    return w->host[w->array[view]] + w->offset[view];
}

static bool meet(const world *w, int a, int b) {
    int distance = w->offset[a] - w->offset[b];
    return w->array[a] == w->array[b] && distance < N && distance > -N;
}

// Inputs may be the output itself, but not overlap it otherwise.
static int chance_input(const world *w, int to, bool may_be_same) {
    for (;;) {
        int v = (int)below(VIEWS);
        if (!meet(w, v, to) || (v == to && may_be_same)) return v;
    }
}

static deed chance_deed(const world *w) {
    deed d;
    memset(&d, 0, sizeof d);
    d.kind = (what)below(WHATS);
    d.to = (int)below(VIEWS);
    d.from = chance_input(w, d.to, d.kind == MIX);
    d.other = chance_input(w, d.to, true);
    d.value = below(2) ? below(1u << 31) : 7;
    for (int i = 0; i < N; i++) d.data[i] = (uint32_t)next_random();
    return d;
}

static void do_on_host(world *w, const deed *d) {
    uint32_t *to = host_of(w, d->to), *from = host_of(w, d->from), *other = host_of(w, d->other);
    for (int i = 0; i < N; i++) {
        if (d->kind == MIX) to[i] = from[i] * 3u + other[i];
        else if (d->kind == TURN) to[i] = to[i] * 1664525u + 1013904223u;
        else if (d->kind == COPY) to[i] = from[i];
        else if (d->kind == FILL) to[i] = d->value;
        else if (d->kind == WRITE) to[i] = d->data[i];
    }
}

static void do_directly(world *w, const deed *d) {
    spy_tensor *to = w->view[d->to], *from = w->view[d->from], *other = w->view[d->other];
    if (d->kind == MIX) OK(spy_call(fn(w->module, "mix"), SPY_ARGS(spy_arg_tensor("a", from), spy_arg_tensor("b", other), spy_arg_tensor("_result", to))));
    else if (d->kind == TURN) OK(spy_call(fn(w->module, "turn"), SPY_ARGS(spy_arg_tensor("x", to))));
    else if (d->kind == COPY) OK(spy_call(fn(w->module, "slow"), SPY_ARGS(spy_arg_tensor("x", from), spy_arg_u32("rounds", 0), spy_arg_tensor("_result", to))));
    else if (d->kind == FILL) OK(spy_tensor_fill(to, (double)d->value));
    else if (d->kind == WRITE) OK(spy_tensor_write(to, d->data, sizeof d->data));
}

static void record(world *w, spy_command_list *list, const deed *d) {
    spy_tensor *to = w->view[d->to], *from = w->view[d->from], *other = w->view[d->other];
    switch (d->kind) {
    case MIX: OK(spy_list_call(list, fn(w->module, "mix"), SPY_ARGS(spy_arg_tensor("a", from), spy_arg_tensor("b", other), spy_arg_tensor("_result", to)))); break;
    case TURN: OK(spy_list_call(list, fn(w->module, "turn"), SPY_ARGS(spy_arg_tensor("x", to)))); break;
    case COPY: OK(spy_list_copy(list, to, from)); break;
    case FILL: OK(spy_list_fill(list, to, (double)d->value)); break;
    case WRITE: OK(spy_list_write(list, to, d->data, sizeof d->data)); break;
    case BARRIER: OK(spy_list_barrier(list)); break;
    default:
        OK(spy_list_push_label(list, "label"));
        OK(spy_list_marker(list, "marker"));
        OK(spy_list_pop_label(list));
    }
}

static void check_view(world *w, int v) {
    uint32_t got[N];
    OK(spy_tensor_read(w->view[v], got, sizeof got));
    assert_memory_equal(got, host_of(w, v), sizeof got);
}

static void test_random_programs(void **state) {
    enum { LISTS = 6, LONGEST = 12 };
    (void)state;
    seed();
    size_t worlds = test_count(40), steps = 0;
    static world w;
    static deed deeds[LISTS][LONGEST];
    for (size_t i = 0; i < worlds; i++) {
        spy_command_list *lists[LISTS];
        uint32_t counts[LISTS];
        make_world(&w);
        for (int l = 0; l < LISTS; l++) {
            lists[l] = new_list();
            counts[l] = 1 + below(LONGEST);
            for (uint32_t k = 0; k < counts[l]; k++) {
                deeds[l][k] = chance_deed(&w);
                record(&w, lists[l], &deeds[l][k]);
            }
            OK(spy_list_finish(lists[l]));
        }
        for (int step = 0; step < 150; step++, steps++) {
            uint32_t choice = below(10);
            if (choice < 6) {
                uint32_t l = below(LISTS);
                OK(spy_list_submit(lists[l]));
                for (uint32_t k = 0; k < counts[l]; k++) do_on_host(&w, &deeds[l][k]);
            } else if (choice < 9) {
                deed d = chance_deed(&w);
                do_directly(&w, &d);
                do_on_host(&w, &d);
            } else {
                check_view(&w, (int)below(VIEWS));
            }
        }
        for (int v = 0; v < VIEWS; v++) check_view(&w, v);
        quiet_close();
    }
    print_message("%zu steps\n", steps);
}

// >>what a list keeps

// Numbers, host arrays and structs are taken while recording; a new tensor is filled by each submission; everything else is
// released before the list is submitted.
static void test_kept(void **state) {
    enum { COUNT = 500 };
    static uint32_t x[COUNT], host[COUNT], got[COUNT];
    (void)state;
    spy_module *m = open_module();
    for (uint32_t i = 0; i < COUNT; i++) x[i] = i, host[i] = 1000 - i;
    struct {
        uint32_t a;
        uint8_t b;
    } pair = { 7, 200 };
    spy_tensor *a = uints(COUNT, x), *b = uints(COUNT, NULL), *made = NULL;
    spy_command_list *list = new_list();
    OK(spy_list_call(list, fn(m, "pick"), SPY_ARGS(spy_arg_data("p", &pair, sizeof pair), spy_arg_tensor("x", a), spy_arg_tensor("_result", b))));
    OK(spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_tensor("x", b), spy_arg_array("y", host, SPY_SHAPE(COUNT), SPY_DTYPE_UINT32), spy_out_tensor("_result", &made))));
    OK(spy_list_call(list, fn(m, "turn"), SPY_ARGS(spy_arg_tensor("x", a)))); // for the next submission
    OK(spy_list_finish(list));
    memset(&pair, 0, sizeof pair);
    memset(host, 0, sizeof host);
    spy_release_tensor(a);
    spy_release_tensor(b);
    spy_release_module(m);
    OK(spy_trim(gpu_device));
    spy_tensor *others[4]; // would take the memory if it were free
    for (int i = 0; i < 4; i++) others[i] = uints(COUNT, x);
    for (int round = 0; round < 5; round++) {
        OK(spy_list_submit(list));
        if (round == 4) spy_release_command_list(list);
        OK(spy_tensor_read(made, got, sizeof got));
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(got[i], (7 * x[i] + 200) * 1664525u + (1000 - i));
            x[i] = x[i] * 1664525u + 1013904223u;
        }
    }
    for (int i = 0; i < 4; i++) spy_release_tensor(others[i]);
    spy_release_tensor(made);
    OK(spy_wait(gpu_device));
    OK(spy_trim(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).used_bytes, 0);
    quiet_close();
}

// Recorded with options; a kernel that gets a pointer stands between calls that see its work.
static void test_append_to(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!(spy_get_device_info(gpu_device).features & SPY_FEATURE_POINTERS)) {
        print_message("skipped: no pointers\n");
        quiet_close();
        skip();
    }
    const uint32_t start[4] = { 5, 6, 7, 8 };
    uint32_t got[4], want[4];
    spy_tensor *a = uints(4, start), *b = uints(4, NULL);
    spy_command_list *list = new_list();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.append_to = list;
    OK(spy_call_with(fn(m, "turn"), SPY_ARGS(spy_arg_tensor("x", a)), &o));
    OK(spy_call_with(fn(m, "bump"), SPY_ARGS(spy_arg_tensor("p", a)), &o));
    OK(spy_call_with(fn(m, "mix"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_u32("b", 1), spy_arg_tensor("_result", b)), &o));
    OK(spy_list_finish(list));
    memcpy(want, start, sizeof want);
    for (int round = 0; round < 20; round++) {
        OK(spy_list_submit(list));
        for (int i = 0; i < 4; i++) want[i] = want[i] * 1664525u + 1013904223u;
        want[0] += 10;
    }
    OK(spy_tensor_read(b, got, sizeof got));
    for (int i = 0; i < 4; i++) assert_int_equal(got[i], want[i] * 3 + 1);
    quiet_close();
}

static void test_refusals(void **state) {
    (void)state;
    spy_module *m = open_module();
    uint32_t result;
    spy_tensor *a = uints(8, NULL);
    spy_command_list *list = new_list();
    FAILS(SPY_ERROR_UNSUPPORTED, spy_list_call(list, fn(m, "step"), SPY_ARGS(spy_arg_u32("x", 1), spy_arg_u32("y", 2), spy_out_u32("_result", &result))), "spy_list_call: step", "'_result' returns to host memory", "command list", "give it a tensor");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_submit(list), "spy_list_submit", "still being recorded");
    OK(spy_list_finish(list));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_call(list, fn(m, "turn"), SPY_ARGS(spy_arg_tensor("x", a))), "spy_list_call: turn", "has been finished");
    OK(spy_list_submit(list)); // empty
    quiet_close();
}

// >>fences and times

static void test_fences(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_tensor *a = uints(1 << 16, NULL), *b = uints(1 << 16, NULL);
    OK(spy_tensor_fill(a, 1));
    spy_command_list *list = new_list();
    OK(spy_list_call(list, fn(m, "slow"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("rounds", 2000), spy_arg_tensor("_result", b))));
    OK(spy_list_finish(list));
    for (int i = 0; i < 3; i++) {
        OK(spy_list_submit(list));
        spy_submit_id id = spy_flush(gpu_device);
        assert_true(id > 0);
        spy_status s = spy_wait_for_submit(gpu_device, id, 1000); // a microsecond
        assert_true(s == SPY_ERROR_NOT_READY || s == SPY_OK);
        OK(spy_wait_for_submit(gpu_device, id, UINT64_MAX));
        assert_true(spy_is_submit_finished(gpu_device, id));
    }
    quiet_close();
}

static void test_timestamps(void **state) {
    uint64_t t[4], again[4];
    (void)state;
    spy_module *m = open_module();
    spy_device_info info = spy_get_device_info(gpu_device);
    if (!(info.features & SPY_FEATURE_TIMESTAMPS)) {
        print_message("skipped: the device has no timestamps\n");
        quiet_close();
        skip();
    }
    assert_true(info.timestamp_period_ns > 0);
    spy_tensor *a = uints(1 << 14, NULL), *b = uints(1 << 14, NULL);
    OK(spy_tensor_fill(a, 1));
    spy_function *slow = fn(m, "slow");
    spy_command_list *list = new_list(), *other = new_list();
    OK(spy_list_timestamp(list));
    OK(spy_list_call(list, slow, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("rounds", 10), spy_arg_tensor("_result", b))));
    OK(spy_list_barrier(list));
    OK(spy_list_timestamp(list));
    OK(spy_list_barrier(list));
    OK(spy_list_call(list, slow, SPY_ARGS(spy_arg_tensor("x", b), spy_arg_u32("rounds", 200000), spy_arg_tensor("_result", a))));
    OK(spy_list_timestamp(list));
    OK(spy_list_timestamp(list));
    OK(spy_list_finish(list));
    OK(spy_list_timestamp(other));
    OK(spy_list_finish(other));
    uint64_t before = 0, begin, host_ns, shorter = UINT64_MAX, longer = UINT64_MAX;
    for (int round = 0; round < 8; round++) {
        OK(spy_wait(gpu_device));
        double from = seconds();
        OK(spy_list_submit(list));
        OK(spy_list_submit(other)); // takes the same slots
        OK(spy_list_read_timestamps(list, t, 4));
        host_ns = (uint64_t)((seconds() - from) * 1e9);
        OK(spy_list_read_timestamps(list, again, 4));
        assert_memory_equal(t, again, sizeof t);
        OK(spy_list_read_timestamps(other, &begin, 1));
        assert_true(before <= t[0] && t[0] < t[1] && t[1] < t[2] && t[2] <= t[3] && t[3] <= begin);
        if (t[1] - t[0] < shorter) shorter = t[1] - t[0];
        if (t[2] - t[1] < longer) longer = t[2] - t[1];
        assert_true(t[3] - t[0] <= host_ns);
        before = begin;
    }
    assert_true(longer > shorter); // 20,000 times the work; other programs may have had the GPU in some rounds
    // The GPU's clock beside the host's: the same 30 ms on both.
    spy_calibration early, late;
    const struct timespec pause = { 0, 30000000 };
    OK(spy_get_calibration(gpu_device, &early));
    nanosleep(&pause, NULL);
    OK(spy_get_calibration(gpu_device, &late));
    double gpu_ms = (double)(late.gpu_ns - early.gpu_ns) * 1e-6, host_ms = (double)(late.host_ns - early.host_ns) * 1e-6;
    assert_true(early.gpu_ns >= before && host_ms >= 30 && gpu_ms > 0.5 * host_ms && gpu_ms < 2 * host_ms);
    print_message("%.3f ms on the host's clock, %.3f ms on the GPU's\n", host_ms, gpu_ms);
    print_message("period %g ns; short call %llu ns, long call %llu ns\n", info.timestamp_period_ns, (unsigned long long)shorter, (unsigned long long)longer);
    quiet_close();
}

// >>more groups than one dimension of a dispatch holds

static void check_bytes(const uint8_t *got, const uint8_t *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (got[i] != (uint8_t)(x[i] + 3)) fail_msg("element %zu: %u, not %u", i, got[i], (uint8_t)(x[i] + 3));
}

// Flat: 4 elements a thread, 256 threads a group. Transposed: one element a thread.
static void test_many_groups(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_device_info info = spy_get_device_info(gpu_device);
    const int64_t flat = 65535ll * 256 * 4 + 12345, rows = 4200, columns = 4099; // 17,215,800 > 65,535 * 256
    assert_true(rows * columns > 65535 * 256);
    print_message("%s; the device takes %u groups\n", info.max_group_count <= 65535 ? "folded" : "not folded", info.max_group_count);
    if (!(info.features & SPY_FEATURE_INT8)) {
        print_message("skipped: no 8-bit integers\n");
        quiet_close();
        skip();
    }
    uint8_t *x = (uint8_t *)malloc((size_t)flat), *got = (uint8_t *)malloc((size_t)flat), *turned = (uint8_t *)malloc((size_t)(rows * columns));
    assert_true(x && got && turned);
    chance_state = 5;
    for (int64_t i = 0; i < flat; i++) x[i] = (uint8_t)(next_random() >> 20);
    spy_function *next8 = fn(m, "next8");
    spy_tensor *a = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(flat), x));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(flat), NULL));
    OK(spy_tensor_fill(b, 0));
    OK(spy_call(next8, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", b))));
    OK(spy_tensor_read(b, got, (size_t)flat));
    check_bytes(got, x, (size_t)flat);
    // The transposed one in a list.
    spy_tensor *grid = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(rows, columns), x));
    spy_tensor *out = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(columns, rows), NULL));
    spy_tensor *view = MADE(spy_tensor, spy_create_transpose(grid, SPY_DIMS(1, 0)));
    spy_command_list *list = new_list();
    OK(spy_list_fill(list, out, 0));
    OK(spy_list_call(list, next8, SPY_ARGS(spy_arg_tensor("x", view), spy_arg_tensor("_result", out))));
    OK(spy_list_finish(list));
    OK(spy_list_submit(list));
    OK(spy_list_submit(list));
    OK(spy_tensor_read(out, got, (size_t)(rows * columns)));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) turned[c * rows + r] = x[r * columns + c];
    check_bytes(got, turned, (size_t)(rows * columns));
    free(x);
    free(got);
    free(turned);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousand), cmocka_unit_test(test_cost),       cmocka_unit_test(test_random_programs), cmocka_unit_test(test_kept),        cmocka_unit_test(test_append_to), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fences),   cmocka_unit_test(test_timestamps), cmocka_unit_test(test_many_groups),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
