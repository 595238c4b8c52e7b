"""Programs of other users, second set: whole small programs, as in a demo, a course or a paper's repository."""
import numpy as np

from cases import case, each, error, fails, load, random


def rw(spy):
    return spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access


@case
def users2_program_path_tracer(spy, device):
    m = load(spy, device, """
import slangpy;
struct Ray { float3 o; float3 d; };
struct Hit { float t; float3 n; int id; };
struct Sphere { float3 c; float r; float3 color; float emission; };
struct Rng { uint s; [mutating] float next() { s = s * 747796405u + 2891336453u; uint w = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u; w = (w >> 22u) ^ w; return float(w >> 8) / 16777216.0; } }
Hit trace(Ray ray, StructuredBuffer<Sphere> world, int n) {
  Hit h; h.t = 1e9; h.id = -1; h.n = 0;
  for (int i = 0; i < n; i++) { Sphere s = world[i]; float3 oc = ray.o - s.c; float b = dot(oc, ray.d), c = dot(oc, oc) - s.r * s.r, q = b * b - c; if (q > 0) { float t = -b - sqrt(q); if (t > 1e-3 && t < h.t) { h.t = t; h.id = i; h.n = normalize(oc + ray.d * t); } } }
  return h; }
float3 shade(int2 pixel, int2 size, StructuredBuffer<Sphere> world, int n, int bounces) {
  Rng rng; rng.s = uint(pixel.x + pixel.y * size.x) * 9781u + 1;
  Ray r; r.o = float3(0, 0, -3); r.d = normalize(float3((pixel.x + 0.5) / size.x * 2 - 1, 1 - (pixel.y + 0.5) / size.y * 2, 1.5));
  float3 light = 0, weight = 1;
  for (int k = 0; k < bounces; k++) { Hit h = trace(r, world, n); if (h.id < 0) { light += weight * (0.5 + 0.5 * r.d.y); break; } Sphere s = world[h.id]; light += weight * s.emission; weight *= s.color; r.o += r.d * h.t; float3 q = float3(rng.next(), rng.next(), rng.next()) * 2 - 1; r.d = normalize(h.n * 1.8 + q); }
  return light; }
""")
    lay = m.layout.find_type_by_name("StructuredBuffer<Sphere>").buffer_layout.reflection
    b = device.create_buffer(element_count=3, resource_type_layout=lay, usage=rw(spy))
    c = spy.BufferCursor(lay.element_type_layout, b)
    for i, (p, r, k, e) in enumerate([((0, 0, 0), 1, (0.8, 0.3, 0.3), 0), ((0, -101, 0), 100, (0.5, 0.5, 0.5), 0), ((1.5, 1, -0.5), 0.5, (1, 1, 1), 4)]):
        c[i].write({"c": p, "r": r, "color": k, "emission": e})
    c.apply()
    image = m.shade(spy.grid((12, 16)), spy.int2(16, 12), b, 3, 4, _result="numpy")
    return image.shape, image.mean(axis=(0, 1)), m.shade(spy.int2(3, 4), spy.int2(16, 12), b, 3, 1)


@case
def users2_program_sph_step(spy, device):
    m = load(spy, device, """
import slangpy;
static const float H = 0.2;
float kernel(float r) { float q = max(0, 1 - r / H); return q * q * q; }
float density(int i, StructuredBuffer<float2> x, int n) { float d = 0; for (int j = 0; j < n; j++) d += kernel(length(x[i] - x[j])); return d; }
float2 force(int i, StructuredBuffer<float2> x, StructuredBuffer<float> rho, int n) { float2 f = float2(0, -9.8); for (int j = 0; j < n; j++) { float2 d = x[i] - x[j]; float r = length(d); if (r > 1e-5 && r < H) f += d / r * (rho[i] + rho[j] - 2) * (1 - r / H); } return f; }
void move(inout float2 x, inout float2 v, float2 f, float dt) { v += f * dt; x += v * dt; if (x.y < 0) { x.y = -x.y; v.y *= -0.5; } }
""")
    n = 64
    x = spy.Tensor.zeros(device, (n,), "float2")
    x.copy_from_numpy(random(n, 2))
    v = spy.Tensor.zeros(device, (n,), "float2")
    ids = np.arange(n, dtype=np.int32)
    rho = spy.Tensor.zeros(device, (n,), "float")
    for _ in range(3):
        m.density(ids, x.storage, n, _result=rho)
        f = m.force(ids, x.storage, rho.storage, n)
        m.move(x, v, f, 0.01)
    return x, v.to_numpy().mean(axis=0), rho


