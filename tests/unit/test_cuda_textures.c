// Textures on the CUDA backend, with a driver without a GPU (fake_cuda/): generated kernels are compiled for real by NVRTC, and
// the test looks for texture and surface objects in their parameters. Copies of arrays are the driver's own, which also plays
// the kernel of blits. What a sample on a GPU gives is not shown here. gpu/test_texture.c runs on this driver, too:
// SPY_TEST_BACKEND=cuda, and fake_cuda.so as libcuda.so.1 in LD_LIBRARY_PATH.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "api/generator.h"
#include "api/gradient.h"
#include "api/list.h"
#include "api/texture.h"
#include "cuda/internal.h"
#endif
#include "fake_cuda/fake_device.h"
#include <stdio.h>
#include <unistd.h>

static const char source[] =
    "float4 add(float4 a, float b) { return a + b; }\n"
    "float4 scaled(int2 p, Texture2D<float4> t, float k) { return t[p] * k; }\n"
    "float4 sampled(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }\n"
    "float4 combined(float2 uv, Sampler2D<float4> t) { return t.SampleLevel(uv, 0); }\n"
    "void put(int2 p, float4 v, RWTexture2D<float4> t) { t[p] = v; }\n"
    "void change(inout float4 v) { v = v + 1; }\n"
    "float of1(int p, Texture1D<float> t) { return t.Load(int2(p, 0)); }\n"
    "float of3(int3 p, Texture3D<float> t) { return t.Load(int4(p, 0)); }\n"
    "float of_array(int3 p, Texture2DArray<float> t) { return t.Load(int4(p, 0)); }\n"
    "uint uints(uint4 a) { return a.x + a.w; }\n"
    "float ones(float a) { return a; }\n"
    "struct Held { Texture2D<float4> t; SamplerState s; float k; }\n"
    "float4 held(float2 uv, Held h) { return h.t.SampleLevel(h.s, uv, 0) * h.k; }\n"
    "Texture2D<float4> global; RWTexture2D<float4> target; SamplerState how;\n"
    "float4 of_global(float2 uv) { return global.SampleLevel(how, uv, 0); }\n"
    "void to_target(int2 p) { target[p] = global[p]; }\n"
    "float4 two(int2 p, Texture2D<float4> t[2]) { return t[0][p] + t[1][p]; }\n"
    "[shader(\"compute\")] [numthreads(8, 4, 1)]\n"
    "void own(uint3 t : SV_DispatchThreadID, uniform Texture2D<float4> from, uniform RWTexture2D<float4> to, uniform float k)\n"
    "{ to[t.xy] = from[t.xy] * k; }\n";

static const char gradients[] =
    "import slangpy;\n"
    "[Differentiable] float4 plain(Texture2D<float4> t, Texture2D<float> other, SamplerState s, float2 uv)\n"
    "{ return t.Sample(s, uv) * t.Load(int3(0, 0, 0)) * other.Sample(s, uv); }\n"
    "[Differentiable] float4 two(DiffTexture1D<float4> a, DiffTextureCubeArray<float4> b, DiffSamplerState s, DiffSamplerState r, float4 uv)\n"
    "{ return a.Sample(s, uv.x) + b.SampleLevel(s, uv, 0.5) + a.Sample(r, uv.y); }\n";

enum { W = 5, H = 3, MOST = 64 };
static const char *fake_path;
static fake_cuda *fake;
static spy_device *device;
static spy_module *module;
static uint32_t slang_preludes; // kernels that the library's own prelude could not compile
static uint64_t seen[MOST];      // objects of the test's textures in the last kernel's parameters, in their order
static uint32_t seen_count;
static uint64_t known[MOST];
static uint32_t known_count;
static int32_t behind[2]; // what lies behind the first object
static uint64_t address, address_count; // an address, and how often the parameters have it

