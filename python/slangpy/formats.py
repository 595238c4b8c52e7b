"""The properties of each Format under SlangPy's names: get_format_info(), FormatInfo, and their enums."""
from __future__ import annotations

import re

from .enums import Format, _IntEnum, _IntFlag, _lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FormatChannels", "FormatInfo", "FormatSupport", "FormatType", "get_format_info"]


class FormatType(_IntEnum):
    """What the bits of a format's channels mean."""

    unknown = 0
    float = 1
    unorm = 2
    unorm_srgb = 3
    snorm = 4
    uint = 5
    sint = 6


class FormatChannels(_IntFlag):
    """Channels of a format."""

    none = 0
    r = 1
    g = 2
    b = 4
    a = 8
    rg = 3
    rgb = 7
    rgba = 15


class FormatSupport(_IntFlag):
    """What a device can do with a format."""

    none = 0
    copy_source = 1
    copy_destination = 2
    texture = 4
    depth_stencil = 8
    render_target = 16
    blendable = 32
    multisampling = 64
    resolvable = 128
    shader_load = 256
    shader_sample = 512
    shader_uav_load = 1024
    shader_uav_store = 2048
    shader_atomic = 4096
    buffer = 8192
    index_buffer = 16384
    vertex_buffer = 32768


# Name, DXGI's number and Vulkan's number of each format, in the order of Format, as SlangPy tells them; 0 means none. Images of the packed
# formats, bgrx8 and bc1 have another VkFormat (spyi_vk_format()), whose channels lie as DXGI's format says.
_NUMBERS = [
    ("r8_uint", 62, 13), ("r8_sint", 64, 14), ("r8_unorm", 61, 9), ("r8_snorm", 63, 10),
    ("rg8_uint", 50, 20), ("rg8_sint", 52, 21), ("rg8_unorm", 49, 16), ("rg8_snorm", 51, 17),
    ("rgba8_uint", 30, 41), ("rgba8_sint", 32, 42), ("rgba8_unorm", 28, 37), ("rgba8_unorm_srgb", 29, 43),
    ("rgba8_snorm", 31, 38), ("bgra8_unorm", 87, 44), ("bgra8_unorm_srgb", 91, 50), ("bgrx8_unorm", 88, 0),
    ("bgrx8_unorm_srgb", 93, 0), ("r16_uint", 57, 74), ("r16_sint", 59, 75), ("r16_unorm", 56, 70),
    ("r16_snorm", 58, 71), ("r16_float", 54, 76), ("rg16_uint", 36, 81), ("rg16_sint", 38, 82),
    ("rg16_unorm", 35, 77), ("rg16_snorm", 37, 78), ("rg16_float", 34, 83), ("rgba16_uint", 12, 95),
    ("rgba16_sint", 14, 96), ("rgba16_unorm", 11, 91), ("rgba16_snorm", 13, 92), ("rgba16_float", 10, 97),
    ("r32_uint", 42, 98), ("r32_sint", 43, 99), ("r32_float", 41, 100), ("rg32_uint", 17, 101),
    ("rg32_sint", 18, 102), ("rg32_float", 16, 103), ("rgb32_uint", 7, 104), ("rgb32_sint", 8, 105),
    ("rgb32_float", 6, 106), ("rgba32_uint", 3, 107), ("rgba32_sint", 4, 108), ("rgba32_float", 2, 109),
    ("r64_uint", 0, 110), ("r64_sint", 0, 111), ("bgra4_unorm", 115, 3), ("b5g6r5_unorm", 85, 5),
    ("bgr5a1_unorm", 86, 7), ("rgb9e5_ufloat", 67, 123), ("rgb10a2_uint", 25, 62), ("rgb10a2_unorm", 24, 64),
    ("r11g11b10_float", 26, 122), ("d32_float", 40, 126), ("d16_unorm", 55, 124), ("d32_float_s8_uint", 20, 130),
    ("bc1_unorm", 71, 131), ("bc1_unorm_srgb", 72, 132), ("bc2_unorm", 74, 135), ("bc2_unorm_srgb", 75, 136),
    ("bc3_unorm", 77, 137), ("bc3_unorm_srgb", 78, 138), ("bc4_unorm", 80, 139), ("bc4_snorm", 81, 140),
    ("bc5_unorm", 83, 141), ("bc5_snorm", 84, 142), ("bc6h_ufloat", 95, 143), ("bc6h_sfloat", 96, 144),
    ("bc7_unorm", 98, 145), ("bc7_unorm_srgb", 99, 146), ("astc4x4_unorm", 0, 157), ("astc4x4_unorm_srgb", 0, 158),
    ("astc6x6_unorm", 0, 165), ("astc6x6_unorm_srgb", 0, 166), ("astc8x8_unorm", 0, 171), ("astc8x8_unorm_srgb", 0, 172),
]
# The bits of the channels of formats whose name does not tell them.
_BITS = {
    "bgra4": [4, 4, 4, 4], "b5g6r5": [5, 6, 5, 0], "bgr5a1": [5, 5, 5, 1], "rgb9e5": [9, 9, 9, 5], "rgb10a2": [10, 10, 10, 2],
    "r11g11b10": [11, 11, 10, 0], "d32": [32, 0, 0, 0], "d16": [16, 0, 0, 0], "bc1": [64, 0, 0, 0], "bc4": [64, 0, 0, 0],
}
_CHANNELS = {"rgb9e5": 3, "r11g11b10": 3, "b5g6r5": 3, "d32": 1, "d16": 1, "bc4": 1, "bc5": 2, "bc6h": 3, "bgrx8": 4}


