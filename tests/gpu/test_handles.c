// Bindless handles: textures, samplers and tensors that functions reach by DescriptorHandle<T>, as arguments, in structs,
// in memory and in shaders' uniforms, against plain C. Devices without descriptor indexing refuse them by name; lavapipe
// has it from Mesa 23 on.
#include "gpu_test.h"

spy_device *gpu_device;

static spy_module *module;

static const char source[] =
    "float4 at(DescriptorHandle<Texture2D<float4>> h, int2 p) { return h[p]; }\n"
    "void put(DescriptorHandle<RWTexture2D<float4>> h, int2 p, float4 v) { RWTexture2D<float4> t = *h; t[p] = v; }\n"
    "float get(DescriptorHandle<StructuredBuffer<float>> b, int i) { return b[i]; }\n"
    "void add(DescriptorHandle<RWStructuredBuffer<float>> b, int i, float v) { RWStructuredBuffer<float> x = *b; x[i] += v; }\n"
    "float4 sampled(DescriptorHandle<Texture2D<float4>> t, DescriptorHandle<SamplerState> s, float2 uv) {\n"
    "    return t.SampleLevel(s, uv, 0);\n"
    "}\n"
    "float4 combined(DescriptorHandle<Sampler2D<float4>> t, float2 uv) { return t.SampleLevel(uv, 0); }\n"
    "struct Material { float k; DescriptorHandle<Texture2D<float4>> image; float4 tint; }\n"
    "float4 shade(Material m, int2 p) { return m.image[p] * m.k + m.tint; }\n"
    "float4 pick(StructuredBuffer<Material> all, int i, int2 p) {\n"
    "    Texture2D<float4> image = nonuniform(all[i].image);\n"
    "    return image[p] * all[i].k + all[i].tint;\n"
    "}\n"
    "[shader(\"compute\")] [numthreads(8, 8, 1)]\n"
    "void copy(uint3 t : SV_DispatchThreadID, uniform float k, uniform DescriptorHandle<Texture2D<float4>> from,\n"
    "          uniform DescriptorHandle<RWTexture2D<float4>> to) { RWTexture2D<float4> o = *to; o[t.xy] = from[t.xy] * k; }\n"
    "float typed(DescriptorHandle<Buffer<float>> b) { return b[0]; }\n"
    "[shader(\"vertex\")] float4 vs(uint id : SV_VertexID, uniform DescriptorHandle<StructuredBuffer<float>> corners) : SV_Position {\n"
    "    return float4(corners[2 * id], corners[2 * id + 1], 0.5, 1);\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs(float4 p : SV_Position, uniform float k, uniform DescriptorHandle<Texture2D<float4>> image,\n"
    "                               uniform Texture2D<float4> other) : SV_Target { return image[int2(p.xy)] * k + other[int2(p.xy)]; }\n";

enum { W = 16, H = 8, N = W * H };

static bool has_handles(void) { return gpu_device && (spy_get_device_info(gpu_device).features & SPY_FEATURE_HANDLES); }

#define HANDLES()                                                                                             \
    do {                                                                                                      \
        (void)state;                                                                                          \
        if (!gpu_device) skip();                                                                              \
        if (!has_handles()) {                                                                                 \
            print_message("skipped: the device has no descriptor indexing (SPY_FEATURE_HANDLES)\n");         \
            skip();                                                                                           \
        }                                                                                                     \
    } while (0)

#define VULKAN()                                                                                              \
    do {                                                                                                      \
        if (gpu_is_cuda()) {                                                                                  \
            print_message("skipped: on CUDA only textures have handles\n");                                  \
            skip();                                                                                           \
        }                                                                                                     \
    } while (0)

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

static void fill(float *data, float first) {
    for (int i = 0; i < 4 * N; i++) data[i] = first + (float)i / 8; // exact
}

static spy_texture *image(uint32_t usage, float first) {
    float data[4 * N];
    spy_texture_desc d;
    fill(data, first);
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_RGBA32_FLOAT;
    d.width = W;
    d.height = H;
    d.usage = usage;
    d.data = data;
    return MADE(spy_texture, spy_create_texture(gpu_device, &d));
}

static uint64_t handle_of(spy_texture *t, bool writable) {
    uint64_t handle = 77;
    OK(spy_texture_handle(t, writable, &handle));
    return handle;
}

static spy_tensor *floats(spy_shape shape, const float *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, shape, data));
}

static spy_arg texels(const char *name) {
    static spy_grid_desc grid; // lives until the call
    grid.shape = SPY_SHAPE(H, W);
    return spy_arg_grid(name, &grid);
}

