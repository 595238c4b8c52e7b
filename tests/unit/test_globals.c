// Shader parameters on the null backend: which bindings a kernel gets, and the bytes of its uniform buffers for random
// structs, against offsets worked out here by the rules of scalar layout. Kernels are compiled for real and never run.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp
#endif
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "call/call.h"
#endif
#include "work_test.h"

typedef struct bench {
    spy_device *device;
    spy_module *module;
    spyi_text report;
} bench;

static void open_with(bench *t, const char *source, spyi_null_desc *null_desc) {
    spyi_null_desc defaults;
    spy_device_desc d;
    spy_module_desc m;
    memset(t, 0, sizeof *t);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&defaults, 0, sizeof defaults);
    if (!null_desc) null_desc = &defaults;
    null_desc->report = &t->report;
    d.backend = spyi_null_backend();
    d.backend_desc = null_desc;
    t->device = spy_create_device(&d);
    if (!t->device) fail_msg("%s", spy_take_error(NULL).message);
    m.name = "unit";
    m.source = source;
    t->module = spy_load_module(t->device, &m);
    if (!t->module) fail_msg("%s", spy_take_error(t->device).message);
}

static void close_bench(bench *t) { // no rule of backend.h was broken, nothing leaked
    spy_release_device(t->device);
    if (t->report.size) print_error("%s", spyi_text_str(&t->report));
    assert_int_equal(t->report.size, 0);
    spyi_text_free(&t->report);
}

static spy_tensor *floats(bench *t, int64_t n) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(n);
    spy_tensor *x = spy_create_tensor(t->device, &d);
    if (!x) fail_msg("%s", spy_take_error(t->device).message);
    return x;
}

static spy_status call(bench *t, const char *name, spy_args args, spy_args globals) {
    spy_call_options o;
    spy_function *f = spy_find_function(t->module, name);
    memset(&o, 0, sizeof o);
    o.globals = globals;
    if (!f) fail_msg("%s", spy_take_error(t->device).message);
    return spy_call_with(f, args, &o);
}

static void good(bench *t, spy_status status) {
    if (status != SPY_OK) fail_msg("%s", spy_take_error(t->device).message);
}

static void error_has(bench *t, spy_status status, spy_status want, const char *word) {
    spy_error e = spy_take_error(t->device);
    if (status == want && e.code == want && strstr(e.message, word)) return;
    fail_msg("expected %s with '%s', got %s: %s", spy_status_text(want), word, spy_status_text(status), e.message);
}

static const spyi_null_op *last_op(bench *t) {
    size_t n = spyi_null_op_count(t->device->gpu);
    assert_true(n > 0);
    return spyi_null_get_op(t->device->gpu, n - 1);
}

// >>bindings

static const char source[] = "struct Block { float a; RWStructuredBuffer<uint> counts; float3 b; StructuredBuffer<float> w; }\n"
                             "StructuredBuffer<float> first;\n"
                             "uniform float gain;\n"
                             "ParameterBlock<Block> block;\n"
                             "ConstantBuffer<float4> four;\n"
                             "[[vk::binding(9, 5)]] StructuredBuffer<float> far;\n"
                             "float all(float x, StructuredBuffer<float> own, ConstantBuffer<float2> pair)\n"
                             "{ block.counts[0] = 1; return x + first[0] + gain + block.a + block.w[1] + four.w + far[2] + own[0] + pair.y; }\n"
                             "float little(float x) { return x * gain + far[1]; }\n"
                             "float b(float x) { return block.b.y + x; }\n"
                             "float own(StructuredBuffer<float> t, float x) { return t[0] + x; }\n";

