"""Sharing CUDA's contexts and streams with other libraries: native handles, current contexts, devices for torch."""
from __future__ import annotations

import sys

from . import _slangpy
from .enums import DeviceType, _IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias, Unpack

    from .device import Device, _DeviceOptions

    class _HasStream(Protocol):
        @property
        def cuda_stream(self) -> int: ...

    class _HasStreamProtocol(Protocol):
        def __cuda_stream__(self) -> tuple[int, int]: ...

    _StreamLike: TypeAlias = "int | NativeHandle | _HasStream | _HasStreamProtocol"

__all__ = ["NativeHandle", "NativeHandleType", "CudaContextScope", "get_cuda_current_context_native_handles", "create_torch_device"]


class NativeHandleType(_IntEnum):
    """The type of a NativeHandle, under its name in the API."""

    undefined = 0
    win32 = 1
    file_descriptor = 2
    D3D12Device = 131073
    D3D12CommandQueue = 131074
    D3D12GraphicsCommandList = 131075
    D3D12Resource = 131076
    D3D12PipelineState = 131077
    D3D12StateObject = 131078
    D3D12CpuDescriptorHandle = 131079
    D3D12Fence = 131080
    D3D12DeviceAddress = 131081
    VkDevice = 196609
    VkPhysicalDevice = 196610
    VkInstance = 196611
    VkQueue = 196612
    VkCommandBuffer = 196613
    VkBuffer = 196614
    VkImage = 196615
    VkImageView = 196616
    VkAccelerationStructureKHR = 196617
    VkSampler = 196618
    VkPipeline = 196619
    VkSemaphore = 196620
    MTLDevice = 262145
    MTLCommandQueue = 262146
    MTLCommandBuffer = 262147
    MTLTexture = 262148
    MTLBuffer = 262149
    MTLComputePipelineState = 262150
    MTLRenderPipelineState = 262151
    MTLSharedEvent = 262152
    MTLSamplerState = 262153
    MTLAccelerationStructure = 262154
    CUdevice = 327681
    CUdeviceptr = 327682
    CUstream = 327683
    CUtexObject = 327687
    CUcontext = 327689
    OptixDeviceContext = 393217
    OptixTraversableHandle = 393218
    WGPUDevice = 458753
    WGPUBuffer = 458754
    WGPUTexture = 458755
    WGPUSampler = 458756
    WGPURenderPipeline = 458757
    WGPUComputePipeline = 458758
    WGPUQueue = 458759
    WGPUCommandBuffer = 458760
    WGPUTextureView = 458761
    WGPUCommandEncoder = 458762
    unknown = 0  # earlier versions have this name


class NativeHandle:
    """NativeHandle(type=NativeHandleType.undefined, value=0): a handle of another API, such as a CUcontext or CUstream, as an int.
    NativeHandle() means no handle. The object does not own what the handle stands for."""

    type: NativeHandleType
    value: int

    __slots__ = {"type": "The NativeHandleType.", "value": "The handle as an int."}

    def __init__(self, type: NativeHandleType | str = NativeHandleType.undefined, value: int = 0) -> None:
        try:
            self.type = NativeHandleType[type] if isinstance(type, str) else NativeHandleType(type)
        except (KeyError, ValueError):
            raise _slangpy.ArgumentTypeError("NativeHandle: argument 'type': expected a NativeHandleType, got {!r}".format(type)) from None
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError("NativeHandle: argument 'value': expected an int, got {!r}".format(value))
        if not 0 <= value < 1 << 64:
            raise _slangpy.ArgumentTypeError("NativeHandle: argument 'value': expected 64 bits, got {}".format(value))
        self.value = value

    @staticmethod
    def from_cuda_stream(stream: int | _HasStream) -> NativeHandle:
        """from_cuda_stream(stream): returns the handle of a CUDA stream, given as an int or as an object with cuda_stream, such as torch's
        streams."""
        return NativeHandle(NativeHandleType.CUstream, stream if isinstance(stream, int) else stream.cuda_stream)

    @property
    def cuda_stream(self) -> int:
        """The value of a handle of type CUstream. An AttributeError for other types."""
        if self.type != NativeHandleType.CUstream:
            raise AttributeError("{!r} is no CUstream".format(self))
        return self.value

    def __bool__(self) -> bool:
        return self.type != NativeHandleType.undefined

    def __eq__(self, other: object) -> bool:
        return type(other) is NativeHandle and (self.type, self.value) == (other.type, other.value)

    def __hash__(self) -> int:
        return hash((self.type, self.value))

    def __repr__(self):
        return "NativeHandle(type={}, value=0x{:08x})".format(self.type.name, self.value)


