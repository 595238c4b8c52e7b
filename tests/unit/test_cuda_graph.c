// The CUDA backend's graphs on a driver without a GPU (fake_cuda/): kernels are compiled for real and played here, on the
// memory and with the parameters that the driver was given. Nodes run in any order that their edges allow, so that a missing
// edge is a wrong number.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "hold_slang.h"
#include "chance.h"
#ifdef SPY_TEST_SPLIT
#include "api/pack.h"
#include "list/list.h"
#include "cuda/internal.h"
#endif
#include "fake_cuda/fake_device.h"
#include "counting_allocator.h"
#include <time.h>

static const char source[] = "uint step(uint x, uint a, uint b) { return x * a + b; }\n"
                             "uint mix(uint p, uint q, uint k) { return p * 3u + q * k; }\n"
                             "struct Part { uint a; uint3 v; }\n"
                             "uint held(ConstantBuffer<Part> p, uint x) { return p.a * x + p.v.y; }\n"
                             "uint scale;\n"
                             "uint shared(uint x) { return x * scale; }\n"
                             "struct Big { uint v[10000]; }\n"
                             "uint big(Big b, uint x) { return b.v[9999] * x; }\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                             "void own(uint3 t : SV_DispatchThreadID, uniform uint k, uniform RWStructuredBuffer<uint> to) { to[t.x] = k; }\n";

static const char *fake_path;
static fake_cuda *fake;
static spy_device *device;
static spy_module *module;
static spy_command_list *playing; // whose kernels are to be played

// >>playing kernels

typedef struct play {
    const char *name; // of the function, which may be gone with its module
    const spyi_plan *plan;
    const spyi_variant *variant;
    const spyi_cuda_kernel *kernel;
    const fake_function *function;
    const uint8_t *block;
} play;

static const uint8_t *packed(const play *p, const char *path, bool address) {
    for (uint32_t i = 0; i < p->variant->emitted.pack_count; i++) {
        const spyi_pack *pack = &p->variant->emitted.packs[i];
        if (pack->op < SPYI_PACK_ADDRESS || (pack->op == SPYI_PACK_ADDRESS) != address) continue;
        if (strcmp(p->plan->bound.leaves[pack->leaf].path, path) == 0) return p->block + pack->offset;
    }
    fail_msg("%s has no '%s'", p->name, path);
    return NULL;
}
static uint32_t *memory_of(const play *p, const char *path) {
    uint64_t address;
    memcpy(&address, packed(p, path, true), sizeof address);
    return (uint32_t *)(uintptr_t)address;
}
static uint32_t number_of(const play *p, const char *path) {
    uint32_t number;
    memcpy(&number, packed(p, path, false), sizeof number);
    return number;
}
static uint32_t count_of(const play *p) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->variant->emitted.pack_count; i++)
        if (p->variant->emitted.packs[i].op == SPYI_PACK_COUNT) memcpy(&count, p->block + p->variant->emitted.packs[i].offset, 4);
    assert_true(count > 0);
    return count;
}
static const uint8_t *uniform_of(const play *p, uint32_t slot) {
    const spyi_parameter_place *place = &p->kernel->places[slot];
    uint64_t address;
    if (place->holder == SPYI_HOLDER_NONE) return (const uint8_t *)p->function->globals;
    memcpy(&address, (place->holder == SPYI_HOLDER_BLOCK ? p->block : uniform_of(p, place->holder)) + place->offset, sizeof address);
    return (const uint8_t *)(uintptr_t)address;
}
// A number in a uniform buffer or among the global parameters.
static uint32_t fed_number(const play *p, const char *path) {
    uint32_t number;
    const spyi_bound_inputs *bound_inputs = &p->variant->bound_inputs;
    for (uint32_t i = 0; i < bound_inputs->pack_count; i++) {
        const spyi_pack *pack = &bound_inputs->packs[i];
        if (pack->op > SPYI_PACK_KIND || strcmp(bound_inputs->leaves[pack->leaf].path, path) != 0) continue;
        uint32_t slot = 0;
        const uint8_t *at = bound_inputs->data + pack->offset;
        while (at < (const uint8_t *)bound_inputs->uniforms[slot].data || at >= (const uint8_t *)bound_inputs->uniforms[slot].data + bound_inputs->uniforms[slot].size) slot++;
        memcpy(&number, uniform_of(p, slot) + (at - (const uint8_t *)bound_inputs->uniforms[slot].data), sizeof number);
        return number;
    }
    fail_msg("%s is not given '%s'", p->name, path);
    return 0;
}

