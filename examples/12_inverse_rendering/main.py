"""12_inverse_rendering [OUTPUT_FOLDER]: what is in a picture? A ball is rendered, and then its colour, its gloss and its
lamp are found again from the picture alone, by following the renderer's gradients. Writes before.png, target.png and
after.png.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

SIZE, STEPS = 96, 400
TRUTH = {"albedo": [0.8, 0.3, 0.1], "to_light": [0.5, 0.7, 0.6], "ambient": 0.15, "gloss": 0.4}
GUESS = {"albedo": [0.4, 0.4, 0.4], "to_light": [-0.3, 0.2, 0.9], "ambient": 0.3, "gloss": 0.1}


def save(folder, name, image):
    linear = np.clip(image.to_numpy().astype(np.float64), 0, 1)
    pictures.write(pathlib.Path(folder) / name, (255 * linear ** (1 / 2.2) + 0.5).astype(np.uint8))


def search(device, module, scene, target):
    # 2. Each round: the gradient of the distance between the pictures, by pixel, summed into the one Scene; then a step
    #    of Adam for each of its numbers. flatten_dtype() shows a struct of floats as floats. Everything stays on the
    #    device, and nothing is waited for.
    values, gradients = scene.flatten_dtype(), scene.grad.flatten_dtype()
    mean, square = spy.Tensor.zeros_like(values), spy.Tensor.zeros_like(values)
    each = spy.diffPair(d=1.0)
    for t in range(1, STEPS + 1):
        scene.grad.clear()
        module.distance.bwds(scene, target, spy.call_id(), SIZE, _result=each)
        module.adam(values, gradients, mean, square, rate=0.03 if t < STEPS // 2 else 0.006, t=t)


def check(found):
    # 3. Colour and brightness of the lamp cannot be told apart in a picture, only their product; the direction, and what
    #    does not depend on the split, can.
    lamp, true_lamp = np.float64(found["to_light"]), np.float64(TRUTH["to_light"])
    length, true_length = np.linalg.norm(lamp), np.linalg.norm(true_lamp)
    degrees = np.degrees(np.arccos(min(1, lamp @ true_lamp / (length * true_length))))
    albedo, true_albedo = np.float64(found["albedo"]), np.float64(TRUTH["albedo"])
    worst = max(abs(float(found["gloss"]) - TRUTH["gloss"]), np.abs(albedo * length - true_albedo * true_length).max(),
                np.abs(albedo * float(found["ambient"]) - true_albedo * TRUTH["ambient"]).max())
    print(f"the lamp is off by {degrees:.3f} degrees, colours and gloss by {worst:.4f}")
    if not (degrees < 0.5 and worst < 0.01):
        sys.exit("expected less than 0.5 degrees and 0.01")


def main(folder="."):
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "render.slang")

    # 1. The target is the only thing that the search knows of the truth.
    target = module.render(TRUTH, spy.call_id(), SIZE, _thread_count=(SIZE, SIZE))
    save(folder, "target.png", target)
    scene = spy.Tensor.full(device, (), GUESS, dtype=module.Scene).with_grads()
    image = spy.Tensor.empty_like(target)
    module.render(scene, spy.call_id(), SIZE, _result=image)
    save(folder, "before.png", image)

    search(device, module, scene, target)

    module.render(scene, spy.call_id(), SIZE, _result=image)
    save(folder, "after.png", image)
    check(scene.to_numpy()[()])
    device.close()


main(*sys.argv[1:])
