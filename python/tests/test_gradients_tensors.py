"""Tensors and values with gradients, what is refused, and training over many calls. Features A2, B5, C9."""
import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import slangpy as spy
from gradients_module import ONE, light, m, near, tensor  # noqa: F401: fixtures

pytestmark = pytest.mark.turns(2)  # tests/gpu/test_gradients_*.c have the same subject

# >>tensors with gradients


def test_with_grads(device, tensor):
    """with_grads() makes one gradient for both directions or takes two; the tensor shares its memory, and given gradients stay as they
    are. (Feature A2.)"""
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    assert not hasattr(x, "grad") and x.grad_in is None and x.grad_out is None
    y = x.with_grads()
    assert y.grad is y.grad_in and y.grad is y.grad_out and y.grad.dtype.name == "float" and y.grad.shape == (3,)
    near(y.grad, [0, 0, 0])
    assert not hasattr(x, "grad")
    x.copy_from_numpy(np.array([4, 5, 6], np.float32))
    near(y, [4, 5, 6])
    ones = spy.Tensor.full(device, (3,), 1.0)
    z = y.with_grads(grad_in=ones)
    assert z.grad_in is ones and z.grad is ones and z.grad_out is None
    near(z.grad, [1, 1, 1])  # zero=True clears new gradients only
    both = x.with_grads(ones, ones)
    assert both.grad_in is ones and both.grad_out is ones
    other = x.with_grads(grad_out=ones, zero=False)
    assert other.grad is ones and other.grad_in is None
    d = y.detach()
    assert not hasattr(d, "grad") and type(d) is spy.Tensor
    near(d, [4, 5, 6])
    assert type(spy.NDBuffer(device, float, 3).with_grads()) is spy.NDBuffer
    assert type(spy.NDBuffer(device, float, 3).with_grads().grad) is spy.NDBuffer


@pytest.mark.parametrize("given, expected", [
    (np.array([1, 2, 3], np.float32), [1, 2, 3]), (np.array([1, 2, 3], np.float64), [1, 2, 3]), (np.array([1, 2, 3]), [1, 2, 3]),
    ([1.0, 2.0, 3.0], [1, 2, 3]), ((1, 2, 3), [1, 2, 3]), (0.5, [0.5] * 3), (2, [2] * 3), (np.arange(6, dtype=np.float32)[::2], [0, 2, 4]),
])
def test_gradients_from_numbers(tensor, given, expected):
    """Arrays, lists and numbers become new gradients. (Feature A2.)"""
    near(tensor([7, 8, 9], grad_in=given).grad_in, expected)
    near(tensor([7, 8, 9], grad_out=given).grad_out, expected)


def test_numpy_gradients_are_copies(tensor, m):
    """An array given as a gradient is copied. (Feature A2.)"""
    given = np.zeros(3, np.float32)
    x = tensor([1, 2, 3], grad_out=given)
    m.times.bwds(x, 2.0, _result=ONE)
    near(x.grad, [2, 2, 2])
    assert not given.any()


def test_views(m, tensor):
    """A view's gradients are views of the tensor's gradients. (Feature A2.)"""
    x = tensor(np.arange(12).reshape(3, 4))
    m.times.bwds(x[1], 2.0, _result=ONE)
    m.times.bwds(x[:, ::2], 10.0, _result=ONE)
    expected = np.array([[10, 0, 10, 0], [12, 2, 12, 2], [10, 0, 10, 0]])
    near(x.grad, expected)
    near(x[1].grad, expected[1])
    near(x.reshape(4, 3).grad, expected.reshape(4, 3))
    row = x[2]
    assert row.grad is row.grad_in is row.grad_out
    row.grad.copy_from_numpy(np.full(4, 5.0, np.float32))
    near(x.grad[2], [5] * 4)
    v = tensor(np.zeros((2, 3)), m.float3)
    m.times.bwds(v.flatten_dtype(), 3.0, _result=ONE)
    near(v.grad, np.full((2, 3), 3.0))
    near(v.flatten_dtype().grad, np.full((2, 3), 3.0))


