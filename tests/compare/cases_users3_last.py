"""Programs of other users, third set: what came to mind last: calls with mixed values, nested data, textures of numbers, results used again."""
import numpy as np

from cases import case, each, error, fails, load, plain, random


@case
def users3_last_mixed_argument_kinds(spy, device):
    m = load(spy, device, """
import slangpy;
struct W { float a; float2 b; };
float mix4(float a, float b, float c, float d) { return a + 10 * b + 100 * c + 1000 * d; }
float st(W w, float s, int k) { return (w.a + w.b.x + w.b.y) * s + k; }
float3 v(float3 a, float b, int3 c) { return a * b + c; }
float al(float a[3], float2 b, float s) { return (a[0] + a[1] + a[2]) * b.x * b.y + s; }
""")
    T = lambda *s, seed=1: spy.Tensor.from_numpy(device, random(*s, seed=seed))
    N = lambda *s, seed=1: random(*s, seed=seed)
    def tv(n):
        t = spy.Tensor.zeros(device, (n,), "float3")
        t.copy_from_numpy(random(n, 3))
        return t
    return each(a=lambda: m.mix4(T(3), N(3), 2.0, 1, _result="numpy"), b=lambda: m.mix4(T(2, 3), N(3), T(1, 3), 1.0, _result="numpy"), c=lambda: m.mix4([1.0, 2.0], 1.0, N(2), T(2), _result="numpy"), d=lambda: m.mix4(spy.float2(1, 2), 0.0, 0.0, [1.0, 2.0], _result="numpy"), e=lambda: m.mix4(range(3), T(3), 0, True, _result="numpy"), f=lambda: m.mix4(spy.rand_float(seed=1), T(4), 0.0, 0.0, _result="numpy"), g=lambda: m.mix4(N(2, 1), N(3), N(2, 3), 0.0).shape, h=lambda: m.mix4(T(3)[1:], N(2), 0.0, 0.0, _result="numpy"), s1=lambda: m.st({"a": 1.0, "b": [1, 2]}, T(3), np.int32([1, 2, 3]), _result="numpy"), s2=lambda: m.st({"a": T(3), "b": spy.float2(1, 2)}, 2.0, 1, _result="numpy"), s3=lambda: m.st({"a": T(3), "b": N(3, 2)}, T(2, 1), 1, _result="numpy"), s4=lambda: m.st(spy.Tensor.zeros(device, (3,), m.W), T(3), range(3), _result="numpy"), s5=lambda: m.st([{"_type": "W", "a": 1.0, "b": [1, 2]}, {"_type": "W", "a": 2.0, "b": [3, 4]}], T(2), 0, _result="numpy"), v1=lambda: m.v(tv(4), T(4), spy.int3(1, 2, 3), _result="numpy"), v2=lambda: m.v([1, 2, 3], T(2), [4, 5, 6], _result="numpy"), v3=lambda: m.v(N(4, 3), 2.0, np.int32([[1, 2, 3]] * 4), _result="numpy"), v4=lambda: m.v({"x": T(2), "y": 1.0, "z": N(2)}, 1.0, spy.int3(0), _result="numpy"), v5=lambda: m.v(tv(4), N(2, 1), spy.int3(0)).shape, v6=lambda: m.v(spy.float3(1), spy.float3(1, 2, 3), spy.int3(0), _result="numpy"), al=lambda: m.al([1, 2, 3], [2, 3], T(2), _result="numpy"), al2=lambda: m.al(N(2, 3), spy.float2(1, 2), [1.0, 2.0], _result="numpy"), al3=lambda: m.al([T(2), 1.0, N(2)], spy.float2(1, 1), 0.0, _result="numpy"), kw=lambda: m.mix4(1.0, d=T(2), b=2.0, c=0.0, _result="numpy"), bad=lambda: [error(m.mix4, T(3), N(4), 0.0, 0.0), error(m.st, {"a": T(3), "b": N(4, 2)}, 1.0, 1), fails(m.v, [1, 2], 1.0, [1, 2, 3]), fails(m.al, [1, 2], [1, 2], 0.0), fails(m.mix4, spy.float2(1, 2), spy.float3(1, 2, 3), 0.0, 0.0)])


