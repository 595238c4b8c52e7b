"""Programs of users: tensors, buffers, cursors, instances, packed values, generators, gradients."""
import numpy as np

from cases import case, each, error, fails, load, random

STRUCTS = """
import slangpy;
struct Inner { float2 uv; int id; }
struct Ray { float3 o; float3 d; float tmin; float tmax; Inner inner; float3 at(float t) { return o + d * t; } }
struct Mat { float4x4 m; float3x3 n; bool on; uint mask; float w[4]; Inner parts[2]; }
float3 at(Ray r, float t) { return r.o + r.d * t; }
Ray make(float3 o, float3 d) { Ray r; r.o = o; r.d = d; r.tmin = 0; r.tmax = 100; r.inner.uv = o.xy; r.inner.id = 7; return r; }
float weight(Mat m, int i) { return m.on ? m.w[i] : -1; }
Mat mats(float a) { Mat m; m.m = float4x4(a); m.n = float3x3(a); m.on = a > 0; m.mask = (uint)a; for (int i = 0; i < 4; i++) m.w[i] = a * i; for (int i = 0; i < 2; i++) { m.parts[i].uv = float2(a, i); m.parts[i].id = i; } return m; }
float add(float a, float b) { return a + b; }
"""


@case
def users_tensor_makers(spy, device):
    m = load(spy, device, STRUCTS)
    T = spy.Tensor
    a = random(3, 4)
    t = T.from_numpy(device, a)
    return each(e=lambda: T.empty(device, shape=(3, 4), dtype=float).shape, z=lambda: T.zeros(device, shape=(2,), dtype=m.float3), zi=lambda: T.zeros(device, (2,), int), zn=lambda: T.zeros(device, dtype="float4", shape=[2, 2]).to_numpy().shape, el=lambda: T.empty_like(t).shape, zl=lambda: T.zeros_like(t), st=lambda: T.zeros(device, (2,), m.Ray).to_numpy().shape,
                dt=lambda: [t.dtype.full_name, t.shape, t.strides, t.offset, t.element_count, t.storage.size], us=lambda: [t.usage == spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access, t.memory_type], fn=lambda: T.from_numpy(device, a[:, ::2]), ft=lambda: T.from_numpy(device, a.T), mem=lambda: T.zeros(device, (2,), float, memory_type=spy.MemoryType.upload).memory_type if False else 0,
                u=lambda: T.zeros(device, (2,), float, usage=spy.BufferUsage.shader_resource).usage, bad=lambda: error(T.zeros, device, (2,), "nothing"), badshape=lambda: fails(T.zeros, device, (-1,), float), lay=lambda: T.zeros(device, (2,), "Ray", program_layout=m.layout).dtype.full_name, ly=lambda: T.zeros(device, (2,), m.layout.find_type_by_name("float2")).dtype.full_name, s=lambda: str(t) == str(a), r=lambda: repr(t), isc=lambda: [t.is_contiguous(), T.from_numpy(device, a.T).is_contiguous()])


@case
def users_tensor_indexing(spy, device):
    t = spy.Tensor.from_numpy(device, np.arange(60, dtype=np.float32).reshape(3, 4, 5))
    return each(i=lambda: t[1], n=lambda: t[-1], ij=lambda: t[1, 2], ijk=lambda: t[1, 2, 3], s=lambda: t[1:3], ss=lambda: t[:, 1:3], st=lambda: t[:, :, ::2], el=lambda: t[..., 0], el2=lambda: t[0, ..., 1], none=lambda: t[:, None].shape, nn=lambda: t[None].shape if False else 0, off=lambda: [t[1].offset, t[1].strides, t[:, 1].strides], out=lambda: error(lambda: t[3]), many=lambda: error(lambda: t[0, 0, 0, 0]),
                f=lambda: error(lambda: t[1.5]), lst=lambda: fails(lambda: t[[0, 1]]), it=lambda: [x.shape for x in t], neg=lambda: t[-2:, -1], empty=lambda: t[2:2].shape, over=lambda: t[1:100].shape, rows=lambda: t.view((12, 5)), v=lambda: t.view((5,), (1,), 10), vs=lambda: t.view((4, 3), (1, 4)), bc=lambda: t[0].broadcast_to((2, 4, 5)), badbc=lambda: error(t.broadcast_to, (4, 5)), full=lambda: t[1, 2, 3].shape, store=lambda: t[1].storage is t.storage)


