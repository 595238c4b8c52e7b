"""Programs of other users, third set: whole small scripts."""
import math

import numpy as np

from cases import case, each, error, fails, load, random


def vec(spy, device, x, dtype="float3"):
    t = spy.Tensor.empty(device, x.shape[:-1], dtype)
    t.copy_from_numpy(np.ascontiguousarray(x))
    return t


@case
def users3_program_heat_equation(spy, device):
    m = load(spy, device, """
import slangpy;
float step(int2 p, Tensor<float, 2> t, float k) { int h = t.shape[0], w = t.shape[1]; if (p.x == 0 || p.y == 0 || p.x == w - 1 || p.y == h - 1) return t[p.y, p.x];
  return t[p.y, p.x] + k * (t[p.y, p.x + 1] + t[p.y, p.x - 1] + t[p.y + 1, p.x] + t[p.y - 1, p.x] - 4 * t[p.y, p.x]); }
void reduce(int i, Tensor<float, 2> t, AtomicTensor<float, 1> s) { s.add(0, t[i / int(t.shape[1]), i % int(t.shape[1])]); }
""")
    a = np.zeros((12, 16), np.float32)
    a[0, :] = 100
    x, y = spy.Tensor.from_numpy(device, a), spy.Tensor.empty(device, (12, 16), float)
    for _ in range(20):
        m.step(spy.call_id(), x, 0.2, _result=y)
        x, y = y, x
    s = spy.Tensor.zeros(device, (1,), "float")
    m.reduce(np.arange(192, dtype=np.int32), x, s)
    return [x.to_numpy(), s.to_numpy(), str(x[1, :3]), x.shape]


@case
def users3_program_bezier_and_bounds(spy, device):
    m = load(spy, device, """
import slangpy;
float2 bez(float t, float2 p[4]) { float u = 1 - t; return u * u * u * p[0] + 3 * u * u * t * p[1] + 3 * u * t * t * p[2] + t * t * t * p[3]; }
struct Box { float2 lo, hi; __init() { lo = 1e9; hi = -1e9; } [mutating] void grow(float2 p) { lo = min(lo, p); hi = max(hi, p); } float2 size() { return hi - lo; } };
Box bounds(Tensor<float2, 1> pts) { Box b; for (uint i = 0; i < pts.shape[0]; i++) b.grow(pts[i]); return b; }
float2 boxsize(Box b) { return b.size(); }
""")
    ctl = [spy.float2(0, 0), spy.float2(0, 1), spy.float2(1, 1), spy.float2(1, 0)]
    t = np.linspace(0, 1, 9, dtype=np.float32)
    pts = m.bez(t, ctl)
    many = random(3, 4, 2)
    b = m.bounds(pts)
    return each(pts=lambda: pts.to_numpy(), dt=lambda: pts.dtype.full_name, np_=lambda: m.bez.map((0,), ())(t, many[0], _result="numpy"), nested=lambda: m.bez(0.25, [[0, 0], [0, 1], [1, 1], [1, 0]]), b=lambda: b, size=lambda: m.boxsize(b), meth=lambda: m.Box.size(b), made=lambda: m.Box(), grid=lambda: m.bez.map((1,), (0,))(t, many, _result="numpy").shape)


@case
def users3_program_text_and_bits(spy, device):
    m = load(spy, device, """
import slangpy;
uint8_t rot13(uint8_t c) { if (c >= 97 && c <= 122) return uint8_t((c - 97 + 13) % 26 + 97); if (c >= 65 && c <= 90) return uint8_t((c - 65 + 13) % 26 + 65); return c; }
uint crc(uint x) { for (int i = 0; i < 8; i++) x = (x & 1) ? (x >> 1) ^ 0xEDB88320u : x >> 1; return x; }
uint2 pack64(uint64_t v) { return uint2(uint(v & 0xFFFFFFFFul), uint(v >> 32)); } uint64_t unpack64(uint2 v) { return uint64_t(v.x) | (uint64_t(v.y) << 32); }
uint bits(uint v) { return countbits(v) * 10000 + firstbithigh(v) * 100 + firstbitlow(v); } uint rev(uint v) { return reversebits(v); }
uint half2bits(float2 v) { return f32tof16(v.x) | (f32tof16(v.y) << 16); } float2 bits2half(uint v) { return float2(f16tof32(v & 0xFFFF), f16tof32(v >> 16)); }
uint fbits(float f) { return asuint(f); } float ubits(uint u) { return asfloat(u); }
""")
    text = np.frombuffer(b"Hello, SlangPy World! 123", np.uint8)
    u = np.uint32([1, 2, 255, 0x80000000, 0xDEADBEEF])
    return each(rot=lambda: bytes(m.rot13(text, _result="numpy")).decode(), back=lambda: bytes(m.rot13(m.rot13(text), _result="numpy")).decode(), crc=lambda: m.crc(np.arange(16, dtype=np.uint32), _result="numpy"), p64=lambda: m.pack64(np.uint64([1, 1 << 40, (1 << 64) - 1]), _result="numpy"), u64=lambda: m.unpack64(spy.uint2(5, 6)), u64v=lambda: m.unpack64(np.uint32([[1, 0], [0, 1], [7, 7]]), _result="numpy"), bits=lambda: m.bits(u, _result="numpy"), rev=lambda: m.rev(u, _result="numpy"), hb=lambda: m.half2bits(spy.float2(1.5, -2)), bh=lambda: m.bits2half(m.half2bits(spy.float2(1.5, -2))), fb=lambda: [m.fbits(1.0), m.ubits(0x3F800000), m.fbits(-0.0)], one=lambda: [m.rot13(65), m.crc(1), m.pack64(1 << 33), m.rev(1)])


