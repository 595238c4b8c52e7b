// [CudaKernel] functions and their TensorView parameters, dispatched raw: values of every kind of tensor against plain C,
// gradients through DiffTensorView, and what cannot be given. Other backends than CUDA refuse them by name.
#include "gpu_test.h"

spy_device *gpu_device;

static const char source[] =
    "[CudaKernel] void scale(TensorView<float> x, float a, TensorView<float> y) {\n"
    "    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;\n"
    "    if (i < x.size(0)) y[i] = a * x[i]; }\n"
    // Sizes, strides and count of a view; which thread ran where.
    "[CudaKernel] void look(TensorView<float> x, TensorView<float3> v, TensorView<uint> o) {\n"
    "    uint3 t = cudaThreadIdx(); uint3 b = cudaBlockIdx(); uint3 n = cudaBlockDim();\n"
    "    if (any(t != 0) || any(b != 0)) return;\n"
    "    o[0] = x.dims(); o[6] = v.dims(); o[12] = n.x; o[13] = n.y; o[14] = n.z;\n"
    "    for (uint d = 0; d < x.dims(); d++) o[1 + d] = x.size(d);\n"
    "    for (uint d = 0; d < v.dims(); d++) o[7 + d] = v.size(d); }\n"
    "[CudaKernel] void fifth(TensorView<half> x, TensorView<double> y, TensorView<float3> v, "
    "TensorView<float> o) {\n"
    "    uint3 t = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx();\n"
    "    if (t.x >= o.size(1) || t.y >= o.size(0)) return;\n"
    "    float3 p = v[t.y, t.x];\n"
    "    o[t.y, t.x] = float(x[t.y, t.x]) + float(y[t.y, t.x]) + p.x + 10 * p.y + 100 * p.z; }\n"
    "[CudaKernel] void mark(TensorView<uint> o) {\n"
    "    uint3 t = cudaBlockIdx() * cudaBlockDim() + cudaThreadIdx(); uint old;\n"
    "    o.InterlockedAdd(t.x + 4 * t.y, 1u + WaveGetLaneIndex() * 0, old); }\n"
    "struct Light { float3 color; float power; }\n"
    "[CudaKernel] void lamp(TensorView<float3> o, Light light, bool twice) {\n"
    "    uint i = cudaThreadIdx().x;\n"
    "    if (i < o.size(0)) o[i] = light.color * light.power * (twice ? 2.0 : 1.0); }\n"
    "namespace ns { [CudaKernel] void put(TensorView<int> o, int v) { o[cudaThreadIdx().x] = v; } }\n"
    "[AutoPyBindCUDA] [CudaKernel] [Differentiable] void square(DiffTensorView x, DiffTensorView y) {\n"
    "    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;\n"
    "    if (i >= x.size(0)) return;\n"
    "    y[i] = x[i] * x[i]; }\n"
    "[CudaKernel] void square_back(DiffTensorView x, DiffTensorView y) { bwd_diff(square)(x, y); }\n"
    "[CudaKernel] void square_forward(DiffTensorView x, DiffTensorView y) { fwd_diff(square)(x, y); }\n"
    "struct Pose { float4x4 turn; float3x2 wide[2]; }\n"
    "[CudaKernel] void pose(float3x3 a, float2x3 b, Pose p, TensorView<float> o) {\n"
    "    if (cudaThreadIdx().x > 0) return;\n"
    "    float3 v = mul(a, float3(1, 10, 100)); float2 w = mul(b, float3(1, 10, 100));\n"
    "    o[0] = v.x; o[1] = v.y; o[2] = v.z; o[3] = w.x; o[4] = w.y; o[5] = p.turn[1][2]; o[6] = p.wide[1][2][0];\n"
    "    o[7] = p.wide[0][1][1]; }\n"
    "void plain(uint t : SV_DispatchThreadID, TensorView<float> x, float v) { x[t] = v; }\n"
    "float twice(float x) { return 2 * x; }\n";

// Modules whose code is for CUDA alone load on every backend.
static spy_module *open_module(void) {
    spy_device_desc d = gpu_desc();
    gpu_device = gpu_open(&d);
    if (!gpu_device) skip();
    return MADE(spy_module, gpu_module(gpu_device, "kernels", source));
}