@case
def users3_last_results_used_again(spy, device):
    m = load(spy, device, """
import slangpy;
struct Ray { float3 o; float3 d; }; struct Pair { Ray a; float w[2]; };
Ray ray(float x) { Ray r; r.o = float3(x, 0, 0); r.d = float3(0, 0, 1); return r; }
Pair pair(Ray r, float w) { Pair p; p.a = r; p.w[0] = w; p.w[1] = w * 2; return p; }
float read(Pair p) { return p.a.o.x + p.w[1]; } Ray inner(Pair p) { return p.a; } float[2] ws(Pair p) { return p.w; } float3 org(Ray r) { return r.o; }
float2x2 rot(float a) { return float2x2(cos(a), -sin(a), sin(a), cos(a)); } float2 app(float2x2 m, float2 v) { return mul(m, v); } bool pos(float2 v) { return v.x > 0; } int sel(bool b) { return b ? 5 : 7; } uint8_t small(int i) { return uint8_t(i); } int big(uint8_t i) { return int(i) * 1000; }
""")
    x = random(4)
    r = m.ray(x)
    p = m.pair(r, x)
    return each(read=lambda: m.read(p, _result="numpy"), inner=lambda: m.org(m.inner(p), _result="numpy"), ws=lambda: m.ws(p, _result="numpy"), one=lambda: m.read(m.pair(m.ray(1.0), 2.0)), mixed=lambda: m.read(m.pair(m.ray(1.0), x), _result="numpy"), bc=lambda: m.read(m.pair(r, np.float32([[1], [2]])), _result="numpy"), mat=lambda: m.app(m.rot(x), spy.float2(1, 0), _result="numpy"), pos=lambda: m.sel(m.pos(m.app(m.rot(x * 6), spy.float2(1, 0))), _result="numpy"), small=lambda: m.big(m.small(np.int32([1, 2, 300])), _result="numpy"), arr=lambda: m.ws(m.pair(m.ray(0.0), 3.0)), sl=lambda: m.read(p[1:3], _result="numpy"), cur=lambda: [c.w.read() for c in p.cursor()], dict_=lambda: m.read({"a": m.ray(2.0), "w": [1, 2]}), dt=lambda: m.read({"a": r, "w": [1.0, 2.0]}, _result="numpy"), inst=lambda: m.read(spy.InstanceList(m.Pair, {"a": r, "w": [1.0, 2.0]}), _result="numpy"), into=lambda: [t := spy.Tensor.empty(device, (4,), m.Pair), m.pair(r, x, _result=t), m.read(t, _result="numpy")][2], types=lambda: [p.dtype.name, m.rot(x).dtype.full_name, None, type(m.rot(0.5)).__name__, type(m.small(3)).__name__])


@case
def users3_last_functions_of_every_scalar(spy, device):
    kinds = "int uint int16_t uint16_t int8_t uint8_t int64_t uint64_t half float double bool".split()
    body = "\n".join(f"{k} id_{k}({k} a) {{ return a; }} {k}2 v_{k}({k}2 a) {{ return a.yx; }} {k}[2] a_{k}({k} a[2]) {{ return a; }}" for k in kinds)
    m = load(spy, device, "import slangpy;\n" + body)
    values = dict(zero=0, one=1, neg=-1, f=1.5, big=300, t=True)
    out = {}
    for k in kinds:
        out[f"one_{k}"] = lambda k=k: {n: fails(m[f"id_{k}"], v) for n, v in values.items() if not (n == "neg" and k[0] in "ub") and not (n == "big" and "8" in k)}
        out[f"type_{k}"] = lambda k=k: [type(m[f"id_{k}"](1)).__name__, m[f"id_{k}"](np.arange(3).astype({"half": "float16", "float": "float32", "double": "float64", "int": "int32", "uint": "uint32"}.get(k, k.replace("_t", "")))).dtype.full_name if k != "bool" else None]
        out[f"arr_{k}"] = lambda k=k: fails(m[f"a_{k}"], [1, 0])
        out[f"vec_{k}"] = lambda k=k: plain(fails(m[f"v_{k}"], [1, 0])) if k in ("int", "uint", "float", "bool", "half") else None
    return each(**out)


@case
def users3_last_uniforms_of_modules(spy, device):
    m = load(spy, device, """
import slangpy;
struct Cam { float3 eye; float fov; float4x4 view; }; struct Set { Cam cams[2]; int active; bool flip; half h; uint2 res; };
uniform Set settings; uniform float4 tint; uniform float weights[5]; uniform Tensor<float, 1> lut; uniform StructuredBuffer<float> table; ConstantBuffer<Cam> main_cam; static const int K = 3; uniform Texture2D<float> map_; 
float get(int i) { return settings.cams[settings.active].fov + weights[i] + tint.w + main_cam.fov + float(settings.h) + settings.res.y; }
float lookup(int i) { return lut[i] + table[i]; }
""")
    cam = lambda f: {"eye": [1, 2, 3], "fov": f, "view": spy.float4x4.identity()}
    full = {"settings": {"cams": [cam(1.0), cam(2.0)], "active": 1, "flip": True, "h": 0.5, "res": [640, 480]}, "tint": spy.float4(1, 2, 3, 4), "weights": [0.0, 1.0, 2.0, 3.0, 4.0], "main_cam": cam(10.0)}
    b = device.create_buffer(element_count=3, struct_size=4, usage=spy.BufferUsage.shader_resource, data=np.float32([1, 2, 3]))
    i = np.arange(5, dtype=np.int32)
    def cursor(c):
        c.settings.write(full["settings"])
        c.settings.active = 0
        c.tint = [0, 0, 0, 1]
        c.weights = np.arange(5, dtype=np.float32)
        c.main_cam.fov = 3.0
    return each(get=lambda: m.get.set(full)(i, _result="numpy"), over=lambda: m.get.set(full).set({"tint": [0, 0, 0, 0]})(1), kw=lambda: m.get.set(**full)(2), np_=lambda: m.get.set({**full, "weights": np.float32([5, 4, 3, 2, 1]), "tint": np.float32([0, 0, 0, 9])})(i, _result="numpy"), cur=lambda: m.get.write(cursor)(i, _result="numpy"), lut=lambda: m.lookup.set(lut=spy.Tensor.from_numpy(device, np.float32([10, 20, 30])), table=b)(i[:3].copy(), _result="numpy"), lut2=lambda: m.lookup.set({"lut": spy.Tensor.from_numpy(device, np.float32([10, 20, 30])), "table": spy.Tensor.from_numpy(device, random(3)).storage})(1) > 20, fn=lambda: m.get.set(lambda call: {**full, "tint": [0, 0, 0, 5]})(0), wrong=lambda: [fails(m.get.set({**full, "weights": [1, 2]}), 0), fails(m.get.set({**full, "tint": [1, 2]}), 0), fails(m.get.set({**full, "settings": 3}), 0)])


