// Textures on a device: texels there and back for every format, type and region, copies, clears, blits, mips, resolves and
// samplers, against plain C. Run with SPY_TEST_VALIDATION=1, too: then each message of the validation layer fails a test.
#include "quiet_device.h"
#include <math.h>

spy_device *gpu_device;

// >>helpers

static spy_texture_desc described(spy_format format, uint32_t width, uint32_t height) {
    spy_texture_desc d;
    memset(&d, 0, sizeof d);
    d.format = format;
    d.width = width;
    d.height = height;
    return d;
}

static spy_texture *made(const spy_texture_desc *d) {
    return MADE(spy_texture, spy_create_texture(gpu_device, d));
}

static spy_texture *viewed(spy_texture *t, uint32_t level, uint32_t levels, uint32_t layer, uint32_t layers) {
    spy_texture_view_desc d;
    memset(&d, 0, sizeof d);
    d.level = level, d.level_count = levels, d.layer = layer, d.layer_count = layers;
    return MADE(spy_texture, spy_texture_view(t, &d));
}

static uint32_t seed_of_run(void) {
    const char *seed = getenv("SPY_TEST_SEED");
    return seed ? (uint32_t)strtoul(seed, NULL, 0) : 1;
}

static uint32_t noise_state;
static uint32_t noise(uint32_t below) {
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 17;
    noise_state ^= noise_state << 5;
    return (noise_state >> 4) % below;
}
static void noise_begin(uint32_t seed) {
    noise_state = (seed + seed_of_run() * 7919u) * 2654435761u | 1u;
}

// Bytes that are texels of any format: depth from 0 to 1, floats that are finite.
static unsigned char *some_bytes(size_t size, uint32_t seed) {
    unsigned char *bytes = malloc(size + 4);
    assert_non_null(bytes);
    noise_begin(seed);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)noise(0x3f);
    return bytes;
}

static uint32_t level_of(uint32_t size, uint32_t level) {
    return size >> level ? size >> level : 1;
}

// Bytes of a box of texels without gaps.
static size_t bytes_of(const spy_format_info *f, uint32_t width, uint32_t height, uint32_t depth, uint32_t layers) {
    return (size_t)((width + f->block_width - 1) / f->block_width) * ((height + f->block_height - 1) / f->block_height) * f->block_bytes *
           depth * layers;
}

// Bit for bit, but for the unused bits of a format.
static void same_texels(const unsigned char *a, const unsigned char *b, size_t size, const char *what) {
    for (size_t i = 0; i < size; i++) {
        if (a[i] == b[i]) continue;
        print_error("%s: byte %zu of %zu is %u, not %u\n", what, i, size, b[i], a[i]);
        fail();
    }
}

// >>there and back

// What is written is read, all of level 0; then nothing is left.
static void test_round_trip(void **state) {
    (void)state;
    quiet_device();
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 13, 7);
    unsigned char *in = some_bytes(13 * 7 * 4, 1), out[13 * 7 * 4];
    d.data = in;
    d.label = "picture";
    spy_texture *t = made(&d);
    spy_texture_info info = spy_get_texture_info(t);
    assert_int_equal(info.type, SPY_TEXTURE_TYPE_2D);
    assert_int_equal(info.width, 13);
    assert_int_equal(info.shape.rank, 2);
    assert_int_equal(info.shape.dims[0], 7);
    assert_int_equal(info.size_bytes, sizeof out);
    assert_string_equal(info.label, "picture");
    spy_device_stats stats = spy_get_device_stats(gpu_device);
    assert_true(stats.texture_bytes >= sizeof out && stats.driver_bytes >= stats.texture_bytes + stats.pool_bytes);
    OK(spy_texture_read(t, NULL, out, sizeof out));
    assert_memory_equal(in, out, sizeof out);
    free(in);
    spy_release_texture(t);
    OK(spy_wait(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).texture_bytes, 0);
    quiet_close();
}

static spy_texture_desc typed(spy_format format, spy_texture_type type, bool array, uint32_t seed) {
    noise_begin(seed);
    spy_texture_desc d = described(format, 5 + noise(40), 5 + noise(30));
    d.type = type;
    if (type == SPY_TEXTURE_TYPE_1D) d.height = 0;
    if (type == SPY_TEXTURE_TYPE_3D) d.depth = 2 + noise(6);
    if (type == SPY_TEXTURE_TYPE_CUBE) d.height = d.width;
    if (array) d.array_size = 1 + noise(3);
    d.levels = 1 + noise(3);
    return d;
}

