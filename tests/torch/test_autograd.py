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
[Differentiable] void gather(float a, inout float sum) { sum = sum + a * a; }
[Differentiable] float4 scaled(float4 v, float s) { return v * s; }
struct Lamp : IDifferentiable { float power; float3 color; }
[Differentiable] float shade(Lamp l, float x) { return l.power * x + dot(l.color, l.color); }
[Differentiable] half low(half a) { return a * a; }
[Differentiable] float line(float x, float slope, float offset) { return slope * x + offset; }
float plain(float a) { return a + 1; }
[Differentiable] float both(float a, out float y) { y = a * 2; return a * a; }
[Differentiable] float list(float a[3]) { return a[0] * a[1] + a[2]; }
[Differentiable] float2x2 scaled_matrix(float2x2 a, float s) { return a * s; }
struct Sun : IDifferentiable
{
    float power;
    float3 color;
    [Differentiable] float shade(float x) { return power * x + dot(color, color); }
    [Differentiable] [mutating] void dim(float x) { power *= x; }
};
[Differentiable] float of_sun(Sun l, float x) { return l.power * x + dot(l.color, l.color); }
struct Two { float x; float y; };
Two structs(float a) { return { a, a }; }
int whole(int a, float b) { return a + int(b); }
[Differentiable] float picked(int a, float b) { return a * b * b; }
[Differentiable] float constant(no_diff float a, float b) { return a * b * b; }
[Differentiable] float3 turned(float3 v, float3 axis) { return cross(axis, v) + v * v; }
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


def test_a_call_of_numbers_keeps_its_graph(device, m):
    """Without dimensions a call gives a number otherwise, which has no graph."""
    a, b = data(device), data(device)
    made = m.poly(a, b)
    assert made.shape == () and made.requires_grad
    check(made, a * a * b + b, (a, b))
    v = data(device, 3)
    made = m.list(v)
    check(made, v[0] * v[1] + v[2], (v,))


def test_a_result_beside_out_tensors(device, m):
    a = data(device, 4)
    for use in (lambda r, y: r.sum() + 3 * y.sum(), lambda r, y: y.sum(), lambda r, y: r.sum()):
        y = torch.empty_like(a, requires_grad=False)
        made = m.both(a, y)
        (own,) = torch.autograd.grad(use(made, y), a)
        (right,) = torch.autograd.grad(use(a * a, 2 * a), a)
        torch.testing.assert_close(own, right)


def test_arrays_and_matrices(device, m):
    a, s = data(device, 5, 2, 2), data(device, 5)
    check(m.scaled_matrix(a, s), a * s[:, None, None], (a, s))
    a = data(device, 5, 3)
    check(m.list(a), a[:, 0] * a[:, 1] + a[:, 2], (a,))


def test_instance_lists(device, m):
    """As an argument and as the instance of a method; with parameters of a module among the fields."""
    power, color, x = torch.nn.Parameter(data(device, 4)), data(device, 4, 3), data(device, 4)
    suns = spy.InstanceList(m.Sun, {"power": power, "color": color})
    for made in (suns.shade(x), m.of_sun(suns, x)):
        check(made, power * x + (color * color).sum(-1), (power, color, x))
    suns.power = data(device, 1)
    check(suns.shade(x), suns.power * x + (color * color).sum(-1), (suns.power, color, x))
    one = spy.InstanceList(m.Sun, {"power": 2.0, "color": color})
    check(one.shade(x), 2 * x + (color * color).sum(-1), (color, x))
    suns.power = data(device, 4)
    with pytest.raises(RuntimeError, match="dim: argument 'this.power': an inout tensor"):
        suns.dim(x)


def test_bfloat16(device, m):
    """It goes in as float, and its gradient is bfloat16 again."""
    a = data(device, 9, dtype=torch.bfloat16)
    made = m.poly(a, 2.0)
    made.sum().backward()
    assert made.dtype == torch.float32 and a.grad.dtype == torch.bfloat16
    torch.testing.assert_close(a.grad, (4 * a).detach(), atol=0.05, rtol=0.01)
    out = torch.zeros_like(a, requires_grad=False)
    m.poly(a, 2.0, _result=out)
    torch.testing.assert_close(out, (a * a * 2 + 2), atol=0.05, rtol=0.01)
    assert out.requires_grad
    plain, y = a.detach(), torch.zeros_like(a, requires_grad=False)
    made = m.poly(plain, 2.0)
    torch.testing.assert_close(made if isinstance(made, torch.Tensor) else made.to_torch(), plain.float() ** 2 * 2 + 2)
    m.both(plain, y)
    torch.testing.assert_close(y, 2 * plain)
    m.both(a, y)
    assert y.requires_grad


