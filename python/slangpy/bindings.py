"""How Python classes become arguments of Slang functions.

There are four ways. The simplest one comes first:

- The class has get_this(). Its result is passed in place of the object: a number, list, dict (with '_type' to name the Slang
  type), array, tensor, or another such object. If the class has update_this(value), too, that method gets the new value of a
  parameter that the call writes (out, inout, or `this` of a mutating method). SlangPy's slangpy_signature is allowed but not
  needed, because calls are told apart by the results of get_this().
- PYTHON_TYPES[type] = function, for classes that cannot be changed: function(value) is passed in place of a value. The
  function may be a class with get_this() and update_this() whose constructor takes the value.
- PYTHON_TYPES[type] = function with two parameters, as in SlangPy: function(layout, value) gives a Marshall, which says which
  Slang type holds the data and how a kernel loads the parameter's value from it; or, as above, a value to pass.
- register_write_to_cursor_type(type, function), or a method to_cursor(), for values that are written through cursors.
"""
from __future__ import annotations

from ._slangpy import PYTHON_TYPES, Shape, register_python_type, register_write_to_cursor_type
from .marshalling import (
    PYTHON_SIGNATURES, AccessType, BindContext, BoundCall, BoundCallRuntime, BoundVariable, BoundVariableException, BoundVariableRuntime,
    CallContext, CallMode, CodeGen, CodeGenBlock, Marshall, ReturnContext, ValueMarshall, ValueRefMarshall, get_or_create_type,
    lookup_signature_callback, lookup_type_callback,
)

__path__: list[str] = []  # slangpy.bindings.marshall and the like are modules that slangpy.paths makes


def __getattr__(name: str) -> object:
    from .paths import submodule

    found = submodule(__name__, name)
    if found is None:
        raise AttributeError("module '{}' has no attribute '{}'".format(__name__, name))
    return found


__all__ = [
    "PYTHON_SIGNATURES", "PYTHON_TYPES", "AccessType", "BindContext", "BoundCall", "BoundCallRuntime", "BoundVariable",
    "BoundVariableException", "BoundVariableRuntime", "CallContext", "CallMode", "CodeGen", "CodeGenBlock", "Marshall", "ReturnContext",
    "Shape", "ValueMarshall", "ValueRefMarshall", "get_or_create_type", "lookup_signature_callback", "lookup_type_callback",
    "register_python_type", "register_write_to_cursor_type",
]
