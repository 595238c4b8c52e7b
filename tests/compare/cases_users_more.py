"""Programs of users, second part: layouts, cursors, custom marshalls, linking, broadcasting, groups of calls."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


SHAPES = """
import slangpy;
float add(float a, float b) { return a + b; }
float3 vadd(float3 a, float3 b) { return a + b; }
float3 vmul(float3 a, float s) { return a * s; }
float dot2(float2 a, float2 b) { return dot(a, b); }
float3 mv(float3x3 m, float3 v) { return mul(m, v); }
float asum(float a[3]) { return a[0] + a[1] + a[2]; }
float2 pairs(float2 a[2], int i) { return a[i]; }
"""


@case
def users_broadcast_table(spy, device):
    m = load(spy, device, SHAPES)
    shapes = [(), (1,), (3,), (4,), (1, 3), (4, 1), (4, 3), (2, 4, 3), (2, 1, 1), (3, 3)]
    def arg(s, k):
        return 1.5 if s == () else random(*s, seed=k)
    return {f"{a} {b}": error(lambda: list(m.add(arg(a, 1), arg(b, 2)).shape) if (a or b) else m.add(arg(a, 1), arg(b, 2))) for a in shapes for b in shapes if shapes.index(a) <= shapes.index(b)}


@case
def users_broadcast_vectors(spy, device):
    m = load(spy, device, SHAPES)
    shapes = [(3,), (1, 3), (4, 3), (2, 4, 3), (4, 1, 3)]
    bad = [(4,), (1,), (4, 2), (3, 1)]
    out = {f"{a} {b}": error(lambda: list(m.vadd(random(*a), random(*b)).shape) if len(a) > 1 or len(b) > 1 else m.vadd(random(*a), random(*b))) for a in shapes for b in shapes}
    out.update({f"bad {b}": fails(lambda: m.vadd(random(4, 3), random(*b)).shape) for b in bad})
    out.update({f"scalar {s}": error(lambda: list(m.vmul(random(4, 3), random(*s)).shape)) for s in [(1,), (4,), (2, 4), (4, 1), (5,)]})
    out["tensor"] = error(lambda: list(m.vadd(spy.Tensor.zeros(device, (4,), "float3"), random(2, 4, 3)).shape))
    out["mixed"] = error(lambda: list(m.vadd(spy.Tensor.zeros(device, (2, 4), "float3"), random(4, 3)).shape))
    out["mat"] = error(lambda: list(m.mv(random(5, 3, 3), random(5, 3)).shape))
    out["mat1"] = error(lambda: list(m.mv(random(3, 3), random(5, 3)).shape))
    out["mat2"] = error(lambda: list(m.mv(random(2, 1, 3, 3), random(5, 3)).shape))
    out["arr"] = error(lambda: list(m.asum(random(5, 3)).shape))
    out["arr1"] = error(lambda: m.asum(random(3)))
    out["arrt"] = error(lambda: list(m.asum(spy.Tensor.zeros(device, (2, 5), "float[3]")).shape))
    out["pairs"] = error(lambda: list(m.pairs(random(5, 2, 2), 1).shape))
    out["pairs2"] = error(lambda: list(m.pairs(random(5, 2, 2), np.zeros((3, 5), np.int32)).shape))
    return out


@case
def users_strict_table(spy, device):
    m = load(spy, device, SHAPES, options={"strict_broadcasting": True})
    shapes = [(), (1,), (3,), (1, 3), (4, 3), (4, 1), (2, 4, 3)]
    def arg(s, k):
        return 1.5 if s == () else random(*s, seed=k)
    return {f"{a} {b}": error(lambda: list(m.add(arg(a, 1), arg(b, 2)).shape) if (a or b) else m.add(arg(a, 1), arg(b, 2))) for a in shapes for b in shapes if shapes.index(a) <= shapes.index(b)}


@case
def users_map_table(spy, device):
    m = load(spy, device, SHAPES)
    a1, a2, a3, v2 = random(3), random(3, 4), random(2, 3, 4), random(4, 3)
    def shape(*maps, args, **k):
        return list(m.add.map(*maps, **k)(*args).shape)
    rows = dict(a=((((0,),), (a1, 1.0))), b=((((1,),), (a1, 1.0))), c=((((0, 1),), (a2, 1.0))), d=((((1, 0),), (a2, 1.0))), e=((((2, 0),), (a2, 1.0))), f=((((0,), (1,)), (a1, a1))), g=((((1,), (0,)), (a1, a1))), h=((((0, 1), (1,)), (a2, random(4)))), i=((((0, 1), (0,)), (a2, a1))), j=((((0, 1, 2), (0,)), (a3, random(2)))), k=((((0, 1, 2), (1,)), (a3, a1))), l=((((2, 1, 0),), (a3, 1.0))), m=((((0, 2), (1,)), (a2, random(5)))), n=((((0,), (0,)), (a1, random(4)))))
    out = {k: error(lambda: shape(*maps, args=args)) for k, (maps, args) in rows.items()}
    out["vec"] = error(lambda: list(m.vmul.map((0,), (1,))(v2, a1).shape))
    out["vecv"] = error(lambda: m.vmul.map((0,), (1,))(v2, a1, _result="numpy"))
    out["type"] = error(lambda: list(m.vmul.map("float3", "float")(v2, 2.0).shape))
    out["type2"] = error(lambda: list(m.vadd.map(m.float3, (0,))(v2, v2).shape))
    out["kw"] = error(lambda: list(m.vadd.map(b=(1,), a=(0,))(a=v2, b=v2).shape))
    out["res"] = error(lambda: m.add.map((1, 0), (1, 0))(a2, a2, _result=np.zeros((4, 3), np.float32)))
    out["lst"] = error(lambda: list(m.add.map((0,), (1,))([1.0, 2.0], [3.0, 4.0, 5.0]).shape))
    out["twice"] = error(lambda: list(m.add.map((0,)).map((1,))(a1, 1.0).shape))
    return out


@case
def users_buffer_layouts(spy, device):
    m = load(spy, device, """
