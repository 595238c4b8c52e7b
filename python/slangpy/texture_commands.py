"""The part of command encoders that records work on textures: copies, uploads, clears, blits and mip levels."""
from __future__ import annotations

import builtins

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, overload

    from ._slangpy import _ArrayLike
    from .buffers import Buffer
    from .enums import ResourceState
    from .resources import Texture, TextureView
    from .textures import SubresourceRange, TextureFilteringMode

    _Three = Any
    _Four = Any


def _named(where: str, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any], defaults: dict[str, Any]) -> list[Any]:
    """Returns the values of an overload's parameters from a method's arguments."""
    if len(args) > len(names):
        raise TypeError("{}: Too many arguments: expected {}, got {}".format(where, len(names), len(args)))
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names or name in given:
            raise TypeError("{}: No parameter named '{}', or it is given twice; there are: {}".format(where, name, ", ".join(names)))
        given[name] = value
    missing = [name for name in names if name not in given and name not in defaults]
    if missing:
        raise TypeError("{}: argument '{}' not specified".format(where, missing[0]))
    return [given.get(name, defaults.get(name)) for name in names]


def _of(texture: Any, where: str, name: str = "texture") -> Texture:
    from .resources import Texture

    if not isinstance(texture, Texture):
        raise TypeError("{}: argument '{}': expected a Texture, got {!r}".format(where, name, type(texture)))
    return texture


def _rest(extent: Any, offset: Any, size: Any) -> tuple[int, int, int]:
    """Returns an extent in which -1 and missing numbers are replaced by the rest of the mip level."""
    from .resources import _three

    at = _three(offset, "offset", 0)
    left = tuple(max(s - o, 0) for s, o in zip(size, at))
    given = _three(extent, "extent", 0xFFFFFFFF)
    x, y, z = (n if e == 0xFFFFFFFF else e for n, e in zip(left, given))
    return x, y, z


def _colors(value: Any, name: str, kind: type) -> tuple[Any, ...]:
    values = [value] * 4 if isinstance(value, (int, float)) else list(value)
    if len(values) != 4:
        raise _slangpy.ArgumentValueError("argument '{}': expected four numbers, got {!r}".format(name, value))
    return tuple(kind(v) for v in values)


# What scales and converts texels of integers, which the blits of GPUs' drivers do not average: {0} is the type of a channel that is read,
# {1} the type of a texel that is written, {2} how the averages become such texels.
_BLIT = """
import slangpy;
{1} near(int2 p, Texture2D<{0}4> source, int2 source_size, int2 size)
{{
    return {1}(source[int2((float2(p) + 0.5) * float2(source_size) / float2(size))]{2});
}}
{1} average(int2 p, Texture2D<{0}4> source, int2 source_size, int2 size, float up)
{{
    float2 at = (float2(p) + 0.5) * float2(source_size) / float2(size) - 0.5;
    float2 w = frac(at);
    int2 a = clamp(int2(floor(at)), int2(0), source_size - 1), b = clamp(int2(floor(at)) + 1, int2(0), source_size - 1);
    float4 top = lerp(float4(source[a]), float4(source[int2(b.x, a.y)]), w.x);
    float4 bottom = lerp(float4(source[int2(a.x, b.y)]), float4(source[b]), w.x);
    return {1}(floor(lerp(top, bottom, w.y) + up){2});
}}
"""


