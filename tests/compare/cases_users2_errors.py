"""Programs of other users, second set: what goes wrong, and which exception a script catches; odd arguments of makers; keywords."""
import os
import tempfile
import time

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


BASE = """
import slangpy;
struct P { float3 pos; int id; };
interface IShape { float area(); }
struct Sq : IShape { float s; float area() { return s * s; } };
float add(float a, float b) { return a + b; }
float3 scale(float3 v, float s) { return v * s; }
int first(int a[3]) { return a[0]; }
float area(IShape s) { return s.area(); }
T gen<T : IShape>(T t) { return t; }
float get(P p) { return p.pos.x + p.id; }
float tex(Texture2D<float4> t, int2 p) { return t[p].x; }
float buf(StructuredBuffer<float> b, int i) { return b[i]; }
void put(RWStructuredBuffer<float> b, int i) { b[i] = 1; }
float ten(Tensor<float, 2> t) { return t[0, 0]; }
void rten(RWTensor<float, 1> t) { t[0] = 1; }
void outp(out float a) { a = 1; }
bool flag(bool b) { return !b; }
float ptr(float* p) { return *p; }
float nodiff(float a) { return a; }
"""


@case
def users2_errors_of_wrong_arguments(spy, device):
    m = load(spy, device, BASE)
    T = spy.Tensor
    f1, f2 = T.zeros(device, (3,), "float"), T.zeros(device, (2, 3), "float")
    ro = T.zeros(device, (3,), "float", usage=spy.BufferUsage.shader_resource)
    b = device.create_buffer(element_count=3, struct_size=4, usage=rw(spy))
    calls = dict(few=lambda: m.add(1.0), many=lambda: m.add(1.0, 2.0, 3.0), none=lambda: m.add(), kw=lambda: m.add(1.0, c=2.0), twice=lambda: m.add(1.0, a=2.0), text=lambda: m.add("a", 1.0), nonev=lambda: m.add(None, 1.0), obj=lambda: m.add(object(), 1.0), cls=lambda: m.add(float, 1.0), fn=lambda: m.add(lambda: 1, 1.0), cplx=lambda: m.add(1j, 1.0), byt=lambda: m.add(b"abc", 1.0), st=lambda: m.add({1, 2}, 1.0), shapes=lambda: m.add(random(3), random(4)), dims=lambda: m.scale(random(4, 2), 1.0), vec2=lambda: m.scale(spy.float2(1, 2), 1.0), vec4=lambda: m.scale(spy.float4(1), 1.0), mat=lambda: m.scale(spy.float3x3(), 1.0), i64=lambda: m.add(np.arange(3), 1.0), f64=lambda: m.add(np.zeros(3), 1.0), u8=lambda: m.add(np.zeros(3, np.uint8), 1.0), bools=lambda: m.add(np.zeros(3, bool), 1.0), strs=lambda: m.add(np.array(["a"]), 1.0), objs=lambda: m.add(np.array([None]), 1.0), arr2=lambda: m.first([1, 2]), arr4=lambda: m.first([1, 2, 3, 4]), arrf=lambda: m.first([1.5, 2.0, 3.0]), iface=lambda: m.area({"s": 1.0}), ifacen=lambda: m.area(1.0), ifacet=lambda: m.area({"_type": "P", "pos": [0, 0, 0], "id": 1}), gen=lambda: m.gen({"s": 1.0}), genf=lambda: m.gen(1.0), miss=lambda: m.get({"pos": [1, 2, 3]}) and None, extra=lambda: m.get({"pos": [1, 2, 3], "id": 1, "q": 2}), wtype=lambda: m.get({"_type": "Sq", "pos": [1, 2, 3], "id": 1}), ntype=lambda: m.get({"_type": "Nope", "pos": [1, 2, 3], "id": 1}), short=lambda: m.get({"pos": [1, 2], "id": 1}), num=lambda: m.get(1.0), lst=lambda: m.get([1, 2, 3]), texn=lambda: m.tex(1.0, spy.int2(0)), texb=lambda: m.tex(b, spy.int2(0)), bufn=lambda: m.buf(1.0, 0), bufa=lambda: m.buf(random(3), 0), buft=lambda: m.put(ro, 0), rank=lambda: m.ten(f1), rtenr=lambda: m.rten(ro), rtenn=lambda: m.rten(random(3)), outn=lambda: m.outp(ro), outnone=lambda: m.outp(), flagf=lambda: m.flag(1.5), ptrf=lambda: m.ptr(1.5), ptrn=lambda: m.ptr(None), resn=lambda: m.add(1.0, 2.0, _result="none"), rest=lambda: m.add(random(3), 1.0, _result=T.zeros(device, (4,), "float")), resi=lambda: m.add(random(3), 1.0, _result=5), map_=lambda: m.add.map((0,))(random(3, 4), 1.0), mapk=lambda: m.add.map(z=(0,))(a=random(3), b=1.0), mapn=lambda: m.add.map((0, 0))(random(3, 4), 1.0), mapneg=lambda: m.add.map((-1,))(random(3), 1.0), mapstr=lambda: m.add.map("nope")(random(3), 1.0), cg=lambda: m.add.call_group_shape(spy.slangpy.Shape(2, 2))(random(3), 1.0), dsp=lambda: m.add.dispatch([1, 1, 1], a=1.0, b=2.0), bw=lambda: m.nodiff.bwds(1.0, 1.0), attr=lambda: m.nothing, item=lambda: m["nothing"], sattr=lambda: m.P.nothing, sitem=lambda: m.P["nothing"], call=lambda: m.P(1.0), gone=lambda: m.require_function("q"), enc=lambda: m.add.append_to("x", 1.0, 2.0), rng=lambda: m.add(range(0), 1.0), neglist=lambda: m.add([[1.0], [1.0, 2.0]], 1.0))
    return each(**calls)


