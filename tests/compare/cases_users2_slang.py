"""Programs of other users, second set: what Slang's own features become as arguments and results."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case
def users2_slang_inheritance_and_properties(spy, device):
    m = load(spy, device, """
import slangpy;
struct Complex { float re; float im; property float norm { get { return sqrt(re * re + im * im); } } static Complex one() { return { 1, 0 }; } __subscript(int i) -> float { get { return i == 0 ? re : im; } } };
Complex operator*(Complex a, Complex b) { return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; }
Complex operator+(Complex a, Complex b) { return { a.re + b.re, a.im + b.im }; }
float norm(Complex c) { return c.norm; }
float at(Complex c, int i) { return c[i]; }
Complex poly(Complex a, Complex b) { return a * a + b; }
extension Complex { Complex conj() { return { re, -im }; } [mutating] void scale(float s) { re *= s; im *= s; } }
typealias C = Complex;
C alias(C c) { return c.conj(); }
""")
    t = spy.Tensor.zeros(device, (3,), m.Complex)
    c = {"re": 3.0, "im": 4.0}
    return each(n=lambda: m.norm(c), at=lambda: m.at(c, 1), p=lambda: m.poly(c, {"re": 1.0, "im": 0.0}), pv=lambda: m.norm(m.poly({"re": random(3), "im": 0.5}, c), _result="numpy"), al=lambda: m.alias(c), ext=lambda: m.Complex.conj(c), sc=lambda: [m.poly({"re": random(3), "im": 1.0}, c, _result=t) is t, m.Complex.scale(t, 2.0), m.norm(t, _result="numpy")], one=lambda: m.Complex.one(), prop=lambda: fails(lambda: m.Complex.norm(c)), sub=lambda: sorted(m.Complex.fields), alt=lambda: m.C.full_name, aln=lambda: m.alias.name)


@case
def users2_slang_enums_bits_and_switches(spy, device):
    m = load(spy, device, """
import slangpy;
enum Shape : uint { circle, square = 4, star };
[Flags] enum Bits { a, b, c };
enum class Mode { off = 0, on = 1 };
float area(Shape s, float r) { switch (s) { case Shape.circle: return 3 * r * r; case Shape.square: return r * r; default: return -1; } }
Shape next(Shape s) { return s == Shape.circle ? Shape.square : Shape.star; }
int toint(Mode m) { return (int)m; }
uint mask(uint bits, int at) { return bits & (1u << at); }
int both(int a, int b) { return a ^ b | ~a; }
struct Item { Shape kind; float size; };
float item(Item i) { return area(i.kind, i.size); }
Item make(int k) { return { Shape(k), 2.5 }; }
""")
    return each(a=lambda: fails(lambda: m.area(0, 2.0)), b=lambda: fails(lambda: m.area(4, 2.0)), n=lambda: fails(lambda: m.next(0)), ty=lambda: fails(lambda: type(m.next(0)).__name__), ti=lambda: fails(lambda: m.toint(1)), mask=lambda: [m.mask(0xFF, i) for i in range(3)], both=lambda: m.both(5, 3), item=lambda: fails(lambda: m.item({"kind": 4, "size": 3.0})), make=lambda: fails(lambda: m.make(5)), arr=lambda: fails(lambda: m.area(np.array([0, 4, 5], np.uint32), 2.0, _result="numpy")), t=lambda: m.Shape.name, mk=lambda: m.make(np.arange(3, dtype=np.int32)).shape, us=lambda: fails(lambda: m.item(m.make(4))))


@case
def users2_slang_optionals_tuples_lambdas(spy, device):
    m = load(spy, device, """
