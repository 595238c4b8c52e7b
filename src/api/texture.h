// Textures: images in device memory, with samplers, copies, and arguments.
#ifndef SPY_API_TEXTURE_H
#define SPY_API_TEXTURE_H

#include "api/list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_texture spy_texture; // a texture, or a view of some of its levels and layers
typedef struct spy_sampler spy_sampler;

// The format of a texel: its channels, their bits, and how they are read. unorm and snorm are read as floats
// from 0 and from -1 to 1; _srgb also converts to linear colours. The numbers are those of SlangPy's Format.
typedef enum spy_format {
    SPY_FORMAT_NONE = 0,
    SPY_FORMAT_R8_UINT,
    SPY_FORMAT_R8_SINT,
    SPY_FORMAT_R8_UNORM,
    SPY_FORMAT_R8_SNORM,
    SPY_FORMAT_RG8_UINT,
    SPY_FORMAT_RG8_SINT,
    SPY_FORMAT_RG8_UNORM,
    SPY_FORMAT_RG8_SNORM,
    SPY_FORMAT_RGBA8_UINT,
    SPY_FORMAT_RGBA8_SINT,
    SPY_FORMAT_RGBA8_UNORM,
    SPY_FORMAT_RGBA8_UNORM_SRGB,
    SPY_FORMAT_RGBA8_SNORM,
    SPY_FORMAT_BGRA8_UNORM,
    SPY_FORMAT_BGRA8_UNORM_SRGB,
    SPY_FORMAT_BGRX8_UNORM,
    SPY_FORMAT_BGRX8_UNORM_SRGB,
    SPY_FORMAT_R16_UINT,
    SPY_FORMAT_R16_SINT,
    SPY_FORMAT_R16_UNORM,
    SPY_FORMAT_R16_SNORM,
    SPY_FORMAT_R16_FLOAT,
    SPY_FORMAT_RG16_UINT,
    SPY_FORMAT_RG16_SINT,
    SPY_FORMAT_RG16_UNORM,
    SPY_FORMAT_RG16_SNORM,
    SPY_FORMAT_RG16_FLOAT,
    SPY_FORMAT_RGBA16_UINT,
    SPY_FORMAT_RGBA16_SINT,
    SPY_FORMAT_RGBA16_UNORM,
    SPY_FORMAT_RGBA16_SNORM,
    SPY_FORMAT_RGBA16_FLOAT,
    SPY_FORMAT_R32_UINT,
    SPY_FORMAT_R32_SINT,
    SPY_FORMAT_R32_FLOAT,
    SPY_FORMAT_RG32_UINT,
    SPY_FORMAT_RG32_SINT,
    SPY_FORMAT_RG32_FLOAT,
    SPY_FORMAT_RGB32_UINT,
    SPY_FORMAT_RGB32_SINT,
    SPY_FORMAT_RGB32_FLOAT,
    SPY_FORMAT_RGBA32_UINT,
    SPY_FORMAT_RGBA32_SINT,
    SPY_FORMAT_RGBA32_FLOAT,
    SPY_FORMAT_R64_UINT,
    SPY_FORMAT_R64_SINT,
    SPY_FORMAT_BGRA4_UNORM,
    SPY_FORMAT_B5G6R5_UNORM,
    SPY_FORMAT_BGR5A1_UNORM,
    SPY_FORMAT_RGB9E5_UFLOAT,
    SPY_FORMAT_RGB10A2_UINT,
    SPY_FORMAT_RGB10A2_UNORM,
    SPY_FORMAT_R11G11B10_FLOAT,
    SPY_FORMAT_D32_FLOAT,
    SPY_FORMAT_D16_UNORM,
    SPY_FORMAT_D32_FLOAT_S8_UINT,
    SPY_FORMAT_BC1_UNORM,
    SPY_FORMAT_BC1_UNORM_SRGB,
    SPY_FORMAT_BC2_UNORM,
    SPY_FORMAT_BC2_UNORM_SRGB,
    SPY_FORMAT_BC3_UNORM,
    SPY_FORMAT_BC3_UNORM_SRGB,
    SPY_FORMAT_BC4_UNORM,
    SPY_FORMAT_BC4_SNORM,
    SPY_FORMAT_BC5_UNORM,
    SPY_FORMAT_BC5_SNORM,
    SPY_FORMAT_BC6H_UFLOAT,
    SPY_FORMAT_BC6H_SFLOAT,
    SPY_FORMAT_BC7_UNORM,
    SPY_FORMAT_BC7_UNORM_SRGB,
    SPY_FORMAT_ASTC4X4_UNORM,
    SPY_FORMAT_ASTC4X4_UNORM_SRGB,
    SPY_FORMAT_ASTC6X6_UNORM,
    SPY_FORMAT_ASTC6X6_UNORM_SRGB,
    SPY_FORMAT_ASTC8X8_UNORM,
    SPY_FORMAT_ASTC8X8_UNORM_SRGB,
    SPY_FORMAT_COUNT
} spy_format;

