"""Vectors, matrices and quaternions, and functions on them with Slang's names.

Angles are in radians, coordinates right-handed unless said otherwise. The types are attributes of slangpy too.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, Generic, SupportsFloat, SupportsIndex, TypeVar, final, overload

from numpy.typing import NDArray
from typing_extensions import Buffer, Self

_Element = TypeVar("_Element", bool, int, float)
_Bools = TypeVar("_Bools", bound="_BoolVector")
_Row = TypeVar("_Row", bound="_FloatVector[Any, Any]")
_Column = TypeVar("_Column", bound="_FloatVector[Any, Any]")

class _Value:
    def to_numpy(self) -> NDArray[Any]:
        """Returns a new array of the value's shape. numpy.asarray(value) shares its memory instead."""
    @classmethod
    def from_numpy(cls, array: Any, /) -> Self:
        """Returns the value of an array with the type's shape. Types of integers do not take arrays of floats."""
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...

class _Items(_Value, Generic[_Element]):
    @property
    def element_type(self) -> type[_Element]:
        """Python type of a component: bool, int or float."""
    def __len__(self) -> int: ...

class _Vector(_Items[_Element], Generic[_Element, _Bools]):
    def __new__(cls, *components: _Element | Sequence[_Element] | Buffer | NDArray[Any], **named: _Element) -> Self: ...
    @property
    def shape(self) -> tuple[int]:
        """The sizes of the dimensions: (N,)."""
    def __iter__(self) -> Iterator[_Element]: ...
    def __getitem__(self, index: SupportsIndex, /) -> _Element: ...
    def __setitem__(self, index: SupportsIndex, value: _Element, /) -> None: ...
    def __delitem__(self, index: SupportsIndex, /) -> None: ...
    def __getattr__(self, swizzle: str, /) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...

class _BoolVector(_Vector[bool, Any]):
    def __bool__(self) -> bool: ...
    def __and__(self, other: Self | bool, /) -> Self: ...
    def __or__(self, other: Self | bool, /) -> Self: ...
    def __xor__(self, other: Self | bool, /) -> Self: ...
    def __rand__(self, other: bool, /) -> Self: ...
    def __ror__(self, other: bool, /) -> Self: ...
    def __rxor__(self, other: bool, /) -> Self: ...
    def __iand__(self, other: Self | bool, /) -> Self: ...
    def __ior__(self, other: Self | bool, /) -> Self: ...
    def __ixor__(self, other: Self | bool, /) -> Self: ...
    def __invert__(self) -> Self: ...

