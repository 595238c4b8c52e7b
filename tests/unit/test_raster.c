// Rasters and draws on the null backend: what the pipeline and the work are made of, uses and barriers, allocations, lifetimes,
// and every error. What draws show on a device: tests/gpu/test_raster.c.
#include "spy_test.h"
#include "hold_slang.h"
#include "malloc_count.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "call/raster.h"
#endif
#include "work_test.h"
#include <pthread.h>

static const char source[] =
    "struct In { float3 position : POSITION; float2 uv : TEXCOORD1; }\n"
    "struct Out { float4 position : SV_Position; float2 uv; }\n"
    "uniform float g_scale;\n"
    "[shader(\"vertex\")] Out vs(In v, uint id : SV_VertexID, uniform float4 shift) {\n"
    "    Out o; o.position = float4(v.position * g_scale, 1) + shift; o.uv = v.uv; return o;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs(Out v, uniform float4 tint, uniform StructuredBuffer<float> more) : SV_Target {\n"
    "    return tint * v.uv.x * more[0] * g_scale;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs_plain(Out v) : SV_Target { return float4(v.uv, 0, 1); }\n"
    "[shader(\"fragment\")] uint2 fs_uint(Out v) : SV_Target { return uint2(1, 2); }\n"
    "[shader(\"fragment\")] float4 fs_image(Out v, uniform Texture2D<float4> image) : SV_Target { return image[int2(v.uv)]; }\n"
    "[shader(\"fragment\")] float4 fs_more(Out v, float3 color) : SV_Target { return float4(color, 1); }\n"
    "[shader(\"fragment\")] float4 fs_other(float4 p : SV_Position, int2 uv) : SV_Target { return float4(uv, 0, 1); }\n"
    "[shader(\"fragment\")] float4 fs_write(Out v, uniform RWStructuredBuffer<float> to) : SV_Target { to[0] = 1; return 1; }\n"
    "[shader(\"vertex\")] float4 vs_id(uint id : SV_VertexID) : SV_Position { return id; }\n"
    "[shader(\"vertex\")] float4 vs_matrix(float3x3 m) : SV_Position { return m[0].xyzz; }\n"
    "[shader(\"vertex\")] float4 vs_tint(float3 tint, uniform float k) : SV_Position { return tint.xyzz * k; }\n"
    "[shader(\"fragment\")] float4 fs_tint(uniform float3 tint) : SV_Target { return tint.xyzz; }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)] void cs() {}\n"
    "float plain(float x) { return x; }\n"
    "float f(float x) { return x + 1; }\n";

#include "null_bench.h"

enum { W = 64, H = 32 };

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

static spy_texture *texture_of(bench *t, spy_format format, uint32_t width, uint32_t samples, uint32_t usage) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = format;
    d.width = width;
    d.height = H;
    d.samples = samples;
    d.usage = usage;
    spy_texture *x = spy_create_texture(t->device, &d);
    if (!x) fail_msg("%s", spy_take_error(t->device).message);
    return x;
}

static spy_texture *color_of(bench *t) {
    return texture_of(t, SPY_FORMAT_RGBA32_FLOAT, W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED);
}

static spy_raster_desc described(bench *t, const char *vertex, const char *fragment) {
    spy_raster_desc d;
    memset(&d, 0, sizeof d);
    d.vertex = fn(t, vertex);
    d.fragment = fragment ? fn(t, fragment) : NULL;
    return d;
}

static spy_raster *raster_of(bench *t, const spy_raster_desc *d) {
    spy_raster *r = spy_create_raster(t->device, d);
    if (!r) fail_msg("%s", spy_take_error(t->device).message);
    return r;
}

// Loads a module of this text, whose functions `v` and `f` are the stages.
static spy_raster_desc of_text(bench *t, const char *name, const char *text, spy_module **module) {
    spy_module_desc m;
    spy_raster_desc d;
    memset(&m, 0, sizeof m);
    memset(&d, 0, sizeof d);
    m.name = name;
    m.source = text;
    *module = spy_load_module(t->device, &m);
    assert_non_null(*module);
    d.vertex = spy_find_function(*module, "v");
    d.fragment = spy_find_function(*module, "f");
    return d;
}

static spy_raster *made(bench *t, const char *vertex, const char *fragment) {
    spy_raster_desc d = described(t, vertex, fragment);
    return raster_of(t, &d);
}

static spy_draw_desc into(spy_texture *t) {
    spy_draw_desc d;
    memset(&d, 0, sizeof d);
    d.targets[0].texture = t;
    return d;
}

static void error_has(bench *t, spy_status expected, spy_status got, const char *words, int line) {
    spy_error e = spy_take_error(t->device);
    if (got == expected && e.code == expected && e.message && strstr(e.message, words)) return;
    fail_msg("line %d: status %d, expected %d; '%s' lacks '%s'", line, (int)got, (int)expected, e.message ? e.message : "", words);
}
#define BAD(t, expected, expression, words) error_has(t, expected, (expression), words, __LINE__)
#define BAD_DESC(t, expected, d, words)                                                                       \
    do {                                                                                                      \
        spy_raster *bad = spy_create_raster((t)->device, d);                                                  \
        assert_null(bad);                                                                                     \
        error_has(t, expected, expected, words, __LINE__);                                                    \
    } while (0)

static const float four[4] = { 1, 2, 3, 4 };
#define FOUR(name) spy_arg_f32n(name, four, 4)

// A scene of vs and fs with all that they take.
typedef struct scene {
    spy_tensor *position, *uv, *more;
    spy_texture *target;
    spy_raster *raster;
    spy_call_options options;
    spy_arg scale;
} scene;

static void open_scene(bench *t, scene *s, const char *fragment) {
    memset(s, 0, sizeof *s);
    s->position = tensor_of(t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(9, 3));
    s->uv = tensor_of(t, SPY_DTYPE_FLOAT32, "float2", SPY_SHAPE(9));
    s->more = tensor_of(t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(4));
    s->target = color_of(t);
    s->raster = made(t, "vs", fragment);
    s->scale = spy_arg_f32("g_scale", 2);
    s->options.globals.items = &s->scale;
    s->options.globals.count = 1;
}

