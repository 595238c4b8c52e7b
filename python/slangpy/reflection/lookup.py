"""Finds types by names, classes and dtypes, and numpy's dtypes for types."""
from __future__ import annotations

from .. import _slangpy
from .._slangpy import ProgramLayout, TypeLayoutReflection, TypeReflection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..device import Device

__all__ = ["innermost_type", "numpy_to_slang", "resolve_element_type", "resolve_program_layout", "slang_to_numpy"]

ST = TypeReflection.ScalarType


def innermost_type(slang_type: TypeReflection) -> TypeReflection:
    """innermost_type(slang_type): returns the type of the innermost elements of an array, vector, matrix or buffer; a type of another
    kind is returned as it is."""
    t = slang_type
    while t.element_type is not None and t.element_type is not t and t.kind.name != "enum":
        t = t.element_type
    return t


def slang_to_numpy(slang_dtype: TypeReflection) -> Any:
    """slang_to_numpy(slang_dtype): returns the numpy dtype of the innermost numbers of a type, or None if it is not made of numbers."""
    import numpy as np

    scalar = innermost_type(slang_dtype).scalar_type
    if scalar in (ST.none, ST.void):
        return None
    return np.dtype("bool" if scalar == ST.bool else scalar.name)


def numpy_to_slang(np_dtype: Any, device: Device, program_layout: ProgramLayout | None = None) -> TypeReflection | None:
    """numpy_to_slang(np_dtype, device, program_layout=None): returns the type of a numpy dtype, with its sub-array's sizes; None if Slang has
    none."""
    import numpy as np

    dtype = np.dtype(np_dtype)
    base, sizes = (dtype.subdtype[0], dtype.shape) if dtype.subdtype is not None else (dtype, ())
    name = {"b1": "bool", "i1": "int8_t", "u1": "uint8_t", "i2": "int16_t", "u2": "uint16_t", "i4": "int", "u4": "uint", "i8": "int64_t",
            "u8": "uint64_t", "f2": "half", "f4": "float", "f8": "double"}.get(base.str[1:])
    if name is None:
        return None
    layout = resolve_program_layout(device, None, program_layout)
    return layout.find_type_by_name(name + "".join("[{}]".format(n) for n in sizes))


def resolve_program_layout(device: Device, element_type: Any, program_layout: ProgramLayout | None = None) -> ProgramLayout:
    """resolve_program_layout(device, element_type, program_layout=None): returns `program_layout`, or the layout that the type belongs
    to, or that of a module without code."""
    if program_layout is not None:
        return program_layout
    module = getattr(element_type, "module", None)
    if isinstance(module, _slangpy.Module):
        return module.layout
    return device.load_module_from_source("slangpy_lookup", "").layout


def resolve_element_type(program_layout: ProgramLayout, element_type: Any) -> TypeReflection:
    """resolve_element_type(program_layout, element_type): returns the type for a name, Struct, type, layout, class (float, int, bool,
    float3), or dtype of numpy. Raises a ValueError if the program has no such type."""
    if isinstance(element_type, TypeReflection):
        found = element_type if element_type.module is program_layout.module else program_layout.find_type_by_name(element_type.full_name)
        return found or element_type
    if isinstance(element_type, _slangpy.Struct):
        return element_type.struct
    if isinstance(element_type, TypeLayoutReflection):
        return element_type.type
    if isinstance(element_type, str):
        name = element_type
    elif isinstance(element_type, type):
        name = {"float": "float", "int": "int", "bool": "bool", "float16_t": "half"}.get(element_type.__name__, element_type.__name__)
        if element_type.__module__ == "numpy":
            name = ""
    else:
        name = ""
    found = program_layout.find_type_by_name(name) if name else None
    if found is None and not name and element_type is not None:
        try:
            found = numpy_to_slang(element_type, program_layout.module.device, program_layout)
        except TypeError:
            found = None
    if found is None:
        raise _slangpy.ArgumentValueError("resolve_element_type: the program has no type for {!r}".format(element_type))
    return found
