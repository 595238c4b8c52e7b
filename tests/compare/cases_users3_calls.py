"""Programs of other users, third set: functional calls: shapes, maps, results, generators, chains of options, methods."""
import numpy as np

from cases import case, each, error, fails, load, plain, random


@case
def users3_calls_broadcast_table(spy, device):
    m = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }\nfloat3 add3(float3 a, float3 b) { return a + b; }\nfloat dot3(float3 a, float3 b) { return dot(a, b); }\n")
    shapes = [(), (1,), (3,), (4,), (1, 3), (4, 1), (4, 3), (2, 1, 3), (2, 4, 1), (1, 1, 1)]
    out = {}
    for a in shapes[1:]:
        for b in shapes[1:]:
            x, y = random(*a), random(*b, seed=2)
            out[f"{a}{b}".replace(" ", "")] = lambda x=x, y=y: [m.add(x, y, _result="numpy"), m.add(x, y).shape]
    t = lambda *s: spy.Tensor.from_numpy(device, random(*s))
    v = lambda *s: spy.Tensor.from_numpy(device, random(*s, 3, seed=3))
    return each(**out, t1=lambda: m.add3(v(4), v(4), _result="numpy"), t2=lambda: m.add3(v(4, 1), v(5), _result="numpy").shape, t3=lambda: m.add3(v(4), spy.float3(1, 2, 3), _result="numpy"), t4=lambda: m.dot3(v(2, 4), v(4), _result="numpy"), t5=lambda: error(m.dot3, v(2, 4), v(3)), t6=lambda: error(m.add, t(3), t(4)), t7=lambda: m.add(t(3), 2.0).to_numpy(), t8=lambda: m.add(t(1), t(5)).shape, empty=lambda: m.add(t(3)[0:0], 1.0).shape, e2=lambda: m.add(np.zeros((0, 3), np.float32), np.zeros((1, 3), np.float32), _result="numpy").shape, e3=lambda: error(lambda: m.add(np.zeros((0,), np.float32), np.zeros((3,), np.float32), _result="numpy").shape))


@case
def users3_calls_strict_broadcasting(spy, device):
    src = "import slangpy;\nfloat add(float a, float b) { return a + b; }\nfloat3 sc(float3 a, float s) { return a * s; }\nstruct P { float x; float y; }; float p(P p, float k) { return p.x + p.y * k; }\n"
    m = spy.Module.load_from_source(device, "users3_strict", src, options={"strict_broadcasting": True})
    n = spy.Module.load_from_source(device, "users3_loose", src, options={"strict_broadcasting": False})
    cases = dict(same=lambda m: m.add(random(2, 3), random(2, 3), _result="numpy"), ranks=lambda m: error(m.add, random(2, 3), random(3), _result="numpy"), one=lambda m: m.add(random(2, 3), random(1, 3), _result="numpy"), scalar=lambda m: m.add(random(2, 3), 1.0, _result="numpy"), vec=lambda m: m.sc(random(4, 3), random(4), _result="numpy"), vec2=lambda m: error(m.sc, random(2, 4, 3), random(4), _result="numpy"), vs=lambda m: m.sc(spy.float3(1, 2, 3), random(4), _result="numpy"), d=lambda m: m.p({"x": random(4), "y": 2.0}, random(4), _result="numpy"), d2=lambda m: error(m.p, {"x": random(4), "y": random(2, 4)}, 1.0, _result="numpy"), grid=lambda m: error(lambda: m.add(random(2, 3), spy.rand_float(), _result="numpy").shape), lst=lambda m: error(m.add, [1.0, 2.0, 3.0], random(2, 3), _result="numpy"), res=lambda m: error(m.add, random(3), 1.0, _result=spy.Tensor.zeros(device, (2, 3), "float")), mapped=lambda m: 0)
    return each(**{f"strict_{k}": lambda f=f: f(m) for k, f in cases.items()}, **{f"loose_{k}": lambda f=f: f(n) for k, f in cases.items()}, unknown=lambda: fails(spy.Module.load_from_source, device, "users3_opt", src, options={"nothing": 1}), opts=lambda: [m.options["strict_broadcasting"], n.options["strict_broadcasting"]])


