// Textures on the null backend: the table of formats, what descs and views become, bad input, the transitions and barriers before
// work, when images are freed, and textures in command lists. What texels become on a device: tests/gpu/test_texture.c.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // popen
#endif
#include "data_test.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/internal.h"
#include "data/texture.h"
#include "list/list.h"
#endif
#include <stdio.h>

// >>helpers

static int open_null(void **state) {
    (void)state;
    return data_open(NULL, data_defaults());
}

static spy_texture_desc described(spy_format format, uint32_t width, uint32_t height) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = format;
    d.width = width;
    d.height = height;
    return d;
}

static spy_texture *made_at(const spy_texture_desc *d, int line) {
    spy_texture *t = spy_create_texture(device, d);
    if (!t) print_error("line %d: %s\n", line, spy_take_error(device).message);
    assert_non_null(t);
    return t;
}
#define TEXTURE(d) made_at(d, __LINE__)

static spy_texture *viewed(spy_texture *t, uint32_t level, uint32_t levels, uint32_t layer, uint32_t layers) {
    spy_texture_view_desc d;
    memset(&d, 0, sizeof d);
    d.level = level, d.level_count = levels, d.layer = layer, d.layer_count = layers;
    return spy_texture_view(t, &d);
}

// The work since the last time, as text, in which the image's handle is `T`.
static void told_at(const spy_texture *t, const char *expected, int line) {
    spyi_text text = { NULL, 0, 0 }, plain = { NULL, 0, 0 };
    char handle[32];
    GOOD(spy_wait(device));
    spyi_null_tell_work(device->gpu, &text);
    snprintf(handle, sizeof handle, "texture %u ", (unsigned)t->image->image.handle);
    for (const char *at = spyi_text_str(&text); *at;) {
        bool here = strncmp(at, handle, strlen(handle)) == 0;
        if (here) spyi_text_add(&plain, "T ");
        else spyi_text_add_n(&plain, at, 1);
        at += here ? strlen(handle) : 1;
    }
    if (strcmp(spyi_text_str(&plain), expected) != 0)
        print_error("line %d: expected\n%sgot\n%s", line, expected, spyi_text_str(&plain));
    assert_string_equal(spyi_text_str(&plain), expected);
    spyi_text_free(&text), spyi_text_free(&plain);
    spyi_null_clear_ops(device->gpu);
}
#define TOLD(t, expected) told_at(t, expected, __LINE__)

static spy_clear_color red(void) {
    spy_clear_color c = { { 1, 0, 0, 1 } };
    return c;
}

// >>formats

