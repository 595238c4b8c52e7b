"""TextureLoader: makes textures of bitmaps and image files."""
from __future__ import annotations

import os

from ._slangpy import ArgumentTypeError, ArgumentValueError
from .bitmap import Bitmap
from .enums import Format
from .objects import Object
from .textures import _Data, ALL_MIPS, TextureType, TextureUsage, YAHandling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, overload, TypeAlias

    from numpy.typing import NDArray

    from .device import Device
    from . import Texture

    _Path = str | os.PathLike[str]

__all__ = ["TextureLoader"]


class _Options(_Data):
    """How a texture is made of a bitmap. load_as_normalized: integers are read as 0 to 1; load_as_srgb: a format that decodes sRGB is
    used if there is one; extend_alpha: rgb gets an alpha of 1; allocate_mips: the texture has all mip levels, and generate_mips fills
    them; ya_handling: how luminance with alpha is converted."""

    load_as_normalized: bool = True
    load_as_srgb: bool = True
    extend_alpha: bool = True
    allocate_mips: bool = False
    generate_mips: bool = False
    usage: TextureUsage = TextureUsage.shader_resource
    ya_handling: YAHandling = YAHandling.expand_to_rgba


_Options.__name__, _Options.__qualname__ = "Options", "TextureLoader.Options"


if TYPE_CHECKING:
    _AnyOptions: TypeAlias = _Options | Mapping[str, Any]


def _texture_data(bitmap: Bitmap, options: _Options) -> tuple[Format, NDArray[Any]]:
    """Returns the format of the texture that a bitmap becomes, and its pixels of shape (height, width) or (height, width, channels)."""
    import numpy as np

    T, P = Bitmap.ComponentType, Bitmap.PixelFormat
    kind, pixel_format, srgb = bitmap.component_type, bitmap.pixel_format, bitmap.srgb_gamma
    if bitmap.empty():
        raise ArgumentValueError("TextureLoader: the bitmap has no pixels")
    if bitmap.channel_count > 4:
        raise ArgumentValueError("TextureLoader: a texture has at most 4 channels, and the bitmap has {}: {}".format(
            bitmap.channel_count, ", ".join(bitmap.channel_names)))
    if pixel_format == P.ya and options.ya_handling == YAHandling.expand_to_rgba:
        pixel_format = P.rgba
    elif pixel_format == P.rgb and options.extend_alpha:
        pixel_format = P.rgba
    if kind == T.float64:
        kind = T.float32
    if (pixel_format, kind) != (bitmap.pixel_format, bitmap.component_type):
        bitmap = bitmap.convert(pixel_format, kind)
    pixels = np.asarray(bitmap)
    pixels = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    channels, bits = bitmap.channel_count, 8 * pixels.dtype.itemsize
    if pixels.dtype.kind == "f":
        number = "float"
    elif options.load_as_normalized and bits <= 16:
        number = "unorm" if pixels.dtype.kind == "u" else "snorm"
    else:
        number = "uint" if pixels.dtype.kind == "u" else "sint"
    name = "{}{}_{}".format("rgba"[:channels], bits, number)
    if srgb and options.load_as_srgb and pixels.dtype == np.uint8 and channels == 4:
        name = "rgba8_unorm_srgb"  # whether normalized or not, as in SlangPy
    if name not in Format.__members__:
        hint = "extend_alpha gives it a fourth one" if channels == 3 and bits < 64 else "Bitmap.convert() can change it"
        raise ArgumentValueError("TextureLoader: no format has {} channel{} of the type {}; {}".format(
            channels, "s" if channels > 1 else "", kind.name, hint))
    return Format[name], pixels


