"""Textures, formats and samplers as scripts written for SlangPy use them: one fact a test."""
import re

import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, FormatSupport, FormatType, ResourceState, SubresourceRange, Tensor, Texture, TextureType, TextureUsage

RO = TextureUsage.shader_resource
RW = TextureUsage.shader_resource | TextureUsage.unordered_access
TARGET = TextureUsage.shader_resource | TextureUsage.render_target
POINT = spy.TextureFilteringMode.point
RNG = np.random.default_rng(3)
TYPES = {
    "1d": dict(type=TextureType.texture_1d, width=13), "1d_array": dict(type=TextureType.texture_1d_array, width=13, array_length=3),
    "2d": dict(type=TextureType.texture_2d, width=13, height=7), "2d_array": dict(type=TextureType.texture_2d_array, width=13, height=7, array_length=3),
    "3d": dict(type=TextureType.texture_3d, width=13, height=7, depth=5), "cube": dict(type=TextureType.texture_cube, width=8, height=8),
    "cube_array": dict(type=TextureType.texture_cube_array, width=8, height=8, array_length=2)}
SOURCE = r"""
import slangpy;
float addf(float a, float b) { return a + b; }
float4 add4(float4 a, float4 b) { return a + b; }
float2 add2(float2 a, float b) { return a + b; }
uint addu(uint a, uint b) { return a + b; }
uint4 addu4(uint4 a, uint4 b) { return a + b; }
int2 addi2(int2 a, int2 b) { return a + b; }
float3 id3(float3 a) { return a; }
half4 id_half(half4 a) { return a; }
void copy4(float4 from, out float4 to) { to = from; }
void inc(inout float4 x) { x = x + 1; }
void incf(inout float x) { x = x + 1; }
void outs(float a, out float4 x, out float y) { x = float4(a); y = a * 2; }
float4 gen(int2 p) { return float4(p.x, p.y, 0, 1); }
float gen1(int p) { return p; }
float gen3(int3 p) { return p.x + 10 * p.y + 100 * p.z; }
float3 make3(int2 p) { return float3(p.x, p.y, 1); }
int make_int(int2 p) { return p.x; }
float4 at(int2 p, Texture2D<float4> t) { return t[p]; }
float4 at_default(int2 p, Texture2D t) { return t[p]; }
float at1(int p, Texture1D<float> t) { return t[p]; }
float at3(int3 p, Texture3D<float> t) { return t[p]; }
float at_array(int3 p, Texture2DArray<float> t) { return t[p]; }
float at_mip(int2 p, Texture2D<float> t, int m) { return t.Load(int3(p, m)); }
float4 sample4(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }
float sample1(float2 uv, Texture2D<float> t, SamplerState s, float level) { return t.SampleLevel(s, uv, level); }
float4 combined(float2 uv, Sampler2D<float4> t) { return t.SampleLevel(uv, 0); }
float cube(float3 d, TextureCube<float> t, SamplerState s) { return t.SampleLevel(s, d, 0); }
float sample_of(int2 p, Texture2DMS<float> t, int i) { return t.Load(p, i); }
float compare(float2 uv, float r, Texture2D<float> t, SamplerComparisonState s) { return t.SampleCmpLevelZero(s, uv, r); }
float4 gather(float2 uv, Texture2D<float> t, SamplerState s) { return t.Gather(s, uv); }
void write4(int2 p, float4 v, RWTexture2D<float4> t) { t[p] = v; }
void write_unorm(int2 p, float4 v, RWTexture2D<unorm float4> t) { t[p] = v; }
void write3(int3 p, float v, RWTexture3D<float> t) { t[p] = v; }
void write_array(int3 p, float v, RWTexture2DArray<float> t) { t[p] = v; }
void twice(int2 p, RWTexture2D<float> t) { t[p] = t[p] * 2; }
void count(int p, RWTexture2D<uint> t) { InterlockedAdd(t[int2(0, 0)], 1); }
uint3 sizes(Texture2D<float> t) { uint w, h, m; t.GetDimensions(0, w, h, m); return uint3(w, h, m); }
struct Scaled { Texture2D<float> tex; float k; float get(int2 p) { return tex[p] * k; } };
float scaled(int2 p, Scaled s) { return s.tex[p] * s.k; }
struct Sampled { Texture2D<float4> tex; SamplerState smp; };
float4 sampled(float2 uv, Sampled s) { return s.tex.SampleLevel(s.smp, uv, 0); }
struct Target { RWTexture2D<float4> t; void put(int2 p, float4 v) { t[p] = v; } };
struct Pixel { float4 c; float w; };
float4 pixel(Pixel p) { return p.c * p.w; }
float sum3(int2 p, Texture2D<float> ts[3]) { return ts[0][p] + ts[1][p] * 10 + ts[2][p] * 100; }
void write_two(int2 p, RWTexture2D<float> ts[2]) { ts[0][p] = 1; ts[1][p] = 2; }
Texture2D<float> ga; Texture2D<float> gb[2]; RWTexture2D<float> gw; SamplerState gs;
float of_globals(int2 p) { return ga[p] + gb[0][p] + gb[1][p] + ga.SampleLevel(gs, float2(0.5), 0); }
void to_global(int2 p) { gw[p] = ga[p] * 2; }
struct Block { Texture2D<float> t; float k; };
ParameterBlock<Block> block;
float of_block(int2 p) { return block.t[p] * block.k; }
T generic_add<T : IFloat>(T a, T b) { return a + b; }
void raw(uint3 dispatchThreadID, float k) { if (all(dispatchThreadID.xy < uint2(4, 4))) gw[dispatchThreadID.xy] = ga[dispatchThreadID.xy] * k; }
void raw_in_out(uint2 dispatchThreadID, Texture2D<float4> i, RWTexture2D<float4> o, uint2 n) { if (all(dispatchThreadID < n)) o[dispatchThreadID] = i[dispatchThreadID] * 2; }
"""
KERNEL = r"""
Texture2D<float4> gtex; SamplerState smp; struct P { Texture2D<float4> t; RWTexture2D<float4> o[2]; float k; }; ParameterBlock<P> blk;
[shader("compute")] [numthreads(8, 8, 1)]
void kern(uint3 tid : SV_DispatchThreadID, uniform Texture2D<float4> i, uniform RWTexture2D<float4> o, uniform uint2 n) {
    if (any(tid.xy >= n)) return;
    o[tid.xy] = i[tid.xy] * 3 + gtex[tid.xy] + gtex.SampleLevel(smp, float2(0.5), 0);
    blk.o[0][tid.xy] = blk.t[tid.xy] * blk.k;
    blk.o[1][tid.xy] = blk.t[tid.xy];
}
"""


@pytest.fixture(scope="module")
def device():
    with spy.create_device(type=spy.DeviceType.vulkan) as device:
        if not device.get_format_support(Format.rgba32_float):
            pytest.skip("the library has no textures in this build")
        yield device
        device.close()


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "texture_facts", SOURCE)


