"""DataStruct describes the fields of a record in memory, and DataStructConverter turns records of one kind into another by numpy."""
from __future__ import annotations

import sys

from ._slangpy import ArgumentTypeError, ArgumentValueError, IndexOutOfRangeError, NameNotFoundError
from .enums import _IntEnum, _IntFlag, _lines
from .objects import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, overload, TypeAlias

    from numpy.typing import NDArray

__all__ = ["DataStruct", "DataStructConverter"]


class _Type(_IntEnum):
    """The type of a field of a DataStruct, or of the components of a Bitmap."""

    int8 = 0
    int16 = 1
    int32 = 2
    int64 = 3
    uint8 = 4
    uint16 = 5
    uint32 = 6
    uint64 = 7
    float16 = 8
    float32 = 9
    float64 = 10


class _Flags(_IntFlag):
    """What the numbers of a field mean, and whether it may be missing in the source of a conversion."""

    none = 0
    normalized = 1
    srgb_gamma = 2
    default = 4


class _ByteOrder(_IntEnum):
    """The order of the bytes of a number."""

    little_endian = 0
    big_endian = 1
    host = 2


class _Field:
    """A field of a DataStruct. `blend` is a list of (weight, name): when records are converted, the field is that sum of the source's
    fields."""

    def __init__(self, name: str = "", type: _Type = _Type.int8, flags: _Flags | int = _Flags.none, size: int = 0, offset: int = 0,
                 default_value: float = 0.0, blend: Sequence[tuple[float, str]] = ()) -> None:
        self.name, self.type, self.flags = name, _Type(type), _Flags(flags)
        self.size, self.offset, self.default_value = size or _SIZES[self.type], offset, float(default_value)
        self.blend: list[tuple[float, str]] = [(float(weight), source) for weight, source in blend]

    def is_integer(self) -> bool:
        """is_integer(): returns whether its type is an integer."""
        return self.type < _Type.float16

    def is_unsigned(self) -> bool:
        """is_unsigned(): returns whether its type is an unsigned integer."""
        return _Type.uint8 <= self.type <= _Type.uint64

    def is_signed(self) -> bool:
        """is_signed(): returns whether its type has a sign."""
        return not self.is_unsigned()

    def is_float(self) -> bool:
        """is_float(): returns whether its type is a floating point number."""
        return self.type >= _Type.float16

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Field) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        flags = [f for f in ("normalized", "srgb_gamma", "default") if self.flags & _Flags[f]]
        return 'Field(name="{}", type={}, flags={}, size={}, offset={})'.format(
            self.name, self.type.name, "({})".format(" | ".join(flags)) if len(flags) > 1 else flags[0] if flags else "none", self.size, self.offset)


for _class in (_Type, _Flags, _ByteOrder, _Field):  # the classes are shown under their public names
    _class.__name__ = _class.__name__[1:]
    _class.__qualname__ = "DataStruct." + _class.__name__