@case
def users3_program_ray_marching(spy, device):
    m = load(spy, device, """
import slangpy;
struct Camera { float3 eye; float3x3 basis; float fov; float3 ray(float2 ndc) { return normalize(mul(basis, float3(ndc * tan(fov / 2), 1))); } };
interface ISdf { float dist(float3 p); };
struct Sphere : ISdf { float3 c; float r; float dist(float3 p) { return length(p - c) - r; } };
struct Box : ISdf { float3 c; float3 h; float dist(float3 p) { float3 q = abs(p - c) - h; return length(max(q, 0)) + min(max(q.x, max(q.y, q.z)), 0); } };
struct Hit { bool hit; float t; float3 n; int steps; };
Hit march<A : ISdf, B : ISdf>(int2 pix, int2 size, Camera cam, A a, B b) { Hit h; h.hit = false; h.t = 0; h.n = 0; h.steps = 0; float2 ndc = (float2(pix) + 0.5) / float2(size) * 2 - 1; float3 d = cam.ray(ndc);
  for (int i = 0; i < 48; i++) { float3 p = cam.eye + d * h.t; float s = min(a.dist(p), b.dist(p)); h.steps = i; if (s < 1e-3) { h.hit = true; h.n = normalize(p); break; } h.t += s; if (h.t > 20) break; } return h; }
float depth(Hit h) { return h.hit ? h.t : -1; } int steps(Hit h) { return h.steps; } float3 shade(Hit h, float3 l) { return h.hit ? max(dot(h.n, l), 0) : 0; }
""")
    cam = {"eye": [0, 0, -4], "basis": spy.float3x3.identity(), "fov": math.radians(60)}
    h = m.march(spy.grid((6, 8)), spy.int2(8, 6), cam, {"_type": "Sphere", "c": [-0.7, 0, 0], "r": 1.0}, {"_type": "Box", "c": [1, 0, 0], "h": [0.5, 0.5, 0.5]})
    return each(depth=lambda: m.depth(h, _result="numpy"), steps=lambda: m.steps(h, _result="numpy").sum().item() > 0, shade=lambda: m.shade(h, spy.float3(0, 0, -1), _result="numpy"), kind=lambda: [h.shape, h.dtype.name], first=lambda: sorted(h.cursor()[20].read()), swap=lambda: m.depth(m.march(spy.grid((2, 2)), spy.int2(2, 2), cam, {"_type": "Box", "c": [0, 0, 0], "h": [1, 1, 1]}, {"_type": "Box", "c": [0, 5, 0], "h": [1, 1, 1]}), _result="numpy"))


@case
def users3_program_sorting_network(spy, device):
    s = device.load_module_from_source("users3_sort", """
RWStructuredBuffer<float> data; uniform uint j; uniform uint k; uniform uint n;
[shader("compute")] [numthreads(32, 1, 1)] void bitonic(uint3 t : SV_DispatchThreadID) { uint i = t.x, l = i ^ j; if (i < n && l > i) { bool up = (i & k) == 0; float a = data[i], b = data[l]; if ((a > b) == up) { data[i] = b; data[l] = a; } } }
""")
    kernel = device.create_compute_kernel(device.link_program([s], [s.entry_point("bitonic")]))
    a = random(64, seed=11)
    b = device.create_buffer(element_count=64, struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource, data=a)
    e = device.create_command_encoder()
    k = 2
    while k <= 64:
        j = k // 2
        while j:
            kernel.dispatch([64, 1, 1], {"data": b, "j": j, "k": k, "n": 64}, e)
            j //= 2
        k *= 2
    i = device.submit_command_buffer(e.finish())
    device.wait_for_submit(i)
    return [bool((b.to_numpy().view(np.float32) == np.sort(a)).all()), kernel.pipeline.thread_group_size, b.size]


