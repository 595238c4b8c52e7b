"""Gradients through draws. What module.draw.bwds() adds is compared with central differences of pictures that module.draw() draws, in
scenes of random triangles, with gradients only where the same triangle stays visible; and, with edges, with central differences of
pictures of 8 x 8 times as many pixels.

Error bound inside: |got - expected| <= 1e-3 * |expected|, of derivatives in a direction that is half the gradient's own."""
import os

import numpy as np
import pytest

import slangpy as spy

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
SCENES = 24 if os.environ.get("SPY_TEST_SIZE") == "small" else 216


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
    """Random triangles at different depths, with perspective; a light, a tint, a texture and a camera."""

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
    """The pixels all of whose neighbours show the same triangle, and whose samples are not near a bend of the texture's filter."""
    number, texels = np.rint(picture[..., 3]), picture[..., :2] * 4 - 0.5
    good = (number > 0) & (np.abs(texels - np.rint(texels)) > 0.05).all(axis=-1)
    for y in (-1, 0, 1):
        for x in (-1, 0, 1):
            good &= np.roll(np.roll(number, y, 0), x, 1) == number
    good[[0, -1]] = good[:, [0, -1]] = False
    return good


# Of each group a step by which pictures are compared: small where they are no polynomials.
GROUPS = {("position",): 5e-3, ("camera",): 3e-3, ("color", "gain"): 5e-3, ("uv",): 2e-3, ("tint", "direction", "power"): 1e-2, ("image",): 1e-1}


def test_random_scenes_against_central_differences(device, m):
    """Attributes, uniforms of both functions, textures and positions."""
    worst = dict.fromkeys(GROUPS, 0.0)
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
        for group, step in GROUPS.items():
            length = np.sqrt(sum((grads[k] ** 2).sum() for k in group))
            random = {k: scene.rng.standard_normal(grads[k].shape) for k in group}
            size = np.sqrt(sum((r ** 2).sum() for r in random.values()))
            direction = {k: grads[k] / length + random[k] / size for k in group}
            got = sum((grads[k] * direction[k]).sum() for k in group)
            ends = [(scene.picture(**{k: scene.values[k] + by * direction[k] for k in group}) * weights).sum() for by in (step, -step)]
            expected = (ends[0] - ends[1]) / (2 * step)
            error = abs(got - expected) / abs(expected)
            worst[group] = max(worst[group], error)
    print(tested, worst)
    assert tested >= SCENES * 0.9
    assert max(worst.values()) <= 1e-3
