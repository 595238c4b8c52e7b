"""Gradients through draws. What module.draw.bwds() adds is compared with central differences of pictures that module.draw() draws, in
scenes of random triangles. Without edges, only pixels count in which the same triangle stays visible; with edges, the pictures for the
differences have 8 x 8 times as many pixels.

Error bound without edges: |got - expected| <= 1e-3 * |expected|, for derivatives in a direction that is half the gradient's own."""

import os

import numpy as np
import pytest

import slangpy as spy
from conftest import EVERY

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_draw_gradients.c has the same subject

SHADERS = """
import slangpy;
struct Vertex : IDifferentiable { float4 position : POSITION; float3 color : COLOR; float2 uv : TEXCOORD; };
struct Varying : IDifferentiable { float4 position : SV_Position; float3 color : COLOR; float2 uv : TEXCOORD; float number : NUMBER; };
struct Light : IDifferentiable { float3 direction; float power; };

[Differentiable] [shader("vertex")]
Varying vertex_main(Vertex v, no_diff float number : NUMBER, uniform float4x4 camera, uniform float gain)
{
    Varying o;
    o.position = mul(camera, v.position);
    o.color = v.color * gain;
    o.uv = v.uv;
    o.number = number;
    return o;
}

[Differentiable] [shader("fragment")]
float4 fragment_main(Varying v, uniform Light light, uniform float3 tint, uniform Texture2D<float4> image, uniform SamplerState how) : SV_Target
{
    float4 texel = image.SampleLevel(how, v.uv, 0);
    float shine = light.power * dot(v.color, light.direction) + 0.1 * v.position.z + 0.001 * v.position.x * v.color.y + 0.1 * v.position.w;
    return float4(texel.rgb * shine + tint * v.color * v.color, v.number);
}

[shader("fragment")] float4 fragment_uv(Varying v) : SV_Target { return float4(v.uv, 0, v.number); }
"""
W, H, TRIANGLES = 40, 32, 3
SCENES = 216 if os.environ.get("SPY_TEST_SIZE") == "soak" else 12 if EVERY else 4


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "test_draw_gradients", SHADERS)


def make_target(device, width=W, height=H, format=spy.Format.rgba32_float):
    usage = spy.TextureUsage.render_target | spy.TextureUsage.shader_resource
    return device.create_texture(format=format, width=width, height=height, usage=usage).with_grads()


def tensor(device, array, grad=True):
    t = spy.Tensor.from_numpy(device, np.ascontiguousarray(array, np.float32))
    return t.with_grads() if grad else t


