"""Programs of other users, third set: classes told apart, struct properties, compilation reports, prints of kernels, helper modules, longer scripts."""
import math
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, plain, random


@case
def users3_more_classes_of_objects(spy, device):
    s = device.load_module_from_source("users3_classes", "struct P { float a; int b[2]; };\nuniform P u;\nRWStructuredBuffer<P> o;\n[shader(\"compute\")] [numthreads(1,1,1)] void run(uint3 t : SV_DispatchThreadID, uniform float k) { o[t.x] = u; }\nfloat f(float a, int b) { return a; } float f(int a) { return a; }")
    p = device.link_program([s], [s.entry_point("run")])
    L = s.layout
    t = L.find_type_by_name("P")
    f = L.find_function_by_name("f")
    e = device.create_command_encoder()
    q = e.begin_compute_pass()
    q.end()
    objects = dict(SlangModule=s, ShaderProgram=p, ProgramLayout=L, TypeReflection=t, TypeReflectionFieldList=t.fields, VariableReflection=t.fields[0], FunctionReflection=f, FunctionReflectionParameterList=f.parameters, FunctionReflectionOverloadList=f.overloads, TypeLayoutReflection=L.get_type_layout(t), TypeLayoutReflectionFieldList=L.get_type_layout(t).fields, VariableLayoutReflection=L.get_type_layout(t).fields[0], EntryPointLayout=p.layout.entry_points[0], EntryPointLayoutParameterList=p.layout.entry_points[0].parameters, ProgramLayoutParameterList=p.layout.parameters, ProgramLayoutEntryPointList=p.layout.entry_points, DeclReflection=s.module_decl, DeclReflectionChildList=s.module_decl.children, DeclReflectionIndexedChildList=s.module_decl.children_of_kind(spy.DeclReflection.Kind.func), ReflectionCursor=p.reflection, SlangSession=device.slang_session, SlangEntryPoint=s.entry_point("run"), CommandEncoder=e, ComputePassEncoder=q, CommandBuffer=e.finish(), ComputeKernel=device.create_compute_kernel(p), ComputePipeline=device.create_compute_pipeline(p), ShaderObject=device.create_root_shader_object(p), Buffer=device.create_buffer(size=4, usage=spy.BufferUsage.shader_resource), Fence=device.create_fence(), Sampler=device.create_sampler(), DeviceInfo=device.info, DeviceLimits=device.info.limits, DeviceDesc=device.desc, ShaderCacheStats=device.shader_cache_stats, NativeHandle=spy.NativeHandle(), FormatInfo=spy.get_format_info(spy.Format.r32_float), SlangCompilerOptions=spy.SlangCompilerOptions(), QueryPool=device.create_query_pool(spy.QueryType.timestamp, 1) if device.info.type != getattr(spy.DeviceType, "cpu", None) else None, SlangSessionDesc=device.slang_session.desc, Device=device)
    objects["MemoryUsage"] = None
    out = {k: lambda k=k, v=v: v is None or isinstance(v, getattr(spy, k)) for k, v in objects.items() if k != "MemoryUsage"}
    b = objects["Buffer"]
    return each(**out, bases=lambda: [isinstance(objects[k], spy.DeviceChild) for k in ("Buffer", "Fence", "Sampler", "CommandEncoder", "CommandBuffer", "ComputeKernel", "ComputePipeline", "ShaderProgram")], obj=lambda: [isinstance(objects[k], spy.Object) for k in ("Buffer", "Device", "SlangModule", "SlangSession", "ShaderObject", "CommandEncoder")], refl=lambda: [isinstance(objects[k], spy.BaseReflectionObject) for k in ("TypeReflection", "FunctionReflection", "VariableReflection", "TypeLayoutReflection", "ProgramLayout", "EntryPointLayout", "DeclReflection")], sub=lambda: [issubclass(spy.ComputePassEncoder, spy.PassEncoder), issubclass(spy.RenderPassEncoder, spy.PassEncoder), issubclass(spy.ComputePipeline, spy.Pipeline), issubclass(spy.ComputeKernel, spy.Kernel), issubclass(spy.Texture, spy.Resource), issubclass(spy.Buffer, spy.Resource), issubclass(spy.Resource, spy.DeviceChild)], mem=lambda: [type(b.memory_usage).__name__, b.memory_usage.host >= 0], not_=lambda: [isinstance(spy.Tensor.zeros(device, (1,), "float"), spy.Buffer), isinstance(b, spy.Texture), isinstance(b, spy.Tensor)])