def test_point_to(tensor):
    """A tensor that points to another sees its gradients. (Feature A2.)"""
    x, y = tensor([1, 2]), tensor([3, 4], grad_in=[5, 6])
    assert x.grad_out is not None
    x.point_to(y)
    near(x.grad_in, [5, 6])


def test_clear(m, tensor):
    """clear() of the gradient, also recorded, clears it; clear() of the tensor leaves the gradient. (Feature A2.)"""
    x = tensor([1, 2])
    m.times.bwds(x, 3.0, _result=ONE)
    x.clear()
    near(x.grad, [3, 3])
    x.grad.clear()
    near(x.grad, [0, 0])


def test_other_name(device, m):
    """NDDifferentiableBuffer is another name for a tensor with gradients. (Feature B5.)"""
    b = spy.NDDifferentiableBuffer(device, dtype=m.float, shape=(3,))
    assert isinstance(b, spy.NDDifferentiableBuffer) and isinstance(b, spy.NDBuffer)
    b.copy_from_numpy(np.array([1, 2, 3], np.float32))
    m.times.bwds(b, 2.0, _result=ONE)
    near(b.grad, [2, 2, 2])
    assert not hasattr(b.primal, "grad")
    near(b.primal, [1, 2, 3])
    assert spy.NDDifferentiableBuffer(device, float, 4).grad.shape == (4,)
    assert spy.NDDifferentiableBuffer(device, float, element_count=4, requires_grad=False).grad_in is None
    from slangpy.types import DiffPair, NDDifferentiableBuffer, Tensor, diffPair
    assert NDDifferentiableBuffer is spy.NDDifferentiableBuffer and DiffPair is spy.DiffPair and Tensor and diffPair
    with pytest.raises(TypeError, match="int"):
        spy.NDDifferentiableBuffer(device, int, 4)


def test_storage(device, tensor):
    """Tensor.storage is a Buffer with the bytes of the tensor's or gradient's memory. (Feature A2.)"""
    x = tensor([1, 2, 3])
    assert isinstance(x.storage, spy.Buffer) and x.storage.size == 12
    x.grad.storage.copy_from_numpy(np.array([4, 5, 6], np.float32))
    near(x.grad, [4, 5, 6])
    assert x.storage.to_numpy().view(np.float32).tolist() == [1, 2, 3]
    assert x[::2].storage is x.storage


def test_lifetime(device, m, tensor):
    """A tensor keeps its gradients alive; gradients do not keep their tensor. (Feature A2.)"""
    x = tensor([1, 2, 3])
    grad, gone = x.grad, weakref.ref(x)
    del x
    assert gone() is None
    near(grad, [0, 0, 0])
    gone = weakref.ref(grad)
    y = tensor([1, 2, 3], grad_in=grad)
    del grad
    near(y.grad, [0, 0, 0])
    del y
    assert gone() is None
    device.wait_for_idle()
    used = device.stats()["used_bytes"]
    for _ in range(50):
        t = spy.Tensor.zeros(device, (1000,)).with_grads()
        m.times.bwds(t[10:], 2.0, _result=ONE)
        t[3:].grad, t.detach(), m.times.fwds(t, 2.0).grad
    del t
    device.wait_for_idle()
    assert device.stats()["used_bytes"] <= used


# >>values with gradients


@pytest.mark.parametrize("primal, grad, expected", [
    (3.0, 0.0, 20.0), (3, 0, 20.0), (3.0, 5.0, 20.0), (np.float32(3), np.float32(1), 20.0), (3.0, None, 20.0), (True, False, 12.0),
])
def test_pair_of_numbers(m, primal, grad, expected):
    """bwds() writes the gradient of a pair of numbers, whatever value it had before. (Feature C9.)"""
    x = spy.diffPair(primal, grad)
    m.polynomial.bwds(2, 8, -1, x, _result=spy.diffPair(d=1.0))
    assert x.grad == expected and type(x.grad) is float and x.primal == primal


