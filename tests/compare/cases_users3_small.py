"""Programs of other users, third set: short snippets as tutorials and questions have them, printed as text."""
import numpy as np

from cases import case, each, error, fails, load, random


@case
def users3_small_first_functions(spy, device):
    m = spy.Module.load_from_source(device, "users3_first", "import slangpy;\n// Adds two numbers\nfloat add(float a, float b) { return a + b; }\nint add_i(int a, int b) { return a + b; }\nvoid add_out(float a, float b, out float r) { r = a + b; }\n")
    print_ = lambda *a: " ".join(map(str, a))
    r = m.add(np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32), _result="numpy")
    ref = spy.ValueRef(0.0)
    m.add_out(2.0, 3.0, ref)
    t = m.add(spy.Tensor.from_numpy(device, np.float32([1, 2])), 1.0)
    return each(a=lambda: print_(m.add(1.0, 2.0), m.add(1, 2), m.add_i(1, 2), r, ref.value, t, t.shape, m.add(a=1.0, b=2.0)), b=lambda: repr(t), c=lambda: f"{m.add(0.1, 0.2):.6f}", d=lambda: str(m), e=lambda: print_(spy.float3(1, 2, 3), spy.int2(3, 4), spy.float2x2([1, 2, 3, 4]), spy.quatf(), spy.bool2(True, False), spy.float16_t(0.5)), f=lambda: print_(spy.float3(0.1, 1e10, -0.0), spy.float4(float("inf"), float("nan"), 1e-10, 123456789)), g=lambda: print_(np.array(spy.float3(1, 2, 3)), list(spy.float3(1, 2, 3)), tuple(spy.int2(1, 2))), h=lambda: print_(t.to_numpy().tolist(), t.dtype.full_name, t.element_count), i=lambda: error(m.add, "1", 2.0), j=lambda: error(m.add, np.float32([1, 2]), np.float32([1, 2, 3])), k=lambda: print_(device.info.type != spy.DeviceType.automatic, spy.__version__.split(".")[0].isdigit()), l=lambda: print_(bool(spy.float3), callable(m.add), m.add is m["add"], hasattr(m, "sub"), "add" in dir(m)))


@case
def users3_small_vectors_as_numbers(spy, device):
    v, w = spy.float3(1, 2, 3), spy.float3(3, 2, 1)
    def chain():
        a = spy.float3(1)
        b = a
        b += spy.float3(1, 2, 3)
        c = a * 2 - w / 2
        a -= 1
        a *= [1, 2, 3]
        a /= 2
        i = spy.int3(7, 8, 9)
        j = i
        i += 1
        i -= [1, 0, 1]
        i *= 3
        i //= 1
        u = spy.uint2(12, 10)
        x = u
        u &= 6
        u |= 1
        u ^= spy.uint2(3, 3)
        u <<= 2
        u >>= 1
        u %= 7
        return [a, b, c, i, j, u, x, b is a]
    def copies():
        a = spy.float3(1, 2, 3)
        b = spy.float3(a)
        b.x = 9
        c = +a
        c[1] = 8
        d = {a: "x"}
        return [a, b, c, d[spy.float3(1, 2, 3)], a in d, sorted([spy.int2(2, 1), spy.int2(1, 5), spy.int2(1, 2)])]
    def bools():
        a = spy.bool3(True, False, True)
        b = a
        b |= spy.bool3(False, True, False)
        return [fails(lambda: a & spy.bool3(True)), a, fails(lambda: a | True), fails(lambda: ~a), fails(lambda: a ^ a), spy.math.any(a), spy.math.all(a), spy.math.none(a)]
    M = spy.math
    return each(chain=chain, copies=copies, bools=bools, cmp=lambda: [v == w, v != w, v < w, v >= w, M.eq(v, w), M.lt(v, 2), M.ge(v, w), v == [1, 2, 3], v == (1, 2, 3), None, v == 1, v == None, v != "x"], funcs=lambda: [M.dot(v, w), M.cross(v, w), M.length(v), M.normalize(v), M.reflect(v, w), M.min(v, w), M.max(v, 2), M.clamp(v, 1.5, 2.5), M.lerp(v, w, 0.25), M.floor(v / 2), M.frac(v / 2), M.sign(v - 2), M.saturate(v - 1.5), M.step(w, v), M.smoothstep(spy.float3(0), spy.float3(4), v), M.pow(v, 2), M.fmod(v, w), M.sqrt(v), M.rsqrt(v), M.exp2(v), M.log2(v), M.degrees(v), M.radians(v), M.isnan(v), M.isfinite(v)], mix=lambda: [fails(lambda: v + spy.int3(1)), fails(lambda: spy.int3(1) + v), fails(lambda: v + spy.float2(1)), fails(lambda: v + [1, 2]), fails(lambda: v + "x"), v + (1, 1, 1), v * np.float32(2), None, 2 * v, 1 / v, 5 - v, fails(lambda: v + None)], sums=lambda: [sum(v), max(v), min(w), sum([v, w], spy.float3()), list(map(int, v)), len(v), v[0], v[-1], None, [*v], dict(zip("xyz", v))])


@case
def users3_small_arrays_in_python(spy, device):
    m = load(spy, device, "import slangpy;\nfloat mean(float a[4]) { return (a[0] + a[1] + a[2] + a[3]) / 4; }\nfloat[3] spread(float a) { return { a, a * 2, a * 3 }; }\nint[2][2] nest(int a) { return { { a, 1 }, { 2, a } }; }\nfloat3[2] vecs(float3 a) { return { a, -a }; }\nvoid fill(out float a[3], float v) { a[0] = v; a[1] = v + 1; a[2] = v + 2; }\nvoid inc(inout int a[2]) { a[0]++; a[1] += 2; }\n")
    def outs():
        r = spy.ValueRef([0.0, 0.0, 0.0])
        m.fill(r, 2.0)
        q = spy.ValueRef([1, 2])
        m.inc(q)
        t = spy.Tensor.zeros(device, (2,), "float[3]")
        m.fill(t, np.float32([1, 5]))
        return [r.value, q.value, t.to_numpy()]
    return each(mean=lambda: [m.mean([1, 2, 3, 4]), m.mean(np.float32([1, 2, 3, 4])), m.mean(random(2, 4), _result="numpy"), m.mean(spy.Tensor.from_numpy(device, random(3, 4)), _result="numpy")], spread=lambda: [m.spread(2.0), m.spread(random(2), _result="numpy"), m.spread(random(2)).dtype.full_name], nest=lambda: [m.nest(5), m.nest(np.int32([1, 2]), _result="numpy")], vecs=lambda: [m.vecs(spy.float3(1, 2, 3)), m.vecs(random(2, 3), _result="numpy")], outs=outs, bad=lambda: [fails(m.mean, [1, 2, 3]), fails(m.mean, [1, 2, 3, "x"]), fails(m.mean, 3.0), fails(m.mean, random(3))], into=lambda: [t := spy.Tensor.zeros(device, (2,), "float[3]"), m.spread(random(2), _result=t), t.to_numpy()][2], again=lambda: m.mean(m.spread(1.0) + [4.0]))


