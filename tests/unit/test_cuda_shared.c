// options.shared_bytes on CUDA: dynamic shared memory of a launch, on a driver without a GPU (fake_cuda/), which refuses a
// launch with more than 48 KiB unless its function was allowed to. Kernels are compiled by NVRTC.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#include "hold_slang.h"
#include "fake_cuda/fake_device.h"

#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#endif

static const char source[] = "void need() { __requirePrelude(\"extern __shared__ unsigned user_shared[];\"); }\n"
                             "uint get(uint at) { __intrinsic_asm \"user_shared[$0]\"; }\n"
                             "void put(uint at, uint v) { __intrinsic_asm \"user_shared[$0] = $1\"; }\n"
                             "[CudaKernel] void turn(uint *p, uint n) {\n"
                             "    need();\n"
                             "    uint i = cudaThreadIdx().x;\n"
                             "    for (uint at = i; at < n; at += cudaBlockDim().x) put(at, p[at]);\n"
                             "    AllMemoryBarrierWithGroupSync();\n"
                             "    for (uint at = i; at < n; at += cudaBlockDim().x) p[at] = get(n - 1 - at);\n"
                             "}\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)] void shader(uint3 id : SV_DispatchThreadID, uniform uint *p) { need(); put(id.x, 1); p[id.x] = get(0); }\n"
                             "float plain(float x) { return x; }\n"
                             "struct Both { float a; half b[3]; }\n" // 12 bytes
                             "groupshared uint4 many[5000];\n"
                             "groupshared float one;\n"
                             "groupshared Both both[3][2];\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)] void large(uint3 id : SV_GroupThreadID, uniform uint4 *p, uniform float *f) {\n"
                             "    many[id.x] = p[id.x];\n"
                             "    one = f[0];\n"
                             "    both[2][1].a = f[1];\n"
                             "    GroupMemoryBarrierWithGroupSync();\n"
                             "    p[id.x] = many[31 - id.x];\n"
                             "    f[id.x] = one + both[2][1].a;\n"
                             "}\n"
                             "groupshared float few[1000];\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)] void small(uint3 id : SV_GroupThreadID, uniform float *f) {\n"
                             "    few[id.x] = f[id.x];\n"
                             "    GroupMemoryBarrierWithGroupSync();\n"
                             "    f[id.x] = few[31 - id.x];\n"
                             "}\n";

static const char *path;
static fake_cuda *fake;
static spy_device *device;
static spy_module *module;
static spy_tensor *numbers;

static int set_up(void **state) {
    spy_cuda_desc cuda;
    spy_device_desc d;
    spy_module_desc m;
    spy_tensor_desc t;
    memset(&cuda, 0, sizeof cuda);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&t, 0, sizeof t);
    cuda.driver_library = path;
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    m.name = "shared";
    m.source = source;
    t.shape = SPY_SHAPE(50000);
    t.type = "uint";
    device = spy_create_device(&d);
    module = spy_load_module(device, &m);
    numbers = spy_create_tensor(device, &t);
    fake = fake_cuda_state_at(path);
    if (!module || !numbers || !fake) print_error("%s\n", spy_take_error(device).message);
    (void)state;
    return !module || !numbers || !fake;
}
static int tear_down(void **state) {
    spy_release_device(device);
    (void)state;
    return fake->allocations != 0 || fake->modules != 0;
}

#define OK(expression) fake_good(device, (expression), __LINE__)
#define FAILS(expression, code, word, more) fake_fails(device, (expression), (code), (word), (more), __LINE__)

static spy_status turn(uint32_t shared_bytes, spy_command_list *list) {
    static const spy_uint3 threads = { 256, 1, 1 };
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.thread_group_size[0] = 256;
    o.shared_bytes = shared_bytes;
    o.append_to = list;
    return spy_dispatch(spy_find_function(module, "turn"), threads,
                        SPY_ARGS(spy_arg_tensor("p", numbers), spy_arg_u32("n", shared_bytes / 4)), &o);
}