@case
def users3_program_markov_text(spy, device):
    m = load(spy, device, """
import slangpy;
struct Rng { uint s; __init(uint seed) { s = wang_hash(seed); } [mutating] float next() { s = wang_hash(s); return (s & 0xFFFFFF) / 16777216.0; } };
int walk(uint seed, Tensor<float, 2> p, int start, int steps) { Rng r = Rng(seed); int at = start; for (int i = 0; i < steps; i++) { float u = r.next(), acc = 0; for (uint j = 0; j < p.shape[1]; j++) { acc += p[at, int(j)]; if (u < acc) { at = int(j); break; } } } return at; }
void hist(int x, AtomicTensor<int, 1> h) { h.add(x, 1); }
""")
    p = spy.Tensor.from_numpy(device, np.float32([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]]))
    r = m.walk(spy.wang_hash(seed=3), p, 0, 12, _result=spy.Tensor.zeros(device, (200,), "int"))
    h = spy.Tensor.zeros(device, (3,), "int")
    m.hist(r, h)
    return [r.to_numpy()[:40], h.to_numpy(), m.walk(np.arange(4, dtype=np.uint32), p, np.int32([0, 1, 2, 0]), 5, _result="numpy")]


@case
def users3_program_poisson_fit(spy, device):
    m = load(spy, device, """
import slangpy;
struct Model : IDifferentiable { float2 c; float s; float a; [Differentiable] float eval(no_diff float2 x) { float2 d = (x - c) / s; return a * exp(-dot(d, d)); } };
[Differentiable] float loss(no_diff float2 x, no_diff float y, Model m) { float e = m.eval(x) - y; return e * e; }
void step(inout float p, inout float g, float lr) { p -= lr * g; g = 0; } void step2(inout float2 p, inout float2 g, float lr) { p -= lr * g; g = 0; }
""")
    n = 64
    x = random(n, 2, seed=5)
    y = np.exp(-(((x - [0.6, 0.4]) / 0.3) ** 2).sum(1)).astype(np.float32) * 2
    X, Y = vec(spy, device, x, "float2"), spy.Tensor.from_numpy(device, y)
    p = {"c": vec(spy, device, np.float32([[0.5, 0.5]]), "float2").with_grads(), "s": spy.Tensor.from_numpy(device, np.float32([0.4])).with_grads(), "a": spy.Tensor.from_numpy(device, np.float32([1.0])).with_grads()}
    first = float(m.loss(X, Y, p, _result="numpy").mean())
    out = spy.Tensor.zeros(device, (n,), "float").with_grads()
    out.grad.copy_from_numpy(np.full(n, 1 / n, np.float32))
    for _ in range(15):
        m.loss.bwds(X, Y, p, out)
        m.step2(p["c"], p["c"].grad, 0.05)
        m.step(p["s"], p["s"].grad, 0.02)
        m.step(p["a"], p["a"].grad, 0.5)
    last = float(m.loss(X, Y, p, _result="numpy").mean())
    return [first, last, last < first, p["c"].to_numpy(), p["s"].to_numpy(), p["a"].to_numpy()]


