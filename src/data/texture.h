// Textures and samplers: what a user holds of the backend's images.
#ifndef SPYI_DATA_TEXTURE_H
#define SPYI_DATA_TEXTURE_H

#include "backend/image.h"
#include "data/resource.h"
#include "data/type.h"

// An image with the state of its levels and layers. Textures, views and command lists hold it by references.
typedef struct spyi_texture_image {
    spyi_texture texture; // first; .texture.resource is what uses name
    spyi_image image;
    spyi_image_desc desc;
    struct spyi_texture_image
        *next; // images whose work is not known to be finished, in device.waiting_images
} spyi_texture_image;

// A texture, or a view of one: both are parts of an image.
struct spy_texture {
    spyi_object object;
    spyi_texture_image *image; // one reference
    // What it is of the image. type, array, layer_count and level_count are also those of shader parameters.
    spyi_image_view_desc part;
    uint32_t width, height, depth; // texels of its first level
    uint64_t serial;               // unique on the device
    // Slang's name for such a parameter, "Texture2DArray<float4>", as a type of kind SPYI_TYPE_OTHER; bind and the key
    // of a call know the texture by it. RWTexture2D and others have the same name here.
    const spyi_type *type;
    const spyi_type *texel; // "float4"
    spy_shape shape;        // sizes when it is run over
    // The views that shaders get, made when first needed; 0: not yet.
    uint64_t sampled_view, stored_view;
    const char *label;            // a copy; NULL: none
    spy_texture *previous, *next; // in device.textures
};

struct spy_sampler {
    spyi_object object;
    spy_sampler_desc desc;        // .label is a copy or NULL
    uint64_t handle;              // of the backend
    spy_sampler *previous, *next; // in device.samplers
};

// format.c
SPYI_FN const spy_format_info *spyi_format(uint32_t format); // NULL: it is none
// Returns the type of a texel in Slang code; NULL: shaders cannot read the format.
SPYI_FN const spyi_type *spyi_format_texel(spyi_types *types, uint32_t format);

// texture.c
// The use that work makes of the texture: of all its levels and layers, or of `level` (counted in the texture) alone.
// `how` is SPYI_USE_READS, _WRITES or both, and _SAMPLED, _STORED, _COPIED or _ATTACHMENT. Images that may be stored to
// are always in the layout for that, so that one call can read and write them.
SPYI_FN uint32_t spyi_texture_uses(const spy_texture *texture, uint32_t how, spyi_use *uses);
SPYI_FN uint32_t spyi_texture_level_uses(const spy_texture *texture, uint32_t level, uint32_t how,
                                         spyi_use *uses);
// The most uses that one texture has in one piece of work: parts lie level by level, so a view of some layers has one
// use for each level.
#define SPYI_MOST_TEXTURE_USES 16
// Returns the view for a shader parameter; 0: `error` says why. `sampler`: of CUDA's texture objects; else NULL.
SPYI_FN uint64_t spyi_texture_shader_view(spy_texture *texture, bool stored, spy_sampler *sampler,
                                          spyi_text *error);
SPYI_FN void spyi_textures_attach(spy_device *device);
SPYI_FN void spyi_textures_free_all(spy_device *device); // at the device's release

#endif // SPYI_DATA_TEXTURE_H
