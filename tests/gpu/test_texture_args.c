// Textures and samplers as arguments: whole, run over by texel, as fields, globals and arrays, in shaders, lists and
// backward calls. Values are compared with plain C, samples with a reference here. Every dumped SPIR-V goes through
// SPIRV_VAL at the end.
#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;

static uint64_t random_state = 1;

static uint32_t random_bits(void) { // splitmix64
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 16);
}

static float random_unit(void) { return (float)(random_bits() % 4097) / 4096; }

static spy_module *module;

static const char source[] =
    "struct Material { Texture2D<float4> color; SamplerState how; float4 tint; }\n"
    "struct Plain { float4 add; float scale; Texture2D<float4> image; RWTexture2D<float4> target; }\n"
    "Texture2D<float4> g_image;\n"
    "SamplerState g_how;\n"
    "RWTexture2D<float4> g_target;\n"
    "Texture2D<float4> g_many[3];\n"
    "ParameterBlock<Material> g_block;\n"
    "ConstantBuffer<Material> g_buffer;\n"
    "float4 at(Texture2D<float4> t, int2 p) { return t[p]; }\n"
    "float4 at_3d(Texture3D<float4> t, int3 p) { return t[p]; }\n"
    "float4 at_array(Texture2DArray<float4> t, int3 p) { return t[p]; }\n"
    "float2 at_1d_array(Texture1DArray<float2> t, int2 p) { return t[p]; }\n"
    "uint4 at_uint(Texture2D<uint4> t, int2 p) { return t[p]; }\n"
    "float4 face(TextureCube<float4> t, SamplerState s, float3 d) { return t.SampleLevel(s, d, 0); }\n"
    "float4 sample(Texture2D<float4> t, SamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }\n"
    "float4 combined(Sampler2D<float4> t, float2 uv) { return t.SampleLevel(uv, 0); }\n"
    "float shadow(Texture2D<float> t, SamplerComparisonState s, float2 uv, float d) { return t.SampleCmpLevelZero(s, uv, d); }\n"
    "void put(RWTexture2D<float4> t, int2 p, float4 v) { t[p] = v; }\n"
    "void put_only(WTexture2D<float4> t, int2 p, float4 v) { t.Store(p, v); }\n"
    "void put_3d(RWTexture3D<float4> t, int3 p, float4 v) { t[p] = v; }\n"
    "void put_array(RWTexture2DArray<float4> t, int3 p, float4 v) { t[p] = v; }\n"
    "void brighten(RWTexture2D<float4> t, int2 p, float by) { t[p] = t[p] * by; }\n"
    "void copy(Texture2D<float4> from, RWTexture2D<float4> to, int2 p) { to[p] = from[p]; }\n"
    "void convert(RWTexture2D<float4> from, RWTexture2D<float4> to, int2 p) { to[p] = from[p]; }\n"
    "uint2 size(Texture2D<float4> t) { uint w, h; t.GetDimensions(w, h); return uint2(w, h); }\n"
    "void count(RWTexture2D<uint> t, int2 p, uint by) { InterlockedAdd(t[p], by); }\n"
    "float4 twice(float4 x) { return 2 * x; }\n"
    "float twice1(float x) { return 2 * x; }\n"
    "float4 where2(int2 id) { return float4(id, 0, 1); }\n"
    "float4 where3(int3 id) { return float4(id, 1); }\n"
    "float4 add(float4 a, float4 b) { return a + b; }\n"
    "float4 add3(float4 a, float4 b, float c) { return a + b + c; }\n"
    "void invert(inout float4 x) { x = 1 - x; }\n"
    "void split(float4 x, out float4 low, out float4 high) { low = min(x, 0.5); high = max(x, 0.5); }\n"
    "T generic<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> a, vector<T, N> b) { return dot(a, b); }\n"
    "T first<T : ITexelElement>(Texture2D<T> t) { return t[int2(0, 0)]; }\n"
    "float4 shade(Material m, float2 uv) { return m.tint * m.color.SampleLevel(m.how, uv, 0); }\n"
    "void plain(Plain p, int2 i) { p.target[i] = p.image[i] * p.scale + p.add; }\n"
    "float4 shade_buffer(ConstantBuffer<Material> m, float2 uv) { return m.tint * m.color.SampleLevel(m.how, uv, 0); }\n"
    "struct Set { Texture2D<float4> pair[2]; SamplerState how; float k; float4 sum(int2 p) { return k * (pair[0][p] + pair[1][p]); } }\n"
    "ParameterBlock<Set> g_set;\n"
    "float4 summed(Set s, int2 p) { return s.sum(p); }\n"
    "float4 held_sum(ConstantBuffer<Set> s, int2 p) { return s.sum(p); }\n"
    "float4 global_sum(int2 p) { return g_set.sum(p); }\n"
    "float4 pick(Texture2D<float4> many[3], int i, int2 p) { return many[i][p]; }\n"
    "float4 picked(Texture2D<float4> many[3], int2 p) { return many[0][p] + 2 * many[2][p]; }\n"
    "float4 global_picked(int2 p) { return g_many[0][p] + 2 * g_many[1][p]; }\n"
    "float4 global(int2 p) { return g_image[p]; }\n"
    "float4 global_sample(float2 uv) { return g_image.SampleLevel(g_how, uv, 0); }\n"
    "void global_put(int2 p, float4 v) { g_target[p] = v; }\n"
    "float4 global_pick(int i, int2 p) { return g_many[i][p]; }\n"
    "float4 global_block(float2 uv) { return g_block.tint * g_block.color.SampleLevel(g_block.how, uv, 0); }\n"
    "float4 global_buffer(float2 uv) { return g_buffer.tint * g_buffer.color.SampleLevel(g_buffer.how, uv, 0); }\n"
    "[shader(\"compute\")] [numthreads(8, 8, 1)]\n"
    "void blur(uint3 t : SV_DispatchThreadID, uniform Texture2D<float4> from, uniform SamplerState how,\n"
    "          uniform RWTexture2D<float4> to, uniform float k) {\n"
    "    uint w, h; to.GetDimensions(w, h);\n"
    "    if (t.x < w && t.y < h) to[t.xy] = k * from.SampleLevel(how, (float2(t.xy) + 0.5) / float2(w, h), 0) + g_image[t.xy];\n"
    "}\n"
    "[Differentiable] float weigh(float w, no_diff Texture2D<float4> t, no_diff int2 p) { return w * (no_diff t[p]).x; }\n"
    "[Differentiable] float scale(float w, float x) { return w * w * x; }\n"
    "float from_buffer(StructuredBuffer<float4> b, int i) { return b[i].x; }\n";

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static spy_tensor *floats(spy_shape shape, const float *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, shape, data));
}

static spy_texture *texture(spy_texture_type type, spy_format format, uint32_t w, uint32_t h, uint32_t d, uint32_t layers,
                            const void *data) {
    spy_texture_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.type = type;
    desc.format = format;
    desc.width = w;
    desc.height = h;
    desc.depth = d;
    desc.array_size = layers;
    desc.data = data;
    return MADE(spy_texture, spy_create_texture(gpu_device, &desc));
}

static spy_texture *image(uint32_t w, uint32_t h, const float *data) {
    return texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA32_FLOAT, w, h, 0, 0, data);
}

static float *noise(size_t count) {
    float *data = (float *)malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) data[i] = random_unit();
    return data;
}

static void same(const float *got, const float *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (got[i] == expected[i]) continue;
        print_error("number %zu is %g, expected %g\n", i, (double)got[i], (double)expected[i]);
        fail();
        return; // where failed checks pass (tests/cuda/compile_only.c)
    }
}

static void texture_is(spy_texture *t, const float *expected, size_t count) {
    float *got = (float *)malloc(count * sizeof *got);
    OK(spy_texture_read(t, NULL, got, count * sizeof *got));
    same(got, expected, count);
    free(got);
}