@case
def users2_program_filters_with_borders(spy, device):
    m = load(spy, device, """
import slangpy;
enum Border { clamp, wrap, mirror, zero };
int at(int i, int n, int border) { if (border == 0) return clamp(i, 0, n - 1); if (border == 1) return (i % n + n) % n; if (border == 2) return i < 0 ? -i - 1 : i >= n ? 2 * n - i - 1 : i; return i; }
float3 blur(int2 p, Tensor<float3, 2> image, Tensor<float, 1> weights, int2 dir, int border) {
  int r = int(weights.shape[0]) / 2; float3 sum = 0;
  for (int k = -r; k <= r; k++) { int2 q = p + k * dir; q.x = at(q.x, int(image.shape[1]), border); q.y = at(q.y, int(image.shape[0]), border); if (q.x >= 0 && q.y >= 0 && q.x < image.shape[1] && q.y < image.shape[0]) sum += weights[k + r] * image[q.y, q.x]; }
  return sum; }
float sobel(int2 p, Tensor<float3, 2> image) { int2 s = int2(image.shape[1], image.shape[0]) - 1; float gx = 0, gy = 0; for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) { float v = dot(image[{ clamp(p.y + y, 0, s.y), clamp(p.x + x, 0, s.x) }], float3(0.3, 0.6, 0.1)); gx += v * x * (2 - abs(y)); gy += v * y * (2 - abs(x)); } return sqrt(gx * gx + gy * gy); }
float3 median(float3 a, float3 b, float3 c) { return max(min(a, b), min(max(a, b), c)); }
""")
    t = spy.Tensor.zeros(device, (6, 9), "float3")
    t.copy_from_numpy(random(6, 9, 3))
    w = spy.Tensor.from_numpy(device, np.array([1, 4, 6, 4, 1], np.float32) / 16)
    def blur(border):
        a = m.blur(spy.grid((6, 9)), t, w, spy.int2(1, 0), border, _result=spy.Tensor.zeros(device, (6, 9), "float3"))
        return m.blur(spy.grid((6, 9)), a, w, spy.int2(0, 1), border, _result="numpy")
    n = random(6, 9, 3)
    return each(clamp=lambda: blur(0), wrap=lambda: blur(1), mirror=lambda: blur(2), zero=lambda: blur(3), sobel=lambda: m.sobel(spy.grid((6, 9)), t, _result="numpy"), median=lambda: m.median(n[:, :-2], n[:, 1:-1], n[:, 2:], _result="numpy"), enum=lambda: m.Border.name)


