// Gradients through draws, from C: uniforms, vertices and edges against sums that are known, lists, and what is refused.
// python/tests/test_draw_gradients.py compares random scenes with central differences.
#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;

static spy_module *module;
static spy_raster *both_differentiable; // of vs and fs: most tests share what has been compiled for it

static const char source[] =
    "struct Varying : IDifferentiable { float4 position : SV_Position; float2 weight : WEIGHT; }\n"
    "[Differentiable] [shader(\"vertex\")] Varying vs(float2 position : POSITION, float2 weight : WEIGHT, "
    "uniform float scale) {\n"
    "    Varying v; v.position = float4(position.x, position.y, 0, 1); v.weight = weight * scale; return v;\n"
    "}\n"
    "[shader(\"vertex\")] Varying vs_plain(float2 position : POSITION, float2 weight : WEIGHT) {\n"
    "    Varying v; v.position = float4(position.x, position.y, 0, 1); v.weight = weight; return v;\n"
    "}\n"
    "[Differentiable] [shader(\"fragment\")] float4 fs(Varying v, uniform float gain) : SV_Target {\n"
    "    return float4(gain * v.weight.x, gain * gain * v.weight.y, 0, 1);\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs_plain(Varying v, uniform float gain) : SV_Target { return float4(gain "
    "* v.weight.x, 0, 0, 1); }\n";

enum { W = 32, H = 24 };

typedef struct scene {
    spy_raster *raster;
    spy_texture *target;
    spy_tensor *position, *weight;
    spy_draw_desc draw;
} scene;

// A rectangle from (-0.5, -0.5) to (0.5, 0.5), of W / 2 x H / 2 pixels, and a gradient of 1 for all pixels.
static scene make(const char *vertex, const char *fragment) {
    static const float corners[4][2] = { { -0.5f, -0.5f }, { 0.5f, -0.5f }, { -0.5f, 0.5f }, { 0.5f, 0.5f } };
    static const float weights[4][2] = { { 1, 2 }, { 1, 2 }, { 1, 2 }, { 1, 2 } };
    scene s;
    memset(&s, 0, sizeof s);
    bool shared = strcmp(vertex, "vs") == 0 && strcmp(fragment, "fs") == 0;
    if (shared && both_differentiable) {
        spy_retain_raster(both_differentiable);
        s.raster = both_differentiable;
    } else {
        s.raster = MADE(
            spy_raster,
            spy_create_raster(gpu_device, &(spy_raster_desc){ .vertex = spy_find_function(module, vertex),
                                                              .fragment = spy_find_function(module, fragment),
                                                              .topology = SPY_TOPOLOGY_TRIANGLE_STRIP }));
        if (shared) {
            spy_retain_raster(s.raster);
            both_differentiable = s.raster;
        }
    }
    s.target =
        MADE(spy_texture,
             spy_create_texture(gpu_device, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                                                 .width = W,
                                                                 .height = H,
                                                                 .usage = SPY_TEXTURE_USAGE_COLOR_TARGET,
                                                                 .with_grad = true }));
    OK(spy_tensor_fill(spy_texture_grad(s.target, 0), 1));
    spy_tensor_desc t = { .type = "float2", .shape = SPY_SHAPE(4), .data = corners, .with_grad = true };
    s.position = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
    t.data = weights;
    s.weight = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
    s.draw.targets[0].texture = s.target;
    s.draw.targets[0].load = SPY_LOAD_CLEAR;
    return s;
}

static void drop(scene *s) {
    spy_release_raster(s->raster);
    spy_release_texture(s->target);
    spy_release_tensor(s->position);
    spy_release_tensor(s->weight);
}

static void near(double got, double expected, double bound) {
    if (fabs(got - expected) <= bound * fabs(expected)) return;
    print_error("expected %g, got %g\n", expected, got);
    fail();
}

// A pair in host memory; what has no gradient is a constant.
static void test_uniforms(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    spy_tensor *position = spy_create_detached(s.position), *weight = spy_create_detached(s.weight);
    float gain_grad = 5, scale_grad = 0;
    for (int i = 1; i <= 2; i++) {
        const spy_device_stats before = spy_get_device_stats(gpu_device);
        OK(spy_draw_backward(
            s.raster, &s.draw,
            SPY_ARGS(spy_arg_tensor("position", position), spy_arg_tensor("weight", weight),
                     spy_arg_f32("scale", 1),
                     spy_arg_diff_pair("gain", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &gain_grad)))),
            NULL));
        near(gain_grad, 5 + i * (W / 2 * H / 2 * (1 + 2 * 3 * 2)), 1e-5);
        // One dispatch over the corners and one over the pixels, which adds up a group's pixels before its one addition to
        // the gradient: there is no pass for the sum.
        const spy_device_stats after = spy_get_device_stats(gpu_device);
        assert_int_equal(after.dispatches - before.dispatches, 2);
        if (i == 2) assert_int_equal(after.kernels_built, before.kernels_built);
    }
    OK(spy_draw_backward(
        s.raster, &s.draw,
        SPY_ARGS(
            spy_arg_tensor("position", position), spy_arg_tensor("weight", weight), spy_arg_f32("gain", 3),
            spy_arg_diff_pair("scale", SPY_ARGS(spy_arg_f32(NULL, 2), spy_inout_f32(NULL, &scale_grad)))),
        NULL));
    near(scale_grad, W / 2 * H / 2 * (3 + 9 * 2), 1e-5);
    spy_release_tensor(position);
    spy_release_tensor(weight);
    drop(&s);
}

