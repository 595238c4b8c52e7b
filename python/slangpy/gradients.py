"""Values with gradients: diffPair(), floatDiffPair(), diff_pair(), and NDDifferentiableBuffer."""
from __future__ import annotations

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from ._slangpy import DiffPair, Function, Tensor

__all__ = ["NDDifferentiableBuffer", "diffPair", "diff_pair", "floatDiffPair", "gradcheck"]


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


def gradcheck(
        function: Function, *args: Any, _eps: float = 0.0, _rtol: float = 0.0, _atol: float = 0.0, _max_elements: int = 64,
        _seed: int = 0, _raise: bool = True, **kwargs: Any) -> bool:
    """gradcheck(function, *args, _eps=0.0, _rtol=0.0, _atol=0.0, _max_elements=64, _seed=0, _raise=True, **kwargs): compares the
    gradients of function.bwds with central differences of the function, for copies of the arguments. Float numbers, arrays and
    tensors get gradients, also within dicts. It runs in float64 if the function takes doubles for all of them, as generic functions
    do. Returns True if they agree. Otherwise an Error names the argument and the element with the largest error, and both values;
    with _raise=False the result is False. `_eps` is the step of the differences, `_rtol` and `_atol` are the tolerances (0 means
    chosen by the type), `_max_elements` of each argument are checked, chosen at random by `_seed`."""
    wrong = function._gradcheck((float(_eps), float(_rtol), float(_atol), int(_max_elements), int(_seed)), *args, **kwargs)
    if wrong is not None and _raise:
        raise _slangpy.Error(wrong)
    return wrong is None


# >>backward calls of numbers


def _is_number(value):
    """Returns whether an argument consists of numbers without memory of their own, which take no gradient."""
    if isinstance(value, dict):
        return all(_is_number(v) for name, v in value.items() if name != "_type")
    if isinstance(value, (list, tuple)):
        return all(_is_number(v) for v in value)
    if isinstance(value, _slangpy.DiffPair):
        return _is_number(value.primal)
    vector = hasattr(value, "element_type") and hasattr(value, "shape") and not isinstance(value, _slangpy.Tensor)
    return vector or isinstance(value, (bool, int, float))


def _parameters(function, args, kwargs):
    """Returns the overload that a call means, or None, and a list of (argument, parameter); the parameter is None for the instance of a
    method and for the result."""
    from .helpers import matching_overload

    names = {name for name in kwargs if not name.startswith("_")}
    count = len(args) + len(names)
    reflected = function.reflection
    # the last positional argument may be the result
    overload = matching_overload(reflected, count, names) or matching_overload(reflected, count - 1, names)
    by_name = {p.name: p for p in overload.parameters} if overload else {}
    by_position = list(by_name.values()) + [None]
    return overload, [(a, p) for a, p in zip(args, by_position)] + [(a, by_name.get(name)) for name, a in kwargs.items()]


def _pairs(value):
    """Yields the DiffPairs in an argument."""
    if isinstance(value, _slangpy.DiffPair):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [pair for item in items for pair in _pairs(item)]


def _backward_of_numbers(function, error, args, kwargs):
    """Repeats a backward call that has failed with `error`, if its arguments are numbers; otherwise returns NotImplemented. Without the
    gradient of any output all gradients are zero, and without any input that takes a gradient there is nothing to do."""
    text = str(error)
    if "is an inout parameter, which has two gradients" in text:
        return _backward_of_inout(function, args, kwargs)
    no_seed = "gradient that the call could read" in text
    if not no_seed and "none of its inputs has a gradient" not in text:
        return NotImplemented
    overload, given = _parameters(function, args, kwargs)
    result = "_result" in kwargs or (overload is not None and len(args) + len(kwargs) > len(overload.parameters))
    if overload is None or not all(_is_number(value) for value, _ in given) or (overload.have_return_value and not result):
        return NotImplemented
    for value, parameter in given:
        if no_seed and parameter is not None and parameter.io_type.name != "out" and not parameter.no_diff:
            for pair in _pairs(value):
                if pair.needs_grad:
                    pair.grad = _zero_like(pair.primal)
    return None


def _backward_of_inout(function, args, kwargs):
    """Makes a backward call that has DiffPairs of numbers for inout parameters, whose gradient is read and then written. The call gets
    tensors without dimensions instead of the pairs."""
    overload, given = _parameters(function, args, kwargs)
    if overload is None:
        return NotImplemented
    device, tensors = function.module.device, {}
    for value, parameter in given:
        inout = parameter is not None and parameter.io_type.name == "inout"
        if not inout or not isinstance(value, _slangpy.DiffPair) or not value.needs_grad:
            continue
        if not _is_number(value) or isinstance(value.primal, dict):
            return NotImplemented
        three = [_slangpy.Tensor.empty(device, (), parameter.type) for _ in range(3)]
        for tensor, numbers in zip(three, (value.primal, value.grad, None)):
            _fill(tensor, numbers)
        tensors[id(value)] = value, three[0].with_grads(three[1], three[2])
    if not tensors:
        return NotImplemented

    def instead(value):
        return tensors[id(value)][1] if id(value) in tensors else value

    function(*[instead(a) for a in args], **{name: instead(a) for name, a in kwargs.items()})
    for pair, tensor in tensors.values():
        found = tensor.grad_out.to_numpy()
        pair.grad = found.item() if found.ndim == 0 else type(pair.primal)(found.tolist())
    return None


def _fill(tensor, numbers):
    """Writes numbers, or zeros for None, to a tensor without dimensions."""
    array = tensor.to_numpy()
    array[...] = 0 if numbers is None else list(numbers) if hasattr(numbers, "__len__") else numbers
    tensor.copy_from_numpy(array)


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