@case
def users3_program_matrix_stack(spy, device):
    m = load(spy, device, """
import slangpy;
struct Node { float4x4 local; int parent; };
float4x4 world(int i, StructuredBuffer<Node> nodes) { float4x4 r = nodes[i].local; int p = nodes[i].parent; while (p >= 0) { r = mul(nodes[p].local, r); p = nodes[p].parent; } return r; }
float3 place(int i, StructuredBuffer<Node> nodes, float3 p) { return mul(world(i, nodes), float4(p, 1)).xyz; }
float det(float3x3 m) { return determinant(m); } float3x3 tr(float3x3 m) { return transpose(m); } float3x4 aff(float4x4 m) { return float3x4(m[0], m[1], m[2]); }
""")
    M = spy.math
    t = spy.Tensor.zeros(device, (3,), m.Node)
    c = t.cursor()
    c[0].write({"local": M.matrix_from_translation(spy.float3(1, 0, 0)), "parent": -1})
    c[1].write({"local": M.matrix_from_rotation_z(math.pi / 2), "parent": 0})
    c[2].write({"local": M.matrix_from_scaling(spy.float3(2, 2, 2)), "parent": 1})
    c.apply()
    i = np.arange(3, dtype=np.int32)
    host = M.mul(M.mul(M.matrix_from_translation(spy.float3(1, 0, 0)), M.matrix_from_rotation_z(math.pi / 2)), M.matrix_from_scaling(spy.float3(2, 2, 2)))
    return each(world=lambda: m.world(i, t, _result="numpy"), one=lambda: m.world(2, t.storage), host=lambda: host, place=lambda: m.place(i, t, spy.float3(1, 2, 3), _result="numpy"), det=lambda: [m.det(spy.float3x3([2, 0, 0, 0, 3, 0, 0, 0, 4])), M.determinant(spy.float3x3([2, 0, 0, 0, 3, 0, 0, 0, 4]))], tr=lambda: m.tr(spy.float3x3(np.arange(9).reshape(3, 3))), aff=lambda: m.aff(host), stack=lambda: m.det(np.stack([np.eye(3, dtype=np.float32) * k for k in (1, 2, 3)]), _result="numpy"))


@case
def users3_program_ensemble_of_modules(spy, device):
    out = []
    for name, body in {"sine": "sin(x)", "square": "x * x", "step": "x > 0.5 ? 1.0 : 0.0"}.items():
        m = load(spy, device, f"import slangpy;\nfloat {name}(float x) {{ return {body}; }}\nfloat apply(float x) {{ return {name}(x) + 1; }}\n")
        out.append([m[name](0.25), m.apply(np.float32([0, 0.25, 0.75]), _result="numpy"), name, m.find_function(name).name, len([f for f in ("sine", "square", "step") if m.find_function(f)])])
    return out


@case
def users3_program_voxels_and_indices(spy, device):
    m = load(spy, device, """
import slangpy;
int morton(int3 p) { int r = 0; for (int b = 0; b < 3; b++) r |= ((p.x >> b) & 1) << (3 * b) | ((p.y >> b) & 1) << (3 * b + 1) | ((p.z >> b) & 1) << (3 * b + 2); return r; }
bool inside(int3 p, float3 c, float r) { return distance(float3(p), c) < r; }
int neighbours(int3 p, Tensor<int, 3> v) { int n = 0; int3 s = int3(v.shape[2], v.shape[1], v.shape[0]); for (int a = 0; a < 3; a++) for (int d = -1; d <= 1; d += 2) { int3 q = p; q[a] += d; if (all(q >= 0) && all(q < s)) n += v[q.z, q.y, q.x]; } return n; }
int toint(bool b) { return b ? 1 : 0; }
""")
    g = spy.grid((4, 4, 4))
    solid = m.toint(m.inside(g, spy.float3(1.5), 2.0))
    return each(morton=lambda: m.morton(g, _result="numpy"), solid=lambda: solid.to_numpy(), total=lambda: int(solid.to_numpy().sum()), n=lambda: m.neighbours(g, solid, _result="numpy"), dt=lambda: [m.inside(g, spy.float3(0), 1.0).dtype.full_name, solid.dtype.full_name, solid.shape], off=lambda: m.morton(spy.grid((2, 2, 2), offset=(1, 1, 1)), _result="numpy"))


@case
def users3_program_audio_blocks(spy, device):
    m = load(spy, device, """
import slangpy;
static const float TAU = 6.2831853;
struct Voice { float freq; float gain; float phase; };
float synth(int i, Voice v, float rate) { return v.gain * sin(TAU * (v.freq * i / rate + v.phase)); }
float mix(int i, StructuredBuffer<Voice> vs, int n, float rate) { float r = 0; for (int k = 0; k < n; k++) r += synth(i, vs[k], rate); return tanh(r); }
float fir(int i, Tensor<float, 1> x, float taps[5]) { float r = 0; for (int k = 0; k < 5; k++) { int j = i - k; if (j >= 0) r += taps[k] * x[j]; } return r; }
int16_t pcm(float x) { return int16_t(clamp(x, -1, 1) * 32767); }
""")
    v = spy.Tensor.zeros(device, (3,), m.Voice)
    c = v.cursor()
    for i, (f, g) in enumerate(((440, 0.5), (660, 0.3), (880, 0.2))):
        c[i] = {"freq": float(f), "gain": g, "phase": 0.1 * i}
    c.apply()
    i = np.arange(64, dtype=np.int32)
    x = m.mix(i, v, 3, 8000.0)
    return each(one=lambda: m.synth(i[:5].copy(), {"freq": 440.0, "gain": 1.0, "phase": 0.25}, 8000.0, _result="numpy"), voices=lambda: m.synth.map((1,), (0,))(i[:4].copy(), v, 8000.0, _result="numpy"), mix=lambda: x.to_numpy()[:8], fir=lambda: m.fir(i, x, [0.2] * 5, _result="numpy")[:8], pcm=lambda: [m.pcm(x, _result="numpy").dtype.name, int(np.abs(m.pcm(x, _result="numpy")).max()) > 1000], read=lambda: [e.read() for e in v.cursor()], rng=lambda: m.mix(range(4), v, 3, 8000.0, _result="numpy"))


