"""Gradients: backward and forward calls, tensors with gradients, values with gradients. References are derivatives written by hand, or
central differences of a second program in numpy and float64. Features A1-A5, B5, C9, L2, L3, L6."""
import gc
import os
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import slangpy as spy

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_gradients_*.c have the same subject

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


# >>the public documentation's example

def test_documented_example(device, m):
    """The example of SlangPy's page 'Basic Auto-diff' runs as printed. (Features A1, A2.)"""
    module = m
    x = spy.Tensor.numpy(device, np.array([1, 2, 3, 4], dtype=np.float32)).with_grads(zero=True)
    result: spy.Tensor = module.polynomial(a=2, b=8, c=-1, x=x, _result='tensor')
    near(result, [9, 23, 41, 63])
    result = spy.Tensor(device, element_type=module.float, shape=(4,))
    module.polynomial(a=2, b=8, c=-1, x=x, _result=result)
    near(result, [9, 23, 41, 63])
    result: spy.Tensor = module.polynomial.return_type(spy.Tensor)(a=2, b=8, c=-1, x=x)
    near(result, [9, 23, 41, 63])
    result = result.with_grads()
    result.grad.storage.copy_from_numpy(np.array([1, 1, 1, 1], dtype=np.float32))
    module.polynomial.bwds(a=2, b=8, c=-1, x=x, _result=result)
    near(x.grad, [12, 16, 20, 24])


def test_style(m, tensor):
    """The calls of the README's C program give its numbers. (Feature A1.)"""
    x, out = tensor([1, 2, 3, 4]), tensor(np.zeros(4))
    m.saxpy(a=2, x=x, y=1, _result=out)
    out.grad.copy_from_numpy(np.ones(4, np.float32))
    assert m.saxpy.bwds(a=2, x=x, y=1, _result=out) is None
    near(out, [3, 5, 7, 9])
    near(x.grad, [2, 2, 2, 2])
    m.saxpy.bwds(a=2, x=x, y=1, _result=out)  # bwds() adds to the inputs' gradients and only reads the output's
    near(x.grad, [4, 4, 4, 4])
    near(out.grad, [1, 1, 1, 1])
    near(out, [3, 5, 7, 9])


# >>many functions against central differences in float64

FORMULAS = [
    # Slang, numpy, number of inputs
    ("a * a * b - 3 * b", lambda a, b: a * a * b - 3 * b, 2),
    ("sin(a) * exp(b)", lambda a, b: np.sin(a) * np.exp(b), 2),
    ("sqrt(a) / b", lambda a, b: np.sqrt(a) / b, 2),
    ("log(a + b * b)", lambda a, b: np.log(a + b * b), 2),
    ("pow(a, b)", lambda a, b: a**b, 2),
    ("atan2(a, b)", lambda a, b: np.arctan2(a, b), 2),
    ("tanh(a * b) + cos(a)", lambda a, b: np.tanh(a * b) + np.cos(a), 2),
    ("max(a, b) * min(a, 2 * b)", lambda a, b: np.maximum(a, b) * np.minimum(a, 2 * b), 2),
    ("lerp(a, b, c)", lambda a, b, c: a + (b - a) * c, 3),
    ("a > b ? a * c : b / c", lambda a, b, c: np.where(a > b, a * c, b / c), 3),
    ("rsqrt(a * a + b * b + c * c)", lambda a, b, c: (a * a + b * b + c * c)**-0.5, 3),
    ("abs(a - b) * c", lambda a, b, c: np.abs(a - b) * c, 3),
]


@pytest.fixture(scope="module")
def formulas(load):
    text = ""
    for i, (slang, _, n) in enumerate(FORMULAS):
        for dtype in ("float", "double"):
            if dtype == "double" and any(f in slang for f in ("sin", "cos", "exp", "log", "pow", "tan")):
                continue  # SPIR-V has these functions only for float
            parameters = ", ".join(f"{dtype} {name}" for name in "abc"[:n])
            text += f"[Differentiable] {dtype} f{i}_{dtype}({parameters}) {{ return {slang}; }}\n"
    return load(text)


def differences(f, inputs, i, h=1e-6):
    """Returns the derivative of f by its input i, as values of the broadcast shape."""
    lo, hi = list(inputs), list(inputs)
    lo[i], hi[i] = inputs[i] - h, inputs[i] + h
    return (f(*hi) - f(*lo)) / (2 * h)


def summed(values, shape):
    """Returns the sum of values over the dimensions along which an input of `shape` is broadcast."""
    lead = values.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return values.sum(axis=axes, keepdims=True).reshape(shape)


SHAPES = [[(33,), (33,), (33,)], [(5, 7), (7,), (5, 1)], [(4, 1, 6), (3, 1), (1,)]]
if os.environ.get("SPY_TEST_SIZE") == "small":
    SHAPES = SHAPES[1:2]


@pytest.mark.share(12)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("i", range(len(FORMULAS)))
def test_formulas(formulas, tensor, i, shapes):
    """Backward and forward derivatives equal central differences, and their dot products agree. (Features A1, A3.)"""
    _, f, n = FORMULAS[i]
    for dtype, number, tolerance in (("float", np.float32, 2e-4), ("double", np.float64, 1e-7)):
        function = getattr(formulas, f"f{i}_{dtype}", None) if dtype == "float" else formulas.find_function(f"f{i}_double")
        if function is None or (dtype == "double" and len(shapes[0]) == 1):
            continue
        inputs = [rand(*s).astype(number) for s in shapes[:n]]
        wide = [x.astype(np.float64) for x in inputs]
        shape = np.broadcast_shapes(*shapes[:n])
        seed = rand(*shape).astype(number)
        directions = [rand(*s, low=-1, high=1).astype(number) for s in shapes[:n]]
        tensors = [tensor(x, dtype) for x in inputs]
        result = tensor(np.zeros(shape, number), dtype, grad_in=seed)
        function.bwds(*tensors, _result=result)
        partials = [differences(f, wide, k) for k in range(n)]
        for k in range(n):
            expected = summed(partials[k] * seed, shapes[k])
            near(tensors[k].grad, expected, tolerance * max(1, np.abs(expected).max()))
        forward = [tensor(x, dtype, grad_in=d) for x, d in zip(inputs, directions)]
        got = function.fwds(*forward)
        near(got, f(*wide), tolerance)
        near(got.grad, sum(p * d for p, d in zip(partials, directions)), tolerance * 10)
        left = (got.grad.to_numpy().astype(np.float64) * seed).sum()
        right = sum((t.grad.to_numpy().astype(np.float64) * d).sum() for t, d in zip(tensors, directions))
        assert np.isclose(left, right, rtol=tolerance, atol=tolerance * np.abs(right) + 1e-3)


@pytest.mark.parametrize("shape", [(3,), (1000,), (65, 129), (2, 3, 4, 5)])
def test_shared_by_all(m, device, tensor, shape):
    """A value that all elements share gets the sum of their gradients: a tensor of one element, a number in a pair or a view. (Feature
    A1.)"""
    x = rand(*shape)
    expected = x.sum(dtype=np.float64)
    w, pair = tensor([2.0]), spy.diffPair(2.0)
    stretched = spy.Tensor.full(device, (1,), 2.0).with_grads()
    m.times.bwds(tensor(x), w, _result=ONE)
    m.times.bwds(spy.Tensor.from_numpy(device, x), pair, _result=ONE)
    m.times.bwds(tensor(x), stretched.broadcast_to(shape), _result=ONE)
    for got in w.grad.to_numpy()[0], pair.grad, stretched.grad.to_numpy()[0]:
        assert np.isclose(got, expected, rtol=1e-5)


# >>element types

