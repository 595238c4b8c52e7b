// What draws write to: clears, scissors, depth, stencil, blending, several targets, samples, layers; and rasters that are refused.
#include "vk_raster_test.h"

// Clip space has y = 1 at the upper edge: the triangle covers the picture's lower left half.
static void test_triangle_with(test_gpu *t) {
    static const uint32_t formats[2] = { SPY_FORMAT_RGBA8_UNORM, SPY_FORMAT_RGBA32_FLOAT };
    const block b = test_block(0.5f, 1, 1, 1);
    for (int f = 0; f < 2; f++) {
        spyi_raster_desc desc = test_vertex_desc(formats[f]);
        spyi_kernel *kernel = test_load(t, &desc);
        picture p = picture_make(t, formats[f], SIZE, SIZE, 1), *all = &p;
        spyi_chunk vertices = test_chunk(t, lower_left, sizeof lower_left);
        spyi_draw_work d = test_draw(kernel, &b, &p);
        test_clear(&d, 0, 0, 1, 1);
        d.buffers[0].handle = vertices.handle;
        d.buffer_count = 1;
        d.work.before.barrier = true;
        test_record(t, &d, &all, 1);
        float floats[SIZE * SIZE][4];
        unsigned char bytes[SIZE * SIZE][4];
        picture_read(t, &p, f == 0 ? (void *)bytes : floats);
        for (int y = 0; y < SIZE; y++) {
            for (int x = 0; x < SIZE; x++) {
                const bool inside = x < y;
                if (x == y) continue; // the edge
                for (int c = 0; c < 4; c++) {
                    const float want = c == 3 ? 1.0f : inside ? (c == 0 ? 0.5f : 0) : c == 2 ? 1.0f : 0;
                    const float is = f == 0 ? (float)bytes[y * SIZE + x][c] / 255 : floats[y * SIZE + x][c];
                    if (is < want - 0.004f || is > want + 0.004f)
                        fail_msg("%d, %d, channel %d: %g, not %g", x, y, c, (double)is, (double)want);
                }
            }
        }
        assert_int_equal(test_stats(t)->passes, f + 1);
        test_wait_all(t);
        picture_free(t, &p);
        backend->free_chunk(t->gpu, &vertices);
        backend->destroy_kernel(t->gpu, kernel);
    }
}
BOTH_WAYS(test_triangle)

// >>targets

static void test_clears_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    const block b = test_block(1, 0, 0, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    d.count = 0; // legal: only clears
    test_clear(&d, 0, 1, 0, 1);
    canvas_draw(t, &c, &d);
    expect_rectangle(t, &c, 0, 0, SIZE, SIZE, green, green);
    d = test_draw(c.kernel, &b, &c.p); // old content is kept
    d.instance_count = 0;
    canvas_draw(t, &c, &d);
    expect_rectangle(t, &c, 0, 0, SIZE, SIZE, green, green);
    d.instance_count = 1;
    d.targets[0].ignore = true;
    canvas_draw(t, &c, &d);
    expect_rectangle(t, &c, 0, 0, SIZE, SIZE, red, red);
    canvas_close(t, &c);
}
BOTH_WAYS(test_clears)

static void test_scissor_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    const block b = test_block(1, 0, 0, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    const int32_t scissor[4] = { -3, 5, 13, 7 };
    test_clear(&d, 0, 0, 0, 1);
    memcpy(d.scissor, scissor, sizeof scissor);
    test_vk(t)->pushed_size = sizeof b; // as a kernel has left it: a draw's block overwrites a kernel's push constants
    canvas_draw(t, &c, &d);
    assert_int_equal(test_vk(t)->pushed_size, 0);
    expect_rectangle(t, &c, 0, 5, 10, 7, red, black);
    // A viewport: the triangle is larger than it, but is clipped at its edges only where the scissor says so.
    const float viewport[6] = { 16, 8, 32, 16, 0, 1 };
    const int32_t inside[4] = { 16, 8, 32, 16 };
    memcpy(d.viewport, viewport, sizeof viewport);
    memcpy(d.scissor, inside, sizeof inside);
    canvas_draw(t, &c, &d);
    expect_rectangle(t, &c, 16, 8, 32, 16, red, black);
    canvas_close(t, &c);
}
BOTH_WAYS(test_scissor)

