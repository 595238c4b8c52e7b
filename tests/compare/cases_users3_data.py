"""Programs of other users, third set: tensors, buffers and cursors of all element types, instances, packed values, records of structs."""
import numpy as np

from cases import case, each, error, fails, load, plain, random

STRUCTS = """
import slangpy;
struct Small { uint8_t a; uint16_t b; int8_t c; };
struct Item { float3 p; Small s; float2x3 m; bool on; half2 h; int64_t id; };
struct Grid { Item items[2]; float w[3]; int n; };
float total(Item i) { return i.p.x + i.m[1][2] + (i.on ? 1 : 0) + float(i.h.y) + float(i.id); }
Item make(float a) { Item i; i.p = float3(a, 2 * a, 3 * a); i.s.a = uint8_t(a); i.s.b = uint16_t(a * 2); i.s.c = int8_t(-a); i.m = float2x3(1, 2, 3, 4, 5, a); i.on = a > 1; i.h = half2(half(a), 1.0h); i.id = int64_t(a * 1000); return i; }
Grid grid(float a) { Grid g; g.items[0] = make(a); g.items[1] = make(a + 1); g.w[0] = a; g.w[1] = 1; g.w[2] = 2; g.n = int(a); return g; }
"""


@case
def users3_data_tensors_of_all_dtypes(spy, device):
    m = load(spy, device, STRUCTS)
    names = "float int uint half double bool int64_t uint64_t int16_t uint16_t int8_t uint8_t float2 float3 float4 int3 uint2 half4 double3 bool2 float2x2 float3x4 float4x4 float2x3".split() + ["float[4]", "int2[3]", "float[2][3]"]
    def go(n):
        t = spy.Tensor.zeros(device, (2, 3), n)
        return [t.dtype.full_name, t.shape, t.strides, t.offset, t.element_count, t.to_numpy().shape, t.to_numpy().dtype.name, t.storage.size, t.storage.struct_size, repr(t)]
    return each(**{n: lambda n=n: go(n) for n in names}, py=lambda: [spy.Tensor.zeros(device, (2,), d).dtype.full_name for d in (float, int, bool, spy.float3, spy.int2, spy.float4x4, spy.float16_t)], st=lambda: [spy.Tensor.zeros(device, (2,), m.Item).dtype.full_name, spy.Tensor.zeros(device, (2,), m.Item).storage.struct_size, spy.Tensor.zeros(device, (2,), m.Item).to_numpy().shape], byname=lambda: [spy.Tensor.zeros(device, (2,), "Item", program_layout=m.layout).dtype.full_name, error(spy.Tensor.zeros, device, (2,), "Item"), error(spy.Tensor.zeros, device, (2,), "nothing")], npd=lambda: [error(spy.Tensor.zeros, device, (2,), np.float32), error(spy.Tensor.zeros, device, (2,), np.dtype("float32")), error(spy.Tensor.zeros, device, (2,), None)], shape=lambda: [error(lambda: spy.Tensor.zeros(device, 3, "float").shape), error(lambda: spy.Tensor.zeros(device, (), "float").shape), spy.Tensor.zeros(device, [2, 3], "float").shape, spy.Tensor.zeros(device, spy.slangpy.Shape(2, 3), "float").shape, fails(lambda: spy.Tensor.zeros(device, (0, 3), "float").shape), error(spy.Tensor.zeros, device, (-1, 3), "float"), error(spy.Tensor.zeros, device, (2.5,), "float")], emp=lambda: [spy.Tensor.empty(device, shape=(2,), dtype="float").shape, spy.Tensor.empty(device, (2,), dtype=float, usage=spy.BufferUsage.shader_resource).usage == spy.BufferUsage.shader_resource], like=lambda: [spy.Tensor.empty_like(spy.Tensor.zeros(device, (2,), "float3")).dtype.full_name, spy.Tensor.zeros_like(spy.Tensor.from_numpy(device, random(3))).to_numpy()], mem=lambda: [spy.Tensor.zeros(device, (2,), "float").memory_type, spy.Tensor.zeros(device, (2,), "float").usage.value])


