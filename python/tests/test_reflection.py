"""Reflection of types, layouts, functions, declarations, entry points, and Function.resolve(). (Features M11, M12.)"""
import gc
import struct

import numpy as np
import pytest

import slangpy as spy

Kind, Scalar = spy.TypeReflection.Kind, spy.TypeReflection.ScalarType
Shape, Access = spy.TypeReflection.ResourceShape, spy.TypeReflection.ResourceAccess
Decl, Modifier = spy.DeclReflection.Kind, spy.ModifierID

SOURCE = """
import slangpy;
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int n; float f; string s; };
[__AttributeUsage(_AttributeTargets.Var)] struct RangeAttribute { float lo; float hi; };
[__AttributeUsage(_AttributeTargets.Function)] struct MarkAttribute { };
interface IShape { float area(); }
interface IOther { }
[Tag(3, 2.5, "hi")]
struct Circle : IShape
{
    [Range(-1, 1)] float r;
    float3 c;
    int n[4];
    float area() { return 3 * r * r; }
    static float unit() { return 1; }
    [mutating] void grow(float k = 2) { r *= k; }
    __init(float r) { this.r = r; this.c = 0; this.n = { 0, 0, 0, 0 }; }
};
struct Scene { Circle circles[3]; half h; double d; float4x4 m; };
enum Color { Red, Green = 5 };
struct Grid<T, let N : int> { T v[N]; T get(int i) { return v[i]; } };
namespace ns { float f(float x) { return x; } struct Inner { half2 h; }; }
float add(float a, float b) { return a + b; }
int add(int a, int b) { return a + b; }
[Differentiable] [Mark] float sq(no_diff float a, inout float3 b, out float4x4 m) { b = a; m = float4x4(0); return a * a; }
T gen<T : IFloat>(T x, T y) { return x + y; }
void nothing(float x) { }
float3 scale(float3 v, float s) { return v * s; }
float lit(Circle c) { return c.r; }
RWStructuredBuffer<float> buf;
Texture2D<float4> tex;
uniform float gain;
uniform int2 size;
ConstantBuffer<Circle> block;
static const int K = 7;
typedef float3 color;
[shader("compute")][numthreads(8, 4, 1)] void main(uint3 id : SV_DispatchThreadID) { buf[id.x] = gain; }
"""


@pytest.fixture(scope="module")
def module(load):
    return load(SOURCE)


@pytest.fixture(scope="module")
def layout(module):
    return module.layout


# >>types


@pytest.mark.parametrize("name,kind,scalar,rows,columns,count", [
    ("void", Kind.scalar, Scalar.void, 0, 0, 0),
    ("bool", Kind.scalar, Scalar.bool, 1, 1, 0),
    ("int8_t", Kind.scalar, Scalar.int8, 1, 1, 0),
    ("uint8_t", Kind.scalar, Scalar.uint8, 1, 1, 0),
    ("int16_t", Kind.scalar, Scalar.int16, 1, 1, 0),
    ("uint16_t", Kind.scalar, Scalar.uint16, 1, 1, 0),
    ("int", Kind.scalar, Scalar.int32, 1, 1, 0),
    ("uint", Kind.scalar, Scalar.uint32, 1, 1, 0),
    ("int64_t", Kind.scalar, Scalar.int64, 1, 1, 0),
    ("uint64_t", Kind.scalar, Scalar.uint64, 1, 1, 0),
    ("half", Kind.scalar, Scalar.float16, 1, 1, 0),
    ("float", Kind.scalar, Scalar.float32, 1, 1, 0),
    ("double", Kind.scalar, Scalar.float64, 1, 1, 0),
    ("float3", Kind.vector, Scalar.float32, 1, 3, 3),
    ("bool2", Kind.vector, Scalar.bool, 1, 2, 2),
    ("vector<half, 4>", Kind.vector, Scalar.float16, 1, 4, 4),
    ("float2x3", Kind.matrix, Scalar.float32, 2, 3, 0),
    ("matrix<int, 3, 2>", Kind.matrix, Scalar.int32, 3, 2, 0),
    ("float[7]", Kind.array, Scalar.none, 0, 0, 7),
    ("Circle", Kind.struct, Scalar.none, 0, 0, 0),
    ("Color", Kind.enum, Scalar.none, 0, 0, 0),
    ("IShape", Kind.interface, Scalar.none, 0, 0, 0),
    ("color", Kind.vector, Scalar.float32, 1, 3, 3),
    ("Texture2D<float4>", Kind.resource, Scalar.none, 0, 0, 0),
    ("SamplerState", Kind.sampler_state, Scalar.none, 0, 0, 0),
    ("ConstantBuffer<Circle>", Kind.constant_buffer, Scalar.none, 0, 0, 0),
    ("ParameterBlock<Circle>", Kind.parameter_block, Scalar.none, 0, 0, 0),
])
def test_types(layout, name, kind, scalar, rows, columns, count):
    """Reflection gives the kinds, scalar types and sizes of types. (Feature M11.)"""
    t = layout.find_type_by_name(name)
    assert (t.kind, t.scalar_type, t.row_count, t.col_count, t.element_count) == (kind, scalar, rows, columns, count)
    assert isinstance(t.kind, Kind) and isinstance(t.scalar_type, Scalar)