class Scene:
    """A scene of random triangles at different depths, seen with perspective, with a light, a tint, a texture and a camera."""

    def __init__(self, device, m, seed):
        self.device, self.m, rng = device, m, np.random.default_rng(seed)
        self.rng = rng
        n = 3 * TRIANGLES
        turn = rng.random((TRIANGLES, 1)) * 6 + np.array([0, 2.1, 4.2]) + rng.uniform(-0.4, 0.4, (TRIANGLES, 3))
        w = rng.uniform(0.7, 1.5, (TRIANGLES, 3))
        middle = rng.uniform(-0.4, 0.4, (TRIANGLES, 2, 1))
        xy = middle + rng.uniform(0.6, 1.0, (TRIANGLES, 1, 1)) * np.stack([np.cos(turn), np.sin(turn)], 1)
        z = np.arange(TRIANGLES)[:, None] * 0.3 + rng.uniform(0.05, 0.25, (TRIANGLES, 3))
        position = np.concatenate([xy * w[:, None], (z * w)[:, None], w[:, None]], 1).transpose(0, 2, 1).reshape(n, 4)
        camera = np.eye(4) + rng.uniform(-0.03, 0.03, (4, 4))
        camera[3] = [0, 0, 0, 1]
        self.values = {"position": position, "color": rng.random((n, 3)), "uv": rng.uniform(0.1, 0.9, (n, 2)), "camera": camera,
                       "gain": np.array([rng.uniform(0.5, 1.5)]), "tint": rng.random(3), "direction": rng.standard_normal(3),
                       "power": np.array([rng.uniform(0.5, 2)]), "image": rng.random((4, 4, 4))}
        self.values = {k: v.astype(np.float32).astype(float) for k, v in self.values.items()}
        self.numbers = np.repeat(np.arange(1, TRIANGLES + 1), 3)
        self.how = device.create_sampler(address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge)
        self.target = make_target(device)
        self.depth = device.create_texture(format=spy.Format.d32_float, width=W, height=H, usage=spy.TextureUsage.depth_stencil)
        self.indices = rng.permutation(TRIANGLES)[:, None] * 3 + np.arange(3) if seed % 2 else None

    def picture(self, fragment="fragment_main", **changes):
        v = {**self.values, **changes}
        image = self.device.create_texture(format=spy.Format.rgba32_float, width=4, height=4, data=v["image"].astype(np.float32))
        uniforms = {} if fragment != "fragment_main" else {
            "tint": spy.float3(*v["tint"]), "image": image, "how": self.how,
            "light": {"direction": spy.float3(*v["direction"]), "power": float(v["power"][0])}}
        self.m.draw("vertex_main", fragment, vertices={"position": v["position"], "color": v["color"], "uv": v["uv"], "number": self.numbers.astype(np.float32)},
                    indices=self.indices, target=self.target, clear=[0, 0, 0, 0], depth={"texture": self.depth, "clear": 1.0},
                    camera=spy.float4x4(v["camera"].astype(np.float32)), gain=float(v["gain"][0]), **uniforms)
        return self.target.to_numpy().astype(float)

    def gradients(self, weights, **options):
        v = self.values
        t = {k: tensor(self.device, a) for k, a in v.items() if k != "image"}
        image = self.device.create_texture(format=spy.Format.rgba32_float, width=4, height=4, data=v["image"].astype(np.float32)).with_grads()
        self.target.grad.copy_from_numpy(weights.astype(np.float32))
        self.m.draw.bwds("vertex_main", "fragment_main", vertices={"position": t["position"], "color": t["color"], "uv": t["uv"], "number": tensor(self.device, self.numbers, False)},
                         indices=self.indices, target=self.target, clear=[0, 0, 0, 0], depth={"texture": self.depth, "clear": 1.0},
                         camera=t["camera"], gain=t["gain"], tint=t["tint"], light={"direction": t["direction"], "power": t["power"]},
                         image=image, how=self.how, **options)
        grads = {k: a.grad.to_numpy().astype(float) for k, a in t.items()}
        grads["image"] = image.grad.to_numpy().astype(float)
        return grads


def inside(picture):
    """Returns the pixels whose neighbours all show the same triangle, and whose samples are not near a bend of the texture's filter."""
    number, texels = np.rint(picture[..., 3]), picture[..., :2] * 4 - 0.5
    good = (number > 0) & (np.abs(texels - np.rint(texels)) > 0.05).all(axis=-1)
    for y in (-1, 0, 1):
        for x in (-1, 0, 1):
            good &= np.roll(np.roll(number, y, 0), x, 1) == number
    good[[0, -1]] = good[:, [0, -1]] = False
    return good


# The step of the differences for each group of inputs. It is small where pictures are not polynomials of the inputs.
GROUPS = {("position",): 5e-3, ("camera",): 3e-3, ("color", "gain"): 5e-3, ("uv",): 2e-3, ("tint", "direction", "power"): 1e-2, ("image",): 1e-1}


def test_random_scenes_against_central_differences(device, m):
    """Gradients of attributes, of uniforms of both functions, of textures and of positions equal central differences."""
    # A GPU knows 256 places in a pixel and in a texel: its pictures do not follow small steps of positions and of uv, and filter
    # with weights of 8 bits.
    software = device.info.adapter_name.startswith("llvmpipe")
    groups = {g: s for g, s in GROUPS.items() if software or not {"position", "camera", "uv"} & set(g)}
    worst = dict.fromkeys(groups, 0.0)
    tested = 0
    for seed in range(SCENES):
        scene = Scene(device, m, seed)
        good = inside(scene.picture("fragment_uv"))
        if good.sum() < 40:
            continue
        tested += 1
        weights = scene.rng.standard_normal((H, W, 4)) * good[..., None]
        weights[..., 3] = 0
        grads = scene.gradients(weights)
        for group, step in groups.items():
            length = np.sqrt(sum((grads[k] ** 2).sum() for k in group))
            random = {k: scene.rng.standard_normal(grads[k].shape) for k in group}
            size = np.sqrt(sum((r ** 2).sum() for r in random.values()))
            direction = {k: grads[k] / length + random[k] / size for k in group}
            got = sum((grads[k] * direction[k]).sum() for k in group)
            ends = [(scene.picture(**{k: scene.values[k] + by * direction[k] for k in group}) * weights).sum() for by in (step, -step)]
            expected = (ends[0] - ends[1]) / (2 * step)
            error = abs(got - expected) / abs(expected)
            worst[group] = max(worst[group], error)
    assert tested >= SCENES * 0.9
    assert all(w <= (1e-3 if software else 5e-3 if g == ("image",) else 2e-3) for g, w in worst.items()), worst


