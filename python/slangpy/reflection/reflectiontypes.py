"""SlangPy's classes of types, for isinstance(), and its tables of scalar types."""
from __future__ import annotations

from enum import IntEnum

from .. import _slangpy
from .._slangpy import FunctionReflection, ProgramLayout, TypeLayoutReflection, TypeReflection, VariableReflection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "ArrayType", "BOOL_TYPES", "ByteAddressBufferType", "DifferentialPairType", "EXPERIMENTAL_VECTORIZATION", "FLOAT_TYPES", "INT_TYPES",
    "ITensorType", "InterfaceType", "MatrixType", "NUMPY_TYPE_TO_SCALAR_TYPE", "PointerType", "RaytracingAccelerationStructureType",
    "ResourceType", "SCALAR_TYPE_TO_NUMPY_TYPE", "SIGNED_INT_TYPES", "ScalarType", "SamplerStateType", "SlangField", "SlangFunction", "SlangLayout",
    "SlangParameter", "SlangProgramLayout", "SlangType", "StructType", "StructuredBufferType", "TensorAccess", "TensorType", "TextureType",
    "UNSIGNED_INT_TYPES", "UnhandledType", "UnknownType", "VectorType", "VoidType", "is_matching_array_type", "scalar_names",
    "set_experimental_vectorization", "vectorize_type",
]

SlangType = TypeReflection
SlangFunction = FunctionReflection
SlangProgramLayout = ProgramLayout
SlangLayout = TypeLayoutReflection
SlangField = SlangParameter = VariableReflection
TR = TypeReflection


class _TypeMeta(type):
    """Makes isinstance(x, VectorType) and similar checks depend on the kind of the type x."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypeReflection) and bool(cls._is(instance))  # type: ignore[attr-defined]


def _of(name: str, doc: str, test: Callable[[Any], bool]) -> Any:
    return _TypeMeta(name, (TypeReflection,), {"__doc__": doc, "_is": staticmethod(test), "__module__": __name__, "__slots__": ()})


def _kind(*names):
    return lambda t: t.kind.name in names


def _named(*names):
    return lambda t: t.name in names


_TENSORS = tuple(prefix + word for prefix in ("", "I", "W", "IW", "RW", "IRW") for word in ("Tensor", "DiffTensor", "PrimalTensor")) + ("AtomicTensor",)

ScalarType = _of("ScalarType", "A number or a bool.", _kind("scalar"))
VoidType = _of("VoidType", "The type void.", lambda t: t.scalar_type.name == "void")
VectorType = _of("VectorType", "A vector of numbers.", _kind("vector"))
MatrixType = _of("MatrixType", "A matrix of numbers.", _kind("matrix"))
ArrayType = _of("ArrayType", "An array of any type.", _kind("array"))
StructType = _of("StructType", "A struct.", _kind("struct"))
InterfaceType = _of("InterfaceType", "An interface.", _kind("interface"))
PointerType = _of("PointerType", "A pointer.", _kind("pointer"))
ResourceType = _of("ResourceType", "A buffer, texture or acceleration structure.", _kind("resource"))
SamplerStateType = _of("SamplerStateType", "A sampler.", _kind("sampler_state"))
TextureType = _of("TextureType", "A texture.", lambda t: t.kind.name == "resource" and "Texture" in t.full_name.partition("<")[0])
StructuredBufferType = _of("StructuredBufferType", "A StructuredBuffer or RWStructuredBuffer.", lambda t: t.name.endswith("StructuredBuffer"))
ByteAddressBufferType = _of("ByteAddressBufferType", "A ByteAddressBuffer or RWByteAddressBuffer.", lambda t: t.name.endswith("ByteAddressBuffer"))
RaytracingAccelerationStructureType = _of("RaytracingAccelerationStructureType", "An acceleration structure.",
                                          _named("RaytracingAccelerationStructure"))
DifferentialPairType = _of("DifferentialPairType", "A DifferentialPair.", _named("DifferentialPair"))
ITensorType = _of("ITensorType", "A tensor of slangpy's Slang module.", _named(*_TENSORS))
UnknownType = _of("UnknownType", "A type that depends on a generic parameter.", _kind("none"))
UnhandledType = _of("UnhandledType", "A type of which no other class here knows.",
                    lambda t: class_of(t).__name__ == "UnhandledType")
_CLASSES = (VoidType, ScalarType, VectorType, MatrixType, ArrayType, ITensorType, DifferentialPairType, StructType, InterfaceType, PointerType,
            SamplerStateType, TextureType, StructuredBufferType, ByteAddressBufferType, RaytracingAccelerationStructureType, ResourceType,
            UnknownType)
_TENSOR_CLASS = _of("TensorType", "A tensor of slangpy's Slang module.", _named(*_TENSORS))


def class_of(t: TypeReflection) -> type:
    """class_of(t): returns the class of this module that a type is of."""
    for c in _CLASSES:
        if c._is(t):
            return _TENSOR_CLASS if c is ITensorType else c
    return UnhandledType


class TensorType(IntEnum):
    """ITensorType.Kind: which tensor a type is."""

    tensor = 0
    itensor = 1
    diff_tensor = 2
    idiff_tensor = 3
    primal_tensor = 4
    atomic = 5


class TensorAccess(IntEnum):
    """ITensorType.Access: how a function may access a tensor."""

    read = 0
    write = 1
    read_write = 2


ITensorType.Kind = TensorType
ITensorType.Access = TensorAccess

_S = TypeReflection.ScalarType
scalar_names = {s: s.name for s in _S}
scalar_names.update({_S.none: "Unknown", _S.int32: "int", _S.uint32: "uint", _S.float16: "half", _S.float32: "float", _S.float64: "double",
                     **{s: s.name + "_t" for s in (_S.int8, _S.uint8, _S.int16, _S.uint16, _S.int64, _S.uint64)}})
SIGNED_INT_TYPES = {_S.int8, _S.int16, _S.int32, _S.int64}
UNSIGNED_INT_TYPES = {_S.uint8, _S.uint16, _S.uint32, _S.uint64}
FLOAT_TYPES = {_S.float16, _S.float32, _S.float64}
BOOL_TYPES = {_S.bool}
INT_TYPES = SIGNED_INT_TYPES | UNSIGNED_INT_TYPES

_LAZY = {"SCALAR_TYPE_TO_NUMPY_TYPE", "NUMPY_TYPE_TO_SCALAR_TYPE"}


def __getattr__(name: str) -> Any:  # finds the tables that need numpy, which is imported only for them
    if name not in _LAZY:
        raise AttributeError("module '{}' has no attribute '{}'".format(__name__, name))
    import numpy as np

    to_numpy = {s: getattr(np, "bool_" if s == _S.bool else s.name) for s in INT_TYPES | FLOAT_TYPES | BOOL_TYPES}
    globals()["SCALAR_TYPE_TO_NUMPY_TYPE"] = to_numpy
    globals()["NUMPY_TYPE_TO_SCALAR_TYPE"] = {np.dtype(v): k for k, v in to_numpy.items()}
    return globals()[name]


EXPERIMENTAL_VECTORIZATION = False


def set_experimental_vectorization(enabled: bool) -> None:
    """set_experimental_vectorization(enabled): has no effect, because Slang's compiler and this library decide how calls vectorise."""
    global EXPERIMENTAL_VECTORIZATION
    EXPERIMENTAL_VECTORIZATION = bool(enabled)