def test_pair_kinds(m, device):
    """A diffPair takes lists, vectors, arrays and tensors. (Feature C9.)"""
    seed = spy.diffPair(d=spy.float3(1, 2, 3))
    vector = spy.diffPair(spy.float3(1, 2, 3))
    s = spy.diffPair(2.0)
    m.scale.bwds(vector, s, _result=seed)
    assert vector.grad == spy.float3(2, 4, 6) and type(vector.grad) is spy.float3 and s.grad == 14
    ints = spy.diffPair(spy.int3(1, 2, 3), spy.int3(0, 0, 1))
    m.scale.bwds(ints, 2.0, _result=seed)
    assert ints.grad == spy.float3(2, 4, 6)
    numbers = spy.diffPair([1, 2, 3])
    m.scale.bwds(numbers, 2.0, _result=seed)
    assert numbers.grad == [2.0, 4.0, 6.0]
    many = spy.diffPair([[1, 2, 3], [4, 5, 6]])
    m.scale.bwds(many, 2.0, _result=seed)
    assert many.grad == [[2.0, 4.0, 6.0]] * 2
    matrix = spy.diffPair(spy.float4x4.identity())
    m.mulv.bwds(matrix, spy.float4(1, 2, 3, 4), _result=spy.diffPair(d=spy.float4(1, 0, 0, 0)))
    assert type(matrix.grad) is spy.float4x4 and matrix.grad[0] == spy.float4(1, 2, 3, 4) and matrix.grad[1] == spy.float4(0)
    for x in np.arange(4, dtype=np.float32), np.arange(8, dtype=np.float32)[::2]:
        grad = np.ones(len(x) * 2, np.float32)[::2]  # strided arrays are written where they lie
        m.times.bwds(spy.diff_pair(x, grad), 3.0, _result=ONE)
        assert (grad == 4).all()
    t, g = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.float32)), spy.Tensor.zeros(device, (4,))
    pair = spy.diff_pair(t, g)
    m.times.bwds(pair, 3.0, _result=ONE)
    assert pair.grad is g
    near(g, [3] * 4)
    assert spy.diffPair(t).grad.shape == (4,) and spy.diffPair(np.zeros((2, 3))).grad.shape == (2, 3)


def test_pair_of_array_and_number(m):
    """A diffPair may have one gradient for all elements, or one value with a gradient for each element. (Feature C9.)"""
    x = np.arange(1, 5, dtype=np.float32)
    w = spy.diff_pair(3.0, np.zeros(4, np.float32))
    m.times.bwds(x, w, _result=ONE)
    assert w.grad.tolist() == [1, 2, 3, 4]


def test_pairs_elsewhere(m, device):
    """A plain call takes the value of a pair; a pair for a parameter without derivative is a constant; pairs can be packed. (Feature
    C9.)"""
    x = spy.diffPair(3.0, 7.0)
    assert m.polynomial(2, 8, -1, x) == 41 and x.grad == 7.0
    ref = spy.diffPair(3.0, 7.0)
    m.zoom(ref, 2.0)
    assert ref.primal == 6.0 and ref.grad == 7.0
    out = spy.DiffPair(None, 7.0)
    m.times(2.0, 3.0, _result=out)
    assert out.primal == 6.0
    constant, other = spy.DiffPair(3.0, 7.0, needs_grad=False), spy.diff_pair(3.0, None)
    w = spy.diffPair(2.0)
    m.times.bwds(constant, w, _result=ONE)
    m.times.bwds(other, w, _result=ONE)
    assert w.grad == 3 and constant.grad == 7.0 and not constant.needs_grad and not other.needs_grad
    t, g = spy.Tensor.from_numpy(device, np.arange(4, dtype=np.float32)), spy.Tensor.zeros(device, (4,))
    packed = spy.pack(m, spy.diff_pair(t, g))
    m.times.bwds(packed, 3.0, _result=ONE)
    near(g, [3] * 4)
    near(m.times(packed, 2.0), [0, 2, 4, 6])
    carried = spy.pack(m, t.with_grads(grad_out=g))
    m.times.bwds(carried, 3.0, _result=ONE)
    near(g, [6] * 4)
    assert spy.floatDiffPair().primal == 0.0 and spy.floatDiffPair().grad == 1.0 and spy.floatDiffPair(2, 3).grad == 3.0
    assert repr(spy.DiffPair(1.0, 2.0)) == "DiffPair(primal=1.0, grad=2.0)"


