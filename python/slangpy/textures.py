"""Enums and descriptions of textures, texture views and samplers: plain data under SlangPy's names."""
from __future__ import annotations

from ._slangpy import float3x4, float4, uint3
from .enums import _Desc, _IntEnum, _IntFlag, Format, MemoryType, ResourceState

TYPE_CHECKING = False

__all__ = [
    "ALL_LAYERS", "ALL_MIPS", "ComparisonFunc", "SamplerDesc", "SubresourceLayout", "SubresourceRange", "TextureAddressingMode",
    "TextureAspect", "TextureDesc", "TextureFilteringMode", "TextureReductionOp", "TextureType", "TextureUsage", "TextureViewDesc",
    "YAHandling",
]

ALL_LAYERS = 0xFFFFFFFF
ALL_MIPS = 0xFFFFFFFF


class ComparisonFunc(_IntEnum):
    """The comparison of a sampler or a depth test."""

    never = 0
    less = 1
    equal = 2
    less_equal = 3
    greater = 4
    not_equal = 5
    greater_equal = 6
    always = 7


class TextureFilteringMode(_IntEnum):
    """The filter of a sampler."""

    point = 0
    linear = 1


class TextureAddressingMode(_IntEnum):
    """The values that a sampler gives outside of a texture."""

    wrap = 0
    clamp_to_edge = 1
    clamp_to_border = 2
    mirror_repeat = 3
    mirror_once = 4


class TextureReductionOp(_IntEnum):
    """The way in which a sampler combines texels."""

    average = 0
    comparison = 1
    minimum = 2
    maximum = 3


class TextureUsage(_IntFlag):
    """The uses of a texture."""

    none = 0
    shader_resource = 1
    unordered_access = 2
    render_target = 4
    depth_stencil = 8
    present = 16
    copy_source = 32
    copy_destination = 64
    resolve_source = 128
    resolve_destination = 256
    typeless = 512
    shared = 1024


class TextureType(_IntEnum):
    """The form of a texture."""

    texture_1d = 0
    texture_1d_array = 1
    texture_2d = 2
    texture_2d_array = 3
    texture_2d_ms = 4
    texture_2d_ms_array = 5
    texture_3d = 6
    texture_cube = 7
    texture_cube_array = 8


class TextureAspect(_IntEnum):
    """The part of a texture that a view shows."""

    all = 0
    depth_only = 1
    stencil_only = 2


class YAHandling(_IntEnum):
    """How images with one channel and alpha are converted."""

    expand_to_rgba = 0
    preserve_as_rg = 1


class _Data(_Desc):
    """The base class of descriptions of textures, views and samplers. A field that is a description may be given as a dict;
    objects do not share such fields. Fields may also be given in their order."""

    if not TYPE_CHECKING:

        def __init_subclass__(cls):
            cls._fields = {name: getattr(cls, name) for name in cls.__annotations__}

        def __init__(self, *args, **kwargs):
            if len(args) == 1 and isinstance(args[0], (dict, type(self))):
                kwargs = {**(args[0] if isinstance(args[0], dict) else vars(args[0])), **kwargs}
            elif len(args) > len(self._fields):
                raise TypeError("{}: expected at most {} arguments, got {}".format(type(self).__name__, len(self._fields), len(args)))
            else:
                kwargs = {**dict(zip(self._fields, args)), **kwargs}
            super().__init__(None, **kwargs)
            for name, default in self._fields.items():
                value = getattr(self, name)
                if isinstance(default, _Data) and (value is default or isinstance(value, dict)):
                    setattr(self, name, type(default)(value))
                elif isinstance(default, (uint3, float4, float3x4)) and (value is default or isinstance(value, (list, tuple))):
                    setattr(self, name, type(default)(value))


class SubresourceRange(_Data):
    """Layers and mip levels of a texture."""

    layer: int = 0
    layer_count: int = ALL_LAYERS
    mip: int = 0
    mip_count: int = ALL_MIPS

    def __repr__(self) -> str:
        return super().__repr__()[:-1]  # SlangPy's text has no bracket at its end


class TextureDesc(_Data):
    """All arguments of Device.create_texture() as one value."""

    type: TextureType = TextureType.texture_2d
    format: Format = Format.undefined
    width: int = 1
    height: int = 1
    depth: int = 1
    array_length: int = 1
    mip_count: int = 1
    sample_count: int = 1
    sample_quality: int = 0
    memory_type: MemoryType = MemoryType.device_local
    usage: TextureUsage = TextureUsage.none
    default_state: ResourceState = ResourceState.undefined
    label: str = ""


class TextureViewDesc(_Data):
    """All arguments of Texture.create_view() as one value."""

    format: Format = Format.undefined
    aspect: TextureAspect = TextureAspect.all
    subresource_range: SubresourceRange = SubresourceRange()
    label: str = ""


class SubresourceLayout(_Data):
    """The layout of a mip level of a texture in memory."""

    size: uint3 = uint3(0)
    col_pitch: int = 0
    row_pitch: int = 0
    slice_pitch: int = 0
    size_in_bytes: int = 0
    block_width: int = 0
    block_height: int = 0
    row_count: int = 0


class SamplerDesc(_Data):
    """All arguments of Device.create_sampler() as one value."""

    min_filter: TextureFilteringMode = TextureFilteringMode.linear
    mag_filter: TextureFilteringMode = TextureFilteringMode.linear
    mip_filter: TextureFilteringMode = TextureFilteringMode.linear
    reduction_op: TextureReductionOp = TextureReductionOp.average
    address_u: TextureAddressingMode = TextureAddressingMode.wrap
    address_v: TextureAddressingMode = TextureAddressingMode.wrap
    address_w: TextureAddressingMode = TextureAddressingMode.wrap
    mip_lod_bias: float = 0.0
    max_anisotropy: int = 1
    comparison_func: ComparisonFunc = ComparisonFunc.never
    border_color: float4 = float4(1, 1, 1, 1)
    min_lod: float = -1000.0
    max_lod: float = 1000.0
    label: str = ""