static void on_kernel(const fake_function *function, const unsigned grid[3], void *const *params, void *user) {
    static uint8_t block[4096];
    play p = { NULL, NULL, NULL, NULL, function, block };
    (void)grid, (void)user;
    for (size_t i = 0; playing && i < playing->op_count; i++) {
        const spyi_list_op *op = &playing->ops[i];
        if (!op->plan) continue;
        p.kernel = (const spyi_cuda_kernel *)(const void *)op->variant->kernel;
        if ((const void *)p.kernel->function != (const void *)function) continue;
        p.name = op->name;
        p.plan = op->plan;
        p.variant = op->variant;
        break;
    }
    if (!p.plan) return; // spyi_mark, or a call that is not in the list
    assert_int_equal(function->param_count, p.kernel->param_count);
    for (uint32_t i = 0; i < function->param_count; i++)
        if (!p.kernel->block_by_address) memcpy(block + p.kernel->params[i], params[i], function->sizes[i]);
    if (p.kernel->block_by_address) {
        uint64_t address;
        memcpy(&address, params[0], sizeof address);
        p.block = (const uint8_t *)(uintptr_t)address;
    }
    const char *name = p.name;
    bool own = strcmp(name, "own") == 0, mixes = strcmp(name, "mix") == 0;
    if (own) return;
    uint32_t *to = memory_of(&p, "_result"), count = count_of(&p);
    const uint32_t *x = memory_of(&p, mixes ? "p" : "x"), *q = mixes ? memory_of(&p, "q") : NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (mixes) to[i] = x[i] * 3u + q[i] * number_of(&p, "k");
        else if (strcmp(name, "step") == 0) to[i] = x[i] * number_of(&p, "a") + number_of(&p, "b");
        else if (strcmp(name, "held") == 0) to[i] = fed_number(&p, "p.a") * x[i] + fed_number(&p, "p.v");
        else if (strcmp(name, "shared") == 0) to[i] = x[i] * fed_number(&p, "scale");
        else if (strcmp(name, "big") == 0) {
            uint32_t last;
            memcpy(&last, packed(&p, "b", false) + 4 * 9999, sizeof last);
            to[i] = last * x[i];
        } else fail_msg("what does %s do?", name);
    }
}

// >>the device

// `records`: the device records a pack. `pack`: it runs from one, and loads no module.
static void open_device_with(bool records, const char *pack) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_module_desc m;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    cuda.driver_library = fake_path;
    cuda.direct_launches = true; // a kernel alone is no graph here
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    d.allocator = counting_allocator();
    d.record_pack = records;
    d.pack = pack;
    if (pack) d.slang_library = "/nonexistent/libslang.so";
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    m.name = "graph";
    m.source = source;
    module = pack ? NULL : spy_load_module(device, &m);
    if (!module && !pack) fail_msg("%s", spy_take_error(device).message);
    if (!fake) {
        fake = fake_cuda_state_at(fake_path);
        assert_non_null(fake);
        fake->random = (uint64_t)time(NULL);
        fake->on_kernel = on_kernel;
    }
}

static void open_device(void) {
    open_device_with(false, NULL);
}

static void close_device(void) {
    playing = NULL;
    spy_release_device(device);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->execs, 0);
    assert_int_equal(fake->allocations, 0);
    assert_int_equal(fake->modules, 0);
    assert_null(fake->fail);
}

#define OK(expression) fake_good(device, (expression), __LINE__)
#define FAILS(code, expression, word, other) fake_fails(device, (expression), (code), (word), (other), __LINE__)

static spy_tensor *uints(int64_t count, const uint32_t *data) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.dtype = SPY_DTYPE_UINT32;
    d.data = data;
    spy_tensor *t = spy_create_tensor(device, &d);
    assert_non_null(t);
    return t;
}
static spy_function *fn(const char *name) {
    spy_function *f = spy_find_function(module, name);
    assert_non_null(f);
    return f;
}
static spy_command_list *new_list(void) {
    return playing = spy_create_command_list(device, NULL);
}
static void add_step(spy_command_list *list, spy_tensor *x, uint32_t a, uint32_t b, spy_tensor *out) {
    OK(spy_list_call(list, fn("step"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_u32("a", a), spy_arg_u32("b", b), spy_arg_tensor("_result", out))));
}