@case
def users3_more_struct_properties(spy, device):
    m = load(spy, device, "import slangpy;\nstruct A : IDifferentiable { float x; float3 v; static float s(float a) { return a; } float m() { return x; } };\nstruct B<T> { T t; };\nstruct C { A a; int n[3]; Texture2D<float> tex; };\n")
    return each(a=lambda: [m.A.name, m.A.full_name, m.A.shape, m.A.num_dims, m.A.differentiable, m.A.is_generic, m.A.element_type, m.A.vector_type_name, sorted(m.A.fields), m.A.derivative.full_name], lay=lambda: [m.A.uniform_layout.size, m.A.buffer_layout.size, m.A.buffer_layout.stride, m.A.buffer_layout.alignment, type(m.A.layout).__name__ != "", m.A.buffer_layout.reflection.size], f3=lambda: [m.float3.name, m.float3.shape, m.float3.num_dims, m.float3.element_type.full_name, m["float[4]"].shape, m["float3[2]"].shape, m.float3x4.shape if hasattr(m, "float3x4") else None], c=lambda: [sorted(m.C.fields), m.C.differentiable, m.C.fields["n"].type.full_name, m.C.fields["a"].type.differentiable, m.C.derivative], same=lambda: [m.A.session is m.session, m.A.device is device, m.A.device_module is m.device_module, m.A.type_reflection.full_name, m.A.as_struct() is m.A, error(m.A.as_func), m.A.try_get_child("m").name, m.A.try_get_child("zzz"), m.A["s"].name, error(lambda: m.A["zzz"])], fn=lambda: [m.A.s(2.0), m.A.m({"x": 3.0, "v": [0, 0, 0]}), m.A.m.as_func() is m.A.m], hashable=lambda: [m.A == m.A, len({m.A, m.A}), m.A.struct == m.A.struct])


@case
def users3_more_compilation_reports(spy, device):
    d = spy.create_device(type=device.info.type, enable_compilation_reports=True)
    try:
        s = d.load_module_from_source("users3_rep", "RWStructuredBuffer<float> o;\n[shader(\"compute\")] [numthreads(1,1,1)] void run(uint3 t : SV_DispatchThreadID) { o[t.x] = t.x; }")
        p = d.link_program([s], [s.entry_point("run")])
        k = d.create_compute_kernel(p)
        b = d.create_buffer(element_count=2, struct_size=4, usage=spy.BufferUsage.unordered_access)
        k.dispatch([2, 1, 1], {"o": b})
        r = p.get_compilation_report()
        rs = d.get_compilation_reports()
        return each(keys=lambda: sorted(r), entry=lambda: sorted(r["entry_point_reports"][0]), name=lambda: [x["name"] for x in r["entry_point_reports"]], pipes=lambda: [x["type"] for x in r["pipeline_reports"]], pk=lambda: sorted(r["pipeline_reports"][0]), alive=lambda: [r["alive"], type(r["label"]).__name__], many=lambda: [type(rs).__name__, len(rs) >= 1, sorted(rs[0]) == sorted(r)], times=lambda: [type(r["create_time"]).__name__, r["compile_time"] >= 0 if "compile_time" in r else None])
    finally:
        d.close()


