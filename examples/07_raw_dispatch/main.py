"""07_raw_dispatch [PICTURE.png] [OUTPUT.png]: threads and groups of threads given by hand.

Calls choose their threads by themselves. Where an algorithm is made of them - tiles that share memory, lists that the
GPU fills and works off - clarity.slang says how it is divided, and this program dispatches it: a photograph is blurred,
except where it has details, which are made crisper.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

TILE, REACH, THRESHOLD = 16, 3, 96


# >>the same in numpy, in integers, so that every byte is the same

def details_in_numpy(photo):
    """Which tiles have details, of shape (rows, columns)."""
    height, width, _ = photo.shape
    green = photo[..., 1].reshape(height // TILE, TILE, width // TILE, TILE).astype(int)
    return green.max((1, 3)) - green.min((1, 3)) >= THRESHOLD


def clarity_in_numpy(photo):
    height, width, _ = photo.shape
    wide = np.pad(photo.astype(int), [(REACH, REACH), (REACH, REACH), (0, 0)], "edge")
    size = 2 * REACH + 1
    blurred = sum(wide[y : y + height, x : x + width] for y in range(size) for x in range(size)) // size**2
    details = details_in_numpy(photo).repeat(TILE, 0).repeat(TILE, 1)[..., None]
    return np.where(details, np.clip(2 * photo.astype(int) - blurred, 0, 255), blurred)


def check(photo, result, groups, bins):
    expected = clarity_in_numpy(photo)
    wrong = result != expected
    if wrong.any():
        sys.exit(f"row, column, channel {np.argwhere(wrong)[0]}: expected {expected[wrong][0]}, got {result[wrong][0]}")
    if groups[0] != details_in_numpy(photo).sum():
        sys.exit(f"{groups[0]} tiles with details, numpy finds {details_in_numpy(photo).sum()}")
    counts = np.bincount((photo.astype(int) @ [77, 150, 29] // 256).ravel(), minlength=256)
    if (bins != counts).any():
        sys.exit(f"pixels of each brightness: {bins}, numpy counts {counts}")


# >>the program

def main(in_path=FOLDER / "../../build/data/astronaut.png", out_path="clarity.png"):
    try:
        photo = pictures.read(in_path)
    except (OSError, ValueError) as e:
        sys.exit(f"cannot use '{in_path}': {e}")
    height, width, _ = photo.shape
    if width % TILE or height % TILE:
        sys.exit(f"cannot use '{in_path}': its sides must be multiples of 16")
    columns, rows = width // TILE, height // TILE

    device = spy.create_device(include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "clarity.slang")
    picture = spy.Tensor.from_numpy(device, photo)
    soft = spy.Tensor.empty_like(picture)
    groups = spy.Tensor.empty(device, (3,), dtype="uint")
    tiles = spy.Tensor.empty(device, (rows * columns,), dtype="int2")
    bins = spy.Tensor.empty(device, (256,), dtype="uint")

    # 1. Everything is recorded by a command encoder, to be done twice. Without it each of these would be done at once.
    encoder = device.create_command_encoder()

    # 2. A compute shader with its own [numthreads], over a thread for each pixel. Its arguments are passed whole:
    #    nothing is run over. What has a semantic (SV_...) is the system's business.
    module.blur.dispatch([width, height, 1], photo=picture, soft=soft, command_encoder=encoder)

    # 3. A plain function over exactly so many threads: one for each tile. It takes tensors as pointers here. `groups`
    #    begins with no group in x, 1 in y and z.
    encoder.upload_buffer_data(groups, 0, np.uint32([0, 1, 1]))
    find = {"photo": picture, "threshold": THRESHOLD, "groups": groups, "list": tiles}
    module.find_details.dispatch([columns, rows, 1], **find, command_encoder=encoder)

    # 4. How many tiles were found, only the GPU knows, and nobody waits for it to tell: the numbers of groups are read
    #    from `groups` when the GPU comes here.
    module.sharpen.dispatch_indirect(groups, photo=picture, soft=soft, list=tiles, command_encoder=encoder)

    # 5. Shared memory in an ordinary call: pixel by pixel, in groups of 256 threads. The last group must be full,
    #    because all threads of a group wait for each other; the multiples of 16 see to that. `_append_to` is to a call
    #    what `command_encoder` is to a dispatch.
    histogram = module.histogram.thread_group_size((256, 1, 1))
    bins.clear(encoder)
    histogram(picture, spy.thread_id(), bins, _append_to=encoder)
    commands = encoder.finish()

    # 6. Once with the photograph, once with a darker one, which has fewer details: what is in the tensors counts at
    #    each submission.
    for turn in range(2):
        picture.copy_from_numpy(photo)
        device.submit_command_buffer(commands)
        result, counted = soft.to_numpy(), groups.to_numpy()
        check(photo, result, counted, bins.to_numpy())
        if turn == 0:
            pictures.write(out_path, result)
            photo = photo // 2
        print(f"{counted[0]} of {rows * columns} tiles have details")
    print(out_path)
    device.close()


main(*sys.argv[1:])
