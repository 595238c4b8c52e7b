"""Textures as scripts use them whose author knows only SlangPy's public interface: shaders that read and write every form of texture,
sub-resources, odd sizes, uploads of all types, blits, mips, loaders. References are numpy's."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureType, TextureUsage

RW = TextureUsage.shader_resource | TextureUsage.unordered_access
RNG = np.random.default_rng(5)

SOURCE = """
import "slangpy";

[shader("compute")] [numthreads(8, 4, 1)]
void scale_2d(uint3 tid : SV_DispatchThreadID, Texture2D<float4> src, RWTexture2D<float4> dst, uniform float k) {
    uint w, h; dst.GetDimensions(w, h);
    if (all(tid.xy < uint2(w, h))) dst[tid.xy] = src[tid.xy] * k;
}
[shader("compute")] [numthreads(32, 1, 1)]
void fill_1d(uint3 tid : SV_DispatchThreadID, RWTexture1D<float> dst) { uint w; dst.GetDimensions(w); if (tid.x < w) dst[tid.x] = tid.x; }
[shader("compute")] [numthreads(4, 4, 4)]
void fill_3d(uint3 tid : SV_DispatchThreadID, RWTexture3D<uint4> dst) {
    uint w, h, d; dst.GetDimensions(w, h, d);
    if (all(tid < uint3(w, h, d))) dst[tid] = uint4(tid, 7);
}
[shader("compute")] [numthreads(4, 4, 1)]
void fill_array(uint3 tid : SV_DispatchThreadID, RWTexture2DArray<int> dst) {
    uint w, h, n; dst.GetDimensions(w, h, n);
    if (all(tid < uint3(w, h, n))) dst[tid] = int(tid.x + 10 * tid.y + 100 * tid.z) - 50;
}
[shader("compute")] [numthreads(1, 1, 1)]
void levels(uint3 tid : SV_DispatchThreadID, Texture2D<float4> src, RWStructuredBuffer<uint> sizes) {
    uint w, h, n;
    src.GetDimensions(tid.x, w, h, n);
    sizes[tid.x * 3] = w; sizes[tid.x * 3 + 1] = h; sizes[tid.x * 3 + 2] = n;
}