@pytest.mark.parametrize("count", [1, 7, 5000])
def test_half(device, m, count):
    """Gradients of halves are summed in float and rounded once. (Feature A1.)"""
    x = rng.uniform(0.5, 1.5, count).astype(np.float16)
    w = spy.Tensor.from_numpy(device, np.array([2], np.float16)).with_grads()
    t = spy.Tensor.from_numpy(device, x).with_grads()
    assert w.grad.dtype.name == t.grad.dtype.name == "half"
    m.times_half.bwds(t, w, _result=spy.diffPair(d=0.125))
    near(t.grad, np.full(count, 0.25))
    expected = x.astype(np.float64).sum() * 0.125
    assert abs(float(w.grad.to_numpy()[0]) - expected) <= np.spacing(np.float16(expected)) * 1.01
    near(m.times_half.fwds(t, spy.diffPair(spy.float16_t(2), spy.float16_t(1))).grad, t.to_numpy() * 1 + 2 * 0.25, 1e-2)


def test_float_gradients_of_halves(device, m):
    """A tensor of halves may have a gradient of floats. (Feature A2.)"""
    x = np.array([0.5, 1, 2], np.float16)
    w = spy.Tensor.from_numpy(device, np.array([1], np.float16)).with_grads(grad_out=spy.Tensor.zeros(device, (1,)))
    m.times_half.bwds(spy.Tensor.from_numpy(device, x).with_grads(), w, _result=spy.diffPair(d=1.0))
    assert w.grad.dtype.name == "float" and w.grad.to_numpy()[0] == 3.5


def test_double(device, m):
    """Gradients of doubles, in tensors and in pairs, have double precision. (Feature A1.)"""
    x = rng.uniform(size=200)
    t = spy.Tensor.from_numpy(device, x).with_grads()
    w = spy.diffPair(1 / 3)
    m.times_double.bwds(t, w, _result=spy.diffPair(d=1 / 7))
    near(t.grad, np.full(200, 1 / 21), 1e-14)
    assert abs(w.grad - x.sum() / 7) < 1e-12


def test_vectors(device, m, tensor):
    """Vectors, matrices and arrays have gradients, in tensors of them and in tensors of floats. (Feature A5.)"""
    v, s = rand(6, 3), rand(6)
    seed = rand(6, 3)
    for typed in True, False:
        tv = tensor(v, m.float3 if typed else None)
        ts = tensor(s)
        result = tensor(np.zeros((6, 3)), m.float3, grad_in=seed)
        m.scale.bwds(tv, ts, _result=result)
        near(tv.grad, seed * s[:, None])
        near(ts.grad, (seed * v).sum(1), 1e-4)
    near(m.length2.fwds(tensor(v, m.float3, grad_in=seed)).grad, 2 * (v * seed).sum(1), 1e-4)
    matrix, x, y = rand(4, 4), rand(9, 4), rand(9, 4)
    tm, tx = tensor(matrix, m.float4x4), tensor(x, m.float4)
    m.mulv.bwds(tm, tx, _result=tensor(np.zeros((9, 4)), m.float4, grad_in=y))
    near(tm.grad, y.T.astype(np.float64) @ x, 1e-4)
    near(tx.grad, y @ matrix, 1e-4)
    w, a = rand(3, 5), rand(3)
    tw, ta = tensor(w), tensor(a)
    m.weigh.bwds(tw, ta, _result=ONE)
    near(tw.grad, a[:, None] * np.arange(5))
    near(ta.grad, w @ np.arange(5), 1e-4)


def test_generics(m, tensor):
    """Generic functions have gradients. (Feature A1.)"""
    x = tensor([1, 2, 3])
    m.square.bwds(x, _result=ONE)
    near(x.grad, [2, 4, 6])
    v = tensor([[1, 2], [3, 4]], m.float2)
    m.twice.bwds(v, _result=spy.diffPair(d=[1.0, 10.0]))
    near(v.grad, [[2, 20], [2, 20]])


# >>structs

def light(**fields):
    values = {"color": [1.0, 2.0, 3.0], "power": 2.0, "id": 4, "inner": {"uv": [1.0, 3.0], "k": 5.0}, "off": 1.0}
    return dict(values, _type="Light", **fields)


def test_soa(m, tensor, device):
    """Nested dicts may have tensors with and without gradients, numbers and pairs. (Features C9, A5.)"""
    power, k, colors = rand(8), rand(8), rand(8, 3)
    tp, tk = tensor(power), tensor(k)
    plain = spy.Tensor.from_numpy(device, colors, dtype="float3")
    k2 = spy.diffPair(3.0)
    l = light(color=plain, power=tp, inner={"uv": [1.0, 3.0], "k": tk})
    result = m.shade(l, 2.0)
    seed = rand(8)
    m.shade.bwds(l, 2.0, _result=result.with_grads(grad_in=seed))
    mixed = colors[:, 0] + 2 * colors[:, 1]
    near(result, mixed * power * 2 + 3 * k + 1, 1e-4)
    near(tp.grad, seed * mixed * 2, 1e-4)
    near(tk.grad, seed * 3)
    uv = tensor(rand(8, 2), m.float2)
    m.shade.bwds(light(inner={"uv": uv, "k": k2}), tensor(rand(8)), _result=ONE)
    near(uv.grad, np.tile([0, 3.0], (8, 1)))
    assert np.isclose(k2.grad, uv.to_numpy()[:, 1].sum(), rtol=1e-5)


def test_aos(m, device):
    """Tensors of structs have gradients that are tensors of Slang's Differential; fields without a derivative stay as they are.
    (Features L6, A5.)"""
    records = np.zeros(4, [("color", "f4", 3), ("power", "f4"), ("id", "i4"), ("inner", [("uv", "f4", 2), ("k", "f4")]), ("off", "f4")])
    records["color"], records["power"], records["inner"]["uv"], records["inner"]["k"] = rand(4, 3), rand(4), rand(4, 2), rand(4)
    t = spy.Tensor.from_numpy(device, records, dtype=m.Light).with_grads()
    x = rand(4)
    m.shade.bwds(t, x, _result=ONE)
    got = t.grad.to_numpy(structured=True)
    mixed = records["color"][:, 0] + 2 * records["color"][:, 1]
    near(got["color"], np.outer(records["power"] * x, [1, 2, 0]), 1e-5)
    near(got["power"], mixed * x)
    near(got["inner"]["uv"], np.outer(records["inner"]["k"], [0, 1]))
    near(got["inner"]["k"], records["inner"]["uv"][:, 1])
    assert "id" not in got.dtype.names and "off" not in got.dtype.names
    again = m.shade(t, x).with_grads(grad_in=2)
    m.shade.bwds(t, x, _result=again)
    near(t.grad.to_numpy(structured=True)["power"], 3 * mixed * x, 1e-4)


def test_own_differential(m, device):
    """A struct may have a Differential that the user declares. (Feature L6.)"""
    t = spy.Tensor.from_numpy(device, np.array([(2, 3), (5, 1)], [("a", "f4"), ("n", "i4")]), dtype=m.Own).with_grads()
    assert t.grad.dtype.name == "DOwn"
    m.use_own.bwds(t, _result=ONE)
    near(t.grad.to_numpy(structured=True)["da"], [12, 10])
    filled = t.with_grads(grad_in={"da": np.array([1, 2], np.float32)})
    near(m.use_own.fwds(filled).grad, [12, 20])


def test_pair_of_dicts(m):
    """A pair may have a struct and its gradient as two dicts; fields without a gradient are constants. (Feature C9.)"""
    pair = spy.diffPair(light())
    assert pair.grad == {"color": [0.0] * 3, "power": 0.0, "id": 0.0, "inner": {"uv": [0.0] * 2, "k": 0.0}, "off": 0.0}
    pair = spy.DiffPair(light(), {"color": [0.0, 0.0, 1.0], "inner": {"k": 0.5}})
    m.shade.bwds(pair, 3.0, _result=spy.diffPair(d=2.0))
    assert pair.grad == {"color": [12.0, 24.0, 0.0], "inner": {"k": 6.0}}
    assert pair.primal == light()
    tangent = m.shade.fwds(spy.DiffPair(light(), {"power": 1.0}), 3.0)
    assert tangent.primal == 46 and tangent.grad == 15


