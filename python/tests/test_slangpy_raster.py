"""Rasterization as SlangPy's scripts write it: input layouts, raster pipelines, render passes, and their descriptions."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureUsage

TARGET = TextureUsage.render_target | TextureUsage.shader_resource


@pytest.fixture(scope="module")
def device():
    with spy.create_device(spy.DeviceType.vulkan) as device:
        yield device
        device.close()


def make_target(device, format=Format.rgba32_float, size=8, **kwargs):
    return device.create_texture(format=format, width=size, height=size, usage=TARGET, **kwargs)


def submit(device, encoder):
    device.submit_command_buffer(encoder.finish())


def run_pass(device, desc, record=lambda p: None):
    encoder = device.create_command_encoder()
    with encoder.begin_render_pass(desc) as p:
        record(p)
    submit(device, encoder)


# >>descriptions


def test_a_description_takes_dicts_for_the_items_of_its_lists():
    """Items of input_elements, targets, viewports and color_attachments may be dicts, also within a description that is a dict."""
    layout = spy.InputLayoutDesc({"input_elements": [{"semantic_name": "POSITION", "format": Format.rg32_float}], "vertex_streams": [{"stride": 8}]})
    assert isinstance(layout.input_elements[0], spy.InputElementDesc) and layout.vertex_streams[0].slot_class == spy.InputSlotClass.per_vertex
    state = spy.RenderState({"viewports": [{"width": 4.0}], "index_format": spy.IndexFormat.uint16})
    assert state.viewports[0].max_depth == 1 and state.index_buffer.buffer is None and state.scissor_rects == []
    desc = spy.RenderPassDesc({"color_attachments": [{"clear_value": [1, 0, 0, 1]}], "depth_stencil_attachment": {"depth_clear_value": 0.5}})
    assert desc.color_attachments[0].clear_value == [1, 0, 0, 1] and desc.depth_stencil_attachment.depth_clear_value == 0.5
    assert spy.RenderPassDesc().depth_stencil_attachment is None
    with pytest.raises(TypeError):
        spy.RenderState({"nothing": 1})


def test_the_defaults_of_descriptions():
    assert spy.RenderPassColorAttachment().load_op == spy.LoadOp.clear and spy.RenderPassColorAttachment().store_op == spy.StoreOp.store
    assert spy.RenderPassDepthStencilAttachment().depth_clear_value == 1 and not spy.RenderPassDepthStencilAttachment().depth_read_only
    assert spy.DrawArguments().instance_count == 1 and spy.RasterizerDesc().cull_mode == spy.CullMode.none
    assert spy.MultisampleDesc().sample_count == 1 and spy.ColorTargetDesc().write_mask == spy.RenderTargetWriteMask.all
    assert spy.AspectBlendDesc().dst_factor == spy.BlendFactor.zero and spy.RenderPipelineDesc().primitive_topology == spy.PrimitiveTopology.triangle_list
    rect = spy.ScissorRect.from_size(3, 4)
    assert (rect.min_x, rect.max_x, rect.max_y) == (0, 3, 4) and "max_x=3" in repr(rect)


def test_stencil_operations_are_zero_as_numbers_and_members_of_their_own():
    assert int(spy.StencilOp.replace) == 0 and spy.StencilOp.replace is not spy.StencilOp.keep and len(spy.StencilOp) == 8


def test_the_device_says_that_it_rasterizes(device):
    assert device.has_feature(spy.Feature.rasterization) and device.has_feature("rasterization")


# >>input layouts


def test_an_input_layout_is_made_of_two_lists_or_of_a_desc(device):
    elements = [{"semantic_name": "POSITION", "format": Format.rgb32_float}, spy.InputElementDesc({"semantic_name": "TEXCOORD", "semantic_index": 1, "format": Format.rg32_float, "offset": 12})]
    streams = [{"stride": 20}]
    for layout in (device.create_input_layout(elements, streams), device.create_input_layout(input_elements=elements, vertex_streams=streams),
                   device.create_input_layout(spy.InputLayoutDesc({"input_elements": elements, "vertex_streams": streams})),
                   device.create_input_layout({"input_elements": elements, "vertex_streams": streams}),
                   device.create_input_layout(desc={"input_elements": elements, "vertex_streams": streams}), spy.create_input_layout(elements, streams)):
        assert isinstance(layout, spy.InputLayout) and isinstance(layout, spy.DeviceChild) and layout.device is device
        assert [e.semantic_name for e in layout.desc.input_elements] == ["POSITION", "TEXCOORD"] and layout.desc.vertex_streams[0].stride == 20


@pytest.mark.parametrize("elements, streams, error", [
    ([{"semantic_name": "A", "format": Format.r32_float, "buffer_slot_index": 1}], [{"stride": 4}], ValueError), ([{"format": Format.r32_float}], [{"stride": 4}], ValueError),
    ([{"semantic_name": "A"}], [{"stride": 4}], ValueError), ([{"semantic_name": "A", "format": Format.r32_float}], [{"stride": -4}], ValueError), (5, [], TypeError), ([5], [], TypeError), (None, [], TypeError)])
def test_wrong_input_layouts_raise(device, elements, streams, error):
    with pytest.raises(error):
        device.create_input_layout(elements, streams)


# >>passes that draw nothing


def test_a_pass_that_only_clears_clears(device):
    """A pass with load_op clear and without draws sets the whole attachment to clear_value."""
    target = make_target(device)
    run_pass(device, {"color_attachments": [{"view": target.create_view({}), "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store,
                                             "clear_value": [0.1, 0.2, 0.3, 1.0]}]})
    assert np.allclose(target.to_numpy(), [0.1, 0.2, 0.3, 1.0])


def test_a_clear_fits_the_format(device):
    for format, expected in ((Format.rgba8_unorm, 51), (Format.rgba8_uint, 3), (Format.rgba16_sint, -3), (Format.r32_float, 0.2)):
        target = make_target(device, format)
        value = {51: 0.2, 3: 3, -3: -3}.get(expected, 0.2)
        run_pass(device, spy.RenderPassDesc({"color_attachments": [{"view": target.create_view(), "load_op": spy.LoadOp.clear, "clear_value": spy.float4(value)}]}))
        assert np.allclose(target.to_numpy(), expected), format


def test_a_pass_with_load_keeps_what_is_there(device):
    target = make_target(device, data=np.full((8, 8, 4), 0.5, np.float32))
    run_pass(device, {"color_attachments": [{"view": target.create_view(), "load_op": spy.LoadOp.load}]})
    assert (target.to_numpy() == 0.5).all()


def test_a_pass_clears_one_mip_of_one_layer(device):
    """A pass writes the level and layer of its attachment's view; other levels and layers stay as they were."""
    target = device.create_texture(type=spy.TextureType.texture_2d_array, format=Format.r32_float, width=8, height=8, array_length=3, mip_count=2, usage=TARGET)
    encoder = device.create_command_encoder()
    encoder.clear_texture_float(target, clear_value=[1, 1, 1, 1])
    view = target.create_view(layer=1, layer_count=1, mip=1, mip_count=1)
    with encoder.begin_render_pass({"color_attachments": [{"view": view, "load_op": spy.LoadOp.clear, "clear_value": [2, 0, 0, 0]}]}):
        pass
    submit(device, encoder)
    assert (target.to_numpy(layer=1, mip=1) == 2).all()
    assert all((target.to_numpy(layer=l, mip=m) == 1).all() for l in range(3) for m in range(2) if (l, m) != (1, 1))


