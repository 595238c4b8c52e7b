"""Gradients through textures. What a backward call adds to texels, and what it gives for coordinates and levels, is compared with
central differences of a reference in double, which pads an array instead of wrapping indices.

Error bounds. Texels: |got - expected| <= 2e-4 * (1 + |expected|) for up to 64 samples with weights and gradients of up to 1: the library
has weights of its own, in floats. Coordinates and levels, away from the places where the slope jumps: 2e-3 * (1 + |expected|). Samples
themselves are the device's: a GPU's filter has weights of 8 bits (filter_error()).

On a machine without a GPU tests/run plays CUDA's kernels on the CPU for this file (tests/unit/fake_cuda/play.c)."""
import math

import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureAddressingMode, TextureFilteringMode, TextureType

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_texture_grad.c has the same subject

MODES = [TextureAddressingMode.wrap, TextureAddressingMode.mirror_repeat, TextureAddressingMode.clamp_to_edge, TextureAddressingMode.clamp_to_border,
         TextureAddressingMode.mirror_once]
BORDER = (1.0, 1.0, 1.0, 1.0)  # lavapipe supports no other border colours
SOURCE = """
import slangpy;
[Differentiable] float4 at1(DiffTexture1D<float4> t, DiffSamplerState s, float uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float4 at2(DiffTexture2D<float4> t, DiffSamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float at3(DiffTexture3D<float> t, DiffSamplerState s, float3 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float2 layers(DiffTexture2DArray<float2> t, DiffSamplerState s, float3 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float4 lines(DiffTexture1DArray<float4> t, DiffSamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float cubes(DiffTextureCubeArray<float> t, DiffSamplerState s, float4 direction, float level) { return t.SampleLevel(s, direction, level); }
[Differentiable] float cube(DiffTextureCube<float> t, DiffSamplerState s, float3 direction, float level) { return t.SampleLevel(s, direction, level); }
[Differentiable] float4 load(DiffTexture2D<float4> t, int3 at) { return t.Load(at) * t[at.xy]; }
[Differentiable] float4 sum(DiffTexture2D<float4> a, DiffTexture2D<float4> b, DiffSamplerState s, DiffSamplerState r, float2 uv)
{
    return a.Sample(s, uv) * 2 + b.SampleLevel(r, uv, 0) * a.Sample(r, uv);
}
[Differentiable] float4 footprint(DiffTexture2D<float4> t, DiffSamplerState s, float2 uv) { return t.SampleGrad(s, uv, float2(0.5, 0), float2(0, 0.5)); }
[Differentiable] float4 twice(float4 x) { return x * x; }
[Differentiable] float4 beside(float4 x, DiffTexture2D<float4> t, DiffSamplerState s, float2 uv) { return x * t.Sample(s, uv); }
[Differentiable] float weigh(float w, DiffTexture2D<float4> t, DiffSamplerState s, float2 uv) { return w * t.Sample(s, uv).x; }
"""
# Slang's own texture types, in one text whose derivatives know the sampler and in one whose derivatives do not.
PLAIN = """
import slangpy;
struct Material { Texture2D<float4> color; SamplerState how; float4 tint; }
[Differentiable] float4 at2(Texture2D<float4> t, SamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float at3(Texture3D<float> t, SamplerState s, float3 uv, float level) { return t.SampleLevel(s, uv, level); }
[Differentiable] float cube(TextureCube<float> t, SamplerState s, float3 direction, float level) { return t.SampleLevel(s, direction, level); }
[Differentiable] float4 load(Texture2D<float4> t, int3 at) { return t.Load(at) * t[at.xy]; }
[Differentiable] float4 shade(Material m, float2 uv) { return m.tint * m.color.Sample(m.how, uv); }
[Differentiable] float4 mix(Texture2D<float4> a, Texture2D<float4> b, SamplerState s, float2 uv) { return a.Sample(s, uv) + b.Sample(s, uv); }
[Differentiable] float4 both(Texture2D<float4> a, Texture2D<float2> b, SamplerState s, float2 uv) { return a.Sample(s, uv) * b.Sample(s, uv).xyxy; }
[Differentiable] float4 samplers(Texture2D<float4> t, SamplerState s, SamplerState r, float2 uv) { return t.Sample(s, uv) + t.Sample(r, uv); }
[Differentiable] float4 by_array(Texture2D<float4> t, SamplerState[1] s, float2 uv) { return t.Sample(s[0], uv); }
float4 plain(Texture2D<float4> t, SamplerState s, float2 uv) { return t.Sample(s, uv); }
"""
# Samplers that are not arguments, so that derivatives cannot know their address modes.
OUTSIDE = """
import slangpy;
SamplerState how;
[Differentiable] float4 by_global(Texture2D<float4> t, float2 uv) { return t.Sample(how, uv); }
[Differentiable] float4 load(Texture2D<float4> t, int3 at) { return t.Load(at); }
"""
BLOCK = """
import slangpy;
struct Place { SamplerState how; float weight; }
ParameterBlock<Place> place;
[Differentiable] float4 by_block(Texture2D<float4> t, float2 uv) { return t.SampleLevel(place.how, uv, 0) * place.weight; }
"""
UNSEEN = "[Differentiable] float4 shade(Texture2D<float4> t, SamplerState s, float x) { return x * no_diff t.SampleLevel(s, float2(0.5), 0); }"


def is_cuda(gpu):
    return gpu.info.type == spy.DeviceType.cuda


def filter_error(gpu, dims):
    """Returns how far samples of numbers between 0 and 1 may be from those with exact weights: a GPU's weights have 8 bits, for each
    dimension and between levels. lavapipe computes in floats."""
    return 1e-4 if "llvmpipe" in gpu.info.adapter_name else (dims + 1) / 256


