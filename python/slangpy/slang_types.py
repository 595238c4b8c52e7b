"""The Python part of types, structs and program layouts: SlangPy's properties of SlangType and Struct."""
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
    """The number of dimensions of the type's shape."""
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
    """The type of the derivative; None if the type is not differentiable."""
    type = _type_of(self)
    if not _differentiable(self):
        return None
    if type.kind.name != "array":
        return self.module.layout.find_type_by_name(type.full_name + ".Differential")
    element = type.element_type.derivative
    return type if element is type.element_type else element and self.module.layout.array_type(element, type.element_count)


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
    """The name of the type with its path and generic arguments, as Slang prints it."""
    return _type_of(self).full_name


def _generic_args(self):
    """The arguments of a generic type as a tuple of types and ints (1 or 0 for a bool); None for other types."""
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
    """Makes a property of Struct that is the property of its type."""
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
_fields_of_struct = _Type.fields


class _Component:
    """A component of a vector, such as x, as one of the fields of its type."""

    def __init__(self, name, type):
        self.name, self.type = name, type

    def __repr__(self):
        return 'refl::Variable(name="{}", type="{}")'.format(self.name, self.type.full_name)


def _fields(self):
    """The fields of a struct, and the components of a vector, by name: a FieldDict. The types of a SlangModule have a FieldList of a
    struct's fields."""
    found = _fields_of_struct.__get__(self)
    if isinstance(found, dict) and found and _is_tensor(self):
        found.clear()  # a tensor's members are the library's own
    if self.kind.name == "vector" and isinstance(found, dict):
        found.update({name: _Component(name, self.element_type) for name in "xyzw"[:self.col_count]})
    return found


_Type.fields = property(_fields)
_Type.slang_scalar_type = property(lambda self: self.scalar_type, doc="The ScalarType of its numbers.")
_Type.num_elements = property(lambda self: self.element_count, doc="Number of elements of an array or vector.")
_Type.struct = property(lambda self: self, doc="The type itself.")
_Type.device = property(lambda self: self.module.device, doc="The Device of its module.")
_Type.rows = property(lambda self: self.row_count, doc="Number of rows of a matrix.")
_Type.cols = property(lambda self: self.col_count, doc="Number of columns of a matrix.")
_Struct.layout = property(_program)
_Struct.options = property(lambda self: self.module.options, doc="The options of its module.")
_Struct.slangpy_signature = property(lambda self: self.full_name, doc="A text that is the same for the same type.")
_Struct.element_type = _of_struct("element_type")
_Struct.device = property(lambda self: self.module.device, doc="The Device of the type's module.")
_Struct.device_module = property(lambda self: getattr(self.module, "device_module", self.module), doc="The SlangModule that the type belongs to.")
_Struct.session = property(lambda self: self.module.session, doc="The SlangSession of the type's module.")
_Struct.try_get_child = _try_get_child
_Struct.torch = _torch


def _io_type(self):
    """The direction of a parameter, an IOType."""
    from .marshalling import IOType

    names = [m.name for m in self.modifiers]
    if "out" not in names:
        return IOType.inn
    return IOType.inout if "inout" in names or "inn" in names else IOType.out


def _no_diff(self):
    """Whether the variable is declared no_diff, or has a type without derivative."""
    return any(m.name == "nodiff" for m in self.modifiers)


_Variable: Any = _slangpy.VariableReflection
_Variable.io_type = property(_io_type)
_Variable.no_diff = property(_no_diff)
_TypeLayout: Any = _slangpy.TypeLayoutReflection
_FunctionReflection: Any = _slangpy.FunctionReflection
for _class in (_FunctionReflection, _Variable):
    _class.reflection = property(lambda self: self, doc="The reflection itself.")
    _class.program = property(lambda self: self.module.layout, doc="The ProgramLayout of its module.")
    _class.layout = property(lambda self: self.module.layout, doc="The ProgramLayout of its module.")
_FunctionReflection.this_type = property(lambda self: self.this, doc="The type that the method belongs to, or None, as `this`.")
_Variable.declaration = property(lambda self: self, doc="The reflection itself.")
_Variable.differentiable = property(lambda self: self.type is not None and self.type.differentiable, doc="Whether its type is differentiable.")
_Variable.derivative = property(lambda self: self.type and self.type.derivative, doc="The type of its derivative, or None.")
_slangpy.ProgramLayout.low_level_layout = property(  # type: ignore[attr-defined]
    lambda self: self.module.device_module.layout, doc="The ProgramLayout of its module's device_module, whose types have lists of fields.")
_element_layout_in_c = vars(_slangpy.TypeLayoutReflection)["element_type_layout"]


