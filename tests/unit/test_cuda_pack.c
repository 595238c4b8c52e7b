// What a pack gives CUDA devices, on a driver without a GPU (fake_cuda/): each loads the code that was made for it, and a device that
// has none of its own loads PTX. The pack is recorded without a GPU; the devices have neither libslang nor NVRTC.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "hold_slang.h"
#include "fake_cuda/fake_device.h"

#ifdef SPY_TEST_SPLIT
#include "api/pack.h"
#endif

static const char *path;
static char pack[] = "/tmp/spy_cuda_pack_XXXXXX";
static fake_cuda *fake;

// Calls scale(float, float[], _result: float[]) of 8 elements.
static spy_status program(spy_device *device) {
    spy_module_desc m;
    spy_tensor_desc t;
    memset(&m, 0, sizeof m);
    memset(&t, 0, sizeof t);
    m.name = "m";
    m.source = "float scale(float k, float x) { return k * x; }";
    t.shape = SPY_SHAPE(8);
    spy_module *module = spy_load_module(device, &m);
    spy_tensor *x = spy_create_tensor(device, &t), *y = spy_create_tensor(device, &t);
    spy_status status = spy_call(spy_find_function(module, "scale"),
                                 SPY_ARGS(spy_arg_f32("k", 2), spy_arg_tensor("x", x), spy_arg_tensor("_result", y)));
    return status == SPY_OK ? spy_wait(device) : status;
}

static int set_up(void **state) {
    static const uint32_t archs[] = { 75, 100 };
    spy_device_desc d;
    memset(&d, 0, sizeof d);
    d.backend = spy_cuda_backend();
    d.offline = d.record_pack = true;
    d.pack_archs = archs;
    d.pack_arch_count = 2;
    int file = mkstemp(pack);
    if (file < 0 || close(file) != 0 || unlink(pack) != 0) return -1;
    (void)hold_slang(state);
    spy_device *device = spy_create_device(&d);
    bool good = program(device) == SPY_OK && spy_save_pack(device, pack) == SPY_OK;
    if (!good) print_error("%s\n", spy_take_error(device).message);
    spy_release_device(device);
    fake = fake_cuda_state_at(path);
    return good && fake ? 0 : -1;
}

static int tear_down(void **state) {
    (void)unlink(pack);
    return let_slang_go(state);
}

static spy_device *open_device(int capability) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    cuda.driver_library = path;
    cuda.nvrtc_library = "/nonexistent/libnvrtc.so";
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    d.slang_library = "/nonexistent/libslang.so";
    d.pack = pack;
    fake->capability = capability;
    spy_device *device = spy_create_device(&d);
    if (!device) fail_msg("%s", spy_take_error(NULL).message);
    return device;
}

// Whether a device of this compute capability loads a cubin, and whether PTX.
static void loads(int capability, uint64_t cubins, uint64_t texts) {
    uint64_t had[3] = { fake->cubins, fake->texts, fake->kernels };
    spy_device *device = open_device(capability);
    fake_good(device, program(device), __LINE__);
    assert_int_equal(spy_get_device_stats(device).compiler_loads, 0);
    spy_release_device(device);
    if (fake->cubins - had[0] != cubins || fake->texts - had[1] != texts || fake->kernels == had[2])
        fail_msg("compute capability %d.%d: %d cubins and %d PTX texts were loaded, and %d kernels run", capability / 10, capability % 10,
                 (int)(fake->cubins - had[0]), (int)(fake->texts - had[1]), (int)(fake->kernels - had[2]));
}

static void test_code(void **state) {
    (void)state;
    loads(75, 1, 0);
    loads(100, 1, 0);
    // No cubin fits. From 9.0 on a cubin runs on its own compute capability alone, also within a generation.
    loads(80, 0, 1);
    loads(90, 0, 1);
    loads(103, 0, 1);
    loads(990, 0, 1);
}

static void test_too_old(void **state) {
    (void)state;
    spy_device *device = open_device(70);
    fake_fails(device, program(device), SPY_ERROR_NO_COMPILER, "no code of it for compute capability 7.0", "name sm_70 among the pack's architectures",
               __LINE__);
    spy_release_device(device);
}

int main(int count, char **words) {
    (void)count;
    path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_code), cmocka_unit_test(test_too_old) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