# >>edges


def corners_of(seed):
    rng = np.random.default_rng(seed)
    turn = rng.random() * 6 + np.array([0, 2.1, 4.2]) + rng.random(3) * 0.5
    return np.stack([0.7 * np.cos(turn), 0.7 * np.sin(turn), np.full(3, 0.5), np.ones(3)], axis=1)


MOVING = """
import slangpy;
struct Varying : IDifferentiable { float4 position : SV_Position; float3 color : COLOR; };
[Differentiable] [shader("vertex")] Varying vertex_main(float4 position : POSITION, float3 color : COLOR, uniform float2 by)
{
    Varying o;
    o.position = float4(position.x + by.x, position.y + by.y, position.z, position.w);
    o.color = color;
    return o;
}
[Differentiable] [shader("fragment")] float4 fragment_main(Varying v) : SV_Target { return float4(v.color.x, v.color.y, v.color.z, v.color.x * v.color.y); }
[Differentiable] [shader("fragment")] float4 fragment_flat(Varying v) : SV_Target { return float4(v.color.x, 0, 0, 0); }
"""


@pytest.fixture(scope="module")
def moving(device):
    return spy.Module.load_from_source(device, "test_draw_gradients_moving", MOVING)


BACK = [0.3, 0.1, 0.2, 0.5]
SIZE, TIMES = 128, 8


def smooth_weights(size):
    y, x = np.mgrid[0:size, 0:size] / size
    return np.stack([np.sin(5 * x + i) * np.cos(4 * y - i) for i in range(4)], axis=-1)


def average(device, m, position, color, weights, indices=None, depth=False, by=(0, 0)):
    """Returns the weighted sum over a picture whose pixels are averages of smaller pixels."""
    target = make_target(device, SIZE * TIMES, SIZE * TIMES)
    buffer = device.create_texture(format=spy.Format.d32_float, width=SIZE * TIMES, height=SIZE * TIMES, usage=spy.TextureUsage.depth_stencil) if depth else None
    m.draw("vertex_main", "fragment_main", vertices={"position": position, "color": color}, indices=indices, target=target, clear=BACK,
           depth={"texture": buffer, "clear": 1.0} if depth else None, by=spy.float2(*by))
    picture = target.to_numpy().astype(float).reshape(SIZE, TIMES, SIZE, TIMES, 4).mean(axis=(1, 3))
    return (picture * weights).sum()


def edge_gradients(device, m, position, color, weights, indices=None, depth=False, edges=True, by=None):
    target = make_target(device, SIZE, SIZE)
    buffer = device.create_texture(format=spy.Format.d32_float, width=SIZE, height=SIZE, usage=spy.TextureUsage.depth_stencil) if depth else None
    target.grad.copy_from_numpy(weights.astype(np.float32))
    p = tensor(device, position)
    m.draw.bwds("vertex_main", "fragment_main", vertices={"position": p, "color": color}, indices=indices, target=target, clear=BACK,
                depth={"texture": buffer, "clear": 1.0} if depth else None, by=spy.float2(0, 0) if by is None else by, edges=edges)
    return p.grad.to_numpy().astype(float)[:, :2]


@pytest.mark.share(1)
@pytest.mark.parametrize("seed", range(4))
def test_a_moving_triangle(device, moving, seed):
    """The total derivative of a moving triangle with edges is within 5 % of that of averaged pictures; without edges it is far off."""
    position, color = corners_of(seed), np.random.default_rng(seed).random((3, 3))
    weights, step = smooth_weights(SIZE), 1 / SIZE
    by = tensor(device, np.zeros(2))
    got = edge_gradients(device, moving, position, color, weights, by=by)
    expected = np.zeros((3, 2))
    for i in np.ndindex(3, 2):
        ends = []
        for s in (step, -step):
            p = position.copy()
            p[i] += s
            ends.append(average(device, moving, p, color, weights))
        expected[i] = (ends[0] - ends[1]) / (2 * step)
    assert np.linalg.norm(got - expected) <= 0.05 * np.linalg.norm(expected)
    moved = [(average(device, moving, position, color, weights, by=np.eye(2)[a] * step) - average(device, moving, position, color, weights, by=-np.eye(2)[a] * step)) / (2 * step)
             for a in (0, 1)]
    assert np.linalg.norm(by.grad.to_numpy() - moved) <= 0.05 * np.linalg.norm(moved)
    assert np.linalg.norm(edge_gradients(device, moving, position, color, weights, edges=False) - expected) > 0.5 * np.linalg.norm(expected)