@case
def users3_more_prints_of_kernels(spy, device):
    d = spy.create_device(type=device.info.type, enable_print=True)
    try:
        m = spy.Module.load_from_source(d, "users3_prints", "import slangpy;\nvoid nothing(int i) { }\nfloat f(float a) { return a; }\n")
        return each(empty=lambda: [m.nothing(3), d.flush_print_to_string()], flush=lambda: d.flush_print(), f=lambda: m.f(2.0), desc=lambda: [d.desc.enable_print, d.desc.enable_hot_reload, d.desc.enable_debug_layers], cur=lambda: spy.Device.get_created_devices()[-1] is d or len(spy.Device.get_created_devices()) >= 2)
    finally:
        d.close()


@case
def users3_more_tables_of_text(spy, device):
    from slangpy.core import logging as lg
    rows = [{"name": "a", "value": 1, "kids": [{"name": "b", "value": 22, "kids": None}]}, {"name": "long name here", "value": 333, "kids": None}]
    cols = [lg.TableColumn("Name", 10, "name"), lg.TableColumn("Value", 6, lambda x: x["value"])]
    class Row:
        def __init__(self, **k):
            self.__dict__.update(k)
    objs = [Row(name="a", value=1), Row(name="b", value=2)]
    m = load(spy, device, "import slangpy;\nfloat add(float a, float3 b) { return a + b.x; }\n")
    return each(cols=lambda: [cols[0].name, cols[0].width], objects=lambda: lg.generate_table([lg.TableColumn("Name", 10, "name"), lg.TableColumn("Value", 6, lambda x: x.value)], objs, None), kids=lambda: lg.generate_table([lg.TableColumn("Name", 10, lambda x: x["name"])], rows, lambda x: x["kids"]), high=lambda: lg.generate_table([lg.TableColumn("Name", 10, "name")], objs, None, objs[1]), filt=lambda: lg.generate_table([lg.TableColumn("Name", 6, "name"), lg.TableColumn("V", 4, lambda x: x.value)], objs, None, None, {"Name": True}), empty=lambda: lg.generate_table([lg.TableColumn("Name", 10, "name")], [], None), fr=lambda: lg.function_reflection(None), fr2=lambda: "add" in lg.function_reflection(m.device_module.layout.find_function_by_name("add")))


