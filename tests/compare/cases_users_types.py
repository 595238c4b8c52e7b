"""Programs of users: reflection, names, modules, sessions, devices."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random

TYPES = """
import slangpy;
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int a; };
interface IShape { float area(); }
struct Box : IShape { float w; float h; float area() { return w * h; } static Box unit() { return { 1, 1 }; } [mutating] void grow(float by) { w += by; h += by; } }
struct Holder<T, let N : int> { T items[N]; int count; T get(int i) { return items[i]; } }
enum Mode { off, on = 4 }
struct Many { int i; uint u; float f; half h; double d; bool b; float3 v; float4x4 m; float a[4]; Box box; Mode mode; int64_t l; uint2 uv; StructuredBuffer<float> sb; RWStructuredBuffer<Box> rb; Texture2D<float4> t; SamplerState s; RWTexture3D<float> rt; ByteAddressBuffer bb; }
float over(float a) { return a; }
float over(float a, float b) { return a + b; }
T gen<T : IArithmetic>(T a) { return a; }
vector<float, N> genv<let N : int>(vector<float, N> a) { return a; }
[Differentiable] float diff(float a, no_diff float b) { return a * b; }
void dirs(in int a, out float b, inout float3 c) { b = a; c += a; }
namespace space { struct In { int q; };\n float inside(float a) { return a; } }
static const int K = 3;
"""


@case
def users_function_names(spy, device):
    m = load(spy, device, TYPES)
    L = m.layout
    return each(n=lambda: [m.over.name, m.gen.name, m["gen<float>"].name, m["genv<3>"].name, m.Box.area.name, m.Box.unit.name, m["Holder<float, 4>"].get.name], fl=lambda: [L.find_function_by_name(x) is not None for x in ("over", "gen", "gen<float>", "genv<3>", "nothing", "diff")], fn=lambda: [L.find_function_by_name("gen<float>").name, L.find_function_by_name("gen<float>").full_name], rt=lambda: L.find_function_by_name("genv<3>").return_type.full_name,
                par=lambda: [(p.name, p.type.full_name) for p in L.find_function_by_name("genv<3>").parameters], ty=lambda: L.find_function_by_name_in_type(L.find_type_by_name("Box"), "area").name, ini=lambda: L.find_function_by_name_in_type(L.find_type_by_name("Box"), "$init") is None, ov=lambda: [L.find_function_by_name("over").is_overloaded, len(L.find_function_by_name("over").overloads)], dm=lambda: m.device_module.layout.find_function_by_name("gen<int>").name, spec=lambda: m.find_function("gen<float3>") is not None, bad=lambda: fails(m.find_function, "gen<nothing>"), req=lambda: error(m.require_function, "none"), nsf=lambda: m.find_function("space.inside") is None, nsc=lambda: m["space::inside"](2.0))


@case
def users_function_reflection(spy, device):
    m = load(spy, device, TYPES)
    L = m.layout
    d, f = L.find_function_by_name("dirs"), L.find_function_by_name("diff")
    return each(p=lambda: [(p.name, p.type.full_name) for p in d.parameters], io=lambda: [p.io_type for p in d.parameters], nd=lambda: [p.no_diff for p in f.parameters], df=lambda: [f.differentiable, d.differentiable], mu=lambda: [L.find_function_by_name_in_type(L.find_type_by_name("Box"), n).mutating for n in ("area", "grow")], st=lambda: [L.find_function_by_name_in_type(L.find_type_by_name("Box"), n).static for n in ("area", "unit")], th=lambda: L.find_function_by_name_in_type(L.find_type_by_name("Box"), "area").this.full_name if L.find_function_by_name_in_type(L.find_type_by_name("Box"), "area").this else None, no=lambda: f.this, ret=lambda: [f.return_type.full_name, d.return_type.full_name if d.return_type else None], has=lambda: d.reflection.name, ix=lambda: [p.index for p in d.parameters], hd=lambda: [p.has_default for p in d.parameters], ctor=lambda: L.find_function_by_name_in_type(L.find_type_by_name("Box"), "area").is_constructor, same=lambda: L.find_function_by_name("diff") is f, full=lambda: d.full_name)


@case
def users_type_reflection(spy, device):
    m = load(spy, device, TYPES)
    L = m.layout
    def t(n):
        x = L.find_type_by_name(n)
        return [type(x).__name__, x.name, x.full_name, list(x.shape), x.num_dims, x.element_type.full_name if x.element_type is not None else None, sorted(x.fields), x.is_generic, x.differentiable]
    names = ["float", "int3", "float2x3", "float[4]", "float3[2]", "Box", "Many", "Holder<float, 4>", "StructuredBuffer<float>", "RWStructuredBuffer<Box>", "Texture2D<float4>", "RWTexture3D<float>", "SamplerState", "ByteAddressBuffer", "IShape", "Mode", "Tensor<float,2>", "RWTensor<float3,1>", "DiffTensor<float,1>", "ValueRef<float>", "float*", "half2", "bool", "uint64_t", "space.In"]
    return each(**{"n_" + "".join(c if c.isalnum() else "_" for c in n): (lambda n=n: t(n)) for n in names}, none=lambda: L.find_type_by_name("nothing"), req=lambda: error(L.require_type_by_name, "nothing"), same=lambda: L.find_type_by_name("float") is L.scalar_type(spy.TypeReflection.ScalarType.float32), vec=lambda: L.vector_type(spy.TypeReflection.ScalarType.float32, 3).full_name, mat=lambda: L.matrix_type(spy.TypeReflection.ScalarType.float32, 2, 3).full_name, arr=lambda: L.array_type(L.find_type_by_name("float"), 4).full_name, tup=lambda: L.find_type_by_name("float3") == L.find_type_by_name("vector<float,3>"))


@case
def users_type_layouts(spy, device):
    m = load(spy, device, TYPES)
    b = m.layout.find_type_by_name("Box")
    return each(u=lambda: [b.uniform_layout.size, b.uniform_layout.stride, b.buffer_layout.size, b.buffer_layout.stride], al=lambda: [b.uniform_layout.alignment, b.buffer_layout.alignment], f3=lambda: [m.float3.buffer_layout.size, m.float3.buffer_layout.stride], fo=lambda: {k: v.type.full_name for k, v in b.fields.items()}, rf=lambda: b.type_reflection.full_name, refl=lambda: b.uniform_layout.reflection.name, der=lambda: b.derivative.full_name if b.differentiable else None, st=lambda: [m.Box.name, m.Box.full_name, m.Box.shape, m.Box.num_dims, m.Box.differentiable], dev=lambda: m.Box.device is device, sess=lambda: m.Box.session is m.session, child=lambda: [m.Box.try_get_child("area") is not None, m.Box.try_get_child("none")], vt=lambda: fails(lambda: m.Box.vector_type_name), prog=lambda: m.Box.program is m.layout if hasattr(m.Box, "program") else None)


@case
def users_native_reflection(spy, device):
    m = load(spy, device, TYPES)
    r = m.device_module.layout
    b = r.find_type_by_name("Many")
    TR = spy.TypeReflection
    fields = {f.name: f for f in b.fields}
    return each(kinds=lambda: {n: f.type.kind for n, f in fields.items()}, names=lambda: {n: f.type.name for n, f in fields.items()}, sc=lambda: {n: f.type.scalar_type for n, f in fields.items()}, rc=lambda: {n: [f.type.row_count, f.type.col_count] for n, f in fields.items() if f.type.kind in (TR.Kind.vector, TR.Kind.matrix, TR.Kind.scalar)}, ec=lambda: fields["a"].type.element_count, et=lambda: fields["a"].type.element_type.name, rs=lambda: {n: f.type.resource_shape for n, f in fields.items() if f.type.kind == TR.Kind.resource}, ra=lambda: {n: f.type.resource_access for n, f in fields.items() if f.type.kind == TR.Kind.resource}, rr=lambda: {n: f.type.resource_result_type.full_name for n, f in fields.items() if f.type.kind == TR.Kind.resource and n != "bb"}, cnt=lambda: [len(b.fields), b.field_count if hasattr(b, "field_count") else -1], full=lambda: b.full_name, fi=lambda: fields["box"].type.fields[1].name, ga=lambda: [x for x in r.find_type_by_name("Holder<float, 4>").full_name], it=lambda: [f.name for f in r.find_type_by_name("Box").fields], dc=lambda: m.device_module.module_decl.kind if False else None)


@case
def users_program_layouts(spy, device):
    s = device.load_module_from_source("users_prog", """