// Writes each level and layer whole, then random regions of them, and compares all of it with a copy in plain C.
static void round_trip(const spy_texture_desc *d, uint32_t seed) {
    const spy_format_info f = spy_get_format_info(d->format);
    spy_texture *t = made(d);
    spy_texture_info info = spy_get_texture_info(t);
    for (uint32_t level = 0; level < info.levels; level++) {
        uint32_t w = level_of(info.width, level), h = level_of(info.height, level), z = level_of(info.depth, level);
        size_t size = bytes_of(&f, w, h, z, info.layer_count), slice = bytes_of(&f, w, h, 1, 1), row = bytes_of(&f, w, 1, 1, 1);
        unsigned char *copy = some_bytes(size, seed + level), *back = malloc(size);
        spy_texture_region r;
        memset(&r, 0, sizeof r);
        r.level = level;
        OK(spy_texture_write(t, &r, copy, size));
        for (int k = 0; k < 3; k++) { // a region
            uint32_t bw = f.block_width, bh = f.block_height;
            r.x = noise((w + bw - 1) / bw) * bw, r.y = noise((h + bh - 1) / bh) * bh, r.z = noise(z), r.layer = noise(info.layer_count);
            r.width = (1 + noise((w - r.x + bw - 1) / bw)) * bw, r.height = (1 + noise((h - r.y + bh - 1) / bh)) * bh;
            if (r.width > w - r.x) r.width = w - r.x;
            if (r.height > h - r.y) r.height = h - r.y;
            r.depth = 1 + noise(z - r.z), r.layer_count = 1 + noise(info.layer_count - r.layer);
            size_t part = bytes_of(&f, r.width, r.height, r.depth, r.layer_count), part_row = bytes_of(&f, r.width, 1, 1, 1), at = 0;
            unsigned char *texels = some_bytes(part, seed + level + 100 * (uint32_t)k + 7);
            OK(spy_texture_write(t, &r, texels, part));
            for (uint32_t i = 0; i < r.layer_count; i++)
                for (uint32_t s = 0; s < r.depth; s++)
                    for (uint32_t y = 0; y < r.height; y += bh, at += part_row)
                        memcpy(copy + ((size_t)(r.layer + i) * z + r.z + s) * slice + (r.y + y) / bh * row +
                                   (size_t)(r.x / bw) * f.block_bytes,
                               texels + at, part_row);
            unsigned char *again = malloc(part);
            OK(spy_texture_read(t, &r, again, part));
            same_texels(texels, again, part, f.name);
            free(texels), free(again);
            noise_begin(seed + (uint32_t)k * 31 + level);
        }
        memset(&r, 0, sizeof r);
        r.level = level;
        OK(spy_texture_read(t, &r, back, size));
        same_texels(copy, back, size, f.name);
        free(copy), free(back);
    }
    spy_release_texture(t);
}

// Every format that the device has, as plain 2-D textures; some of them in every other type.
static void test_formats(void **state) {
    (void)state;
    quiet_device();
    uint32_t count = 0;
    for (uint32_t format = 1; format < SPY_FORMAT_COUNT; format++) {
        const spy_format_info f = spy_get_format_info((spy_format)format);
        uint32_t support = spy_format_support(gpu_device, (spy_format)format);
        if (!(support & SPY_TEXTURE_USAGE_SAMPLED)) {
            spy_texture_desc d = described((spy_format)format, 4, 4);
            assert_null(spy_create_texture(gpu_device, &d));
            ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, f.name);
            continue;
        }
        count++;
        if (f.has_stencil) {
            unsigned char bytes[8 * 16];
            spy_texture_desc d = described((spy_format)format, 4, 4);
            spy_texture *t = made(&d);
            FAILS(SPY_ERROR_UNSUPPORTED, spy_texture_read(t, NULL, bytes, sizeof bytes), "depth and stencil");
            OK(spy_texture_clear_depth(t, 0.5f, 3));
            spy_release_texture(t);
            continue;
        }
        for (uint32_t k = 0; k < (uint32_t)test_count(10); k++) {
            spy_texture_desc d = typed((spy_format)format, SPY_TEXTURE_TYPE_2D, k % 2 == 1, format * 50 + k);
            round_trip(&d, format * 50 + k);
        }
    }
    print_message("%u of %d formats\n", count, SPY_FORMAT_COUNT - 1);
    assert_true(count > 30);
    quiet_close();
}