def get_cuda_current_context_native_handles() -> list[NativeHandle]:
    """get_cuda_current_context_native_handles(): returns this thread's current CUDA context, as a list of the NativeHandles of its
    CUdevice and CUcontext, for create_device(existing_device_handles=...). Raises an error if the thread has no current context, or if
    there is no CUDA driver."""
    context, adapter = _slangpy._cuda_get_current()
    if not context:
        raise _slangpy.Error("get_cuda_current_context_native_handles: this thread has no current CUDA context; torch.cuda.current_stream() "
                             "or a device's set_cuda_context_current() makes one current")
    return [NativeHandle(NativeHandleType.CUdevice, adapter - 1), NativeHandle(NativeHandleType.CUcontext, context)]


def _name_of(type):
    return getattr(type, "name", type)


_HANDLES = "create_device: argument 'existing_device_handles': "
_VULKAN = (NativeHandleType.VkInstance, NativeHandleType.VkPhysicalDevice, NativeHandleType.VkDevice)


def _owner_of(desc, devices):
    """Returns the Device whose VkDevice is among a DeviceDesc's existing_device_handles, or None. With one, an automatic type of the desc
    becomes DeviceType.vulkan."""
    value = next((h.value for h in desc.existing_device_handles or () if isinstance(h, NativeHandle) and h.type == NativeHandleType.VkDevice), None)
    if value is None or _name_of(desc.type) not in ("automatic", "vulkan"):
        return None
    owner = next((d for d in devices if any(h.value == value and h.type == NativeHandleType.VkDevice for h in d.native_handles)), None)
    if owner is not None:
        desc.type = DeviceType.vulkan
    return owner


def _take_handles(desc):
    """Returns (CUcontext or None, adapter_luid or None) from a DeviceDesc's existing_device_handles. With CUDA handles, an automatic
    type of the desc becomes DeviceType.cuda."""
    given = {}
    for handle in desc.existing_device_handles or ():
        if not isinstance(handle, NativeHandle):
            raise TypeError(_HANDLES + "expected a list of NativeHandle, got {!r} in it".format(handle))
        if handle.type in _VULKAN:
            raise _slangpy.Error(_HANDLES + "a Vulkan device of another library can be brought by C programs only; expected the native_handles "
                                 "of a Device of this process, got {!r}".format(handle))
        if handle and (handle.type not in (NativeHandleType.CUcontext, NativeHandleType.CUdevice) or handle.type in given):
            raise _slangpy.ArgumentValueError(_HANDLES + "expected one CUcontext and its CUdevice, got {!r}".format(desc.existing_device_handles))
        given[handle.type] = handle.value
    given.pop(NativeHandleType.undefined, None)
    if not given:
        return None, desc.adapter_luid
    if _name_of(desc.type) == "automatic":
        desc.type = DeviceType.cuda
    if _name_of(desc.type) != "cuda":
        raise _slangpy.ArgumentValueError(_HANDLES + "CUDA's handles need DeviceType.cuda, got {!r}".format(desc.type))
    context, ordinal = given.get(NativeHandleType.CUcontext), given.get(NativeHandleType.CUdevice)
    if context == 0:
        raise _slangpy.ArgumentValueError(_HANDLES + "the CUcontext is NULL")
    if ordinal is None:
        return context, desc.adapter_luid
    if desc.adapter_luid and desc.adapter_luid[0] != ordinal + 1:
        raise _slangpy.ArgumentValueError(_HANDLES + "the CUdevice is {}, and 'adapter_luid' is that of {}".format(ordinal, desc.adapter_luid[0] - 1))
    return context, [ordinal + 1] + [0] * 15