// Finds the objects that the test knows in the parameters or the globals of a kernel.
static void look_in(const char *bytes, size_t size) {
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        address_count += word == address;
        for (uint32_t i = 0; i < known_count; i++) {
            if (word != known[i] || seen_count == MOST) continue;
            if (!seen_count && at + 16 <= size) memcpy(behind, bytes + at + 8, 8);
            seen[seen_count++] = word;
        }
    }
}

static void on_kernel(const fake_function *function, const unsigned grid[3], void *const *params, void *user) {
    (void)grid, (void)user;
    seen_count = 0;
    address_count = 0;
    // Objects are made while a call is packed, so that the last ones are known here.
    known[known_count < MOST ? known_count++ : MOST - 1] = fake->texture;
    known[known_count < MOST ? known_count++ : MOST - 1] = fake->surface;
    uint32_t count = 0; // each object once
    for (uint32_t i = 0; i < known_count; i++) {
        uint32_t k = 0;
        while (k < count && known[k] != known[i]) k++;
        if (k == count && known[i]) known[count++] = known[i];
    }
    known_count = count;
    for (unsigned i = 0; i < function->param_count; i++) look_in((const char *)params[i], function->sizes[i]);
    if (function->globals) look_in((const char *)function->globals, 64);
}

static void on_log(spy_log_level level, const char *message, void *user_data) {
    (void)user_data, (void)level;
    if (strstr(message, "needs Slang's own CUDA prelude")) {
        slang_preludes++;
        print_message("%s\n", message);
    }
}

static int open_device(void **state) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_module_desc m;
    (void)state;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    cuda.driver_library = fake_path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    d.log.func = on_log;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    fake = fake_cuda_state_at(fake_path);
    assert_non_null(fake);
    fake->on_kernel = on_kernel;
    m.name = "textures";
    m.source = source;
    module = spy_load_module(device, &m);
    if (!module) fail_msg("%s", spy_take_error(device).message);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    spy_release_device(device);
    assert_int_equal(fake->textures, 0);
    assert_int_equal(fake->allocations + fake->modules, 0);
    return 0;
}

#define OK(expression) fake_good(device, (expression), __LINE__)
#define FAILS(code, expression, word, other) fake_fails(device, (expression), (code), (word), (other), __LINE__)

static spy_function *fn(const char *name) {
    spy_function *f = spy_find_function(module, name);
    if (!f) fail_msg("%s", spy_take_error(device).message);
    return f;
}

static spy_texture *texture_of(spy_texture_type type, spy_format format, uint32_t height, uint32_t depth, const void *data) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.type = type;
    d.format = format;
    d.width = W;
    d.height = height;
    d.depth = type == SPY_TEXTURE_TYPE_3D ? depth : 0;
    d.array_size = type == SPY_TEXTURE_TYPE_3D ? 0 : depth;
    d.data = data;
    spy_texture *t = spy_create_texture(device, &d);
    if (!t) fail_msg("%s", spy_take_error(device).message);
    return t;
}
static spy_texture *plain(const float *data) { return texture_of(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA32_FLOAT, H, 0, data); }

static spy_sampler *sampler_of(spy_filter filter, spy_address_mode mode) {
    spy_sampler_desc d;
    memset(&d, 0, sizeof d);
    d.min_filter = d.mag_filter = d.mip_filter = filter;
    d.address_u = d.address_v = d.address_w = mode;
    spy_sampler *s = spy_create_sampler(device, &d);
    if (!s) fail_msg("%s", spy_take_error(device).message);
    return s;
}

static spy_tensor *tensor_of(spy_shape shape, uint32_t columns, spy_dtype dtype) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.dtype = dtype;
    if (columns > 1) d.shape.dims[d.shape.rank++] = columns;
    spy_tensor *t = spy_create_tensor(device, &d);
    if (!t) fail_msg("%s", spy_take_error(device).message);
    return t;
}
static spy_arg grid(spy_shape shape) {
    static spy_grid_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    return spy_arg_grid("p", &d);
}
static spy_arg points(void) { return grid(SPY_SHAPE(H, W)); }
static spy_arg middle(void) {
    static const float uv[2] = { 0.5f, 0.5f };
    return spy_arg_array("uv", uv, SPY_SHAPE(2), SPY_DTYPE_FLOAT32);
}

