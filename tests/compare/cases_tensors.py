"""Tensors, their views and gradients, buffers, shapes."""
import numpy as np

from cases import case, each, error, fails, load, random

ADD = """
import slangpy;
struct Item { float3 p; int n; }
[Differentiable] float add(float a, float b) { return a + b; }
[Differentiable] float square(float a) { return a * a; }
float3 twice3(float3 a) { return 2 * a; }
"""


@case
def tensors_are_made(spy, device):
    m = load(spy, device, ADD)
    T = spy.Tensor
    return each(e=lambda: T.empty(device, (2, 3), "float").shape, z=lambda: T.zeros(device, (2, 3), "float"), f=lambda: T.from_numpy(device, random(2, 3)), zl=lambda: T.zeros_like(T.from_numpy(device, random(2, 3))), el=lambda: T.empty_like(T.from_numpy(device, random(2, 3))).shape,
                kw=lambda: T.zeros(device, shape=(2,), dtype=float), i=lambda: T.zeros(device, [2], int), b=lambda: T.zeros(device, (2,), bool), v=lambda: T.zeros(device, (2,), spy.float3), s=lambda: T.zeros(device, (2,), m.Item).to_numpy().shape,
                n=lambda: T.zeros(device, (2,), "float3"), m=lambda: T.zeros(device, (2,), spy.float4x4).to_numpy().shape, a=lambda: T.zeros(device, (2,), "float[2][3]").to_numpy().shape, none=lambda: error(T.zeros, device, (2,), None), num=lambda: error(T.zeros, device, 4, "float"),
                empty=lambda: error(T.zeros, device, (), "float"), npd=lambda: fails(T.zeros, device, (2,), np.float32), bad=lambda: fails(T.zeros, device, (2,), "Missing"), zero=lambda: error(lambda: T.zeros(device, (0, 3), "float").to_numpy()), neg=lambda: fails(T.zeros, device, (-1,), "float"),
                byname=lambda: T.zeros(device, (2,), "Item", program_layout=m.layout).dtype.full_name, refl=lambda: T.zeros(device, (2,), m.layout.find_type_by_name("float")).dtype.full_name)


@case
def tensors_from_numpy(spy, device):
    T = spy.Tensor
    def dt(d):
        t = T.from_numpy(device, np.array([1, 2, 3], d))
        return [t.dtype.full_name, t.to_numpy()]
    return dict(each(**{d.__name__: (lambda d=d: dt(d)) for d in (np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64)}),
                view=error(lambda: [T.from_numpy(device, random(4, 6).T).shape, T.from_numpy(device, random(4, 6).T).strides, T.from_numpy(device, random(4, 6).T).to_numpy()]),
                step=error(lambda: T.from_numpy(device, random(8)[::2])), big=error(lambda: T.from_numpy(device, random(2, 3, 4, 5)).shape), legacy=error(lambda: T.numpy(device, random(3))),
                scalar=fails(lambda: T.from_numpy(device, np.array(1.0, np.float32))))


@case
def tensor_properties(spy, device):
    t = spy.Tensor.from_numpy(device, random(3, 4))
    v = t[1:, 1:3]
    return each(shape=lambda: t.shape, st=lambda: t.strides, off=lambda: t.offset, vs=lambda: v.shape, vst=lambda: v.strides, vo=lambda: v.offset, c=lambda: t.is_contiguous(), vc=lambda: v.is_contiguous(), d=lambda: t.dtype.full_name, e=lambda: t.element_count,
                dev=lambda: t.device is device, str=lambda: str(spy.Tensor.from_numpy(device, np.array([1.5, 2.5], np.float32))), repr=lambda: repr(t), us=lambda: (t.usage & spy.BufferUsage.unordered_access) != 0, mt=lambda: t.memory_type, st2=lambda: type(t.storage).__name__,
                ss=lambda: t.storage.struct_size, g=lambda: t.grad_in, go=lambda: t.grad_out, gr=lambda: error(lambda: t.grad), it=lambda: [x.shape for x in t], ln=lambda: error(lambda: len(t)), stride=lambda: t.element_stride if hasattr(t, "element_stride") else "none", shapetype=lambda: type(t.shape).__name__)


