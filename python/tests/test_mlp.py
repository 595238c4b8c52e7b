"""`import mlp;` (issue 21): values and gradients of networks, encodings and losses are compared with numpy in float64; bad input. Error
bounds of networks: |got - expected| <= 2e-5 * m, where m is the same network's result with the absolute values of all numbers (sums of
floats in another order differ by less), for gradients times the slopes of the activations. SPY_TEST_SIZE=soak and SPY_TEST_ALL run all
shapes."""
import json
import os
import random

import numpy as np
import pytest

import slangpy as spy
from conftest import EVERY
from slangpy import mlp

ACTIVATIONS = {
    "NoActivation": (lambda z: z, lambda z: np.ones_like(z)),
    "ReLU": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
    "LeakyReLU": (lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1, 0.01)),
    "Sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2),
    "Tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "SiLU": (lambda z: z / (1 + np.exp(-z)), lambda z: (1 + np.exp(-z) + z * np.exp(-z)) / (1 + np.exp(-z)) ** 2),
    "Sine": (np.sin, np.cos),
}
NAMES = list(ACTIVATIONS)


def make_shapes():
    """Returns 64 shapes (inputs, outputs, width, depth, activation, output activation, bias, batch), each activation and depth several
    times. Inputs and outputs are few, because lavapipe's compiler needs minutes for kernels that use 256 of them one by one."""
    pick = random.Random(21)
    shapes = [(1, 1, 0, 0, "ReLU", "NoActivation", 0, 1), (48, 3, 0, 0, "ReLU", "Sigmoid", 0, 5), (3, 48, 0, 0, "ReLU", "NoActivation", 1, 33),
              (2, 2, 256, 1, "ReLU", "NoActivation", 1, 7), (5, 4, 128, 2, "SiLU", "NoActivation", 0, 17), (24, 8, 64, 3, "ReLU", "NoActivation", 0, 130),
              (1, 1, 1, 8, "Tanh", "Sine", 1, 3), (33, 31, 29, 4, "Sine", "Tanh", 1, 65)]
    while len(shapes) < 64:
        k = len(shapes)
        shapes.append((pick.choice([1, 2, 3, 7, 16, 31]), pick.choice([1, 2, 3, 5, 16]), pick.choice([1, 2, 3, 8, 13, 16, 24, 33]), k % 9,
                       NAMES[k % 7], NAMES[k // 7 % 7], k // 2 % 2, pick.choice([1, 2, 31, 100, 257])))
    return [s if s[3] else (*s[:2], 0, *s[3:]) for s in shapes]


SHAPES = make_shapes()
if not EVERY:
    SHAPES = SHAPES[5:6] + random.Random(int(os.environ["SPY_TEST_SEED"])).sample(SHAPES[:5] + SHAPES[6:], 2)


def type_of(shape):
    i, o, w, d, act, out, bias, _ = shape
    return f"MLP<{i}, {o}, {w}, {d}, {act}, {out}, {bias}>"


def layers_of(shape):
    i, o, w, d, _, _, bias, _ = shape
    sizes = [i, *[w] * d, o]
    return [(sizes[k], sizes[k + 1], bias) for k in range(d + 1)]


def split(shape, parameters):
    at, parts = 0, []
    flat = parameters.reshape(-1)
    for rows, columns, bias in layers_of(shape):
        w = flat[at:at + rows * columns].reshape(rows, columns)
        b = flat[at + rows * columns:at + (rows + bias) * columns] if bias else np.zeros(columns)
        parts.append((w, b))
        at += (rows + bias) * columns
    assert at == flat.size
    return parts


def reference(shape, parameters, x, dy):
    """Returns the output, the gradients of input and parameters, and for each the sum of the absolute values of its terms."""
    act, out = ACTIVATIONS[shape[4]], ACTIVATIONS[shape[5]]
    layers = split(shape, parameters)
    h, size, kept = x, np.abs(x), []
    for k, (w, b) in enumerate(layers):
        z, z_size = h @ w + b, size @ np.abs(w) + np.abs(b)
        kept.append((h, size, z, z_size))
        f = out if k == len(layers) - 1 else act
        h, size = f[0](z), np.maximum(np.abs(f[0](z)), z_size)
    y, y_size, d, d_size, gradients = h, size, dy, np.abs(dy), []
    for k in reversed(range(len(layers))):
        w, _ = layers[k]
        before, before_size, z, z_size = kept[k]
        slope = (out if k == len(layers) - 1 else act)[1](z)
        # An error of z changes the slope of a smooth activation by about as much, relative to 1.
        d, d_size = d * slope, d_size * (np.abs(slope) + 0.1 * z_size)
        gradients.append((before.T @ d, d.sum(0), before_size.T @ d_size, d_size.sum(0)))
        d, d_size = d @ w.T, d_size @ np.abs(w).T
    def flat(n):
        return np.concatenate([np.concatenate([g[n].ravel(), g[n + 1].ravel()] if bias else [g[n].ravel()])
                               for g, (_, _, bias) in zip(reversed(gradients), layers_of(shape))])
    return y, y_size, d, d_size, flat(0), flat(2)


def is_near(got, expected, size):
    return np.all(np.abs(got - expected) <= 2e-5 * (size + 1e-2))


def kink(shape, parameters, x):
    """Returns whether some sum is so near to 0 that float and double may disagree about its sign."""
    layers, h = split(shape, parameters), x
    for k, (w, b) in enumerate(layers):
        z = h @ w + b
        if np.abs(z).min() < 1e-5 * (1 + np.abs(z).max()):
            return True
        h = ACTIVATIONS[shape[5] if k == len(layers) - 1 else shape[4]][0](z)
    return False


def draw(shape, rng):
    i, o, batch = shape[0], shape[1], shape[7]
    for _ in range(100):
        parameters = np.concatenate([np.concatenate([(rng.standard_normal((r, c)) * np.sqrt(2 / r)).ravel(), rng.standard_normal(c * b) * 0.3])
                                     for r, c, b in layers_of(shape)]).astype(np.float32)
        x = rng.uniform(-1, 1, (batch, i)).astype(np.float32)
        if not ({"ReLU", "LeakyReLU"} & set(shape[4:6])) or not kink(shape, parameters.astype(float), x.astype(float)):
            break
    return parameters.reshape(i, o) if shape[3] == 0 and not shape[6] else parameters, x, rng.standard_normal((batch, o)).astype(np.float32)


def tensor(device, data, grad=False):
    t = spy.Tensor.from_numpy(device, np.ascontiguousarray(data))
    return t.with_grads() if grad else t


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(device, load, shape):
    m = load(f"import mlp; [Differentiable] float[{shape[1]}] f({type_of(shape)} net, float x[{shape[0]}]) {{ return net.run(x); }}")
    rng = np.random.default_rng(int(os.environ["SPY_TEST_SEED"]))
    parameters, x, dy = draw(shape, rng)
    y, y_size, dx, dx_size, dw, dw_size = reference(shape, parameters.astype(float), x.astype(float), dy.astype(float))
    net, at = tensor(device, parameters, True), tensor(device, x, True)
    result = m.f(net, at)
    assert is_near(result.to_numpy().reshape(y.shape), y, y_size)
    seed = spy.Tensor.empty_like(result)
    seed.copy_from_numpy(dy)
    m.f.bwds(net, at, _result=result.with_grads(grad_in=seed))
    assert is_near(at.grad.to_numpy().reshape(dx.shape), dx, dx_size)
    assert is_near(net.grad.to_numpy().ravel(), dw, dw_size)
    # A second call adds to the gradients.
    m.f.bwds(net, at, _result=result.with_grads(grad_in=seed))
    assert is_near(net.grad.to_numpy().ravel(), 2 * dw, 2 * dw_size)
    assert np.array_equal(m.f(net, at).to_numpy(), result.to_numpy())


# >>calls other than a backward one with one set of weights


@pytest.fixture(scope="module")
def small(load):
    return load("""
import slangpy;
import mlp;
[Differentiable] float[2] net(MLP<3, 2, 4, 1, SiLU, Tanh, 1> net, float x[3]) { return net.run(x); }
[Differentiable] float[2] halves(MLP<3, 2, 4, 1, SiLU, Tanh, 1, half> net, float x[3]) { return net.run(x); }
[Differentiable] float[2] line(MLP<3, 2> net, float x[3]) { return net.run(x); }
[Differentiable] float off(MLP<3, 2, 4, 1, SiLU, Tanh, 1> net, float x[3], no_diff float target[2]) { return l2_loss(net.run(x), target); }
[Differentiable] float off_halves(MLP<3, 2, 4, 1, SiLU, Tanh, 1, half> net, float x[3], no_diff float target[2]) { return l2_loss(net.run(x), target); }
[Differentiable] float[2] twice(MLP<3, 3> a, MLP<3, 2> b, float x[3]) { return b.run(a.run(x)); }
struct Turn : IActivation { static float value(float z) { return z * z; } static float slope(float z) { return 2 * z; } }
[Differentiable] float[2] own(MLP<3, 2, 4, 1, Turn> net, float x[3]) { return net.run(x); }

[FromTensor] struct Affine
{
    DiffTensor<float, 2> m;
    float offset;
    [Differentiable] [NoDiffThis] float2 apply(float2 p) { return float2(m.load(0, 0) * p.x + m.load(0, 1) * p.y, m.load(1, 0) * p.x + m.load(1, 1) * p.y) + offset; }
}
[Differentiable] float2 affine(Affine a, float2 p) { return a.apply(p); }
[FromTensor] struct Squares { WeightTensor<float, 2, 2> w; float sum() { return w.load(0) + 10 * w.load(1) + 100 * w.load(2) + 1000 * w.load(3); } }
float squares(Squares s) { return s.sum(); }
[FromTensor] struct Open { DiffTensor<float, 2> m; Tensor<float, 1> more; }
float open(Open a) { return a.m.load(0, 0); }
struct Loose { DiffTensor<float, 2> m; }
float loose(Loose a) { return a.m.load(0, 0); }
""")


SMALL = (3, 2, 4, 1, "SiLU", "Tanh", 1, 6)


def test_forward_mode(device, small):
    """fwds() gives derivatives in directions of the weights and of the input."""
    rng = np.random.default_rng(3)
    parameters, x, _ = draw(SMALL, rng)
    along, to = rng.standard_normal(parameters.shape).astype(np.float32), rng.standard_normal(x.shape).astype(np.float32)
    def y(t):
        return reference(SMALL, parameters + t * along.astype(float), x + t * to.astype(float), np.zeros((6, 2)))[0]
    got = small.net.fwds(tensor(device, parameters).with_grads(grad_in=tensor(device, along)), tensor(device, x).with_grads(grad_in=tensor(device, to)))
    assert np.allclose(got.to_numpy().reshape(6, 2), y(0), atol=1e-6)
    assert np.allclose(got.grad.to_numpy().reshape(6, 2), (y(1e-4) - y(-1e-4)) / 2e-4, atol=1e-4)


def test_deterministic(device, small):
    """Gradients have the same bits in each run, also in recorded calls, because they are sums of integers."""
    rng = np.random.default_rng(11)
    parameters, _, _ = draw(SMALL, rng)
    x, target = tensor(device, rng.standard_normal((5000, 3)).astype(np.float32)), tensor(device, rng.standard_normal((5000, 2)).astype(np.float32))
    exact, runs = small.off.deterministic(), []
    net = tensor(device, parameters, True)
    for _ in range(8):
        net.grad.clear()
        exact.bwds(net, x, target, _result=spy.diffPair(d=1.0))
        runs.append(net.grad.to_numpy())
    encoder = device.create_command_encoder()
    exact.bwds.append_to(encoder, net, x, target, _result=spy.diffPair(d=1.0))
    recorded = encoder.finish()
    for _ in range(2):
        net.grad.clear()
        device.submit_command_buffer(recorded)
        runs.append(net.grad.to_numpy())
    assert all(np.array_equal(runs[0], run) for run in runs)
    other = tensor(device, parameters, True)
    small.off.bwds(other, x, target, _result=spy.diffPair(d=1.0))
    assert np.allclose(runs[0], other.grad.to_numpy(), rtol=1e-4, atol=1e-4) and np.abs(runs[0]).max() > 10
    exact.bwds(net, x, target, _result=spy.diffPair(d=1.0))  # adds to the gradient that is there
    assert np.allclose(net.grad.to_numpy(), 2 * runs[0], rtol=1e-6, atol=1e-6)
    many = tensor(device, np.tile(np.eye(3, 2, dtype=np.float32), (50, 1, 1)), True)
    result = small.line(many, tensor(device, np.ones((50, 3), np.float32)))
    small.line.deterministic().bwds(many, tensor(device, np.ones((50, 3), np.float32)), _result=result.with_grads(grad_in=ones(result)))
    assert np.array_equal(many.grad.to_numpy(), np.ones((50, 3, 2)))
    with pytest.raises(spy.Error, match="a deterministic call adds to gradients of float, got half"):
        small.halves.deterministic().bwds(tensor(device, parameters.astype(np.float16), True), x, _result=small.halves(tensor(device, parameters.astype(np.float16)), x).with_grads(grad_in=1))


def test_half(device, small):
    """Parameters of half are read as halves, sums are floats, and gradients are rounded to half."""
    rng = np.random.default_rng(4)
    parameters, x, dy = draw(SMALL, rng)
    parameters = parameters.astype(np.float16)
    y, _, _, _, dw, _ = reference(SMALL, parameters.astype(float), x.astype(float), dy.astype(float))
    net = tensor(device, parameters, True)
    result = small.halves(net, tensor(device, x))
    assert np.allclose(result.to_numpy().reshape(y.shape), y, atol=1e-5)
    seed = spy.Tensor.empty_like(result)
    seed.copy_from_numpy(dy)
    small.halves.bwds(net, tensor(device, x), _result=result.with_grads(grad_in=seed))
    assert np.allclose(net.grad.to_numpy(), dw, rtol=1e-2, atol=1e-2 * np.abs(dw).max())


def test_many_networks(device, small):
    """Weights with one more dimension give each element of the call a network of its own, with its own gradients."""
    rng = np.random.default_rng(5)
    w, x, dy = rng.standard_normal((50, 3, 2)).astype(np.float32), rng.standard_normal((50, 3)).astype(np.float32), rng.standard_normal((50, 2)).astype(np.float32)
    net = tensor(device, w, True)
    result = small.line(net, tensor(device, x))
    assert np.allclose(result.to_numpy().reshape(50, 2), np.einsum("nio,ni->no", w, x), atol=1e-5)
    seed = spy.Tensor.empty_like(result)
    seed.copy_from_numpy(dy)
    small.line.bwds(net, tensor(device, x), _result=result.with_grads(grad_in=seed))
    assert np.allclose(net.grad.to_numpy(), np.einsum("ni,no->nio", x, dy), atol=1e-5)


def test_backward_derivative_of(device, load):
    """[BackwardDerivativeOf] of a function whose parameters have types of imported modules: networks and tensors."""
    m = load("""
import slangpy;
import mlp;
[Differentiable] float sum(MLP<4, 2> net, float x) { float v[4] = { x, x, x, x }; float y[2] = net.run(v); return y[0] + y[1]; }
float doubled(MLP<4, 2> net, float x) { return sum(net, x); }
[BackwardDerivativeOf(doubled)] void doubled_bwd(MLP<4, 2> net, inout DifferentialPair<float> x, float d) { bwd_diff(sum)(net, x, 2 * d); }
float first(DiffTensor<float, 1> t, float x) { return t[0] * x; }
[BackwardDerivativeOf(first)] void first_bwd(DiffTensor<float, 1> t, inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d); }
float plain(MLP<4, 2> net, float x) { return sum(net, x); }
""")
    w = np.random.default_rng(21).standard_normal((4, 2)).astype(np.float32)
    net, x = tensor(device, w, True), tensor(device, np.arange(5, dtype=np.float32), True)
    m.doubled.bwds(net, x, _result=spy.diffPair(d=1.0))
    assert np.allclose(x.grad.to_numpy(), 2 * w.sum()) and np.allclose(net.grad.to_numpy(), 2 * 10)
    x = tensor(device, np.arange(5, dtype=np.float32), True)
    m.first.bwds(tensor(device, np.ones(3, np.float32), True), x, _result=spy.diffPair(d=1.0))
    assert (x.grad.to_numpy() == 7).all()
    with pytest.raises(spy.Error, match="(?s)plain.*it is not differentiable") as caught:
        m.plain.bwds(net, x, _result=spy.diffPair(d=1.0))
    assert "undefined identifier" not in str(caught.value)


def test_two_networks_and_own_activation(device, small):
    rng = np.random.default_rng(6)
    a, b, x = (rng.standard_normal(s).astype(np.float32) for s in ((3, 3), (3, 2), (9, 3)))
    nets = tensor(device, a, True), tensor(device, b, True)
    result = small.twice(*nets, tensor(device, x))
    assert np.allclose(result.to_numpy().reshape(9, 2), x @ a @ b, atol=1e-5)
    small.twice.bwds(*nets, tensor(device, x), _result=result.with_grads(grad_in=ones(result)))
    assert np.allclose(nets[0].grad.to_numpy(), x.T @ np.ones((9, 2)) @ b.T, atol=1e-4)
    assert np.allclose(nets[1].grad.to_numpy(), (x @ a).T @ np.ones((9, 2)), atol=1e-4)
    own = rng.standard_normal(3 * 4 + 4 * 2).astype(np.float32)
    got = small.own(tensor(device, own), tensor(device, x)).to_numpy().reshape(9, 2)
    assert np.allclose(got, (x @ own[:12].reshape(3, 4)) ** 2 @ own[12:].reshape(4, 2), atol=1e-4)


def ones(result):
    seed = spy.Tensor.empty_like(result)
    seed.copy_from_numpy(np.ones(result.to_numpy().shape, np.float32))
    return seed


def test_structs_of_users(device, small):
    """[FromTensor] makes a tensor the first field of a struct, with its gradients, and sets other fields to zero; structs without the
    attribute are not affected."""
    m, p = np.array([[1, 2], [3, 4]], np.float32), np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    a = tensor(device, m, True)
    result = small.affine(a, tensor(device, p))
    assert np.allclose(result.to_numpy(), p @ m.T)
    small.affine.bwds(a, tensor(device, p), _result=result.with_grads(grad_in=ones(result)))
    assert np.allclose(a.grad.to_numpy(), np.ones((3, 2)).T @ p)
    assert small.squares(tensor(device, m)) == 4321
    assert small.loose({"m": tensor(device, m)}) == 1
    with pytest.raises(spy.Error, match="'a': expected the fields of Open, got a tensor, which leaves 'more' open"):
        small.open(tensor(device, m))
    with pytest.raises(spy.Error, match="'a': expected Loose, got float tensor"):
        small.loose(tensor(device, m))


# >>encodings and losses

ENCODINGS = """
import mlp;
[Differentiable] float[12] frequency(float x[3]) { return FrequencyEncoding<3, 2>.run(x); }
[Differentiable] float[12] blob(float x[3]) { return OneBlobEncoding<3, 4>.run(x); }
[Differentiable] float[16] harmonics(float3 d) { return spherical_harmonics(d); }
[Differentiable] float[6] grid(HashGrid<2, 3, 2, 64, 4, 20> g, float x[2]) { return g.run(x); }
[Differentiable] float l1(float y[3], no_diff float t[3]) { return l1_loss(y, t); }
[Differentiable] float l2(float y[3], no_diff float t[3]) { return l2_loss(y, t); }
[Differentiable] float relative(float y[3], no_diff float t[3]) { return relative_l2_loss(y, t); }
[Differentiable] float huber(float y[3], no_diff float t[3]) { return huber_loss(y, t); }
"""


def slopes(f, x, dy, step=1e-6):
    """Returns central differences of a numpy function, weighted by dy."""
    g = np.zeros_like(x)
    for i in range(x.shape[1]):
        e = np.zeros_like(x)
        e[:, i] = step
        g[:, i] = ((f(x + e) - f(x - e)) * dy).reshape(len(x), -1).sum(1) / (2 * step)
    return g


def frequency(x):
    angles = x[:, :, None] * np.pi * 2.0 ** np.arange(2)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(x), -1)


def blob(x):
    return np.exp(-0.5 * ((x[:, :, None] - (np.arange(4) + 0.5) / 4) * 4) ** 2).reshape(len(x), -1)


def harmonics(d):
    """Computes spherical harmonics by Legendre polynomials of cos(theta) and powers of x + iy, which differs from the library's way."""
    from math import factorial, pi, sqrt
    x, y, z = d.T
    legendre = {(0, 0): 1 + 0 * z, (1, 0): z, (1, 1): -1 + 0 * z, (2, 0): (3 * z * z - 1) / 2, (2, 1): -3 * z, (2, 2): 3 + 0 * z,
                (3, 0): (5 * z ** 3 - 3 * z) / 2, (3, 1): -1.5 * (5 * z * z - 1), (3, 2): 15 * z, (3, 3): -15 + 0 * z}
    columns = []
    for l in range(4):
        for m in range(-l, l + 1):
            k = sqrt((2 * l + 1) / (4 * pi) * factorial(l - abs(m)) / factorial(l + abs(m))) * (sqrt(2) if m else 1)
            around = (x + 1j * y) ** abs(m)
            columns.append(k * legendre[l, abs(m)] * (around.imag if m < 0 else around.real))
    return np.stack(columns, 1)


def grid(x, table):
    """Computes a hash grid with numpy. `table` has the shape (3, 64, 2)."""
    columns = []
    for level, cells in enumerate((4, 8, 20)):
        place = np.clip(x, 0, 1) * cells
        cell = np.minimum(np.floor(place), cells - 1)
        part = place - cell
        total = 0
        for c in range(4):
            up = np.array([c & 1, c >> 1])
            corner = (cell + up).astype(np.uint64)
            weight = np.prod(np.where(up, part, 1 - part), 1)
            if (cells + 1) ** 2 <= 64:
                at = corner[:, 1] * np.uint64(cells + 1) + corner[:, 0]
            else:
                at = (corner[:, 0] ^ (corner[:, 1] * np.uint64(2654435761) & np.uint64(0xFFFFFFFF))) % np.uint64(64)
            total = total + weight[:, None] * table[level, at.astype(int)]
        columns.append(total)
    return np.concatenate(columns, 1)


@pytest.fixture(scope="module")
def encodings(load):
    return load(ENCODINGS)


@pytest.mark.parametrize("name, f", [("frequency", frequency), ("blob", blob), ("harmonics", harmonics)])
def test_encodings(device, encodings, name, f):
    rng = np.random.default_rng(7)
    x = rng.uniform(0.02, 0.98, (40, 3)).astype(np.float32)
    if name == "harmonics":
        x = (x - 0.5) / np.linalg.norm(x - 0.5, axis=1, keepdims=True)
    at = tensor(device, x, True)
    result = getattr(encodings, name)(at)
    y = f(x.astype(float))
    assert np.allclose(result.to_numpy().reshape(y.shape), y, atol=3e-6)
    getattr(encodings, name).bwds(at, _result=result.with_grads(grad_in=ones(result)))
    if name != "harmonics":  # harmonics are given on the sphere; slopes that leave it depend on how the polynomials go on outside
        assert np.allclose(at.grad.to_numpy(), slopes(f, x.astype(float), 1), atol=1e-3)
    else:  # slopes along the sphere do not depend on it
        side = np.cross(x, rng.standard_normal(x.shape))
        ends = [f(p / np.linalg.norm(p, axis=1, keepdims=True)) for p in (x + 1e-5 * side, x - 1e-5 * side)]
        to = (ends[0] - ends[1]).sum(1) / 2e-5
        assert np.allclose((at.grad.to_numpy() * side).sum(1), to, atol=1e-2)


def test_grid(device, encodings):
    rng = np.random.default_rng(8)
    table, x = rng.standard_normal((3, 64, 2)).astype(np.float32), rng.uniform(0.001, 0.999, (60, 2)).astype(np.float32)
    inside = np.all([np.abs(x * n - np.round(x * n)).min(1) > 1e-3 for n in (4, 8, 20)], 0)  # slopes jump at edges, which are left out
    x, learnt = x[inside], tensor(device, table.ravel(), True)
    at = tensor(device, x, True)
    result = encodings.grid(learnt, at)
    y = grid(x.astype(float), table.astype(float))
    assert np.allclose(result.to_numpy().reshape(y.shape), y, atol=1e-4)
    encodings.grid.bwds(learnt, at, _result=result.with_grads(grad_in=ones(result)))
    assert np.allclose(at.grad.to_numpy(), slopes(lambda x: grid(x, table.astype(float)), x.astype(float), 1), atol=1e-2)
    expected = np.zeros(table.size)
    for i in range(table.size):
        e = np.zeros(table.size)
        e[i] = 1
        expected[i] = grid(x.astype(float), e.reshape(table.shape)).sum()
    assert np.allclose(learnt.grad.to_numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("name, f", [
    ("l1", lambda y, t: np.abs(y - t)), ("l2", lambda y, t: (y - t) ** 2),
    ("relative", lambda y, t: (y - t) ** 2 / (y ** 2 + 0.01)), ("huber", lambda y, t: np.where(np.abs(y - t) < 1, 0.5 * (y - t) ** 2, np.abs(y - t) - 0.5))])
def test_losses(device, encodings, name, f):
    rng = np.random.default_rng(9)
    y, t = rng.standard_normal((50, 3)).astype(np.float32), 2 * rng.standard_normal((50, 3)).astype(np.float32)
    at = tensor(device, y, True)
    got = getattr(encodings, name)(at, tensor(device, t)).to_numpy()
    assert np.allclose(got, f(y.astype(float), t).mean(1), rtol=1e-5)
    getattr(encodings, name).bwds(at, tensor(device, t), _result=spy.diffPair(d=1.0))
    held = y.astype(float)
    def loss(v):  # relative_l2_loss treats its divisor as a constant
        return ((v - t) ** 2 / (held ** 2 + 0.01) if name == "relative" else f(v, t)).mean(1)
    assert np.allclose(at.grad.to_numpy(), slopes(loss, held, 1), rtol=1e-3, atol=1e-4)


# >>training


def test_adam_and_sgd(device, small):
    """Adam and SGD make the same steps as numpy, with gradients computed by numpy."""
    rng = np.random.default_rng(10)
    first, x, target = draw(SMALL, rng)
    for make in (mlp.Adam, mlp.SGD):
        net = tensor(device, first, True)
        opt, p, mean, square = make(net, 0.01), first.astype(float), 0, 0
        for t in range(1, 6):
            small.off.bwds(net, tensor(device, x), tensor(device, target), _result=spy.diffPair(d=1.0))
            opt.step()
            y = reference(SMALL, p, x.astype(float), np.zeros((6, 2)))[0]
            g = reference(SMALL, p, x.astype(float), y - target)[4]
            mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
            p = p - 0.01 * (mean / (1 - 0.9 ** t) / (np.sqrt(square / (1 - 0.999 ** t)) + 1e-8) if make is mlp.Adam else g)
        assert opt.steps == 5
        assert np.allclose(net.to_numpy(), p, atol=1e-4)
        assert not net.grad.to_numpy().any()
        opt.check()


@pytest.mark.parametrize("make", [mlp.Adam, mlp.SGD])
def test_half_parameters(device, make):
    """Steps of half parameters are those of floats, rounded: steps of less than a half's last digit add up. A value that is written
    between two steps is where the next one begins, and a step without a finite gradient changes nothing."""
    rng = np.random.default_rng(11)
    net = mlp.Network(device, 3, 2, 4, 1, bias=True, dtype="half", seed=3)
    first = net.parameters.to_numpy()
    opt, p, mean, square = make(net, 1e-4, loss_scale=8.0), first.astype(float), 0, 0
    for t in range(1, 41):
        if t == 21:
            p = rng.standard_normal(p.shape).astype(np.float16).astype(float)
            net.parameters.copy_from_numpy(p.astype(np.float16))
        g = (0.5 + rng.random(p.shape)).astype(np.float16)
        net.parameters.grad.copy_from_numpy(g)
        opt.step()
        g = g.astype(float) / 8
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        p = p - 1e-4 * (mean / (1 - 0.9 ** t) / (np.sqrt(square / (1 - 0.999 ** t)) + 1e-8) if make is mlp.Adam else g)
    got = net.parameters.to_numpy()
    assert got.dtype == np.float16 and np.abs(got - p).max() < 1e-3 and not net.parameters.grad.to_numpy().any()
    assert np.abs(opt._masters[0].to_numpy() - p).max() < 2e-6  # 20 steps of some 1e-4 and 1e-5
    net.parameters.grad.copy_from_numpy(np.full(p.shape, np.inf, np.float16))
    opt.step()
    assert np.array_equal(net.parameters.to_numpy(), got)
    with pytest.raises(spy.Error, match="step 41 had gradients that are not finite"):
        opt.check()


def test_training_of_halves(device, small):
    """A network of half parameters learns."""
    net = mlp.Network(device, 3, 2, 4, 1, "SiLU", "Tanh", bias=True, dtype="half")
    opt = mlp.Adam(net, 0.01, loss_scale=64.0)
    x, target = tensor(device, np.ones((5, 3), np.float32)), tensor(device, np.full((5, 2), 0.3, np.float32))
    before = small.off_halves(net, x, target).to_numpy().mean()
    for _ in range(50):
        small.off_halves.bwds(net, x, target, _result=spy.diffPair(d=0.2 * 64))
        opt.step()
    opt.check()
    assert small.off_halves(net, x, target).to_numpy().mean() < 0.1 * before


def test_recorded(device, small):
    """A recorded step can be replayed; it uses the optimiser's current rate and number of steps."""
    net = mlp.Network(device, 3, 2, 4, 1, "SiLU", "Tanh", bias=True)
    opt = mlp.Adam(net, 0.01)
    x, target = tensor(device, np.ones((5, 3), np.float32)), tensor(device, np.full((5, 2), 0.3, np.float32))
    encoder = device.create_command_encoder()
    small.off.bwds.append_to(encoder, net, x, target, _result=spy.diffPair(d=0.2))
    opt.step(encoder)
    steps = encoder.finish()
    before = small.off(net, x, target).to_numpy().mean()
    for _ in range(50):
        device.submit_command_buffer(steps)
    assert opt.steps == 50 and small.off(net, x, target).to_numpy().mean() < 0.1 * before
    held = net.parameters.to_numpy()
    opt.rate = 0
    device.submit_command_buffer(steps)
    assert opt.rate == 0 and np.array_equal(net.parameters.to_numpy(), held)
    opt.steps = 7
    device.submit_command_buffer(steps)
    assert opt.steps == 8


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), -float("inf")])
def test_not_finite(device, small, wrong):
    """A loss that is not finite raises an error with the number of the step, the parameters stay as they were, and training can go on."""
    net = mlp.Network(device, 3, 2, 4, 1, "SiLU", "Tanh", bias=True)
    opt = mlp.Adam(net)
    x, target = tensor(device, np.ones((5, 3), np.float32)), tensor(device, np.full((5, 2), 0.3, np.float32))
    for seed in (0.2, 0.2, wrong, 0.2):
        small.off.bwds(net, x, target, _result=spy.diffPair(d=seed))
        opt.step()
        if seed == 0.2 and opt.steps == 2:
            held = net.parameters.to_numpy()
    with pytest.raises(spy.Error, match="Adam.check: step 3 had gradients that are not finite; the parameters are those of step 2"):
        opt.check()
    assert np.array_equal(net.parameters.to_numpy(), held)
    small.off.bwds(net, x, target, _result=spy.diffPair(d=0.2))
    opt.step()
    opt.check()
    assert opt.steps == 3 and not np.array_equal(net.parameters.to_numpy(), held)


