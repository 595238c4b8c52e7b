"""Programs of other users, third set: reflection of everything: native objects, functional types, layouts, cursors, attributes."""
import numpy as np

from cases import case, each, error, fails, load, plain

TEXT = """
import slangpy;
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int a; float b; string c; };
[__AttributeUsage(_AttributeTargets.Function)] struct FnAttribute { int n; };
interface IThing { float get(); }
enum Color : uint { red, green = 5, blue };
typedef float3 Vec; typealias Num = float;
namespace ns {
struct In { int q; };
float nf(float a) { return a; } }
struct Base { float x; };
[Tag(7, 2.5, "text")] struct Thing : IThing { float3 p; int n[4]; float2x3 m; half h; Color c; bool flag; Base base; Num num; float get() { return p.x; } static float make(int i) { return i; } [mutating] void set(float v) { p.x = v; } __init(float v) { p = v; } struct Nested { float z; };
};
struct Gen<T : IFloat, let N : int> { T v[N]; T first() { return v[0]; } };
[Fn(3)] [Differentiable] float foo(in float a, out int b, inout float3 c, no_diff float d, const Thing t) { b = 1; return a; }
float over(float a) { return a; } float over(int a) { return a; } float over(float2 a, float b) { return b; }
T gen<T : IFloat>(T a, T b) { return a; }
float tex(Texture2D<float4> t, SamplerState s, RWTexture2D<float> r, StructuredBuffer<Thing> b, RWStructuredBuffer<float> w, ByteAddressBuffer raw, RWByteAddressBuffer rraw, TextureCube cu, Texture3D<float> v, Texture2DArray<float4> ar, ConstantBuffer<Base> cb, float* ptr, Tensor<float, 2> ten, Buffer<float4> tb) { return 1; }
"""


def decls(d, depth=2):
    return [str(d.kind), fails(lambda: d.name), [decls(c, depth - 1) for c in d.children] if depth else d.child_count]


@case
def users3_reflect_declarations(spy, device):
    s = load(spy, device, TEXT).device_module
    s = device.load_module_from_source("users3_decls", TEXT)
    d = s.module_decl
    K = spy.DeclReflection.Kind
    kinds = lambda k: [c.name for c in d.children_of_kind(k)]
    return each(top=lambda: [d.kind, d.name, d.child_count == len(d.children), len(d) == d.child_count], structs=lambda: kinds(K.struct), funcs=lambda: kinds(K.func), first=lambda: [c.name for c in d.find_children_of_kind(K.struct, "Thing")], one=lambda: d.find_first_child_of_kind(K.struct, "Thing").name, none=lambda: d.find_first_child_of_kind(K.struct, "Nope"), type_=lambda: d.find_first_child_of_kind(K.struct, "Thing").as_type().full_name, fn=lambda: d.find_first_child_of_kind(K.func, "foo").as_function().name, fields=lambda: [[c.name, c.as_variable().type.full_name] for c in d.find_first_child_of_kind(K.struct, "Thing").children_of_kind(K.variable)], inner=lambda: [[str(c.kind), c.name] for c in d.find_first_child_of_kind(K.struct, "Thing").children if c.kind in (K.variable, K.struct, K.func)], wrong=lambda: [fails(lambda: d.as_type()), fails(lambda: d.find_first_child_of_kind(K.struct, "Thing").as_function()), fails(lambda: d[10000])], texts=lambda: [repr(d.find_first_child_of_kind(K.struct, "Base"))[:40], type(d.children).__name__, type(d.children_of_kind(K.struct)).__name__, d[0].name == d.children[0].name], same=lambda: d.children[0] is d.children[0], valid=lambda: [d.is_valid, isinstance(d, spy.BaseReflectionObject)])


