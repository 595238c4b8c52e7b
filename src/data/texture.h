// Textures and samplers: the objects that a user holds of the backend's images.
#ifndef SPYI_DATA_TEXTURE_H
#define SPYI_DATA_TEXTURE_H

#include "backend/image.h"
#include "data/resource.h"
#include "data/type.h"

// A view that shaders get of an image. It lives as long as the image: textures over the same part share it, and
// recorded work may still use it when its texture has been released.
typedef struct spyi_shader_view {
    spyi_image_view_desc desc;
    uint64_t sampler; // the sampler in CUDA's texture objects; 0 on other backends
    uint64_t handle;  // the backend's handle of the view
    bool listed;      // kernels may find it by `number`: the 8 bytes of a DescriptorHandle
    uint64_t number;
    struct spyi_shader_view *next;
} spyi_shader_view;

// An image with the state of its levels and layers. Textures, views and command lists hold it by references.
typedef struct spyi_texture_image {
    spyi_texture texture; // must be the first member; uses name .texture.resource
    spyi_image image;
    spyi_image_desc desc;
    spyi_shader_view *views;
    struct spyi_texture_image *next; // next image in device.waiting_images
    // The image is in device.listed_images while one of its views is listed, because kernels that use handles
    // may use it.
    bool listed;
    struct spyi_texture_image *previous_listed, *next_listed;
} spyi_texture_image;

#define SPYI_MOST_LEVELS 32

// A texture, or a view of one: both are parts of an image.
struct spy_texture {
    spyi_object object;
    spyi_texture_image *image; // the texture holds one reference
    // The part of the image. type, array, layer_count and level_count are also those of shader parameters.
    spyi_image_view_desc part;
    uint32_t width, height, depth; // the texels of its first level
    uint64_t serial;               // unique on the device
    // Slang's name for a parameter that takes the texture, "Texture2DArray<float4>", as a type of kind
    // SPYI_TYPE_OTHER; bind and the key of a call know the texture by it. The name is the same for
    // RWTexture2D and other forms.
    const spyi_type *type;
    const spyi_type *texel; // the type of a texel, such as "float4"
    spy_shape shape;        // the sizes for calls that run over the texture
    // The views that shaders get, made when first needed; 0 means not made yet. They belong to the image.
    uint64_t sampled_view, stored_view, target_view;
    uint32_t
        target_form;  // the number that draws check when the texture is a target (call/targets.c); 0 means
                      // that no draw has checked it
    spy_tensor *grad; // the gradients of all levels, one after another, with one reference; NULL means that
                      // there is none
    // Exact sums for deterministic calls, 16 bytes for each number of `grad`, zero between calls, and `grad` as
    // numbers; made when first needed.
    spy_tensor *sums, *grad_scalars;
    bool has_sums;                             // the texture is in device.summed
    spy_tensor *grad_levels[SPYI_MOST_LEVELS]; // views of `grad` in the shapes of the levels; one reference
                                               // each
    const char *label;                         // a copy of desc.label; NULL means that there is none
    spy_texture *previous, *next;              // links of the list device.textures
};

// A sampler of the backend, which all equal samplers share. It lives as long as the device: a program has few, and
// recorded work may use one whose spy_sampler has been released.
typedef struct spyi_sampler_object {
    spy_sampler_desc desc; // its .label is NULL
    uint64_t handle;       // the backend's handle
    bool listed;           // kernels may find it by `number`: the 8 bytes of a DescriptorHandle
    uint64_t number;
    struct spyi_sampler_object *next;
} spyi_sampler_object;

struct spy_sampler {
    spyi_object object;
    spy_sampler_desc desc;        // its .label is a copy or NULL, and no member is DEFAULT
    uint64_t handle;              // the backend's handle, which the spyi_sampler_object owns
    spy_sampler *previous, *next; // links of the list device.samplers
};

// texture.c
// Returns the type of a texel in Slang code; NULL means that shaders cannot read the format.
SPYI_FN const spyi_type *spyi_format_texel(spyi_types *types, uint32_t format);

// Returns the uses that work makes of the texture: of all its levels and layers, or of `level` (counted in
// the texture) alone. `how` is SPYI_USE_READS, _WRITES or both, and _SAMPLED, _STORED, _COPIED or
// _ATTACHMENT. Images that may be stored to are always in the layout for stores, so that one call can read
// and write them.
SPYI_FN uint32_t spyi_texture_uses(const spy_texture *texture, uint32_t how, spyi_use *uses);
SPYI_FN uint32_t spyi_texture_level_uses(const spy_texture *texture, uint32_t level, uint32_t how,
                                         spyi_use *uses);
// The most uses that one texture has in one piece of work: parts lie level by level, so a view of some layers has one
// use for each level.
#define SPYI_MOST_TEXTURE_USES 16
// Returns the view for a shader parameter. 0 means failure; `error` then says why. `sampler` is the sampler
// of CUDA's texture objects, and NULL on other backends.
SPYI_FN uint64_t spyi_texture_shader_view(spy_texture *texture, bool stored, spy_sampler *sampler,
                                          spyi_text *error);
