"""torch_op() (T8): Slang functions as operators of torch: torch.library.opcheck, torch.compile without a graph break, torch.export, dynamic
sizes, gradients against torch's own, and what is refused. On the same devices as test_autograd.py."""
import pytest
import torch

import slangpy as spy
from test_autograd import check, data, device  # noqa: F401

SOURCE = """
[Differentiable] float poly(float a, float b) { return a * a * b + b; }
[Differentiable] double poly64(double a, double b) { return a * a * b + b; }
[Differentiable] float line(float x, no_diff float slope, float offset) { return slope * x + offset; }
[Differentiable] float4 scaled(float4 v, float s) { return v * s; }
[Differentiable] float trace(float2x2 m, float a[3]) { return m[0][0] + m[1][1] * a[2]; }
[Differentiable] float both(float a, out float y) { y = a * 2; return a * a; }
[Differentiable] void outs(float a, float b, out float x, out float2 y) { x = a * b; y = float2(a, b * b); }
int whole(int a, float b) { return a + int(b); }
float plain(float a) { return a + 1; }
[Differentiable] void update(inout float a) { a = a * a; }
float over(float a) { return a; }
float over(int a) { return a; }
struct Lamp { float power; };
float lamp(Lamp l, float x) { return l.power * x; }
float none() { return 1; }
"""


@pytest.fixture(scope="module")
def m(device):  # noqa: F811
    return spy.Module.load_from_source(device, "ops", SOURCE)


@pytest.fixture(scope="module")
def ops(m):
    made = {}

    def find(name, **more):
        key = name, str(more)
        if key not in made:
            made[key] = spy.torch_op(m[name], **more)
        return made[key]

    return find


def test_values_and_gradients(device, ops):  # noqa: F811
    a, b = data(device, 3, 4), data(device, 4)
    check(ops("poly")(a, b), a * a * b + b, (a, b))
    v, s = data(device, 5, 4), data(device, 5)
    check(ops("scaled")(v, s), v * s[:, None], (v, s))
    matrix, array = data(device, 6, 2, 2), data(device, 6, 3)
    check(ops("trace")(matrix, array), matrix[:, 0, 0] + matrix[:, 1, 1] * array[:, 2], (matrix, array))
    check(ops("line", numbers=("slope",))(a, 2.5, b), 2.5 * a + b, (a, b))
    x, y = ops("both")(a)
    check(x + y, a * a + 2 * a, (a,))
    c = data(device, 3, 4)
    x, y = ops("outs")(a, c)
    check(x + y.sum(-1), a * c + a + c * c, (a, c))
    count = torch.arange(4, dtype=torch.int32, device=device.torch_kind)
    made = ops("whole")(count, b)
    assert made.dtype == torch.int32 and not made.requires_grad
    assert torch.equal(made, count + b.int())


def test_only_what_requires_a_gradient_gets_one(device, ops):  # noqa: F811
    a, b = data(device, 5), data(device, 5, grad=False)
    ops("poly")(a, b).sum().backward()
    torch.testing.assert_close(a.grad, (2 * a * b).detach())
    assert b.grad is None


@pytest.mark.parametrize("name, shapes, more", [("poly", ((3, 4), (4,)), {}), ("scaled", ((5, 4), (5,)), {}), ("both", ((4,),), {})])
def test_opcheck(device, ops, name, shapes, more):  # noqa: F811
    """torch's own checks of schema, autograd and fake kernels."""
    torch.library.opcheck(ops(name, **more), tuple(data(device, *shape) for shape in shapes))


def test_gradcheck(device, ops):  # noqa: F811
    a, b = data(device, 2, 3, dtype=torch.float64), data(device, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(ops("poly64"), (a, b))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_without_a_graph_break(device, ops, dynamic):  # noqa: F811
    op, line = ops("poly"), ops("line", numbers=("slope",))
    compiled = torch.compile(lambda a, b: line(op(a * 2, b), 3.0, b).relu() + 1, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for n in (4, 7, 1):
        a, b = data(device, n), data(device, 1)
        check(compiled(a, b), (3 * (4 * a * a * b + b) + b).relu() + 1, (a, b))


def test_export(device, ops):  # noqa: F811
    op = ops("poly")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor(2.0, device=device.torch_kind))

        def forward(self, x):
            return op(x, self.scale) * 3

    model, x = Model(), data(device, 6, grad=False)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    assert any("poly" in str(node.target) for node in exported.graph.nodes)
    other = data(device, 9, grad=False)
    torch.testing.assert_close(exported.module()(other), 3 * (2 * other * other + 2))


def test_fake_tensors_know_the_shape(device, ops):  # noqa: F811
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        v, s = torch.empty(7, 5, 4, device=device.torch_kind), torch.empty(5, device=device.torch_kind)
        made = ops("scaled")(v, s)
    assert made.shape == (7, 5, 4) and made.dtype == torch.float32 and made.device.type == device.torch_kind.type


def test_a_name_of_its_own(device, m):  # noqa: F811
    op = spy.torch_op(m.plain, name="slangtests::plain")
    a = data(device, 3, grad=False)
    torch.testing.assert_close(torch.ops.slangtests.plain(a), a + 1)
    torch.testing.assert_close(op(a=a), a + 1)
    with pytest.raises(RuntimeError):
        op(data(device, 3)).sum().backward()  # it has no derivative, and torch says so


@pytest.mark.parametrize("name, more, error, words", [
    ("update", {}, TypeError, "torch_op: parameter 'a' of update: expected in and out parameters, got an inout one"),
    ("over", {}, TypeError, "torch_op: over: expected a function without overloads"),
    ("lamp", {}, TypeError, "torch_op: parameter 'l' of lamp: expected numbers, vectors, matrices and arrays, got 'Lamp'"),
    ("none", {}, TypeError, "torch_op: none: expected a function with an argument that is a tensor"),
    ("poly", {"numbers": ("c",)}, ValueError, "torch_op: argument 'numbers': poly has no in parameter c"),
    ("scaled", {"numbers": ("v",)}, TypeError, "torch_op: parameter 'v' of scaled: expected a scalar for a number, got 'vector<float,4>'"),
])
def test_what_is_no_operator_is_refused(m, name, more, error, words):
    with pytest.raises(error) as caught:
        spy.torch_op(m[name], **more)
    assert words in str(caught.value)


def test_wrong_shapes_are_named(device, ops):  # noqa: F811
    with pytest.raises(ValueError, match="scaled: argument 'v': expected at least 1 dimensions"):
        ops("scaled")(data(device), data(device, 5))
    with pytest.raises((ValueError, RuntimeError), match="(?i)shape"):
        ops("poly")(data(device, 3), data(device, 4))