static void test_limits(void **state) {
    spy_device_info info = spy_get_device_info(device);
    (void)state;
    assert_int_equal(info.max_shared_bytes, FAKE_SHARED_BYTES);
    assert_int_equal(info.multiprocessor_count, 132);
}

// What a launch has, kernel by kernel: each size is a kernel of its own. 20 times: kernels that come back are launched as graphs.
static void test_sizes(void **state) {
    static const uint32_t sizes[] = { 0, 4, 49152, 49156, 200000, FAKE_SHARED_BYTES };
    (void)state;
    uint64_t before = fake->kernels;
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            fake->shared = 1;
            OK(turn(sizes[i], NULL));
            if (round == 0) assert_int_equal(fake->shared, sizes[i]); // later rounds launch graphs
        }
    assert_int_equal(fake->kernels - before, 120);
    assert_int_equal(spy_get_device_stats(device).kernels_built, 6);
}

static void test_shader(void **state) {
    static const spy_uint3 threads = { 32, 1, 1 };
    spy_call_options o;
    (void)state;
    memset(&o, 0, sizeof o);
    o.shared_bytes = 100000;
    OK(spy_dispatch(spy_find_function(module, "shader"), threads, SPY_ARGS(spy_arg_tensor("p", numbers)), &o));
    assert_int_equal(fake->shared, 100000);
}

// groupshared variables of more than 48 KiB lie in dynamic shared memory, each at a multiple of 16, behind shared_bytes.
static void test_groupshared(void **state) {
    static const spy_uint3 threads = { 32, 1, 1 };
    static const uint32_t given[] = { 0, 4, 100000 };
    spy_call_options o;
    (void)state;
    memset(&o, 0, sizeof o);
    spy_function *large = spy_find_function(module, "large");
    for (int i = 0; i < 3; i++) {
        o.shared_bytes = given[i];
        OK(spy_dispatch(large, threads, SPY_ARGS(spy_arg_u64("p", spy_tensor_address(numbers)), spy_arg_u64("f", spy_tensor_address(numbers))), &o));
        assert_int_equal(fake->shared, (given[i] + 15) / 16 * 16 + 80000 + 16 + 72);
    }
    o.shared_bytes = 160000;
    FAILS(spy_dispatch(large, threads, SPY_ARGS(spy_arg_u64("p", spy_tensor_address(numbers)), spy_arg_u64("f", spy_tensor_address(numbers))), &o), SPY_ERROR_UNSUPPORTED,
          "has 80088 bytes of groupshared variables; with shared_bytes 160000", "large");
    o.shared_bytes = 0;
    OK(spy_dispatch(spy_find_function(module, "small"), threads, SPY_ARGS(spy_arg_u64("f", spy_tensor_address(numbers))), &o));
    assert_int_equal(fake->shared, 0); // static
}