static void close_scene(scene *s) {
    spy_release_tensor(s->position);
    spy_release_tensor(s->uv);
    spy_release_tensor(s->more);
    spy_release_texture(s->target);
    spy_release_raster(s->raster);
}

#define VERTICES(s) spy_arg_tensor("position", (s).position), spy_arg_tensor("uv", (s).uv), FOUR("shift")
#define ALL(s) SPY_ARGS(VERTICES(s), FOUR("tint"), spy_arg_tensor("more", (s).more))
#define PLAIN(s) SPY_ARGS(VERTICES(s))

static const spyi_null_op *last_op(bench *t) {
    size_t count = spyi_null_op_count(t->device->gpu);
    assert_true(count > 0);
    return spyi_null_get_op(t->device->gpu, count - 1);
}

// >>what is made

typedef struct seen {
    int count;
    spyi_raster_state state;
    spyi_parameter parameters[8];
    uint32_t parameter_count, block_size;
    uint32_t pushed[2]; // the first offset of each stage's push constants
    uint32_t bindings[2][8], binding_count[2];
} seen;

static spy_status look(const spyi_raster_desc *desc, void *user, spyi_text *error) {
    seen *s = (seen *)user;
    (void)error;
    s->count++;
    s->state = desc->state;
    s->parameter_count = desc->iface.parameter_count;
    s->block_size = desc->iface.block_size;
    for (uint32_t i = 0; i < s->parameter_count && i < 8; i++) s->parameters[i] = desc->iface.parameters[i];
    for (int k = 0; k < 2; k++) {
        const uint32_t *w = (const uint32_t *)desc->stages[k].code;
        size_t words = desc->stages[k].code_size / 4;
        uint32_t pointer = 0, type = 0;
        s->pushed[k] = UINT32_MAX;
        s->binding_count[k] = 0;
        if (!w) continue;
        assert_int_equal(w[0], 0x07230203u);
        for (size_t i = 5; i < words; i += w[i] >> 16)
            if ((w[i] & 0xffff) == 59 && w[i + 3] == 9) pointer = w[i + 1];
        for (size_t i = 5; i < words; i += w[i] >> 16)
            if ((w[i] & 0xffff) == 32 && w[i + 1] == pointer) type = w[i + 3];
        for (size_t i = 5; i < words; i += w[i] >> 16) {
            if ((w[i] & 0xffff) == 72 && w[i + 1] == type && w[i + 3] == 35 && w[i + 4] < s->pushed[k]) s->pushed[k] = w[i + 4];
            if ((w[i] & 0xffff) == 71 && w[i + 2] == 33) s->bindings[k][s->binding_count[k]++] = w[i + 3];
        }
    }
    return SPY_OK;
}

static void test_pipelines(void **state) {
    (void)state;
    bench t;
    scene s;
    seen saw;
    spyi_null_desc d = defaults();
    memset(&saw, 0, sizeof saw);
    d.on_raster = look;
    d.on_kernel_data = &saw;
    open_with(&t, &d, NULL);
    open_scene(&t, &s, "fs");
    spy_draw_desc draw = into(s.target);
    draw.targets[0].load = SPY_LOAD_CLEAR;
    good(&t, spy_draw(s.raster, &draw, ALL(s), &s.options));
    // One interface: the fragment stage's block behind the vertex stage's, then a buffer, then two uniform buffers.
    assert_int_equal(saw.count, 1);
    assert_int_equal(saw.block_size, 32);
    assert_int_equal(saw.pushed[0], 0);
    assert_int_equal(saw.pushed[1], 16);
    assert_int_equal(saw.parameter_count, 4);
    assert_int_equal(saw.parameters[0].kind, SPYI_PARAMETER_BUFFER);
    assert_int_equal(saw.parameters[0].stages, SPYI_STAGE_FRAGMENT);
    assert_int_equal(saw.parameters[1].kind, SPYI_PARAMETER_UNIFORM);
    assert_int_equal(saw.parameters[1].stages, SPYI_STAGE_VERTEX);
    assert_int_equal(saw.parameters[1].number, 1);
    assert_int_equal(saw.parameters[2].stages, SPYI_STAGE_FRAGMENT);
    assert_int_equal(saw.parameters[2].number, 2);
    assert_int_equal(saw.parameters[3].kind, SPYI_PARAMETER_VALUES);
    assert_int_equal(saw.parameters[3].stages, SPYI_STAGE_VERTEX | SPYI_STAGE_FRAGMENT);
    assert_int_equal(saw.binding_count[0], 1);
    assert_int_equal(saw.bindings[0][0], 1);
    assert_int_equal(saw.binding_count[1], 2);
    assert_int_equal(saw.bindings[1][0] + saw.bindings[1][1], 2); // 0 and 2, in any order
    // The state.
    assert_int_equal(saw.state.topology, SPY_TOPOLOGY_TRIANGLE_LIST);
    assert_int_equal(saw.state.target_count, 1);
    assert_int_equal(saw.state.target_formats[0], SPY_FORMAT_RGBA32_FLOAT);
    assert_int_equal(saw.state.attribute_count, 2);
    assert_int_equal(saw.state.attributes[0].location, 0);
    assert_int_equal(saw.state.attributes[0].format, SPY_FORMAT_RGB32_FLOAT);
    assert_int_equal(saw.state.attributes[1].location, 1);
    assert_int_equal(saw.state.attributes[1].format, SPY_FORMAT_RG32_FLOAT);
    assert_int_equal(saw.state.buffers[0].stride, 12);
    assert_int_equal(saw.state.buffers[1].stride, 8);
    assert_int_equal(saw.state.samples, 1);
    // The work.
    const spyi_null_op *op = last_op(&t);
    const spyi_draw_work *w = (const spyi_draw_work *)(const void *)op->work;
    assert_int_equal(op->kind, SPYI_NULL_DRAW);
    assert_string_equal(op->label, "vs and fs");
    assert_int_equal(w->count, 9);
    assert_int_equal(w->instance_count, 1);
    assert_int_equal(w->width, W);
    assert_int_equal(w->height, H);
    assert_true(w->targets[0].clear);
    assert_memory_equal(op->block, four, 16);
    assert_memory_equal((const char *)op->block + 16, four, 16);
    assert_int_equal(op->uniform_count, 2);
    assert_true(*(const float *)op->uniforms[0].data == 2 && *(const float *)op->uniforms[1].data == 2);
    // The same again: no further pipeline. Another format: one more, and the first one stays.
    good(&t, spy_draw(s.raster, &draw, ALL(s), &s.options));
    assert_int_equal(saw.count, 1);
    spy_texture *other = texture_of(&t, SPY_FORMAT_RGBA8_UNORM, W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET);
    spy_draw_desc second = into(other);
    good(&t, spy_draw(s.raster, &second, ALL(s), &s.options));
    good(&t, spy_draw(s.raster, &draw, ALL(s), &s.options));
    good(&t, spy_draw(s.raster, &second, ALL(s), &s.options));
    assert_int_equal(saw.count, 2);
    assert_int_equal(spyi_null_get_counts(t.device->gpu).kernels, 2);
    spy_release_texture(other);
    close_scene(&s);
    good(&t, spy_wait(t.device));
    assert_int_equal(spyi_null_get_counts(t.device->gpu).kernels, 0);
    close_bench(&t);
}