@case
def users3_reflect_types_natively(spy, device):
    L = device.load_module_from_source("users3_types", TEXT).layout
    def row(t):
        out = [t.kind, t.name, t.full_name, t.row_count, t.col_count, t.scalar_type, t.resource_shape, t.resource_access, t.element_count, t.element_type.full_name if t.element_type else None, t.resource_result_type.full_name if t.resource_result_type else None, [[f.name, f.type.full_name] for f in t.fields], t.unwrap_array().full_name, repr(t)]
        return out
    names = "float int3 half4 float2x3 float[4] float3[2][3] Thing Base Color Vec Num ns.In Thing.Nested Gen<float,3> Texture2D<float4> Texture2D RWTexture3D<int> Texture2DArray<float> TextureCube Texture2DMS<float4> SamplerState SamplerComparisonState StructuredBuffer<Thing> RWStructuredBuffer<float> AppendStructuredBuffer<int> ConsumeStructuredBuffer<int> ByteAddressBuffer RWByteAddressBuffer ConstantBuffer<Base> ParameterBlock<Thing> float* Buffer<float4> RWBuffer<int> bool bool3 int64_t uint8_t double void IThing RaytracingAccelerationStructure Optional<float> Tensor<float,2> Atomic<uint> float1 vector<float,1> matrix<half,2,2>".split()
    return each(**{n: lambda n=n: row(L.find_type_by_name(n)) for n in names}, none=lambda: [L.find_type_by_name("Nope"), L.find_function_by_name("nope"), L.find_type_by_name("")], same=lambda: L.find_type_by_name("float") is L.find_type_by_name("float"), attrs=lambda: [t := L.find_type_by_name("Thing"), t.get_user_attribute_count(), a := t.get_user_attribute_by_index(0), a.name, a.argument_count, a.argument_value_int(0), a.argument_value_float(1), a.argument_value_string(2), a.argument_type(0).name, fails(a.argument_value_int, 9), t.find_user_attribute_by_name("Tag") is not None, t.find_user_attribute_by_name("Zzz")][1:2] + [L.find_type_by_name("Thing").get_user_attribute_by_index(0).name, L.find_type_by_name("Thing").get_user_attribute_by_index(0).argument_count, L.find_type_by_name("Thing").get_user_attribute_by_index(0).argument_value_int(0), L.find_type_by_name("Thing").get_user_attribute_by_index(0).argument_value_string(2)], sub=lambda: [L.is_sub_type(L.find_type_by_name("Thing"), L.find_type_by_name("IThing")), L.is_sub_type(L.find_type_by_name("Base"), L.find_type_by_name("IThing"))], idx=lambda: [fails(lambda: L.find_type_by_name("Thing").fields[99]), len(L.find_type_by_name("Thing").fields), None, type(L.find_type_by_name("Thing").fields).__name__, repr(L.find_type_by_name("Thing").fields[0])])


@case
def users3_reflect_functions_natively(spy, device):
    L = device.load_module_from_source("users3_funcs", TEXT).layout
    M = spy.ModifierID
    def row(f):
        return [f.name, f.return_type.full_name, [[p.name, p.type.full_name, [m.name for m in M if p.has_modifier(m)]] for p in f.parameters], f.is_overloaded, len(f.overloads), [m.name for m in M if f.has_modifier(m)]]
    T = L.find_type_by_name
    return each(foo=lambda: row(L.find_function_by_name("foo")), tex=lambda: row(L.find_function_by_name("tex")), over=lambda: [f := L.find_function_by_name("over"), f.is_overloaded, len(f.overloads), sorted([[p.type.full_name for p in o.parameters] for o in f.overloads])][1:], method=lambda: row(L.find_function_by_name_in_type(T("Thing"), "get")), static=lambda: row(L.find_function_by_name_in_type(T("Thing"), "make")), mut=lambda: row(L.find_function_by_name_in_type(T("Thing"), "set")), init=lambda: L.find_function_by_name_in_type(T("Thing"), "$init").name, none=lambda: L.find_function_by_name_in_type(T("Thing"), "nope"), spec=lambda: row(L.find_function_by_name("gen").specialize_with_arg_types([T("float"), T("float")])), specbad=lambda: L.find_function_by_name("gen").specialize_with_arg_types([T("Thing"), T("float")]), ovl=lambda: row(L.find_function_by_name("over").specialize_with_arg_types([T("int")])), attr=lambda: [f := L.find_function_by_name("foo"), f.get_user_attribute_count(), f.find_user_attribute_by_name("Fn").argument_value_int(0), f.get_user_attribute_by_index(0).name][1:], ns=lambda: fails(lambda: row(L.find_function_by_name("ns.nf"))), hashed=lambda: [len(L.hashed_strings), type(L.hashed_strings).__name__])