def test_forward_results(m, device, tensor):
    """In forward mode values and gradients of the result go to the given objects. (Feature A3.)"""
    x = tensor([1, 2, 3], grad_in=[1, 1, 2])
    got = m.times.fwds(x, 5.0)
    assert got.grad is got.grad_in is got.grad_out
    near(got, [5, 10, 15])
    near(got.grad, [5, 5, 10])
    arrays = m.times.fwds(x, 5.0, _result="numpy")
    assert isinstance(arrays, spy.DiffPair) and arrays.primal.tolist() == [5, 10, 15] and arrays.grad.tolist() == [5, 5, 10]
    assert m.times.fwds.return_type(np.ndarray)(x, 5.0).grad.tolist() == [5, 5, 10]
    assert type(m.times.fwds(x, 5.0, _result=spy.NDBuffer)) is spy.NDBuffer
    scalar = m.times.fwds(spy.diffPair(2.0, 1.0), spy.diffPair(3.0, 10.0))
    assert (scalar.primal, scalar.grad) == (6.0, 23.0)
    pair = spy.diffPair(0.0)
    assert m.times.fwds(spy.diffPair(2.0, 1.0), 3.0, _result=pair) is pair
    assert (pair.primal, pair.grad) == (6.0, 3.0)
    out = tensor(np.zeros(3))
    assert m.times.fwds(x, 5.0, _result=out) is out
    near(out, [5, 10, 15])
    near(out.grad, [5, 5, 10])
    values, grads = np.zeros(3, np.float32), np.zeros(3, np.float32)
    m.times.fwds(x, 5.0, _result=spy.diff_pair(values, grads))
    assert values.tolist() == [5, 10, 15] and grads.tolist() == [5, 5, 10]
    many = spy.DiffPair(None, 0.0)
    m.times.fwds(x, 5.0, _result=many)
    near(many.primal, [5, 10, 15])
    near(many.grad, [5, 5, 10])
    vector = m.scale.fwds(spy.diffPair(spy.float3(1, 2, 3), spy.float3(1, 0, 0)), 2.0)
    assert vector.primal == spy.float3(2, 4, 6) and vector.grad == spy.float3(2, 0, 0)
    encoder = device.create_command_encoder()
    m.times.fwds(x, 7.0, _result=out, _append_to=encoder)
    device.submit_command_buffer(encoder.finish())
    near(out.grad, [7, 7, 14])


# >>errors


def raises(kind, match, function, *args, **kwargs):
    with pytest.raises(kind, match=match) as info:
        function(*args, **kwargs)
    text = str(info.value)
    assert "spy_arg" not in text and "with_grad " not in text and "desc." not in text and "spy_call" not in text
    return text


def test_not_differentiable(m, tensor):
    x = tensor([1, 2, 3])
    text = raises(spy.Error, r"(?s)plain.*not differentiable.*\[Differentiable\]", m.plain.bwds, x, _result=ONE)
    assert "Slang says" in text
    raises(spy.Error, "not differentiable", m.plain.fwds, x)
    # the function has a forward derivative only
    text = raises(spy.Error, r"(?s)only_forward.*not differentiable backward: expected \[Differentiable\], \[BackwardDiff", m.only_forward.bwds, x, _result=ONE)
    assert r"got a function with [ForwardDifferentiable] or [ForwardDerivative] only: fwds() works" in text
    raises(spy.Error, r"(?s)own.*not differentiable forward: .*bwds\(\) works", m.own.fwds, x)


