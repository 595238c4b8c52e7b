"""What types, structs and program layouts have besides the members that C gives them: SlangPy's properties of SlangType and Struct."""
from __future__ import annotations

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def _type_of(self):
    """Returns the TypeReflection of a Struct or of a type."""
    return self if isinstance(self, _slangpy.TypeReflection) else self.struct


def _program(self):
    """The ProgramLayout of the type's module."""
    return self.module.layout


def _num_dims(self):
    """Number of dimensions of the type's shape."""
    return len(_type_of(self).shape)


def _differentiable(self):
    """Whether the type implements IDifferentiable."""
    layout = self.module.layout
    interface = layout.find_type_by_name("IDifferentiable")
    try:
        return interface is not None and layout.is_sub_type(_type_of(self), interface)
    except _slangpy.Error:
        return False


def _derivative(self):
    """The type of its derivative; None if it is not differentiable."""
    return self.module.layout.find_type_by_name(_type_of(self).full_name + ".Differential") if _differentiable(self) else None


def _is_generic(self):
    """Whether the type depends on generic parameters that are still open."""
    return _type_of(self).kind.name in ("none", "generic_type_parameter")


def _buffer_layout(self):
    """The TypeLayoutReflection of the type as an element of a StructuredBuffer."""
    return self.module.layout.get_type_layout(_type_of(self))


def _uniform_layout(self):
    """The TypeLayoutReflection of the type as a uniform value."""
    return self.module.layout.get_type_layout(_type_of(self))


def _type_reflection(self):
    """The TypeReflection."""
    return _type_of(self)


def _vector_type_name(self):
    """The name of the type in full, as Slang prints it."""
    return _type_of(self).full_name


def _generic_args(self):
    """The arguments of a generic type, types or ints (of a bool 1 or 0), as a tuple; None for other types."""
    name = _type_of(self).full_name
    if not name.endswith(">"):
        return None
    parts, depth, start = [], 0, name.index("<") + 1
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if depth == 1 and c == "," or depth == 0 and c == ">":
            parts.append(name[start:i].strip())
            start = i + 1
    layout = self.module.layout
    return tuple(int(p) if p.lstrip("-").isdigit() else layout.find_type_by_name(p) for p in parts)


def _of_struct(name):
    """Returns the property of a Struct that is its type's."""
    return property(lambda self: getattr(self.struct, name), doc=getattr(_slangpy.TypeReflection, name).__doc__)


def _try_get_child(self, name):
    """try_get_child(name): returns the function or type of that name in the struct, or None."""
    try:
        return self[name]
    except (AttributeError, LookupError, ValueError):
        return None


def _torch(self):
    """torch(): not in this version."""
    raise NotImplementedError("Struct.torch() is not in this version: torch's autograd belongs to a later one")


_Struct: Any = _slangpy.Struct
_Type: Any = _slangpy.TypeReflection
for _name, _get in [
    ("program", _program), ("num_dims", _num_dims), ("differentiable", _differentiable), ("derivative", _derivative), ("is_generic", _is_generic),
    ("buffer_layout", _buffer_layout), ("uniform_layout", _uniform_layout), ("type_reflection", _type_reflection),
    ("vector_type_name", _vector_type_name), ("generic_args", _generic_args),
]:
    setattr(_Struct, _name, property(_get))
    setattr(_Type, _name, property(_get))
_Type.slang_scalar_type = property(lambda self: self.scalar_type, doc="The ScalarType of its numbers.")
_Type.num_elements = property(lambda self: self.element_count, doc="Number of elements of an array or vector.")
_Type.rows = property(lambda self: self.row_count, doc="Number of rows of a matrix.")
_Type.cols = property(lambda self: self.col_count, doc="Number of columns of a matrix.")
_Struct.layout = property(_program)
_Struct.element_type = _of_struct("element_type")
_Struct.device = property(lambda self: self.module.device, doc="The Device of its module.")
_Struct.device_module = property(lambda self: getattr(self.module, "device_module", self.module), doc="The SlangModule that it belongs to.")
_Struct.session = property(lambda self: self.module.session, doc="The SlangSession of its module.")
_Struct.try_get_child = _try_get_child
_Struct.torch = _torch
_TypeLayout: Any = _slangpy.TypeLayoutReflection
_TypeLayout.reflection = property(lambda self: self, doc="The layout itself.")


