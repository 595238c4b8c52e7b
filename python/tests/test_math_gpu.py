"""Value types as arguments and results of GPU calls (C4), and slangpy.math against Slang's own functions (Y6)."""

import numpy as np
import pytest

import slangpy as spy

VECTORS = [f"{name}{n}" for name in ("bool", "int", "uint", "float", "float16_t") for n in range(1, 5)]
MATRICES = [f"float{r}x{c}" for r in range(2, 5) for c in range(2, 5)]
TYPES = VECTORS + MATRICES + ["float16_t"]


def slang(name):
    return name if "x" in name or name == "float16_t" else f"vector<{name[:-1]}, {name[-1]}>"


def a_value(name):
    if name == "float16_t":
        return spy.float16_t(1.5)
    cls = getattr(spy, name)
    random = np.random.default_rng(list(name.encode()))
    data = random.integers(0, 2 if name.startswith("bool") else 40, cls().shape)
    return cls(data.astype(np.asarray(cls()).dtype))


@pytest.fixture(scope="module")
def module(load):
    return load(
        "\n".join(f"{slang(name)} same_{name}({slang(name)} x) {{ return x; }}" for name in TYPES)
        + "\n"
        + "\n".join(f"{slang(name)} twice_{name}({slang(name)} x) {{ return x + x; }}" for name in TYPES if "bool" not in name)
        + """
        float3 mul_mv(float3x4 m, float4 v) { return mul(m, v); }
        float4 mul_vm(float3 v, float3x4 m) { return mul(v, m); }
        float2x4 mul_mm(float2x3 a, float3x4 b) { return mul(a, b); }
        float4x4 inverse_rows(float4x4 m) { return transpose(m); }
        float det(float3x3 m) { return determinant(m); }
        float4 keep(float4 q) { return q; }
        int3 divide(int3 a, int3 b) { return a / b; }
        float3 f_lerp(float3 a, float3 b, float3 s) { return lerp(a, b, s); }
        float3 f_cross(float3 a, float3 b) { return cross(a, b); }
        float3 f_normalize(float3 a) { return normalize(a); }
        float3 f_reflect(float3 a, float3 b) { return reflect(a, b); }
        float3 f_refract(float3 a, float3 b, float eta) { return refract(a, b, eta); }
        float3 f_smoothstep(float3 a, float3 b, float3 x) { return smoothstep(a, b, x); }
        float3 f_fmod(float3 a, float3 b) { return fmod(a, b); }
        float3 f_step(float3 a, float3 b) { return step(b, a); } // the host has SlangPy's order
        float3 f_frac(float3 a) { return frac(a); }
        float3 f_clamp(float3 a, float3 b, float3 c) { return clamp(a, b, c); }
        float f_dot(float3 a, float3 b) { return dot(a, b); }
        uint3 f_asuint(float3 a) { return asuint(a); }
        """
    )


@pytest.mark.parametrize("name", TYPES)
def test_round_trip(module, name):
    value = a_value(name)
    result = getattr(module, f"same_{name}")(value)
    if name == "float16_t":
        assert float(result) == float(value)
        return
    wide = type(value) if "float16_t" not in name else getattr(spy, "float" + name[-1])  # a half3 comes back as a float3
    assert type(result) is wide and np.array_equal(np.array(result), np.array(value))


@pytest.mark.parametrize("name", [name for name in TYPES if "bool" not in name])
def test_arithmetic_on_the_gpu(module, name):
    value = a_value(name)
    result = getattr(module, f"twice_{name}")(value)
    assert np.array_equal(np.ravel(result), np.ravel(value + value))


def test_matrix_convention(module):
    m = spy.float3x4(np.arange(12.0).reshape(3, 4))
    a = spy.float2x3(np.arange(6.0).reshape(2, 3))
    v3, v4 = spy.float3(1, -2, 3), spy.float4(1, 2, -3, 4)
    assert module.mul_mv(m, v4) == m @ v4
    assert module.mul_vm(v3, m) == spy.math.mul(v3, m)
    assert module.mul_mm(a, m) == a @ m
    big = spy.float4x4(np.arange(16.0).reshape(4, 4))
    assert module.inverse_rows(big) == spy.math.transpose(big)
    square = spy.float3x3([[2, 1, 0], [1, 3, 1], [0, -1, 4]])
    assert module.det(square) == pytest.approx(spy.math.determinant(square), rel=1e-6)


def test_quaternion_is_a_float4(module):
    q = spy.math.quat_from_angle_axis(1, [1, 2, 3])
    assert list(module.keep(q)) == list(q)


def test_integer_division_is_slangs(module):
    a, b = spy.int3(7, -7, 9), spy.int3(2, 2, -4)
    assert module.divide(a, b) == a / b


@pytest.mark.parametrize(
    "name,args",
    [
        ("lerp", ((1, 2, 3), (4, -5, 6), (0.25, 0.5, 0.75))),
        ("cross", ((1, 2, 3), (4, -5, 6))),
        ("normalize", ((1, 2, 3),)),
        ("reflect", ((1, -2, 3), (0, 0.6, 0.8))),
        ("refract", ((0.6, -0.8, 0), (0, 1, 0), 0.7)),
        ("refract", ((0.6, -0.8, 0), (0, 1, 0), 5.0)),
        ("smoothstep", ((0, 0, 0), (1, 2, 4), (0.5, 3, -1))),
        ("fmod", ((5.5, -5.5, 7), (2, 2, -3))),
        ("step", ((1, 2, 3), (1, 1, 4))),
        ("frac", ((1.25, -1.25, 3),)),
        ("clamp", ((-1, 0.5, 9), (0, 0, 0), (1, 1, 1))),
        ("dot", ((1, 2, 3), (4, -5, 6))),
        ("asuint", ((1, -2.5, 1e-3),)),
    ],
)
def test_functions_are_slangs(module, name, args):
    args = [spy.float3(a) if isinstance(a, tuple) else a for a in args]
    ours, theirs = getattr(spy.math, name)(*args), getattr(module, f"f_{name}")(*args)
    np.testing.assert_allclose(np.array(ours, np.float64), np.array(theirs, np.float64), rtol=1e-5, atol=1e-6)


def test_wrong_vector_is_named(module):
    with pytest.raises((TypeError, ValueError, spy.Error), match="float"):
        module.f_cross(spy.float2(1, 2), spy.float3(1, 2, 3))
