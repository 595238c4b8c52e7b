"""Values with gradients: diffPair(), floatDiffPair(), diff_pair(), and NDDifferentiableBuffer."""

from typing import Any

from typing_extensions import Self
from . import DiffPair, NDBuffer, Tensor

__all__ = ["NDDifferentiableBuffer", "diffPair", "diff_pair", "floatDiffPair"]

def diffPair(p: Any = None, d: Any = None, needs_grad: bool = True) -> DiffPair:
    """A DiffPair of a value and its gradient; without d the gradient is zero."""
def floatDiffPair(p: float = 0.0, d: float = 1.0, needs_grad: bool = True) -> DiffPair:
    """A DiffPair of two floats."""
def diff_pair(primal: Any, grad: Any) -> DiffPair:
    """A DiffPair of two tensors or arrays; grad None: the value is a constant."""

class NDDifferentiableBuffer(NDBuffer):
    """An NDBuffer with a gradient, zero: as NDBuffer(...).with_grads(). Or NDDifferentiableBuffer(array), as
    NDBuffer(array).
    """

    def __new__(
        cls,
        *args: Any,
        requires_grad: bool = True,
        grad_type: Any = None,
        grad_usage: Any = None,
        grad_memory_type: Any = None,
        **kwargs: Any,
    ) -> Self: ...
    @property
    def primal(self) -> Tensor:
        """The same memory without the gradient."""