def test_a_pass_clears_depth(device):
    depth = device.create_texture(format=Format.d32_float, width=8, height=8, usage=TextureUsage.depth_stencil | TextureUsage.shader_resource)
    run_pass(device, {"depth_stencil_attachment": {"view": depth.create_view(), "depth_load_op": spy.LoadOp.clear, "depth_clear_value": 0.25}})
    assert (depth.to_numpy() == 0.25).all()


def test_a_pass_is_a_context_manager_and_an_encoder_of_its_kind(device):
    """`with encoder.begin_render_pass(...) as p` ends the pass, as end() does; an ended pass refuses to record."""
    target, encoder = make_target(device), device.create_command_encoder()
    with encoder.begin_render_pass({"color_attachments": [{"view": target.create_view()}]}) as p:
        assert isinstance(p, spy.RenderPassEncoder) and isinstance(p, spy.PassEncoder)
        p.push_debug_group("shadows", spy.float3(1, 0, 0))
        p.insert_debug_marker("here", spy.float3(0))
        p.pop_debug_group()
    for use in (p.end, lambda: p.draw({"vertex_count": 3}), lambda: p.set_render_state({})):
        with pytest.raises(RuntimeError):
            use()
    q = encoder.begin_render_pass({"color_attachments": [{"view": target.create_view()}]})
    q.end()
    submit(device, encoder)
    with pytest.raises(RuntimeError):
        encoder.begin_render_pass({"color_attachments": [{"view": target.create_view()}]})


def test_wrong_passes_raise(device):
    encoder, target = device.create_command_encoder(), make_target(device)
    plain = device.create_texture(format=Format.rgba32_float, width=8, height=8, usage=TextureUsage.shader_resource)
    for desc, error in (({}, ValueError), ({"color_attachments": [{"view": 5}]}, TypeError), ({"color_attachments": [{"view": plain.create_view()}]}, RuntimeError),
                        ({"depth_stencil_attachment": {"view": target.create_view()}}, RuntimeError), (5, TypeError), ({"targets": []}, TypeError)):
        with pytest.raises(error):
            encoder.begin_render_pass(desc)


def test_what_is_not_there_says_so(device):
    """The error for mesh shaders, windows and surfaces names what is missing."""
    encoder = device.create_command_encoder()
    with encoder.begin_render_pass({"color_attachments": [{"view": make_target(device).create_view()}]}) as p:
        with pytest.raises(NotImplementedError, match="mesh"):
            p.draw_mesh_tasks(spy.uint3(1, 1, 1))
        with pytest.raises(RuntimeError, match="no pipeline"):
            p.draw({"vertex_count": 3})
    for name in ("create_surface",):
        with pytest.raises(AttributeError, match="windows"):
            getattr(device, name)


# >>draws: one module of shaders for most tests

SHADERS = """
struct Vertex { float2 position : POSITION; float3 color : COLOR; };
struct Varying { float4 position : SV_Position; float3 color : COLOR; };

[shader("vertex")] Varying vertex_main(Vertex v) { return { float4(v.position, 0.5, 1), v.color }; }
[shader("fragment")] float4 fragment_main(Varying v) : SV_Target { return float4(v.color, 1); }

// Quads over the whole target, or of a size, made of SV_VertexID.
static const float2 corners[6] = { float2(-1, -1), float2(1, -1), float2(1, 1), float2(-1, -1), float2(1, 1), float2(-1, 1) };
uniform float4 tint;
struct Light { float3 color; float gain; };
uniform Light light;
ParameterBlock<Light> block;
[shader("vertex")] float4 vertex_quad(uint id : SV_VertexID, uniform float depth, uniform float2 scale) : SV_Position {
    return float4(corners[id % 6] * scale, depth, 1);
}
[shader("fragment")] float4 fragment_tint() : SV_Target { return tint; }
[shader("fragment")] float4 fragment_light(uniform Light own, uniform float4 more) : SV_Target {
    return float4(light.color * light.gain + own.color * own.gain + block.color * block.gain, 0) + more;
}
struct Two { float4 a : SV_Target0; uint b : SV_Target1; };
[shader("fragment")] Two fragment_two() { return { tint, uint(tint.x * 10) }; }

// Texture, sampler and buffers.
[shader("fragment")] float4 fragment_texture(float4 at : SV_Position, uniform Texture2D<float4> image, uniform SamplerState sampler) : SV_Target {
    return image.SampleLevel(sampler, at.xy / 8, 0);
}
StructuredBuffer<float2> points;
RWStructuredBuffer<uint> counts;
[shader("vertex")] float4 vertex_points(uint id : SV_VertexID) : SV_Position { return float4(points[id], 0, 1); }
struct Point { float4 position : SV_Position; float size : SV_PointSize; };
[shader("vertex")] Point vertex_sized(uint id : SV_VertexID) { return { float4(points[id], 0, 1), 1 }; }
[shader("fragment")] float4 fragment_count(float4 at : SV_Position) : SV_Target { InterlockedAdd(counts[uint(at.y)], 1); return 1; }

// Instances.
struct Instance { float2 position : POSITION; float2 offset : OFFSET; float shade : SHADE; };
[shader("vertex")] Varying vertex_instance(Instance i) { return { float4(i.position + i.offset, 0, 1), float3(i.shade) }; }
"""
# More fragment functions, and their parameters.
MORE = """
struct Material { Texture2D<float4> image; SamplerState sampler; float4 factor; };
ParameterBlock<Material> material;
Texture2D<float4> images[2];
RWTexture2D<float4> written;
interface IShade { float4 shade(); }
struct Red : IShade { float amount; float4 shade() { return float4(amount, 0, 0, 1); } }
struct Green : IShade { float amount; float4 shade() { return float4(0, amount, 0, 1); } }
uniform int kind;
static const float2 corners[3] = { float2(-1, -1), float2(3, -1), float2(-1, 3) };
[shader("vertex")] float4 vs(uint id : SV_VertexID) : SV_Position { return float4(corners[id], 0.5, 1); }
[shader("fragment")] float4 fs_material(float4 at : SV_Position) : SV_Target { return material.image.Sample(material.sampler, at.xy / 8) * material.factor; }
[shader("fragment")] float4 fs_images(float4 at : SV_Position) : SV_Target { return images[0].Load(int3(0)) + images[1].Load(int3(0)); }
[shader("fragment")] float4 fs_written(float4 at : SV_Position) : SV_Target { written[uint2(at.xy)] = float4(at.x); return 1; }
[shader("fragment")] float4 fs_dynamic() : SV_Target { uint2 data = uint2(asuint(0.5), 0); IShade s = createDynamicObject<IShade>(kind, data); return s.shade(); }
[shader("fragment")] float4 fs_depth(float4 at : SV_Position, bool front : SV_IsFrontFace, out float depth : SV_Depth) : SV_Target {
    if (at.x < 4) discard;
    depth = 0.75;
    return front ? float4(1) : float4(0.5);
}
"""
# Two halves of the target, each of two triangles; the first half is red, the second is green.
CORNERS = np.array([(-1, -1), (0, -1), (0, 1), (-1, 1), (0, -1), (1, -1), (1, 1), (0, 1)], np.float32)
COLORS = np.array([(1, 0, 0)] * 4 + [(0, 1, 0)] * 4, np.float32)
HALVES = np.array([0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7])
VERTICES = np.concatenate([CORNERS, COLORS], 1)
RED, GREEN, BLACK = [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0]