@case
def users3_calls_maps_of_dimensions(spy, device):
    m = load(spy, device, "import slangpy;\nfloat mul(float a, float b) { return a * b; }\nfloat3 sc(float3 v, float s) { return v * s; }\nfloat at(float a[4], int i) { return a[i]; }\nfloat t1(Tensor<float, 1> t, int i) { return t[i]; }\nvoid wr(float a, out float b) { b = a * 2; }\n")
    a, b, c = random(3), random(4, seed=2), random(2, 3, seed=3)
    T = lambda x: spy.Tensor.from_numpy(device, x)
    return each(outer=lambda: m.mul.map((0,), (1,))(a, b, _result="numpy"), outer2=lambda: m.mul.map((1,), (0,))(a, b, _result="numpy"), kw=lambda: m.mul.map(a=(0,), b=(1,))(a=a, b=b, _result="numpy"), mixed=lambda: m.mul.map((1,), b=(0,))(a, b=b, _result="numpy"), three=lambda: m.mul.map((0, 2), (1,))(c, b, _result="numpy").shape, swap=lambda: m.mul.map((1, 0), (0, 1))(c, c.T.copy(), _result="numpy"), only=lambda: fails(m.mul.map((0,)), a, 2.0, _result="numpy"), none=lambda: m.mul.map(None, (0,))(2.0, b, _result="numpy"), vec=lambda: m.sc.map((0,), (1,))(T(random(5, 3)), a, _result="numpy").shape, byname=lambda: m.sc.map("float3", "float")(random(5, 3), random(5), _result="numpy"), bytype=lambda: m.sc.map(spy.float3, float)(random(5, 3), 2.0, _result="numpy"), bytype2=lambda: m.sc.map(v=spy.float3)(v=random(5, 3), s=random(5), _result="numpy"), mod=lambda: m.sc.map(m.float3, m.float)(random(5, 3), random(5), _result="numpy"), arr=lambda: m.at.map((), (0,))(random(4), np.arange(4, dtype=np.int32), _result="numpy"), arr2=lambda: m.at.map("float[4]", (0,))(random(4), np.arange(4, dtype=np.int32), _result="numpy"), arr3=lambda: m.at.map((0,), (1,))(random(2, 4), np.arange(4, dtype=np.int32), _result="numpy"), tens=lambda: m.t1.map((), (0,))(T(random(4)), np.arange(4, dtype=np.int32), _result="numpy"), tens2=lambda: m.t1.map((0,), (1,))(T(random(2, 4)), np.arange(4, dtype=np.int32), _result="numpy"), res=lambda: m.mul.map((0,), (1,), _result=(1, 0))(a, b, _result=spy.Tensor.zeros(device, (4, 3), "float")).to_numpy(), out=lambda: [m.wr.map((0, 1), (1, 0))(c, o := T(np.zeros((3, 2), np.float32))), o.to_numpy()][1], dup=lambda: error(m.mul.map((0, 0), (1,)), c, b), neg=lambda: fails(m.mul.map((-1,), (0,)), a, b, _result="numpy"), big=lambda: fails(m.mul.map((0,), (5,)), a, b, _result="numpy"), many=lambda: error(m.mul.map((0, 1), (0,)), a, b), mism=lambda: error(m.mul.map((0,), (0,)), a, b), toomany=lambda: fails(m.mul.map((0,), (1,), (2,)), a, b), unknown=lambda: fails(m.mul.map(q=(0,)), a, b), gap=lambda: fails(m.mul.map((0,), (2,)), a, b, _result="numpy"), again=lambda: m.mul.map((0,)).map((0,), (1,))(a, b, _result="numpy"), text=lambda: fails(m.mul.map("nothing", "float"), a, b), wrongt=lambda: fails(m.sc.map("float2", "float"), random(5, 3), 1.0))


@case
def users3_calls_map_with_bwds_and_set(spy, device):
    m = load(spy, device, "import slangpy;\nuniform float bias;\n[Differentiable] float mul(float a, float b) { return a * b; }\nfloat biased(float a, float b) { return a * b + bias; }\n")
    def go():
        a = spy.Tensor.from_numpy(device, random(3)).with_grads()
        b = spy.Tensor.from_numpy(device, random(4, seed=2)).with_grads()
        f = m.mul.map((0,), (1,))
        r = f(a, b, _result="tensor").with_grads()
        r.grad.copy_from_numpy(random(3, 4, seed=5))
        f.bwds(a, b, r)
        return [r.to_numpy(), a.grad.to_numpy(), b.grad.to_numpy()]
    def go2():
        a, b = spy.Tensor.from_numpy(device, random(3)).with_grads(), spy.Tensor.from_numpy(device, random(3, seed=2)).with_grads()
        r = spy.Tensor.from_numpy(device, np.ones(3, np.float32)).with_grads()
        r.grad.copy_from_numpy(np.float32([1, 2, 3]))
        m.mul.bwds.map(a=(0,), b=(0,))(a=a, b=b, _result=r)
        return [a.grad.to_numpy(), b.grad.to_numpy()]
    return each(go=go, go2=go2, st=lambda: m.biased.set(bias=2.0).map((0,), (1,))(random(2), random(3), _result="numpy"), st2=lambda: m.biased.map((0,), (1,)).set({"bias": 3.0}).return_type("numpy")(random(2), random(3)), kind=lambda: [type(m.mul.map((0,))).__name__, type(m.mul.bwds).__name__, type(m.mul.set(a=1)).__name__, type(m.mul.return_type("numpy")).__name__, type(m.mul.constants({})).__name__, type(m.mul.prelude("")).__name__, type(m.mul.thread_group_size(spy.uint3(32, 1, 1))).__name__, 0, type(m.mul.type_conformances([])).__name__, type(m.mul.write(lambda c: None)).__name__], attrs=lambda: [m.mul.map((0,)).name, m.mul.map((0,)).parent is not None, m.mul.map((0,)).module is m, m.mul.set(a=1).root is m.mul, m.mul.map((0,), b=(1,)).args, m.mul.map((0,), b=(1,)).kwargs])


