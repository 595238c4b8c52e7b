// Gradients of textures. Samples are linear in texels, so that differences of the device's own samples are the gradients of texels: every
// address mode and filter, two levels, random coordinates outside of 0 to 1. Bound: weight_error() of 1 + the expected value, for 24
// samples with gradients of 1. python/tests/test_texture_grad.py compares with a reference in double. Also: lists, prepared and
// deterministic calls, texel by texel, bad input.
#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;

static uint64_t random_state = 7;

static float random_unit(void) { // splitmix64
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((z >> 16) % 65536) / 65536;
}

static spy_module *module;

static const char source[] =
    "import slangpy;\n"
    "[Differentiable] float shade(DiffTexture2D<float> t, DiffSamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }\n"
    "[Differentiable] float plain(Texture2D<float> t, SamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }\n"
    "[Differentiable] float stored(RWTexture2D<float> t, float x) { return x; }\n"
    "[Differentiable] float twice(float x) { return x * x; }\n";

static spy_function *fn(const char *name) { return MADE(spy_function, spy_find_function(module, name)); }

enum { W = 5, H = 4, LEVELS = 2, TEXELS = W * H + 2 * 2, COUNT = 24 };

static spy_tensor *tensor(spy_shape shape, const float *data, bool with_grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    d.with_grad = with_grad;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static void write_levels(spy_texture *t, const float *texels) {
    spy_texture_region second = { 0 };
    second.level = 1;
    OK(spy_texture_write(t, NULL, texels, W * H * sizeof *texels));
    OK(spy_texture_write(t, &second, texels + W * H, 4 * sizeof *texels));
}

static spy_texture *texture(const float *texels, bool with_grad) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_R32_FLOAT;
    d.width = W;
    d.height = H;
    d.levels = LEVELS;
    d.with_grad = with_grad;
    spy_texture *t = MADE(spy_texture, spy_create_texture(gpu_device, &d));
    write_levels(t, texels);
    return t;
}

static spy_sampler *sampler(spy_address_mode mode, spy_filter filter) {
    spy_sampler_desc d;
    memset(&d, 0, sizeof d);
    d.min_filter = d.mag_filter = filter;
    d.address_u = mode;
    d.address_v = mode == SPY_ADDRESS_MODE_WRAP ? SPY_ADDRESS_MODE_MIRROR : mode;
    return MADE(spy_sampler, spy_create_sampler(gpu_device, &d));
}

static void gradients(spy_texture *t, float *grad) {
    OK(spy_tensor_read(spy_texture_grad(t, 0), grad, W * H * sizeof *grad));
    OK(spy_tensor_read(spy_texture_grad(t, 1), grad + W * H, 4 * sizeof *grad));
}

// What a test samples, and 1 as the gradient of each sample.
static spy_tensor *uv, *level, *out;

static void make_samples(void) {
    float at[COUNT * 2], levels[COUNT];
    for (int i = 0; i < COUNT * 2; i++) at[i] = random_unit() * 4 - 1.5f;
    for (int i = 0; i < COUNT; i++) levels[i] = random_unit() * 2 - 0.5f;
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(COUNT, 2);
    uv = tensor(d.shape, at, true);
    level = tensor(SPY_SHAPE(COUNT), levels, true);
    out = tensor(SPY_SHAPE(COUNT), NULL, true);
    OK(spy_tensor_fill(spy_tensor_grad(out), 1));
}

static void drop_samples(void) {
    spy_release_tensor(uv);
    spy_release_tensor(level);
    spy_release_tensor(out);
}

static double loss(spy_function *f, spy_texture *t, spy_sampler *s) {
    float values[COUNT];
    double sum = 0;
    OK(spy_call(f, SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv), spy_arg_tensor("level", level),
                            spy_arg_tensor("_result", out))));
    OK(spy_tensor_read(out, values, sizeof values));
    for (int i = 0; i < COUNT; i++) sum += (double)values[i];
    return sum;
}

static spy_status backward(spy_function *f, spy_texture *t, spy_sampler *s, const spy_call_options *options) {
    return spy_call_with(f, SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv), spy_arg_tensor("level", level),
                                     spy_arg_tensor("_result", out)),
                         options);
}