def is_matching_array_type(a: TypeReflection, b: TypeReflection, allow_generics: bool = True) -> bool:
    """is_matching_array_type(a, b, allow_generics=True): returns whether both are arrays of the same element type and length. With
    allow_generics an open length or element type fits any."""
    if a.kind != TR.Kind.array or b.kind != TR.Kind.array:
        return False
    x, y = a.element_type, b.element_type
    same = x is not None and y is not None and x.full_name == y.full_name
    if allow_generics:
        same = same or x is None or y is None or TR.Kind.none in (x.kind, y.kind)
    return same and (a.element_count == b.element_count or (allow_generics and 0 in (a.element_count, b.element_count)))


def vectorize_type(marshall_type: TypeReflection | str, bound_type: TypeReflection | str, program: ProgramLayout | None = None) -> TypeReflection | None:
    """vectorize_type(marshall_type, bound_type, program=None): returns the type that is passed if a value of one type feeds a parameter
    of the other: the type itself, or its element type, over which the call then runs. None if neither fits."""
    if isinstance(marshall_type, str) or isinstance(bound_type, str):
        if program is None:
            raise ValueError("vectorize_type: names of types need 'program'")
        marshall_type = program.require_type_by_name(marshall_type) if isinstance(marshall_type, str) else marshall_type
        bound_type = program.require_type_by_name(bound_type) if isinstance(bound_type, str) else bound_type
    t: TypeReflection | None = marshall_type
    while t is not None:
        if t.full_name == bound_type.full_name or bound_type.kind == TR.Kind.none:
            return bound_type if bound_type.kind != TR.Kind.none else t
        t = t.element_type
    return None
