"""Lists of instances of a Slang type, in one tensor (InstanceTensor) or a tensor for each field (InstanceList)."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from . import BufferCursor, Device, PackedArg, Shape, Struct, Tensor, _ArrayLike, _ShapeLike

class _Instances:
    """What both share: the struct, its methods as attributes, and the place that a call's `this` has."""

    def __init__(self, struct: Struct) -> None: ...
    @property
    def struct(self) -> Struct:
        """The Slang type of the instances."""
    @property
    def device(self) -> Device:
        """The device of the struct's module."""
    def construct(self, *args: Any, **kwargs: Any) -> None:
        """Call the struct's constructor for each instance; arguments broadcast as in any call."""
    def pack(self) -> PackedArg:
        """The instances as a PackedArg, converted once for many calls."""
    def get_this(self) -> Any:
        """What stands for the instances in a call."""
    def update_this(self, value: Any) -> None:
        """After a call that may have changed the instances; tensors have changed in place."""
    def __getattr__(self, name: str) -> Any: ...  # a method of the struct

class InstanceTensor(_Instances):
    """Instances of a Slang struct in one tensor.

    Methods of the struct are attributes: t.update(0.1) calls it for each instance and changes mutating ones in place.
    `data`: a Tensor of that type and shape, or what Tensor.copy_from_numpy() takes; without it contents are undefined.
    """

    def __init__(
        self, struct: Struct, shape: _ShapeLike, data: Tensor | _ArrayLike | Mapping[str, Any] | None = None
    ) -> None: ...
    @property
    def tensor(self) -> Tensor:
        """The tensor that holds the instances."""
    @property
    def shape(self) -> Shape:
        """Sizes of the dimensions."""
    def get_this(self) -> Tensor:
        """The tensor."""
    def to_numpy(self) -> NDArray[Any]:
        """The instances as a structured numpy array. Waits."""
    def copy_from_numpy(self, data: _ArrayLike | Mapping[str, Any]) -> None:
        """Fill all instances, as Tensor.copy_from_numpy()."""
    def cursor(self, start: int = 0, count: int | None = None) -> BufferCursor:
        """As Tensor.cursor()."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> InstanceTensor: ...

InstanceBuffer = InstanceTensor

class InstanceList(_Instances):
    """Instances of a Slang struct, each field in a tensor, array or value of its own.

    Fields are attributes that can be set: p.position = tensor. Single values are for all instances. Methods of the struct
    are attributes too; mutating ones write into the fields' tensors. A subclass may add attributes and methods.
    """

    def __init__(self, struct: Struct, data: Mapping[str, Any] | None = None) -> None: ...
    def set_data(self, data: Mapping[str, Any]) -> None:
        """Replace all fields by those of a dict."""
    @property
    def data(self) -> dict[str, Any]:
        """A dict of the fields as they were given."""
    def get_this(self) -> dict[str, Any]:
        """A dict of the fields with the struct's name."""
    def __getattr__(self, name: str) -> Any: ...  # a field as it was given, or a method of the struct
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __dir__(self) -> list[str]: ...
