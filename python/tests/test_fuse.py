"""slangpy.fuse makes one Slang function of a Python function over Slang functions (issue 20, item 3; docs/fuse.md). SPY_TEST_SIZE=soak
makes 2,000 random graphs, otherwise 10 are made; SPY_FUSE_GRAPHS sets another number, and SPY_TEST_SEED the first seed."""
import gc
import os

import fuse_graphs
import numpy as np
import pytest

import slangpy as spy
from conftest import EVERY

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_fuse.c has the same subject

SOURCE = """
struct Light : IDifferentiable
{
    float3 color;
    float power;
    [Differentiable] float3 shine(float k) { return color * power * k; }
    static float unit() { return 2; }
    [mutating] void brighten(float k) { power *= k; }
};
enum Kind { Soft = 1, Hard = 2 };
[Differentiable] float3 sample_texture(float2 uv) { return float3(uv, uv.x * uv.y); }
[Differentiable] float3 tone_map(float3 color, float filmic, float saturation) { return color * filmic + saturation; }
[Differentiable] float luminance(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
[Differentiable] float square(float x) { return x * x; }
[Differentiable] float square(float x, float y) { return x * y; }
[Differentiable] float3 tint(float3 c, float s = 2, float o = 1) { return c * s + o; }
[Differentiable] void split(float3 c, out float a, out float2 b) { a = c.x; b = c.yz; }
[Differentiable] float both(float3 c, inout float k) { k = k * 2; return c.x + k; }
float noise(float a) { return frac(sin(a) * 43.5); }
int count(int a, int b) { return a * 10 + b; }
Light lit(float3 c) { Light l; l.color = c; l.power = 3; return l; }
__generic<T : __BuiltinFloatingPointType> [Differentiable] T twice(T x) { return x + x; }
half halved(half x) { return x / half(2); }
double precise(double x) { return x + 1.0; }
uint bits(uint a) { return a ^ 5; }
void nothing(float x) {}
float3 noise3(float3 noise3) { return noise3; }
float summed(float a[4]) { return a[0] + a[1] + a[2] + a[3]; }
float[4] spread(float a) { float b[4]; for (int i = 0; i < 4; i++) b[i] = a * i; return b; }
float2x2 turn(float a) { return float2x2(a, 1, 2, 3); }
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "fuse_functions", SOURCE)


@pytest.fixture(scope="module")
def x(device):
    return spy.Tensor.from_numpy(device, X)


X = np.random.default_rng(1).uniform(0.1, 2, (12, 7, 3)).astype(np.float32)


def run(m, fn, *args, **types):
    return spy.fuse(fn, types=types, module=m)(*args)


# >>random graphs

COUNT = int(os.environ.get("SPY_FUSE_GRAPHS") or (2000 if os.environ.get("SPY_TEST_SIZE") == "soak" else 30 if EVERY else 10))
BATCH = 10


@pytest.mark.parametrize("batch", range((COUNT + BATCH - 1) // BATCH))
def test_random_graphs(device, batch):
    """Random graphs have the same values and gradients fused, unfused and in numpy with dual numbers."""
    module = spy.Module.load_from_source(device, "fuse_graphs", fuse_graphs.SOURCE)
    table = fuse_graphs.steps(module)
    first = int(os.environ.get("SPY_TEST_SEED", "0")) + batch * BATCH
    for seed in range(first, first + BATCH):
        fuse_graphs.check(seed, device, module, table)
    gc.collect()


def test_the_graphs_have_all_steps(device):
    import random

    module = spy.Module.load_from_source(device, "fuse_graphs", fuse_graphs.SOURCE)
    table = fuse_graphs.steps(module)
    seen = {name for seed in range(200) for name, _ in fuse_graphs.Graph(random.Random(seed), table).steps}
    assert seen == set(table)


# >>the blocks of api-review.md

def test_api_review_first_block(device, m):
    """The first code block of the proposal's chapter "Fusion" as printed. `fuse` is spy.fuse, bare names are the module's, and this file
    defines make_buffer_of_float2s."""
    fuse, tone_map, sample_texture = spy.fuse, m.tone_map, m.sample_texture
    uv = np.random.rand(20, 2).astype(np.float32)

    def make_buffer_of_float2s():
        return spy.Tensor.from_numpy(device, uv)

    # Define a Python function
    def tone_map_sample_func(uv):
        return tone_map(sample_texture(uv), 1, 0.5)

    # Create a fused version of the function
    tone_map_sample = fuse(tone_map_sample_func)

    # The fused function can be called as normal
    buffer = make_buffer_of_float2s()
    results = tone_map_sample(buffer)
    wanted = np.stack([uv[:, 0], uv[:, 1], uv[:, 0] * uv[:, 1]], 1) + 0.5
    assert np.allclose(results.to_numpy().reshape(20, 3), wanted, atol=1e-6)
    assert tone_map_sample.explain(buffer).count(" kernel") == 1


def test_api_review_second_block(device, m):
    """The proposal's block with constructors as printed; `float2` is the module's."""
    fuse, tone_map, sample_texture, float2 = spy.fuse, m.tone_map, m.sample_texture, m.float2
    uv = np.random.rand(2, 20).astype(np.float32)

    def make_buffer_of_floats(values):
        return spy.Tensor.from_numpy(device, values)

    def tone_map_sample_func(u, v):
        return tone_map(sample_texture(float2(u, v)), 1, 0.5)

    # Create a fused version of the function
    tone_map_sample = fuse(tone_map_sample_func)

    # Call it as usual
    ubuffer = make_buffer_of_floats(uv[0])
    vbuffer = make_buffer_of_floats(uv[1])
    results = tone_map_sample(ubuffer, vbuffer)
    wanted = np.stack([uv[0], uv[1], uv[0] * uv[1]], 1) + 0.5
    assert np.allclose(results.to_numpy().reshape(20, 3), wanted, atol=1e-6)


# >>what a trace takes

def test_text_is_readable(m):
    def tone(uv, power):
        color = m.sample_texture(uv) * power
        return m.tone_map(color, 1, saturation=0.5)

    assert spy.fuse(tone, types={"power": "float"}).text == """\