def _element_type_layout(self):
    """The layout of the elements of an array, vector, pointer or buffer; of a matrix that of its rows; None for other types."""
    if self.kind.name == "matrix":
        return self.type.module.layout.get_type_layout(self.type.element_type)
    texels = self.kind.name == "resource" and self.type.resource_shape.name not in _BUFFERS
    return None if texels else _element_layout_in_c.__get__(self)


_TypeLayout.element_type_layout = property(_element_type_layout)
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
        raise _slangpy.ArgumentValueError("type '{}' has no function named '{}'".format(_type_of(type).full_name, name))
    return found


def _resolved_generic_args(self, slang_type):
    """get_resolved_generic_args(slang_type): returns the arguments of a generic type as a list of types and ints; None for other types."""
    found = _generic_args(slang_type)
    return None if found is None else list(found)


# >>properties that only some kinds of types have: others raise an AttributeError

_TENSOR_WORDS = {"": 0, "I": 1, "Diff": 2, "IDiff": 3, "Primal": 4, "Atomic": 5}  # part of the name -> number in ITensorType.Kind
_READ, _WRITE, _READ_WRITE = range(3)  # the numbers in ITensorType.Access


def _tensor_of(type, name):
    """Returns the kind and the access of a tensor type: the part of its name before "Tensor" without R and W, and how it is accessed."""
    word = type.name
    if not word.endswith("Tensor") or word.replace("RW", "", 1).replace("W", "", 1)[:-6] not in _TENSOR_WORDS:
        raise AttributeError("'{}' has no attribute '{}': it is no tensor".format(type.full_name, name))
    access = _READ_WRITE if "RW" in word or word.startswith("Atomic") else _WRITE if "W" in word else _READ
    return word.replace("RW", "", 1).replace("W", "", 1)[:-6], access


def _tensor_dims(self):
    """The number of dimensions of a tensor type: the D of Tensor<T, D>."""
    _tensor_of(self, "dims")
    return _generic_args(self)[1]


def _tensor_dtype(self):
    """The type of a tensor type's elements: the T of Tensor<T, D>."""
    _tensor_of(self, "dtype")
    return _generic_args(self)[0]


def _tensor_access(self):
    """How a function may access a tensor of this type, an ITensorType.Access."""
    from .reflection import ITensorType

    return ITensorType.Access(_tensor_of(self, "access")[1])


def _tensor_type(self):
    """Which tensor a tensor type is, an ITensorType.Kind."""
    from .reflection import ITensorType

    return ITensorType.Kind(_TENSOR_WORDS[_tensor_of(self, "tensor_type")[0]])


def _has_grad_in(self):
    """Whether a tensor type reads a gradient in the backward pass, as tensors do that a function writes."""
    word, access = _tensor_of(self, "has_grad_in")
    return word == "Diff" and access != _READ


def _has_grad_out(self):
    """Whether a tensor type adds to a gradient in the backward pass, as tensors do that a function reads."""
    word, access = _tensor_of(self, "has_grad_out")
    return word == "Diff" and access != _WRITE


def _writable(self):
    """Whether a function may write to a tensor, buffer or texture of this type."""
    if self.kind.name == "resource":
        return self.resource_access.name != "read"
    return _tensor_of(self, "writable")[1] != _READ


def _usage(self):
    """The usage that a buffer or texture needs for a parameter of this type, a BufferUsage or TextureUsage."""
    from . import enums, textures

    if self.kind.name != "resource":
        raise AttributeError("'{}' has no attribute 'usage': it is no buffer or texture".format(self.full_name))
    usage = textures.TextureUsage if "Texture" in self.full_name.partition("<")[0] else enums.BufferUsage
    return usage.unordered_access if _writable(self) else usage.shader_resource


def _texture_dims(self):
    """Number of dimensions of a texture type, layers included: 3 of a Texture2DArray."""
    if self.kind.name != "resource" or "Texture" not in self.full_name.partition("<")[0]:
        raise AttributeError("'{}' has no attribute 'texture_dims': it is no texture".format(self.full_name))
    word = self.full_name.partition("Texture")[2].partition("<")[0]
    return (3 if word.startswith("Cube") else int(word[0])) + ("Array" in word)


def _target_type(self):
    """The type that a pointer type points to."""
    if self.kind.name != "pointer":
        raise AttributeError("'{}' has no attribute 'target_type': it is no pointer".format(self.full_name))
    return self.element_type


_shape_in_c = vars(_slangpy.TypeReflection)["shape"]
_element_type_in_c = vars(_slangpy.TypeReflection)["element_type"]
_BUFFERS = ("structured_buffer", "byte_address_buffer")


def _is_tensor(type):
    """Returns whether a type is one of slangpy's tensors, by its name."""
    name = type.name
    return name.endswith("Tensor") and name.replace("RW", "", 1).replace("W", "", 1)[:-6] in _TENSOR_WORDS and type.full_name.endswith(">")


