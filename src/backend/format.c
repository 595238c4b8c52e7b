// The table of texture formats and the properties of their texels.
#include "backend/image.h"

// The members of spy_format_info from `dtype` to `is_signed`, for each way in which channels are read:
// dtype, is_unorm, is_snorm, is_srgb, is_float, is_integer, is_signed.
#define SPYI_FORMAT_UNORM SPY_DTYPE_FLOAT32, true, false, false, false, false, false
#define SPYI_FORMAT_SRGB SPY_DTYPE_FLOAT32, true, false, true, false, false, false
#define SPYI_FORMAT_SNORM SPY_DTYPE_FLOAT32, false, true, false, false, false, true
#define SPYI_FORMAT_FLOAT SPY_DTYPE_FLOAT32, false, false, false, true, false, true
#define SPYI_FORMAT_UFLOAT SPY_DTYPE_FLOAT32, false, false, false, true, false, false
#define SPYI_FORMAT_UINT SPY_DTYPE_UINT32, false, false, false, false, true, false
#define SPYI_FORMAT_SINT SPY_DTYPE_INT32, false, false, false, false, true, true
#define SPYI_FORMAT_UINT64 SPY_DTYPE_UINT64, false, false, false, false, true, false
#define SPYI_FORMAT_SINT64 SPY_DTYPE_INT64, false, false, false, false, true, true
// The members has_depth, has_stencil and is_compressed.
#define SPYI_FORMAT_COLOR false, false, false
#define SPYI_FORMAT_DEPTH true, false, false
#define SPYI_FORMAT_DEPTH_STENCIL true, true, false
#define SPYI_FORMAT_BLOCKS false, false, true