def test_result_struct_forward(load, device):
    """In forward mode a struct's gradient is a dict or a tensor of Differentials. (Feature A3.)"""
    module = load("struct S : IDifferentiable { float a; float2 b; };"
                  "[Differentiable] S make(float x) { S s; s.a = x * x; s.b = float2(x, 3 * x); return s; }")
    one = module.make.fwds(spy.diffPair(3.0, 2.0))
    assert one.primal == {"a": 9.0, "b": spy.float2(3, 9)} and one.grad == {"a": 12.0, "b": spy.float2(2, 6)}
    many = module.make.fwds(spy.Tensor.from_numpy(device, np.array([1, 2], np.float32)).with_grads(grad_in=1))
    near(many.grad.to_numpy(structured=True)["a"], [2, 4])
    near(many.to_numpy(structured=True)["b"], [[1, 3], [2, 6]])


# >>derivatives that the user writes

@pytest.mark.parametrize("name, slope", [("custom", lambda x: 7 + 0 * x), ("own", lambda x: 5 + 0 * x),
                                         ("recomputed", lambda x: 3 * x * x), ("through", lambda x: 8 * x + 5)])
def test_custom_derivatives(m, tensor, name, slope):
    """Functions with [BackwardDerivative], [BackwardDerivativeOf] and [PreferRecompute] have gradients, also when other functions call
    them. (Feature A4.)"""
    x = rand(10)
    t = tensor(x)
    getattr(m, name).bwds(t, _result=ONE)
    near(t.grad, slope(x), 1e-4)


def test_no_diff(m, tensor):
    """no_diff parameters get no gradient, also if they are given as a pair. (Feature A4.)"""
    a, x = tensor([2, 3]), tensor([5, 7])
    m.saxpy.bwds(a, x, 1.0, _result=ONE)
    near(a.grad, [0, 0])
    near(x.grad, [2, 3])
    pair = spy.diffPair(2.0, 7.0)
    x.grad.clear()
    m.saxpy.bwds(pair, x, 1.0, _result=ONE)
    assert pair.grad == 7.0
    near(x.grad, [2, 2])
    with pytest.raises(spy.ArgumentTypeError, match="'a' is no_diff"):
        m.saxpy.fwds(spy.diffPair(2.0), x, 1.0)


# >>methods

def test_methods(m, device, tensor):
    """Gradients reach `this` given as a dict, a tensor of structs, an InstanceTensor or an InstanceList; static methods and constructors
    have gradients, too. (Feature A1.)"""
    x = rand(3)
    f, c = tensor([2, 3, 4]), tensor([1, 1, 1])
    m.Camera.project.bwds({"_type": "Camera", "f": f, "c": c}, x, _result=ONE)
    near(f.grad, x)
    near(c.grad, [1, 1, 1])
    data = spy.Tensor.from_numpy(device, np.array([(2, 1), (3, 1), (4, 1)], [("f", "f4"), ("c", "f4")]), dtype=m.Camera)
    cameras = spy.InstanceTensor(m.Camera, (3,), data.with_grads())
    cameras.project.bwds(x, _result=ONE)
    near(cameras.tensor.grad.to_numpy(structured=True)["f"], x)
    part = cameras[1:]
    part.project.bwds(x[1:].copy(), _result=spy.diffPair(d=10.0))
    near(cameras.tensor.grad.to_numpy(structured=True)["c"], [1, 11, 11])
    fields = spy.InstanceList(m.Camera, {"f": f, "c": 5.0})
    tx = tensor(x)
    fields.project.bwds(tx, _result=ONE)
    near(f.grad, 2 * x)
    near(tx.grad, [2, 3, 4])
    f.grad.clear()
    near(fields.project.fwds(tensor(x, grad_in=1)).grad, [2, 3, 4])
    assert fields.c == 5.0
    static = tensor(x)
    m.Camera.flat.bwds(static, _result=ONE)
    cameras.flat.bwds(static, _result=ONE)
    near(static.grad, [8, 8, 8])
    made = data.with_grads(grad_in={"f": np.ones(3), "c": np.full(3, 2.0)})
    f.grad.clear()
    m.Camera["__init"].bwds(f, c, _result=made)
    near(f.grad, [1, 1, 1])
    near(c.grad, [3, 3, 3])


def test_mutating_methods(m, tensor):
    """A mutating method's `this` needs both gradients; backward leaves it as it is, forward changes it. (Features A1, V12.)"""
    sums = tensor([10, 10]).detach()
    f = tensor([2, 3], grad_in=[1, 1], grad_out=sums)
    x = tensor([4, 5])
    cameras = spy.InstanceList(m.Camera, {"f": f, "c": 7.0})
    cameras.zoom.bwds(x)
    near(x.grad, [2, 3])
    near(sums, [14, 15])
    near(f, [2, 3])
    assert cameras.c == 7.0
    cameras.c = spy.Tensor.full(x.device, (2,), 7.0)
    cameras.zoom.fwds(tensor([4, 5], grad_in=1))
    near(cameras.c, [7, 7])
    near(f, [8, 15])
    near(sums, [4 + 2, 5 + 3])


# >>parameters that are written

def test_inout(m, tensor):
    """An inout tensor needs two gradients, one that is read and one that is written. (Feature A1.)"""
    y = tensor([2, 3, 4])
    x = tensor([4, 5, 6], grad_in=[1, 2, 3], grad_out=[10, 10, 10])
    assert x.grad is x.grad_out and x.grad is not x.grad_in
    m.zoom.bwds(x, y)
    near(x.grad_out, [12, 16, 22])
    near(y.grad, [4, 10, 18])
    near(x, [4, 5, 6])
    near(x.grad_in, [1, 2, 3])
    with pytest.raises(spy.ArgumentValueError, match="'x' is an inout parameter.*grad_in.*grad_out"):
        m.zoom.bwds(tensor([4, 5, 6]), y)
    pair = spy.diffPair(2.0, 5.0)
    m.zoom.bwds(pair, 3.0)
    assert pair.grad == 15.0


def test_out(m, tensor, device):
    """Gradients of out parameters in tensors and pairs are read; other values for out parameters have no effect. (Features A1, A3.)"""
    x = tensor([1, 2, 3])
    m.two.bwds(x, tensor([0, 0, 0], grad_in=[1, 10, 100]), spy.Tensor.empty(device, (3,)))
    near(x.grad, [2, 40, 600])
    pair = spy.diffPair(3.0)
    a, b = spy.DiffPair(None, 2.0), spy.diffPair(0.0, 5.0)
    m.two.bwds(pair, a, b)
    assert pair.grad == 2 * 6 + 5 * 3
    assert (a.primal, a.grad, b.primal, b.grad) == (None, 2.0, 0.0, 5.0)
    m.two.bwds(pair, spy.ValueRef(), b)
    assert pair.grad == 15
    a, b = spy.DiffPair(None, 0.0), spy.diffPair(0.0)
    assert m.two.fwds(spy.diffPair(3.0, 2.0), a, b) is None
    assert (a.primal, a.grad, b.primal, b.grad) == (9.0, 12.0, 9.0, 6.0)
    assert m.counted.fwds(spy.diffPair(3.0, 2.0), a) == 3  # an int has no gradient
    ta = tensor([0, 0, 0])
    m.two.fwds(tensor([1, 2, 3], grad_in=[1, 1, 2]), ta, spy.Tensor.empty(device, (3,)))
    near(ta, [1, 4, 9])
    near(ta.grad, [2, 4, 12])


# >>tensors that functions take whole

