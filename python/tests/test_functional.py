"""vmap(), vcast(), vdim() around arguments, declare() and gradcheck(): each sentence of the proposal api-review.md, which the docstrings
quote, and bad input."""
import gc
import re

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
[Differentiable] float3 tonemap(float3 color, float filmic, float saturation) {
    float grey = dot(color, float3(0.3, 0.6, 0.1));
    float3 c = lerp(float3(grey, grey, grey), color, saturation);
    return c * filmic / (c + filmic);
}
void tonemap_to(float3 color, float filmic, float saturation, out float3 result) { result = tonemap(color, filmic, saturation); }
[Differentiable] float mul(float a, float b) { return a * b; }
float mul2(float a, float b) { return a * b; }
float sub3(float a, float b, float c) { return a - 10 * b - 100 * c; }
struct Light { float3 color; float power; };
float3 shine(Light light, float scale) { return light.color * light.power * scale; }
struct Scene { Light key; float ambient; };
float3 render(Scene s) { return s.key.color * s.key.power + s.ambient; }
float kind(float x) { return 1; }
float kind(float2 x) { return 2; }
float kind(float3 x) { return 3; }
T twice<T : IArithmetic>(T x) { return x + x; }
struct Acc { float total; float add(float x, float y) { return total + x * y; } };
float first(float v[4]) { return v[0]; }
float whole(RWTensor<float, 1> t, float x) { return t[0] + x; }
"""

rng = np.random.default_rng(20)


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def tonemap(color, filmic, saturation):
    """Computes with numpy what the Slang function computes."""
    grey = color @ np.array([0.3, 0.6, 0.1])
    c = grey[..., None] + (color - grey[..., None]) * saturation
    return c * filmic / (c + filmic)


def texture2d_float3(device, data):
    """A 2-D texture of float3 texels where the device has the format, otherwise a buffer of float3."""
    try:
        return device.create_texture(type=spy.TextureType.texture_2d, format=spy.Format.rgb32_float, width=data.shape[1], height=data.shape[0],
                                     usage=spy.TextureUsage.shader_resource, data=data)
    except Exception:
        return buffer_of(device, data)


def buffer_of(device, data):
    t = spy.Tensor.empty(device, data.shape[:2], "float3")
    t.copy_from_numpy(data)
    return t


@pytest.fixture(params=["texture", "float3 buffer", "float buffer", "numpy"])
def picture(request, device):
    """Returns a value for a float3 parameter over (5, 7), and the same numbers as an array."""
    data = rng.random((5, 7, 3), dtype=np.float32)
    if request.param == "texture":
        return texture2d_float3(device, data), data
    if request.param == "float3 buffer":
        return buffer_of(device, data), data
    return (spy.Tensor.from_numpy(device, data) if request.param == "float buffer" else data), data


def close(result, expected):
    array = result if isinstance(result, np.ndarray) else result.to_numpy()
    array = array.astype(np.float32).reshape(expected.shape)
    np.testing.assert_allclose(array, expected, rtol=2e-5, atol=1e-6)


# >>'Explicit vectorization'


def test_no_vectorization(m):
    """First block, 'No vectorization': val = float3(...); result = tonemap(val, 1, 0.5)."""
    val = spy.float3(0.2, 0.4, 0.9)
    result = m.tonemap(val, 1, 0.5)
    np.testing.assert_allclose([result.x, result.y, result.z], tonemap(np.array([0.2, 0.4, 0.9]), 1, 0.5), rtol=1e-5)


def test_explicit_mapping(m, picture):
    """'Vectorization with explicit mapping': the typing follows from vmap(val, (0, 1))."""
    val, data = picture
    result = m.tonemap(spy.vmap(val, (0, 1)), 1, 0.5)
    assert tuple(result.shape)[:2] == (5, 7)
    close(result, tonemap(data, 1, 0.5))
    assert [b.type for b in m.tonemap.resolve(spy.vmap(val, (0, 1)), 1, 0.5).bindings][0] == "float3"


def test_explicit_typing(m, picture):
    """'Vectorization with explicit typing, which provides implicit mapping': vcast(val, m.float3)."""
    val, data = picture
    close(m.tonemap(spy.vcast(val, m.float3), 1, 0.5), tonemap(data, 1, 0.5))
    assert m.tonemap.resolve(spy.vcast(val, m.float3), 1, 0.5).bindings[0].map == (0, 1)


def test_declared_mapping(m, picture):
    """'Pre-vectorization with explicit mapping (typing is implicit)': tonemap.declare(vmapping((0, 1)))."""
    val, data = picture
    tonemap2d = m.tonemap.declare(spy.vmapping((0, 1)))
    for _ in range(4):  # the third call and later ones repeat the first
        close(tonemap2d(val, 1, 0.5), tonemap(data, 1, 0.5))


def test_declared_typing(m, picture):
    """'Pre-vectorization with explicit typing (mapping is implicit)': tonemap.declare(m.float3)."""
    val, data = picture
    tonemap2d = m.tonemap.declare(m.float3)
    for _ in range(4):
        close(tonemap2d(val, 1, 0.5), tonemap(data, 1, 0.5))


def test_combined(device, m, picture):
    """'a combination of mappings and typings can be applied': an out parameter with a type, and its pre-vectorized version."""
    val, data = picture
    result = buffer_of(device, np.zeros((5, 7, 3), np.float32))
    m.tonemap_to(spy.vmap(val, (0, 1)), 1, 0.5, spy.vcast(result, m.float3))
    close(result, tonemap(data, 1, 0.5))
    tonemap2d = m.tonemap_to.declare(spy.vmapping(0, 1), None, None, m.float3)
    for k in range(4):
        result.clear()
        tonemap2d(val, 1, 0.25 * k, result)
        close(result, tonemap(data, 1, 0.25 * k))


def test_resolution(m, picture):
    """'Resolution: ... the mapping and typing of all arguments are known': resolve() tells both; 'slang_session.resolve(...) returns
    [float3, float, float]'."""
    for val in (picture[0], spy.vmap(picture[0], (0, 1)), spy.vcast(picture[0], m.float3)):
        found = m.tonemap.resolve(val, 1, 0.5)
        assert [b.type for b in found.bindings][:3] == ["float3", "float", "float"]
        assert [b.map for b in found.bindings][:3] == [(0, 1), (), ()]
        assert tuple(found.shape) == (5, 7)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_mapping_order(device, m, order):
    """'Mapping: how the dimensions of an argument correspond to the dimensions of the kernel', in any order."""
    a = rng.random((2, 3, 4), dtype=np.float32)
    shape = [0, 0, 0]
    for i, k in enumerate(order):
        shape[k] = a.shape[i]
    b = rng.random(shape, dtype=np.float32)
    expected = np.transpose(a, [order.index(k) for k in range(3)]) * b
    for value in (a, spy.Tensor.from_numpy(device, a)):
        close(m.mul(spy.vmap(value, order), b, _result="numpy"), expected)
        close(m.mul.declare(spy.vmapping(*order))(value, b, _result="numpy"), expected)


