"""Buffers: device memory that holds bytes, elements of one type, or elements of a format."""
from __future__ import annotations

from . import _slangpy
from .enums import BufferDesc, BufferUsage, Format, MemoryType, ResourceState
from .tensors import note_storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray
    from typing_extensions import Self

    from ._slangpy import Tensor, _ArrayLike, _TypeLike
    from .device import Device
    from .interop import NativeHandle
    from .encoders import _MemoryUsage
    from .pictures import DescriptorHandle

__all__ = ["Buffer"]


class Buffer(_slangpy.Tensor):
    """A tensor of rank 1. It holds bytes without a type, which parameters that are buffers or pointers of any type take, or elements
    of one type, which any parameter takes that takes tensors. See Device.create_buffer()."""

    def __new__(cls, device: Device | Tensor, *args: Any, **kwargs: Any) -> Self:
        return device.create_buffer(*args, **kwargs)  # type: ignore[union-attr, return-value]

    usage: BufferUsage = BufferUsage.none  # type: ignore[assignment] # each buffer has its own
    _default_state: ResourceState = ResourceState.undefined
    memory_type: MemoryType = MemoryType.device_local  # type: ignore[assignment]

    def __getattr__(self, name):
        from .absent import missing

        raise missing("Buffer", name)

    @property
    def size(self) -> int:
        """The size of the buffer in bytes."""
        return _slangpy._buffer_size(self)

    @property
    def struct_size(self) -> int:
        """The bytes of an element; 0 if the buffer has no element type and no struct_size was given."""
        return self._struct_size

    @property
    def descriptor_handle_ro(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels read it without a binding, for DescriptorHandle<StructuredBuffer<T>> and the like. An Error
        on devices without Feature.bindless, and on CUDA."""
        from .resources import _handle

        return _handle("buffer", self)

    @property
    def descriptor_handle_rw(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels read and write it without a binding, for DescriptorHandle<RWStructuredBuffer<T>> and the
        like."""
        from .resources import _handle

        return _handle("rw_buffer", self)

    @property
    def memory_usage(self) -> _MemoryUsage:
        """The bytes of the buffer on the device and on the host."""
        from .encoders import _MemoryUsage

        here = self.memory_type is MemoryType.device_local
        return _MemoryUsage(self.size if here else 0, 0 if here else self.size)

    def to_numpy(self, *, structured: bool = False) -> NDArray[Any]:
        """to_numpy(): returns the contents as a numpy array. With a format its shape is (count,) or (count, components), else it is
        uint8 of shape (size,). Waits for the work that writes the buffer."""
        np = __import__("numpy")
        data = np.frombuffer(_slangpy._buffer_read(self), dtype=np.uint8)
        if self.format is Format.undefined:
            return data
        from .formats import get_format_info

        dtype, components = get_format_info(self.format)._numpy()
        return data.view(dtype).reshape((-1, components) if components > 1 else -1)

    @property
    def native_handle(self) -> NativeHandle:
        """The VkBuffer or CUdeviceptr that the buffer lies in, as a NativeHandle. Several buffers may lie in one VkBuffer."""
        from .interop import NativeHandle, NativeHandleType

        if self.device._info()["backend"] == "vulkan":
            return NativeHandle(NativeHandleType.VkBuffer, _slangpy._buffer_handle(self)[0])
        return NativeHandle(NativeHandleType.CUdeviceptr, self.device_address)

    @property
    def shared_handle(self) -> NativeHandle:
        """A NativeHandle of type undefined, because buffers are not shared with other APIs; an error for a buffer with BufferUsage.shared."""
        from .interop import NativeHandle

        if self.usage & BufferUsage.shared:
            raise _slangpy.Error("Buffer.shared_handle: buffers cannot be shared with other APIs")
        return NativeHandle()

    @property
    def desc(self) -> BufferDesc:
        """The BufferDesc that the buffer was made with, without `data`."""
        return BufferDesc(size=self.size, struct_size=self._struct_size, format=self.format, memory_type=self.memory_type, usage=self.usage,
                          default_state=self._default_state, label=self.label)

    def copy_from_numpy(self, data: _ArrayLike) -> None:  # type: ignore[override]
        """copy_from_numpy(data): copies the bytes of an array to the beginning of the buffer. An array with more bytes than the buffer
        is an error."""
        _slangpy._buffer_write(self, _bytes_of(data, "Buffer.copy_from_numpy"))

    def __repr__(self):
        if self.device.is_closed:
            return "<slangpy.Buffer, of a closed device>"
        element = _slangpy._element_name(self)
        return "<slangpy.Buffer{} {} bytes{}>".format(
            " '{}'".format(self.label) if self.label else "", self.size,
            "" if element == "void" else ", {} {}".format(element, tuple(self.shape)))


def _bytes_of(data, where):
    """Returns `data` as a contiguous buffer. An array with gaps becomes a contiguous numpy array."""
    if isinstance(data, (bytes, bytearray)):
        return data
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError("{}: argument 'data': expected an array, got {!r}".format(where, type(data))) from None
    return data if view.c_contiguous else __import__("numpy").ascontiguousarray(data)


def _number(value, name):
    if value is None:
        return 0
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError("create_buffer: argument '{}': expected an int, got {!r}".format(name, type(value))) from None
    if number < 0:
        raise _slangpy.ArgumentValueError("create_buffer: argument '{}': expected 0 or more, got {}".format(name, number))
    return number


def create_buffer(
        device: Device, size: int = 0, element_count: int = 0, struct_size: int = 0, resource_type_layout: _TypeLike | None = None,
        format: Format | str = Format.undefined, memory_type: MemoryType = MemoryType.device_local, usage: BufferUsage = BufferUsage.none,
        default_state: Any = None, label: str = "", data: _ArrayLike | None = None, struct_type: _TypeLike | None = None) -> Buffer:
    size, element_count = _number(size, "size"), _number(element_count, "element_count")
    struct_size = _number(struct_size, "struct_size")
    kind = struct_type
    if kind is None and resource_type_layout is not None:
        kind = _element_of(resource_type_layout)
    if isinstance(format, str) and format in Format.__members__:
        format = Format[format]
    if not isinstance(format, Format):
        raise TypeError("create_buffer: argument 'format': expected a Format, got {!r}".format(format))
    if kind is not None and format is not Format.undefined:
        raise _slangpy.ArgumentValueError("create_buffer: expected 'struct_type' or 'format', got both")
    memory_type, usage = MemoryType(memory_type), BufferUsage(usage)
    if kind is None and format is not Format.undefined:
        kind = format.slang_type
    source = None if data is None else _bytes_of(data, "create_buffer")
    given = 0 if source is None else memoryview(source).nbytes
    stride = struct_size
    if format is not Format.undefined and kind is None:  # a format without a type of plain numbers, so the buffer holds bytes
        from .formats import get_format_info

        stride = get_format_info(format).bytes_per_block
    if kind is not None:
        probe = _slangpy._buffer_make(_slangpy.Tensor, device, kind, 1)
        stride = _slangpy._buffer_size(probe)
        if struct_size and struct_size != stride:
            raise _slangpy.ArgumentValueError("create_buffer: argument 'struct_size': the type has {} bytes, got {}".format(stride, struct_size))
    if not size and not element_count:
        size = given
    if element_count:
        if not stride:
            raise _slangpy.ArgumentValueError("create_buffer: 'element_count' needs 'struct_size', 'struct_type' or 'format'")
        if size and size != element_count * stride:
            raise _slangpy.ArgumentValueError("create_buffer: argument 'size': {} elements of {} bytes are {} bytes, got {}".format(
                element_count, stride, element_count * stride, size))
        size = element_count * stride
    if not size:
        raise _slangpy.ArgumentValueError("create_buffer: expected 'size', 'element_count' or 'data', got none of them")
    if stride and size % stride:
        raise _slangpy.ArgumentValueError("create_buffer: {} bytes are no whole number of elements of {} bytes".format(size, stride))
    if source is not None and given != size:
        raise _slangpy.ArgumentValueError("create_buffer: argument 'data': expected {} bytes, got {}".format(size, given))
    buffer = _slangpy._buffer_make(Buffer, device, kind, size // stride if kind is not None else size, False, label or None)
    buffer.format, buffer.usage, buffer.memory_type, buffer.label = format, usage, memory_type, label
    buffer._struct_size = struct_size if format is not Format.undefined else stride
    buffer._default_state = ResourceState(default_state or 0)
    _slangpy._set_usage(buffer, usage)
    if source is not None:
        _slangpy._buffer_write(buffer, source)
    try:
        note_storage(buffer)  # tensors over the buffer then have it as their storage
    except _slangpy.Error:  # the device does not support pointers
        pass
    return buffer


def _element_of(kind):
    """Returns the element type of `resource_type_layout`: a ReflectionCursor at a StructuredBuffer, its layout, or its name."""
    given = kind
    if isinstance(kind, _slangpy.ReflectionCursor):
        kind = kind.type_layout
    if isinstance(kind, str) and kind.startswith(("StructuredBuffer<", "RWStructuredBuffer<")):
        return kind[kind.index("<") + 1:-1]
    if isinstance(kind, _slangpy.TypeLayoutReflection) and kind.name.endswith("StructuredBuffer"):
        return kind.element_type_layout
    raise TypeError("create_buffer: argument 'resource_type_layout': expected the layout of a StructuredBuffer or a ReflectionCursor at one, "
                    "got {!r}; 'struct_type' takes the type of an element".format(given))


def _cursor_to_numpy(self):
    """to_numpy(): returns the bytes of all elements, as they lie on the device, as a numpy array of uint8."""
    np = __import__("numpy")
    return np.frombuffer(self._read_bytes(), dtype=np.uint8)


def _cursor_copy_from_numpy(self, data):
    """copy_from_numpy(data): writes the bytes of an array from the first element on. An array with the wrong number of bytes is taken
    as values for all elements: its numbers are converted, and the fields of a structured array go by their names."""
    if isinstance(data, (list, tuple, dict)) or memoryview(data).nbytes != self.size:
        self._write_values(data)
    else:
        self._write_bytes(_bytes_of(data, "BufferCursor.copy_from_numpy"))


def _cursor_write_from_numpy(self, data, unchecked_copy=True):
    """write_from_numpy(data, unchecked_copy=True): writes fields of all elements, from a dict of arrays by the fields' names; a nested dict
    for a struct. The first dimension of each array is the number of elements. Other data: as copy_from_numpy()."""
    if not isinstance(data, dict):
        return self.copy_from_numpy(data)
    np = __import__("numpy")
    raw = np.frombuffer(self._read_bytes(), dtype=np.uint8).reshape(len(self), -1)
    _write_columns(np, raw, self.element_type_layout, 0, data)
    self._write_bytes(raw)


_SCALARS = {"bool": "u4", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8",
            "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8"}


def _write_columns(np, raw, layout, offset, data):
    """Writes `data`, an array or a dict of arrays by field, to the bytes of the values of a layout at `offset` in each row of `raw`."""
    if isinstance(data, dict):
        for name, values in data.items():
            field = layout.find_field(name)
            if field is None:
                raise _slangpy.ArgumentValueError("write_from_numpy: {} has no field '{}'".format(layout.name, name))
            _write_columns(np, raw, field.type_layout, offset + field.offset, values)
        return
    scalar = layout.unwrap_array()
    pointer = scalar.type.kind == _slangpy.TypeReflection.Kind.pointer
    dtype = "u8" if pointer else _SCALARS.get(scalar.type.scalar_type.name)
    if dtype is None:
        raise _slangpy.ArgumentValueError("write_from_numpy: expected a dict for {}, got an array".format(layout.name))
    count = max(scalar.type.row_count * scalar.type.col_count, 1)
    if dtype == "u4" and scalar.type.is_bool:
        dtype = "u{}".format(scalar.size // count)
    data = np.asarray(data)
    if data.shape[:1] != raw.shape[:1]:
        raise _slangpy.ArgumentValueError("write_from_numpy: expected arrays whose first dimension is {}, got {}".format(len(raw), data.shape))
    values = np.ascontiguousarray(data.reshape(len(raw), -1), dtype=dtype).view(np.uint8)
    if values.shape[1] != layout.size:
        raise _slangpy.ArgumentValueError("write_from_numpy: {} takes {} bytes of each row, got {}".format(layout.name, layout.size, values.shape[1]))
    raw[:, offset:offset + layout.size] = values


def _tensor_usage(self):
    """The BufferUsage that the tensor was made with; by default shader_resource and unordered_access."""
    return BufferUsage(self._usage) if self._usage else BufferUsage.shader_resource | BufferUsage.unordered_access


def _tensor_memory_type(self):
    """The MemoryType that the tensor was made with; its memory is on the device in any case."""
    return MemoryType(self._memory)


_slangpy.Tensor.usage = property(_tensor_usage)  # type: ignore[method-assign, assignment]
_slangpy.Tensor.memory_type = property(_tensor_memory_type)  # type: ignore[method-assign, assignment]
_slangpy.BufferCursor.to_numpy = _cursor_to_numpy  # type: ignore[method-assign]
_slangpy.BufferCursor.copy_from_numpy = _cursor_copy_from_numpy  # type: ignore[method-assign]
_slangpy.BufferCursor.write_from_numpy = _cursor_write_from_numpy  # type: ignore[method-assign]
