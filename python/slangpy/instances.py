"""Instances of a Slang struct: InstanceTensor has them in one tensor, InstanceList has a tensor for each field."""
from __future__ import annotations

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ._slangpy import BufferCursor, PackedArg, Shape, Struct, Tensor, _ArrayLike, _ShapeLike
    from .device import Device

class _Instances:
    """The base class of InstanceTensor and InstanceList: the struct, its methods as attributes, and the value that calls get as `this`."""

    def __init__(self, struct: Struct) -> None:
        if not isinstance(struct, _slangpy.Struct):
            raise TypeError("{}: argument 'struct': expected a type of a module, got {!r}".format(type(self).__name__, type(struct)))
        self._struct = struct
        self._functions: dict[str, Any] = {}

    @property
    def struct(self) -> Struct:
        """The Struct of the instances."""
        return self._struct

    @property
    def device(self) -> Device:
        """The device of the struct's module."""
        return self._struct.module.device

    def construct(self, *args: Any, **kwargs: Any) -> None:
        """construct(*args, **kwargs): calls the struct's constructor for each instance. The arguments broadcast as in any call."""
        self._struct["__init"](*args, _result=self.get_this(), **kwargs)

    def pack(self) -> PackedArg:
        """pack(): returns the instances as a PackedArg, which is converted once and serves many calls."""
        return _slangpy.pack(self._struct.module, self.get_this())

    def get_this(self) -> Any:
        """get_this(): returns the value that calls get in place of this object."""
        raise NotImplementedError

    def update_this(self, value: Any) -> None:
        """update_this(value): gets the new value after a call that may have changed the instances. Tensors have changed in place."""

    def _find(self, name):
        function = self._functions.get(name)
        if function is None:
            try:
                function = self._struct[name].as_func()
            except (KeyError, ValueError) as error:
                hint = str(error).partition("named '{}'".format(name))[2]
                message = "{} of {} has no field or method named '{}'{}".format(type(self).__name__, self._struct.name, name, hint)
                raise AttributeError(message) from None
            if not _slangpy._is_static(self._struct, name):
                function = function.bind(self)
            self._functions[name] = function
        return function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.startswith("_repr_") or name in ("_struct", "_functions", "_data"):
            raise AttributeError("{} has no attribute '{}'".format(type(self).__name__, name))
        return self._find(name)


class InstanceTensor(_Instances):
    """InstanceTensor(struct, shape, data=None): instances of a Slang struct in one tensor.

    The struct's methods are attributes: t.update(0.1) calls update() for each instance. Mutating methods change the instances in
    place. `data` is a Tensor of that type and shape, or a value that Tensor.copy_from_numpy() takes. Without it the contents are
    undefined.
    """

    def __init__(self, struct: Struct, shape: _ShapeLike, data: Tensor | _ArrayLike | Mapping[str, Any] | None = None) -> None:
        super().__init__(struct)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)  # type: ignore[arg-type]
        if isinstance(data, _slangpy.Tensor):
            if tuple(data.shape) != shape:
                message = "{}: argument 'data': Shape mismatch: expected {}, got {}"
                raise _slangpy.ArgumentValueError(message.format(type(self).__name__, shape, tuple(data.shape)))
            if data.dtype.name != struct.name:
                message = "{}: argument 'data': expected a tensor of {}, got one of {}"
                raise TypeError(message.format(type(self).__name__, struct.name, data.dtype.full_name))
            self._tensor = data
        else:
            self._tensor = _slangpy.Tensor.empty(self.device, shape, struct)
            if data is not None:
                self._tensor.from_numpy(data)

    @property
    def tensor(self) -> Tensor:
        """The tensor of the instances."""
        return self._tensor

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        return self._tensor.shape

    def get_this(self) -> Tensor:
        """get_this(): returns the tensor."""
        return self._tensor

    def to_numpy(self, *, structured: bool = False) -> NDArray[Any]:
        """to_numpy(): returns the instances like Tensor.to_numpy(): the bytes of each as a further dimension, or with structured=True a
        structured numpy array of the same shape. Waits for the work that writes them."""
        return self._tensor.to_numpy(structured=structured)

    def copy_from_numpy(self, data: _ArrayLike | Mapping[str, Any]) -> None:
        """copy_from_numpy(data): writes all instances, like Tensor.copy_from_numpy()."""
        self._tensor.copy_from_numpy(data)

    def cursor(self, start: int = 0, count: int | None = None) -> BufferCursor:
        """cursor(start=0, count=None): returns the tensor's cursor; see Tensor.cursor()."""
        return self._tensor.cursor(start, count)

    def __len__(self) -> int:
        return len(self._tensor)

    def __getitem__(self, index: Any) -> InstanceTensor:
        part = self._tensor[index]
        return InstanceTensor(self._struct, part.shape, part)

    def __repr__(self):
        return "<slangpy.{} {} {}>".format(type(self).__name__, self._struct.name, tuple(self.shape))

    def __str__(self):
        return str(self._tensor)


