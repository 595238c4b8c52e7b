"""Programs of other users, second set: kernels and passes over every kind of shader parameter, blocks, arrays of resources, layouts."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


class Bench:
    """One module's kernels and an output buffer of floats."""

    def __init__(self, spy, device, name, source, count=16):
        self.spy, self.device = spy, device
        self.module = device.load_module_from_source(name, source)
        self.out = device.create_buffer(element_count=count, struct_size=4, data=np.zeros(count, np.float32), usage=rw(spy))

    def program(self, *names):
        return self.device.link_program([self.module], [self.module.entry_point(n) for n in names])

    def run(self, name="main", threads=(1, 1, 1), out="o", **keywords):
        self.out.copy_from_numpy(np.zeros(self.out.size // 4, np.float32))
        variables = dict(keywords.pop("vars", {}))
        if out:
            variables[out] = self.out
        self.device.create_compute_kernel(self.program(name)).dispatch(list(threads), vars=variables, **keywords)
        return self.values()

    def values(self):
        return self.out.to_numpy().view(np.float32)

    def buffer(self, data):
        return self.device.create_buffer(data=np.asarray(data), struct_size=4, usage=rw(self.spy))


@case
def users2_kernels_blocks_in_blocks(spy, device):
    b = Bench(spy, device, "users2_blocks", """
struct Inner { float a; StructuredBuffer<float> data; };
struct Outer { float2 k; ParameterBlock<Inner> inner; RWStructuredBuffer<float> o; Inner own; };
ParameterBlock<Outer> outer;
ConstantBuffer<float4> color;
struct Cam { float3 eye; float4x4 m; };
ConstantBuffer<Cam> cam;
[shader("compute")] [numthreads(1, 1, 1)] void main() { outer.o[0] = outer.k.y; outer.o[1] = outer.inner.a; outer.o[2] = outer.inner.data[1]; outer.o[3] = outer.own.a; outer.o[4] = outer.own.data[0]; outer.o[5] = color.z; outer.o[6] = cam.eye.y; outer.o[7] = cam.m[2][3]; }
""")
    d, e = b.buffer(np.array([1, 2, 3], np.float32)), b.buffer(np.array([7, 8], np.float32))
    p = b.program("main")
    pipe = device.create_compute_pipeline(program=p)
    def cursor():
        e_ = device.create_command_encoder()
        with e_.begin_compute_pass() as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            c.outer.k = [1, 2]
            c.outer.inner.a = 3.0
            c.outer.inner.data = d
            c.outer.own = {"a": 4.0, "data": e}
            c.outer.o = b.out
            c.color = spy.float4(1, 2, 3, 4)
            c.cam.eye = [5, 6, 7]
            c.cam.m = spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4))
            q.dispatch([1, 1, 1])
        device.submit_command_buffer(e_.finish())
        return b.values()[:8]
    def objects():
        inner = device.create_shader_object(p.reflection.outer.inner)
        c = spy.ShaderCursor(inner)
        c.a, c.data = 30.0, d
        root = device.create_root_shader_object(p)
        r = spy.ShaderCursor(root)
        r.outer.inner = inner
        r.outer.write({"k": [1, 20], "o": b.out, "own": {"a": 40.0, "data": e}})
        r.color, r.cam = [1, 2, 3, 4], {"eye": [1, 60, 1], "m": np.eye(4, dtype=np.float32)}
        e_ = device.create_command_encoder()
        with e_.begin_compute_pass() as q:
            q.bind_pipeline(pipe, root)
            q.dispatch([1, 1, 1])
        device.submit_command_buffer(e_.finish())
        return b.values()[:8]
    return each(v=lambda: b.run(out=None, vars={"outer": {"k": [1, 2], "inner": {"a": 3.0, "data": d}, "own": {"a": 4.0, "data": e}, "o": b.out}, "color": [1, 2, 3, 4], "cam": {"eye": [5, 6, 7], "m": spy.float4x4.identity()}})[:8], c=cursor, o=objects)