@pytest.mark.parametrize("name,short,full", [
    ("float3", "vector", "vector<float,3>"),
    ("vector<float, 3>", "vector", "vector<float,3>"),
    ("ns.Inner", "Inner", "ns.Inner"),
    ("ns::Inner", "Inner", "ns.Inner"),
    ("Grid<float, 4>", "Grid", "Grid<float, 4>"),
    ("Grid<ns.Inner, 2>", "Grid", "Grid<ns.Inner, 2>"),
    ("float[3][2]", "Array", "float[3][2]"),
    ("float2[4]", "Array", "vector<float,2>[4]"),
    ("half3x2", "matrix", "matrix<half,3,2>"),
    ("RWTexture2D<float4>", "_Texture", "RWTexture2D<vector<float,4>>"),
    ("Buffer<float>", "_Texture", "Buffer<float>"),
])
def test_names(layout, name, short, full):
    """A type is found again by its names. (Feature M11.)"""
    t = layout.find_type_by_name(name)
    assert (t.name, t.full_name) == (short, full)
    assert layout.find_type_by_name(t.full_name) == t


@pytest.mark.parametrize("name,shape,access", [
    ("Texture1D<float>", Shape.texture_1d, Access.read),
    ("Texture2D<float4>", Shape.texture_2d, Access.read),
    ("RWTexture2D<float4>", Shape.texture_2d, Access.read_write),
    ("Texture2DArray<float4>", Shape.texture_2d_array, Access.read),
    ("RWTexture1DArray<float>", Shape.texture_1d_array, Access.read_write),
    ("Texture2DMS<float4>", Shape.texture_2d_multisample, Access.read),
    ("Texture3D<float4>", Shape.texture_3d, Access.read),
    ("TextureCube<float4>", Shape.texture_cube, Access.read),
    ("TextureCubeArray<float4>", Shape.texture_cube_array, Access.read),
    ("Buffer<float>", Shape.texture_buffer, Access.read),
    ("StructuredBuffer<Circle>", Shape.structured_buffer, Access.read),
    ("RWStructuredBuffer<float>", Shape.structured_buffer, Access.read_write),
    ("ByteAddressBuffer", Shape.byte_address_buffer, Access.read),
    ("RWByteAddressBuffer", Shape.byte_address_buffer, Access.read_write),
    ("RaytracingAccelerationStructure", Shape.acceleration_structure, Access.read),
    ("float", Shape.none, Access.none),
])
def test_resources(layout, name, shape, access):
    """Reflection tells which buffer or texture a resource type is. (Feature M11.)"""
    t = layout.find_type_by_name(name)
    assert (t.resource_shape, t.resource_access) == (shape, access)


def test_resource_result(layout):
    """resource_result_type is the type that a resource holds. (Feature M11.)"""
    assert layout.find_type_by_name("Texture2D<float4>").resource_result_type.full_name == "vector<float,4>"
    assert layout.find_type_by_name("StructuredBuffer<Circle>").resource_result_type.full_name == "Circle"
    assert layout.find_type_by_name("ByteAddressBuffer").resource_result_type is None
    assert layout.find_type_by_name("float4").resource_result_type is None


@pytest.mark.parametrize("name,is_float,is_integer,is_signed,is_bool", [
    ("float", True, False, False, False),
    ("half3", True, False, False, False),
    ("double2x2", True, False, False, False),
    ("int", False, True, True, False),
    ("uint4", False, True, False, False),
    ("int64_t", False, True, True, False),
    ("uint8_t", False, True, False, False),
    ("bool2", False, False, False, True),
    ("Circle", False, False, False, False),
    ("float[2]", False, False, False, False),
    ("Color", False, False, False, False),
])
def test_number_helpers(layout, name, is_float, is_integer, is_signed, is_bool):
    """is_float() and similar functions tell the class of a type's numbers. (Feature M11.)"""
    t = layout.find_type_by_name(name)
    assert (t.is_float, t.is_integer, t.is_signed, t.is_bool) == (is_float, is_integer, is_signed, is_bool)


def test_kind_helpers(layout):
    """Functions of reflection tell whether a type is a vector, a matrix, a struct and so on. (Feature M11.)"""
    names = {"float": "scalar", "float3": "vector", "float2x2": "matrix", "Circle": "struct", "int[2]": "array"}
    for name, kind in names.items():
        t = layout.find_type_by_name(name)
        assert {k for k in names.values() if getattr(t, "is_" + k)} == {kind}