// Every member of every format is what python/slangpy/formats.py says, and the other way round.
static void test_formats(void **state) {
    (void)state;
    char command[1024], line[256];
    snprintf(command, sizeof command,
             "python3 -c \"\n"
             "import re\n"
             "text = open('%.*s/../../python/slangpy/formats.py').read()\n"
             "text = re.sub('from .enums import .*',\n"
             "    'from enum import IntEnum as _IntEnum, IntFlag as _IntFlag\\nclass Format(int): undefined = 0', text)\n"
             "names = {}\n"
             "exec(text, names)\n"
             "for i in range(1, len(names['_NUMBERS']) + 1):\n"
             "    f = names['FormatInfo'](i)\n"
             "    print(f.name, f.bytes_per_block, f.block_width, f.block_height, f.channel_count, *f.channel_bit_count,\n"
             "        f.type.name, int(f.is_depth), int(f.is_stencil), int(f.is_compressed))\n"
             "\"",
             (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    uint32_t count = 0;
    while (fgets(line, sizeof line, pipe)) {
        const spy_format_info f = spy_get_format_info((spy_format)++count);
        char own[256];
        const char *kind = f.is_srgb      ? "unorm_srgb"
                           : f.is_unorm   ? "unorm"
                           : f.is_snorm   ? "snorm"
                           : f.is_float   ? "float"
                           : f.is_signed  ? "sint"
                           : f.is_integer ? "uint"
                                          : "?";
        snprintf(own, sizeof own, "%s %u %u %u %u %u %u %u %u %s %d %d %d\n", f.name, f.block_bytes, f.block_width, f.block_height,
                 f.channels, f.bits[0], f.bits[1], f.bits[2], f.bits[3], kind, f.has_depth, f.has_stencil, f.is_compressed);
        assert_string_equal(own, line);
        assert_true((f.dtype == SPY_DTYPE_FLOAT32) == !f.is_integer);
    }
    assert_int_equal(pclose(pipe), 0); // tests need python3 anyway
    assert_int_equal(count, SPY_FORMAT_COUNT - 1);
    assert_null(spy_get_format_info(SPY_FORMAT_NONE).name);
    assert_null(spy_get_format_info(SPY_FORMAT_COUNT).name);
    assert_null(spy_get_format_info((spy_format)-1).name);
}

// >>descs and views

static void shape_is(spy_texture *t, const char *expected, const char *type) {
    spyi_text text = { NULL, 0, 0 };
    spy_texture_info info = spy_get_texture_info(t);
    spyi_shape_text(&info.shape, &text);
    assert_string_equal(spyi_text_str(&text), expected);
    spyi_text_free(&text);
    assert_string_equal(t->type->display, type);
}

static void test_descs(void **state) {
    (void)state;
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 0, 0);
    spy_texture *t = TEXTURE(&d);
    shape_is(t, "(1, 1)", "Texture2D<float4>");
    spy_texture_info info = spy_get_texture_info(t);
    assert_int_equal(info.type, SPY_TEXTURE_TYPE_2D);
    assert_int_equal(info.usage, SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_STORED | SPY_TEXTURE_USAGE_COPIED);
    assert_int_equal(info.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(info.columns, 4);
    assert_string_equal(info.label, "");
    spy_release_texture(t);

    d = described(SPY_FORMAT_R32_UINT, 37, 0);
    d.type = SPY_TEXTURE_TYPE_1D, d.array_size = 1, d.label = "line";
    t = TEXTURE(&d);
    shape_is(t, "(1, 37)", "Texture1DArray<uint>");
    assert_string_equal(spy_get_texture_info(t).label, "line");
    assert_int_equal(spy_get_texture_info(t).array_size, 1);
    spy_release_texture(t);

    d = described(SPY_FORMAT_RG16_FLOAT, 9, 5);
    d.type = SPY_TEXTURE_TYPE_3D, d.depth = 3, d.levels = SPY_ALL_LEVELS;
    t = TEXTURE(&d);
    shape_is(t, "(3, 5, 9)", "Texture3D<float2>");
    assert_int_equal(spy_get_texture_info(t).levels, 4);
    spy_texture *v = viewed(t, 1, 0, 0, 0);
    shape_is(v, "(1, 2, 4)", "Texture3D<float2>");
    assert_int_equal(spy_get_texture_info(v).levels, 3);
    assert_int_equal(spy_get_texture_info(v).first_level, 1);
    spy_release_texture(v), spy_release_texture(t);

    d = described(SPY_FORMAT_RGBA8_SINT, 8, 8);
    d.type = SPY_TEXTURE_TYPE_CUBE, d.array_size = 2, d.levels = 3;
    t = TEXTURE(&d);
    shape_is(t, "(12, 8, 8)", "TextureCubeArray<int4>");
    info = spy_get_texture_info(t);
    assert_int_equal(info.layer_count, 12);
    assert_int_equal(info.array_size, 2);
    assert_int_equal(info.size_bytes, 12 * 8 * 8 * 4);
    v = viewed(t, 0, 0, 6, 6);
    shape_is(v, "(6, 8, 8)", "TextureCube<int4>");
    spy_texture *w = viewed(v, 2, 1, 4, 1); // a view of a view
    shape_is(w, "(2, 2)", "Texture2D<int4>");
    info = spy_get_texture_info(w);
    assert_int_equal(info.first_level, 2);
    assert_int_equal(info.first_layer, 10);
    spy_release_texture(v), spy_release_texture(t); // the view of a view keeps the image
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 1);
    shape_is(w, "(2, 2)", "Texture2D<int4>");
    v = viewed(w, 0, 0, 0, 0);
    spy_release_texture(w);
    spy_release_texture(v);
    d = described(SPY_FORMAT_D32_FLOAT, 4, 4);
    d.usage = SPY_TEXTURE_USAGE_DEPTH_TARGET, d.samples = 4;
    t = TEXTURE(&d);
    shape_is(t, "(4, 4)", "Texture2DMS<float>");
    spy_release_texture(t);
    d = described(SPY_FORMAT_RGBA8_UNORM, 4, 4);
    t = TEXTURE(&d);
    spy_texture_view_desc srgb;
    memset(&srgb, 0, sizeof srgb);
    srgb.format = SPY_FORMAT_RGBA8_UNORM_SRGB;
    v = spy_texture_view(t, &srgb);
    assert_int_equal(spy_get_texture_info(v).format, SPY_FORMAT_RGBA8_UNORM_SRGB);
    spy_release_texture(v), spy_release_texture(t);
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 0);
    assert_int_equal(spy_get_device_stats(device).texture_bytes, 0);
    assert_int_equal(spy_format_support(device, SPY_FORMAT_ASTC6X6_UNORM), 0);
    assert_int_equal(spy_format_support(device, (spy_format)1000), 0);
}

// >>bad input

static void refused_at(const spy_texture_desc *d, spy_status code, const char *words, int line) {
    const char *const list[] = { "spy_create_texture: ", words, NULL };
    assert_null(spy_create_texture(device, d));
    data_error_is(device, code, list, line);
}
#define REFUSED(d, code, words) refused_at(d, code, words, __LINE__)

