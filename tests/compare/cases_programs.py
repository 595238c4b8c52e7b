"""Raw dispatch, kernels, programs, shader objects, cursors, reflection, draws."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random

RAW = """
import slangpy;
struct Cfg { float k; int n; }
uniform float gain;
RWStructuredBuffer<float> global_out;
ParameterBlock<Cfg> block;
[shader("compute")] [numthreads(8, 1, 1)] void entry(uint3 tid : SV_DispatchThreadID, StructuredBuffer<float> a, RWStructuredBuffer<float> r, float s) { if (tid.x < 16) r[tid.x] = a[tid.x] * s + gain; }
void plain(uint dispatchThreadID, RWStructuredBuffer<float> r, float s) { if (dispatchThreadID < 16) r[dispatchThreadID] = dispatchThreadID * s; }
void plain3(uint3 dispatchThreadID, RWStructuredBuffer<float> r, float3 v, Cfg c) { uint i = dispatchThreadID.x + 4 * dispatchThreadID.y; if (i < 16) r[i] = i + v.y + c.k * c.n; }
void tensor(uint dispatchThreadID, RWTensor<float, 1> t, float s) { if (dispatchThreadID < t.shape[0]) t[dispatchThreadID] = s; }
void global(uint dispatchThreadID) { if (dispatchThreadID < 16) global_out[dispatchThreadID] = gain + block.k * block.n; }
void pointer(uint dispatchThreadID, float* p) { if (dispatchThreadID < 16) p[dispatchThreadID] = 3; }
float result(uint dispatchThreadID) { return 1; }
void no_id(float a) { }
void out_param(uint dispatchThreadID, out float a) { a = 1; }
extern static const int factor = 2;
void constant(uint dispatchThreadID, RWStructuredBuffer<float> r) { if (dispatchThreadID < 16) r[dispatchThreadID] = factor; }
"""


def buffer(spy, device, data):
    return device.create_buffer(element_count=data.size, struct_size=4, data=data, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access)


@case
def raw_dispatch(spy, device):
    m = load(spy, device, RAW)
    a = buffer(spy, device, random(16))
    def go(f):
        r = buffer(spy, device, np.zeros(16, np.float32))
        f(r)
        return r.to_numpy().view(np.float32)
    t = spy.Tensor.zeros(device, (16,), "float")
    def encoder(r):
        e = device.create_command_encoder()
        m.plain.dispatch(spy.uint3(16, 1, 1), command_encoder=e, r=r, s=3.0)
        device.submit_command_buffer(e.finish())
    return each(entry=lambda: go(lambda r: m.entry.dispatch(spy.uint3(16, 1, 1), a=a, r=r, s=2.0)), set=lambda: go(lambda r: m.entry.set(gain=5.0).dispatch([16, 1, 1], a=a, r=r, s=2.0)), vars=lambda: go(lambda r: m.entry.dispatch((16, 1, 1), vars={"gain": 7.0}, a=a, r=r, s=2)),
                plain=lambda: go(lambda r: m.plain.dispatch(spy.uint3(16, 1, 1), r=r, s=2.0)), plain3=lambda: go(lambda r: m.plain3.dispatch(spy.uint3(4, 4, 1), r=r, v=spy.float3(1, 2, 3), c={"k": 2.0, "n": 3})), tg=lambda: go(lambda r: m.plain.thread_group_size(spy.uint3(4, 1, 1)).dispatch(spy.uint3(16, 1, 1), r=r, s=2.0)),
                tensor=lambda: [m.tensor.dispatch(spy.uint3(16, 1, 1), t=t, s=4.0), t], storage=lambda: [m.plain.dispatch(spy.uint3(16, 1, 1), r=t.storage, s=2.0), t], glob=lambda: go(lambda r: m["global"].dispatch(spy.uint3(16, 1, 1), vars={"global_out": r, "gain": 2.0, "block": {"k": 2.0, "n": 3}})), ptr=lambda: go(lambda r: m.pointer.dispatch(spy.uint3(16, 1, 1), p=r.device_address)),
                ptrb=lambda: go(lambda r: m.pointer.dispatch(spy.uint3(16, 1, 1), p=r)), res=lambda: error(m.result.dispatch, spy.uint3(1, 1, 1)), noid=lambda: error(m.no_id.dispatch, spy.uint3(1, 1, 1), a=1.0), out=lambda: error(m.out_param.dispatch, spy.uint3(1, 1, 1), a=1.0), tge=lambda: error(lambda: m.entry.thread_group_size(spy.uint3(4, 1, 1)).dispatch(spy.uint3(1, 1, 1), a=a, r=a, s=1.0)),
                enc=lambda: go(encoder), const=lambda: go(lambda r: m.constant.constants({"factor": 9}).dispatch(spy.uint3(16, 1, 1), r=r)), unknown=lambda: go(lambda r: m.plain.dispatch(spy.uint3(16, 1, 1), r=r, s=2.0, zzz=1)), missing=lambda: go(lambda r: m.plain.dispatch(spy.uint3(16, 1, 1), r=r)), none=lambda: error(m.plain.dispatch, spy.uint3(0, 1, 1), r=a, s=1.0), write=lambda: go(lambda r: m.entry.write(lambda c: c.write({"gain": 3.0})).dispatch(spy.uint3(16, 1, 1), a=a, r=r, s=2.0)))


KERNEL = """
struct Inner { float2 v; uint n; };
struct Params { float a; Inner inner[2]; bool on; float3x3 m; RWStructuredBuffer<float> b; };
struct Plain { float a; int b; };
ConstantBuffer<Plain> cb;
ParameterBlock<Params> pb;
RWStructuredBuffer<float> result;
RWStructuredBuffer<Plain> plains;
Texture2D<float4> tex;
uniform float k;
uniform float4 vs[2];
[shader("compute")] [numthreads(4, 2, 1)] void main(uint3 tid : SV_DispatchThreadID, uniform float s, uniform Plain p) {
    if (any(tid != 0)) return;
    result[0] = k; result[1] = s; result[2] = cb.a; result[3] = cb.b; result[4] = pb.a; result[5] = pb.inner[1].v.y; result[6] = pb.inner[0].n; result[7] = pb.on ? 1 : 0; result[8] = vs[1].z; result[9] = p.a + p.b; result[10] = pb.m[1][2]; pb.b[0] = 42; }