// >>uses

static void told(bench *t, const char *expected, int line) {
    spyi_text text = { NULL, 0, 0 };
    good(t, spy_wait(t->device));
    spyi_null_tell_work(t->device->gpu, &text);
    char plain[1024];
    size_t used = 0;
    for (const char *c = spyi_text_str(&text); *c && used + 1 < sizeof plain; c++) { // handles differ: left out
        if (strncmp(c, "texture ", 8) == 0) {
            memcpy(plain + used, "T", 1), used++;
            c += 8;
            while (*c >= '0' && *c <= '9') c++;
            c--;
            continue;
        }
        plain[used++] = *c;
    }
    plain[used] = 0;
    if (strcmp(plain, expected) != 0) fail_msg("line %d: expected\n%sgot\n%s", line, expected, plain);
    spyi_text_free(&text);
    spyi_null_clear_ops(t->device->gpu);
}
#define TOLD(t, expected) told(t, expected, __LINE__)

static void test_uses(void **state) {
    (void)state;
    bench t;
    scene s;
    open_plain(&t);
    open_scene(&t, &s, "fs_plain");
    spy_draw_desc draw = into(s.target);
    good(&t, spy_draw(s.raster, &draw, PLAIN(s), &s.options));
    TOLD(&t, "draw \"vs and fs_plain\", after T level 0 layers 0 to 0: nothing -> attachment\n");
    // Draws into the same targets order themselves.
    good(&t, spy_draw(s.raster, &draw, PLAIN(s), &s.options));
    good(&t, spy_draw(s.raster, &draw, PLAIN(s), &s.options));
    TOLD(&t, "draw \"vs and fs_plain\"\ndraw \"vs and fs_plain\"\n");
    // A call that writes the vertices comes after the draws, and the next draw after the call.
    spy_tensor *flat = spy_create_reshape(s.position, SPY_SHAPE(27));
    assert_non_null(flat);
    good(&t, spy_call(fn(&t, "f"), SPY_ARGS(spy_arg_tensor("x", flat), spy_arg_tensor("_result", flat))));
    good(&t, spy_draw(s.raster, &draw, PLAIN(s), &s.options));
    spyi_text text = { NULL, 0, 0 };
    good(&t, spy_wait(t.device));
    spyi_null_tell_work(t.device->gpu, &text);
    assert_non_null(strstr(spyi_text_str(&text), "groups, after a barrier"));
    assert_non_null(strstr(spyi_text_str(&text), "draw \"vs and fs_plain\", after a barrier"));
    spyi_text_free(&text);
    spyi_null_clear_ops(t.device->gpu);
    // A draw that samples the target of the draw before it.
    spy_texture *second = color_of(&t);
    spy_raster *image = made(&t, "vs", "fs_image");
    spy_draw_desc next = into(second);
    good(&t, spy_draw(image, &next, SPY_ARGS(VERTICES(s), spy_arg_texture("image", s.target)), &s.options));
    TOLD(&t, "draw \"vs and fs_image\", after T level 0 layers 0 to 0: nothing -> attachment, after T level 0 layers 0 to 0: "
             "attachment -> sampled\n");
    // The target itself cannot be sampled.
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT,
        spy_draw(image, &draw, SPY_ARGS(VERTICES(s), spy_arg_texture("image", s.target)), &s.options), "'image' lies in a texture that is a target");
    // Nor can vertices be written.
    spy_raster *write = made(&t, "vs", "fs_write");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(write, &draw, SPY_ARGS(VERTICES(s), spy_arg_tensor("to", flat)), &s.options),
        "write the memory of its own vertices");
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    spy_release_raster(image);
    spy_release_raster(write);
    spy_release_texture(second);
    spy_release_tensor(flat);
    close_scene(&s);
    close_bench(&t);
}