@case
def users2_errors_of_tensors(spy, device):
    m = load(spy, device, BASE)
    T = spy.Tensor
    t = T.from_numpy(device, random(3, 4))
    g = t.with_grads()
    makers = dict(dt=lambda: T.zeros(device, (3,), "nope"), dtn=lambda: T.zeros(device, (3,), None), npd=lambda: T.zeros(device, (3,), np.float32), neg=lambda: T.zeros(device, (-1,), "float"), flt=lambda: T.zeros(device, (1.5,), "float"), txt=lambda: T.zeros(device, "3", "float"), nod=lambda: T.zeros(None, (3,), "float"), zero=lambda: T.zeros(device, (0,), "float").shape, zero2=lambda: T.zeros(device, (3, 0), "float").to_numpy().shape, void=lambda: T.zeros(device, (3,), "void"), tex=lambda: T.zeros(device, (3,), "Texture2D<float4>"), iface=lambda: T.zeros(device, (3,), m.IShape), st=lambda: T.zeros(device, (3,), m.P).dtype.full_name, stn=lambda: T.zeros(device, (3,), "P"), lst=lambda: T.zeros(device, [2, 3], "float").shape, shp=lambda: T.zeros(device, spy.slangpy.Shape(2, 3), "float").shape, kw=lambda: T.zeros(device=device, shape=(2,), dtype="int").shape, us=lambda: T.zeros(device, (3,), "float", usage=spy.BufferUsage.shader_resource).usage, mt=lambda: T.zeros(device, (3,), "float", memory_type=spy.MemoryType.device_local).memory_type, py=lambda: [T.zeros(device, (1,), x).dtype.full_name for x in (float, int, bool)], v=lambda: [T.zeros(device, (1,), x).dtype.full_name for x in (spy.float3, spy.int2, spy.float4x4, spy.uint4, spy.bool2, spy.float16_t2)], s=lambda: [T.zeros(device, (1,), x).dtype.full_name for x in (m.float3, m["float[2]"], m.layout.find_type_by_name("int2"))], el=lambda: T.empty_like(t).shape, zl=lambda: T.zeros_like(t).to_numpy(), zlg=lambda: T.zeros_like(g).grad_in is None, fn=lambda: T.from_numpy(device, random(2, 3).T).strides, fnl=lambda: T.from_numpy(device, [1.0, 2.0]), fnb=lambda: T.from_numpy(device, np.zeros(3, bool)), fnc=lambda: T.from_numpy(device, np.zeros(3, complex)), fn0=lambda: T.from_numpy(device, np.float32(1).reshape(())), fns=lambda: T.from_numpy(device, np.array(["a"])), fnr=lambda: T.from_numpy(device, random(4)[::-1]).to_numpy(), fnbc=lambda: T.from_numpy(device, np.broadcast_to(random(3), (2, 3))).to_numpy(), fns2=lambda: T.from_numpy(device, random(4, 6)[::2, 1::2]).to_numpy())
    use = dict(cbig=lambda: t.copy_from_numpy(random(13)), csmall=lambda: [t.copy_from_numpy(random(2)), t.to_numpy()[0]][1], cnc=lambda: t.copy_from_numpy(random(4, 3).T), clst=lambda: t.copy_from_numpy([1.0]), cf64=lambda: [t.copy_from_numpy(np.zeros(3)), 1][1], grad=lambda: t.grad, gi=lambda: [t.grad_in, t.grad_out], gg=lambda: [g.grad.shape, g.grad_in is g.grad_out, g.grad is g.grad_out], det=lambda: [g.detach().grad_out, g.detach().shape], set_=lambda: (lambda x: [setattr(x, "grad_in", T.zeros(device, (3, 4), "float")), x.grad_in is not None, x.grad_out])(T.zeros(device, (3, 4), "float")), ln=lambda: len(t), flt=lambda: float(t[0, 0]), bl=lambda: bool(t), eq=lambda: (t == t, t == g), it=lambda: [x.shape for x in t], idxf=lambda: t[1.5], idxn=lambda: t[None].shape, idxe=lambda: t[...].shape, idxee=lambda: t[..., ...], neg=lambda: t[-1].offset, oob=lambda: t[3], oobn=lambda: t[-4], sl=lambda: t[1:10].shape, sl0=lambda: t[::0], sln=lambda: t[::-1], many=lambda: t[0, 0, 0], asg=lambda: t.__setitem__(0, 1.0), bc=lambda: t.broadcast_to((2, 3, 4)).strides, bcb=lambda: t.broadcast_to((3, 5)), bcl=lambda: t.broadcast_to((4,)), vw=lambda: t.view((2, 6)).strides, vwb=lambda: t.view((2, 6), (1,)), vwn=lambda: t.view((2, 6), (-1, 1)), vwo=lambda: t.view((2,), (1,), 3).to_numpy().shape, vwbig=lambda: t.view((100,)).shape, pt=lambda: t.point_to(T.zeros(device, (4, 3), "float")), ptok=lambda: (lambda x: [x.point_to(t), x.storage is t.storage])(T.zeros(device, (3, 4), "float")), un=lambda: sorted(t.uniforms()), st=lambda: [t.storage.size, t.storage.struct_size, t.usage, t.memory_type, t.element_count, t.offset, t.strides], cur=lambda: len(t.cursor()), cur2=lambda: len(t.cursor(1, 2)), curb=lambda: t.cursor(20), clr=lambda: [t.clear(), t.to_numpy().sum()][1], rep=lambda: repr(t), s=lambda: str(T.zeros(device, (2,), "int")), tt=lambda: t.to_torch(), wg=lambda: [g.with_grads().grad_in is g.grad_in, T.zeros(device, (2,), "int").with_grads().grad.dtype.full_name])
    return each(**{"m_" + k: v for k, v in makers.items()}, **{"u_" + k: v for k, v in use.items()})


@case
def users2_errors_of_modules(spy, device):
    folder = tempfile.mkdtemp()
    def write(name, text):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
        return os.path.join(folder, name)
    good, bad, imp, cyc = write("e_good.slang", "public float f(float a) { return a; }"), write("e_bad.slang", "float f( { }"), write("e_imp.slang", "import nowhere_at_all; float f() { return 1; }"), write("e_self.slang", "import e_self; float f() { return 1; }")
    M = spy.Module
    S = lambda n, t, **k: M.load_from_source(device, n, t, **k)
    return each(good=lambda: M.load_from_file(device, good).f(2.0), noext=lambda: M.load_from_file(device, good[:-6]).f(2.0), bad=lambda: M.load_from_file(device, bad), imp=lambda: M.load_from_file(device, imp), cyc=lambda: fails(lambda: M.load_from_file(device, cyc).f()), none=lambda: M.load_from_file(device, folder + "/none.slang"), dirs=lambda: M.load_from_file(device, folder), empty=lambda: M.load_from_file(device, ""), num=lambda: M.load_from_file(device, 3), src=lambda: S("e_a", "float f() { return x; }"), typ=lambda: S("e_b", "Nope f() { return 1; }"), ret=lambda: S("e_c", "float f() { }"), dup=lambda: S("e_d", "float f() { return 1; } float f() { return 2; }"), emp=lambda: S("e_e", "").name != "", same=lambda: [S("e_f", "float f() { return 1; }").f(), S("e_f", "float f() { return 1; }").f()], diff=lambda: S("e_f", "float f() { return 2; }").f(), ename=lambda: fails(lambda: S("", "float f() { return 1; }").f()), sname=lambda: S("e with space", "float f() { return 1; }").f(), dname=lambda: S("e.dots", "float f() { return 1; }").f(), uni=lambda: S("e_u", "// äöü €\nfloat f() { return 1; }").f(), srcn=lambda: S("e_g", 5), devn=lambda: M.load_from_source(None, "e_h", ""), dev=lambda: M(5), lnk=lambda: M.load_from_source(device, "e_i", "float f() { return 1; }", link=[3]), opt=lambda: M.load_from_source(device, "e_j", "float f() { return 1; }", options={"nothing": 1}).f(), warn=lambda: S("e_k", "float f() { int a = 1.5; return a; }").f(), msg=lambda: (lambda e: "e_l" in e or "error" in e)(str_of(lambda: S("e_l", "float f() { return nope; }"))), ep=lambda: device.load_program(good, ["nothing"]), epn=lambda: device.load_module("nowhere_at_all"), lm=lambda: type(device.load_module(good)).__name__, path=lambda: os.path.basename(str(device.load_module(good).path)))


def str_of(f):
    try:
        f()
    except Exception as e:
        return str(e)
    return ""


@case
def users2_errors_at_call_time(spy, device):
    m = load(spy, device, """
import slangpy;
float undefined_generic<T>(T a) { return 1; }
extern static const int MISSING;
int needs() { return MISSING; }
interface IA { float go(); }
float dyn(IA a) { return a.go(); }
float big(float a[100000]) { return a[5]; }
struct Deep { struct In { float x; }; In i; };
float deep(Deep d) { return d.i.x; }
float div(float a, float b) { return a / b; }
int idiv(int a, int b) { return b == 0 ? -1 : a / b; }
uint wrap(uint a) { return a - 1; }
int over(int a) { return a + 1; }
float nan() { return 0.0 / 0.0; }
bool isn(float a) { return isnan(a); }
int16_t trunc16(int a) { return (int16_t)a; }
float s(float a) { return sqrt(a); }
uint shift(uint a, uint b) { return a << b; }
int toint(float a) { return (int)a; }
half toh(float a) { return (half)a; }
""")
    return each(needs=lambda: fails(m.needs), con=lambda: m.needs.constants({"MISSING": 4})(), deep=lambda: m.deep({"i": {"x": 3.0}}), div=lambda: [m.div(1.0, 0.0), m.div(-1.0, 0.0)], idiv=lambda: [m.idiv(7, 2), m.idiv(-7, 2), m.idiv(1, 0)], wrap=lambda: m.wrap(0), over=lambda: m.over(2147483647), big=lambda: fails(m.over, 2147483648), neg=lambda: fails(m.wrap, -1), huge=lambda: fails(m.wrap, 1 << 40), isn=lambda: [m.isn(float("nan")), m.isn(1.0)], t16=lambda: m.trunc16(70000), sq=lambda: m.s(4.0), sh=lambda: [m.shift(1, 31), m.shift(3, 31)], ti=lambda: [m.toint(2.9), m.toint(-2.9)], th=lambda: [m.toh(0.1), m.toh(65504.0)], gen=lambda: m.undefined_generic(1.0))


@case(own_device=True)
def users2_reload_while_in_use(spy, device):
    folder = tempfile.mkdtemp()
    path, dep = os.path.join(folder, "rl_main.slang"), os.path.join(folder, "rl_dep.slang")
    at = [0]
    def write(p, body):
        at[0] += 10
        with open(p, "w") as f:
            f.write(body)
        os.utime(p, (time.time() + at[0], time.time() + at[0]))
    write(dep, "module rl_dep; public float k() { return 2; }")
    write(path, "import rl_dep; import slangpy; struct S { float a; }; float f(float x) { return x * k(); } float g(S s) { return s.a; }\nRWStructuredBuffer<float> o; [shader(\"compute\")] [numthreads(1, 1, 1)] void main() { o[0] = k(); }")
    m = spy.Module.load_from_file(device, path)
    f, S, chained = m.f, m.S, m.f.return_type("numpy")
    b = device.create_buffer(element_count=1, struct_size=4, data=np.zeros(1, np.float32), usage=rw(spy))
    k = device.create_compute_kernel(device.load_program(path, ["main"]))
    def kern():
        k.dispatch([1, 1, 1], vars={"o": b})
        return b.to_numpy().view(np.float32)[0]
    def first():
        return f(3.0), m.g({"a": 4.0}), kern(), chained(random(2))
    def dep_changes():
        write(dep, "module rl_dep; public float k() { return 5; }")
        device.reload_all_programs()
        return m.f(3.0), f(3.0), kern(), chained(random(2))
    def fields():
        write(path, "import rl_dep; import slangpy; struct S { float a; float b; }; float f(float x) { return x + k(); } float g(S s) { return s.a + s.b; }\nRWStructuredBuffer<float> o; [shader(\"compute\")] [numthreads(1, 1, 1)] void main() { o[0] = k() + 1; }")
        device.reload_all_programs()
        return m.f(3.0), m.g({"a": 1.0, "b": 2.0}), sorted(m.S.fields), kern()
    def gone():
        write(path, "import rl_dep; import slangpy; float h(float x) { return x; }\nRWStructuredBuffer<float> o; [shader(\"compute\")] [numthreads(1, 1, 1)] void main() { o[0] = 9; }")
        device.reload_all_programs()
        return m.h(1.0), fails(lambda: m.f(1.0)), m.find_function("f") is None, kern()
    return each(a=first, b=dep_changes, c=fields, d=gone)


@case
def users2_keywords_and_orders_of_makers(spy, device):
    B, D = spy.BufferUsage, device
    s = D.load_module_from_source("users2_kw", "[shader(\"compute\")] [numthreads(4, 1, 1)] void main(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<uint> o) { o[t.x] = t.x; }")
    p = D.link_program(modules=[s], entry_points=[s.entry_point(name="main")])
    o = D.create_buffer(size=16, struct_size=4, usage=B.unordered_access | B.shader_resource)
    def run(k):
        k.dispatch(thread_count=[4, 1, 1], vars={}, command_encoder=None, o=o)
        return o.to_numpy().view(np.uint32)
    def q():
        pool = D.create_query_pool(type=spy.QueryType.timestamp, count=2)
        k = D.create_compute_kernel(program=p)
        k.dispatch(thread_count=[4, 1, 1], query_pool=pool, query_index_before=0, query_index_after=1, o=o)
        D.wait()
        r = pool.get_results(index=0, count=2)
        return r[1] >= r[0]
    return each(k=lambda: run(D.create_compute_kernel(program=p)), kd=lambda: run(D.create_compute_kernel((lambda d: [setattr(d, "program", p), d][1])(spy.ComputeKernelDesc()))), prog=lambda: run(D.create_compute_kernel(D.load_program(module_name="users2_kw", entry_point_names=["main"]))) if False else 0, q=q, fence=lambda: D.create_fence(initial_value=2, shared=False).current_value, samp=lambda: D.create_sampler(min_filter=spy.TextureFilteringMode.point, label="s").desc.min_filter, view=lambda: spy.InputLayoutDesc({"input_elements": [{"semantic_name": "P", "semantic_index": 0, "format": spy.Format.rg32_float, "offset": 0, "buffer_slot_index": 0}], "vertex_streams": [{"stride": 8}]}).input_elements[0].semantic_name, free=lambda: [spy.push_current_device(D), spy.create_buffer(size=16, usage=B.shader_resource).size, spy.create_fence(initial_value=4).current_value, spy.create_command_encoder() is not None, spy.pop_current_device() is D], enc=lambda: D.create_command_encoder(queue=spy.CommandQueueType.graphics).queue, sub=lambda: D.submit_command_buffer(command_buffer=D.create_command_encoder().finish(), queue=spy.CommandQueueType.graphics) > 0, wait=lambda: [D.wait_for_idle(queue=spy.CommandQueueType.graphics), D.wait(), D.flush_print()], feat=lambda: [D.has_feature(feature=spy.Feature.software_device) in (True, False), D.has_capability(capability="nothing")], fmt=lambda: D.get_format_support(format=spy.Format.rgba8_unorm) is not None, lim=lambda: [D.info.limits.max_compute_threads_per_group > 0, type(D.info.limits.max_compute_thread_group_size).__name__, type(D.info.adapter_name).__name__], root=lambda: type(D.create_root_shader_object(shader_program=p)).__name__, hb=lambda: [D.set_hot_reload_delay(timeout_ms=50), D.hot_reload_check()], rep=lambda: D.report_live_objects() if hasattr(D, "report_live_objects") else None)