// The code with its new numbers is still what Vulkan takes.
static void test_valid_code(void **state) {
    (void)state;
    const char *validator = getenv("SPIRV_VAL");
    char folder[] = "/tmp/spy_globals_XXXXXX", command[400];
    if (!validator || !spyi_file_exists(validator)) {
        print_message("skipped: SPIRV_VAL names no spirv-val\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    bench t;
    spy_device_desc d;
    spy_module_desc m;
    memset(&t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.backend = spyi_null_backend();
    d.dump_directory = folder;
    t.device = spy_create_device(&d);
    m.source = source;
    t.module = spy_load_module(t.device, &m);
    assert_non_null(t.module);
    spy_tensor *x = floats(&t, 8), *y = floats(&t, 8);
    float v[4] = { 0 };
    spy_tensor_desc td;
    memset(&td, 0, sizeof td);
    td.dtype = SPY_DTYPE_UINT32;
    td.shape = SPY_SHAPE(4);
    spy_tensor *c = spy_create_tensor(t.device, &td);
    spy_arg globals[] = { spy_arg_tensor("first", x), spy_arg_f32("gain", 9), spy_arg_f32("block.a", 7),
                          spy_arg_tensor("block.w", x), spy_arg_tensor("block.counts", c), spy_arg_f32n("four", v, 4),
                          spy_arg_tensor("far", x) };
    spy_args list = { globals, 7 };
    spy_arg in = spy_arg_tensor("x", x), result = spy_arg_tensor("_result", y);
    good(&t, call(&t, "all", SPY_ARGS(in, spy_arg_tensor("own", x), spy_arg_f32n("pair", v, 2), result), list));
    good(&t, call(&t, "little", SPY_ARGS(in, result), list));
    good(&t, call(&t, "own", SPY_ARGS(spy_arg_tensor("t", x), in, result), list));
    spy_release_device(t.device);
    snprintf(command, sizeof command,
             "cd %s && test $(ls *.spv | wc -l) = 3 && for f in *.spv; do %s --target-env vulkan1.2 --scalar-block-layout $f || exit 1; done",
             folder, validator);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void bound_to(const spyi_binding *b, const spy_tensor *t) {
    assert_int_equal(b->handle, t->storage->chunk.handle);
    assert_int_equal(b->offset, t->storage->offset + t->begin_bytes);
    assert_int_equal(b->range, t->end_bytes - t->begin_bytes);
}

static void test_bindings(void **state) {
    (void)state;
    for (int prefers = 0; prefers < 2; prefers++) {
        bench t;
        spyi_null_desc d;
        memset(&d, 0, sizeof d);
        d.prefers_bindings = prefers == 1;
        open_with(&t, source, &d);
        spy_tensor *x = floats(&t, 8), *first = floats(&t, 3), *w = floats(&t, 4), *far = floats(&t, 5), *own = floats(&t, 6), *y = floats(&t, 8);
        spy_arg result = spy_arg_tensor("_result", y);
        float counts[4] = { 0 }, four[4] = { 1, 2, 3, 4 }, pair[2] = { 5, 6 }, value;
        spy_tensor_desc td;
        memset(&td, 0, sizeof td);
        td.dtype = SPY_DTYPE_UINT32;
        td.shape = SPY_SHAPE(4);
        td.data = counts;
        spy_tensor *c = spy_create_tensor(t.device, &td);
        spy_arg globals[] = { spy_arg_tensor("first", first), spy_arg_f32("gain", 9), spy_arg_f32("block.a", 7),
                              spy_arg_tensor("block.w", w), spy_arg_tensor("block.counts", c), spy_arg_f32n("four", four, 4),
                              spy_arg_tensor("far", far) };
        spy_args list = { globals, 7 };
        good(&t, call(&t, "all", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("own", own), spy_arg_f32n("pair", pair, 2), result), list));
        const spyi_null_op *op = last_op(&t);
        uint32_t n = prefers ? 2 : 0; // x and the result, or their addresses in the block; then what was given
        assert_int_equal(op->binding_count, n + 5);
        if (prefers) bound_to(&op->bindings[0], x), bound_to(&op->bindings[1], y);
        bound_to(&op->bindings[n], own);
        const spy_tensor *rest[] = { first, w, c, far };
        for (int r = 0; r < 4; r++) { // in any order, each once
            uint32_t found = 0;
            for (uint32_t b = n + 1; b < op->binding_count; b++)
                if (op->bindings[b].handle == rest[r]->storage->chunk.handle &&
                    op->bindings[b].offset == rest[r]->storage->offset) {
                    bound_to(&op->bindings[b], rest[r]);
                    found++;
                }
            assert_int_equal(found, 1);
        }
        assert_int_equal(op->uniform_count, 4);
        const float want[4] = { 9, 7, 1, 5 }; // gain, block.a, four.x, pair.x are the first bytes of one each
        for (int u = 0; u < 4; u++) {
            uint32_t found = 0;
            for (uint32_t b = 0; b < 4; b++) {
                memcpy(&value, op->uniforms[b].data, 4);
                found += value == want[u];
            }
            assert_int_equal(found, 1);
        }
        // A kernel gets only what it uses.
        good(&t, call(&t, "little", SPY_ARGS(spy_arg_tensor("x", x), result), list));
        op = last_op(&t);
        assert_int_equal(op->binding_count, n + 1);
        bound_to(&op->bindings[n], far);
        assert_int_equal(op->uniform_count, 1);
        assert_int_equal(op->uniforms[0].size, 4);
        // Of a uniform buffer only the members that are used must be given.
        good(&t, call(&t, "b", SPY_ARGS(spy_arg_tensor("x", x), result), SPY_ARGS(spy_arg_f32n("block.b", four, 3))));
        op = last_op(&t);
        assert_int_equal(op->uniforms[0].size, 16);
        memcpy(&value, (const char *)op->uniforms[0].data + 8, 4);
        assert_float_equal(value, 2, 0);
        error_has(&t, call(&t, "b", SPY_ARGS(spy_arg_tensor("x", x), result), SPY_ARGS(spy_arg_f32("block.a", 1))), SPY_ERROR_NOT_FOUND, "'block.b'");
        close_bench(&t);
    }
}

// Typed buffers and arrays of buffers: an array's elements take neighbouring bindings, in its order, and each is told apart.
static void test_slots(void **state) {
    (void)state;
    for (int prefers = 0; prefers < 2; prefers++) {
        bench t;
        spyi_null_desc d;
        memset(&d, 0, sizeof d);
        d.prefers_bindings = prefers == 1;
        d.max_texels = 40;
        d.texel_alignment = 256;
        open_with(&t,
                  "StructuredBuffer<float> tables[3];\nBuffer<float2> pairs;\nRWBuffer<half4> out;\nBuffer<int> none[2];\n"
                  "float f(float x, int k, StructuredBuffer<float> own[2], RWBuffer<uint> bins)\n"
                  "{ bins[k] = 3u; out[k] = half4(pairs[1].x); return x + tables[k][0] + own[k][1]; }\n"
                  "float g(float x, Buffer<float> b) { return x + b[0]; }\n",
                  &d);
        spy_tensor *x = floats(&t, 8), *y = floats(&t, 8), *w[5];
        spy_arg result = spy_arg_tensor("_result", y), in = spy_arg_tensor("x", x), k = spy_arg_i32("k", 1);
        for (int i = 0; i < 5; i++) w[i] = floats(&t, 3 + i);
        spy_tensor_desc td;
        memset(&td, 0, sizeof td);
        td.dtype = SPY_DTYPE_FLOAT16;
        td.shape = SPY_SHAPE(5, 4);
        spy_tensor *halves = spy_create_tensor(t.device, &td);
        td.dtype = SPY_DTYPE_UINT32;
        spy_tensor *bins = spy_create_tensor(t.device, &td);
        td.dtype = SPY_DTYPE_FLOAT32;
        td.shape = SPY_SHAPE(6, 2);
        spy_tensor *pairs = spy_create_tensor(t.device, &td);
        td.shape = SPY_SHAPE(100);
        spy_tensor *large = spy_create_tensor(t.device, &td), *part = spy_create_slice(large, 0, 16, 20, 1);
        spy_args globals = SPY_ARGS(spy_arg_tensor("tables[2]", w[2]), spy_arg_tensor("pairs", pairs), spy_arg_tensor("out", halves),
                                    spy_arg_tensor("tables[0]", w[0]), spy_arg_tensor("tables[1]", w[1]));
        spy_arg own = spy_arg_struct("own", SPY_ARGS(spy_arg_tensor(NULL, w[3]), spy_arg_tensor(NULL, w[4])));
        good(&t, call(&t, "f", SPY_ARGS(in, k, own, spy_arg_tensor("bins", bins), result), globals));
        const spyi_null_op *op = last_op(&t);
        uint32_t n = prefers ? 2 : 0;
        assert_int_equal(op->binding_count, n + 8);
        if (prefers) bound_to(&op->bindings[0], x), bound_to(&op->bindings[1], y);
        bound_to(&op->bindings[n], bins);
        const spyi_parameter *parameter = spyi_interface_find(op->iface, n);
        assert_int_equal(parameter->kind, SPYI_PARAMETER_RW_TEXELS);
        assert_int_equal(parameter->scalar, SPY_DTYPE_UINT32);
        for (uint32_t b = n + 1; b < op->binding_count; b++) {
            const spyi_parameter *slot = spyi_interface_find(op->iface, b);
            const spyi_binding *bound = &op->bindings[b];
            if (slot->kind == SPYI_PARAMETER_TEXELS || slot->kind == SPYI_PARAMETER_RW_TEXELS) {
                bool writes = slot->kind == SPYI_PARAMETER_RW_TEXELS;
                bound_to(bound, writes ? halves : pairs);
                assert_int_equal(slot->count, 1);
                assert_int_equal(slot->scalar, writes ? SPY_DTYPE_FLOAT16 : SPY_DTYPE_FLOAT32);
                assert_int_equal(slot->columns, writes ? 4 : 2);
                continue;
            }
            assert_true(slot->count == 3 || slot->count == 2);
            for (uint32_t i = 0; i < slot->count; i++) {
                bound_to(&bound[i], w[i + (slot->count == 2 ? 3 : 0)]);
                assert_ptr_equal(spyi_interface_find(op->iface, b + i), slot);
            }
            b += slot->count - 1u;
        }
        // What the device does not take, by name.
        good(&t, call(&t, "g", SPY_ARGS(in, spy_arg_tensor("b", w[1]), result), SPY_NO_ARGS));
        error_has(&t, call(&t, "g", SPY_ARGS(in, spy_arg_tensor("b", large), result), SPY_NO_ARGS), SPY_ERROR_OUT_OF_RANGE,
                  "'b': Buffer<float> of 100 elements is larger than the device's 40");
        error_has(&t, call(&t, "g", SPY_ARGS(in, spy_arg_tensor("b", part), result), SPY_NO_ARGS), SPY_ERROR_OUT_OF_RANGE,
                  "'b': Buffer<float> must begin at a multiple of 256 bytes");
        close_bench(&t);
    }
    bench t;
    spyi_null_desc d;
    memset(&d, 0, sizeof d);
    d.no_texels = true;
    open_with(&t, "float g(float x, Buffer<float> b) { return x + b[0]; }\nStructuredBuffer<float> tables[20];\nfloat h(float x) { return x + tables[3][0]; }\n", &d);
    spy_tensor *x = floats(&t, 8);
    error_has(&t, call(&t, "g", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("b", x)), SPY_NO_ARGS), SPY_ERROR_OUT_OF_RANGE,
              "'b': the device 'null device' has no texels of format float for Buffer<float>");
    error_has(&t, call(&t, "h", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", floats(&t, 8))), SPY_NO_ARGS), SPY_ERROR_UNSUPPORTED, "20 buffers");
    close_bench(&t);
}

static void test_limits(void **state) {
    bench t;
    spyi_null_desc d;
    (void)state;
    memset(&d, 0, sizeof d);
    d.max_bindings = 2;
    d.max_uniform_bytes = 16;
    open_with(&t, "struct Big { float a[8]; }\nConstantBuffer<Big> big;\nConstantBuffer<float4> four;\nStructuredBuffer<float> s;\n"
                  "float of_big(float x) { return big.a[1]; }\nfloat of_four(float x) { return four.x + s[0]; }\n"
                  "float of_three(float x, StructuredBuffer<float> r) { return four.x + s[0] + r[0]; }\n", &d);
    spy_tensor *x = floats(&t, 8), *y = floats(&t, 8);
    spy_arg result = spy_arg_tensor("_result", y);
    float a[8] = { 0 };
    error_has(&t, call(&t, "of_big", SPY_ARGS(spy_arg_tensor("x", x), result), SPY_ARGS(spy_arg_data("big", a, sizeof a))), SPY_ERROR_UNSUPPORTED, "32 bytes");
    spy_args two = SPY_ARGS(spy_arg_f32n("four", a, 4), spy_arg_tensor("s", x));
    good(&t, call(&t, "of_four", SPY_ARGS(spy_arg_tensor("x", x), result), two));
    error_has(&t, call(&t, "of_three", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("r", x), result), two), SPY_ERROR_UNSUPPORTED, "the device takes 2");
    close_bench(&t);
    // Element-wise arrays leave the bindings to those that must have one.
    memset(&d, 0, sizeof d);
    d.max_bindings = 3;
    d.prefers_bindings = true;
    open_with(&t, source, &d);
    x = floats(&t, 8);
    y = floats(&t, 8);
    good(&t, call(&t, "little", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)), SPY_ARGS(spy_arg_f32("gain", 1), spy_arg_tensor("far", x))));
    assert_int_equal(last_op(&t)->binding_count, 1);
    good(&t, call(&t, "own", SPY_ARGS(spy_arg_tensor("t", x), spy_arg_tensor("x", x), spy_arg_tensor("_result", y)), SPY_NO_ARGS));
    assert_int_equal(last_op(&t)->binding_count, 3);
    close_bench(&t);
    memset(&d, 0, sizeof d);
    d.pointers_only = true;
    open_with(&t, source, &d);
    x = floats(&t, 8);
    error_has(&t, call(&t, "own", SPY_ARGS(spy_arg_tensor("t", x), spy_arg_f32("x", 1)), SPY_NO_ARGS), SPY_ERROR_OUT_OF_RANGE, "'t'");
    close_bench(&t);
}

// A barrier exactly where a call meets what one before it wrote, whether through a global, a parameter or an element.
static void test_hazards(void **state) {
    bench t;
    (void)state;
    open_with(&t, "RWStructuredBuffer<float> cells;\nStructuredBuffer<float> seen;\n"
                  "void write(int i) { cells[i] = i; }\nfloat read(int i) { return seen[i]; }\n"
                  "float copy(float x) { return x; }\nfloat own(StructuredBuffer<float> s, int i) { return s[i]; }\n", NULL);
    spy_tensor *a = floats(&t, 8), *b = floats(&t, 8), *r = floats(&t, 1);
    spy_arg i = spy_arg_i32("i", 0), result = spy_arg_tensor("_result", r);
    const struct {
        const char *function;
        spy_tensor *tensor;
        bool barrier;
    } steps[] = { { "write", a, false }, { "write", b, false }, { "read", a, true }, { "read", a, true /* its result */ },
                  { "write", a, true }, { "own", a, true }, { "write", b, false }, { "copy", a, true } };
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        spy_tensor *x = steps[s].tensor;
        const char *f = steps[s].function;
        if (strcmp(f, "write") == 0) good(&t, call(&t, f, SPY_ARGS(i), SPY_ARGS(spy_arg_tensor("cells", x))));
        if (strcmp(f, "read") == 0) good(&t, call(&t, f, SPY_ARGS(i, result), SPY_ARGS(spy_arg_tensor("seen", x))));
        if (strcmp(f, "own") == 0) good(&t, call(&t, f, SPY_ARGS(spy_arg_tensor("s", x), i, result), SPY_NO_ARGS));
        if (strcmp(f, "copy") == 0) good(&t, call(&t, f, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", b)), SPY_NO_ARGS));
        if (last_op(&t)->barrier != steps[s].barrier) fail_msg("step %zu (%s): barrier %d", s, f, last_op(&t)->barrier);
    }
    close_bench(&t);
}

// >>random structs

#define MOST_FIELDS 400

typedef struct scalar {
    const char *name;
    spy_dtype dtype;
    size_t host, device;
    bool vectors;
} scalar;

static const scalar scalars[] = {
    { "float", SPY_DTYPE_FLOAT32, 4, 4, true },    { "int", SPY_DTYPE_INT32, 4, 4, true },        { "uint", SPY_DTYPE_UINT32, 4, 4, true },
    { "float16_t", SPY_DTYPE_FLOAT16, 2, 2, true }, { "double", SPY_DTYPE_FLOAT64, 8, 8, true },   { "int16_t", SPY_DTYPE_INT16, 2, 2, true },
    { "uint8_t", SPY_DTYPE_UINT8, 1, 1, true },    { "int64_t", SPY_DTYPE_INT64, 8, 8, true },    { "bool", SPY_DTYPE_BOOL, 1, 4, false },
};

// A field: `rows` x `columns` scalars (0: none of these dimensions), or `rows` structs.
typedef struct field {
    char name[16];
    const scalar *scalar; // NULL: a struct
    int structure, rows, columns;
} field;

typedef struct structure {
    field fields[6];
    int count;
    size_t host_size, host_align, device_size, device_align;
} structure;

typedef struct world {
    structure structs[16];
    int count;
    uint32_t seed;
    // one value: its bytes as C and as the device have them, and the ways to give it
    unsigned char host[8192], device[8192];
    char paths[MOST_FIELDS][64];
    spy_arg leaves[MOST_FIELDS];
    unsigned char leaf_data[MOST_FIELDS][128];
    int leaf_count;
    spy_arg lists[64][6];
    int list_count;
} world;

static uint32_t next(world *w, uint32_t below) {
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static size_t up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static void make_struct(world *w, bool nested) {
    structure *s = &w->structs[w->count];
    memset(s, 0, sizeof *s);
    s->host_align = s->device_align = 1;
    s->count = 1 + (int)next(w, 6);
    for (int i = 0; i < s->count; i++) {
        field *f = &s->fields[i];
        size_t host, device, host_align, device_align, n = 1;
        snprintf(f->name, sizeof f->name, "m%d", i);
        if (nested && w->count > 0 && next(w, 3) == 0) {
            f->structure = (int)next(w, (uint32_t)w->count);
            f->rows = next(w, 2) ? 0 : 1 + (int)next(w, 3);
            const structure *inner = &w->structs[f->structure];
            host = inner->host_size;
            device = inner->device_size;
            host_align = inner->host_align;
            device_align = inner->device_align;
            n = f->rows ? (size_t)f->rows : 1;
        } else {
            f->scalar = &scalars[next(w, sizeof scalars / sizeof scalars[0])];
            uint32_t form = next(w, 4);
            if (form == 1 && f->scalar->vectors) f->columns = 2 + (int)next(w, 3);
            if (form == 2) f->rows = 1 + (int)next(w, 4);
            if (form == 3 && f->scalar->dtype == SPY_DTYPE_FLOAT32) f->rows = 2 + (int)next(w, 3), f->columns = 2 + (int)next(w, 3);
            host_align = host = f->scalar->host;
            device_align = device = f->scalar->device;
            n = (size_t)(f->rows ? f->rows : 1) * (size_t)(f->columns ? f->columns : 1);
        }
        s->host_size = up(s->host_size, host_align) + host * n;
        s->device_size = up(s->device_size, device_align) + up(device, device_align) * (n - 1) + device; // no end padding
        if (host_align > s->host_align) s->host_align = host_align;
        if (device_align > s->device_align) s->device_align = device_align;
    }
    s->host_size = up(s->host_size, s->host_align);
    w->count++;
}

static void spell_field(const field *f, spyi_text *out) {
    if (!f->scalar) spyi_text_add(out, "S%d %s", f->structure, f->name);
    else if (f->rows && f->columns) spyi_text_add(out, "float%dx%d %s", f->rows, f->columns, f->name);
    else if (f->columns) spyi_text_add(out, "vector<%s, %d> %s", f->scalar->name, f->columns, f->name);
    else spyi_text_add(out, "%s %s", f->scalar->name, f->name);
    if (f->rows && !(f->scalar && f->columns)) spyi_text_add(out, "[%d]", f->rows);
}

static void put_scalar(const scalar *s, uint32_t number, unsigned char *host, unsigned char *device) {
    union {
        float f;
        double d;
        int64_t i;
    } v;
    unsigned char bytes[8] = { 0 };
    if (s->dtype == SPY_DTYPE_FLOAT32) v.f = (float)number, memcpy(bytes, &v.f, 4);
    else if (s->dtype == SPY_DTYPE_FLOAT64) v.d = number, memcpy(bytes, &v.d, 8);
    else if (s->dtype == SPY_DTYPE_FLOAT16) v.i = spyi_float_to_half(number), memcpy(bytes, &v.i, 2);
    else v.i = s->dtype == SPY_DTYPE_BOOL ? number % 2 : number, memcpy(bytes, &v.i, 8);
    memcpy(host, bytes, s->host);
    memcpy(device, bytes, s->device);
}

// Fills a struct with random numbers, writes down each leaf with its path, adds the sum of all to `use`, and gives its
// fields as a list (structs in arrays as their bytes).
static spy_args fill(world *w, int number, const char *path, size_t host_at, size_t device_at, spyi_text *use) {
    const structure *s = &w->structs[number];
    size_t host = 0, device = 0;
    spy_arg *list = w->lists[w->list_count++];
    spy_args fields = { list, (size_t)s->count };
    for (int i = 0; i < s->count; i++) {
        const field *f = &s->fields[i];
        char name[64];
        snprintf(name, sizeof name, "%.40s.%s", path, f->name);
        if (!f->scalar) {
            const structure *inner = &w->structs[f->structure];
            int n = f->rows ? f->rows : 1;
            host = up(host, inner->host_align);
            device = up(device, inner->device_align);
            const unsigned char *begin = w->host + host_at + host;
            spy_args parts = SPY_NO_ARGS;
            for (int k = 0; k < n; k++) {
                char element[64];
                if (f->rows) snprintf(element, sizeof element, "%.50s[%d]", name, k);
                else snprintf(element, sizeof element, "%s", name);
                parts = fill(w, f->structure, element, host_at + host, device_at + device, use);
                host += inner->host_size;
                device += k + 1 < n ? up(inner->device_size, inner->device_align) : inner->device_size;
            }
            list[i] = f->rows ? spy_arg_data(f->name, begin, (size_t)n * inner->host_size) : spy_arg_struct(f->name, parts);
            continue;
        }
        int n = (f->rows ? f->rows : 1) * (f->columns ? f->columns : 1);
        host = up(host, f->scalar->host);
        device = up(device, f->scalar->device);
        int leaf = w->leaf_count++;
        assert_true(leaf < MOST_FIELDS);
        for (int k = 0; k < n; k++) {
            put_scalar(f->scalar, next(w, 100), w->host + host_at + host, w->device + device_at + device);
            host += f->scalar->host;
            device += f->scalar->device;
        }
        memcpy(w->leaf_data[leaf], w->host + host_at + host - (size_t)n * f->scalar->host, (size_t)n * f->scalar->host);
        snprintf(w->paths[leaf], sizeof w->paths[leaf], "%s", name);
        spy_shape shape = SPY_SHAPE(1);
        shape.rank = 0;
        if (f->rows) shape.dims[shape.rank++] = f->rows;
        if (f->columns) shape.dims[shape.rank++] = f->columns;
        w->leaves[leaf] = spy_arg_array(w->paths[leaf], w->leaf_data[leaf], shape, f->scalar->dtype);
        list[i] = w->leaves[leaf];
        list[i].name = f->name;
        spyi_text_add(use, " + float(%s%s%s)", name, f->rows ? "[0]" : "", f->columns ? "[1]" : "");
    }
    return fields;
}

static void check_uniform(bench *t, const world *w, size_t size, const char *way, const char *text) {
    const spyi_null_op *op = last_op(t);
    assert_int_equal(op->uniform_count, 1);
    if (op->uniforms[0].size != size)
        fail_msg("%s: %u bytes, expected %zu of\n%s", way, op->uniforms[0].size, size, text);
    for (uint32_t b = 0; b < op->uniforms[0].size; b++)
        if (((const unsigned char *)op->uniforms[0].data)[b] != w->device[b])
            fail_msg("%s: byte %u is %u, expected %u of\n%s", way, b, ((const unsigned char *)op->uniforms[0].data)[b], w->device[b], text);
}

static void test_random_structs(void **state) {
    (void)state;
    const char *seed = getenv("SPY_TEST_SEED");
    uint32_t first = seed ? (uint32_t)strtoul(seed, NULL, 10) : 1;
    static world w;
    for (uint32_t round = 0; round < (uint32_t)test_count(300); round++) {
        static const char *const homes[] = { "ConstantBuffer<S%d> g;\n", "ParameterBlock<S%d> g;\n", "uniform S%d g;\n" };
        bench t;
        spyi_text text = { NULL, 0, 0 }, use = { NULL, 0, 0 };
        memset(&w, 0, sizeof w);
        w.seed = first * 7919u + round;
        int structs = 1 + (int)next(&w, 4);
        for (int i = 0; i < structs; i++) {
            make_struct(&w, i > 0);
            spyi_text_add(&text, "struct S%d\n{\n", i);
            for (int f = 0; f < w.structs[i].count; f++) {
                spyi_text_add(&text, "    ");
                spell_field(&w.structs[i].fields[f], &text);
                spyi_text_add(&text, ";\n");
            }
            spyi_text_add(&text, "}\n");
        }
        const structure *top = &w.structs[structs - 1];
        if (top->host_size > 2000) { // of lists and leaves there are so many
            spyi_text_free(&text);
            continue;
        }
        spyi_text_add(&text, homes[round % 3], structs - 1);
        spy_args fields = fill(&w, structs - 1, "g", 0, 0, &use);
        spyi_text_add(&text, "float f(float x) { return x%s; }\n", spyi_text_str(&use));
        open_with(&t, text.data, NULL);
        spy_tensor *x = floats(&t, 4);
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", x)), leaves = { w.leaves, (size_t)w.leaf_count };
        good(&t, call(&t, "f", args, SPY_ARGS(spy_arg_data("g", w.host, top->host_size))));
        check_uniform(&t, &w, top->device_size, "by bytes", text.data);
        good(&t, call(&t, "f", args, SPY_ARGS(spy_arg_struct("g", fields))));
        check_uniform(&t, &w, top->device_size, "by fields", text.data);
        good(&t, call(&t, "f", args, leaves));
        check_uniform(&t, &w, top->device_size, "by paths", text.data);
        if (w.leaf_count > 1) { // one less is missed by its name
            leaves.count--;
            error_has(&t, call(&t, "f", args, leaves), SPY_ERROR_NOT_FOUND, "not given");
        }
        close_bench(&t);
        spyi_text_free(&text);
        spyi_text_free(&use);
    }
}

// What a call was not given comes as data beside the error: with the error that it is about, and with no other.
static void missing_are(bench *t, spy_status status, const char *wanted, size_t size) {
    assert_int_not_equal(status, SPY_OK);
    assert_int_equal(spy_take_error(t->device).code, status);
    assert_memory_equal(spy_missing_names(t->device), wanted, size);
}

static void test_missing(void **state) {
    bench t;
    (void)state;
    open_with(&t, "uniform float gain; struct Pair { float a; float b; }; uniform Pair pair; StructuredBuffer<float> first;\n"
                  "float f(float x, float y) { return x * gain + pair.a + pair.b + first[0]; }\n"
                  "float two(float x) { return x; }\nfloat two(float x, float y, float z) { return x; }\n", NULL);
    spy_tensor *x = floats(&t, 4), *other = floats(&t, 3);
    spy_arg in = spy_arg_tensor("x", x), y = spy_arg_f32("y", 1), out = spy_arg_tensor("_result", x);
    spy_args one = SPY_ARGS(spy_arg_f32("pair.b", 1));
    assert_string_equal(spy_missing_names(NULL), "");
    assert_string_equal(spy_missing_names(t.device), "");
    missing_are(&t, call(&t, "f", SPY_ARGS(in, out), one), "y\0", 3);
    missing_are(&t, call(&t, "f", SPY_ARGS(in, y, out), one), "gain\0pair.a\0first\0", 19);
    missing_are(&t, call(&t, "two", SPY_ARGS(spy_arg_f32("x", 1), y, out), SPY_NO_ARGS), "", 1); // of two overloads
    // An error that no one has taken keeps its own names; errors about something else have none.
    assert_int_not_equal(call(&t, "f", SPY_ARGS(in, y, out), one), SPY_OK);
    assert_int_not_equal(call(&t, "f", SPY_ARGS(in, out), one), SPY_OK);
    assert_int_equal(spy_take_error(t.device).code, SPY_ERROR_NOT_FOUND);
    assert_string_equal(spy_missing_names(t.device), "gain");
    missing_are(&t, call(&t, "f", SPY_ARGS(in, y, spy_arg_f32("z", 1), out), one), "", 1);
    missing_are(&t, call(&t, "f", SPY_ARGS(in, spy_arg_tensor("y", other), out), SPY_NO_ARGS), "", 1);
    spyi_text_clear(&t.report); // those were meant
    close_bench(&t);
}

// >>the null backend's rules for uniform buffers

static void test_backend_rules(void **state) {
    bench t;
    spyi_text error = { NULL, 0, 0 };
    spyi_kernel *kernel = NULL;
    spyi_kernel_desc desc;
    spyi_parameter parameters[13];
    spyi_dispatch dispatch = work_dispatch();
    spyi_uniform uniform = { "0123456789abcdef", 16 };
    uint32_t code = 0;
    (void)state;
    open_with(&t, "float f(float x) { return x; }\n", NULL);
    const struct spyi_backend *backend = t.device->backend;
    memset(&desc, 0, sizeof desc);
    desc.code = &code;
    desc.code_size = 4;
    desc.entry = "e";
    work_group(&desc, 1);
    work_interface(&desc, parameters, 0, 13);
    assert_int_equal(backend->load(t.device->gpu, &desc, &kernel, &error), SPY_ERROR_INTERNAL);
    assert_non_null(strstr(spyi_text_str(&error), "uniform"));
    work_interface(&desc, parameters, 0, 1);
    assert_int_equal(backend->load(t.device->gpu, &desc, &kernel, &error), SPY_OK);
    dispatch.kernel = kernel;
    dispatch.groups[0] = dispatch.groups[1] = dispatch.groups[2] = 1;
    assert_int_equal(spyi_record(backend, t.device->gpu, &dispatch.work, &error), SPY_ERROR_INTERNAL); // no uniforms
    dispatch.uniforms = &uniform;
    uniform.size = 0;
    assert_int_equal(spyi_record(backend, t.device->gpu, &dispatch.work, &error), SPY_ERROR_INTERNAL);
    uniform.size = 16;
    assert_int_equal(spyi_record(backend, t.device->gpu, &dispatch.work, &error), SPY_OK);
    const spyi_null_op *op = last_op(&t);
    assert_int_equal(op->uniform_count, 1);
    assert_ptr_not_equal(op->uniforms[0].data, uniform.data);
    assert_memory_equal(op->uniforms[0].data, uniform.data, 16);
    assert_int_equal(backend->submit(t.device->gpu, &error), SPY_OK);
    backend->destroy_kernel(t.device->gpu, kernel);
    spyi_text_free(&error);
    spyi_text_clear(&t.report); // those were meant
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_code),    cmocka_unit_test(test_bindings),      cmocka_unit_test(test_slots), cmocka_unit_test(test_limits),        cmocka_unit_test(test_hazards),
        cmocka_unit_test(test_random_structs), cmocka_unit_test(test_missing),       cmocka_unit_test(test_backend_rules),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
