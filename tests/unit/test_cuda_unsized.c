// Unsized arrays on the CUDA backend, with a driver without a GPU (fake_cuda/): kernels are compiled for real and played here,
// with the descriptors that the driver was given. What the kernels' structs look like is said once more in C, whose layout
// is CUDA's; the text of each kernel must have their members in that order.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "chance.h"
#ifdef SPY_TEST_SPLIT
#include "api/list.h"
#include "cuda/internal.h"
#endif
#include "fake_cuda/fake_device.h"
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char source[] =
    "struct P { int n; float3 c; }\n"
    "struct S { float scale; RWStructuredBuffer<float> inner[]; }\n"
    "RWStructuredBuffer<float> open[];\n"
    "ByteAddressBuffer bytes[];\n"
    "uniform float gain;\n"
    "ConstantBuffer<P> cbs[];\n"
    "ParameterBlock<S> block;\n"
    "uniform float3 values[];\n"
    "uniform double unused;\n"
    "StructuredBuffer<float> last;\n"
    "void all(int i, int k) {\n"
    "    open[k][i] = open[k][i] * gain + bytes[k].Load<float>(4 * i) + cbs[k].c.y + values[i].z + block.inner[k][i] * block.scale + last[i];\n"
    "}\n"
    "void one(int i, float v) { open[0][i] = v; }\n"
    "float of(StructuredBuffer<float> b[], int k, int i) { return b[k][i]; }\n"
    "void turn(StructuredBuffer<float> from[], RWStructuredBuffer<float> to[2], RWStructuredBuffer<float> more[], int i)\n"
    "{ to[0][i] = from[1][i]; more[0][i] = to[1][i]; }\n"
    "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
    "void own(uint3 t : SV_DispatchThreadID, uniform int k, uniform StructuredBuffer<float> from[], uniform float add,\n"
    "         uniform ConstantBuffer<P> p, uniform RWByteAddressBuffer to[], uniform bool twice)\n"
    "{ to[k].Store<float>(4 * t.x, from[k + 1][t.x] + add + p.c.z + float(twice)); }\n"
    "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
    "void plain(uint3 t : SV_DispatchThreadID, uniform float v[], uniform RWStructuredBuffer<float> to) { to[t.x] = v[t.x]; }\n";

// >>the kernels' structs

typedef struct array {
    void *data;
    size_t count;
} array;
typedef struct buffer {
    float *data;
    size_t count; // of elements, or bytes
} buffer;
typedef struct part {
    int32_t n;
    float c[3];
} part;
typedef struct held {
    float scale;
    array inner;
} held;
typedef struct globals {
    float gain;
    held *block;
    double unused;
    buffer last;
    array open, bytes, cbs, values;
} globals;
typedef struct turn_globals { // the kernel's own before the module's
    buffer to[2];
    float gain;
    held *block;
    double unused;
    buffer last;
    array from, more, open, bytes, cbs, values;
} turn_globals;

static const char *const of_globals[] = { "gain_0;", "block_0;", "unused_0;", "last_0;", "Array<RWStructuredBuffer<float>>  open_0;", "Array<ByteAddressBuffer>  bytes_0;", "Array<P_0*>  cbs_0;", "values_0;", NULL };

static const char *fake_path;
static char folder[] = "/tmp/spy_unsized_XXXXXX";
static fake_cuda *fake;
static spy_device *device, *other;
static spy_module *module;

enum { N = 32, MOST = 120 };
static void (*play)(const fake_function *function, void *const *params);
static uint32_t played;
static size_t expected; // elements

static void on_kernel(const fake_function *function, const unsigned grid[3], void *const *params, void *user) {
    (void)grid, (void)user;
    played++;
    play(function, params);
}

