// What calls cost without a clock: instructions, allocations and submits, the same on any machine. tests/counts/run runs it
// under callgrind, on the stand-in for CUDA's driver of the unit tests or, with the argument "vk", on that of vk.h, and compares
// with kept figures.
//
// Each row makes its calls WARM times, then COUNT times between two marks of callgrind's.
#define _GNU_SOURCE 1
#include "slangpy.h"
#include "slangpy_cuda.h"

#include "counting_allocator.h"
#include "vk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

static const char source[] = "import slangpy;\n"
                             "float add(float a, float b) { return a + b; }\n"
                             "float add8(float a, float b, float c, float d, float e, float f, float g, "
                             "float h) { return a + b + c + d + e + f + g + h; }\n"
                             "[Differentiable] float poly(float a, float b) { return a * b + a; }\n";

static const char globals_source[] =
    "uniform float gain;\nuniform float3 dir;\nStructuredBuffer<float> table;\n"
    "float scaled(float a) { return a * gain + dir.y + table[2]; }\n";

enum { WARM = 300, COUNT = 200, OUTPUTS = 4, FLOATS = 256 };

typedef struct world {
    spy_device *device;
    spy_function *add, *add8, *poly, *scaled, *declared;
    spy_tensor *in[8], *out[OUTPUTS], *graded[2], *one, *row, *column, *table, *long_in, *long_out,
        *slices[OUTPUTS], *odd[OUTPUTS];
    spy_prepared *prepared, *prepared_group;
    spy_call_options group;
    size_t failed;
} world;

#define ARGS(x, y, result)                                                                                   \
    SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", y), spy_arg_tensor("_result", result))

static void row_same(world *w, size_t i) {
    (void)i;
    w->failed += spy_call(w->add, ARGS(w->in[0], w->in[1], w->out[0])) != SPY_OK;
}
static void row_rotating(world *w, size_t i) {
    w->failed += spy_call(w->add, ARGS(w->in[0], w->in[1], w->out[i % OUTPUTS])) != SPY_OK;
}
static void row_declared(world *w, size_t i) {
    w->failed += spy_call(w->declared, ARGS(w->in[0], w->in[1], w->out[i % OUTPUTS])) != SPY_OK;
}
static void row_declared_by_position(world *w, size_t i) {
    w->failed += spy_call(w->declared, SPY_ARGS(spy_arg_tensor(NULL, w->in[0]), spy_arg_tensor(NULL, w->in[1]),
                                                spy_arg_tensor("_result", w->out[i % OUTPUTS]))) != SPY_OK;
}
static void row_at_the_argument(world *w, size_t i) {
    w->failed += spy_call(w->add, SPY_ARGS(spy_vdim(spy_arg_tensor("a", w->in[0]), 1), spy_vcast(spy_arg_tensor("b", w->in[1]), "float"),
                                           spy_arg_tensor("_result", w->out[i % OUTPUTS]))) != SPY_OK;
}
static void row_eight(world *w, size_t i) {
    w->failed += spy_call(w->add8, SPY_ARGS(spy_arg_tensor("a", w->in[0]), spy_arg_tensor("b", w->in[1]),
                                            spy_arg_tensor("c", w->in[2]), spy_arg_tensor("d", w->in[3]),
                                            spy_arg_tensor("e", w->in[4]), spy_arg_tensor("f", w->in[5]),
                                            spy_arg_tensor("g", w->in[6]), spy_arg_tensor("h", w->in[7]),
                                            spy_arg_tensor("_result", w->out[i % OUTPUTS]))) != SPY_OK;
}
static void row_prepared(world *w, size_t i) {
    w->failed += spy_call_prepared(w->prepared, ARGS(w->in[0], w->in[1], w->out[i % OUTPUTS])) != SPY_OK;
}
static void row_chain(world *w, size_t i) {
    w->failed += spy_call(w->add, SPY_ARGS(spy_arg_tensor("a", w->out[i % 2]), spy_arg_f32("b", 1),
                                           spy_arg_tensor("_result", w->out[(i + 1) % 2]))) != SPY_OK;
}
static void row_aligned_slices(world *w, size_t i) {
    w->failed += spy_call(w->add, ARGS(w->slices[i % OUTPUTS], w->in[1], w->out[0])) != SPY_OK;
}
static void row_odd_slices(world *w, size_t i) {
    w->failed += spy_call(w->add, ARGS(w->odd[i % OUTPUTS], w->in[1], w->out[0])) != SPY_OK;
}
static void row_two_signatures(world *w, size_t i) {
    if (i % 2)
        w->failed += spy_call(w->add, SPY_ARGS(spy_arg_tensor("a", w->in[0]), spy_arg_f32("b", 2),
                                               spy_arg_tensor("_result", w->out[1]))) != SPY_OK;
    else w->failed += spy_call(w->add, ARGS(w->in[0], w->in[1], w->out[0])) != SPY_OK;
}
static void row_group_size(world *w, size_t i) {
    w->failed += spy_call_with(w->add, ARGS(w->in[0], w->in[1], w->out[i % OUTPUTS]), &w->group) != SPY_OK;
}
static void row_backward(world *w, size_t i) {
    (void)i;
    w->failed += spy_call_backward(w->poly, ARGS(w->graded[0], w->in[1], w->graded[1])) != SPY_OK;
}
static void row_sum_of_all(world *w, size_t i) { // two gradients, one of them a sum over all elements
    (void)i;
    w->failed += spy_call_backward(w->poly, ARGS(w->graded[0], w->one, w->graded[1])) != SPY_OK;
}
static void row_two_passes(world *w, size_t i) { // sums over rows, and sums over columns
    (void)i;
    w->failed += spy_call_backward(w->poly, ARGS(w->row, w->column, w->table)) != SPY_OK;
}
static void row_in_turns(world *w, size_t i) { // two layers on one function
    if (i % 2) w->failed += spy_call(w->add, ARGS(w->in[0], w->in[1], w->out[0])) != SPY_OK;
    else w->failed += spy_call(w->add, ARGS(w->long_in, w->long_in, w->long_out)) != SPY_OK;
}
static void row_prepared_group(world *w, size_t i) {
    w->failed +=
        spy_call_prepared(w->prepared_group, ARGS(w->in[0], w->in[1], w->out[i % OUTPUTS])) != SPY_OK;
}
static void row_slice_and_call(world *w, size_t i) { // as a training loop takes its minibatch
    spy_tensor *part = spy_create_slice(w->long_in, 0, (int64_t)(i % OUTPUTS) * FLOATS,
                                        (int64_t)(i % OUTPUTS + 1) * FLOATS, 1);
    w->failed += !part || spy_call(w->add, ARGS(part, w->in[1], w->out[0])) != SPY_OK;
    spy_release_tensor(part);
}