static void test_bad_descs(void **state) {
    (void)state;
    const spy_texture_desc good = described(SPY_FORMAT_RGBA8_UNORM, 8, 4);
    unsigned char bytes[256] = { 0 };
    spy_texture_desc d = good;
    REFUSED(NULL, SPY_ERROR_INVALID_ARGUMENT, "expected a desc, got NULL");
    assert_null(spy_create_texture(NULL, &good));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "expected a device, got NULL");
    d._end_canary = 1;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "was not zeroed");
    d = good, d.format = SPY_FORMAT_NONE;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "desc.format is not set");
    d = good, d.format = (spy_format)999;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "desc.format is 999, not one of spy_format");
    d = good, d.type = (spy_texture_type)9;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "desc.type is 9");
    d = good, d.usage = SPY_TEXTURE_USAGE_FILTERED;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "no usage of a texture: 0x20");
    d = good, d.type = SPY_TEXTURE_TYPE_1D;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "desc.height is 4: a 1-D texture has only a width");
    d = good, d.depth = 2;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "only 3-D textures have a depth; layers are desc.array_size");
    d = good, d.type = SPY_TEXTURE_TYPE_3D, d.array_size = 2;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "no arrays of 3-D textures");
    d = good, d.type = SPY_TEXTURE_TYPE_CUBE;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "a cube's faces are square, desc has 8 x 4");
    d = good, d.levels = 5;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "at most 4 levels");
    d = good, d.samples = 3;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "desc.samples is 3, no power of two");
    d = good, d.samples = 4, d.levels = 2;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "a multisampled texture is 2-D and has one level");
    d = good, d.samples = 4, d.usage = SPY_TEXTURE_USAGE_STORED;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "a multisampled texture cannot be STORED");
    d = good, d.samples = 4, d.data = bytes;
    REFUSED(&d, SPY_ERROR_INVALID_ARGUMENT, "takes no data");
    d = good, d.data = bytes, d.data_size_bytes = 127;
    REFUSED(&d, SPY_ERROR_SHAPE_MISMATCH, "data_size_bytes is 127, level 0 with all layers has 128 bytes");
    d = good, d.format = SPY_FORMAT_D32_FLOAT_S8_UINT, d.data = bytes;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "texels of d32_float_s8_uint do not lie in host memory");
    d = good, d.width = 20000;
    REFUSED(&d, SPY_ERROR_OUT_OF_RANGE, "20000 x 4 x 1 texels and 1 layers exceed");
    d = good, d.array_size = UINT32_MAX;
    REFUSED(&d, SPY_ERROR_OUT_OF_RANGE, "desc.array_size is 4294967295");
    d = good, d.width = 16384, d.height = 16384, d.array_size = 2000;
    REFUSED(&d, SPY_ERROR_OUT_OF_DEVICE_MEMORY, "do not fit into the device's");
    // Formats and uses that the device has not: what it has, and the nearest format that has it.
    d = good, d.format = SPY_FORMAT_RGBA8_UNORM_SRGB, d.usage = SPY_TEXTURE_USAGE_STORED;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "rgba8_unorm_srgb cannot be STORED on 'null device', which has for them: SAMPLED, COPIED, "
                                       "COLOR_TARGET, FILTERED, BLENDED, MULTISAMPLED; the nearest format that it has for this is "
                                       "rgba8_unorm");
    d = good, d.format = SPY_FORMAT_RGB32_FLOAT, d.usage = SPY_TEXTURE_USAGE_STORED;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "for this is rgba32_float");
    d = good, d.format = SPY_FORMAT_ASTC6X6_UNORM;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "the device 'null device' has no textures of format astc6x6_unorm; the nearest format that it "
                                       "has for this is rgba8_unorm");
    d = good, d.format = SPY_FORMAT_D16_UNORM, d.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "d16_unorm cannot be COLOR_TARGET");
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_ALLOCATE, 0, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
    spy_texture *t = TEXTURE(&good); // once more, after cached memory went back
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_RECORD, 0, SPY_ERROR_INTERNAL);
    d = good, d.data = bytes;
    REFUSED(&d, SPY_ERROR_INTERNAL, "the test asked for this failure");
    spyi_null_fail(device->gpu, SPYI_NULL_STEP_RECORD, 1, SPY_ERROR_INTERNAL);
    REFUSED(&d, SPY_ERROR_INTERNAL, "the test asked for this failure");
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 1);
    spy_release_texture(t);
    spy_release_texture(t);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "the texture has been released already");
    spy_release_texture(NULL);
    assert_int_equal(spy_get_texture_info(NULL).width, 0);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "expected a texture, got NULL");
    assert_int_equal(spy_get_texture_info((spy_texture *)(void *)device).width, 0);
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "expected a texture, got a device");
}