float4 load2(Texture2D<float4> t, int2 p) { return t.Load(int3(p, 0)); }
float4 load_mip(Texture2D<float4> t, int2 p, int mip) { return t.Load(int3(p, mip)); }
float load1(Texture1D<float> t, int p) { return t[p]; }
uint4 load3(Texture3D<uint4> t, int3 p) { return t[p]; }
int load_layer(Texture2DArray<int> t, int2 p, int layer) { return t[int3(p, layer)]; }
float4 sample2(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float4 sample_lod(Texture2D<float4> t, SamplerState s, float2 uv, float lod) { return t.SampleLevel(s, uv, lod); }
float4 sample3(Texture3D<float4> t, SamplerState s, float3 uvw) { return t.SampleLevel(s, uvw, 0); }
float4 sample_cube(TextureCube<float4> t, SamplerState s, float3 d) { return t.SampleLevel(s, d, 0); }
float4 sample_layer(Texture2DArray<float4> t, SamplerState s, float2 uv, float layer) { return t.SampleLevel(s, float3(uv, layer), 0); }
float4 gather(Texture2D<float4> t, SamplerState s, float2 uv) { return t.Gather(s, uv); }
float4 tonemap(float4 c) { return c / (1 + c); }
float luminance(float4 c) { return dot(c.xyz, float3(0.25, 0.5, 0.25)); }
float4 add(float4 a, float4 b) { return a + b; }
float addf(float a, float b) { return a + b; }
uint addu(uint a, uint b) { return a + b; }
int4 addi4(int4 a, int4 b) { return a + b; }
void swap(inout float4 a, inout float4 b) { float4 t = a; a = b; b = t; }
float2 coordinates(uint2 id) { return float2(id); }
float2 uv_of(int2 id, int2 size) { return (float2(id) + 0.5) / float2(size); }
struct Pair { Texture2D<float4> a; RWTexture2D<float4> b; }
void through(Pair p, int2 at) { p.b[at] = p.a[at] + 1; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


@pytest.fixture(scope="module")
def kernels(device):
    module = device.load_module_from_source("stranger_textures", SOURCE)
    return lambda name: device.create_compute_kernel(device.link_program([module], [module.entry_point(name)]))


def image(h, w, c=4, dtype=np.float32):
    if np.issubdtype(dtype, np.floating):
        a = RNG.random((h, w, c)).astype(dtype)
    else:
        a = RNG.integers(0, np.iinfo(dtype).max, (h, w, c), dtype=dtype, endpoint=True)
    return a[..., 0] if c == 1 else a


def texture(device, data, format=Format.rgba32_float, **more):
    return device.create_texture(format=format, width=data.shape[1], height=data.shape[0], usage=RW, data=data, **more)


# >>shaders


@pytest.mark.parametrize("w, h", [(1, 1), (3, 5), (16, 16), (37, 2), (129, 65)])
def test_kernel_over_odd_sizes(device, kernels, w, h):
    src = image(h, w)
    dst = device.create_texture(format=Format.rgba32_float, width=w, height=h, usage=RW)
    kernels("scale_2d").dispatch(thread_count=[w, h, 1], src=texture(device, src), dst=dst, k=3.0)
    assert np.array_equal(dst.to_numpy(), src * np.float32(3))


@pytest.mark.parametrize("w", [1, 31, 200])
def test_kernel_1d(device, kernels, w):
    t = device.create_texture(type=TextureType.texture_1d, format=Format.r32_float, width=w, usage=RW)
    kernels("fill_1d").dispatch([w, 1, 1], dst=t)
    assert t.to_numpy().tolist() == list(range(w))


@pytest.mark.parametrize("size", [(1, 1, 1), (5, 3, 2), (8, 8, 8)])
def test_kernel_3d(device, kernels, size):
    t = device.create_texture(type=TextureType.texture_3d, format=Format.rgba32_uint, width=size[0], height=size[1], depth=size[2], usage=RW)
    kernels("fill_3d").dispatch(spy.uint3(*size), vars={}, dst=t)
    z, y, x = np.meshgrid(*[np.arange(n) for n in reversed(size)], indexing="ij")
    assert np.array_equal(t.to_numpy(), np.stack([x, y, z, np.full_like(x, 7)], -1))


@pytest.mark.parametrize("layers", [1, 4])
def test_kernel_array(device, kernels, layers):
    t = device.create_texture(type=TextureType.texture_2d_array, format=Format.r32_sint, width=5, height=3, array_length=layers, usage=RW)
    kernels("fill_array").dispatch([5, 3, layers], dst=t)
    for layer in range(layers):
        y, x = np.mgrid[0:3, 0:5]
        assert np.array_equal(t.to_numpy(layer=layer), x + 10 * y + 100 * layer - 50)


def test_shader_sees_the_sizes_of_levels(device, kernels):
    t = device.create_texture(format=Format.rgba8_unorm, width=20, height=9, mip_count=spy.ALL_MIPS, usage=TextureUsage.shader_resource)
    sizes = device.create_buffer(element_count=3 * t.mip_count, struct_size=4, usage=spy.BufferUsage.unordered_access)
    kernels("levels").dispatch([t.mip_count, 1, 1], src=t, sizes=sizes)
    got = sizes.to_numpy().view(np.uint32).reshape(-1, 3)
    assert got.tolist() == [[max(20 >> i, 1), max(9 >> i, 1), 5] for i in range(5)]


def test_kernel_works_on_a_mip_view(device, kernels):
    t = device.create_texture(format=Format.rgba32_float, width=16, height=8, mip_count=3, usage=RW)
    top = image(8, 16)
    t.copy_from_numpy(top)
    for mip in range(1, 3):
        kernels("scale_2d").dispatch([16 >> mip, 8 >> mip, 1], src=t.create_view(mip=mip - 1, mip_count=1), dst=t.create_view(mip=mip, mip_count=1), k=0.5)
    assert np.array_equal(t.to_numpy(mip=1), top[:4, :8] / 2) and np.array_equal(t.to_numpy(mip=2), top[:2, :4] / 4)


# >>arguments


@pytest.mark.parametrize("kind", ["list", "array", "tensor", "grid", "call_id"])
def test_texels_by_position(device, m, kind):
    data = image(4, 6)
    t = texture(device, data)
    at = np.stack(np.meshgrid(np.arange(6), np.arange(4)), -1).astype(np.int32)
    where = {"list": [spy.int2(x, y) for y in range(4) for x in range(6)], "array": at, "tensor": spy.Tensor.from_numpy(device, at),
             "grid": spy.grid(shape=(4, 6)), "call_id": spy.call_id()}[kind]
    out = spy.Tensor.empty(device, (24,) if kind == "list" else (4, 6), "float4")
    m.load2(t, where, _result=out)
    assert np.array_equal(out.to_numpy().reshape(4, 6, 4), data)


@pytest.mark.parametrize("mip", range(4))
def test_levels_by_number(device, m, mip):
    t = device.create_texture(format=Format.rgba32_float, width=8, height=8, mip_count=4, usage=RW)
    for i in range(4):
        t.copy_from_numpy(np.full((8 >> i, 8 >> i, 4), i + 1, np.float32), mip=i)
    assert np.all(m.load_mip(t, spy.grid((8 >> mip, 8 >> mip)), mip, _result="numpy") == mip + 1)


def test_whole_1d_3d_and_arrays(device, m):
    line = np.arange(9, dtype=np.float32)
    t1 = device.create_texture(type=TextureType.texture_1d, format=Format.r32_float, width=9, usage=TextureUsage.shader_resource, data=line)
    assert np.array_equal(m.load1(t1, np.arange(9, dtype=np.int32), _result="numpy"), line)
    block = RNG.integers(0, 99, (2, 3, 4, 4), dtype=np.uint32)
    t3 = device.create_texture(type=TextureType.texture_3d, format=Format.rgba32_uint, width=4, height=3, depth=2, usage=RW, data=block)
    assert np.array_equal(m.load3(t3, spy.grid((2, 3, 4)), _result="numpy"), block)
    layers = RNG.integers(-9, 9, (3, 2, 5), dtype=np.int32)
    ta = device.create_texture(type=TextureType.texture_2d_array, format=Format.r32_sint, width=5, height=2, array_length=3, usage=RW, data=layers)
    for i in range(3):
        assert np.array_equal(m.load_layer(ta, spy.grid((2, 5)), i, _result="numpy"), layers[i])
        assert np.array_equal(ta.to_numpy(i), layers[i])


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (33, 65)])
def test_result_is_a_texture_given_or_new(device, m, shape):
    data = image(*shape)
    src = texture(device, data)
    expected = data / (1 + data)
    dst = device.create_texture(format=Format.rgba32_float, width=shape[1], height=shape[0], usage=RW)
    assert m.tonemap(src, _result=dst) is dst
    assert np.allclose(dst.to_numpy(), expected, rtol=1e-6)
    new = m.tonemap(src, _result="texture")
    assert (new.width, new.height, new.format) == (shape[1], shape[0], Format.rgba32_float) and np.allclose(new.to_numpy(), expected, rtol=1e-6)
    assert np.allclose(m.tonemap.return_type(spy.Texture)(src).to_numpy(), expected, rtol=1e-6)
    assert np.allclose(m.tonemap(src).to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("other", ["vector", "list", "tensor", "array", "texture", "row"])
def test_textures_mix_with_other_arguments(device, m, other):
    data, second = image(3, 4), image(3, 4)
    given = {"vector": spy.float4(1, 2, 3, 4), "list": [1.0, 2.0, 3.0, 4.0], "tensor": spy.Tensor.from_numpy(device, second), "array": second,
             "texture": texture(device, second), "row": second[:1]}[other]
    expected = data + {"vector": [1, 2, 3, 4], "list": [1, 2, 3, 4], "row": second[:1]}.get(other, second)
    assert np.allclose(m.add(texture(device, data), given, _result="numpy"), expected)


@pytest.mark.parametrize("format, kind, dtype", [
    (Format.r32_float, "addf", np.float32), (Format.r8_unorm, "addf", np.uint8), (Format.r16_float, "addf", np.float16),
    (Format.r16_unorm, "addf", np.uint16), (Format.r8_uint, "addu", np.uint8), (Format.r16_uint, "addu", np.uint16),
    (Format.r32_uint, "addu", np.uint32)], ids=lambda x: getattr(x, "name", None))
def test_single_channels_are_scalars(device, m, format, kind, dtype):
    data = image(5, 3, 1, dtype)
    if dtype == np.uint32:
        data //= 4
    scale = {Format.r8_unorm: 255, Format.r16_unorm: 65535}.get(format, 1)
    t = texture(device, data, format)
    got = m[kind](t, 1, _result="numpy")
    assert got.shape == (5, 3) and np.allclose(got, data.astype(np.float64) / scale + 1)


def test_signed_vectors_and_three_outputs(device, m):
    data = RNG.integers(-100, 100, (2, 3, 4), dtype=np.int32)
    assert np.array_equal(m.addi4(texture(device, data, Format.rgba32_sint), spy.int4(1), _result="numpy"), data + 1)
    a, b = image(2, 2), image(2, 2)
    ta, tb = texture(device, a), texture(device, b)
    m.swap(ta, tb)
    assert np.array_equal(ta.to_numpy(), b) and np.array_equal(tb.to_numpy(), a)


def test_call_ids_go_to_vectors_with_x_first(device, m):
    t = device.create_texture(format=Format.rg32_float, width=5, height=3, usage=RW)
    m.coordinates(spy.call_id(), _result=t)
    y, x = np.mgrid[0:3, 0:5]
    assert np.array_equal(t.to_numpy(), np.stack([x, y], -1))
    t2 = device.create_texture(format=Format.rg32_float, width=5, height=3, usage=RW)
    m.uv_of(spy.call_id(), spy.int2(5, 3), _result=t2)
    assert np.allclose(t2.to_numpy(), np.stack([(x + 0.5) / 5, (y + 0.5) / 3], -1))


def test_dicts_hold_textures_of_both_kinds(device, m):
    data = image(4, 4)
    a, b = texture(device, data), device.create_texture(format=Format.rgba32_float, width=4, height=4, usage=RW)
    m.through({"a": a, "b": b}, spy.grid((4, 4)))
    assert np.array_equal(b.to_numpy(), data + 1)
    m.through({"a": b.create_view(), "b": a.create_view()}, spy.grid((4, 4)))
    assert np.allclose(a.to_numpy(), data + 2)


def test_encoder_takes_calls_and_dispatches_in_order(device, m, kernels):
    data = image(6, 5)
    a, b = texture(device, data), device.create_texture(format=Format.rgba32_float, width=5, height=6, usage=RW)
    encoder = device.create_command_encoder()
    m.add(a, spy.float4(1), _result=b, _append_to=encoder)
    kernels("scale_2d").dispatch([5, 6, 1], vars={}, command_encoder=encoder, src=b, dst=a, k=2.0)
    m.add.append_to(encoder, a, spy.float4(0.5), _result=b)
    id = device.submit_command_buffer(encoder.finish())
    device.wait_for_submit(id)
    assert device.is_submit_finished(id) and np.allclose(b.to_numpy(), (data + 1) * 2 + 0.5, atol=1e-6)


@pytest.mark.parametrize("bad", [lambda d, t: t.to_numpy(mip=1), lambda d, t: t.to_numpy(layer=1), lambda d, t: t.copy_from_numpy(np.zeros((4, 4), np.float32)),
                                 lambda d, t: t.copy_from_numpy(np.zeros((4, 4, 4), np.float64)), lambda d, t: t.copy_from_numpy(np.zeros((5, 4, 4), np.float32)),
                                 lambda d, t: t.create_view(mip=1), lambda d, t: t.create_view(layer=1), lambda d, t: t.create_view(mip_count=2),
                                 lambda d, t: t.get_subresource_layout(3), lambda d, t: d.create_texture(width=4, height=4),
                                 lambda d, t: d.create_texture(format=Format.rgba8_unorm, width=0, height=4, usage=RW),
                                 lambda d, t: d.create_texture(format=Format.rgba8_unorm, width=4, height=4, usage=RW, data=np.zeros(7, np.uint8)),
                                 lambda d, t: d.create_texture(format=Format.rgba8_unorm, width=4, height=4, array_length=2, usage=RW),
                                 lambda d, t: d.create_texture({"format": Format.rgba8_unorm, "wdth": 4}), lambda d, t: d.create_texture(fmt=Format.rgba8_unorm),
                                 lambda d, t: d.create_texture(format=Format.rgba8_unorm, width=1 << 20, height=1, usage=RW),
                                 lambda d, t: d.create_texture(type=TextureType.texture_cube, format=Format.rgba8_unorm, width=4, height=8, usage=RW)])
def test_mistakes_raise(device, bad):
    t = texture(device, image(4, 4))
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
        bad(device, t)
    assert t.to_numpy().shape == (4, 4, 4)


# >>sampling


def bilinear(data, u, v, wrap):
    h, w = data.shape[:2]
    x, y = u * w - 0.5, v * h - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    total = 0
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (1 - abs(x - x0 - dx)) * (1 - abs(y - y0 - dy))
            total = total + weight[..., None] * data[wrap(y0 + dy, h), wrap(x0 + dx, w)]
    return total


WRAPS = {"wrap": lambda i, n: i % n, "clamp_to_edge": lambda i, n: np.clip(i, 0, n - 1),
         "mirror_repeat": lambda i, n: np.where(i % (2 * n) < n, i % (2 * n), 2 * n - 1 - i % (2 * n)),
         "mirror_once": lambda i, n: np.clip(np.where(i < 0, -1 - i, i), 0, n - 1)}


@pytest.mark.parametrize("mode", WRAPS)
@pytest.mark.parametrize("filter", ["point", "linear"])
def test_address_modes_and_filters(device, m, mode, filter):
    data = image(5, 7)
    mode_, filter_ = spy.TextureAddressingMode[mode], spy.TextureFilteringMode[filter]
    s = device.create_sampler(min_filter=filter_, mag_filter=filter_, mip_filter=filter_, address_u=mode_, address_v=mode_, address_w=mode_)
    uv = (RNG.random((64, 2)) * 2.9 - 0.95).astype(np.float32)
    got = m.sample2(texture(device, data), s, uv, _result="numpy")
    if filter == "linear":
        expected = bilinear(data, uv[:, 0], uv[:, 1], WRAPS[mode])
        assert np.abs(got - expected).max() < 2e-2
    else:
        x, y = np.floor(uv[:, 0] * 7).astype(int), np.floor(uv[:, 1] * 5).astype(int)
        assert np.array_equal(got, data[WRAPS[mode](y, 5), WRAPS[mode](x, 7)])


@pytest.mark.parametrize("color", [(0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1)])
def test_borders(device, m, color):
    border = spy.TextureAddressingMode.clamp_to_border
    s = device.create_sampler({"min_filter": spy.TextureFilteringMode.point, "mag_filter": spy.TextureFilteringMode.point, "address_u": border,
                               "address_v": border, "border_color": spy.float4(color)})
    t = texture(device, np.full((2, 2, 4), 0.5, np.float32))
    assert list(m.sample2(t, s, spy.float2(-0.2, 0.5))) == list(color) and list(m.sample2(t, s, spy.float2(0.5, 0.5))) == [0.5] * 4


@pytest.mark.parametrize("lod, expected", [(0, 1), (1, 2), (0.5, 1.5), (9, 3), (-1, 1)])
def test_levels_are_blended(device, m, lod, expected):
    t = device.create_texture(format=Format.rgba32_float, width=4, height=4, mip_count=3, usage=RW)
    for i in range(3):
        t.copy_from_numpy(np.full((4 >> i, 4 >> i, 4), i + 1, np.float32), mip=i)
    assert abs(m.sample_lod(t, device.create_sampler(), spy.float2(0.3, 0.6), lod).x - expected) < 1e-2


@pytest.mark.parametrize("min_lod, max_lod, bias, expected", [(1, 2, 0, 2), (0, 0, 0, 1), (0, 1, 0, 2), (0, 1000, 1, 2)])
def test_limits_of_levels(device, m, min_lod, max_lod, bias, expected):
    t = device.create_texture(format=Format.rgba32_float, width=4, height=4, mip_count=3, usage=RW)
    for i in range(3):
        t.copy_from_numpy(np.full((4 >> i, 4 >> i, 4), i + 1, np.float32), mip=i)
    s = device.create_sampler(min_lod=min_lod, max_lod=max_lod, mip_lod_bias=bias)
    assert abs(m.sample_lod(t, s, spy.float2(0.5), 1.0 if max_lod == 1 else 0.0).x - expected) < 1e-2


def test_cubes_layers_and_volumes(device, m):
    s = device.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    cube = device.create_texture(type=TextureType.texture_cube, format=Format.rgba32_float, width=4, height=4, usage=TextureUsage.shader_resource)
    faces = [np.full((4, 4, 4), i + 1, np.float32) for i in range(6)]
    encoder = device.create_command_encoder()
    encoder.upload_texture_data(cube, faces)
    device.submit_command_buffer(encoder.finish())
    directions = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)
    assert m.sample_cube(cube, s, directions, _result="numpy")[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    array = device.create_texture(type=TextureType.texture_2d_array, format=Format.rgba32_float, width=4, height=4, array_length=3, usage=RW,
                                  data=np.stack(faces[:3]))
    assert m.sample_layer(array, s, spy.float2(0.5), np.arange(3, dtype=np.float32), _result="numpy")[:, 0].tolist() == [1, 2, 3]
    volume = device.create_texture(type=TextureType.texture_3d, format=Format.rgba32_float, width=4, height=4, depth=2, usage=RW, data=np.stack(faces[:2]))
    assert m.sample3(volume, s, np.array([[0.5, 0.5, 0.25], [0.5, 0.5, 0.75]], np.float32), _result="numpy")[:, 0].tolist() == [1, 2]


def test_gather_reads_four_texels(device, m):
    data = np.zeros((2, 2, 4), np.float32)
    data[..., 0] = [[1, 2], [3, 4]]
    s = device.create_sampler(address_u=spy.TextureAddressingMode.clamp_to_edge, address_v=spy.TextureAddressingMode.clamp_to_edge)
    assert sorted(m.gather(texture(device, data), s, spy.float2(0.5, 0.5))) == [1, 2, 3, 4]


# >>encoders


def submit(device, record):
    encoder = device.create_command_encoder()
    record(encoder)
    device.submit_command_buffer(encoder.finish())


@pytest.mark.parametrize("w, h", [(1, 1), (5, 3), (63, 17)])
@pytest.mark.parametrize("format, c, dtype", [(Format.r8_unorm, 1, np.uint8), (Format.rg16_float, 2, np.float16), (Format.rgba8_uint, 4, np.uint8),
                                              (Format.rgba32_float, 4, np.float32)], ids=["r8", "rg16", "rgba8", "rgba32"])
def test_uploads_of_odd_sizes_go_through_buffers_and_back(device, w, h, format, c, dtype):
    data = image(h, w, c, dtype)
    t = device.create_texture(format=format, width=w, height=h, usage=RW if format != Format.r8_unorm else TextureUsage.shader_resource)
    row = -(-w * c * np.dtype(dtype).itemsize // 256) * 256
    buffer = device.create_buffer(size=row * h, usage=spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination)
    back = device.create_texture(format=format, width=w, height=h, usage=TextureUsage.shader_resource)

    def record(e):
        e.upload_texture_data(t, 0, 0, data)
        e.copy_texture_to_buffer(buffer, 0, row * h, row, t, 0, 0)
        e.copy_buffer_to_texture(back, 0, 0, [0, 0, 0], buffer, 0, row * h, row)

    submit(device, record)
    assert np.array_equal(back.to_numpy(), data)
    rows = buffer.to_numpy().view(np.uint8).reshape(h, row)[:, :w * c * np.dtype(dtype).itemsize]
    assert np.array_equal(rows, np.ascontiguousarray(data).view(np.uint8).reshape(h, -1))


@pytest.mark.parametrize("mip", [0, 1, 2])
@pytest.mark.parametrize("layer", [0, 2])
def test_subresources_are_uploaded_copied_and_cleared_alone(device, mip, layer):
    make = lambda: device.create_texture(type=TextureType.texture_2d_array, format=Format.rgba32_float, width=9, height=6, array_length=3, mip_count=3, usage=RW)
    a, b = make(), make()
    data = image(max(6 >> mip, 1), max(9 >> mip, 1))

    def record(e):
        e.clear_texture_float(a, clear_value=[1, 2, 3, 4])
        e.clear_texture_float(b, clear_value=spy.float4(9))
        e.upload_texture_data(a, layer, mip, data)
        e.copy_texture(b, layer, mip, [0, 0, 0], a, layer, mip, [0, 0, 0])
        e.clear_texture_float(a, {"layer": layer, "layer_count": 1, "mip": mip, "mip_count": 1}, [0, 0, 0, 0])

    submit(device, record)
    for l in range(3):
        for i in range(3):
            here = (l, i) == (layer, mip)
            assert np.array_equal(b.to_numpy(l, i), data) if here else np.all(b.to_numpy(l, i) == 9)
            assert np.all(a.to_numpy(l, i) == 0) if here else np.all(a.to_numpy(l, i) == [1, 2, 3, 4])


def test_parts_are_copied(device):
    data = image(8, 8)
    a = texture(device, data)
    b = device.create_texture(format=Format.rgba32_float, width=8, height=8, usage=RW)

    def record(e):
        e.clear_texture_float(b, clear_value=spy.float4(0))
        e.copy_texture(b, {"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, spy.uint3(1, 2, 0), a,
                       {"layer": 0, "layer_count": 1, "mip": 0, "mip_count": 1}, spy.uint3(3, 1, 0), spy.uint3(4, 5, 1))

    submit(device, record)
    expected = np.zeros_like(data)
    expected[2:7, 1:5] = data[1:6, 3:7]
    assert np.array_equal(b.to_numpy(), expected)


@pytest.mark.parametrize("size", [(8, 8), (4, 4), (2, 6), (1, 1), (16, 3)])
@pytest.mark.parametrize("filter", ["point", "linear"])
def test_blits_of_constants_and_halves(device, size, filter):
    data = np.zeros((8, 8, 4), np.float32)
    data[:, 4:] = 1
    a = texture(device, data)
    b = device.create_texture(format=Format.rgba8_unorm, width=size[0], height=size[1], usage=RW | TextureUsage.render_target)
    submit(device, lambda e: e.blit(b, a, spy.TextureFilteringMode[filter]))
    got = b.to_numpy()
    if size[0] > 1 and size[0] % 2 == 0 and size[0] <= 8:
        assert np.all(got[:, :size[0] // 2] <= (0 if size[0] != 2 or filter == "point" else 128)) and np.all(got[:, size[0] // 2:] >= (255 if size[0] != 2 or filter == "point" else 127))
    assert got.shape == (size[1], size[0], 4)


@pytest.mark.parametrize("w, h", [(4, 4), (8, 2), (16, 16), (7, 5)])
def test_mips_are_generated(device, w, h):
    t = device.create_texture(format=Format.rgba32_float, width=w, height=h, mip_count=spy.ALL_MIPS, usage=RW | TextureUsage.render_target)
    t.copy_from_numpy(np.full((h, w, 4), 0.25, np.float32))
    submit(device, lambda e: e.generate_mips(t))
    for mip in range(t.mip_count):
        got = t.to_numpy(mip=mip)
        assert got.shape == (max(h >> mip, 1), max(w >> mip, 1), 4) and np.allclose(got, 0.25, atol=1e-3)


# >>bitmaps and loaders


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.uint32, np.int8])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_bitmaps_hold_arrays(dtype, channels):
    data = (RNG.random((5, 3, channels)) * 100).astype(dtype)
    data = data[..., 0] if channels == 1 else data
    b = spy.Bitmap(data)
    assert (b.width, b.height, b.channel_count, b.pixel_count) == (3, 5, channels, 15)
    assert b.bytes_per_pixel == channels * np.dtype(dtype).itemsize and b.buffer_size == data.nbytes
    got = np.array(b, copy=False)
    assert np.array_equal(got.reshape(data.shape), data) and got.dtype == dtype


@pytest.mark.parametrize("name", ["png", "bmp", "tga", "hdr", "exr"])
def test_bitmaps_go_to_files_and_back(tmp_path, name):
    floats = name in ("hdr", "exr")
    data = RNG.random((6, 4, 3)).astype(np.float32) if floats else RNG.integers(0, 255, (6, 4, 3), dtype=np.uint8)
    path = tmp_path / ("x." + name)
    spy.Bitmap(data).write(path)
    back = np.array(spy.Bitmap(path), copy=False)[..., :3]
    assert np.allclose(back, data, rtol=0.02, atol=0.01 if floats else 0)


@pytest.mark.parametrize("srgb", [True, False])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_loaders_make_textures(device, tmp_path, channels, srgb):
    data = RNG.integers(0, 255, (5, 7, channels), dtype=np.uint8)
    path = tmp_path / "a.png"
    spy.Bitmap(data if channels > 1 else data[..., 0]).write(path)
    t = spy.TextureLoader(device).load_texture(path, {"load_as_srgb": srgb, "load_as_normalized": True})
    assert (t.width, t.height) == (7, 5)
    got = t.to_numpy()
    got = got[..., None] if got.ndim == 2 else got
    assert np.array_equal(got[..., :channels], data) and (channels != 3 or np.all(got[..., 3] == 255))
    assert ("srgb" in t.format.name) == (srgb and channels > 1)


@pytest.mark.parametrize("generate", [True, False])
def test_loaders_make_mips_and_arrays(device, generate):
    bitmaps = [spy.Bitmap(np.full((8, 8, 4), 40 * i, np.uint8)) for i in range(3)]
    options = spy.TextureLoader.Options()
    options.allocate_mips, options.generate_mips, options.load_as_srgb = True, generate, False
    t = spy.TextureLoader(device).load_texture_array(bitmaps, options)
    assert (t.array_length, t.mip_count) == (3, 4)
    for i in range(3):
        assert np.all(t.to_numpy(i) == 40 * i) and (not generate or np.all(t.to_numpy(i, 3) == 40 * i))
    assert [x.width for x in spy.TextureLoader(device).load_textures(bitmaps)] == [8, 8, 8]


@pytest.mark.parametrize("format", list(Format)[1:], ids=lambda f: f.name)
def test_every_format_has_a_description(format):
    i = spy.get_format_info(format)
    assert i.format == format and i.name == format.name and 1 <= i.channel_count <= 4 and len(i.channel_bit_count) == 4
    assert i.is_compressed == (i.block_width > 1) and i.is_depth_stencil() == (i.is_depth or i.is_stencil)
    assert i.is_compressed or i.is_stencil or sum(i.channel_bit_count) <= 8 * i.bytes_per_block
    assert i.is_srgb_format() == format.name.endswith("srgb") and i.is_float_format() == (i.type == spy.FormatType.float)
