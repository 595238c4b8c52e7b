// Gradients: known values, sums over what elements share, tensors with gradients and their views, tensors that functions take
// whole, and what is refused. References are derivatives worked out by hand, summed in double.
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

// >>helpers

static spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static spy_tensor *typed(spy_dtype dtype, const char *type, spy_shape shape, const void *data, bool grad) {
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

static spy_tensor *floats(spy_shape shape, const float *data) {
    return typed(SPY_DTYPE_FLOAT32, NULL, shape, data, true);
}

// A result whose gradient is all ones.
static spy_tensor *seeded(spy_shape shape) {
    spy_tensor *t = floats(shape, NULL);
    OK(spy_tensor_fill(spy_tensor_grad(t), 1));
    return t;
}

static void release(spy_tensor **tensors, size_t count) {
    for (size_t i = 0; i < count; i++) spy_release_tensor(tensors[i]);
}
#define RELEASE(...) release((spy_tensor *[]){ __VA_ARGS__ }, sizeof((spy_tensor *[]){ __VA_ARGS__ }) / sizeof(spy_tensor *))

static void expect_floats(spy_tensor *t, const double *want, size_t count, double tolerance, const char *file, int line) {
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

static float *wave(size_t n) { // numbers without a pattern of two
    float *x = (float *)malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)((double)(i * 7919 % 1009) / 504.5 - 1);
    return x;
}

// >>loops

// Loops of these lengths: what Slang saves of them for the derivative, by all accessors, and a value that goes round.
static void test_nested_loops(void **state) {
    static const struct {
        const char *load;
        int outer, inner;
    } rows[] = { { "w[o, i]", 1, 8 }, { "w[int2(i, o)]", 3, 8 }, { "w.load(o, i)", 16, 2 }, { "u[o, i]", 1, 4 }, { "u.load({ o, i })", 1, 8 } };
    enum { ROWS = sizeof rows / sizeof *rows };
    char text[4000] = "import slangpy;\nimport slangpy_diff;\n";
    NEEDS_DEVICE();
    for (size_t k = 0; k < ROWS; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "[Differentiable] float f%zu(DiffTensor<float, 2> w, RWDiffTensor<float, 2> u, float x, no_diff int n) { float r = x;\n"
                 "  for (int o = 0; o < %d; o++) [MaxIters(%d)] for (int i = 0; i < n; i++) r = r * %s + 0.5; return r; }\n",
                 k, rows[k].outer, rows[k].inner, rows[k].load);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "[Differentiable] float linear(DiffTensor<float, 2> w, no_diff float x[8]) { float r = 0;\n"
             "  for (int o = 0; o < 1; o++) for (int i = 0; i < 8; i++) r += w[o, i] * x[i]; return r; }\n");
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "nested_loops", text));
    for (size_t k = 0; k < ROWS; k++) {
        if (!test_turn(k, 2)) continue;
        int count = rows[k].outer * rows[k].inner;
        float values[32];
        double want[32], after = 1, before[33] = { 1.25 };
        char name[16];
        for (int i = 0; i < count; i++) {
            values[i] = 0.75f + (float)(i % 5) * 0.125f;
            before[i + 1] = before[i] * (double)values[i] + 0.5;
        }
        for (int i = count; i-- > 0; after *= (double)values[i]) want[i] = after * before[i];
        spy_tensor *w = floats(SPY_SHAPE(rows[k].outer, rows[k].inner), values), *u = floats(SPY_SHAPE(rows[k].outer, rows[k].inner), values);
        spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 1.25f }), *out = seeded(SPY_SHAPE(1));
        snprintf(name, sizeof name, "f%zu", k);
        OK(spy_call_backward(MADE(spy_function, spy_find_function(m, name)),
                             SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("u", u), spy_arg_tensor("x", x), spy_arg_i32("n", rows[k].inner),
                                      spy_arg_tensor("_result", out))));
        HOLDS_ALL(spy_tensor_grad(rows[k].load[0] == 'w' ? w : u), want, (size_t)count);
        HOLDS_ALL(spy_tensor_grad(x), &after, 1);
        RELEASE(w, u, x, out);
    }
    spy_tensor *w = floats(SPY_SHAPE(1, 8), NULL), *out = seeded(SPY_SHAPE(1)), *x = floats(SPY_SHAPE(8), (float[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
    OK(spy_call_backward(MADE(spy_function, spy_find_function(m, "linear")),
                         SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
    HOLDS(spy_tensor_grad(w), 0, 1, 2, 3, 4, 5, 6, 7);
    RELEASE(w, out, x);
    spy_release_module(m);
}

// >>elements that are read at several indices known at run time

// What is differentiated. The last three compute values of the original function again, by stores to zeroed arrays; those must stay
// as they are where i equals j.
static const char read_elements[] =
    "import slangpy;\nimport slangpy_diff;\n"
    "struct Part : IDifferentiable { float2 p; float q; int k; float h[2]; };\n"
    "struct Held : IDifferentiable { float w[3]; [Differentiable] float get(no_diff int i, no_diff int j) { return w[i] * sin(w[j]); } };\n"
    "[Differentiable] float get<let N : int>(float a[N], no_diff int i, no_diff int j) { return a[i] * sin(a[j]); }\n"
    "[Differentiable] float f0(float3 x, no_diff int i, no_diff int j) { float a[3] = { x.x, x.y, x.z }; return a[i] * sin(a[j]); }\n"
    "[Differentiable] float f1(float3 x, no_diff int i, no_diff int j) { float3 a = sin(x); return a[i] * sin(a[j]) * a[1]; }\n"
    "[Differentiable] float f2(float3 x, no_diff int i, no_diff int j) { float3x3 m = float3x3(sin(x), x * x, x); return m[i].y * m[j][i] + m[j].x; }\n"
    "[Differentiable] float f3(float3 x, no_diff int i, no_diff int j) { float a[3][2] = { { x.x, x.y }, { x.z, x.x }, { x.y, 1 } };\n"
    "  return a[i][j % 2] * sin(a[j][i % 2]) * a[0][j % 2] + a[j][1]; }\n"
    "[Differentiable] float f4(float3 x, no_diff int i, no_diff int j) { Part p[3];\n"
    "  for (int k = 0; k < 3; k++) { p[k].p = x.xy * k; p[k].q = x.z; p[k].k = k; p[k].h[0] = x.x; p[k].h[1] = x.y; }\n"
    "  return p[i].p.x * sin(p[j].q) + p[(i + 1) % 3].p.y * p[j].h[i % 2]; }\n"
    "[Differentiable] float f5(float3 x, no_diff int i, no_diff int j) { float a[3] = { x.x, x.y, x.z }, r = 0.5;\n"
    "  for (int k = 0; k < 4; k++) r = sin(r + a[(k + i) % 3]) * a[(k * j) % 3];\n  return r; }\n"
    "[Differentiable] float f6(float3 x, no_diff int i, no_diff int j) { float a[3] = { x.x, x.y, x.z };\n"
    "  for (int k = 0; k < 4; k++) a[(k + i) % 3] = sin(a[(k + j) % 3] + a[(k * i) % 3]);\n  return a[i] * a[0] + a[j]; }\n"
    "[Differentiable] float f7(float3 x, no_diff int i, no_diff int j) { Held h; h.w[0] = x.x; h.w[1] = x.y; h.w[2] = x.z; return h.get(i, j) + h.w[j]; }\n"
    "[Differentiable] float f8(float3 x, no_diff int i, no_diff int j) { float a[3] = { x.x, x.y, x.z }; return get(a, i, j) * a[i] + get<3>(a, j, 1); }\n"
    "[Differentiable] float f9(float3 x, no_diff int i, no_diff int j) { float a[3] = { 0, 0, 0 }; a[i] = x.x; a[j] = x.y;\n"
    "  return sin(a[0]) * x.z + sin(a[1]) * x.y + sin(a[2]) * x.x; }\n"
    "[Differentiable] float f10(float3 x, no_diff int i, no_diff int j) { float3 a = float3(0); a[i] = x.x; a[j] = x.y;\n"
    "  return sin(a.x) * x.z + sin(a.y) * x.y + sin(a.z) * x.x; }\n"
    "[Differentiable] float f11(float3 x, no_diff int i, no_diff int j) { float r = x.y;\n"
    "  for (int k = 0; k < 3; k++) { float3 a = float3(0); a[i] = r * x.x; a[j] = sin(r); a[k] += x.z; r = sin(a[0] * a[j]) + a[i]; }\n  return r; }\n"
    "[Differentiable] float f12(float3 x, no_diff int i, no_diff int j) { float r = x.y;\n"
    "  for (int k = 0; k < 2; k++) for (int l = 0; l < 7; l++) r = sin(r * x[(l + i) % 3] + x[(k + j) % 3]);\n  return r; }\n";

static double of_elements(int f, const double x[3], int i, int j) {
    double a[3] = { x[0], x[1], x[2] }, r = 0.5;
    switch (f) {
    case 0: return a[i] * sin(a[j]);
    case 1: return sin(a[i]) * sin(sin(a[j])) * sin(a[1]);
    case 2: {
        const double m[3][3] = { { sin(x[0]), sin(x[1]), sin(x[2]) }, { x[0] * x[0], x[1] * x[1], x[2] * x[2] }, { x[0], x[1], x[2] } };
        return m[i][1] * m[j][i] + m[j][0];
    }
    case 3: {
        const double b[3][2] = { { x[0], x[1] }, { x[2], x[0] }, { x[1], 1 } };
        return b[i][j % 2] * sin(b[j][i % 2]) * b[0][j % 2] + b[j][1];
    }
    case 4: return x[0] * i * sin(x[2]) + x[1] * ((i + 1) % 3) * x[i % 2];
    case 5:
        for (int k = 0; k < 4; k++) r = sin(r + a[(k + i) % 3]) * a[k * j % 3];
        return r;
    case 6:
        for (int k = 0; k < 4; k++) a[(k + i) % 3] = sin(a[(k + j) % 3] + a[k * i % 3]);
        return a[i] * a[0] + a[j];
    case 7: return a[i] * sin(a[j]) + a[j];
    case 8: return a[i] * sin(a[j]) * a[i] + a[j] * sin(a[1]);
    case 9:
    case 10:
        memset(a, 0, sizeof a);
        a[i] = x[0], a[j] = x[1];
        return sin(a[0]) * x[2] + sin(a[1]) * x[1] + sin(a[2]) * x[0];
    case 12:
        r = x[1];
        for (int k = 0; k < 2; k++)
            for (int l = 0; l < 7; l++) r = sin(r * x[(l + i) % 3] + x[(k + j) % 3]);
        return r;
    default:
        r = x[1];
        for (int k = 0; k < 3; k++) {
            memset(a, 0, sizeof a);
            a[i] = r * x[0], a[j] = sin(r), a[k] += x[2];
            r = sin(a[0] * a[j]) + a[i];
        }
        return r;
    }
}

static void test_elements(void **state) {
    enum { FUNCTIONS = 13, INDICES = 9 };
    int32_t is[INDICES], js[INDICES];
    float values[INDICES][3];
    NEEDS_DEVICE();
    for (int n = 0; n < INDICES; n++) {
        is[n] = n / 3, js[n] = n % 3;
        for (int c = 0; c < 3; c++) values[n][c] = 0.5f + (float)((n * 5 + c * 7) % 11) * 0.0625f;
    }
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.source = read_elements;
    d.name = "read_elements";
    spy_module *plain = MADE(spy_module, spy_load_module(gpu_device, &d));
    d.name = "read_elements_optimized";
    d.options.optimization = SPY_OPTIMIZATION_HIGHEST; // where Slang's optimiser is at hand
    spy_module *optimized = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_tensor *i =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(INDICES), is));
    spy_tensor *j =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(INDICES), js));
    for (int n = 0; n < FUNCTIONS + 2; n++) {
        int f = n < FUNCTIONS ? n : n == FUNCTIONS ? 5 : 12;
        spy_module *m = n < FUNCTIONS ? plain : optimized;
        if (!test_turn((size_t)n, 3)) continue;
        double want[INDICES * 3], x[3], high, low;
        char name[16];
        for (int k = 0; k < INDICES * 3; k++) {
            for (int c = 0; c < 3; c++) x[c] = (double)values[k / 3][c];
            x[k % 3] += 1e-5;
            high = of_elements(f, x, is[k / 3], js[k / 3]);
            x[k % 3] -= 2e-5;
            low = of_elements(f, x, is[k / 3], js[k / 3]);
            want[k] = (high - low) / 2e-5;
        }
        spy_tensor *t = floats(SPY_SHAPE(INDICES, 3), &values[0][0]), *out = seeded(SPY_SHAPE(INDICES));
        snprintf(name, sizeof name, "f%d", f);
        OK(spy_call_backward(MADE(spy_function, spy_find_function(m, name)),
                             SPY_ARGS(spy_arg_tensor("x", t), spy_arg_tensor("i", i), spy_arg_tensor("j", j), spy_arg_tensor("_result", out))));
        HOLDS_ALL(spy_tensor_grad(t), want, INDICES * 3);
        RELEASE(t, out);
    }
    RELEASE(i, j);
    spy_release_module(plain);
    spy_release_module(optimized);
}

// >>kinds of functions

