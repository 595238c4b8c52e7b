"""Facts of the package that a script sees without a call. They were found by running the same lines on SlangPy and on slangpy."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
struct Inner { float a; int3 b; }
struct Gen<T, let N : int> { T data[N]; }
float add(float a, float b) { return a + b; }
float4 sample(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
"""
PRIVATE = """
module private_{0};
public static const int K = 5;
int hidden() {{ return K; }}
[shader("compute")] [numthreads(8, 1, 1)]
void main(uint3 tid : SV_DispatchThreadID, RWStructuredBuffer<int> b) {{ b[tid.x] = hidden() + int(tid.x); }}
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "stranger_host", SOURCE)


@pytest.mark.parametrize("name, shape, element", [
    ("Tensor<float,2>", (-1, -1), "float"), ("RWTensor<float3,1>", (-1, 3), "vector<float,3>"), ("ITensor<Inner,2>", (-1, -1), "Inner"),
    ("IRWTensor<float,3>", (-1, -1, -1), "float"), ("Texture1D<float>", (-1,), "float"), ("RWTexture2D<float2>", (-1, -1, 2), "vector<float,2>"),
    ("Texture2DArray<float4>", (-1, -1, -1, 4), "vector<float,4>"), ("TextureCube<float>", (-1, -1, -1), "float"),
    ("StructuredBuffer<Inner>", (-1,), "Inner"), ("RWStructuredBuffer<float3>", (-1,), "vector<float,3>"), ("float3[4]", (4, 3), "vector<float,3>"),
    ("Inner", (), None)])
def test_types_of_resources_and_tensors_have_shapes_and_elements(m, name, shape, element):
    t = m.layout.find_type_by_name(name)
    assert t.shape == shape and t.num_dims == len(shape) and "shape={}".format(list(shape)) in repr(t)
    assert (t.element_type.full_name if element else t.element_type) == element


def test_generic_arguments_are_a_list_and_arrays_have_inner_types(m):
    layout = m.layout
    assert layout.get_resolved_generic_args(layout.find_type_by_name("Gen<float, 3>")) == [layout.find_type_by_name("float"), 3]
    nested = layout.find_type_by_name("float2[3][4]")
    assert nested.array_dims == 2 and nested.array_shape == (4, 3) and nested.inner_element_type.full_name == "vector<float,2>" and nested.layout is layout
    with pytest.raises(AttributeError):
        layout.find_type_by_name("float2").array_dims


def test_a_module_knows_its_options(device):
    assert spy.Module.load_from_source(device, "stranger_options", "int one() { return 1; }", {"strict_broadcasting": True}).options == {"strict_broadcasting": True}


@pytest.mark.parametrize("call", [
    lambda d: d.create_buffer(usage=spy.BufferUsage.none), lambda d: d.create_buffer(size=-1), lambda d: d.create_texture(width=4, height=4),
    lambda d: d.create_texture(format=spy.Format.r32_float, width=0, height=4), lambda d: d.create_buffer(size=8, data=np.zeros(4, np.float32)),
    lambda d: spy.Tensor.zeros(d, (2,), "float").cursor(0, 5), lambda d: spy.Tensor.zeros(d, (2,), "float")[7]])
def test_errors_of_arguments_are_runtime_errors(device, call):
    with pytest.raises(RuntimeError):
        call(device)


def test_entry_points_need_not_be_public(device):
    """Entry points that are not public are compiled in their module, also if it has a `module` line or `public` declarations."""
    b = device.create_buffer(size=64, struct_size=4, usage=spy.BufferUsage.unordered_access)
    raw = device.load_module_from_source("private_raw", PRIVATE.format("raw"))
    assert [e.name for e in raw.entry_points] == ["main"]
    device.create_compute_kernel(device.link_program([raw], [raw.entry_point("main")])).dispatch([8, 1, 1], b=b)
    assert b.to_numpy().view(np.int32)[:8].tolist() == list(range(5, 13))
    functional = spy.Module.load_from_source(device, "private_functional", PRIVATE.format("functional"))
    functional.main.dispatch([16, 1, 1], b=b)
    assert b.to_numpy().view(np.int32).tolist() == list(range(5, 21))
    with pytest.raises(AttributeError, match="is not public"):
        functional.hidden


def test_a_texture_of_fewer_channels_is_read_as_one_of_four(device, m):
    """A texture of fewer channels reads 0 for missing colors and 1 for a missing alpha."""
    t = device.create_texture(format=spy.Format.r32_float, width=2, height=2, usage=spy.TextureUsage.shader_resource, data=np.full((2, 2), 0.25, np.float32))
    assert m.sample(t, device.create_sampler(), spy.float2(0.5)) == spy.float4(0.25, 0, 0, 1)
    ints = device.create_texture(format=spy.Format.rgba32_uint, width=2, height=2, usage=spy.TextureUsage.shader_resource)
    with pytest.raises(ValueError, match="expected Texture2D<float4>"):
        m.sample(ints, device.create_sampler(), spy.float2(0.5))


def test_attachments_are_cleared_unless_a_load_op_says_otherwise(device):
    target = device.create_texture(format=spy.Format.rgba8_unorm, width=4, height=4, usage=spy.TextureUsage.render_target)
    for color in ([1, 0, 0, 1], [0, 1, 0, 1]):
        encoder = device.create_command_encoder()
        with encoder.begin_render_pass({"color_attachments": [{"view": target.create_view(), "clear_value": color}]}):
            pass
        device.submit_command_buffer(encoder.finish())
        assert (target.to_numpy() == np.array(color, np.uint8) * 255).all()
    depth = spy.RenderPassDepthStencilAttachment({})
    assert depth.depth_load_op == depth.stencil_load_op == spy.LoadOp.clear and depth.stencil_store_op == spy.StoreOp.store


def test_descs_say_what_was_made(device):
    b = device.create_buffer(size=64, default_state=spy.ResourceState.unordered_access)
    assert b.struct_size == 0 and b.desc.default_state == spy.ResourceState.unordered_access and spy.BufferDesc().default_state == spy.ResourceState.undefined
    assert device.desc.type == device.info.type and device.desc.type != spy.DeviceType.automatic
    options = spy.SlangCompilerOptions({"include_paths": ["/a/b"]})
    assert [p.name for p in options.include_paths] == ["b"] and all(p.is_dir() for p in device.slang_session.desc.compiler_options.include_paths)


def test_enums_are_printed_by_class_and_name():
    assert repr(spy.LogLevel.info) == str(spy.LogLevel.info) == "LogLevel.info" and repr([spy.Format.r8_unorm]) == "[Format.r8_unorm]"
    assert list(spy.math.Handedness) == [spy.math.Handedness.right_handed, spy.math.Handedness.left_handed] and spy.math.Handedness(1).name == "left_handed"


def test_star_imports_of_the_native_paths():
    names = {}
    exec("from slangpy.slangpy import *\nfrom slangpy.core.native import *", names)
    assert names["Shape"](1, 2) == (1, 2) and names["Buffer"] is spy.Buffer


def test_bitmaps_of_textures(device):
    """A texture of one channel becomes a bitmap of r; colors are in sRGB if the texture's format says so."""
    def bitmap(format, **sizes):
        return device.create_texture(format=format, width=4, height=2, usage=spy.TextureUsage.shader_resource, **sizes).to_bitmap()

    assert bitmap(spy.Format.r32_float).pixel_format == spy.Bitmap.PixelFormat.r and not bitmap(spy.Format.rgba8_unorm).srgb_gamma
    assert bitmap(spy.Format.rg8_unorm).pixel_format == spy.Bitmap.PixelFormat.rg and bitmap(spy.Format.rgba8_unorm_srgb).srgb_gamma
    with pytest.raises(RuntimeError):
        bitmap(spy.Format.r32_float, type=spy.TextureType.texture_3d, depth=2)


def test_tensors_are_loaded_from_exr_and_hdr_files(device, tmp_path):
    pixels = np.random.default_rng(0).random((3, 4, 3)).astype(np.float32)
    for name, tolerance in (("a.exr", 0), ("a.hdr", 0.01)):
        spy.Bitmap(pixels).write(tmp_path / name)
        t = spy.Tensor.load_from_image(device, tmp_path / name, scale=2.0)
        assert t.shape == (3, 4) and np.allclose(t.to_numpy(), pixels * 2, atol=2 * tolerance)


def test_quaternions_are_elements_of_four_floats(device):
    t = spy.Tensor.zeros(device, dtype=spy.quatf, shape=(2,))
    assert t.dtype.full_name == "vector<float,4>" and t.to_numpy().shape == (2, 4)