static void test_allocations(void **state) {
    (void)state;
    bench t;
    scene s;
    spyi_null_desc d = defaults();
    d.no_log = true;
    open_with(&t, &d, NULL);
    open_scene(&t, &s, "fs");
    spy_texture *other = color_of(&t);
    spy_draw_desc draw = into(s.target), second = into(other);
    for (int i = 0; i < 3; i++) {
        good(&t, spy_draw(s.raster, &draw, ALL(s), &s.options));
        good(&t, spy_draw(s.raster, &second, ALL(s), &s.options));
        (void)spy_flush(t.device);
    }
#if TEST_COUNTS_MALLOC
    size_t before = malloc_calls;
    spy_device_stats first = spy_get_device_stats(t.device);
    enum { TIMES = 100 };
    for (int i = 0; i < TIMES; i++) {
        good(&t, spy_draw(s.raster, i & 1 ? &second : &draw, ALL(s), &s.options));
        (void)spy_flush(t.device);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(malloc_calls - before, TIMES); // the null backend's log
    assert_int_equal(last.plans_built, first.plans_built);
    assert_int_equal(last.kernels_built, first.kernels_built);
#endif
    spy_release_texture(other);
    close_scene(&s);
    close_bench(&t);
}

// >>lifetimes

static void test_lifetimes(void **state) {
    (void)state;
    bench t;
    scene s;
    spyi_null_desc d = defaults();
    d.hold_submits = true;
    open_with(&t, &d, NULL);
    open_scene(&t, &s, "fs");
    spy_draw_desc draw = into(s.target);
    spy_command_list *list = spy_create_command_list(t.device, NULL);
    spy_call_options o = s.options;
    o.append_to = list;
    good(&t, spy_draw(s.raster, &draw, ALL(s), &o));
    good(&t, spy_list_finish(list));
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &draw, ALL(s), &o), "list");
    good(&t, spy_draw(s.raster, &draw, ALL(s), &s.options));
    (void)spy_flush(t.device);
    close_scene(&s); // the list still has the pipeline and the memory, and work is under way
    good(&t, spy_list_submit(list));
    (void)spy_flush(t.device);
    assert_int_equal(spyi_null_get_counts(t.device->gpu).kernels, 1);
    spy_release_command_list(list);
    (void)spy_flush(t.device);
    assert_int_equal(spyi_null_get_counts(t.device->gpu).kernels, 1); // until its work has finished
    good(&t, spy_wait(t.device));
    // A raster that nobody releases goes with the device.
    scene left;
    open_scene(&t, &left, "fs_plain");
    draw = into(left.target);
    good(&t, spy_draw(left.raster, &draw, PLAIN(left), &left.options));
    close_bench(&t);
}

// >>bad input

static void test_bad_descs(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, NULL, "expected a desc, got NULL");
    spy_raster_desc d = described(&t, "vs", "fs");
    d._end_canary = 1;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "was not zeroed");
    d = described(&t, "vs", "fs");
    d.vertex = NULL;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "desc.vertex: expected a function, got NULL");
    d = described(&t, "plain", "fs");
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "vertex: 'plain' is not a [shader(\"vertex\")] function");
    d = described(&t, "fs", "fs");
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "'fs' is not a [shader(\"vertex\")] function; it is a [shader(\"fragment\")] one");
    d = described(&t, "vs", "cs");
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "'cs' is not a [shader(\"fragment\")] function; it is a [shader(\"compute\")] one");
    d = described(&t, "vs", "fs_more");
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "'fs_more' takes 'color' (float3) at location 1, where the vertex function 'vs' writes nothing");
    d = described(&t, "vs", "fs_other");
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "'fs_other' takes 'uv' (int2) at location 0, where the vertex function 'vs' writes 'uv' (float2)");
    d = described(&t, "vs", "fs");
    d.topology = (spy_topology)77;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "desc.topology");
    d = described(&t, "vs", "fs");
    d.blends[1].color_op = (spy_blend_op)9;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "spy_blend_op");
    spy_vertex_attribute list[2] = { { "POSITION", 0, SPY_FORMAT_RGB32_FLOAT, 0, 0 }, { "texcoord", 1, SPY_FORMAT_RG32_FLOAT, 12, 0 } };
    spy_vertex_layout layout = { 20, 0 };
    d = described(&t, "vs", "fs_plain");
    d.attributes = list;
    d.attribute_count = 1;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "buffer is none of the layouts");
    d.layouts = &layout;
    d.layout_count = 1;
    BAD_DESC(&t, SPY_ERROR_INVALID_ARGUMENT, &d, "attribute 'uv' (TEXCOORD1, float2) of the vertex function 'vs' is missing in desc.attributes");
    d.attribute_count = 2;
    list[1].format = SPY_FORMAT_R32_FLOAT;
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "attribute 'uv' (TEXCOORD1, float2): desc.attributes gives it the format r32_float");
    list[1].format = SPY_FORMAT_RG32_UINT;
    BAD_DESC(&t, SPY_ERROR_TYPE_MISMATCH, &d, "the format rg32_uint");
    list[1].format = SPY_FORMAT_RGBA8_UNORM; // read as floats, with more channels than are taken
    spy_raster *r = raster_of(&t, &d);
    spy_texture *target = color_of(&t);
    spy_tensor *bytes = tensor_of(&t, SPY_DTYPE_UINT8, NULL, SPY_SHAPE(60));
    spy_arg scale = spy_arg_f32("g_scale", 1);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals.items = &scale;
    o.globals.count = 1;
    spy_draw_desc draw = into(target);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(r, &draw, SPY_ARGS(FOUR("shift")), &o), "draw.vertex_buffers[0].tensor: expected a tensor, got NULL");
    draw.vertex_buffers[0].tensor = bytes;
    draw.vertex_count = 4;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(r, &draw, SPY_ARGS(FOUR("shift")), &o), "vertices 0 to 3 are drawn, 'vertex_buffers[0]' has 3");
    draw.vertex_count = 0;
    good(&t, spy_draw(r, &draw, SPY_ARGS(FOUR("shift")), &o));
    assert_int_equal(((const spyi_draw_work *)(const void *)last_op(&t)->work)->count, 3);
    draw.vertex_buffers[0].offset_bytes = 61;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(r, &draw, SPY_ARGS(FOUR("shift")), &o), "offset_bytes lies beyond");
    spy_release_raster(r);
    assert_int_equal(spy_draw(NULL, &draw, SPY_ARGS(FOUR("shift")), &o), SPY_ERROR_INVALID_ARGUMENT);
    spy_release_texture(target);
    spy_release_tensor(bytes);
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    close_bench(&t);
}