def _blit_integers(encoder: Any, dst: Any, src: Any, average: bool) -> bool:
    """Scales and converts integers by a kernel. Returns whether it could: both are two-dimensional with one layer (on CUDA no layer of
    others, whose type kernels must know), and the device can write such texels, or 32 bits a channel in their place."""
    from .enums import Format
    from .formats import get_format_info
    from .resources import _STORED, TextureType, TextureUsage

    device, views, sizes, infos = encoder.device, [], [], []
    for t in (dst, src):
        whole, r = getattr(t, "texture", t), getattr(t, "subresource_range", None)
        layered = whole.type in (TextureType.texture_2d_array, TextureType.texture_cube, TextureType.texture_cube_array)
        if whole.type != TextureType.texture_2d and (not layered or device.info.api_name == "CUDA"):
            return False
        if (r.layer_count if r else whole.layer_count) != 1:
            return False
        layer, mip = (r.layer, r.mip) if r else (0, 0)
        views.append(whole.create_view(format=t.format, layer=layer, layer_count=1, mip=mip, mip_count=1))
        sizes.append(whole.get_mip_size(mip))
        infos.append(get_format_info(t.format))
    (to, of), (written, read) = sizes, infos
    count, format = written.channel_count, dst.format
    if not _slangpy._format_support(device, format) & _STORED:
        format = Format.__members__.get("{}32_{}".format("rgba"[:count], written.type.name if written.is_integer_format() else "float"))
    if format is None or written.is_depth or not _slangpy._format_support(device, format) & _STORED:
        return False
    kinds = [("uint", "int", "float")[2 if not i.is_integer_format() else i.type.name == "sint"] for i in infos]
    texel, swizzle = kinds[0] + (str(count) if count > 1 else ""), "." + "xyzw"[:count]
    key = "slangpy_blit_{}_{}".format(kinds[1], texel)
    modules = device.__dict__.setdefault("_blit_modules", {})
    if key not in modules:
        modules[key] = _slangpy.Module.load_from_source(device, key, _BLIT.format(kinds[1], texel, swizzle))
    made, usage = views[0].texture, TextureUsage.shader_resource | TextureUsage.unordered_access
    stored = format == dst.format and made.desc.usage & TextureUsage.unordered_access
    target = views[0] if stored else device.create_texture(format=format, width=to.x, height=to.y, usage=usage)
    values: dict[str, Any] = {"source": views[1], "source_size": _slangpy.int2(of.x, of.y), "size": _slangpy.int2(to.x, to.y),
                              "_result": target, "_append_to": encoder}
    if average:  # narrow integers are rounded and wide ones cut off, as texture units do it
        values["up"] = 0.5 if read.channel_bit_count[0] < 32 else 0.0
    from . import call_id

    getattr(modules[key], "average" if average else "near")(call_id(), **values)
    if format != dst.format:
        _slangpy._texture_blit(views[0], target, 0, encoder)
    elif not stored:
        r = views[0].subresource_range
        region = made._region(r.layer, r.mip, 1, None, (to.x, to.y, 1))
        _slangpy._texture_copy(made, region, target, target._region(0, 0, 1, None, (to.x, to.y, 1)), encoder)
    return True