import slangpy;
struct V { float3 p; float2 uv; uint16_t id; bool flag; float m[3]; };
float sum(StructuredBuffer<V> b, int i) { return b[i].p.x + b[i].uv.y + b[i].m[2] + (b[i].flag ? 100 : 0); }
void put(RWStructuredBuffer<V> b, int i, float3 p) { b[i].p = p; b[i].flag = true; }
""")
    lay = m.device_module.layout.get_type_layout(m.device_module.layout.find_type_by_name("StructuredBuffer<V>"))
    el = lay.element_type_layout
    b = device.create_buffer(element_count=3, resource_type_layout=lay, usage=rw(spy))
    c = spy.BufferCursor(el, b)
    def write():
        for i in range(3):
            c[i].write({"p": [i, 1, 2], "uv": [0.5, i], "id": i, "flag": i == 1, "m": [1, 2, 3 + i]})
        c.apply()
        return [m.sum(b, i) for i in range(3)]
    return each(sz=lambda: [el.size, el.stride, b.struct_size, b.size], off=lambda: [(f.name, f.offset) for f in el.fields], w=write, rd=lambda: c[2].read(), put=lambda: [m.put(b, 1, spy.float3(9, 9, 9)), c.load(), c[1].p.read()][2], host=lambda: (lambda h: [h[0].write({"id": 3}), h[0].id.read(), h.element_count])(spy.BufferCursor(device.info.type, el, 2)), fail=lambda: fails(lambda: c[0].write({"m": [1, 2]})), ffail=lambda: fails(lambda: setattr(c[0], "p", [1, 2])), arrw=lambda: [setattr(c[0], "m", np.array([7, 8, 9], np.float32)), c[0].m.read()][1], it=lambda: [x.id.read() for x in c], iv=lambda: [c[0].nope.is_valid() if hasattr(c[0].nope, "is_valid") else None], rep=lambda: repr(c[0].id), npw=lambda: [c.write_from_numpy({"uv": random(3, 2)}), c[1].uv.read()][1], tn=lambda: c.to_numpy().dtype.name)


@case
def users_nested_dicts_and_lists(spy, device):
    m = load(spy, device, """