@case
def users_tensor_contents(spy, device):
    m = load(spy, device, STRUCTS)
    a = random(3, 4)
    t = spy.Tensor.from_numpy(device, a)
    v = spy.Tensor.zeros(device, (2,), "float3")
    r = spy.Tensor.zeros(device, (2,), m.Ray)
    def cur():
        c = r.cursor()
        c[0].write({"o": [1, 2, 3], "tmin": 0.5, "inner": {"uv": [7, 8], "id": 3}})
        c[1].d = spy.float3(1, 1, 1)
        c[1].inner.id = 5
        c.apply()
        return [x.read() for x in (r.cursor()[0].o, r.cursor()[0].inner, r.cursor()[1].d, r.cursor()[1].inner.id)]
    return each(c=lambda: t.copy_from_numpy(a * 2), t=lambda: t, short=lambda: t.copy_from_numpy(np.zeros(3, np.float32)), t2=lambda: t, long=lambda: error(t.copy_from_numpy, random(5, 5)), dty=lambda: t.copy_from_numpy(np.arange(12, dtype=np.int32)), t3=lambda: t.to_numpy().view(np.int32), v=lambda: v.copy_from_numpy(random(2, 3)), vn=lambda: v, nc=lambda: fails(t.copy_from_numpy, random(4, 6)[:, ::2]),
                cur=cur, m=lambda: m.at(r, 2.0, _result="numpy"), clear=lambda: [r.clear()] and m.at(r, 2.0, _result="numpy"), cn=lambda: [len(r.cursor()) if hasattr(r.cursor(), "__len__") else -1, r.cursor().element_count], cs=lambda: r.cursor(1, 1).element_count, ct=lambda: r.cursor().element_type.full_name, cst=lambda: r.cursor().element_stride, cl=lambda: r.cursor().element_size, cd=lambda: t.cursor()[0].read(), oob=lambda: error(lambda: r.cursor()[2]))


@case
def users_structs_in_and_out(spy, device):
    m = load(spy, device, STRUCTS)
    return each(make=lambda: m.make(spy.float3(1, 2, 3), spy.float3(0, 0, 1)), at=lambda: m.at(m.make(spy.float3(1, 2, 3), spy.float3(0, 0, 1)), 2.0), arr=lambda: m.at({"o": random(4, 3), "d": spy.float3(0, 0, 1), "tmin": 0, "tmax": 1, "inner": {"uv": [0, 0], "id": 0}}, np.arange(4, dtype=np.float32), _result="numpy"), part=lambda: m.at({"o": [1, 2, 3], "d": [1, 1, 1]}, 1.0), t=lambda: m.at(m.make(random(3, 3), spy.float3(1)), 1.0, _result="numpy"),
                meth=lambda: m.Ray.at({"o": [1, 2, 3], "d": [1, 1, 1]}, 1.0), mats=lambda: m.mats(2.0), w=lambda: m.weight({"on": True, "w": [1, 2, 3, 4]}, 2), w2=lambda: m.weight(m.mats(3.0), np.arange(4, dtype=np.int32), _result="numpy"), soa=lambda: m.make(random(2, 3), random(3), _result={"o": spy.Tensor.zeros(device, (2,), "float3"), "d": spy.Tensor.zeros(device, (2,), "float3")}) is not None, extra=lambda: error(m.at, {"o": [1, 2, 3], "q": 1}, 1.0), wrong=lambda: fails(m.at, {"o": "x"}, 1.0),
                nest=lambda: m.at({"o": {"x": 1.0, "y": np.arange(3, dtype=np.float32), "z": 0.0}, "d": [0, 0, 0]}, 0.0, _result="numpy"), typ=lambda: m.at({"_type": "Ray", "o": [1, 2, 3], "d": [1, 1, 1]}, 1.0), badt=lambda: fails(m.at, {"_type": "Mat", "o": [1, 2, 3]}, 1.0), ref=lambda: None)