def test_edges_between_triangles(device, moving):
    """Gradients are right for a vertex inside a surface where two colours meet, and for one triangle in front of another."""
    weights, step = smooth_weights(SIZE), 1 / SIZE
    # A fan around a vertex: the colours go on over its inner edges, so they add nothing that pixels do not.
    ring = np.array([[-0.7, -0.6], [0.65, -0.7], [0.6, 0.7], [-0.65, 0.6], [0.1, 0.05]])
    fan = np.concatenate([ring, np.full((5, 1), 0.5), np.ones((5, 1))], axis=1)
    indices = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], np.uint32)
    # Two triangles at different depths, the nearer one first.
    pair = np.concatenate([corners_of(5), corners_of(6)])
    pair[:3, 2], pair[3:, 2] = 0.2, 0.6
    for position, order, depth, moved in ((fan, indices, False, [4]), (pair, None, True, [0, 1, 2]), (pair, None, True, [3, 4, 5])):
        color = np.random.default_rng(8).random((len(position), 3))
        if depth:  # each triangle has one color here, so that it does not matter how many pixel centres a narrow slope covers
            color = np.repeat(color[:2], 3, axis=0)
        got = edge_gradients(device, moving, position, color, weights, order, depth)[moved].sum(axis=0)
        expected = np.zeros(2)
        for i in range(2):
            ends = []
            for s in (step, -step):
                p = position.copy()
                p[moved, i] += s
                ends.append(average(device, moving, p, color, weights, order, depth))
            expected[i] = (ends[0] - ends[1]) / (2 * step)
        assert np.linalg.norm(got - expected) <= 0.05 * np.linalg.norm(expected)


# >>what a draw can have

MORE = """
import slangpy;
struct Vertex : IDifferentiable { float2 position : POSITION; float weight : WEIGHT; };
struct Mixed : IDifferentiable { no_diff float2 uv : TEXCOORD; float2 position : POSITION; float weight : WEIGHT; };
struct Varying : IDifferentiable { float4 position : SV_Position; float weight : WEIGHT; };
struct Two : IDifferentiable { float4 first : SV_Target0; float2 second : SV_Target1; };
struct Tagged : IDifferentiable { float4 position : SV_Position; float weight : WEIGHT; nointerpolation int tag : TAG; };

[Differentiable] [shader("vertex")] Varying vertex_struct(Vertex v)
{
    Varying o; o.position = float4(v.position.x, v.position.y, 0, 1); o.weight = v.weight; return o;
}
[Differentiable] [shader("vertex")] Varying vertex_mixed(Mixed v)
{
    Varying o; o.position = float4(v.position.x, v.position.y, 0, 1); o.weight = v.weight * v.uv.x; return o;
}
[Differentiable] [shader("vertex")] Varying vertex_instance(float2 position : POSITION, float weight : WEIGHT, float2 offset : OFFSET, uint number : SV_InstanceID)
{
    Varying o; o.position = float4(position.x + offset.x, position.y + offset.y, 0, 1); o.weight = weight * float(number + 1) + offset.x * offset.y; return o;
}
[Differentiable] [shader("vertex")] Varying vertex_made(uint id : SV_VertexID, uniform float size)
{
    Varying o;
    o.position = float4((id & 1) != 0 ? 1.0 : -1.0, (id & 2) != 0 ? 1.0 : -1.0, 0, 1);
    o.weight = size * float(id);
    return o;
}
[Differentiable] [shader("vertex")] Tagged vertex_tagged(float2 position : POSITION, float weight : WEIGHT, int tag : TAG)
{
    Tagged o; o.position = float4(position.x, position.y, 0, 1); o.weight = weight; o.tag = tag; return o;
}
[shader("vertex")] Varying vertex_plain(float2 position : POSITION, float weight : WEIGHT) { return { float4(position, 0, 1), weight }; }
[Differentiable] [shader("fragment")] float4 fragment_main(Varying v, uniform float gain) : SV_Target { return float4(gain * v.weight, v.weight, 0, 1); }
[Differentiable] [shader("fragment")] float4 fragment_tagged(Tagged v, uniform float gain) : SV_Target { return float4(gain * v.weight * float(v.tag), 0, 0, 1); }
[Differentiable] [shader("fragment")] Two fragment_two(Varying v, uniform float gain)
{
    Two o; o.first = float4(gain, 0, v.weight, 1); o.second = float2(gain * gain, v.weight); return o;
}
[Differentiable] [shader("fragment")] float4 fragment_side(Varying v, bool front : SV_IsFrontFace, uniform float gain) : SV_Target { return float4(front ? gain : gain * gain, 0, 0, 1); }
[shader("fragment")] float4 fragment_plain(Varying v, uniform float gain) : SV_Target { return float4(gain * v.weight, v.weight, 0, 1); }
[Differentiable] [shader("fragment")] float4 fragment_sample(Varying v, uint sample : SV_SampleIndex, uniform float gain) : SV_Target { return float4(gain, 0, 0, float(sample)); }
float shade(float x) { return x; }
"""
SQUARE = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
HALVES = np.array([0, 1, 2, 2, 1, 3], np.uint32)