def test_arrays(layout):
    """Slang's Circle[2][3] is an array of 3 elements of Circle[2]. (Feature M11.)"""
    t = layout.find_type_by_name("Circle[2][3]")
    assert (t.element_count, t.element_type.element_count, t.total_array_element_count) == (3, 2, 6)
    assert t.unwrap_array().full_name == "Circle" and t.unwrap_array().unwrap_array().full_name == "Circle"
    assert tuple(t.shape) == (3, 2)
    assert tuple(layout.find_type_by_name("float2x3[5]").shape) == (5, 2, 3)
    assert tuple(layout.find_type_by_name("Circle").shape) == ()
    assert layout.find_type_by_name("float3").total_array_element_count == 0


def test_fields(layout):
    """Reflection gives fields of structs with their types, positions and attributes. (Feature M11.)"""
    t = layout.find_type_by_name("Circle")
    assert [(f.name, f.type.full_name, f.index) for f in t.fields.values()] == [("r", "float", 0), ("c", "vector<float,3>", 1), ("n", "int[4]", 2)]
    assert sorted(t.fields) == ["c", "n", "r"] and "c" in t.fields and t.fields["c"] is t.fields[1] and len(t.fields) == 3
    assert {n: f.type.full_name for n, f in layout.find_type_by_name("int2").fields.items()} == {"x": "int", "y": "int"}
    plain = layout.low_level_layout.find_type_by_name("Circle").fields  # the types of a SlangModule have lists of fields
    assert [f.name for f in plain] == ["r", "c", "n"] and plain["c"] is plain[1]
    with pytest.raises(KeyError):
        t.fields["zz"]
    assert t.field_count == 3 and t.find_field("c").type.is_vector and t.find_field("zz") is None
    assert t.fields[0].find_user_attribute_by_name("Range").args == (-1.0, 1.0)
    assert t.fields[1].user_attributes == []
    grid = layout.find_type_by_name("Grid<int, 6>")
    assert [(f.name, f.type.full_name) for f in grid.fields.values()] == [("v", "int[6]")]
    assert layout.low_level_layout.find_type_by_name("float3").fields == []


def test_user_attributes(layout):
    """Reflection gives the attributes of structs and functions. (Feature M11.)"""
    tag, = layout.find_type_by_name("Circle").user_attributes
    assert (tag.name, tag.args, tag.argument_count) == ("Tag", (3, 2.5, "hi"), 3)
    mark = layout.find_function_by_name("sq").find_user_attribute_by_name("Mark")
    assert mark.args == () and mark.argument_count == 0
    assert layout.find_function_by_name("add").find_user_attribute_by_name("Mark") is None
    assert layout.find_type_by_name("float").user_attributes == []
    with pytest.raises(TypeError, match="expected a str"):
        layout.find_function_by_name("sq").find_user_attribute_by_name(3)


def test_interfaces(layout):
    """implements() and is_sub_type() tell which types implement an interface. (Feature M11.)"""
    circle = layout.find_type_by_name("Circle")
    assert circle.implements("IShape") and layout.is_sub_type(circle, layout.find_type_by_name("IShape"))
    assert not circle.implements("IOther") and not layout.is_sub_type("Scene", "IShape")
    with pytest.raises(spy.Error):
        circle.implements("INowhere")
    with pytest.raises(TypeError, match="expected a type or its name"):
        circle.implements(3)


def test_find_type(layout):
    """Looking up missing names gives None or an error. (Feature M11.)"""
    assert layout.find_type_by_name("Circel") is None
    assert layout.find_type_by_name("add") is None
    with pytest.raises(LookupError, match="Circle"):
        layout.require_type_by_name("Circel")
    with pytest.raises(TypeError, match="find_type_by_name: argument 'name'"):
        layout.find_type_by_name(3)
    assert layout.require_type_by_name("Circle").is_struct


def test_type_equality(layout, load):
    """Types compare by name within their module. (Feature M11.)"""
    a, b = layout.find_type_by_name("Circle"), layout.find_function_by_name("lit").parameters[0].type
    assert a == b and hash(a) == hash(b) and a != layout.find_type_by_name("Scene") and a != "Circle"
    assert len({a, b, layout.find_type_by_name("float")}) == 2
    assert load("struct Circle { float q; };").layout.find_type_by_name("Circle") != a


def test_type_as_dtype(device, layout):
    """A TypeReflection can be given as a dtype. (Feature M11.)"""
    t = spy.Tensor.zeros(device, shape=(3,), dtype=layout.find_type_by_name("ns.Inner"))
    assert t.dtype.full_name == "ns.Inner" and tuple(t.shape) == (3,)
    u = spy.Tensor.zeros(device, shape=(2,), dtype=layout.find_type_by_name("int"))
    assert u.to_numpy().dtype == np.int32


# >>layouts