@pytest.fixture(scope="module")
def f4():
    return RNG.random((5, 7, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def f1():
    return RNG.random((5, 7)).astype(np.float32)


def run(device, record):
    encoder = device.create_command_encoder()
    record(encoder)
    device.submit_command_buffer(encoder.finish())


def tex(device, data, format=None, usage=RW, **kwargs):
    data = np.asarray(data)
    channels = data.shape[2] if data.ndim > 2 else 1
    return device.create_texture(format=format or {1: Format.r32_float, 2: Format.rg32_float, 4: Format.rgba32_float}[channels], width=data.shape[1],
                                 height=data.shape[0], usage=usage, data=data, **kwargs)


def flat(device, value, size=4, **kwargs):
    return tex(device, np.full((size, size), value, np.float32), **kwargs)


# >>making them, and their contents


@pytest.mark.parametrize("mips", [1, spy.ALL_MIPS])
@pytest.mark.parametrize("name", TYPES)
def test_each_layer_and_mip_of_each_type_goes_out_and_back(device, name, mips):
    """to_numpy(layer, mip) gives (w), (h, w) or (d, h, w), then the channels, and copy_from_numpy takes the same."""
    t = device.create_texture(format=Format.rgba16_float, mip_count=mips, usage=RW, **TYPES[name])
    given = {}
    for layer in range(t.layer_count):
        for mip in range(t.mip_count):
            w, h, d = t.get_mip_size(mip)
            shape = (w,) if "1d" in name else (d, h, w) if name == "3d" else (h, w)
            given[layer, mip] = RNG.random(shape + (4,)).astype(np.float16)
            t.copy_from_numpy(given[layer, mip], layer=layer, mip=mip)
    assert len(given) == t.subresource_count and t.type == TYPES[name]["type"]
    for (layer, mip), data in given.items():
        got = t.to_numpy(layer=layer, mip=mip)
        assert got.shape == data.shape and got.dtype == data.dtype and np.array_equal(got, data)


@pytest.mark.parametrize("format", [f for f in Format if f != Format.undefined], ids=lambda f: f.name)
def test_each_format_of_the_device_goes_out_and_back(device, format):
    """Levels of odd sizes of every format are written and read, with get_subresource_layout(mip).size_in_bytes bytes."""
    info = spy.get_format_info(format)
    assert info.format == format and info.name == format.name
    if not device.get_format_support(format) & FormatSupport.texture or info.is_depth_stencil():
        pytest.skip("the device cannot read and write texels of it")
    t = device.create_texture(format=format, width=11, height=6, mip_count=3, usage=RO)
    for mip in range(3):
        got = t.to_numpy(mip=mip)
        assert got.nbytes == t.get_subresource_layout(mip).size_in_bytes
        data = RNG.random(got.shape).astype(got.dtype) if got.dtype.kind == "f" else RNG.integers(0, 100, got.shape).astype(got.dtype)
        t.copy_from_numpy(data, mip=mip)
        assert np.array_equal(t.to_numpy(mip=mip), data)


@pytest.mark.parametrize("name", TYPES)
def test_data_fills_all_layers_of_mip_0(device, name):
    """create_texture(data=) takes a flat or a shaped array, of all layers."""
    kwargs = dict(format=Format.r32_float, usage=RW, mip_count=2, **TYPES[name])
    first = device.create_texture(**kwargs)
    data = RNG.random((first.layer_count,) + first.to_numpy().shape).astype(np.float32)
    for given in (data, data.reshape(-1)):
        t = device.create_texture(data=given, **kwargs)
        for layer in range(t.layer_count):
            assert np.array_equal(t.to_numpy(layer), data[layer])


def test_every_keyword_of_create_texture_is_taken(device):
    """The desc of a texture has the values that were given by keyword."""
    s = device.create_sampler()
    t = device.create_texture(
        type=TextureType.texture_2d, format=Format.rgba32_float, width=4, height=4, depth=1, array_length=1, mip_count=1, sample_count=1,
        sample_quality=0, memory_type=spy.MemoryType.device_local, usage=RW, default_state=ResourceState.shader_resource, sampler=s, label="hello",
        data=np.zeros((4, 4, 4), np.float32))
    assert (t.desc.label, t.desc.usage, t.desc.width, t.desc.sample_count) == ("hello", RW, 4, 1) and "hello" in repr(t)
    assert spy.create_texture(format=Format.r8_unorm, width=2, height=2, usage=RW).device is spy.current_device()


def test_a_desc_is_an_object_or_a_dict(device):
    """create_texture takes a TextureDesc, whose fields can be set one by one, or a dict of them."""
    d = spy.TextureDesc()
    d.type, d.format, d.width, d.height, d.mip_count, d.usage, d.label = TextureType.texture_2d, Format.rgba8_unorm, 8, 4, 2, RW, "q"
    t = device.create_texture(d)
    assert (t.width, t.height, t.mip_count, t.desc.label) == (8, 4, 2, "q")
    assert device.create_texture(desc={"format": Format.rgba8_unorm, "width": 8, "height": 4}).height == 4


def test_subresource_layouts_say_how_texels_lie(device):
    """row_pitch is a multiple of row_alignment; blocks count as texels of compressed formats."""
    t = device.create_texture(type=TextureType.texture_3d, format=Format.r32_float, width=16, height=8, depth=4, mip_count=spy.ALL_MIPS, usage=RW)
    layout = t.get_subresource_layout(0)
    assert t.mip_count == 5 and t.get_mip_size(1) == spy.uint3(8, 4, 2) and tuple(t.get_mip_size(4)) == (1, 1, 1)
    assert (layout.size_in_bytes, layout.row_pitch, layout.slice_pitch, layout.row_count, layout.block_width) == (2048, 64, 512, 8, 1)
    layout = device.create_texture(format=Format.rgba8_unorm, width=10, height=3).get_subresource_layout(0, row_alignment=256)
    assert (layout.row_pitch, layout.row_count, layout.size_in_bytes, layout.col_pitch) == (256, 3, 768, 4)
    layout = device.create_texture(format=Format.bc1_unorm, width=16, height=8, usage=RO).get_subresource_layout(0)
    assert (layout.row_pitch, layout.row_count, layout.block_width, layout.block_height, layout.size_in_bytes) == (32, 2, 4, 4, 64)


def test_wrong_arrays_and_places_raise(device):
    """copy_from_numpy() takes a contiguous array of exactly the level's shape and bytes, and raises a RuntimeError for any other;
    missing layers and levels raise an exception."""
    t = device.create_texture(format=Format.rgba8_unorm, width=4, height=4, usage=RW)
    for bad in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.uint8), np.zeros((8, 4, 4), np.uint8), np.zeros((4, 8, 4), np.uint8)[:, ::2],
                np.zeros((4, 4, 4), np.float32)):
        with pytest.raises(RuntimeError):
            t.copy_from_numpy(bad)
    for place in (dict(layer=1), dict(mip=1)):
        with pytest.raises(Exception):
            t.to_numpy(**place)
    with pytest.raises(Exception):
        device.create_texture(format=Format.r8_unorm, width=1 << 20, height=2, usage=RW)


# >>formats


def test_format_infos_describe_channels(device):
    """get_format_info() gives channels, their bits, types and blocks."""
    info = spy.get_format_info(Format.rgba8_unorm)
    assert (info.bytes_per_block, info.channel_count, info.type, info.channel_bit_count) == (4, 4, FormatType.unorm, [8, 8, 8, 8])
    assert info.get_channels() == spy.FormatChannels.rgba and info.get_channel_bits(spy.FormatChannels.rg) == 16
    assert info.is_normalized_format() and not info.is_srgb_format() and info.has_equal_channel_bits()
    info = spy.get_format_info(Format.bc7_unorm_srgb)
    assert info.is_compressed and info.block_width == 4 and info.is_srgb_format()
    info = spy.get_format_info(Format.d32_float_s8_uint)
    assert info.is_depth_stencil() and info.is_depth and info.is_stencil
    info = spy.get_format_info(Format.rgb10a2_unorm)
    assert info.channel_bit_count == [10, 10, 10, 2] and not info.has_equal_channel_bits()


def test_format_support_is_a_set_of_flags(device):
    """get_format_support() gives a set of flags for every Format."""
    support = {f: device.get_format_support(f) for f in Format}
    assert FormatSupport.texture in support[Format.rgba32_float] and FormatSupport.shader_load in support[Format.rgba32_float]
    assert support[Format.d32_float] & FormatSupport.depth_stencil and support[Format.undefined] == FormatSupport.none


# >>work of command encoders


@pytest.mark.parametrize("name", TYPES)
def test_uploads_and_copies_reach_every_subresource(device, name):
    """A list of arrays is in the order of layers, then levels; copies take ranges, and go to and from buffers."""
    kwargs = {**TYPES[name], "width": 8, "height": 1 if "1d" in name else 8}
    t, other = (device.create_texture(format=Format.rgba32_float, mip_count=3, usage=RW, **kwargs) for _ in range(2))
    places = [(layer, mip) for layer in range(t.layer_count) for mip in range(3)]
    data = [RNG.random(t.to_numpy(*place).shape).astype(np.float32) for place in places]
    run(device, lambda e: e.upload_texture_data(t, data))
    run(device, lambda e: e.copy_texture(other, SubresourceRange(), [0, 0, 0], t, SubresourceRange(), [0, 0, 0], [-1, -1, -1]))
    assert all(np.array_equal(other.to_numpy(*place), d) for place, d in zip(places, data))
    layer, mip = places[-2]
    layout = t.get_subresource_layout(mip)
    buffer = device.create_buffer(size=layout.size_in_bytes)
    run(device, lambda e: e.copy_texture_to_buffer(buffer, 0, layout.size_in_bytes, layout.row_pitch, t, layer, mip))
    assert np.array_equal(buffer.to_numpy().view(np.float32), data[-2].reshape(-1))


def test_uploads_take_a_layer_and_mip_a_range_or_a_part(device):
    """upload_texture_data() has four forms, by position and by keyword."""
    t = device.create_texture(type=TextureType.texture_2d_array, format=Format.rgba8_unorm, width=16, height=8, array_length=2, mip_count=3, usage=RW)
    d = RNG.integers(0, 200, (4, 8, 4)).astype(np.uint8)
    one = {"layer": 1, "layer_count": 1, "mip": 1, "mip_count": 1}
    for value, record in ((0, lambda e: e.upload_texture_data(t, 1, 1, d)), (1, lambda e: e.upload_texture_data(t, SubresourceRange(one), [d + 1])),
                          (2, lambda e: e.upload_texture_data(texture=t, range=one, subresource_data=[d + 2])),
                          (3, lambda e: e.upload_texture_data(texture=t, layer=1, mip=1, data=d + 3))):
        run(device, record)
        assert np.array_equal(t.to_numpy(1, 1), d + value)
    part = RNG.integers(0, 255, (2, 3, 4)).astype(np.uint8)
    run(device, lambda e: e.upload_texture_data(t, spy.uint3(2, 1, 0), spy.uint3(3, 2, 1), one, [part]))
    assert np.array_equal(t.to_numpy(1, 1)[1:3, 2:5], part)
    encoder = device.create_command_encoder()
    for bad in (([d],), (0, 3, d), (2, 0, d), (0, 1, d[..., :3]), (0, 1, np.zeros((4, 16, 4), np.uint8)[:, ::2])):
        with pytest.raises(Exception):
            encoder.upload_texture_data(t, *bad)


