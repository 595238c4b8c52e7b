// The kinds texture, texture by texel and sampler, asked directly: what they bind to, the text that they write, what they pack,
// and the uses that follow. The textures are made by hand: no backend has to have images.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "data/texture_form.h"
#include "api/texture.h"
#include "backend/null/null.h"
#include "data/texture.h"
#include "kinds/internal.h"
#include "kinds/kinds.h"
#endif

static spy_device *device;
static spyi_types *cuda_types;

static int setup(void **state) {
    spy_device_desc d;
    (void)state;
    memset(&d, 0, sizeof d);
    d.backend = spyi_null_backend();
    device = spy_create_device(&d);
    cuda_types = spyi_types_create(SPYI_TARGET_CUDA);
    return device && cuda_types ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    spyi_types_destroy(cuda_types);
    spy_release_device(device);
    return 0;
}

// A texture of the given type and shape, in an image of its own.
typedef struct made {
    spyi_texture_image image;
    spy_texture texture;
    spyi_value value;
} made;

static void make_of(spyi_types *types, made *m, const char *type, spy_shape shape) {
    memset(m, 0, sizeof *m);
    m->image.desc.usage = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_STORED;
    m->image.texture.levels = 1;
    m->image.texture.layers = 1;
    m->texture.object.kind = (uint32_t)SPYI_KIND_TEXTURE;
    m->texture.object.device = device;
    m->texture.image = &m->image;
    m->texture.part.format = SPY_FORMAT_RGBA32_FLOAT;
    m->texture.part.level_count = m->texture.part.layer_count = 1;
    m->texture.type = spyi_type_other(types, type);
    m->texture.texel = spyi_texture_form_texel(types, type);
    m->texture.shape = shape;
    m->value.kind = SPY_ARG_KIND_CUSTOM;
    m->value.custom = spyi_texture_kind_of();
    m->value.held[0] = &m->texture.object;
    const char *problem = NULL;
    spy_arg arg = spy_arg_texture("t", &m->texture);
    assert_true(m->value.custom->run->describe(&arg, &m->value, &problem));
}

static void make(made *m, const char *type, spy_shape shape) {
    make_of(device->types, m, type, shape);
}

// Binds the value to a parameter of `type`; false: `why` has the reason.
static bool bind(made *m, const char *type, bool in, bool out, spyi_types *types, spyi_leaf *leaf, char why[256]) {
    spyi_fitting fitting;
    memset(&fitting, 0, sizeof fitting);
    memset(leaf, 0, sizeof *leaf);
    fitting.types = types;
    const spyi_type *parsed = spyi_type_parse(types, type);
    leaf->type = parsed ? parsed : spyi_type_other(types, type);
    leaf->in = in;
    leaf->out = out;
    spyi_leaf_set_kind(leaf, spyi_kind_of(leaf->type, &m->value));
    bool good = leaf->kind->build->bind(&fitting, &m->value, leaf);
    snprintf(why, 256, "%s%s", spyi_text_str(&fitting.why), spyi_text_str(&fitting.hint));
    spyi_text_free(&fitting.why);
    spyi_text_free(&fitting.hint);
    leaf->batch_rank = m->value.rank - leaf->consumed;
    for (uint32_t d = 0; d < leaf->batch_rank; d++) leaf->map[d] = (uint8_t)d;
    return good;
}

static void test_bind(void **state) {
    (void)state;
    static const struct {
        const char *type, *parameter;
        bool out, whole, writes;
        const char *why; // NULL: it binds
    } rows[] = {
        { "Texture2D<float4>", "Texture2D<float4>", false, true, false, NULL },
        { "Texture2D<float4>", "RWTexture2D<vector<float,4>>", false, true, true, NULL },
        { "Texture2D<float4>", "Texture2D<unorm vector<float,4>>", false, true, false, NULL },
        { "Texture2D<float4>", "Texture2D<float2>", false, true, false, NULL }, // reads the channels that it asks for
        { "Texture2D<float4>", "Texture2D<int4>", false, true, false, "" },
        { "Texture2D<float4>", "RWTexture2D<float2>", false, true, true, "" },
        { "Texture2D<float4>", "Texture2DArray<float4>", false, true, false, "" },
        { "Texture2D<float4>", "Sampler2D<float4>", false, true, false, "with its sampler" },
        { "Texture2D<float4>", "float4", false, false, false, NULL },
        { "Texture2D<float4>", "float4", true, false, true, NULL },
        { "Texture2D<float4>", "float3", false, false, false, "its texels are float4" },
        { "TextureCube<float4>", "float4", false, false, false, "not run over" },
        { "Texture2DMS<float4>", "float4", false, false, false, "not run over" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m;
        spyi_leaf leaf;
        char why[256];
        make(&m, rows[i].type, SPY_SHAPE(3, 5));
        bool good = bind(&m, rows[i].parameter, !rows[i].out, rows[i].out, device->types, &leaf, why);
        if (good != (rows[i].why == NULL)) fail_msg("%s for %s: %s", rows[i].type, rows[i].parameter, good ? "binds" : why);
        if (!good && !strstr(why, rows[i].why)) fail_msg("%s for %s: %s", rows[i].type, rows[i].parameter, why);
        assert_true(((leaf.traits & SPYI_TRAIT_VALUE) == 0) == rows[i].whole);
        assert_true(spyi_leaf_is_resource(&leaf));
        assert_false(spyi_leaf_is_whole(&leaf)); // which is what is said of tensors
        if (good) assert_int_equal(leaf.writes, rows[i].writes);
        if (!good) continue;
        assert_true(leaf.binds);
        make_of(cuda_types, &m, rows[i].type, SPY_SHAPE(3, 5));
        if (!bind(&m, rows[i].parameter, !rows[i].out, rows[i].out, cuda_types, &leaf, why)) fail_msg("%s for %s on CUDA: %s", rows[i].type, rows[i].parameter, why);
        assert_false(leaf.binds); // CUDA has no bindings: an object in the block, and the steps of what is run over
        assert_int_equal(leaf.field_size, rows[i].whole || rows[i].out ? 8 : 16);
        assert_int_equal(leaf.field_align, 8);
    }
}

static void test_text(void **state) {
    (void)state;
    static const struct {
        const char *type, *texel;
        spy_shape shape;
        const char *field, *load, *stored, *store;
    } rows[] = {
        { "Texture1D<float>", "float", { 1, { 7 } }, "Texture1D<float>", "b_x.Load(int2(spyi_coordinate(e, s, 0) * f[0], 0))", "RWTexture1D<float>",
          "b_x[uint(spyi_coordinate(e, s, 0))] = v" },
        { "Texture2D<float4>", "float4", { 2, { 3, 5 } }, "Texture2D<float4>",
          "b_x.Load(int3(spyi_coordinate(e, s, 1) * f[1], spyi_coordinate(e, s, 0) * f[0], 0))", "RWTexture2D<float4>",
          "b_x[uint2(spyi_coordinate(e, s, 1), spyi_coordinate(e, s, 0))] = v" },
        { "Texture2DArray<uint2>", "uint2", { 3, { 2, 3, 5 } }, "Texture2DArray<uint2>",
          "b_x.Load(int4(spyi_coordinate(e, s, 2) * f[2], spyi_coordinate(e, s, 1) * f[1], spyi_coordinate(e, s, 0) * f[0], 0))",
          "RWTexture2DArray<uint2>", "b_x[uint3(spyi_coordinate(e, s, 2), spyi_coordinate(e, s, 1), spyi_coordinate(e, s, 0))] = v" },
    };
    const spyi_place_text at = { "f", "b_x", "e", "e", "s", NULL, 3 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m;
        spyi_leaf leaf;
        char why[256];
        make(&m, rows[i].type, rows[i].shape);
        for (int out = 0; out < 2; out++) {
            spyi_text field = { NULL, 0, 0 }, code = { NULL, 0, 0 };
            assert_true(bind(&m, rows[i].texel, !out, out, device->types, &leaf, why));
            leaf.kind->build->field(&leaf, &field);
            if (out) leaf.kind->build->store(&leaf, &at, "v", &code);
            else leaf.kind->build->load(&leaf, &at, &code);
            assert_string_equal(spyi_text_str(&field), out ? rows[i].stored : rows[i].field);
            assert_string_equal(spyi_text_str(&code), out ? rows[i].store : rows[i].load);
            spyi_text_free(&field);
            spyi_text_free(&code);
        }
    }
    made m;
    spyi_leaf leaf;
    char why[256];
    spyi_text field = { NULL, 0, 0 }, code = { NULL, 0, 0 };
    make_of(cuda_types, &m, "Texture2D<float4>", SPY_SHAPE(3, 5));
    assert_true(bind(&m, "float4", true, false, cuda_types, &leaf, why));
    leaf.kind->build->field(&leaf, &field);
    leaf.kind->build->load(&leaf, &at, &code);
    assert_string_equal(spyi_text_str(&field), "SpyiTexels<Texture2D<float4>, 2>");
    assert_string_equal(spyi_text_str(&code), "f.texture.Load(int3(spyi_coordinate(e, s, 1) * f.steps[1], spyi_coordinate(e, s, 0) * f.steps[0], 0))");
    spyi_text_free(&field);
    spyi_text_free(&code);
    assert_true(bind(&m, "float4", false, true, cuda_types, &leaf, why));
    leaf.kind->build->field(&leaf, &field);
    leaf.kind->build->store(&leaf, &at, "v", &code);
    assert_string_equal(spyi_text_str(&field), "RWTexture2D<float4>");
    assert_string_equal(spyi_text_str(&code), "f[uint2(spyi_coordinate(e, s, 1), spyi_coordinate(e, s, 0))] = v");
    spyi_text_free(&field);
    spyi_text_free(&code);
}

static void test_pack(void **state) {
    (void)state;
    made m;
    spyi_leaf leaf;
    char why[256];
    int32_t steps[2] = { -1, -1 };
    spyi_binding binding;
    spyi_text error = { NULL, 0, 0 };
    make(&m, "Texture2D<float4>", SPY_SHAPE(1, 5));
    m.texture.sampled_view = 100;
    m.texture.stored_view = 200;
    assert_true(bind(&m, "float4", true, false, device->types, &leaf, why));
    assert_int_equal(leaf.field_size, sizeof steps);
    assert_true(leaf.kind->run->pack(&leaf, &m.value, steps, &error));
    assert_int_equal(steps[0], 0); // one row, which the call repeats
    assert_int_equal(steps[1], 1);
    // A texture that may be stored to is always in the layout for that.
    for (int k = 0; k < 4; k++) {
        static const char *const parameters[] = { "float4", "Texture2D<float4>", "float4", "RWTexture2D<float4>" };
        bool writes = k >= 2;
        assert_true(bind(&m, parameters[k], true, k == 2, device->types, &leaf, why));
        assert_true(leaf.kind->run->resource->binding(&leaf, &m.value, &binding, &error));
        assert_int_equal(binding.kind, writes ? SPYI_BINDING_RW_TEXTURE : SPYI_BINDING_TEXTURE);
        assert_int_equal(binding.handle, writes ? 200 : 100);
        assert_int_equal(binding.offset, SPYI_USE_STORED);
        spyi_use uses[SPYI_MOST_VALUE_USES];
        assert_int_equal(leaf.kind->run->resource->uses(&m.value, leaf.reads, leaf.writes, uses), 1);
        assert_ptr_equal(uses[0].resource, &m.image.texture.resource);
        assert_true(((uses[0].how & SPYI_USE_WRITES) != 0) == writes);
        assert_true(((uses[0].how & SPYI_USE_READS) != 0));
        assert_int_equal(uses[0].begin, 0);
        assert_int_equal(uses[0].end, 1);
    }
    m.image.desc.usage = SPY_TEXTURE_USAGE_SAMPLED;
    assert_true(bind(&m, "Texture2D<float4>", true, false, device->types, &leaf, why));
    assert_true(leaf.kind->run->resource->binding(&leaf, &m.value, &binding, &error));
    assert_int_equal(binding.offset, SPYI_USE_SAMPLED);
    // The copies of compile threads have no objects, and fit.
    m.value.held[0] = NULL;
    assert_true(leaf.kind->run->pack(&leaf, &m.value, NULL, &error));
    assert_int_equal(error.size, 0);
}

static void test_sampler(void **state) {
    (void)state;
    for (int compares = 0; compares < 2; compares++) {
        for (int wanted = 0; wanted < 2; wanted++) {
            spy_sampler sampler;
            spyi_value value;
            spyi_leaf leaf;
            spyi_fitting fitting;
            spyi_binding binding;
            spyi_text error = { NULL, 0, 0 };
            memset(&sampler, 0, sizeof sampler);
            memset(&value, 0, sizeof value);
            memset(&leaf, 0, sizeof leaf);
            memset(&fitting, 0, sizeof fitting);
            sampler.handle = 7;
            sampler.desc.compare = compares ? SPY_COMPARE_LESS : SPY_COMPARE_NONE;
            value.kind = SPY_ARG_KIND_CUSTOM;
            value.custom = spyi_sampler_kind_of();
            value.held[0] = &sampler.object;
            fitting.types = device->types;
            leaf.type = spyi_type_other(device->types, wanted ? "SamplerComparisonState" : "SamplerState");
            spyi_leaf_set_kind(&leaf, spyi_kind_of(leaf.type, &value));
            assert_true(leaf.kind->build->bind(&fitting, &value, &leaf));
            assert_int_equal(leaf.kind->run->pack(&leaf, &value, NULL, &error), compares == wanted);
            assert_true((error.size == 0) == (compares == wanted));
            assert_true(leaf.kind->run->resource->binding(&leaf, &value, &binding, &error));
            assert_int_equal(binding.kind, SPYI_BINDING_SAMPLER);
            assert_int_equal(binding.handle, 7);
            assert_int_equal(leaf.kind->run->resource->uses(&value, true, false, NULL), 0);
            leaf.type = spyi_type_other(device->types, "Texture2D<float4>");
            assert_false(leaf.kind->build->bind(&fitting, &value, &leaf));
            spyi_text_free(&error);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bind), cmocka_unit_test(test_text), cmocka_unit_test(test_pack),
                                        cmocka_unit_test(test_sampler) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
