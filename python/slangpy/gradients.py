"""Values with gradients: diffPair(), floatDiffPair(), diff_pair(), and NDDifferentiableBuffer."""
from . import _slangpy

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


def diffPair(p=None, d=None, needs_grad=True):
    """diffPair(p=None, d=None, needs_grad=True): a DiffPair of a value and its gradient; without d the gradient is zero."""
    return _slangpy.DiffPair(p, _zero_like(p) if d is None and p is not None else d, needs_grad)


def floatDiffPair(p=0.0, d=1.0, needs_grad=True):
    """floatDiffPair(p=0.0, d=1.0, needs_grad=True): a DiffPair of two floats."""
    return _slangpy.DiffPair(float(p), float(d), needs_grad)


def diff_pair(primal, grad):
    """diff_pair(primal, grad): a DiffPair of two tensors or arrays; grad None: the value is a constant."""
    return _slangpy.DiffPair(primal, grad, grad is not None)


class NDDifferentiableBuffer(_slangpy.NDBuffer):
    """NDDifferentiableBuffer(device, dtype=float, element_count=None, shape=None, requires_grad=True): an NDBuffer with a gradient,
    zero: as NDBuffer(...).with_grads(). Or NDDifferentiableBuffer(array), as NDBuffer(array)."""

    def __new__(cls, *args, requires_grad=True, grad_type=None, grad_usage=None, grad_memory_type=None, **kwargs):
        return _slangpy._gradient_view(cls, _slangpy.NDBuffer(*args, **kwargs), requires_grad)

    @property
    def primal(self):
        """The same memory without the gradient."""
        return self.detach()