// The dimensions of a texture. spy_texture_desc.array_size adds layers.
typedef enum spy_texture_type {
    SPY_TEXTURE_TYPE_DEFAULT, // same as 2D
    SPY_TEXTURE_TYPE_1D,
    SPY_TEXTURE_TYPE_2D,
    SPY_TEXTURE_TYPE_3D,
    SPY_TEXTURE_TYPE_CUBE, // six square layers: +x, -x, +y, -y, +z, -z
    SPY_TEXTURE_TYPE_COUNT
} spy_texture_type;

// Uses of a texture; spy_format_support() returns the uses that a format supports on a device.
typedef enum spy_texture_usage {
    SPY_TEXTURE_USAGE_DEFAULT = 0,      // SAMPLED, and also STORED if the device supports it for this format
    SPY_TEXTURE_USAGE_SAMPLED = 1 << 0, // Texture2D<T> parameters: loads, samples
    SPY_TEXTURE_USAGE_STORED = 1 << 1,  // RWTexture2D<T> parameters: loads and stores
    SPY_TEXTURE_USAGE_COPIED = 1 << 2,  // copies, reads and writes by the host, clears, blits; always set
    SPY_TEXTURE_USAGE_COLOR_TARGET = 1 << 3, // colour target of draws
    SPY_TEXTURE_USAGE_DEPTH_TARGET = 1 << 4, // target of depth and stencil tests
    // The next values are only for formats, in spy_format_support().
    SPY_TEXTURE_USAGE_FILTERED = 1 << 5, // linear filters
    SPY_TEXTURE_USAGE_BLENDED = 1 << 6,  // blending of colour targets
    SPY_TEXTURE_USAGE_MULTISAMPLED = 1 << 7
} spy_texture_usage;

#define SPY_ALL_LEVELS UINT32_MAX // levels down to one texel

// Options of a new texture. All zero except for the format means a 2-D texture of one texel.
typedef struct spy_texture_desc {
    spy_texture_type type;
    spy_format format;             // required
    uint32_t width, height, depth; // the sizes of level 0 in texels; 0 means 1. A 1-D texture has no height,
                                   // and only a 3-D one has a depth
    // Layers of an array, or cubes of an array of cubes, which has 6 layers for each; 0 means no array. An
    // array of one layer differs from a texture that is no array.
    uint32_t array_size;
    uint32_t levels;  // the number of mip levels, each half the size of the one before, or SPY_ALL_LEVELS; 0
                      // means 1
    uint32_t samples; // samples of a texel: 2, 4, 8 ... for a multisampled 2-D texture; 0 means 1
    uint32_t usage;   // SPY_TEXTURE_USAGE_*; 0 means SAMPLED, and STORED too if the device can store to this
                      // format
    const void *data; // texels of level 0, layer after layer, rows without gaps; copied; NULL means undefined
    size_t data_size_bytes; // the bytes of data; 0 means the size of that level
    bool with_grad;         // also make a zeroed gradient: spy_texture_grad()
    const char *label;      // the name in debug tools and messages
    uint64_t _end_canary;   // must be 0, like all unset members: detects a struct that was not zeroed
} spy_texture_desc;

