"""Programs of other users, third set: derivatives of values, structs, arrays, tensors, generics; training loops."""
import numpy as np

from cases import case, each, error, fails, load, plain, random


def grad(spy, device, x, seed=None):
    t = spy.Tensor.from_numpy(device, np.ascontiguousarray(x)).with_grads()
    if seed is not None:
        t.grad.copy_from_numpy(np.ascontiguousarray(seed))
    return t


@case
def users3_diff_pairs_of_every_kind(spy, device):
    m = load(spy, device, """
import slangpy;
struct P : IDifferentiable { float x; float2 y; };
[Differentiable] float sq(float a) { return a * a; }
[Differentiable] float3 v(float3 a, float s) { return a * a * s; }
[Differentiable] float2x2 mm(float2x2 a) { return mul(a, a); }
[Differentiable] float p(P a) { return a.x * a.y.x + a.y.y; }
[Differentiable] float arr(float a[3]) { return a[0] * a[1] + a[2] * a[2]; }
[Differentiable] void outp(float a, out float b) { b = a * a * a; }
[Differentiable] void io(inout float a) { a = a * a; }
[Differentiable] half h(half a) { return a * a; } [Differentiable] double d(double a) { return a * a * a; }
[Differentiable] float nod(float a, no_diff float b) { return a * b; }
[Differentiable] int mixed(float a, int b) { return b; }
float plain_(float a) { return a * a; }
""")
    D = spy.diffPair
    def run(f, x, seed, *rest):
        a = D(x)
        f.bwds(a, *rest, D(0.0 if not hasattr(seed, "__len__") else type(seed)(), seed))
        return a.grad
    def two():
        a, s = D(spy.float3(1, 2, 3)), D(2.0)
        m.v.bwds(a, s, D(spy.float3(), spy.float3(1, 1, 1)))
        return [a.grad, s.grad, a.primal]
    def st():
        a = D({"x": 2.0, "y": [3.0, 4.0]}, {"x": 0.0, "y": [0.0, 0.0]})
        m.p.bwds(a, D(0.0, 1.0))
        return a.grad
    def named():
        a = D(3.0)
        m.sq.bwds(a=a, _result=D(0.0, 2.0))
        return [a.grad, a.get(__import__("slangpy.core.enums", fromlist=["x"]).PrimType.primal)]
    def nograd():
        a = D(3.0, 7.0, False)
        m.sq.bwds(a, D(0.0, 1.0))
        return [a.grad, a.needs_grad]
    def outs():
        a, b = D(2.0), D(0.0, 1.0)
        m.outp.bwds(a, b)
        return [a.grad, b.primal, b.grad]
    def ios():
        a = D(3.0, 1.0)
        m.io.bwds(a)
        return [a.primal, a.grad]
    return each(sq=lambda: run(m.sq, 3.0, 1.0), sq2=lambda: run(m.sq, 3.0, 0.5), two=two, mm=lambda: fails(run, m.mm, spy.float2x2([1, 2, 3, 4]), spy.float2x2([1, 0, 0, 1])), st=st, arr=lambda: fails(lambda: [a := D([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]), m.arr.bwds(a, D(0.0, 1.0)), a.grad][2]), outs=outs, ios=ios, h=lambda: run(m.h, 3.0, 1.0), d=lambda: run(m.d, 3.0, 1.0), nod=lambda: run(m.nod, 3.0, 1.0, 5.0), named=named, nograd=nograd, plain=lambda: error(lambda: run(m.plain_, 3.0, 1.0)), prim=lambda: [m.sq(D(3.0)), m.v(D(spy.float3(1, 2, 3)), D(2.0)), type(m.sq(D(3.0))).__name__], defaults=lambda: [D().primal, D().grad, D(2.0).grad, D(spy.float3(1)).grad, spy.floatDiffPair().primal, spy.floatDiffPair().grad, spy.floatDiffPair(3.0).grad], repr_=lambda: [type(D(1.0)).__name__, D(1.0).slangpy_signature], few=lambda: error(m.sq.bwds, D(1.0)), nonum=lambda: fails(m.sq.bwds, 3.0, D(0.0, 1.0)), setters=lambda: [a := D(1.0), setattr(a, "primal", 5.0), setattr(a, "grad", 2.0), a.primal, a.grad][3:])