static void test_types(void **state) {
    static const spy_format formats[] = { SPY_FORMAT_R8_UNORM, SPY_FORMAT_RG16_FLOAT, SPY_FORMAT_RGBA32_FLOAT, SPY_FORMAT_R32_UINT };
    (void)state;
    quiet_device();
    for (uint32_t i = 0; i < 4 * (uint32_t)test_count(20); i++) {
        spy_format format = formats[i % 4];
        spy_texture_desc d = typed(format, SPY_TEXTURE_TYPE_1D, i % 2, i);
        round_trip(&d, i);
        d = typed(format, SPY_TEXTURE_TYPE_3D, false, i + 1);
        round_trip(&d, i);
        d = typed(format, SPY_TEXTURE_TYPE_CUBE, i % 2, i + 2);
        round_trip(&d, i);
    }
    // Larger than what goes through one block at a time: 8192 x 2100 x 4 bytes are 69 MB, in rows; in layers; in slices.
    for (int k = 0; k < 3 && test_count(10) > 0; k++) {
        spy_texture_desc d = described(SPY_FORMAT_R32_UINT, 2048, 2048);
        if (k == 0) d.width = 8192, d.height = 2100;
        if (k == 1) d.array_size = 5;
        if (k == 2) d.type = SPY_TEXTURE_TYPE_3D, d.depth = 5;
        spy_texture *t = made(&d);
        size_t size = spy_get_texture_info(t).size_bytes;
        uint32_t *in = malloc(size), *out = malloc(size);
        assert_true(in && out && size > (size_t)64 << 20);
        for (size_t i = 0; i < size / 4; i++) in[i] = (uint32_t)i * 2654435761u;
        OK(spy_texture_write(t, NULL, in, size));
        OK(spy_texture_read(t, NULL, out, size));
        assert_memory_equal(in, out, size);
        free(in), free(out);
        spy_release_texture(t);
    }
    quiet_close();
}

// >>tensors

static void test_tensors(void **state) {
    (void)state;
    quiet_device();
    float in[100], back[100], texels[2 * 3 * 4];
    for (int i = 0; i < 100; i++) in[i] = (float)i;
    spy_texture_desc d = described(SPY_FORMAT_RGBA32_FLOAT, 3, 2);
    spy_texture *t = made(&d);
    for (int first = 0; first < 8; first++) { // at places that texels can begin at, and others; rows with gaps
        size_t pitch = (size_t)(12 + first / 2 * 4), offset = (size_t)first;
        spy_tensor *tensor = gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(100), in);
        OK(spy_texture_copy_from_tensor(t, NULL, tensor, offset * 4, pitch * 4));
        OK(spy_texture_read(t, NULL, texels, sizeof texels));
        for (size_t i = 0; i < 24; i++) assert_true(texels[i] == in[offset + i % 12 + i / 12 * pitch]);
        OK(spy_texture_copy_to_tensor(t, NULL, tensor, (offset + 40) * 4, pitch * 4));
        OK(spy_tensor_read(tensor, back, sizeof back));
        for (size_t i = 0; i < 100; i++) {
            size_t row = i < offset + 40 ? 9 : (i - offset - 40) / pitch, column = i < offset + 40 ? 0 : (i - offset - 40) % pitch;
            assert_true(back[i] == (row < 2 && column < 12 ? texels[row * 12 + column] : in[i]));
        }
        spy_release_tensor(tensor);
    }
    spy_release_texture(t);
    quiet_close();
}

// >>copies and clears

static void test_copies(void **state) {
    (void)state;
    quiet_device();
    for (uint32_t i = 0; i < (uint32_t)test_count(200); i++) {
        noise_begin(i);
        spy_format format = i % 3 == 0 ? SPY_FORMAT_RGBA8_UNORM : i % 3 == 1 ? SPY_FORMAT_RG16_FLOAT : SPY_FORMAT_R32_UINT;
        spy_texture_desc d = described(format, 6 + noise(20), 6 + noise(20));
        d.array_size = 2 + noise(2), d.levels = 2;
        spy_texture *a = made(&d);
        d.format = i % 2 ? SPY_FORMAT_R32_FLOAT : format; // of as many bits
        spy_texture *b = i % 5 == 0 ? a : made(&d);
        uint32_t w = d.width, h = d.height;
        size_t layer = (size_t)w * h * 4, size = layer * d.array_size;
        unsigned char *in_a = some_bytes(size, i), *in_b = some_bytes(size, i + 1000), *out = malloc(size);
        OK(spy_texture_write(b, NULL, in_b, size));
        OK(spy_texture_write(a, NULL, in_a, size));
        const unsigned char *from_bytes = in_a;
        unsigned char *to_bytes = b == a ? in_a : in_b;
        spy_texture_region to, from;
        memset(&to, 0, sizeof to), memset(&from, 0, sizeof from);
        from.width = 1 + noise(w / 2), from.height = 1 + noise(h), from.layer_count = 1;
        from.x = noise(w / 2 - from.width + 1), from.y = noise(h - from.height + 1), from.layer = noise(d.array_size);
        to.x = w - w / 2 + noise(w / 2 - from.width + 1), to.y = noise(h - from.height + 1); // apart, also within one layer
        to.layer = i % 10 == 0 ? from.layer : noise(d.array_size);
        OK(spy_texture_copy(b, &to, a, &from)); // sizes of 0 are those of the other region
        for (uint32_t y = 0; y < from.height; y++)
            memcpy(to_bytes + to.layer * layer + ((size_t)(to.y + y) * w + to.x) * 4,
                   from_bytes + from.layer * layer + ((size_t)(from.y + y) * w + from.x) * 4, from.width * 4);
        OK(spy_texture_read(b, NULL, out, size));
        same_texels(to_bytes, out, size, "copy");
        if (b != a) {
            OK(spy_texture_read(a, NULL, out, size));
            same_texels(in_a, out, size, "copy: from");
            spy_release_texture(b);
        }
        free(in_a), free(in_b), free(out);
        spy_release_texture(a);
    }
    quiet_close();
}

static void test_clears(void **state) {
    (void)state;
    quiet_device();
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 9, 5);
    d.levels = 3, d.array_size = 3;
    unsigned char out[9 * 5 * 3 * 4];
    spy_clear_color color = { { 0.2f, 0.4f, 1, 0 } };
    spy_texture *t = made(&d);
    OK(spy_texture_clear(t, color));
    for (uint32_t level = 0; level < 3; level++) {
        spy_texture_region r;
        memset(&r, 0, sizeof r);
        r.level = level;
        size_t size = (size_t)level_of(9, level) * level_of(5, level) * 12;
        OK(spy_texture_read(t, &r, out, size));
        for (size_t i = 0; i < size; i += 4) assert_memory_equal(out + i, "\x33\x66\xff\0", 4);
    }
    // One layer and two levels of it.
    spy_texture *view = viewed(t, 1, 2, 1, 1);
    color.floats[3] = 1;
    OK(spy_texture_clear(view, color));
    for (uint32_t level = 0; level < 3; level++) {
        spy_texture_region r;
        memset(&r, 0, sizeof r);
        r.level = level;
        size_t layer = (size_t)level_of(9, level) * level_of(5, level) * 4;
        OK(spy_texture_read(t, &r, out, layer * 3));
        for (size_t i = 0; i < layer * 3; i += 4) assert_int_equal(out[i + 3], level > 0 && i / layer == 1 ? 255 : 0);
    }
    spy_release_texture(view), spy_release_texture(t);
    int32_t integers[4 * 4 * 4];
    d = described(SPY_FORMAT_RGBA32_SINT, 4, 4);
    t = made(&d);
    color.ints[0] = -5, color.ints[1] = 1 << 30, color.ints[2] = 7, color.ints[3] = INT32_MIN;
    OK(spy_texture_clear(t, color));
    OK(spy_texture_read(t, NULL, integers, sizeof integers));
    for (int i = 0; i < 64; i++) assert_int_equal(integers[i], color.ints[i % 4]);
    spy_release_texture(t);
    float depths[16];
    if (spy_format_support(gpu_device, SPY_FORMAT_D32_FLOAT)) { // CUDA has no depth formats
        d = described(SPY_FORMAT_D32_FLOAT, 4, 4);
        t = made(&d);
        OK(spy_texture_clear_depth(t, 0.375f, 0));
        OK(spy_texture_read(t, NULL, depths, sizeof depths));
        for (int i = 0; i < 16; i++) assert_true(depths[i] == 0.375f);
        spy_release_texture(t);
    }
    quiet_close();
}

// >>blits, mips and resolves

// The value at texel i of `to` texels that cover `from` texels, between which the values are linear.
static void taps(uint32_t i, uint32_t to, uint32_t from, uint32_t at[2], double *weight) {
    double x = ((double)i + 0.5) * from / to - 0.5;
    double low = floor(x);
    *weight = x - low;
    for (int k = 0; k < 2; k++) {
        double texel = low + k;
        at[k] = texel < 0 ? 0 : texel > from - 1 ? from - 1 : (uint32_t)texel;
    }
}

static double scaled(const float *texels, uint32_t w, uint32_t h, uint32_t x, uint32_t y, uint32_t to_w, uint32_t to_h) {
    uint32_t i[2], k[2];
    double u, v;
    taps(x, to_w, w, i, &u);
    taps(y, to_h, h, k, &v);
    return (1 - v) * ((1 - u) * texels[k[0] * w + i[0]] + u * texels[k[0] * w + i[1]]) +
           v * ((1 - u) * texels[k[1] * w + i[0]] + u * texels[k[1] * w + i[1]]);
}

static void test_blits(void **state) {
    (void)state;
    quiet_device();
    for (uint32_t i = 0; i < (uint32_t)test_count(100); i++) {
        noise_begin(i);
        uint32_t w = 1 + noise(40), h = 1 + noise(40), to_w = 1 + noise(40), to_h = 1 + noise(40);
        spy_texture_desc d = described(SPY_FORMAT_R32_FLOAT, w, h);
        spy_texture *from = made(&d);
        d = described(i % 2 ? SPY_FORMAT_R16_FLOAT : SPY_FORMAT_R32_FLOAT, to_w, to_h);
        spy_texture *to = made(&d);
        d.format = SPY_FORMAT_R32_FLOAT;
        spy_texture *plain = made(&d);
        float *in = malloc((size_t)w * h * 4), *out = malloc((size_t)to_w * to_h * 4);
        for (uint32_t k = 0; k < w * h; k++) in[k] = (float)noise(1000) / 1000;
        OK(spy_texture_write(from, NULL, in, (size_t)w * h * 4));
        OK(spy_texture_blit(to, from, SPY_FILTER_LINEAR));
        OK(spy_texture_blit(plain, to, SPY_FILTER_NEAREST)); // as many texels: a conversion
        OK(spy_texture_read(plain, NULL, out, (size_t)to_w * to_h * 4));
        for (uint32_t y = 0; y < to_h; y++)
            for (uint32_t x = 0; x < to_w; x++) {
                double wanted = scaled(in, w, h, x, y, to_w, to_h), got = (double)out[y * to_w + x];
                if (fabs(wanted - got) <= 6e-3) continue; // weights of 8 bits; halves
                print_error("%u x %u to %u x %u at %u, %u: %g, not %g\n", w, h, to_w, to_h, x, y, got, wanted);
                fail();
            }
        OK(spy_texture_blit(plain, from, SPY_FILTER_NEAREST));
        OK(spy_texture_read(plain, NULL, out, (size_t)to_w * to_h * 4));
        for (uint32_t y = 0; y < to_h; y++)
            for (uint32_t x = 0; x < to_w; x++) {
                // Where the place lies between two texels, either.
                double u = (x + 0.5) * w / to_w, v = (y + 0.5) * h / to_h;
                bool good = false;
                for (int k = 0; k < 4; k++) {
                    double a = u + (k % 2 ? 1e-4 : -1e-4), b = v + (k / 2 ? 1e-4 : -1e-4);
                    uint32_t column = a < 0 ? 0 : a >= w ? w - 1 : (uint32_t)a, row = b < 0 ? 0 : b >= h ? h - 1 : (uint32_t)b;
                    good = good || out[y * to_w + x] == in[row * w + column];
                }
                assert_true(good);
            }
        free(in), free(out);
        spy_release_texture(from), spy_release_texture(to), spy_release_texture(plain);
    }
    quiet_close();
}

