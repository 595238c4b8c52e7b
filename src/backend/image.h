// Images: the functions by which a backend makes textures and samplers, and the work on them. Vulkan has
// VkImage, VkImageView and VkSampler; CUDA has arrays, texture objects (which include the sampler) and
// surface objects.
#ifndef SPYI_IMAGE_H
#define SPYI_IMAGE_H

#include "api/texture.h"
#include "backend/work.h"

// Functions of format.c.
SPYI_FN const spy_format_info *spyi_format(uint32_t format); // NULL means that there is no such format
// Returns the bytes of texels without gaps between rows.
SPYI_FN uint64_t spyi_texels_size(uint32_t format, uint32_t width, uint32_t height, uint32_t depth,
                                  uint32_t layers);
static inline uint32_t spyi_level_size(uint32_t size, uint32_t level) {
    return level < 32 && size >> level ? size >> level : 1;
}

// A new image. Plain bytes, zeroed before the members are set, so that equal descs have equal bytes.
typedef struct spyi_image_desc {
    uint8_t type;   // a spy_texture_type, not DEFAULT
    uint8_t format; // spy_format
    bool array;
    uint32_t width, height, depth; // the sizes of level 0 in texels, at least 1
    uint32_t layers;               // the number of layers, at least 1; a cube has 6
    uint32_t levels, samples;      // the numbers of levels and of samples, at least 1
    uint32_t usage;                // bits SPY_TEXTURE_USAGE_*
} spyi_image_desc;

// An image of the driver.
typedef struct spyi_image {
    uint64_t handle; // the driver's handle: VkImage; CUmipmappedArray or CUarray
    void *memory;    // the backend's own object (VkDeviceMemory); NULL for images of the program
    size_t size;     // the bytes of device memory
} spyi_image;

// A part of an image, in the form in which a shader sees it.
typedef struct spyi_image_view_desc {
    uint8_t type;   // a spy_texture_type, not DEFAULT
    uint8_t format; // spy_format
    bool array;
    bool stored;      // the view is for loads and stores by coordinates (RWTexture2D) and has one level
    bool target;      // the view is a target of draws and has one level, with both depth and stencil
    uint8_t _zero[3]; // fills the padding
    uint32_t first_level, level_count, first_layer, layer_count;
} spyi_image_view_desc;

// Texels of one level and of some layers. Sizes in texels, at least 1; of compressed formats in whole blocks, or up to
// the end.
typedef struct spyi_image_box {
    uint32_t level, first_layer, layer_count;
    uint32_t x, y, z, width, height, depth;
} spyi_image_box;

// The bits that `support` adds to SPY_TEXTURE_USAGE_*: blits read, or write, images of the format.
typedef enum spyi_blit_support {
    SPYI_BLITS_FROM = 1 << 16,
    SPYI_BLITS_TO = 1 << 17,
    SPYI_BLITS = SPYI_BLITS_FROM | SPYI_BLITS_TO
} spyi_blit_support;

// The functions for images. A backend without images has NULL in its table.
typedef struct spyi_image_functions {
    // Returns the SPY_TEXTURE_USAGE_* that the device supports for images of this format, and bits of
    // spyi_blit_support.
    uint32_t (*support)(spyi_gpu *gpu, uint32_t format);
    spy_status (*create)(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label, spyi_image *image,
                         spyi_text *error);
    // When destroy is called, no work uses the image or its views any more.
    void (*destroy)(spyi_gpu *gpu, spyi_image *image);
    // Makes a view. Its handle is for spyi_binding.handle: a VkImageView; on CUDA, where it goes into the
    // kernel's block, a CUsurfObject if `stored` is set, otherwise a CUtexObject, which reads through
    // `sampler` (0 means without filters, for loads).
    spy_status (*create_view)(spyi_gpu *gpu, const spyi_image *image, const spyi_image_desc *image_desc,
                              const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                              spyi_text *error);
    void (*destroy_view)(spyi_gpu *gpu, uint64_t view, bool stored);
    spy_status (*create_sampler)(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                 spyi_text *error);
    void (*destroy_sampler)(spyi_gpu *gpu, uint64_t sampler);
    // Make and free handles, by which kernels find a texture, sampler or buffer without a binding: the 8
    // bytes of Slang's DescriptorHandle<T>. NULL means that the backend has none. `binding` has the form in
    // which a dispatch takes it. When remove_handle is called, no later work uses the handle.
    spy_status (*add_handle)(spyi_gpu *gpu, const spyi_binding *binding, uint64_t *handle, spyi_text *error);
    void (*remove_handle)(spyi_gpu *gpu, spyi_binding_kind kind, uint64_t handle);
} spyi_image_functions;

// >>work on images

// Returns whether the work reads and writes the same level and layer of one image: such parts are in the layout of a
// use with SPYI_USE_COPIED, SPYI_USE_READS and SPYI_USE_WRITES, and both boxes are in that layout.
struct spyi_image_copy_work;
SPYI_FN bool spyi_image_copies_within(const struct spyi_image_copy_work *copy);

// Copies between an image and bytes of a chunk. Rows lie row_pitch bytes apart, slices and layers slice_pitch
// bytes.
typedef struct spyi_image_bytes_work {
    spyi_work work;
    bool to_image;
    uint64_t image; // spyi_image.handle
    spyi_image_desc desc;
    spyi_image_box box;
    const spyi_chunk *chunk;
    // `offset` and the distances are in bytes. slice_pitch is a multiple of row_pitch, and row_pitch and
    // offset are multiples of the size of a block; offset is also a multiple of 4.
    uint64_t offset, row_pitch, slice_pitch;
} spyi_image_bytes_work;
SPYI_FN const spyi_work_kind *spyi_work_image_bytes(void);

// Copies texels between two images, or parts of one that do not overlap. The boxes have equal sizes.
typedef struct spyi_image_copy_work {
    spyi_work work;
    uint64_t to, from; // spyi_image.handle
    spyi_image_desc to_desc, from_desc;
    spyi_image_box to_box, from_box;
} spyi_image_copy_work;
SPYI_FN const spyi_work_kind *spyi_work_image_copy(void);

// Scales the texels of one box to another, and converts them. `resolve` averages the samples of a
// multisampled image.
typedef struct spyi_image_blit_work {
    spyi_work work;
    uint64_t to, from; // spyi_image.handle
    spyi_image_desc to_desc, from_desc;
    spyi_image_box to_box, from_box;
    bool linear, resolve;
} spyi_image_blit_work;
SPYI_FN const spyi_work_kind *spyi_work_image_blit(void);

// Sets all texels of some levels and layers.
typedef struct spyi_image_clear_work {
    spyi_work work;
    uint64_t image; // spyi_image.handle
    spyi_image_desc desc;
    uint32_t first_level, level_count, first_layer, layer_count;
    spy_clear_color color; // for color formats
    float depth;           // for depth formats
    uint32_t stencil;
} spyi_image_clear_work;
SPYI_FN const spyi_work_kind *spyi_work_image_clear(void);

#endif // SPYI_IMAGE_H
