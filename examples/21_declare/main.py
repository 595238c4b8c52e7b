"""21_declare: says at the argument how a call runs over it, by vmap, vdim and vcast, or once for all calls, by declare. The numbers
are checked against numpy.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
HEIGHT, WIDTH, FRAMES, LIGHTS, DISTANCES = 48, 64, 100, 3, 4


def check(what, got, expected):
    if not np.allclose(got, expected, rtol=0, atol=1e-4):
        sys.exit(f"{what}: got {got}, expected {expected}")


def tonemap(color, filmic, saturation):
    """What the Slang function computes."""
    grey = (color @ np.float32([0.3, 0.6, 0.1]))[..., None]
    c = grey + (color - grey) * saturation
    return c * filmic / (c + filmic)


def at_the_argument(module, image, pixels):
    # 1. Without a word more, a call takes the trailing dimensions that a parameter's type needs, and runs over the others.
    #    vdim says which ones are run over, vcast which type an element has, and vmap in which order: here the picture is
    #    transposed.
    for way in (spy.vdim(image, 2), spy.vcast(image, module.float3), spy.vmap(image, (1, 0))):
        out = module.tonemap(way, 1, 0.5)
        print(f"a picture of {HEIGHT} x {WIDTH} pixels becomes one of {out.shape[0]} x {out.shape[1]}")
    check("the transposed picture", out.to_numpy(), tonemap(pixels, 1, 0.5).transpose(1, 0, 2))


def around_a_struct(module):
    # 2. Around a dict it is the mapping of each field that is run over: every light at every distance. The power is one
    #    number for all.
    colors, distances = np.float32([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 1]]), np.float32([1, 2, 3, 4])
    lit = module.shine(spy.vmap({"color": colors, "power": 10}, (0,)), spy.vmap(distances, (1,)), _result="numpy")
    print(f"the blue light is {lit[2, 1, 2]:.3f} at distance 2")
    check("the lights", lit, colors[:, None] * 10 / distances[None, :, None] ** 2)


def overloads(module):
    # 3. A type chooses among functions of one name.
    v = np.float32([[3, 4, 0], [-1, 2, 2]])
    lengths = module.size(spy.vcast(v, module.float3), _result="numpy")
    sizes = module.size(spy.vcast(v, module.float), _result="numpy")
    print(f"as a float3 its size is {lengths[0]:g}, as floats {sizes[0, 0]:g}, {sizes[0, 1]:g} and {sizes[0, 2]:g}")
    check("a length", lengths[1], 3)
    check("a size", sizes[1, 0], 1)


def declared(device, module, image, pixels):
    # 4. declare says it once. What it returns is a function like any other, whose calls take the plain arguments: it can be
    #    recorded and differentiated, too.
    tonemap2d = module.tonemap.declare(spy.vmapping(0, 1))
    out = spy.Tensor.empty(device, (HEIGHT, WIDTH), "float3")
    for frame in range(FRAMES):
        tonemap2d(image, 1, frame / (FRAMES - 1), _result=out)
    seen = out.to_numpy()
    print(f"after {FRAMES} calls of the declared function the first pixel is {' '.join(f'{n:.3f}' for n in seen[0, 0])}")
    check("the picture", seen, tonemap(pixels, 1, 1))

    # 5. Its gradients are those of central differences. (gradcheck() is an error where one is not.)
    good = spy.gradcheck(tonemap2d, image, 1.0, 0.5, _max_elements=8)
    print(f"of the gradients that were checked {0 if good else 'some'} are wrong")


def mistakes(device, module):
    # 6. What cannot be meant is an error that says what could be.
    try:
        module.tonemap(np.zeros((WIDTH, 2), np.float32), 1, 1)
        sys.exit("two numbers are no color: taken")
    except ValueError:
        print("two numbers are no color: refused")


def main():
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "declare.slang")
    pixels = (np.arange(HEIGHT * WIDTH * 3) * 37 % 1000 / 1000).astype(np.float32).reshape(HEIGHT, WIDTH, 3)
    image = spy.Tensor.from_numpy(device, pixels)
    at_the_argument(module, image, pixels)
    around_a_struct(module)
    overloads(module)
    declared(device, module, image, pixels)
    mistakes(device, module)
    device.close()


main()
