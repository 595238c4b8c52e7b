// What [CudaKernel] functions get for TensorView<T> and DiffTensorView<T>, byte by byte, on the null backend with CUDA's
// target: random shapes and strides against the struct as Slang's CUDA prelude declares it. Kernels are made and never run.
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "backend/null/null.h"
#include "call/call.h"
#endif

static spy_device *device;
static spy_module *module;
static spyi_text report;

static const char source[] =
    "[CudaKernel] void floats(TensorView<float> x) { x[cudaThreadIdx().x] = 1; }\n"
    "[CudaKernel] void points(TensorView<float3> x) { x[cudaThreadIdx().x] = 1; }\n"
    "[CudaKernel] void squares(TensorView<float2x2> x) { x[cudaThreadIdx().x] = x[1]; }\n"
    "[CudaKernel] void pairs(DiffTensorView x) { x[cudaThreadIdx().x] = 1; }\n";

// Slang's own, on a 64-bit target.
struct view {
    uint8_t *data;
    uint32_t strides[5];
    uint32_t sizes[5];
    uint32_t dimension_count;
};

static int open_device(void **state) {
    spyi_null_desc null_desc;
    spy_device_desc d;
    spy_module_desc m;
    (void)state;
    memset(&null_desc, 0, sizeof null_desc);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    null_desc.target = SPYI_TARGET_CUDA;
    null_desc.max_block_bytes = 4096;
    null_desc.report = &report;
    d.backend = spyi_null_backend();
    d.backend_desc = &null_desc;
    device = spy_create_device(&d);
    m.name = "views";
    m.source = source;
    module = device ? spy_load_module(device, &m) : NULL;
    if (!module) print_error("%s\n", spy_take_error(device).message);
    return module ? 0 : -1;
}

static int close_device(void **state) {
    (void)state;
    spy_release_device(device);
    if (report.size) print_error("%s", spyi_text_str(&report));
    int bad = report.size != 0;
    spyi_text_free(&report);
    return bad;
}

static spy_tensor *made(spy_tensor *t) {
    if (!t) fail_msg("%s", spy_take_error(device).message);
    return t;
}

static spy_tensor *make(const char *type, spy_shape shape, bool grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.type = type;
    d.module = module;
    d.with_grad = grad;
    return made(spy_create_tensor(device, &d));
}

static uint64_t address_of(const spy_tensor *t) {
    return t->storage->chunk.address + t->storage->offset + t->offset_bytes;
}

// The views that the function got for `x`, found by the address that must be in them.
static void views_of(const char *name, spy_tensor *x, struct view *out, size_t count) {
    spy_uint3 threads = { 64, 1, 1 };
    spy_arg arg = spy_arg_tensor("x", x);
    spy_args args;
    args.items = &arg;
    args.count = 1;
    if (spy_dispatch(spy_find_function(module, name), threads, args, NULL) != SPY_OK)
        fail_msg("%s", spy_take_error(device).message);
    const spyi_null_op *op = spyi_null_get_op(device->gpu, spyi_null_op_count(device->gpu) - 1);
    const char *block = (const char *)op->block;
    uint64_t address = address_of(x);
    size_t at = 0;
    assert_int_equal(op->groups[0], 1);
    assert_int_equal(op->group_size, 64);
    while (at + count * sizeof *out <= op->block_size && memcmp(block + at, &address, 8) != 0) at += 8;
    assert_true(at + count * sizeof *out <= op->block_size);
    memcpy(out, block + at, count * sizeof *out);
}

static void view_is(const struct view *v, uint32_t rank, const uint32_t *sizes, const uint32_t *strides) {
    assert_int_equal(v->dimension_count, rank);
    for (uint32_t d = 0; d < 5; d++) {
        assert_int_equal(v->sizes[d], d < rank ? sizes[d] : 0);
        assert_int_equal(v->strides[d], d < rank ? strides[d] : 0);
    }
}

static void test_layout(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct view), 56); // slang-abi: 56 bytes, and 112 of a DiffTensorView
    struct view v;
    spy_tensor *x = make("float", SPY_SHAPE(7, 5, 3), false);
    views_of("floats", x, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 7, 5, 3 }, (const uint32_t[]){ 60, 12, 4 });

    spy_tensor *turned = made(spy_create_transpose(x, SPY_DIMS(2, 0, 1)));
    views_of("floats", turned, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 3, 7, 5 }, (const uint32_t[]){ 4, 60, 12 });

    spy_tensor *slice = made(spy_create_slice(x, 1, 1, 5, 2));
    views_of("floats", slice, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 7, 2, 3 }, (const uint32_t[]){ 60, 24, 4 });

    spy_tensor *stretched = made(spy_create_broadcast(slice, SPY_SHAPE(4, 7, 2, 3)));
    views_of("floats", stretched, &v, 1);
    view_is(&v, 4, (const uint32_t[]){ 4, 7, 2, 3 }, (const uint32_t[]){ 0, 60, 24, 4 });

    // The components are dimensions however the tensor spells them.
    views_of("points", x, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 7, 5, 3 }, (const uint32_t[]){ 60, 12, 4 });
    spy_tensor *points = make("float3", SPY_SHAPE(7, 5), false);
    views_of("points", points, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 7, 5, 3 }, (const uint32_t[]){ 60, 12, 4 });

    spy_tensor *squares = make("float2x2", SPY_SHAPE(9), false),
               *four = make("float", SPY_SHAPE(9, 2, 2), false);
    views_of("squares", squares, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 9, 2, 2 }, (const uint32_t[]){ 16, 8, 4 });
    views_of("squares", four, &v, 1);
    view_is(&v, 3, (const uint32_t[]){ 9, 2, 2 }, (const uint32_t[]){ 16, 8, 4 });

    spy_tensor *all[] = { x, turned, slice, stretched, points, squares, four };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_tensor(all[i]);
}

static void test_gradients(void **state) {
    (void)state;
    struct view v[2];
    spy_tensor *x = make("float", SPY_SHAPE(6, 2), true), *bare = make("float", SPY_SHAPE(6, 2), false);
    views_of("pairs", x, v, 2);
    view_is(&v[0], 2, (const uint32_t[]){ 6, 2 }, (const uint32_t[]){ 8, 4 });
    view_is(&v[1], 2, (const uint32_t[]){ 6, 2 }, (const uint32_t[]){ 8, 4 });
    assert_true((uint64_t)(uintptr_t)v[1].data == address_of(spy_tensor_grad(x)));
    views_of("pairs", bare, v, 2);
    view_is(&v[1], 0, NULL, NULL);
    assert_null(v[1].data);
    spy_release_tensor(x);
    spy_release_tensor(bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