@case
def users3_calls_generators_in_all_types(spy, device):
    m = load(spy, device, """
import slangpy;
int i1(int i) { return i; } uint u1(uint i) { return i; } int2 i2(int2 i) { return i; } uint2 u2(uint2 i) { return i; } int3 i3(int3 i) { return i; } float f1(float f) { return f; } float2 f2(float2 f) { return f; } float3 f3(float3 f) { return f; } int arr(int[2] a) { return a[0] * 100 + a[1]; } int arr3(int[3] a) { return a[0] * 10000 + a[1] * 100 + a[2]; } int64_t l(int64_t i) { return i; } uint4 u4(uint4 u) { return u; } float3 mix3(float3 r, int2 g) { return r * 0 + float3(g, 1); }
""")
    o = lambda f, g, *s, dt="int": f(g, _result=spy.Tensor.zeros(device, s, dt)).to_numpy()
    return each(c1=lambda: o(m.i1, spy.call_id(), 4), c2=lambda: o(m.i2, spy.call_id(), 2, 3, dt="int2"), c3=lambda: o(m.i3, spy.call_id(), 2, 1, 2, dt="int3"), ca=lambda: o(m.arr, spy.call_id(), 2, 3), ca3=lambda: o(m.arr3, spy.call_id(), 2, 2, 2), cu=lambda: error(o, m.u1, spy.call_id(), 4, dt="uint"), cu2=lambda: error(o, m.u2, spy.call_id(), 2, 3, dt="uint2"), cf=lambda: error(o, m.f2, spy.call_id(), 2, 3, dt="float2"), cmis=lambda: error(o, m.i2, spy.call_id(), 4, dt="int2"), cdims=lambda: error(o, m.i2, spy.call_id(2), 2, 3, dt="int2"), cdims1=lambda: error(o, m.i1, spy.call_id(1), 4), t1=lambda: o(m.i1, spy.thread_id(), 4), tu=lambda: o(m.u1, spy.thread_id(), 2, 3, dt="uint"), t3=lambda: o(m.i3, spy.thread_id(), 4, dt="int3"), t2=lambda: o(m.u2, spy.thread_id(), 4, dt="uint2"), tf=lambda: error(o, m.f3, spy.thread_id(), 4, dt="float3"), td=lambda: error(o, m.i3, spy.thread_id(3), 4, dt="int3"), g=lambda: m.i2(spy.grid((2, 3)), _result="numpy"), ga=lambda: m.arr(spy.grid((2, 3)), _result="numpy"), go=lambda: m.i2(spy.grid((2, 3), offset=(10, 20)), _result="numpy"), gs=lambda: m.i2(spy.grid(shape=(2, 3), offset=(10, 20), stride=(2, 5)), _result="numpy"), g1=lambda: m.i1(spy.grid((5,), stride=(3,)), _result="numpy"), gf=lambda: error(m.f2, spy.grid((2, 3)), _result="numpy"), gu=lambda: error(m.u2, spy.grid((2, 3)), _result="numpy"), gn=lambda: o(m.i2, spy.grid(2), 2, 3, dt="int2"), gm=lambda: o(m.i2, spy.grid((-1, 3)), 2, 3, dt="int2"), gshape=lambda: [spy.grid((2, 3)).shape, spy.grid((2, 3)).offset, spy.grid((2, 3)).stride, spy.grid((2, 3)).dims, spy.grid(3).dims], gbad=lambda: fails(lambda: m.i2(spy.grid((2, 3), offset=(1,)), _result="numpy")), r=lambda: m.i1(range(3), _result="numpy"), r2=lambda: m.i1(range(2, 11, 3), _result="numpy"), rneg=lambda: fails(m.i1, range(5, 0, -1), _result="numpy"), rf=lambda: fails(m.f1, range(3), _result="numpy"), ru=lambda: fails(m.u1, range(3), _result="numpy"), re=lambda: fails(lambda: m.i1(range(0), _result="numpy").shape), r_2=lambda: fails(m.i2, range(3), _result="numpy"), two=lambda: m.mix3(spy.rand_float(), spy.grid((2, 2)), _result="numpy"), i64=lambda: error(m.l, range(3), _result="numpy"))


@case
def users3_calls_random_streams(spy, device):
    m = load(spy, device, "import slangpy;\nuint u1(uint i) { return i; } uint2 u2(uint2 i) { return i; } uint3 u3(uint3 i) { return i; } int i1(int i) { return i; } float f1(float f) { return f; } float2 f2(float2 f) { return f; } float3 f3(float3 f) { return f; } float4 f4(float4 f) { return f; } half h(half f) { return f; } float two(float a, float b) { return a - b; } uint hash(uint s) { return wang_hash(s); }\n")
    o = lambda f, g, *s, dt="uint": f(g, _result=spy.Tensor.zeros(device, s, dt)).to_numpy()
    from slangpy.types.wanghasharg import WangHashArg, calc_wang_hash, calc_wang_hash_numpy
    from slangpy.types.randfloatarg import RandFloatArg
    return each(d=lambda: o(m.u1, spy.wang_hash(), 5), s=lambda: o(m.u1, spy.wang_hash(seed=7), 5), w=lambda: o(m.u1, spy.wang_hash(seed=7, warmup=2), 5), ns=lambda: o(m.u1, spy.wang_hash(seed=7, hash_seed=False), 5), u2=lambda: o(m.u2, spy.wang_hash(seed=1), 4, dt="uint2"), u3=lambda: o(m.u3, spy.wang_hash(seed=1, warmup=1), 2, 2, dt="uint3"), dim=lambda: o(m.u2, spy.wang_hash(dim=2, seed=1), 4, dt="uint2"), dimbad=lambda: fails(o, m.u3, spy.wang_hash(dim=2, seed=1), 4, dt="uint3"), i1=lambda: o(m.i1, spy.wang_hash(seed=3), 4, dt="int"), f=lambda: o(m.f1, spy.rand_float(), 5, dt="float"), fr=lambda: o(m.f1, spy.rand_float(-2, 3), 5, dt="float"), fs=lambda: o(m.f1, spy.rand_float(min=-2, max=3, seed=9), 5, dt="float"), f2=lambda: o(m.f2, spy.rand_float(seed=9), 5, dt="float2"), f3=lambda: o(m.f3, spy.rand_float(0, 10, dim=3, seed=9), 2, 2, dt="float3"), fw=lambda: o(m.f1, spy.rand_float(seed=9, warmup=3), 4, dt="float"), f4=lambda: fails(o, m.f4, spy.rand_float(seed=9), 4, dt="float4"), h=lambda: o(m.h, spy.rand_float(seed=9), 4, dt="half").astype(float), uf=lambda: fails(o, m.u1, spy.rand_float(), 4), fu=lambda: fails(o, m.f1, spy.wang_hash(), 4, dt="float"), two=lambda: m.two(spy.rand_float(seed=1), spy.rand_float(seed=1), _result=spy.Tensor.zeros(device, (4,), "float")).to_numpy(), two2=lambda: m.two(spy.rand_float(seed=1), spy.rand_float(seed=2), _result=spy.Tensor.zeros(device, (4,), "float")).to_numpy(), raw=lambda: o(m.u1, WangHashArg(), 4), raw2=lambda: o(m.u1, WangHashArg(1, 5, 1, False), 4), rawf=lambda: o(m.f1, RandFloatArg(0, 1), 4, dt="float"), rawf2=lambda: o(m.f1, RandFloatArg(0, 1, 1, 5, 1, True), 4, dt="float"), attr=lambda: [spy.wang_hash(seed=4, warmup=2).seed, spy.wang_hash(seed=4, warmup=2).warmup, spy.rand_float(1, 2, seed=3).min, spy.rand_float(1, 2, seed=3).max, spy.rand_float(1, 2, seed=3).seed], host=lambda: [calc_wang_hash(0), calc_wang_hash(123456), calc_wang_hash_numpy(np.arange(4, dtype=np.uint32)), calc_wang_hash_numpy(np.arange(4, dtype=np.uint32)).dtype.name], dev=lambda: m.hash(np.arange(4, dtype=np.uint32), _result="numpy"), group=lambda: m.u1.call_group_shape(spy.slangpy.Shape((4,)))(spy.wang_hash(seed=7), _result=spy.Tensor.zeros(device, (6,), "uint")).to_numpy())