class InstanceDifferentiableBuffer(InstanceTensor):
    """InstanceDifferentiableBuffer(struct, shape, data=None): an InstanceTensor whose tensor has a gradient."""

    def __init__(self, struct: Struct, shape: _ShapeLike, data: Tensor | None = None) -> None:
        super().__init__(struct, shape, data)
        if self._tensor.grad_in is None and self._tensor.grad_out is None:
            self._tensor = self._tensor.with_grads()

    @property
    def buffer(self) -> Tensor:
        """The tensor of the instances, with gradients."""
        return self._tensor

    def primal_to_numpy(self, *, structured: bool = False) -> NDArray[Any]:
        """primal_to_numpy(): returns the instances, like to_numpy()."""
        return self._tensor.to_numpy(structured=structured)

    def primal_from_numpy(self, data: _ArrayLike) -> None:
        """primal_from_numpy(data): writes the instances, like copy_from_numpy()."""
        self._tensor.copy_from_numpy(data)

    def grad_to_numpy(self, *, structured: bool = False) -> NDArray[Any]:
        """grad_to_numpy(): returns the gradients of the instances."""
        return self._tensor.grad.to_numpy(structured=structured)

    def grad_from_numpy(self, data: _ArrayLike) -> None:
        """grad_from_numpy(data): writes the gradients of the instances."""
        self._tensor.grad.copy_from_numpy(data)


InstanceBuffer = InstanceTensor  # earlier versions of SlangPy have this name


class InstanceList(_Instances):
    """InstanceList(struct, data={}): instances of a Slang struct, each field in a tensor, array or value of its own.

    The fields are attributes that can be set: p.position = tensor. A single value counts for all instances. The struct's methods
    are attributes, too; mutating methods write into the fields' tensors. A subclass may add attributes and methods.
    """

    def __init__(self, struct: Struct, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(struct)
        self._fields = frozenset(struct.fields)
        self._data: dict[str, Any] = {}
        if data is not None:
            self.set_data(data)

    def set_data(self, data: Mapping[str, Any]) -> None:
        """set_data(data): replaces all fields by the items of a dict. Raises a ValueError for a name that is not a field."""
        for name in data:
            if name not in self._fields:
                message = "{}: {} has no field '{}'; expected {}"
                raise _slangpy.ArgumentValueError(message.format(type(self).__name__, self._struct.name, name, ", ".join(sorted(self._fields))))
        self._data = dict(data)

    @property
    def data(self) -> dict[str, Any]:
        """A dict of the fields' values."""
        return dict(self._data)

    def get_this(self) -> dict[str, Any]:
        """get_this(): returns a dict of the fields, with the struct as '_type'."""
        return dict(self._data, _type=self._struct)

    def update_this(self, value: Any) -> None:
        """update_this(value): stores the numbers that a mutating method has changed. Tensors and arrays have changed in place."""
        self._data.update((name, field) for name, field in value.items() if name in self._data)

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("_data")
        if data is not None and name in data:
            return data[name]
        if name in self.__dict__.get("_fields", ()):
            raise AttributeError("{}: field '{}' of {} not specified".format(type(self).__name__, name, self._struct.name))
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_fields", ()) and not hasattr(type(self), name):
            self._data[name] = value
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) | self._fields)

    def __repr__(self):
        return "<slangpy.{} {} {{{}}}>".format(type(self).__name__, self._struct.name, ", ".join(sorted(self._data)))