static void row_globals(world *w, size_t i) {
    const float dir[3] = { 1, 2, 3 };
    spy_arg globals[3];
    spy_call_options o;
    globals[0] = spy_arg_f32("gain", (float)i);
    globals[1] = spy_arg_f32n("dir", dir, 3);
    globals[2] = spy_arg_tensor("table", w->in[1]);
    memset(&o, 0, sizeof o);
    o.globals.items = globals;
    o.globals.count = 3;
    w->failed +=
        spy_call_with(w->scaled,
                      SPY_ARGS(spy_arg_tensor("a", w->in[0]), spy_arg_tensor("_result", w->out[i % OUTPUTS])),
                      &o) != SPY_OK;
}

static void row_scalar(world *w, size_t i) { // one number, and its result back
    float result = 0;
    (void)i;
    w->failed += spy_call(w->add, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 2),
                                           spy_out_f32("_result", &result))) != SPY_OK;
}
static void row_call_wait(world *w, size_t i) {
    row_rotating(w, i);
    w->failed += spy_wait(w->device) != SPY_OK;
}

static spy_tensor *make_shape(world *w, spy_shape shape, bool with_grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.with_grad = with_grad;
    d.shape = shape;
    spy_tensor *t = spy_create_tensor(w->device, &d);
    if (t && spy_tensor_fill(t, 1) == SPY_OK) return t;
    fprintf(stderr, "count: %s\n", spy_take_error(w->device).message);
    exit(1);
}

static spy_tensor *make(world *w, int64_t count, bool with_grad) {
    return make_shape(w, SPY_SHAPE(count), with_grad);
}