class FormatInfo:
    """The properties of a Format: its channels, their bits, the size of a block, and the numbers of Vulkan and DXGI."""

    format: Format
    name: str
    bytes_per_block: int
    channel_count: int
    type: FormatType
    is_depth: bool
    is_stencil: bool
    is_compressed: bool
    block_width: int
    block_height: int
    channel_bit_count: list[int]
    dxgi_format: int
    vk_format: int

    def __init__(self, format: Format = Format.undefined) -> None:
        self.format = format
        self.name, self.dxgi_format, self.vk_format = ("undefined", 0, 0) if format == 0 else _NUMBERS[format - 1]
        stem = self.name.split("_")[0]
        kind = re.sub("_s8.*|ufloat|sfloat", lambda m: "" if m[0][0] == "_" else "float", self.name).partition("_")[2]
        self.type = FormatType.__members__.get(kind, FormatType.unknown)
        self.is_depth, self.is_stencil, self.is_compressed = stem.startswith("d"), "_s8_" in self.name, stem.startswith(("bc", "astc"))
        size = int(stem[-1]) if stem.startswith("astc") else 4 if self.is_compressed else 1
        self.block_width = self.block_height = size if format != Format.undefined else 0
        plain = re.fullmatch("([rgbax]+)(8|16|32|64)", stem)
        if plain:
            self.channel_count = len(plain[1])
            self.channel_bit_count = ([int(plain[2])] * self.channel_count + [0, 0, 0])[:4]
        else:
            self.channel_bit_count = list(_BITS.get(stem, [128, 0, 0, 0] if self.is_compressed else [0, 0, 0, 0]))
            self.channel_count = _CHANNELS.get(stem, 4 if format != Format.undefined else 0)
        if self.is_stencil:
            self.channel_count, self.channel_bit_count = 2, [32, 8, 0, 0]
        self.bytes_per_block = 8 if self.is_stencil else sum(self.channel_bit_count) // 8

    def is_depth_stencil(self) -> bool:
        """is_depth_stencil(): returns whether the format has depth or stencil."""
        return self.is_depth or self.is_stencil

    def is_float_format(self) -> bool:
        """is_float_format(): returns whether the channels are floats."""
        return self.type == FormatType.float

    def is_integer_format(self) -> bool:
        """is_integer_format(): returns whether the channels are integers."""
        return self.type in (FormatType.uint, FormatType.sint)

    def is_normalized_format(self) -> bool:
        """is_normalized_format(): returns whether the channels are integers that stand for 0 to 1, or -1 to 1."""
        return self.type in (FormatType.unorm, FormatType.unorm_srgb, FormatType.snorm)

    def is_srgb_format(self) -> bool:
        """is_srgb_format(): returns whether the colors are in sRGB."""
        return self.type == FormatType.unorm_srgb

    def get_channels(self) -> FormatChannels:
        """get_channels(): returns the channels of the format."""
        return FormatChannels((1 << self.channel_count) - 1)

    def get_channel_bits(self, channels: FormatChannels) -> int:
        """get_channel_bits(channels): returns the sum of the bits of these channels."""
        return sum(bits for i, bits in enumerate(self.channel_bit_count) if channels >> i & 1)

    def has_equal_channel_bits(self) -> bool:
        """has_equal_channel_bits(): returns whether all channels have the same number of bits."""
        return len(set(self.channel_bit_count[:self.channel_count])) <= 1

    def _numpy(self) -> tuple[Any, int]:
        """Returns the numpy dtype of a channel and the number of channels; bytes for formats without such a dtype."""
        bits = self.channel_bit_count[0]
        if self.is_compressed or self.is_stencil or not self.has_equal_channel_bits() or bits not in (8, 16, 32, 64):
            return "u1", 1
        letter = {FormatType.float: "f", FormatType.sint: "i", FormatType.snorm: "i"}.get(self.type, "u")
        return "{}{}".format(letter, bits // 8), self.channel_count

    def __repr__(self) -> str:
        words = ("format", "bytes_per_block", "channel_count", "type", "is_depth", "is_stencil", "is_compressed", "block_width",
                 "block_height", "channel_bit_count", "dxgi_format", "vk_format")
        return _lines("FormatInfo", **{w: getattr(self, w) for w in words})


def get_format_info(format: Format) -> FormatInfo:
    """get_format_info(format): returns the FormatInfo of a Format."""
    return FormatInfo(Format(format))