static const fake_texture *object(uint32_t i) {
    assert_true(i < seen_count);
    return (const fake_texture *)(uintptr_t)seen[i];
}

// >>tests

static void test_bytes(void **state) {
    (void)state;
    float data[H][W][4], got[H][W][4];
    spy_clear_color color = { { 1, 2, 3, 4 } };
    for (int i = 0; i < H * W * 4; i++) ((float *)data)[i] = (float)i;
    spy_texture *t = plain(&data[0][0][0]), *other = plain(NULL);
    OK(spy_texture_read(t, NULL, got, sizeof got));
    assert_memory_equal(data, got, sizeof got);
    OK(spy_texture_copy(other, NULL, t, NULL));
    OK(spy_texture_read(other, NULL, got, sizeof got));
    assert_memory_equal(data, got, sizeof got);
    OK(spy_texture_clear(other, color));
    OK(spy_texture_read(other, NULL, got, sizeof got));
    assert_memory_equal(got[2][4], color.floats, 16);
    spy_release_texture(t);
    spy_release_texture(other);
}

static void test_texels(void **state) {
    (void)state;
    spy_texture *a = plain(NULL), *one = texture_of(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA32_FLOAT, 1, 0, NULL), *to = plain(NULL);
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", a), spy_arg_f32("b", 1), spy_arg_texture("_result", to))));
    assert_int_equal(seen_count, 2);
    assert_ptr_not_equal(object(0)->array, object(1)->array);
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", one), spy_arg_f32("b", 1), spy_arg_texture("_result", to))));
    assert_int_equal(seen_count, 2);
    // The one row is repeated. Which object comes first is the block's business; the input's has its steps behind it.
    if (object(0)->desc.flags) assert_true(behind[0] == 0 && behind[1] == 1);
    OK(spy_call(fn("change"), SPY_ARGS(spy_arg_texture("v", to))));
    assert_int_equal(seen_count, 1);
    assert_int_equal(object(0)->desc.flags, 0); // a surface
    spy_texture *u8 = texture_of(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_RGBA8_UINT, H, 0, NULL), *f1 = texture_of(SPY_TEXTURE_TYPE_1D, SPY_FORMAT_R32_FLOAT, 0, 0, NULL);
    spy_texture *f3 = texture_of(SPY_TEXTURE_TYPE_3D, SPY_FORMAT_R32_FLOAT, H, 2, NULL), *fa = texture_of(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_FLOAT, H, 2, NULL);
    spy_tensor *uints = tensor_of(SPY_SHAPE(H, W), 1, SPY_DTYPE_UINT32), *line = tensor_of(SPY_SHAPE(W), 1, SPY_DTYPE_FLOAT32), *box = tensor_of(SPY_SHAPE(2, H, W), 1, SPY_DTYPE_FLOAT32);
    OK(spy_call(fn("uints"), SPY_ARGS(spy_arg_texture("a", u8), spy_arg_tensor("_result", uints))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_texture("a", f1), spy_arg_tensor("_result", line))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_texture("a", f3), spy_arg_tensor("_result", box))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_texture("a", fa), spy_arg_tensor("_result", box))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_texture("_result", f1))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_texture("_result", f3))));
    OK(spy_call(fn("ones"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_texture("_result", fa))));
    OK(spy_call(fn("of1"), SPY_ARGS(grid(SPY_SHAPE(W)), spy_arg_texture("t", f1), spy_arg_tensor("_result", line))));
    OK(spy_call(fn("of3"), SPY_ARGS(grid(SPY_SHAPE(2, H, W)), spy_arg_texture("t", f3), spy_arg_tensor("_result", box))));
    OK(spy_call(fn("of_array"), SPY_ARGS(grid(SPY_SHAPE(2, H, W)), spy_arg_texture("t", fa), spy_arg_tensor("_result", box))));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("add"), SPY_ARGS(spy_arg_texture("a", a), spy_arg_f32("b", 1), spy_arg_texture("_result", one))), "_result", "");
}