// The part of a texture that a view shows, and its format. All zero means all of the texture in its own
// format.
typedef struct spy_texture_view_desc {
    spy_format format;     // NONE means the texture's format; otherwise a format with the same number of
                           // bits, which may differ in _srgb
    uint32_t level, layer; // the first level and the first layer of the view
    uint32_t level_count;  // 0 means all from `level` on
    uint32_t
        layer_count; // 0 means all from `layer` on, and the type stays. Otherwise 1 layer is a plain 1-D or
                     // 2-D texture and several are an array, except for a multiple of 6 layers of a cube
    bool with_grad;  // the view gets a zeroed gradient of its own; otherwise it has none
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_texture_view_desc;

// A box of texels of one level. All zero means all of level 0.
typedef struct spy_texture_region {
    uint32_t level;
    uint32_t layer, layer_count;   // layer_count 0 means all layers from `layer` on
    uint32_t x, y, z;              // the position of the first texel, in multiples of the format's block
    uint32_t width, height, depth; // the size in texels; 0 means to the end
} spy_texture_region;

// Describes a texture or a view.
typedef struct spy_texture_info {
    spy_texture_type type; // never DEFAULT
    spy_format format;
    uint32_t width, height, depth; // texels of the view's first level
    uint32_t array_size;           // the array_size of the texture's desc
    uint32_t layer_count;          // layers, 6 for each cube
    uint32_t levels, samples, usage;
    uint32_t first_level, first_layer; // for a view: its first level and layer in the texture that it was
                                       // made from
    spy_dtype dtype;                   // scalar type of a texel in Slang code
    uint32_t columns;                  // the number of a texel's scalars in Slang code, 1 to 4
    spy_shape shape;   // sizes over which a call with the texture runs: [layer,] [depth,] height, width
    size_t size_bytes; // the bytes of all layers of the first level, with rows without gaps
    const char *label; // the name in debug tools and messages, or ""
} spy_texture_info;

// Creates a texture. Returns NULL on failure. The caller releases it, or it is released with the device.
// Threads: any.
SPY_API spy_texture *spy_create_texture(spy_device *device, const spy_texture_desc *desc);
// Returns a texture over a part of another one, which it keeps alive. Returns NULL on failure. The caller
// releases it. Threads: any.
SPY_API spy_texture *spy_texture_view(spy_texture *texture, const spy_texture_view_desc *desc);
// Adds one reference to the texture, which then needs one more release. Threads: any.
SPY_API void spy_retain_texture(spy_texture *texture);
// Drops one reference; the last one frees the texture once the GPU no longer uses it. NULL is ignored. Threads:
// any, at any time.
SPY_API void spy_release_texture(spy_texture *texture);
// Describes the texture; all zero for NULL. `label` lives as long as the texture. Threads: any.
SPY_API spy_texture_info spy_get_texture_info(spy_texture *texture);

// Returns the texture's VkImage, or its CUarray or (with several levels) CUmipmappedArray, for code that
// calls the driver beside the library; 0 on failure. A view returns the image of the texture that it was made
// from. The driver's object lives as long as the library's object, and the caller orders work on it. Threads:
// any.
SPY_API uint64_t spy_texture_native_image(spy_texture *texture);
// Returns the VkImageView, or CUDA's texture object without a sampler, by which kernels read the texture or view. It
// must be SAMPLED. Threads: any.
SPY_API uint64_t spy_texture_native_view(spy_texture *texture);

// Copies texels to and from host memory: layer after layer, slice after slice, rows without gaps, each texel
// in its format. `region` NULL means all of level 0. size_bytes must be the region's size. write: `data` may
// change after the return. read: waits for exactly the work that writes the texture. Threads: any.
SPY_API spy_status spy_texture_write(spy_texture *texture, const spy_texture_region *region, const void *data,
                                     size_t size_bytes);
SPY_API spy_status spy_texture_read(spy_texture *texture, const spy_texture_region *region, void *data,
                                    size_t size_bytes);
// Copies texels between textures whose formats have the same number of bits. The regions have the same sizes;
// a size of 0 in one region takes the size of the other. NULL means all of level 0. Threads: any.
SPY_API spy_status spy_texture_copy(spy_texture *to, const spy_texture_region *to_region, spy_texture *from,
                                    const spy_texture_region *from_region);
// Copy texels to and from a tensor, from its element `offset_bytes` on, without a trip through the host. Rows
// lie row_pitch_bytes apart (0 means without gaps), and slices and layers as many rows apart as the region
// has. The tensor's elements lie next to each other; what type they have does not matter. Threads: any.
SPY_API spy_status spy_texture_copy_from_tensor(spy_texture *to, const spy_texture_region *region,
                                                spy_tensor *tensor, size_t offset_bytes,
                                                size_t row_pitch_bytes);
SPY_API spy_status spy_texture_copy_to_tensor(spy_texture *from, const spy_texture_region *region,
                                              spy_tensor *tensor, size_t offset_bytes,
                                              size_t row_pitch_bytes);

// The colour that a texture is cleared with. The texture's format decides which member is read.
typedef union spy_clear_color {
    float floats[4]; // for float, unorm and snorm formats
    uint32_t uints[4];
    int32_t ints[4];
} spy_clear_color;
// Set all texels of all levels and layers. clear_depth is for depth formats; it ignores `stencil` if the
// format has none. Threads: any.
SPY_API spy_status spy_texture_clear(spy_texture *texture, spy_clear_color color);
SPY_API spy_status spy_texture_clear_depth(spy_texture *texture, float depth, uint32_t stencil);

// The computation of a value between texels.
typedef enum spy_filter {
    SPY_FILTER_DEFAULT, // same as linear; nearest for blits of integers and depth
    SPY_FILTER_NEAREST,
    SPY_FILTER_LINEAR
} spy_filter;

// Scales the first level of `from` to that of `to`, layer by layer, and converts formats. Threads: any.
SPY_API spy_status spy_texture_blit(spy_texture *to, spy_texture *from, spy_filter filter);
// Makes each level from the one before it, by averages. Threads: any.
SPY_API spy_status spy_texture_generate_mips(spy_texture *texture);
// Averages the samples of a multisampled texture. Threads: any.
SPY_API spy_status spy_texture_resolve(spy_texture *to, spy_texture *from);

// >>gradients
// A texture with a gradient (desc.with_grad) can be sampled by functions that are differentiated, in a text
// with `import slangpy;`: by SampleLevel(), Sample(), Load() and t[...] of Texture1D, 2D, 3D, Cube and
// 2DArray<T>. The call may have one sampler, which must be an argument and not a global, and one texture of
// each type. For more textures and samplers, the parameters are DiffTexture2D<T> (1D, 3D, Cube, 1DArray,
// 2DArray and CubeArray likewise) and DiffSamplerState, which take the same arguments and have the same
// calls. A backward call adds to the gradient of each texel that was read, by its weight: filters, levels and
// address modes are those of the sampler. uv and level have gradients, too. A texture without a gradient is a
// constant. For a parameter of its texels' type, a texture with a gradient behaves as a tensor with a
// gradient. Gradients are those of the values that shaders read: linear colours for _srgb formats, 0 to 1 for
// unorm. Sums are made by atomic additions, in no fixed order; spy_call_options.deterministic gives the same
// bits in each run.

// Returns the gradient of one level: a tensor of floats, as many for a texel as the format has channels, of the level's
// shape (spy_texture_info.shape). The levels lie one after another in one piece of memory. NULL, without an error, if
// the texture has no gradient. Borrowed: it lives as long as the texture. Threads: any.
SPY_API spy_tensor *spy_texture_grad(spy_texture *texture, uint32_t level);
// Sets the gradients of all levels to zero. Threads: any.
SPY_API spy_status spy_texture_zero_grad(spy_texture *texture);

// >>recording

// These functions record the work of spy_texture_write() and of the other functions without `list` in their
// names into a command list, like spy_list_copy(). The arguments are the same. `data` is copied when they are
// called. Threads: any.
SPY_API spy_status spy_list_texture_write(spy_command_list *list, spy_texture *texture,
                                          const spy_texture_region *region, const void *data,
                                          size_t size_bytes);
SPY_API spy_status spy_list_texture_copy(spy_command_list *list, spy_texture *to,
                                         const spy_texture_region *to_region, spy_texture *from,
                                         const spy_texture_region *from_region);
SPY_API spy_status spy_list_texture_copy_from_tensor(spy_command_list *list, spy_texture *to,
                                                     const spy_texture_region *region, spy_tensor *tensor,
                                                     size_t offset_bytes, size_t row_pitch_bytes);
SPY_API spy_status spy_list_texture_copy_to_tensor(spy_command_list *list, spy_texture *from,
                                                   const spy_texture_region *region, spy_tensor *tensor,
                                                   size_t offset_bytes, size_t row_pitch_bytes);
SPY_API spy_status spy_list_texture_clear(spy_command_list *list, spy_texture *texture,
                                          spy_clear_color color);
SPY_API spy_status spy_list_texture_clear_depth(spy_command_list *list, spy_texture *texture, float depth,
                                                uint32_t stencil);
SPY_API spy_status spy_list_texture_blit(spy_command_list *list, spy_texture *to, spy_texture *from,
                                         spy_filter filter);
SPY_API spy_status spy_list_texture_generate_mips(spy_command_list *list, spy_texture *texture);
SPY_API spy_status spy_list_texture_resolve(spy_command_list *list, spy_texture *to, spy_texture *from);

// >>samplers

// The values of coordinates outside of a texture.
typedef enum spy_address_mode {
    SPY_ADDRESS_MODE_DEFAULT, // same as wrap
    SPY_ADDRESS_MODE_WRAP,
    SPY_ADDRESS_MODE_MIRROR,
    SPY_ADDRESS_MODE_CLAMP,
    SPY_ADDRESS_MODE_BORDER,
    SPY_ADDRESS_MODE_MIRROR_ONCE
} spy_address_mode;

// The comparison of a reference value with texels, which gives 1 where it is true.
typedef enum spy_compare {
    SPY_COMPARE_NONE,
    SPY_COMPARE_NEVER,
    SPY_COMPARE_LESS,
    SPY_COMPARE_EQUAL,
    SPY_COMPARE_LESS_EQUAL,
    SPY_COMPARE_GREATER,
    SPY_COMPARE_NOT_EQUAL,
    SPY_COMPARE_GREATER_EQUAL,
    SPY_COMPARE_ALWAYS
} spy_compare;

// The value that a sample makes of the texels that its filter reads.
typedef enum spy_reduction {
    SPY_REDUCTION_DEFAULT, // same as the weighted average
    SPY_REDUCTION_AVERAGE,
    SPY_REDUCTION_MIN,
    SPY_REDUCTION_MAX
} spy_reduction;

// The filters and address modes of a sampler. All zero means linear filters and coordinates that wrap.
typedef struct spy_sampler_desc {
    spy_filter min_filter, mag_filter, mip_filter;
    spy_address_mode address_u, address_v, address_w;
    spy_compare compare; // makes a SamplerComparisonState; NONE makes a SamplerState
    spy_reduction reduction;
    uint32_t max_anisotropy; // 0 and 1 mean no anisotropic filter
    float mip_bias;
    float min_level, max_level; // max_level 0 means no limit
    float border[4];            // the colour of BORDER; devices without custom colours take the nearest of
                                // transparent black, black and white
    const char *label;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_sampler_desc;

// Creates a sampler; `desc` NULL means all zero. Equal samplers share one object of the driver. Returns NULL
// on failure. Threads: any.
SPY_API spy_sampler *spy_create_sampler(spy_device *device, const spy_sampler_desc *desc);
SPY_API void spy_retain_sampler(spy_sampler *sampler);  // Adds one reference to the sampler, which then needs
                                                        // one more release. Threads: any.
SPY_API void spy_release_sampler(spy_sampler *sampler); // Drops one reference; the last one frees the
                                                        // sampler. NULL is ignored. Threads: any, at any
                                                        // time.
// Returns the VkSampler, which equal samplers share; 0 on failure and on CUDA, which has none. Threads: any.
SPY_API uint64_t spy_sampler_native(spy_sampler *sampler);

// >>arguments

// A texture for a parameter Texture2D<T>, RWTexture2D<T> or another of its type, which it feeds whole. For a
// parameter of its texels' type it is run over, and an out parameter writes it: the call's shape is
// spy_texture_info.shape. The texels' type is exactly that of the format: four channels of floats, unorm or snorm
// feed float4, one channel feeds float. Views feed the size of their first level.
SPY_API spy_arg spy_arg_texture(const char *name, spy_texture *texture);
SPY_API spy_arg spy_arg_sampler(const char *name, spy_sampler *sampler); // A sampler for a parameter
                                                                         // SamplerState or
                                                                         // SamplerComparisonState.
// A texture with its sampler, for a parameter Sampler2D<T> or another combined one. Otherwise the same as
// spy_arg_texture().
SPY_API spy_arg spy_arg_sampled_texture(const char *name, spy_texture *texture, spy_sampler *sampler);

// >>bindless handles
// A handle is the 8 bytes of Slang's DescriptorHandle<T>, by which a function reaches a texture, sampler or
// buffer that is no argument of its call: it is passed by spy_arg_u64() for a parameter DescriptorHandle<T>,
// and lies in structs and in the memory of tensors as 8 bytes. On Vulkan the device must have descriptor
// indexing (SPY_FEATURE_HANDLES); on CUDA textures have handles, which read texels without a sampler. A
// function that uses handles may use any texture that has one, except for the targets of its draw. Before
// each such call or draw, the library brings all of these textures into the state for it, which waits for all
// earlier work. A handle is valid until its object is released; the caller keeps the object alive as long as
// functions use the handle. SPY_ERROR_UNSUPPORTED: the device has no handles, or the texture was created
// without the usage. SPY_ERROR_OUT_OF_RANGE: all of the device's handles of this kind are in use. *handle is
// then 0.

// Returns the handle of a texture or view in *handle: `writable` false is for Texture2D<T> and the like, true
// for RWTexture2D<T>. Threads: any.
SPY_API spy_status spy_texture_handle(spy_texture *texture, bool writable, uint64_t *handle);
// Returns the handle of a texture with a sampler in *handle, for Sampler2D<T> and the like. Threads: any.
SPY_API spy_status spy_sampled_texture_handle(spy_texture *texture, spy_sampler *sampler, uint64_t *handle);
// Returns the handle of a sampler in *handle, for SamplerState. Threads: any.
SPY_API spy_status spy_sampler_handle(spy_sampler *sampler, uint64_t *handle);
// Returns the handle of a tensor's bytes in *handle, for StructuredBuffer<T>, ByteAddressBuffer and their RW
// forms. Threads: any.
SPY_API spy_status spy_tensor_handle(spy_tensor *tensor, uint64_t *handle);

// >>formats

// The properties of a format.
typedef struct spy_format_info {
    const char *name;                   // "rgba8_unorm"
    uint32_t block_bytes;               // the bytes of one block
    uint32_t block_width, block_height; // texels of a block; 1 except for compressed formats
    uint32_t channels;                  // 1 to 4
    uint32_t bits[4];                   // bits of red, green, blue and alpha, or of depth and stencil
    spy_dtype dtype; // scalar type of a channel in Slang code: float32, int32, uint32, float16 ...
    bool is_unorm, is_snorm, is_srgb, is_float, is_integer, is_signed, has_depth, has_stencil, is_compressed;
} spy_format_info;
// Returns the properties of a format; all zero for SPY_FORMAT_NONE and unknown numbers. Threads: any.
SPY_API spy_format_info spy_get_format_info(spy_format format);
// Returns the SPY_TEXTURE_USAGE_* that the device supports for textures of this format; 0 if it supports
// none. Threads: any.
SPY_API uint32_t spy_format_support(spy_device *device, spy_format format);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_TEXTURE_H