struct Light { float3 pos; float power; };
cbuffer Globals { float4x4 view; Light lights[2]; int count; };
ParameterBlock<Light> block;
StructuredBuffer<float> src; RWStructuredBuffer<float> dst; Texture2D<float4> tex; SamplerState samp;
[shader("compute")] [numthreads(8, 4, 2)] void main(uint3 tid : SV_DispatchThreadID, uniform float scale, uniform uint n) { if (tid.x < n) dst[tid.x] = src[tid.x] * scale + lights[0].power + block.power; }
[shader("compute")] [numthreads(1, 1, 1)] void other(uint3 tid : SV_DispatchThreadID) { dst[0] = 1; }
""")
    p = device.link_program([s], [s.entry_point("main")])
    l = p.layout
    return each(name=lambda: [e.name for e in s.entry_points], ep=lambda: [e.name for e in l.entry_points], tg=lambda: list(l.entry_points[0].compute_thread_group_size), st=lambda: l.entry_points[0].stage, par=lambda: [q.name for q in l.entry_points[0].parameters], glob=lambda: sorted(q.name for q in l.parameters), gt=lambda: {q.name: q.type_layout.kind for q in l.parameters}, cb=lambda: [(f.name, f.offset, f.type_layout.size) for f in next(q for q in l.parameters if q.name == "Globals").type_layout.element_type_layout.fields] if any(q.name == "Globals" for q in l.parameters) else None, ent=lambda: type(s.entry_point("main")).__name__, none=lambda: error(s.entry_point, "nothing"), modn=lambda: s.name, path=lambda: type(s.path).__name__, refl=lambda: [p.reflection.main.scale.name if hasattr(p.reflection.main.scale, "name") else "", p.reflection.dst.is_valid() if hasattr(p.reflection.dst, "is_valid") else None], gl=lambda: l.globals_type_layout.kind, str_=lambda: isinstance(str(l), str))


@case
def users_raw_kernels(spy, device):
    s = device.load_module_from_source("users_raw", """