static void tensor_is(spy_tensor *t, const float *expected, size_t count) {
    float *got = (float *)malloc(count * sizeof *got);
    OK(spy_tensor_read(t, got, count * sizeof *got));
    same(got, expected, count);
    free(got);
}

static void need_textures(void) {
    if (!gpu_device) skip();
    if (!gpu_is_cuda() || getenv("SPY_TEST_CUDA_TEXTURES")) return;
    print_message("skipped: textures on CUDA have not been run on a GPU yet; SPY_TEST_CUDA_TEXTURES=1 runs this\n");
    skip();
}

#define TEXTURES()                                                                                            \
    do {                                                                                                      \
        (void)state;                                                                                          \
        need_textures();                                                                                      \
    } while (0)

// Skips the test on a CUDA device, with the reason.
static void needs_vulkan(const char *why) {
    if (!gpu_is_cuda()) return;
    print_message("not on CUDA: %s\n", why);
    skip();
}

enum { W = 37, H = 23, N = W * H };

// A grid of all texels, (h, w, 2): x is the column.
static spy_tensor *all_texels(void) {
    int32_t *p = (int32_t *)malloc(N * 2 * sizeof *p);
    for (int i = 0; i < N; i++) p[2 * i] = i % W, p[2 * i + 1] = i / W;
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(H, W, 2), p));
    free(p);
    return t;
}

// >>whole

static void test_whole(void **state) {
    TEXTURES();
    float *data = noise(N * 4), *more = noise(N * 4);
    spy_texture *t = image(W, H, data);
    spy_tensor *p = all_texels(), *out = floats(SPY_SHAPE(H, W, 4), NULL);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, data, N * 4);
    spy_tensor *values = floats(SPY_SHAPE(H, W, 4), more);
    OK(spy_call(fn("put"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("v", values))));
    texture_is(t, more, N * 4);
    // Without a barrier between them the read would not see the stores, nor the stores the read.
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, more, N * 4);
    OK(spy_call(fn("brighten"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_f32("by", 2))));
    for (int i = 0; i < N * 4; i++) more[i] *= 2;
    texture_is(t, more, N * 4);
    spy_texture *other = image(W, H, NULL);
    OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", t), spy_arg_texture("to", other), spy_arg_tensor("p", p))));
    texture_is(other, more, N * 4);
    spy_result result;
    memset(&result, 0, sizeof result);
    OK(spy_call(fn("size"), SPY_ARGS(spy_arg_texture("t", t), spy_out_result("_result", &result))));
    assert_int_equal(((const uint32_t *)(const void *)result.data)[0], W);
    assert_int_equal(((const uint32_t *)(const void *)result.data)[1], H);
    // Another texture of the same sort runs the same kernel.
    spy_device_stats before = spy_get_device_stats(gpu_device);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", other), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, more, N * 4);
    assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, before.kernels_built);
    spy_release_texture(other);
    spy_release_texture(t);
    spy_release_tensor(p);
    spy_release_tensor(values);
    spy_release_tensor(out);
    free(data);
    free(more);
}

// Writes, reads and writes again, many times in a row without waits.
static void test_hazards(void **state) {
    TEXTURES();
    float *data = noise(N * 4);
    spy_texture *a = image(W, H, data), *b = image(W, H, NULL);
    spy_tensor *p = all_texels();
    for (int i = 0; i < 10; i++) {
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", a), spy_arg_texture("to", b), spy_arg_tensor("p", p))));
        OK(spy_call(fn("brighten"), SPY_ARGS(spy_arg_texture("t", b), spy_arg_tensor("p", p), spy_arg_f32("by", 0.5f))));
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", b), spy_arg_texture("to", a), spy_arg_tensor("p", p))));
        OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", a), spy_arg_texture("_result", b))));
        OK(spy_call(fn("invert"), SPY_ARGS(spy_arg_texture("x", b))));
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", b), spy_arg_texture("to", a), spy_arg_tensor("p", p))));
        for (int k = 0; k < N * 4; k++) data[k] = 1 - 2 * (data[k] * 0.5f);
    }
    texture_is(a, data, N * 4);
    spy_release_texture(a);
    spy_release_texture(b);
    spy_release_tensor(p);
    free(data);
}

