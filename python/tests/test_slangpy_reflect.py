"""Tests that reflection, buffers and encoders behave as SlangPy's. tests/README.md says where the facts come from."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int n; float f; string s; };
interface IShape { float area(); }
[Tag(3, 2.5, "hi")]
struct Circle : IShape { float r; float area() { return r; } __init(float r) { this.r = r; } };
float scale(float3 v, float s) { return v.x * s; }
float over(float x) { return x; }
int over(int x) { return x; }
struct P { float3 a; int b; float2x2 m; float c[4]; };
struct Q { P p; uint2 u; };
RWStructuredBuffer<P> items;
uniform float gain;
ConstantBuffer<Q> block;
[shader("compute")] [numthreads(8, 4, 1)]
void main(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float3> result, uniform float k)
{
    if (id.x < 4 && id.y == 0) result[id.x] = items[id.x].a * k * gain;
}
"""


@pytest.fixture(scope="module")
def program(device):
    module = device.load_module_from_source("slangpy_reflect", SOURCE)
    return device.link_program([module], [module.entry_point("main")])


@pytest.fixture(scope="module")
def layout(program):
    return program.layout


# >>the cursor of a program


def test_program_and_kernel_reflection_are_cursors_to_globals_and_entry_points(device, program):
    """Globals, entry points and their parameters are found by attribute, by [name] and by find_field()."""
    kernel = device.create_compute_kernel(program)
    for c in (program.reflection, kernel.reflection, spy.ReflectionCursor(program)):
        assert isinstance(c, spy.ReflectionCursor) and c.is_valid() and c.has_field("items") and not c.has_field("nope")
        assert c.items.type.kind == spy.TypeReflection.Kind.resource and c["gain"].type.full_name == "float"
        assert c.find_field("main").is_valid() and c.main.k.type.full_name == "float"
        assert c["main"]["result"].type_layout.element_type_layout.stride == 12
        assert c.block.p.m.type.row_count == 2 and c.items.type_layout.element_type_layout.name == "P"
        assert not c.find_field("nope").is_valid() and not c.main.find_field("nope").is_valid()


def test_a_cursor_or_its_layout_serves_as_resource_type_layout(device, program):
    """create_buffer() takes a cursor or its layout as resource_type_layout for the size of an element; the kernel reads and writes such
    buffers."""
    kernel = device.create_compute_kernel(program)
    items = device.create_buffer(element_count=4, resource_type_layout=kernel.reflection.items)
    result = device.create_buffer(element_count=4, resource_type_layout=kernel.reflection.main.result.type_layout)
    assert items.struct_size == items.size // 4 >= 48 and result.struct_size == 12
    cursor = spy.BufferCursor(kernel.reflection.items.type_layout.element_type_layout, items)
    for i in range(4):
        cursor[i].a = [i, 2 * i, 3 * i]
    cursor.apply()
    kernel.dispatch([8, 4, 1], vars={"items": items, "gain": 2.0}, result=result, k=0.5)
    assert result.to_numpy().view(np.float32).reshape(4, 3).tolist() == [[i, 2 * i, 3 * i] for i in range(4)]


def test_a_plain_layout_or_a_type_is_no_resource_type_layout(device, layout):
    """resource_type_layout takes a StructuredBuffer's layout; another layout or a type is a TypeError."""
    for wrong in (layout.get_type_layout(layout.find_type_by_name("P")), layout.find_type_by_name("StructuredBuffer<P>")):
        with pytest.raises(TypeError):
            device.create_buffer(element_count=4, resource_type_layout=wrong)


def test_sizes_are_uint3(device, program, layout):
    """Sizes of thread groups are uint3, with x, y, z, and compare equal to lists and tuples."""
    pipeline = device.create_compute_pipeline(program)
    for size in (layout.entry_points[0].compute_thread_group_size, program.entry_points[0].layout.compute_thread_group_size,
                 pipeline.thread_group_size):
        assert isinstance(size, spy.uint3) and (size.x, size.y, size.z) == (8, 4, 1)
    limits = device.info.limits
    assert limits.max_compute_dispatch_thread_groups.x >= 65535 and limits.max_compute_thread_group_size.z >= 1