static void test_depth_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    desc.state.depth_format = SPY_FORMAT_D32_FLOAT;
    desc.state.depth_compare = SPY_COMPARE_LESS;
    desc.state.depth_write = 1;
    canvas c = canvas_open(t, &desc, 1);
    picture depth = picture_make(t, SPY_FORMAT_D32_FLOAT, SIZE, SIZE, 1), *all[2] = { &c.p, &depth };
    static const float at[4] = { 0.5f, 0.25f, 0.75f, 1.0f }; // the second one wins
    float values[SIZE * SIZE];
    for (int i = 0; i < 4; i++) {
        block b = test_block((float)(i + 1), 0, 0, 1);
        b.depth = at[i];
        spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
        d.depth.image = depth.image.handle;
        d.depth.view = depth.target;
        d.depth.depth = 1;
        d.depth.clear = i == 0;
        if (i == 0) test_clear(&d, 0, 0, 0, 1);
        if (i == 1) d.scissor[2] = SIZE / 2;
        test_record(t, &d, all, 2);
    }
    assert_int_equal(test_stats(t)->passes, 1);
    const float first[4] = { 1, 0, 0, 1 }, second[4] = { 2, 0, 0, 1 };
    expect_rectangle(t, &c, 0, 0, SIZE / 2, SIZE, second, first);
    picture_read(t, &depth, values);
    for (int i = 0; i < SIZE * SIZE; i++) assert_true(values[i] == at[i % SIZE < SIZE / 2]);
    test_wait_all(t);
    picture_free(t, &depth);
    canvas_close(t, &c);
}
BOTH_WAYS(test_depth)

// The first draw marks a rectangle, the second one draws where the mark is.
static void test_stencil_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    desc.state.depth_format = SPY_FORMAT_D32_FLOAT_S8_UINT;
    desc.state.stencil_enabled = 1;
    desc.state.stencil_read_mask = desc.state.stencil_write_mask = 255;
    for (int i = 0; i < 2; i++) {
        desc.state.stencil[i][2] = SPY_STENCIL_OP_REPLACE;
        desc.state.stencil[i][3] = SPY_COMPARE_ALWAYS;
    }
    spyi_kernel *mark = test_load(t, &desc);
    for (int i = 0; i < 2; i++) {
        desc.state.stencil[i][2] = SPY_STENCIL_OP_DEFAULT;
        desc.state.stencil[i][3] = SPY_COMPARE_EQUAL;
    }
    canvas c = canvas_open(t, &desc, 1);
    picture depth = picture_make(t, SPY_FORMAT_D32_FLOAT_S8_UINT, SIZE, SIZE, 1), *all[2] = { &c.p, &depth };
    for (int i = 0; i < 2; i++) {
        const block b = test_block(i == 0 ? 0 : 1, 0, 0, 1);
        spyi_draw_work d = test_draw(i == 0 ? mark : c.kernel, &b, &c.p);
        d.depth.image = depth.image.handle;
        d.depth.view = depth.target;
        d.depth.clear = d.depth.clear_stencil = i == 0;
        d.depth.stencil = 3;
        d.stencil_reference = 7;
        if (i == 0) {
            test_clear(&d, 0, 0, 0, 1);
            const int32_t scissor[4] = { 10, 20, 30, 8 };
            memcpy(d.scissor, scissor, sizeof scissor);
        }
        test_record(t, &d, all, 2);
    }
    expect_rectangle(t, &c, 10, 20, 30, 8, red, black);
    picture_free(t, &depth);
    backend->destroy_kernel(t->gpu, mark);
    canvas_close(t, &c);
}
BOTH_WAYS(test_stencil)

