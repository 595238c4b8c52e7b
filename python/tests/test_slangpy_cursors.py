"""Tests that BufferCursor and ShaderCursor behave as SlangPy's (behaviour.md, see tests/README.md, "Cursors and layouts")."""
import gc

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
struct Inner { float x; int2 y; };
struct Item { bool flag; float3 a; float2x3 m; int n[3]; Inner inner[2]; half h; };
RWStructuredBuffer<Item> items;
float value(Item i) { return i.a.x; }
"""


@pytest.fixture(scope="module")
def module(device):
    return device.load_module_from_source("slangpy_cursors", SOURCE)


@pytest.fixture(scope="module")
def layout(module):
    """Returns the layout of an element of `items`."""
    return module.layout.get_type_layout(module.layout.find_type_by_name("RWStructuredBuffer<Item>")).element_type_layout


@pytest.fixture
def buffer(device, module):
    return device.create_buffer(element_count=4, resource_type_layout=module.layout.get_type_layout("RWStructuredBuffer<Item>"))


@pytest.fixture
def own(device, layout):
    return spy.BufferCursor(device.info.type, layout, 3)


def test_a_cursor_knows_the_type_and_the_layout_of_its_elements(own, layout):
    """A cursor has element_type_layout and element_type, with kind, row_count, col_count and element_type; sizes are those on the
    device."""
    kind = spy.TypeReflection.Kind
    assert own.element_type_layout.kind == own.element_type.kind == kind.struct and own.element_type.name == "Item"
    assert own.element_type_layout == layout and own.element_type_layout.type == own.element_type
    fields = {f.name: f for f in own.element_type_layout.fields}
    m = fields["m"].type_layout
    assert m.kind == kind.matrix and (m.type.row_count, m.type.col_count) == (2, 3) and m.type.element_type.full_name == "vector<float,3>"
    assert fields["n"].type_layout.kind == kind.array and fields["n"].type_layout.element_type_layout.type.scalar_type.name == "int32"
    assert own.element_count == len(own) == 3 and own.size == 3 * own.element_stride and own.element_size == layout.size


def test_a_cursor_has_memory_of_its_own(own):
    """BufferCursor(device_type, layout, count) has memory of its own."""
    own[1].a = [1, 2, 3]
    own[1].inner[1].y.x = 4
    assert own[1].a.read() == spy.float3(1, 2, 3) and own[1]["inner"][1].read() == {"x": 0, "y": spy.int2(4, 0)}
    assert own[0].a.read() == spy.float3(0) and own[1].flag.read() is False


@pytest.mark.parametrize("load", [(), (True,), (False,)])
def test_a_cursor_over_a_buffer_loads_and_applies(layout, buffer, load):
    """BufferCursor(layout, buffer, load_before_write=True) is over a buffer: apply() uploads and load() reads again."""
    cursor = spy.BufferCursor(layout, buffer, *load)
    assert len(cursor) == 4 and cursor.resource is buffer
    for i in range(4):
        cursor[i].write({"flag": True, "a": [i, 1, 2], "h": 0.5})
    cursor.apply()
    other = spy.BufferCursor(element_layout=layout, buffer_resource=buffer)
    assert [e.a.x.read() for e in other] == [0, 1, 2, 3] and other[3].h.read() == 0.5
    cursor[0].a.x = 9
    cursor.apply()
    assert other[0].a.x.read() == 0
    other.load()
    assert other[0].a.x.read() == 9


def test_a_part_of_a_buffer_by_size_and_offset(layout, buffer):
    """BufferCursor(layout, buffer, size, offset) is over a part of a buffer."""
    cursor = spy.BufferCursor(layout, buffer)
    cursor[2].h = 7
    cursor.apply()
    part = spy.BufferCursor(layout, buffer, 2 * layout.stride, layout.stride)
    assert len(part) == 2 and part[1].h.read() == 7


def test_a_buffer_is_read_at_the_first_access(layout, buffer):
    """A cursor's is_loaded is False before its first read and True after it."""
    cursor = spy.BufferCursor(layout, buffer)
    place = cursor[1].h
    assert not cursor.is_loaded
    place.read()
    assert cursor.is_loaded


