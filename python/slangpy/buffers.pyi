"""Memory in bytes or elements: Buffer."""

from typing import Any

from numpy.typing import NDArray
from typing_extensions import Self
from . import Device, Tensor, _ArrayLike, _TypeLike
from .enums import BufferDesc, BufferUsage, Format, MemoryType

__all__ = ["Buffer"]

class Buffer(Tensor):
    """A tensor of rank 1: bytes of no type, which go to buffers and pointers of any type, or elements of one type, which go
    wherever tensors go. See Device.create_buffer().
    """

    def __new__(cls, device: Device | Tensor, *args: Any, **kwargs: Any) -> Self: ...
    @property
    def size(self) -> int:
        """Bytes."""
    @property
    def struct_size(self) -> int:
        """Bytes of an element; 1 when it has no type and none was given."""
    @property
    def desc(self) -> BufferDesc:
        """What it was made with: a BufferDesc."""
    def to_numpy(self) -> NDArray[Any]:
        """The contents. Of the format when there is one, (count,) or (count, components); else bytes, uint8. Waits."""
    def copy_from_numpy(self, data: _ArrayLike) -> None:  # type: ignore[override]
        """Copy the bytes of an array, at most as many as the buffer has, to its beginning."""

def create_buffer(
    device: Device,
    size: int = 0,
    element_count: int = 0,
    struct_size: int = 0,
    resource_type_layout: _TypeLike | None = None,
    format: Format = ...,
    memory_type: MemoryType = ...,
    usage: BufferUsage = ...,
    default_state: Any = None,
    label: str = "",
    data: _ArrayLike | None = None,
    struct_type: _TypeLike | None = None,
) -> Buffer: ...