@case
def users3_more_log_functions(spy, device):
    lines = []
    class Out(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append([level.name, name, msg])
    g = spy.Logger.get()
    o, level = Out(), g.level
    def go():
        g.add_output(o)
        g.level = spy.LogLevel.debug
        try:
            for n in ("debug", "info", "warn"):
                getattr(spy, f"log_{n}")(n)
                getattr(spy, f"log_{n}_once")(f"users3 {n}")
                getattr(spy, f"log_{n}_once")(f"users3 {n}")
            spy.log(spy.LogLevel.warn, "w", spy.LogFrequency.always)
            spy.log(level=spy.LogLevel.info, msg="users3 k", frequency=spy.LogFrequency.once)
            spy.log(level=spy.LogLevel.info, msg="users3 k", frequency=spy.LogFrequency.once)
            g.debug_once("users3 d"), g.warn_once("users3 d")
        finally:
            g.level = level
            g.remove_output(o)
        spy.log_info("gone")
        return list(lines)
    return each(go=go, bad=lambda: [error(spy.log_info), error(spy.log_info, 3), error(spy.log, "info", "x")], rem=lambda: fails(g.remove_output, o))


@case
def users3_more_handles_refused(spy, device):
    b = device.create_buffer(size=64, usage=spy.BufferUsage.shader_resource)
    s = device.create_sampler()
    return each(native=lambda: [type(b.native_handle).__name__, isinstance(b.native_handle.value, int)], shared=lambda: fails(lambda: b.shared_handle.value) == "raises" or True, fence=lambda: fails(lambda: device.create_fence().shared_handle.value) == "raises" or True, samp=lambda: fails(lambda: s.descriptor_handle.value) == "raises" or True, devs=lambda: [type(h).__name__ for h in device.native_handles] == ["NativeHandle"] * len(device.native_handles), cuda=lambda: [device.set_cuda_context_current(), fails(lambda: device.sync_to_cuda()) in (None, "raises")], interop=lambda: isinstance(device.supports_cuda_interop, bool), ctx=lambda: fails(spy.get_cuda_current_context_native_handles) in ([], "raises") or True)


@case
def users3_more_modules_imported(spy, device):
    import importlib
    names = "slangpy.types slangpy.types.buffer slangpy.types.callidarg slangpy.types.common slangpy.types.diffpair slangpy.types.helpers slangpy.types.randfloatarg slangpy.types.tensor slangpy.types.threadidarg slangpy.types.valueref slangpy.types.wanghasharg slangpy.bindings slangpy.bindings.boundvariable slangpy.bindings.boundvariableruntime slangpy.bindings.codegen slangpy.bindings.marshall slangpy.bindings.typeregistry slangpy.builtin slangpy.builtin.array slangpy.builtin.diffpair slangpy.builtin.numpy slangpy.builtin.range slangpy.builtin.struct slangpy.builtin.tensor slangpy.builtin.texture slangpy.builtin.value slangpy.builtin.valueref slangpy.core slangpy.core.calldata slangpy.core.callsignature slangpy.core.enums slangpy.core.function slangpy.core.generator slangpy.core.instance slangpy.core.logging slangpy.core.module slangpy.core.native slangpy.core.packedarg slangpy.core.shapes slangpy.core.struct slangpy.core.utils slangpy.experimental slangpy.experimental.gridarg slangpy.experimental.diffinstancelist slangpy.reflection slangpy.reflection.lookup slangpy.reflection.reflectiontypes slangpy.math slangpy.native_refl slangpy.native_func slangpy.slangpy slangpy.torchintegration slangpy.thread".split()
    def has(n):
        try:
            importlib.import_module(n)
            return True
        except ImportError:
            return False
    from slangpy.core.calldata import SLANG_PATH
    from slangpy.core.generator import MAX_DISPATCH_THREAD_GROUPS_X
    from slangpy.core.shapes import check_concrete
    from slangpy.types.diffpair import DiffPair, diffPair, floatDiffPair
    from slangpy.types.valueref import ValueRef, floatRef, intRef
    return each(**{n.replace(".", "_"): lambda n=n: has(n) for n in names}, path=lambda: os.path.isdir(str(SLANG_PATH)), most=lambda: MAX_DISPATCH_THREAD_GROUPS_X, conc=lambda: [check_concrete(spy.slangpy.Shape(1, 2)), error(check_concrete, spy.slangpy.Shape(-1))], same=lambda: [DiffPair is spy.DiffPair, diffPair is spy.diffPair, ValueRef is spy.ValueRef, intRef(3).value, floatRef(1).value, floatDiffPair(2.0).primal], types=lambda: [n for n in ("Tensor", "DiffPair", "ValueRef", "call_id", "thread_id", "rand_float", "wang_hash", "grid", "diffPair", "floatDiffPair", "intRef", "floatRef") if not hasattr(spy, n)])


@case
def users3_more_instances_in_lists(spy, device):
    m = load(spy, device, """
import slangpy;
struct Tri { float3 a, b, c; float area() { return length(cross(b - a, c - a)) / 2; } float3 normal() { return normalize(cross(b - a, c - a)); } [mutating] void move(float3 d) { a += d; b += d; c += d; } float3 at(float2 uv) { return a + (b - a) * uv.x + (c - a) * uv.y; } };
struct Hit { float t; int id; float2 uv; };
Hit trace(float3 o, float3 d, StructuredBuffer<Tri> tris, int n) { Hit h; h.t = 1e9; h.id = -1; h.uv = 0; for (int i = 0; i < n; i++) { Tri t = tris[i]; float3 e1 = t.b - t.a, e2 = t.c - t.a, p = cross(d, e2); float det = dot(e1, p); if (abs(det) < 1e-8) continue; float3 s = o - t.a; float u = dot(s, p) / det; float3 q = cross(s, e1); float v = dot(d, q) / det; float k = dot(e2, q) / det; if (u >= 0 && v >= 0 && u + v <= 1 && k > 0 && k < h.t) { h.t = k; h.id = i; h.uv = float2(u, v); } } return h; }
int id(Hit h) { return h.id; } float dist(Hit h) { return h.t; }
""")
    v = random(5, 3, 3, seed=4) * 2 - 1
    t = spy.Tensor.zeros(device, (5,), m.Tri)
    t.copy_from_numpy(v.reshape(5, 9))
    tris = spy.InstanceTensor(m.Tri, (5,), t)
    ys, xs = np.mgrid[-1:1:6j, -1:1:6j].astype(np.float32)
    o = np.stack([xs, ys, np.full_like(xs, -3)], -1)
    h = m.trace(np.ascontiguousarray(o), spy.float3(0, 0, 1), t, 5)
    def moved():
        tris.move(spy.float3(1, 0, 0))
        return [tris.area(_result="numpy"), tris.at(spy.float2(0, 0), _result="numpy")]
    return each(area=lambda: tris.area(_result="numpy"), normal=lambda: tris.normal(_result="numpy"), ids=lambda: m.id(h, _result="numpy"), dist=lambda: np.minimum(m.dist(h, _result="numpy"), 100), dt=lambda: [h.dtype.name, h.shape, h.storage.struct_size], moved=moved, one=lambda: m.id(m.trace(spy.float3(0, 0, -3), spy.float3(0, 0, 1), t, 5)), names=lambda: list(m.trace(spy.float3(0, 0, -3), spy.float3(0, 0, 1), t, 5)), host=lambda: bool(np.allclose(m.Tri.area(t, _result="numpy"), np.linalg.norm(np.cross(v[:, 1] - v[:, 0], v[:, 2] - v[:, 0]), axis=1) / 2, atol=1e-5)), uvs=lambda: tris.at(random(5, 2), _result="numpy").shape)


@case
def users3_more_game_of_rules(spy, device):
    m = load(spy, device, """
import slangpy;
struct Rule { uint born; uint stay; bool apply(bool alive, int n) { return ((alive ? stay : born) >> n) & 1; } };
uint8_t step(int2 p, Tensor<uint8_t, 2> g, Rule r) { int w = g.shape[1], h = g.shape[0]; int n = 0; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) if (x != 0 || y != 0) n += g[(p.y + y + h) % h, (p.x + x + w) % w]; return r.apply(g[p.y, p.x] != 0, n) ? uint8_t(1) : uint8_t(0); }
""")
    g = np.zeros((8, 8), np.uint8)
    g[1, 2] = g[2, 3] = g[3, 1] = g[3, 2] = g[3, 3] = 1
    life = {"born": 1 << 3, "stay": (1 << 2) | (1 << 3)}
    t = spy.Tensor.from_numpy(device, g)
    out = []
    for _ in range(8):
        t = m.step(spy.grid((8, 8)), t, life)
        out.append(int(t.to_numpy().sum()))
    return [out, t.to_numpy(), m.step(spy.grid((8, 8)), t, {"born": 1 << 1, "stay": 0}, _result="numpy").sum().item(), t.dtype.full_name]


@case
def users3_more_newton_basins(spy, device):
    m = load(spy, device, """
import slangpy;
struct Cx { float re; float im; Cx mul(Cx o) { Cx r; r.re = re * o.re - im * o.im; r.im = re * o.im + im * o.re; return r; } Cx sub(Cx o) { Cx r; r.re = re - o.re; r.im = im - o.im; return r; } Cx div(Cx o) { float d = o.re * o.re + o.im * o.im; Cx r; r.re = (re * o.re + im * o.im) / d; r.im = (im * o.re - re * o.im) / d; return r; } float norm() { return sqrt(re * re + im * im); } };
extern static const int STEPS = 12;
Cx cx(float re, float im) { Cx r; r.re = re; r.im = im; return r; }
Cx newton(Cx z) { Cx one = cx(1, 0); for (int i = 0; i < STEPS; i++) { Cx z2 = z.mul(z); Cx f = z2.mul(z).sub(one); z = z.sub(f.div(cx(3 * z2.re, 3 * z2.im))); } return z; }
int basin(Cx z) { return z.re > 0.5 ? 0 : z.im > 0 ? 1 : 2; }
""")
    re, im = np.meshgrid(np.linspace(-1.4, 1.5, 6, dtype=np.float32), np.linspace(-1.3, 1.4, 5, dtype=np.float32))
    z = m.newton({"re": np.ascontiguousarray(re), "im": np.ascontiguousarray(im)})
    return each(basin=lambda: m.basin(z, _result="numpy"), shape=lambda: [z.shape, z.dtype.full_name], one=lambda: m.basin(m.newton(m.cx(1.2, 0.3))), fewer=lambda: m.newton.constants({"STEPS": 1})(m.cx(2.0, 0.0)), norm=lambda: m.Cx.norm(z, _result="numpy"), mul=lambda: m.Cx.mul({"re": 1.0, "im": 2.0}, {"re": 3.0, "im": -1.0}), outer=lambda: m.newton({"re": np.float32([0.5, 1.5]), "im": np.float32([[0.5], [1.0], [-1.0]])}).shape, mixed=lambda: m.newton({"re": spy.Tensor.from_numpy(device, np.float32([1, 2])), "im": 0.5}).shape)


@case
def users3_more_least_squares(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float poly(float c[4], no_diff float x) { return c[0] + x * (c[1] + x * (c[2] + x * c[3])); }
[Differentiable] float cost(float c[4], no_diff float x, no_diff float y) { float d = poly(c, x) - y; return d * d; }
""")
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    y = (1 - 2 * x + 0.5 * x ** 3).astype(np.float32)
    c = spy.Tensor.zeros(device, (1, 4), "float").with_grads()
    out = []
    seed = spy.Tensor.from_numpy(device, np.zeros(20, np.float32)).with_grads()
    seed.grad.copy_from_numpy(np.full(20, 0.05, np.float32))
    for _ in range(6):
        c.grad.clear()
        m.cost.bwds(c, x, y, seed)
        g = c.grad.to_numpy()
        c.copy_from_numpy(c.to_numpy() - 0.5 * g)
        out.append(float(m.cost(c, x, y, _result="numpy").mean()))
    return [out, c.to_numpy(), g, m.poly([1, 2, 3, 4], 2.0), m.poly([1.0, 0.0, 0.0, 0.0], x, _result="numpy")[:3]]


@case
def users3_more_events_in_order(spy, device):
    m = load(spy, device, "import slangpy;\nvoid put(int i, RWStructuredBuffer<int> b, int v) { b[i] = v; }\nvoid addto(int i, RWStructuredBuffer<int> b, int v) { b[i] += v; }\n")
    RW = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    b = device.create_buffer(element_count=4, struct_size=4, usage=RW, data=np.zeros(4, np.int32))
    ids = np.arange(4, dtype=np.int32)
    e = device.create_command_encoder()
    m.put.append_to(e, ids, b, 5)
    for i in range(3):
        m.addto(ids, b, i, _append_to=e)
    before = b.to_numpy().view(np.int32).copy()
    n = device.submit_command_buffer(e.finish())
    device.wait_for_submit(n)
    after = b.to_numpy().view(np.int32).copy()
    x, y = device.create_command_encoder(), device.create_command_encoder()
    m.put(ids, b, 1, _append_to=x)
    m.addto(ids, b, 10, _append_to=y)
    second, first = y.finish(), x.finish()
    device.submit_command_buffers([first, second])
    device.wait()
    return [before, after, b.to_numpy().view(np.int32), device.is_submit_finished(n), n > 0, m.put.append_to(device.create_command_encoder(), ids, b, 2), b.to_numpy().view(np.int32)]