// Each kind of function in each mode: the derivative at 3 of what is written, or refused by name.
static void test_kinds_of_functions(void **state) {
    static const char text[] =
        "DifferentialPair<float> by3(DifferentialPair<float> x) { return diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }\n"
        "[Differentiable] float any(float x) { return x * x; }\n"
        "[BackwardDifferentiable] float backward(float x) { return x * x; }\n"
        "[ForwardDifferentiable] float forward(float x) { return x * x; }\n"
        "[ForwardDerivative(by3)] float own_forward(float x) { return x * x; }\n"
        "[BackwardDerivative(by5)] float own_backward(float x) { return x * x; }\n"
        "[ForwardDerivative(by3)] [BackwardDerivative(by5)] float own_both(float x) { return x * x; }\n"
        "float later_forward(float x) { return x * x; }\n"
        "[ForwardDerivativeOf(later_forward)] DifferentialPair<float> later3(DifferentialPair<float> x) { return by3(x); }\n"
        "float later_backward(float x) { return x * x; }\n"
        "[BackwardDerivativeOf(later_backward)] void later5(inout DifferentialPair<float> x, float d) { by5(x, d); }\n"
        "[PrimalSubstitute(any)] float substituted(float x) { return x * x; }\n"
        "[ForwardDifferentiable] T open_forward<T : __BuiltinFloatingPointType>(T x) { return x * x; }\n"
        "[Differentiable] T open<T : __BuiltinFloatingPointType>(T x) { return x * x; }\n"
        "[ForwardDifferentiable] void out_forward(float x, out float y) { y = x * x; }\n"
        "[Differentiable] float overloaded(float x) { return x * x; }\n"
        "[ForwardDifferentiable] float2 overloaded(float2 x) { return x * x; }\n"
        "namespace deep { [ForwardDifferentiable] float forward(float x) { return x * x; } }\n"
        "struct S : IDifferentiable { float a; [ForwardDifferentiable] float forward(float x) { return a * x * x; }\n"
        "  [ForwardDifferentiable] __init(float x) { a = x; }\n"
        "  [ForwardDifferentiable] static float still(float x) { return x * x; }\n"
        "  [Differentiable] float any(float x) { return a * x * x; } };\n";
    static const struct {
        const char *function;
        double forward, backward; // 0: refused
    } rows[] = { { "any", 6, 6 }, { "backward", 6, 6 }, { "forward", 6, 0 }, { "own_forward", 3, 0 }, { "own_backward", 0, 5 },
                 { "own_both", 3, 5 }, { "later_forward", 3, 0 }, { "later_backward", 0, 5 }, { "substituted", 6, 6 },
                 { "open_forward", 6, 0 }, { "open_forward<float>", 6, 0 }, { "open", 6, 6 }, { "open<float>", 6, 6 }, { "out_forward", 6, 0 },
                 { "overloaded", 6, 6 }, { "deep::forward", 6, 0 }, { "S.still", 6, 0 }, { "S.forward", 6, 0 }, { "S.any", 6, 6 } };
    static const char *const attributes[] = { "expected [Differentiable], [ForwardDifferentiable]", "expected [Differentiable], [BackwardDifferentiable]" };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "kinds_of_functions", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *name = rows[k].function;
        spy_function *f = MADE(spy_function, spy_find_function(m, name));
        bool method = !strcmp(name, "S.forward") || !strcmp(name, "S.any"), out = !strcmp(name, "out_forward");
        for (int backward = 0; backward < 2; backward++) {
            double want = backward ? rows[k].backward : rows[k].forward;
            spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
            OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
            spy_arg items[3] = { spy_arg_struct("this", SPY_ARGS(spy_arg_f32("a", 1))), spy_arg_tensor("x", x), spy_arg_tensor(out ? "y" : "_result", r) };
            spy_args args = { items + !method, method ? 3u : 2u };
            for (int again = 0; again < 2; again++) { // the answer is kept
                if (want == 0) {
                    spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], strstr(name, "still") ? "still" : name, "not differentiable", attributes[backward], modes[!backward], "Slang says");
                } else if (!again) {
                    OK(backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args));
                    HOLDS(spy_tensor_grad(backward ? x : r), want);
                }
            }
            RELEASE(x, r);
        }
    }
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(1);
    d.type = "S";
    d.module = m;
    d.with_grad = true;
    spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *made = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(MADE(spy_function, spy_find_function(m, "S")), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", made))),
          "not differentiable backward", "spy_call_forward_diff works", "E41022");
    RELEASE(x, made);
    spy_release_module(m);
}

// A function that calls one of the other kind, by result, out and inout, at any depth: libslang crashes backward, and gives 0
// forward. The error names the call.
static void test_nested_kinds(void **state) {
    static const char text[] =
        "DifferentialPair<float> by3(DifferentialPair<float> x) { return diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }\n"
        "void by3_out(DifferentialPair<float> x, out DifferentialPair<float> y) { y = diffPair(x.p * x.p, 3 * x.d); }\n"
        "void by5_inout(inout DifferentialPair<float> x) { x = diffPair(x.p, 5 * x.d); }\n"
        "[Differentiable] void any_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] float fwd(float x) { return x * x; }\n"
        "[ForwardDifferentiable] void fwd_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] void fwd_inout(inout float x) { x = x * x; }\n"
        "[ForwardDerivative(by3_out)] void own_fwd(float x, out float y) { y = x * x; }\n"
        "[BackwardDerivative(by5)] float own_bwd(float x) { return x * x; }\n"
        "[BackwardDerivative(by5)] void bwd_out(float x, out float y) { y = x * x; }\n"
        "[BackwardDerivative(by5_inout)] void bwd_inout(inout float x) { x = x * x; }\n"
        "[ForwardDerivative(by3_out)] [BackwardDerivative(by5)] void both_out(float x, out float y) { y = x * x; }\n"
        "[ForwardDifferentiable] void open_out<T : __BuiltinFloatingPointType>(T x, out T y) { y = x * x; }\n"
        "[Differentiable] float c_any(float x) { float y; any_out(x, y); return y; }\n"
        "[Differentiable] float c_fwd_out(float x) { float y; fwd_out(x, y); return y; }\n"
        "[Differentiable] float c_fwd_inout(float x) { float y = x; fwd_inout(y); return y; }\n"
        "[Differentiable] float c_own_fwd(float x) { float y; own_fwd(x, y); return y; }\n"
        "[Differentiable] float c_own_bwd(float x) { return own_bwd(x); }\n"
        "[Differentiable] float c_bwd_out(float x) { float y; bwd_out(x, y); return y; }\n"
        "[Differentiable] float c_bwd_inout(float x) { float y = x; bwd_inout(y); return y; }\n"
        "[Differentiable] float c_both(float x) { float y; both_out(x, y); return y; }\n"
        "[Differentiable] float c_open(float x) { float y; open_out<float>(x, y); return y; }\n"
        "[Differentiable] float c_no_diff(float x) { return no_diff(fwd(x)) * x; }\n"
        "[BackwardDifferentiable] float c_of_backward(float x) { float y; fwd_out(x, y); return y; }\n"
        "[ForwardDifferentiable] float c_of_forward(float x) { float y; bwd_out(x, y); return y; }\n"
        "[Differentiable] float deep_fwd(float x) { return c_fwd_out(x) * 1; }\n"
        "[Differentiable] float deep_bwd(float x) { return c_bwd_out(x) * 1; }\n"
        "[Differentiable] void through_fwd(float x, out float y) { fwd_out(x, y); }\n"
        "[Differentiable] void through_bwd(float x, out float y) { bwd_out(x, y); }\n"
        "[Differentiable] float out_fwd(float x) { float y; through_fwd(x, y); return y; }\n"
        "[Differentiable] float out_bwd(float x) { float y; through_bwd(x, y); return y; }\n"
        "[Differentiable] T generic_calls<T : __BuiltinFloatingPointType>(T x) { T y; open_out<T>(x, y); return y; }\n"
        "[Differentiable] float deep_open(float x) { return generic_calls<float>(x); }\n"
        "[PrimalSubstitute(c_fwd_out)] float bad_substitute(float x) { return x * x; }\n"
        "[PrimalSubstitute(c_any)] float good_substitute(float x) { return fwd(x); }\n"
        "[Differentiable] float c_bad_substitute(float x) { return bad_substitute(x); }\n"
        "[Differentiable] float c_good_substitute(float x) { return good_substitute(x); }\n"
        "[BackwardDerivative(by5)] [ForwardDerivative(by3)] float hides(float x) { return c_fwd_out(x) + c_bwd_out(x); }\n"
        "[Differentiable] float c_hides(float x) { return hides(x); }\n"
        "struct S : IDifferentiable { float a; [ForwardDifferentiable] void get(float x, out float y) { y = a * x * x; }\n"
        "  [ForwardDifferentiable] [mutating] void step(float x) { a = a * x; } };\n"
        "[Differentiable] float c_method(float x) { S s; s.a = 1; float y; s.get(x, y); return y; }\n"
        "[Differentiable] float c_mutating(float x) { S s; s.a = x; s.step(x); return s.a; }\n"
        "interface I { [ForwardDifferentiable] void get(float x, out float y); [Differentiable] float any(float x); };\n"
        "struct J : I { [ForwardDifferentiable] void get(float x, out float y) { y = x * x; } [Differentiable] float any(float x) { float y; get(x, y); return y; } };\n"
        "struct K : I { [ForwardDifferentiable] void get(float x, out float y) { y = x * x; } [Differentiable] float any(float x) { return x * x; } };\n"
        "[Differentiable] float get_of<T : I>(T t, float x) { float y; t.get(x, y); return y; }\n"
        "[Differentiable] float any_of<T : I>(T t, float x) { return t.any(x); }\n"
        "[Differentiable] float c_requirement(float x) { J j; return get_of<J>(j, x); }\n"
        "[Differentiable] float c_implementation(float x) { J j; return any_of<J>(j, x); }\n";
    static const struct {
        const char *function;
        double forward, backward; // 0: refused
        const char *caller, *callee;
    } rows[] = { { "c_any", 6, 6, "", "" }, { "c_fwd_out", 6, 0, "c_fwd_out", "fwd_out" }, { "c_fwd_inout", 6, 0, "c_fwd_inout", "fwd_inout" },
                 { "c_own_fwd", 3, 0, "c_own_fwd", "own_fwd" }, { "c_own_bwd", 0, 5, "c_own_bwd", "own_bwd" }, { "c_bwd_out", 0, 5, "c_bwd_out", "bwd_out" },
                 { "c_bwd_inout", 0, 5, "c_bwd_inout", "bwd_inout" }, { "c_both", 3, 5, "", "" }, { "c_open", 6, 0, "c_open", "open_out" },
                 { "c_no_diff", 27, 0, "c_no_diff", "fwd" }, // Slang: no_diff has no effect on what has a derivative
                 { "c_of_backward", 6, 0, "c_of_backward", "fwd_out" }, { "deep_fwd", 6, 0, "c_fwd_out", "fwd_out" }, { "deep_bwd", 0, 5, "c_bwd_out", "bwd_out" },
                 { "out_fwd", 6, 0, "through_fwd", "fwd_out" }, { "out_bwd", 0, 5, "through_bwd", "bwd_out" }, { "deep_open", 6, 0, "generic_calls", "open_out" },
                 { "generic_calls", 6, 0, "generic_calls", "open_out" }, { "c_bad_substitute", 6, 0, "c_fwd_out", "fwd_out" }, { "bad_substitute", 6, 0, "c_fwd_out", "fwd_out" },
                 { "c_good_substitute", 6, 6, "", "" }, { "hides", 3, 5, "", "" }, { "c_hides", 3, 5, "", "" }, { "c_method", 6, 0, "c_method", "S.get" },
                 { "c_mutating", 6, 0, "c_mutating", "S.step" }, { "c_requirement", 6, 0, "get_of", "I.get" }, { "c_implementation", 6, 0, "J.any", "J.get" } };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "nested_kinds", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        spy_function *f = MADE(spy_function, spy_find_function(m, rows[k].function));
        for (int backward = 0; backward < 2; backward++) {
            double want = backward ? rows[k].backward : rows[k].forward;
            char call[80], works[80], at[80];
            snprintf(call, sizeof call, "'%s' calls '%s', which is differentiable %s only", rows[k].caller, rows[k].callee, backward ? "forward" : "backward");
            snprintf(works, sizeof works, "%s works", modes[!backward]);
            snprintf(at, sizeof at, "at '%s'", rows[k].callee);
            spy_tensor *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
            OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
            const spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r));
            for (int again = 0; again < 2; again++) {
                if (want == 0) {
                    spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], rows[k].function, call, works, at);
                } else if (!again) {
                    OK(backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args));
                    HOLDS(spy_tensor_grad(backward ? x : r), want);
                }
            }
            RELEASE(x, r);
        }
    }
    spy_release_module(m);
}

