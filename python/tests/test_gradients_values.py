"""Gradients of functions of all element types, of structs, and by derivatives that the user writes. Features A1, A3-A5, B5."""
import numpy as np
import pytest

import slangpy as spy
from gradients_module import ONE, light, m, near, rand, rng, tensor  # noqa: F401: fixtures

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_gradients_*.c have the same subject

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