# >>reflection


def test_the_same_thing_is_the_same_object(device, program, layout):
    """Layouts, types, functions, fields and attributes that are asked for twice are the same object."""
    p = layout.find_type_by_name("P")
    assert layout is program.layout and p is layout.find_type_by_name("P") and layout.get_type_layout(p) is layout.get_type_layout(p)
    assert p.fields[0] is p.fields[0] and p.fields[0].type is layout.find_type_by_name("float3")
    assert layout.find_function_by_name("scale") is layout.find_function_by_name("scale") is program.modules[0].scale.reflection
    assert layout.find_type_by_name("Circle").user_attributes[0] is layout.find_type_by_name("Circle").get_user_attribute_by_index(0)
    assert program.modules[0].P.struct is p and layout.entry_points[0] is layout.entry_points[0]


def test_lists_iterate_index_and_have_len(layout):
    for items in (layout.parameters, layout.entry_points, layout.find_type_by_name("P").fields, layout.find_function_by_name("scale").parameters,
                  layout.find_function_by_name("over").overloads, layout.get_type_layout(layout.find_type_by_name("P")).fields):
        assert len(items) > 0 and [x for x in items][0] is items[0] and items[len(items) - 1] is items[-1]
        with pytest.raises(IndexError):
            items[len(items)]


def test_find_gives_none(layout):
    assert layout.find_type_by_name("Nope") is None and layout.find_function_by_name("nope") is None
    assert layout.find_function_by_name_in_type(layout.find_type_by_name("Circle"), "nope") is None
    assert layout.find_type_by_name("Circle").find_user_attribute_by_name("Nope") is None


def test_dollar_init_finds_constructors(layout):
    f = layout.find_function_by_name_in_type(layout.find_type_by_name("Circle"), "$init")
    assert [p.name for p in f.parameters][-1:] == ["r"]


def test_specialize_with_arg_types(layout):
    """specialize_with_arg_types() gives None if the arguments do not fit; a scalar fits a vector."""
    f, over = layout.find_function_by_name("scale"), layout.find_function_by_name("over")
    scalar, vector, p = (layout.find_type_by_name(n) for n in ("float", "float3", "P"))
    assert f.specialize_with_arg_types([vector, scalar]) is f and f.specialize_with_arg_types([scalar, scalar]) is f
    assert f.specialize_with_arg_types([p, scalar]) is None and f.specialize_with_arg_types([vector]) is None
    assert over.is_overloaded and len(over.overloads) == 2 and not f.is_overloaded
    assert over.specialize_with_arg_types([layout.find_type_by_name("int")]).return_type.full_name == "int"


def test_user_attributes(layout):
    circle = layout.find_type_by_name("Circle")
    a = circle.find_user_attribute_by_name("Tag")
    assert circle.get_user_attribute_count() == 1 and a.name == "Tag" and a.argument_count == 3
    assert (a.argument_value_int(0), a.argument_value_float(1), a.argument_value_string(2)) == (3, 2.5, "hi")
    assert a.argument_type(0).full_name == "int" and a.argument_type(1).full_name == "float"


def test_reprs(device, program, layout):
    module = spy.Module.load_from_source(device, "slangpy_repr", "struct S { float x; };")
    assert repr(module) == "Module(name='slangpy_repr', linked_modules=0)" and repr(module.S) == 'func::BaseStruct(full_name="S")'
    assert repr(layout.find_type_by_name("P")) == 'refl::Type(full_name="P", kind=struct, shape=[])'
    assert repr(layout.find_type_by_name("float3")) == 'refl::Type(full_name="vector<float,3>", kind=vector, shape=[3])'
    assert repr(layout.find_type_by_name("P").fields[0]) == 'refl::Variable(name="a", type="vector<float,3>")'


@pytest.mark.parametrize("name, full", [("int32_t", "int"), ("float16_t", "half"), ("float3", "vector<float,3>"), ("float2[4]", "vector<float,2>[4]"),
                                        ("float2x3", "matrix<float,2,3>"), ("P", "P")])