static void test_whole(void **state) {
    (void)state;
    spy_texture *a = plain(NULL), *to = plain(NULL);
    spy_tensor *out = tensor_of(SPY_SHAPE(H, W), 4, SPY_DTYPE_FLOAT32), *four = tensor_of(SPY_SHAPE(1), 4, SPY_DTYPE_FLOAT32);
    spy_sampler *linear = sampler_of(SPY_FILTER_LINEAR, SPY_ADDRESS_MODE_CLAMP), *nearest = sampler_of(SPY_FILTER_NEAREST, SPY_ADDRESS_MODE_BORDER);
    OK(spy_call(fn("scaled"), SPY_ARGS(points(), spy_arg_texture("t", a), spy_arg_f32("k", 2), spy_arg_tensor("_result", out))));
    assert_int_equal(seen_count, 1);
    assert_int_equal(object(0)->desc.filter, 0); // no sampler: for loads
    OK(spy_call(fn("put"), SPY_ARGS(points(), spy_arg_f32("v", 2), spy_arg_texture("t", to))));
    assert_int_equal(seen_count, 1);
    // The call's sampler becomes part of the texture's object, and another call's of another object.
    OK(spy_call(fn("sampled"), SPY_ARGS(middle(), spy_arg_texture("t", a), spy_arg_sampler("s", linear), spy_arg_tensor("_result", four))));
    assert_int_equal(seen_count, 1);
    assert_int_equal(object(0)->desc.filter, 1);
    assert_int_equal(object(0)->desc.address[0], 1);
    OK(spy_call(fn("sampled"), SPY_ARGS(middle(), spy_arg_texture("t", a), spy_arg_sampler("s", nearest), spy_arg_tensor("_result", four))));
    assert_int_equal(object(0)->desc.filter, 0);
    assert_int_equal(object(0)->desc.address[0], 3);
    OK(spy_call(fn("combined"), SPY_ARGS(middle(), spy_arg_sampled_texture("t", a, linear), spy_arg_tensor("_result", four))));
    assert_int_equal(object(0)->desc.filter, 1);
    const spy_arg fields[] = { spy_arg_texture("t", a), spy_arg_sampler("s", linear), spy_arg_f32("k", 2) };
    const spy_args list = { fields, 3 };
    OK(spy_call(fn("held"), SPY_ARGS(middle(), spy_arg_struct("h", list), spy_arg_tensor("_result", four))));
    assert_int_equal(seen_count, 1);
    assert_int_equal(object(0)->desc.filter, 1);
}

static void test_inputs(void **state) {
    (void)state;
    spy_texture *a = plain(NULL), *to = plain(NULL);
    spy_tensor *four = tensor_of(SPY_SHAPE(1), 4, SPY_DTYPE_FLOAT32), *out = tensor_of(SPY_SHAPE(H, W), 4, SPY_DTYPE_FLOAT32);
    spy_sampler *linear = sampler_of(SPY_FILTER_LINEAR, SPY_ADDRESS_MODE_CLAMP);
    spy_call_options o;
    memset(&o, 0, sizeof o);
    const spy_arg globals[] = { spy_arg_texture("global", a), spy_arg_texture("target", to), spy_arg_sampler("how", linear) };
    o.globals.items = globals;
    o.globals.count = 3;
    OK(spy_call_with(fn("of_global"), SPY_ARGS(middle(), spy_arg_tensor("_result", four)), &o));
    assert_true(seen_count >= 1);
    assert_int_equal(object(0)->desc.filter, 1);
    OK(spy_call_with(fn("to_target"), SPY_ARGS(points()), &o));
    assert_int_equal(seen_count, 2);
    spy_uint3 threads = { W, H, 1 };
    OK(spy_dispatch(fn("own"), threads, SPY_ARGS(spy_arg_texture("from", a), spy_arg_texture("to", to), spy_arg_f32("k", 2)), NULL));
    assert_int_equal(seen_count, 2);
    const spy_arg items[] = { spy_arg_texture(NULL, a), spy_arg_texture(NULL, to) };
    const spy_args two = { items, 2 };
    OK(spy_call(fn("two"), SPY_ARGS(points(), spy_arg_struct("t", two), spy_arg_tensor("_result", out))));
}