@case
def users2_program_histogram_and_scan(spy, device):
    m = load(spy, device, """
import slangpy;
void count(float v, RWStructuredBuffer<uint> bins, int n) { uint b = min(uint(v * n), uint(n - 1)); InterlockedAdd(bins[b], 1); }
void step(int i, Tensor<int, 1> src, RWTensor<int, 1> dst, int d) { dst[i] = src[i] + (i >= d ? src[i - d] : 0); }
void bitonic(int i, RWTensor<float, 1> v, int j, int k) { int l = i ^ j; if (l > i) { float a = v[i], b = v[l]; if (((i & k) == 0) == (a > b)) { v[i] = b; v[l] = a; } } }
void atomic_max(float v, AtomicTensor<int, 1> t, int at) { t.add({ at }, int(v * 100)); }
groupshared float cache[64];
[shader("compute")] [numthreads(64, 1, 1)] void reduce(uint3 t : SV_DispatchThreadID, uint i : SV_GroupIndex, uint3 g : SV_GroupID, StructuredBuffer<float> src, RWStructuredBuffer<float> dst, uniform uint n) { cache[i] = t.x < n ? src[t.x] : 0; GroupMemoryBarrierWithGroupSync(); for (uint s = 32; s > 0; s >>= 1) { if (i < s) cache[i] += cache[i + s]; GroupMemoryBarrierWithGroupSync(); } if (i == 0) dst[g.x] = cache[0]; }
""")
    data = random(200)
    bins = device.create_buffer(element_count=10, struct_size=4, data=np.zeros(10, np.uint32), usage=rw(spy))
    def scan():
        n = 37
        a, b = spy.Tensor.from_numpy(device, np.arange(n, dtype=np.int32)), spy.Tensor.zeros(device, (n,), "int")
        d = 1
        while d < n:
            m.step(np.arange(n, dtype=np.int32), a, b, d)
            a, b, d = b, a, d * 2
        return a
    def sort():
        v = spy.Tensor.from_numpy(device, random(64))
        k = 2
        while k <= 64:
            j = k // 2
            while j:
                m.bitonic(np.arange(64, dtype=np.int32), v, j, k)
                j //= 2
            k *= 2
        return v, bool((np.diff(v.to_numpy()) >= 0).all())
    def reduce():
        src = device.create_buffer(data=data, struct_size=4, usage=rw(spy))
        dst = device.create_buffer(element_count=4, struct_size=4, usage=rw(spy))
        m.reduce.dispatch([256, 1, 1], src=src, dst=dst, n=200)
        return dst.to_numpy().view(np.float32), dst.to_numpy().view(np.float32).sum()
    def atomic():
        t = spy.Tensor.zeros(device, (3,), "int")
        m.atomic_max(data[:10].copy(), t, 1)
        return t
    return each(h=lambda: [m.count(data, bins, 10), bins.to_numpy().view(np.uint32)][1], scan=scan, sort=sort, reduce=reduce, atomic=atomic)


@case
def users2_program_monte_carlo(spy, device):
    m = load(spy, device, """
import slangpy;
float inside(float2 p) { return dot(p, p) < 1 ? 1 : 0; }
float inside3(float3 p) { return dot(p, p) < 1 ? 1 : 0; }
float f(float x) { return exp(-x * x); }
float2 gauss(float2 u) { float r = sqrt(-2 * log(max(u.x, 1e-7))); return r * float2(cos(6.2831853 * u.y), sin(6.2831853 * u.y)); }
uint dice(uint h) { return h % 6; }
""")
    n = 4096
    z = lambda t="float": spy.Tensor.zeros(device, (n,), t)
    return each(pi=lambda: 4 * m.inside(spy.rand_float(-1, 1, dim=2, seed=3), _result=z()).to_numpy().mean(), ball=lambda: 8 * m.inside3(spy.rand_float(-1, 1, dim=3, seed=4), _result=z()).to_numpy().mean(), integral=lambda: m.f(spy.rand_float(0, 2, seed=5), _result=z()).to_numpy().mean(), gauss=lambda: m.gauss(spy.rand_float(dim=2, seed=6), _result=z("float2")).to_numpy().std(axis=0), dice=lambda: np.bincount(m.dice(spy.wang_hash(seed=9), _result=z("uint")).to_numpy(), minlength=6), first=lambda: m.f(spy.rand_float(0, 2, seed=5), _result=z()).to_numpy()[:4], again=lambda: m.f(spy.rand_float(0, 2, seed=5), _result=z()).to_numpy()[:2], two_d=lambda: m.inside(spy.rand_float(dim=2), _result=spy.Tensor.zeros(device, (8, 8), "float")).to_numpy().sum())


