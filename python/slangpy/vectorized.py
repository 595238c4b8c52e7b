"""vmapping(), the mapping of one parameter for Function.declare() and map(); vmap(), vdim() and vcast() are functions of the C module."""
from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

__all__ = ["vmapping"]


class vmapping(tuple):
    """vmapping(*dims): the mapping of a parameter whose argument the call runs over: dimension i of the argument is dimension dims[i]
    of the call. vmapping((0, 1)) is the same as vmapping(0, 1)."""

    __slots__ = ()

    def __new__(cls, *dims: Any) -> Self:
        given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
        try:
            return super().__new__(cls, [operator.index(d) for d in given])
        except TypeError:
            raise TypeError("vmapping: expected ints, or one tuple of ints, got {!r}".format(dims)) from None

    def __repr__(self):
        return "vmapping({})".format(", ".join(map(str, self)))


def _entry_text(entry):
    """Returns an entry of declare() in the form in which it is written."""
    return getattr(entry, "full_name", None) or getattr(entry, "__name__", None) or repr(entry)


def declared_text(by_position, by_name):
    """Returns ".declare(vmapping(0, 1), b=float3)" for the arguments of a function's declare()."""
    entries = [_entry_text(e) for e in by_position] + ["{}={}".format(name, _entry_text(e)) for name, e in by_name.items()]
    return ".declare({})".format(", ".join(entries))
