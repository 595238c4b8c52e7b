"""How Python classes become arguments of Slang functions.

There are three ways. The simplest one comes first:

- The class has get_this(). Its result is passed in place of the object: a number, list, dict (with '_type' to name the Slang
  type), array, tensor, or another such object. If the class has update_this(value), too, that method gets the new value of a
  parameter that the call writes (out, inout, or `this` of a mutating method). SlangPy's slangpy_signature is allowed but not
  needed, because calls are told apart by the results of get_this().
- PYTHON_TYPES[type] = function, for classes that cannot be changed: function(value) is passed in place of a value. The
  function may be a class with get_this() and update_this() whose constructor takes the value.
- register_write_to_cursor_type(type, function), or a method to_cursor(), for values that are written through cursors.

This package has no Marshall classes, unlike SlangPy. Their methods (gen_calldata, resolve_type, resolve_dimensionality,
create_calldata, ...) write pieces of Slang text for SlangPy's own kernel generator. Here the C library generates
kernels, and it does not put them together from such pieces.
"""
from __future__ import annotations

from ._slangpy import PYTHON_TYPES, register_python_type, register_write_to_cursor_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["PYTHON_TYPES", "Marshall", "register_python_type", "register_write_to_cursor_type"]


class Marshall:
    """Not supported. Deriving from this class or making an instance raises a NotImplementedError that says what to do instead."""

    def __init__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(_WHY)

    def __init_subclass__(cls, **kwargs: object) -> NoReturn:
        raise NotImplementedError(_WHY)


_WHY = ("Marshall classes generate Slang text for SlangPy's own kernel generator, which this package does not have. "
        "Give the class get_this() and update_this(), or register a function: slangpy.PYTHON_TYPES[type] = function")