def test_missing_gradients(m, device, tensor):
    x, plain = tensor([1, 2, 3]), spy.Tensor.zeros(device, (3,))
    raises(ValueError, r"'_result' has no gradient.*with_grads\(\).*DiffPair", m.times.bwds, x, 1.0, _result=plain)
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=plain.with_grads(grad_out=plain.with_grads().grad))
    raises(ValueError, r"none of its outputs has a gradient.*with_grads\(\)", m.times.bwds, x, 1.0)
    raises(ValueError, "none of its inputs has a gradient", m.times.bwds, plain, 1.0, _result=ONE)
    raises(ValueError, "'_result': expected a Tensor with gradients or a DiffPair, got 'numpy'", m.times.bwds, x, 1.0, _result="numpy")
    raises(ValueError, "expected a Tensor with gradients", m.times.bwds, x, 1.0, _result=spy.Tensor)
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=spy.ValueRef())
    raises(ValueError, "'_result' has no gradient", m.times.bwds, x, 1.0, _result=np.zeros(3, np.float32))
    raises(ValueError, "none of its inputs has a gradient", m.times.fwds, 2.0, 1.0)
    raises(ValueError, "none of its outputs has a gradient", m.times.fwds, x, 1.0, _result=plain)


def test_wrong_gradients(m, device, tensor):
    x, ints = spy.Tensor.zeros(device, (3,)), spy.Tensor.zeros(device, (3,), int)
    raises(ValueError, r"argument 'grad_in'.*\(3,\).*\(4,\)", x.with_grads, spy.Tensor.zeros(device, (4,)))
    raises(TypeError, "argument 'grad_out'.*float.*int", x.with_grads, grad_out=ints)
    raises(TypeError, "Tensor.with_grads.*int.*no gradients", ints.with_grads)
    raises(ValueError, "argument 'grad_in'.*Shape mismatch", x.with_grads, np.zeros(4))
    raises(TypeError, "argument 'grad_in'.*str", x.with_grads, "a")
    raises(TypeError, "grad_typo", x.with_grads, grad_typo=1)
    small = spy.diff_pair(x, spy.Tensor.zeros(device, (4,)))
    raises(ValueError, r"times: 'x'.*\(3,\).*\(4,\)", m.times.bwds, x=small, w=1.0, _result=ONE)
    raises(ValueError, r"times: expected a gradient of the value's shape \(3,\).*\(4,\)", m.times.bwds, small, 1.0, _result=ONE)
    raises(TypeError, "'x.grad'.*float.*int", m.times.bwds, spy.diff_pair(x, ints), 1.0, _result=ONE)
    raises(TypeError, "'x.grad'.*int", m.times.bwds, spy.diff_pair(x, np.zeros(3, np.int32)), 1.0, _result=ONE)
    raises(TypeError, "'n': int has no gradient", m.times_n.bwds, x.with_grads(), spy.diffPair(3), _result=ONE)
    raises(ValueError, "Shape mismatch", m.times.bwds, x.with_grads(), 1.0, _result=spy.Tensor.zeros(device, (4,)).with_grads())
    raises(TypeError, "Lost.*no gradients.*IDifferentiable", spy.Tensor.zeros(device, (2,), m.Lost).with_grads)
    other = spy.create_device()
    try:
        raises(ValueError, "another device", x.with_grads, spy.Tensor.zeros(other, (3,)))
        raises(ValueError, "another device", m.times.bwds, spy.diff_pair(x, spy.Tensor.zeros(other, (3,))), 1.0, _result=ONE)
    finally:
        other.close()


def test_aliases(m, device, tensor):
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    raises(ValueError, "gradient 'x.grad'.*same memory as 'x'", m.times.bwds, x.with_grads(grad_out=x), 1.0, _result=ONE)
    raises(ValueError, "gradient 'x.grad'.*same memory as 'x'", m.times.bwds, spy.diff_pair(x, x[:]), 1.0, _result=ONE)
    r = tensor([0, 0, 0], grad_in=1)
    shared = x.with_grads(grad_out=r.grad)
    raises(ValueError, "same memory as '_result.grad'", m.times.bwds, shared, 1.0, _result=r)
    numbers, grad = np.ones(3, np.float32), np.zeros(4, np.float32)
    one, two = spy.diff_pair(numbers, grad[:3]), spy.diff_pair(numbers, grad[1:])
    raises(ValueError, "'x.grad' and 'w.grad'.*same host memory", m.times.bwds, one, two, _result=ONE)
    pair = spy.diffPair(3.0)
    raises(ValueError, "times: argument 'w': the DiffPair is another argument too", m.times.bwds, x=pair, w=pair, _result=ONE)
    assert pair.grad == 0.0 and not grad.any()
    near(x, [1, 2, 3])  # the failed calls have not changed x
    near(r.grad, [1, 1, 1])
    same, twice = tensor([3, 4]), spy.diff_pair(tensor([3, 4]), spy.Tensor.zeros(device, (2,)))
    m.times.bwds(same, same, _result=ONE)  # one tensor is given twice, so its gradient is added to twice
    m.times.bwds(twice, twice, _result=ONE)
    near(same.grad, [6, 8])
    near(twice.grad, [6, 8])