@pytest.fixture(scope="module")
def module(device):
    return device.load_module_from_source("test_slangpy_raster", SHADERS)


@pytest.fixture(scope="module")
def programs(device, module):
    made = {}

    def get(*names):
        if names not in made:
            made[names] = device.link_program([module], [module.entry_point(name) for name in names])
        return made[names]

    return get


@pytest.fixture(scope="module")
def layout(device):
    return device.create_input_layout([{"semantic_name": "POSITION", "format": Format.rg32_float}, {"semantic_name": "COLOR", "format": Format.rgb32_float, "offset": 8}], [{"stride": 20}])


@pytest.fixture(scope="module")
def mesh(device, programs, layout):
    """Returns the pipeline of the two halves, and their vertex buffer."""
    pipeline = device.create_render_pipeline(programs("vertex_main", "fragment_main"), layout, targets=[{"format": Format.rgba32_float}])
    return pipeline, device.create_buffer(data=VERTICES, usage=spy.BufferUsage.vertex_buffer)


def clear_of(target, value=BLACK, load=spy.LoadOp.clear):
    return {"color_attachments": [{"view": target.create_view(), "load_op": load, "clear_value": value}]}


@pytest.fixture(scope="module")
def quad(device, programs):
    """quad(target, ...) draws a quad of one color and returns the target as an array."""
    made = {}

    def draw(target, color=RED, desc=None, depth=0.5, scale=1.0, state={}, key="", fragment="fragment_tint", set=lambda c: None, **options):
        if key not in made:
            made[key] = device.create_render_pipeline(programs("vertex_quad", fragment), None, **options)

        def record(p):
            cursor = spy.ShaderCursor(p.bind_pipeline(made[key]))
            cursor.vertex_quad.depth, cursor.vertex_quad.scale = depth, spy.float2(scale)
            if fragment == "fragment_tint":
                cursor.tint = spy.float4(color)
            set(cursor)
            p.set_render_state(state)
            p.draw({"vertex_count": 6})

        run_pass(device, desc or clear_of(target), record)
        return target.to_numpy()

    return draw


def draw_mesh(device, mesh, state, draw, target=None, desc=None):
    target = target or make_target(device)

    def record(p):
        p.bind_pipeline(mesh[0])
        p.set_render_state(dict({"vertex_buffers": [mesh[1]]}, **state))
        draw(p)

    run_pass(device, desc or clear_of(target), record)
    return target.to_numpy()