static void test_bad_views(void **state) {
    (void)state;
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 8, 8);
    d.type = SPY_TEXTURE_TYPE_CUBE, d.levels = 2;
    spy_texture *t = TEXTURE(&d);
    spy_texture_view_desc v;
    assert_null(viewed(t, 2, 0, 0, 0));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "spy_texture_view: 1 levels from level 2 on are not within the texture's 2");
    assert_null(viewed(t, 1, 2, 0, 0));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "2 levels from level 1 on");
    assert_null(viewed(t, 0, 0, 6, 0));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "1 layers from layer 6 on are not within the texture's 6");
    assert_null(viewed(t, 0, 0, 3, UINT32_MAX));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "layers from layer 3 on");
    assert_null(viewed(t, 0, 0, 2, 0));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "from layer 2 on a cube has 4 layers, no multiple of 6");
    memset(&v, 0, sizeof v);
    v.format = SPY_FORMAT_RG8_UNORM;
    assert_null(spy_texture_view(t, &v));
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "a texture of format rgba8_unorm cannot be viewed as rg8_unorm");
    v.format = SPY_FORMAT_D32_FLOAT;
    assert_null(spy_texture_view(t, &v));
    ERROR_IS(SPY_ERROR_TYPE_MISMATCH, "or depth");
    v.format = (spy_format)500;
    assert_null(spy_texture_view(t, &v));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "500, not one of spy_format");
    memset(&v, 0, sizeof v);
    v._end_canary = 7;
    assert_null(spy_texture_view(t, &v));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "was not zeroed");
    assert_null(spy_texture_view(NULL, NULL));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "expected a texture, got NULL");
    spy_release_texture(spy_texture_view(t, NULL));
    spy_release_texture(t);
}

// `expression` fails with this code and these words.
#define FAILS(code, expression, words)                                                                        \
    do {                                                                                                      \
        assert_int_equal(expression, code);                                                                   \
        ERROR_IS(code, words);                                                                                \
    } while (0)