static void close_device(spy_module *module) {
    spy_release_module(module);
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

static spy_uint3 threads(uint32_t x, uint32_t y, uint32_t z) {
    spy_uint3 t = { x, y, z };
    return t;
}

static spy_call_options groups(uint32_t x, uint32_t y, uint32_t z) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.thread_group_size[0] = x;
    o.thread_group_size[1] = y;
    o.thread_group_size[2] = z;
    return o;
}

static uint32_t chance_state = 12345;
static float chance(void) {
    chance_state = chance_state * 1664525u + 1013904223u;
    return (float)(chance_state >> 16) / 65536.0f - 0.5f;
}

static uint16_t half_of(unsigned n) { // 1 to 2047, exactly
    unsigned e = 0;
    while (n >> (e + 1)) e++;
    return (uint16_t)((15 + e) << 10 | (((n << (10 - e)) & 0x3ff)));
}

// >>reflection

static void test_reflection(void **state) {
    (void)state;
    spy_module *m = open_module();
    static const char *const kernels[] = { "scale", "look", "ns::put", "square", "square_back" };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const spy_decl *decl = spy_find_decl(m, kernels[i]);
        assert_non_null(decl);
        assert_true(decl->flags & SPY_DECL_FLAG_CUDA_KERNEL);
    }
    assert_false(spy_find_decl(m, "plain")->flags & SPY_DECL_FLAG_CUDA_KERNEL);
    assert_false(spy_find_decl(m, "twice")->flags & SPY_DECL_FLAG_CUDA_KERNEL);
    close_device(m);
}

// >>elsewhere than on CUDA

static void test_elsewhere(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (gpu_is_cuda()) {
        close_device(m);
        return;
    }
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), NULL));
    FAILS(SPY_ERROR_UNSUPPORTED,
          spy_dispatch(spy_find_function(m, "scale"), threads(4, 1, 1),
                       SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("a", 2), spy_arg_tensor("y", x)), NULL),
          "scale", "[CudaKernel]", "CUDA backend");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_dispatch(spy_find_function(m, "plain"), threads(4, 1, 1),
                       SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("v", 2)), NULL),
          "'x'", "TensorView", "CUDA backend", "RWTensor");
    spy_release_tensor(x);
    close_device(m);
}

// >>values

static void test_values(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    enum { N = 1000 };
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = chance();
    spy_tensor *tx = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    spy_tensor *ty = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    spy_call_options by_128 = groups(128, 1, 1);
    OK(spy_dispatch(spy_find_function(m, "scale"), threads(N, 1, 1),
                    SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_f32("a", 3), spy_arg_tensor("y", ty)),
                    &by_128));
    OK(spy_tensor_read(ty, y, sizeof y));
    for (int i = 0; i < N; i++) assert_true(y[i] == 3 * x[i]);

    // Every second element, backwards is not possible; positions and no options.
    spy_tensor *half = MADE(spy_tensor, spy_create_slice(tx, 0, 0, N, 2));
    OK(spy_dispatch(spy_find_function(m, "scale"), threads(N / 2, 1, 1),
                    SPY_ARGS(spy_arg_tensor(NULL, half), spy_arg_i32(NULL, -1), spy_arg_tensor(NULL, ty)),
                    NULL));
    OK(spy_tensor_read(ty, y, sizeof y));
    for (int i = 0; i < N / 2; i++) assert_true(y[i] == -x[2 * i]);
    for (int i = N / 2; i < N; i++) assert_true(y[i] == 3 * x[i]);
    spy_release_tensor(half);
    spy_release_tensor(tx);
    spy_release_tensor(ty);
    close_device(m);
}

