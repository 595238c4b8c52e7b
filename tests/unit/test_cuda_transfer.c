// The CUDA backend's uploads from and downloads into plain arrays, in pieces, on a driver without a GPU (fake_cuda/). That one
// moves bytes at the moment it is told to: a piece that is sent before it is copied, or overwritten too early, arrives wrong.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "chance.h"
#ifdef SPY_TEST_SPLIT
#include "cuda/internal.h"
#endif
#include "fake_cuda/fake_device.h"
#include "thread_limit.h"

static const char *fake_path;
static fake_cuda *fake;

static spy_device *open_device(void) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_device *device;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = fake_path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    fake = fake_cuda_state_at(fake_path);
    assert_non_null(fake);
    return device;
}

static spy_tensor *bytes(spy_device *device, size_t size) {
    spy_tensor_desc d;
    spy_tensor *t;
    memset(&d, 0, sizeof d);
    d.dtype = SPY_DTYPE_UINT8;
    d.shape = SPY_SHAPE((int64_t)size);
    t = spy_create_tensor(device, &d);
    if (!t) fail_msg("%s", spy_take_error(device).message);
    return t;
}

static uint8_t *noise(size_t size) {
    uint8_t *p = (uint8_t *)malloc(size + 1);
    const uint64_t salt = next_random();
    assert_non_null(p);
    for (size_t i = 0; i <= size; i++) p[i] = (uint8_t)(((uint64_t)i + salt) * 0x9E3779B97F4A7C15u >> 40);
    return p;
}

// Sizes about those of a page, a piece and the ring of pieces, and any between; every other one without other threads, so
// that nothing is copied before somebody waits for it.
static void test_sizes(void **state) {
    const size_t piece = SPYI_CUDA_STAGING_SIZE, ring = piece * SPYI_CUDA_STAGING_COUNT;
    const size_t fixed[] = { 65536,     65537,     (4u << 20) - 1, 4u << 20, piece - 1, piece,
                             piece + 1, 2 * piece, ring - 1,       ring,     ring + 1,  ring + piece + 7 };
    const size_t most = ring + 2 * piece, count = sizeof fixed / sizeof fixed[0] + test_count(40);
    uint8_t *to = (uint8_t *)malloc(most + 2);
    spy_device *device = open_device();
    int64_t alive;
    (void)state;
    assert_non_null(to);
    for (size_t i = 0; i < count; i++) {
        size_t size = i < sizeof fixed / sizeof fixed[0] ? fixed[i] : 1 + below((uint32_t)most - 1);
        size_t shift = below(2); // alignment of the array
        uint8_t *from = noise(size);
        spy_tensor *t = bytes(device, size);
        memset(to, 0xA5, size + 2);
        start_limit = i % 2 == 0 ? 0 : -1;
        if (spy_tensor_write(t, from + shift, size) != SPY_OK) fail_msg("%s", spy_take_error(device).message);
        if (spy_tensor_read(t, to + 1, size) != SPY_OK) fail_msg("%s", spy_take_error(device).message);
        if (memcmp(to + 1, from + shift, size) != 0) fail_msg("%zu bytes arrived wrong", size);
        assert_true(to[0] == 0xA5 && to[size + 1] == 0xA5);
        free(from);
        spy_release_tensor(t);
    }
    start_limit = -1;
    spy_release_device(device);
    alive = fake->allocations;
    assert_int_equal(alive, 0);
    free(to);
}

// A failure at any piece is told, ends the team, and the next transfer is right.
static void test_failures(void **state) {
    static const char *const names[] = { "cuMemHostAlloc", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2" };
    const size_t size = SPYI_CUDA_STAGING_SIZE * 5 + 1001;
    uint8_t *from = noise(size), *to = (uint8_t *)malloc(size);
    (void)state;
    assert_non_null(to);
    for (unsigned name = 0; name < 3; name++) {
        for (unsigned skip = 0; skip < 6; skip += 1 + below(2)) {
            spy_device *device = open_device();
            spy_tensor *t = bytes(device, size);
            spy_status up, down;
            if (name == 0 && skip > 3) skip = 3; // it has four buffers each way
            fake->fail = names[name];
            fake->fail_result = 2;
            fake->fail_skip = skip;
            up = spy_tensor_write(t, from, size);
            down = spy_tensor_read(t, to, size);
            assert_int_equal(up, name < 2 ? SPY_ERROR_OUT_OF_DEVICE_MEMORY : SPY_OK);
            assert_int_equal(down, name < 2 ? SPY_OK : SPY_ERROR_OUT_OF_DEVICE_MEMORY);
            assert_null(fake->fail);
            assert_int_equal(spy_take_error(device).code, SPY_ERROR_OUT_OF_DEVICE_MEMORY);
            memset(to, 0, size);
            assert_int_equal(spy_tensor_write(t, from, size), SPY_OK);
            assert_int_equal(spy_tensor_read(t, to, size), SPY_OK);
            assert_memory_equal(to, from, size);
            spy_release_tensor(t);
            spy_release_device(device);
            assert_int_equal(fake->allocations, 0);
            if (name == 0 && skip == 3) break;
        }
    }
    free(from);
    free(to);
}

int main(int count, char **words) {
    (void)count;
    fake_path = fake_cuda_path(words[0]);
    seed();
    {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_failures) };
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
}