@pytest.fixture(scope="module")
def more(device):
    return spy.Module.load_from_source(device, "test_draw_gradients_more", MORE)


def ones(device, size=8, format=spy.Format.rgba32_float):
    target = make_target(device, size, size, format)
    target.grad.copy_from_numpy(np.ones((size, size, 4), np.float32))
    return target


def number(device, value):
    return tensor(device, np.array([value]))


@pytest.mark.share(1)
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int32])
def test_indices(device, more, dtype):
    """Indices have 16 or 32 bits, and the corners' shares of each pixel sum to 1."""
    weight, gain = tensor(device, [1, 2, 3, 4]), number(device, 2)
    more.draw.bwds("vertex_struct", "fragment_main", vertices={"position": tensor(device, SQUARE), "weight": weight},
                   indices=spy.Tensor.from_numpy(device, HALVES.astype(dtype)), target=ones(device), gain=gain)
    grad = weight.grad.to_numpy()
    assert np.allclose(grad.sum(), 64 * (2 + 1), rtol=1e-5)
    assert np.allclose(grad[1], grad[2], rtol=1e-4) and grad[1] > grad[0] > 0
    assert np.allclose(gain.grad.to_numpy(), 64 * 2.5, rtol=1e-4)


def test_attributes_in_a_grid(device, more):
    """An attribute tensor of more dimensions gives its elements in row-major order."""
    weight, position = tensor(device, [[1, 2], [3, 4]]), tensor(device, SQUARE.reshape(2, 2, 2))
    more.draw.bwds("vertex_struct", "fragment_main", vertices={"position": position, "weight": weight}, indices=HALVES, target=ones(device), gain=2.0)
    line = tensor(device, [1, 2, 3, 4])
    more.draw.bwds("vertex_struct", "fragment_main", vertices={"position": SQUARE, "weight": line}, indices=HALVES, target=ones(device), gain=2.0)
    assert np.allclose(weight.grad.to_numpy().reshape(-1), line.grad.to_numpy(), rtol=1e-4)
    assert position.grad.to_numpy().shape == (2, 2, 2) and np.abs(position.grad.to_numpy()).max() > 1


def test_structs_and_strips(device, more):
    """A tensor of vertex structs has a gradient, and a triangle strip gives the same gradient as a list."""
    vertices = spy.Tensor.empty(device, (4,), dtype=more.Vertex)
    vertices.copy_from_numpy(np.concatenate([SQUARE, [[1], [2], [3], [4]]], axis=1).astype(np.float32))
    vertices = vertices.with_grads()
    found = []
    for more_keywords in ({"indices": HALVES}, {"topology": "triangle_strip"}):
        vertices.grad.clear()
        more.draw.bwds("vertex_struct", "fragment_main", vertices=vertices, target=ones(device), gain=2.0, **more_keywords)
        found.append(vertices.grad.to_numpy().copy().view(np.float32).reshape(4, 3))
    assert np.allclose(found[0], found[1], rtol=1e-4, atol=1e-4)
    assert np.allclose(found[0][:, 2].sum(), 64 * 3, rtol=1e-5) and np.abs(found[0][:, :2]).max() > 1


