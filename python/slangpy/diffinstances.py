"""InstanceDifferentiableBuffer: instances of a struct in a tensor with gradients."""
from __future__ import annotations

from .instances import InstanceTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ._slangpy import Struct, Tensor, _ArrayLike, _ShapeLike


class InstanceDifferentiableBuffer(InstanceTensor):
    """InstanceDifferentiableBuffer(struct, shape, data=None): an InstanceTensor whose tensor, `buffer`, has gradients."""

    def __init__(self, struct: Struct, shape: _ShapeLike, data: Tensor | None = None) -> None:
        super().__init__(struct, shape, data)
        if self._tensor.grad_out is None:
            self._tensor = self._tensor.with_grads()

    @property
    def buffer(self) -> Tensor:
        """The tensor of the instances, with gradients."""
        return self._tensor

    def primal_to_numpy(self) -> NDArray[Any]:
        """primal_to_numpy(): returns the values as an array."""
        return self._tensor.to_numpy()

    def primal_from_numpy(self, data: _ArrayLike) -> None:
        """primal_from_numpy(data): writes the values."""
        self._tensor.copy_from_numpy(data)

    def grad_to_numpy(self) -> NDArray[Any]:
        """grad_to_numpy(): returns the gradients as an array."""
        return self._tensor.grad.to_numpy()

    def grad_from_numpy(self, data: _ArrayLike) -> None:
        """grad_from_numpy(data): writes the gradients."""
        self._tensor.grad.copy_from_numpy(data)