@pytest.mark.parametrize("name,code", [
    ("float", "f"), ("float3", "fff"), ("half2", "ee"), ("double", "d"), ("int64_t", "q"), ("uint16_t", "H"), ("int[5]", "5i"),
    ("float4x4", "16f"), ("Circle", "ffff4i"),
])
def test_layout_sizes(layout, name, code):
    """Sizes of layouts equal those of struct.calcsize(). (Feature M11.)"""
    t = layout.get_type_layout(name)
    assert t.size == t.host_size == t.stride == struct.calcsize(code)
    assert t.alignment == t.host_alignment == max(struct.calcsize(c) for c in code if c.isalpha())
    assert t.name == t.type.name and t.kind == t.type.kind and str(t.kind) == "Kind." + t.kind.name


def test_layout_fields(layout):
    """Offsets of fields equal those of numpy's aligned dtypes. (Feature M11.)"""
    circle = np.dtype([("r", "f4"), ("c", "f4", (3,)), ("n", "i4", (4,))], align=True)
    scene = np.dtype([("circles", circle, (3,)), ("h", "f2"), ("d", "f8"), ("m", "f4", (4, 4))], align=True)
    for name, dtype in [("Circle", circle), ("Scene", scene)]:
        t = layout.get_type_layout(layout.find_type_by_name(name))
        assert {f.name: f.host_offset for f in t.fields} == {n: dtype.fields[n][1] for n in dtype.names}
        assert {f.name: f.offset for f in t.fields} == {n: dtype.fields[n][1] for n in dtype.names}
        assert t.host_size == dtype.itemsize
    assert layout.get_type_layout("Scene").find_field("circles").type_layout.element_type_layout.name == "Circle"
    assert layout.get_type_layout("Scene").find_field("nope") is None
    assert layout.get_type_layout("Circle[3][2]").unwrap_array().name == "Circle"


def test_layout_of_resources(layout):
    """Types without a layout in plain memory, such as resources, have no size. (Feature M11.)"""
    assert layout.get_type_layout("Texture2D<float4>").size == 0
    assert layout.get_type_layout("IShape").host_size == 0
    with pytest.raises(spy.Error):
        layout.get_type_layout("Nothing")


def test_cursor(module, layout):
    """A ReflectionCursor's offsets equal numpy's. (Feature M11.)"""
    circle = np.dtype([("r", "f4"), ("c", "f4", (3,)), ("n", "i4", (4,))], align=True)
    scene = np.dtype([("circles", circle, (3,)), ("h", "f2"), ("d", "f8"), ("m", "f4", (4, 4))], align=True)
    c = spy.ReflectionCursor(layout.get_type_layout("Scene"))
    at = scene.fields["circles"][1] + 2 * circle.itemsize
    assert c.circles[2].n[3].host_offset == at + circle.fields["n"][1] + 3 * 4
    assert c["circles[2].n[3]"].offset == c.find_field("circles").find_element(2).find_field("n").find_element(3).offset
    assert c.circles[1].c[2].offset == circle.itemsize + 4 + 8
    assert c.circles[0].c.type.full_name == "vector<float,3>" and c.d.type_layout.size == 8
    assert c.is_valid() and spy.ReflectionCursor(module.Circle).n.type.element_count == 4
    assert spy.ReflectionCursor(layout.parameters[4]).c.offset == 4  # the cursor goes through the ConstantBuffer to its struct


def test_cursor_missing(layout):
    """A ReflectionCursor raises an error for a path that does not exist. (Feature M11.)"""
    c = spy.ReflectionCursor(layout.find_type_by_name("Scene"))
    assert not c.find_field("zz").is_valid() and not c.find_field("zz") and not c.has_field("zz") and c.has_field("circles[1].r") and not c.find_element(0)
    assert not c.circles.has_element(3) and c.circles.has_element(2) and not c.circles.has_element(-1)
    for path in ["", "circles[", "circles[x]", "circles[3]", "circles.r", "d.x", "circles[0]..r", "h[0]"]:
        assert not c.find_field(path).is_valid(), path
    with pytest.raises(AttributeError, match="'Scene' has no field or element 'zz'"):
        c.zz
    with pytest.raises(KeyError):
        c["zz"]
    with pytest.raises(IndexError):
        c.circles[10**30]
    with pytest.raises(TypeError, match="expected a name"):
        c[1.5]
    with pytest.raises(TypeError, match="expected a type or layout"):
        spy.ReflectionCursor(3)


# >>functions


def test_functions(layout):
    """Reflection gives a function's parameters and result. (Feature M11.)"""
    f = layout.find_function_by_name("scale")
    assert (f.name, f.return_type.full_name, f.text) == ("scale", "vector<float,3>", "float3 scale(float3 v, float s)")
    assert [(p.name, p.type.full_name, p.index) for p in f.parameters] == [("v", "vector<float,3>", 0), ("s", "float", 1)]
    assert f.have_return_value and not layout.find_function_by_name("nothing").have_return_value
    assert layout.find_function_by_name("nothing").return_type.scalar_type == Scalar.void
    assert layout.find_function_by_name("ns::f").full_name == layout.find_function_by_name("ns.f").full_name == "ns::f"
    assert layout.find_function_by_name("missing") is None and layout.find_function_by_name("Circle") is None
    with pytest.raises(ValueError, match="no function named 'missing'"):
        layout.require_function_by_name("missing")