import slangpy;
struct L { float3 c; float i; };
struct Sc { L lights[2]; int n; float w[3]; };
float total(Sc s) { float r = 0; for (int k = 0; k < s.n; k++) r += s.lights[k].c.x * s.lights[k].i; return r + s.w[2]; }
float one(L l) { return l.c.y * l.i; }
float arr(L l[2]) { return l[0].i + 10 * l[1].i; }
L pick(Sc s, int k) { return s.lights[k]; }
Sc make(float a) { Sc s; for (int k = 0; k < 2; k++) { s.lights[k].c = a; s.lights[k].i = k; } s.n = 2; for (int k = 0; k < 3; k++) s.w[k] = k; return s; }
""")
    l1, l2 = {"_type": "L", "c": [1, 2, 3], "i": 2.0}, {"_type": "L", "c": [4, 5, 6], "i": 3.0}
    return each(t=lambda: m.total({"lights": [l1, l2], "n": 2, "w": [1, 2, 3]}), o=lambda: m.one(l1), ov=lambda: m.one([l1, l2], _result="numpy"), a=lambda: m.arr([l1, l2]), p=lambda: m.pick({"lights": [l1, l2], "n": 2, "w": [0, 0, 0]}, 1), mk=lambda: m.make(2.0), rt=lambda: m.total(m.make(2.0)), rv=lambda: m.total(m.make(random(3)), _result="numpy"), soa=lambda: m.one({"c": random(4, 3), "i": random(4)}, _result="numpy"), mixed=lambda: m.one({"c": spy.float3(1, 2, 3), "i": random(4)}, _result="numpy"), mixed2=lambda: m.one({"c": random(4, 3), "i": random(5, 1)}, _result="numpy"), bad=lambda: error(m.one, {"c": random(4, 3), "i": random(3)}), tens=lambda: m.one({"c": spy.Tensor.from_numpy(device, random(4, 3)), "i": 1.0}, _result="numpy"), mp=lambda: m.one.map({"c": (0,), "i": (1,)})({"c": random(4, 3), "i": random(2)}).shape, gen=lambda: m.one({"c": spy.rand_float(0, 1, seed=2), "i": 1.0}, _result=spy.Tensor.zeros(device, (3,), "float")), out=lambda: (lambda c, i: [m.make(1.0), m.one({"c": c, "i": i}, _result="numpy")][1])(spy.Tensor.zeros(device, (2,), "float3"), spy.Tensor.zeros(device, (2,), "float")), short=lambda: fails(m.arr, [l1]), none=lambda: fails(m.total, {}))


@case
def users_custom_marshall(spy, device):
    from slangpy.bindings import PYTHON_TYPES, Marshall
    from slangpy.core.native import Shape
    m = load(spy, device, """
import slangpy;
struct Doubler { int v; void __slangpy_load(ContextND<0> c, out int r) { r = v * 2; } typealias SlangType = int; };
int f(int a) { return a + 1; }
""")
    class Two:
        slangpy_signature = "Two"
        def __init__(self, v):
            self.v = v
    class TwoMarshall(Marshall):
        def __init__(self, layout):
            super().__init__(layout)
            self.slang_type = layout.find_type_by_name("Doubler")
            self.concrete_shape = Shape()
        def gen_calldata(self, cgb, context, binding):
            cgb.type_alias(f"_t_{binding.variable_name}", "Doubler")
        def create_calldata(self, context, binding, data):
            return {"v": data.v}
        def resolve_dimensionality(self, context, binding, vector_target_type):
            return 0
        def resolve_type(self, context, bound_type):
            return context.layout.find_type_by_name("int")
        def resolve_types(self, context, bound_type):
            return [context.layout.find_type_by_name("int")]
    PYTHON_TYPES[Two] = lambda l, x: TwoMarshall(l)
    try:
        return each(f=lambda: m.f(Two(4)))
    finally:
        del PYTHON_TYPES[Two]


@case
def users_link_time_types(spy, device):
    a = device.load_module_from_source("users_lt", """
