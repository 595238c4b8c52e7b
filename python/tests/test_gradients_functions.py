"""Gradients of methods, written parameters, tensors that functions take whole, chains of calls, and DifferentialPair<T> as a parameter.
Features A1, A2, B5, L2, L3, L6."""
import numpy as np
import pytest

import slangpy as spy
from gradients_module import ONE, m, near, rand, rng, tensor  # noqa: F401: fixtures

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_gradients_*.c have the same subject

# >>methods


def test_methods(m, device, tensor):
    """Gradients reach `this` given as a dict, a tensor of structs, an InstanceTensor or an InstanceList; static methods and constructors
    have gradients, too. (Feature A1.)"""
    x = rand(3)
    f, c = tensor([2, 3, 4]), tensor([1, 1, 1])
    m.Camera.project.bwds({"_type": "Camera", "f": f, "c": c}, x, _result=ONE)
    near(f.grad, x)
    near(c.grad, [1, 1, 1])
    data = spy.Tensor.from_numpy(device, np.array([(2, 1), (3, 1), (4, 1)], [("f", "f4"), ("c", "f4")]), dtype=m.Camera)
    cameras = spy.InstanceTensor(m.Camera, (3,), data.with_grads())
    cameras.project.bwds(x, _result=ONE)
    near(cameras.tensor.grad.to_numpy(structured=True)["f"], x)
    part = cameras[1:]
    part.project.bwds(x[1:].copy(), _result=spy.diffPair(d=10.0))
    near(cameras.tensor.grad.to_numpy(structured=True)["c"], [1, 11, 11])
    fields = spy.InstanceList(m.Camera, {"f": f, "c": 5.0})
    tx = tensor(x)
    fields.project.bwds(tx, _result=ONE)
    near(f.grad, 2 * x)
    near(tx.grad, [2, 3, 4])
    f.grad.clear()
    near(fields.project.fwds(tensor(x, grad_in=1)).grad, [2, 3, 4])
    assert fields.c == 5.0
    static = tensor(x)
    m.Camera.flat.bwds(static, _result=ONE)
    cameras.flat.bwds(static, _result=ONE)
    near(static.grad, [8, 8, 8])
    made = data.with_grads(grad_in={"f": np.ones(3), "c": np.full(3, 2.0)})
    f.grad.clear()
    m.Camera["__init"].bwds(f, c, _result=made)
    near(f.grad, [1, 1, 1])
    near(c.grad, [3, 3, 3])


def test_mutating_methods(m, tensor):
    """A mutating method's `this` needs both gradients; backward leaves it as it is, forward changes it. (Features A1, V12.)"""
    sums = tensor([10, 10]).detach()
    f = tensor([2, 3], grad_in=[1, 1], grad_out=sums)
    x = tensor([4, 5])
    cameras = spy.InstanceList(m.Camera, {"f": f, "c": 7.0})
    cameras.zoom.bwds(x)
    near(x.grad, [2, 3])
    near(sums, [14, 15])
    near(f, [2, 3])
    assert cameras.c == 7.0
    cameras.c = spy.Tensor.full(x.device, (2,), 7.0)
    cameras.zoom.fwds(tensor([4, 5], grad_in=1))
    near(cameras.c, [7, 7])
    near(f, [8, 15])
    near(sums, [4 + 2, 5 + 3])


# >>parameters that are written


def test_inout(m, tensor):
    """An inout tensor needs two gradients, one that is read and one that is written. (Feature A1.)"""
    y = tensor([2, 3, 4])
    x = tensor([4, 5, 6], grad_in=[1, 2, 3], grad_out=[10, 10, 10])
    assert x.grad is x.grad_out and x.grad is not x.grad_in
    m.zoom.bwds(x, y)
    near(x.grad_out, [12, 16, 22])
    near(y.grad, [4, 10, 18])
    near(x, [4, 5, 6])
    near(x.grad_in, [1, 2, 3])
    with pytest.raises(spy.ArgumentValueError, match="'x' is an inout parameter.*grad_in.*grad_out"):
        m.zoom.bwds(tensor([4, 5, 6]), y)
    pair = spy.diffPair(2.0, 5.0)
    m.zoom.bwds(pair, 3.0)
    assert pair.grad == 15.0