def test_autocast_and_scaling(device, m):
    kind = device.torch_kind.type
    layer = torch.nn.Linear(4, 4, device=kind)
    x = data(device, 3, 4, grad=False)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast(kind, dtype=dtype):
            hidden = layer(x)
            made = m.poly(hidden, 1.0)
        assert hidden.dtype == dtype and made.dtype == torch.float32
        (own,) = torch.autograd.grad((made * 1024).sum() / 1024, layer.weight, retain_graph=True)
        (right,) = torch.autograd.grad((hidden.float() ** 2 + 1).sum(), layer.weight)
        torch.testing.assert_close(own, right, atol=0.1, rtol=0.05)


def test_views_are_written(device, m):
    a, base = data(device, 4), torch.zeros(2, 4, device=device.torch_kind)
    m.poly(a, 1.0, _result=base[1])
    weights = torch.arange(8.0, device=device.torch_kind).reshape(2, 4)
    (base * weights).sum().backward()
    torch.testing.assert_close(base.detach(), torch.stack([torch.zeros_like(a), a * a + 1]).detach())
    torch.testing.assert_close(a.grad, (2 * a * weights[1]).detach())


def test_views_are_read_and_written(device, m):
    """An inout parameter adds to what the view held; the derivative of such a call is asked for in another way, as the error says."""
    a, base = data(device, 4), torch.ones(2, 4, device=device.torch_kind)
    m.gather(a, base[1])
    torch.testing.assert_close(base.detach(), torch.stack([torch.ones_like(a), a * a + 1]).detach())
    with pytest.raises(spy.Error, match="(?s)gather: .*inout parameter, which has two gradients"):
        base.sum().backward()


@pytest.mark.parametrize("make, error, words", [
    (lambda a: (a * 1,) * 2, RuntimeError, "poly: argument '_result': it is written where another argument lies"),
    (lambda a: (a, torch.zeros_like(a, requires_grad=True)), RuntimeError, "poly: argument '_result': it is written, and a leaf of torch's graph"),
    (lambda a: (a, torch.zeros(1, device=a.device).expand(4)), ValueError, r"poly: argument '_result': it is written, and several of its elements share memory"),
    (lambda a: (a, torch.zeros(5, device=a.device)), ValueError, "poly"),
    (lambda a: (a, torch.zeros(4, dtype=torch.complex64, device=a.device)), TypeError, "poly"),
    (lambda a: (torch.empty(4, device="meta", requires_grad=True), None), RuntimeError, "poly: a tensor without data"),
    (lambda a: (torch.eye(4, device=a.device).to_sparse().requires_grad_(), None), TypeError, "poly: argument 'a': .*layout"),
])
def test_what_cannot_join_is_refused_by_name(device, m, make, error, words):
    """And what would be written stays as it was."""
    a = data(device, 4)
    given, result = make(a)
    before = None if result is None else result.detach().clone()
    with pytest.raises(error, match="(?s)" + words):
        m.poly(given, 1.0, _result=result)
    assert result is None or torch.equal(result.detach(), before)


def test_gradients_of_wrong_shape_and_whole_numbers(device, m):
    made = m.poly(data(device, 4), 1.0)
    with pytest.raises(RuntimeError, match="(?i)mismatch in shape"):
        made.backward(torch.ones(3, device=made.device))
    with pytest.raises(RuntimeError, match="floating point"):
        torch.zeros(3, dtype=torch.int32, requires_grad=True)


def test_transforms_of_torch_func_are_refused_by_name(device, m):
    x = data(device, 3, 4, grad=False)
    with pytest.raises(RuntimeError, match="poly: torch.func.vmap cannot look into a call"):
        torch.func.vmap(lambda x: m.poly(x, 1.0))(x)
    for use in (lambda: torch.func.grad(lambda x: m.poly(x, 1.0).sum())(x), lambda: torch.func.jvp(lambda x: m.poly(x, 1.0), (x,), (x,))):
        with pytest.raises(RuntimeError, match=r"poly: a transform of torch.func \(grad, jvp"):
            use()