@case
def users_buffers_of_all_kinds(spy, device):
    u = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    b = device.create_buffer(size=64, usage=u, label="things")
    s = device.create_buffer(element_count=4, struct_size=16, usage=u)
    f = random(8)
    d = device.create_buffer(data=f, usage=u)
    return each(size=lambda: [b.size, b.struct_size, b.desc.size, b.desc.label, b.desc.usage], s=lambda: [s.size, s.struct_size], d=lambda: d.to_numpy().view(np.float32), cp=lambda: d.copy_from_numpy(f[::-1].copy()), d2=lambda: d.to_numpy().view(np.float32), small=lambda: d.copy_from_numpy(np.zeros(2, np.float32)), d3=lambda: d.to_numpy().view(np.float32), large=lambda: error(d.copy_from_numpy, np.zeros(9, np.float32)),
                dt=lambda: [str(d.to_numpy().dtype), d.to_numpy().shape], none=lambda: fails(device.create_buffer), neg=lambda: fails(device.create_buffer, size=-4), both=lambda: fails(device.create_buffer, size=12, data=f, usage=u), desc=lambda: device.create_buffer({"size": 32, "usage": u}).size, desco=lambda: device.create_buffer(spy.BufferDesc({"size": 32, "usage": u, "label": "x"})).desc.label, mu=lambda: device.create_buffer(size=16, usage=u, memory_type=spy.MemoryType.upload).desc.memory_type, dev=lambda: b.device is device, mem=lambda: b.memory_usage.device >= 64, addr=lambda: type(d.device_address).__name__, free=lambda: spy.create_buffer(size=8, usage=u).size, rep=lambda: repr(b).split("(")[0], ro=lambda: device.create_buffer(data=f, usage=spy.BufferUsage.shader_resource).to_numpy().view(np.float32))


@case
def users_copies_and_clears(spy, device):
    u = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access | spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination
    def b(x):
        return device.create_buffer(data=x, usage=u)
    x, y = b(np.arange(16, dtype=np.uint32)), b(np.zeros(16, np.uint32))
    def go(f):
        e = device.create_command_encoder()
        f(e)
        device.submit_command_buffer(e.finish())
        return y.to_numpy().view(np.uint32)
    return each(copy=lambda: go(lambda e: e.copy_buffer(y, 0, x, 0, 64)), part=lambda: go(lambda e: e.copy_buffer(y, 8, x, 16, 12)), clear=lambda: go(lambda e: e.clear_buffer(y)), up=lambda: go(lambda e: e.upload_buffer_data(y, 4, np.array([7, 8], np.uint32))), kw=lambda: go(lambda e: e.copy_buffer(dst=y, dst_offset=0, src=x, src_offset=4, size=8)), crange=lambda: go(lambda e: e.clear_buffer(y, {"offset": 4, "size": 8}) if False else e.clear_buffer(y)), past=lambda: fails(go, lambda e: e.copy_buffer(y, 60, x, 0, 64)), uppast=lambda: error(go, lambda e: e.upload_buffer_data(y, 60, np.zeros(4, np.uint32))),
                dbg=lambda: go(lambda e: [e.push_debug_group("a", spy.float3(1, 0, 0)), e.insert_debug_marker("b", spy.float3(0, 1, 0)), e.pop_debug_group()]), two=lambda: go(lambda e: [e.copy_buffer(y, 0, x, 0, 32), e.copy_buffer(y, 32, x, 0, 32)]), barrier=lambda: go(lambda e: [e.copy_buffer(y, 0, x, 0, 32), e.global_barrier()]), state=lambda: go(lambda e: e.set_buffer_state(y, spy.ResourceState.copy_destination)), id=lambda: [type(device.submit_command_buffer(device.create_command_encoder().finish())).__name__], wait=lambda: device.wait(), fin=lambda: device.is_submit_finished(device.submit_command_buffer(device.create_command_encoder().finish())) in (True, False))