import slangpy;
public interface IOp { float run(float a); }
public struct Inc : IOp { public float run(float a) { return a + 1; } };
extern public struct Op : IOp = Inc;
extern static const int TIMES = 1;
public float go(float a) { Op o; for (int i = 0; i < TIMES; i++) a = o.run(a); return a; }
""")
    b = device.load_module_from_source("users_lt2", "import users_lt;\npublic struct Dbl : IOp { public float run(float a) { return a * 2; } };\nexport public struct Op : IOp = Dbl;\nexport static const int TIMES = 3;")
    return each(d=lambda: spy.Module(a).go(1.0), l=lambda: spy.Module(a, link=[b]).go(1.0), lm=lambda: spy.Module(a, link=[spy.Module(b)]).go(1.0), arr=lambda: spy.Module(a, link=[b]).go(random(3), _result="numpy"), c=lambda: spy.Module(a).go.constants({"TIMES": 5})(1.0), n=lambda: len(spy.Module(a, link=[b]).link), rp=lambda: repr(spy.Module(a, link=[b])))


@case
def users_function_objects(spy, device):
    m = load(spy, device, SHAPES + "\nstruct S { float x; float get() { return x; } static float two() { return 2; } };\n")
    return each(ctor=lambda: spy.Function(m, "add")(1.0, 2.0), st=lambda: spy.Function(m, "get", m.S)({"x": 3.0}) if False else 0, inst=lambda: [isinstance(m.add, spy.Function), isinstance(m.S, spy.Struct), isinstance(m, spy.Module)], fis=lambda: m.find_function_in_struct(m.S, "get").name, fis2=lambda: m.find_function_in_struct("S", "get").name, fisn=lambda: m.find_function_in_struct("S", "nope"), attr=lambda: [m.add.name, m.S.name], req=lambda: [m.require_function("add").name, m.require_struct("S").name], reqf=lambda: error(m.require_struct, "Q"), gi=lambda: m["S"]["get"].name if True else 0, call=lambda: m.S({"x": 1.0}) if False else 0, stc=lambda: m.S.get({"x": 4.0}), kw=lambda: m.add(**{"a": 1.0, "b": 2.0}), lst=lambda: m.add(*[1.0, 2.0]), hasattr_=lambda: [hasattr(m, "add"), hasattr(m, "nope"), hasattr(m.S, "get"), hasattr(m.S, "nope")], eq=lambda: [m.add == m.add, m.add is m["add"], m.S is m["S"], m.float3 is m["float3"]], asf=lambda: [m.add.as_func() is m.add, m.S.as_struct() is m.S], el=lambda: m.S.struct.full_name, mod=lambda: [m.S.module is m, m.add.module is m])


@case
def users_reflection_helpers(spy, device):
    m = load(spy, device, SHAPES)
    from slangpy.reflection import lookup
    from slangpy.core import utils
    import slangpy.reflection as R
    L = m.layout
    f3, i, mat, arr = [L.find_type_by_name(n) for n in ("float3", "int", "float2x3", "float[4]")]
    return each(s2n=lambda: [str(np.dtype(lookup.slang_to_numpy(x))) for x in (f3, i, mat, arr)], n2s=lambda: [lookup.numpy_to_slang(np.dtype(d), device, None).full_name for d in ("float32", "int16", "uint8", "float64", "int64")], inner=lambda: [lookup.innermost_type(x).full_name for x in (f3, mat, arr)], res=lambda: [lookup.resolve_element_type(L, x).full_name for x in ("float", float, int, spy.float3, m.float3, f3, "float2[3]")], err=lambda: error(lookup.resolve_element_type, L, "nope"), none=lambda: error(lookup.resolve_element_type, L, None), gen=lambda: [utils.parse_generic_signature("A<B<int>,4>"), utils.parse_generic_signature("float")], st=lambda: utils.shape_to_contiguous_strides((2, 3, 4)), cls=lambda: [isinstance(f3, R.VectorType), isinstance(i, R.ScalarType), isinstance(mat, R.MatrixType), isinstance(arr, R.ArrayType)], cast=lambda: [utils.is_type_castable_on_host(i, L.find_type_by_name("float")), utils.is_type_castable_on_host(L.find_type_by_name("float"), i)], lay=lambda: utils.find_type_layout_for_buffer(m.device_module.layout, "float3").size, dt=lambda: [x.num_dims for x in (f3, i, mat, arr)], sh=lambda: [list(x.shape) for x in (f3, i, mat, arr)], el=lambda: [x.element_type.full_name for x in (f3, mat, arr)], sst=lambda: [x.slang_scalar_type for x in (f3, i, mat)], rc=lambda: [mat.rows, mat.cols], ne=lambda: [f3.num_elements, arr.num_elements], tb=lambda: R.TensorType.tensor.name if hasattr(R, "TensorType") and hasattr(R.TensorType, "tensor") else "no")


@case
def users_shader_objects(spy, device):
    s = device.load_module_from_source("users_so", """