static spy_call_options backward_options(bool deterministic) {
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.mode = SPY_CALL_MODE_BACKWARD;
    options.deterministic = deterministic;
    return options;
}

static void need_textures(void) {
    if (!gpu_device) skip();
    if (gpu_has_textures()) return;
    print_message("skipped: this backend passes no textures to kernels\n");
    skip();
}

// How far the weights of a device's filter may be from our own, which have all bits of a float: units of 8 bits on a GPU
// (Vulkan's least, VkPhysicalDeviceLimits.subTexelPrecisionBits), a few samples for each texel. lavapipe computes with floats.
static double weight_error(void) {
    return strstr(spy_get_device_info(gpu_device).name, "llvmpipe") ? 1e-3 : 1.0 / 32;
}

static void test_differences(void **state) {
    (void)state;
    need_textures();
    spy_call_options options = backward_options(false), exact = backward_options(true);
    float texels[TEXELS], grad[TEXELS], other[TEXELS];
    for (int i = 0; i < TEXELS; i++) texels[i] = random_unit();
    int last = gpu_is_cuda() ? SPY_ADDRESS_MODE_BORDER : SPY_ADDRESS_MODE_MIRROR_ONCE; // CUDA does not mirror once
    for (int mode = SPY_ADDRESS_MODE_WRAP; mode <= last; mode++) {
        for (int filter = SPY_FILTER_NEAREST; filter <= SPY_FILTER_LINEAR; filter++) {
            spy_texture *t = texture(texels, true);
            spy_sampler *s = sampler((spy_address_mode)mode, (spy_filter)filter);
            make_samples();
            OK(backward(fn("shade"), t, s, &options));
            gradients(t, grad);
            OK(spy_texture_zero_grad(t));
            OK(backward(fn("plain"), t, s, &exact)); // another form of the function, and other sums
            gradients(t, other);
            for (int i = 0; i < TEXELS; i++) {
                float old = texels[i];
                texels[i] = old + 1;
                write_levels(t, texels);
                double high = loss(fn("shade"), t, s);
                texels[i] = old - 1;
                write_levels(t, texels);
                double expected = (high - loss(fn("shade"), t, s)) / 2;
                texels[i] = old;
                if (fabs((double)grad[i] - expected) > weight_error() * (1 + fabs(expected)) || fabs((double)grad[i] - (double)other[i]) > 1e-5 * (1 + fabs(expected)))
                    fail_msg("mode %d, filter %d: texel %d has %g and %g, expected %g", mode, filter, i, (double)grad[i], (double)other[i], expected);
            }
            spy_release_texture(t);
            spy_release_sampler(s);
            drop_samples();
        }
    }
}

static void test_lists_and_prepared_calls(void **state) {
    (void)state;
    need_textures();
    float texels[TEXELS], once[TEXELS], grad[TEXELS];
    for (int i = 0; i < TEXELS; i++) texels[i] = random_unit();
    spy_texture *t = texture(texels, true);
    spy_sampler *s = sampler(SPY_ADDRESS_MODE_CLAMP, SPY_FILTER_LINEAR);
    make_samples();
    for (int exact = 0; exact < 2; exact++) {
        spy_call_options options = backward_options(exact);
        OK(spy_texture_zero_grad(t));
        OK(backward(fn("shade"), t, s, &options));
        gradients(t, once);
        OK(spy_texture_zero_grad(t));
        spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
        options.append_to = list;
        OK(backward(fn("shade"), t, s, &options));
        OK(spy_list_finish(list));
        for (int i = 0; i < 3; i++) OK(spy_list_submit(list));
        gradients(t, grad);
        for (int i = 0; i < TEXELS; i++) assert_true(fabsf(grad[i] - 3 * once[i]) <= 1e-5f * (1 + fabsf(once[i])));
        spy_release_command_list(list);
        options.append_to = NULL;
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.options = &options;
        spy_args args = SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv), spy_arg_tensor("level", level),
                                 spy_arg_tensor("_result", out));
        spy_prepared *prepared = MADE(spy_prepared, spy_prepare(fn("shade"), args, &d));
        OK(spy_texture_zero_grad(t));
        for (int i = 0; i < 2; i++) OK(spy_call_prepared(prepared, args));
        gradients(t, grad);
        for (int i = 0; i < TEXELS; i++) assert_true(fabsf(grad[i] - 2 * once[i]) <= 1e-5f * (1 + fabsf(once[i])));
        spy_release_prepared(prepared);
    }
    spy_release_texture(t);
    spy_release_sampler(s);
    drop_samples();
}

