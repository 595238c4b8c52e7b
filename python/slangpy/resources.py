"""Textures, views of textures and samplers, and how devices and command encoders make and fill them."""
from __future__ import annotations

from . import _slangpy
from ._slangpy import Shape, uint3
from .buffers import _bytes_of
from .encoders import _MemoryUsage
from .enums import Format, MemoryType, ResourceState, _lines, _size_text
from .formats import FormatSupport, get_format_info
from .textures import (ALL_LAYERS, ALL_MIPS, ComparisonFunc, SamplerDesc, SubresourceLayout, SubresourceRange, TextureAddressingMode,
                       TextureAspect, TextureDesc, TextureFilteringMode, TextureReductionOp, TextureType, TextureUsage, TextureViewDesc)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from numpy.typing import NDArray

    from ._slangpy import Tensor, _ArrayLike, float4
    from .device import Device
    from .encoders import CommandEncoder
    from .interop import NativeHandle
    from .pictures import DescriptorHandle

__all__ = ["Sampler", "Texture", "TextureView"]

# For each TextureType: the library's number of its form (1, 2, 3: dimensions; 4: cube), and whether it is an array.
_FORMS = {
    TextureType.texture_1d: (1, False), TextureType.texture_1d_array: (1, True), TextureType.texture_2d: (2, False),
    TextureType.texture_2d_array: (2, True), TextureType.texture_2d_ms: (2, False), TextureType.texture_2d_ms_array: (2, True),
    TextureType.texture_3d: (3, False), TextureType.texture_cube: (4, False), TextureType.texture_cube_array: (4, True),
}

# The library's bits of a use, for each TextureUsage.
_SAMPLED, _STORED, _COPIED, _COLOR, _DEPTH, _FILTERED, _BLENDED, _MULTISAMPLED = 1, 2, 4, 8, 16, 32, 64, 128
_USES = {TextureUsage.shader_resource: _SAMPLED, TextureUsage.unordered_access: _STORED, TextureUsage.render_target: _COLOR,
         TextureUsage.depth_stencil: _DEPTH}


def _copied(kind: Any, value: Any) -> Any:
    return kind(value)


def _later(what: str) -> NoReturn:
    raise NotImplementedError("{} is not in this version".format(what))


def _index(value: Any, name: str, least: int = 0) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError("argument '{}': expected an int, got {!r}".format(name, type(value))) from None
    if not least <= number <= 0xFFFFFFFF:
        raise _slangpy.ArgumentValueError("argument '{}': expected {} or more, got {}".format(name, least, number))
    return number


def _three(value: Any, name: str, default: int) -> tuple[int, int, int]:
    """Returns the three numbers of a uint3, list or tuple; a number that is -1 or missing becomes `default`."""
    if value is None:
        return default, default, default
    numbers = [value] * 3 if isinstance(value, int) else list(value)
    if len(numbers) != 3:
        raise _slangpy.ArgumentValueError("argument '{}': expected three numbers, got {!r}".format(name, value))
    x, y, z = (default if n in (-1, 0xFFFFFFFF) else _index(n, name) for n in numbers)
    return x, y, z


def _handle(kind: str, resource: Any, *more: Any) -> DescriptorHandle:
    from .pictures import DescriptorHandle, DescriptorHandleType

    return DescriptorHandle(DescriptorHandleType[kind], _slangpy._handle_of(resource, *more))