class _Numbers(_Vector[_Element, _Bools], Generic[_Element, _Bools]):
    def __add__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __radd__(self, other: _Element | float16_t, /) -> Self: ...
    def __sub__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __rsub__(self, other: _Element | float16_t, /) -> Self: ...
    def __mul__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __rmul__(self, other: _Element | float16_t, /) -> Self: ...
    def __truediv__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __rtruediv__(self, other: _Element | float16_t, /) -> Self: ...
    def __floordiv__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __rfloordiv__(self, other: _Element | float16_t, /) -> Self: ...
    def __mod__(self, other: Self | _Element | float16_t, /) -> Self: ...
    def __rmod__(self, other: _Element | float16_t, /) -> Self: ...
    def __iadd__(self, other: Self | _Element | float16_t | Sequence[_Element], /) -> Self: ...
    def __isub__(self, other: Self | _Element | float16_t | Sequence[_Element], /) -> Self: ...
    def __imul__(self, other: Self | _Element | float16_t | Sequence[_Element], /) -> Self: ...
    def __itruediv__(self, other: Self | _Element | float16_t | Sequence[_Element], /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...

class _IntVector(_Numbers[int, _Bools], Generic[_Bools]):
    def __and__(self, other: Self | int, /) -> Self: ...
    def __rand__(self, other: int, /) -> Self: ...
    def __or__(self, other: Self | int, /) -> Self: ...
    def __ror__(self, other: int, /) -> Self: ...
    def __xor__(self, other: Self | int, /) -> Self: ...
    def __rxor__(self, other: int, /) -> Self: ...
    def __lshift__(self, other: Self | int, /) -> Self: ...
    def __rlshift__(self, other: int, /) -> Self: ...
    def __rshift__(self, other: Self | int, /) -> Self: ...
    def __rrshift__(self, other: int, /) -> Self: ...
    def __imod__(self, other: Self | int | float16_t, /) -> Self: ...
    def __iand__(self, other: Self | int | Sequence[int], /) -> Self: ...
    def __ior__(self, other: Self | int | Sequence[int], /) -> Self: ...
    def __ixor__(self, other: Self | int | Sequence[int], /) -> Self: ...
    def __ilshift__(self, other: Self | int | Sequence[int], /) -> Self: ...
    def __irshift__(self, other: Self | int | Sequence[int], /) -> Self: ...
    def __invert__(self) -> Self: ...

class _FloatVector(_Numbers[float, _Bools], Generic[_Bools, _Row]):
    def __matmul__(self, other: _Matrix[Any, Any], /) -> Any: ...
    def __rmatmul__(self, other: _Matrix[Any, Any], /) -> Any: ...

class _Matrix(_Items[float], Generic[_Row, _Column]):
    def __new__(cls, *components: Any) -> Self: ...
    @property
    def shape(self) -> tuple[int, int]:
        """The sizes of the dimensions: (rows, columns)."""
    @classmethod
    def identity(cls) -> Self:
        """Ones on the diagonal."""
    @classmethod
    def zeros(cls) -> Self:
        """Zero everywhere."""
    def get_row(self, row: SupportsIndex, /) -> _Row:
        """A row as a new vector, as m[row]."""
    def set_row(self, row: SupportsIndex, value: _Row | Sequence[float] | Buffer | NDArray[Any], /) -> None:
        """Writes a row from a vector or sequence, as m[row] = value."""
    def get_col(self, col: SupportsIndex, /) -> _Column:
        """A column as a new vector."""
    def set_col(self, col: SupportsIndex, value: _Column | Sequence[float] | Buffer | NDArray[Any], /) -> None:
        """Writes a column from a vector or sequence."""
    def __iter__(self) -> Iterator[_Row]: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> _Row: ...
    @overload
    def __getitem__(self, index: tuple[SupportsIndex, SupportsIndex], /) -> float: ...
    @overload
    def __setitem__(self, index: SupportsIndex, value: _Row | Sequence[float] | Buffer | NDArray[Any], /) -> None: ...
    @overload
    def __setitem__(self, index: tuple[SupportsIndex, SupportsIndex], value: float, /) -> None: ...
    def __delitem__(self, index: SupportsIndex, /) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __add__(self, other: Self | float, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __mul__(self, other: float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __truediv__(self, other: float, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __floordiv__(self, other: float, /) -> Self: ...
    def __rfloordiv__(self, other: float, /) -> Self: ...
    def __mod__(self, other: float, /) -> Self: ...
    def __rmod__(self, other: float, /) -> Self: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...

@final
class float16_t(_Value):
    """A number in 16 bits (IEEE 754 half), rounded to nearest even. It cannot be changed."""

    def __new__(cls, value: SupportsFloat = 0, /) -> Self: ...
    @property
    def shape(self) -> tuple[()]:
        """The sizes of the dimensions: none."""
    @property
    def element_type(self) -> type[float]:
        """Python type of a component: float."""
    def __bool__(self) -> bool: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Self | float, /) -> bool: ...
    def __le__(self, other: Self | float, /) -> bool: ...
    def __gt__(self, other: Self | float, /) -> bool: ...
    def __ge__(self, other: Self | float, /) -> bool: ...
    def __add__(self, other: Self | float, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __floordiv__(self, other: Self | float, /) -> Self: ...
    def __rfloordiv__(self, other: float, /) -> Self: ...
    def __mod__(self, other: Self | float, /) -> Self: ...
    def __rmod__(self, other: float, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...

@final
class quatf(_Items[float]):
    """A quaternion of float x, y, z (the vector part) and w. Without arguments it is the identity."""

    x: float
    y: float
    z: float
    w: float
    def __new__(cls, *components: float | Sequence[float] | Buffer | NDArray[Any], **named: float) -> Self: ...
    @property
    def shape(self) -> tuple[int]:
        """The sizes of the dimensions: (4,)."""
    @classmethod
    def identity(cls) -> Self:
        """The rotation by nothing: (0, 0, 0, 1)."""
    def __iter__(self) -> Iterator[float]: ...
    def __getitem__(self, index: SupportsIndex, /) -> float: ...
    def __setitem__(self, index: SupportsIndex, value: float, /) -> None: ...
    def __delitem__(self, index: SupportsIndex, /) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __add__(self, other: Self | float, /) -> Self: ...
    def __radd__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: float, /) -> Self: ...
    def __mul__(self, other: float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def __truediv__(self, other: float, /) -> Self: ...
    def __rtruediv__(self, other: float, /) -> Self: ...
    def __floordiv__(self, other: float, /) -> Self: ...
    def __rfloordiv__(self, other: float, /) -> Self: ...
    def __mod__(self, other: float, /) -> Self: ...
    def __rmod__(self, other: float, /) -> Self: ...
    @overload
    def __matmul__(self, other: quatf, /) -> quatf: ...
    @overload
    def __matmul__(self, other: float3, /) -> float3: ...
    def __rmatmul__(self, other: quatf, /) -> quatf: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...

@final
class bool1(_BoolVector):
    """A vector of 1 component of type bool; v.xy, v.bgr and the like make new vectors."""

    x: bool
    r: bool

@final
class bool2(_BoolVector):
    """A vector of 2 components of type bool; v.xy, v.bgr and the like make new vectors."""

    x: bool
    y: bool
    r: bool
    g: bool

@final
class bool3(_BoolVector):
    """A vector of 3 components of type bool; v.xy, v.bgr and the like make new vectors."""

    x: bool
    y: bool
    z: bool
    r: bool
    g: bool
    b: bool

@final
class bool4(_BoolVector):
    """A vector of 4 components of type bool; v.xy, v.bgr and the like make new vectors."""

    x: bool
    y: bool
    z: bool
    w: bool
    r: bool
    g: bool
    b: bool
    a: bool

@final
class int1(_IntVector[bool1]):
    """A vector of 1 component of type int; v.xy, v.bgr and the like make new vectors."""

    x: int
    r: int

@final
class int2(_IntVector[bool2]):
    """A vector of 2 components of type int; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    r: int
    g: int

@final
class int3(_IntVector[bool3]):
    """A vector of 3 components of type int; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    z: int
    r: int
    g: int
    b: int

@final
class int4(_IntVector[bool4]):
    """A vector of 4 components of type int; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    z: int
    w: int
    r: int
    g: int
    b: int
    a: int

@final
class uint1(_IntVector[bool1]):
    """A vector of 1 component of type uint; v.xy, v.bgr and the like make new vectors."""

    x: int
    r: int

@final
class uint2(_IntVector[bool2]):
    """A vector of 2 components of type uint; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    r: int
    g: int

@final
class uint3(_IntVector[bool3]):
    """A vector of 3 components of type uint; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    z: int
    r: int
    g: int
    b: int

@final
class uint4(_IntVector[bool4]):
    """A vector of 4 components of type uint; v.xy, v.bgr and the like make new vectors."""

    x: int
    y: int
    z: int
    w: int
    r: int
    g: int
    b: int
    a: int

@final
class float1(_FloatVector[bool1, Any]):
    """A vector of 1 component of type float; v.xy, v.bgr and the like make new vectors."""

    x: float
    r: float

@final
class float2(_FloatVector[bool2, Any]):
    """A vector of 2 components of type float; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    r: float
    g: float

@final
class float3(_FloatVector[bool3, Any]):
    """A vector of 3 components of type float; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    r: float
    g: float
    b: float

@final
class float4(_FloatVector[bool4, Any]):
    """A vector of 4 components of type float; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    w: float
    r: float
    g: float
    b: float
    a: float

@final
class float16_t1(_FloatVector[bool1, Any]):
    """A vector of 1 component of type float16_t; v.xy, v.bgr and the like make new vectors."""

    x: float
    r: float

@final
class float16_t2(_FloatVector[bool2, Any]):
    """A vector of 2 components of type float16_t; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    r: float
    g: float

@final
class float16_t3(_FloatVector[bool3, Any]):
    """A vector of 3 components of type float16_t; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    r: float
    g: float
    b: float

@final
class float16_t4(_FloatVector[bool4, Any]):
    """A vector of 4 components of type float16_t; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    w: float
    r: float
    g: float
    b: float
    a: float

@final
class double1(_FloatVector[bool1, Any]):
    """A vector of 1 component of type double; v.xy, v.bgr and the like make new vectors."""

    x: float
    r: float

@final
class double2(_FloatVector[bool2, Any]):
    """A vector of 2 components of type double; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    r: float
    g: float

@final
class double3(_FloatVector[bool3, Any]):
    """A vector of 3 components of type double; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    r: float
    g: float
    b: float

@final
class double4(_FloatVector[bool4, Any]):
    """A vector of 4 components of type double; v.xy, v.bgr and the like make new vectors."""

    x: float
    y: float
    z: float
    w: float
    r: float
    g: float
    b: float
    a: float

@final
class float2x2(_Matrix[float2, float2]):
    """A matrix of 2 rows and 2 columns of float, packed by rows."""

@final
class float2x3(_Matrix[float3, float2]):
    """A matrix of 2 rows and 3 columns of float, packed by rows."""

@final
class float2x4(_Matrix[float4, float2]):
    """A matrix of 2 rows and 4 columns of float, packed by rows."""

@final
class float3x2(_Matrix[float2, float3]):
    """A matrix of 3 rows and 2 columns of float, packed by rows."""

@final
class float3x3(_Matrix[float3, float3]):
    """A matrix of 3 rows and 3 columns of float, packed by rows."""

@final
class float3x4(_Matrix[float4, float3]):
    """A matrix of 3 rows and 4 columns of float, packed by rows."""

@final
class float4x2(_Matrix[float2, float4]):
    """A matrix of 4 rows and 2 columns of float, packed by rows."""

@final
class float4x3(_Matrix[float3, float4]):
    """A matrix of 4 rows and 3 columns of float, packed by rows."""

@final
class float4x4(_Matrix[float4, float4]):
    """A matrix of 4 rows and 4 columns of float, packed by rows."""

_Real = float1 | float2 | float3 | float4 | double1 | double2 | double3 | double4 | float16_t1 | float16_t2 | float16_t3 | float16_t4 | float16_t | _Matrix[Any, Any]
_Integer = int1 | int2 | int3 | int4 | uint1 | uint2 | uint3 | uint4
_F = TypeVar("_F", bound=_Real)
_FV = TypeVar("_FV", bound=_FloatVector[Any, Any])
_FQ = TypeVar("_FQ", bound=_FloatVector[Any, Any] | quatf)
_Q = TypeVar("_Q", bound=_Real | quatf)
_N = TypeVar("_N", bound=_Real | _Integer)
_V = TypeVar("_V", bound=_Numbers[Any, Any])
_Float3 = float3 | Sequence[float] | Buffer | NDArray[Any]

class Handedness(IntEnum):
    """The direction of a view: along -z (right_handed) or along +z (left_handed)."""

    right_handed = 0
    left_handed = 1

_T = TypeVar("_T", bound=_Matrix[Any, Any] | quatf)

@overload
def abs(x: int) -> int: ...
@overload
def abs(x: float) -> float: ...
@overload
def abs(x: _N) -> _N:
    """The value without its sign."""

@overload
def acos(x: float) -> float: ...
@overload
def acos(x: _F) -> _F:
    """The angle in radians, 0 to pi, whose cosine is x."""

def all(x: _Vector[Any, Any]) -> bool:
    """Whether no component is zero."""

def any(x: _Vector[Any, Any]) -> bool:
    """Whether a component is not zero."""

def asfloat(x: Any) -> Any:
    """The bits of int, uint or float as float."""

@overload
def asin(x: float) -> float: ...
@overload
def asin(x: _F) -> _F:
    """The angle in radians, -pi/2 to pi/2, whose sine is x."""

def eq(x: Any, y: Any) -> Any:
    """Whether x == y, by component, as bool or bool vector."""

def ge(x: Any, y: Any) -> Any:
    """Whether x >= y, by component, as bool or bool vector."""

def gt(x: Any, y: Any) -> Any:
    """Whether x > y, by component, as bool or bool vector."""

def le(x: Any, y: Any) -> Any:
    """Whether x <= y, by component, as bool or bool vector."""

def lt(x: Any, y: Any) -> Any:
    """Whether x < y, by component, as bool or bool vector."""

def ne(x: Any, y: Any) -> Any:
    """Whether x != y, by component, as bool or bool vector."""

def none(x: _Vector[Any, Any]) -> bool:
    """Whether no component differs from zero."""

def select(condition: _Vector[bool, Any] | bool, true_value: Any, false_value: Any) -> Any:
    """true_value's component where the condition is true, otherwise false_value's."""

def asfloat16(x: int) -> float16_t:
    """The float16_t with the given 16 bits."""

def asuint16(x: float16_t | float) -> int:
    """The 16 bits of a float16_t as an int."""

def f16tof32(x: Any) -> Any:
    """The float that equals the half in the low 16 bits of x."""

def f32tof16(x: Any) -> Any:
    """The 16 bits of x converted to half."""

def matrix_4x4_from_3x4(m: float3x4) -> float4x4:
    """The float3x4 m with the row 0, 0, 0, 1 below it."""

def translate_2d(m: float3x3, v: Any) -> float3x3:
    """The matrix m @ matrix_from_translation_2d(v)."""

def scale_2d(m: float3x3, v: Any) -> float3x3:
    """The matrix m @ matrix_from_scaling_2d(v)."""

def rotate_2d(m: float3x3, angle: float) -> float3x3:
    """The matrix m @ matrix_from_rotation_2d(angle)."""

def matrix_from_translation_2d(v: Any) -> float3x3:
    """The translation by a float2 as float3x3."""

def matrix_from_scaling_2d(v: Any) -> float3x3:
    """The scaling by a float2 as float3x3."""

def matrix_from_rotation_2d(angle: float) -> float3x3:
    """The rotation of the plane by `angle` radians as float3x3."""

def decompose(model_matrix: float4x4, scale: float3, orientation: quatf, translation: float3, skew: float3, perspective: float4) -> bool:
    """Splits an affine float4x4 and writes the parts into the values given: scale, translation and skew are float3, orientation is a
    quatf, perspective a float4. Returns False and writes nothing if the matrix is not affine or has no inverse."""

def asint(x: Any) -> Any:
    """The bits of float, uint or int as int."""

def asuint(x: Any) -> Any:
    """The bits of float, int or uint as uint."""

@overload
def atan(x: float) -> float: ...
@overload
def atan(x: _F) -> _F:
    """The angle in radians, -pi/2 to pi/2, whose tangent is x."""

@overload
def atan2(y: float, x: float) -> float: ...
@overload
def atan2(y: _F, x: _F | float) -> _F: ...
@overload
def atan2(y: float, x: _F) -> _F: ...

@overload
def ceil(x: float) -> float: ...
@overload
def ceil(x: _F) -> _F:
    """The smallest whole number that is not below x."""

@overload
def clamp(x: int, min: int, max: int) -> int: ...
@overload
def clamp(x: float, min: float, max: float) -> float: ...
@overload
def clamp(x: _N, min: _N | float, max: _N | float) -> _N: ...
@overload
def clamp(x: float, min: _N, max: _N | float) -> _N: ...
@overload
def clamp(x: float, min: float, max: _N) -> _N: ...

def conjugate(x: quatf) -> quatf:
    """The quaternion with its vector part negated."""

@overload
def cos(x: float) -> float: ...
@overload
def cos(x: _F) -> _F:
    """Cosine of an angle in radians."""

@overload
def cosh(x: float) -> float: ...
@overload
def cosh(x: _F) -> _F:
    """Hyperbolic cosine."""

def cross(x: _V, y: _V) -> _V:
    """The cross product of two vectors of 3 components; of two quaternions their product."""

@overload
def degrees(x: float) -> float: ...
@overload
def degrees(x: _F) -> _F:
    """The angle x converted from radians to degrees."""

def determinant(x: _Matrix[Any, Any]) -> float:
    """The determinant of a square matrix."""

def distance(x: _FV, y: _FV) -> float:
    """The length of y - x."""

def dot(x: Any, y: Any) -> Any:
    """The sum of products of two vectors or quaternions of one type; OverflowError if integers are out of range."""

def euler_angles(x: quatf) -> float3:
    """(pitch, yaw, roll) of a unit quaternion as float3, the inverse of quat_from_euler_angles."""

@overload
def exp(x: float) -> float: ...
@overload
def exp(x: _F) -> _F:
    """e to the power of x."""

@overload
def exp2(x: float) -> float: ...
@overload
def exp2(x: _F) -> _F:
    """2 to the power of x."""

def extract_euler_angle_xyz(m: float3x3 | float4x4) -> float3:
    """The angles of matrix_from_rotation_xyz as float3, from a float3x3 or float4x4."""

@overload
def floor(x: float) -> float: ...
@overload
def floor(x: _F) -> _F:
    """The largest whole number that is not above x."""

@overload
def fmod(x: float, y: float) -> float: ...
@overload
def fmod(x: _F, y: _F | float) -> _F: ...
@overload
def fmod(x: float, y: _F) -> _F: ...

@overload
def frac(x: float) -> float: ...
@overload
def frac(x: _F) -> _F:
    """x - floor(x)."""

def inverse(x: _T) -> _T:
    """The inverse of a square matrix or quaternion; ValueError if a matrix has none."""

@overload
def isfinite(x: _FloatVector[_Bools, Any]) -> _Bools: ...
@overload
def isfinite(x: float16_t | float) -> bool: ...

@overload
def isinf(x: _FloatVector[_Bools, Any]) -> _Bools: ...
@overload
def isinf(x: float16_t | float) -> bool: ...

@overload
def isnan(x: _FloatVector[_Bools, Any]) -> _Bools: ...
@overload
def isnan(x: float16_t | float) -> bool: ...

def length(x: _FloatVector[Any, Any] | quatf) -> float:
    """The Euclidean length of a float vector or quaternion."""

@overload
def lerp(x: float, y: float, s: float) -> float: ...
@overload
def lerp(x: _Q, y: _Q | float, s: _Q | float) -> _Q: ...
@overload
def lerp(x: float, y: _Q, s: _Q | float) -> _Q: ...
@overload
def lerp(x: float, y: float, s: _Q) -> _Q: ...

@overload
def log(x: float) -> float: ...
@overload
def log(x: _F) -> _F:
    """Natural logarithm."""

@overload
def log10(x: float) -> float: ...
@overload
def log10(x: _F) -> _F:
    """Logarithm to base 10."""

@overload
def log2(x: float) -> float: ...
@overload
def log2(x: _F) -> _F:
    """Logarithm to base 2."""

def matrix_from_look_at(eye: _Float3, center: _Float3, up: _Float3, handedness: int | str = 0) -> float4x4:
    """The view matrix (float4x4) of a camera at `eye` that looks to `center`, which lies on -z, or on +z if handedness is
    Handedness.left_handed. ValueError if `up` is parallel to that direction."""

def matrix_from_quat(q: quatf) -> float3x3:
    """The rotation of a unit quaternion as float3x3."""

def matrix_from_rotation(angle: float, axis: _Float3) -> float4x4:
    """The rotation by `angle` radians about `axis` (float3, of any length) as float4x4."""

def matrix_from_rotation_x(angle: float) -> float4x4:
    """The rotation by `angle` radians about x as float4x4."""

def matrix_from_rotation_xyz(angle_x: float | _Float3, angle_y: float | None = None, angle_z: float | None = None) -> float4x4:
    """The product X @ Y @ Z of rotations as float4x4, from three angles in radians or one float3."""

def matrix_from_rotation_y(angle: float) -> float4x4:
    """The rotation by `angle` radians about y as float4x4."""

def matrix_from_rotation_z(angle: float) -> float4x4:
    """The rotation by `angle` radians about z as float4x4."""

def matrix_from_scaling(v: _Float3) -> float4x4:
    """The scaling by a float3 as float4x4."""

def matrix_from_translation(v: _Float3) -> float4x4:
    """The translation by a float3 as float4x4."""

@overload
def max(x: int, y: int) -> int: ...
@overload
def max(x: float, y: float) -> float: ...
@overload
def max(x: _N, y: _N | float) -> _N: ...
@overload
def max(x: float, y: _N) -> _N: ...

@overload
def min(x: int, y: int) -> int: ...
@overload
def min(x: float, y: float) -> float: ...
@overload
def min(x: _N, y: _N | float) -> _N: ...
@overload
def min(x: float, y: _N) -> _N: ...

def mul(x: Any, y: Any) -> Any:
    """The product of matrices, of a matrix and a column vector, of a row vector and a matrix, or of quaternions; a quaternion times a
    float3 rotates it. TypeError if the sizes do not fit."""

def normalize(x: _FQ) -> _FQ:
    """x / length(x); NaN for the length 0."""

def ortho(left: float, right: float, bottom: float, top: float, z_near: float, z_far: float) -> float4x4:
    """The orthographic projection as float4x4: x and y to -1 .. 1, z from -z_near .. -z_far to 0 .. 1."""

def perspective(fovy: float, aspect: float, z_near: float, z_far: float) -> float4x4:
    """The perspective projection as float4x4: fovy in radians from bottom to top, aspect width / height, z from -z_near .. -z_far to 0 .. 1."""

def pitch(x: quatf) -> float:
    """The Euler angle about x of a unit quaternion."""

@overload
def pow(x: float, y: float) -> float: ...
@overload
def pow(x: _F, y: _F | float) -> _F: ...
@overload
def pow(x: float, y: _F) -> _F: ...

def quat_from_angle_axis(angle: float, axis: _Float3) -> quatf:
    """The rotation by `angle` radians about `axis` (float3, of any length)."""

def quat_from_euler_angles(angles: _Float3) -> quatf:
    """The rotation about x, then y, then z by a float3 of radians."""

def quat_from_look_at(dir: _Float3, up: _Float3, handedness: int | str = 0) -> quatf:
    """The rotation that turns -z (+z if handedness is Handedness.left_handed) to `dir` and y towards `up`."""

def quat_from_matrix(m: float3x3 | float4x4) -> quatf:
    """The quaternion of a rotation matrix, float3x3 or the upper left of a float4x4."""

def quat_from_rotation_between_vectors(from_: _Float3, to: _Float3) -> quatf:
    """The shortest rotation that turns the direction `from_` to `to`."""

@overload
def radians(x: float) -> float: ...
@overload
def radians(x: _F) -> _F:
    """The angle x converted from degrees to radians."""

@overload
def rcp(x: float) -> float: ...
@overload
def rcp(x: _F) -> _F:
    """1 / x."""

def reflect(i: _FV, n: _FV) -> _FV:
    """The direction i reflected at a surface with the unit normal n."""

def refract(i: _FV, n: _FV, eta: float) -> _FV:
    """The unit direction i refracted at the unit normal n, eta the ratio of the indices; zero at total reflection."""

def roll(x: quatf) -> float:
    """The Euler angle about z of a unit quaternion."""

def rotate(m: float4x4, angle: float, axis: _Float3) -> float4x4:
    """The matrix m @ matrix_from_rotation(angle, axis)."""

@overload
def round(x: float) -> float: ...
@overload
def round(x: _F) -> _F:
    """The nearest whole number, halves to even."""

@overload
def rsqrt(x: float) -> float: ...
@overload
def rsqrt(x: _F) -> _F:
    """1 / sqrt(x)."""

@overload
def saturate(x: float) -> float: ...
@overload
def saturate(x: _F) -> _F:
    """x clamped to 0 .. 1."""

def scale(m: float4x4, v: _Float3) -> float4x4:
    """The matrix m @ matrix_from_scaling(v)."""

@overload
def sign(x: int) -> int: ...
@overload
def sign(x: float) -> float: ...
@overload
def sign(x: _N) -> _N:
    """-1, 0 or 1 for x below, equal to or above zero, in the type of x."""

@overload
def sin(x: float) -> float: ...
@overload
def sin(x: _F) -> _F:
    """Sine of an angle in radians."""

@overload
def sinh(x: float) -> float: ...
@overload
def sinh(x: _F) -> _F:
    """Hyperbolic sine."""

def slerp(x: quatf, y: quatf, s: float) -> quatf:
    """The rotation between two unit quaternions, for s from 0 to 1, at constant speed and along the shorter arc."""

@overload
def smoothstep(min: float, max: float, x: float) -> float: ...
@overload
def smoothstep(min: _F, max: _F | float, x: _F | float) -> _F: ...
@overload
def smoothstep(min: float, max: _F, x: _F | float) -> _F: ...
@overload
def smoothstep(min: float, max: float, x: _F) -> _F: ...

@overload
def sqrt(x: float) -> float: ...
@overload
def sqrt(x: _F) -> _F:
    """Square root; NaN below zero."""

@overload
def step(x: float, y: float) -> float: ...
@overload
def step(x: _F, y: _F | float) -> _F: ...
@overload
def step(x: float, y: _F) -> _F: ...

@overload
def tan(x: float) -> float: ...
@overload
def tan(x: _F) -> _F:
    """Tangent of an angle in radians."""

@overload
def tanh(x: float) -> float: ...
@overload
def tanh(x: _F) -> _F:
    """Hyperbolic tangent."""

def transform_point(m: float4x4, v: _Float3) -> float3:
    """The float3 v as a point moved by a float4x4: with w = 1 and without a division by the new w."""

def transform_vector(m: float3x3 | float4x4 | quatf, v: _Float3) -> float3:
    """The float3 v as a direction turned by a float3x3, a float4x4 (with w = 0) or a unit quaternion."""

def translate(m: float4x4, v: _Float3) -> float4x4:
    """The matrix m @ matrix_from_translation(v)."""

def transpose(x: _Matrix[Any, Any]) -> Any:
    """The matrix with rows and columns exchanged."""

@overload
def trunc(x: float) -> float: ...
@overload
def trunc(x: _F) -> _F:
    """x without its fraction."""

def yaw(x: quatf) -> float:
    """The Euler angle about y of a unit quaternion."""