def test_backward_calls_with_pairs(device, m):
    """.bwds adds to the gradients of diff_pair(); .fwds reads them as a direction."""
    a, b = data(device, 4, grad=False), data(device, 4, grad=False)
    own, seed = torch.full_like(a, 7), torch.rand_like(a)
    m.poly.bwds(spy.diff_pair(a, own), b, _result=spy.diff_pair(torch.empty_like(a), seed))
    torch.testing.assert_close(own, 7 + 2 * a * b * seed)
    with pytest.raises(Exception, match="poly: argument 'a': it requires a gradient"):
        m.poly.bwds(data(device, 4), b, _result=spy.diff_pair(seed, seed))


def test_checkpoints_anomalies_and_threads(device, m):
    import threading

    from torch.utils.checkpoint import checkpoint

    a = data(device, 4)
    checkpoint(lambda x: m.poly(x, 2.0), a, use_reentrant=False).sum().backward()
    torch.testing.assert_close(a.grad, (4 * a).detach())
    with torch.autograd.detect_anomaly(check_nan=True):
        check(m.poly(a, 2.0), a * a * 2 + 2, (a,))
    wrong = []

    def work(number):
        own = (a.detach() + number).requires_grad_()
        for _ in range(5):
            own.grad = None
            m.poly(own, 2.0).sum().backward()
            if not torch.allclose(own.grad, 4 * own.detach()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_functions_call_it_between_their_parts(device, m):
    """torch.compile breaks its graph there; torch_op() avoids that (test_ops.py)."""
    a = data(device, 4)
    compiled = torch.compile(lambda x: m.poly(x * 2, 1.0) + 1, backend="aot_eager")
    check(compiled(a), 4 * a * a + 2, (a,))


def test_results_of_structs_have_no_graph(device, m):
    made = m.structs(data(device, 3))
    assert isinstance(made, spy.Tensor) and made.shape == (3,)


def test_tensors_of_another_api_go_through_the_host(device, m):
    """As on a Vulkan device with tensors in CUDA memory; here with tensors on the CPU, whose copies are made all the same."""
    from slangpy import autograd

    def call(function, *args, **kwargs):
        tensors = []
        taken = autograd._Call(function, None, autograd._take(args, tensors, torch.Tensor), autograd._take(kwargs, tensors, torch.Tensor))
        return autograd._through_host(taken, tensors, autograd._look_at(function)[0], torch)

    a, b = data(device, 3, 4), data(device, 4)
    m.poly(a, b)
    check(call(m.poly, a, b), a * a * b + b, (a, b))
    y, out = torch.empty_like(a, requires_grad=False), torch.empty_like(a, requires_grad=False)
    check(call(m.both, a, y) + y, a * a + 2 * a, (a,))
    assert call(m.poly, a, b, _result=out) is out
    check(out, a * a * b + b, (a, b))
    with torch.no_grad():
        torch.testing.assert_close(call(m.poly, a, b), a * a * b + b)


def test_a_vulkan_device_for_torch():
    with spy.create_torch_device(spy.DeviceType.vulkan) as made:
        assert made.info.type == spy.DeviceType.vulkan
        kind = "cuda" if torch.cuda.is_available() else "cpu"
        double = spy.Module.load_from_source(made, "double", "[Differentiable] float twice(float x) { return 2 * x; }").twice
        x = torch.rand(5, device=kind, requires_grad=True)
        result = double(x)
        result.sum().backward()
        assert result.device == x.device and torch.equal(result, 2 * x) and torch.equal(x.grad, torch.full_like(x, 2))
        out = torch.zeros(5, device=kind)
        assert double(x.detach(), _result=out) is out
        assert torch.equal(out, result.detach())


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


# >>calls that are like an earlier one need no Python code of ours; what is wrong with them is said as before

def repeated(device, m):
    """A function whose form of call is known, with the arguments (Tensor, float)."""
    for _ in range(2):
        m.poly(data(device, 4), 2.0)
    return m.poly


def without_python(monkeypatch):
    """From here on a call that goes through slangpy.autograd fails."""
    from slangpy import autograd

    def refuse(*args):
        raise AssertionError("slangpy.autograd was asked")

    monkeypatch.setattr(autograd, "call", refuse)
    monkeypatch.setattr(autograd, "backward_again", refuse)


def test_a_repeated_call_needs_no_python(device, m, monkeypatch):
    if device.info.type == spy.DeviceType.vulkan and device.torch_kind.type == "cuda":
        pytest.skip("tensors of another API are copied by Python's half")
    a, b, n = data(device, 3, 4), data(device, 4), torch.nn.Parameter(data(device, 4).detach())
    for call in (lambda: m.poly(a, b), lambda: m.poly(b, 2.0), lambda: m.poly(a=a, b=b), lambda: m.poly(a, n)):
        call()
    without_python(monkeypatch)
    check(m.poly(a, b), a * a * b + b, (a, b))
    check(m.poly(a, n), a * a * n + n, (a, n))
    check(m.poly(b, 3.0), b * b * 3 + 3, (b,))
    check(m.poly(data(device, 2, 3, 4, grad=False), b), data(device, 2, 3, 4, grad=False) ** 2 * b + b, (b,))
    c = data(device)  # other ranks, and a call of numbers
    check(m.poly(c, b), c * c * b + b, (c, b))
    assert m.poly(c, data(device)).shape == ()
    check(m.poly(a.t(), 2.0), a.t() ** 2 * 2 + 2, (a,))
    (one,) = torch.autograd.grad(m.poly(a, b).sum(), a)  # an expanded gradient
    torch.testing.assert_close(one, (2 * a * b).detach())


def test_gradients_that_are_switched_on_and_off(device, m, monkeypatch):
    poly = repeated(device, m)
    a = data(device, 4, grad=False)
    right = a * a * 2 + 2
    for _ in range(2):
        plain = poly(a, 2.0)
        assert not getattr(plain, "requires_grad", False)
        made = poly(a.requires_grad_(), 2.0)
        check(made, a * a * 2 + 2, (a,))
        with torch.no_grad():
            assert not getattr(poly(a, 2.0), "requires_grad", False)
        with torch.inference_mode():
            assert not getattr(poly(a, 2.0), "requires_grad", False)
        a.requires_grad_(False)
        torch.testing.assert_close(made.detach(), right)


@pytest.mark.parametrize("make, error, words", [
    (lambda a: (a.to(torch.complex64), 2.0), TypeError, "poly: argument 'a'"),
    (lambda a: (a.double(), 2.0), Exception, None),
    (lambda a: (a, "x"), TypeError, "poly: argument 'b': Unsupported type"),
    (lambda a: (torch.empty(4, device="meta", requires_grad=True), 2.0), RuntimeError, "poly: a tensor without data"),
    (lambda a: (torch.eye(4, device=a.device).to_sparse().requires_grad_(), 2.0), TypeError, "poly: argument 'a': .*layout"),
])
def test_what_is_wrong_after_good_calls_is_said_as_before(device, m, make, error, words):
    """With the same error as of a function that was not called before."""
    poly, new = repeated(device, m), spy.Module.load_from_source(device, "autograd_new", "[Differentiable] float poly(float a, float b) { return a * a * b + b; }").poly
    arguments = make(data(device, 4))
    said = []
    for function in (poly, new):
        try:
            function(*arguments)
            said.append("")
        except error as raised:
            said.append("{}: {}".format(type(raised).__name__, raised).replace("autograd_new", "autograd"))
    assert said[0] == said[1], said
    if words is not None:
        import re
        assert re.search("(?s)" + words, said[0]), said


def test_shapes_that_do_not_meet_and_gradients_of_wrong_shape_after_good_calls(device, m):
    a, b = data(device, 4), data(device, 4)
    for _ in range(3):
        m.poly(a, b)
    with pytest.raises(ValueError, match="(?s)poly: .*(5|4)"):
        m.poly(data(device, 5), b)
    made = m.poly(a, b)
    with pytest.raises(RuntimeError, match="(?i)mismatch in shape"):
        made.backward(torch.ones(3, device=made.device))
    b.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()
    made = m.poly(a, b)
    made.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        made.sum().backward()
    (once,) = torch.autograd.grad(m.poly(a, b).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="poly: a second derivative"):
        once.sum().backward()
    plain = m.plain(a)
    plain = m.plain(a)
    with pytest.raises(Exception, match="plain"):
        plain.sum().backward()


def test_tensors_of_a_call_live_no_longer_than_its_graph(device, m):
    import weakref

    poly = repeated(device, m)
    a = data(device, 4) * 1
    seen = weakref.ref(a)
    made = poly(a, 2.0)
    del a
    gc.collect()
    made.sum().backward()
    del made
    gc.collect()
    assert seen() is None


def test_a_reload_is_noticed(device):
    module = spy.Module.load_from_source(device, "again", "[Differentiable] float f(float a, float b) { return a * b; }")
    function, a = module.f, data(device, 4)
    for _ in range(3):
        check(function(a, 3.0), a * 3, (a,))
    module.reload("[Differentiable] float f(float a, float b) { return a * a * b; }")
    for _ in range(3):
        check(function(a, 3.0), a * a * 3, (a,))


def test_a_repeated_call_leaves_no_objects(device, m):
    """Memory blocks of Python that 1,000 calls leave behind, and objects that the garbage collector looks after."""
    import sys

    x, seed = data(device, 16), torch.ones(16, device=device.torch_kind)

    def step():
        x.grad = None
        m.poly(x, 2.0).backward(seed)

    for _ in range(20):
        step()
    gc.collect()
    before, tracked = sys.getallocatedblocks(), len(gc.get_objects())
    for _ in range(1000):
        step()
    gc.collect()
    more = sys.getallocatedblocks() - before
    assert more < 900 and len(gc.get_objects()) - tracked < 20, more


# >>gradients are stored into new memory, or added to zeros where several elements share one

@pytest.fixture
def poisoned():
    """Memory that torch does not set to anything is full of NaN."""
    before, filled = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert torch.empty_like(torch.ones(3)).isnan().all()
    yield
    torch.use_deterministic_algorithms(before)
    torch.utils.deterministic.fill_uninitialized_memory = filled


def plain(device, *shape, **more):
    return data(device, *shape, grad=False, **more)


GRADIENTS = {
    "one shape": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 3, 4), data(d, 3, 4))),
    "a number": lambda d, m: (lambda a: m.poly(a, 2.0), lambda a: a * a * 2 + 2, (data(d, 7),)),
    "no dimensions": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d), data(d))),
    "one element": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 1), data(d, 1, 1))),
    "many": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 300, 33), data(d, 300, 33))),
    "broadcast": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 3, 4), data(d, 4))),
    "both broadcast": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 3, 1), data(d, 1, 4))),
    "broadcast to a constant": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 4), plain(d, 3, 4))),
    "one wants": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (data(d, 3, 4), plain(d, 4))),
    "twice": lambda d, m: (lambda a: m.poly(a, a), lambda a: a * a * a + a, (data(d, 5),)),
    "transposed": lambda d, m: (lambda a, b: m.poly(a.t(), b), lambda a, b: a.t() * a.t() * b + b, (data(d, 3, 4), data(d, 4, 3))),
    "strides": lambda d, m: (lambda a: m.poly(a[::2], a[1::2]), lambda a: a[::2] * a[::2] * a[1::2] + a[1::2], (data(d, 8),)),
    "expanded": lambda d, m: (lambda a, b: m.poly(a.expand(4), b), lambda a, b: a * a * b + b, (data(d, 1), data(d, 4))),
    "vectors": lambda d, m: (m.turned, lambda v, w: torch.linalg.cross(w, v) + v * v, (data(d, 5, 3), data(d, 5, 3))),
    "vectors with strides": lambda d, m: (lambda v, w: m.turned(v.t(), w), lambda v, w: torch.linalg.cross(w, v.t()) + v.t() * v.t(), (data(d, 3, 5), data(d, 5, 3))),
    "one vector": lambda d, m: (m.turned, lambda v, w: torch.linalg.cross(w.expand(5, 3), v) + v * v, (data(d, 5, 3), data(d, 3))),
    "matrices": lambda d, m: (m.scaled_matrix, lambda a, s: a * s[:, None, None], (data(d, 5, 2, 2), data(d, 5))),
    "arrays": lambda d, m: (m.list, lambda a: a[:, 0] * a[:, 1] + a[:, 2], (data(d, 5, 3),)),
    "integers beside it": lambda d, m: (lambda b: m.picked(torch.arange(4, dtype=torch.int32, device=b.device), b), lambda b: torch.arange(4, device=b.device) * b * b, (data(d, 4),)),
    "double": lambda d, m: (m.poly64, lambda a, b: a * a * b + b * b * b, (data(d, 6, dtype=torch.float64), data(d, 6, dtype=torch.float64))),
    "a parameter": lambda d, m: (m.poly, lambda a, b: a * a * b + b, (torch.nn.Parameter(plain(d, 4)), data(d, 4))),
    "mapped": lambda d, m: (m.poly.map((0,), (1,)), lambda a, b: a[:, None] ** 2 * b + b, (data(d, 3), data(d, 4))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_no_gradient_depends_on_what_its_memory_held(device, m, poisoned, name):
    made, expected, inputs = GRADIENTS[name](device, m)
    for _ in range(4):  # the first call is made by Python, the second is the first to be repeated
        check(made(*inputs), expected(*inputs), tuple(i for i in inputs if i.requires_grad))


def test_a_gradient_to_which_the_function_adds(device, poisoned):
    source = "import slangpy;\n[Differentiable] float gathered(DiffTensor<float, 1> w, no_diff int i, float x) { return w[i % 3] * x; }"
    gathered = spy.Module.load_from_source(device, "autograd_adds", source).gathered
    w, x, i = data(device, 3), data(device, 6), torch.arange(6, dtype=torch.int32, device=device.torch_kind)
    for _ in range(4):
        check(gathered(w, i, x), w[i.long() % 3] * x, (w, x))


def test_a_tensor_that_is_passed_whole_is_written(device):
    store = spy.Module.load_from_source(device, "autograd_stores", "import slangpy;\nvoid store(RWTensor<float, 1> w, int i) { w[i] = i + 1; }").store
    w = torch.zeros(4, device=device.torch_kind)
    store(w, torch.arange(4, dtype=torch.int32, device=device.torch_kind))
    assert w.tolist() == [1, 2, 3, 4]


def test_a_tensor_is_filled_from_one_of_torch(device):
    made = spy.Tensor.zeros(device, shape=(2, 3), dtype="float")
    other = torch.arange(6, device=device.torch_kind).reshape(3, 2).t()
    made.copy_from_torch(other)
    assert made.to_numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(ValueError, match="copy_from_torch: .*expected 6 numbers, got 5"):
        made.copy_from_torch(torch.zeros(5, device=device.torch_kind))


def test_a_no_diff_parameter_has_a_gradient_of_zeros(device, m, poisoned):
    a, b = data(device, 4), data(device, 4)
    for _ in range(4):
        own = torch.autograd.grad(m.constant(a, b).sum(), (a, b), allow_unused=True)
        assert own[0] is None or torch.equal(own[0], torch.zeros_like(a))
        torch.testing.assert_close(own[1], (2 * a * b).detach())


def test_empty_tensors_among_others(device, m, poisoned):
    a, b = data(device, 0), data(device, 1)
    for _ in range(4):
        own = torch.autograd.grad(m.poly(a, b).sum(), (a, b))
        assert own[0].shape == (0,) and torch.equal(own[1], torch.zeros_like(b))


def test_shapes_that_change_between_calls(device, m, poisoned):
    """Gradients of one form of call are sums in some calls, and not in others."""
    shapes = [((4,), (4,)), ((3, 4), (4,)), ((3, 4), (3, 4)), ((4,), ()), ((2, 4), (2, 4)), ((1,), (5,)), ((5,), (5,))]
    for _ in range(2):
        for first, second in shapes:
            a, b = data(device, *first), data(device, *second)
            check(m.poly(a, b), a * a * b + b, (a, b))
            check(m.poly(a, b.detach()), a * a * b.detach() + b.detach(), (a,))


def test_what_is_set_to_zero(device, m):
    """Only the gradients of calls whose elements share some; each form of call is tried once."""
    if device.info.type == spy.DeviceType.vulkan and device.torch_kind.type == "cuda":
        pytest.skip("tensors of another API are copied by Python's half")
    from slangpy import _slangpy

    poly = spy.Module.load_from_source(device, "autograd_zero", "[Differentiable] float poly(float a, float b) { return a * a * b + b; }").poly
    zeroed, a, b, c = [], data(device, 3, 4), data(device, 3, 4), data(device, 4)
    poly(a, b)
    forward = type(poly(a, b).grad_fn)._forward_cls  # of calls that C repeats
    parts = [(torch.Tensor, torch.nn.Parameter), super(torch.autograd.Function, forward).apply, torch.is_grad_enabled,
             torch._C._are_functorch_transforms_active, torch.zeros_like, torch.empty_like]

    def passes(*inputs):
        zeroed.clear()
        check(poly(*inputs), inputs[0] * inputs[0] * inputs[1] + inputs[1], inputs)
        return len(zeroed)

    _slangpy._autograd_ready(*parts[:4], lambda t: zeroed.append(t) or torch.zeros_like(t), parts[5])
    try:
        assert [passes(a, b), passes(a, c), passes(a, c), passes(a, b), passes(c, c.detach().requires_grad_())] == [0, 2, 2, 0, 0]
    finally:
        _slangpy._autograd_ready(*parts)
    assert passes(a, c) == 0


def test_accumulated_gradients_and_shared_results(device, m, poisoned):
    """Gradients add up over steps, and a gradient that a user holds is not written again."""
    a = data(device, 4)
    m.poly(a, 2.0)
    m.poly(a, 2.0).sum().backward()
    held, right = a.grad, 4 * a.detach()
    torch.testing.assert_close(held, right)
    a.grad = None
    made = m.poly(a, 2.0)
    (made.sum() + made.sum()).backward(retain_graph=True)
    torch.testing.assert_close(a.grad, 2 * right)
    torch.testing.assert_close(held, right)
    made.sum().backward()
    torch.testing.assert_close(a.grad, 3 * right)
    assert a.grad.data_ptr() != held.data_ptr()


# >>what users do with the node of a call, of a first call and of repeated ones

def nodes(device, m):
    """The results of a first call of a new function and of later ones, with their input."""
    poly = spy.Module.load_from_source(device, "autograd_new", "[Differentiable] float poly(float a) { return a * a * 2 + 3; }").poly
    for _ in range(3):
        a = data(device, 4)
        yield a, poly(a)


def test_hooks_see_the_gradient_of_the_result(device, m):
    for a, made in nodes(device, m):
        seen, inputs = [], []
        made.register_hook(lambda g, seen=seen: seen.append(g.clone()) or 2 * g)
        made.grad_fn.register_prehook(lambda gs, seen=seen: seen.append(gs[0].clone()))
        made.grad_fn.register_hook(lambda given, got, inputs=inputs: inputs.append((given, got)))
        made.retain_grad()
        (3 * made).sum().backward()
        torch.testing.assert_close(seen, [torch.full_like(a, 3).detach(), torch.full_like(a, 6).detach()])
        torch.testing.assert_close(made.grad, torch.full_like(a, 6).detach())  # retain_grad sees what hooks have changed
        torch.testing.assert_close(a.grad, (4 * a * 6).detach())
        assert len(inputs) == 1 and torch.equal(inputs[0][1][0], made.grad)


def test_names_and_neighbours_of_a_node(device, m):
    for a, made in nodes(device, m):
        assert made.grad_fn.name() == "SlangCallBackward" and not made.is_leaf and not made._is_view()
        assert any(after is not None and after.variable is a for after, _ in made.grad_fn.next_functions)


def test_a_torch_without_the_method_apply(device, m, poisoned):
    """The class of torch's node has apply() from C. Without it torch's own, in Python, calls backward()."""
    poly, a = repeated(device, m), data(device, 4)
    node = type(poly(a, 2.0).grad_fn)
    own = node.__dict__["apply"]
    del node.apply
    try:
        for _ in range(2):
            check(poly(a, 2.0), a * a * 2 + 2, (a,))
        with pytest.raises(RuntimeError, match="poly: a second derivative"):
            torch.autograd.grad(poly(a, 2.0).sum(), a, create_graph=True)[0].sum().backward()
    finally:
        node.apply = own
    check(poly(a, 2.0), a * a * 2 + 2, (a,))
    with pytest.raises(TypeError):
        own(a)
    with pytest.raises(TypeError, match="apply: expected one gradient, got 2"):
        poly(a, 2.0).grad_fn.apply(a, a)


def test_results_are_changed_and_copied(device, m):
    import copy
    import io
    import pickle

    for a, made in nodes(device, m):
        made.add_(1).mul_(2)
        (own,) = torch.autograd.grad(made.sum(), a)
        torch.testing.assert_close(own, (8 * a).detach())
        plain = copy.deepcopy(made.detach())
        assert torch.equal(pickle.loads(pickle.dumps(made.detach())), plain)
        file = io.BytesIO()
        torch.save(made.detach(), file)
        file.seek(0)
        assert torch.equal(torch.load(file), plain)


def test_gradients_asked_for_on_the_way(device, m):
    for a, made in nodes(device, m):
        own = torch.autograd.grad((made * made).sum(), (made, a), retain_graph=True)
        torch.testing.assert_close(own, ((2 * made).detach(), (2 * made * 4 * a).detach()))
        edge = torch.autograd.graph.get_gradient_edge(made)
        assert edge.node is made.grad_fn
        with torch.no_grad():
            assert not (made + 1).requires_grad
        made.backward(torch.ones_like(made), inputs=[a])
        torch.testing.assert_close(a.grad, (4 * a).detach())


def test_saved_tensors_are_torchs_own(device, m):
    """Hooks for saved tensors get the inputs, checkpoints recompute, and a freed graph says so in torch's words."""
    from torch.utils.checkpoint import checkpoint

    for a, made in nodes(device, m):
        made.sum().backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            made.sum().backward()
    poly = spy.Module.load_from_source(device, "autograd_saved", "[Differentiable] float poly(float a) { return a * a * 2 + 3; }").poly
    for _ in range(3):
        a, packed = data(device, 4), []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
            made = poly(a)
        assert len(packed) == 1 and packed[0] is a
        made.sum().backward()
        with torch.autograd.graph.save_on_cpu():
            made = poly(a)
        made.sum().backward()
        for reentrant in (False, True):
            checkpoint(poly, a, use_reentrant=reentrant).sum().backward()
        torch.testing.assert_close(a.grad, (16 * a).detach())


def test_anomalies_name_the_call(device, m):
    a = data(device, 4)
    poly = repeated(device, m)
    with torch.autograd.detect_anomaly(check_nan=True):
        made = poly(a, float("nan"))
        with pytest.raises(RuntimeError, match="'SlangCallBackward' returned nan"):
            made.sum().backward()
    poly(a, 2.0).sum().backward()
    torch.testing.assert_close(a.grad, (4 * a).detach())


def test_leaves_that_change_between_forward_and_backward(device, m):
    for change in (lambda a: a.detach().add_(1), lambda a: a.data.add_(1)):
        a = data(device, 4)
        m.poly(a, 2.0)
        made = m.poly(a, 2.0)
        before = a.detach().clone()
        change(a)
        try:
            made.sum().backward()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            continue
        torch.testing.assert_close(a.grad, 4 * (before + 1))  # torch does not see what is changed through .data
    a = data(device, 4)
    made = m.poly(a, 2.0)
    a.requires_grad_(False)  # the graph stays
    made.sum().backward()


def test_backward_passes_of_many_threads(device, m):
    import threading

    poly, wrong = repeated(device, m), []

    def work(number):
        a = (plain(device, 4) + number).requires_grad_()
        for i in range(20):
            b = plain(device, *((4,) if i % 2 else ()))
            (own,) = torch.autograd.grad(poly(a, 2.0).sum() + m.poly(a, b).sum(), a)
            if not torch.allclose(own, (4 * a + 2 * a * b).detach()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ten_thousand_steps_do_not_grow(device, m):
    import resource

    a, seed = data(device, 16), torch.ones(16, device=device.torch_kind)

    def steps(count):
        for _ in range(count):
            a.grad = None
            m.poly(a, 2.0).backward(seed)

    steps(2000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    steps(8000)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB
