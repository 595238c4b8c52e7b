"""What --side dry uses: torch's CUDA tensors are the host's, and say that they are in CUDA memory. The device is of the CUDA driver without a
GPU (tests/unit/fake_cuda): Slang and NVRTC compile all kernels, launches check their arguments, and nothing runs, unless tests/cuda/played
starts the programs: its kernels run on the CPU."""
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


class State(ctypes.Structure):
    """The first fields of tests/unit/fake_cuda/state.h up to the range of memory that the driver takes for its own."""
    _fields_ = [("on_kernel", ctypes.c_void_p), ("user", ctypes.c_void_p), ("on_load", ctypes.c_void_p), ("random", ctypes.c_uint64), ("fail", ctypes.c_char_p),
                ("fail_result", ctypes.c_int), ("fail_skip", ctypes.c_uint), ("capturing", ctypes.c_int), ("counts", ctypes.c_uint64 * 4), ("alive", ctypes.c_int64 * 4),
                ("stream", ctypes.c_void_p), ("waiting", ctypes.c_void_p), ("waits_for", ctypes.c_void_p), ("read_in", ctypes.c_void_p), ("graph", ctypes.c_uint * 3),
                ("mapped", ctypes.c_uint64), ("mapped_size", ctypes.c_uint64)]


TYPES = {torch.float32: "<f4", torch.float64: "<f8", torch.float16: "<f2", torch.int32: "<i4", torch.int64: "<i8", torch.int16: "<i2", torch.int8: "|i1", torch.uint8: "|u1", torch.uint32: "<u4", torch.bool: "|b1"}


def interface(tensor):
    with torch._C.DisableTorchFunction():
        size = tensor.element_size()
        return {"shape": tuple(tensor.shape), "typestr": TYPES[tensor.dtype], "data": (tensor.data_ptr(), False), "strides": tuple(n * size for n in tensor.stride()), "version": 3}


def library_of_driver():
    if "FAKE_CUDA_PLAY" in os.environ:  # the driver of tests/cuda/played
        return "libcuda.so.1"
    folder = "/tmp/fake_cuda_stand_in.%d" % os.getuid()
    library = os.path.join(folder, "libcuda.so.1")
    if not os.path.exists(library):
        os.makedirs(folder, exist_ok=True)
        part = f"{library}.{os.getpid()}"
        subprocess.run(["gcc", "-std=c11", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", *(os.path.join(FAKE, f + ".c") for f in ("driver", "array", "graph", "play")), "-o", part, "-lm", "-ldl"], check=True)
        os.rename(part, library)
    return library


def begin():
    driver = ctypes.CDLL(library_of_driver(), mode=ctypes.RTLD_GLOBAL)
    driver.fake_cuda_state.restype = ctypes.POINTER(State)
    state = driver.fake_cuda_state().contents
    state.mapped, state.mapped_size = 4096, 1 << 47  # all memory of the process
    for name in ("__dlpack_c_exchange_api__", "__dlpack__", "__dlpack_device__"):
        if hasattr(torch.Tensor, name):
            delattr(torch.Tensor, name)
    torch.Tensor.__cuda_array_interface__ = property(interface)
    HostMode().__enter__()
    torch.cuda.synchronize = lambda *a: None
    torch.cuda.current_device = lambda: 0
    torch._C._cuda_getCurrentRawStream = lambda index: 0
    import slangpy
    from slangpy import slangtorch
    device = slangpy.create_device(slangpy.DeviceType.cuda, enable_hot_reload=False)
    slangtorch._device_of_torch = lambda: device