@pytest.fixture(scope="module")
def gpu():
    with spy.create_device(spy.DeviceType.vulkan) as device:
        if not device.get_format_support(Format.rgba32_float):
            pytest.skip("the device has no textures of floats")
        yield device
        device.close()


@pytest.fixture(scope="module")
def module(gpu):
    return spy.Module(gpu.load_module_from_source("texture_grad", SOURCE))


@pytest.fixture(scope="module")
def plain(gpu):
    return spy.Module(gpu.load_module_from_source("texture_grad_plain", PLAIN))


def sampler(gpu, mode=TextureAddressingMode.wrap, linear=True, mip_linear=True, **more):
    filters = TextureFilteringMode.linear if linear else TextureFilteringMode.point
    mip = TextureFilteringMode.linear if mip_linear else TextureFilteringMode.point
    modes = list(mode) if isinstance(mode, (list, tuple)) else [mode] * 3
    return gpu.create_sampler(min_filter=filters, mag_filter=filters, mip_filter=mip, address_u=modes[0], address_v=modes[1],
                              address_w=modes[2], border_color=spy.float4(*BORDER), **more)


# >>the reference: textures are lists of levels, each [depth, height,] width, channels; x is the last dimension before the channels

PERIODS = 4


def padded(level, modes):
    """Returns the level padded with PERIODS copies on each side of each dimension, as its address modes make them, border included."""
    for axis in range(level.ndim - 1):
        mode, n = modes[level.ndim - 2 - axis], level.shape[axis]
        width = [(0, 0)] * level.ndim
        width[axis] = (PERIODS * n, PERIODS * n)
        if mode == TextureAddressingMode.mirror_once:
            width[axis] = (n, 0)
            level = np.pad(level, width, mode="symmetric")
            width[axis] = ((PERIODS - 1) * n, PERIODS * n)
            level = np.pad(level, width, mode="edge")
        elif mode == TextureAddressingMode.clamp_to_border:
            level = np.pad(level, width, constant_values=BORDER[0])
        else:
            how = {TextureAddressingMode.wrap: "wrap", TextureAddressingMode.mirror_repeat: "symmetric", TextureAddressingMode.clamp_to_edge: "edge"}
            level = np.pad(level, width, mode=how[mode])
    return level


def in_level(level, modes, linear, uv):
    big = padded(level, modes)
    dims = level.ndim - 1
    at = [uv[:, dims - 1 - axis] * level.shape[axis] + PERIODS * level.shape[axis] - (0.5 if linear else 0) for axis in range(dims)]
    low = [np.floor(a).astype(int) for a in at]
    result = 0.0
    for corner in range(2 ** dims if linear else 1):
        weight, place = 1.0, []
        for axis in range(dims):
            bit = corner >> axis & 1
            f = at[axis] - low[axis] if linear else 0.0
            weight = weight * (f if bit else 1 - f)
            place.append(low[axis] + bit)
        result = result + np.reshape(weight, (-1, 1)) * big[tuple(place)]
    return result


def reference(levels, modes, linear, mip_linear, uv, lod):
    d = np.clip(lod, 0, len(levels) - 1)
    low = np.floor(d).astype(int) if mip_linear else np.clip(np.ceil(d + 0.5).astype(int) - 1, 0, len(levels) - 1)
    f = (d - low if mip_linear else 0 * d)[:, None]
    values = np.stack([in_level(level, modes, linear, uv) for level in levels])
    rows = np.arange(len(uv))
    return (1 - f) * values[low, rows] + f * values[np.minimum(low + 1, len(levels) - 1), rows]


def slopes(f, x, h=1e-6):
    """Returns central differences along each column of a function of rows."""
    out = np.zeros_like(x)
    for column in range(x.shape[1]):
        step = np.zeros_like(x)
        step[:, column] = h
        out[:, column] = (f(x + step) - f(x - step)) / (2 * h)
    return out


def texel_slopes(levels, loss):
    """Returns central differences for each texel of a scalar loss that is linear in the texels."""
    out = [np.zeros_like(level) for level in levels]
    for level, slope in zip(levels, out):
        for index in np.ndindex(*level.shape):
            old = level[index]
            level[index] = old + 1
            high = loss()
            level[index] = old - 1
            slope[index] = (high - loss()) / 2
            level[index] = old
    return out


# >>the library

def texture(gpu, levels, format, type=TextureType.texture_2d, layers=0):
    shape = levels[0].shape[:-1] if not layers else levels[0].shape[1:-1]
    sizes = dict(zip(("width", "height", "depth"), reversed(shape)))
    made = gpu.create_texture(type=type, format=format, mip_count=len(levels), **sizes, **({"array_length": layers} if layers and type != TextureType.texture_cube else {}))
    for mip, level in enumerate(levels):
        for layer in range(layers or 1):
            data = (level[layer] if layers else level).astype(np.float32)
            made.copy_from_numpy(np.ascontiguousarray(data[..., 0] if data.shape[-1] == 1 else data), layer, mip)
    return made


def tensor(gpu, data, dtype):
    made = spy.Tensor.empty(gpu, (len(data),), dtype)
    made.copy_from_numpy(np.ascontiguousarray(data, dtype=np.float32))
    return made


def name_of(columns):
    return "float" if columns == 1 else "float{}".format(columns)


def backward(gpu, function, t, s, uv, lod, grad):
    """Returns the outputs, and the gradients of coordinates and levels as arrays of (N, columns) and (N,)."""
    at, level = tensor(gpu, uv, name_of(uv.shape[1])).with_grads(), tensor(gpu, lod, "float").with_grads()
    out = function(t, s, at, level, _result="tensor")
    function.bwds(t, s, at, level, _result=out.with_grads(tensor(gpu, grad, name_of(grad.shape[1]))))
    return (out.to_numpy().reshape(len(uv), -1), at.grad.to_numpy().reshape(uv.shape), level.grad.to_numpy().reshape(-1))