// tone: 2 calls in one function, written by spy_fuse_end().
import fuse_functions;

[Differentiable]
float3 tone(float2 uv, float power)
{
    let t1 = sample_texture(uv);
    let t2 = tone_map((t1 * float3(power)), 1.0f, 0.5f);
    return t2;
}
"""


def test_is_an_ordinary_function(device, m, x):
    """A fused function has map(), dispatch, explain(), time(), lists, numpy in and out, keywords, bwds() and fwds()."""
    @spy.fuse
    def bright(c, s):
        return m.luminance(m.tint(c, s))

    want = (X * 3 + 1) @ np.array([0.25, 0.5, 0.25])
    assert np.allclose(bright(x, 3).to_numpy(), want, atol=1e-5)
    assert np.allclose(bright(c=x, s=3.0, _result="numpy"), want, atol=1e-5)
    assert np.allclose(bright(X, 3.0).to_numpy() if hasattr(bright(X, 3.0), "to_numpy") else bright(X, 3.0), want, atol=1e-5)
    assert bright(spy.float3(1, 2, 3), 1) == pytest.approx(3.0)
    scales = np.array([1, 2], np.float32)
    outer = bright.map((0, 1), (2,))(x, scales)
    assert np.allclose(outer.to_numpy() if hasattr(outer, "to_numpy") else outer, (X[:, :, None] * scales[:, None] + 1) @ np.array([0.25, 0.5, 0.25]), atol=1e-5)
    assert "fuses tint, luminance" in bright.explain(x, 3)
    assert bright.time(x, 3) >= 0
    encoder = device.create_command_encoder()
    out = spy.Tensor.empty(device, shape=(12, 7), dtype="float")
    bright.append_to(encoder, x, 2, _result=out)
    device.submit_command_buffer(encoder.finish())
    assert np.allclose(out.to_numpy(), (X * 2 + 1) @ np.array([0.25, 0.5, 0.25]), atol=1e-5)
    moved = bright.fwds(spy.Tensor.from_numpy(device, X).with_grads(spy.Tensor.from_numpy(device, np.ones_like(X))), 3)
    assert np.allclose(moved.grad_out.to_numpy() if hasattr(moved, "grad_out") else moved.grad.to_numpy(), 3, atol=1e-5)
    assert bright.function.name == "bright" and bright.name == "bright" and repr(bright) == "<slangpy.Fused bright>"


@pytest.mark.parametrize("backward", [None, "recompute", "store"])
def test_backward(device, m, backward):
    def f(c, s):
        return m.luminance(m.tint(m.tint(c, s), c.y))

    fused = spy.fuse(f, backward=backward)
    c = spy.Tensor.from_numpy(device, X).with_grads()
    s = spy.Tensor.from_numpy(device, np.array([1.5], np.float32)).with_grads()
    out = spy.Tensor.empty(device, shape=(12, 7), dtype="float").with_grads(spy.Tensor.from_numpy(device, np.ones((12, 7), np.float32)))
    fused.bwds(c, s, _result=out)
    w = np.array([0.25, 0.5, 0.25])
    inner = X * 1.5 + 1
    want = 1.5 * X[..., 1:2] * w
    want[..., 1] += inner @ w
    assert np.allclose(c.grad.to_numpy(), want, atol=1e-4)
    assert np.allclose(s.grad.to_numpy(), ((X @ w) * X[..., 1]).sum(), rtol=1e-4)
    word = {"recompute": "[PreferRecompute]", "store": "[PreferCheckpoint]"}.get(backward)
    assert word is None or fused.text.count(word) == 3
    assert "nothing was stored" in fused.bwds.explain(c, s, _result=out)


def test_gradient_of_a_number_times_a_vector(device, m):
    """Slang 2026.14.1 gives the number in `number * vector` no gradient, so the fused text avoids that product."""
    for fn in (lambda c, k: k * c, lambda c, k: c * k, lambda c, k: k + c * 2, lambda c, k: k - c, lambda c, k: c / k, lambda c, k: k / (c + 1)):
        c = spy.Tensor.from_numpy(device, X[0]).with_grads()
        k = spy.Tensor.from_numpy(device, np.full(7, 1.5, np.float32)).with_grads()
        out = spy.Tensor.empty(device, shape=(7, 3), dtype="float").with_grads(spy.Tensor.full(device, (7, 3), 1.0))
        spy.fuse(fn, types={"c": "float3", "k": "float"}, module=m).bwds(c, k, _result=out)
        x, h = X[0].astype(np.float64), 1e-6
        want = ((fn(x, 1.5 + h) - fn(x, 1.5 - h)) / (2 * h)).sum(1)
        assert np.allclose(k.grad.to_numpy(), want, rtol=1e-4, atol=1e-4)


def test_structs_methods_and_fields(m):
    @spy.fuse
    def f(c):
        light = m.lit(c)
        other = m.Light(power=light.power + m.Light.unit(), color=light.color.zyx)
        return other.shine(0.5) + m.Light.shine(light, k=1)

    assert np.allclose(list(f(spy.float3(1, 2, 3))), [0.5 * 5 * 3 + 3, 0.5 * 5 * 2 + 6, 0.5 * 5 * 1 + 9])
    g = spy.fuse(lambda light: light.shine(2), types={"light": m.Light})
    assert list(g({"color": spy.float3(1, 1, 2), "power": 2})) == [4, 4, 8]
    h = spy.fuse(lambda c: m.Light.shine({"color": c, "power": 2.0}, 1), types={"c": "float3"}, module=m)
    assert list(h(spy.float3(1, 2, 3))) == [2, 4, 6]
    # the result is a struct
    made = spy.fuse(lambda c: m.Light(c, 4.0), types={"c": "float3"})(spy.float3(1, 2, 3))
    assert made["power"] == 4 and list(made["color"]) == [1, 2, 3]


def test_mutating_methods_and_inout_parameters_change_copies(m):
    @spy.fuse
    def f(c):
        light = m.lit(c)
        brighter = light.brighten(2)
        got, k = m.both(c, light.power)
        return light.power, brighter.power, got, k

    assert f(spy.float3(1, 2, 3)) == (3, 6, 7, 6)


def test_out_parameters_are_results(m):
    @spy.fuse
    def f(c):
        a, b = m.split(c)
        return b * a

    assert list(f(spy.float3(2, 3, 4))) == [6, 8]


def test_several_outputs(device, m, x):
    from collections import namedtuple

    Both = namedtuple("Both", "light dark")
    pair = spy.fuse(lambda c: (m.luminance(c), m.tint(c)))
    light, dark = pair(x)
    assert np.allclose(light.to_numpy(), X @ np.array([0.25, 0.5, 0.25]), atol=1e-5)
    assert np.allclose(dark.to_numpy().reshape(X.shape), X * 2 + 1, atol=1e-5)
    assert pair(spy.float3(1, 1, 1))[0] == 1
    named = spy.fuse(lambda c: {"light": m.luminance(c), "_result": c.x})(x)
    assert list(named) == ["light", "_result"] and np.allclose(named["_result"].to_numpy(), X[..., 0])
    both = spy.fuse(lambda c: Both(m.luminance(c), c))(x)
    assert isinstance(both, Both) and np.allclose(both.light.to_numpy(), light.to_numpy())
    mine = spy.Tensor.empty(device, shape=(12, 7), dtype="float")
    light, dark = pair(x, out0=mine)
    assert light is mine and np.allclose(mine.to_numpy(), X @ np.array([0.25, 0.5, 0.25]), atol=1e-5)
    assert spy.fuse(lambda c: [c, m.luminance(c)])(spy.float3(1, 2, 3))[1] == 2


def test_nested_fused_functions(m):
    inner = spy.fuse(lambda c: m.tint(c, 3))

    @spy.fuse
    def outer(c):
        return inner(m.tint(c)) + inner(c)

    assert list(outer(spy.float3(1, 2, 3))) == [10 + 4, 16 + 7, 22 + 10]
    assert outer.text.count("tint(") == 3 and outer.text.count("import") == 1


OPERATORS = [
    (lambda a, b: a + b * 2 - 1 / b, lambda a, b: a + b * 2 - 1 / b), (lambda a, b: -a + +b, lambda a, b: -a + b),
    (lambda a, b: a ** 2 + b ** 3 + a ** 4 + 2 ** b + a ** b, lambda a, b: a ** 2 + b ** 3 + a ** 4 + 2 ** b + a ** b),
    (lambda a, b: abs(a - b), lambda a, b: abs(a - b)), (lambda a, b: a // b, lambda a, b: np.floor(a / b)),
    (lambda a, b: spy.where((a < b) & (a > 0.2), a, b), lambda a, b: a if 0.2 < a < b else b),
    (lambda a, b: spy.where((a >= b) | ~(a != b), 1.0, b), lambda a, b: 1.0 if a >= b or a == b else b),
    (lambda a, b: spy.where((a <= b) ^ (a == b), a, -1), lambda a, b: a if (a <= b) != (a == b) else -1),
    (lambda a, b: np.float32(2) * a + np.float64(3) * b, lambda a, b: 2 * a + 3 * b), (lambda a, b: 10 - a, lambda a, b: 10 - a),
    (lambda a, b: a % b, lambda a, b: np.fmod(a, b)), (lambda a, b: a * True, lambda a, b: a),
]


@pytest.mark.parametrize("fn,want", OPERATORS)
def test_operators(m, fn, want):
    f = spy.fuse(fn, types={"a": "float", "b": "float"}, module=m)
    for a, b in ((0.5, 1.5), (2.25, 0.75), (1.5, 1.5)):
        assert f(a, b) == pytest.approx(float(want(a, b)), rel=1e-5), (a, b, f.text)


INTEGERS = [(lambda a, b: (a & b) | (a ^ 3), lambda a, b: (a & b) | (a ^ 3)), (lambda a, b: (a << 2) >> 1, lambda a, b: (a << 2) >> 1),
            (lambda a, b: ~a + b, lambda a, b: ~a + b), (lambda a, b: a // b, lambda a, b: a // b), (lambda a, b: a % b, lambda a, b: a % b),
            (lambda a, b: a * 3 - b, lambda a, b: a * 3 - b), (lambda a, b: -a, lambda a, b: -a)]


@pytest.mark.parametrize("fn,want", INTEGERS)
def test_integers(m, fn, want):
    f = spy.fuse(fn, types={"a": "int", "b": "int"}, module=m)
    for a, b in ((12, 5), (7, 2)):
        got = f(a, b)
        assert got == want(a, b) and isinstance(got, int)


def test_vectors_matrices_arrays(m):
    def f(v, i):
        r, g, b = v
        last = v[-1]
        a = m.spread(g)
        t = m.turn(b)
        return m.float3(a[i], t[0][1] + t[1].x, last) + m.float3(v.xy, r) + [1, 2, 3] + spy.float3(0.5, 0.5, 0.5)

    got = run(m, f, spy.float3(1, 2, 3), 2, v="float3", i="int")
    assert np.allclose(list(got), [4 + 1 + 1.5, 1 + 2 + 2 + 2.5, 3 + 1 + 3.5])
    assert run(m, lambda v: spy.where(v > 1.5, v, 0.0), spy.float3(1, 2, 3), v="float3") == spy.float3(0, 2, 3)
    assert run(m, lambda v: (v > 1.5)[0], spy.float3(1, 2, 3), v="float3") is False


def test_scalar_types_of_constants(m):
    """A number takes the scalar type of the other operand, so that no half becomes a float and a double keeps its digits."""
    half = spy.fuse(lambda h: m.halved(h * 0.5 + 1), types={"h": "half"})
    assert "half" not in half.text.split("{")[1] and "0.5h" in half.text and half(3.0) == 1.25
    double = spy.fuse(lambda d: m.precise(d + 0.1), types={"d": "double"})
    assert double.text.count("0.1") == 1 and "l)" in double.text
    assert spy.fuse(lambda b: m.bits(b + 1), types={"b": "uint"}).text.count("1u") == 1
    assert spy.fuse(lambda a: m.count(a, 7))(4) == 47


def test_built_in_functions(m):
    f = spy.fuse(lambda v: m.max(m.sin(v), 0.25) + m.lerp(v, v * 2, 0.5), types={"v": "float3"})
    v = np.array([0.1, 1, 2])
    assert np.allclose(list(f(spy.float3(*v))), np.maximum(np.sin(v), 0.25) + v * 1.5, atol=1e-5)


def test_generic_and_overloaded_functions(m):
    assert spy.fuse(lambda a: m.twice(m.luminance(a)))(spy.float3(1, 1, 1)) == 2
    f = spy.fuse(lambda a: m.square(a) + m.square(a, 3))
    assert f(2.0) == 4 + 6
    # only the argument says the type, so each type gets a Slang function
    g = spy.fuse(lambda a: m.twice(a) + a)
    assert g(1.5) == 4.5
    assert g(np.arange(3, dtype=np.float64)).to_numpy().tolist() == [0, 3, 6]


def test_default_arguments(m, x):
    @spy.fuse
    def f(c, s=2.0, o=0.5):
        return m.tint(c, s, o)

    one = spy.float3(1, 1, 1)
    assert list(f(one)) == [2.5] * 3 and list(f(one, 3)) == [3.5] * 3 and list(f(one, o=1)) == [3] * 3
    assert list(spy.fuse(lambda c: m.tint(c))(one)) == [3] * 3


def test_types_by_annotation_and_from_arguments(device, m):
    @spy.fuse
    def f(v: "float2", s: float):
        return v.yx * s

    assert list(f(spy.float2(1, 2), 3)) == [6, 3]
    g = spy.fuse(lambda v: v * 2 + 1, module=m)
    assert g(1.5) == 4.0 and g(3) == 7 and list(g(spy.float3(1, 2, 3))) == [3, 5, 7]
    t = spy.Tensor.empty(device, shape=(2,), dtype="float2")
    t.copy_from_numpy(np.array([1, 2, 3, 4], np.float32))
    assert g(t).to_numpy().ravel().tolist() == [3, 5, 7, 9]
    assert g.map("float2")(spy.Tensor.from_numpy(device, np.ones((3, 2), np.float32))).shape == (3,)


def test_no_diff_leaves_other_uses_of_a_call(device, m):
    """In y * no_diff(y) only the first y has a gradient."""
    def weighted(a):
        y = m.square(a)
        return y * spy.no_diff(y)

    a = spy.Tensor.from_numpy(device, np.float32([1, 2, 3])).with_grads()
    fused = spy.fuse(weighted, types={"a": "float"})
    out = fused(a, _result="tensor").with_grads(spy.Tensor.from_numpy(device, np.float32([1, 1, 1])))
    fused.bwds(a, _result=out)
    assert np.allclose(a.grad.to_numpy(), [2, 16, 54])  # 2 a * a ** 2, which is half of the full derivative


def test_long_chains(m):
    """An expression is nested 64 deep at most, however long the trace is."""
    def long(x):
        for _ in range(600):
            x = x * 0.5 + 1.0
        return m.square(x)

    assert abs(spy.fuse(long)(2.0) - 4) < 1e-5


def test_reductions_on_two_devices(device):
    """slangpy.sum() can be used with tensors of two devices in turn."""
    other = spy.create_device()
    try:
        for d in (device, other, device):
            assert float(spy.sum(spy.Tensor.from_numpy(d, np.float32([1, 2, 3])))) == 6
    finally:
        other.close()


def test_constants_that_do_not_fit(m):
    for value in ([4000000000, 1], [2**40, 1]):
        with pytest.raises(ValueError, match="2\\*\\*31"):
            spy.fuse(lambda a: m.count(a, 1) + m.count(value, 1), types={"a": "int"})(1)


def test_two_modules_of_one_device(device, m):
    other = spy.Module.load_from_source(device, "fuse_other", "[Differentiable] float third(float x) { return x / 3; }\nstruct Box { float a; };")
    f = spy.fuse(lambda c: other.Box(a=other.third(m.luminance(c))).a)
    assert f(spy.float3(3, 3, 3)) == 1
    assert "import fuse_functions" in f.text and "import fuse_other" in f.text


def test_names_that_meet_functions(m):
    """A parameter may have the name of a function that it is passed to, and the fused function may have the name of a function that it
    calls."""
    @spy.fuse
    def luminance(noise3):
        return m.luminance(m.noise3(noise3))

    assert luminance(spy.float3(1, 1, 1)) == 1
    f = spy.fuse(lambda t1, t2: m.tint(t1, t2))
    assert list(f(spy.float3(1, 1, 1), 2)) == [3, 3, 3]


def test_a_reload_reaches_the_fused_function(device):
    module = spy.Module.load_from_source(device, "fuse_reload", "float f(float x) { return x + 1; }")
    fused = spy.fuse(lambda x: module.f(module.f(x)))
    assert fused(1.0) == 3
    module.reload("float f(float x) { return x * 10; }")
    assert fused(1.0) == 100


def test_no_diff(device, m):
    f = spy.fuse(lambda a: spy.no_diff(m.noise(a)) * a + spy.no_diff(a * a), types={"a": "float"})
    a = spy.Tensor.from_numpy(device, np.array([0.3, 0.6], np.float32)).with_grads()
    out = spy.Tensor.empty(device, shape=(2,), dtype="float").with_grads(spy.Tensor.from_numpy(device, np.ones(2, np.float32)))
    f.bwds(a, _result=out)
    v = np.sin(np.array([0.3, 0.6])) * 43.5
    assert np.allclose(a.grad.to_numpy(), v - np.floor(v), atol=1e-4)


# >>reductions

REDUCTIONS = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max}
WEIGHTS = np.array([0.25, 0.5, 0.25])


def test_a_failed_reduction_leaves_its_result(device, m, x):
    """A reduction clears its result only after types, options and the compiler have been asked, so that a failed one leaves it
    unchanged."""
    f = spy.fuse(lambda c: spy.sum(m.luminance(c), 1), name="reduced")
    sevens = np.full(X.shape[0], 7)
    ints = spy.Tensor.from_numpy(device, sevens.astype(np.int32))
    with pytest.raises(spy.Error, match="reduced"):
        f(x, _result=ints)
    assert (ints.to_numpy() == 7).all()
    out = spy.Tensor.from_numpy(device, sevens.astype(np.float32))
    with pytest.raises(spy.Error, match="broken_prelude"):
        f.prelude("#error broken_prelude\n")(x, _result=out)
    assert (out.to_numpy() == 7).all()
    f(x, _result=out)
    assert np.allclose(out.to_numpy(), (X @ WEIGHTS).sum(1), rtol=1e-5)


@pytest.mark.share(5)
@pytest.mark.parametrize("dims", [None, 0, (1,), (0, 1), -1])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(device, m, x, kind, dims):
    """A reduction is one kernel, and its values and gradients equal numpy's."""
    f = spy.fuse(lambda c: getattr(spy, kind)(m.luminance(m.tint(c, 1.5)), dims), name="reduced")
    values = (X.astype(np.float64) * 1.5 + 1) @ WEIGHTS
    want = np.asarray(REDUCTIONS[kind](values, axis=dims))
    got = f(x)
    assert np.allclose(got.to_numpy() if want.shape else got, want, rtol=1e-5)
    assert ", 1 kernel" in f.explain(x)
    c = spy.Tensor.from_numpy(device, X).with_grads()
    out = spy.Tensor.empty(device, shape=want.shape, dtype="float")
    assert f(c, _result=out) is out
    assert np.allclose(out.to_numpy(), want, rtol=1e-5)
    seed = np.asarray(np.random.default_rng(2).uniform(1, 2, want.shape), np.float32)
    f.bwds(c, _result=out.with_grads(spy.Tensor.from_numpy(device, seed)))
    if kind in ("sum", "mean"):
        share = np.ones_like(values) * (1 if kind == "sum" else want.size / values.size)
    else:
        share = (values == REDUCTIONS[kind](values, axis=dims, keepdims=True)).astype(float)
    share = share * (seed if not want.shape else np.expand_dims(seed, dims))
    assert np.allclose(c.grad.to_numpy(), 1.5 * share[..., None] * WEIGHTS, rtol=1e-4, atol=1e-6)


