"""How Python classes become arguments of Slang functions."""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

__all__ = ["PYTHON_TYPES", "Marshall", "register_python_type", "register_write_to_cursor_type"]

_T = TypeVar("_T")

PYTHON_TYPES: dict[type, Callable[[Any], Any]]

def register_python_type(type: type[_T], function: Callable[[_T], Any]) -> None:
    """Arguments of that class, or of one derived from it, are passed as function(value). It gives a number, list, dict,
    array, tensor or generator, or an object with get_this() and update_this(). As PYTHON_TYPES[type] = function. Register
    before the first call with such a value.
    """
def register_write_to_cursor_type(type: type[_T], function: Callable[[_T], Any]) -> None:
    """What a cursor writes for values of that class, function(value): numbers, lists, dicts. A class may have a method
    to_cursor() instead.
    """

class Marshall:
    """Not supported: deriving from it or making one raises NotImplementedError, which says what to do instead."""

    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __init_subclass__(cls, **kwargs: object) -> NoReturn: ...
