"""`import mlp;` (issue 21): networks, encodings and losses against float64 numpy, values and gradients; bad input.

Error bounds of networks: |got - expected| <= 2e-5 * m, where m is the same network's result with the absolute values of all numbers
(sums of floats in another order are off by less), times the slopes of the activations for gradients. SPY_TEST_SIZE=soak runs all shapes."""
import os
import random

import numpy as np
import pytest

import slangpy as spy

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
    """(inputs, outputs, width, depth, activation, output activation, bias, batch): 64 of them, each activation and depth several times."""
    pick = random.Random(21)
    shapes = [(1, 1, 0, 0, "ReLU", "NoActivation", 0, 1), (256, 3, 0, 0, "ReLU", "Sigmoid", 0, 5), (3, 256, 0, 0, "ReLU", "NoActivation", 1, 33),
              (2, 2, 256, 1, "ReLU", "NoActivation", 1, 7), (5, 4, 128, 2, "SiLU", "NoActivation", 0, 17), (64, 8, 64, 3, "ReLU", "NoActivation", 0, 130),
              (1, 1, 1, 8, "Tanh", "Sine", 1, 3), (33, 31, 29, 4, "Sine", "Tanh", 1, 65)]
    while len(shapes) < 64:
        k = len(shapes)
        shapes.append((pick.choice([1, 2, 3, 7, 16, 31]), pick.choice([1, 2, 3, 5, 16]), pick.choice([1, 2, 3, 8, 13, 16, 24, 33]), k % 9,
                       NAMES[k % 7], NAMES[k // 7 % 7], k // 2 % 2, pick.choice([1, 2, 31, 100, 257])))
    return [s if s[3] else (*s[:2], 0, *s[3:]) for s in shapes]


SHAPES = make_shapes()
if os.environ.get("SPY_TEST_SIZE") != "soak":
    SHAPES = SHAPES[5:6] + random.Random(int(os.environ.get("SPY_TEST_SEED") or 0) or None).sample(SHAPES, 5)


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
    """The output, the gradients of input and parameters, and the sizes of what was summed for each."""
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
        # An error of z changes smooth slopes by as much, relative to 1.
        d, d_size = d * slope, d_size * (np.abs(slope) + 0.1 * z_size)
        gradients.append((before.T @ d, d.sum(0), before_size.T @ d_size, d_size.sum(0)))
        d, d_size = d @ w.T, d_size @ np.abs(w).T
    def flat(n):
        return np.concatenate([np.concatenate([g[n].ravel(), g[n + 1].ravel()] if bias else [g[n].ravel()])
                               for g, (_, _, bias) in zip(reversed(gradients), layers_of(shape))])
    return y, y_size, d, d_size, flat(0), flat(2)


def is_near(got, expected, size):
    return np.all(np.abs(got - expected) <= 2e-5 * (size + 1e-3))


def kink(shape, parameters, x):
    """Whether some sum lies so near to 0 that float and double may disagree about its side."""
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
    rng = np.random.default_rng(int(os.environ.get("SPY_TEST_SEED") or 0) or None)
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
    # The same again: gradients are added to.
    m.f.bwds(net, at, _result=result.with_grads(grad_in=seed))
    assert is_near(net.grad.to_numpy().ravel(), 2 * dw, 2 * dw_size)
    assert np.array_equal(m.f(net, at).to_numpy(), result.to_numpy())