@case
def users3_diff_tensors_and_broadcasts(spy, device):
    m = load(spy, device, "import slangpy;\n[Differentiable] float mul(float a, float b) { return a * b + sin(a); }\n[Differentiable] float3 sc(float3 a, float b) { return a * b; }\n[Differentiable] float dot_(float3 a, float3 b) { return dot(a, b); }\n[Differentiable] float4 mm(float4x4 m, float4 v) { return mul(m, v); }\n")
    def go(f, shapes, seed, **kw):
        a = [grad(spy, device, random(*s, seed=i)) if isinstance(s, tuple) else s for i, s in enumerate(shapes)]
        r = f(*a, _result="tensor").with_grads()
        r.grad.copy_from_numpy(random(*seed, seed=9))
        f.bwds(*a, r)
        return [r.to_numpy()] + [x.grad.to_numpy() for x in a if hasattr(x, "grad")]
    def vec(shape, seed=1):
        t = spy.Tensor.zeros(device, shape, "float3")
        t.copy_from_numpy(random(*shape, 3, seed=seed))
        return t.with_grads()
    def vecs():
        a, b = vec((4,)), grad(spy, device, random(4))
        r = m.sc(a, b).with_grads()
        r.grad.copy_from_numpy(random(4, 3, seed=8))
        m.sc.bwds(a, b, r)
        return [a.grad.to_numpy(), b.grad.to_numpy(), r.dtype.full_name, r.grad.dtype.full_name]
    def accumulate():
        a, b = grad(spy, device, random(3)), grad(spy, device, random(3, seed=2))
        r = grad(spy, device, np.zeros(3, np.float32), np.ones(3, np.float32))
        for _ in range(3):
            m.mul.bwds(a, b, r)
        x = a.grad.to_numpy()
        a.grad.clear()
        m.mul.bwds(a, b, r)
        return [x, a.grad.to_numpy(), b.grad.to_numpy()]
    def separate():
        gi, go_ = spy.Tensor.from_numpy(device, np.ones(3, np.float32)), spy.Tensor.zeros(device, (3,), "float")
        a = spy.Tensor.from_numpy(device, random(3)).with_grads(gi, go_)
        return [a.grad_in is gi, a.grad_out is go_, a.grad is go_, a.has_grads if hasattr(a, "has_grads") else None, repr(a), a.detach().grad_out is None, error(lambda: a.detach().grad)]
    def parts():
        x, y = grad(spy, device, random(4)), grad(spy, device, random(4, seed=2))
        r = grad(spy, device, np.zeros(4, np.float32), np.ones(4, np.float32))
        m.dot_.bwds({"x": x, "y": y, "z": 1.0}, spy.float3(1, 2, 3), r)
        return [x.grad.to_numpy(), y.grad.to_numpy()]
    def keyword():
        a = grad(spy, device, random(3))
        r = grad(spy, device, np.zeros(3, np.float32), np.ones(3, np.float32))
        m.mul.bwds(b=2.0, a=a, _result=r)
        return a.grad.to_numpy()
    def appended():
        a = grad(spy, device, random(3))
        r = grad(spy, device, np.zeros(3, np.float32), np.ones(3, np.float32))
        e = device.create_command_encoder()
        m.mul.bwds(a, 2.0, r, _append_to=e)
        m.mul.bwds.append_to(e, a, 1.0, r)
        before = a.grad.to_numpy()
        device.submit_command_buffer(e.finish())
        return [before, a.grad.to_numpy()]
    return each(a=lambda: go(m.mul, [(4,), (4,)], (4,)), b=lambda: go(m.mul, [(4, 1), (3,)], (4, 3)), c=lambda: go(m.mul, [(2, 3), 2.0], (2, 3)), d=lambda: go(m.mul, [(1,), (5,)], (5,)), e=lambda: go(m.mul, [(2, 1, 3), (4, 1)], (2, 4, 3)), f=lambda: go(m.dot_, [(4, 3), (1, 3)], (4,)), h=lambda: 0, vecs=vecs, accumulate=accumulate, separate=separate, parts=parts, keyword=keyword, appended=appended, nograds=lambda: fails(lambda: m.mul.bwds(spy.Tensor.from_numpy(device, random(3)), 1.0, grad(spy, device, np.zeros(3, np.float32)))), noseed=lambda: fails(lambda: m.mul.bwds(grad(spy, device, random(3)), 1.0)), wrongshape=lambda: error(lambda: m.mul.bwds(grad(spy, device, random(3)), 1.0, grad(spy, device, random(4)))))


