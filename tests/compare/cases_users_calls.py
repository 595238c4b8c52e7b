"""Programs of users: functions of many signatures, called with every kind of argument."""
import numpy as np

from cases import case, each, error, fails, load, random

USAGE = 24  # shader_resource | unordered_access


def usage(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


FUNCTIONS = """
import slangpy;
float poly(float a, float b, float c, float x) { return a * x * x + b * x + c; }
float4 rgba(float3 c, float a) { return float4(c, a); }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
int2 swap(int2 a) { return a.yx; }
uint4 widen(uint a) { return uint4(a, a + 1, a + 2, a + 3); }
bool inside(float2 p) { return all(p >= 0) && all(p <= 1); }
float3x3 outer(float3 a, float3 b) { return float3x3(a.x * b, a.y * b, a.z * b); }
float trace(float3x3 m) { return m[0][0] + m[1][1] + m[2][2]; }
float2 row(float3x2 m, int i) { return m[i]; }
double big(double a, double b) { return a * b + 1; }
half small(half a) { return a * 2.0h; }
int64_t longs(int64_t a) { return a * 3; }
uint64_t ulongs(uint64_t a) { return a + 1; }
int[4] four(int a) { int r[4] = { a, a * 2, a * 3, a * 4 }; return r; }
float sum4(float a[4]) { return a[0] + a[1] + a[2] + a[3]; }
float3 pick(float3 a[2], int i) { return a[i]; }
float nested(float a[2][3], int i, int j) { return a[i][j]; }
void split(float3 v, out float x, out float y, out float z) { x = v.x; y = v.y; z = v.z; }
void inc(inout int a) { a += 1; }
void scale_all(inout float3 a, float s) { a *= s; }
void sincos_of(float a, out float s, out float c) { s = sin(a); c = cos(a); }
float mix3(float a, float b, float t) { return lerp(a, b, t); }
int count_bits(uint a) { return (int)countbits(a); }
"""


@case
def users_scalars_of_every_python_type(spy, device):
    m = load(spy, device, FUNCTIONS)
    return each(ints=lambda: m.poly(1, 2, 3, 4), mixed=lambda: m.poly(1, 2.5, 3, True), kw=lambda: m.poly(x=2.0, a=1, b=0, c=5), neg=lambda: m.poly(-1.5, -2, -3, -4),
                big=lambda: m.big(1e200, 1e100), h=lambda: m.small(0.333), l=lambda: m.longs(1 << 40), ul=lambda: fails(m.ulongs, (1 << 63)), bits=lambda: m.count_bits(0xF0F0),
                b=lambda: m.inside(spy.float2(0.5, 0.5)), nb=lambda: m.inside([2.0, 0.0]), inf=lambda: m.poly(float("inf"), 1, 1, 1), nan=lambda: m.poly(float("nan"), 1, 1, 1),
                np32=lambda: fails(m.poly, np.float32(1), 1, 1, 1), npint=lambda: fails(m.inc, np.int32(1)), complex=lambda: fails(m.poly, 1j, 1, 1, 1), obj=lambda: fails(m.poly, object(), 1, 1, 1))


@case
def users_vector_results(spy, device):
    m = load(spy, device, FUNCTIONS)
    return each(rgba=lambda: m.rgba(spy.float3(1, 2, 3), 0.5), rgbal=lambda: m.rgba([1, 2, 3], 0.5), luma=lambda: m.luma(spy.float3(1, 1, 1)), lumas=lambda: m.luma(0.5), swap=lambda: m.swap(spy.int2(3, 4)), swapl=lambda: m.swap([3, 4]),
                w=lambda: m.widen(7), o=lambda: m.outer(spy.float3(1, 2, 3), spy.float3(4, 5, 6)), tr=lambda: m.trace(spy.float3x3.identity()), row=lambda: m.row(spy.float3x2([1, 2, 3, 4, 5, 6]), 1),
                a=lambda: m.four(3), s4=lambda: m.sum4([1, 2, 3, 4]), s4v=lambda: fails(m.sum4, spy.float4(1, 2, 3, 4)), p=lambda: m.pick([spy.float3(1, 2, 3), spy.float3(4, 5, 6)], 1), pl=lambda: m.pick([[1, 2, 3], [4, 5, 6]], 0),
                n=lambda: m.nested([[1, 2, 3], [4, 5, 6]], 1, 2), nn=lambda: m.nested(np.arange(6, dtype=np.float32).reshape(2, 3), 1, 0), int_for_float=lambda: m.luma(spy.int3(1, 2, 3)), float_for_int=lambda: fails(m.swap, spy.float2(1, 2)))


@case
def users_vectorised_over_numpy(spy, device):
    m = load(spy, device, FUNCTIONS)
    c = random(5, 7, 3)
    return each(luma=lambda: m.luma(c, _result="numpy"), rgba=lambda: m.rgba(c, 1.0, _result="numpy"), alpha=lambda: m.rgba(c, random(5, 7, seed=3), _result="numpy"), t=lambda: m.rgba(c, 1.0).shape, dt=lambda: m.rgba(c, 1.0).dtype.full_name,
                row=lambda: m.rgba(c, random(7, seed=4), _result="numpy"), col=lambda: m.rgba(c, random(5, 1, seed=4), _result="numpy"), bad=lambda: error(m.rgba, c, random(5, seed=4)), outer=lambda: m.outer(c[0], c[1], _result="numpy"),
                tr=lambda: m.trace(random(4, 3, 3), _result="numpy"), w=lambda: m.widen(np.arange(3, dtype=np.uint32), _result="numpy"), four=lambda: m.four(np.arange(3, dtype=np.int32), _result="numpy"), b=lambda: m.inside(random(6, 2) * 2, _result="numpy"),
                sum4=lambda: m.sum4(random(3, 4), _result="numpy"), pick=lambda: m.pick(random(3, 2, 3), 1, _result="numpy"), picks=lambda: m.pick(random(2, 3), np.array([0, 1, 1], np.int32), _result="numpy"),
                nest=lambda: m.nested(random(4, 2, 3), 1, np.arange(3, dtype=np.int32)[:, None].repeat(4, 1), _result="numpy"))


@case
def users_poly_grid(spy, device):
    m = load(spy, device, FUNCTIONS)
    a, x = np.linspace(-1, 1, 5, dtype=np.float32), np.linspace(0, 2, 9, dtype=np.float32)
    return each(outer=lambda: m.poly.map((0,), (), (), (1,))(a, 1.0, 2.0, x, _result="numpy"), kw=lambda: m.poly.map(a=(0,), x=(1,))(a=a, b=1.0, c=2.0, x=x, _result="numpy"), bc=lambda: m.poly(a[:, None].copy(), 1.0, 2.0, x[None, :].copy(), _result="numpy"),
                three=lambda: m.poly.map((0,), (1,), (2,))(a, a, a, 2.0).shape, same=lambda: m.poly.map((1,), (1,))(a, a, 0.0, 1.0).shape, skip=lambda: m.poly.map((2,))(a, 0.0, 0.0, 1.0).shape,
                clash=lambda: error(m.poly.map((0,), (0,)), a, x, 0.0, 1.0), dup=lambda: error(m.poly.map((0, 0)), random(3, 3), 0.0, 0.0, 1.0), neg=lambda: fails(m.poly.map((-1,)), a, 0.0, 0.0, 1.0), unknown=lambda: fails(m.poly.map(q=(0,)), a=a, b=1.0, c=2.0, x=x))


@case
def users_out_parameters(spy, device):
    m = load(spy, device, FUNCTIONS)
    v = random(4, 3)
    xs = [spy.Tensor.zeros(device, (4,), "float") for _ in range(3)]
    n = [np.zeros(4, np.float32) for _ in range(3)]
    r = [spy.ValueRef(0.0) for _ in range(3)]
    i, ii, iv = spy.intRef(5), np.array([1, 2, 3], np.int32), spy.ValueRef(7)
    s3, t3 = spy.ValueRef(spy.float3(1, 2, 3)), spy.Tensor.from_numpy(device, v)
    def run(f):
        return lambda: f
    return each(t=lambda: m.split(v, *xs), tv=lambda: [x.to_numpy() for x in xs], n=lambda: m.split(v, *n), nv=lambda: n, r=lambda: m.split(spy.float3(1, 2, 3), *r), rv=lambda: [x.value for x in r], few=lambda: fails(m.split, v, xs[0]),
                i=lambda: m.inc(i), iv=lambda: i.value, ii=lambda: m.inc(ii), iiv=lambda: ii, iv2=lambda: m.inc(iv), iv3=lambda: iv.value, it=lambda: type(iv.value).__name__, s=lambda: m.scale_all(s3, 2.0), sv=lambda: s3.value, st=lambda: type(s3.value).__name__,
                t3=lambda: m.scale_all(t3, 2.0), t3v=lambda: t3, lit=lambda: fails(m.inc, 3), vec_over_ref=lambda: fails(m.split, v, *r), sc=lambda: m.sincos_of(v[0], n[0][:3], n[1][:3]), kw=lambda: m.sincos_of(s=xs[0], c=xs[1], a=random(4)), kwv=lambda: [x.to_numpy() for x in xs[:2]],
                small=lambda: fails(m.split, v, spy.Tensor.zeros(device, (3,), "float"), xs[1], xs[2]), big=lambda: fails(m.split, v, spy.Tensor.zeros(device, (5,), "float"), xs[1], xs[2]))


@case
def users_results_into_views(spy, device):
    m = load(spy, device, FUNCTIONS)
    t = spy.Tensor.zeros(device, (4, 6), "float")
    a = random(6)
    u = spy.Tensor.zeros(device, (6,), "float3")
    w = spy.Tensor.zeros(device, (6, 4), "float")
    return each(row=lambda: m.mix3(a, 1.0, 0.5, _result=t[1]), t=lambda: t, step=lambda: m.mix3(a[:3].copy(), 1.0, 0.5, _result=t[2, ::2]), t2=lambda: t, col=lambda: m.mix3(a[:4].copy(), 0.0, 0.0, _result=t[:, 5]), t3=lambda: t, same=lambda: m.mix3(t[1], 0.0, 0.5, _result=t[3]) is not None, t4=lambda: t,
                vec=lambda: m.rgba(random(6, 3), 1.0, _result=w) is w, w=lambda: w, inplace=lambda: m.mix3(t, 0.0, 0.5, _result=t) is t, t5=lambda: t, wrong_type=lambda: fails(m.rgba, random(6, 3), 1.0, _result=u), bc=lambda: m.mix3(t[0], t, 0.25, _result="numpy"))


@case
def users_numpy_layouts(spy, device):
    m = load(spy, device, FUNCTIONS)
    a = random(6, 8)
    f = np.asfortranarray(a)
    return each(f=lambda: m.mix3(f, 0.0, 0.5, _result="numpy"), rev=lambda: fails(m.mix3, a[::-1], 0.0, 0.5, _result="numpy"), sl=lambda: m.mix3(a[1:4, 2:7:2], 0.0, 0.5, _result="numpy"), bc=lambda: m.mix3(np.broadcast_to(a[0], (3, 8)), 0.0, 0.5, _result="numpy"),
                ro=lambda: m.mix3(np.frombuffer(a.tobytes(), np.float32), 0.0, 0.5, _result="numpy"), one=lambda: m.mix3(np.ones((1,), np.float32), 0.0, 0.5, _result="numpy"), ones=lambda: m.mix3(np.ones((1, 1, 1), np.float32), 0.0, 0.5).shape, empty2=lambda: m.mix3(np.zeros((0, 3), np.float32), 0.0, 0.5).shape,
                big_endian=lambda: fails(m.mix3, a.astype(">f4"), 0.0, 0.5), lst=lambda: m.mix3([0.0, 1.0], [2.0, 3.0], 0.5, _result="numpy"), lst2=lambda: fails(m.mix3, [[0.0, 1.0], [2.0, 3.0]], 0.0, 0.5), tup=lambda: fails(m.mix3, (0.0, 1.0), 0.0, 0.5))


@case
def users_result_types(spy, device):
    m = load(spy, device, FUNCTIONS)
    a = random(4)
    return each(inc=lambda: m.inc(np.array([1], np.int32), _result="numpy"), void=lambda: fails(m.inc, spy.intRef(1), _result="numpy"), d=lambda: str(m.big(a.astype(np.float64), 1.0, _result="numpy").dtype), h=lambda: m.small(a.astype(np.float16), _result="numpy"), l=lambda: m.longs(np.arange(3, dtype=np.int64), _result="numpy"),
                ul=lambda: str(m.ulongs(np.arange(3, dtype=np.uint64), _result="numpy").dtype), b=lambda: str(m.inside(random(3, 2), _result="numpy").dtype), sw=lambda: m.swap(np.arange(6, dtype=np.int32).reshape(3, 2)).dtype.full_name, f=lambda: m.four(np.arange(2, dtype=np.int32)).dtype.full_name,
                chain=lambda: m.mix3(m.mix3(a, 0.0, 0.5), m.mix3(a, 1.0, 0.25), 0.5, _result="numpy"), el=lambda: m.luma(m.rgba(random(3, 3), 1.0)[0:2]) if False else 0, sc=lambda: m.luma(random(3)), sct=lambda: type(m.luma(random(3))).__name__, tv=lambda: type(m.mix3(a, 0.0, 0.5)).__name__,
                none=lambda: m.mix3(a, 0.0, 0.5, _result=None).shape, intres=lambda: fails(m.mix3, a, 0.0, 0.5, _result=3), clsf=lambda: fails(m.mix3, a, 0.0, 0.5, _result=float), txt=lambda: error(m.mix3, a, 0.0, 0.5, _result="NUMPY"))


@case
def users_tensor_arguments_of_every_type(spy, device):
    m = load(spy, device, """
import slangpy;
int f_i(int a) { return a * 2; } uint f_u(uint a) { return a * 2; } float f_f(float a) { return a * 2; } double f_d(double a) { return a * 2; } half f_h(half a) { return a * 2.0h; }
int16_t f_s(int16_t a) { return a; } uint16_t f_us(uint16_t a) { return a; } int64_t f_l(int64_t a) { return a * 2; } uint64_t f_ul(uint64_t a) { return a * 2; } bool f_b(bool a) { return !a; }
float2 v2(float2 a) { return a; } int3 i3(int3 a) { return a; } uint4 u4(uint4 a) { return a; } bool2 b2(bool2 a) { return !a; } float4x4 m44(float4x4 a) { return a; } float2x3 m23(float2x3 a) { return a; } float[2] a2(float a[2]) { return a; }
half4 h4(half4 a) { return a; } double2 d2(double2 a) { return a; }
""")
    def go(name, dtype, f):
        t = spy.Tensor.empty(device, (3,), dtype)
        n = t.to_numpy()
        data = (np.arange(n.size).reshape(n.shape) % 3).astype(n.dtype)
        t.copy_from_numpy(data)
        r = f(t)
        return r.dtype.full_name, r.to_numpy()
    kinds = dict(f_i="int", f_u="uint", f_f="float", f_d="double", f_h="half", f_s="int16_t", f_us="uint16_t", f_l="int64_t", f_ul="uint64_t", f_b="bool", v2="float2", i3="int3", u4="uint4", m44="float4x4", m23="float2x3", h4="half4", d2="double2", a2="float[2]")
    return each(**{k: (lambda k=k, d=d: go(k, d, getattr(m, k))) for k, d in kinds.items()}, mism=lambda: fails(go, "x", "int", m.f_f), mism2=lambda: fails(go, "x", "uint", m.f_i), mism3=lambda: fails(go, "x", "float3", m.v2))


@case
def users_methods_on_tensors(spy, device):
    m = load(spy, device, """
import slangpy;
struct Particle { float3 position; float3 velocity; float age;
  __init(float3 p, float3 v) { position = p; velocity = v; age = 0; }
  [mutating] void step(float dt) { position += velocity * dt; age += dt; }
  float speed() { return length(velocity); }
  static Particle make(float s) { return Particle(float3(s), float3(1, 0, 0)); } }
float3 where(Particle p) { return p.position; }
Particle moved(Particle p, float3 by) { p.position += by; return p; }
""")
    t = spy.Tensor.empty(device, (3,), m.Particle)
    pos = random(3, 3)
    made = m.Particle.__init(pos, spy.float3(1, 2, 2), _result=t)
    return each(same=lambda: made is t, where=lambda: m.where(t, _result="numpy"), speed=lambda: m.Particle.speed(t, _result="numpy"), step=lambda: m.Particle.step(t, 0.5), after=lambda: m.where(t, _result="numpy"), moved=lambda: m.where(m.moved(t, spy.float3(1, 0, 0)), _result="numpy"),
                ctor=lambda: m.Particle(spy.float3(1, 2, 3), spy.float3(0, 0, 1)), make=lambda: m.Particle.make(2.0), makes=lambda: m.where(m.Particle.make(random(4)), _result="numpy"), d=lambda: m.where({"position": spy.float3(1, 2, 3), "velocity": [0, 0, 0], "age": 1.0}), dt=lambda: m.Particle.make(random(4)).dtype.full_name,
                cur=lambda: t.cursor()[1].read() if True else 0, one=lambda: t.cursor()[0].position.read(), w=lambda: [t.cursor()[0].write({"position": spy.float3(9, 9, 9)})] and None, name=lambda: m.Particle.step.name, soa=lambda: m.where({"position": pos, "velocity": spy.float3(0), "age": 0.0}, _result="numpy"),
                bytes=lambda: t.to_numpy().shape, elem=lambda: t.storage.struct_size, fields=lambda: sorted(m.Particle.fields), init=lambda: fails(lambda: m.Particle(1.0)))


@case
def users_default_and_overloaded_constructors(spy, device):
    m = load(spy, device, """
import slangpy;
struct V { float x = 3; float y = 4; __init() { x = 1; y = 2; } __init(float a) { x = a; y = a; } __init(float a, float b) { x = a; y = b; } float len() { return sqrt(x * x + y * y); } }
struct Plain { float a; int b; }
float f(V v) { return v.x + 10 * v.y; }
""")
    return each(none=lambda: m.V(), one=lambda: m.V(5.0), two=lambda: m.V(5.0, 6.0), arr=lambda: m.f(m.V(random(3)), _result="numpy"), plain=lambda: fails(m.Plain, 1.0, 2), use=lambda: m.f(m.V(5.0)), length=lambda: m.V.len(m.V(3.0, 4.0)), init=lambda: m.V.__init(2.0))


@case
def users_generic_arguments(spy, device):
    m = load(spy, device, """
import slangpy;
T plus<T : IArithmetic>(T a, T b) { return a + b; }
vector<T, N> scale<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> a, T s) { return a * s; }
float dotn<let N : int>(vector<float, N> a, vector<float, N> b) { return dot(a, b); }
T first<T, let N : int>(T a[N]) { return a[0]; }
int size_of<T>(T a) { return sizeof(T); }
matrix<float, R, C> twice<let R : int, let C : int>(matrix<float, R, C> m) { return m * 2; }
float total<let N : int>(float a[N]) { float r = 0; for (int i = 0; i < N; i++) r += a[i]; return r; }
T lerp_any<T : IFloat>(T a, T b, T t) { return a + (b - a) * t; }
""")
    return each(f=lambda: m.plus(1.0, 2.0), i=lambda: m.plus(1, 2), v=lambda: m.plus(spy.float3(1), spy.float3(2)), arr=lambda: m.plus(random(4), random(4), _result="numpy"), mixed=lambda: m.plus(1, 2.5), arrs=lambda: m.plus(random(4), 1.0, _result="numpy"),
                s3=lambda: m.scale(spy.float3(1, 2, 3), 2.0), s2=lambda: m.scale(spy.float2(1, 2), 2.0), d=lambda: m.dotn(spy.float4(1), spy.float4(2)), d2=lambda: m.dotn([1.0, 2.0], [3.0, 4.0]), dn=lambda: fails(m.dotn, random(5, 3), spy.float3(1), _result="numpy"), first=lambda: m.first([5, 6, 7]), firstf=lambda: m.first([5.0, 6.0]),
                mat=lambda: m.twice(spy.float2x2([1, 2, 3, 4])), tot=lambda: m.total([1.0, 2.0, 3.0, 4.0, 5.0]), totn=lambda: fails(m.total, random(6)), spec=lambda: m["plus<float>"](1, 2), specs=lambda: m["plus<float3>"](spy.float3(1), spy.float3(2)), le=lambda: m.lerp_any(1.0, 2.0, 0.5), lea=lambda: m.lerp_any(random(3), 2.0, 0.5, _result="numpy"),
                i64=lambda: m.plus(np.arange(3, dtype=np.int64), np.arange(3, dtype=np.int64), _result="numpy"), h=lambda: m.plus(np.ones(3, np.float16), np.ones(3, np.float16)).dtype.full_name, none=lambda: fails(m.plus, {"x": 1.0}, 2.0))


@case
def users_append_to_encoders(spy, device):
    m = load(spy, device, FUNCTIONS)
    a, out = spy.Tensor.from_numpy(device, random(16)), spy.Tensor.zeros(device, (16,), "float")
    def chain():
        e = device.create_command_encoder()
        for i in range(3):
            m.mix3.append_to(e, a if i == 0 else out, 1.0, 0.5, _result=out)
        i = device.submit_command_buffer(e.finish())
        device.wait_for_submit(i)
        return out.to_numpy()
    def keyword():
        e = device.create_command_encoder()
        m.mix3(a, 0.0, 0.5, _result=out, _append_to=e)
        device.submit_command_buffer(e.finish())
        return out.to_numpy()
    def numpys():
        e = device.create_command_encoder()
        return m.mix3.append_to(e, random(4), 1.0, 0.5)
    def finished():
        e = device.create_command_encoder()
        e.finish()
        return m.mix3.append_to(e, a, 1.0, 0.5, _result=out)
    def clear():
        e = device.create_command_encoder()
        out.clear(e)
        m.mix3.append_to(e, out, 1.0, 0.5, _result=out)
        device.submit_command_buffers([e.finish()])
        return out.to_numpy()
    return each(chain=chain, kw=keyword, numpys=lambda: fails(numpys), finished=lambda: fails(finished), clear=clear, none=lambda: m.mix3(a, 0.0, 0.5, _result=out, _append_to=None) is out, bad=lambda: fails(m.mix3, a, 0.0, 0.5, _append_to=3))


@case
def users_bound_and_chained_functions(spy, device):
    m = load(spy, device, """
import slangpy;
extern static const int N = 2;
uniform float gain;
uniform float offset;
float f(float a) { return a * gain + offset + N; }
struct S { float k; float times(float a) { return k * a * N; } }
""")
    s = {"k": 3.0}
    base = m.f.set(gain=2.0, offset=1.0)
    return each(set=lambda: base(3.0), const=lambda: base.constants({"N": 10})(3.0), order=lambda: m.f.constants({"N": 10}).set(gain=2.0, offset=1.0)(3.0), map=lambda: base.map((1,))(random(3)).shape, rt=lambda: base.return_type("numpy")(random(3)), over=lambda: base.set({"gain": 5.0})(3.0), again=lambda: base(3.0),
                bind=lambda: m.S.times.bind(s)(2.0), bindc=lambda: m.S.times.bind(s).constants({"N": 4})(2.0), bindv=lambda: m.S.times.bind(s).return_type("numpy")(random(4)), missing=lambda: fails(m.f, 1.0), groups=lambda: base.call_group_shape(spy.slangpy.Shape(2, 2)).return_type("numpy")(random(4, 4)),
                call=lambda: base.call(3.0), name=lambda: base.name, mod=lambda: base.module is m, root=lambda: type(base.root).__name__, asf=lambda: base.as_func() is base, ass=lambda: error(base.as_struct), setn=lambda: fails(m.f.set(nothing=1.0), 1.0))


@case
def users_exceptions_of_calls(spy, device):
    m = load(spy, device, FUNCTIONS)
    a, b = random(3), random(4)
    return each(shapes=lambda: error(m.mix3, a, b, 0.5), shapes2=lambda: error(m.mix3, random(2, 3), random(4, 3), 0.5), few=lambda: fails(m.mix3, 1.0), many=lambda: fails(m.mix3, 1, 2, 3, 4), kw=lambda: fails(m.mix3, 1, 2, z=3), twice=lambda: fails(m.mix3, 1, 2, 3, a=1), none=lambda: fails(m.mix3, None, 1, 2), txt=lambda: fails(m.mix3, "1", 1, 2),
                missing=lambda: error(lambda: m.nothing), item=lambda: error(lambda: m["nothing"]), result=lambda: error(m.mix3, a, 0.0, 0.5, _result=spy.Tensor.zeros(device, (5,), "float")), rdim=lambda: error(m.mix3, a, 0.0, 0.5, _result=spy.Tensor.zeros(device, (), "float")),
                fint=lambda: fails(m.inc, 1.5), dictv=lambda: fails(m.luma, {"q": 1.0}), dict_for_scalar=lambda: fails(m.poly, {"a": 1.0}, 1, 1, 1), vlen=lambda: fails(m.luma, [1.0, 2.0]), mat=lambda: fails(m.trace, spy.float2x2.identity()), bwds=lambda: fails(m.mix3.bwds, 1.0, 2.0, 3.0), thread=lambda: error(m.mix3, a, 0.0, 0.5, _thread_count=4))


@case
def users_vectors_as_components(spy, device):
    m = load(spy, device, FUNCTIONS)
    x = random(4)
    return each(d=lambda: m.luma({"x": x, "y": 0.5, "z": x * 2}, _result="numpy"), dt=lambda: m.luma({"x": spy.Tensor.from_numpy(device, x), "y": 0.5, "z": 1.0}, _result="numpy"), ds=lambda: m.luma({"x": 1.0, "y": 2.0, "z": 3.0}), dmiss=lambda: m.luma({"x": 1.0, "y": 2.0}) is not None, lv=lambda: fails(m.luma, [x, x, x]),
                swz=lambda: m.rgba(spy.float4(1, 2, 3, 4).xyz, 1.0), l1=lambda: m.luma([1]), np3=lambda: m.luma(np.array([1, 2, 3], np.float32)), npi=lambda: fails(m.luma, np.array([1, 2, 3], np.int32)), half=lambda: fails(m.small, spy.float16_t(2.0)))
