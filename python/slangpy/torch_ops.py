"""torch_op(): a Slang function as an operator of torch, which torch.compile and torch.export keep in their graphs."""
from __future__ import annotations

import itertools

from . import _slangpy
from .reflection import ModifierID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._slangpy import Function

__all__ = ["torch_op"]

_counter = itertools.count(1)
_DTYPES = {"bool": "bool", "int8_t": "int8", "int16_t": "int16", "int": "int32", "int64_t": "int64", "uint8_t": "uint8", "uint16_t": "uint16",
           "uint": "uint32", "uint64_t": "uint64", "half": "float16", "float": "float32", "double": "float64"}


def _shape_of(type_, name):
    """Returns the scalar's name and the sizes that a type has beyond the dimensions of a call; None for the sizes of a type that takes
    whole tensors."""
    text = type_.full_name
    if type_.kind.name in ("scalar", "vector", "matrix"):
        sizes = tuple(int(n) for n in type_.shape)
        return (type_.element_type.full_name if sizes and type_.kind.name == "vector" else _scalar(type_)), sizes
    if type_.kind.name == "array":
        scalar, inner = _shape_of(type_.element_type, name)
        return scalar, (*(int(n) for n in tuple(type_.shape)[:len(tuple(type_.shape)) - len(inner)]), *inner)
    raise TypeError("torch_op: {}: expected numbers, vectors, matrices and arrays, got '{}'".format(name, text))


def _scalar(type_):
    while type_.kind.name != "scalar":
        type_ = type_.element_type
    return type_.full_name


class _Parameter:
    """A parameter of the function, or its result."""

    def __init__(self, name, type_, where, number=False):
        self.name, self.number = name, number
        self.scalar, self.sizes = _shape_of(type_, where)
        if number and self.sizes:
            raise TypeError("torch_op: {}: expected a scalar for a number, got '{}'".format(where, type_.full_name))

    def schema(self):
        word = "Tensor" if not self.number else "bool" if self.scalar == "bool" else "float" if self.scalar in ("half", "float", "double") else "int"
        return "{} {}".format(word, self.name)