static void play_all(const fake_function *function, void *const *params) {
    const globals *g = (const globals *)function->globals;
    (void)params;
    assert_non_null(g);
    assert_int_equal(g->open.count, expected);
    assert_int_equal(g->bytes.count, expected);
    assert_int_equal(g->cbs.count, expected);
    assert_int_equal(g->values.count, N);
    assert_int_equal(g->last.count, N);
    assert_int_equal(g->block->inner.count, expected);
    if (!expected) assert_null(g->open.data);
    for (size_t k = 0; k < expected; k++) {
        buffer open = ((buffer *)g->open.data)[k], bytes = ((buffer *)g->bytes.data)[k], inner = ((buffer *)g->block->inner.data)[k];
        const part *p = ((part **)g->cbs.data)[k];
        assert_int_equal(open.count, N + k);
        assert_int_equal(bytes.count, 4 * N);
        assert_int_equal(inner.count, N);
        for (int i = 0; i < N; i++)
            open.data[i] = open.data[i] * g->gain + bytes.data[i] + p->c[1] + ((float(*)[3])g->values.data)[i][2] +
                           inner.data[i] * g->block->scale + g->last.data[i];
    }
}

// >>the device

#define OK(expression) fake_good(device, (expression), __LINE__)
#define FAILS(code, expression, word, other) fake_fails(device, (expression), (code), (word), (other), __LINE__)

static spy_device *make_device(void) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = fake_path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    d.dump_directory = folder;
    d.max_plans = 3; // plans go while others have their kernels
    spy_device *made = spy_create_device(&d);
    if (!made) fail_msg("%s", spy_take_error(NULL).message);
    return made;
}

static int open_device(void **state) {
    spy_module_desc m;
    (void)state;
    if (!mkdtemp(folder)) return -1;
    device = make_device();
    other = make_device();
    memset(&m, 0, sizeof m);
    m.name = "unsized";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    fake = fake_cuda_state_at(fake_path);
    assert_non_null(fake);
    seed();
    fake->random = chance_state;
    fake->on_kernel = on_kernel;
    return 0;
}

static int close_device(void **state) {
    char command[100];
    (void)state;
    spy_release_device(device);
    spy_release_device(other);
    assert_int_equal(fake->graphs + fake->execs + fake->allocations + fake->modules, 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return getenv("SPY_TEST_KEEP") ? 0 : system(command);
}

static spy_tensor *floats_of(spy_device *of, spy_shape shape, const float *data) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    spy_tensor *t = spy_create_tensor(of, &d);
    assert_non_null(t);
    return t;
}
static spy_tensor *floats(int64_t count, const float *data) { return floats_of(device, SPY_SHAPE(count), data); }
static spy_function *fn(const char *name) {
    spy_function *f = spy_find_function(module, name);
    assert_non_null(f);
    return f;
}
static spy_call_options globals_of(spy_args args) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals = args;
    return o;
}

// The text of a function's kernel has these words in this order.
static void look_for(const char *function, const char *begin, const char *const *words) {
    DIR *files = opendir(folder);
    bool found = false;
    for (struct dirent *file; files && !found && (file = readdir(files)) != NULL;) {
        static char text[200000];
        char path[600];
        size_t length = strlen(file->d_name), name = strlen(function);
        if (length < 4 || strcmp(file->d_name + length - 3, ".cu") != 0 || strncmp(file->d_name, function, name) != 0 || file->d_name[name] != '_') continue;
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        FILE *in = fopen(path, "r");
        assert_non_null(in);
        text[fread(text, 1, sizeof text - 1, in)] = 0;
        fclose(in);
        const char *at = strstr(text, begin);
        for (int i = 0; at && words[i]; i++) {
            const char *next = strstr(at, words[i]);
            if (!next) print_error("%s does not come in its place in\n%.1500s\n", words[i], text);
            at = next ? next + strlen(words[i]) : NULL;
        }
        found = at != NULL;
    }
    if (files) closedir(files);
    assert_true(found);
}

// >>globals

typedef struct lists {
    float data[MOST][3][MOST + N]; // open, bytes, inner
    part parts[MOST];
    spy_tensor *t[MOST][3], *p[MOST];
    spy_arg args[4][MOST];
} lists;