// The corners' shares sum to 1 in each pixel; gradients are added to; positions change nothing in a picture of one colour.
static void test_vertices(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    float weights[4][2], positions[4][2];
    for (int run = 1; run <= 2; run++) {
        OK(spy_draw_backward(s.raster, &s.draw,
                             SPY_ARGS(spy_arg_tensor("position", s.position),
                                      spy_arg_tensor("weight", s.weight), spy_arg_f32("scale", 1),
                                      spy_arg_f32("gain", 3)),
                             NULL));
        OK(spy_tensor_read(spy_tensor_grad(s.weight), weights, sizeof weights));
        near(weights[0][0] + weights[1][0] + weights[2][0] + weights[3][0], run * 3 * W / 2 * H / 2, 1e-5);
        near(weights[0][1] + weights[1][1] + weights[2][1] + weights[3][1], run * 9 * W / 2 * H / 2, 1e-5);
    }
    OK(spy_tensor_read(spy_tensor_grad(s.position), positions, sizeof positions));
    for (int i = 0; i < 8; i++) assert_true(fabsf(positions[i / 2][i % 2]) < 1e-3f);
    drop(&s);
}

// The rectangle's right edge moves by one unit of clip space: W / 2 pixels on H / 2 lines of the sum of its colours, in the
// first draw over black and in the second over a colour. Where the diagonal of the two triangles ends, one line counts for it.
static void test_edges(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    s.draw.edge_gradients = true;
    for (int over = 0; over < 2; over++) {
        float p[4][2], colors[4] = { 3, 18, 0, 1 }, sum = 0;
        for (int c = 0; c < 4; c++) {
            s.draw.targets[0].clear.floats[c] = over ? 0.5f : 0;
            sum += colors[c] - s.draw.targets[0].clear.floats[c];
        }
        OK(spy_tensor_zero_grad(s.position));
        OK(spy_draw_backward(
            s.raster, &s.draw,
            SPY_ARGS(spy_arg_tensor("position", s.position), spy_arg_tensor("weight", s.weight),
                     spy_arg_f32("scale", 1),
                     spy_arg_diff_pair("gain",
                                       SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &(float){ 0 })))),
            NULL));
        OK(spy_tensor_read(spy_tensor_grad(s.position), p, sizeof p));
        near(p[1][0] + p[3][0], sum * W / 2 * H / 2, 1.0 / 12);
        near(p[0][0] + p[2][0], -sum * W / 2 * H / 2, 1.0 / 12);
        near(p[2][1] + p[3][1], sum * H / 2 * W / 2, 1.0 / 12); // upwards
    }
    drop(&s);
}

static void test_lists(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    float weights[4][2] = { { 0 } };
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_call_options options = { .append_to = list };
    OK(spy_draw_backward(s.raster, &s.draw,
                         SPY_ARGS(spy_arg_tensor("position", s.position), spy_arg_tensor("weight", s.weight),
                                  spy_arg_f32("scale", 1), spy_arg_f32("gain", 3)),
                         &options));
    OK(spy_tensor_read(spy_tensor_grad(s.weight), weights, sizeof weights));
    assert_true(weights[0][0] == 0);
    OK(spy_list_finish(list));
    OK(spy_list_submit(list));
    OK(spy_tensor_read(spy_tensor_grad(s.weight), weights, sizeof weights));
    near(weights[0][0] + weights[1][0] + weights[2][0] + weights[3][0], 3 * W / 2 * H / 2, 1e-5);
    spy_release_command_list(list);
    drop(&s);
}

static void test_explain(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    char text[8192] = "", small[8] = "";
    const spy_arg args[] = { spy_arg_tensor("position", s.position), spy_arg_tensor("weight", s.weight),
                             spy_arg_f32("scale", 1), spy_arg_f32("gain", 3) };
    size_t size = spy_explain_draw(s.raster, &s.draw, (spy_args){ args, 4 }, NULL, text, sizeof text);
    assert_true(size < sizeof text && size == strlen(text));
    assert_non_null(strstr(text, "gradients of 2 triangles on 32 x 24 pixels"));
    assert_non_null(strstr(text, "not counted: which triangle a pixel shows"));
    assert_true(spy_explain_draw(s.raster, &s.draw, (spy_args){ args, 4 }, NULL, small, sizeof small) ==
                    size &&
                strlen(small) == 7);
    assert_true(spy_explain_draw(s.raster, &s.draw, (spy_args){ args, 2 }, NULL, text, sizeof text) > 0);
    drop(&s);
}