def torch_op(function: Function, *, name: str | None = None, numbers: Sequence[str] = ()) -> Callable[..., Any]:
    """torch_op(function, *, name=None, numbers=()): makes an operator of torch (torch.library.custom_op) of a Slang function of numbers,
    vectors, matrices and arrays. It gives what function(...) gives, and torch.compile, torch.export and fake tensors know its result's
    shape without a call, so that they keep it in their graphs. Out parameters are no arguments: the operator returns the result and
    their values, as a tuple if there are several. It takes part in autograd if the function is [Differentiable]. `name`:
    "namespace::name" of the operator, "slangpy::function_1" otherwise. `numbers` is the names of parameters that are given as Python
    numbers; all others are tensors. A TypeError for a function with overloads, inout parameters or other types; an ImportError without
    torch."""
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError("torch_op: this needs PyTorch, which is not installed: pip install torch") from error
    label = function.name
    reflected: Any = function.reflection
    if reflected is None or reflected.is_overloaded or not reflected.is_valid:
        raise TypeError("torch_op: {}: expected a function without overloads".format(label))
    inputs: list[Any] = []
    outputs: list[Any] = []
    if reflected.have_return_value:
        outputs.append(_Parameter("_result", reflected.return_type, "the result of " + label))
    for p in reflected.parameters:
        where = "parameter '{}' of {}".format(p.name, label)
        if p.has_modifier(ModifierID.inout):
            raise TypeError("torch_op: {}: expected in and out parameters, got an inout one".format(where))
        (outputs if p.has_modifier(ModifierID.out) else inputs).append(_Parameter(p.name, p.type, where, p.name in numbers))
    unknown = sorted(set(numbers) - {p.name for p in inputs})
    if unknown:
        raise ValueError("torch_op: argument 'numbers': {} has no in parameter {}".format(label, ", ".join(unknown)))
    tensors = [p for p in inputs if not p.number]
    if not tensors or not outputs:
        raise TypeError("torch_op: {}: expected a function with {}".format(label, "a result" if tensors else "an argument that is a tensor"))
    name = name or "slangpy::{}_{}".format(label.replace(".", "_"), next(_counter))

    def call_shape(given):
        shapes = []
        for p in tensors:
            shape = given[p.name].shape
            cut = len(shape) - len(p.sizes)
            if cut < 0:
                raise ValueError("{}: argument '{}': expected at least {} dimensions, got shape {}".format(label, p.name, len(p.sizes), tuple(shape)))
            shapes.append(shape[:cut])
        return torch.broadcast_shapes(*shapes)

    def new_outputs(given):
        shape, device = call_shape(given), given[tensors[0].name].device
        return [torch.empty((*shape, *p.sizes), dtype=getattr(torch, _DTYPES[p.scalar]), device=device) for p in outputs]

    def named(args, kwargs=None):
        return dict(zip((p.name for p in inputs), args), **(kwargs or {}))

    def forward(*args, **kwargs):
        given = named(args, kwargs)
        made = new_outputs(given)
        with torch.no_grad():
            function(**given, **{p.name: t for p, t in zip(outputs, made)})
        return made[0] if len(made) == 1 else tuple(made)

    def fake(*args, **kwargs):
        made = new_outputs(named(args, kwargs))
        return made[0] if len(made) == 1 else tuple(made)

    floats = [p for p in tensors if p.scalar in ("half", "float", "double")]

    def backward_call(gradients, values, wanted):
        """Returns the gradients of the tensors in `wanted`; `values` has all tensors and then all numbers."""
        given = dict(zip((p.name for p in [*tensors, *(p for p in inputs if p.number)]), values))
        made, pairs = [], {}
        for p, want in zip(floats, wanted):
            if want:
                made.append(torch.zeros_like(given[p.name], memory_format=torch.contiguous_format))
                pairs[p.name] = _slangpy.DiffPair(given[p.name], made[-1], True)
        results = {p.name: _slangpy.DiffPair(g, g, True) for p, g in zip(outputs, (g.contiguous() for g in gradients))}
        with torch.no_grad():
            function.bwds(**dict(given, **pairs), **results)
        return made

    many = len(outputs) > 1
    schema = "({}) -> {}".format(", ".join(p.schema() for p in inputs), "(" + ", ".join(["Tensor"] * len(outputs)) + ")" if many else "Tensor")
    op = torch.library.custom_op(name, forward, mutates_args=(), schema=schema)
    op.register_fake(fake)

    numbers_schema = "".join(", " + p.schema() for p in inputs if p.number)
    back = torch.library.custom_op(
        name + "_backward", lambda gradients, wanted, values, *scalars: backward_call(gradients, [*values, *scalars], wanted), mutates_args=(),
        schema="(Tensor[] gradients, bool[] wanted, Tensor[] values{}) -> Tensor[]".format(numbers_schema))

    @back.register_fake
    def _(gradients, wanted, values, *scalars):
        known = dict(zip((p.name for p in tensors), values))
        return [torch.empty(known[p.name].shape, dtype=known[p.name].dtype, device=known[p.name].device) for p, want in zip(floats, wanted) if want]

    def setup(ctx, inputs, output):  # torch passes these arguments by name
        given = named(inputs)
        ctx.save_for_backward(*(given[p.name] for p in tensors))
        ctx.scalars = [given[p.name] for p in all_numbers]
        for p, made in zip(outputs, output if many else (output,)):
            if not made.dtype.is_floating_point:
                ctx.mark_non_differentiable(made)

    all_inputs, all_numbers = inputs, [p for p in inputs if p.number]

    def backward(ctx, *gradients):
        needs = dict(zip((p.name for p in all_inputs), ctx.needs_input_grad))
        wanted = [bool(needs[p.name]) for p in floats]
        found = iter(back(list(gradients), wanted, list(ctx.saved_tensors), *ctx.scalars) if any(wanted) else ())
        own = {p.name: next(found) for p, want in zip(floats, wanted) if want}
        return tuple(own.get(p.name) for p in all_inputs)

    if any(p.scalar in ("half", "float", "double") for p in outputs) and reflected.differentiable:
        op.register_autograd(backward, setup_context=setup)
    op.__doc__ = "{}{}: the Slang function {} as an operator of torch.".format(name, schema, label)
    return op