def test_reductions_of_vectors_doubles_and_many(device, m):
    big = np.random.default_rng(3).uniform(-1, 1, (70001, 3)).astype(np.float32)
    t = spy.Tensor.from_numpy(device, big)
    for kind, of in REDUCTIONS.items():
        f = spy.fuse(lambda c: getattr(spy, kind)(m.tint(c, 1, 0)))
        want = of(big.astype(np.float64), axis=0)
        assert np.allclose(list(f(t)), want, rtol=1e-4, atol=1e-4), kind
        assert list(f.deterministic()(t)) == list(f.deterministic()(t))
    d = spy.Tensor.from_numpy(device, big[:, 0].astype(np.float64))
    f = spy.fuse(lambda a: spy.max(m.precise(a)))
    assert f(d) == pytest.approx(big[:, 0].astype(np.float64).max() + 1, rel=1e-12)
    assert spy.fuse(lambda a: spy.sum(m.precise(a)))(d) == pytest.approx((big[:, 0].astype(np.float64) + 1).sum(), rel=1e-10)


def test_dot_and_sum_of_tensors(device, m):
    a, b = np.random.rand(2, 500).astype(np.float32)
    ta, tb = spy.Tensor.from_numpy(device, a), spy.Tensor.from_numpy(device, b)
    f = spy.fuse(lambda a, b: spy.dot(a, b), types={"a": "float", "b": "float"}, module=m)
    assert f(ta, tb) == pytest.approx(float(a.astype(np.float64) @ b), rel=1e-5)
    v = spy.fuse(lambda a, b: spy.dot(a, b), types={"a": "float2", "b": "float2"}, module=m)
    assert v(spy.Tensor.from_numpy(device, a.reshape(-1, 2)), spy.Tensor.from_numpy(device, b.reshape(-1, 2))) == pytest.approx(float(a.astype(np.float64) @ b), rel=1e-5)
    assert spy.sum(ta) == pytest.approx(a.sum(dtype=np.float64), rel=1e-5) and spy.max(ta) == a.max()