def test_call_invokes(device, m):
    """'The Python call operator invokes the function. Pre-vectorization requires an explicit declare call': declare() runs nothing."""
    out = spy.Tensor.zeros(device, (3,), "float")
    declared = m.mul.declare(spy.vmapping(0), spy.vmapping(0))
    assert not out.to_numpy().any()
    assert declared([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], _result=out) is out
    assert out.to_numpy().tolist() == [4, 10, 18]


def test_vdim(device, m):
    """'vdim(val, 3) == vmap(val, (0, 1, 2))'."""
    a = spy.Tensor.from_numpy(device, rng.random((2, 3, 4), dtype=np.float32))
    assert spy.vdim(a, 3).dims == spy.vmap(a, (0, 1, 2)).dims == (0, 1, 2)
    assert spy.vdim(a, 3).value is a and spy.vdim(a, 3).type is None
    close(m.mul(spy.vdim(a, 3), 2), a.to_numpy() * 2)
    assert tuple(m.tonemap(spy.vdim(np.zeros((6, 5, 3), np.float32), 2), 1, 1).shape)[:2] == (6, 5)


def test_only_the_last_argument(device, m):
    """'Unlike Jax, argument mapping occurs within the function call ... avoids long strings of None', also by declare()'s names; and
    'we could use the Jax style syntax', by map() and declare()."""
    c = rng.random((4, 5), dtype=np.float32)
    expected = (1 - 20 - 100 * c).T
    for result in (m.sub3(1, 2, spy.vmap(c, (1, 0))), m.sub3.declare(c=spy.vmapping(1, 0))(1, 2, c),
                   m.sub3.declare(None, None, spy.vmapping(1, 0))(1, 2, c=c), m.sub3.map(None, None, (1, 0))(1, 2, c),
                   m.sub3.map(c=spy.vmapping(1, 0))(a=1, b=2, c=c)):
        np.testing.assert_allclose(result if isinstance(result, np.ndarray) else result.to_numpy(), expected, rtol=1e-5)