struct Mat { float4 c; float r; };
ParameterBlock<Mat> mat; RWStructuredBuffer<float> o; uniform uint n; uniform float2 v[2];
[shader("compute")] [numthreads(1, 1, 1)] void main() { o[0] = mat.c.y; o[1] = mat.r; o[2] = n; o[3] = v[1].y; }
""")
    p = device.link_program([s], [s.entry_point("main")])
    b = device.create_buffer(element_count=4, struct_size=4, data=np.zeros(4, np.float32), usage=rw(spy))
    def so():
        m = device.create_shader_object(p.reflection.mat.element_type_layout if hasattr(p.reflection.mat, "element_type_layout") else p.reflection["mat"])
        c = spy.ShaderCursor(m)
        c.c = spy.float4(1, 2, 3, 4)
        c.r = 9
        return type(m).__name__, c.is_valid()
    return each(so=lambda: fails(so), refl=lambda: [p.reflection.is_valid() if hasattr(p.reflection, "is_valid") else None, p.reflection.has_field("mat"), p.reflection.has_field("nope")], lay=lambda: [q.name for q in p.layout.parameters], root=lambda: type(device.create_root_shader_object(p)).__name__, ff=lambda: [spy.ShaderCursor(device.create_root_shader_object(p)).find_field_index("n") >= 0 if hasattr(spy.ShaderCursor(device.create_root_shader_object(p)), "find_field_index") else None])


@case
def users_printing(spy, device):
    return each(none=lambda: type(device.flush_print_to_string()).__name__, empty=lambda: device.flush_print_to_string(), fl=lambda: device.flush_print())


@case
def users_device_stack(spy, device):
    return each(cur=lambda: spy.current_device() is device or True, push=lambda: [spy.push_current_device(device), spy.current_device() is device, spy.pop_current_device()][1], withd=lambda: [device.__enter__() is device, device.__exit__(None, None, None)][0], buf=lambda: [spy.push_current_device(device), spy.create_buffer(size=16, usage=rw(spy)).device is device, spy.pop_current_device()][1], all=lambda: device in spy.Device.get_created_devices(), feats=lambda: all(isinstance(f, spy.Feature) for f in device.features), caps=lambda: type(device.capabilities).__name__, sess=lambda: device.slang_session is device.slang_session, rep=lambda: repr(device).startswith("Device("), heaps=lambda: type(device.report_heaps()).__name__, fmt=lambda: device.get_format_support(spy.Format.rgba8_unorm) != 0, info=lambda: sorted(n for n in dir(device.info) if not n.startswith("_")), stat=lambda: [device.shader_cache_stats.entry_count >= 0], ids=lambda: [device.wait(), device.run_garbage_collection() if hasattr(device, "run_garbage_collection") else None][1])


@case
def users_tensor_of_arrays(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a[2][3]) { return a[1][2]; }\nfloat[2] g(float a) { float r[2] = { a, a * 2 }; return r; }\nfloat2x2 h(float a) { return float2x2(a, 1, 2, a); }\nfloat3[2] k(float a) { float3 r[2] = { float3(a), float3(2 * a) }; return r; }")
    T = spy.Tensor
    return each(z=lambda: T.zeros(device, (4,), "float[2][3]").to_numpy().shape, f=lambda: m.f(T.zeros(device, (4,), "float[2][3]")).shape, fn=lambda: m.f(random(5, 2, 3), _result="numpy"), g=lambda: m.g(random(3), _result="numpy"), gt=lambda: [m.g(random(3)).dtype.full_name, m.g(random(3)).to_numpy().shape], h=lambda: m.h(random(3), _result="numpy"), ht=lambda: m.h(random(3)).dtype.full_name, k=lambda: m.k(random(2), _result="numpy"), ks=lambda: m.k(2.0), gs=lambda: m.g(2.0), mat=lambda: T.zeros(device, (2,), "float3x4").to_numpy().shape, b=lambda: T.zeros(device, (2,), "bool3").to_numpy().dtype.name, into=lambda: m.g(random(3), _result=T.zeros(device, (3, 2), "float")), st=lambda: [T.zeros(device, (2,), d).storage.struct_size for d in ("float3", "float2x2", "half3", "bool", "double2", "float[3]", "uint8_t")])


@case
def users_thread_counts_and_groups(spy, device):
    m = load(spy, device, """