def halves(image):
    """Returns the colors of the left and of the right half; each half must have one color."""
    left, right = image[:, :image.shape[1] // 2], image[:, image.shape[1] // 2:]
    assert (left == left[0, 0]).all() and (right == right[0, 0]).all()
    return list(left[0, 0]), list(right[0, 0])


def test_a_triangle_is_drawn_with_y_upwards(device, mesh):
    """Clip space is Direct3D's: y = 1 is at the first row and x = -1 at the first column."""
    triangle = device.create_buffer(data=np.array([(-1, 1, 1, 0, 0), (1, 1, 1, 0, 0), (-1, -1, 1, 0, 0)], np.float32))
    image = draw_mesh(device, (mesh[0], triangle), {"viewports": [spy.Viewport.from_size(8, 8)], "scissor_rects": [spy.ScissorRect.from_size(8, 8)]},
                      lambda p: p.draw({"vertex_count": 3}))
    assert list(image[0, 0]) == RED and list(image[7, 7]) == BLACK and 28 <= (image[..., 0] == 1).sum() <= 36


@pytest.mark.parametrize("dtype, format", [(np.uint16, spy.IndexFormat.uint16), (np.uint32, spy.IndexFormat.uint32)])
def test_indices_of_16_and_of_32_bits(device, mesh, dtype, format):
    indices = device.create_buffer(data=HALVES.astype(dtype), usage=spy.BufferUsage.index_buffer)
    state = {"index_buffer": indices, "index_format": format}
    assert halves(draw_mesh(device, mesh, state, lambda p: p.draw_indexed({"vertex_count": 12}))) == (RED, GREEN)
    assert halves(draw_mesh(device, mesh, state, lambda p: p.draw_indexed(spy.DrawArguments({"vertex_count": 6, "start_index_location": 6})))) == (BLACK, GREEN)


def test_offsets_of_buffers_and_the_base_vertex(device, mesh):
    """start_vertex_location is added to each index; a BufferOffsetPair's offset is in bytes."""
    indices = device.create_buffer(data=np.concatenate([[9], HALVES[:6]]).astype(np.uint32))
    state = {"index_buffer": spy.BufferOffsetPair({"buffer": indices, "offset": 4}), "index_format": spy.IndexFormat.uint32}
    assert halves(draw_mesh(device, mesh, state, lambda p: p.draw_indexed({"vertex_count": 6, "start_vertex_location": 4}))) == (BLACK, GREEN)
    state["vertex_buffers"] = [{"buffer": mesh[1], "offset": 80}]
    assert halves(draw_mesh(device, mesh, state, lambda p: p.draw_indexed({"vertex_count": 6}))) == (BLACK, GREEN)


def test_start_vertex_location_of_a_plain_draw(device, mesh):
    flat = device.create_buffer(data=VERTICES[HALVES])
    assert halves(draw_mesh(device, (mesh[0], flat), {}, lambda p: p.draw({"vertex_count": 6, "start_vertex_location": 6}))) == (BLACK, GREEN)


@pytest.fixture(scope="module")
def instanced(device, programs):
    def make(rate=1):
        layout = device.create_input_layout(
            [{"semantic_name": "POSITION", "format": Format.rg32_float}, {"semantic_name": "OFFSET", "format": Format.rg32_float, "buffer_slot_index": 1},
             {"semantic_name": "SHADE", "format": Format.r32_float, "offset": 8, "buffer_slot_index": 1}],
            [{"stride": 8}, {"stride": 12, "slot_class": spy.InputSlotClass.per_instance, "instance_data_step_rate": rate}])
        return device.create_render_pipeline(programs("vertex_instance", "fragment_main"), layout, targets=[{"format": Format.rgba32_float}])

    return make


def test_streams_by_instance(device, instanced):
    """A per_instance stream has one element for each instance; start_instance_location skips elements."""
    quad, offsets = device.create_buffer(data=CORNERS[HALVES[:6]]), device.create_buffer(data=np.array([(0, 0, 0.25), (1, 0, 0.5)], np.float32))
    pipeline, state = instanced(), {"vertex_buffers": [quad, offsets]}
    left, right = halves(draw_mesh(device, (pipeline, quad), state, lambda p: p.draw({"vertex_count": 6, "instance_count": 2})))
    assert left[0] == 0.25 and right[0] == 0.5
    left, right = halves(draw_mesh(device, (pipeline, quad), state, lambda p: p.draw({"vertex_count": 6, "start_instance_location": 1})))
    assert left == BLACK and right[0] == 0.5


def test_viewport_and_scissor(device, quad):
    target = make_target(device)
    image = quad(target, state={"viewports": [{"x": 2.0, "y": 1.0, "width": 4.0, "height": 2.0}]})
    expected = np.zeros((8, 8)); expected[1:3, 2:6] = 1
    assert (image[..., 0] == expected).all()
    image = quad(target, state={"scissor_rects": [{"min_x": 1, "min_y": 2, "max_x": 3, "max_y": 7}]})
    expected = np.zeros((8, 8)); expected[2:7, 1:3] = 1
    assert (image[..., 0] == expected).all()
    assert (quad(target, state={"scissor_rects": [spy.ScissorRect()]}) == 0).all()


def test_a_draw_without_viewport_covers_the_target(device, quad):
    assert (quad(make_target(device, size=5)) == RED).all()


def test_what_the_load_op_keeps(device, quad):
    target = make_target(device, data=np.full((8, 8, 4), 0.5, np.float32))
    image = quad(target, scale=0.5, desc=clear_of(target, load=spy.LoadOp.load))
    assert list(image[4, 4]) == RED and list(image[0, 0]) == [0.5] * 4
    assert (quad(target, desc=clear_of(target, load=spy.LoadOp.dont_care)) == RED).all()


BLENDS = {  # source (0.5, 0.25, 0.25, 0.5) over (0.25, 0.5, 1, 1)
    "alpha": ((4, 5, 0), [0.375, 0.375, 0.625, 0.75]), "add": ((1, 1, 0), [0.75, 0.75, 1.25, 1.5]), "subtract": ((1, 1, 1), [0.25, -0.25, -0.75, -0.5]),
    "reverse_subtract": ((1, 1, 2), [-0.25, 0.25, 0.75, 0.5]), "min": ((1, 1, 3), [0.25, 0.25, 0.25, 0.5]), "max": ((1, 1, 4), [0.5, 0.5, 1, 1]),
    "multiply": ((8, 0, 0), [0.125, 0.125, 0.25, 0.5]),
}


@pytest.mark.parametrize("name", BLENDS)
def test_blending(device, quad, name):
    (source, target, op), expected = BLENDS[name]
    aspect = {"src_factor": spy.BlendFactor(source), "dst_factor": spy.BlendFactor(target), "op": spy.BlendOp(op)}
    image = make_target(device)
    got = quad(image, [0.5, 0.25, 0.25, 0.5], desc=clear_of(image, [0.25, 0.5, 1, 1]), key="blend " + name,
               targets=[{"format": Format.rgba32_float, "enable_blend": True, "color": aspect, "alpha": aspect}])
    assert np.allclose(got, expected)


def test_the_write_mask(device, quad):
    target = make_target(device)
    got = quad(target, [1, 1, 1, 1], key="mask", targets=[spy.ColorTargetDesc({"write_mask": spy.RenderTargetWriteMask.green | spy.RenderTargetWriteMask.alpha})])
    assert (got == [0, 1, 0, 1]).all()


@pytest.mark.parametrize("cull", list(spy.CullMode))
@pytest.mark.parametrize("front", list(spy.FrontFaceMode))
def test_culling(device, quad, cull, front):
    """The quad is counter-clockwise as it is seen on the target, which culling uses."""
    got = quad(make_target(device), key=("cull", cull, front), rasterizer={"cull_mode": cull, "front_face": front})
    is_front = front == spy.FrontFaceMode.counter_clockwise
    hidden = cull == (spy.CullMode.front if is_front else spy.CullMode.back)
    assert (got == (BLACK if hidden else RED)).all()


def test_wireframes(device, quad):
    got = quad(make_target(device, size=16), scale=0.8, key="wire", rasterizer={"fill_mode": spy.FillMode.wireframe})
    assert 10 < (got[..., 0] == 1).sum() < 120


# >>depth and stencil


def make_depth(device, format=Format.d32_float, size=8):
    return device.create_texture(format=format, width=size, height=size, usage=TextureUsage.depth_stencil | TextureUsage.shader_resource)


def with_depth(target, depth, load=spy.LoadOp.clear, value=0.5, color_load=spy.LoadOp.clear, **more):
    return dict(clear_of(target, load=color_load), depth_stencil_attachment=dict({"view": depth.create_view(), "depth_load_op": load, "depth_clear_value": value}, **more))


@pytest.mark.parametrize("func, passes", [("less", [0.25]), ("greater", [0.75]), ("equal", [0.5]), ("less_equal", [0.25, 0.5]), ("always", [0.25, 0.5, 0.75]), ("never", [])])
def test_depth_tests(device, quad, func, passes):
    target, depth = make_target(device), make_depth(device)
    for z in (0.25, 0.5, 0.75):
        got = quad(target, desc=with_depth(target, depth), depth=z, key="depth " + func,
                   depth_stencil={"format": Format.d32_float, "depth_test_enable": True, "depth_write_enable": True, "depth_func": spy.ComparisonFunc[func]})
        assert (got == (RED if z in passes else BLACK)).all() and (depth.to_numpy() == (z if z in passes else 0.5)).all()


def test_depth_is_kept_between_passes_and_may_be_read_only(device, quad):
    target, depth = make_target(device), make_depth(device)
    state = dict(key="depth less", depth_stencil={"depth_test_enable": True, "depth_func": spy.ComparisonFunc.less})
    quad(target, RED, desc=with_depth(target, depth, value=1.0), depth=0.5, scale=0.5, **state)
    got = quad(target, GREEN, desc=with_depth(target, depth, spy.LoadOp.load, color_load=spy.LoadOp.load, depth_read_only=True), depth=0.75, **state)
    assert list(got[4, 4]) == RED and list(got[0, 0]) == GREEN
    assert depth.to_numpy()[0, 0] == 1 and depth.to_numpy()[4, 4] == 0.5


def test_no_depth_is_written_when_writing_or_testing_is_off(device, quad):
    target, depth = make_target(device), make_depth(device)
    quad(target, desc=with_depth(target, depth), depth=0.25, key="no write", depth_stencil={"depth_test_enable": True, "depth_write_enable": False})
    assert (depth.to_numpy() == 0.5).all()
    assert (quad(target, desc=with_depth(target, depth), depth=0.75, key="no test", depth_stencil={"format": Format.d32_float}) == RED).all()
    assert (depth.to_numpy() == 0.5).all()


def test_a_pipeline_without_fragment_entry_point_writes_depth(device, programs):
    depth = make_depth(device)
    pipeline = device.create_render_pipeline(programs("vertex_quad"), None, depth_stencil={"depth_test_enable": True})

    def record(p):
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.vertex_quad.depth, cursor.vertex_quad.scale = 0.125, spy.float2(1)
        p.draw({"vertex_count": 6})

    run_pass(device, {"depth_stencil_attachment": {"view": depth.create_view(), "depth_load_op": spy.LoadOp.clear}}, record)
    assert (depth.to_numpy() == 0.125).all()


def test_stencil(device, quad):
    """A quad writes its reference into the stencil, and another quad is drawn only there."""
    if not device.get_format_support(Format.d32_float_s8_uint) & spy.FormatSupport.depth_stencil:
        pytest.skip("the device has no stencil")
    target, depth = make_target(device), make_depth(device, Format.d32_float_s8_uint)
    side = {"stencil_pass_op": spy.StencilOp.replace, "stencil_func": spy.ComparisonFunc.always}
    quad(target, RED, scale=0.5, desc=with_depth(target, depth, stencil_load_op=spy.LoadOp.clear, stencil_store_op=spy.StoreOp.store), state={"stencil_ref": 3},
         key="stencil write", depth_stencil={"stencil_enable": True, "front_face": side, "back_face": side})
    side = {"stencil_func": spy.ComparisonFunc.equal}
    got = quad(target, GREEN, desc=with_depth(target, depth, spy.LoadOp.load, color_load=spy.LoadOp.load, stencil_load_op=spy.LoadOp.load), state={"stencil_ref": 3},
               key="stencil read", depth_stencil={"stencil_enable": True, "front_face": side, "back_face": side})
    assert list(got[4, 4]) == GREEN and list(got[0, 0]) == BLACK


def test_depth_and_stencil_are_cleared_one_without_the_other(device, quad):
    if not device.get_format_support(Format.d32_float_s8_uint) & spy.FormatSupport.depth_stencil:
        pytest.skip("the device has no stencil")
    target, depth = make_target(device), make_depth(device, Format.d32_float_s8_uint)
    clear, load = spy.LoadOp.clear, spy.LoadOp.load
    # after the last draw depth is 0.75 and stencil is 3
    for d, z, s, reference in ((clear, 0.5, clear, 1), (clear, 0.75, load, 9), (load, 0.1, clear, 3)):
        run_pass(device, {"depth_stencil_attachment": {"view": depth.create_view(), "depth_load_op": d, "depth_clear_value": z, "stencil_load_op": s, "stencil_clear_value": reference}})
    side = {"stencil_func": spy.ComparisonFunc.equal}
    got = quad(target, GREEN, depth=0.6, desc=with_depth(target, depth, load, stencil_load_op=load), state={"stencil_ref": 3},
               key="both read", depth_stencil={"depth_test_enable": True, "stencil_enable": True, "front_face": side, "back_face": side})
    assert (got == GREEN).all()


# >>targets


def test_two_targets_of_different_formats(device, quad):
    a, b = make_target(device), make_target(device, Format.r32_uint)
    desc = {"color_attachments": [{"view": a.create_view(), "load_op": spy.LoadOp.clear}, {"view": b.create_view(), "load_op": spy.LoadOp.clear, "clear_value": [7, 0, 0, 0]}]}
    quad(a, desc=desc, scale=0.5, key="two", fragment="fragment_two", set=lambda c: setattr(c, "tint", spy.float4(0.5, 0, 0, 1)),
         targets=[{"format": Format.rgba32_float}, {"format": Format.r32_uint}])
    assert list(a.to_numpy()[4, 4]) == [0.5, 0, 0, 1] and b.to_numpy()[4, 4] == 5 and b.to_numpy()[0, 0] == 7


@pytest.mark.parametrize("format, expected", [(Format.rgba8_unorm, [51, 102, 153, 255]), (Format.rgba16_float, [0.2, 0.4, 0.6, 1]), (Format.bgra8_unorm, [153, 102, 51, 255]), (Format.r32_float, 0.2)])
def test_formats_of_targets(device, quad, format, expected):
    assert np.allclose(quad(make_target(device, format), [0.2, 0.4, 0.6, 1]), expected, atol=1e-3)


def test_drawing_into_one_mip_of_one_layer(device, quad):
    target = device.create_texture(type=spy.TextureType.texture_2d_array, format=Format.rgba32_float, width=8, height=8, array_length=2, mip_count=2, usage=TARGET)
    quad(target, desc={"color_attachments": [{"view": target.create_view(layer=1, layer_count=1, mip=1, mip_count=1), "load_op": spy.LoadOp.clear}]})
    assert (target.to_numpy(layer=1, mip=1) == RED).all() and target.to_numpy(layer=1, mip=1).shape == (4, 4, 4)


def test_multisampling_and_resolve_targets(device, quad):
    """A resolve target gets the averages of the samples."""
    many = device.create_texture(type=spy.TextureType.texture_2d_ms, format=Format.rgba32_float, width=8, height=8, sample_count=4, usage=TextureUsage.render_target)
    target = make_target(device)
    desc = {"color_attachments": [{"view": many.create_view(), "resolve_target": target.create_view(), "load_op": spy.LoadOp.clear}]}
    got = quad(target, scale=0.55, desc=desc, key="ms", multisample={"sample_count": 4})
    assert list(got[4, 4]) == RED and list(got[0, 0]) == BLACK and ((got[..., 0] > 0) & (got[..., 0] < 1)).any()


# >>parameters


def test_globals_and_parameters_of_both_entry_points_through_cursors(device, quad):
    """Cursors set globals, blocks, and parameters of an entry point by its name or number, fields one by one."""
    def set(cursor):
        cursor.light.color, cursor["light"]["gain"] = spy.float3(0.125, 0, 0), 2.0
        cursor.find_entry_point(1).own = {"color": [0, 0.5, 0], "gain": 0.5}
        cursor["fragment_light"]["more"] = spy.float4(0, 0, 0, 1)
        cursor.block.color = spy.float3(0, 0, 1)
        cursor.block.gain = 0.75

    assert np.allclose(quad(make_target(device), key="light", fragment="fragment_light", set=set), [0.25, 0.25, 0.75, 1])


def test_a_draw_takes_the_values_that_were_set_before_it(device, programs):
    """Several draws of one pass, each with what the cursor had then."""
    pipeline, target = device.create_render_pipeline(programs("vertex_quad", "fragment_tint"), None), make_target(device)

    def record(p):
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.vertex_quad.depth = 0.0
        for scale, color in ((1.0, RED), (0.5, GREEN)):
            cursor.vertex_quad.scale, cursor.tint = spy.float2(scale), spy.float4(color)
            p.draw({"vertex_count": 6})

    run_pass(device, clear_of(target), record)
    assert list(target.to_numpy()[0, 0]) == RED and list(target.to_numpy()[4, 4]) == GREEN


def test_a_root_object_of_ones_own(device, programs):
    program, target = programs("vertex_quad", "fragment_tint"), make_target(device)
    root = device.create_root_shader_object(program)
    cursor = spy.ShaderCursor(root)
    cursor.tint, cursor.vertex_quad.scale, cursor.vertex_quad.depth = spy.float4(GREEN), spy.float2(1), 0.0
    pipeline = device.create_render_pipeline(spy.RenderPipelineDesc({"program": program, "targets": [{"format": Format.rgba32_float}], "label": "own"}))
    assert pipeline.label == "own" and isinstance(pipeline, spy.Pipeline) and pipeline.desc.program is program

    def record(p):
        p.bind_pipeline(pipeline, root)
        p.draw(spy.DrawArguments({"vertex_count": 6}))

    run_pass(device, clear_of(target), record)
    assert (target.to_numpy() == GREEN).all()


def test_textures_and_samplers_in_the_fragment_function(device, quad):
    image = np.random.default_rng(3).random((8, 8, 4), np.float32)
    texture = device.create_texture(format=Format.rgba32_float, width=8, height=8, usage=TextureUsage.shader_resource, data=image)

    def set(cursor):
        cursor.fragment_texture.image, cursor.fragment_texture.sampler = texture, device.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)

    assert np.allclose(quad(make_target(device), key="texture", fragment="fragment_texture", set=set), image)