@case
def users3_calls_results_into_everything(spy, device):
    m = load(spy, device, """
import slangpy;
struct R { float3 v; int id; };
float f(float a) { return a * 2; } float3 v(float a) { return float3(a, a + 1, a + 2); } float2x3 mm(float a) { return float2x3(a, 1, 2, 3, 4, 5); } float[3] arr(float a) { return { a, a * 2, a * 3 }; } float3[2] varr(float a) { return { float3(a), float3(1) }; } R r(float a) { R x; x.v = float3(a); x.id = int(a * 10); return x; } bool b(float a) { return a > 0.5; } half h(float a) { return half(a); } double d(float a) { return a; } uint8_t u8(float a) { return uint8_t(a * 255); } int64_t l(float a) { return int64_t(a * 100); } void nothing(float a) {} bool3 b3(float a) { return bool3(a > 0.5, a > 0.25, true); } float4 v4(float a) { return a; }
""")
    a = random(4)
    names = "f v mm arr varr b h d u8 l b3 v4".split()
    T = lambda d, *s: spy.Tensor.zeros(device, s, d)
    def desc(t):
        return [type(t).__name__, t.shape, t.dtype.full_name, t.to_numpy().dtype.name, t.to_numpy()]
    return each(**{f"np_{n}": lambda n=n: getattr(m, n)(a, _result="numpy") for n in names}, **{f"t_{n}": lambda n=n: desc(getattr(m, n)(a)) for n in names}, **{f"one_{n}": lambda n=n: [type(getattr(m, n)(0.75)).__name__, fails(getattr(m, n), 0.75)] for n in names}, r1=lambda: m.r(0.5), rt=lambda: desc(m.r(a))[:3], rn=lambda: [c.read() for c in m.r(a).cursor()], into=lambda: m.f(a, _result=T("float", 4)).to_numpy(), into2=lambda: m.f(a, _result=T("float", 2, 4)).to_numpy(), into3=lambda: m.f(0.5, _result=T("float", 3)).to_numpy(), intod=lambda: m.f(a, _result=T("double", 4)).to_numpy(), intoi=lambda: m.f(a, _result=T("int", 4)).to_numpy(), intov=lambda: m.v(a, _result=T("float3", 4)).to_numpy(), intovf=lambda: m.v(a, _result=T("float", 4, 3)).to_numpy(), small=lambda: error(m.f, a, _result=T("float", 3)), np_in=lambda: [x := np.zeros(4, np.float32), m.f(a, _result=x), x][2], np_bad=lambda: error(m.f, a, _result=np.zeros(4, np.float64)), vr=lambda: [x := spy.ValueRef(0.0), m.f(0.5, _result=x), x.value][2], vrv=lambda: [x := spy.ValueRef(spy.float3()), m.v(0.5, _result=x), x.value][2], rdict=lambda: [d := {"v": T("float3", 4), "id": T("int", 4)}, m.r(a, _result=d), d["v"].to_numpy(), d["id"].to_numpy()][2:], rs=lambda: [x := spy.Tensor.empty(device, (4,), m.R), m.r(a, _result=x), x.cursor()[1].read()][2], typ=lambda: type(m.f(a, _result=spy.Tensor)).__name__, typn=lambda: m.f(a, _result=np.ndarray), no=lambda: [m.nothing(a), m.nothing(0.5)], nor=lambda: fails(m.nothing, a, _result="numpy"), bad=lambda: error(m.f, a, _result="list"), badt=lambda: fails(m.f, a, _result=dict), nb=lambda: fails(m.f, a, _result=3.0), rnp=lambda: error(m.r, a, _result="numpy"), rt2=lambda: m.f.return_type("numpy")(a), rt3=lambda: m.f.return_type(spy.Tensor)(a).to_numpy(), np0=lambda: [type(m.f(0.5, _result="numpy")).__name__, fails(m.f, 0.5, _result="numpy")], t0=lambda: [type(m.f(0.5, _result="tensor")).__name__, fails(lambda: m.f(0.5, _result="tensor").shape)])


@case
def users3_calls_methods_vectorised(spy, device):
    m = load(spy, device, """
import slangpy;
struct Ray { float3 o; float3 d;
  __init(float3 o, float3 d) { this.o = o; this.d = normalize(d); }
  float3 at(float t) { return o + t * d; }
  [mutating] void advance(float t) { o = at(t); }
  static Ray make(float x) { return Ray(float3(x, 0, 0), float3(0, 0, 1)); }
  static const int count = 3;
  [mutating] float step(float t) { advance(t); return o.z; } };
struct Counter { int n; [mutating] int next() { n += 1; return n; } int get() { return n; } };
""")
    def rays():
        return m.Ray(spy.Tensor.from_numpy(device, random(4, 3)), spy.float3(0, 0, 2))
    def mutate():
        r = m.Ray.make(random(4))
        m.Ray.advance(r, 2.0)
        return [[c.o.read() for c in r.cursor()], m.Ray.at(r, 1.0, _result="numpy")]
    def counter():
        t = spy.Tensor.zeros(device, (3,), m.Counter)
        return [m.Counter.next(t, _result="numpy"), m.Counter.next(t, _result="numpy"), m.Counter.get(t, _result="numpy")]
    def single():
        c = {"n": 4}
        x = spy.ValueRef({"n": 4})
        return [m.Counter.next(c), c, m.Counter.next({"_type": "Counter", "n": 7}), fails(m.Counter.next, x), x.value]
    def instance():
        l = spy.InstanceList(m.Counter, {"n": 5})
        return [l.next(), l.next(), l.n, l.get(), l.get_this()]
    def tens():
        l = spy.InstanceTensor(m.Ray, (3,))
        l.construct(spy.Tensor.from_numpy(device, random(3, 3)), spy.float3(0, 3, 0))
        l.advance(1.0)
        return [l.shape, l.at(np.float32([0, 1, 2]), _result="numpy"), l.step(0.5, _result="numpy"), l.to_numpy().shape, type(l.tensor).__name__]
    return each(one=lambda: m.Ray(spy.float3(1, 2, 3), spy.float3(0, 0, 2)), many=lambda: [fails(lambda: rays().shape), [c.read() for c in rays().cursor()]], at=lambda: m.Ray.at({"o": [1, 2, 3], "d": [0, 0, 1]}, 2.0), atv=lambda: m.Ray.at({"o": [1, 2, 3], "d": [0, 0, 1]}, random(3), _result="numpy"), static=lambda: m.Ray.make(2.0), statv=lambda: m.Ray.make(random(2)).shape, mutate=mutate, counter=counter, single=single, instance=instance, tens=tens, bound=lambda: fails(lambda: m.Ray.at.bind(spy.InstanceList(m.Ray, {"o": [1, 2, 3], "d": [0, 0, 1]}))(2.0)), const=lambda: fails(lambda: m.Ray.count), miss=lambda: error(lambda: m.Ray.nothing), names=lambda: [m.Ray.at.name, m.Ray.make.name, repr(m.Ray), m.Ray.name, m.Ray.full_name, str(type(m.Ray.at).__name__)], noargs=lambda: fails(m.Ray.at, {"o": [1, 2, 3], "d": [0, 0, 1]}), wrongt=lambda: fails(m.Ray.at, {"_type": "Counter", "n": 3}, 1.0))


@case
def users3_calls_options_combined(spy, device):
    m = load(spy, device, """
import slangpy;
extern static const int MODE = 1;
extern static const float SCALE = 2.0;
extern static const bool FLIP = false;
uniform float offset; uniform int3 cells; struct Par { float a; float2 b[2]; }; ParameterBlock<Par> par; uniform Par plain_;
float run(float x) { float r = x * SCALE + offset + par.a + par.b[1].y + plain_.a + cells.z; if (MODE == 2) r = -r; return FLIP ? -r : r; }
int mode() { return MODE; }
""")
    f = m.run
    full = {"offset": 1.0, "cells": spy.int3(1, 2, 3), "par": {"a": 10.0, "b": [[1, 2], [3, 4]]}, "plain_": {"a": 100.0, "b": [[0, 0], [0, 0]]}}
    def shared():
        g = f.set(full)
        h = g.constants({"SCALE": 5.0})
        k = h.set(offset=2.0)
        return [g(1.0), h(1.0), k(1.0), g(1.0), f.set(full)(2.0)]
    def dynamic():
        calls = []
        def values(x):
            calls.append(type(x).__name__)
            return {"offset": float(len(calls))}
        g = f.set(full).set(values)
        return [g(0.0), g(0.0), g(0.0), calls[:2]]
    def written():
        def w(c, v, z=0):
            c.offset = v
            c["cells"] = [0, 0, z]
            c.par.a = 3.0
            c.par.b[1] = spy.float2(0, 5)
            c.plain_.a.write(7.0)
        return [f.write(w, 2.0)(1.0), f.write(w, 2.0, z=4)(1.0), f.set(full).write(w, v=1.0)(1.0)]
    return each(full=lambda: f.set(full)(1.0), kw=lambda: f.set(**full)(1.0), vec=lambda: f.set(full)(random(3), _result="numpy"), shared=shared, dynamic=dynamic, written=written, const=lambda: [m.mode(), m.mode.constants({"MODE": 2})(), m.mode.constants({"MODE": 2}).constants({"MODE": 3})(), f.set(full).constants({"MODE": 2, "FLIP": True})(1.0)], constbad=lambda: [error(m.mode.constants, {"MODE": "x"}), 0, fails(m.mode.constants({"MODE": 2.5}))], constvec=lambda: fails(m.mode.constants({"MODE": spy.int2(1, 2)})), pre=lambda: m.mode.prelude("export static const int MODE = 9;")(), pre2=lambda: fails(m.mode.prelude("this is no slang")), set_none=lambda: error(f.set), set_two=lambda: error(f.set, {"offset": 1.0}, {"cells": 1}), set_num=lambda: error(f.set, 3.0), wrong=lambda: fails(f.set(offset="x"), 1.0), wrongs=lambda: fails(f.set(full).set(par={"a": "x"}), 1.0), ret=lambda: f.set(full).return_type("numpy").constants({"SCALE": 3.0})(random(2)), tgs=lambda: fails(f.set(full).thread_group_size(spy.uint3(16, 1, 1)), random(40), _result="numpy"), grp=lambda: f.set(full).call_group_shape(spy.slangpy.Shape((2, 4)))(random(3, 5), _result="numpy"), app=lambda: [e := device.create_command_encoder(), t := spy.Tensor.zeros(device, (3,), "float"), f.set(full).append_to(e, random(3), _result=t), device.submit_command_buffer(e.finish()) > 0, t.to_numpy()][3:], app2=lambda: [e := device.create_command_encoder(), t := spy.Tensor.zeros(device, (3,), "float"), f.set(full)(random(3), _result=t, _append_to=e), t.to_numpy(), device.submit_command_buffer(e.finish()) > 0, t.to_numpy()][2:], call=lambda: f.set(full).call(1.0))


@case
def users3_calls_errors_at_the_edges(spy, device):
    m = load(spy, device, """
import slangpy;
struct P { float x; float y; };
float f(float a) { return a; } int i(int a) { return a; } uint u(uint a) { return a; } bool b(bool a) { return a; } float3 v(float3 a) { return a; } float p(P a) { return a.x; } void o(out float a) { a = 1; } void io(inout float a) { a += 1; } float two(float a, float b) { return a - b; } float over(float a) { return 1; } float over(int a) { return 2; } float over(float2 a) { return 3; } float g<T : IFloat>(T a) { return a.toFloat(); } int64_t l(int64_t a) { return a; } uint8_t u8(uint8_t a) { return a; } enum E { A, B = 5 }; int en(E e) { return (int)e; } half h(half a) { return a; } float4x4 mm(float4x4 a) { return a; } float def(float a, float b = 2) { return a + b; } float arr(float a[3]) { return a[2]; } float buf(StructuredBuffer<float> a) { return a[0]; } float tex(Texture2D<float> t) { return t[uint2(0)]; }
""")
    values = dict(none=None, text="a", tup=(1.0,), obj=object(), lst=[1.0, 2.0], dct={"x": 1.0, "y": 2.0}, i=3, neg=-1, big=1 << 40, f=1.5, t=True, cplx=1j, f3=spy.float3(1, 2, 3), f2=spy.float2(1, 2), i2=spy.int2(1, 2), npf=np.float32(2), npi=np.int64(3), npb=np.bool_(True), n0=np.array(1.0, np.float32), n1=np.float32([1, 2]), n64=np.float64([1, 2]), ni=np.int32([1, 2]), nu8=np.uint8([1, 2]), nb=np.array([True, False]), by=b"ab", st={1}, fn=len, cls=float, inf=float("inf"), shp=spy.slangpy.Shape(2), vr=spy.ValueRef(2.0), fmt=spy.Format.r32_float, rng=range(2), gen=spy.call_id())
    out = {}
    def show(name, x):
        r = fails(getattr(m, name), x, _result="numpy") if isinstance(x, np.ndarray) and x.ndim and name not in ("o", "io") else fails(getattr(m, name), x)
        return r
    for name in "f i u b v p o io l u8 en h mm arr buf tex over".split():
        out[name] = lambda name=name: {k: show(name, x) for k, x in values.items()}
    return each(**out, few=lambda: error(m.two, 1.0), many=lambda: error(m.two, 1.0, 2.0, 3.0), kw=lambda: [m.two(a=1.0, b=3.0), m.two(1.0, b=3.0), m.two(b=1.0, a=3.0), error(m.two, 1.0, a=1.0), error(m.two, 1.0, c=2.0)], none=lambda: error(m.f), gen=lambda: [m.g(1.5), fails(m.g, 2), fails(m.g, spy.float2(1, 2)), fails(m.g, "x")])