// Methods of each kind in both modes, their `this` differentiable: the derivatives of f and x at f = 2, c = 2, x = 3, all that is
// read being 1; or refused by name.
static void test_kinds_of_methods(void **state) {
    static const char body[] =
        "  [Differentiable] T project(T x) { return f * f * x + c; }\n"
        "  [Differentiable] [mutating] void zoom(T x) { f = f * x; }\n"
        "  [Differentiable] [mutating] T zoomed(T x) { f = f * x; return f * c; }\n"
        "  [Differentiable] void get(T x, out T y) { y = f * f * x + c; }\n"
        "  [ForwardDifferentiable] [mutating] void zoom_fwd(T x) { f = f * x; }\n"
        "  [ForwardDifferentiable] void get_fwd(T x, out T y) { y = f * f * x + c; }\n"
        "  [ForwardDifferentiable] T project_fwd(T x) { return f * f * x + c; }\n"
        "  [mutating] void zoom_none(T x) { f = f * x; }\n"
        "  void get_none(T x, out T y) { y = f * f * x + c; }\n";
    static const struct {
        const char *method;
        double forward[2], backward[2]; // of f (or the result), of x; 0: refused
        bool mutating, out, result;
    } rows[] = { { "project", { 17, 17 }, { 12, 4 }, false, false, true },   { "zoom", { 5, 0 }, { 3, 2 }, true, false, false },
                 { "zoomed", { 5, 16 }, { 9, 6 }, true, false, true },       { "get", { 17, 17 }, { 12, 4 }, false, true, false },
                 { "zoom_fwd", { 5, 0 }, { 0, 0 }, true, false, false },     { "get_fwd", { 17, 17 }, { 0, 0 }, false, true, false },
                 { "project_fwd", { 17, 17 }, { 0, 0 }, false, false, true }, { "zoom_none", { 0, 0 }, { 0, 0 }, true, false, false },
                 { "get_none", { 0, 0 }, { 0, 0 }, false, true, false },      { "project_bwd", { 0, 0 }, { 11, 7 }, false, false, true } };
    static const char *const types[] = { "Cam", "Gen<float>", "Deep.Cam" };
    static const char *const modes[] = { "spy_call_forward_diff", "spy_call_backward" };
    char text[6000];
    snprintf(text, sizeof text,
             "struct Cam : IDifferentiable { typealias T = float; float f; float c; int n;\n%s\n"
             "  [BackwardDerivative(bd)] float project_bwd(float x) { return f * f * x + c; }\n"
             "  static void bd(inout DifferentialPair<Cam> self, inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d);\n"
             "    Cam.Differential g = self.d; g.f = 11 * d; self = diffPair(self.p, g); } };\n"
             "struct Gen<T : IFloat> : IDifferentiable { T f; T c; int n;\n%s};\n"
             "struct Deep { struct Cam : IDifferentiable { typealias T = float; float f; float c; int n;\n%s}; };\n",
             body, body, body);
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "kinds_of_methods", text));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            if (!strcmp(rows[k].method, "project_bwd") && i) continue;
            char name[60], differential[60];
            snprintf(name, sizeof name, "%s.%s", types[i], rows[k].method);
            snprintf(differential, sizeof differential, "%s.Differential", types[i]);
            spy_function *f = MADE(spy_function, spy_find_function(m, name));
            for (int backward = 0; backward < 2; backward++) {
                const double *want = backward ? rows[k].backward : rows[k].forward;
                struct { float f, c; int n; } values = { 2, 2, 7 };
                spy_tensor_desc d;
                memset(&d, 0, sizeof d);
                d.shape = SPY_SHAPE(1);
                d.module = m;
                d.type = differential;
                spy_tensor *in = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
                OK(spy_tensor_fill(in, 1));
                OK(spy_tensor_fill(out, 0));
                d.type = types[i];
                d.data = &values;
                d.grad_in = rows[k].mutating || !backward ? in : NULL;
                d.grad_out = rows[k].mutating || backward ? out : NULL;
                spy_tensor *self = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *x = floats(SPY_SHAPE(1), (float[]){ 3 }), *r = seeded(SPY_SHAPE(1));
                OK(spy_tensor_fill(spy_tensor_grad(x), backward ? 0.0f : 1.0f));
                spy_arg items[3] = { spy_arg_tensor("this", self), spy_arg_tensor("x", x), spy_arg_tensor(rows[k].out ? "y" : "_result", r) };
                const spy_args args = { items, rows[k].out || rows[k].result ? 3u : 2u };
                spy_status status = backward ? spy_call_backward(f, args) : spy_call_forward_diff(f, args);
                if (want[0] == 0) {
                    FAILS(SPY_ERROR_UNSUPPORTED, status, modes[backward], rows[k].method, "differentiable", "expected", "]");
                } else {
                    OK(status);
                    float got[2] = { 0 };
                    if (backward || rows[k].mutating) {
                        OK(spy_tensor_read(out, got, sizeof got));
                        assert_float_equal(got[0], want[0], 1e-6);
                    }
                    if (backward || rows[k].out || rows[k].result) HOLDS(spy_tensor_grad(backward ? x : r), want[1]);
                }
                RELEASE(self, x, r, in, out);
            }
        }
    }
    spy_release_module(m);
}

// >>shader parameters

// Derivatives read them, too; for CUDA Slang's text then copies all of them at once.
static void test_globals(void **state) {
    static const char text[] =
        "struct Gains { float a; float2 b; };\n"
        "uniform float strength;\nuniform float3 unused;\nGains gains;\nConstantBuffer<Gains> held;\nStructuredBuffer<float> table;\n"
        "Texture2D<float4> picture;\n"
        "[Differentiable] float with_one(float x) { return strength * x; }\n"
        "[Differentiable] float with_all(float x) { return (strength + gains.b.y) * x * held.a + no_diff(table[1]) * x * x; }\n";
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "derived_globals", text));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *out = seeded(SPY_SHAPE(3)), *table = floats(SPY_SHAPE(2), (float[]){ 7, 0.5f });
    const spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", out));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    for (int i = 1; i <= 20; i++) { // other numbers each time
        spy_tensor_fill(spy_tensor_grad(x), 0);
        o.globals = SPY_ARGS(spy_arg_f32("strength", (float)(100 * i)));
        OK(spy_call_with(MADE(spy_function, spy_find_function(m, "with_one")), args, &o));
        HOLDS(spy_tensor_grad(x), 100 * i, 100 * i, 100 * i);
        spy_tensor_fill(spy_tensor_grad(x), 0);
        o.globals = SPY_ARGS(spy_arg_f32("strength", (float)i), spy_arg_f32("gains.a", 1), spy_arg_f32n("gains.b", ((float[]){ 2, 3 }), 2),
                             spy_arg_struct("held", SPY_ARGS(spy_arg_f32("a", 10), spy_arg_f32n("b", ((float[]){ 0, 0 }), 2))),
                             spy_arg_tensor("table", table));
        OK(spy_call_with(MADE(spy_function, spy_find_function(m, "with_all")), args, &o));
        HOLDS(spy_tensor_grad(x), 10 * (i + 3) + 1, 10 * (i + 3) + 2, 10 * (i + 3) + 3);
    }
    RELEASE(x, out, table);
}

// >>known values

static void test_style(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(4), (float[]){ 1, 2, 3, 4 }), *out = floats(SPY_SHAPE(4), NULL);
    spy_args args = SPY_ARGS(spy_arg_f32("a", 2), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", out));
    OK(spy_call(fn("saxpy"), args));
    OK(spy_tensor_fill(spy_tensor_grad(out), 1));
    OK(spy_call_backward(fn("saxpy"), args));
    HOLDS(out, 3, 5, 7, 9);
    HOLDS(spy_tensor_grad(x), 2, 2, 2, 2);
    OK(spy_call_backward(fn("saxpy"), args)); // added to, and the output's only read
    HOLDS(spy_tensor_grad(x), 4, 4, 4, 4);
    HOLDS(spy_tensor_grad(out), 1, 1, 1, 1);
    HOLDS(out, 3, 5, 7, 9);
    RELEASE(x, out);
}

static void test_numbers(void **state) {
    NEEDS_DEVICE();
    float dx = 0, dw = 5, value = 0, tangent = 0;
    OK(spy_call_backward(fn("poly"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx))),
                                              spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 2), spy_inout_f32(NULL, &dw))),
                                              spy_arg_f32("b", 1),
                                              spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 10))))));
    assert_float_equal(dx, 130, 1e-4); // 10 * (2 w x + b)
    assert_float_equal(dw, 95, 1e-4);  // 5 + 10 * x * x
    OK(spy_call_forward_diff(fn("poly"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 2))),
                                                  spy_arg_f32("w", 2), spy_arg_f32("b", 1),
                                                  spy_arg_diff_pair("_result", SPY_ARGS(spy_out_f32(NULL, &value), spy_out_f32(NULL, &tangent))))));
    assert_float_equal(value, 21, 1e-5);
    assert_float_equal(tangent, 26, 1e-5);
    // without gradients a pair is its value
    OK(spy_call(fn("poly"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_inout_f32(NULL, &dx))), spy_arg_f32("w", 2),
                                     spy_arg_f32("b", 1), spy_out_f32("_result", &value))));
    assert_float_equal(value, 21, 1e-5);
    // a number for all elements, a sum into host memory, and one gradient for each element of a number
    float *data = wave(1000), sum = 0;
    double want = 0;
    for (int i = 0; i < 1000; i++) want += (double)data[i] * data[i];
    spy_tensor *x = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(1000), data, false), *each = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(1000), data, false);
    OK(spy_call_backward(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 2), spy_inout_f32(NULL, &sum))),
                                              spy_arg_diff_pair("b", SPY_ARGS(spy_arg_f32(NULL, 2), spy_arg_tensor(NULL, each))),
                                              spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))));
    assert_float_equal(sum, want, 1e-3);
    double *twice = (double *)malloc(1000 * sizeof *twice);
    for (int i = 0; i < 1000; i++) twice[i] = 2 * (double)data[i];
    HOLDS_ALL(each, twice, 1000);
    // host arrays
    float host[1000] = { 0 };
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_array(NULL, data, SPY_SHAPE(1000), SPY_DTYPE_FLOAT32),
                                                                             spy_inout_array(NULL, host, SPY_SHAPE(1000), SPY_DTYPE_FLOAT32))),
                                             spy_arg_f32("w", 3), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))));
    for (int i = 0; i < 1000; i++) assert_float_equal(host[i], 3, 1e-6);
    RELEASE(x, each);
    free(data);
    free(twice);
}

static void test_derivatives(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3));
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r));
    OK(spy_call_backward(fn("custom"), args));
    HOLDS(spy_tensor_grad(x), 7, 7, 7);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("own"), args));
    HOLDS(spy_tensor_grad(x), 5, 5, 5);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("recomputed"), args));
    HOLDS(spy_tensor_grad(x), 3, 12, 27);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("through_custom"), args)); // 7 x + x + 5
    HOLDS(spy_tensor_grad(x), 13, 21, 29);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("square"), args)); // a generic
    HOLDS(spy_tensor_grad(x), 2, 4, 6);
    OK(spy_tensor_zero_grad(x));
    spy_tensor *v = floats(SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *rv = seeded(SPY_SHAPE(2, 3));
    OK(spy_call_backward(fn("twice<3>"), SPY_ARGS(spy_arg_tensor("x", v), spy_arg_tensor("_result", rv)))); // vectors by trailing sizes
    HOLDS(spy_tensor_grad(v), 2, 2, 2, 2, 2, 2);
    // several outputs, one without a gradient
    spy_tensor *a = seeded(SPY_SHAPE(3)), *b = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_call_backward(fn("two"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("a", a), spy_arg_tensor("b", b))));
    HOLDS(spy_tensor_grad(x), 2, 4, 6);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("two"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("a", a), spy_arg_tensor("b", r))));
    HOLDS(spy_tensor_grad(x), 5, 7, 9);
    // matrices and arrays
    float m[16], w[5] = { 1, 2, 3, 4, 5 };
    double dm[16], dv[4];
    for (int i = 0; i < 16; i++) m[i] = (float)i;
    spy_tensor *tm = typed(SPY_DTYPE_DEFAULT, "float4x4", SPY_SHAPE(), m, true), *tv = typed(SPY_DTYPE_DEFAULT, "float4", SPY_SHAPE(100), NULL, true),
               *rm = typed(SPY_DTYPE_DEFAULT, "float4", SPY_SHAPE(100), NULL, true);
    OK(spy_tensor_fill(tv, 2));
    OK(spy_tensor_fill(spy_tensor_grad(rm), 1));
    OK(spy_call_backward(fn("mulv"), SPY_ARGS(spy_arg_tensor("m", tm), spy_arg_tensor("v", tv), spy_arg_tensor("_result", rm))));
    for (int i = 0; i < 16; i++) dm[i] = 200;
    for (int i = 0; i < 4; i++) dv[i] = 24 + 4 * i;
    HOLDS_ALL(spy_tensor_grad(tm), dm, 16);
    spy_tensor *first = spy_create_select(spy_tensor_grad(tv), 0, 0);
    HOLDS_ALL(first, dv, 4);
    spy_tensor *tw = floats(SPY_SHAPE(5), w);
    OK(spy_call_backward(fn("weights"), SPY_ARGS(spy_arg_tensor("w", tw), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(tw), 0, 6, 12, 18, 24);
    RELEASE(x, r, v, rv, a, b, tm, tv, rm, first, tw);
}

static void test_inout(void **state) {
    NEEDS_DEVICE();
    spy_tensor *in = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 1, 2, 3 }, false), *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 10, 10, 10 }, false);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(3);
    d.data = (float[]){ 4, 5, 6 };
    d.grad_in = in;
    d.grad_out = out;
    spy_tensor *x = MADE(spy_tensor, spy_create_tensor(gpu_device, &d)), *y = floats(SPY_SHAPE(3), (float[]){ 2, 3, 4 });
    spy_release_tensor(in); // x holds them
    spy_release_tensor(out);
    assert_ptr_equal(spy_tensor_grad_in(x), in);
    assert_ptr_equal(spy_tensor_grad(x), out);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y));
    OK(spy_call_backward(fn("scale"), args));
    HOLDS(out, 12, 16, 22);                       // 10 + in * y
    HOLDS(spy_tensor_grad(y), 4, 10, 18);         // in * x
    HOLDS(x, 4, 5, 6);
    OK(spy_tensor_fill(spy_tensor_grad(y), 1));
    OK(spy_call_forward_diff(fn("scale"), args)); // (x y)' = x' y + x y'
    HOLDS(x, 8, 15, 24);
    HOLDS(out, 6, 11, 18);
    spy_tensor *one = floats(SPY_SHAPE(3), NULL);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("scale"), SPY_ARGS(spy_arg_tensor("x", one), spy_arg_tensor("y", y))),
          "scale", "'x' is an inout parameter", "grad_in", "grad_out");
    RELEASE(x, y, one);
}

// >>structs and methods