@case
def users3_last_gradients_by_hand(spy, device):
    m = load(spy, device, """
import slangpy;
float cube(float x) { return x * x * x; }
[BackwardDerivativeOf(cube)] void cube_bwd(inout DifferentialPair<float> x, float g) { x = diffPair(x.p, 100 * g); }
[Differentiable] float use(float x) { return cube(x) + x; }
[Differentiable] float stop(float x) { return detach(x) * x; }
[Differentiable] float loop(float x, int n) { float r = 1; [MaxIters(8)] for (int i = 0; i < n; i++) r *= x; return r; }
[Differentiable] float branch(float x) { if (x > 0.5) return x * x; return -x; }
[Differentiable] float2 two(float2 v) { return float2(v.x * v.y, v.x + v.y); }
[Differentiable] float clampd(float x) { return clamp(x, 0.25, 0.75) * 2; }
float grad_in_slang(float x) { var p = diffPair(x); bwd_diff(use)(p, 1.0); return p.d; }
float fwd_in_slang(float x) { return fwd_diff(loop)(diffPair(x, 1.0), 3).d; }
""")
    def g(f, x, *rest, n=None):
        t = spy.Tensor.from_numpy(device, x).with_grads()
        r = spy.Tensor.from_numpy(device, np.zeros(n or x.shape, np.float32)).with_grads()
        r.grad.copy_from_numpy(np.ones(n or x.shape, np.float32))
        f.bwds(t, *rest, r)
        return t.grad.to_numpy()
    x = random(5)
    return each(use=lambda: g(m.use, x), stop=lambda: g(m.stop, x), loop=lambda: g(m.loop, x, 3), loopn=lambda: g(m.loop, x, np.int32([0, 1, 2, 3, 4])), branch=lambda: g(m.branch, x), clampd=lambda: g(m.clampd, x), slang=lambda: m.grad_in_slang(x, _result="numpy"), fwd=lambda: m.fwd_in_slang(x, _result="numpy"), vals=lambda: [m.use(2.0), m.stop(3.0), m.loop(2.0, 3), m.branch(0.25)], two=lambda: [t := spy.Tensor.zeros(device, (3,), "float2"), t.copy_from_numpy(random(3, 2)), t := t.with_grads(), r := m.two(t).with_grads(), r.grad.copy_from_numpy(np.ones((3, 2), np.float32)), m.two.bwds(t, r), t.grad.to_numpy()][6])


@case
def users3_last_shapes_of_empty_and_large(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a) { return a + 1; }\nfloat add(float a, float b) { return a + b; }\nint id(int i) { return i; }\nfloat3 v(float3 a) { return a; }\n")
    E = np.zeros((0,), np.float32)
    return each(e1=lambda: [m.f(E, _result="numpy").shape, m.f(E).shape], e2=lambda: m.f(np.zeros((3, 0), np.float32), _result="numpy").shape, e3=lambda: m.add(np.zeros((0, 3), np.float32), np.zeros(3, np.float32), _result="numpy").shape, e4=lambda: m.v(np.zeros((0, 3), np.float32), _result="numpy").shape, e5=lambda: m.id(range(0), _result="numpy").shape, e6=lambda: fails(m.f, []), e7=lambda: m.id(spy.grid((0,)), _result="numpy").shape, big=lambda: float(m.f(np.ones(300000, np.float32), _result="numpy").sum()), wide=lambda: m.add(np.ones((1, 1000), np.float32), np.ones((300, 1), np.float32)).shape, six=lambda: m.f(np.zeros((1, 2, 1, 2, 1, 2), np.float32)).shape, last=lambda: m.id(spy.grid((70000,)), _result="numpy")[-3:], one=lambda: m.f(np.ones((1,), np.float32), _result="numpy"), ones=lambda: m.f(np.ones((1, 1, 1), np.float32)).shape)
