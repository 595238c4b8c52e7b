"""Calls as nodes of torch's graph (features T1, T2). Needs torch: `make test-torch` gets it. Tensors are on the CPU and the device is
Vulkan's, lavapipe too, so what a call reads and writes is copied; on a CUDA device (SLANGPY_DEVICE_TYPE_OVERRIDE=cuda) they are torch's own
memory. References are torch's own operations; gradcheck runs in double."""
import gc

import pytest
import torch

import slangpy as spy

SOURCE = """
[Differentiable] float poly(float a, float b) { return a * a * b + b; }
[Differentiable] double poly64(double a, double b) { return a * a * b + b * b * b; }
[Differentiable] double3 mix64(double3 a, double3 b, double t) { return a * (1 - t) + b * t * a; }
[Differentiable] void two(float a, out float y, out float z) { y = a * a; z = 3 * a; }
[Differentiable] void update(inout float a) { a = a * a; }
[Differentiable] float4 scaled(float4 v, float s) { return v * s; }
struct Lamp : IDifferentiable { float power; float3 color; }
[Differentiable] float shade(Lamp l, float x) { return l.power * x + dot(l.color, l.color); }
[Differentiable] half low(half a) { return a * a; }
[Differentiable] float line(float x, float slope, float offset) { return slope * x + offset; }
float plain(float a) { return a + 1; }
int whole(int a, float b) { return a + int(b); }
[Differentiable] float picked(int a, float b) { return a * b * b; }
"""


@pytest.fixture(scope="module")
def device():
    kind = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    made = spy.create_torch_device() if kind.type == "cuda" else spy.create_device(spy.DeviceType.vulkan)
    made.torch_kind = kind
    yield made
    made.close()


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "autograd", SOURCE)


def data(device, *shape, dtype=torch.float32, grad=True):
    torch.manual_seed(sum(shape) + 1)
    return torch.rand(shape, dtype=dtype, device=device.torch_kind).add_(0.5).requires_grad_(grad)


def check(made, expected, inputs):
    """Equal values, and equal gradients of a weighted sum."""
    torch.testing.assert_close(made, expected)
    weights = torch.linspace(1, 2, made.numel(), dtype=made.dtype, device=made.device).reshape(made.shape)
    own = torch.autograd.grad((made * weights).sum(), inputs)
    torch.testing.assert_close(own, torch.autograd.grad((expected * weights).sum(), inputs))


def test_a_result_has_the_gradients_of_its_inputs(device, m):
    a, b = data(device, 7), data(device, 7)
    check(m.poly(a, b), a * a * b + b, (a, b))


@pytest.mark.parametrize("shape, other", [((3, 4), (4,)), ((3, 4), (3, 1)), ((2, 3, 4), ()), ((1,), (5,))])
def test_broadcast_inputs_get_sums(device, m, shape, other):
    a, b = data(device, *shape), data(device, *other)
    check(m.poly(a, b), a * a * b + b, (a, b))


def test_only_what_requires_a_gradient_gets_one(device, m):
    a, b = data(device, 5), data(device, 5, grad=False)
    m.poly(a, b).sum().backward()
    torch.testing.assert_close(a.grad, (2 * a * b).detach())
    assert b.grad is None
    assert m.poly(a.detach(), b).__class__ is not torch.Tensor or not m.poly(a.detach(), b).requires_grad


def test_calls_of_numbers_and_keywords(device, m):
    a = data(device, 5)
    check(m.poly(a, b=2.0), a * a * 2 + 2, (a,))
    check(m.poly(a=1.5, b=a), 2.25 * a + a, (a,))


def test_no_grad_before_and_after_of_one_function(device, m):
    a, b = data(device, 5), data(device, 5)
    with torch.no_grad():
        before = m.poly(a, b)
    made = m.poly(a, b)
    assert made.requires_grad
    check(made, a * a * b + b, (a, b))
    with torch.no_grad():
        after = m.poly(a, b)
    for result in (before, after):
        values = result if isinstance(result, torch.Tensor) else result.to_torch()
        assert not values.requires_grad
        torch.testing.assert_close(values, made.detach())


def test_out_tensors_and_given_results_join_the_graph(device, m):
    a = data(device, 6)
    y, z = torch.empty_like(a, requires_grad=False), torch.empty_like(a, requires_grad=False)
    m.two(a, y, z)
    assert y.requires_grad and z.requires_grad
    check(y + z, a * a + 3 * a, (a,))
    given = torch.empty_like(a, requires_grad=False)
    assert m.poly(a, 2.0, _result=given) is given
    check(given, a * a * 2 + 2, (a,))


def test_an_inout_tensor_is_a_runtime_error(device, m):
    with pytest.raises(RuntimeError, match="update: argument 'a': an inout tensor"):
        m.update(data(device, 3))


def test_structs_of_tensors(device, m):
    power, color, x = data(device), data(device, 5, 3), data(device, 5)
    check(m.shade({"power": power, "color": color}, x), power * x + (color * color).sum(-1), (power, color, x))


def test_vectors_and_strides(device, m):
    v, s = data(device, 4, 6), data(device, 6)
    check(m.scaled(v.t(), s), v.t() * s[:, None], (v, s))
    base = data(device, 8)
    check(m.poly(base[::2], base[1::2]), base[::2] ** 2 * base[1::2] + base[1::2], (base,))
    expanded = data(device, 1)
    check(m.poly(expanded.expand(4), 1.0), expanded.expand(4) ** 2 + 1, (expanded,))