static void test_dimensions(void **state) {
    TEXTURES();
    enum { D = 5 };
    float *data = noise(N * D * 4), *got = (float *)malloc(N * D * 4 * sizeof *got);
    int32_t *points = (int32_t *)malloc(N * D * 3 * sizeof *points);
    for (int i = 0; i < N * D; i++) points[3 * i] = i % W, points[3 * i + 1] = i / W % H, points[3 * i + 2] = i / N;
    spy_tensor *p = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(D, H, W, 3), points));
    spy_tensor *out = floats(SPY_SHAPE(D, H, W, 4), NULL), *values = floats(SPY_SHAPE(D, H, W, 4), data);
    spy_texture *solid = texture(SPY_TEXTURE_TYPE_3D, SPY_FORMAT_RGBA32_FLOAT, W, H, D, 0, NULL);
    spy_texture *layers = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA32_FLOAT, W, H, 0, D, NULL);
    OK(spy_call(fn("put_3d"), SPY_ARGS(spy_arg_texture("t", solid), spy_arg_tensor("p", p), spy_arg_tensor("v", values))));
    OK(spy_call(fn("put_array"), SPY_ARGS(spy_arg_texture("t", layers), spy_arg_tensor("p", p), spy_arg_tensor("v", values))));
    texture_is(solid, data, N * D * 4);
    texture_is(layers, data, N * D * 4);
    OK(spy_call(fn("at_3d"), SPY_ARGS(spy_arg_texture("t", solid), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, data, N * D * 4);
    OK(spy_call(fn("at_array"), SPY_ARGS(spy_arg_texture("t", layers), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, data, N * D * 4);
    // Run over: 3-D and arrays have depth or layer first.
    for (int i = 0; i < N * D * 4; i++) got[i] = 2 * data[i];
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", solid), spy_arg_tensor("_result", out))));
    tensor_is(out, got, N * D * 4);
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", solid), spy_arg_texture("_result", layers))));
    texture_is(layers, got, N * D * 4);
    OK(spy_call(fn("where3"), SPY_ARGS(spy_arg_call_id("id"), spy_arg_texture("_result", solid))));
    for (int i = 0; i < N * D; i++)
        for (int c = 0; c < 4; c++) got[4 * i + c] = c < 3 ? (float)points[3 * i + c] : 1;
    texture_is(solid, got, N * D * 4);
    // One dimension, and arrays of it; one and two channels.
    spy_texture *line = texture(SPY_TEXTURE_TYPE_1D, SPY_FORMAT_R32_FLOAT, N, 0, 0, 0, data);
    spy_tensor *line_out = floats(SPY_SHAPE(N), NULL);
    for (int i = 0; i < N; i++) got[i] = 2 * data[i];
    OK(spy_call(fn("twice1"), SPY_ARGS(spy_arg_texture("x", line), spy_arg_tensor("_result", line_out))));
    tensor_is(line_out, got, N);
    OK(spy_call(fn("twice1"), SPY_ARGS(spy_arg_texture("x", line), spy_arg_texture("_result", line))));
    texture_is(line, got, N);
    spy_texture *lines = texture(SPY_TEXTURE_TYPE_1D, SPY_FORMAT_RG32_FLOAT, W, 0, 0, H, data);
    spy_tensor *flat = all_texels(), *lines_out = floats(SPY_SHAPE(H, W, 2), NULL);
    OK(spy_call(fn("at_1d_array"), SPY_ARGS(spy_arg_texture("t", lines), spy_arg_tensor("p", flat), spy_arg_tensor("_result", lines_out))));
    tensor_is(lines_out, data, N * 2);
    spy_release_texture(solid);
    spy_release_texture(layers);
    spy_release_texture(line);
    spy_release_texture(lines);
    spy_release_tensor(p);
    spy_release_tensor(flat);
    spy_release_tensor(out);
    spy_release_tensor(values);
    spy_release_tensor(line_out);
    spy_release_tensor(lines_out);
    free(data);
    free(got);
    free(points);
}

// >>by texel

static void test_texels(void **state) {
    TEXTURES();
    float *data = noise(N * 4), *other = noise(N * 4), *expected = (float *)malloc(N * 4 * sizeof *expected);
    spy_texture *t = image(W, H, data), *u = image(W, H, other), *to = image(W, H, NULL), *to2 = image(W, H, NULL);
    spy_tensor *tensor = floats(SPY_SHAPE(H, W, 4), other), *made = NULL;
    // Texture and tensor to a texture, to a tensor, to a new tensor.
    for (int i = 0; i < N * 4; i++) expected[i] = data[i] + other[i];
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", tensor), spy_arg_texture("_result", to))));
    texture_is(to, expected, N * 4);
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_texture("b", u), spy_arg_tensor("_result", tensor))));
    tensor_is(tensor, expected, N * 4);
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_texture("b", u), spy_out_tensor("_result", &made))));
    tensor_is(made, expected, N * 4);
    // Read, changed and written in place, as one argument and as two.
    OK(spy_call(fn("invert"), SPY_ARGS(spy_arg_texture("x", t))));
    for (int i = 0; i < N * 4; i++) data[i] = 1 - data[i];
    texture_is(t, data, N * 4);
    OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", t))));
    for (int i = 0; i < N * 4; i++) data[i] = 2 * data[i];
    texture_is(t, data, N * 4);
    // Several outputs; and x is the column.
    float *low = (float *)malloc(N * 4 * sizeof *low);
    for (int i = 0; i < N * 4; i++) low[i] = fminf(data[i], 0.5f), expected[i] = fmaxf(data[i], 0.5f);
    OK(spy_call(fn("split"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("low", to), spy_arg_texture("high", to2))));
    texture_is(to, low, N * 4);
    texture_is(to2, expected, N * 4);
    OK(spy_call(fn("where2"), SPY_ARGS(spy_arg_call_id("id"), spy_arg_texture("_result", to))));
    for (int i = 0; i < N; i++) {
        expected[4 * i] = (float)(i % W), expected[4 * i + 1] = (float)(i / W);
        expected[4 * i + 2] = 0, expected[4 * i + 3] = 1;
    }
    texture_is(to, expected, N * 4);
    // A row and a column are repeated, numbers and texels mix.
    spy_texture *row = image(W, 1, other), *column = image(1, H, other);
    for (int i = 0; i < N * 4; i++) expected[i] = other[i % (W * 4)] + other[i / (W * 4) * 4 + i % 4] + 3;
    OK(spy_call(fn("add3"), SPY_ARGS(spy_arg_texture("a", row), spy_arg_texture("b", column), spy_arg_f32("c", 3), spy_arg_texture("_result", to))));
    texture_is(to, expected, N * 4);
    // A mapping turns a texture round.
    spy_texture *turned = image(H, W, NULL);
    for (int i = 0; i < N * 4; i++) expected[i] = 2 * data[((i / 4 % H) * W + i / 4 / H) * 4 + i % 4];
    OK(spy_call(fn("twice"), SPY_ARGS(spy_vmap(spy_arg_texture("x", t), SPY_DIMS(1, 0)), spy_arg_texture("_result", turned))));
    texture_is(turned, expected, N * 4);
    // Slang deduces generic arguments from texels, or from the texture.
    spy_tensor *dots = floats(SPY_SHAPE(H, W), NULL);
    OK(spy_call(fn("generic"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", made), spy_arg_tensor("_result", dots))));
    float first[4];
    OK(spy_call(fn("first"), SPY_ARGS(spy_arg_texture("t", t), spy_out_data("_result", first, sizeof first))));
    same(first, data, 4);
    spy_release_texture(t);
    spy_release_texture(u);
    spy_release_texture(to);
    spy_release_texture(to2);
    spy_release_texture(row);
    spy_release_texture(column);
    spy_release_texture(turned);
    spy_release_tensor(tensor);
    spy_release_tensor(made);
    spy_release_tensor(dots);
    free(data);
    free(other);
    free(expected);
    free(low);
}

// Calls over textures alone go tile by tile: every texel of every size, once and in its place, and numbers of elements and
// threads are what they are without tiles. With tensors, or a group of the caller's, they do not.
static void test_tiles(void **state) {
    TEXTURES();
    static const struct {
        spy_texture_type type;
        uint32_t w, h, d, layers;
    } sizes[] = {
        { SPY_TEXTURE_TYPE_2D, 1, 1, 0, 0 },   { SPY_TEXTURE_TYPE_2D, 8, 8, 0, 0 },  { SPY_TEXTURE_TYPE_2D, 9, 7, 0, 0 },
        { SPY_TEXTURE_TYPE_2D, 1, 65, 0, 0 },  { SPY_TEXTURE_TYPE_2D, 131, 3, 0, 0 }, { SPY_TEXTURE_TYPE_2D, 64, 17, 0, 0 },
        { SPY_TEXTURE_TYPE_2D, 11, 5, 0, 3 },  { SPY_TEXTURE_TYPE_3D, 10, 9, 5, 0 },  { SPY_TEXTURE_TYPE_3D, 3, 1, 7, 0 },
        { SPY_TEXTURE_TYPE_1D, 77, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t h = sizes[i].h, d = sizes[i].d, layers = sizes[i].layers;
        const size_t count = (size_t)sizes[i].w * (h ? h : 1) * (d ? d : 1) * (layers ? layers : 1) * 4;
        float *data = noise(count);
        spy_texture *t = texture(sizes[i].type, SPY_FORMAT_RGBA32_FLOAT, sizes[i].w, h, d, layers, data);
        OK(spy_call(fn("invert"), SPY_ARGS(spy_arg_texture("x", t))));
        for (size_t k = 0; k < count; k++) data[k] = 1 - data[k];
        texture_is(t, data, count);
        spy_release_texture(t);
        free(data);
    }
    spy_texture *t = image(W, H, NULL), *to = image(W, H, NULL);
    spy_tensor *tensor = floats(SPY_SHAPE(H, W, 4), NULL);
    const spy_call_options lines = { .thread_group_size = { 64 } }, groups = { .call_group_shape = SPY_SHAPE(2, 16) };
    const struct {
        spy_arg x, result;
        const spy_call_options *options;
        const char *has, *lacks;
    } calls[] = {
        { spy_arg_texture("x", t), spy_arg_texture("_result", to), NULL, "// tiles, 2 dimensions", "spyi_coordinate" },
        { spy_arg_texture("x", t), spy_arg_tensor("_result", tensor), NULL, "spyi_coordinate", "// tiles" },
        { spy_arg_texture("x", t), spy_arg_texture("_result", to), &lines, "spyi_coordinate", "// tiles" },
        { spy_arg_texture("x", t), spy_arg_texture("_result", to), &groups, "// call groups", "spyi_coordinate" },
    };
    char text[16384];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        spy_explain_call(fn("twice"), SPY_ARGS(calls[i].x, calls[i].result), calls[i].options, text, sizeof text);
        if (!strstr(text, calls[i].has) || strstr(text, calls[i].lacks))
            fail_msg("call %zu: expected '%s' and no '%s':\n%s", i, calls[i].has, calls[i].lacks, text);
    }
    // The number of the element, which the order of the threads does not change.
    float *expected = (float *)calloc(N * 4, sizeof *expected);
    for (int i = 0; i < N; i++) expected[4 * i] = (float)i, expected[4 * i + 3] = 1;
    OK(spy_call(fn("where3"), SPY_ARGS(spy_arg_thread_id("id"), spy_arg_texture("_result", to))));
    texture_is(to, expected, N * 4);
    spy_release_texture(t);
    spy_release_texture(to);
    spy_release_tensor(tensor);
    free(expected);
}

// Every variant of a kernel: sizes from one texel up, with tensors that make it flat, wide and strided.
static void test_sizes(void **state) {
    TEXTURES();
    static const uint32_t sizes[][2] = { { 1, 1 }, { 2, 1 }, { 1, 7 }, { 4, 4 }, { 64, 8 }, { 129, 3 }, { 256, 256 }, { 1031, 513 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t w = sizes[s][0], h = sizes[s][1], n = w * h;
        float *data = noise(n * 4), *other = noise(n * 4), *expected = (float *)malloc(n * 4 * sizeof *expected);
        spy_texture *t = image(w, h, data), *to = image(w, h, NULL);
        spy_tensor *x = floats(SPY_SHAPE(h, w, 4), other), *row = floats(SPY_SHAPE(w, 4), other), *out = floats(SPY_SHAPE(h, w, 4), NULL);
        for (uint32_t i = 0; i < n * 4; i++) expected[i] = data[i] + other[i];
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", x), spy_arg_texture("_result", to))));
        texture_is(to, expected, n * 4);
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", x), spy_arg_tensor("_result", out))));
        tensor_is(out, expected, n * 4);
        for (uint32_t i = 0; i < n * 4; i++) expected[i] = data[i] + other[i % (w * 4)];
        OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", row), spy_arg_texture("_result", to))));
        texture_is(to, expected, n * 4);
        spy_release_texture(t);
        spy_release_texture(to);
        spy_release_tensor(x);
        spy_release_tensor(row);
        spy_release_tensor(out);
        free(data);
        free(other);
        free(expected);
    }
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.call_group_shape = SPY_SHAPE(8, 16);
    float *data = noise(N * 4);
    spy_texture *t = image(W, H, data);
    OK(spy_call_with(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", t)), &o));
    for (int i = 0; i < N * 4; i++) data[i] *= 2;
    texture_is(t, data, N * 4);
    spy_release_texture(t);
    free(data);
}

// Texels of other formats come as what the format says, and are stored as it.
static void test_formats(void **state) {
    TEXTURES();
    static const spy_format formats[] = { SPY_FORMAT_RGBA8_UNORM, SPY_FORMAT_RGBA8_SNORM, SPY_FORMAT_RGBA16_FLOAT, SPY_FORMAT_RGBA32_FLOAT };
    static const float steps[] = { 255, 127, 1024, 4096 };
    spy_tensor *p = all_texels();
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        float *data = noise(N * 4), *got = (float *)malloc(N * 4 * sizeof *got);
        for (int i = 0; i < N * 4; i++) data[i] = floorf(data[i] * steps[f]) / steps[f];
        spy_texture *t = texture(SPY_TEXTURE_TYPE_2D, formats[f], W, H, 0, 0, NULL);
        spy_texture *full = image(W, H, NULL);
        spy_tensor *values = floats(SPY_SHAPE(H, W, 4), data), *out = floats(SPY_SHAPE(H, W, 4), NULL);
        OK(spy_call(fn("put"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("v", values))));
        OK(spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
        OK(spy_tensor_read(out, got, N * 4 * sizeof *got));
        for (int i = 0; i < N * 4; i++) assert_true(fabsf(got[i] - data[i]) < 2e-4f);
        // Two stored textures of different formats in one kernel.
        OK(spy_call(fn("convert"), SPY_ARGS(spy_arg_texture("from", t), spy_arg_texture("to", full), spy_arg_tensor("p", p))));
        texture_is(full, got, N * 4);
        OK(spy_call(fn("invert"), SPY_ARGS(spy_arg_texture("x", t))));
        OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", full))));
        OK(spy_texture_read(full, NULL, got, N * 4 * sizeof *got));
        for (int i = 0; i < N * 4; i++) assert_true(fabsf(got[i] - 2 * (1 - data[i])) < 2e-3f);
        spy_release_texture(t);
        spy_release_texture(full);
        spy_release_tensor(values);
        spy_release_tensor(out);
        free(data);
        free(got);
    }
    uint8_t bytes[N * 4];
    uint32_t got[N * 4];
    for (int i = 0; i < N * 4; i++) bytes[i] = (uint8_t)random_bits();
    spy_texture *t = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA8_UINT, W, H, 0, 0, bytes);
    spy_tensor *out = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(H, W, 4), NULL));
    OK(spy_call(fn("at_uint"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, sizeof got));
    for (int i = 0; i < N * 4; i++) assert_int_equal(got[i], bytes[i]);
    spy_release_texture(t);
    spy_release_tensor(out);
    spy_release_tensor(p);
}

// Atomic additions, and textures that are only written.
static void test_access(void **state) {
    TEXTURES();
    uint32_t zeros[N] = { 0 }, got[N];
    spy_texture *t = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_UINT, W, H, 0, 0, zeros);
    spy_tensor *p = all_texels();
    for (uint32_t i = 1; i <= 4; i++)
        OK(spy_call(fn("count"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_u32("by", i))));
    OK(spy_texture_read(t, NULL, got, sizeof got));
    for (int i = 0; i < N; i++) assert_int_equal(got[i], 10);
    float *data = noise(N * 4);
    spy_texture *to = image(W, H, NULL);
    spy_tensor *values = floats(SPY_SHAPE(H, W, 4), data);
    OK(spy_call(fn("put_only"), SPY_ARGS(spy_arg_texture("t", to), spy_arg_tensor("p", p), spy_arg_tensor("v", values))));
    texture_is(to, data, N * 4);
    spy_release_texture(t);
    spy_release_texture(to);
    spy_release_tensor(p);
    spy_release_tensor(values);
    free(data);
}

static void test_shadow(void **state) {
    TEXTURES();
    needs_vulkan("it has no samplers that compare");
    // A comparison gives 1 where the reference is less than the texel; Vulkan asks for a depth format.
    spy_sampler_desc how;
    memset(&how, 0, sizeof how);
    how.compare = SPY_COMPARE_LESS;
    how.min_filter = how.mag_filter = SPY_FILTER_NEAREST;
    float depth[4] = { 0.25f, 0.5f, 0.75f, 1 }, uv[8], lit[4];
    for (int i = 0; i < 4; i++) uv[2 * i] = ((float)i + 0.5f) / 4, uv[2 * i + 1] = 0.5f;
    spy_texture *map = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_D32_FLOAT, 4, 1, 0, 0, depth);
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, &how));
    spy_tensor *at = floats(SPY_SHAPE(4, 2), uv), *result = floats(SPY_SHAPE(4), NULL);
    OK(spy_call(fn("shadow"), SPY_ARGS(spy_arg_texture("t", map), spy_arg_sampler("s", s), spy_arg_tensor("uv", at), spy_arg_f32("d", 0.6f),
                                       spy_arg_tensor("_result", result))));
    OK(spy_tensor_read(result, lit, sizeof lit));
    for (int i = 0; i < 4; i++) assert_true(lit[i] == (0.6f < depth[i] ? 1 : 0));
    spy_release_texture(map);
    spy_release_sampler(s);
    spy_release_tensor(at);
    spy_release_tensor(result);
}

// >>samples

typedef struct picture {
    uint32_t width, height;
    const float *texels;
} picture;

static int wrap(int i, int n, spy_address_mode mode) { // -1: the border
    if (mode == SPY_ADDRESS_MODE_WRAP) return ((i % n) + n) % n;
    if (mode == SPY_ADDRESS_MODE_MIRROR) {
        int m = ((i % (2 * n)) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    if (mode == SPY_ADDRESS_MODE_BORDER) return i < 0 || i >= n ? -1 : i;
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static float texel(const picture *p, int x, int y, int c, spy_address_mode mode) {
    x = wrap(x, (int)p->width, mode);
    y = wrap(y, (int)p->height, mode);
    return x < 0 || y < 0 ? 0 : p->texels[((uint32_t)y * p->width + (uint32_t)x) * 4 + (uint32_t)c];
}

static float reference(const picture *p, float u, float v, int c, bool linear, spy_address_mode mode) {
    double x = (double)u * p->width, y = (double)v * p->height;
    if (!linear) return texel(p, (int)floor(x), (int)floor(y), c, mode);
    int x0 = (int)floor(x - 0.5), y0 = (int)floor(y - 0.5);
    double a = x - 0.5 - x0, b = y - 0.5 - y0;
    return (float)((1 - b) * ((1 - a) * (double)texel(p, x0, y0, c, mode) + a * (double)texel(p, x0 + 1, y0, c, mode)) +
                   b * ((1 - a) * (double)texel(p, x0, y0 + 1, c, mode) + a * (double)texel(p, x0 + 1, y0 + 1, c, mode)));
}

// Error bound of a sample: GPUs have weights of at least 8 bits after the point (Vulkan: subTexelPrecisionBits, mipmapPrecisionBits
// are at least 4; all known devices have 8), so 1/256 for each of the two directions and the levels, for texels from 0 to 1.
#define SAMPLE_BOUND (3.0f / 256)

static void test_samples(void **state) {
    TEXTURES();
    enum { M = 2000, LEVELS = 4 };
    static const uint32_t size = 32;
    static const spy_address_mode modes[] = { SPY_ADDRESS_MODE_WRAP, SPY_ADDRESS_MODE_MIRROR, SPY_ADDRESS_MODE_CLAMP, SPY_ADDRESS_MODE_BORDER };
    spy_texture_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = SPY_FORMAT_RGBA32_FLOAT;
    desc.width = desc.height = size;
    desc.levels = LEVELS;
    spy_texture *t = MADE(spy_texture, spy_create_texture(gpu_device, &desc));
    picture levels[LEVELS];
    for (uint32_t l = 0; l < LEVELS; l++) {
        levels[l].width = levels[l].height = size >> l;
        size_t count = (size_t)(size >> l) * (size >> l) * 4;
        levels[l].texels = noise(count);
        spy_texture_region region;
        memset(&region, 0, sizeof region);
        region.level = l;
        OK(spy_texture_write(t, &region, levels[l].texels, count * sizeof(float)));
    }
    float uv[M * 2], level[M], got[M * 4];
    for (int i = 0; i < M; i++) uv[2 * i] = 4 * random_unit() - 1.5f, uv[2 * i + 1] = 4 * random_unit() - 1.5f, level[i] = 3.5f * random_unit();
    spy_tensor *at = floats(SPY_SHAPE(M, 2), uv), *lod = floats(SPY_SHAPE(M), level), *out = floats(SPY_SHAPE(M, 4), NULL);
    float worst = 0;
    for (int k = 0; k < 8; k++) {
        bool linear = k < 4;
        spy_sampler_desc how;
        memset(&how, 0, sizeof how);
        how.min_filter = how.mag_filter = linear ? SPY_FILTER_LINEAR : SPY_FILTER_NEAREST;
        how.mip_filter = how.min_filter;
        how.address_u = how.address_v = modes[k % 4];
        spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, &how));
        OK(spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_tensor("uv", at),
                                           spy_arg_tensor("level", lod), spy_arg_tensor("_result", out))));
        OK(spy_tensor_read(out, got, sizeof got));
        int off = 0;
        for (int i = 0; i < M * 4; i++) {
            int n = i / 4, low = (int)level[n], high = low + 1 < LEVELS ? low + 1 : LEVELS - 1;
            float a = level[n] - (float)low, expected;
            if (linear)
                expected = (1 - a) * reference(&levels[low], uv[2 * n], uv[2 * n + 1], i % 4, true, modes[k % 4]) +
                           a * reference(&levels[high], uv[2 * n], uv[2 * n + 1], i % 4, true, modes[k % 4]);
            else
                expected = reference(&levels[a > 0.5f ? high : low], uv[2 * n], uv[2 * n + 1], i % 4, false, modes[k % 4]);
            float error = fabsf(got[i] - expected);
            if (error <= SAMPLE_BOUND) {
                if (linear && error > worst) worst = error;
                continue;
            }
            // On the border between two texels a device may take either.
            if (!linear && ++off <= 4 * M / 50) continue;
            print_error("sampler %d, point %d (%g %g, level %g): %g, expected %g\n", k, n, (double)uv[2 * n], (double)uv[2 * n + 1],
                        (double)level[n], (double)got[i], (double)expected);
            fail();
        }
        spy_release_sampler(s);
    }
    print_message("largest error of a filtered sample: %.5f\n", (double)worst);
    // A texture with its sampler in one.
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    OK(spy_call(fn("combined"), SPY_ARGS(spy_arg_sampled_texture("t", t, s), spy_arg_tensor("uv", at), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, sizeof got));
    for (int i = 0; i < M * 4; i++)
        assert_true(fabsf(got[i] - reference(&levels[0], uv[i / 4 * 2], uv[i / 4 * 2 + 1], i % 4, true, SPY_ADDRESS_MODE_WRAP)) <= SAMPLE_BOUND);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("combined"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("uv", at), spy_arg_tensor("_result", out))),
          "'t'", "with its sampler");
    for (uint32_t l = 0; l < LEVELS; l++) free((void *)(uintptr_t)levels[l].texels);
    spy_release_sampler(s);
    spy_release_texture(t);
    spy_release_tensor(at);
    spy_release_tensor(lod);
    spy_release_tensor(out);
}

