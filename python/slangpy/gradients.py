"""Values with gradients: diffPair(), floatDiffPair(), diff_pair(), and NDDifferentiableBuffer."""
from __future__ import annotations

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from ._slangpy import DiffPair, Tensor

__all__ = ["NDDifferentiableBuffer", "diffPair", "diff_pair", "floatDiffPair"]


def _zero_like(value):
    if isinstance(value, dict):
        return {name: _zero_like(field) for name, field in value.items() if name != "_type"}
    if isinstance(value, (list, tuple)):
        return [_zero_like(item) for item in value]
    if isinstance(value, _slangpy.Tensor):
        return value.with_grads().grad
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape != ():
        return __import__("numpy").zeros_like(value)
    if hasattr(value, "element_type"):  # vectors and matrices
        return type(value).zeros() if hasattr(value, "zeros") else type(value)()
    return 0.0


def diffPair(p: Any = None, d: Any = None, needs_grad: bool = True) -> DiffPair:
    """diffPair(p=None, d=None, needs_grad=True): makes a DiffPair of a value `p`, 0.0 by default, and its gradient `d`, which is
    zero by default."""
    p = 0.0 if p is None else p
    return _slangpy.DiffPair(p, _zero_like(p) if d is None else d, needs_grad)


def floatDiffPair(p: float = 0.0, d: float = 1.0, needs_grad: bool = True) -> DiffPair:
    """floatDiffPair(p=0.0, d=1.0, needs_grad=True): makes a DiffPair of two floats, the value `p` and its gradient `d`."""
    return _slangpy.DiffPair(float(p), float(d), needs_grad)


def diff_pair(primal: Any, grad: Any) -> DiffPair:
    """diff_pair(primal, grad): makes a DiffPair of a tensor or array and its gradient. If the gradient is None, the value is a
    constant."""
    return _slangpy.DiffPair(primal, grad, grad is not None)


class NDDifferentiableBuffer(_slangpy.NDBuffer):
    """NDDifferentiableBuffer(device, dtype=float, element_count=None, shape=None, requires_grad=True): an NDBuffer with a gradient
    of zeros, like NDBuffer(...).with_grads(). NDDifferentiableBuffer(array) works like NDBuffer(array)."""

    def __new__(
            cls, *args: Any, requires_grad: bool = True, grad_type: Any = None, grad_usage: Any = None, grad_memory_type: Any = None,
            **kwargs: Any) -> Self:
        return _slangpy._gradient_view(cls, _slangpy.NDBuffer(*args, **kwargs), requires_grad)

    @property
    def primal(self) -> Tensor:
        """An NDBuffer over the same memory, without the gradient."""
        return self.detach()