@case
def users3_reflect_programs_and_cursors(spy, device):
    s = device.load_module_from_source("users3_prog", """
struct In { float3 a; int b[3]; }; struct Blk { In ins[2]; Texture2D<float4> tex; StructuredBuffer<float> data; SamplerState smp; float z; };
uniform float g; uniform In gi; ParameterBlock<Blk> blk; cbuffer Cb { float2 c1; int c2; }; ConstantBuffer<In> cbi; Texture2D<float> t0; RWTexture2D<float4> t1; SamplerState s0; RWStructuredBuffer<In> o; Texture2D arr[3]; groupshared float sh[4];
[shader("compute")] [numthreads(8, 4, 2)] void main(uint3 tid : SV_DispatchThreadID, uint gi2 : SV_GroupIndex, uniform float k, uniform In ein) { o[tid.x] = ein; }
[shader("vertex")] float4 vs(float3 p : POSITION, uint i : SV_VertexID) : SV_Position { return float4(p, 1); }
[shader("fragment")] float4 fs() : SV_Target { return 1; }
""")
    p = device.link_program([s], [s.entry_point("main")])
    L, R = p.layout, p.reflection
    E = L.entry_points[0]
    return each(params=lambda: [[v.name, v.variable.type.full_name, v.type_layout.kind] for v in L.parameters], globals_=lambda: [L.globals_type_layout.name, L.globals_type_layout.kind, L.globals_variable_layout.type_layout.kind], entry=lambda: [E.name, E.stage, E.compute_thread_group_size, [[v.name, v.variable.type.full_name] for v in E.parameters], len(L.entry_points), E.name_override], cur=lambda: [R.is_valid(), R.g.is_valid(), R.has_field("nope"), R.find_field("nope").is_valid(), R.blk.ins[1].a.type.full_name, R.blk.ins.has_element(2), R.blk.ins.find_element(0).is_valid(), R["gi"]["b"].type.full_name, R.main.k.type.full_name, R.main.ein.a.is_valid(), R.has_field("main"), R.Cb.c2.type.full_name, R.cbi.b[2].type.full_name, R.o.type.full_name, type(R).__name__], sizes=lambda: [R.gi.type_layout.size, R.gi.type_layout.stride, [[f.name, f.offset, f.type_layout.size] for f in R.gi.type_layout.fields], R.gi.b.type_layout.element_type_layout.size, R.gi.type_layout.name, R.gi.type_layout.type.full_name, R.gi.type_layout.unwrap_array().name], structured=lambda: [R.o.type_layout.element_type_layout.size, R.o.type_layout.element_type_layout.stride, [[f.name, f.offset] for f in R.o.type_layout.element_type_layout.fields]], dead=lambda: [fails(lambda: R.nope.type), error(lambda: R.g.zzz), fails(lambda: R.blk.ins[7].a.is_valid())], of=lambda: [spy.ReflectionCursor(p).g.is_valid(), device.create_compute_kernel(p).reflection.main.is_valid()], buf=lambda: [device.create_buffer(element_count=3, resource_type_layout=R.o, usage=spy.BufferUsage.shader_resource).struct_size, device.create_buffer(element_count=3, resource_type_layout=R.o.type_layout, usage=spy.BufferUsage.shader_resource).size], layout=lambda: [L.get_type_layout(L.find_type_by_name("In")).size, L.get_type_layout(L.find_type_by_name("Blk")).kind], stages=lambda: [[e.name, e.stage] for e in s.entry_points], modlay=lambda: [[v.name for v in s.layout.parameters], len(s.layout.entry_points)], vs=lambda: [e := s.entry_point("vs"), e.stage, [q.name for q in e.layout.parameters]][1:], txt=lambda: [repr(L)[:14], repr(E)[:10], repr(L.parameters[0])[:10], len(repr(R)) > 0])