import slangpy;
Optional<float> root(float x) { if (x < 0) return none; return sqrt(x); }
float value(float x) { let r = root(x); return r.hasValue ? r.value : -1; }
Tuple<float, int> pair(float a) { return makeTuple(a, int(a) * 2); }
float first(float a) { var p = pair(a); return p._0 + p._1; }
float apply(IFunc<float, float> f, float x) { return f(x); }
float lam(float x, float k) { return apply((float v) => v * k, x); }
float variadic<each T : IFloat>(expand each T t) { return 1; }
int def(int a) { defer { a = 9; } return a; }
float[3] arr(float a) { var r = float[3](a, a + 1, a + 2); return r; }
Array<float, 2> arr2(float a) { return { a, a }; }
float sum(Array<float, 4> a) { float s = 0; for (int i = 0; i < a.getCount(); i++) s += a[i]; return s; }
""")
    return each(v=lambda: [m.value(4.0), m.value(-4.0)], f=lambda: m.first(2.5), va=lambda: m.value(np.array([1, -1, 9], np.float32), _result="numpy"), lam=lambda: m.lam(3.0, 2.0), d=lambda: m["def"](4), a=lambda: m.arr(2.0), a2=lambda: m.arr2(3.0), s=lambda: m.sum([1, 2, 3, 4]), sv=lambda: m.sum(random(2, 4), _result="numpy"))


@case
def users2_slang_small_types_as_arguments(spy, device):
    m = load(spy, device, """
import slangpy;
int bytes(vector<uint8_t, 4> a) { return int(a.x) + int(a.w); }
int chars(vector<int8_t, 2> a) { return int(a.x) * int(a.y); }
int shorts(vector<int16_t, 3> a) { return int(a.x + a.y + a.z); }
int64_t longs(vector<int64_t, 2> a) { return a.x + a.y; }
float halves(half4 a) { return float(a.x + a.w); }
double doubles(double3 a) { return a.x + a.y + a.z; }
int imat(int2x2 m) { return m[0][1] * 10 + m[1][0]; }
float hmat(half2x3 m) { return float(m[1][2]); }
double dmat(double2x2 m) { return m[0][1]; }
int bmat(bool2x2 m) { return m[0][1] ? 1 : 0; }
int barr(bool a[3]) { return (a[0] ? 1 : 0) + (a[2] ? 4 : 0); }
float harr(half a[2]) { return float(a[1]); }
int sarr(int16_t a[3]) { return int(a[2]); }
int uarr(uint8_t a[4]) { return int(a[3]); }
float4x4 tr(float4x4 m) { return transpose(m); }
float one(vector<float, 1> a) { return a.x; }
uint64_t ul(uint64_t a) { return a; }
""")
    return each(by=lambda: fails(lambda: m.bytes([1, 2, 3, 250])), byn=lambda: m.bytes(np.array([1, 2, 3, 250], np.uint8)), byv=lambda: m.bytes(np.full((3, 4), 7, np.uint8), _result="numpy"), byu=lambda: fails(lambda: m.bytes(spy.uint4(1, 2, 3, 4))), ch=lambda: m.chars(np.array([-3, 5], np.int8)), sh=lambda: m.shorts(np.array([1, 2, 300], np.int16)), shl=lambda: fails(lambda: m.shorts([1, 2, 3])), lo=lambda: m.longs(np.array([1 << 40, 2], np.int64)), lol=lambda: fails(lambda: m.longs([1 << 40, 2])), h=lambda: m.halves(spy.float16_t4(1, 2, 3, 4)), hl=lambda: fails(lambda: m.halves([1, 2, 3, 4])), hf=lambda: fails(lambda: m.halves(spy.float4(1, 2, 3, 4))), d=lambda: m.doubles(np.array([1, 2, 3.5])), dl=lambda: fails(lambda: m.doubles([1, 2, 3.5])), df=lambda: fails(lambda: m.doubles(spy.float3(1, 2, 3))), im=lambda: m.imat(np.array([[1, 2], [3, 4]], np.int32)), iml=lambda: fails(lambda: m.imat([[1, 2], [3, 4]])), hm=lambda: m.hmat(np.arange(6, dtype=np.float16).reshape(2, 3)), dm=lambda: m.dmat(np.arange(4, dtype=np.float64).reshape(2, 2)), bm=lambda: fails(lambda: m.bmat(np.array([[True, True], [False, False]]))), ba=lambda: m.barr([True, False, True]), ban=lambda: m.barr(np.array([True, False, False])), ha=lambda: m.harr([1.0, 2.5]), han=lambda: m.harr(np.array([1, 2.5], np.float16)), sa=lambda: m.sarr([1, 2, 3]), san=lambda: m.sarr(np.array([1, 2, 3], np.int16)), ua=lambda: m.uarr([1, 2, 3, 200]), tr=lambda: m.tr(spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4))), one=lambda: m.one(spy.float1(3)), onel=lambda: fails(lambda: m.one([3.0])), onef=lambda: fails(lambda: m.one(3.0)), onen=lambda: m.one(np.array([3], np.float32)), ul=lambda: fails(lambda: m.ul((1 << 64) - 1)), i8=lambda: fails(lambda: m.ul(-1)))


@case
def users2_slang_pointers_and_addresses(spy, device):
    m = load(spy, device, """