static lists *make_lists(void) {
    lists *l = (lists *)calloc(1, sizeof *l);
    assert_non_null(l);
    for (int k = 0; k < MOST; k++) {
        spy_tensor_desc d;
        for (int w = 0; w < 3; w++) {
            for (int i = 0; i < N + MOST; i++) l->data[k][w][i] = (float)below(100);
            l->t[k][w] = floats(w ? N : N + k, l->data[k][w]);
            l->args[w][k] = spy_arg_tensor(NULL, l->t[k][w]);
        }
        for (int i = 0; i < 3; i++) l->parts[k].c[i] = (float)below(100);
        memset(&d, 0, sizeof d);
        d.type = "P";
        d.module = module;
        d.shape = SPY_SHAPE(1);
        d.data = &l->parts[k];
        l->p[k] = spy_create_tensor(device, &d);
        if (!l->p[k]) fail_msg("%s", spy_take_error(device).message);
        l->args[3][k] = spy_arg_tensor(NULL, l->p[k]);
    }
    return l;
}

static void free_lists(lists *l) {
    for (int k = 0; k < MOST; k++) {
        for (int w = 0; w < 3; w++) spy_release_tensor(l->t[k][w]);
        spy_release_tensor(l->p[k]);
    }
    free(l);
}

static void test_globals(void **state) {
    static const size_t counts[] = { 3, 0, 1, 2, 70, 3, MOST, 0, 5 };
    float values[N][3], last[N];
    int32_t index[N];
    lists *l = make_lists();
    (void)state;
    play = play_all;
    for (int i = 0; i < N; i++) {
        last[i] = (float)below(100), index[i] = i;
        for (int c = 0; c < 3; c++) values[i][c] = (float)below(100);
    }
    spy_tensor *v = floats_of(device, SPY_SHAPE(N, 3), &values[0][0]), *t = floats(N, last);
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        uint64_t built = spy_get_device_stats(device).kernels_built;
        expected = counts[n];
        spy_arg inner = spy_arg_struct("inner", (spy_args){ l->args[2], expected }), whole = spy_arg_struct("block", SPY_ARGS(spy_arg_f32("scale", 2), inner));
        inner.name = "block.inner";
        const spy_arg tail[4] = { spy_arg_tensor("values", v), spy_arg_tensor("last", t), n % 2 ? whole : inner, spy_arg_f32("block.scale", 2) };
        spy_arg given[8] = { spy_arg_struct("bytes", (spy_args){ l->args[1], expected }), spy_arg_f32("gain", 3), spy_arg_struct("open", (spy_args){ l->args[0], expected }),
                             spy_arg_struct("cbs", (spy_args){ l->args[3], expected }), tail[0], tail[1], tail[2], tail[3] };
        spy_call_options o = globals_of((spy_args){ given, n % 2 ? 7 : 8 });
        played = 0;
        OK(spy_call_with(fn("all"), SPY_ARGS(spy_arg_array("i", index, SPY_SHAPE(N), SPY_DTYPE_INT32), spy_arg_i32("k", 0)), &o));
        assert_int_equal(played, 1);
        assert_int_equal(spy_get_device_stats(device).kernels_built, built + (n == 0)); // no length has a kernel of its own
        for (int k = 0; k < MOST; k++) {
            float all[N + MOST];
            OK(spy_tensor_read(l->t[k][0], all, (size_t)(N + k) * sizeof(float)));
            for (int i = 0; i < N && (size_t)k < expected; i++)
                l->data[k][0][i] = l->data[k][0][i] * 3 + l->data[k][1][i] + l->parts[k].c[1] + values[i][2] + l->data[k][2][i] * 2 + last[i];
            for (int i = 0; i < N + k; i++) assert_float_equal(all[i], l->data[k][0][i], 0);
            if (l->data[k][0][0] > 1e5f) { // stay exact
                for (int i = 0; i < N; i++) l->data[k][0][i] = 1;
                OK(spy_tensor_write(l->t[k][0], l->data[k][0], (size_t)(N + k) * sizeof(float)));
            }
        }
    }
    look_for("all", "struct GlobalParams_0", of_globals);
    spy_release_tensor(v);
    spy_release_tensor(t);
    free_lists(l);
}