def test_elements_keep_the_cursor_and_the_buffer_alive(device, module, layout):
    buffer = device.create_buffer(element_count=2, resource_type_layout=module.layout.get_type_layout("RWStructuredBuffer<Item>"))
    cursor = spy.BufferCursor(layout, buffer)
    cursor[1].h = 3
    place = cursor[1].h
    del buffer, cursor
    gc.collect()
    assert place.read() == 3


def test_negative_indices_count_from_the_end(own):
    """cursor[i] takes negative indices, and raises IndexError outside of the buffer."""
    own[-1].h = 4
    assert own[2].h.read() == 4 and own.find_element(-1).h.read() == 4
    for index in (3, -4, 2**70):
        with pytest.raises(IndexError):
            own[index]


def test_a_missing_field_is_an_invalid_cursor(own):
    """A missing field raises no exception: its cursor's is_valid() is False. has_field() and has_element() tell whether there is a part."""
    for part in (own[0].nope, own[0]["nope"], own[0].find_field("nope"), own[0].a.w, own[0].nope.deeper, own[0].n.find_element(3)):
        assert not part.is_valid() and not part
        with pytest.raises(RuntimeError):
            part.read()
        with pytest.raises(RuntimeError):
            part.write(1)
    assert own[0].has_field("a") and not own[0].has_field("nope") and own[0].n.has_element(2) and not own[0].n.has_element(3)
    with pytest.raises(Exception):
        own[0].nope = 1


def test_assignment_by_attribute_name_and_index_writes(own):
    own[0].h = 1
    own[0]["flag"] = True
    own[0].n[1] = 5
    own[1] = {"h": 2}
    assert own[0].h.read() == 1 and own[0].flag.read() is True and own[0].n.read() == [0, 5, 0] and own[1].h.read() == 2


def test_repr_is_the_value_and_the_type(own):
    own[0].h = 1.5
    assert repr(own[0].h) == "1.5 [half]" and "[vector<float,3>]" in repr(own[0].a)


def test_reinterpret_views_the_bytes_as_another_type(own, module):
    own[1].n = [0x3F800000, 0x40000000, 0x40400000]
    other = own[1].n.reinterpret(module.layout.get_type_layout(module.layout.find_type_by_name("float3")))
    assert other.read() == spy.float3(1, 2, 3)
    other.y = -2
    assert own[1].n[1].read() == -0x40000000
    with pytest.raises(ValueError):
        own[2].h.reinterpret(own.element_type_layout)


def test_offsets_are_bytes_and_a_bool_takes_four(own, layout):
    """A cursor's _offset equals the layout's offset in bytes; a bool takes four bytes."""
    fields = {f.name: f.offset for f in layout.fields}
    assert own[0].a._offset == fields["a"] == 4 and own[1].m._offset == layout.stride + fields["m"]
    inner = own[0].inner  # the alignment of an int2 depends on the device
    assert inner[0]._offset == fields["inner"] and inner[1]._offset - inner[0]._offset in (12, 16)
    assert inner[1].y._offset - inner[1]._offset == inner[0].y._offset - inner[0]._offset in (4, 8)


def test_read_gives_numbers_vectors_matrices_lists_and_dicts(own):
    own[0].write({"flag": True, "a": (1, 2, 3), "m": np.arange(6).reshape(2, 3), "n": [1, 2, 3], "h": 2,
                  "inner": [{"x": 1, "y": [4, 5]}, {"x": 0, "y": [2, 3]}]})
    value = own[0].read()
    assert value["flag"] is True and value["a"] == spy.float3(1, 2, 3) and isinstance(value["m"], spy.float2x3) and value["n"] == [1, 2, 3]
    assert value["m"] == spy.float2x3([0, 1, 2, 3, 4, 5]) and value["inner"][1] == {"x": 0.0, "y": spy.int2(2, 3)} and value["h"] == 2.0


def test_structs_are_written_from_dicts_with_any_of_the_fields(own):
    """A cursor ignores unknown keys and _type of a dict, and fields that the dict lacks stay as they were."""
    own[0].write({"a": [1, 2, 3], "h": 4})
    own[0].write({"_type": "Item", "h": 5, "unknown": object()})
    assert own[0].a.read() == spy.float3(1, 2, 3) and own[0].h.read() == 5


