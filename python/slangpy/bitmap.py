"""Images on the host: Bitmap, which reads, writes and converts them, and the filters by which it changes their size."""
from __future__ import annotations

import math
import os

from ._slangpy import ArgumentTypeError, ArgumentValueError
from .data_struct import DataStruct, encoded, linear
from .enums import _IntEnum, _lines, _size_text
from .objects import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from typing import Any, overload, TypeAlias

    from numpy.typing import NDArray

    from ._slangpy import _ArrayLike

    _Path = str | os.PathLike[str]

__all__ = ["Bitmap", "BoxFilter", "FilterBoundaryCondition", "GaussianFilter", "LanczosFilter", "MitchellFilter", "TentFilter"]


class FilterBoundaryCondition(_IntEnum):
    """The values that an image filter uses beyond the border."""

    clamp = 0
    repeat = 1
    mirror = 2
    zero = 3
    one = 4


# >>filters


class _Filter:
    """Base of the filters: functions that are 0 outside of -radius to radius."""

    radius: float

    def eval(self, x: float) -> float:
        """eval(x): returns the filter's value at the distance `x` from its center."""
        import numpy as np

        return float(self._values(np.array([x], np.float64))[0])

    def _values(self, x: NDArray[Any]) -> NDArray[Any]:
        """Returns the filter's values at an array of distances."""
        import numpy as np

        return np.where(np.abs(x) < self.radius, self._inside(np.abs(x)), 0.0)

    def _inside(self, x: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "{}({})".format(type(self).__name__, ", ".join("{}={}".format(n, v) for n, v in vars(self).items()))


class BoxFilter(_Filter):
    """BoxFilter(): 1 within half a pixel of its center."""

    def __init__(self) -> None:
        self.radius = 0.5

    def _values(self, x: NDArray[Any]) -> NDArray[Any]:
        return ((x >= -0.5) & (x < 0.5)).astype(float)


class TentFilter(_Filter):
    """TentFilter(radius=1): falls linearly from 1 to 0."""

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = _positive("TentFilter", "radius", radius)

    def _inside(self, x: NDArray[Any]) -> NDArray[Any]:
        return 1 - x / self.radius


class GaussianFilter(_Filter):
    """GaussianFilter(stddev=0.5): a bell curve, lowered such that it is 0 at its radius of four standard deviations."""

    def __init__(self, stddev: float = 0.5) -> None:
        self.stddev = _positive("GaussianFilter", "stddev", stddev)
        self.radius = 4 * self.stddev

    def _inside(self, x: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        return np.maximum(np.exp(-0.5 * (x / self.stddev) ** 2) - math.exp(-8.0), 0.0)


# Source: D. P. Mitchell and A. N. Netravali, Reconstruction Filters in Computer Graphics (1988), equation 8
class MitchellFilter(_Filter):
    """MitchellFilter(b=1/3, c=1/3): the cubic filter of Mitchell and Netravali."""

    def __init__(self, b: float = 0.3333333432674408, c: float = 0.3333333432674408) -> None:
        self.b, self.c, self.radius = float(b), float(c), 2.0

    def _inside(self, x: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        b, c = self.b, self.c
        near = (12 - 9 * b - 6 * c) * x ** 3 + (-18 + 12 * b + 6 * c) * x ** 2 + (6 - 2 * b)
        far = (-b - 6 * c) * x ** 3 + (6 * b + 30 * c) * x ** 2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)
        return np.where(x < 1, near, far) / 6


class LanczosFilter(_Filter):
    """LanczosFilter(lobes=3): the sinc function, multiplied by the middle part of a sinc that is `lobes` times as wide."""

    def __init__(self, lobes: int = 3) -> None:
        self.lobes = int(_positive("LanczosFilter", "lobes", lobes))
        self.radius = float(self.lobes)

    def _inside(self, x: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        return np.sinc(x) * np.sinc(x / self.lobes)


if TYPE_CHECKING:
    _AnyFilter: TypeAlias = BoxFilter | TentFilter | GaussianFilter | MitchellFilter | LanczosFilter


def _normalized(type: DataStruct.Type) -> DataStruct.Flags:
    """Returns the flag of components that stand for 0 to 1 or -1 to 1: integers of 8 and 16 bits."""
    return DataStruct.Flags.normalized if type.name in ("int8", "uint8", "int16", "uint16") else DataStruct.Flags.none


def _positive(owner: str, name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ArgumentValueError("{}: '{}': expected a number above 0, got {}".format(owner, name, value))
    return float(value)


def _taps(source: int, target: int, filter: _Filter, condition: FilterBoundaryCondition) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Returns how a row of `source` pixels becomes one of `target` pixels: for each target pixel the indices of its source pixels, their
    weights, and a constant that is added."""
    import numpy as np

    scale = source / target
    stretch = max(scale, 1.0)  # for a smaller image the filter is stretched, so that it covers each source pixel
    center = (np.arange(target) + 0.5) * scale
    first = np.ceil(center - filter.radius * stretch - 0.5).astype(np.int64)
    index = first[:, None] + np.arange(math.ceil(2 * filter.radius * stretch) + 1)
    x = (index + 0.5 - center[:, None]) / stretch
    weights = np.where(np.abs(x) < filter.radius - 1e-9, filter._values(x), 0)  # a pixel on the filter's border does not count
    empty = weights.sum(axis=1) == 0  # the filter is narrower than a pixel and takes the nearest one
    weights[empty] = index[empty] == np.clip(np.floor(center[empty]), 0, source - 1)[:, None]
    weights /= weights.sum(axis=1, keepdims=True)
    added = np.zeros(target)
    if condition == FilterBoundaryCondition.repeat:
        index %= source
    elif condition == FilterBoundaryCondition.mirror:
        period = max(2 * (source - 1), 1)  # mirrored rows do not repeat the pixel at the border
        index %= period
        index = np.minimum(index, np.abs(period - index)) % source
    else:
        outside = (index < 0) | (index >= source)
        if condition != FilterBoundaryCondition.clamp:
            if condition == FilterBoundaryCondition.one:
                added = (weights * outside).sum(axis=1)
            weights = np.where(outside, 0, weights)
        index = np.clip(index, 0, source - 1)
    return index, weights, added


def _resampled(rows: NDArray[Any], target: int, filter: _Filter, condition: FilterBoundaryCondition) -> NDArray[Any]:
    """Returns an array whose second axis has `target` pixels instead of those of `rows`. An axis that keeps its size is not filtered."""
    import numpy as np

    if rows.shape[1] == target:
        return rows

    index, weights, added = _taps(rows.shape[1], target, filter, condition)
    result = np.empty((rows.shape[0], target, rows.shape[2]), rows.dtype)
    result[...] = added[:, None]
    for k in range(index.shape[1]):
        if weights[:, k].any():
            result += rows[:, index[:, k]] * weights[:, k, None].astype(rows.dtype)
    return result


# >>bitmaps


class _PixelFormat(_IntEnum):
    """The channels of a Bitmap: y is luminance, a alpha."""

    y = 0
    ya = 1
    r = 2
    rg = 3
    rgb = 4
    rgba = 5
    multi_channel = 6


class _FileFormat(_IntEnum):
    """The format of an image file; auto goes by the file's first bytes when reading, and by its name's extension when writing."""

    unknown = 0
    auto = 1
    png = 2
    jpg = 3
    bmp = 4
    tga = 5
    hdr = 6
    exr = 7


for _class in (_PixelFormat, _FileFormat):  # the classes are shown under their public names
    _class.__name__ = _class.__name__[1:]
    _class.__qualname__ = "Bitmap." + _class.__name__
del _class
_CHANNELS: dict[_PixelFormat, list[str]] = {f: list(f.name.upper()) for f in _PixelFormat if f != _PixelFormat.multi_channel}
_Type: TypeAlias = DataStruct.Type
# Source: the luminance of linear RGB in ITU-R BT.709
_LUMINANCE = {"R": 0.2126, "G": 0.7152, "B": 0.0722}
_executor: Any = None
_pending: set[Future[None]] = set()  # the files that Bitmap.write_async() has not written yet


def wait_for_tasks() -> None:
    """slangpy.thread.wait_for_tasks(): waits until all files of Bitmap.write_async() are written."""
    from concurrent.futures import wait

    wait(list(_pending))


class Bitmap(Object):
    """Bitmap(pixel_format, component_type, width, height, ...), Bitmap(array, ...) or Bitmap(path): an image in the host's memory.

    numpy.asarray(bitmap) shows its pixels without a copy, as an array of shape (height, width, channels), or (height, width) for one
    channel (an array of shape (height, width, 1) that a bitmap was made of keeps its shape). Integer components of 8 and 16 bits stand for 0 to 1; signed
    ones for -1 to 1; wider ones are plain numbers. Colors are in sRGB where `srgb_gamma` says so, which is the default for uint8 and uint16, and linear otherwise.
    """

    PixelFormat: TypeAlias = _PixelFormat
    FileFormat: TypeAlias = _FileFormat
    ComponentType: TypeAlias = DataStruct.Type

    if TYPE_CHECKING:

        @overload
        def __init__(self, pixel_format: _PixelFormat, component_type: DataStruct.Type, width: int, height: int, channel_count: int = 0,
                     channel_names: Sequence[str] = ..., srgb_gamma: bool | None = None) -> None: ...
        @overload
        def __init__(self, data: _ArrayLike, pixel_format: _PixelFormat | None = None, channel_names: Sequence[str] | None = None,
                     srgb_gamma: bool | None = None) -> None: ...
        @overload
        def __init__(self, path: _Path) -> None: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        first = args[0] if args else None
        if isinstance(first, (str, os.PathLike)) or "path" in kwargs:
            self._read(*args, **kwargs)
        elif isinstance(first, int) or ("data" not in kwargs and "pixel_format" in kwargs and not args):
            self._allocate(*args, **kwargs)
        elif args or kwargs:
            self._take(*args, **kwargs)
        else:
            raise TypeError("Bitmap: expected (pixel_format, component_type, width, height), an array or a path")

    # The three ways to make one

    def _allocate(self, pixel_format, component_type, width, height, channel_count=0, channel_names=(), srgb_gamma=None):
        import numpy as np

        pixel_format, component_type = _PixelFormat(pixel_format), _Type(component_type)
        for name, value in (("width", width), ("height", height), ("channel_count", channel_count)):
            if value < 0:
                raise ArgumentValueError("Bitmap: '{}': expected 0 or more, got {}".format(name, value))
        if pixel_format == _PixelFormat.multi_channel:
            channel_count = channel_count or len(channel_names)
            if not channel_count:
                raise ArgumentValueError("Bitmap: multi_channel needs 'channel_count' or 'channel_names'")
        else:
            expected = len(_CHANNELS[pixel_format])
            if channel_count not in (0, expected):
                raise ArgumentValueError("Bitmap: 'channel_count': the pixel format {} has {}, got {}".format(pixel_format.name, expected, channel_count))
            channel_count = expected
        self._set(np.zeros((height, width, channel_count), component_type.name), pixel_format, channel_names, srgb_gamma)

    def _take(self, data, pixel_format=None, channel_names=None, srgb_gamma=None):
        import numpy as np

        pixels = np.asarray(data)
        if pixels.dtype.name not in _Type.__members__:
            raise ArgumentTypeError("Bitmap: 'data': expected components of the types {}, got {}".format(", ".join(_Type.__members__), pixels.dtype))
        if pixels.ndim not in (2, 3):
            raise ArgumentValueError("Bitmap: 'data': expected the shape (height, width) or (height, width, channels), got {}".format(pixels.shape))
        flat = pixels.ndim == 2
        pixels = np.array(pixels[..., None] if flat else pixels, pixels.dtype.newbyteorder("="), order="C")
        count = pixels.shape[2]
        if not count:
            raise ArgumentValueError("Bitmap: 'data': expected at least one channel, got the shape {}".format(pixels.shape))
        if pixel_format is None:
            pixel_format = (_PixelFormat.multi_channel if count > 4 else
                            (_PixelFormat.y, _PixelFormat.ya, _PixelFormat.rgb, _PixelFormat.rgba)[count - 1])
        pixel_format = _PixelFormat(pixel_format)
        if pixel_format != _PixelFormat.multi_channel and count != len(_CHANNELS[pixel_format]):
            raise ArgumentValueError("Bitmap: 'data': the pixel format {} has {} channels, got the shape {}".format(
                pixel_format.name, len(_CHANNELS[pixel_format]), pixels.shape))
        self._set(pixels, pixel_format, channel_names or (), srgb_gamma)
        self._flat = flat

    def _read(self, path, format=_FileFormat.auto):
        from . import image_files

        format = _FileFormat(format)
        if format == _FileFormat.unknown:
            raise ArgumentValueError("Bitmap: 'format': expected a format or auto, got unknown")
        pixels, names, srgb = image_files.read(os.fspath(path), "" if format == _FileFormat.auto else format.name)
        known = [f for f in _CHANNELS if _CHANNELS[f] == list(names)]
        self._set(pixels, known[0] if known else _PixelFormat.multi_channel, names, srgb)

    def _set(self, pixels, pixel_format, channel_names, srgb_gamma):
        import numpy as np

        names = _CHANNELS.get(pixel_format) or list(channel_names) or ["channel{}".format(i) for i in range(pixels.shape[2])]
        if len(names) != pixels.shape[2] or not all(isinstance(n, str) for n in names) or len(set(names)) != len(names):
            raise ArgumentValueError("Bitmap: 'channel_names': expected {} different names, got {}".format(pixels.shape[2], names))
        self._pixels = np.require(pixels, requirements=["C", "W", "O"])
        self._pixel_format, self._names, self._flat = pixel_format, list(names), pixels.shape[2] == 1
        self._srgb_gamma = pixels.dtype in (np.uint8, np.uint16) if srgb_gamma is None else bool(srgb_gamma)

    @staticmethod
    def load_from_file(path: _Path) -> Bitmap:
        """load_from_file(path): returns the Bitmap in an image file: PNG, JPEG, BMP, TGA, Radiance HDR or OpenEXR."""
        return Bitmap(path)

    @staticmethod
    def load_from_numpy(data: _ArrayLike) -> Bitmap:
        """load_from_numpy(data): returns a Bitmap with a copy of an array of shape (height, width) or (height, width, channels)."""
        return Bitmap(data)

    @staticmethod
    def read_multiple(paths: Sequence[_Path], format: _FileFormat = _FileFormat.auto) -> list[Bitmap]:
        """read_multiple(paths, format=auto): returns the Bitmaps in several files, which are read by several threads."""
        from concurrent.futures import ThreadPoolExecutor

        def load(path: _Path) -> Bitmap:
            bitmap = Bitmap.__new__(Bitmap)
            bitmap._read(path, format)
            return bitmap

        with ThreadPoolExecutor(max(1, min(len(paths), os.cpu_count() or 1))) as executor:
            return list(executor.map(load, paths))

    # Properties

    @property
    def pixel_format(self) -> _PixelFormat:
        """The bitmap's channels."""
        return self._pixel_format

    @property
    def component_type(self) -> DataStruct.Type:
        """The type of a component."""
        return DataStruct.Type.__members__[self._pixels.dtype.name]

    @property
    def pixel_struct(self) -> DataStruct:
        """A pixel as a DataStruct: a field for each channel."""
        struct = DataStruct(pack=True)
        for i, name in enumerate(self._names):
            struct.append(name, self.component_type, self._flags(i))
        return struct

    @property
    def width(self) -> int:
        """The number of pixels of a row."""
        return self._pixels.shape[1]

    @property
    def height(self) -> int:
        """The number of rows."""
        return self._pixels.shape[0]

    @property
    def pixel_count(self) -> int:
        """The number of pixels."""
        return self.width * self.height

    @property
    def channel_count(self) -> int:
        """The number of components of a pixel."""
        return self._pixels.shape[2]

    @property
    def channel_names(self) -> list[str]:
        """The names of the channels."""
        return list(self._names)

    @property
    def srgb_gamma(self) -> bool:
        """Whether the colors are in sRGB. Setting it changes no pixel; convert() does."""
        return self._srgb_gamma

    @srgb_gamma.setter
    def srgb_gamma(self, value: bool) -> None:
        self._srgb_gamma = bool(value)

    @property
    def bytes_per_pixel(self) -> int:
        """The number of bytes of a pixel."""
        return self._pixels.itemsize * self.channel_count

    @property
    def buffer_size(self) -> int:
        """The number of bytes of all pixels."""
        return self._pixels.nbytes

    def has_alpha(self) -> bool:
        """has_alpha(): returns whether the bitmap has an alpha channel."""
        return any(_is_alpha(name) for name in self._roles())

    def empty(self) -> bool:
        """empty(): returns whether the bitmap has no pixels."""
        return self.pixel_count == 0

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return (self._pixels[..., 0] if self._flat else self._pixels).__array_interface__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bitmap):
            return NotImplemented
        import numpy as np

        a, b = self._pixels, other._pixels
        return ((self._pixel_format, self._srgb_gamma, self._names, a.dtype, a.shape) == (other._pixel_format, other._srgb_gamma, other._names, b.dtype, b.shape)
                and np.array_equal(a.view(np.uint8), b.view(np.uint8)))

    __hash__ = Object.__hash__

    def __repr__(self) -> str:
        return _lines("Bitmap", pixel_format=self._pixel_format, component_type=self.component_type, width=self.width, height=self.height,
                      srgb_gamma=self._srgb_gamma, pixel_struct=self.pixel_struct, data=_size_text(self.buffer_size))

    def _roles(self) -> list[str]:
        """Returns the role of each channel whose name is known: R, G, B, Y or A."""
        return _CHANNELS.get(self._pixel_format, self._names)

    def _flags(self, channel: int) -> DataStruct.Flags:
        flags = _normalized(self.component_type)
        return flags | DataStruct.Flags.srgb_gamma if self._srgb_gamma and not _is_alpha(self._roles()[channel]) else flags

    # Changes and copies

    def clear(self) -> None:
        """clear(): sets all components to 0."""
        self._pixels[...] = 0

    def vflip(self) -> None:
        """vflip(): swaps top and bottom."""
        self._pixels[...] = self._pixels[::-1].copy()

    def split(self) -> list[tuple[str, Bitmap]]:
        """split(): returns the layers of a multi_channel bitmap as a list of (name, Bitmap), in the order of their names. The layer of a
        channel is what stands in its name before the last point; the layer of channels without a point has the name ""."""
        import numpy as np

        layers: dict[str, list[int]] = {}
        for i, name in enumerate(self._names):
            layers.setdefault(name.rpartition(".")[0], []).append(i)
        result = []
        for layer, channels in sorted(layers.items()):
            names = [self._names[i].rpartition(".")[2] for i in channels]
            colors = [n.upper() for n in names]
            kind, order = _PixelFormat.multi_channel, list(range(len(channels)))
            for pixel_format, known in _CHANNELS.items():
                if sorted(known) == sorted(colors):
                    kind, order, names = pixel_format, [colors.index(n) for n in known], colors
            part = Bitmap.__new__(Bitmap)
            part._set(np.ascontiguousarray(self._pixels[..., [channels[i] for i in order]]), kind, [names[i] for i in order], self._srgb_gamma)
            result.append((layer, part))
        return result

    def convert(self, pixel_format: _PixelFormat | None = None, component_type: DataStruct.Type | None = None,
                srgb_gamma: bool | None = None) -> Bitmap:
        """convert(pixel_format=None, component_type=None, srgb_gamma=None): returns a copy with other channels or components; None keeps
        what it has. Luminance is computed of linear colors, a missing alpha is 1, and integers are rounded and clamped to their range."""
        target = self._pixel_format if pixel_format is None else _PixelFormat(pixel_format)
        kind = self.component_type if component_type is None else _Type(component_type)
        srgb = self._srgb_gamma if srgb_gamma is None else bool(srgb_gamma)
        keeps = target in (self._pixel_format, _PixelFormat.multi_channel)
        names = self._roles() if keeps else _CHANNELS[target]
        sources = [[(1.0, i)] for i in range(self.channel_count)] if keeps else self._sources(target)
        result = Bitmap.__new__(Bitmap)
        result._set(self._converted(sources, [not _is_alpha(n) for n in names], kind, srgb), target, self._names if keeps else (), srgb)
        result._flat = self._flat if result.channel_count == 1 and self.channel_count == 1 else result._flat
        return result

    def _sources(self, target: _PixelFormat) -> list[list[tuple[float, int]] | float]:
        """Returns the source of each channel of a pixel format: a list of weighted channels whose sum it is, or a constant."""
        roles, wanted = self._roles(), _CHANNELS[target]
        if self._pixel_format == _PixelFormat.multi_channel and not set(wanted) & set(roles) and len(roles) == len(wanted):
            return [[(1.0, i)] for i in range(len(wanted))]  # if channels have no known names, their order counts
        result: list[list[tuple[float, int]] | float] = []
        for name in wanted:
            colors = [c for c in "RGB" if c in roles]
            if name in roles:
                result.append([(1.0, roles.index(name))])
            elif name == "A":
                result.append(1.0)
            elif name == "Y" and colors:
                result.append([(_LUMINANCE[c] if len(colors) > 1 else 1.0, roles.index(c)) for c in colors])
            elif name in "RGB" and "Y" in roles:
                result.append([(1.0, roles.index("Y"))])
            elif name in "RGB" and colors:
                result.append(0.0)
            else:
                raise ArgumentValueError("Bitmap.convert: no channel can become '{}' of the pixel format {}; the channels are: {}".format(
                    name, target.name, ", ".join(self._names)))
        return result

    def _converted(self, sources: Any, is_color: list[bool], kind: DataStruct.Type, srgb: bool) -> NDArray[Any]:
        """Returns pixels whose channels are computed from `sources`, as _sources() returns them, in components of the type `kind`."""
        import numpy as np

        mixes = any(isinstance(s, list) and len(s) > 1 for s in sources)
        gamma = DataStruct.Flags.srgb_gamma if mixes or srgb != self._srgb_gamma else DataStruct.Flags.none
        same = kind == self.component_type and not gamma
        result = np.empty((self.height, self.width, len(sources)), kind.name)
        wide = {_Type.int32, _Type.int64, _Type.uint32, _Type.uint64, _Type.float64} & {kind, self.component_type}
        work: Any = np.float64 if wide else np.float32
        for i, source in enumerate(sources):
            flags = _normalized(kind) | (gamma if srgb and is_color[i] else 0)
            if not isinstance(source, list):
                result[..., i] = encoded(np.array([source], work), kind, flags)[0]
            elif same:
                result[..., i] = self._pixels[..., source[0][1]]
            else:
                values: Any = 0
                for weight, channel in source:
                    from_srgb = self._flags(channel) & gamma
                    part = linear(self._pixels[..., channel], _normalized(self.component_type) | from_srgb, work)
                    values = part if weight == 1 else values + part * work(weight)
                result[..., i] = encoded(values, kind, flags)
        return result

    if TYPE_CHECKING:

        @overload
        def resample(self, target: Bitmap, filter: _AnyFilter = ..., bc: tuple[FilterBoundaryCondition, FilterBoundaryCondition] = ...,
                     clamp: tuple[float, float] = ...) -> None: ...
        @overload
        def resample(self, width: int, height: int, filter: _AnyFilter = ..., bc: tuple[FilterBoundaryCondition, FilterBoundaryCondition] = ...,
                     clamp: tuple[float, float] = ...) -> Bitmap: ...

    def resample(self, *args: Any, **kwargs: Any) -> Any:
        """resample(width, height, filter=BoxFilter(), bc=(clamp, clamp), clamp=(-inf, inf)): returns the image in another size;
        resample(target, ...) writes it into the Bitmap `target`, of the same channels and components.

        `bc` says what lies beyond the border, horizontally and vertically. Values are filtered as they are stored, so convert sRGB to
        linear first; they stay within `clamp`, where integers stand for 0 to 1."""
        if "target" in kwargs or (args and isinstance(args[0], Bitmap)):
            return self._resample_into(*args, **kwargs)
        return self._resample_to(*args, **kwargs)

    def _resample_to(self, width, height, filter=None, bc=(FilterBoundaryCondition.clamp,) * 2, clamp=(-math.inf, math.inf)):
        import numpy as np

        for name, value in (("width", width), ("height", height)):
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ArgumentValueError("Bitmap.resample: '{}': expected an int above 0, got {!r}".format(name, value))
        target = Bitmap.__new__(Bitmap)
        target._set(np.empty((height, width, self.channel_count), self._pixels.dtype), self._pixel_format, self._names, self._srgb_gamma)
        target._flat = self._flat
        self._resample_into(target, filter, bc, clamp)
        return target

    def _resample_into(self, target, filter=None, bc=(FilterBoundaryCondition.clamp,) * 2, clamp=(-math.inf, math.inf)):
        import numpy as np

        filter = BoxFilter() if filter is None else filter
        if not isinstance(filter, _Filter):
            raise ArgumentTypeError("Bitmap.resample: 'filter': expected a BoxFilter, TentFilter, GaussianFilter, MitchellFilter or LanczosFilter, got {}".format(
                type(filter).__name__))
        if (target._pixel_format, target._pixels.dtype, target.channel_count) != (self._pixel_format, self._pixels.dtype, self.channel_count):
            raise ArgumentValueError("Bitmap.resample: 'target': expected the pixel format {} of {}, got {} of {}".format(
                self._pixel_format.name, self.component_type.name, target._pixel_format.name, target.component_type.name))
        if self.empty() or target.empty():
            raise ArgumentValueError("Bitmap.resample: a bitmap has no pixels")
        horizontal, vertical = (FilterBoundaryCondition(c) for c in bc)
        normalized = _normalized(self.component_type)
        work = np.float64 if self._pixels.itemsize > 2 and self.component_type != _Type.float32 else np.float32
        values = linear(self._pixels, normalized, work)
        values = _resampled(values, target.width, filter, horizontal)
        values = _resampled(values.transpose(1, 0, 2), target.height, filter, vertical).transpose(1, 0, 2)
        target._pixels[...] = encoded(np.clip(values, *clamp), self.component_type, normalized)

    # Files

    def write(self, path: _Path, format: _FileFormat = _FileFormat.auto, quality: int = -1) -> None:
        """write(path, format=auto, quality=-1): writes it into an image file. What the format cannot hold is converted: floats become
        uint8 in sRGB in PNG, JPEG, BMP and TGA, and linear floats are what Radiance HDR and OpenEXR hold. `quality` is 1 to 100 for JPEG, and the
        effort of compression, 0 to 9, for PNG and OpenEXR."""
        self._snapshot(path, format, quality)()

    def write_async(self, path: _Path, format: _FileFormat = _FileFormat.auto, quality: int = -1) -> Future[None]:
        """write_async(path, format=auto, quality=-1): writes the file in another thread; the bitmap may be changed at once. Python waits
        for the thread at its end. Returns a concurrent.futures.Future; a failure that nobody asks the Future for is printed as a
        warning."""
        from concurrent.futures import ThreadPoolExecutor

        global _executor
        job = self._snapshot(path, format, quality, copy=True)
        if _executor is None:
            _executor = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="slangpy-bitmap")

        def work() -> None:
            try:
                job()
            except Exception as error:
                import warnings

                warnings.warn("Bitmap.write_async: {}".format(error), RuntimeWarning, stacklevel=1)
                raise

        written = _executor.submit(work)
        _pending.add(written)
        written.add_done_callback(_pending.discard)
        return written  # type: ignore[no-any-return]

    def _snapshot(self, path, format, quality, copy=False):
        """Returns a function that writes the file with the pixels of this moment."""
        from . import image_files

        path, format = os.fspath(path), _FileFormat(format)
        name = format.name
        if format in (_FileFormat.auto, _FileFormat.unknown):
            extension = os.path.splitext(path)[1].lower()
            name = image_files.EXTENSIONS.get(extension, "")
            if not name:
                raise ArgumentValueError("Bitmap.write: the extension of '{}' names no format; known are {}".format(path, ", ".join(image_files.EXTENSIONS)))
        fit = self._fitting(name)
        pixels = fit._pixels.copy() if copy and fit is self else fit._pixels
        names, srgb = fit._roles(), fit._srgb_gamma
        return lambda: image_files.write(path, name, pixels, names, srgb, quality)

    def _encoded(self, name: str) -> bytes:
        """Returns the bytes of a file of a format, such as "png"."""
        from . import image_files

        fit = self._fitting(name)
        return image_files.encode(name, fit._pixels, fit._roles(), fit._srgb_gamma, -1)

    def _repr_png_(self) -> bytes:
        return self._encoded("png")

    def _fitting(self, name: str) -> Bitmap:
        """Returns the bitmap with channels and components that files of a format can hold, or the bitmap itself if it has such ones."""
        if self.empty():
            raise ArgumentValueError("Bitmap.write: the bitmap has no pixels")
        T, P = _Type, _PixelFormat
        types = {"png": [T.uint8, T.uint16], "exr": [T.float16, T.float32, T.uint32], "hdr": [T.float32]}.get(name, [T.uint8])
        formats = {"png": [P.y, P.ya, P.rgb, P.rgba], "exr": list(P), "hdr": [P.rgb], "jpg": [P.y, P.rgb], "bmp": [P.y, P.rgb, P.rgba],
                   "tga": [P.y, P.rgb, P.rgba]}[name]
        kind, srgb, target = self.component_type, self._srgb_gamma, self._pixel_format
        if kind not in types:
            if name not in ("exr", "hdr") and kind not in (T.uint16, T.float16, T.float32, T.float64):
                raise ArgumentValueError("Bitmap.write: {} files hold no components of the type {}; convert() can change it to {}".format(
                    name.upper(), kind.name, " or ".join(t.name for t in types)))
            kind, srgb = (T.float32, False) if name in ("exr", "hdr") else (T.uint8, True)
        if name in ("exr", "hdr") and kind != T.uint32:
            srgb = False
        if target not in formats:
            instead = {P.r: P.y, P.rg: P.rgb, P.ya: P.rgba, P.y: P.rgb}.get(target, P.rgba)
            if target == P.multi_channel:
                instead = {1: P.y, 2: P.ya, 3: P.rgb, 4: P.rgba}.get(self.channel_count, P.multi_channel)
                if instead == P.multi_channel:
                    raise ArgumentValueError("Bitmap.write: {} files hold at most 4 channels, and the bitmap has {}; OpenEXR files hold any number".format(
                        name.upper(), self.channel_count))
            if instead not in formats:
                instead = P.rgb if instead in (P.rgba, P.rgb) or P.y not in formats else P.y
            if target == P.ya and name == "jpg":
                instead = P.y
            target = instead
        same = (kind, srgb, target) == (self.component_type, self._srgb_gamma, self._pixel_format)
        return self if same else self.convert(target, kind, srgb)


def _is_alpha(name: str) -> bool:
    return name.rpartition(".")[2] == "A"