def test_directions_as_written(load, device):
    """A parameter has the modifier inn if `in` is written before it, as in SlangPy. `in out` is inout, also for a call."""
    m = load("void f(float a, in float b, out float c, inout float d, in out float e, no_diff in float g) { c = a; e *= 2; } void twice(in out float x) { x *= 2; }")
    names = [[x.name for x in p.modifiers] for p in m.layout.find_function_by_name("f").parameters]
    assert names == [[], ["inn"], ["out"], ["out", "inout"], ["inn", "out"], ["nodiff", "inn"]]
    assert [p.io_type.name for p in m.layout.find_function_by_name("f").parameters] == ["inn", "inn", "out", "inout", "inout", "inn"]
    e = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    m.twice(e)
    assert e.to_numpy().tolist() == [2, 4, 6]


OPAQUE = """
import slangpy;
struct Plain { float a; float3 b; };
struct Mixed { Texture2D t; float a; SamplerState s; float3 b; StructuredBuffer<float> q; };
struct Nest { Mixed m; Texture2D two[2]; float c; };
struct Tensors { Tensor<float, 2> t; float a; };
ConstantBuffer<Mixed> block;
"""
# Bytes and stride of a type, and the offsets of its fields. On CUDA a texture or sampler is a handle, a buffer an address and a count: SlangPy's
# CPU device says the same.
OPAQUE_SIZES = {
    "vulkan": {"Mixed": (16, 16, [0, 0, 0, 4, 0]), "Nest": (20, 20, [0, 0, 16]), "Texture2D": (0, 0, []), "StructuredBuffer<float>": (0, 0, []),
               "Tensors": (36, 40, [0, 32]), "SamplerState": (0, 0, []), "Texture2D[3]": (0, 0, []), "ConstantBuffer<Plain>": (0, 0, [])},
    "cuda": {"Mixed": (56, 56, [0, 8, 16, 24, 40]), "Nest": (80, 80, [0, 56, 72]), "Texture2D": (8, 8, []), "StructuredBuffer<float>": (16, 16, []),
             "Tensors": (40, 40, [0, 32]), "SamplerState": (8, 8, []), "Texture2D[3]": (24, 24, []), "ConstantBuffer<Plain>": (8, 8, [])},
}


@pytest.mark.parametrize("kind", list(OPAQUE_SIZES))
def test_layouts_of_opaque_types(kind):
    """The layout of a struct that holds textures, samplers or buffers has the size that Slang gives it among shader parameters."""
    device = spy.create_device(type=spy.DeviceType[kind], record_pack=True, offline=True, pack_archs=[90] if kind == "cuda" else [])
    layout = spy.Module.load_from_source(device, "opaque_" + kind, OPAQUE).layout
    for name, wanted in OPAQUE_SIZES[kind].items():
        t = layout.get_type_layout(name)
        assert (t.size, t.stride, [f.offset for f in t.fields]) == wanted, name
        assert t.host_size == 0
    assert layout.parameters[0].type_layout.element_type_layout.size == OPAQUE_SIZES[kind]["Mixed"][0]
    with pytest.raises(ValueError, match="Mixed"):
        spy.BufferCursor(spy.DeviceType[kind], layout.get_type_layout("Plain"), 8)[0].reinterpret(layout.get_type_layout("Mixed"))
    device.close()


def test_element_layouts(layout):
    """The elements of a matrix layout are its rows; a texture's layout has no elements."""
    rows = layout.get_type_layout("Scene").find_field("m").type_layout.element_type_layout
    assert rows.kind == Kind.vector and rows.type.full_name == "vector<float,4>" and rows.size == 16
    assert layout.get_type_layout("half3x2").element_type_layout.size == 4 and layout.get_type_layout("float3").element_type_layout.name == "float"
    assert layout.get_type_layout("Texture2D<float4>").element_type_layout is None
    assert layout.get_type_layout("StructuredBuffer<Circle>").element_type_layout.name == "Circle"


def test_modifiers(layout):
    """Reflection gives the modifiers of functions and parameters. (Feature M11.)"""
    f = layout.find_function_by_name("sq")
    assert f.modifiers == [Modifier.differentiable] and f.differentiable and f.has_modifier(Modifier.differentiable)
    a, b, m = f.parameters
    assert a.modifiers == [Modifier.nodiff] and b.modifiers == [Modifier.out, Modifier.inout] and m.modifiers == [Modifier.out]
    assert b.has_modifier(Modifier.inout) and not b.has_modifier(Modifier.inn) and b.has_modifier(Modifier.out)
    assert not f.has_modifier(Modifier.static) and not layout.find_function_by_name("add").differentiable
    with pytest.raises(TypeError, match="expected a ModifierID"):
        f.has_modifier("inout")