def test_fields_without_derivative(device, more):
    """Fields without a derivative, such as integers, are constants. A Differential that lacks such fields is refused as the gradient of a
    whole struct."""
    weight = tensor(device, [1, 2, 3, 4])
    more.draw.bwds("vertex_mixed", "fragment_main", vertices={"uv": np.full((4, 2), 3.0), "position": SQUARE, "weight": weight}, indices=HALVES,
                   target=ones(device), gain=2.0)
    assert np.allclose(weight.grad.to_numpy().sum(), 64 * 3 * 3, rtol=1e-5)
    vertices = spy.Tensor.zeros(device, (4,), dtype=more.Mixed).with_grads()
    with pytest.raises(Exception, match="has not all fields of Mixed"):
        more.draw.bwds("vertex_mixed", "fragment_main", vertices=vertices, indices=HALVES, target=ones(device), gain=2.0)


def test_instances(device, more):
    """The gradient of an instance's attribute is the sum over its vertices."""
    weight, offset = tensor(device, [1, 2, 3, 4]), tensor(device, [[0, 0], [0, 0]])
    more.draw.bwds("vertex_instance", "fragment_main", vertices={"position": SQUARE / 2, "weight": weight}, per_instance={"offset": offset}, instances=2,
                   indices=HALVES, target=ones(device), depth=None, gain=2.0)
    # The second instance lies over the first. It uses the same weights, and the first instance's offset gets no gradient.
    assert np.allclose(weight.grad.to_numpy().sum(), 16 * 3 * 2, rtol=1e-5)
    assert (offset.grad.to_numpy()[0] == 0).all() and np.abs(offset.grad.to_numpy()[1]).max() > 0


def test_vertices_that_are_made(device, more):
    size = number(device, 0.5)
    more.draw.bwds("vertex_made", "fragment_main", 4, target=ones(device), topology="triangle_strip", gain=2.0, size=size)
    assert np.allclose(size.grad.to_numpy(), 64 * 1.5 * 3, rtol=1e-5)


def test_integers_are_flat(device, more):
    """Integer attributes come from the first corner of the triangle."""
    gain = number(device, 1)
    more.draw.bwds("vertex_tagged", "fragment_tagged", vertices={"position": SQUARE, "weight": np.ones(4), "tag": np.array([5, 7, 11, 13], np.int32)},
                   indices=HALVES, target=ones(device), gain=gain)
    more_target = make_target(device, 8, 8)
    more.draw("vertex_tagged", "fragment_tagged", vertices={"position": SQUARE, "weight": np.ones(4), "tag": np.array([5, 7, 11, 13], np.int32)},
              indices=HALVES, target=more_target, gain=1.0)
    assert np.allclose(gain.grad.to_numpy(), more_target.to_numpy()[..., 0].sum(), rtol=1e-6)


MODES = """
import slangpy;
struct Varying : IDifferentiable { float4 position : SV_Position; float a : A; nointerpolation float2 b : B; noperspective float c : C; };
[Differentiable] [shader("vertex")] Varying vertex_main(float4 position : POSITION, float3 value : VALUE)
{
    Varying o; o.position = position; o.a = value.x; o.b = float2(value.y, value.z); o.c = value.x; return o;
}
[Differentiable] [shader("fragment")] float4 fragment_main(Varying v) : SV_Target { return float4(v.a, v.b.x * v.b.y, v.c * v.c, 1); }
"""


def test_interpolation(device):
    """Gradients follow the draw's nointerpolation and noperspective attributes, beside attributes with perspective."""
    module = spy.Module.load_from_source(device, "test_draw_gradients_modes", MODES)
    rng = np.random.default_rng(3)
    position = np.array([[-0.9, -0.9, 0, 1], [-0.9 * 2, 0.9 * 2, 0, 2], [0.9 * 0.5, -0.9 * 0.5, 0, 0.5]])
    value = rng.random((3, 3))
    target, p, v = make_target(device, 32, 32), tensor(device, position), tensor(device, value)
    # Only pixels away from the view's border count: lavapipe's values without perspective are wrong where it clips.
    weights = rng.standard_normal((32, 32, 4)) * (np.add.outer(-np.arange(32), np.arange(32)) < -4)[..., None]
    weights[:, :4] = weights[28:] = 0
    target.grad.copy_from_numpy(weights.astype(np.float32))
    module.draw.bwds("vertex_main", "fragment_main", vertices={"position": p, "value": v}, target=target)

    def loss(position, value):
        module.draw("vertex_main", "fragment_main", vertices={"position": position, "value": value}, target=target, clear=[0, 0, 0, 0])
        return (target.to_numpy().astype(float) * weights).sum()

    for t, at, step in ((v, 1, 1e-2), (p, 0, 2 ** -9)):  # 8 of the 256 places that a GPU knows in a pixel
        expected = np.zeros(t.shape)
        for i in np.ndindex(*expected.shape):
            if at == 0 and i[1] == 2:
                continue  # of z nothing is seen
            ends, size = [], step * 16 if at == 0 and i[1] == 3 else step  # w moves by no whole places: by many of them
            size *= position[i[0], 3] if at == 0 else 1
            for s in (size, -size):
                both = [position.copy(), value.copy()]
                both[at][i] += s
                ends.append(loss(*both))
            expected[i] = (ends[0] - ends[1]) / (2 * size)
        assert np.linalg.norm(t.grad.to_numpy() - expected) <= 2e-3 * np.linalg.norm(expected)