def test_out(m, tensor, device):
    """Gradients of out parameters in tensors and pairs are read; other values for out parameters have no effect. (Features A1, A3.)"""
    x = tensor([1, 2, 3])
    m.two.bwds(x, tensor([0, 0, 0], grad_in=[1, 10, 100]), spy.Tensor.empty(device, (3,)))
    near(x.grad, [2, 40, 600])
    pair = spy.diffPair(3.0)
    a, b = spy.DiffPair(None, 2.0), spy.diffPair(0.0, 5.0)
    m.two.bwds(pair, a, b)
    assert pair.grad == 2 * 6 + 5 * 3
    assert (a.primal, a.grad, b.primal, b.grad) == (None, 2.0, 0.0, 5.0)
    m.two.bwds(pair, spy.ValueRef(), b)
    assert pair.grad == 15
    a, b = spy.DiffPair(None, 0.0), spy.diffPair(0.0)
    assert m.two.fwds(spy.diffPair(3.0, 2.0), a, b) is None
    assert (a.primal, a.grad, b.primal, b.grad) == (9.0, 12.0, 9.0, 6.0)
    assert m.counted.fwds(spy.diffPair(3.0, 2.0), a) == 3  # an int has no gradient
    ta = tensor([0, 0, 0])
    m.two.fwds(tensor([1, 2, 3], grad_in=[1, 1, 2]), ta, spy.Tensor.empty(device, (3,)))
    near(ta, [1, 4, 9])
    near(ta.grad, [2, 4, 12])


# >>tensors that functions take whole


def test_diff_tensors(m, tensor, device):
    """DiffTensor, IDiffTensor, load_once, WDiffTensor and RWDiffTensor have gradients; tensors without gradients are constants.
    (Features L2, L3.)"""
    n = 9
    x = tensor(rand(n))
    xs = x.to_numpy().astype(np.float64)
    w = tensor([2, 3, 5])
    m.gather.bwds(w, range(n), x, _result=ONE)
    values = np.array([2, 3, 5.0])
    expected = np.zeros(3)
    for i in range(n):
        expected[i % 3] += xs[i] * 2
        expected[0] += xs[i] * values[i % 3]
    near(w.grad, expected, 1e-4)
    near(x.grad, values[np.arange(n) % 3] * 2)
    g = tensor([2, 3, 5])
    m.gather_any.bwds(g, range(n), x, _result=ONE)
    near(g.grad, [xs[i::3].sum() for i in range(3)], 1e-4)
    before = x.grad.to_numpy()
    m.gather_any.bwds(g.detach(), range(n), x, _result=ONE)
    near(x.grad.to_numpy() - before, values[np.arange(n) % 3], 1e-4)
    each = tensor(rand(n))
    m.once.bwds(each, range(n), x.detach(), _result=ONE)
    near(each.grad, xs)
    out = tensor(np.zeros(n), grad_in=np.arange(n))
    x.grad.clear()
    m.scatter.bwds(out, range(n), x)
    near(x.grad, 2 * xs * np.arange(n), 1e-4)
    both = tensor(np.full(n, 3.0), grad_in=np.ones(n), grad_out=np.zeros(n))
    m.update.bwds(both, range(n), x)
    near(both.grad_out, xs)
    near(m.gather_any.fwds(tensor([2, 3, 5], grad_in=[1, 0, 0]), range(n), x.detach()).grad, xs * (np.arange(n) % 3 == 0))


# >>chains


