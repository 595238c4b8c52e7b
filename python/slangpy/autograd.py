"""Calls with torch tensors that require gradients: each becomes one node of torch's graph, whose backward pass calls the function's .bwds."""
from __future__ import annotations

import sys
import weakref

from . import _slangpy
from .reflection import ModifierID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._slangpy import Function

__all__: list[str] = []

_writes: Any = None  # Module -> name -> (reflection, whether a call may write an argument); made with _node
_node: Any = None  # the torch.autograd.Function of all calls; made when torch is first met


def _may_write(function):
    """Whether a call of the function may write an argument: one of its overloads has an out or inout parameter, or it is a method."""
    names = _writes.setdefault(function.module, {})
    reflected, known = names.get(function.name, (None, False))
    if reflected is None or not reflected.is_valid:  # a reload may change the parameters
        reflected = function.reflection
        overloads = list(reflected.overloads) if reflected.is_overloaded else [reflected]
        known = "." in function.name or any(
            p.has_modifier(way) for o in overloads for p in o.parameters for way in (ModifierID.out, ModifierID.inout))
        names[function.name] = reflected, known
    return known


class _Slot:
    """Stands for the tensor number `index` in the arguments of a call."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index


def _take(value, tensors, kind):
    """Returns the value with a _Slot in the place of each torch tensor, which is added to `tensors`."""
    if isinstance(value, kind):
        tensors.append(value)
        return _Slot(len(tensors) - 1)
    if isinstance(value, _slangpy.Vectorized):  # vmap() or vcast()
        return value.around(_take(value.value, tensors, kind))
    if isinstance(value, dict):
        return {name: _take(item, tensors, kind) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "element_type"):
        items = [_take(item, tensors, kind) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _fill(value, tensors):
    """Returns the value with the tensors in the places of their _Slots."""
    if isinstance(value, _Slot):
        return tensors[value.index]
    if isinstance(value, _slangpy.Vectorized):
        return value.around(_fill(value.value, tensors))
    if isinstance(value, dict):
        return {name: _fill(item, tensors) for name, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "element_type"):
        items = [_fill(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _paths(value, path, out):
    """Adds the path of each _Slot in an argument, as a call's bindings name it ("light.color"), to `out` by its index."""
    if isinstance(value, _Slot):
        out[value.index] = path
    elif isinstance(value, _slangpy.Vectorized):
        _paths(value.value, path, out)
    elif isinstance(value, dict):
        for name, item in value.items():
            _paths(item, "{}.{}".format(path, name), out)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            _paths(item, "{}[{}]".format(path, number), out)


class _Call:
    """A call whose tensors have been taken out: the function, what it is given, and which tensors it writes."""

    def __init__(self, function, args, kwargs, tensors):
        self.function, self.args, self.kwargs = function, args, kwargs
        given = self.kwargs.get("_result")
        while isinstance(given, _slangpy.Vectorized):
            given = given.value
        self.result = given.index if isinstance(given, _Slot) else None
        self.written = set() if self.result is None else {self.result}
        self.has_result = False
        self.plain = None  # a result that is no tensor

    def find_written(self, tensors):
        """Fills self.written. A RuntimeError where an inout parameter gets a tensor that requires a gradient."""
        kwargs = {name: value for name, value in self.kwargs.items() if name != "_result"}
        resolution = self.function.resolve(*_fill(self.args, tensors), **_fill(kwargs, tensors))
        names = [binding.path for binding in resolution.bindings]
        paths = {}
        tops = [name for name in names if "." not in name and "[" not in name and name != "_result"]
        for name, value in zip(tops, self.args):
            _paths(value, name, paths)
        for name, value in kwargs.items():
            _paths(value, name, paths)
        directions = {binding.path: binding.direction for binding in resolution.bindings}
        for index, path in paths.items():
            how = directions.get(path) or directions.get(path.split(".")[0].split("[")[0], "in")
            if how == "inout" and tensors[index].requires_grad:
                raise RuntimeError("{}: argument '{}': an inout tensor that requires a gradient cannot join torch's graph: its value before "
                                   "the call would be lost for the backward pass; give a copy, or an in and an out parameter".format(
                                       self.function.name, path))
            if how == "out":
                self.written.add(index)

    def run(self, tensors):
        """Makes the call. Returns its result, and the list of the tensors that it wrote."""
        result = self.function(*_fill(self.args, tensors), **_fill(self.kwargs, tensors))
        return result, [tensors[index] for index in sorted(self.written)]

    def run_backward(self, tensors, wanted, gradients, torch):
        """Calls the function's .bwds. `wanted`: which tensors get a gradient; `gradients`: those of the result, if it has one, and of the
        written tensors. Returns one gradient a tensor, None where none is wanted."""
        own = [torch.zeros_like(t) if w and i not in self.written else None for i, (t, w) in enumerate(zip(tensors, wanted))]
        gradients = [g.contiguous() for g in gradients]
        result = gradients.pop(0) if self.has_result else None
        by_index = dict(zip(sorted(self.written), gradients))
        given = []
        for i, tensor in enumerate(tensors):
            if i in by_index:
                given.append(_slangpy.DiffPair(by_index[i], by_index[i], True))
            else:
                given.append(tensor if own[i] is None else _slangpy.DiffPair(tensor, own[i], True))
        args, kwargs = _fill(self.args, given), _fill(self.kwargs, given)
        if result is not None:
            kwargs["_result"] = _slangpy.DiffPair(result, result, True)
        self.function.bwds(*args, **kwargs)
        return own