@pytest.mark.parametrize("activation, bound", [("ReLU", lambda r, c: np.sqrt(6 / r)), ("Tanh", lambda r, c: np.sqrt(6 / (r + c)))])
def test_first_weights(device, activation, bound):
    net = mlp.Network(device, 30, 20, 40, 2, activation, bias=True, seed=5)
    for name, view in net.views().items():
        v = view.to_numpy()
        if name.endswith("bias"):
            assert not v.any()
        else:
            b = bound(*v.shape)
            assert np.abs(v).max() <= b and np.abs(v).max() > 0.95 * b and abs(v.mean()) < 0.1 * b
            assert abs(v.std() / b - 1 / np.sqrt(3)) < 0.05
    assert np.array_equal(net.parameters.to_numpy(), mlp.Network(device, 30, 20, 40, 2, activation, bias=True, seed=5).parameters.to_numpy())
    assert not np.array_equal(net.parameters.to_numpy(), mlp.Network(device, 30, 20, 40, 2, activation, bias=True, seed=6).parameters.to_numpy())
    assert not mlp.Network(device, 3, 2, init=None).parameters.to_numpy().any()
    # They are the numbers of first_weight(), which C programs call.
    m = spy.Module.load_from_source(device, "weights", "__exported import mlp;")
    for seed, dtype in ((5, "float"), (-3, "half"), (2**31 - 1, "mixed")):
        net = mlp.Network(device, 30, 20, 40, 2, activation, bias=True, seed=seed, dtype=dtype)
        got = net.parameters.to_numpy()
        same = m.first_weight(np.arange(got.size, dtype=np.int32), 30, 20, 40, 2, 1, int(activation == "Tanh"), seed).to_numpy()
        assert np.allclose(got, same, rtol=1e-3 if dtype == "half" else 1e-6, atol=1e-4 if dtype == "half" else 0)


def test_prepared_steps():
    """Optimisers compile the kernels of their step when they are made; the step compiles nothing more."""
    with spy.create_device() as device:
        nets = [mlp.Network(device, 3, 2, 4, 1), mlp.Network(device, 3, 2)]
        assert device.stats()["kernels_built"] == 0
        adam, sgd = mlp.Adam(nets), mlp.SGD(nets[0])
        adam.step(), sgd.step()
        assert device.stats()["kernels_built"] == 6  # begin_step, sgd, and for each rank check_gradient and adam
        assert adam.steps == 1 and sgd.steps == 1


# >>checkpoints


def test_checkpoint(device, tmp_path):
    """A saved checkpoint is read by the library, and by a reader that knows only safetensors' layout."""
    net, other = (mlp.Network(device, 3, 2, 4, 1, bias=True, seed=s) for s in (1, 2))
    path = tmp_path / "net.safetensors"
    net.save(path)
    other.load(path)
    assert np.array_equal(net.parameters.to_numpy(), other.parameters.to_numpy())
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + size])
    assert head["__metadata__"] == {"slangpy.mlp": net.slang_type} and (8 + size) % 8 == 0
    begin, end = head["layers.0.weight"]["data_offsets"]
    assert np.array_equal(np.frombuffer(data[8 + size + begin:8 + size + end], "<f4").reshape(3, 4), net.views()["layers.0.weight"].to_numpy())
    held = other.parameters.to_numpy()
    for cut in (0, 4, 8, 50, size + 8, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(spy.Error, match="net.safetensors': expected a file in safetensors' layout, got"):
            other.load(path)
    path.write_bytes(data[:8] + b"x" * (len(data) - 8))
    with pytest.raises(spy.Error, match="a head that is none"):
        other.load(path)
    path.write_bytes(data)
    for wrong, match in ((mlp.Network(device, 3, 2, 5, 1, bias=True), r"'layers.0.weight' as float32 \(3, 5\), got float32 \(3, 4\)"),
                         (mlp.Network(device, 3, 2, 4, 2, bias=True), r"'layers.1.weight' as float32 \(4, 4\), got float32 \(4, 2\)"),
                         (mlp.Network(device, 3, 2, 4, 1), "it also holds 'layers.0.bias'"),
                         (mlp.Network(device, 3, 2, 4, 1, bias=True, dtype="half"), "as float16")):
        before = wrong.parameters.to_numpy()
        with pytest.raises(spy.Error, match=match):
            wrong.load(path)
        assert np.array_equal(wrong.parameters.to_numpy(), before)
    assert np.array_equal(other.parameters.to_numpy(), held)
    arrays = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.array(True), "c": np.zeros((0, 2))}
    mlp.save_tensors(path, arrays)
    got = mlp.load_tensors(path)
    assert all(got[k].dtype == v.dtype and got[k].shape == v.shape and np.array_equal(got[k], v) for k, v in arrays.items())