static void test_cubes(void **state) {
    TEXTURES();
    float faces[6 * 4], got[6 * 4];
    for (int i = 0; i < 24; i++) faces[i] = (float)(i / 4);
    spy_texture *cube = texture(SPY_TEXTURE_TYPE_CUBE, SPY_FORMAT_RGBA32_FLOAT, 1, 1, 0, 0, faces);
    static const float directions[18] = { 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1 };
    spy_sampler_desc nearest;
    memset(&nearest, 0, sizeof nearest);
    nearest.min_filter = nearest.mag_filter = SPY_FILTER_NEAREST;
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, &nearest));
    spy_tensor *d = floats(SPY_SHAPE(6, 3), directions), *out = floats(SPY_SHAPE(6, 4), NULL);
    OK(spy_call(fn("face"), SPY_ARGS(spy_arg_texture("t", cube), spy_arg_sampler("s", s), spy_arg_tensor("d", d), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, sizeof got));
    same(got, faces, 24);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", cube), spy_out_tensor("_result", &out))), "'x'",
          "TextureCube<float4>", "not run over");
    spy_release_texture(cube);
    spy_release_sampler(s);
    spy_release_tensor(d);
    spy_release_tensor(out);
}

// Levels and layers as textures of their own: a kernel makes each level from the one before.
static void test_views(void **state) {
    TEXTURES();
    needs_vulkan("a surface has all layers of its array");
    enum { S = 16, LAYERS = 3 };
    spy_texture_desc desc;
    spy_texture_view_desc v;
    memset(&desc, 0, sizeof desc);
    desc.format = SPY_FORMAT_RGBA32_FLOAT;
    desc.width = desc.height = S;
    desc.array_size = LAYERS;
    desc.levels = 3;
    spy_texture *t = MADE(spy_texture, spy_create_texture(gpu_device, &desc));
    float *data = noise(S * S * 4);
    spy_tensor *values = floats(SPY_SHAPE(S, S, 4), data), *half = floats(SPY_SHAPE(S / 2, S / 2, 4), data);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        memset(&v, 0, sizeof v);
        v.layer = layer;
        v.layer_count = 1;
        v.level_count = 1;
        spy_texture *one = MADE(spy_texture, spy_texture_view(t, &v));
        OK(spy_call(fn("add3"), SPY_ARGS(spy_arg_tensor("a", values), spy_arg_tensor("b", values), spy_arg_f32("c", (float)layer),
                                         spy_arg_texture("_result", one))));
        v.level = 1;
        spy_texture *next = MADE(spy_texture, spy_texture_view(t, &v));
        // Reads one level of the image and writes another in one kernel.
        spy_tensor *p = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(1, 2), (const int32_t[2]){ 3, 2 }));
        OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", one), spy_arg_texture("to", next), spy_arg_tensor("p", p))));
        spy_texture_region region;
        memset(&region, 0, sizeof region);
        float got[4];
        region.x = 3, region.y = 2, region.width = region.height = 1;
        OK(spy_texture_read(next, &region, got, sizeof got));
        for (int c = 0; c < 4; c++) assert_true(got[c] == 2 * data[(2 * S + 3) * 4 + c] + (float)layer);
        OK(spy_call(fn("twice"), SPY_ARGS(spy_arg_tensor("x", half), spy_arg_texture("_result", next))));
        float small[S / 2 * S / 2 * 4], expected[S / 2 * S / 2 * 4];
        OK(spy_texture_read(next, NULL, small, sizeof small));
        for (size_t i = 0; i < sizeof small / sizeof *small; i++) expected[i] = 2 * data[i];
        same(small, expected, sizeof small / sizeof *small);
        spy_release_texture(one);
        spy_release_texture(next);
        spy_release_tensor(p);
    }
    spy_release_texture(t);
    spy_release_tensor(values);
    spy_release_tensor(half);
    free(data);
}