static void test_structs(void **state) {
    NEEDS_DEVICE();
    struct { float c[3], p; int id; float uv[2], k, off; } light = { { 1, 2, 3 }, 4, 5, { 6, 7 }, 8, 9 };
    enum { N = 700 };
    float *x = wave(N);
    double s = 0;
    for (int i = 0; i < N; i++) s += (double)x[i];
    spy_tensor *l = typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(), &light, true), *tx = floats(SPY_SHAPE(N), x), *r = seeded(SPY_SHAPE(N));
    OK(spy_call_backward(fn("shade"), SPY_ARGS(spy_arg_tensor("l", l), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    double dl[7] = { 4 * s, 8 * s, 0, 5 * s, 0, 8.0 * N, 7.0 * N }; // id and off have no gradient
    HOLDS_ALL(spy_tensor_grad(l), dl, 7);
    // field by field, some with gradients, nested
    spy_tensor *color = typed(SPY_DTYPE_DEFAULT, "float3", SPY_SHAPE(N), NULL, true), *k = floats(SPY_SHAPE(1), (float[]){ 3 });
    OK(spy_tensor_fill(color, 1));
    OK(spy_call_backward(fn("shade"),
                         SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_tensor("color", color), spy_arg_f32("power", 2), spy_arg_i32("id", 1),
                                                               spy_arg_struct("inner", SPY_ARGS(spy_arg_f32n("uv", (float[]){ 5, 6 }, 2), spy_arg_tensor("k", k))),
                                                               spy_arg_tensor("off", tx))), // no_diff: its gradient stays
                                  spy_arg_f32("x", 3), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(k), 6.0 * N);
    spy_tensor *first = spy_create_select(spy_tensor_grad(color), 0, N - 1);
    HOLDS(first, 6, 12, 0);
    // a Differential of the user's own
    struct { float a; int n; } own = { 3, 2 };
    spy_tensor *o = typed(SPY_DTYPE_DEFAULT, "Own", SPY_SHAPE(), &own, true);
    OK(spy_call_backward(fn("use_own"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))));
    HOLDS(spy_tensor_grad(o), 12);
    assert_string_equal(spy_get_tensor_info(spy_tensor_grad(o)).type, "DOwn");
    RELEASE(l, tx, r, color, k, first, o);
    free(x);
}

static void test_methods(void **state) {
    NEEDS_DEVICE();
    struct { float f, c; } camera = { 2, 1 };
    spy_tensor *this_ = typed(SPY_DTYPE_DEFAULT, "Camera", SPY_SHAPE(), &camera, true), *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3));
    OK(spy_call_backward(fn("Camera::project"), SPY_ARGS(spy_arg_tensor("this", this_), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(this_), 6, 3);
    HOLDS(spy_tensor_grad(x), 2, 2, 2);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("Camera::flat"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(x), 4, 4, 4);
    OK(spy_tensor_zero_grad(x));
    // the instance by fields
    spy_tensor *f = floats(SPY_SHAPE(3), (float[]){ 5, 6, 7 });
    OK(spy_call_backward(fn("Camera::project"), SPY_ARGS(spy_arg_struct("this", SPY_ARGS(spy_arg_tensor("f", f), spy_arg_f32("c", 0))), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(f), 1, 2, 3);
    HOLDS(spy_tensor_grad(x), 5, 6, 7);
    // one that changes its instance
    spy_tensor *in = typed(SPY_DTYPE_DEFAULT, "Camera", SPY_SHAPE(3), NULL, false), *out = typed(SPY_DTYPE_DEFAULT, "Camera", SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_fill(in, 1));
    OK(spy_tensor_fill(out, 0));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(3);
    d.type = "Camera";
    d.module = module;
    d.grad_in = in;
    d.grad_out = out;
    spy_tensor *many = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(many, 2));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("Camera::zoom"), SPY_ARGS(spy_arg_tensor("this", many), spy_arg_tensor("x", x))));
    HOLDS(spy_tensor_grad(x), 2, 2, 2);
    HOLDS(out, 1, 1, 2, 1, 3, 1); // f: x; c passes through
    spy_tensor *made = typed(SPY_DTYPE_DEFAULT, "Camera", SPY_SHAPE(3), NULL, true);
    OK(spy_tensor_fill(spy_tensor_grad(made), 3));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("Camera"), SPY_ARGS(spy_arg_tensor("f", x), spy_arg_f32("c", 1), spy_arg_tensor("_result", made))));
    HOLDS(spy_tensor_grad(x), 3, 3, 3);
    RELEASE(this_, x, r, f, in, out, many, made);
}

// >>sums

// poly's gradients for x (rows, columns), w along one dimension, b along the other, or for all.
static void check_sums(int64_t rows, int64_t columns, spy_shape w_shape, spy_shape b_shape, bool deterministic) {
    size_t n = (size_t)(rows * columns);
    float *x = wave(n);
    size_t nw = w_shape.rank ? 1 : 1, nb = 1;
    for (uint32_t d = 0; d < w_shape.rank; d++) nw *= (size_t)w_shape.dims[d];
    for (uint32_t d = 0; d < b_shape.rank; d++) nb *= (size_t)b_shape.dims[d];
    float *w = wave(nw), *b = wave(nb);
    double *dx = (double *)calloc(n, sizeof *dx), *dw = (double *)calloc(nw, sizeof *dw), *db = (double *)calloc(nb, sizeof *db);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            // numpy's rule for (), (columns), (rows, 1), (1, columns) and (rows, columns)
            size_t at = (size_t)(i * columns + j);
            size_t iw = nw == 1 ? 0 : nw == n ? at : w_shape.rank == 2 && w_shape.dims[1] == 1 ? (size_t)i : (size_t)j;
            size_t ib = nb == 1 ? 0 : nb == n ? at : b_shape.rank == 2 && b_shape.dims[1] == 1 ? (size_t)i : (size_t)j;
            double v = x[at];
            dx[at] = 2 * (double)w[iw] * v + (double)b[ib];
            dw[iw] += v * v;
            db[ib] += v;
        }
    }
    spy_tensor *tx = floats(SPY_SHAPE(rows, columns), x), *tw = floats(w_shape, w), *tb = floats(b_shape, b), *r = seeded(SPY_SHAPE(rows, columns));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = deterministic;
    OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_tensor("b", tb), spy_arg_tensor("_result", r)), &o));
    HOLDS_ALL(spy_tensor_grad(tx), dx, n);
    expect_floats(spy_tensor_grad(tw), dw, nw, 2e-5, __FILE__, __LINE__);
    expect_floats(spy_tensor_grad(tb), db, nb, 2e-5, __FILE__, __LINE__);
    RELEASE(tx, tw, tb, r);
    free(x), free(w), free(b), free(dx), free(dw), free(db);
}

static void test_sums(void **state) {
    NEEDS_DEVICE();
    static const int64_t sizes[][2] = { { 1, 1 }, { 1, 5 }, { 7, 1 }, { 3, 4 }, { 33, 65 }, { 300, 500 }, { 2, 40000 }, { 40000, 3 }, { 257, 256 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t m = sizes[i][0], n = sizes[i][1];
        bool all = test_count(10) == 10; // else half of them
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            if (all || (i + (size_t)deterministic) % 2) {
                check_sums(m, n, gpu_rank0(), gpu_rank0(), deterministic);
                check_sums(m, n, SPY_SHAPE(n), SPY_SHAPE(m, 1), deterministic);
            }
            if (all || (i + (size_t)deterministic) % 2 == 0) {
                check_sums(m, n, SPY_SHAPE(m, n), SPY_SHAPE(1, n), deterministic);
                check_sums(m, n, gpu_rank0(), SPY_SHAPE(m, 1), deterministic);
            }
        }
    }
}

// >>gradients that are stored

// Gradients of poly(x, w, b), all of one shape, which are stored over what `garbage` left there. The call is made
// several times, as calls that repeat take another path. Every second one has transposed tensors.
static void check_stored(int64_t rows, int64_t columns, float garbage) {
    size_t n = (size_t)(rows * columns);
    float *x = wave(n), *w = wave(n), *b = wave(n);
    double *dx = (double *)calloc(n, sizeof *dx), *dw = (double *)calloc(n, sizeof *dw), *db = (double *)calloc(n, sizeof *db);
    for (size_t i = 0; i < n; i++) {
        w[i] += 0.5f, b[i] -= 0.25f;
        dx[i] = 2 * (double)w[i] * x[i] + (double)b[i];
        dw[i] = (double)x[i] * x[i];
        db[i] = x[i];
    }
    spy_tensor *t[4] = { floats(SPY_SHAPE(rows, columns), x), floats(SPY_SHAPE(rows, columns), w), floats(SPY_SHAPE(rows, columns), b), seeded(SPY_SHAPE(rows, columns)) };
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.store_gradients = true;
    for (int turn = 0; turn < 5; turn++) {
        spy_tensor *way[4];
        for (int i = 0; i < 4; i++) way[i] = turn % 2 ? MADE(spy_tensor, spy_create_transpose(t[i], SPY_DIMS(1, 0))) : t[i];
        for (int i = 0; i < 3; i++) OK(spy_tensor_fill(spy_tensor_grad(t[i]), garbage));
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", way[0]), spy_arg_tensor("w", way[1]), spy_arg_tensor("b", way[2]), spy_arg_tensor("_result", way[3])), &o));
        HOLDS_ALL(spy_tensor_grad(t[0]), dx, n);
        HOLDS_ALL(spy_tensor_grad(t[1]), dw, n);
        HOLDS_ALL(spy_tensor_grad(t[2]), db, n);
        for (int i = 0; i < 4 && turn % 2; i++) spy_release_tensor(way[i]);
    }
    RELEASE(t[0], t[1], t[2], t[3]);
    free(x), free(w), free(b), free(dx), free(dw), free(db);
}

static void test_stored(void **state) {
    NEEDS_DEVICE();
    static const int64_t sizes[][2] = { { 1, 1 }, { 1, 5 }, { 7, 1 }, { 3, 4 }, { 33, 65 }, { 300, 500 }, { 1, 1024 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) check_stored(sizes[i][0], sizes[i][1], i % 2 ? NAN : 7.0f);
    // a call that adds, of the same function and tensors, is another kernel
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *w = floats(SPY_SHAPE(3), (float[]){ 1, 1, 2 }), *r = seeded(SPY_SHAPE(3));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    for (int turn = 0; turn < 4; turn++) {
        OK(spy_tensor_fill(spy_tensor_grad(x), 10));
        o.store_gradients = turn % 2;
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o));
        if (turn % 2) HOLDS(spy_tensor_grad(x), 3, 5, 13);
        else HOLDS(spy_tensor_grad(x), 13, 15, 23);
    }
    spy_tensor *half_x = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true), *half_w = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true), *half_r = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(5), NULL, true);
    OK(spy_tensor_fill(half_x, 0.5));
    OK(spy_tensor_fill(half_w, 2));
    OK(spy_tensor_fill(spy_tensor_grad(half_r), 1));
    OK(spy_tensor_fill(spy_tensor_grad(half_x), 99));
    OK(spy_tensor_fill(spy_tensor_grad(half_w), 99));
    OK(spy_call_with(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", half_x), spy_arg_tensor("w", half_w), spy_arg_tensor("_result", half_r)), &o));
    spy_tensor *wide = floats(SPY_SHAPE(5), NULL);
    OK(spy_tensor_copy(wide, spy_tensor_grad(half_x)));
    HOLDS(wide, 2, 2, 2, 2, 2);
    OK(spy_tensor_copy(wide, spy_tensor_grad(half_w)));
    HOLDS(wide, 0.25, 0.25, 0.25, 0.25, 0.25);
    RELEASE(x, w, r, half_x, half_w, half_r, wide);
}

static void test_what_cannot_be_stored(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *w = floats(SPY_SHAPE(3), (float[]){ 1, 1, 2 }), *one = floats(SPY_SHAPE(1), (float[]){ 2 }), *r = seeded(SPY_SHAPE(3)), *r1 = seeded(SPY_SHAPE(1));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.store_gradients = true;
    OK(spy_tensor_fill(spy_tensor_grad(x), 10));
    for (int turn = 0; turn < 2; turn++) {
        // several elements have one place: w is broadcast; x is given twice; the function itself adds; the gradient is a number's
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", one), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "'w.grad' is a sum");
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "is a sum");
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("gather"), SPY_ARGS(spy_arg_tensor("w", x), spy_arg_call_id("i"), spy_arg_f32("x", 1), spy_arg_tensor("_result", r)), &o), "store_gradients", "added to");
        float own = 5;
        FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients");
        assert_float_equal(own, 5, 0);
        // the same shapes without what is shared
        OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", one), spy_arg_f32("w", 3), spy_arg_f32("b", 1), spy_arg_tensor("_result", r1)), &o));
        HOLDS(spy_tensor_grad(one), 13);
    }
    HOLDS(spy_tensor_grad(x), 10, 10, 10); // nothing was touched
    // a call without elements stores nothing
    spy_tensor *none = floats(SPY_SHAPE(0), NULL), *none_r = floats(SPY_SHAPE(0), NULL);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_tensor("w", one), spy_arg_f32("b", 1), spy_arg_tensor("_result", none_r)), &o), "store_gradients", "'w.grad'");
    OK(spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_f32("w", 1), spy_arg_f32("b", 1), spy_arg_tensor("_result", none_r)), &o));
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_f32("b", 1), spy_arg_tensor("_result", r)), &o), "store_gradients is given for a call that is recorded");
    spy_release_command_list(o.append_to);
    RELEASE(x, w, one, r, r1, none, none_r);
}

static void test_sums_of_other_types(void **state) {
    NEEDS_DEVICE();
    enum { N = 100000 };
    // A half cannot count beyond 2,048: sums are made in float.
    spy_tensor *x = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(N), NULL, true), *w = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(), NULL, true), *r = typed(SPY_DTYPE_FLOAT16, NULL, SPY_SHAPE(N), NULL, true);
    OK(spy_tensor_fill(x, 0.5));
    OK(spy_tensor_fill(w, 2));
    OK(spy_tensor_fill(spy_tensor_grad(r), 0.125));
    OK(spy_call_backward(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r))));
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    spy_tensor *wide = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_copy(wide, spy_tensor_grad(w)));
    HOLDS(wide, 3124); // 3,125, as a half has it
    // gradients in float of values in half, and the other way round
    d.shape = SPY_SHAPE(N);
    d.dtype = SPY_DTYPE_FLOAT16;
    d.grad_in = d.grad_out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), NULL, false);
    OK(spy_tensor_fill(d.grad_in, 0));
    spy_tensor *mixed = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_fill(mixed, 0.5));
    OK(spy_call_backward(fn("poly_half"), SPY_ARGS(spy_arg_tensor("x", mixed), spy_arg_tensor("w", w), spy_arg_tensor("_result", r))));
    spy_tensor *end = spy_create_slice(d.grad_in, 0, N - 2, N, 1);
    HOLDS(end, 0.25, 0.25);
    double *xd = (double *)malloc(N * sizeof *xd), want = 0, got = 0;
    for (int i = 0; i < N; i++) xd[i] = 1e-7 * i + 1;
    for (int i = 0; i < N; i++) want += xd[i] * xd[i];
    spy_tensor *dx = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(N), xd, true), *dw = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(), NULL, true), *dr = typed(SPY_DTYPE_FLOAT64, NULL, SPY_SHAPE(N), NULL, true);
    OK(spy_tensor_fill(dw, 1));
    OK(spy_tensor_fill(spy_tensor_grad(dr), 1));
    OK(spy_call_backward(fn("poly_double"), SPY_ARGS(spy_arg_tensor("x", dx), spy_arg_tensor("w", dw), spy_arg_tensor("_result", dr))));
    OK(spy_tensor_read(spy_tensor_grad(dw), &got, sizeof got));
    assert_true(fabs(got - want) < 1e-9 * want);
    RELEASE(x, w, r, wide, d.grad_in, mixed, end, dx, dw, dr);
    free(xd);
}