def test_methods(module, layout):
    """Reflection finds methods, static methods and constructors. (Feature M11.)"""
    area = layout.find_function_by_name_in_type(layout.find_type_by_name("Circle"), "area")
    assert area.this.full_name == "Circle" and not area.static and not area.mutating and area.full_name == "Circle::area"
    grow = layout.find_function_by_name_in_type("Circle", "grow")
    assert grow.mutating and grow.has_modifier(Modifier.mutating)
    assert grow.parameters[0].has_default and grow.parameters[0].value == 2
    unit = layout.find_function_by_name_in_type(module.Circle, "unit")
    assert unit.static and unit.this is None
    init = layout.find_function_by_name("Circle::__init")
    assert init.is_constructor and not area.is_constructor and not layout.find_function_by_name("scale").parameters[0].has_default
    assert layout.find_function_by_name_in_type("Grid<float, 4>", "get").is_generic
    assert layout.find_function_by_name_in_type("Circle", "r") is None
    with pytest.raises(TypeError):
        layout.find_function_by_name_in_type(3, "area")


def test_overloads(layout):
    """Reflection lists the overloads of a name. (Feature M11.)"""
    f = layout.find_function_by_name("add")
    assert f.is_overloaded and [g.return_type.name for g in f.overloads] == ["float", "int"] and f.overloads[0] == f
    g = layout.find_function_by_name("scale")
    assert not g.is_overloaded and g.overloads == [g]
    integer = layout.find_type_by_name("int")
    assert f.specialize_with_arg_types([integer, integer]).return_type == integer
    assert f.specialize_with_arg_types(["float", "float"]) == f
    assert f.specialize_with_arg_types(["float", "int"]) == f and f.specialize_with_arg_types(["float"]) is None
    assert f.specialize_with_arg_types([]) is None
    with pytest.raises(TypeError, match="expected a list of types"):
        f.specialize_with_arg_types("float")
    with pytest.raises(spy.Error):
        f.specialize_with_arg_types(["floot", "float"])


def test_function_reflection(module):
    """A Function has its reflection. (Feature M11.)"""
    assert module.add.reflection.is_overloaded and module.Circle.area.reflection.full_name == "Circle::area"
    assert module["gen<float>"].reflection.is_generic
    assert module["Grid<float, 4>"].get.reflection.full_name == "Grid::get"
    assert module["ns::f"].reflection.parameters[0].name == "x"
    assert module.Circle.struct.full_name == "Circle" and module.float3.struct.is_vector


# >>declarations


def test_declarations(module):
    """A module has a tree of declarations. (Feature M11.)"""
    root = module.module_decl
    assert root.kind == Decl.module and root.parent is None and len(root) == root.child_count == len(root.children)
    assert [c.name for c in root] == [c.name for c in root.children] and root[0] == root.children[0]
    kinds = {c.name: c.kind for c in root}
    assert kinds["Circle"] == Decl.struct and kinds["add"] == Decl.func and kinds["K"] == kinds["gain"] == Decl.variable
    assert kinds["ns"] == Decl.namespace and kinds["Color"] == Decl.enum and kinds["IShape"] == Decl.interface
    assert kinds["color"] == Decl.alias and kinds["slangpy"] == Decl.import_
    with pytest.raises(IndexError):
        root[len(root)]


def test_children(module):
    """Children of a declaration are found by kind and name. (Feature M11.)"""
    root = module.module_decl
    assert [f.name for f in root.find_children_of_kind(Decl.func)] == [
        "add", "add", "sq", "nothing", "scale", "lit", "main"]
    assert [f.name for f in root.find_first_child_of_kind(Decl.generic, "gen").children_of_kind(Decl.func)] == ["gen"]
    assert root.children_of_kind(Decl.struct) == root.find_children_of_kind(Decl.struct)
    circle = root.find_first_child_of_kind(Decl.struct, "Circle")
    assert circle.path == "Circle" and circle.parent == root
    assert root.find_first_child_of_kind(kind=Decl.func, child_name="scale").text == "float3 scale(float3 v, float s)"
    assert root.find_first_child_of_kind(Decl.namespace).name == "ns"
    assert root.find_first_child_of_kind(Decl.struct, "add") is None and root.find_children_of_kind(Decl.constraint) == []
    area = circle.find_first_child_of_kind(Decl.func, "area")
    assert area.path == "Circle::area" and len(area) == 0 and bool(area)


def test_as(module):
    """A declaration converts to a type, function or variable if it is one. (Feature M11.)"""
    root = module.module_decl
    circle = root.find_first_child_of_kind(Decl.struct, "Circle")
    assert circle.as_type() == module.layout.find_type_by_name("Circle") and circle.as_type().decl == circle
    f = root.find_first_child_of_kind(Decl.func, "scale")
    assert f.as_function() == module.scale.reflection and f.as_function().decl == f
    k = root.find_first_child_of_kind(Decl.variable, "K")
    assert k.as_variable().value == 7 and k.value == 7 and k.as_variable().modifiers == [Modifier.static, Modifier.const]
    assert [(c.name, c.value) for c in root.find_first_child_of_kind(Decl.enum, "Color").children] == [("Red", 0), ("Green", 5)]
    for wrong in [circle.as_function, circle.as_variable, f.as_type, f.as_variable, k.as_type, root.as_type]:
        with pytest.raises(TypeError, match="is none"):
            wrong()