static void test_views(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    uint32_t seen[16];
    memset(seen, 0xff, sizeof seen);
    spy_tensor *x = MADE(
        spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(2, 3, 4, 5, 6), NULL));
    spy_tensor *o =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(16), seen));
    spy_call_options group = groups(8, 4, 2);
    for (int spelled = 0; spelled < 2; spelled++) { // float3 elements, or floats whose last dimension is 3
        spy_tensor *v =
            MADE(spy_tensor,
                 spelled ? gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "float3", m, SPY_SHAPE(7, 9), NULL)
                         : gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(7, 9, 3), NULL));
        OK(spy_dispatch(spy_find_function(m, "look"), threads(8, 4, 2),
                        SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("v", v), spy_arg_tensor("o", o)),
                        &group));
        OK(spy_tensor_read(o, seen, sizeof seen));
        static const uint32_t expected[15] = { 5, 2, 3, 4, 5, 6, 3, 7, 9, 3, ~0u, ~0u, 8, 4, 2 };
        assert_memory_equal(seen, expected, sizeof expected);
        OK(spy_tensor_fill(o, 4294967295.0));
        spy_release_tensor(v);
    }
    spy_release_tensor(x);
    spy_release_tensor(o);

    // Types and strides: a transposed half, a slice of a double, float3.
    enum { H = 5, W = 33 };
    double y[H][2 * W];
    float v[H][W][3], out[H][W];
    uint16_t xs[W][H];
    for (int i = 0; i < H; i++) {
        for (int j = 0; j < 2 * W; j++) y[i][j] = chance();
        for (int j = 0; j < W; j++) {
            xs[j][i] = half_of((unsigned)(1 + i + 8 * j));
            for (int k = 0; k < 3; k++) v[i][j][k] = chance();
        }
    }
    spy_tensor *halves =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT16, NULL, NULL, SPY_SHAPE(W, H), xs));
    spy_tensor *turned = MADE(spy_tensor, spy_create_transpose(halves, SPY_DIMS(1, 0)));
    spy_tensor *doubles =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT64, NULL, NULL, SPY_SHAPE(H, 2 * W), y));
    spy_tensor *odd = MADE(spy_tensor, spy_create_slice(doubles, 1, 1, 2 * W, 2));
    spy_tensor *points =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(H, W, 3), v));
    spy_tensor *to =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(H, W), NULL));
    spy_call_options square = groups(16, 16, 1);
    OK(spy_dispatch(spy_find_function(m, "fifth"), threads(W, H, 1),
                    SPY_ARGS(spy_arg_tensor("o", to), spy_arg_tensor("v", points), spy_arg_tensor("y", odd),
                             spy_arg_tensor("x", turned)),
                    &square));
    OK(spy_tensor_read(to, out, sizeof out));
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            float wanted = (float)(1 + i + 8 * j) + (float)y[i][2 * j + 1] + v[i][j][0] + 10 * v[i][j][1] +
                           100 * v[i][j][2];
            assert_float_equal(out[i][j], wanted, 1e-3f);
        }
    spy_tensor *all[] = { halves, turned, doubles, odd, points, to };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_tensor(all[i]);
    close_device(m);
}

// Whole groups run; atomics; scalars, structs and bools by value; functions in a namespace.
static void test_threads(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    uint32_t counts[12] = { 0 };
    float lit[4][3];
    int32_t put[2] = { 0, 0 };
    spy_tensor *o =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(12), counts));
    spy_call_options group = groups(4, 3, 1);
    OK(spy_dispatch(spy_find_function(m, "mark"), threads(1, 1, 1), SPY_ARGS(spy_arg_tensor("o", o)),
                    &group));
    OK(spy_tensor_read(o, counts, sizeof counts));
    for (int i = 0; i < 12; i++) assert_int_equal(counts[i], 1);
    spy_release_tensor(o);

    spy_tensor *c =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "float3", m, SPY_SHAPE(4), NULL));
    const float color[3] = { 1, 2, 3 };
    OK(spy_dispatch(spy_find_function(m, "lamp"), threads(4, 1, 1),
                    SPY_ARGS(spy_arg_tensor("o", c),
                             spy_arg_struct("light", SPY_ARGS(spy_arg_array("color", color,
                                                                            SPY_SHAPE(3), SPY_DTYPE_FLOAT32),
                                                              spy_arg_f32("power", 5))),
                             spy_arg_bool("twice", true)),
                    NULL));
    OK(spy_tensor_read(c, lit, sizeof lit));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) assert_true(lit[i][k] == 10 * color[k]);
    spy_release_tensor(c);

    spy_tensor *p = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(2), NULL));
    spy_call_options two = groups(2, 1, 1);
    OK(spy_dispatch(MADE(spy_function, spy_find_function(m, "ns::put")), threads(2, 1, 1),
                    SPY_ARGS(spy_arg_tensor("o", p), spy_arg_i32("v", -7)), &two));
    OK(spy_tensor_read(p, put, sizeof put));
    assert_int_equal(put[0], -7);
    assert_int_equal(put[1], -7);
    spy_release_tensor(p);
    close_device(m);
}