def test_targets_formats_and_sides(device, more):
    """Gradients are right with several targets, with 8-bit formats (zero where values are cut off), for the back of a triangle and with
    scissors, and they add to what is there."""
    first, second = ones(device), make_target(device, 8, 8, spy.Format.rg32_float)
    second.grad.copy_from_numpy(np.full((8, 8, 2), 2, np.float32))
    gain = number(device, 3)
    quad = {"vertices": {"position": SQUARE, "weight": np.ones(4)}, "indices": HALVES}
    more.draw.bwds("vertex_struct", "fragment_two", target=[first, second], gain=gain, **quad)
    assert np.allclose(gain.grad.to_numpy(), 64 * (1 + 2 * 6), rtol=1e-5)
    more.draw.bwds("vertex_struct", "fragment_two", target=[first, make_target(device, 8, 8, spy.Format.rg32_float)], scissor=(0, 0, 4, 8), gain=gain, **quad)
    assert np.allclose(gain.grad.to_numpy(), 64 * 13 + 32, rtol=1e-5)
    for value, expected in ((0.5, 64), (3.0, 0)):
        gain = number(device, value)
        more.draw.bwds("vertex_struct", "fragment_main", target=ones(device, format=spy.Format.rgba8_unorm), gain=gain, **quad)
        assert np.allclose(gain.grad.to_numpy(), expected, rtol=1e-5)
    for keywords, expected in (({}, 64), ({"front": "clockwise"}, 64 * 6), ({"cull": "back"}, 64), ({"cull": "front"}, 0)):
        gain = number(device, 3)
        more.draw.bwds("vertex_struct", "fragment_side", target=ones(device), gain=gain, **quad, **keywords)
        assert np.allclose(gain.grad.to_numpy(), expected, rtol=1e-5), keywords


def test_pairs_encoders_and_nothing(device, more):
    """A pair gets its gradient in Python; a command encoder records the backward draw; a draw of nothing adds nothing."""
    pair, quad = spy.floatDiffPair(2.0, 0.0), {"vertices": {"position": SQUARE, "weight": np.ones(4)}, "indices": HALVES}
    more.draw.bwds("vertex_struct", "fragment_main", target=ones(device), gain=pair, **quad)
    assert np.allclose(pair.grad, 64, rtol=1e-5)
    gain, encoder = number(device, 2), device.create_command_encoder()
    more.draw.bwds("vertex_struct", "fragment_main", target=ones(device), gain=gain, _append_to=encoder, **quad)
    assert gain.grad.to_numpy() == 0
    device.submit_command_buffer(encoder.finish())
    assert np.allclose(gain.grad.to_numpy(), 64, rtol=1e-5)
    more.draw.bwds("vertex_struct", "fragment_main", vertices={"position": SQUARE[:0], "weight": np.ones(0)}, target=ones(device), gain=gain)
    assert np.allclose(gain.grad.to_numpy(), 64, rtol=1e-5)


def test_the_same_bits_in_each_run(device, more):
    """deterministic() sums gradients of uniforms to the same bits in each run; for gradients of vertices it is refused."""
    found, quad = set(), {"vertices": {"position": SQUARE, "weight": np.random.default_rng(0).random(4)}, "indices": HALVES}
    for _ in range(3):
        gain = number(device, 2)
        more.draw.bwds("vertex_struct", "fragment_main", target=ones(device, 32), gain=gain, deterministic=True, **quad)
        found.add(gain.grad.to_numpy().tobytes())
    assert len(found) == 1
    quad["vertices"]["weight"] = tensor(device, [1, 2, 3, 4])
    with pytest.raises(Exception, match="deterministic"):
        more.draw.bwds("vertex_struct", "fragment_main", target=ones(device), gain=2.0, deterministic=True, **quad)