static void test_bad_targets(void **state) {
    (void)state;
    bench t;
    scene s;
    open_plain(&t);
    open_scene(&t, &s, "fs_plain");
    spy_texture *plain = texture_of(&t, SPY_FORMAT_RGBA8_UNORM, W, 1, SPY_TEXTURE_USAGE_SAMPLED),
                *wide = texture_of(&t, SPY_FORMAT_RGBA8_UNORM, 2 * W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET),
                *many = texture_of(&t, SPY_FORMAT_RGBA32_FLOAT, W, 4, SPY_TEXTURE_USAGE_COLOR_TARGET),
                *depth = texture_of(&t, SPY_FORMAT_D32_FLOAT, W, 1, SPY_TEXTURE_USAGE_DEPTH_TARGET),
                *numbers = texture_of(&t, SPY_FORMAT_RG32_UINT, W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET);
    spy_draw_desc d = into(NULL);
#define DRAW() spy_draw(s.raster, &d, PLAIN(s), &s.options)
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "it has no target");
    d = into(plain);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "(rgba8_unorm, 64 x 32) was created without SPY_TEXTURE_USAGE_COLOR_TARGET");
    d = into(depth);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "has depth, not colours; it belongs to draw.depth");
    d = into(s.target);
    d.depth.texture = wide;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "has no depth");
    d = into(s.target);
    d.targets[1].texture = wide;
    BAD(&t, SPY_ERROR_SHAPE_MISMATCH, DRAW(), "draw.targets[1].texture: the texture (rgba8_unorm, 128 x 32) has 1 layers; the targets before it have 64 x 32");
    d.targets[1].texture = s.target;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "is a target of the same draw twice");
    d.targets[1].texture = many;
    BAD(&t, SPY_ERROR_SHAPE_MISMATCH, DRAW(), "has 4 samples; the targets before it have 1");
    d.targets[1].texture = numbers;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "the fragment function 'fs_plain' has no output SV_Target1");
    d = into(numbers);
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, DRAW(), "takes unsigned integers, and the fragment function 'fs_plain' returns float4");
    d = into(s.target);
    d.targets[0].resolve = wide;
    BAD(&t, SPY_ERROR_SHAPE_MISMATCH, DRAW(), "draw.targets[0].resolve");
    d = into(many);
    d.targets[0].resolve = s.target;
    good(&t, DRAW());
    d = into(s.target);
    d.targets[0].resolve = many;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "nothing to average");
    d = into(s.target);
    d.targets[0].load = (spy_load)7;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "spy_load");
    d = into(s.target);
    d.viewport.width = -1;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, DRAW(), "draw.viewport");
    d = into(s.target);
    d.scissor.width = d.scissor.height = 2;
    d.scissor.x = -1;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, DRAW(), "draw.scissor");
    d = into(s.target);
    d._end_canary = 3;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, DRAW(), "was not zeroed");
    d = into(s.target);
    spy_raster_desc rd = described(&t, "vs", "fs_plain");
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_raster *deep = raster_of(&t, &rd);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(deep, &d, PLAIN(s), &s.options), "draw.depth.texture is NULL, and the raster's depth_compare needs");
    d.depth.texture = depth;
    good(&t, spy_draw(deep, &d, PLAIN(s), &s.options));
    rd.stencil_enabled = true;
    spy_raster *marks = raster_of(&t, &rd);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(marks, &d, PLAIN(s), &s.options), "has no stencil, which the raster tests");
    // Depth alone needs no fragment function.
    rd = described(&t, "vs", NULL);
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_raster *shadow = raster_of(&t, &rd);
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(shadow, &d, PLAIN(s), &s.options), "the raster has no fragment function that writes it");
    d.targets[0].texture = NULL;
    good(&t, spy_draw(shadow, &d, PLAIN(s), &s.options));
    rd = described(&t, "vs", "fs_uint");
    rd.blends[0].enabled = true;
    spy_raster *mixed = raster_of(&t, &rd);
    d = into(numbers);
    BAD(&t, SPY_ERROR_UNSUPPORTED, spy_draw(mixed, &d, PLAIN(s), &s.options), "does not blend");
    spy_release_raster(deep);
    spy_release_raster(marks);
    spy_release_raster(shadow);
    spy_release_raster(mixed);
    spy_release_texture(plain);
    d = into(plain);
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    spy_release_texture(wide);
    spy_release_texture(many);
    spy_release_texture(depth);
    spy_release_texture(numbers);
    close_scene(&s);
    close_bench(&t);
}

static void test_bad_arguments(void **state) {
    (void)state;
    bench t;
    scene s;
    open_plain(&t);
    open_scene(&t, &s, "fs");
    spy_draw_desc d = into(s.target);
    spy_tensor *short_uv = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(5, 2)), *ints = tensor_of(&t, SPY_DTYPE_INT32, NULL, SPY_SHAPE(9, 2)),
               *doubles = tensor_of(&t, SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(9, 2)), *indices = tensor_of(&t, SPY_DTYPE_UINT32, NULL, SPY_SHAPE(6)),
               *none = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(0, 3)), *no_uv = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(0, 2));
    spy_call_options *o = &s.options;
