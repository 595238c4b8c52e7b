"""The module of functions with derivatives, and fixtures, for all test_gradients files. References are derivatives written by hand, or
central differences of a second program in numpy and float64."""
import numpy as np
import pytest

import slangpy as spy

rng = np.random.default_rng(7)


def rand(*shape, low=0.25, high=1.75):
    return rng.uniform(low, high, shape).astype(np.float32)


SOURCE = """
import slangpy;
import slangpy_diff;
[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }
[Differentiable] float saxpy(no_diff float a, float x, float y) { return a * x + y; }
[Differentiable] float times(float x, float w) { return x * w; }
[Differentiable] half times_half(half x, half w) { return x * w; }
[Differentiable] double times_double(double x, double w) { return x * w; }
[Differentiable] float3 scale(float3 v, float s) { return v * s; }
[Differentiable] float length2(float3 v) { return dot(v, v); }
[Differentiable] float4 mulv(float4x4 m, float4 v) { return mul(m, v); }
[Differentiable] float weigh(float w[5], float x) { float s = 0; for (int i = 0; i < 5; i++) s += w[i] * x * i; return s; }
[Differentiable] void zoom(inout float x, float y) { x = x * y; }
[Differentiable] void two(float x, out float a, out float b) { a = x * x; b = 3 * x; }
[Differentiable] int counted(float x, out float a) { a = x * x; return 3; }
[Differentiable] T square<T : __BuiltinFloatingPointType>(T x) { return x * x; }
[Differentiable] vector<float, N> twice<let N : int>(vector<float, N> x) { return x * 2; }
float plain(float x) { return x * x; }
[ForwardDifferentiable] float only_forward(float x) { return x * x; }
[Differentiable] float times_n(float x, int n) { return x * n; }
float custom(float x) { return x; }
[BackwardDerivativeOf(custom)]
void custom_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d); }
void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }
[BackwardDerivative(own_bwd)] float own(float x) { return x; }
[Differentiable] [PreferRecompute] float recomputed(float x) { return x * x * x; }
[Differentiable] float through(float x) { return custom(x) * x + own(x); }
struct Inner : IDifferentiable { float2 uv; float k; };
struct Light : IDifferentiable { float3 color; float power; int id; Inner inner; no_diff float off; };
[Differentiable] float shade(Light l, float x)
{ return (l.color.x + 2 * l.color.y) * l.power * x + l.inner.uv.y * l.inner.k + l.off; }
struct DOwn : IDifferentiable
{
    typealias Differential = DOwn;
    float da;
    [Differentiable] static DOwn dzero() { DOwn d; d.da = 0; return d; }
    [Differentiable] static DOwn dadd(DOwn a, DOwn b) { DOwn d; d.da = a.da + b.da; return d; }
};
struct Own : IDifferentiable { typealias Differential = DOwn; [DerivativeMember(DOwn.da)] float a; int n; };
[Differentiable] float use_own(Own o) { return o.a * o.a * o.n; }
struct Lost { float a; };
[Differentiable] float use_lost(Lost l, float x) { return l.a * x; }
struct Camera : IDifferentiable
{
    float f;
    float c;
    [Differentiable] float project(float x) { return f * x + c; }
    [Differentiable] [mutating] void zoom(float x) { f = f * x; }
    [Differentiable] static float flat(float x) { return 4 * x; }
    [Differentiable] __init(float f, float c) { this.f = f; this.c = c; }
};
[Differentiable] float gather(DiffTensor<float, 1> w, no_diff int i, float x) { return w[i % 3] * x * w[0]; }
[Differentiable] float gather_any<T : IDiffTensor<float, 1>>(T w, no_diff int i, float x) { return w[i % 3] * x; }
[Differentiable] float once(DiffTensor<float, 1> w, no_diff int i, float x) { return w.load_once({ i }) * x; }
[Differentiable] void scatter(WDiffTensor<float, 1> o, no_diff int i, float x) { o[i] = x * x; }
[Differentiable] void update(RWDiffTensor<float, 1> o, no_diff int i, float x) { o[i] = o[i] * x; }
extern static const float gain = 2;
[Differentiable] float with_gain(float x) { return gain * x; }
uniform float strength;
[Differentiable] float with_strength(float x) { return strength * x; }
void descend(inout float value, inout float gradient, float rate) { value -= rate * gradient; gradient = 0; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


@pytest.fixture
def tensor(device):
    """Returns tensor(data, **with_grads), which makes a tensor with gradients: one gradient of zeros unless keywords say otherwise."""
    def make(data, dtype=None, **grads):
        data = np.asarray(data)
        if dtype is None:
            data = data.astype(np.float32)
        return spy.Tensor.from_numpy(device, data, dtype=dtype).with_grads(**grads)

    return make


def near(got, expected, tolerance=1e-5):
    got = got.to_numpy() if isinstance(got, spy.Tensor) else got
    assert np.shape(got) == np.shape(expected)
    assert np.allclose(got, expected, rtol=tolerance, atol=tolerance), (got, expected)


ONE = spy.diffPair(d=1.0)


def light(**fields):
    values = {"color": [1.0, 2.0, 3.0], "power": 2.0, "id": 4, "inner": {"uv": [1.0, 3.0], "k": 5.0}, "off": 1.0}
    return dict(values, _type="Light", **fields)