static void test_bad_transfers(void **state) {
    (void)state;
    unsigned char bytes[1024] = { 0 };
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 8, 4);
    d.levels = 2, d.array_size = 3;
    spy_texture *t = TEXTURE(&d);
    d = described(SPY_FORMAT_BC1_UNORM, 10, 10);
    spy_texture *blocks = TEXTURE(&d);
    d = described(SPY_FORMAT_RGBA8_UNORM, 8, 4);
    d.samples = 4;
    spy_texture *fine = TEXTURE(&d);
    d = described(SPY_FORMAT_D32_FLOAT, 8, 4);
    spy_texture *depth = TEXTURE(&d);
    d = described(SPY_FORMAT_R8_UINT, 8, 4);
    spy_texture *whole = TEXTURE(&d);
    spy_texture_region r;
    memset(&r, 0, sizeof r);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_write(t, NULL, bytes, 383), "8 x 4 texels of rgba8_unorm in 3 slices or layers have 384 bytes (32 a row), size_bytes is 383");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_write(t, NULL, NULL, 384), "data is NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_read(fine, NULL, bytes, 128), "has 4 samples: resolve it");
    r.level = 2;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, bytes, 4), "the region's level 2 is not one of the texture's 2");
    r.level = 1, r.layer = 3;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, bytes, 4), "the region's layers 3 to 3 are not within the texture's 3");
    r.layer = 0, r.x = 3, r.width = 2;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, bytes, 4), "the region's columns 3 to 4 are not within the level's 4");
    r.x = 0, r.y = 2;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, bytes, 4), "the region's rows 2 to 2 are not within the level's 2");
    r.y = 0, r.z = 1;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_read(t, &r, bytes, 4), "the region's slices 1 to 1");
    memset(&r, 0, sizeof r);
    r.x = 2, r.width = 4;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_write(blocks, &r, bytes, 8), "no whole blocks: they begin and end at multiples of 4");
    r.x = 4, r.width = 5;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_write(blocks, &r, bytes, 8), "no whole blocks");
    r.width = 6; // up to the end
    GOOD(spy_texture_write(blocks, &r, bytes, 8 * 2 * 3));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_texture_clear(blocks, red()), "bc1_unorm is compressed");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_clear(depth, red()), "clear it by spy_texture_clear_depth()");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_clear_depth(t, 0, 0), "clear it by spy_texture_clear()");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_clear_depth(depth, 2, 0), "depth 2 is not 0 to 1");
    // Copies.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy(t, NULL, NULL, NULL), "'from': expected a texture, got NULL");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_texture_copy(t, NULL, whole, NULL), "texels of r8_uint cannot be copied to rgba8_unorm");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_texture_copy(t, NULL, depth, NULL), "depth has its own format");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy(t, NULL, fine, NULL), "spy_texture_resolve() averages");
    memset(&r, 0, sizeof r);
    r.layer = 1;
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_copy(t, NULL, t, &r), "the regions have other sizes");
    r.layer_count = 1;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy(t, &r, t, &r), "share texels");
    spy_texture_region q = r;
    r.width = 4, q.x = 3;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy(t, &r, t, &q), "share texels");
    q.x = 6;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_texture_copy(t, &r, t, &q), "'from': the region's columns 6 to 9");
    q.x = 4;
    GOOD(spy_texture_copy(t, &r, t, &q));
    // Blits, mips, resolves.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, t, SPY_FILTER_LINEAR), "share texels");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, fine, SPY_FILTER_LINEAR), "cannot be scaled; spy_texture_resolve()");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, blocks, SPY_FILTER_LINEAR), "compressed texels (bc1_unorm)");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, whole, SPY_FILTER_DEFAULT), "texels of r8_uint cannot be converted to rgba8_unorm");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, whole, SPY_FILTER_LINEAR), "cannot be averaged; SPY_FILTER_NEAREST works");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_blit(t, whole, (spy_filter)7), "filter 7 is not one of spy_filter");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_resolve(t, whole), "'from' is not multisampled");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_resolve(t, fine), "'to' has 8 x 4 texels and 3 layers, 'from' has 8 x 4 and 1");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_resolve(whole, fine), "'to' has the format r8_uint");
    d = described(SPY_FORMAT_R8_UINT, 8, 4);
    d.levels = 2;
    spy_texture *integers = TEXTURE(&d);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_texture_generate_mips(integers), "texels of r8_uint cannot be averaged: write each level");
    GOOD(spy_texture_generate_mips(whole)); // one level: nothing to do
    // Views in another format.
    spy_texture_view_desc srgb;
    memset(&srgb, 0, sizeof srgb);
    srgb.format = SPY_FORMAT_RGBA8_UNORM_SRGB;
    spy_texture *view = spy_texture_view(t, &srgb);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_texture_clear(view, red()), "a view of a rgba8_unorm texture as rgba8_unorm_srgb cannot be cleared");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_texture_generate_mips(view), "use the texture itself");
    // Tensors.
    float elements[64] = { 0 };
    spy_tensor *tensor = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(64), elements, __LINE__);
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_copy_from_tensor(t, NULL, tensor, 0, 0), "12 rows of 32 bytes, 32 apart, from byte 0 on do not fit into its 256 bytes");
    memset(&r, 0, sizeof r);
    r.layer_count = 1;
    GOOD(spy_texture_copy_from_tensor(t, &r, tensor, 128, 0));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_copy_from_tensor(t, &r, tensor, 132, 0), "from byte 132 on");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_copy_from_tensor(t, &r, tensor, SIZE_MAX, 0), "do not fit");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_texture_copy_from_tensor(t, &r, tensor, 0, SIZE_MAX / 4 * 4), "do not fit");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy_to_tensor(t, &r, tensor, 0, 16), "row_pitch_bytes is 16: a row has 32 bytes");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy_to_tensor(t, &r, tensor, 0, 33), "whole texels of 4");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy_to_tensor(t, &r, (spy_tensor *)(void *)t, 0, 0), "'tensor': expected a tensor, got a texture");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_texture_copy_to_tensor(t, &r, NULL, 0, 0), "got NULL");
    spy_release_tensor(tensor);
    spy_texture *all[] = { t, blocks, fine, depth, whole, integers, view };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_texture(all[i]);
}

// >>texels, transitions and barriers

static void test_uses(void **state) {
    (void)state;
    unsigned char bytes[32 * 3] = { 0 }, back[32 * 3];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)i;
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 4, 2);
    d.levels = 3, d.array_size = 3, d.usage = SPY_TEXTURE_USAGE_SAMPLED;
    spy_texture *t = TEXTURE(&d);
    GOOD(spy_texture_write(t, NULL, bytes, sizeof bytes));
    TOLD(t, "upload of 96 bytes\n"
            "copy of texels and bytes of 96 bytes, after a barrier, after T level 0 layers 0 to 2: nothing -> copied to\n");
    GOOD(spy_texture_generate_mips(t));
    TOLD(t, "blit, after T level 1 layers 0 to 2: nothing -> copied to, after T level 0 layers 0 to 2: copied to -> copied from\n"
            "blit, after T level 2 layers 0 to 2: nothing -> copied to, after T level 1 layers 0 to 2: copied to -> copied from\n");
    GOOD(spy_texture_read(t, NULL, back, sizeof back)); // it is in the layout to be read
    assert_memory_equal(bytes, back, sizeof back);
    TOLD(t, "copy of texels and bytes of 96 bytes\n");
    // A clear of one layer leaves the others alone.
    spy_texture *layer = viewed(t, 0, 0, 1, 1);
    GOOD(spy_texture_clear(layer, red()));
    TOLD(t, "clear of texels, after a barrier, after T level 0 layers 1 to 1: copied from -> copied to, after T level 1 layers 1 to 1: "
            "copied from -> copied to\n"); // level 2 is in place, but written
    GOOD(spy_texture_clear(layer, red())); // a second write of the same parts waits for the first
    TOLD(t, "clear of texels, after a barrier\n");
    GOOD(spy_texture_read(t, NULL, back, sizeof back));
    TOLD(t, "copy of texels and bytes of 96 bytes, after T level 0 layers 1 to 1: copied to -> copied from\n");
    assert_memory_equal(back, bytes, 32);
    assert_memory_equal(back + 64, bytes + 64, 32);
    for (size_t i = 32; i < 64; i += 4) assert_memory_equal(back + i, "\xff\0\0\xff", 4);
    // Within one part both ends of a copy have one layout.
    spy_texture_region to, from;
    memset(&to, 0, sizeof to), memset(&from, 0, sizeof from);
    to.width = 2, to.layer_count = 1, from.x = 2;
    GOOD(spy_texture_copy(t, &to, t, &from));
    TOLD(t, "copy of texels, after T level 0 layers 0 to 0: copied from -> copied within\n");
    GOOD(spy_texture_copy(t, &to, t, &from));
    TOLD(t, "copy of texels, after a barrier\n");
    GOOD(spy_texture_read(t, NULL, back, sizeof back));
    assert_memory_equal(back, bytes + 8, 8);
    assert_memory_equal(back + 8, bytes + 8, 8);
    // From one layer to another one.
    memset(&to, 0, sizeof to), memset(&from, 0, sizeof from);
    to.layer = 2, to.layer_count = 1;
    GOOD(spy_texture_copy(t, &to, t, &from));
    GOOD(spy_texture_read(t, NULL, back, sizeof back));
    assert_memory_equal(back, back + 64, 32);
    spy_release_texture(layer);
    spy_release_texture(t);
}

// A texture that may be stored to is sampled in the layout for that; others have a layout of their own.
static void test_shader_uses(void **state) {
    (void)state;
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 8, 8);
    spyi_use uses[SPYI_MOST_TEXTURE_USES];
    spyi_text error = { NULL, 0, 0 };
    d.levels = SPY_ALL_LEVELS, d.array_size = 3;
    spy_texture *stored = TEXTURE(&d);
    d.usage = SPY_TEXTURE_USAGE_SAMPLED;
    spy_texture *sampled = TEXTURE(&d), *layers = viewed(sampled, 1, 2, 1, 2);
    assert_int_equal(spyi_texture_uses(stored, SPYI_USE_SAMPLED | SPYI_USE_READS, uses), 1);
    assert_int_equal(uses[0].how, SPYI_USE_STORED | SPYI_USE_READS);
    assert_int_equal(uses[0].begin, 0);
    assert_int_equal(uses[0].end, 12);
    assert_int_equal(spyi_texture_uses(layers, SPYI_USE_SAMPLED | SPYI_USE_READS, uses), 2);
    assert_int_equal(uses[0].how, SPYI_USE_SAMPLED | SPYI_USE_READS);
    assert_int_equal(uses[0].begin, 4);
    assert_int_equal(uses[1].begin, 7);
    assert_int_equal(uses[1].end, 9);
    assert_int_equal(spyi_texture_level_uses(stored, 2, SPYI_USE_STORED | SPYI_USE_WRITES, uses), 1);
    assert_int_equal(uses[0].begin, 6);
    assert_int_equal(uses[0].end, 9);
    // Views for shaders are made once, and shared by textures over the same part.
    uint64_t view = spyi_texture_shader_view(layers, false, NULL, &error);
    assert_true(view != 0 && view == spyi_texture_shader_view(layers, false, NULL, &error));
    spy_texture *same = viewed(sampled, 1, 2, 1, 2);
    assert_true(view == spyi_texture_shader_view(same, false, NULL, &error));
    assert_int_equal(spyi_null_get_counts(device->gpu).views, 1);
    assert_true(spyi_texture_shader_view(stored, true, NULL, &error) != spyi_texture_shader_view(stored, false, NULL, &error));
    assert_int_equal(spyi_texture_shader_view(sampled, true, NULL, &error), 0);
    assert_string_equal(spyi_text_str(&error), "the texture (rgba8_unorm, 8 x 8) was created without SPY_TEXTURE_USAGE_STORED");
    spyi_text_clear(&error);
    spy_texture_view_desc srgb;
    memset(&srgb, 0, sizeof srgb);
    srgb.format = SPY_FORMAT_RGBA8_UNORM_SRGB;
    spy_texture *other = spy_texture_view(stored, &srgb);
    assert_true(spyi_texture_shader_view(other, false, NULL, &error) != 0);
    assert_int_equal(spyi_texture_shader_view(other, true, NULL, &error), 0);
    assert_string_equal(spyi_text_str(&error), "the texture (rgba8_unorm_srgb, 8 x 8) cannot be STORED in this format");
    spyi_text_free(&error);
    spy_texture *all[] = { stored, sampled, layers, same, other };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_texture(all[i]);
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).views, 0);
}

// An image is freed once its work has finished, whatever is released first.
static void test_releases(void **state) {
    (void)state;
    spy_texture_desc d = described(SPY_FORMAT_R32_FLOAT, 16, 16);
    spy_texture *t = TEXTURE(&d);
    spyi_null_hold_submits(device->gpu, true);
    GOOD(spy_texture_clear(t, red()));
    spy_submit_id id = spy_flush(device);
    spy_release_texture(t);
    (void)spy_format_support(device, SPY_FORMAT_R8_UINT); // frees what was released
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 1);
    assert_int_equal(spy_get_device_stats(device).texture_bytes, 1024);
    spyi_null_finish(device->gpu, id);
    t = TEXTURE(&d); // looks for images to free
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 1);
    GOOD(spy_texture_clear(t, red()));
    spy_retain_texture(t);
    spy_release_texture(t);
    assert_int_equal(spy_get_texture_info(t).width, 16);
    spy_release_texture(t);
    spyi_null_hold_submits(device->gpu, false);
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 0);
    // The room for transitions does not grow with each texture.
    uint32_t capacity = device->transition_capacity;
    for (int i = 0; i < 100; i++) {
        d.levels = SPY_ALL_LEVELS;
        spy_release_texture(TEXTURE(&d));
    }
    GOOD(spy_wait(device));
    assert_true(device->transition_capacity < capacity + 50);
    assert_int_equal(device->texture_parts, 0);
    // What is left goes with the device, samplers and views too (data_close() looks at the report).
    t = TEXTURE(&d);
    assert_non_null(viewed(t, 1, 1, 0, 0));
    assert_non_null(spy_create_sampler(device, NULL));
    GOOD(spy_texture_clear(t, red()));
}

// >>command lists

static void test_lists(void **state) {
    (void)state;
    unsigned char bytes[32], back[32], small[8];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i + 1);
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 4, 2);
    d.levels = 2;
    spy_texture *a = TEXTURE(&d), *b = TEXTURE(&d);
    spy_tensor *tensor = data_tensor(SPY_DTYPE_UINT8, NULL, SPY_SHAPE(40), NULL, __LINE__);
    spy_command_list *list = spy_create_command_list(device, NULL);
    GOOD(spy_list_texture_write(list, a, NULL, bytes, sizeof bytes));
    GOOD(spy_list_texture_copy(list, b, NULL, a, NULL));
    GOOD(spy_list_texture_copy_to_tensor(list, b, NULL, tensor, 8, 0));
    GOOD(spy_list_texture_clear(list, b, red()));
    GOOD(spy_list_texture_copy_from_tensor(list, b, NULL, tensor, 8, 0));
    GOOD(spy_list_texture_generate_mips(list, b));
    GOOD(spy_list_texture_blit(list, a, b, SPY_FILTER_DEFAULT));
    assert_int_equal(spy_get_list_info(list).op_count, 7);
    // An error leaves the list as it was.
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_list_texture_write(list, a, NULL, bytes, 31), "spy_list_texture_write: 4 x 2 texels");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_texture_copy(list, NULL, NULL, a, NULL), "'to': expected a texture, got NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_texture_clear_depth(list, a, 0, 0), "no depth format");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_texture_resolve(list, a, b), "'from' is not multisampled");
    assert_int_equal(spy_get_list_info(list).op_count, 7);
    GOOD(spy_list_finish(list));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_list_texture_clear(list, a, red()), "finished");
    spy_texture *kept = viewed(b, 1, 1, 0, 0);
    spy_release_texture(b);
    memset(bytes, 0, sizeof bytes); // they were copied
    for (int i = 0; i < 2; i++) {
        GOOD(spy_texture_clear(a, red()));
        GOOD(spy_list_submit(list));
        GOOD(spy_texture_read(a, NULL, back, sizeof back));
        for (size_t k = 0; k < sizeof back; k++) assert_int_equal(back[k], k + 1);
        GOOD(spy_texture_read(kept, NULL, small, sizeof small));
        for (size_t k = 0; k < sizeof small; k++) { // the average of four texels: bytes k, 4 and 16 and 20 further
            size_t first = k / 4 * 8 + k % 4 + 1;
            assert_int_equal(small[k], (first + first + 4 + first + 16 + first + 20) / 4);
        }
    }
    spy_release_texture(a), spy_release_texture(kept);
    spy_release_tensor(tensor);
    GOOD(spy_list_submit(list)); // the list keeps the images
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 2);
    spy_release_command_list(list);
    GOOD(spy_wait(device));
    assert_int_equal(spyi_null_get_counts(device->gpu).images, 0);
}