def test_chains(m, tensor, device):
    """bwds may come before or after map, set, constants, return_type, thread_group_size and bind. (Features F1, F2.)"""
    a, b = tensor([1, 2, 3]), tensor([10, 20])
    outer = m.times.map((0,), (1,))
    outer.bwds(a, b, _result=ONE)
    m.times.bwds.map(x=(0,), w=(1,))(x=a, w=b, _result=ONE)
    near(a.grad, [60, 60, 60])
    near(b.grad, [12, 12])
    pa, pb = spy.diffPair([1.0, 2.0, 3.0]), spy.diff_pair(np.array([10, 20], np.float32), np.zeros(2, np.float32))
    outer.bwds(pa, pb, _result=ONE)
    assert pa.grad == [30.0, 30.0, 30.0] and list(pb.grad) == [6, 6]
    x = tensor([1, 2])
    m.with_gain.constants({"gain": 5.0}).bwds(x, _result=ONE)
    m.with_gain.bwds.constants({"gain": 7.0})(x, _result=ONE)
    m.with_strength.set(strength=100).bwds(x, _result=ONE)
    m.with_strength.bwds.set({"strength": 1000}).thread_group_size(64)(x, _result=ONE)
    near(x.grad, [1112, 1112])
    v = tensor(rand(4, 3))
    m.length2.map(v="float3").bwds(v, _result=ONE)
    near(v.grad, 2 * v.to_numpy())
    camera = {"_type": "Camera", "f": 2.0, "c": 0.0}
    m.Camera.project.bind(camera).bwds(x, _result=ONE)
    near(x.grad, [1114, 1114])
    assert m.times.bwds is m.times.bwds and m.times.bwds.bwds is m.times.bwds
    assert ".bwds" in repr(m.times.bwds) and ".fwds" in repr(m.times.bwds.fwds)
    m.polynomial.return_type("numpy").bwds(2, 8, -1, x, _result=ONE)
    near(x.grad, [1114 + 12, 1114 + 16])


def test_verbs(m, tensor, device):
    """Derivatives have explain(), resolve(), time(), append_to() and _thread_count, but no dispatch(). (Feature F2.)"""
    x, r = tensor([1, 2, 3]), tensor([0, 0, 0], grad_in=1)
    text = m.times.bwds.explain(x, 3.0, _result=r)
    assert "bwd_diff(spyi_element)" in text and "x.grad" in text
    assert "fwd_diff" in m.times.fwds.explain(tensor([1, 2, 3], grad_in=1), 3.0)
    assert m.times.bwds.resolve(x, 3.0, _result=r).shape == (3,)
    near(x.grad, [0, 0, 0])
    assert m.times.bwds.time(x, 3.0, _result=r) > 0
    near(x.grad, [3, 3, 3])
    encoder = device.create_command_encoder()
    m.times.bwds.append_to(encoder, x, 3.0, _result=r)
    m.times.bwds(x, 3.0, _result=r, _append_to=encoder)
    commands = encoder.finish()
    near(x.grad, [3, 3, 3])
    for _ in range(2):
        device.submit_command_buffer(commands)
    near(x.grad, [15, 15, 15])
    w = spy.diffPair(3.0)
    m.times.bwds(2.0, w, _result=ONE, _thread_count=(4, 5))
    assert w.grad == 40
    with pytest.raises(ValueError, match="a dispatch computes no gradients"):
        m.times.bwds.dispatch(1, x, 3.0)


def test_deterministic(device, m):
    """deterministic() gives the same bits in each run, also for sums of numbers of many magnitudes. (Feature A1.)"""
    n = 1 << 17
    x = (10.0 ** rng.uniform(-6, 6, n) * rng.choice([-1, 1], n)).astype(np.float32)
    t, w = spy.Tensor.from_numpy(device, x), spy.Tensor.full(device, (1,), 1.0).with_grads()
    bits = set()
    for function in (m.times.bwds.deterministic(), m.times.deterministic(enable=True).bwds) * 5:
        w.grad.clear()
        function(t, w, _result=ONE)
        bits.add(w.grad.to_numpy().tobytes())
    assert len(bits) == 1
    wide = x.astype(np.float64)
    for function in m.times.bwds.deterministic(), m.times.bwds.deterministic().deterministic(False):
        w.grad.clear()
        function(t, w, _result=ONE)
        assert abs(w.grad.to_numpy()[0] - wide.sum()) <= 1e-5 * np.abs(wide).sum()
    d = spy.Tensor.zeros(device, (3,)).with_grads()
    with pytest.raises(spy.Error, match="'w'.*deterministic"):
        m.gather.bwds.deterministic()(d, range(3), 1.0, _result=ONE)


# >>pairs as parameters, and kinds in imports