# >>types of a program by what they are made of

_SCALARS = {"void": "void", "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int",
            "uint32": "uint", "int64": "int64_t", "uint64": "uint64_t", "float16": "half", "float32": "float", "float64": "double"}


def _name_of(kind):
    return kind if isinstance(kind, str) else _SCALARS[kind.name] if isinstance(kind, int) else kind.full_name


def _scalar_type(self, scalar_type):
    """scalar_type(scalar_type): returns the type of a TypeReflection.ScalarType."""
    return self.require_type_by_name(_name_of(scalar_type))


def _vector_type(self, scalar_type, size):
    """vector_type(scalar_type, size): returns the type of vectors of a TypeReflection.ScalarType."""
    return self.require_type_by_name("vector<{},{}>".format(_name_of(scalar_type), size))


def _matrix_type(self, scalar_type, rows, cols):
    """matrix_type(scalar_type, rows, cols): returns the type of matrices of a TypeReflection.ScalarType."""
    return self.require_type_by_name("matrix<{},{},{}>".format(_name_of(scalar_type), rows, cols))


def _array_type(self, element_type, count=0):
    """array_type(element_type, count=0): returns the type of arrays of a type; a count of 0 is an array without a size."""
    return self.require_type_by_name("{}[{}]".format(_name_of(element_type), count or ""))


def _find_type(self, refl):
    """find_type(refl): returns this program's type with the full name of `refl`, a type of any program; None if this program has no such type."""
    return self.find_type_by_name(_type_of(refl).full_name)


def _find_function(self, refl, this_refl=None):
    """find_function(refl, this_refl=None): returns a FunctionReflection of this program."""
    return refl if this_refl is None else self.find_function_by_name_in_type(this_refl, refl.name)


def _require_function_in_type(self, type, name):
    """require_function_by_name_in_type(type, name): returns what find_function_by_name_in_type() returns; raises a ValueError if the type has no such method."""
    found = self.find_function_by_name_in_type(type, name)
    if found is None:
        raise ValueError("type '{}' has no function named '{}'".format(_type_of(type).full_name, name))
    return found


def _resolved_generic_args(self, slang_type):
    """get_resolved_generic_args(slang_type): returns the arguments of a generic type, types or ints, as a tuple; None for other types."""
    return _generic_args(slang_type)


_Layout: Any = _slangpy.ProgramLayout
for _name, _method in [
    ("scalar_type", _scalar_type), ("vector_type", _vector_type), ("matrix_type", _matrix_type), ("array_type", _array_type),
    ("find_type", _find_type), ("find_function", _find_function), ("require_function_by_name_in_type", _require_function_in_type),
    ("get_resolved_generic_args", _resolved_generic_args),
]:
    setattr(_Layout, _name, _method)


class _GlobalsLayout:
    """The layout of the global shader parameters, which form a struct without a name."""

    def __init__(self, layout):
        self.fields = layout.parameters
        self.kind = _slangpy.TypeReflection.Kind.struct
        self.name, self.is_valid, self.alignment, self.type, self.element_type_layout = "", True, 16, None, None
        self.size = max([f.offset + f.type_layout.size for f in self.fields], default=0)
        self.stride = -(-self.size // 16) * 16

    def find_field(self, name):
        """find_field(name): returns the VariableLayoutReflection of a global, or None."""
        return next((f for f in self.fields if f.name == name), None)

    def unwrap_array(self):
        """unwrap_array(): returns the layout itself."""
        return self


class _GlobalsVariable:
    """The global shader parameters as one variable."""

    def __init__(self, layout):
        self.name, self.is_valid, self.offset, self.variable = "", True, 0, None
        self.type_layout = _GlobalsLayout(layout)


_Layout.globals_type_layout = property(_GlobalsLayout, doc="The layout of the global shader parameters as a struct.")
_Layout.globals_variable_layout = property(_GlobalsVariable, doc="The global shader parameters as one variable.")
_Layout.hashed_strings = property(lambda self: [], doc="The texts of getStringHash(): an empty list, because Slang is not asked for them.")
_Layout.program_layout = property(lambda self: self, doc="The layout itself.")
del _name, _get, _method
