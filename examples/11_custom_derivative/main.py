"""11_custom_derivative: functions that bring a derivative of their own, with the box filter of the slang-torch guide.
Prints what is checked: how pixels of a picture matter to a few of its blurred version.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
HEIGHT, WIDTH = 48, 64


def check(what, got, expected, tolerance=1e-5):
    if not np.allclose(got, expected, rtol=0, atol=tolerance):
        sys.exit(f"{what}: got {got}, expected {expected}")


def neighbours(a):
    """For each pixel the sum of its 3 x 3 neighbours, where there are any."""
    rows = np.pad(a, 1)
    return sum(rows[y:y + HEIGHT, x:x + WIDTH] for y in range(3) for x in range(3))


def filters(device, module):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    image = ((x // 8 + y // 8) % 2 + 0.01 * x).astype(np.float32)
    seeds = np.zeros((HEIGHT, WIDTH), np.float32)
    for place in (0, 0), (20, 30), (21, 32), (47, 63):  # the results that matter
        seeds[place] = 1

    # The filter in numpy, and what it means for gradients: each result hands its own to the pixels that it is the mean of.
    count = neighbours(np.ones((HEIGHT, WIDTH)))
    expected, expected_gradient = neighbours(image) / count, neighbours(seeds / count)

    # 1. By hand: the image and its gradient are two tensors, taken whole, and the function's own derivative adds to the
    #    second. The call itself has no gradient of an input to add to.
    plain = spy.Tensor.from_numpy(device, image)
    gradient = spy.Tensor.zeros_like(plain)
    result = spy.Tensor.empty_like(plain).with_grads(grad_in=seeds)
    module.filter_by_hand(plain, gradient, spy.call_id(), _result=result)
    module.filter_by_hand.bwds(plain, gradient, spy.call_id(), _result=result)
    check("blurred pixels", result.to_numpy(), expected)
    check("gradients by hand", gradient.to_numpy(), expected_gradient)

    # 2. A DiffTensor takes a tensor together with its gradient, and its loads do the same.
    both = plain.with_grads()
    module.filter.bwds(both, spy.call_id(), _result=result)
    got = both.grad.to_numpy()
    check("gradients by the library", got, expected_gradient)
    total = got.sum(dtype=np.float64)
    print(f"4 pixels of the blurred picture depend on pixels with gradients of {total:.4f} in all")
    check("all gradients", total, 4, 1e-4)


def rounding(device, module):
    # 3. A derivative may also be what one would like it to be. Rounding has none to speak of; with the slope of a
    #    straight line instead, gradient descent goes through it ("straight-through").
    targets = np.array([0.75, 0.25, 0.5], np.float32)
    x = spy.Tensor.from_numpy(device, np.array([0.1, 0.5, 0.9], np.float32)).with_grads()
    for _ in range(60):
        x.grad.clear()
        module.distance.bwds(x, targets, levels=4, _result=spy.diffPair(d=1.0))
        x.copy_from_numpy(x.to_numpy() - np.float32(0.05) * x.grad.to_numpy())
    for number, target in zip(x.to_numpy(), targets):
        rounded = np.round(4 * number) / 4
        print(f"{number:g} rounds to {rounded:g}")
        check("a rounded number", rounded, target, 0)


def main():
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "box_filter.slang")
    filters(device, module)
    rounding(device, module)
    device.close()


main()