def test_diff_tensors(m, tensor, device):
    """DiffTensor, IDiffTensor, load_once, WDiffTensor and RWDiffTensor have gradients; tensors without gradients are constants.
    (Features L2, L3.)"""
    n = 9
    x = tensor(rand(n))
    xs = x.to_numpy().astype(np.float64)
    w = tensor([2, 3, 5])
    m.gather.bwds(w, range(n), x, _result=ONE)
    values = np.array([2, 3, 5.0])
    expected = np.zeros(3)
    for i in range(n):
        expected[i % 3] += xs[i] * 2
        expected[0] += xs[i] * values[i % 3]
    near(w.grad, expected, 1e-4)
    near(x.grad, values[np.arange(n) % 3] * 2)
    g = tensor([2, 3, 5])
    m.gather_any.bwds(g, range(n), x, _result=ONE)
    near(g.grad, [xs[i::3].sum() for i in range(3)], 1e-4)
    before = x.grad.to_numpy()
    m.gather_any.bwds(g.detach(), range(n), x, _result=ONE)
    near(x.grad.to_numpy() - before, values[np.arange(n) % 3], 1e-4)
    each = tensor(rand(n))
    m.once.bwds(each, range(n), x.detach(), _result=ONE)
    near(each.grad, xs)
    out = tensor(np.zeros(n), grad_in=np.arange(n))
    x.grad.clear()
    m.scatter.bwds(out, range(n), x)
    near(x.grad, 2 * xs * np.arange(n), 1e-4)
    both = tensor(np.full(n, 3.0), grad_in=np.ones(n), grad_out=np.zeros(n))
    m.update.bwds(both, range(n), x)
    near(both.grad_out, xs)
    near(m.gather_any.fwds(tensor([2, 3, 5], grad_in=[1, 0, 0]), range(n), x.detach()).grad, xs * (np.arange(n) % 3 == 0))


# >>chains

def test_chains(m, tensor, device):
    """bwds may come before or after map, set, constants, return_type, thread_group_size and bind. (Features F1, F2.)"""
    a, b = tensor([1, 2, 3]), tensor([10, 20])
    outer = m.times.map((0,), (1,))
    outer.bwds(a, b, _result=ONE)
    m.times.bwds.map(x=(0,), w=(1,))(x=a, w=b, _result=ONE)
    near(a.grad, [60, 60, 60])
    near(b.grad, [12, 12])
    pa, pb = spy.diffPair([1.0, 2.0, 3.0]), spy.diff_pair(np.array([10, 20], np.float32), np.zeros(2, np.float32))
    outer.bwds(pa, pb, _result=ONE)
    assert pa.grad == [30.0, 30.0, 30.0] and list(pb.grad) == [6, 6]
    x = tensor([1, 2])
    m.with_gain.constants({"gain": 5.0}).bwds(x, _result=ONE)
    m.with_gain.bwds.constants({"gain": 7.0})(x, _result=ONE)
    m.with_strength.set(strength=100).bwds(x, _result=ONE)
    m.with_strength.bwds.set({"strength": 1000}).thread_group_size(64)(x, _result=ONE)
    near(x.grad, [1112, 1112])
    v = tensor(rand(4, 3))
    m.length2.map(v="float3").bwds(v, _result=ONE)
    near(v.grad, 2 * v.to_numpy())
    camera = {"_type": "Camera", "f": 2.0, "c": 0.0}
    m.Camera.project.bind(camera).bwds(x, _result=ONE)
    near(x.grad, [1114, 1114])
    assert m.times.bwds is m.times.bwds and m.times.bwds.bwds is m.times.bwds
    assert ".bwds" in repr(m.times.bwds) and ".fwds" in repr(m.times.bwds.fwds)
    m.polynomial.return_type("numpy").bwds(2, 8, -1, x, _result=ONE)
    near(x.grad, [1114 + 12, 1114 + 16])


def test_verbs(m, tensor, device):
    """Derivatives have explain(), resolve(), time(), append_to() and _thread_count, but no dispatch(). (Feature F2.)"""
    x, r = tensor([1, 2, 3]), tensor([0, 0, 0], grad_in=1)
    text = m.times.bwds.explain(x, 3.0, _result=r)
    assert "bwd_diff(spyi_element)" in text and "x.grad" in text
    assert "fwd_diff" in m.times.fwds.explain(tensor([1, 2, 3], grad_in=1), 3.0)
    assert m.times.bwds.resolve(x, 3.0, _result=r).shape == (3,)
    near(x.grad, [0, 0, 0])
    assert m.times.bwds.time(x, 3.0, _result=r) > 0
    near(x.grad, [3, 3, 3])
    encoder = device.create_command_encoder()
    m.times.bwds.append_to(encoder, x, 3.0, _result=r)
    m.times.bwds(x, 3.0, _result=r, _append_to=encoder)
    commands = encoder.finish()
    near(x.grad, [3, 3, 3])
    for _ in range(2):
        device.submit_command_buffer(commands)
    near(x.grad, [15, 15, 15])
    w = spy.diffPair(3.0)
    m.times.bwds(2.0, w, _result=ONE, _thread_count=(4, 5))
    assert w.grad == 40
    with pytest.raises(ValueError, match="a dispatch computes no gradients"):
        m.times.bwds.dispatch(1, x, 3.0)


def test_deterministic(device, m):
    """deterministic() gives the same bits in each run, also for sums of numbers of many magnitudes. (Feature A1.)"""
    n = 1 << 17
    x = (10.0 ** rng.uniform(-6, 6, n) * rng.choice([-1, 1], n)).astype(np.float32)
    t, w = spy.Tensor.from_numpy(device, x), spy.Tensor.full(device, (1,), 1.0).with_grads()
    bits = set()
    for function in (m.times.bwds.deterministic(), m.times.deterministic(enable=True).bwds) * 5:
        w.grad.clear()
        function(t, w, _result=ONE)
        bits.add(w.grad.to_numpy().tobytes())
    assert len(bits) == 1
    wide = x.astype(np.float64)
    for function in m.times.bwds.deterministic(), m.times.bwds.deterministic().deterministic(False):
        w.grad.clear()
        function(t, w, _result=ONE)
        assert abs(w.grad.to_numpy()[0] - wide.sum()) <= 1e-5 * np.abs(wide).sum()
    d = spy.Tensor.zeros(device, (3,)).with_grads()
    with pytest.raises(spy.Error, match="'w'.*deterministic"):
        m.gather.bwds.deterministic()(d, range(3), 1.0, _result=ONE)


# >>tensors with gradients

def test_with_grads(device, tensor):
    """with_grads() makes one gradient for both directions or takes two; the tensor shares its memory, and given gradients stay as they
    are. (Feature A2.)"""
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    assert not hasattr(x, "grad") and x.grad_in is None and x.grad_out is None
    y = x.with_grads()
    assert y.grad is y.grad_in and y.grad is y.grad_out and y.grad.dtype.name == "float" and y.grad.shape == (3,)
    near(y.grad, [0, 0, 0])
    assert not hasattr(x, "grad")
    x.copy_from_numpy(np.array([4, 5, 6], np.float32))
    near(y, [4, 5, 6])
    ones = spy.Tensor.full(device, (3,), 1.0)
    z = y.with_grads(grad_in=ones)
    assert z.grad_in is ones and z.grad is ones and z.grad_out is None
    near(z.grad, [1, 1, 1])  # zero=True clears new gradients only
    both = x.with_grads(ones, ones)
    assert both.grad_in is ones and both.grad_out is ones
    other = x.with_grads(grad_out=ones, zero=False)
    assert other.grad is ones and other.grad_in is None
    d = y.detach()
    assert not hasattr(d, "grad") and type(d) is spy.Tensor
    near(d, [4, 5, 6])
    assert type(spy.NDBuffer(device, float, 3).with_grads()) is spy.NDBuffer
    assert type(spy.NDBuffer(device, float, 3).with_grads().grad) is spy.NDBuffer


@pytest.mark.parametrize("given, expected", [
    (np.array([1, 2, 3], np.float32), [1, 2, 3]), (np.array([1, 2, 3], np.float64), [1, 2, 3]), (np.array([1, 2, 3]), [1, 2, 3]),
    ([1.0, 2.0, 3.0], [1, 2, 3]), ((1, 2, 3), [1, 2, 3]), (0.5, [0.5] * 3), (2, [2] * 3), (np.arange(6, dtype=np.float32)[::2], [0, 2, 4]),
])
def test_gradients_from_numbers(tensor, given, expected):
    """Arrays, lists and numbers become new gradients. (Feature A2.)"""
    near(tensor([7, 8, 9], grad_in=given).grad_in, expected)
    near(tensor([7, 8, 9], grad_out=given).grad_out, expected)