del _class
_SIZES = {t: int(t.name.lstrip("uintfloa")) // 8 for t in _Type}


class DataStruct(Object):
    """DataStruct(pack=False, byte_order=host): the fields of a record, in the order of their offsets. Without `pack` each field is aligned
    to its size and the record to its largest field."""

    Type: TypeAlias = _Type
    Flags: TypeAlias = _Flags
    ByteOrder: TypeAlias = _ByteOrder
    Field: TypeAlias = _Field

    def __init__(self, pack: bool = False, byte_order: _ByteOrder = _ByteOrder.host) -> None:
        order = _ByteOrder(byte_order)
        self._pack = bool(pack)
        self._order = order if order != _ByteOrder.host else _ByteOrder.little_endian if sys.byteorder == "little" else _ByteOrder.big_endian
        self._fields: list[_Field] = []

    if TYPE_CHECKING:

        @overload
        def append(self, field: _Field) -> DataStruct: ...
        @overload
        def append(self, name: str, type: _Type, flags: _Flags | int = ..., default_value: float = 0.0,
                   blend: Sequence[tuple[float, str]] = ...) -> DataStruct: ...

    def append(self, *args: Any, **kwargs: Any) -> DataStruct:
        """append(name, type, flags=0, default_value=0, blend=[]) or append(field): adds a field behind the last one, at the next offset
        that its alignment allows, and returns the struct itself."""
        field = kwargs.get("field", args[0] if args else None)
        if isinstance(field, _Field):
            if len(args) + len(kwargs) > 1:
                raise TypeError("DataStruct.append: a Field comes alone")
            new = _Field(field.name, field.type, field.flags, 0, 0, field.default_value, field.blend)
        else:
            new = _new_field(*args, **kwargs)
        if self.has_field(new.name):
            raise ArgumentValueError("DataStruct.append: there is a field '{}' already".format(new.name))
        end = self._fields[-1].offset + self._fields[-1].size if self._fields else 0
        new.offset = end if self._pack else _aligned(end, new.size)
        self._fields.append(new)
        return self

    def has_field(self, name: str) -> bool:
        """has_field(name): returns whether there is a field of that name."""
        return any(field.name == name for field in self._fields)

    def field(self, name: str) -> _Field:
        """field(name): returns the field of that name."""
        for field in self._fields:
            if field.name == name:
                return field
        raise NameNotFoundError("DataStruct has no field '{}'; its fields are: {}".format(name, ", ".join(f.name for f in self._fields) or "none"))

    def __getitem__(self, index: int) -> _Field:
        if not -len(self._fields) <= index < len(self._fields):
            raise IndexOutOfRangeError("index {} is out of range: the DataStruct has {} fields".format(index, len(self._fields)))
        return self._fields[index]

    def __len__(self) -> int:
        return len(self._fields)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[_Field]:
        return iter(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataStruct) and (self._pack, self._order, self._fields) == (other._pack, other._order, other._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = "[\n{}]".format("".join("  {!r},\n".format(f) for f in self._fields))
        return _lines("DataStruct", pack=self._pack, byte_order=self.byte_order, fields=fields, size=self.size, alignment=self.alignment)

    @property
    def size(self) -> int:
        """The bytes of a record, with the padding at its end."""
        return _aligned(self._fields[-1].offset + self._fields[-1].size, self.alignment) if self._fields else 0

    @property
    def alignment(self) -> int:
        """The alignment of a record in bytes; 1 for packed structs."""
        return 1 if self._pack else max((field.size for field in self._fields), default=1)

    @property
    def byte_order(self) -> _ByteOrder:
        """The order of the bytes of its numbers: little_endian or big_endian."""
        return self._order

    @staticmethod
    def type_size(type: _Type) -> int:
        """type_size(type): returns the bytes of a number of that type."""
        return _SIZES[_Type(type)]

    @staticmethod
    def type_range(type: _Type) -> tuple[float, float]:
        """type_range(type): returns the lowest and the highest finite number of that type."""
        import numpy as np

        name = _Type(type).name
        info: Any = np.finfo(name) if name.startswith("f") else np.iinfo(name)
        return float(info.min), float(info.max)

    @staticmethod
    def is_integer(type: _Type) -> bool:
        """is_integer(type): returns whether the type is an integer."""
        return _Field(type=type).is_integer()

    @staticmethod
    def is_unsigned(type: _Type) -> bool:
        """is_unsigned(type): returns whether the type is an unsigned integer."""
        return _Field(type=type).is_unsigned()

    @staticmethod
    def is_signed(type: _Type) -> bool:
        """is_signed(type): returns whether the type has a sign."""
        return _Field(type=type).is_signed()

    @staticmethod
    def is_float(type: _Type) -> bool:
        """is_float(type): returns whether the type is a floating point number."""
        return _Field(type=type).is_float()


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _new_field(name, type, flags=0, default_value=0.0, blend=()):
    if not isinstance(name, str):
        raise ArgumentTypeError("DataStruct.append: 'name': expected a str or a DataStruct.Field, got {}".format(name.__class__.__name__))
    return _Field(name, type, flags, 0, 0, default_value, blend)


class DataStructConverter(Object):
    """DataStructConverter(src, dst): converts records of the struct `src` into records of the struct `dst`.

    Fields are matched by name; a field with `blend` is a weighted sum of source fields; one that the source lacks takes its
    default_value if it has the flag `default`, else it is an error. Normalized integers stand for 0 to 1 (signed ones for -1 to 1).
    Values are linear in between: fields with the flag srgb_gamma are decoded and encoded. Integers are rounded and clamped to their range.
    """

    def __init__(self, src: DataStruct, dst: DataStruct) -> None:
        for name, value in (("src", src), ("dst", dst)):
            if not isinstance(value, DataStruct):
                raise ArgumentTypeError("DataStructConverter: '{}': expected a DataStruct, got {}".format(name, type(value).__name__))
        self._src, self._dst = src, dst
        for field in dst:
            for source in [s for _, s in field.blend] or [field.name]:
                if not src.has_field(source) and (field.blend or not field.flags & _Flags.default):
                    raise ArgumentValueError("DataStructConverter: the source has no field '{}', which '{}' of the destination needs; its fields "
                                             "are: {}".format(source, field.name, ", ".join(f.name for f in src) or "none"))

    @property
    def src(self) -> DataStruct:
        """The struct of the source records."""
        return self._src

    @property
    def dst(self) -> DataStruct:
        """The struct of the destination records."""
        return self._dst

    def convert(self, input: bytes) -> bytes:
        """convert(input): returns the records of `input`, which are bytes of the struct `src`, as bytes of the struct `dst`. Padding is 0."""
        import numpy as np

        data = np.frombuffer(input, np.uint8)
        if not self._src.size or data.size % self._src.size:
            raise ArgumentValueError("DataStructConverter.convert: expected a multiple of {} bytes, the size of a source record, got {}".format(
                self._src.size, data.size))
        records = data.reshape(-1, self._src.size)
        result = np.zeros((len(records), self._dst.size), np.uint8)

        def load(field: _Field) -> NDArray[Any]:
            raw = np.ascontiguousarray(records[:, field.offset:field.offset + field.size])
            values = raw.view(_dtype(field.type, self._src.byte_order))[:, 0]
            return values.astype(values.dtype.newbyteorder("="), copy=False)

        for field in self._dst:
            plain = _Flags.normalized | _Flags.srgb_gamma
            if field.blend:
                values = encoded(sum(weight * linear(load(f), f.flags, np.float64) for weight, f in
                                     ((w, self._src.field(s)) for w, s in field.blend)), field.type, field.flags)
            elif not self._src.has_field(field.name):
                values = encoded(np.full(len(records), field.default_value), field.type, field.flags)
            else:
                source = self._src.field(field.name)
                values = load(source)
                if (source.type, source.flags & plain) != (field.type, field.flags & plain):
                    whole = source.is_integer() and field.is_integer() and not (source.flags | field.flags) & plain
                    values = clamped(values, field.type) if whole else encoded(linear(values, source.flags, np.float64), field.type, field.flags)
            values = np.ascontiguousarray(values.astype(_dtype(field.type, self._dst.byte_order)))
            result[:, field.offset:field.offset + field.size] = values.view(np.uint8).reshape(len(records), field.size)
        return result.tobytes()


# >>numbers: from what a field holds to linear values, and back; Bitmap uses these, too


def _dtype(type: _Type, order: _ByteOrder) -> Any:
    import numpy as np

    return np.dtype(type.name).newbyteorder("<" if order == _ByteOrder.little_endian else ">")


# Source: IEC 61966-2-1, the transfer function of sRGB, mirrored for negative values.
def srgb_to_linear(values: Any) -> Any:
    """Returns the linear values of an array of sRGB values, in the array's type."""
    import numpy as np

    size = np.abs(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.copysign(np.where(size <= 0.04045, size / 12.92, ((size + 0.055) / 1.055) ** 2.4), values).astype(values.dtype)


def linear_to_srgb(values: Any) -> Any:
    """Returns the sRGB values of an array of linear values, in the array's type."""
    import numpy as np

    size = np.abs(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.copysign(np.where(size <= 0.0031308, size * 12.92, 1.055 * size ** (1 / 2.4) - 0.055), values).astype(values.dtype)


def linear(values: Any, flags: int, dtype: Any) -> Any:
    """Returns the linear values that the numbers of a field stand for, as an array of the float type `dtype`."""
    import numpy as np

    if values.dtype.kind == "u" and values.dtype.itemsize <= 2 and values.size > 1 << 8 * values.dtype.itemsize:
        return linear(np.arange(1 << 8 * values.dtype.itemsize, dtype=values.dtype), flags, np.float64).astype(dtype)[values]
    result = values.astype(dtype)
    if values.dtype.kind in "iu" and flags & _Flags.normalized:
        result = np.maximum(result / np.iinfo(values.dtype).max, -1)
    return srgb_to_linear(result) if flags & _Flags.srgb_gamma else result


def encoded(values: Any, type: _Type, flags: int) -> Any:
    """Returns the numbers of a field's type for an array of linear values. Integers are rounded and clamped; NaN becomes 0."""
    import numpy as np

    if flags & _Flags.srgb_gamma:
        values = linear_to_srgb(values)
    if type >= _Type.float16:
        with np.errstate(over="ignore"):
            return values.astype(type.name)
    if flags & _Flags.normalized:
        values = values * np.iinfo(type.name).max
    return clamped(values, type)


def clamped(values: Any, type: _Type) -> Any:
    """Returns an array of numbers as integers of that type: rounded to the nearest, clamped to the type's range, NaN as 0."""
    import numpy as np

    info = np.iinfo(type.name)
    if values.dtype.kind in "iu":
        given = np.iinfo(values.dtype)
        return np.clip(values, max(info.min, given.min), min(info.max, given.max)).astype(type.name)
    rounded = np.rint(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf))
    # the ends of the range are compared as floats, because they may have no exact float of this type
    low, high = rounded <= info.min, rounded >= info.max
    result = np.where(low | high, 0, rounded).astype(type.name)
    result[low], result[high] = info.min, info.max
    return result