def test_nested_arguments(device, m):
    """'large function calls with nested arguments': in dicts, around dicts, and both; what is not run over stays the same for all."""
    color, power = rng.random((4, 3), dtype=np.float32), rng.random(5, dtype=np.float32)
    expected = color[:, None] * power[None, :, None] * 2
    close(m.shine({"color": spy.vmap(color, (0,)), "power": spy.vmap(power, (1,))}, 2), expected)
    light = {"color": color, "power": 0.5}
    close(m.shine(spy.vmap(light, (1,)), power[:, None]), color[None] * 0.5 * power[:, None, None])
    close(m.shine(spy.vmap({"color": [1.0, 2.0, 3.0], "power": power}, (0,)), 1), np.float32([1, 2, 3]) * power[:, None])
    close(m.shine(spy.vmap({"color": color, "power": spy.vmap(power, (1,))}, (0,)), 2), expected)
    scene = {"key": light, "ambient": rng.random(4, dtype=np.float32)}
    close(m.render(spy.vmap(scene, (2,))).to_numpy().reshape(4, 3), color * 0.5 + scene["ambient"][:, None])
    close(m.shine(spy.vcast(light, m.Light), 1), color * 0.5)
    close(m.shine.declare(m.Light)(light, 1), color * 0.5)
    close(m.shine.declare(spy.vmap(m.Light, (1,)))(light, power[:, None]), color[None] * 0.5 * power[:, None, None])
    lights = [{"color": spy.float3(1, 2, 3), "power": 2.0}, {"color": spy.float3(3, 2, 1), "power": 1.0}]
    close(m.shine(spy.vmap(lights, (1,)), np.float32([[1], [10]])), np.float32([[[2, 4, 6], [3, 2, 1]], [[20, 40, 60], [30, 20, 10]]]))


# >>'Implicit vectorization'


def test_implicit(m, picture):
    """'Implicitly cast a float3 texture to a float3': tonemap(val, 1, 0.5)."""
    val, data = picture
    close(m.tonemap(val, 1, 0.5), tonemap(data, 1, 0.5))


def test_sizes_do_not_matter(device, load):
    """'Slang code generation isn't bound to fixed shapes - only dimensionalities: the following calls produce the same kernel', and 'this
    could lead to issues without additional error handling': what cannot feed a float3 is an error that says what is missing."""
    m = load(SOURCE)
    made = {}
    for n in (3, 2, 1):
        val = spy.NDBuffer(device, dtype="float", shape=(100, n))
        val.copy_from_numpy(rng.random((100, n), dtype=np.float32))
        made[n] = val
    close(m.tonemap(made[3], 1, 0.5), tonemap(made[3].to_numpy(), 1, 0.5))
    close(m.tonemap(spy.vcast(made[3], m.float3), 1, 0.5), tonemap(made[3].to_numpy(), 1, 0.5))
    for n in (2, 1):
        for val in (made[n], spy.vcast(made[n], m.float3), spy.vmap(made[n], (0,))):
            with pytest.raises(ValueError, match=r"tonemap: 'color': float3 takes its trailing dimensions, so dimension 1 must be 3, got shape \(100, {}\)".format(n)):
                m.tonemap(val, 1, 0.5)
        with pytest.raises(ValueError, match="vcast says which type its elements have"):
            m.tonemap(made[n], 1, 0.5)


# >>every kind of value


def values(device):
    """Returns floats of shape (4, 6) as a value of each kind of argument."""
    data = rng.random((4, 6), dtype=np.float32)
    tensor = spy.Tensor.from_numpy(device, data)
    wide = spy.Tensor.from_numpy(device, np.repeat(data, 2, axis=1))
    texture = device.create_texture(type=spy.TextureType.texture_2d, format=spy.Format.r32_float, width=6, height=4,
                                    usage=spy.TextureUsage.shader_resource, data=data)
    return data, {"numpy": data, "float64": data.astype(np.float64), "list": data.tolist(), "tensor": tensor, "view": wide[:, ::2],
                  "transposed": spy.Tensor.from_numpy(device, np.ascontiguousarray(data.T)).view((4, 6), (1, 4)), "texture": texture,
                  "DiffPair": spy.diffPair(tensor, spy.Tensor.zeros(device, (4, 6), "float"))}


@pytest.mark.parametrize("kind", ["numpy", "float64", "list", "tensor", "view", "transposed", "texture", "DiffPair", "packed", "this"])
def test_every_kind(device, m, kind):
    data, all_of_them = values(device)

    class This:
        def get_this(self):
            return data

    value = spy.pack(m, all_of_them["tensor"]) if kind == "packed" else This() if kind == "this" else all_of_them[kind]
    for _ in range(4):
        close(m.mul(spy.vmap(value, (1, 0)), 2.0), data.T * 2)
        close(m.mul(spy.vdim(value, 2), 2.0), data * 2)
        close(m.mul(spy.vcast(value, m.float), 2.0), data * 2)
        close(m.mul.declare(spy.vmapping(1, 0))(value, 2.0), data.T * 2)
        close(m.mul.declare("float")(value, 2.0), data * 2)
    if kind in ("numpy", "tensor", "texture"):  # a value with a mapping can be packed
        packed = spy.pack(m, spy.vmap(value, (1, 0)))
        close(m.mul(packed, 2.0), data.T * 2)