def test_numpy_gradients_are_copies(tensor, m):
    """An array given as a gradient is copied. (Feature A2.)"""
    given = np.zeros(3, np.float32)
    x = tensor([1, 2, 3], grad_out=given)
    m.times.bwds(x, 2.0, _result=ONE)
    near(x.grad, [2, 2, 2])
    assert not given.any()


def test_views(m, tensor):
    """A view's gradients are views of the tensor's gradients. (Feature A2.)"""
    x = tensor(np.arange(12).reshape(3, 4))
    m.times.bwds(x[1], 2.0, _result=ONE)
    m.times.bwds(x[:, ::2], 10.0, _result=ONE)
    expected = np.array([[10, 0, 10, 0], [12, 2, 12, 2], [10, 0, 10, 0]])
    near(x.grad, expected)
    near(x[1].grad, expected[1])
    near(x.reshape(4, 3).grad, expected.reshape(4, 3))
    row = x[2]
    assert row.grad is row.grad_in is row.grad_out
    row.grad.copy_from_numpy(np.full(4, 5.0, np.float32))
    near(x.grad[2], [5] * 4)
    v = tensor(np.zeros((2, 3)), m.float3)
    m.times.bwds(v.flatten_dtype(), 3.0, _result=ONE)
    near(v.grad, np.full((2, 3), 3.0))
    near(v.flatten_dtype().grad, np.full((2, 3), 3.0))


def test_point_to(tensor):
    """A tensor that points to another sees its gradients. (Feature A2.)"""
    x, y = tensor([1, 2]), tensor([3, 4], grad_in=[5, 6])
    assert x.grad_out is not None
    x.point_to(y)
    near(x.grad_in, [5, 6])


def test_clear(m, tensor):
    """clear() of the gradient, also recorded, clears it; clear() of the tensor leaves the gradient. (Feature A2.)"""
    x = tensor([1, 2])
    m.times.bwds(x, 3.0, _result=ONE)
    x.clear()
    near(x.grad, [3, 3])
    x.grad.clear()
    near(x.grad, [0, 0])


def test_other_name(device, m):
    """NDDifferentiableBuffer is another name for a tensor with gradients. (Feature B5.)"""
    b = spy.NDDifferentiableBuffer(device, dtype=m.float, shape=(3,))
    assert isinstance(b, spy.NDDifferentiableBuffer) and isinstance(b, spy.NDBuffer)
    b.copy_from_numpy(np.array([1, 2, 3], np.float32))
    m.times.bwds(b, 2.0, _result=ONE)
    near(b.grad, [2, 2, 2])
    assert not hasattr(b.primal, "grad")
    near(b.primal, [1, 2, 3])
    assert spy.NDDifferentiableBuffer(device, float, 4).grad.shape == (4,)
    assert spy.NDDifferentiableBuffer(device, float, element_count=4, requires_grad=False).grad_in is None
    from slangpy.types import DiffPair, NDDifferentiableBuffer, Tensor, diffPair
    assert NDDifferentiableBuffer is spy.NDDifferentiableBuffer and DiffPair is spy.DiffPair and Tensor and diffPair
    with pytest.raises(TypeError, match="int"):
        spy.NDDifferentiableBuffer(device, int, 4)


def test_storage(device, tensor):
    """Tensor.storage is a Buffer with the bytes of the tensor's or gradient's memory. (Feature A2.)"""
    x = tensor([1, 2, 3])
    assert isinstance(x.storage, spy.Buffer) and x.storage.size == 12
    x.grad.storage.copy_from_numpy(np.array([4, 5, 6], np.float32))
    near(x.grad, [4, 5, 6])
    assert x.storage.to_numpy().view(np.float32).tolist() == [1, 2, 3]
    assert x[::2].storage is x.storage


def test_lifetime(device, m, tensor):
    """A tensor keeps its gradients alive; gradients do not keep their tensor. (Feature A2.)"""
    x = tensor([1, 2, 3])
    grad, gone = x.grad, weakref.ref(x)
    del x
    assert gone() is None
    near(grad, [0, 0, 0])
    gone = weakref.ref(grad)
    y = tensor([1, 2, 3], grad_in=grad)
    del grad
    near(y.grad, [0, 0, 0])
    del y
    assert gone() is None
    device.wait_for_idle()
    used = device.stats()["used_bytes"]
    for _ in range(50):
        t = spy.Tensor.zeros(device, (1000,)).with_grads()
        m.times.bwds(t[10:], 2.0, _result=ONE)
        t[3:].grad, t.detach(), m.times.fwds(t, 2.0).grad
    del t
    device.wait_for_idle()
    assert device.stats()["used_bytes"] <= used


# >>values with gradients

@pytest.mark.parametrize("primal, grad, expected", [
    (3.0, 0.0, 20.0), (3, 0, 20.0), (3.0, 5.0, 20.0), (np.float32(3), np.float32(1), 20.0), (3.0, None, 20.0), (True, False, 12.0),
])
def test_pair_of_numbers(m, primal, grad, expected):
    """bwds() writes the gradient of a pair of numbers, whatever value it had before. (Feature C9.)"""
    x = spy.diffPair(primal, grad)
    m.polynomial.bwds(2, 8, -1, x, _result=spy.diffPair(d=1.0))
    assert x.grad == expected and type(x.grad) is float and x.primal == primal


def test_pair_kinds(m, device):
    """A diffPair takes lists, vectors, arrays and tensors. (Feature C9.)"""
    seed = spy.diffPair(d=spy.float3(1, 2, 3))
    vector = spy.diffPair(spy.float3(1, 2, 3))
    s = spy.diffPair(2.0)
    m.scale.bwds(vector, s, _result=seed)
    assert vector.grad == spy.float3(2, 4, 6) and type(vector.grad) is spy.float3 and s.grad == 14
    ints = spy.diffPair(spy.int3(1, 2, 3), spy.int3(0, 0, 1))
    m.scale.bwds(ints, 2.0, _result=seed)
    assert ints.grad == spy.float3(2, 4, 6)
    numbers = spy.diffPair([1, 2, 3])
    m.scale.bwds(numbers, 2.0, _result=seed)
    assert numbers.grad == [2.0, 4.0, 6.0]
    many = spy.diffPair([[1, 2, 3], [4, 5, 6]])
    m.scale.bwds(many, 2.0, _result=seed)
    assert many.grad == [[2.0, 4.0, 6.0]] * 2
    matrix = spy.diffPair(spy.float4x4.identity())
    m.mulv.bwds(matrix, spy.float4(1, 2, 3, 4), _result=spy.diffPair(d=spy.float4(1, 0, 0, 0)))
    assert type(matrix.grad) is spy.float4x4 and matrix.grad[0] == spy.float4(1, 2, 3, 4) and matrix.grad[1] == spy.float4(0)
    for x in np.arange(4, dtype=np.float32), np.arange(8, dtype=np.float32)[::2]:
        grad = np.ones(len(x) * 2, np.float32)[::2]  # strided arrays are written where they lie
        m.times.bwds(spy.diff_pair(x, grad), 3.0, _result=ONE)
        assert (grad == 4).all()
    t, g = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.float32)), spy.Tensor.zeros(device, (4,))
    pair = spy.diff_pair(t, g)
    m.times.bwds(pair, 3.0, _result=ONE)
    assert pair.grad is g
    near(g, [3] * 4)
    assert spy.diffPair(t).grad.shape == (4,) and spy.diffPair(np.zeros((2, 3))).grad.shape == (2, 3)


def test_pair_of_array_and_number(m):
    """A diffPair may have one gradient for all elements, or one value with a gradient for each element. (Feature C9.)"""
    x = np.arange(1, 5, dtype=np.float32)
    w = spy.diff_pair(3.0, np.zeros(4, np.float32))
    m.times.bwds(x, w, _result=ONE)
    assert w.grad.tolist() == [1, 2, 3, 4]