@case
def users2_program_fractals_and_fields(spy, device):
    m = load(spy, device, """
import slangpy;
int mandel(float2 c, int limit) { float2 z = 0; int i = 0; for (; i < limit && dot(z, z) < 4; i++) z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c; return i; }
float2 coord(int2 p, int2 size, float2 lo, float2 hi) { return lerp(lo, hi, (float2(p) + 0.5) / float2(size)); }
int pixel(int2 p, int2 size, float2 lo, float2 hi) { return mandel(coord(p, size, lo, hi), 64); }
float sdf(float3 p) { float3 q = abs(p) - float3(0.5, 0.3, 0.4); return min(length(max(q, 0)) + min(max(q.x, max(q.y, q.z)), 0), length(p - float3(0, 0.6, 0)) - 0.3); }
float3 normal(float3 p) { float2 e = float2(1e-3, 0); return normalize(float3(sdf(p + e.xyy) - sdf(p - e.xyy), sdf(p + e.yxy) - sdf(p - e.yxy), sdf(p + e.yyx) - sdf(p - e.yyx))); }
float march(float2 uv) { float3 o = float3(uv, -2), d = float3(0, 0, 1); float t = 0; for (int i = 0; i < 40; i++) { float s = sdf(o + d * t); if (s < 1e-3) break; t += s; if (t > 4) return -1; } return t; }
""")
    return each(grid=lambda: m.pixel(spy.grid((8, 12)), spy.int2(12, 8), spy.float2(-2, -1), spy.float2(1, 1), _result="numpy"), mandel=lambda: m.mandel([-0.5, 0.5], 100), pts=lambda: m.mandel(random(5, 2), 50, _result="numpy"), coord=lambda: m.coord(spy.call_id(), spy.int2(4, 2), [0, 0], [1, 1], _result=spy.Tensor.zeros(device, (2, 4), "float2")), sdf=lambda: m.sdf(random(6, 3), _result="numpy"), normal=lambda: m.normal([0.6, 0.1, 0.0]), march=lambda: m.march(m.coord(spy.grid((5, 5)), spy.int2(5, 5), [-1, -1], [1, 1]), _result="numpy"))


@case
def users2_program_reaction_diffusion(spy, device):
    m = load(spy, device, """
import slangpy;
struct Params { float du; float dv; float f; float k; };
uniform Params params;
float2 lap(Tensor<float2, 2> s, int2 p) { int w = int(s.shape[1]), h = int(s.shape[0]); return s[p.y, (p.x + 1) % w] + s[p.y, (p.x + w - 1) % w] + s[(p.y + 1) % h, p.x] + s[(p.y + h - 1) % h, p.x] - 4 * s[p.y, p.x]; }
float2 react(int2 p, Tensor<float2, 2> s) { float2 a = s[p.y, p.x], l = lap(s, p); float r = a.x * a.y * a.y; return a + float2(params.du * l.x - r + params.f * (1 - a.x), params.dv * l.y + r - (params.f + params.k) * a.y); }
""")
    start = np.zeros((16, 16, 2), np.float32)
    start[..., 0] = 1
    start[6:10, 6:10, 1] = 0.5
    a = spy.Tensor.zeros(device, (16, 16), "float2")
    a.copy_from_numpy(start)
    b = spy.Tensor.zeros(device, (16, 16), "float2")
    f = m.react.set(params={"du": 0.16, "dv": 0.08, "f": 0.06, "k": 0.062})
    for _ in range(6):
        f(spy.call_id(), a, _result=b)
        a, b = b, a
    return a.to_numpy().sum(axis=(0, 1)), a.to_numpy()[7]