def _make_node(torch):
    class SlangGradient(torch.autograd.Function):
        """A gradient that a Slang function has given."""

        @staticmethod
        def forward(ctx, name, gradient, *inputs):
            ctx.name = name
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx, *gradients):
            raise RuntimeError("{}: a second derivative through a Slang function is not known: expected one backward pass, without "
                               "create_graph; write the derivative as a function of its own, whose first derivative is the second one".format(
                                   ctx.name))

    class SlangCall(torch.autograd.Function):
        """A call of a Slang function."""

        @staticmethod
        def forward(ctx, call, *tensors):
            result, written = call.run(tensors)
            if isinstance(result, _slangpy.Tensor):
                result = result.to_torch()  # the tensors are on the CPU, and were copied
            call.has_result = isinstance(result, torch.Tensor) and call.result is None
            ctx.call = call
            ctx.save_for_backward(*(t if i not in call.written else t.new_empty(0) for i, t in enumerate(tensors)))
            ctx.mark_dirty(*written)
            call.plain = None if call.has_result or call.result is not None else result
            return tuple(([result] if call.has_result else []) + written)

        @staticmethod
        def backward(ctx, *gradients):
            wanted, tensors = ctx.needs_input_grad[1:], ctx.saved_tensors
            with torch.no_grad():
                own = ctx.call.run_backward(tensors, wanted, list(gradients), torch)
            if torch.is_grad_enabled():  # create_graph=True: the gradients' own gradients are not known
                inputs = [t for t in (*tensors, *gradients) if t.requires_grad]
                own = [None if g is None else SlangGradient.apply(ctx.call.function.name, g, *inputs) for g in own]
            return (None, *own)

    return SlangCall


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """call(function, args, kwargs): makes a call with torch tensors that require gradients. Returns NotImplemented without torch, or where
    the tensors are another library's."""
    global _node, _writes
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "autograd") or kwargs.get("_append_to") is not None:
        return NotImplemented
    tensors: list[Any] = []
    taken = _Call(function, _take(args, tensors, torch.Tensor), _take(kwargs, tensors, torch.Tensor), tensors)
    if not any(t.requires_grad for t in tensors):
        return NotImplemented
    if _node is None:
        _node, _writes = _make_node(torch), weakref.WeakKeyDictionary()
    if _may_write(function):
        with torch.no_grad():
            taken.find_written(tensors)
    given = kwargs.get("_result")
    if isinstance(given, str) and given not in ("torch", "tensor"):
        with torch.no_grad():  # a result of another library has no graph
            return function(*args, **kwargs)
    made = _node.apply(taken, *tensors)
    if taken.result is not None:
        return kwargs["_result"]
    return made[0] if taken.has_result else taken.plain
