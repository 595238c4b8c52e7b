"""What --side dry uses: torch's CUDA tensors are the host's, and this library's kernels check a launch's sizes and its arguments' names and
do not run. The CUDA driver without a GPU (tests/unit/fake_cuda) gives the device, so that Slang checks each module."""
import ctypes
import os
import subprocess

import torch
from torch.overrides import TorchFunctionMode

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "unit/fake_cuda")


def on_host(device):
    return torch.device("cpu") if device is not None and torch.device(device).type == "cuda" else device


class HostMode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0]
        if name == "to":
            args = tuple(on_host(a) if isinstance(a, (str, torch.device)) else a for a in args)
        if "device" in kwargs:
            kwargs["device"] = on_host(kwargs["device"])
        return function(*args, **kwargs)


def begin():
    folder = "/tmp/fake_cuda_stand_in.%d" % os.getuid()
    library = os.path.join(folder, "libcuda.so.1")
    if not os.path.exists(library):
        os.makedirs(folder, exist_ok=True)
        part = f"{library}.{os.getpid()}"
        subprocess.run(["gcc", "-std=c11", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", *(os.path.join(FAKE, f + ".c") for f in ("driver", "array", "graph", "play")), "-o", part, "-lm", "-ldl"], check=True)
        os.rename(part, library)
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    HostMode().__enter__()
    torch.cuda.synchronize = lambda *a: None
    torch.cuda.current_device = lambda: 0
    import slangpy
    from slangpy import slangtorch
    device = slangpy.create_device(slangpy.DeviceType.cuda)
    slangtorch._device_of_torch = lambda: device

    def launch(self, blockSize, gridSize):
        self._kernel._prepare(blockSize, gridSize)

    slangtorch.TorchLaunch.launchRaw = launch