// >>shapes of graphs

static void test_shapes(void **state) {
    enum { N = 40, SIZE = 8 };
    uint32_t zero[SIZE] = { 0 }, got[SIZE];
    spy_tensor *t[N], *sum, *chain[2];
    (void)state;
    open_device();
    sum = uints(SIZE, zero);
    chain[0] = uints(SIZE, zero), chain[1] = uints(SIZE, zero);
    for (uint32_t i = 0; i < N; i++) t[i] = uints(SIZE, zero);
    // Each reads what the last one wrote.
    spy_command_list *list = new_list();
    for (uint32_t i = 0; i < 20; i++) add_step(list, chain[i % 2], 1, i, chain[(i + 1) % 2]);
    OK(spy_list_finish(list));
    fake->launches = fake->graph_launches = fake->kernels = 0;
    OK(spy_list_submit(list));
    assert_int_equal(fake->launches, 20); // the first time one by one
    assert_false(spy_get_list_info(list).graph);
    OK(spy_list_submit(list));
    assert_true(spy_get_list_info(list).graph);
    assert_int_equal(fake->nodes, 20);
    assert_int_equal(fake->edges, 19);
    long long before = allocations_made;
    spy_device_stats stats = spy_get_device_stats(device);
    for (uint32_t i = 2; i < 1000; i++) {
        OK(spy_list_set(list, i % 20, SPY_ARGS(spy_arg_u32("b", i % 20))));
        OK(spy_list_submit(list));
    }
    assert_int_equal(allocations_made, before);
    assert_int_equal(spy_get_device_stats(device).dispatches - stats.dispatches, 998 * 20);
    assert_int_equal(fake->launches, 20);
    assert_int_equal(fake->graph_launches, 999);
    assert_int_equal(fake->kernels, 1000 * 20);
    assert_int_equal(fake->changes, 998);
    OK(spy_tensor_read(chain[0], got, sizeof got));
    for (int i = 0; i < SIZE; i++) assert_int_equal(got[i], 1000 * 190);
    // None waits for another; then two do for all, through one node; a barrier is one as well.
    list = new_list();
    for (uint32_t i = 0; i < N; i++) add_step(list, t[i], 1, i, t[i]);
    OK(spy_list_finish(list));
    OK(spy_list_submit(list));
    OK(spy_tensor_fill(t[N / 2], 0)); // what was before is no reason to wait within
    OK(spy_list_submit(list));
    assert_int_equal(fake->nodes, N);
    assert_int_equal(fake->edges, 0);
    spy_release_command_list(list);
    list = new_list();
    for (uint32_t i = 0; i < N; i++) add_step(list, t[i], 1, i, t[i]);
    OK(spy_list_barrier(list));
    add_step(list, sum, 1, 1, sum);
    OK(spy_list_copy(list, chain[0], chain[1]));
    OK(spy_list_fill(list, chain[0], 3));
    OK(spy_list_finish(list));
    OK(spy_list_submit(list));
    OK(spy_list_submit(list));
    assert_int_equal(fake->nodes, N + 4);
    assert_int_equal(fake->empty, 1);
    assert_int_equal(fake->edges, N + 2 + 2);
    // One call is launched as fast without.
    list = new_list();
    add_step(list, sum, 1, 1, sum);
    OK(spy_list_finish(list));
    for (int i = 0; i < 4; i++) OK(spy_list_submit(list));
    assert_false(spy_get_list_info(list).graph);
    close_device();
}

// >>random programs

enum { ARRAYS = 20, SIZE = 8, DEEDS = 60 };

typedef struct deed {
    int kind, to, from, other; // 0: mix, 1: step in place, 2: copy, 3: fill, 4: write, 5: barrier
    uint32_t k, call, data[SIZE];
} deed;

static void do_on_host(uint32_t host[ARRAYS][SIZE], const deed *d) {
    for (int i = 0; i < SIZE; i++) {
        uint32_t *to = &host[d->to][i];
        if (d->kind == 0) *to = host[d->from][i] * 3u + host[d->other][i] * d->k;
        else if (d->kind == 1) *to = *to * d->k + 5;
        else if (d->kind == 2) *to = host[d->from][i];
        else if (d->kind == 3) *to = d->k;
        else if (d->kind == 4) *to = d->data[i];
    }
}