def test_places(tmp_path, device):
    """A declaration has its file and line. (Feature M11.)"""
    path = tmp_path / "places.slang"
    path.write_text("\n\nfloat third(float x)\n{ return x; }\n")
    decl = spy.Module.load_from_file(device, str(path)).layout.find_function_by_name("third").decl
    assert decl.line == 3 and decl.file.endswith("places.slang")


# >>globals and entry points


def test_parameters(layout):
    """Reflection lists global shader parameters. (Feature M11.)"""
    p = {v.name: v for v in layout.parameters}
    assert list(p) == ["buf", "tex", "gain", "size", "block"]
    assert p["buf"].type.resource_access == Access.read_write and p["tex"].type.resource_shape == Shape.texture_2d
    assert p["buf"].binding != p["tex"].binding and p["gain"].offset == 0 and p["size"].offset == 4
    assert p["gain"].type_layout.size == 4 and p["size"].variable.type.full_name == "vector<int,2>"
    assert p["block"].type.element_type.full_name == "Circle"


def test_entry_points(layout):
    """Reflection lists entry points. (Feature M11.)"""
    e, = layout.entry_points
    assert (e.name, e.stage, tuple(e.compute_thread_group_size)) == ("main", spy.ShaderStage.compute, (8, 4, 1))
    assert [p.name for p in e.parameters] == ["id"] and e.parameters[0].type.full_name == "vector<uint,3>"
    assert e.function.return_type.scalar_type == Scalar.void


def test_empty_module(load):
    """Reflection of an empty module is empty. (Feature M11.)"""
    m = load("// nothing\n")
    assert m.layout.parameters == [] and m.layout.entry_points == [] and m.layout.find_function_by_name("f") is None


# >>lives


def test_outlives_module(device):
    """A reflection object keeps its module alive. (Feature M11.)"""
    f = spy.Module.load_from_source(device, "reflection_short", "float f(float x) { return x; }").layout.find_function_by_name("f")
    gc.collect()
    assert f.parameters[0].name == "x" and f.module.name == "reflection_short"


def test_reload(device, tmp_path):
    """A reload gives a new tree of declarations; the old one stays as it was. (Feature M11.)"""
    m = spy.Module.load_from_source(device, "reflection_reload", "float f(float x) { return x; }")
    old = m.layout
    f = old.find_function_by_name("f")
    m.reload("int f(int a, int b) { return a; } struct New { int q; };")
    assert [p.name for p in f.parameters] == ["x"] and f.return_type.name == "float"
    g = m.layout.find_function_by_name("f")
    assert [p.name for p in g.parameters] == ["a", "b"] and g != f
    assert old.module_decl != m.module_decl and m.layout.find_type_by_name("New").field_count == 1


def test_closed_device(device):
    """Objects of reflection raise an error once the device is closed. (Feature M11.)"""
    d = spy.create_device()
    m = spy.Module.load_from_source(d, "reflection_closed", "struct S { float x; }; float f(S s) { return s.x; }")
    layout, s, f = m.layout, m.layout.find_type_by_name("S"), m.layout.find_function_by_name("f")
    kind, again = m.S, spy.Module.load_from_source(d, "reflection_closed_2", "struct S { int y; };").S
    assert kind != again and kind == m.layout.module.S and kind.fields["x"].type.shape == ()
    other, cursor, root = m.layout.find_type_by_name("S[2]"), spy.ReflectionCursor(s), m.module_decl
    assert s.is_valid
    d.close()
    assert not s.is_valid and "closed" in repr(s)
    for use in [lambda: s.fields, lambda: s.name, lambda: s.kind, lambda: f.parameters, lambda: layout.parameters, lambda: cursor.x,
                lambda: layout.find_type_by_name("S"), lambda: s == other, lambda: hash(s), lambda: len(root), lambda: root[0],
                lambda: root.find_children_of_kind(Decl.struct), lambda: f.has_modifier(Modifier.static), lambda: m.layout,
                lambda: other.unwrap_array(), lambda: s.find_field("x"), lambda: s.implements("I"), lambda: root.as_type(),
                lambda: kind.fields, lambda: kind.shape, lambda: kind.size_bytes, lambda: kind == again,
                lambda: spy.ReflectionCursor(kind), lambda: spy.Tensor.zeros(device, shape=(1,), dtype=kind)]:
        with pytest.raises(spy.Error, match="closed"):
            use()


def test_not_made_by_hand(layout):
    """Of the classes of reflection only the cursor can be constructed, and no attribute can be written. (Feature M11.)"""
    for c in [spy.TypeReflection, spy.FunctionReflection, spy.DeclReflection, spy.ProgramLayout, spy.Attribute, spy.Resolution]:
        with pytest.raises(TypeError):
            c()
    with pytest.raises(AttributeError):
        layout.find_type_by_name("float").name = "x"
    assert isinstance(layout, spy.BaseReflectionObject)


