"""Programs of other users, second set: every property of every reflection object, as a tool that prints a module would read them."""
import enum

from cases import case, each, error, load

SOURCE = """
import slangpy;
struct In { float2 uv; int id; };
struct S { float3 p; In i; float a[3]; In many[2]; bool b; float4x4 m; half h; double d; int64_t l; float get(float k) { return k; } [mutating] void set(float k) { p = k; } static int count() { return 1; } __init(float x) { p = x; b = true; } };
struct D : IDifferentiable { float x; float3 y; };
struct G<T, let N : int> { T items[N]; };
struct E {};
interface IShape { float area(); }
struct Sq : IShape { float s; float area() { return s * s; } };
enum Kind : uint { a, b = 7 };
struct R { StructuredBuffer<float> buf; Texture2D<float4> tex; RWTensor<float, 2> t; float* ptr; };
[Differentiable] float diff(float a, no_diff float b) { return a * b; }
float3 vec(float3 a, in float b, out int c, inout float2 d) { c = 1; return a; }
float over(float a) { return a; }
float over(int a, int b) { return a; }
T gen<T : IFloat>(T a) { return a; }
void res(Tensor<float, 2> t, RWStructuredBuffer<S> b, Texture2D<float4> x, SamplerState s, S v[2]) {}
"""
TYPES = ["float", "int", "uint", "bool", "half", "double", "int64_t", "uint8_t", "void", "float3", "int2", "bool4", "half3", "float2x3", "float4x4", "float[3]", "float3[2]", "float[2][3]", "In", "S", "D", "G<float,4>", "G<In, 2>", "E", "IShape", "Sq", "Kind", "R", "Tensor<float,2>", "RWTensor<float3,1>", "DiffTensor<float,1>", "StructuredBuffer<float>", "RWStructuredBuffer<S>", "ByteAddressBuffer", "RWByteAddressBuffer", "Texture2D<float4>", "RWTexture2D<float4>", "Texture3D<float>", "Texture2DArray<float4>", "TextureCube<float4>", "SamplerState", "float*", "ValueRef<float>", "DifferentialPair<float>", "vector<float,1>"]
PROPERTIES = ["name", "full_name", "shape", "num_dims", "element_type", "fields", "differentiable", "derivative", "is_generic", "slang_scalar_type", "num_elements", "rows", "cols", "is_array", "texture_dims", "resource_shape", "writable", "usage", "dims", "dtype", "kind", "access", "has_grad_in", "has_grad_out", "stride", "size", "generic_args", "target_type", "primal", "any_generic_dims", "array_dims"]


def simple(x):
    if isinstance(x, enum.Enum):
        return x.name
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if hasattr(x, "full_name"):
        return "type " + x.full_name
    if isinstance(x, dict):
        return {k: simple(v) for k, v in x.items()}
    if hasattr(x, "type") and hasattr(x, "name"):
        return f"{x.name}: {simple(x.type)}"
    if isinstance(x, (list, tuple)) or type(x).__name__ == "Shape":
        return [simple(v) for v in x]
    return getattr(x, "name", type(x).__name__)


@case
def users2_reflect_functional_types(spy, device):
    m = load(spy, device, SOURCE)
    def one(n):
        t = m.layout.find_type_by_name(n)
        return "none" if t is None else {"class": type(t).__name__, **{p: error(lambda: simple(getattr(t, p))) for p in PROPERTIES}}
    return each(**{n.replace(" ", ""): (lambda n=n: one(n)) for n in TYPES})


@case
def users2_reflect_functional_layouts(spy, device):
    m = load(spy, device, SOURCE)
    def one(n, which):
        t = m.layout.find_type_by_name(n)
        return None if t is None else [getattr(getattr(t, which), p) for p in ("size", "alignment", "stride")]
    return each(**{n.replace(" ", "") + which: (lambda n=n, which=which: one(n, which)) for n in TYPES if n != "void" for which in ("uniform_layout", "buffer_layout")})


