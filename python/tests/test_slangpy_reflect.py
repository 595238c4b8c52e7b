"""SlangPy's facts about reflection, buffers and encoders, one a test (../shared/slangpy-interface/behaviour.md)."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
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
    """Globals, entry points and their parameters are found by attribute, [name] and find_field."""
    kernel = device.create_compute_kernel(program)
    for c in (program.reflection, kernel.reflection, spy.ReflectionCursor(program)):
        assert isinstance(c, spy.ReflectionCursor) and c.is_valid() and c.has_field("items") and not c.has_field("nope")
        assert c.items.type.kind == spy.TypeReflection.Kind.resource and c["gain"].type.full_name == "float"
        assert c.find_field("main").is_valid() and c.main.k.type.full_name == "float"
        assert c["main"]["result"].type_layout.element_type_layout.stride == 12
        assert c.block.p.m.type.row_count == 2 and c.items.type_layout.element_type_layout.name == "P"
        assert not c.find_field("nope").is_valid() and not c.main.find_field("nope").is_valid()


def test_a_cursor_or_its_layout_serves_as_resource_type_layout(device, program):
    """create_buffer takes them for the size of an element; the kernel reads and writes such buffers."""
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
    """Only a StructuredBuffer's layout is one; else a TypeError."""
    for wrong in (layout.get_type_layout(layout.find_type_by_name("P")), layout.find_type_by_name("StructuredBuffer<P>")):
        with pytest.raises(TypeError):
            device.create_buffer(element_count=4, resource_type_layout=wrong)