// >>fields, globals, arrays, shaders

static void test_fields(void **state) {
    TEXTURES();
    float *data = noise(N * 4), *expected = (float *)malloc(N * 4 * sizeof *expected), *uv = (float *)malloc(N * 2 * sizeof *uv);
    for (int i = 0; i < N; i++) uv[2 * i] = ((float)(i % W) + 0.5f) / W, uv[2 * i + 1] = ((float)(i / W) + 0.5f) / H;
    for (int i = 0; i < N * 4; i++) expected[i] = data[i] * 2;
    spy_texture *t = image(W, H, data), *to = image(W, H, NULL);
    spy_sampler_desc nearest;
    memset(&nearest, 0, sizeof nearest);
    nearest.min_filter = nearest.mag_filter = SPY_FILTER_NEAREST;
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, &nearest));
    spy_tensor *at = floats(SPY_SHAPE(H, W, 2), uv), *out = floats(SPY_SHAPE(H, W, 4), NULL), *p = all_texels();
    const float tint[4] = { 2, 2, 2, 2 };
    const spy_arg material[] = { spy_arg_texture("color", t), spy_arg_sampler("how", s), spy_arg_data("tint", tint, sizeof tint) };
    const spy_args fields = { material, 3 };
    OK(spy_call(fn("shade"), SPY_ARGS(spy_arg_struct("m", fields), spy_arg_tensor("uv", at), spy_arg_tensor("_result", out))));
    tensor_is(out, expected, N * 4);
    OK(spy_call(fn("shade_buffer"), SPY_ARGS(spy_arg_struct("m", fields), spy_arg_tensor("uv", at), spy_arg_texture("_result", to))));
    texture_is(to, expected, N * 4);
    const float add[4] = { 1, 2, 3, 4 };
    const spy_arg plain[] = { spy_arg_data("add", add, sizeof add), spy_arg_f32("scale", 3), spy_arg_texture("image", t), spy_arg_texture("target", to) };
    const spy_args plain_fields = { plain, 4 };
    OK(spy_call(fn("plain"), SPY_ARGS(spy_arg_struct("p", plain_fields), spy_arg_tensor("i", p))));
    for (int i = 0; i < N * 4; i++) expected[i] = data[i] * 3 + add[i % 4];
    texture_is(to, expected, N * 4);
    spy_release_texture(t);
    spy_release_texture(to);
    spy_release_sampler(s);
    spy_release_tensor(at);
    spy_release_tensor(out);
    spy_release_tensor(p);
    free(data);
    free(expected);
    free(uv);
}

static spy_call_options globals_of(spy_args globals) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals = globals;
    return o;
}

