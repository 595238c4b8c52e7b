"""What the files of programs share: the table of themes, modules from text, and how results become plain values.

A theme is a Slang text with the programs that use it. slang-torch takes half a minute to build a module, so the programs of a theme share one:
its text is the theme's own and the texts of all its programs. A program is a function (m) of that module, written as a user of slang-torch
writes it, that returns plain values or tensors by name."""
import hashlib
import inspect
import json
import math
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.dirname(HERE))
import cases  # noqa: E402

LOST = cases.LOST  # how a process ends whose CUDA context is broken: all that it did there afterwards would fail
FAULTS = ("illegal memory access", "illegal address", "misaligned address", "unspecified launch failure", "device-side assert", "illegal instruction", "CUDA_ERROR_ILLEGAL",
          "CUDA_ERROR_MISALIGNED", "CUDA_ERROR_LAUNCH_FAILED", "warp illegal", "invalid program counter")
THEMES = {}
dry = False  # whether there is no GPU: kernels are checked and not run


class Theme:
    """text: Slang that all programs of the theme need. options: loadModule's. files: texts of further files beside the module's."""

    def __init__(self, name, text="", files=None, **options):
        assert name not in THEMES, name
        self.name, self.text, self.files, self.options, self.programs = name, text, files or {}, options, {}
        THEMES[name] = self

    def program(self, text=""):
        """A decorator: the function is a program of the theme that needs this Slang text as well."""
        def enter(function):
            assert function.__name__ not in self.programs, function.__name__
            function.text = text
            self.programs[function.__name__] = function
            return function
        return enter

    def source(self, names):
        return self.text + "".join(self.programs[n].text for n in names)

    def digest(self, name):
        """Of all that a program's result depends on here."""
        texts = [self.source([name]), json.dumps([self.files, self.options], sort_keys=True, default=str), inspect.getsource(self.programs[name])]
        return hashlib.sha1("\n".join(texts).encode()).hexdigest()[:12]

    def load(self, names):
        """The module of these programs, in the present folder."""
        for file, text in self.files.items():
            write(file, text)
        return load(self.source(names), "theme_" + self.name + ("" if len(names) == len(self.programs) else "_" + "_".join(names)), **self.options)


def write(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return os.path.abspath(path)


def load(text, name="kernels", **options):
    """Writes a file and loads it, as a user's script does."""
    import slangtorch
    path = name + ".slang"
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:  # an unchanged file keeps its time, and so slang-torch's build of it
        write(path, text)
    return slangtorch.loadModule(os.path.abspath(path), **options)


# >>results

progress = None  # worker.py: is told which result comes next
crashing = ()  # results of the present program that ended an earlier process


def settle():
    """Waits for the GPU. A launch that CUDA refused is told by the next of torch's own."""
    if not dry:
        torch.cuda.synchronize()
        torch.ones(1, device="cuda").add_(1)
        torch.cuda.synchronize()


def told(error):
    """An exception as a result. Ends the process where the CUDA context is broken."""
    text = " ".join(str(error).split())
    if any(fault in text for fault in FAULTS):
        sys.stderr.write(text[:500] + "\n")
        os._exit(LOST)
    return {"raises": [c.__name__ for c in type(error).__mro__ if issubclass(c, BaseException)], "text": text[:150]}


def attempt(function, *args, **keywords):
    """The value, or the exception."""
    try:
        value = function(*args, **keywords)
        settle()
        return plain(value)
    except (Exception, SystemExit) as error:
        return told(error)


def each(**functions):
    """Several results in one program: one that fails, or ends the process, does not hide the others."""
    results = {}
    for name, function in functions.items():
        if name in crashing:
            results[name] = {"crashes": True}
            continue
        if progress:
            progress(name)
        results[name] = attempt(function)
    if progress:
        progress("")
    return results


def number(value):
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def plain(value):
    """Numbers, texts, lists and dicts of them."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().reshape(-1)
        flat = flat.float() if flat.dtype in (torch.float16, torch.bfloat16) else flat
        return {"dtype": str(value.dtype), "shape": list(value.shape), "device": value.device.type, "values": [number(v) for v in flat[:4096].tolist()]}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, str, int, float)):
        return number(value)
    return "object of " + type(value).__name__


# >>what programs use

def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype, device="cuda")


def tensor(values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device="cuda")


def arange(*shape, dtype=torch.float32, start=0):
    return torch.arange(start, start + math.prod(shape), device="cuda").reshape(shape).to(dtype)


def noise(*shape, seed=1, dtype=torch.float32):
    """The same numbers from 0 to 1 on each machine."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32).to(dtype).to("cuda")


def line(launch, count, block=64):
    """Launches a thread for each of `count` numbers."""
    launch.launchRaw(blockSize=(block, 1, 1), gridSize=((count + block - 1) // block, 1, 1))


def plane(launch, width, height, block=8):
    """Launches a thread for each of width * height points."""
    launch.launchRaw(blockSize=(block, block, 1), gridSize=((width + block - 1) // block, (height + block - 1) // block, 1))