// The formats by spy_format, from 1 on: name, bytes, width and height of a block, channels, their bits.
//
// clang-format off
static const spy_format_info spyi_formats[] = {
    { "r8_uint", 1, 1, 1, 1, { 8, 0, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "r8_sint", 1, 1, 1, 1, { 8, 0, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "r8_unorm", 1, 1, 1, 1, { 8, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "r8_snorm", 1, 1, 1, 1, { 8, 0, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "rg8_uint", 2, 1, 1, 2, { 8, 8, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rg8_sint", 2, 1, 1, 2, { 8, 8, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rg8_unorm", 2, 1, 1, 2, { 8, 8, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "rg8_snorm", 2, 1, 1, 2, { 8, 8, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "rgba8_uint", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rgba8_sint", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rgba8_unorm", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "rgba8_unorm_srgb", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_COLOR },
    { "rgba8_snorm", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "bgra8_unorm", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "bgra8_unorm_srgb", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_COLOR },
    { "bgrx8_unorm", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "bgrx8_unorm_srgb", 4, 1, 1, 4, { 8, 8, 8, 8 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_COLOR },
    { "r16_uint", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "r16_sint", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "r16_unorm", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "r16_snorm", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "r16_float", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "rg16_uint", 4, 1, 1, 2, { 16, 16, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rg16_sint", 4, 1, 1, 2, { 16, 16, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rg16_unorm", 4, 1, 1, 2, { 16, 16, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "rg16_snorm", 4, 1, 1, 2, { 16, 16, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "rg16_float", 4, 1, 1, 2, { 16, 16, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "rgba16_uint", 8, 1, 1, 4, { 16, 16, 16, 16 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rgba16_sint", 8, 1, 1, 4, { 16, 16, 16, 16 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rgba16_unorm", 8, 1, 1, 4, { 16, 16, 16, 16 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "rgba16_snorm", 8, 1, 1, 4, { 16, 16, 16, 16 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_COLOR },
    { "rgba16_float", 8, 1, 1, 4, { 16, 16, 16, 16 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "r32_uint", 4, 1, 1, 1, { 32, 0, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "r32_sint", 4, 1, 1, 1, { 32, 0, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "r32_float", 4, 1, 1, 1, { 32, 0, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "rg32_uint", 8, 1, 1, 2, { 32, 32, 0, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rg32_sint", 8, 1, 1, 2, { 32, 32, 0, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rg32_float", 8, 1, 1, 2, { 32, 32, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "rgb32_uint", 12, 1, 1, 3, { 32, 32, 32, 0 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rgb32_sint", 12, 1, 1, 3, { 32, 32, 32, 0 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rgb32_float", 12, 1, 1, 3, { 32, 32, 32, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "rgba32_uint", 16, 1, 1, 4, { 32, 32, 32, 32 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rgba32_sint", 16, 1, 1, 4, { 32, 32, 32, 32 }, SPYI_FORMAT_SINT, SPYI_FORMAT_COLOR },
    { "rgba32_float", 16, 1, 1, 4, { 32, 32, 32, 32 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_COLOR },
    { "r64_uint", 8, 1, 1, 1, { 64, 0, 0, 0 }, SPYI_FORMAT_UINT64, SPYI_FORMAT_COLOR },
    { "r64_sint", 8, 1, 1, 1, { 64, 0, 0, 0 }, SPYI_FORMAT_SINT64, SPYI_FORMAT_COLOR },
    { "bgra4_unorm", 2, 1, 1, 4, { 4, 4, 4, 4 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "b5g6r5_unorm", 2, 1, 1, 3, { 5, 6, 5, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "bgr5a1_unorm", 2, 1, 1, 4, { 5, 5, 5, 1 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "rgb9e5_ufloat", 4, 1, 1, 3, { 9, 9, 9, 5 }, SPYI_FORMAT_UFLOAT, SPYI_FORMAT_COLOR },
    { "rgb10a2_uint", 4, 1, 1, 4, { 10, 10, 10, 2 }, SPYI_FORMAT_UINT, SPYI_FORMAT_COLOR },
    { "rgb10a2_unorm", 4, 1, 1, 4, { 10, 10, 10, 2 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_COLOR },
    { "r11g11b10_float", 4, 1, 1, 3, { 11, 11, 10, 0 }, SPYI_FORMAT_UFLOAT, SPYI_FORMAT_COLOR },
    { "d32_float", 4, 1, 1, 1, { 32, 0, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_DEPTH },
    { "d16_unorm", 2, 1, 1, 1, { 16, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_DEPTH },
    { "d32_float_s8_uint", 8, 1, 1, 2, { 32, 8, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_DEPTH_STENCIL },
    { "bc1_unorm", 8, 4, 4, 4, { 64, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc1_unorm_srgb", 8, 4, 4, 4, { 64, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "bc2_unorm", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc2_unorm_srgb", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "bc3_unorm", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc3_unorm_srgb", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "bc4_unorm", 8, 4, 4, 1, { 64, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc4_snorm", 8, 4, 4, 1, { 64, 0, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_BLOCKS },
    { "bc5_unorm", 16, 4, 4, 2, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc5_snorm", 16, 4, 4, 2, { 128, 0, 0, 0 }, SPYI_FORMAT_SNORM, SPYI_FORMAT_BLOCKS },
    { "bc6h_ufloat", 16, 4, 4, 3, { 128, 0, 0, 0 }, SPYI_FORMAT_UFLOAT, SPYI_FORMAT_BLOCKS },
    { "bc6h_sfloat", 16, 4, 4, 3, { 128, 0, 0, 0 }, SPYI_FORMAT_FLOAT, SPYI_FORMAT_BLOCKS },
    { "bc7_unorm", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "bc7_unorm_srgb", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "astc4x4_unorm", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "astc4x4_unorm_srgb", 16, 4, 4, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "astc6x6_unorm", 16, 6, 6, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "astc6x6_unorm_srgb", 16, 6, 6, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },
    { "astc8x8_unorm", 16, 8, 8, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_UNORM, SPYI_FORMAT_BLOCKS },
    { "astc8x8_unorm_srgb", 16, 8, 8, 4, { 128, 0, 0, 0 }, SPYI_FORMAT_SRGB, SPYI_FORMAT_BLOCKS },};
// clang-format on

typedef char
    spyi_formats_complete[sizeof spyi_formats / sizeof spyi_formats[0] == SPY_FORMAT_COUNT - 1 ? 1 : -1];

#undef SPYI_FORMAT_UNORM
#undef SPYI_FORMAT_SRGB
#undef SPYI_FORMAT_SNORM
#undef SPYI_FORMAT_FLOAT
#undef SPYI_FORMAT_UFLOAT
#undef SPYI_FORMAT_UINT
#undef SPYI_FORMAT_SINT
#undef SPYI_FORMAT_UINT64
#undef SPYI_FORMAT_SINT64
#undef SPYI_FORMAT_COLOR
#undef SPYI_FORMAT_DEPTH
#undef SPYI_FORMAT_DEPTH_STENCIL
#undef SPYI_FORMAT_BLOCKS

SPYI_FN const spy_format_info *spyi_format(uint32_t format) {
    return format > SPY_FORMAT_NONE && format < SPY_FORMAT_COUNT ? &spyi_formats[format - 1] : NULL;
}

spy_format_info spy_get_format_info(spy_format format) {
    const spy_format_info *found = spyi_format((uint32_t)format);
    spy_format_info none;
    memset(&none, 0, sizeof none);
    return found ? *found : none;
}

SPYI_FN uint64_t spyi_texels_size(uint32_t format, uint32_t width, uint32_t height, uint32_t depth,
                                  uint32_t layers) {
    const spy_format_info *f = spyi_format(format);
    uint64_t row = ((uint64_t)width + f->block_width - 1) / f->block_width * f->block_bytes;
    uint64_t rows = ((uint64_t)height + f->block_height - 1) / f->block_height;
    return row * rows * depth * layers;
}
