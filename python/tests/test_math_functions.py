"""The functions of slangpy.math by component and of whole vectors, and the module itself."""
import inspect
import math

import numpy as np
import pytest

import slangpy as spy
from math_values import FLOATS, MATRICES, NUMERIC, VECTORS, kind, same, values

# ---- functions by component ----

ONE = {
    "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees, "exp": np.exp, "exp2": np.exp2,
    "floor": np.floor, "frac": lambda x: x - np.floor(x), "radians": np.radians, "rcp": lambda x: 1 / x, "round": np.round,
    "saturate": lambda x: np.clip(x, 0, 1), "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc, "atan": np.arctan, "asin": lambda x: np.arcsin(x), "acos": lambda x: np.arccos(x), "log": np.log,
    "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("name", ["float1", "float3", "float4", "float16_t2", "float2x3"])
@pytest.mark.parametrize("function", ONE)
def test_functions_of_one(function, name):
    cls, dtype, _ = kind(name)
    x = values(name, positive=function in ("log", "log2", "log10", "sqrt", "rsqrt")) / dtype(8)
    if function in ("asin", "acos"):
        x = np.clip(x, -1, 1)
    with np.errstate(over="ignore"):
        expected = ONE[function](x.astype(np.float64)).astype(dtype)
    result = getattr(spy.math, function)(cls(x))
    assert type(result) is cls
    same(result, expected.astype(np.float64), 1e-6 if dtype is np.float32 else 1e-3)
    number = float(x.flat[0])
    assert getattr(spy.math, function)(number) == pytest.approx(float(ONE[function](number)), rel=1e-14)


TWO = {
    "atan2": np.arctan2, "fmod": np.fmod, "max": np.maximum, "min": np.minimum, "pow": np.power, "step": lambda x, edge: (x >= edge) * 1.0,
}  # fmt: skip


@pytest.mark.parametrize("function", TWO)
def test_functions_of_two(function):
    a, b = values("float4", 1, positive=True), values("float4", 2, positive=True)
    f = getattr(spy.math, function)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same(f(spy.float4(a), spy.float4(b)), TWO[function](wide_a, wide_b))
    same(f(spy.float4(a), 2.5), TWO[function](wide_a, 2.5))
    same(f(2, spy.float4(b)), TWO[function](2.0, wide_b))
    assert f(2.5, 1.5) == pytest.approx(TWO[function](2.5, 1.5))
    with pytest.raises(TypeError, match=f"math.{function}: argument"):
        f(spy.float4(a), spy.float3())
    with pytest.raises(TypeError, match=f"math.{function}: argument"):
        f(spy.float4(a), "x")


def test_functions_of_three():
    x, y, s = values("float3", 1), values("float3", 2), np.float32([0.25, 0.5, 0.75])
    m = spy.math
    same(m.lerp(spy.float3(x), spy.float3(y), 0.25), x + 0.25 * (y - x))
    same(m.lerp(spy.float3(x), y=spy.float3(y), s=spy.float3(s)), x + s * (y - x))
    same(m.clamp(spy.float3(x), -1, 2), np.clip(x, -1, 2))
    same(m.clamp(spy.float3(x), spy.float3(-1), spy.float3(2)), np.clip(x, -1, 2))
    t = np.clip((x + 4) / 8, 0, 1)
    same(m.smoothstep(-4, 4, spy.float3(x)), t * t * (3 - 2 * t))
    assert m.clamp(5, 0, 3) == 3 and type(m.clamp(5, 0, 3)) is int and m.lerp(1, 3, 0.5) == 2
    assert m.lerp(spy.quatf(0, 0, 0, 1), spy.quatf(1, 0, 0, 0), 0.5) == spy.quatf(0.5, 0, 0, 0.5)


def test_functions_of_integers():
    m = spy.math
    assert m.min(spy.int3(1, 5, 3), spy.int3(4, 2, 3)) == spy.int3(1, 2, 3)
    assert m.max(spy.uint2(1, 5), 3) == spy.uint2(3, 5)
    assert m.abs(spy.int2(-3, 3)) == spy.int2(3) and m.sign(spy.int3(-5, 0, 5)) == spy.int3(-1, 0, 1)
    assert m.abs(-3) == 3 and type(m.abs(-3)) is int and type(m.min(1, 2.5)) is float
    with pytest.raises(TypeError, match="math.sin: argument 'x': expected a float vector"):
        m.sin(spy.bool3())
    assert m.min(spy.int3(1, 2, 3), 1.5) == spy.float3(1, 1.5, 1.5)
    assert m.min(spy.bool2(True, False), spy.bool2(True)) == spy.bool2(True, False)
    with pytest.raises(TypeError):
        m.abs(spy.bool3())


def test_float_classes():
    x = spy.float4(1, math.inf, -math.inf, math.nan)
    assert list(spy.math.isfinite(x)) == [True, False, False, False]
    assert list(spy.math.isinf(x)) == [False, True, True, False]
    assert list(spy.math.isnan(x)) == [False, False, False, True]
    assert spy.math.isnan(math.nan) is True and spy.math.isinf(1.0) is False


@pytest.mark.parametrize("function", sorted(n for n in dir(spy.math) if not n.startswith("_") and not isinstance(getattr(spy.math, n), type)))
def test_every_function_is_described_and_checks_its_arguments(function):
    f = getattr(spy.math, function)
    parameters = inspect.signature(f).parameters
    required = [p.name for p in parameters.values() if p.default is p.empty]
    assert f.__doc__ and f.__name__ == function and f.__module__ == "slangpy.math"
    with pytest.raises(TypeError, match=f"math.{function}: Parameter '{required[0]}' not specified"):
        f()
    with pytest.raises(TypeError, match=f"math.{function}: Too many arguments: expected {len(parameters)}, got {len(parameters) + 1}"):
        f(*[1] * (len(parameters) + 1))
    with pytest.raises(TypeError, match=f"math.{function}: No parameter named 'nothing'"):
        f(nothing=1)
    with pytest.raises(TypeError, match="specified multiple times"):
        f(1, **{required[0]: 1})
    with pytest.raises((TypeError, ValueError)):
        f(*["a"] * len(required))


# ---- algebra ----


@pytest.mark.parametrize("name", NUMERIC)
def test_dot(name):
    cls, dtype, (n,) = kind(name)
    a, b = values(name, 1), values(name, 2)
    expected = float(a.astype(np.float64) @ b.astype(np.float64))
    result = spy.math.dot(cls(a), cls(b))
    assert result == pytest.approx(expected) and type(result) is cls().element_type


@pytest.mark.parametrize("name", ["float3", "int3", "float16_t3"])
def test_cross(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    same(spy.math.cross(cls(a), cls(b)), np.cross(a.astype(np.float64), b.astype(np.float64)).astype(dtype).astype(np.float64))
    with pytest.raises(TypeError, match="3 components"):
        spy.math.cross(spy.float2(), spy.float2())


@pytest.mark.parametrize("seed", range(20))
def test_products_of_large_integers(seed):
    random = np.random.default_rng(seed)
    a = [int(x) for x in random.integers(-(2**31), 2**31, 3)]
    b = [x + int(d) for x, d in zip(a, random.integers(0, 3, 3))] if max(a) < 2**31 - 3 else a
    expected = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]  # Python computes these integers exactly
    if all(-(2**31) <= x < 2**31 for x in expected):
        assert list(spy.math.cross(spy.int3(a), spy.int3(b))) == expected
    else:
        with pytest.raises(OverflowError, match="int3"):
            spy.math.cross(spy.int3(a), spy.int3(b))
    p, q = 2**31 - 1 - seed, 2**30 + 12345 * seed  # two large products whose sum is q
    assert spy.math.dot(spy.int2(p, q), spy.int2(q, -p + 1)) == p * q + q * (1 - p)
    with pytest.raises(OverflowError, match="uint2"):
        spy.math.dot(spy.uint2(p), spy.uint2(q))


@pytest.mark.parametrize("name", FLOATS)
def test_lengths(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1).astype(np.float64), values(name, 2).astype(np.float64)
    tolerance = 1e-6 if dtype is np.float32 else 2e-3
    assert spy.math.length(cls(a)) == pytest.approx(np.linalg.norm(a), rel=1e-12)
    assert spy.math.distance(cls(a), cls(b)) == pytest.approx(np.linalg.norm(a - b), rel=1e-12)
    same(spy.math.normalize(cls(a)), a / np.linalg.norm(a), tolerance)
    assert np.isnan(np.array(spy.math.normalize(cls()))).all()


def test_reflect_and_refract():
    i, n = np.array([3.0, -4.0, 1.0]), np.array([0.0, 0.6, 0.8])
    same(spy.math.reflect(spy.float3(i), spy.float3(n)), i - 2 * (i @ n) * n)
    direction = np.array([math.sin(0.5), -math.cos(0.5), 0])
    out = spy.math.refract(spy.float3(direction), spy.float3(0, 1, 0), 1 / 1.5)
    same(out, [math.sin(0.5) / 1.5, -math.cos(math.asin(math.sin(0.5) / 1.5)), 0])
    assert spy.math.refract(spy.float3(direction), spy.float3(0, 1, 0), 3.0) == spy.float3(0)


def test_all_and_any():
    m = spy.math
    assert m.all(spy.bool3(True)) is True and m.all(spy.bool3(True, True, False)) is False
    assert m.any(spy.bool3(False, True, False)) is True and m.any(spy.bool3()) is False
    assert m.all(spy.float2(1, 2)) and not m.all(spy.float2(1, 0)) and m.any(m.ne(spy.float3(1), spy.float3(1, 2, 1)))
    with pytest.raises(TypeError, match="math.all"):
        m.all(True)


def test_bits():
    data = np.array([1.5, -2.0, 1e-40], np.float32)
    m = spy.math
    assert np.array_equal(np.array(m.asuint(spy.float3(data))), data.view(np.uint32))
    assert np.array_equal(np.array(m.asint(spy.float3(data))), data.view(np.int32))
    assert np.array_equal(np.array(m.asfloat(m.asint(spy.float3(data)))), data)
    assert m.asuint(1.0) == 0x3F800000 and m.asfloat(0x3F800000) == 1.0 and m.asuint(-1) == 0xFFFFFFFF and m.asint(0xFFFFFFFF) == -1
    for bad in (2**32, -(2**31) - 1):
        with pytest.raises(OverflowError):
            m.asfloat(bad)
    assert m.asuint(spy.float16_t2(1)) == m.asuint(spy.float2(1))


# ---- the module ----


def test_module():
    import slangpy.math

    assert slangpy.math is spy.math
    from slangpy.math import float3

    assert float3 is spy.float3 and spy.math.quatf is spy.quatf
    assert spy.float3.__module__ == "slangpy" and spy.float3.__name__ == "float3"
    for name in VECTORS + MATRICES + ["quatf", "float16_t"]:
        assert getattr(spy.math, name) is getattr(spy, name) and getattr(spy, name).__doc__