@case
def users3_small_out_values(spy, device):
    m = load(spy, device, "import slangpy;\nstruct R { float a; int b[2]; };\nvoid polar(float2 p, out float r, out float a) { r = length(p); a = atan2(p.y, p.x); }\nbool div(int a, int b, out int q, out int r) { q = 0; r = 0; if (b == 0) return false; q = a / b; r = a % b; return true; }\nvoid both(inout float3 v, inout R s) { v *= 2; s.a += v.x; s.b[1] = 7; }\nvoid swap(inout float a, inout float b) { float t = a; a = b; b = t; }\nvoid mat(out float2x2 m, out float4 v, out bool b) { m = float2x2(1, 2, 3, 4); v = float4(1, 2, 3, 4); b = true; }\n")
    V = spy.ValueRef
    def polar():
        r, a = V(0.0), V(0.0)
        m.polar(spy.float2(3, 4), r, a)
        R, A = np.zeros(3, np.float32), np.zeros(3, np.float32)
        m.polar(random(3, 2), R, A)
        T = spy.Tensor.zeros(device, (3,), "float")
        m.polar(random(3, 2), T, spy.Tensor.zeros(device, (3,), "float"))
        return [r.value, a.value, R, A, T.to_numpy()]
    def div():
        q, r = V(0), V(0)
        ok = [m.div(17, 5, q, r), q.value, r.value, m.div(1, 0, q, r), q.value]
        Q, R = spy.Tensor.zeros(device, (3,), "int"), np.zeros(3, np.int32)
        return ok + [m.div(np.int32([7, 8, 9]), 4, Q, R).to_numpy().astype(bool), Q.to_numpy(), R]
    def both():
        v, s = V(spy.float3(1, 2, 3)), V({"_type": "R", "a": 1.0, "b": [1, 2]})
        m.both(v, s)
        return [v.value, s.value]
    def mats():
        a, b, c = V(spy.float2x2()), V(spy.float4()), V(False)
        m.mat(a, b, c)
        return [a.value, b.value, c.value]
    return each(polar=polar, div=div, both=both, mats=mats, swap=lambda: [a := V(1.0), b := V(2.0), m.swap(a, b), a.value, b.value][3:], swapt=lambda: [a := spy.Tensor.from_numpy(device, random(3)), b := spy.Tensor.from_numpy(device, random(3, seed=2)), m.swap(a, b), a.to_numpy(), b.to_numpy()][3:], plain_=lambda: [fails(m.swap, 1.0, 2.0)], refs=lambda: [V(1.0).value, type(V(1.0)).__name__, spy.intRef(3).value, spy.floatRef(2).value, spy.intRef().value, fails(V)], few=lambda: error(m.polar, spy.float2(1, 1)), wrong=lambda: [fails(m.polar, spy.float2(1, 1), V("x"), V(0.0)), fails(m.polar, spy.float2(1, 1), None, None)])


@case
def users3_small_namespaces_and_names(spy, device):
    m = load(spy, device, """
import slangpy;
namespace geo {
struct P { float x; float y; float len() { return sqrt(x * x + y * y); } static P unit() { P p; p.x = 1; p.y = 0; return p; } };
float dist(P a, P b) { return abs(a.x - b.x) + abs(a.y - b.y); }
}
struct Outer { struct Inner { float v; float twice() { return v * 2; } }; Inner i; float get() { return i.v; } };
enum Mode { Off = 0, On = 3, Auto };
enum class Level : uint { Low = 1, High = 10 };
int mode(Mode m) { return (int)m; } uint level(Level l) { return (uint)l; } Mode next(Mode m) { return m == Mode::Off ? Mode::On : Mode::Auto; }
float _private(float a) { return a; } float lambda(float a) { return a + 1; } float None_(float a) { return a; } float print(float a) { return a * 2; } float call(float a) { return a * 3; } float name(float a) { return a * 4; } float map(float a) { return a * 5; }
""")
    return each(geo=lambda: [fails(lambda: m["geo.P"].len({"x": 3.0, "y": 4.0})), fails(lambda: m["geo.P"].unit()), fails(lambda: m["geo.P"].full_name), fails(lambda: m["geo.P"].name)], inner=lambda: [m.Outer.Inner.twice({"v": 2.0}), m["Outer.Inner"].name, m["Outer.Inner"].full_name, m.Outer.get({"i": {"v": 5.0}}), None], modes=lambda: [fails(m.mode, 3), fails(m.level, 10), fails(m.next, 0), m.layout.find_type_by_name("Mode").full_name], names=lambda: [m._private(1.0), m["lambda"](1.0), m.None_(1.0), m.print(1.0), m["call"](1.0), m["map"](1.0)], nm=lambda: [type(m.name).__name__, m["name"](1.0) if not isinstance(m["name"], str) else None], attr=lambda: [m.Outer.Inner is m.Outer.Inner, m.Outer["get"].name, error(lambda: m.Outer.zzz), error(lambda: m["zzz.q"]), m.find_struct("Outer") is not None])