static void test_by_texel(void **state) {
    (void)state;
    need_textures();
    float texels[TEXELS], grad[W * H];
    for (int i = 0; i < TEXELS; i++) texels[i] = random_unit();
    spy_texture *t = texture(texels, true), *result = texture(texels, true);
    OK(spy_tensor_fill(spy_texture_grad(result, 0), 0.5));
    OK(spy_call_backward(fn("twice"), SPY_ARGS(spy_arg_texture("x", t), spy_arg_texture("_result", result))));
    OK(spy_tensor_read(spy_texture_grad(t, 0), grad, sizeof grad));
    for (int i = 0; i < W * H; i++) assert_true(fabsf(grad[i] - texels[i]) < 1e-6f);
    spy_release_texture(t);
    spy_release_texture(result);
}

static void test_errors(void **state) {
    (void)state;
    need_textures();
    float texels[TEXELS] = { 0 };
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = SPY_FORMAT_RGBA8_UINT;
    d.with_grad = true;
    assert_null(spy_create_texture(gpu_device, &d));
    gpu_error_is(gpu_device, SPY_ERROR_TYPE_MISMATCH, (const char *const[]){ "spy_create_texture", "rgba8_uint", "no gradients", NULL }, __FILE__, __LINE__);
    spy_texture *t = texture(texels, true), *bare = texture(texels, false);
    spy_texture_view_desc view;
    memset(&view, 0, sizeof view);
    spy_texture *detached = MADE(spy_texture, spy_texture_view(t, &view));
    view.with_grad = true;
    view.level = 1;
    spy_texture *own = MADE(spy_texture, spy_texture_view(t, &view));
    assert_null(spy_texture_grad(detached, 0));
    assert_non_null(spy_texture_grad(own, 0));
    assert_int_equal(spy_get_tensor_info(spy_texture_grad(own, 0)).shape.dims[0], H / 2);
    assert_null(spy_texture_grad(t, LEVELS));
    gpu_error_is(gpu_device, SPY_ERROR_OUT_OF_RANGE, (const char *const[]){ "spy_texture_grad", "level is 2", NULL }, __FILE__, __LINE__);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_zero_grad(bare), "spy_texture_zero_grad", "no gradient");
    spy_sampler *s = sampler(SPY_ADDRESS_MODE_WRAP, SPY_FILTER_LINEAR);
    make_samples();
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("shade"), SPY_ARGS(spy_arg_tensor("t", level), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv),
                                                                  spy_arg_tensor("level", level), spy_arg_tensor("_result", out))),
          "'t'", "DiffTexture2D<float>", "it takes a texture");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(fn("stored"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_tensor("x", level), spy_arg_tensor("_result", out))),
          "'t'", "RWTexture2D", "no derivatives");
    FAILS(SPY_ERROR_UNSUPPORTED,
          spy_call_forward_diff(fn("shade"), SPY_ARGS(spy_arg_texture("t", t), spy_arg_sampler("s", s), spy_arg_tensor("uv", uv),
                                                      spy_arg_tensor("level", level), spy_arg_tensor("_result", out))),
          "'t'", "forward mode");
    drop_samples();
    spy_release_sampler(s);
    spy_release_texture(own);
    spy_release_texture(detached);
    spy_release_texture(bare);
    spy_release_texture(t);
}

static int setup(void **state) {
    (void)state;
    return gpu_setup_dumped("texture_grads", source, &module);
}

static void test_spirv(void **state) {
    (void)state;
    need_textures();
    if (gpu_is_cuda()) skip();
    gpu_check_spirv(gpu_dump_folder(), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences), cmocka_unit_test(test_lists_and_prepared_calls), cmocka_unit_test(test_by_texel),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests_name("gradients of textures", tests, setup, gpu_teardown_dumped);
}
