"""24_neural_material [OUTPUT.png]: a network learns how a rough surface shines, and then shades balls beside the formula that it was learnt
from. Prints how near they are, and writes the picture if a path is given.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy
from slangpy import mlp

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

SIZE, SAMPLES, STEPS, RATE = 192, 512, 400, 0.02


def main(path=None):
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "material.slang")
    material = mlp.Network(device, 32, 1, 16, 1, "SiLU", bias=True)
    adam = mlp.Adam(material, rate=RATE, beta2=0.99)

    # 1. One step, recorded: each replay draws other surfaces, because it gets another seed.
    encoder = device.create_command_encoder()
    mean = spy.diffPair(d=1 / SAMPLES)
    module.loss.bwds.append_to(encoder, material, spy.call_id(), 0, _result=mean, _thread_count=SAMPLES)
    adam.step(encoder)
    step = encoder.finish()
    for i in range(STEPS):
        if i == STEPS * 3 // 4:
            adam.rate = RATE / 5
        step.set(0, seed=i)
        device.submit_command_buffer(step)
    adam.check()

    # 2. The network in a shading function: an argument like any other.
    image = module.shade(material, spy.call_id(), SIZE, _thread_count=(SIZE * 2 // 3, SIZE)).to_numpy()
    image = np.clip(image.astype(np.float64), 0, 1) ** (1 / 2.2)
    truth, learnt = image[:SIZE // 3], image[SIZE // 3:]
    near = -10 * np.log10(np.square(truth - learnt).mean())
    print(f"the learnt balls are like the true ones to {near:.1f} dB")
    if near < 35:
        sys.exit(f"expected 35 dB at least, got {near:.2f}")
    if path:
        pictures.write(path, (255 * image + 0.5).astype(np.uint8))
    device.close()


main(*sys.argv[1:])