def test_copies_of_parts_of_three_dimensions(device):
    """copy_texture() takes layer and level, offsets and an extent."""
    a, b = (device.create_texture(type=TextureType.texture_3d, format=Format.r32_uint, width=4, height=4, depth=4, usage=RW, data=d)
            for d in (np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)))
    run(device, lambda e: e.copy_texture(b, 0, 0, [1, 1, 1], a, 0, 0, [0, 0, 0], [2, 2, 2]))
    expected = np.zeros((4, 4, 4))
    expected[1:3, 1:3, 1:3] = np.arange(64).reshape(4, 4, 4)[:2, :2, :2]
    assert np.array_equal(b.to_numpy(), expected)


def test_texels_go_through_upload_and_read_back_buffers(device):
    """copy_buffer_to_texture and copy_texture_to_buffer with rows that lie 256 bytes apart."""
    data = RNG.integers(0, 255, (6, 9, 4)).astype(np.uint8)
    t = device.create_texture(format=Format.rgba8_unorm, width=9, height=6, usage=RW)
    layout = t.get_subresource_layout(0, 256)
    up = device.create_buffer(size=layout.size_in_bytes, memory_type=spy.MemoryType.upload, usage=spy.BufferUsage.copy_source)
    down = device.create_buffer(size=layout.size_in_bytes, memory_type=spy.MemoryType.read_back, usage=spy.BufferUsage.copy_destination)
    host = np.zeros((6, layout.row_pitch), np.uint8)
    host[:, :36] = data.reshape(6, 36)
    up.copy_from_numpy(host)

    def record(e):
        e.copy_buffer_to_texture(t, 0, 0, [0, 0, 0], up, 0, layout.size_in_bytes, layout.row_pitch, [9, 6, 1])
        e.copy_texture_to_buffer(down, 0, layout.size_in_bytes, layout.row_pitch, t, 0, 0, [0, 0, 0], [9, 6, 1])

    run(device, record)
    assert np.array_equal(t.to_numpy(), data)
    assert np.array_equal(down.to_numpy().reshape(-1, layout.row_pitch)[:, :36].reshape(6, 9, 4), data)


@pytest.mark.parametrize("format, kind, value, expected", [
    (Format.rgba8_unorm, "float", (0, 0.5, 1, 1), [0, 128, 255, 255]), (Format.rgba8_snorm, "float", (-1, 0, 0.5, 1), [-127, 0, 64, 127]),
    (Format.rgba32_float, "float", (-1, 2, 3, 4), [-1, 2, 3, 4]), (Format.rgba32_uint, "uint", (1, 2, 3, 4000000000), [1, 2, 3, 4000000000]),
    (Format.rg16_sint, "sint", (-5, 7, 0, 0), [-5, 7]), (Format.r8_uint, "uint", (200, 0, 0, 0), 200)], ids=str)
def test_clears_cover_all_mips_and_layers_unless_a_range_is_given(device, format, kind, value, expected):
    """clear_texture_float, _uint and _sint; without a value they clear to 0."""
    t = device.create_texture(type=TextureType.texture_2d_array, array_length=2, mip_count=3, format=format, width=8, height=4, usage=RW)
    vector = {"float": spy.float4, "uint": spy.uint4, "sint": spy.int4}[kind]
    clear = "clear_texture_" + kind
    run(device, lambda e: getattr(e, clear)(t, clear_value=vector(*value)))
    assert all(np.allclose(t.to_numpy(layer, mip), expected, atol="norm" in format.name) for layer in range(2) for mip in range(3))
    run(device, lambda e: getattr(e, clear)(t, SubresourceRange({"layer": 1, "layer_count": 1, "mip": 1, "mip_count": 2}), vector(0)))
    assert np.allclose(t.to_numpy(1, 0), expected, atol=1) and not t.to_numpy(1, 1).any() and not t.to_numpy(1, 2).any()
    run(device, lambda e: getattr(e, clear)(t))
    assert not t.to_numpy(0, 0).any()


def test_depth_is_cleared_and_read(device, m):
    """clear_texture_depth_stencil; a depth texture is read as floats by to_numpy and by kernels."""
    for format in (Format.d32_float, Format.d16_unorm):
        t = device.create_texture(format=format, width=5, height=3, usage=TextureUsage.depth_stencil | TextureUsage.shader_resource)
        run(device, lambda e: e.clear_texture_depth_stencil(t, depth_value=0.5))
        scale = 1 if format == Format.d32_float else 65535
        assert np.allclose(t.to_numpy() / scale, 0.5, atol=1e-4)
        assert abs(m.at_mip(spy.int2(1, 1), t, 0) - 0.5) < 1e-4


def test_depth_is_cleared_without_stencil(device, m):
    """clear_depth and clear_stencil choose what is cleared."""
    t = device.create_texture(format=Format.d32_float_s8_uint, width=4, height=4, mip_count=2, usage=TextureUsage.depth_stencil | TextureUsage.shader_resource)
    view = t.create_view(mip=1, mip_count=1, aspect=spy.TextureAspect.depth_only)
    run(device, lambda e: e.clear_texture_depth_stencil(t, depth_value=0.5, stencil_value=3))
    run(device, lambda e: e.clear_texture_depth_stencil(t, clear_depth=False, stencil_value=1, depth_value=0.75))
    assert m.at_mip(spy.int2(1, 1), view, 0) == 0.5
    run(device, lambda e: e.clear_texture_depth_stencil(t, {"mip": 1}, depth_value=0.25, clear_stencil=False))
    assert m.at_mip(spy.int2(1, 1), view, 0) == 0.25 and m.at_mip(spy.int2(1, 1), t, 0) == 0.5


def test_samples_of_multisampled_textures_are_read_and_averaged(device, m):
    """A texture_2d_ms of several samples goes to Texture2DMS, and blit averages it into a texture_2d."""
    t = device.create_texture(type=TextureType.texture_2d_ms, format=Format.r32_float, width=4, height=4, sample_count=4, usage=TARGET)
    r = device.create_texture(format=Format.r32_float, width=4, height=4, usage=TARGET)
    run(device, lambda e: (e.clear_texture_float(t, clear_value=spy.float4(2)), e.blit(r, t)))
    assert (r.to_numpy() == 2).all() and m.sample_of(spy.int2(1, 1), t, 2) == 2 and t.desc.sample_count == 4


FLOATS = [Format.rgba32_float, Format.rgba16_float, Format.rgba8_unorm, Format.r32_float, Format.rgba8_unorm_srgb, Format.rg16_unorm, Format.rgba8_snorm,
          Format.bgra8_unorm, Format.rgb10a2_unorm]


@pytest.mark.parametrize("format", FLOATS, ids=lambda f: f.name)
def test_blits_convert_between_formats(device, m, format):
    """What is written by a blit into another format is the same colour."""
    color = np.array([0.5, 0.25, 0.75, 1], np.float32)
    formats = [f for f in FLOATS if device.get_format_support(f) & spy.FormatSupport.texture]
    if format not in formats:
        pytest.skip("the device has no textures of this format")
    source = device.create_texture(format=format, width=4, height=4, usage=TARGET)
    run(device, lambda e: e.clear_texture_float(source, clear_value=spy.float4(*color)))
    channels = spy.get_format_info(format).channel_count
    for other in formats:
        target, seen = (device.create_texture(format=f, width=4, height=4, usage=TARGET) for f in (other, Format.rgba32_float))
        run(device, lambda e: (e.blit(target, source), e.blit(seen, target)))
        both = min(channels, spy.get_format_info(other).channel_count)
        assert np.allclose(seen.to_numpy()[1, 1, :both], color[:both], atol=0.02)


def test_blits_scale_by_the_filter(device):
    """The filter `linear` averages texels and `point` repeats them; the default is linear."""
    data = RNG.random((8, 8, 4)).astype(np.float32)
    source = tex(device, data, usage=RO)
    for size in ((4, 4), (16, 16), (5, 9), (1, 1)):
        for filter in (POINT, spy.TextureFilteringMode.linear):
            t = device.create_texture(format=Format.rgba32_float, width=size[0], height=size[1], usage=TARGET)
            run(device, lambda e: e.blit(t, source, filter))
            if size == (4, 4) and filter != POINT:
                assert np.allclose(t.to_numpy(), data.reshape(4, 2, 4, 2, 4).mean((1, 3)), atol=1e-3)
            if size == (16, 16) and filter == POINT:
                assert np.allclose(t.to_numpy(), data.repeat(2, 0).repeat(2, 1))


