"""How examples are run by tests (tests/run, tests/packs/run): their arguments, and what of their output can be compared."""
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PHOTO = os.path.join(TOP, "build/data/astronaut.png")
READS = ("02_tonemap", "07_raw_dispatch", "13_textures", "20_fuse", "23_fit_image")
DRAWS = ("02_tonemap", "03_structs", "05_particles", "06_generators", "07_raw_dispatch", "13_textures", "14_raster", "15_fit_raster", "20_fuse")


def folder_of(picture):
    return os.path.splitext(picture)[0]


def arguments(name, picture):
    """An example's arguments: the picture that it reads, and the one that it writes, which belongs in no source folder."""
    args = [PHOTO] if name in READS else []
    args += [picture] if name in DRAWS else []
    if name == "12_inverse_rendering":  # several, into a folder
        os.makedirs(folder_of(picture), exist_ok=True)
        args += [folder_of(picture)]
    if name in ("23_fit_image", "24_neural_material"):  # what training gives differs a little from run to run: nobody compares the pictures
        os.makedirs(folder_of(picture) + "-learnt", exist_ok=True)
        args += [folder_of(picture) + ("-learnt" if name == "23_fit_image" else "-learnt/balls.png")]
    return args


def comparable(output, picture):
    """What an example printed, with words in the place of names of files and of times."""
    output = re.sub(r"\d+\.\d dB", "N dB", output)
    output = re.sub(r"^.*: \d+ s so far; .*\n", "", output, flags=re.M)  # a busy machine
    output = output.replace(picture, "PICTURE").replace(folder_of(picture), "PICTURES")
    return re.sub(r"\d+\.\d{3} (ms|GB/s)", "TIME", re.sub(r"/tmp/slangpy_08_\w+", "FOLDER", output))