static void test_blend_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    spyi_raster_blend *b = &desc.state.blends[0];
    b->enabled = 1;
    b->color_from = SPY_BLEND_FACTOR_SOURCE_ALPHA;
    b->color_to = SPY_BLEND_FACTOR_ONE_MINUS_SOURCE_ALPHA;
    b->alpha_from = SPY_BLEND_FACTOR_ZERO;
    b->alpha_to = SPY_BLEND_FACTOR_CONSTANT;
    b->keeps = 2; // green
    canvas c = canvas_open(t, &desc, 1);
    const block tint = test_block(0, 1, 0.5f, 0.25f);
    spyi_draw_work d = test_draw(c.kernel, &tint, &c.p);
    test_clear(&d, 1, 0.125f, 0, 1);
    for (int i = 0; i < 4; i++) d.blend_color[i] = 0.5f;
    canvas_draw(t, &c, &d);
    const float want[4] = { 0.75f, 0.125f, 0.125f, 0.5f };
    expect_rectangle(t, &c, 0, 0, SIZE, SIZE, want, want);
    canvas_close(t, &c);
}
BOTH_WAYS(test_blend)

static void test_two_targets_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_two);
    desc.state.target_count = 2;
    desc.state.target_formats[1] = SPY_FORMAT_RGBA8_UNORM;
    canvas c = canvas_open(t, &desc, 1);
    picture second = picture_make(t, SPY_FORMAT_RGBA8_UNORM, SIZE, SIZE, 1), *all[2] = { &c.p, &second };
    unsigned char bytes[SIZE * SIZE][4];
    const block b = test_block(1, 0, 0, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    d.target_count = 2;
    d.targets[1].image = second.image.handle;
    d.targets[1].view = second.target;
    d.scissor[3] = 10;
    test_clear(&d, 0, 0, 0, 1);
    d.targets[1].clear = true;
    d.targets[1].color.floats[1] = 1;
    test_record(t, &d, all, 2);
    expect_rectangle(t, &c, 0, 0, SIZE, 10, red, black);
    picture_read(t, &second, bytes);
    for (int i = 0; i < SIZE * SIZE; i++) { // unorm: what is above 1 becomes 255
        const bool in = i / SIZE < 10;
        const int want[4] = { !in ? 0 : i % SIZE == 0 ? 128 : 255, !in || i / SIZE > 0 ? 255 : 128, 0, in ? 255 : 0 };
        for (int k = 0; k < 4; k++) assert_true(abs(bytes[i][k] - want[k]) <= 1);
    }
    test_wait_all(t);
    picture_free(t, &second);
    backend->destroy_kernel(t->gpu, c.kernel);
    // The first target is missing: the fragment shader's first output is dropped.
    desc.state.target_formats[0] = SPY_FORMAT_NONE;
    desc.state.target_formats[1] = SPY_FORMAT_RGBA32_FLOAT;
    c.kernel = test_load(t, &desc);
    d = test_draw(c.kernel, &b, &c.p);
    d.target_count = 2;
    d.targets[1] = d.targets[0];
    memset(&d.targets[0], 0, sizeof d.targets[0]);
    canvas_draw(t, &c, &d);
    picture_read(t, &c.p, c.pixels);
    expect_color(&c, 20, 30, 20.5f, 30.5f, 0, 1);
    canvas_close(t, &c);
}
BOTH_WAYS(test_two_targets)

