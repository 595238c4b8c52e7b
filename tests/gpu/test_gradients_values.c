// Gradients of functions, structs and methods whose values are known: backward mode, forward mode, derivatives of one's own,
// shader parameters, loops, and elements that are read at several indices.
#include "gradients.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_style), cmocka_unit_test(test_numbers), cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_inout), cmocka_unit_test(test_structs), cmocka_unit_test(test_methods),
        cmocka_unit_test(test_forward), cmocka_unit_test(test_nested_loops), cmocka_unit_test(test_elements),
        cmocka_unit_test(test_globals),
    };
    return RUN_GRADIENT_TESTS(tests);
}