// >>parameters

static void play_turn(const fake_function *function, void *const *params) {
    const turn_globals *g = (const turn_globals *)function->globals;
    (void)params;
    assert_int_equal(g->from.count, expected);
    assert_int_equal(g->more.count, 1);
    for (int i = 0; i < N; i++) {
        g->to[0].data[i] = ((buffer *)g->from.data)[1].data[i];
        ((buffer *)g->more.data)[0].data[i] = g->to[1].data[i];
    }
}

// A function's, with a fixed array between them.
static void test_params(void **state) {
    static const char *const order[] = { "2>  spyi_h_to_0;", "float gain_0;", "last_0;", "Array<StructuredBuffer<float>>  spyi_h_from_0;", "Array<RWStructuredBuffer<float>>  spyi_h_more_0;", "open_0;", NULL };
    float got[N];
    int32_t index[N];
    lists *l = make_lists();
    (void)state;
    play = play_turn;
    for (int i = 0; i < N; i++) index[i] = i;
    for (expected = 2; expected < 70; expected *= 3) {
        uint64_t built = spy_get_device_stats(device).kernels_built;
        OK(spy_call(fn("turn"), SPY_ARGS(spy_arg_struct("from", (spy_args){ l->args[0], expected }), spy_arg_struct("to", SPY_ARGS(l->args[1][0], l->args[1][1])),
                                         spy_arg_struct("more", SPY_ARGS(l->args[2][0])), spy_arg_array("i", index, SPY_SHAPE(N), SPY_DTYPE_INT32))));
        assert_int_equal(spy_get_device_stats(device).kernels_built, built + (expected == 2));
        OK(spy_tensor_read(l->t[0][1], got, sizeof got));
        assert_memory_equal(got, l->data[1][0], sizeof got);
        OK(spy_tensor_read(l->t[0][2], got, sizeof got));
        assert_memory_equal(got, l->data[1][1], sizeof got);
    }
    look_for("turn", "struct GlobalParams_0", order);
    free_lists(l);
}

static void play_own(const fake_function *function, void *const *params) {
    static const size_t sizes[] = { 4, 16, 4, 8, 16, 1 };
    int32_t k;
    array from, to;
    float add;
    const part *p;
    assert_int_equal(function->param_count, 6);
    for (int i = 0; i < 6; i++) assert_int_equal(function->sizes[i], sizes[i]);
    memcpy(&k, params[0], sizeof k);
    memcpy(&from, params[1], sizeof from);
    memcpy(&add, params[2], sizeof add);
    memcpy(&p, params[3], sizeof p);
    memcpy(&to, params[4], sizeof to);
    assert_int_equal(from.count, expected);
    assert_int_equal(to.count, expected ? 2 : 0);
    for (int i = 0; i < N && expected; i++)
        ((buffer *)to.data)[k].data[i] = ((buffer *)from.data)[k + 1].data[i] + add + p->c[2] + (float)*(const bool *)params[5];
}