static void test_samples_with(test_gpu *t) {
    spyi_raster_desc desc = test_vertex_desc(SPY_FORMAT_RGBA32_FLOAT);
    desc.state.samples = 4;
    canvas c = canvas_open(t, &desc, 4);
    picture result = picture_make(t, SPY_FORMAT_RGBA32_FLOAT, SIZE, SIZE, 1), *all[2] = { &c.p, &result };
    spyi_chunk vertices = test_chunk(t, lower_left, sizeof lower_left);
    const block b = test_block(1, 1, 1, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    test_clear(&d, 0, 0, 0, 1);
    d.buffers[0].handle = vertices.handle;
    d.buffer_count = 1;
    d.work.before.barrier = true;
    d.targets[0].resolve = result.target;
    test_record(t, &d, all, 2);
    picture_read(t, &result, c.pixels);
    int between = 0;
    for (int i = 0; i < SIZE * SIZE; i++) {
        const int x = i % SIZE, y = i / SIZE;
        const float value = c.pixels[i][0];
        if (x != y) expect_color(&c, x, y, x < y ? 1 : 0, 0, 0, 1);
        else between += value > 0.2f && value < 0.8f;
    }
    assert_int_equal(between, SIZE); // pixels of the edge have the average of their samples
    test_wait_all(t);
    backend->free_chunk(t->gpu, &vertices);
    picture_free(t, &result);
    canvas_close(t, &c);
}
BOTH_WAYS(test_samples)

// >>layers

// Two layers as one target: both are cleared, and the draw is into the first one.
static void test_layers_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    picture both;
    spyi_image_view_desc view;
    spyi_image_copy_work copy;
    spyi_transition transitions[2];
    const block b = test_block(1, 0, 0, 1);
    memset(&both, 0, sizeof both);
    both.desc = c.p.desc;
    both.desc.array = true;
    both.desc.layers = 2;
    test_ok(t, backend->images->create(t->gpu, &both.desc, "layers", &both.image, &t->error));
    memset(&view, 0, sizeof view);
    view.type = SPY_TEXTURE_TYPE_2D;
    view.format = both.desc.format;
    view.array = view.target = true;
    view.level_count = 1;
    view.layer_count = 2;
    test_ok(t, backend->images->create_view(t->gpu, &both.image, &both.desc, &view, 0, &both.target, &t->error));
    spyi_draw_work d = test_draw(c.kernel, &b, &both);
    d.layers = 2;
    test_clear(&d, 0, 1, 0, 1);
    d.work.before.transition_count = picture_use(&both, SPYI_USE_WRITES | SPYI_USE_ATTACHMENT, &transitions[0]);
    transitions[0].layer_count = 2;
    d.work.before.transitions = transitions;
    test_ok(t, spyi_record(backend, t->gpu, &d.work, &t->error));
    for (uint32_t layer = 0; layer < 2; layer++) {
        memset(&copy, 0, sizeof copy);
        copy.work = spyi_work_of(spyi_work_image_copy());
        copy.work.before.transition_count = picture_use(&both, SPYI_USE_READS | SPYI_USE_COPIED, &transitions[0]);
        transitions[0].layer_count = 2;
        copy.work.before.transition_count += picture_use(&c.p, SPYI_USE_WRITES | SPYI_USE_COPIED,
                                                         &transitions[copy.work.before.transition_count]);
        copy.work.before.transitions = transitions;
        copy.to = c.p.image.handle;
        copy.from = both.image.handle;
        copy.to_desc = c.p.desc;
        copy.from_desc = both.desc;
        copy.to_box.width = copy.to_box.height = SIZE;
        copy.to_box.depth = copy.to_box.layer_count = 1;
        copy.from_box = copy.to_box;
        copy.from_box.first_layer = layer;
        test_ok(t, spyi_record(backend, t->gpu, &copy.work, &t->error));
        const float *want = layer == 0 ? red : green;
        expect_rectangle(t, &c, 0, 0, SIZE, SIZE, want, want);
    }
    test_wait_all(t);
    backend->images->destroy_view(t->gpu, both.target, false);
    backend->images->destroy(t->gpu, &both.image);
    canvas_close(t, &c);
}
BOTH_WAYS(test_layers)

// >>refusals

// What a device lacks is refused by its name, before the driver sees it.
static void refused(test_gpu *t, const spyi_raster_desc *desc, const char *what) {
    spyi_kernel *kernel = NULL;
    assert_int_equal(backend->raster->load(t->gpu, desc, &kernel, &t->error), SPY_ERROR_UNSUPPORTED);
    assert_null(kernel);
    if (!strstr(spyi_text_str(&t->error), what)) fail_msg("'%s' lacks '%s'", spyi_text_str(&t->error), what);
    spyi_text_clear(&t->error);
}