@case
def users2_kernels_arrays_of_resources(spy, device):
    b = Bench(spy, device, "users2_arrays", """
StructuredBuffer<float> bufs[3]; RWStructuredBuffer<float> o; uniform float w[4]; uniform int2 pairs[2];
struct Lamp { float3 c; float p; }; uniform Lamp lamps[2];
[shader("compute")] [numthreads(1, 1, 1)] void main() { for (int i = 0; i < 3; i++) o[i] = bufs[i][i]; o[3] = w[2]; o[4] = pairs[1].x; o[5] = lamps[1].p + lamps[0].c.z; }
""")
    bufs = [b.buffer(np.arange(4, dtype=np.float32) + 10 * i) for i in range(3)]
    lamps = [{"c": [1, 2, 3], "p": 4.0}, {"c": [5, 6, 7], "p": 8.0}]
    pipe = device.create_compute_pipeline(program=b.program("main"))
    def cursor():
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            c = spy.ShaderCursor(q.bind_pipeline(pipe))
            for i in range(3):
                c.bufs[i] = bufs[2 - i]
            c.o = b.out
            c.w[2] = 5.0
            c.pairs[1] = spy.int2(9, 1)
            c.lamps[0].c = [0, 0, 1]
            c.lamps[1]["p"] = 2.0
            q.dispatch([1, 1, 1])
        device.submit_command_buffer(e.finish())
        return b.values()[:6]
    return each(v=lambda: b.run(vars={"bufs": bufs, "w": [1, 2, 3, 4], "pairs": [[1, 2], [3, 4]], "lamps": lamps})[:6], np=lambda: b.run(vars={"bufs": bufs, "w": np.array([1, 2, 3, 4], np.float32), "pairs": np.array([[1, 2], [3, 4]], np.int32), "lamps": lamps})[:6], c=cursor, short=lambda: fails(lambda: b.run(vars={"bufs": bufs, "w": [1, 2]})), long_=lambda: fails(lambda: b.run(vars={"bufs": bufs, "w": [1, 2, 3, 4, 5]})))


