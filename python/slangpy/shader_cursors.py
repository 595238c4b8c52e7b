"""The Python part of ShaderCursor: which parts an object has, and where they are."""
from __future__ import annotations

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ShaderOffset"]


class PartObject:
    """Values for a part of a program's parameters, such as a ParameterBlock; see Device.create_shader_object(). ShaderCursor(object)
    sets them, and a cursor of the program takes the object as the value of the part."""

    values: dict[str, Any]

    def __init__(self, layout: Any) -> None:
        self.reflection = layout if isinstance(layout, _slangpy.ReflectionCursor) else _slangpy.ReflectionCursor(layout)
        self.values = {}

    def get_this(self) -> dict[str, Any]:
        """get_this(): returns the values as a dict, in which paths have become nested dicts."""
        nested: dict[str, Any] = {}
        for path, value in self.values.items():
            *outer, last = path.split(".")
            place = nested
            for name in outer:
                place = place.setdefault(name, {})
            place[last] = value
        return nested


class ShaderOffset:
    """The position of a cursor: uniform_offset is in bytes. The other numbers are 0, because this library binds by name."""

    uniform_offset: int
    binding_range_index: int
    binding_array_index: int

    def __init__(self, uniform_offset: int = 0, binding_range_index: int = 0, binding_array_index: int = 0, valid: bool = True) -> None:
        self.uniform_offset, self.binding_range_index, self.binding_array_index = uniform_offset, binding_range_index, binding_array_index
        self._valid = valid

    def is_valid(self) -> bool:
        """is_valid(): returns whether the cursor has a position in a program."""
        return self._valid

    def __repr__(self):
        return "ShaderOffset(uniform_offset={}, binding_range_index={}, binding_array_index={})".format(
            self.uniform_offset, self.binding_range_index, self.binding_array_index)


def _at(self):
    """Returns the ReflectionCursor at a cursor's position; None if the program is not known."""
    try:
        return self._at
    except AttributeError:
        return None


def _path(self):
    try:
        return self._path
    except AttributeError:
        return None


def _is_valid(self):
    """is_valid(): returns whether the program has a value here; True if the program is not known, as in Function.write()."""
    at = _at(self)
    return at is None or at.is_valid()


def _has_field(self, name):
    """has_field(name): returns whether the value has a part of that name."""
    return _is_valid(self.find_field(name))


def _has_element(self, index):
    """has_element(index): returns whether the value has a part of that index."""
    return _is_valid(self.find_element(index))


def _names(self):
    at = _at(self)
    return at._names() if at is not None else []


def _find_field_index(self, name):
    """find_field_index(name): returns the index of a field of the value, or -1."""
    names = _names(self)
    return names.index(name) if name in names else -1


def _get_field_by_index(self, field_index):
    """get_field_by_index(field_index): returns a cursor at the field with that index."""
    names = _names(self)
    if not 0 <= field_index < len(names):
        raise IndexError("get_field_by_index: there is no field {}: there are {}".format(field_index, len(names)))
    return self.find_field(names[field_index])


def _find_entry_point(self, index):
    """find_entry_point(index): returns a cursor at the program's entry point with that index."""
    at = _at(self)
    names = at._entry_points() if at is not None else []
    if not 0 <= index < len(names):
        raise IndexError("find_entry_point: there is no entry point {}: there are {}".format(index, len(names)))
    return self._moved(None, at).find_field(names[index]) if _path(self) is None else self.find_field(names[index])


def _dereference(self):
    """dereference(): returns the same cursor, because parameter blocks and constant buffers are entered by themselves."""
    return self


def _reinterpret(self, new_layout):
    """reinterpret(new_layout): returns a cursor at the same position that takes the value for another type."""
    return self._moved(_path(self), _slangpy.ReflectionCursor(new_layout))


def _set_data(self, data):
    """set_data(data): writes the bytes of an array to a number, vector, matrix or array of numbers."""
    import numpy as np

    raw, at = np.ascontiguousarray(data), _at(self)
    if at is not None and at.is_valid():
        from .reflection.lookup import slang_to_numpy

        t = at.type
        dtype = slang_to_numpy(t)
        if dtype is not None:
            raw = raw.reshape(-1).view(np.uint8).view("u4" if dtype == np.bool_ else dtype).astype(dtype).reshape(tuple(t.shape))
            raw = raw if raw.ndim else raw[()].item()
    self.write(raw)


def _offset(self):
    """The ShaderOffset of the cursor."""
    at = _at(self)
    if at is None:
        return ShaderOffset()
    return ShaderOffset(at.offset, 0, 0, at.is_valid())


_Cursor: Any = _slangpy.ShaderCursor
for _name, _method in [
    ("is_valid", _is_valid), ("has_field", _has_field), ("has_element", _has_element), ("find_field_index", _find_field_index),
    ("get_field_by_index", _get_field_by_index), ("find_entry_point", _find_entry_point), ("dereference", _dereference),
    ("reinterpret", _reinterpret), ("set_data", _set_data),
]:
    setattr(_Cursor, _name, _method)
_Cursor._offset = property(_offset)
del _name, _method