#define FRAGMENT FOUR("tint"), spy_arg_tensor("more", s.more)
#define POSITION spy_arg_tensor("position", s.position)
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &d, SPY_ARGS(POSITION, FOUR("shift"), FRAGMENT), o),
        "attribute 'uv' (TEXCOORD1, float2) of the vertex function 'vs' is missing: give a tensor of this name");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_tensor("uv", ints), FOUR("shift"), FRAGMENT), o),
        "attribute 'uv' (TEXCOORD1, float2): expected a tensor of float2, one for each vertex or instance, got int tensor (9, 2)");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_tensor("uv", doubles), FOUR("shift"), FRAGMENT), o), "got double");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, SPY_ARGS(POSITION, FOUR("uv"), FOUR("shift"), FRAGMENT), o), "attribute 'uv': expected a tensor");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_tensor("uv", s.position), FOUR("shift"), FRAGMENT), o),
        "got float tensor (9, 3)");
    BAD(&t, SPY_ERROR_NOT_FOUND, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_f32("tynt", 1)), o),
        "'tynt' is neither a uniform parameter nor an attribute; there are 'shift' of vs, 'tint' of fs, 'more' of fs, attribute 'position'");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &d, SPY_ARGS(spy_arg_f32(NULL, 1)), o), "argument 1 has no name");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &d, SPY_ARGS(VERTICES(s), spy_arg_tensor("more", s.more)), o),
        "spy_draw: vs and fs: fs: the arguments do not fit:");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_tensor("uv", s.uv), spy_arg_tensor("shift", s.uv), FRAGMENT), o), "vs: ");
    // How much is drawn.
    d.vertex_count = 10;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(s.raster, &d, ALL(s), o), "vertices 0 to 9 are drawn, 'position' has 9");
    d.vertex_count = 6;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(s.raster, &d, SPY_ARGS(POSITION, spy_arg_tensor("uv", short_uv), FOUR("shift"), FRAGMENT), o),
        "vertices 0 to 5 are drawn, 'uv' has 5");
    d.vertex_count = 0;
    d.indices = indices;
    good(&t, spy_draw(s.raster, &d, ALL(s), o));
    assert_int_equal(((const spyi_draw_work *)(const void *)last_op(&t)->work)->count, 6);
    d.vertex_count = 7;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(s.raster, &d, ALL(s), o), "indices 0 to 6 are drawn, 'indices' has 6");
    d.vertex_count = 0;
    d.indices = s.uv;
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(s.raster, &d, ALL(s), o), "draw.indices: expected a tensor of uint32 or uint16, got float2");
    d.indices = indices;
    d.indices_offset_bytes = 2;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(s.raster, &d, ALL(s), o), "is no multiple of 4");
    d = into(s.target);
    d.indirect = indices;
    d.indirect_count = 2;
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, spy_draw(s.raster, &d, ALL(s), o), "draw.indirect: 2 draws need 32 bytes, it has 24");
    d.indirect_count = 1;
    good(&t, spy_draw(s.raster, &d, ALL(s), o));
    // Nothing is legal.
    d = into(s.target);
    good(&t, spy_draw(s.raster, &d, SPY_ARGS(spy_arg_tensor("position", none), spy_arg_tensor("uv", no_uv), FOUR("shift"), FRAGMENT), o));
    assert_int_equal(((const spyi_draw_work *)(const void *)last_op(&t)->work)->count, 0);
    d.first_vertex = 9;
    good(&t, spy_draw(s.raster, &d, ALL(s), o));
    d.first_vertex = 0;
    d.draw_nothing = true;
    good(&t, spy_draw(s.raster, &d, ALL(s), o));
    d.draw_nothing = false;
    spy_raster_desc rd = described(&t, "vs_id", NULL);
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_texture *depth = texture_of(&t, SPY_FORMAT_D32_FLOAT, W, 1, SPY_TEXTURE_USAGE_DEPTH_TARGET);
    spy_raster *pulled = raster_of(&t, &rd);
    d = into(NULL);
    d.depth.texture = depth;
    spy_args no_args = { NULL, 0 };
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(pulled, &d, no_args, NULL), "draw.vertex_count is 0, and there are neither attributes nor indices");
    d.vertex_count = 3;
    good(&t, spy_draw(pulled, &d, no_args, NULL));
    rd = described(&t, "vs_matrix", NULL);
    rd.depth_compare = SPY_COMPARE_LESS;
    spy_raster *matrix = raster_of(&t, &rd);
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(matrix, &d, SPY_ARGS(spy_arg_tensor("m", s.position)), NULL), "give a matrix by its rows");
    spy_raster *twice = made(&t, "vs_tint", "fs_tint");
    d = into(s.target);
    BAD(&t, SPY_ERROR_AMBIGUOUS, spy_draw(twice, &d, SPY_ARGS(spy_arg_tensor("tint", s.position)), NULL), "rename one");
    // Options.
    spy_call_options wrong = s.options;
    wrong.mode = SPY_CALL_MODE_BACKWARD;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &d, ALL(s), &wrong), "a draw computes no gradients");
    wrong = s.options;
    wrong.thread_group_size[0] = 8;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(s.raster, &d, ALL(s), &wrong), "are for calls");
    BAD(&t, SPY_ERROR_NOT_FOUND, spy_draw(s.raster, &d, ALL(s), NULL), "that are not given (options.globals): 'g_scale'");
    // A failed record leaves the draw undone, and the next one does it.
    spyi_null_fail(t.device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(spy_draw(s.raster, &d, ALL(s), o), SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    (void)spy_take_error(t.device);
    good(&t, spy_draw(s.raster, &d, ALL(s), o));
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    spy_release_raster(pulled);
    spy_release_raster(matrix);
    spy_release_raster(twice);
    spy_release_texture(depth);
    spy_release_tensor(short_uv);
    spy_release_tensor(ints);
    spy_release_tensor(doubles);
    spy_release_tensor(indices);
    spy_release_tensor(none);
    spy_release_tensor(no_uv);
    close_scene(&s);
    close_bench(&t);
}

// A reload: the next draw runs the new code, and the old pipeline goes.
static void test_reload(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    spy_module *module;
    spy_raster_desc rd = of_text(&t, "changing",
                                 "[shader(\"vertex\")] float4 v(uint i : SV_VertexID, uniform float a) : SV_Position { return a; }\n"
                                 "[shader(\"fragment\")] float4 f(uniform float4 b) : SV_Target { return b; }\n",
                                 &module);
    spy_raster *r = raster_of(&t, &rd);
    spy_texture *target = color_of(&t);
    spy_draw_desc d = into(target);
    d.vertex_count = 3;
    good(&t, spy_draw(r, &d, SPY_ARGS(spy_arg_f32("a", 1), FOUR("b")), NULL));
    good(&t, spy_reload_module(module, "[shader(\"vertex\")] float4 v(float3 at, uniform float2 a) : SV_Position { return at.xyzz + a.xyxy; }\n"
                                              "[shader(\"fragment\")] float4 f(uniform float4 b) : SV_Target { return b; }\n"));
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(r, &d, SPY_ARGS(spy_arg_f32n("a", four, 2), FOUR("b")), NULL), "attribute 'at' (float3)");
    spy_tensor *at = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3, 3));
    good(&t, spy_draw(r, &d, SPY_ARGS(spy_arg_tensor("at", at), spy_arg_f32n("a", four, 2), FOUR("b")), NULL));
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    spy_release_tensor(at);
    spy_release_texture(target);
    spy_release_raster(r);
    spy_release_module(module);
    close_bench(&t);
}