def close(got, expected, bound):
    got = np.asarray(got, dtype=np.float64).reshape(np.shape(expected))
    error = np.abs(got - expected) / (1 + np.abs(expected))
    assert error.max() <= bound, (error.max(), got.ravel()[error.argmax()], np.ravel(expected)[error.argmax()])


def apart(uv, levels):
    """Returns the coordinates, moved away from texel centres and edges of all levels, where slopes jump."""
    uv = uv.copy()
    for _ in range(4):
        for level in levels:
            n = np.array(level.shape[:-1][::-1], dtype=float)
            near = np.abs(uv * n * 2 - np.round(uv * n * 2)) < 0.02
            uv[near] += 0.013
    return uv


CASES = [("at1", TextureType.texture_1d, Format.rgba32_float, (5,), 4), ("at2", TextureType.texture_2d, Format.rgba32_float, (4, 6), 4),
         ("at3", TextureType.texture_3d, Format.r32_float, (2, 3, 4), 1)]


@pytest.mark.share(9)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("linear", [True, False], ids=["linear", "point"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_texels_and_coordinates(gpu, module, case, linear, mode):
    """Gradients are right for each address mode and filter, in one, two and three dimensions, at coordinates from -1.5 to 2.5."""
    name, kind, format, shape, channels = case
    rng = np.random.default_rng([MODES.index(mode), linear, len(shape)])
    levels = [rng.random(shape + (channels,))]
    t = texture(gpu, levels, format, kind).with_grads()
    uv = apart(rng.random((64, len(shape))) * 4 - 1.5, levels).astype(np.float32).astype(np.float64)
    grad, lod = rng.random((64, channels)), np.zeros(64)
    all_modes = MODES[:4] if is_cuda(gpu) else MODES  # CUDA has no mirror-once address mode
    modes = [mode, all_modes[(MODES.index(mode) + 1) % len(all_modes)], mode] if len(shape) == 2 else [mode] * 3
    out, d_uv, _ = backward(gpu, getattr(module, name), t, sampler(gpu, modes, linear), uv, lod, grad)

    def value(at):
        return (reference(levels, modes, linear, True, at, lod) * grad).sum(1)

    close(out, reference(levels, modes, linear, True, uv, lod), filter_error(gpu, len(shape)))
    close(t.grad.to_numpy(), texel_slopes(levels, lambda: value(uv).sum())[0], 2e-4)
    close(d_uv, slopes(value, uv), 2e-3)


@pytest.mark.parametrize("dims, mip_linear", [(2, True), (2, False), (1, True)], ids=["trilinear", "nearest_level", "lines"])
def test_mip_levels(gpu, module, dims, mip_linear):
    """Gradients are right at fractional levels, also outside of the texture's levels, with the sampler's bias and limits."""
    rng = np.random.default_rng(7)
    levels = [rng.random(tuple(max(n >> k, 1) for n in (7, 10)[2 - dims:]) + (4,)) for k in range(4)]
    t = texture(gpu, levels, Format.rgba32_float, TextureType.texture_2d if dims == 2 else TextureType.texture_1d).with_grads()
    modes = [TextureAddressingMode.wrap] * 3
    lod = (rng.random(64) * 5 - 1).astype(np.float32).astype(np.float64)
    near = (lod + 0.25) * 2  # devices differ at levels that are equally near
    lod[np.abs(near - np.round(near)) < 0.02] += 0.01
    uv, grad = apart(rng.random((64, dims)) * 3 - 1, levels).astype(np.float32).astype(np.float64), rng.random((64, 4))
    s = sampler(gpu, modes, True, mip_linear, mip_lod_bias=0.25, min_lod=0.55, max_lod=2.75)
    out, d_uv, d_lod = backward(gpu, module.at2 if dims == 2 else module.at1, t, s, uv, lod, grad)

    def value(at, level):
        return (reference(levels, modes, True, mip_linear, at, np.clip(level + 0.25, 0.55, 2.75)) * grad).sum(1)

    close(out, reference(levels, modes, True, mip_linear, uv, np.clip(lod + 0.25, 0.55, 2.75)), max(filter_error(gpu, 2), 1e-3))
    expected = texel_slopes(levels, lambda: value(uv, lod).sum())
    for mip, level in enumerate(expected):
        got = t.get_grad(mip)
        assert got.shape == level.shape[:-1]
        close(got.to_numpy(), level, 2e-4)
    close(d_uv, slopes(lambda at: value(at, lod), uv), 2e-3)
    close(d_lod, slopes(lambda level: value(uv, level[:, 0]), lod[:, None])[:, 0], 2e-3)
    t.zero_grad()
    assert not t.get_grad(1).to_numpy().any() and not t.grad.to_numpy().any()


@pytest.mark.parametrize("name, format, kind, shape", [("layers", Format.rg32_float, TextureType.texture_2d_array, (3, 4, 5, 2)),
                                                       ("lines", Format.rgba32_float, TextureType.texture_1d_array, (3, 5, 4))], ids=["2d", "1d"])
def test_layers(gpu, module, name, format, kind, shape):
    """An array's layer is rounded to the nearest number and clamped to the array."""
    rng = np.random.default_rng(3)
    level, dims = rng.random(shape), len(shape) - 2
    t = texture(gpu, [level], format, kind, 3).with_grads()
    at = np.concatenate([apart(rng.random((64, dims)), [level[0]]), rng.random((64, 1)) * 6 - 2], 1).astype(np.float32).astype(np.float64)
    at[:, dims] += np.where(np.abs(at[:, dims] % 1 - 0.5) < 0.01, 0.02, 0)
    grad = rng.random((64, shape[-1]))
    modes = [TextureAddressingMode.mirror_repeat] * 3
    out, d_at, _ = backward(gpu, getattr(module, name), t, sampler(gpu, modes), at, np.zeros(64), grad)
    layer = np.clip(np.rint(at[:, dims]), 0, 2).astype(int)

    def value(uv):
        values = np.stack([in_level(level[k], modes, True, uv) for k in range(3)])
        return (values[layer, np.arange(64)] * grad).sum(1)

    values = np.stack([in_level(level[k], modes, True, at) for k in range(3)])
    close(out, values[layer, np.arange(64)], filter_error(gpu, 2))
    for k in range(3):
        mine = layer == k
        close(t.grad.to_numpy()[k], texel_slopes([level[k]], lambda: (in_level(level[k], modes, True, at[mine]) * grad[mine]).sum())[0], 2e-4)
    close(d_at[:, :dims], slopes(value, at[:, :dims]), 2e-3)
    assert not d_at[:, dims].any()


def inside_faces(level, at):
    """Returns samples of a cube by directions, and which of them, away from jumps of the slope, read texels of one face only."""
    n, rows = level.shape[1], np.arange(len(at))
    axis = np.abs(at).argmax(1)
    x, y, z, sign = at[:, 0], at[:, 1], at[:, 2], np.sign(at[rows, axis])
    s = np.choose(axis, [-sign * z, x, sign * x])
    t = np.choose(axis, [-y, sign * z, -y])
    place = (np.stack([s, t], 1) / np.abs(at[rows, axis])[:, None] + 1) / 2 * n - 0.5
    low = np.clip(np.floor(place).astype(int), 0, n - 2)
    f, face = place - low, 2 * axis + (sign < 0)
    texel = [level[face, low[:, 1] + (k >> 1), low[:, 0] + (k & 1), 0] for k in range(4)]
    value = (texel[0] * (1 - f[:, 0]) + texel[1] * f[:, 0]) * (1 - f[:, 1]) + (texel[2] * (1 - f[:, 0]) + texel[3] * f[:, 0]) * f[:, 1]
    return value, ((place > 0.02) & (place < n - 1.02) & (np.abs(place - np.round(place)) > 0.02)).all(1)


def test_cubes(gpu, module):
    """A cube's samples are linear in its texels, so that differences of the device's own samples are their gradients, over edges and
    corners too; those of the direction are compared with a reference inside of faces, and, if the device has exact filters, with its own
    samples wherever a small step crosses no texel."""
    rng = np.random.default_rng(5)
    n = 3
    level = rng.random((6, n, n, 1))
    kind = TextureType.texture_cube
    direction = rng.normal(size=(96, 3)).astype(np.float32)
    direction[:8] = [[x, y, z] for x in (-1, 1.01) for y in (-1, 1.02) for z in (-1, 1.03)]  # the corners
    grad = rng.random((96, 1)).astype(np.float32)
    s = sampler(gpu, TextureAddressingMode.clamp_to_edge)
    t = texture(gpu, [level], Format.r32_float, kind, 6).with_grads()
    _, d_direction, _ = backward(gpu, module.cube, t, s, direction, np.zeros(96), grad)
    got = t.grad.to_numpy().reshape(6, n, n)
    points = tensor(gpu, direction, "float3")
    for index in np.ndindex(6, n, n):
        one = np.zeros_like(level)
        one[index] = 1
        expected = (module.cube(texture(gpu, [one], Format.r32_float, kind, 6), s, points, 0.0, _result="tensor").to_numpy().reshape(96, 1) * grad).sum()
        close(got[index], expected, 2e-3 if filter_error(gpu, 2) < 1e-3 else 1 / 32)
    assert abs(got.sum() - grad.sum()) < 1e-3
    directions = direction.astype(np.float64)
    inside = inside_faces(level, directions)[1]
    assert inside.sum() > 20
    close(d_direction[inside], slopes(lambda at: inside_faces(level, at)[0] * grad[:, 0], directions)[inside], 2e-3)
    if filter_error(gpu, 2) > 1e-3:
        return

    def value(at):
        return module.cube(t, s, tensor(gpu, at, "float3"), 0.0, _result="tensor").to_numpy().reshape(-1) * grad[:, 0].astype(np.float64)

    coarse, fine = slopes(value, direction, 4e-3), slopes(value, direction, 2e-3)
    smooth = np.abs(coarse - fine).max(1) < 5e-3
    assert smooth.sum() > 40
    close(d_direction[smooth], fine[smooth], 2e-2)


def test_arrays_of_cubes(gpu, module):
    """Each cube of an array of cubes has the gradients of a single cube."""
    rng = np.random.default_rng(47)
    level, direction, grad = rng.random((12, 3, 3, 1)), rng.normal(size=(64, 3)), rng.random((64, 1))
    which = np.repeat([0, 1], 32)
    s = sampler(gpu, TextureAddressingMode.clamp_to_edge)
    both = gpu.create_texture(type=TextureType.texture_cube_array, format=Format.r32_float, width=3, height=3, array_length=2)
    for layer in range(12):
        both.copy_from_numpy(np.ascontiguousarray(level[layer, ..., 0].astype(np.float32)), layer, 0)
    both = both.with_grads()
    out, d_at, _ = backward(gpu, module.cubes, both, s, np.concatenate([direction, which[:, None]], 1), np.zeros(64), grad)
    for k in (0, 1):
        one, mine = texture(gpu, [level[6 * k:6 * k + 6]], Format.r32_float, TextureType.texture_cube, 6).with_grads(), which == k
        expected, d_expected, _ = backward(gpu, module.cube, one, s, direction[mine], np.zeros(32), grad[mine])
        close(out[mine], expected, 1e-6)
        close(d_at[mine, :3], d_expected, 1e-5)
        close(both.grad.to_numpy().reshape(2, 6, 3, 3)[k], one.grad.to_numpy().reshape(6, 3, 3), 1e-6)
        assert np.abs(one.grad.to_numpy()).sum() > 1
    assert not d_at[:, 3].any()


def test_loads(gpu, module):
    """Load() and [] add to exactly one texel, and to none outside of the texture."""
    rng = np.random.default_rng(11)
    level = rng.random((3, 4, 4)).astype(np.float32)
    t = texture(gpu, [level], Format.rgba32_float).with_grads()
    at = np.array([[0, 0, 0], [3, 2, 0], [3, 2, 0], [1, 1, 0]], np.int32)
    places = spy.Tensor.empty(gpu, (4,), "int3")
    places.copy_from_numpy(at)
    out = module.load(t, places, _result="tensor")
    close(out.to_numpy(), level[at[:, 1], at[:, 0]].astype(np.float64) ** 2, 1e-6)
    module.load.bwds(t, places, _result=out.with_grads(tensor(gpu, np.ones((4, 4)), "float4")))
    expected = np.zeros((3, 4, 4))
    for x, y, _ in at:
        expected[y, x] += 2 * level[y, x]
    close(t.grad.to_numpy(), expected, 1e-6)


def test_two_textures_and_two_samplers(gpu, module):
    """Each sample adds to its own texture by its own sampler; gradients of several calls add up."""
    rng = np.random.default_rng(13)
    a, b = rng.random((4, 4, 4)), rng.random((2, 3, 4))
    ta, tb = texture(gpu, [a], Format.rgba32_float).with_grads(), texture(gpu, [b], Format.rgba32_float).with_grads()
    uv = rng.random((32, 2)).astype(np.float32).astype(np.float64) * 2 - 0.5
    first, second = [TextureAddressingMode.wrap] * 3, [TextureAddressingMode.clamp_to_edge] * 3
    s, r = sampler(gpu, first), sampler(gpu, second, False)
    at = tensor(gpu, uv, "float2")
    for _ in range(2):
        module.sum.bwds(ta, tb, s, r, at, _result=module.sum(ta, tb, s, r, at, _result="tensor").with_grads(tensor(gpu, np.ones((32, 4)), "float4")))

    def loss():
        return (in_level(a, first, True, uv) * 2 + in_level(b, second, False, uv) * in_level(a, second, False, uv)).sum()

    close(ta.grad.to_numpy(), 2 * texel_slopes([a], loss)[0], 2e-4)
    close(tb.grad.to_numpy(), 2 * texel_slopes([b], loss)[0], 2e-4)


def test_a_texture_without_gradient_is_a_constant(gpu, module):
    """A function also takes a texture without a gradient, and gives the gradients of the coordinates."""
    rng = np.random.default_rng(17)
    level = rng.random((4, 4, 4))
    t, s = texture(gpu, [level], Format.rgba32_float), sampler(gpu)
    uv = apart(rng.random((16, 2)), [level]).astype(np.float32).astype(np.float64)
    _, d_uv, _ = backward(gpu, module.at2, t, s, uv, np.zeros(16), np.ones((16, 4)))
    close(d_uv, slopes(lambda at: in_level(level, [TextureAddressingMode.wrap] * 3, True, at).sum(1), uv), 2e-3)
    assert t.grad is None and t.get_grad(0) is None
    with pytest.raises(spy.Error, match="no gradient"):
        t.zero_grad()


def test_broadcast_inputs_beside_a_texture_add_once(gpu, module):
    """A number's gradient is summed in further passes; the texture's gradient is added to in only one of them."""
    rng = np.random.default_rng(19)
    level = rng.random((4, 5, 4))
    t, s = texture(gpu, [level], Format.rgba32_float).with_grads(), sampler(gpu)
    uv = rng.random((8, 6, 2)).astype(np.float32).astype(np.float64)
    w = spy.Tensor.empty(gpu, (6,), "float")
    w.copy_from_numpy(rng.random(6).astype(np.float32))
    w = w.with_grads()
    row = spy.Tensor.empty(gpu, (8, 6), "float2")
    row.copy_from_numpy(uv.astype(np.float32))
    at = row.with_grads()
    out = module.weigh(w, t, s, at, _result="tensor")
    ones = spy.Tensor.empty(gpu, (8, 6), "float")
    ones.copy_from_numpy(np.ones((8, 6), np.float32))
    module.weigh.bwds(w, t, s, at, _result=out.with_grads(ones))
    weights = np.tile(w.to_numpy().astype(np.float64), 8)
    x = in_level(level, [TextureAddressingMode.wrap] * 3, True, uv.reshape(-1, 2))[:, 0]
    close(w.grad.to_numpy(), x.reshape(8, 6).sum(0), max(filter_error(gpu, 2), 2e-4))
    close(t.grad.to_numpy(), texel_slopes([level], lambda: (in_level(level, [TextureAddressingMode.wrap] * 3, True, uv.reshape(-1, 2))[:, 0] * weights).sum())[0], 2e-4)


def test_texel_by_texel(gpu, module):
    """A texture with a gradient, for a parameter of its texels' type, behaves as a tensor with a gradient."""
    level = np.random.default_rng(23).random((3, 5, 4)).astype(np.float32)
    t = texture(gpu, [level], Format.rgba32_float).with_grads()
    out = module.twice(t, _result="tensor").with_grads()
    out.grad.copy_from_numpy(np.full((3, 5, 4), 0.5, np.float32))
    module.twice.bwds(t, _result=out)
    close(t.grad.to_numpy(), level.astype(np.float64), 1e-6)
    whole = texture(gpu, [np.full((2, 2, 4), 3.0)], Format.rgba32_float).with_grads()
    at = spy.Tensor.empty(gpu, (3, 5), "float2")
    at.copy_from_numpy(np.full((3, 5, 2), 0.25, np.float32))
    t.zero_grad()
    module.beside.bwds(t, whole, sampler(gpu), at, _result=out)
    close(t.grad.to_numpy(), np.full(level.shape, 1.5), 1e-6)
    close(whole.grad.to_numpy()[0, 0], level.sum((0, 1)) * 0.5, 1e-5)


def test_unorm_and_half_formats(gpu, module):
    """Gradients of unorm and half textures are floats, for the values that shaders read."""
    rng = np.random.default_rng(29)
    for format, data in ((Format.rgba8_unorm, rng.integers(0, 255, (4, 4, 4), dtype=np.uint8)),):
        t = gpu.create_texture(format=format, width=4, height=4, data=data).with_grads()
        uv, grad = rng.random((32, 2)).astype(np.float32).astype(np.float64), rng.random((32, 4))
        backward(gpu, module.at2, t, sampler(gpu), uv, np.zeros(32), grad)
        level = data / 255.0
        close(t.grad.to_numpy(), texel_slopes([level], lambda: (in_level(level, [TextureAddressingMode.wrap] * 3, True, uv) * grad).sum())[0], 2e-4)
        assert t.grad.dtype.name == "vector" or t.grad.dtype.full_name == "vector<float,4>"


def test_sample_grad_finds_the_level(gpu, module):
    """SampleGrad() with a footprint of 4 texels of level 0 reads level 2."""
    levels = [np.full((8 >> k, 8 >> k, 4), float(k)) for k in range(4)]
    t = texture(gpu, levels, Format.rgba32_float).with_grads()
    at = tensor(gpu, np.array([[0.3, 0.4]]), "float2")
    out = module.footprint(t, sampler(gpu), at, _result="tensor")
    close(out.to_numpy(), np.full((1, 4), 2.0), 1e-3)
    module.footprint.bwds(t, sampler(gpu), at, _result=out.with_grads(tensor(gpu, np.ones((1, 4)), "float4")))
    assert abs(t.get_grad(2).to_numpy().sum() - 4) < 1e-3 and abs(t.grad.to_numpy().sum()) < 1e-3


@pytest.mark.parametrize("form", ["module", "plain"])
def test_forward_mode_of_coordinates(gpu, module, plain, form):
    """Coordinates and levels have tangents; texels are constants, so that a texture with a gradient is refused."""
    rng = np.random.default_rng(43)
    levels = [rng.random((4, 6, 4)), rng.random((2, 3, 4))]
    t, s = texture(gpu, levels, Format.rgba32_float), sampler(gpu, TextureAddressingMode.mirror_repeat)
    uv = apart(rng.random((16, 2)) * 3 - 1, levels).astype(np.float32).astype(np.float64)
    lod, d_uv, d_lod = np.full((16, 1), 0.375), rng.normal(size=(16, 2)), rng.normal(size=(16, 1))
    at = tensor(gpu, uv, "float2").with_grads(tensor(gpu, d_uv, "float2"))
    level = tensor(gpu, lod, "float").with_grads(tensor(gpu, d_lod, "float"))
    out = tensor(gpu, np.zeros((16, 4)), "float4").with_grads()
    function = {"module": module, "plain": plain}[form].at2
    function.fwds(t, s, at, level, _result=out)
    modes = [TextureAddressingMode.mirror_repeat] * 3
    h = 1e-6
    expected = (reference(levels, modes, True, True, uv + h * d_uv, (lod + h * d_lod)[:, 0]) - reference(levels, modes, True, True, uv - h * d_uv, (lod - h * d_lod)[:, 0])) / (2 * h)
    close(out.to_numpy(), reference(levels, modes, True, True, uv, lod[:, 0]), filter_error(gpu, 2))
    close(out.grad.to_numpy(), expected, 2e-3)
    with pytest.raises(Exception, match="forward mode"):
        function.fwds(t.with_grads(), s, at, level, _result=out)


def test_deterministic_calls_give_the_same_bits(gpu, module, plain):
    """Samples in any order have the same sum to the bit, which is the exact sum rounded once. Gradients add to what is there."""
    rng = np.random.default_rng(41)
    n = 4096
    level, uv = rng.random((3, 4, 4)), rng.random((n, 2)).astype(np.float32) * 3 - 1
    grad = (rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-9, 9, (n, 4))).astype(np.float32)
    s, sums = sampler(gpu), []
    for order, of in ((np.arange(n), module), (rng.permutation(n), module), (rng.permutation(n), plain)):
        t = texture(gpu, [level, np.ones((1, 2, 4))], Format.rgba32_float).with_grads()
        at, lod = tensor(gpu, uv[order], "float2").with_grads(), tensor(gpu, np.full(n, 0.25), "float").with_grads()
        out = of.at2(t, s, at, lod, _result="tensor").with_grads(tensor(gpu, grad[order], "float4"))
        of.at2.deterministic().bwds(t, s, at, lod, _result=out)
        sums.append([t.get_grad(mip).to_numpy() for mip in (0, 1)])
        of.at2.deterministic().bwds(t, s, at, lod, _result=out)
        for mip in (0, 1):
            close(t.get_grad(mip).to_numpy() / np.abs(sums[-1][mip]).max(), 2.0 * sums[-1][mip].astype(np.float64) / np.abs(sums[-1][mip]).max(), 1e-6)
    for other in sums[1:]:
        for mip in (0, 1):
            assert np.array_equal(sums[0][mip].view(np.uint32), other[mip].view(np.uint32))
    # Loads of one texel show the sums themselves, which are exact to the last bit.
    t = texture(gpu, [np.ones((1, 1, 4))], Format.rgba32_float).with_grads()
    places = spy.Tensor.empty(gpu, (n,), "int3")
    places.copy_from_numpy(np.zeros((n, 3), np.int32))
    out = module.load(t, places, _result="tensor").with_grads(tensor(gpu, grad / 2, "float4"))
    module.load.deterministic().bwds(t, places, _result=out)
    exact = np.array([math.fsum(column) for column in grad.astype(np.float64).T])
    assert np.array_equal(t.grad.to_numpy().ravel(), exact.astype(np.float32)) or np.abs(t.grad.to_numpy().ravel() / exact - 1).max() < 2.0 ** -22
    bad = grad.copy()
    bad[5, 0], bad[6, 1] = np.inf, -1e30
    t.zero_grad()
    module.load.deterministic().bwds(t, places, _result=out.with_grads(tensor(gpu, bad, "float4")))
    assert list(np.isnan(t.grad.to_numpy().ravel())) == [True, True, False, False]
    t.zero_grad()
    module.load.deterministic().bwds(t, places, _result=out)  # no sums are left from the earlier call
    assert np.abs(t.grad.to_numpy().ravel() / exact - 1).max() < 2.0 ** -22


# >>functions of Slang's own textures and samplers

def test_functions_need_no_change(gpu, module, plain):
    """With Texture2D and SamplerState instead of DiffTexture2D and DiffSamplerState outputs and gradients are the same to the bit,
    except for the order of additions."""
    rng = np.random.default_rng(31)
    cases = (("at2", TextureType.texture_2d, Format.rgba32_float, [(6, 5, 4), (3, 2, 4)], 2), ("at3", TextureType.texture_3d, Format.r32_float, [(3, 4, 5, 1)], 3),
             ("cube", TextureType.texture_cube, Format.r32_float, [(6, 4, 4, 1)], 3))
    s = sampler(gpu, [TextureAddressingMode.mirror_repeat, TextureAddressingMode.clamp_to_border, TextureAddressingMode.wrap])
    for name, kind, format, shapes, columns in cases:
        levels = [rng.random(shape) for shape in shapes]
        uv, lod = rng.random((40, columns)) * 3 - 1, rng.random(40) * 1.5
        got = []
        for of in (module, plain):
            t = texture(gpu, levels, format, kind, 6 if name == "cube" else 0).with_grads()
            results = backward(gpu, getattr(of, name), t, s, uv, lod, np.ones((40, shapes[0][-1])))
            got.append(list(results) + [t.get_grad(mip).to_numpy() for mip in range(len(levels))])
        assert np.abs(got[0][3]).sum() > 1
        for one, other in zip(*got):
            close(one, other.astype(np.float64), 1e-5)


def test_plain_loads_and_fields(gpu, plain):
    """Load() and [] of plain textures have gradients, also in structs."""
    rng = np.random.default_rng(37)
    level = rng.random((3, 4, 4)).astype(np.float32)
    t = texture(gpu, [level], Format.rgba32_float).with_grads()
    places = spy.Tensor.empty(gpu, (2,), "int3")
    places.copy_from_numpy(np.array([[3, 2, 0], [1, 1, 0]], np.int32))
    out = plain.load(t, places, _result="tensor")
    plain.load.bwds(t, places, _result=out.with_grads(tensor(gpu, np.ones((2, 4)), "float4")))
    expected = np.zeros((3, 4, 4))
    expected[2, 3], expected[1, 1] = 2 * level[2, 3], 2 * level[1, 1]
    close(t.grad.to_numpy(), expected, 1e-6)
    t.zero_grad()
    at = tensor(gpu, rng.random((8, 2)), "float2")
    material = {"color": t, "how": sampler(gpu), "tint": spy.float4(2, 2, 2, 2)}
    out = plain.shade(material, at, _result="tensor")
    plain.shade.bwds(material, at, _result=out.with_grads(tensor(gpu, np.ones((8, 4)), "float4")))
    assert abs(t.grad.to_numpy().sum() - 64) < 1e-3


FRAGMENT = """
import slangpy;
struct Vertex { float4 position : SV_Position; float2 uv : UV; };
Texture2D<float4> image;
SamplerState how;
[shader("vertex")] Vertex vertex_main(uint id : SV_VertexID)
{
    Vertex v;
    v.uv = float2(id & 1, id >> 1) * 2;
    v.position = float4(v.uv * 2 - 1, 0, 1);
    return v;
}
[Differentiable] float4 shade(Texture2D<float4> t, SamplerState s, float2 uv) { return t.Sample(s, uv); }
[shader("fragment")] float4 fragment_main(Vertex v) : SV_Target { return shade(image, how, v.uv); }
"""


def test_fragment_shaders_still_find_their_level(gpu):
    """Sample() in a draw takes the level from neighbouring pixels, also if it has a derivative: 16 x 16 texels on 4 x 4 pixels give
    level 2."""
    module = gpu.load_module_from_source("texture_grad_fragment", FRAGMENT)
    program = gpu.link_program([module], [module.entry_point("vertex_main"), module.entry_point("fragment_main")])
    target = gpu.create_texture(format=Format.rgba32_float, width=4, height=4, usage=spy.TextureUsage.render_target | spy.TextureUsage.shader_resource)
    t = texture(gpu, [np.full((16 >> k, 16 >> k, 4), float(k)) for k in range(5)], Format.rgba32_float)
    pipeline = gpu.create_render_pipeline(program=program, input_layout=None, targets=[{"format": Format.rgba32_float}])
    encoder = gpu.create_command_encoder()
    with encoder.begin_render_pass({"color_attachments": [{"view": target.create_view(), "load_op": spy.LoadOp.clear}]}) as p:
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.image, cursor.how = t, sampler(gpu)
        p.set_render_state({"viewports": [spy.Viewport.from_size(4, 4)], "scissor_rects": [spy.ScissorRect.from_size(4, 4)]})
        p.draw({"vertex_count": 3})
    gpu.submit_command_buffer(encoder.finish())
    close(target.to_numpy(), np.full((4, 4, 4), 2.0), 1e-3)


def test_what_cannot_be_told_apart_is_refused(gpu, plain):
    """Two textures of one type, or two samplers, are refused if the function's text gives no derivatives to samples."""
    t, s = gpu.create_texture(format=Format.rgba32_float, width=2, height=2, data=np.ones((2, 2, 4), np.float32)), sampler(gpu)
    g, at = t.with_grads(), tensor(gpu, np.zeros((1, 2)), "float2").with_grads()
    out = tensor(gpu, np.zeros((1, 4)), "float4").with_grads()
    with pytest.raises(Exception, match="another texture of the type Texture2D<float4>.*DiffTexture2D<float4>"):
        plain.mix.bwds(g, t, s, at, _result=out)
    with pytest.raises(Exception, match="2 samplers"):
        plain.samplers.bwds(g, s, s, at, _result=out)
    two = gpu.create_texture(format=Format.rg32_float, width=1, height=1, data=np.full((1, 1, 2), 3, np.float32)).with_grads()
    out.grad.copy_from_numpy(np.ones((1, 4), np.float32))
    plain.both.bwds(g, two, s, at, _result=out)
    assert g.grad.to_numpy().sum() == 12 and (two.grad.to_numpy() == 2).all()
    plain.samplers.bwds(t, s, s, at, _result=out)  # the modes of two samplers are not known, so that coordinates get no gradient
    assert np.isnan(at.grad.to_numpy()).all()
    unseen = spy.Module(gpu.load_module_from_source("texture_grad_unseen", UNSEEN))
    x = tensor(gpu, np.ones(1), "float").with_grads()
    with pytest.raises(Exception, match="import slangpy"):
        unseen.shade.bwds(g, s, x, _result=out)
    unseen.shade.bwds(t, s, x, _result=out)
    assert x.grad.to_numpy().sum() == 4


def test_samplers_that_are_no_arguments_are_refused(gpu, plain):
    """The error for a global sampler, or one in a ParameterBlock, names it; a sampler that the kernel does not use is not refused. The
    gradient of a texture whose sampler is not known in another way is NaN. On CUDA, where a texture includes its sampler, all are known."""
    module, block = (spy.Module(gpu.load_module_from_source("texture_grad_outside_{}".format(i), text)) for i, text in enumerate((OUTSIDE, BLOCK)))
    t, s = gpu.create_texture(format=Format.rgba32_float, width=2, height=2, data=np.ones((2, 2, 4), np.float32)), sampler(gpu, MODES[2])
    g, at = t.with_grads(), tensor(gpu, np.full((1, 2), 0.25), "float2").with_grads()
    out = tensor(gpu, np.zeros((1, 4)), "float4").with_grads(tensor(gpu, np.ones((1, 4)), "float4"))
    if is_cuda(gpu):  # 0.25 is the centre of the first of two texels
        for call, weight in ((module.by_global.set({"how": s}), 1), (block.by_block.set({"place": {"how": s, "weight": 3.0}}), 3)):
            g.zero_grad()
            call.bwds(g, at, _result=out)
            assert (g.grad.to_numpy()[0, 0] == weight).all() and g.grad.to_numpy().sum() == 4 * weight
        g.zero_grad()
        plain.by_array.bwds(g, [s], at, _result=out)
        assert g.grad.to_numpy().sum() == 4 and (at.grad.to_numpy() == 0).all()
        return
    with pytest.raises(Exception, match="'t': .* the global 'how'.*take DiffTexture2D<float4> .* DiffSamplerState in the place of 'how'"):
        module.by_global.set({"how": s}).bwds(g, at, _result=out)
    with pytest.raises(Exception, match="'t': .* the global 'place.how'"):
        block.by_block.set({"place": {"how": s, "weight": 1.0}}).bwds(g, at, _result=out)
    assert (g.grad.to_numpy() == 0).all()
    module.by_global.set({"how": s}).bwds(t, at, _result=out)  # the texture is a constant; no wrong numbers for the coordinates
    assert np.isnan(at.grad.to_numpy()).all()
    places = spy.Tensor.empty(gpu, (1,), "int3")
    places.copy_from_numpy(np.zeros((1, 3), np.int32))
    module.load.set({"how": s}).bwds(g, places, _result=out)
    assert g.grad.to_numpy().sum() == 4
    plain.by_array.bwds(g, [s], at, _result=out)
    assert np.isnan(g.grad.to_numpy()).any()


# >>bad input

def test_messages(gpu, module):
    """The error for an unsupported case says the reason."""
    integers = gpu.create_texture(format=Format.rgba32_uint, width=2, height=2)
    with pytest.raises(spy.Error, match="read as floats, got rgba32_uint"):
        integers.with_grads()
    t, s = gpu.create_texture(format=Format.rgba32_float, width=2, height=2, data=np.ones((2, 2, 4), np.float32)), sampler(gpu)
    uv, lod = tensor(gpu, np.zeros((1, 2)), "float2"), tensor(gpu, np.zeros(1), "float")
    with pytest.raises(Exception, match="texture of this dimension and texel type"):
        module.at1(t, s, tensor(gpu, np.zeros(1), "float"), 0.0)
    with pytest.raises(Exception, match="takes a sampler"):
        module.at2(t, t, uv, lod)
    with pytest.raises(Exception, match="texture of this dimension and texel type"):
        module.at2(integers, s, uv, lod)
    with pytest.raises(IndexError):
        t.with_grads().get_grad(1)
    if is_cuda(gpu):
        with pytest.raises(spy.Error, match="CUDA has no samplers that"):
            gpu.create_sampler(reduction_op=spy.TextureReductionOp.minimum)
        return
    smallest = gpu.create_sampler(reduction_op=spy.TextureReductionOp.minimum)
    with pytest.raises(Exception, match="reduction"):
        module.at2(t, smallest, uv, lod, _result="tensor")