def test_reload(device, more):
    """After a reload the gradients are those of the new code."""
    text = MORE.replace("return float4(gain * v.weight, v.weight, 0, 1);", "return float4(gain * gain, v.weight, 0, 1);", 1)
    quad = {"vertices": {"position": SQUARE, "weight": np.ones(4)}, "indices": HALVES}
    module = spy.Module.load_from_source(device, "test_draw_gradients_reload", MORE)
    for expected, code in ((64, None), (64 * 6, text)):
        if code:
            module.reload(code) if hasattr(module, "reload") else pytest.skip("modules from text are not reloaded here")
        gain = number(device, 3)
        module.draw.bwds("vertex_struct", "fragment_main", target=ones(device), gain=gain, **quad)
        assert np.allclose(gain.grad.to_numpy(), expected, rtol=1e-5)


def test_explain(device, more):
    """explain() says which inputs get a gradient, what is exact, and which functions run, or why there is no gradient."""
    quad = dict(vertices={"position": tensor(device, SQUARE), "weight": np.ones(4)}, indices=HALVES, target=ones(device), gain=number(device, 2), clear=[0, 0, 0, 0])
    text = more.draw.explain("vertex_struct", "fragment_main", edges=True, **quad)
    for words in ("gradients of 2 triangles on 8 x 8 pixels", "gain: gets a gradient, by the fragment function's derivative: exact", "weight: a constant",
                  "position: gets a gradient, through the corners of triangles: exact inside, and of edges", "approximate: edges", "bwd_diff(slangpy_draw_shade)"):
        assert words in text
    assert "not counted: which triangle a pixel shows" in more.draw.explain("vertex_struct", "fragment_main", **quad)
    assert "not differentiable" in more.draw.explain("vertex_struct", "fragment_plain", **quad)
    assert quad["gain"].grad.to_numpy() == 0


# >>bad input

def test_refusals(device, more):
    """The error for a parameter without gradients says what was expected."""
    quad = {"vertices": {"position": SQUARE, "weight": np.ones(4)}, "indices": HALVES}
    moved = {"vertices": {"position": tensor(device, SQUARE), "weight": np.ones(4)}, "indices": HALVES}
    bare = device.create_texture(format=spy.Format.rgba32_float, width=8, height=8, usage=spy.TextureUsage.render_target)
    depth = device.create_texture(format=spy.Format.d32_float, width=8, height=8, usage=spy.TextureUsage.depth_stencil)
    half = spy.Tensor.from_numpy(device, SQUARE.astype(np.float16))
    gain = number(device, 2)
    cases = [
        ("no target has a gradient", dict(target=bare, **quad)),
        ("the fragment function 'fragment_plain' is not differentiable", dict(fragment="fragment_plain", **quad)),
        ("the vertex function 'vertex_plain' is not differentiable", dict(vertex="vertex_plain", **moved)),
        ("has no fragment function", dict(fragment=None, target=None, depth={"texture": depth, "clear": 1.0}, gain=None, **quad)),
        ("blended targets have no gradients", dict(blend="alpha", **quad)),
        ("only triangles have gradients", dict(topology="line_list", **quad)),
        ("only filled triangles", dict(wireframe=True, **quad)),
        ("expected SPY_LOAD_CLEAR", dict(depth=depth, **quad)),
        ("edge_gradients needs the colour behind", dict(edges=True, **moved)),
        ("a tensor of half has no gradients", dict(vertices={"position": half, "weight": np.ones(4)}, indices=HALVES)),
        ("SV_SAMPLEINDEX", dict(fragment="fragment_sample", **quad)),
        ("no global shader parameter 'wrong'", dict(wrong=2.0, **quad)),
    ]
    for text, keywords in cases:
        call = dict({"vertex": "vertex_struct", "fragment": "fragment_main", "target": ones(device), "gain": gain}, **keywords)
        if call["gain"] is None:
            del call["gain"]
        with pytest.raises(Exception, match=text):
            more.draw.bwds(**call)
    assert gain.grad.to_numpy() == 0
    # no input of this vertex function has a gradient
    more.draw.bwds("vertex_plain", "fragment_main", target=ones(device), gain=gain, **quad)
    assert np.allclose(gain.grad.to_numpy(), 64, rtol=1e-5)