def _shape(self):
    """The sizes of arrays, matrices and vectors, outermost first; () for scalars and structs. For a tensor, texture or buffer: -1 for
    each dimension, and then the shape of an element."""
    kind = self.kind.name
    if kind == "resource":
        shape = self.resource_shape.name
        if shape.startswith("texture_") and shape != "texture_buffer":
            element = self.resource_result_type
            return _slangpy.Shape(*[-1] * _texture_dims(self), *(element.shape if element is not None else ()))
        if shape in _BUFFERS:
            return _slangpy.Shape(-1)
    elif kind in ("struct", "interface") and _is_tensor(self):
        element, rank = _generic_args(self)[:2]
        return _slangpy.Shape(*[-1] * rank, *(element.shape if element is not None else ()))
    return _shape_in_c.__get__(self)


def _element_type(self):
    """The type of the elements of an array, vector, pointer, tensor, buffer or texture; of a matrix its rows; else None."""
    found = _element_type_in_c.__get__(self)
    if self.kind.name == "enum":
        return None
    if self.kind.name == "matrix":
        return self.module.layout.find_type_by_name("vector<{},{}>".format(found.full_name, self.col_count))
    if found is None and self.name.endswith("ByteAddressBuffer"):
        return self.module.layout.find_type_by_name("uint8_t")
    if found is None and self.kind.name in ("struct", "interface") and _is_tensor(self):
        return _generic_args(self)[0]
    return found


def _inner_element_type(self):
    """The scalar type of a vector or matrix, the type of the innermost elements of an array of arrays, or the element type of another
    type."""
    element = self.element_type
    if element is not None and self.kind.name == "matrix":
        return element.element_type
    while element is not None and self.kind.name == "array" and element.kind.name == "array":
        element = element.element_type
    return element


def _array_shape(self):
    """The sizes of an array of arrays, outermost first."""
    if self.kind.name != "array":
        raise AttributeError("'{}' has no attribute 'array_shape': it is no array".format(self.full_name))
    sizes, type = [], self
    while type is not None and type.kind.name == "array":
        sizes.append(type.element_count)
        type = type.element_type
    return _slangpy.Shape(*sizes)


def _array_dims(self):
    """The number of nested arrays of an array type: 2 of float[2][3]."""
    return len(_array_shape(self))


def _readable(self):
    """Whether a function may read a tensor of this type."""
    return _tensor_of(self, "readable")[1] != _WRITE


for _name, _get in [
    ("shape", _shape), ("element_type", _element_type), ("inner_element_type", _inner_element_type), ("array_shape", _array_shape),
    ("array_dims", _array_dims), ("readable", _readable), ("layout", _program),
    ("dims", _tensor_dims), ("dtype", _tensor_dtype), ("access", _tensor_access), ("tensor_type", _tensor_type), ("has_grad_in", _has_grad_in),
    ("has_grad_out", _has_grad_out), ("writable", _writable), ("usage", _usage), ("texture_dims", _texture_dims), ("target_type", _target_type),
]:
    setattr(_Type, _name, property(_get))

_find_plainly = _slangpy.ProgramLayout.find_type_by_name


def _find_type_by_name(self, name):
    found = _find_plainly(self, name)
    if found is None and isinstance(name, str) and "Tensor<" in name and name.partition("Tensor<")[0].lstrip("IRW") in ("Diff", "Primal", "Atomic"):
        layout = _library_layout(self)
        return None if layout is None else _find_plainly(layout, name)
    return found


_find_type_by_name.__doc__ = _find_plainly.__doc__


def _library_layout(layout):
    """Returns the layout of a module that imports the program and all of slangpy's tensor types, or None if there is no such module. The
    program's own layout has only those tensor types that its text names."""
    module = layout.module
    found = module._extra.get("library types")
    if found is None:
        text = "import slangpy;\nimport slangpy_diff;\nimport slangpy_atomic;\nimport \"{}\";\n".format(module.name)
        try:
            found = _slangpy.Module.load_from_source(module.device, "spy_types_of_" + module.name, text, {}, [module])
        except _slangpy.Error:
            found = False
        module._extra["library types"] = found
    return found.layout if found else None


_Layout: Any = _slangpy.ProgramLayout
for _name, _method in [
    ("find_type_by_name", _find_type_by_name), ("scalar_type", _scalar_type), ("vector_type", _vector_type), ("matrix_type", _matrix_type), ("array_type", _array_type),
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
_Layout.hashed_strings = property(lambda self: [], doc="The strings of getStringHash(). The list is empty, because Slang is not asked for them.")
_Layout.program_layout = property(lambda self: self, doc="The layout itself.")
del _name, _get, _method