// Draws that repeat the kinds of arguments of the one before take a short way: other values, tensors and textures arrive, and other
// kinds, wrong ones too, are what they are the long way.
static void test_repeats(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    spy_module *module;
    spy_raster_desc rd = of_text(&t, "repeats",
                                 "[shader(\"vertex\")] float4 v(float2 at, uniform float a) : SV_Position { return at.xyxy + a; }\n"
                                 "[shader(\"fragment\")] float4 f(uniform float4 b, uniform StructuredBuffer<float> more, uniform Texture2D<float4> image) : SV_Target {\n"
                                 "    return b * more[0] + image[int2(0, 0)];\n"
                                 "}\n",
                                 &module);
    spy_raster *r = raster_of(&t, &rd);
    spy_texture *target = color_of(&t), *image[2];
    spy_tensor *at = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3, 2)), *more[2], *ints = tensor_of(&t, SPY_DTYPE_INT32, NULL, SPY_SHAPE(4));
    for (int i = 0; i < 2; i++) {
        image[i] = color_of(&t);
        more[i] = tensor_of(&t, SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(4));
    }
    spy_texture *whole = texture_of(&t, SPY_FORMAT_R32_UINT, W, 1, SPY_TEXTURE_USAGE_SAMPLED);
    spy_draw_desc d = into(target);
    uint64_t handles[2] = { 0, 0 };
    spy_device_stats first;
    memset(&first, 0, sizeof first);
    for (int i = 0; i < 12; i++) {
        const float b[4] = { (float)i, 2, 3, (float)-i };
        if (i == 4) first = spy_get_device_stats(t.device);
        good(&t, spy_draw(r, &d, SPY_ARGS(spy_arg_tensor("at", at), spy_arg_f32("a", (float)i), spy_arg_f32n("b", b, 4), spy_arg_tensor("more", more[i & 1]),
                                          spy_arg_texture("image", image[i >> 1 & 1])), NULL));
        const spyi_null_op *op = last_op(&t);
        float a;
        memcpy(&a, op->block, sizeof a);
        assert_true(a == (float)i);
        assert_memory_equal((const char *)op->block + 16, b, 16);
        assert_int_equal(op->binding_count, 2);
        uint64_t buffer = op->bindings[0].kind == SPYI_BINDING_BUFFER ? op->bindings[0].offset : op->bindings[1].offset;
        if (i < 2) handles[i] = buffer;
        assert_true(buffer == handles[i & 1]);
        assert_true(handles[0] != handles[1]);
    }
    spy_device_stats last = spy_get_device_stats(t.device);
    assert_int_equal(last.plan_hits, first.plan_hits); // no plan was looked for
#define REPEAT(a, more, image) spy_draw(r, &d, SPY_ARGS(spy_arg_tensor("at", at), a, FOUR("b"), spy_arg_tensor("more", more), spy_arg_texture("image", image)), NULL)
    BAD(&t, SPY_ERROR_SHAPE_MISMATCH, REPEAT(FOUR("a"), more[0], image[0]), "v: ");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, REPEAT(spy_arg_f32("a", 1), ints, image[0]), "f: ");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, REPEAT(spy_arg_f32("a", 1), more[0], whole), "f: ");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, REPEAT(spy_arg_f32("a", 1), more[0], target), "'image' lies in a texture that is a target");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, REPEAT(spy_arg_f32("a", 1), NULL, image[0]), "'more'");
    good(&t, REPEAT(spy_arg_i32("a", 1), more[0], image[0])); // an int, which is another plan
    good(&t, REPEAT(spy_arg_f32("a", 1), more[0], image[0]));
    good(&t, REPEAT(spy_arg_f64("a", 1), more[0], image[0]));
    good(&t, spy_draw(r, &d, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("at", at), FOUR("b"), spy_arg_tensor("more", more[0]), spy_arg_texture("image", image[0])), NULL));
    good(&t, REPEAT(spy_arg_f32("a", 1), more[0], image[0]));
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    for (int i = 0; i < 2; i++) {
        spy_release_texture(image[i]);
        spy_release_tensor(more[i]);
    }
    spy_release_texture(whole);
    spy_release_texture(target);
    spy_release_tensor(at);
    spy_release_tensor(ints);
    spy_release_raster(r);
    spy_release_module(module);
    close_bench(&t);
}