@case
def users2_reflect_native_types(spy, device):
    m = load(spy, device, SOURCE)
    L = m.device_module.layout
    def one(n):
        t = L.find_type_by_name(n)
        if t is None:
            return None
        out = {p: error(lambda: simple(getattr(t, p))) for p in ("kind", "name", "full_name", "element_count", "row_count", "col_count", "scalar_type", "resource_shape", "resource_access")}
        out["fields"] = error(lambda: [f"{f.name}: {f.type.full_name}" for f in t.fields])
        out["element"] = error(lambda: t.element_type.full_name if t.element_type else None)
        out["unwrap"] = error(lambda: t.unwrap_array().full_name)
        return out
    return each(**{n.replace(" ", ""): (lambda n=n: one(n)) for n in TYPES})


@case
def users2_reflect_native_layouts(spy, device):
    m = load(spy, device, SOURCE)
    L = m.device_module.layout
    def one(n):
        l = L.get_type_layout(L.find_type_by_name(n))
        return [l.size, l.stride, l.alignment, [(f.name, f.offset, f.type_layout.size) for f in l.fields], l.kind, l.name], error(lambda: (lambda e: None if e is None else [e.size, e.stride, e.name])(l.element_type_layout))
    return each(**{n.replace(" ", ""): (lambda n=n: one(n)) for n in TYPES if n not in ("IShape", "void")})


@case
def users2_reflect_functions(spy, device):
    m = load(spy, device, SOURCE)
    L, N = m.layout, m.device_module.layout
    M = spy.ModifierID
    mods = [M.inn, M.out, M.inout, M.nodiff, M.const, M.static, M.mutating, M.differentiable, M.export, M.extern, M.shared]
    def functional(f):
        return {"name": f.name, "full": error(lambda: f.full_name), "ret": simple(f.return_type), "have": f.have_return_value, "diff": f.differentiable, "mut": f.mutating, "static": f.static, "over": f.is_overloaded, "ctor": error(lambda: f.is_constructor), "this": error(lambda: simple(f.this)), "params": error(lambda: [[p.name, simple(p.type), p.modifiers and sorted(x.name for x in p.modifiers), p.io_type.name, p.no_diff, error(lambda: p.has_default)] for p in f.parameters])}
    def native(f):
        return {"name": f.name, "ret": error(lambda: f.return_type.full_name), "params": error(lambda: [[p.name, p.type.full_name, [x.name for x in mods if x != M.inn and p.has_modifier(x)]] for p in f.parameters]), "mods": [x.name for x in mods if f.has_modifier(x)], "over": f.is_overloaded}
    names = ["diff", "vec", "gen", "res", "gen<float>"]
    S = L.find_type_by_name("S")
    NS = N.find_type_by_name("S")
    return each(**{"f_" + n.replace("<", "_").replace(">", ""): (lambda n=n: functional(L.find_function_by_name(n))) for n in names}, **{"n_" + n.replace("<", "_").replace(">", ""): (lambda n=n: native(N.find_function_by_name(n))) for n in names}, **{"m_" + n: (lambda n=n: functional(L.find_function_by_name_in_type(S, n))) for n in ("get", "set", "count")}, **{"nm_" + n: (lambda n=n: native(N.find_function_by_name_in_type(NS, n))) for n in ("get", "set", "count")}, over=lambda: [L.find_function_by_name("over").is_overloaded, [[p.name for p in f.parameters] for f in L.find_function_by_name("over").overloads]], none=lambda: [L.find_function_by_name("zip"), N.find_function_by_name("zip"), L.find_function_by_name_in_type(S, "zip")], init=lambda: L.find_function_by_name_in_type(S, "$init").is_constructor, spec=lambda: error(lambda: simple(L.find_function_by_name("gen").specialize_with_arg_types([L.find_type_by_name("float3")]).return_type)), isn=lambda: [N.is_sub_type(N.find_type_by_name("Sq"), N.find_type_by_name("IShape")), N.is_sub_type(N.find_type_by_name("D"), N.find_type_by_name("IDifferentiable"))])


@case
def users2_reflect_structs_of_modules(spy, device):
    m = load(spy, device, SOURCE)
    names = ["S", "In", "G<float,4>", "float3", "float[3]", "Sq", "Kind", "float2x3", "E", "D"]
    props = ["name", "full_name", "shape", "num_dims", "element_type", "fields", "differentiable", "derivative", "vector_type_name", "is_generic"]
    return {n: {p: error(lambda: simple(getattr(m[n], p))) for p in props} | {"type": type(m[n]).__name__, "sizes": error(lambda: [m[n].uniform_layout.size, m[n].buffer_layout.size, m[n].buffer_layout.stride])} for n in names}