def test_what_one_pass_draws_another_one_samples(device, quad, programs):
    first, second, sampler = make_target(device), make_target(device), device.create_sampler()
    quad(first, GREEN)
    got = quad(second, key="texture", fragment="fragment_texture", set=lambda c: (setattr(c.fragment_texture, "image", first), setattr(c.fragment_texture, "sampler", sampler)))
    assert np.allclose(got, GREEN)


def test_buffers_that_the_functions_read_and_write(device, programs):
    """A vertex function may fetch from a StructuredBuffer, and a fragment function count in a RWStructuredBuffer."""
    points = device.create_buffer(data=np.array([(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)], np.float32), struct_size=8)
    counts = device.create_buffer(data=np.zeros(8, np.uint32), struct_size=4)
    pipeline, target = device.create_render_pipeline(programs("vertex_points", "fragment_count"), None), make_target(device)

    def record(p):
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.points, cursor.counts = points, counts
        p.draw({"vertex_count": 6})

    run_pass(device, clear_of(target), record)
    assert (counts.to_numpy().view(np.uint32) == 8).all() and (target.to_numpy() == 1).all()


@pytest.fixture(scope="module")
def fill(device):
    """fill(name, set) returns the image of a triangle over the target, drawn by a function of MORE."""
    module = device.load_module_from_source("test_slangpy_raster_more", MORE)

    def draw(name, set=lambda c: None, target=None, desc=None, conformances=(), **options):
        program = device.link_program([module], [module.entry_point("vs"), module.entry_point(name, conformances)])
        pipeline, target = device.create_render_pipeline(program, None, **options), target or make_target(device)

        def record(p):
            set(spy.ShaderCursor(p.bind_pipeline(pipeline)))
            p.draw({"vertex_count": 3})

        run_pass(device, desc or clear_of(target), record)
        return target.to_numpy()

    return draw