def test_full_names(layout, name, full):
    """full_name is the name that Slang prints, by which the type is found again."""
    t = layout.find_type_by_name(name)
    assert t.full_name == full and layout.find_type_by_name(full) is t


# >>slangpy.reflection


def test_classes_of_types_serve_isinstance(layout):
    """slangpy.reflection has classes for types, functions, fields and layouts, and a reflected type is an instance of the class for its
    kind."""
    from slangpy import reflection as r

    t = layout.find_type_by_name
    for name, cls in [("float", r.ScalarType), ("float3", r.VectorType), ("float2x2", r.MatrixType), ("float[4]", r.ArrayType), ("P", r.StructType),
                      ("IShape", r.InterfaceType), ("RWStructuredBuffer<P>", r.StructuredBufferType), ("ByteAddressBuffer", r.ByteAddressBufferType),
                      ("Texture2D<float4>", r.TextureType), ("Tensor<float, 2>", r.ITensorType), ("void", r.VoidType)]:
        assert isinstance(t(name), cls) and isinstance(t(name), r.SlangType), name
        assert isinstance(t(name), r.StructType) == (name in ("P", "Tensor<float, 2>"))
    assert isinstance(layout, r.SlangProgramLayout) and isinstance(layout.find_function_by_name("scale"), r.SlangFunction)
    assert isinstance(t("P").fields["a"], r.SlangField) and isinstance(t("P").buffer_layout, r.SlangLayout)


def test_types_by_what_they_are_made_of(layout):
    """Types that are found by kind, element and size are the same object each time."""
    s = spy.TypeReflection.ScalarType
    assert layout.scalar_type(s.float32) is layout.find_type_by_name("float") and layout.vector_type(s.int32, 2) is layout.find_type_by_name("int2")
    assert layout.matrix_type(s.float16, 2, 3).full_name == "matrix<half,2,3>" and layout.array_type(layout.find_type_by_name("P"), 3).element_count == 3


def test_fields_of_a_type_go_by_index_and_name(layout):
    fields = layout.find_type_by_name("P").fields
    assert fields[0] is fields["a"] and list(fields.keys()) == ["a", "b", "m", "c"] and "m" in fields and "z" not in fields
    assert {name: f.type.full_name for name, f in fields.items()}["c"] == "float[4]"


def test_a_struct_has_every_property_of_its_type(device, program):
    """A Struct has every property of its type: program, layout, element_type, differentiable and so on."""
    m = program.modules[0]
    for struct in (m.P, m.float3, m["float2[4]"]):
        t = struct.struct
        assert struct.type_reflection is t and struct.element_type is t.element_type and list(struct.shape) == list(t.shape)
        assert struct.num_dims == t.num_dims == len(t.shape) and struct.differentiable == t.differentiable and not struct.is_generic
        assert struct.buffer_layout is t.buffer_layout and struct.buffer_layout.type is t and struct.uniform_layout.size > 0
        assert struct.layout is struct.program is m.layout and struct.device is device
    assert m.float3.differentiable and m.float3.derivative is m.float3.struct and not m.P.differentiable and m.P.derivative is None
    assert m.P.fields["a"].type is m.float3.struct and m.Circle.try_get_child("area").name and m.Circle.try_get_child("nope") is None


def test_generic_arguments_are_types_or_ints(layout):
    """Generic arguments of a type are types or ints; a bool is 1 or 0."""
    t = layout.find_type_by_name("Tensor<float, 2>")
    assert t.generic_args == (layout.find_type_by_name("float"), 2) and layout.find_type_by_name("P").generic_args is None


def test_lookup_between_numpy_and_slang(device, layout):
    from slangpy.reflection.lookup import innermost_type, numpy_to_slang, resolve_element_type, resolve_program_layout, slang_to_numpy

    t = layout.find_type_by_name
    assert innermost_type(t("float3[4]")) is t("float") and slang_to_numpy(t("int2")) == np.int32 and slang_to_numpy(t("P")) is None
    for dtype, name in [(np.float32, "float"), (np.float16, "half"), (np.int64, "int64_t"), (np.uint8, "uint8_t"), (np.bool_, "bool")]:
        assert numpy_to_slang(np.dtype(dtype), device, layout) is t(name) and slang_to_numpy(t(name)) == dtype
    assert numpy_to_slang(np.dtype(np.complex64), device, layout) is None
    assert resolve_program_layout(device, None, layout) is layout and resolve_program_layout(device, t("P"), None) is layout.module.layout
    for what in ("float3", spy.float3, t("float3"), layout.module.float3, layout.get_type_layout("float3")):
        assert resolve_element_type(layout, what) is t("float3")
    assert resolve_element_type(layout, float) is t("float") and resolve_element_type(layout, bool) is t("bool")
    with pytest.raises(ValueError):
        resolve_element_type(layout, "NoSuchType")