def test_pairs_elsewhere(m, device):
    """A plain call takes the value of a pair; a pair for a parameter without derivative is a constant; pairs can be packed. (Feature
    C9.)"""
    x = spy.diffPair(3.0, 7.0)
    assert m.polynomial(2, 8, -1, x) == 41 and x.grad == 7.0
    ref = spy.diffPair(3.0, 7.0)
    m.zoom(ref, 2.0)
    assert ref.primal == 6.0 and ref.grad == 7.0
    out = spy.DiffPair(None, 7.0)
    m.times(2.0, 3.0, _result=out)
    assert out.primal == 6.0
    constant, other = spy.DiffPair(3.0, 7.0, needs_grad=False), spy.diff_pair(3.0, None)
    w = spy.diffPair(2.0)
    m.times.bwds(constant, w, _result=ONE)
    m.times.bwds(other, w, _result=ONE)
    assert w.grad == 3 and constant.grad == 7.0 and not constant.needs_grad and not other.needs_grad
    t, g = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.float32)), spy.Tensor.zeros(device, (4,))
    packed = spy.pack(m, spy.diff_pair(t, g))
    m.times.bwds(packed, 3.0, _result=ONE)
    near(g, [3] * 4)
    near(m.times(packed, 2.0), [0, 2, 4, 6])
    carried = spy.pack(m, t.with_grads(grad_out=g))
    m.times.bwds(carried, 3.0, _result=ONE)
    near(g, [6] * 4)
    assert spy.floatDiffPair().primal == 0.0 and spy.floatDiffPair().grad == 1.0 and spy.floatDiffPair(2, 3).grad == 3.0
    assert repr(spy.DiffPair(1.0, 2.0)) == "DiffPair(primal=1.0, grad=2.0)"


def test_forward_results(m, device, tensor):
    """In forward mode values and gradients of the result go to the given objects. (Feature A3.)"""
    x = tensor([1, 2, 3], grad_in=[1, 1, 2])
    got = m.times.fwds(x, 5.0)
    assert got.grad is got.grad_in is got.grad_out
    near(got, [5, 10, 15])
    near(got.grad, [5, 5, 10])
    arrays = m.times.fwds(x, 5.0, _result="numpy")
    assert isinstance(arrays, spy.DiffPair) and arrays.primal.tolist() == [5, 10, 15] and arrays.grad.tolist() == [5, 5, 10]
    assert m.times.fwds.return_type(np.ndarray)(x, 5.0).grad.tolist() == [5, 5, 10]
    assert type(m.times.fwds(x, 5.0, _result=spy.NDBuffer)) is spy.NDBuffer
    scalar = m.times.fwds(spy.diffPair(2.0, 1.0), spy.diffPair(3.0, 10.0))
    assert (scalar.primal, scalar.grad) == (6.0, 23.0)
    pair = spy.diffPair(0.0)
    assert m.times.fwds(spy.diffPair(2.0, 1.0), 3.0, _result=pair) is pair
    assert (pair.primal, pair.grad) == (6.0, 3.0)
    out = tensor(np.zeros(3))
    assert m.times.fwds(x, 5.0, _result=out) is out
    near(out, [5, 10, 15])
    near(out.grad, [5, 5, 10])
    values, grads = np.zeros(3, np.float32), np.zeros(3, np.float32)
    m.times.fwds(x, 5.0, _result=spy.diff_pair(values, grads))
    assert values.tolist() == [5, 10, 15] and grads.tolist() == [5, 5, 10]
    many = spy.DiffPair(None, 0.0)
    m.times.fwds(x, 5.0, _result=many)
    near(many.primal, [5, 10, 15])
    near(many.grad, [5, 5, 10])
    vector = m.scale.fwds(spy.diffPair(spy.float3(1, 2, 3), spy.float3(1, 0, 0)), 2.0)
    assert vector.primal == spy.float3(2, 4, 6) and vector.grad == spy.float3(2, 0, 0)
    encoder = device.create_command_encoder()
    m.times.fwds(x, 7.0, _result=out, _append_to=encoder)
    device.submit_command_buffer(encoder.finish())
    near(out.grad, [7, 7, 14])


# >>errors

def raises(kind, match, function, *args, **kwargs):
    with pytest.raises(kind, match=match) as info:
        function(*args, **kwargs)
    text = str(info.value)
    assert "spy_arg" not in text and "with_grad " not in text and "desc." not in text and "spy_call" not in text
    return text


def test_not_differentiable(m, tensor):
    x = tensor([1, 2, 3])
    text = raises(spy.Error, r"(?s)plain.*not differentiable.*\[Differentiable\]", m.plain.bwds, x, _result=ONE)
    assert "Slang says" in text
    raises(spy.Error, "not differentiable", m.plain.fwds, x)
    # the function has a forward derivative only
    text = raises(spy.Error, r"(?s)only_forward.*not differentiable backward: expected \[Differentiable\], \[BackwardDiff", m.only_forward.bwds, x, _result=ONE)
    assert r"got a function with [ForwardDifferentiable] or [ForwardDerivative] only: fwds() works" in text
    raises(spy.Error, r"(?s)own.*not differentiable forward: .*bwds\(\) works", m.own.fwds, x)


def test_missing_gradients(m, device, tensor):
    x, plain = tensor([1, 2, 3]), spy.Tensor.zeros(device, (3,))
    raises(ValueError, r"'_result' has no gradient.*with_grads\(\).*DiffPair", m.times.bwds, x, 1.0, _result=plain)
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=plain.with_grads(grad_out=plain.with_grads().grad))
    raises(ValueError, r"none of its outputs has a gradient.*with_grads\(\)", m.times.bwds, x, 1.0)
    raises(ValueError, "none of its inputs has a gradient", m.times.bwds, plain, 1.0, _result=ONE)
    raises(ValueError, "'_result': expected a Tensor with gradients or a DiffPair, got 'numpy'", m.times.bwds, x, 1.0, _result="numpy")
    raises(ValueError, "expected a Tensor with gradients", m.times.bwds, x, 1.0, _result=spy.Tensor)
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=spy.ValueRef())
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=np.zeros(3, np.float32))
    raises(ValueError, "none of its inputs has a gradient", m.times.fwds, 2.0, 1.0)
    raises(ValueError, "none of its outputs has a gradient", m.times.fwds, x, 1.0, _result=plain)


def test_wrong_gradients(m, device, tensor):
    x, ints = spy.Tensor.zeros(device, (3,)), spy.Tensor.zeros(device, (3,), int)
    raises(ValueError, r"argument 'grad_in'.*\(3,\).*\(4,\)", x.with_grads, spy.Tensor.zeros(device, (4,)))
    raises(TypeError, "argument 'grad_out'.*float.*int", x.with_grads, grad_out=ints)
    raises(TypeError, "Tensor.with_grads.*int.*no gradients", ints.with_grads)
    raises(ValueError, "argument 'grad_in'.*Shape mismatch", x.with_grads, np.zeros(4))
    raises(TypeError, "argument 'grad_in'.*str", x.with_grads, "a")
    raises(TypeError, "grad_typo", x.with_grads, grad_typo=1)
    small = spy.diff_pair(x, spy.Tensor.zeros(device, (4,)))
    raises(ValueError, r"times: 'x'.*\(3,\).*\(4,\)", m.times.bwds, x=small, w=1.0, _result=ONE)
    raises(ValueError, r"times: expected a gradient of the value's shape \(3,\).*\(4,\)", m.times.bwds, small, 1.0, _result=ONE)
    raises(TypeError, "'x.grad'.*float.*int", m.times.bwds, spy.diff_pair(x, ints), 1.0, _result=ONE)
    raises(TypeError, "'x.grad'.*int", m.times.bwds, spy.diff_pair(x, np.zeros(3, np.int32)), 1.0, _result=ONE)
    raises(TypeError, "'n': int has no gradient", m.times_n.bwds, x.with_grads(), spy.diffPair(3), _result=ONE)
    raises(ValueError, "Shape mismatch", m.times.bwds, x.with_grads(), 1.0, _result=spy.Tensor.zeros(device, (4,)).with_grads())
    raises(TypeError, "Lost.*no gradients.*IDifferentiable", spy.Tensor.zeros(device, (2,), m.Lost).with_grads)
    other = spy.create_device()
    try:
        raises(ValueError, "another device", x.with_grads, spy.Tensor.zeros(other, (3,)))
        raises(ValueError, "another device", m.times.bwds, spy.diff_pair(x, spy.Tensor.zeros(other, (3,))), 1.0, _result=ONE)
    finally:
        other.close()