@case
def users2_program_splatting_fit(spy, device):
    m = load(spy, device, """
import slangpy;
struct Splat : IDifferentiable { float2 mean; float2 scale; float3 color; };
[Differentiable] float3 eval(no_diff float2 p, float2 mean, float2 scale, float3 color) { float2 d = (p - mean) * scale; return color * exp(-0.5 * dot(d, d)); }
[Differentiable] float loss(no_diff float2 p, float2 mean, float2 scale, float3 color, no_diff float3 target) { float3 d = eval(p, mean, scale, color) - target; return dot(d, d); }
void sgd(inout float x, float g, float rate) { x -= rate * g; }
""")
    ys, xs = np.mgrid[0:8, 0:8].astype(np.float32) / 8
    p = np.stack([xs, ys], -1).reshape(-1, 2)
    target = m.eval(p, spy.float2(0.5, 0.4), spy.float2(3, 4), spy.float3(1, 0.5, 0.2))
    def param(v):
        t = spy.Tensor.zeros(device, (1,), f"float{len(v)}").with_grads()
        t.copy_from_numpy(np.array(v, np.float32))
        return t
    mean, scale, color = param([0.3, 0.3]), param([2, 2]), param([0.5, 0.5, 0.5])
    losses = []
    for _ in range(5):
        out = m.loss(p, mean, scale, color, target).with_grads()
        losses.append(float(out.to_numpy().mean()))
        out.grad.copy_from_numpy(np.full(64, 1 / 64, np.float32))
        m.loss.bwds(p, mean, scale, color, target, out)
        for t in (mean, scale, color):
            x, g = t.to_numpy(), t.grad.to_numpy()
            t.copy_from_numpy((x - 0.5 * g).astype(np.float32))
            t.grad.clear()
    return losses, mean, scale, color


@case
def users2_program_sphere_fit(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float residual(no_diff float3 p, float3 c, float r) { float d = length(p - c) - r; return d * d; }
struct Adam { float m; float v; [mutating] float step(float g, int t) { m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * g; return 0.1 * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.99, t))) + 1e-8); } };
""")
    d = np.random.default_rng(3).normal(size=(40, 3))
    pts = (d / np.linalg.norm(d, axis=1, keepdims=True) * 2 + [1, 2, 3]).astype(np.float32)
    c, r = spy.Tensor.zeros(device, (1,), "float3").with_grads(), spy.Tensor.from_numpy(device, np.ones(1, np.float32)).with_grads()
    state = spy.Tensor.empty(device, (4,), m.Adam)
    state.clear()
    errors = []
    for i in range(1, 9):
        out = m.residual(pts, c, r).with_grads()
        errors.append(out.to_numpy().sum())
        out.grad.copy_from_numpy(np.ones(40, np.float32))
        m.residual.bwds(pts, c, r, out)
        g = np.concatenate([c.grad.to_numpy().reshape(-1), r.grad.to_numpy()])
        s = m.Adam.step(state, g, i, _result="numpy")
        c.copy_from_numpy(c.to_numpy() - s[:3]), r.copy_from_numpy(r.to_numpy() - s[3:])
        c.grad.clear(), r.grad.clear()
    return errors, c, r


@case
def users2_program_neural_field(spy, device):
    m = load(spy, device, """
import slangpy;
struct Layer<let I : int, let O : int> { RWDiffTensor<float, 2> w; RWDiffTensor<float, 1> b; };
[Differentiable] float relu(float x) { return max(x, 0.01 * x); }
[Differentiable] float[8] hidden(float2 x, DiffTensor<float, 2> w, DiffTensor<float, 1> b) { float r[8]; [ForceUnroll] for (int i = 0; i < 8; i++) r[i] = relu(w[i, 0] * x.x + w[i, 1] * x.y + b[i]); return r; }
[Differentiable] float net(no_diff float2 x, DiffTensor<float, 2> w1, DiffTensor<float, 1> b1, DiffTensor<float, 1> w2) { float h[8] = hidden(x, w1, b1); float s = 0; [ForceUnroll] for (int i = 0; i < 8; i++) s += h[i] * w2[i]; return s; }
""")
    def p(*shape, seed):
        return spy.Tensor.from_numpy(device, random(*shape, seed=seed) - 0.5).with_grads()
    w1, b1, w2 = p(8, 2, seed=1), p(8, seed=2), p(8, seed=3)
    x = random(32, 2, seed=4)
    want = np.sin(3 * x[:, 0]) * x[:, 1]
    losses = []
    for _ in range(4):
        y = m.net(x, w1, b1, w2).with_grads()
        d = y.to_numpy() - want
        losses.append((d * d).mean())
        y.grad.copy_from_numpy((2 * d / 32).astype(np.float32))
        m.net.bwds(x, w1, b1, w2, y)
        for t in (w1, b1, w2):
            t.copy_from_numpy(t.to_numpy() - np.float32(0.2) * t.grad.to_numpy())
            t.grad.clear()
    return losses, w2


@case
def users2_program_kmeans_nbody_fft(spy, device):
    m = load(spy, device, """