def test_tables_of_scalar_types():
    from slangpy.reflection.reflectiontypes import (FLOAT_TYPES, INT_TYPES, NUMPY_TYPE_TO_SCALAR_TYPE, SCALAR_TYPE_TO_NUMPY_TYPE, scalar_names,
                                                    vectorize_type)

    s = spy.TypeReflection.ScalarType
    assert s.float32 in FLOAT_TYPES and s.uint8 in INT_TYPES and scalar_names[s.float32] == "float" and callable(vectorize_type)
    assert SCALAR_TYPE_TO_NUMPY_TYPE[s.int32] == np.int32 and NUMPY_TYPE_TO_SCALAR_TYPE[np.dtype("f4")] == s.float32


# >>formats, and descriptions of pictures and pipelines


@pytest.mark.parametrize("name, size, channels, kind, bits, dxgi, vk", [
    ("r8_unorm", 1, 1, "unorm", [8, 0, 0, 0], 61, 9), ("rgba8_unorm", 4, 4, "unorm", [8, 8, 8, 8], 28, 37),
    ("rgba8_unorm_srgb", 4, 4, "unorm_srgb", [8, 8, 8, 8], 29, 43), ("bgra8_unorm", 4, 4, "unorm", [8, 8, 8, 8], 87, 44),
    ("rg16_snorm", 4, 2, "snorm", [16, 16, 0, 0], 37, 78), ("rgba16_float", 8, 4, "float", [16, 16, 16, 16], 10, 97),
    ("r32_uint", 4, 1, "uint", [32, 0, 0, 0], 42, 98), ("rgb32_float", 12, 3, "float", [32, 32, 32, 0], 6, 106),
    ("rgba32_sint", 16, 4, "sint", [32, 32, 32, 32], 4, 108), ("rgb10a2_unorm", 4, 4, "unorm", [10, 10, 10, 2], 24, 64),
    ("b5g6r5_unorm", 2, 3, "unorm", [5, 6, 5, 0], 85, 5), ("r11g11b10_float", 4, 3, "float", [11, 11, 10, 0], 26, 122), ("d32_float", 4, 1, "float", [32, 0, 0, 0], 40, 126),
])
def test_format_info(name, size, channels, kind, bits, dxgi, vk):
    """get_format_info() gives channels, their bits, and the numbers of DXGI and Vulkan."""
    i = spy.get_format_info(spy.Format[name])
    assert (i.name, i.format, i.bytes_per_block, i.channel_count, i.type) == (name, spy.Format[name], size, channels, spy.FormatType[kind])
    assert i.channel_bit_count == bits and (i.dxgi_format, i.vk_format) == (dxgi, vk) and "FormatInfo" in repr(i)
    assert i.get_channel_bits(spy.FormatChannels.rgba) == sum(bits) and i.get_channel_bits(spy.FormatChannels.r) == bits[0]
    assert i.is_float_format() == (kind == "float") and i.is_integer_format() == (kind in ("uint", "sint"))
    assert i.is_normalized_format() == ("norm" in kind) and i.is_srgb_format() == ("srgb" in kind) and i.is_depth == name.startswith("d")
    assert i.has_equal_channel_bits() == (len(set(b for b in bits if b)) == 1) and i.get_channels() == (1 << channels) - 1