// `waits`: the calls wait for the GPU, which has done its work at once. Otherwise it is busy all the time.
static void measure(world *w, const char *name, void (*row)(world *, size_t), bool waits) {
    for (size_t i = 0; i < WARM; i++) row(w, i);
    spy_wait(w->device);
    long long allocated = allocations_made;
    uint64_t submits = spy_get_device_stats(w->device).submits;
    standin.busy = !waits;
    standin.barriers = standin.binds = standin.pushes = 0;
    CALLGRIND_ZERO_STATS;
    for (size_t i = 0; i < COUNT; i++) row(w, i);
    CALLGRIND_DUMP_STATS_AT(name);
    standin.busy = false;
    printf("%s %lld %llu %ld %ld %ld %zu\n", name, allocations_made - allocated,
           (unsigned long long)(spy_get_device_stats(w->device).submits - submits), standin.barriers,
           standin.binds, standin.pushes, (size_t)COUNT);
    fflush(stdout);
    if (w->failed) {
        fprintf(stderr, "count: %s: %zu calls failed: %s\n", name, w->failed,
                spy_take_error(w->device).message);
        exit(1);
    }
    spy_wait(w->device);
}

int main(int argc, char **argv) {
    static world w;
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_cuda_backend();
    if (argc > 1 && strcmp(argv[1], "vk") == 0) {
        standin_vk(&d);
        argc--, argv++;
    }
    d.allocator = counting_allocator();
    w.device = spy_create_device(&d);
    spy_module_desc md;
    memset(&md, 0, sizeof md);
    md.name = "count";
    md.source = source;
    spy_module *m = w.device ? spy_load_module(w.device, &md) : NULL;
    w.add = m ? spy_find_function(m, "add") : NULL;
    w.declared = w.add ? spy_declare(w.add, SPY_ARGS(spy_vdim(spy_arg_any("a"), 1), spy_vcast(spy_arg_any("b"), "float"))) : NULL;
    w.add8 = m ? spy_find_function(m, "add8") : NULL;
    w.poly = m ? spy_find_function(m, "poly") : NULL;
    md.name = "count_globals";
    md.source = globals_source;
    m = w.poly ? spy_load_module(w.device, &md) : NULL;
    w.scaled = m ? spy_find_function(m, "scaled") : NULL;
    if (!w.scaled) {
        fprintf(stderr, "count: %s\n", spy_take_error(w.device).message);
        return 1;
    }
    for (int i = 0; i < 8; i++) w.in[i] = make(&w, FLOATS, false);
    w.long_out = make(&w, (OUTPUTS + 1) * FLOATS, false);
    w.long_in = make(&w, (OUTPUTS + 1) * FLOATS, false);
    for (int i = 0; i < OUTPUTS; i++) {
        w.out[i] = make(&w, FLOATS, false);
        w.slices[i] = spy_create_slice(w.long_in, 0, i * FLOATS, (i + 1) * FLOATS, 1);
        w.odd[i] = spy_create_slice(w.long_in, 0, i * FLOATS + 1, (i + 1) * FLOATS + 1, 1);
    }
    w.one = make(&w, 1, true);
    w.row = make_shape(&w, SPY_SHAPE(1, 16), true);
    w.column = make_shape(&w, SPY_SHAPE(16, 1), true);
    w.table = make_shape(&w, SPY_SHAPE(16, 16), true);
    for (int i = 0; i < 2; i++) w.graded[i] = make(&w, FLOATS, true);
    w.prepared = spy_prepare(w.add, ARGS(w.in[0], w.in[1], w.out[0]), NULL);
    w.group.thread_group_size[0] = 64;
    spy_prepare_desc pd;
    memset(&pd, 0, sizeof pd);
    pd.options = &w.group;
    w.prepared_group = spy_prepare(w.add, ARGS(w.in[0], w.in[1], w.out[0]), &pd);
    // Arguments: the rows to measure; none: all.
#define ROW(name)                                                                                            \
    for (int i = argc > 1 ? 1 : 0; i < argc; i++)                                                            \
        if (argc == 1 || strcmp(argv[i], #name) == 0)                                                        \
    measure(&w, #name, row_##name, row_##name == row_scalar || row_##name == row_call_wait)
    ROW(same);
    ROW(rotating);
    ROW(declared);
    ROW(declared_by_position);
    ROW(at_the_argument);
    ROW(eight);
    ROW(prepared);
    ROW(chain);
    ROW(aligned_slices);
    ROW(odd_slices);
    ROW(slice_and_call);
    ROW(two_signatures);
    ROW(group_size);
    ROW(backward);
    ROW(sum_of_all);
    ROW(two_passes);
    ROW(in_turns);
    ROW(prepared_group);
    ROW(globals);
    ROW(scalar);
    ROW(call_wait);
    spy_release_prepared(w.prepared);
    spy_release_prepared(w.prepared_group);
    spy_release_device(w.device);
    return 0;
}
