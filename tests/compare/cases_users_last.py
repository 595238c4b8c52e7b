"""Programs of users, third part: reloads, logs, files of shaders, experimental names, values that are read back."""
import os
import tempfile
import time

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case(own_device=True)
def users_reload_of_a_file(spy, device):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "ureload.slang")
    def write(body, at):
        with open(path, "w") as f:
            f.write(body)
        os.utime(path, (time.time() + at, time.time() + at))
    write("float f(float a) { return a + 1; }\nstruct S { float x; }\n", 0)
    m = spy.Module.load_from_file(device, path)
    got = []
    i = device.register_shader_hot_reload_callback(lambda e: got.append(type(e).__name__))
    def first():
        return m.f(1.0), sorted(m.S.fields)
    def second():
        write("float f(float a) { return a + 2; }\nfloat g(float a) { return -a; }\nstruct S { float x; float y; }\n", 10)
        device.reload_all_programs()
        return m.f(1.0), m.g(1.0), sorted(m.S.fields), len(got)
    def broken():
        write("float f(float a) { return a + ; }", 20)
        r = error(device.reload_all_programs)
        return r is None or "raises" in str(r), len(got)
    def mended():
        write("float f(float a) { return a + 3; }", 30)
        device.reload_all_programs()
        return m.f(1.0)
    return each(a=first, b=second, d=mended, un=lambda: device.unregister_shader_hot_reload_callback(i), gone=lambda: [device.reload_all_programs(), len(got)][1] >= 2, tp=lambda: type(i).__name__)


@case
def users_experimental_names(spy, device):
    m = load(spy, device, "import slangpy;\nstruct P { float3 x; float m; [Differentiable] float e() { return dot(x, x) * m; } }\nint2 id(int2 a) { return a; }\n")
    from slangpy.experimental.gridarg import grid as g, GridArg
    from slangpy.experimental.diffinstancelist import InstanceDifferentiableBuffer as I
    from slangpy.types.callidarg import call_id as c
    from slangpy.types.valueref import ValueRef, floatRef
    from slangpy.types.diffpair import DiffPair, diffPair
    from slangpy.types.wanghasharg import WangHashArg
    from slangpy.types.randfloatarg import RandFloatArg
    from slangpy.bindings import Shape as S1
    from slangpy.core.native import Shape as S2
    return each(g=lambda: m.id(g((2, 2)), _result="numpy"), same=lambda: [g is spy.grid, c is spy.call_id, ValueRef is spy.ValueRef, DiffPair is spy.DiffPair, S1 is S2, S1 is spy.slangpy.Shape], cls=lambda: [isinstance(g((1,)), GridArg), isinstance(spy.rand_float(), RandFloatArg), isinstance(spy.wang_hash(), WangHashArg)], dims=lambda: [g((2, 3)).dims, g(3).dims], inst=lambda: I(m.P, (3,)).shape, prim=lambda: I(m.P, (3,)).primal_to_numpy().shape, pf=lambda: [diffPair(1.0).primal, diffPair(1.0).grad, diffPair(1.0).get(spy.types.diffpair.PrimType.primal)], sig=lambda: [type(x.slangpy_signature).__name__ for x in (spy.ValueRef(1), spy.diffPair(1.0), spy.rand_float(), spy.wang_hash(), spy.call_id())])


@case
def users_logs_of_builds(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a) { return a * 9; }")
    out = []
    class Out(spy.LoggerOutput):
        def write(self, level, name, msg):
            out.append(level)
    l = spy.Logger(spy.LogLevel.debug, "x", False)
    l.add_output(Out())
    return each(none=lambda: m.logger, set=lambda: [setattr(m, "logger", l), m.logger is l][1], call=lambda: m.f(2.0), some=lambda: len(out) > 0, back=lambda: [setattr(m, "logger", None), m.logger][1], bad=lambda: fails(lambda: setattr(m, "logger", 3)) and None)


@case
def users_generated_shaders(spy, device):
    m = load(spy, device, "import slangpy;\nfloat uniquely_named(float a) { return a * 9; }")
    import contextlib
    import io
    def go():
        s = io.StringIO()
        spy.set_print_generated_shaders(True)
        try:
            with contextlib.redirect_stdout(s):
                m.uniquely_named(random(3))
        finally:
            spy.set_print_generated_shaders(False)
        t = s.getvalue()
        return "uniquely_named" in t, "GENERATED SHADER" in t, "=" * 80 in t
    def again():
        s = io.StringIO()
        spy.set_print_generated_shaders(True)
        try:
            with contextlib.redirect_stdout(s):
                m.uniquely_named(random(4))
        finally:
            spy.set_print_generated_shaders(False)
        return s.getvalue()
    return each(go=go, again=again)