def test_pair_misuse(m, device):
    raises(TypeError, "DiffPair: expected a value, a gradient or both, got neither", spy.DiffPair)
    raises(TypeError, "DiffPair: expected a value and its gradient, got a DiffPair", spy.DiffPair, spy.diffPair(1.0), 1.0)
    raises(ValueError, "argument 'x': the DiffPair has no gradient", m.times.bwds, spy.DiffPair(2.0), 1.0, _result=ONE)
    raises(ValueError, "argument '_result': the DiffPair has no gradient", m.times.bwds, spy.diffPair(2.0), 1.0, _result=spy.DiffPair(1.0))
    raises(TypeError, "'x'.*in parameter", m.times.bwds, spy.DiffPair(None, 1.0), 1.0, _result=ONE)
    raises(TypeError, "argument 'x': gradient: Unsupported type.*str", m.times.bwds, x=spy.DiffPair(1.0, "a"), w=1.0, _result=ONE)
    raises(TypeError, "expected a dict for the gradient of a dict", m.shade.bwds, spy.DiffPair(light(), 1.0), 1.0, _result=ONE)
    raises(ValueError, "the gradient has a field 'typo'", m.shade.bwds, spy.DiffPair(light(), {"typo": 1.0}), 1.0, _result=ONE)
    raises(TypeError, "int has no gradient", m.shade.bwds, spy.DiffPair(light(), {"id": 1.0}), 1.0, _result=ONE)
    raises(TypeError, "'off'|no_diff|has no gradient", m.shade.bwds, spy.DiffPair(light(), {"off": 1.0}), 1.0, _result=ONE)
    x = spy.diffPair(2.0)
    del x.grad
    raises(ValueError, "the DiffPair has no gradient", m.times.bwds, x, 1.0, _result=ONE)
    assert repr(x) == "DiffPair(primal=2.0, grad=None)"
    nan = spy.diffPair(1.0)
    m.times.bwds(nan, float("nan"), _result=ONE)
    assert np.isnan(nan.grad)


def test_cycles_are_collected(m):
    """A pair that holds itself in a list, and a function bound to an object that holds the function, are collected."""
    class Holder(list):
        pass

    holder = Holder()
    pair = spy.DiffPair(holder, 1.0)
    holder.append(pair)
    bound = m.Camera.project.bind(holder)
    holder.append(bound.bwds)
    gone = weakref.ref(holder)
    del holder, pair, bound
    gc.collect()
    assert gone() is None


# >>training


def test_training_loop(device, m):
    """A training loop fits a parabola; after its first steps it takes no more memory, on the GPU and in Python, and submits rarely.
    (Feature A1.)"""
    truth = np.array([0.5, -1, 2])
    xs = np.linspace(-2, 2, 500)
    module = spy.Module.load_from_source(device, "training", """
        [Differentiable] float distance(no_diff float x, no_diff float y, float a, float b, float c)
        { float d = a * x * x + b * x + c - y; return d * d; }
        void descend(inout float value, inout float gradient, float rate) { value -= rate * gradient; gradient = 0; }""")
    x = spy.Tensor.from_numpy(device, xs.astype(np.float32))
    y = spy.Tensor.from_numpy(device, np.polyval(truth, xs).astype(np.float32))
    abc = spy.Tensor.zeros(device, (3,)).with_grads()
    a, b, c = abc[0:1], abc[1:2], abc[2:3]
    mean = spy.diffPair(d=1 / len(xs))

    def step():
        loss = module.distance(x, y, a, b, c)
        module.distance.bwds(x, y, a, b, c, _result=mean)
        module.descend(abc, abc.grad, rate=0.1)
        return loss

    for _ in range(50):
        step()
    tracemalloc.start()
    gc.collect()
    device.wait()  # what other tests let go is given back
    before, python = device.stats(), tracemalloc.get_traced_memory()[0]
    for _ in range(1000):
        step()
    gc.collect()
    device.wait()
    after, grown = device.stats(), tracemalloc.get_traced_memory()[0] - python
    tracemalloc.stop()
    for name in "plans_built", "kernels_built", "driver_allocations", "pool_bytes", "used_bytes":
        assert after[name] == before[name], name
    assert after["submits"] - before["submits"] <= 1000
    assert grown < 20000
    near(abc, truth, 1e-3)
    assert step().to_numpy().max() < 1e-5