// One tensor for two parameters, alike or turned; views of what has gradients.
static void test_shared_memory(void **state) {
    NEEDS_DEVICE();
    enum { N = 30 };
    float *data = wave(N * N);
    double want[N * N];
    spy_tensor *x = floats(SPY_SHAPE(N, N), data), *t = MADE(spy_tensor, spy_create_transpose(x, SPY_DIMS(1, 0))), *r = seeded(SPY_SHAPE(N, N));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", x), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N * N; i++) want[i] = 2 * (double)data[i];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", t), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i * N + j] = 2 * (double)data[j * N + i];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    OK(spy_tensor_zero_grad(x));
    // the first row for all of the matrix
    spy_tensor *row = MADE(spy_tensor, spy_create_select(x, 0, 0));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", row), spy_arg_tensor("_result", r))));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i * N + j] = (double)data[j];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) want[j] += (double)data[i * N + j];
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    // every second column, from the last on
    spy_tensor *columns = MADE(spy_tensor, spy_create_slice(x, 1, SPY_INDEX_NONE, SPY_INDEX_NONE, -2)), *rc = seeded(SPY_SHAPE(N, N / 2));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", columns), spy_arg_f32("w", 3), spy_arg_tensor("_result", rc))));
    for (int i = 0; i < N * N; i++) want[i] = i % 2 ? 3 : 0;
    HOLDS_ALL(spy_tensor_grad(x), want, N * N);
    // one element, stretched
    spy_tensor *one = floats(SPY_SHAPE(1), (float[]){ 2 }), *many = MADE(spy_tensor, spy_create_broadcast(one, SPY_SHAPE(N, N)));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("w", 3), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(one), 3.0 * N * N);
    // floats of a tensor of vectors
    spy_tensor *v = typed(SPY_DTYPE_DEFAULT, "float3", SPY_SHAPE(2), NULL, true), *flat = MADE(spy_tensor, spy_create_flat_view(v)), *r6 = seeded(SPY_SHAPE(2, 3));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", flat), spy_arg_f32("w", 3), spy_arg_tensor("_result", r6))));
    HOLDS(spy_tensor_grad(v), 3, 3, 3, 3, 3, 3);
    spy_tensor *plain = MADE(spy_tensor, spy_create_detached(x));
    assert_null(spy_tensor_grad(plain));
    RELEASE(x, t, r, row, columns, rc, one, many, v, flat, r6, plain);
    free(data);
}

// Gradients that come later, and other ones than a tensor's own.
static void test_attached(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 1, 2, 3 }, false), *r = floats(SPY_SHAPE(3), NULL);
    spy_tensor *ones = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 1, 1, 1 }, false), *sum = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 5, 5, 5 }, false);
    spy_tensor *fresh = MADE(spy_tensor, spy_create_attached(x, NULL, NULL, NULL)), *other = MADE(spy_tensor, spy_create_attached(r, ones, NULL, NULL)),
               *again = MADE(spy_tensor, spy_create_attached(fresh, NULL, sum, NULL));
    assert_null(spy_tensor_grad(x));
    assert_ptr_equal(spy_tensor_grad_in(other), ones);
    assert_null(spy_tensor_grad_out(other));
    assert_ptr_equal(spy_tensor_grad_out(again), sum);
    HOLDS(spy_tensor_grad(fresh), 0, 0, 0);
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", fresh), spy_arg_f32("w", 3), spy_arg_tensor("_result", other))));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", again), spy_arg_f32("w", 3), spy_arg_tensor("_result", other))));
    HOLDS(spy_tensor_grad(fresh), 3, 3, 3);
    HOLDS(sum, 8, 8, 8);
    HOLDS(spy_tensor_grad(r), 0, 0, 0); // its own is as it was
    OK(spy_tensor_write(x, (float[]){ 7, 8, 9 }, 12));
    HOLDS(again, 7, 8, 9); // the same memory
    spy_tensor *light = typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(2), NULL, false), *lit = MADE(spy_tensor, spy_create_attached(light, NULL, NULL, module));
    assert_string_equal(spy_get_tensor_info(spy_tensor_grad(lit)).type, spy_get_tensor_info(spy_tensor_grad(typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(1), NULL, true))).type);
    // refused
    spy_tensor *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false), *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    assert_null(spy_create_attached(ints, NULL, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_create_attached", "int", "no gradients");
    assert_null(spy_create_attached(light, NULL, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "Light", "module");
    assert_null(spy_create_attached(x, small, NULL, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "grad_in", "(3,)", "(2,)");
    assert_null(spy_create_attached(x, NULL, ints, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "grad_out", "float", "int");
    assert_null(spy_create_attached(NULL, NULL, NULL, NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    RELEASE(x, r, ones, sum, fresh, other, again, light, lit, ints, small);
}

// Explicit mappings: an outer product, a parameter turned against the result, vectors by trailing dimensions.
static void test_maps(void **state) {
    NEEDS_DEVICE();
    enum { A = 50, B = 70 };
    float *a = wave(A), *b = wave(B);
    double da[A] = { 0 }, db[B] = { 0 };
    for (int i = 0; i < A; i++)
        for (int j = 0; j < B; j++) da[i] += (double)b[j], db[j] += (double)a[i];
    spy_tensor *ta = floats(SPY_SHAPE(A), a), *tb = floats(SPY_SHAPE(B), b), *r = seeded(SPY_SHAPE(A, B)), *turned = seeded(SPY_SHAPE(B, A));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_vmap(spy_arg_tensor("x", ta), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("w", tb), SPY_DIMS(1)), spy_arg_tensor("_result", r))));
    HOLDS_ALL(spy_tensor_grad(ta), da, A);
    HOLDS_ALL(spy_tensor_grad(tb), db, B);
    OK(spy_tensor_zero_grad(ta));
    OK(spy_tensor_zero_grad(tb));
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_vmap(spy_arg_tensor("x", ta), SPY_DIMS(0)), spy_vmap(spy_arg_tensor("w", tb), SPY_DIMS(1)),
                                               spy_vmap(spy_arg_tensor("_result", turned), SPY_DIMS(1, 0)))));
    HOLDS_ALL(spy_tensor_grad(ta), da, A);
    HOLDS_ALL(spy_tensor_grad(tb), db, B);
    // pairs in fields
    float dk = 0;
    spy_arg k = spy_arg_diff_pair("k", SPY_ARGS(spy_arg_f32(NULL, 2), spy_inout_f32(NULL, &dk)));
    OK(spy_call_backward(fn("shade"), SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_f32("color", 1), spy_arg_f32("power", 1), spy_arg_i32("id", 1),
                                                                            spy_arg_struct("inner", SPY_ARGS(spy_arg_f32n("uv", (float[]){ 5, 6 }, 2), k)), spy_arg_f32("off", 0))),
                                               spy_arg_tensor("x", ta), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))));
    assert_float_equal(dk, 6 * A, 1e-3);
    RELEASE(ta, tb, r, turned);
    free(a), free(b);
}

// Where the element is, in dimensions that a sum walks in another order.
static void test_places(void **state) {
    NEEDS_DEVICE();
    enum { R = 40, C = 70 };
    float *x = wave(R * C), w[C];
    double dw[C] = { 0 }, dv[C] = { 0 };
    for (int i = 0; i < C; i++) w[i] = (float)i;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            dw[j] += (double)x[i * C + j] * (j + 10 * i);
            dv[j] += (double)x[i * C + j] * j;
        }
    spy_tensor *tx = floats(SPY_SHAPE(R, C), x), *tw = floats(SPY_SHAPE(C), w), *r = seeded(SPY_SHAPE(R, C));
    OK(spy_call_backward(fn("at_place"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_call_id("at"), spy_arg_tensor("_result", r))));
    expect_floats(spy_tensor_grad(tw), dw, C, 1e-4, __FILE__, __LINE__);
    for (int groups = 0; groups < 2; groups++) {
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        if (groups) o.call_group_shape = SPY_SHAPE(4, 8);
        if (groups) o.thread_group_size[0] = 96;
        OK(spy_tensor_zero_grad(tw));
        OK(spy_call_with(fn("where"), SPY_ARGS(spy_arg_tensor("x", tx), spy_arg_tensor("w", tw), spy_arg_tensor("_result", r)), &o));
        expect_floats(spy_tensor_grad(tw), dv, C, 1e-4, __FILE__, __LINE__);
    }
    RELEASE(tx, tw, r);
    free(x);
}

// >>tensors taken whole

