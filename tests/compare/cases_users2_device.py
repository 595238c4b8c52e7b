"""Programs of other users, second set: the device's own interface: buffers, encoders, kernels, programs, reflection, helpers."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


def floats(buffer):
    return buffer.to_numpy().view(np.float32)


@case
def users2_buffers_made_in_every_way(spy, device):
    s = device.load_module_from_source("users2_bufs", "struct P { float3 a; uint b; }; RWStructuredBuffer<P> ps; RWStructuredBuffer<float> fs; [shader(\"compute\")] [numthreads(1, 1, 1)] void main() { ps[0].b = 1; fs[0] = 1; }")
    p = device.link_program([s], [s.entry_point("main")])
    B, U, M = device.create_buffer, rw(spy), spy.MemoryType
    ps = p.reflection.ps
    d = lambda b: [b.size, b.struct_size, b.desc.size, b.desc.struct_size, b.desc.usage, b.desc.memory_type, b.desc.format, b.desc.label]
    return each(size=lambda: d(B(size=64, usage=U)), count=lambda: d(B(element_count=4, struct_size=12, usage=U)), data=lambda: d(B(data=np.arange(5, dtype=np.float32), usage=U)), dataz=lambda: d(B(data=np.arange(5, dtype=np.float32), usage=U, struct_size=4)), lay=lambda: d(B(element_count=3, resource_type_layout=ps, usage=U)), lay2=lambda: d(B(element_count=3, resource_type_layout=ps.type_layout, usage=U)), layf=lambda: d(B(element_count=3, resource_type_layout=p.reflection.fs, usage=U)), label=lambda: d(B(size=16, usage=U, label="mine")), desc=lambda: d(B(spy.BufferDesc({"size": 32, "usage": U, "label": "x"}))), dict_=lambda: d(B({"size": 32, "usage": U})), fmt=lambda: d(B(size=16, usage=U, format=spy.Format.rgba32_float)), fmtn=lambda: B(data=np.arange(4, dtype=np.float32), usage=U, format=spy.Format.rgba32_float).to_numpy(), up=lambda: d(B(size=16, memory_type=M.upload, usage=spy.BufferUsage.shader_resource)), rb=lambda: d(B(size=16, memory_type=M.read_back, usage=spy.BufferUsage.copy_destination)), none=lambda: fails(B), zero=lambda: fails(B, size=0, usage=U), nousage=lambda: fails(lambda: d(B(size=16))), both=lambda: fails(B, size=16, element_count=4, struct_size=4, usage=U), agree=lambda: fails(B, size=16, data=np.zeros(8, np.float32), usage=U), smaller=lambda: fails(B, size=64, data=np.zeros(8, np.float32), usage=U), cnt=lambda: fails(B, element_count=4, usage=U), half=lambda: fails(B, element_count=4, struct_size=4, data=np.zeros(8, np.float32), usage=U), shaped=lambda: d(B(data=np.zeros((2, 3), np.float32), usage=U)), nc=lambda: fails(lambda: d(B(data=np.zeros((4, 4), np.float32)[:, ::2], usage=U))), by=lambda: fails(lambda: B(data=b"abcd", usage=U)), lst=lambda: fails(lambda: B(data=[1.0, 2.0], usage=U)), addr=lambda: B(size=16, usage=U).device_address > 0, handle=lambda: B(size=16, usage=U).native_handle.value != 0, rep=lambda: repr(B(size=16, usage=U)).split("(")[0], mem=lambda: B(size=16, usage=U).memory_usage.device >= 16, dev=lambda: B(size=16, usage=U).device is device, state=lambda: B(size=16, usage=U).desc.default_state)


@case
def users2_buffer_contents(spy, device):
    B = lambda **k: device.create_buffer(usage=rw(spy), **k)
    b, c = B(data=np.arange(8, dtype=np.float32)), B(size=32)
    def do(f):
        e = device.create_command_encoder()
        f(e)
        return device.submit_command_buffer(e.finish()) > 0
    def copy():
        do(lambda e: e.copy_buffer(c, 8, b, 4, 12))
        return floats(c)
    def upload():
        do(lambda e: e.upload_buffer_data(c, 4, np.array([9, 8], np.float32)))
        return floats(c)
    def clear():
        do(lambda e: e.clear_buffer(c))
        return floats(c)
    def rng():
        r = spy.BufferRange()
        return r.offset, r.size, repr(r)
    return each(n=lambda: b.to_numpy(), f=lambda: floats(b), copy=copy, up=upload, cl=clear, w=lambda: [b.copy_from_numpy(np.array([5, 6], np.float32)), floats(b)][1], big=lambda: error(b.copy_from_numpy, np.zeros(9, np.float32)), ints=lambda: [b.copy_from_numpy(np.arange(8, dtype=np.int32)), b.to_numpy().view(np.int32)][1], shaped=lambda: [b.copy_from_numpy(np.arange(8, dtype=np.float32).reshape(2, 4)), floats(b)][1], nc=lambda: fails(b.copy_from_numpy, np.zeros((4, 4), np.float32)[:, ::2]), f64=lambda: [b.copy_from_numpy(np.arange(4, dtype=np.float64)), b.to_numpy().view(np.float64)][1], upbig=lambda: error(do, lambda e: e.upload_buffer_data(c, 28, np.zeros(2, np.float32))), cpbig=lambda: fails(do, lambda e: e.copy_buffer(c, 0, b, 0, 64)), overlap=lambda: fails(do, lambda e: e.copy_buffer(c, 16, c, 0, 8)), rng=rng, emp=lambda: fails(do, lambda e: e.copy_buffer(c, 0, b, 0, 0)), type=lambda: str(b.to_numpy().dtype), wr=lambda: b.to_numpy().flags.writeable, lst=lambda: fails(b.copy_from_numpy, [1.0]))


@case
def users2_kernels_dispatched_in_every_way(spy, device):
    s = device.load_module_from_source("users2_kern", """