import slangpy;
struct Node { float v; Node* next; };
float deref(float* p, int i) { return p[i]; }
void store(float* p, int i, float v) { p[i] = v; }
float walk(Node* n) { float s = 0; while (n != nullptr) { s += n.v; n = n.next; } return s; }
struct View { float* data; int count; };
float total(View v) { float s = 0; for (int i = 0; i < v.count; i++) s += v.data[i]; return s; }
float* shift(float* p, int n) { return p + n; }
""")
    t = spy.Tensor.from_numpy(device, np.arange(6, dtype=np.float32))
    b = device.create_buffer(data=np.arange(6, dtype=np.float32) * 2, usage=rw(spy))
    def linked():
        nodes = spy.Tensor.zeros(device, (3,), m.Node)
        c = nodes.cursor()
        for i in range(3):
            c[i].write({"v": float(i + 1), "next": nodes.storage.device_address + 16 * (i + 1) if i < 2 else 0})
        c.apply()
        return m.walk(nodes.storage)
    return each(t=lambda: m.deref(t.storage, 3), b=lambda: m.deref(b, 3), a=lambda: m.deref(b.device_address, 2), off=lambda: m.deref(b.device_address + 4, 2), ten=lambda: fails(lambda: m.deref(t, 2)), st=lambda: [m.store(t.storage, np.arange(3, dtype=np.int32), 9.0), t], arr=lambda: m.deref(b, np.arange(6, dtype=np.int32), _result="numpy"), lst=linked, view=lambda: m.total({"data": b.device_address, "count": 6}), viewb=lambda: fails(lambda: m.total({"data": b, "count": 3})), ret=lambda: m.shift(b.device_address, 3) - b.device_address, ty=lambda: type(m.shift(b.device_address, 1)).__name__, vec=lambda: m.deref(np.array([b.device_address, b.device_address + 4], np.uint64), 1, _result="numpy"), null=lambda: m.walk(0), name=lambda: m["float*"].full_name)


@case
def users2_slang_derivatives_in_slang(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float f(float x, float y) { return x * x * y; }
float dx(float x, float y) { var p = diffPair(x); var q = diffPair(y); bwd_diff(f)(p, q, 1); return p.d; }
float2 grad(float2 v) { var px = diffPair(v.x); var py = diffPair(v.y); bwd_diff(f)(px, py, 1); return float2(px.d, py.d); }
float fwd(float x, float y) { return fwd_diff(f)(diffPair(x, 1.0), diffPair(y, 0.0)).d; }
[BackwardDerivative(my_bwd)] float custom(float x) { return floor(x); }
void my_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * 7); }
[Differentiable] float use(float x) { return custom(x) + x; }
struct Ray : IDifferentiable { float3 o; float3 d; [Differentiable] float3 at(float t) { return o + d * t; } };
[Differentiable] float dist(Ray r, float t) { return length(r.at(t)); }
[Differentiable] float sum3(float a[3]) { float s = 0; for (int i = 0; i < 3; i++) s += a[i] * a[i]; return s; }
[PreferRecompute] [Differentiable] float loop(float x, int n) { float r = 1; [MaxIters(8)] for (int i = 0; i < n; i++) r *= x; return r; }
""")
    T = spy.Tensor
    def one(v, *shape):
        return T.from_numpy(device, np.asarray(v, np.float32)).with_grads()
    def back(fn, *args):
        r = fn(*args)
        r = r.with_grads()
        r.grad.copy_from_numpy(np.ones(r.to_numpy().shape, np.float32))
        fn.bwds(*args, r)
        return [a.grad.to_numpy() for a in args if isinstance(a, T)]
    return each(dx=lambda: m.dx(3.0, 2.0), dxa=lambda: m.dx(random(3), 2.0, _result="numpy"), grad=lambda: m.grad([3, 2]), fwd=lambda: m.fwd(3.0, 2.0), cust=lambda: back(m.use, one([1.5, 2.5])), f=lambda: back(m.f, one([1, 2, 3]), one([2])), loop=lambda: back(m.loop, one([1, 2, 3]), 3), ray=lambda: (lambda o, d, r: [r.grad.copy_from_numpy(np.ones(2, np.float32)), m.dist.bwds({"_type": "Ray", "o": o, "d": d}, 2.0, r), o.grad.to_numpy(), d.grad.to_numpy()][2:])(T.zeros(device, (2,), "float3").with_grads(), (lambda t: [t.copy_from_numpy(random(2, 3)), t.with_grads()][1])(T.zeros(device, (2,), "float3")), T.zeros(device, (2,), "float").with_grads()))