def test_compressed_formats_have_blocks():
    i = spy.get_format_info(spy.Format.bc7_unorm_srgb)
    assert i.is_compressed and (i.block_width, i.block_height, i.bytes_per_block, i.vk_format, i.dxgi_format) == (4, 4, 16, 146, 99)
    assert repr(i) == """FormatInfo(
  format = bc7_unorm_srgb,
  bytes_per_block = 16,
  channel_count = 4,
  type = unorm_srgb,
  is_depth = false,
  is_stencil = false,
  is_compressed = true,
  block_width = 4,
  block_height = 4,
  channel_bit_count = [128, 0, 0, 0],
  dxgi_format = 99,
  vk_format = 146
)"""
    assert spy.get_format_info(spy.Format.astc6x6_unorm).block_width == 6 and spy.get_format_info(spy.Format.bc1_unorm).bytes_per_block == 8
    assert spy.get_format_info(spy.Format.d32_float_s8_uint).is_depth_stencil() and len(spy.Format) == 77


def test_a_buffer_with_a_format_reads_as_its_channels(device):
    """to_numpy() of a buffer gives a flat uint8 array unless the buffer has a format."""
    data = np.arange(8, dtype=np.uint8)
    assert device.create_buffer(data=data).to_numpy().tolist() == data.tolist()
    assert device.create_buffer(data=data, format=spy.Format.rg8_unorm).to_numpy().shape == (4, 2)
    assert device.create_buffer(data=data, format=spy.Format.r32_uint).to_numpy().dtype == np.uint32


def test_enums_and_descriptions_of_pictures_are_plain_data():
    """Enums and descriptions of textures and pipelines can be imported and filled; a description within another belongs to its object
    only, and may be a dict."""
    assert spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access == 3 and spy.TextureType.texture_cube.value == 7
    desc = spy.TextureDesc({"width": 4, "format": spy.Format.rgba8_unorm})
    desc.height = 8
    assert (desc.width, desc.height, desc.depth, desc.mip_count, desc.type) == (4, 8, 1, 1, spy.TextureType.texture_2d)
    assert spy.SamplerDesc().address_u == spy.TextureAddressingMode.wrap and spy.SamplerDesc().max_anisotropy == 1
    target = spy.ColorTargetDesc({"color": {"op": spy.BlendOp.max}})
    target.alpha.src_factor = spy.BlendFactor.zero
    assert target.color.op == spy.BlendOp.max and spy.ColorTargetDesc().alpha.src_factor == spy.BlendFactor.one
    assert spy.Viewport.from_size(3, 4).height == 4 and spy.HitGroupDesc("a", "b").closest_hit_entry_point == "b"
    assert spy.DepthStencilDesc().depth_func == spy.ComparisonFunc.less and spy.StencilOp.keep.value == 0
    with pytest.raises(TypeError):
        spy.TextureDesc(nothing=1)


def test_objects_that_a_later_version_makes_raise_a_clear_error(device):
    for make in (spy.ShaderTable, spy.RayTracingPipeline, spy.AccelerationStructure):
        with pytest.raises(NotImplementedError, match="is not in this version"):
            make()


def test_base_classes_serve_isinstance(device, program):
    buffer = device.create_buffer(size=16)
    assert isinstance(buffer, spy.Resource) and isinstance(buffer, spy.DeviceChild) and isinstance(device, spy.Object)
    assert isinstance(device.create_compute_pipeline(program), spy.Pipeline) and isinstance(device.create_compute_kernel(program), spy.Kernel)
    assert not isinstance(3, spy.Object) and not isinstance(buffer, spy.Texture)


# >>buffers and encoders


def test_a_buffers_size_comes_from_size_elements_or_data(device, layout):
    """With `data` the size of a buffer may be left out; a size that is given must agree."""
    data = np.arange(8, dtype=np.float32)
    assert device.create_buffer(size=32).size == device.create_buffer(element_count=8, struct_size=4).size == device.create_buffer(data=data).size == 32
    assert device.create_buffer(size=32, struct_size=8, data=data).struct_size == 8
    for wrong in (16, 64):
        with pytest.raises(Exception):
            device.create_buffer(size=wrong, data=data)