// A texture's gradient, its two objects, and the numbers of its sampler lie in the block. Derivatives read an object without a sampler.
static void test_gradients(void **state) {
    (void)state;
    static const float uv[4] = { 0.5f, 0.5f, 0.5f, 1 };
    spy_module_desc m;
    spy_texture_desc d;
    spy_tensor_desc of;
    memset(&m, 0, sizeof m);
    memset(&d, 0, sizeof d);
    memset(&of, 0, sizeof of);
    m.name = "gradients";
    m.source = gradients;
    spy_module *other_module = spy_load_module(device, &m);
    if (!other_module) fail_msg("%s", spy_take_error(device).message);
    d.format = SPY_FORMAT_RGBA32_FLOAT;
    d.width = W;
    d.height = H;
    d.with_grad = true;
    spy_texture *t = spy_create_texture(device, &d);
    assert_non_null(t);
    spy_texture *other = texture_of(SPY_TEXTURE_TYPE_2D, SPY_FORMAT_R32_FLOAT, H, 0, NULL);
    spy_sampler *linear = sampler_of(SPY_FILTER_LINEAR, SPY_ADDRESS_MODE_CLAMP), *nearest = sampler_of(SPY_FILTER_NEAREST, SPY_ADDRESS_MODE_WRAP);
    of.shape = SPY_SHAPE(1, 4);
    of.with_grad = true;
    spy_tensor *out = spy_create_tensor(device, &of), *all = tensor_of(SPY_SHAPE(H, W), 4, SPY_DTYPE_FLOAT32);
    assert_non_null(out);
    OK(spy_call(fn("scaled"), SPY_ARGS(points(), spy_arg_texture("t", t), spy_arg_f32("k", 2), spy_arg_tensor("_result", all))));
    const fake_texture *loads = object(0);
    address = spy_tensor_address(spy_texture_grad(t, 0));
    OK(spy_call_backward(spy_find_function(other_module, "plain"),
                         SPY_ARGS(spy_arg_texture("t", t), spy_arg_texture("other", other), spy_arg_sampler("s", linear),
                                  spy_arg_array("uv", uv, SPY_SHAPE(2), SPY_DTYPE_FLOAT32), spy_arg_tensor("_result", out))));
    assert_int_equal(address_count, 1);
    assert_ptr_equal(object(0), loads);
    assert_int_equal(loads->desc.filter, 0);
    assert_float_equal(loads->desc.max_level, 1000, 0);
    d.type = SPY_TEXTURE_TYPE_1D;
    d.height = 0;
    spy_texture *line = spy_create_texture(device, &d);
    d.type = SPY_TEXTURE_TYPE_CUBE;
    d.height = W;
    d.array_size = 2;
    spy_texture *cubes = spy_create_texture(device, &d);
    if (!line || !cubes) fail_msg("%s", spy_take_error(device).message);
    address = spy_tensor_address(spy_texture_grad(cubes, 0));
    OK(spy_call_backward(spy_find_function(other_module, "two"),
                         SPY_ARGS(spy_arg_texture("a", line), spy_arg_texture("b", cubes), spy_arg_sampler("s", linear), spy_arg_sampler("r", nearest),
                                  spy_arg_array("uv", uv, SPY_SHAPE(4), SPY_DTYPE_FLOAT32), spy_arg_tensor("_result", out))));
    assert_int_equal(address_count, 1);
    spy_release_module(other_module);
}