def texel(device, value):
    return device.create_texture(format=Format.rgba32_float, width=1, height=1, usage=TextureUsage.shader_resource, data=np.full((1, 1, 4), value, np.float32))


def test_a_parameter_block_with_textures(device, fill):
    """The fields of a parameter block with textures are set one by one or as a dict."""
    image, sampler = texel(device, 0.25), device.create_sampler()

    def one_by_one(cursor):
        cursor.material.image, cursor.material.sampler, cursor.material.factor = image, sampler, spy.float4(2)

    assert (fill("fs_material", one_by_one) == 0.5).all()
    assert (fill("fs_material", lambda c: setattr(c, "material", {"image": image, "sampler": sampler, "factor": spy.float4(4)})) == 1).all()


def test_an_array_of_textures_and_a_texture_that_is_written(device, fill):
    def set(cursor):
        cursor.images[0], cursor.images[1] = texel(device, 0.25), texel(device, 0.5)

    assert (fill("fs_images", set) == 0.75).all()
    written = device.create_texture(format=Format.rgba32_float, width=8, height=8, usage=TextureUsage.unordered_access | TextureUsage.shader_resource)
    fill("fs_written", lambda c: setattr(c, "written", written))
    assert (written.to_numpy()[..., 0] == np.arange(8) + 0.5).all()


def test_a_target_that_the_draw_samples_raises(device, fill):
    target = make_target(device)
    with pytest.raises(Exception, match="target of the same draw"):
        fill("fs_material", lambda c: setattr(c, "material", {"image": target, "sampler": device.create_sampler(), "factor": spy.float4(1)}), target)


def test_type_conformances_of_a_fragment_entry_point(fill):
    conformances = [spy.TypeConformance("IShade", "Red", 0), spy.TypeConformance("IShade", "Green", 1)]
    assert (fill("fs_dynamic", lambda c: setattr(c, "kind", 1), conformances=conformances) == [0, 0.5, 0, 1]).all()


def test_discard_front_faces_and_depths_of_the_fragment_function(device, fill):
    target, depth = make_target(device), make_depth(device)
    got = fill("fs_depth", target=target, desc=with_depth(target, depth, value=1.0), depth_stencil={"depth_test_enable": True})
    assert (got[:, :4] == 0).all() and (got[:, 4:] == 1).all() and (depth.to_numpy()[:, 4:] == 0.75).all() and (depth.to_numpy()[:, :4] == 1).all()


def test_drawing_into_a_face_of_a_cube(device, fill):
    cube = device.create_texture(type=spy.TextureType.texture_cube, format=Format.rgba8_unorm, width=8, height=8, usage=TARGET)
    fill("fs_dynamic", lambda c: setattr(c, "kind", 0), conformances=[("IShade", "Red")], desc={
        "color_attachments": [{"view": cube.create_view(layer=3, layer_count=1), "load_op": spy.LoadOp.clear}]})
    assert (np.abs(cube.to_numpy(layer=3)[..., 0] - 127.5) < 1).all()  # 0.5 x 255 may be rounded either way


# >>indirect draws


def test_indirect_draws(device, mesh):
    """Indirect draws read their counts from a buffer at an offset, for one or several draws."""
    flat = device.create_buffer(data=VERTICES[HALVES])
    counts = device.create_buffer(data=np.array([0, 6, 1, 0, 0, 6, 1, 6, 0], np.uint32), usage=spy.BufferUsage.indirect_argument)
    draw = lambda n, offset: lambda p: p.draw_indirect(n, spy.BufferOffsetPair({"buffer": counts, "offset": offset}))
    assert halves(draw_mesh(device, (mesh[0], flat), {}, draw(2, 4))) == (RED, GREEN)
    assert halves(draw_mesh(device, (mesh[0], flat), {}, draw(1, 20))) == (BLACK, GREEN)


def test_indexed_indirect_draws(device, mesh):
    indices = device.create_buffer(data=HALVES.astype(np.uint16))
    counts = device.create_buffer(data=np.array([6, 1, 0, 4, 0], np.uint32))
    state = {"index_buffer": indices, "index_format": spy.IndexFormat.uint16}
    with pytest.raises(NotImplementedError, match="count_buffer"):
        draw_mesh(device, mesh, state, lambda p: p.draw_indexed_indirect(1, counts, counts))
    got = halves(draw_mesh(device, mesh, state, lambda p: p.draw_indexed_indirect(1, counts)))
    assert got == (BLACK, GREEN)


# >>programs, topologies, recordings


def test_a_pass_may_have_attachments_that_a_pipeline_does_not_write(device, fill, module, programs):
    """An attachment that a pipeline does not write keeps its contents, or is cleared; a pipeline without fragment entry point writes
    depth only; depth tests without a depth attachment pass."""
    a, b, depth = make_target(device), make_target(device), make_depth(device)
    desc = with_depth(a, depth, value=1.0)
    desc["color_attachments"].append({"view": b.create_view(), "load_op": spy.LoadOp.clear, "clear_value": [2, 2, 2, 2]})
    assert (fill("fs_dynamic", lambda c: setattr(c, "kind", 0), a, desc, [("IShade", "Red")], depth_stencil={"depth_test_enable": True})[..., 0] == 0.5).all()
    assert (b.to_numpy() == 2).all() and (depth.to_numpy() == 0.5).all()
    pipeline = device.create_render_pipeline(programs("vertex_quad"), None, depth_stencil={"depth_test_enable": True})

    def record(p):
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.vertex_quad.depth, cursor.vertex_quad.scale = 0.125, spy.float2(1)
        p.draw({"vertex_count": 6})

    run_pass(device, desc, record)
    assert (a.to_numpy() == 0).all() and (b.to_numpy() == 2).all() and (depth.to_numpy() == 0.125).all()
    assert (fill("fs_dynamic", lambda c: setattr(c, "kind", 0), a, None, [("IShade", "Red")], depth_stencil={"depth_test_enable": True, "stencil_enable": True})[..., 0] == 0.5).all()