@case
def users3_reflect_functional_objects(spy, device):
    m = load(spy, device, TEXT)
    l = m.layout
    def row(t):
        return [t.name, t.full_name, t.element_type.full_name if t.element_type else None, t.shape, t.num_dims, t.differentiable, t.is_generic, t.vector_type_name if hasattr(t, "vector_type_name") else None, type(t).__name__, {k: f.type.full_name for k, f in t.fields.items()} if t.fields else None, t.derivative.full_name if t.differentiable and t.derivative else None]
    names = "float int3 float2x3 float[4] float3[2][3] Thing Base Color ns.In Gen<float,3> Texture2D<float4> RWTexture2D<float> SamplerState StructuredBuffer<Thing> RWStructuredBuffer<float> ByteAddressBuffer float* bool3 double int64_t uint8_t half2 Tensor<float,2> DiffTensor<float,1> void".split()
    def fn(f):
        return [f.name, f.full_name, f.return_type.full_name if f.return_type else None, [[p.name, p.type.full_name, p.index, p.io_type.name, p.no_diff, p.has_default if hasattr(p, "has_default") else None, sorted(x.name for x in p.modifiers)] for p in f.parameters], f.differentiable, f.mutating, f.static, f.is_overloaded, f.is_constructor, f.this.full_name if f.this else None, f.have_return_value if hasattr(f, "have_return_value") else None, f.num_params if hasattr(f, "num_params") else None]
    T = lambda n: l.find_type_by_name(n)
    F = lambda n: l.find_function_by_name(n)
    return each(**{"t_" + n: lambda n=n: row(T(n)) for n in names}, foo=lambda: fn(F("foo")), over=lambda: [F("over").is_overloaded, len(F("over").overloads)], meth=lambda: fn(l.find_function_by_name_in_type(T("Thing"), "get")), stat=lambda: fn(l.find_function_by_name_in_type(T("Thing"), "make")), mut=lambda: fn(l.find_function_by_name_in_type(T("Thing"), "set")), none=lambda: [T("Nope"), F("nope")], same=lambda: [T("float") is T("float"), T("Thing").fields["p"].type is T("float3"), l.find_type(T("Thing").type_reflection) is T("Thing")], need=lambda: [error(l.require_type_by_name, "Nope"), error(l.require_function_by_name, "nope"), l.require_type_by_name("Thing").name], lay=lambda: [T("Thing").buffer_layout.size, T("Thing").buffer_layout.stride, T("Thing").buffer_layout.alignment, T("float3").buffer_layout.size, T("float3").buffer_layout.stride], fields=lambda: [[f.name, f.type.full_name, f.declared_name if hasattr(f, "declared_name") else None] for f in T("Thing").fields.values()], vec=lambda: [l.vector_type(spy.TypeReflection.ScalarType.float32, 3).full_name, l.scalar_type(spy.TypeReflection.ScalarType.int32).full_name, l.matrix_type(spy.TypeReflection.ScalarType.float32, 2, 3).full_name, l.array_type(T("float"), 4).full_name, l.tensor_type(T("float"), 2).full_name if hasattr(l, "tensor_type") else None], reprs=lambda: [repr(T("Thing")), repr(F("foo")), repr(T("Thing").fields["p"]), repr(m), repr(m.Thing)], structs=lambda: [m.Thing.name, m.Thing.full_name, m.Thing.fields.keys() >= {"p"}, m.Thing.differentiable, m.Thing.is_generic, m.Thing.num_dims, m.Thing.shape, m.Thing.session is m.session, m.Thing.device is device, type(m.Thing.program).__name__, m.Thing.device_module is m.device_module, None], gens=lambda: [m["Gen<float,3>"].name, m["Gen<float,3>"].full_name, m["Gen<float,3>"].fields["v"].type.full_name], bykind=lambda: [m.find_struct("Thing") is m.Thing, m.find_struct("Nope"), m.find_function("foo") is m.foo, m.find_function("nope"), error(m.require_struct, "Nope"), error(m.require_function, "nope"), m.find_function_in_struct("Thing", "get").name, m.find_function_in_struct(m.Thing, "get").name, fails(m.find_function_in_struct, "Thing", "zz")], tree=lambda: [isinstance(T("float"), __import__("slangpy.reflection", fromlist=["x"]).ScalarType), isinstance(T("float3"), __import__("slangpy.reflection", fromlist=["x"]).VectorType), isinstance(T("float2x3"), __import__("slangpy.reflection", fromlist=["x"]).MatrixType), isinstance(T("float[4]"), __import__("slangpy.reflection", fromlist=["x"]).ArrayType), isinstance(T("Thing"), __import__("slangpy.reflection", fromlist=["x"]).StructType)])