def test_copies_past_the_end_are_runtime_errors(device):
    """copy_from_numpy() and upload_buffer_data() raise RuntimeError past the end; a smaller array fills the beginning; only contiguous
    data is uploaded."""
    buffer, encoder = device.create_buffer(data=np.arange(4, dtype=np.uint32)), device.create_command_encoder()
    buffer.copy_from_numpy(np.array([9], np.uint32))
    assert buffer.to_numpy().view(np.uint32).tolist() == [9, 1, 2, 3]
    with pytest.raises(RuntimeError):
        buffer.copy_from_numpy(np.zeros(5, np.uint32))
    encoder.upload_buffer_data(buffer, 4, np.array([7, 8], np.uint32))
    with pytest.raises(RuntimeError):
        encoder.upload_buffer_data(buffer, 12, np.array([7, 8], np.uint32))
    with pytest.raises(Exception):
        encoder.upload_buffer_data(buffer, 0, np.arange(4, dtype=np.uint32)[::2])
    device.submit_command_buffer(encoder.finish())
    assert buffer.to_numpy().view(np.uint32).tolist() == [9, 7, 8, 3]


def test_an_encoder_has_a_queue_and_a_recording_id(device):
    """An encoder's recording id is an int other than zero, which its command buffer has as well."""
    encoder = device.create_command_encoder()
    number = encoder.recording_id
    commands = encoder.finish()
    assert encoder.queue == commands.queue == spy.CommandQueueType.graphics and isinstance(number, int) and number
    assert commands.recording_id == number != device.create_command_encoder().recording_id
    device.submit_command_buffer(commands)


def test_callbacks_tell_of_submitted_and_discarded_recordings(device):
    """Registering a callback returns an int; a callback may be unregistered while it runs."""
    submitted, discarded = [], []

    def once(event):
        discarded.append(event.id)
        device.unregister_command_recording_discarded_callback(second)

    first = device.register_command_recording_submitted_callback(submitted.append)
    second = device.register_command_recording_discarded_callback(once)
    assert isinstance(first, int) and isinstance(second, int) and first != second
    commands = device.create_command_encoder().finish()
    submit_id = device.submit_command_buffer(commands)
    event = submitted[0]
    assert event.device is device and event.command_buffer is commands and event.id == commands.recording_id and event.submit_id == submit_id != 0
    encoder = device.create_command_encoder()
    number = encoder.recording_id
    del encoder
    device.create_command_encoder().finish()
    device.unregister_command_recording_submitted_callback(first)
    device.submit_command_buffer(device.create_command_encoder().finish())
    assert discarded == [number] and len(submitted) == 1