@case
def users_values_read_back(spy, device):
    m = load(spy, device, """
import slangpy;
struct A { int i; float f; float3 v; float2x2 m; bool b; float a[2]; };
struct B { A a; A as[2]; uint64_t p; };
A make_a(int i) { A a; a.i = i; a.f = i * 0.5; a.v = i; a.m = float2x2(i, 0, 0, i); a.b = i > 1; a.a[0] = i; a.a[1] = -i; return a; }
B make_b(int i) { B b; b.a = make_a(i); b.as[0] = make_a(1); b.as[1] = make_a(2); b.p = 7; return b; }
A[2] two(int i) { A r[2] = { make_a(i), make_a(i + 1) }; return r; }
int use(B b) { return b.a.i + b.as[1].i * 10; }
bool3 flags(int3 a) { return a > 1; }
uint4 bytes(uint a) { return uint4(a & 255, (a >> 8) & 255, (a >> 16) & 255, a >> 24); }
int64_t big(int64_t a) { return a * 1000000007; }
uint biguint(uint a) { return a + 4294967290u; }
""")
    return each(a=lambda: m.make_a(3), b=lambda: m.make_b(3), use=lambda: m.use(m.make_b(5)), two=lambda: m.two(1), bytes=lambda: m.bytes(0x01020304), big=lambda: m.big(123456789), bu=lambda: m.biguint(3), neg=lambda: m.big(-5), types=lambda: {k: type(v).__name__ for k, v in m.make_a(1).items()}, usev=lambda: m.use(m.make_b(np.arange(3, dtype=np.int32)), _result="numpy"), dt=lambda: m.make_b(np.arange(2, dtype=np.int32)).dtype.full_name, cur=lambda: m.make_a(np.arange(2, dtype=np.int32)).cursor()[1].read())


@case
def users_large_and_odd_shapes(spy, device):
    m = load(spy, device, "import slangpy;\nfloat add(float a, float b) { return a + b; }\nint id(int i) { return i; }")
    n = 100003
    x = np.arange(n, dtype=np.float32)
    return each(big=lambda: bool((m.add(x, 1.0, _result="numpy") == x + 1).all()), odd=lambda: float(m.add(random(7, 11, 13), 1.0, _result="numpy").sum()), six=lambda: m.add(random(1, 2, 1, 3, 1, 2), 1.0).shape, ids=lambda: int(m.id(spy.grid((n,)), _result="numpy")[-1]), one=lambda: m.add(np.ones((1, 1), np.float32), np.ones((1,), np.float32)).shape, col=lambda: m.add(random(300, 1), random(1, 200)).shape, eight=lambda: fails(lambda: m.add(np.ones((1,) * 8, np.float32), 1.0).shape))


@case
def users_arguments_that_are_reused(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a, float b) { return a * 10 + b; }\nvoid acc(inout float a, float b) { a += b; }\nfloat2 two(float a) { return float2(a, -a); }")
    t = spy.Tensor.from_numpy(device, random(4))
    def loop():
        a = spy.Tensor.zeros(device, (3,), "float")
        for i in range(5):
            m.acc(a, float(i))
        return a.to_numpy()
    def ref():
        r = spy.floatRef(1.0)
        for i in range(4):
            m.acc(r, 2.0)
        return r.value
    def alternate():
        return [m.f(t, i)[0:1].to_numpy() if i % 2 else m.f(1.0, i) for i in range(4)]
    return each(same=lambda: m.f(t, t, _result="numpy"), loop=loop, ref=ref, alt=alternate, chain=lambda: m.f(m.two(t), 0.0)[0].to_numpy() if False else m.f(m.f(t, 1.0), m.f(t, 2.0), _result="numpy"), types=lambda: [m.f(1, 2), m.f(1.0, 2), m.f(True, 2), m.f(t, 1).shape, m.f([1.0, 2.0], 1).shape], self_=lambda: [m.acc(t, t), t.to_numpy()][1])


@case
def users_interfaces_and_conformances(spy, device):
    m = load(spy, device, """
import slangpy;
interface IOp { float run(float a); }
struct Add : IOp { float k; float run(float a) { return a + k; } };
struct Mul : IOp { float k; float run(float a) { return a * k; } };
float go(int kind, float k, float a) { IOp o = createDynamicObject<IOp>(kind, k); return o.run(a); }
float both(IOp x, IOp y, float a) { return x.run(y.run(a)); }
""")
    a, b = {"_type": "Add", "k": 2.0}, {"_type": "Mul", "k": 3.0}
    C = spy.TypeConformance
    return each(d=lambda: m.go.type_conformances([C("IOp", "Add", 0), C("IOp", "Mul", 1)])(1, 3.0, 5.0), dv=lambda: m.go.type_conformances([C("IOp", "Add", 0), C("IOp", "Mul", 1)])(np.array([0, 1], np.int32), 3.0, 5.0, _result="numpy"), sw=lambda: m.go.type_conformances([C("IOp", "Add", 1), C("IOp", "Mul", 0)])(1, 3.0, 5.0), tup=lambda: m.go.type_conformances([("IOp", "Add", 0), ("IOp", "Mul", 1)])(0, 3.0, 5.0), no=lambda: fails(m.go, 0, 1.0, 1.0), bad=lambda: fails(lambda: m.go.type_conformances([C("IOp", "Nope", 0)])(0, 1.0, 1.0)), both=lambda: m.both(a, b, 1.0), bothv=lambda: m.both(b, a, random(3), _result="numpy"), sp=lambda: m.both({"_type": "Add", "k": random(3)}, b, 1.0, _result="numpy"))


