// Textures on a device: texels there and back for every format, type and region, copies, clears, blits, mips, resolves and
// samplers, against plain C. Run with SPY_TEST_VALIDATION=1, too: then each message of the validation layer fails a test.
#include "quiet_device.h"

spy_device *gpu_device;

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

static uint32_t noise(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

// Bytes that are texels of any format; floats among them are finite.
static unsigned char *some_bytes(size_t size, uint32_t seed) {
    unsigned char *bytes = malloc(size + 4);
    uint32_t state = seed * 2654435761u + 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)((noise(&state) >> 8) % 0x3f);
    return bytes;
}

// What is written is read, all of level 0.
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
    assert_true(spy_get_device_stats(gpu_device).texture_bytes >= sizeof out);
    OK(spy_texture_read(t, NULL, out, sizeof out));
    assert_memory_equal(in, out, sizeof out);
    free(in);
    spy_release_texture(t);
    OK(spy_wait(gpu_device));
    assert_int_equal(spy_get_device_stats(gpu_device).texture_bytes, 0);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