import slangpy;
int nearest(float2 p, Tensor<float2, 1> centers) { int best = 0; float d = 1e9; for (int i = 0; i < centers.shape[0]; i++) { float e = distance(p, centers[i]); if (e < d) { d = e; best = i; } } return best; }
float3 gravity(int i, Tensor<float4, 1> bodies) { float3 a = 0; for (int j = 0; j < bodies.shape[0]; j++) { float3 d = bodies[j].xyz - bodies[i].xyz; float r = dot(d, d) + 0.01; a += bodies[j].w * d / (r * sqrt(r)); } return a; }
float2 cmul(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
void butterfly(int i, Tensor<float2, 1> src, RWTensor<float2, 1> dst, int span) { int n = int(src.shape[0]), k = i % span, at = i - k; float a = -3.14159265 * k / span; float2 u = src[at / 2 + k + 0], v = cmul(src[at / 2 + k + n / 2], float2(cos(a), sin(a))); dst[at * 2 / 2 + k] = u + v; }
float2 dft(int k, Tensor<float2, 1> src) { int n = int(src.shape[0]); float2 s = 0; for (int j = 0; j < n; j++) { float a = -6.2831853 * k * j / n; s += cmul(src[j], float2(cos(a), sin(a))); } return s; }
""")
    def kmeans():
        pts = random(50, 2, seed=7)
        c = spy.Tensor.zeros(device, (3,), "float2")
        c.copy_from_numpy(pts[:3].copy())
        for _ in range(4):
            near = m.nearest(pts, c, _result="numpy")
            c.copy_from_numpy(np.stack([pts[near == i].mean(axis=0) for i in range(3)]).astype(np.float32))
        return near, c
    def nbody():
        b = spy.Tensor.zeros(device, (12,), "float4")
        n = random(12, 4, seed=8)
        v = np.zeros((12, 3), np.float32)
        for _ in range(3):
            b.copy_from_numpy(n)
            v += 0.01 * m.gravity(np.arange(12, dtype=np.int32), b, _result="numpy")
            n[:, :3] += 0.01 * v
        return n
    def dft():
        s = random(16, 2, seed=9)
        t = spy.Tensor.zeros(device, (16,), "float2")
        t.copy_from_numpy(s)
        got = m.dft(np.arange(16, dtype=np.int32), t, _result="numpy")
        want = np.fft.fft(s[:, 0] + 1j * s[:, 1])
        return bool(np.allclose(got[:, 0] + 1j * got[:, 1], want, atol=1e-3)), got[:3]
    return each(k=kmeans, n=nbody, d=dft)


@case
def users2_program_life_by_kernels(spy, device):
    s = device.load_module_from_source("users2_life", """
struct World { uint width; uint height; StructuredBuffer<uint> cells; RWStructuredBuffer<uint> next; };
ParameterBlock<World> world;
[shader("compute")] [numthreads(8, 8, 1)] void main(uint3 t : SV_DispatchThreadID) {
  if (t.x >= world.width || t.y >= world.height) return; uint n = 0;
  for (int y = -1; y <= 1; y++) for (int x = -1; x <= 1; x++) if (x != 0 || y != 0) n += world.cells[((t.y + y + world.height) % world.height) * world.width + (t.x + x + world.width) % world.width];
  uint c = world.cells[t.y * world.width + t.x]; world.next[t.y * world.width + t.x] = n == 3 || (c != 0 && n == 2) ? 1 : 0; }
""")
    k = device.create_compute_kernel(device.link_program([s], [s.entry_point("main")]))
    start = (random(12, 10) > 0.6).astype(np.uint32)
    a, b = (device.create_buffer(data=start, struct_size=4, usage=rw(spy)) for _ in range(2))
    e = device.create_command_encoder()
    for _ in range(4):
        k.dispatch([10, 12, 1], vars={"world": {"width": 10, "height": 12, "cells": a, "next": b}}, command_encoder=e)
        a, b = b, a
    device.submit_command_buffer(e.finish())
    got = a.to_numpy().view(np.uint32).reshape(12, 10)
    w = start.copy()
    for _ in range(4):
        n = sum(np.roll(np.roll(w, y, 0), x, 1) for y in (-1, 0, 1) for x in (-1, 0, 1)) - w
        w = ((n == 3) | ((w == 1) & (n == 2))).astype(np.uint32)
    return got, bool((got == w).all())


@case
def users2_program_spectral(spy, device):
    m = load(spy, device, """
import slangpy;
static const int BANDS = 6;
struct Spectrum { float v[BANDS]; static Spectrum flat(float a) { Spectrum s; for (int i = 0; i < BANDS; i++) s.v[i] = a; return s; } Spectrum mul(Spectrum o) { Spectrum s; for (int i = 0; i < BANDS; i++) s.v[i] = v[i] * o.v[i]; return s; } float sum() { float r = 0; for (int i = 0; i < BANDS; i++) r += v[i]; return r; } };
Spectrum blackbody(float t) { Spectrum s; for (int i = 0; i < BANDS; i++) { float l = 0.4 + i * 0.06; s.v[i] = 1 / (pow(l, 5) * (exp(14.388 / (l * t)) - 1)); } return s; }
float3 rgb(Spectrum s) { return float3(s.v[5] + s.v[4], s.v[3] + s.v[2], s.v[1] + s.v[0]) / 2; }
Spectrum reflect_(Spectrum light, Spectrum surface) { return light.mul(surface); }
extension float3 { float luma() { return dot(this, float3(0.2, 0.7, 0.1)); } }
float bright(float3 c) { return c.luma(); }
""")
    t = spy.Tensor.from_numpy(device, np.array([2.5, 4.0, 6.5], np.float32))
    s = m.blackbody(t)
    return each(one=lambda: m.blackbody(5.0), dt=lambda: s.dtype.full_name, rgb=lambda: m.rgb(s, _result="numpy"), flat=lambda: m.Spectrum.flat(0.5), mul=lambda: m.Spectrum.mul(s, m.Spectrum.flat(0.5)).cursor()[1].read(), sum=lambda: m.Spectrum.sum(s, _result="numpy"), refl=lambda: m.rgb(m.reflect_(s, {"v": [1, 1, 0, 0, 0, 0]}), _result="numpy"), bright=lambda: m.bright(random(3, 3), _result="numpy"), arr=lambda: m.Spectrum.sum({"v": [1, 2, 3, 4, 5, 6]}), np=lambda: m.Spectrum.sum({"v": random(4, 6)}, _result="numpy"), short=lambda: fails(m.Spectrum.sum, {"v": [1, 2]}))


@case
def users2_program_cloth_with_instances(spy, device):
    m = load(spy, device, """
import slangpy;
struct Particle { float3 pos; float3 prev; float inv_mass; [mutating] void verlet(float dt) { float3 v = pos - prev; prev = pos; pos += v * 0.99 + float3(0, -9.8, 0) * dt * dt * inv_mass; } float3 get() { return pos; } [mutating] void push(float3 d) { pos += d * inv_mass; } }
float3 correction(float3 a, float3 b, float rest) { float3 d = b - a; float l = length(d); return l > 1e-6 ? d * (0.5 * (l - rest) / l) : float3(0); }
""")
    n = 6
    start = np.zeros((n, 3), np.float32)
    start[:, 0] = np.arange(n)
    t3 = lambda a: (lambda t: [t.copy_from_numpy(a), t][1])(spy.Tensor.zeros(device, (n,), "float3"))
    mass = np.ones(n, np.float32)
    mass[0] = 0
    class Cloth(spy.InstanceList):
        def __init__(self):
            super().__init__(m.Particle)
            self.pos, self.prev, self.inv_mass = t3(start), t3(start), spy.Tensor.from_numpy(device, mass)
    c = Cloth()
    for _ in range(5):
        c.verlet(0.05)
        p = c.pos.to_numpy()
        d = np.zeros((n, 3), np.float32)
        k = m.correction(p[:-1].copy(), p[1:].copy(), 1.0, _result="numpy")
        d[:-1] += k
        d[1:] -= k
        c.push(d)
    return c.get(_result="numpy"), c.inv_mass, type(c.pos).__name__


@case
def users2_program_sparse_and_graph(spy, device):
    m = load(spy, device, """
import slangpy;
float spmv(int row, StructuredBuffer<int> start, StructuredBuffer<int> cols, StructuredBuffer<float> vals, StructuredBuffer<float> x) { float s = 0; for (int k = start[row]; k < start[row + 1]; k++) s += vals[k] * x[cols[k]]; return s; }
void relax(int2 edge, float w, RWStructuredBuffer<uint> dist) { uint d = dist[edge.x]; if (d < 1000000) InterlockedMin(dist[edge.y], d + uint(w)); }
float axpy(float a, float x, float y) { return a * x + y; }
""")
    rng = np.random.default_rng(5)
    dense = (rng.random((8, 8)) * (rng.random((8, 8)) > 0.6)).astype(np.float32) + np.eye(8, dtype=np.float32) * 4
    start = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
    cols = np.nonzero(dense)[1].astype(np.int32)
    buf = lambda a: device.create_buffer(data=a, struct_size=4, usage=rw(spy))
    s, c, v, x = buf(start), buf(cols), buf(dense[dense != 0]), buf(random(8))
    def jacobi():
        b, y = random(8, seed=2), np.zeros(8, np.float32)
        for _ in range(12):
            r = b - m.spmv(np.arange(8, dtype=np.int32), s, c, v, buf(y), _result="numpy")
            y = m.axpy(0.25, r, y, _result="numpy")
        return y, bool(np.allclose(dense @ y, b, atol=0.05))
    def paths():
        d = buf(np.array([0] + [1000000] * 4, np.uint32))
        edges = np.array([[0, 1], [1, 2], [0, 3], [3, 4], [2, 4]], np.int32)
        for _ in range(4):
            m.relax(edges, np.array([2, 3, 1, 7, 1], np.float32), d)
        return d.to_numpy().view(np.uint32)
    return each(mv=lambda: m.spmv(np.arange(8, dtype=np.int32), s, c, v, x, _result="numpy"), jacobi=jacobi, paths=paths)


@case
def users2_program_signal_and_audio(spy, device):
    m = load(spy, device, """
import slangpy;
struct Osc { float freq; float amp; float phase; float eval(float t) { return amp * sin(6.2831853 * freq * t + phase); } };
float mix(float t, Osc oscs[3]) { float s = 0; for (int i = 0; i < 3; i++) s += oscs[i].eval(t); return s; }
float fir(int i, Tensor<float, 1> x, Tensor<float, 1> taps) { float s = 0; for (int k = 0; k < taps.shape[0]; k++) if (i - k >= 0) s += x[i - k] * taps[k]; return s; }
int16_t quantise(float v) { return int16_t(clamp(v, -1, 1) * 32767); }
uint8_t mulaw(float v) { float m = sign(v) * log(1 + 255 * abs(v)) / log(256.0); return uint8_t((m * 0.5 + 0.5) * 255); }
""")
    t = np.linspace(0, 1, 20, dtype=np.float32)
    oscs = [{"_type": "Osc", "freq": float(f), "amp": 0.3, "phase": 0.0} for f in (1, 2, 3)]
    y = lambda: m.mix.map((0,))(t, oscs, _result="numpy")
    taps = spy.Tensor.from_numpy(device, np.array([0.5, 0.3, 0.2], np.float32))
    return each(mix=lambda: m.mix(0.1, oscs), y=y, fir=lambda: m.fir(np.arange(20, dtype=np.int32), spy.Tensor.from_numpy(device, t), taps, _result="numpy"), q=lambda: m.quantise(t * 2 - 1, _result="numpy"), q0=lambda: m.quantise(0.5), mu=lambda: m.mulaw(t * 2 - 1, _result="numpy"), osc=lambda: m.Osc.eval({"freq": 1.0, "amp": 1.0, "phase": 0.0}, t, _result="numpy"))