// An entry point's own.
static void test_entry(void **state) {
    static const size_t counts[] = { 2, 60, 0, 5 };
    float got[N];
    lists *l = make_lists();
    const part p = { 1, { 2, 3, 4 } };
    const spy_uint3 threads = { N, 1, 1 };
    (void)state;
    play = play_own;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        uint64_t built = spy_get_device_stats(device).kernels_built;
        expected = counts[n];
        OK(spy_dispatch(fn("own"), threads, SPY_ARGS(spy_arg_i32("k", 0), spy_arg_struct("from", (spy_args){ l->args[0], expected }), spy_arg_f32("add", (float)n),
                                                    spy_arg_data("p", &p, sizeof p), spy_arg_struct("to", (spy_args){ l->args[1], expected ? 2 : 0 }), spy_arg_bool("twice", true)), NULL));
        assert_int_equal(spy_get_device_stats(device).kernels_built, built + (n == 0));
        OK(spy_tensor_read(l->t[0][1], got, sizeof got));
        for (int i = 0; i < N && expected; i++) assert_float_equal(got[i], l->data[1][0][i] + (float)n + 5, 0);
    }
    FAILS(SPY_ERROR_COMPILE, spy_dispatch(fn("plain"), threads, SPY_ARGS(spy_arg_tensor("v", l->t[0][0]), spy_arg_tensor("to", l->t[0][1])), NULL), "'v' of type float[]", "cannot be given");
    free_lists(l);
}

// >>order, lists and graphs

static void play_one(const fake_function *function, void *const *params) {
    const globals *g = (const globals *)function->globals;
    (void)params;
    for (size_t k = 1; k < g->open.count; k++) ((buffer *)g->open.data)[0].data[0] += ((buffer *)g->open.data)[k].data[0];
}

// Each writes what a later one reads, through lists of other lengths: a graph runs its nodes in any order that its edges allow.
static void test_order(void **state) {
    enum { CALLS = 60, ARRAYS = 8 };
    float host[ARRAYS] = { 0 }, got[4];
    spy_tensor *t[ARRAYS], *v = floats(1, host);
    uint32_t calls[CALLS][ARRAYS + 1];
    (void)state;
    play = play_one;
    for (int a = 0; a < ARRAYS; a++) {
        host[a] = (float)a;
        float four[4] = { host[a], 0, 0, 0 };
        t[a] = floats(4, four);
    }
    spy_command_list *list = spy_create_command_list(device, NULL);
    for (int c = 0; c < CALLS; c++) {
        spy_arg args[ARRAYS];
        uint32_t count = calls[c][ARRAYS] = 1 + below(4);
        for (uint32_t k = 0; k < count; k++) {
            calls[c][k] = below(ARRAYS);
            args[k] = spy_arg_tensor(NULL, t[calls[c][k]]);
        }
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_struct("open", (spy_args){ args, count }), spy_arg_f32("gain", 1), spy_arg_f64("unused", 1), spy_arg_tensor("last", v)));
        o.append_to = list;
        OK(spy_call_with(fn("one"), SPY_ARGS(spy_arg_i32("i", 0), spy_arg_f32("v", 0)), &o));
    }
    OK(spy_list_finish(list));
    for (int round = 0; round < 4; round++) {
        OK(spy_list_submit(list));
        if (round) assert_true(spy_get_list_info(list).graph);
        if (round == 2) FAILS(SPY_ERROR_TYPE_MISMATCH, spy_list_set(list, 0, SPY_ARGS(spy_arg_struct("open", SPY_NO_ARGS))), "'open'", "what lies in memory stays");
        if (round == 2) OK(spy_list_set(list, 0, SPY_ARGS(spy_arg_f32("v", 7))));
        for (int c = 0; c < CALLS; c++)
            for (uint32_t k = 1; k < calls[c][ARRAYS]; k++) {
                host[calls[c][0]] += host[calls[c][k]];
                if (host[calls[c][0]] > 1e6f) host[calls[c][0]] = host[calls[c][0]];
            }
        for (int a = 0; a < ARRAYS; a++) {
            OK(spy_tensor_read(t[a], got, sizeof got));
            assert_float_equal(got[0], host[a], 0);
            host[a] = (float)a;
            float four[4] = { host[a], 0, 0, 0 };
            OK(spy_tensor_write(t[a], four, sizeof four));
        }
    }
    spy_release_command_list(list);
    for (int a = 0; a < ARRAYS; a++) spy_release_tensor(t[a]);
    spy_release_tensor(v);
}

// >>bad input