def test_generators(m):
    """Generators take types, and those with sizes take mappings, too."""
    assert m.kind(spy.vcast(spy.call_id(), "float2"), _thread_count=(3, 2)).to_numpy().tolist() == [[2, 2], [2, 2], [2, 2]]
    table = m.mul(spy.vmap(range(3), (0,)), spy.vmap(range(4), (1,))).to_numpy()
    assert table.tolist() == [[i * j for j in range(4)] for i in range(3)]


def test_scalars_and_vectors(m):
    """For values without dimensions a type is checked and a mapping is an error."""
    assert m.mul(spy.vcast(2.0, m.float), spy.vcast(3, "float")) == 6
    assert m.kind(spy.vcast(spy.float3(1, 2, 3), m.float3)) == 3
    assert m.kind(spy.vmap(spy.float3(1, 2, 3), ())) == 3
    with pytest.raises(ValueError, match="'a': only tensors and host arrays have dimensions to map"):
        m.mul2(spy.vmap(2.0, (0,)), 1)


def test_casts_choose(device, m):
    """vcast() chooses the overload, and the type of a generic parameter."""
    t = spy.Tensor.from_numpy(device, rng.random((8, 3), dtype=np.float32))
    assert [m.kind(spy.vcast(t, x)).to_numpy().flat[0] for x in (m.float, m.float3)] == [1, 3]
    assert [m.kind.declare(x)(t).to_numpy().flat[0] for x in ("float", "float3")] == [1, 3]
    assert m.twice.resolve(spy.vcast(t, m.float3)).bindings[0].type == "float3"
    assert m.twice.resolve(spy.vcast(t, "float")).bindings[0].type == "float"


def test_both_around_one(device, m):
    """A mapping and a type around one argument, in either order."""
    t = spy.Tensor.from_numpy(device, rng.random((4, 5, 3), dtype=np.float32))
    expected = tonemap(t.to_numpy().transpose(1, 0, 2), 1, 0.5)
    close(m.tonemap(spy.vmap(spy.vcast(t, m.float3), (1, 0)), 1, 0.5), expected)
    close(m.tonemap(spy.vcast(spy.vmap(t, (1, 0)), m.float3), 1, 0.5), expected)
    close(m.tonemap.declare(spy.vmap(m.float3, (1, 0)))(t, 1, 0.5), expected)


def test_results(device, m):
    """_result takes a mapping or a type, and the call returns the object within it."""
    a = rng.random((3, 4), dtype=np.float32)
    out = spy.Tensor.zeros(device, (4, 3), "float")
    assert m.mul(spy.vdim(a, 2), 2, _result=spy.vmap(out, (1, 0))) is out
    close(out, a.T * 2)
    host = np.zeros((4, 3), np.float32)
    assert m.mul.declare(_result=spy.vmapping(1, 0))(a, 3, _result=host) is host
    close(host, a.T * 3)


# >>all that a call can be


def test_gradients(device, m):
    """The gradients of an outer product in backward and forward mode equal numpy's; declared functions can be chained."""
    a, b, s = rng.random(4), rng.random(3), rng.random((4, 3))

    def tensor(x):
        return spy.Tensor.from_numpy(device, x.astype(np.float32)).with_grads()

    outer = m.mul.declare(spy.vmapping(0), spy.vmapping(1))
    for call, wrap in ((m.mul, lambda x, d: spy.vmap(x, (d,))), (outer, lambda x, d: x), (m.mul.map((0,), (1,)), lambda x, d: x)):
        x, y, out = tensor(a), tensor(b), tensor(np.zeros((4, 3)))
        out.grad.copy_from_numpy(s.astype(np.float32))
        for k in range(1, 4):
            call.bwds(wrap(x, 0), wrap(y, 1), _result=out)
            np.testing.assert_allclose(x.grad.to_numpy(), k * (s @ b), rtol=1e-5)
            np.testing.assert_allclose(y.grad.to_numpy(), k * (s.T @ a), rtol=1e-5)
        x.grad.copy_from_numpy(np.ones(4, np.float32))
        y.grad.clear()
        both = call.fwds(wrap(x, 0), wrap(y, 1))
        np.testing.assert_allclose(both.to_numpy(), np.outer(a, b), rtol=1e-5)
        np.testing.assert_allclose(both.grad.to_numpy(), np.outer(np.ones(4), b), rtol=1e-5)
    pair = spy.diffPair(x.detach(), spy.Tensor.zeros(device, (4,), "float"))
    m.mul.bwds(spy.vmap(pair, (0,)), spy.vmap(y.detach(), (1,)), _result=out)
    np.testing.assert_allclose(pair.grad.to_numpy(), s @ b, rtol=1e-5)