struct Params { float a; int b; float3 c; };
StructuredBuffer<float> src; RWStructuredBuffer<float> dst; uniform Params params;
[shader("compute")] [numthreads(32, 1, 1)] void scale(uint3 tid : SV_DispatchThreadID, uniform float k) { uint n, st; dst.GetDimensions(n, st); if (tid.x < n) dst[tid.x] = src[tid.x] * k + params.a + params.b + params.c.y; }
[shader("compute")] [numthreads(4, 4, 1)] void ids(uint3 tid : SV_DispatchThreadID, uint3 gid : SV_GroupID, RWStructuredBuffer<uint> o) { o[tid.y * 8 + tid.x] = gid.x + 10 * gid.y; }
""")
    u = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    f = random(64)
    a, o = device.create_buffer(element_count=64, struct_size=4, data=f, usage=u), device.create_buffer(element_count=64, struct_size=4, data=np.zeros(64, np.float32), usage=u)
    k = device.create_compute_kernel(device.load_program("users_raw", ["scale"]) if False else device.link_program([s], [s.entry_point("scale")]))
    i = device.create_compute_kernel(device.link_program([s], [s.entry_point("ids")]))
    def go(**kw):
        k.dispatch(thread_count=[64, 1, 1], **kw)
        return o.to_numpy().view(np.float32)[:6]
    return each(a=lambda: go(vars={"src": a, "dst": o, "params": {"a": 1.0, "b": 2, "c": [0, 5, 0]}}, k=2.0), b=lambda: go(src=a, dst=o, k=3.0) if False else 0, part=lambda: go(vars={"src": a, "dst": o, "params": {"a": 1.0}}, k=2.0), none=lambda: go(vars={"src": a, "dst": o}, k=1), ids=lambda: [i.dispatch(thread_count=[8, 8, 1], o=o), o.to_numpy().view(np.uint32)][1], u3=lambda: i.dispatch(spy.uint3(8, 8, 1), o=o), enc=lambda: (lambda e: [i.dispatch([8, 8, 1], command_encoder=e, o=o), device.submit_command_buffer(e.finish()) > 0][1])(device.create_command_encoder()), pipe=lambda: list(k.pipeline.thread_group_size), prog=lambda: type(k.program).__name__, unknown=lambda: fails(lambda: k.dispatch([1, 1, 1], vars={"nothing": 1.0})))


@case
def users_raw_dispatch_of_functions(spy, device):
    m = load(spy, device, """