@pytest.mark.parametrize("value", [[1, 2, 3], (1, 2, 3), spy.float3(1, 2, 3), np.array([1, 2, 3], np.float32)])
def test_vectors_are_written_from_vector_list_tuple_and_array(own, value):
    own[0].a = value
    assert own[0].a.read() == spy.float3(1, 2, 3)


@pytest.mark.parametrize("value", [spy.float2x3([1, 2, 3, 4, 5, 6]), np.array([[1, 2, 3], [4, 5, 6]], np.float32)])
def test_matrices_are_written_from_matrix_and_array(own, value):
    own[0].m = value
    assert own[0].m.read() == spy.float2x3([1, 2, 3, 4, 5, 6])


def test_arrays_are_written_from_exactly_their_length(own):
    own[0].n = [1, 2, 3]
    for wrong in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(Exception):
            own[0].n = wrong
    assert own[0].n.read() == [1, 2, 3]


class This:
    def __init__(self, value):
        self.value = value

    def get_this(self):
        return self if self.value is None else self.value


def test_objects_with_get_this_are_unpacked_in_lists_too(own):
    own[0].a = This([1, 2, 3])
    own[0].inner = [This({"x": 1, "y": This([2, 3])}), This({"x": 4, "y": [5, 6]})]
    own[1] = This({"h": 3})
    assert own[0].a.read() == spy.float3(1, 2, 3) and own[0].inner[1].y.read() == spy.int2(5, 6) and own[1].h.read() == 3


def test_get_this_that_gives_the_object_itself_is_a_runtime_error(own):
    with pytest.raises(RuntimeError):
        own[0].a = This(None)


def test_write_from_numpy_takes_a_dict_of_arrays(own):
    """write_from_numpy() takes a dict of arrays, whose first dimension is the number of elements."""
    a, n = np.arange(9, dtype=np.float32).reshape(3, 3), np.arange(9, dtype=np.int32).reshape(3, 3)
    own[1].h = 2
    own.write_from_numpy({"a": a, "n": n, "flag": np.array([True, False, True])}, unchecked_copy=True)
    assert [list(e.a.read()) for e in own] == a.tolist() and [e.n.read() for e in own] == n.tolist() and own[1].h.read() == 2
    assert [e.flag.read() for e in own] == [True, False, True]
    with pytest.raises(ValueError):
        own.write_from_numpy({"a": a[:2]})


def test_to_numpy_and_copy_from_numpy_move_bytes(own, layout):
    own[1].h = 2
    data = own.to_numpy()
    assert data.dtype == np.uint8 and data.shape == (own.size,)
    data = data.copy()
    at = {f.name: f.offset for f in layout.fields}["a"]
    data[at:at + 12] = np.array([1, 2, 3], np.float32).view(np.uint8)
    own.copy_from_numpy(data)
    assert own[0].a.read() == spy.float3(1, 2, 3) and own[1].h.read() == 2


# >>ShaderCursor

SHADER = """
struct L { float3 color; float power[2]; int n; };
struct B { L light; RWStructuredBuffer<float> result; };
ParameterBlock<B> block;
ConstantBuffer<L> lamp;
uniform float gain;
[shader("compute")] [numthreads(4, 1, 1)]
void main(uint3 t : SV_DispatchThreadID, uniform L p)
{
    block.result[t.x] = block.light.color.y * lamp.color.x * gain + p.power[1] + block.light.n;
}
"""


@pytest.fixture(scope="module")
def shader(device):
    module = device.load_module_from_source("slangpy_shader_cursors", SHADER)
    return device.link_program([module], [module.entry_point("main")])


def run(device, shader, fill):
    """Runs the shader with the values that fill(cursor, result) writes, and returns the shader's results."""
    result, encoder = device.create_buffer(size=16), device.create_command_encoder()
    with encoder.begin_compute_pass() as p:
        fill(spy.ShaderCursor(p.bind_pipeline(device.create_compute_pipeline(shader))), result)
        p.dispatch([4, 1, 1])
    device.submit_command_buffer(encoder.finish())
    return result.to_numpy().view(np.float32).tolist()