@case
def users3_program_dictionary_of_settings(spy, device):
    m = load(spy, device, """
import slangpy;
struct Fog { float3 color; float density; }; struct Sun { float3 dir; float3 color; int samples; bool on; }; struct Scene { Fog fog; Sun suns[2]; float exposure; float lut[4]; };
float3 shade(float3 n, float d, Scene s) { float3 r = 0; for (int i = 0; i < 2; i++) if (s.suns[i].on) r += s.suns[i].color * max(0, dot(n, s.suns[i].dir)); r = lerp(s.fog.color, r, exp(-d * s.fog.density)); return r * s.exposure * s.lut[int(d) & 3]; }
Scene defaults() { Scene s; s.fog.color = float3(0.5); s.fog.density = 0.1; for (int i = 0; i < 2; i++) { s.suns[i].dir = float3(0, 1, 0); s.suns[i].color = 1; s.suns[i].samples = 1; s.suns[i].on = i == 0; } s.exposure = 1; for (int i = 0; i < 4; i++) s.lut[i] = 1; return s; }
""")
    s = m.defaults()
    def changed():
        t = m.defaults()
        t["exposure"], t["suns"][1]["on"], t["fog"]["color"], t["lut"] = 2.0, True, spy.float3(1, 0, 0), [1, 2, 3, 4]
        return [m.shade(spy.float3(0, 1, 0), 1.0, t), m.shade(spy.float3(0, 1, 0), np.float32([0, 1, 2, 3]), t, _result="numpy")]
    def vectors():
        t = m.defaults()
        t["exposure"] = random(3)
        t["fog"]["density"] = random(2, 1)
        return m.shade(spy.float3(0, 1, 0), 1.0, t, _result="numpy")
    def partial():
        t = m.defaults()
        t["suns"] = [{"_type": "Sun", "dir": [0, 1, 0], "color": [1, 2, 3], "on": True}, {"_type": "Sun", "on": False}]
        return fails(m.shade, spy.float3(0, 1, 0), 1.0, t)
    return each(s=lambda: s, one=lambda: m.shade(spy.float3(0, 1, 0), 2.0, s), changed=changed, vectors=vectors, partial=partial, list_=lambda: fails(lambda: m.shade(spy.float3(0, 1, 0), 1.0, [s, s], _result="numpy")), tens=lambda: [t := spy.Tensor.zeros(device, (2,), m.Scene), c := t.cursor(), c[0].write(s), c[1].write({**s, "exposure": 3.0}), c.apply(), m.shade(spy.float3(0, 1, 0), 1.0, t, _result="numpy")][5], keys=lambda: [list(s), list(s["suns"][0]), type(s["suns"]).__name__, type(s["lut"][0]).__name__, type(s["fog"]["color"]).__name__, s["suns"][1]["on"]])


@case
def users3_program_prefix_sum_tree(spy, device):
    m = load(spy, device, "import slangpy;\nfloat pass_(int i, Tensor<float, 1> a, int d) { return i >= d ? a[i] + a[i - d] : a[i]; }\nfloat pick(int i, Tensor<float, 1> a) { return a[i]; }\nvoid scatter(int i, float v, RWTensor<float, 1> t) { t[int(t.shape[0]) - 1 - i] = v; }\n")
    a = np.arange(1, 17, dtype=np.float32)
    x, d = spy.Tensor.from_numpy(device, a), 1
    ids = np.arange(16, dtype=np.int32)
    while d < 16:
        x = m.pass_(ids, x, d)
        d *= 2
    r = spy.Tensor.zeros(device, (16,), "float")
    m.scatter(ids, x, r)
    return [x.to_numpy(), r.to_numpy(), m.pick(np.int32([[0, 15], [3, 7]]), x, _result="numpy"), m.pick(5, x), m.pick([0, 1, 2], x, _result="numpy"), float(x.to_numpy()[-1]) == a.sum()]