# >>bad input


def test_bad_input(device, small):
    x = tensor(device, np.zeros((4, 3), np.float32))
    w = tensor(device, np.zeros((3, 2), np.float32))
    for wrong, match in ((np.zeros((2, 2)), "dimension 0 must be 3, got shape"), (np.zeros((3, 3)), "dimension 1 must be 2, got shape"),
                         (np.zeros(6), "got float tensor"), (np.zeros((3, 2), np.float16), "expected WeightTensor<float, 3, 2>, got half tensor")):
        with pytest.raises(spy.Error, match=match):
            small.line(tensor(device, wrong if wrong.dtype == np.float16 else wrong.astype(np.float32)), x)
    with pytest.raises(spy.Error, match="its elements must lie next to each other"):
        small.line(tensor(device, np.zeros((3, 4), np.float32))[:, 1:3], x)
    assert small.line(w, tensor(device, np.zeros((0, 3), np.float32))).shape[0] == 0  # the batch is empty
    for args in ((0, 2), (3, 0), (3, 2, 0, 1), (3, 2, 4, -1), (3, 2.5)):
        with pytest.raises(ValueError, match="Network: '"):
            mlp.Network(device, *args)
    with pytest.raises(ValueError, match="'dtype': expected 'float', 'half' or 'mixed', got 'double'"):
        mlp.Network(device, 3, 2, dtype="double")
    with pytest.raises(ValueError, match="Adam: 'parameters': expected a Network or tensors with gradients, got one without"):
        mlp.Adam(w)
    for make in (mlp.Adam, mlp.SGD):
        with pytest.raises(ValueError, match="'parameters': expected tensors of float or half, got one of double"):
            make(spy.Tensor.zeros(device, (3,), "double").with_grads())