class TextureLoader(Object):
    """TextureLoader(device): makes textures of bitmaps and image files."""

    Options: TypeAlias = _Options

    def __init__(self, device: Device) -> None:
        self._device = device

    if TYPE_CHECKING:

        @overload
        def load_texture(self, bitmap: Bitmap, options: _AnyOptions | None = None) -> Texture: ...
        @overload
        def load_texture(self, path: _Path, options: _AnyOptions | None = None) -> Texture: ...

    def load_texture(self, *args: Any, **kwargs: Any) -> Texture:
        """load_texture(bitmap, options=None) or load_texture(path, options=None): returns a texture_2d of a Bitmap or an image file."""
        source, options = _arguments("load_texture", "bitmap", "path", args, kwargs)
        return self._load([source], options, TextureType.texture_2d)

    if TYPE_CHECKING:

        @overload
        def load_textures(self, bitmaps: Sequence[Bitmap], options: _AnyOptions | Sequence[_AnyOptions] | None = None) -> list[Texture]: ...
        @overload
        def load_textures(self, paths: Sequence[_Path], options: _AnyOptions | Sequence[_AnyOptions] | None = None) -> list[Texture]: ...

    def load_textures(self, *args: Any, **kwargs: Any) -> list[Texture]:
        """load_textures(bitmaps, options=None) or load_textures(paths, options=None): returns a texture_2d of each. `options` are for
        all textures, or a list of options for each."""
        sources, options = _arguments("load_textures", "bitmaps", "paths", args, kwargs)
        bitmaps = _bitmaps(sources)
        if not isinstance(options, (list, tuple)):
            options = [options] * len(bitmaps)
        elif len(options) != len(bitmaps):
            raise ArgumentValueError("TextureLoader.load_textures: 'options': expected {}, one for each texture, got {}".format(len(bitmaps), len(options)))
        return [self._load([bitmap], one, TextureType.texture_2d) for bitmap, one in zip(bitmaps, options)]

    if TYPE_CHECKING:

        @overload
        def load_texture_array(self, bitmaps: Sequence[Bitmap], options: _AnyOptions | None = None) -> Texture: ...
        @overload
        def load_texture_array(self, paths: Sequence[_Path], options: _AnyOptions | None = None) -> Texture: ...

    def load_texture_array(self, *args: Any, **kwargs: Any) -> Texture:
        """load_texture_array(bitmaps, options=None) or load_texture_array(paths, options=None): returns a texture_2d_array whose layers are
        the images, all of one size and format."""
        sources, options = _arguments("load_texture_array", "bitmaps", "paths", args, kwargs)
        return self._load(sources, options, TextureType.texture_2d_array)

    def _load(self, sources, options, type):
        options = _options(options)
        images = [_texture_data(bitmap, options) for bitmap in _bitmaps(sources)]
        if not images:
            raise ArgumentValueError("TextureLoader.load_texture_array: expected at least one image")
        format, pixels = images[0]
        for i, (other, layer) in enumerate(images):
            if (other, layer.shape) != (format, pixels.shape):
                raise ArgumentValueError("TextureLoader.load_texture_array: image {} is {} x {} {}, and image 0 is {} x {} {}".format(
                    i, layer.shape[1], layer.shape[0], other.name, pixels.shape[1], pixels.shape[0], format.name))
        usage = TextureUsage(options.usage)
        if options.generate_mips:
            usage |= TextureUsage.shader_resource | TextureUsage.render_target
        mips = ALL_MIPS if options.allocate_mips or options.generate_mips else 1
        desc = dict(type=type, format=format, width=pixels.shape[1], height=pixels.shape[0], mip_count=mips, usage=usage)
        if type == TextureType.texture_2d_array:
            texture = self._device.create_texture(array_length=len(images), **desc)
            for i, (_, layer) in enumerate(images):
                texture.copy_from_numpy(layer, layer=i, mip=0)
        else:
            texture = self._device.create_texture(data=pixels, **desc)
        if options.generate_mips:
            encoder = self._device.create_command_encoder()
            for i in range(len(images)):
                encoder.generate_mips(texture, i)
            self._device.submit_command_buffer(encoder.finish())
        return texture


def _arguments(method: str, first: str, other: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the source and the options among a method's arguments; the source's keyword is `first` or `other`."""
    given = dict(zip(("source", "options"), args))
    for name, value in kwargs.items():
        key = "source" if name in (first, other) else name
        if key not in ("source", "options") or key in given or len(args) > 2:
            raise TypeError("TextureLoader.{}: unexpected argument '{}'; expected ({} or {}, options)".format(method, name, first, other))
        given[key] = value
    if "source" not in given or len(args) > 2:
        raise TypeError("TextureLoader.{}: expected ({} or {}, options)".format(method, first, other))
    return given["source"], given.get("options")


def _options(options: Any) -> _Options:
    if options is None or isinstance(options, (dict, _Options)):
        return _Options(options or {})  # type: ignore[arg-type]
    raise ArgumentTypeError("TextureLoader: 'options': expected a TextureLoader.Options or a dict, got {}".format(type(options).__name__))


def _bitmaps(sources: Any) -> list[Bitmap]:
    """Returns the bitmaps of a list of bitmaps and paths; files are read by several threads."""
    if isinstance(sources, (str, os.PathLike, Bitmap)):
        raise ArgumentTypeError("TextureLoader: expected a list of bitmaps or paths, got one {}".format(type(sources).__name__))
    for i, source in enumerate(sources):
        if not isinstance(source, (str, os.PathLike, Bitmap)):
            raise ArgumentTypeError("TextureLoader: image {}: expected a Bitmap or a path, got {}".format(i, type(source).__name__))
    read = iter(Bitmap.read_multiple([s for s in sources if not isinstance(s, Bitmap)]))
    return [source if isinstance(source, Bitmap) else next(read) for source in sources]