static void play_nothing(const fake_function *function, void *const *params) { (void)function, (void)params; }

static void test_bad(void **state) {
    float data[N] = { 0 }, r;
    int32_t whole[N] = { 0 };
    spy_tensor_desc d;
    spy_tensor *x = floats(N, data), *foreign = floats_of(other, SPY_SHAPE(N), data), *empty = floats(0, NULL), *gone;
    (void)state;
    play = play_nothing;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    d.dtype = SPY_DTYPE_INT32;
    d.data = whole;
    spy_tensor *ints = spy_create_tensor(device, &d);
    spy_arg i = spy_arg_i32("i", 0), k = spy_arg_i32("k", 0), out = spy_out_f32("_result", &r), one = spy_arg_tensor(NULL, x), gain = spy_arg_f32("gain", 1), last = spy_arg_tensor("last", x);
    spy_call_options o;
#define ONE(...) (o = globals_of(SPY_ARGS(spy_arg_f64("unused", 1), gain, last, __VA_ARGS__)), spy_call_with(fn("one"), SPY_ARGS(i, spy_arg_f32("v", 1)), &o))
#define OF(...) spy_call(fn("of"), SPY_ARGS(__VA_ARGS__, k, i, out))
#define LIST(name, ...) spy_arg_struct(name, SPY_ARGS(__VA_ARGS__))
    OK(ONE(LIST("open", one, one)));
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(LIST("open", one, spy_arg_tensor(NULL, ints))), "'open[1]'", "RWStructuredBuffer<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(LIST("open", one, spy_arg_f32(NULL, 1))), "'open[1]'", "number");
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(spy_arg_tensor("open", x)), "'open'", "a struct of tensors, as many");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, ONE(LIST("open", one, spy_arg_tensor(NULL, NULL))), "expected a tensor, got NULL", "argument 2");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, ONE(LIST("open", one, spy_arg_tensor(NULL, foreign))), "another device", "argument 2");
    FAILS(SPY_ERROR_OUT_OF_RANGE, ONE(LIST("open", one, spy_arg_tensor(NULL, empty))), "'open[1]'", "at least one element");
    FAILS(SPY_ERROR_NOT_FOUND, ONE(LIST("open", one, spy_arg_tensor("[7]", x))), "'open'", "[7]");
    FAILS(SPY_ERROR_NOT_FOUND, ONE(LIST("bytes", one)), "'open'", "not given");
    FAILS(SPY_ERROR_OUT_OF_RANGE, ONE(spy_arg_tensor("open[0]", x)), "'open[0]'", "0 elements");
    FAILS(SPY_ERROR_OUT_OF_RANGE, ONE(LIST("open", one, one), spy_arg_tensor("open[2]", x)), "'open[2]'", "2 elements");
    OK(ONE(LIST("open", one, one), spy_arg_tensor("open[1]", x)));
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(LIST("open", one), LIST("cbs", one)), "'cbs[0]'", "ConstantBuffer<P>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(LIST("open", one), spy_arg_tensor("values", ints)), "'values'", "float3");
    FAILS(SPY_ERROR_TYPE_MISMATCH, OF(spy_arg_tensor("b", x)), "'b'", "a struct of tensors, as many");
    FAILS(SPY_ERROR_TYPE_MISMATCH, OF(LIST("b", one, spy_arg_tensor(NULL, ints))), "'b[1]'", "StructuredBuffer<float>");
    OK(OF(LIST("b", one)));
    gone = floats(N, data);
    spy_release_tensor(gone);
    FAILS(SPY_ERROR_RELEASED, OF(LIST("b", one, spy_arg_tensor(NULL, gone))), "argument 2", "released");
    spy_release_tensor(x);
    spy_release_tensor(ints);
    spy_release_tensor(empty);
    spy_release_tensor(foreign);
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_globals), cmocka_unit_test(test_params), cmocka_unit_test(test_entry), cmocka_unit_test(test_order), cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