static spy_texture *sized(spy_format format, uint32_t width, uint32_t height, uint32_t levels, const void *data) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = format;
    d.width = width;
    d.height = height;
    d.levels = levels;
    d.data = data;
    spy_texture *t = spy_create_texture(device, &d);
    if (!t) fail_msg("%s", spy_take_error(device).message);
    return t;
}

static void test_blits(void **state) {
    (void)state;
    const float in[4] = { 0, 0.5f, 1, 0.25f };
    float out[16];
    uint8_t bytes[4];
    int8_t shorter[4];
    uint16_t halves[4];
    spy_texture *from = sized(SPY_FORMAT_R32_FLOAT, 2, 2, 1, in), *to = sized(SPY_FORMAT_R32_FLOAT, 4, 4, 1, NULL), *one = sized(SPY_FORMAT_R32_FLOAT, 1, 1, 1, NULL);
    OK(spy_texture_blit(to, from, SPY_FILTER_NEAREST));
    OK(spy_texture_read(to, NULL, out, sizeof out));
    for (int i = 0; i < 16; i++) assert_float_equal(out[i], in[i / 8 * 2 + i % 4 / 2], 0);
    OK(spy_texture_blit(to, from, SPY_FILTER_LINEAR));
    OK(spy_texture_read(to, NULL, out, sizeof out));
    assert_float_equal(out[0], 0, 0);
    assert_float_equal(out[1], 0.125, 1e-6);
    assert_float_equal(out[5], 0.75 * (0.75 * 0 + 0.25 * 0.5) + 0.25 * (0.75 * 1 + 0.25 * 0.25), 1e-6);
    OK(spy_texture_blit(one, from, SPY_FILTER_LINEAR));
    OK(spy_texture_read(one, NULL, out, 4));
    assert_float_equal(out[0], 0.4375, 1e-6);
    // Conversions, and back.
    spy_texture *unorm = sized(SPY_FORMAT_R8_UNORM, 2, 2, 1, NULL), *snorm = sized(SPY_FORMAT_R8_SNORM, 2, 2, 1, NULL), *half = sized(SPY_FORMAT_R16_FLOAT, 2, 2, 1, NULL),
                *back = sized(SPY_FORMAT_RGBA32_FLOAT, 2, 2, 1, NULL);
    OK(spy_texture_blit(unorm, from, SPY_FILTER_LINEAR));
    OK(spy_texture_read(unorm, NULL, bytes, 4));
    assert_true(bytes[0] == 0 && bytes[1] == 128 && bytes[2] == 255 && bytes[3] == 64);
    OK(spy_texture_blit(snorm, from, SPY_FILTER_LINEAR));
    OK(spy_texture_read(snorm, NULL, shorter, 4));
    assert_true(shorter[0] == 0 && shorter[1] == 64 && shorter[2] == 127 && shorter[3] == 32);
    OK(spy_texture_blit(half, from, SPY_FILTER_LINEAR));
    OK(spy_texture_read(half, NULL, halves, 8));
    assert_true(halves[0] == 0 && halves[1] == 0x3800 && halves[2] == 0x3c00 && halves[3] == 0x3400);
    OK(spy_texture_blit(back, half, SPY_FILTER_NEAREST));
    OK(spy_texture_read(back, NULL, out, 64));
    for (int i = 0; i < 4; i++) assert_true(out[4 * i] == in[i] && out[4 * i + 1] == 0 && out[4 * i + 2] == 0 && out[4 * i + 3] == 1);
    const uint8_t grey[4] = { 188, 188, 188, 128 };
    spy_texture *srgb = sized(SPY_FORMAT_RGBA8_UNORM_SRGB, 1, 1, 1, grey), *linear = sized(SPY_FORMAT_RGBA32_FLOAT, 1, 1, 1, NULL), *again = sized(SPY_FORMAT_RGBA8_UNORM_SRGB, 1, 1, 1, NULL);
    OK(spy_texture_blit(linear, srgb, SPY_FILTER_NEAREST));
    OK(spy_texture_read(linear, NULL, out, 16));
    assert_float_equal(out[0], 0.5029, 1e-3);
    assert_float_equal(out[3], 128 / 255.0f, 1e-6);
    OK(spy_texture_blit(again, linear, SPY_FILTER_NEAREST));
    OK(spy_texture_read(again, NULL, bytes, 4));
    assert_memory_equal(bytes, grey, 4);
    // Integers take the nearest ones that the format has.
    const int32_t whole[4] = { -1000, -5, 100, 70000 };
    int16_t small[4];
    spy_texture *wide = sized(SPY_FORMAT_R32_SINT, 2, 2, 1, whole), *narrow = sized(SPY_FORMAT_R16_SINT, 2, 2, 1, NULL);
    OK(spy_texture_blit(narrow, wide, SPY_FILTER_NEAREST));
    OK(spy_texture_read(narrow, NULL, small, 8));
    assert_true(small[0] == -1000 && small[1] == -5 && small[2] == 100 && small[3] == 32767);
    // Levels of one texture.
    float many[64], mean = 0;
    for (int i = 0; i < 64; i++) mean += (many[i] = (float)(i * 7 % 13)) / 64;
    spy_texture *mips = sized(SPY_FORMAT_R32_FLOAT, 8, 8, SPY_ALL_LEVELS, many);
    OK(spy_texture_generate_mips(mips));
    spy_texture_region last;
    memset(&last, 0, sizeof last);
    last.level = 3;
    OK(spy_texture_read(mips, &last, out, 4));
    assert_float_equal(out[0], mean, 1e-5);
}