def test_aliases(m, device, tensor):
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    raises(ValueError, "gradient 'x.grad'.*same memory as 'x'", m.times.bwds, x.with_grads(grad_out=x), 1.0, _result=ONE)
    raises(ValueError, "gradient 'x.grad'.*same memory as 'x'", m.times.bwds, spy.diff_pair(x, x[:]), 1.0, _result=ONE)
    r = tensor([0, 0, 0], grad_in=1)
    shared = x.with_grads(grad_out=r.grad)
    raises(ValueError, "same memory as '_result.grad'", m.times.bwds, shared, 1.0, _result=r)
    numbers, grad = np.ones(3, np.float32), np.zeros(4, np.float32)
    one, two = spy.diff_pair(numbers, grad[:3]), spy.diff_pair(numbers, grad[1:])
    raises(ValueError, "'x.grad' and 'w.grad'.*same host memory", m.times.bwds, one, two, _result=ONE)
    pair = spy.diffPair(3.0)
    raises(ValueError, "times: argument 'w': the DiffPair is another argument too", m.times.bwds, x=pair, w=pair, _result=ONE)
    assert pair.grad == 0.0 and not grad.any()
    near(x, [1, 2, 3])  # the failed calls have not changed x
    near(r.grad, [1, 1, 1])
    same, twice = tensor([3, 4]), spy.diff_pair(tensor([3, 4]), spy.Tensor.zeros(device, (2,)))
    m.times.bwds(same, same, _result=ONE)  # one tensor is given twice, so its gradient is added to twice
    m.times.bwds(twice, twice, _result=ONE)
    near(same.grad, [6, 8])
    near(twice.grad, [6, 8])


def test_pair_misuse(m, device):
    raises(TypeError, "DiffPair: expected a value, a gradient or both, got neither", spy.DiffPair)
    raises(TypeError, "DiffPair: expected a value and its gradient, got a DiffPair", spy.DiffPair, spy.diffPair(1.0), 1.0)
    raises(ValueError, "argument 'x': the DiffPair has no gradient", m.times.bwds, spy.DiffPair(2.0), 1.0, _result=ONE)
    raises(ValueError, "argument '_result': the DiffPair has no gradient", m.times.bwds, spy.diffPair(2.0), 1.0, _result=spy.DiffPair(1.0))
    raises(TypeError, "'x'.*in parameter", m.times.bwds, spy.DiffPair(None, 1.0), 1.0, _result=ONE)
    raises(TypeError, "argument 'x': gradient: Unsupported type.*str", m.times.bwds, x=spy.DiffPair(1.0, "a"), w=1.0, _result=ONE)
    raises(TypeError, "expected a dict for the gradient of a dict", m.shade.bwds, spy.DiffPair(light(), 1.0), 1.0, _result=ONE)
    raises(ValueError, "the gradient has a field 'typo'", m.shade.bwds, spy.DiffPair(light(), {"typo": 1.0}), 1.0, _result=ONE)
    raises(TypeError, "int has no gradient", m.shade.bwds, spy.DiffPair(light(), {"id": 1.0}), 1.0, _result=ONE)
    raises(TypeError, "'off'|no_diff|has no gradient", m.shade.bwds, spy.DiffPair(light(), {"off": 1.0}), 1.0, _result=ONE)
    x = spy.diffPair(2.0)
    del x.grad
    raises(ValueError, "the DiffPair has no gradient", m.times.bwds, x, 1.0, _result=ONE)
    assert repr(x) == "DiffPair(primal=2.0, grad=None)"
    nan = spy.diffPair(1.0)
    m.times.bwds(nan, float("nan"), _result=ONE)
    assert np.isnan(nan.grad)


def test_cycles_are_collected(m):
    """A pair that holds itself in a list, and a function bound to an object that holds the function, are collected."""
    class Holder(list):
        pass

    holder = Holder()
    pair = spy.DiffPair(holder, 1.0)
    holder.append(pair)
    bound = m.Camera.project.bind(holder)
    holder.append(bound.bwds)
    gone = weakref.ref(holder)
    del holder, pair, bound
    gc.collect()
    assert gone() is None


# >>training

def test_training_loop(device, m):
    """A training loop fits a parabola; after its first steps it takes no more memory, on the GPU and in Python, and submits rarely.
    (Feature A1.)"""
    truth = np.array([0.5, -1, 2])
    xs = np.linspace(-2, 2, 500)
    module = spy.Module.load_from_source(device, "training", """
        [Differentiable] float distance(no_diff float x, no_diff float y, float a, float b, float c)
        { float d = a * x * x + b * x + c - y; return d * d; }
        void descend(inout float value, inout float gradient, float rate) { value -= rate * gradient; gradient = 0; }""")
    x = spy.Tensor.from_numpy(device, xs.astype(np.float32))
    y = spy.Tensor.from_numpy(device, np.polyval(truth, xs).astype(np.float32))
    abc = spy.Tensor.zeros(device, (3,)).with_grads()
    a, b, c = abc[0:1], abc[1:2], abc[2:3]
    mean = spy.diffPair(d=1 / len(xs))

    def step():
        loss = module.distance(x, y, a, b, c)
        module.distance.bwds(x, y, a, b, c, _result=mean)
        module.descend(abc, abc.grad, rate=0.1)
        return loss

    for _ in range(50):
        step()
    tracemalloc.start()
    gc.collect()
    device.wait()  # what other tests let go is given back
    before, python = device.stats(), tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        step()
    gc.collect()
    device.wait()
    after, grown = device.stats(), tracemalloc.get_traced_memory()[0] - python
    tracemalloc.stop()
    for name in "plans_built", "kernels_built", "driver_allocations", "pool_bytes", "used_bytes":
        assert after[name] == before[name], name
    assert after["submits"] - before["submits"] <= 1000
    assert grown < 20000
    near(abc, truth, 1e-3)
    assert step().to_numpy().max() < 1e-5


def test_pairs_leak_nothing(m, device):
    """Calls with pairs, lists and dicts leave no objects behind. (Feature C9.)"""
    def calls():
        for _ in range(200):
            x, v = spy.diffPair(2.0), spy.diffPair([1.0, 2.0, 3.0])
            m.times.bwds(x, 3.0, _result=ONE)
            m.scale.bwds(v, x, _result=spy.diffPair(d=[1.0, 1.0, 1.0]))
            m.shade.bwds(spy.diffPair({k: v for k, v in light().items() if k in ("color", "power", "inner", "_type", "id", "off")},
                                      {"power": 0.0}), 1.0, _result=ONE)
            m.times.fwds(x, 3.0)
            with pytest.raises(TypeError):
                m.times.bwds(spy.DiffPair(1.0, "a"), 1.0, _result=ONE)

    calls()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    calls()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20000


def test_threads(m, device):
    """Several threads make backward calls into one gradient. (Feature D6.)"""
    w = spy.Tensor.full(device, (1,), 1.0).with_grads()
    x = spy.Tensor.full(device, (100,), 1.0)
    errors = []

    def work():
        try:
            for _ in range(50):
                m.times.bwds(x, w, _result=ONE)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    near(w.grad, [20000])


def test_reload(load, device):
    """After a reload derivatives are those of the new text. (Feature M7.)"""
    module = load("[Differentiable] float f(float x) { return 2 * x; }")
    bwds, x = module.f.bwds, spy.Tensor.zeros(device, (2,)).with_grads()
    bwds(x, _result=ONE)
    module.reload("[Differentiable] float f(float x) { return 30 * x; }")
    bwds(x, _result=ONE)
    near(x.grad, [32, 32])