// A third of the calls get another number.
static void set_some(spy_command_list *list, deed *deeds, uint32_t count) {
    for (deed *d = deeds; d < deeds + count; d++) {
        if (d->kind > 1 || below(3)) continue;
        d->k = below(1u << 20);
        OK(spy_list_set(list, d->call, SPY_ARGS(spy_arg_u32(d->kind == 0 ? "k" : "a", d->k))));
    }
}

static void one_program(void) {
    static uint32_t host[ARRAYS][SIZE];
    uint32_t got[SIZE], count = 2 + below(DEEDS - 1), calls = 0, most = 2 + below(ARRAYS - 1);
    spy_tensor *t[ARRAYS];
    static deed deeds[DEEDS];
    spy_command_list *list = new_list();
    for (int a = 0; a < ARRAYS; a++) {
        for (int i = 0; i < SIZE; i++) host[a][i] = below(1u << 31);
        t[a] = uints(SIZE, host[a]);
    }
    for (uint32_t i = 0; i < count; i++) {
        deed *d = &deeds[i];
        d->kind = below(10) == 0 ? 5 : (int)below(5);
        d->to = (int)below(most);
        do d->from = (int)below(most);
        while (d->from == d->to);
        d->other = (int)below(most);
        d->k = below(1u << 20);
        d->call = calls;
        for (int k = 0; k < SIZE; k++) d->data[k] = below(1000);
        if (d->kind == 0) OK(spy_list_call(list, fn("mix"), SPY_ARGS(spy_arg_tensor("p", t[d->from]), spy_arg_tensor("q", t[d->other]), spy_arg_u32("k", d->k), spy_arg_tensor("_result", t[d->to]))));
        else if (d->kind == 1) add_step(list, t[d->to], d->k, 5, t[d->to]);
        else if (d->kind == 2) OK(spy_list_copy(list, t[d->to], t[d->from]));
        else if (d->kind == 3) OK(spy_list_fill(list, t[d->to], (double)d->k));
        else if (d->kind == 4) OK(spy_list_write(list, t[d->to], d->data, sizeof d->data));
        else OK(spy_list_barrier(list));
        calls += d->kind < 2;
    }
    OK(spy_list_finish(list));
    for (int round = 0; round < 6; round++) {
        if (round > 0) set_some(list, deeds, count);
        OK(spy_list_submit(list));
        for (uint32_t i = 0; i < count; i++) do_on_host(host, &deeds[i]);
    }
    for (int a = 0; a < ARRAYS; a++) {
        OK(spy_tensor_read(t[a], got, sizeof got));
        assert_memory_equal(got, host[a], sizeof got);
        spy_release_tensor(t[a]);
    }
    spy_release_command_list(list);
}

static void test_random_programs(void **state) {
    (void)state;
    seed();
    open_device();
    fake->random = chance_state;
    for (size_t n = 0; n < test_count(1000); n++) one_program();
    assert_true(fake->graph_launches > 5);
    close_device();
}

// >>parameters in memory

static void test_memory(void **state) {
    uint32_t x[SIZE], got[SIZE], *numbers = (uint32_t *)calloc(10000, sizeof *numbers);
    spy_tensor *in, *out[5];
    (void)state;
    open_device();
    for (uint32_t i = 0; i < SIZE; i++) x[i] = i + 1;
    in = uints(SIZE, x);
    for (int i = 0; i < 5; i++) out[i] = uints(SIZE, x);
    numbers[9999] = 3;
    spy_command_list *list = new_list();
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.append_to = list;
    for (int i = 0; i < 2; i++) { // one kernel, with globals of its own each time
        o.globals = SPY_ARGS(spy_arg_u32("scale", 10u + (uint32_t)i));
        OK(spy_call_with(fn("shared"), SPY_ARGS(spy_arg_tensor("x", in), spy_arg_tensor("_result", out[i])), &o));
    }
    for (int i = 2; i < 4; i++)
        OK(spy_list_call(list, fn("held"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_u32("a", 2u + (uint32_t)i), spy_arg_i32n("v", (const int32_t[]){ 7, 8, 9 }, 3))), spy_arg_tensor("x", in), spy_arg_tensor("_result", out[i]))));
    OK(spy_list_call(list, fn("big"), SPY_ARGS(spy_arg_data("b", numbers, 40000), spy_arg_tensor("x", in), spy_arg_tensor("_result", out[4]))));
    OK(spy_list_finish(list));
    uint32_t factor[5] = { 10, 11, 4, 5, 3 };
    for (int round = 0; round < 8; round++) {
        if (round % 2) {
            factor[0] += 100, factor[1] += 50, factor[2] += 20, factor[4] += 2, numbers[9999] = factor[4];
            OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("scale", factor[0]))));
            OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_u32("scale", factor[1]))));
            OK(spy_list_set(list, 2, SPY_ARGS(spy_arg_u32("p.a", factor[2]))));
            OK(spy_list_set(list, 4, SPY_ARGS(spy_arg_data("b", numbers, 40000))));
        }
        OK(spy_list_submit(list));
        assert_int_equal(spy_get_list_info(list).graph, round > 0);
        for (int i = 0; i < 5; i++) {
            OK(spy_tensor_read(out[i], got, sizeof got));
            for (uint32_t k = 0; k < SIZE; k++) assert_int_equal(got[k], x[k] * factor[i] + (i == 2 || i == 3 ? 7u : 0u)); // v.x: where it begins
            OK(spy_tensor_fill(out[i], 77));
        }
        assert_int_equal(spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("scal", 1))), SPY_ERROR_NOT_FOUND);
        assert_non_null(strstr(spy_take_error(device).message, "'scale'"));
    }
    for (int i = 0; i < 5000; i++) OK(spy_list_set(list, 4, SPY_ARGS(spy_arg_data("b", numbers, 40000)))); // pages come back
    spy_release_command_list(list);
    free(numbers);
    close_device();
}