static void refused(scene *s, spy_status code, const char *word, bool scale) {
    spy_arg args[] = { spy_arg_tensor("position", s->position), spy_arg_tensor("weight", s->weight),
                       spy_arg_f32("gain", 3), spy_arg_f32("scale", 1) };
    assert_true(spy_draw_backward(s->raster, &s->draw, (spy_args){ args, scale ? 4 : 3 }, NULL) == code);
    gpu_error_is(gpu_device, code, (const char *const[]){ "spy_draw_backward", word, NULL }, __FILE__,
                 __LINE__);
}

static void test_bad(void **state) {
    (void)state;
    scene s = make("vs_plain", "fs");
    refused(&s, SPY_ERROR_UNSUPPORTED, "the vertex function 'vs_plain' is not differentiable", false);
    drop(&s);
    s = make("vs", "fs_plain");
    refused(&s, SPY_ERROR_UNSUPPORTED, "the fragment function 'fs_plain' is not differentiable", true);
    drop(&s);
    s = make("vs", "fs");
    spy_texture *bare =
        MADE(spy_texture,
             spy_create_texture(gpu_device, &(spy_texture_desc){ .format = SPY_FORMAT_RGBA32_FLOAT,
                                                                 .width = W,
                                                                 .height = H,
                                                                 .usage = SPY_TEXTURE_USAGE_COLOR_TARGET }));
    s.draw.targets[0].texture = bare;
    refused(&s, SPY_ERROR_INVALID_ARGUMENT, "no target has a gradient", true);
    s.draw.targets[0].texture = s.target;
    s.draw.targets[0].load = SPY_LOAD_DEFAULT;
    s.draw.edge_gradients = true;
    refused(&s, SPY_ERROR_UNSUPPORTED, "edge_gradients needs the colour behind", true);
    assert_true(spy_draw_backward(NULL, &s.draw, SPY_NO_ARGS, NULL) != SPY_OK);
    spy_take_error(NULL);
    assert_true(spy_draw_backward(s.raster, NULL, SPY_NO_ARGS, NULL) == SPY_ERROR_INVALID_ARGUMENT);
    gpu_error_is(gpu_device, SPY_ERROR_INVALID_ARGUMENT,
                 (const char *const[]){ "expected a spy_draw_desc, got NULL", NULL }, __FILE__, __LINE__);
    spy_release_texture(bare);
    drop(&s);
}

// >>host memory that runs out

static long allocations_left = -1; // before one fails; negative: none does

static bool fails(void) {
    return allocations_left >= 0 && allocations_left-- == 0;
}

static void *allocate(size_t size, size_t alignment, void *user) {
    (void)alignment, (void)user;
    return fails() ? NULL : malloc(size);
}

static void *reallocate(void *memory, size_t old_size, size_t new_size, size_t alignment, void *user) {
    (void)old_size, (void)alignment, (void)user;
    return fails() ? NULL : realloc(memory, new_size);
}

static void release(void *memory, size_t size, void *user) {
    (void)size, (void)user;
    free(memory);
}

// A step that fails inside gives its own status, which is also the device's error.
static void test_host_memory(void **state) {
    (void)state;
    scene s = make("vs", "fs");
    spy_arg args[] = { spy_arg_tensor("position", s.position), spy_arg_tensor("weight", s.weight),
                       spy_arg_f32("gain", 3), spy_arg_f32("scale", 1) };
    OK(spy_draw_backward(s.raster, &s.draw, (spy_args){ args, 4 }, NULL));
    long n = 0, failures = 0;
    for (bool over = false; !over && n < 1000; n++) {
        allocations_left = n;
        spy_status status = spy_draw_backward(s.raster, &s.draw, (spy_args){ args, 4 }, NULL);
        over = allocations_left >= 0;
        allocations_left = -1;
        spy_error e = spy_take_error(gpu_device);
        if (status != e.code || (status != SPY_OK && status != SPY_ERROR_OUT_OF_MEMORY))
            fail_msg("allocation %ld: '%s', and the device has '%s': %s", n, spy_status_text(status),
                     spy_status_text(e.code), e.message);
        failures += status != SPY_OK;
    }
    assert_true(failures > 3 && n < 1000);
    drop(&s);
}

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    d.allocator = (spy_allocator){ .allocate = allocate, .reallocate = reallocate, .free = release };
    gpu_device = gpu_open(&d);
    if (!gpu_device) return 0;
    module = gpu_module(gpu_device, "draw_gradients", source);
    if (!module) print_error("%s\n", spy_take_error(gpu_device).message);
    return module ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spy_release_raster(both_differentiable);
    spy_release_device(gpu_device);
    return 0;
}

int main(void) {
    if (gpu_is_cuda()) {
        puts("skipped: no raster on CUDA");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniforms), cmocka_unit_test(test_vertices), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_explain),  cmocka_unit_test(test_bad),
        cmocka_unit_test(test_host_memory),
    };
    return cmocka_run_group_tests_name("draw gradients", tests, setup, teardown);
}