// All texels of the call's result are k times those of fill(first), plus `more`.
static void result_is(spy_tensor *out, float first, float k, float more) {
    float got[4 * N], expected[4 * N];
    fill(expected, first);
    OK(spy_tensor_read(out, got, sizeof got));
    for (int i = 0; i < 4 * N; i++)
        if (got[i] != expected[i] * k + more) fail_msg("number %d is %g, expected %g", i, (double)got[i], (double)(expected[i] * k + more));
}

static void texture_is(spy_texture *t, float first, float k) {
    float got[4 * N], expected[4 * N];
    fill(expected, first);
    OK(spy_texture_read(t, NULL, got, sizeof got));
    for (int i = 0; i < 4 * N; i++)
        if (got[i] != expected[i] * k) fail_msg("number %d is %g, expected %g", i, (double)got[i], (double)(expected[i] * k));
}

static void texture_is_sum(spy_texture *t, float k, float more) {
    float got[4 * N], plain[4 * N];
    fill(plain, 0);
    OK(spy_texture_read(t, NULL, got, sizeof got));
    for (int i = 0; i < 4 * N; i++)
        if (got[i] != plain[i] * k + more) fail_msg("number %d is %g, expected %g", i, (double)got[i], (double)(plain[i] * k + more));
}

static const uint32_t both = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_STORED;

static void test_textures(void **state) {
    HANDLES();
    spy_texture *stored = image(both, 1), *sampled = image(SPY_TEXTURE_USAGE_SAMPLED, 500);
    spy_tensor *out = floats(SPY_SHAPE(H, W, 4), NULL);
    uint64_t a = handle_of(stored, false), b = handle_of(sampled, false), w = handle_of(stored, true);
    assert_true(a != b && handle_of(stored, false) == a);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("h", a), texels("p"), spy_arg_tensor("_result", out))));
    result_is(out, 1, 1, 0);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("h", b), texels("p"), spy_arg_tensor("_result", out))));
    result_is(out, 500, 1, 0);
    // Each call sees what the last one wrote, whether by a handle, an argument or a copy.
    OK(spy_texture_copy(stored, NULL, sampled, NULL));
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("h", a), texels("p"), spy_arg_tensor("_result", out))));
    OK(spy_call(fn("put"), SPY_ARGS(spy_arg_u64("h", w), texels("p"), spy_arg_texture("v", sampled))));
    result_is(out, 500, 1, 0);
    texture_is(stored, 500, 1);
    const float four[4] = { 1, 2, 3, 4 };
    OK(spy_call(fn("put"), SPY_ARGS(spy_arg_u64("h", w), texels("p"), spy_arg_f32n("v", four, 4))));
    float texel[4];
    const spy_texture_region one = { .x = 5, .y = 7, .width = 1, .height = 1 };
    OK(spy_texture_read(stored, &one, texel, sizeof texel));
    assert_memory_equal(texel, four, sizeof four);
    spy_release_texture(stored), spy_release_texture(sampled);
    spy_release_tensor(out);
}

static void test_structs(void **state) {
    HANDLES();
    spy_texture *one = image(both, 1), *two = image(SPY_TEXTURE_USAGE_SAMPLED, 100);
    spy_tensor *out = floats(SPY_SHAPE(H, W, 4), NULL);
    const float tint[4] = { 3, 3, 3, 3 };
    OK(spy_call(fn("shade"), SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_f32("k", 2), spy_arg_u64("image", handle_of(two, false)),
                                                                   spy_arg_f32n("tint", tint, 4))),
                                      texels("p"), spy_arg_tensor("_result", out))));
    result_is(out, 100, 2, 3);
    // In memory, by the members' places that reflection gives.
    const spy_type_info *type = spy_reflect_type(module, "Material");
    unsigned char bytes[2 * 64] = { 0 };
    assert_true(type && type->field_count == 3 && type->size_bytes <= 64);
    assert_int_equal(type->fields[1].type->kind, SPY_TYPE_KIND_HANDLE);
    for (int i = 0; i < 2; i++) {
        const float k = (float)(i + 1);
        const uint64_t handle = handle_of(i ? two : one, false);
        unsigned char *at = bytes + (size_t)i * type->size_bytes;
        memcpy(at + type->fields[0].offset_bytes, &k, sizeof k);
        memcpy(at + type->fields[1].offset_bytes, &handle, sizeof handle);
        memcpy(at + type->fields[2].offset_bytes, tint, sizeof tint);
    }
    spy_tensor *all = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "Material", module, SPY_SHAPE(2), bytes));
    for (int i = 0; i < 2; i++) {
        OK(spy_call(fn("pick"), SPY_ARGS(spy_arg_tensor("all", all), spy_arg_i32("i", i), texels("p"), spy_arg_tensor("_result", out))));
        result_is(out, i ? 100 : 1, (float)(i + 1), 3);
    }
    spy_release_tensor(all), spy_release_tensor(out);
    spy_release_texture(one), spy_release_texture(two);
}

