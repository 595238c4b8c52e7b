"""The names of SlangPy's native module that few scripts use: versions, aliases for type hints, torch."""
from __future__ import annotations

import sys

from . import SPY_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .buffers import Buffer

# The version of SlangPy's interface that this package follows, for scripts that read it; __version__ is the package's own.
SGL_VERSION_MAJOR, SGL_VERSION_MINOR, SGL_VERSION_PATCH = 0, 43, 1
SGL_VERSION = "0.43.1"
SGL_GIT_VERSION = "slangpy.h {}".format(SPY_VERSION)
SGL_BUILD_TYPE = "Release"


def __getattr__(name: str) -> str:
    if name == "SLANG_BUILD_TAG":
        from . import compiler

        return compiler.build_tag()
    raise AttributeError("module 'slangpy.natives' has no attribute '{}'".format(name))


# >>torch: these names are those of SlangPy's bridge. Calls take tensors of torch by themselves and need none of them.

# The numbers of c10::ScalarType, which torch's Python module does not have.
_SCALAR_TYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16".split())
_fallback = False


def is_torch_bridge_available() -> bool:
    """Returns whether torch is installed, so that its tensors can be arguments."""
    import importlib.util

    return "torch" in sys.modules or importlib.util.find_spec("torch") is not None


def is_torch_bridge_using_fallback() -> bool:
    """Returns whether set_torch_bridge_python_fallback(True) was called. It changes nothing, because there is one way, by DLPack."""
    return _fallback


def get_torch_bridge_fallback_reason() -> str:
    """Returns why the fallback is used: "forced" or ""."""
    return "forced" if _fallback else ""


def set_torch_bridge_python_fallback(force: bool) -> None:
    """Notes the choice for is_torch_bridge_using_fallback(), and changes nothing else."""
    global _fallback
    _fallback = bool(force)


def set_allow_torch_fallback(allow: bool) -> None:
    """Does nothing: tensors of torch are always allowed."""


def is_torch_tensor(obj: Any) -> bool:
    """Returns whether an object is a torch.Tensor. It does not import torch."""
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(obj).__mro__)


def _tensor_of(obj):
    if not is_torch_tensor(obj):
        raise ValueError("Object is not a PyTorch tensor: got {!r}".format(type(obj)))
    return obj


def _scalar_type(tensor):
    name = str(tensor.dtype).rpartition(".")[2]
    return _SCALAR_TYPES.index(name) if name in _SCALAR_TYPES else -1


def extract_torch_tensor_info(tensor: Any) -> dict[str, Any]:
    """extract_torch_tensor_info(tensor): returns the properties of a torch tensor as a dict: data_ptr, shape, strides (in
    elements), ndim, device_type (0 means CPU, 1 means CUDA), device_index, scalar_type (c10::ScalarType's number), element_size,
    numel, storage_offset and three flags."""
    t = _tensor_of(tensor)
    index = t.device.index
    return {
        "data_ptr": t.data_ptr(), "shape": tuple(t.shape), "strides": tuple(t.stride()), "ndim": t.dim(),
        "device_type": {"cpu": 0, "cuda": 1}.get(t.device.type, -1), "device_index": -1 if index is None else index,
        "scalar_type": _scalar_type(t), "element_size": t.element_size(), "numel": t.numel(), "storage_offset": t.storage_offset(),
        "is_contiguous": t.is_contiguous(), "is_cuda": t.is_cuda, "requires_grad": t.requires_grad}


def extract_torch_tensor_signature(tensor: Any) -> str:
    """extract_torch_tensor_signature(tensor): returns its rank and type as "[D2,S6]"; the type is c10::ScalarType's number."""
    return "[D{},S{}]".format(_tensor_of(tensor).dim(), _scalar_type(tensor))


def copy_torch_tensor_to_buffer(tensor: Any, buffer: Buffer) -> bool:
    """copy_torch_tensor_to_buffer(tensor, buffer): copies a tensor's elements, without gaps, to the start of a Buffer. Returns True.
    Waits for the copy."""
    import numpy

    bytes_ = numpy.ascontiguousarray(_tensor_of(tensor).detach().cpu().contiguous().numpy()).view(numpy.uint8).reshape(-1)
    if bytes_.nbytes > buffer.size:
        raise ValueError("copy_torch_tensor_to_buffer: the tensor has {} bytes, the buffer {}".format(bytes_.nbytes, buffer.size))
    buffer.copy_from_numpy(bytes_)
    return True


def copy_buffer_to_torch_tensor(buffer: Buffer, tensor: Any) -> bool:
    """copy_buffer_to_torch_tensor(buffer, tensor): fills a tensor with the bytes at the start of a Buffer. Returns True. Waits for the
    copy."""
    import numpy
    import torch  # type: ignore[import-not-found,unused-ignore]

    target = _tensor_of(tensor).detach()
    size = target.numel() * target.element_size()
    if size > buffer.size:
        raise ValueError("copy_buffer_to_torch_tensor: the tensor has {} bytes, the buffer {}".format(size, buffer.size))
    bytes_ = numpy.ascontiguousarray(buffer.to_numpy()).view(numpy.uint8).reshape(-1)[:size].copy()
    target.copy_(torch.from_numpy(bytes_).view(target.dtype).reshape(target.shape))
    return True


def create_torch_empty_tensor(shape: Sequence[int], scalar_type: int, device_index: int = 0) -> Any:
    """create_torch_empty_tensor(shape, scalar_type, device_index=0): returns a new torch tensor on that CUDA device; `scalar_type` is
    c10::ScalarType's number."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    return torch.empty(tuple(shape), dtype=getattr(torch, _SCALAR_TYPES[scalar_type]), device="cuda:{}".format(device_index))


def create_torch_zeros_like_tensor(tensor: Any) -> Any:
    """create_torch_zeros_like_tensor(tensor): returns a torch tensor of zeros of the same sizes, type and device."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    return torch.zeros_like(_tensor_of(tensor))