def test_blits_of_integers_take_the_nearest_texel(device):
    """With the filter for points; at one size with the default filter, too. Floats do not become integers."""
    data = RNG.integers(0, 100, (8, 8, 4)).astype(np.uint8)
    source = tex(device, data, Format.rgba8_uint)
    for size in (8, 16):
        t = device.create_texture(format=Format.rgba32_uint, width=size, height=size, usage=TARGET)
        for filter in (POINT,) if size == 16 else (POINT, spy.TextureFilteringMode.linear):
            run(device, lambda e: e.blit(t, source, filter))
            assert np.array_equal(t.to_numpy(), data.repeat(size // 8, 0).repeat(size // 8, 1))
    with pytest.raises(Exception):
        run(device, lambda e: e.blit(source, device.create_texture(format=Format.rgba8_unorm, width=8, height=8, usage=TARGET)))


def test_blits_without_support_are_refused_when_they_are_recorded(device):
    """A format that the device's blits cannot write (r11g11b10_float on lavapipe) is refused by the call, not by the submission: the
    error names the call, the texture and a format that works, and the encoder goes on without it."""
    if not device.get_format_support(Format.r11g11b10_float) & spy.FormatSupport.texture:
        pytest.skip("the device has no textures of this format")
    target = device.create_texture(format=Format.r11g11b10_float, width=4, height=4, mip_count=2, usage=RO, label="bright")
    source = tex(device, RNG.random((8, 8, 4)).astype(np.float32), usage=RO)
    encoder = device.create_command_encoder()
    try:
        encoder.blit(target, source)
    except spy.Error as error:
        assert re.match(r"blit: 'to' is the texture 'bright' \(r11g11b10_float.*; the nearest format for this is rgba16_float$", str(error))
        with pytest.raises(spy.Error, match="^generate_mips: 'texture' is the texture 'bright' .*rgba16_float$"):
            encoder.generate_mips(target)
    device.submit_command_buffer(encoder.finish())


def test_blits_go_between_views(device):
    """A view of one mip level or layer is a source or a target, of the same texture, too."""
    data = RNG.random((8, 8, 4)).astype(np.float32)
    t = tex(device, data, usage=TARGET, mip_count=4)
    run(device, lambda e: e.blit(t.create_view({"subresource_range": {"mip": 1, "mip_count": 1}}), t.create_view(mip=0, mip_count=1)))
    assert np.allclose(t.to_numpy(mip=1), data.reshape(4, 2, 4, 2, 4).mean((1, 3)), atol=1e-3)
    array = device.create_texture(type=TextureType.texture_2d_array, array_length=2, format=Format.rgba16_float, width=8, height=8, mip_count=2, usage=TARGET)
    run(device, lambda e: e.clear_texture_float(array, {"layer": 1, "layer_count": 1, "mip": 1, "mip_count": 1}, spy.float4(1, 2, 3, 4)))
    run(device, lambda e: e.blit(t.create_view(mip=1, mip_count=1), array.create_view(layer=1, layer_count=1, mip=1, mip_count=1)))
    assert np.allclose(t.to_numpy(mip=1), [1, 2, 3, 4])


@pytest.mark.parametrize("format", [Format.rgba32_float, Format.rgba8_unorm, Format.r16_float, Format.rg8_unorm], ids=lambda f: f.name)
def test_generate_mips_averages(device, format):
    """Each mip level has the averages of four texels of the one before."""
    t = device.create_texture(format=format, width=16, height=16, mip_count=spy.ALL_MIPS, usage=TARGET)
    first = t.to_numpy()
    data = (RNG.random(first.shape) * (200 if first.dtype == np.uint8 else 1)).astype(first.dtype)
    t.copy_from_numpy(data)
    run(device, lambda e: e.generate_mips(t))
    expected = data.astype(float).reshape(16, 16, -1)
    for mip in range(1, 5):
        n = 16 >> mip
        expected = expected.reshape(n, 2, n, 2, -1).mean((1, 3))
        assert np.allclose(t.to_numpy(mip=mip).reshape(expected.shape), expected, atol=3 if first.dtype == np.uint8 else 2e-3)


def test_generate_mips_makes_one_layer(device):
    """generate_mips(texture, layer) leaves the other layers as they were."""
    t = device.create_texture(type=TextureType.texture_cube, format=Format.rgba8_unorm, width=8, height=8, mip_count=4, usage=TARGET)
    run(device, lambda e: (e.clear_texture_float(t), e.clear_texture_float(t, {"mip": 0, "mip_count": 1}, spy.float4(1)), e.generate_mips(t, 5)))
    assert (t.to_numpy(5, 3) == 255).all() and (t.to_numpy(4, 3) == 0).all()
    with pytest.raises(Exception):
        run(device, lambda e: e.generate_mips(t, 6))


def test_states_may_be_set(device):
    """set_texture_state takes a texture, with a range or without."""
    t = device.create_texture(format=Format.rgba8_unorm, width=8, height=8, mip_count=2, usage=RW)
    run(device, lambda e: (e.set_texture_state(t, ResourceState.shader_resource), e.set_texture_state(t, {"mip": 0, "mip_count": 1}, ResourceState.copy_destination),
                           e.set_texture_state(texture=t, range=SubresourceRange(), state=ResourceState.unordered_access), e.global_barrier()))


def test_views_are_made_of_descs_dicts_and_keywords(device):
    """create_view(mip=, mip_count=, layer=, layer_count=, format=, label=), a TextureViewDesc or a dict."""
    t = device.create_texture(type=TextureType.texture_2d_array, array_length=3, format=Format.rgba8_unorm, width=8, height=8, mip_count=3, usage=RW)
    v = t.create_view(spy.TextureViewDesc({"subresource_range": {"layer": 1, "layer_count": 2, "mip": 1, "mip_count": 1}, "label": "v"}))
    assert v.texture is t and v.label == v.desc.label == "v" and v.subresource_range.layer_count == 2 and v.aspect == spy.TextureAspect.all
    desc = spy.TextureViewDesc()
    desc.subresource_range.mip = 2
    assert t.create_view(desc).desc.subresource_range.mip == 2
    v = t.create_view()
    assert (v.subresource_range.layer_count, v.subresource_range.mip_count, v.device) == (3, 3, device)
    assert t.create_view(desc={"subresource_range": {"mip": 1}}).subresource_range.mip_count == 2
    assert t.create_view(format=Format.rgba8_unorm_srgb, layer=0, layer_count=1, mip=0, mip_count=1, label="x").format == Format.rgba8_unorm_srgb
    for bad in (dict(layer=3), dict(mip=1, mip_count=3)):
        with pytest.raises(Exception):
            t.create_view(**bad)


# >>textures as vectorised arguments


def test_textures_vectorise_over_texels(device, m, f4, f1):
    """A call runs over the texels of a texture for a scalar or vector parameter: the call shape is (height, width), and the result a
    Tensor."""
    r = m.add4(tex(device, f4), tex(device, f4))
    assert r.shape == (5, 7) and np.allclose(r.to_numpy(), 2 * f4)
    assert np.allclose(m.addf(tex(device, f1), 1.0).to_numpy(), f1 + 1) and np.allclose(m.add2(tex(device, f4[..., :2]), 1.0).to_numpy(), f4[..., :2] + 1)
    assert np.allclose(m.add4(tex(device, f4), spy.float4(1, 2, 3, 4)).to_numpy(), f4 + [1, 2, 3, 4])
    assert np.allclose(m.generic_add(tex(device, f4), tex(device, f4)).to_numpy(), 2 * f4)


def test_textures_broadcast_with_tensors_and_arrays(device, m, f4):
    """Sizes of textures, tensors and arrays align from the right; a texture of one texel is broadcast; other differences are a
    ValueError."""
    row, batch = Tensor.zeros(device, dtype=spy.float4, shape=(7,)), Tensor.zeros(device, dtype=spy.float4, shape=(3, 5, 7))
    many = RNG.random((3, 5, 7, 4)).astype(np.float32)
    row.copy_from_numpy(f4[0])
    batch.copy_from_numpy(many)
    assert np.allclose(m.add4(tex(device, f4), row).to_numpy(), f4 + f4[0])
    r = m.add4(tex(device, f4), batch)
    assert r.shape == (3, 5, 7) and np.allclose(r.to_numpy(), f4 + many)
    assert np.allclose(m.add4(tex(device, f4), tex(device, f4[:1, :1])).to_numpy(), f4 + f4[0, 0])
    assert np.allclose(m.add4(tex(device, f4), f4).to_numpy(), f4 * 2) and np.allclose(m.add4(tex(device, f4), Tensor.from_numpy(device, f4)).to_numpy(), f4 * 2)
    with pytest.raises(ValueError):
        m.add4(tex(device, f4), tex(device, f4[:3]))


@pytest.mark.parametrize("format, dtype, scale", [
    (Format.rgba8_unorm, np.uint8, 255), (Format.rgba8_snorm, np.int8, 127), (Format.rgba16_unorm, np.uint16, 65535),
    (Format.rgba16_snorm, np.int16, 32767), (Format.rgba16_float, np.float16, 1)], ids=lambda x: getattr(x, "name", None))
def test_unorm_snorm_and_half_formats_read_as_float(device, m, format, dtype, scale):
    """The element of a texture with a unorm, snorm or half format is float, whatever its number of bits."""
    data = (RNG.random((5, 7, 4)) * min(scale, 100)).astype(dtype)
    for usage in (RO, RW):
        assert np.allclose(m.add4(tex(device, data, format, usage=usage), spy.float4(0)).to_numpy(), data.astype(np.float32) / scale, atol=1e-3)


def test_integer_formats_read_as_integers(device, m):
    """uint and sint formats of all sizes read as uint and int."""
    data = RNG.integers(0, 100, (5, 7)).astype(np.uint32)
    assert np.array_equal(m.addu(tex(device, data, Format.r32_uint), 1).to_numpy(), data + 1)
    data = RNG.integers(0, 100, (5, 7, 4)).astype(np.uint8)
    assert np.array_equal(m.addu4(tex(device, data, Format.rgba8_uint), spy.uint4(1)).to_numpy(), data + 1)
    data = RNG.integers(-100, 100, (5, 7, 2)).astype(np.int16)
    assert np.array_equal(m.addi2(tex(device, data, Format.rg16_sint), spy.int2(1)).to_numpy(), data + 1)


def test_the_element_is_exact(device, m, f4):
    """A texture of float4 for float3 or float, or of float for uint or half, raises an exception. Calls do not run over cubes."""
    for wrong in (lambda: m.id3(tex(device, f4)), lambda: m.addf(tex(device, f4), 1.0), lambda: m.addu(tex(device, f4[..., 0]), 1),
                  lambda: m.id_half(tex(device, f4.astype(np.float16), Format.rgba16_float)),
                  lambda: m.addf(device.create_texture(type=TextureType.texture_cube, format=Format.r32_float, width=4, height=4, usage=RO), 1.0)):
        with pytest.raises(Exception):
            wrong()


def test_textures_are_written_as_results_and_outputs(device, m, f4):
    """A texture can be `_result`, or an argument for out and inout parameters, several at once; scalars are broadcast over it."""
    a, b = tex(device, f4), tex(device, f4 * 0)
    m.copy4(a, b)
    assert np.array_equal(b.to_numpy(), f4)
    assert m.add4(a, a, _result=b) is b and np.allclose(b.to_numpy(), 2 * f4)
    m.inc(a)
    assert np.allclose(a.to_numpy(), f4 + 1)
    m.copy4(spy.float4(1, 2, 3, 4), b)
    assert (b.to_numpy() == [1, 2, 3, 4]).all()
    one = flat(device, 0)
    four = device.create_texture(format=Format.rgba32_float, width=4, height=4, usage=RW)
    m.outs(flat(device, 2), four, one)
    assert (four.to_numpy() == 2).all() and (one.to_numpy() == 4).all()
    array = np.zeros_like(f4)
    m.copy4(b, array)
    assert (array == [1, 2, 3, 4]).all()


@pytest.mark.parametrize("format, most", [(Format.rgba8_unorm, 255), (Format.rgba16_float, 1), (Format.rgba8_snorm, 127), (Format.rgba16_unorm, 65535)], ids=str)
def test_stores_convert_to_the_format(device, m, format, most):
    """What a kernel writes is converted to the texture's format."""
    t = device.create_texture(format=format, width=4, height=4, usage=RW)
    m.add4(spy.float4(0.5), spy.float4(0.5), _result=t)
    assert (t.to_numpy() == most).all()
    m.write4(spy.grid((4, 4)), spy.float4(0, 1, 0, 1), t)
    assert (t.to_numpy() == [0, most, 0, most]).all()


def test_writing_needs_unordered_access(device, m, f4):
    """A texture without unordered_access raises an exception as an output."""
    t = tex(device, f4, usage=RO)
    for wrong in (lambda: m.inc(t), lambda: m.add4(spy.float4(1), spy.float4(1), _result=t), lambda: m.write4(spy.grid((5, 7)), spy.float4(1), t)):
        with pytest.raises(Exception):
            wrong()


def test_a_vector_call_id_has_x_as_the_column(device, m):
    """In a call over textures of 1, 2 and 3 dimensions and arrays, call_id() as a vector has the column in x, then row, then slice or
    layer."""
    t = device.create_texture(format=Format.rgba32_float, width=7, height=5, usage=RW)
    m.gen(spy.call_id(), _result=t)
    assert t.to_numpy()[2, 3].tolist() == [3, 2, 0, 1]
    t = device.create_texture(type=TextureType.texture_1d, format=Format.r32_float, width=9, usage=RW)
    m.gen1(spy.call_id(), _result=t)
    assert np.array_equal(t.to_numpy(), np.arange(9))
    t = device.create_texture(type=TextureType.texture_3d, format=Format.r32_float, width=4, height=3, depth=2, usage=RW)
    m.gen3(spy.call_id(), _result=t)
    assert t.to_numpy()[1, 2, 3] == 123
    t = device.create_texture(type=TextureType.texture_2d_array, format=Format.r32_float, width=4, height=3, array_length=2, usage=RW)
    m.gen3(spy.call_id(), _result=t)
    assert t.to_numpy(1)[2, 3] == 123


def test_one_and_three_dimensions_and_arrays_vectorise(device, m):
    """A call over a texture has the shape (width), (depth, height, width) or (layer, height, width)."""
    for kwargs, shape in ((dict(type=TextureType.texture_1d, width=9), (9,)), (dict(type=TextureType.texture_3d, width=4, height=3, depth=2), (2, 3, 4)),
                          (dict(type=TextureType.texture_2d_array, width=4, height=3, array_length=2), (2, 3, 4)),
                          (dict(type=TextureType.texture_1d_array, width=5, array_length=2), (2, 5))):
        data = RNG.random(shape).astype(np.float32)
        r = m.addf(device.create_texture(format=Format.r32_float, usage=RW, data=data, **kwargs), 1.0)
        assert r.shape == shape and np.allclose(r.to_numpy(), data + 1)


def test_views_are_arguments_of_their_mips_size(device, m):
    """A view of one mip level has that level's size, one layer is 2-D, and writes go there alone."""
    t = device.create_texture(format=Format.r32_float, width=8, height=8, mip_count=3, usage=RW)
    for mip in range(3):
        t.copy_from_numpy(np.full((8 >> mip, 8 >> mip), mip, np.float32), mip=mip)
    assert [m.at_mip(spy.int2(0, 0), t, mip) for mip in range(3)] == [0, 1, 2]
    v = t.create_view(mip=1, mip_count=1)
    r = m.addf(v, 1.0)
    assert r.shape == (4, 4) and (r.to_numpy() == 2).all()
    m.incf(v)
    m.addf(3.0, 4.0, _result=t.create_view(mip=2, mip_count=1))
    assert [t.to_numpy(mip=mip).max() for mip in range(3)] == [0, 2, 7]
    if device.info.type != spy.DeviceType.cuda:  # CUDA's textures do not tell how many levels they have
        assert m.sizes(t) == spy.uint3(8, 8, 3) and m.sizes(t.create_view(mip=1)) == spy.uint3(4, 4, 2)
    t = device.create_texture(type=TextureType.texture_2d_array, format=Format.r32_float, width=4, height=4, array_length=3, usage=RW)
    for layer in range(3):
        t.copy_from_numpy(np.full((4, 4), layer, np.float32), layer=layer)
    if device.info.type == spy.DeviceType.cuda:
        return
    v = t.create_view(layer=1, layer_count=1)
    assert m.addf(v, 1.0).shape == (4, 4) and m.addf(t.create_view(layer=1, layer_count=2), 1.0).shape == (2, 4, 4)
    m.twice(spy.grid((4, 4)), v)
    assert [t.to_numpy(layer).max() for layer in range(3)] == [0, 2, 2]


def test_a_face_of_a_cube_is_two_dimensional(device, m):
    """A view of one layer of a cube vectorises, is read and written; CUDA's textures have the type of the whole."""
    data = np.arange(6, dtype=np.float32)[:, None, None].repeat(4, 1).repeat(4, 2).copy()
    t = device.create_texture(type=TextureType.texture_cube, format=Format.r32_float, width=4, height=4, usage=RW, data=data)
    v = t.create_view(layer=3, layer_count=1)
    if device.info.type == spy.DeviceType.cuda:
        with pytest.raises(spy.Error, match="have the type of the texture that they were made from"):
            m.addf(v, 1.0)
        return
    assert (m.addf(v, 1.0).to_numpy() == 4).all()
    m.addf(5.0, 5.0, _result=v)
    assert (t.to_numpy(3) == 10).all() and (t.to_numpy(2) == 2).all()


def test_a_view_keeps_its_texture(device, m):
    """A view keeps its texture, which the script may drop."""
    t = flat(device, 1)
    v = t.create_view()
    del t
    assert (m.addf(v, 1.0).to_numpy() == 2).all()


@pytest.mark.parametrize("given", ["texture", Texture])
def test_a_result_may_be_a_new_texture(device, m, f4, given):
    """`_result="texture"`, `_result=Texture` and return_type() with them give a texture, 1-D, 2-D or 3-D by the call's rank."""
    r = m.add4(tex(device, f4), spy.float4(1), _result=given)
    assert isinstance(r, Texture) and r.format == Format.rgba32_float and np.allclose(r.to_numpy(), f4 + 1)
    assert isinstance(m.add4.return_type(given)(tex(device, f4), spy.float4(1)), Texture)
    r = m.gen3(spy.grid((2, 3, 4)), _result=given)
    assert r.type == TextureType.texture_3d and (r.width, r.height, r.depth) == (4, 3, 2) and r.to_numpy()[1, 2, 3] == 123
    assert m.gen1(spy.grid((4,)), _result=given).type == TextureType.texture_1d
    for wrong in (lambda: m.make_int(spy.grid((4, 4)), _result=given), lambda: m.addf(Tensor.zeros(device, dtype="float", shape=(1, 1, 1, 2)), 1.0, _result=given)):
        with pytest.raises(ValueError):
            wrong()


def test_a_result_of_three_channels_is_a_texture_that_can_be_read(device, m):
    """A float3 result gives a texture of rgb32_float, with unordered_access only where the device can write it."""
    if not device.get_format_support(Format.rgb32_float) & FormatSupport.texture:
        pytest.skip("the device has no such textures")
    t = m.make3(spy.grid((3, 4)), _result="texture")
    assert t.format == Format.rgb32_float and t.to_numpy()[2, 3].tolist() == [3, 2, 1]


def test_formats_that_devices_only_copy_make_textures(device, m, f4, monkeypatch):
    """As rgb32_float on NVIDIA's Vulkan: a texture with shader_resource holds texels, and a call that reads it says what is missing."""
    supports = spy._slangpy._format_support
    monkeypatch.setattr(spy._slangpy, "_format_support", lambda d, f: 4 if f == Format.rgba32_float else supports(d, f))
    t = device.create_texture(format=Format.rgba32_float, width=7, height=5, usage=RO, data=f4)
    assert np.array_equal(t.to_numpy(), f4)
    with pytest.raises(RuntimeError, match="it is read: expected a texture with SPY_TEXTURE_USAGE_SAMPLED"):
        m.at(spy.int2(0, 0), t)


def test_blits_of_integers_go_through_wide_texels_where_narrow_ones_cannot_be_written(device, monkeypatch):
    """As on CUDA, whose kernels write 32 bits a channel."""
    supports = spy._slangpy._format_support
    monkeypatch.setattr(spy._slangpy, "_format_support", lambda d, f: supports(d, f) & ~2 if f == Format.rgba8_uint else supports(d, f))
    data = RNG.integers(0, 100, (8, 8, 4)).astype(np.uint8)
    t = device.create_texture(format=Format.rgba8_uint, width=4, height=4, usage=TARGET)
    run(device, lambda e: e.blit(t, tex(device, data, Format.rgba8_uint, usage=RO)))
    assert np.array_equal(t.to_numpy(), (data.reshape(4, 2, 4, 2, 4).sum(axis=(1, 3)) + 2) // 4)


def test_results_of_uints_are_textures_of_uints(device, m):
    t = m.addu4(np.arange(24, dtype=np.uint32).reshape(2, 3, 4), spy.uint4(1), _result="texture")
    assert t.format == Format.rgba32_uint and np.array_equal(t.to_numpy().reshape(-1), np.arange(1, 25))
    assert m.addu(np.arange(6, dtype=np.uint32).reshape(2, 3), 1, _result="texture").format == Format.r32_uint


def test_negative_levels_and_layers_are_type_errors(device, f4):
    t = tex(device, f4)
    for wrong in (lambda: t.to_numpy(-1), lambda: t.to_numpy(0, -1), lambda: t.copy_from_numpy(f4, layer=-1)):
        with pytest.raises(TypeError, match="expected 0 or more, got -1"):
            wrong()


@pytest.mark.parametrize("usage", [RO, RW])
@pytest.mark.parametrize("format, dtype, channels", [("r8_uint", np.uint8, 1), ("rg16_sint", np.int16, 2), ("rgba8_uint", np.uint8, 4), ("rgba32_sint", np.int32, 4)])
def test_blits_of_integers_average_and_convert(device, format, dtype, channels, usage):
    """Averages of 8 and 16 bits are rounded and of 32 bits cut off, as SlangPy's are on NVIDIA; to floats and other integers go the values.
    Levels and layers of one texture, and targets that kernels cannot write, too. On CUDA not in layers."""
    form = dict(type=TextureType.texture_2d_array, array_length=2) if device.info.type != spy.DeviceType.cuda else {}
    layer = len(form) // 2
    data = RNG.integers(0, 100, (8, 8, channels)).astype(dtype)
    mean = data.reshape(4, 2, 4, 2, channels).sum(axis=(1, 3))
    mean = ((mean + (2 if dtype(0).itemsize < 4 else 0)) // 4).astype(dtype)
    t = device.create_texture(format=Format[format], width=8, height=8, mip_count=2, usage=usage, **form)
    t.copy_from_numpy(data if channels > 1 else data[..., 0], layer, 0)
    wide = device.create_texture(format=Format.rgba32_float, width=8, height=8, usage=usage)
    ints = device.create_texture(format=Format.rgba32_uint, width=4, height=4, usage=usage)
    first, second = (t.create_view(layer=layer, layer_count=1, mip=m, mip_count=1) for m in (0, 1))
    encoder = device.create_command_encoder()
    encoder.blit(second, first)
    encoder.blit(wide, first, POINT)
    encoder.blit(ints, second, POINT)
    device.submit_command_buffer(encoder.finish())
    assert np.array_equal(t.to_numpy(layer, 1).reshape(4, 4, channels), mean)
    assert np.array_equal(wide.to_numpy()[..., :channels], data) and np.array_equal(ints.to_numpy()[..., :channels], mean)


# >>textures as whole arguments


def test_textures_go_whole_to_parameters_of_their_kind(device, m, f4):
    """Textures go whole to Texture1D, Texture2D, Texture3D and arrays of them; Texture2D without a type is of float4."""
    t = tex(device, f4)
    assert np.array_equal(m.at(spy.grid((5, 7)), t).to_numpy(), f4) and np.array_equal(m.at_default(spy.grid((5, 7)), t).to_numpy(), f4)
    assert np.allclose([*m.at(spy.int2(3, 2), t)], f4[2, 3])
    for kwargs, shape, f in ((dict(type=TextureType.texture_1d, width=9), (9,), m.at1), (dict(type=TextureType.texture_3d, width=4, height=3, depth=2), (2, 3, 4), m.at3),
                             (dict(type=TextureType.texture_2d_array, width=4, height=3, array_length=2), (2, 3, 4), m.at_array)):
        data = RNG.random(shape).astype(np.float32)
        assert np.array_equal(f(spy.grid(shape), device.create_texture(format=Format.r32_float, usage=RW, data=data, **kwargs)).to_numpy(), data)


def test_other_things_are_no_textures(device, m):
    """A texture parameter refuses a tensor, a number, a sampler and a texture of another kind, and a sampler parameter refuses a
    texture."""
    volume = device.create_texture(type=TextureType.texture_3d, format=Format.r32_float, width=4, height=4, depth=4, usage=RW)
    for wrong in (Tensor.zeros(device, dtype="float", shape=(4, 4)), 1.0, volume, device.create_sampler()):
        with pytest.raises(Exception):
            m.at_mip(spy.int2(0, 0), wrong, 0)
    with pytest.raises(Exception):
        m.sample1(spy.float2(0), flat(device, 1), flat(device, 1), 0.0)


def test_writable_textures_go_whole(device, m, f4):
    """RWTexture2D, RWTexture3D and arrays of them are written; unorm elements and atomics work."""
    t = tex(device, f4)
    m.write4(spy.grid((5, 7)), spy.float4(1, 2, 3, 4), t)
    assert (t.to_numpy() == [1, 2, 3, 4]).all()
    t = tex(device, np.zeros((5, 7, 4), np.uint8), Format.rgba8_unorm)
    m.write_unorm(spy.grid((5, 7)), spy.float4(0, 0.5, 0, 1), t)
    assert np.allclose(t.to_numpy(), [0, 128, 0, 255], atol=1)
    t = device.create_texture(type=TextureType.texture_3d, format=Format.r32_float, width=4, height=3, depth=2, usage=RW)
    m.write3(spy.grid((2, 3, 4)), 4.0, t)
    assert (t.to_numpy() == 4).all()
    t = device.create_texture(type=TextureType.texture_2d_array, format=Format.r32_float, width=4, height=3, array_length=2, usage=RW)
    m.write_array(spy.grid((2, 3, 4)), 4.0, t)
    assert (t.to_numpy(1) == 4).all()
    t = tex(device, np.zeros((2, 2), np.uint32), Format.r32_uint)
    m.count(spy.grid((100,)), t)
    assert t.to_numpy()[0, 0] == 100


def test_structs_hold_textures_and_samplers(device, m, f1, f4):
    """Textures and samplers may be fields of dicts, with `_type` or without, also in methods; a call runs over a texture for a field
    that is a vector."""
    t = tex(device, f1)
    for given in ({"tex": t, "k": 2.0}, {"_type": "Scaled", "tex": t, "k": 2.0}):
        assert np.allclose(m.scaled(spy.grid((5, 7)), given).to_numpy(), f1 * 2)
    assert np.allclose(m.Scaled.get({"tex": t, "k": 3.0}, spy.grid((5, 7))).to_numpy(), 3 * f1)
    assert m.sampled(spy.float2(0.5), {"tex": tex(device, np.ones((2, 2, 4), np.float32)), "smp": device.create_sampler()}).x == 1
    assert np.allclose(m.pixel({"c": tex(device, f4), "w": t}).to_numpy(), f4 * f1[..., None])
    target = device.create_texture(format=Format.rgba32_float, width=4, height=4, usage=RW)
    m.Target.put({"t": target}, spy.grid((4, 4)), spy.float4(2))
    assert (target.to_numpy() == 2).all()


def test_instances_and_packed_arguments_hold_textures(device, m):
    """InstanceList fields and pack() take textures."""
    two = flat(device, 2)
    instances = spy.InstanceList(m.Scaled, {"tex": two, "k": 2.0})
    assert (instances.get(spy.grid((4, 4))).to_numpy() == 4).all()
    instances.k = 3.0
    assert (instances.get(spy.grid((4, 4))).to_numpy() == 6).all()
    packed = spy.pack(m, {"_type": "Scaled", "tex": two, "k": 2.0})
    assert (m.scaled(spy.grid((4, 4)), packed).to_numpy() == 4).all()

    class Wrapper:
        def get_this(self):
            return {"tex": two, "k": 5.0}

    assert (m.scaled(spy.grid((4, 4)), Wrapper()).to_numpy() == 10).all()


def test_lists_of_textures_go_to_arrays_of_textures(device, m):
    """Texture2D<float>[3] and RWTexture2D<float>[2] take lists."""
    assert (m.sum3(spy.grid((4, 4)), [flat(device, v) for v in (1, 2, 3)]).to_numpy() == 321).all()
    a, b = flat(device, 0), flat(device, 0)
    m.write_two(spy.grid((4, 4)), [a, b])
    assert (a.to_numpy() == 1).all() and (b.to_numpy() == 2).all()


def test_lists_of_dicts_hold_buffers_and_tensors(device):
    """A list of dicts goes whole to S[2] if S has buffers or tensors; lists may be fields of dicts."""
    m = spy.Module.load_from_source(device, "texture_facts_lists", """
import slangpy;
struct B { StructuredBuffer<float> t; float k; };
float buffers(int p, B a[2]) { float s = 0; for (int i = 0; i < 2; i++) s += a[i].t[p] * a[i].k; return s; }
struct T { Tensor<float, 1> t; float k; };
struct H { T a[2]; float g; };
float tensors(int p, H h) { return (h.a[0].t[p] + h.a[1].t[p] * h.a[1].k) * h.g; }
""")
    ones = np.ones(4, np.float32)
    buffer = device.create_buffer(element_count=4, struct_size=4, data=ones)
    assert (m.buffers(spy.grid((4,)), [{"_type": "B", "t": buffer, "k": 1.0}, {"_type": "B", "t": buffer, "k": 2.0}]).to_numpy() == 3).all()
    t = Tensor.from_numpy(device, ones)
    assert (m.tensors(spy.grid((4,)), {"a": [{"_type": "T", "t": t, "k": 1.0}, {"_type": "T", "t": t, "k": 2.0}], "g": 2.0}).to_numpy() == 6).all()


def test_globals_are_textures_and_samplers(device, m):
    """Global textures and samplers are set by set(name=...), set(dict), set(callback), write(cursor) and parameter blocks."""
    out = flat(device, 0)
    f = m.of_globals.set(ga=flat(device, 1), gb=[flat(device, 2), flat(device, 3)], gs=device.create_sampler())
    assert (f(spy.grid((4, 4))).to_numpy() == 7).all()
    m.to_global.set({"ga": flat(device, 4), "gw": out})(spy.grid((4, 4)))
    assert (out.to_numpy() == 8).all()
    m.to_global.set(lambda call: {"ga": flat(device, 5), "gw": out})(spy.grid((4, 4)))
    assert (out.to_numpy() == 10).all()

    def write(cursor):
        cursor.ga = flat(device, 6)
        cursor["gw"] = out

    m.to_global.write(write)(spy.grid((4, 4)))
    assert (out.to_numpy() == 12).all()
    assert (m.of_block.set({"block": {"t": flat(device, 3), "k": 2.0}})(spy.grid((4, 4))).to_numpy() == 6).all()


def test_raw_dispatches_take_textures(device, m, f4):
    """dispatch() of a function that is no entry point takes textures as parameters and in vars."""
    a, b, out = tex(device, f4), tex(device, f4 * 0), flat(device, 0)
    m.raw_in_out.dispatch(spy.uint3(7, 5, 1), i=a, o=b, n=spy.uint2(7, 5))
    assert np.allclose(b.to_numpy(), f4 * 2)
    m.raw_in_out.thread_group_size(spy.uint3(8, 8, 1)).dispatch([7, 5, 1], i=b, o=a, n=spy.uint2(7, 5))
    assert np.allclose(a.to_numpy(), f4 * 4)
    m.raw.dispatch([4, 4, 1], vars={"ga": flat(device, 4), "gw": out}, k=3.0)
    assert (out.to_numpy() == 12).all()
    m.raw.set(ga=flat(device, 4), gw=out).dispatch([4, 4, 1], k=4.0)
    assert (out.to_numpy() == 16).all()


def test_kernels_and_compute_passes_take_textures(device, f4):
    """Kernels and compute passes take textures for globals, parameters of entry points, fields of parameter blocks and arrays, by vars
    and by cursors."""
    module = device.load_module_from_source("texture_facts_kernel", KERNEL)
    program = device.link_program([module], [module.entry_point("kern")])
    a, b, o0, o1, one, s = tex(device, f4), tex(device, f4 * 0), tex(device, f4 * 0), tex(device, f4 * 0), tex(device, np.ones_like(f4)), device.create_sampler()
    device.create_compute_kernel(program).dispatch([7, 5, 1], vars={"gtex": one, "smp": s, "blk": {"t": a, "o": [o0, o1], "k": 4.0}}, i=a, o=b, n=spy.uint2(7, 5))
    assert np.allclose(b.to_numpy(), f4 * 3 + 2, atol=1e-4) and np.allclose(o0.to_numpy(), f4 * 4) and np.allclose(o1.to_numpy(), f4)
    other = tex(device, np.zeros((10, 14, 4), np.float32), mip_count=2)
    encoder = device.create_command_encoder()
    with encoder.begin_compute_pass() as p:
        root = spy.ShaderCursor(p.bind_pipeline(device.create_compute_pipeline(program)))
        root.gtex, root["smp"], root.blk.t, root.blk.k = one, s, a, 1.0
        root.blk.o[0], root["blk"]["o"][1] = o0, o1
        entry = root.find_entry_point(0)
        entry.i, entry["o"], entry.n = a, other.create_view(mip=1, mip_count=1), spy.uint2(7, 5)
        p.dispatch([7, 5, 1])
    device.submit_command_buffer(encoder.finish())
    assert np.allclose(other.to_numpy(mip=1), f4 * 3 + 2, atol=1e-4) and np.allclose(o0.to_numpy(), f4)


def test_calls_with_textures_are_recorded(device, m, f4):
    """`_append_to=encoder` records calls with textures as arguments, and with `_result="texture"`."""
    a, b = tex(device, f4), tex(device, f4 * 0)
    encoder = device.create_command_encoder()
    m.copy4(a, b, _append_to=encoder)
    m.inc(b, _append_to=encoder)
    device.submit_command_buffer(encoder.finish())
    assert np.allclose(b.to_numpy(), f4 + 1)


def test_work_on_one_texture_is_in_order(device, m):
    """Many calls that read and write one texture see each other's texels."""
    t = flat(device, 0)
    for _ in range(50):
        m.addf(t, 1.0, _result=t)
    assert (t.to_numpy() == 50).all()


def test_textures_of_another_device_raise(device, m, f4):
    """A texture belongs to one device."""
    with spy.create_device(type=spy.DeviceType.vulkan) as other:
        with pytest.raises(Exception):
            m.add4(tex(other, f4), spy.float4(0))
        other.close()


# >>samplers


def test_samplers_filter_and_address(device, m):
    """Samplers have filters, addressing modes, border colours and limits of the level."""
    A = spy.TextureAddressingMode
    t = tex(device, np.arange(16, dtype=np.float32).reshape(4, 4), mip_count=2)
    t.copy_from_numpy(np.full((2, 2), 50, np.float32), mip=1)

    def at(u, level=0.0, **kwargs):
        return m.sample1(spy.float2(u, 0.125), t, device.create_sampler(min_filter=POINT, mag_filter=POINT, **kwargs), level)

    assert [at(u, address_u=A.wrap) for u in (-0.1, 0.1, 1.1)] == [3, 0, 0]
    assert [at(u, address_u=A.clamp_to_edge) for u in (-0.1, 0.1, 1.1)] == [0, 0, 3]
    assert [at(u, address_u=A.mirror_repeat) for u in (-0.3, 0.3, 1.1)] == [1, 1, 3]
    assert at(1.1, address_u=A.clamp_to_border, border_color=spy.float4(1)) == 1 and at(0.1, 1.0) == 50 and at(0.1, 1.0, max_lod=0) == 0
    assert abs(m.sample1(spy.float2(0.25, 0.125), t, device.create_sampler(), 0.0) - 0.5) < 1e-3
    uv = Tensor.from_numpy(device, np.array([[0.125, 0.125], [0.875, 0.875]], np.float32))
    assert m.sample1(uv, t, device.create_sampler(min_filter=POINT, mag_filter=POINT), 0.0).to_numpy().tolist() == [0, 15]


def test_samplers_compare_and_gather(device, m):
    """reduction_op=comparison serves SamplerComparisonState; Gather reads four texels."""
    s = device.create_sampler(reduction_op=spy.TextureReductionOp.comparison, comparison_func=spy.ComparisonFunc.less)
    t = tex(device, np.full((2, 2), 0.5, np.float32))
    assert m.compare(spy.float2(0.5, 0.5), 0.25, t, s) == 1 and m.compare(spy.float2(0.5, 0.5), 0.75, t, s) == 0
    assert sorted(m.gather(spy.float2(0.5, 0.5), tex(device, np.arange(4, dtype=np.float32).reshape(2, 2)), device.create_sampler())) == [0, 1, 2, 3]


def test_cubes_are_sampled_by_direction(device, m):
    """The layers of a cube are +x, -x, +y, -y, +z, -z."""
    data = np.arange(6, dtype=np.float32)[:, None, None].repeat(4, 1).repeat(4, 2).copy()
    t = device.create_texture(type=TextureType.texture_cube, format=Format.r32_float, width=4, height=4, usage=RO, data=data)
    s = device.create_sampler()
    assert m.cube(spy.float3(0, 1, 0), t, s) == 2 and m.cube(spy.float3(0, 0, -1), t, s) == 5


def test_a_textures_own_sampler_serves_combined_parameters(device, m):
    """create_texture(sampler=) and create_view(sampler=) for Sampler2D."""
    data = np.zeros((2, 2, 4), np.float32)
    data[0, 0] = 1
    s = device.create_sampler(min_filter=POINT, mag_filter=POINT)
    t = tex(device, data, sampler=s)
    v = tex(device, data).create_view(sampler=s)
    assert t.sampler is s and v.sampler is s and tex(device, data).sampler is None
    assert m.combined(spy.float2(0.25, 0.25), t).x == 1 and m.combined(spy.float2(0.25, 0.25), v).x == 1
    assert m.add4(t, spy.float4(0)).to_numpy()[0, 0, 0] == 1


def test_every_field_of_a_sampler_desc_is_kept(device):
    """create_sampler takes all keywords, a SamplerDesc or a dict."""
    A = spy.TextureAddressingMode
    d = device.create_sampler(
        min_filter=POINT, mag_filter=POINT, mip_filter=POINT, reduction_op=spy.TextureReductionOp.average, address_u=A.clamp_to_edge, address_v=A.mirror_repeat,
        address_w=A.clamp_to_border, mip_lod_bias=0.5, max_anisotropy=4, comparison_func=spy.ComparisonFunc.less, border_color=spy.float4(0, 0, 0, 1), min_lod=0,
        max_lod=4, label="s").desc
    assert (d.address_v, d.min_lod, d.max_lod, d.label, d.mip_lod_bias, d.max_anisotropy) == (A.mirror_repeat, 0, 4, "s", 0.5, 4)
    assert device.create_sampler(spy.SamplerDesc({"min_filter": POINT})).desc.min_filter == POINT and spy.create_sampler().device is spy.current_device()


# >>other names


def test_native_handles_are_those_of_vulkan(device):
    """Texture.native_handle is a VkImage, a view's is a VkImageView, and a sampler's is a VkSampler."""
    kinds, t = spy.NativeHandleType, flat(device, 1)
    for thing, kind in ((t, kinds.VkImage), (t.create_view(), kinds.VkImageView), (device.create_sampler(), kinds.VkSampler)):
        assert thing.native_handle.type == kind and thing.native_handle.value != 0
    assert t.native_handle == t.native_handle != flat(device, 1).native_handle


def test_texture_shapes_are_those_of_calls(device):
    """slangpy.core.native.get_texture_shape(texture, mip) has the slowest size first."""
    from slangpy.core.native import get_texture_shape

    t = device.create_texture(type=TextureType.texture_3d, format=Format.r32_float, width=8, height=4, depth=2, mip_count=2, usage=RW)
    assert get_texture_shape(t) == [2, 4, 8] and get_texture_shape(t, 1) == [1, 2, 4]


def test_textures_become_bitmaps(device):
    """to_bitmap(layer, mip) takes channels, component type and gamma from the texture's format."""
    data = RNG.integers(0, 255, (4, 6, 4)).astype(np.uint8)
    b = tex(device, data, Format.rgba8_unorm).to_bitmap()
    assert (b.width, b.height, b.pixel_format, b.component_type) == (6, 4, spy.Bitmap.PixelFormat.rgba, spy.Bitmap.ComponentType.uint8)
    assert np.array_equal(np.array(b, copy=False), data)
    t = device.create_texture(type=TextureType.texture_2d_array, array_length=2, mip_count=2, format=Format.rg16_float, width=6, height=4, usage=RW)
    b = t.to_bitmap(layer=1, mip=1)
    assert (b.width, b.pixel_format, b.component_type) == (3, spy.Bitmap.PixelFormat.rg, spy.Bitmap.ComponentType.float16)


P = spy.Bitmap.PixelFormat


@pytest.mark.parametrize("channels, kind, format", [
    (P.y, "uint8", Format.r8_unorm), (P.r, "uint8", Format.r8_unorm), (P.rg, "uint8", Format.rg8_unorm), (P.rgb, "uint8", Format.rgba8_unorm_srgb),
    (P.rgba, "uint8", Format.rgba8_unorm_srgb), (P.rgba, "int8", Format.rgba8_snorm), (P.rgba, "uint16", Format.rgba16_unorm), (P.rgba, "int16", Format.rgba16_snorm),
    (P.rgb, "float16", Format.rgba16_float), (P.rgb, "float32", Format.rgba32_float), (P.r, "float32", Format.r32_float), (P.rg, "uint32", Format.rg32_uint),
    (P.r, "int32", Format.r32_sint), (P.ya, "uint8", Format.rgba8_unorm_srgb)], ids=lambda x: getattr(x, "name", x))
def test_loaders_choose_the_format(device, channels, kind, format):
    """TextureLoader chooses a format by the bitmap's channels and component type; three channels get an alpha, and 8-bit colours are
    sRGB."""
    bitmap = spy.Bitmap(channels, spy.Bitmap.ComponentType.__members__[kind], 8, 4)
    assert spy.TextureLoader(device).load_texture(bitmap).format == format


def test_loaders_take_paths_bitmaps_and_options(device, tmp_path):
    """load_texture, load_textures and load_texture_array, with an Options object or a dict."""
    loader, path = spy.TextureLoader(device), tmp_path / "a.png"
    data = RNG.integers(0, 255, (8, 16, 3)).astype(np.uint8)
    bitmap = spy.Bitmap(data)
    bitmap.write(path)
    t = loader.load_texture(str(path))
    assert (t.format, t.width, t.height, t.mip_count) == (Format.rgba8_unorm_srgb, 16, 8, 1)
    assert np.array_equal(t.to_numpy()[..., :3], data) and (t.to_numpy()[..., 3] == 255).all()
    t = loader.load_texture(path, {"load_as_srgb": False, "generate_mips": True, "usage": RW})
    assert t.format == Format.rgba8_unorm and t.mip_count == 5
    assert np.allclose(t.to_numpy(mip=1)[..., :3], data.reshape(4, 2, 8, 2, 3).mean((1, 3)), atol=2)
    options = spy.TextureLoader.Options()
    options.load_as_normalized = options.load_as_srgb = False
    options.allocate_mips = True
    assert loader.load_texture(bitmap, options).format == Format.rgba8_uint
    assert [t.mip_count for t in loader.load_textures([bitmap, bitmap], [options, spy.TextureLoader.Options()])] == [5, 1]
    assert [t.format for t in loader.load_textures([path, path], {"load_as_srgb": False})] == [Format.rgba8_unorm] * 2
    t = loader.load_texture_array([bitmap] * 3)
    assert (t.array_length, t.type) == (3, TextureType.texture_2d_array) and np.array_equal(t.to_numpy(2)[..., :3], data)
    for wrong in (lambda: loader.load_texture_array([bitmap, spy.Bitmap(data[:4])]), lambda: loader.load_texture(tmp_path / "none.png")):
        with pytest.raises(Exception):
            wrong()


@pytest.mark.parametrize("format, dtype", [(Format.rgb10a2_unorm, np.uint32), (Format.b5g6r5_unorm, np.uint16), (Format.r11g11b10_float, np.uint32)])
def test_texels_that_are_no_plain_numbers_are_bytes(device, format, dtype):
    """copy_from_numpy() takes them in any shape, and to_numpy() gives them as an array of one dimension."""
    if not device.get_format_support(format) & FormatSupport.copy_source:
        pytest.skip("the device has no such textures")
    t = device.create_texture(format=format, width=5, height=3, usage=RO)
    data = np.arange(15, dtype=dtype).reshape(3, 5)
    t.copy_from_numpy(data)
    assert t.to_numpy().dtype == np.uint8 and t.to_numpy().tobytes() == data.tobytes() and t.to_numpy().shape == (data.nbytes,)
    with pytest.raises(RuntimeError, match="60 bytes|30 bytes"):
        t.copy_from_numpy(data[:2].copy())
    with pytest.raises(ValueError, match="no plain numbers"):
        t.to_bitmap()


def test_texts_of_textures_and_views(device):
    t = device.create_texture(format=Format.rgba32_float, width=8, height=4, mip_count=2, usage=RW, label="x")
    assert re.sub("0x[0-9a-f]+", "0x1", repr(t.create_view(mip=1))) == """TextureView(
  device = 0x1,
  texture = Texture(
    device = 0x1,
    type = texture_2d,
    width = 8,
    height = 4,
    depth = 1,
    mip_count = 2,
    array_length = 1,
    sample_count = 1,
    format = rgba32_float,
    usage = (shader_resource | unordered_access),
    memory_type = device_local,
    size = 640 B,
    label = x
  ),
  format = rgba32_float,
  aspect = all,
  subresource_range = SubresourceRange(layer=0, layer_count=1, mip=1, mip_count=1,
  label = 
)"""
    assert repr(spy.Viewport.from_size(4, 5)) == "Viewport(x=0, y=0, width=4, height=5, min_depth=0, max_depth=1)"