class CudaContextScope:
    """The object that Device.cuda_context_scope() returns. `with` makes the device's context current and restores the earlier one."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._before: list[int] = []

    def __enter__(self) -> Device:
        before = _slangpy._cuda_get_current()[0]
        self._device.set_cuda_context_current()
        self._before.append(before)
        return self._device

    def __exit__(self, *exception: object) -> None:
        _slangpy._cuda_set_current(self._before.pop())


_ContextScope = CudaContextScope


class _StreamScope:
    """In a `with` block of this object, the device's work goes to the stream of an argument 'cuda_stream'. With None or NativeHandle() the
    stream does not change."""

    def __init__(self, device, stream, where):
        self._device, self._stream, self._where = device, stream, where
        self._other = stream is not None and not (isinstance(stream, NativeHandle) and not stream)

    def __enter__(self):
        if self._other:
            try:
                self._device._use_stream(self._stream)
            except (TypeError, ValueError) as error:
                text = str(error).partition(": ")[2]
                raise type(error)("{}: argument 'cuda_stream': {}".format(self._where, text)) from None

    def __exit__(self, *exception):
        if self._other:
            self._device._use_stream(None)


def _torch_index(torch, given):
    """Returns torch's index of the CUDA device that the argument 'torch_device' names."""
    where = "create_torch_device: argument 'torch_device': "
    if not torch.cuda.is_available():
        raise _slangpy.Error("create_torch_device: torch.cuda.is_available() is False: this torch has no CUDA, or the machine has no GPU")
    if given is None:
        return torch.cuda.current_device()
    if isinstance(given, int) and not isinstance(given, bool):
        index = given
    else:
        try:
            asked = torch.device(given)
        except (RuntimeError, TypeError) as error:
            raise _slangpy.ArgumentValueError(where + "expected a torch.device, 'cuda:1' or a number, got {!r}".format(given)) from error
        if asked.type != "cuda":
            raise _slangpy.ArgumentValueError(where + "expected a CUDA device, got {!r}".format(given))
        index = torch.cuda.current_device() if asked.index is None else asked.index
    if not 0 <= index < torch.cuda.device_count():
        raise _slangpy.ArgumentValueError(where + "expected a number below {}, got {}".format(torch.cuda.device_count(), index))
    return index


def _current_stream_of(torch, index):
    """Returns a function that returns the handle of the calling thread's current stream, or torch.Tensor if C code can ask that type."""
    tensor = getattr(torch, "Tensor", None)
    if hasattr(tensor, "__dlpack_c_exchange_api__"):
        return tensor
    return _python_stream_of(torch, index)


def _python_stream_of(torch, index):
    # ten times as fast as torch.cuda.current_stream(); torch's own compiler uses it
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return lambda: raw(index)
    return lambda: torch.cuda.current_stream(index).cuda_stream


def _library_of(type):
    """Returns two functions for a class of arrays whose library is imported already. The first, function(device), returns the library's
    current stream; the second makes an array of the library from a DLPack producer. Both are None for a library other than torch and
    CuPy."""
    name = (type.__module__ or "").partition(".")[0]
    library = sys.modules.get(name)
    if name == "torch" and hasattr(library, "from_dlpack"):
        return (lambda device: _python_stream_of(library, device)()), library.from_dlpack
    if name == "cupy" and hasattr(library, "cuda"):
        return (lambda device: library.cuda.get_current_stream().ptr), None
    return None, None


def _vulkan_adapter_of(torch, index):
    """Returns the adapter_luid of torch's GPU among Vulkan's adapters, by its name; None for Vulkan's first choice."""
    from .device import enumerate_adapters

    if not torch.cuda.is_available():
        return None
    name = torch.cuda.get_device_name(index)
    return next((list(a.luid) for a in enumerate_adapters(DeviceType.vulkan) if a.name == name), None)


def create_torch_device(type: DeviceType | str = DeviceType.automatic, torch_device: Any = None, **more: Unpack[_DeviceOptions]) -> Device:
    """create_torch_device(type=DeviceType.automatic, torch_device=None, **more): makes a Device for use with torch. A CUDA Device, the default,
    uses torch's context on `torch_device`: a torch.device, a name such as "cuda:1", a number, or None for torch's current device. The work of
    each thread goes to torch's current stream of that thread, so that neither side waits for the other. A Device of DeviceType.vulkan is on the
    GPU of that name; calls with torch tensors in CUDA memory copy them and their results on the GPU, in torch's current stream and without a
    wait, to memory that both APIs use; or through the CPU where the two cannot share memory (Windows, software devices), and for empty tensors.
    `more` are keywords of create_device(). An error for other types, and for CUDA when torch has none. An ImportError without torch."""
    from .device import create_device

    name = _name_of(type)
    if name not in ("automatic", "cuda", "vulkan"):
        raise _slangpy.Error("create_torch_device: argument 'type': expected DeviceType.cuda or DeviceType.vulkan, got {!r}".format(type))
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("create_torch_device: this needs PyTorch, which is not installed: pip install torch") from error
    if name == "vulkan":
        index = _torch_index(torch, torch_device) if torch_device is not None or torch.cuda.is_available() else 0
        options: Any = {"adapter_luid": _vulkan_adapter_of(torch, index), **more}
        return create_device(DeviceType.vulkan, **options)
    index = _torch_index(torch, torch_device)
    with torch.cuda.device(index):
        torch.cuda.current_stream()  # makes torch create its context and make it current
        handles = get_cuda_current_context_native_handles()
    device = create_device(DeviceType.cuda, existing_device_handles=handles, **more)
    device._follow = _current_stream_of(torch, index)
    return device