@case
def users2_kernels_uniforms_of_every_type(spy, device):
    types = dict(f="float", i="int", u="uint", b="bool", h="half", d="double", l="int64_t", f2="float2", f3="float3", i4="int4", u2="uint2", b3="bool3", h2="half2", m23="float2x3", m44="float4x4", a="float[3]", av="float2[2]")
    source = "RWStructuredBuffer<float> o;\n" + "\n".join(f"uniform {t.partition('[')[0]} g_{k}{'[' + t.partition('[')[2] if '[' in t else ''};" for k, t in types.items())
    reads = ["float(g_f)", "float(g_i)", "float(g_u)", "g_b ? 1 : 0", "float(g_h)", "float(g_d)", "float(g_l)", "g_f2.y", "g_f3.z", "float(g_i4.w)", "float(g_u2.y)", "g_b3.z ? 1 : 0", "float(g_h2.y)", "g_m23[1][2]", "g_m44[2][1]", "g_a[2]", "g_av[1].x"]
    small = [k for k in types if k not in ("m23", "m44")]  # parameters of entry points have 128 bytes on some devices
    params = ", ".join(f"uniform {types[k].partition('[')[0]} p_{k}{'[' + types[k].partition('[')[2] if '[' in types[k] else ''}" for k in small)
    source += "\n[shader(\"compute\")] [numthreads(1, 1, 1)] void main() { " + " ".join(f"o[{i}] = {r};" for i, r in enumerate(reads)) + " }"
    source += f"\n[shader(\"compute\")] [numthreads(1, 1, 1)] void params({params}) {{ " + " ".join(f"o[{i}] = {r.replace('g_', 'p_')};" for i, (k, r) in enumerate(zip(types, reads)) if k in small) + " }"
    b = Bench(spy, device, "users2_uniforms", source, 17)
    first = dict(f=1.5, i=-2, u=3, b=True, h=0.5, d=2.25, l=1 << 20, f2=spy.float2(1, 2), f3=[1, 2, 3], i4=(1, 2, 3, 4), u2=np.array([5, 6], np.uint32), b3=spy.bool3(False, False, True), h2=spy.float16_t2(1, 2), m23=spy.float2x3([1, 2, 3, 4, 5, 6]), m44=np.arange(16, dtype=np.float32).reshape(4, 4), a=[1, 2, 3], av=[spy.float2(1, 2), spy.float2(3, 4)])
    second = dict(first, f=3, i=True, u=7, b=False, h=2, d=1, f2=[4, 5], f3=spy.float3(7, 8, 9), i4=spy.int4(5, 6, 7, 8), u2=[1, 2], b3=[True, True, True], m23=np.ones((2, 3), np.float32), m44=spy.float4x4.identity(), a=np.array([7, 8, 9], np.float32), av=[[9, 8], [7, 6]], h2=[3, 4])
    g = lambda v: {"g_" + k: x for k, x in v.items()}
    q = lambda v: {"p_" + k: v[k] for k in small}
    one = lambda k, v: fails(lambda: [b.run(vars=g({**first, k: v}))[list(types).index(k)]])
    return each(g1=lambda: b.run(vars=g(first)), g2=lambda: b.run(vars=g(second)), p1=lambda: b.run("params", **q(first)), p2=lambda: b.run("params", **q(second)), part=lambda: b.run(vars={"g_f": 9.0}), bad=lambda: {f"{k} {i}": one(k, v) for i, (k, v) in enumerate([("f", "x"), ("f", [1]), ("f", None) if False else ("f", spy.float2(1, 2)), ("i", 1.5), ("i", 1 << 40), ("u", -1), ("b", 2), ("b", "t"), ("f2", 1.0), ("f2", [1, 2, 3]), ("f3", spy.float2(1, 2)), ("f3", np.zeros(4, np.float32)), ("i4", spy.float4(1, 2, 3, 4)), ("b3", [1, 0, 1]), ("m44", np.zeros((3, 3), np.float32)), ("m44", list(range(16))), ("m23", spy.float3x2()), ("a", [1, 2]), ("a", 1.0), ("f", np.float32(2)), ("i", np.int32(4)), ("f3", np.zeros(3, np.float64)), ("f3", np.zeros(3, np.int32))])})


@case
def users2_kernels_tensors_as_parameters(spy, device):
    m = load(spy, device, """
import slangpy;
void scale(uint2 dispatchThreadID, Tensor<float, 2> a, RWTensor<float, 2> b, float k) { if (dispatchThreadID.x < a.shape[1] && dispatchThreadID.y < a.shape[0]) b[dispatchThreadID.y, dispatchThreadID.x] = a[dispatchThreadID.y, dispatchThreadID.x] * k; }
[shader("compute")] [numthreads(4, 4, 1)] void entry(uint3 t : SV_DispatchThreadID, Tensor<float, 2> a, RWTensor<float, 2> b, uniform float k) { if (t.x < a.shape[1] && t.y < a.shape[0]) b[t.y, t.x] = a[t.y, t.x] + k; }
void vec(uint dispatchThreadID, Tensor<float3, 1> a, WTensor<float3, 1> b) { if (dispatchThreadID < a.shape[0]) b.store({ int(dispatchThreadID) }, a[dispatchThreadID].zyx); }
void atomic(uint dispatchThreadID, AtomicTensor<float, 1> b) { if (dispatchThreadID < 8) b.add({ int(dispatchThreadID) % 2 }, 1.0); }
""")
    a = spy.Tensor.from_numpy(device, random(3, 5))
    b = spy.Tensor.zeros(device, (3, 5), "float")
    v = spy.Tensor.zeros(device, (4,), "float3")
    v.copy_from_numpy(random(4, 3))
    w = spy.Tensor.zeros(device, (4,), "float3")
    c = spy.Tensor.zeros(device, (2,), "float")
    return each(s=lambda: [m.scale.dispatch([5, 3, 1], a=a, b=b, k=2.0), b][1], e=lambda: [m.entry.dispatch([5, 3, 1], a=a, b=b, k=1.0), b][1], view=lambda: [m.scale.dispatch([2, 3, 1], a=a[:, 1:3], b=b[:, 0:2], k=10.0), b][1], t=lambda: [m.scale.dispatch([3, 3, 1], a=a.view((3, 3), (1, 5)), b=b[:, 0:3], k=1.0), b][1], vec=lambda: [m.vec.dispatch([4, 1, 1], a=v, b=w), w][1], at=lambda: [m.atomic.dispatch([8, 1, 1], b=c), c][1], rank=lambda: fails(lambda: m.scale.dispatch([1, 1, 1], a=v, b=b, k=1.0)), np=lambda: fails(lambda: m.scale.dispatch([1, 1, 1], a=random(3, 5), b=b, k=1.0)), lst=lambda: fails(lambda: m.scale.dispatch([5, 3], a=a, b=b, k=2.0)), enc=lambda: (lambda e: [m.scale.dispatch([5, 3, 1], command_encoder=e, a=a, b=b, k=3.0), device.submit_command_buffer(e.finish()), b][2])(device.create_command_encoder()), un=lambda: sorted(a.uniforms()))


@case
def users2_kernels_several_entry_points(spy, device):
    b = Bench(spy, device, "users2_entry", """
RWStructuredBuffer<float> o; uniform float k;
[shader("compute")] [numthreads(1, 1, 1)] void one(uniform float p) { o[0] = k + p; }
[shader("compute")] [numthreads(2, 1, 1)] void two(uint3 t : SV_DispatchThreadID, uniform int q) { o[1 + t.x] = k * q + t.x; }
struct Args { float a; float3 b; int c[2]; };
[shader("compute")] [numthreads(1, 1, 1)] void three(uniform Args args, uniform RWStructuredBuffer<float> dst) { dst[5] = args.a + args.b.y + args.c[1]; }
[shader("compute")] [numthreads(1, 1, 1)] void none() { o[6] = 6; }
""")
    names = lambda p: [[e.name, e.stage, list(e.compute_thread_group_size), [q.name for q in e.parameters]] for e in p.layout.entry_points]
    return each(one=lambda: b.run("one", vars={"k": 2.0}, p=3.0)[:1], two=lambda: b.run("two", (2, 1, 1), vars={"k": 2.0}, q=4)[:3], three=lambda: b.run("three", out=None, args={"a": 1.0, "b": [0, 10, 0], "c": [0, 100]}, dst=b.out)[5], none=lambda: b.run("none")[6], lay=lambda: names(b.program("one", "two")), mod=lambda: [e.name for e in b.module.entry_points], unk=lambda: fails(lambda: b.run("one", zz=1.0)), ref=lambda: [b.program("one").reflection.has_field("k"), b.program("one").reflection.one.has_field("p")], miss=lambda: fails(lambda: b.run("one", vars={"k": 1.0})[0]), glob=lambda: sorted(q.name for q in b.program("one").layout.parameters), rep=lambda: type(b.program("one")).__name__, load=lambda: fails(lambda: device.load_program("users2_entry", ["one"])))


@case
def users2_kernels_reflection_cursors(spy, device):
    b = Bench(spy, device, "users2_refl", """
struct L { float3 c; float p; uint f[3]; };
struct B { L ls[4]; Texture2D<float4> t; };
ParameterBlock<B> blk; StructuredBuffer<L> buf; RWStructuredBuffer<float> o; uniform float4x4 m; uniform L own;
[shader("compute")] [numthreads(1, 1, 1)] void main(uniform float k, uniform L arg) { o[0] = blk.ls[0].p + blk.t[uint2(0, 0)].x + buf[0].p + m[0][0] + own.p + k + arg.p; }
""")
    p = b.program("main")
    r = p.reflection
    K = spy.TypeReflection.Kind
    return each(kinds=lambda: {n: getattr(r, n).type.kind for n in ("blk", "buf", "o", "m", "own")}, names=lambda: {n: getattr(r, n).type.name for n in ("buf", "o", "m", "own")}, el=lambda: [r.buf.type_layout.element_type_layout.size, r.buf.type_layout.element_type_layout.stride, r.buf.type_layout.element_type_layout.name], own=lambda: [r.own.type_layout.size, [(f.name, f.offset, f.type_layout.size) for f in r.own.type_layout.fields]], find=lambda: [r.find_field("own").is_valid(), r.has_field("nope"), r["own"]["c"].type.name, r.own.f[2].is_valid(), r.own.f.has_element(2), r.own.find_field("p").type.scalar_type], ent=lambda: [r.main.k.type.name, r.main.arg.p.type.kind, r.main.has_field("k")], bad=lambda: fails(lambda: r.nope.type.name), rep=lambda: type(r).__name__, bl=lambda: r.blk.ls[0].c.type.full_name, buffer=lambda: [(lambda x: [x.struct_size, x.size])(device.create_buffer(element_count=5, resource_type_layout=l, usage=rw(spy))) for l in (r.buf, r.buf.type_layout)], cur=lambda: (lambda c: [c[1].write({"c": [1, 2, 3], "p": 4.0, "f": [1, 2, 3]}), c[1].read()])(spy.BufferCursor(device.info.type, r.buf.type_layout.element_type_layout, 2)))


@case
def users2_kernels_in_loops_and_lists(spy, device):
    b = Bench(spy, device, "users2_loop", "RWStructuredBuffer<float> o; uniform uint n; [shader(\"compute\")] [numthreads(8, 1, 1)] void main(uint3 t : SV_DispatchThreadID, uniform float k) { if (t.x < n) o[t.x] = o[t.x] * 0.5 + k; }")
    kernel = device.create_compute_kernel(b.program("main"))
    def plain():
        b.out.copy_from_numpy(np.zeros(16, np.float32))
        for i in range(6):
            kernel.dispatch([16, 1, 1], vars={"o": b.out, "n": 10}, k=float(i))
        return b.values()
    def recorded():
        b.out.copy_from_numpy(np.zeros(16, np.float32))
        e = device.create_command_encoder()
        for i in range(6):
            kernel.dispatch([16, 1, 1], vars={"o": b.out, "n": 16 - i}, command_encoder=e, k=float(i))
        device.submit_command_buffer(e.finish())
        return b.values()
    def one_pass():
        b.out.copy_from_numpy(np.zeros(16, np.float32))
        e = device.create_command_encoder()
        with e.begin_compute_pass() as q:
            for i in range(4):
                c = spy.ShaderCursor(q.bind_pipeline(kernel.pipeline))
                c.o, c.n = b.out, 16
                c.find_entry_point(0).k = float(i)
                q.dispatch([16, 1, 1])
        device.submit_command_buffer(e.finish())
        return b.values()[0]
    def shared_root():
        b.out.copy_from_numpy(np.zeros(16, np.float32))
        root = device.create_root_shader_object(kernel.program)
        c = spy.ShaderCursor(root)
        c.o, c.n = b.out, 16
        c.find_entry_point(0).k = 3.0
        for _ in range(3):
            e = device.create_command_encoder()
            with e.begin_compute_pass() as q:
                q.bind_pipeline(kernel.pipeline, root)
                q.dispatch(spy.uint3(16, 1, 1))
                q.dispatch_compute([2, 1, 1])
            device.submit_command_buffer(e.finish())
        return b.values()[0]
    def timed():
        pool = device.create_query_pool(type=spy.QueryType.timestamp, count=2)
        kernel.dispatch([16, 1, 1], vars={"o": b.out, "n": 16}, k=1.0, query_pool=pool, query_index_before=0, query_index_after=1)
        device.wait()
        t = pool.get_timestamp_results(0, 2)
        return t[1] >= t[0]
    return each(p=plain, r=recorded, o=lambda: fails(one_pass) != "raises", s=lambda: fails(shared_root) != "raises", t=timed)
