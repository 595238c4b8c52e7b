"""The enums of reflection, and its classes, which slangpy has too."""

from enum import IntEnum

from . import (
    Attribute as Attribute, DeclReflection as DeclReflection, EntryPointLayout as EntryPointLayout,
    FunctionReflection as FunctionReflection, ProgramLayout as ProgramLayout, ReflectionCursor as ReflectionCursor,
    TypeLayoutReflection as TypeLayoutReflection, TypeReflection as TypeReflection,
    VariableLayoutReflection as VariableLayoutReflection, VariableReflection as VariableReflection,
)

__all__ = [
    "Attribute", "DeclKind", "DeclReflection", "EntryPointLayout", "FunctionReflection", "ModifierID", "ProgramLayout",
    "ReflectionCursor", "ResourceAccess", "ResourceShape", "ScalarType", "ShaderStage", "TypeKind", "TypeLayoutReflection",
    "TypeReflection", "VariableLayoutReflection", "VariableReflection",
]

DeclKind = DeclReflection.Kind
TypeKind = TypeReflection.Kind
ScalarType = TypeReflection.ScalarType
ResourceShape = TypeReflection.ResourceShape
ResourceAccess = TypeReflection.ResourceAccess

class ModifierID(IntEnum):
    """How something is declared. inn: a parameter that is only read; inout has neither inn nor out."""
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

class ShaderStage(IntEnum):
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
    dispatch = 15
