"""A first hour with slangpy, for people who know Python and numpy but not GPUs. Run it, read along, change it.

    python examples/tour.py [OUTPUT.png]

Each step prints what it did and why, and checks it with numpy.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER))
import pictures

# The code that runs on the GPU, in Slang: C-like functions of single values. Usually it lies in a .slang file of its
# own, and is loaded with spy.Module.load_from_file(device, "tour.slang").
SLANG = """
float add(float a, float b)
{
    return a + b;
}

// A lamp somewhere in the plane. Structs have fields and methods, as classes do in Python.
struct Lamp
{
    float2 position;
    float3 colour;

    float3 light(float2 at)
    {
        return colour / (0.02 + dot(at - position, at - position));
    }
}

// The colour of one pixel: the lamp's light, cut by a wave.
float3 shade(int2 pixel, Lamp lamp, float scale)
{
    float2 at = float2(pixel) * scale;
    float wave = 0.6 + 0.4 * sin(20 * length(at - lamp.position));
    return 0.05 * wave * lamp.light(at);
}
"""

steps = 0


def step(title):
    global steps
    steps += 1
    print(f"\n{steps}. {title}")


def check(good, what):
    if not good:
        sys.exit(f"step {steps}: {what} is not what numpy says")


# ---------------------------------------------------------------------------------------------------------------------
step("Load")
device = spy.create_device()
module = spy.Module.load_from_source(device, "tour", SLANG)
print(f"   {device}: what will run the code. A graphics card, or lavapipe, which plays one on the processor.")
print("   The module is loaded: its functions are attributes, such as module.add. GPU code is made when one is called.")

# ---------------------------------------------------------------------------------------------------------------------
step("Call")
three = module.add(1, 2)
print(f"   module.add(1, 2) = {three}: numbers in, a number out. The first call compiles, which takes a moment; the next")
print("   ones with the same kinds of arguments find the kernel ready.")
check(three == 3, "1 + 2")

a = np.random.default_rng(1).random((480, 640), dtype=np.float32)
b = np.random.default_rng(2).random((480, 640), dtype=np.float32)
c = module.add(a, b)
print(f"   module.add(a, b) of two numpy arrays: add() takes numbers, so it ran once for each of {a.size} elements, in")
print(f"   parallel. The result stays on the GPU, as a Tensor of shape {tuple(c.shape)}; c.to_numpy() fetches it.")
check((c.to_numpy() == a + b).all(), "a + b")

x = spy.Tensor.from_numpy(device, a)
for _ in range(10):
    x = module.add(x, 0.5)
print("   Tensors go into the next call without a copy. Calls do not wait for the GPU: only to_numpy() and the like do.")
check(np.allclose(x.to_numpy(), a + 5), "ten times 0.5")

# ---------------------------------------------------------------------------------------------------------------------
step("Broadcast")
row, column = np.arange(640, dtype=np.float32), np.arange(480, dtype=np.float32)[:, None]
grid = module.add(row, column, _result="numpy")
print(f"   Shapes follow numpy's rule: {row.shape} and {column.shape} give {grid.shape}. With _result='numpy' it is an array.")
check((grid == row + column).all(), "row + column")

pairs = module.add.map((0,), (1,))(np.float32([1, 2, 3]), np.float32([10, 20]), _result="numpy")
print(f"   map() says otherwise which dimension is which: every one of three with every one of two is {pairs.shape}.")
check((pairs == [[11, 21], [12, 22], [13, 23]]).all(), "every pair")

try:
    module.add(np.zeros((4, 3), np.float32), np.zeros(4, np.float32))
    check(False, "a shape that does not fit")
except ValueError as e:
    print("   What does not fit is an error before anything runs, and says why:\n")
    print("      " + str(e).strip().replace("\n", "\n      "))

# ---------------------------------------------------------------------------------------------------------------------
step("Struct")
lamp = {"position": [0.1, -0.2], "colour": [1.0, 0.7, 0.4]}
light = module.Lamp.light.bind(lamp)([0.5, 0.5])
print(f"   A struct is a dict of its fields, a method is called on one: the light at (0.5, 0.5) is {light}.")
check(np.allclose(light, np.array([1, 0.7, 0.4]) / (0.02 + 0.4**2 + 0.7**2)), "the light of one lamp")

lamps = {"position": np.random.default_rng(3).random((5, 2), dtype=np.float32), "colour": [1.0, 0.7, 0.4]}
lights = module.Lamp.light.bind(lamps)([0.5, 0.5]).to_numpy()
print(f"   Fields may be arrays: five positions and one colour are five lamps, and five lights {lights.shape}.")
distances = ((0.5 - lamps["position"]) ** 2).sum(1, keepdims=True)
check(np.allclose(lights, np.float32([1, 0.7, 0.4]) / (0.02 + distances), rtol=1e-4), "the light of five lamps")

# ---------------------------------------------------------------------------------------------------------------------
step("Explain")
HEIGHT, WIDTH = 480, 640
image = spy.Tensor.empty(device, (HEIGHT, WIDTH), dtype="float3")
pixel = spy.grid((-1, -1), offset=(-HEIGHT // 2, -WIDTH // 2))
arguments = dict(pixel=pixel, lamp=lamp, scale=2 / HEIGHT, _result=image)
table, kernel = module.shade.explain(**arguments).split("\n\n", 1)
print("   What would a call do? explain() says how each argument meets its parameter, and shows the kernel:\n")
print("      " + table.replace("\n", "\n      "))
print(f"\n   ... and {len(kernel.splitlines())} lines of Slang, which are made to be read: print(module.shade.explain(...)).")
print("   `pixel` is a generator: each element's own coordinates, (0, 0) in the middle. It takes no memory at all.")
check("pixel" in table and "float3" in table and "shade(" in kernel, "the table")

# ---------------------------------------------------------------------------------------------------------------------
step("Picture")
out_path = sys.argv[1] if len(sys.argv) > 1 else "tour.png"
module.shade(**arguments)
seconds = module.shade.time(**arguments)
result = image.to_numpy()
pictures.write(out_path, (255 * np.clip(result, 0, 1) ** (1 / 2.2) + 0.5).astype(np.uint8))  # 2.2: what screens expect
y, x = np.mgrid[-HEIGHT // 2 : HEIGHT // 2, -WIDTH // 2 : WIDTH // 2] * (2 / HEIGHT)
d = (x - 0.1) ** 2 + (y + 0.2) ** 2
expected = (0.05 * (0.6 + 0.4 * np.sin(20 * np.sqrt(d))) / (0.02 + d))[..., None] * [1.0, 0.7, 0.4]
print(f"   One call for {WIDTH} x {HEIGHT} pixels, {seconds * 1e3:.2f} ms on the GPU's own clock. Have a look:\n   {out_path}")
check(result.shape == (HEIGHT, WIDTH, 3) and np.allclose(result, expected, atol=2e-3), "the picture")

device.close()
print("\nWhere to go from here: examples/01_hello/main.py to 09_reflection/main.py, each with one new thing.")
