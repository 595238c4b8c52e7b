"""08_hot_reload: a Slang file is edited while the program runs; the next frame draws the new curve. An edit that does
not compile is told, and the frame after it still draws the old one.

The program plays both parts. As the user's editor it writes a copy of curve.slang, in a temporary folder; as a program
with a frame loop it draws one line of characters a frame.
"""
import pathlib
import re
import sys
import tempfile

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).parent
POINTS = 64
TEXT = (FOLDER / "curve.slang").read_text()


def edit(path, to):
    """The editor: puts `to` in place of what stands between "return " and ";", and saves."""
    path.write_text(re.sub("return .*;", lambda match: f"return {to};", TEXT))


# 1. The reload callback hears of each module that has new code, and of each attempt that failed, with the compiler's
#    text. An editor would show that beside the line; here it is printed.
failures = []


def on_reload(event):
    print("  -- reloaded" if event.succeeded else f"  -- not reloaded:\n{event.message}")
    if not event.succeeded:
        failures.append(event.message)


# 2. A frame: just calls. The device looks at the files when a function is called, no more often than
#    set_hot_reload_delay() says. The function and the tensors are those from before the reload; nothing is found or
#    made again.
def frame(curve, x, expected):
    y = curve(x).to_numpy()
    print("".join(" .:-=+*#%@"[int(np.clip(v * 9 + 0.5, 0, 9))] for v in y))
    wrong = np.abs(y - expected(x.to_numpy().astype(float))) >= 2e-3
    if wrong.any():
        sys.exit(f"wrong results: the curve is {y[wrong][0]} at {x.to_numpy()[wrong][0]}")


# The curves of the three edits in numpy, to compare with.
def wave(x):
    return 0.5 + 0.5 * np.sin(x)


def ramp(x):
    return x / 12.6


def bumps(x):
    return np.abs(np.sin(x))


def main(folder):
    path = pathlib.Path(folder) / "curve.slang"
    path.write_text(TEXT)

    # 3. The device knows the callback; the module is loaded from the file that will be edited. A delay of 0 looks at
    #    the files at each call: good for this program, which edits faster than people do. Errors are also written to
    #    the log; without `log` that would be the standard error output.
    device = spy.create_device(log=lambda level, message: None)
    device.set_hot_reload_delay(0)
    device.register_shader_hot_reload_callback(on_reload)
    module = spy.Module.load_from_file(device, path)
    curve = module.curve
    x = spy.Tensor.from_numpy(device, np.arange(POINTS, dtype=np.float32) * np.float32(0.2))

    # 4. Two frames of the file as it came, then an edit.
    frame(curve, x, wave)
    frame(curve, x, wave)
    edit(path, "x / 12.6")
    frame(curve, x, ramp)

    # 5. An error stops nobody: the call after a failed reload runs the code from before. Nor does the error come again
    #    each frame, only after the next edit.
    edit(path, "abs(sin(x) +)")
    frame(curve, x, ramp)
    frame(curve, x, ramp)
    if len(failures) != 1 or "curve.slang" not in failures[0]:
        sys.exit(f"wrong results: expected one failed reload, got {failures}")

    # 6. Mended.
    edit(path, "abs(sin(x))")
    frame(curve, x, bumps)

    # 7. Text that is in no file yet, as an editor has it before it saves: it is in force until the file changes. Asked
    #    for like this, a failure would raise.
    module.reload(TEXT)
    frame(curve, x, wave)
    device.close()


with tempfile.TemporaryDirectory(prefix="slangpy_08_") as folder:
    main(folder)