// Stages whose arguments are plain bytes copy them into the block without describing them; what does not repeat them is what it
// is the long way. So it is with targets of a form that has passed the checks.
static void test_plain_stages(void **state) {
    (void)state;
    bench t;
    open_plain(&t);
    spy_module *module;
    spy_raster_desc rd = of_text(&t, "plain_stages",
                                 "struct Block { float2 scale; float depth; }\n"
                                 "[shader(\"vertex\")] float4 v(uint id : SV_VertexID, uniform Block block, uniform uint n) : SV_Position {\n"
                                 "    return float4(block.scale * id, block.depth, n);\n"
                                 "}\n"
                                 "[shader(\"fragment\")] float4 f(uniform float4 tint) : SV_Target { return tint; }\n",
                                 &module);
    spy_raster *r = raster_of(&t, &rd);
    spy_texture *target[2] = { color_of(&t), color_of(&t) },
                *whole = texture_of(&t, SPY_FORMAT_RGBA32_UINT, W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET),
                *unfit = texture_of(&t, SPY_FORMAT_RGBA32_FLOAT, W, 1, SPY_TEXTURE_USAGE_SAMPLED);
    spy_draw_desc d = into(target[0]);
    float block[3] = { 1, 2, 3 }, tint[4] = { 5, 6, 7, 8 };
    const int32_t numbers[4] = { 1, 2, 3, 4 };
    d.vertex_count = 3;
#define PLAIN_DRAW(n, tint) spy_draw(r, &d, SPY_ARGS(spy_arg_data("block", block, sizeof block), n, tint), NULL)
#define INT(n) spy_arg_i32("n", n)
#define TINT spy_arg_f32n("tint", tint, 4)
    for (int i = 0; i < 6; i++) {
        const float expected[4] = { block[0] = (float)i, 2, 3, 0 };
        uint32_t n;
        tint[3] = (float)-i;
        d.targets[0].texture = target[i & 1];
        good(&t, PLAIN_DRAW(INT(7 + i), TINT));
        const spyi_null_op *op = last_op(&t);
        assert_memory_equal(op->block, expected, 12);
        memcpy(&n, (const char *)op->block + 12, 4);
        assert_int_equal(n, 7 + i);
        assert_memory_equal((const char *)op->block + 16, tint, 16);
        assert_true(r->again[0].plan && r->again[0].flat && r->again[1].plan && r->again[1].flat);
    }
    BAD(&t, SPY_ERROR_OUT_OF_RANGE, PLAIN_DRAW(INT(-1), TINT), "'n'");
    good(&t, PLAIN_DRAW(INT(1), TINT));
    BAD(&t, SPY_ERROR_SHAPE_MISMATCH, PLAIN_DRAW(INT(1), spy_arg_f32n("tint", tint, 3)), "f: 'tint'");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, PLAIN_DRAW(INT(1), spy_arg_f32n("tint", NULL, 4)), "expected a host array, got NULL");
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, spy_draw(r, &d, SPY_ARGS(spy_arg_data("block", NULL, sizeof block), INT(1), TINT), NULL),
        "expected host data, got NULL");
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, spy_draw(r, &d, SPY_ARGS(spy_arg_data("block", block, 8), INT(1), TINT), NULL), "'block'");
    good(&t, PLAIN_DRAW(spy_arg_u32("n", 9), spy_arg_i32n("tint", numbers, 4))); // other types, which are converted
    tint[0] = 1, tint[1] = 2, tint[2] = 3, tint[3] = 4;
    assert_memory_equal((const char *)last_op(&t)->block + 16, tint, 16);
    good(&t, PLAIN_DRAW(INT(1), TINT));

    d.targets[0].texture = whole;
    BAD(&t, SPY_ERROR_TYPE_MISMATCH, PLAIN_DRAW(INT(1), TINT), "takes unsigned integers");
    d.targets[0].texture = unfit;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, PLAIN_DRAW(INT(1), TINT), "created without SPY_TEXTURE_USAGE_COLOR_TARGET");
    d.targets[0].texture = target[0];
    d.targets[1].texture = target[1]; // SV_Target1 is missing, though the texture is of a form that was checked
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, PLAIN_DRAW(INT(1), TINT), "has no output SV_Target1");
    d.draw_nothing = true;
    good(&t, PLAIN_DRAW(INT(1), TINT)); // both are only cleared, ...
    d.draw_nothing = false;
    BAD(&t, SPY_ERROR_INVALID_ARGUMENT, PLAIN_DRAW(INT(1), TINT), "has no output SV_Target1"); // ... which passes no check
    d.targets[1].texture = NULL;
    good(&t, PLAIN_DRAW(INT(1), TINT));
    good(&t, spy_wait(t.device));
    spyi_null_clear_ops(t.device->gpu);
    for (int i = 0; i < 2; i++) spy_release_texture(target[i]);
    spy_release_texture(whole);
    spy_release_texture(unfit);
    spy_release_raster(r);
    spy_release_module(module);
    close_bench(&t);
}

// Several threads draw with one raster: pipelines are made outside of the device, and each draw has its own arguments.
typedef struct drawer {
    bench *t;
    spy_raster *raster;
    spy_format format;
    int wrong;
} drawer;

static void *draw_often(void *user) {
    drawer *w = (drawer *)user;
    spy_texture *target = texture_of(w->t, w->format, W, 1, SPY_TEXTURE_USAGE_COLOR_TARGET);
    spy_draw_desc d = into(target);
    for (uint32_t i = 0; i < 50; i++) {
        d.vertex_count = i % 3 + 1;
        w->wrong += spy_draw(w->raster, &d, SPY_ARGS(spy_arg_f32("a", (float)i), FOUR("b")), NULL) != SPY_OK;
    }
    spy_release_texture(target);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    static const spy_format formats[4] = { SPY_FORMAT_RGBA8_UNORM, SPY_FORMAT_RGBA32_FLOAT, SPY_FORMAT_RGBA16_FLOAT, SPY_FORMAT_RGBA8_UNORM };
    bench t;
    open_plain(&t);
    spy_module *module;
    spy_raster_desc rd = of_text(&t, "threads",
                                 "[shader(\"vertex\")] float4 v(uint i : SV_VertexID, uniform float a) : SV_Position { return a; }\n"
                                 "[shader(\"fragment\")] float4 f(uniform float4 b) : SV_Target { return b; }\n",
                                 &module);
    drawer w[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        w[i].t = &t;
        w[i].raster = i ? w[0].raster : raster_of(&t, &rd);
        w[i].format = formats[i];
        w[i].wrong = 0;
    }
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, draw_often, &w[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) assert_int_equal(w[i].wrong, 0);
    good(&t, spy_wait(t.device));
    size_t draws = 0;
    for (size_t i = 0; i < spyi_null_op_count(t.device->gpu); i++) {
        const spyi_null_op *op = spyi_null_get_op(t.device->gpu, i);
        const spyi_draw_work *d = (const spyi_draw_work *)(const void *)op->work;
        float a;
        if (op->kind != SPYI_NULL_DRAW) continue;
        memcpy(&a, op->block, sizeof a);
        assert_int_equal(d->count, (uint32_t)a % 3 + 1); // both are of one draw
        assert_memory_equal((const char *)op->block + 16, four, 16);
        draws++;
    }
    assert_int_equal(draws, 200);
    spyi_null_clear_ops(t.device->gpu);
    spy_release_raster(w[0].raster);
    spy_release_module(module);
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipelines), cmocka_unit_test(test_uses),        cmocka_unit_test(test_allocations),   cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_bad_descs), cmocka_unit_test(test_bad_targets), cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_reload),
        cmocka_unit_test(test_repeats), cmocka_unit_test(test_plain_stages),   cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("raster", tests, hold_slang, let_slang_go);
}
