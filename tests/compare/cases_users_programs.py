"""Whole small programs of users, each in the way that one finds in tutorials: simulations, images, training loops, tools."""
import os
import tempfile

import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case
def users_program_saxpy_many_ways(spy, device):
    m = load(spy, device, "import slangpy;\nfloat saxpy(float a, float x, float y) { return a * x + y; }")
    x, y = random(64), random(64, seed=2)
    tx, ty = spy.Tensor.from_numpy(device, x), spy.Tensor.from_numpy(device, y)
    out = spy.Tensor.empty_like(tx)
    m.saxpy(2.0, tx, ty, _result=out)
    return each(a=lambda: m.saxpy(2.0, x, y, _result="numpy"), b=lambda: out, c=lambda: m.saxpy(a=2.0, x=tx, y=1.0, _result="numpy"), d=lambda: m.saxpy(tx, 2.0, ty).to_numpy(), e=lambda: bool(np.allclose(out.to_numpy(), 2 * x + y)), f=lambda: m.saxpy.return_type(np.ndarray)(2.0, tx, ty))


@case
def users_program_image_filter(spy, device):
    m = load(spy, device, """
import slangpy;
float3 gray(float3 c) { return float3(dot(c, float3(0.3, 0.59, 0.11))); }
float3 tone(float3 c, float exposure) { c *= exposure; return c / (1 + c); }
float4 checker(int2 p, int size) { return ((p.x / size + p.y / size) & 1) != 0 ? float4(1) : float4(0, 0, 0, 1); }
float3 blur(int2 p, Tensor<float3, 2> image) { float3 s = 0; for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) { int2 q = clamp(p + int2(dx, dy), int2(0), int2(image.shape[1] - 1, image.shape[0] - 1)); s += image[q]; } return s / 9; }
float vignette(int2 p, int2 size) { float2 d = (p + 0.5) / size - 0.5; return 1 - dot(d, d); }
float3 scaled(float3 c, float s) { return c * s; }
""")
    img = random(6, 8, 3)
    t = spy.Tensor.empty(device, (6, 8), "float3")
    t.copy_from_numpy(img)
    tex = device.create_texture(format=spy.Format.rgba32_float, width=8, height=6, usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    return each(g=lambda: m.gray(img, _result="numpy"), t=lambda: m.tone(t, 2.0, _result="numpy"), ch=lambda: [m.checker(spy.call_id(), 2, _result=tex), tex.to_numpy()][1], bl=lambda: m.blur(spy.grid((6, 8)), t, _result="numpy"), v=lambda: m.scaled(t, m.vignette(spy.grid((6, 8)), spy.int2(8, 6)), _result="numpy"), bl2=lambda: m.blur(spy.call_id(), t, _result=spy.Tensor.empty(device, (6, 8), "float3")), tx=lambda: m.gray.map("float3")(img, _result="texture").format if False else 0)


@case
def users_program_texture_round(spy, device):
    m = load(spy, device, """
import slangpy;
float4 invert(float4 c) { return float4(1 - c.xyz, c.w); }
float red(float4 c) { return c.x; }
void paint(int2 p, RWTexture2D<float4> t, float4 c) { t[p] = c; }
float4 fetch(int2 p, Texture2D<float4> t) { return t[p]; }
float4 sample(float2 uv, Texture2D<float4> t, SamplerState s) { return t.SampleLevel(s, uv, 0); }
""")
    u = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    a = random(4, 6, 4)
    t = device.create_texture(format=spy.Format.rgba32_float, width=6, height=4, usage=u, data=a)
    o = device.create_texture(format=spy.Format.rgba32_float, width=6, height=4, usage=u)
    s = device.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    return each(i=lambda: m.invert(t, _result="numpy"), o=lambda: [m.invert(t, _result=o), o.to_numpy()][1], r=lambda: m.red(t, _result="numpy"), tx=lambda: m.invert(t, _result="texture"), p=lambda: [m.paint(spy.grid((2, 2)), o, spy.float4(1, 2, 3, 4)), o.to_numpy()][1], f=lambda: m.fetch(spy.grid((4, 6)), t, _result="numpy"), sm=lambda: m.sample(random(5, 2), t, s, _result="numpy"), cp=lambda: [t.copy_from_numpy(a * 2), t.to_numpy()][1], bad=lambda: error(t.copy_from_numpy, random(3, 3, 4)), props=lambda: [t.width, t.height, t.depth, t.format, t.type, t.mip_count, t.array_length, t.layer_count], half=lambda: fails(m.invert, device.create_texture(format=spy.Format.rg32_float, width=2, height=2, usage=u)), bm=lambda: np.array(t.to_bitmap())[0, 0])


@case
def users_program_particles(spy, device):
    m = load(spy, device, """
import slangpy;
struct Particle { float2 p; float2 v;
  [mutating] void update(float dt, float g) { v.y -= g * dt; p += v * dt; if (p.y < 0) { p.y = -p.y; v.y = -v.y; } }
  float energy(float g) { return 0.5 * dot(v, v) + g * p.y; } };
Particle spawn(int i) { Particle q; q.p = float2(i, 1); q.v = float2(1, i); return q; }
""")
    t = spy.Tensor.empty(device, (5,), m.Particle)
    m.spawn(spy.call_id(), _result=t)
    inst = spy.InstanceTensor(m.Particle, (5,), t)
    for _ in range(10):
        inst.update(0.1, 9.8)
    e = inst.energy(9.8, _result="numpy")
    raw = t.to_numpy().view(np.float32).reshape(5, 4)
    soa = spy.InstanceList(m.Particle, {"p": spy.Tensor.zeros(device, (5,), "float2"), "v": spy.float2(1, 2)})
    return each(e=lambda: e, raw=lambda: raw, soa=lambda: [soa.update(0.5, 1.0), soa.p.to_numpy(), soa.v][1], cur=lambda: [t.cursor()[i].p.read() for i in range(5)], one=lambda: m.Particle.energy(t[2], 1.0, _result="numpy"))


@case
def users_program_life(spy, device):
    m = load(spy, device, """
import slangpy;
int step(int2 p, Tensor<int, 2> b) { int n = 0; int h = b.shape[0]; int w = b.shape[1]; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) if (x != 0 || y != 0) n += b[(p.y + y + h) % h, (p.x + x + w) % w]; return n == 3 || (n == 2 && b[p] != 0) ? 1 : 0; }
""")
    start = (random(8, 8) > 0.6).astype(np.int32)
    a = spy.Tensor.from_numpy(device, start)
    b = spy.Tensor.empty_like(a)
    for _ in range(4):
        m.step(spy.call_id(), a, _result=b)
        a, b = b, a
    return a.to_numpy()


@case
def users_program_histogram_and_sort(spy, device):
    m = load(spy, device, """
import slangpy;
void count(float v, AtomicTensor<int, 1> h) { h.add(int(v * 8), 1); }
void count2(float v, RWStructuredBuffer<int> h) { InterlockedAdd(h[int(v * 8)], 1); }
void swap(int i, RWTensor<float, 1> t, int odd) { int a = 2 * i + odd; if (a + 1 < (int)t.shape[0] && t[a] > t[a + 1]) { float x = t[a]; t[a] = t[a + 1]; t[a + 1] = x; } }
""")
    v = random(200)
    b = device.create_buffer(element_count=8, struct_size=4, data=np.zeros(8, np.int32), usage=rw(spy))
    s = spy.Tensor.from_numpy(device, random(9))
    def sort():
        for i in range(9):
            m.swap(spy.grid((4,)), s, i % 2)
        return s.to_numpy()
    return each(h2=lambda: [m.count2(v, b), b.to_numpy().view(np.int32)][1], sort=sort)


@case
def users_program_prefix_and_reduce(spy, device):
    m = load(spy, device, """
import slangpy;
float row_sum(Tensor<float, 1> r) { float s = 0; for (uint i = 0; i < r.shape[0]; i++) s += r[i]; return s; }
float row_max(ITensor<float, 1> r) { float s = -1e9; for (uint i = 0; i < r.shape[0]; i++) s = max(s, r.load(i)); return s; }
void scan(RWTensor<float, 1> r) { for (uint i = 1; i < r.shape[0]; i++) r[i] = r[i] + r[i - 1]; }
float whole(Tensor<float, 2> t) { float s = 0; for (uint i = 0; i < t.shape[0]; i++) for (uint j = 0; j < t.shape[1]; j++) s += t[i, j]; return s; }
float matmul(int2 p, Tensor<float, 2> a, Tensor<float, 2> b) { float s = 0; for (uint k = 0; k < a.shape[1]; k++) s += a[p.y, k] * b[k, p.x]; return s; }
""")
    a, b = random(4, 6), random(6, 3, seed=3)
    ta, tb = spy.Tensor.from_numpy(device, a), spy.Tensor.from_numpy(device, b)
    return each(rs=lambda: m.row_sum(ta, _result="numpy"), rm=lambda: m.row_max(ta, _result="numpy"), sc=lambda: [m.scan(ta), ta.to_numpy()][1], w=lambda: m.whole(ta), mm=lambda: m.matmul(spy.grid((4, 3)), ta, tb, _result="numpy"), tr=lambda: m.whole(ta[1:3]), one=lambda: m.row_sum(ta[2]), np=lambda: fails(m.row_sum, a, _result="numpy"))


@case
def users_program_sdf_scene(spy, device):
    m = load(spy, device, """
import slangpy;
interface ISdf { float eval(float3 p); }
struct Sphere : ISdf { float3 c; float r; float eval(float3 p) { return length(p - c) - r; } };
struct Box : ISdf { float3 c; float3 h; float eval(float3 p) { float3 q = abs(p - c) - h; return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0); } };
float distance<T : ISdf>(T s, float3 p) { return s.eval(p); }
float both<A : ISdf, B : ISdf>(A a, B b, float3 p) { return min(a.eval(p), b.eval(p)); }
float any(ISdf s, float3 p) { return s.eval(p); }
""")
    p = random(5, 3)
    sp, bx = {"_type": "Sphere", "c": [0, 0, 0], "r": 0.5}, {"_type": "Box", "c": [1, 1, 1], "h": [0.2, 0.2, 0.2]}
    return each(s=lambda: m.distance(sp, p, _result="numpy"), b=lambda: m.distance(bx, p, _result="numpy"), both=lambda: m.both(sp, bx, p, _result="numpy"), any=lambda: m.any(sp, p, _result="numpy"), many=lambda: m.distance({"_type": "Sphere", "c": random(4, 3), "r": 0.5}, spy.float3(0), _result="numpy"), meth=lambda: m.Sphere.eval(sp, p, _result="numpy"), spec=lambda: m["distance<Box>"](bx, p, _result="numpy"), bad=lambda: fails(m.distance, {"c": [0, 0, 0], "r": 1.0}, p))


@case
def users_program_fit_line(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float line(float a, float b, float x) { return a * x + b; }
[Differentiable] float loss(float a, float b, no_diff float x, no_diff float y) { float d = line(a, b, x) - y; return d * d; }
void adam(inout float p, float g, inout float m, inout float v, float lr, int t) { m = 0.9 * m + 0.1 * g; v = 0.999 * v + 0.001 * g * g; float mh = m / (1 - pow(0.9, t)); float vh = v / (1 - pow(0.999, t)); p -= lr * mh / (sqrt(vh) + 1e-8); }
void sgd(inout float p, float g, float lr) { p -= lr * g; }
""")
    x = random(32)
    y = 3 * x + 0.5
    a = spy.Tensor.from_numpy(device, np.zeros(1, np.float32)).with_grads()
    b = spy.Tensor.from_numpy(device, np.zeros(1, np.float32)).with_grads()
    l = spy.Tensor.zeros(device, (32,), "float").with_grads()
    def steps():
        for _ in range(20):
            a.grad.clear()
            b.grad.clear()
            l.grad_in.copy_from_numpy(np.full(32, 1 / 32, np.float32))
            m.loss.bwds(a, b, x, y, _result=l)
            m.sgd(a, a.grad, 0.5)
            m.sgd(b, b.grad, 0.5)
        return a.to_numpy(), b.to_numpy()
    def adam():
        p, g = spy.Tensor.from_numpy(device, random(4)), spy.Tensor.from_numpy(device, random(4, seed=5))
        mm, v = spy.Tensor.zeros_like(p), spy.Tensor.zeros_like(p)
        for t in range(1, 4):
            m.adam(p, g, mm, v, 0.1, t)
        return p.to_numpy()
    return each(adam=adam, loss=lambda: m.loss(0.0, 0.0, x, y, _result="numpy"))


@case
def users_program_entry_points(spy, device):
    program = device.load_program("users_ep", ["main"], "RWStructuredBuffer<uint> o; [shader(\"compute\")] [numthreads(4, 1, 1)] void main(uint3 t : SV_DispatchThreadID) { o[t.x] = t.x * t.x; }") if False else None
    s = device.load_module_from_source("users_ep", """
RWStructuredBuffer<uint> o;
struct P { uint k; float2 f; }
ConstantBuffer<P> cb;
[shader("compute")] [numthreads(4, 1, 1)] void main(uint3 t : SV_DispatchThreadID) { o[t.x] = t.x * t.x * cb.k; }
[shader("compute")] [numthreads(4, 1, 1)] void with_args(uint3 t : SV_DispatchThreadID, uniform uint add, uniform P p) { o[t.x] = t.x + add + p.k; }
""")
    b = device.create_buffer(element_count=8, struct_size=4, data=np.zeros(8, np.uint32), usage=rw(spy))
    k1, k2 = [device.create_compute_kernel(device.link_program([s], [s.entry_point(n)])) for n in ("main", "with_args")]
    val = lambda: b.to_numpy().view(np.uint32)
    def encoder():
        e = device.create_command_encoder()
        with e.begin_compute_pass() as p:
            c = spy.ShaderCursor(p.bind_pipeline(device.create_compute_pipeline(k1.program)))
            c.o = b
            c.cb.k = 5
            p.dispatch([8, 1, 1])
        device.submit_command_buffer(e.finish())
        return val()
    def root():
        e = device.create_command_encoder()
        r = device.create_root_shader_object(k1.program)
        c = spy.ShaderCursor(r)
        c["o"] = b
        c["cb"]["k"] = 7
        with e.begin_compute_pass() as p:
            p.bind_pipeline(device.create_compute_pipeline(k1.program), r)
            p.dispatch(thread_count=[8, 1, 1])
        device.submit_command_buffer(e.finish())
        return val()
    return each(a=lambda: [k1.dispatch([8, 1, 1], vars={"o": b, "cb": {"k": 2}}), val()][1], b=lambda: [k2.dispatch([8, 1, 1], vars={"o": b}, add=3, p={"k": 10}), val()][1], kw=lambda: [k2.dispatch(thread_count=spy.uint3(8, 1, 1), vars={"o": b}, add=4), val()][1], enc=encoder, root=root, many=lambda: len(s.entry_points), refl=lambda: list(k1.program.layout.entry_points[0].compute_thread_group_size))


@case
def users_program_bindings_by_cursor(spy, device):
    s = device.load_module_from_source("users_cur", """
struct Light { float3 c; float i; };
struct Scene { Light lights[3]; uint n; float4x4 view; float2 arr[2]; bool on; };
ConstantBuffer<Scene> scene; RWStructuredBuffer<float> o;
[shader("compute")] [numthreads(1, 1, 1)] void main() { o[0] = scene.lights[1].c.y; o[1] = scene.lights[2].i; o[2] = scene.n; o[3] = scene.view[1][2]; o[4] = scene.arr[1].x; o[5] = scene.on ? 1 : 0; }
""")
    b = device.create_buffer(element_count=8, struct_size=4, data=np.zeros(8, np.float32), usage=rw(spy))
    p = device.link_program([s], [s.entry_point("main")])
    k = device.create_compute_kernel(p)
    val = lambda: b.to_numpy().view(np.float32)
    def vars_():
        k.dispatch([1, 1, 1], vars={"o": b, "scene": {"lights": [{"c": [1, 2, 3], "i": 4.0}, {"c": [5, 6, 7], "i": 8.0}, {"c": [9, 10, 11], "i": 12.0}], "n": 3, "view": spy.float4x4(np.arange(16, dtype=np.float32).reshape(4, 4)), "arr": [[1, 2], [3, 4]], "on": True}})
        return val()
    def cursor():
        e = device.create_command_encoder()
        with e.begin_compute_pass() as ps:
            c = spy.ShaderCursor(ps.bind_pipeline(device.create_compute_pipeline(p)))
            c.o = b
            c.scene.lights[1].c = spy.float3(1, 22, 3)
            c.scene.lights[2]["i"] = 33
            c.scene.n = 44
            c.scene.view = spy.float4x4.identity()
            c.scene.arr[1] = spy.float2(55, 0)
            c.scene.on = False
            ps.dispatch([1, 1, 1])
        device.submit_command_buffer(e.finish())
        return val()
    return each(v=vars_, c=cursor, has=lambda: (lambda c: [c.has_field("scene"), c.has_field("nope"), c.find_field("scene").is_valid(), c.find_field("nope").is_valid()])(spy.ShaderCursor(device.create_root_shader_object(p))))


@case
def users_program_files_and_includes(spy, device):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "ulib.slang"), "w") as f:
        f.write("module ulib;\npublic struct Pair { public float a; public float b; public __init(float x, float y) { a = x; b = y; } public float sum() { return a + b; } };\npublic float twice(float a) { return 2 * a; }\n")
    with open(os.path.join(folder, "uinc.slangh"), "w") as f:
        f.write("#define SCALE 4\nfloat included(float a) { return a * SCALE; }\n")
    with open(os.path.join(folder, "umain.slang"), "w") as f:
        f.write('import ulib;\n#include "uinc.slangh"\nfloat go(float a) { Pair p = Pair(a, 1); return twice(p.sum()) + included(a); }\nfloat pair_sum(Pair p) { return p.sum(); }\n')
    dev = spy.create_device(type=device.info.type, include_paths=[folder]) if device.info.type != getattr(spy.DeviceType, "cpu", None) else None
    session = device.create_slang_session(compiler_options={"include_paths": [folder]})
    m = spy.Module(session.load_module("umain"))
    return each(go=lambda: m.go(3.0), arr=lambda: m.go(random(3), _result="numpy"), pair=lambda: m.pair_sum({"a": 1.0, "b": 2.0}), pairs=lambda: m.Pair.sum({"a": random(3), "b": 1.0}, _result="numpy") if m.find_struct("Pair") else None, path=lambda: spy.Module.load_from_file(device, os.path.join(folder, "umain.slang")).go(3.0), st=lambda: m.find_struct("Nope"))


@case
def users_program_operators(spy, device):
    m = load(spy, device, """
import slangpy;
struct C { float re; float im; }
C operator*(C a, C b) { C r; r.re = a.re * b.re - a.im * b.im; r.im = a.re * b.im + a.im * b.re; return r; }
C mul_c(C a, C b) { return a * b; }
float mag(C c) { return sqrt(c.re * c.re + c.im * c.im); }
C polar(float r, float t) { C c; c.re = r * cos(t); c.im = r * sin(t); return c; }
int mandel(float2 p) { float2 z = 0; int n = 0; while (n < 20 && dot(z, z) < 4) { z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + p; n++; } return n; }
""")
    return each(one=lambda: m.mul_c({"re": 1.0, "im": 2.0}, {"re": 3.0, "im": 4.0}), mag=lambda: m.mag(m.polar(2.0, 0.5)), arr=lambda: m.mag(m.polar(random(4), random(4)), _result="numpy"), chain=lambda: m.mag(m.mul_c(m.polar(random(3), 0.5), {"re": 0.0, "im": 1.0}), _result="numpy"), t=lambda: m.polar(random(3), 0.1).dtype.full_name, man=lambda: m.mandel(np.stack(np.meshgrid(np.linspace(-2, 1, 7), np.linspace(-1, 1, 5)), -1).astype(np.float32), _result="numpy"))


@case
def users_program_devices(spy, device):
    t = device.info.type
    cpu = t == getattr(spy.DeviceType, "cpu", None)
    if cpu:
        return each(desc=lambda: type(device.desc).__name__, lim=lambda: type(device.info.limits).__name__)
    return each(desc=lambda: type(device.desc).__name__, lim=lambda: type(device.info.limits).__name__)


@case
def users_program_timing(spy, device):
    pool = device.create_query_pool(spy.QueryType.timestamp, 4)
    def go():
        e = device.create_command_encoder()
        e.write_timestamp(pool, 0)
        e.write_timestamp(pool, 1)
        device.submit_command_buffer(e.finish())
        device.wait()
        a, b = pool.get_results(0, 2)
        return b >= a, type(a).__name__, type(pool.get_timestamp_result(0)).__name__, len(pool.get_timestamp_results(0, 2))
    return each(go=lambda: fails(go), c=lambda: pool.desc.count, t=lambda: pool.desc.type, f=lambda: device.create_fence({"initial_value": 3}).current_value, f2=lambda: device.create_fence(initial_value=4).signaled_value)


@case
def users_program_error_texts(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a, float3 b) { return a + b.x; }\nstruct S { float x; }\nfloat g(S s) { return s.x; }")
    def text(f, *words):
        try:
            f()
        except Exception as e:
            return [w in str(e) for w in words]
        return "no error"
    return each(shape=lambda: text(lambda: m.f(random(3), random(4, 3)), "hape"), few=lambda: text(lambda: m.f(1.0), "b"), name=lambda: text(lambda: m.f(1.0, c=spy.float3(1)), "c"), attr=lambda: text(lambda: m.nope, "nope"), field=lambda: text(lambda: m.g({"q": 1}), "q"), typ=lambda: text(lambda: m.g({"_type": "Nope", "x": 1}), "Nope"), comp=lambda: text(lambda: spy.Module.load_from_source(device, "users_bad", "float f() { return nothing_there; }"), "nothing_there", "error"), file=lambda: text(lambda: spy.Module.load_from_file(device, "no_such_file.slang"), "no_such_file"))


@case
def users_program_interop_of_results(spy, device):
    m = load(spy, device, "import slangpy;\nfloat3 f(float a) { return float3(a, a * 2, a * 3); }\nfloat len(float3 v) { return length(v); }\nfloat add(float a, float b) { return a + b; }")
    r = m.f(random(4))
    return each(len=lambda: m.len(r, _result="numpy"), flat=lambda: m.add(r.to_numpy(), 1.0, _result="numpy"), it=lambda: [x.to_numpy() for x in r], idx=lambda: r[2].to_numpy(), pr=lambda: str(r), sc=lambda: m.add(m.len(r), m.len(r), _result="numpy"), npf=lambda: np.asarray(r.to_numpy()).sum() > 0, b=lambda: m.len(r[1]), v=lambda: m.len(m.f(2.0)), lst=lambda: m.len([1.0, 2.0, 2.0]), ft=lambda: spy.Tensor.from_numpy(device, r.to_numpy()).shape, ar=lambda: fails(lambda: np.array(r)))


@case
def users_program_hooks_into_calls(spy, device):
    m = load(spy, device, "import slangpy;\nuniform float k;\nfloat f(float a) { return a * k; }")
    from slangpy.core import function as fn
    names = [n for n in ("ENABLE_CALLDATA_CACHE", "Function", "FunctionNode", "FunctionNodeSet", "IThis") if hasattr(fn, n)]
    d = m.f.set(k=2.0).debug_build_call_data(random(4))
    return each(names=lambda: names, code=lambda: "f" in d.code, cd=lambda: d.call_dimensionality, vt=lambda: d.debug_only_bindings.args[0].vector_type.full_name, vm=lambda: list(d.debug_only_bindings.args[0].vector_mapping), cm=lambda: d.call_mode, same=lambda: m.f.set(k=3.0).debug_build_call_data(random(5)) is d, other=lambda: m.f.set(k=3.0).debug_build_call_data(1.0) is d, cb=lambda: m.f.set(lambda fun: {"k": 4.0})(2.0), wr=lambda: m.f.write(lambda c, x: setattr(c, "k", x), 5.0)(2.0))


@case
def users_program_custom_types(spy, device):
    m = load(spy, device, "import slangpy;\nfloat f(float a) { return a * 2; }\nfloat3 g(float3 a) { return a * 2; }\nstruct S { float x; float y; }\nfloat h(S s) { return s.x + s.y; }")
    class Celsius:
        def __init__(self, t):
            self.t = t
        def get_this(self):
            return self.t
    class Vec:
        def __init__(self, *v):
            self.v = v
        def get_this(self):
            return spy.float3(*self.v)
    class Pt:
        def __init__(self, x, y):
            self.x, self.y = x, y
        def get_this(self):
            return {"x": self.x, "y": self.y}
    return each(c=lambda: m.f(Celsius(3.0)), ca=lambda: m.f(Celsius(random(3)), _result="numpy"), v=lambda: m.g(Vec(1, 2, 3)), p=lambda: m.h(Pt(1.0, 2.0)), pa=lambda: m.h(Pt(random(3), 2.0), _result="numpy"), nest=lambda: m.h({"x": Celsius(1.0), "y": 2.0}), bad=lambda: fails(m.f, object()))