def test_reductions_of_nothing(device, m):
    empty = spy.Tensor.empty(device, shape=(0, 3), dtype="float")
    assert list(spy.fuse(lambda c: spy.sum(m.tint(c)))(empty)) == [0, 0, 0]
    assert list(spy.fuse(lambda c: spy.min(m.tint(c)))(empty)) == [np.inf] * 3
    assert np.isnan(list(spy.fuse(lambda c: spy.mean(m.tint(c)))(empty))).all()


def test_reductions_in_lists_and_refusals(device, m, x):
    f = spy.fuse(lambda c: spy.sum(m.luminance(c)))
    want = float((X.astype(np.float64) @ WEIGHTS).sum())
    out = spy.Tensor.full(device, (), 99.0) if hasattr(spy.Tensor, "full") else spy.Tensor.empty(device, shape=(), dtype="float")
    encoder = device.create_command_encoder()
    f.append_to(encoder, x, _result=out)
    device.submit_command_buffer(encoder.finish())
    assert float(out.to_numpy()) == pytest.approx(want, rel=1e-5)
    with pytest.raises(Exception, match="expected a tensor of shape"):
        f(x, _result=spy.Tensor.empty(device, shape=(2, 2, 2), dtype="float"))
    with pytest.raises(Exception, match="same memory as an input"):
        spy.fuse(lambda c: spy.sum(c), types={"c": "float"}, module=m)(out, _result=out)
    assert float(out.to_numpy()) == pytest.approx(want, rel=1e-5)
    with pytest.raises(Exception, match="a dispatch cannot give"):
        f.dispatch((4, 1, 1), x)
    with pytest.raises(Exception, match="no forward derivative"):
        f.fwds(spy.Tensor.from_numpy(device, X).with_grads())
    with pytest.raises(Exception, match="names dimension 5"):
        spy.fuse(lambda c: spy.sum(m.luminance(c), 5))(x)
    with pytest.raises(Exception, match="names dimension -1 twice"):
        spy.fuse(lambda c: spy.sum(m.luminance(c), (1, -1)))(x)
    with pytest.raises(Exception, match="expected a float, a double or a vector"):
        spy.fuse(lambda a: spy.sum(m.count(a, 1)))(3)
    with pytest.raises(Exception, match="(?s)no derivative.*noise"):
        g = spy.fuse(lambda c: spy.sum(m.noise(c)))
        one = spy.Tensor.from_numpy(device, np.ones(3, np.float32)).with_grads()
        g.bwds(one, _result=spy.diff_pair(0.0, 1.0))