def test_entry_points_of_several_modules(device, module):
    other = device.load_module_from_source("test_slangpy_raster_other", '[shader("fragment")] float4 flat_main(float3 color : COLOR) : SV_Target { return float4(color.yxz, 1); }')
    program = device.link_program([module, other], [module.entry_point("vertex_instance"), other.entry_point("flat_main")])
    layout = device.create_input_layout([{"semantic_name": n, "format": f, "offset": o} for n, f, o in (
        ("POSITION", Format.rg32_float, 0), ("OFFSET", Format.rg32_float, 8), ("SHADE", Format.r32_float, 16))], [{"stride": 20}])
    vertices = np.concatenate([CORNERS[HALVES], np.zeros((12, 2)), np.full((12, 1), 0.5)], 1).astype(np.float32)
    got = draw_mesh(device, (device.create_render_pipeline(program, layout), device.create_buffer(data=vertices)), {}, lambda p: p.draw({"vertex_count": 12}))
    assert (got == [0.5, 0.5, 0.5, 1]).all()


def test_a_program_loaded_from_a_file(device, tmp_path):
    path = tmp_path / "shaders.slang"
    path.write_text("extern static const float shade;\n"
                    "static const float2 corners[3] = { float2(-1, -1), float2(3, -1), float2(-1, 3) };\n"
                    '[shader("vertex")] float4 vs(uint id : SV_VertexID) : SV_Position { return float4(corners[id], 0, 1); }\n'
                    '[shader("fragment")] float4 fs() : SV_Target { return float4(shade); }\n')
    program = device.load_program(str(path), ["vs", "fs"], "export static const float shade = 0.25;")
    pipeline, target = device.create_render_pipeline(program=program, input_layout=None, targets=[{"format": Format.rgba32_float}], defer_target_compilation=True), make_target(device)

    def record(p):
        p.bind_pipeline(pipeline)
        p.draw({"vertex_count": 3})

    run_pass(device, clear_of(target), record)
    assert (target.to_numpy() == 0.25).all()


@pytest.mark.parametrize("topology, count, least, most", [("point_list", 4, 1, 4), ("line_list", 2, 6, 9), ("line_strip", 3, 13, 17), ("triangle_strip", 4, 64, 64)])
def test_topologies(device, programs, topology, count, least, most):
    points = np.array([(-1, -1), (1, -1), (-1, 1), (1, 1)], np.float32) * (1 if topology == "triangle_strip" else 0.9)
    vertex = "vertex_sized" if topology == "point_list" else "vertex_points"
    pipeline = device.create_render_pipeline(programs(vertex, "fragment_count"), None, spy.PrimitiveTopology[topology])
    target, counts = make_target(device), device.create_buffer(size=32, struct_size=4)

    def record(p):
        cursor = spy.ShaderCursor(p.bind_pipeline(pipeline))
        cursor.points, cursor.counts = device.create_buffer(data=points, struct_size=8), counts
        p.draw({"vertex_count": count})

    run_pass(device, clear_of(target), record)
    assert least <= (target.to_numpy()[..., 0] == 1).sum() <= most


def test_a_command_buffer_with_draws_is_submitted_again(device, mesh):
    target, encoder = make_target(device), device.create_command_encoder()
    with encoder.begin_render_pass(clear_of(target)) as p:
        p.bind_pipeline(mesh[0])
        p.set_render_state({"vertex_buffers": [mesh[1]]})
        p.draw({"vertex_count": 3})
    commands = encoder.finish()
    device.submit_command_buffer(commands)
    first = target.to_numpy()
    with_zero = device.create_command_encoder()
    with_zero.clear_texture_float(target)
    submit(device, with_zero)
    device.submit_command_buffer(commands)
    assert first.any() and (target.to_numpy() == first).all()


def test_draws_after_copies_of_the_same_encoder(device, mesh):
    """A draw sees what the encoder wrote to its buffers before."""
    target, encoder, vertices = make_target(device), device.create_command_encoder(), device.create_buffer(size=240)
    encoder.upload_buffer_data(vertices, 0, VERTICES[HALVES])
    with encoder.begin_render_pass(clear_of(target)) as p:
        p.bind_pipeline(mesh[0])
        p.set_render_state({"vertex_buffers": [vertices]})
        p.draw({"vertex_count": 12})
    submit(device, encoder)
    assert halves(target.to_numpy()) == (RED, GREEN)


# >>what is wrong


def test_a_closed_device_draws_nothing_more():
    device = spy.create_device(spy.DeviceType.vulkan)
    module, target = spy.Module.load_from_source(device, "closed", MORE), make_target(device)
    draw = module.draw
    draw("vs", "fs_images", 0, target=target, images=[texel(device, 0.5)] * 2)
    device.close()
    with pytest.raises(RuntimeError, match="closed"):
        draw("vs", "fs_images", 3, target=target, images=[1, 2])


def test_wrong_pipelines_raise(device, module, programs, layout):
    good = programs("vertex_main", "fragment_main")
    compute = device.load_module_from_source("test_slangpy_raster_compute", '[shader("compute")] [numthreads(1, 1, 1)] void go() {}')
    for arguments, error in (((5, None), TypeError), ((good, 5), TypeError), ((programs("fragment_main"), None), ValueError), ((programs("vertex_main", "vertex_quad"), None), ValueError),
                             ((device.link_program([compute], [compute.entry_point("go")]), None), ValueError), ((good, layout, spy.PrimitiveTopology.patch_list), NotImplementedError),
                             ((good, layout, spy.PrimitiveTopology.triangle_list, [5]), TypeError), ((good, layout, spy.PrimitiveTopology.triangle_list, [], {"nothing": 1}), TypeError)):
        with pytest.raises(error):
            device.create_render_pipeline(*arguments)
    with pytest.raises(NotImplementedError, match="conservative"):
        device.create_render_pipeline(good, layout, rasterizer={"enable_conservative_rasterization": True})


def test_a_layout_that_lacks_an_attribute_raises(device, programs):
    """The error for an attribute that the input layout lacks names it."""
    layout = device.create_input_layout([{"semantic_name": "POSITION", "format": Format.rg32_float}], [{"stride": 8}])
    with pytest.raises(Exception, match="(?i)color"):
        device.create_render_pipeline(programs("vertex_main", "fragment_main"), layout)


def test_wrong_draws_raise(device, mesh):
    for state, draw in (({"vertex_buffers": []}, lambda p: p.draw({"vertex_count": 3})), ({}, lambda p: p.draw_indexed({"vertex_count": 3})), ({}, lambda p: p.draw({"vertex_count": -3})), ({}, lambda p: p.draw({"vertex_count": 2**32 + 3})),
                        ({"vertex_buffers": [5]}, lambda p: None), ({"nothing": 1}, lambda p: None), ({}, lambda p: p.draw({"count": 3})), ({}, lambda p: p.draw({"vertex_count": 300}))):
        with pytest.raises(Exception):
            draw_mesh(device, mesh, state, draw)
    with pytest.raises(TypeError):
        run_pass(device, clear_of(make_target(device)), lambda p: p.bind_pipeline(5))


def test_attachments_of_different_sizes_raise(device, quad):
    a, b = make_target(device), make_target(device, size=4)
    with pytest.raises(Exception):
        quad(a, desc={"color_attachments": [{"view": a.create_view()}, {"view": b.create_view()}]})