static void test_indirect_and_times(void **state) {
    const uint32_t groups[3] = { 2, 1, 1 };
    (void)state;
    open_device();
    spy_tensor *counts = uints(3, groups), *out = uints(64, NULL);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.append_to = new_list();
    OK(spy_list_fill(o.append_to, out, 0));
    OK(spy_dispatch_indirect(fn("own"), counts, 0, SPY_ARGS(spy_arg_u32("k", 2), spy_arg_tensor("to", out)), &o));
    OK(spy_list_finish(o.append_to));
    for (int i = 0; i < 4; i++) OK(spy_list_submit(o.append_to));
    assert_false(spy_get_list_info(o.append_to).graph);
    spy_command_list *list = new_list();
    OK(spy_list_timestamp(list));
    add_step(list, out, 2, 0, out);
    OK(spy_list_timestamp(list));
    OK(spy_list_finish(list));
    uint64_t times[2];
    OK(spy_list_submit(list));
    OK(spy_list_submit(list));
    assert_true(spy_get_list_info(list).graph == false); // one piece of work that is not a time
    list = new_list();
    OK(spy_list_timestamp(list));
    add_step(list, out, 2, 0, out);
    add_step(list, out, 2, 0, out);
    OK(spy_list_timestamp(list));
    OK(spy_list_finish(list));
    for (int i = 0; i < 3; i++) OK(spy_list_submit(list));
    assert_true(spy_get_list_info(list).graph);
    assert_int_equal(fake->nodes, 5); // and the copy of the times
    OK(spy_list_read_timestamps(list, times, 2));
    close_device();
}

// >>failures