class TextureCommands:
    """The methods of CommandEncoder that record work on textures."""

    if TYPE_CHECKING:
        @overload
        def copy_texture(
                self, dst: Texture, dst_subresource_range: SubresourceRange | Mapping[str, int], dst_offset: _Three, src: Texture,
                src_subresource_range: SubresourceRange | Mapping[str, int], src_offset: _Three, extent: _Three = ...) -> None: ...
        @overload
        def copy_texture(
                self, dst: Texture, dst_layer: int, dst_mip: int, dst_offset: _Three, src: Texture, src_layer: int, src_mip: int,
                src_offset: _Three, extent: _Three = ...) -> None: ...
        def copy_texture(self, *args: Any, **kwargs: Any) -> None: ...

        @overload
        def upload_texture_data(self, texture: Texture, layer: int, mip: int, data: _ArrayLike) -> None: ...
        @overload
        def upload_texture_data(
                self, texture: Texture, offset: _Three, extent: _Three, range: SubresourceRange | Mapping[str, int],
                subresource_data: Sequence[_ArrayLike]) -> None: ...
        @overload
        def upload_texture_data(
                self, texture: Texture, range: SubresourceRange | Mapping[str, int], subresource_data: Sequence[_ArrayLike]) -> None: ...
        @overload
        def upload_texture_data(self, texture: Texture, subresource_data: Sequence[_ArrayLike]) -> None: ...
        def upload_texture_data(self, *args: Any, **kwargs: Any) -> None: ...

    else:

        def copy_texture(self, *args, **kwargs):
            """copy_texture(dst, dst_subresource_range, dst_offset, src, src_subresource_range, src_offset, extent=-1), or
            copy_texture(dst, dst_layer, dst_mip, dst_offset, src, src_layer, src_mip, src_offset, extent=-1): copies texels between
            textures whose formats have the same number of bits. Ranges are SubresourceRanges or dicts; extent: three sizes, where -1
            goes to the end."""
            where = "CommandEncoder.copy_texture"
            by_range = ("dst", "dst_subresource_range", "dst_offset", "src", "src_subresource_range", "src_offset", "extent")
            by_layer = ("dst", "dst_layer", "dst_mip", "dst_offset", "src", "src_layer", "src_mip", "src_offset", "extent")
            if "dst_layer" in kwargs or (len(args) > 1 and hasattr(args[1], "__index__")):
                dst, dst_layer, dst_mip, to, src, src_layer, src_mip, at, extent = _named(where, by_layer, args, kwargs, {"extent": None})
                dst_range = {"layer": dst_layer, "layer_count": 1, "mip": dst_mip, "mip_count": 1}
                src_range = {"layer": src_layer, "layer_count": 1, "mip": src_mip, "mip_count": 1}
            else:
                dst, dst_range, to, src, src_range, at, extent = _named(where, by_range, args, kwargs, {"extent": None})
            dst, src = _of(dst, where, "dst"), _of(src, where, "src")
            dst_range, src_range = dst._range(dst_range), src._range(src_range)
            if (dst_range.layer_count, dst_range.mip_count) != (src_range.layer_count, src_range.mip_count):
                raise _slangpy.ArgumentValueError("{}: expected ranges of as many layers and mip levels, got {!r} and {!r}".format(where, dst_range, src_range))
            for i in range(src_range.mip_count):
                size = _rest(extent, at, src.get_mip_size(src_range.mip + i))
                if 0 not in size:
                    _slangpy._texture_copy(dst, dst._region(dst_range.layer, dst_range.mip + i, dst_range.layer_count, to, size),
                                           src, src._region(src_range.layer, src_range.mip + i, src_range.layer_count, at, size), self)

        def upload_texture_data(self, *args, **kwargs):
            """upload_texture_data(texture, layer, mip, data), or upload_texture_data(texture, subresource_data), with `range` or with
            `offset, extent, range` before the data: copies contiguous arrays, with their current contents, to a texture.
            subresource_data: a list with one array for each mip level of each layer, in order of layer, then mip."""
            from .resources import _three

            where = "CommandEncoder.upload_texture_data"
            texture = _of(args[0] if args else kwargs.get("texture"), where)
            offset = extent = within = None
            if "layer" in kwargs or (len(args) > 1 and hasattr(args[1], "__index__")):
                _, layer, mip, data = _named(where, ("texture", "layer", "mip", "data"), args, kwargs, {})
                within, items = {"layer": layer, "layer_count": 1, "mip": mip, "mip_count": 1}, [data]
            elif "offset" in kwargs or len(args) > 3:
                _, offset, extent, within, items = _named(where, ("texture", "offset", "extent", "range", "subresource_data"), args, kwargs, {})
            elif "range" in kwargs or len(args) > 2:
                _, within, items = _named(where, ("texture", "range", "subresource_data"), args, kwargs, {})
            else:
                _, items = _named(where, ("texture", "subresource_data"), args, kwargs, {})
            within, items = texture._range(within), list(items)
            if len(items) != within.layer_count * within.mip_count:
                raise _slangpy.ArgumentValueError("{}: argument 'subresource_data': expected {} arrays, one for each mip level of each layer, got {}".format(
                    where, within.layer_count * within.mip_count, len(items)))
            for i, data in enumerate(items):
                layer, mip = within.layer + i // within.mip_count, within.mip + i % within.mip_count
                if not memoryview(data).c_contiguous:
                    raise _slangpy.Error("{}: expected contiguous arrays".format(where))
                size = _rest(extent, offset, texture.get_mip_size(mip)) if extent is not None or offset is not None else None
                _slangpy._texture_write(texture, texture._region(layer, mip, 1, _three(offset, "offset", 0), size), data, self)

    def copy_texture_to_buffer(
            self, dst: Buffer, dst_offset: int, dst_size: int, dst_row_pitch: int, src: Texture, src_layer: int, src_mip: int,
            src_offset: _Three = None, extent: _Three = None) -> None:
        """copy_texture_to_buffer(dst, dst_offset, dst_size, dst_row_pitch, src, src_layer, src_mip, src_offset=0, extent=-1): copies
        texels to a buffer, to at most dst_size bytes from dst_offset on. dst_row_pitch: bytes from one row to the next."""
        self._copy_buffer(True, src, src_layer, src_mip, src_offset, extent, dst, dst_offset, dst_size, dst_row_pitch)

    def copy_buffer_to_texture(
            self, dst: Texture, dst_layer: int, dst_mip: int, dst_offset: _Three, src: Buffer, src_offset: int, src_size: int,
            src_row_pitch: int, extent: _Three = None) -> None:
        """copy_buffer_to_texture(dst, dst_layer, dst_mip, dst_offset, src, src_offset, src_size, src_row_pitch, extent=-1): copies at
        most src_size bytes of a buffer, from src_offset on, to texels. src_row_pitch: bytes from one row to the next."""
        self._copy_buffer(False, dst, dst_layer, dst_mip, dst_offset, extent, src, src_offset, src_size, src_row_pitch)

    def _copy_buffer(self, to_buffer, texture, layer, mip, at, extent, buffer, offset, size, pitch):
        from .formats import get_format_info

        where = "CommandEncoder.copy_texture_to_buffer" if to_buffer else "CommandEncoder.copy_buffer_to_texture"
        texture = _of(texture, where)
        texture._mip(mip)
        texture._layer(layer)
        x, y, z = _rest(extent, at, texture.get_mip_size(mip))
        if 0 in (x, y, z):
            return
        info = get_format_info(texture.format)
        row, rows = -(-x // info.block_width) * info.bytes_per_block, -(-y // info.block_height) * z
        pitch = pitch or row
        if pitch < row:
            raise _slangpy.ArgumentValueError("{}: expected a row pitch of {} bytes or more, got {}".format(where, row, pitch))
        if size < pitch * (rows - 1) + row:
            raise _slangpy.ArgumentValueError("{}: the texels take {} bytes, got a size of {}".format(where, pitch * (rows - 1) + row, size))
        _slangpy._texture_copy_buffer(to_buffer, texture, texture._region(layer, mip, 1, at, (x, y, z)), buffer, offset,
                                      0 if pitch == row else pitch, self)

    def clear_texture_float(self, texture: Texture, range: SubresourceRange | Mapping[str, int] | None = None, clear_value: _Four = 0.0) -> None:
        """clear_texture_float(texture, range=None, clear_value=0): sets all texels of a texture of floats, unorm or snorm, or the texels
        of a SubresourceRange or dict. clear_value: a float4, four numbers or one."""
        self._clear(texture, range, "f", _colors(clear_value, "clear_value", float))

    def clear_texture_uint(self, texture: Texture, range: SubresourceRange | Mapping[str, int] | None = None, clear_value: _Four = 0) -> None:
        """clear_texture_uint(texture, range=None, clear_value=0): sets texels as clear_texture_float() does, for formats of unsigned
        integers."""
        self._clear(texture, range, "u", _colors(clear_value, "clear_value", int))

    def clear_texture_sint(self, texture: Texture, range: SubresourceRange | Mapping[str, int] | None = None, clear_value: _Four = 0) -> None:
        """clear_texture_sint(texture, range=None, clear_value=0): sets texels as clear_texture_float() does, for formats of signed
        integers."""
        self._clear(texture, range, "i", _colors(clear_value, "clear_value", int))

    def _clear(self, texture, range, kind, value):
        texture = _of(texture, "CommandEncoder.clear_texture")
        _slangpy._texture_clear(texture._part(texture._range(range)), kind, value, self)

    def clear_texture_depth_stencil(
            self, texture: Texture, range: SubresourceRange | Mapping[str, int] | None = None, clear_depth: bool = True, depth_value: float = 0.0, clear_stencil: bool = True,
            stencil_value: int = 0) -> None:
        """clear_texture_depth_stencil(texture, range=None, clear_depth=True, depth_value=0, clear_stencil=True, stencil_value=0): sets
        depth and stencil of all texels, or of the texels of a SubresourceRange or dict. If a format has both and only one is set, a
        render pass clears it."""
        from .formats import get_format_info

        texture = _of(texture, "CommandEncoder.clear_texture_depth_stencil")
        info = get_format_info(texture.format)
        if info.is_depth and info.is_stencil and clear_depth != clear_stencil:
            part = texture._range(range)
            for i in builtins.range(part.layer_count * part.mip_count):
                view = texture.create_view(layer=part.layer + i // part.mip_count, layer_count=1, mip=part.mip + i % part.mip_count, mip_count=1)
                loads = (1, 0) if clear_depth else (0, 1)  # LoadOp.clear, LoadOp.load
                self.begin_render_pass({"depth_stencil_attachment": {  # type: ignore[attr-defined]
                    "view": view, "depth_load_op": loads[0], "depth_clear_value": depth_value, "stencil_load_op": loads[1],
                    "stencil_clear_value": stencil_value}}).end()
        elif clear_depth or (clear_stencil and not info.is_depth):
            _slangpy._texture_clear_depth(texture._part(texture._range(range)), depth_value, stencil_value, self)

    def blit(self, dst: Texture | TextureView, src: Texture | TextureView, filter: TextureFilteringMode | int = 1) -> None:
        """blit(dst, src, filter=TextureFilteringMode.linear): scales the first mip level of `src` to that of `dst`, and converts formats.
        The samples of a multisampled texture are averaged. Integers become other integers or floats by their values; averages of integers are
        for textures of two dimensions. Of depths, and of integers in layers, the nearest texel is taken."""
        from .formats import get_format_info

        both: list[Any] = [getattr(t, "texture", t) for t in (dst, src)]
        how = int(filter)
        if all(hasattr(t, "desc") for t in both):
            info = get_format_info(src.format)
            if both[1].desc.sample_count > 1 == both[0].desc.sample_count:
                how = -1
            elif info.is_depth_stencil():
                how = 0
            elif info.is_integer_format():
                sizes = [w.get_mip_size(t.subresource_range.mip if hasattr(t, "subresource_range") else 0) for w, t in zip(both, (dst, src))]
                converts = info.type != get_format_info(dst.format).type
                if (converts or (how == 1 and sizes[0] != sizes[1])) and _blit_integers(self, dst, src, how == 1):
                    return
                how = 0
        _slangpy._texture_blit(dst, src, how, self)

    def generate_mips(self, texture: Texture, layer: int = 0) -> None:
        """generate_mips(texture, layer=0): makes each mip level of a layer from the one before it, by averages."""
        texture = _of(texture, "CommandEncoder.generate_mips")
        part = texture if texture.layer_count == 1 else texture.create_view(layer=texture._layer(layer), layer_count=1)
        _slangpy._texture_mips(part, self)

    def set_texture_state(self, texture: Texture, range: Any = None, state: ResourceState | None = None) -> None:
        """set_texture_state(texture, state), or set_texture_state(texture, range, state): records nothing, because the library orders work on
        textures by itself."""
        _of(texture, "CommandEncoder.set_texture_state")
        if self.is_finished:  # type: ignore[attr-defined]
            raise _slangpy.Error("CommandEncoder.set_texture_state: the command encoder is finished; create another one")