RWStructuredBuffer<uint> o; uniform uint base;
[shader("compute")] [numthreads(4, 2, 1)] void ids(uint3 t : SV_DispatchThreadID, uint3 g : SV_GroupID, uint i : SV_GroupIndex, uint3 l : SV_GroupThreadID, uniform uint w) { if (t.x < w) o[t.y * w + t.x] = base + t.x + 10 * t.y + 100 * g.x + 1000 * i; }
[shader("compute")] [numthreads(1, 1, 1)] void one(uniform uint v, uniform RWStructuredBuffer<uint> dst) { dst[0] = v; }
""")
    p = device.link_program([s], [s.entry_point("ids")])
    p1 = device.link_program([s], [s.entry_point("one")])
    k, k1 = device.create_compute_kernel(p), device.create_compute_kernel(p1)
    o = device.create_buffer(element_count=32, struct_size=4, data=np.zeros(32, np.uint32), usage=rw(spy))
    val = lambda n=16: o.to_numpy().view(np.uint32)[:n]
    def pass_(f):
        e = device.create_command_encoder()
        with e.begin_compute_pass() as c:
            f(c)
        device.submit_command_buffer(e.finish())
        return val()
    def bind(c, groups=None, threads=None):
        root = spy.ShaderCursor(c.bind_pipeline(k.pipeline))
        root.o, root.base = o, 7
        root.find_entry_point(0).w = 8
        c.dispatch(threads) if threads else c.dispatch_compute(groups)
    def ind(c):
        root = spy.ShaderCursor(c.bind_pipeline(k.pipeline))
        root.o, root.base = o, 3
        root.find_entry_point(0).w = 8
        args = device.create_buffer(data=np.array([1, 1, 1], np.uint32), usage=spy.BufferUsage.indirect_argument | spy.BufferUsage.shader_resource)
        c.dispatch_compute_indirect(spy.BufferOffsetPair(args))
    def clear():
        o.copy_from_numpy(np.zeros(32, np.uint32))
    def run(f):
        clear()
        f()
        return val()
    return each(a=lambda: run(lambda: k.dispatch([8, 2, 1], vars={"o": o, "base": 5}, w=8)), u3=lambda: run(lambda: k.dispatch(spy.uint3(8, 2, 1), vars={"o": o, "base": 5}, w=8)), tup=lambda: run(lambda: k.dispatch((4, 2, 1), vars={"o": o}, w=4)), named=lambda: run(lambda: k.dispatch(thread_count=[4, 2, 1], vars={"o": o}, w=4)), np=lambda: fails(run, lambda: k.dispatch(np.array([4, 2, 1]), vars={"o": o}, w=4)), two=lambda: fails(run, lambda: k.dispatch([4, 2], vars={"o": o}, w=4)), num=lambda: fails(run, lambda: k.dispatch(4, vars={"o": o}, w=4)), neg=lambda: fails(run, lambda: k.dispatch([-1, 1, 1], vars={"o": o}, w=4)), zero=lambda: run(lambda: k.dispatch([0, 1, 1], vars={"o": o}, w=4)), th=lambda: [clear(), pass_(lambda c: bind(c, threads=[8, 2, 1]))][1], gr=lambda: [clear(), pass_(lambda c: bind(c, groups=[2, 1, 1]))][1], ind=lambda: [clear(), pass_(ind)][1], one=lambda: run(lambda: k1.dispatch([1, 1, 1], v=9, dst=o)), one2=lambda: run(lambda: k1.dispatch([1, 1, 1], vars={"v": 9}, dst=o)) if False else 0, pipe=lambda: [list(k.pipeline.thread_group_size), type(k.pipeline).__name__, k.program is p, type(k.reflection).__name__], desc=lambda: type(device.create_compute_kernel(p)).__name__, cpd=lambda: type(device.create_compute_pipeline(program=p, label="q")).__name__, cpdd=lambda: type(device.create_compute_pipeline({"program": p})).__name__, many=lambda: run(lambda: [k.dispatch([4, 1, 1], vars={"o": o, "base": i}, w=4) for i in range(3)]), wrongtype=lambda: fails(run, lambda: k.dispatch([1, 1, 1], vars={"o": 3}, w=1)), float_=lambda: fails(run, lambda: k.dispatch([1, 1, 1], vars={"o": o, "base": 1.5}, w=1)), lp=lambda: [e.name for e in p.layout.entry_points])


@case
def users2_encoders_and_passes(spy, device):
    m = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }\n")
    t, u = spy.Tensor.from_numpy(device, random(4)), spy.Tensor.zeros(device, (4,), "float")
    def two():
        e = device.create_command_encoder()
        m.add.append_to(e, t, 1.0, _result=u)
        m.add.append_to(e, u, u, _result=u)
        b = e.finish()
        i = device.submit_command_buffer(b)
        device.wait_for_submit(i)
        return u, device.is_submit_finished(i)
    def several():
        bs = []
        for i in range(3):
            e = device.create_command_encoder()
            m.add(u, 1.0, _result=u, _append_to=e)
            bs.append(e.finish())
        i = device.submit_command_buffers(bs)
        device.wait()
        return u, i > 0
    def twice():
        e = device.create_command_encoder()
        b = e.finish()
        device.submit_command_buffer(b)
        return device.submit_command_buffer(b)
    def marks():
        e = device.create_command_encoder()
        e.push_debug_group("a", [1, 0, 0])
        e.insert_debug_marker("b", spy.float3(0, 1, 0))
        with e.begin_compute_pass() as c:
            c.push_debug_group("c", [0, 0, 1])
            c.pop_debug_group()
        e.pop_debug_group()
        e.global_barrier()
        e.set_buffer_state(u.storage, spy.ResourceState.unordered_access)
        return device.submit_command_buffer(e.finish()) > 0
    def open_():
        e = device.create_command_encoder()
        e.begin_compute_pass()
        return e.finish()
    def nested():
        e = device.create_command_encoder()
        e.begin_compute_pass()
        return e.begin_compute_pass()
    def ids():
        e = device.create_command_encoder()
        b = e.finish()
        return e.recording_id == b.recording_id, e.recording_id > 0, e.queue, b.queue
    def fences():
        f = device.create_fence(initial_value=3)
        e = device.create_command_encoder()
        m.add(t, 5.0, _result=u, _append_to=e)
        device.submit_command_buffers([e.finish()], signal_fences=[f], signal_fence_values=[9])
        f.wait(9)
        return u, f.current_value, f.signaled_value
    def host():
        f = device.create_fence()
        a = f.signal()
        b = f.signal(7)
        f.wait(7)
        return a, b, f.current_value, f.signaled_value, spy.Fence.AUTO, spy.Fence.TIMEOUT_INFINITE
    def cb():
        got = []
        e = device.create_command_encoder()
        e.execute_callback(lambda h: got.append(type(h).__name__))
        device.submit_command_buffer(e.finish())
        return got
    return each(two=two, sev=several, twice=lambda: fails(twice), marks=marks, open=lambda: fails(open_) == "raises", nested=lambda: fails(nested) == "raises", ids=ids, fin2=lambda: error(lambda: (lambda e: [e.finish(), e.finish()])(device.create_command_encoder())), none=lambda: m.add(t, 1.0, _append_to=None).shape, ret=lambda: m.add.append_to(device.create_command_encoder(), t, 1.0, _result=u), kw=lambda: fails(lambda: m.add.append_to(None, t, 1.0)), bad=lambda: fails(lambda: m.add(t, 1.0, _append_to=3)), fences=fences, host=host, cb=cb, drop=lambda: [device.create_command_encoder() is not None, None][1], wait=lambda: device.wait_for_idle(), sub=lambda: device.is_submit_finished(0), empty=lambda: fails(lambda: device.submit_command_buffers([])))


@case
def users2_query_pools(spy, device):
    q = device.create_query_pool(type=spy.QueryType.timestamp, count=4)
    def two():
        e = device.create_command_encoder()
        e.write_timestamp(q, 0)
        e.write_timestamp(q, 1)
        device.submit_command_buffer(e.finish())
        device.wait()
        r = q.get_results(0, 2)
        s = q.get_timestamp_results(0, 2)
        return len(r), r[1] >= r[0], type(s[0]).__name__, type(q.get_result(0)).__name__, type(q.get_timestamp_result(1)).__name__
    return each(two=two, desc=lambda: [q.desc.type, q.desc.count], reset=lambda: q.reset(), kw=lambda: device.create_query_pool({"type": spy.QueryType.timestamp, "count": 2}).desc.count, freq=lambda: device.info.timestamp_frequency > 0, cal=lambda: type(device.get_timestamp_calibration()).__name__, far=lambda: fails(lambda: q.get_result(9)))


@case
def users2_programs_linked_and_specialised(spy, device):
    s = device.load_module_from_source("users2_link", """
interface IOp { float run(float a); }
struct Add : IOp { float by; float run(float a) { return a + by; } };
struct Mul : IOp { float by; float run(float a) { return a * by; } };
RWStructuredBuffer<float> o;
extern static const int N = 1;
[shader("compute")] [numthreads(1, 1, 1)] void gen<T : IOp>(uniform T op) { o[0] = op.run(3); }
[shader("compute")] [numthreads(1, 1, 1)] void val<let K : int>() { o[0] = K; }
[shader("compute")] [numthreads(1, 1, 1)] void ext() { o[0] = N; }
[shader("compute")] [numthreads(1, 1, 1)] void dynamic_(uniform int id) { IOp op = createDynamicObject<IOp, float>(id, 2.0); o[0] = op.run(5); }
[shader("compute")] [numthreads(8, 4, 1)] void plain(uint3 t : SV_DispatchThreadID) { o[0] = 1; }
""")
    n5 = device.load_module_from_source("users2_link_n", "export static const int N = 5;")
    o = device.create_buffer(element_count=1, struct_size=4, data=np.zeros(1, np.float32), usage=rw(spy))
    A = spy.SpecializationArg
    def run(program, **k):
        device.create_compute_kernel(program).dispatch([1, 1, 1], vars={"o": o}, **k)
        return floats(o)[0].item()
    conf = [spy.TypeConformance("IOp", "Add", 0), spy.TypeConformance("IOp", "Mul", 1)]
    return each(t=lambda: run(device.link_program([s], [s.entry_point("gen").specialize([A.from_type("Add")])]), op={"by": 10.0}), t2=lambda: run(device.link_program([s], [s.entry_point("gen").specialize([A(spy.SpecializationArgKind.type, "Mul")])]), op={"by": 10.0}), e=lambda: run(device.link_program([s], [s.entry_point("val").specialize([A.from_expr("42")])])), e2=lambda: run(device.link_program([s], [s.entry_point("val").specialize([A.from_expr("6*7+1")])])), bad=lambda: fails(lambda: s.entry_point("gen").specialize([A.from_type("Nope")])), few=lambda: fails(lambda: s.entry_point("gen").specialize([])), ext=lambda: run(device.link_program([s], [s.entry_point("ext")])), extn=lambda: run(device.link_program([s, n5], [s.entry_point("ext")])), dyn0=lambda: run(device.link_program([s], [s.entry_point("dynamic_", conf)]), id=0), dyn1=lambda: run(device.link_program([s], [s.entry_point("dynamic_", type_conformances=[("IOp", "Add", 0), ("IOp", "Mul", 1)])]), id=1), badc=lambda: fails(lambda: s.entry_point("dynamic_", [spy.TypeConformance("IOp", "Nope")])), ren=lambda: [s.entry_point("plain").rename("other").name, s.entry_point("plain").with_name("third").name, s.entry_point("plain").name], lay=lambda: [list(s.entry_point("plain").layout.compute_thread_group_size), s.entry_point("plain").stage, s.entry_point("plain").layout.name, [q.name for q in s.entry_point("plain").layout.parameters]], names=lambda: sorted(e.name for e in s.entry_points), comp=lambda: (lambda c: [c.is_composed, [x.name for x in c.source_modules], sorted(e.name for e in c.entry_points), c.name])(device.compose_modules("users2_comp", [s, n5])), compr=lambda: run((lambda c: device.link_program([c], [c.entry_point("ext")]))(device.compose_modules("users2_comp2", [s, n5]))), opts=lambda: run(device.link_program([s], [s.entry_point("ext")], link_options={"optimization": spy.SlangOptimizationLevel.none})), rep=lambda: [repr(spy.TypeConformance("A", "B", 3)), repr(A.from_type("X")), repr(A.from_expr("3"))], conf=lambda: [conf[0].interface_name, conf[0].type_name, conf[0].id, spy.TypeConformance(("I", "T")).id], noep=lambda: error(lambda: s.entry_point("nothing")), two=lambda: [e.name for e in device.link_program([s], [s.entry_point("ext"), s.entry_point("plain")]).layout.entry_points], unspec=lambda: fails(lambda: run(device.link_program([s], [s.entry_point("gen")]), op={"by": 1.0})))


@case
def users2_sessions_with_options(spy, device):
    folder = tempfile.mkdtemp()
    for n, t in (("users2_inc.slangh", "#define INCLUDED 11\n"), ("users2_dep.slang", "module users2_dep;\npublic int dep() { return 21; }\n"), ("users2_top.slang", "import users2_dep;\n#include \"users2_inc.slangh\"\nRWStructuredBuffer<int> o;\n[shader(\"compute\")] [numthreads(1, 1, 1)] void main() { o[0] = dep() + INCLUDED + EXTRA; }\n")):
        with open(os.path.join(folder, n), "w") as f:
            f.write(t)
    o = device.create_buffer(element_count=1, struct_size=4, data=np.zeros(1, np.int32), usage=rw(spy))
    def run(session, name="users2_top"):
        device.create_compute_kernel(session.load_program(name, ["main"])).dispatch([1, 1, 1], vars={"o": o})
        return o.to_numpy().view(np.int32)[0].item()
    S = device.create_slang_session
    paths = lambda **k: S(compiler_options={"include_paths": [folder], **k})
    def additional():
        s = paths(defines={"EXTRA": "1"})
        p = s.load_program("users2_top", ["main"], additional_source="// nothing\n")
        return [e.name for e in p.layout.entry_points]
    return each(a=lambda: run(paths(defines={"EXTRA": "1"})), b=lambda: run(paths(defines={"EXTRA": "100"})), no=lambda: fails(lambda: run(paths())), nopath=lambda: fails(lambda: run(S(compiler_options={"defines": {"EXTRA": "1"}}))), obj=lambda: (lambda c: [setattr(c, "include_paths", [folder]), setattr(c, "defines", {"EXTRA": "2"}), run(S(compiler_options=c))][2])(spy.SlangCompilerOptions()), desc=lambda: run(S(spy.SlangSessionDesc({"compiler_options": {"include_paths": [folder], "defines": {"EXTRA": "3"}}}))), file=lambda: run(paths(defines={"EXTRA": "4"}), os.path.join(folder, "users2_top.slang")), mod=lambda: [paths(defines={"EXTRA": "5"}).load_module("users2_top").name.split("/")[-1]], src=lambda: "dep()" in paths(defines={"EXTRA": "5"}).load_source("users2_top"), path=lambda: os.path.basename(str(paths(defines={"EXTRA": "5"}).load_module("users2_top").path)), add=additional, opt=lambda: run(paths(defines={"EXTRA": "6"}, optimization=spy.SlangOptimizationLevel.maximal, debug_info=spy.SlangDebugInfoLevel.none, floating_point_mode=spy.SlangFloatingPointMode.fast)), col=lambda: S(compiler_options={"matrix_layout": spy.SlangMatrixLayout.column_major}).desc.compiler_options.matrix_layout, unk=lambda: fails(lambda: S(compiler_options={"nothing": 1})), warn=lambda: S(compiler_options={"disable_warnings": ["30081"]}).desc.compiler_options.disable_warnings, miss=lambda: error(lambda: paths().load_module("users2_nowhere")), dev=lambda: paths().device is device, fail=lambda: error(lambda: paths().load_module_from_source("users2_bad", "int f( {")), same=lambda: (lambda s: s.load_module("users2_dep") is s.load_module("users2_dep"))(paths()), desc2=lambda: [d.name if hasattr(d, "name") else str(d) for d in paths().desc.compiler_options.include_paths][-1] == os.path.basename(folder) or [str(d) for d in paths().desc.compiler_options.include_paths])


@case
def users2_reflection_walked_by_hand(spy, device):
    s = device.load_module_from_source("users2_walk", """
