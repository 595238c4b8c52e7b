"""20_fuse [PICTURE.png] [OUTPUT.png]: a photograph through seven Slang functions, first by a call for each, then by one
kernel that the library makes of all of them.

Each call of its own reads a picture from memory and writes one. The fused function keeps the values between the steps in
registers: it reads three bytes a pixel and writes three.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures  # reads and writes files; slangpy itself knows nothing of pictures: for it they are arrays

STOPS, WARMTH, AMOUNT = 0.6, 0.12, 1.25


def step(function, *args, **kwargs):
    """Calls a function; its time on the GPU in seconds. The first call compiles, the second is the one to time."""
    function(*args, **kwargs)
    return function.time(*args, **kwargs)


def main(in_path=FOLDER / "../../build/data/astronaut.png", out_path="fused.png"):
    try:
        photo = pictures.read(in_path)
    except (OSError, ValueError) as e:
        sys.exit(f"cannot read '{in_path}': {e} (tools/setup fetches the default one)")

    device = spy.create_device(include_paths=[FOLDER])
    m = spy.Module.load_from_file(device, "pipeline.slang")

    # 1. The pipeline is a Python function over Slang functions. It runs once, with traced values, and what it calls is
    #    recorded. The types of the parameters are those of the Slang parameters that they are given to.
    @spy.fuse
    def pipeline(pixel, stops):
        light = m.decode(pixel)
        light = m.expose(light, stops=stops)
        light = m.balance(light, WARMTH)
        shown = m.filmic(light)
        grey = m.luminance(shown)
        shown = m.colourful(shown, grey, AMOUNT)
        return m.encode(shown)

    # 2. What comes out is an ordinary function of a module of its own, whose text is there to be read.
    print(pipeline.text)

    # 3. One call, one kernel.
    pixel = spy.Tensor.from_numpy(device, photo)
    out = spy.Tensor.empty_like(pixel)
    fused = step(pipeline, pixel=pixel, stops=STOPS, _result=out)

    # 4. Its explanation says what it reads and writes.
    explained = pipeline.explain(pixel=pixel, stops=STOPS, _result=out)
    print(next(line for line in explained.splitlines() if line.startswith("  reads ")))

    # 5. The same by seven calls, with pictures of floats between them.
    a, b = (spy.Tensor.empty(device, shape=photo.shape, dtype="float") for _ in range(2))
    grey = spy.Tensor.empty(device, shape=photo.shape[:2], dtype="float")
    plain = spy.Tensor.empty_like(pixel)
    unfused = step(m.decode, pixel, _result=a)
    unfused += step(m.expose, a, STOPS, _result=b)
    unfused += step(m.balance, b, WARMTH, _result=a)
    unfused += step(m.filmic, a, _result=b)
    unfused += step(m.luminance, b, _result=grey)
    unfused += step(m.colourful, b, grey, AMOUNT, _result=a)
    unfused += step(m.encode, a, _result=plain)

    # 6. Both pictures are the same, but for rounding.
    result = out.to_numpy()
    if np.abs(result.astype(int) - plain.to_numpy()).max() > 1:
        sys.exit("the pictures differ")
    pictures.write(out_path, result)
    rate = 2 * result.size / max(fused, 1e-9) * 1e-9
    print(f"{photo.shape[1]} x {photo.shape[0]} pixels: seven calls {unfused * 1e3:.3f} ms, fused {fused * 1e3:.3f} ms, {rate:.3f} GB/s")
    print(out_path)
    device.close()


main(*sys.argv[1:])
