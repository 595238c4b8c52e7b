"""03_structs [OUTPUT.png]: the four ways of giving and taking structs, on planets that go round a star for a year. Draws
their paths.

  whole, a Python value               a dict, or a record of a structured numpy array
  whole, an array on the device       a tensor of type Planet ("array of structs")
  field by field, numbers             a dict of numbers and lists
  field by field, tensors at leaves   a dict of tensors ("struct of arrays")

The Slang functions in planets.slang do not know which of them is used.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

STEPS, SIZE = 1000, 480
out_path = sys.argv[1] if len(sys.argv) > 1 else "planets.png"

names = ["Mercury", "Venus", "Earth", "Mars", "Jupiter"]
axes = np.float32([0.38710, 0.72333, 1.00000, 1.52368, 5.20260])
eccentricities = np.float32([0.20563, 0.00677, 0.01671, 0.09340, 0.04849])
masses = np.float32([1.660e-7, 2.448e-6, 3.003e-6, 3.227e-7, 9.546e-4])
colours = np.uint32([[200, 180, 160], [500, 420, 220], [160, 360, 700], [600, 240, 120], [900, 750, 600]])


def year_in_numpy(planets, star):
    """The same year in double, to compare with: x and y of each planet."""
    x = planets["motion"]["position"][:, :2].astype(float)
    v = planets["motion"]["velocity"][:, :2].astype(float)
    for i in range(2 * STEPS):  # two half kicks a step
        v -= 0.5 / STEPS * 39.4784176 * star["mass"] * x / np.linalg.norm(x, axis=1, keepdims=True) ** 3
        if i % 2 == 0:
            x += v / STEPS
    return x


device = spy.create_device(include_paths=[FOLDER])
module = spy.Module.load_from_file(device, "planets.slang")

# 1. Slang's struct needs no twin in Python: a type of the module is an attribute, as functions are. It knows its
#    fields, and the library asks Slang for their places on the device.
Planet = module.Planet

# 2. A struct whole: a dict with the fields' names. One that is missing, or that the struct does not have, is an error
#    at the first call.
sun = {"position": [0, 0, 0], "mass": 1}

# 3. Struct results. Arrays of five numbers feed three floats, so this is five calls in one, and the result is a new
#    tensor of five Planet: an array of structs. to_numpy(structured=True) gives a structured array, with names for the fields.
start = module.perihelion(axes, eccentricities, masses, sun)
first = start.to_numpy(structured=True)

# 4. A struct of arrays: each field has a tensor of its own, here float3 and float. Nested structs are nested dicts.
#    GPUs like this form better (neighbouring threads read neighbouring numbers), and a field that is the same for all
#    planets could be a single number. `dtype` is a Slang type: by its name or as an attribute of the module.
position = spy.Tensor.from_numpy(device, first["motion"]["position"], dtype="float3")
velocity = spy.Tensor.from_numpy(device, first["motion"]["velocity"], dtype="float3")
mass = spy.Tensor.from_numpy(device, masses)
fields = {"motion": {"position": position, "velocity": velocity}, "mass": mass}

# 5. `energy` is an out parameter: a fifth array that the function writes. The struct result goes into the tensors that
#    it came from, which is allowed because each planet reads and writes its own elements only. draw() takes the same
#    planets, a colour for each, and a whole picture for all of them. The loop records two thousand calls, each of which
#    needs the ones before it, and never waits.
colour = spy.Tensor.from_numpy(device, colours, dtype="uint3")
picture = spy.Tensor.zeros(device, shape=(SIZE, SIZE), dtype="uint3")
energy = spy.Tensor.empty(device, shape=(5,), dtype=float)
for i in range(STEPS):
    module.advance(planet=fields, star=sun, dt=1 / STEPS, energy=energy, _result=fields)
    module.draw(fields, colour, picture)
    if i == 0:
        e0 = energy.to_numpy()
e1 = energy.to_numpy()
at = position.to_numpy()

# 6. One planet, whole, in place: `inout` takes a record of the structured array and writes it back. The call waits for
#    that. (The whole array would go the same way: five planets turned back in one call.)
earth = first[2].copy()
module.turn_back(earth)

# One more dot of light for the sun: the struct whole, with a colour from host memory.
middle = {"motion": {"position": [0, 0, 0], "velocity": [0, 0, 0]}, "mass": 1}
module.draw(middle, [60000, 50000, 20000], picture)

# 7. One planet field by field from numbers. The result of a call without arrays is a Python value, here a dict with
#    vectors in it. An out parameter's number comes back in a ValueRef, because Python's numbers cannot change.
moved_energy = spy.floatRef()
still = {"position": [1, 0, 0], "velocity": [0, 6.2831853, 0]}
moved = module.advance({"motion": still, "mass": 1}, sun, dt=0.0, energy=moved_energy)

# 8. Energy is kept, the Earth is back after its year, and all of them are where numpy says.
expected = year_in_numpy(first, sun)
errors = np.linalg.norm(at[:, :2] - expected, axis=1)
drifts = np.abs(e1.astype(float) / e0 - 1)
for i, name in enumerate(names):
    print(f"{name:<8} after a year at ({at[i, 0]:6.3f}, {at[i, 1]:6.3f}), energy changed by {drifts[i]:.0e}")
    if errors[i] >= 2e-3 or drifts[i] >= 1e-3:
        sys.exit(f"{name}: numpy says ({expected[i, 0]:.4f}, {expected[i, 1]:.4f}), {errors[i]:.1e} away")
good = np.abs(at[2, :2] - first[2]["motion"]["position"][:2]).max() < 0.01
good &= earth["motion"]["velocity"][1] == -first[2]["motion"]["velocity"][1] and earth["mass"] == masses[2]
good &= moved["motion"]["position"].x == 1 and abs(moved_energy.value + 19.7392) < 0.01 and moved["mass"] == 1
if not good:
    sys.exit("wrong results")
pictures.write(out_path, (255 * (1 - np.exp(-0.001 * picture.to_numpy()))).astype(np.uint8))  # film: much light saturates
print(out_path)
device.close()
