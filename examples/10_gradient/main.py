"""10_gradient: derivatives of Slang functions, by .bwds and .fwds. Prints a parabola at four places with its slopes there,
and fits another one to points.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
POINTS, STEPS = 1000, 2000


def check(what, got, expected):
    if not np.allclose(got, expected, rtol=0, atol=1e-4):
        sys.exit(f"{what}: got {got}, expected {expected}")


def slopes(device, parabola):
    # 1. Backward: how the result changes with each input. with_grads() gives a tensor a second one beside it, .grad, of
    #    the same shape and all zero. bwds takes the arguments of the call itself: it reads the gradient of the result,
    #    here 1 everywhere ("how much do you care about each result?"), and adds to the gradients of the inputs. a, b
    #    and c have none: they are constants.
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], np.float32)).with_grads()
    result = parabola(x, a=2, b=8, c=-1)
    parabola.bwds(x, a=2, b=8, c=-1, _result=result.with_grads(grad_in=1))
    at, slope = result.to_numpy(), x.grad.to_numpy()
    for i in range(4):
        print(f"2 x^2 + 8 x - 1 at {i + 1} is {at[i]:g}, its slope {slope[i]:g}")
    check("the parabola", at, [9, 23, 41, 63])
    check("its slope", slope, [12, 16, 20, 24])


def sums(device, parabola):
    # 2. An input that all elements share gets the sum of what each of them has to say. Gradients are added to, never
    #    overwritten: two calls give twice as much, until x.grad.clear().
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3, 4], np.float32))
    a = spy.Tensor.full(device, (1,), 2).with_grads()
    result = spy.Tensor.empty_like(x).with_grads(grad_in=1)
    parabola.bwds(x, a, b=8, c=-1, _result=result)
    parabola.bwds(x, a, b=8, c=-1, _result=result)
    check("the gradient of a", a.grad.to_numpy(), 2 * (1 + 4 + 9 + 16))


def pairs(parabola):
    # 3. Without tensors: a value and its gradient as a pair. Afterwards x.grad is the new gradient. Of the result only
    #    the gradient matters.
    x = spy.diffPair(3.0)
    parabola.bwds(x, a=2, b=8, c=-1, _result=spy.diffPair(d=1.0))
    check("a slope", x.grad, 20)


def directions(parabola):
    # 4. Forward mode: the gradients of the inputs say in which direction to go, and the call computes the result
    #    together with how fast it changes that way. Here x and c move, x twice as fast.
    result = parabola.fwds(spy.diffPair(3.0, 2.0), a=2, b=8, c=spy.diffPair(-1.0, 1.0))
    check("the value", result.primal, 41)
    check("the speed", result.grad, 41)


def fit(device, module):
    # 5. What it is good for: a parabola through points, by gradient descent. Nothing is waited for until the end, and
    #    after the first round nothing is allocated on the GPU.
    truth = np.array([0.5, -1, 2])
    xs = 4 * np.arange(POINTS) / POINTS - 2
    x = spy.Tensor.from_numpy(device, xs.astype(np.float32))
    y = spy.Tensor.from_numpy(device, np.polyval(truth, xs).astype(np.float32))
    abc = spy.Tensor.zeros(device, (3,)).with_grads()
    a, b, c = abc[0:1], abc[1:2], abc[2:3]  # views see the gradients of what they are views of
    mean = spy.diffPair(d=1 / POINTS)
    for _ in range(STEPS):
        module.distance.bwds(x, y, a, b, c, _result=mean)
        module.descend(abc, abc.grad, rate=0.1)
    found = abc.to_numpy()
    print(f"fitted: {found[0]:.4f} x^2 + {found[1]:.4f} x + {found[2]:.4f}")
    check("the fit", found, truth)


def main():
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "gradient.slang")
    slopes(device, module.parabola)
    sums(device, module.parabola)
    pairs(module.parabola)
    directions(module.parabola)
    fit(device, module)
    device.close()


main()