// >>samplers

static void test_samplers(void **state) {
    (void)state;
    spy_sampler_desc d;
    memset(&d, 0, sizeof d);
    spy_sampler *a = spy_create_sampler(device, NULL);
    d.min_filter = SPY_FILTER_LINEAR, d.address_w = SPY_ADDRESS_MODE_WRAP, d.label = "same";
    spy_sampler *b = spy_create_sampler(device, &d);
    d.mag_filter = SPY_FILTER_NEAREST;
    spy_sampler *c = spy_create_sampler(device, &d);
    assert_true(a && b && c && a->handle == b->handle && a->handle != c->handle);
    assert_string_equal(b->desc.label, "same");
    assert_int_equal(spyi_null_get_counts(device->gpu).samplers, 2);
    spy_retain_sampler(a);
    spy_release_sampler(a), spy_release_sampler(a), spy_release_sampler(b), spy_release_sampler(c), spy_release_sampler(NULL);
    spy_release_sampler(b);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "the sampler has been released already");
    d.mag_filter = (spy_filter)8;
    assert_null(spy_create_sampler(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "filter 8 is not one of spy_filter");
    d.mag_filter = SPY_FILTER_DEFAULT, d.address_u = (spy_address_mode)-1;
    assert_null(spy_create_sampler(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "address mode -1");
    d.address_u = SPY_ADDRESS_MODE_CLAMP, d.compare = (spy_compare)99;
    assert_null(spy_create_sampler(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "desc.compare");
    d.compare = SPY_COMPARE_LESS, d.min_level = 3, d.max_level = 2;
    assert_null(spy_create_sampler(device, &d));
    ERROR_IS(SPY_ERROR_OUT_OF_RANGE, "levels 3 to 2 are no range");
    d.min_level = 0, d._end_canary = 1;
    assert_null(spy_create_sampler(device, &d));
    ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "was not zeroed");
    assert_null(spy_create_sampler(NULL, NULL));
    THREAD_ERROR_IS(SPY_ERROR_INVALID_ARGUMENT, "expected a device, got NULL");
}

// A backend without textures says so.
static void test_no_textures(void **state) {
    (void)state;
    struct spyi_backend none = *spyi_null_backend();
    const spy_backend *own = device->backend;
    spy_texture_desc d = described(SPY_FORMAT_R8_UNORM, 1, 1);
    none.images = NULL;
    device->backend = &none;
    REFUSED(&d, SPY_ERROR_UNSUPPORTED, "the backend 'null' has no textures yet");
    assert_null(spy_create_sampler(device, NULL));
    ERROR_IS(SPY_ERROR_UNSUPPORTED, "the backend 'null' has no samplers yet");
    assert_int_equal(spy_format_support(device, SPY_FORMAT_R8_UNORM), 0);
    device->backend = own;
}

// 3-channel texels begin at multiples of 12 bytes, also where a tensor lies elsewhere; gaps between rows stay.
static void test_odd_texels(void **state) {
    (void)state;
    float in[64], back[64], texels[2 * 3 * 3];
    for (int i = 0; i < 64; i++) in[i] = (float)i;
    spy_texture_desc d = described(SPY_FORMAT_RGB32_FLOAT, 3, 2);
    spy_texture *t = TEXTURE(&d);
    for (int k = 0; k < 3; k++) { // blocks of the pool at several places
        spy_tensor *tensor = data_tensor(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(64), in, __LINE__);
        GOOD(spy_texture_copy_from_tensor(t, NULL, tensor, 4, 48));
        GOOD(spy_texture_read(t, NULL, texels, sizeof texels));
        for (int i = 0; i < 18; i++) assert_true(texels[i] == in[1 + i % 9 + i / 9 * 12]);
        GOOD(spy_texture_copy_to_tensor(t, NULL, tensor, 8, 60));
        GOOD(spy_tensor_read(tensor, back, sizeof back));
        for (int i = 0; i < 64; i++) {
            int row = (i - 2) / 15, column = (i - 2) % 15;
            assert_true(back[i] == (i >= 2 && row < 2 && column < 9 ? texels[row * 9 + column] : in[i]));
        }
        GOOD(spy_texture_write(t, NULL, texels, sizeof texels));
        if (k < 2) spy_release_tensor(tensor);
    }
    spy_release_texture(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_formats, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_descs, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_bad_descs, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_bad_views, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_bad_transfers, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_uses, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_shader_uses, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_releases, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_lists, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_samplers, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_no_textures, open_null, data_close),
        cmocka_unit_test_setup_teardown(test_odd_texels, open_null, data_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