// Matrices are given row by row, also in structs and arrays.
static void test_matrices(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    float a[9], b[6], turn[16], wide[12], o[8];
    for (int i = 0; i < 16; i++) {
        turn[i] = (float)i;
        if (i < 9) a[i] = (float)i;
        if (i < 6) b[i] = (float)(i + 1);
        if (i < 12) wide[i] = (float)(i + 20);
    }
    spy_tensor *out = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), NULL));
    OK(spy_dispatch(spy_find_function(m, "pose"), threads(1, 1, 1),
                    SPY_ARGS(spy_arg_array("a", a, SPY_SHAPE(3, 3), SPY_DTYPE_FLOAT32),
                             spy_arg_array("b", b, SPY_SHAPE(2, 3), SPY_DTYPE_FLOAT32),
                             spy_arg_struct("p", SPY_ARGS(spy_arg_array("turn", turn, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                                          spy_arg_array("wide", wide, SPY_SHAPE(2, 3, 2),
                                                                        SPY_DTYPE_FLOAT32))),
                             spy_arg_tensor("o", out)),
                    NULL));
    OK(spy_tensor_read(out, o, sizeof o));
    static const float wanted[8] = { 210, 543, 876, 321, 654, 6, 30, 23 };
    for (int i = 0; i < 8; i++) assert_true(o[i] == wanted[i]);
    spy_release_tensor(out);
    close_device(m);
}

// >>called

// Exactly as many threads as asked for, each once, also of a kernel that does not look for the end itself.
static void test_called(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    enum { N = 300 };
    float x[N], y[N];
    int32_t put[80] = { 0 };
    spy_call_options o;
    memset(&o, 0, sizeof o);
    for (int i = 0; i < N; i++) x[i] = chance();
    spy_tensor *tx = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    spy_tensor *ty = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    o.thread_count = SPY_SHAPE(N - 7);
    OK(spy_call_with(spy_find_function(m, "scale"),
                     SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_f32("a", 3), spy_arg_tensor("y", ty)), &o));
    OK(spy_tensor_read(ty, y, sizeof y));
    for (int i = 0; i < N; i++) assert_true(y[i] == (i < N - 7 ? 3 * x[i] : x[i]));
    spy_tensor *p = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(80), put));
    o.thread_count = SPY_SHAPE(5);
    OK(spy_call_with(MADE(spy_function, spy_find_function(m, "ns::put")),
                     SPY_ARGS(spy_arg_tensor("o", p), spy_arg_i32("v", -7)), &o));
    OK(spy_tensor_read(p, put, sizeof put));
    for (int i = 0; i < 80; i++) assert_int_equal(put[i], i < 5 ? -7 : 0);
    spy_release_tensor(tx);
    spy_release_tensor(ty);
    spy_release_tensor(p);
    close_device(m);
}

// >>gradients

static void test_gradients(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    enum { N = 300 };
    float x[N], seed[N], y[N], dx[N];
    for (int i = 0; i < N; i++) {
        x[i] = chance();
        seed[i] = chance();
    }
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    d.data = x;
    d.with_grad = true;
    spy_tensor *tx = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    spy_tensor *ty = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_dispatch(spy_find_function(m, "square"), threads(N, 1, 1),
                    SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("y", ty)), NULL));
    OK(spy_tensor_read(ty, y, sizeof y));
    for (int i = 0; i < N; i++) assert_float_equal(y[i], x[i] * x[i], 1e-6f);
    OK(spy_tensor_write(spy_tensor_grad(ty), seed, sizeof seed));
    OK(spy_dispatch(spy_find_function(m, "square_back"), threads(N, 1, 1),
                    SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("y", ty)), NULL));
    OK(spy_tensor_read(spy_tensor_grad(tx), dx, sizeof dx));
    for (int i = 0; i < N; i++) assert_float_equal(dx[i], 2 * x[i] * seed[i], 1e-5f);

    spy_call_options back; // the same by a backward call, which adds
    memset(&back, 0, sizeof back);
    back.mode = SPY_CALL_MODE_BACKWARD;
    back.thread_count = SPY_SHAPE(N);
    OK(spy_tensor_write(spy_tensor_grad(ty), seed, sizeof seed)); // a DiffTensorView's store takes its gradient and leaves 0
    OK(spy_call_with(spy_find_function(m, "square"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("y", ty)), &back));
    OK(spy_tensor_read(spy_tensor_grad(tx), dx, sizeof dx));
    for (int i = 0; i < N; i++) assert_float_equal(dx[i], 4 * x[i] * seed[i], 1e-5f);

    // Gradients that are tensors of their own; forward.
    spy_tensor *px = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    spy_tensor *gx =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), seed));
    spy_tensor *py = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    spy_tensor *gy = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), x));
    OK(spy_dispatch(
        spy_find_function(m, "square_forward"), threads(N, 1, 1),
        SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, px), spy_arg_tensor(NULL, gx))),
                 spy_arg_diff_pair("y", SPY_ARGS(spy_arg_tensor(NULL, py), spy_arg_tensor(NULL, gy)))),
        NULL));
    OK(spy_tensor_read(gy, y, sizeof y));
    for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * x[i] * seed[i], 1e-5f);
    memset(y, 0, sizeof y);
    OK(spy_tensor_write(gy, y, sizeof y));
    back.mode = SPY_CALL_MODE_FORWARD_DIFF;
    OK(spy_call_with(spy_find_function(m, "square"),
                     SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, px), spy_arg_tensor(NULL, gx))),
                              spy_arg_diff_pair("y", SPY_ARGS(spy_arg_tensor(NULL, py), spy_arg_tensor(NULL, gy)))),
                     &back));
    OK(spy_tensor_read(gy, y, sizeof y));
    for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * x[i] * seed[i], 1e-5f);
    spy_tensor *all[] = { tx, ty, px, gx, py, gy };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_tensor(all[i]);
    close_device(m);
}