@case
def users2_slang_interfaces_and_generics(spy, device):
    m = load(spy, device, """
import slangpy;
interface IMat { associatedtype Lobe; float eval(float x); static int id(); float twice(float x) { return eval(x) * 2; } };
struct Diffuse : IMat { typealias Lobe = float; float albedo; float eval(float x) { return albedo * x; } static int id() { return 1; } };
struct Glossy : IMat { typealias Lobe = float2; float rough; float eval(float x) { return pow(x, rough); } static int id() { return 2; } override float twice(float x) { return -1; } };
float eval<M : IMat>(M m, float x) { return m.eval(x); }
float twice<M : IMat>(M m, float x) { return m.twice(x); }
int id<M : IMat>(M m) { return M.id(); }
float any(IMat m, float x) { return m.eval(x); }
struct Layered<A : IMat, B : IMat> { A a; B b; float eval(float x) { return a.eval(x) + b.eval(x); } };
float layered<A : IMat, B : IMat>(Layered<A, B> l, float x) { return l.eval(x); }
T max3<T : IComparable>(T a, T b, T c) { T r = a; if (r < b) r = b; if (r < c) r = c; return r; }
vector<T, N> ones<T : __BuiltinArithmeticType, let N : int>(T a) { return vector<T, N>(a); }
int only<T>(T a) where T : IInteger { return 3; }
struct Pool<T, let N : int> { T items[N]; int used; T last() { return items[used - 1]; } };
""")
    d, g = {"_type": "Diffuse", "albedo": 0.5}, {"_type": "Glossy", "rough": 2.0}
    return each(e=lambda: [m.eval(d, 2.0), m.eval(g, 3.0)], t=lambda: [m.twice(d, 2.0), m.twice(g, 3.0)], id=lambda: [m.id(d), m.id(g)], any=lambda: [m.any(d, 2.0), m.any(g, 3.0)], lay=lambda: m.layered({"_type": "Layered<Diffuse, Glossy>", "a": {"albedo": 0.5}, "b": {"rough": 2.0}}, 3.0), lay2=lambda: m["Layered<Diffuse,Glossy>"].eval({"a": d, "b": g}, 3.0), mx=lambda: [m.max3(1, 5, 3), m.max3(1.5, 0.5, 2.5)], mxa=lambda: m.max3(random(3), 0.5, random(3, seed=2), _result="numpy"), ones=lambda: m["ones<float,3>"](2.0), onesi=lambda: m["ones<int, 2>"](7), only=lambda: m.only(3), pool=lambda: m["Pool<float,4>"].last({"items": [1, 2, 3, 4], "used": 3}), poolv=lambda: m["Pool<float3,2>"].last({"items": [[1, 2, 3], [4, 5, 6]], "used": 2}), arr=lambda: m.eval({"_type": "Diffuse", "albedo": random(4)}, 2.0, _result="numpy"), ten=lambda: m.eval(spy.Tensor.zeros(device, (3,), m.Diffuse), 2.0, _result="numpy"), full=lambda: m["eval<Diffuse>"](d, 4.0))