static void test_whole(void **state) {
    NEEDS_DEVICE();
    enum { N = 20 };
    float x[N], w3[9];
    double g[3] = { 0 }, dx[N], by_row[3] = { 0 };
    for (int i = 0; i < N; i++) x[i] = (float)(i % 5);
    for (int i = 0; i < 9; i++) w3[i] = (float)i;
    for (int i = 0; i < N; i++) {
        g[i % 3] += (double)x[i] * 1;
        g[0] += (double)x[i] * (1 + i % 3);
        by_row[i % 3] += (double)x[i];
        dx[i] = 1 + i % 3;
    }
    spy_tensor *w = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *tx = floats(SPY_SHAPE(N), x), *r = seeded(SPY_SHAPE(N));
    spy_args args = SPY_ARGS(spy_arg_tensor("w", w), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r));
    OK(spy_call_backward(fn("gather"), args));
    HOLDS_ALL(spy_tensor_grad(w), g, 3);
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_backward(fn("gather_any"), args));
    HOLDS_ALL(spy_tensor_grad(w), by_row, 3);
    spy_tensor *vectors = floats(SPY_SHAPE(3, 3), w3);
    OK(spy_call_backward(fn("gather3"), SPY_ARGS(spy_arg_tensor("w", vectors), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(vectors), 0, by_row[0], 0, 0, by_row[1], 0, 0, by_row[2], 0);
    spy_tensor *same = floats(SPY_SHAPE(N), x), *o = floats(SPY_SHAPE(N), x);
    OK(spy_call_backward(fn("once"), SPY_ARGS(spy_arg_tensor("w", same), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    double each[N];
    for (int i = 0; i < N; i++) each[i] = (double)x[i];
    HOLDS_ALL(spy_tensor_grad(same), each, N);
    // one place for all threads of a wave, also when some of them do not come by
    double sum = 0, most = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        most += i % 3 == 0 ? 0 : (double)x[i];
        each[i] = 0;
    }
    OK(spy_tensor_zero_grad(same));
    OK(spy_call_backward(fn("uniform_"), SPY_ARGS(spy_arg_tensor("w", same), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    each[2] = sum;
    HOLDS_ALL(spy_tensor_grad(same), each, N);
    OK(spy_tensor_zero_grad(vectors));
    OK(spy_call_backward(fn("uniform3"), SPY_ARGS(spy_arg_tensor("w", vectors), spy_arg_call_id("i"), spy_arg_tensor("x", tx), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(vectors), 0, 0, 0, 0, most, 0, 0, 0, 0);
    // stores
    OK(spy_tensor_fill(spy_tensor_grad(o), 2));
    OK(spy_tensor_zero_grad(tx));
    OK(spy_call_backward(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = 4 * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    OK(spy_call(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] * (double)x[i];
    HOLDS_ALL(o, dx, N);
    OK(spy_tensor_fill(spy_tensor_grad(tx), 3));
    OK(spy_call_forward_diff(fn("scatter"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = 6 * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(o), dx, N);
    // both
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(N);
    d.data = x;
    d.grad_in = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), x, false);
    d.grad_out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(N), x, false);
    spy_tensor *rw = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    OK(spy_tensor_zero_grad(tx));
    OK(spy_call_backward(fn("update"), SPY_ARGS(spy_arg_tensor("o", rw), spy_arg_call_id("i"), spy_arg_tensor("x", tx))));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] * (double)x[i];
    HOLDS_ALL(spy_tensor_grad(tx), dx, N);
    for (int i = 0; i < N; i++) dx[i] += (double)x[i];
    HOLDS_ALL(d.grad_out, dx, N);
    // each element of the call its own row
    spy_tensor *rows = floats(SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *r2 = seeded(SPY_SHAPE(2));
    OK(spy_call_backward(fn("sum_row"), SPY_ARGS(spy_arg_tensor("w", rows), spy_arg_tensor("_result", r2))));
    HOLDS(spy_tensor_grad(rows), 2, 1, 1, 5, 4, 1);
    // forward mode, without a gradient, and beside sums in several passes, which must not count it again
    OK(spy_tensor_fill(spy_tensor_grad(w), 1));
    OK(spy_tensor_fill(spy_tensor_grad(tx), 1));
    OK(spy_call_forward_diff(fn("gather_any"), args));
    for (int i = 0; i < N; i++) dx[i] = (double)x[i] + 1 + i % 3;
    HOLDS_ALL(spy_tensor_grad(r), dx, N);
    spy_tensor *m = floats(SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *c = floats(SPY_SHAPE(3), (float[]){ 1, 1, 1 }), *q = floats(SPY_SHAPE(2, 1), (float[]){ 1, 1 }), *rm = seeded(SPY_SHAPE(2, 3));
    OK(spy_tensor_zero_grad(w));
    OK(spy_call_backward(fn("whole"), SPY_ARGS(spy_arg_tensor("x", m), spy_arg_tensor("w", c), spy_arg_tensor("v", q), spy_arg_tensor("t", w), spy_arg_tensor("_result", rm))));
    HOLDS(spy_tensor_grad(c), 5, 7, 9);
    HOLDS(spy_tensor_grad(q), 6, 15);
    HOLDS(spy_tensor_grad(m), 1, 1, 1, 1, 1, 1);
    HOLDS(spy_tensor_grad(w), 21, 0, 0);
    RELEASE(w, tx, r, vectors, same, o, d.grad_in, d.grad_out, rw, rows, r2, m, c, q, rm);
}

// >>forward mode

static void test_forward(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *w = floats(SPY_SHAPE(1), (float[]){ 4 }), *r = floats(SPY_SHAPE(3), NULL), *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_fill(spy_tensor_grad(x), 1));
    OK(spy_tensor_fill(spy_tensor_grad(w), 10));
    OK(spy_tensor_fill(spy_tensor_grad(r), 77)); // overwritten
    OK(spy_call_forward_diff(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_f32("b", 1), spy_arg_tensor("_result", r))));
    HOLDS(r, 5, 18, 39);
    HOLDS(spy_tensor_grad(r), 9 + 10, 17 + 40, 25 + 90); // (2 w x + b) x' + x x w'
    OK(spy_call_forward_diff(fn("two"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("a", r), spy_arg_tensor("b", plain))));
    HOLDS(plain, 3, 6, 9);
    HOLDS(spy_tensor_grad(r), 2, 4, 6);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_forward_diff(fn("poly"), SPY_ARGS(spy_arg_tensor("x", plain), spy_arg_f32("w", 1), spy_arg_f32("b", 1), spy_arg_tensor("_result", r))),
          "none of its inputs has a gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_forward_diff(fn("poly"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_f32("b", 1), spy_arg_tensor("_result", plain))),
          "none of its outputs has a gradient");
    RELEASE(x, w, r, plain);
}

// >>what is refused

static void test_tensor_errors(void **state) {
    NEEDS_DEVICE();
    spy_tensor *good = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false), *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false), *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(3);
    d.with_grad = true;
    d.dtype = SPY_DTYPE_INT32;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_create_tensor", "with_grad", "int", "no gradients");
    d.dtype = SPY_DTYPE_DEFAULT;
    d.type = "Lost";
    d.module = module;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "Lost", "IDifferentiable");
    d.type = NULL;
    d.grad_in = good;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_INVALID_ARGUMENT, "with_grad", "both");
    d.with_grad = false;
    d.grad_out = small;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_SHAPE_MISMATCH, "grad_out", "(3,)", "(2,)");
    d.grad_out = ints;
    assert_null(spy_create_tensor(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "grad_out", "float", "int");
    assert_null(spy_tensor_grad(good)); // none is no error
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_tensor_zero_grad(good), "spy_tensor_zero_grad", "no gradients");
    assert_null(spy_tensor_grad(NULL));
    assert_int_equal(spy_take_error(NULL).code, SPY_ERROR_INVALID_ARGUMENT);
    RELEASE(good, small, ints);
}

static void test_errors(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3)), *none = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false),
               *small = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false), *ints = typed(SPY_DTYPE_INT32, NULL, SPY_SHAPE(3), NULL, false), *fresh = NULL;
    float f;
    // not differentiable, with Slang's reason
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(fn("plain"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r))), "spy_call_backward",
          "plain", "not differentiable", "[Differentiable]", "Slang says", "bwd_diff");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_forward_diff(fn("plain"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", r))), "not differentiable");
    // gradients that are missing
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", none))), "'_result' has no gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_out_f32("_result", &f))), "'_result' has no gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_out_tensor("_result", &fresh))), "'_result' has no gradient");
    assert_null(fresh);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1))), "none of its outputs has a gradient");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", none), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))), "none of its inputs has a gradient");
    // of another shape or type
    FAILS(SPY_ERROR_SHAPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, small))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x'", "(3,)", "(2,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, ints))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x.grad'", "expected float", "int tensor");
    FAILS(SPY_ERROR_TYPE_MISMATCH, // fields are no gradient of a number
          spy_call_forward_diff(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1), spy_arg_struct(NULL, SPY_ARGS(spy_arg_f32("a", 1))))),
                                                      spy_arg_f32("w", 1), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_f32(NULL, &f), spy_out_f32(NULL, &f))))),
          "'x.grad'", "expected float", "struct of 1 fields");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_f32(NULL, 1))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x.grad'", "inout");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "'x'", "a value and its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("times_n"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_diff_pair("n", SPY_ARGS(spy_arg_i32(NULL, 1), spy_arg_tensor(NULL, none))), spy_arg_tensor("_result", r))),
          "'n': int has no gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_call_backward(fn("saxpy"), SPY_ARGS(spy_arg_diff_pair("a", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, x))), spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", r))),
          "'a' is no_diff");
    spy_tensor *long_r = seeded(SPY_SHAPE(4));
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", long_r))), "Shape mismatch");
    // in memory that is read
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, none), spy_arg_tensor(NULL, none))), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))),
          "gradient 'x.grad'", "same memory as 'x'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", r), spy_arg_f32("w", 1), spy_arg_tensor("_result", r))), "same memory as '_result.grad'");
    float shared[4] = { 0 }, own = 0;
    const float three[3] = { 1, 2, 3 };
    for (int i = 0; i < 2; i++)
        FAILS(SPY_ERROR_INVALID_ARGUMENT,
              spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_array(NULL, three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_inout_array(NULL, shared, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))),
                                                      spy_arg_diff_pair("w", SPY_ARGS(spy_arg_array(NULL, three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_inout_array(NULL, shared + i, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), spy_arg_tensor("_result", r))),
              "gradients 'x.grad' and 'w.grad'", "same host memory");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_call_backward(fn("times"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_diff_pair("w", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &own))), spy_arg_tensor("_result", r))),
          "gradients 'x.grad' and 'w.grad'", "same host memory");
    assert_float_equal(own + shared[1], 0, 0);
    // a struct without gradients, which Slang takes as no_diff
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(fn("use_lost2"), SPY_ARGS(spy_arg_struct("l", SPY_ARGS(spy_arg_tensor("a", x))), spy_arg_f32("x", 1), spy_arg_tensor("_result", r))),
          "no_diff Lost l", "none of its inputs has a gradient");
    // atomics in no order
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = true;
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn("gather"), SPY_ARGS(spy_arg_tensor("w", x), spy_arg_call_id("i"), spy_arg_f32("x", 1), spy_arg_tensor("_result", r)), &o), "'w'", "deterministic");
    o.mode = (spy_call_mode)9;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_with(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 1), spy_arg_tensor("_result", r)), &o), "mode is not one of spy_call_mode");
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.deterministic = false;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn("times"), (spy_uint3){ 1, 1, 1 }, SPY_NO_ARGS, &o), "a dispatch computes no gradients");
    HOLDS(spy_tensor_grad(x), 0, 0, 0); // nothing was touched
    HOLDS(spy_tensor_grad(r), 1, 1, 1);
    RELEASE(x, r, none, small, ints, long_r);
}

// >>lists, preludes, empty calls

static void test_elsewhere(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(300, 200), NULL), *w = floats(SPY_SHAPE(200), NULL), *r = seeded(SPY_SHAPE(300, 200));
    OK(spy_tensor_fill(x, 2));
    OK(spy_tensor_fill(w, 3));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", w), spy_arg_tensor("_result", r));
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        o.deterministic = deterministic;
        OK(spy_call_with(fn("times"), args, &o));
    }
    OK(spy_list_finish(o.append_to));
    HOLDS(MADE(spy_tensor, spy_create_slice(spy_tensor_grad(w), 0, 0, 1, 1)), 0);
    OK(spy_list_submit(o.append_to));
    OK(spy_list_submit(o.append_to));
    double want[200];
    for (int i = 0; i < 200; i++) want[i] = 4 * 600;
    HOLDS_ALL(spy_tensor_grad(w), want, 200);
    spy_release_command_list(o.append_to);
    // what teams leave belongs to the list: memory that the pool gives out meanwhile is other memory
    enum { N = 100000 };
    spy_tensor *many = floats(SPY_SHAPE(N), NULL), *shared = floats(SPY_SHAPE(1), NULL), *seeds = seeded(SPY_SHAPE(N));
    OK(spy_tensor_fill(many, 0.5));
    OK(spy_tensor_fill(shared, 1));
    o.append_to = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    o.deterministic = true;
    OK(spy_call_with(fn("times"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_tensor("w", shared), spy_arg_tensor("_result", seeds)), &o));
    OK(spy_list_finish(o.append_to));
    assert_int_equal(spy_get_list_info(o.append_to).op_count, 2);
    for (int i = 0; i < 3; i++) {
        spy_tensor *other[40];
        for (int k = 0; k < 40; k++) {
            other[k] = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(1 + k * 3), NULL, false);
            OK(spy_tensor_fill(other[k], 1e6));
        }
        OK(spy_list_submit(o.append_to));
        for (int k = 0; k < 40; k++) {
            float first;
            OK(spy_tensor_read_range(other[k], 0, 1, &first, sizeof first));
            assert_float_equal(first, 1e6, 0);
        }
        release(other, 40);
    }
    HOLDS(spy_tensor_grad(shared), 1.5 * N);
    spy_release_command_list(o.append_to);
    RELEASE(many, shared, seeds);
    // nothing to do
    spy_tensor *empty = floats(SPY_SHAPE(0), NULL), *re = floats(SPY_SHAPE(0), NULL), *one = floats(SPY_SHAPE(1), (float[]){ 1 });
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", empty), spy_arg_tensor("w", one), spy_arg_tensor("_result", re))));
    HOLDS(spy_tensor_grad(one), 0);
    char text[20000];
    o.append_to = NULL;
    o.deterministic = false;
    assert_true(spy_explain_call(fn("times"), args, &o, text, sizeof text) > 0);
    assert_non_null(strstr(text, "bwd_diff(spyi_element)"));
    assert_non_null(strstr(text, "w.grad"));
    RELEASE(x, w, r, empty, re, one);
}

// >>prepared, timed, results of whatever kind

static uint64_t kernels(void) {
    return spy_get_device_stats(gpu_device).kernels_built;
}

// A parameter that is a uniform buffer, or an array of buffers, takes no part in the derivative.
static void test_buffer_parameters(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "buffer_parameters",
                                                "struct Gains { float s; float3 t; }\n"
                                                "[Differentiable] float held(no_diff ConstantBuffer<Gains> g, float x) { return x * x * g.s * g.t.y; }\n"
                                                "[Differentiable] float of_two(no_diff StructuredBuffer<float> b[2], float x)\n"
                                                "{ return x * x * no_diff(b[0][1]) * no_diff(b[1][0]); }\n"));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *r = seeded(SPY_SHAPE(3)), *b = floats(SPY_SHAPE(2), (float[]){ 5, 2 });
    spy_arg arg = spy_arg_struct("g", SPY_ARGS(spy_arg_f32("s", 5), spy_arg_f32n("t", (float[]){ 1, 2, 3 }, 3)));
    spy_arg two = spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, b), spy_arg_tensor(NULL, b)));
    spy_function *held = MADE(spy_function, spy_find_function(m, "held")), *of_two = MADE(spy_function, spy_find_function(m, "of_two"));
    for (int k = 0; k < 2; k++) {
        OK(spy_tensor_fill(spy_tensor_grad(x), 0));
        OK(spy_call_backward(k ? of_two : held, SPY_ARGS(k ? two : arg, spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
        HOLDS(spy_tensor_grad(x), 20, 40, 60);
        OK(spy_tensor_fill(spy_tensor_grad(x), 1));
        spy_tensor *out = floats(SPY_SHAPE(3), NULL);
        OK(spy_call_forward_diff(k ? of_two : held, SPY_ARGS(k ? two : arg, spy_arg_tensor("x", x), spy_arg_tensor("_result", out))));
        HOLDS(out, 10, 40, 90);
        HOLDS(spy_tensor_grad(out), 20, 40, 60);
        RELEASE(out);
    }
    RELEASE(x, r, b);
    spy_release_module(m);
}

// What is prepared has every kernel of the call: of its passes, and of gradients that lie in the same memory.
static void test_prepared(void **state) {
    NEEDS_DEVICE();
    for (int i = 0; i < 8; i++) {
        bool async = (i & 1) != 0, same = (i & 2) != 0;
        spy_module *own = MADE(spy_module, gpu_module(gpu_device, NULL, "[Differentiable] float times(float x, float w) { return x * w; }"));
        spy_function *f = MADE(spy_function, spy_find_function(own, "times"));
        spy_tensor *x = floats(SPY_SHAPE(300, 200), NULL), *w = floats(SPY_SHAPE(200), NULL), *r = seeded(SPY_SHAPE(300, 200));
        OK(spy_tensor_fill(x, 2));
        OK(spy_tensor_fill(w, 3));
        spy_call_options o;
        memset(&o, 0, sizeof o);
        o.mode = SPY_CALL_MODE_BACKWARD;
        o.deterministic = (i & 4) != 0;
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        d.options = &o;
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("w", same ? x : w), spy_arg_tensor("_result", r));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, &d));
        while (spy_prepared_ready(p) == SPY_ERROR_NOT_READY) {}
        OK(spy_prepared_ready(p));
        uint64_t before = kernels();
        OK(spy_call_prepared(p, args));
        assert_int_equal(kernels(), before);
        double want[200];
        for (int k = 0; k < 200; k++) want[k] = same ? 2 + 2 : 2 * 300;
        spy_tensor *grad = same ? MADE(spy_tensor, spy_create_slice(spy_tensor_grad(x), 0, 7, 8, 1)) : NULL;
        HOLDS_ALL(same ? grad : spy_tensor_grad(w), want, 200);
        uint64_t ns = 0; // of all passes
        OK(spy_time_call(f, args, &o, &ns));
        assert_true(ns > 0);
        for (int k = 0; k < 200; k++) want[k] *= 2;
        HOLDS_ALL(same ? grad : spy_tensor_grad(w), want, 200);
        spy_release_tensor(grad);
        spy_release_prepared(p);
        RELEASE(x, w, r);
        spy_release_module(own);
    }
}

static void test_results(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 });
    spy_result value, grad;
    memset(&value, 0, sizeof value);
    memset(&grad, 0, sizeof grad);
    OK(spy_tensor_fill(spy_tensor_grad(x), 1));
    OK(spy_call_forward_diff(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &value), spy_out_result(NULL, &grad))))));
    assert_non_null(value.tensor);
    assert_non_null(grad.tensor);
    HOLDS(value.tensor, 5, 10, 15);
    HOLDS(grad.tensor, 5, 5, 5);
    RELEASE(value.tensor, grad.tensor);
    float one = 1;
    spy_arg pair = spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, one)));
    OK(spy_call_forward_diff(fn("times"), SPY_ARGS(pair, spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &value), spy_out_result(NULL, &grad))))));
    assert_null(grad.tensor);
    assert_int_equal(grad.dtype, SPY_DTYPE_FLOAT32);
    assert_int_equal(grad.size_bytes, 4);
    memcpy(&one, value.data, 4);
    assert_float_equal(one, 15, 0);
    memcpy(&one, grad.data, 4);
    assert_float_equal(one, 5, 0);
    // of functions without a result, and of one that has no gradient
    spy_result none[2];
    memset(none, 0, sizeof none);
    float in_a = 0, tangent_a = 0;
    spy_arg a = spy_arg_diff_pair("a", SPY_ARGS(spy_out_f32(NULL, &in_a), spy_out_f32(NULL, &tangent_a))), taken = spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &none[0]), spy_out_result(NULL, &none[1])));
    OK(spy_call_forward_diff(fn("two"), SPY_ARGS(pair, a, spy_out_f32("b", &one), taken)));
    assert_null(none[0].type);
    assert_null(none[1].type);
    assert_float_equal(tangent_a, 6, 0);
    OK(spy_call_forward_diff(fn("counted"), SPY_ARGS(pair, a, taken)));
    assert_string_equal(none[0].type, "int");
    assert_null(none[1].type);
    assert_float_equal(tangent_a, 6, 0);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_forward_diff(fn("counted"), SPY_ARGS(pair, a, spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &none[0]), spy_out_f32(NULL, &one))))), "int has no gradient");
    one = 5;
    // backward calls compute no outputs: what takes one stays as it is
    spy_result untouched = grad;
    spy_tensor *made = x;
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_result(NULL, &grad), spy_arg_f32(NULL, 1))))));
    assert_memory_equal(&untouched, &grad, sizeof grad);
    OK(spy_call_backward(fn("times"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_out_tensor(NULL, &made), spy_arg_f32(NULL, 1))))));
    assert_ptr_equal(made, x);
    HOLDS(spy_tensor_grad(x), 11, 11, 11);
    // a mapping around a pair is that of the value and of its gradient
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call_backward(fn("times"), SPY_ARGS(spy_vdim(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, spy_tensor_grad(x)))), 2), spy_arg_f32("w", 5), spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_f32(NULL, 0), spy_arg_f32(NULL, 1))))), "'x': its mapping names 2 dimensions, but 1 of its 1 are run over");
    RELEASE(x);
}

// >>interfaces as types of parameters

// Loops and branches: libslang does not come to an end over the derivative of a function whose parameter is of unknown type.
static void test_interface_parameters(void **state) {
    NEEDS_DEVICE();
    spy_tensor *w = floats(SPY_SHAPE(3), (float[]){ 2, 3, 5 }), *x = floats(SPY_SHAPE(3), (float[]){ 1, 10, 100 }), *r = seeded(SPY_SHAPE(3));
    OK(spy_call(fn("any_loop"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(r, 23, 230, 2300);
    OK(spy_call_backward(fn("any_loop"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 111, 222, 333);
    HOLDS(spy_tensor_grad(x), 23, 23, 23);
    OK(spy_call_backward(fn("any_inner"), SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 333, 666, 999);
    HOLDS(spy_tensor_grad(x), 69, 69, 69);
    OK(spy_tensor_zero_grad(w));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("any_branch"), SPY_ARGS(spy_arg_call_id("i"), spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(w), 5, 0, 12);
    HOLDS(spy_tensor_grad(x), 0, 5, 0);
    OK(spy_tensor_zero_grad(x));
    spy_tensor *o = floats(SPY_SHAPE(6), NULL);
    OK(spy_tensor_write(spy_tensor_grad(o), (float[]){ 1, 2, 3, 4, 5, 6 }, 6 * sizeof(float)));
    OK(spy_call_backward(fn("any_store"), SPY_ARGS(spy_arg_tensor("o", o), spy_arg_call_id("i"), spy_arg_tensor("x", x))));
    HOLDS(spy_tensor_grad(x), 2 * (1 + 2 * 2), 20 * (3 + 2 * 4), 200 * (5 + 2 * 6));
    OK(spy_tensor_zero_grad(x));
    OK(spy_call_backward(fn("amplify"), SPY_ARGS(spy_vcast(spy_arg_struct("g", SPY_ARGS(spy_arg_f32("a", 4))), "Linear"), spy_arg_tensor("x", x), spy_arg_tensor("_result", r))));
    HOLDS(spy_tensor_grad(x), 24, 24, 24);
    RELEASE(w, x, r, o);
}

// >>DifferentialPair<T> as a parameter

static void test_pair_parameters(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *g = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 10, 20, 30 }, false),
               *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), (float[]){ 4, 5, 6 }, false), *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    // a tensor with its gradient, a pair, fields: of tensors, of numbers, of both
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 9, 12, 15);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_tensor(NULL, g))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 18, 30, 42);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_f32(NULL, 0.5f))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 8.5, 10.5, 12.5);
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_struct("x", SPY_ARGS(spy_arg_tensor("d", g), spy_arg_f32("p", 1))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))));
    HOLDS(out, 12, 22, 32);
    float one = 0, p = 3, d = 4;
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4))), spy_arg_f32("s", 2), spy_out_f32("_result", &one))));
    assert_float_equal(one, 10, 0);
    // many: wide kernels, and views
    enum { MANY = 1003 };
    float *numbers = wave(MANY);
    double want[MANY];
    spy_tensor *many = floats(SPY_SHAPE(MANY), numbers), *results = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(MANY), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(many), numbers, MANY * sizeof(float)));
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("s", 2), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 3 * (double)numbers[i];
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_tensor("x", many), spy_arg_f32("s", 2))));
    for (int i = 0; i < MANY; i++) want[i] = 2 * (double)numbers[i];
    HOLDS_ALL(many, want, MANY);
    for (int i = 0; i < MANY; i++) want[i] = (double)numbers[i] + 2;
    HOLDS_ALL(spy_tensor_grad(many), want, MANY);
    spy_tensor *second = MADE(spy_tensor, spy_create_slice(many, 0, 1, 4, 2)); // its gradient is a view, too
    OK(spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", second), spy_arg_f32("s", 1), spy_arg_tensor("_result", MADE(spy_tensor, spy_create_slice(results, 0, 0, 2, 1))))));
    // what comes back
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2))));
    HOLDS(x, 2, 4, 6);
    HOLDS(spy_tensor_grad(x), 9, 10, 11);
    OK(spy_call(fn("advance"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d))), spy_arg_f32("s", 2))));
    assert_float_equal(p, 6, 0);
    assert_float_equal(d, 6, 0);
    OK(spy_call(fn("begin"), SPY_ARGS(spy_arg_tensor("s", plain), spy_arg_tensor("x", x))));
    HOLDS(x, 4, 5, 6);
    HOLDS(spy_tensor_grad(x), 8, 10, 12);
    float value[3] = { 0 }, gradient[3] = { 0 };
    OK(spy_call(fn("both"), SPY_ARGS(spy_arg_f32("s", 2), spy_arg_struct("_result", SPY_ARGS(spy_out_array("p", value, SPY_SHAPE(3), SPY_DTYPE_FLOAT32), spy_out_array("d", gradient, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))))));
    assert_float_equal(value[2], 2, 0);
    assert_float_equal(gradient[2], 6, 0);
    // structs and arrays
    spy_tensor *weights = floats(SPY_SHAPE(5), (float[]){ 1, 2, 3, 4, 5 });
    OK(spy_tensor_write(spy_tensor_grad(weights), (float[]){ 6, 7, 8, 9, 10 }, 5 * sizeof(float)));
    OK(spy_call(fn("held_array"), SPY_ARGS(spy_arg_tensor("w", weights), spy_out_f32("_result", &one))));
    assert_float_equal(one, 30, 0);
    spy_tensor *lights = typed(SPY_DTYPE_DEFAULT, "Light", SPY_SHAPE(2), NULL, true);
    const struct { float color[3], power; int32_t id; float uv[2], k, off; } two[2] = { { { 1, 2, 3 }, 4, 5, { 6, 7 }, 8, 9 }, { { 2, 3, 4 }, 5, 6, { 7, 8 }, 9, 1 } };
    OK(spy_tensor_write(lights, two, sizeof two));
    spy_tensor *of_lights = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    OK(spy_call(fn("held_light"), SPY_ARGS(spy_arg_tensor("l", lights), spy_arg_tensor("_result", of_lights))));
    HOLDS(of_lights, 5, 6);
    // what does not fit
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", plain), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))), "'x'", "expected DifferentialPair<float>", "float tensor (3,)", "a value with its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_f32("x", 1), spy_arg_f32("s", 2), spy_out_f32("_result", &one))), "'x'", "expected DifferentialPair<float>", "spy_arg_diff_pair");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn("held"), SPY_ARGS(spy_arg_struct("x", SPY_ARGS(spy_arg_f32("p", 1), spy_arg_f32("q", 1))), spy_arg_f32("s", 2), spy_out_f32("_result", &one))), "'x'", "no field 'q'");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_tensor(NULL, plain), spy_arg_tensor(NULL, weights))), spy_arg_f32("s", 2), spy_arg_tensor("_result", out))), "'x'", "(3,)", "(5,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn("held"), SPY_ARGS(spy_arg_tensor("x", lights), spy_arg_f32("s", 2), spy_arg_tensor("_result", of_lights))), "'x.p'", "expected float", "Light");
    spy_tensor *seeds = seeded(SPY_SHAPE(3));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(fn("held"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("s", 2), spy_arg_tensor("_result", seeds))), "'x'", "DifferentialPair<float>");
    RELEASE(x, g, plain, out, many, results, second, weights, lights, of_lights, seeds);
    free(numbers);
}

static const char pairs_source[] =
    "struct Light : IDifferentiable { float3 color; float power; int id; };\n"
    "struct Mixed { DifferentialPair<float> p; float3 k; };\n"
    "struct Deep { Mixed m; int i; DifferentialPair<Light> l; };\n"
    "struct Outer { Mixed m; DifferentialPair<float> q[2]; };\n"
    "struct Only { DifferentialPair<float> p; float get() { return p.p * 10 + p.d; } [mutating] void set(float x) { p = diffPair(x, p.p); } };\n"
    "float of_mixed(Mixed m) { return m.p.p * 10 + m.p.d + m.k.y; }\n"
    "float of_only(Only o) { return o.get(); }\n"
    "void scale_mixed(inout Mixed m, float s) { m.p = diffPair(m.p.p * s, m.p.d + s); m.k *= s; }\n"
    "void begin_mixed(float s, out Mixed m) { m.p = diffPair(s, 2 * s); m.k = float3(1, 2, 3) * s; }\n"
    "Mixed make_mixed(float s) { Mixed m; begin_mixed(s, m); return m; }\n"
    "float of_deep(Deep d) { return of_mixed(d.m) + d.i * d.l.p.color.y * d.l.d.color.z + d.l.d.power + d.l.p.id; }\n"
    "void turn_deep(inout Outer d) { d.m.p = diffPair(d.m.p.d, d.m.p.p); d.q[1] = d.m.p; }\n"
    "float of_two(Mixed m[2]) { return of_mixed(m[0]) + 1000 * of_mixed(m[1]); }\n"
    "float of_pairs(DifferentialPair<float> p[2]) { return p[0].p * 10 + p[0].d + 1000 * (p[1].p * 10 + p[1].d); }\n"
    "[Differentiable] float beside(float x, no_diff Only o) { return x * 2; }\n"
    "float of_buffer(ConstantBuffer<Mixed> m) { return of_mixed(m); }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)] void shade(uniform DifferentialPair<float> p, uniform RWStructuredBuffer<float> o) { o[0] = p.p * 10 + p.d; }\n";

#define PAIR(name, value, gradient) spy_arg_diff_pair(name, SPY_ARGS(value, gradient))
#define FLOATS(name, ...) spy_arg_array(name, ((float[]){ __VA_ARGS__ }), SPY_SHAPE(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)), SPY_DTYPE_FLOAT32)

