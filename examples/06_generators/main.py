"""06_generators [OUTPUT.png]: arguments that are made in the kernel, one for each element, with no memory behind them:
where the element is, numbers in a row, grids, and chance.

It prints a multiplication table and pi, and draws the Mandelbrot set.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

WIDTH, HEIGHT, STRIDE, DARTS = 960, 640, 8, 1000000
CENTRE, PIXEL_SIZE = spy.float2(-0.75, 0), 0.0036


def check(good, what, got, expected):
    if not good:
        sys.exit(f"{what}: got {got}, expected {expected}")


# >>where an element is

def places(module):
    # 1. call_id is the element's place in the call, thread_id its number. They have no size of their own: here the
    #    result, an array that the call fills, gives the call its shape, and the parameters' types say how many
    #    dimensions they take.
    agree = np.zeros((5, 7), dtype=bool)
    module.agree(spy.call_id(), spy.call_id(), spy.thread_id(), spy.int2(7, 5), _result=agree)
    check(agree.all(), "the places of an element", agree, True)


def table(module):
    # 2. A range is a dimension, as an array of its numbers would be. Two of them, mapped to a dimension each: every
    #    number with every other.
    a, b = range(2, 12, 2), range(1, 11)
    products = module.times.map((0,), (1,))(a, b, _result="numpy")
    for row in products:
        print("".join(f"{n:4d}" for n in row))
    check((products == np.outer(a, b)).all(), "the products", products, np.outer(a, b))


# >>a picture

def mandelbrot_in_numpy(x, y):
    """mandelbrot() of generators.slang in double, for arrays of pixels."""
    size = float(np.float32(PIXEL_SIZE))  # as the GPU gets it
    cx, cy = CENTRE.x + size * x, CENTRE.y + size * y
    zx, zy, steps = np.zeros(cx.shape), np.zeros(cx.shape), np.zeros(cx.shape)
    for i in range(1, 401):
        inside = steps == 0  # those that have left stay where they are
        zx, zy = np.where(inside, zx * zx - zy * zy + cx, zx), np.where(inside, 2 * zx * zy + cy, zy)
        d = zx * zx + zy * zy
        left = inside & (d > 64)
        steps[left] = i - np.log2(0.5 * np.log2(d[left])) + 1
    return steps


def draw(device, module, stride):
    # 3. A grid gives coordinates: offset + stride * place. Sizes of -1 follow the rest of the call. The offset puts
    #    (0, 0) into the middle of the picture.
    pixel = spy.grid((-1, -1), offset=(-HEIGHT // 2, -WIDTH // 2), stride=(stride, stride))
    steps = spy.Tensor.empty(device, (HEIGHT // stride, WIDTH // stride), dtype=float)
    module.mandelbrot(pixel, CENTRE, PIXEL_SIZE, _result=steps)
    return steps


def picture(device, module, path):
    steps, preview = draw(device, module, 1), draw(device, module, STRIDE)

    # 4. rand_float: a random number between two others for each component of each element. The seed says which;
    #    without one there is one too: the same numbers at each run, on each GPU.
    pixels = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    module.paint(steps, spy.rand_float(0, 1, 3), _result=pixels)

    # The small picture is every eighth pixel of the large one. Of numpy's some differ: at the edge of the set float
    # and double part ways.
    got, small = steps.to_numpy()[::STRIDE, ::STRIDE], preview.to_numpy()
    check((np.abs(got - small) <= 0.01).all(), "the small picture", small, got)
    waves = 0.5 - 0.5 * np.cos(2.5 * np.log2(1 + got.astype(float))[..., None] + [2.2, 2.7, 3.3])
    expected = np.where(got[..., None] > 0, 254 * waves, 0)  # chance adds less than 1; the GPU's cos is not numpy's
    colours = pixels[::STRIDE, ::STRIDE]
    check((np.abs(colours - expected) < 1.3).all(), "the colours", colours, expected)
    y, x = np.mgrid[:HEIGHT:STRIDE, :WIDTH:STRIDE]
    differ = (np.abs(got - mandelbrot_in_numpy(x - WIDTH // 2, y - HEIGHT // 2)) > 0.1).sum()
    print(f"{differ} of {got.size} pixels differ from numpy")
    check(differ * 100 <= got.size, "pixels that differ from numpy", differ, "1 %")
    pictures.write(path, pixels)


# >>chance

def wang_hash(x):
    x = (x ^ 61) ^ (x >> 16)
    x = x * 9 & 0xFFFFFFFF
    x = x ^ (x >> 4)
    x = x * 0x27D4EB2D & 0xFFFFFFFF
    return x ^ (x >> 15)


def hashes(module):
    # 5. wang_hash is what rand_float is made of: 32 random bits for each component. Element i of three components
    #    begins at 3 i, is hashed `warmup` times and joined with hash(seed), and is hashed again for each component.
    got = np.zeros((1000, 3), dtype=np.uint32)
    module.same(spy.wang_hash(3, seed=2026, warmup=2), _result=got)
    state = wang_hash(wang_hash(3 * np.arange(1000))) ^ wang_hash(2026)
    for c in range(3):
        state = wang_hash(state)
        check((got[:, c] == state).all(), "Wang hashes", got[:, c], state)


def pi_by_darts(device, module):
    # 6. Pi from a million darts: the circle has pi / 4 of the square. Neither argument gives the call a size, so that
    #    _thread_count does. The first hash of numbers in a row shows something of the row; a warmup of 1 hides it.
    #    The same darts in numpy; one that is just on the line may fall to the other side.
    hits = spy.Tensor.zeros(device, (1,), dtype="uint")
    module.throw_dart(spy.rand_float(-1, 1, 2, seed=1, warmup=1), hits, _thread_count=DARTS)
    inside = int(hits.to_numpy()[0])
    x = wang_hash(wang_hash(2 * np.arange(DARTS)) ^ wang_hash(1))
    u, v = ((bits & 0x7FFFFF) / 2.0**22 - 1 for bits in (x, wang_hash(x)))  # 23 bits of each
    expected = int((u * u + v * v < 1).sum())
    print(f"pi is about {4 * inside / DARTS:.4f}")
    check(abs(inside - expected) <= 3, "darts in the circle", inside, expected)
    check(abs(4 * inside / DARTS - np.pi) < 0.01, "pi", 4 * inside / DARTS, np.pi)


def main(out_path="mandelbrot.png"):
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "generators.slang")
    places(module)
    table(module)
    picture(device, module, out_path)
    hashes(module)
    pi_by_darts(device, module)
    print(out_path)
    device.close()


main(*sys.argv[1:])