@case
def users2_slang_globals_and_statics(spy, device):
    m = load(spy, device, """
import slangpy;
static const float TABLE[4] = { 1, 10, 100, 1000 };
static const float3 DIRS[2] = { float3(1, 0, 0), float3(0, 1, 0) };
static const int COUNT = 4;
static float counter = 5;
namespace phys { static const float G = 9.81; float fall(float t) { return 0.5 * G * t * t; } namespace deep { int two() { return 2; } } }
using namespace phys;
float look(int i) { return TABLE[i]; }
float3 dir(int i) { return DIRS[i]; }
float bump(float a) { counter += a; return counter; }
float g(float t) { return fall(t) + deep::two(); }
int count() { return COUNT; }
__generic<T> T ident(T a) { return a; }
#define SQUARE(x) ((x) * (x))
float sq(float a) { return SQUARE(a + 1); }
#if 1
float cond() { return 1; }
#else
float cond() { return 2; }
#endif
[ForceInline] float inl(float a) { return a; }
[noinline] float noinl(float a) { return a * 2; }
""")
    return each(l=lambda: m.look(np.arange(4, dtype=np.int32), _result="numpy"), d=lambda: m.dir(1), b=lambda: m.bump(np.array([1, 2], np.float32), _result="numpy"), g=lambda: m.g(2.0), ns=lambda: m["phys.fall"](2.0), ns2=lambda: m["phys::fall"](2.0), deep=lambda: m["phys.deep.two"](), c=lambda: m.count(), i=lambda: [m.ident(3), m.ident(spy.float2(1, 2))], sq=lambda: m.sq(2.0), cond=lambda: m.cond(), inl=lambda: [m.inl(1.0), m.noinl(1.0)])


@case
def users2_slang_atomics_and_waves(spy, device):
    m = load(spy, device, """
import slangpy;
void addi(int v, RWStructuredBuffer<int> o) { InterlockedAdd(o[0], v); InterlockedMax(o[1], v); InterlockedMin(o[2], v); InterlockedOr(o[3], 1 << v); }
void addu(uint v, RWStructuredBuffer<Atomic<uint>> o) { o[0].add(v); o[1].max(v); }
void bytes(uint v, RWByteAddressBuffer b) { uint old; b.InterlockedAdd(4, v, old); b.Store(8 + v * 4, v * 100); }
uint load(ByteAddressBuffer b, int at) { return b.Load(at); }
float loadf(ByteAddressBuffer b, int at) { return b.Load<float>(at); }
void cas(int v, RWStructuredBuffer<int> o) { int old; InterlockedCompareExchange(o[v], 0, v + 1, old); }
""")
    o = device.create_buffer(data=np.array([0, 0, 100, 0], np.int32), usage=rw(spy), struct_size=4)
    b = device.create_buffer(size=64, usage=rw(spy), data=np.zeros(16, np.uint32))
    f = device.create_buffer(data=np.array([1.5, 2.5], np.float32), usage=rw(spy))
    n = np.arange(1, 6, dtype=np.int32)
    return each(i=lambda: [m.addi(n, o), o.to_numpy().view(np.int32)][1], by=lambda: [m.bytes(n.astype(np.uint32), b), b.to_numpy().view(np.uint32)][1], ld=lambda: m.load(b, np.array([4, 12], np.int32), _result="numpy"), lf=lambda: m.loadf(f, 4), cas=lambda: [m.cas(np.arange(4, dtype=np.int32), o), o.to_numpy().view(np.int32)][1])