@case
def users_instance_lists(spy, device):
    m = load(spy, device, """
import slangpy;
struct P { float3 pos; float mass; __init(float3 p, float m) { pos = p; mass = m; } float3 weighted() { return pos * mass; } [mutating] void move(float3 by) { pos += by; } float energy(float g) { return mass * g; } }
float mass_of(P p) { return p.mass; }
P heavier(P p) { p.mass *= 2; return p; }
""")
    pos, mass = spy.Tensor.from_numpy(device, random(4, 3)), spy.Tensor.from_numpy(device, random(4, seed=2))
    l = spy.InstanceList(m.P, {"pos": pos, "mass": mass})
    t = spy.InstanceTensor(m.P, shape=(4,))
    class Particles(spy.InstanceList):
        def __init__(self, n):
            super().__init__(m.P)
            self.n = n
            self.pos = spy.Tensor.zeros(device, (n,), "float3")
            self.mass = 2.0
        def total(self):
            return float(self.energy(1.0).to_numpy().sum())
    p = Particles(3)
    return each(w=lambda: l.weighted(_result="numpy"), mv=lambda: l.move(spy.float3(1, 0, 0)), pos=lambda: pos, en=lambda: l.energy(2.0, _result="numpy"), fn=lambda: m.mass_of(l, _result="numpy"), attr=lambda: l.mass is mass, miss=lambda: error(lambda: l.nothing), setf=lambda: [setattr(l, "mass", 3.0)] and m.mass_of(l, _result="numpy"), con=lambda: t.construct(pos, 2.0), tw=lambda: t.weighted(_result="numpy"), tm=lambda: t.move(spy.float3(0, 1, 0)), tw2=lambda: t.weighted(_result="numpy"), tsh=lambda: [t.shape, t.tensor.dtype.full_name], tn=lambda: t.to_numpy().shape,
                sub=lambda: p.total(), subm=lambda: p.move(spy.float3(1, 2, 3)), subp=lambda: p.pos, h=lambda: m.heavier(t, _result=t) is t, h2=lambda: m.mass_of(t, _result="numpy"), gt=lambda: sorted(l.get_this()), st=lambda: fails(lambda: spy.InstanceList(m.P, {"pos": pos}).weighted(_result="numpy")), bad=lambda: fails(lambda: spy.InstanceList(m.P, {"pos": pos, "mass": random(3)}).weighted()), buf=lambda: hasattr(spy, "InstanceTensor"), data=lambda: [l.set_data({"pos": pos, "mass": 1.0})] and l.energy(1.0, _result="numpy"))


@case
def users_packed_values(spy, device):
    m = load(spy, device, STRUCTS)
    ray = {"_type": "Ray", "o": [1, 2, 3], "d": [1, 1, 1], "tmin": 0.0, "tmax": 1.0, "inner": {"uv": [0, 0], "id": 1}}
    return each(p=lambda: m.at(spy.pack(m, ray), 2.0), arr=lambda: m.at(spy.pack(m, ray), random(3), _result="numpy"), num=lambda: m.add(spy.pack(m, 1.5), 2.0), v=lambda: m.at(ray, spy.pack(m, 3.0)), again=lambda: (lambda q: [m.at(q, float(i)) for i in range(3)])(spy.pack(m, ray)), obj=lambda: spy.pack(m, ray).python_object is not None, twice=lambda: (lambda q: spy.pack(m, q) is q)(spy.pack(m, ray)), typ=lambda: type(spy.pack(m, ray)).__name__, so=lambda: type(spy.pack(m, ray).shader_object).__name__)