[shader("compute")] [numthreads(16, 1, 1)] void second(uint3 tid : SV_DispatchThreadID) { result[tid.x] = tid.x; plains[0].a = 1; plains[0].b = 2; }
"""


def program(spy, device, text, *entries):
    module = device.load_module_from_source("p" + str(abs(hash(text)) % 10**9), text)
    return module, device.link_program([module], [module.entry_point(e) for e in entries])


@case
def kernels_with_variables(spy, device):
    mod, prog = program(spy, device, KERNEL, "main")
    k = device.create_compute_kernel(prog)
    r, b = buffer(spy, device, np.zeros(16, np.float32)), buffer(spy, device, np.zeros(4, np.float32))
    v = {"k": 1.5, "result": r, "cb": {"a": 2.5, "b": 3}, "pb": {"a": 4.5, "inner": [{"v": [1, 2], "n": 3}, {"v": spy.float2(4, 5), "n": 6}], "on": True, "m": np.arange(9, dtype=np.float32).reshape(3, 3), "b": b}, "vs": [spy.float4(1, 2, 3, 4), [5, 6, 7, 8]]}
    k.dispatch(thread_count=[1, 1, 1], vars=v, s=7.5, p={"a": 1.0, "b": 2})
    first = r.to_numpy().view(np.float32)
    k.dispatch(spy.uint3(1, 1, 1), {"result": r, "pb": {"b": b}}, s=1.0)
    return each(first=lambda: first, b=lambda: b.to_numpy().view(np.float32)[0], second=lambda: r.to_numpy().view(np.float32), type=lambda: type(k.pipeline).__name__, tg=lambda: list(k.pipeline.thread_group_size), name=lambda: k.program is prog, bad=lambda: fails(k.dispatch, [1, 1, 1], {"missing": 1.0}), badtype=lambda: fails(k.dispatch, [1, 1, 1], {"result": 1.0}))


@case
def passes_and_root_objects(spy, device):
    mod, prog = program(spy, device, KERNEL, "second")
    pipe = device.create_compute_pipeline(prog, label="mine")
    r = buffer(spy, device, np.zeros(16, np.float32))
    pl = device.create_buffer(element_count=1, struct_size=8, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)
    e = device.create_command_encoder()
    with e.begin_compute_pass() as p:
        root = p.bind_pipeline(pipe)
        c = spy.ShaderCursor(root)
        c.result = r
        c["plains"] = pl
        p.dispatch([16, 1, 1])
    device.submit_command_buffer(e.finish())
    first = r.to_numpy().view(np.float32)
    s = buffer(spy, device, np.zeros(16, np.float32))
    obj = device.create_root_shader_object(prog)
    cc = spy.ShaderCursor(obj)
    cc.write({"result": s, "plains": pl})
    e = device.create_command_encoder()
    with e.begin_compute_pass() as p:
        p.bind_pipeline(pipe, obj)
        p.dispatch_compute([1, 1, 1])
    device.submit_command_buffer(e.finish())
    args = device.create_buffer(data=np.array([1, 1, 1], np.uint32), usage=spy.BufferUsage.indirect_argument | spy.BufferUsage.shader_resource)
    u = buffer(spy, device, np.zeros(16, np.float32))
    e = device.create_command_encoder()
    with e.begin_compute_pass() as p:
        spy.ShaderCursor(p.bind_pipeline(pipe)).write({"result": u, "plains": pl})
        p.dispatch_compute_indirect(spy.BufferOffsetPair(args))
    device.submit_command_buffer(e.finish())
    return each(first=lambda: first, s=lambda: s.to_numpy().view(np.float32), u=lambda: u.to_numpy().view(np.float32), pl=lambda: pl.to_numpy(), root=lambda: type(root).__name__, valid=lambda: [c.is_valid(), c.find_field("zzz").is_valid(), c.has_field("result"), c.find_field_index("zzz")])


@case
def shader_cursors(spy, device):
    mod, prog = program(spy, device, KERNEL, "main")
    root = spy.ShaderCursor(device.create_root_shader_object(prog))
    return each(fields=lambda: [root.has_field(n) for n in ("cb", "pb", "k", "vs", "nothing")], el=lambda: root["vs"].has_element(1), elout=lambda: root["vs"].find_element(5).is_valid(), sub=lambda: root.pb.inner[1].v.is_valid(), w=lambda: root.cb.write({"a": 1.0}), wbad=lambda: fails(root.cb.write, {"a": "x"}), mat=lambda: setattr(root.pb, "m", spy.float3x3()), ep=lambda: root.find_entry_point(0).has_field("s"), off=lambda: root["k"]._offset.uniform_offset,
                missing=lambda: fails(lambda: setattr(root, "zzz", 1.0)), arr=lambda: setattr(root, "vs", [[1, 2, 3, 4], [5, 6, 7, 8]]), arrbad=lambda: fails(lambda: setattr(root, "vs", [[1, 2, 3, 4]])), tl=lambda: root["k"]._type_layout.name, setd=lambda: root["vs"].set_data(np.zeros(8, np.float32)), pbo=lambda: setattr(root, "cb", device.create_shader_object(prog.reflection["cb"])))


@case
def program_reflection(spy, device):
    mod, prog = program(spy, device, KERNEL, "main", "second")
    l = prog.layout
    r = prog.reflection
    return each(params=lambda: [p.name for p in l.parameters], eps=lambda: [e.name for e in l.entry_points], tg=lambda: [list(e.compute_thread_group_size) for e in l.entry_points], stage=lambda: [e.stage for e in l.entry_points], find=lambda: l.find_type_by_name("Params").full_name, none=lambda: l.find_type_by_name("Missing"), g=lambda: l.globals_type_layout.size > 0, cb=lambda: l.find_type_by_name("Plain").fields[1].name,
                refl=lambda: [r.has_field("cb"), r.cb.is_valid(), r["pb"].is_valid(), r.zzz.is_valid() if r.has_field("zzz") else False], rt=lambda: r.cb.type.kind, el=lambda: r.plains.type.full_name, main=lambda: r.has_field("main"), p=lambda: r.main.s.type.full_name, eparams=lambda: [p.name for p in l.entry_points[0].parameters], mod=lambda: mod.layout.entry_points.__len__(), names=lambda: [e.name for e in mod.entry_points], miss=lambda: error(mod.entry_point, "zzz"),
                ren=lambda: mod.entry_point("main").rename("other").name, wn=lambda: mod.entry_point("main").with_name("other2").name, path=lambda: type(mod.path).__name__, hashed=lambda: len(list(l.hashed_strings)))


REFLECT = """
import slangpy;
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int n; string s; };
enum E { a, b }
[Tag(5, "hello")] struct S { float a; float3 v; int arr[4]; float4x4 m; half h; Texture2D<float4> t; }
struct G<T, let N : int> { T x[N]; }
interface IThing { float f(); }
float func(float a, inout S s, out int3 o, no_diff float4x4 m) { o = int3(0); return a; }
[Differentiable] float d(float x) { return x; }
float over(int a) { return 1; }
float over(float a) { return 2; }
T gen<T : IFloat>(T a) { return a; }
static const int value = 3;
"""


@case
def type_reflection(spy, device):
    m = load(spy, device, REFLECT)
    l = m.device_module.layout
    s = l.find_type_by_name("S")
    def t(n):
        x = l.find_type_by_name(n)
        return [x.kind, x.name, x.full_name, x.scalar_type, x.element_count, x.row_count, x.col_count]
    lay = l.get_type_layout(s)
    return each(fields=lambda: [[f.name, f.type.full_name, f.type.kind] for f in s.fields], **{n.replace("<", "_").replace(">", "").replace(",", "").replace(" ", "_").replace("[", "_").replace("]", ""): (lambda n=n: t(n)) for n in ("float", "int", "half", "float3", "bool2", "float4x4", "float[3]", "int64_t", "uint8_t", "S", "E", "G<float, 4>", "StructuredBuffer<float>", "RWTexture2D<float4>", "SamplerState", "float*", "ByteAddressBuffer")},
                el=lambda: l.find_type_by_name("float3").element_type.full_name, size=lambda: [lay.size, lay.stride, lay.alignment], offs=lambda: [[f.name, f.offset] for f in lay.fields], rs=lambda: l.find_type_by_name("RWTexture2D<float4>").resource_shape, ra=lambda: l.find_type_by_name("RWTexture2D<float4>").resource_access, rr=lambda: l.find_type_by_name("Texture2D<float4>").resource_result_type.full_name,
                same=lambda: l.find_type_by_name("S") is s, repr=lambda: repr(l.find_type_by_name("float3")), attr=lambda: [s.get_user_attribute_count(), s.get_user_attribute_by_index(0).name, s.get_user_attribute_by_index(0).argument_count], none=lambda: s.find_user_attribute_by_name("zzz"), unwrap=lambda: l.find_type_by_name("float[3]").unwrap_array().full_name, flen=lambda: len(s.fields), neg=lambda: error(lambda: s.fields[-1].name), out=lambda: error(lambda: s.fields[20]), eqv=lambda: s == l.find_type_by_name("S"))


@case
def function_reflection(spy, device):
    m = load(spy, device, REFLECT)
    l = m.device_module.layout
    f = l.find_function_by_name("func")
    o = l.find_function_by_name("over")
    M = spy.ModifierID
    return each(name=lambda: f.name, ret=lambda: f.return_type.full_name, par=lambda: [[p.name, p.type.full_name] for p in f.parameters], mods=lambda: [[p.has_modifier(x) for x in (M.inout, M.out, M.inn, M.nodiff)] for p in f.parameters], diff=lambda: [l.find_function_by_name("d").has_modifier(M.differentiable), f.has_modifier(M.differentiable)], over=lambda: [o.is_overloaded, len(o.overloads), f.is_overloaded], none=lambda: l.find_function_by_name("zzz"),
                spec=lambda: o.specialize_with_arg_types([l.find_type_by_name("int")]).parameters[0].type.full_name, specf=lambda: f.specialize_with_arg_types([l.find_type_by_name("S")]), gen=lambda: l.find_function_by_name("gen<float>").return_type.full_name, geno=lambda: l.find_function_by_name("gen").specialize_with_arg_types([l.find_type_by_name("float")]).return_type.full_name, init=lambda: l.find_function_by_name_in_type(l.find_type_by_name("S"), "$init") is not None, inone=lambda: l.find_function_by_name_in_type(l.find_type_by_name("S"), "zzz"))


@case
def declarations(spy, device):
    m = device.load_module_from_source("decls", "struct A { float x; };\nfloat f(float a) { return a; } T g<T>(T a) { return a; } static const int v = 3; void h() {}")
    d = m.module_decl
    K = spy.DeclReflection.Kind
    return each(kind=lambda: d.kind, name=lambda: d.name, n=lambda: len(d), kids=lambda: [[c.kind, c.name] for c in d], st=lambda: [c.name for c in d.children_of_kind(K.struct)], fn=lambda: [c.name for c in d.children_of_kind(K.func)], first=lambda: d.find_first_child_of_kind(K.struct, "A").as_type().full_name, f=lambda: d.find_first_child_of_kind(K.func, "f").as_function().return_type.full_name, none=lambda: d.find_first_child_of_kind(K.func, "zzz"), count=lambda: d.child_count, repr=lambda: len(repr(d)) > 0, many=lambda: len(d.find_children_of_kind(K.func, "f")))


@case
def functional_reflection(spy, device):
    from slangpy import reflection as R
    m = load(spy, device, REFLECT)
    l = m.layout
    def d(n):
        t = l.find_type_by_name(n)
        return [type(t).__name__, t.full_name, t.shape, t.differentiable, t.num_dims, t.element_type.full_name if t.element_type is not None else None]
    return each(**{n.replace("<", "_").replace(">", "").replace(",", "").replace(" ", "_").replace("[", "_").replace("]", ""): (lambda n=n: d(n)) for n in ("float", "int", "float3", "float4x4", "float[3]", "float[2][3]", "S", "StructuredBuffer<float>", "Texture2D<float4>", "RWTexture3D<float>", "ByteAddressBuffer", "float*", "Tensor<float, 2>", "RWTensor<float3, 1>", "bool", "half3", "E", "IThing", "SamplerState")}, scalar=lambda: l.scalar_type(spy.TypeReflection.ScalarType.float32).full_name, vec=lambda: l.vector_type(spy.TypeReflection.ScalarType.float32, 3).full_name, mat=lambda: l.matrix_type(spy.TypeReflection.ScalarType.float32, 2, 3).full_name, arr=lambda: l.array_type(l.find_type_by_name("float"), 4).full_name,
                fn=lambda: [l.find_function_by_name("func").name, [p.name for p in l.find_function_by_name("func").parameters], l.find_function_by_name("func").return_type.full_name], io=lambda: [p.io_type for p in l.find_function_by_name("func").parameters], nd=lambda: [p.no_diff for p in l.find_function_by_name("func").parameters], hasd=lambda: l.find_function_by_name("func").parameters[0].has_default, df=lambda: [l.find_function_by_name("d").differentiable, l.find_function_by_name("func").differentiable],
                fields=lambda: {k: v.type.full_name for k, v in l.find_type_by_name("S").fields.items()}, same=lambda: l.find_type_by_name("S") is l.find_type_by_name("S"), none=lambda: l.find_type_by_name("Missing"), fnone=lambda: l.find_function_by_name("zzz"), sz=lambda: l.find_type_by_name("float3").buffer_layout.size, st=lambda: l.find_type_by_name("float3").uniform_layout.size, ds=lambda: l.find_type_by_name("float").derivative.full_name, dsf=lambda: l.find_type_by_name("int").derivative,
                gen=lambda: m["G<float,4>"].struct.full_name, st_name=lambda: l.find_type_by_name("float3").slang_scalar_type, isgen=lambda: l.find_type_by_name("S").is_generic, ov=lambda: l.find_function_by_name("over").is_overloaded, ovn=lambda: len(l.find_function_by_name("over").overloads), this=lambda: l.find_function_by_name("func").this, vt=lambda: l.find_type_by_name("float3").num_elements if hasattr(l.find_type_by_name("float3"), "num_elements") else "none", rep=lambda: repr(m.S), repm=lambda: repr(m).startswith("Module("), cls=lambda: [x for x in ("SlangType", "SlangFunction", "SlangProgramLayout", "ScalarType", "VectorType", "MatrixType", "ArrayType", "StructType", "TextureType", "TensorType", "SlangParameter", "SlangField") if not hasattr(R, x)])


@case
def modules_and_sessions(spy, device):
    s = device.create_slang_session(compiler_options={"defines": {"N": "4"}})
    a = s.load_module_from_source("defs", "int four() { return N; } extern static const int K; [shader(\"compute\")][numthreads(N,1,1)] void main(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<int> r) { r[0] = K; }")
    prog = s.load_program("defs", ["main"], additional_source="export static const int K = 11;") if False else None
    b = s.load_module_from_source("adds", "export static const int K = 11;")
    p = s.link_program([a, b], [a.entry_point("main")])
    r = device.create_buffer(data=np.zeros(1, np.int32), usage=spy.BufferUsage.unordered_access)
    device.create_compute_kernel(p).dispatch([1, 1, 1], r=r)
    comp = s.compose_modules("both", [a, b])
    return each(r=lambda: r.to_numpy().view(np.int32), tg=lambda: list(p.layout.entry_points[0].compute_thread_group_size), comp=lambda: [comp.is_composed, [x.name for x in comp.source_modules], a.is_composed, list(a.source_modules)], sess=lambda: a.session is s, dev=lambda: s.device is device, bad=lambda: error(s.load_module_from_source, "bad", "this is no slang"), miss=lambda: error(s.load_module, "does_not_exist"), twice=lambda: s.load_module_from_source("adds", "export static const int K = 11;").name,
                other=lambda: error(s.load_module_from_source, "adds", "export static const int K = 12;"), desc=lambda: [s.desc.compiler_options.defines, s.desc.add_default_include_paths], none=prog and (lambda: 1) or (lambda: 1), dd=lambda: type(device.slang_session.desc.compiler_options.include_paths).__name__, load=lambda: error(spy.Module.load_from_source, device, "bad", "no slang"), file=lambda: error(spy.Module.load_from_file, device, "missing.slang"))


@case
def modules_linked(spy, device):
    ext = device.load_module_from_source("ext_a", "export static const int k = 5; export struct Impl : IThing = Foo; interface IThing { int f(); } struct Foo : IThing { int f() { return 8; } }") if False else device.load_module_from_source("ext_b", "export static const int k = 5;")
    m = load(spy, device, "import slangpy;\nextern static const int k;\nint f(int a) { return a + k; }", link=[ext])
    lib = load(spy, device, "import slangpy;\npublic float lib_add(float a) { return a + 1; }")
    via = spy.Module.load_from_module(device, device.load_module_from_source("via", "int g(int a) { return a * 2; }"))
    return each(f=lambda: m.f(2), link=lambda: len(m.link), src=lambda: m.device_module.is_composed, via=lambda: via.g(4), vname=lambda: via.name, lib=lambda: lib.lib_add(1.0), mod=lambda: spy.Module(device.load_module_from_source("plain_m", "int h(int a) { return a * 3; }")).h(4))


@case
def modules_from_files(spy, device):
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "inc.slang"), "w") as f:
            f.write("float helper(float a) { return a * 2; }")
        with open(os.path.join(d, "mainfile.slang"), "w") as f:
            f.write('import slangpy;\n#include "inc.slang"\nfloat g(float a) { return helper(a); }')
        m = spy.Module.load_from_file(device, os.path.join(d, "mainfile.slang"))
        return each(g=lambda: m.g(2.0), name=lambda: m.name.endswith("mainfile") or m.name.endswith("mainfile.slang"), path=lambda: str(m.device_module.path).endswith("mainfile.slang"), same=lambda: spy.Module.load_from_file(device, os.path.join(d, "mainfile.slang")).g(3.0))


@case
def entry_points_are_specialized(spy, device):
    m = device.load_module_from_source("spec", "interface I { int f(); } struct A : I { int f() { return 3; } } struct B : I { int f() { return 4; } } [shader(\"compute\")][numthreads(1,1,1)] void main<T : I>(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<int> r) { T x; r[0] = x.f(); }") if False else None
    return m is None


@case
def buffer_cursors(spy, device):
    m = load(spy, device, """