static void test_globals(void **state) {
    TEXTURES();
    float *data = noise(3 * N * 4), *expected = (float *)malloc(N * 4 * sizeof *expected);
    spy_texture *t[3], *to = image(W, H, NULL);
    for (int i = 0; i < 3; i++) t[i] = image(W, H, data + i * N * 4);
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    spy_tensor *p = all_texels(), *out = floats(SPY_SHAPE(H, W, 4), NULL);
    spy_arg image_global[] = { spy_arg_texture("g_image", t[0]), spy_arg_sampler("g_how", s) };
    spy_args list = { image_global, 2 };
    spy_call_options o = globals_of(list);
    OK(spy_call_with(fn("global"), SPY_ARGS(spy_arg_tensor("p", p), spy_arg_tensor("_result", out)), &o));
    tensor_is(out, data, N * 4);
    // The middle of the picture, and nothing else, is the average there.
    spy_tensor *uv = floats(SPY_SHAPE(1, 2), (const float[2]){ 1.5f / W, 2.5f / H });
    spy_tensor *one = floats(SPY_SHAPE(1, 4), NULL);
    OK(spy_call_with(fn("global_sample"), SPY_ARGS(spy_arg_tensor("uv", uv), spy_arg_tensor("_result", one)), &o));
    float got[4];
    OK(spy_tensor_read(one, got, sizeof got));
    for (int c = 0; c < 4; c++) assert_true(fabsf(got[c] - data[(2 * W + 1) * 4 + c]) <= SAMPLE_BOUND);
    image_global[0] = spy_arg_texture("g_target", to);
    list.count = 1;
    o = globals_of(list);
    OK(spy_call_with(fn("global_put"), SPY_ARGS(spy_arg_tensor("p", p), spy_arg_tensor("v", out)), &o));
    texture_is(to, data, N * 4);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("global"), SPY_ARGS(spy_arg_tensor("p", p), spy_arg_tensor("_result", out))), "g_image");
    // Arrays, as a parameter and as a global.
    const spy_arg many[] = { spy_arg_texture(NULL, t[0]), spy_arg_texture(NULL, t[1]), spy_arg_texture(NULL, t[2]) };
    const spy_args elements = { many, 3 };
    const spy_arg many_global[] = { spy_arg_struct("g_many", elements) };
    const spy_args many_list = { many_global, 1 };
    o = globals_of(many_list);
    OK(spy_call(fn("picked"), SPY_ARGS(spy_arg_struct("many", elements), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    for (int i = 0; i < N * 4; i++) expected[i] = data[i] + 2 * data[2 * N * 4 + i];
    tensor_is(out, expected, N * 4);
    OK(spy_call_with(fn("global_picked"), SPY_ARGS(spy_arg_tensor("p", p), spy_arg_tensor("_result", out)), &o));
    for (int i = 0; i < N * 4; i++) expected[i] = data[i] + 2 * data[N * 4 + i];
    tensor_is(out, expected, N * 4);
    for (int i = 0; i < 3; i++) {
        spy_status status =
            spy_call(fn("pick"), SPY_ARGS(spy_arg_struct("many", elements), spy_arg_i32("i", i), spy_arg_tensor("p", p), spy_arg_tensor("_result", out)));
        if (status == SPY_ERROR_UNSUPPORTED) { // lavapipe of Mesa 22
            ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "shaderSampledImageArrayDynamicIndexing");
            break;
        }
        tensor_is(out, data + i * N * 4, N * 4);
        OK(spy_call_with(fn("global_pick"), SPY_ARGS(spy_arg_i32("i", i), spy_arg_tensor("p", p), spy_arg_tensor("_result", out)), &o));
        tensor_is(out, data + i * N * 4, N * 4);
    }
    const float tint[4] = { 2, 2, 2, 2 };
    const spy_arg material[] = { spy_arg_texture("color", t[1]), spy_arg_sampler("how", s), spy_arg_data("tint", tint, sizeof tint) };
    const spy_args fields = { material, 3 };
    for (int k = 0; k < 2; k++) {
        const spy_arg holder[] = { spy_arg_struct(k ? "g_buffer" : "g_block", fields) };
        const spy_args holders = { holder, 1 };
        o = globals_of(holders);
        OK(spy_call_with(fn(k ? "global_buffer" : "global_block"), SPY_ARGS(spy_arg_tensor("uv", uv), spy_arg_tensor("_result", one)), &o));
        OK(spy_tensor_read(one, got, sizeof got));
        for (int c = 0; c < 4; c++) assert_true(fabsf(got[c] - 2 * data[(N + 2 * W + 1) * 4 + c]) <= 2 * SAMPLE_BOUND);
    }
    // A shader that runs as it is, with its own parameters and globals.
    image_global[0] = spy_arg_texture("g_image", t[2]);
    o = globals_of(list);
    OK(spy_dispatch(fn("blur"), (spy_uint3){ W, H, 1 },
                    SPY_ARGS(spy_arg_texture("from", t[0]), spy_arg_sampler("how", s), spy_arg_texture("to", to), spy_arg_f32("k", 0)), &o));
    texture_is(to, data + 2 * N * 4, N * 4);
    for (int i = 0; i < 3; i++) spy_release_texture(t[i]);
    spy_release_texture(to);
    spy_release_sampler(s);
    spy_release_tensor(p);
    spy_release_tensor(out);
    spy_release_tensor(uv);
    spy_release_tensor(one);
    free(data);
    free(expected);
}

// Arrays of textures inside of structs, ConstantBuffers and parameter blocks; a struct as a method's instance.
static void test_nested(void **state) {
    TEXTURES();
    float *data = noise(2 * N * 4), *expected = (float *)malloc(N * 4 * sizeof *expected);
    spy_texture *t[2] = { image(W, H, data), image(W, H, data + N * 4) };
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    spy_tensor *p = all_texels(), *out = floats(SPY_SHAPE(H, W, 4), NULL);
    const spy_arg pair[] = { spy_arg_texture(NULL, t[0]), spy_arg_texture(NULL, t[1]) };
    const spy_args pair_list = { pair, 2 };
    const spy_arg set[] = { spy_arg_struct("pair", pair_list), spy_arg_sampler("how", s), spy_arg_f32("k", 2) };
    const spy_args fields = { set, 3 };
    const spy_arg global[] = { spy_arg_struct("g_set", fields) };
    const spy_args globals = { global, 1 };
    const spy_call_options o = globals_of(globals);
    for (int i = 0; i < N * 4; i++) expected[i] = 2 * (data[i] + data[N * 4 + i]);
    for (int k = 0; k < 4; k++) {
        static const char *const names[] = { "summed", "held_sum", "Set.sum", "global_sum" };
        OK(spy_tensor_fill(out, 0));
        if (k == 3) OK(spy_call_with(fn(names[k]), SPY_ARGS(spy_arg_tensor("p", p), spy_arg_tensor("_result", out)), &o));
        else OK(spy_call(fn(names[k]), SPY_ARGS(spy_arg_struct(k == 2 ? "this" : "s", fields), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
        tensor_is(out, expected, N * 4);
    }
    spy_release_texture(t[0]);
    spy_release_texture(t[1]);
    spy_release_sampler(s);
    spy_release_tensor(p);
    spy_release_tensor(out);
    free(data);
    free(expected);
}

// >>lists, prepared and packed calls, gradients

static void test_lists(void **state) {
    TEXTURES();
    float *data = noise(N * 4);
    spy_texture *t = image(W, H, data), *to = image(W, H, NULL);
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    spy_tensor *p = all_texels();
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    OK(spy_list_call(list, fn("invert"), SPY_ARGS(spy_arg_texture("x", t))));
    OK(spy_list_call(list, fn("copy"), SPY_ARGS(spy_arg_texture("from", t), spy_arg_texture("to", to), spy_arg_tensor("p", p))));
    OK(spy_list_call(list, fn("twice"), SPY_ARGS(spy_arg_texture("x", to), spy_arg_texture("_result", t))));
    OK(spy_list_finish(list));
    spy_retain_texture(t);
    spy_release_texture(t);
    spy_release_sampler(s);
    spy_release_texture(to); // the list holds its image
    for (int k = 0; k < 3; k++) {
        OK(spy_list_submit(list));
        for (int i = 0; i < N * 4; i++) data[i] = 2 * (1 - data[i]);
    }
    texture_is(t, data, N * 4);
    spy_release_command_list(list);
    spy_prepared *prepared = MADE(spy_prepared, spy_prepare(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", t)), NULL));
    for (int k = 0; k < 3; k++) {
        OK(spy_call_prepared(prepared, SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", t))));
        for (int i = 0; i < N * 4; i++) data[i] = 2 * data[i];
    }
    texture_is(t, data, N * 4);
    spy_release_prepared(prepared);
    // A compile thread looks at no texture: they may go meanwhile.
    spy_prepare_desc async;
    memset(&async, 0, sizeof async);
    async.async = true;
    spy_texture *gone = image(W, H, NULL);
    spy_tensor *sum = floats(SPY_SHAPE(H, W, 4), data);
    prepared = MADE(spy_prepared, spy_prepare(fn("add3"), SPY_ARGS(spy_arg_texture("a", gone), spy_arg_texture("b", gone), spy_arg_f32("c", 1),
                                                                  spy_arg_texture("_result", gone)), &async));
    spy_release_texture(gone);
    OK(spy_call_prepared(prepared, SPY_ARGS(spy_arg_texture("a", t), spy_arg_texture("b", t), spy_arg_f32("c", 1), spy_arg_texture("_result", t))));
    for (int i = 0; i < N * 4; i++) data[i] = 2 * data[i] + 1;
    texture_is(t, data, N * 4);
    spy_release_tensor(sum);
    spy_release_prepared(prepared);
    spy_packed *packed = MADE(spy_packed, spy_pack(gpu_device, spy_arg_texture(NULL, t)));
    spy_tensor *out = floats(SPY_SHAPE(H, W, 4), NULL);
    spy_release_texture(t); // the packed argument holds it
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_packed("t", packed), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    tensor_is(out, data, N * 4);
    spy_release_packed(packed);
    spy_release_tensor(p);
    spy_release_tensor(out);
    free(data);
}

static void test_gradients(void **state) {
    TEXTURES();
    float *data = noise(N * 4), weight = 3, sum = 0, got = 0;
    spy_texture *t = image(W, H, data);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.with_grad = true;
    d.data = &weight;
    spy_tensor *p = all_texels(), *w = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    d.shape = SPY_SHAPE(H, W);
    d.data = NULL;
    spy_tensor *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(spy_tensor_grad(out), 1));
    OK(spy_call_backward(fn("weigh"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_texture("t", t), spy_arg_tensor("p", p), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(spy_tensor_grad(w), &got, sizeof got));
    for (int i = 0; i < N; i++) sum += data[4 * i];
    assert_true(fabsf(got - sum) < 1e-3f * sum);
    // Texels are read without a gradient of their own; what is written has none.
    spy_texture *gray = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_FLOAT, W, H, 0, 0, data);
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_backward(fn("scale"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_texture("x", gray), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(spy_tensor_grad(w), &got, sizeof got));
    for (sum = 0, weight = 0; weight < N; weight++) sum += 6 * data[(int)weight];
    assert_true(fabsf(got - sum) < 1e-3f * sum);
    FAILS(SPY_ERROR_UNSUPPORTED,
          spy_call_backward(fn("scale"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_texture("x", gray), spy_arg_texture("_result", gray))), "'_result'",
          "has no gradient");
    spy_release_texture(t);
    spy_release_texture(gray);
    spy_release_tensor(p);
    spy_release_tensor(out);
    spy_release_tensor(w);
    free(data);
}

// >>bad input

static void test_errors(void **state) {
    TEXTURES();
    float *data = noise(N * 4);
    spy_texture *t = image(W, H, data), *solid = texture(SPY_TEXTURE_TYPE_3D, SPY_FORMAT_RGBA32_FLOAT, 2, 2, 2, 0, NULL);
    spy_texture *gray = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_FLOAT, W, H, 0, 0, data);
    spy_texture *square = image(8, 8, NULL);
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    spy_tensor *p = all_texels(), *x = floats(SPY_SHAPE(H, W, 4), data), *made = NULL;
    const spy_arg result = spy_out_tensor("_result", &made);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", solid), spy_arg_tensor("p", p), result)), "'t'",
          "expected Texture2D<float4>", "Texture3D<float4>");
    // Texels of fewer channels can be read as float4, but not written.
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("put"), SPY_ARGS(spy_arg_texture("t", gray), spy_arg_tensor("p", p), spy_arg_tensor("v", x))), "'t'",
          "expected RWTexture2D<float4>", "Texture2D<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at"), SPY_ARGS(spy_arg_tensor("t", x), spy_arg_tensor("p", p), result)), "'t'",
          "expected Texture2D<float4>", "tensor", "it takes a texture");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at"), SPY_ARGS(spy_arg_f32("t", 1), spy_arg_tensor("p", p), result)), "'t'", "it takes a texture");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("at"), SPY_ARGS(spy_arg_sampler("t", s), spy_arg_tensor("p", p), result)), "'t'", "got sampler",
          "it takes a texture");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("from_buffer"), SPY_ARGS(spy_arg_texture("b", t), spy_arg_i32("i", 0), result)), "'b'",
          "expected StructuredBuffer<float4>", "texture", "it takes a tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("twice1"), SPY_ARGS(spy_arg_texture("x", t), result)), "'x'", "expected float", "its texels are float4");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_texture("s", t), spy_arg_tensor("uv", x), spy_arg_f32("level", 0), result)),
          "'s'", "it takes a sampler");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", NULL), spy_arg_tensor("uv", x), spy_arg_f32("level", 0), result)),
          "'s'", "sampler");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("at"), SPY_ARGS(spy_arg_texture("t", NULL), spy_arg_tensor("p", p), result)), "'t'", "NULL");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", solid), spy_arg_texture("_result", t))), "shape");
    // Textures that may not be written, or read.
    spy_texture_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = SPY_FORMAT_RGBA32_FLOAT;
    desc.width = W;
    desc.height = H;
    desc.usage = SPY_TEXTURE_USAGE_SAMPLED;
    spy_texture *sampled = MADE(spy_texture, spy_create_texture(gpu_device, &desc));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("put"), SPY_ARGS(spy_arg_texture("t", sampled), spy_arg_tensor("p", p), spy_arg_tensor("v", x))), "'t'",
          "it is written", "SPY_TEXTURE_USAGE_STORED");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", sampled))), "'_result'",
          "SPY_TEXTURE_USAGE_STORED");
    OK(spy_call(fn("copy"), SPY_ARGS(spy_arg_texture("from", t), spy_arg_texture("to", t), spy_arg_tensor("p", p)))); // as with buffers
    // What is written must not be read elsewhere in the call.
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(fn("twice"), SPY_ARGS(spy_vmap(spy_arg_texture("x", square), SPY_DIMS(1, 0)), spy_arg_texture("_result", square))), "'_result'",
          "'x'", "texel by texel");
    spy_release_texture(square);
    spy_release_texture(sampled);
    spy_release_texture(t);
    spy_release_texture(solid);
    spy_release_texture(gray);
    spy_release_sampler(s);
    spy_release_tensor(p);
    spy_release_tensor(x);
    free(data);
}