def test_half(device, m):
    a = data(device, 9, dtype=torch.float16)
    made = m.low(a)
    made.sum().backward()
    assert made.dtype == torch.float16
    torch.testing.assert_close(a.grad, (2 * a).detach(), atol=2e-3, rtol=2e-3)


def test_integers_beside_it(device, m):
    count = torch.arange(4, dtype=torch.int32, device=device.torch_kind)
    b = data(device, 4)
    check(m.picked(count, b), count * b * b, (b,))


def test_gradcheck_in_double(device, m):
    a, b = data(device, 2, 3, dtype=torch.float64), data(device, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a, b: m.poly64(a, b), (a, b))
    u, v, t = (data(device, *shape, dtype=torch.float64) for shape in ((4, 3), (4, 3), (4,)))
    assert torch.autograd.gradcheck(lambda u, v, t: m.mix64(u, v, t), (u, v, t))


def test_retained_graphs_double_use_and_hooks(device, m):
    a = data(device, 4)
    seen = []
    made = m.poly(a, a)
    made.register_hook(lambda gradient: seen.append(gradient.clone()))
    loss = (made * made).sum()
    loss.backward(retain_graph=True)
    first = a.grad.clone()
    loss.backward()
    torch.testing.assert_close(a.grad, 2 * first)
    assert len(seen) == 2
    check(m.poly(a, a), a ** 3 + a, (a,))


def test_a_second_backward_and_higher_derivatives_are_refused(device, m):
    a = data(device, 4)
    made = m.poly(a, a).sum()
    made.backward()
    with pytest.raises(RuntimeError, match="second time"):
        made.backward()
    (once,) = torch.autograd.grad(m.poly(a, a).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="poly: a second derivative"):
        once.sum().backward()


def test_an_input_that_was_changed_in_between_is_noticed(device, m):
    a, b = data(device, 4), data(device, 4, grad=False)
    made = m.poly(a, b)
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


def test_chains_join_too(device, m):
    a, b = data(device, 3), data(device, 4)
    check(m.poly.map((0,), (1,))(a, b), a[:, None] ** 2 * b + b, (a, b))


def test_parameters_learn(device, m):
    slope = torch.nn.Parameter(torch.tensor(0.0, device=device.torch_kind))
    offset = torch.nn.Parameter(torch.tensor(0.0, device=device.torch_kind))
    x = torch.linspace(-1, 1, 64, device=device.torch_kind)
    target = 3 * x - 0.5
    optimizer = torch.optim.Adam([slope, offset], lr=0.2)
    for _ in range(100):
        optimizer.zero_grad()
        loss = ((m.line(x, slope, offset) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
    assert loss < 1e-3 and abs(slope - 3) < 0.1 and abs(offset + 0.5) < 0.1


def test_functions_without_a_derivative_say_so_at_backward(device, m):
    made = m.plain(data(device, 3))
    with pytest.raises(Exception, match="plain"):
        made.sum().backward()


def test_results_that_are_whole_numbers_have_no_graph(device, m):
    a = torch.arange(3, dtype=torch.int32, device=device.torch_kind)
    assert not getattr(m.whole(a, data(device, 3)), "requires_grad", False)


def test_numpy_results_are_plain(device, m):
    assert m.poly(data(device, 3), 1.0, _result="numpy").shape == (3,)


def test_empty_tensors(device, m):
    a = data(device, 0)
    made = m.poly(a, 1.0)
    assert made.shape == (0,)
    made.sum().backward()
    assert a.grad.shape == (0,)


def test_many_steps_leave_nothing_behind(device, m):
    a = data(device, 16)
    for _ in range(3):
        m.poly(a, a).sum().backward()
    gc.collect()
    before = sum(isinstance(o, torch.Tensor) for o in gc.get_objects())
    for _ in range(200):
        a.grad = None
        m.poly(a, a).sum().backward()
    gc.collect()
    assert sum(isinstance(o, torch.Tensor) for o in gc.get_objects()) <= before + 2


def test_names_of_the_bridge(device):
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    info = spy.extract_torch_tensor_info(t.t())
    assert (info["shape"], info["strides"], info["ndim"], info["scalar_type"], info["is_contiguous"]) == ((3, 2), (1, 3), 2, 6, False)
    assert info["data_ptr"] == t.data_ptr() and info["device_type"] == 0 and not info["requires_grad"]
    assert spy.extract_torch_tensor_signature(t) == "[D2,S6]"
    assert spy.extract_torch_tensor_signature(torch.zeros(2, dtype=torch.int64)) == "[D1,S4]"
    assert spy.is_torch_bridge_available() and not spy.is_torch_bridge_using_fallback()
    with pytest.raises(ValueError, match="not a PyTorch tensor"):
        spy.extract_torch_tensor_info(5)
    buffer = device.create_buffer(size=24, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access)
    assert spy.copy_torch_tensor_to_buffer(t.t(), buffer)
    back = torch.zeros(3, 2)
    assert spy.copy_buffer_to_torch_tensor(buffer, back)
    assert torch.equal(back, t.t()) and torch.equal(spy.create_torch_zeros_like_tensor(back), torch.zeros(3, 2))