def test_recorded(device, m):
    """Declared functions can be recorded by command encoders."""
    a, b = rng.random(4).astype(np.float32), rng.random(3).astype(np.float32)
    x, y = spy.Tensor.from_numpy(device, a), spy.Tensor.from_numpy(device, b)
    outs = [spy.Tensor.zeros(device, (4, 3), "float") for _ in range(2)]
    encoder = device.create_command_encoder()
    m.mul(spy.vmap(x, (0,)), spy.vmap(y, (1,)), _result=outs[0], _append_to=encoder)
    m.mul.declare(spy.vmapping(0), spy.vmapping(1)).append_to(encoder, x, y, _result=outs[1])
    device.submit_command_buffer(encoder.finish())
    for out in outs:
        close(out, np.outer(a, b))


def test_explained(device, m):
    """explain() shows the mapping; time() and constants() take arguments with mappings."""
    text = m.mul.explain(spy.vmap([1.0, 2.0], (0,)), spy.vmap([1.0, 2.0, 3.0], (1,)))
    assert re.search(r"a +in +float .* dimensions \(0\)", text) and re.search(r"b +in +float .* dimensions \(1\)", text)
    assert m.mul.declare(spy.vmapping(0), spy.vmapping(1)).explain([1.0, 2.0], [1.0, 2.0, 3.0]).split("\n\n")[0] == text.split("\n\n")[0]
    assert m.mul.time(spy.vmap([1.0], (0,)), 2.0) >= 0


def test_methods(m):
    """declare() does not count the instance of a bound method."""
    add = m["Acc.add"].bind({"total": 1.0})
    assert add.declare(None, spy.vmapping(0))(2.0, [1.0, 2.0]).to_numpy().tolist() == [3, 5]
    assert add.declare(y=spy.vmapping(0))(2.0, [1.0, 2.0]).to_numpy().tolist() == [3, 5]


def test_declared_function(m):
    """declare() gives a Function that knows its types: its name, the declared arguments, further declarations and chains."""
    outer = m.mul2.declare(spy.vmapping(0), b=spy.vmapping(1))
    assert isinstance(outer, spy.Function) and outer.name == "mul2" and outer.module is m
    assert outer.declared == ((spy.vmapping(0),), {"b": spy.vmapping(1)}) and m.mul2.declared is None
    assert "mul2.declare(vmapping(0), b=vmapping(1))" in repr(outer)
    assert outer.return_type("numpy")([1.0, 2.0], [3.0, 4.0]).tolist() == [[3, 4], [6, 8]]
    more = m.mul2.declare(spy.vmapping(0)).declare(b=spy.vmapping(1))
    assert more([1.0, 2.0], [3.0, 4.0]).to_numpy().tolist() == [[3, 4], [6, 8]]
    assert m.mul2.declare()(2, 3) == 6 and m.mul2.declare(None, None)(2, 3) == 6
    assert m.mul2([1.0, 2.0], [3.0, 4.0]).to_numpy().tolist() == [3, 8]  # the function itself is not changed
    again = m.mul2.declare(spy.vmapping(0), b=spy.vmapping(1))
    del outer, more
    gc.collect()
    assert again([1.0], [3.0]).to_numpy().tolist() == [[3]]


def test_reload(device, tmp_path):
    """A declared function follows reloads of its module."""
    path = tmp_path / "declared_reload.slang"
    path.write_text("float f(float a, float b) { return a * b; }")
    module = spy.Module.load_from_file(device, str(path))
    outer = module.f.declare(spy.vmapping(0), spy.vmapping(1))
    assert outer([1.0, 2.0], [3.0]).to_numpy().tolist() == [[3], [6]]
    path.write_text("float f(float a, float b) { return a + b; }")
    device.reload_all_programs()
    assert outer([1.0, 2.0], [3.0]).to_numpy().tolist() == [[4], [5]]


# >>bad input


def tensor(device, *shape):
    return spy.Tensor.from_numpy(device, rng.random(shape, dtype=np.float32))