static void test_pairs_in_structs(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "pairs", pairs_source));
    spy_function *of_mixed = MADE(spy_function, spy_find_function(m, "of_mixed")), *scale = MADE(spy_function, spy_find_function(m, "scale_mixed"));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *k = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3, 3), (float[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, false),
               *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    float one = 0;
    // numbers: a pair, fields
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), FLOATS("k", 5, 6, 7))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 40, 0);
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(FLOATS("k", 5, 7, 7), spy_arg_struct("p", SPY_ARGS(spy_arg_f32("d", 5), spy_arg_f32("p", 2))))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 32, 0);
    // tensors with gradients, beside tensors
    OK(spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))), spy_arg_tensor("_result", out))));
    HOLDS(out, 19, 33, 47);
    OK(spy_call(scale, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))), spy_arg_f32("s", 2))));
    HOLDS(x, 2, 4, 6);
    HOLDS(spy_tensor_grad(x), 9, 10, 11);
    HOLDS(k, 2, 4, 6, 8, 10, 12, 14, 16, 18);
    // what comes back
    float p = 3, d = 4, three[3] = { 1, 2, 3 };
    OK(spy_call(scale, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)), spy_inout_array("k", three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), spy_arg_f32("s", 5))));
    assert_float_equal(p, 15, 0);
    assert_float_equal(d, 9, 0);
    assert_float_equal(three[2], 15, 0);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "begin_mixed")), SPY_ARGS(spy_arg_tensor("s", out), spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("k", k))))));
    HOLDS(x, 19, 33, 47);
    HOLDS(spy_tensor_grad(x), 38, 66, 94);
    HOLDS(k, 19, 38, 57, 33, 66, 99, 47, 94, 141);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "make_mixed")), SPY_ARGS(spy_arg_f32("s", 3), spy_arg_struct("_result", SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_out_f32("p", &p), spy_out_f32("d", &d))), spy_out_array("k", three, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))))));
    assert_float_equal(p, 3, 0);
    assert_float_equal(d, 6, 0);
    assert_float_equal(three[1], 6, 0);
    // structs in structs, pairs of structs, many (wide kernels)
    enum { MANY = 1003 };
    float *numbers = wave(MANY);
    double want[MANY];
    spy_tensor *many = floats(SPY_SHAPE(MANY), numbers), *results = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(MANY), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(many), numbers, MANY * sizeof(float)));
    spy_arg light[] = { FLOATS("color", 1, 2, 3), spy_arg_f32("power", 4), spy_arg_i32("id", 5) }, change[] = { FLOATS("color", 6, 7, 8), spy_arg_f32("power", 9) };
    spy_arg parts[] = { spy_arg_struct("p", (spy_args){ light, 3 }), spy_arg_struct("d", (spy_args){ change, 2 }) };
    spy_arg mixed[] = { spy_arg_tensor("p", many), FLOATS("k", 0, 1, 0) };
    spy_arg deep[] = { spy_arg_struct("m", (spy_args){ mixed, 2 }), spy_arg_i32("i", 3), spy_arg_struct("l", (spy_args){ parts, 2 }) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_deep")), SPY_ARGS(spy_arg_struct("d", (spy_args){ deep, 3 }), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 1 + 3 * 2 * 8 + 9 + 5;
    HOLDS_ALL(results, want, MANY);
    spy_arg second[] = { PAIR("p", spy_arg_f32(NULL, 1), spy_arg_f32(NULL, 2)), FLOATS("k", 0, 3, 0) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_two")), SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_struct(NULL, (spy_args){ mixed, 2 }), spy_arg_struct(NULL, (spy_args){ second, 2 }))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 1 + 15000;
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_pairs")), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_tensor(NULL, many), PAIR(NULL, spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i] + 34000;
    HOLDS_ALL(results, want, MANY);
    // methods, on a struct that is nothing but a pair
    OK(spy_call(MADE(spy_function, spy_find_function(m, "of_only")), SPY_ARGS(spy_arg_struct("o", SPY_ARGS(spy_arg_tensor("p", many))), spy_arg_tensor("_result", results))));
    for (int i = 0; i < MANY; i++) want[i] = 11 * (double)numbers[i];
    HOLDS_ALL(results, want, MANY);
    OK(spy_call(MADE(spy_function, spy_find_function(m, "Only.get")), SPY_ARGS(spy_arg_struct("this", SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)))), spy_out_f32("_result", &one))));
    assert_float_equal(one, 34, 0);
    p = 3, d = 4;
    OK(spy_call(MADE(spy_function, spy_find_function(m, "Only.set")), SPY_ARGS(spy_arg_struct("this", SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)))), spy_arg_f32("x", 8))));
    assert_float_equal(p, 8, 0);
    assert_float_equal(d, 3, 0);
    // inout, by fields at all depths
    spy_tensor *u = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *v = floats(SPY_SHAPE(3), (float[]){ 4, 5, 6 });
    OK(spy_tensor_write(spy_tensor_grad(u), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    spy_arg inner[] = { spy_arg_tensor("p", u), spy_arg_tensor("k", k) }, pair_of_out[] = { spy_arg_tensor(NULL, x), spy_arg_tensor(NULL, v) };
    OK(spy_call(MADE(spy_function, spy_find_function(m, "turn_deep")), SPY_ARGS(spy_arg_struct("d", SPY_ARGS(spy_arg_struct("m", (spy_args){ inner, 2 }), spy_arg_struct("q", (spy_args){ pair_of_out, 2 }))))));
    HOLDS(u, 7, 8, 9);
    HOLDS(spy_tensor_grad(u), 1, 2, 3);
    HOLDS(v, 7, 8, 9);
    HOLDS(spy_tensor_grad(v), 1, 2, 3);
    HOLDS(x, 19, 33, 47);
    // what does not fit
    spy_tensor *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_struct("m", SPY_ARGS(spy_arg_tensor("p", plain), spy_arg_tensor("k", k))), spy_arg_tensor("_result", out))), "'m.p'", "expected DifferentialPair<float>", "a value with its gradient");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(MADE(spy_function, spy_find_function(m, "beside")), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_struct("o", SPY_ARGS(spy_arg_tensor("p", x))), spy_arg_tensor("_result", v))), "'o.p'", "DifferentialPair<float>");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call(MADE(spy_function, spy_find_function(m, "of_buffer")), SPY_ARGS(spy_arg_struct("m", (spy_args){ mixed, 2 }), spy_out_f32("_result", &one))), "'m.p'", "DifferentialPair<float>", "two");
    spy_uint3 threads = { 1, 1, 1 };
    FAILS(SPY_ERROR_UNSUPPORTED, spy_dispatch(MADE(spy_function, spy_find_function(m, "shade")), threads, SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), spy_arg_tensor("o", out)), NULL), "'p'", "DifferentialPair<float>", "two");
    // Slang's reflection tells nothing of a pair's layout, so no memory can hold such a struct
    spy_tensor_desc structs = { .module = m, .type = "Mixed", .shape = SPY_SHAPE(3) }, pairs = { .module = m, .type = "DifferentialPair<float>", .shape = SPY_SHAPE(3) };
    assert_null(spy_create_tensor(gpu_device, &structs));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'Mixed'", "DifferentialPair", "give its fields one by one");
    assert_null(spy_create_tensor(gpu_device, &pairs));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'DifferentialPair<float>'", "tensor with a gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_tensor("m", k), spy_out_f32("_result", &one))), "'m'", "expected Mixed", "give its fields one by one");
    float bytes[5] = { 1, 2, 3, 4, 5 };
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(of_mixed, SPY_ARGS(spy_arg_data("m", bytes, sizeof bytes), spy_out_f32("_result", &one))), "'m'", "expected Mixed", "give its fields one by one");
    RELEASE(x, k, out, many, results, u, v, plain);
    free(numbers);
    spy_release_module(m);
}

static void test_generic_pairs(void **state) {
    NEEDS_DEVICE();
    static const char text[] =
        "struct Light : IDifferentiable { float3 color; float power; int id; };\n"
        "struct Plain { float a; };\n"
        "interface IBright { float bright(); };\n"
        "extension Light : IBright { float bright() { return color.y * 10 + id; } };\n"
        "float of_any<T : IDifferentiable>(DifferentialPair<T> p) { return sizeof(T); }\n"
        "float bright<T : IDifferentiable & IBright>(DifferentialPair<T> p, int times) { return p.p.bright() * times; }\n"
        "float both<T : IDifferentiable, U : IDifferentiable>(DifferentialPair<T> p, DifferentialPair<U> q) { return sizeof(T) * 100 + sizeof(U); }\n"
        "float same<T : IDifferentiable>(DifferentialPair<T> p, T x) { return sizeof(T); }\n"
        "float of_vector<let N : int>(DifferentialPair<vector<float, N>> p) { float sum = 0; for (int i = 0; i < N; i++) sum += p.p[i] * 10 + p.d[i]; return sum; }\n"
        "float beside<T : IDifferentiable>(T t, DifferentialPair<float3> p) { return p.p.x * 10 + p.d.z; }\n"
        "void turn<T : IDifferentiable>(inout DifferentialPair<T> p, T x) { p = DifferentialPair<T>(x, p.d); }\n"
        "float nearer<T : IDifferentiable>(DifferentialPair<T> p) { return 1; }\n"
        "float nearer(DifferentialPair<float> p) { return 2; }\n";
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "generic_pairs", text));
    spy_tensor *x = floats(SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *out = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false), *plain = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(3), NULL, false);
    OK(spy_tensor_write(spy_tensor_grad(x), (float[]){ 7, 8, 9 }, 3 * sizeof(float)));
    float one = 0, p = 3, d = 4;
#define NAMED(name) MADE(spy_function, spy_find_function(m, name))
#define GIVES(want, name, ...)                                                                                \
    do {                                                                                                      \
        OK(spy_call(NAMED(name), SPY_ARGS(__VA_ARGS__, spy_out_f32("_result", &one))));                       \
        assert_float_equal(one, want, 0);                                                                     \
    } while (0)
    // from a pair, from a tensor with its gradient, from fields
    GIVES(4, "of_any", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(8, "of_any", PAIR("p", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    GIVES(4, "of_any", spy_arg_struct("p", SPY_ARGS(spy_arg_f32("d", 3), spy_arg_f32("p", 4))));
    GIVES(4, "of_any", spy_arg_struct("p", SPY_ARGS(spy_arg_f32("grad", 3), spy_arg_f32("primal", 4))));
    GIVES(4, "of_any<float>", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(408, "both", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), PAIR("q", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    GIVES(4, "same", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)), spy_arg_f32("x", 2));
    OK(spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("_result", out))));
    HOLDS(out, 4, 4, 4);
    GIVES(2, "nearer", PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 4)));
    GIVES(1, "nearer", PAIR("p", spy_arg_f64(NULL, 3), spy_arg_f64(NULL, 4)));
    // vectors and structs
    GIVES(60 + 24, "of_vector", spy_arg_tensor("p", x));
    GIVES(19, "beside", spy_arg_f32("t", 1), spy_arg_tensor("p", x));
    const struct { float color[3], power; int32_t id; } two[2] = { { { 1, 2, 3 }, 4, 5 }, { { 2, 3, 4 }, 5, 6 } };
    spy_tensor_desc desc = { .module = m, .type = "Light", .shape = SPY_SHAPE(2), .data = two, .with_grad = true };
    spy_tensor *lights = MADE(spy_tensor, spy_create_tensor(gpu_device, &desc));
    spy_tensor *of_lights = typed(SPY_DTYPE_FLOAT32, NULL, SPY_SHAPE(2), NULL, false);
    OK(spy_call(NAMED("bright"), SPY_ARGS(spy_arg_tensor("p", lights), spy_arg_i32("times", 2), spy_arg_tensor("_result", of_lights))));
    HOLDS(of_lights, 50, 72);
    // what comes back
    OK(spy_call(NAMED("turn"), SPY_ARGS(PAIR("p", spy_inout_f32(NULL, &p), spy_inout_f32(NULL, &d)), spy_arg_f32("x", 5))));
    assert_float_equal(p, 5, 0);
    assert_float_equal(d, 4, 0);
    // what does not fit
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", plain), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "a value with its gradient");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_f32("p", 3), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "spy_arg_diff_pair");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(PAIR("p", spy_arg_i32(NULL, 3), spy_arg_i32(NULL, 3)), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "of_any<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("bright"), SPY_ARGS(PAIR("p", spy_arg_f32(NULL, 3), spy_arg_f32(NULL, 3)), spy_arg_i32("times", 2), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>", "bright<float>");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("a", 1))), spy_arg_struct("d", SPY_ARGS(spy_arg_f32("a", 1))))), spy_out_f32("_result", &one))), "'p'", "DifferentialPair<T>");
    // a struct that has no derivative: by its own name
    desc.type = "Plain";
    desc.with_grad = false;
    desc.data = NULL;
    spy_tensor *plains = MADE(spy_tensor, spy_create_tensor(gpu_device, &desc));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(NAMED("of_any"), SPY_ARGS(PAIR("p", spy_arg_tensor(NULL, plains), spy_arg_tensor(NULL, plains)), spy_arg_tensor("_result", of_lights))), "'p'", "DifferentialPair<T>");
    spy_release_tensor(plains);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_backward(NAMED("of_any"), SPY_ARGS(spy_arg_tensor("p", x), spy_arg_tensor("_result", x))), "'p'", "DifferentialPair<T>", "call the function itself");
    RELEASE(x, out, plain, lights, of_lights);
    spy_release_module(m);
}

int main(void) {
    spy_device_desc desc = gpu_desc();
    gpu_device = gpu_open(&desc);
    if (gpu_device) module = gpu_module(gpu_device, "gradients", source);
    if (gpu_device && !module) {
        print_error("%s\n", spy_take_error(gpu_device).message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_style),         cmocka_unit_test(test_numbers),       cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_inout),         cmocka_unit_test(test_structs),       cmocka_unit_test(test_methods),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_stored), cmocka_unit_test(test_what_cannot_be_stored), cmocka_unit_test(test_sums_of_other_types), cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_maps),        cmocka_unit_test(test_whole),         cmocka_unit_test(test_forward),
        cmocka_unit_test(test_tensor_errors), cmocka_unit_test(test_errors),        cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_nested_loops), cmocka_unit_test(test_elements), cmocka_unit_test(test_globals), cmocka_unit_test(test_attached),      cmocka_unit_test(test_buffer_parameters), cmocka_unit_test(test_prepared),       cmocka_unit_test(test_results),
        cmocka_unit_test(test_interface_parameters), cmocka_unit_test(test_pair_parameters), cmocka_unit_test(test_pairs_in_structs), cmocka_unit_test(test_generic_pairs), cmocka_unit_test(test_kinds_of_functions), cmocka_unit_test(test_nested_kinds), cmocka_unit_test(test_kinds_of_methods),
    };
    if (getenv("SPY_TEST_ONLY")) cmocka_set_test_filter(getenv("SPY_TEST_ONLY"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spy_release_device(gpu_device);
    return failed;
}