[__AttributeUsage(_AttributeTargets.Struct)] struct TagAttribute { int level; string text; };
[__AttributeUsage(_AttributeTargets.Function)] struct NoteAttribute { float weight; };
[Tag(3, "hello")] struct Node { float3 pos; int next[4]; Texture2D<float4> tex; };
interface IThing { float go(); }
struct Thing : IThing { float go() { return 1; } [mutating] void set(float a) {} static int count() { return 1; } __init(float a) {} };
namespace Space { struct Deep { int x; }; int deep(Deep d) { return d.x; } }
enum Color : uint8_t { red, green = 7 };
[Note(2.5)] float note(in float a, out int b, inout float3 c, no_diff float d, StructuredBuffer<Node> nodes) { b = 1; return a; }
T gen<T : IThing>(T t) { return t; }
float over(float a) { return a; } float over(int a, int b) { return a; }
static const int limit = 5;
RWStructuredBuffer<Node> list; cbuffer Params { float4x4 m; uint n; };
[shader("compute")] [numthreads(2, 3, 4)] void main(uint3 t : SV_DispatchThreadID, uniform float k) { list[0].next[0] = int(k) + int(n); }
""")
    L, D = s.layout, s.module_decl
    K, M = spy.DeclReflection.Kind, spy.ModifierID
    def tree(d, depth=0):
        return [d.kind.name, d.name, [tree(c, depth + 1) for c in d.children] if depth < 2 else d.child_count]
    node, note = L.find_type_by_name("Node"), L.find_function_by_name("note")
    attr = lambda a: [a.name, a.argument_count]
    lay = L.get_type_layout(node)
    return each(tree=lambda: tree(D), kids=lambda: [len(D), [c.name for c in D.children_of_kind(K.struct)], [c.name for c in D.children_of_kind(K.func)]], first=lambda: D.find_first_child_of_kind(K.struct, "Node").as_type().full_name, var=lambda: D.find_first_child_of_kind(K.variable, "limit").as_variable().name, fn=lambda: D.find_first_child_of_kind(K.func, "note").as_function().name, many=lambda: len(D.find_children_of_kind(K.func, "over")), none=lambda: D.find_first_child_of_kind(K.func, "zip"), at=lambda: attr(node.get_user_attribute_by_index(0)), atc=lambda: [node.get_user_attribute_count(), note.get_user_attribute_count()], atv=lambda: [node.find_user_attribute_by_name("Tag").argument_value_int(0), node.find_user_attribute_by_name("Tag").argument_value_string(1)], atf=lambda: note.find_user_attribute_by_name("Note").argument_value_float(0), atn=lambda: node.find_user_attribute_by_name("Zip"), attype=lambda: note.find_user_attribute_by_name("Note").argument_type(0).name, aterr=lambda: fails(lambda: node.find_user_attribute_by_name("Tag").argument_value_int(5)), params=lambda: [[q.name, q.type.full_name, [x.name for x in (M.inn, M.out, M.inout, M.nodiff, M.const) if q.has_modifier(x)]] for q in note.parameters], ret=lambda: note.return_type.full_name, over=lambda: [L.find_function_by_name("over").is_overloaded, len(L.find_function_by_name("over").overloads), note.is_overloaded], meth=lambda: [L.find_function_by_name_in_type(L.find_type_by_name("Thing"), n).name for n in ("go", "set", "count")], mut=lambda: [L.find_function_by_name_in_type(L.find_type_by_name("Thing"), n).has_modifier(x) for n, x in (("set", M.mutating), ("count", M.static), ("go", M.mutating))], init=lambda: L.find_function_by_name_in_type(L.find_type_by_name("Thing"), "$init").name, sub=lambda: [L.is_sub_type(L.find_type_by_name("Thing"), L.find_type_by_name("IThing")), L.is_sub_type(node, L.find_type_by_name("IThing"))], deep=lambda: [L.find_type_by_name("Space.Deep").full_name, L.find_function_by_name("Space.deep").name if L.find_function_by_name("Space.deep") else None], enum=lambda: L.find_type_by_name("Color").kind, gen=lambda: L.find_function_by_name("gen<Thing>").return_type.name, spec=lambda: L.find_function_by_name("gen").specialize_with_arg_types([L.find_type_by_name("Thing")]).return_type.name, specn=lambda: L.find_function_by_name("gen").specialize_with_arg_types([node]), fields=lambda: [(f.name, f.type.kind, f.type.element_count if f.type.kind == spy.TypeReflection.Kind.array else 0) for f in node.fields], idx=lambda: [node.fields[0].name, node.fields[1].name], idxe=lambda: fails(lambda: node.fields[9]), neg=lambda: fails(lambda: node.fields[-1].name), unwrap=lambda: [node.fields[1].type.unwrap_array().name, node.unwrap_array().name], lay=lambda: [lay.size, lay.stride, lay.alignment, [(f.name, f.offset, f.type_layout.name) for f in lay.fields]], glob=lambda: sorted(q.name for q in L.parameters), gtl=lambda: L.globals_type_layout.kind, gvl=lambda: L.globals_variable_layout.name, ep=lambda: [(e.name, e.stage, list(e.compute_thread_group_size), [q.name for q in e.parameters]) for e in L.entry_points], reps=lambda: [repr(node.fields[0]), repr(note.parameters[1])], rept=lambda: repr(L.find_type_by_name("float3")).replace("\n", " "), hs=lambda: [h.string for h in L.hashed_strings], valid=lambda: [node.is_valid, D.is_valid, L.is_valid], eq=lambda: L.find_type_by_name("Node") is L.find_type_by_name("Node"))


@case
def users2_descs_and_enums_read_back(spy, device):
    def desc(cls, **k):
        d = cls(k)
        return [getattr(d, n) if not hasattr(getattr(d, n), "desc") else 0 for n in k], [getattr(cls(), n) for n in k]
    S = spy
    return each(sampler=lambda: desc(S.SamplerDesc, min_filter=S.TextureFilteringMode.point, address_u=S.TextureAddressingMode.clamp_to_edge, max_anisotropy=4, border_color=S.float4(1, 2, 3, 4), min_lod=1.0, label="s"), tex=lambda: desc(S.TextureDesc, type=S.TextureType.texture_3d, format=S.Format.r32_float, width=4, height=5, depth=6, mip_count=2, usage=S.TextureUsage.shader_resource), buf=lambda: desc(S.BufferDesc, size=4, struct_size=4, format=S.Format.r32_uint, memory_type=S.MemoryType.upload, usage=S.BufferUsage.shader_resource), fence=lambda: desc(S.FenceDesc, initial_value=5, shared=False), q=lambda: desc(S.QueryPoolDesc, type=S.QueryType.timestamp, count=8), vp=lambda: [desc(S.Viewport, x=1.0, y=2.0, width=3.0, height=4.0, min_depth=0.25, max_depth=0.5), repr(S.Viewport.from_size(3, 4))], sc=lambda: [desc(S.ScissorRect, min_x=1, min_y=2, max_x=3, max_y=4), repr(S.ScissorRect.from_size(3, 4))], draw=lambda: desc(S.DrawArguments, vertex_count=3, instance_count=2, start_vertex_location=1), rast=lambda: desc(S.RasterizerDesc, fill_mode=S.FillMode.wireframe, cull_mode=S.CullMode.back, depth_bias=2, scissor_enable=True), ds=lambda: desc(S.DepthStencilDesc, format=S.Format.d32_float, depth_test_enable=True, depth_write_enable=False, depth_func=S.ComparisonFunc.less, stencil_enable=False), ct=lambda: desc(S.ColorTargetDesc, format=S.Format.rgba8_unorm, enable_blend=True, write_mask=S.RenderTargetWriteMask.red), bl=lambda: desc(S.AspectBlendDesc, src_factor=S.BlendFactor.src_alpha, dst_factor=S.BlendFactor.inv_src_alpha, op=S.BlendOp.max), ms=lambda: desc(S.MultisampleDesc, sample_count=4, sample_mask=15), sr=lambda: [desc(S.SubresourceRange, layer=1, layer_count=2, mip=3, mip_count=4), repr(S.SubresourceRange({"mip": 2}))], tv=lambda: desc(S.TextureViewDesc, format=S.Format.r8_unorm, aspect=S.TextureAspect.depth_only, label="v"), ie=lambda: desc(S.InputElementDesc, semantic_name="POSITION", semantic_index=1, format=S.Format.rgb32_float, offset=12, buffer_slot_index=0), vs=lambda: desc(S.VertexStreamDesc, stride=16, slot_class=S.InputSlotClass.per_instance, instance_data_step_rate=1), unk=lambda: fails(S.SamplerDesc, {"nothing": 1}), bad=lambda: fails(S.SamplerDesc, {"min_filter": 3}), badt=lambda: error(setattr, S.BufferDesc(), "size", "x"), neg=lambda: error(setattr, S.BufferDesc(), "size", -1), newattr=lambda: error(setattr, S.BufferDesc(), "nothing", 1), flags=lambda: [S.BufferUsage.shader_resource | S.BufferUsage.unordered_access == S.BufferUsage(24), bool(S.BufferUsage.none), S.BufferUsage.shader_resource in (S.BufferUsage.shader_resource | S.BufferUsage.index_buffer), (S.BufferUsage.shader_resource & S.BufferUsage.index_buffer).value, str(S.BufferUsage.shader_resource), repr(S.Format.r8_unorm), int(S.BufferUsage.index_buffer) if True else 0], enum=lambda: [S.DeviceType.vulkan.value, S.DeviceType["vulkan"].name, S.DeviceType(3).name, len(list(S.DeviceType)), S.DeviceType.vulkan == 3, str(S.DeviceType.vulkan)], bad_enum=lambda: error(lambda: S.DeviceType(77)), dev=lambda: desc(S.DeviceDesc, type=S.DeviceType.cuda, enable_debug_layers=True, enable_print=True, label="d"), opt=lambda: desc(S.SlangCompilerOptions, defines={"a": "b"}, optimization=S.SlangOptimizationLevel.high, warnings_as_errors=["1"]), link=lambda: desc(S.SlangLinkOptions, optimization=S.SlangOptimizationLevel.high, dump_intermediates=True), bd=lambda: [S.BindlessDesc().buffer_count, S.BindlessDesc(buffer_count=3).buffer_count], bop=lambda: [S.BufferOffsetPair().offset, S.BufferOffsetPair({"offset": 4}).offset, S.BufferOffsetPair().buffer], rs=lambda: desc(S.RenderState, stencil_ref=3), rp=lambda: [len(S.RenderPassDesc().color_attachments), S.RenderPassDesc().depth_stencil_attachment])


@case
def users2_loggers_files_hashes_timers(spy, device):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "log.txt")
    got = []
    class Out(spy.LoggerOutput):
        def __init__(self):
            super().__init__()
        def write(self, level, name, msg):
            got.append([level.name, name, msg])
    def own():
        l = spy.Logger(level=spy.LogLevel.debug, name="mine", use_default_outputs=False)
        o = Out()
        l.add_output(o)
        l.debug("a"), l.info("b"), l.warn("c"), l.error("d"), l.fatal("e"), l.log(spy.LogLevel.none, "f")
        l.level = spy.LogLevel.error
        l.info("hidden"), l.error("seen")
        l.info_once("x"), l.error_once("once"), l.error_once("once")
        l.remove_output(o)
        l.error("gone")
        l.name = "other"
        return got, l.level, l.name
    def file():
        l = spy.Logger(name="f", use_default_outputs=False)
        l.add_file_output(path)
        l.info("hello")
        l.warn("two")
        l.remove_all_outputs()
        del l
        return open(path).read()
    def sha():
        h = spy.SHA1()
        h.update("abc")
        h.update(b"def")
        return h.hex_digest(), h.digest(), spy.SHA1("abcdef").hex_digest(), spy.SHA1(b"").hex_digest()
    def timer():
        t = spy.Timer()
        a, b = spy.Timer.now(), spy.Timer.now()
        return [b >= a, t.elapsed_ns() >= 0, type(t.elapsed_s()).__name__, type(t.elapsed_ms()).__name__, type(t.elapsed_us()).__name__, type(t.elapsed_ns()).__name__, spy.Timer.delta_s(0, 10**9), spy.Timer.delta_ms(0, 10**6), spy.Timer.delta_us(0, 1000), spy.Timer.delta_ns(5, 10), t.reset()]
    return each(own=own, file=file, sha=sha, timer=timer, shared=lambda: [spy.Logger.get() is spy.Logger.get(), spy.Logger.get().name], same=lambda: (lambda a, b: [a.use_same_outputs(b)])(spy.Logger(use_default_outputs=False), spy.Logger(use_default_outputs=False)), lv=lambda: [spy.LogLevel.debug.value < spy.LogLevel.info.value, fails(lambda: spy.LogLevel.debug < spy.LogLevel.info)], badl=lambda: error(lambda: spy.Logger("x")), chain=lambda: spy.SHA1().update("a").update("b").hex_digest(), shabad=lambda: error(lambda: spy.SHA1(3)), tms=lambda: spy.Timer.delta_s(10, 5), ver=lambda: [type(spy.SGL_VERSION).__name__, spy.SGL_VERSION_MAJOR, type(spy.SHADER_PATH).__name__, os.path.isdir(spy.SHADER_PATH)])


@case
def users2_data_structs_and_conversions(spy, device):
    D, C = spy.DataStruct, spy.DataStructConverter
    T, F = D.Type, D.Flags
    import struct
    def conv(src, dst, data):
        a, b = D(), D()
        for f in src:
            a.append(*f)
        for f in dst:
            b.append(*f)
        return C(a, b).convert(data)
    def fields():
        s = D(pack=False)
        s.append("a", T.uint8).append("b", T.float32).append("c", T.int16, F.normalized).append("d", T.float64, default_value=2.5)
        return [[(f.name, f.type, f.offset, f.size, f.flags, f.default_value) for f in (s[i] for i in range(len(s)))], s.size, s.alignment, s.byte_order, s.has_field("b"), s.has_field("z"), s.field("c").offset]
    def packed():
        s = D(pack=True, byte_order=D.ByteOrder.big_endian)
        s.append("a", T.uint8).append("b", T.float32)
        return [s.size, s.alignment, s[1].offset, s.byte_order]
    return each(f=fields, p=packed, i2f=lambda: struct.unpack("<2f", conv([("x", T.int32), ("y", T.int32)], [("x", T.float32), ("y", T.float32)], struct.pack("<2i", 3, -4))), n8=lambda: struct.unpack("<f", conv([("x", T.uint8, F.normalized)], [("x", T.float32)], b"\xff")), f2n8=lambda: conv([("x", T.float32)], [("x", T.uint8, F.normalized)], struct.pack("<f", 0.5)), clamp=lambda: conv([("x", T.float32)], [("x", T.uint8, F.normalized)], struct.pack("<f", 1.5)), srgb=lambda: conv([("x", T.uint8, F.normalized | F.srgb_gamma)], [("x", T.float32)], b"\x80"), order=lambda: struct.unpack("<2f", conv([("x", T.float32), ("y", T.float32)], [("y", T.float32), ("x", T.float32)], struct.pack("<2f", 1, 2))), drop=lambda: struct.unpack("<f", conv([("x", T.float32), ("y", T.float32)], [("y", T.float32)], struct.pack("<2f", 1, 2))), dflt=lambda: struct.unpack("<2f", conv([("x", T.float32)], [("x", T.float32), ("q", T.float32, F.default, 7.5)], struct.pack("<f", 1))), miss=lambda: fails(lambda: conv([("x", T.float32)], [("x", T.float32), ("q", T.float32)], struct.pack("<f", 1))), many=lambda: struct.unpack("<3h", conv([("x", T.int8)], [("x", T.int16)], b"\x01\xff\x7f")), big=lambda: fails(lambda: conv([("x", T.int32)], [("x", T.int8)], struct.pack("<i", 300))), half=lambda: struct.unpack("<e", conv([("x", T.float32)], [("x", T.float16)], struct.pack("<f", 1.5))), short=lambda: fails(lambda: conv([("x", T.int32)], [("x", T.int32)], b"abc")), types=lambda: [[D.type_size(t), D.type_range(t), D.is_integer(t), D.is_signed(t), D.is_unsigned(t), D.is_float(t)] for t in (T.int8, T.uint16, T.int32, T.float32, T.float64, T.uint64)], eq=lambda: [D().append("a", T.int8) == D().append("a", T.int8), D().append("a", T.int8) == D().append("a", T.int16)], nof=lambda: fails(lambda: D().field("z")), dup=lambda: fails(lambda: D().append("a", T.int8).append("a", T.int8)), rep=lambda: repr(D().append("a", T.int8)[0]), fsz=lambda: [D().append("a", T.int8)[0].is_integer(), D().append("a", T.float16)[0].is_float()], blend=lambda: struct.unpack("<f", conv([("x", T.float32), ("y", T.float32)], [("z", T.float32, F.none, 0.0, [(0.25, "x"), (0.5, "y")])], struct.pack("<2f", 4, 8))))


@case(own_device=True)
def users2_devices_opened_and_closed(spy, device):
    got = []
    def closing():
        d = spy.create_device(type=device.info.type)
        a = d.register_device_close_callback(lambda x: got.append("a"))
        b = d.register_device_close_callback(lambda x: got.append("b"))
        d.unregister_device_close_callback(a)
        d.close()
        d.close()
        return got, a != b
    def after():
        d = spy.create_device(type=device.info.type)
        d.close()
        return d.create_buffer(size=16, usage=rw(spy))
    def desc():
        d = spy.create_device(type=device.info.type, enable_print=True, enable_hot_reload=False)
        r = d.desc.enable_print, d.desc.enable_hot_reload, d.desc.type == device.info.type, d.info.type == device.info.type
        d.close()
        return r
    def plain():
        d = spy.Device(type=device.info.type, compiler_options={"include_paths": [spy.SHADER_PATH]}, label="mine")
        r = d.desc.label, spy.current_device() is d, load(spy, d, "import slangpy;\nfloat f(float a) { return a + 1; }").f(2.0)
        d.close()
        return r
    def bydesc():
        d = spy.Device(spy.DeviceDesc({"type": device.info.type, "label": "q"}))
        r = d.desc.label
        d.close()
        return r
    def two():
        d, e = spy.create_device(type=device.info.type), spy.create_device(type=device.info.type)
        m, n = load(spy, d, "float f(float a) { return a + 1; }"), load(spy, e, "float f(float a) { return a + 1; }")
        t = spy.Tensor.from_numpy(e, random(3))
        r = m.f(1.0), n.f(2.0), fails(m.f, t)
        d.close(), e.close()
        return r
    def printing():
        d = spy.create_device(type=device.info.type, enable_print=True)
        m = load(spy, d, "import slangpy;\nvoid p(int a) { printf(\"v=%d\\n\", a); }")
        m.p(3)
        r = d.flush_print_to_string()
        d.close()
        return type(r).__name__
    def with_():
        with spy.create_device(type=device.info.type) as d:
            r = spy.current_device() is d
        d.close()
        return r
    return each(c=closing, after=lambda: fails(after), desc=desc, plain=plain, bydesc=bydesc, two=two, pr=printing, w=with_, ad=lambda: [type(a).__name__ for a in spy.Device.enumerate_adapters(device.info.type)][:1], kinds=lambda: fails(lambda: spy.create_device(type="vulkan")), created=lambda: device in spy.Device.get_created_devices(), rep=lambda: repr(device).split("(")[0])