@case
def users3_diff_tensor_parameters(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float get(int i, DiffTensor<float, 1> t) { return t.load(i) * t.load(i); }
[Differentiable] float any(int i, IDiffTensor<float, 1> t) { return t.load(i) * 3; }
[Differentiable] float sub(int2 i, IDiffTensor<float, 2> t) { return t[i] * t[i.x, i.y]; }
[Differentiable] float once(int i, DiffTensor<float, 1> t) { return t.load_once(i) * 2; }
[Differentiable] void store(int i, DiffTensor<float, 1> t, WDiffTensor<float, 1> o) { o.store(i, t.load(i) * t.load(i)); }
[Differentiable] float conv(int i, DiffTensor<float, 1> t, DiffTensor<float, 1> w) { float r = 0; [MaxIters(3)] for (int k = 0; k < 3; k++) r += t.load(min(i + k, 4)) * w.load(k); return r; }
[Differentiable] float gen<T : IDiffTensor<float, 1>>(int i, T t) { return t.load(i); }
float plainload(int i, PrimalTensor<float, 1> t) { return t.load(i); }
float3 vec(int i, DiffTensor<float3, 1> t) { return t.load(i); }
uint size(IDiffTensor<float, 2> t) { return t.shape[0] * 100 + t.shape[1]; }
""")
    i = np.arange(5, dtype=np.int32)
    plain_t = lambda: spy.Tensor.from_numpy(device, random(5))
    ones = lambda: grad(spy, device, np.zeros(5, np.float32), np.float32([1, 2, 3, 4, 5]))
    def bw(f, *a):
        f.bwds(*a)
        return [x.grad.to_numpy() for x in a if hasattr(x, "grad_out") and x.grad_out is not None]
    return each(get=lambda: m.get(i, grad(spy, device, random(5)), _result="numpy"), any_=lambda: m.any(i, grad(spy, device, random(5)), _result="numpy"), anyp=lambda: m.any(i, plain_t(), _result="numpy"), getp=lambda: fails(m.get, i, plain_t(), _result="numpy"), bget=lambda: bw(m.get, i, grad(spy, device, random(5)), ones()), bany=lambda: bw(m.any, i, grad(spy, device, random(5)), ones()), banyp=lambda: bw(m.any, i, plain_t(), ones()), bonce=lambda: bw(m.once, i, grad(spy, device, random(5)), ones()), bsub=lambda: [t := grad(spy, device, random(3, 3)), r := grad(spy, device, np.zeros((3, 3), np.float32), np.ones((3, 3), np.float32)), m.sub.bwds(spy.grid((3, 3)), t, r), t.grad.to_numpy()][3], bconv=lambda: [t := grad(spy, device, random(5)), w := grad(spy, device, random(3, seed=2)), m.conv.bwds(i, t, w, ones()), t.grad.to_numpy(), w.grad.to_numpy()][3:], store=lambda: [t := grad(spy, device, random(5)), o := grad(spy, device, np.zeros(5, np.float32)), m.store(i, t, o), o.to_numpy()][3], bstore=lambda: [t := grad(spy, device, random(5)), o := grad(spy, device, np.zeros(5, np.float32), np.ones(5, np.float32)), m.store.bwds(i, t, o), t.grad.to_numpy()][3], gen=lambda: m.gen(i, grad(spy, device, random(5)), _result="numpy"), genp=lambda: m.gen(i, plain_t(), _result="numpy"), pl=lambda: m.plainload(i, plain_t(), _result="numpy"), plg=lambda: m.plainload(i, grad(spy, device, random(5)), _result="numpy"), size=lambda: [m.size(spy.Tensor.zeros(device, (2, 3), "float")), m.size(spy.Tensor.zeros(device, (4, 2, 3), "float"), _result="numpy")], rank=lambda: fails(m.get, i, grad(spy, device, random(2, 5)), _result="numpy"), wrongdt=lambda: fails(m.get, i, spy.Tensor.zeros(device, (5,), "int").with_grads(), _result="numpy"), np_=lambda: fails(m.any, i, random(5), _result="numpy"))


@case
def users3_diff_structs_and_fields(spy, device):
    m = load(spy, device, """
import slangpy;
struct Mat : IDifferentiable { float3 albedo; float rough; [Differentiable] float3 eval(float c) { return albedo * c + rough; } };
struct Light : IDifferentiable { float3 color; no_diff float3 dir; Mat inner; };
[Differentiable] float3 shade(Mat m, float c) { return m.albedo * c + m.rough * m.rough; }
[Differentiable] float lum(Light l) { return dot(l.color, float3(1, 2, 3)) + l.inner.rough * l.color.x + l.dir.x; }
[Differentiable] Mat scale(Mat m, float s) { Mat r; r.albedo = m.albedo * s; r.rough = m.rough * s * s; return r; }
[Differentiable] float2 gen<let N : int>(float a[N]) { float r = 0; [ForceUnroll] for (int i = 0; i < N; i++) r += a[i] * a[i]; return float2(r, 1); }
""")
    def vec(n, seed=1):
        t = spy.Tensor.zeros(device, (n,), "float3")
        t.copy_from_numpy(random(n, 3, seed=seed))
        return t.with_grads()
    def fields():
        a, r = vec(4), grad(spy, device, random(4, seed=3))
        o = m.shade({"albedo": a, "rough": r}, 2.0).with_grads()
        o.grad.copy_from_numpy(np.ones((4, 3), np.float32))
        m.shade.bwds({"albedo": a, "rough": r}, 2.0, o)
        return [o.to_numpy(), a.grad.to_numpy(), r.grad.to_numpy()]
    def one_field():
        r = grad(spy, device, random(4, seed=3))
        o = m.shade({"albedo": spy.float3(1, 2, 3), "rough": r}, 2.0).with_grads()
        o.grad.copy_from_numpy(np.ones((4, 3), np.float32))
        m.shade.bwds({"albedo": spy.float3(1, 2, 3), "rough": r}, 2.0, o)
        return r.grad.to_numpy()
    def nested():
        c, r = vec(3), grad(spy, device, random(3, seed=5))
        l = {"color": c, "dir": spy.float3(1, 0, 0), "inner": {"albedo": spy.float3(0), "rough": r}}
        o = m.lum(l).with_grads()
        o.grad.copy_from_numpy(np.ones(3, np.float32))
        m.lum.bwds(l, o)
        return [o.to_numpy(), c.grad.to_numpy(), r.grad.to_numpy()]
    def method():
        a, r, c = vec(3), grad(spy, device, random(3)), grad(spy, device, random(3, seed=7))
        this = {"albedo": a, "rough": r}
        o = m.Mat.eval(this, c).with_grads()
        o.grad.copy_from_numpy(np.ones((3, 3), np.float32))
        m.Mat.eval.bwds(this, c, o)
        return [a.grad.to_numpy(), r.grad.to_numpy(), c.grad.to_numpy()]
    def inst():
        l = spy.InstanceList(m.Mat, {"albedo": vec(3), "rough": grad(spy, device, random(3))})
        o = l.eval(2.0).with_grads()
        o.grad.copy_from_numpy(np.ones((3, 3), np.float32))
        l.eval.bwds(2.0, o)
        return [l.albedo.grad.to_numpy(), l.rough.grad.to_numpy()]
    def whole():
        t = spy.Tensor.zeros(device, (3,), m.Mat)
        c = t.cursor()
        for i in range(3):
            c[i].write({"albedo": [i, 1, 2], "rough": 0.5 * i})
        c.apply()
        t = t.with_grads()
        return [t.grad.dtype.full_name, m.shade(t, 2.0, _result="numpy"), t.has_grads if hasattr(t, "has_grads") else None]
    def arrays():
        a = grad(spy, device, random(4, 3))
        o = m.find_function("gen<3>")
        r = o(a).with_grads()
        r.grad.copy_from_numpy(np.ones((4, 2), np.float32))
        o.bwds(a, r)
        return [r.to_numpy(), a.grad.to_numpy()]
    def dbuffer():
        from slangpy.experimental.diffinstancelist import InstanceDifferentiableBuffer
        b = InstanceDifferentiableBuffer(m.Mat, (2,))
        b.primal_from_numpy(np.arange(8, dtype=np.float32).reshape(2, 4).view(np.uint8))
        return [b.shape, b.primal_to_numpy().view(np.float32), b.grad_to_numpy().view(np.float32), type(b.buffer).__name__, m.shade(b, 1.0, _result="numpy"), b.grad_from_numpy(np.ones((2, 4), np.float32).view(np.uint8)), b.grad_to_numpy().view(np.float32)]
    return each(fields=fields, one=one_field, nested=nested, method=method, inst=inst, whole=whole, arrays=arrays, dbuffer=dbuffer, deriv=lambda: [m.Mat.differentiable, m.Mat.derivative.full_name if hasattr(m.Mat.derivative, "full_name") else str(m.Mat.derivative), m.Light.struct.derivative.name if hasattr(m.Light.struct, "derivative") else None], types=lambda: [[f for f in m.Light.struct.derivative.fields] if hasattr(m.Light.struct.derivative, "fields") else None])


@case
def users3_diff_training_loops(spy, device):
    m = load(spy, device, """
import slangpy;
[Differentiable] float model(no_diff float x, float a, float b, float c) { return a * sin(b * x) + c; }
[Differentiable] float loss(no_diff float x, no_diff float y, float a, float b, float c) { float d = model(x, a, b, c) - y; return d * d; }
void adam(inout float p, float g, inout float m, inout float v, float lr, int t) { m = 0.9 * m + 0.1 * g; v = 0.999 * v + 0.001 * g * g; p -= lr * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8); }
void sgd(inout float p, float g, float lr) { p -= lr * g; }
""")
    x = np.linspace(0, 6, 32, dtype=np.float32)
    y = (1.5 * np.sin(1.2 * x) + 0.3).astype(np.float32)
    def fit(steps):
        p = [grad(spy, device, np.float32([v])) for v in (1.0, 1.1, 0.0)]
        mv = [[spy.Tensor.zeros(device, (1,), "float") for _ in range(2)] for _ in p]
        out = []
        for t in range(1, steps + 1):
            l = m.loss(x, y, *p).with_grads()
            l.grad.copy_from_numpy(np.full(32, 1 / 32, np.float32))
            m.loss.bwds(x, y, *p, l)
            for q, (a, b) in zip(p, mv):
                m.adam(q, q.grad, a, b, 0.05, t)
                q.grad.clear()
            out.append(float(l.to_numpy().mean()))
        return [out[0], out[-1], [q.to_numpy() for q in p]]
    def simple():
        p = grad(spy, device, np.float32([0.0]))
        for _ in range(5):
            p.grad.clear()
            l = grad(spy, device, np.zeros(32, np.float32), np.full(32, 1 / 32, np.float32))
            m.loss.bwds(x, y, 1.5, 1.2, p, l)
            m.sgd(p, p.grad, 0.5)
        return p.to_numpy()
    def encoder():
        p = grad(spy, device, np.float32([0.0]))
        l = grad(spy, device, np.zeros(32, np.float32), np.full(32, 1 / 32, np.float32))
        e = device.create_command_encoder()
        for _ in range(3):
            p.grad.clear(e)
            m.loss.bwds(x, y, 1.5, 1.2, p, l, _append_to=e)
            m.sgd(p, p.grad, 0.5, _append_to=e)
        device.submit_command_buffer(e.finish())
        return p.to_numpy()
    return each(fit=lambda: fit(12), simple=simple, encoder=encoder)


@case
def users3_diff_atomics_of_structs(spy, device):
    m = load(spy, device, """