// Sizes of powers of two: each texel is the average of the four, or eight, of the level before.
static void test_mips(void **state) {
    (void)state;
    quiet_device();
    spy_texture_desc d = described(SPY_FORMAT_R32_FLOAT, 16, 8);
    d.levels = SPY_ALL_LEVELS, d.array_size = 2;
    spy_texture *t = made(&d);
    float level[256], next[256];
    for (int i = 0; i < 256; i++) level[i] = (float)((i * 37) % 101);
    OK(spy_texture_write(t, NULL, level, sizeof level));
    OK(spy_texture_generate_mips(t));
    for (uint32_t k = 1; k < spy_get_texture_info(t).levels; k++) {
        uint32_t w = level_of(16, k), h = level_of(8, k), wide = level_of(16, k - 1), high = level_of(8, k - 1);
        spy_texture_region r;
        memset(&r, 0, sizeof r);
        r.level = k;
        OK(spy_texture_read(t, &r, next, (size_t)w * h * 8));
        for (uint32_t layer = 0; layer < 2; layer++)
            for (uint32_t y = 0; y < h; y++)
                for (uint32_t x = 0; x < w; x++) {
                    const float *from = level + layer * wide * high;
                    uint32_t x1 = 2 * x + 1 < wide ? 2 * x + 1 : 2 * x, y1 = 2 * y + 1 < high ? 2 * y + 1 : 2 * y;
                    float wanted = (from[2 * y * wide + 2 * x] + from[2 * y * wide + x1] + from[y1 * wide + 2 * x] + from[y1 * wide + x1]) / 4;
                    assert_true(fabsf(next[(layer * h + y) * w + x] - wanted) <= 0.3f); // weights of 8 bits
                }
        memcpy(level, next, (size_t)w * h * 8);
    }
    spy_release_texture(t);
    d = described(SPY_FORMAT_RGBA8_UNORM, 4, 4);
    d.type = SPY_TEXTURE_TYPE_3D, d.depth = 4, d.levels = SPY_ALL_LEVELS;
    t = made(&d);
    unsigned char bytes[4 * 4 * 4 * 4], small[4];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i % 4 == 3 ? 255 : i / 64 * 40);
    OK(spy_texture_write(t, NULL, bytes, sizeof bytes));
    OK(spy_texture_generate_mips(t));
    spy_texture_region r;
    memset(&r, 0, sizeof r);
    r.level = 2;
    OK(spy_texture_read(t, &r, small, sizeof small));
    for (int i = 0; i < 3; i++) assert_true(abs(small[i] - 60) <= 1); // of 0, 40, 80 and 120
    assert_int_equal(small[3], 255);
    spy_release_texture(t);
    quiet_close();
}

static void test_resolves(void **state) {
    (void)state;
    quiet_device();
    if (!(spy_format_support(gpu_device, SPY_FORMAT_RGBA8_UNORM) & SPY_TEXTURE_USAGE_MULTISAMPLED)) {
        quiet_close();
        skip();
    }
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 7, 5);
    spy_texture *plain = made(&d);
    d.samples = 4, d.usage = SPY_TEXTURE_USAGE_COLOR_TARGET;
    spy_texture *fine = made(&d);
    spy_clear_color color = { { 0.2f, 0.6f, 0, 1 } };
    unsigned char out[7 * 5 * 4];
    OK(spy_texture_clear(fine, color));
    OK(spy_texture_resolve(plain, fine));
    OK(spy_texture_read(plain, NULL, out, sizeof out));
    for (size_t i = 0; i < sizeof out; i += 4) assert_memory_equal(out + i, "\x33\x99\0\xff", 4);
    d.samples = 64; // no device has so many
    assert_null(spy_create_texture(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "has no 64 samples for this format; it has 1");
    spy_release_texture(plain), spy_release_texture(fine);
    quiet_close();
}

// >>lists, samplers, releases