static void test_refusals_with(test_gpu *t) {
    bool *has = test_vk(t)->adapter.features;
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT), vertices = test_vertex_desc(SPY_FORMAT_RGBA8_UNORM);
    memset(has + SPYI_VK_FEATURE_REQUIRED, 0, SPYI_VK_FEATURE_COUNT - SPYI_VK_FEATURE_REQUIRED);
    refused(t, &desc, "shaderDrawParameters"); // SV_VertexID
    has[SPYI_VK_FEATURE_shaderDrawParameters] = true;
    backend->destroy_kernel(t->gpu, test_load(t, &desc));
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_count);
    refused(t, &desc, "fragmentStoresAndAtomics"); // atomics
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_store);
    refused(t, &desc, "fragmentStoresAndAtomics"); // a store
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_main);
    desc.state.wireframe = 1;
    refused(t, &desc, "fillModeNonSolid");
    desc.state.wireframe = 0;
    desc.state.depth_clamped = 1;
    refused(t, &desc, "depthClamp");
    desc.state.depth_clamped = 0;
    desc.state.depth_bias_clamp = 1;
    refused(t, &desc, "depthBiasClamp");
    desc.state.depth_bias_clamp = 0;
    desc.state.blends[0].enabled = 1;
    desc.state.blends[0].color_to = SPY_BLEND_FACTOR_SOURCE1_COLOR;
    refused(t, &desc, "dualSrcBlend");
    desc.state.blends[0].color_to = SPY_BLEND_FACTOR_ONE;
    desc.state.target_count = 2;
    desc.state.target_formats[1] = SPY_FORMAT_RGBA8_UNORM;
    refused(t, &desc, "independentBlend");
    desc = test_raster_desc(SPY_FORMAT_R32_UINT);
    desc.state.blends[0].enabled = 1;
    refused(t, &desc, "cannot blend into r32_uint");
    desc = test_raster_desc(SPY_FORMAT_D32_FLOAT);
    refused(t, &desc, "cannot draw into d32_float as a colour target");
    desc = test_raster_desc(SPY_FORMAT_RGBA8_UNORM);
    desc.state.depth_format = SPY_FORMAT_RGBA8_UNORM;
    refused(t, &desc, "cannot draw into rgba8_unorm as a depth target");
    vertices.state.buffers[0].per_instance = 3;
    refused(t, &vertices, "vertexAttributeInstanceRateDivisor");
    vertices.state.buffers[0].per_instance = 0;
    vertices.state.attributes[0].format = SPY_FORMAT_BC1_UNORM;
    refused(t, &vertices, "no vertex attributes of format bc1_unorm");
    vertices = test_vertex_desc(SPY_FORMAT_RGBA8_UNORM);
    vertices.state.buffers[0].stride = 1u << 30;
    refused(t, &vertices, "1073741824 bytes apart");
    vertices = test_vertex_desc(SPY_FORMAT_RGBA8_UNORM);
    vertices.stages[SPYI_RASTER_VERTEX] = vertices.stages[SPYI_RASTER_FRAGMENT];
    spyi_kernel *kernel = NULL;
    assert_int_equal(backend->raster->load(t->gpu, &vertices, &kernel, &t->error), SPY_ERROR_NOT_FOUND);
    assert_non_null(strstr(spyi_text_str(&t->error), "no vertex entry point 'fragment_main'"));
    spyi_text_clear(&t->error);
}
BOTH_WAYS(test_refusals)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle), cmocka_unit_test(test_clears), cmocka_unit_test(test_scissor),
        cmocka_unit_test(test_depth), cmocka_unit_test(test_stencil), cmocka_unit_test(test_blend),
        cmocka_unit_test(test_two_targets), cmocka_unit_test(test_samples), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_layers),
    };
    return RUN_RASTER_TESTS(tests);
}