def test_a_draw_of_nothing_still_clears(device, mesh):
    """A draw with vertex_count 0 or instance_count 0 is legal."""
    for counts in ({"vertex_count": 0}, {"vertex_count": 3, "instance_count": 0}):
        assert (draw_mesh(device, mesh, {}, lambda p: p.draw(counts)) == BLACK).all()


# >>one call: module.draw(vertex, fragment, ...)


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "test_slangpy_raster_draw", SHADERS)


def test_draw_takes_attributes_by_name(device, m):
    """draw() takes attributes by name, as arrays or tensors with one element for each vertex, and indices as numbers; a second call
    gives the same picture."""
    target = make_target(device)
    for _ in range(3):
        m.draw("vertex_main", "fragment_main", vertices={"position": CORNERS, "color": COLORS}, indices=HALVES, target=target, clear=BLACK)
        assert halves(target.to_numpy()) == (RED, GREEN)
    position, color = spy.Tensor.from_numpy(device, CORNERS[HALVES]), spy.Tensor.from_numpy(device, COLORS[HALVES])
    m.draw("vertex_main", "fragment_main", {"position": position, "color": color}, target=target, clear=BLACK)
    assert halves(target.to_numpy()) == (RED, GREEN)


def test_draw_takes_a_count_and_uniforms(device, m):
    """draw() takes uniforms, which are parameters of either function and globals; blending, culling, scissors and depth tests are
    keywords."""
    target = make_target(device)
    draw = lambda color, scale=1.0, **more: m.draw(m.vertex_quad, m.fragment_tint, 6, target=target, depth=None if "depth" not in more else more.pop("depth"), scale=[scale, scale],
                                                   tint=color, vars={"depth": more.pop("z", 0.5)}, **more)
    draw(RED, clear=0.0)
    assert (target.to_numpy() == RED).all()
    draw(GREEN, 0.5)
    assert list(target.to_numpy()[0, 0]) == RED and list(target.to_numpy()[4, 4]) == GREEN
    draw([1, 1, 1, 0.5], blend="alpha", clear=[0, 0, 0, 1])
    assert np.allclose(target.to_numpy(), [0.5, 0.5, 0.5, 1])
    draw(RED, cull="back", front="clockwise", clear=0.0)
    assert (target.to_numpy() == 0).all()
    draw(RED, scissor=(2, 0, 6, 8), clear=0.0)
    assert list(target.to_numpy()[0, 1]) == BLACK and list(target.to_numpy()[0, 2]) == RED
    depth = make_depth(device)
    draw(RED, depth={"texture": depth, "clear": 0.5}, z=0.25, clear=0.0)
    draw(GREEN, depth=depth, z=0.5)
    assert (target.to_numpy() == RED).all() and (depth.to_numpy() == 0.25).all()


def test_draw_with_instances_and_an_encoder(device, m):
    target, encoder = make_target(device, data=np.zeros((8, 8, 4), np.float32)), device.create_command_encoder()
    m.draw("vertex_instance", "fragment_main", vertices={"position": CORNERS[HALVES[:6]]}, per_instance={"offset": [[0, 0], [1, 0]], "shade": [0.25, 0.5]}, instances=2,
           target={"texture": target, "clear": BLACK}, _append_to=encoder)
    assert (target.to_numpy() == 0).all()
    submit(device, encoder)
    left, right = halves(target.to_numpy())
    assert left[0] == 0.25 and right[0] == 0.5


def test_draw_into_several_targets_and_samples(device, m):
    a, b = make_target(device), make_target(device, Format.r32_uint)
    m.draw("vertex_quad", "fragment_two", 6, target=[a, {"texture": b, "clear": 9}], scale=[0.5, 0.5], tint=[0.5, 0, 0, 1], vars={"depth": 0.0})
    assert b.to_numpy()[4, 4] == 5 and b.to_numpy()[0, 0] == 9 and a.to_numpy()[4, 4, 0] == 0.5
    many = device.create_texture(type=spy.TextureType.texture_2d_ms, format=Format.rgba32_float, width=8, height=8, sample_count=4, usage=TextureUsage.render_target)
    m.draw("vertex_quad", "fragment_tint", 6, target={"texture": many, "clear": 0.0, "resolve": a}, scale=[0.55, 0.55], tint=RED, vars={"depth": 0.0})
    got = a.to_numpy()
    assert list(got[4, 4]) == RED and ((got[..., 0] > 0) & (got[..., 0] < 1)).any()


def test_attributes_may_be_structs_and_whole_numbers(device, m):
    """An attribute may be a tensor of the input's struct or a dict by field with the parameter's name; ints serve for floats."""
    target, corners = make_target(device), np.array([[-1, -1], [3, -1], [-1, 3]])
    vertices = spy.Tensor.empty(device, (3,), dtype=m.Vertex)
    vertices.copy_from_numpy(np.concatenate([corners, np.tile([0, 1, 0], (3, 1))], 1).astype(np.float32))
    for given in (vertices, {"v": vertices}, {"v": {"position": corners, "color": [[0, 1, 0]] * 3}}, {"position": corners, "color": np.tile([0, 1, 0], (3, 1))}):
        m.draw("vertex_main", "fragment_main", given, target=target, clear=0.0)
        assert (target.to_numpy() == GREEN).all()


def test_functions_of_a_draw_keep_what_was_set(device, m):
    """function.set() sets globals for a draw, as it does for calls."""
    target = make_target(device)
    m.draw(m.vertex_quad, m.fragment_tint.set(tint=[0, 1, 0, 1]), 6, target=target, scale=[1, 1], vars={"depth": 0.0})
    assert (target.to_numpy() == GREEN).all()


def test_no_vertices_are_legal(device, m):
    target = make_target(device)
    m.draw("vertex_quad", "fragment_tint", 0, target=target, clear=[1, 2, 3, 4], scale=[1, 1], tint=RED, vars={"depth": 0.0})
    assert (target.to_numpy() == [1, 2, 3, 4]).all()


def test_a_slang_function_named_draw_is_that_function(device):
    """A module's own function wins over module.draw."""
    assert spy.Module.load_from_source(device, "test_slangpy_raster_named", "int draw(int a) { return a + 1; }").draw(4) == 5


def test_wrong_one_call_draws_raise(device, m):
    target, good = make_target(device), dict(scale=[1, 1], tint=RED, vars={"depth": 0.0})
    for arguments, keywords, error in ((("nothing", "fragment_tint", 6), {}, ValueError), (("vertex_quad", "fragment_tint"), {}, ValueError), (("vertex_quad", "fragment_tint", -1), {}, ValueError),
                                       (("vertex_quad", "fragment_tint", "6"), {}, TypeError), (("vertex_quad", "fragment_tint", 6), {"blend": "nothing"}, ValueError),
                                       (("vertex_quad", "fragment_tint", 6), {"cull": "all"}, ValueError), (("vertex_quad", "fragment_tint", 6), {"target": 5}, TypeError),
                                       (("vertex_quad", "fragment_tint", 6), {"target": {"clear": 1}}, TypeError), (("fragment_tint", "vertex_quad", 6), {}, Exception),
                                       (("vertex_quad", "fragment_tint", 6), {"no_such_name": 1}, Exception), (("vertex_quad", "fragment_tint", 6), {"indices": [0.5]}, TypeError)):
        with pytest.raises(error):
            m.draw(*arguments, **{"target": target, **good, **keywords})
    with pytest.raises(Exception, match="color"):
        m.draw("vertex_main", "fragment_main", {"position": CORNERS}, target=target)