BAD = {
    "beyond the rank": (lambda m, t: m.mul2(spy.vmap(t(4), (0, 1)), 1), r"'a': its mapping names 2 dimensions, but 1 of its 1 are run over \(float takes 0\); vdim\(..., 1\) names these"),
    "less than the rank": (lambda m, t: m.mul2(spy.vmap(t(4, 5), (0,)), 1), r"'a': its mapping names 1 dimensions, but 2 of its 2 are run over \(float takes 0\); vdim\(..., 2\) names these"),
    "all of it is taken": (lambda m, t: m.tonemap(spy.vmap(t(3), (0,)), 1, 1), r"'color': its mapping names 1 dimensions, but 0 of its 1 are run over \(float3 takes 1\); give it without one"),
    "twice": (lambda m, t: m.mul2(spy.vmap(t(4, 4), (0, 0)), 1), r"'a': its mapping names dimension 0 twice"),
    "too large": (lambda m, t: m.mul2(spy.vmap(t(4), (8,)), 1), r"'a': its mapping names dimension 8; expected 0 to 7"),
    "much too large": (lambda m, t: m.mul2(spy.vmap(t(4), (1000,)), 1), r"'a': its mapping names dimension 127; expected 0 to 7"),
    "negative": (lambda m, t: m.mul2(spy.vmap(t(4), (-1,)), 1), r"'a': its mapping names dimension -1; expected 0 to 7"),
    "two mappings": (lambda m, t: m.mul2(spy.vmap(spy.vmap(t(4), (0,)), (1,)), 1), "argument 1: it has two mappings, one around the other; expected one"),
    "map and vmap": (lambda m, t: m.mul2.map((0,))(spy.vmap(t(4), (1,)), 1), "argument 1: it has two mappings, one around the other; expected one"),
    "declared and vmap": (lambda m, t: m.mul2.declare(spy.vmapping(0))(spy.vmap(t(4), (1,)), 1), "argument 1: the function was declared with its mapping or type; expected the plain argument"),
    "other type": (lambda m, t: m.mul2(spy.vcast(t(4, 3), m.float3), 1), "'a': expected float, got a cast to float3"),
    "no such type": (lambda m, t: m.mul2(spy.vcast(t(4), "flaot"), 1), "'a': vcast names 'flaot', which is no type"),
    "does not fit": (lambda m, t: m.tonemap(spy.vcast(t(4, 2), m.float3), 1, 1), r"'color': float3 takes its trailing dimensions, so dimension 1 must be 3, got shape \(4, 2\)"),
    "too few dimensions": (lambda m, t: m.tonemap(spy.vcast(spy.Tensor.empty(m.device, (), "float"), m.float3), 1, 1), r"'color': float3 takes 1 trailing dimensions, got float tensor \(\)"),
    "other numbers": (lambda m, t: m.mul2(spy.vcast(spy.Tensor.zeros(m.device, (4,), "double"), m.float), 1), "'a': expected float, got double tensor"),
    "a struct for a number": (lambda m, t: m.mul2(spy.vcast({"x": 1.0}, m.Light), 1), "'a': expected float"),
    "nothing to map": (lambda m, t: m.shine(spy.vmap({"color": [1.0, 2.0, 3.0], "power": 1.0}, (0,)), 1), "'light.color': the mapping around it names 1 dimensions, but no part of the argument is run over"),
    "fields of other ranks": (lambda m, t: m.shine(spy.vmap({"color": t(4, 5, 3), "power": t(4)}, (0, 1)), 1), r"'light.power': its mapping names 2 dimensions, but 1 of its 1 are run over"),
    "sizes differ": (lambda m, t: m.mul2(spy.vmap(t(4), (0,)), spy.vmap(t(3), (0,))), r"Shape mismatch: 'a' has shape \(4,\) and 'b' has shape \(3,\): dimension 0 of the call is 4 for one and 3 for the other"),
    "ambiguous sizes": (lambda m, t: m.mul2(t(4), t(3)), "vmap says which dimensions it is run over"),
    "ambiguous type": (lambda m, t: m.twice({"x": 1.0}), "which does not tell its Slang type: say which with vcast"),
    "a tensor that is taken whole": (lambda m, t: m.whole(spy.vmap(t(4), (0,)), 1), "'t': its mapping names 1 dimensions"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(device, m, case):
    """The message for bad input names the function and the argument, what was expected and what came."""
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as error:
        call(m, lambda *shape: tensor(device, *shape))
    assert re.search(words, str(error.value)), str(error.value)
    assert re.match(r"(mul2|tonemap|shine|twice|whole): ", str(error.value))
    assert m.mul2(2, 3) == 6


@pytest.mark.parametrize("make, exception, words", [
    (lambda m: spy.vmap([1], "x"), TypeError, "vmap: argument 'dims': expected a shape"),
    (lambda m: spy.vmap([1], 1.5), TypeError, "vmap: argument 'dims': expected a shape"),
    (lambda m: spy.vmap([1]), TypeError, "dims"),
    (lambda m: spy.vmap([1], (0,) * 9), ValueError, "8"),
    (lambda m: spy.vdim([1], 9), ValueError, "vdim: argument 'n': expected a number of dimensions from 0 to 8, got 9"),
    (lambda m: spy.vdim([1], -1), ValueError, "vdim: argument 'n': expected a number of dimensions from 0 to 8, got -1"),
    (lambda m: spy.vcast([1], 3), TypeError, "vcast: argument 'type': expected a type of a module, a numpy dtype or a name, got 3"),
    (lambda m: spy.vcast(spy.vcast([1], "float"), "float"), ValueError, "vcast: argument 'value': expected a value without a type, got a vcast"),
    (lambda m: spy.vmapping("x"), TypeError, "vmapping: expected ints, or one tuple of ints"),
    (lambda m: spy.vmapping(1.5), TypeError, "vmapping: expected ints, or one tuple of ints"),
    (lambda m: m.mul2.declare(3.5), TypeError, "mul2.declare: parameter 1: expected a type of a module, a numpy dtype or a name, got 3.5"),
    (lambda m: m.mul2.declare(b=3.5), TypeError, "mul2.declare: parameter 'b': expected a type of a module, a numpy dtype or a name, got 3.5"),
    (lambda m: m.mul2.map(a=3.5)(1, 2), TypeError, "mul2: argument 'a': expected a type of a module, a numpy dtype or a name, got 3.5"),
    (lambda m: m.mul2.declare(None, spy.vmapping(0, 0)), ValueError, "declare: mul2: parameter 2: its mapping names dimension 0 twice"),
    (lambda m: m.mul2.declare(spy.vmapping(-1)), ValueError, "declare: mul2: parameter 1: its mapping names dimension -1; expected 0 to 7"),
    (lambda m: m.mul2.declare(None, None, m.float), ValueError, "declare: mul2: parameter 3: expected at most 2 parameters"),
    (lambda m: m.mul2.declare(c=m.float), Exception, "declare: mul2: parameter 'c': the function has no parameter of this name"),
    (lambda m: m.tonemap.declare(colour=m.float3), Exception, "no parameter of this name, did you mean 'color'"),
    (lambda m: m.mul2.declare("flaot"), Exception, "declare: mul2: parameter 1: vcast names 'flaot', which is no type of module"),
    (lambda m: m.mul2.declare(spy.vmapping(0), a=spy.vmapping(1)), ValueError, "declare: mul2: parameter 'a': it has been declared already"),
    (lambda m: m.mul2.declare(spy.vmapping(0)).declare("float"), ValueError, "declare: mul2: parameter 1: it has been declared already"),
])
def test_bad_making(m, make, exception, words):
    with pytest.raises(exception) as error:
        make(m)
    assert words in str(error.value), str(error.value)


def test_hostile_objects(m):
    """vmap() works with a value that fails during its conversion, a mapping of itself, and many mappings in each other."""

    class Fails:
        def get_this(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        m.mul2(spy.vmap(Fails(), (0,)), 1)
    with pytest.raises(TypeError, match="mul2: argument 'a': Unsupported type"):
        m.mul2(spy.vmap(object(), (0,)), 1)
    deep = [1.0]
    with pytest.raises(ValueError, match="vmap: argument 'value': expected at most 100 mappings around each other"):
        for _ in range(5000):
            deep = spy.vmap(deep, (0,))
    with pytest.raises((TypeError, ValueError)):
        m.mul2(deep, 1)
    loop = {}
    loop["x"] = spy.vmap(loop, (0,))
    with pytest.raises((ValueError, RecursionError)):
        m.mul2(loop, 1)
    del loop, deep
    gc.collect()


# >>gradcheck()

CHECKED = """
import slangpy;
[Differentiable] float poly(float a, float b) { return a * a * b + sin(b); }
[Differentiable] T cube<T : __BuiltinFloatingPointType>(T x, T y) { return x * x * x * y; }
[Differentiable] void parts(float3 v, float s, out float3 o, out float n) { o = v * v * s; n = dot(v, v); }
struct Ray : IDifferentiable { float3 origin; float3 dir; float t; };
[Differentiable] float3 at(Ray r) { return r.origin + r.dir * r.t * r.t; }
[Differentiable] float constant(float x, no_diff float y) { return x * y * y; }
[Differentiable] void change(inout float x) { x = x * x; }
float plain(float x) { return x; }
[BackwardDerivative(wrong_bwd)] float wrong(float x, float y) { return x * x * y; }
void wrong_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d) {
    x = diffPair(x.p, d * (x.p > 2.5 ? 3.0 : 2.0) * x.p * y.p);
    y = diffPair(y.p, d * x.p * x.p);
}
int count(int x) { return x; }
[Differentiable] float nested(float x, no_diff int n, no_diff int k) {
    float r = 0.1;
    [MaxIters(5)] for (int o = 0; o < n; o++)
        [MaxIters(3)] for (int i = 0; i < k; i++) r = r * x + 0.5 * r * r;
    return r;
}
"""


@pytest.fixture(scope="module")
def c(load):
    return load(CHECKED)


def test_gradcheck_agrees(device, c):
    """gradcheck() accepts tensors, arrays, numbers, dicts, out parameters, mappings and declared functions."""
    a, b = rng.random(4, dtype=np.float32) + 0.5, rng.random(3, dtype=np.float32)
    assert spy.gradcheck(c.poly, spy.Tensor.from_numpy(device, a), 2.0)
    assert spy.gradcheck(c.poly, spy.vmap(a, (0,)), spy.vmap(b, (1,)))
    assert spy.gradcheck(c.poly.declare(spy.vmapping(0), spy.vmapping(1)), a, b)
    assert spy.gradcheck(c.at, {"origin": rng.random((5, 3)), "dir": rng.random((5, 3), dtype=np.float32), "t": 2.0})
    assert spy.gradcheck(c.parts, rng.random((5, 3), dtype=np.float32), 2.0, buffer3(device, 5), spy.Tensor.empty(device, (5,), "float"))
    assert spy.gradcheck(c.constant, a, 3.0)
    assert spy.gradcheck(c.poly, rng.random(1000, dtype=np.float32), 1.0, _max_elements=5)


def buffer3(device, n):
    return spy.Tensor.empty(device, (n,), "float3")


def test_gradcheck_in_float64(c):
    """A generic function is checked in float64, so that a tolerance holds that float32 cannot meet."""
    x = rng.random(5, dtype=np.float32) + 1
    assert spy.gradcheck(c.cube, x, 2.0, _rtol=1e-8, _atol=1e-8)
    assert spy.gradcheck(c.poly, x, 2.0)


def test_gradcheck_disagrees(c):
    """A failed gradcheck() names the argument, the element and both values."""
    with pytest.raises(spy.Error) as error:
        spy.gradcheck(c.wrong, np.float32([1, 2, 3]), 1.0)
    found = re.fullmatch(r"gradcheck: wrong: 1 of 4 gradients are wrong; the worst: argument 'x', element \(2,\): expected (\S+), by central differences, "
                         r"got (\S+), by the derivative", str(error.value))
    assert found, str(error.value)
    assert abs(float(found[2]) / float(found[1]) - 1.5) < 1e-3
    assert spy.gradcheck(c.wrong, np.float32([1, 2, 3]), 1.0, _raise=False) is False
    assert spy.gradcheck(c.wrong, np.float32([1, 2]), 1.0, _raise=False) is True


def test_gradcheck_leaves_arguments(device, c):
    """gradcheck() works on copies of the arguments."""
    t = spy.Tensor.from_numpy(device, np.float32([1, 2])).with_grads()
    assert spy.gradcheck(c.poly, t, 1.0)
    assert t.to_numpy().tolist() == [1, 2] and not t.grad.to_numpy().any()


@pytest.mark.parametrize("call, words", [
    (lambda c: spy.gradcheck(c.change, 2.0), "'x' is an inout parameter"),
    (lambda c: spy.gradcheck(c.plain, 2.0), "it is not differentiable"),
    (lambda c: spy.gradcheck(c.count, 2), "gradient|floats of one type"),
    (lambda c: spy.gradcheck(c.poly, 2.0), "Parameter 'b' not specified"),
    (lambda c: spy.gradcheck(c.poly, "x", 1), "Unsupported type"),
])
def test_gradcheck_refuses(c, call, words):
    with pytest.raises((spy.Error, ValueError, TypeError), match=words):
        call(c)
    assert spy.gradcheck(c.poly, 1.0, 2.0)


@pytest.mark.parametrize("n, k", [(5, 3), (3, 1), (1, 3), (5, 2), (0, 3)])
def test_nested_loops(c, n, k):
    """For nested loops with different [MaxIters] Slang mixes up the values that it saves (shader-slang/slang#13000); the library
    corrects this."""
    assert spy.gradcheck(c.nested, rng.random(6, dtype=np.float32), n, k)