PAIRS = """
float held(DifferentialPair<float> x, float s) { return x.p * s + x.d; }
void advance(inout DifferentialPair<float> x, float s) { x = diffPair(x.p * s, x.d + s); }
struct Lamp : IDifferentiable { float3 color; float power; int id; };
float of_lamp(DifferentialPair<Lamp> l) { return l.p.color.y * l.d.color.y + l.d.power + l.p.id; }
float plain(float x) { return x * 2; }
"""


def test_pair_parameters(device, load):
    """A DifferentialPair<T> parameter takes a DiffPair, a tensor with gradients, or a dict. (Feature B5.)"""
    m = load(PAIRS)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([10, 20, 30], np.float32))
    assert m.held(x, 2.0, _result="numpy").tolist() == [12, 24, 36]
    other = spy.Tensor.from_numpy(device, np.array([4, 5, 6], np.float32))
    assert m.held(spy.DiffPair(x, other), 2.0, _result="numpy").tolist() == [6, 9, 12]
    assert m.held(spy.DiffPair(np.array([1, 2], np.float32), np.array([3, 4], np.float32)), 2.0, _result="numpy").tolist() == [5, 8]
    assert m.held(spy.DiffPair(3.0, 4.0), 2.0) == 10
    assert m.held({"p": 3.0, "d": 4.0}, 2.0) == 10
    assert m.held({"primal": 3.0, "grad": 4.0}, 2.0) == 10
    assert m.held({"p": x, "d": 0.5}, 2.0, _result="numpy").tolist() == [2.5, 4.5, 6.5]
    m.advance(x, 2.0)
    assert x.to_numpy().tolist() == [2, 4, 6] and x.grad_out.to_numpy().tolist() == [12, 22, 32]
    assert m.of_lamp({"p": {"color": [1, 2, 3], "power": 1, "id": 2}, "d": {"color": [4, 5, 6], "power": 7}}) == 19
    assert m.plain(spy.DiffPair(3.0, 4.0)) == 6
    with pytest.raises(TypeError, match=r"'x'.*DifferentialPair<float>.*float number.*DiffPair"):
        m.held(3.0, 2.0)
    with pytest.raises(TypeError, match=r"'x'.*DifferentialPair<float>.*float tensor \(3,\)"):
        m.held(other, 2.0)


PAIRS_INSIDE = """
struct Lamp : IDifferentiable { float3 color; float power; int id; };
struct Mixed { DifferentialPair<float> p; float3 k; float sum() { return p.p * 10 + p.d; } };
struct Outer { Mixed m; DifferentialPair<Lamp> l; DifferentialPair<float> q[2]; };
float of_mixed(Mixed m) { return m.sum() + m.k.y; }
void scale_mixed(inout Mixed m, float s) { m.p = diffPair(m.p.p * s, m.p.d + s); m.k *= s; }
float of_outer(Outer o) { return of_mixed(o.m) + 100 * o.l.d.power + 1000 * o.l.p.color.y + 10000 * o.q[1].d; }
int size<T : IDifferentiable>(DifferentialPair<T> p) { return sizeof(T); }
float dot_all<let N : int>(DifferentialPair<vector<float, N>> p) { return dot(p.p, p.d); }
"""