@case
def users_constants_and_prelude(spy, device):
    m = load(spy, device, "import slangpy;\nextern static const int N = 2;\nextern static const float2 V = float2(1, 2);\nextern static const bool B = true;\nextern static const uint U = 5;\nfloat f() { return N + V.y * 10 + (B ? 100 : 0) + U * 1000; }\nextern struct Cfg : ICfg = Dflt;\ninterface ICfg { static int get(); }\nstruct Dflt : ICfg { static int get() { return 1; } };\nint g() { return Cfg::get(); }")
    return each(d=lambda: m.f(), n=lambda: m.f.constants({"N": 3})(), v=lambda: m.f.constants({"V": spy.float2(5, 6)})(), b=lambda: m.f.constants({"B": False})(), u=lambda: m.f.constants({"U": 7})(), all=lambda: m.f.constants({"N": 1, "B": False})(), g=lambda: m.g(), pre=lambda: m.f.prelude("export static const int N = 9;")(), bad=lambda: error(lambda: m.f.constants({"N": "x"})()), none=lambda: error(lambda: m.f.constants(None)()), again=lambda: [m.f.constants({"N": i})() for i in (1, 2, 1)])


@case
def users_uniform_structs(spy, device):
    m = load(spy, device, """
import slangpy;
struct Cam { float3 pos; float fov; float4x4 view; }
struct Scene { Cam cam; int n; StructuredBuffer<float> w; }
ParameterBlock<Scene> scene; uniform float scale; RWStructuredBuffer<float> sink; Texture2D<float> tex; uniform float3 color; uniform int2 pair[2];
float a(int i) { return scene.w[i] * scene.n + scene.cam.fov; }
float b(float x) { return x * scale + color.y + pair[1].x; }
void c(int i) { sink[i] = scale * i; }
float d(int2 p) { return tex[p]; }
""")
    w = device.create_buffer(data=random(4), struct_size=4, usage=rw(spy))
    s = device.create_buffer(data=np.zeros(4, np.float32), struct_size=4, usage=rw(spy))
    return each(a=lambda: m.a.set({"scene": {"cam": {"fov": 0.5}, "n": 3, "w": w}})(np.arange(4, dtype=np.int32), _result="numpy"), b=lambda: m.b.set(scale=2.0, color=spy.float3(1, 2, 3), pair=[spy.int2(1, 2), spy.int2(3, 4)])(5.0), b2=lambda: m.b.set({"scale": 2, "color": [1, 2, 3]})(5.0), c=lambda: [m.c.set(sink=s, scale=3.0)(spy.grid((4,))), s.to_numpy().view(np.float32)][1], cb=lambda: m.b.set(lambda f: {"scale": 4.0})(1.0), wr=lambda: m.b.write(lambda c: c.write({"scale": 5.0, "color": spy.float3(0, 1, 0)}))(1.0), two=lambda: m.b.set(scale=1.0).set(color=spy.float3(9, 9, 9))(1.0), t=lambda: m.b.set(scale=spy.float3(1))(1.0) if False else 0, ten=lambda: m.a.set({"scene": {"n": 1, "w": spy.Tensor.from_numpy(device, random(4))}})(1) if False else 0)


@case
def users_float_texts(spy, device):
    t = spy.Tensor.from_numpy(device, np.array([[1.5, 2.25], [1e-8, 1e10]], np.float32))
    return each(s=lambda: str(t), r=lambda: repr(t), v=lambda: str(spy.float3(0.1, 1e-7, 123456789)), h=lambda: str(spy.float16_t3(0.1, 1, 2)), m=lambda: repr(spy.float2x2([0.1, 1, 2, 3])), sh=lambda: f"{t.shape} {t.dtype}", b=lambda: str(spy.bool2(True, False)), q=lambda: str(spy.quatf()), i=lambda: str(spy.int2(-1, 2)), f=lambda: f"{spy.float2(1, 2)!r:>10}")