// Returns the view for a target of draws: the first level, with all layers. 0 means failure; `error` then
// says why.
SPYI_FN uint64_t spyi_texture_target_view(spy_texture *texture, spyi_text *error);
// Like spyi_texture_uses() for the texture's layers `layer` to layer + count - 1 of a level.
SPYI_FN spyi_use spyi_texture_layer_use(const spy_texture *texture, uint32_t level, uint32_t layer,
                                        uint32_t count, uint32_t how);
SPYI_FN void spyi_textures_attach(spy_device *device);
SPYI_FN void spyi_textures_free_all(spy_device *device); // is called at the device's release
// Frees the images without references whose work has finished.
SPYI_FN void spyi_images_free_finished(spy_device *device);
// Returns a texture over `image`, which has one reference that the texture takes; NULL means that the error
// has been added.
SPYI_FN spy_texture *spyi_texture_over(spy_device *device, spyi_texture_image *image,
                                       const spyi_image_view_desc *part, const char *label, spyi_text *error);
// Returns the name of the nearest other format with that support (spyi_image_functions); NULL means that
// there is none.
SPYI_FN const char *spyi_nearest_format(spy_device *device, uint32_t format, uint32_t support);
// Appends "the texture 'label' (rgba8_unorm, 256 x 256)".
SPYI_FN void spyi_texture_text(const spy_texture *texture, spyi_text *out);

// texture_gradient.c
// Gives a new texture a zeroed gradient.
SPYI_FN spy_status spyi_texture_grads_make(spy_texture *texture, spyi_text *error);
// Makes the exact sums of a texture with a gradient, unless it has them.
SPYI_FN spy_status spyi_texture_sums_make(spy_texture *texture, spyi_text *error);
SPYI_FN void spyi_texture_grads_drop(spy_texture *texture);

// handle.c
// Gives back the numbers of an image's views, when no work uses them any more.
SPYI_FN void spyi_image_unlist(spy_device *device, spyi_texture_image *image);
// Adds a use for each image that has handles to the first `count` uses: a kernel that uses handles may use any of them.
// There is room for device.listed_count more. An image that the work draws into is left out. Returns the number of uses
// afterwards.
SPYI_FN uint32_t spyi_listed_uses(const spy_device *device, spyi_use *uses, uint32_t count);

// sampler.c
SPYI_FN void spyi_samplers_attach(spy_device *device);
SPYI_FN void spyi_samplers_free_all(spy_device *device); // is called at the device's release

// texture_copy.c
// Writes host data into all of level 0 of a new texture.
SPYI_FN spy_status spyi_texture_fill(spy_texture *texture, const void *data, size_t size_bytes,
                                     spyi_text *error);
// The receiver of work on textures and of its uses: the device's queue, or a command list. `error` has no
// prefix.
typedef struct spyi_texture_sink {
    spy_status (*record)(void *object, spyi_work *work, const spyi_use *uses, uint32_t count,
                         spyi_text *error);
    void *object;
} spyi_texture_sink;
// These functions do the work of the functions of api/texture.h for any sink. The first texture is alive;
// they check the other objects.
SPYI_FN spy_status spyi_texture_write(const spyi_texture_sink *sink, spy_texture *texture,
                                      const spy_texture_region *region, const void *data, size_t size_bytes,
                                      spyi_text *error);
SPYI_FN spy_status spyi_texture_copy(const spyi_texture_sink *sink, spy_texture *to,
                                     const spy_texture_region *to_region, spy_texture *from,
                                     const spy_texture_region *from_region, spyi_text *error);
SPYI_FN spy_status spyi_texture_copy_tensor(const spyi_texture_sink *sink, bool to_texture,
                                            spy_texture *texture, const spy_texture_region *region,
                                            spy_tensor *tensor, size_t offset_bytes, size_t row_pitch_bytes,
                                            spyi_text *error);
SPYI_FN spy_status spyi_texture_clear(const spyi_texture_sink *sink, spy_texture *texture,
                                      const spy_clear_color *color, spyi_text *error);
SPYI_FN spy_status spyi_texture_clear_depth(const spyi_texture_sink *sink, spy_texture *texture, float depth,
                                            uint32_t stencil, spyi_text *error);
SPYI_FN spy_status spyi_texture_blit(const spyi_texture_sink *sink, spy_texture *to, spy_texture *from,
                                     spy_filter filter, spyi_text *error);
SPYI_FN spy_status spyi_texture_generate_mips(const spyi_texture_sink *sink, spy_texture *texture,
                                              spyi_text *error);
SPYI_FN spy_status spyi_texture_resolve(const spyi_texture_sink *sink, spy_texture *to, spy_texture *from,
                                        spyi_text *error);

#endif // SPYI_DATA_TEXTURE_H
