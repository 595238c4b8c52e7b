"""Reflection under SlangPy's names: its enums, whose numbers are those of Slang's API, and its classes of types, functions and layouts.

The objects are those of slangpy itself. SlangPy has two layers of classes, TypeReflection and SlangType and so on; here one object is
both. VectorType, StructType and similar classes are for isinstance(). Submodules: lookup, reflectiontypes."""
from __future__ import annotations

from .._slangpy import (
    Attribute, DeclReflection, EntryPointLayout, FunctionReflection, ProgramLayout, ReflectionCursor, TypeLayoutReflection,
    TypeReflection, VariableLayoutReflection, VariableReflection,
)
from ..enums import _IntEnum

__all__ = [
    "Attribute", "DeclKind", "DeclReflection", "EntryPointLayout", "FunctionReflection", "ModifierID", "ParameterCategory", "ProgramLayout",
    "ReflectionCursor", "ResourceAccess", "ResourceShape", "ShaderStage", "TypeKind", "TypeLayoutReflection",
    "TypeReflection", "TypeScalar", "VariableLayoutReflection", "VariableReflection",
]


class DeclKind(_IntEnum):
    """DeclReflection.Kind: the kind of a declaration. Fields, parameters, constants and globals are variables; methods and
    constructors are functions; a generic function or struct is a child of a declaration of the kind generic."""

    unsupported = 0
    struct = 1
    func = 2
    module = 3
    generic = 4
    variable = 5
    namespace = 6
    enum = 7
    interface = 8
    alias = 9
    import_ = 10
    extension = 11
    property = 12
    subscript = 13
    generic_parameter = 14
    constraint = 15


List = list  # lists of reflection objects are Python's


class FieldList(list):  # type: ignore[type-arg]
    """TypeReflection.fields: a list of the fields in their order. A name as index finds a field, too, and keys(), values(), items() and
    get() work as those of a dict by name."""

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        if not isinstance(key, str):
            return list.__getitem__(self, key)
        for field in self:
            if field.name == key:
                return field
        raise KeyError(key)

    def __contains__(self, key):
        return any(field.name == key for field in self) if isinstance(key, str) else list.__contains__(self, key)

    def get(self, name, default=None):
        """get(name, default=None): returns the field of that name."""
        return self[name] if name in self else default

    def keys(self):
        """keys(): returns the names of the fields as a list."""
        return [field.name for field in self]

    def values(self):
        """values(): returns the fields as a list."""
        return list(self)

    def items(self):
        """items(): returns pairs of a name and a field as a list."""
        return [(field.name, field) for field in self]


class FieldDict(dict):  # type: ignore[type-arg]
    """TypeReflection.fields of a Module's types: a dict of the fields by name, in their order. An int as index finds a field, too."""

    def __missing__(self, key):  # type: ignore[no-untyped-def]
        if isinstance(key, int):
            return list(self.values())[key]
        raise KeyError(key)


class TypeKind(_IntEnum):
    """TypeReflection.Kind: the kind of a type. void is a scalar, as in Slang."""

    none = 0
    struct = 1
    array = 2
    matrix = 3
    vector = 4
    scalar = 5
    constant_buffer = 6
    resource = 7
    sampler_state = 8
    texture_buffer = 9
    shader_storage_buffer = 10
    parameter_block = 11
    generic_type_parameter = 12
    interface = 13
    output_stream = 14
    mesh_output = 15
    specialized = 16
    feedback = 17
    pointer = 18
    dynamic_resource = 19
    enum = 20


class TypeScalar(_IntEnum):
    """TypeReflection.ScalarType: the type of a scalar, or of a vector's or matrix's components."""

    none = 0
    void = 1
    bool = 2
    int32 = 3
    uint32 = 4
    int64 = 5
    uint64 = 6
    float16 = 7
    float32 = 8
    float64 = 9
    int8 = 10
    uint8 = 11
    int16 = 12
    uint16 = 13


class ResourceShape(_IntEnum):
    """TypeReflection.ResourceShape: the form of a buffer or texture."""

    none = 0
    texture_1d = 1
    texture_2d = 2
    texture_3d = 3
    texture_cube = 4
    texture_buffer = 5
    structured_buffer = 6
    byte_address_buffer = 7
    unknown = 8
    acceleration_structure = 9
    texture_subpass = 10
    texture_2d_feedback = 0x12
    texture_1d_array = 0x41
    texture_2d_array = 0x42
    texture_cube_array = 0x44
    texture_2d_feedback_array = 0x52
    texture_2d_multisample = 0x82
    texture_subpass_multisample = 0x8A
    texture_2d_multisample_array = 0xC2
    texture_feedback_flag = 0x10
    texture_array_flag = 0x40
    texture_multisample_flag = 0x80


class ResourceAccess(_IntEnum):
    """TypeReflection.ResourceAccess: how kernels may access a resource."""

    none = 0
    read = 1
    read_write = 2
    raster_ordered = 3
    access_append = 4
    access_consume = 5
    access_write = 6
    feedback = 7
    append = 4
    consume = 5
    write = 6


class ParameterCategory(_IntEnum):
    """TypeReflection.ParameterCategory: what a shader parameter takes of the target's resources."""

    none = 0
    mixed = 1
    constant_buffer = 2
    shader_resource = 3
    unordered_access = 4
    varying_input = 5
    varying_output = 6
    sampler_state = 7
    uniform = 8
    descriptor_table_slot = 9
    specialization_constant = 10
    push_constant_buffer = 11
    register_space = 12
    generic = 13
    ray_payload = 14
    hit_attributes = 15
    callable_payload = 16
    shader_record = 17
    existential_type_param = 18
    existential_object_param = 19


class ModifierID(_IntEnum):
    """A modifier of a declaration. inn: the parameter is only read. An inout parameter has neither inn nor out."""

    shared = 0
    nodiff = 1
    static = 2
    const = 3
    export = 4
    extern = 5
    differentiable = 6
    mutating = 7
    inn = 8
    out = 9
    inout = 10


class ShaderStage(_IntEnum):
    """The pipeline stage of an entry point."""

    none = 0
    vertex = 1
    hull = 2
    domain = 3
    geometry = 4
    fragment = 5
    compute = 6
    ray_generation = 7
    intersection = 8
    any_hit = 9
    closest_hit = 10
    miss = 11
    callable = 12
    mesh = 13
    amplification = 14


for _name, _owner, _enum in [
    ("Kind", "DeclReflection", DeclKind), ("Kind", "TypeReflection", TypeKind), ("ScalarType", "TypeReflection", TypeScalar),
    ("ResourceShape", "TypeReflection", ResourceShape), ("ResourceAccess", "TypeReflection", ResourceAccess),
    ("ParameterCategory", "TypeReflection", ParameterCategory),
]:
    _enum.__qualname__ = _owner + "." + _name
    _enum.__name__ = _name
del _name, _owner, _enum

from .reflectiontypes import *  # noqa: E402,F403
from .reflectiontypes import __all__ as _more  # noqa: E402
from .lookup import *  # noqa: E402,F403
from .lookup import __all__ as _found  # noqa: E402

__all__ += _more + _found