// A sampler that compares where a plain one is wanted, and the reverse.
static void test_comparison(void **state) {
    TEXTURES();
    needs_vulkan("it has no samplers that compare");
    float *data = noise(N * 4);
    spy_texture *t = image(W, H, data), *gray = texture(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_FLOAT, W, H, 0, 0, data);
    spy_sampler *s = MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    spy_tensor *made = NULL;
    const spy_arg result = spy_out_tensor("_result", &made);
    spy_sampler_desc compares;
    memset(&compares, 0, sizeof compares);
    compares.compare = SPY_COMPARE_LESS;
    spy_sampler *c = MADE(spy_sampler, spy_create_sampler(gpu_device, &compares));
    spy_tensor *uv = floats(SPY_SHAPE(1, 2), data);
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", c), spy_arg_tensor("uv", uv), spy_arg_f32("level", 0), result)),
          "'s'", "without desc.compare");
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("shadow"), SPY_ARGS(spy_arg_texture("t", gray), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv), spy_arg_f32("d", 0), result)),
          "'s'", "with desc.compare");
    // The same for a call that repeats another.
    float one[4];
    for (int k = 0; k < 3; k++)
        OK(spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_f32n("uv", data, 2), spy_arg_f32("level", 0),
                                           spy_out_data("_result", one, sizeof one))));
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_call(fn("sample"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", c), spy_arg_f32n("uv", data, 2), spy_arg_f32("level", 0),
                                          spy_out_data("_result", one, sizeof one))),
          "'s'", "without desc.compare");
    spy_release_texture(t);
    spy_release_texture(gray);
    spy_release_sampler(s);
    spy_release_sampler(c);
    spy_release_tensor(uv);
    free(data);
}

static void test_explain(void **state) {
    TEXTURES();
    needs_vulkan("the text of CUDA's kernels has textures as fields");
    spy_texture *t = image(W, H, NULL);
    spy_tensor *x = floats(SPY_SHAPE(H, W, 4), NULL);
    char text[8192];
    assert_true(spy_explain_call(fn("add"), SPY_ARGS(spy_arg_texture("a", t), spy_arg_tensor("b", x), spy_arg_texture("_result", t)), NULL, text,
                                 sizeof text) < sizeof text);
    assert_non_null(strstr(text, "texture Texture2D<float4> (23, 37)"));
    assert_non_null(strstr(text, "uniform Texture2D<float4> b_a"));
    assert_non_null(strstr(text, "uniform RWTexture2D<float4> b__result"));
    spy_release_texture(t);
    spy_release_tensor(x);
}

static int setup(void **state) {
    (void)state;
    return gpu_setup_dumped("textures", source, &module);
}

static void test_spirv(void **state) {
    TEXTURES();
    needs_vulkan("its kernels are no SPIR-V");
    gpu_check_spirv(gpu_dump_folder(), 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_hazards), cmocka_unit_test(test_dimensions), cmocka_unit_test(test_texels), cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_formats), cmocka_unit_test(test_access), cmocka_unit_test(test_shadow), cmocka_unit_test(test_samples),    cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_views),    cmocka_unit_test(test_fields),  cmocka_unit_test(test_globals),    cmocka_unit_test(test_nested), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_errors), cmocka_unit_test(test_comparison), cmocka_unit_test(test_explain),    cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests_name("texture arguments", tests, setup, gpu_teardown_dumped);
}
