"""Bad input to textures, samplers and draws, in the order of the project's list. Each case is an error that says what was expected and
what came, or is legal and does what its name says. Nothing is written in part, and the device can be used afterwards."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureType, TextureUsage

RW = TextureUsage.shader_resource | TextureUsage.unordered_access
TARGET = TextureUsage.render_target | TextureUsage.shader_resource

SOURCE = """
struct Out { float4 position : SV_Position; float4 color : COLOR; }
[shader("vertex")] Out vs(float3 position : POSITION, float4 color : COLOR) { Out o; o.position = float4(position, 1); o.color = color; return o; }
[shader("fragment")] float4 fs(Out v) : SV_Target { return v.color; }
[shader("fragment")] float4 fs_image(Out v, uniform Texture2D<float4> image) : SV_Target { return image[int2(v.position.xy)] + 0.25; }
float4 at(Texture2D<float4> t, int2 p) { return t[p]; }
float4 sampled(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float4 combined(Sampler2D<float4> t, float2 uv) { return t.SampleLevel(uv, 0); }
float take(StructuredBuffer<float4> b, int i) { return b[i].x; }
float4 same(float4 x) { return x; }
void put(RWTexture2D<float4> t, int2 p, float4 v) { t[p] = v; }
double4 wide(double4 x) { return x; }
"""


@pytest.fixture(scope="module")
def m(device, load):
    if device.info.api_name == "CUDA":
        pytest.skip("there are no draws on CUDA")
    return load(SOURCE)


def image(device, usage=RW, size=8, value=0.5, format=Format.rgba32_float, **more):
    data = np.full((size, size, 4), value, np.float32)
    return device.create_texture(format=format, width=size, height=size, usage=usage, **{"data": data, **more})


POSITIONS = np.array([[-1, -1, 0.5], [3, -1, 0.5], [-1, 3, 0.5]], np.float32)
COLORS = np.ones((3, 4), np.float32)


def draw(m, target, fragment="fs", vertices=None, **more):
    m.draw("vs", fragment, vertices={"position": POSITIONS, "color": COLORS} if vertices is None else vertices, target=target, **more)


def refuses(device, what, *words, kinds=(RuntimeError, ValueError, TypeError)):
    """Checks that what() raises an error whose text has all the words, and that the device works afterwards."""
    with pytest.raises(kinds) as error:
        what()
    for word in words:
        assert word in str(error.value), "'{}' lacks '{}'".format(error.value, word)
    t = image(device)
    assert np.all(t.to_numpy() == 0.5)


def missing_formats(device):
    return [f for f in Format if f != Format.undefined and device.get_format_support(f) == spy.FormatSupport.none]


def test_an_unsupported_format_is_named_with_one_that_works(device, m):
    for format in missing_formats(device)[:5]:
        refuses(device, lambda: device.create_texture(format=format, width=4, height=4, usage=TextureUsage.shader_resource), format.name)
    use = [f for f in Format if f != Format.undefined and device.get_format_support(f) & spy.FormatSupport.texture
           and not device.get_format_support(f) & spy.FormatSupport.render_target and not spy.get_format_info(f).is_compressed and not spy.get_format_info(f).is_depth]
    assert use
    refuses(device, lambda: device.create_texture(format=use[0], width=4, height=4, usage=TextureUsage.render_target), use[0].name, "COLOR_TARGET", "nearest")


@pytest.mark.parametrize("data, words", [(np.zeros(255, np.uint8), "256"), (np.zeros((8, 8, 3), np.uint8), "256"), (np.zeros((9, 8, 4), np.uint8), "256")],
                         ids=["bytes", "channels", "rows"])
def test_data_of_a_wrong_size(device, data, words):
    make = lambda: device.create_texture(format=Format.rgba8_unorm, width=8, height=8, usage=RW, data=data)
    refuses(device, make, "create_texture", "data", words, str(data.nbytes))


def test_a_wrong_pitch_and_a_buffer_too_small(device):
    t = image(device)
    buffer = device.create_buffer(size=1024, usage=spy.BufferUsage.copy_destination)
    encoder = device.create_command_encoder()
    refuses(device, lambda: encoder.copy_texture_to_buffer(buffer, 0, 1024, 100, t, 0, 0), "100")
    refuses(device, lambda: encoder.copy_texture_to_buffer(buffer, 512, 1024, 128, t, 0, 0), "1024")
    encoder.copy_texture_to_buffer(buffer, 0, 1024, 128, t, 0, 0)
    device.submit_command_buffer(encoder.finish())
    assert np.all(buffer.to_numpy().view(np.float32) == 0.5)


def test_a_texture_where_a_buffer_is_wanted_and_the_reverse(device, m):
    t, buffer = image(device), device.create_buffer(size=256, struct_size=16, usage=spy.BufferUsage.shader_resource)
    refuses(device, lambda: m.take(t, 0), "take", "'b'", "StructuredBuffer<float4>", "texture", "it takes a tensor")
    refuses(device, lambda: m.at(buffer, spy.int2(0)), "at", "'t'", "Texture2D<float4>", "it takes a texture")


@pytest.mark.parametrize("where", [{"mip": 1}, {"layer": 1}, {"mip_count": 2}, {"layer_count": 2}, {"mip": 5, "mip_count": 1}], ids=str)
def test_views_out_of_range(device, where):
    t = image(device)
    refuses(device, lambda: t.create_view(**where), "the texture has 1", kinds=(RuntimeError, ValueError, IndexError))


def test_a_sampler_that_is_missing(device, m):
    t = image(device)
    refuses(device, lambda: m.sampled(t, spy.float2(0.5)), "sampled", "uv", kinds=Exception)
    refuses(device, lambda: m.sampled(t, t, spy.float2(0.5)), "'s'", "it takes a sampler")
    refuses(device, lambda: m.combined(t, spy.float2(0.5)), "'t'", "sampler")
    assert m.sampled(t, device.create_sampler(), spy.float2(0.5)).x == 0.5


def test_a_target_that_the_same_draw_reads(device, m):
    t = image(device, TARGET | TextureUsage.unordered_access)
    refuses(device, lambda: draw(m, t, "fs_image", image=t), "'image'", "target of the same draw")
    assert np.all(t.to_numpy() == 0.5)


def test_mips_of_one_texture_are_read_and_drawn_into(device, m):
    t = device.create_texture(format=Format.rgba32_float, width=8, height=8, mip_count=3, usage=TARGET)
    t.copy_from_numpy(np.full((8, 8, 4), 0.5, np.float32))
    for mip in (1, 2):
        draw(m, t.create_view(mip=mip, mip_count=1), "fs_image", image=t.create_view(mip=mip - 1, mip_count=1))
    assert np.all(t.to_numpy(mip=1) == 0.75) and np.all(t.to_numpy(mip=2) == 1)
    same = t.create_view(mip=1, mip_count=1)
    refuses(device, lambda: draw(m, same, "fs_image", image=same), "target of the same draw")
    assert np.all(t.to_numpy(mip=1) == 0.75)


def test_depth_without_a_depth_target(device, m):
    t, color = image(device, TARGET), image(device, TARGET)
    refuses(device, lambda: draw(m, t, depth=color), "draw.depth.texture", "rgba32_float", "d32_float")
    encoder = device.create_command_encoder()
    desc = {"color_attachments": [{"view": t.create_view()}], "depth_stencil_attachment": {"view": color.create_view()}}
    refuses(device, lambda: encoder.begin_render_pass(desc), "depth_stencil_attachment.view", "depth_stencil")
    draw(m, t)  # without a depth target draw() makes no depth test
    assert np.all(t.to_numpy() == 1)


@pytest.mark.parametrize("vertices, words", [({"position": POSITIONS}, ["color"]), ({"position": POSITIONS, "color": "red"}, ["color"]),
                                             ({"position": POSITIONS[:, :2].copy(), "color": COLORS}, ["position", "2"]),
                                             ({"position": POSITIONS, "color": COLORS, "extra": COLORS}, ["extra"])], ids=["missing", "type", "columns", "extra"])
def test_attributes_that_are_missing_or_of_another_type(device, m, vertices, words):
    t = image(device, TARGET)
    refuses(device, lambda: draw(m, t, vertices=vertices), *words)
    assert np.all(t.to_numpy() == 0.5)


def test_attributes_of_the_device_are_not_converted(device, m):
    t, colors = image(device, TARGET), spy.Tensor.from_numpy(device, COLORS.astype(np.int32))
    refuses(device, lambda: draw(m, t, vertices={"position": POSITIONS, "color": colors}), "'color'", "expected a tensor of float4", "got int tensor (3, 4)")
    draw(m, t, vertices={"position": POSITIONS, "color": COLORS.astype(np.int32)})  # these attributes are numpy arrays
    assert np.all(t.to_numpy() == 1)


def test_attributes_have_as_many_vertices_as_each_other(device, m):
    t = image(device, TARGET)
    refuses(device, lambda: draw(m, t, vertices={"position": POSITIONS, "color": COLORS[:2].copy()}), "'position' has 3", "'color' has 2")
    assert np.all(t.to_numpy() == 0.5)


def test_no_vertices_are_legal(device, m):
    t = image(device, TARGET)
    draw(m, t, vertices={"position": np.zeros((0, 3), np.float32), "color": np.zeros((0, 4), np.float32)})
    assert np.all(t.to_numpy() == 0.5)
    draw(m, t, vertices={"position": np.zeros((0, 3), np.float32), "color": np.zeros((0, 4), np.float32)}, clear=(0, 0, 0, 1))
    assert t.to_numpy()[3, 3].tolist() == [0, 0, 0, 1]


def test_indices_of_a_wrong_type(device, m):
    t = image(device, TARGET)
    refuses(device, lambda: draw(m, t, indices=np.array([0, 1, 2], np.float32)), "indices")
    refuses(device, lambda: draw(m, t, indices=np.array([0, 1, -2])), "indices", "0 to 4294967295")
    refuses(device, lambda: draw(m, t, indices=spy.Tensor.from_numpy(device, np.zeros(3, np.float32))), "draw.indices", "expected a tensor of uint32", "float")
    draw(m, t, indices=np.array([0, 1, 2], np.int64))
    assert np.all(t.to_numpy() == 1)


def test_features_that_the_device_lacks_are_named(device, m):
    samples = 64  # no device has 64 samples
    refuses(device, lambda: device.create_texture(type=TextureType.texture_2d_ms, format=Format.rgba32_float, width=4, height=4, sample_count=samples,
                                                  usage=TextureUsage.render_target), "64 samples", "it has")
    refuses(device, lambda: device.create_texture(format=Format.rgba8_unorm, width=1 << 20, height=1, usage=RW), "exceed")
    refuses(device, lambda: device.create_sampler(max_anisotropy=-1), "max_anisotropy")


@pytest.mark.parametrize("call", [lambda m, t: m.same(t, _result=np.zeros((8, 8, 3), np.float32)), lambda m, t: m.wide(t), lambda m, t: m.at(t, "x"),
                                  lambda m, t: m.put(t.create_view(), spy.int2(0), "red"), lambda m, t: m.same(t, _result=t.create_view(mip=3))])
def test_other_mistakes_leave_the_texture_as_it_was(device, m, call):
    t = image(device)
    refuses(device, lambda: call(m, t), kinds=Exception)
    assert np.all(t.to_numpy() == 0.5)
