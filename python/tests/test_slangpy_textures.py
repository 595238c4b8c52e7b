"""Textures as SlangPy's scripts use them. Each test that needs something the library lacks is skipped, and says so."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureType, TextureUsage

BOTH = TextureUsage.shader_resource | TextureUsage.unordered_access


@pytest.fixture(scope="module")
def device():
    with spy.create_device(spy.DeviceType.vulkan) as device:
        yield device
        device.close()


@pytest.fixture(scope="module")
def real(device):
    if not device.get_format_support(Format.rgba32_float):
        pytest.skip("the library has no textures in this build")
    return device


def test_sizes_and_mip_count_default_to_one(real):
    t = real.create_texture(format=Format.r32_float, width=5)
    assert (t.width, t.height, t.depth, t.mip_count, t.array_length, t.layer_count) == (5, 1, 1, 1, 1, 1)
    assert real.create_texture(format=Format.r32_float, width=9, height=4, mip_count=spy.ALL_MIPS).mip_count == 4


def test_wrong_descriptions_raise(device):
    for bad in (dict(width=4), dict(format=Format.r32_float, array_length=2), dict(format=Format.r32_float, depth=2), dict(format=Format.r32_float, mip_count=2),
                dict(format=Format.r32_float, type=TextureType.texture_cube, width=4, height=2), dict(format=Format.r32_float, width=2, data=np.zeros(3, np.float32))):
        with pytest.raises(ValueError):
            device.create_texture(**bad)
    with pytest.raises(TypeError):
        device.create_texture({"nothing": 1})


def test_a_cube_has_six_layers(real):
    assert real.create_texture(type=TextureType.texture_cube, format=Format.rgba8_unorm, width=4, height=4).layer_count == 6
    assert real.create_texture({"type": TextureType.texture_cube_array, "format": Format.rgba8_unorm, "width": 4, "height": 4, "array_length": 2}).subresource_count == 12


def test_sizes_of_mips_are_uint3(real):
    t = real.create_texture(spy.TextureDesc(format=Format.rgba32_float, width=8, height=6, mip_count=3))
    assert t.get_mip_size(1) == [4, 3, 1] and t.get_mip_size(2).x == 2 and (t.get_mip_width(), t.get_mip_height(2), t.get_mip_depth(1), t.get_mip_width(7)) == (8, 1, 1, 0)
    layout = t.get_subresource_layout(1)
    assert (layout.row_pitch, layout.row_count, layout.size_in_bytes, layout.slice_pitch, layout.col_pitch) == (64, 3, 192, 192, 16)


@pytest.mark.parametrize("format, dtype, tail", [(Format.r32_float, np.float32, ()), (Format.rgba32_float, np.float32, (4,)), (Format.rg16_float, np.float16, (2,)),
                                                 (Format.r8_unorm, np.uint8, ()), (Format.rgba8_unorm, np.uint8, (4,)), (Format.r32_uint, np.uint32, ()), (Format.rg16_sint, np.int16, (2,))])
@pytest.mark.parametrize("type, sizes", [(TextureType.texture_2d, (3, 5)), (TextureType.texture_3d, (2, 3, 5)), (TextureType.texture_1d, (5,))])
def test_to_numpy_has_the_shape_of_the_texels(real, format, dtype, tail, type, sizes):
    data = np.random.default_rng(1).integers(0, 99, sizes + tail).astype(dtype)
    depth, height, width = (1, 1, 1)[len(sizes):] + sizes
    for given in (data, data.reshape(-1)):
        got = real.create_texture(type=type, format=format, width=width, height=height, depth=depth, usage=BOTH, data=given).to_numpy()
        assert got.dtype == dtype and got.shape == data.shape and (got == data).all()


def test_copy_from_numpy_takes_exactly_that_shape(real):
    t = real.create_texture(format=Format.rg32_float, width=4, height=2, mip_count=2)
    t.copy_from_numpy(np.full((1, 2, 2), 3, np.float32), mip=1)
    assert (t.to_numpy(mip=1) == 3).all()
    for bad in (np.zeros((2, 4), np.float32), np.zeros(16, np.float32), np.zeros((2, 4, 2), np.float64), np.zeros((2, 4, 4), np.float32)[:, :, ::2]):
        with pytest.raises(RuntimeError):
            t.copy_from_numpy(bad)


def test_uploads_go_by_layer_then_mip_and_clears_by_range(real):
    t = real.create_texture(type=TextureType.texture_2d_array, format=Format.r32_float, width=4, height=4, array_length=2, mip_count=2)
    encoder = real.create_command_encoder()
    encoder.upload_texture_data(t, [np.full((4 >> m, 4 >> m), 10 * layer + m, np.float32) for layer in range(2) for m in range(2)])
    encoder.clear_texture_float(t, {"layer": 1, "mip": 1}, [7, 0, 0, 0])
    encoder.copy_texture(t, 0, 0, (2, 2, 0), t, 1, 0, (0, 0, 0), (2, 2, 1))
    real.submit_command_buffer(encoder.finish())
    assert (t.to_numpy(1, 1) == 7).all() and (t.to_numpy(1, 0) == 10).all() and (t.to_numpy(0, 1) == 1).all()
    assert t.to_numpy(0, 0)[1:, 1:].tolist() == [[0, 0, 0], [0, 10, 10], [0, 10, 10]]


def test_copies_to_and_from_buffers(real):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    t, other = (real.create_texture(format=Format.r32_float, width=4, height=3, data=d) for d in (data, None))
    buffer = real.create_buffer(size=256)
    encoder = real.create_command_encoder()
    encoder.copy_texture_to_buffer(buffer, 64, 96, 32, t, 0, 0)
    encoder.copy_buffer_to_texture(other, 0, 0, [0, 0, 0], buffer, 64, 96, 32)
    real.submit_command_buffer(encoder.finish())
    assert (other.to_numpy() == data).all()
    with pytest.raises(ValueError):
        real.create_command_encoder().copy_texture_to_buffer(buffer, 0, 8, 0, t, 0, 0)


@pytest.mark.parametrize("kind, format", [("float", Format.r32_float), ("half", Format.r16_float), ("uint8_t", Format.r8_unorm), ("uint16_t", Format.r16_unorm),
                                          ("int8_t", Format.r8_snorm), ("int16_t", Format.r16_snorm), ("float4", Format.rgba32_float)])
def test_result_texture_has_the_format_of_the_result(real, kind, format):
    m = spy.Module.load_from_source(real, "result_" + kind, "%s f(int2 p) { return %s(p.x + 10 * p.y); }" % (kind, kind))
    for how in ("texture", spy.Texture):
        t = m.f(spy.grid((3, 4)), _result=how)
        assert (t.format, t.type, t.width, t.height) == (format, TextureType.texture_2d, 4, 3)
        assert t.to_numpy().reshape(3, 4, -1)[2, 3, 0] == 23


def test_result_texture_of_other_types_and_ranks_raises_value_error(real):
    m = spy.Module.load_from_source(real, "no_result", "int f(int x) { return x; } float g(float x) { return x; }")
    for use in (lambda: m.f(spy.grid((4,)), _result="texture"), lambda: m.g(1.0, _result="texture"), lambda: m.g(1.0, _result="picture")):
        with pytest.raises(ValueError):
            use()


def test_samplers_are_made_from_keywords_descs_and_dicts(real):
    s = real.create_sampler(min_filter=spy.TextureFilteringMode.point, border_color=[1, 0, 0, 1])
    assert s.desc.min_filter == spy.TextureFilteringMode.point and s.desc.border_color == [1, 0, 0, 1] and s.device is real
    assert real.create_sampler({"max_anisotropy": 4}).desc.max_anisotropy == 4 and spy.create_sampler(spy.SamplerDesc()).desc == spy.SamplerDesc()


def test_views_say_what_they_show(real):
    t = real.create_texture(type=TextureType.texture_2d_array, format=Format.r32_float, width=8, height=8, array_length=3, mip_count=4)
    v = t.create_view(mip=1, layer=2, layer_count=1)
    assert v.texture is t and v.format == t.format and (v.subresource_range.mip, v.subresource_range.mip_count, v.subresource_range.layer) == (1, 3, 2)
    assert spy.core.native.get_texture_shape(v) == [4, 4]
    with pytest.raises(IndexError):
        t.create_view(mip=4)