@case
def users3_data_numpy_in_and_out(spy, device):
    m = load(spy, device, STRUCTS)
    F = spy.Tensor.from_numpy
    def trip(a):
        t = F(device, a)
        return [t.dtype.full_name, t.shape, t.strides, t.to_numpy()]
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return each(**{d: lambda d=d: trip(np.arange(6).reshape(2, 3).astype(d)) for d in "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()}, bool_=lambda: error(F, device, np.array([True])), cplx=lambda: error(F, device, np.array([1j])), obj=lambda: error(F, device, np.array([object()])), txt=lambda: error(F, device, np.array(["a"])), t=lambda: trip(base.T), sl=lambda: trip(base[:, ::2]), sw=lambda: trip(base.transpose(1, 0, 2)), neg=lambda: fails(trip, base[::-1]), bc=lambda: fails(trip, np.broadcast_to(np.float32([1, 2]), (3, 2))), z=lambda: fails(trip, np.array(1.0, np.float32)), em=lambda: fails(trip, np.zeros((0, 3), np.float32)), fort=lambda: trip(np.asfortranarray(base[0])), big=lambda: fails(trip, np.arange(4, dtype=">f4")), ro=lambda: [a := base.copy(), a.setflags(write=False), trip(a)][2], lst=lambda: error(F, device, [1.0, 2.0]), view=lambda: [t := F(device, base), t.copy_from_numpy(np.float32([9, 8])), t.to_numpy().ravel()[:4]][2], over=lambda: error(F(device, base[0, 0].copy()).copy_from_numpy, np.zeros(9, np.float32)), nonc=lambda: error(F(device, base).copy_from_numpy, base.T), noncd=lambda: error(F(device, base.T).copy_from_numpy, base), dt=lambda: [t := F(device, np.zeros(2, np.float32)), t.copy_from_numpy(np.array([1.0], np.float64)), t.to_numpy().view(np.uint32)][2], st=lambda: error(F, device, np.zeros(2, np.dtype([("a", "<f4")]))), tgt=lambda: error(lambda: F(device, random(4, 3), target_slang_dtype="float3").shape), clear=lambda: [t := F(device, base), t[1].clear(), t.to_numpy().sum()][2], enc=lambda: [t := F(device, base), e := device.create_command_encoder(), t.clear(e), device.submit_command_buffer(e.finish()) > 0, t.to_numpy().sum()][4])


@case
def users3_data_tensor_views_of_views(spy, device):
    t = spy.Tensor.from_numpy(device, np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5))
    d = lambda x: [x.shape, x.strides, x.offset, x.to_numpy()]
    v = spy.Tensor.zeros(device, (4, 6), "float3")
    v.copy_from_numpy(np.arange(72, dtype=np.float32))
    return each(a=lambda: d(t[1]), b=lambda: d(t[1, 2]), c=lambda: d(t[1][2]), e=lambda: d(t[:, 1:]), f=lambda: d(t[:, 1:][0, :, ::2]), g=lambda: d(t[..., 0]), h=lambda: d(t[0, ..., 3]), i=lambda: fails(lambda: t[None].shape), j=lambda: [t[0, None].shape, t[0, None].strides, t[:, None, 0].shape], k=lambda: d(t[1, 2, 3, 4]), l=lambda: d(t[-1, -1, -1]), m=lambda: [error(lambda: t[2]), error(lambda: t[0, 0, 0, 0, 0]), error(lambda: t[..., ...]), error(lambda: t[1.0]), error(lambda: t["a"]), fails(lambda: t[::-1].shape), fails(lambda: t[[0, 1]].shape), fails(lambda: t[np.int64(1)].shape)], n=lambda: d(t[0, 0, 1:3, 2:4]), o=lambda: [t[0:100].shape, t[5:].shape, t[1:1].shape, t[-1:].shape, t[:-1].shape, t[0, 2:0].shape], vw=lambda: d(t.view((6, 20))), vo=lambda: d(t.view((4,), offset=7)), vs=lambda: d(t.view((3, 3), (20, 1), 2)), vbad=lambda: [fails(lambda: t.view((1000,)).shape), error(t.view, (2, 2), (1,)), error(t.view, (2,), (-1,)), error(t.view, 3)], vv=lambda: d(t[1].view((60,))), bc=lambda: [t[0, 0, 0].broadcast_to((2, 5)).strides, d(t[0, 0, 0].broadcast_to((2, 5))), error(t.broadcast_to, (5,)), error(t[0, 0, 0].broadcast_to, (2, 4))], el=lambda: [d(v[1]), d(v[:, 2]), v[1, 2].to_numpy(), v[1:3, 2].shape], it=lambda: [[x.shape for x in t], [float(x.to_numpy()) if x.to_numpy().size == 1 else 0 for x in t[0, 0, 0]], fails(lambda: len(t))], share=lambda: [t[1].storage is t.storage, t.view((120,)).storage is t.storage, t.detach().storage is t.storage], uni=lambda: {k: plain(x) for k, x in t[1].uniforms().items() if k != "_data"}, wrap=lambda: d(spy.Tensor(t.storage, t.dtype, (3, 4), (5, 1), 10)), wrap2=lambda: d(spy.Tensor(storage=t.storage, dtype=t.dtype, shape=(120,))), pt=lambda: [a := spy.Tensor.zeros(device, (3,), "float"), b := spy.Tensor.from_numpy(device, random(3)), a.point_to(b), a.storage is b.storage, a.to_numpy()][3:], ptbad=lambda: error(spy.Tensor.zeros(device, (3,), "float").point_to, spy.Tensor.zeros(device, (4,), "float")), contiguous=lambda: [fails(lambda: t.is_contiguous()), fails(lambda: t[:, 1].is_contiguous())])


@case
def users3_data_cursors_over_every_field(spy, device):
    m = load(spy, device, STRUCTS)
    t = spy.Tensor.zeros(device, (2,), m.Grid)
    def fill():
        c = t.cursor()
        c[0].write({"items": [{"p": [1, 2, 3], "s": {"a": 255, "b": 65535, "c": -128}, "m": spy.float2x3([1, 2, 3, 4, 5, 6]), "on": True, "h": [0.5, 2], "id": 1 << 50}, {"p": spy.float3(4), "s": {"b": 3}}], "w": [1, 2, 3], "n": -4})
        c[1].w = np.float32([7, 8, 9])
        c[1].items[1].s = {"a": 1, "b": 2, "c": 3}
        c[1].items[0].h = spy.float16_t2(1, 0.25)
        c.apply()
        return [x.read() for x in t.cursor()]
    def lay(l):
        return [[f.name, f.offset, f.type_layout.size, f.type_layout.stride, f.type_layout.alignment, f.type_layout.kind] for f in l.fields]
    def walk():
        e = t.cursor()[0]
        return [e.find_field("w").is_valid(), e.find_field("q").is_valid(), e.find_field("w").find_element(1).read(), e.find_field("w").find_element(9).is_valid(), e.has_field("n"), e.has_element(0), e.w.has_element(2), e.w.has_element(3), e["w"][2].read(), e.items[1].s.b.read(), fails(lambda: e.w[5].read()), fails(lambda: e.q.read()), fails(lambda: setattr(e, "q", 1))]
    def setitem():
        c = t.cursor()
        c[1] = {"n": 77}
        c[0]["n"] = 78
        c[0]["w"][1] = 5.5
        c[0].items[0]["on"] = False
        c.apply()
        return [c[1].n.read(), c[0].n.read(), t.cursor()[0].w.read(), t.cursor()[0].items[0].on.read()]
    def partial():
        c = t.cursor(1, 1)
        a = [c.element_count, c.size, c.element_size, c.element_stride, c[0].n.read(), c.is_loaded, c.resource is t.storage]
        c[0].n = 5
        c.apply()
        return a + [t.cursor()[1].n.read(), t.cursor()[0].n.read(), error(lambda: c[1])]
    def own():
        l = m.Item.buffer_layout.reflection if hasattr(m.Item, "buffer_layout") else None
        c = spy.BufferCursor(device.info.type, l, 3)
        c[1].p = [5, 6, 7]
        c[2].write({"id": 4, "on": True})
        return [len(c), c.to_numpy().shape, c[1].p.read(), c[2].id.read(), c.is_loaded, c.resource is None, None, repr(c[1].p), repr(c[2].on), repr(c[2].id), repr(c[1].m)]
    def views():
        c = t.cursor()
        i = m.layout.find_type_by_name("int").buffer_layout.reflection
        f3 = m.layout.find_type_by_name("float3").buffer_layout.reflection
        return [c[0].n.reinterpret(i).read(), c[0].items[0].p.reinterpret(f3).read(), c[0].w.reinterpret(f3).read()]
    return each(fill=fill, lay=lambda: [lay(t.cursor().element_type_layout), lay(m.Item.buffer_layout.reflection), t.cursor().element_type_layout.stride], walk=walk, setitem=setitem, partial=partial, own=own, views=views, bad=lambda: [fails(t.cursor()[0].n.write, 1 << 40), fails(t.cursor()[0].items[0].s.a.write, 256), fails(t.cursor()[0].items[0].s.a.write, -1), fails(t.cursor()[0].w.write, [1, 2]), fails(t.cursor()[0].items.write, [{}]), fails(t.cursor()[0].items[0].m.write, spy.float3x3()), fails(t.cursor()[0].items[0].p.write, spy.float2()), fails(t.cursor()[0].n.write, "x"), fails(t.cursor()[0].n.write, None), fails(t.cursor()[0].write, [1]), fails(t.cursor()[0].items[0].on.write, 1.0)], npw=lambda: [c := spy.Tensor.zeros(device, (3,), m.Small).cursor(), c.write_from_numpy({"b": np.uint16([1, 2, 3]), "a": np.uint8([4, 5, 6])}), [x.read() for x in c]][2], npw2=lambda: [fails(spy.Tensor.zeros(device, (3,), m.Small).cursor().write_from_numpy, {"b": np.uint16([1, 2])}), fails(spy.Tensor.zeros(device, (3,), m.Small).cursor().write_from_numpy, {"q": np.uint16([1, 2, 3])}), fails(lambda: spy.Tensor.zeros(device, (3,), m.Small).cursor().write_from_numpy({"b": np.float32([1, 2, 3])}, unchecked_copy=False))], raw=lambda: [c := spy.Tensor.zeros(device, (2,), "int").cursor(), c.copy_from_numpy(np.int32([5, 6])), c[1].read(), c.to_numpy().dtype.name, c.to_numpy()][2:], it=lambda: [len(list(t.cursor())), [x.n.read() for x in t.cursor()]])


@case
def users3_data_struct_results_read_back(spy, device):
    m = load(spy, device, STRUCTS)
    return each(one=lambda: m.make(2.0), grid=lambda: m.grid(1.0), many=lambda: [c.read() for c in m.make(np.float32([1, 2])).cursor()], again=lambda: m.total(m.make(np.float32([1, 2])), _result="numpy"), rt=lambda: m.total(m.make(3.0)), repr_=lambda: repr(m.make(np.float32([1, 2]))), dt=lambda: [m.make(np.float32([1])).dtype.full_name, m.make(np.float32([1])).dtype is m.Item.struct, m.make(np.float32([1])).dtype == m.Item.struct], types=lambda: {k: type(v).__name__ for k, v in m.make(2.0).items()}, inner=lambda: {k: type(v).__name__ for k, v in m.make(2.0)["s"].items()}, arr=lambda: [type(m.grid(1.0)["items"]).__name__, type(m.grid(1.0)["w"]).__name__, type(m.grid(1.0)["w"][0]).__name__], numpy=lambda: [m.make(np.float32([1, 2])).to_numpy().shape, m.make(np.float32([1, 2])).to_numpy().dtype.name])


@case
def users3_data_instances_of_soa(spy, device):
    m = load(spy, device, """
import slangpy;
struct Particle { float3 p; float3 v; float age;
  __init(float3 p) { this.p = p; v = float3(0, 1, 0); age = 0; }
  [mutating] void step(float dt) { v += float3(0, -9.8, 0) * dt; p += v * dt; age += dt; }
  float energy() { return 0.5 * dot(v, v) + 9.8 * p.y; }
  [mutating] void reset() { p = 0; v = 0; age = 0; }
  Particle mirrored() { Particle q = this; q.p.x = -p.x; return q; } };
float dist(Particle a, Particle b) { return distance(a.p, b.p); }
float2 agex(Particle a) { return float2(a.age, a.p.x); }
""")
    T = lambda x: spy.Tensor.from_numpy(device, x)
    def vec(x):
        t = spy.Tensor.zeros(device, x.shape[:-1], "float3")
        t.copy_from_numpy(x)
        return t
    def soa():
        l = spy.InstanceList(m.Particle, {"p": vec(random(4, 3)), "v": vec(np.zeros((4, 3), np.float32)), "age": T(np.zeros(4, np.float32))})
        l.step(0.1), l.step(0.1)
        return [l.p.to_numpy(), l.v.to_numpy(), l.age.to_numpy(), l.energy(_result="numpy"), l.age.shape]
    def mixed():
        l = spy.InstanceList(m.Particle, {"p": vec(random(4, 3)), "v": spy.float3(1, 2, 3), "age": 0.5})
        l.step(0.1)
        return [l.p.to_numpy(), l.v, l.age, l.energy(_result="numpy")]
    def attr():
        l = spy.InstanceList(m.Particle)
        l.p, l.v, l.age = vec(random(3, 3)), spy.float3(0), T(np.float32([1, 2, 3]))
        return [l.energy(_result="numpy"), error(lambda: l.nothing), fails(lambda: setattr(l, "nothing", 1)), sorted(k for k in l.get_this() if k[0] != "_"), type(l.step).__name__]
    def aos():
        l = spy.InstanceTensor(m.Particle, shape=(5,))
        l.construct(vec(random(5, 3)))
        l.step(np.float32([0.1, 0.2, 0.3, 0.4, 0.5]))
        r = l.mirrored()
        return [l.shape, l.energy(_result="numpy"), type(r).__name__, r.shape, [c.age.read() for c in r.cursor()], m.dist(l, l, _result="numpy"), m.agex(l, _result="numpy"), l.tensor.dtype.full_name]
    class Swarm(spy.InstanceList):
        def __init__(self, n):
            super().__init__(m.Particle)
            self.p = vec(random(n, 3))
            self.v = vec(np.zeros((n, 3), np.float32))
            self.age = 0.0
        def height(self):
            return float(self.p.to_numpy()[:, 1].max())
    def sub():
        s = Swarm(3)
        s.step(0.5)
        return [s.p.to_numpy(), s.energy(_result="numpy"), m.agex(s, _result="numpy"), round(s.height(), 3)]
    class Own:
        def __init__(self):
            self.data, self.updated = {"p": [1, 2, 3], "v": [0, 0, 0], "age": 1.0, "_type": "Particle"}, None
        def get_this(self):
            return self.data
        def update_this(self, value):
            self.updated = value
    def own():
        o = Own()
        a = [m.agex(o), m.Particle.energy(o)]
        m.Particle.step(o, 0.5)
        return a + [m.dist(o, {"_type": "Particle", "p": [1, 2, 4], "v": [0, 0, 0], "age": 1.0}), o.data["age"], type(o.updated).__name__]
    def packed():
        l = spy.InstanceList(m.Particle, {"p": vec(random(4, 3)), "v": spy.float3(0), "age": 0.0})
        return [type(l.pack()).__name__, None, fails(lambda: m.agex(spy.pack(m, {"_type": "Particle", "p": [4, 5, 6], "v": [0, 0, 0], "age": 2.0})))]
    def copies():
        l = spy.InstanceTensor(m.Particle, (2,))
        l.copy_from_numpy(np.arange(14, dtype=np.float32))
        return [l.to_numpy().view(np.float32), m.agex(l, _result="numpy")]
    return each(soa=soa, mixed=mixed, attr=attr, aos=aos, sub=sub, own=own, packed=packed, copies=copies, data=lambda: [l := spy.InstanceList(m.Particle), l.set_data({"p": [0, 2, 0], "v": [0, 0, 0], "age": 1.0}), l.energy(), l.age][2:], res=lambda: [l := spy.InstanceTensor(m.Particle, (2,)), m.Particle(vec(random(2, 3)), _result=l), l.energy(_result="numpy")][2], lst=lambda: fails(m.agex, [{"_type": "Particle", "p": [1, 2, 3], "v": [0, 0, 0], "age": 3.0}, {"_type": "Particle", "p": [4, 5, 6], "v": [0, 0, 0], "age": 4.0}], _result="numpy"), two=lambda: spy.InstanceTensor(m.Particle, (2, 3)).shape, ten=lambda: [x := spy.Tensor.zeros(device, (3,), m.Particle), l := spy.InstanceTensor(m.Particle, (3,), x), l.tensor is x, l.shape][2:])


@case
def users3_data_packed_values(spy, device):
    m = load(spy, device, """
import slangpy;
struct Scene { float4 colors[4]; int count; StructuredBuffer<float> data; float3x4 xf; };
float3 shade(Scene s, int i) { return s.colors[i % s.count].xyz + s.data[i] + s.xf[0][3]; }
float arr(float a[8], int i) { return a[i]; }
float ten(Tensor<float, 1> t, int i) { return t[i]; }
float plainf(float a, int i) { return a + i; }
""")
    b = device.create_buffer(element_count=6, struct_size=4, usage=spy.BufferUsage.shader_resource, data=np.arange(6, dtype=np.float32))
    scene = {"_type": "Scene", "colors": [spy.float4(i) for i in range(4)], "count": 4, "data": b, "xf": spy.float3x4(np.arange(12, dtype=np.float32).reshape(3, 4))}
    i = np.arange(6, dtype=np.int32)
    def go():
        p = spy.pack(m, scene)
        return [m.shade(p, i, _result="numpy"), m.shade(p, 2), 0, type(p).__name__, type(p.shader_object).__name__, p.python_object is scene, type(p.python).__name__ != ""]
    return each(go=go, again=lambda: [p := spy.pack(m, scene), spy.pack(m, p) is p][1], direct=lambda: m.shade(scene, i, _result="numpy"), n=lambda: m.plainf(spy.pack(m, 2.5), i, _result="numpy"), t=lambda: m.ten(spy.pack(m, spy.Tensor.from_numpy(device, random(6))), i, _result="numpy"), a=lambda: fails(lambda: m.arr(spy.pack(m, spy.Tensor.from_numpy(device, random(8))), i[:3].copy(), _result="numpy")), untyped=lambda: fails(spy.pack, m, {"count": 3}), none=lambda: fails(spy.pack, m, None), kw=lambda: type(spy.pack(module=m, arg_value=1.0)).__name__, wrong=lambda: fails(m.plainf, spy.pack(m, scene), 1), changes=lambda: [p := spy.pack(m, scene), m.shade(p, 0), scene.__setitem__("count", 1), m.shade(p, 3), scene.__setitem__("count", 4)][1:4:2])


@case
def users3_data_buffers_all_ways(spy, device):
    U = spy.BufferUsage
    RW = U.shader_resource | U.unordered_access | U.copy_source | U.copy_destination
    def desc(b):
        d = b.desc
        return [b.size, b.struct_size, d.size, d.struct_size, d.format, d.memory_type, d.usage.value, d.label, d.default_state]
    mk = device.create_buffer
    f = random(8)
    return each(a=lambda: desc(mk(size=64, usage=RW)), b=lambda: desc(mk(element_count=4, struct_size=16, usage=RW, label="lab")), c=lambda: desc(mk(usage=RW, data=f)), d=lambda: desc(mk(usage=RW, struct_size=4, data=f)), e=lambda: error(mk, usage=RW), f=lambda: error(lambda: desc(mk(size=4, usage=RW, data=f))), g=lambda: error(lambda: desc(mk(size=64, usage=RW, data=f))), h=lambda: desc(mk(spy.BufferDesc({"size": 32, "usage": RW, "struct_size": 8, "label": "x"}))), i=lambda: desc(mk({"size": 32, "usage": RW})), j=lambda: desc(mk(desc={"size": 32, "usage": RW})), k=lambda: desc(mk(size=16, memory_type=spy.MemoryType.upload, usage=U.copy_source)), l=lambda: desc(mk(size=16, memory_type=spy.MemoryType.read_back, usage=U.copy_destination)), m=lambda: desc(mk(size=16, usage=RW, format=spy.Format.r32_float)), n=lambda: [mk(size=16, usage=RW, format=spy.Format.r32_float, data=f[:4]).to_numpy().dtype.name, fails(lambda: mk(size=16, usage=RW, format=spy.Format.rg16_float).to_numpy().shape), mk(size=16, usage=RW).to_numpy().dtype.name], o=lambda: fails(mk, size=16), p=lambda: [error(mk, element_count=4), error(mk, size=-1, usage=RW), error(mk, size=16, usage="x"), 0], q=lambda: [x := mk(size=32, usage=RW, data=f), x.copy_from_numpy(f[:2] * 0), x.to_numpy().view(np.float32)][2], r=lambda: error(mk(size=8, usage=RW).copy_from_numpy, f), s=lambda: error(mk(size=32, usage=RW).copy_from_numpy, f[::2]), t=lambda: fails(mk(size=32, usage=RW).copy_from_numpy, [1.0]), u=lambda: [x := mk(size=32, usage=RW, data=f), e := device.create_command_encoder(), e.clear_buffer(x, range=spy.BufferRange()), device.submit_command_buffer(e.finish()) > 0, x.to_numpy().sum()][4], v=lambda: [x := mk(size=32, usage=RW, data=f), y := mk(size=32, usage=RW), e := device.create_command_encoder(), e.copy_buffer(dst=y, dst_offset=8, src=x, src_offset=4, size=12), e.upload_buffer_data(buffer=y, offset=24, data=np.float32([5, 6])), device.submit_command_buffer(e.finish()) > 0, y.to_numpy().view(np.float32)[2:]][6], w=lambda: [x := mk(size=32, usage=RW), e := device.create_command_encoder(), error(e.upload_buffer_data, x, 28, f)][2], x=lambda: [x := mk(size=32, usage=RW), e := device.create_command_encoder(), error(e.copy_buffer, x, 0, x, 28, 16)][2], y=lambda: [isinstance(mk(size=4, usage=RW), k) for k in (spy.Buffer, spy.Resource, spy.DeviceChild, spy.Object)], z=lambda: [x := mk(size=4, usage=RW), x.device is device, x.native_handle.type != spy.NativeHandleType.unknown if hasattr(spy.NativeHandleType, "unknown") else None, x.device_address != 0, "Buffer" in repr(x)][1:], free=lambda: desc(spy.create_buffer(size=16, usage=RW)))
