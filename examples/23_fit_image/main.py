"""23_fit_image [PHOTO.png] [OUTPUT_FOLDER]: a hash grid and a small network learn a photo, 128 x 128 pixels. Prints how near they are (PSNR),
and writes pictures of the progress and of the curve into the folder if one is given.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy
from slangpy import mlp

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

SIZE, REPLAYS, RATE = 128, 24, 0.02


def smaller(pixels, size):
    """Each pixel of the result is the mean of a square."""
    step = len(pixels) // size
    return pixels[:size * step, :size * step].reshape(size, step, size, step, 3).mean((1, 3))


def larger(pixels):
    """Twice as large, linear between the middles of the pixels."""
    for axis in 0, 1:
        rows = np.moveaxis(pixels, axis, 0)
        edged = np.concatenate([rows[:1], rows, rows[-1:]])
        both = np.stack([0.25 * edged[:-2] + 0.75 * rows, 0.75 * rows + 0.25 * edged[2:]], 1)
        pixels = np.moveaxis(both.reshape(-1, *rows.shape[1:]), 0, axis)
    return pixels


def psnr(image, photo):
    return -10 * np.log10(np.square(image - photo).mean())


def save(folder, name, image):
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        pictures.write(pathlib.Path(folder) / name, (255 * np.clip(image, 0, 1) + 0.5).astype(np.uint8))


def curve(values, low, high):
    """A picture of numbers, one column of 4 pixels for each."""
    image = np.ones((SIZE, 4 * len(values), 3))
    for i, value in enumerate(values):
        image[SIZE - int(SIZE * min(max((value - low) / (high - low), 0), 1)):, 4 * i:4 * i + 4] = (0.2, 0.4, 0.8)
    return image


def main(path=FOLDER.parent.parent / "build/data/astronaut.png", folder=None):
    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "image.slang")
    photo = smaller(pictures.read(path) / 255, SIZE).astype(np.float32)
    target = spy.Tensor.from_numpy(device, photo).view((SIZE, SIZE, 3))

    # 1. What is learnt: the grids' numbers, near 0 at first, and the network's weights.
    features = spy.Tensor.zeros(device, (8 * 2 * 1024,))
    module.first_feature(spy.call_id(), 1e-4, 0, _result=features)
    features = features.with_grads()
    colors = mlp.Network(device, 16, 3, 16, 1, "ReLU", "Sigmoid", bias=True)
    adam = mlp.Adam([features, colors], rate=RATE, beta2=0.99)

    # 2. Four steps, one for each pixel of a square of 2 x 2, recorded once. A replay is one launch.
    mean = spy.diffPair(d=4 / SIZE**2)
    encoder = device.create_command_encoder()
    for turn in range(4):
        module.loss.bwds.append_to(encoder, features, colors, spy.call_id(), turn, target, _result=mean, _thread_count=(SIZE // 2, SIZE // 2))
        adam.step(encoder)
    steps = encoder.finish()

    # 3. The rate lies on the device: what is recorded follows it.
    reached = []
    for i in range(1, REPLAYS + 1):
        if i == REPLAYS * 3 // 4:
            adam.rate = RATE / 4
        device.submit_command_buffer(steps)
        image = module.paint(features, colors, spy.call_id(), SIZE, _thread_count=(SIZE, SIZE)).to_numpy()
        reached.append(psnr(image, photo))
        if i % 8 == 0:
            print(f"step {4 * i}: {reached[-1]:.1f} dB", flush=True)
            save(folder, f"step_{4 * i}.png", image)
    adam.check()
    save(folder, "photo.png", photo)
    save(folder, "curve.png", curve(reached, 10, 35))

    simple = psnr(larger(smaller(photo, SIZE // 2)), photo)
    print(f"the photo halved and enlarged: {simple:.1f} dB")
    if reached[-1] < simple + 1:
        sys.exit(f"expected {simple + 1:.2f} dB at least, got {reached[-1]:.2f}")
    device.close()


main(*sys.argv[1:])