// A list with work on textures is recorded each time; one with calls alone becomes a graph.
static void test_lists(void **state) {
    (void)state;
    spy_clear_color color = { { 1, 2, 3, 4 } };
    float got[H][W][4];
    spy_texture *a = plain(NULL), *to = plain(NULL);
    for (int copies = 0; copies < 2; copies++) {
        spy_command_list *list = spy_create_command_list(device, NULL);
        assert_non_null(list);
        if (copies) OK(spy_list_texture_clear(list, a, color));
        OK(spy_list_call(list, fn("add"), SPY_ARGS(spy_arg_texture("a", a), spy_arg_f32("b", 1), spy_arg_texture("_result", to))));
        OK(spy_list_call(list, fn("change"), SPY_ARGS(spy_arg_texture("v", to))));
        if (copies) OK(spy_list_texture_copy(list, to, NULL, a, NULL));
        OK(spy_list_finish(list));
        uint64_t graphs = fake->graph_launches;
        for (int i = 0; i < 3; i++) OK(spy_list_submit(list));
        OK(spy_wait(device));
        assert_true((fake->graph_launches > graphs) == !copies);
        spy_release_command_list(list);
    }
    OK(spy_texture_read(to, NULL, got, sizeof got));
    assert_memory_equal(got[2][4], color.floats, 16);
}

static void test_refused(void **state) {
    (void)state;
    spy_texture_desc d;
    spy_sampler_desc s;
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    d.format = SPY_FORMAT_BC1_UNORM;
    d.width = d.height = 4;
    assert_null(spy_create_texture(device, &d));
    assert_non_null(strstr(spy_take_error(device).message, "bc1_unorm"));
    d.format = SPY_FORMAT_RGBA8_UNORM;
    d.usage = SPY_TEXTURE_USAGE_STORED; // surfaces do not convert
    assert_null(spy_create_texture(device, &d));
    assert_non_null(strstr(spy_take_error(device).message, "STORED"));
    s.compare = SPY_COMPARE_LESS;
    assert_null(spy_create_sampler(device, &s));
    assert_non_null(strstr(spy_take_error(device).message, "compare"));
    assert_int_equal(slang_preludes, 0);
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes), cmocka_unit_test(test_texels), cmocka_unit_test(test_whole), cmocka_unit_test(test_inputs), cmocka_unit_test(test_gradients), cmocka_unit_test(test_blits), cmocka_unit_test(test_lists), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