static void test_tensors_and_samplers(void **state) {
    HANDLES();
    VULKAN();
    float data[N], got[N];
    int32_t places[N];
    for (int i = 0; i < N; i++) data[i] = (float)i, places[i] = i;
    spy_tensor *t = floats(SPY_SHAPE(N), data), *out = floats(SPY_SHAPE(N), NULL);
    spy_tensor *at = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(N), places));
    uint64_t h, s, c;
    OK(spy_tensor_handle(t, &h));
    OK(spy_call(fn("add"), SPY_ARGS(spy_arg_u64("b", h), spy_arg_tensor("i", at), spy_arg_f32("v", 5))));
    OK(spy_call(fn("get"), SPY_ARGS(spy_arg_u64("b", h), spy_arg_tensor("i", at), spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, got, sizeof got));
    for (int i = 0; i < N; i++) assert_true(got[i] == (float)i + 5);
    OK(spy_tensor_read(t, got, sizeof got));
    for (int i = 0; i < N; i++) assert_true(got[i] == (float)i + 5);

    spy_texture *picture = image(SPY_TEXTURE_USAGE_SAMPLED, 0);
    spy_sampler_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.min_filter = desc.mag_filter = SPY_FILTER_NEAREST;
    spy_sampler *sampler = MADE(spy_sampler, spy_create_sampler(gpu_device, &desc));
    OK(spy_sampler_handle(sampler, &s));
    OK(spy_sampled_texture_handle(picture, sampler, &c));
    const float uv[2] = { 3.5f / W, 2.5f / H };
    float texel[4];
    OK(spy_call(fn("sampled"), SPY_ARGS(spy_arg_u64("t", handle_of(picture, false)), spy_arg_u64("s", s), spy_arg_f32n("uv", uv, 2),
                                        spy_out_array("_result", texel, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    assert_true(texel[0] == (float)(4 * (2 * W + 3)) / 8);
    OK(spy_call(fn("combined"), SPY_ARGS(spy_arg_u64("t", c), spy_arg_f32n("uv", uv, 2),
                                         spy_out_array("_result", texel, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    assert_true(texel[3] == (float)(4 * (2 * W + 3) + 3) / 8);
    spy_release_sampler(sampler);
    spy_release_texture(picture);
    spy_release_tensor(t), spy_release_tensor(out), spy_release_tensor(at);
}

static void test_shaders_and_lists(void **state) {
    HANDLES();
    spy_texture *from = image(SPY_TEXTURE_USAGE_SAMPLED, 7), *to = image(both, 0);
    const spy_args args = SPY_ARGS(spy_arg_f32("k", 2), spy_arg_u64("from", handle_of(from, false)), spy_arg_u64("to", handle_of(to, true)));
    const spy_uint3 threads = { W, H, 1 };
    OK(spy_dispatch(fn("copy"), threads, args, NULL));
    texture_is(to, 7, 2);
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    const float zero[4] = { 0, 0, 0, 0 };
    OK(spy_list_call(list, fn("put"), SPY_ARGS(spy_arg_u64("h", handle_of(to, true)), texels("p"), spy_arg_f32n("v", zero, 4))));
    OK(spy_list_call(list, fn("put"), SPY_ARGS(spy_arg_u64("h", handle_of(to, true)), texels("p"), spy_arg_texture("v", from))));
    OK(spy_list_finish(list));
    for (int i = 0; i < 2; i++) {
        OK(spy_list_submit(list));
        texture_is(to, 7, 1);
        OK(spy_dispatch(fn("copy"), threads, args, NULL));
        texture_is(to, 7, 2);
    }
    spy_release_command_list(list);
    spy_release_texture(from), spy_release_texture(to);
}

// Both stages of a draw; the target has a handle, too, and is drawn into after it was read.
static void test_draws(void **state) {
    HANDLES();
    VULKAN();
    const float corners[6] = { -1, -1, 3, -1, -1, 3 };
    spy_tensor *t = floats(SPY_SHAPE(6), corners);
    spy_texture *a = image(both | SPY_TEXTURE_USAGE_COLOR_TARGET, 0), *b = image(both | SPY_TEXTURE_USAGE_COLOR_TARGET, 0),
                *other = image(SPY_TEXTURE_USAGE_SAMPLED, 4);
    spy_tensor *out = floats(SPY_SHAPE(H, W, 4), NULL);
    uint64_t h;
    OK(spy_tensor_handle(t, &h));
    spy_raster_desc rd;
    memset(&rd, 0, sizeof rd);
    rd.vertex = fn("vs");
    rd.fragment = fn("fs");
    spy_raster *r = MADE(spy_raster, spy_create_raster(gpu_device, &rd));
    spy_draw_desc d;
    memset(&d, 0, sizeof d);
    d.vertex_count = 3;
    for (int i = 0; i < 4; i++) { // b = 2 * a + other, a = 2 * b + other, ...
        spy_texture *from = i % 2 ? b : a;
        d.targets[0].texture = i % 2 ? a : b;
        OK(spy_draw(r, &d, SPY_ARGS(spy_arg_u64("corners", h), spy_arg_f32("k", 2), spy_arg_u64("image", handle_of(from, false)),
                                    spy_arg_texture("other", other)), NULL));
    }
    // 16 a + 15 other, with other = a + 4: all of it exact.
    texture_is_sum(a, 31, 60);
    OK(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("h", handle_of(a, false)), texels("p"), spy_arg_tensor("_result", out))));
    result_is(out, 0, 31, 60);
    spy_release_raster(r);
    spy_release_texture(a), spy_release_texture(b), spy_release_texture(other);
    spy_release_tensor(t), spy_release_tensor(out);
}

// Numbers are taken again when their textures have gone, while other work runs.
static void test_many(void **state) {
    HANDLES();
    spy_texture *to = image(both, 0);
    const int count = (int)test_count(3000);
    for (int i = 0; i < count; i++) {
        spy_texture *from = image(SPY_TEXTURE_USAGE_SAMPLED, (float)(i % 64));
        OK(spy_dispatch(fn("copy"), (spy_uint3){ W, H, 1 },
                        SPY_ARGS(spy_arg_f32("k", 1), spy_arg_u64("from", handle_of(from, false)), spy_arg_u64("to", handle_of(to, true))), NULL));
        if (i % 50 == 0) texture_is(to, (float)(i % 64), 1);
        spy_release_texture(from); // the GPU may not have read it yet
    }
    spy_release_texture(to);
}

static void test_errors(void **state) {
    (void)state;
    if (!gpu_device) skip();
    uint64_t h = 5;
    spy_texture *sampled = image(SPY_TEXTURE_USAGE_SAMPLED, 0);
    if (!has_handles()) {
        assert_int_not_equal(spy_texture_handle(sampled, false, &h), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "spy_texture_handle", "no bindless handles");
        assert_true(h == 0);
        // Their kernels compile, and are refused by the device.
        assert_int_not_equal(spy_call(fn("at"), SPY_ARGS(spy_arg_u64("h", 0), texels("p"))), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "at", "the kernel uses bindless handles", "descriptor indexing");
        assert_int_not_equal(spy_call(fn("add"), SPY_ARGS(spy_arg_u64("b", 0), spy_arg_i32("i", 0), spy_arg_f32("v", 5))), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "add", "the kernel uses bindless handles");
    } else {
        assert_int_not_equal(spy_texture_handle(sampled, true, &h), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "spy_texture_handle", "SPY_TEXTURE_USAGE_STORED");
        assert_true(h == 0);
        assert_int_not_equal(spy_call(fn("at"), SPY_ARGS(spy_arg_texture("h", sampled), texels("p"))), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'h'", "DescriptorHandle<Texture2D<float4>>", "it takes a handle as uint64");
    }
    if (has_handles() && !gpu_is_cuda()) {
        assert_int_not_equal(spy_call(fn("typed"), SPY_ARGS(spy_arg_u64("b", 0))), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_COMPILE, "typed", "handle of a Buffer");
        assert_int_not_equal(spy_sampled_texture_handle(sampled, NULL, &h), SPY_OK);
        ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "spy_sampled_texture_handle", "sampler", "NULL");
    }
    assert_int_not_equal(spy_texture_handle(sampled, false, NULL), SPY_OK);
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "handle", "NULL");
    spy_release_texture(sampled);
}

static int setup(void **state) {
    (void)state;
    return gpu_setup_dumped("handles", source, &module);
}

static void test_spirv(void **state) {
    (void)state;
    if (!gpu_device || gpu_is_cuda()) skip();
    gpu_check_spirv(gpu_dump_folder(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_textures),          cmocka_unit_test(test_structs), cmocka_unit_test(test_tensors_and_samplers),
        cmocka_unit_test(test_shaders_and_lists), cmocka_unit_test(test_draws),   cmocka_unit_test(test_many), cmocka_unit_test(test_errors), cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests_name("handles", tests, setup, gpu_teardown_dumped);
}