@case
def users3_reflect_helper_functions(spy, device):
    m = load(spy, device, TEXT)
    l = m.layout
    from slangpy.core.utils import find_type_layout_for_buffer, is_type_castable_on_host, parse_generic_signature, parse_generic_signature_tree, shape_to_contiguous_strides, try_find_function_overloads_via_ast, try_find_type_decl, try_find_type_via_ast
    from slangpy.reflection.lookup import innermost_type, numpy_to_slang, resolve_element_type, resolve_program_layout, slang_to_numpy
    from slangpy.reflection import reflectiontypes as rt
    T = l.find_type_by_name
    S = spy.TypeReflection.ScalarType
    d = device.load_module_from_source("users3_help", TEXT).module_decl
    return each(lay=lambda: [find_type_layout_for_buffer(m.device_module.layout, "Thing").size, find_type_layout_for_buffer(m.device_module.layout, "float3").stride], cast=lambda: [is_type_castable_on_host(T(a), T(b)) for a, b in (("int", "float"), ("float", "int"), ("float3", "float"), ("float", "double"), ("half", "float"), ("Thing", "float"), ("float2", "float2"), ("bool", "int"))], gen=lambda: [parse_generic_signature("Foo<int, Bar<float, 3>>"), parse_generic_signature("Foo"), parse_generic_signature("vector<float,3>")], tree=lambda: [parse_generic_signature_tree("Foo<int,Bar<float,3>>"), parse_generic_signature_tree("Foo")], strides=lambda: [shape_to_contiguous_strides((2, 3, 4)), shape_to_contiguous_strides(()), shape_to_contiguous_strides((5,))], find=lambda: [try_find_type_decl(d, "Thing").name, try_find_type_decl(d, "Nope"), try_find_type_via_ast(d, "Thing").full_name, try_find_type_via_ast(d, "Nope"), len(try_find_function_overloads_via_ast(d, "Thing", "get"))], inner=lambda: [innermost_type(T(n)).full_name for n in ("float[4]", "float3", "float2x3[2]", "float", "Thing")], s2n=lambda: [str(slang_to_numpy(T(n))) for n in ("float", "int", "uint", "half", "double", "int8_t", "uint64_t", "float3", "float[4]")], n2s=lambda: [numpy_to_slang(np.dtype(n), device, None).full_name for n in ("float32", "int8", "uint16", "float64", "int64")], res=lambda: [resolve_element_type(l, x).full_name for x in ("float", float, int, spy.float3, spy.float4x4, T("int3"), m.Thing, "Thing")], lay2=lambda: [type(resolve_program_layout(device, "float", None)).__name__, resolve_program_layout(device, m.Thing, None) is l, resolve_program_layout(device, "float", l) is l], tables=lambda: [len(rt.SIGNED_INT_TYPES), S.int8 in rt.SIGNED_INT_TYPES, S.uint8 in rt.UNSIGNED_INT_TYPES, S.float16 in rt.FLOAT_TYPES, S.bool in rt.BOOL_TYPES, len(rt.INT_TYPES), rt.SCALAR_TYPE_TO_NUMPY_TYPE[S.int8] is np.int8, rt.NUMPY_TYPE_TO_SCALAR_TYPE[np.dtype("float32")], rt.scalar_names[S.float16], rt.EXPERIMENTAL_VECTORIZATION], match=lambda: [rt.is_matching_array_type(T("float[4]"), T("float[4]")), rt.is_matching_array_type(T("float[4]"), T("float[3]")), rt.is_matching_array_type(T("float"), T("float"))], vec=lambda: [fails(lambda: rt.vectorize_type("float", "float", l).full_name), fails(lambda: rt.vectorize_type(T("float3"), T("float")).full_name)], enums=lambda: [[x.name for x in rt.TensorType], [x.name for x in rt.TensorAccess]])
