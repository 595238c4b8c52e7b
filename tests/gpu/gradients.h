// What the programs test_gradients_*.c share: the module of functions with derivatives, tensors with gradients, and checks of what
// they hold. References are derivatives worked out by hand, summed in double.
#ifndef GRADIENTS_H
#define GRADIENTS_H

#include "gpu_test.h"

#include <math.h>

spy_device *gpu_device;

static spy_module *module;

static const char source[] =
    "import slangpy;\n"
    "import slangpy_diff;\n"
    "[Differentiable] float saxpy(no_diff float a, float x, float y) { return a * x + y; }\n"
    "[Differentiable] float poly(float x, float w, float b) { return w * x * x + b * x; }\n"
    "[Differentiable] half poly_half(half x, half w) { return w * x * x; }\n"
    "[Differentiable] double poly_double(double x, double w) { return w * x * x; }\n"
    "[Differentiable] float times(float x, float w) { return x * w; }\n"
    "float plain(float x) { return x * x; }\n"
    "float custom(float x) { return x; }\n"
    "[BackwardDerivativeOf(custom)]\n"
    "void custom_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d); }\n"
    "void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }\n"
    "[BackwardDerivative(own_bwd)] float own(float x) { return x; }\n"
    "[Differentiable] [PreferRecompute] float recomputed(float x) { return x * x * x; }\n"
    "[Differentiable] float through_custom(float x) { return custom(x) * x + own(x); }\n"
    "[Differentiable] void scale(inout float x, float y) { x = x * y; }\n"
    "[Differentiable] void two(float x, out float a, out float b) { a = x * x; b = 3 * x; }\n"
    "[Differentiable] int counted(float x, out float a) { a = x * x; return 3; }\n"
    "[Differentiable] T square<T : __BuiltinFloatingPointType>(T x) { return x * x; }\n"
    "[Differentiable] vector<float, N> twice<let N : int>(vector<float, N> x) { return x * 2; }\n"
    "[Differentiable] float4 mulv(float4x4 m, float4 v) { return mul(m, v); }\n"
    "[Differentiable] float weights(float w[5], float x) { float s = 0; for (int i = 0; i < 5; i++) s += w[i] * x * i; return s; }\n"
    "struct Inner : IDifferentiable { float2 uv; float k; };\n"
    "struct Light : IDifferentiable { float3 color; float power; int id; Inner inner; no_diff float off; };\n"
    "[Differentiable] float shade(Light l, float x) { return (l.color.x + 2 * l.color.y) * l.power * x + l.inner.uv.y * l.inner.k + l.off; }\n"
    "struct DOwn : IDifferentiable { typealias Differential = DOwn; float da;\n"
    "  [Differentiable] static DOwn dzero() { DOwn d; d.da = 0; return d; }\n"
    "  [Differentiable] static DOwn dadd(DOwn a, DOwn b) { DOwn d; d.da = a.da + b.da; return d; } };\n"
    "struct Own : IDifferentiable { typealias Differential = DOwn; [DerivativeMember(DOwn.da)] float a; int n; };\n"
    "[Differentiable] float use_own(Own o) { return o.a * o.a * o.n; }\n"
    "struct Lost { float a; };\n"
    "float use_lost(Lost l, float x) { return l.a * x; }\n"
    "[Differentiable] float use_lost2(Lost l, float x) { return l.a * x; }\n"
    "struct Camera : IDifferentiable {\n"
    "  float f; float c;\n"
    "  [Differentiable] float project(float x) { return f * x + c; }\n"
    "  [Differentiable] [mutating] void zoom(float x) { f = f * x; }\n"
    "  [Differentiable] static float flat(float x) { return 4 * x; }\n"
    "  [Differentiable] __init(float f, float c) { this.f = f; this.c = c; } };\n"
    "[Differentiable] float at_place(float x, float w, no_diff int2 at) { return w * x * (at.x + 10 * at.y); }\n"
    "[Differentiable] float where(float x, float w) { return w * x * get_call_id().shape[1]; }\n"
    "[Differentiable] float gather(DiffTensor<float, 1> w, no_diff int i, float x) { return w[i % 3] * x * w[0]; }\n"
    "[Differentiable] float gather_any<T : IDiffTensor<float, 1>>(T w, no_diff int i, float x) { return w[i % 3] * x; }\n"
    "[Differentiable] float gather3(DiffTensor<float3, 1> w, no_diff int i, float x) { return w[i % 3].y * x; }\n"
    "[Differentiable] float uniform_(DiffTensor<float, 1> w, float x) { return w.load_uniform({ 2 }) * x; }\n"
    "[Differentiable] float uniform3(DiffTensor<float3, 1> w, no_diff int i, float x) { return i % 3 == 0 ? 0 : w.load_uniform({ 1 }).y * x; }\n"
    "[Differentiable] float once(DiffTensor<float, 1> w, no_diff int i, float x) { return w.load_once({ i }) * x; }\n"
    "[Differentiable] void scatter(WDiffTensor<float, 1> o, no_diff int i, float x) { o[i] = x * x; }\n"
    "[Differentiable] void update(RWDiffTensor<float, 1> o, no_diff int i, float x) { o[i] = o[i] * x; }\n"
    "[Differentiable] float sum_row(DiffTensor<float, 1> w) { return w[0] * w[1] + w[2]; }\n"
    "[Differentiable] float whole(float x, float w, float v, DiffTensor<float, 1> t) { return x * w * v * t[0]; }\n"
    "[Differentiable] float times_n(float x, int n) { return x * n; }\n"
    "interface IGain { [Differentiable] float gain(float x, int k); };\n"
    "struct Linear : IGain { float a; [Differentiable] float gain(float x, int k) { return a * x * k; } };\n"
    "[Differentiable] float amplify(IGain g, float x) { float s = 0; [MaxIters(3)] for (int k = 0; k < 3; k++) s += g.gain(x, k + 1); return s; }\n"
    "[Differentiable] float any_loop(IDiffTensor<float, 1> w, float x) { float s = 0; [MaxIters(8)] for (int k = 0; k < w.shape[0]; k++) s += w[k] * x * (k + 1); return s; }\n"
    "[Differentiable] float any_branch(no_diff int i, IDiffTensor<float, 1> w, float x) { if (i == 1) return w[2] * x; float s = 0; if (i > 1) s = w[i] * w[0]; return s; }\n"
    "[Differentiable] void any_store(IWDiffTensor<float, 1> o, no_diff int i, float x) { [MaxIters(2)] for (int k = 0; k < 2; k++) o[2 * i + k] = x * x * (k + 1); }\n"
    "[Differentiable] float any_inner(IDiffTensor<float, 1> w, float x) { return any_loop(w, x) * 2; }\n"
    "float held(DifferentialPair<float> x, float s) { return x.p * s + x.d; }\n"
    "void advance(inout DifferentialPair<float> x, float s) { x = diffPair(x.p * s, x.d + s); }\n"
    "void begin(float s, out DifferentialPair<float> x) { x = diffPair(s, 2 * s); }\n"
    "DifferentialPair<float3> both(float s) { return diffPair(float3(s), float3(1, 2, 3) * s); }\n"
    "float held_light(DifferentialPair<Light> l) { return l.p.color.y * l.d.color.y + l.p.id + l.d.inner.k; }\n"
    "float held_array(DifferentialPair<float[5]> w) { return w.p[1] * 10 + w.d[4]; }\n";