import slangpy;
uniform float gain; RWStructuredBuffer<float> target;
void fill(uint3 dispatchThreadID, RWStructuredBuffer<float> o, float v, int n) { if (dispatchThreadID.x < n) o[dispatchThreadID.x] = v + dispatchThreadID.x; }
void fill1(uint dispatchThreadID, RWTensor<float, 1> o, float v) { if (dispatchThreadID < o.shape[0]) o[dispatchThreadID] = v; }
void fill2(uint2 dispatchThreadID, RWTensor<float, 2> o) { if (dispatchThreadID.y < o.shape[0] && dispatchThreadID.x < o.shape[1]) o[dispatchThreadID.y, dispatchThreadID.x] = dispatchThreadID.x + 10 * dispatchThreadID.y; }
void glob(uint dispatchThreadID, int n) { if (dispatchThreadID < n) target[dispatchThreadID] = gain * dispatchThreadID; }
[shader("compute")] [numthreads(16, 1, 1)] void entry(uint3 tid : SV_DispatchThreadID, RWStructuredBuffer<float> o, uniform float v, uniform uint n) { if (tid.x < n) o[tid.x] = v; }
float ret(uint3 dispatchThreadID) { return 1; }
void noid(RWStructuredBuffer<float> o) { o[0] = 1; }
""")
    u = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    b = device.create_buffer(element_count=8, struct_size=4, data=np.zeros(8, np.float32), usage=u)
    t1, t2 = spy.Tensor.zeros(device, (8,), "float"), spy.Tensor.zeros(device, (3, 4), "float")
    val = lambda: b.to_numpy().view(np.float32)
    return each(f=lambda: [m.fill.dispatch(spy.uint3(8, 1, 1), o=b, v=2.0, n=8), val()][1], t1=lambda: [m.fill1.dispatch(spy.uint3(8, 1, 1), o=t1, v=2.0), t1][1], t2=lambda: [m.fill2.dispatch([4, 3, 1], o=t2), t2][1], g=lambda: [m.glob.set({"gain": 3.0, "target": b}).dispatch([8, 1, 1], n=8), val()][1], gv=lambda: [m.glob.dispatch([8, 1, 1], vars={"gain": 2.0, "target": b}, n=4), val()][1], e=lambda: [m.entry.dispatch([8, 1, 1], o=b, v=5.0, n=6), val()][1], tg=lambda: [m.fill.thread_group_size(spy.uint3(4, 1, 1)).dispatch([8, 1, 1], o=b, v=1.0, n=8), val()][1], tge=lambda: error(lambda: m.entry.thread_group_size(spy.uint3(4, 1, 1)).dispatch([8, 1, 1], o=b, v=1.0, n=8)), ret=lambda: error(lambda: m.ret.dispatch([8, 1, 1])), noid=lambda: fails(lambda: m.noid.dispatch([8, 1, 1], o=b)), extra=lambda: m.fill.dispatch([8, 1, 1], o=b, v=1.0, n=8, q=3), miss=lambda: fails(lambda: m.fill.dispatch([1, 1, 1], o=b)), enc=lambda: (lambda e: [m.fill.dispatch([8, 1, 1], command_encoder=e, o=b, v=7.0, n=8), device.submit_command_buffer(e.finish()), val()][2])(device.create_command_encoder()))


@case
def users_modules_from_everything(spy, device):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "users_helper.slang"), "w") as f:
        f.write("module users_helper; public float helper(float a) { return a + 100; }")
    with open(os.path.join(folder, "users_main.slang"), "w") as f:
        f.write('import "users_helper"; import slangpy; public float run(float a) { return helper(a) * 2; } extern static const int KK = 1; public int kk() { return KK; } extern float ext(float a); public float callext(float a) { return a; }')
    path = os.path.join(folder, "users_main.slang")
    sm = device.load_module_from_source("users_smod", "public float q(float a) { return a - 1; }")
    lk = device.load_module_from_source("users_link", "export static const int KK = 9;")
    return each(file=lambda: spy.Module.load_from_file(device, path).run(1.0), again=lambda: spy.Module.load_from_file(device, path).run(2.0), mod=lambda: spy.Module.load_from_module(device, sm).q(3.0), ctor=lambda: spy.Module(sm).q(5.0), lnk=lambda: spy.Module.load_from_file(device, path, link=[lk]).kk(), lnk2=lambda: spy.Module.load_from_file(device, path, link=[spy.Module(lk)]).kk(), nolnk=lambda: spy.Module.load_from_file(device, path).kk(), missing=lambda: error(spy.Module.load_from_file, device, os.path.join(folder, "nope.slang")), broken=lambda: error(spy.Module.load_from_source, device, "users_broken", "float f( {"), src=lambda: spy.Module.load_from_source(device, "users_src", "float f(float a) { return a; }").f(2.0), same=lambda: spy.Module.load_from_source(device, "users_src", "float f(float a) { return a; }").f(3.0), other=lambda: error(spy.Module.load_from_source, device, "users_src", "float f(float a) { return a + 1; }"), rep=lambda: repr(spy.Module(sm)), name=lambda: [spy.Module(sm).name, sm.name], dm=lambda: spy.Module(sm).device_module.name != "", opt=lambda: spy.Module.load_from_module(device, sm, options={"strict_broadcasting": True}).options, sess=lambda: spy.Module(sm).session is device.slang_session, lks=lambda: spy.Module(sm).link, dev=lambda: spy.Module(sm).device is device, kw=lambda: spy.Module.load_from_source(device=device, name="users_kw", source="float f(float a) { return a; }").f(1.0), lg=lambda: spy.Module(sm).logger)


@case
def users_sessions(spy, device):
    def sess(**k):
        return device.create_slang_session(compiler_options=k, add_default_include_paths=True)
    def run(s, body="float f() { return VALUE; }", name="users_sess"):
        return spy.Module(s.load_module_from_source(name, body)).f()
    return each(d=lambda: run(sess(defines={"VALUE": "3"})), d2=lambda: run(sess(defines={"VALUE": "4.5"})), o=lambda: fails(run, sess()), inc=lambda: [type(x).__name__ for x in device.slang_session.desc.compiler_options.include_paths][:1], sm=lambda: device.slang_session.desc.compiler_options.shader_model is not None, opts=lambda: spy.SlangCompilerOptions({"defines": {"A": "1"}, "optimization": spy.SlangOptimizationLevel.high}).optimization, matrix=lambda: spy.SlangCompilerOptions().matrix_layout, fp=lambda: spy.SlangCompilerOptions().floating_point_mode, dbg=lambda: spy.SlangCompilerOptions().debug_info, dev=lambda: sess().device is device, add=lambda: device.create_slang_session({"compiler_options": {"defines": {"VALUE": "7"}}}).desc.compiler_options.defines, names=lambda: sorted(n for n in dir(spy.SlangCompilerOptions()) if not n.startswith("_")), names2=lambda: sorted(n for n in dir(spy.SlangSessionDesc()) if not n.startswith("_")), names3=lambda: sorted(n for n in dir(device.slang_session) if not n.startswith("_")))


@case
def users_object_members(spy, device):
    m = load(spy, device, TYPES)
    u = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    b = device.create_buffer(size=64, usage=u)
    t = spy.Tensor.zeros(device, (2,), "float")
    e = device.create_command_encoder()
    s = m.device_module
    def missing(o, cls):
        return sorted(n for n in dir(o) if not n.startswith("_"))
    objects = dict(device=device, buffer=b, tensor=t, encoder=e, module=m, struct=m.Box, function=m.over, slang_module=s, layout=m.layout, native_layout=s.layout, type=m.layout.find_type_by_name("Box"), ntype=s.layout.find_type_by_name("Box"), fn=m.layout.find_function_by_name("over"), nfn=s.layout.find_function_by_name("over"), limits=device.info.limits, info=device.info, desc=device.desc, bdesc=b.desc, cursor=t.cursor(), element=t.cursor()[0], fence=device.create_fence(), sampler=device.create_sampler(), pool=device.create_query_pool(spy.QueryType.timestamp, 2), shape=t.shape, logger=spy.Logger.get(), pair=spy.diffPair(1.0), ref=spy.ValueRef(1.0), field=list(m.layout.find_type_by_name("Box").fields.values())[0], param=m.layout.find_function_by_name("over").parameters and m.layout.find_function_by_name("diff").parameters[0], v3=spy.float3(1), m4=spy.float4x4.identity(), q=spy.quatf(), bitmap=spy.Bitmap(np.zeros((2, 2, 3), np.float32)))
    return {k: missing(o, k) for k, o in objects.items()}