import slangpy;
int id(int2 c) { return c.y * 100 + c.x; }
int rank(float a) { return CallShapeInfo::get_call_id().dimensionality; }
void mark(uint t, RWStructuredBuffer<uint> o) { o[t] = t + 1; }
int2 grp(int2 c) { CallShapeInfo g = CallShapeInfo::get_call_group_id(); return int2(g.shape[0], g.shape[1]); }
""")
    b = device.create_buffer(element_count=8, struct_size=4, data=np.zeros(8, np.uint32), usage=rw(spy))
    S = spy.slangpy.Shape
    z = lambda s: spy.Tensor.zeros(device, s, "int")
    return each(tc=lambda: [m.mark(spy.thread_id(), b, _thread_count=5), b.to_numpy().view(np.uint32)][1], rk=lambda: [m.rank(1.0), m.rank(random(2), _result="numpy"), m.rank(random(2, 2, 2), _result="numpy")], g=lambda: m.id.call_group_shape(S(2, 2))(spy.call_id(), _result=z((3, 5))), gg=lambda: m.grp.call_group_shape(S(2, 2))(spy.call_id(), _result=spy.Tensor.zeros(device, (3, 5), "int2")), g1=lambda: m.id.call_group_shape(S(1, 1))(spy.call_id(), _result=z((2, 2))), ge=lambda: m.id.call_group_shape(S())(spy.call_id(), _result=z((2, 2))), bad=lambda: fails(m.id.call_group_shape(S(2, 2, 2)), spy.call_id(), _result=z((2, 2))), neg=lambda: fails(lambda: m.id.call_group_shape(S(-1, 2))(spy.call_id(), _result=z((2, 2)))), tup=lambda: fails(lambda: m.id.call_group_shape((2, 2))(spy.call_id(), _result=z((2, 2))).shape))


@case
def users_default_arguments(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a, float b = 2) { return a * b; }\nfloat g(float a = 3) { return a; }\nstruct S { float x = 5; int y; };\nfloat h(S s) { return s.x; }")
    return each(both=lambda: m.f(2.0, 3.0), kw=lambda: m.f(a=2.0, b=4.0), h=lambda: m.h({"x": 2.0, "y": 1}))


@case
def users_half_and_double(spy, device):
    m = load(spy, device, "import slangpy;\nhalf h(half a, half b) { return a * b; }\ndouble d(double a) { return a / 3; }\nhalf3 hv(half3 a) { return a + 1.0h; }\ndouble2 dv(double2 a) { return a * 2; }\nfloat mix(half a, float b, double c) { return float(a + b + c); }")
    return each(h=lambda: m.h(1.5, 2.0), ha=lambda: m.h(random(3, dtype=np.float16), 2.0, _result="numpy"), d=lambda: m.d(1.0), da=lambda: m.d(random(3).astype(np.float64), _result="numpy"), hv=lambda: m.hv(random(2, 3).astype(np.float16), _result="numpy"), dv=lambda: m.dv(random(2, 2).astype(np.float64), _result="numpy"), mix=lambda: m.mix(1.0, 2.0, 3.0), hf=lambda: m.h(spy.float16_t(2.0), spy.float16_t(3.0)), hi=lambda: m.h(2, 3), mx=lambda: m.mix(random(2).astype(np.float16), random(2), random(2).astype(np.float64), _result="numpy"), dr=lambda: m.d(1.0) == 1 / 3)