PAIRS = """
float held(DifferentialPair<float> x, float s) { return x.p * s + x.d; }
void advance(inout DifferentialPair<float> x, float s) { x = diffPair(x.p * s, x.d + s); }
struct Lamp : IDifferentiable { float3 color; float power; int id; };
float of_lamp(DifferentialPair<Lamp> l) { return l.p.color.y * l.d.color.y + l.d.power + l.p.id; }
float plain(float x) { return x * 2; }
"""


def test_pair_parameters(device, load):
    """A DifferentialPair<T> parameter takes a DiffPair, a tensor with gradients, or a dict. (Feature B5.)"""
    m = load(PAIRS)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([10, 20, 30], np.float32))
    assert m.held(x, 2.0, _result="numpy").tolist() == [12, 24, 36]
    other = spy.Tensor.from_numpy(device, np.array([4, 5, 6], np.float32))
    assert m.held(spy.DiffPair(x, other), 2.0, _result="numpy").tolist() == [6, 9, 12]
    assert m.held(spy.DiffPair(np.array([1, 2], np.float32), np.array([3, 4], np.float32)), 2.0, _result="numpy").tolist() == [5, 8]
    assert m.held(spy.DiffPair(3.0, 4.0), 2.0) == 10
    assert m.held({"p": 3.0, "d": 4.0}, 2.0) == 10
    assert m.held({"primal": 3.0, "grad": 4.0}, 2.0) == 10
    assert m.held({"p": x, "d": 0.5}, 2.0, _result="numpy").tolist() == [2.5, 4.5, 6.5]
    m.advance(x, 2.0)
    assert x.to_numpy().tolist() == [2, 4, 6] and x.grad_out.to_numpy().tolist() == [12, 22, 32]
    assert m.of_lamp({"p": {"color": [1, 2, 3], "power": 1, "id": 2}, "d": {"color": [4, 5, 6], "power": 7}}) == 19
    assert m.plain(spy.DiffPair(3.0, 4.0)) == 6
    with pytest.raises(TypeError, match=r"'x'.*DifferentialPair<float>.*float number.*DiffPair"):
        m.held(3.0, 2.0)
    with pytest.raises(TypeError, match=r"'x'.*DifferentialPair<float>.*float tensor \(3,\)"):
        m.held(other, 2.0)


PAIRS_INSIDE = """
struct Lamp : IDifferentiable { float3 color; float power; int id; };
struct Mixed { DifferentialPair<float> p; float3 k; float sum() { return p.p * 10 + p.d; } };
struct Outer { Mixed m; DifferentialPair<Lamp> l; DifferentialPair<float> q[2]; };
float of_mixed(Mixed m) { return m.sum() + m.k.y; }
void scale_mixed(inout Mixed m, float s) { m.p = diffPair(m.p.p * s, m.p.d + s); m.k *= s; }
float of_outer(Outer o) { return of_mixed(o.m) + 100 * o.l.d.power + 1000 * o.l.p.color.y + 10000 * o.q[1].d; }
int size<T : IDifferentiable>(DifferentialPair<T> p) { return sizeof(T); }
float dot_all<let N : int>(DifferentialPair<vector<float, N>> p) { return dot(p.p, p.d); }
"""


def test_pairs_in_structs(device, load):
    """A field DifferentialPair<T> of a struct takes nested dicts of pairs, dicts, and tensors with gradients. (Feature B5.)"""
    m = load(PAIRS_INSIDE)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([4, 5, 6], np.float32))
    k = spy.Tensor.from_numpy(device, np.arange(9, dtype=np.float32).reshape(3, 3))
    assert m.of_mixed({"p": spy.DiffPair(3.0, 4.0), "k": [5, 6, 7]}) == 40
    assert m.of_mixed({"p": {"primal": 3.0, "grad": 4.0}, "k": spy.float3(5, 6, 7)}) == 40
    assert m.of_mixed({"p": {"d": 3.0, "p": 4.0}, "k": [5, 6, 7]}) == 49
    assert m.of_mixed({"p": x, "k": k}, _result="numpy").tolist() == [15, 29, 43]
    assert m.Mixed.sum({"p": spy.DiffPair(3.0, 4.0), "k": [5, 6, 7]}) == 34
    lamp = {"p": {"color": [1, 2, 3], "power": 1, "id": 2}, "d": {"color": [4, 5, 6], "power": 7}}
    outer = {"m": {"p": x, "k": k}, "l": lamp, "q": [spy.DiffPair(1.0, 2.0), {"p": 3.0, "d": 4.0}]}
    assert m.of_outer(outer, _result="numpy").tolist() == [42715, 42729, 42743]
    m.scale_mixed({"p": x, "k": k}, 2.0)
    assert x.to_numpy().tolist() == [2, 4, 6] and x.grad_out.to_numpy().tolist() == [6, 7, 8]
    assert k.to_numpy()[2].tolist() == [12, 14, 16]
    with pytest.raises(TypeError, match=r"'m.p'.*DifferentialPair<float>.*float number.*DiffPair"):
        m.of_mixed({"p": 3.0, "k": [5, 6, 7]})
    with pytest.raises(Exception, match=r"'Mixed'.*DifferentialPair.*give its fields one by one"):
        spy.Tensor.empty(device, (3,), m.Mixed)


def test_generic_pairs(device, load):
    """The T of a DifferentialPair<T> parameter comes from the argument, as other generic parameters do. (Feature B5.)"""
    m = load(PAIRS_INSIDE)
    x = spy.Tensor.from_numpy(device, np.array([[1, 2, 3]] * 2, np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([[4, 5, 6]] * 2, np.float32))
    assert m.size(spy.DiffPair(3.0, 4.0)) == 4
    assert m.size({"primal": spy.float3(1, 2, 3), "grad": spy.float3(1, 2, 3)}) == 12
    assert m.size({"p": 1.0, "d": 2.0}) == 4
    assert m.size(x, _result="numpy").tolist() == [[4] * 3] * 2
    assert m.dot_all(x, _result="numpy").tolist() == [32, 32]
    assert m["size<float3>"](x, _result="numpy").tolist() == [12, 12]
    with pytest.raises(TypeError, match=r"'p'.*DifferentialPair<T>.*float number.*DiffPair"):
        m.size(3.0)
    with pytest.raises(TypeError, match=r"'p'.*DifferentialPair<T>.*size<float>"):
        m.size(spy.DiffPair(3, 4))


def test_nested_kinds_in_imports(device, tmp_path):
    """A call of a function with only the other kind of derivative, in an imported module, is refused by name in each mode. (Feature C9.)"""
    (tmp_path / "nested_parts.slang").write_text("""
public [ForwardDifferentiable] void forward_only(float x, out float y) { y = x * x; }
public void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }
public [BackwardDerivative(by5)] void backward_only(float x, out float y) { y = x * x; }
public [Differentiable] float deep(float x) { float y; forward_only(x, y); return y; }
""")
    (tmp_path / "nested_main.slang").write_text("""
import nested_parts;
[Differentiable] float f(float x) { float y; forward_only(x, y); return y; }
[Differentiable] float b(float x) { float y; backward_only(x, y); return y; }
[Differentiable] float d(float x) { return deep(x); }
""")
    m = spy.Module.load_from_file(device, str(tmp_path / "nested_main.slang"))
    x = spy.Tensor.from_numpy(device, np.array([3.0], np.float32)).with_grads(zero=True)
    for name, caller in (("f", "f"), ("d", "deep")):
        with pytest.raises(Exception, match="'{}' calls 'forward_only', which is differentiable forward only".format(caller)) as e:
            m[name].bwds(x, _result=spy.diffPair(d=1.0))
        assert "fwds() works" in str(e.value)
    m.b.bwds(x, _result=spy.diffPair(d=1.0))
    assert list(x.grad.to_numpy()) == [5]
    with pytest.raises(Exception, match="'b' calls 'backward_only', which is differentiable backward only"):
        m.b.fwds(x, _result=spy.Tensor.from_numpy(device, np.zeros(1, np.float32)).with_grads(zero=True))