def test_pairs_in_structs(device, load):
    """A field DifferentialPair<T> of a struct takes nested dicts of pairs, dicts, and tensors with gradients. (Feature B5.)"""
    m = load(PAIRS_INSIDE)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([4, 5, 6], np.float32))
    k = spy.Tensor.from_numpy(device, np.arange(9, dtype=np.float32).reshape(3, 3))
    assert m.of_mixed({"p": spy.DiffPair(3.0, 4.0), "k": [5, 6, 7]}) == 40
    assert m.of_mixed({"p": {"primal": 3.0, "grad": 4.0}, "k": spy.float3(5, 6, 7)}) == 40
    assert m.of_mixed({"p": {"d": 3.0, "p": 4.0}, "k": [5, 6, 7]}) == 49
    assert m.of_mixed({"p": x, "k": k}, _result="numpy").tolist() == [15, 29, 43]
    assert m.Mixed.sum({"p": spy.DiffPair(3.0, 4.0), "k": [5, 6, 7]}) == 34
    lamp = {"p": {"color": [1, 2, 3], "power": 1, "id": 2}, "d": {"color": [4, 5, 6], "power": 7}}
    outer = {"m": {"p": x, "k": k}, "l": lamp, "q": [spy.DiffPair(1.0, 2.0), {"p": 3.0, "d": 4.0}]}
    assert m.of_outer(outer, _result="numpy").tolist() == [42715, 42729, 42743]
    m.scale_mixed({"p": x, "k": k}, 2.0)
    assert x.to_numpy().tolist() == [2, 4, 6] and x.grad_out.to_numpy().tolist() == [6, 7, 8]
    assert k.to_numpy()[2].tolist() == [12, 14, 16]
    with pytest.raises(TypeError, match=r"'m.p'.*DifferentialPair<float>.*float number.*DiffPair"):
        m.of_mixed({"p": 3.0, "k": [5, 6, 7]})
    with pytest.raises(Exception, match=r"'Mixed'.*DifferentialPair.*give its fields one by one"):
        spy.Tensor.empty(device, (3,), m.Mixed)


def test_generic_pairs(device, load):
    """The T of a DifferentialPair<T> parameter comes from the argument, as other generic parameters do. (Feature B5.)"""
    m = load(PAIRS_INSIDE)
    x = spy.Tensor.from_numpy(device, np.array([[1, 2, 3]] * 2, np.float32)).with_grads()
    x.grad_out.copy_from_numpy(np.array([[4, 5, 6]] * 2, np.float32))
    assert m.size(spy.DiffPair(3.0, 4.0)) == 4
    assert m.size({"primal": spy.float3(1, 2, 3), "grad": spy.float3(1, 2, 3)}) == 12
    assert m.size({"p": 1.0, "d": 2.0}) == 4
    assert m.size(x, _result="numpy").tolist() == [[4] * 3] * 2
    assert m.dot_all(x, _result="numpy").tolist() == [32, 32]
    assert m["size<float3>"](x, _result="numpy").tolist() == [12, 12]
    with pytest.raises(TypeError, match=r"'p'.*DifferentialPair<T>.*float number.*DiffPair"):
        m.size(3.0)
    with pytest.raises(TypeError, match=r"'p'.*DifferentialPair<T>.*size<float>"):
        m.size(spy.DiffPair(3, 4))


def test_nested_kinds_in_imports(device, tmp_path):
    """A call of a function with only the other kind of derivative, in an imported module, is refused by name in each mode. (Feature C9.)"""
    (tmp_path / "nested_parts.slang").write_text("""
public [ForwardDifferentiable] void forward_only(float x, out float y) { y = x * x; }
public void by5(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5 * d); }
public [BackwardDerivative(by5)] void backward_only(float x, out float y) { y = x * x; }
public [Differentiable] float deep(float x) { float y; forward_only(x, y); return y; }
""")
    (tmp_path / "nested_main.slang").write_text("""
import nested_parts;
[Differentiable] float f(float x) { float y; forward_only(x, y); return y; }
[Differentiable] float b(float x) { float y; backward_only(x, y); return y; }
[Differentiable] float d(float x) { return deep(x); }
""")
    m = spy.Module.load_from_file(device, str(tmp_path / "nested_main.slang"))
    x = spy.Tensor.from_numpy(device, np.array([3.0], np.float32)).with_grads(zero=True)
    for name, caller in (("f", "f"), ("d", "deep")):
        with pytest.raises(Exception, match="'{}' calls 'forward_only', which is differentiable forward only".format(caller)) as e:
            m[name].bwds(x, _result=spy.diffPair(d=1.0))
        assert "fwds() works" in str(e.value)
    m.b.bwds(x, _result=spy.diffPair(d=1.0))
    assert list(x.grad.to_numpy()) == [5]
    with pytest.raises(Exception, match="'b' calls 'backward_only', which is differentiable backward only"):
        m.b.fwds(x, _result=spy.Tensor.from_numpy(device, np.zeros(1, np.float32)).with_grads(zero=True))