LIGHT = {"color": [1, 2, 3], "power": [1, 2], "n": 1}


def rest(c):
    c.lamp = {"color": [4, 5, 6], "power": [0, 0], "n": 0}
    c["gain"] = 2.0
    c.main.p = {"color": [0, 0, 0], "power": [0, 7], "n": 0}


def test_blocks_are_entered_and_fields_may_be_written_one_by_one(device, shader):
    """A cursor enters parameter blocks and constant buffers by itself, and their fields may be written one by one."""
    def fill(c, result):
        c.block.light.color = spy.float3(1, 2, 3)
        c.block.light["power"] = [1, 2]
        c.block.find_field("light").n.write(1)
        c.block.result = result
        rest(c)

    assert run(device, shader, fill) == [24] * 4


def test_a_shader_object_of_a_block_is_its_value(device, shader):
    """create_shader_object() takes a ReflectionCursor or a layout, and the object can be written as the value of a block."""
    def fill(c, result):
        part = device.create_shader_object(shader.reflection.block)
        cursor = spy.ShaderCursor(part)
        cursor.light, cursor.result = LIGHT, result
        c.block = part
        rest(c)

    assert run(device, shader, fill) == [24] * 4


def test_places_are_found_by_number_and_bytes_are_written(device, shader):
    """find_entry_point(), get_field_by_index(), dereference() and set_data() of a ShaderCursor."""
    def fill(c, result):
        c.block = {"light": LIGHT, "result": result}
        rest(c)
        c.gain.set_data(np.array([3], np.float32))
        c.get_field_by_index(c.find_field_index("lamp")).dereference().color.set_data(np.array([4, 0, 0], np.float32))
        c.find_entry_point(0).p.power.set_data(np.array([0, 1], np.float32))

    assert run(device, shader, fill) == [2 * 4 * 3 + 1 + 1] * 4


def test_shader_cursors_know_what_is_there(device, shader):
    """A ShaderCursor has is_valid, has_field and has_element; find_field_index() is -1 for an unknown name; _offset has uniform_offset
    and binding numbers."""
    c = spy.ShaderCursor(device.create_root_shader_object(shader))
    assert c.is_valid() and c.block.light.is_valid() and not c.nope.is_valid() and not c.block.nope.is_valid()
    assert c.has_field("gain") and not c.has_field("nope") and c.block.light.power.has_element(1) and not c.block.light.power.has_element(2)
    assert c.find_field_index("gain") >= 0 and c.find_field_index("nope") == -1 and c.block.light.find_field_index("n") == 2
    offset = c.block.light.n._offset
    assert offset.uniform_offset == 20 and offset.binding_range_index >= 0 and offset.binding_array_index == 0 and offset.is_valid()
    assert c.lamp.reinterpret(shader.layout.get_type_layout(shader.layout.find_type_by_name("float4"))).is_valid()


def test_shader_cursors_take_no_values_of_another_kind(device):
    """A number or sampler for a texture, a texture or buffer for a sampler, and a texture or sampler for numbers are refused at once."""
    module = device.load_module_from_source("slangpy_cursor_kinds", """
        RWTexture2D<float4> result; Texture2D<float4> source; SamplerState sampler; RWStructuredBuffer<float> values; float4 tint; struct P { Texture2D<float> t; int n; }; ParameterBlock<P> block;
        [shader("compute")] [numthreads(1, 1, 1)] void main() { result[int2(0)] = source.SampleLevel(sampler, float2(0), 0) + tint + values[0] + block.t[int2(0)] + block.n; }""")
    c = spy.ShaderCursor(device.create_root_shader_object(device.link_program([module], [module.entry_point("main")])))
    texture = device.create_texture(format=spy.Format.rgba32_float, width=1, height=1, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    sampler, buffer = device.create_sampler(), device.create_buffer(size=16)
    for place, value in (("result", 3), ("source", sampler), ("values", 1.5), ("sampler", texture), ("sampler", buffer), ("sampler", 0), ("tint", texture), ("tint", sampler)):
        with pytest.raises(TypeError, match="cursor: a place of type .* takes .*, got"):
            setattr(c, place, value)
        with pytest.raises(TypeError):
            c[place].write(value)
    for place, value in (("t", 1), ("n", texture)):
        with pytest.raises(TypeError):
            c.block[place] = value
    c.result, c.source, c.sampler, c.values, c.tint, c.block.t, c.block.n = texture, texture.create_view(), sampler, buffer, spy.float4(1), texture, 3


MANY = """
struct S { float a; uint3 b; bool c; };
struct P { S s[2]; float2 v; half3 h; int16_t i; uint64_t u; bool flags[3]; float2x2 m; int grid[2][3]; };
uniform P p;
ConstantBuffer<P> cb;
ParameterBlock<P> pb;
RWStructuredBuffer<P> result;
[shader("compute")] [numthreads(1, 1, 1)]
void main(uniform S e) { result[0] = p; result[1] = cb; result[2] = pb; result[2].v.x += e.a; }
"""


def test_values_of_all_kinds_go_into_globals_constant_buffers_and_parameter_blocks(device):
    """Globals take structs as dicts, arrays of structs as lists of dicts without _type, vectors as tuples and lists, bool, and numbers
    of 16 and 64 bits."""
    module = device.load_module_from_source("slangpy_many", MANY)
    program = device.link_program([module], [module.entry_point("main")])
    structs = [{"a": 1.0, "b": [1, 2, 3], "c": True}, {"a": 2.0, "b": (4, 5, 6), "c": False}]
    value = {"s": structs, "v": (1, 2), "h": (1, 2, 3), "i": -300, "u": 2**64 - 1, "flags": [True, False, True],
             "m": np.array([[1, 2], [3, 4]], np.float32), "grid": [[1, 2, 3], [4, 5, 6]]}
    kernel = device.create_compute_kernel(program)
    result = device.create_buffer(element_count=3, resource_type_layout=program.reflection.result)
    entry = {"a": 4.0, "b": (0, 0, 0), "c": False}
    kernel.dispatch([1, 1, 1], vars={"p": value, "cb": value, "pb": value, "result": result}, e=entry)

    def check(x=5.0):
        read = spy.BufferCursor(program.reflection.result.type_layout.element_type_layout, result)
        for i in range(3):
            got = read[i].read()
            assert got["s"] == [{"a": 1.0, "b": spy.uint3(1, 2, 3), "c": True}, {"a": 2.0, "b": spy.uint3(4, 5, 6), "c": False}]
            assert got["v"] == ([x, 2] if i == 2 else [1, 2]) and got["h"] == [1, 2, 3] and (got["i"], got["u"]) == (-300, 2**64 - 1)
            assert got["flags"] == [True, False, True] and got["m"] == spy.float2x2([1, 2, 3, 4]) and got["grid"] == [[1, 2, 3], [4, 5, 6]]

    check()
    encoder = device.create_command_encoder()
    with encoder.begin_compute_pass() as p:
        c = spy.ShaderCursor(p.bind_pipeline(device.create_compute_pipeline(program)))
        c.result, c.find_entry_point(0).e = result, entry
        for part in (c.p, c.cb, c.pb):
            for name, one in value.items():
                part[name] = one
        p.dispatch([1, 1, 1])
    device.submit_command_buffer(encoder.finish())
    check()


def test_elements_of_an_array_of_structs_are_set_by_their_index(device):
    """vars={"p.s[1]": {...}} sets an element of an array of structs, with a tuple for a vector in it, also beside another parameter of a
    struct type."""
    module = device.load_module_from_source("slangpy_many_indexed", MANY)
    program = device.link_program([module], [module.entry_point("main")])
    result = device.create_buffer(element_count=3, resource_type_layout=program.reflection.result)
    device.create_compute_kernel(program).dispatch(
        [1, 1, 1], vars={"pb.s[1]": {"a": 1.0, "b": (1, 2, 3), "c": True}, "pb.s[0].b": (7, 8, 9), "result": result},
        e={"a": 4.0, "b": (0, 0, 0), "c": False})
    got = spy.BufferCursor(program.reflection.result.type_layout.element_type_layout, result)[2].read()
    assert got["s"] == [{"a": 0.0, "b": spy.uint3(7, 8, 9), "c": False}, {"a": 1.0, "b": spy.uint3(1, 2, 3), "c": True}]