# >>bad input: named, with what to write instead

def fused_text(fn, m, **types):
    return spy.fuse(fn, types=types or {"c": "float3"}, module=m, name="bad")


BAD = {
    "nothing": (lambda m: lambda c: None, TypeError, "'bad' returns nothing"),
    "an empty tuple": (lambda m: lambda c: (), TypeError, "expected a traced value"),
    "if": (lambda m: lambda c: c.x if c.x > 0 else c.y, TypeError, "`if`.*spy.where"),
    "and": (lambda m: lambda c: (c.x > 0) and (c.y > 0), TypeError, "`and`.*`&`"),
    "not": (lambda m: lambda c: not c.x, TypeError, "`~`"),
    "a chain of comparisons": (lambda m: lambda c: 0 < c.x < 1, TypeError, r"\(a < b\) & \(b < c\)"),
    "len": (lambda m: lambda c: len(c), TypeError, r"len\(\) of a traced value"),
    "float": (lambda m: lambda c: float(c.x), TypeError, r"m.float\(value\)"),
    "int": (lambda m: lambda c: int(c.x), TypeError, r"m.int\(value\)"),
    "range": (lambda m: lambda c: [i for i in range(c.x)], TypeError, "loop in a Slang function"),
    "round": (lambda m: lambda c: round(c.x), TypeError, r"m.round\(value\)"),
    "in": (lambda m: lambda c: 1 in c, TypeError, "`in` of a traced value"),
    "numpy's functions": (lambda m: lambda c: np.sin(c), TypeError, r"m.sin\(value\)"),
    "@": (lambda m: lambda c: c @ c, TypeError, "m.mul"),
    "int / int": (lambda m: lambda c: m.int(c.x) / 2, TypeError, "a // b"),
    "a member that is none": (lambda m: lambda c: c.foo, AttributeError, r"no 'foo'.*m.foo\(value\)"),
    "a swizzle too far": (lambda m: lambda c: c.w, Exception, "components of a vector"),
    "an index too far": (lambda m: lambda c: c[3], Exception, "index from 0 to 2.*got 3"),
    "a slice": (lambda m: lambda c: c[0:2], TypeError, "v.xy"),
    "a field that is missing": (lambda m: lambda c: m.Light(color=c), Exception, r"all fields of Light \(color, power\), got color"),
    "a field that is none": (lambda m: lambda c: m.Light(color=c, wrong=1), Exception, "got color, wrong"),
    "a wrong type": (lambda m: lambda c: m.luminance(c.xy), Exception, r"'luminance': argument 'c': expected float3, got member 'xy' \(float2\)"),
    "an argument too few": (lambda m: lambda c: m.tone_map(c, 1), Exception, "expected an argument for 'saturation'"),
    "an argument too many": (lambda m: lambda c: m.luminance(c, 1), Exception, "fewer than 2 arguments"),
    "an argument twice": (lambda m: lambda c: m.tint(c, 1, s=2), Exception, "'s' is given twice"),
    "an unknown name": (lambda m: lambda c: m.tint(c, foo=2), Exception, "no parameter 'foo'"),
    "sizes that differ": (lambda m: lambda c: c + c.xy, Exception, "values of one size.*float3.*float2"),
    "a call of nothing": (lambda m: lambda c: m.luminance(m.nothing(c.x)), Exception, "got <class 'NoneType'>"),
    "assignment": (lambda m: lambda c: setattr(c, "x", 1), TypeError, "does not change"),
    "item assignment": (lambda m: lambda c: c.__setitem__(0, 1), TypeError, "does not change"),
    "a chained function": (lambda m: lambda c: m.luminance.map(())(c), TypeError, "chain them to the fused function"),
    "a derivative": (lambda m: lambda c: m.luminance.bwds(c), TypeError, "chain them to the fused function"),
    "_result": (lambda m: lambda c: m.luminance(c, _result=c), TypeError, "got _result"),
    "a str": (lambda m: lambda c: m.luminance("c"), TypeError, "got <class 'str'>"),
    "a set": (lambda m: lambda c: m.luminance({1, 2}), TypeError, "got <class 'set'>"),
    "a list of traced values": (lambda m: lambda c: m.luminance([c.x, c.x, c.x]), TypeError, r"m.float3\(...\)"),
    "more than the end": (lambda m: lambda c: spy.sum(c.x) + 1, TypeError, "end of a graph"),
    "two ends": (lambda m: lambda c: (spy.sum(c.x), c.y), TypeError, "only result"),
    "an end as an argument": (lambda m: lambda c: m.square(spy.sum(c.x)), TypeError, "end of a graph"),
    "dims that are none": (lambda m: lambda c: spy.sum(c.x, "x"), TypeError, "'dims'"),
    "an output with an input's name": (lambda m: lambda c: {"c": c.x}, Exception, "output 'c' has the name of an input"),
    "an output that is no name": (lambda m: lambda c: {"a b": c.x}, Exception, "identifier"),
    "a condition that is none": (lambda m: lambda c: spy.where(c.x, 1, 2), Exception, "a bool or vector of bool"),
    "a reduction of a reduction": (lambda m: lambda c: m.luminance(spy.fuse(lambda k: spy.sum(k))(c)), TypeError, "end of a graph"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(m, x, name):
    make, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        fused_text(make(m), m)(x)
    assert m.luminance(spy.float3(1, 1, 1)) == 1  # the failed trace has ended


def test_bad_tensors(device, m, x):
    with pytest.raises(TypeError, match="make it a parameter"):
        fused_text(lambda c: m.luminance(x), m)(x)
    with pytest.raises(TypeError, match="make it a parameter"):
        fused_text(lambda c: c + X, m)(x)


def test_leaks(m, x):
    leaked = []
    f = spy.fuse(lambda c: (leaked.append(c), c.x)[1], types={"c": "float3"}, module=m, name="leaky")
    f(x)
    value = leaked[0]
    words = "traced value of 'leaky' has left its trace"
    for use in (lambda: m.luminance(value), lambda: value + 1, lambda: value.x, lambda: value[0], lambda: spy.where(value, 1, 2), lambda: bool(value),
                lambda: fused_text(lambda c: c + value, m)(x), lambda: fused_text(lambda c: m.luminance(value), m)(x), lambda: f(value)):
        with pytest.raises(TypeError, match=words):
            use()
    assert "leaky" in repr(value)


def test_functions_of_two_devices(m, x):
    with spy.Device() as other:
        module = spy.Module.load_from_source(other, "far", "float far(float x) { return x; }")
        with pytest.raises(ValueError, match="another device"):
            fused_text(lambda c: module.far(m.luminance(c)), m)(x)


def test_what_has_no_derivative_is_named(device, m):
    f = spy.fuse(lambda a: m.square(m.noise(a), a), name="rough")
    assert isinstance(f(0.5), float)
    a = spy.Tensor.from_numpy(device, np.ones(2, np.float32)).with_grads()
    with pytest.raises(spy.Error, match="(?s)rough.*not differentiable.*`noise`"):
        f.bwds(a, _result=spy.Tensor.from_numpy(device, np.ones(2, np.float32)).with_grads())


def test_bad_arguments_of_fuse(m, x):
    with pytest.raises(TypeError, match="expected a Python function"):
        spy.fuse(3)
    with pytest.raises(TypeError, match="expected a Python function"):
        spy.fuse(m.luminance)
    with pytest.raises(ValueError, match="'recompute', 'store'"):
        spy.fuse(lambda c: c, backward="later")
    with pytest.raises(ValueError, match="no parameter 'd'"):
        spy.fuse(lambda c: c, types={"d": "float"})
    with pytest.raises(TypeError, match=r"got \*args"):
        spy.fuse(lambda *args: args)
    with pytest.raises(Exception, match="expected a type, got 'float9'"):
        fused_text(lambda c: c, m, c="float9")(x)
    with pytest.raises(TypeError, match="parameter 'a': no function that takes it says its type"):
        _ = spy.fuse(lambda a: a * 2, module=m).function
    with pytest.raises(TypeError, match="nor does the argument"):
        spy.fuse(lambda a: a * 2, module=m)(object())
    with pytest.raises(TypeError, match="gets them"):
        spy.Traced()


def test_an_exception_of_the_function_itself(m, x):
    with pytest.raises(ZeroDivisionError):
        fused_text(lambda c: 1 / 0, m)(x)
    assert m.luminance(spy.float3(1, 1, 1)) == 1


def test_threads(m):
    """While one thread fuses, another thread's calls are made and not traced."""
    import threading

    inside, go = threading.Event(), threading.Event()
    results = []

    def f(c):
        inside.set()
        go.wait(20)
        return m.luminance(c)

    fused = spy.fuse(f)
    thread = threading.Thread(target=lambda: results.append(fused(spy.float3(2, 2, 2))))
    thread.start()
    assert inside.wait(20)
    assert m.luminance(spy.float3(1, 1, 1)) == 1
    assert spy.fuse(lambda c: m.luminance(c) * 2)(spy.float3(1, 1, 1)) == 2  # this thread has a trace of its own
    go.set()
    thread.join()
    assert results == [2]


def test_star_import_keeps_pythons_sum():
    names = {}
    exec("from slangpy import *", names)
    assert "sum" not in names and "max" not in names and spy.sum is not sum