// The batch engine of small networks (src/slang/mlp_batch.slang) from C: what its head says is all that a dispatch needs.
static void test_batch_engine(void **state) {
    static const spy_uint3 threads = { 132 * 128, 1, 1 };
    const spy_arg constants[] = { spy_arg_i32("mlp_width", 64), spy_arg_i32("mlp_depth", 2), spy_arg_i32("mlp_inputs", 20), spy_arg_i32("mlp_outputs", 3),
                                  spy_arg_i32("mlp_flags", 2), spy_arg_i32("mlp_engine", 0), spy_arg_i32("mlp_warps", 4) };
    const uint32_t depth = 2, width = 64, forward = (2 * depth * width + 32) * width + (depth * width + 8) * 4;
    spy_module_desc m;
    spy_tensor_desc d;
    spy_call_options o;
    (void)state;
    memset(&m, 0, sizeof m);
    memset(&d, 0, sizeof d);
    memset(&o, 0, sizeof o);
    m.name = "net";
    m.source = "import mlp_batch;";
    spy_module *net = spy_load_module(device, &m);
    assert_non_null(net);
    d.type = "uint4";
    d.shape = SPY_SHAPE(((2 * (depth + 1) * width + 32) * width + (depth * width + 8) * 4) / 16);
    spy_tensor *image = spy_create_tensor(device, &d);
    d.type = "half";
    d.shape = SPY_SHAPE(100, 20);
    spy_tensor *x = spy_create_tensor(device, &d);
    d.shape = SPY_SHAPE(100, 3);
    spy_tensor *y = spy_create_tensor(device, &d);
    o.constants.items = constants;
    o.constants.count = sizeof constants / sizeof constants[0];
    o.thread_group_size[0] = 128;
    o.shared_bytes = forward;
    uint64_t before = fake->kernels;
    OK(spy_dispatch(spy_find_function(net, "mlp_forward"), threads,
                    SPY_ARGS(spy_arg_tensor("image", image), spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_u32("rows", 100)), &o));
    OK(spy_wait(device));
    assert_int_equal(fake->kernels - before, 1);
    assert_int_equal(fake->shared, forward);
    spy_release_tensor(image);
    spy_release_tensor(x);
    spy_release_tensor(y);
}

// A list's graph has kernel nodes, which the driver checks as it does launches.
static void test_list(void **state) {
    (void)state;
    spy_command_list *list = spy_create_command_list(device, NULL);
    OK(turn(150000, list));
    OK(turn(64, list));
    OK(spy_list_finish(list));
    uint64_t before = fake->kernels;
    for (int i = 0; i < 5; i++) OK(spy_list_submit(list));
    OK(spy_wait(device));
    assert_int_equal(fake->kernels - before, 10);
    assert_int_equal(fake->shared, 64);
    spy_release_command_list(list);
}

static void test_errors(void **state) {
    (void)state;
    uint64_t before = fake->kernels;
    FAILS(turn(FAKE_SHARED_BYTES + 4, NULL), SPY_ERROR_UNSUPPORTED, "turn: its options: shared_bytes: expected at most 232448, got 232452", "");
    FAILS(turn(UINT32_MAX, NULL), SPY_ERROR_UNSUPPORTED, "expected at most 232448, got 4294967295", "turn");
    fake->static_shared = 40000;
    FAILS(turn(200008, NULL), SPY_ERROR_UNSUPPORTED, "has 40000 bytes of groupshared variables", "shared_bytes 200008");
    OK(turn(FAKE_SHARED_BYTES - 40000, NULL));
    fake->static_shared = 0;
    fake->fail = "cuFuncSetAttribute";
    fake->fail_result = 2;
    FAILS(turn(123456, NULL), SPY_ERROR_OUT_OF_DEVICE_MEMORY, "cuFuncSetAttribute", "turn");
    OK(turn(123456, NULL)); // the failure is not kept
    assert_int_equal(fake->kernels - before, 2);
}

// A device whose groups have none.
static void test_null_backend(void **state) {
    spy_device_desc d;
    spy_module_desc m;
    spy_call_options o;
    float y;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    memset(&o, 0, sizeof o);
    d.backend = spyi_null_backend();
    m.name = "plain";
    m.source = "float plain(float x) { return x; }";
    spy_device *other = spy_create_device(&d);
    spy_module *code = spy_load_module(other, &m);
    assert_int_equal(spy_get_device_info(other).max_shared_bytes, 0);
    o.shared_bytes = 16;
    fake_fails(other, spy_call_with(spy_find_function(code, "plain"), SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &y)), &o), SPY_ERROR_UNSUPPORTED,
               "plain: its options: shared_bytes: expected at most 0, got 16", "", __LINE__);
    spy_release_device(other);
}

int main(int count, char **words) {
    (void)count;
    path = fake_cuda_path(words[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down), cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shader, set_up, tear_down), cmocka_unit_test_setup_teardown(test_groupshared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_batch_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down), cmocka_unit_test(test_null_backend),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