import slangpy;
struct In { float2 a; int n; }
struct S { float x; float3 v; float2x2 m; int arr[3]; In inner; In list[2]; bool on; half h; uint8_t u8; double d; int64_t l; float* p; }
""")
    l = m.device_module.layout
    tl = l.get_type_layout(l.find_type_by_name("StructuredBuffer<S>")).element_type_layout
    c = spy.BufferCursor(device.info.type, tl, 2)
    value = {"x": 1.5, "v": [1, 2, 3], "m": np.arange(4, dtype=np.float32).reshape(2, 2), "arr": [4, 5, 6], "inner": {"a": spy.float2(7, 8), "n": 9}, "list": [{"a": [1, 2], "n": 3}, {"a": [4, 5], "n": 6}], "on": True, "h": 0.5, "u8": 200, "d": 0.25, "l": -7, "p": 4096}
    c[0].write(value)
    c[1].x = 3.0
    c[1]["v"] = spy.float3(4, 5, 6)
    c[1].inner.a = (1, 2)
    e = c[1]
    return each(one=lambda: c[0].read(), two=lambda: [e.x.read(), e.v.read(), e["inner"]["a"].read()], arr=lambda: c[0].arr[1].read(), fields=lambda: [e.has_field("x"), e.has_field("zzz"), e.find_field("zzz").is_valid(), e.list.has_element(1), e.list.has_element(2)], n=lambda: [len(c), c.element_count, c.element_size, c.element_stride, c.size], loaded=lambda: c.is_loaded, bad=lambda: fails(c[0].write, {"arr": [1, 2]}), badt=lambda: fails(lambda: setattr(c[0], "v", "x")), out=lambda: error(lambda: c[2]), types=lambda: [type(x).__name__ for x in (e.x.read(), e.v.read(), e.on.read(), e.arr.read(), e.inner.read())], bytes=lambda: c.to_numpy().nbytes,
                off=lambda: [e.x._offset, e.v._offset, e.inner._offset], rein=lambda: c[0].inner.reinterpret(l.get_type_layout(l.find_type_by_name("In"))).n.read(), unk=lambda: c[0].write({"zzz": 1}), boolw=lambda: setattr(c[0], "on", 0), neg=lambda: c[-1].x.read(), fromnp=lambda: c.write_from_numpy({"x": np.array([8, 9], np.float32)}), fx=lambda: [c[0].x.read(), c[1].x.read()], rp=lambda: repr(c[0].x), attr=lambda: fails(lambda: c.zzz))


@case
def query_pools_and_fences(spy, device):
    q = device.create_query_pool(spy.QueryType.timestamp, 4)
    e = device.create_command_encoder()
    e.write_timestamp(q, 0)
    e.write_timestamp(q, 1)
    device.submit_command_buffer(e.finish())
    device.wait()
    f = device.create_fence()
    g = device.create_fence(initial_value=3)
    return each(order=lambda: q.get_result(0) <= q.get_result(1), n=lambda: len(q.get_results(0, 2)), t=lambda: type(q.get_timestamp_result(0)).__name__, desc=lambda: [q.desc.type, q.desc.count], reset=lambda: q.reset(), f=lambda: [f.current_value, f.signaled_value], sig=lambda: f.signal(), f2=lambda: f.current_value, sig2=lambda: f.signal(10), f3=lambda: [f.current_value, f.signaled_value], w=lambda: f.wait(10), g=lambda: g.current_value, back=lambda: fails(g.signal, 1), auto=lambda: spy.Fence.AUTO, to=lambda: error(g.wait, 100, 1000))


@case
def fences_of_submits(spy, device):
    f = device.create_fence()
    e = device.create_command_encoder()
    cb = e.finish()
    i = device.submit_command_buffers([cb], [], [], [f], [5])
    f.wait(5)
    return f.current_value, type(i).__name__, device.is_submit_finished(i)


@case
def hot_reload(spy, device):
    calls = []
    i = device.register_shader_hot_reload_callback(lambda e: calls.append(type(e).__name__))
    m = load(spy, device, "import slangpy;\nfloat reloaded(float a) { return a; }")
    m.reloaded(1.0)
    device.reload_all_programs()
    device.unregister_shader_hot_reload_callback(i)
    device.reload_all_programs()
    return calls, type(i).__name__, m.reloaded(2.0)


@case(own_device=True)
def hot_reload_of_files(spy, device):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "hot.slang")
        def write(n):
            with open(path, "w") as f:
                f.write(f"import slangpy;\nstruct S {{ float x; {'float y;' if n == 2 else ''} }}\nfloat f(float a) {{ return a + {n}; }}")
        write(1)
        m = spy.Module.load_from_file(device, path)
        a = m.f(1.0)
        s = m.S
        write(2)
        device.reload_all_programs()
        return a, m.f(1.0), sorted(m.layout.find_type_by_name("S").fields), type(s).__name__


DRAW = """
struct V { float4 p : SV_Position; float3 c : COLOR; };
[shader("vertex")] V vs(float2 p : POSITION, float3 c : COLOR) { V v; v.p = float4(p, 0.5, 1); v.c = c; return v; }
uniform float gain;
[shader("fragment")] float4 fs(V v) : SV_Target { return float4(v.c * gain, 1); }
"""


@case(only=("vulkan",))
def draws(spy, device):
    mod, prog = program(spy, device, DRAW, "vs", "fs")
    data = np.array([[-1, -1, 1, 0, 0], [3, -1, 0, 1, 0], [-1, 3, 0, 0, 1]], np.float32)
    vb = device.create_buffer(data=data, usage=spy.BufferUsage.vertex_buffer)
    ib = device.create_buffer(data=np.array([0, 1, 2], np.uint32), usage=spy.BufferUsage.index_buffer)
    layout = device.create_input_layout(input_elements=[{"semantic_name": "POSITION", "semantic_index": 0, "format": spy.Format.rg32_float, "offset": 0}, {"semantic_name": "COLOR", "semantic_index": 0, "format": spy.Format.rgb32_float, "offset": 8}], vertex_streams=[{"stride": 20}])
    tex = device.create_texture(format=spy.Format.rgba32_float, width=8, height=8, usage=spy.TextureUsage.render_target | spy.TextureUsage.shader_resource)
    pipe = device.create_render_pipeline(program=prog, input_layout=layout, targets=[{"format": spy.Format.rgba32_float}])
    def go(indexed):
        e = device.create_command_encoder()
        with e.begin_render_pass({"color_attachments": [{"view": tex.create_view({}), "load_op": spy.LoadOp.clear, "store_op": spy.StoreOp.store, "clear_value": [0, 0, 0, 0]}]}) as p:
            root = p.bind_pipeline(pipe)
            spy.ShaderCursor(root)["gain"] = 0.5
            p.set_render_state({"viewports": [spy.Viewport.from_size(8, 8)], "scissor_rects": [spy.ScissorRect.from_size(8, 8)], "vertex_buffers": [vb], **({"index_buffer": ib, "index_format": spy.IndexFormat.uint32} if indexed else {})})
            (p.draw_indexed if indexed else p.draw)({"vertex_count": 3})
        device.submit_command_buffer(e.finish())
        return tex.to_numpy()
    return each(draw=lambda: go(False), indexed=lambda: go(True), bad=lambda: fails(device.create_render_pipeline, program=None, input_layout=None))