def test_pairs_leak_nothing(m, device):
    """Calls with pairs, lists and dicts leave no objects behind. (Feature C9.)"""
    def calls():
        for _ in range(200):
            x, v = spy.diffPair(2.0), spy.diffPair([1.0, 2.0, 3.0])
            m.times.bwds(x, 3.0, _result=ONE)
            m.scale.bwds(v, x, _result=spy.diffPair(d=[1.0, 1.0, 1.0]))
            m.shade.bwds(spy.diffPair({k: v for k, v in light().items() if k in ("color", "power", "inner", "_type", "id", "off")},
                                      {"power": 0.0}), 1.0, _result=ONE)
            m.times.fwds(x, 3.0)
            with pytest.raises(TypeError):
                m.times.bwds(spy.DiffPair(1.0, "a"), 1.0, _result=ONE)

    calls()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    calls()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20000


def test_arrays_of_tensors_that_are_passed_whole(load):
    """A backward call adds to the array that is the gradient of a DiffTensor, and does not run where it cannot write there. An RWTensor over
    an array is written, whatever the array's type is."""
    module = load("""import slangpy;
        [Differentiable] float picked(DiffTensor<float, 1> w, no_diff int i, float x) { return w[i] * x; }
        void store(RWTensor<float, 1> w, int i) { w[i] = i + 1; }""")
    w, x, i = np.arange(1, 5, dtype=np.float32), np.full(6, 3, np.float32), np.array([0, 1, 1, 3, 3, 3], np.int32)
    gw, gx = np.full(4, 10, np.float32), np.zeros(6, np.float32)
    pairs, seeds = (spy.diff_pair(w, gw), i, spy.diff_pair(x, gx)), spy.diff_pair(None, np.arange(1, 7, dtype=np.float32))
    module.picked.bwds(*pairs, _result=seeds)
    assert gw.tolist() == [13, 25, 10, 55] and gx.tolist() == [1, 4, 6, 16, 20, 24]
    gw.flags.writeable = False
    with pytest.raises(ValueError, match="picked: argument 'w': gradient: expected an array that can be written, got a read-only one"):
        module.picked.bwds(*pairs, _result=seeds)
    assert gw.tolist() == [13, 25, 10, 55] and gx.tolist() == [1, 4, 6, 16, 20, 24]
    for array in (np.zeros(4, np.float32), np.zeros(8, np.float32)[::2], memoryview(bytearray(16)).cast("f")):
        module.store(array, np.arange(4, dtype=np.int32))
        assert list(array) == [1, 2, 3, 4]


def test_threads(m, device):
    """Several threads make backward calls into one gradient. (Feature D6.)"""
    w = spy.Tensor.full(device, (1,), 1.0).with_grads()
    x = spy.Tensor.full(device, (100,), 1.0)
    errors = []

    def work():
        try:
            for _ in range(50):
                m.times.bwds(x, w, _result=ONE)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    near(w.grad, [20000])


def test_reload(load, device):
    """After a reload derivatives are those of the new text. (Feature M7.)"""
    module = load("[Differentiable] float f(float x) { return 2 * x; }")
    bwds, x = module.f.bwds, spy.Tensor.zeros(device, (2,)).with_grads()
    bwds(x, _result=ONE)
    module.reload("[Differentiable] float f(float x) { return 30 * x; }")
    bwds(x, _result=ONE)
    near(x.grad, [32, 32])