def test_passes_are_context_managers_and_bind_pipeline_gives_the_root_object(device, program):
    """dispatch() counts threads, dispatch_compute() counts groups, and dispatch_compute_indirect() reads the groups from a buffer."""
    pipeline, r = device.create_compute_pipeline(program), program.reflection
    items = device.create_buffer(element_count=4, resource_type_layout=r.items)
    items.copy_from_numpy(np.tile(np.array([1, 2, 3] + [0] * (items.struct_size // 4 - 3), np.float32), 4))
    count = device.create_buffer(data=np.array([7, 1, 1, 1], np.uint32), usage=spy.BufferUsage.indirect_argument)
    for how in (lambda p: p.dispatch([8, 4, 1]), lambda p: p.dispatch_compute([1, 1, 1]),
                lambda p: p.dispatch_compute_indirect(spy.BufferOffsetPair(count, 4))):
        result, encoder = device.create_buffer(element_count=4, resource_type_layout=r.main.result), device.create_command_encoder()
        with encoder.begin_compute_pass() as p:
            p.push_debug_group("pass", spy.float3(1))
            root = p.bind_pipeline(pipeline)
            assert isinstance(root, spy.ShaderObject) and isinstance(p, spy.PassEncoder)
            cursor = spy.ShaderCursor(root)
            cursor.items = items
            cursor.gain = 2.0
            cursor.main.result = result
            cursor.main.k = 1.0
            how(p)
            p.pop_debug_group()
        device.submit_command_buffer(encoder.finish())
        assert result.to_numpy().view(np.float32).reshape(4, 3).tolist() == [[2, 4, 6]] * 4


def test_the_globals_are_a_struct(layout):
    """globals_type_layout and globals_variable_layout give the globals as a struct."""
    g = layout.globals_type_layout
    assert g.kind == spy.TypeReflection.Kind.struct and [f.name for f in g.fields] == [p.name for p in layout.parameters] and g.size > 0
    assert layout.globals_variable_layout.type_layout.find_field("gain").type_layout.size == 4 and layout.hashed_strings == []


def test_native_handles_that_are_not_there_are_undefined(device):
    """Buffer.shared_handle and CommandEncoder.native_handle are undefined; sharing a buffer with another API is an error."""
    undefined = spy.NativeHandle()
    assert device.create_command_encoder().native_handle == device.create_buffer(size=16).shared_handle == undefined
    with pytest.raises(RuntimeError, match="shared"):
        device.create_buffer(size=16, usage=spy.BufferUsage.shared).shared_handle


def test_resolve_query_copies_times_to_a_buffer(device):
    """encoder.resolve_query(query_pool, index, count, buffer, offset) copies times to a buffer as numbers of 64 bits."""
    pool, buffer = device.create_query_pool(spy.QueryType.timestamp, 3), device.create_buffer(size=32)
    encoder = device.create_command_encoder()
    encoder.write_timestamp(pool, 1)
    encoder.write_timestamp(pool, 2)
    encoder.resolve_query(query_pool=pool, index=1, count=2, buffer=buffer, offset=8)
    for wrong in ((pool, 2, 2, buffer, 0), (pool, 0, 2, buffer, 24)):
        with pytest.raises((RuntimeError, IndexError)):
            encoder.resolve_query(*wrong)
    device.submit_command_buffer(encoder.finish())
    assert buffer.to_numpy().view(np.uint64)[1:3].tolist() == pool.get_results(1, 2)


def test_execute_callback_hands_out_the_native_command_buffer_or_stream(device):
    """execute_callback(fn) calls fn with one NativeHandle at each submission, in the order of the recording."""
    seen, encoder = [], device.create_command_encoder()
    encoder.execute_callback(seen.append)
    encoder.execute_callback(callback=lambda handle: seen.append(handle.value))
    with pytest.raises(TypeError):
        encoder.execute_callback(5)
    commands = encoder.finish()
    assert seen == []
    with pytest.raises(RuntimeError):
        encoder.execute_callback(print)
    for i in range(2):
        device.submit_command_buffer(commands)
    kind = "VkCommandBuffer" if device.info.type == spy.DeviceType.vulkan else "CUstream"
    assert len(seen) == 4 and seen[0].type == spy.NativeHandleType[kind] and seen[0].value == seen[1] and seen[2].value == seen[3]
    device.wait_for_idle()


def test_work_of_a_callback_runs_between_that_before_and_after(device):
    """Commands that a callback records by Vulkan's own functions run between the work before and after it; timestamps keep their order."""
    import ctypes

    from slangpy import _slangpy

    if device.info.type != spy.DeviceType.vulkan:
        pytest.skip("records a Vulkan command")
    vulkan = ctypes.CDLL("libvulkan.so.1")
    source, target = device.create_buffer(data=np.arange(4, dtype=np.uint32)), device.create_buffer(data=np.zeros(4, np.uint32))
    handle, offset = _slangpy._buffer_handle(source)
    pool, encoder = device.create_query_pool(spy.QueryType.timestamp, 2), device.create_command_encoder()
    encoder.write_timestamp(pool, 0)
    encoder.copy_buffer(target, 0, source, 0, 8)

    def fill(commands):
        vulkan.vkCmdFillBuffer(ctypes.c_void_p(commands.value), ctypes.c_uint64(handle), ctypes.c_uint64(offset), ctypes.c_uint64(16), ctypes.c_uint32(7))

    encoder.execute_callback(fill)
    encoder.write_timestamp(pool, 1)
    encoder.copy_buffer(target, 8, source, 8, 8)
    device.submit_command_buffer(encoder.finish())
    assert target.to_numpy().view(np.uint32).tolist() == [0, 1, 7, 7] and source.to_numpy().view(np.uint32).tolist() == [7] * 4
    assert 0 < pool.get_result(0) <= pool.get_result(1)