// >>what cannot be given

static void test_errors(void **state) {
    (void)state;
    spy_module *m = open_module();
    if (!gpu_is_cuda()) {
        close_device(m);
        skip();
    }
    spy_function *scale = MADE(spy_function, spy_find_function(m, "scale"));
    spy_function *lit = MADE(spy_function, spy_find_function(m, "lamp"));
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), NULL));
    spy_tensor *ints =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), NULL));
    spy_tensor *deep = MADE(
        spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1, 1, 1, 1, 1, 4), NULL));
    spy_tensor *back = MADE(spy_tensor, spy_create_slice(x, 0, 3, -5, -1));
    spy_tensor *fours =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8, 4), NULL));
    spy_tensor *threes =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3, 8), NULL));
    spy_tensor *turned = MADE(spy_tensor, spy_create_transpose(threes, SPY_DIMS(1, 0)));
#define SCALE(tensor)                                                                                        \
    spy_dispatch(scale, threads(4, 1, 1),                                                                    \
                 SPY_ARGS(spy_arg_tensor("x", tensor), spy_arg_f32("a", 2), spy_arg_tensor("y", x)), NULL)
#define LIT(tensor)                                                                                          \
    spy_dispatch(lit, threads(4, 1, 1),                                                                      \
                 SPY_ARGS(spy_arg_tensor("o", tensor),                                                       \
                          spy_arg_struct("light", SPY_ARGS(spy_arg_array("color", (float[3]){ 0 },         \
                                                                         SPY_SHAPE(3), SPY_DTYPE_FLOAT32),     \
                                                           spy_arg_f32("power", 5))),                        \
                          spy_arg_bool("twice", true)),                                                      \
                 NULL)
    FAILS(SPY_ERROR_TYPE_MISMATCH, SCALE(ints), "'x'", "TensorView<float>", "int",
          "tensor of exactly these elements");
    FAILS(SPY_ERROR_OUT_OF_RANGE, SCALE(deep), "'x'", "at most 5 dimensions", "got 6");
    FAILS(SPY_ERROR_OUT_OF_RANGE, SCALE(back), "'x'", "negative strides");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, LIT(fours), "'o'", "3", "4");
    FAILS(SPY_ERROR_OUT_OF_RANGE, LIT(turned), "'o'", "next to each other");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call(scale, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("a", 2), spy_arg_tensor("y", x))),
          "scale", "[CudaKernel]", "options.thread_count", "none", "spy_dispatch");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_dispatch(scale, threads(4, 1, 1),
                       SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("a", 2), spy_arg_tensor("y", x)), NULL),
          "'x'", "TensorView<float>", "it takes a tensor");
    spy_tensor *all[] = { x, ints, deep, back, fours, threes, turned };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) spy_release_tensor(all[i]);
    close_device(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reflection), cmocka_unit_test(test_elsewhere), cmocka_unit_test(test_values),
        cmocka_unit_test(test_views),      cmocka_unit_test(test_threads),   cmocka_unit_test(test_called), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