import slangpy;
struct Acc : IDifferentiable { float a; float b; };
extension Acc : IAtomicAddable { static void atomicAdd(RWByteAddressBuffer buf, uint addr, This value) { float::atomicAdd(buf, addr, value.a); float::atomicAdd(buf, addr + 4, value.b); } }
[Differentiable] float use(Acc p, float x) { return p.a * x + p.b; }
void scatter(int i, float v, AtomicTensor<float, 1> t) { t.add(i % 3, v); }
void scatter2(int2 i, AtomicTensor<float, 2> t) { t.add(int2(i.x % 2, 0), 1.0); }
void scatteri(int i, AtomicTensor<int, 1> t) { t.add(i % 2, i); }
void scatter3(int i, AtomicTensor<float3, 1> t) { t.add(i % 2, float3(i, 1, 0)); }
""")
    def params():
        t = spy.Tensor.zeros(device, (1,), m.Acc)
        c = t.cursor()
        c[0].write({"a": 2.0, "b": 1.0})
        c.apply()
        t = t.with_grads()
        x = np.arange(8, dtype=np.float32)
        r = grad(spy, device, np.zeros(8, np.float32), np.ones(8, np.float32))
        m.use.bwds(t, x, r)
        return [m.use(t, x, _result="numpy"), t.grad.cursor()[0].read()]
    i = np.arange(9, dtype=np.int32)
    t = lambda d, *s: spy.Tensor.zeros(device, s, d)
    return each(params=params, s=lambda: [a := t("float", 3), m.scatter(i, i.astype(np.float32), a), a.to_numpy()][2], s2=lambda: [a := t("float", 2, 2), m.scatter2(spy.grid((3, 4)), a), a.to_numpy()][2], si=lambda: [a := t("int", 2), m.scatteri(i, a), a.to_numpy()][2], s3=lambda: [a := t("float3", 2), m.scatter3(i, a), a.to_numpy()][2], bad=lambda: fails(m.scatter, i, i.astype(np.float32), t("int", 3)))