@case
def users3_small_tensor_printing(spy, device):
    m = load(spy, device, "import slangpy;\nstruct S { float a; int b; };\nfloat f(float a) { return a; }\n")
    t = spy.Tensor.from_numpy(device, np.arange(6, dtype=np.float32).reshape(2, 3))
    z = lambda d, *s: spy.Tensor.zeros(device, s, d)
    return each(s=lambda: str(t), r=lambda: repr(t), v=lambda: str(t[1]), vr=lambda: repr(t[:, 1]), g=lambda: repr(t.with_grads()), i=lambda: [str(z("int", 2)), repr(z("int", 2))], f3=lambda: [str(z("float3", 2)), repr(z("float3", 2))], st=lambda: repr(z(m.S, 2)), b=lambda: [str(z("bool", 2)), repr(z("bool", 2))], h=lambda: repr(z("half", 2)), ar=lambda: repr(z("float[4]", 2)), m=lambda: repr(z("float2x3", 2)), e=lambda: [str(t[0:0]), repr(t[0:0])], fmt=lambda: f"{t.shape} {t.strides} {t.dtype.name}", shp=lambda: [repr(t.shape), str(t.shape), t.shape == (2, 3), tuple(t.shape), list(t.shape), len(t.shape), t.shape[0]], dt=lambda: [repr(t.dtype), str(t.dtype), t.dtype.name, t.dtype.full_name, t.dtype == z("float", 1).dtype, t.dtype is z("float", 1).dtype])


@case
def users3_small_device_statements(spy, device):
    with device as d:
        inside = [d is device, spy.current_device() is device if hasattr(spy, "current_device") else None]
    def stack():
        spy.push_current_device(device)
        a = spy.current_device() is device
        spy.pop_current_device()
        return a
    return each(inside=lambda: inside, stack=stack, sub=lambda: [type(device.slang_session).__name__, device.slang_session.device is device, type(device.info.limits.max_compute_thread_group_size).__name__, device.info.limits.max_compute_threads_per_group >= 128 if device.info.type != getattr(spy.DeviceType, "cpu", None) else True], wait=lambda: [device.wait(), device.wait_for_idle()], str_=lambda: ["Device" in repr(device), type(device).__name__], path=lambda: type(spy.SHADER_PATH).__name__, hash_=lambda: [device == device, device in {device}, len({device, device})])


@case
def users3_small_function_options_printed(spy, device):
    m = load(spy, device, "import slangpy;\nuniform float k;\nextern static const int N = 3;\nfloat f(float a) { return a * k + N; }\n[Differentiable] float g(float a) { return a * a; }\n")
    return each(a=lambda: m.f.set(k=2.0)(3.0), b=lambda: m.f.set({"k": 2.0}).constants({"N": 5})(3.0), c=lambda: m.f.set(k=2.0).return_type(np.ndarray)(random(3)), d=lambda: m.f.set(lambda x: {"k": 4.0})(1.0), e=lambda: [m.f.set(k=1.0).name, m.f.constants({"N": 1}).name, m.g.bwds.name], f=lambda: [callable(m.f.set), callable(m.g.bwds), m.g.map((0,)).name], g=lambda: m.f.set(k=spy.float3(1)) is not None, h=lambda: fails(m.f.set(k=spy.float3(1)), 1.0), j=lambda: m.f.write(lambda c: setattr(c, "k", 5.0))(2.0), k=lambda: [m.f.set(k=1.0).set(k=2.0)(1.0), m.f.write(lambda c: setattr(c, "k", 1.0)).set(k=3.0)(1.0)], l=lambda: m.f.set(k=2.0).thread_group_size(spy.uint3(64, 1, 1)) is not None)