class _Resource(_slangpy._Texture):
    """The base class of textures and their views."""

    def _region(self, layer: int = 0, mip: int = 0, layer_count: int = 1, offset: Any = None, extent: Any = None) -> tuple[int, ...]:
        """Returns the tuple by which the library's functions name a range of texels."""
        return (mip, layer, layer_count, *_three(offset, "offset", 0), *_three(extent, "extent", 0))

    @property
    def descriptor_handle_ro(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels read the texture without a binding, for DescriptorHandle<Texture2D<T>> and the like.
        Raises an Error on devices without Feature.bindless."""
        return _handle("texture", self)

    @property
    def descriptor_handle_rw(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels read and write the texture without a binding, for DescriptorHandle<RWTexture2D<T>> and
        the like."""
        return _handle("rw_texture", self, True)

    @property
    def descriptor_handle_combined(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels sample the texture with its own sampler, for DescriptorHandle<Sampler2D<T>> and the
        like."""
        sampler = getattr(self, "sampler", None)
        if sampler is None:
            raise _slangpy.ArgumentValueError("{}.descriptor_handle_combined: it was created without a sampler".format(type(self).__name__))
        return _handle("combined_texture_sampler", self, False, sampler)

    @property
    def native_handle(self) -> NativeHandle:
        """The VkImage of a texture or the VkImageView of a view, as a NativeHandle; on CUDA the texture object that kernels read."""
        from .interop import NativeHandle, NativeHandleType

        if self.device._info()["backend"] != "vulkan":
            return NativeHandle(NativeHandleType.CUtexObject, _slangpy._texture_native(self, True))
        view = not isinstance(self, Texture)
        return NativeHandle(NativeHandleType.VkImageView if view else NativeHandleType.VkImage, _slangpy._texture_native(self, view))

    @property
    def memory_usage(self) -> _MemoryUsage:
        """The bytes of the object on the device and on the host, beyond the object itself."""
        return _MemoryUsage()


class Texture(_Resource):
    """An image in device memory, with mip levels and layers. See Device.create_texture(). As an argument of a call it goes whole to a
    parameter such as Texture2D<float4>, and texel by texel to a parameter of its texels' type."""

    _desc: TextureDesc
    label: str

    # >>what it is

    @property
    def desc(self) -> TextureDesc:
        """The TextureDesc of the texture, with the number of its mip levels."""
        return _copied(TextureDesc, self._desc)

    @property
    def type(self) -> TextureType:
        """The texture's TextureType."""
        return self._desc.type

    @property
    def format(self) -> Format:
        """The Format of a texel."""
        return self._desc.format

    @property
    def width(self) -> int:
        """Texels of a row of mip level 0."""
        return self._desc.width

    @property
    def height(self) -> int:
        """Rows of mip level 0; 1 for one dimension."""
        return self._desc.height

    @property
    def depth(self) -> int:
        """Slices of mip level 0; 1 unless the texture has three dimensions."""
        return self._desc.depth

    @property
    def array_length(self) -> int:
        """The elements of an array of textures or cubes; 1 for other textures."""
        return self._desc.array_length

    @property
    def mip_count(self) -> int:
        """The number of mip levels."""
        return self._desc.mip_count

    @property
    def layer_count(self) -> int:
        """The number of layers: array_length, times 6 for cubes."""
        return self._desc.array_length * (6 if _FORMS[self._desc.type][0] == 4 else 1)

    @property
    def subresource_count(self) -> int:
        """The number of layers times the number of mip levels."""
        return self.layer_count * self.mip_count

    @property
    def shared_handle(self) -> NativeHandle:
        """Raises an error, because this version shares no textures with other APIs."""
        return _later("Texture.shared_handle (sharing textures with other APIs)")

    @property
    def memory_usage(self) -> _MemoryUsage:
        """The bytes of the texels on the device."""
        return _MemoryUsage(device=self.layer_count * sum(self.get_subresource_layout(mip).size_in_bytes for mip in range(self.mip_count)))

    def __repr__(self):
        if self.device.is_closed:
            return "<slangpy.Texture, of a closed device>"
        d = self._desc
        return _lines("Texture", device=hex(id(self.device)), type=d.type, width=d.width, height=d.height, depth=d.depth, mip_count=d.mip_count,
                      array_length=d.array_length, sample_count=d.sample_count, format=d.format, usage=TextureUsage(d.usage),
                      memory_type=MemoryType(d.memory_type), size=_size_text(self.memory_usage.device), label=self.label)

    # >>mip levels

    def _mip(self, mip: int) -> int:
        if mip < 0:
            raise _slangpy.ArgumentTypeError("argument 'mip': expected 0 or more, got {}".format(mip))
        if mip >= self.mip_count:
            raise _slangpy.IndexOutOfRangeError("argument 'mip': the texture has {} mip levels, got {}".format(self.mip_count, mip))
        return mip

    def _layer(self, layer: int) -> int:
        if layer < 0:
            raise _slangpy.ArgumentTypeError("argument 'layer': expected 0 or more, got {}".format(layer))
        if layer >= self.layer_count:
            raise _slangpy.IndexOutOfRangeError("argument 'layer': the texture has {} layers, got {}".format(self.layer_count, layer))
        return layer

    def get_mip_width(self, mip: int = 0) -> int:
        """get_mip_width(mip=0): returns the texels of a row of a mip level; 0 if there is no such level."""
        return max(self.width >> mip, 1) if 0 <= mip < self.mip_count else 0

    def get_mip_height(self, mip: int = 0) -> int:
        """get_mip_height(mip=0): returns the rows of a mip level; 0 if there is no such level."""
        return max(self.height >> mip, 1) if 0 <= mip < self.mip_count else 0

    def get_mip_depth(self, mip: int = 0) -> int:
        """get_mip_depth(mip=0): returns the slices of a mip level; 0 if there is no such level."""
        return max(self.depth >> mip, 1) if 0 <= mip < self.mip_count else 0

    def get_mip_size(self, mip: int = 0) -> uint3:
        """get_mip_size(mip=0): returns width, height and depth of a mip level as a uint3."""
        return uint3(self.get_mip_width(mip), self.get_mip_height(mip), self.get_mip_depth(mip))

    def get_subresource_layout(self, mip: int, row_alignment: int = 0xFFFFFFFF) -> SubresourceLayout:
        """get_subresource_layout(mip, row_alignment=4294967295): returns the layout of a layer of a mip level in memory that is copied
        to or from it, as a SubresourceLayout. row_alignment: row_pitch is a multiple of it; the default is 1, rows without gaps."""
        self._mip(mip)
        info = get_format_info(self.format)
        align = 1 if row_alignment in (0xFFFFFFFF, -1) else _index(row_alignment, "row_alignment", 1)
        size = self.get_mip_size(mip)
        columns, rows = -(-size.x // info.block_width), -(-size.y // info.block_height)
        pitch = -(-columns * info.bytes_per_block // align) * align
        return SubresourceLayout(size=size, col_pitch=info.bytes_per_block, row_pitch=pitch, slice_pitch=pitch * rows,
                                 size_in_bytes=pitch * rows * size.z, block_width=info.block_width, block_height=info.block_height,
                                 row_count=rows)

    def _is_packed(self) -> bool:
        """Returns whether its texels are no plain numbers."""
        info = get_format_info(self.format)
        dtype, components = info._numpy()
        return info.is_compressed or info.bytes_per_block != components * int(dtype[1:])

    def _numpy_form(self, mip: int) -> tuple[tuple[int, ...], str]:
        """Returns the shape and the dtype of a layer of a mip level as a numpy array: texels that are no plain numbers are bytes."""
        layout = self.get_subresource_layout(mip)
        dtype, components = get_format_info(self.format)._numpy()
        if self._is_packed():
            return (layout.size_in_bytes,), dtype
        shape: tuple[int, ...] = (layout.size.x,) if _FORMS[self.type][0] == 1 else (layout.size.y, layout.size.x)
        shape += (components,) if components > 1 else ()
        return ((layout.size.z,) if self.type == TextureType.texture_3d else ()) + shape, dtype

    # >>contents

    def to_numpy(self, layer: int = 0, mip: int = 0) -> NDArray[Any]:
        """to_numpy(layer=0, mip=0): returns one layer of one mip level as a numpy array of shape (height, width) or (height, width,
        channels), with the depth before for three dimensions and without the height for one. Formats whose channels are no plain numbers
        give their bytes, row by row, as an array of one dimension. Waits for the work that writes the texture."""
        shape, dtype = self._numpy_form(self._mip(mip))
        out = __import__("numpy").empty(shape, dtype)
        _slangpy._texture_read(self, self._region(self._layer(layer), mip), out)
        return out

    def copy_from_numpy(self, data: _ArrayLike, layer: int = 0, mip: int = 0) -> None:
        """copy_from_numpy(data, layer=0, mip=0): copies a contiguous array of exactly the shape and size that to_numpy() gives to one layer
        of one mip level; other arrays are a RuntimeError. Formats whose channels are no plain numbers take any shape of the right size."""
        shape, dtype = self._numpy_form(self._mip(mip))
        self._layer(layer)
        view = memoryview(data)  # type: ignore[arg-type]
        expected = 1
        for size in shape:
            expected *= size
        expected *= int(dtype[1:])
        if not view.c_contiguous:
            raise _slangpy.Error("copy_from_numpy: argument 'data': expected a contiguous array")
        if (view.shape != shape and not self._is_packed()) or view.nbytes != expected:
            raise _slangpy.Error("copy_from_numpy: argument 'data': expected shape {} and {} bytes, got shape {} and {} bytes".format(
                shape, expected, view.shape, view.nbytes))
        _slangpy._texture_write(self, self._region(layer, mip), data)

    def to_bitmap(self, layer: int = 0, mip: int = 0) -> Any:
        """to_bitmap(layer=0, mip=0): returns one layer of one mip level as a Bitmap. The format must have 1 to 4 plain channels."""
        try:
            from .bitmap import Bitmap  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            _later("Texture.to_bitmap (Bitmap)")
        if self._is_packed():
            raise _slangpy.ArgumentValueError("Texture.to_bitmap: the channels of {} are no plain numbers".format(self.format.name))
        pixels = self.to_numpy(layer, mip)
        channels = 1 if pixels.ndim == 2 else pixels.shape[2]
        if pixels.ndim > 3 or self.type in (TextureType.texture_3d, TextureType.texture_1d, TextureType.texture_1d_array):
            raise _slangpy.ArgumentValueError("Texture.to_bitmap: expected a texture of two dimensions, got a {}".format(self.type.name))
        names = Bitmap.PixelFormat
        return Bitmap(pixels, pixel_format=(names.r, names.rg, names.rgb, names.rgba)[channels - 1], srgb_gamma=self.format.name.endswith("_srgb"))

    # >>gradients

    def with_grads(self) -> Texture:
        """with_grads(): returns a texture of the same texels with a new gradient of zeros, to which backward calls add: the function's
        parameters are DiffTexture2D<T> in the place of Texture2D<T>, and DiffSamplerState in the place of SamplerState. The format must be
        one of floats, unorm or snorm."""
        made = _slangpy._texture_view(Texture, self, 0, 0, 0, 0, 0, True)
        made._desc, made.sampler, made.label = self._desc, self.sampler, self.label
        return made

    with_grad = with_grads

    @property
    def grad(self) -> Tensor | None:
        """The gradient of the first mip level, a Tensor with an element for each texel; None without with_grads()."""
        return self.get_grad()

    def get_grad(self, mip: int = 0) -> Tensor | None:
        """get_grad(mip=0): returns the gradient of a mip level: a Tensor of float, float2, float3 or float4 elements, of shape (height,
        width), with the layers or the depth before; None without with_grads(). Each backward call adds to it."""
        return _slangpy._texture_grad(self, self._mip(mip))

    def zero_grad(self) -> None:
        """zero_grad(): sets the gradients of all mip levels to zero."""
        _slangpy._texture_zero_grad(self)

    def _range(self, range: Any) -> SubresourceRange:
        """Returns a SubresourceRange with the texture's own numbers, from a SubresourceRange, a dict of its fields, or None for all of
        the texture."""
        r = SubresourceRange() if range is None else _copied(SubresourceRange, range)
        levels, layers = self.mip_count, self.layer_count
        self._mip(r.mip)
        self._layer(r.layer)
        if r.mip_count in (ALL_MIPS, -1):
            r.mip_count = levels - r.mip
        if r.layer_count in (ALL_LAYERS, -1):
            r.layer_count = layers - r.layer
        if r.mip_count < 1 or r.layer_count < 1 or r.mip + r.mip_count > levels or r.layer + r.layer_count > layers:
            raise _slangpy.IndexOutOfRangeError("argument 'range': the texture has {} layers and {} mip levels, got {!r}".format(layers, levels, r))
        return r

    def _part(self, range: SubresourceRange, kind: Any = None, format: int = 0) -> _slangpy._Texture:
        """Returns a view of a range, or the texture itself for all of it."""
        everything = range.mip_count == self.mip_count and range.layer_count == self.layer_count
        if everything and kind is None:
            return self
        layers = 0 if range.layer_count == self.layer_count else range.layer_count
        return _slangpy._texture_view(kind or _Resource, self, format, range.mip, range.mip_count, range.layer, layers)

    def create_view(
            self, desc: TextureViewDesc | Mapping[str, Any] | Format | None = None, aspect: TextureAspect = TextureAspect.all, layer: int = 0,
            layer_count: int = ALL_LAYERS, mip: int = 0, mip_count: int = ALL_MIPS, sampler: Sampler | None = None, label: str = "",
            format: Format = Format.undefined, dict: Mapping[str, Any] | None = None) -> TextureView:
        """create_view(format=Format.undefined, aspect=TextureAspect.all, layer=0, layer_count=4294967295, mip=0, mip_count=4294967295,
        sampler=None, label=""): returns a TextureView of some layers and mip levels, which keeps the texture alive. With a layer_count of 1
        it is a texture of one layer. A TextureViewDesc, or a dict of its fields, may stand for the arguments."""
        given = desc if dict is None else dict
        if isinstance(given, Format):
            format, given = given, None
        if given is None:
            given = TextureViewDesc(format=format, aspect=aspect, label=label, subresource_range=SubresourceRange(
                layer=layer, layer_count=layer_count, mip=mip, mip_count=mip_count))
        full = _copied(TextureViewDesc, given)
        alone = full.subresource_range.layer_count == 1
        full.subresource_range = self._range(full.subresource_range)
        if full.format == Format.undefined:
            full.format = self.format
        if TextureAspect(full.aspect) == TextureAspect.stencil_only:
            _later("create_view: a view of a stencil")
        layers = 1 if alone and self.type != TextureType.texture_3d else 0
        r = full.subresource_range
        if r.layer_count not in (1, self.layer_count) or (r.layer and not layers):
            layers = r.layer_count
        made = _slangpy._texture_view(TextureView, self, 0 if full.format == self.format else int(full.format), r.mip, r.mip_count, r.layer, layers)
        made._texture, made._desc, made.sampler, made.label = self, full, sampler, full.label
        return made


class TextureView(_Resource):
    """Some layers and mip levels of a texture, see Texture.create_view(). As an argument it is a texture of the size of its first mip
    level."""

    _texture: Texture
    _desc: TextureViewDesc
    label: str = ""

    @property
    def texture(self) -> Texture:
        """The texture of the view."""
        return self._texture

    @property
    def desc(self) -> TextureViewDesc:
        """The TextureViewDesc of the view."""
        return _copied(TextureViewDesc, self._desc)

    @property
    def format(self) -> Format:
        """The Format as which the view's texels are read and written."""
        return self._desc.format

    @property
    def aspect(self) -> TextureAspect:
        """The TextureAspect that the view shows."""
        return self._desc.aspect

    @property
    def subresource_range(self) -> SubresourceRange:
        """The layers and mip levels of the texture, as a SubresourceRange."""
        return _copied(SubresourceRange, self._desc.subresource_range)

    def __repr__(self) -> str:
        return _lines("TextureView", device=hex(id(self.device)), texture=self.texture, format=self.format, aspect=TextureAspect(self.aspect),
                      subresource_range=self._desc.subresource_range, label=self.label)


class Sampler(_slangpy._Sampler):
    """Sampler: filters, and values outside of a texture. See Device.create_sampler()."""

    _desc: SamplerDesc
    label: str

    @property
    def desc(self) -> SamplerDesc:
        """The SamplerDesc of the sampler."""
        return _copied(SamplerDesc, self._desc)

    @property
    def descriptor_handle(self) -> DescriptorHandle:
        """The DescriptorHandle by which kernels use the sampler without a binding, for DescriptorHandle<SamplerState>."""
        return _handle("sampler", self)

    @property
    def native_handle(self) -> NativeHandle:
        """The VkSampler as a NativeHandle, which equal samplers share; of type undefined on CUDA."""
        from .interop import NativeHandle, NativeHandleType

        handle = _slangpy._sampler_native(self)
        return NativeHandle(NativeHandleType.VkSampler, handle) if handle else NativeHandle()

    @property
    def memory_usage(self) -> _MemoryUsage:
        """The bytes of the object on the device and on the host, beyond the object itself."""
        return _MemoryUsage()

    def __repr__(self):
        return "<slangpy.Sampler{}>".format(" '{}'".format(self.label) if self.label else "")


# >>making them


def create_texture(device: Device, desc: TextureDesc, data: _ArrayLike | None, sampler: Sampler | None) -> Texture:
    where = "create_texture"
    desc = _copied(TextureDesc, desc)
    if isinstance(desc.format, str) and desc.format in Format.__members__:
        desc.format = Format[desc.format]
    desc.type, desc.format, desc.usage = TextureType(desc.type), Format(desc.format), TextureUsage(desc.usage)
    desc.memory_type, desc.default_state = MemoryType(desc.memory_type), ResourceState(desc.default_state)
    if desc.format == Format.undefined:
        raise _slangpy.ArgumentValueError("{}: argument 'format' not specified".format(where))
    form, array = _FORMS[desc.type]
    for name in ("width", "height", "depth", "array_length", "mip_count", "sample_count"):
        setattr(desc, name, _index(getattr(desc, name), name, 0 if name == "mip_count" else 1))
    if desc.array_length > 1 and not array:
        raise _slangpy.ArgumentValueError("{}: argument 'array_length': {} has one element, got {}; a type that ends with _array has several".format(
            where, desc.type.name, desc.array_length))
    if (form == 1 and desc.height > 1) or (form != 3 and desc.depth > 1):
        raise _slangpy.ArgumentValueError("{}: {} has no {}, got {} x {} x {}".format(
            where, desc.type.name, "height" if form == 1 and desc.height > 1 else "depth", desc.width, desc.height, desc.depth))
    if form == 4 and desc.width != desc.height:
        raise _slangpy.ArgumentValueError("{}: expected a cube's width and height to be equal, got {} and {}".format(where, desc.width, desc.height))
    full = max(desc.width, desc.height, desc.depth).bit_length()
    if desc.mip_count in (0, ALL_MIPS):
        desc.mip_count = full
    if desc.mip_count > full:
        raise _slangpy.ArgumentValueError("{}: argument 'mip_count': the sizes have {} mip levels, got {}".format(where, full, desc.mip_count))
    uses = 0
    for flag, bit in _USES.items():
        uses |= bit if desc.usage & flag else 0
    support = _slangpy._format_support(device, desc.format)
    if desc.usage != TextureUsage.none:  # a texture that can be written can be read, too
        uses |= _COPIED | (support & _SAMPLED)
    if uses & (_STORED | _COLOR) & ~support and support and device.info.api_name == "CUDA":
        uses &= support | ~(_STORED | _COLOR)  # CUDA makes such textures, and refuses to write them and to draw
    if support & _COPIED and not support & _SAMPLED:
        uses &= ~_SAMPLED  # the texture takes and gives texels, and calls refuse to read it
    raw = None if data is None else _bytes_of(data, where)
    given = 0 if raw is None else memoryview(raw).nbytes
    layers = desc.array_length * (6 if form == 4 else 1)
    info = get_format_info(desc.format)
    size = -(-desc.width // info.block_width) * -(-desc.height // info.block_height) * desc.depth * info.bytes_per_block
    if raw is not None and given not in (size, layers * size):
        raise _slangpy.ArgumentValueError("{}: argument 'data': expected {} bytes, got {}".format(where, size * layers, given))
    whole = given == layers * size
    made = _slangpy._texture_make(Texture, device, form, desc.format, desc.width, desc.height if form > 1 else 0, desc.depth if form == 3 else 0,
                                  desc.array_length if array else 0, desc.mip_count, desc.sample_count, uses, raw if whole else None,
                                  desc.label or None)
    made._desc, made.sampler, made.label = desc, sampler, desc.label
    if raw is not None and not whole:
        _slangpy._texture_write(made, made._region(), raw)
    return made


_FILTERS = {TextureFilteringMode.point: 1, TextureFilteringMode.linear: 2}
_MODES = {TextureAddressingMode.wrap: 1, TextureAddressingMode.mirror_repeat: 2, TextureAddressingMode.clamp_to_edge: 3,
          TextureAddressingMode.clamp_to_border: 4, TextureAddressingMode.mirror_once: 5}
_REDUCTIONS = {TextureReductionOp.average: 0, TextureReductionOp.comparison: 0, TextureReductionOp.minimum: 2, TextureReductionOp.maximum: 3}


def create_sampler(device: Device, desc: SamplerDesc) -> Sampler:
    desc = _copied(SamplerDesc, desc)
    desc.min_filter, desc.mag_filter, desc.mip_filter = (TextureFilteringMode(f) for f in (desc.min_filter, desc.mag_filter, desc.mip_filter))
    desc.address_u, desc.address_v, desc.address_w = (TextureAddressingMode(m) for m in (desc.address_u, desc.address_v, desc.address_w))
    desc.reduction_op, desc.comparison_func = TextureReductionOp(desc.reduction_op), ComparisonFunc(desc.comparison_func)
    border = [float(desc.border_color)] * 4 if isinstance(desc.border_color, (int, float)) else [float(c) for c in desc.border_color]
    desc.border_color = _slangpy.float4(border)
    compare = int(desc.comparison_func) + 1 if desc.reduction_op == TextureReductionOp.comparison else 0
    # The library's 0 is "no limit": a small limit and no filter between levels stand for level 0 alone.
    most = 0.0 if desc.max_lod >= 1000 else max(desc.max_lod, 1e-6)
    mip_filter = desc.mip_filter if desc.max_lod > 0 else TextureFilteringMode.point
    made = _slangpy._sampler_make(
        Sampler, device, tuple(_FILTERS[f] for f in (desc.min_filter, desc.mag_filter, mip_filter)),
        tuple(_MODES[m] for m in (desc.address_u, desc.address_v, desc.address_w)), compare, _REDUCTIONS[desc.reduction_op],
        _index(desc.max_anisotropy, "max_anisotropy"), desc.mip_lod_bias, max(desc.min_lod, 0.0), most, tuple(border), desc.label or None)
    made._desc, made.label = desc, desc.label
    return made


def get_format_support(device: Device, format: Format) -> FormatSupport:
    bits, found, info = _slangpy._format_support(device, format), FormatSupport.none, get_format_info(format)
    for bit, support in (
            (_COPIED, FormatSupport.copy_source | FormatSupport.copy_destination), (_SAMPLED, FormatSupport.texture | FormatSupport.shader_load),
            (_FILTERED, FormatSupport.shader_sample), (_STORED, FormatSupport.shader_uav_load | FormatSupport.shader_uav_store),
            (_COLOR, FormatSupport.render_target), (_DEPTH, FormatSupport.depth_stencil), (_BLENDED, FormatSupport.blendable),
            (_MULTISAMPLED, FormatSupport.multisampling | FormatSupport.resolvable)):
        if bits & bit:
            found |= support
    if bits and Format(format).slang_type is not None:
        found |= FormatSupport.buffer | FormatSupport.vertex_buffer
    if bits & _STORED and format in (Format.r32_uint, Format.r32_sint):
        found |= FormatSupport.shader_atomic
    if format in (Format.r16_uint, Format.r32_uint):
        found |= FormatSupport.index_buffer
    return found


# >>results of calls

_RESULTS = {"float": "32_float", "half": "16_float", "float16_t": "16_float", "float32_t": "32_float", "uint8_t": "8_unorm", "uint16_t": "16_unorm",
            "int8_t": "8_snorm", "int16_t": "16_snorm", "uint": "32_uint", "uint32_t": "32_uint"}


def of_result(tensor: Tensor, encoder: CommandEncoder | None = None) -> Texture:
    """Returns a texture with the texels of a tensor that a call has made for `_result="texture"`."""
    sizes = tuple(tensor.shape)
    if not 1 <= len(sizes) <= 3:
        raise _slangpy.ArgumentValueError("argument '_result': 'texture' needs a call of 1 to 3 dimensions, got {}".format(len(sizes)))
    kind = tensor.dtype.struct
    count = kind.col_count if kind.kind.name == "vector" else 1
    end = _RESULTS.get(kind.scalar_type.name if kind.kind.name in ("scalar", "vector") else "") or _RESULTS.get(
        (kind.element_type or kind).full_name)
    if end is None:
        raise _slangpy.ArgumentValueError("argument '_result': 'texture' takes float, half, uint, 8 and 16 bit integers and vectors of them, got {}".format(
            kind.full_name))
    name = ["", "r", "rg", "rgb", "rgba"][count] + end
    depth, height, width = (1, 1, 1)[len(sizes):] + sizes
    type = (TextureType.texture_1d, TextureType.texture_2d, TextureType.texture_3d)[len(sizes) - 1]
    format = Format.__members__.get(name)
    if format is None:
        raise _slangpy.ArgumentValueError("argument '_result': 'texture': there is no format of texels of {}".format(kind.full_name))
    usage = TextureUsage.shader_resource
    if _slangpy._format_support(tensor.device, format) & _STORED:  # few devices can write textures of three channels
        usage |= TextureUsage.unordered_access
    texture = create_texture(tensor.device, TextureDesc(type=type, format=format, width=width, height=height, depth=depth, usage=usage), None, None)
    _slangpy._texture_copy_buffer(False, texture, texture._region(), tensor, 0, 0, encoder)
    return texture


def get_texture_shape(texture: Texture, mip: int = 0) -> Shape:
    """get_texture_shape(texture, mip=0): returns the sizes over which a call with the texture runs, as a Shape."""
    if isinstance(texture, Texture) and mip:
        texture = texture.create_view(mip=mip, mip_count=1)  # type: ignore[assignment]
    return Shape(_slangpy._texture_info(texture)[11])
