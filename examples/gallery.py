"""Draws docs/gallery: runs the examples that make pictures, and makes small copies of what they drew.

    make gallery        (or: python examples/gallery.py FOLDER_OF_THE_EXAMPLES_PROGRAMS)

Any Vulkan device will do, lavapipe too. Pictures have at most 150 KB each, as the README shows them.
"""
import os
import pathlib
import subprocess
import sys

import numpy as np

import pictures

TOP = pathlib.Path(__file__).resolve().parent.parent
DRAWN, GALLERY = TOP / "build/gallery", TOP / "docs/gallery"
PHOTO = TOP / "build/data/astronaut.png"


def run(program, *arguments):
    print(f"{program.stem} ...", flush=True)
    words = [sys.executable, program] if program.suffix == ".py" else [program]
    folder = TOP / "examples" / program.stem  # the C programs look for their Slang files in the current folder
    subprocess.run([*words, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd=folder if folder.is_dir() else TOP)


def smaller(pixels, size):
    """Returns the picture made smaller, with `size` rows: each pixel is the mean of a square of the picture."""
    step = len(pixels) // size
    height, width = len(pixels) // step, pixels.shape[1] // step
    squares = pixels[: height * step, : width * step].reshape(height, step, width, step, 3)
    return np.round(squares.mean((1, 3))).astype(np.uint8)


def halves(before, after):
    """Returns one picture: `before` above a white line from corner to corner, and `after` below it."""
    y, x = np.mgrid[: len(before), : before.shape[1]]
    side = (x + y - len(before))[..., None]
    return np.where(np.abs(side) < 2, 255, np.where(side < 0, before, after)).astype(np.uint8)


def main(programs):
    os.environ.setdefault("SLANGPY_SLANG_LIBRARY", str(TOP / "build/slang/libslang-compiler.so"))
    for folder in DRAWN, GALLERY:
        folder.mkdir(parents=True, exist_ok=True)
    run(programs / "02_tonemap", PHOTO, DRAWN / "tonemap.png")
    run(programs / "03_structs", DRAWN / "planets.png")
    run(programs / "05_particles", DRAWN / "galaxy.png")
    run(programs / "06_generators", DRAWN / "mandelbrot.png")
    run(programs / "07_raw_dispatch", PHOTO, DRAWN / "clarity.png")
    run(programs / "12_inverse_rendering", DRAWN)
    run(programs / "13_textures", PHOTO, DRAWN / "textures.png")
    run(programs / "14_raster", DRAWN / "raster.png")
    run(programs / "15_fit_raster", DRAWN / "fit_raster.png")
    run(programs / "23_fit_image", PHOTO, DRAWN)
    run(TOP / "examples/tour.py", DRAWN / "tour.png")
    drawn = {path.stem: pictures.read(path) for path in DRAWN.glob("*.png")}
    photo = smaller(pictures.read(PHOTO), 256)
    gallery = {
        "galaxy": smaller(drawn["galaxy"][80:720, 80:720], 320),  # of 100,000 stars, the picture at the top
        "mandelbrot": smaller(drawn["mandelbrot"][:, 180:820], 320),
        "planets": drawn["planets"][60:420, 105:465],
        "tonemap": halves(photo, smaller(drawn["tonemap"], 256)),
        "clarity": drawn["clarity"][:240, 100:340],
        "tour": smaller(drawn["tour"][:, 100:580], 240),
        "inverse_rendering": halves(*(drawn[name].repeat(3, 0).repeat(3, 1) for name in ("before", "after"))),
        "textures": smaller(drawn["textures"], 256),
        "raster": smaller(drawn["raster"], 240),
        "fit_raster": halves(*(drawn["fit_raster"][:, x : x + 128].repeat(2, 0).repeat(2, 1) for x in (0, 128))),
        "fit_image": halves(*(drawn[name].repeat(2, 0).repeat(2, 1) for name in ("step_32", "step_160"))),
    }
    for name, pixels in gallery.items():
        path = GALLERY / f"{name}.png"
        pictures.write(path, np.ascontiguousarray(pixels))
        kib = path.stat().st_size / 1024
        print(f"{path.relative_to(TOP)}: {pixels.shape[1]} x {pixels.shape[0]}, {kib:.0f} KiB")
        if kib > 150:
            sys.exit(f"{path} is larger than 150 KiB")


main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "build/release/examples-shared").resolve())
