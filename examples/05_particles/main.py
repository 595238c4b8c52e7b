"""05_particles [OUTPUT.png]: 100,000 stars of a galaxy, a struct with methods, moved and drawn on the GPU.

galaxy.slang declares one star, its constructor and its methods. This program makes them all at once, in two ways, and
gets the same orbits from both and from numpy:

  a tensor of structs ("array of structs", AOS)      InstanceTensor
  a struct of tensors ("struct of arrays", SOA)      InstanceList
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

STARS, STEPS, SIZE, CHECKED = 100000, 200, 800, 2000
DT = 0.001


# >>the same in numpy, in double, to compare with

def wang_hash(x):
    """Thomas Wang's hash, which the random numbers of step 2 come from."""
    x = (x ^ 61) ^ (x >> 16)
    x = x * 9 & 0xFFFFFFFF
    x = x ^ (x >> 4)
    x = x * 0x27D4EB2D & 0xFFFFFFFF
    return x ^ (x >> 15)


def stars_in_numpy(numbers):
    """Places, energies and heats of the stars with these numbers, after all steps."""
    state, chance = 3 * numbers ^ wang_hash(7), []  # `chance` has three components
    for _ in range(3):
        state = wang_hash(state)
        chance.append((state & 0x7FFFFF) / 2.0**23)
    radius, angle = 0.02 + 0.8 * chance[0], 6.2831853 * chance[1]
    c, s, x, y = np.cos(7 * radius), np.sin(7 * radius), radius * np.cos(angle), radius * np.sin(angle)
    speed = np.sqrt(0.5) * (radius**2 + 0.01) ** -0.75
    p = np.stack([c * x - s * 0.75 * y, s * x + c * 0.75 * y])
    v = speed * np.stack([c * -y - s * 0.75 * x, s * -y + c * 0.75 * x])
    for _ in range(STEPS):
        d = (p**2).sum(0) + 0.01
        v -= DT * 0.5 / (d * np.sqrt(d)) * p
        p += DT * v
    energy = 0.5 * (v**2).sum(0) - 0.5 / np.sqrt((p**2).sum(0) + 0.01)
    return p.T, energy, radius * (0.6 + 0.6 * chance[2])


def check(what, positions, energies, heats):
    """float against double over 200 steps: 1e-4 of the picture's width is far above rounding, far below a mistake."""
    numbers = np.arange(CHECKED) * (STARS - 1) // (CHECKED - 1)
    p, energy, heat = stars_in_numpy(numbers)
    wrong = np.linalg.norm(positions[numbers] - p, axis=1) >= 1e-4
    wrong |= (np.abs(energies[numbers] - energy) >= 1e-3) | (np.abs(heats[numbers] - heat) >= 1e-5)
    if wrong.any():
        i = wrong.argmax()
        star = numbers[i]
        sys.exit(f"{what}: star {star} is at {positions[star]} with energy {energies[star]}, numpy says {p[i]} with {energy[i]}")


# >>the program

def main(out_path="galaxy.png"):
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "galaxy.slang")

    # 1. A struct is an attribute of the module. Its constructor is called by its name, as a class is in Python:
    #    module.Star([0.1, 0.2, 0.3]) is one star, a dict. Methods are attributes of the struct.
    Star = module.Star
    if sorted(Star([0.1, 0.2, 0.3])) != ["heat", "position", "velocity"]:
        sys.exit("a star has other fields than expected")

    # 2. A tensor of structs: each star's fields lie together. construct() runs the constructor once for each of them;
    #    `chance` is made in the kernel: three random numbers a star, from the star's number and a seed, so that they
    #    are the same at each run and on each GPU.
    chance = spy.rand_float(0, 1, 3, seed=7)
    stars = spy.InstanceTensor(Star, shape=(STARS,))
    stars.construct(chance)

    # 3. A struct of tensors: each field of all stars lies together, in a tensor of its own. The Slang code is the same.
    fields = spy.InstanceList(Star, {
        "position": spy.Tensor.empty(device, (STARS,), dtype="float2"),
        "velocity": spy.Tensor.empty(device, (STARS,), dtype="float2"),
        "heat": spy.Tensor.empty(device, (STARS,), dtype=float),
    })
    fields.construct(chance)

    # 4. Methods are called on both as if they were one star. step() is [mutating]: it changes them in place. shine()
    #    takes a whole tensor besides, which all stars share; it belongs to the call, so it gives it no dimensions.
    picture = spy.Tensor.zeros(device, (SIZE, SIZE), dtype="uint3")
    for _ in range(STEPS):
        stars.step(dt=DT)
        fields.step(dt=DT)
        stars.shine(picture)

    # 5. A method with a result.
    energy_aos = stars.energy()
    energy_soa = fields.energy()

    # 6. Back to numpy: the one as a structured array, the other field by field.
    aos = stars.to_numpy(structured=True)
    check("tensor of structs", aos["position"], energy_aos.to_numpy(), aos["heat"])
    check("struct of tensors", fields.position.to_numpy(), energy_soa.to_numpy(), fields.heat.to_numpy())

    # Every star shone once a step, with 16 of green. None may be lost, also where many shone at once.
    light = picture.to_numpy()
    if light[..., 1].sum(dtype=np.int64) != 16 * STARS * STEPS:
        sys.exit(f"the picture has {light[..., 1].sum(dtype=np.int64)} of green, not {16 * STARS * STEPS}")
    pictures.write(out_path, (255 * (1 - np.exp(-0.0005 * light))).astype(np.uint8))  # film: much light saturates
    print(f"{STARS} stars, {STEPS} steps, twice; {CHECKED} of them compared with numpy\n{out_path}")
    device.close()


main(*sys.argv[1:])