def test_enums():
    """Members of the enums have Slang's values. (Feature M11.)"""
    assert (Kind.vector, Kind.scalar, Kind.resource, Kind.pointer) == (4, 5, 7, 18)
    assert (Scalar.float16, Scalar.float32, Scalar.uint8) == (7, 8, 11) and Shape.texture_2d_array == 0x42
    assert spy.TypeReflection.Kind is Kind and Kind.vector.name == "vector" and repr(Kind).count("Kind")
    assert spy.ShaderStage.compute == 6 and Modifier.inout == 10
    with pytest.raises(AttributeError):
        spy.no_such_name


# >>resolve


def test_resolve_vectorised(device, module):
    """resolve() gives the overload, types, mapping and shape of a call over tensors. (Feature M12.)"""
    x = spy.Tensor.from_numpy(device, np.zeros((4, 5), np.float32))
    r = module.add.resolve(x, 2.0)
    assert r.signature == "float add(float a, float b)" and r.result_type == "float" and tuple(r.shape) == (4, 5)
    a, b, result = r.bindings
    assert (a.path, a.type, a.direction, a.map, a.consumed_rank, a.depth) == ("a", "float", "in", (0, 1), 0, 0)
    assert (b.path, b.map) == ("b", ()) and (result.path, result.map) == ("_result", (0, 1))
    assert "(4, 5)" in a.argument and r.argument_types == ("float", "float")


def test_resolve_overload(module):
    """resolve() gives the overload that the arguments choose. (Feature M12.)"""
    assert module.add.resolve(1, 2).signature == "int add(int a, int b)"
    assert module.add.resolve(1.5, 2.5).signature == "float add(float a, float b)"
    assert tuple(module.add.resolve(1, 2).shape) == ()


def test_resolve_vectors(device, module):
    """resolve() shows that trailing dimensions feed a vector. (Feature M12.)"""
    v = spy.Tensor.from_numpy(device, np.zeros((7, 3), np.float32))
    r = module.scale.resolve(v, s=2.0)
    assert tuple(r.shape) == (7,) and r.bindings[0].type == "float3" and r.bindings[0].consumed_rank == 1
    assert r.argument_types == ("float3", "float") and r.result_type == "float3"


def test_resolve_generic(module):
    """resolve() shows the types of generic parameters. (Feature M12.)"""
    r = module.gen.resolve(1.0, 2.0)
    assert r.argument_types == ("float", "float") and r.result_type == "float"


def test_resolve_struct(module):
    """resolve() shows the fields of a struct. (Feature M12.)"""
    r = module.lit.resolve({"r": 1.0, "c": [1, 2, 3], "n": [0, 0, 0, 0]})
    assert [(b.path, b.depth) for b in r.bindings] == [("c", 0), ("c.r", 1), ("c.c", 1), ("c.n", 1), ("_result", 0)]
    assert r.argument_types == ("Circle",)


def test_resolve_out(module):
    """resolve() shows the directions of parameters. (Feature M12.)"""
    r = module.sq.resolve(1.0, spy.ValueRef(spy.float3(0) if hasattr(spy, "float3") else [0.0, 0.0, 0.0]), spy.ValueRef())
    assert [b.direction for b in r.bindings if b.depth == 0] == ["in", "inout", "out", "out"]


def test_resolve_map(device, module):
    """resolve() shows an explicit mapping. (Feature M12.)"""
    x = spy.Tensor.from_numpy(device, np.zeros((4, 5), np.float32))
    r = module.add.map((1, 0)).resolve(x, 2.0)
    assert tuple(r.shape) == (5, 4) and r.bindings[0].map == (1, 0)


def test_resolve_errors(device, module):
    """resolve() raises the errors of a call. (Feature M12.)"""
    with pytest.raises(spy.Error, match="Shape mismatch"):
        module.add.resolve(spy.Tensor.from_numpy(device, np.zeros(4, np.float32)), spy.Tensor.from_numpy(device, np.zeros(5, np.float32)))
    with pytest.raises(spy.Error, match="Too many arguments"):
        module.scale.resolve([1, 2, 3], 1.0, 2.0)
    with pytest.raises(TypeError, match="Unsupported type"):
        module.add.resolve(object(), 1)


def test_resolve_runs_nothing(device, load):
    """resolve() runs nothing, and a call after it gives the right result. (Feature M12.)"""
    m = load("void inc(inout float x) { x += 1; }")
    x = spy.Tensor.from_numpy(device, np.zeros(3, np.float32))
    r = m.inc.resolve(x)
    assert r.result_type == "void" and r.bindings[0].direction == "inout" and "inc" in repr(r) and repr(r.bindings[0])
    assert x.to_numpy().tolist() == [0, 0, 0]
    m.inc(x)
    assert x.to_numpy().tolist() == [1, 1, 1]