@case
def tensor_views(spy, device):
    t = spy.Tensor.from_numpy(device, np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    return each(i=lambda: t[1], ij=lambda: t[1, 2], ijk=lambda: t[1, 2, 3], neg=lambda: t[-1, -1], sl=lambda: t[:, 1:, ::2], el=lambda: t[..., 1], none=lambda: t[:, None, 0], nst=lambda: t[:, None, 0].strides, out=lambda: error(lambda: t[2]), many=lambda: error(lambda: t[0, 0, 0, 0]),
                negstep=lambda: error(lambda: t[::-1]), flt=lambda: error(lambda: t[1.5]), lst=lambda: error(lambda: t[[0, 1]]), view=lambda: t.view((4, 6)), viewst=lambda: t.view((2, 2), (1, 2), 3), viewsub=lambda: t[1].view((3, 4), (), 0), viewoff=lambda: t[1].view((2,), (1,), 2), bc=lambda: t[0].broadcast_to((2, 3, 4)),
                bcst=lambda: t[0].broadcast_to((2, 3, 4)).strides, bc1=lambda: t[:, :1].broadcast_to((2, 3, 4)), bcbad=lambda: error(t.broadcast_to, (3, 4)), bcbad2=lambda: error(t.broadcast_to, (2, 5, 4)), rank=lambda: error(t.view, (2, 3), (1,)), negst=lambda: error(t.view, (2,), (-1,)), sub=lambda: t[1][1:][0], long=lambda: t[0:100].shape, empty=lambda: t[1:1].shape,
                same=lambda: t[0].storage is t.storage, viewlist=lambda: t.view([24]).shape)


@case
def views_as_arguments(spy, device):
    m = load(spy, device, ADD)
    t = spy.Tensor.from_numpy(device, np.arange(24, dtype=np.float32).reshape(4, 6))
    o = spy.Tensor.zeros(device, (4, 6), "float")
    return each(sl=lambda: m.add(t[1:3, ::2], 1.0, _result="numpy"), row=lambda: m.add(t[1], t, _result="numpy"), out=lambda: m.add(t[:2, :3], 1.0, _result=o[2:, 1:4]) is not None, o=lambda: o, turned=lambda: m.add(t.view((6, 4), (1, 6)), 0.0, _result="numpy"), bc=lambda: m.add(t[0].broadcast_to((3, 6)), 1.0, _result="numpy"),
                off=lambda: m.add(t.view((3,), (2,), 5), 0.0, _result="numpy"), one=lambda: m.add(t[1, 2], 1.0, _result="numpy"))


@case
def tensor_copies(spy, device):
    t = spy.Tensor.zeros(device, (2, 3), "float")
    v = spy.Tensor.zeros(device, (2,), spy.float3)
    return each(copy=lambda: t.copy_from_numpy(random(2, 3)), t=lambda: t, flat=lambda: t.copy_from_numpy(np.ones(6, np.float32)), t2=lambda: t, small=lambda: t.copy_from_numpy(np.zeros(2, np.float32)), t3=lambda: t, large=lambda: error(t.copy_from_numpy, np.zeros(7, np.float32)), other=lambda: t.copy_from_numpy(np.arange(6, dtype=np.int32)), t4=lambda: t.to_numpy().view(np.int32),
                nc=lambda: error(t.copy_from_numpy, random(4, 6)[:2, :3]), v=lambda: v.copy_from_numpy(random(2, 3)), vt=lambda: v, clear=lambda: t.clear(), t5=lambda: t, into=lambda: error(t[:, :2].copy_from_numpy, np.ones((2, 2), np.float32)), row=lambda: t[1].copy_from_numpy(np.ones(3, np.float32)), t6=lambda: t)


@case
def tensor_clear_by_encoder(spy, device):
    t = spy.Tensor.from_numpy(device, random(4))
    e = device.create_command_encoder()
    t.clear(e)
    before = t.to_numpy().any()
    device.submit_command_buffer(e.finish())
    w = spy.Tensor.from_numpy(device, random(4))
    w[1:2].clear()
    return bool(before), t, w


@case
def tensor_cursors(spy, device):
    m = load(spy, device, ADD)
    t = spy.Tensor.zeros(device, (4,), m.Item)
    c = t.cursor()
    c[1].write({"p": spy.float3(1, 2, 3), "n": 4})
    c[2]["p"] = [4, 5, 6]
    c[3].n = 9
    c.apply()
    r = t.cursor(1, 2)
    return each(one=lambda: t.cursor()[1].read(), two=lambda: t.cursor()[2].read(), three=lambda: t.cursor()[3]["n"].read(), part=lambda: r[0].read(), count=lambda: len(r), size=lambda: c.element_size, st=lambda: c.element_stride, et=lambda: c.element_type.full_name, neg=lambda: c[-1].n.read(), out=lambda: error(lambda: c[4]), bytes=lambda: t.to_numpy().view(np.float32))


@case
def tensor_uniforms_and_point_to(spy, device):
    t, u = spy.Tensor.from_numpy(device, random(2, 3)), spy.Tensor.from_numpy(device, random(2, 3, seed=4))
    w = spy.Tensor.zeros(device, (3, 3), "float")
    un = t.uniforms()
    return each(keys=lambda: sorted(un), shape=lambda: list(un["_shape"]), st=lambda: list(un["_strides"]), off=lambda: un["_offset"], p=lambda: t.point_to(u), t=lambda: t, same=lambda: t.storage is u.storage, bad=lambda: fails(w.point_to, u))


@case
def tensors_over_buffers(spy, device):
    b = device.create_buffer(element_count=12, struct_size=4, data=random(12), usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access)
    m = load(spy, device, ADD)
    f = m.float.struct
    return each(t=lambda: spy.Tensor(b, f, (3, 4)), o=lambda: spy.Tensor(b, f, (2, 2), (2, 1), 3), s=lambda: spy.Tensor(b, f, (3, 4)).storage is b, add=lambda: m.add(spy.Tensor(b, f, (12,)), 1.0, _result="numpy"))


@case
def structured_numpy(spy, device):
    m = load(spy, device, ADD)
    d = np.dtype([("p", np.float32, 3), ("n", np.int32)])
    a = np.zeros(3, d)
    a["p"], a["n"] = random(3, 3), [1, 2, 3]
    return each(t=lambda: spy.Tensor.from_numpy(device, a, target_slang_dtype=m.Item.struct).shape, none=lambda: error(spy.Tensor.from_numpy, device, a), arg=lambda: fails(m.add, a, 1.0))


@case
def gradients_attached(spy, device):
    t = spy.Tensor.from_numpy(device, random(3))
    g = t.with_grads()
    a, b = spy.Tensor.from_numpy(device, random(3, seed=5)), spy.Tensor.from_numpy(device, random(3, seed=6))
    h = t.with_grads(a, b)
    return each(g=lambda: g.grad, same=lambda: g.grad_in is g.grad_out, st=lambda: g.storage is t.storage, new=lambda: g is not t, tg=lambda: t.grad_in, h=lambda: [h.grad_in is a, h.grad_out is b], z=lambda: t.with_grads(a, b, zero=True).grad, d=lambda: g.detach().grad_in, repr=lambda: repr(g), none=lambda: error(lambda: t.grad),
                only=lambda: error(lambda: t.with_grads(grad_out=b).grad), view=lambda: g[1:].grad_in is not None, set=lambda: setattr(t, "grad_in", a), ti=lambda: t.grad_in is a, bad=lambda: fails(t.with_grads, spy.Tensor.zeros(device, (4,), "float")), struct=lambda: spy.Tensor.zeros(device, (2,), "float3").with_grads().grad.dtype.full_name)


@case
def backward_calls(spy, device):
    m = load(spy, device, ADD)
    x = spy.Tensor.from_numpy(device, random(5)).with_grads()
    y = spy.Tensor.from_numpy(device, random(5, seed=2)).with_grads()
    r = spy.Tensor.zeros(device, (5,), "float").with_grads()
    r.grad.copy_from_numpy(np.full(5, 2, np.float32))
    m.square.bwds(x, r)
    first = x.grad.to_numpy()
    m.square.bwds(x, _result=r)
    second = x.grad.to_numpy()
    m.add.bwds(x, y, r)
    return each(first=lambda: first, second=lambda: second, third=lambda: x.grad, y=lambda: y.grad, call=lambda: m.square(x), cleared=lambda: x.grad.clear(), c=lambda: x.grad, plain=lambda: m.add.bwds(x, 2.0, r), p=lambda: x.grad, notdiff=lambda: fails(m.twice3.bwds, 1.0, 1.0), seed=lambda: r.grad)


@case
def diff_pairs(spy, device):
    m = load(spy, device, ADD)
    a, r = spy.diffPair(3.0), spy.diffPair(None, 1.0)
    m.square.bwds(a, r)
    b = spy.diffPair(2.0, 0.0)
    m.add.bwds(b, 4.0, spy.floatDiffPair(0, 2.0))
    p = spy.diffPair(3.0)
    return each(a=lambda: a.grad, b=lambda: b.grad, p=lambda: [p.primal, p.grad, p.needs_grad], n=lambda: [spy.diffPair().primal, spy.diffPair().grad], f=lambda: [spy.floatDiffPair().primal, spy.floatDiffPair().grad], plain=lambda: m.square(spy.diffPair(3.0, 1.0)), v=lambda: spy.diffPair(spy.float3(1, 2, 3)).grad, result=lambda: m.square.bwds(spy.diffPair(3.0), 1.0) if False else 0,
                tensors=lambda: error(m.square.bwds, spy.diffPair(3.0), _result=spy.diffPair(0.0, 1.0)))


GRADS = """
import slangpy;
[Differentiable] float poly(float x, float a, no_diff float b) { return x * x * a + b * x; }
[Differentiable] void poly_out(float x, float a, out float y) { y = x * x * a; }
[Differentiable] float3 shade(float3 n, float3 l) { return n * l + dot(n, l); }
[Differentiable] float total(DiffTensor<float, 1> t) { float r = 0; for (int i = 0; i < 4; i++) r += t.load(i) * t.load(i); return r; }
[Differentiable] float once(DiffTensor<float, 1> t, no_diff int i) { return 3 * t.load_once(i); }
[Differentiable] float any_total(IDiffTensor<float, 1> t) { float r = 0; for (int i = 0; i < 4; i++) r += t.load(i) * t.load(i); return r; }
[Differentiable] void spread(DiffTensor<float, 1> a, WDiffTensor<float, 1> b, no_diff int i) { b.store(i, a.load(i) * 5); }
[Differentiable] void inplace(inout float a) { a = a * 3; }
struct Material : IDifferentiable { float3 albedo; float rough; }
[Differentiable] float eval(Material m, float x) { return dot(m.albedo, m.albedo) * x + m.rough * x; }
[Differentiable] float arr(float a[3]) { return a[0] * a[1] + a[2]; }
[Differentiable] float mat(float2x2 m) { return m[0][0] * m[1][1] - m[0][1] * m[1][0]; }
[BackwardDerivative(own_bwd)] float own(float x) { return x * x; }
void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d * 100); }
double dsquare(double x) { return x * x; }
[Differentiable] half hsquare(half x) { return x * x; }
"""


@case
def gradients_of_many_forms(spy, device):
    m = load(spy, device, GRADS)
    def pairs(n, *names, shape=(4,), dtype="float"):
        return [spy.Tensor.from_numpy(device, random(*shape, seed=n + i)).with_grads() for i in range(len(names))]
    def result(shape=(4,), dtype="float"):
        r = spy.Tensor.zeros(device, shape, dtype).with_grads()
        r.grad.copy_from_numpy(np.ones(r.grad.to_numpy().shape, np.float32))
        return r
    def poly():
        x, a, b = pairs(1, "x", "a", "b")
        m.poly.bwds(x, a, b, result())
        return [x.grad, a.grad, b.grad]
    def broadcast():
        x = spy.Tensor.from_numpy(device, random(4)).with_grads()
        a = spy.Tensor.from_numpy(device, random(1)).with_grads()
        m.poly.bwds(x, a, 1.0, result())
        return [x.grad, a.grad]
    def poly_out():
        x, a = pairs(1, "x", "a")
        y = result()
        m.poly_out(x, a, y)
        p = y.to_numpy()
        m.poly_out.bwds(x, a, y)
        return [p, x.grad, a.grad]
    def shade():
        n = spy.Tensor.zeros(device, (3,), "float3").with_grads()
        n.copy_from_numpy(random(3, 3))
        m.shade.bwds(n, spy.float3(1, 2, 3), result((3,), "float3"))
        return n.grad
    def shade_trailing():
        n = spy.Tensor.from_numpy(device, random(3, 3)).with_grads()
        m.shade.bwds(n, spy.float3(1, 2, 3), result((3,), "float3"))
        return n.grad
    def components():
        x, y, z = pairs(1, "x", "y", "z", shape=(3,))
        m.shade.bwds({"x": x, "y": y, "z": z}, spy.float3(1, 2, 3), result((3,), "float3"))
        return [x.grad, y.grad, z.grad]
    def total():
        t, = pairs(1, "t")
        m.total.bwds(t, spy.diffPair(0.0, 2.0))
        return t.grad
    def once():
        t, = pairs(1, "t")
        m.once.bwds(t, np.arange(4, dtype=np.int32), result())
        return t.grad
    def any_total():
        t, = pairs(1, "t")
        m.any_total.bwds(t, spy.diffPair(0.0, 2.0))
        return [t.grad, m.any_total(t), m.any_total(t.detach())]
    def spread():
        a, = pairs(1, "a")
        b = result()
        m.spread(a, b, np.arange(4, dtype=np.int32))
        p = b.to_numpy()
        m.spread.bwds(a, b, np.arange(4, dtype=np.int32))
        return [p, a.grad]
    def inplace():
        a = spy.Tensor.from_numpy(device, random(4))
        gi, go = spy.Tensor.from_numpy(device, np.ones(4, np.float32)), spy.Tensor.zeros(device, (4,), "float")
        m.inplace.bwds(a.with_grads(gi, go))
        return go
    def one_buffer():
        return fails(m.inplace.bwds, spy.Tensor.from_numpy(device, random(4)).with_grads())
    def material():
        c, r, x = spy.Tensor.zeros(device, (4,), "float3").with_grads(), pairs(2, "r")[0], pairs(3, "x")[0]
        c.copy_from_numpy(random(4, 3))
        m.eval.bwds({"_type": "Material", "albedo": c, "rough": r}, x, result())
        return [c.grad, r.grad, x.grad]
    def material_tensor():
        t = spy.Tensor.zeros(device, (4,), m.Material).with_grads()
        m.eval.bwds(t, 2.0, result())
        return [t.grad.dtype.full_name, t.grad.to_numpy().view(np.float32)]
    def array():
        a = spy.Tensor.from_numpy(device, random(4, 3)).with_grads()
        m.arr.bwds(a, result())
        return a.grad
    def matrix():
        a = spy.Tensor.zeros(device, (4,), spy.float2x2).with_grads()
        a.copy_from_numpy(random(4, 2, 2))
        m.mat.bwds(a, result())
        return a.grad
    def own():
        x, = pairs(1, "x")
        m.own.bwds(x, result())
        return x.grad
    def half():
        x = spy.Tensor.from_numpy(device, random(4).astype(np.float16)).with_grads()
        r = spy.Tensor.from_numpy(device, np.zeros(4, np.float16)).with_grads()
        r.grad.copy_from_numpy(np.ones(4, np.float16))
        m.hsquare.bwds(x, r)
        return x.grad
    def encoder():
        x, a = pairs(1, "x", "a")
        e = device.create_command_encoder()
        m.poly.bwds(x, a, 0.0, result(), _append_to=e)
        device.submit_command_buffer(e.finish())
        return x.grad
    def chained():
        x, a = pairs(1, "x", "a")
        m.poly.bwds.append_to(*(lambda e: (e, x, a, 0.0, result()))(device.create_command_encoder()))
        return x.grad
    return each(poly=poly, broadcast=broadcast, poly_out=poly_out, shade=shade, shade_trailing=shade_trailing, components=components, total=total, once=once, any_total=any_total, spread=spread, inplace=inplace, one_buffer=one_buffer, material=material, material_tensor=material_tensor, array=array, matrix=matrix, own=own, half=half,
                encoder=encoder, chained=chained, nondiff=lambda: fails(m.dsquare.bwds, spy.diffPair(1.0), spy.diffPair(0.0, 1.0)))


@case
def gradients_of_users_structs(spy, device):
    m = load(spy, device, """
import slangpy;
struct P : IDifferentiable { float a; float b; }
extension P.Differential : IAtomicAddable { static void atomicAdd(RWByteAddressBuffer buf, uint addr, P.Differential v) { float::atomicAdd(buf, addr, v.a); float::atomicAdd(buf, addr + 4, v.b); } }
[Differentiable] float f(P p) { return p.a * p.b; }
""")
    t = spy.Tensor.zeros(device, (2,), m.P)
    t.copy_from_numpy(np.array([1, 2, 3, 4], np.float32).view(np.uint8))
    t = t.with_grads()
    r = spy.Tensor.zeros(device, (2,), "float").with_grads()
    r.grad.copy_from_numpy(np.ones(2, np.float32))
    m.f.bwds(t, r)
    return m.f(t), t.grad.to_numpy().view(np.float32)


@case
def shapes(spy, device):
    S = spy.slangpy.Shape
    a = S(2, 3, 4)
    return each(str=lambda: str(a), repr=lambda: repr(a), len=lambda: len(a), i=lambda: a[1], neg=lambda: a[-1], out=lambda: error(lambda: a[3]), lst=lambda: a.as_list(), tup=lambda: a.as_tuple(), st=lambda: a.calc_contiguous_strides(), add=lambda: a + S(5), addt=lambda: a + (5,), eqt=lambda: a == (2, 3, 4), eql=lambda: a == [2, 3, 4], eq=lambda: a == S(2, 3, 4), ne=lambda: a == S(2, 3), empty=lambda: [S().valid, len(S()), str(S())],
                none=lambda: [S(None).valid, len(S(None)), str(S(None)), S(None) == S(None)], conc=lambda: [a.concrete, S(-1, 2).concrete, S(-1, 2).valid], it=lambda: list(a), lt=lambda: error(lambda: a < a), mul=lambda: error(lambda: a * 2), fromlist=lambda: S([1, 2]), fromtuple=lambda: S((1, 2)), fromshape=lambda: S(a), hash=lambda: error(lambda: hash(a) is not None), noneconc=lambda: error(lambda: S(None).concrete), noneget=lambda: error(lambda: S(None)[0]))


@case
def buffers(spy, device):
    U = spy.BufferUsage
    rw = U.shader_resource | U.unordered_access
    b = device.create_buffer(element_count=8, struct_size=4, data=random(8), usage=rw)
    c = device.create_buffer(size=64, usage=rw)
    desc = spy.BufferDesc()
    desc.size, desc.usage, desc.label = 32, rw, "mine"
    return each(size=lambda: [b.size, c.size], ss=lambda: [b.struct_size, c.struct_size], np=lambda: b.to_numpy(), nps=lambda: b.to_numpy().dtype.name, up=lambda: c.copy_from_numpy(np.arange(4, dtype=np.int32)), c4=lambda: c.to_numpy()[:16].view(np.int32), big=lambda: error(c.copy_from_numpy, np.zeros(100, np.uint8)), mem=lambda: b.desc.memory_type, us=lambda: b.desc.usage == rw, d=lambda: device.create_buffer(desc).size, lab=lambda: device.create_buffer(desc).desc.label,
                dd=lambda: device.create_buffer({"size": 16, "usage": rw}).size, data=lambda: device.create_buffer(data=random(4), usage=rw).size, none=lambda: error(device.create_buffer, usage=rw), addr=lambda: type(b.device_address).__name__, up2=lambda: device.create_buffer(size=16, memory_type=spy.MemoryType.upload, usage=U.copy_source).desc.memory_type, rb=lambda: device.create_buffer(size=16, memory_type=spy.MemoryType.read_back, usage=U.copy_destination).size,
                mism=lambda: fails(device.create_buffer, size=4, data=random(4), usage=rw), fmt=lambda: device.create_buffer(element_count=4, format=spy.Format.r32_float, data=random(4), usage=rw).to_numpy(), cleared=lambda: spy.create_buffer(size=16, usage=rw).size)


@case
def buffer_of_type_layouts(spy, device):
    m = load(spy, device, """
import slangpy;
struct S { float3 p; int n; bool b; }
StructuredBuffer<S> items; RWStructuredBuffer<S> ritems;
float f(StructuredBuffer<S> s, int i) { return s[i].p.y + s[i].n + (s[i].b ? 100 : 0); }
""")
    lay = m.layout.find_type_by_name("StructuredBuffer<S>")
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    tl = m.device_module.layout.get_type_layout(m.device_module.layout.find_type_by_name("StructuredBuffer<S>"))
    b = device.create_buffer(element_count=3, resource_type_layout=tl, usage=usage)
    c = spy.BufferCursor(tl.element_type_layout, b)
    for i in range(3):
        c[i].write({"p": [i, i + 1, i + 2], "n": 10 * i, "b": i == 1})
    c.apply()
    return each(size=lambda: b.size, ss=lambda: b.struct_size, f=lambda: m.f(b, np.arange(3, dtype=np.int32), _result="numpy"), read=lambda: [spy.BufferCursor(tl.element_type_layout, b)[i].read() for i in range(3)], plain=lambda: error(device.create_buffer, element_count=3, resource_type_layout=tl.element_type_layout, usage=usage), l=lambda: lay.full_name)


@case
def copies_by_encoder(spy, device):
    U = spy.BufferUsage
    rw = U.shader_resource | U.unordered_access | U.copy_source | U.copy_destination
    a, b = device.create_buffer(data=random(8), usage=rw), device.create_buffer(size=32, usage=rw)
    e = device.create_command_encoder()
    e.copy_buffer(b, 8, a, 0, 16)
    e.upload_buffer_data(b, 0, np.array([5, 6], np.float32))
    e.push_debug_group("x", [1, 0, 0])
    e.insert_debug_marker("y", [1, 0, 0])
    e.pop_debug_group()
    e.global_barrier()
    device.submit_command_buffer(e.finish())
    first = b.to_numpy().view(np.float32)
    e = device.create_command_encoder()
    e.clear_buffer(a)
    i = device.submit_command_buffer(e.finish())
    device.wait_for_submit(i)
    past = device.create_command_encoder()
    return each(first=lambda: first[:6], a=lambda: a.to_numpy().view(np.float32), done=lambda: device.is_submit_finished(i), id=lambda: type(i).__name__, past=lambda: fails(past.upload_buffer_data, b, 30, np.zeros(4, np.float32)), q=lambda: past.queue, rec=lambda: past.recording_id != 0, fin=lambda: type(past.finish()).__name__, again=lambda: fails(past.finish), after=lambda: fails(past.clear_buffer, a))


@case
def nd_buffers(spy, device):
    m = load(spy, device, ADD)
    if not hasattr(spy, "NDBuffer"):
        return "no NDBuffer"
    b = spy.NDBuffer(device, dtype=m.float, shape=(3, 4))
    b.copy_from_numpy(random(3, 4))
    return m.add(b, 1.0, _result="numpy")