@case
def users3_calls_thread_counts_and_ids(spy, device):
    m = load(spy, device, """
import slangpy;
void fill(uint t, RWStructuredBuffer<uint> b) { b[t] = t * 2; }
void count(uint t, RWStructuredBuffer<Atomic<uint>> b) { b[0].add(t); }
uint echo(uint t) { return t; }
void vec(uint3 t, RWStructuredBuffer<uint> b) { b[t.x] = t.y + 1; }
""")
    buf = lambda n=16: device.create_buffer(element_count=n, struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource, data=np.zeros(n, np.uint32))
    val = lambda b: b.to_numpy().view(np.uint32)
    return each(fill=lambda: [b := buf(), m.fill(spy.thread_id(), b, _thread_count=10), val(b)][2], vec=lambda: [b := buf(), m.vec(spy.thread_id(), b, _thread_count=5), val(b)][2], one=lambda: [b := buf(), m.fill(spy.thread_id(), b), val(b)][2], zero=lambda: error(m.fill, spy.thread_id(), buf(), _thread_count=0), neg=lambda: error(m.fill, spy.thread_id(), buf(), _thread_count=-1), both=lambda: error(m.fill, np.arange(3, dtype=np.uint32), buf(), _thread_count=3), wrong=lambda: fails(m.fill, spy.thread_id(), buf(), _thread_count="a"), res=lambda: error(m.echo, spy.thread_id(), _thread_count=3, _result="numpy"), resn=lambda: fails(m.echo, spy.thread_id(), _thread_count=3), rest=lambda: error(m.echo, spy.thread_id(), _thread_count=3, _result=spy.Tensor.zeros(device, (3,), "uint")), app=lambda: [b := buf(), e := device.create_command_encoder(), m.fill(spy.thread_id(), b, _thread_count=4, _append_to=e), m.fill.append_to(e, spy.thread_id(), b, _thread_count=6), device.submit_command_buffer(e.finish()) > 0, val(b)][5], numbers=lambda: [b := buf(), m.fill(spy.thread_id(), b, _thread_count=16), val(b)][2])


@case
def users3_calls_buffers_and_pointers(spy, device):
    m = load(spy, device, """
import slangpy;
struct S { float3 a; int b; };
float sum(StructuredBuffer<float> b, int n) { float r = 0; for (int i = 0; i < n; i++) r += b[i]; return r; }
void set(RWStructuredBuffer<float> b, int i, float v) { b[i] = v; }
int raw(ByteAddressBuffer b, int i) { return b.Load<int>(i * 4); }
void rawset(RWByteAddressBuffer b, int i, int v) { b.Store<int>(i * 4, v); }
int st(StructuredBuffer<S> b, int i) { return b[i].b; }
void stset(RWStructuredBuffer<S> b, int i) { S s; s.a = float3(i); s.b = i; b[i] = s; }
uint count(StructuredBuffer<S> b) { uint n, s; b.GetDimensions(n, s); return n * 100 + s; }
struct H { StructuredBuffer<float> data; int n; }; float held(H h) { float r = 0; for (int i = 0; i < h.n; i++) r += h.data[i]; return r; }
""")
    RW = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    fb = lambda usage=RW: device.create_buffer(element_count=5, struct_size=4, usage=usage, data=random(5))
    return each(sum=lambda: m.sum(fb(), 5), sumv=lambda: m.sum(fb(), np.arange(5, dtype=np.int32), _result="numpy"), ten=lambda: m.sum(spy.Tensor.from_numpy(device, random(5)), 5), stor=lambda: m.sum(spy.Tensor.from_numpy(device, random(5)).storage, 5), np_=lambda: fails(m.sum, random(5), 5), set_=lambda: [b := fb(), m.set(b, np.arange(5, dtype=np.int32), np.float32([5, 4, 3, 2, 1])), b.to_numpy().view(np.float32)][2], ro=lambda: fails(m.set, fb(spy.BufferUsage.shader_resource), 0, 1.0), ro2=lambda: m.sum(fb(spy.BufferUsage.shader_resource), 5), raw=lambda: m.raw(device.create_buffer(size=16, usage=RW, data=np.arange(4, dtype=np.int32)), np.arange(4, dtype=np.int32), _result="numpy"), rawset=lambda: [b := device.create_buffer(size=16, usage=RW), m.rawset(b, np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32) * 3), b.to_numpy().view(np.int32)][2], st=lambda: [b := device.create_buffer(element_count=3, resource_type_layout=None, struct_size=16, usage=RW), m.stset(b, np.arange(3, dtype=np.int32)), m.st(b, np.arange(3, dtype=np.int32), _result="numpy"), m.count(b)][2:], held=lambda: m.held({"data": fb(), "n": 5}), heldt=lambda: m.held({"_type": "H", "data": spy.Tensor.from_numpy(device, random(5)), "n": 3}), lst=lambda: fails(m.sum, [1.0, 2.0], 2), num=lambda: fails(m.sum, 1.0, 2), wrongbuf=lambda: fails(m.st, fb(), 0), b2=lambda: fails(lambda: m.sum(fb(), 5, _result="numpy")), info=lambda: [b := fb(), b.size, b.struct_size, b.desc.usage == RW, b.desc.memory_type, b.desc.size, b.memory_usage.device >= 20][1:])