static inline spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static inline spy_tensor *typed(spy_dtype dtype, const char *type, spy_shape shape, const void *data, bool grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.dtype = dtype;
    d.type = type;
    d.module = module;
    d.data = data;
    d.with_grad = grad;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static inline spy_tensor *floats(spy_shape shape, const float *data) {
    return typed(SPY_DTYPE_FLOAT32, NULL, shape, data, true);
}

// A result whose gradient is all ones.
static inline spy_tensor *seeded(spy_shape shape) {
    spy_tensor *t = floats(shape, NULL);
    OK(spy_tensor_fill(spy_tensor_grad(t), 1));
    return t;
}

static inline void release(spy_tensor **tensors, size_t count) {
    for (size_t i = 0; i < count; i++) spy_release_tensor(tensors[i]);
}

#define RELEASE(...) release((spy_tensor *[]){ __VA_ARGS__ }, sizeof((spy_tensor *[]){ __VA_ARGS__ }) / sizeof(spy_tensor *))

static inline void expect_floats(spy_tensor *t, const double *want, size_t count, double tolerance, const char *file, int line) {
    float *got = (float *)malloc(count * sizeof *got + 1);
    gpu_ok(spy_tensor_read(t, got, count * sizeof *got), "reading a gradient", file, line);
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))) continue;
        print_error("element %zu is %.9g, expected %.9g\n", i, (double)got[i], want[i]);
        free(got);
        _fail(file, line);
        return;
    }
    free(got);
}

#define HOLDS(tensor, ...)                                                                                    \
    expect_floats((tensor), (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double), 1e-6,  \
                  __FILE__, __LINE__)

#define HOLDS_ALL(tensor, want, count) expect_floats((tensor), (want), (count), 1e-5, __FILE__, __LINE__)

static inline float *wave(size_t n) { // numbers without a pattern of two
    float *x = (float *)malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)((double)(i * 7919 % 1009) / 504.5 - 1);
    return x;
}

// Runs the tests of a program on a device of their own, with `module` loaded.
static inline int gradients_run(const struct CMUnitTest *tests, size_t count) {
    spy_device_desc desc = gpu_desc();
    gpu_device = gpu_open(&desc);
    if (gpu_device) module = gpu_module(gpu_device, "gradients", source);
    if (gpu_device && !module) {
        print_error("%s\n", spy_take_error(gpu_device).message);
        return 1;
    }
    if (getenv("SPY_TEST_ONLY")) cmocka_set_test_filter(getenv("SPY_TEST_ONLY"));
    int failed = gpu_run_group_tests("gradients", tests, count, NULL, NULL);
    spy_release_device(gpu_device);
    return failed;
}
#define RUN_GRADIENT_TESTS(tests) gradients_run(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