static void test_list(void **state) {
    (void)state;
    quiet_device();
    unsigned char *in = some_bytes(16 * 16 * 4, 5), out[16 * 16 * 4];
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 16, 16);
    d.levels = SPY_ALL_LEVELS;
    spy_texture *a = made(&d), *b = made(&d);
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_clear_color color = { { 1, 1, 1, 1 } };
    OK(spy_list_texture_clear(list, b, color));
    OK(spy_list_texture_write(list, a, NULL, in, sizeof out));
    OK(spy_list_texture_generate_mips(list, a));
    OK(spy_list_texture_blit(list, b, a, SPY_FILTER_DEFAULT));
    OK(spy_list_finish(list));
    spy_release_texture(a);
    for (int i = 0; i < 3; i++) {
        OK(spy_list_submit(list));
        OK(spy_texture_read(b, NULL, out, sizeof out));
        assert_memory_equal(in, out, sizeof out);
        OK(spy_texture_clear(b, color));
    }
    spy_release_texture(b);
    spy_release_command_list(list);
    OK(spy_wait(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).texture_bytes, 0);
    free(in);
    quiet_close();
}

static void test_samplers(void **state) {
    (void)state;
    quiet_device();
    for (uint32_t i = 0; i < 300; i++) {
        spy_sampler_desc d;
        memset(&d, 0, sizeof d);
        noise_begin(i);
        d.min_filter = (spy_filter)noise(3), d.mag_filter = (spy_filter)noise(3), d.mip_filter = (spy_filter)noise(3);
        d.address_u = (spy_address_mode)noise(5), d.address_v = (spy_address_mode)noise(5), d.address_w = (spy_address_mode)noise(5);
        d.compare = (spy_compare)noise(9);
        d.max_anisotropy = noise(2) * 100;
        d.mip_bias = (float)noise(100) - 50, d.min_level = (float)noise(4), d.max_level = noise(2) ? d.min_level + 2 : 0;
        d.border[3] = (float)noise(2);
        d.label = "sampler";
        if (gpu_is_cuda()) d.mag_filter = d.min_filter, d.compare = SPY_COMPARE_NONE; // it has no others
        spy_release_sampler(MADE(spy_sampler, spy_create_sampler(gpu_device, &d)));
    }
    // Those that need a feature: made, or refused by its name.
    for (int k = 0; k < 2; k++) {
        spy_sampler_desc d;
        memset(&d, 0, sizeof d);
        if (k == 0) d.address_v = SPY_ADDRESS_MODE_MIRROR_ONCE;
        else d.reduction = SPY_REDUCTION_MIN;
        spy_sampler *s = spy_create_sampler(gpu_device, &d);
        if (!s && gpu_is_cuda()) ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "CUDA has no samplers that");
        else if (!s) ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, k ? "samplerFilterMinmax" : "samplerMirrorClampToEdge");
        spy_release_sampler(s);
    }
    quiet_close();
}

// Textures made and released while work with them runs; and the device released with textures, views and samplers alive.
static void test_releases(void **state) {
    (void)state;
    quiet_device();
    unsigned char *in = some_bytes(64 * 64 * 4, 9);
    for (int i = 0; i < 200; i++) {
        spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 64, 64);
        d.levels = SPY_ALL_LEVELS, d.data = in;
        spy_texture *t = made(&d), *view = viewed(t, 1, 1, 0, 0);
        OK(spy_texture_generate_mips(t));
        spy_release_texture(t);
        OK(spy_texture_clear(view, (spy_clear_color){ { 1, 0, 0, 0 } }));
        spy_release_texture(view);
    }
    OK(spy_wait(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).texture_bytes, 0);
    spy_texture_desc d = described(SPY_FORMAT_RGBA8_UNORM, 64, 64);
    d.data = in;
    spy_texture *t = made(&d);
    (void)viewed(t, 0, 0, 0, 0);
    (void)MADE(spy_sampler, spy_create_sampler(gpu_device, NULL));
    free(in);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_formats),  cmocka_unit_test(test_types),
        cmocka_unit_test(test_tensors),    cmocka_unit_test(test_copies),   cmocka_unit_test(test_clears),
        cmocka_unit_test(test_blits),      cmocka_unit_test(test_mips),     cmocka_unit_test(test_resolves),
        cmocka_unit_test(test_list),       cmocka_unit_test(test_samplers), cmocka_unit_test(test_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