@case
def users_generators_together(spy, device):
    m = load(spy, device, """
import slangpy;
int2 id2(int2 c) { return c; } int3 id3(int3 c) { return c; } int[2] ida(int c[2]) { return c; } uint2 uid2(uint2 c) { return c; } float2 fid2(float2 c) { return c; }
float noise(int2 c, float r) { return c.x + 10 * c.y + r; } uint hash2(uint h) { return h; } uint3 hash3(uint3 h) { return h; } float rnd(float r) { return r; } float3 rnd3(float3 r) { return r; } uint tid(uint t) { return t; } uint3 tid3(uint3 t) { return t; } int one(int i) { return i; }
float4 pixel(int2 c, float2 size) { return float4(c / size, 0, 1); }
""")
    z = lambda shape, d: spy.Tensor.zeros(device, shape, d)
    return each(a=lambda: m.id2(spy.call_id(), _result=z((2, 3), "int2")), b=lambda: m.ida(spy.call_id(), _result=z((2, 3), "int[2]")), c=lambda: m.id3(spy.call_id(), _result=z((2, 2, 2), "int3")), u=lambda: m.uid2(spy.call_id(), _result=z((2, 2), "uint2")), g=lambda: m.id2(spy.grid((2, 3)), _result="numpy"), go=lambda: m.id2(spy.grid(shape=(2, 2), offset=(5, 6), stride=(1, 2)), _result="numpy"), gl=lambda: m.ida(spy.grid((2, 2)), _result="numpy"), g1=lambda: m.one(spy.grid((4,)), _result="numpy"), gi=lambda: m.id2(spy.grid(2), _result=z((2, 2), "int2")), gm=lambda: m.id2(spy.grid((-1, 2)), _result=z((3, 2), "int2")),
                n=lambda: m.noise(spy.call_id(), spy.rand_float(0, 1, seed=3), _result=z((3, 3), "float")), n2=lambda: m.noise(spy.grid((2, 2)), 0.5), h=lambda: m.hash2(spy.wang_hash(), _result=z((5,), "uint")), hs=lambda: m.hash2(spy.wang_hash(seed=7), _result=z((5,), "uint")), h3=lambda: m.hash3(spy.wang_hash(seed=7), _result=z((3,), "uint3")), hw=lambda: m.hash2(spy.wang_hash(seed=7, warmup=2), _result=z((5,), "uint")), hh=lambda: m.hash2(spy.wang_hash(seed=7, hash_seed=False), _result=z((5,), "uint")), r=lambda: m.rnd(spy.rand_float(), _result=z((5,), "float")), rr=lambda: m.rnd(spy.rand_float(-2, 2, seed=9), _result=z((5,), "float")), r3=lambda: m.rnd3(spy.rand_float(), _result=z((2, 2), "float3")),
                t=lambda: m.tid(spy.thread_id(), _result=z((2, 3), "uint")), t3=lambda: m.tid3(spy.thread_id(), _result=z((4,), "uint3")), px=lambda: m.pixel(spy.call_id(), spy.float2(4, 2), _result=z((2, 4), "float4")), sc=lambda: m.rnd(spy.rand_float(seed=2)), arr=lambda: m.noise(spy.call_id(), random(2, 2), _result="numpy"), rng=lambda: m.one(range(3, 10, 2), _result="numpy"), rng0=lambda: m.one(range(4)), cidd=lambda: m.id2(spy.call_id(2), _result=z((2, 2), "int2")), bad=lambda: fails(m.id3, spy.call_id(2), _result=z((2, 2), "int3")), host=lambda: [spy.types.wanghasharg.calc_wang_hash(x) for x in (0, 1, 12345, 4294967295)])