static void test_failures(void **state) {
    static const char *const names[] = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphAddEmptyNode", "cuGraphInstantiateWithFlags", "cuGraphLaunch" };
    uint32_t x[SIZE] = { 1, 2, 3, 4, 5, 6, 7, 8 }, got[SIZE], want[SIZE];
    spy_tensor *t[12];
    (void)state;
    open_device();
    for (int i = 0; i < 12; i++) t[i] = uints(SIZE, x);
    memcpy(want, x, sizeof x);
    spy_command_list *list = new_list();
    for (int i = 0; i < 10; i++) add_step(list, t[i], 3, 1, t[i]);
    OK(spy_list_copy(list, t[10], t[0]));
    OK(spy_list_fill(list, t[11], 4));
    OK(spy_list_finish(list));
    OK(spy_list_submit(list));
    for (int i = 0; i < SIZE; i++) want[i] = want[i] * 3 + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fake->fail = names[i];
        fake->fail_result = 2;
        FAILS(SPY_ERROR_OUT_OF_DEVICE_MEMORY, spy_list_submit(list), names[i], "spy_list_submit");
        assert_int_equal(spy_get_list_info(list).submit_count, 1);
        assert_int_equal(spy_get_list_info(list).graph, i == 6);
        OK(spy_tensor_read(t[0], got, sizeof got));
        assert_memory_equal(got, want, sizeof got); // nothing was done
    }
    OK(spy_list_submit(list));
    for (int i = 0; i < SIZE; i++) want[i] = want[i] * 3 + 1;
    fake->fail = "cuGraphExecKernelNodeSetParams"; // the next submission makes another graph, with the new number
    fake->fail_result = 2;
    FAILS(SPY_ERROR_OUT_OF_DEVICE_MEMORY, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("b", 5))), "spy_list_set", "step");
    OK(spy_list_submit(list));
    assert_true(spy_get_list_info(list).graph);
    for (int i = 0; i < SIZE; i++) want[i] = want[i] * 3 + 5;
    OK(spy_tensor_read(t[10], got, sizeof got));
    assert_memory_equal(got, want, sizeof got);
    OK(spy_list_submit(list));
    fake->fail = "cuGraphLaunch"; // a fault of the launch before
    fake->fail_result = 700;
    FAILS(SPY_ERROR_DEVICE_LOST, spy_list_submit(list), "the device is lost", "step");
    FAILS(SPY_ERROR_DEVICE_LOST, spy_list_submit(list), "spy_list_submit", "lost");
    FAILS(SPY_ERROR_DEVICE_LOST, spy_list_set(list, 0, SPY_ARGS(spy_arg_u32("b", 5))), "spy_list_set", "lost");
    FAILS(SPY_ERROR_DEVICE_LOST, spy_list_submit(list), "spy_list_submit", "lost");
    close_device();
}

// >>lists from packs

// A list that one device saved is a graph on another one, which has neither compiler nor module, with tensors of another size.
static void test_saved(void **state) {
    enum { MOST = 24 };
    uint32_t host[3][MOST], got[MOST];
    char pack[64];
    (void)state;
    snprintf(pack, sizeof pack, "/tmp/spy_saved_graph_%d.pack", (int)getpid());
    for (int loaded = 0; loaded < 2; loaded++) {
        const uint32_t size = loaded ? MOST : SIZE;
        open_device_with(!loaded, loaded ? pack : NULL);
        for (uint32_t k = 0; k < 3; k++)
            for (uint32_t i = 0; i < size; i++) host[k][i] = below(1u << 20);
        spy_tensor *a = uints(size, host[0]), *b = uints(size, host[1]), *c = uints(size, host[2]);
        spy_args tensors = SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("c", c));
        spy_command_list *list = loaded ? spy_load_list(device, "graph", tensors) : new_list();
        if (!list) fail_msg("%s", spy_take_error(device).message);
        playing = list;
        if (!loaded) {
            add_step(list, a, 3, 5, b);
            OK(spy_list_call(list, fn("mix"), SPY_ARGS(spy_arg_tensor("p", a), spy_arg_tensor("q", b), spy_arg_u32("k", 7), spy_arg_tensor("_result", c))));
            OK(spy_list_call(list, fn("held"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_u32("a", 2), spy_arg_i32n("v", (const int32_t[]){ 9, 9, 9 }, 3))),
                                                        spy_arg_tensor("x", c), spy_arg_tensor("_result", a))));
            OK(spy_list_finish(list));
        }
        for (uint32_t round = 0; round < 3; round++) {
            uint32_t k = 7 + round;
            if (round) OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_u32("k", k))));
            OK(spy_list_submit(list));
            for (uint32_t i = 0; i < size; i++) {
                host[1][i] = host[0][i] * 3 + 5;
                host[2][i] = host[0][i] * 3 + host[1][i] * k;
                host[0][i] = 2 * host[2][i] + 9;
            }
            OK(spy_tensor_read(a, got, size * sizeof *got));
            assert_memory_equal(got, host[0], size * sizeof *got);
        }
        assert_true(spy_get_list_info(list).graph);
        if (loaded) {
            assert_int_equal(spy_get_device_stats(device).compiler_loads, 0);
            assert_null(spy_load_list(device, "graph", SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("c", uints(3, NULL)))));
            FAILS(SPY_ERROR_SHAPE_MISMATCH, SPY_ERROR_SHAPE_MISMATCH, "spy_load_list: list 'graph': operation 2: mix: ", "Shape mismatch");
        } else {
            (void)remove(pack);
            OK(spy_save_list(list, "graph", tensors));
            OK(spy_save_pack(device, pack));
        }
        close_device();
    }
    (void)remove(pack);
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_random_programs), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_indirect_and_times), cmocka_unit_test(test_failures), cmocka_unit_test(test_saved),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
