"""02_tonemap [PICTURE.png] [OUTPUT.png]: a photograph through a Slang function, pixel by pixel, on the GPU.

The function in tonemap.slang is written for one pixel and three parameters. This program gives it a whole picture for
the pixel and one number for each of the others: the call runs over the picture, and the numbers are the same for all
pixels.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures  # reads and writes files; slangpy itself knows nothing of pictures: for it they are arrays

EXPOSURE, SATURATION = -0.3, 0.3


def tonemap_in_numpy(pixels):
    """tonemap() of tonemap.slang once more, in double, to check the result."""
    c = pixels / 255.0
    x = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) * 2.0**EXPOSURE
    shown = np.clip(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0, 1)
    grey = (shown @ [0.2126, 0.7152, 0.0722])[..., None]
    c = np.clip(grey + SATURATION * (shown - grey), 0, 1)
    return np.where(c <= 0.0031308, c * 12.92, 1.055 * c ** (1 / 2.4) - 0.055) * 255


def main(in_path=FOLDER / "../../build/data/astronaut.png", out_path="tonemapped.png"):
    try:
        photo = pictures.read(in_path)
    except (OSError, ValueError) as e:
        sys.exit(f"cannot read '{in_path}': {e} (tools/setup fetches the default one)")

    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "tonemap.slang")

    # 1. A picture is an array of bytes of shape (height, width, 3): rows, columns, channels. `pixel` takes three bytes,
    #    so the last dimension feeds it and the call runs over the other two. Had the picture four channels, this would
    #    be an error at the call that names the argument, its type and its shape.
    pixel = spy.Tensor.from_numpy(device, photo)
    out = spy.Tensor.empty_like(pixel)

    # 2. exposure and saturation are numbers: they are broadcast. Arrays of shape (height, 1) would give each row its
    #    own. Arguments are an ordinary dict, here kept for three uses. The names are those of the Slang parameters.
    arguments = dict(pixel=pixel, exposure=EXPOSURE, saturation=SATURATION, _result=out)

    # 3. How is it going to run? The first lines say how arguments meet parameters; the kernel's text follows them.
    print(module.tonemap.explain(**arguments).split("\n\n")[0])

    # 4. The first call compiles. The second one finds everything ready: that is the one to time. time() makes the
    #    call, waits and asks the GPU's own clock, in seconds.
    module.tonemap(**arguments)
    seconds = module.tonemap.time(**arguments)

    # 5. Back to numpy. The tensor itself stays on the device.
    result = out.to_numpy()

    # 6. The GPU's pixels may differ from numpy's by rounding: half a step each for the two conversions to bytes, and a
    #    little.
    expected = tonemap_in_numpy(photo)
    wrong = np.abs(result - expected) > 0.6
    if wrong.any():
        sys.exit(f"row, column, channel {np.argwhere(wrong)[0]}: expected {expected[wrong][0]:.2f}, got {result[wrong][0]}")
    pictures.write(out_path, result)
    print(f"{photo.shape[1]} x {photo.shape[0]} pixels in {seconds * 1e3:.3f} ms on the GPU\n{out_path}")
    device.close()


main(*sys.argv[1:])