@case
def users_gradients(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float poly(float a, float b, float x) { return a * x * x + b * x; }
[Differentiable] float3 shade(float3 n, float3 l, no_diff float k) { return max(dot(n, l), 0.0f) * k * n; }
[Differentiable] void two(float a, float b, out float s, out float p) { s = a + b; p = a * b; }
[Differentiable] float mse(float a, float b) { float d = a - b; return d * d; }
float plain(float a) { return a * 2; }
""")
    x = spy.Tensor.from_numpy(device, random(5)).with_grads()
    y = m.poly(2.0, 3.0, x).with_grads() if False else spy.Tensor.zeros(device, (5,), "float").with_grads()
    a, b = spy.diffPair(2.0), spy.diffPair(3.0)
    r = spy.diffPair(None, 1.0)
    def tensors():
        m.poly(2.0, 3.0, x, _result=y)
        y.grad.copy_from_numpy(np.ones(5, np.float32))
        m.poly.bwds(2.0, 3.0, x, _result=y)
        return x.grad.to_numpy(), y.grad_in.to_numpy()
    def scalars():
        m.poly.bwds(a, b, 4.0, r)
        return a.grad, b.grad
    def loss():
        p = spy.Tensor.from_numpy(device, random(4)).with_grads()
        l = spy.Tensor.zeros(device, (4,), "float").with_grads()
        l.grad_in.copy_from_numpy(np.full(4, 0.25, np.float32))
        m.mse.bwds(p, 0.5, _result=l)
        return p.grad.to_numpy()
    def outs():
        s, p = [spy.Tensor.zeros(device, (3,), "float").with_grads() for _ in range(2)]
        s.grad.copy_from_numpy(np.ones(3, np.float32)); p.grad.copy_from_numpy(np.full(3, 2, np.float32))
        q = spy.Tensor.from_numpy(device, random(3)).with_grads()
        m.two.bwds(q, 3.0, s, p)
        return q.grad.to_numpy()
    def vec():
        n = spy.Tensor.zeros(device, (3,), "float3").with_grads()
        n.copy_from_numpy(random(3, 3))
        o = spy.Tensor.zeros(device, (3,), "float3").with_grads()
        o.grad.copy_from_numpy(np.ones((3, 3), np.float32))
        m.shade.bwds(n, spy.float3(0, 0, 1), 2.0, _result=o)
        return n.grad.to_numpy()
    return each(s=scalars, sa=lambda: [type(a.grad).__name__, a.primal, a.needs_grad], nod=lambda: fails(m.plain.bwds, 1.0, _result=1.0), rep=lambda: [spy.floatDiffPair().primal, spy.floatDiffPair().grad, spy.diffPair().primal, spy.diffPair(spy.float3(1)).grad, spy.diffPair(3.0, 4.0, False).needs_grad], fw=lambda: m.poly(spy.diffPair(2.0), 3.0, 4.0), g=lambda: [x.grad is x.grad_out, x.grad_in is x.grad_out, x.detach().grad_in, x.detach().storage is x.storage], has=lambda: fails(lambda: spy.Tensor.zeros(device, (2,), "float").grad), gs=lambda: x.grad.shape, gd=lambda: x.grad.dtype.full_name)


@case
def users_types_of_gradients(spy, device):
    m = load(spy, device, STRUCTS)
    t = spy.Tensor.zeros(device, (2,), "float3").with_grads()
    g = spy.Tensor.zeros(device, (2,), "float3")
    u = spy.Tensor.zeros(device, (2,), "float3").with_grads(g, g, zero=False)
    i = spy.Tensor.zeros(device, (2,), "int")
    return each(d=lambda: t.grad.dtype.full_name, r=lambda: repr(t), u=lambda: [u.grad is g, u.grad_in is g], i=lambda: fails(i.with_grads), only=lambda: [spy.Tensor.zeros(device, (2,), "float").with_grads(grad_in=spy.Tensor.zeros(device, (2,), "float")).grad_out is None], none=lambda: [spy.Tensor.zeros(device, (2,), "float").grad_in], view=lambda: fails(lambda: t[0].grad.shape), shape=lambda: fails(lambda: spy.Tensor.zeros(device, (2,), "float").with_grads(spy.Tensor.zeros(device, (3,), "float"))))


@case
def users_this_objects(spy, device):
    m = load(spy, device, """
import slangpy;
struct C { int n; [mutating] int next() { n++; return n; } int peek() { return n; } }
int read(C c) { return c.n; } void write(inout C c) { c.n = 42; }
""")
    class T:
        def __init__(self, v):
            self.v, self.got = v, []
        def get_this(self):
            return self.v
        def update_this(self, v):
            self.got.append(v)
            self.v = v
    class OnlyGet:
        def get_this(self):
            return {"n": 3}
    class Signed(T):
        slangpy_signature = "mine"
    def go(f, t):
        r = f(t)
        return r, t.v if hasattr(t, "v") else None, len(t.got)
    return each(peek=lambda: go(m.C.peek, T({"n": 3})), next=lambda: go(m.C.next, T({"n": 3}))[0], read=lambda: go(m.read, T({"n": 5})), bind=lambda: (lambda t: [m.C.next.bind(t)(), m.C.peek.bind(t)(), len(t.got)])(T({"_type": "C", "n": 3}))[2], signed=lambda: go(m.read, Signed({"n": 5})), num=lambda: go(m.C.peek, T({"n": np.arange(3, dtype=np.int32)}))[0], ref=lambda: (lambda r: [m.C.next(r), r.value])(spy.ValueRef({"_type": "C", "n": 1}))[0], fld=lambda: m.read({"n": T(4)}), tens=lambda: (lambda t: [m.C.next(t) is not None, t.to_numpy().view(np.int32)])(spy.Tensor.zeros(device, (2,), m.C)), lst=lambda: fails(lambda: m.read([T({"_type": "C", "n": 1}), T({"_type": "C", "n": 2})], _result="numpy")), once=lambda: fails(m.read, OnlyGet()))
