"""Sharing CUDA's contexts and streams with other libraries: native handles, current contexts, devices for torch."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol, TypeAlias, final, type_check_only

from . import _Path
from .device import Device
from .enums import DeviceType, SlangCompilerOptions

__all__ = ["NativeHandle", "NativeHandleType", "create_torch_device", "get_cuda_current_context_native_handles"]

@type_check_only
class _HasStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...

@type_check_only
class _HasStreamProtocol(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

_StreamLike: TypeAlias = int | NativeHandle | _HasStream | _HasStreamProtocol

class NativeHandleType(IntEnum):
    """What a NativeHandle is a handle of: the name of its type in its API."""
    unknown = 0
    VkInstance = 1
    VkPhysicalDevice = 2
    VkDevice = 3
    CUdevice = 4
    CUdeviceptr = 5
    CUstream = 6
    CUcontext = 7

class NativeHandle:
    """A handle of another API, such as a CUcontext or CUstream, as an int. Without a type it stands for none. It owns
    nothing.
    """
    __slots__ = ("type", "value")
    type: NativeHandleType
    value: int
    def __init__(self, type: NativeHandleType | str = ..., value: int = 0) -> None: ...
    @staticmethod
    def from_cuda_stream(stream: int | _HasStream) -> NativeHandle:
        """The handle of a CUDA stream, given as an int or an object with cuda_stream, as torch's streams."""
    @property
    def cuda_stream(self) -> int:
        """The value of a CUstream; an AttributeError for other types."""
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def get_cuda_current_context_native_handles() -> list[NativeHandle]:
    """The CUdevice and the CUcontext that are current on this thread, as a list of NativeHandle for
    create_device(existing_device_handles=...). An error where none is current, or without a CUDA driver.
    """
def create_torch_device(
    type: DeviceType | str = ...,
    torch_device: Any = None,
    *,
    enable_debug_layers: bool = False,
    adapter_luid: Sequence[int] | None = None,
    include_paths: Sequence[_Path] = ...,
    enable_cuda_interop: bool = False,
    enable_print: bool = False,
    enable_hot_reload: bool = True,
    enable_compilation_reports: bool = False,
    bindless_options: Any = None,
    adapter_name: str | None = ...,
    label: str = ...,
    compiler_options: SlangCompilerOptions | Mapping[str, Any] | None = ...,
    log: Callable[[int, str], object] | None = ...,
    progress: Callable[[str, bool], object] | None = ...,
    print_buffer_size: int = ...,
    compile_timeout_s: float = ...,
    check_bounds: bool = ...,
    slang_library: str | None = ...,
    max_plans: int = ...,
) -> Device:
    """A CUDA Device for use beside torch. It is in the context that torch has on `torch_device` (torch.device, "cuda:1", a
    number; None: torch's current one), and all that a thread does with it goes to torch's current stream of that thread,
    so that neither side waits for the other. `more`: keywords of create_device(). An error for other types, and where
    torch has no CUDA; ImportError without torch.
    """
